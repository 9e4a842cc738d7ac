"""The tree of a graph as text."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import StringIO
from typing import Any, TextIO

from theano.gof.graph import Apply, Variable

_LEGEND = """
Timing Info
-----------
--> <time> <% time> - <total time> <% total time>'

<time>         computation time for this node
<% time>       fraction of total computation time for this node
<total time>   time for this node + total times for this node's ancestors
<% total time> total time for this node over total computation time

N.B.:
* Times include the node time and the function overhead.
* <total time> and <% total time> may over-count computation times
  if inputs to a node share a common ancestor and should be viewed as a
  loose upper bound. Their intended use is to help rule out potential nodes
  to remove when optimizing a graph because their <total time> is very low.
"""


def char_from_number(number: int) -> str:
    """Write a number with the digits A to Z.

    Parameters
    ----------
    number : int
        Not negative.

    Returns
    -------
    str
        The digits.

    See Also
    --------
    theano.printing.debugprint : Print a graph as a tree of text.

    Examples
    --------
    >>> char_from_number(0), char_from_number(25), char_from_number(26)
    ('A', 'Z', 'BA')
    """
    text = "" if number else "A"
    while number:
        number, digit = divmod(number, 26)
        text = chr(ord("A") + digit) + text
    return text


def is_scan(op: Any) -> bool:
    """Say whether `op` is a Scan."""
    return getattr(op, "loops", False)


class _Root:
    """A variable to print, with what is known of the function that it belongs to."""

    def __init__(self, var: Variable, order: Any, storage_map: Any, profile: Any):
        self.var = var
        self.order = order
        self.storage_map = storage_map
        self.profile = profile


def _roots(obj: Any) -> list[_Root]:
    from theano.gof.fg import FunctionGraph

    if isinstance(obj, (list, tuple, set)):
        return [root for part in obj for root in _roots(part)]
    if isinstance(obj, Variable):
        return [_Root(obj, None, None, None)]
    if isinstance(obj, Apply):
        return [_Root(var, None, None, None) for var in obj.outputs]
    if isinstance(obj, FunctionGraph):
        order = obj.toposort()
        storage_map = getattr(obj, "storage_map", None)
        return [_Root(var, order, storage_map, getattr(obj, "profile", None)) for var in obj.outputs]
    maker = getattr(obj, "maker", None)
    if maker is not None and hasattr(maker, "fgraph"):
        order = maker.fgraph.toposort()
        storage_map = getattr(obj.fn, "storage_map", None)
        return [_Root(var, order, storage_map, obj.profile) for var in maker.fgraph.outputs]
    if isinstance(getattr(obj, "variable", None), Variable):
        return [_Root(obj.variable, None, None, None)]
    raise TypeError(f"debugprint cannot print an object of this type: {obj}")


def debugprint(
    obj: Any,
    depth: int = -1,
    print_type: bool = False,
    file: Any = None,
    ids: str = "CHAR",
    stop_on_name: bool = False,
    done: dict | None = None,
    print_storage: bool = False,
    print_clients: bool = False,
    used_ids: dict | None = None,
) -> Any:
    """Print a graph as a tree of text.

    Each line is a variable: its name or type if nothing computes it, else the Op that does. Deeper
    indentation is further from the result. What is below a variable is printed the first time only;
    the identifier tells where that is.

    Parameters
    ----------
    obj : Variable, Apply, Function, FunctionGraph, or list of them
        What to print.
    depth : int
        Number of levels to print, -1 for all.
    print_type : bool
        Print the types of variables too.
    file : None, 'str' or file-like
        Where to print; None is the standard output, 'str' returns the text.
    ids : {'CHAR', 'int', 'id', ''}
        Identifiers: letters, numbers, Python's ``id``, or none.
    stop_on_name : bool
        Print nothing below variables that have a name.
    done : dict, optional
        Identifiers of what was printed; give the same dict to several calls to share it.
    print_storage : bool
        Print the current values in a function's storage.
    print_clients : bool
        Print the clients of nodes that have more than one.
    used_ids : dict, optional
        Identifiers that were given, also to things that are not printed yet.

    Returns
    -------
    str or file-like
        The text if `file` is 'str', else `file`.

    Raises
    ------
    TypeError
        When `obj` is nothing that can be printed.
    ValueError
        For other `ids`.

    See Also
    --------
    theano.printing.latex : Return an expression as a formula in LaTeX, without the dollar signs around it.
    theano.pp : Return a graph as a formula; the same as `pprint`.
    theano.printing.pydotprint : Draw a graph: ellipses are applications of Ops, boxes are variables.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dscalar('x')
    >>> print(theano.printing.debugprint(x * 2, file='str'))  # doctest: +NORMALIZE_WHITESPACE
    Elemwise{mul,no_inplace} [id A] ''
     |x [id B]
     |TensorConstant{2} [id C]
    """
    if not isinstance(depth, int):
        raise TypeError("depth parameter must be an int")
    if ids not in ("CHAR", "int", "id", ""):
        raise ValueError(f"ids must be one of 'CHAR', 'int', 'id' and '', not {ids!r}")
    if file is None:
        out: TextIO = sys.stdout
    elif file == "str":
        out = StringIO()
    else:
        out = file
    tree = _Tree(
        out,
        ids,
        {} if done is None else done,
        {} if used_ids is None else used_ids,
        print_type=print_type,
        stop_on_name=stop_on_name,
        print_storage=print_storage,
        print_clients=print_clients,
    )
    roots = _roots(obj)
    if any(root.profile is not None and getattr(root.profile, "fct_callcount", 0) > 0 for root in roots):
        print(_LEGEND, file=out)
    for root in roots:
        tree.print(root, depth)
    tree.print_scans(depth)
    if file == "str":
        return out.getvalue()  # type: ignore[attr-defined]
    out.flush()
    return file


def print_tree(
    r: Variable,
    prefix: str = "",
    depth: int = -1,
    done: dict | None = None,
    print_type: bool = False,
    file: Any = None,
    print_destroy_map: bool = False,
    print_view_map: bool = False,
    order: list | None = None,
    ids: str = "CHAR",
    stop_on_name: bool = False,
    prefix_child: str | None = None,
    scan_ops: list | None = None,
    profile: Any = None,
    scan_inner_to_outer_inputs: dict | None = None,
    smap: dict | None = None,
    used_ids: dict | None = None,
    print_clients: bool = False,
) -> Any:
    """Print the tree of one variable, as :func:`debugprint` prints each of its own.

    Parameters
    ----------
    r : Variable
    prefix, prefix_child : str
        What the line of the variable begins with, and those below it.
    depth, done, print_type, ids, stop_on_name, used_ids, print_clients
        As for `debugprint`.
    file : file-like, optional
        By default the standard output.
    print_destroy_map, print_view_map : bool
        Print which inputs the Ops overwrite, and of which they return views.
    order : list of Apply, optional
        Nodes whose positions in it are printed.
    scan_ops : list, optional
        The variables of loops are added to it, for their inner graphs to be printed later.
    profile : ProfileStats, optional
        Its times are printed.
    scan_inner_to_outer_inputs : dict, optional
        For variables of the inner graph of a loop those outside.
    smap : dict, optional
        The storage of a function, which is printed.

    Returns
    -------
    file-like
    """
    out = sys.stdout if file is None else file
    tree = _Tree(
        out,
        ids,
        {} if done is None else done,
        {} if used_ids is None else used_ids,
        print_type=print_type,
        stop_on_name=stop_on_name,
        print_storage=smap is not None,
        print_clients=print_clients,
        maps=[*["destroy_map"] * print_destroy_map, *["view_map"] * print_view_map],
    )
    tree.print(_Root(r, order, smap, profile), depth, prefix, prefix_child, scan_inner_to_outer_inputs)
    if scan_ops is not None:
        scan_ops.extend(tree.scans.values())
    return out


class _Tree:
    """Prints trees that share identifiers."""

    def __init__(
        self,
        out: TextIO,
        ids: str,
        done: dict,
        used_ids: dict,
        print_type: bool,
        stop_on_name: bool,
        print_storage: bool,
        print_clients: bool,
        maps: Sequence[str] = (),
    ):
        self.out = out
        self.maps = maps
        self.ids = ids
        self.done = done
        self.used_ids = used_ids
        self.print_type = print_type
        self.stop_on_name = stop_on_name
        self.print_storage = print_storage
        self.print_clients = print_clients
        self.scans: dict[Apply, Variable] = {}
        self.position: dict[int, dict[Apply, int]] = {}

    def identifier(self, thing: Any, printed: bool = True) -> str:
        """The identifier of a node or variable, with the brackets; given when it is first asked for."""
        if thing in self.used_ids:
            text = self.used_ids[thing]
        elif self.ids == "CHAR":
            text = f"[id {char_from_number(len(self.used_ids))}]"
        elif self.ids == "int":
            text = f"[id {len(self.used_ids)}]"
        elif self.ids == "id":
            text = f"[id {id(thing)}]"
        else:
            text = ""
        if printed:
            self.done[thing] = text
        self.used_ids[thing] = text
        return text

    def _order(self, order: Any) -> dict[Apply, int]:
        if order is None:
            return {}
        known = self.position.get(id(order))
        if known is None:
            known = self.position[id(order)] = {node: i for i, node in enumerate(order)}
        return known

    def print(
        self,
        root: _Root,
        depth: int,
        prefix: str = "",
        prefix_child: str | None = None,
        inner_to_outer: dict | None = None,
        skip_root: bool = False,
    ) -> None:
        """Print the tree of a variable."""
        order = self._order(root.order)
        write = self.out.write
        times = _Times(root.profile, root.order) if root.profile is not None and root.order is not None else None
        if prefix_child is None:
            prefix_child = prefix
        stack: list[tuple[Variable, int, str, str]] = [(root.var, depth, prefix, prefix_child)]
        while stack:
            var, levels, before, before_child = stack.pop()
            if levels == 0:
                continue
            node = var.owner
            type_text = f" <{var.type}>" if self.print_type else ""
            if node is None:
                write(f"{before}{var} {self.identifier(var)}{type_text}{self._data(root, var)}")
                if inner_to_outer and var in inner_to_outer:
                    outer = inner_to_outer[var]
                    write(f" -> {self.identifier(outer.owner or outer, printed=False)}")
                write("\n")
                continue
            already = node in self.done
            self._print_node(root, var, node, before, type_text, order, times)
            if is_scan(node.op) or hasattr(node.op, "inner_graph_to_print"):
                self.scans.setdefault(node, var)
            if already or (self.stop_on_name and getattr(var, "name", None) is not None):
                continue
            last = len(node.inputs) - 1
            branch = f"{before_child} |"
            for i in range(last, -1, -1):
                below = f"{before_child}  " if i == last else branch
                stack.append((node.inputs[i], levels - 1, branch, below))

    def _print_node(
        self, root: _Root, var: Variable, node: Apply, before: str, type_text: str, order: dict, times: Any
    ) -> None:
        identifier = self.identifier(node)
        label = f"{node.op}.{var.index}" if len(node.outputs) > 1 else str(node.op)
        place = order.get(node, "")
        clients = ""
        if self.print_clients:
            users = [client for out in node.outputs for client, _ in getattr(out, "clients", ())]
            if len(users) > 1:
                clients = f" clients:{[(user, order.get(user, '') if user != 'output' else '') for user in users]}"
        clients += "".join(f" {name[0]}={getattr(node.op, name)}" for name in self.maps if getattr(node.op, name, None))
        time_text = times.text(node) if times is not None else ""
        name = getattr(var, "name", None) or ""
        self.out.write(
            f"{before}{label} {identifier}{type_text} '{name}'   {place}{clients}{self._data(root, var)}{time_text}\n"
        )

    def _data(self, root: _Root, var: Variable) -> str:
        if not self.print_storage or root.storage_map is None or var not in root.storage_map:
            return ""
        return f" {root.storage_map[var]}"

    def print_scans(self, depth: int) -> None:
        """Print the inner graphs of the scans met so far, and of the scans in those."""
        if not self.scans:
            return
        self.out.write("\nInner graphs of the scan ops:\n")
        printed: set[Apply] = set()
        while len(printed) < len(self.scans):
            for node, var in list(self.scans.items()):
                if node in printed:
                    continue
                printed.add(node)
                self.out.write("\n")
                self._print_inner(node, var, depth)

    def _print_inner(self, node: Apply, var: Variable, depth: int) -> None:
        op = node.op
        # The node itself was printed before, so nothing follows below its line.
        self.print(_Root(var, None, None, None), depth)
        # Asking a Scan for its function would compile it.
        fn = op._fn if is_scan(op) else getattr(op, "fn", None)
        if fn is not None and hasattr(fn, "maker"):
            inner_inputs, inner_outputs = fn.maker.fgraph.inputs, fn.maker.fgraph.outputs
        else:
            inner_inputs, inner_outputs = op.inputs, op.outputs
        mapping = getattr(op, "var_mappings", {}).get("outer_inp_from_inner_inp", {})
        inner_to_outer = {
            inner_inputs[i]: node.inputs[o] for i, o in mapping.items() if o is not None and o >= 0
        }
        for out in inner_outputs:
            self.print(_Root(out, None, None, None), depth, " >", " >", inner_to_outer=inner_to_outer)


class _Times:
    """Computing times of the nodes of a profiled function."""

    def __init__(self, profile: Any, order: Any):
        self.apply_time = getattr(profile, "apply_time", {})
        self.total = sum(self.apply_time.get(node, 0.0) for node in order) or 1.0
        self.with_ancestors: dict[Apply, float] = {}
        for node in order:
            parents = {var.owner for var in node.inputs if var.owner is not None}
            self.with_ancestors[node] = self.apply_time.get(node, 0.0) + sum(
                self.with_ancestors.get(parent, 0.0) for parent in parents
            )

    def text(self, node: Apply) -> str:
        if node not in self.apply_time:
            return ""
        own = self.apply_time[node]
        whole = self.with_ancestors.get(node, own)
        return (
            f" --> {own:8.2e}s {100 * own / self.total:4.1f}% {whole:8.2e}s {100 * whole / self.total:4.1f}%"
        )


def get_node_by_id(graphs: Any, target_var_id: str, ids: str = "CHAR") -> Any:
    """Return what `debugprint` prints with a given identifier.

    Parameters
    ----------
    graphs : Variable, Apply, Function, FunctionGraph or list of them
        What was printed.
    target_var_id : str
        The identifier, without the brackets.
    ids : {'CHAR', 'int', 'id'}
        As for `debugprint`.

    Returns
    -------
    Apply, Variable or None
        None when there is nothing of this identifier.

    See Also
    --------
    theano.printing.debugprint : Print a graph as a tree of text.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar('x')
    >>> get_node_by_id(x * 2, 'B') is x
    True
    """
    given: dict = {}
    debugprint(graphs, file="str", ids=ids, used_ids=given)
    wanted = f"[id {target_var_id}]"
    for thing, text in given.items():
        if text == wanted:
            return thing
    return None
