"""The documented names of ``theano.tensor.basic``, gathered from the modules in which they live."""

import numpy as _np

from theano import gof
from theano import scalar as scal
from theano.configdefaults import config
from theano.scalar import autocast_float, autocast_float_as, autocast_int
from theano.tensor.choosing import (
    Choose,
    Default,
    Nonzero,
    PermuteRowElements,
    _nonzero,
    choose,
    default,
    flatnonzero,
    inverse_permutation,
    nonzero,
    nonzero_values,
    permute_row_elements,
    register_transfer,
    transfer,
)
from theano.tensor.constructors import (
    bcol,
    bmatrix,
    brow,
    bscalar,
    btensor3,
    btensor4,
    btensor5,
    btensor6,
    btensor7,
    bvector,
    ccol,
    cmatrices,
    cmatrix,
    col,
    cols,
    complex_matrix_types,
    complex_scalar_types,
    complex_types,
    complex_vector_types,
    crow,
    cscalar,
    cscalars,
    ctensor3,
    ctensor4,
    ctensor5,
    ctensor6,
    ctensor7,
    cvector,
    cvectors,
    dcol,
    dcols,
    dmatrices,
    dmatrix,
    drow,
    drows,
    dscalar,
    dscalars,
    dtensor3,
    dtensor3s,
    dtensor4,
    dtensor4s,
    dtensor5,
    dtensor5s,
    dtensor6,
    dtensor6s,
    dtensor7,
    dtensor7s,
    dvector,
    dvectors,
    fcol,
    fcols,
    float_matrix_types,
    float_scalar_types,
    float_types,
    float_vector_types,
    fmatrices,
    fmatrix,
    frow,
    frows,
    fscalar,
    fscalars,
    ftensor3,
    ftensor3s,
    ftensor4,
    ftensor4s,
    ftensor5,
    ftensor5s,
    ftensor6,
    ftensor6s,
    ftensor7,
    ftensor7s,
    fvector,
    fvectors,
    icol,
    icols,
    imatrices,
    imatrix,
    int_matrix_types,
    int_scalar_types,
    int_types,
    int_vector_types,
    irow,
    irows,
    iscalar,
    iscalars,
    itensor3,
    itensor3s,
    itensor4,
    itensor4s,
    itensor5,
    itensor5s,
    itensor6,
    itensor6s,
    itensor7,
    itensor7s,
    ivector,
    ivectors,
    lcol,
    lcols,
    lmatrices,
    lmatrix,
    lrow,
    lrows,
    lscalar,
    lscalars,
    ltensor3,
    ltensor3s,
    ltensor4,
    ltensor4s,
    ltensor5,
    ltensor5s,
    ltensor6,
    ltensor6s,
    ltensor7,
    ltensor7s,
    lvector,
    lvectors,
    matrices,
    matrix,
    row,
    rows,
    scalar,
    scalars,
    tensor,
    tensor3,
    tensor3s,
    tensor4,
    tensor4s,
    tensor5,
    tensor5s,
    tensor6,
    tensor6s,
    tensor7,
    tensor7s,
    vector,
    vectors,
    wcol,
    wmatrix,
    wrow,
    wscalar,
    wtensor3,
    wtensor4,
    wtensor5,
    wtensor6,
    wtensor7,
    wvector,
    zcol,
    zmatrices,
    zmatrix,
    zrow,
    zscalar,
    zscalars,
    ztensor3,
    ztensor4,
    ztensor5,
    ztensor6,
    ztensor7,
    zvector,
    zvectors,
)
from theano.tensor.conversion import (
    EmptyConstantError,
    NotScalarConstantError,
    ShapeError,
    as_tensor,
    as_tensor_variable,
    constant,
    constant_cache,
    constant_or_value,
    extract_constant,
    get_scalar_constant_value,
    get_vector_length,
    numpy_scalar,
)
from theano.tensor.creation import (
    Alloc,
    AllocEmpty,
    ARange,
    Eye,
    Tri,
    alloc,
    alloc_validate_shape,
    arange,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    identity_like,
    mgrid,
    ogrid,
    ones,
    ones_like,
    tri,
    tril,
    triu,
    zeros,
    zeros_like,
)
from theano.tensor.diagonals import AllocDiag, ExtractDiag, alloc_diag, diag, diagonal, extract_diag
from theano.tensor.elemwise import All, Any, CAReduce, CAReduceDtype, DimShuffle, Elemwise, Prod, ProdWithoutZeros, Sum
from theano.tensor.from_scalars import (
    MakeVector,
    ScalarFromTensor,
    TensorFromScalar,
    make_vector,
    scalar_from_tensor,
    tensor_from_scalar,
)
from theano.tensor.joining import (
    Join,
    Split,
    concatenate,
    horizontal_stack,
    join,
    join_,
    split,
    stack,
    stacklists,
    vertical_stack,
)
from theano.tensor.math import (
    _cast_mapping,
    _convert_to_bool,
    _convert_to_complex64,
    _convert_to_complex128,
    _convert_to_float16,
    _convert_to_float32,
    _convert_to_float64,
    _convert_to_int8,
    _convert_to_int16,
    _convert_to_int32,
    _convert_to_int64,
    _convert_to_uint8,
    _convert_to_uint16,
    _convert_to_uint32,
    _convert_to_uint64,
    abs_,
    absolute,
    add,
    all_dtypes,
    allclose,
    and_,
    angle,
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    around,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    cast,
    ceil,
    ceil_intdiv,
    chi2sf,
    clip,
    complex,
    complex_dtypes,
    complex_from_polar,
    conj,
    conjugate,
    continuous_dtypes,
    cos,
    cosh,
    deg2rad,
    discrete_dtypes,
    div_proxy,
    divmod,
    eq,
    erf,
    erfc,
    erfcinv,
    erfcx,
    erfinv,
    exp,
    exp2,
    expm1,
    fill,
    float_dtypes,
    floor,
    floor_div,
    gamma,
    gammainc,
    gammaincc,
    gammal,
    gammaln,
    gammau,
    ge,
    gt,
    i0,
    i1,
    imag,
    int_div,
    int_dtypes,
    intdiv,
    integer_dtypes,
    inv,
    invert,
    iround,
    isclose,
    isinf,
    isinf_,
    isnan,
    isnan_,
    iv,
    j0,
    j1,
    jv,
    largest,
    le,
    log,
    log1p,
    log2,
    log10,
    lt,
    maximum,
    minimum,
    mod,
    mod_check,
    mul,
    neg,
    neq,
    or_,
    pow,
    power,
    psi,
    rad2deg,
    real,
    reciprocal,
    round,
    round_half_away_from_zero,
    round_half_to_even,
    second,
    sgn,
    sign,
    sin,
    sinh,
    smallest,
    sqr,
    sqrt,
    square,
    sub,
    switch,
    tan,
    tanh,
    tensor_copy,
    tri_gamma,
    true_div,
    truediv,
    trunc,
    uint_dtypes,
    where,
    xor,
)
from theano.tensor.products import (
    Dot,
    _dot,
    batched_dot,
    batched_tensordot,
    cov,
    dot,
    matmul,
    outer,
    tensordot,
)
from theano.tensor.reduction import (
    Argmax,
    MaxAndArgmax,
    Mean,
    all,
    any,
    argmax,
    argmin,
    makeKeepDims,
    max,
    max_and_argmax,
    mean,
    min,
    norm,
    normalize_axes,
    prod,
    ptp,
    std,
    sum,
    var,
)
from theano.tensor.shaping import (
    Flatten,
    Rebroadcast,
    Reshape,
    Shape,
    SpecifyShape,
    Tile,
    addbroadcast,
    atleast_Nd,
    expand_dims,
    flatten,
    is_flat,
    moveaxis,
    patternbroadcast,
    reshape,
    roll,
    shape,
    shape_i,
    shape_padaxis,
    shape_padleft,
    shape_padright,
    specify_shape,
    swapaxes,
    tile,
    transpose,
    unbroadcast,
)
from theano.tensor.type import (
    TensorType,
    _allclose,
    tolerance_between,
    values_eq_approx_always_true,
    values_eq_approx_remove_inf,
    values_eq_approx_remove_inf_nan,
    values_eq_approx_remove_nan,
)
from theano.tensor.type import ops as _ops
from theano.tensor.type import tolerance_of as _tolerance_of
from theano.tensor.var import (
    AsTensorError,
    TensorConstant,
    TensorConstantSignature,
    TensorVariable,
    _tensor_py_operators,
)

