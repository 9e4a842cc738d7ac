"""Fusion: neighbouring elementwise operations become one that passes over the memory once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from theano import scalar as scal
from theano.configdefaults import config
from theano.gof.fg import InconsistencyError
from theano.gof.memo import Bounded
from theano.gof.opt import Optimizer, copy_stack_trace, local_optimizer
from theano.gof.optdb import SequenceDB
from theano.gof.rewriting.profiles import Overhead, Profile
from theano.gof.rewriting.stages import optdb
from theano.gof.utils import MethodNotDefined
from theano.scalar.composite import has_c_code
from theano.tensor import basic as T
from theano.tensor.elemwise import Elemwise
from theano.tensor.rewriting.terms import exact_replacement, is_elemwise

# A Composite of more operations than this does not run faster, and compilers need more than linear time for it.
MAX_NODES = 64


def elemwise_max_input_fct(node: Any) -> int:
    """Return how many inputs and outputs an elementwise operation may have together: what NumPy can iterate over.

    Parameters
    ----------
    node : Apply
        The operation.

    Examples
    --------
    >>> elemwise_max_input_fct(T.exp(T.dvector()).owner)
    32
    """
    return 32


def _has_c_code(node: Any) -> bool:
    """Whether the scalar Op of `node` has C code for the types it is used with."""
    op = node.op
    scalar_op = op.scalar_op
    # An Op has a number of outputs, whatever that of its inputs.
    key = tuple([v.type.dtype for v in node.inputs + node.outputs])
    cache = op.__dict__.setdefault("_fusable", {})
    known = cache.get(key)
    if known is not None:
        return known
    types = [scal.get_scalar_type(i.type.dtype) for i in node.inputs]
    try:
        result = [t.dtype for t in scalar_op.output_types(types)] == [o.type.dtype for o in node.outputs]
    except (MethodNotDefined, NotImplementedError, AttributeError, TypeError, KeyError):
        result = False
    result = result and has_c_code(scalar_op, types)
    cache[key] = result
    return result


def local_elemwise_fusion_op(
    OP: Any,
    max_input_fct: Callable[[Any], int] = elemwise_max_input_fct,
    maker: Callable[[Any, Any], Any] | None = None,
) -> Callable[[Any], Any]:
    """Return a local optimizer, as a function, that fuses a node of class `OP` with the nodes that compute its inputs.

    Parameters
    ----------
    OP : class
        The class to fuse: Elemwise.
    max_input_fct : callable
        From a node to the largest number of operands that the fused node may have.
    maker : callable, optional
        From a node and a scalar Op to the new Op; by default ``OP(scalar_op)``.

    Examples
    --------
    >>> from theano.gof import FunctionGraph
    >>> fgraph = FunctionGraph([x := T.dvector(), y := T.dvector()], [T.exp(x * y)])
    >>> [local_elemwise_fusion_op(Elemwise, lambda node: n)(fgraph.outputs[0].owner) for n in (3, 2)]
    [[Elemwise{Composite{exp((i0 * i1))}}.0], False]
    """
    if maker is None:

        # By the id of the scalar Op, which stays taken as long as the Op is here.
        made = Bounded(500)

        def maker(node: Any, scalar_op: Any) -> Any:
            return made.get(id(scalar_op)) or made.keep(id(scalar_op), OP(scalar_op))

    def local_fuse(node: Any) -> Any:
        """Return ``[Composite{f(g(i0), i1)}(x, y)]`` for ``f(g(x), y)``, or False.

        Parameters
        ----------
        node : Apply
            An elementwise operation.

        Examples
        --------
        >>> from theano.gof import FunctionGraph
        >>> fgraph = FunctionGraph([x := T.dvector()], [T.exp(-x)])
        >>> local_elemwise_fusion(fgraph.outputs[0].owner)
        [Elemwise{Composite{exp((-i0))}}.0]
        """
        found = fused(node)
        if found is None:
            return False
        op, inputs = found
        new = op(*inputs, return_list=True)
        if [o.type for o in new] != [o.type for o in node.outputs]:
            return False
        copy_stack_trace(node.outputs, new)
        return new

    def fused(node: Any) -> tuple[Any, list[Any]] | None:
        if type(node.op) is not OP or len(node.outputs) != 1 or getattr(node.op, "destroy_map", None):
            return None
        members = _cluster(node, OP, max_input_fct(node))
        if len(members) < 2 or not _has_c_code(node):
            return None
        inputs, scalar_op = _composite(node, members)
        return maker(node, scalar_op), inputs

    local_fuse.fused = fused  # type: ignore[attr-defined]
    return local_fuse


def _inner_size(node: Any) -> int:
    """How many scalar operations `node` does."""
    scalar_op = node.op.scalar_op
    return len(scalar_op.nodes) if isinstance(scalar_op, scal.Composite) else 1


def _cluster(top: Any, op_class: Any, max_operands: int) -> set[Any]:
    """The nodes that can be computed in one pass with `top`: their results are used by each other only."""
    pattern = top.outputs[0].type.broadcastable
    members = {top}
    size = _inner_size(top)
    operands = set(top.inputs)
    # Inputs of members in the order of depth; one that is refused because another node uses it comes again when that
    # node has joined.
    queue = top.inputs[::-1]
    while queue and size < MAX_NODES:
        var = queue.pop()
        node = var.owner
        if node is None or node in members or type(node.op) is not op_class:
            continue
        clients = var.clients
        if len(clients) > 1 and (clients[0][0] not in members or not members.issuperset([client for client, _ in clients])):
            continue
        if len(node.outputs) != 1 or getattr(node.op, "destroy_map", None) or var.type.broadcastable != pattern:
            continue
        more = _inner_size(node)
        if size + more > MAX_NODES or not _has_c_code(node):
            continue
        after = operands.union(node.inputs)
        after.discard(var)
        if len(after) + 1 > max_operands:
            continue
        operands = after
        members.add(node)
        size += more
        queue.extend(reversed(node.inputs))
    return members


# Fused functions that are there already, by what they compute: the same few come up again and again.
_composites = Bounded(20_000)


def _composite(top: Any, members: set[Any]) -> tuple[list[Any], Any]:
    """The inputs of a cluster, numbered in depth-first order, and the Composite that computes it."""
    inputs: list[Any] = []
    slots: dict[Any, int] = {}
    rows: list[Any] = []
    stack: list[tuple[Any, bool]] = [(top.outputs[0], False)]
    while stack:
        var, ready = stack.pop()
        if var in slots:
            continue
        node = var.owner
        if node is None or node not in members:
            inputs.append(var)
            slots[var] = -len(inputs)
        elif ready:
            slots[var] = len(rows)
            rows.append((node.op.scalar_op, *[slots[i] for i in node.inputs]))
        else:
            stack.append((var, True))
            stack += [(i, False) for i in reversed(node.inputs) if i not in slots]
    key = (tuple([i.type.dtype for i in inputs]), tuple(rows))
    found = _composites.get(key)
    if found is None:
        found = scal.Composite.of_steps([scal.get_scalar_type(dtype) for dtype in key[0]], rows)
        _composites.keep(key, found, size=len(rows))
    return inputs, found


local_elemwise_fusion = local_elemwise_fusion_op(Elemwise, elemwise_max_input_fct)
local_elemwise_fusion.__name__ = "local_elemwise_fusion"


@local_optimizer([T.add, T.mul])
def local_add_mul_fusion(node: Any) -> Any:
    """``add(add(x, y), z) -> add(x, y, z)`` and the same for mul, where the inner result is used once

    The inner graph of a Composite gets smaller that way.
    """
    op, out = node.op, node.outputs[0]
    if not isinstance(op, Elemwise) or not isinstance(op.scalar_op, (scal.Add, scal.Mul)) or getattr(op, "destroy_map", None):
        return False
    new_inputs: list[Any] = []
    most = elemwise_max_input_fct(node) - len(node.inputs)
    for inp in node.inputs:
        inner = inp.owner
        is_fused = inner is not None and len(inp.clients) == 1 and is_elemwise(inner, op) and inp.type == out.type
        if is_fused and not getattr(inner.op, "destroy_map", None) and len(inner.inputs) + len(new_inputs) < most:
            new_inputs.extend(inner.inputs)
        else:
            new_inputs.append(inp)
    if new_inputs == node.inputs:
        return False
    new = exact_replacement(node, op(*new_inputs))
    # What is there now may be fused once more.
    further = bool(new) and hasattr(new[0].owner, "fgraph") and local_add_mul_fusion.transform(new[0].owner)
    return further or new


class FusionProfile(Profile):
    """What a `FusionOptimizer` did, as it is printed.

    Parameters
    ----------
    title : str
        What is printed first.
    nb_iter, nb_replacement, nb_inconsistency_replace : int
        How many rounds there were, replacements, and replacements that were given up.
    validate_time, callback_time, time_toposort : float
        Seconds.

    Examples
    --------
    >>> from theano.gof import FunctionGraph
    >>> FusionOptimizer(local_elemwise_fusion).optimize(FunctionGraph([x := T.dvector()], [T.exp(-x)])).nb_replacement
    1
    """

    nb_iter: int = 0
    nb_replacement: int = 0
    nb_inconsistency_replace: int = 0
    validate_time: float | None = None
    callback_time: float = 0.0
    time_toposort: float = 0.0


class FusionOptimizer(Optimizer):
    """Apply a fusing local optimizer to all nodes, from the outputs to the inputs.

    Parameters
    ----------
    local_optimizer : LocalOptimizer or callable
        A local optimizer, or a function of a node.

    Examples
    --------
    >>> from theano.gof import FunctionGraph
    >>> fgraph = FunctionGraph([x := T.dvector("x")], [T.exp(-x)])
    >>> profile = FusionOptimizer(local_elemwise_fusion).optimize(fgraph)
    >>> print(fgraph)
    [Elemwise{Composite{exp((-i0))}}(x)]
    """

    def __init__(self, local_optimizer: Any) -> None:
        super().__init__()
        self.optimizer = getattr(local_optimizer, "transform", local_optimizer)
        self.local_optimizer = local_optimizer

    def apply(self, fgraph: Any) -> Any:
        profile = FusionProfile("FusionOptimizer")
        before = Overhead.of(fgraph)
        start = time.perf_counter()
        nodes: Sequence[Any] = fgraph.depth_first()
        profile.time_toposort = time.perf_counter() - start
        fused = getattr(self.optimizer, "fused", None)
        if config.optimizer_verbose or not fgraph.can_change_ops():
            fused = None
        while nodes and profile.nb_iter < 10:
            profile.nb_iter += 1
            # Only what comes in can be fused with what is around it in the next round.
            again: list[Any] = []
            for node in reversed(nodes):
                if node not in fgraph.apply_nodes:
                    continue
                try:
                    new = self._replace(fgraph, node) if fused is None else self._change(fgraph, node, fused(node))
                except InconsistencyError:
                    profile.nb_inconsistency_replace += 1
                    continue
                if new is not None:
                    profile.nb_replacement += 1
                    again.append(new)
            nodes = again[::-1]
        return before.entered_in(profile, fgraph)

    def _replace(self, fgraph: Any, node: Any) -> Any:
        """Put what `node` is fused to in its place, and return it; None if there is nothing to fuse."""
        outputs = self.optimizer(node)
        if not outputs:
            return None
        fgraph.replace_all_validate(list(zip(node.outputs, outputs, strict=True)), reason=type(self).__name__)
        return outputs[0].owner

    def _change(self, fgraph: Any, node: Any, found: Any) -> Any:
        """As `_replace`, but `node` itself becomes the fused one, where it is known that the types are the same."""
        if found is None:
            return None
        op, inputs = found
        if not isinstance(op, Elemwise) or op.known_types(inputs) != [out.type for out in node.outputs]:
            return self._replace(fgraph, node)
        checkpoint = fgraph.checkpoint()
        fgraph.put_inputs(node, inputs, type(self).__name__, op)
        try:
            fgraph.validate()
        except Exception:
            fgraph.revert(checkpoint)
            raise
        return node


if config.tensor.local_elemwise_fusion:
    fuse_seqopt = SequenceDB()
    fuse_seqopt.register("local_add_mul_fusion", FusionOptimizer(local_add_mul_fusion), 0, "fast_run", "fusion")
    fuse_seqopt.register("composite_elemwise_fusion", FusionOptimizer(local_elemwise_fusion), 1, "fast_run", "fusion")
    optdb.register("elemwise_fusion", fuse_seqopt, 49, "fast_run", "fusion", "local_elemwise_fusion", "FusionOptimizer")
