"""Steps that apply elementwise: arithmetic, functions, comparisons, casts, complex numbers; and the reductions."""

from __future__ import annotations

import re

import numpy as np

from .graphs import FLOAT_FOR, Graph, Item, Reject, rule

#: Name -> (argument within the domain, NumPy meaning of the function; `a` and `{}` stand for the operand and argument).
SMOOTH = {
    "exp": ("a", "np.exp({})"),
    "exp2": ("a", "np.exp2({})"),
    "expm1": ("a", "np.expm1({})"),
    "log": ("abs(a) + 1", "np.log({})"),
    "log1p": ("abs(a)", "np.log1p({})"),
    "log2": ("abs(a) + 1", "np.log2({})"),
    "log10": ("abs(a) + 1", "np.log10({})"),
    "sqrt": ("abs(a) + 1", "np.sqrt({})"),
    "inv": ("abs(a) + 1", "1 / ({})"),
    "sin": ("a", "np.sin({})"),
    "cos": ("a", "np.cos({})"),
    "tan": ("a / (1 + a * a)", "np.tan({})"),
    "arcsin": ("a / (1 + a * a)", "np.arcsin({})"),
    "arccos": ("a / (1 + a * a)", "np.arccos({})"),
    "arctan": ("a", "np.arctan({})"),
    "sinh": ("a", "np.sinh({})"),
    "cosh": ("a", "np.cosh({})"),
    "tanh": ("a", "np.tanh({})"),
    "arcsinh": ("a", "np.arcsinh({})"),
    "arccosh": ("abs(a) + 2", "np.arccosh({})"),
    "arctanh": ("a / (1 + a * a)", "np.arctanh({})"),
    "erf": ("a", "sp.erf({})"),
    "erfc": ("a", "sp.erfc({})"),
    "erfcx": ("a", "sp.erfcx({})"),
    "erfinv": ("a / (1 + a * a)", "sp.erfinv({})"),
    "erfcinv": ("1 + a / (1 + a * a)", "sp.erfcinv({})"),
    "gamma": ("abs(a) + 0.5", "sp.gamma({})"),
    "gammaln": ("abs(a) + 0.5", "sp.gammaln({})"),
    "psi": ("abs(a) + 0.5", "sp.psi({})"),
    "tri_gamma": ("abs(a) + 0.5", "sp.polygamma(1, {})"),
    "j0": ("a", "sp.j0({})"),
    "j1": ("a", "sp.j1({})"),
    "i0": ("a", "sp.i0({})"),
    "i1": ("a", "sp.i1({})"),
    "deg2rad": ("a", "np.deg2rad({})"),
    "rad2deg": ("a", "np.rad2deg({})"),
    "nnet.sigmoid": ("a", "sp.expit({})"),
    "nnet.softplus": ("a", "np.logaddexp(0, {})"),
    "xlogx.xlogx": ("abs(a) + 0.5", "sp.xlogy({0}, {0})"),
}
#: Their gradient is not defined, in the original neither.
WITHOUT_GRADIENT = {"tri_gamma"}


def largest(x: Item) -> float:
    return float(np.max(np.abs(x.value.astype(complex)))) if x.value.size else 0.0


def modest(x: Item) -> bool:
    """Whether small arithmetic on `x` stays in the range of its dtype."""
    return largest(x) <= (10 if x.kind in "iub" else 30)


def float_for(dtype: str) -> str:
    return FLOAT_FOR.get(dtype, dtype)


@rule(14)
def function(g: Graph) -> None:
    name = g.rng.choice([n for n in SMOOTH if not (g.profile.differentiable and n in WITHOUT_GRADIENT)])
    argument, meaning = SMOOTH[name]
    x = g.pick("f" if g.profile.differentiable else "ffiub", where=modest)
    symbolic = re.sub(r"\ba\b", x.name, argument)
    numeric = re.sub(r"\ba\b", f"w({x.name})", argument)
    dtype = float_for(x.dtype) if argument == "a" else None
    g.apply(f"T.{name}({symbolic})", meaning.format(f"({numeric})"), dtype=dtype, working=float_for(x.dtype))


