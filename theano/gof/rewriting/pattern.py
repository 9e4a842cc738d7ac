"""Rewrites declared by what they replace: one Op by another, an Op by its inputs, a pattern by a pattern."""

from __future__ import annotations

import copy
import numbers
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from theano.gof.graph import Apply, Variable
from theano.gof.rewriting.local import LocalOptimizer
from theano.gof.rewriting.match import ANYTHING, Applied, Behind, Known, Named, Number, Only, Part
from theano.gof.stack_traces import copy_stack_trace


class OpSub(LocalOptimizer):
    """Replace every use of the Op `op1` by `op2` on the same inputs.

    ``op1(*inputs) -> op2(*inputs)``

    Parameters
    ----------
    op1, op2 : Op
        `op2` must take the same inputs and give outputs of the same types.
    transfer_tags : bool
        Give the new node and its outputs the tags of the old ones.

    See Also
    --------
    theano.gof.OpRemove : Remove the Op `op`: the outputs of its nodes become their inputs.
    theano.gof.PatternSub : Replace what matches one pattern by what another pattern builds.

    Examples
    --------
    >>> from theano.gof.opt import OpSub
    >>> from theano.scalar import add, mul
    >>> add_to_mul = OpSub(add, mul)
    """

    # The new node has another Op, so this cannot apply to its own result.
    reentrant = False
    # The new node has the same inputs as the old.
    retains_inputs = True

    def __init__(self, op1: Any, op2: Any, transfer_tags: bool = True):
        self.op1 = op1
        self.op2 = op2
        self.transfer_tags = transfer_tags

    def op_key(self) -> Any:
        """The Op that is replaced, for `OpKeyOptimizer`."""
        return self.op1

    def tracks(self) -> list[Any]:
        return [self.op1]

    def transform(self, node) -> Any:
        if node.op != self.op1:
            return False
        new = self.op2.make_node(*node.inputs)
        if self.transfer_tags:
            new.tag = copy.copy(node.tag)
            for output, new_output in zip(node.outputs, new.outputs):
                new_output.tag = copy.copy(output.tag)
        return new.outputs

    def __str__(self) -> str:
        return f"{self.op1} -> {self.op2}"


class OpRemove(LocalOptimizer):
    """Remove the Op `op`: the outputs of its nodes become their inputs.

    ``op(x) -> x``; `op` must have as many outputs as inputs.

    Parameters
    ----------
    op : Op
        The Op.

    See Also
    --------
    theano.gof.LocalOptimizer : A rewrite of a single Apply node.
    theano.gof.OpSub : Replace every use of the Op `op1` by `op2` on the same inputs.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph, OpKeyOptimizer
    >>> from theano.gradient import disconnected_grad, disconnected_grad_
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.exp(disconnected_grad(x))])
    >>> OpKeyOptimizer(OpRemove(disconnected_grad_)).optimize(fgraph)
    >>> print(fgraph)
    [Elemwise{exp,no_inplace}(x)]
    """

    reentrant = False

    def __init__(self, op: Any):
        self.op = op

    def op_key(self) -> Any:
        """The Op that is removed, for `OpKeyOptimizer`."""
        return self.op

    def tracks(self) -> list[Any]:
        return [self.op]

    def transform(self, node) -> Any:
        if node.op != self.op:
            return False
        return node.inputs

    def __str__(self) -> str:
        return f"{self.op}(x) -> x"

    def print_summary(self, stream: TextIO | None = None, level: int = 0, depth: int = -1) -> None:
        print(f"{' ' * level}{self.__class__.__name__}(op={self.op}) id={id(self)}", file=stream)


def _pattern_text(pattern: Any) -> str:
    if isinstance(pattern, (list, tuple)):
        return f"{pattern[0]}({', '.join(_pattern_text(part) for part in pattern[1:])})"
    if isinstance(pattern, dict):
        return f"{_pattern_text(pattern['pattern'])} subject to {pattern.get('constraint', 'no conditions')}"
    return str(pattern)


