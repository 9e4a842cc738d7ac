"""The C code of scalar ops against their Python values, for every op and dtype in one compilation."""

import ctypes
import os
import subprocess

import numpy as np
import pytest

import theano.scalar as scal
from theano.gof.utils import MethodNotDefined
from theano.native.target.cpu import compiler as native_compiler
from theano.scalar.output_types import upcast_out

HEADERS = os.path.dirname(native_compiler.HEADERS)
REAL = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
HALF = ("float16",)
COMPLEX = ("complex64", "complex128")
DTYPES = REAL + HALF + COMPLEX

OPS = [
    scal.add, scal.mul, scal.sub, scal.true_div, scal.int_div, scal.mod, scal.pow, scal.neg, scal.inv, scal.abs_,
    scal.sgn, scal.sqr, scal.clip, scal.second, scal.identity, scal.switch, scal.maximum, scal.minimum, scal.lt, scal.gt,
    scal.le, scal.ge, scal.eq, scal.neq, scal.isnan, scal.isinf, scal.inopenrange, scal.inclosedrange, scal.or_,
    scal.xor, scal.and_, scal.invert, scal.ceil, scal.floor, scal.trunc, scal.round_half_to_even,
    scal.round_half_away_from_zero, scal.log, scal.log2, scal.log10, scal.log1p, scal.exp, scal.exp2, scal.expm1,
    scal.sqrt, scal.scalar_sigmoid, scal.scalar_softplus, scal.deg2rad, scal.rad2deg, scal.cos, scal.sin, scal.tan,
    scal.arccos, scal.arcsin, scal.arctan, scal.arctan2, scal.cosh, scal.sinh, scal.tanh, scal.arccosh, scal.arcsinh,
    scal.arctanh, scal.real, scal.imag, scal.angle, scal.complex, scal.conj, scal.complex_from_polar, scal.erf,
    scal.erfc, scal.gamma, scal.gammaln, scal.psi, scal.tri_gamma, scal.j0, scal.j1,
    *(scal.Cast(scal.get_scalar_type(d)) for d in DTYPES),
]  # fmt: skip

# Where an op is not continuous or not defined, or the integers leave the range of the type, C and NumPy may differ.
TOLERANCE = {"float16": 2e-3, "float32": 3e-6, "float64": 2e-14, "complex64": 3e-5, "complex128": 1e-12}


def values(dtype: str, op, position: int) -> np.ndarray:
    rng = np.random.default_rng(DTYPES.index(dtype) * 10 + position)
    n = 64
    if dtype == "bool":
        return rng.integers(0, 2, n).astype(bool)
    kind = np.dtype(dtype).kind
    if kind == "u":
        return rng.integers(0, 10, n).astype(dtype)
    if kind == "i":
        return rng.integers(-10, 10, n).astype(dtype)
    if kind == "c":
        return (rng.normal(size=n) + 1j * rng.normal(size=n)).astype(dtype)
    x = rng.uniform(-3, 3, n)
    x[:6] = [0.0, 0.5, -0.5, 1.0, -1.5, 2.5]
    return x.astype(dtype)


def cases():
    for op in OPS:
        nin = op.nin if op.nin > 0 else 2
        for i, dtype in enumerate(DTYPES):
            kinds = [(dtype,) * nin]
            if nin > 1:
                other = DTYPES[(i * 5 + 3) % len(DTYPES)]
                kinds += [(dtype, *[other] * (nin - 1)), (other, *[dtype] * (nin - 1))]
            for dtypes in kinds:
                try:
                    node = op.make_node(*(scal.get_scalar_type(d)() for d in dtypes))
                    names = [f"x{k}" for k in range(nin)]
                    code = op.c_code(node, "n", names, ["z"], {"fail": "return;"})
                except (TypeError, NotImplementedError, MethodNotDefined):
                    continue
                yield op, dtypes, node, code


