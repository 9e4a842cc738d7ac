"""Random numbers drawn by the engine: the numbers of `perform`, the same states afterwards, nothing of Python in between."""

import gc
import sys
import threading

import numpy as np
import pytest
import vm_tools  # noqa: F401  (skips where there is no runtime)

import theano
import theano.tensor as T
from theano.native import instructions as vm
from theano.sandbox.multinomial import ChoiceFromUniform, MultinomialFromUniform
from theano.sandbox.rng_mrg import MRG_RandomStreams
from theano.tensor import raw_random
from theano.tensor.shared_randomstreams import RandomStreams

IN_PYTHON = theano.Mode(linker="py", optimizer=None)
P = np.random.RandomState(2).rand(30, 50)


def instructions_of(f):
    return [instr.op for instr in f.fn.instrs]


def states_of(streams):
    return [state.get_value(borrow=True).get_state() for state, _ in streams.state_updates]


def same_states(one, other):
    return all(np.array_equal(x, y) for a, b in zip(one, other, strict=True) for x, y in zip(a, b, strict=True))


def both_ways(draw):
    """The function of a draw that runs natively, after it was seen to give three times what Python does."""
    found = []
    for mode in (IN_PYTHON, None):
        streams = RandomStreams(5)
        f = theano.function([], draw(streams), mode=mode)
        found.append(([f() for _ in range(3)], states_of(streams)))
    (expected, after), (values, native_after) = found
    for x, y in zip(expected, values, strict=True):
        assert x.dtype == y.dtype and x.shape == y.shape and np.array_equal(x, y)
    assert same_states(after, native_after)
    return f


