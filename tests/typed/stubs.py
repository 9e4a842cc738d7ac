"""The stubs of the packages whose names come from many places, made from the running package and the tables below.

``python -m tests.typed.stubs`` writes them; a test tells when they are out of date. What a program imports from other
modules has its types in the source.
"""

from __future__ import annotations

import importlib
import inspect
import pathlib
import re
import sys
import types
from typing import Any

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "theano"
FIRST = '''"""Types of the names of this {kind}. Made by ``python -m tests.typed.stubs``."""

'''

#: What functions return that return no TensorVariable.
RETURNS = {
    "theano.tensor": {
        "adv_index_broadcastable_pattern": "tuple[bool, ...]",
        "as_index_variable": "Variable",
        "alloc_validate_shape": "tuple[list[Any], tuple[bool, ...]]",
        "autocast_float_as": "AbstractContextManager[None]",
        "check_and_normalize_axes": "list[int]",
        "check_equal_numpy": "bool",
        "constant": "TensorConstant",
        "constant_or_value": "Any",
        "constructor": "Any",
        "divmod": "tuple[TensorVariable, TensorVariable]",
        "extract_constant": "Any",
        "get_canonical_form_slice": "tuple[Any, Any]",
        "get_idx_list": "Any",
        "get_scalar_constant_value": "NDArray[Any]",
        "get_vector_length": "int",
        "irecv": "list[Variable]",
        "is_flat": "bool",
        "isend": "list[Variable]",
        "make_constant": "tuple[Any, ...]",
        "make_slice": "Variable",
        "max_and_argmax": "list[TensorVariable]",
        "nonzero": "Any",
        "normalize_axes": "tuple[int, ...]",
        "numpy_scalar": "NDArray[Any]",
        "pp": "str",
        "register_transfer": "None",
        "scalar_constructor": "TensorSharedVariable",
        "send": "list[Variable]",
        "shape_i": "Variable",
        "shared": "TensorSharedVariable",
        "slice_len": "Any",
        "split": "list[TensorVariable]",
        "tensor_constructor": "TensorSharedVariable",
        "tolerance_between": "tuple[float, float]",
        "topk_and_argtopk": "list[TensorVariable]",
        "transfer": "Any",
        "unravel_index": "Any",
        "values_eq_approx_always_true": "bool",
        "values_eq_approx_remove_inf": "bool",
        "values_eq_approx_remove_inf_nan": "bool",
        "values_eq_approx_remove_nan": "bool",
        "verify_grad": "None",
    },
    "theano.tensor.nnet": {
        "batch_normalization_train": "tuple[TensorVariable, ...]",
        "confusion_matrix": "list[TensorVariable]",
        "crossentropy_softmax_max_and_argmax_1hot": "list[TensorVariable]",
        "crossentropy_softmax_max_and_argmax_1hot_with_bias": "list[TensorVariable]",
        "softmax_simplifier": "tuple[list[Any], list[Any]]",
    },
    "theano.tensor.var": {
        "__bool__": "bool",
        "__divmod__": "tuple[TensorVariable, TensorVariable]",
        "__rdivmod__": "tuple[TensorVariable, TensorVariable]",
        "__iter__": "Iterator[TensorVariable]",
        "broadcastable": "tuple[bool, ...]",
        "dtype": "str",
        "get_scalar_constant_value": "NDArray[Any]",
        "ndim": "int",
        "nonzero": "Any",
        "transfer": "Any",
    },
}  # fmt: skip

