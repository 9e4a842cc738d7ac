"""Merging: identical computations and equal constants become one."""

from __future__ import annotations

import time
from typing import Any, TextIO

from theano.gof import toolbox
from theano.gof.graph import Constant, Variable, io_toposort
from theano.gof.memo import ById
from theano.gof.rewriting.base import Optimizer
from theano.gof.rewriting.profiles import Overhead, Profile
from theano.gof.utils import MethodNotDefined

_REASON = "MergeOptimizer"


def is_assert(node: Any) -> bool:
    """Say whether `node` applies an Op that returns its first input after checking the others."""
    return node is not None and getattr(node.op, "_assert_like", False)


def _strip_assert(var: Variable) -> Variable:
    """The variable that an assertion (or several on top of each other) returns."""
    while is_assert(var.owner):
        var = var.owner.inputs[0]
    return var


class MergeFeature(toolbox.Feature):
    """Keeps track of which nodes and constants of a graph may be merged.

    A table maps what identifies a node - its Op and its inputs, assertions on them left
    aside - to the nodes that have it. Nodes whose entry may be stale wait in `pending`, so
    that `MergeOptimizer` looks only at what changed since it last ran.

    See Also
    --------
    theano.gof.MergeOptimizer : Make one of all Apply nodes with equal Ops and the same inputs, and of equal constants.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.exp(x) * T.exp(x)], features=[MergeFeature()])
    >>> len(fgraph.merge_feature.pending)
    3
    >>> _ = MergeOptimizer().optimize(fgraph)
    >>> len(fgraph.merge_feature.pending), len(fgraph.apply_nodes)
    (0, 2)
    """

    follows_ops = True

    def __init__(self) -> None:
        self.pending: dict[Any, None] = {}
        # Whether a node came in that returns its first input after checking the others.
        self.has_asserts = False
        # A number for each Op, the same for equal ones: hashing and comparing Ops takes longer than the rest.
        self.numbers: dict[Any, int] = {}
        self.number_of = ById()
        self.pending_constants: dict[Constant, None] = {}
        # Almost always one node: only several are in a dictionary of their own.
        self.table: dict[Any, Any] = {}
        self.key_of: dict[Any, tuple] = {}
        self.constant_of: dict[Any, Constant] = {}
        self.signature_of: dict[Constant, Any] = {}
        # Pairs that could not be merged: trying again would fail again.
        self.refused: set[tuple[int, int]] = set()
        self._refused_nodes: list[Any] = []

    def on_attach(self, fgraph) -> None:
        if hasattr(fgraph, "merge_feature"):
            raise toolbox.AlreadyThere("MergeFeature is already attached to the graph")
        fgraph.merge_feature = self
        self.__init__()  # type: ignore[misc]
        for node in fgraph.depth_first():
            self.on_import(fgraph, node, "on_attach")
        for var in fgraph.outputs:
            self._see(var)

    def clone(self) -> MergeFeature:
        return type(self)()

    def on_detach(self, fgraph) -> None:
        if getattr(fgraph, "merge_feature", None) is self:
            del fgraph.merge_feature

    def on_import(self, fgraph, node, reason) -> None:
        for var in node.inputs:
            if var.owner is None:
                self._see(var)
        self.pending[node] = None
        if getattr(node.op, "_assert_like", False):
            self.has_asserts = True

    def on_change_input(self, fgraph, node, i, r, new_r, reason) -> None:
        if new_r.owner is None:
            self._see(new_r)
        if node != "output":
            # What it was is not to be taken for what it is by one that is looked at before it.
            self._forget(node)
            self.pending[node] = None
            # What is keyed by the variable below an assertion changes with the assertion.
            if self.has_asserts and is_assert(node):
                for output in node.outputs:
                    for client, _ in output.clients:
                        if client != "output":
                            self._forget(client)
                            self.pending[client] = None

    def on_prune(self, fgraph, node, reason) -> None:
        self.pending.pop(node, None)
        self._forget(node)
        for var in node.inputs:
            if var.owner is None and isinstance(var, Constant) and not getattr(var, "clients", None):
                self._forget_constant(var)

    def _see(self, var: Variable) -> None:
        if isinstance(var, Constant) and var not in self.signature_of:
            self.pending_constants[var] = None

    def _forget(self, node: Any) -> None:
        key = self.key_of.pop(node, None)
        if key is None:
            return
        known = self.table.pop(key)
        if type(known) is dict:
            known.pop(node, None)
            if known:
                self.table[key] = known

    def _forget_constant(self, var: Constant) -> None:
        self.pending_constants.pop(var, None)
        signature = self.signature_of.pop(var, None)
        if signature is not None and self.constant_of.get(signature) is var:
            del self.constant_of[signature]

    def constant_replacement(self, var: Constant) -> Constant | None:
        """Return the constant known to equal `var`, after noting `var` when there is none."""
        try:
            signature = (var.type, var.merge_signature())
            known = self.constant_of.get(signature)
        except (MethodNotDefined, NotImplementedError, TypeError):
            return None
        if known is None:
            self.constant_of[signature] = var
            self.signature_of[var] = signature
            return None
        if known is var:
            return None
        return known

    def candidates(self, node: Any) -> list[Any]:
        """Return the nodes that compute what `node` computes, after noting `node` in the table."""
        if node in self.key_of:
            self._forget(node)
        try:
            number = (self.number_of.get(id(node.op)) or self._number(node.op))[0]
        except TypeError:
            # An Op that cannot be hashed is never equal to another.
            return []
        # Variables are compared by identity, so they serve as they are.
        if self.has_asserts:
            key = (number, *[v if (o := v.owner) is None or not is_assert(o) else _strip_assert(v) for v in node.inputs])
        else:
            key = (number, *node.inputs)
        self.key_of[node] = key
        known = self.table.setdefault(key, node)
        if known is node:
            return []
        if type(known) is not dict:
            known = self.table[key] = {known: None}
        found = list(known)
        known[node] = None
        return found

    def _number(self, op: Any) -> tuple:
        return self.number_of.keep(op, self.numbers.setdefault(op, len(self.numbers)))

    def set_apart(self, node: Any) -> None:
        """Do not propose `node` any more, unless something about it changes."""
        self._forget(node)

    def refuse(self, node: Any, other: Any) -> None:
        """Never propose to merge these two again."""
        self.refused.add((id(node), id(other)))
        self._refused_nodes.append((node, other))


