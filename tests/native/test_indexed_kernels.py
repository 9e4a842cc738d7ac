"""Kernels that gather their operands and scatter their results give what NumPy gives, and leave no array in between."""

from __future__ import annotations

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.ifelse import ifelse
from theano.native.fastcall import _runtime

pytestmark = pytest.mark.skipif(_runtime is None or not theano.config.cxx, reason="needs the native engine")


def names(f):
    return [instr.name for instr in f.fn.instrs]


def layouts(x):
    """The same values with other strides."""
    yield x
    yield np.asfortranarray(x)
    yield x[::-1].copy()[::-1]
    wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
    wide[..., ::2] = x
    yield wide[..., ::2]


def indices(rng, n, size, dtype="int64"):
    low = 0 if np.dtype(dtype).kind == "u" else -n
    if n == 0:
        return np.zeros(0, dtype)
    bounds = np.iinfo(dtype)
    return rng.randint(max(low, bounds.min), min(n, bounds.max + 1), size).astype(dtype)


@pytest.fixture(params=[1, 2])
def threads(request):
    before = _runtime.get_threads()
    _runtime.set_threads(request.param)
    yield request.param
    _runtime.set_threads(before)


SHAPES = [(5, 3, 7), (1, 1, 1), (4, 0, 3), (4, 3, 0), (0, 3, 0), (300, 200, 600), (40, 17, 333), (3, 5000, 4), (50, 1, 90)]


