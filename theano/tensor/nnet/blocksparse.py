"""Products of chosen blocks of vectors and matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano import aliases
from theano.gof.graph import Apply
from theano.gof.op import Op
from theano.gof.opt import copy_stack_trace, local_optimizer
from theano.gof.rewriting.navigate import TopoOptimizer
from theano.gof.rewriting.stages import optdb
from theano.gradient_types import grad_undefined
from theano.scalar.type import upcast
from theano.tensor import basic as T
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.math import discrete_dtypes, integer_dtypes  # noqa: F401

__all__ = [
    "SparseBlockGemv",
    "SparseBlockOuter",
    "sparse_block_dot",
    "sparse_block_gemv",
    "sparse_block_gemv_inplace",
    "sparse_block_outer",
    "sparse_block_outer_inplace",
]


def _blocks(**ranks: tuple[Any, int]) -> list[Any]:
    """Return values as tensors of one dtype, each of its rank."""
    tensors = {name: as_tensor_variable(value) for name, (value, _) in ranks.items()}
    for name, (_, ndim) in ranks.items():
        if tensors[name].ndim != ndim:
            raise TypeError(f"{name} must have {ndim} dimensions, got {tensors[name].type}")
    dtype = upcast(*(t.dtype for t in tensors.values()))
    return [T.cast(t, dtype) for t in tensors.values()]


def _indices(**values: Any) -> list[Any]:
    tensors = {name: as_tensor_variable(value) for name, value in values.items()}
    for name, tensor in tensors.items():
        if tensor.ndim != 2 or tensor.dtype not in integer_dtypes:
            raise TypeError(f"{name} must be a matrix of integers, got {tensor.type}")
    return list(tensors.values())


def _check_lengths(op: Op, **pairs: tuple[Any, Any]) -> None:
    for what, (a, b) in pairs.items():
        if a != b:
            raise ValueError(f"{op}: the {what.replace('_', ' ')} differ: {a} and {b}")


class _BlockOp(Op):
    __props__: Sequence[str] = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = inplace
        if inplace:
            self.destroy_map = {0: [0]}

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [in_shapes[0]]


class SparseBlockGemv(_BlockOp):
    """``o[b, j] += sum over i of dot(h[b, i], W[inputIdx[b, i], outputIdx[b, j]])``.

    Parameters
    ----------
    inplace : bool
        Whether `o` may be overwritten.

    See Also
    --------
    theano.tensor.nnet.blocksparse.SparseBlockOuter : ``o[xIdx[b, i], yIdx[b, j]] += alpha * outer(x[b, i], y[b, j])``,
        the gradient of `SparseBlockGemv`.
    theano.tensor.nnet.sparse_block_dot : Return the product, plus a bias, of chosen blocks of vectors and matrices.
    theano.tensor.nnet.blocksparse.sparse_block_gemv : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> o, W, h = T.zeros((1, 1, 2)), T.arange(8.0).reshape((1, 2, 2, 2)), T.ones((1, 1, 2))
    >>> [SparseBlockGemv()(o, W, h, [[0]], [[block]]).eval().ravel().tolist() for block in (0, 1)]
    [[2.0, 4.0], [10.0, 12.0]]
    """

    def make_node(self, o: Any, W: Any, h: Any, inputIdx: Any, outputIdx: Any) -> Apply:
        """Apply the operation.

        Parameters
        ----------
        o : tensor (batch, oWin, oSize)
            To what is added.
        W : tensor (iBlocks, oBlocks, iSize, oSize)
            Blocks of weights.
        h : tensor (batch, iWin, iSize)
            Blocks of inputs.
        inputIdx : matrix of integers (batch, iWin)
            Which of the `iBlocks` blocks they are.
        outputIdx : matrix of integers (batch, oWin)
            Which of the `oBlocks` blocks are computed.

        Returns
        -------
        Apply
            Of one output (batch, oWin, oSize).

        Raises
        ------
        TypeError
            If a rank is another one, or the indices are no integers.
        """
        o, W, h = _blocks(o=(o, 3), W=(W, 4), h=(h, 3))
        inputIdx, outputIdx = _indices(inputIdx=inputIdx, outputIdx=outputIdx)
        return Apply(self, [o, W, h, inputIdx, outputIdx], [o.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        o, W, h, inputIdx, outputIdx = inputs
        _check_lengths(
            self,
            batches_of_o_and_h=(o.shape[0], h.shape[0]),
            shapes_of_h_and_inputIdx=(h.shape[:2], inputIdx.shape),
            shapes_of_o_and_outputIdx=(o.shape[:2], outputIdx.shape),
            sizes_of_blocks=((h.shape[2], o.shape[2]), W.shape[2:]),
        )
        # An index out of bounds raises before anything is overwritten.
        weights = W[inputIdx[:, :, None], outputIdx[:, None, :]]
        if not self.inplace:
            o = o.copy()
        o += np.einsum("bik,bijkl->bjl", h, weights)
        output_storage[0][0] = o

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (_, W, h, inputIdx, outputIdx), (go,) = inputs, grads
        return [
            go,
            sparse_block_outer(W.zeros_like(), h, go, inputIdx, outputIdx),
            sparse_block_gemv(h.zeros_like(), W.dimshuffle(1, 0, 3, 2), go, outputIdx, inputIdx),
            grad_undefined(self, 3, inputIdx),
            grad_undefined(self, 4, outputIdx),
        ]


sparse_block_gemv = SparseBlockGemv(False)
sparse_block_gemv_inplace = SparseBlockGemv(True)


class SparseBlockOuter(_BlockOp):
    """``o[xIdx[b, i], yIdx[b, j]] += alpha * outer(x[b, i], y[b, j])``, the gradient of :class:`SparseBlockGemv`.

    Parameters
    ----------
    inplace : bool
        Whether `o` may be overwritten.

    See Also
    --------
    theano.tensor.nnet.sparse_block_dot : Return the product, plus a bias, of chosen blocks of vectors and matrices.
    theano.tensor.nnet.blocksparse.SparseBlockGemv : ``o[b, j] += sum over i of dot(h[b, i], W[inputIdx[b, i],
        outputIdx[b, j]])``.
    theano.tensor.nnet.blocksparse.sparse_block_outer : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> blocks = T.zeros((1, 2, 2, 2))
    >>> x, y = T.constant([[[1.0, 2.0]]]), T.constant([[[10.0, 20.0]]])
    >>> SparseBlockOuter()(blocks, x, y, [[0]], [[1]]).eval()[0].tolist()
    [[[0.0, 0.0], [0.0, 0.0]], [[10.0, 20.0], [20.0, 40.0]]]
    """

    def make_node(self, o: Any, x: Any, y: Any, xIdx: Any, yIdx: Any, alpha: Any = None) -> Apply:
        """Apply the operation.

        Parameters
        ----------
        o : tensor (xBlocks, yBlocks, xSize, ySize)
            To what is added.
        x : tensor (batch, xWin, xSize)
        y : tensor (batch, yWin, ySize)
            Blocks of vectors.
        xIdx : matrix of integers (batch, xWin)
            Which of the `xBlocks` blocks those of `x` are.
        yIdx : matrix of integers (batch, yWin)
            Which of the `yBlocks` blocks those of `y` are.
        alpha : scalar, optional
            A factor, by default 1.

        Returns
        -------
        Apply
            Of one output of the shape of `o`.

        Raises
        ------
        TypeError
            If a rank is another one, or the indices are no integers.
        """
        o, x, y, alpha = _blocks(o=(o, 4), x=(x, 3), y=(y, 3), alpha=(np.float32(1) if alpha is None else alpha, 0))
        xIdx, yIdx = _indices(xIdx=xIdx, yIdx=yIdx)
        return Apply(self, [o, x, y, xIdx, yIdx, alpha], [o.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        o, x, y, xIdx, yIdx, alpha = inputs
        _check_lengths(
            self,
            batches_of_x_and_y=(x.shape[0], y.shape[0]),
            shapes_of_x_and_xIdx=(x.shape[:2], xIdx.shape),
            shapes_of_y_and_yIdx=(y.shape[:2], yIdx.shape),
            sizes_of_blocks=((x.shape[2], y.shape[2]), o.shape[2:]),
        )
        # An index out of bounds raises before anything is overwritten.
        where = (xIdx[:, :, None], yIdx[:, None, :])
        np.broadcast_to(0, o.shape[:2])[where]
        if not self.inplace:
            o = o.copy()
        np.add.at(o, where, alpha * (x[:, :, None, :, None] * y[:, None, :, None, :]))
        output_storage[0][0] = o

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (_, x, y, xIdx, yIdx, alpha), (go,) = inputs, grads
        of_x = sparse_block_gemv(x.zeros_like(), go.dimshuffle(1, 0, 3, 2), y, yIdx, xIdx)
        of_y = sparse_block_gemv(y.zeros_like(), go, x, xIdx, yIdx)
        return [
            go,
            alpha * of_x,
            alpha * of_y,
            grad_undefined(self, 3, xIdx),
            grad_undefined(self, 4, yIdx),
            T.sum(x * of_x),
        ]


sparse_block_outer = SparseBlockOuter(False)
sparse_block_outer_inplace = SparseBlockOuter(True)


def sparse_block_dot(W: Any, h: Any, inputIdx: Any, b: Any, outputIdx: Any) -> Any:
    """Return the product, plus a bias, of chosen blocks of vectors and matrices.

    Parameters
    ----------
    W : tensor (iBlocks, oBlocks, iSize, oSize)
        Blocks of weights.
    h : tensor (batch, iWin, iSize)
        Blocks of inputs; without `batch` it is one example, as are the indices then.
    inputIdx : matrix of integers (batch, iWin)
        Which of the `iBlocks` blocks they are.
    b : matrix (oBlocks, oSize)
        The bias.
    outputIdx : matrix of integers (batch, oWin)
        Which of the `oBlocks` blocks are computed.

    Returns
    -------
    tensor (batch, oWin, oSize)
        ``b[outputIdx[n, j]] + sum over i of dot(h[n, i], W[inputIdx[n, i], outputIdx[n, j]])``.

    Raises
    ------
    TypeError
        If the ranks do not fit.

    See Also
    --------
    theano.tensor.batched_dot : Return the product of each pair of elements along the first dimension of `a` and `b`.
    theano.tensor.nnet.blocksparse.SparseBlockGemv : ``o[b, j] += sum over i of dot(h[b, i], W[inputIdx[b, i],
        outputIdx[b, j]])``.
    theano.tensor.nnet.blocksparse.SparseBlockOuter : ``o[xIdx[b, i], yIdx[b, j]] += alpha * outer(x[b, i], y[b, j])``,
        the gradient of `SparseBlockGemv`.

    Examples
    --------
    >>> import numpy as np
    >>> W, b = np.ones((4, 3, 2, 5)), np.zeros((3, 5))
    >>> h, inputs, outputs = np.ones((1, 2, 2)), np.array([[0, 3]]), np.array([[1]])
    >>> sparse_block_dot(W, h, inputs, b, outputs).eval()
    array([[[4., 4., 4., 4., 4.]]])
    """
    W, h, inputIdx, b, outputIdx = map(as_tensor_variable, (W, h, inputIdx, b, outputIdx))
    if h.ndim not in (2, 3) or inputIdx.ndim != h.ndim - 1 or outputIdx.ndim != inputIdx.ndim:
        raise TypeError(
            "h must have 3 dimensions (or 2, without a batch), inputIdx and outputIdx one less, got "
            f"{h.type}, {inputIdx.type} and {outputIdx.type}"
        )
    if h.ndim == 2:
        h, inputIdx, outputIdx = h.dimshuffle("x", 0, 1), inputIdx.dimshuffle("x", 0), outputIdx.dimshuffle("x", 0)
    return sparse_block_gemv(b.take(outputIdx, axis=0), W, h, inputIdx, outputIdx)


def _in_place(name: str, op: Op, inplace: Op) -> Any:
    @local_optimizer([op], inplace=True)
    def overwrite(node: Apply) -> Any:
        if node.op != op:
            return False
        new = inplace(*node.inputs)
        copy_stack_trace(node.outputs[0], new)
        return [new]

    overwrite.__name__ = name
    optimizer = TopoOptimizer(overwrite, failure_callback=TopoOptimizer.warn_inplace)
    optdb.register(f"in{name.removeprefix('local_in')}", optimizer, 60, "fast_run", "inplace")
    return overwrite


local_inplace_sparse_block_gemv = _in_place("local_inplace_sparse_block_gemv", sparse_block_gemv, sparse_block_gemv_inplace)
local_inplace_sparse_block_outer = _in_place("local_inplace_sparse_block_outer", sparse_block_outer, sparse_block_outer_inplace)


__getattr__, __dir__ = aliases.lazy(__name__)