def check_chain(r: Any, *chain: Any) -> bool:
    """Return whether a variable is computed by a chain of Ops, each the first input of the one before.

    Parameters
    ----------
    r : Variable or Apply
        What the chain begins at; of an Apply its first output.
    *chain
        Ops, classes of Ops, or None for a variable that nothing computes.

    See Also
    --------
    theano.gof.PatternSub : Replace what matches one pattern by what another pattern builds.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.vector("x")
    >>> y = T.log(T.exp(x))
    >>> check_chain(y, T.log, T.exp, None), check_chain(y, T.log, T.sin)
    (True, False)
    """
    if isinstance(r, Apply):
        r = r.outputs[0]
    for position, link in enumerate(chain):
        if position:
            r = r.owner.inputs[0]
        if link is None:
            # Nothing lies further in.
            return r.owner is None and position == len(chain) - 1
        if r.owner is None:
            return False
        if not (isinstance(r.owner.op, link) if isinstance(link, type) else r.owner.op == link):
            return False
    return True


class PatternSub(LocalOptimizer):
    """Replace what matches one pattern by what another pattern builds.

    A pattern is one of

    - ``(op, part, ...)``: an application of `op` whose inputs match the parts;
    - a string: any variable; the same string must match the same variable everywhere;
    - a number or a `Constant`: a constant of that value;
    - ``{'pattern': pattern, 'constraint': function}``: `pattern`, if ``function(variable)`` is true; the key
      ``'allow_multiple_clients'`` says for this part what the argument of the same name says for all;

    and the output pattern is built of the same, where `op` may be any callable.

    Parameters
    ----------
    in_pattern : tuple
        What to look for.
    out_pattern : tuple, str, number or Variable
        What to put in its place.
    allow_multiple_clients : bool
        Match even if an inner part of the pattern is used elsewhere too.
    skip_identities_fn : callable, optional
        Gets a variable; returns an equivalent one to look at instead, or None.
    name : str, optional
        What it is called when it is printed.
    pdb : bool
        Start the debugger at each node whose Op is that of the pattern.
    tracks : list, optional
        Ops or Op classes that the navigator should offer instead of the pattern's own Op;
        needs `get_nodes`.
    get_nodes : callable, optional
        Gives, for a tracked node, the nodes at which the pattern may start.
    values_eq_approx : callable, optional
        Put on the result's tag, for `DebugMode`.

    See Also
    --------
    theano.gof.OpSub : Replace every use of the Op `op1` by `op2` on the same inputs.
    theano.gof.LocalOptGroup : Several local optimizers as one: the first that changes the node wins.
    theano.gof.opt.check_chain : Return whether a variable is computed by a chain of Ops, each the first input of the one
        before.

    Examples
    --------
    >>> from theano.gof.opt import PatternSub
    >>> from theano.scalar import mul, true_div
    >>> local_simplify = PatternSub((true_div, (mul, 'x', 'y'), 'y'), 'x')
    """

    def __init__(
        self,
        in_pattern: Any,
        out_pattern: Any,
        allow_multiple_clients: bool = False,
        skip_identities_fn: Callable[[Variable], Any] | None = None,
        name: str | None = None,
        pdb: bool = False,
        tracks: Sequence[Any] = (),
        get_nodes: Callable[[Any], Any] | None = None,
        values_eq_approx: Callable[..., bool] | None = None,
    ):
        self.in_pattern = in_pattern
        self.out_pattern = out_pattern
        self.values_eq_approx = values_eq_approx
        if isinstance(in_pattern, (list, tuple)):
            self.op = in_pattern[0]
        elif isinstance(in_pattern, dict):
            self.op = in_pattern["pattern"][0]
        else:
            raise TypeError("The pattern to search for must start with a specific Op instance; got " + repr(in_pattern))
        self.__doc__ = f"{self.__class__.__doc__}\n\nThis instance does: {self}\n"
        self.allow_multiple_clients = allow_multiple_clients
        self.skip_identities_fn = skip_identities_fn
        self.pdb = pdb
        if name:
            self.__name__ = name
        self._tracks = list(tracks)
        self._before: Part | None = None
        self.get_nodes = get_nodes
        if self._tracks and get_nodes is None:
            raise ValueError("PatternSub: `tracks` needs `get_nodes`")

    def op_key(self) -> Any:
        """The Op at the root of the pattern, for `OpKeyOptimizer`."""
        return self.op

    def tracks(self) -> list[Any]:
        return self._tracks or [self.op]

    def transform(self, node, get_nodes: bool = True) -> Any:
        if get_nodes and self.get_nodes is not None:
            for start in self.get_nodes(node):
                if start == "output":
                    continue
                new = self.transform(start, get_nodes=False)
                if new:
                    return dict(zip(start.outputs, new))
        if node.op != self.op or len(node.outputs) != 1:
            return False
        old_out = node.outputs[0]
        if self.pdb:
            breakpoint()
        if self._before is None:
            self._before = self._part(self.in_pattern, self.allow_multiple_clients, root=True)
        found = next(iter(self._before.matches(old_out, {}, ANYTHING)), None)
        if found is None:
            return False
        result = self._build(self.out_pattern, found)
        if not isinstance(result, Variable):
            filtered = getattr(old_out.type, "filter_variable", None)
            if filtered is None:
                return False
            result = filtered(old_out.type.Constant(old_out.type, old_out.type.filter(result)))
        if result.type != old_out.type:
            return False
        if result.owner is not None or not getattr(result.tag, "trace", None):
            copy_stack_trace(old_out, result)
        if self.values_eq_approx:
            result.tag.values_eq_approx = self.values_eq_approx
        return [result]

    def _part(self, pattern: Any, shared: bool, root: bool = False) -> Part:
        """The pattern in terms of the matcher; `shared` says whether inner parts may be used elsewhere too."""
        if isinstance(pattern, str):
            return Named(pattern)
        part = self._direct_part(pattern, shared, root)
        if self.skip_identities_fn is None:
            return part
        return Behind(part, self.skip_identities_fn, self._direct_part(pattern, shared) if root else part)

    def _direct_part(self, pattern: Any, shared: bool, root: bool = False) -> Part:
        if isinstance(pattern, (list, tuple)):
            return Applied(pattern[0], tuple([self._part(p, shared) for p in pattern[1:]]), once=not (root or shared))
        if isinstance(pattern, dict):
            if "pattern" not in pattern:
                raise TypeError("dict patterns need the key 'pattern'")
            part = self._part(pattern["pattern"], pattern.get("allow_multiple_clients", shared), root)
            constraint = pattern.get("constraint")
            return part if constraint is None else Only(part, constraint)
        if isinstance(pattern, numbers.Number):
            return Number(pattern)
        if isinstance(pattern, Variable):
            return Known(pattern)
        raise TypeError(f"cannot match the pattern {pattern!r}: not a tuple, string, number, Constant or dict")

    def _build(self, pattern: Any, bound: dict[str, Variable]) -> Any:
        if isinstance(pattern, (list, tuple)):
            return pattern[0](*[self._build(part, bound) for part in pattern[1:]])
        if isinstance(pattern, str):
            return bound[pattern]
        return pattern

    def __str__(self) -> str:
        if getattr(self, "__name__", None):
            return self.__name__
        return f"{_pattern_text(self.in_pattern)} -> {_pattern_text(self.out_pattern)}"

    def __repr__(self) -> str:
        return str(self)

    def print_summary(self, stream: TextIO | None = None, level: int = 0, depth: int = -1) -> None:
        name = getattr(self, "__name__", getattr(self, "name", None))
        print(
            f"{' ' * level}{self.__class__.__name__} {name}({_pattern_text(self.in_pattern)}, "
            f"{_pattern_text(self.out_pattern)}) id={id(self)}",
            file=stream,
        )
