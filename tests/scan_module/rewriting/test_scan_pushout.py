"""Work that leaves the loop, before it and after it."""

import numpy as np
import pytest
from loop_tools import compile_checked, loops, numbers, ops, steps

import theano
import theano.tensor as T
from theano.raise_op import Assert

x3 = T.dtensor3("x3")
x, w, u, v = T.dmatrices("x", "w", "u", "v")
b = T.dvector("b")
h0 = T.dvector("h0")
H0 = T.dmatrix("H0")


class TestBefore:
    def test_what_is_the_same_at_all_steps(self):
        h, _ = theano.scan(lambda a, h, w: T.tanh(a + T.dot(h, T.exp(w))), x, h0, w)
        f = compile_checked([x, h0, w], h, [numbers(5, 3), numbers(3), numbers(3, 3)])
        assert ops(f).count("Elemwise") >= 1 and steps(f) == ["Dot", "Elemwise", "Elemwise"]

    def test_product_of_all_rows(self):
        h, _ = theano.scan(lambda a, h, w: T.tanh(T.dot(a, w) + h), x, h0, w)
        f = compile_checked([x, h0, w], h, [numbers(5, 3), numbers(4), numbers(3, 4)], [numbers(1, 3), numbers(4), numbers(3, 4)])
        assert "Dot22" in ops(f) and "Dot" not in steps(f)

    def test_product_of_matrices_of_all_steps(self):
        h, _ = theano.scan(lambda a, h, w, u: T.tanh(T.dot(a, w) + T.dot(h, u)), x3, H0, [w, u])
        f = compile_checked([x3, H0, w, u], h, [numbers(5, 2, 3), numbers(2, 4), numbers(3, 4), numbers(4, 4)])
        assert ops(f).count("Dot22") == 1 and steps(f).count("Dot") == 1

    def test_what_depends_on_the_state_stays(self):
        h, _ = theano.scan(lambda a, h, w: T.tanh(a + T.dot(h, w)), x, h0, w)
        f = compile_checked([x, h0, w], h, [numbers(5, 3), numbers(3), numbers(3, 3)])
        assert "Dot22" not in ops(f) and "Dot" in steps(f)

    def test_cheap_work_on_what_is_read_anyway_stays(self):
        h, _ = theano.scan(lambda a, h: T.tanh(a * h) + (1 - a), x, h0)
        (node,) = loops(compile_checked([x, h0], h, [numbers(5, 3), numbers(3)]))
        assert node.op.n_seqs == 1

    def test_rows_chosen_by_a_sequence(self):
        i = T.lvector("i")
        h, _ = theano.scan(lambda k, h, w: T.tanh(w[k] + h), i, h0, w)
        f = compile_checked([i, h0, w], h, [np.array([2, 0, 1, -1]), numbers(3), numbers(3, 3)])
        assert "AdvancedSubtensor1" in ops(f) and not any("Subtensor" in name for name in steps(f))

    def test_several_rows_chosen_by_a_sequence(self):
        i = T.lmatrix("i")
        h, _ = theano.scan(lambda k, h, w: T.tanh(w[k] + h), i, H0, w)
        f = compile_checked([i, H0, w], h, [np.array([[2, 0], [1, 1], [0, 2]]), numbers(2, 3), numbers(3, 3)])
        assert "AdvancedSubtensor1" in ops(f) and steps(f) == ["Elemwise", "Elemwise"]

    @pytest.mark.parametrize(
        "step",
        [
            lambda a, h, w: T.tanh(T.dot(w, a) + h),
            lambda a, h, w: T.tanh(T.dot(a, T.exp(a)) + h),
            lambda a, h, w: T.tanh(a[1:].sum() + h),
            lambda a, h, w: T.tanh(a.dimshuffle("x", 0).sum(axis=0) + h),
            lambda a, h, w: T.tanh(T.concatenate([a[:1], a[1:]]) + h),
            lambda a, h, w: T.tanh(T.nnet.softmax(a)[0] + h),
            lambda a, h, w: T.tanh(T.outer(a, a).sum(axis=1) + h),
            lambda a, h, w: T.tanh(a.reshape((1, 3))[0] + h),
            lambda a, h, w: T.tanh(T.alloc(a[0], 3) + h),
            lambda a, h, w: T.tanh(a.max() + T.set_subtensor(a[1:], 2.0) + h),
            lambda a, h, w: T.tanh(T.inc_subtensor(T.zeros((3,))[:2], a[1:]) + h),
        ],
    )
    def test_many_operations(self, step):
        h, _ = theano.scan(step, x, h0, w)
        f = compile_checked([x, h0, w], h, [numbers(5, 3), numbers(3), numbers(3, 3)], [numbers(1, 3), numbers(3), numbers(3, 3)])
        assert set(steps(f)) <= {"Elemwise", "DimShuffle", "Assert"}

    def test_backwards(self):
        h, _ = theano.scan(lambda a, h, w: T.tanh(T.dot(a, w) + h), x, h0, w, go_backwards=True)
        compile_checked([x, h0, w], h, [numbers(5, 3), numbers(4), numbers(3, 4)])

    def test_sequences_of_different_lengths(self):
        h, _ = theano.scan(lambda a, c, h: T.tanh(T.exp(a) * T.exp(c) + h), [x, w], h0)
        compile_checked([x, w, h0], h, [numbers(5, 3), numbers(3, 3), numbers(3)], [numbers(2, 3), numbers(3, 3), numbers(3)])

    def test_steps_that_differ_in_shape_stay(self):
        i = T.lvector("i")
        out, _ = theano.map(lambda k, a: (a[:k] ** 2).sum(), i, [h0])
        compile_checked([i, h0], out, [np.array([1, 3, 2]), numbers(4)])


    def test_while_loop_may_end_before_a_bad_index(self):
        i = T.lvector("i")
        h, _ = theano.scan(lambda k, h, w: (T.tanh(w[k] + h), theano.scan_module.until(k > 1)), i, h0, w)
        compile_checked([i, h0, w], h, [np.array([0, 1, 2, 99]), numbers(3), numbers(3, 3)])


