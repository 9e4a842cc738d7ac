"""The mathematical functions of kernels: error in units in the last place, special values, vectorisation.

The reference is mpmath. ``THEANO_NIGHTLY=1`` takes 100 times as many samples.
"""

import os

import numpy as np
import pytest

mpmath = pytest.importorskip("mpmath")

from vm_tools import kernel_functions  # noqa: E402

from theano.native import ir  # noqa: E402
from theano.native.target.cpu import compiler  # noqa: E402
from theano.scalar.expression import call, variable  # noqa: E402

mp = mpmath.mp.clone()
mp.dps = 60
SAMPLES = 6000 if os.environ.get("THEANO_NIGHTLY") else 60
FLOATS = ("float64", "float32")


def clipped(function):
    """The reference's own algorithm gives up on arguments that are far beyond where the result is constant."""
    return lambda x: function(min(max(x, mp.mpf(-60)), mp.mpf(60)))


def erfcx(x):
    """``exp(x**2) * erfc(x)``, where erfc is too small for the reference by its continued fraction."""
    if x < 20:
        return mp.erfc(max(x, mp.mpf(-60))) * mp.exp(min(x * x, mp.mpf(3600)))
    tail = mp.mpf(0)
    for k in range(80, 0, -1):
        tail = mp.mpf(k) / 2 / (x + tail)
    return 1 / ((x + tail) * mp.sqrt(mp.pi))


# name: (reference, domain)
UNARY = {
    "exp": (mp.exp, "all"), "exp2": (lambda x: mp.mpf(2) ** x, "all"), "expm1": (mp.expm1, "all"),
    "log": (mp.log, "positive"), "log2": (lambda x: mp.log(x, 2), "positive"), "log10": (mp.log10, "positive"),
    "log1p": (mp.log1p, "above -1"), "sqrt": (mp.sqrt, "positive"), "tanh": (mp.tanh, "all"), "sinh": (mp.sinh, "all"),
    "cosh": (mp.cosh, "all"), "asinh": (mp.asinh, "all"), "acosh": (mp.acosh, "above 1"), "atanh": (mp.atanh, "unit"),
    "tk_sigmoid": (lambda x: 1 / (1 + mp.exp(-x)), "all"), "tk_softplus": (lambda x: mp.log1p(mp.exp(x)), "all"),
    "sin": (mp.sin, "all"), "cos": (mp.cos, "all"), "tan": (mp.tan, "all"), "asin": (mp.asin, "unit"),
    "acos": (mp.acos, "unit"), "atan": (mp.atan, "all"), "erf": (clipped(mp.erf), "all"), "erfc": (clipped(mp.erfc), "all"),
    "tk_erfcx": (erfcx, "all"), "tk_exp_minus_square": (clipped(lambda x: mp.exp(-x * x)), "all"),
}  # fmt: skip


def log_cosh(x):
    x = abs(x)
    return mp.log1p(2 * mp.sinh(x / 2) ** 2) if x < 1 else x + mp.log1p(mp.exp(-2 * min(x, mp.mpf(1000)))) - mp.log(2)


def log_1_minus_exp(x):
    return mp.log(-mp.expm1(x)) if x > -1 else mp.log1p(-mp.exp(x))


# Compositions, whose errors add up to more.
COMPOUND = {
    "tk_sigmoid_slope": (lambda x: mp.exp(-abs(x)) / (1 + mp.exp(-abs(x))) ** 2, "all"),
    "tk_log_cosh": (log_cosh, "all"),
    "tk_log_1_minus_tanh": (
        lambda x: -x - log_cosh(x) if abs(x) < 5 else mp.log(2) - 2 * max(x, 0) - mp.log1p(mp.exp(-2 * abs(x))), "all",
    ),
    "tk_log_1_minus_exp": (log_1_minus_exp, "negative"),
    "tk_log_expm1": (lambda x: mp.log(mp.expm1(x)) if x < 2 else x + log_1_minus_exp(-x), "positive"),
    "tk_logit": (lambda x: mp.log(x) - mp.log1p(-x) if abs(x - 0.5) > 0.2 else 2 * mp.atanh(2 * x - 1), "below 1"),
}  # fmt: skip


