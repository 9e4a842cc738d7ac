"""Tensor variables and constants, and the operators and methods they have in common."""

from __future__ import annotations

import builtins
import traceback
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from theano import aliases
from theano.configdefaults import config
from theano.gof import Constant, Variable
from theano.gof.graph import VARIABLE_ATTRIBUTES, _observers, copy_tag, show_attributes
from theano.gof.utils import named_methods
from theano.tensor.type import TensorType, ops


class AsTensorError(TypeError):
    """Raised for what cannot be a tensor variable.

    See Also
    --------
    theano.tensor.as_tensor_variable : Turn `x` into a tensor variable or constant.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> T.as_tensor_variable(theano.gof.generic("anything"))
    Traceback (most recent call last):
        ...
    theano.tensor.var.AsTensorError: The type of a tensor variable has to be a TensorType, got anything, Generic
    """


def _method(name: str, method: Any) -> Any:
    method.__doc__ = f"See :func:`theano.tensor.{name}`."
    return method


def _function(name: str) -> Any:
    """The method that returns a function of the variable."""
    return _method(name, lambda self: getattr(ops, name)(self))


def _strict_operator(name: str) -> Any:
    return _method(name, lambda self, other: getattr(ops, name)(self, other))


def _reflected(name: str) -> Any:
    return _method(name, lambda self, other: getattr(ops, name)(other, self))


def _operator(name: str) -> Any:
    """An operator that gives what cannot be a tensor a chance to handle it itself."""

    def method(self: Any, other: Any) -> Any:
        try:
            return getattr(ops, name)(self, other)
        except (NotImplementedError, AsTensorError) as exc:
            from theano import scalar

            if isinstance(exc, (scalar.IntegerDivisionError, scalar.ComplexError)):
                raise
            return NotImplemented

    return _method(name, method)


def _comparison(name: str) -> Any:
    def method(self: Any, other: Any) -> Any:
        result = getattr(ops, name)(self, other)
        result._is_nonzero = False
        return result

    return _method(name, method)


class SymbolicValueError(TypeError, AttributeError):
    """Raised where Python asks a symbolic variable for a value.

    See Also
    --------
    theano.tensor.var.equal_slices : Return whether two slices have the same bounds and step.
    theano.tensor.TensorVariable : A tensor that an expression stands for or that will be given.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> float(x)
    Traceback (most recent call last):
        ...
    theano.tensor.var.SymbolicValueError: x is symbolic and has no value that Python could take as a ...
    """


class _Refused:
    """A special method that says why there is none; `hasattr` finds none either.

    Parameters
    ----------
    message : str
        What to write instead; ``{x}`` stands for the variable, ``{type}`` for its class.
    """

    def __init__(self, message: str):
        self.message = message

    def __get__(self, variable: Any, owner: type) -> Any:
        if variable is None:
            raise AttributeError(self.message)
        raise SymbolicValueError(self.message.format(x=variable.name or "x", type=type(variable).__name__))


_NUMBER = (
    "{x} is symbolic and has no value that Python could take as a number. Functions of Python's math module have"
    " counterparts in theano.tensor (theano.tensor.exp for math.exp); a compiled function, or {x}.eval(...), computes values."
)