class TestMaps:
    def test_elementwise(self):
        out, _ = theano.map(lambda a, b: T.exp(a) * b + 1, x, [b])
        f = compile_checked([x, b], out, [numbers(5, 3), numbers(3)], [numbers(1, 3), numbers(3)])
        assert not loops(f)

    def test_fixed_matrix_times_each_row(self):
        out, _ = theano.map(lambda a, w: T.dot(w, a), x, [w])
        f = compile_checked([x, w], out, [numbers(5, 3), numbers(2, 3)])
        assert not loops(f) and "Dot22" in ops(f)

    def test_one_of_two_outputs(self):
        (h, out), _ = theano.scan(lambda a, h: [T.tanh(a + h), a**2], x, [h0, None])
        (node,) = loops(compile_checked([x, h0], [h, out], [numbers(5, 3), numbers(3)]))
        assert node.op.n_nit_sot == 0

    def test_too_few_rows_are_still_an_error(self):
        n = T.iscalar("n")
        out, _ = theano.scan(lambda a: a + 1, b, n_steps=n)
        f = compile_checked([b, n], out, [numbers(3), 3], [numbers(3), 2])
        assert not loops(f) and "Assert" in ops(f)
        with pytest.raises(AssertionError):
            f(numbers(3), 5)

    def test_no_check_where_the_length_is_that_of_the_sequence(self):
        out, _ = theano.scan(lambda a, c: a + c, [b, h0])
        f = compile_checked([b, h0], out, [numbers(3), numbers(5)])
        assert not any(isinstance(node.op, Assert) for node in f.maker.fgraph.toposort())

    def test_an_output_that_is_the_same_at_all_steps(self):
        n = T.iscalar("n")
        step = lambda a, w, u: [T.dot(w, w + u), a + 1, T.constant(2.0)]  # noqa: E731
        (same, h, fixed), _ = theano.scan(step, outputs_info=[None, h0, None], non_sequences=[w, u], n_steps=n)
        given = [numbers(3, 3), numbers(3, 3), numbers(2)]
        f = compile_checked([w, u, h0, n], [same, fixed], [*given, 4], [*given, 1])
        assert not loops(f)
        f = compile_checked([w, u, h0, n], [same, h, fixed], [*given, 4])
        assert len(loops(f)) == 1 and not any(node.op.n_nit_sot for node in loops(f))

    def test_loops_with_one_condition_become_one(self):
        limit = T.dscalar("limit")

        def loop(function, bound=limit):
            return theano.scan(lambda a, c: (function(a), theano.scan_module.until(a * a > c)), b, non_sequences=bound)[0]

        one, two, three = loop(T.exp), loop(T.sin), loop(T.cos, bound=limit + 1)
        given = [np.array([0.0, 1.0, -2.0, 3.0, 0.5]), 3.0]
        f = compile_checked([b, limit], [one, two], given, [given[0], 100.0], excluding=["scanOp_pushout_seqs_ops"])
        assert len(loops(f)) == 1
        f = compile_checked([b, limit], [one, three], given, excluding=["scanOp_pushout_seqs_ops"])
        assert len(loops(f)) == 2

    def test_while_loop_stays(self):
        out, _ = theano.scan(lambda a: (a * 2, theano.scan_module.until(a > 1)), b)
        f = compile_checked([b], out, [np.array([0.0, 1.0, 2.0, 0.0])], [np.zeros(3)])
        assert len(loops(f)) == 1


