"""Which variables of a graph share memory, and the copies and guards that follow from it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from theano import gof
from theano.gof import Variable
from theano.gof.copying import deep_copy_op, view_op
from theano.gof.supervisor import Supervisor  # noqa: F401 (functions that were pickled name it here)


class AliasedMemoryError(Exception):
    """Memory is aliased that should not be.

    See Also
    --------
    theano.compile.Supervisor : Forbid the destruction of variables: of inputs that are not mutable, and of outputs.

    Examples
    --------
    >>> import numpy as np
    >>> def separate(first, second):
    ...     if np.may_share_memory(first, second):
    ...         raise AliasedMemoryError("the arrays overlap")
    >>> buffer = np.zeros(4)
    >>> separate(buffer[:3], buffer[1:])
    Traceback (most recent call last):
        ...
    theano.compile.aliasing.AliasedMemoryError: the arrays overlap
    """


def _aliased_inputs(variable: Variable) -> list[Variable]:
    """Return the variables that `variable` is a view of or is computed in the memory of."""
    node = variable.owner
    if node is None:
        return []
    positions: list[int] = []
    for maps in ("view_map", "destroy_map"):
        positions.extend((getattr(node.op, maps, None) or {}).get(variable.index, ()))
    return [node.inputs[i] for i in positions]


def alias_root(v: Variable) -> Variable:
    """Return the variable whose memory `v` uses, following views and in-place operations upwards.

    Parameters
    ----------
    v : Variable
        A variable of a graph.

    Returns
    -------
    Variable
        The first variable of the chain; `v` itself if it is no view.

    Raises
    ------
    NotImplementedError
        If a variable of the chain shares memory with several inputs.

    See Also
    --------
    theano.compile.view_tree_set : Add to `treeset` the variable `v` and everything that is a view of it.
    theano.gof.view_roots : Return the variables that `r` is a view of, through any number of view Ops; `r` itself if it
        is no view.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.matrix("x")
    >>> alias_root(T.inplace.exp_inplace(x.T[0])), alias_root(x + 1)
    (x, Elemwise{add,no_inplace}.0)
    """
    sources = _aliased_inputs(v)
    while sources:
        if len(sources) > 1:
            raise NotImplementedError(f"{v} is a view or a destroyed version of more than one input.")
        v = sources[0]
        sources = _aliased_inputs(v)
    return v


def _alias_roots(variable: Variable) -> list[Variable]:
    """Return all the variables whose memory `variable` may use, in a fixed order."""
    roots: dict[Variable, None] = {}
    seen = {variable}
    stack = [variable]
    while stack:
        current = stack.pop()
        sources = _aliased_inputs(current)
        if not sources:
            roots[current] = None
        for source in sources:
            if source not in seen:
                seen.add(source)
                stack.append(source)
    return list(roots)


def view_tree_set(v: Variable, treeset: set[Variable]) -> None:
    """Add to `treeset` the variable `v` and everything that is a view of it.

    Parameters
    ----------
    v : Variable
        A variable of a FunctionGraph.
    treeset : set of Variable
        The set to complete.

    See Also
    --------
    theano.gof.view_roots : Return the variables that `r` is a view of, through any number of view Ops; `r` itself if it
        is no view.
    theano.compile.alias_root : Return the variable whose memory `v` uses, following views and in-place operations
        upwards.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.matrix("x")
    >>> y = x.T
    >>> z = T.inplace.exp_inplace(y)
    >>> fgraph = gof.FunctionGraph([x], [z, T.sin(x)], clone=False)
    >>> found = set()
    >>> view_tree_set(x, found)
    >>> found == {x, y, z}
    True
    """
    stack = [v]
    treeset.add(v)
    while stack:
        for client, position in stack.pop().clients:
            if client == "output":
                continue
            for maps in ("view_map", "destroy_map"):
                for output_index, input_indices in getattr(client.op, maps, {}).items():
                    output = client.outputs[output_index]
                    if position in input_indices and output not in treeset:
                        treeset.add(output)
                        stack.append(output)


def infer_reuse_pattern(fgraph: gof.FunctionGraph, outputs_to_disown: Iterable[Variable]) -> set[Variable]:
    """Return the variables whose storage may not be reused, because outputs may be aliased to it.

    Parameters
    ----------
    fgraph : FunctionGraph
        The graph.
    outputs_to_disown : iterable of Variable
        Outputs that the caller will own.

    Returns
    -------
    set of Variable
        The outputs and what they are views of, without inputs and constants.

    See Also
    --------
    theano.gof.destroyhandler.fast_inplace_check : Return which variables may be destroyed, as far as a quick look tells.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.matrix("x")
    >>> y = T.exp(x)
    >>> z = y.T
    >>> fgraph = gof.FunctionGraph([x], [T.sin(z), z], clone=False)
    >>> infer_reuse_pattern(fgraph, [z]) == {y, z}
    True
    """
    aliased: set[Variable] = set()
    for output in outputs_to_disown:
        for root in _alias_roots(output):
            view_tree_set(root, aliased)
    return {v for v in aliased if v.owner is not None}


def insert_deepcopy(fgraph: gof.FunctionGraph, wrapped_inputs: list[Any], wrapped_outputs: list[Any]) -> None:
    """Insert copies so that no two outputs, and no output and input, share memory unless that is allowed.

    Parameters
    ----------
    fgraph : FunctionGraph
        The optimized graph.
    wrapped_inputs, wrapped_outputs : list of In, list of Out
        Their descriptions; where both ends of an alias have ``borrow``, the
        output becomes a view instead of a copy. An input that is destroyed may
        be returned as it is.

    See Also
    --------
    theano.compile.fgraph_updated_vars : Return the map from updated inputs of a function's graph to the outputs that
        update them.
    theano.compile.std_fgraph : Make the FunctionGraph of a function, with the features that every function needs.

    Examples
    --------
    >>> import theano
    >>> x = theano.tensor.matrix("x")
    >>> fgraph = gof.FunctionGraph([x], [x.T])
    >>> insert_deepcopy(fgraph, [theano.In(x, borrow=False)], [theano.Out(x.T)])
    >>> print(fgraph)
    [DeepCopyOp(InplaceDimShuffle{1,0}(x))]
    """
    reason = "insert_deepcopy"
    position_of = {variable: index for index, variable in enumerate(fgraph.inputs)}
    destroyers = getattr(fgraph, "destroyers", None)
    roots_of = [_alias_roots(output) for output in fgraph.outputs]
    last_with_root: dict[Variable, int] = {}
    for index, roots in enumerate(roots_of):
        for root in roots:
            last_with_root[root] = index

    for index, roots in enumerate(roots_of):
        borrows = wrapped_outputs[index].borrow
        other_ends = []
        for root in roots:
            last = last_with_root[root]
            if last > index:
                other_ends.append(wrapped_outputs[last].borrow)
            elif root.owner is None and not (destroyers and destroyers(root)):
                position = position_of.get(root)
                other_ends.append(position is None or getattr(wrapped_inputs[position], "borrow", False))
        if other_ends:
            op = view_op if borrows and all(other_ends) else deep_copy_op
            copied = gof.opt.copy_stack_trace(fgraph.outputs[index], op(fgraph.outputs[index]))
            fgraph.change_input("output", index, copied, reason=reason)