def source(rows) -> str:
    parts = ['#include "theano_kernel.h"']
    support = dict.fromkeys(op.c_support_code() for op, *_ in rows if "c_support_code" in type(op).__dict__)
    parts += support
    for k, (_, dtypes, node, code) in enumerate(rows):
        out = node.outputs[0].type.c_element_type()
        arguments = ", ".join(f"const npy_{d} *a{i}" for i, d in enumerate(dtypes))
        loads = " ".join(f"npy_{d} x{i} = a{i}[i];" for i, d in enumerate(dtypes))
        parts.append(
            f'__attribute__((visibility("default"))) void f{k}({arguments}, {out} *r, long n) {{'
            f" for (long i = 0; i < n; i++) {{ tk_flag tk_bad = 0; {loads} {out} z; {code} r[i] = z; }} }}"
        )
    return "\n".join(parts)


def build(text: str, path) -> ctypes.CDLL:
    compiler = native_compiler.find_compiler()
    if compiler is None:
        pytest.skip("no C compiler")
    # The flags of kernels, but without what takes two thirds of the time for a thousand functions.
    flags = [*native_compiler.compile_flags(compiler), "-fno-tree-loop-vectorize"]
    flags = ["-O1" if f == "-O3" else f for f in flags]
    command = [*compiler.command, "-x", "c", "-", "-I", HEADERS, "-o", str(path), *flags]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    return ctypes.CDLL(str(path))


@pytest.fixture(scope="module")
def ops_library(tmp_path_factory):
    rows = list(cases())
    return rows, build(source(rows), tmp_path_factory.mktemp("scalar") / "ops.so")


def call_op(library, k, arrays, out):
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (*arrays, out)]
    getattr(library, f"f{k}")(*pointers, ctypes.c_long(len(out)))


def close(c, expected, dtype) -> np.ndarray:
    if dtype not in TOLERANCE:
        return c == expected
    with np.errstate(all="ignore"):
        return np.isclose(
            c.astype("complex128"),
            expected.astype("complex128"),
            rtol=TOLERANCE[dtype],
            atol=TOLERANCE[dtype],
            equal_nan=True,
        )


def test_each_op_has_c_code_for_the_usual_dtypes():
    have = {(str(op), dtypes) for op, dtypes, *_ in cases()}
    for name in ("add", "mul", "true_div", "exp", "log", "pow", "maximum"):
        for dtype in ("float32", "float64"):
            op = getattr(scal, name)
            assert (str(op), (dtype,) * (2 if op.nin != 1 else 1)) in have


def test_c_code_gives_the_value_of_impl(ops_library):
    rows, library = ops_library
    wrong = []
    for k, (op, dtypes, node, code) in enumerate(rows):
        arrays = [values(d, op, i) for i, d in enumerate(dtypes)]
        if op is scal.complex_from_polar:
            arrays[0] = np.abs(arrays[0])
        out_dtype = node.outputs[0].type.dtype
        out = np.empty(64, dtype=out_dtype)
        call_op(library, k, arrays, out)
        expected = np.empty(64, dtype=out_dtype)
        for i in range(64):
            cell = [[None]]
            op.perform(node, [a[i] for a in arrays], cell)
            expected[i] = cell[0][0]
        ok = close(out, expected, out_dtype)
        if isinstance(op, scal.Cast) and np.dtype(out_dtype).kind == "u":
            ok |= arrays[0].real < 0
        if op is scal.clip and np.dtype(out_dtype).kind == "u":
            ok |= expected > 100
        if op is scal.true_div and np.dtype(out_dtype).kind == "c":
            # A complex number over zero is infinite or NaN, in which parts is open.
            ok |= arrays[1] == 0
        if not ok.all():
            i = int(np.argmin(ok))
            wrong.append((str(op), dtypes, [a[i] for a in arrays], out[i], expected[i], code))
    assert not wrong, f"{len(wrong)} of {len(rows)}:\n" + "\n".join(map(str, wrong[:40]))


