"""Functions of theano.tensor and theano.sandbox that programs import for themselves."""

import sys

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.sandbox import rng_mrg
from theano.tensor import basic, opt, subtensor


def test_tolerances_are_those_of_the_less_precise():
    half, single, double = (np.zeros(1, dtype) for dtype in ("float16", "float32", "float64"))
    assert basic._get_atol_rtol(half, double) == (basic.float16_atol, basic.float16_rtol)
    assert basic._get_atol_rtol(double, single) == (basic.float32_atol, basic.float32_rtol)
    assert basic._get_atol_rtol(double, double) == (basic.float64_atol, basic.float64_rtol)


def test_axes_are_checked():
    x = T.dtensor3()
    for axis, expected in ((None, []), (-1, [2]), ((2, 0, 2), [0, 2]), (np.array([1]), [1]), (T.constant(1), [1])):
        assert T.check_and_normalize_axes(x, axis) == expected
    with pytest.raises(ValueError):
        T.check_and_normalize_axes(x, 3)
    for bad in (T.iscalar(), "a"):
        with pytest.raises(TypeError):
            T.check_and_normalize_axes(x, bad)


def test_values_are_compared():
    assert T.check_equal_numpy(np.ones(2), np.ones(2)) and not T.check_equal_numpy(np.ones(2), np.ones(2, "float32"))
    assert T.check_equal_numpy(np.random.RandomState(1), np.random.RandomState(1))
    assert not T.check_equal_numpy(np.random.RandomState(1), np.random.RandomState(2))
    assert T.check_equal_numpy("a", "a")
    assert T.constructor(len) is len and T.setdefault is T.default


def test_masks_are_told_from_other_indices():
    x = T.dmatrix()
    with pytest.raises(T.AdvancedBooleanIndexingError):
        subtensor.Subtensor([T.TensorType("bool", [False])])
    subtensor.check_and_reject_bool([[1, 2], np.arange(3), slice(None), x])
    for mask in (True, [np.bool_(True)], np.array([True]), T.TensorType("bool", [False])()):
        with pytest.raises(TypeError, match="boolean"):
            subtensor.check_and_reject_bool(mask)
    value = np.zeros((2, 3, 4))
    subtensor.check_advanced_indexing_dimensions(value, [None, np.zeros((2, 3), bool), slice(None)])
    with pytest.raises(IndexError, match="along dimension 1; dimension is 3 but corresponding boolean dimension is 2"):
        subtensor.check_advanced_indexing_dimensions(value, [0, None, np.zeros((2, 4), bool)])


def test_small_functions():
    from theano.tensor.var import equal_slices

    assert equal_slices(slice(1, 2), slice(1, 2, None)) and not equal_slices(slice(1), slice(2))
    shared = theano.tensor.sharedvar.load_shared_variable(np.ones(2))
    assert isinstance(shared, theano.tensor.sharedvar.TensorSharedVariable)
    a = T.dmatrix()
    np.testing.assert_array_equal(theano.tensor.extra_ops.fill_diagonal_(a, 3).eval({a: np.zeros((2, 2))}), 3 * np.eye(2))


def test_streams_far_ahead():
    for log2, matrices in ((72, (rng_mrg.A1p72, rng_mrg.A2p72)), (134, (rng_mrg.A1p134, rng_mrg.A2p134))):
        for found, expected in zip(matrices, rng_mrg._jump(log2)):
            np.testing.assert_array_equal(found, expected)
    streams = rng_mrg.MRG_RandomStreams(7)
    start = streams.rstate.copy()
    rows = streams.get_substream_rstates(3, "float64")
    np.testing.assert_array_equal(rows[1], rng_mrg.ff_2p72(rows[0]))
    np.testing.assert_array_equal(streams.rstate, rng_mrg.ff_2p134(start))


def test_one_number_of_a_stream():
    streams = rng_mrg.MRG_RandomStreams(11)
    state = streams.get_substream_rstates(1, "float64", inc_rstate=False)[0]
    f = theano.function([], streams.uniform((3,), nstreams=1, dtype="float64"))
    new = np.empty(6, "int32")
    numbers = []
    for _ in range(3):
        numbers.append(rng_mrg.mrg_next_value(state, new, rng_mrg.NORM, 0x7FFFFFFF, 0))
        state = new.copy()
    np.testing.assert_array_equal(f(), numbers)


def test_rewrites_without_a_mode():
    from theano.gof.opt import out2in
    from theano.tensor.rewriting import unregistered

    x = T.dmatrix("x")

    def rewritten(out, rewrite):
        graph = theano.FunctionGraph([x], [out])
        out2in(rewrite).optimize(graph)
        return graph.outputs[0]

    assert rewritten(T.inv(x), opt.local_inv_canon).owner.op == T.pow
    assert rewritten(theano.tensor.basic.Tile(2)(x, [1, 1]), opt.local_useless_tile).owner is None
    assert rewritten(theano.compile.view_op(T.exp(x)), opt.local_view_op).owner.op == T.exp
    composite = theano.scalar.Composite(*(lambda v: ([v], [v + 1.0, v * 2.0]))(theano.scalar.float64()))
    both = T.Elemwise(composite)(x)
    one = rewritten(both[1] + 1, opt.local_useless_composite).owner.inputs[0].owner
    assert len(one.outputs) == 1 and [o.owner.op for o in one.op.scalar_op.outputs] == [theano.scalar.mul]
    assert opt.merge_broadcastables([(True, False), (True, True)]) == [True, False]
    assert unregistered.local_view_op is opt.local_view_op