@named_methods
class _tensor_py_operators:
    """Python's operators and NumPy's methods on tensor variables, each a node of the graph."""

    __array_priority__ = 1000

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return ops.array_ufunc(self, ufunc, method, *inputs, **kwargs)

    def __array_function__(self, function, types, args, kwargs):
        return ops.array_function(function, args, kwargs)


    __abs__ = _function("abs_")
    __neg__ = _function("neg")
    __invert__ = _function("invert")
    __ceil__ = _function("ceil")
    __floor__ = _function("floor")
    __trunc__ = _function("trunc")
    __lt__ = _comparison("lt")
    __le__ = _comparison("le")
    __gt__ = _comparison("gt")
    __ge__ = _comparison("ge")
    __add__ = _operator("add")
    __sub__ = _operator("sub")
    __mul__ = _operator("mul")
    __div__ = _operator("div_proxy")
    __truediv__ = _operator("true_div")
    __floordiv__ = _operator("floor_div")
    __mod__ = _operator("mod_check")
    __pow__ = _operator("pow")
    __and__ = _strict_operator("and_")
    __or__ = _strict_operator("or_")
    __xor__ = _strict_operator("xor")
    __divmod__ = _strict_operator("divmod")
    __radd__ = _reflected("add")
    __rsub__ = _reflected("sub")
    __rmul__ = _reflected("mul")
    __rdiv__ = _reflected("div_proxy")
    __rtruediv__ = _reflected("true_div")
    __rfloordiv__ = _reflected("floor_div")
    __rmod__ = _reflected("mod_check")
    __rpow__ = _reflected("pow")
    __rand__ = _reflected("and_")
    __ror__ = _reflected("or_")
    __rxor__ = _reflected("xor")
    __rdivmod__ = _reflected("divmod")
    arccos = _function("arccos")
    arccosh = _function("arccosh")
    arcsin = _function("arcsin")
    arcsinh = _function("arcsinh")
    arctan = _function("arctan")
    arctanh = _function("arctanh")
    ceil = _function("ceil")
    cos = _function("cos")
    cosh = _function("cosh")
    deg2rad = _function("deg2rad")
    exp = _function("exp")
    exp2 = _function("exp2")
    expm1 = _function("expm1")
    floor = _function("floor")
    log = _function("log")
    log10 = _function("log10")
    log1p = _function("log1p")
    log2 = _function("log2")
    rad2deg = _function("rad2deg")
    sin = _function("sin")
    sinh = _function("sinh")
    sqrt = _function("sqrt")
    tan = _function("tan")
    tanh = _function("tanh")
    trunc = _function("trunc")

    def __pos__(self):
        return self

    def __dot__(self, right):
        return ops.dot(self, right)

    def __rdot__(self, left):
        return ops.dot(left, self)

    def __matmul__(self, right):
        return ops.matmul(self, right)

    def __rmatmul__(self, left):
        return ops.matmul(left, self)

    dot = __dot__

    _is_nonzero = True

    def __bool__(self):
        # `if variable:` is used as a test for None, but `if a < b:` and so `a < b < c` are surely mistakes.
        if self._is_nonzero:
            return True
        raise TypeError(
            f"Variables do not support boolean operations. {self} is known only when a compiled function runs: instead of `if`"
            " write theano.tensor.switch(condition, a, b) or theano.ifelse.ifelse(condition, a, b); instead of `and`, `or`,"
            " `not` write `&`, `|`, `~`; instead of `a < b < c` write (a < b) & (b < c); instead of `while` use theano.scan."
        )

    __float__ = _Refused(_NUMBER)
    __int__ = _Refused(_NUMBER)
    __complex__ = _Refused(_NUMBER)
    __index__ = _Refused(
        "{x} is symbolic, and Python needs an integer here. For range({x}) use theano.tensor.arange({x}), for a loop"
        " theano.scan(..., n_steps={x}), and to index a list with {x} stack it first: theano.tensor.stack(items)[{x}]."
        " The length of a symbolic list is theano.typed_list.length(list)."
    )
    __len__ = _Refused(
        "object of type '{type}' has no len(): {x} is symbolic, its length is known only when a compiled function runs."
        " Use {x}.shape[0]."
    )
    __setitem__ = _Refused(
        "{x} is symbolic and does not support item assignment: it stands for an expression, which never changes. Write"
        " new = theano.tensor.set_subtensor({x}[index], value), or inc_subtensor for +=, and go on with the new variable."
    )
    __delitem__ = _Refused("{x} is symbolic and does not support deletion of items: write {x}[index] with what is to stay.")

    @property
    def shape(self):
        """The symbolic shape, an int64 vector."""
        return ops.shape(self)

    @property
    def size(self):
        """The symbolic number of elements."""
        if self.ndim == 1:
            return self.shape[0]
        return ops.prod(self.shape)

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
        return ops.transpose(self)

    @property
    def real(self):
        """The real part."""
        return ops.real(self)

    @property
    def imag(self):
        """The imaginary part."""
        return ops.imag(self)

    def any(self, axis=None, keepdims=False):
        """Return whether any element is true; see :func:`theano.tensor.any`."""
        return ops.any(self, axis=axis, keepdims=keepdims)

    def all(self, axis=None, keepdims=False):
        """Return whether all elements are true; see :func:`theano.tensor.all`."""
        return ops.all(self, axis=axis, keepdims=keepdims)

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
        return ops.reshape(self, shape, ndim=ndim)

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
        if len(pattern) == 1 and isinstance(pattern[0], (list, tuple)):
            pattern = tuple(pattern[0])
        # Ops are looked up by equality, in which 1.0 is 1; anything unusual is checked by a new op.
        usual = all(type(j) is int or type(j) is str for j in pattern)
        return (ops.dim_shuffle if usual else ops.DimShuffle)(self.type.broadcastable, pattern)(self)

    def flatten(self, ndim=1):
        """Return a view with the last dimensions merged, `ndim` in all."""
        return ops.flatten(self, ndim)

    def ravel(self):
        """Return a view with one dimension."""
        return ops.flatten(self)

    def diagonal(self, offset=0, axis1=0, axis2=1):
        """Return the diagonal; see :func:`theano.tensor.diagonal`."""
        return ops.diagonal(self, offset, axis1, axis2)

    def transfer(self, target):
        """Return the variable on another device; ``'cpu'`` makes it a tensor."""
        return ops.transfer(self, target)

    def astype(self, dtype):
        """Return the elements cast to `dtype`."""
        return ops.cast(self, dtype)

    def __getitem__(self, args):
        return ops.index_tensor(self, args)

    def take(self, indices, axis=None, mode="raise"):
        """Return the elements at `indices` along `axis`; see :func:`theano.tensor.subtensor.take`."""
        return ops.take(self, indices, axis, mode)

    def __iter__(self):
        try:
            for i in range(ops.get_vector_length(self)):
                yield self[i]
        except ValueError as error:
            raise ValueError(
                f"{error}. A loop over the elements of a symbolic vector is theano.scan(step, sequences=...); for their sum write"
                " theano.tensor.sum instead of Python's."
            ) from None
        except TypeError:
            # Without this a loop over a variable of unknown length would never end.
            raise TypeError(
                "TensorType does not support iteration. Maybe you are using builtins.sum instead of"
                " theano.tensor.sum? (Maybe .max?)"
            )

    def copy(self, name=None):
        """Return a symbolic copy, without the tags, named `name`."""
        copied = ops.tensor_copy(self)
        copied.name = name
        return copied

    def sum(self, axis=None, dtype=None, keepdims=False, acc_dtype=None):
        """Return the sum; see :func:`theano.tensor.sum`."""
        return ops.sum(self, axis=axis, dtype=dtype, keepdims=keepdims, acc_dtype=acc_dtype)

    def prod(self, axis=None, dtype=None, keepdims=False, acc_dtype=None):
        """Return the product; see :func:`theano.tensor.prod`."""
        return ops.prod(self, axis=axis, dtype=dtype, keepdims=keepdims, acc_dtype=acc_dtype)

    def norm(self, L, axis=None, keepdims=False):
        """Return the L-norm, ``(sum |x|**L) ** (1/L)``, the number of non-zeros for 0, the extremes for infinities."""
        return ops.norm(self, L, axis=axis, keepdims=keepdims)

    def mean(self, axis=None, dtype=None, keepdims=False, acc_dtype=None):
        """Return the mean; see :func:`theano.tensor.mean`."""
        return ops.mean(self, axis=axis, dtype=dtype, keepdims=keepdims, acc_dtype=acc_dtype)

    def var(self, axis=None, ddof=0, keepdims=False, corrected=False):
        """Return the variance; see :func:`theano.tensor.var`."""
        return ops.var(self, axis=axis, ddof=ddof, keepdims=keepdims, corrected=corrected)

    def std(self, axis=None, ddof=0, keepdims=False, corrected=False):
        """Return the standard deviation; see :func:`theano.tensor.std`."""
        return ops.std(self, axis=axis, ddof=ddof, keepdims=keepdims, corrected=corrected)

    def min(self, axis=None, keepdims=False):
        """Return the minimum; see :func:`theano.tensor.min`."""
        return ops.min(self, axis, keepdims=keepdims)

    def max(self, axis=None, keepdims=False):
        """Return the maximum; see :func:`theano.tensor.max`."""
        return ops.max(self, axis, keepdims=keepdims)

    def argmin(self, axis=None, keepdims=False):
        """Return the index of the minimum; see :func:`theano.tensor.argmin`."""
        return ops.argmin(self, axis, keepdims=keepdims)

    def argmax(self, axis=None, keepdims=False):
        """Return the index of the maximum; see :func:`theano.tensor.argmax`."""
        return ops.argmax(self, axis, keepdims=keepdims)

    def nonzero(self, return_matrix=False):
        """Return the indices of the true elements; see :func:`theano.tensor.nonzero`."""
        return ops.nonzero(self, return_matrix=return_matrix)

    def nonzero_values(self):
        """Return the elements that are not zero, as a vector."""
        return ops.nonzero_values(self)

    def sort(self, axis=-1, kind="quicksort", order=None):
        """Return the elements sorted; see :func:`theano.tensor.sort`."""
        return ops.sort(self, axis, kind, order)

    def argsort(self, axis=-1, kind="quicksort", order=None):
        """Return the indices that sort the elements; see :func:`theano.tensor.argsort`."""
        return ops.argsort(self, axis, kind, order)

    def clip(self, a_min, a_max):
        """Return the elements forced into an interval."""
        return ops.clip(self, a_min, a_max)

    def conj(self):
        """Return the complex conjugate."""
        return ops.conj(self)

    conjugate = conj

    def repeat(self, repeats, axis=None):
        """Return the elements repeated; see :func:`theano.tensor.repeat`."""
        return ops.repeat(self, repeats, axis)

    def round(self, mode=None):
        """Return the elements rounded; see :func:`theano.tensor.round`."""
        return ops.round(self, mode)

    def trace(self):
        """Return the sum of the diagonal."""
        return ops.extract_diag(self).sum()

    def get_scalar_constant_value(self):
        """Return the one constant value that all elements have; see :func:`theano.tensor.get_scalar_constant_value`."""
        return ops.get_scalar_constant_value(self)

    def zeros_like(self, dtype=None):
        """Return zeros of the shape of this."""
        return ops.zeros_like(self, dtype=dtype)

    def ones_like(self, dtype=None):
        """Return ones of the shape of this."""
        return ops.ones_like(self, dtype=dtype)

    def cumsum(self, axis=None):
        """Return running sums."""
        return ops.cumsum(self, axis)

    def cumprod(self, axis=None):
        """Return running products."""
        return ops.cumprod(self, axis)

    def searchsorted(self, v, side="left", sorter=None):
        """Return where `v` would be inserted; see :func:`theano.tensor.searchsorted`."""
        return ops.searchsorted(self, v, side, sorter)

    def ptp(self, axis=None):
        """Return the maximum less the minimum."""
        return ops.ptp(self, axis)

    def swapaxes(self, axis1, axis2):
        """Return a view with two dimensions exchanged."""
        return ops.swapaxes(self, axis1, axis2)

    def transpose(self, *axes):
        """Return a view with dimensions permuted, reversed by default; one sequence is taken as all `axes`."""
        if len(axes) == 0:
            return ops.transpose(self)
        if len(axes) == 1 and isinstance(axes[0], Iterable):
            axes = axes[0]
        return ops.transpose(self, axes)

    def fill(self, value):
        """Return an array of the shape of this, filled with `value`."""
        return ops.fill(self, value)

    def choose(self, choices, out=None, mode="raise"):
        """Return elements of `choices`, this being the indices; see :func:`theano.tensor.choose`."""
        return ops.choose(self, choices, out=out, mode=mode)

    def squeeze(self):
        """Return a view without the broadcastable dimensions."""
        return ops.squeeze(self)

    def compress(self, a, axis=None):
        """Return the slices of `a` that this, the condition, selects."""
        return ops.compress(self, a, axis=axis)