DRAWS = {
    "uniform": lambda s: s.uniform((1000,)),
    "uniform float32": lambda s: s.uniform((1000,), dtype="float32"),
    "uniform between arrays": lambda s: s.uniform((3, 700), low=-2, high=np.arange(700.0)),
    "uniform of the shape of its limits": lambda s: s.uniform(low=np.zeros((3, 1)), high=np.arange(7.0)),
    "uniform number": lambda s: s.uniform((), ndim=0),
    "uniform from the other end": lambda s: s.uniform((9,), low=T.constant(np.arange(9.0))[::-1], high=3),
    "trials": lambda s: s.binomial(P.shape, p=P.astype("float32"), dtype="float32"),
    "trials, certain ones": lambda s: s.binomial((4,), p=np.array([0.0, 1.0, 0.0, 1.0])),
    "no trials": lambda s: s.binomial((40,), n=0, p=0.3),
    "binomial": lambda s: s.binomial(n=np.arange(50), p=P),
    "binomial by inversion": lambda s: s.binomial((4000,), n=7, p=0.8),
    "binomial number": lambda s: s.binomial(p=0.3, size=()),
    "integers": lambda s: s.random_integers((1000,), 0, 5),
    "one integer only": lambda s: s.random_integers((10,), -5, -5),
    "integers of 32 bits": lambda s: s.random_integers((100,), 0, 2**32 - 1),
    "integers of 33 bits": lambda s: s.random_integers((100,), 0, 2**32),
    "integers of 63 bits": lambda s: s.random_integers((100,), -(2**62), 2**62),
    "integers between arrays": lambda s: s.random_integers(low=np.arange(5), high=np.arange(5) * 1000 + 7),
    "int8": lambda s: s.random_integers((100,), 0, 9, dtype="int8"),
    "permutations": lambda s: s.permutation((4,), n=10),
    "permutation of one": lambda s: s.permutation(n=1),
    "permutation of none": lambda s: s.permutation(n=0),
    "long permutation": lambda s: s.permutation(n=1000),
    "normal": lambda s: s.normal((333,)),
    "normals of several blocks": lambda s: s.normal((3, 1001), avg=-3.0, std=np.arange(1001.0)),
    "normal float32": lambda s: s.normal((7,), dtype="float32"),
    "normals around arrays": lambda s: s.normal(avg=P),
    "normal number": lambda s: s.normal(()),
    "normals beyond": lambda s: s.normal((5,), std=0.0, avg=np.inf),
    "poisson": lambda s: s.poisson((20,), lam=3.0),
    "poisson of means": lambda s: s.poisson(lam=np.linspace(0, 9.99, 700).reshape(7, 100)),
    "choice": lambda s: s.choice((20,), a=7),
    "choices of several blocks": lambda s: s.choice((3, 700), a=2**33, dtype="float64"),
    "choice without replacement": lambda s: s.choice((3, 2), a=511, replace=False, dtype="float32"),
    "choice of all": lambda s: s.choice((7,), a=7, replace=False),
    "choice of one": lambda s: s.choice((20,), a=1),
    "choice number": lambda s: s.choice((), a=9),
    "multinomial": lambda s: s.multinomial((4,), n=3, pvals=[0.2, 0.3, 0.5]),
    "multinomial of the shape of its arguments": lambda s: s.multinomial(n=np.arange(3), pvals=np.full((4, 3, 7), 1 / 7)),
    "multinomial of many rows": lambda s: s.multinomial((30, 20), n=60, pvals=P[:20] / P[:20].sum(1, keepdims=True) * 0.99),
    "multinomial float32": lambda s: s.multinomial((9,), n=5, pvals=np.array([0, 0.5, 0.5], "float32"), dtype="float32"),
    "multinomial of nothing left": lambda s: s.multinomial((9,), n=5, pvals=[0.5, 0.4999, 0.0]),
    "multinomial of one": lambda s: s.multinomial((9,), n=5, pvals=[1.0]),
}
BY_NUMPY = {
    "no uniform": lambda s: s.uniform((0, 4)),
    "no normal": lambda s: s.normal((0,)),
    "no choice without replacement": lambda s: s.choice((3, 0), a=5, replace=False),
    "binomial by rejection": lambda s: s.binomial((20,), n=200, p=0.4),
    "poisson by rejection": lambda s: s.poisson((20,), lam=30.0),
    "choice of elements": lambda s: s.choice((5,), a=np.arange(7.0), replace=False, dtype="float64"),
    "choice of as many elements": lambda s: s.choice((3,), a=[10, 20, 30], replace=False),
    "choice of one element": lambda s: s.choice((4,), a=[10]),
    "choice of many without replacement": lambda s: s.choice((5,), a=512, replace=False),
    "choice by probabilities": lambda s: s.choice((5,), a=3, p=[0.2, 0.3, 0.5]),
    "multinomial of many": lambda s: s.multinomial((4,), n=300, pvals=[0.2, 0.3, 0.5]),
    "multinomial of all but the last": lambda s: s.multinomial((4,), n=3, pvals=[0.5, 0.5, 0.0]),
    "multinomial of rounded rows": lambda s: s.multinomial((4,), n=3, pvals=np.array([0.5, 0.5000001, 0], "float32")),
    "multinomial of long rows": lambda s: s.multinomial((2,), n=3, pvals=np.full(513, 1 / 513)),
}


def test_multinomial_draws_may_remember_what_others_drew():
    def drawing(seed, size):
        streams, n, p = RandomStreams(seed), T.lscalar(), T.dvector()
        f, state = theano.function([n, p], streams.multinomial((size,), n=n, pvals=p)), np.random.RandomState()
        state.set_state(states_of(streams)[0])
        return lambda n, p: np.array_equal(f(n, p), state.multinomial(n, p, size))

    # Long ones let other threads go on.
    small, large, found = drawing(1, 3), drawing(2, 30_000), []
    rows = np.random.RandomState(3).dirichlet(np.ones(5), 60)
    thread = threading.Thread(target=lambda: found.extend(large(k % 7, p) for k, p in enumerate(rows[:20])))
    thread.start()
    assert all(small(n, p) for p in rows for n in (3, 0, 5, 60))
    thread.join()
    assert len(found) == 20 and all(found)