class TestAfter:
    def test_product_that_no_step_needs(self):
        def step(a, h, u, v):
            h = T.tanh(a + T.dot(h, u))
            return h, T.dot(h, v)

        (h, y), _ = theano.scan(step, x, [h0, None], [u, v])
        f = compile_checked([x, h0, u, v], [h, y], [numbers(5, 3), numbers(3), numbers(3, 3), numbers(3, 2)])
        assert "Dot22" in ops(f) and steps(f).count("Dot") == 1 and loops(f)[0].op.n_nit_sot == 0

    def test_softmax_of_all_steps(self):
        def step(a, h, u, v):
            h = T.tanh(a + T.dot(h, u))
            return h, T.nnet.softmax(T.dot(h, v))

        (h, y), _ = theano.scan(step, x3, [H0, None], [u, v])
        f = compile_checked([x3, H0, u, v], y, [numbers(5, 2, 3), numbers(2, 3), numbers(3, 3), numbers(3, 4)])
        assert "Softmax" in ops(f) and "Softmax" not in steps(f)

    def test_no_more_memory_for_a_sum(self):
        (h, y), _ = theano.scan(lambda a, h, u: (lambda new: [new, new.sum()])(T.tanh(a + T.dot(h, u))), x, [h0, None], [u])
        f = compile_checked([x, h0, u], y, [numbers(5, 3), numbers(3), numbers(3, 3)])
        assert loops(f)[0].op.n_nit_sot == 1

    def test_what_is_the_same_at_all_steps_is_not_done_after_them(self):
        (h, y), _ = theano.scan(lambda a, h, u: [T.tanh(a + h), T.dot(b, u)], x, [h0, None], u)
        inputs, values = [x, h0, b, u], [numbers(5, 3), numbers(3), numbers(3), numbers(3, 2)]
        with theano.configparser.change_flags(on_opt_error="raise"):
            f = compile_checked(inputs, [h, y], values, excluding=("scanOp_pushout_nonseqs_ops",))
        assert "Dot" in steps(f)
        assert "Dot" not in steps(compile_checked(inputs, [h, y], values))

    def test_results_of_different_shapes_stay(self):
        i = T.lvector("i")
        (h, y), _ = theano.scan(lambda k, h: [T.tanh(h + k), h[:k].sum()], i, [h0, None])
        f = compile_checked([i, h0], [h, y], [np.array([1, 3, 2]), numbers(4)])
        assert "Subtensor" in steps(f)

    def test_sum_of_products(self):
        s, _ = theano.scan(lambda a, c, s: s + T.dot(a.T, c), [x3, x3], T.zeros((3, 3)))
        f = compile_checked([x3], s[-1], [numbers(5, 2, 3)])
        assert not loops(f) and "Dot22" in ops(f) and "BatchedDot" not in ops(f)

    @pytest.mark.parametrize(
        "term",
        [
            lambda a, c: T.dot(a, c.T),
            lambda a, c: T.dot(a.T, c),
            lambda a, c: T.outer(a[0], c[1]),
            lambda a, c: T.dot(a, c),
            lambda a, c: T.dot(a.T, c.T),
            lambda a, c: T.dot(a[:, :1], T.dot(c, a[:, :1]).T),
            lambda a, c: T.dot(a[:, 0].dimshuffle(0, "x"), T.dot(c, a[:, 0].dimshuffle(0, "x")).dimshuffle("x", 0)),
        ],
    )
    def test_sums_of_products_of_any_form(self, term):
        n = term(w, u).ndim
        (h, s), _ = theano.scan(
            lambda a, h, s, u: [T.tanh(a + T.dot(h, u)), s + term(a, h)], x3, [H0, T.zeros((3,) * n)], u
        )
        f = compile_checked([x3, H0, u], s[-1], [numbers(5, 3, 3), numbers(3, 3), numbers(3, 3)])
        assert loops(f)[0].op.n_sit_sot == 1

    def test_sum_that_is_used_at_all_steps_stays(self):
        (h, s), _ = theano.scan(lambda a, h, s: [T.tanh(a + T.dot(h, s)), s + T.dot(h.T, a)], x3, [H0, T.zeros((3, 3))])
        f = compile_checked([x3, H0], [h, s[-1]], [numbers(5, 2, 3), numbers(2, 3)])
        assert loops(f)[0].op.n_sit_sot == 2

    def test_initial_value_counts(self):
        s, _ = theano.scan(lambda a, s: s + T.dot(a.T, a), x3, u)
        f = compile_checked([x3, u], s[-1], [numbers(5, 2, 3), numbers(3, 3)])
        assert not loops(f)