Tensor = TensorType

# How far apart values may be that count as equal but for rounding; programs may assign other numbers.
float16_rtol, float16_atol = 5e-3, 1e-3
float32_rtol, float32_atol = 1e-5, 1e-5
float64_rtol, float64_atol = 1e-5, 1e-8


#: Functions that make tensors, as programs marked theirs.
_constructors: list = []
# Whether `numpy.diagonal` returns a view: each NumPy of today does.
numpy_diagonal_return_view = True
setdefault = default


@_tolerance_of.fill
def _tolerance(dtype):
    return globals()[f"{dtype}_rtol"], globals()[f"{dtype}_atol"]


def _get_atol_rtol(a, b):
    """Return the absolute and the relative tolerance with which two arrays are compared: by the less precise dtype."""
    rtol, atol = tolerance_between(a, b)
    return atol, rtol


def constructor(f):
    """Mark a function as one that makes tensors; it is returned as it is.

    Parameters
    ----------
    f : callable
        The function.

    Returns
    -------
    callable
        The function `f`.

    See Also
    --------
    theano.tensor.TensorType : The type of variables whose values are NumPy arrays of one dtype and rank.
    theano.tensor.tensor : Return a variable of ``TensorType(*args, **kwargs)``; the keyword ``name`` names it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.constructor(len) is len
    True
    """
    _constructors.append(f)
    return f