@pytest.mark.parametrize("name", [*DRAWS, *BY_NUMPY])
def test_one_instruction_draws_what_python_draws(name, monkeypatch):
    called = []
    by_call = raw_random._Drawing.__call__
    monkeypatch.setattr(raw_random._Drawing, "__call__", lambda self, *args: [called.append(1), by_call(self, *args)][1])
    ops = instructions_of(both_ways({**DRAWS, **BY_NUMPY}[name]))
    assert any(isinstance(op, vm.Draw) for op in ops) and not any(op.runs_python for op in ops)
    assert len(called) == (3 if name in DRAWS else 6)


@pytest.mark.parametrize("looks_at_memory", [True, False])
def test_pending_normals_are_those_of_numpy(looks_at_memory, monkeypatch):
    if not looks_at_memory:
        monkeypatch.setattr(raw_random, "pending_normal_at", lambda: 0)
    state, n = raw_random.random_state_type(), T.lscalar()
    new, sample = raw_random.normal(state, (n,), avg=1.5)
    with theano.config.change_flags(program_cache="off"):
        f = theano.function([theano.In(state, mutable=True), n], [new, sample])
    for twister in (True, False):
        given, expected = [np.random.RandomState(np.random.MT19937(3) if twister else np.random.PCG64(3)) for _ in range(2)]
        for count in (3, 0, 1, 1, 512, 513, 2, 1025, 1):
            given, drawn = f(given, count)
            assert np.array_equal(drawn, expected.normal(1.5, size=count))
            assert given.get_state(legacy=False)["has_gauss"] == expected.get_state(legacy=False)["has_gauss"]
            assert given.get_state(legacy=False)["gauss"] == expected.get_state(legacy=False)["gauss"]


@pytest.mark.parametrize("draw, message", [
    (lambda s: s.binomial((3,), p=1.5), "p > 1"),
    (lambda s: s.binomial((3,), p=np.array([0.1, np.nan, 0.2])), "NaN"),
    (lambda s: s.binomial((3,), n=-1), "n < 0"),
    (lambda s: s.uniform((3,), high=np.inf), "Range exceeds"),
    (lambda s: s.uniform((3,), high=np.zeros(4)), "mismatch"),
    (lambda s: s.uniform(T.constant(np.array([2, 3])), ndim=1), "Shape mismatch"),
    (lambda s: s.uniform(T.constant(np.array([-2])), ndim=1), "negative"),
    (lambda s: s.random_integers((3,), 5, 2), "low >= high"),
    (lambda s: s.permutation(n=-2), "negative"),
    (lambda s: s.normal((3,), std=-1.0), "scale < 0"),
    (lambda s: s.normal((0,), std=-1.0), "scale < 0"),
    (lambda s: s.binomial((0,), p=1.5), "p > 1"),
    (lambda s: s.choice((0,), a=-1, replace=False), "larger sample|greater than 0"),
    (lambda s: s.normal((3,), std=-0.0), "scale < 0"),
    (lambda s: s.poisson((3,), lam=-1.0), "lam < 0"),
    (lambda s: s.poisson((3,), lam=np.nan), "lam"),
    (lambda s: s.choice((3,), a=0), "greater than 0"),
    (lambda s: s.choice((3,), a=2, replace=False), "larger sample"),
    (lambda s: s.choice((600,), a=511, replace=False), "larger sample"),
    (lambda s: s.choice((600,), a=512, replace=False), "larger sample"),
    (lambda s: s.multinomial((3,), n=-1, pvals=[0.5, 0.5]), "n < 0"),
    (lambda s: s.multinomial((3,), n=2, pvals=[0.9, 0.9, 0.9]), "pvals"),
    (lambda s: s.multinomial((3,), n=2, pvals=[0.5, -0.5, 1.0]), "pvals"),
    (lambda s: s.multinomial((3,), n=2, pvals=np.full((4, 2), 0.5)), "broadcast"),
])  # fmt: skip
def test_errors_are_those_of_python_and_leave_the_state(draw, message):
    for mode in (IN_PYTHON, None):
        streams = RandomStreams(5)
        f = theano.function([], draw(streams), mode=mode)
        before = streams.state_updates[0][0].get_value().get_state()
        with pytest.raises((ValueError, OverflowError), match=message):
            f()
        assert same_states([before], states_of(streams))


