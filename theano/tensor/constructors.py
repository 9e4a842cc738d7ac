"""Constructors of symbolic tensor variables: ``scalar``, ``vector``, ``dmatrix``, ``fvectors`` and their kin.

Names are made of a dtype letter and a shape word: ``b`` int8, ``w`` int16, ``i`` int32, ``l`` int64, ``f`` float32,
``d`` float64, ``c`` complex64, ``z`` complex128. Without a letter the dtype is an argument, ``config.floatX`` by
default. The lettered names are :class:`TensorType` instances; calling one makes a variable.
"""

from __future__ import annotations

from typing import Any

from theano.configdefaults import config
from theano.tensor.type import TensorType, tensor_type

_PATTERNS: dict[str, tuple[bool, ...]] = {
    "scalar": (),
    "vector": (False,),
    "matrix": (False, False),
    "row": (True, False),
    "col": (False, True),
    "tensor3": (False,) * 3,
    "tensor4": (False,) * 4,
    "tensor5": (False,) * 5,
    "tensor6": (False,) * 6,
    "tensor7": (False,) * 7,
}
_LETTERS = {
    "b": "int8",
    "w": "int16",
    "i": "int32",
    "l": "int64",
    "f": "float32",
    "d": "float64",
    "c": "complex64",
    "z": "complex128",
}


def _of_each_dtype(word: str) -> list[TensorType]:
    return [tensor_type(dtype, _PATTERNS[word]) for dtype in _LETTERS.values()]


bscalar, wscalar, iscalar, lscalar, fscalar, dscalar, cscalar, zscalar = _of_each_dtype("scalar")
bvector, wvector, ivector, lvector, fvector, dvector, cvector, zvector = _of_each_dtype("vector")
bmatrix, wmatrix, imatrix, lmatrix, fmatrix, dmatrix, cmatrix, zmatrix = _of_each_dtype("matrix")
brow, wrow, irow, lrow, frow, drow, crow, zrow = _of_each_dtype("row")
bcol, wcol, icol, lcol, fcol, dcol, ccol, zcol = _of_each_dtype("col")
btensor3, wtensor3, itensor3, ltensor3, ftensor3, dtensor3, ctensor3, ztensor3 = _of_each_dtype("tensor3")
btensor4, wtensor4, itensor4, ltensor4, ftensor4, dtensor4, ctensor4, ztensor4 = _of_each_dtype("tensor4")
btensor5, wtensor5, itensor5, ltensor5, ftensor5, dtensor5, ctensor5, ztensor5 = _of_each_dtype("tensor5")
btensor6, wtensor6, itensor6, ltensor6, ftensor6, dtensor6, ctensor6, ztensor6 = _of_each_dtype("tensor6")
btensor7, wtensor7, itensor7, ltensor7, ftensor7, dtensor7, ctensor7, ztensor7 = _of_each_dtype("tensor7")


def _maker(word: str, what: str) -> Any:
    """The function that makes a variable of a shape."""

    def make(name: str | None = None, dtype: str | None = None) -> Any:
        return tensor_type(config.floatX if dtype is None else dtype, _PATTERNS[word])(name)

    make.__name__ = make.__qualname__ = word
    make.__doc__ = f"""Return {what}, of dtype ``config.floatX`` by default.

    Parameters
    ----------
    name : str, optional
        The name of the variable.
    dtype : str, optional
        The name of the dtype.

    Returns
    -------
    TensorVariable

    See Also
    --------
    theano.tensor.tensor : Return a variable of ``TensorType(*args, **kwargs)``; the keyword ``name`` names it.
    theano.tensor.TensorType : The type of variables whose values are NumPy arrays of one dtype and rank.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.{word}("x", dtype="float32").dtype
    'float32'
    """
    return make


