"""Reductions with what is around them: how many kernels they take, and what these compute."""

import os

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.native.runtime_build import load_runtime

runtime = load_runtime()
if runtime is None:
    pytest.skip("the native runtime is not available", allow_module_level=True)

EXAMPLES = 500 if os.environ.get("THEANO_NIGHTLY") else 12
PLAIN = theano.Mode("py", None)


def layer_norm(x, v, w):
    centred = x - x.mean(1, keepdims=True)
    return [centred / T.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * v + w]


def batch_norm(x, v, w):
    return [(x - x.mean(0)) / T.sqrt(x.var(0) + 1e-5) * v + w]


def log_sum_exp(x):
    m = x.max(1, keepdims=True)
    return [T.log(T.exp(x - m).sum(1, keepdims=True)) + m]


def softmax_but_for_one(x):
    e = T.exp(T.tanh(x) - T.tanh(x).max(1, keepdims=True))
    return [e / (e.sum(1, keepdims=True) + 1)]


def elementwise_and_sum(x, axis=None):
    y = T.tanh(x) + x
    return [y, y.sum(axis)]


def tanh_backward(x, y):
    d = y * (1 - x**2)
    return [d, d.sum(0)]


def truths(x, y):
    both = T.gt(x, 0) & T.invert(T.lt(x, y))
    return [both, both.sum(1), T.xor(both, T.isnan(x)), (x * both + T.sqrt(T.gt(y, 0.5))).sum(1), T.eq(both, T.gt(y, 1)).any(1)]


def rectified_backward(x, y, w):
    z = T.cumsum(x, 0) + w
    d = T.switch(T.ge(z, 0), y, 0)
    return [T.maximum(z, 0), d, d.sum(0)]


def chain_in_place(x, y, w):
    z = T.cumsum(x, 0) + w
    return [T.exp(z), z * y, (z * y).sum(1)]


def expensive_in_two_stages(x):
    e = T.erf(x)
    return [(e - e.mean(1, keepdims=True)).max(1), (e / e.sum(1, keepdims=True)).min(1)]


def kept_twice(x, y):
    e = T.exp(x) * y
    return [e, e / (1 + e.sum(1, keepdims=True)), e - e.max(1, keepdims=True)]


def through_a_vector(x, u):
    r = T.sqrt((x**2).sum(1)) + u
    return [r * 2, x / r.dimshuffle(0, "x")]


def over_two_axes(z):
    m = z.mean((1, 2), keepdims=True)
    return [(z - m) / T.sqrt(((z - m) ** 2).sum((1, 2), keepdims=True) + 1), m.dimshuffle(0)]


def channels(z):
    m = z.mean((0, 2), keepdims=True)
    return [m, ((z - m) ** 2).mean((0, 2))]