class TestGather:
    @pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "complex128"])
    def test_rows_of_a_table(self, dtype, threads):
        w, i, s = T.matrix(dtype=dtype), T.lvector(), T.vector(dtype=dtype)
        f = theano.function([w, i, s], w[i] * s + 3)
        assert names(f)[-2:] == ["check_bounds", "indexed_kernel"]
        rng = np.random.RandomState(0)
        for rows, columns, n in SHAPES:
            table, scale = (rng.randint(-9, 9, shape).astype(dtype) for shape in ((rows, columns), columns))
            index = indices(rng, rows, n)
            for given in layouts(table):
                np.testing.assert_array_equal(f(given, index, scale), table[index] * scale + 3)
            np.testing.assert_array_equal(f(table, index[::-1], scale[::-1]), table[index[::-1]] * scale[::-1] + 3)

    @pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
    def test_dtypes_of_the_index(self, dtype):
        w, i = T.matrix(), T.vector(dtype=dtype)
        f = theano.function([w, i], T.exp(w[i]))
        assert "indexed_kernel" in names(f)
        rng = np.random.RandomState(1)
        table = rng.uniform(size=(60, 9))
        index = indices(rng, 60, 50, dtype)
        np.testing.assert_allclose(f(table, index), np.exp(table[index]))
        np.testing.assert_allclose(f(table, index[::-2]), np.exp(table[index[::-2]]))

    def test_reductions_of_gathered_rows(self, threads):
        w, i, s = T.matrix(), T.lvector(), T.vector()
        x = w[i] * s
        f = theano.function([w, i, s], [x.sum(axis=1), abs(w[i] + 1).max(axis=1)])
        g = theano.function([w, i], T.exp(w[i]).sum(axis=1))
        assert "indexed_kernel" in names(g)
        rng = np.random.RandomState(2)
        for rows, columns, n in SHAPES:
            table, scale, index = rng.uniform(size=(rows, columns)), rng.uniform(size=columns), indices(rng, rows, n)
            for given in layouts(table):
                np.testing.assert_allclose(g(given, index), np.exp(table[index]).sum(axis=1), rtol=1e-12)
                if columns:
                    total, most = f(given, index, scale)
                    np.testing.assert_allclose(total, (table[index] * scale).sum(axis=1), rtol=1e-12)
                    np.testing.assert_array_equal(most, abs(table[index] + 1).max(axis=1))

    def test_a_reduction_over_the_index_reads_an_array(self):
        w, i = T.matrix(), T.lvector()
        f = theano.function([w, i], (w[i] * 2).sum(axis=0))
        table = np.arange(12.0).reshape(4, 3)
        np.testing.assert_array_equal(f(table, [3, -3, 3]), (table[[3, 1, 3]] * 2).sum(axis=0))

    def test_softmax_of_gathered_rows(self):
        w, i = T.matrix(), T.lvector()
        f = theano.function([w, i], T.nnet.softmax(w[i]))
        rng = np.random.RandomState(3)
        for rows, columns in ((6, 4), (9, 700)):
            table, index = rng.normal(size=(rows, columns)), indices(rng, rows, 20)
            e = np.exp(table[index])
            np.testing.assert_allclose(f(table, index), e / e.sum(axis=1, keepdims=True), rtol=1e-12)

    def test_an_index_of_several_dimensions(self, threads):
        w, i, s = T.matrix(), T.lmatrix(), T.vector()
        f = theano.function([w, i, s], T.tanh(w[i] * s))
        assert names(f)[-2:] == ["check_bounds", "indexed_kernel"] and "take" not in names(f)
        rng = np.random.RandomState(4)
        for shape in ((3, 5), (1, 1), (0, 4), (4, 0), (1, 30), (30, 1), (70, 40)):
            for columns in (1, 6, 150):
                table, scale, index = rng.uniform(size=(20, columns)), rng.uniform(size=columns), indices(rng, 20, shape)
                for given in layouts(index):
                    np.testing.assert_allclose(f(table, given, scale), np.tanh(table[index] * scale), rtol=1e-14)

    def test_other_axes_and_several_index_arrays(self, threads):
        x, i, j, y = T.tensor3(), T.lvector(), T.lvector(), T.tensor3()
        cases = [
            (x[:, i], lambda a, p, q: a[:, p]),
            (x[:, :, i], lambda a, p, q: a[:, :, p]),
            (x[:, 1:, i], lambda a, p, q: a[:, 1:, p]),
            (x[i, j], lambda a, p, q: a[p, q]),
            (x[i, :, j], lambda a, p, q: a[p, :, q]),
            (x[i][:, ::-1], lambda a, p, q: a[p][:, ::-1]),
            (x[i.dimshuffle(0, "x"), j], lambda a, p, q: a[p[:, None], q]),
        ]
        rng = np.random.RandomState(5)
        arrays = [rng.uniform(size=(7, 7, 7)), rng.uniform(size=(7, 7, 300))]
        for expression, reference in cases:
            f = theano.function([x, i, j, y], [expression * 2 + 1, y + 1], on_unused_input="ignore")
            for array in arrays:
                p, q = indices(rng, 7, 40), indices(rng, 7, 40)
                for given in layouts(array):
                    np.testing.assert_array_equal(f(given, p, q, array)[0], reference(array, p, q) * 2 + 1)

    def test_two_tables_in_one_kernel(self):
        u, v, i, j, b = T.matrix(), T.matrix(), T.lvector(), T.lvector(), T.matrix()
        f = theano.function([u, v, i, j, b], (u[i] * v[j] + b))
        assert names(f) == ["check_bounds", "check_bounds", "indexed_kernel"]
        rng = np.random.RandomState(6)
        for columns in (3, 400):
            a, c, d = rng.uniform(size=(5, columns)), rng.uniform(size=(9, columns)), rng.uniform(size=(30, columns))
            p, q = indices(rng, 5, 30), indices(rng, 9, 30)
            np.testing.assert_array_equal(f(a, c, p, q, d), a[p] * c[q] + d)
            np.testing.assert_array_equal(f(a, c, p, q, np.asfortranarray(d)), a[p] * c[q] + d)
            with pytest.raises(ValueError, match="mis-match"):
                f(a, c, p, q[:-1], d)

    def test_a_gathered_array_that_others_read_is_made(self):
        w, i = T.matrix(), T.lvector()
        x = w[i]
        f = theano.function([w, i], [x, T.exp(x)])
        assert "indexed_kernel" not in names(f)
        table = np.arange(6.0).reshape(3, 2)
        for got, expected in zip(f(table, [2, 2]), (table[[2, 2]], np.exp(table[[2, 2]])), strict=True):
            np.testing.assert_allclose(got, expected)

    def test_a_table_that_is_overwritten_before_the_kernel(self):
        w = theano.shared(np.arange(12.0).reshape(4, 3))
        i, b = T.lvector(), T.vector()
        f = theano.function([i, b], T.exp(w[i] * 0.1), updates=[(w, w * 2 + b)])
        before = w.get_value()
        np.testing.assert_allclose(f([1, 3], np.ones(3)), np.exp(before[[1, 3]] * 0.1))
        np.testing.assert_allclose(w.get_value(), before * 2 + 1)

    def test_bounds(self):
        w, i = T.matrix("w"), T.lvector("i")
        f = theano.function([w, i], w[i] * 2)
        for bad in (4, -5):
            with pytest.raises(IndexError, match=f"index {bad} is out of bounds for axis 0 with size 4") as error:
                f(np.zeros((4, 3)), [0, bad])
            assert "AdvancedSubtensor1(w, i)" in str(error.value) and "(4, 3)" in str(error.value)
        with pytest.raises(IndexError):
            f(np.zeros((0, 3)), [0])
        assert f(np.zeros((0, 3)), []).shape == (0, 3)