@rule(8)
def exact_unary(g: Graph) -> None:
    name = g.rng.choice(["neg", "abs_", "sqr", "sgn", "invert", "positive"])
    if name == "invert":
        x = g.pick("iub")
        g.apply(g.rng.choice([f"T.invert({x.name})", f"~{x.name}"]), f"~{x.name}", dtype=x.dtype)
        return
    x = g.pick("fiuc" if name in ("neg", "sqr") else "fiu")
    if name == "sqr":
        g.apply(f"T.sqr({x.name})", f"{x.name} * {x.name}", dtype=x.dtype)
    elif name == "neg":
        g.apply(f"-{x.name}", dtype=x.dtype, copies=True)
    elif name == "positive":
        g.apply(f"T.tensor_copy({x.name})", x.name, dtype=x.dtype, copies=True)
    elif name == "sgn":
        g.apply(f"T.sgn({x.name})", f"np.sign({x.name})", dtype=x.dtype, sharp=True, exact=True)
    else:
        g.apply(f"abs({x.name})", dtype=x.dtype, copies=True)


@rule(4)
def rounding(g: Graph) -> None:
    text, meaning = g.rng.choice([
        ("T.floor({})", "np.floor({})"),
        ("T.ceil({})", "np.ceil({})"),
        ("T.trunc({})", "np.trunc({})"),
        ("T.round({}, mode='half_to_even')", "np.rint({})"),
        ("T.round({}, mode='half_away_from_zero')", "np.trunc({0} + np.copysign(0.5, {0}))"),
        ("T.iround({}, mode='half_to_even')", "np.rint({}).astype('int64')"),
    ])  # fmt: skip
    x = g.pick("f")
    g.apply(text.format(x.name), meaning.format(f"w({x.name})"), sharp=True, exact=True,
            dtype="int64" if "iround" in text else x.dtype)  # fmt: skip


@rule(12)
def arithmetic(g: Graph) -> None:
    name, sign, meaning = g.rng.choice([("add", "+", "add"), ("sub", "-", "subtract"), ("mul", "*", "multiply"),
                                        ("maximum", "", "maximum"), ("minimum", "", "minimum")])  # fmt: skip
    kinds = "fffiubc" if sign else "fiub"
    x = g.pick(kinds)
    y = g.compatible(x, kinds)
    dtype = np.result_type(x.dtype, y.dtype).name
    if (name == "sub" and dtype == "bool") or (g.profile.differentiable and dtype == "complex128"):
        raise Reject
    if g.rng.random() < 0.5:
        x, y = y, x
    text = f"{x.name} {sign} {y.name}" if sign and g.rng.random() < 0.5 else f"T.{name}({x.name}, {y.name})"
    g.apply(text, f"np.{meaning}({x.name}, {y.name}, dtype='{dtype}')", dtype=dtype, exact=not sign)


@rule(5)
def sum_of_several(g: Graph) -> None:
    x = g.pick("fiu")
    others = [g.compatible(x, "fiu", within=True) for _ in range(g.rng.randint(1, 3))]
    name = g.rng.choice(["add", "mul"])
    dtype = np.result_type(*[i.dtype for i in (x, *others)]).name
    operands = ", ".join(i.name for i in (x, *others))
    total = (" + " if name == "add" else " * ").join(f"{i.name}.astype('{dtype}')" for i in (x, *others))
    g.apply(f"T.{name}({operands})", total, dtype=dtype)


@rule(6)
def scaling(g: Graph) -> None:
    x = g.pick("fiu", where=lambda i: g.profile.whole_range or modest(i))
    number = g.rng.choice(["2", "0.5", "-1.5", "3", "0", "1", "-1", "1.0"])
    text = g.rng.choice(["{0} * {1}", "{1} * {0}", "{0} + {1}", "{1} - {0}", "{0} - {1}", "{0} / ({1} * {1} + 1)"])
    whole = x.kind in "iu" and "." not in number and "/" not in text
    if x.kind == "u" and whole and (number[0] == "-" or "-" in text):
        raise Reject
    g.apply(text.format(x.name, number), text.format(f"{x.name}.astype('int64')" if whole else f"w({x.name})", number),
            working=x.dtype)  # fmt: skip