#: Functions whose result depends on what they are given, written out.
_OF_WRT = """\
@overload
def {name}({first}, wrt: Variable{rest}) -> TensorVariable: ...
@overload
def {name}({first}, wrt: Sequence[Variable]{rest}) -> list[TensorVariable]: ...
"""
_GRAD_REST = (
    ", consider_constant: Iterable[Variable] | None = ..., disconnected_inputs: str = ..., add_names: bool = ...,"
    " known_grads: Mapping[Any, Any] | None = ..., return_disconnected: str = ..., null_gradients: str = ..."
)
_LOOP_REST = ", consider_constant: Iterable[Variable] | None = ..., disconnected_inputs: str = ..."
_ROP_REST = ", eval_points: Any, disconnected_outputs: str = ..., return_disconnected: str = ..."
_LOP_REST = ", eval_points: Any, consider_constant: Iterable[Variable] | None = ..., disconnected_inputs: str = ..."
_ROP = """\
@overload
def Rop(f: Variable, wrt: Variable | Sequence[Variable]{rest}) -> TensorVariable: ...
@overload
def Rop(f: Sequence[Variable], wrt: Variable | Sequence[Variable]{rest}) -> list[TensorVariable]: ...
"""
GRADIENTS = {
    "grad": _OF_WRT.format(name="grad", first="cost: Variable | None", rest=_GRAD_REST),
    "jacobian": _OF_WRT.format(name="jacobian", first="expression: Variable", rest=_LOOP_REST),
    "hessian": _OF_WRT.format(name="hessian", first="cost: Variable", rest=_LOOP_REST),
    "Lop": _OF_WRT.format(name="Lop", first="f: Any", rest=_LOP_REST),
    "Rop": _ROP.format(rest=_ROP_REST),
}
_FUNCTION_REST = """mode: Any = ..., updates: Any = ..., givens: Any = ...,
    no_default_updates: bool | list[Any] = ..., accept_inplace: bool = ..., name: str | None = ..., rebuild_strict: bool = ...,
    allow_input_downcast: bool | None = ..., profile: Any = ..., on_unused_input: str | None = ..."""
_FUNCTION = "".join(
    f"@overload\ndef function(\n    inputs: Sequence[Variable | In], outputs: {outputs}, {_FUNCTION_REST},\n"
    f") -> _Compiled[{result}]: ...\n"
    for outputs, result in (
        ("TensorVariable | TensorSharedVariable | ScalarSharedVariable | TensorConstant", "NDArray[Any]"),
        ("Variable | Out", "Any"),
        ("Mapping[str, Any]", "dict[str, Any]"),
        ("Sequence[TensorVariable]", "list[NDArray[Any]]"),
        ("Sequence[Variable | Out]", "list[Any]"),
        ("None = ...", "list[Any]"),
    )
)
_SHARED = """\
@overload
def shared(
    value: int | float | complex | np.generic, name: str | None = ..., strict: bool = ..., allow_downcast: bool | None = ...,
    **kwargs: Any,
) -> ScalarSharedVariable: ...
@overload
def shared(
    value: NDArray[Any], name: str | None = ..., strict: bool = ..., allow_downcast: bool | None = ..., **kwargs: Any
) -> TensorSharedVariable: ...
@overload
def shared(
    value: Any, name: str | None = ..., strict: bool = ..., allow_downcast: bool | None = ..., **kwargs: Any
) -> Any: ...
"""
_SCAN_REST = """sequences: Any = ..., outputs_info: Any = ..., non_sequences: Any = ..., n_steps: Any = ...,
    truncate_gradient: int = ..., go_backwards: bool = ..., mode: Any = ..., name: str | None = ..., profile: Any = ...,
    allow_gc: bool | None = ..., strict: bool = ..."""
# A step that returns one variable gives one; a list of one does so, too, and a tuple may hold updates.
_SCAN = "".join(
    f"@overload\ndef scan(\n    fn: Callable[..., {step}], {_SCAN_REST}, {last}\n) -> tuple[{result}, OrderedUpdates]: ...\n"
    for step, last, result in (
        ("Any", "*, return_list: Literal[True]", "list[TensorVariable]"),
        ("TensorVariable", "return_list: Literal[False] = ...", "TensorVariable"),
        ("Any", "return_list: bool = ...", "Any"),
    )
)
WRITTEN = {"theano.tensor": GRADIENTS, "theano": {**GRADIENTS, "function": _FUNCTION, "scan": _SCAN, "shared": _SHARED}}
del WRITTEN["theano"]["jacobian"], WRITTEN["theano"]["hessian"]

