"""Ways through a graph: searching, sorting, cloning and comparing it.

Nothing here recurses over the depth of a graph, and everything takes time in proportion to its size.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from theano.misc.ordered_set import OrderedSet


def stack_search(start: deque, expand: Callable[[Any], Sequence | None], mode: str = "bfs", build_inv: bool = False) -> Any:
    """Search through a graph.

    Parameters
    ----------
    start : deque
        The nodes to start from.  It is empty at the end.
    expand : callable
        Returns the nodes to go on to from a node, or None.  It is called once for each node.
    mode : {'bfs', 'dfs'}
        Breadth first or depth first.
    build_inv : bool
        Whether to return the inverse of `expand` as well.

    Returns
    -------
    list, or (list, dict)
        The nodes in the order in which they were visited, each once.  With `build_inv`, also a dictionary from a
        node to the list of those from which `expand` leads to it.

    Raises
    ------
    ValueError
        There is no such mode.

    See Also
    --------
    theano.gof.graph.ancestors : Return the variables that some variables are computed from, and these themselves.

    Examples
    --------
    >>> below = {"a": ["b", "c"], "b": ["d"]}
    >>> stack_search(deque(["a"]), below.get), stack_search(deque(["a"]), below.get, mode="dfs")
    (['a', 'b', 'c', 'd'], ['a', 'c', 'b', 'd'])
    """
    if mode not in ("bfs", "dfs"):
        raise ValueError(f"mode should be bfs or dfs, not {mode!r}")
    pop = start.popleft if mode == "bfs" else start.pop
    order: list = []
    seen: set[int] = set()
    inverse: dict = {}
    while start:
        node = pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        order.append(node)
        further = expand(node)
        if further:
            if build_inv:
                for other in further:
                    inverse.setdefault(other, []).append(node)
            start.extend(further)
    return (order, inverse) if build_inv else order


def ancestors(variable_list: Iterable, blockers: Iterable | None = None) -> list:
    """Return the variables that some variables are computed from, and these themselves.

    Parameters
    ----------
    variable_list : iterable of Variable
        Where to start; the graph is followed to what these are computed from.
    blockers : iterable of Variable, optional
        Variables to stop at; they are included, what is behind them is not.

    Returns
    -------
    list of Variable
        Each once, in the order of a search depth first from left to right.

    See Also
    --------
    theano.gof.graph.inputs : Return the variables without an owner that some variables are computed from.
    theano.gof.graph.variables : Return the variables between inputs and outputs, these included.
    theano.gof.graph.orphans : Return the variables without an owner that the outputs need and that are no inputs.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y = T.scalars("xy")
    >>> product = x * y
    >>> product.name = "product"
    >>> ancestors([product + x])
    [Elemwise{add,no_inplace}.0, product, x, y]
    >>> ancestors([product + x], blockers=[product])
    [Elemwise{add,no_inplace}.0, product, x]
    """
    stop: Any = set(blockers) if blockers else ()
    stack = list(variable_list)
    seen = set()
    order = []
    while stack:
        var = stack.pop()
        if var in seen:
            continue
        seen.add(var)
        order.append(var)
        owner = var.owner
        if owner is not None and var not in stop:
            stack.extend(reversed(owner.inputs))
    return order


def inputs(variable_list: Iterable, blockers: Iterable | None = None) -> list:
    """Return the variables without an owner that some variables are computed from.

    Parameters
    ----------
    variable_list : iterable of Variable
        Where to start; the graph is followed to what these are computed from.
    blockers : iterable of Variable, optional
        Variables behind which there is no search.

    Returns
    -------
    list of Variable

    See Also
    --------
    theano.gof.graph.variables : Return the variables between inputs and outputs, these included.
    theano.gof.graph.ancestors : Return the variables that some variables are computed from, and these themselves.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y, z = T.scalars("xyz")
    >>> product = x * y
    >>> inputs([product + z]), inputs([product + z], blockers=[product])
    ([x, y, z], [z])
    """
    return [var for var in ancestors(variable_list, blockers) if var.owner is None]


def variables_and_orphans(i: Iterable, o: Iterable) -> tuple[list, list]:
    """Return the variables between inputs and outputs, and the orphans among them.

    Parameters
    ----------
    i, o : iterable of Variable
        Inputs and outputs; the search does not go behind the inputs.

    Returns
    -------
    variables, orphans : list of Variable
        Inputs, outputs, orphans and all outputs of the nodes between are among the variables.

    See Also
    --------
    theano.gof.graph.variables : Return the variables between inputs and outputs, these included.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y = T.scalars("xy")
    >>> found, orphans = variables_and_orphans([x], [x * y])
    >>> len(found), orphans
    (3, [y])
    """
    stop = dict.fromkeys(i)
    found: dict = {}
    stack = list(o)
    stack.reverse()
    while stack:
        var = stack.pop()
        if var in found:
            continue
        found[var] = None
        owner = var.owner
        if owner is not None and var not in stop:
            if len(owner.outputs) > 1:
                stack.extend(reversed(owner.outputs))
            stack.extend(reversed(owner.inputs))
    found.update(stop)
    return list(found), [var for var in found if var.owner is None and var not in stop]


def variables(i: Iterable, o: Iterable) -> list:
    """Return the variables between inputs and outputs, these included.

    Parameters
    ----------
    i : iterable of Variable
        Where the graph begins.
    o : iterable of Variable
        Where it ends.

    Returns
    -------
    list of Variable

    See Also
    --------
    theano.gof.graph.orphans : Return the variables without an owner that the outputs need and that are no inputs.
    theano.gof.graph.inputs : Return the variables without an owner that some variables are computed from.
    theano.gof.graph.variables_and_orphans : Return the variables between inputs and outputs, and the orphans among them.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.scalar("x")
    >>> y = T.sin(x)
    >>> z = T.exp(y)
    >>> set(variables([x], [z])) == {x, y, z}
    True
    """
    return variables_and_orphans(i, o)[0]


def orphans(i: Iterable, o: Iterable) -> list:
    """Return the variables without an owner that the outputs need and that are no inputs.

    Parameters
    ----------
    i : iterable of Variable
        Where the graph begins.
    o : iterable of Variable
        Where it ends.

    Returns
    -------
    list of Variable

    See Also
    --------
    theano.gof.graph.ancestors : Return the variables that some variables are computed from, and these themselves.
    theano.gof.graph.variables : Return the variables between inputs and outputs, these included.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y = T.dscalars("x", "y")
    >>> orphans([x], [x + y])
    [y]
    """
    return variables_and_orphans(i, o)[1]


def nodes_between(i: Iterable, o: Iterable) -> dict:
    stop = set(i)
    stack = [var.owner for var in o if var not in stop and var.owner is not None]
    found: dict = {}
    while stack:
        node = stack.pop()
        if node in found:
            continue
        found[node] = None
        for var in node.inputs:
            if var.owner is not None and var not in stop:
                stack.append(var.owner)
    return found


def ops(i: Iterable, o: Iterable) -> set:
    """Return the set of Apply nodes between inputs and outputs.

    Parameters
    ----------
    i, o : iterable of Variable
        The owners of the inputs are not included.

    Returns
    -------
    set of Apply

    See Also
    --------
    theano.gof.graph.general_toposort : Sort what some things depend on, so that each comes after what it depends on
        itself.
    theano.gof.graph.list_of_nodes : Return the list of Apply nodes between inputs and outputs, in no order that matters.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.scalar("x")
    >>> y = T.sin(x)
    >>> z = T.exp(y)
    >>> ops([x], [z]) == {y.owner, z.owner}, ops([y], [z]) == {z.owner}
    (True, True)
    """
    return set(nodes_between(i, o))


def list_of_nodes(inputs: Iterable, outputs: Iterable) -> list:
    """Return the list of Apply nodes between inputs and outputs, in no order that matters.

    Parameters
    ----------
    inputs : iterable of Variable
        Where the graph begins.
    outputs : iterable of Variable
        Where it ends.

    Returns
    -------
    list of Apply

    See Also
    --------
    theano.gof.graph.ops : Return the set of Apply nodes between inputs and outputs.
    theano.gof.graph.io_toposort : Return the Apply nodes between inputs and outputs, each after those whose outputs it
        takes.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.scalar("x")
    >>> y = T.sin(x)
    >>> sorted(str(node.op) for node in list_of_nodes([x], [T.exp(y) + y]))
    ['Elemwise{add,no_inplace}', 'Elemwise{exp,no_inplace}', 'Elemwise{sin,no_inplace}']
    """
    return list(nodes_between(inputs, outputs))


def is_in_ancestors(l_node: Any, f_node: Any) -> bool:
    """Return whether `f_node` is found going up from `l_node`.

    Parameters
    ----------
    l_node : Apply
        Where to start.
    f_node : Apply
        What is looked for.

    Returns
    -------
    bool
        True for the node itself, too.

    See Also
    --------
    theano.gof.graph.ancestors : Return the variables that some variables are computed from, and these themselves.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.scalar("x")
    >>> y = T.sin(x)
    >>> z = T.exp(y)
    >>> is_in_ancestors(z.owner, y.owner), is_in_ancestors(y.owner, z.owner)
    (True, False)
    """
    stack = [l_node]
    seen = set()
    while stack:
        node = stack.pop()
        if node is f_node:
            return True
        if node in seen:
            continue
        seen.add(node)
        stack.extend(var.owner for var in node.inputs if var.owner is not None)
    return False


def view_roots(r: Any) -> list:
    """Return the variables that `r` is a view of, through any number of view Ops; `r` itself if it is no view.

    Parameters
    ----------
    r : Variable
        Any variable.

    See Also
    --------
    theano.compile.alias_root : Return the variable whose memory `v` uses, following views and in-place operations
        upwards.
    theano.compile.view_tree_set : Add to `treeset` the variable `v` and everything that is a view of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.matrix("x")
    >>> view_roots(x.T[0]), view_roots(x + 1)
    ([x], [Elemwise{add,no_inplace}.0])
    """
    roots: list = []
    stack = [r]
    seen = set()
    while stack:
        var = stack.pop()
        if var in seen:
            continue
        seen.add(var)
        owner = var.owner
        view_map = getattr(owner.op, "view_map", None) if owner is not None else None
        if view_map and var.index in view_map:
            stack.extend(owner.inputs[i] for i in reversed(view_map[var.index]))
        else:
            roots.append(var)
    return roots


def general_toposort(
    outputs: Iterable,
    deps: Callable[[Any], list] | None,
    debug_print: bool = False,
    compute_deps_cache: Callable[[Any], list] | None = None,
    deps_cache: dict | None = None,
    clients: dict | None = None,
) -> list:
    """Sort what some things depend on, so that each comes after what it depends on itself.

    Parameters
    ----------
    outputs : iterable
        What to start from.
    deps : callable
        Returns the list of what a thing depends on.
    debug_print : bool
        Kept for callers that pass it.
    compute_deps_cache : callable, optional
        Takes the place of `deps`, and keeps its results in `deps_cache`.
    deps_cache : dict, optional
        Where `compute_deps_cache` keeps its results.
    clients : dict, optional
        Gets, for each thing, the list of those that depend on it.

    Returns
    -------
    list
        Each after what it depends on.

    Raises
    ------
    ValueError
        The dependencies hold a cycle, or `compute_deps_cache` was given without `deps_cache`.
    TypeError
        `deps` returned something else than a list (the order would not be reproducible).

    See Also
    --------
    theano.gof.graph.io_toposort : Return the Apply nodes between inputs and outputs, each after those whose outputs it
        takes.
    theano.gof.graph.list_of_nodes : Return the list of Apply nodes between inputs and outputs, in no order that matters.
    theano.gof.graph.ops : Return the set of Apply nodes between inputs and outputs.

    Examples
    --------
    >>> needs = {"jacket": ["shirt", "trousers"], "trousers": ["shirt"], "shirt": []}
    >>> general_toposort(["jacket"], needs.get)
    ['shirt', 'trousers', 'jacket']
    """
    if compute_deps_cache is not None and deps_cache is None:
        raise ValueError("deps_cache cannot be None when compute_deps_cache is given")
    if compute_deps_cache is None and deps is None:
        raise ValueError("give deps, or compute_deps_cache and deps_cache")
    missing: dict = {}
    inverse: dict = {}
    sources = deque()
    stack = list(outputs)
    while stack:
        item = stack.pop()
        if item in missing:
            continue
        if compute_deps_cache is not None:
            needed = compute_deps_cache(item)
        else:
            needed = deps(item)
            if needed is not None and not isinstance(needed, (list, tuple, OrderedSet)):
                raise TypeError("Non-deterministic collections here make toposort non-deterministic.")
        needed = list(needed) if needed else []
        distinct = dict.fromkeys(needed) if len(needed) > 1 else needed
        missing[item] = len(distinct)
        for other in distinct:
            inverse.setdefault(other, []).append(item)
        if not needed:
            sources.append(item)
        stack.extend(needed)
    order = []
    while sources:
        item = sources.popleft()
        order.append(item)
        for client in inverse.get(item, ()):
            missing[client] -= 1
            if not missing[client]:
                sources.append(client)
    if len(order) != len(missing):
        raise ValueError("graph contains cycles")
    if clients is not None:
        clients.update(inverse)
    return order


def io_toposort(inputs: Iterable, outputs: Iterable, orderings: dict | None = None, clients: dict | None = None) -> list:
    """Return the Apply nodes between inputs and outputs, each after those whose outputs it takes.

    Parameters
    ----------
    inputs : iterable of Variable
        Where the graph begins.
    outputs : iterable of Variable
        Where it ends.
    orderings : dict, optional
        From a node to the list of nodes that must come before it as well.
    clients : dict, optional
        Gets the clients of each variable and node.

    Returns
    -------
    list of Apply

    Raises
    ------
    ValueError
        The graph, together with the orderings, holds a cycle.

    See Also
    --------
    theano.gof.graph.list_of_nodes : Return the list of Apply nodes between inputs and outputs, in no order that matters.
    theano.gof.graph.general_toposort : Sort what some things depend on, so that each comes after what it depends on
        itself.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.scalar("x")
    >>> for node in io_toposort([x], [T.exp(T.sin(x)) + x]):
    ...     print(node)
    Elemwise{sin,no_inplace}(x)
    Elemwise{exp,no_inplace}(Elemwise{sin,no_inplace}.0)
    Elemwise{add,no_inplace}(Elemwise{exp,no_inplace}.0, x)
    """
    stop = {var for var in inputs if var.owner is not None}
    orderings = orderings or {}
    named = {node for others in orderings.values() for node in others}
    # A search depth first; variables and nodes alike take their turns in the sort that follows, which fixes the
    # order among nodes that do not depend on each other. Nodes are on the stack only where an ordering names them.
    stack = list(outputs)
    leaves: set = set()
    missing: dict = {}
    readers: dict = {}
    # What comes after a node: its outputs that are used, and nodes. For most it is the one output, which is not noted.
    after: dict = {}
    queue: deque = deque()
    while stack:
        item = stack.pop()
        if named and item in named:
            node = item
        else:
            node = item.owner
            if node is None or (stop and item in stop):
                if item not in leaves:
                    leaves.add(item)
                    queue.append(item)
                continue
            if len(node.outputs) > 1 or (named and node in named):
                after.setdefault(node, {})[item] = None
        if node in missing:
            continue
        needed = node.inputs
        distinct: Any = dict.fromkeys(needed) if len(needed) > 1 else needed
        for var in distinct:
            if var in readers:
                readers[var].append(node)
            else:
                readers[var] = [node]
        stack += needed
        missing[node] = len(distinct)
        if orderings and (others := orderings.get(node)):
            before = dict.fromkeys(others)
            missing[node] += len(before)
            for other in before:
                after.setdefault(other, {})[node] = None
            stack += others
        if not missing[node]:
            queue.append(node)
    if clients is not None:
        clients.update(readers)
        clients.update((node, list(after.get(node, node.outputs))) for node in missing)
    count = len(missing)
    order: list = []
    while queue:
        item = queue.popleft()
        if item in missing:
            del missing[item]
            order.append(item)
            waiting = after.get(item, item.outputs)
        elif item in readers:
            waiting = readers[item]
        else:
            continue
        for other in waiting:
            if other in missing:
                left = missing[other] = missing[other] - 1
                if left:
                    continue
            queue.append(other)
    if len(order) != count:
        raise ValueError("graph contains cycles")
    return order


def depth_first_order(outputs: Iterable, inputs: Iterable = ()) -> list:
    """Return the Apply nodes that `outputs` depend on, each after those whose outputs it takes.

    The order among nodes that do not depend on each other is another than that of `io_toposort`: a node follows its
    inputs as closely as it can.  It takes a fraction of the time.

    Parameters
    ----------
    outputs : iterable of Variable
    inputs : iterable of Variable, optional
        The graph ends at these, even if they are computed from something.

    Returns
    -------
    list of Apply

    Raises
    ------
    ValueError
        The graph holds a cycle.
    """
    order: list = []
    stop = {var for var in inputs if var.owner is not None}
    # Whether a node, and so all that it needs, is in the order; False while that is being seen to.
    done: dict = {}
    for output in outputs:
        # Nodes that need the one that is seen to, each with what is left of its inputs.
        stack: list = []
        node: Any = None
        rest = iter((output,))
        while True:
            for var in rest:
                owner = var.owner
                if owner is None:
                    continue
                if owner in done:
                    if not done[owner] and var not in stop:
                        raise ValueError("graph contains cycles")
                elif not (stop and var in stop):
                    done[owner] = False
                    stack.append((node, rest))
                    node, rest = owner, iter(owner.inputs)
                    break
            else:
                if not stack:
                    break
                done[node] = True
                order.append(node)
                node, rest = stack.pop()
    return order


def clone(i: Sequence, o: Sequence, copy_inputs: bool = True, copy_orphans: bool | None = None) -> tuple[list, list]:
    """Copy the graph between inputs and outputs.

    Parameters
    ----------
    i, o : list of Variable
        Inputs and outputs.
    copy_inputs : bool
        Whether the inputs are copied too, or shared.
    copy_orphans : bool, optional
        The same for constants and other variables without an owner; by default as `copy_inputs`.

    Returns
    -------
    inputs, outputs : list of Variable
        Of the copy.

    See Also
    --------
    theano.FunctionGraph : A graph between inputs and outputs, whose changes are told to features.
    theano.clone : Return a copy of a graph, with some variables replaced by others.
    theano.gof.graph.clone_get_equiv : Copy the graph between inputs and outputs, and return what became of each variable
        and node.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y = T.scalars("xy")
    >>> (x2, y2), (product,) = clone([x, y], [x * y])
    >>> product.owner.inputs == [x2, y2], x2 is x, x2
    (True, False, x)
    """
    if copy_orphans is None:
        copy_orphans = copy_inputs
    equiv = clone_get_equiv(i, o, copy_inputs, copy_orphans)
    return [equiv[var] for var in i], [equiv[var] for var in o]


def clone_get_equiv(
    inputs: Sequence,
    outputs: Sequence,
    copy_inputs: bool = True,
    copy_orphans: bool = True,
    memo: dict | None = None,
    made: list | None = None,
) -> dict:
    """Copy the graph between inputs and outputs, and return what became of each variable and node.

    Parameters
    ----------
    inputs : list of Variable
        Where the graph begins.
    outputs : list of Variable
        Where it ends.
    copy_inputs, copy_orphans : bool
        Whether inputs, and other variables without an owner, are copied or shared.
    memo : dict, optional
        What is copied already, from original to copy; it is added to and returned.
    made : list, optional
        Gets the new nodes, each after those whose outputs it takes.

    Returns
    -------
    dict
        From each variable and node to its copy.

    See Also
    --------
    theano.clone : Return a copy of a graph, with some variables replaced by others.
    theano.gof.graph.clone : Copy the graph between inputs and outputs.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.scalar("x")
    >>> y = T.exp(x)
    >>> copies = clone_get_equiv([x], [y], copy_inputs=False)
    >>> copies[x] is x, copies[y] is y, copies[y].owner is copies[y.owner]
    (True, False, True)
    """
    # Copies of all that there is have the types of what they are copies of.
    fits = memo is None
    if memo is None:
        memo = {}
    for var in inputs:
        if var in memo:
            continue
        if copy_inputs:
            cpy = var.clone()
            cpy.owner = None
            cpy.index = None
            memo[var] = cpy
        else:
            memo[var] = var
    for node in depth_first_order(outputs, inputs):
        new_inputs = []
        for var in node.inputs:
            new = memo.get(var)
            if new is None:
                new = memo[var] = var.clone() if copy_orphans else var
            new_inputs.append(new)
        new_node = node.copy_on(new_inputs) if fits else node.clone_with_new_inputs(new_inputs)
        if made is not None:
            made.append(new_node)
        memo.setdefault(node, new_node)
        for out, new_out in zip(node.outputs, new_node.outputs, strict=True):
            memo.setdefault(out, new_out)
    for out in outputs:
        if out not in memo:
            memo[out] = out.clone() if copy_orphans else out
    return memo


def io_connection_pattern(inputs: Sequence, outputs: Sequence) -> list[list[bool]]:
    """Return which outputs depend, with a gradient, on which inputs.

    Parameters
    ----------
    inputs : list of Variable
        Where the graph begins.
    outputs : list of Variable
        Where it ends.

    Returns
    -------
    list of list of bool
        The element ``[i][j]`` says whether output ``j`` is connected to input ``i``.

    See Also
    --------
    theano.grad : Symbolic gradient of a scalar cost with respect to one or more variables.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y = T.vectors("xy")
    >>> io_connection_pattern([x, y], [x * y, x * y.shape[0]])  # A shape has no gradient.
    [[True, True], [True, False]]
    """
    # One integer a variable: bit i says that it is connected to input i.
    connected: dict = {}
    for i, var in enumerate(inputs):
        connected[var] = connected.get(var, 0) | (1 << i)
    stop = set(inputs)
    for node in io_toposort(inputs, outputs):
        bits = [connected.get(var, 0) for var in node.inputs]
        pattern_of = getattr(node.op, "connection_pattern", None)
        if pattern_of is not None:
            pattern = pattern_of(node)
            results = [0] * len(node.outputs)
            for row, b in zip(pattern, bits, strict=True):
                if b:
                    for j, is_connected in enumerate(row):
                        if is_connected:
                            results[j] |= b
        else:
            total = 0
            for b in bits:
                total |= b
            results = [total] * len(node.outputs)
        for out, b in zip(node.outputs, results, strict=True):
            if out not in stop:
                connected[out] = b
    return [[bool(connected.get(out, 0) >> i & 1) for out in outputs] for i in range(len(inputs))]


def _canonical(outputs: Sequence, table: dict, given: dict) -> dict:
    # A number for each variable, equal for variables that compute the same; `table` is shared between graphs.
    numbers: dict = dict(given)

    def leaf(var: Any) -> int:
        signature = getattr(var, "signature", None)
        key = ("constant", signature()) if signature is not None else ("leaf", var)
        return table.setdefault(key, len(table))

    for node in io_toposort(list(given), outputs):
        args = []
        for var in node.inputs:
            n = numbers.get(var)
            if n is None:
                n = numbers[var] = leaf(var)
            args.append(n)
        key = (node.op, tuple(args), tuple(out.type for out in node.outputs))
        for i, out in enumerate(node.outputs):
            if out not in numbers:
                numbers[out] = table.setdefault((key, i), len(table))
    for var in outputs:
        if var not in numbers:
            numbers[var] = leaf(var)
    return numbers


def is_same_graph(var1: Any, var2: Any, givens: Any = None, debug: bool = False) -> bool:
    """Return whether two variables perform the same computation.

    Parameters
    ----------
    var1, var2 : Variable
        What is compared.
    givens : dict or list of pairs, optional
        Variables, in either graph, to be replaced before the comparison.
    debug : bool
        Kept for callers that pass it; there is one implementation.

    Returns
    -------
    bool

    See Also
    --------
    theano.gof.opt.is_same_graph_with_merge : Say whether two variables are computed by the same graph, by merging a copy
        of both.
    theano.gof.MergeOptimizer : Make one of all Apply nodes with equal Ops and the same inputs, and of equal constants.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y = T.vectors("x", "y")
    >>> is_same_graph(x + 1, x + 1), is_same_graph(x + 1, y + 1), is_same_graph(x + 1, y + 1, givens={x: y})
    (True, False, True)
    """
    pairs = list(givens.items()) if isinstance(givens, dict) else list(givens or ())
    table: dict = {}
    # What replaces a variable is taken as it is: replacements are made at once, not one after another.
    replaced = _canonical([new for _, new in pairs], table, {})
    given = {old: replaced[new] for old, new in pairs}
    numbers = _canonical([var1, var2], table, given)
    return numbers[var1] == numbers[var2]
