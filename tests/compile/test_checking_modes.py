"""DebugMode, NanGuardMode and MonitorMode."""

import pickle

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano import gof
from theano.compile import debugmode, monitormode, nanguardmode
from theano.compile.debugmode import DebugMode
from theano.compile.nanguardmode import NanGuardMode
from theano.ifelse import ifelse
from theano.tensor.careduce import MaxOrMinusInfinity


class Op(theano.Op):
    """An op of vectors with a given `perform`."""

    def __init__(self, function, **maps):
        self.function = function
        self.__dict__.update(maps)

    def make_node(self, *inputs):
        return gof.Apply(self, list(inputs), [T.dvector()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = self.function(*inputs)


def debug(op, *args, **kwargs):
    inputs = T.dvectors(len(args)) if len(args) > 1 else [T.dvector()]
    mode = DebugMode(check_c_code=False, optimizer=None, stability_patience=1, **kwargs)
    return theano.function(inputs, op(*inputs), mode=mode)(*args)


def test_a_good_function_gives_its_result():
    x, s = T.dvector("x"), theano.shared(np.array([1.0, 2.0]))
    mode = DebugMode(check_c_code=False, stability_patience=2)
    f = theano.function([x], [T.dot(x, s), x * 2], updates=[(s, s + x)], mode=mode)
    dot, double = f([1.0, 1.0])
    assert dot == 3 and double.tolist() == [2, 2] and s.get_value().tolist() == [2, 3]


def add_in_place(a):
    a += 1
    return a


def test_undeclared_destruction():
    def bad(a):
        a += 1
        return a.copy()

    with pytest.raises(debugmode.BadDestroyMap):
        debug(Op(bad), np.zeros(2))
    x = T.dvector("x")
    op = Op(add_in_place, destroy_map={0: [0]})
    mode = DebugMode(check_c_code=False, optimizer=None, stability_patience=1)
    assert theano.function([x], op(x * 2), mode=mode, accept_inplace=True)([1.0]) == [3.0]


@pytest.mark.parametrize("function", [lambda a: a, lambda a: a[1:]])
def test_undeclared_views(function):
    with pytest.raises(debugmode.BadViewMap):
        debug(Op(function), np.arange(4.0))
    assert debug(Op(function, view_map={0: [0]}), np.arange(4.0)).tolist() == function(np.arange(4.0)).tolist()


@pytest.mark.parametrize("function", [lambda a: 1j * a, lambda a: np.ones((2, 2)), lambda a: "text"])
def test_values_of_the_wrong_type(function):
    with pytest.raises(debugmode.InvalidValueError):
        debug(Op(function), np.ones(2))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite(value):
    with pytest.raises(debugmode.InvalidValueError):
        debug(Op(lambda a: a + value), np.ones(2))
    assert not np.isfinite(debug(Op(lambda a: a + value), np.ones(2), check_isfinite=False)).any()


def wrong(reason, value):
    @gof.local_optimizer([T.add])
    def optimization(node):
        if node.op == T.add and len(node.inputs) == 2:
            return [T.add(*node.inputs, T.constant(np.array([value])))]
        return False

    optimization.__name__ = reason
    db = gof.EquilibriumDB()
    db.register(reason, optimization, "all")
    return db.query("+all")


def test_bad_optimizations_are_named():
    a, b = T.dvectors("a", "b")
    mode = DebugMode(optimizer=wrong("my_wrong_one", 0.5), check_c_code=False)
    f = theano.function([a, b], a + b, mode=mode)
    with pytest.raises(debugmode.BadOptimization) as info:
        f([1.0], [2.0])
    error = info.value
    assert "my_wrong_one" in str(error.reason) and "my_wrong_one" in str(error)
    assert error.old_r_val == [3.0] and error.new_r_val == [3.5] and error.old_graph and error.new_graph


def test_harmless_optimizations_pass():
    a, b = T.dvectors("a", "b")
    mode = DebugMode(optimizer=wrong("harmless", 0.0), check_c_code=False)
    assert theano.function([a, b], a + b, mode=mode)([1.0], [2.0]) == [3.0]


def test_optimizations_that_differ_when_repeated():
    count = [0]

    @gof.local_optimizer([T.add])
    def sometimes(node):
        count[0] += 1
        return [node.inputs[0] - (-node.inputs[1])] if node.op == T.add and count[0] % 2 else False

    db = gof.EquilibriumDB()
    db.register("sometimes", sometimes, "all")
    a, b = T.dvectors("a", "b")
    with pytest.raises(debugmode.StochasticOrder):
        theano.function([a, b], a + b, mode=DebugMode(optimizer=db.query("+all"), stability_patience=3))


class Accumulates(Op):
    def __init__(self, good):
        self.good = good

    def perform(self, node, inputs, output_storage):
        (a,) = inputs
        out = output_storage[0]
        if out[0] is None or out[0].shape != a.shape:
            out[0] = np.zeros_like(a)
        elif self.good:
            out[0][...] = 0
        out[0] += a


@pytest.mark.parametrize("kind", ["previous", "c_contiguous", "f_contiguous", "strided", "ALL"])
def test_preallocated_outputs(kind):
    assert debug(Accumulates(True), np.ones(3), check_preallocated_output=kind).tolist() == [1, 1, 1]
    assert debug(Accumulates(False), np.ones(3)).tolist() == [1, 1, 1]
    if kind != "previous":
        with pytest.raises(debugmode.BadThunkOutput) as info:
            debug(Accumulates(False), np.ones(3), check_preallocated_output=kind)
        assert info.value.offending_op() is Accumulates and "preallocated" in str(info.value)


def test_debug_mode_has_at_least_one_way_to_compute():
    with pytest.raises(ValueError):
        DebugMode(check_c_code=False, check_py_code=False)


def test_modes_derived_from_a_debug_mode_keep_its_options():
    mode = DebugMode(check_isfinite=False, stability_patience=3).including("fusion").excluding("inplace")
    assert isinstance(mode, DebugMode) and mode.check_isfinite is False and mode.stability_patience == 3
    again = pickle.loads(pickle.dumps(mode))
    assert isinstance(again, DebugMode) and again.check_isfinite is False


@pytest.mark.parametrize("index, value", list(enumerate([np.nan, np.inf, 1e11])))
def test_nan_guard_flags(index, value):
    x = T.dvector("x")
    for flagged in range(3):
        flags = [flagged == 0, flagged == 1, flagged == 2]
        f = theano.function([x], x * 2, mode=NanGuardMode(*flags))
        # Infinity is also big.
        if flagged == index or (flagged == 2 and value == np.inf):
            with pytest.raises(AssertionError, match="detected"):
                f([value])
        else:
            f([value])


def test_nan_guard_watches_every_node():
    x = T.dvector("x")
    f = theano.function([x], T.switch(T.isnan(T.log(x)), 0.0, 1.0), mode=NanGuardMode(True, True, True, optimizer=None))
    assert f([1.0]) == [1.0]
    with np.errstate(all="ignore"), pytest.raises(AssertionError, match="log"):
        f([-1.0])


@pytest.mark.parametrize("mode", [DebugMode(check_c_code=False, stability_patience=1), NanGuardMode(True, True, True)])
def test_the_largest_of_no_numbers_may_be_infinite(mode):
    x = T.dmatrix("x")
    largest = MaxOrMinusInfinity(axis=0)(x * 2)
    f = theano.function([x], T.exp(largest), mode=mode)
    assert f(np.zeros((0, 2))).tolist() == [0, 0] and f([[0, -1]]).tolist() == [1, np.exp(-2.0)]
    with pytest.raises((debugmode.InvalidValueError, AssertionError)):
        f([[np.nan, 1]])


@pytest.mark.parametrize("mode", [DebugMode(check_c_code=False, stability_patience=1), NanGuardMode(True, True, True)])
def test_memory_that_is_filled_in_parts_may_hold_anything(mode):
    class Garbage(T.AllocEmpty):
        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = np.full(inputs[0], np.inf)

    Garbage.__name__ = "AllocEmpty"
    x = T.dvector("x")
    half = T.set_subtensor(Garbage("float64")(4)[:2], x)
    f = theano.function([x], T.set_subtensor(half[2:], x + 1)[1:3] * 2, mode=mode)
    assert f([1, 2]).tolist() == [4, 4]
    with pytest.raises((debugmode.InvalidValueError, AssertionError)):
        f([1, np.inf])


def test_nan_guard_derived_modes_keep_their_flags():
    mode = pickle.loads(pickle.dumps(NanGuardMode(True, False, False).excluding("fusion")))
    assert (mode.nan_is_error, mode.inf_is_error, mode.big_is_error) == (True, False, False)


def test_nan_and_inf_of_values():
    assert nanguardmode.contains_nan(np.array([1.0, np.nan])) and not nanguardmode.contains_nan(np.array([1, 2]))
    assert nanguardmode.contains_inf(np.array([np.inf])) and not nanguardmode.contains_inf(np.random.RandomState(0))
    assert nanguardmode.flatten([1, (2, {"a": [3]})]) == [1, 2, 3]


def test_monitor_sees_the_values_of_each_node():
    seen = []
    x = T.dscalar("x")
    mode = monitormode.MonitorMode(
        pre_func=lambda i, node, fn: seen.append(("pre", i, [float(c[0]) for c in fn.inputs])),
        post_func=lambda i, node, fn: seen.append(("post", i, [float(c[0]) for c in fn.outputs])),
        optimizer="None",
    )
    assert theano.function([x], T.exp(x) * 2, mode=mode)(0.0) == 2.0
    assert seen[0] == ("pre", 0, [0.0]) and seen[1] == ("post", 0, [1.0]) and seen[-1][2] == [2.0]


@pytest.mark.parametrize("allow_gc", [True, False])
def test_linkers_ask_for_the_flag_when_they_are_made(allow_gc):
    x = T.dscalar("x")
    with theano.change_flags(allow_gc=allow_gc):
        monitored, c = monitormode.MonitorMode(), theano.Mode(linker=gof.CLinker(), optimizer=None)
        assert monitored.linker.linkers[0].allow_gc == allow_gc
        assert theano.function([x], T.exp(T.sort(x.dimshuffle("x"))), mode=c).fn.allow_gc == allow_gc


def test_monitor_modes_can_exclude(capsys):
    x = T.dscalar("x")
    mode = monitormode.MonitorMode(post_func=monitormode.detect_nan).excluding("fusion")
    with np.errstate(all="ignore"):
        theano.function([x], T.sqrt(x) * 2, mode=mode)(-1.0)
    assert "NaN detected" in capsys.readouterr().out
    with pytest.raises(Exception, match="own linker"):
        monitormode.MonitorMode(linker=gof.PerformLinker())


@pytest.mark.parametrize("mode", ["DebugMode", NanGuardMode(), theano.compile.MonitorMode()], ids=["debug", "nan", "all"])
def test_choices_run_in_the_checking_modes(mode):
    """Of tensors in groups, with gradients, and of values that are no arrays."""
    c, x, y = T.dscalar("c"), T.dvector("x"), T.dvector("y")
    first, second = ifelse(T.gt(c, 0), [x * y, y + 1], [x - y, x])
    f = theano.function([c, x, y], [first, second, *T.grad((first * second).sum(), [x, y])], mode=mode)
    a, b = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    for value, expected in ((1.0, [a * b, b + 1, b * (b + 1), a * (b + 1) + a * b]), (-1.0, [a - b, a, a - b + a, -a])):
        for result, wanted in zip(f(value, a, b), expected, strict=True):
            np.testing.assert_allclose(result, wanted)
    values = theano.typed_list.TypedListType(T.dvector)("values")
    g = theano.function([c, values], ifelse(c, values, values.reverse()), mode=mode)
    assert [v.tolist() for v in g(0.0, [a, b])] == [b.tolist(), a.tolist()]


def test_random_numbers_are_drawn_in_the_checking_modes():
    """By Ops whose state is no array, outside of a scan and in it."""
    for mode in ("DebugMode", NanGuardMode(), theano.compile.MonitorMode()):
        random = T.shared_randomstreams.RandomStreams(seed=234)
        draws = random.uniform((3,))
        steps, updates = theano.scan(lambda s: s + random.normal(()), outputs_info=T.zeros(()), n_steps=3)
        f = theano.function([], [draws, steps], updates=updates, mode=mode)
        results = [f() for _ in range(2)]
        if mode == "DebugMode":
            first = results
        for result, expected in zip(results, first, strict=True):
            np.testing.assert_allclose(result[0], expected[0])
            np.testing.assert_allclose(result[1], expected[1])
        assert not np.allclose(results[0][0], results[1][0])


def test_positions_do_not_share_memory():
    """Those of nonzero and unravel_index, for each dimension an array of its own."""
    x = T.dmatrix("x")
    value = np.array([[1.0, 0, 2], [0, 3, 0]])
    for mode in ("DebugMode", theano.Mode("py", None)):
        rows, columns = theano.function([x], list(x.nonzero()), mode=mode)(value)
        assert (rows.tolist(), columns.tolist()) == ([0, 0, 1], [0, 2, 1])
        assert rows.flags.c_contiguous and not np.may_share_memory(rows, columns)
        rows, columns = theano.function([x], T.unravel_index(T.cast(x[0], "int64"), (2, 2)), mode=mode)(value + 1)
        assert (rows.tolist(), columns.tolist()) == ([1, 0, 1], [0, 1, 1])
        assert not np.may_share_memory(rows, columns)