_TYPES = """\
class SupportsArray(Protocol):
    def __array__(self) -> Any: ...

class SupportsDLPack(Protocol):
    def __dlpack__(self) -> Any: ...

# A text is a sequence, too, so lists and tuples are named.
TensorLike: TypeAlias = (
    Variable | np.ndarray[Any, Any] | np.generic | complex | list[Any] | tuple[Any, ...] | range | SupportsArray | SupportsDLPack
)
Axis: TypeAlias = int | Sequence[int] | None
DType: TypeAlias = str | type | np.dtype[Any] | None
"""
_HEAD_VAR = """\
import builtins
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theano.gof.graph import Constant, Variable
from theano.tensor.type import TensorType

class AsTensorError(TypeError): ...
class SymbolicValueError(TypeError, AttributeError): ...

"""
_TAIL_VAR = """\
class TensorVariable(_tensor_py_operators, Variable):
    type: TensorType
    def __init__(self, type: TensorType, owner: Any = ..., index: int | None = ..., name: str | None = ...) -> None: ...
    def clone(self) -> TensorVariable: ...
    def eval(self, inputs_to_values: Any = ...) -> NDArray[Any]: ...

class TensorConstantSignature(tuple[Any, ...]):
    def theano_hash(self) -> int: ...
    @property
    def sum(self) -> Any: ...
    @property
    def no_nan(self) -> NDArray[Any]: ...
    @property
    def has_nan(self) -> builtins.bool: ...

class TensorConstant(_tensor_py_operators, Constant):
    type: TensorType
    data: NDArray[Any]
    def __init__(self, type: TensorType, data: Any, name: str | None = ...) -> None: ...
    def signature(self) -> TensorConstantSignature: ...
    def equals(self, other: Any) -> builtins.bool: ...
    def clone(self) -> TensorConstant: ...
    def eval(self, inputs_to_values: Any = ...) -> NDArray[Any]: ...

def equal_slices(s1: slice, s2: slice) -> builtins.bool: ...
"""
_OPERATIONS = """\
class _Unary(Elemwise):
    def __call__(self, a: TensorLike, /) -> TensorVariable: ...

class _Binary(Elemwise):
    def __call__(self, a: TensorLike, b: TensorLike, /) -> TensorVariable: ...

class _Ternary(Elemwise):
    def __call__(self, a: TensorLike, b: TensorLike, c: TensorLike, /) -> TensorVariable: ...

class _Several(Elemwise):
    def __call__(self, a: TensorLike, /, *more: TensorLike) -> TensorVariable: ...

class _Operation(Op):
    def __call__(self, *inputs: Any, **kwargs: Any) -> TensorVariable: ...

"""
_HEAD_TENSOR = """\
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any as _Any
from typing import overload

from numpy.typing import NDArray

from theano.gof.op import Op
from theano.tensor.var import Axis, DType, TensorLike
from theano.tensor.var import _tensor_py_operators as _tensor_py_operators
"""
_HEAD_NNET = """\
from typing import Any as _Any

from theano.gof.op import Op
from theano.tensor.elemwise import Elemwise
from theano.tensor.var import TensorLike, TensorVariable
"""
_PLURAL = """\
class _Maker(TensorType):
    def __call__(self, name: str | None = ...) -> TensorVariable: ...

class _Plural:
    @overload
    def __call__(self, number: int, /) -> list[TensorVariable]: ...
    @overload
    def __call__(self, names: str, /) -> Any: ...
    @overload
    def __call__(self, first: str, second: str, /, *more: str) -> list[TensorVariable]: ...

"""
_HEAD_THEANO = """\
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any as _Any
from typing import Generic as _Generic
from typing import Literal, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from theano.compile.function_object import Function
from theano.tensor.sharedvar import ScalarSharedVariable, TensorSharedVariable
from theano.tensor.var import TensorConstant, TensorVariable
"""
_COMPILED = """\
_Result = TypeVar("_Result")

class _Compiled(Function, _Generic[_Result]):
    def __call__(self, *args: Any, **kwargs: Any) -> _Result: ...

"""
#: The imports and the classes that a stub begins with.
HEADS = {
    "theano.tensor": (_HEAD_TENSOR, _OPERATIONS + _PLURAL),
    "theano.tensor.nnet": (_HEAD_NNET, _OPERATIONS),
    "theano": (_HEAD_THEANO, _COMPILED),
}
#: Modules that a package has because its own file uses them.
NOT_MEANT = {"aliases", "process", "tests", "theano"}