class TensorVariable(_tensor_py_operators, Variable):
    """A tensor that an expression stands for or that will be given.

    Parameters
    ----------
    type : TensorType
        Its dtype and which dimensions broadcast.
    owner : Apply, optional
        The node that computes it.
    index : int, optional
        Which output of the node it is.
    name : str, optional
        What it is called when it is printed.

    See Also
    --------
    theano.tensor.TensorSharedVariable : An array that functions share and update.
    theano.tensor.TensorConstant : A known array.
    theano.sparse.SparseType : The type of sparse matrices of SciPy, of one format and dtype.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dvector("x")
    >>> y = (x ** 2).sum()
    >>> type(x) is TensorVariable, x.owner is None, y.owner.op
    (True, True, Sum{acc_dtype=float64})
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
        new.tag = copy_tag(self.tag)
        new.type = self.type
        new.owner = new.index = None
        new.name = self.name
        new._number = next(new.__count__)
        if _observers:
            Variable.notify_construction_observers(new)
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

    See Also
    --------
    theano.tensor.TensorConstant : A known array.

    Examples
    --------
    >>> import theano.tensor as T
    >>> a, b, c = T.constant([1.0, 2.0]), T.constant([1.0, 2.0]), T.constant([1.0, 3.0])
    >>> a is b, a.signature() == b.signature(), a.signature() == c.signature()
    (False, True, False)
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
        Its dtype and which dimensions broadcast.
    data : ndarray
        The value.
    name : str, optional
        What it is called when it is printed.

    See Also
    --------
    theano.tensor.TensorVariable : A tensor that an expression stands for or that will be given.
    theano.tensor.TensorSharedVariable : An array that functions share and update.
    theano.tensor.TensorConstantSignature : A constant's type and value, equal for constants that may be merged.

    Examples
    --------
    >>> import theano.tensor as T
    >>> two = T.constant(2.0)
    >>> type(two) is TensorConstant, two.data.tolist(), two.type
    (True, 2.0, TensorType(float32, scalar))
    """

    def __init__(self, type, data, name=None):
        Constant.__init__(self, type, data, name)
        self.tag.unique_value = None
        data = self.data
        if not isinstance(data, np.ndarray):
            return
        if data.ndim == 0:
            self.number = data.item()
        elif data.size:
            first = data[(0,) * data.ndim]
            # Most arrays that vary do so at once.
            if data.size == 1:
                same = builtins.bool(first == first)
            else:
                same = np.all(data[(0,) * (data.ndim - 1)][:16] == first) and np.all(data == first)
            if same:
                self.tag.unique_value = first
                self.number = first.item()

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
        new.number = self.number
        new.tag = copy_tag(self.tag)
        return new

    def __copy__(self):
        # The value of a constant never changes, it is not copied.
        new = type(self).__new__(type(self))
        new.__dict__.update(self.__dict__)
        new.__dict__.pop("cached", None)
        return new


show_attributes(TensorConstant, *VARIABLE_ATTRIBUTES, "data", "number", "cached")

TensorType.Variable = TensorVariable
TensorType.Constant = TensorConstant


def equal_slices(s1: slice, s2: slice) -> bool:
    """Return whether two slices have the same bounds and step.

    Parameters
    ----------
    s1, s2 : slice
        The slices.

    See Also
    --------
    theano.tensor.var.SymbolicValueError : Raised where Python asks a symbolic variable for a value.

    Examples
    --------
    >>> equal_slices(slice(1, 5), slice(1, 5)), equal_slices(slice(1, 5), slice(1, 5, 1))
    (True, False)
    """
    return (s1.start, s1.stop, s1.step) == (s2.start, s2.stop, s2.step)


__getattr__, __dir__ = aliases.lazy(__name__)