class TestScatter:
    @pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "int8", "complex64", "float16"])
    @pytest.mark.parametrize("put", [T.inc_subtensor, T.set_subtensor])
    def test_rows_of_a_table(self, dtype, put, threads):
        w = theano.shared(np.zeros((1, 1), dtype))
        i, g = T.lvector(), T.matrix(dtype=dtype)
        f = theano.function([i, g], [], updates=[(w, put(w[i], (g * np.asarray(2, dtype)).astype(dtype)))])
        assert names(f) == ["check_bounds", "view", "indexed_kernel"]
        rng = np.random.RandomState(0)
        for rows, columns, n in SHAPES:
            index = indices(rng, rows, n)
            # Different values at repeated positions: the last one stays, or all are summed in their order.
            start, value = (rng.randint(-3, 3, shape).astype(dtype) for shape in ((rows, columns), (len(index), columns)))
            for given in layouts(value):
                expected = start.copy()
                if put is T.set_subtensor:
                    for k, row in enumerate(index):
                        expected[row] = value[k] * np.asarray(2, dtype)
                else:
                    np.add.at(expected, index, (value * 2).astype(dtype))
                w.set_value(start)
                f(index, given)
                np.testing.assert_array_equal(w.get_value(borrow=True), expected)

    def test_threads_change_no_bit(self):
        rng = np.random.RandomState(1)
        w = theano.shared(np.zeros((1, 1), "float32"))
        i, g = T.lvector(), T.fmatrix()
        f = theano.function([i, g], [], updates=[(w, T.inc_subtensor(w[i], T.tanh(g) * g))])
        start, index = rng.normal(size=(30, 1000)).astype("float32"), indices(rng, 30, 400)
        value = rng.normal(size=(400, 1000)).astype("float32")
        results = []
        before = _runtime.get_threads()
        try:
            for count in (1, 2, 3):
                _runtime.set_threads(count)
                w.set_value(start)
                f(index, value)
                results.append(w.get_value())
        finally:
            _runtime.set_threads(before)
        for result in results[1:]:
            np.testing.assert_array_equal(result, results[0])

    @pytest.mark.parametrize("columns", [3, 200])
    def test_a_step_that_reads_the_rows_it_changes(self, columns, threads):
        rng = np.random.RandomState(2)
        w = theano.shared(np.zeros((1, 1)))
        i, s = T.lvector(), T.vector()
        rows = w[i]
        cost = T.tanh(rows * s).sum()
        f = theano.function([i, s], cost, updates=[(w, T.inc_subtensor(rows, -0.5 * T.grad(cost, rows)))])
        g = theano.function([i, s], [], updates=[(w, T.set_subtensor(rows, rows * s))])
        assert names(g)[-1] == "indexed_kernel" and not {"take", "inc_take"} & set(names(g))
        for size, n in ((10, 50), (500, 40), (1, 5), (7, 0)):
            table, scale, index = rng.uniform(size=(size, columns)), rng.uniform(size=columns), indices(rng, size, n)
            expected = table.copy()
            np.add.at(expected, index, -0.5 * (1 - np.tanh(table[index] * scale) ** 2) * scale)
            w.set_value(table)
            np.testing.assert_allclose(f(index, scale), np.tanh(table[index] * scale).sum())
            np.testing.assert_allclose(w.get_value(), expected, rtol=1e-12)
            w.set_value(table)
            g(index, scale)
            expected = table.copy()
            expected[index] = table[index] * scale
            np.testing.assert_array_equal(w.get_value(), expected)

    def test_rows_moved_within_a_table(self):
        w = theano.shared(np.arange(24.0).reshape(8, 3))
        i, j = T.lvector(), T.lvector()
        f = theano.function([i, j], [], updates=[(w, T.inc_subtensor(w[i], w[j] * 2))])
        before = w.get_value()
        f([0, 1, 2, 2], [1, 2, 0, 5])
        expected = before.copy()
        np.add.at(expected, [0, 1, 2, 2], before[[1, 2, 0, 5]] * 2)
        np.testing.assert_array_equal(w.get_value(), expected)

    def test_a_value_that_is_repeated(self):
        w = theano.shared(np.zeros((5, 4)))
        i, g = T.lvector(), T.matrix()
        f = theano.function([i, g], [], updates=[(w, T.inc_subtensor(w[i], T.exp(g)))])
        f([1, -1, 1], np.zeros((1, 4)))
        np.testing.assert_array_equal(w.get_value()[:, 0], [0, 2, 0, 0, 1])
        with pytest.raises(ValueError, match="broadcast"):
            f([1, -1, 1], np.zeros((2, 4)))
        np.testing.assert_array_equal(w.get_value()[:, 0], [0, 2, 0, 0, 1])

    def test_bounds_leave_the_table_as_it_was(self):
        w = theano.shared(np.zeros((5, 4)), name="w")
        v = theano.shared(np.zeros(4))
        i, g = T.lvector("i"), T.matrix("g")
        f = theano.function([i, g], [], updates=[(w, T.inc_subtensor(w[i], T.exp(g))), (v, v + 1)])
        with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 5") as error:
            f([0, 5], np.zeros((2, 4)))
        assert "AdvancedIncSubtensor1" in str(error.value) and "(5, 4)" in str(error.value)
        assert not w.get_value().any() and not v.get_value().any()

    def test_other_axes_and_several_index_arrays(self, threads):
        rng = np.random.RandomState(3)
        i, j, g = T.lvector(), T.lvector(), T.tensor3()
        x = T.tensor3()
        p, q = indices(rng, 6, 9), indices(rng, 6, 9)
        for columns in (6, 150):
            start = rng.randint(0, 9, (6, 6, columns)).astype(float)
            for where, place in (((i,), (p,)), ((slice(None), i), (slice(None), p)), ((i, j), (p, q)),
                                 ((i.dimshuffle(0, "x"), j), (p[:, None], q))):
                part = x[where if len(where) > 1 else where[0]]
                if part.ndim != 3:
                    value, given = g[0] * 2 + 1, rng.randint(0, 2, (1, *start[place].shape)).astype(float)
                    result = given[0] * 2 + 1
                else:
                    value, given = g * 2 + 1, rng.randint(0, 2, start[place].shape).astype(float)
                    result = given * 2 + 1
                f = theano.function([x, i, j, g], T.inc_subtensor(part, value), on_unused_input="ignore")
                expected = start.copy()
                np.add.at(expected, place, result)
                np.testing.assert_array_equal(f(start, p, q, given), expected)
                h = theano.function([x, i, j, g], T.set_subtensor(part, value), on_unused_input="ignore")
                expected = start.copy()
                expected[place] = result
                np.testing.assert_array_equal(h(start, p, q, given), expected)

    @pytest.mark.parametrize("columns", [4, 300])
    def test_gather_from_one_table_scatter_into_another(self, columns):
        rng = np.random.RandomState(4)
        u, w = (theano.shared(rng.uniform(size=(8, columns))) for _ in range(2))
        i, j = T.lvector(), T.lvector()
        f = theano.function([i, j], [], updates=[(w, T.inc_subtensor(w[i], u[j] * 3))])
        assert names(f) == ["check_bounds", "check_bounds", "view", "indexed_kernel"]
        p, q = indices(rng, 8, 30), indices(rng, 8, 30)
        expected = w.get_value()
        np.add.at(expected, p, u.get_value()[q] * 3)
        f(p, q)
        np.testing.assert_allclose(w.get_value(), expected, rtol=1e-13)