def recurrent(kind):
    """A training step of a recurrent network: inputs, outputs, values."""
    shared = [theano.shared(numbers(*shape, seed=k) * 0.3, name) for k, (name, shape) in enumerate(kind)]
    return shared


def factors(f):
    """Of all factors of products that are made of outputs of loops: the loop, and whether its steps are turned round."""
    found = set()
    for product in (node for node in f.maker.fgraph.toposort() if type(node.op).__name__ in ("Dot22", "Dot", "Gemm")):
        for v in product.inputs:
            turned = False
            while v.owner is not None and v.owner not in loops(f) and v.owner.inputs:
                turned ^= str(v.owner.op) == "Subtensor{::int64}"
                v = v.owner.inputs[0]
            found |= {(loops(f).index(v.owner), turned)} if v.owner in loops(f) else set()
    return found


class TestGradients:
    def test_what_the_gradients_loop_made_is_turned_round(self):
        """Not what it read, if the gradients of its sequences have it turned round, too."""
        (h, _), (o, _) = (
            theano.scan(lambda a, h, u: T.tanh(a + T.dot(h, u)), xs, start, u) for xs, start in ((x3, H0), (x, h0))
        )
        for states, arguments in ((h, [(5, 2, 4), (2, 4)]), (o, [(5, 4), (4,)])):
            xs, start = (x3, H0) if states is h else (x, h0)
            values = [numbers(*shape) for shape in (*arguments, (4, 4))]
            gradients = T.grad((states[-1] ** 2).sum(), [u, xs])
            assert factors(compile_checked([xs, start, u], gradients, values, rtol=1e-7)) == {(0, False), (1, True)}
            # Nobody else wants it turned round.
            assert factors(compile_checked([xs, start, u], gradients[0], values, rtol=1e-7)) == {(0, True), (1, False)}

    def test_rnn(self):
        w, u, b, v = recurrent([("w", (3, 4)), ("u", (4, 4)), ("b", (4,)), ("v", (4, 2))])

        def step(a, h, w, u, b, v):
            h = T.tanh(T.dot(a, w) + T.dot(h, u) + b)
            return h, T.nnet.softmax(T.dot(h, v))

        (h, y), _ = theano.scan(step, x3, [H0, None], [w, u, b, v])
        cost = (y**2).sum() + h[-1].sum()
        f = compile_checked([x3, H0], [cost, *T.grad(cost, [w, u, b, v])], [numbers(5, 2, 3), numbers(2, 4)], rtol=1e-7)
        forward, backward = loops(f)
        for node in (forward, backward):
            nodes = theano.gof.graph.io_toposort(node.op.inputs, node.op.outputs)
            assert [type(n.op).__name__ for n in nodes].count("Dot") == 1
        assert backward.op.n_sit_sot == 1 and backward.op.n_nit_sot == 1
        assert "BatchedDot" not in ops(f)

    def test_lstm_keeps_its_gates(self):
        w, u, b = recurrent([("w", (3, 8)), ("u", (2, 8)), ("b", (8,))])

        def step(a, h, c, w, u, b):
            p = T.dot(a, w) + T.dot(h, u) + b
            i, f, o = (T.nnet.sigmoid(p[:, 2 * k : 2 * k + 2]) for k in range(3))
            c = f * c + i * T.tanh(p[:, 6:])
            return o * T.tanh(c), c

        (h, _), _ = theano.scan(step, x3, [H0, H0], [w, u, b])
        cost = (h[-1] ** 2).sum()
        f = compile_checked([x3, H0], [cost, *T.grad(cost, [w, u, b])], [numbers(5, 2, 3), numbers(2, 2)], rtol=1e-7)
        forward, backward = loops(f)
        assert forward.op.n_nit_sot == 5 and backward.op.n_sit_sot == 2
        nodes = theano.gof.graph.io_toposort(backward.op.inputs, backward.op.outputs)
        assert not any(type(n.op).__name__ == "Elemwise" and n.op.scalar_op == T.tanh.scalar_op for n in nodes)
        # Two products before the backward loop would compute the gates again.
        assert ops(f).count("Dot22") == 3

    def test_what_is_cheap_is_computed_again(self):
        h, _ = theano.scan(lambda a, h: (a + h) * (a - h), x, h0)
        f = compile_checked([x, h0], T.grad(h[-1].sum(), [x, h0]), [numbers(4, 3) / 2, numbers(3) / 2])
        assert [node.op.n_nit_sot for node in loops(f)] == [0, 1]

    def test_checkpoints_are_respected(self):
        h, _ = theano.scan_checkpoints(lambda a, h, u: T.tanh(a + T.dot(h, u)), x, h0, [u], save_every_N=2)
        cost = (h[-1] ** 2).sum()
        f = compile_checked([x, h0, u], [cost, T.grad(cost, u)], [numbers(6, 3), numbers(3), numbers(3, 3)])
        # Outside of the blocks there is no array of the size of all states.
        for node in loops(f):
            assert all(out.type.ndim <= 2 or node.op.n_nit_sot == 0 or not out.clients for out in node.outputs)

    def test_gates_are_computed_again_on_demand(self):
        (u,) = recurrent([("u", (3, 3))])
        h, _ = theano.scan(lambda a, h, u: a * T.tanh(T.dot(h, u)), x3, H0, u)
        cost = (h[-1] ** 2).sum()
        args = ([x3, H0], [cost, *T.grad(cost, [u])], [numbers(5, 2, 3), numbers(2, 3)])
        assert [node.op.n_nit_sot for node in loops(compile_checked(*args))][0] == 1
        assert [node.op.n_nit_sot for node in loops(compile_checked(*args, excluding=("scanOp_keep_values",)))][0] == 0
        assert [node.op.n_nit_sot for node in loops(compile_checked(*args, excluding=("more_mem",)))][0] == 0

    @pytest.mark.parametrize(("cost", "sequences"), [(lambda h: (h[-1] ** 2).sum(), 1), (lambda h: (h**2).sum(), 2)])
    def test_gradient_of_a_state_needs_one_row(self, cost, sequences):
        h, _ = theano.scan(lambda a, h, u: T.tanh(a + T.dot(h, u)), x, h0, u)
        cost = cost(h)
        values = ([numbers(5, 3), numbers(3), numbers(3, 3)], [numbers(1, 3), numbers(3), numbers(3, 3)])
        f = compile_checked([x, h0, u], [cost, *T.grad(cost, [u, h0])], *values)
        backward = loops(f)[-1]
        assert (backward.op.n_mit_mot, backward.op.n_sit_sot, backward.op.n_seqs) == (0, 1, sequences)

    def test_gradient_of_a_state_with_two_taps_keeps_its_buffer(self):
        h, _ = theano.scan(lambda a, g, h: T.tanh(a + g * h), b, [{"initial": h0, "taps": [-2, -1]}])
        f = compile_checked([b, h0], T.grad((h**2).sum(), [b, h0]), [numbers(5), numbers(2)], [numbers(1), numbers(2)])
        assert loops(f)[-1].op.n_mit_mot == 1

    def test_gradient_of_a_while_loop(self):
        h, _ = theano.scan(
            lambda h: (h**2 + 1, theano.scan_module.until((h > 10).any())), outputs_info=h0, n_steps=20
        )
        compile_checked([h0], T.grad(h[-1].sum() + h.sum(), h0), [np.array([0.1, 0.3])], [np.array([20.0, 0.0])])

    def test_truncated_gradient(self):
        (u,) = recurrent([("u", (3, 3))])
        h, _ = theano.scan(lambda a, h, u: T.tanh(a + T.dot(h, u)), x3, H0, u, truncate_gradient=2)
        cost = (h**2).sum()
        compile_checked(
            [x3, H0], [cost, *T.grad(cost, [u, x3])], [numbers(5, 2, 3), numbers(2, 3)], [numbers(1, 2, 3), numbers(2, 3)]
        )