class MergeProfile(Profile):
    """What a `MergeOptimizer` did.

    Parameters
    ----------
    nb_fail, nb_merged, nb_constant : int
        Pairs of nodes that could not become one, pairs that did, and constants that became another.
    replace_time : float
    overhead : Overhead
    """

    nb_fail: int
    nb_merged: int
    nb_constant: int
    replace_time: float
    overhead: Overhead

    def write(self, stream: TextIO | None, level: int = 0) -> None:
        blanc = "    " * level
        spent = self.overhead
        print(blanc, self.title, file=stream)
        print(
            blanc, f"  nb fail={self.nb_fail:5d} merged={self.nb_merged:5d} constant={self.nb_constant:5d}", file=stream
        )
        print(
            blanc,
            f"  time replace={self.replace_time:2.2f} validate={spent.validate_time or 0.0:2.2f} "
            f"callback={spent.callback_time:2.2f}",
            file=stream,
        )
        if spent.callback_time > 1:
            print(blanc, "  callbacks_time", file=stream)
            for key, value in sorted(spent.callbacks.items(), key=lambda item: item[1]):
                if value > 0:
                    print(blanc, "     ", key, value, file=stream)


class MergeOptimizer(Optimizer):
    """Make one of all Apply nodes with equal Ops and the same inputs, and of equal constants.

    ``f(x), f(x) -> y, y`` where ``y = f(x)``.

    Two nodes that differ by an `Assert` on some input merge too: the result keeps the
    assertions of both.

    See Also
    --------
    theano.gof.opt.MergeFeature : Keeps track of which nodes and constants of a graph may be merged.
    theano.gof.opt.is_same_graph_with_merge : Say whether two variables are computed by the same graph, by merging a copy
        of both.
    theano.gof.graph.is_same_graph : Return whether two variables perform the same computation.

    Examples
    --------
    >>> from theano import gof
    >>> from theano.gof.opt import MergeOptimizer
    >>> from theano.scalar import float64, add, mul
    >>> x, y = float64('x'), float64('y')
    >>> graph = gof.FunctionGraph([x, y], [mul(add(x, y), add(x, y))])
    >>> _ = MergeOptimizer().optimize(graph)
    >>> len(graph.apply_nodes)
    2
    """

    def add_requirements(self, fgraph) -> None:
        super().add_requirements(fgraph)
        if not hasattr(fgraph, "merge_feature"):
            fgraph.attach_feature(MergeFeature())

    def apply(self, fgraph) -> Any:
        feature = fgraph.merge_feature
        start = time.perf_counter()
        before = Overhead.of(fgraph)
        counts = {"fail": 0, "merged": 0, "constant": 0}
        order = fgraph.known_order() if feature.pending else None
        # Whether all nodes are looked at in this order. Of equal ones the first stays then, and what the others need is needed
        # by that one, too: the order of those that are left is that in which a search would meet them.
        keeps = bool(order) and not feature.table and not feature.has_asserts and list(feature.pending) == list(order)
        in_order = None
        while feature.pending or feature.pending_constants:
            self._merge_constants(fgraph, feature, counts)
            self._merge_nodes(fgraph, feature, counts)
            if in_order is None:
                in_order = counts["merged"]
        if keeps and counts["merged"] == in_order and not counts["fail"]:
            fgraph.keep_order(order)
        feature.refused.clear()
        feature._refused_nodes.clear()
        seconds = time.perf_counter() - start
        return MergeProfile(
            "MergeOptimizer", counts["fail"], counts["merged"], counts["constant"], seconds, before.until_now(fgraph)
        )

    def _merge_constants(self, fgraph, feature: MergeFeature, counts: dict) -> None:
        waiting, feature.pending_constants = feature.pending_constants, {}
        for var in waiting:
            known = feature.constant_replacement(var)
            if known is None or not var.clients:
                continue
            if not getattr(known, "clients", None):
                # The known one has left the graph.
                feature._forget_constant(known)
                feature.constant_replacement(var)
                continue
            if var.name and not known.name:
                known.name = var.name
            if self._replace(fgraph, [(var, known)], counts):
                counts["constant"] += 1

    def _merge_nodes(self, fgraph, feature: MergeFeature, counts: dict) -> None:
        waiting, feature.pending = feature.pending, {}
        present, candidates = fgraph.apply_nodes, feature.candidates
        for node in waiting:
            if node not in present or not (others := candidates(node)):
                continue
            destroyers = _own_destroyers(fgraph, node)
            for other in others:
                if (id(node), id(other)) in feature.refused or other not in present:
                    continue
                if destroyers and not _own_destroyers(fgraph, other).keys() <= destroyers.keys():
                    # Each writes over its own: of many such nodes (AllocEmpty, say) not every pair is to be tried.
                    feature.set_apart(other)
                    continue
                if len(other.outputs) != len(node.outputs) or any(
                    mine.type != its.type for mine, its in zip(node.outputs, other.outputs)
                ):
                    continue
                if self._merge_pair(fgraph, feature, node, other, counts):
                    counts["merged"] += 1
                    break
                feature.refuse(node, other)
                feature.refuse(other, node)

    def _merge_pair(self, fgraph, feature: MergeFeature, node: Any, other: Any, counts: dict) -> bool:
        """Merge `node` and `other`, which are equal but for assertions on their inputs."""
        from_other = from_node = False
        for mine, its in zip(node.inputs, other.inputs):
            if mine is its:
                continue
            if is_assert(mine.owner) and is_assert(its.owner):
                from_other = from_node = True
            elif is_assert(mine.owner):
                from_node = True
            else:
                from_other = True
        if from_node and from_other:
            return self._merge_assertions(fgraph, node, other, counts)
        # The one with the assertions stays.
        keep, drop = (node, other) if from_node else (other, node)
        attempts = [(keep, drop)] if from_node or from_other else [(keep, drop), (drop, keep)]
        for kept, dropped in attempts:
            pairs = list(zip(dropped.outputs, kept.outputs))
            if (from_node or from_other) and not _ancestor_outputs(kept).isdisjoint(dropped.outputs):
                return False
            for old, new in pairs:
                if old.name and not new.name:
                    new.name = old.name
            if self._replace(fgraph, pairs, counts):
                return True
        return False

    def _merge_assertions(self, fgraph, node: Any, other: Any, counts: dict) -> bool:
        inputs = []
        for mine, its in zip(node.inputs, other.inputs):
            if mine is its:
                inputs.append(mine)
                continue
            conditions: dict[Variable, None] = {}
            asserting = None
            for var in (mine, its):
                while is_assert(var.owner):
                    asserting = asserting or var.owner
                    conditions.update(dict.fromkeys(var.owner.inputs[1:]))
                    var = var.owner.inputs[0]
            if asserting is None or len(conditions) == len(asserting.inputs) - 1 and mine.owner is asserting:
                inputs.append(mine)
            else:
                inputs.append(asserting.op(var, *conditions))
        merged = node.op(*inputs, return_list=True)
        # A condition that depends on one of the two would depend on itself.
        if not _ancestor_outputs(merged[0].owner).isdisjoint([*node.outputs, *other.outputs]):
            return False
        pairs = list(zip(node.outputs, merged)) + list(zip(other.outputs, merged))
        return self._replace(fgraph, pairs, counts)

    @staticmethod
    def _replace(fgraph, pairs: list, counts: dict) -> bool:
        from theano.gof.fg import InconsistencyError

        try:
            fgraph.replace_all_validate(pairs, reason=_REASON)
        except InconsistencyError:
            counts["fail"] += 1
            return False
        return True


