"""The Op: its layout, what its buffers hold, its shapes, and how it is compared."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.gof import traverse
from theano.scan_module.scan_op import Scan
from theano.scan_module.scan_utils import (
    compress_outs,
    equal_computations,
    expand_empty,
    get_updates_and_outputs,
    map_variables,
    reconstruct_graph,
    scan_args,
    scan_can_remove_outs,
    until,
)

PYTHON = theano.Mode("py", "fast_compile")
MODES = pytest.mark.parametrize("mode", [PYTHON, None], ids=["python", "default"])


def scan_node(variable):
    return next(node for node in traverse.io_toposort([], [variable]) if isinstance(node.op, Scan))


def info(**given):
    counts = dict.fromkeys(["n_seqs", "n_mit_mot", "n_mit_mot_outs", "n_mit_sot", "n_sit_sot", "n_nit_sot", "n_shared_outs"], 0)
    return {
        **counts,
        "tap_array": [],
        "mit_mot_out_slices": [],
        "truncate_gradient": -1,
        "name": "loop",
        "mode": None,
        "as_while": False,
        "profile": False,
        "allow_gc": False,
        "strict": False,
        "gpua": False,
        "destroy_map": {},
        **given,
    }


def one_of_each():
    s, h, x0, k = T.dvector("s"), T.dvector("h"), T.dscalar("x0"), T.dscalar("k")
    outs, _ = theano.scan(
        lambda v, a, b, p, k: (a * b + v, p + a, v * k),
        sequences=s,
        outputs_info=[{"initial": h, "taps": [-2, -1]}, x0, None],
        non_sequences=k,
    )
    return [s, h, x0, k], outs, scan_node(outs[2])


def test_kinds_stand_in_their_order():
    (s, h, x0, k), _, node = one_of_each()
    op = node.op
    assert (op.n_seqs, op.n_mit_mot, op.n_mit_sot, op.n_sit_sot, op.n_nit_sot, op.n_shared_outs) == (1, 0, 1, 1, 1, 0)
    assert op.tap_array == [[-2, -1], [-1]] and op.mintaps == [-2, -1, 0]
    assert op.info["n_sit_sot"] == 1 and not op.as_while
    assert op.outer_seqs(node) == [node.inputs[1]] and op.outer_mitsot(node) == [node.inputs[2]]
    assert op.outer_sitsot(node) == [node.inputs[3]] and op.outer_nitsot(node) == [node.inputs[4]]
    assert op.outer_non_seqs(node) == [k]
    assert op.inner_seqs(op.inputs) == op.inputs[:1] and op.inner_mitsot(op.inputs) == op.inputs[1:3]
    assert op.inner_sitsot(op.inputs) == op.inputs[3:4] and op.inner_non_seqs(op.inputs) == op.inputs[4:]
    assert op.inner_mitsot_outs(op.outputs) == op.outputs[:1] and op.inner_sitsot_outs(op.outputs) == op.outputs[1:2]
    assert op.inner_nitsot_outs(op.outputs) == op.outputs[2:] and op.outer_nitsot_outs(node) == node.outputs[2:]
    assert op.outer_mitsot_outs(node.outputs) == node.outputs[:1] and op.outer_sitsot_outs(node) == node.outputs[1:2]
    for empty in (op.outer_mitmot(node), op.inner_mitmot(op.inputs), op.outer_shared(node), op.inner_shared_outs(op.outputs)):
        assert empty == []
    assert op.mitmot_taps() == [] and op.mitmot_out_taps() == [] and op.mitsot_taps() == [[-2, -1]]


def test_mappings_join_what_belongs_together():
    _, _, node = one_of_each()
    maps = node.op.var_mappings
    assert len(maps) == 12
    assert maps["inner_inp_from_outer_inp"] == {0: [], 1: [0], 2: [1, 2], 3: [3], 4: [], 5: [4]}
    assert maps["outer_out_from_outer_inp"] == {0: -1, 1: -1, 2: 0, 3: 1, 4: 2, 5: -1}
    assert maps["outer_inp_from_inner_out"] == {0: 2, 1: 3, 2: 4}
    assert maps["inner_inp_from_inner_out"] == {0: [1, 2], 1: [3], 2: []}
    assert node.op.inner_connection_pattern() == [
        [True, False, True],
        [True, True, False],
        [True, False, False],
        [False, True, False],
        [False, False, True],
    ]


@MODES
def test_a_short_buffer_holds_the_last_values_in_order(mode):
    a = T.dscalar("a")
    op = Scan([a], [a + 1], info(n_sit_sot=1, tap_array=[[-1]]))
    n, rows = T.lscalar("n"), T.dvector("rows")
    f = theano.function([n, rows], op(n, rows), mode=mode)
    for length in (1, 2, 3, 5):
        for steps in (0, 1, 2, 3, 7):
            start = np.zeros(length)
            values = np.arange(steps + 1.0)
            got = f(steps, start)
            assert got.shape == (length,)
            expected = values[-length:] if steps + 1 >= length else np.concatenate([values, np.zeros(length - steps - 1)])
            assert got.tolist() == expected.tolist(), (length, steps)
            assert not start.any()


@MODES
def test_an_output_keeps_as_many_values_as_asked_for(mode):
    s = T.dscalar("s")
    op = Scan([s], [s * 2], info(n_seqs=1, n_nit_sot=1))
    rows, keep = T.dvector("rows"), T.lscalar("keep")
    f = theano.function([rows, keep], op(rows.shape[0], rows, keep), mode=mode)
    assert f([1.0, 2.0, 3.0], 3).tolist() == [2.0, 4.0, 6.0]
    assert f([1.0, 2.0, 3.0], 2).tolist() == [4.0, 6.0]
    assert f([1.0, 2.0, 3.0], 1).tolist() == [6.0]


@MODES
def test_a_mit_mot_reads_and_writes_the_same_rows(mode):
    now, after, k = T.dscalars("now", "after", "k")
    op = Scan(
        [now, after, k],
        [after + now * k],
        info(n_mit_mot=1, n_mit_mot_outs=1, tap_array=[[0, 1]], mit_mot_out_slices=[[1]]),
    )
    n, rows, factor = T.lscalar("n"), T.dvector("rows"), T.dscalar("factor")
    f = theano.function([n, rows, factor], op(n, rows, factor), mode=mode)
    assert f(3, [1.0, 1.0, 1.0, 1.0], 2.0).tolist() == [1.0, 3.0, 7.0, 15.0]
    assert f(2, [1.0, 1.0, 1.0, 1.0], 2.0).tolist() == [1.0, 3.0, 7.0, 1.0]


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "FAST_RUN"])
def test_without_steps_nothing_is_kept_whatever_the_length(mode):
    row, rows, steps, length = T.dvector(), T.dmatrix(), T.lscalar(), T.lscalar()
    out = Scan([row], [row * 2], {"n_seqs": 1, "n_nit_sot": 1})(steps, rows, length)
    f = theano.function([rows, steps, length], [out.shape, out], mode=mode)
    if mode == "FAST_RUN":
        shapes_only = theano.function([rows, steps, length], out.shape)
        assert not any(isinstance(node.op, Scan) for node in shapes_only.maker.fgraph.toposort())
    for n, kept, expected in [(0, 5, 0), (2, 5, 5), (3, 2, 2), (0, 0, 0)]:
        shape, value = f(np.ones((3, 2)), n, kept)
        assert tuple(shape) == value.shape == (expected, 2)


def test_negative_numbers_of_steps_are_refused():
    s = T.dscalar("s")
    n, rows = T.lscalar("n"), T.dvector("rows")
    f = theano.function([n, rows], Scan([s], [s * 2], info(n_seqs=1, n_nit_sot=1))(n, rows, 3), mode=PYTHON)
    with pytest.raises(IndexError, match="negative number of steps: -2"):
        f(-2, [1.0])


def test_shapes_are_known_without_running_the_loop():
    inputs, outs, _ = one_of_each()
    f = theano.function(inputs, [out.shape for out in outs])
    assert not any(isinstance(node.op, Scan) for node in f.maker.fgraph.toposort())
    assert [v.tolist() for v in f(np.ones(5), np.ones(2), 1.0, 1.0)] == [[5], [5], [5]]
    m, w = T.dmatrix("m"), T.dmatrix("w")
    out, _ = theano.scan(lambda r, w: T.dot(r, w), m, non_sequences=w)
    f = theano.function([m, w], out.shape)
    assert not any(isinstance(node.op, Scan) for node in f.maker.fgraph.toposort())
    assert f(np.ones((4, 2)), np.ones((2, 3))).tolist() == [4, 3]


@MODES
def test_shapes_that_depend_on_the_values_of_steps(mode):
    x = T.dvector("x")
    out, _ = theano.scan(lambda v: (v, until(v > 2)), x)
    assert theano.function([x], out.shape, mode=mode)([1.0, 2.0, 3.0, 4.0]).tolist() == [3]
    n = T.lscalar("n")
    out, _ = theano.scan(lambda i, n: T.arange(n) + i, T.arange(3), non_sequences=n)
    assert theano.function([n], out.shape, mode=mode)(4).tolist() == [3, 4]


def test_equal_loops_are_the_same_op_and_merge():
    x = T.dvector("x")
    one = T.constant(1.0, dtype="float64")
    first, second, other = (theano.scan(lambda v, h, k=k: T.tanh(h + v) * k, x, one)[0] for k in (2, 2, 3))
    ops = [scan_node(v).op for v in (first, second, other)]
    assert ops[0] == ops[1] and hash(ops[0]) == hash(ops[1]) and ops[0] != ops[2]
    f = theano.function([x], [first, second], mode=PYTHON)
    assert sum(isinstance(node.op, Scan) for node in f.maker.fgraph.toposort()) == 1


def test_the_op_can_be_pickled():
    _, outs, node = one_of_each()
    again = pickle.loads(pickle.dumps(node.op))
    assert again == node.op and str(again) == str(node.op) == "for{cpu,scan_fn}"
    assert again.var_mappings == node.op.var_mappings


def test_inner_and_outer_counts_must_fit():
    s = T.dscalar("s")
    with pytest.raises(ValueError, match="outputs"):
        Scan([s], [], info(n_seqs=1, n_nit_sot=1))
    with pytest.raises(ValueError, match="tap_array"):
        Scan([s], [s], info(n_sit_sot=1))
    op = Scan([s], [s], info(n_seqs=1, n_nit_sot=1))
    with pytest.raises(ValueError, match="takes 3 inputs"):
        op(3, T.dvector())
    with pytest.raises(TypeError, match="sequence 0"):
        op(3, T.fvector(), 3)
    with pytest.raises(TypeError, match="number of steps"):
        op(T.dscalar(), T.dvector(), 3)
    with pytest.raises(NotImplementedError, match="GPU"):
        Scan([s], [s], info(n_seqs=1, n_nit_sot=1, gpua=True))


# -- helpers -------------------------------------------------------------------------------------------------------


def test_arguments_by_kind_are_put_together_again():
    _, _, node = one_of_each()
    args = scan_args(node.inputs, node.outputs, node.op.inputs, node.op.outputs, node.op.info, clone=False)
    assert args.outer_inputs == node.inputs and args.outer_outputs == node.outputs
    assert args.inner_inputs == node.op.inputs and args.inner_outputs == node.op.outputs
    assert Scan(args.inner_inputs, args.inner_outputs, args.info) == node.op
    copied = scan_args(node.inputs, node.outputs, node.op.inputs, node.op.outputs, node.op.info)
    assert not set(copied.inner_inputs) & set(node.op.inputs)
    assert equal_computations(copied.inner_outputs, node.op.outputs, copied.inner_inputs, node.op.inputs)


def test_outputs_that_nothing_needs_can_go():
    inputs, outs, node = one_of_each()
    # The second state reads the first one.
    assert scan_can_remove_outs(node.op, [0, 2]) == ([2], [0])
    assert scan_can_remove_outs(node.op, [0, 1]) == ([0, 1], [])
    inner_inputs, inner_outputs, outer, new_info, _, old_of_new = compress_outs(node.op, [1, 2], node.inputs)
    op = Scan(inner_inputs, inner_outputs, new_info)
    assert old_of_new == {0: 0} and len(outer) == 3
    values = [np.ones(4), np.ones(2), 1.0, 1.0]
    f = theano.function(inputs, [op(*outer)[2:], outs[0]], mode=PYTHON, on_unused_input="ignore")
    a, b = f(*values)
    assert np.array_equal(a, b)


def test_computations_are_compared_up_to_their_inputs():
    a, b, c = T.dvectors("a", "b", "c")
    assert equal_computations([a + b], [a + b]) and not equal_computations([a + b], [a + c])
    assert equal_computations([a + b, b], [a + c, c], [b], [c])
    assert not equal_computations([a + b], [c + c], [a, b], [c, c])
    assert not equal_computations([a], [a, b])
    assert not equal_computations([a + T.fvector()], [a + b])


def test_copies_of_graphs_have_new_inputs():
    a, b = T.dscalars("a", "b")
    inputs, (out,) = reconstruct_graph([a, b], [a * b], "_new")
    assert [v.name for v in inputs] == ["a_new", "b_new"]
    assert equal_computations([out], [a * b], inputs, [a, b]) and out.owner.inputs == inputs


def test_room_behind_a_buffer():
    m, n = T.dmatrix("m"), T.lscalar("n")
    f = theano.function([m, n], expand_empty(m, n))
    value = np.arange(4.0).reshape(2, 2)
    for extra in (0, 3):
        result = f(value, extra)
        assert result.shape == (2 + extra, 2) and np.array_equal(result[:2], value)
    assert expand_empty(m, 0) is m


def test_what_a_step_returns_is_sorted():
    a = T.dscalar("a")
    k = theano.shared(1.0)
    stop = until(a > 1)
    for returned, expected in [
        (a, (None, [a], {})),
        ([a, a], (None, [a, a], {})),
        ({k: a}, (None, [], {k: a})),
        ([(k, a)], (None, [], {k: a})),
        (((k, a),), (None, [], {k: a})),
        ((a, {k: a}), (None, [a], {k: a})),
        (({k: a}, [a]), (None, [a], {k: a})),
        ((a, {}), (None, [a], {})),
        (([], {k: a}), (None, [], {k: a})),
        (([a], []), (None, [a], {})),
        (stop, (stop, [], {})),
        ((a, stop), (stop, [a], {})),
        (([a, a], {k: a}, stop), (stop, [a, a], {k: a})),
        (({k: a}, stop), (stop, [], {k: a})),
    ]:
        condition, outputs, updates = get_updates_and_outputs(returned)
        assert (condition, outputs, dict(updates)) == expected
    for wrong in (None, (None, a), (stop, a), "text", (a, {k: a}, a)):
        with pytest.raises(ValueError):
            get_updates_and_outputs(wrong)
    with pytest.raises(ValueError, match="scalar"):
        until(T.dvector() > 1)


def test_variables_are_replaced_inside_loops():
    x, y, z = T.dvector("x"), T.dscalar("y"), T.dscalar("z")
    out, _ = theano.scan(lambda v: T.exp(v) * y, x)
    (new,) = map_variables(lambda v: z if v is y else v, [out + y])
    f = theano.function([x, z], new)
    assert np.allclose(f([0.0, 1.0], 3.0), 3 * np.exp([0, 1]) + 3)
