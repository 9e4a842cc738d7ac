"""Operations on the stored values of a sparse matrix alone. Their gradients are structured."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import theano.tensor.basic as tensor
from theano.gof.graph import Variable
from theano.sparse.structure import compressed, stored_values, with_values
from theano.tensor.nnet.sigm import sigmoid


def _sections(function: Callable[..., Any], tensor_op: Callable[..., Variable]) -> str:
    """What is true of all of them: the sections of a docstring."""
    number = len(inspect.signature(function).parameters) > 1
    second = "y : number or 0-d tensor\n    The second argument of each operation.\n" if number else ""
    of_tensors = getattr(tensor_op, "description", None)
    dense = f"theano.tensor{of_tensors[0].removeprefix('T')}" if of_tensors else "theano.sparse.structured_monoid"
    text = f"""

Parameters
----------
x : sparse matrix
    In the format csr or csc.
{second}
Returns
-------
SparseVariable
    With the places and the format of `x`; what is not stored stays zero.

Raises
------
TypeError
    If `x` is not such a matrix{", or `y` is no number" if number else ""}.

See Also
--------
{dense} : {"The same of all elements of a tensor" if of_tensors else "What makes such functions"}.

Examples
--------
>>> import scipy.sparse as sp
>>> {function.__name__}(sp.csr_matrix([[0.0, 0.5]]){", 2.0" if number else ""}).eval().nnz
1
"""
    return text.replace("\n", "\n    ").rstrip(" ") + "    "


def structured_monoid(tensor_op: Callable[..., Variable]) -> Callable[[Callable[..., Any]], Callable[..., Variable]]:
    """Return a decorator that makes a function of sparse matrices of an elementwise operation of tensors.

    The operation is applied to the stored values, and what is not stored stays zero. The first argument is the sparse
    matrix (csr or csc), others are numbers. The gradient is structured.

    Parameters
    ----------
    tensor_op : callable
        Called with the vector of values, and the numbers as 0-d tensors.

    See Also
    --------
    theano.sparse.structured_add : The stored values plus the number `y`; the gradient is structured.
    theano.sparse.structured_pow : The stored values to the power `y`, a number; the gradient is structured.
    theano.sparse.structured_maximum : The larger of each stored value and the number `y`; the gradient is structured.

    Examples
    --------
    >>> import theano.tensor as T
    >>> @structured_monoid(T.cosh)
    ... def structured_cosh(x):
    ...     'The hyperbolic cosine of the stored values.'
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Variable]:
        def structured(*args: Any) -> Variable:
            x = compressed(args[0], function.__name__)
            numbers = [tensor.as_tensor_variable(arg) for arg in args[1:]]
            for number in numbers:
                if number.ndim:
                    raise TypeError(f"{function.__name__} takes a number beside the matrix, got {number.type}")
            return with_values(x, tensor_op(stored_values(x), *numbers))

        structured.__name__ = structured.__qualname__ = function.__name__
        structured.__doc__ = f"{function.__doc__}{_sections(function, tensor_op)}"
        parameters = inspect.signature(function).parameters.values()
        structured.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [p.replace(kind=p.POSITIONAL_ONLY, annotation=p.empty) for p in parameters]
        )
        structured.__module__ = function.__module__
        return structured

    return decorate


@structured_monoid(sigmoid)
def structured_sigmoid(x: Any) -> Any:
    """The logistic function of the stored values; the gradient is structured."""


@structured_monoid(tensor.exp)
def structured_exp(x: Any) -> Any:
    """The exponential of the stored values; the gradient is structured."""


@structured_monoid(tensor.log)
def structured_log(x: Any) -> Any:
    """The logarithm of the stored values; the gradient is structured."""


@structured_monoid(tensor.pow)
def structured_pow(x: Any, y: Any) -> Any:
    """The stored values to the power `y`, a number; the gradient is structured."""


@structured_monoid(tensor.minimum)
def structured_minimum(x: Any, y: Any) -> Any:
    """The smaller of each stored value and the number `y`; the gradient is structured."""


@structured_monoid(tensor.maximum)
def structured_maximum(x: Any, y: Any) -> Any:
    """The larger of each stored value and the number `y`; the gradient is structured."""


@structured_monoid(tensor.add)
def structured_add(x: Any, y: Any) -> Any:
    """The stored values plus the number `y`; the gradient is structured."""


@structured_monoid(tensor.sin)
def sin(x: Any) -> Any:
    """The sine of a sparse matrix, elementwise."""


@structured_monoid(tensor.arcsin)
def arcsin(x: Any) -> Any:
    """The inverse sine of a sparse matrix, elementwise."""


@structured_monoid(tensor.tan)
def tan(x: Any) -> Any:
    """The tangent of a sparse matrix, elementwise."""


@structured_monoid(tensor.arctan)
def arctan(x: Any) -> Any:
    """The inverse tangent of a sparse matrix, elementwise."""


@structured_monoid(tensor.sinh)
def sinh(x: Any) -> Any:
    """The hyperbolic sine of a sparse matrix, elementwise."""


@structured_monoid(tensor.arcsinh)
def arcsinh(x: Any) -> Any:
    """The inverse hyperbolic sine of a sparse matrix, elementwise."""


@structured_monoid(tensor.tanh)
def tanh(x: Any) -> Any:
    """The hyperbolic tangent of a sparse matrix, elementwise."""


@structured_monoid(tensor.arctanh)
def arctanh(x: Any) -> Any:
    """The inverse hyperbolic tangent of a sparse matrix, elementwise."""


@structured_monoid(tensor.round_half_to_even)
def rint(x: Any) -> Any:
    """A sparse matrix rounded to integers, halves to even ones."""


round_half_to_even = rint


@structured_monoid(tensor.sgn)
def sgn(x: Any) -> Any:
    """The signs of a sparse matrix, elementwise."""


@structured_monoid(tensor.ceil)
def ceil(x: Any) -> Any:
    """A sparse matrix rounded up, elementwise."""


@structured_monoid(tensor.floor)
def floor(x: Any) -> Any:
    """A sparse matrix rounded down, elementwise."""


@structured_monoid(tensor.log1p)
def log1p(x: Any) -> Any:
    """The logarithm of one plus a sparse matrix, elementwise."""


@structured_monoid(tensor.expm1)
def expm1(x: Any) -> Any:
    """The exponential minus one of a sparse matrix, elementwise."""


@structured_monoid(tensor.deg2rad)
def deg2rad(x: Any) -> Any:
    """A sparse matrix of degrees in radians, elementwise."""


@structured_monoid(tensor.rad2deg)
def rad2deg(x: Any) -> Any:
    """A sparse matrix of radians in degrees, elementwise."""


@structured_monoid(tensor.trunc)
def trunc(x: Any) -> Any:
    """A sparse matrix rounded towards zero, elementwise."""


@structured_monoid(tensor.sqr)
def sqr(x: Any) -> Any:
    """The squares of a sparse matrix, elementwise."""


@structured_monoid(tensor.sqrt)
def sqrt(x: Any) -> Any:
    """The square roots of a sparse matrix, elementwise."""


@structured_monoid(tensor.conj)
def conj(x: Any) -> Any:
    """The complex conjugate of a sparse matrix, elementwise."""