def _own_destroyers(fgraph: Any, node: Any) -> dict[Any, None]:
    """What overwrites the memory that `node` makes; nothing where its results are views."""
    if not hasattr(fgraph, "destroyers") or getattr(node.op, "view_map", None):
        return {}
    return {destroyer: None for out in node.outputs for destroyer in fgraph.destroyers(out)}


def _ancestor_outputs(node: Any) -> set[Variable]:
    """Variables that `node` depends on."""
    seen: set[Variable] = set()
    stack = list(node.inputs)
    while stack:
        var = stack.pop()
        if var in seen:
            continue
        seen.add(var)
        if var.owner is not None:
            stack.extend(var.owner.inputs)
    return seen


def is_same_graph_with_merge(var1: Variable, var2: Variable, givens: Any = None) -> bool:
    """Say whether two variables are computed by the same graph, by merging a copy of both.

    Parameters
    ----------
    var1, var2 : Variable
        What is compared.
    givens : list of pairs, tuple of pairs or dict, optional
        Variables to replace in the graphs before they are compared.

    Returns
    -------
    bool
        Whether they become one.

    See Also
    --------
    theano.gof.graph.is_same_graph : Return whether two variables perform the same computation.
    theano.gof.MergeOptimizer : Make one of all Apply nodes with equal Ops and the same inputs, and of equal constants.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y = T.scalars("xy")
    >>> is_same_graph_with_merge(x * 2 + 1, y * 2 + 1)
    False
    >>> is_same_graph_with_merge(x * 2 + 1, y * 2 + 1, givens={y: x})
    True
    """
    from theano.gof.fg import FunctionGraph
    from theano.gof.graph import clone_get_equiv
    from theano.gof.graph import inputs as graph_inputs

    replacements = dict(givens or {})
    roots = [var1, var2, *replacements.values()]
    copies = clone_get_equiv(graph_inputs(roots), roots, copy_inputs=True, copy_orphans=True)
    inputs = [copies[var] for var in graph_inputs(roots) if not isinstance(var, Constant)]
    fgraph = FunctionGraph(inputs, [copies[var1], copies[var2]], clone=False)
    for to_replace, replace_by in replacements.items():
        old = copies.get(to_replace)
        if old in fgraph.variables:
            fgraph.replace(old, copies[replace_by])
    MergeOptimizer().optimize(fgraph)
    return fgraph.outputs[0] is fgraph.outputs[1]


