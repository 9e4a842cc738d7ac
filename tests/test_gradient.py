"""Symbolic differentiation: what is returned, what is refused, and that it is right."""

import time
import warnings
from collections import OrderedDict

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano import gradient
from theano.gof.null_type import NullType
from theano.gradient import DisconnectedInputError, DisconnectedType, GradientError, NullTypeGradError

x, y, v = T.dvectors("x", "y", "v")
s, t = T.dscalars("s", "t")
m = T.dmatrix("m")
PLAIN = theano.Mode("py", None)
V, W = np.array([0.5, -1.25, 3.0]), np.array([2.0, 4.0, -0.75])


def evaluate(inputs, outputs, *values):
    return theano.function(inputs, outputs, mode=PLAIN, on_unused_input="ignore")(*values)


class Scale(theano.Op):
    """``x * 2`` with whatever gradient it is given."""

    def __init__(self, grad):
        self.grad = grad

    def make_node(self, a):
        return theano.Apply(self, [a], [a.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = inputs[0] * 2


class TestContainers:
    def test_one_variable(self):
        assert isinstance(T.grad((x**2).sum(), x), theano.Variable)

    @pytest.mark.parametrize("container", [list, tuple])
    def test_the_container_follows_wrt(self, container):
        result = T.grad((x * y).sum(), container([x, y]))
        assert type(result) is container
        gx, gy = evaluate([x, y], list(result), V, W)
        np.testing.assert_allclose(gx, W)
        np.testing.assert_allclose(gy, V)

    def test_format_as(self):
        assert gradient.format_as(True, False, 3) == [3]
        assert gradient.format_as(False, True, [1, 2]) == (1, 2)
        assert gradient.format_as(False, False, [3]) == 3
        with pytest.raises(AssertionError):
            gradient.format_as(False, False, [1, 2])


class TestCost:
    def test_must_be_a_scalar(self):
        with pytest.raises(TypeError, match="scalar"):
            T.grad(x, x)

    def test_or_known_gradients_are_needed(self):
        with pytest.raises(ValueError):
            T.grad(None, x)

    def test_of_null_type_is_refused(self):
        with pytest.raises(ValueError, match="NaN"):
            T.grad(NullType("for a reason")(), x)

    def test_wrt_must_be_variables(self):
        with pytest.raises(TypeError):
            T.grad(x.sum(), 3)


class TestDisconnected:
    def test_raises_by_default_and_names_the_variable(self):
        with pytest.raises(DisconnectedInputError, match="y"):
            T.grad(x.sum(), y)

    def test_warns(self):
        with pytest.warns(UserWarning, match="not part of"):
            g = T.grad(x.sum(), y, disconnected_inputs="warn")
        np.testing.assert_array_equal(evaluate([x, y], g, V, W), np.zeros(3))

    def test_is_ignored_silently(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            _, unused = T.grad(x.sum(), [x, y], disconnected_inputs="ignore")
        assert unused.type == y.type and not np.any(unused.eval({y: np.ones((2,) * y.ndim)}))

    def test_unknown_policies_are_refused(self):
        with pytest.raises(ValueError):
            T.grad(x.sum(), y, disconnected_inputs="never")
        with pytest.raises(ValueError):
            T.grad(x.sum(), y, disconnected_inputs="ignore", return_disconnected="never")
        with pytest.raises(ValueError):
            T.grad(x.sum(), x, null_gradients="never")

    def test_can_be_none_or_a_disconnected_variable(self):
        options = {"disconnected_inputs": "ignore"}
        assert T.grad(x.sum(), y, return_disconnected="None", **options) is None
        g = T.grad(x.sum(), y, return_disconnected="Disconnected", **options)
        assert isinstance(g.type, DisconnectedType)

    def test_shapes_are_disconnected(self):
        with pytest.raises(DisconnectedInputError):
            T.grad(T.cast(x.shape[0], "float64"), x)

    def test_the_type_has_no_values(self):
        with pytest.raises(AssertionError):
            DisconnectedType().filter(3)
        assert DisconnectedType() == DisconnectedType()


class TestNull:
    @pytest.mark.parametrize("make", [gradient.grad_undefined, gradient.grad_not_implemented])
    def test_raises_with_the_comment(self, make):
        op = Scale(lambda inputs, g: [make(None, 0, inputs[0], "because")])
        with pytest.raises(NullTypeGradError, match="because"):
            T.grad(op(x).sum(), x)
        g = T.grad(op(x).sum(), x, null_gradients="return")
        assert isinstance(g.type, NullType)

    def test_reaches_everything_below(self):
        op = Scale(lambda inputs, g: [gradient.grad_undefined(None, 0, inputs[0])])
        with pytest.raises(NullTypeGradError):
            T.grad((op(T.exp(x)) + x).sum(), x)

    def test_cannot_be_compiled(self):
        with pytest.raises(TypeError, match="NaN"):
            theano.function([], gradient.grad_undefined(None, 0, x))


class TestChecksOfOps:
    @pytest.mark.parametrize(
        ("grad", "error"),
        [
            (lambda inputs, g: None, TypeError),
            (lambda inputs, g: [None], ValueError),
            (lambda inputs, g: [g[0], g[0]], ValueError),
            (lambda inputs, g: [3], TypeError),
            (lambda inputs, g: [T.cast(g[0], "int64")], TypeError),
            (lambda inputs, g: [g[0].sum()], ValueError),
        ],
    )
    def test_wrong_returns(self, grad, error):
        with pytest.raises(error):
            T.grad(Scale(grad)(x).sum(), x)

    def test_no_grad_at_all(self):
        class Bare(theano.Op):
            def make_node(self, a):
                return theano.Apply(self, [a], [a.type()])

            def perform(self, node, inputs, outputs):
                outputs[0][0] = inputs[0]

        with pytest.raises(Exception, match="Bare|grad|implement"):
            T.grad(Bare()(x).sum(), x)

    def test_disconnected_against_the_connection_pattern(self):
        op = Scale(lambda inputs, g: [DisconnectedType()()])
        op.connection_pattern = lambda node: [[True]]
        with pytest.raises(TypeError, match="connection_pattern"):
            T.grad(op(x).sum(), x)

    @pytest.mark.parametrize("pattern", [((True,),), [[True, True]], [[True], [True]], [[2]]])
    def test_malformed_connection_patterns(self, pattern):
        op = Scale(lambda inputs, g: [g[0] * 2])
        op.connection_pattern = lambda node: pattern
        with pytest.raises((TypeError, ValueError)):
            T.grad(op(x).sum(), x)

    def test_a_float64_gradient_of_a_float32_input_is_cast(self):
        f32 = T.fvector()
        op = Scale(lambda inputs, g: [T.cast(g[0] * 2, "float64")])
        assert T.grad(op(f32).sum(), f32).dtype == "float32"

    def test_integer_outputs_have_zero_gradients(self):
        k = T.cast(s, "int32")
        gs, gk = T.grad(0.5 * T.cast(k, "float64"), [s, k])
        assert [float(g) for g in evaluate([s], [gs, gk], 3.7)] == [0.0, 0.5]


class TestStops:
    def test_consider_constant_list(self):
        square = T.sqr(x)
        g = T.grad((square * x).sum(), x, consider_constant=[square])
        np.testing.assert_allclose(evaluate([x], g, V), V**2)
        with pytest.raises(TypeError):
            T.grad(x.sum(), x, consider_constant=square)

    @pytest.mark.parametrize("stop", [gradient.zero_grad, gradient.disconnected_grad, gradient.consider_constant])
    def test_half_of_a_product(self, stop):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            e = (x * stop(T.exp(x))).sum()
        np.testing.assert_allclose(evaluate([x], T.grad(e, x), V), np.exp(V))
        f = theano.function([x], e, mode=theano.Mode("py", "fast_run"))
        assert not any("Grad" in str(node.op) or "Consider" in str(node.op) for node in f.maker.fgraph.toposort())

    def test_zero_is_connected_and_disconnected_is_not(self):
        np.testing.assert_array_equal(evaluate([x], T.grad(gradient.zero_grad(x).sum(), x), V), np.zeros(3))
        with pytest.raises(DisconnectedInputError):
            T.grad(gradient.disconnected_grad(x).sum(), x)

    def test_undefined(self):
        with pytest.raises(NullTypeGradError):
            T.grad(gradient.undefined_grad(x).sum(), x)

    def test_clip_and_scale(self):
        g = T.grad((gradient.grad_clip(x, -1, 1) ** 2).sum(), x)
        np.testing.assert_allclose(evaluate([x], g, V), np.clip(2 * V, -1, 1))
        g = T.grad((gradient.grad_scale(x, -2.0) ** 2).sum(), x)
        np.testing.assert_allclose(evaluate([x], g, V), -4 * V)
        with pytest.raises(ValueError):
            gradient.grad_clip(x, 1, -1)


class TestKnown:
    def test_replaces_the_cost(self):
        middle = x**2
        g = T.grad(None, x, known_grads=OrderedDict([(middle, v)]))
        np.testing.assert_allclose(evaluate([x, v], g, V, W), 2 * V * W)

    def test_is_added_to_the_cost(self):
        middle = x**2
        g = T.grad(x.sum(), x, known_grads={middle: v})
        np.testing.assert_allclose(evaluate([x, v], g, V, W), 1 + 2 * V * W)

    def test_integers_are_refused(self):
        with pytest.raises(TypeError):
            T.grad(None, x, known_grads={x**2: T.lvector()})
        with pytest.raises(TypeError):
            T.grad(None, x, known_grads={x**2: 3.0})

    def test_of_a_wrt_is_returned(self):
        assert T.grad(None, x, known_grads={x: v}) is v


def test_names():
    cost = (x**2).sum()
    cost.name = "c"
    assert T.grad(cost, x).name == "(dc/dx)"
    assert T.grad((y**2).sum(), y).name is None
    assert T.grad(cost, x, add_names=False).name != "(dc/dx)"


def test_terms_of_all_uses_are_added():
    g = T.grad((T.sin(x) * T.exp(x) + x * y + x[0]).sum(), x)
    wanted = np.cos(V) * np.exp(V) + np.sin(V) * np.exp(V) + W + np.array([3.0, 0, 0])
    np.testing.assert_allclose(evaluate([x, y], g, V, W), wanted)


def test_an_op_with_two_outputs():
    top, where = T.max_and_argmax(x)
    np.testing.assert_allclose(evaluate([x], T.grad(top * 3, x), V), [0, 0, 3])


def test_inplace_ops_see_the_old_values():
    g = T.grad(T.inplace.exp_inplace(x * 1.0).sum(), x)
    f = theano.function([x], g, mode=PLAIN, accept_inplace=True)
    np.testing.assert_allclose(f(V), np.exp(V))


def test_a_long_chain_is_quick_and_not_recursive():
    e = s
    for _ in range(10_000):
        e = e * t
    start = time.process_time()
    g = T.grad(e, s)
    assert time.process_time() - start < 5
    assert g.ndim == 0


class TestOperators:
    def test_lop(self):
        cost = T.dot(x, m)
        f = theano.function([x, m, v], gradient.Lop(cost, [m, x], v), mode=PLAIN)
        gm, gx = f(V, np.arange(6.0).reshape(3, 2), np.array([1.0, -1.0]))
        np.testing.assert_allclose(gm, np.outer(V, [1, -1]))
        np.testing.assert_allclose(gx, [-1, -1, -1])
        with pytest.raises(ValueError):
            gradient.Lop([cost], x, [v, v])

    def test_lop_of_functions_that_are_made_from_one_another(self):
        a = T.sin(x)
        value = evaluate([x, v, y], gradient.Lop([a, T.exp(a), x, a], x, [v, y, v, y]), V, W, W + 1)
        assert np.allclose(value, W + np.cos(V) * (W + np.exp(np.sin(V)) * (W + 1) + W + 1))

    def test_rop(self):
        r = gradient.Rop([T.sqr(x), T.exp(x)], x, v)
        assert isinstance(r, list)
        a, b = evaluate([x, v], r, V, W)
        np.testing.assert_allclose(a, 2 * V * W)
        np.testing.assert_allclose(b, np.exp(V) * W)

    def test_rop_of_disconnected_outputs(self):
        with pytest.raises(DisconnectedInputError):
            gradient.Rop([x * 2, y], x, v)
        with pytest.raises(DisconnectedInputError):
            gradient.Rop([x * 2, y * 2], x, v)
        _, zero = gradient.Rop([x * 2, y], x, v, disconnected_outputs="ignore")
        np.testing.assert_array_equal(evaluate([y], zero, W), np.zeros(3))
        options = {"disconnected_outputs": "ignore"}
        assert gradient.Rop([x, y], x, v, return_disconnected="None", **options)[1] is None
        d = gradient.Rop([x, y], x, v, return_disconnected="Disconnected", **options)[1]
        assert isinstance(d.type, DisconnectedType)

    def test_rop_checks_its_arguments(self):
        with pytest.raises(ValueError):
            gradient.Rop(x, [x], [v, v])
        with pytest.raises(ValueError):
            gradient.Rop(x, x, m)

    def test_rop_of_a_long_chain_is_not_recursive(self):
        e = x
        for _ in range(2000):
            e = e * 1.0
        assert gradient.Rop(e, x, v).ndim == 1

    def test_jacobian_and_hessian_of_known_length(self):
        w = theano.shared(V.copy())
        j = gradient.jacobian(w**2, w)
        np.testing.assert_allclose(theano.function([], j)(), np.diag(2 * V))
        h = gradient.hessian((w**3).sum() + w[0] * w[1], w)
        wanted = np.diag(6 * V)
        wanted[0, 1] = wanted[1, 0] = 1
        np.testing.assert_allclose(theano.function([], h)(), wanted)
        assert isinstance(gradient.jacobian(w**2, [w]), list)
        assert isinstance(gradient.hessian((w**2).sum(), (w,)), tuple)
        np.testing.assert_array_equal(theano.function([], gradient.hessian(w.sum(), w))(), np.zeros((len(V), len(V))))

    def test_jacobian_of_a_scalar_is_the_gradient(self):
        np.testing.assert_allclose(evaluate([x], gradient.jacobian((x**2).sum(), x), V), 2 * V)

    def test_wrong_ranks(self):
        with pytest.raises(AssertionError):
            gradient.jacobian(m, m)
        with pytest.raises(AssertionError):
            gradient.hessian(x, x)
        with pytest.raises(AssertionError):
            gradient.hessian(m.sum(), m)


def test_subgraph_grad():
    hidden = T.tanh(x * y)
    cost = (hidden**2).sum()
    first, ends = theano.subgraph_grad(wrt=[], end=[hidden], cost=cost)
    wrt, _, start, from_cost = theano.subgraph_grad(wrt=[y], end=[x], start={hidden: ends[0]}, cost=(y**2).sum(), details=True)
    got, whole = evaluate([x, y], [wrt[0], T.grad(cost + (y**2).sum(), y)], V, W)
    np.testing.assert_allclose(got, whole)
    assert first == [] and len(start) == len(from_cost) == 1
    with pytest.raises(AssertionError):
        theano.subgraph_grad(wrt=[y], end=[x])


class TestNumeric:
    def test_errors(self):
        assert gradient.numeric_grad.abs_rel_err(np.array(3.0), np.array(1.0)) == (2.0, 0.5)
        n = gradient.numeric_grad(lambda a, b: (a**2 * b).sum(), [np.array([1.0, 2.0]), np.array([3.0, 4.0])])
        np.testing.assert_allclose(n.gf[0], [6, 16], atol=1e-4)
        worst = n.max_err([np.array([6.0, 16.0]), np.array([1.0, 5.0])], 1e-4, 1e-4)
        assert worst[:2] == (1, 1)
        with pytest.raises(ValueError):
            n.abs_rel_errors([np.array([6.0, 16.0])])
        with pytest.raises(ValueError):
            n.abs_rel_errors([np.zeros(3), np.zeros(2)])

    def test_float32(self):
        n = gradient.numeric_grad(lambda a: (a**2).sum(), [np.array([1.0, 2.0], dtype="float32")])
        np.testing.assert_allclose(n.gf[0], [2, 4], rtol=1e-2)

    def test_verify_grad(self):
        rng = np.random.RandomState(1)
        gradient.verify_grad(lambda a, b: a * b + T.exp(a), [V, W], rng=rng, mode=PLAIN)
        wrong = Scale(lambda inputs, g: [g[0]])
        with pytest.raises(GradientError) as error:
            gradient.verify_grad(wrong, [V], rng=rng, mode=PLAIN)
        assert "position" in str(error.value) and error.value.arg == 0
        gradient.verify_grad(wrong, [V], rng=rng, mode=PLAIN, abs_tol=1e6, rel_tol=1e6)
        with pytest.raises(TypeError):
            gradient.verify_grad(T.tanh, [V], mode=PLAIN)
        with pytest.raises(TypeError):
            gradient.verify_grad(T.tanh, [np.array([1])], rng=rng, mode=PLAIN)
        with pytest.raises(NotImplementedError):
            gradient.verify_grad(lambda a: [a, a], [V], rng=rng, mode=PLAIN)


def test_the_gradients_of_one_call_share_their_numbers():
    out = T.tanh(v) * T.tanh(v + 1)
    grad = theano.grad(out.sum(), v)
    differences = [node for node in theano.gof.graph.io_toposort([v], [grad]) if node.op == T.sub]
    assert len(differences) == 2 and len({node.inputs[0] for node in differences}) == 1
    assert theano.grad(T.tanh(v).sum(), v).owner.inputs[1].owner.inputs[0] is not differences[0].inputs[0]
    expected = (1 - np.tanh(V) ** 2) * np.tanh(V + 1) + np.tanh(V) * (1 - np.tanh(V + 1) ** 2)
    np.testing.assert_allclose(theano.function([v], grad, mode=PLAIN)(V), expected)
