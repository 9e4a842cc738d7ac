"""Functions that are called again and again: calls with arrays of the same layouts repeat one another on memory that stays."""

import gc
import threading
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import theano
import theano.tensor as T
from tests.native.vm_tools import runtime, tensor
from theano.typed_list import TypedListType, length

PYTHON = theano.Mode(linker="py", optimizer="fast_compile")
CALLS = 9
"""More than are waited for."""


def in_use():
    gc.collect()
    return runtime.pool_stats()["in_use"]


@pytest.fixture(scope="module")
def functions():
    """Natively and in Python: results that are views of one another, in place, 0-d, of products and of reductions."""
    x, w, v, s = T.dmatrix(), T.dmatrix(), T.dvector(), T.dscalar()
    product = T.dot(x, w)
    gates = T.nnet.sigmoid(product[:, 1:] + s)
    centred = T.tanh(x - x.mean(axis=1, keepdims=True))
    outputs = [
        product, gates, gates[::-1], gates.T[1:], product.sum(), centred, centred[0] * v, T.dot(x.T, centred), T.dot(w.T, v),
        T.max(abs(centred), axis=0), T.exp(s) + v[0], 0.5 * T.dot(v, w) + w[0], x[:, ::-1] * 2, centred, (v > s).any(),
    ]  # fmt: skip
    places, rows = T.arange(v.shape[0]), T.arange(x.shape[0])
    zeros = T.zeros((w.shape[1], x.shape[0]))
    by_lengths = [
        T.diag(v) + T.dot(w, w.T), T.tanh(v)[places] * s, T.tanh(x)[rows[::-1]], zeros, T.set_subtensor(zeros[:1], s), rows,
        places * s, T.concatenate([x, T.exp(w.T), x], axis=0), T.opt.Assert()(x, T.eq(x.shape[1], w.shape[0])).sum(),
        T.eye(v.shape[0]) * s, T.reshape(T.exp(x), (x.shape[1], x.shape[0])) + rows, T.exp(x).flatten()[:2],
        T.specify_shape(w, (v.shape[0], w.shape[1])) * 2, T.diagonal(product), T.alloc(v, 3, v.shape[0]) + places,
        T.inc_subtensor(rows[:1], 5) + rows.sum(),
    ]  # fmt: skip
    return [[theano.function([x, w, v, s], some, mode=mode, on_unused_input="ignore")
             for some in (outputs, outputs[:1], outputs[4], [], by_lengths, by_lengths[:2], by_lengths[4:7])]
            for mode in (None, PYTHON)]


LAYOUTS = {
    "C": np.copy,
    "F": np.asfortranarray,
    "reversed": lambda a: a[::-1, ::-1],
    "apart": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
}


def arguments(sizes, layouts, seed):
    rows, inner, columns = sizes
    rng = np.random.RandomState(seed)
    matrices = [LAYOUTS[name](rng.randn(*shape)) for name, shape in zip(layouts, ((rows, inner), (inner, columns)), strict=True)]
    return [*matrices, rng.randn(inner), float(rng.randn())]


