"""Differences that are meant, each with the row of docs/differences.md that says why."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from tests.differential.compare import Difference, behind, meant_by
from tests.differential.programs_graphs import OTHERWISE


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
        The statement with all that it is made of.
    near
        The largest distance of the numbers of the two sides, relative to the largest of them.
    """

    reason: str
    what: str
    statement: str
    original: str = ""
    ours: str = ""
    program: str = ""
    near: float = float("inf")


#: Reasons of several rows.
_WITHIN = "what ends with an `AttributeError`, `AssertionError`, `NotImplementedError` or the error of a line within Theano"
_NO_SENSE = "arguments that make no sense, such as a text or a dictionary for a number or an axis"

_NONE = "^no error$"
_ACCIDENT = "^(" + "|".join(
    [
        r"AssertionError: *($|\n|\[\]|The input of svd|cost and known_grads can't both be None)",
        r"AttributeError: '\w+' object has no attribute '(?!no_such)",
        r"AttributeError: module 'theano.tensor' has no attribute '\w(scalars|vectors|matrices|rows|cols)'",
        r"NotImplementedError: *($|\n|\('unsupported dtype|We currently didn't implemented|The sorted parameter|.* does not implement R_op|We didn't implemented yet the case where scan do 0)",  # noqa: E501
        r"UnboundLocalError: local variable 'NORM'",
        r"KeyError: (x\d|-?\d+j?$|'text'|'input'|2\.5|None|nan|\()",
        r"RecursionError",
        r"UFuncTypeError: Cannot cast ufunc",
        r"LocalMeta\w+: Abstract\w+ Theano optimization failed",
        r"IndexError: (list|tuple) (assignment )?index out of range",
    ]
) + ")"  # fmt: skip
_CLASSES = (
    "^(TypeError|ValueError|IndexError|AsTensorError|AdvancedIndexingError|NullTypeGradError|DisconnectedInputError|AxisError|"
    "MissingInputError|ComplexError)"
)

#: Arguments of programs about errors that few functions can take.
_NONSENSE = r"'text'|\{\}|\[\]|None|-7|2\.5|1j|np\.nan|\(1, 1\)"


def _built(original: str, program: str, ours: str = "") -> Known:
    """A function that builds its result of other operations, as texts show."""
    return Known("the graph that a function builds", "text", "", original, ours, program)


_BUILT = [
    _built("softsign", "softsign"),
    _built("Nonzero", "nonzero|bool"),
    _built("sigmoid_binary_crossentropy", "sigmoid_binary_crossentropy"),
    _built("Reshape", "tensordot|T.dot|kron"),
    _built(r"Cast{int|int\d+\(", r"as_tensor_variable\(\["),
    _built("CSM", "import theano.sparse", "WithValues|StoredValues"),
    _built("RandomFunction", r"RandomStreams|rs\."),
    _built(r"\*\*|Elemwise{pow", r"\.norm\("),
    _built("TensorConstant", r"relu\("),
    _built("or_", "isclose|allclose"),
    _built("Rebroadcast", r"T\.(take|choose|roll)|\["),
    _built("join|Join|Reshape", r"\[\[|\[np.array"),
    _built("DimShuffle", r"None|newaxis|T\.diag|outer"),
    _built(r"Subtensor{:int64:}|\[:int64\]", r"flatten|cumsum|cumprod|repeat|\[\["),
    _built("Reshape|Alloc", r"T.repeat|T.tile|\.repeat"),
    _built("true_div| / ", r"(T|\)|x\d|z\d)\.(var|std|mean)\("),
    _built("Reshape|AbstractConv2d_gradInputs", "h_softmax|bilinear_upsampling"),
    _built(r"dot|\\\\dot", r"matrix_power"),
    _built("AdvancedSubtensor", r"T\.sort\([\s\S]*T\.grad\("),
    _built("MakeList", r"choose\("),
    _built("cosh", "tanh|cosh|T.grad"),
    _built("[Jj]oin", r"T\.roll\(", "maximum"),
    _built("second|fill", r"T\.(mgrid|ogrid)", "[Aa]lloc"),
    _built(r"eq\((maximum|minimum)|Elemwise{EQ}", r"T\.(maximum|minimum)\([\s\S]*([RL]op|grad)\(", r"switch\(|Switch"),
    _built("MaxAndArgmax", r"hessian\(|grad\("),
    _built("Shape|alloc|Alloc|second|fill", r"T\.grad\(|theano\.grad\("),
    _built("AdvancedSubtensor|Subtensor", "take|T.roll|choose"),
]

#: Expressions whose rewritten graphs the manual does not show, and which differ.
_OTHERWISE = "|".join(map(re.escape, OTHERWISE))