def pre_constant_merge(vars: list[Variable]) -> list[Variable]:
    """Unify equal constants in the graphs of `vars`.

    Works on graphs that belong to no `FunctionGraph`; the inputs of their Apply nodes
    are changed in place.

    Parameters
    ----------
    vars : list of Variable
        The ends of the graphs.

    Returns
    -------
    list of Variable
        `vars`, with constants among them unified too.

    See Also
    --------
    theano.gof.opt.pre_greedy_local_optimizer : Apply local optimizers to the graph of `out`, which belongs to no
        `FunctionGraph`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> y = (x + T.TensorConstant(T.dscalar, 2.0)) * T.TensorConstant(T.dscalar, 2.0)
    >>> _ = pre_constant_merge([y])
    >>> total, two = y.owner.inputs
    >>> total.owner.inputs[1] is two
    True
    """
    known: dict[Any, Variable] = {}

    def unify(var: Variable) -> Variable:
        if not isinstance(var, Constant):
            return var
        try:
            return known.setdefault((var.type, var.merge_signature()), var)
        except (MethodNotDefined, NotImplementedError, TypeError):
            return var

    for node in io_toposort([], vars):
        if hasattr(node, "fgraph"):
            continue
        for i, var in enumerate(node.inputs):
            node.inputs[i] = unify(var)
    return [unify(var) for var in vars]