# What is computed, of which inputs, in how many kernels. Of x and y, u is as long as a column, v and w as a row.
PATTERNS = {
    "layer norm": (layer_norm, "xvw", 1),
    "batch norm": (batch_norm, "xvw", 3),
    "statistics of columns": (lambda x: [x.mean(0), x.var(0)], "x", 2),
    "statistics of rows": (lambda x: [x.mean(1), x.var(1)], "x", 1),
    "statistics of all": (lambda x: [x.mean(), x.var()], "x", 1),  # what is left when one pass has given the moments
    "rows of length 1": (lambda x: [x / T.sqrt((x**2).sum(1, keepdims=True))], "x", 1),
    "log of sum of exponentials": (log_sum_exp, "x", 1),
    "range of rows": (lambda x: [x.max(1) - x.min(1)], "x", 1),
    "range of columns": (lambda x: [x.max(0) - x.min(0)], "x", 1),
    "range of all": (lambda x: [x.max() - x.min()], "x", 1),
    "result and its sum": (elementwise_and_sum, "x", 1),
    "result and its sums of rows": (lambda x: elementwise_and_sum(x, 1), "x", 1),
    "result and its sums of columns": (lambda x: elementwise_and_sum(x, 0), "x", 1),
    "gradient of a bias": (tanh_backward, "xy", 1),
    "gradient through a rectifier": (rectified_backward, "xyw", 1),
    "a chain in place and what is made on its way": (chain_in_place, "xyw", 1),
    "softmax with one more": (softmax_but_for_one, "x", 1),
    "an expensive function in two stages": (expensive_in_two_stages, "x", 1),
    "a result kept for later stages": (kept_twice, "xy", 1),
    "rows through a vector": (through_a_vector, "xu", 1),
    "rows of two axes": (over_two_axes, "z", 1),
    "channels": (channels, "z", 2),
    "row sums of a product with a column": (lambda x, u: [(x * u.dimshuffle(0, "x")).sum(1) - u], "xu", 1),
    "sine and its sum": (lambda x: [T.sin(x) - T.sin(x).sum(1, keepdims=True)], "x", 1),
    "whole numbers": (lambda x: [(T.cast(x * 9, "int8") // 2).sum(1, dtype="int64") * 2, T.gt(x, 0).sum(1)], "x", 1),
    "truths": (truths, "xy", 1),
    "any and all": (lambda x: [T.gt(x, 0).any(1), T.gt(x, -2).all(1), T.gt(x, 0)], "x", 1),
}
SHAPES = {"x": (0, 1), "y": (0, 1), "u": (0,), "v": (1,), "w": (1,), "z": (0, 1, 2)}


def variables(names, dtype):
    return [T.TensorType(dtype, [False] * len(SHAPES[n]))(n) for n in names]


def arrays(names, dtype, lengths, layout="C", seed=0):
    rng = np.random.default_rng(seed)
    found = []
    for name in names:
        a = rng.uniform(-2, 2, [lengths[i] for i in SHAPES[name]]).astype(dtype)
        if layout == "F":
            a = np.asfortranarray(a)
        elif layout == "strided":
            wide = np.zeros([2 * n for n in a.shape], dtype)
            wide[tuple(slice(None, None, 2) for _ in a.shape)] = a
            a = wide[tuple(slice(None, None, 2) for _ in a.shape)]
        elif layout == "reversed":
            a = a[tuple(slice(None, None, -1) for _ in a.shape)]
        found.append(a)
    return found


_compiled = {}


def functions(name, dtype):
    """The compiled pattern and what to compare it with."""
    if (name, dtype) not in _compiled:
        build, names, _ = PATTERNS[name]
        xs = variables(names, dtype)
        outs = build(*xs)
        _compiled[name, dtype] = theano.function(xs, outs), theano.function(xs, outs, mode=PLAIN)
    return _compiled[name, dtype]


def kernels(function):
    return sum(instr.name == "kernel" for instr in function.fn.instrs)


def agree(found, expected, dtype):
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-12 if dtype == "float64" else 4e-5, atol=1e-12 if dtype == "float64" else 4e-5)


@pytest.mark.parametrize("name", PATTERNS)
def test_number_of_kernels(name):
    function, _ = functions(name, "float32")
    assert kernels(function) == PATTERNS[name][2]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", PATTERNS)
def test_values(name, dtype):
    function, plain = functions(name, dtype)
    names = PATTERNS[name][1]
    for lengths in ((5, 7, 3), (1, 33, 2), (33, 1, 1), (1, 1, 1), (3, 2050, 2)):
        for layout in ("C", "F", "strided", "reversed"):
            given = arrays(names, dtype, lengths, layout)
            agree(function(*given), plain(*given), dtype)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", PATTERNS)
def test_nothing(name):
    function, plain = functions(name, "float64")
    for lengths in ((0, 4, 2), (4, 0, 2), (0, 0, 0)):
        given = arrays(PATTERNS[name][1], "float64", lengths)
        try:
            expected = plain(*given)
        except ValueError:
            with pytest.raises(ValueError):
                function(*given)
        else:
            agree(function(*given), expected, "float64")


@pytest.mark.parametrize("name", PATTERNS)
def test_any_number_of_threads(name):
    function, _ = functions(name, "float32")
    given = arrays(PATTERNS[name][1], "float32", (301, 517, 3) if "z" in PATTERNS[name][1] else (301, 1517))
    threads = runtime.get_threads()
    results = []
    try:
        for count in (1, 2, 3):
            runtime.set_threads(count)
            results.append([np.array(a) for a in function(*given)])
    finally:
        runtime.set_threads(threads)
    for others in results[1:]:
        for a, b in zip(others, results[0], strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", [n for n in PATTERNS if n not in ("whole numbers", "any and all", "truths")])
def test_gradients(name):
    build, names, _ = PATTERNS[name]
    xs = variables(names, "float64")
    cost = sum((out * T.cos(out)).sum() for out in build(*xs))
    grads = T.grad(cost, xs)
    function, plain = theano.function(xs, [cost, *grads]), theano.function(xs, [cost, *grads], mode=PLAIN)
    for layout in ("C", "strided"):
        given = arrays(names, "float64", (5, 7, 3), layout)
        for a, b in zip(function(*given), plain(*given), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_state_is_normalised_in_place_of_itself():
    start = np.random.default_rng(0).uniform(1, 2, (4, 9))
    state = theano.shared(start.copy(), borrow=True)
    norm = T.sqrt((state**2).sum(1, keepdims=True))
    function = theano.function([], norm, updates=[(state, state / norm)])
    np.testing.assert_allclose(function(), np.sqrt((start**2).sum(1, keepdims=True)))
    np.testing.assert_allclose(state.get_value(), start / np.sqrt((start**2).sum(1, keepdims=True)))
    np.testing.assert_allclose(function(), np.ones((4, 1)))


@pytest.mark.parametrize("axis", [0, 1, None])
def test_what_is_reduced_is_overwritten(axis):
    start = np.random.default_rng(0).uniform(1, 2, (40, 90))
    state = theano.shared(start.copy())
    new = T.sin(state) * 2
    function = theano.function([], new.sum(axis), updates=[(state, new)])
    for _ in range(2):
        start = np.sin(start) * 2
        np.testing.assert_allclose(function(), start.sum(axis))
        np.testing.assert_allclose(state.get_value(), start)


def test_sine_of_huge_numbers_where_it_is_overwritten():
    start = np.linspace(-1e300, 1e300, 700).reshape(7, 100)
    state = theano.shared(start.copy())
    new = T.sin(state)
    function = theano.function([], new.sum(1), updates=[(state, new)])
    np.testing.assert_allclose(function(), np.sin(start).sum(1), atol=1e-13)
    np.testing.assert_allclose(state.get_value(), np.sin(start), atol=1e-15)


def test_a_row_value_that_others_read_first():
    x = T.dmatrix()
    r = x.sum(1)
    product = T.dot(r, x)
    function = theano.function([x], [product, x - r.dimshuffle(0, "x"), x - product])
    a = np.random.default_rng(0).uniform(size=(4, 4))
    s = a.sum(1)
    agree(function(a), [s @ a, a - s[:, None], a - s @ a], "float64")


def test_an_assertion_between_the_steps():
    x, y = T.dmatrices("xy")
    centred = x - x.mean(1, keepdims=True)
    checked = T.opt.Assert("no such number")(centred, T.gt(y[0, 0], 0))
    function = theano.function([x, y], (checked**2).sum(1) + centred.max(1))
    a = np.random.default_rng(0).uniform(size=(4, 5))
    b = a - a.mean(1, keepdims=True)
    np.testing.assert_allclose(function(a, a), (b**2).sum(1) + b.max(1))
    with pytest.raises(AssertionError, match="no such number"):
        function(a, -a)


def test_an_assertion_between_the_steps_raises_its_own_exception():
    x, c = T.dmatrix(), T.iscalar()
    parts = T.exp(x - x.max(axis=1, keepdims=True))
    checked = T.opt.Assert("not now", IndexError)(parts, c > 0)
    f = theano.function([x, c], checked / checked.sum(axis=1, keepdims=True))
    a = np.arange(12.0).reshape(3, 4)
    np.testing.assert_allclose(f(a, 1).sum(axis=1), 1)
    with pytest.raises(IndexError, match="not now"):
        f(a, 0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_softmax_of_columns(dtype):
    x = T.matrix(dtype=dtype)
    function = theano.function([x], T.nnet.softmax(x.T).T)
    for shape in ((0, 3), (3, 0), (1, 1), (5, 7), (33, 1), (1, 33), (300, 2100), (5000, 30)):
        for order in "CF":
            a = np.asarray(np.random.default_rng(0).normal(scale=3, size=shape), dtype=dtype, order=order)
            exact = np.exp(a.astype("float64") - a.max(0, initial=-1000))
            np.testing.assert_allclose(function(a), exact / exact.sum(0), rtol=1e-6 if dtype == "float32" else 1e-14)


@pytest.mark.parametrize("name", ["ceil", "round", "cos", "exp"])
def test_a_function_of_elements_that_no_result_has_room_for(name):
    """It is computed twice or kept in memory of the kernel, whatever is known of its costs."""
    x = T.matrix("x", dtype="float64")
    y = getattr(T, name)(x)
    f, plain = (theano.function([x], T.gt(y, y.mean(1, keepdims=True)), mode=mode) for mode in (None, PLAIN))
    value = np.random.RandomState(3).randn(5, 7) * 3
    np.testing.assert_array_equal(f(value), plain(value))


def test_shapes_that_do_not_fit_are_errors():
    x, y = T.dmatrices("xy")
    function = theano.function([x, y], (x / x.sum(1, keepdims=True) * y).sum(1))
    with pytest.raises(ValueError, match="mis-match"):
        function(np.ones((3, 4)), np.ones((3, 5)))


def test_long_rows_in_one_stage_are_cut_into_the_same_pieces():
    x = T.fvector()
    a = np.random.default_rng(0).uniform(size=100_003).astype("float32")
    together = theano.function([x], [x.sum(acc_dtype="float32"), x * 2])
    alone = theano.function([x], x.sum(acc_dtype="float32"))
    assert kernels(together) == 1
    assert together(a)[0] == alone(a)


def random_graph(seed):
    """Results and updates of nodes that reduce, broadcast and combine matrices, columns, rows and numbers."""
    rng = np.random.default_rng(seed)
    x, y = T.dmatrices("xy")
    start = rng.uniform(-1, 1, (6, 6))
    state = theano.shared(start, borrow=False)
    values = [x, y, state]

    def any_of(count=8):
        return values[int(rng.integers(max(0, len(values) - count), len(values)))]

    for _ in range(int(rng.integers(4, 14))):
        a, b, kind = any_of(), any_of(), int(rng.integers(0, 12))
        axis = [0, 1, None][int(rng.integers(0, 3))]
        if kind < 3:
            value = [a + b * 0.5, T.tanh(a) * b, a / (1 + b**2)][kind]
        elif kind == 3:
            value = a - a.mean(axis, keepdims=True)
        elif kind == 4:
            value = b / T.sqrt((a**2).sum(axis, keepdims=True) + 1)
        elif kind == 5:
            value = T.exp(a - T.maximum(a.max(1, keepdims=True), b.max(1, keepdims=True))) * b
        elif kind == 6:
            value = T.dot(T.tanh(a), T.tanh(b))
        elif kind == 7:
            value = a - T.sin(b.sum(1)).dimshuffle(0, "x")
        elif kind == 8:
            value = a * T.cos(b.sum(0)) + b.mean()
        elif kind == 9:
            value = T.switch(T.gt(a, b), a - a.min(axis, keepdims=True), T.erf(b))
        elif kind == 10:
            value = T.tanh(a.T) + a.sum(1)
        else:
            value = (T.exp(T.tanh(a)) / T.exp(T.tanh(a)).sum(1, keepdims=True)) * 2 - b.var(axis, keepdims=True)
        values.append(value)
    outs = [any_of(6) for _ in range(2)] + [T.tanh(any_of(6)).sum([0, 1, None][int(rng.integers(0, 3))])]
    return [x, y], outs, state, T.tanh(any_of(6)), start, [rng.uniform(-1, 1, (6, 6)) for _ in range(2)]


@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_random_graphs(seed):
    inputs, outs, state, new, start, given = random_graph(seed)
    results = []
    for mode in (PLAIN, "FAST_RUN"):
        state.set_value(start)
        function = theano.function(inputs, [*outs, T.grad(outs[-1].sum() + inputs[0].sum(), inputs[0])],
                                   updates=[(state, new)], mode=mode, on_unused_input="ignore")
        found = [np.array(v) for _ in range(2) for v in function(*given)]
        results.append([*found, state.get_value()])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_random_work_on_memory_that_is_overwritten(seed):
    """Chains that take the memory of what they are made of, with what is made of their links."""
    rng = np.random.RandomState(seed)
    x, y, w = variables("xyw", "float64")
    shared = theano.shared(rng.rand(5, 4))
    pool = [T.cumsum(x, 0), y, T.cumsum(y, 1), shared, T.cumsum(shared, 0) + w]
    for _ in range(8):
        a, b = (pool[rng.randint(len(pool))] for _ in range(2))
        steps = (a + b, a * w, T.tanh(a), T.maximum(a, 0), T.switch(T.ge(a, b), a, b / 2), a - a.mean(1, keepdims=True),
                 a / (1 + (b**2).sum(0)))  # fmt: skip
        pool.append(steps[rng.randint(len(steps))])
    outs = [pool[i] for i in rng.choice(len(pool), 3)] + [pool[-1].sum(seed % 2), pool[-2].sum()]
    given = [rng.uniform(-1, 1, shape) for shape in ((5, 4), (5, 4), (4,))]
    results = []
    for mode in (None, PLAIN):
        shared.set_value(np.arange(20.0).reshape(5, 4) / 20)
        f = theano.function([x, y, w], outs, updates=[(shared, pool[-1] / 2)], mode=mode, on_unused_input="ignore")
        results.append([*map(np.array, f(*given)), shared.get_value()])
    agree(*results, "float64")


def test_more_rows_than_one_kernel_can_have():
    A = T.dmatrix("A")
    cost = sum(T.log(T.exp(A * i).sum(axis=1)).sum() for i in range(1, 50))
    outs = [cost, T.grad(cost, A)]
    value = np.linspace(-1, 1, 12).reshape(3, 4)
    modes = [theano.Mode(linker, "fast_run") for linker in ("cvm", "py")]
    agree(*(theano.function([A], outs, mode=mode)(value) for mode in modes), "float64")
