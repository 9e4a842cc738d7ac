"""Users' Ops with C code: every kind runs in every mode with the same result."""

import pickle
import sys
import threading
import uuid

import numpy as np
import pytest
import scipy.special

import theano
import theano.tensor as T
from theano.compile.debugmode import DebugMode
from theano.gof import cmodule
from theano.tests import unittest_tools as utt

from . import user_c_ops as u

pytestmark = pytest.mark.skipif(not theano.config.cxx, reason="there is no C++ compiler")

V = np.array([3.5, -1.0, 2.25, 0.5, 4.0])
M = np.arange(12.0).reshape(3, 4) - 4
_v, _w, _m = T.dvector("v"), T.dvector("w"), T.dmatrix("m")
_iv = T.ivector("iv")
_text = u.Text()("text")
_table = u.GENERIC("table")
_key = T.lscalar("key")

#: Name: inputs, output(s), values, expected.
KINDS = {
    "scalar": ([_v, _w], u.harmonic(_v, _w) + 1, [V, V + 3], V * (V + 3) / (2 * V + 3) + 1),
    "scalar_with_function": ([_v], u.fraction(_v) * 2, [V], np.where(V > 0, V - np.floor(V), 0) * 2),
    "vector": ([_v, _iv], u.VectorTimesScalar()(_v, _iv[0]), [V, np.array([3], "int32")], V * 3),
    "strided_input": ([_v], u.VectorTimesScalar()(_v[::-2], T.constant(2.0)), [V], V[::-2] * 2),
    "function_for_each_node": ([_v, _w], u.VectorTimesVector()(_v, _w), [V, V], V * V),
    "two_types_of_one_op": ([_v, _iv], [u.VectorTimesVector()(_v, _v), u.VectorTimesVector()(_iv, _iv)],
                            [V, np.array([2, 3], "int32")], [V * V, np.array([4, 9])]),
    "view": ([_v], u.FirstHalf()(_v + 1) * 2, [V], (V[:2] + 1) * 2),
    "params": ([_v], u.Quadratic(2.0, [1.0, 10.0], "square")(_v), [V], 2 * V**2 + [1, 10, 1, 10, 1]),
    "other_params": ([_v], u.Quadratic(3.0, [1.0], "PLAIN")(_v), [V], 3 * V + 1),
    "constant_of_a_header": ([_v], u.CLimit()(_v), [V], np.array(2**31 - 1)),
    "two_outputs": ([_v], u.MinMax()(_v), [V], [np.array(-1.0), np.array(4.0)]),
    "template": ([_v], u.Sorted()(_v), [V], np.sort(V)[::-1]),
    "openmp": ([_v], u.ParallelSquare(openmp=True)(_v), [V], V**2),
    "state_of_a_node": ([_v], u.RunningMean()(_v), [V], np.cumsum(V) / np.arange(1, 6)),
    "code_of_the_module": ([_v], u.Reversed()(_v), [V], V[::-1]),
    "library_and_arguments": ([_v], u.Bessel()(_v), [V], scipy.special.jv(1, V)),
    "matrix": ([_m], u.ColumnSums()(_m.T), [M], M.sum(axis=1)),
    "python_object": ([_table, _key], u.Lookup()(_table, _key), [{3: 2.5}, 3], np.array(2.5)),
    "any_rank": ([_m], u.CountPositive()(_m), [M], np.array(7)),
    "no_inputs": ([], u.Seven()() + 1, [], np.array(8)),
    "type_of_the_user": ([_text], u.TextLength()(u.WithoutExtension()(_text)), ["graph.html"], np.array(4)),
}  # fmt: skip

MODES = {
    "cvm": theano.Mode(linker="cvm"),
    "c|py": theano.Mode(linker="c|py"),
    "c": theano.Mode(linker="c"),
    "DebugMode": DebugMode(check_preallocated_output="ALL"),
}


