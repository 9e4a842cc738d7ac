"""`theano.scan`: its arguments, what a step may return, and what compiled loops compute."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.gof.fg import MissingInputError
from theano.scan_module import until
from theano.scan_module.scan_op import Scan

PYTHON = theano.Mode("py", "fast_compile")
MODES = pytest.mark.parametrize("mode", [PYTHON, None], ids=["python", "default"])

x = T.dvector("x")
zero = T.constant(0.0, dtype="float64")


def scans_of(function):
    return [node for node in function.maker.fgraph.toposort() if isinstance(node.op, Scan)]


# -- arguments of the step function --------------------------------------------------------------------------------


def test_the_step_gets_taps_in_the_order_in_which_they_are_given():
    names = []

    def step(*args):
        names.extend(v.name for v in args)
        return args[5] + args[0], args[7] + args[1], args[2]

    s1, s2, s3 = T.dvectors("s1", "s2", "s3")
    o1, o3 = T.dvector("o1"), T.dscalar("o3")
    a1 = T.dscalar("a1")
    theano.scan(
        step,
        sequences=[{"input": s1, "taps": [-3, 2, -1]}, s2, {"input": s3, "taps": 3}],
        outputs_info=[{"initial": o1, "taps": [-3, -5]}, o3, {"initial": None}],
        non_sequences=[a1],
    )
    assert names == ["s1[t-3]", "s1[t+2]", "s1[t-1]", "s2[t]", "s3[t+3]", "o1[t-3]", "o1[t-5]", "o3[t-1]", "a1"]


@MODES
def test_the_first_element_counts_as_the_smallest_tap(mode):
    out, _ = theano.scan(lambda old, new: 10 * old + new, sequences={"input": x, "taps": [-2, 0]})
    f = theano.function([x], out, mode=mode)
    assert f([1.0, 2.0, 3.0, 4.0]).tolist() == [13.0, 24.0]


@MODES
def test_positive_taps_leave_out_the_first_elements(mode):
    out, _ = theano.scan(lambda v: v, sequences={"input": x, "taps": [2]})
    assert theano.function([x], out, mode=mode)([1.0, 2.0, 3.0, 4.0]).tolist() == [3.0, 4.0]


@MODES
def test_sequences_are_cut_to_the_shortest(mode):
    y = T.dvector("y")
    out, _ = theano.scan(lambda a, b: a * b, sequences=[x, y])
    assert theano.function([x, y], out, mode=mode)([1.0, 2.0, 3.0], [10.0, 20.0]).tolist() == [10.0, 40.0]


@MODES
def test_going_backwards_starts_at_the_last_element(mode):
    out, _ = theano.scan(lambda v, s: 10 * s + v, sequences=x, outputs_info=zero, go_backwards=True)
    assert theano.function([x], out[-1], mode=mode)([1.0, 2.0, 3.0]) == 321.0


@MODES
def test_n_steps_may_be_symbolic_zero_or_one(mode):
    n = T.iscalar("n")
    outs, _ = theano.scan(lambda h: (2 * h, h.sum()), outputs_info=[x, None], n_steps=n)
    f = theano.function([x, n], outs, mode=mode)
    for steps in (0, 1, 3):
        states, sums = f([1.0, 2.0], steps)
        assert states.shape == (steps, 2) and sums.shape == (steps,)
        assert np.array_equal(states, [[2.0**k, 2.0 ** (k + 1)] for k in range(1, steps + 1)] or np.zeros((0, 2)))


def test_a_loop_of_one_step_needs_no_scan():
    counter, h = theano.shared(3), T.dvector("h")
    out, updates = theano.scan(
        lambda v, old, new: (v + old * new, {counter: counter + 1}),
        sequences=x,
        outputs_info={"initial": h, "taps": [-2, -1]},
        n_steps=1,
    )
    f = theano.function([x, h], out, updates=updates)
    assert not scans_of(f)
    assert f([5.0], [2.0, 3.0]).tolist() == [11.0]
    assert counter.get_value() == 4


def test_initial_values_may_be_numpy_or_python_numbers():
    out, _ = theano.scan(lambda s: s + np.float32(1), outputs_info=np.asarray(0, dtype="float32"), n_steps=3)
    assert theano.function([], out)().tolist() == [1.0, 2.0, 3.0]


def test_none_and_empty_dictionaries_stand_for_outputs_without_taps():
    for info in ([None, zero], [{}, zero], [{"initial": None}, {"initial": zero}], [{"initial": zero, "taps": None}, zero]):
        outs, _ = theano.scan(lambda v, s: [2 * v, s + v], sequences=x, outputs_info=info)
        a, b = theano.function([x], outs)([1.0, 2.0])
        assert a.tolist() == [2.0, 4.0] and b.tolist() == [1.0, 3.0]


def test_what_the_step_uses_is_found_by_itself():
    w = T.dscalar("w")
    k = theano.shared(10.0)
    out, _ = theano.scan(lambda v: v * w**2 + k, sequences=x)
    assert theano.function([x, w], out)([1.0, 2.0], 3.0).tolist() == [19.0, 28.0]


def test_arguments_may_be_computed_from_one_another():
    y = x**2
    out, _ = theano.scan(lambda i, y, x: y[i] + x[i], sequences=T.arange(x.shape[0]), non_sequences=[y, x])
    assert theano.function([x], out)([1.0, 2.0]).tolist() == [2.0, 6.0]


def test_arguments_need_not_be_tensors():
    import theano.typed_list

    tl = theano.typed_list.TypedListType(T.dvector)()
    out, _ = theano.scan(lambda i, tl: tl[i].sum(), sequences=T.arange(2, dtype="int64"), non_sequences=tl)
    assert theano.function([tl], out)([[1.0, 2.0], [3.0]]).tolist() == [3.0, 3.0]


# -- what a step returns -------------------------------------------------------------------------------------------


@MODES
@pytest.mark.parametrize("as_list", [False, True])
def test_a_step_may_return_updates_only(mode, as_list):
    k = theano.shared(0)
    pair = [(k, k + 1)]
    outs, updates = theano.scan(lambda: pair if as_list else dict(pair), n_steps=5)
    assert outs is None
    f = theano.function([], [k + 1, updates[k] + 1], updates=updates, mode=mode)
    assert [int(v) for v in f()] == [1, 6]
    assert k.get_value() == 5


@MODES
def test_without_steps_shared_variables_stay_as_they_are(mode):
    k, n = theano.shared(5), T.lscalar("n")
    _, updates = theano.scan(lambda: {k: k + 1}, n_steps=n)
    f = theano.function([n], [], updates=updates, mode=mode)
    f(0)
    assert k.get_value() == 5
    f(2)
    assert k.get_value() == 7


def test_outputs_and_updates_come_in_any_order():
    k = theano.shared(1.0)
    for step in (lambda v: (v * k, {k: k * 2}), lambda v: ({k: k * 2}, v * k), lambda v: ([v * k], [(k, k * 2)])):
        k.set_value(1.0)
        out, updates = theano.scan(step, sequences=x)
        f = theano.function([x], out, updates=updates)
        assert f([1.0, 1.0, 1.0]).tolist() == [1.0, 2.0, 4.0]
        assert k.get_value() == 8.0


@MODES
def test_until_ends_the_loop_after_the_step_in_which_it_holds(mode):
    limit = T.dscalar("limit")
    k = theano.shared(0)
    outs, updates = theano.scan(
        lambda p, limit: ([p * 2, p], {k: k + 1}, until(p * 2 > limit)),
        outputs_info=[T.constant(1.0, dtype="float64"), None],
        non_sequences=limit,
        n_steps=1024,
    )
    f = theano.function([limit], outs, updates=updates, mode=mode)
    doubled, before = f(45)
    assert doubled.tolist() == [2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
    assert before.tolist() == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
    assert k.get_value() == 6
    assert theano.function([limit], outs[0][-1], mode=mode)(45) == 64.0


def test_return_list_gives_a_list_for_one_output():
    out, _ = theano.scan(lambda v: v, sequences=x, return_list=True)
    assert isinstance(out, list) and len(out) == 1


@MODES
def test_random_variables_of_the_step_are_drawn_anew_at_each_step(mode):
    streams = T.shared_randomstreams.RandomStreams(1234)
    inside, updates = theano.scan(lambda v: v + streams.uniform(size=v.shape), outputs_info=x, n_steps=4)
    f = theano.function([x], inside, updates=updates, mode=mode)
    first, second = f(np.zeros(3)), f(np.zeros(3))
    drawn = np.diff(np.concatenate([np.zeros((1, 3)), first]), axis=0)
    assert len(np.unique(drawn)) == 12
    assert not np.array_equal(first, second)
    g = theano.function([x], inside, mode=mode)
    assert np.array_equal(g(np.zeros(3)), g(np.zeros(3)))


@MODES
def test_a_loop_may_have_a_random_state_only(mode):
    n = T.iscalar("n")
    _, updates = theano.scan(lambda: T.shared_randomstreams.RandomStreams(123).uniform(), n_steps=n)
    ((state, _),) = updates.items()
    f = theano.function([n], [], updates=updates, mode=mode, no_default_updates=True)
    expected = state.get_value(borrow=False)
    f(3)
    expected.uniform(size=3)
    assert state.get_value().uniform() == expected.uniform()


def test_a_random_variable_among_the_arguments_is_drawn_once():
    streams = T.shared_randomstreams.RandomStreams(5)
    d = streams.uniform(size=(1,))
    out, _ = theano.scan(lambda v, d: v + d[0], sequences=x, non_sequences=d)
    values = theano.function([x], out)(np.zeros(4))
    assert len(np.unique(values)) == 1
    out, updates = theano.scan(lambda v: v + d[0], sequences=x)
    assert len(np.unique(theano.function([x], out, updates=updates)(np.zeros(4)))) == 4


# -- errors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_steps", [2.5, float("nan"), -1, np.float32(3), T.dscalar(), T.lvector()])
def test_numbers_of_steps_that_are_none(n_steps):
    with pytest.raises(ValueError, match="n_steps"):
        theano.scan(lambda v: v, sequences=x, n_steps=n_steps)


def test_without_sequences_the_number_of_steps_is_needed():
    with pytest.raises(ValueError, match="how many steps"):
        theano.scan(lambda h: h, outputs_info=x)


def test_information_for_some_outputs_only_is_refused():
    with pytest.raises(ValueError, match="outputs_info"):
        theano.scan(lambda v, s: [v, s + v], sequences=x, outputs_info=[zero])


def test_unknown_keys_are_named():
    with pytest.raises(ValueError, match=r"Sequence 0 .*\['tap'\].*'taps'"):
        theano.scan(lambda v: v, sequences={"input": x, "tap": [0]})
    with pytest.raises(ValueError, match=r"Output 0 .*\['init'\].*'initial'"):
        theano.scan(lambda h: h, outputs_info={"init": x, "taps": [-1]}, n_steps=3)


def test_taps_that_make_no_sense():
    with pytest.raises(ValueError, match="negative"):
        theano.scan(lambda h: h, outputs_info={"initial": x, "taps": [0]}, n_steps=3)
    with pytest.raises(ValueError, match="distinct"):
        theano.scan(lambda g, h: g + h, outputs_info={"initial": x, "taps": [-1, -1]}, n_steps=3)
    with pytest.raises(ValueError, match="no initial value"):
        theano.scan(lambda h: h, outputs_info={"taps": [-1]}, n_steps=3)
    with pytest.raises(ValueError, match="scalar"):
        theano.scan(lambda v: v, sequences=T.dscalar())


def test_the_condition_comes_last():
    with pytest.raises(ValueError, match="last"):
        theano.scan(lambda h: (until(h > 1), h), outputs_info=zero, n_steps=3)


@pytest.mark.parametrize("initial", [T.constant(0.0, dtype="float32"), T.constant(0), T.dvector()])
def test_a_state_keeps_its_dtype_and_rank(initial):
    with pytest.raises(ValueError, match="initial value of state 0"):
        theano.scan(lambda v, h: T.cast(h.sum(), "float64") + v, sequences=x, outputs_info=initial)


def test_strict_loops_get_all_that_they_use():
    w = theano.shared(np.eye(2))
    with pytest.raises(MissingInputError, match="strict"):
        theano.scan(lambda v: T.dot(v, w.T), outputs_info=x, n_steps=3, strict=True)
    out, _ = theano.scan(lambda v, w: T.dot(v, w.T), outputs_info=x, non_sequences=w, n_steps=3, strict=True)
    assert theano.function([x], out)([1.0, 2.0]).shape == (3, 2)
    # Random streams are updated by the loop itself.
    streams = T.shared_randomstreams.RandomStreams(5)
    out, updates = theano.scan(lambda v: v + streams.uniform(size=(2,)), outputs_info=x, n_steps=3, strict=True)
    assert theano.function([x], out, updates=updates)([1.0, 2.0]).shape == (3, 2)


@MODES
def test_too_many_steps_for_a_sequence(mode):
    n = T.iscalar("n")
    out, _ = theano.scan(lambda v, s: s + T.tanh(s * v), sequences=x, outputs_info=zero, n_steps=n)
    f = theano.function([x, n], out, mode=mode)
    assert f([1.0, 2.0], 2).shape == (2,)
    with pytest.raises(ValueError, match="(?s)shorter than the required number of steps.*3"):
        f([1.0, 2.0], 3)


@MODES
def test_a_result_of_another_shape_than_before(mode):
    out, _ = theano.scan(lambda h: T.concatenate([h, h]), outputs_info=x, n_steps=2)
    f = theano.function([x], out, mode=mode)
    with pytest.raises(ValueError, match=r"\(4,\).*at step 0.*\(2,\)"):
        f([1.0, 2.0])
    out, _ = theano.scan(lambda i: T.arange(i), sequences=T.arange(3))
    f = theano.function([], out, mode=mode)
    with pytest.raises(ValueError, match=r"\(1,\).*at step 1.*\(0,\)"):
        f()


@MODES
def test_too_few_initial_rows(mode):
    out, _ = theano.scan(lambda a, b: a + b, outputs_info={"initial": x, "taps": [-3, -1]}, n_steps=2)
    with pytest.raises(ValueError):
        theano.function([x], out, mode=mode)([1.0, 2.0])


@MODES
def test_an_error_names_the_inner_node_the_step_and_the_line(mode):
    rows = T.dmatrix("rows")
    out, _ = theano.scan(lambda i, h, rows: h + rows[i, 3 - i], sequences=T.arange(4), outputs_info=zero, non_sequences=rows)
    f = theano.function([rows], out, mode=mode)
    with pytest.raises(IndexError) as error:
        f(np.ones((4, 3)))
    text = str(error.value)
    assert "step 0 (counted from 0) of 4 of the scan scan_fn" in text
    assert "Apply node that caused the error: Subtensor" in text
    assert "test_scan.py" in text and "rows[i, 3 - i]" in text


# -- the compiled thing --------------------------------------------------------------------------------------------


def a_loop():
    w = theano.shared(0.5, name="w")
    k = theano.shared(0)
    out, updates = theano.scan(lambda v, h, w: (T.tanh(v + h * w), {k: k + 1}), x, zero, w, name="recurrent")
    return theano.function([x], out, updates=updates), k


def test_functions_with_loops_can_be_pickled_and_copied():
    f, k = a_loop()
    expected = f([1.0, 2.0])
    assert k.get_value() == 2
    again = pickle.loads(pickle.dumps(f))
    assert np.array_equal(again([1.0, 2.0]), expected)
    assert np.array_equal(copy.deepcopy(f)([1.0, 2.0]), expected)
    assert np.array_equal(f.copy(share_memory=False)([1.0, 2.0]), expected)
    f.free()
    assert np.array_equal(f([1.0, 2.0]), expected)


def test_printing_shows_the_inner_graph_and_where_its_inputs_come_from():
    out, _ = theano.scan(lambda v, h: T.tanh(v + h), x, zero, name="recurrent")
    text = theano.printing.debugprint(out, file="str")
    outer, inner = text.split("Inner graphs of the scan ops:")
    assert "for{cpu,recurrent}" in outer and "tanh" not in outer
    assert ">Elemwise{tanh,no_inplace}" in inner
    assert "x[t] [id" in inner and "-> [id" in inner


def test_test_values_go_through_loops():
    with theano.config.change_flags(compute_test_value="raise"):
        rows, h = T.dmatrix("rows"), T.dvector("h")
        rows.tag.test_value, h.tag.test_value = np.ones((3, 2)), np.array([1.0, 2.0])
        (states, sums), _ = theano.scan(lambda r, h: (r + h, h.sum()), rows, [h, None])
        assert states.tag.test_value.tolist() == [[2.0, 3.0], [3.0, 4.0], [4.0, 5.0]]
        assert sums.tag.test_value.tolist() == [3.0, 5.0, 7.0]
        assert T.grad(states.sum(), h).tag.test_value.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("options", [{"mode": "FAST_COMPILE"}, {"allow_gc": True}])
def test_options_do_not_change_values(options):
    out, _ = theano.scan(lambda v, h: v + h, x, zero, **options)
    assert theano.function([x], out)([1.0, 2.0, 3.0]).tolist() == [1.0, 3.0, 6.0]


@pytest.mark.parametrize("profile, name", [(True, "recurrent"), ("other", "other")])
def test_a_profile_counts_calls_and_steps(profile, name, monkeypatch):
    from theano.compile import profiling

    monkeypatch.setattr(profiling, "_atexit_print_list", [])
    out, _ = theano.scan(lambda v, h: T.tanh(v + h), x, zero, name="recurrent", profile=profile)
    f = theano.function([x], out)
    f([1.0, 2.0, 3.0])
    f([1.0, 2.0])
    (node,) = scans_of(f)
    stats = node.op.step_profile
    assert (stats.name, stats.callcount, stats.nbsteps) == (name, 2, 5)
    assert stats is node.op.fn.profile
    assert list(stats.apply_callcount.values()) == [5] and all(stats.apply_cimpl.values())
    assert 0 < sum(stats.apply_time.values()) <= stats.call_time
    text = io.StringIO()
    stats.summary(file=text)
    assert f"Scan Op profiling ( {name} )" in text.getvalue()


def test_a_profile_has_the_time_of_each_node_of_a_step(monkeypatch):
    from theano.compile import profiling

    monkeypatch.setattr(profiling, "_atexit_print_list", [])
    w = T.dmatrix("w")

    def step(v, w):
        return T.tanh(T.dot(T.sort(v), w)), v.sum()

    (last, sums), _ = theano.scan(step, outputs_info=[x, None], non_sequences=[w], n_steps=50, profile=True)
    f = theano.function([x, w], [last[-1], sums])
    f([1.0, 2.0], np.eye(2))
    (node,) = scans_of(f)
    stats = node.op.step_profile
    assert {type(n.op).__name__ for n in stats.apply_time} >= {"SortOp", "Sum", "Elemwise"}
    assert set(stats.apply_callcount.values()) == {50}
    assert all(seconds > 0 for seconds in stats.apply_time.values())


@MODES
@pytest.mark.parametrize("loop", [
    lambda n: theano.scan(lambda r: T.tanh(r), x, n_steps=n)[0],
    lambda n: theano.scan(lambda r, h: h + r, x, x[0], n_steps=n)[0],
    lambda n: theano.scan(lambda h: T.tanh(h), outputs_info=x, n_steps=n)[0][-1],
    lambda n: theano.scan(lambda a, b: T.tanh(a) + b, outputs_info={"initial": x, "taps": [-2, -1]}, n_steps=n)[0].shape,
    lambda n: T.grad(theano.scan(lambda r, h: T.tanh(h + r), x, x[0], n_steps=n)[0].sum(), x),
], ids=["map", "sum", "state", "taps", "gradient"])  # fmt: skip
def test_a_negative_number_of_steps_is_called_that(mode, loop):
    n = T.lscalar("n")
    f = theano.function([x, n], loop(n), mode=mode)
    f([1.0, 2.0, 3.0], 2)
    for number in (-1, -3, -10):
        with pytest.raises(AssertionError, match="number of steps of a scan .n_steps. is negative"):
            f([1.0, 2.0, 3.0], number)


@MODES
def test_states_may_depend_on_each_other_crosswise(mode):
    a, b = T.dscalars("a", "b")
    outs, _ = theano.scan(lambda a, b: (b, a), outputs_info=[a, b], n_steps=3)
    f = theano.function([a, b], [outs[0], outs[1][-1]], mode=mode)
    first, last = f(1.0, 2.0)
    assert first.tolist() == [2.0, 1.0, 2.0] and last == 1.0
    # Only the last values are needed, so that the buffers may be as short as one row.
    g = theano.function([a, b], [outs[0][-1], outs[1][-1]], mode=mode)
    assert [float(v) for v in g(1.0, 2.0)] == [2.0, 1.0]


@MODES
def test_inputs_of_the_function_are_not_overwritten(mode):
    h = T.dmatrix("h")
    out, _ = theano.scan(lambda a, b: a + b, outputs_info={"initial": h, "taps": [-2, -1]}, n_steps=4)
    value = np.array([[1.0], [1.0]])
    f = theano.function([h], out, mode=mode)
    assert f(value)[:, 0].tolist() == [2.0, 3.0, 5.0, 8.0]
    assert value.tolist() == [[1.0], [1.0]]


@MODES
def test_loops_in_loops(mode):
    m = T.dmatrix("m")

    def row(r):
        out, _ = theano.scan(lambda v, s: s + v * v, r, T.constant(0.0, dtype="float64"))
        return out[-1]

    out, _ = theano.scan(row, m)
    gradient = T.grad((out**2).sum(), m)
    f = theano.function([m], [out, gradient], mode=mode)
    value = np.arange(6.0).reshape(2, 3)
    norms, g = f(value)
    assert norms.tolist() == [5.0, 50.0]
    np.testing.assert_allclose(g, 4 * norms[:, None] * value)


def test_a_broadcastable_state_that_does_not_stay_so():
    tensor3 = T.dtensor3()
    out, _ = theano.scan(lambda v, h: v + h, tensor3, T.constant(np.zeros((1, 10))))
    with pytest.raises(TypeError, match="Inconsistency in the inner graph"):
        T.grad(out.sum(), tensor3)