def test_the_state_is_copied_where_others_need_it():
    state = raw_random.random_state_type()
    new, sample = raw_random.uniform(state, (4,))
    f = theano.function([state], [new, sample])
    given = np.random.RandomState(3)
    after, value = f(given)
    fresh = np.random.RandomState(3)
    assert same_states([given.get_state()], [fresh.get_state()])
    assert np.array_equal(value, fresh.uniform(size=4)) and same_states([after.get_state()], [fresh.get_state()])


@pytest.mark.parametrize("mode", [IN_PYTHON, None])
def test_what_is_drawn_from_is_a_random_state_and_parameters_fit(mode):
    state = raw_random.random_state_type()
    new, sample = raw_random.normal(state, (3,))
    f = theano.function([theano.In(state, mutable=True)], [new, sample], mode=mode)
    f.trust_input = True
    with pytest.raises(TypeError, match="xpected a .*RandomState"):
        f(np.random.default_rng(1))
    drawn = raw_random.RandomFunction("normal", T.dvector)(state, (5,), np.ones((1, 5)), 2.0)[1]
    with pytest.raises(ValueError, match="not compatible"):
        theano.function([state], drawn, mode=mode)(np.random.RandomState(1))


@pytest.mark.parametrize("bits", [np.random.MT19937, np.random.PCG64])
def test_what_is_kept_of_a_state_goes(bits):
    shared = theano.shared(np.random.RandomState(bits(3)), borrow=True)
    new, sample = raw_random.normal(shared, (3,))
    v = T.dvector()
    f = theano.function([v], sample + v, updates=[(shared, new)])

    def run():
        for count in (3, 4):
            for _ in range(100):
                try:
                    f(np.zeros(count))
                except ValueError:
                    pass
        gc.collect()
        return sys.getrefcount(None), sys.getallocatedblocks()

    run()
    before, after = run(), run()
    assert after[0] - before[0] < 50 and after[1] - before[1] < 100


def test_another_generator_of_numpy():
    state = raw_random.random_state_type()
    new, sample = raw_random.random_integers(state, (50,), 3, 2**40)
    new, more = raw_random.uniform(new, (5,))
    f = theano.function([state], [sample, more])
    fresh = np.random.RandomState(np.random.PCG64(3))
    values = f(np.random.RandomState(np.random.PCG64(3)))
    assert np.array_equal(values[0], fresh.randint(3, 2**40 + 1, 50)) and np.array_equal(values[1], fresh.uniform(size=5))


def test_a_function_of_the_users_runs_in_python():
    def mine(rng, size):
        return rng.uniform(size=size) + 10

    state = raw_random.random_state_type()
    _, sample = raw_random.RandomFunction(mine, T.dvector)(state, (3,))
    drawn = theano.function([state], sample)(np.random.RandomState(1))
    assert np.array_equal(drawn, np.random.RandomState(1).uniform(size=3) + 10)


