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
    """

    reason: str
    what: str
    statement: str
    original: str = ""
    ours: str = ""


_NONE = "^no error$"

KNOWN = [
    # Errors of the original that are faults of its code, not checks.
    Known("what an accident in its code ends with in the original works", "error", "",
          r"^(AttributeError|AssertionError|NotImplementedError|UnboundLocalError|KeyError|UFuncTypeError|LocalMeta\w+|IndexError: list index)",
          _NONE),
    Known("an accident in its code is an error of a documented class", "error", "",
          r"^(AttributeError|AssertionError|NotImplementedError|UnboundLocalError|KeyError|UFuncTypeError|LocalMeta\w+|IndexError: list index)",
          r"^(TypeError|ValueError|IndexError|AsTensorError|AdvancedIndexingError|NullTypeGradError|DisconnectedInputError|AxisError)"),
    Known("what an accident in its code ends with in the original works", "error", "",
          r"ufunc '\w+' not supported|unhashable type|does not support iteration|cannot be interpreted as an integer|has no len\(\)|"
          r"not iterable|illegally +returned an integer|takes \d positional argument|MakeList need|got multiple values|Received 1 of type", _NONE),
    # Refused by the original.
    Known("an index of Python bools is a mask, as for NumPy", "error", r"\[.*(True|False)", "does not support Python bools", ""),
    Known("a size that is one number", "error", "rs", "size must be a tuple of int", ""),
    Known("`eigvalsh(a, None)`", "error", "eigvalsh", "Cannot convert None", _NONE),
    Known("`TensorType('int')` is int64, as for NumPy", "error", "TensorType", "Unsupported dtype", _NONE),
    Known("labels of any integer dtype", "error", "entropy|grad", "integer vector required", _NONE),
    Known("complex numbers are compared by parts", "error", "isclose|allclose", "complex", _NONE),
    Known("values of more dimensions than there are", "error", "as_tensor_variable|constant", "AsTensorError", _NONE),
    Known("a shape whose length is known by its type", "error", "reshape", "cannot be automatically determined", _NONE),
    Known("new axes keep NumPy's meaning where the original raised", "error", r"\[|subtensor", "cannot drop a non-broadcastable", ""),
    Known("Python mode of the original: powers and polar numbers that compiled code computes", "error", "",
          "Integers to negative integer powers|polar radius", _NONE),
    Known("R-operators of all operations; a direction of fewer digits", "error", "Rop", "", _NONE),
    Known("norms of any order over any axes", "error", "norm", "", ""),
    Known("branches of mixed types have their common type", "error", "ifelse|choose", "should have identical types", _NONE),
    # Found earlier, later, or told otherwise.
    Known("bad axes are found when the graph is built", "error", r"sort|topk|diff|split|cumsum|cumprod", _NONE, "out of bounds"),
    Known("an axis that is named twice is refused", "error", "axis=[(]0, 0", _NONE, "named twice"),
    Known("an axis that is named twice is refused", "value|shape|broadcastable", "axis=[(]0, 0"),
    Known("complex numbers are not put into real tensors", "error", "subtensor", _NONE, "put complex numbers"),
    Known("negative seeds are refused", "error", "RandomStreams", _NONE, "seed should be positive"),
    Known("a negative number of steps is found when the graph is built", "error", "scan|map|reduce|fold", "", "n_steps must not be negative"),
    Known("NumPy: an index out of bounds is one also where nothing is taken", "error", r"\[", _NONE, "out of bounds for axis"),
    Known("a loop without steps gives arrays without rows", "error", "", "scan do 0 iteration", ""),
    Known("None is no value of an array", "error", "", "", "got None"),
    Known("an axis that does not exist is an IndexError when it is found late", "error", "join|concatenate|stack", "AxisError", "IndexError"),
    Known("a slice needs integer scalars for bounds", "error", r"\[", "^(ValueError|IndexError|TypeError)", "AdvancedIndexingError"),
    Known("a shape of another length than was said is an error", "error", "reshape", _NONE, "the shape has length"),
    # Values and types.
    Known("a copy of a function returns what the function returns", "kind", r"copy\(", "^list$", "^array$"),
    Known("integers are not truncated results of linear algebra", "dtype|value", "nlinalg|slinalg|grad"),
    Known("gradients have the dtype of what they are taken for", "dtype", "grad|jacobian|hessian|Lop|Rop", "float64", "float32"),
    Known("singular values and norms are real", "dtype|kind", "svd|norm|eigh", "complex", "float"),
    Known("cumulative sums of small integers are wide", "dtype", "cumsum|cumprod"),
    Known("`bilinear_upsampling` keeps the dtype", "dtype", "bilinear_upsampling"),
    Known("lengths that must be 1 are known to be 1", "broadcastable", "", r".*False", r".*True"),
    Known("solutions have the rank of the right hand side", "broadcastable", "lstsq|tensorsolve"),
    Known("no axis is no reduction, also for max and min", "broadcastable|shape", r"(max|min|argmax|argmin)\(.*axis=\(\)"),
    Known("`matrix_power(a, 0)` is a variable", "kind", "matrix_power", "^int$"),
    Known("makers of several variables are objects of their own", "class", "report", "partial"),
    Known("makers of several variables want a name or a number", "error", r"s\(\)", _NONE, "give at least one name"),
    Known("loops that end early have the gradient of the steps that were done", "value", "grad", "", ""),
    Known("variance with `ddof` over several axes", "value", "var|std"),
    # Texts.
    Known("pprint writes the bounds of slices", "text", "", "int64", "Constant|ScalarFromTensor"),
    Known("constant slices are constants", "text", "", "MakeSlice", "SliceConstant"),
    Known("graphs that functions build from others are smaller", "text",
          "softsign|nonzero|flatnonzero|tensordot|take|grad|roll|relu|norm|report|function"),
    Known("graphs that functions build from others are smaller", "text", r"dot\(|\["),
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
        ):
            return known.reason
    return None