@rule(6)
def division(g: Graph) -> None:
    x = g.pick("fiubc" if not g.profile.differentiable else "f")
    y = g.compatible(x, "fiu")
    if not modest(y):
        raise Reject
    common = np.result_type(x.dtype, y.dtype)
    dtype = common.name if common.kind in "fc" else "float64"
    if g.rng.random() < 0.5 and y.value.size and np.min(np.abs(y.value)) > 0.1:
        g.apply(f"{x.name} / {y.name}", f"w({x.name}) / w({y.name})", dtype=dtype, working=dtype)
    else:
        g.apply(f"T.true_div({x.name}, 1 + {y.name} * {y.name})", f"w({x.name}) / (1 + w({y.name}) * w({y.name}))")


@rule(4, grad=False)
def floor_division(g: Graph) -> None:
    x = g.pick("fiub")
    y = g.compatible(x, "fiub")
    common = np.result_type(x.dtype, y.dtype)
    dtype, working = common.name, "int8" if common.kind == "b" else common.name
    if common.kind == "f" and y.value.size and np.min(np.abs(y.value.astype(float))) < 0.2:
        raise Reject
    function, text = g.rng.choice([("floor_divide", "{} // {}"), ("mod", "{} % {}"), ("mod", "T.mod({}, {})"),
                                   ("floor_divide", "T.divmod({}, {})[0]"), ("mod", "T.divmod({}, {})[1]")])  # fmt: skip
    if dtype == "float16":
        # The quotient of two rounded numbers jumps where the exact one does not.
        raise Reject
    g.apply(text.format(x.name, y.name),
            f"np.{function}({x.name}.astype('{working}'), {y.name}.astype('{working}')).astype('{dtype}')",
            dtype=dtype, sharp=True)  # fmt: skip


@rule(1, grad=False)
def ceil_intdiv(g: Graph) -> None:
    x = g.pick("iu", where=modest)
    y = g.compatible(x, "iu")
    if not y.value.size or not np.all(y.value) or not modest(y) or np.result_type(x.dtype, y.dtype).kind == "f":
        raise Reject
    g.apply(f"T.ceil_intdiv({x.name}, {y.name})", f"np.ceil(w({x.name}) / w({y.name})).astype('int64')")


@rule(5)
def power(g: Graph) -> None:
    x = g.pick("fiu", where=modest)
    style = g.rng.choice(["constant", "constant", "float", "integer"])
    if style == "constant":
        number = g.rng.choice(["0", "1", "2", "3", "4", "5", "0.5", "-1", "-2", "1.5", "-0.5"])
        if x.kind == "f":
            g.apply(f"(abs({x.name}) + 1) ** {number}", f"(abs(w({x.name})) + 1) ** {number}", working=x.dtype)
        elif number in ("0", "1", "2", "3") and largest(x) < 5:
            g.apply(f"{x.name} ** {number}", f"{x.name}.astype('int64') ** {number}")
        return
    if style == "float":
        y = g.compatible(x, "fi")
        if not modest(y):
            raise Reject
        dtype = np.result_type(x.dtype, y.dtype).name
        if np.dtype(dtype).kind != "f":
            raise Reject
        g.apply(f"T.pow(abs({x.name}) + 1, {y.name})", f"np.power(abs(w({x.name})) + 1, w({y.name}))", working=dtype)
        return
    if g.profile.differentiable:
        raise Reject
    x = g.pick("iub", where=modest)
    y = g.compatible(x, "iub")
    common = np.result_type(x.dtype, y.dtype)
    if common.kind == "f" or (y.value.size and np.min(y.value.astype(int)) < 0) or not modest(y):
        raise Reject
    dtype = "int8" if common.kind == "b" else common.name
    g.apply(f"T.pow({x.name}, {y.name})", f"wrapped_power({x.name}, {y.name}, '{dtype}')", dtype=dtype)


