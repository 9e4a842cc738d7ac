"""The type of sparse matrices: :class:`SparseType`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from theano import aliases
from theano import scalar as scal
from theano.configdefaults import config
from theano.gof.hooks import Operations
from theano.gof.type import Type
from theano.misc.may_share_memory import may_share_memory
from theano.tensor.type import TensorType

#: All operations on sparse matrices, for the variables' operators and for each other's gradients.
ops = Operations()

int_dtypes = ["int8", "int16", "int32", "int64"]
uint_dtypes = ["uint8", "uint16", "uint32", "uint64"]
integer_dtypes = int_dtypes + uint_dtypes
float_dtypes = ["float32", "float64"]
complex_dtypes = ["complex64", "complex128"]
discrete_dtypes = int_dtypes + uint_dtypes
continuous_dtypes = float_dtypes + complex_dtypes
all_dtypes = set(discrete_dtypes + continuous_dtypes)

#: SciPy is one of the package's requirements.
imported_scipy = True
string_types = (str,)

#: The formats that all operations know.
sparse_formats = ["csc", "csr"]

_CLASSES: dict[str, Any] = {
    "csr": scipy.sparse.csr_matrix,
    "csc": scipy.sparse.csc_matrix,
    "bsr": scipy.sparse.bsr_matrix,
}


class SparseType(Type):
    """The type of sparse matrices of SciPy, of one format and dtype.

    Parameters
    ----------
    format : {'csr', 'csc', 'bsr'}
        How the stored values are arranged: by rows, by columns, or by blocks, which few operations know.
    dtype : str
        Name of the element type, or ``'floatX'`` for the configured one.

    Raises
    ------
    TypeError
        If there is no sparse matrix of the dtype.
    ValueError
        If the format is another one.

    See Also
    --------
    theano.tensor.TensorType : The type of variables whose values are NumPy arrays of one dtype and rank.
    theano.tensor.TensorVariable : A tensor that an expression stands for or that will be given.
    theano.sparse.shared : Return a shared variable for a sparse matrix of SciPy.

    Examples
    --------
    >>> SparseType("csr", "float32")
    Sparse[float32, csr]
    >>> x = SparseType("csc", "int64")("x")
    """

    __props__ = ("format", "dtype")
    dtype_set = all_dtypes
    format_cls = _CLASSES
    ndim = 2
    broadcastable = (False, False)

    def __init__(self, format: str, dtype: Any) -> None:
        dtype = config.floatX if dtype == "floatX" else str(np.dtype(dtype)) if not isinstance(dtype, str) else dtype
        if dtype not in self.dtype_set:
            raise TypeError(f"unsupported dtype {dtype!r} of a sparse matrix, one of {sorted(self.dtype_set)} is needed")
        if not isinstance(format, str) or format not in self.format_cls:
            raise ValueError(f"unsupported format {format!r} of a sparse matrix, one of {sorted(self.format_cls)} is needed")
        self.dtype = dtype
        self.format = format

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Return `value` as a sparse matrix of this format and dtype.

        Parameters
        ----------
        value : sparse matrix or array of SciPy, or matrix_like
            A sparse array (``csr_array``) becomes the matrix over the same memory.
        strict : bool
            Whether only a matrix that is a value already is accepted, as it is.
        allow_downcast : bool, optional
            Whether numbers may lose precision.

        Raises
        ------
        TypeError
            If `value` is a Variable, is no matrix, or may not be converted.
        """
        cls = self.format_cls[self.format]
        if isinstance(value, cls) and value.dtype == self.dtype:
            return value
        if strict:
            raise TypeError(f"{self} expected a {cls.__name__} of dtype {self.dtype}, got {_described(value)}")
        if hasattr(value, "owner") and hasattr(value, "type"):
            raise TypeError(
                "Expected a sparse matrix, but found a Variable: maybe you are trying to call a function on a"
                " (possibly shared) variable instead of a value?"
            )
        if scipy.sparse.issparse(value):
            if value.ndim != 2:
                raise TypeError(f"{self} expected a matrix, got {_described(value)}")
            made = as_matrix(value.asformat(self.format))
        else:
            array = np.asarray(value)
            if array.dtype.kind not in "biufc" or array.ndim > 2:
                raise TypeError(f"{self} expected a sparse matrix, got {_described(value)}")
            made = cls(array)
        if made.dtype == self.dtype:
            return made
        if allow_downcast or scal.upcast(self.dtype, made.dtype.name) == self.dtype:
            return made.astype(self.dtype)
        raise TypeError(
            f"{self} cannot store a value of dtype {made.dtype} without risking loss of precision. If you do not mind"
            f' this loss, cast it to {self.dtype}, or set "allow_input_downcast=True" when calling "function".'
        )

    def filter_variable(self, other: Any, allow_convert: bool = True) -> Any:
        """Return a variable of this type that has the value of `other`."""
        if not hasattr(other, "owner") and not hasattr(other, "type"):
            other = self.Constant(type=self, data=self.filter(other))
        return super().filter_variable(other, allow_convert)

    def convert_variable(self, var: Any) -> Any:
        """Return a dense matrix of the same dtype in this format, else None."""
        if isinstance(var.type, TensorType) and var.type.ndim == 2 and var.type.dtype == self.dtype:
            if self.format in sparse_formats:
                return ops.SparseFromDense(self.format)(var)
        return None

    def value_validity_msg(self, a: Any) -> str:
        """Return why `a` is not a value of this type."""
        try:
            self.filter(a, strict=True)
        except Exception as error:
            return str(error)
        return "value is valid"

    def make_variable(self, name: str | None = None) -> Any:
        """Return a new variable of this type."""
        return self.Variable(self, name=name)

    @staticmethod
    def may_share_memory(a: Any, b: Any) -> bool:
        """Return whether two values, sparse matrices or arrays, may have memory in common."""
        return may_share_memory(a, b, raise_other_type=False)

    @staticmethod
    def values_eq(a: Any, b: Any) -> bool:
        """Return whether two sparse matrices have the same format, dtype, shape and elements, NaN equal to NaN."""
        return _alike(a, b) and all(map(TensorType.values_eq, *_common_values(a, b)))

    @staticmethod
    def values_eq_approx(a: Any, b: Any, **options: Any) -> bool:
        """Return whether two sparse matrices are equal but for rounding; see `TensorType.values_eq_approx`."""
        if not _alike(a, b):
            return False
        ours, theirs = _common_values(a, b)
        return all(TensorType.values_eq_approx(x, y, **options) for x, y in zip(ours, theirs))

    def get_shape_info(self, obj: Any) -> Any:
        """Return what :meth:`get_size` needs of a value: the bytes that each of its arrays takes."""
        return tuple(getattr(obj, part).nbytes for part in ("data", "indices", "indptr"))

    def get_size(self, shape_info: Any) -> int:
        """Return the bytes that a value takes."""
        return int(sum(shape_info))

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other)
            and other.dtype == self.dtype  # type: ignore[attr-defined]
            and other.format == self.format  # type: ignore[attr-defined]
        )

    def __hash__(self) -> int:
        return hash((type(self), self.dtype, self.format))

    def __str__(self) -> str:
        return f"Sparse[{self.dtype}, {self.format}]"

    __repr__ = __str__