def test_sums_are_multiplied_where_that_saves_operations():
    a, b, c = T.dscalars("abc")
    changed, factor, num, denum = opt.attempt_distribution(a / b + c / b, [b], [], a.type)
    assert changed and num == denum == []
    assert float(factor.eval({a: 2.0, c: 5.0})) == 7.0
    unchanged = opt.attempt_distribution(a + c, [b], [], a.type)
    assert unchanged[0] is False and unchanged[2] == [b]
    assert opt.attempt_distribution(a * c, [b], [], a.type)[0] is False


def test_groups_of_canonizers(capsys):
    x, y = T.dscalars("xy")
    for group, out in ((opt.mul_canonizer, x * y / x), (opt.add_canonizer, x + y - x)):
        graph = theano.FunctionGraph([x, y], [out])
        group.optimize(graph)
        assert graph.outputs[0] is graph.inputs[1]
    graph = theano.FunctionGraph([x], [x + T.exp(T.constant(0.0))])
    opt.topo_constant_folding.optimize(graph)
    assert not any(node.op == T.exp for node in graph.apply_nodes)
    theano.tensor.blas.local_print_as_we_go_along.transform(graph.outputs[0].owner)
    assert "Elemwise{add,no_inplace}" in capsys.readouterr().out


def test_printers_of_made_vectors():
    x = T.dscalar("x")
    assert theano.pp(T.stack([x, x])).replace(" ", "") == "[x,x]"
    with pytest.raises(TypeError):
        opt.MakeVectorPrinter().process(x, None)


def test_sums_of_scaled_matrices():
    from theano.tensor.blas import _factor_canonicalized, _gemm_canonicalize, res_is_a

    X, Y, Z = T.dmatrices("XYZ")
    a, b, c, d = (T.dscalar(name) for name in "abcd")
    assert _gemm_canonicalize(X + Y - Z, 1.0, [], 0) == [(1.0, X), (1.0, Y), (-1.0, Z)]
    (first, second, third) = _gemm_canonicalize(a * X + Y - b * Z * c, 1.0, [], 0)
    assert first == (a, X) and second == (1.0, Y) and third[1] is Z
    scale = _gemm_canonicalize((-d) * (X - b * Z * c), 1.0, [], 0)[1][0]
    number = theano.function([a, b, c, d], scale, on_unused_input="ignore")
    assert number(1, 2, 3, 4) == 24
    assert _gemm_canonicalize(a, 2.0, [], 0)[0].owner.op == T.mul
    assert _gemm_canonicalize(X * Y, 1.0, [], 0)[0][0] == 1.0
    assert _gemm_canonicalize(theano.gof.generic(), 1.0, [], 0) is None
    assert _factor_canonicalized([(1.0, X), (2.0, Y), a, (3.0, X)]) == [(4.0, X), (2.0, Y), a]
    assert res_is_a(T.sqrt(a), T.sqrt) and not res_is_a(a, T.sqrt) and not res_is_a(a + a, T.sqrt)


def test_flags_of_blas(monkeypatch):
    from theano.tensor import blas_c, blas_headers
    from theano.tensor.blas import Gemv

    flags = blas_headers.default_blas_ldflags()
    assert flags == "" or blas_headers.try_blas_flag(flags.split()) == flags
    assert blas_headers.try_blas_flag(["-lno_such_library"]) == ""
    assert blas_headers.detect_macos_sdot_bug() is False and blas_headers.detect_macos_sdot_bug.tested
    assert blas_c.check_force_gemv_init() == blas_headers.check_init_y()
    monkeypatch.setenv("MKL_THREADING_LAYER", "GNU")
    blas_headers.check_mkl_openmp()
    monkeypatch.delenv("MKL_THREADING_LAYER")
    monkeypatch.setitem(sys.modules, "mkl", None)
    with pytest.raises(RuntimeError, match="MKL_THREADING_LAYER=GNU"):
        blas_headers.check_mkl_openmp()
    with theano.configparser.change_flags({"blas.check_openmp": False}):
        blas_headers.check_mkl_openmp()
    assert blas_c.BaseBLAS().c_libraries() == [] and "dgemm_" in blas_c.BaseBLAS().c_support_code()
    texts = [f() for f in (blas_headers.cblas_header_text, blas_headers.mkl_threads_text, blas_headers.openblas_threads_text)]
    for text, name in zip(texts, ("double cblas_ddot", "MKL_Set_Dynamic", "openblas_set_num_threads")):
        assert name in text
        if theano.config.cxx:
            assert theano.gof.cmodule.GCC_compiler.try_flags([], text)

    class Other(Gemv):
        pass

    y, A, x = T.dvector(), T.dmatrix(), T.dvector()
    node = Other(False)(y, np.float64(1), A, x, np.float64(0)).owner
    assert type(blas_c.use_c_gemv.transform(node)[0].owner.op) is Gemv
    assert blas_c.use_c_gemv.transform(blas_c.cgemv_no_inplace(y, np.float64(1), A, x, np.float64(0)).owner) is False
    assert blas_c.use_c_ger.transform(blas_c.cger_no_inplace(A, np.float64(1), x, y).owner) is False
