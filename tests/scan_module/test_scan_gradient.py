"""Gradients and R operators through loops."""

from __future__ import annotations

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.gradient import DisconnectedInputError, NullTypeGradError
from theano.scan_module import until
from theano.tests.unittest_tools import verify_grad

PYTHON = theano.Mode("py", "fast_compile")
zero = T.constant(0.0, dtype="float64")
x = T.dvector("x")
w = T.dscalar("w")


@pytest.fixture
def rng():
    return np.random.RandomState(42)


def squared(outs):
    return sum((out**2).sum() for out in (outs if isinstance(outs, list) else [outs]))


def test_recurrent_layer(rng):
    def layer(rows, h, weights):
        return theano.scan(lambda r, h, W: T.tanh(r + T.dot(h, W)), rows, h, weights)[0]

    verify_grad(layer, [rng.rand(4, 3), rng.rand(3), rng.rand(3, 3)], rng=rng)
    verify_grad(lambda *args: layer(*args)[-1], [rng.rand(4, 3), rng.rand(3), rng.rand(3, 3)], rng=rng)


def test_the_gradient_of_a_whole_sequence_is_not_copied_into_zeros():
    rows, h = T.dmatrix("rows"), T.dvector("h")
    out, _ = theano.scan(lambda r, h: T.tanh(r * h), rows, h)
    f = theano.function([rows, h], T.grad(out.sum(), rows))
    assert isinstance(f.maker.fgraph.outputs[0].owner.op, T.Subtensor)
    expected = theano.function([rows, h], T.grad(out.sum(), rows), mode=PYTHON)
    values = np.arange(6.0).reshape(3, 2) / 6, np.ones(2)
    np.testing.assert_allclose(f(*values), expected(*values))


def test_several_taps_of_sequences_and_states(rng):
    def loop(s, h, w):
        step = lambda a, b, p3, p1, w: (w * p3 * p1 + a * b, T.exp(p3) * a)  # noqa: E731
        outs, _ = theano.scan(step, {"input": s, "taps": [-1, 1]}, [{"initial": h, "taps": [-3, -1]}, None], w)
        return squared(outs)

    verify_grad(loop, [rng.rand(6), rng.rand(3), np.float64(0.7)], rng=rng)


def test_going_backwards(rng):
    verify_grad(lambda s: theano.scan(lambda v, h: T.sin(h + v), s, zero, go_backwards=True)[0], [rng.rand(5)], rng=rng)


def test_while_loops_have_gradients_for_the_steps_that_were_done():
    def step(v, h, w):
        return h * w + v, until(h * w + v > 2.0)

    out, _ = theano.scan(step, x, T.constant(0.1, dtype="float64"), w)
    f = theano.function([x, w], [out, *T.grad(out.sum(), [x, w])])
    values, gx, gw = f(np.ones(8), 1.0)
    assert np.allclose(values, [1.1, 2.1])
    assert gx.tolist() == [2.0, 1.0, 0, 0, 0, 0, 0, 0]
    # d(h w + 1)/dw = h, d((h w + 1) w + 1)/dw = 2 h w + 1
    assert np.allclose(gw, 0.1 + 1.2)


def test_while_loops_without_states():
    out, _ = theano.scan(lambda v: (v**2, until(v > 1.5)), x)
    g = theano.function([x], T.grad(out.sum(), x))
    assert g([1.0, 2.0, 3.0]).tolist() == [2.0, 4.0, 0.0]


def test_truncation_stops_the_gradient_some_steps_back():
    out, _ = theano.scan(lambda v, h: h + v, x, zero, truncate_gradient=2)
    f = theano.function([x], T.grad(out[-1], x))
    assert f([1.0, 2.0, 3.0, 4.0]).tolist() == [0.0, 0.0, 1.0, 1.0]
    assert f([1.0]).tolist() == [1.0]
    out, _ = theano.scan(lambda v, h, w: h * w + v, x, zero, w, truncate_gradient=2)
    f = theano.function([x, w], T.grad(out[-1], w))
    # With h of two steps before taken as given: d(((h w + 3) w) + 4)/dw = 2 h w + 3
    assert f([1.0, 2.0, 3.0, 4.0], 2.0) == 2 * 4.0 * 2.0 + 3.0


def test_second_derivative_of_a_truncated_gradient():
    out, _ = theano.scan(lambda v, h, w: h * w * v, x, T.constant(1.0, dtype="float64"), w, truncate_gradient=2)
    second = T.grad(T.grad(out[-1], w), w)
    value = theano.function([x, w], second)(np.ones(4), 2.0)
    assert np.isfinite(value)


@pytest.mark.parametrize("order", [2, 3])
def test_higher_derivatives(order, rng):
    # h_t = w h_{t-1}: the last of five is w^5.
    out, _ = theano.scan(lambda h, w: h * w, None, T.constant(1.0, dtype="float64"), w, n_steps=5)
    derivative = out[-1]
    for _ in range(order):
        derivative = T.grad(derivative, w)
    expected = {2: 20 * 1.5**3, 3: 60 * 1.5**2}[order]
    assert np.allclose(theano.function([w], derivative)(1.5), expected)


