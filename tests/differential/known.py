"""Differences that are meant, each with the row of docs/differences.md that says why."""

from __future__ import annotations

import re
from typing import NamedTuple

from tests.differential.compare import Difference, meant_by


class Known(NamedTuple):
    """A difference that is meant; patterns are searched for.

    Parameters
    ----------
    reason
        Why, in the words of docs/differences.md.
    what
        The kind of difference.
    statement
        The expression or statement.
    original, ours
        What each side gives.
    program
        The whole program.
    """

    reason: str
    what: str
    statement: str
    original: str = ""
    ours: str = ""
    program: str = ""


_NONE = "^no error$"
_ACCIDENT = r"^(AttributeError|AssertionError|NotImplementedError|UnboundLocalError|KeyError|UFuncTypeError|LocalMeta\w+|IndexError: list index)"  # noqa: E501
_CLASSES = (
    r"^(TypeError|ValueError|IndexError|AsTensorError|AdvancedIndexingError|NullTypeGradError|DisconnectedInputError|AxisError)"
)

KNOWN = [
    # Errors of the original that are faults of its code, not checks.
    Known(
        "what ends with an `AttributeError`, `AssertionError`, `NotImplementedError` or the error of a line within Theano",
        "error",
        "",
        _ACCIDENT,
        _NONE,
    ),
    Known(
        "what ends with an `AttributeError`, `AssertionError`, `NotImplementedError` or the error of a line within Theano",
        "error",
        "",
        _ACCIDENT,
        _CLASSES,
    ),
    Known(
        "what ends with an `AttributeError`, `AssertionError`, `NotImplementedError` or the error of a line within Theano",
        "error",
        "",
        r"ufunc '\w+' not supported|unhashable type|does not support iteration|cannot be interpreted as an integer|has no len|"
        r"not iterable|illegally +returned an integer|takes \d positional argument|MakeList need|Received 1 of type",
        _NONE,
    ),
    # Refused by the original.
    Known("an index that is a list of Python bools", "error", r"\[.*(True|False)", "does not support Python bools", ""),
    Known(
        "the size of random numbers of `MRG_RandomStreams` as one number, as a list, as None",
        "error",
        "rs",
        "size must be a tuple of int",
        "",
    ),
    Known("`eigvalsh(a, None)`", "error", "eigvalsh", "Cannot convert None", _NONE),
    Known("`TensorType('int')`", "error", "TensorType", "Unsupported dtype", _NONE),
    Known(
        "labels of small or unsigned integers for `categorical_crossentropy`",
        "error",
        "entropy|grad",
        "integer vector required",
        _NONE,
    ),
    Known("`isclose`, `allclose` and `erf` functions of complex numbers", "error", "isclose|allclose|erf", "complex", _NONE),
    Known(
        "`as_tensor_variable(number, ndim=)` with more dimensions", "error", "as_tensor_variable|constant", "AsTensorError", _NONE
    ),
    Known(
        "a shape whose length follows from types, as `x.reshape(x.shape[::-1])`",
        "error",
        "reshape",
        "cannot be automatically determined",
        _NONE,
    ),
    Known("an index with `None` that the original cannot take", "error", r"\[|subtensor", "cannot drop a non-broadcastable", ""),
    Known(
        "integers to negative powers, polar numbers of negative length",
        "error",
        "",
        "Integers to negative integer powers|polar radius",
        _NONE,
    ),
    Known("R-operators of clipping, of mixed dtypes", "error", "Rop", "", _NONE),
    Known("`norm` of other orders and axes", "error", "norm", "", ""),
    Known("`ifelse` and `choose` of mixed types", "error", "ifelse|choose", "should have identical types", _NONE),
    # Found earlier, later, or told otherwise.
    Known(
        "bad axes of `diff`, `roll`, `topk`, cumulative sums",
        "error",
        r"sort|topk|diff|split|cumsum|cumprod|roll",
        _NONE,
        "out of bounds",
    ),
    Known("an axis that is named twice, as in `sum(axis=(0, 0))`", "error", "axis=[(]0, 0|axis=.0, -1", _NONE, "named twice"),
    Known("an axis that is named twice, as in `sum(axis=(0, 0))`", "value|shape|broadcastable", "axis=[(]0, 0"),
    Known("complex numbers put into a real subtensor", "error", "subtensor", _NONE, "put complex numbers"),
    Known("negative seeds of `MRG_RandomStreams`", "error", "RandomStreams", _NONE, "seed should be positive"),
    Known("a negative constant number of steps of `scan`", "error", "scan", "", "n_steps must not be negative"),
    Known("an index array out of bounds beside an empty slice", "error", r"\[", _NONE, "out of bounds for axis"),
    Known("a loop without steps", "error", "", "scan do 0 iteration", ""),
    Known("`set_value(None)` and other uses of None for an array", "error", "", "", "got None"),
    Known(
        "a symbolic axis of `join` that does not exist",
        "error",
        "join|concatenate|stack",
        "AxisError",
        "IndexError",
    ),
    Known(
        "a vector, or a bool, as a bound of a slice",
        "error",
        r"\[",
        "^(ValueError|IndexError|TypeError)",
        "AdvancedIndexingError",
    ),
    Known("`x.reshape(shape, ndim=)` with a shape of another length", "error", "reshape", _NONE, "the shape has length"),
    # Values and types.
    Known("`det`, `matrix_inverse`, `expm` and their gradients for integers", "dtype", "nlinalg|slinalg"),
    Known(
        "`det`, `matrix_inverse`, `expm` and their gradients for integers",
        "value",
        "nlinalg|slinalg|grad",
        program=r"x0 = T.TensorType\('int[\s\S]*[ns]linalg\.\w+\(",
    ),
    Known(
        "the gradient with respect to a float32 variable of a float64 expression",
        "dtype",
        "grad|jacobian|hessian|Lop|Rop",
        "float",
        "float",
    ),
    Known("singular values of complex matrices", "dtype|kind", "svd|norm|eigh", "complex", "float"),
    Known("`cumsum`, `cumprod` of small integers", "dtype", "cumsum|cumprod"),
    Known("the dtype of `bilinear_upsampling`", "dtype", "bilinear_upsampling"),
    Known("the broadcastable pattern of results", "broadcastable", "", r".*False", r".*True"),
    Known("the rank of `lstsq` and `tensorsolve`, the pattern of `tensorinv`", "broadcastable", "lstsq|tensorsolve|tensorinv"),
    Known("`max`, `min`, `argmax` over `axis=()`", "broadcastable|shape", r"(max|min|argmax|argmin)\(.*axis=\(\)"),
    Known("`matrix_power(a, 0)`", "kind", "matrix_power", "^int$"),
    Known("`T.vectors` and its like", "class", "report", "partial"),
    Known("`T.vectors` and its like", "error", r"s\(\)", _NONE, "give at least one name"),
    Known("the gradient of a loop that `until` ends early", "value", "grad", program="until"),
    Known(
        "a loop with random numbers whose updates are not given to the function",
        "value",
        "function",
        program=r"rs\.uniform\(\(\)\)",
    ),
    Known("a slice of a dimension of length 1 with bounds", "broadcastable", r"\[.*:", r".*True", r".*False"),
    Known("`arange` of complex numbers", "shape|value", "arange", program="complex"),
    Known("`&`, `^`, or of bool and integers", "error", r"[&|^]", "input to a BitOp", _NONE),
    Known("negative axes of `addbroadcast`", "error", "addbroadcast|unbroadcast", _NONE, "Rebroadcast"),
    Known("variance with `ddof` over several axes", "value", r"(var|std)\(.*ddof"),
    Known("gamma functions at their poles", "value", "", program=r"T\.(gamma|psi|gammaln|tri_gamma)\("),
    Known(
        "integers to negative powers, polar numbers of negative length",
        "value",
        r"power|pow\(|\*\*",
        program=r"TensorType\('(bool|u?int|complex)",
    ),
    Known("numeric gradients in float32", "value", "numeric_grad", program="float32"),
    Known("`nnet.relu` and `softsign` of integers", "dtype", "relu|softsign"),
    Known("`T.constant(True)`", "dtype", r"constant\(True\)", "int", "bool|u?int"),
    Known("the graph that a function builds", "length|value", r"gof\.graph"),
    Known(
        "the gradient with respect to integers of products of more dimensions",
        "value|dtype",
        r"grad\(",
        program=r"TensorType\('(u?int|bool)[\s\S]*T\.(tensor)?dot\(",
    ),
    Known("`//` of complex numbers", "error", r"//|int_div|floor_div|divmod", _NONE, "ComplexError"),
    Known("`&`, `^`, or of bool and integers", "error", r"[&|^]|T\.(x?or_?|and_)\(", _NONE, "no integer type holds"),
    Known("initial values of `scan` with one step", "error", "scan", _NONE, "The initial value of output"),
    Known("a loop of no outputs and one step", "kind", "", "list", "NoneType"),
    Known("an index with `None` that the original cannot take", "error", "take", "cannot drop", _NONE),
    Known("a given for a shared variable that is not used", "error", "function", "UnusedInputError"),
    Known(
        "`repeat` of unsigned integers, `roll` of nothing",
        "error",
        "repeat|roll",
        "don't support dtype uint64|ZeroDivisionError",
        _NONE,
    ),
    Known(
        "bad axes of `diff`, `roll`, `topk`, cumulative sums",
        "error",
        "roll|ptp|var|std|sum|mean",
        "IndexError|does not support iteration",
        "out of bounds",
    ),
    Known(
        "errors of masks as indices",
        "error",
        r"\[",
        "^(IndexError|ValueError|TypeError)",
        "^(AdvancedBooleanIndexingError|ValueError|IndexError|TypeError)",
    ),
    Known("gradients that are zero", "error", r"grad\(", "not aligned|shape", _NONE),
    Known("a matrix to the power 1", "name", "matrix_power"),
    Known("products under the policy `numpy+floatX`", "dtype", "dot", "float64", "float32", program="numpy.floatX"),
    Known("`set_subtensor` of an index with `None`", "shape|broadcastable", "subtensor.*(None|newaxis)"),
    Known(
        "the class of an error in values",
        "error",
        "",
        "^(ValueError|TypeError)",
        "^(AssertionError|ValueError): (local_|A sequence|A |Shape|The )?",
    ),
    Known("the broadcastable pattern of results", "broadcastable", "diff"),
    Known("convolution of images and filters of two dtypes", "dtype", "conv2d"),
    Known("`max`, `min`, `argmax` over `axis=()`", "broadcastable|shape", "m[0-9]", program=r"max_and_argmax\(.*axis=\(\)"),
    Known("sums that keep dimensions along a symbolic or NumPy axis", "error", "keepdims", "constant axis", _NONE),
    Known("`isclose`, `allclose` and `erf` functions of complex numbers", "error", "isclose|allclose", "abs", _NONE),
    Known("the class of an error in values", "error", "grad", "AssertionError", "NotImplementedError"),
    Known(
        "functions of int8 and bool in Python mode",
        "value",
        r"2deg|2rad|exp|log|sin|cos|tan|sqrt|erf|gamma|psi|inv\(|sigmoid|softplus",
        program=r"astype\('u?int8'\)|TensorType\('bool'",
    ),
    Known("a Python bool beside an operator", "error", "True", "AsTensorError", "unsupported operand"),
    Known("parts of a dimension of length 1 that is split", "broadcastable", "split", r".*True", r".*False"),
    Known("`T.real` of a real variable, `nnet.relu` with a slope of 1", "name", "real|relu"),
    Known("`-x` of uint64", "value", "", program=r"uint64[\s\S]*(-s\)|= -|neg\()"),
    Known("`argmin`, `min` of unsigned integers and bools", "text", "", program=r"(argmin|min|ptp)\("),
    Known("`argmin`, `min` of unsigned integers and bools", "value", r"argmin|min|ptp", program=r"TensorType\('(uint|bool)"),
    # Texts.
    Known("`pprint` of slices", "text", "", "int64", "Constant|ScalarFromTensor"),
    Known("a constant slice beside index arrays", "text", "", "MakeSlice", "SliceConstant"),
    Known(
        "the graph that a function builds",
        "text",
        "",
        program=r"T\.grad\(|softsign|nonzero|tensordot|T\.dot\(|take|roll|relu|norm",
    ),
    Known("the order of operations that do not depend on each other", "text", r"toposort|debugprint\(f"),
    Known("the graph that a function builds", "text", "", program="isclose|allclose|repeat|tile|std|var|crossentropy"),
    Known(
        "a negative constant axis of `join` in texts",
        "text",
        "",
        "Constant",
        r"Constant\{-\d",
        program=r"join\(|concatenate|stack",
    ),
]


def reason(program: str, difference: Difference) -> str | None:
    """Why a difference is meant; None: it is not known to be."""
    statement = meant_by(program, difference.line)
    for known in KNOWN:
        if (
            re.fullmatch(known.what, difference.what)
            and re.search(known.statement, statement)
            and re.search(known.original, difference.original)
            and re.search(known.ours, difference.ours)
            and re.search(known.program, program)
        ):
            return known.reason
    return None