def test_threads_take_turns_at_one_generator():
    shared = theano.shared(np.random.RandomState(8), borrow=True)
    new, sample = raw_random.random_integers(shared, (20000,), 0, 2**31 - 1)
    functions = [theano.function([], sample, updates=[(shared, new)]) for _ in range(2)]
    drawn = [[], []]
    workers = [threading.Thread(target=lambda k=k: drawn[k].extend(functions[k]() for _ in range(10))) for k in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    expected = np.random.RandomState(8).randint(0, 2**31, 20 * 20000)
    assert np.array_equal(np.sort(np.concatenate(drawn[0] + drawn[1])), np.sort(expected))


@pytest.mark.parametrize("streams", [RandomStreams, MRG_RandomStreams])
def test_loops_draw_in_place_and_leave_the_state_of_others(streams):
    """Two states in each step; the numbers and the states of Python's loop, for several lengths."""
    found = []
    for mode in (IN_PYTHON, None):
        rng, n = streams(5), T.iscalar()

        def step(x, rng=rng):
            return rng.uniform((3,), dtype="float64") + x * rng.binomial((3,), p=0.4, dtype="float64")

        out, updates = theano.scan(step, outputs_info=[T.zeros((3,))], n_steps=n)
        f = theano.function([n], out, updates=updates, mode=mode)
        states = [state for state, *_ in rng.state_updates]
        values = [f(4), f(0), f(1), f(9)]
        found.append((values, [state.get_value() for state in states]))
    (expected, state), (values, native_state) = found
    assert all(np.array_equal(x, y) for x, y in zip(expected, values, strict=True))
    for a, b in zip(state, native_state, strict=True):
        assert np.array_equal(a, b) if isinstance(a, np.ndarray) else same_states([a.get_state()], [b.get_state()])


def test_a_loop_that_fails_leaves_the_state():
    rng, v = RandomStreams(5), T.dvector()
    out, updates = theano.scan(lambda k: rng.uniform((2,))[k], sequences=[T.arange(5)])
    f = theano.function([v], out + v, updates=updates)
    state = rng.state_updates[0][0]
    before = state.get_value().get_state()
    with pytest.raises(IndexError):
        f(np.zeros(5))
    assert same_states([before], [state.get_value().get_state()])


@pytest.mark.parametrize("looks_at_memory", [True, False])
@pytest.mark.parametrize("drawn_before", [0, 1, 2, 3, 700])
def test_a_function_that_fails_leaves_a_pending_normal(drawn_before, looks_at_memory, monkeypatch):
    if not looks_at_memory:
        monkeypatch.setattr(raw_random, "pending_normal_at", lambda: 0)
    rng, v, n = RandomStreams(5), T.dvector(), T.lscalar()
    with theano.config.change_flags(program_cache="off"):
        f = theano.function([v, n], [rng.normal((n,)) + v, rng.uniform((2,))])
    states = [state.get_value(borrow=True) for state, _ in rng.state_updates]
    f(np.zeros(drawn_before), drawn_before)
    before = [state.get_state() for state in states]
    assert before[0][3] == drawn_before % 2
    with pytest.raises(ValueError):
        f(np.zeros(2), 3)
    assert same_states(before, [state.get_state() for state in states])
    fresh = np.random.RandomState(0)
    fresh.set_state(before[0])
    assert np.array_equal(f(np.zeros(4), 4)[0], fresh.normal(size=4))


@pytest.mark.parametrize("bits", [np.random.MT19937, np.random.PCG64])
def test_a_function_that_fails_leaves_any_generator(bits):
    given = theano.shared(np.random.RandomState(bits(3)), borrow=True)
    new, sample = raw_random.normal(given, (3,))
    v = T.dvector()
    f = theano.function([v], sample + v, updates=[(given, new)])
    expected = np.random.RandomState(bits(3))
    assert np.array_equal(f(np.zeros(3)), expected.normal(size=3))
    with pytest.raises(ValueError):
        f(np.zeros(4))
    assert np.array_equal(f(np.zeros(3)), expected.normal(size=3))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rows, columns, n", [(1, 1, 1), (8, 5, 1), (8, 5, 4), (0, 3, 2), (200, 30, 7)])
def test_columns_are_picked_as_in_python(dtype, rows, columns, n):
    p = np.random.RandomState(1).rand(rows, columns).astype(dtype)
    p[:, columns // 2] = 0 if columns > 1 else 1
    p /= p.sum(1, keepdims=True)
    wide = np.repeat(p, 2, axis=1)[:, ::2]
    values = {}
    for mode in (IN_PYTHON, None):
        rng, m = MRG_RandomStreams(3), T.matrix(dtype=dtype)
        taken = min(n, columns)
        outputs = [rng.multinomial(pvals=m, n=n), rng.multinomial(pvals=m, n=n, dtype="float32"),
                   rng.choice(size=taken, p=m, replace=False)]  # fmt: skip
        f = theano.function([m], outputs, mode=mode)
        values[mode] = [*f(p), *f(wide)]
    assert all(x.dtype == y.dtype and np.array_equal(x, y) for x, y in zip(values[IN_PYTHON], values[None], strict=True))
    assert sum(isinstance(op, vm.PickColumns) for op in instructions_of(f)) == 3
    assert (values[None][0].sum(1) == n).all()


def test_columns_that_cannot_be_picked():
    p, n = T.dmatrix(), T.lscalar()
    f = theano.function([p, n], MRG_RandomStreams(3).choice(size=n, p=p, replace=False))
    with pytest.raises(ValueError, match="replacement"):
        f(np.full((2, 3), 1 / 3), 4)
    assert sorted(f(np.full((1, 3), 1 / 3), 3)[0]) == [0, 1, 2]


def loop_of_a_state(state):
    """Four draws of three numbers by a loop, and the state afterwards."""
    shared = theano.shared(np.random.RandomState(5), borrow=True)

    def step():
        new, sample = raw_random.uniform(shared, size=(3,))
        return sample, {shared: new}

    drawn, updates = theano.scan(step, n_steps=4)
    return [theano.clone(v, {shared: state}) for v in (drawn, updates[shared])]


@pytest.mark.parametrize("copied", [False, True])
def test_a_loop_leaves_the_state_of_an_argument_that_is_not_mutable(copied):
    state, kept = raw_random.random_state_type(), np.random.RandomState(9)
    drawn, new = loop_of_a_state(state)
    f = theano.function([theano.In(state, value=kept, update=new, mutable=False)], [drawn])
    f = f.copy() if copied else f
    fresh = np.random.RandomState(9)
    assert all(np.array_equal(f()[0], fresh.uniform(size=(4, 3))) for _ in range(2))
    assert same_states([kept.get_state()], [np.random.RandomState(9).get_state()])
    given, expected = np.random.RandomState(3), np.random.RandomState(3).uniform(size=(4, 3))
    assert np.array_equal(f(given)[0], expected) and np.array_equal(f(given)[0], expected)
    assert same_states([given.get_state()], [np.random.RandomState(3).get_state()])


def test_a_loop_advances_the_state_of_a_shared_variable_without_a_copy():
    shared = theano.shared(np.random.RandomState(9))
    drawn, new = loop_of_a_state(shared)
    f = theano.function([], drawn, updates={shared: new})
    for g in (f, f.copy()):
        assert not any(isinstance(op, vm.Deepcopy) for op in instructions_of(g))


def test_a_state_is_looked_at_under_its_lock():
    shared = theano.shared(np.random.RandomState(4), borrow=True)
    generator, done = shared.get_value(borrow=True), threading.Event()
    new, sample = raw_random.uniform(shared, (2,))
    f = theano.function([], sample, updates=[(shared, new)])

    def draw():
        f()
        done.set()

    worker = threading.Thread(target=draw)
    with generator._bit_generator.lock:
        worker.start()
        assert not done.wait(0.2)
    worker.join()
    assert done.is_set()


NOTHING_LEFT = [
    # Probabilities, uniform numbers; columns drawn without and with replacement (of Theano 1.0.5).
    ([[0, 1, 0]], [0.5] * 3, [[1, -1, -1]], [[1, 1, 1]]),
    ([[0, 0, 0]], [0.5] * 3, [[-1, -1, -1]], [[-1, -1, -1]]),
    ([[0.3, 0.3, 0.3]], [0.999], [[-1]], [[-1]]),
    ([[0.3, 0.3, 0.3], [0.5, 0.5, 0]], [0.999, 0.1, 0.2, 0.999, 0.3, 0.999], [[-1, 0, 1], [0, 1, -1]], [[-1, 0, 1], [0, 1, 1]]),
    ([[0.2, 0.8, 0], [0, 0, 1]], [0.99, 0.1, 0.1, 0.1, 0.5, 0.1], [[1, 0, -1], [2, -1, -1]], [[1, 0, 1], [2, 2, 2]]),
    ([[np.nan, 0.5, 0.5], [0.5, 0.25, 0.25]], [0.1, 0.1, 0.3, 0.3], [[-1, -1], [0, 1]], [[-1, -1], [0, 0]]),
    ([[0.5, np.nan, 0.5]], [0.1, 0.1], [[0, -1]], [[0, 0]]),
    ([[0.5, -0.5, 1]], [0.1] * 3, [[0, 2, 1]], [[0, 0, 0]]),
    ([[0.5, 0.5]], [1, 0], [[-1, 0]], [[-1, 0]]),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("result", ["auto", "int8", "float32"])
def test_nothing_is_drawn_where_nothing_is_left(dtype, result):
    p, unis, n = T.matrix(dtype=dtype), T.vector(dtype=dtype), T.lscalar()
    outputs = [ChoiceFromUniform(result, replace=replace)(p, unis, n) for replace in (False, True)]
    functions = [theano.function([p, unis, n], outputs, mode=mode) for mode in (IN_PYTHON, None)]
    for rows, numbers, *expected in NOTHING_LEFT:
        for f in functions:
            found = f(np.array(rows, dtype), np.array(numbers, dtype), len(numbers) // len(rows))
            assert [x.tolist() for x in found] == expected and found[0].dtype == ("int64" if result == "auto" else result)


@pytest.mark.parametrize("mode", [IN_PYTHON, None])
def test_columns_of_empty_matrices(mode):
    p, unis, n = T.dmatrix(), T.dvector(), T.lscalar()
    ops = [MultinomialFromUniform("auto"), ChoiceFromUniform("auto", replace=True), ChoiceFromUniform("auto")]
    counts, again, once = (theano.function([p, unis, n], op(p, unis, n), mode=mode) for op in ops)
    none = np.zeros(0)
    assert counts(np.zeros((0, 0)), none, 1).shape == (0, 0) and again(np.zeros((0, 0)), none, 1).shape == (0, 1)
    assert once(np.zeros((0, 2)), none, 1).shape == (0, 1) and once(np.zeros((2, 0)), none, 0).shape == (2, 0)
    with pytest.raises(ValueError, match="without replacement"):
        once(np.zeros((0, 0)), none, 1)
    for f in (counts, again):
        with pytest.raises(ValueError, match="there are no columns to draw from"):
            f(np.zeros((2, 0)), np.zeros(2), 1)
        with pytest.raises(ValueError, match="pvals.shape.* n_samples: 3, 2, 1"):
            f(np.zeros((2, 2)), np.zeros(3), 1)


@pytest.mark.parametrize("added", [-1, 1, 2])
def test_samples_of_another_rank_than_their_size_are_refused_when_they_are_drawn(added):
    state = raw_random.random_state_type()
    for size in [(4,), (3, 4)]:
        kind = T.TensorType("float64", (False,) * (len(size) + added)) if len(size) + added >= 0 else T.dscalar
        _, sample = raw_random.RandomFunction("uniform", kind, ndim_added=added)(state, size, 0.0, 1.0)
        draw = theano.function([state], sample)
        with pytest.raises(ValueError):
            draw(np.random.RandomState(1))
