"""Users' Ops with C code of rarer kinds, each in every mode, with odd inputs, inside other Ops, and after errors."""

import subprocess
import sys

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.gof.type import Generic
from theano.ifelse import ifelse
from theano.tensor import blas

from . import stranger_c_ops as u
from .test_user_c_ops import MODES, M, V, assert_values_in_all_modes

pytestmark = pytest.mark.skipif(not theano.config.cxx, reason="there is no C++ compiler")

_v, _w, _m, _z, _h = T.dvector("v"), T.dvector("w"), T.dmatrix("m"), T.zvector("z"), T.vector("h", dtype="float16")
_iv, _n, _g, _row = T.ivector("iv"), T.dscalar("n"), Generic()("g"), T.drow("row")
_p, _q = u.pair("p"), u.pair("q")
I = np.array([3, 1, 3, 3, 7, 1], "int32")
H = np.array([1.5, -2.0, 0.25], "float16")
Z = np.array([1 + 2j, -3j, 4.0])
MANY = u.ManyParams(4, True, [[1, 2, 3], [4, 5, 6]], {"factor": 0.5}, "ROWS", "FEET")

#: Name: inputs, output(s), values, expected.
KINDS = {
    "cleanup": ([_v], u.Scratch()(_v), [V], V[::-1] + 1),
    "complex": ([_z], u.AbsoluteSquares()(_z * 2), [Z], 4 * abs(Z) ** 2),
    "half": ([_h], u.HalfTwice()(_h), [H], H * 2),
    "many_inputs": ([_v, _m, _n], u.Total()(_v, _m.T, _n, _v[::-2], 3), [V, M, 1.5], V.sum() + M.sum() + 1.5 + V[::-2].sum() + 3),
    "no_optional_input": ([_v], u.ClippedBelow()(_v), [V], np.maximum(V, 0)),
    "optional_input": ([_v, _n], u.ClippedBelow()(_v, _n), [V, 1.0], np.maximum(V, 1)),
    "callback": ([_g, _v], u.Applied()(_g, _v), [np.cumsum, V], np.cumsum(V)),
    "cplusplus": ([_v], u.Words()(_v), [V], np.argsort(np.argsort(V)).astype(float)),
    "lengths_as_input": ([_n, _iv], u.Filled()(_n, T.cast(_iv[:2], "int64")), [2.5, I], np.full((3, 1), 2.5)),
    "table": ([_v], [u.Tabled(2)(_v), u.Tabled(3)(_v)], [abs(V).round()], [2.0 ** abs(V).round(), 3.0 ** abs(V).round()]),
    "broadcast": ([_row, _m], u.Blend()(_row, _m), [M[:1] * 2, M], 0.5 * M[:1] + 0.75 * M),
    "scalar_with_a_loop": ([_v], u.power2(_v) + u.power2(_v + 1), [abs(V)], 3 * 2.0 ** abs(V).astype(int)),
    "number": ([_v, _n], u.PlusScalar()(_v, T.scalar_from_tensor(_n)), [V, 1.5], V + 1.5),
    "params_of_many_types": ([_v], MANY(_v), [V], 3 * (V * [1, 4, 1, 4, 1] * 0.5 + 4)),
    "user_type": ([_p, _q], u.TimesPair()(u.TimesPair()(_p, _q), _p), [(1.0, 2.0), (3.0, -1.0)], (-5.0, 15.0)),
    "user_type_and_arrays": ([_n, _p], u.Norm()(u.TimesPair()(u.MakePair()(_n, _n + 1), _p)) * 2, [1.0, (3.0, 4.0)], 250.0),
    "blas": ([_m], u.Product()(_m.T, _m[:, ::-1]), [M], M.T.dot(M[:, ::-1])),
    "unchecked": ([_v], u.Unchecked()(_v), [V], V + 0.5),
    "code_by_dtype": ([_iv], u.op_with_dispatch()(_iv), [I], np.array(2 + 1 + 2 + 2 + 3 + 1)),
    "no_code_for_this_dtype": ([_v], u.op_with_dispatch()(_v), [abs(V).round()], np.array(4)),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_kind(kind):
    inputs, outputs, values, expected = KINDS[kind]
    assert_values_in_all_modes(list(inputs), outputs, values, expected)


@pytest.mark.parametrize("mode", MODES)
def test_a_dict_as_result(mode):
    f = theano.function([_iv], u.Histogram()(_iv), mode=MODES[mode])
    assert f(I) == {3: 3, 1: 2, 7: 1}
    assert f(I[:0]) == {}


@pytest.mark.parametrize("mode", ["cvm", "c|py", "c"])
def test_two_outputs_in_place(mode):
    x, y = theano.In(_v, mutable=True), theano.In(_w, mutable=True)
    a, b = V.copy(), V[1:].copy()
    f = theano.function([x, y], u.SwapSigns()(_v, _w), mode=MODES[mode], accept_inplace=True)
    first, second = f(a, b)
    np.testing.assert_allclose(first, -V[1:])
    np.testing.assert_allclose(second, -2 * V)
    np.testing.assert_allclose(a, -2 * V)
    # Values that others use stay as they are.
    a, b = V.copy(), V[1:].copy()
    g = theano.function([_v, _w], [*u.SwapSigns()(_v * 1.5, _w * 1.5), _v * 1.5], mode=MODES[mode], accept_inplace=True)
    results = g(a, b)
    np.testing.assert_allclose(results[2], 1.5 * V)
    np.testing.assert_allclose(results[1], -3 * V)


@pytest.mark.parametrize("mode", MODES)
def test_cleanup_runs_after_errors(mode):
    f = theano.function([_v], u.Scratch()(_v), mode=MODES[mode])
    for _ in range(3):
        with pytest.raises(OverflowError, match="too small"):
            f(V - 1000)
        np.testing.assert_allclose(f(V), V[::-1] + 1)


@pytest.mark.parametrize("mode", MODES)
def test_exceptions_become_exceptions_of_python(mode):
    f = theano.function([_v], u.Words()(_v), mode=MODES[mode])
    with pytest.raises(ValueError, match="no values"):
        f(V[:0])

    def fails(x):
        raise LookupError("from the callback")

    g = theano.function([_g, _v], u.Applied()(_g, _v), mode=MODES[mode])
    with pytest.raises(LookupError, match="from the callback"):
        g(fails, V)
    with pytest.raises(ValueError, match="negative length"):
        theano.function([_n, _iv], u.Filled()(_n, T.cast(_iv[:2], "int64")), mode=MODES[mode])(1.0, -I)


@pytest.mark.parametrize("kind", ["cleanup", "unchecked", "many_inputs", "broadcast"])
def test_odd_inputs(kind):
    inputs, output, values, _ = KINDS[kind]
    f = theano.function(inputs, output, mode=MODES["cvm"])
    slow = theano.function(inputs, output, mode=theano.Mode("py", None))
    strange = []
    for value in values:
        value = np.asarray(value)
        wide = np.zeros((*value.shape, 2))
        wide[..., 0] = value
        strange.append({"strided": wide[..., 0], "big_endian": value.astype(">f8")})
    for how in ("strided", "big_endian"):
        case = [choices[how] for choices in strange]
        np.testing.assert_allclose(f(*case), slow(*map(np.array, values)), err_msg=how)


def test_state_of_a_generator():
    state = theano.shared(np.random.RandomState(3), "state")
    drawn, new = u.Uniform()(state)
    expected = np.random.RandomState(3)
    for mode in ("cvm", "c|py"):
        state.set_value(np.random.RandomState(3))
        f = theano.function([], drawn, updates=[(state, new)], mode=MODES[mode])
        expected = np.random.RandomState(3)
        assert [float(f()) for _ in range(3)] == [expected.random_sample() for _ in range(3)]


def test_library_of_the_user(tmp_path):
    (tmp_path / "scale.h").write_text('extern "C" double users_scale(double);\n')
    (tmp_path / "scale.cpp").write_text('#include "scale.h"\ndouble users_scale(double v) { return 7 * v; }\n')
    library = tmp_path / "libusers_scale.so"
    subprocess.run(
        [theano.config.cxx, "-shared", "-fPIC", str(tmp_path / "scale.cpp"), "-o", str(library)], check=True, cwd=tmp_path
    )
    assert_values_in_all_modes([_v], u.library_op(tmp_path)(_v), [V], V * 7)


def test_every_section_of_a_cop(tmp_path):
    op = u.cop_with_all_sections(tmp_path)
    x = T.fvector("x")
    value = V.astype("float32")
    assert_values_in_all_modes([_v, x], [op(0.5)(_v), op(2.0)(x)], [V, value], [V + 10.5, value + 12])


def test_inside_scan_ifelse_and_op_from_graph():
    """Ops with C code on Types of the user work where a graph is inside an Op."""
    states, _ = theano.scan(lambda row, total: u.Total()(row, total), sequences=_m, outputs_info=T.zeros(()))
    np.testing.assert_allclose(theano.function([_m], states)(M), np.cumsum(M.sum(axis=1)))
    norms, _ = theano.scan(lambda a: u.Norm()(u.MakePair()(a, a + 1)), sequences=_v)
    np.testing.assert_allclose(theano.function([_v], norms)(V), V**2 + (V + 1) ** 2)
    by_pair, _ = theano.scan(lambda a, p: u.Norm()(u.TimesPair()(u.MakePair()(a, a), p)), sequences=_v, non_sequences=_p)
    np.testing.assert_allclose(theano.function([_v, _p], by_pair)(V, (3.0, 4.0)), 50 * V**2)
    chosen = ifelse(_n, u.TimesPair()(_p, _p), _p)
    for mode in ("cvm", "c|py", "vm", "DebugMode"):
        f = theano.function([_n, _p], chosen, mode=MODES.get(mode, theano.Mode(linker=mode) if mode == "vm" else None))
        assert f(1.0, (1.0, 2.0)) == (-3.0, 4.0) and f(0.0, (1.0, 2.0)) == (1.0, 2.0)
    for inline in (False, True):
        op = theano.OpFromGraph([_p, _q], [u.TimesPair()(_p, _q), u.Norm()(_p)], inline=inline)
        product, norm = op(_q, u.TimesPair()(_p, _p))
        f = theano.function([_p, _q], [product, norm])
        assert f((1.0, 2.0), (0.0, 1.0)) == [(-4.0, -3.0), 1.0]


def test_shared_variables_and_updates_of_a_type_of_the_user():
    state = theano.compile.SharedVariable("state", u.pair, (1.0, 1.0), strict=False)
    f = theano.function([_p], u.Norm()(state), updates=[(state, u.TimesPair()(state, _p))])
    assert [float(f((0.0, 2.0))) for _ in range(3)] == [2.0, 8.0, 32.0]
    assert state.get_value() == (8.0, -8.0)


def test_many_params_are_values():
    same = u.ManyParams(4, True, [[1, 2, 3], [4, 5, 6]], MANY.table, "ROWS", "FEET")
    assert same == MANY and hash(MANY) == hash(same)
    other = u.ManyParams(0, False, [[1, 2, 3], [4, 5, 6]], {"factor": 1.0}, "COLUMNS", "METRES")
    assert other != MANY
    assert_values_in_all_modes([_v], other(_v), [V], V * [1, 2, 3, 1, 2])


def test_no_references_leak():
    for kind in ("cleanup", "many_inputs", "broadcast", "unchecked", "blas", "callback"):
        inputs, outputs, values, _ = KINDS[kind]
        f = theano.function(inputs, outputs, on_unused_input="ignore")
        values = [np.array(v) if not callable(v) else v for v in values]
        f(*values)
        before = [sys.getrefcount(v) for v in values]
        for _ in range(5):
            f(*values)
        assert [sys.getrefcount(v) for v in values] == before, kind


def test_blas_that_the_user_names(tmp_path):
    """With the flag, the code declares the routines, and is linked against what the flag names."""
    (tmp_path / "blas.cpp").write_text(
        """extern "C" void dgemm_(char*, char*, int* m, int* n, int*, double*, double*, int*, double*, int*, double*,
                                  double* c, int*) { for (int i = 0; i < *m * *n; i++) c[i] = 42; }
        """
    )
    library = tmp_path / "libusers_blas.so"
    subprocess.run([theano.config.cxx, "-shared", "-fPIC", str(tmp_path / "blas.cpp"), "-o", str(library)], check=True)
    with theano.configparser.change_flags({"blas.ldflags": f"-L{tmp_path} -lusers_blas -DUSERS -I/nowhere"}):
        assert blas.ldflags() == ["users_blas"] and blas.ldflags(libs=False, include_dir=True) == ["/nowhere"]
        assert blas.ldflags(libs=False, flags=True) == ["-DUSERS"]
        linker = theano.gof.CLinker().accept(theano.gof.FunctionGraph([_m], [u.Product()(_m, _m)]))
        thunk, (x,), (z,) = linker.make_thunk()
    x.value = np.ones((2, 2))
    thunk()
    assert (z.value == 42).all()
