"""Ops that overwrite their inputs: when that is allowed, and what must come before it.

An Op destroys an input (its ``destroy_map``) or returns a view of it (its ``view_map``).  The variable at the end of a
chain of views is the *root*; the root and all its views are what a destruction strikes.  A graph is consistent if

- at most one node destroys a root, which is neither a constant nor marked ``tag.indestructible``;
- a node does not destroy what it reads through another of its inputs, unless its Op says that it can;
- everything else that reads the root or a view of it can run before the node that destroys it.

The last condition asks for an order of the nodes.  One is kept, as a number for each node, and changed only around what
is new: to let node ``u`` come before node ``v`` that has a smaller number, only nodes with numbers between the two are
looked at (Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic graphs", 2006).  A change that
closes a cycle is mostly recognized without a search, by intervals on a spanning tree of the graph.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from theano.configdefaults import config
from theano.gof import graph, toolbox
from theano.gof.fg import InconsistencyError
from theano.gof.graph import Constant


class ProtocolError(Exception):
    """A graph tells of changes in an order that cannot be, of a node, say, that never came into it.

    Examples
    --------
    >>> class Register(toolbox.Feature):
    ...     nodes = ()
    ...     def on_prune(self, fgraph, node, reason):
    ...         if node not in self.nodes:
    ...             raise ProtocolError(f"{node} never came")
    >>> Register().on_prune(None, "exp(x)", "merge")
    Traceback (most recent call last):
        ...
    theano.gof.destroyhandler.ProtocolError: exp(x) never came
    """


def fast_inplace_check(inputs: Iterable) -> list:
    """Return which variables may be destroyed, as far as a quick look tells.

    Constants, outputs of the graph, what is destroyed already and what the function's caller protects are left out.

    Parameters
    ----------
    inputs : list of Variable
        Of one FunctionGraph.

    Returns
    -------
    list of Variable

    See Also
    --------
    theano.compile.infer_reuse_pattern : Return the variables whose storage may not be reused, because outputs may be
        aliased to it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> x, y = T.vectors("xy")
    >>> fgraph = FunctionGraph([x, y], [T.inplace.exp_inplace(x) + y, y * 2], features=[DestroyHandler()])
    >>> fast_inplace_check([*fgraph.inputs, *fgraph.outputs])
    [y]
    """
    inputs = list(inputs)
    if not inputs:
        return []
    fgraph = inputs[0].fgraph
    protected = set(fgraph.outputs)
    for feature in fgraph._features:
        protected.update(getattr(feature, "protected", ()))
    return [v for v in inputs if not isinstance(v, Constant) and v not in protected and not fgraph.has_destroyers([v])]


def _viewed(var: Any) -> list:
    # The variables that `var` is a view of, one step up.
    owner = var.owner
    if owner is None:
        return []
    view_map = getattr(owner.op, "view_map", None)
    if not view_map:
        return []
    return [owner.inputs[i] for i in view_map.get(var.index, ())]


def _roots(var: Any) -> list:
    # Mostly one; an Op may return a view of several inputs.
    bases = _viewed(var)
    if not bases:
        return [var]
    if len(bases) == 1:
        while True:
            var = bases[0]
            bases = _viewed(var)
            if not bases:
                return [var]
            if len(bases) > 1:
                break
    return graph.view_roots(var)


def _impact(var: Any) -> list:
    # `var` and everything that is a view of it.
    found = [var]
    seen = {var}
    for v in found:
        for node, i in v.clients:
            if node == "output":
                continue
            view_map = getattr(node.op, "view_map", None)
            if view_map:
                for o, numbers in view_map.items():
                    if i in numbers:
                        out = node.outputs[o]
                        if out not in seen:
                            seen.add(out)
                            found.append(out)
    return found


def _destroyed(node: Any) -> dict:
    # From the number of a destroyed input to the variable.
    numbers: dict = {}
    for indices in (getattr(node.op, "destroy_map", None) or {}).values():
        for i in indices:
            numbers[i] = node.inputs[i]
    return numbers


class DestroyHandler(toolbox.Bookkeeper):
    """Sees to it that in-place Ops do no harm.

    It puts on the graph ``destroyers(var)``, which returns the list of nodes that destroy a variable (or what it is a
    view of), and ``has_destroyers(vars)``.

    Parameters
    ----------
    do_imports_on_attach : bool
        Whether the nodes that are in the graph already are looked at.
    algo : {'regular', 'fast'}, optional
        By default ``config.cycle_detection``.  'fast' allows only the destruction of variables that nothing else reads
        and that are no views.

    See Also
    --------
    theano.InconsistencyError : A change of a graph would make it invalid.
    theano.gof.Feature : The base class of features.  Its callbacks do nothing.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> x = T.vector("x")
    >>> y = T.inplace.exp_inplace(x)
    >>> fgraph = FunctionGraph([x], [y, T.sin(x)], features=[DestroyHandler()])
    >>> fgraph.destroyers(fgraph.inputs[0])
    [exp_inplace(x)]
    >>> [str(node.op) for node in fgraph.toposort()]  # What overwrites a value comes after its readers.
    ['Elemwise{sin,no_inplace}', 'exp_inplace']
    """

    pickle_rm_attr = ("destroyers", "has_destroyers", "destroy_handler")

    follows_ops = True

    def __init__(self, do_imports_on_attach: bool = True, algo: str | None = None):
        self.fgraph: Any = None
        self.do_imports_on_attach = do_imports_on_attach
        self.algo = config.cycle_detection if algo is None else algo
        self._clear()

    def _clear(self) -> None:
        # The nodes that destroy, with the roots of what they destroy; the inverse.
        self.destroyers: dict = {}
        self.root_destroyers: dict = {}
        # Of the nodes that destroy, those to be looked at (again).
        self._dirty: dict = {}
        # The same for others who check: all that ever were to be looked at, in that order, some more than once.
        self.touched: list = []
        # The number of each node in the order, or None where there is no order yet.
        self._order: dict | None = None
        self._numbers: set = set()
        self._spread = 0.0
        self._new_nodes: dict = {}
        self._new_edges: list = []
        # Intervals of nodes on a spanning tree; the steps that searches took since they were made.
        self._intervals: dict | None = None
        self._work = 0
        self._pruned: list = []
        # Of which state of the graph the orderings are known, and these; none while it changes.
        self._orderings: tuple | None = None

    def on_attach(self, fgraph: Any) -> None:
        if any(hasattr(fgraph, attr) for attr in ("destroyers", "destroy_handler")):
            raise toolbox.AlreadyThere("DestroyHandler feature is already present or in conflict with another plugin.")
        if self.fgraph is not None and self.fgraph is not fgraph:
            raise Exception("A DestroyHandler instance can only serve one FunctionGraph. (Matthew 6:24)")
        self.fgraph = fgraph
        self._clear()
        self._put(fgraph)
        if self.do_imports_on_attach:
            toolbox.Bookkeeper.on_attach(self, fgraph)

    def _put(self, fgraph: Any) -> None:
        fgraph.destroy_handler = self
        fgraph.destroyers = self._destroyers_of
        fgraph.has_destroyers = self._has_destroyers

    def unpickle(self, fgraph: Any) -> None:
        """Put the methods back on a graph that was unpickled."""
        self.fgraph = fgraph
        self._clear()
        self._put(fgraph)
        toolbox.Bookkeeper.on_attach(self, fgraph)

    def __getstate__(self) -> dict:
        return {"do_imports_on_attach": self.do_imports_on_attach, "algo": self.algo, "fgraph": None}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self._clear()

    def clone(self) -> DestroyHandler:
        return self.__class__(self.do_imports_on_attach, self.algo)

    def on_detach(self, fgraph: Any) -> None:
        if fgraph is not self.fgraph:
            raise Exception("detaching wrong fgraph", fgraph)
        del fgraph.destroyers
        del fgraph.has_destroyers
        del fgraph.destroy_handler
        self.fgraph = None
        self._clear()

    def _destroyers_of(self, var: Any) -> list:
        if not self.root_destroyers:
            return []
        return list(dict.fromkeys(d for root in _roots(var) for d in self.root_destroyers.get(root, ())))

    def _has_destroyers(self, vars: Iterable) -> bool:
        if not self.root_destroyers:
            return False
        return any(self.root_destroyers.get(root) for var in vars for root in _roots(var))

    def views_of(self, root: Any) -> list:
        """Return `root` and everything that is a view of it."""
        return _impact(root)

    def _add_destroyer(self, node: Any) -> None:
        roots = list(dict.fromkeys(root for var in _destroyed(node).values() for root in _roots(var)))
        self.destroyers[node] = roots
        for root in roots:
            self.root_destroyers.setdefault(root, {})[node] = None
        self._dirty[node] = None
        self.touched.append(node)

    def _drop_destroyer(self, node: Any) -> None:
        for root in self.destroyers.pop(node):
            nodes = self.root_destroyers[root]
            del nodes[node]
            if not nodes:
                del self.root_destroyers[root]
        self._dirty.pop(node, None)

    def _touch(self, var: Any) -> None:
        # Something that reads `var` is new: what destroys it must be looked at.
        for root in _roots(var):
            nodes = self.root_destroyers.get(root)
            if nodes:
                self._dirty.update(nodes)
                self.touched.extend(nodes)

    def on_import(self, fgraph: Any, node: Any, reason: Any) -> None:
        self._orderings = None
        if self._order is not None:
            self._new_nodes[node] = None
        if self.root_destroyers:
            for var in node.inputs:
                self._touch(var)
        if getattr(node.op, "destroy_map", None):
            self._add_destroyer(node)

    def on_prune(self, fgraph: Any, node: Any, reason: Any) -> None:
        self._orderings = None
        if node in self.destroyers:
            self._drop_destroyer(node)
        if self._order is not None:
            self._numbers.discard(self._order.pop(node, None))
            self._new_nodes.pop(node, None)
            self._pruned.append(node)

    def on_change_input(self, fgraph: Any, node: Any, i: int, r: Any, new_r: Any, reason: Any = None) -> None:
        self._orderings = None
        if not self.destroyers and self._order is None:
            return
        if node == "output":
            self._touch(new_r)
        else:
            if node in self.destroyers:
                self._drop_destroyer(node)
                self._add_destroyer(node)
            self._touch(new_r)
            view_map = getattr(node.op, "view_map", None)
            if view_map:
                self._move_views(node, i, view_map)
            if self._order is not None and new_r.owner is not None:
                self._new_edges.append((new_r.owner, node))
        if self._order is not None:
            self._keep_intervals(r.owner, new_r.owner)

    def _move_views(self, node: Any, i: int, view_map: dict) -> None:
        # What is a view of the changed input has other roots now.
        for o, numbers in view_map.items():
            if i not in numbers:
                continue
            for var in _impact(node.outputs[o]):
                for client, _ in var.clients:
                    if client != "output" and client in self.destroyers:
                        self._drop_destroyer(client)
                        self._add_destroyer(client)
            self._touch(node.outputs[o])

    def _keep_intervals(self, old: Any, new: Any) -> None:
        # A node that takes another's place, with all it reads and all that reads it, takes over its interval.  Any
        # other removal of an edge may make the spanning tree wrong.
        pruned, self._pruned = self._pruned, []
        intervals = self._intervals
        if intervals is None:
            return
        if any(node is not old and node in intervals for node in pruned):
            self._intervals = None
        elif old in intervals:
            own = intervals.get(new)
            if own is None:
                fits = new is not None and len(old.outputs) == 1 and len(new.outputs) == 1 and set(old.inputs) <= set(new.inputs)
                if fits:
                    intervals[new] = intervals[old]
                else:
                    self._intervals = None
            elif own != intervals[old]:
                self._intervals = None

    def validate(self, fgraph: Any) -> bool:
        """Check that the graph is consistent.

        Raises
        ------
        InconsistencyError
            It is not.
        """
        if not self.destroyers:
            self._order = None
            self._new_nodes.clear()
            self._new_edges.clear()
            self._intervals = None
            self._pruned.clear()
            return True
        if self.algo == "fast":
            for node in list(self._dirty):
                self._check_fast(node)
            self._dirty.clear()
            return True
        if self._order is None or not self._place_new_nodes():
            self._rebuild()
        # What is left undone by an error is done by the next call, unless it is gone by then.
        while self._new_edges:
            before, after = self._new_edges[-1]
            if before in self._order and after in self._order and any(v.owner is before for v in after.inputs):
                self._insert_edge(before, after)
            self._new_edges.pop()
        while self._dirty:
            node = next(reversed(self._dirty))
            for before in self._before(node):
                self._insert_edge(before, node)
            del self._dirty[node]
        return True

    def orderings(self, fgraph: Any) -> OrderedDict:
        """Return, for each node that destroys, the nodes that must come before it.

        Raises
        ------
        InconsistencyError
            A node destroys what must not be destroyed.
        """
        if self._orderings is None or self._orderings[0] != fgraph.state():
            rval: OrderedDict = OrderedDict()
            for node in self.destroyers:
                before = self._before(node)
                if before:
                    rval[node] = list(before)
            self._orderings = fgraph.state(), rval
        return self._orderings[1]

    def _check_root(self, root: Any) -> None:
        if len(self.root_destroyers[root]) > 1:
            raise InconsistencyError(f"Multiple destroyers of {root}")
        if isinstance(root, Constant) or getattr(root.tag, "indestructible", False):
            raise InconsistencyError(f"Attempting to destroy indestructible variables: {[root]}")

    def _check_fast(self, node: Any) -> None:
        for root in self.destroyers[node]:
            self._check_root(root)
        for var in _destroyed(node).values():
            if _viewed(var):
                raise InconsistencyError(f"Destroyed variable is a view: {var} (with cycle_detection=fast)")
            if any(client is not node for client, _ in var.clients):
                raise InconsistencyError(f"Destroyed variable has several clients: {var} (with cycle_detection=fast)")
            if len(var.clients) > 1:
                self._before(node)

    def _before(self, node: Any) -> dict:
        # The nodes that must come before one that destroys; raises where it must not destroy at all.
        for root in self.destroyers[node]:
            self._check_root(root)
        op = node.op
        before: dict = {}
        for i, var in _destroyed(node).items():
            struck: dict = {}
            for root in _roots(var):
                struck.update(dict.fromkeys(_impact(root)))
            if len(node.inputs) > 1:
                same = {b for a, b in getattr(op, "destroyhandler_tolerate_same", ()) if a == i}
                aliased = {b for a, b in getattr(op, "destroyhandler_tolerate_aliased", ()) if a == i}
                for j, other in enumerate(node.inputs):
                    if j == i or j in aliased or other not in struck:
                        continue
                    if j not in same or other is not var:
                        raise InconsistencyError(f"Input aliasing: {node} ({i}, {j})")
            for v in struck:
                for client, _ in v.clients:
                    if client != "output" and client is not node:
                        before[client] = None
        return before

    def _rebuild(self) -> None:
        # An order for the graph as it is now; where it is inconsistent, one that leaves what destroys for later.
        fgraph = self.fgraph
        dirty: dict = {}
        try:
            if len(fgraph._methods("orderings")) == 1:
                # Only this feature has a say: who asks for the order of the nodes next has it already.
                nodes = fgraph.toposort()
            else:
                nodes = graph.io_toposort(fgraph.inputs, fgraph.outputs, self.orderings(fgraph))
        except (ValueError, InconsistencyError):
            dirty = dict.fromkeys(self.destroyers)
            try:
                nodes = graph.io_toposort(fgraph.inputs, fgraph.outputs)
            except ValueError as e:
                self._order = None
                raise InconsistencyError(f"Dependency graph contains cycles: {e}") from None
        self._order = {node: float(i) for i, node in enumerate(nodes)}
        self._numbers = set(self._order.values())
        self._new_nodes = {}
        self._new_edges = []
        self._dirty = dirty
        self._intervals = None
        self._pruned = []
        self._work = 0

    def _place_new_nodes(self) -> bool:
        # Give each new node a number above those of its inputs and, if there is room, below those of its clients.
        # False where numbers are too close to each other to find one in between.
        order = self._order
        assert order is not None
        numbers = self._numbers
        for node in list(self._new_nodes):
            low = -1.0
            for var in node.inputs:
                if var.owner is not None:
                    low = max(low, order.get(var.owner, low))
            high = None
            for out in node.outputs:
                for client, _ in out.clients:
                    n = order.get(client) if client != "output" else None
                    if n is not None and (high is None or n < high):
                        high = n
            # Close to the inputs: clients that are new themselves have no number yet.  Where clients come before inputs
            # the new edges to them are put in one by one.
            room = 1.0 if high is None or high <= low else min(1.0, high - low)
            for _ in range(20):
                self._spread = (self._spread + 0.6180339887498949) % 1.0
                number = low + room * (0.05 + 0.9 * self._spread)
                if number not in numbers and low < number and (high is None or high <= low or number < high):
                    break
            else:
                return False
            numbers.add(number)
            order[node] = number
            del self._new_nodes[node]
        return True

    def _parents(self, node: Any) -> Iterable:
        # What comes before a node: the makers of its inputs and what reads what it destroys.
        for var in node.inputs:
            if var.owner is not None:
                yield var.owner
        if node in self.destroyers and node not in self._dirty:
            yield from self._before(node)

    def _children(self, node: Any) -> Iterable:
        # What comes after a node: its clients and what destroys what it reads.
        for out in node.outputs:
            for client, _ in out.clients:
                if client != "output":
                    yield client
        if self.root_destroyers:
            for var in node.inputs:
                for root in _roots(var):
                    for destroyer in self.root_destroyers.get(root, ()):
                        if destroyer is not node and destroyer not in self._dirty:
                            yield destroyer

    def _insert_edge(self, before: Any, after: Any) -> None:
        # Change the numbers so that `before` has a smaller one than `after`.
        order = self._order
        assert order is not None
        if before is after:
            raise InconsistencyError(f"{before} would have to come before itself")
        low, high = order[after], order[before]
        if high < low:
            return
        intervals = self._intervals
        if intervals is None and self._work > len(order):
            intervals = self._make_intervals()
        if intervals is not None:
            a, b = intervals.get(after), intervals.get(before)
            if a is not None and b is not None and a is not b and a[0] < b[0] and b[1] <= a[1]:
                raise InconsistencyError("Dependency graph contains cycles")
        forward = {after: None}
        stack = [after]
        while stack:
            for node in self._children(stack.pop()):
                if node is before:
                    self._work += len(forward)
                    raise InconsistencyError("Dependency graph contains cycles")
                if node not in forward and order.get(node, high) < high:
                    forward[node] = None
                    stack.append(node)
        backward = {before: None}
        stack = [before]
        while stack:
            for node in self._parents(stack.pop()):
                if node not in backward and order.get(node, low) > low:
                    backward[node] = None
                    stack.append(node)
        self._work += len(forward) + len(backward)
        key = order.__getitem__
        moved = sorted(backward, key=key) + sorted(forward, key=key)
        for node, number in zip(moved, sorted(order[n] for n in moved), strict=True):
            order[node] = number

    def _make_intervals(self) -> dict:
        # Preorder numbers of a spanning tree over the clients, the first in the order first: from each node the
        # interval of the numbers below it.
        order = self._order
        assert order is not None
        self._work = 0
        intervals: dict = {}
        begin: dict = {}
        n = 0
        for start in sorted(order, key=order.__getitem__):
            if start in begin:
                continue
            begin[start] = n
            n += 1
            stack = [(start, self._sorted_clients(start))]
            while stack:
                node, rest = stack[-1]
                for client in rest:
                    if client not in begin:
                        begin[client] = n
                        n += 1
                        stack.append((client, self._sorted_clients(client)))
                        break
                else:
                    stack.pop()
                    intervals[node] = (begin[node], n)
        self._intervals = intervals
        return intervals

    def _sorted_clients(self, node: Any) -> Any:
        order = self._order
        assert order is not None
        clients = {c for out in node.outputs for c, _ in out.clients if c != "output" and c in order}
        return iter(sorted(clients, key=order.__getitem__))
