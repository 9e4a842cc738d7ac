"""What `help` says of an elementwise operation, from what the operation itself knows: its names, dtypes and values."""

from __future__ import annotations

import importlib
import inspect
import textwrap
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from theano import scalar as scal
from theano.tensor.type import tensor_type

_KINDS = {
    "bool": {"bool"},
    "integers": {str(t) for t in scal.int_types + scal.uint_types},
    "floats": {str(t) for t in scal.float_types},
    "complex numbers": {str(t) for t in scal.complex_types},
}
_DTYPES = [str(t) for t in scal.all_types]
#: Arguments of the example, by how many there are: the first of which the results are finite, differ from each other and from
#: the argument.
_NUMBERS: dict[int, list[tuple[str, ...]]] = {
    1: [
        *[("[0.5, 1.0]",), ("[1.5, 2.0]",), ("[-0.5, 0.5]",), ("[-0.5, 2.0]",)],
        *[("[float('nan'), 1.0]",), ("[float('inf'), 1.0]",), ("[6, 3]",), ("[1 + 2j, 3 - 1j]",)],
    ],
    2: [("[1.0, 3.0]", "[2.0, 3.0]"), ("[1.0, 4.0]", "[3.0, 2.0]"), ("[6, 3]", "[3, 5]")],
    3: [("[-1.0, 5.0]", "0.0", "1.0"), ("[0.5, 0.25]", "[1.0, 2.0]", "[2.0, 3.0]")],
}
_CHOICE = [("[True, False]", "[1.0, 2.0]", "[3.0, 4.0]")]
#: In place the result lies where the condition was.
_CHOICE_INPLACE = [("[1.0, 0.0]", "[1.0, 2.0]", "[3.0, 4.0]")]

#: Operations that belong together, by name: inverses, counterparts, special cases. The first ones of a line come first.
_FAMILIES = """
exp log expm1 exp2
log exp log1p log2 log10
exp2 log2
expm1 log1p
log10 log2 log
sin arcsin cos tan
cos arccos sin
tan arctan arctan2
sinh arcsinh cosh tanh
cosh arccosh
tanh arctanh sigmoid
add sub mul
mul true_div pow
true_div int_div mod
int_div mod
neg sub
inv true_div
pow sqr sqrt
sqrt sqr
abs_ sgn
maximum minimum clip
ceil floor trunc
round_half_to_even round_half_away_from_zero
eq neq
lt le gt ge
and_ or_ xor invert
isnan isinf
switch clip maximum
erf erfinv erfc
erfc erfcinv erfcx
gamma gammaln psi
psi tri_gamma
gammainc gammaincc
gammal gammau
chi2sf gammaincc
i0 i1 iv
j0 j1 jv
deg2rad rad2deg
complex complex_from_polar conj
angle complex_from_polar
second tensor_copy
sigmoid ultra_fast_sigmoid softplus
"""


def _text_of_dtypes(dtypes: Sequence[str]) -> str:
    rest, words = set(dtypes), []
    for kind, members in _KINDS.items():
        if members <= rest:
            words.append(kind)
            rest -= members
    words += [d for d in dtypes if d in rest]
    return ", ".join(words[:-1]) + (" and " if len(words) > 1 else "") + words[-1]


def _result_dtypes(op: Any, names: Sequence[str]) -> dict[str, str]:
    """The dtype of the result for each dtype of all inputs; those that are refused, or have no values, are not there."""
    found = {}
    for dtype in _DTYPES:
        dtypes = ["bool" if name == "cond" else dtype for name in names]
        storage: list[list[Any]] = [[None]]
        try:
            node = op.make_node(*[tensor_type(d, (False,))() for d in dtypes])
            with np.errstate(all="ignore"), warnings.catch_warnings():
                # The imaginary part is lost.
                warnings.simplefilter("error", np.exceptions.ComplexWarning)
                op.perform(node, [np.ones(1, d) for d in dtypes], storage)
        except (TypeError, NotImplementedError, np.exceptions.ComplexWarning):
            continue
        found[dtype] = node.outputs[0].type.dtype
    return found


def _sentence_of_result(results: dict[str, str], count: int) -> str:
    common = "of its dtype" if count == 1 else "of the dtype that all are cast to"
    if len(set(results.values())) == 1:
        return f"of dtype {next(iter(results.values()))}"
    groups: dict[str, list[str]] = {}
    for dtype, result in results.items():
        groups.setdefault("" if dtype == result else result, []).append(dtype)
    if list(groups) == [""]:
        return common
    parts = [f"{result} for {_text_of_dtypes(dtypes)}" for result, dtypes in groups.items() if result]
    if "" in groups:
        parts.insert(0, f"{common} for {_text_of_dtypes(groups[''])}")
    return "; ".join(parts)