def unary(name, dtype):
    x = ir.Operand(dtype, (False,))
    return ir.elementwise(
        1, [x], [ir.Output(dtype, (0,))], [ir.Load("a", 0)], [ir.let("c", call(name, variable("a", dtype)))], [ir.Store(0, "c")]
    )


def binary(name, dtype):
    x = ir.Operand(dtype, (False,))
    return ir.elementwise(
        1,
        [x, x],
        [ir.Output(dtype, (0,))],
        [ir.Load("a", 0), ir.Load("b", 1)],
        [ir.let("c", call(name, variable("a", dtype), variable("b", dtype)))],
        [ir.Store(0, "c")],
    )


@pytest.fixture(scope="module")
def functions():
    """All functions, compiled by one call of the compiler."""
    names = [(n, d) for d in FLOATS for n in UNARY | COMPOUND]
    names2 = [(n, d) for d in FLOATS for n in ("pow", "atan2")]
    built = kernel_functions([unary(*key) for key in names] + [binary(*key) for key in names2])
    return dict(zip(names + names2, built, strict=True))


def samples(dtype, domain, rng):
    """Random bit patterns, and the ranges where functions change their ways."""
    info = np.finfo(dtype)
    n = SAMPLES
    unsigned = "u8" if dtype == "float64" else "u4"
    bits = rng.integers(0, 2 ** (info.bits - 1), n, dtype=np.uint64).astype(unsigned).view(dtype)
    ranges = [
        bits, rng.uniform(0, 1, n), rng.uniform(0, 3, n), rng.uniform(0, 30, n),
        rng.uniform(0, 800 if dtype == "float64" else 110, n),
        10.0 ** rng.uniform(-8, 8, n), 1 + rng.uniform(-1, 1, n) * 1e-3, 2.0 ** rng.uniform(-info.nmant - 5, 5, n),
        np.arange(1, n + 1) * np.pi / 2,
    ]  # fmt: skip
    x = np.concatenate(ranges).astype(dtype)
    x = x[np.isfinite(x)]
    x = np.concatenate([x, -x])
    wanted = {
        "all": x == x, "positive": x > 0, "negative": x < 0, "above -1": x > -1, "above 1": x >= 1, "unit": abs(x) <= 1,
        "below 1": (x > 0) & (x < 1),
    }  # fmt: skip
    return x[wanted[domain]]


def error_in_ulps(value, exact, info):
    """Distance from the exact result in units in the last place, subnormals and overflow included."""
    largest = mp.mpf(float(info.max))
    if abs(exact) >= largest * (1 + mp.mpf(2) ** (-info.nmant - 2)):
        return 0.0 if np.isinf(value) and (value > 0) == (exact > 0) else 1.0 if abs(value) == info.max else np.inf
    if not np.isfinite(value):
        return 1.0 if abs(exact) > largest * (1 - mp.mpf(2) ** -info.nmant) else np.inf
    exponent = int(mp.floor(mp.log(abs(exact), 2))) if exact else info.minexp
    return float(abs(mp.mpf(float(value)) - exact) / mp.mpf(2) ** (max(exponent, info.minexp) - info.nmant))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", UNARY)
def test_error_below_two_ulps(functions, name, dtype):
    reference, domain = UNARY[name]
    x = samples(dtype, domain, np.random.default_rng(len(name)))
    (y,) = functions[name, dtype]([x])
    info = np.finfo(dtype)
    for a, b in zip(x, y, strict=True):
        error = error_in_ulps(b, reference(mp.mpf(float(a))), info)
        assert error < 2, (a, b, error)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", COMPOUND)
