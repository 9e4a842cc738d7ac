"""Rewrites of lazy conditionals: useless ones go, nested and neighbouring ones merge, what follows moves inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano.gof.branches import lazy_regions
from theano.gof.graph import Apply, Constant, Variable
from theano.gof.opt import Optimizer, copy_stack_trace, in2out, local_optimizer
from theano.gof.rewriting.stages import optdb
from theano.ifelse_op import IfElse
from theano.tensor import basic as T
from theano.tensor.conversion import is_evidently
from theano.tensor.elemwise import CAReduce, DimShuffle, Elemwise
from theano.tensor.rewriting.registry import register_canonicalize, register_specialize
from theano.tensor.subtensor import IncSubtensor, Subtensor

#: What may move into the branches of a conditional that feeds it.
acceptable_ops = (T.Dot, T.Reshape, T.Alloc, T.Rebroadcast, Elemwise, DimShuffle, CAReduce, Subtensor, IncSubtensor)


def _branches(node: Apply) -> tuple[list[Variable], list[Variable]]:
    n = node.op.n_outs
    return node.inputs[1 : 1 + n], node.inputs[1 + n :]


def _rebuilt(node: Apply, then: Sequence[Variable], orelse: Sequence[Variable]) -> list[Variable]:
    """The outputs of a conditional like `node` between other values."""
    op = IfElse(len(then), as_view=node.op.as_view, gpu=node.op.gpu, name=node.op.name)
    outputs = op(node.inputs[0], *then, *orelse, return_list=True)
    copy_stack_trace(node.outputs, outputs)
    return outputs


@register_canonicalize
@register_specialize
@local_optimizer([IfElse])
def cond_constant(node: Apply) -> Any:
    """``ifelse(1, a, b) -> a`` and ``ifelse(0, a, b) -> b``"""
    condition = node.inputs[0]
    if not isinstance(condition, Constant):
        return False
    then, orelse = _branches(node)
    return then if bool(condition.data) else orelse


@register_canonicalize
@register_specialize
@local_optimizer([IfElse])
def cond_remove_identical(node: Apply) -> Any:
    """``ifelse(c, [a, x, a, d], [b, x, b, e]) -> [r, x, r]`` with ``r = ifelse(c, a, b)``

    Values that are the same in both branches, pairs that occur twice and outputs that nothing uses leave the
    conditional.
    """
    then, orelse = _branches(node)
    kept: dict[tuple[Variable, Variable], int] = {}
    for t, f, out in zip(then, orelse, node.outputs, strict=True):
        if t is not f and out.clients:
            kept.setdefault((t, f), len(kept))
    if len(kept) == len(node.outputs):
        return False
    new = _rebuilt(node, [t for t, _ in kept], [f for _, f in kept]) if kept else []
    result: list[Any] = []
    for t, f, out in zip(then, orelse, node.outputs, strict=True):
        if t is f:
            result.append(t)
        else:
            result.append(new[kept[t, f]] if out.clients else None)
    return result


def _merge_nested(node: Apply, branch: int) -> Any:
    """Replace conditionals on the same condition within one branch of `node` by what they choose there."""
    condition = node.inputs[0]
    sides = _branches(node)
    chosen = []
    for value in sides[branch]:
        seen = value
        while seen.owner is not None and isinstance(seen.owner.op, IfElse) and seen.owner.inputs[0] is condition:
            seen = _branches(seen.owner)[branch][seen.index]
        chosen.append(seen)
    if all(new is old for new, old in zip(chosen, sides[branch], strict=True)):
        return False
    return _rebuilt(node, *((chosen, sides[1]) if branch == 0 else (sides[0], chosen)))


@register_canonicalize
@local_optimizer([IfElse])
def cond_merge_ifs_true(node: Apply) -> Any:
    """``ifelse(c, ifelse(c, a, b), d) -> ifelse(c, a, d)``"""
    return _merge_nested(node, 0)


@register_canonicalize
@local_optimizer([IfElse])
def cond_merge_ifs_false(node: Apply) -> Any:
    """``ifelse(c, a, ifelse(c, b, d)) -> ifelse(c, a, d)``"""
    return _merge_nested(node, 1)


def _lift(node: Apply, worthwhile: Any) -> Any:
    """Move the only client of an output of `node` into the branches, where `worthwhile` says so of the values.

    Other inputs of the client may be conditionals too, on the same condition and for the client alone.
    """
    condition = node.inputs[0]
    for out in node.outputs:
        users = {client for client, _ in out.clients}
        if len(users) != 1:
            continue
        (user,) = users
        if user == "output" or not isinstance(user.op, acceptable_ops) or len(user.outputs) != 1:
            continue
        inputs: tuple[list[Variable], list[Variable]] = ([], [])
        chosen: list[Variable] = []
        for value in user.inputs:
            owner = value.owner
            if owner is None or not isinstance(owner.op, IfElse):
                inputs[0].append(value)
                inputs[1].append(value)
                continue
            if owner.inputs[0] is not condition or any(client is not user for client, _ in value.clients):
                break
            for side, branch in zip(inputs, _branches(owner), strict=True):
                side.append(branch[value.index])
                chosen.append(branch[value.index])
        else:
            if not worthwhile(chosen):
                continue
            result = user.outputs[0]
            then, orelse = (user.clone_with_new_inputs(side).outputs[0] for side in inputs)
            if then.type != result.type or orelse.type != result.type:
                continue
            copy_stack_trace(result, [then, orelse])
            new = IfElse(1, as_view=node.op.as_view, gpu=node.op.gpu, name=node.op.name)(condition, then, orelse)
            copy_stack_trace([out, result], new)
            return {result: new}
    return False


@register_canonicalize
@local_optimizer([IfElse])
def ifelse_lift_zeros(node: Apply) -> Any:
    """``f(ifelse(c, zeros, a), x) -> ifelse(c, f(zeros, x), f(a, x))`` for elementwise and linear `f`

    Only where a branch is zero: that makes the backward pass lazy, since the gradient of the branch that was not
    chosen is such a conditional, and what follows it vanishes with it. `f` must be the only one to use the result.
    """
    return _lift(node, lambda values: any(is_evidently(v, 0) for v in values))


@local_optimizer([IfElse])
def ifelse_lift_single_if_through_acceptable_ops(node: Apply) -> Any:
    """``f(ifelse(c, a, b), x) -> ifelse(c, f(a, x), f(b, x))`` for elementwise and linear `f`

    `f` must be the only one to use the result. Not on by default, since graphs grow: include its name.
    """
    return _lift(node, lambda values: True)


optdb["canonicalize"].register(
    "ifelse_lift_single_if_through_acceptable_ops", ifelse_lift_single_if_through_acceptable_ops, "ifelse"
)


class CondMerge(Optimizer):
    """``ifelse(c, a, b), ifelse(c, d, e) -> ifelse(c, [a, d], [b, e])``

    For conditionals that stand in the same branch of the same conditionals, so that nothing more is computed than
    before, and of which none depends on another.

    See Also
    --------
    theano.ifelse.IfElse : Choose between two groups of variables by a scalar condition.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> from theano.ifelse import ifelse
    >>> c, x, y = T.dscalars("cxy")
    >>> fgraph = FunctionGraph([c, x, y], [ifelse(c, x, y), ifelse(c, T.exp(x), T.sin(y))])
    >>> CondMerge().optimize(fgraph)
    >>> [len(node.outputs) for node in fgraph.toposort() if isinstance(node.op, IfElse)]
    [2]
    """

    def apply(self, fgraph: Any) -> None:
        """Merge group by group; each looks at the graph once."""
        nodes = [node for node in fgraph.apply_nodes if isinstance(node.op, IfElse)]
        if len(nodes) < 2:
            return
        for condition in dict.fromkeys(node.inputs[0] for node in nodes):
            self._merge(fgraph, condition)

    def _merge(self, fgraph: Any, condition: Variable) -> None:
        if sum(node != "output" and i == 0 and isinstance(node.op, IfElse) for node, i in condition.clients) < 2:
            return
        order = fgraph.toposort()
        depth: dict[Apply, int] = {}
        groups: dict[Any, list[Apply]] = {}
        members: set[Apply] = set()
        region_of = {
            node: region for region, nodes in lazy_regions(fgraph.outputs, order).items() for node in nodes
        }
        for node in order:
            owners = [v.owner for v in node.inputs if v.owner is not None]
            depth[node] = max((depth[o] + (o in members) for o in owners), default=0)
            if isinstance(node.op, IfElse) and node.inputs[0] is condition:
                members.add(node)
                # Of the same depth, none depends on another.
                key = depth[node], region_of[node], node.op.as_view, node.op.gpu
                groups.setdefault(key, []).append(node)
        for group in groups.values():
            if len(group) < 2:
                continue
            first = group[0]
            sides = [_branches(node) for node in group]
            outputs = _rebuilt(first, [v for then, _ in sides for v in then], [v for _, orelse in sides for v in orelse])
            old = [out for node in group for out in node.outputs]
            for before, after in zip(old, outputs, strict=True):
                copy_stack_trace(before, after)
            fgraph.replace_all_validate(list(zip(old, outputs, strict=True)), reason="cond_merge")


@local_optimizer(None)
def cond_merge_random_op(main_node: Apply) -> Any:
    """``f(ifelse(c, a, b), ifelse(c, d, e)) -> f(*ifelse(c, [a, d], [b, e]))``: conditionals of one condition become one"""
    groups: dict[Any, list[Apply]] = {}
    for v in main_node.inputs:
        node = v.owner
        if node is not None and isinstance(node.op, IfElse) and not isinstance(main_node.op, IfElse):
            group = groups.setdefault((node.inputs[0], node.op.as_view, node.op.gpu), [])
            if node not in group:
                group.append(node)
    groups = {key: nodes for key, nodes in groups.items() if len(nodes) > 1}
    if not groups:
        return False
    instead: dict[Variable, Variable] = {}
    for nodes in groups.values():
        sides = [_branches(node) for node in nodes]
        merged = _rebuilt(nodes[0], [v for then, _ in sides for v in then], [v for _, orelse in sides for v in orelse])
        instead.update(zip([out for node in nodes for out in node.outputs], merged, strict=True))
    outputs = main_node.op(*[instead.get(v, v) for v in main_node.inputs], return_list=True)
    copy_stack_trace(main_node.outputs, outputs)
    return outputs


optdb.register("cond_merge", CondMerge(), 2.9, "fast_run", "ifelse")


@local_optimizer([IfElse], inplace=True)
def cond_make_inplace(node: Apply) -> Any:
    """``ifelse(c, a, b) -> ifelse{inplace}(c, a, b)``, whose results are the chosen variables instead of copies"""
    op = node.op
    if not isinstance(op, IfElse) or op.as_view:
        return False
    outputs = IfElse(op.n_outs, as_view=True, gpu=op.gpu, name=op.name)(*node.inputs, return_list=True)
    copy_stack_trace(node.outputs, outputs)
    return outputs


optdb.register("cond_make_inplace", in2out(cond_make_inplace, ignore_newtrees=True), 95, "fast_run", "inplace")