def check_and_normalize_axes(x, axis):
    """Return the axes of a tensor that `axis` stands for, as a sorted list of integers from 0; empty for None.

    Parameters
    ----------
    x : tensor_like
        The tensor whose axes they are.
    axis : int, sequence of int, constant or None
        Counted from the end where negative.

    Returns
    -------
    list of int
        Between 0 and the number of dimensions.

    Raises
    ------
    TypeError
        If an axis is no constant integer.
    ValueError
        If an axis is out of bounds.

    See Also
    --------
    theano.tensor.normalize_axes : Return the sorted, non-negative axes that `axis` stands for in a tensor of `ndim`
        dimensions.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.check_and_normalize_axes(T.dmatrix(), -1)
    [1]
    """
    if axis is None or (isinstance(axis, gof.Constant) and axis.data is None):
        return []
    return list(normalize_axes(axis, as_tensor_variable(x).type.ndim))


def check_equal_numpy(x, y):
    """Return whether two values are equal: arrays of the same dtype and shape up to 1e-10, generators by their states.

    Parameters
    ----------
    x, y : ndarray or RandomState
        The values.

    Returns
    -------
    bool
        Whether they are equal.

    See Also
    --------
    theano.tensor.values_eq_approx_always_true : Return True, for outputs that may differ from run to run.
    theano.compile.check_equal : Return whether two values are equal, for scalars and for arrays alike.

    Examples
    --------
    >>> import numpy as np
    >>> import theano.tensor as T
    >>> T.check_equal_numpy(np.zeros(2), np.zeros(2)), T.check_equal_numpy(np.zeros(2), np.zeros(2, "float32"))
    (True, False)
    """
    if isinstance(x, _np.ndarray) and isinstance(y, _np.ndarray):
        return x.dtype == y.dtype and x.shape == y.shape and bool(_np.all(_np.abs(x - y) < 1e-10))
    if isinstance(x, _np.random.RandomState) and isinstance(y, _np.random.RandomState):
        states = zip(x.get_state(), y.get_state(), strict=True)
        return bool(_np.all([_np.array_equal(a, b) for a, b in states]))
    return x == y


_ops.gather(globals())