@rule(3)
def two_arguments(g: Graph) -> None:
    x = g.pick("fi", where=modest)
    y = g.compatible(x, "fi", within=True)
    if not modest(y) or "f" not in x.kind + y.kind:
        raise Reject
    a, b = x.name, y.name
    table = [("T.arctan2({0}, abs({1}) + 1)", "np.arctan2({0}, abs({1}) + 1)")]
    table += [("T.xlogx.xlogy0({0}, abs({1}) + 1)", "{0} * np.log(abs({1}) + 1)")]
    if not g.profile.differentiable:
        table += [
            ("T.chi2sf(abs({0}) + 0.5, abs({1}) + 0.5)", "sp.chdtrc(abs({1}) + 0.5, abs({0}) + 0.5)"),
            ("T.gammainc(abs({0}) + 0.5, abs({1}) + 0.5)", "sp.gammainc(abs({0}) + 0.5, abs({1}) + 0.5)"),
            ("T.gammaincc(abs({0}) + 0.5, abs({1}) + 0.5)", "sp.gammaincc(abs({0}) + 0.5, abs({1}) + 0.5)"),
            ("T.gammau(abs({0}) + 0.5, abs({1}) + 0.5)", "sp.gammaincc(abs({0}) + .5, abs({1}) + .5) * sp.gamma(abs({0}) + .5)"),
            ("T.gammal(abs({0}) + 0.5, abs({1}) + 0.5)", "sp.gammainc(abs({0}) + .5, abs({1}) + .5) * sp.gamma(abs({0}) + .5)"),
            ("T.jv(abs({0}), abs({1}) + 0.5)", "sp.jv(abs({0}), abs({1}) + 0.5)"),
            ("T.iv(abs({0}), abs({1}) + 0.5)", "sp.iv(abs({0}), abs({1}) + 0.5)"),
        ]
    if x.value.size and np.max(np.abs(x.value)) > 8:
        table = table[:1]
    text, meaning = g.rng.choice(table)
    working = "float16" if "float16" in (x.dtype, y.dtype) else None
    g.apply(text.format(a, b), meaning.format(f"w({a})", f"w({b})"), working=working)


@rule(6)
def comparison(g: Graph) -> None:
    x = g.pick("fiub")
    y = g.compatible(x, "fiub")
    name, sign = g.rng.choice([("less", "<"), ("greater", ">"), ("less_equal", "<="), ("greater_equal", ">="),
                               ("equal", "T.eq"), ("not_equal", "T.neq")])  # fmt: skip
    if x.dtype == y.dtype == "bool" and sign in ("<", ">", "<=", ">="):
        raise Reject
    text = f"{sign}({x.name}, {y.name})" if sign[0] == "T" else f"{x.name} {sign} {y.name}"
    g.apply(text, f"np.{name}({x.name}, {y.name})", dtype="bool", sharp=True)


@rule(2)
def threshold(g: Graph) -> None:
    x = g.pick("fiu")
    sign = g.rng.choice(["<", ">", "<=", ">="])
    number = g.rng.choice(["0", "1", "0.5", "2"])
    g.apply(f"{x.name} {sign} {number}", f"w({x.name}) {sign} {number}", dtype="bool", sharp=True)


@rule(2, grad=False)
def classification(g: Graph) -> None:
    x = g.pick("fiub")
    style = g.rng.choice(["isnan", "isinf", "isclose", "allclose"])
    if style in ("isnan", "isinf"):
        g.apply(f"T.{style}({x.name})", f"np.{style}(w({x.name}))", dtype="bool")
        return
    y = g.compatible(x, "fi")
    if x.kind in "ub":
        raise Reject
    g.apply(f"T.{style}({x.name}, {y.name})", f"np.{style}(w({x.name}), w({y.name}))", dtype="bool", sharp=True)