class TestSlices:
    @pytest.mark.parametrize("put", [T.inc_subtensor, T.set_subtensor])
    def test_slices_in_place(self, put, threads):
        k, g = T.lscalar(), T.matrix()
        w = theano.shared(np.zeros((1, 1)))
        cases = [
            (w[1:], lambda a, n: a[1:]),
            (w[:, ::-2], lambda a, n: a[:, ::-2]),
            (w[k:, 1:-1], lambda a, n: a[n:, 1:-1]),
            (w[::-1, k:], lambda a, n: a[::-1, n:]),
        ]
        rng = np.random.RandomState(0)
        for part, view in cases:
            f = theano.function([k, g], [], updates=[(w, put(part, T.exp(g) * 2))], on_unused_input="ignore")
            assert names(f)[-3:] == ["view", "subtensor", "indexed_kernel"]
            for shape in ((5, 4), (1, 3), (2, 0), (300, 200)):
                start = rng.uniform(size=shape)
                expected = start.copy()
                value = rng.uniform(size=view(expected, 1).shape)
                for given in layouts(value):
                    expected = start.copy()
                    if put is T.inc_subtensor:
                        view(expected, 1)[...] += np.exp(value) * 2
                    else:
                        view(expected, 1)[...] = np.exp(value) * 2
                    w.set_value(start)
                    f(1, given)
                    np.testing.assert_allclose(w.get_value(), expected, rtol=1e-13)

    def test_a_value_that_is_repeated_and_a_shape_that_does_not_fit(self):
        for put, first in ((T.inc_subtensor, 4.0), (T.set_subtensor, 3.0)):
            a, b = theano.shared(np.ones(6)), T.vector()
            f = theano.function([b], [], updates=[(a, put(a[1:], b + 2))])
            f([1.0])
            np.testing.assert_array_equal(a.get_value(), [1, *[first] * 5])
            with pytest.raises(ValueError, match="broadcast"):
                f([1.0, 2.0])
            np.testing.assert_array_equal(a.get_value(), [1, *[first] * 5])

    def test_a_part_is_computed_from_another_part(self, threads):
        for put in (T.inc_subtensor, T.set_subtensor):
            a = theano.shared(np.arange(2000.0))
            f = theano.function([], [], updates=[(a, put(a[1:], a[:-1] * 2))])
            before = a.get_value()
            f()
            expected = before.copy()
            expected[1:] = before[:-1] * 2 + (before[1:] if put is T.inc_subtensor else 0)
            np.testing.assert_array_equal(a.get_value(), expected)

    def test_arguments_that_share_memory(self):
        x, b = T.vector(), T.vector()
        memory = np.arange(9.0)
        f = theano.function([theano.In(x, mutable=True), theano.In(b, borrow=True)], T.inc_subtensor(x[1:], b * 2))
        result = f(memory, memory[:-1])
        np.testing.assert_array_equal(result, np.arange(9.0) + np.r_[0, 2 * np.arange(8.0)])

    def test_the_sign_of_zero_stays(self):
        w, i, g = theano.shared(np.full((3, 2), -0.0)), T.lvector(), T.matrix()
        f = theano.function([i, g], [], updates=[(w, T.inc_subtensor(w[i], g * 1.5))])
        f([1], np.full((1, 2), -0.0))
        assert np.signbit(w.get_value()).all()

    def test_gradient_of_a_slice(self):
        x, y = T.matrix(), T.matrix()
        f = theano.function([x, y], T.grad((T.exp(x[1:, ::2]) * y).sum(), x))
        rng = np.random.RandomState(1)
        a, b = rng.uniform(size=(5, 6)), rng.uniform(size=(4, 3))
        expected = np.zeros_like(a)
        expected[1:, ::2] = np.exp(a[1:, ::2]) * b
        np.testing.assert_allclose(f(a, b), expected)