def test_second_derivatives_of_a_nonlinear_loop(rng):
    def first(s, h, w):
        out, _ = theano.scan(lambda v, a, b, w: T.tanh(a * w + v * b), s, {"initial": h, "taps": [-2, -1]}, w)
        gradients = T.grad(squared(out), [s, h, w])
        return T.concatenate([gradients[0], gradients[1], T.shape_padleft(gradients[2])])

    verify_grad(first, [rng.rand(3), rng.rand(2), np.float64(0.8)], rng=rng)


def test_third_derivatives_need_values_that_the_loops_overwrite(rng):
    def second(s, w):
        out, _ = theano.scan(lambda v, h, w: T.tanh(h * w + v), s, T.constant(0.1, dtype="float64"), w)
        return T.grad(T.grad(squared(out), w), s)

    verify_grad(second, [rng.rand(3), np.float64(1.1)], rng=rng)


def test_gradient_of_a_loop_of_gradients(rng):
    def loop(start, matrix):
        def descend(v, matrix):
            return v - 0.1 * T.grad((T.dot(matrix, v) ** 2).sum(), v)

        return theano.scan(descend, None, start, matrix, n_steps=3)[0][-1]

    verify_grad(loop, [rng.rand(2), rng.rand(2, 2)], rng=rng)


def test_nested_loops(rng):
    def loop(matrix, w):
        def inner(v, s, w):
            return T.tanh(s * w + v)

        def outer(row, h, w):
            out, _ = theano.scan(inner, row, h, w)
            return out[-1]

        return theano.scan(outer, matrix, T.constant(0.2, dtype="float64"), w)[0]

    verify_grad(loop, [rng.rand(2, 3), np.float64(0.6)], rng=rng)


def test_shared_variables_that_the_loop_updates_carry_gradients():
    k = theano.shared(3.0)
    out, updates = theano.scan(lambda v: (k * v, {k: k * v}), x)
    gradient = T.grad(updates[k] + out[0], x)
    assert theano.function([x], gradient)([2.0, 5.0]).tolist() == [3.0 * 5.0 + 3.0, 6.0]


def test_random_numbers_of_the_forward_loop_are_those_of_the_gradient():
    streams = T.shared_randomstreams.RandomStreams(3)
    out, updates = theano.scan(
        lambda h, w: T.tanh(h * w) * streams.uniform(size=(3,), dtype="float64"), outputs_info=x, non_sequences=w, n_steps=4
    )
    cost = squared(out)
    f = theano.function([x, w], [cost, T.grad(cost, w)], updates=updates)
    v, step = np.array([0.3, 0.2, 0.5]), 1e-6

    def same_numbers(w_value):
        streams.seed(8)
        return f(v, w_value)

    slope = (same_numbers(0.7 + step)[0] - same_numbers(0.7 - step)[0]) / (2 * step)
    assert np.allclose(same_numbers(0.7)[1], slope, rtol=1e-6)


def test_integer_states_and_sequences_have_none():
    counts, numbers = T.lvector("counts"), T.dscalar("start")
    (_, h), _ = theano.scan(lambda c, i, h: (i + c, h * i), counts, [T.constant(1, dtype="int64"), numbers])
    g = T.grad(h.sum(), numbers)
    # i before each step: 1, 3, 6
    assert theano.function([counts, numbers], g)([2, 3, 4], 1.0) == 1 + 3 + 18
    f = theano.function([counts, numbers], T.grad(h.sum(), counts), on_unused_input="ignore")
    assert f([2, 3], 1.0).tolist() == [0.0, 0.0]


def test_what_the_cost_does_not_depend_on_is_disconnected():
    a, b = T.dscalars("a", "b")
    (p, q), _ = theano.scan(lambda p, q: (2 * p, 3 * q), outputs_info=[a, b], n_steps=2)
    with pytest.raises(DisconnectedInputError):
        T.grad(p.sum(), b)
    ga, gb = T.grad(p.sum(), [a, b], disconnected_inputs="ignore")
    assert [float(v) for v in theano.function([a, b], [ga, gb], on_unused_input="ignore")(1.0, 1.0)] == [6.0, 0.0]
    n = T.lscalar("n")
    out, _ = theano.scan(lambda p: 2 * p, outputs_info=a, n_steps=n)
    with pytest.raises(DisconnectedInputError):
        T.grad(out.sum(), n)


def test_a_slice_of_the_step_is_another_variable():
    y = x**2
    with pytest.raises(DisconnectedInputError):
        theano.scan(lambda y_i, x: T.grad(y_i, x), sequences=y, non_sequences=x)


def test_constant_and_given_gradients():
    out, _ = theano.scan(lambda v, h: h * v, x, T.constant(1.0, dtype="float64"))
    known = T.dvector("known")
    g = T.grad(None, x, known_grads={out: known})
    assert theano.function([x, known], g)([2.0, 3.0], [1.0, 10.0]).tolist() == [1 + 30, 20]
    with pytest.raises(DisconnectedInputError):
        T.grad(out.sum(), x, consider_constant=[out])