@rule(4)
def bitwise(g: Graph) -> None:
    x = g.pick("iub")
    y = g.compatible(x, "iub")
    common = np.result_type(x.dtype, y.dtype)
    if common.kind not in "iub":
        raise Reject
    name, sign, function = g.rng.choice([("and", "&", "and_"), ("or", "|", "or_"), ("xor", "^", "xor")])
    text = g.rng.choice([f"{x.name} {sign} {y.name}", f"T.{function}({x.name}, {y.name})"])
    g.apply(text, f"np.bitwise_{name}({x.name}, {y.name})", dtype=common.name)


@rule(5)
def switch(g: Graph) -> None:
    condition = g.pick("bbi")
    x = g.compatible(condition, "fiub")
    y = g.compatible(x, "fiub")
    try:
        np.broadcast_shapes(condition.shape, x.shape, y.shape)
    except ValueError:
        raise Reject
    if not _static(condition, x, y):
        raise Reject
    dtype = np.result_type(x.dtype, y.dtype).name
    g.apply(f"T.{g.rng.choice(['switch', 'where'])}({condition.name}, {x.name}, {y.name})",
            f"np.where({condition.name} != 0, {x.name}, {y.name})", dtype=dtype, exact=True, copies=True)  # fmt: skip


def _static(*items: Item) -> bool:
    """Whether the operands broadcast by their types."""
    for k in range(1, max(i.ndim for i in items) + 1):
        lengths = {i.shape[-k] for i in items if i.ndim >= k and not i.broadcastable[-k]}
        if len(lengths) > 1:
            return False
        if any(i.ndim >= k and i.broadcastable[-k] and i.shape[-k] != 1 for i in items):
            return False
    return True


@rule(3)
def clip(g: Graph) -> None:
    x = g.pick("fi")
    low, high = g.rng.choice([("-1", "1"), ("0", "2"), ("-3", "3")] + ([("-0.5", "0.5")] if x.kind == "f" else []))
    dtype = "float32" if x.dtype == "float16" and low == "-0.5" else x.dtype  # that of a Python float, at least
    g.apply(f"T.clip({x.name}, {low}, {high})", f"np.clip({x.name}, {low}, {high}).astype('{dtype}')", dtype=dtype, copies=True)


@rule(1.5)
def fill(g: Graph) -> None:
    x = g.pick("fiubc")
    y = g.compatible(x, "fiub", within=True)
    g.apply(f"T.{g.rng.choice(['fill', 'second'])}({x.name}, {y.name})", f"np.broadcast_to({y.name}, {x.name}.shape)",
            dtype=y.dtype, copies=True)  # fmt: skip


@rule(6)
def cast(g: Graph) -> None:
    x = g.pick("fiub")
    dtype = g.random_dtype("fiubc" if not g.profile.differentiable else "fib")
    if x.kind == "f" and np.dtype(dtype).kind == "u" and x.value.size and np.min(x.value) < 0:
        raise Reject
    if np.dtype(dtype).kind in "iu" and largest(x) > 100 and not (g.profile.whole_range and x.kind in "iu"):
        raise Reject
    if dtype.startswith("complex") and g.profile.differentiable:
        raise Reject
    text = g.rng.choice(["T.cast({}, '{}')", "{}.astype('{}')"])
    # A cast to bool asks whether a number is 0, which a rounded one never is.
    if dtype == "bool" and not x.exact:
        raise Reject
    g.apply(text.format(x.name, dtype), f"{x.name}.astype('{dtype}')", dtype=dtype, exact=True,
            sharp=x.kind == "f" and np.dtype(dtype).kind in "iub")  # fmt: skip


@rule(3, grad=False)
def complex_parts(g: Graph) -> None:
    name = g.rng.choice(["real", "imag", "conj", "abs", "angle"])
    x = g.pick("c")
    part = {"complex64": "float32", "complex128": "float64"}[x.dtype]
    if name == "abs":
        g.apply(f"abs({x.name})", dtype=part)
    elif name == "conj":
        g.apply(f"T.conj({x.name})", dtype=x.dtype, copies=True)
    elif name == "angle":
        if x.value.size and np.min(np.abs(x.value)) < 0.2:
            raise Reject
        g.apply(f"T.angle({x.name})", f"np.angle(w({x.name}))", dtype="float64", sharp=True, working=x.dtype)
    else:
        text = g.rng.choice([f"T.{name}({x.name})", f"{x.name}.{name}" if name == "real" else f"{x.name}.imag"])
        g.apply(text, f"np.{name}({x.name})", dtype=part, copies=True)


