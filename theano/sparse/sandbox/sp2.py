"""Sparse matrices of random numbers. None of these operations is a function: two calls with one input differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano import aliases
from theano.gof.graph import Apply
from theano.gof.op import Op
from theano.gradient_types import grad_undefined
from theano.sparse.structure import Remove0, compressed, rebuilt, remove0
from theano.sparse.type import SparseType, complex_dtypes, discrete_dtypes, float_dtypes
from theano.sparse.variable import as_sparse_variable, value_of
from theano.tensor.conversion import as_tensor_variable

# Further names of two operations.
EliminateZeros, eliminate_zeros = Remove0, remove0

__all__ = ["Binomial", "Multinomial", "Poisson", "csc_dbinomial", "csc_fbinomial", "csr_dbinomial", "csr_fbinomial",
           "discrete_dtypes", "float_dtypes", "multinomial", "poisson"]  # fmt: skip


class _Random(Op):
    """Base class: the gradient with respect to parameters of random numbers is undefined."""

    __props__: tuple[str, ...] = ()

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [grad_undefined(self, k, v, "the numbers are random") for k, v in enumerate(inputs)]


class Poisson(_Random):
    """Random integers of Poisson distributions whose means are the stored values of a sparse matrix: a matrix like it.

    The numbers come from NumPy's global generator; two calls differ.

    See Also
    --------
    theano.sparse.sandbox.sp2.Binomial : A sparse matrix of random integers of a binomial distribution.
    theano.sparse.sandbox.sp2.Multinomial : A sparse matrix whose rows are random integers of multinomial distributions.
    theano.sparse.sandbox.sp2.poisson : An instance of it.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> np.random.seed(0)
    >>> poisson(sp.csr_matrix([[0.0, 5.0], [1000.0, 0.0]])).eval().toarray()
    array([[   0.,    9.],
           [1029.,    0.]])
    """

    def make_node(self, x: Any) -> Apply:
        x = compressed(x, "poisson")
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        (x,) = inputs
        made = rebuilt(x, np.random.poisson(x.data[: x.indptr[-1]]).astype(x.dtype))
        made.eliminate_zeros()
        output_storage[0][0] = made

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return shapes  # type: ignore[return-value]


poisson = Poisson()


class Binomial(_Random):
    """A sparse matrix of random integers of a binomial distribution: how many of `n` experiments of probability `p` succeed.

    The numbers come from NumPy's global generator; two calls differ.

    Parameters
    ----------
    format : {'csr', 'csc'}
        How the stored values lie.
    dtype : str
        The name of the dtype.

    See Also
    --------
    theano.sparse.sandbox.sp2.Multinomial : A sparse matrix whose rows are random integers of multinomial distributions.
    theano.sparse.sandbox.sp2.Poisson : Random integers of Poisson distributions whose means are the stored values of a
        sparse matrix: a matrix like it.
    theano.sparse.sandbox.sp2.csc_dbinomial : An instance of it.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> np.random.seed(0)
    >>> csr_dbinomial(10, 0.5, [2, 3]).eval().toarray()
    array([[5., 6., 5.],
           [5., 5., 6.]])
    """

    __props__ = ("format", "dtype")

    def __init__(self, format: str, dtype: str) -> None:
        self.format = format
        self.dtype = dtype

    def make_node(self, n: Any, p: Any, shape: Any) -> Apply:
        """Return the node.

        Parameters
        ----------
        n : 0-d tensor of integers
            How many experiments.
        p : 0-d tensor of floats
            The probability of success.
        shape : vector of two integers

        Raises
        ------
        TypeError
            If one of them is of another kind.
        """
        n, p, shape = as_tensor_variable(n), as_tensor_variable(p), as_tensor_variable(shape)
        if n.type.ndim or n.type.dtype not in discrete_dtypes:
            raise TypeError(f"binomial: n must be an integer, got {n.type}")
        if p.type.ndim or p.type.dtype not in float_dtypes:
            raise TypeError(f"binomial: p must be a float, got {p.type}")
        if shape.type.ndim != 1 or shape.type.dtype not in discrete_dtypes:
            raise TypeError(f"binomial: the shape must be a vector of integers, got {shape.type}")
        return Apply(self, [n, p, shape], [SparseType(dtype=self.dtype, format=self.format)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        n, p, shape = inputs
        drawn = np.random.binomial(n, p, size=tuple(map(int, shape)))
        output_storage[0][0] = SparseType.format_cls[self.format](drawn.astype(self.dtype))

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [True], [False]]

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        shape = node.inputs[2]
        return [(shape[0].astype("int64"), shape[1].astype("int64"))]


csr_fbinomial = Binomial("csr", "float32")
csc_fbinomial = Binomial("csc", "float32")
csr_dbinomial = Binomial("csr", "float64")
csc_dbinomial = Binomial("csc", "float64")


class Multinomial(_Random):
    """A sparse matrix whose rows are random integers of multinomial distributions.

    The numbers come from NumPy's global generator; two calls differ.

    See Also
    --------
    theano.sparse.sandbox.sp2.Poisson : Random integers of Poisson distributions whose means are the stored values of a
        sparse matrix: a matrix like it.
    theano.sparse.sandbox.sp2.Binomial : A sparse matrix of random integers of a binomial distribution.
    theano.sparse.sandbox.sp2.multinomial : An instance of it.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> np.random.seed(0)
    >>> drawn = multinomial(100, sp.csr_matrix([[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]])).eval()
    >>> drawn.toarray(), drawn.sum(axis=1).tolist()
    (array([[ 52.,   0.,  48.],
           [  0., 100.,   0.]]), [[100.0], [100.0]])
    """

    def make_node(self, n: Any, p: Any) -> Apply:
        """Return the node.

        Parameters
        ----------
        n : vector of integers, or an integer
            How many experiments there are for each row, or for all.
        p : csr matrix
            The probabilities, each row a distribution: its sum is 1.

        Raises
        ------
        TypeError
            If `n` is of another kind.
        NotImplementedError
            If `p` is of another format.
        """
        n, p = as_tensor_variable(n), as_sparse_variable(p)
        if n.type.ndim > 1 or n.type.dtype not in discrete_dtypes:
            raise TypeError(f"multinomial: n must be an integer or a vector of integers, got {n.type}")
        if p.format != "csr":
            raise NotImplementedError(f"multinomial takes a csr matrix, got {p.type}")
        if p.dtype in complex_dtypes:
            raise TypeError(f"multinomial takes real probabilities, got {p.type}")
        return Apply(self, [n, p], [p.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        n, p = inputs
        if n.ndim == 1 and n.shape[0] != p.shape[0]:
            raise ValueError(f"multinomial: {n.shape[0]} numbers of experiments for {p.shape[0]} rows")
        values = p.data[: p.indptr[-1]].copy()
        counts = np.broadcast_to(n, p.shape[:1])
        for i, count in enumerate(counts):
            row = slice(p.indptr[i], p.indptr[i + 1])
            if row.start < row.stop:
                # float32 probabilities do not sum to 1 in float64.
                chances = values[row].astype("float64")
                values[row] = np.random.multinomial(int(count), chances / chances.sum())
        output_storage[0][0] = value_of(rebuilt(p, values), node.outputs[0].type)

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [shapes[1]]


multinomial = Multinomial()
__getattr__, __dir__ = aliases.lazy(__name__)
