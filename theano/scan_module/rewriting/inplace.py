"""States computed in the memory of their initial values."""

from __future__ import annotations

from typing import Any

from theano.gof.destroyhandler import DestroyHandler
from theano.gof.fg import InconsistencyError
from theano.gof.graph import Constant
from theano.gof.opt import Optimizer
from theano.scan_module.rewriting.loop import Loop
from theano.scan_module.scan_op import Scan
from theano.tensor import basic as T
from theano.tensor.subtensor import IncSubtensor

__all__ = ["ScanInplaceOptimizer"]



def _own_buffer(buffer: Any) -> Any:
    """A buffer that nothing else uses, if `buffer` is new memory that rows were written into."""
    chain = []
    node = buffer.owner
    while node is not None and isinstance(node.op, (IncSubtensor, T.Rebroadcast)):
        chain.append(node)
        node = node.inputs[0].owner
    if node is None or not isinstance(node.op, (T.Alloc, T.AllocEmpty)):
        return buffer
    result = node.op(*node.inputs)
    for node in reversed(chain):
        result = node.op(result, *node.inputs[1:])
    return result


class ScanInplaceOptimizer(Optimizer):
    """``scan(f, buffer) -> scan{inplace}(f, buffer)``

    The loop writes its states into the buffers that hold the initial values, where nothing else needs these afterwards.

    Parameters
    ----------
    typeInfer, gpua_flag, gpu_flag : object
        Accepted for the sake of the original's signature, without effect.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> from theano.scan_module.scan_op import Scan
    >>> x = T.dscalar("x")
    >>> y, _ = theano.scan(lambda a: 2 * a, outputs_info=x, n_steps=5)
    >>> fgraph = theano.gof.FunctionGraph([x], [y])
    >>> ScanInplaceOptimizer().optimize(fgraph)
    >>> (loop,) = (node for node in fgraph.apply_nodes if isinstance(node.op, Scan))
    >>> loop.op.destroy_map
    {0: [1]}
    """

    def __init__(self, typeInfer: Any = None, gpua_flag: bool = False, gpu_flag: bool = False):
        self.typeInfer = typeInfer
        self.gpua_flag = gpua_flag
        self.gpu_flag = gpu_flag

    def add_requirements(self, fgraph: Any) -> None:
        fgraph.attach_feature(DestroyHandler())

    def apply(self, fgraph: Any) -> None:
        """Try all states of a loop at once, and one after another where that is not allowed."""
        for node in fgraph.toposort():
            if isinstance(node.op, Scan) and not node.op.destroy_map and node.op.n_outs:
                first = 1 + node.op.n_seqs
                candidates = [i for i in range(node.op.n_outs) if not isinstance(node.inputs[first + i], Constant)]
                if not self._attempt(fgraph, node, candidates) and len(candidates) > 1:
                    allowed: list[int] = []
                    for i in candidates:
                        new = self._attempt(fgraph, node, [*allowed, i])
                        if new is not None:
                            node, allowed = new, [*allowed, i]

    @staticmethod
    def _attempt(fgraph: Any, node: Any, states: list[int]) -> Any:
        """Let the loop overwrite the buffers of some states; returns the new node, or None if that is not allowed."""
        if not states:
            return None
        loop = Loop(node)
        first = 1 + node.op.n_seqs
        for i in states:
            # Another user of the same buffer would forbid this.
            if len(loop.buffers[i].outer.clients) > 1:
                loop.buffers[i].outer = _own_buffer(loop.buffers[i].outer)
        loop.destroy = {i: [first + i] for i in states}
        loop.build()
        try:
            fgraph.replace_all_validate(loop.replacements(), reason="scanOp_make_inplace")
        except (ValueError, InconsistencyError):
            return None
        return loop.buffers[0].new.owner