KNOWN = [
    Known(
        "graphs after rewrites other than those the manual shows",
        "text|length",
        rf"^z\d = \(?({_OTHERWISE})(\)? [-+*] \w+)?$",
        program="import theano.ifelse, theano.tensor.opt",
    ),
    Known(
        "unsigned integers as the axis of `join` or the lengths of `split`",
        "error",
        r"T\.split\(",
        "splits must have type tensor.lvector', TensorType.uint",
        _NONE,
    ),
    Known(
        "products of a sparse matrix and a vector by `mul`",
        "error",
        r"S\.mul\(",
        "^AssertionError: $",
        "NotImplementedError: mul_s_d",
    ),
    Known("the dtype of gradients of `images2neibs`", "dtype", "grad", "float32", "float64", r"images2neibs\("),
    Known("the dtype of `lstsq`", "dtype", r"lstsq\(\)\(", "float(32|64)", "float|complex"),
    Known(
        _NO_SENSE,
        "error",
        r"^z\d+ = T\.(sort|eye|constant|choose|extra_ops\.diff|clip|mean|roll|tri|as_tensor_variable)\(",
        _NONE + "|ValueError",
        _CLASSES,
    ),
    Known(
        _NO_SENSE,
        "error",
        r"^z\d+ = |sum\(axis=T.constant|^x0 = ",
        r"'int' object is not subscriptable|Unsupported dtype for TensorType: x\d|does not support iteration|AssertionError: tensor.(jacobian|hessian)|has no len|too many indices for array|length not known|object is not iterable",  # noqa: E501
        r"Sequence \d of scan|Could not convert x\d to a NumPy dtype|Not enough dimensions|TypeError: (jacobian|hessian)|length not known|NotScalarConstantError: x\d|ValueError: imshp \(input_shape\)|TypeError: the axis of a reduction must be",  # noqa: E501
    ),
    Known(
        _NO_SENSE,
        "error",
        "report",
        "numpy.ndarray|^no error",
        "numpy.ndarray|array|cannot print an object",
        "_asarray",
    ),
    Known(
        "`set_subtensor` of an index with `None`",
        "error",
        "set_subtensor.*None|newaxis",
        "Trying to increment a . ?-dimensional|Trying to increment",
        _NONE,
    ),
    Known(
        "gradients of `col_scale` and `row_scale`",
        "value",
        r"grad\(\(S\.sp_sum",
        "",
        "",
        r"z(\d) = S\.(col|row)_scale[\s\S]*g\1 = T\.grad",
    ),
    Known(
        "`alloc` of a matrix to another shape of the same type, once it is rewritten",
        "error",
        r"T\.alloc\(x\d, ",
        _NONE,
        "ValueError: (could not broadcast input array|negative dimensions are not allowed)",
    ),
    Known("`Out(return_internal_type=)`", "error", r"theano\.Out\(", "takes from 2 to 3 positional", _NONE),
    Known("`T.imag` of a real variable", "text", r"(pprint|debugprint)\(", "imag", "TensorConstant{0", r"T\.imag\("),
    Known(
        "`None` as a bound in texts of sparse matrices",
        "text",
        r"(pprint|debugprint)\(z\d",
        r"GetItem2d.*",
        "NoneConst",
    ),
    Known(
        "values of `var` and `std` of complex numbers",
        "value",
        r"(T|\))?\.(var|std)\(",
        "j",
        "",
        r"complex",
    ),
    Known(
        "`Lop` and given gradients that are complex",
        "error",
        "Lop|known_grads|grad",
        "known_grad of type TensorType.complex",
        _NONE + "|^NotImplementedError: .* of complex numbers has no gradient|^DisconnectedInputError",
    ),
    Known("`poisson` without a size", "error", "poisson", "_infer_ndim_bcast cannot infer shape", _NONE),
    Known("`x ** 2j`", "value", r"(power|pow)\(\w+, 2j\)|\*\* 2j"),
    Known(
        "unsigned integers as the axis of `join` or the lengths of `split`",
        "error",
        r"join\(",
        r"Axis could not be cast to an integer type', x\d, TensorType.uint",
        _NONE,
    ),
    Known(
        "arithmetic of NumPy's numbers outside of graphs, as in `zero()` of a shared object",
        "dtype",
        r"s\.zero\(\)|^report\(s\.get_value",
        "",
        "",
        r"s\.zero\(\)",
    ),
    Known(
        "integers beyond int64 in Python mode", "error", "", "^OverflowError: Python int too large to convert to C long", _NONE
    ),
    Known("an unknown flag that is assigned", "error", "no_such_flag", "", "AttributeError: There is no configuration flag"),
    Known(
        "a value that a flag cannot have, given to `change_flags`", "error", r"change_flags\(", _NONE, "ValueError: Invalid value"
    ),
    Known(
        "a value that a flag cannot have, given to `change_flags`",
        "error",
        r"change_flags\(no_such_flag",
        "AssertionError",
        "AttributeError",
    ),
    Known(
        "zeros, ones and shapes of sparse matrices in texts",
        "text",
        r"(pprint|debugprint)\(z\d",
        r"DenseFromSparse|CSM",
        "",
        r"z\d = (a\.shape|a\.size|S\.sp_(zeros|ones)_like|a\.zeros_like|S\.csm_shape)",
    ),
    Known(
        "gradients of integer sparse matrices where the original raises an error",
        "error",
        r"grad\(\(S\.sp_sum",
        r"SparseDot.grad returned a term|illegally +returned an integer|zeros_like\(\) got an unexpected|^AssertionError: $",
        _NONE,
        "import theano.sparse",
    ),
    Known(
        "`theano.sparse.structured_sigmoid` of complex numbers",
        "error",
        r"structured_sigmoid\(",
        "",
        "^TypeError",
        "complex",
    ),
    Known("`sp_sum` of small integers", "dtype", r"S\.sp_sum\(a(, axis=[01])?\)", "int64", "int"),
    Known(
        _WITHIN,
        "error",
        "",
        _ACCIDENT,
        r"^(AttributeError: '(NoneType|GetItemScalar)' object|NotImplementedError: choose\(out=\))",
    ),
    Known("`pp` of what is no variable", "error", r"theano\.(pp|pprint)\(", "unhashable type", "has no attribute 'owner'"),
    Known("`x // 1` of floats, once it is rewritten", "value|text|length", r"^z\d+ = \(?x // 1"),
    Known(
        "`x // 1` of floats, once it is rewritten",
        "value",
        "",
        program=r"(\w+) = T\.(eq|le|ge)\((x\d), \3\)[\s\S]* = \(?x\d // \1",
    ),
    Known(
        "gradients of complex sparse matrices that are compared, or cast to real ones",
        "error",
        r"grad\(\(S\.sp_sum",
        "Casting from complex to real|grad not implemented for complex types",
        _NONE,
    ),
    Known(
        "`//` of integers by zero in fused operations in Python mode",
        "error",
        "",
        "^ZeroDivisionError",
        _NONE,
        r"//|int_div|floor_div|%|mod",
    ),
    Known("float32 between fused operations in Python mode", "value", r"%|//|mod|floor|ceil|trunc|round", program="hard_sigmoid"),
    Known(
        "random states after a call that failed",
        "value",
        r"^f\d = ",
        program=r"MRG_RandomStreams[\s\S]*d1 = rs\.\w+\(.*\bx1\b[\s\S]*report\(g\(",
    ),
    Known("`f['a']` after a call that failed", "kind", r"^report\(f\['a'\]\)$", "array", "NoneType"),
    Known("`isclose`, `allclose`, `sgn` of bools", "error", r"isclose|allclose|sgn\(", "^TypeError: bool$", _NONE),
    Known("`-0.0` as a constant", "value", r"-0\.0", r"\binf", r"-inf"),
    Known("`-0.0` as a constant", "text", "", r"TensorConstant\{0\.0", r"TensorConstant\{-0\.0"),
    Known(
        "loops below the `depth` of `debugprint`",
        "text",
        r"debugprint\(.*depth=",
        "Inner graphs of the scan ops",
        r"^(?![\s\S]*Inner graphs)",
    ),
    Known(
        "the gradient of `diag` of a sparse matrix that is not square",
        "shape",
        r"grad\(\(S\.sp_sum",
        program=r"z(\d) = S\.diag\(a\)[\s\S]*g\1 = T\.grad",
    ),
    Known(
        "`inc_subtensor` of integers by a fraction at index arrays",
        "value",
        r"inc_subtensor\(.*\b(0\.5|float\d+\(-?\d\.\d\))\)",
        program=r"x0 = T\.TensorType\('u?int",
    ),
    Known("the R-operator of powers of negative numbers", "value", r"T\.Rop\(", r"^\[*nan", "", r"\*\*|pow|var\(|std\("),
    Known("the broadcastable pattern of results", "broadcastable", r"T\.Lop\(", "True", "False"),
    Known("`T.real` of a real variable, `nnet.relu` with a slope of 1", "dtype", r"relu\(\w+, 1\)", "float32", "float16"),
    Known("`poisson` of a size with too few dimensions", "error", r"poisson\(\(\)", _NONE, "ndim should be at least as big"),
    Known(
        _NO_SENSE,
        "error",
        r"debugprint\(\S",
        _NONE,
        "cannot print an object",
    ),
    Known(
        "operations in place in `pp` of rewritten graphs",
        "text",
        "",
        r"^(?![\s\S]*\[id )[\s\S]*Elemwise\{(Add|Sub|Mul|Neg)\}\[\(0, \d\)\]\(",
        r"[-+*]=",
    ),
    Known(
        "a length of 1 that is not known beside a length of 0, in Python mode",
        "error",
        r"\[\]|\(0,\)|0\)",
        _NONE,
        r"ValueError: Input dimension mis-match\. \(input\[\d\]\.shape\[\d\] = [01], input\[\d\]\.shape\[\d\] = [01]\)",
    ),
    Known(
        "`str` of a function",
        "text",
        r"report\(str\(g\)\)",
        r"^<theano\.compile\.function_module\.Function",
        r"^<theano\.Function ",
    ),
    Known("`go_backwards` of a loop of one step", "value", "", program=r"scan\(.*go_backwards=True.*n_steps=1\b"),
    Known("`Lop` with respect to the expression itself", "dtype", r"T\.Lop\((z\d), \1, "),
    Known("`max`, `min`, `argmax`, `ptp` over `axis=()`", "text", "", "MaxAndArgmax", r"MaxAndArgmax\{axis=\(\)\}"),
    Known("the graph that a function builds", "text", "", "EQ|eq", "GE|ge", r"maximum[\s\S]*(hessian|grad)\("),
    Known(
        "results of `imag` that are overwritten in Python mode",
        "error",
        "",
        "assignment destination is read-only",
        _NONE,
        "imag",
    ),
    Known(
        _NO_SENSE,
        "error",
        r"axis=T\.constant",
        "does not support iteration",
        "out of bounds for a tensor",
    ),
    Known("`softmax` of nothing", "error", r"softmax", "zero-size array to reduction operation", _NONE),
    Known(
        "`log(softmax(x))` in modes without stabilization",
        "text|length",
        r"^z\d = \(?T\.log\(T\.nnet\.softmax\(x\)\)",
        program="FAST_COMPILE|fast_compile|'o[12]'",
    ),
    Known("the gradient with respect to a float32 variable of a float64 expression", "dtype", r"grad\(", "float32", "float16"),
    Known(
        _NO_SENSE,
        "error",
        r"axis=T\.constant|^z\d+ = T\.(zeros|ones)\(",
        _NONE + "|does not support iteration",
        "Not enough dimensions|to a NumPy dtype",
    ),
    Known("the text of a `Mode`", "text", "report.str", "OrderedSet"),
    Known(
        "`scan` over a sequence that is shorter than `n_steps`, once the loop is rewritten",
        "error",
        "",
        _NONE,
        "A sequence is shorter than the required number of steps",
        "n_steps=",
    ),
    Known("`arange` of bools", "error", r"arange\(.*bool", "no fill-function for data-type", "TypeError: arange"),
    Known(
        _NO_SENSE,
        "error",
        rf"^\w+ = .*({_NONSENSE})",
        _CLASSES,
        _CLASSES,
    ),
    Known(
        _NO_SENSE,
        "error",
        r"^\w+ = .*('text'|\{\})",
        _NONE,
        _CLASSES,
    ),
    Known("R-operators of operands that have none", "text", r"(pprint|debugprint)\(", "TensorConstant{0", "", r"Rop\("),
    Known(
        "a number beside index arrays in texts",
        "text",
        r"(pprint|debugprint)\(",
        r"TensorFromScalar(\(Constant| \[id \w+\] ''   \n[ |]*Constant)",
        "Advanced",
    ),
    Known(
        "graphs after rewrites other than those the manual shows",
        "text|length",
        r"^z\d = \((x \* 0|x - x)\) [-+] \w$",
    ),
    Known(_WITHIN, "error", r"scan_checkpoints\(lambda p: ", "takes 1 positional argument but 2", _CLASSES),
    Known("products and `//` under the policy `numpy+floatX`", "dtype", r"matrix_power\(", "int64", "int32", "numpy.floatX"),
    Known("`take` of an empty list", "error", r"T\.take\(\w+, \[\]", "index must be integers", _NONE),
    Known("a mask beside `...`", "error", r"\[x\d, \.\.\.\]", "boolean index did not match", _NONE),
    Known(
        "zeros as gradients with respect to complex sparse matrices that are disconnected",
        "type|dtype",
        r"grad\(.* a, disconnected_inputs='ignore'",
        "float",
        "complex",
    ),
    Known(
        "`row_scale` and `col_scale` by a vector of another dtype",
        "type|dtype|text",
        r"(row|col)_scale\(|^report\(str\(z\d",
        "",
        "",
        r"(row|col)_scale\(",
    ),
    Known(
        "the gradient with respect to a float32 variable of a float64 expression",
        "text|length",
        r"^z\d = \(?T\.grad\(\(a \*\* 2\), a\)",
        program=r"numpy\+floatX[\s\S]*'float32', \(\)\)\('a'\)",
    ),
    Known(
        _NO_SENSE, "error", r"", r"^AssertionError: \((AllocDiag|ExtractDiag)", _NONE, r"T\.diag(onal)?\(\w+, (1j|2\.5|np\.nan)"
    ),
    Known(
        "gradients of `images2neibs` with steps in mode 'ignore_borders', of `SparseBlockOuter`",
        "error",
        r"grad\(",
        r"^NullTypeGradError: .*Images2Neibs\{ignore_borders\}",
        _NONE,
    ),
    Known(
        "`scan` over a sequence that is shorter than `n_steps`, once the loop is rewritten",
        "error",
        "",
        "^ValueError: .'Sequence is shorter then the required number of steps",
        "IndexError: index -1 is out of bounds for axis 0 with size 0",
    ),
    Known("`repeat` of unsigned integers, `roll` of nothing", "error", r"T\.roll\(", "^IndexError: too many indices", _NONE),
    Known(_NO_SENSE, "error", r"^z\d = x\d\[x\d\]", "IndexError: too many indices", "^TypeError: Expected an integer, got"),
    Known(_NO_SENSE, "error", r"theano\.pp\((\{\}|\[\]|\(1, 1\)|None), ", "^TypeError: Not enough arguments to call", _NONE),
    Known(
        "graphs after rewrites other than those the manual shows",
        "text|length",
        r"^z\d = \(-\(\(-x\)\.max\(\)\)\) [-+*] \w$",
    ),
    Known("negative axes of `addbroadcast`", "text", "", "", "Rebroadcast", r"addbroadcast\(\w+, -"),
    Known("the name of a constant by `as_tensor_variable(number, name)`", "name", r"as_tensor_variable\(", "None"),
    Known(_NO_SENSE, "error", r"T\.(zeros|ones)\(", r"^TypeError: Cannot interpret '\d' as a data type", _NONE),
    Known(
        "the gradient of `diag` of a csr matrix",
        "type|format",
        r"grad\(\(S\.sp_sum",
        "csc",
        "csr",
        r"z(\d) = S\.diag\(a\)[\s\S]*g\1 = ",
    ),
    Known(
        "`set_subtensor` of an index with `None`",
        "error",
        r"inc_subtensor\(x\d\[None",
        "^TypeError: Trying to increment a \\d-dimensional subtensor",
        _NONE,
    ),
    Known(_NO_SENSE, "error", r"T\.addbroadcast\(x\d, \(1, 1\)", "Rebroadcast needs integer axes", _NONE),
    Known(_NO_SENSE, "error", r"gof\.graph\.inputs\(\[\], ", _NONE, "^TypeError: .* object is not iterable"),
    # Errors of the original that are faults of its code, not checks.
    Known(
        _WITHIN,
        "error",
        "",
        _ACCIDENT,
        _NONE,
    ),
    Known(
        _WITHIN,
        "error",
        "",
        _ACCIDENT,
        _CLASSES,
    ),
    Known(
        _WITHIN,
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
    Known("R-operators of clipping, of mixed dtypes", "error", "Rop", "Cannot convert Type|R_op supported for|clip|Clip", _NONE),
    Known(
        "`norm` of other orders and axes",
        "error",
        r"\.norm\(",
        "'isinf' not supported|Not enough dimensions on|is not a proper order|Invalid norm order|^ValueError: 0$",
        "",
    ),
    Known(
        "`norm` of other orders and axes", "error", r"\.norm\(", _NONE, "TypeError: 'axis' must be an integer, None or a tuple"
    ),
    Known("`ifelse` and `choose` of mixed types", "error", "ifelse|choose", "should have identical types", _NONE),
    # Found earlier, later, or told otherwise.
    Known(
        "bad axes of `diff`, `roll`, `repeat`, `take`, `topk`, cumulative sums",
        "error",
        r"sort|topk|diff|split|cumsum|cumprod|roll|repeat",
        _NONE,
        "out of bounds",
    ),
    Known(
        "an axis that is named twice, as in `sum(axis=(0, 0))`",
        "error",
        r"axis=[(]0, 0|axis=.0, -1|\.\w+\(.*\(1, 1\)",
        _NONE,
        "named twice",
    ),
    Known("an axis that is named twice, as in `sum(axis=(0, 0))`", "value|shape|broadcastable", "axis=[(]0, 0"),
    Known(
        "an axis that is named twice, as in `sum(axis=(0, 0))`",
        "error",
        "axis=[(]0, 0",
        "^TypeError: Cannot build",
        "named twice",
    ),
    Known("complex numbers put into a real subtensor", "error", "subtensor", _NONE, "put complex numbers"),
    Known("negative seeds of `MRG_RandomStreams`", "error", "RandomStreams", _NONE, "seed should be positive"),
    Known("a negative constant number of steps of `scan`", "error", "scan", "", "n_steps must not be negative"),
    Known("an index array out of bounds beside an empty slice", "error", r"\[", _NONE, "out of bounds for axis"),
    Known("a loop without steps", "error", "", "scan do 0 iteration", ""),
    Known("`set_value(None)` and other uses of None for an array", "error", "", "", "got None|dtype object: None"),
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
        r"\[.*:",
        "^(ValueError|IndexError|TypeError)",
        r"Advanced\w*IndexingError|^TypeError: Expected an integer, got|^ValueError: .* cannot have 0 dimensions",
    ),
    Known("`x.reshape(shape, ndim=)` with a shape of another length", "error", "reshape", _NONE, "the shape has length"),
    # Values and types.
    Known("the copy of a function of one result", "kind", r"copy\(", "^list$", "^array$"),
    Known(
        "`det`, `matrix_inverse`, `expm` and their gradients for integers",
        "dtype",
        "nlinalg|slinalg",
        "^(u?int|bool|float32|complex64)",
        "^(float64|complex128|float32|complex64)",
    ),
    Known(
        "gradients through a `dot` of integers to what is made floats afterwards",
        "value",
        r"grad\(",
        program=r"x0 = T.TensorType\('(u?int|bool)[\s\S]*T\.dot\(x0, x0\.T\)",
    ),
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
        "float64",
        "float(32|16)",
    ),
    Known("singular values of complex matrices", "dtype|kind", "svd|norm|eigh", "complex", "float"),
    Known("`cumsum`, `cumprod` of small integers", "dtype", "cumsum|cumprod", "^(u?int(8|16|32)|bool)$", "^u?int64$"),
    Known("the dtype of `bilinear_upsampling`", "dtype", "bilinear_upsampling", "float(32|64)", "float(32|64)"),
    Known("the broadcastable pattern of results", "broadcastable", "", r".*False", r".*True"),
    Known(
        "the rank of `lstsq` and `tensorsolve`, the pattern of `tensorinv`",
        "broadcastable",
        "T.nlinalg.(lstsq|tensorsolve|tensorinv)",
    ),
    Known(
        "`max`, `min`, `argmax`, `ptp` over `axis=()`",
        "broadcastable|shape",
        r"(max|min|argmax|argmin|ptp)\((.*axis=|\w+, )?(\(\)|\[\])",
    ),
    Known("`matrix_power(a, 0)`", "kind", "matrix_power", "^int$"),
    Known("`T.vectors` and its like", "class", "report", "partial"),
    Known("`T.vectors` and its like", "error", r"s\(\)", _NONE, "give at least one name"),
    Known(
        "the gradient of a loop that `until` ends early", "error", "grad", "negative dimensions are not allowed", _NONE, "until"
    ),
    Known("the gradient of a loop that `until` ends early", "value", "grad", program="until"),
    Known(
        "a loop with random numbers whose updates are not given to the function",
        "value",
        "function",
        program=r"rs\.uniform\(\(\)\)",
    ),
    Known("a slice of a dimension of length 1 with bounds", "broadcastable", r"\[.*:", r".*True", r".*False"),
    Known("`arange` of complex numbers", "shape|value", "arange", program="complex"),
    Known("`&`, `^`, or of bool and integers", "error", r"[&|^]|T\.(x?or_?|and_)\(", "input to a BitOp", _NONE),
    Known(
        "negative axes of `addbroadcast`",
        "error",
        r"addbroadcast\(\w+, -|unbroadcast",
        _NONE,
        "Rebroadcast|change the broadcast pattern",
    ),
    Known("variance with `ddof` over several axes", "value", r"(var|std)\(.*ddof"),
    Known(
        "gamma functions at their poles",
        "value",
        "",
        r"inf|nan|e\+[1-3]",
        r"inf|nan|e\+[1-3]",
        program=r"T\.(gamma|psi|gammaln|tri_gamma)\(",
    ),
    Known(
        "integers to negative powers, polar numbers of negative length",
        "value",
        r"^(?!.*grad\().*(power|pow\(|\*\*)",
        program=r"TensorType\('(bool|u?int|complex)",
    ),
    Known("numeric gradients in float32", "value", "numeric_grad", program="float32", near=0.02),
    Known("`T.constant(True)`", "dtype", r"constant\(True\)", "int", "bool|u?int"),
    Known("`T.constant(True)`", "text", "", r"TensorConstant\{1\}", r"TensorConstant\{True\}", r"T\.constant\(True\)"),
    Known("the graph that a function builds", "length|value", r"gof\.graph\.(inputs|ancestors)\("),
    Known(
        "the gradient with respect to integers of products of more dimensions",
        "value|dtype",
        r"grad\(",
        program=r"TensorType\('(u?int|bool)[\s\S]*T\.(tensor|batched_|batched_tensor)?dot\(",
    ),
    Known("`//` of complex numbers", "error", r"//|int_div|floor_div|divmod", f"{_NONE}|compute test value", "ComplexError"),
    Known("`&`, `^`, or of bool and integers", "error", r"[&|^]|T\.(x?or_?|and_)\(", _NONE, "no integer type holds"),
    Known("initial values of `scan` with one step", "error", "scan", _NONE, "The initial value of output"),
    Known("a loop of no outputs and one step", "kind", "", "list", "NoneType"),
    Known("an index with `None` that the original cannot take", "error", "take", "cannot drop", _NONE),
    Known("a given for a shared variable that is not used", "error", "", "UnusedInputError", "", r"givens=(\[\(s, |\{s: )"),
    Known(
        "`repeat` of unsigned integers, `roll` of nothing",
        "error",
        "repeat|roll",
        "don't support dtype uint64|ZeroDivisionError",
        _NONE + "|out of bounds",
    ),
    Known(
        "bad axes of `diff`, `roll`, `repeat`, `take`, `topk`, cumulative sums",
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
        "^(AdvancedBooleanIndexingError|ValueError|IndexError|TypeError).*([Bb]ool|mask)",
    ),
    Known("gradients that are zero", "error", r"grad\(", "Diag only apply on square matrix", _NONE, r"S\.diag\("),
    Known(
        "differences of unsigned integers within others, as `x - (m - n)`",
        "value",
        r"T\.sub\(| - ",
        "",
        r"e\+(09|19)",
        r"TensorType\('uint(32|64)",
    ),
    Known(
        "`get_scalar_constant_value` of complex numbers",
        "error",
        r"get_scalar_constant_value\(1j",
        "NotScalarConstantError",
        _NONE,
    ),
    Known("the class of an error in values", "error", "", "^TypeError: ufunc", "^ValueError: Input dimension mis-match"),
    Known(
        "gradients that are zero",
        "error",
        r"grad\(",
        r"not aligned|shape mismatch|Shape mismatch|IndexError: index -?\d+ is out of bounds",
        _NONE,
    ),
    Known("a matrix to the power 1", "name", r"matrix_power\(\w+, 1\)"),
    Known("a matrix to the power 1", "text", "", r"TensorConstant\{1\}", r"^(?!.*TensorConstant)", r"matrix_power\(\w+, 1\)"),
    Known(
        "products and `//` under the policy `numpy+floatX`",
        "dtype",
        r"dot|//|matrix_power",
        "float64",
        "float32",
        program="numpy.floatX",
    ),
    Known("`set_subtensor` of an index with `None`", "shape|broadcastable", "subtensor.*(None|newaxis)"),
    Known(
        "the class of an error in values",
        "error",
        "",
        "^(ValueError|TypeError)",
        "^AssertionError: (local_|A sequence|Shape)",
    ),
    Known("the broadcastable pattern of results", "broadcastable", "diff"),
    Known("convolution of images and filters of two dtypes", "dtype", "conv2d"),
    Known(
        "convolution of images and filters of two dtypes",
        "text",
        "",
        r"AbstractConv2d",
        r"float64\(|Elemwise\{Cast\{float",
        r"conv2d\(",
    ),
    Known("convolution of images and filters of two dtypes", "error", r"conv2d\(", "LocalMetaOptimizerSkipAssertionError", _NONE),
    Known(
        "`max`, `min`, `argmax`, `ptp` over `axis=()`", "broadcastable|shape", "m[0-9]", program=r"max_and_argmax\(.*axis=\(\)"
    ),
    Known("sums that keep dimensions along a symbolic or NumPy axis", "error", "keepdims", "constant axis", _NONE),
    Known("`isclose`, `allclose` and `erf` functions of complex numbers", "error", "isclose|allclose", "abs", _NONE),
    Known("the class of an error in values", "error", r"grad\(", "^AssertionError: *($|\n)", "NotImplementedError"),
    Known(
        "functions of int8, int16 and bool in Python mode",
        "value",
        "",
        program=r"(astype\('u?int(8|16)'\)|TensorType\('(bool|u?int(8|16))')[\s\S]*"
        r"(angle|2deg|2rad|exp|log|sin|cos|tan|sqrt|erf|gamma|psi|inv|sigmoid|softplus|softsign)\w*\(",
        near=0.01,
    ),
    Known(
        "functions of int8, int16 and bool in Python mode",
        "value",
        r"^f\d|=",
        program=r"(y\d) = \(\w+ [<>]=? [^\n]*\)\n[\s\S]* = T\."
        r"(angle|2deg|2rad|exp|log|a?sin|arcsin|cos|tan|sqrt|erf|gamma|psi|inv|sigmoid|softplus|softsign)\w*\(\1\)",
        near=0.01,
    ),
    Known("a Python bool beside an operator", "error", "True", "AsTensorError", "unsupported operand"),
    Known("parts of a dimension of length 1 that is split", "broadcastable", "split", r".*True", r".*False"),
    Known("`T.real` of a real variable, `nnet.relu` with a slope of 1", "name", r"T\.real\(|relu\(.*, 1\)"),
    Known(
        "`T.real` of a real variable, `nnet.relu` with a slope of 1",
        "text",
        "",
        r"real\(|Elemwise\{real",
        "^((?!real)[\\s\\S])*$",
        r"T\.real\(",
    ),
    Known("`-x` of uint64", "value", "", program=r"uint64[\s\S]*(-s\)|= -|neg\()"),
    Known(
        "`argmin`, `min` of unsigned integers and bools", "text", r"(pprint|debugprint)\(", "", "invert", r"(argmin|min|ptp)\("
    ),
    Known("`argmin`, `min` of unsigned integers and bools", "value", r"argmin|min|ptp", program=r"TensorType\('(uint|bool)"),
    Known(
        "comparisons of a variable with itself, as `x >= x`, whose shape does not fit what follows",
        "error",
        "",
        _NONE,
        "AssertionError: local_elemwise_alloc: the shapes",
        r"(\w+) ([<>]=?) \1\b|T\.(eq|neq|ge|le|lt|gt)\((\w+), \4\)",
    ),
    Known(
        "the shape of operands that do not fit, where nothing but it is asked for",
        "shape",
        r"(ones|zeros)_like\(|\.shape|fill\(",
    ),
    Known(
        "the shape of operands that do not fit, where nothing but it is asked for",
        "dense",
        r"grad\(",
        program=r"a, b = S.matrix[\s\S]*(\w\d) = S\.diag\(a\)[\s\S]*sp_sum\(\1\)",
    ),
    Known(_NO_SENSE, "error", r"theano\.pp\(x\d, ", "^TypeError: Not enough arguments to call", _CLASSES),
    Known(_NO_SENSE, "error", r"T\.tensordot\(\w+, \w+, -7\)", _NONE, "axes should be a natural number"),
    Known("the format of gradients of stacked sparse matrices", "type|format", r"grad\(", "cs[cr]", "cs[cr]", r"[vh]stack\("),
    Known(
        "bad axes of `diff`, `roll`, `repeat`, `take`, `topk`, cumulative sums",
        "error",
        r"T\.take\(.*axis=",
        _NONE,
        "IndexError: axis -?\\d+ is out of bounds",
    ),
    Known(
        "`rad2deg` and `deg2rad` of complex numbers",
        "error",
        r"(rad2deg|deg2rad)\(",
        _NONE,
        "TypeError: complex argument not supported",
    ),
    Known(_NO_SENSE, "error", r"theano\.In\(a, value=np\.ones", "truth value of an array", "Wrong number of dimensions"),
    Known("batch normalization of bools", "error", r"batch_normalization\w*\(", "bool output not supported", _NONE),
    Known(
        "gradients with respect to complex numbers that a real loop does not use",
        "error",
        r"grad\(.*disconnected_inputs='ignore'",
        "Casting from complex to real is ambiguous",
        _NONE,
        r"theano\.scan\(",
    ),
    Known(
        "the gradient with respect to a float32 variable of a float64 expression",
        "text",
        r"(pprint|debugprint)\(",
        "",
        r"^(float32\(|Elemwise\{Cast\{float32\}\} \[id A\])",
        r"T\.(Lop|grad)\(",
    ),
    # Texts.
    Known(
        "`epsilon` of batch normalization of another dtype, in texts",
        "text",
        "",
        r"TensorConstant\{1e-04\}",
        r"float64\(TensorConstant\{1e-04\}\)|Elemwise\{Cast\{float64\}\} \[id \w+\] ''   \n[ |]*TensorConstant\{1e-04",
        r"batch_normalization",
    ),
    Known(
        "constants in texts: `-1` in the shape of a reshaping, the lengths of an `alloc`",
        "text",
        "",
        r"u?int\d+\(TensorConstant\{-?\d+\}\)|Elemwise\{Cast\{u?int\d+\}\} \[id \w+\] ''   \n[ |]*TensorConstant",
        "TensorConstant",
        r"reshape\(|MakeVector|stack\(",
    ),
    Known(
        "constants in texts: `-1` in the shape of a reshaping, the lengths of an `alloc`",
        "text",
        "print_type=True",
        r"TensorConstant\{\d+\} \[id \w+\] <TensorType\(int(8|16), scalar\)>",
        r"TensorConstant\{\d+\} \[id \w+\] <TensorType\(int64, scalar\)>",
        r"T\.alloc\(",
    ),
    Known(
        "`pprint` of slices",
        "text",
        r"pprint\(",
        r"\[[^]]*:u?int\d+|\[[^]]*u?int\d+:",
        r"\[[^]]*(:(Constant|Scalar)|(\}|\)):)",
        r"x\d\[.*:",
    ),
    Known("`pprint` of slices", "bounds", r"pprint|pp\(|f\d?|z\d|y\d"),
    Known("a constant slice beside index arrays", "text", "", "MakeSlice", "SliceConstant"),
    Known("the order of operations that do not depend on each other", "order", ""),
    Known("the graph that a function builds", "names", "", program=r"(grad|Lop|Rop|hessian|jacobian|std|var)\("),
    *_BUILT,
    Known(
        "the graph that a function builds",
        "text|length",
        r"^report\(\[str\(n\.op\) for n in f\.maker|^report\(theano\.printing\.debugprint\(f,",
        program=r"T\.grad\(|T\.dot\(|isclose|allclose|repeat|tile|std\(|var\(|mean\(|outer|diag|argmin|min\(|zeros_like|isnan|T.alloc",
    ),
    Known(
        "a negative constant axis of `join` in texts",
        "text",
        "",
        "Constant",
        r"Constant\{-\d",
        program=r"join\(|concatenate|stack",
    ),
]


def _distance(difference: Difference) -> float:
    """How far the numbers of the two sides are apart, relative to the largest; infinite where they are not as many."""
    sides = [np.array(re.findall(r"-?\d+\.?\d*(?:e[-+]\d+)?", text), float) for text in (difference.original, difference.ours)]
    a, b = (side[: min(map(len, sides))] for side in sides)
    return float(np.abs(a - b).max() / np.abs(a).max()) if a.size and np.abs(a).max() else float("inf")


def reason(program: str, difference: Difference) -> str | None:
    """Why a difference is meant; None: it is not known to be."""
    statement, program = meant_by(program, difference.line), behind(program, difference.line)
    for known in KNOWN:
        if (
            re.fullmatch(known.what, difference.what)
            and re.search(known.statement, statement)
            and re.search(known.original, difference.original)
            and re.search(known.ours, difference.ours)
            and re.search(known.program, program)
            and (np.isinf(known.near) or _distance(difference) <= known.near)
        ):
            return known.reason
    return None