def assert_values_in_all_modes(inputs, outputs, values, expected):
    for name, mode in MODES.items():
        f = theano.function(inputs, outputs, mode=mode)
        for _ in range(2):
            results = f(*values)
            if not isinstance(outputs, list):
                results, wanted = [results], [expected]
            else:
                wanted = expected
            for result, value in zip(results, wanted, strict=True):
                np.testing.assert_allclose(result, value, err_msg=name, rtol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_kind(kind):
    assert_values_in_all_modes(*KINDS[kind])


def test_no_python_runs_in_the_fast_modes(monkeypatch):
    op = u.Sorted()
    monkeypatch.setattr(u.Sorted, "perform", lambda *args: pytest.fail("perform was called"))
    for name in ("cvm", "c|py", "c"):
        f = theano.function([_v], op(op(_v)), mode=MODES[name])
        assert f(V)[0] == 4
        calls = []
        sys.setprofile(lambda frame, event, argument: calls.append((event, frame.f_code.co_name)))
        try:
            f(V)
        finally:
            sys.setprofile(None)
        assert [name for event, name in calls if event == "call"] == []


def test_in_place():
    x = theano.In(_v, mutable=True)
    for name, mode in MODES.items():
        value = V.copy()
        assert theano.function([x], u.Increment()(_v), mode=mode, accept_inplace=True)(value).tolist() == (V + 1).tolist()
        if name != "DebugMode":
            assert value.tolist() == (V + 1).tolist()


def test_memory_passed_between_ops():
    for name in ("cvm", "c|py", "c"):
        f = theano.function([_v], u.FromPointer()(u.ToPointer()(_v)), mode=MODES[name])
        assert [float(f(V)), float(f(V[1:]))] == [8.5, 3.0]


def test_code_in_files(tmp_path):
    axpb, norm = u.external_cops(tmp_path)
    assert_values_in_all_modes([_v], [axpb(2.0, 0.5)(_v), norm()(_v)], [V], [2 * V + 1, np.array((V**2).sum())])
    x = T.fvector("x")
    value = V.astype("float32")
    assert_values_in_all_modes([x], [axpb(3.0, 1.0)(x), norm()(x)], [value], [3 * value + 2, (value**2).sum()])


def test_new_params_need_no_new_code(monkeypatch):
    theano.function([_v], u.Quadratic(2.0, [1.0], "PLAIN")(_v))
    monkeypatch.setattr(cmodule.GCC_compiler, "compile", lambda *args, **kwargs: pytest.fail("compiled again"))
    f = theano.function([_v], u.Quadratic(-1.0, [1.0, 2.0], "square")(_v))
    np.testing.assert_allclose(f(V), -(V**2) + [1, 2, 1, 2, 1])


@pytest.mark.parametrize("mode", MODES)
def test_errors_leave_the_function_usable(mode):
    f = theano.function([_v, _w], u.VectorTimesVector()(_v, _w), mode=MODES[mode])
    for _ in range(2):
        with pytest.raises(ValueError, match="lengths differ: 5 and 4") as error:
            f(V, V[1:])
        assert "VectorTimesVector" in str(error.value)
        assert f(V, V).tolist() == (V * V).tolist()
    with pytest.raises(KeyError):
        theano.function([_table, _key], u.Lookup()(_table, _key), mode=MODES[mode])({}, 3)


def test_scalar_code_fuses_with_other_operations():
    f = theano.function([_v, _w], T.exp(u.harmonic(_v, _w) * 2) + 1)
    assert len(f.maker.fgraph.toposort()) == 1


def test_gradients_and_shapes():
    utt.verify_grad(u.VectorTimesScalar(), [V, np.array(2.0)])
    utt.verify_grad(u.ColumnSums(), [M])
    utt.verify_grad(u.harmonic, [abs(V), abs(V) + 1])
    for op, variable, value in ((u.ColumnSums(), _m, M), (u.FirstHalf(), _v, V), (u.Sorted(), _v, V)):
        f = theano.function([variable], op(variable).shape)
        assert not any(isinstance(node.op, u.COpOfUser) for node in f.maker.fgraph.toposort())
        assert tuple(f(value)) == theano.function([variable], op(variable))(value).shape


def test_inputs_and_outputs_are_not_leaked():
    for kind in ("vector", "view", "two_outputs", "matrix", "state_of_a_node"):
        inputs, outputs, values, _ = KINDS[kind]
        f = theano.function(inputs, outputs)
        values = [np.array(v) for v in values]
        f(*values)
        before = [sys.getrefcount(v) for v in values]
        for _ in range(5):
            result = f(*values)
        assert [sys.getrefcount(v) for v in values] == before
        assert sys.getrefcount(result) == 2


def test_a_new_op_is_compiled_once(monkeypatch):
    class New(u.VectorTimesScalar):
        code = u.VectorTimesScalar.code + f"/* {uuid.uuid4()} */"

    compiled = []
    original = cmodule.GCC_compiler.compile

    def compile_(*args, **kwargs):
        compiled.append(args)
        return original(*args, **kwargs)

    monkeypatch.setattr(cmodule.GCC_compiler, "compile", staticmethod(compile_))
    for _ in range(2):
        assert theano.function([_v], New()(_v, T.constant(2.0)))(V).tolist() == (V * 2).tolist()
    assert len(compiled) == 1


def running_mean(x):
    return np.cumsum(x) / np.arange(1, len(x) + 1)


def test_inside_scan_and_pickled():
    steps, _ = theano.scan(
        lambda row, state: u.VectorTimesVector()(row, state) + u.RunningMean()(row), sequences=_m, outputs_info=T.ones((4,))
    )
    f = theano.function([_m], steps[-1])
    expected = np.ones(4)
    for row in M:
        expected = row * expected + running_mean(row)
    np.testing.assert_allclose(f(M), expected)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(f))(M), expected)


def test_inside_ifelse_and_op_from_graph():
    chosen = theano.ifelse.ifelse(_key, u.Sorted()(_v), u.Reversed()(_v))
    f = theano.function([_key, _v], chosen)
    assert f(1, V).tolist() == np.sort(V)[::-1].tolist() and f(0, V).tolist() == V[::-1].tolist()
    op = theano.OpFromGraph([_v], [u.Sorted()(_v) * 2])
    assert theano.function([_v], op(_v) + 1)(V).tolist() == (np.sort(V)[::-1] * 2 + 1).tolist()


def test_state_is_safe_with_threads():
    f = theano.function([_v], u.RunningMean()(_v))
    good = []

    def work(n):
        x = np.random.default_rng(n).random(n)
        good.extend(np.allclose(f(x), running_mean(x)) for _ in range(50))

    threads = [threading.Thread(target=work, args=(n,)) for n in (10, 200, 3000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(good) == 150 and all(good)