def _home(value: Any) -> str:
    """The module in whose file a class or function stands."""
    path = pathlib.Path(inspect.getsourcefile(value) or "").resolve()
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _annotation(parameter: inspect.Parameter) -> str:
    name, given = parameter.name, str(parameter.annotation).strip("'").replace("_AnyType", "Any")
    if name == "axis":
        return "Axis"
    if name in ("dtype", "acc_dtype"):
        return "DType"
    unknown = parameter.annotation is inspect.Parameter.empty or given == "Any"
    if unknown and isinstance(parameter.default, bool):
        return "bool"
    if not unknown:
        return given if re.fullmatch(r"[\w\[\], |.]*", given) and "Callable" not in given else "Any"
    if parameter.default is inspect.Parameter.empty and name not in ("axes", "path", "f", "op", "wrt"):
        return "TensorLike" if parameter.kind is not inspect.Parameter.VAR_KEYWORD else "Any"
    if isinstance(parameter.default, (int, float)):
        return "TensorLike"
    return "Any"


def _parameters(function: Any, method: bool = False) -> str:
    written, marked = [], False
    for index, p in enumerate(inspect.signature(function).parameters.values()):
        if p.kind is p.VAR_POSITIONAL:
            written.append(f"*{p.name}: {_annotation(p)}")
            marked = True
        elif p.kind is p.VAR_KEYWORD:
            written.append(f"**{p.name}: {_annotation(p)}")
        elif method and index == 0:
            written.append("self")
        else:
            if p.kind is p.KEYWORD_ONLY and not marked:
                written.append("*")
                marked = True
            written.append(f"{p.name}: {_annotation(p)}" + (" = ..." if p.default is not p.empty else ""))
    return ", ".join(written)


def _value_line(name: str, value: Any) -> str | None:
    """How a name that is no module, class or function is written."""
    from theano.gof.op import PureOp
    from theano.tensor.constructors import _Plural
    from theano.tensor.elemwise import Elemwise
    from theano.tensor.type import TensorType

    if isinstance(value, TensorType):
        return f"{name}: _Maker"
    if isinstance(value, Elemwise):
        kind = {1: "_Unary", 2: "_Binary", 3: "_Ternary"}.get(value.scalar_op.nin, "_Several")
        return f"{name}: {kind}"
    if isinstance(value, _Plural):
        return f"{name}: _Plural"
    if isinstance(value, PureOp):
        return f"{name}: _Operation"
    if isinstance(value, (str, bool, float)):
        return f"{name}: {type(value).__name__}"
    if isinstance(value, tuple):
        return f"{name}: tuple[{'str' if value and isinstance(value[0], str) else 'Any'}, ...]"
    if isinstance(value, dict):
        return f"{name}: dict[Any, Any]"
    return f"{name}: Any"


def public_names(module: types.ModuleType) -> list[str]:
    """Return the names that a program may take from a module, those that wait until they are asked for included."""
    from theano import aliases

    own = {name for name in vars(module) if not name.startswith("_")} - {"annotations", "np"}
    # A module keeps what it has passed on to somebody; nobody documents it.
    own -= set(aliases.passed_on(module.__name__))
    lazy = {*getattr(module, "_lazy_names", ()), *getattr(module, "_lazy_modules", ())}
    packages = set(aliases.MODULES.get(module.__name__, "").split())
    # What was imported somewhere in this process is no more public than before.
    loaded = {name for name in own if isinstance(vars(module)[name], types.ModuleType)}
    named = {name for name in loaded if re.search(rf"import [^#\n]*\b{name}\b", pathlib.Path(module.__file__ or "").read_text())}
    return sorted(((own - loaded) | named | set(aliases.names(module.__name__)) | lazy | packages) - NOT_MEANT)