def _example(op: Any, path: str, names: Sequence[str]) -> list[str]:
    kept: list[str] = []
    choices = _CHOICE_INPLACE if op.inplace_pattern else _CHOICE
    for arguments in choices if names[0] == "cond" else _NUMBERS[len(names)]:
        try:
            node = op.make_node(*[eval(argument) for argument in arguments])
            inputs = [_value(x) for x in node.inputs]
            storage: list[list[Any]] = [[None]]
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("error", np.exceptions.ComplexWarning)
                op.perform(node, [x.copy() for x in inputs], storage)
        except (TypeError, ValueError, NotImplementedError, np.exceptions.ComplexWarning):
            continue
        value = np.asarray(storage[0][0])
        lines = (_overwriting if op.inplace_pattern else _call)(path, arguments, node.inputs[0], value)
        differs = value.ndim and len(set(value.tolist())) > 1 and not np.array_equal(value, inputs[0])
        if np.isfinite(value).all() and differs:
            return lines
        kept = kept or lines
    return kept


def _call(path: str, arguments: Sequence[str], first: Any, value: np.ndarray) -> list[str]:
    return [">>> import theano.tensor as T", f">>> {path}({', '.join(arguments)}).eval()", *repr(value).split("\n")]


def _overwriting(path: str, arguments: Sequence[str], first: Any, value: np.ndarray) -> list[str]:
    """A call that shows that the result lies in the memory of the first argument."""
    applied = f"{path}({', '.join(['x', *arguments[1:]])})"
    made = {"float64": "dvector", "int64": "lvector", "complex128": "zvector"}[first.type.dtype]
    return [
        ">>> import numpy as np, theano",
        ">>> import theano.tensor as T",
        f'>>> x, value = T.{made}("x"), np.array({arguments[0]})',
        f">>> result = {applied}",
        '>>> f = theano.function([theano.In(x, mutable=True)], result, accept_inplace=True, mode="FAST_COMPILE")',
        ">>> f(value) is value, value",
        *f"(True, {value!r})".split("\n"),
    ]


def _value(x: Any) -> np.ndarray:
    """The value of a constant, or of one within a shuffle of dimensions."""
    if x.owner is None:
        return x.data
    storage: list[list[Any]] = [[None]]
    x.owner.op.perform(x.owner, [x.owner.inputs[0].data], storage)
    return storage[0][0]


def _same_elsewhere(op: Any) -> str | None:
    """The function of NumPy or SciPy that an operation is named after."""
    name = (op.nfunc_spec or (None,))[0]
    if name is None or name.startswith("theano."):
        return None
    module, _, attribute = name.rpartition(".")
    try:
        return f"{module or 'numpy'}.{attribute}" if hasattr(importlib.import_module(module or "numpy"), attribute) else None
    except ImportError:
        return None


def _family(op: Any) -> list[str]:
    """Lines of the operations of the same families: first those of the line that begins with this one."""
    members = [[op.described[name] for name in family.split()] for family in _FAMILIES.strip().splitlines()]
    ours = [family for family in members if any(other.scalar_op == op.scalar_op for other in family)]
    ours.sort(key=lambda family: family[0].scalar_op != op.scalar_op)
    others = [other for family in ours for other in family if other.scalar_op != op.scalar_op]
    described = dict(other.description for other in others)
    return [
        f"theano.tensor{path.removeprefix('T')} : {summary.strip().splitlines()[0]}" for path, summary in [*described.items()][:4]
    ]


def describe(op: Any, path: str, summary: str) -> str:
    """Return the docstring of an elementwise operation.

    Parameters
    ----------
    op : Elemwise
        The operation.
    path : str
        How programs write it: ``T.exp``, say, where ``import theano.tensor as T``.
    summary : str
        What it computes: a line, and more after an empty one.

    Returns
    -------
    str
        With the sections Parameters, Returns, Raises, See Also and Examples.
    """
    names = list(inspect.signature(op).parameters)
    many = op.scalar_op.nin < 0
    results = _result_dtypes(op, ["a", "b"] if many else names)
    refused = [d for d in _DTYPES if d not in results]
    count = 2 if many else len(names)
    accepted = "any dtype" if not refused else _text_of_dtypes(list(results))
    shape = "Of the shape of the input" if count == 1 else "Of the shape that all broadcast to"
    returned = f"{shape}, {_sentence_of_result(results, count)}."
    if op.inplace_pattern:
        returned = f"In the memory of the {'input' if count == 1 else 'first input'}: of its shape and dtype."
    sections = [
        ("Parameters", [("*" if many else "") + ", ".join(names) + " : tensor_like", f"    Of {accepted}."]),
        ("Returns", ["TensorVariable", *textwrap.wrap(returned, 110)]),
    ]
    sections[1][1][1:] = [f"    {line}" for line in sections[1][1][1:]]
    if refused:
        sections.append(("Raises", ["TypeError", f"    If {'it is' if count == 1 else 'one is'} of {_text_of_dtypes(refused)}."]))
    elsewhere = _same_elsewhere(op)
    related = [] if elsewhere is None else [f"{elsewhere} : The same of arrays."]
    if op.inplace_pattern:
        related.insert(0, f"theano.tensor.{path.rpartition('.')[2].removesuffix('_inplace')} : The same in memory of its own.")
    related += _family(op)
    if related:
        sections.append(("See Also", related))
    example = _example(op, path, ["a", "b"] if many else names)
    if example:
        sections.append(("Examples", example))
    text = inspect.cleandoc(summary)
    for title, lines in sections:
        text += "\n\n" + "\n".join([title, "-" * len(title), *lines])
    return text + "\n"