scalar = _maker("scalar", "a symbolic 0-dimensional variable")
vector = _maker("vector", "a symbolic vector")
matrix = _maker("matrix", "a symbolic matrix")
row = _maker("row", "a symbolic row: a matrix whose number of rows is 1 and broadcasts")
col = _maker("col", "a symbolic column: a matrix whose number of columns is 1 and broadcasts")
tensor3 = _maker("tensor3", "a symbolic 3-dimensional variable")
tensor4 = _maker("tensor4", "a symbolic 4-dimensional variable")
tensor5 = _maker("tensor5", "a symbolic 5-dimensional variable")
tensor6 = _maker("tensor6", "a symbolic 6-dimensional variable")
tensor7 = _maker("tensor7", "a symbolic 7-dimensional variable")


def tensor(*args: Any, **kwargs: Any):
    """Return a variable of ``TensorType(*args, **kwargs)``; the keyword ``name`` names it.

    Parameters
    ----------
    *args
        For :class:`TensorType`: the dtype and the broadcast pattern.
    **kwargs
        For :class:`TensorType`, and ``name``.

    Returns
    -------
    TensorVariable
        The variable.

    See Also
    --------
    theano.tensor.constructor : Mark a function as one that makes tensors; it is returned as it is.
    theano.tensor.TensorType : The type of variables whose values are NumPy arrays of one dtype and rank.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.tensor('float64', (False, True), name='x').type
    TensorType(float64, col)
    """
    name = kwargs.pop("name", None)
    return TensorType(*args, **kwargs)(name=name)


class _Plural:
    """Make several variables at once: ``maker(3)``, ``maker('x', 'y', 'z')`` or ``maker('xyz')``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y = T.dmatrices("x", "y")
    >>> a, b, c = T.dscalars(3)
    """

    def __init__(self, maker: Any) -> None:
        self.maker = maker

    def __call__(self, *names: Any):
        if len(names) == 1:
            if isinstance(names[0], int):
                return [self.maker() for _ in range(names[0])]
            names = tuple(names[0])
        if not names:
            raise ValueError("give at least one name, or the number of variables to make")
        made = [self.maker(name) for name in names]
        return made[0] if len(made) == 1 else made


scalars, vectors, matrices, rows, cols = map(_Plural, (scalar, vector, matrix, row, col))
tensor3s, tensor4s, tensor5s, tensor6s, tensor7s = map(_Plural, (tensor3, tensor4, tensor5, tensor6, tensor7))

iscalars, lscalars, fscalars, dscalars, cscalars, zscalars = map(
    _Plural, (iscalar, lscalar, fscalar, dscalar, cscalar, zscalar)
)
ivectors, lvectors, fvectors, dvectors, cvectors, zvectors = map(
    _Plural, (ivector, lvector, fvector, dvector, cvector, zvector)
)
imatrices, lmatrices, fmatrices, dmatrices, cmatrices, zmatrices = map(
    _Plural, (imatrix, lmatrix, fmatrix, dmatrix, cmatrix, zmatrix)
)
irows, lrows, frows, drows = map(_Plural, (irow, lrow, frow, drow))
icols, lcols, fcols, dcols = map(_Plural, (icol, lcol, fcol, dcol))
itensor3s, ltensor3s, ftensor3s, dtensor3s = map(_Plural, (itensor3, ltensor3, ftensor3, dtensor3))
itensor4s, ltensor4s, ftensor4s, dtensor4s = map(_Plural, (itensor4, ltensor4, ftensor4, dtensor4))
itensor5s, ltensor5s, ftensor5s, dtensor5s = map(_Plural, (itensor5, ltensor5, ftensor5, dtensor5))
itensor6s, ltensor6s, ftensor6s, dtensor6s = map(_Plural, (itensor6, ltensor6, ftensor6, dtensor6))
itensor7s, ltensor7s, ftensor7s, dtensor7s = map(_Plural, (itensor7, ltensor7, ftensor7, dtensor7))

int_types = bscalar, wscalar, iscalar, lscalar
float_types = fscalar, dscalar
complex_types = cscalar, zscalar
int_scalar_types = int_types
float_scalar_types = float_types
complex_scalar_types = complex_types
int_vector_types = bvector, wvector, ivector, lvector
float_vector_types = fvector, dvector
complex_vector_types = cvector, zvector
int_matrix_types = bmatrix, wmatrix, imatrix, lmatrix
float_matrix_types = fmatrix, dmatrix
complex_matrix_types = cmatrix, zmatrix