class TestAround:
    def test_in_a_loop(self):
        rng = np.random.RandomState(0)
        for columns in (3, 200):
            table, index = rng.uniform(size=(9, columns)), indices(rng, 9, (12, 5))
            w, i = T.matrix(), T.lmatrix()
            first = T.zeros((5, columns))
            out, _ = theano.scan(lambda k, h, v: T.tanh(v[k] + h), sequences=i, outputs_info=first, non_sequences=w)
            f = theano.function([w, i], out)
            h = np.zeros((5, columns))
            for step, k in enumerate(index):
                h = np.tanh(table[k] + h)
                np.testing.assert_allclose(f(table, index)[step], h, rtol=1e-12)
            state, _ = theano.scan(
                lambda k, v: T.inc_subtensor(v[k], T.exp(-v[k]) * 0.5), sequences=i, outputs_info=w
            )
            g = theano.function([w, i], state[-1])
            expected = table.copy()
            for k in index:
                np.add.at(expected, k, np.exp(-expected[k]) * 0.5)
            np.testing.assert_allclose(g(table, index), expected, rtol=1e-12)
            with pytest.raises(IndexError):
                f(table, index + 5)

    def test_in_a_branch(self):
        w, i, c = T.matrix(), T.lvector(), T.scalar()
        f = theano.function([w, i, c], ifelse(c > 0, T.exp(w[i]), T.inc_subtensor(w[i], w[i] * 2)))
        table = np.arange(6.0).reshape(3, 2)
        np.testing.assert_allclose(f(table, [0, 2, 1], 1.0), np.exp(table[[0, 2, 1]]))
        expected = table.copy()
        np.add.at(expected, [0, 2, 2], table[[0, 2, 2]] * 2)
        np.testing.assert_allclose(f(table, [0, 2, 2], -1.0), expected)
        # The branch that is not taken checks nothing.
        np.testing.assert_allclose(f(table, [1], 1.0), np.exp(table[[1]]))

    def test_gradients(self):
        rng = np.random.RandomState(0)
        index = np.array([0, 3, 3, -1])
        table, scale, value = rng.uniform(size=(5, 3)), rng.uniform(size=3), rng.uniform(size=(4, 3))
        T.verify_grad(lambda w, s: T.tanh(w[index] * s).sum(axis=1), [table, scale], rng=rng)
        T.verify_grad(lambda w, g: T.inc_subtensor(w[index], T.exp(g)), [table, value], rng=rng)
        T.verify_grad(lambda w, g: T.set_subtensor(w[1:], T.sin(g)), [table, value], rng=rng)

    def test_picked_probabilities(self):
        p, y = T.matrix(), T.lvector()
        f = theano.function([p, y], -T.mean(T.log(p[T.arange(y.shape[0]), y])))
        rng = np.random.RandomState(0)
        probabilities, labels = rng.uniform(0.1, 1, (30, 4)), indices(rng, 4, 30)
        np.testing.assert_allclose(f(probabilities, labels), -np.log(probabilities[np.arange(30), labels]).mean())

    def test_random_programs(self, threads):
        """Random tables, indices, chains and targets agree with the same program without any rewriting."""
        rng = np.random.RandomState(7)
        plain = theano.compile.mode.Mode(linker="py", optimizer=None)
        steps = [
            lambda x, s: x * s, lambda x, s: T.tanh(x) + s, lambda x, s: abs(x) - s, lambda x, s: T.sqr(x),
            lambda x, s: x / (2 + s),
        ]  # fmt: skip
        for _ in range(12):
            dtype = ("float64", "float32")[rng.randint(2)]
            w, i, s, v = T.matrix(dtype=dtype), T.lvector(), T.vector(dtype=dtype), T.matrix(dtype=dtype)
            x = w[i]
            for k in rng.randint(len(steps), size=rng.randint(1, 4)):
                x = steps[k](x, s)
            outs = [x, x.sum(axis=1), T.inc_subtensor(w[i], x), T.set_subtensor(v[1:], x), T.inc_subtensor(v[1:], x)]
            out = outs[rng.randint(5)]
            native, python = (theano.function([w, i, s, v], out, mode=mode, on_unused_input="ignore") for mode in (None, plain))
            for _ in range(4):
                rows, columns, n = rng.randint(1, 30), (1, 5, 90, 600)[rng.randint(4)], rng.randint(0, 60)
                shapes = (rows, columns), columns, (n + 1, columns)
                table, scale, target = (rng.uniform(-1, 1, shape).astype(dtype) for shape in shapes)
                for given in layouts(table):
                    index = indices(rng, rows, n)
                    tolerance = 1e-12 if dtype == "float64" else 2e-5
                    np.testing.assert_allclose(
                        native(given, index, scale, target), python(given, index, scale, target), rtol=tolerance, atol=tolerance
                    )