@rule(2, grad=False)
def make_complex(g: Graph) -> None:
    x = g.pick("f", where=lambda i: i.dtype != "float16")
    y = g.compatible(x, "f", within=True)
    if y.dtype == "float16":
        raise Reject
    dtype = "complex64" if x.dtype == y.dtype == "float32" else "complex128"
    if g.rng.random() < 0.6:
        g.apply(f"T.complex({x.name}, {y.name})", f"({x.name} + 1j * {y.name}).astype('{dtype}')", dtype=dtype, exact=True)
    else:
        g.apply(f"T.complex_from_polar(abs({x.name}), {y.name})",
                f"(abs({x.name}) * np.exp(1j * w({y.name}))).astype('{dtype}')", dtype=dtype)  # fmt: skip


@rule(2, grad=False)
def complex_function(g: Graph) -> None:
    x = g.pick("c", where=modest)
    name = g.rng.choice(["exp", "sin", "cos", "sinh", "cosh", "tanh", "sqrt", "log", "inv"])
    if name in ("log", "inv", "sqrt", "tanh") and x.value.size and np.min(np.abs(x.value)) < 0.2:
        raise Reject
    g.apply(f"T.{name}({x.name})", f"1 / w({x.name})" if name == "inv" else f"np.{name}(w({x.name}))", dtype=x.dtype, sharp=True)


# Reductions.


def random_axis(g: Graph, x: Item, several: bool = True) -> object:
    """Return None, an axis of either sign, or several; as a tuple or list."""
    choice = g.rng.random()
    if choice < 0.25 or not x.ndim:
        return None
    if choice < 0.75 or not several:
        return g.rng.randrange(-x.ndim, x.ndim)
    axes = g.rng.sample(range(x.ndim), g.rng.randint(1, x.ndim))
    axes = [a - x.ndim if g.rng.random() < 0.3 else a for a in axes]
    return tuple(axes) if g.rng.random() < 0.5 else axes


def numpy_axis(axis: object) -> object:
    return tuple(axis) if isinstance(axis, list) else axis


def reduced_size(x: Item, axis: object) -> int:
    axes = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    return int(np.prod([x.shape[a] for a in axes], dtype=int))


def _keepdims(g: Graph) -> str:
    return g.rng.choice(["", "", ", keepdims=True", ", keepdims=False"])


@rule(7)
def total(g: Graph) -> None:
    name = g.rng.choice(["sum", "sum", "sum", "prod"])
    x = g.pick("fffiubc" if not g.profile.differentiable else "f", where=lambda i: g.profile.whole_range or modest(i))
    axis, keep = random_axis(g, x), _keepdims(g)
    wide = "w({})" if x.kind in "fc" else "{}.astype('uint64')" if x.kind == "u" else "{}.astype('int64')"
    default = {"b": "int64", "i": "int64", "u": "uint64"}.get(x.kind, x.dtype)
    options, dtype = "", default
    choice = g.rng.random()
    if choice < 0.15 and x.kind in "iub":
        dtype = g.rng.choice(["float64", "int32" if x.kind != "u" else "uint32"])
        options = f", dtype='{dtype}'"
    elif choice < 0.3 and x.kind == "f":
        dtype = g.rng.choice(["float32", "float64"])
        options = f", dtype='{dtype}'"
    if choice > 0.8 and x.kind == "f":
        options += f", acc_dtype='{g.rng.choice(['float64', x.dtype])}'"
    operand = wide.format(x.name)
    text = g.rng.choice(["T.{name}({x}, axis={axis}{keep}{options})", "{x}.{name}(axis={axis}{keep}{options})"])
    g.apply(text.format(name=name, x=x.name, axis=axis, keep=keep, options=options),
            f"np.{name}({operand}, axis={numpy_axis(axis)}{keep}).astype('{dtype}')",
            dtype=dtype, working=x.dtype)  # fmt: skip