def test_undefined_gradients_inside_are_undefined_outside():
    from theano.gradient import undefined_grad

    out, _ = theano.scan(lambda v, h: undefined_grad(h * v), x, T.constant(1.0, dtype="float64"))
    with pytest.raises(NullTypeGradError):
        T.grad(out.sum(), x)


def test_an_output_that_is_also_an_input_or_used_by_another():
    def step(v, h):
        y = h * v
        return y, y + h, h

    (a, b, c), _ = theano.scan(step, x, [T.constant(1.0, dtype="float64"), None, None])
    g = T.grad(a.sum() + 10 * b.sum() + 100 * c.sum(), x)
    # a = (x0, x0 x1), b = a + (1, x0), c = (1, x0)
    f = theano.function([x], g)
    assert np.allclose(f([2.0, 3.0]), [1 + 3 + 10 * (1 + 3 + 1) + 100, 2 + 20])


def test_zero_steps_have_zero_gradients():
    n = T.lscalar("n")
    h, rows = T.dvector("h"), T.dmatrix("rows")
    (a, b), _ = theano.scan(lambda r, h, w: (h * w + r, h.sum() * w), rows, [h, None], w, n_steps=n)
    gradients = T.grad(squared([a, b]), [h, rows, w])
    for mode in (PYTHON, None):
        f = theano.function([n, h, rows, w], gradients, mode=mode)
        gh, gr, gw = f(0, np.ones(2), np.ones((3, 2)), 0.5)
        assert gh.tolist() == [0.0, 0.0] and gr.shape == (3, 2) and not gr.any() and gw == 0


# -- forward derivatives -------------------------------------------------------------------------------------------


def test_rop_of_a_recurrent_layer(rng):
    rows, h, W = T.dmatrix("rows"), T.dvector("h"), T.dmatrix("W")
    out, _ = theano.scan(lambda r, h, W: T.tanh(r + T.dot(h, W)), rows, h, W)
    points = [T.dmatrix(), T.dvector(), T.dmatrix()]
    f = theano.function([rows, h, W, *points], T.Rop(out, [rows, h, W], points))
    g = theano.function([rows, h, W], out)
    values = [rng.rand(4, 3), rng.rand(3), rng.rand(3, 3)]
    directions = [rng.rand(*v.shape) for v in values]
    step = 1e-6
    after = g(*[v + step * d for v, d in zip(values, directions)])
    before = g(*[v - step * d for v, d in zip(values, directions)])
    slope = (after - before) / (2 * step)
    np.testing.assert_allclose(f(*values, *directions), slope, rtol=1e-6)


def test_rop_leaves_integers_and_conditions_alone():
    (i, out), _ = theano.scan(
        lambda i, h, w: (i + 1, h * w * i, until(i > 1)),
        outputs_info=[T.constant(1, dtype="int64"), T.constant(1.0, dtype="float64")], non_sequences=w, n_steps=10,
    )
    f = theano.function([w], T.Rop(out, w, T.constant(1.0, dtype="float64")))
    # out = (w, 2 w^2)
    assert f(3.0).tolist() == [1.0, 12.0]


def test_rop_of_a_gradient_is_the_hessian_times_a_vector(rng):
    v = T.dvector("v")
    out, _ = theano.scan(lambda a, h: T.sin(h * a) + a, x, T.constant(1.0, dtype="float64"))
    gradient = T.grad(squared(out), x)
    f = theano.function([x, v], [T.Rop(gradient, x, v), T.grad((gradient * v).sum(), x)])
    a, b = f(rng.rand(3), rng.rand(3))
    np.testing.assert_allclose(a, b, rtol=1e-10)


# -- matrices of derivatives ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [PYTHON, None], ids=["python", "default"])
def test_jacobian_and_hessian_of_loops(mode, rng):
    out, _ = theano.scan(lambda v, h: h * v, x, T.constant(1.0, dtype="float64"))
    f = theano.function([x], [theano.gradient.jacobian(out, x), theano.gradient.hessian(out.sum(), x)], mode=mode)
    jacobian, hessian = f([2.0, 3.0, 5.0])
    assert np.allclose(jacobian, [[1, 0, 0], [3, 2, 0], [15, 10, 6]])
    # out = (a, a b, a b c)
    assert np.allclose(hessian, [[0, 1 + 5, 3], [1 + 5, 0, 2], [3, 2, 0]])


def test_connection_pattern_follows_states_through_the_steps():
    a, b, c = T.dscalars("a", "b", "c")
    outs, _ = theano.scan(lambda p, q, r: (2 * p, q + p, r + q), outputs_info=[a, b, c], n_steps=5)
    node = outs[0].owner.inputs[0].owner
    pattern = node.op.connection_pattern(node)
    assert pattern[0] == [False, False, False]
    assert pattern[1:] == [[True, True, True], [False, True, True], [False, False, True]]