EXACT = [
    scal.add, scal.mul, scal.sub, scal.int_div, scal.mod, scal.neg, scal.abs_, scal.sgn, scal.sqr, scal.switch,
    scal.maximum, scal.minimum, scal.lt, scal.gt, scal.le, scal.ge, scal.eq, scal.neq, scal.isnan, scal.isinf, scal.or_,
    scal.xor, scal.and_, scal.invert, scal.ceil, scal.floor, scal.trunc, scal.round_half_to_even,
    scal.round_half_away_from_zero, scal.true_div,
]  # fmt: skip


def extremes(dtype: str) -> np.ndarray:
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.array([False, True])
    if kind in "iu":
        info = np.iinfo(dtype)
        return np.array([info.min, info.min + 1, 0, 1, 2, info.max - 1, info.max, info.max // 2], dtype)
    return np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -1.0, 1e30, 2.0**-100], dtype)


def test_extreme_values(ops_library):
    rows, library = ops_library
    wrong = []
    for k, (op, dtypes, node, code) in enumerate(rows):
        if op not in EXACT or any(d in COMPLEX + HALF for d in dtypes):
            continue
        grid = np.meshgrid(*(extremes(d) for d in dtypes))
        arrays = [np.ascontiguousarray(g.ravel()) for g in grid]
        out_dtype = node.outputs[0].type.dtype
        out = np.empty(len(arrays[0]), dtype=out_dtype)
        call_op(library, k, arrays, out)
        expected = np.empty_like(out)
        for i in range(len(out)):
            cell = [[None]]
            op.perform(node, [a[i] for a in arrays], cell)
            expected[i] = cell[0][0]
        ok = close(out, expected, out_dtype)
        for i in np.flatnonzero(~ok)[:2]:
            wrong.append((str(op), dtypes, [a[i] for a in arrays], out[i], expected[i], code))
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(map(str, wrong[:40]))


def test_a_composite_expands_to_the_same_values(tmp_path):
    x, y = scal.float64("x"), scal.float32("y")
    inner = scal.Composite([x, y], [scal.exp(x) * y + 2, scal.gt(x, y)])
    a, b = scal.float64(), scal.float32()
    first, second = inner(a, b)
    outer = scal.Composite([a, b], [scal.switch(second, first, a), first - b])
    node = outer.make_node(scal.float64(), scal.float32())
    code = outer.c_code(node, "n", ["x0", "x1"], ["z", "w"], {})
    text = (
        '#include "theano_kernel.h"\n'
        '__attribute__((visibility("default"))) void f(npy_float64 x0, npy_float32 x1, npy_float64 *r) {'
        f" tk_flag tk_bad = 0; npy_float64 z, w; {code} r[0] = z; r[1] = w; }}"
    )
    library = build(text, tmp_path / "composite.so")
    out = np.empty(2)
    for u, v in ((1.5, -0.25), (-1.0, 2.0)):
        library.f(ctypes.c_double(u), ctypes.c_float(v), ctypes.c_void_p(out.ctypes.data))
        np.testing.assert_allclose(out, outer.impl(np.float64(u), np.float32(v)), rtol=1e-14)


def test_literals_read_back():
    for dtype, numbers in {
        "int64": [-(2**63), 2**63 - 1, 0],
        "uint64": [2**64 - 1],
        "int32": [-(2**31)],
        "float64": [0.1, -0.0, 1e300, float("inf"), float("-inf"), float("nan"), 5e-324],
        "float32": [np.float32(0.1), np.float32(3e38)],
        "bool": [True, False],
        "complex128": [1 + 2j],
    }.items():
        for number in numbers:
            assert scal.get_scalar_type(dtype).c_literal(np.dtype(dtype).type(number))
    assert scal.float64.c_literal(1.5) == "1.5"
    assert scal.float32.c_literal(np.float32(0.1)) == "0.1f"
    assert upcast_out(scal.int8, scal.float32) == (scal.float32,)