@rule(4)
def average(g: Graph) -> None:
    name = g.rng.choice(["mean", "mean", "var", "std"])
    x = g.pick("ffiub" if not g.profile.differentiable else "f", where=modest)
    axis, keep = random_axis(g, x), _keepdims(g)
    n = reduced_size(x, axis)
    if n == 0:
        raise Reject
    options = ""
    if name != "mean" and n > 1 and g.rng.random() < 0.3:
        options = ", ddof=1"
    dtype = x.dtype if x.kind == "f" else "float64"
    if name != "mean" and (x.dtype == "bool" or (x.kind == "f" and n == 1)):
        raise Reject
    g.apply(f"T.{name}({x.name}, axis={axis}{options}{keep})", f"np.{name}(w({x.name}), axis={numpy_axis(axis)}{options}{keep})",
            dtype="float64" if options else None if x.kind in "iu" and name != "mean" else dtype, working=dtype)  # fmt: skip


@rule(6)
def extremum(g: Graph) -> None:
    name = g.rng.choice(["max", "min", "argmax", "argmin", "ptp", "max_and_argmax"])
    x = g.pick("fiub" if name != "ptp" else "fi")
    axis, keep = random_axis(g, x), _keepdims(g)
    if reduced_size(x, axis) == 0 or not x.value.size:
        raise Reject
    if g.profile.differentiable and len(np.unique(x.value)) < x.value.size:
        # The gradient of equal maxima goes to each of them.
        raise Reject
    np_axis = numpy_axis(axis)
    if name == "ptp":
        g.apply(f"T.ptp({x.name}, axis={axis})", f"np.ptp({x.name}, axis={np_axis})", dtype=x.dtype, copies=False)
    elif name in ("max", "min"):
        text = g.rng.choice([f"T.{name}({x.name}, axis={axis}{keep})", f"{x.name}.{name}(axis={axis}{keep})"])
        g.apply(text, f"np.{name}({x.name}, axis={np_axis}{keep})", dtype=x.dtype, copies=True)
    elif name == "max_and_argmax" and g.rng.random() < 0.5:
        g.apply(f"T.max_and_argmax({x.name}, axis={axis}{keep})[0]", f"np.max({x.name}, axis={np_axis}{keep})",
                dtype=x.dtype, copies=True)  # fmt: skip
    else:
        text = f"T.{name}({x.name}, axis={axis}{keep})" + ("[1]" if name == "max_and_argmax" else "")
        found = "np.argmin" if name == "argmin" else "np.argmax"
        g.apply(text, f"arg_over({found}, {x.name}, {np_axis}{keep})", dtype="int64", sharp=True)


@rule(2)
def truth(g: Graph) -> None:
    name = g.rng.choice(["any", "all"])
    x = g.pick("bbiu")
    axis, keep = random_axis(g, x), _keepdims(g)
    g.apply(f"T.{name}({x.name}, axis={axis}{keep})", f"np.{name}({x.name}, axis={numpy_axis(axis)}{keep})", dtype="bool")


@rule(1.5)
def norm(g: Graph) -> None:
    x = g.pick("f", ndim=(1, 2, 3), where=modest)
    order = g.rng.choice(["1", "2", "3"] + ([] if g.profile.differentiable else ["np.inf", "-np.inf", "0"]))
    axis = random_axis(g, x, several=False)
    if not x.value.size or (order == "0" and not x.exact):
        raise Reject
    meaning = {"np.inf": "np.max(abs({0}), axis={1})", "-np.inf": "np.min(abs({0}), axis={1})",
               "0": "np.sum({0} != 0, axis={1}).astype(float)"}.get(order, "np.sum(abs({0}) ** {2}, axis={1}) ** (1 / {2})")
    text = f"T.norm({x.name}, {order}, axis={axis})" if order[0] in "-n0" else f"{x.name}.norm({order}, axis={axis})"
    g.apply(text, meaning.format(f"w({x.name})", axis, order), working=x.dtype)
