"""Tensor variables and constants, and the operators and methods they have in common."""

from __future__ import annotations

import builtins
import traceback
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from theano.configdefaults import config
from theano.gof import Constant, Variable
from theano.gof.graph import VARIABLE_ATTRIBUTES, copy_tag, show_attributes
from theano.tensor.type import TensorType


class AsTensorError(TypeError):
    """Raised for what cannot be a tensor variable."""


_functions: Any = None


def _tensor() -> Any:
    # The functions that the methods stand for live in modules that need this one.
    global _functions
    if _functions is None:
        import theano.tensor.basic

        _functions = theano.tensor.basic
    return _functions


class _tensor_py_operators:
    """Python's operators and NumPy's methods on tensor variables, each a node of the graph."""

    # NumPy arrays leave binary operators to variables; NumPy's functions call the methods of the same names.
    __array_priority__ = 1000

    def __abs__(self):
        return _tensor().abs_(self)

    def __neg__(self):
        return _tensor().neg(self)

    def __pos__(self):
        return self

    def __lt__(self, other):
        result = _tensor().lt(self, other)
        result._is_nonzero = False
        return result

    def __le__(self, other):
        result = _tensor().le(self, other)
        result._is_nonzero = False
        return result

    def __gt__(self, other):
        result = _tensor().gt(self, other)
        result._is_nonzero = False
        return result

    def __ge__(self, other):
        result = _tensor().ge(self, other)
        result._is_nonzero = False
        return result

    _is_nonzero = True

    def __bool__(self):
        # `if variable:` is used as a test for None, but `if a < b:` and so `a < b < c` are surely mistakes.
        if self._is_nonzero:
            return True
        raise TypeError("Variables do not support boolean operations.")

    def __invert__(self):
        return _tensor().invert(self)

    def __and__(self, other):
        return _tensor().and_(self, other)

    def __or__(self, other):
        return _tensor().or_(self, other)

    def __xor__(self, other):
        return _tensor().xor(self, other)

    def __rand__(self, other):
        return _tensor().and_(other, self)

    def __ror__(self, other):
        return _tensor().or_(other, self)

    def __rxor__(self, other):
        return _tensor().xor(other, self)

    def _binary(self, name: str, *args: Any) -> Any:
        # What cannot be a tensor gets a chance to handle the operator itself.
        try:
            return getattr(_tensor(), name)(*args)
        except (NotImplementedError, AsTensorError):
            return NotImplemented

    def __add__(self, other):
        return self._binary("add", self, other)

    def __sub__(self, other):
        return self._binary("sub", self, other)

    def __mul__(self, other):
        return self._binary("mul", self, other)

    def __div__(self, other):
        from theano import scalar

        try:
            return _tensor().div_proxy(self, other)
        except scalar.IntegerDivisionError:
            raise
        except (NotImplementedError, AsTensorError):
            return NotImplemented

    def __truediv__(self, other):
        return self._binary("true_div", self, other)

    def __floordiv__(self, other):
        return self._binary("floor_div", self, other)

    def __mod__(self, other):
        from theano import scalar

        try:
            return _tensor().mod_check(self, other)
        except scalar.ComplexError:
            raise
        except (NotImplementedError, AsTensorError):
            return NotImplemented

    def __divmod__(self, other):
        return _tensor().divmod(self, other)

    def __pow__(self, other):
        return self._binary("pow", self, other)

    def __radd__(self, other):
        return _tensor().add(other, self)

    def __rsub__(self, other):
        return _tensor().sub(other, self)

    def __rmul__(self, other):
        return _tensor().mul(other, self)

    def __rdiv__(self, other):
        return _tensor().div_proxy(other, self)

    def __rtruediv__(self, other):
        return _tensor().true_div(other, self)

    def __rfloordiv__(self, other):
        return _tensor().floor_div(other, self)

    def __rmod__(self, other):
        return _tensor().mod_check(other, self)

    def __rdivmod__(self, other):
        return _tensor().divmod(other, self)

    def __rpow__(self, other):
        return _tensor().pow(other, self)

    def __dot__(self, right):
        return _tensor().dot(self, right)

    def __rdot__(self, left):
        return _tensor().dot(left, self)

    def __matmul__(self, right):
        return _tensor().matmul(self, right)

    def __rmatmul__(self, left):
        return _tensor().matmul(left, self)

    dot = __dot__

    def __ceil__(self):
        return _tensor().ceil(self)

    def __floor__(self):
        return _tensor().floor(self)

    def __trunc__(self):
        return _tensor().trunc(self)

    @property
    def shape(self):
        """The symbolic shape, an int64 vector."""
        return _tensor().shape(self)

    @property
    def size(self):
        """The symbolic number of elements."""
        if self.ndim == 1:
            return self.shape[0]
        return _tensor().prod(self.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.type.ndim

    @property
    def broadcastable(self) -> tuple[builtins.bool, ...]:
        """Per dimension, whether its length is always 1."""
        return self.type.broadcastable

    @property
    def dtype(self) -> str:
        """The name of the dtype."""
        return self.type.dtype

    @property
    def T(self):
        """The transpose."""
        return _tensor().transpose(self)

    @property
    def real(self):
        """The real part."""
        return _tensor().real(self)

    @property
    def imag(self):
        """The imaginary part."""
        return _tensor().imag(self)

    def any(self, axis=None, keepdims=False):
        """Return whether any element is true; see :func:`theano.tensor.any`."""
        return _tensor().any(self, axis=axis, keepdims=keepdims)

    def all(self, axis=None, keepdims=False):
        """Return whether all elements are true; see :func:`theano.tensor.all`."""
        return _tensor().all(self, axis=axis, keepdims=keepdims)

    def reshape(self, shape, ndim=None):
        """Return a view with another shape; see :func:`theano.tensor.reshape`.

        Parameters
        ----------
        shape
            Tuple of lengths, or a vector.
        ndim : int, optional
            Length of `shape`, where that is not known.
        """
        if ndim is not None and not isinstance(ndim, (int, np.integer)):
            raise ValueError(
                f"Expected ndim to be an integer, is {type(ndim)}; maybe the shape was given as separate arguments"
            )
        return _tensor().reshape(self, shape, ndim=ndim)

    def dimshuffle(self, *pattern):
        """Return a view with dimensions permuted, inserted or dropped.

        Parameters
        ----------
        *pattern : int or 'x'
            For each dimension of the result the dimension that it was, or ``'x'`` for a new broadcastable one. A
            dimension may be left out if it is broadcastable. One list or tuple is taken as the whole pattern.

        Examples
        --------
        >>> import theano.tensor as T
        >>> T.matrix("m").dimshuffle(1, "x", 0).ndim
        3
        """
        from theano.tensor.dimshuffle import DimShuffle, dim_shuffle

        if len(pattern) == 1 and isinstance(pattern[0], (list, tuple)):
            pattern = tuple(pattern[0])
        # Ops are looked up by equality, in which 1.0 is 1; anything unusual is checked by a new op.
        usual = all(type(j) is int or type(j) is str for j in pattern)
        return (dim_shuffle if usual else DimShuffle)(self.type.broadcastable, pattern)(self)

    def flatten(self, ndim=1):
        """Return a view with the last dimensions merged, `ndim` in all."""
        return _tensor().flatten(self, ndim)

    def ravel(self):
        """Return a view with one dimension."""
        return _tensor().flatten(self)

    def diagonal(self, offset=0, axis1=0, axis2=1):
        """Return the diagonal; see :func:`theano.tensor.diagonal`."""
        return _tensor().diagonal(self, offset, axis1, axis2)

    def transfer(self, target):
        """Return the variable on another device; ``'cpu'`` makes it a tensor."""
        return _tensor().transfer(self, target)

    def arccos(self):
        """Return :func:`theano.tensor.arccos` of this."""
        return _tensor().arccos(self)

    def arccosh(self):
        """Return :func:`theano.tensor.arccosh` of this."""
        return _tensor().arccosh(self)

    def arcsin(self):
        """Return :func:`theano.tensor.arcsin` of this."""
        return _tensor().arcsin(self)

    def arcsinh(self):
        """Return :func:`theano.tensor.arcsinh` of this."""
        return _tensor().arcsinh(self)

    def arctan(self):
        """Return :func:`theano.tensor.arctan` of this."""
        return _tensor().arctan(self)

    def arctanh(self):
        """Return :func:`theano.tensor.arctanh` of this."""
        return _tensor().arctanh(self)

    def ceil(self):
        """Return :func:`theano.tensor.ceil` of this."""
        return _tensor().ceil(self)

    def cos(self):
        """Return :func:`theano.tensor.cos` of this."""
        return _tensor().cos(self)

    def cosh(self):
        """Return :func:`theano.tensor.cosh` of this."""
        return _tensor().cosh(self)

    def deg2rad(self):
        """Return :func:`theano.tensor.deg2rad` of this."""
        return _tensor().deg2rad(self)

    def exp(self):
        """Return :func:`theano.tensor.exp` of this."""
        return _tensor().exp(self)

    def exp2(self):
        """Return :func:`theano.tensor.exp2` of this."""
        return _tensor().exp2(self)

    def expm1(self):
        """Return :func:`theano.tensor.expm1` of this."""
        return _tensor().expm1(self)

    def floor(self):
        """Return :func:`theano.tensor.floor` of this."""
        return _tensor().floor(self)

    def log(self):
        """Return :func:`theano.tensor.log` of this."""
        return _tensor().log(self)

    def log10(self):
        """Return :func:`theano.tensor.log10` of this."""
        return _tensor().log10(self)

    def log1p(self):
        """Return :func:`theano.tensor.log1p` of this."""
        return _tensor().log1p(self)

    def log2(self):
        """Return :func:`theano.tensor.log2` of this."""
        return _tensor().log2(self)

    def rad2deg(self):
        """Return :func:`theano.tensor.rad2deg` of this."""
        return _tensor().rad2deg(self)

    def sin(self):
        """Return :func:`theano.tensor.sin` of this."""
        return _tensor().sin(self)

    def sinh(self):
        """Return :func:`theano.tensor.sinh` of this."""
        return _tensor().sinh(self)

    def sqrt(self):
        """Return :func:`theano.tensor.sqrt` of this."""
        return _tensor().sqrt(self)

    def tan(self):
        """Return :func:`theano.tensor.tan` of this."""
        return _tensor().tan(self)

    def tanh(self):
        """Return :func:`theano.tensor.tanh` of this."""
        return _tensor().tanh(self)

    def trunc(self):
        """Return :func:`theano.tensor.trunc` of this."""
        return _tensor().trunc(self)

    def astype(self, dtype):
        """Return the elements cast to `dtype`."""
        return _tensor().cast(self, dtype)

    def __getitem__(self, args):
        from theano.tensor.subtensor import index_tensor

        return index_tensor(self, args)

    def take(self, indices, axis=None, mode="raise"):
        """Return the elements at `indices` along `axis`; see :func:`theano.tensor.subtensor.take`."""
        from theano.tensor.subtensor import take

        return take(self, indices, axis, mode)

    def __iter__(self):
        try:
            for i in range(_tensor().get_vector_length(self)):
                yield self[i]
        except TypeError:
            # Without this a loop over a variable of unknown length would never end.
            raise TypeError(
                "TensorType does not support iteration. Maybe you are using builtins.sum instead of"
                " theano.tensor.sum? (Maybe .max?)"
            )

    def copy(self, name=None):
        """Return a symbolic copy, without the tags, named `name`."""
        copied = _tensor().tensor_copy(self)
        copied.name = name
        return copied

    def sum(self, axis=None, dtype=None, keepdims=False, acc_dtype=None):
        """Return the sum; see :func:`theano.tensor.sum`."""
        return _tensor().sum(self, axis=axis, dtype=dtype, keepdims=keepdims, acc_dtype=acc_dtype)

    def prod(self, axis=None, dtype=None, keepdims=False, acc_dtype=None):
        """Return the product; see :func:`theano.tensor.prod`."""
        return _tensor().prod(self, axis=axis, dtype=dtype, keepdims=keepdims, acc_dtype=acc_dtype)

    def norm(self, L, axis=None, keepdims=False):
        """Return the L-norm, ``(sum |x|**L) ** (1/L)``, the number of non-zeros for 0, the extremes for infinities."""
        return _tensor().norm(self, L, axis=axis, keepdims=keepdims)

    def mean(self, axis=None, dtype=None, keepdims=False, acc_dtype=None):
        """Return the mean; see :func:`theano.tensor.mean`."""
        return _tensor().mean(self, axis=axis, dtype=dtype, keepdims=keepdims, acc_dtype=acc_dtype)

    def var(self, axis=None, ddof=0, keepdims=False, corrected=False):
        """Return the variance; see :func:`theano.tensor.var`."""
        return _tensor().var(self, axis=axis, ddof=ddof, keepdims=keepdims, corrected=corrected)

    def std(self, axis=None, ddof=0, keepdims=False, corrected=False):
        """Return the standard deviation; see :func:`theano.tensor.std`."""
        return _tensor().std(self, axis=axis, ddof=ddof, keepdims=keepdims, corrected=corrected)

    def min(self, axis=None, keepdims=False):
        """Return the minimum; see :func:`theano.tensor.min`."""
        return _tensor().min(self, axis, keepdims=keepdims)

    def max(self, axis=None, keepdims=False):
        """Return the maximum; see :func:`theano.tensor.max`."""
        return _tensor().max(self, axis, keepdims=keepdims)

    def argmin(self, axis=None, keepdims=False):
        """Return the index of the minimum; see :func:`theano.tensor.argmin`."""
        return _tensor().argmin(self, axis, keepdims=keepdims)

    def argmax(self, axis=None, keepdims=False):
        """Return the index of the maximum; see :func:`theano.tensor.argmax`."""
        return _tensor().argmax(self, axis, keepdims=keepdims)

    def nonzero(self, return_matrix=False):
        """Return the indices of the true elements; see :func:`theano.tensor.nonzero`."""
        return _tensor().nonzero(self, return_matrix=return_matrix)

    def nonzero_values(self):
        """Return the elements that are not zero, as a vector."""
        return _tensor().nonzero_values(self)

    def sort(self, axis=-1, kind="quicksort", order=None):
        """Return the elements sorted; see :func:`theano.tensor.sort`."""
        from theano.tensor.sort import sort

        return sort(self, axis, kind, order)

    def argsort(self, axis=-1, kind="quicksort", order=None):
        """Return the indices that sort the elements; see :func:`theano.tensor.argsort`."""
        from theano.tensor.sort import argsort

        return argsort(self, axis, kind, order)

    def clip(self, a_min, a_max):
        """Return the elements forced into an interval."""
        return _tensor().clip(self, a_min, a_max)

    def conj(self):
        """Return the complex conjugate."""
        return _tensor().conj(self)

    conjugate = conj

    def repeat(self, repeats, axis=None):
        """Return the elements repeated; see :func:`theano.tensor.repeat`."""
        from theano.tensor.extra_ops import repeat

        return repeat(self, repeats, axis)

    def round(self, mode=None):
        """Return the elements rounded; see :func:`theano.tensor.round`."""
        return _tensor().round(self, mode)

    def trace(self):
        """Return the sum of the diagonal."""
        from theano.tensor.nlinalg import trace

        return trace(self)

    def get_scalar_constant_value(self):
        """Return the one constant value that all elements have; see :func:`theano.tensor.get_scalar_constant_value`."""
        return _tensor().get_scalar_constant_value(self)

    def zeros_like(self, dtype=None):
        """Return zeros of the shape of this."""
        return _tensor().zeros_like(self, dtype=dtype)

    def ones_like(self, dtype=None):
        """Return ones of the shape of this."""
        return _tensor().ones_like(self, dtype=dtype)

    def cumsum(self, axis=None):
        """Return running sums."""
        from theano.tensor.extra_ops import cumsum

        return cumsum(self, axis)

    def cumprod(self, axis=None):
        """Return running products."""
        from theano.tensor.extra_ops import cumprod

        return cumprod(self, axis)

    def searchsorted(self, v, side="left", sorter=None):
        """Return where `v` would be inserted; see :func:`theano.tensor.searchsorted`."""
        from theano.tensor.extra_ops import searchsorted

        return searchsorted(self, v, side, sorter)

    def ptp(self, axis=None):
        """Return the maximum less the minimum."""
        return _tensor().ptp(self, axis)

    def swapaxes(self, axis1, axis2):
        """Return a view with two dimensions exchanged."""
        return _tensor().swapaxes(self, axis1, axis2)

    def transpose(self, *axes):
        """Return a view with dimensions permuted, reversed by default; one sequence is taken as all `axes`."""
        if len(axes) == 0:
            return _tensor().transpose(self)
        if len(axes) == 1 and isinstance(axes[0], Iterable):
            axes = axes[0]
        return _tensor().transpose(self, axes)

    def fill(self, value):
        """Return an array of the shape of this, filled with `value`."""
        return _tensor().fill(self, value)

    def choose(self, choices, out=None, mode="raise"):
        """Return elements of `choices`, this being the indices; see :func:`theano.tensor.choose`."""
        return _tensor().choose(self, choices, out=out, mode=mode)

    def squeeze(self):
        """Return a view without the broadcastable dimensions."""
        from theano.tensor.extra_ops import squeeze

        return squeeze(self)

    def compress(self, a, axis=None):
        """Return the slices of `a` that this, the condition, selects."""
        from theano.tensor.extra_ops import compress

        return compress(self, a, axis=axis)


class TensorVariable(_tensor_py_operators, Variable):
    """A tensor that an expression stands for or that will be given.

    Parameters
    ----------
    type : TensorType
    owner : Apply, optional
        The node that computes it.
    index : int, optional
        Which output of the node it is.
    name : str, optional
    """

    def __init__(self, type, owner=None, index=None, name=None):
        Variable.__init__(self, type, owner, index, name)
        if type.dtype == "float64" and config.warn_float64 != "ignore":
            _about_float64()

    def clone(self):
        """Return a new variable of the same type, name and tag, without an owner."""
        if type(self) is not TensorVariable:
            return super().clone()
        # Graphs are cloned whole for each function: without the questions that new variables are asked.
        new = TensorVariable.__new__(TensorVariable)
        Variable.__init__(new, self.type, None, None, self.name)
        new.tag = copy_tag(self.tag)
        return new


show_attributes(TensorVariable, *VARIABLE_ATTRIBUTES)


def _about_float64() -> None:
    message = (
        "You are creating a TensorVariable with float64 dtype. You requested an action via the Theano flag"
        " warn_float64={ignore,warn,raise,pdb}."
    )
    action = config.warn_float64
    if action == "warn":
        stack = traceback.extract_stack(limit=12)[:-2]
        warnings.warn(message + "\n" + "".join(traceback.format_list(stack)), stacklevel=4)
    elif action == "raise":
        raise Exception(message)
    elif action == "pdb":
        import pdb

        pdb.set_trace()


class TensorConstantSignature(tuple):
    """A constant's type and value, equal for constants that may be merged.

    Values are equal bit for bit, except that all NaN are one; so 0.0 and -0.0 differ.
    """

    def _value(self) -> bytes:
        found = self.__dict__.get("_bytes")
        if found is None:
            data = self[1]
            if data.dtype.kind in "fc":
                nan = data != data
                if nan.item() if data.size == 1 else nan.any():
                    data = np.where(nan, data.dtype.type(np.nan), data)
            found = self.__dict__["_bytes"] = data.tobytes()
        return found

    def __eq__(self, other: object) -> builtins.bool:
        if self is other:
            return True
        if type(self) is not type(other) or len(self) != 2 or len(other) != 2:
            return False
        type_a, a = self
        type_b, b = other
        if type_a != type_b or a.shape != b.shape or a.dtype != b.dtype:
            return False
        return a is b or self._value() == other._value()

    def __ne__(self, other: object) -> builtins.bool:
        return not self == other

    def __hash__(self) -> int:
        found = self.__dict__.get("_hash")
        if found is None:
            type_, data = self
            found = self.__dict__["_hash"] = hash((TensorConstantSignature, type_, data.shape, self._value()))
        return found

    def theano_hash(self) -> int:
        """Return the hash."""
        return hash(self)

    @property
    def sum(self) -> Any:
        """The sum of the elements that are numbers."""
        data = self[1]
        if data.dtype.kind in "fc":
            data = data[np.isfinite(data)]
        return data.sum()

    @property
    def no_nan(self) -> np.ndarray:
        """The value, with NaN masked."""
        return np.ma.masked_where(np.isnan(self[1]), self[1]) if self[1].dtype.kind in "fc" else self[1]

    @property
    def has_nan(self) -> builtins.bool:
        """Whether some element is NaN."""
        return builtins.bool(self[1].dtype.kind in "fc" and np.isnan(self[1]).any())


class TensorConstant(_tensor_py_operators, Constant):
    """A known array.

    Parameters
    ----------
    type : TensorType
    data : ndarray
    name : str, optional
    """

    def __init__(self, type, data, name=None):
        Constant.__init__(self, type, data, name)
        self.tag.unique_value = None
        data = self.data
        if isinstance(data, np.ndarray) and data.ndim > 0 and data.size:
            first = data[(0,) * data.ndim]
            # Most arrays that vary do so at once.
            if data.size == 1:
                same = builtins.bool(first == first)
            else:
                same = np.all(data[(0,) * (data.ndim - 1)][:16] == first) and np.all(data == first)
            if same:
                self.tag.unique_value = first

    def __str__(self):
        if self.name is not None:
            return self.name
        if self.tag.unique_value is not None:
            text = f"{self.data.shape} of {self.tag.unique_value}"
        else:
            text = str(self.data)
        if len(text) > 20:
            text = f"{text[:10]}..{text[-10:]}"
        return f"TensorConstant{{{text}}}"

    def signature(self):
        """Return what makes two constants one."""
        return TensorConstantSignature((self.type, self.data))

    def equals(self, other):
        """Return whether `other`, a constant or an array, has the same type and value."""
        if not isinstance(other, (TensorConstant, np.ndarray)):
            return False
        if isinstance(other, np.ndarray):
            other = TensorConstant(TensorType(other.dtype, [False] * other.ndim), other)
        return self.signature() == other.signature()

    def clone(self):
        """Return a new constant that shares the data."""
        if type(self) is not TensorConstant:
            return super().clone()
        # Without looking at the value again.
        new = TensorConstant.__new__(TensorConstant)
        Variable.__init__(new, self.type, None, None, self.name)
        new.data = self.data
        new.tag = copy_tag(self.tag)
        return new

    def __copy__(self):
        # The value of a constant never changes, it is not copied.
        new = type(self).__new__(type(self))
        new.__dict__.update(self.__dict__)
        new.__dict__.pop("cached", None)
        return new


show_attributes(TensorConstant, *VARIABLE_ATTRIBUTES, "data", "cached")

TensorType.Variable = TensorVariable
TensorType.Constant = TensorConstant


def __getattr__(name: str) -> Any:
    if name == "TensorSharedVariable":
        from theano.tensor.sharedvar import TensorSharedVariable

        return TensorSharedVariable
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
