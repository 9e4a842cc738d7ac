"""NumPy's functions on tensor variables: each builds the node of the same meaning, or says that there is none.

Source: NumPy enhancement proposals 13 (``__array_ufunc__``) and 18 (``__array_function__``).
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import numpy as np

from theano.tensor.type import ops
from theano.tensor.var import _tensor_py_operators

#: NumPy's ufuncs and the operations of other names that compute them.
UFUNCS = {
    "absolute": "abs_",
    "bitwise_and": "and_",
    "bitwise_or": "or_",
    "bitwise_xor": "xor",
    "conjugate": "conj",
    "degrees": "rad2deg",
    "divide": "true_div",
    "equal": "eq",
    "floor_divide": "floor_div",
    "greater": "gt",
    "greater_equal": "ge",
    "isinf": "isinf",
    "isnan": "isnan",
    "less": "lt",
    "less_equal": "le",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "neq",
    "power": "pow",
    "radians": "deg2rad",
    "reciprocal": "inv",
    "remainder": "mod_check",
    "rint": "round_half_to_even",
    "sign": "sgn",
    "square": "sqr",
    "subtract": "sub",
}

# Under the names that they have in NumPy and SciPy.
_SAME_UFUNCS = (
    "add arccos arccosh arcsin arcsinh arctan arctan2 arctanh ceil cos cosh deg2rad divmod erf erfc erfcinv erfcx erfinv"
    " exp exp2 expm1 floor gamma gammainc gammaincc gammaln i0 i1 invert iv j0 j1 jv log log10 log1p log2 matmul"
    " maximum minimum psi rad2deg sin sinh sqrt tan tanh trunc"
)
SAME_UFUNCS = frozenset(_SAME_UFUNCS.split())

#: An array leaves a comparison with a variable to it, which reads it from its side.
REFLECTED = {"less": "gt", "less_equal": "ge", "greater": "lt", "greater_equal": "le"}

#: The reductions that ``ufunc.reduce`` are.
REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}

# NumPy's functions: the module of the counterpart where it is not `theano.tensor`, its name where it is another, and NumPy's
# parameters in the counterpart's order. Those after the second have the same names in both.
_FUNCTIONS = """
    all: a axis keepdims
    allclose: a b rtol atol equal_nan
    amax = max: a axis keepdims
    amin = min: a axis keepdims
    angle: z
    any: a axis keepdims
    argmax: a axis keepdims
    argmin: a axis keepdims
    argsort: a axis kind order
    around = round_half_to_even: a
    bincount: x weights minlength
    choose: a choices out mode
    clip: a a_min a_max
    compress = theano.tensor.extra_ops.compress: condition a axis
    concatenate: arrays axis
    cov: m y rowvar bias ddof fweights aweights
    cumprod: a axis
    cumsum: a axis
    diag: v k
    diagonal: a offset axis1 axis2
    diff: a n axis
    dot: a b
    expand_dims: a axis
    flatnonzero: a
    full_like: a fill_value dtype
    imag: val
    isclose: a b rtol atol equal_nan
    max: a axis keepdims
    mean: a axis dtype keepdims
    min: a axis keepdims
    nonzero: a
    ones_like: a dtype
    outer: a b
    prod: a axis dtype keepdims
    ptp: a axis
    ravel = flatten: a
    real: val
    repeat: a repeats axis
    reshape: a shape
    roll: a shift axis
    round = round_half_to_even: a
    searchsorted: a v side sorter
    shape: a
    sort: a axis kind order
    squeeze: a
    stack: arrays axis
    std: a axis ddof keepdims
    sum: a axis dtype keepdims
    swapaxes: a axis1 axis2
    take: a indices axis mode
    tensordot: a b axes
    tile: A reps
    trace = theano.tensor.nlinalg.trace: a
    transpose: a axes
    tril: m k
    triu: m k
    var: a axis ddof keepdims
    where: condition x y
    zeros_like: a dtype
    linalg.cholesky = theano.tensor.slinalg.cholesky: a
    linalg.det = theano.tensor.nlinalg.det: a
    linalg.eigh = theano.tensor.nlinalg.eigh: a UPLO
    linalg.inv = theano.tensor.nlinalg.matrix_inverse: a
    linalg.matrix_power = theano.tensor.nlinalg.matrix_power: a n
    linalg.pinv = theano.tensor.nlinalg.pinv: a
    linalg.qr = theano.tensor.nlinalg.qr: a mode
    linalg.solve = theano.tensor.slinalg.solve: a b
    linalg.svd = theano.tensor.nlinalg.svd: a full_matrices compute_uv
