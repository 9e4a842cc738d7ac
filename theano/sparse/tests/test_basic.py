"""Sparse variables and values for tests, and how gradients are checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse

import theano
from theano import sparse
from theano.sparse.basic import _is_sparse, _is_sparse_variable
from theano.tests import unittest_tools as utt


def as_sparse_format(data: Any, format: str) -> Any:
    """Return an array or a matrix as a matrix of csr or csc.

    Parameters
    ----------
    data : array or sparse matrix
        What to convert.
    format : {'csr', 'csc'}
        The format.

    Raises
    ------
    NotImplementedError
        For another format.

    Examples
    --------
    >>> as_sparse_format(np.eye(2), "csc").format
    'csc'
    >>> as_sparse_format(np.eye(2), "coo")
    Traceback (most recent call last):
    NotImplementedError: coo
    """
    if format not in ("csc", "csr"):
        raise NotImplementedError(format)
    return getattr(scipy.sparse, format + "_matrix")(data)


def as_ndarray(val: Any) -> Any:
    """Return a sparse matrix as an array, anything else as it is.

    Parameters
    ----------
    val : sparse matrix or object
        Anything.

    Examples
    --------
    >>> as_ndarray(scipy.sparse.csr_matrix([[0.0, 2.0]])), as_ndarray(3.5)
    (array([[0., 2.]]), 3.5)
    """
    return val.toarray() if hasattr(val, "toarray") else val


def eval_outputs(outputs: Sequence[Any]) -> Any:
    """Return the value of the first of some variables that need no input.

    Parameters
    ----------
    outputs : list of Variable
        Only the first one's value is given back.

    Examples
    --------
    >>> eval_outputs([theano.tensor.constant([1.0, 2.0]) * 2])
    array([2., 4.])
    """
    return theano.function([], list(outputs))()[0]


def random_lil(shape: tuple[int, int], dtype: str, nnz: int) -> Any:
    """Return a matrix of the format lil with up to `nnz` random values at random places.

    Parameters
    ----------
    shape : tuple of int
        Rows and columns.
    dtype : str
        Of integers the values are 0 to 99, of floats below 1.
    nnz : int
        How often a value is put.

    Examples
    --------
    >>> made = random_lil((3, 4), "int32", nnz=5)
    >>> made.shape, made.dtype.name, made.format, made.nnz <= 5
    ((3, 4), 'int32', 'lil', True)
    """
    made = scipy.sparse.lil_matrix(shape, dtype=dtype)
    for _ in range(nnz):
        value = np.random.rand()
        at = tuple(int(k) for k in np.random.randint(1, 2**30 + 1, size=2) % shape)
        made[at] = int(value * 100) if dtype in sparse.integer_dtypes else value
    return made


def sparse_random_inputs(
    format: str, shape: tuple[int, int], n: int = 1, out_dtype: str | None = None, p: float = 0.5, gap: Any = None,
    explicit_zero: bool = False, unsorted_indices: bool = False,
) -> tuple[list[Any], list[Any]]:  # fmt: skip
    """Return sparse variables, and random values for them.

    Parameters
    ----------
    format : {'csr', 'csc'}
        How the stored values lie.
    shape : tuple of int
        The shape of each matrix.
    n : int
        How many.
    out_dtype : str, optional
        By default ``config.floatX``.
    p : float
        Which part of the elements is stored.
    gap : tuple of numbers, optional
        ``(a, b)``: values of ``[a, b[``; ``(b,)``: of ``[0, b[``. By default ``[0, 1[``, for integers ``[0, 50[``.
    explicit_zero : bool
        Whether one of the stored values is zero.
    unsorted_indices : bool
        Whether the values of a row or column are not in order.

    Returns
    -------
    tuple of list
        ``(variables, values)``.

    Raises
    ------
    ValueError
        If no matrix of this shape, dtype and density can be made.

    Examples
    --------
    >>> (x,), (value,) = sparse_random_inputs("csr", (3, 4), out_dtype="float32")
    >>> x.type, value.shape
    (Sparse[float32, csr], (3, 4))
    """
    dtype = theano.config.floatX if out_dtype is None else out_dtype
    if not 0 <= p <= 1 or len(shape) != 2 or dtype not in sparse.all_dtypes:
        raise ValueError(f"no sparse matrix of shape {shape}, dtype {dtype} and density {p}")
    low, high = (0, 50 if dtype in sparse.discrete_dtypes else 1) if gap is None else (0, *gap)[-2:]

    def value() -> Any:
        where = np.random.binomial(1, p, size=shape).astype("int8")
        if dtype in sparse.discrete_dtypes:
            values = np.random.randint(low, high, size=shape)
        else:
            values = low + np.random.random(shape) * (high - low)
        return as_sparse_format((where * values).astype(dtype), format)

    variables = [sparse.matrix(format, dtype=dtype) for _ in range(n)]
    values = [value() for _ in range(n)]
    if unsorted_indices:
        # The matrix is flipped: the order of its values is not.
        axis = 1 if format == "csr" else 0
        values = [type(v)((v.data, v.shape[axis] - 1 - v.indices, v.indptr), shape=v.shape) for v in values]
        if any(v.has_sorted_indices for v in values):
            raise ValueError("too few values for an order that is wrong")
    if explicit_zero:
        for v in values:
            if v.nnz < 2:
                raise ValueError("too few values for one that is zero")
            v.data[np.random.randint(v.nnz)] = 0
    return variables, values


def verify_grad_sparse(op: Callable[..., Any], pt: list[Any], structured: bool = False, *args: Any, **kwargs: Any) -> None:
    """Check the gradient of an operation with sparse inputs or a sparse output against finite differences.

    Parameters
    ----------
    op : callable
        What is checked.
    pt : list of arrays and sparse matrices
        Where it is checked.
    structured : bool
        Whether only stored values vary, else all elements.
    *args, **kwargs
        For :func:`theano.tests.unittest_tools.verify_grad`.

    Raises
    ------
    verify_grad.E_grad
        If they differ.

    Examples
    --------
    >>> value = scipy.sparse.csr_matrix([[0.5, 0.0], [0.0, 2.0]])
    >>> verify_grad_sparse(sparse.structured_exp, [value], structured=True, mode="FAST_COMPILE")
    >>> verify_grad_sparse(sparse.structured_exp, [value], mode="FAST_COMPILE")
    Traceback (most recent call last):
    theano.gradient_check.GradientError: GradientError: numeric gradient and analytic gradient exceed tolerance: ...
    """
    points, makers = [], []
    for p in pt:
        if not _is_sparse(p):
            points.append(p)
            makers.append(lambda x: x)
        elif structured:
            points.append(p.data)
            made = {"csr": sparse.CSR, "csc": sparse.CSC}[p.format]
            makers.append(lambda data, made=made, p=p: made(data, p.indices[: p.size], p.indptr, p.shape))
        else:
            points.append(p.toarray())
            makers.append({"csr": sparse.csr_from_dense, "csc": sparse.csc_from_dense}[p.format])

    def dense(*inputs: Any) -> Any:
        output = op(*[make(x) for make, x in zip(makers, inputs)])
        if isinstance(output, (list, tuple)):
            raise NotImplementedError("verify_grad can't deal with multiple outputs")
        return sparse.DenseFromSparse(structured=structured)(output) if _is_sparse_variable(output) else output

    utt.verify_grad(dense, points, *args, **kwargs)


verify_grad_sparse.E_grad = utt.verify_grad.E_grad  # type: ignore[attr-defined]