def _described(value: Any) -> str:
    kind = type(value).__name__
    return f"{kind} of dtype {value.dtype}" if hasattr(value, "dtype") else f"{kind}: {str(value)[:80]}"


def as_matrix(value: Any) -> Any:
    """Return a sparse array of SciPy as the matrix over the same memory; a matrix as it is."""
    if isinstance(value, scipy.sparse.sparray):
        cls = _CLASSES[value.format]
        made = cls((value.data, value.indices, value.indptr), shape=value.shape, copy=False)
        if value.format != "bsr" and not value.has_sorted_indices:
            made.has_sorted_indices = False
        return made
    return value


def _alike(a: Any, b: Any) -> bool:
    both = scipy.sparse.issparse(a) and scipy.sparse.issparse(b)
    return both and a.format == b.format and a.dtype == b.dtype and a.shape == b.shape


def _common_values(a: Any, b: Any) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The elements of two matrices at all places where one of them stores any."""
    places, values = [], []
    for m in (a, b):
        coo = m.tocoo(copy=True)
        coo.sum_duplicates()
        places.append(coo.row.astype("int64") * m.shape[1] + coo.col)
        values.append(coo.data)
    everywhere = np.union1d(*places)
    found = []
    for place, value in zip(places, values):
        full = np.zeros(everywhere.shape, dtype=value.dtype)
        full[np.searchsorted(everywhere, place)] = value
        found.append([full])
    return found[0], found[1]


__getattr__, __dir__ = aliases.lazy(__name__)
