"""NaN, infinities, signed zeros, subnormal and huge numbers: every elementwise function and reduction gives NumPy's answer."""

import numpy as np
import pytest
import scipy.special as sp

import theano
import theano.tensor as T

MODES = {"native": None, "python": theano.Mode("py", "fast_run"), "rewrites off": theano.Mode("py", None)}
NUMBERS = [
    np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 1e-30, -1e-30, 1e30, -1e30, 700.0, -700.0,
    90.0,
]  # fmt: skip

UNARY = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "log2": np.log2, "log10": np.log10,
    "sqrt": np.sqrt, "sqr": np.square, "inv": np.reciprocal, "neg": np.negative, "abs_": np.abs, "sgn": np.sign,
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round_half_to_even": np.rint,
    "tanh": np.tanh, "sinh": np.sinh, "cosh": np.cosh, "arctan": np.arctan, "arcsin": np.arcsin, "arccos": np.arccos,
    "arcsinh": np.arcsinh, "arccosh": np.arccosh, "arctanh": np.arctanh, "deg2rad": np.deg2rad, "rad2deg": np.rad2deg,
    "erf": sp.erf, "erfc": sp.erfc, "erfinv": sp.erfinv, "erfcinv": sp.erfcinv,
    "gammaln": sp.gammaln, "isnan": np.isnan, "isinf": np.isinf, "nnet.sigmoid": sp.expit,
    "nnet.softplus": lambda x: np.logaddexp(np.zeros((), x.dtype), x),
}  # fmt: skip
BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "true_div": np.true_divide, "maximum": np.maximum,
    "minimum": np.minimum, "pow": np.power, "arctan2": np.arctan2, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "eq": np.equal, "neq": np.not_equal, "mod": np.mod, "int_div": np.floor_divide,
    "isclose": np.isclose,
}  # fmt: skip
ROWS = {
    "sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "argmax": np.argmax, "argmin": np.argmin, "mean": np.mean,
    "any": np.any, "all": np.all, "ptp": np.ptp, "sort": np.sort, "cumsum": np.cumsum, "cumprod": np.cumprod,
}  # fmt: skip


def function_of(name):
    return getattr(T.nnet, name[5:]) if name.startswith("nnet.") else getattr(T, name)


def same(got, wanted, name, rtol):
    __tracebackhide__ = True
    assert got.shape == wanted.shape, name
    np.testing.assert_allclose(got.astype(wanted.dtype), wanted, rtol=rtol, atol=0, equal_nan=True, err_msg=name)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("mode", MODES)
def test_unary(mode, dtype):
    x = T.vector(dtype=dtype)
    value = np.array(NUMBERS, dtype)
    with np.errstate(all="ignore"):
        results = theano.function([x], [function_of(name)(x) for name in UNARY], mode=MODES[mode])(value)
        for (name, meaning), got in zip(UNARY.items(), results):
            wanted = meaning(value)
            if name == "gammaln":
                # C's lgamma and SciPy differ in the sign of an infinity.
                got, wanted = abs(got), abs(wanted)
            same(got, wanted, name, 4e-6 if dtype == "float32" else 2e-14)
            if wanted.dtype.kind == "f" and name not in ("nnet.sigmoid", "erfcinv"):
                zero = wanted == 0
                assert np.array_equal(np.signbit(got[zero]), np.signbit(wanted[zero])), name


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("mode", MODES)
def test_binary(mode, dtype):
    x, y = T.TensorType(dtype, (False, False))(), T.TensorType(dtype, (True, False))()
    columns = np.array(NUMBERS, dtype)
    values = np.repeat(columns[:, None], len(columns), axis=1), columns[None]
    with np.errstate(all="ignore"):
        results = theano.function([x, y], [getattr(T, name)(x, y) for name in BINARY], mode=MODES[mode])(*values)
        for (name, meaning), got in zip(BINARY.items(), results):
            same(got, meaning(*values), name, 4e-6 if dtype == "float32" else 1e-13)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("mode", MODES)
def test_along_rows(mode, dtype):
    rng = np.random.default_rng(0)
    x = T.matrix(dtype=dtype)
    # Each row has another place for the NaN; rows of 19 numbers leave a rest after any vector length.
    value = rng.permuted(np.array([NUMBERS[:19]] * 8), axis=1)
    value = np.concatenate([value, [[np.inf] * 19, [-0.0] * 19, [1e38] * 19]]).astype(dtype)
    value = np.concatenate([value, np.where(np.isnan(value), 1, value)])
    with np.errstate(all="ignore"):
        results = theano.function([x], [getattr(T, name)(x, axis=1) for name in ROWS], mode=MODES[mode])(value)
        for (name, meaning), got in zip(ROWS.items(), results):
            wide = value.astype("float64") if name in ("sum", "prod") else value
            wanted = np.asarray(meaning(wide, axis=1))
            wanted = wanted.astype(dtype) if wanted.dtype.kind == "f" else wanted
            same(got, wanted, name, 1e-5 if dtype == "float32" else 1e-13)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("mode", MODES)
def test_ends_of_the_integers(mode, dtype):
    info = np.iinfo(dtype)
    x, y = T.TensorType(dtype, (False, True))(), T.TensorType(dtype, (True, False))()
    numbers = np.array([info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7, info.max // 2], dtype)
    values = numbers[:, None], numbers[None]
    table = {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "maximum": np.maximum, "minimum": np.minimum, "lt": np.less,
        "eq": np.equal, "and_": np.bitwise_and, "or_": np.bitwise_or, "xor": np.bitwise_xor, "mod": np.mod,
        "int_div": np.floor_divide,
    }  # fmt: skip
    with np.errstate(all="ignore"):
        results = theano.function([x, y], [getattr(T, name)(x, y) for name in table], mode=MODES[mode])(*values)
        for (name, meaning), got in zip(table.items(), results):
            assert np.array_equal(got, meaning(*values)), name
        rows = {"max": np.max, "min": np.min, "argmax": np.argmax, "argmin": np.argmin, "sum": np.sum, "prod": np.prod}
        z = T.TensorType(dtype, (False,))()
        results = theano.function([z], [getattr(T, name)(z) for name in rows], mode=MODES[mode])(numbers)
        for (name, meaning), got in zip(rows.items(), results):
            assert got == meaning(numbers), name