def results(functions, values):
    """Of all functions in one list."""
    found = []
    for f in functions:
        r = f(*values)
        found += r if isinstance(r, list) else [r]
    return found


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_each_call_has_its_own_values_and_memory(functions, data):
    native, python = functions
    sizes = st.tuples(*[st.integers(1, 9)] * 3)
    layouts = st.tuples(*[st.sampled_from(sorted(LAYOUTS))] * 2)
    found, wanted = [], []
    # How many calls follow one another with the same shapes and layouts.
    for runs, shape, layout in data.draw(st.lists(st.tuples(st.integers(1, 2 * CALLS), sizes, layouts), min_size=1, max_size=5)):
        for _ in range(runs):
            values = arguments(shape, layout, len(found))
            copies = [np.copy(v) for v in values]
            found.append(results(native, values))
            wanted.append(results(python, values))
            for a, before in zip(values, copies, strict=True):
                np.testing.assert_array_equal(a, before)
    for ours, theirs in zip(found, wanted, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            assert a.shape == b.shape and a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_what_follows_from_lengths_is_made_anew_for_others():
    x, y = T.dvector(), T.dvector()
    f = theano.function([x, y], [T.tanh(x)[T.arange(y.shape[0])] + 1, T.arange(x.shape[0]) * 2])
    for n, m in [(5, 3)] * CALLS + [(2, 3), (5, 3), (4, 4)] + [(6, 6)] * 2 * CALLS + [(1, 0), (3, 4), (3, 0)]:
        a, b = np.arange(float(n)), np.ones(m)
        if m > n:
            with pytest.raises(IndexError, match="out of bounds"):
                f(a, b)
            continue
        part, even = f(a, b)
        np.testing.assert_allclose(part, np.tanh(a)[:m] + 1)
        np.testing.assert_array_equal(even, 2 * np.arange(n))
        even[:] = part[:] = -1


def test_what_follows_from_lengths_and_is_overwritten():
    """Or returned, to somebody who writes to it."""
    x = T.dmatrix()
    doubled = theano.function([x], [x.shape[0] * 2, T.exp(x)])
    product = theano.function([x], T.dot(T.exp(T.eye(x.shape[0])), x))
    returned = theano.function([x], [T.exp(T.eye(x.shape[0])), T.tanh(x)])
    for n in [4] * 2 * CALLS + [3] * CALLS:
        a = np.random.RandomState(n).randn(n, 3)
        assert doubled(a)[0] == 2 * n
        np.testing.assert_allclose(product(a), np.exp(np.eye(n)) @ a)
        found, tanh = returned(a)
        np.testing.assert_allclose(found, np.exp(np.eye(n)))
        np.testing.assert_allclose(tanh, np.tanh(a))
        found[:] = tanh[:] = -1


def test_lengths_that_change_between_steps():
    """What was prepared for a matrix of some length is not used for another, nor the length of one list for that of another."""
    ks, x, w, values, v = T.lvector(), T.dmatrix(), T.dmatrix(), TypedListType(T.dvector)(), T.dvector()

    def step(k, x, w):
        first = T.nonzero(T.arange(64) < k)[0]
        return T.dot(x[:, first], w[: first.shape[0]])

    products = theano.function([ks, x, w], theano.scan(step, sequences=ks, non_sequences=[x, w])[0])
    a, b = np.random.RandomState(0).randn(8, 64), np.random.RandomState(1).randn(64, 64)
    for lengths in ([20, 20] + [30] * 14, [30, 20, 20, 64, 64] + [7] * 20):
        np.testing.assert_allclose(products(lengths, a, b), [a[:, :k] @ b[:k] for k in lengths], rtol=1e-9)
    counts, _ = theano.scan(lambda i, all_, v: length(all_[:i]) * 1.5 + v[i], T.arange(10), non_sequences=[values, v])
    f = theano.function([values, v], counts)
    np.testing.assert_allclose(f([np.ones(2)] * 10, np.zeros(10)), 1.5 * np.arange(10))


def test_rows_of_loops_that_are_copied_in_another_order():
    x, xs = T.dmatrix(), T.dtensor3()
    f = theano.function([x], theano.scan(lambda h: T.reshape(h.T, (2, 3)), outputs_info=x, n_steps=8)[0])
    wanted, a = [np.arange(6.0).reshape(2, 3)], np.random.RandomState(0).randn(20, 3, 2).transpose(0, 2, 1)
    for _ in range(8):
        wanted.append(wanted[-1].T.reshape(2, 3))
    np.testing.assert_array_equal(f(wanted[0]), wanted[1:])
    g = theano.function([xs], theano.scan(lambda h: T.reshape(h, (6,)), sequences=xs)[0])
    np.testing.assert_array_equal(g(a), a.reshape(20, 6))


def test_what_follows_from_lengths_in_loops():
    """It is the same in all steps, but where a step overwrites it."""
    x, v, n = T.dtensor3(), T.dvector(), T.lscalar()

    def step(a, total):
        rows = T.arange(a.shape[0])
        counted = T.inc_subtensor(T.zeros((a.shape[0],))[:n], 1.0) * total
        return [(T.tanh(a)[rows, rows] * rows + counted).sum() + v[: a.shape[0]].sum() * total, T.exp(a[::-1]).sum(axis=0)]

    both = []
    for mode in (None, theano.Mode("cvm", None), PYTHON):
        outputs, _ = theano.scan(step, sequences=x, outputs_info=[np.float64(1.0), None])
        both.append(theano.function([x, v, n], outputs, mode=mode))
    for shape in [(30, 4, 4)] * 2 + [(30, 2, 3)] * 2 + [(1, 4, 4)]:
        a = np.random.RandomState(0).randn(*shape) / 10
        found = [f(a, np.full(9, 0.1), 1) for f in both]
        for one in found[:2]:
            for ours, theirs in zip(one, found[2], strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_results_can_be_overwritten():
    x = T.dvector()
    f = theano.function([x], [T.exp(x), T.exp(x)[1:]])
    for call in range(2 * CALLS):
        a = np.arange(4.0) + call
        whole, part = f(a)
        np.testing.assert_allclose(whole[1:], part)
        np.testing.assert_allclose(whole, np.exp(a))
        whole[:] = part[:] = -1


def test_nothing_keeps_arguments_and_results():
    x, y = T.dmatrix(), T.dmatrix()
    f = theano.function([x, y], [T.tanh(x.T + y[0]), T.dot(x, y)[:, ::2]])
    for call in range(2 * CALLS):
        values = [np.random.RandomState(call).randn(6, 6) for _ in range(2)]
        results = f(*values)
        gone = [weakref.ref(a) for a in [*values, *results]]
        del values, results
        assert [r() for r in gone] == [None] * 4, call


def test_memory_goes_with_the_function():
    def use():
        x, y = T.dmatrix(), T.dmatrix()
        f = theano.function([x, y], T.tanh(T.dot(T.exp(x), y)[:, 1:] + 1).sum(axis=0))
        for _ in range(CALLS):
            f(np.ones((30, 30)), np.ones((30, 30)))
        return in_use()

    use()
    before = in_use()
    assert before < use() < before + 100_000
    assert in_use() == before


def test_large_memory_does_not_stay():
    x = T.dvector()
    f = theano.function([x], T.dot(T.exp(x), T.tanh(x)[::-1]))
    before = in_use()
    for _ in range(CALLS):
        f(np.ones(200_000))
    assert in_use() <= before + 100_000


def test_updates_of_shared_variables():
    x, w, n = T.dvector(), theano.shared(np.ones(5)), theano.shared(0.0)
    f = theano.function([x], T.tanh(w) * x, updates=[(w, T.tanh(w) + x), (n, n + 1)])
    state, held = np.ones(5), []
    for call in range(3 * CALLS):
        a = np.random.RandomState(call).randn(5)
        np.testing.assert_allclose(f(a), np.tanh(state) * a)
        state = np.tanh(state) + a
        held.append((w.get_value(borrow=True), state))
        if call % 11 == 10:
            # A value of another layout, and back.
            w.set_value(np.repeat(state, 2)[::2], borrow=True)
    assert n.get_value() == 3 * CALLS
    for ours, wanted in held[:-2]:
        assert ours.shape == wanted.shape
    np.testing.assert_allclose(w.get_value(), state)


@pytest.mark.parametrize("late", [0, 1, CALLS, 3 * CALLS])
def test_an_error_changes_nothing(late):
    x, i = T.dmatrix(), T.dmatrix()
    f = theano.function([x, i], T.dot(T.exp(x), i) + 1)
    good = np.random.RandomState(0).randn(3, 4), np.random.RandomState(1).randn(4, 2)
    wanted = np.exp(good[0]) @ good[1] + 1
    for _ in range(late):
        np.testing.assert_allclose(f(*good), wanted)
    for _ in range(3):
        with pytest.raises(ValueError, match="(?i)shape|align|dimension"):
            f(good[0], np.ones((5, 2)))
        for _ in range(CALLS):
            np.testing.assert_allclose(f(*good), wanted)


def test_many_threads():
    x, y = T.dmatrix(), T.dmatrix()
    f = theano.function([x, y], [T.tanh(T.dot(x, y)), T.dot(x, y)[0]])
    wrong = []

    def call(seed):
        rng = np.random.RandomState(seed)
        for n in rng.randint(1, 4, 300):
            a, b = rng.randn(n, 5), rng.randn(5, 3)
            whole, row = f(a, b)
            if not (np.allclose(whole, np.tanh(a @ b)) and np.allclose(row, (a @ b)[0])):
                wrong.append(seed)

    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.fixture
def program():
    """The product of the transposed first argument and the second."""
    x = tensor("float64", 2)
    instructions = [("dimshuffle", (0,), (2,), ((1, 0),)), ("dot", (2, 1), (3,), (), 0, (2,))]
    return runtime.Program([x] * 4, instructions, 2, [(0, [None]), (1, [None])], [], [(3, [None])])


def test_a_profile_counts_all_calls(program):
    a = np.random.RandomState(0).randn(4, 4)
    for profile in (False, True, False, True):
        program.set_profile(profile)
        for _ in range(CALLS):
            np.testing.assert_allclose(program.call([a, a])[0], a.T @ a)
    assert program.call_count == 4 * CALLS
    assert program.node_counts() == [2 * CALLS] * 2


def test_a_freed_program_begins_anew(program):
    a = np.random.RandomState(0).randn(4, 4)
    for _ in range(3):
        for _ in range(CALLS):
            np.testing.assert_allclose(program.call([a, a])[0], a.T @ a)
        program.free()


def test_empty_arrays_between_others():
    x, w = T.dmatrix(), T.dmatrix()
    f = theano.function([x, w], [T.dot(x, w), T.exp(x), T.exp(x).sum(axis=1)])
    for n in [3] * CALLS + [0] * CALLS + [1] * 3 * CALLS + [0] * 5 * CALLS + [3] * 9 * CALLS:
        a, b = np.random.RandomState(n).randn(n, 4), np.ones((4, 2))
        for found, wanted in zip(f(a, b), (a @ b, np.exp(a), np.exp(a).sum(axis=1)), strict=True):
            assert found.shape == wanted.shape
            np.testing.assert_allclose(found, wanted)


@pytest.mark.parametrize("optimizer", ["fast_run", "fast_compile", None])
def test_lengths(optimizer):
    """They are overwritten, returned and looked up with."""
    x = T.dmatrix()
    rows, columns = x.shape[0], x.shape[1]
    outputs = [rows * 2, -columns, T.exp(T.cast(columns, "float64")).astype("int64"), x.shape, x.shape[:1] + 1, rows,
               T.exp(x)[rows - 1], T.zeros((columns, rows)), x[: columns // 2].sum()]  # fmt: skip
    f = theano.function([x], outputs, mode=theano.Mode("cvm", optimizer))
    for shape in [(3, 4)] * CALLS + [(5, 2)] * 2 * CALLS:
        n, m = shape
        a = np.random.RandomState(n).randn(*shape)
        wanted = [2 * n, -m, int(np.exp(m)), shape, [n + 1], n, np.exp(a)[n - 1], np.zeros((m, n)), a[: m // 2].sum()]
        for found, known in zip(f(a), wanted, strict=True):
            np.testing.assert_allclose(found, known)


def test_lengths_in_rows_of_loops():
    x, xs = T.dmatrix(), T.dtensor3()
    f = theano.function([x], theano.scan(lambda a: (a > 0).nonzero()[0].shape[0], sequences=x)[0])
    g = theano.function([xs], theano.scan(lambda a: a.shape[0] + 1, sequences=xs)[0], mode=theano.Mode("cvm", None))
    for _ in range(CALLS):
        np.testing.assert_array_equal(f(np.ones((6, 3))), [3] * 6)
        np.testing.assert_array_equal(g(np.ones((20, 7, 3))), [8] * 20)


def test_a_recorded_call_takes_no_more_memory():
    x = h = T.dmatrix()
    for _ in range(12):
        h = T.dot(T.tanh(h), x)
    f = theano.function([x], h.sum())
    peaks = []
    for _ in range(CALLS):
        runtime.pool_trim()
        f(np.full((300, 300), 1e-3))
        peaks.append(runtime.pool_stats()["peak"])
    assert max(peaks) <= min(peaks) + 300_000