def package_stub(package: str) -> str:
    """Return the text of the stub of a package."""
    module = importlib.import_module(package)
    returns, written = RETURNS.get(package, {}), WRITTEN.get(package, {})
    imports, lines = [], []
    head, classes = HEADS[package]
    for name in public_names(module):
        value = getattr(module, name, None)
        if name in written:
            lines.append(written[name].rstrip())
        elif value is None:
            continue
        elif isinstance(value, types.ModuleType):
            home, _, last = value.__name__.rpartition(".")
            imports.append(f"from {home} import {last} as {name}" if home else f"import {last} as {name}")
        elif isinstance(value, type):
            imports.append(f"from {_home(value)} import {value.__name__} as {name}")
        elif isinstance(value, types.FunctionType) and package == "theano":
            home = _home(value)
            lines.append(f"def {name}({_parameters(value)}) -> Any: ..." if home == package else "")
            if home != package:
                imports.append(f"from {home} import {value.__name__} as {name}")
        elif isinstance(value, types.FunctionType):
            parameters = _parameters(value)
            if name in ("join", "concatenate", "split"):
                parameters = parameters.replace(": Axis", ": TensorLike")
            lines.append(f"def {name}({parameters}) -> {returns.get(name, 'TensorVariable')}: ...")
        elif package == "theano" and not isinstance(value, (str, dict)):
            lines.append("")
            imports.append(_import_of(module, name))
        else:
            lines.append(_value_line(name, value) or "")
    # Packages have names such as Any that stand for something else.
    body = re.sub(r"\bAny\b", "_Any", classes + "\n".join(line for line in lines if line))
    return FIRST.format(kind="package") + head + "\n".join(sorted(set(imports))) + "\n\n" + body + "\n"


def _import_of(module: types.ModuleType, name: str) -> str:
    """The statement of the source that brings a value into a package."""
    source = pathlib.Path(module.__file__ or "").read_text(encoding="utf-8")
    for home, names in re.findall(r"from ([\w.]+) import (\([^)]*\)|[^\n]*)", source):
        if re.search(rf"\b{name}\b", names):
            return f"from {home} import {name} as {name}"
    raise LookupError(name)


def variables_stub() -> str:
    """Return the text of the stub of ``theano.tensor.var``."""
    from theano.tensor.var import _tensor_py_operators

    returns = RETURNS["theano.tensor.var"]
    lines = ["class _tensor_py_operators:"]
    for name, value in vars(_tensor_py_operators).items():
        if name.startswith("__array_") or name in ("_is_nonzero", "__module__", "__dict__", "__weakref__", "__doc__"):
            continue
        result = returns.get(name, "TensorVariable").replace("bool", "builtins.bool")
        if isinstance(value, property):
            lines += ["    @property", f"    def {name}(self) -> {result}: ..."]
        elif isinstance(value, types.FunctionType):
            parameters = re.sub(r": bool\b", ": builtins.bool", _parameters(value, method=True))
            if name in ("dimshuffle", "transpose", "__getitem__"):
                parameters = parameters.replace("TensorLike", "Any")
            if name.startswith("__"):
                parameters = parameters.replace(": Any", ": TensorLike") if "other" in parameters else parameters
            lines.append(f"    def {name}({parameters}) -> {result}: ...")
    text = "\n".join(lines)
    # Comparisons of Variable raise, those of tensors build graphs; both take anything.
    text = re.sub(r"def (__[lg][te]__)\(self, other: \w+\)", r"def \1(self, other: TensorLike)", text)
    return FIRST.format(kind="module") + _HEAD_VAR + _TYPES + "\n" + text + "\n\n" + _TAIL_VAR


def stubs() -> dict[pathlib.Path, str]:
    """Return the texts of all stubs."""
    return {
        PACKAGE / "tensor" / "var.pyi": variables_stub(),
        PACKAGE / "tensor" / "__init__.pyi": package_stub("theano.tensor"),
        PACKAGE / "tensor" / "nnet" / "__init__.pyi": package_stub("theano.tensor.nnet"),
        PACKAGE / "__init__.pyi": package_stub("theano"),
    }


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(PACKAGE.parent), len(text.splitlines()), file=sys.stderr)