"""


def _table() -> dict[str, tuple[str, tuple[str, ...]]]:
    rows = {}
    for line in _FUNCTIONS.strip().splitlines():
        names, parameters = line.split(":")
        name, _, ours = (part.strip() for part in names.partition("="))
        rows[name] = ours or name, tuple(parameters.split())
    return rows


#: By the name below ``numpy.``: the counterpart's name and NumPy's parameters in its order.
FUNCTIONS = _table()

# What NumPy's functions mean for other ranks than these is not what the counterparts compute.
_RANKS = {"cov": 2, "trace": 2, "tril": 2, "triu": 2}


def _as_items(*variables: Any) -> Any:
    # How programs take one variable or several: what comes back is iterated, its elements are the variables given.
    found = [np.atleast_1d(_whole(v) if isinstance(v, _tensor_py_operators) else v) for v in variables]
    return found[0] if len(found) == 1 else tuple(found)


def _no_counterpart(name: str) -> TypeError:
    return TypeError(
        f"{name} knows the values of arrays only, not symbolic variables: look for an operation of theano.tensor,"
        " or compile a function and apply it to what that returns."
    )


def _logical(name: str, inputs: tuple) -> Any:
    truths = [x if x.dtype == "bool" else ops.neq(x, 0) for x in map(ops.as_tensor_variable, inputs)]
    return {"logical_and": ops.and_, "logical_or": ops.or_, "logical_xor": ops.xor, "logical_not": ops.invert}[name](*truths)


def _whole(variable: Any) -> np.ndarray:
    array = np.empty((), object)
    array[()] = variable
    return array


def array_ufunc(variable: Any, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
    """Return the node that a ufunc of NumPy or SciPy stands for; the protocol's ``__array_ufunc__``.

    Parameters
    ----------
    variable : TensorVariable
        The variable that NumPy asked.
    ufunc : numpy.ufunc
    method : str
        ``'__call__'`` or ``'reduce'``.
    *inputs
        What the ufunc was called with.
    out : tuple, optional
        The first input itself, as ``array += variable`` gives it, which binds the array's name to the variable that this
        returns. The array itself is not changed.
    **kwargs
        ``axis`` and ``keepdims`` of reductions.

    Raises
    ------
    TypeError
        If there is no such operation on symbolic variables, or another array is given for the result.

    Examples
    --------
    >>> import numpy as np
    >>> import theano.tensor as T
    >>> np.exp(T.dvector("x")).owner.op
    Elemwise{exp,no_inplace}
    """
    name = ufunc.__name__
    if any(isinstance(x, np.ndarray) and x.dtype.hasobject for x in inputs):
        # Element by element, with the variable as a whole.
        return getattr(ufunc, method)(*[_whole(x) if isinstance(x, _tensor_py_operators) else x for x in inputs], **kwargs)
    if out is not None and not (len(inputs) == 2 and out[0] is inputs[0]):
        raise TypeError(f"numpy.{name} of a symbolic variable computes no values that could be put into `out`.")
    if method == "__call__" and not kwargs:
        if name.startswith("logical_"):
            return _logical(name, inputs)
        if name == "positive":
            return variable
        if name == "isfinite":
            return ops.invert(ops.or_(ops.isnan(variable), ops.isinf(variable)))
        if name in REFLECTED and not isinstance(inputs[0], _tensor_py_operators):
            result = getattr(ops, REFLECTED[name])(*reversed(inputs))
        elif name in UFUNCS or name in SAME_UFUNCS:
            result = getattr(ops, UFUNCS.get(name, name))(*inputs)
        else:
            raise _no_counterpart(f"numpy.{name}")
        if name in REFLECTED:
            result._is_nonzero = False
        return result
    if method == "reduce" and name in REDUCTIONS and not kwargs.keys() - {"axis", "keepdims"}:
        axis = kwargs.pop("axis", 0)
        return getattr(ops, REDUCTIONS[name])(*inputs, axis=axis, **kwargs)
    called = "" if method == "__call__" else f".{method}"
    given = f" with {', '.join(kwargs)}" if kwargs else ""
    raise _no_counterpart(f"numpy.{name}{called}{given}")


# Facts that NumPy asks of arrays, which are known of a variable.
_FACTS = {
    "ndim": lambda a: a.ndim,
    "size": lambda a: a.size,
    "iscomplexobj": lambda a: a.dtype.startswith("complex"),
    "isrealobj": lambda a: not a.dtype.startswith("complex"),
    "atleast_1d": _as_items,
}


def array_function(function: Any, args: tuple, kwargs: dict) -> Any:
    """Return the node that a function of NumPy stands for; the protocol's ``__array_function__``.

    Parameters
    ----------
    function : callable
        The function of NumPy.
    args, kwargs
        What it was called with.

    Raises
    ------
    TypeError
        If there is no such operation on symbolic variables, or it knows an argument not.

    Examples
    --------
    >>> import numpy as np
    >>> import theano.tensor as T
    >>> np.concatenate([T.dvector("x"), np.ones(3)]).type
    TensorType(float64, vector)
    """
    name = f"{function.__module__}.{function.__name__}".removeprefix("numpy.")
    if name in _FACTS:
        return _FACTS[name](*args, **kwargs)
    if name not in FUNCTIONS:
        raise _no_counterpart(f"numpy.{name}")
    ours, parameters = FUNCTIONS[name]
    if name in _RANKS and ops.as_tensor_variable(args[0]).ndim != _RANKS[name]:
        raise _no_counterpart(f"numpy.{name} of other than {_RANKS[name]} dimensions")
    given = inspect.signature(function).bind(*args, **kwargs).arguments
    unknown = [key for key, value in given.items() if key not in parameters and value is not None]
    if unknown:
        raise TypeError(f"numpy.{name} of a symbolic variable takes no argument {', '.join(unknown)}.")
    place, _, ours = ours.rpartition(".")
    counterpart = getattr(importlib.import_module(place or "theano.tensor"), ours)
    positional = []
    for key in parameters:
        if key not in given:
            break
        positional.append(given.pop(key))
    return counterpart(*positional, **{key: value for key, value in given.items() if key in parameters})


ops.gather(globals(), "array_function array_ufunc")
