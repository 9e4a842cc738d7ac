"""Functions of theano.compile, theano.gradient and theano.scan_module that programs import for themselves."""

import io
import logging

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.compile import debugmode
from theano.scan_module import scan_op, scan_opt, scan_utils


def test_each_optimization_warning_is_shown_once():
    passes = debugmode.NoDuplicateOptWarningFilter().filter

    def record(text):
        return logging.LogRecord("x", logging.WARNING, "f", 1, text, (), None)

    assert [passes(record(t)) for t in ("Optimization Warning: 1", "Optimization Warning: 1", "other", "other")] == [
        True, False, True, True,
    ]  # fmt: skip


def test_values_are_compared_as_the_tag_says():
    x = T.dvector()
    assert debugmode.check_eq(x, np.ones(2), np.ones(2) + 1e-12) and not debugmode.check_eq(x, np.ones(2), np.zeros(2))
    x.tag.values_eq_approx = lambda a, b: True
    assert debugmode.check_eq(x, np.ones(2), np.zeros(2))


def test_overwritten_values_are_marked_in_debug_mode():
    class Overwrite(theano.Op):
        __props__ = ()
        destroy_map = {0: [0]}

        def make_node(self, x):
            return theano.Apply(self, [x], [x.type()])

        def perform(self, node, inputs, outputs):
            inputs[0][...] += 1
            outputs[0][0] = inputs[0]

    x = T.dvector()
    mode = debugmode.DebugMode(optimizer=None, check_c_code=False)
    f = theano.function([x], Overwrite()(T.exp(x) * 2) * 3, mode=mode, accept_inplace=True)
    np.testing.assert_allclose(f(np.zeros(2)), [9, 9])
    assert any(cell[0] is debugmode.data_destroyed for cell in f.fn.storage_map.values())


def test_one_tree_is_printed():
    x = T.dvector("x")
    y = T.exp(x)
    y.owner.op.__dict__.pop("destroy_map", None)
    file, loops = io.StringIO(), []
    assert debugmode.debugprint(y, prefix="> ", file=file, order=[y.owner], scan_ops=loops) is file
    assert file.getvalue() == "> Elemwise{exp,no_inplace} [id A] ''   0\n>  |x [id B]\n" and loops == []
    file = io.StringIO()
    inplace = T.inplace.exp_inplace(T.dvector("z"))
    debugmode.debugprint(inplace, file=file, print_destroy_map=True, print_view_map=True, smap={inplace: [1]})
    assert "d={0: [0]}" in file.getvalue() and "v=" not in file.getvalue() and "[1]" in file.getvalue()


def test_modes_that_are_not_slow():
    from theano.gradient import mode_not_slow

    assert mode_not_slow("FAST_COMPILE") is theano.compile.FAST_RUN
    mode = debugmode.DebugMode(optimizer="merge")
    quick = mode_not_slow(mode)
    assert not isinstance(quick, debugmode.DebugMode) and quick.optimizer.__class__ is mode.optimizer.__class__
    assert mode_not_slow("FAST_RUN") is theano.compile.get_mode("FAST_RUN")


def test_objects_are_found_by_the_names_of_modules():
    assert theano.compile.ops.load_back("theano.gof.sched", "posort") is theano.gof.sched.posort


def test_profiles_tell_of_the_steps_of_loops():
    x = T.dvector()
    out, updates = theano.scan(lambda a, b: T.tanh(a + b), sequences=x, outputs_info=np.float64(0), profile=True)
    f = theano.function([x], out[-1], updates=updates, profile=True)
    f(np.arange(100.0))
    loops = {node: seconds for node, seconds in f.profile.apply_time.items() if isinstance(node.op, scan_op.Scan)}
    file = io.StringIO()
    scan_op.profile_printer("", 0, 0, dict.fromkeys(loops, 2.0), {}, {}, file)
    lines = file.getvalue().splitlines()
    assert loops and "Scan overhead:" in lines and lines[-1].startswith("total   2.0s")
    file = io.StringIO()
    scan_op.profile_printer("", 0, 0, {}, {}, {}, file)
    assert file.getvalue() == ""


def test_helpers_of_rewrites_of_loops(caplog):
    assert scan_opt.has_duplicates([1, 2, 1]) and not scan_opt.has_duplicates([])
    assert scan_opt.make_equiv("xyx", ["a", "b", "c"]) == (["c"], ["x"])
    with caplog.at_level(logging.INFO, "theano.scan_module.scan_opt"):
        scan_opt.warning("a", "b")
        scan_opt.info("c")
    assert [r.getMessage() for r in caplog.records] == ["WARNING theano.scan: a b", "INFO theano.scan: c"]


def test_what_can_be_computed_without_some_variables():
    x, y, z = T.dscalars("xyz")
    validator = scan_utils.Validator(valid=[x], invalid=[y], valid_equivalent={z: x})
    plain, bad, other = T.exp(x) * x, T.exp(x) + y, T.exp(z) * x
    assert validator.check(plain) == (plain, True)
    assert validator.check(bad) is None and validator.check(T.log(bad)) is None
    new, valid = validator.check(other)
    assert not valid and theano.gof.graph.is_same_graph(new, T.exp(x) * x)
    assert validator.check(new) == (new, True)
    free = T.dscalar()
    assert scan_utils.Validator().check(free) == (free, True)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_graphs_of_scalars_without_float16(dtype):
    from theano import scalar

    x, y = scalar.get_scalar_type(dtype)(), scalar.float64()
    inner = scalar.Composite([x], [scalar.cast(x + 1, "float16")])
    graph = theano.FunctionGraph([x, y], [scalar.cast(inner(x), "float16") * x, y * 2.0])
    inputs, outputs = scalar.composite_f32.apply(graph)
    assert [v.type.dtype for v in (*inputs, *outputs)] == ["float32", "float64", "float32", "float64"]
    between = theano.gof.graph.ops(inputs, outputs)
    assert not any(v.type.dtype == "float16" for node in theano.gof.graph.io_toposort(inputs, outputs) for v in node.outputs)
    assert between and scalar.Compositef32.special.keys() == {scalar.Cast, scalar.Composite}