def test_error_of_compositions_below_four_ulps(functions, name, dtype):
    reference, domain = COMPOUND[name]
    x = samples(dtype, domain, np.random.default_rng(len(name)))
    (y,) = functions[name, dtype]([x])
    for a, b in zip(x, y, strict=True):
        error = error_in_ulps(b, reference(mp.mpf(float(a))), np.finfo(dtype))
        assert error < 4, (a, b, error)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("tk_sigmoid_slope", [0, 0.25, 0.25, 0, np.nan]),
        ("tk_log_cosh", [np.inf, 0, 0, np.inf, np.nan]),
        ("tk_log_1_minus_tanh", [np.log(2), 0, 0, -np.inf, np.nan]),
        ("tk_log_1_minus_exp", [0, -np.inf, -np.inf, np.nan, np.nan]),
        ("tk_log_expm1", [np.nan, -np.inf, -np.inf, np.inf, np.nan]),
        ("tk_logit", [np.nan, -np.inf, -np.inf, np.nan, np.nan]),
    ],
)
def test_compositions_at_zeros_infinities_and_nan(functions, name, wanted, dtype):
    (y,) = functions[name, dtype]([np.array([-np.inf, -0.0, 0, np.inf, np.nan], dtype)])
    np.testing.assert_array_equal(y, np.array(wanted, dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_error_of_pow_below_two_ulps(functions, dtype):
    rng = np.random.default_rng(1)
    info = np.finfo(dtype)
    n = 8 * SAMPLES
    x = np.concatenate([2.0 ** rng.uniform(-30, 30, n), rng.uniform(0.5, 2, n), 2.0 ** rng.uniform(info.minexp, info.maxexp - 1, n), 1 + rng.uniform(-1, 1, n) * 1e-6])  # fmt: skip  # noqa: E501
    y = np.concatenate([rng.uniform(-30, 30, n), rng.uniform(-1, 1, n) * info.maxexp, rng.uniform(-1.2, 1.2, n), 10.0 ** rng.uniform(0, 9, n)])  # fmt: skip  # noqa: E501
    x, y = x.astype(dtype), y.astype(dtype)
    (z,) = functions["pow", dtype]([x, y])
    for a, b, c in zip(x, y, z, strict=True):
        error = error_in_ulps(c, mp.mpf(float(a)) ** mp.mpf(float(b)), info)
        assert error < 2, (a, b, c, error)


SPECIAL = np.array(
    [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 2.5, 1e-5, 1e10, -1e10, 1e22, 5e-324, 1e-310, 1.7e308,
     -1.7e308, 2.0**-149, 1e-39, 3e38, -3e38, 2.0**53 + 2]
)  # fmt: skip

REFERENCE = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "sqrt": np.sqrt, "tanh": np.tanh, "sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint, "fabs": np.abs,
    "round": lambda x: np.copysign(np.floor(np.abs(x) + x.dtype.type(0.5) * (np.abs(x) < 1e6)), x),
}  # fmt: skip


def close(value, expected):
    """Equal with sign, both NaN, or within 4 ulps."""
    with np.errstate(all="ignore"):
        ulp = np.spacing(np.minimum(np.abs(expected), np.finfo(expected.dtype).max / 4))
        near = np.isfinite(value) & np.isfinite(expected) & (np.abs(value - expected) <= 4 * ulp)
    same = (value == expected) & (np.signbit(value) == np.signbit(expected))
    return same | near | (np.isnan(value) & np.isnan(expected))


@pytest.mark.parametrize("dtype", FLOATS)
def test_special_values_of_functions_of_one_argument(dtype):
    with np.errstate(all="ignore"):
        x = SPECIAL.astype(dtype)
    x = np.concatenate([x, x, x])
    for name, kernel in zip(REFERENCE, kernel_functions([unary(n, dtype) for n in REFERENCE]), strict=True):
        with np.errstate(all="ignore"):
            expected = REFERENCE[name](x)
        (y,) = kernel([x])
        wrong = ~close(y, expected)
        assert not wrong.any(), (name, x[wrong], y[wrong], expected[wrong])


@pytest.mark.parametrize("dtype", FLOATS)
def test_every_kind_of_nan_stays_nan(functions, dtype):
    unsigned = "u8" if dtype == "float64" else "u4"
    quiet = 0x7FF8000000000000 if dtype == "float64" else 0x7FC00000
    nans = (np.arange(0, 6000, 7, dtype=unsigned) + np.array(quiet, dtype=unsigned)).view(dtype)
    nans = np.concatenate([nans, -nans])
    assert np.isnan(nans).all()
    for name in UNARY:
        (y,) = functions[name, dtype]([nans])
        assert np.isnan(y).all(), name


@pytest.mark.parametrize("dtype", FLOATS)
def test_special_values_of_functions_of_two_arguments(dtype):
    reference = {
        "pow": np.power, "atan2": np.arctan2, "tk_mod": np.mod, "tk_floordiv": np.floor_divide, "tk_maximum": np.maximum,
        "tk_minimum": np.minimum,
    }  # fmt: skip
    with np.errstate(all="ignore"):
        a, b = (v.ravel().astype(dtype) for v in np.meshgrid(SPECIAL, SPECIAL))
    for name, kernel in zip(reference, kernel_functions([binary(n, dtype) for n in reference]), strict=True):
        with np.errstate(all="ignore"):
            expected = reference[name](a, b)
        (y,) = kernel([a, b])
        wrong = ~close(y, expected)
        assert not wrong.any(), (name, a[wrong], b[wrong], y[wrong], expected[wrong])


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("name", ["tk_mod", "tk_floordiv"])
def test_integer_division_rounds_down_and_survives_zero_and_overflow(dtype, name):
    info = np.iinfo(dtype)
    values = np.unique(np.array([info.min, info.min + 1, 0, 1, 2, 3, 7, info.max // 2, info.max] + ([-1, -2, -3, -7] if info.min else []), dtype))  # fmt: skip  # noqa: E501
    a, b = (v.ravel() for v in np.meshgrid(values, values))
    (y,) = kernel_functions([binary(name, dtype)])[0]([a, b])
    with np.errstate(all="ignore"):
        expected = (np.mod if name == "tk_mod" else np.floor_divide)(a, b)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_huge_arguments_are_reduced_exactly_also_in_place_and_in_reductions(name):
    reference = UNARY[name][0]
    x = np.random.default_rng(0).uniform(-1, 1, 3000)
    x[[5, 700, 2999]] = 1e22, -1.7e308, 2.0**60
    expected = np.array([float(reference(mp.mpf(v))) for v in x])
    kernel = unary(name, "float64")
    (y,) = kernel_functions([kernel])[0]([x])
    np.testing.assert_allclose(y, expected, rtol=1e-15)
    aliased = ir.Kernel(1, 0, kernel.inputs, (ir.Output("float64", (0,), alias=0),), kernel.stages)
    z = x.copy()
    kernel_functions([aliased])[0]([z])
    np.testing.assert_array_equal(z, y)
    for axes, shape in (((0, 1), (3, 1000)), ((1, 0), (1000, 3))):
        stage = ir.Stage(
            loads=(ir.Load("a", 0),),
            body=(ir.let("c", call(name, variable("a", "float64"))),),
            reduces=(ir.Reduce("add", "float64", "c", "r"),),
            row_stores=(ir.Store(0, "r"),),
        )
        total = ir.Kernel(1, 1, (ir.Operand("float64", (False, False), axes),), (ir.Output("float64", (0,)),), (stage,))
        (sums,) = kernel_functions([total])[0]([x.reshape(shape)])
        np.testing.assert_allclose(sums, y.reshape(shape).sum(axes[1]), rtol=1e-12)


@pytest.mark.skipif(compiler.find_compiler() is None or not compiler.find_compiler().is_gcc, reason="asks gcc")
@pytest.mark.skipif("fma" not in compiler.cpu_flags(), reason="without FMA the functions are libm's")
def test_loops_are_vectorised():
    import re
    import subprocess

    names = (*UNARY, "floor", "rint", "round", "pow", "atan2")
    kernels = [(binary if n in ("pow", "atan2") else unary)(n, d) for n in names for d in FLOATS]
    source = compiler.kernel_source(kernels)
    found = compiler.find_compiler()
    if "-fsanitize" in " ".join(compiler.compile_flags(found)):
        pytest.skip("instrumented loops are not vectorised")
    command = [*found.command, *compiler.compile_flags(found), "-fopt-info-vec", "-I", compiler.HEADERS, "-x", "c", "-", "-o", os.devnull]  # fmt: skip  # noqa: E501
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
    vectorised = {int(n) for n in re.findall(r"<stdin>:(\d+):\d+: optimized: loop vectorized", done.stderr)}
    loops = {n for n, line in enumerate(source.split("\n"), 1) if "TK_IVDEP for" in line}
    lines = source.split("\n")
    assert loops and loops <= vectorised, [lines[n + 1] for n in sorted(loops - vectorised)]
