"""Training steps: the manual's logistic regression, and an MLP with a batch of 128."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import training_in_c
from benchmarks.harness import importable, row

N_SAMPLES, N_FEATURES = 400, 784
BATCH, LAYERS = 128, (784, 512, 512, 10)
RATE = 0.1


def logistic_data(dtype: str = "float32") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.RandomState(0)
    x = rng.randn(N_SAMPLES, N_FEATURES).astype(dtype)
    y = rng.randint(0, 2, N_SAMPLES).astype(dtype)
    return x, y, rng.randn(N_FEATURES).astype(dtype)


def mlp_data() -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    rng = np.random.RandomState(0)
    x = rng.rand(BATCH, LAYERS[0]).astype("float32")
    y = rng.randint(0, LAYERS[-1], BATCH)
    params = []
    for rows_, columns in zip(LAYERS[:-1], LAYERS[1:]):
        params.append((rng.randn(rows_, columns) / np.sqrt(rows_)).astype("float32"))
        params.append(np.zeros(columns, "float32"))
    return x, y, params


def symbolic_logistic(theano: Any, T: Any, dtype: str = "float32") -> Callable[[np.ndarray, np.ndarray], Any]:
    """The manual's logistic regression; the module is Theano or PyTensor, which speak the same language."""
    _, _, w0 = logistic_data(dtype)
    x, y = T.matrix("x", dtype=dtype), T.vector("y", dtype=dtype)
    w, b = theano.shared(w0, name="w"), theano.shared(np.asarray(0, dtype)[()], name="b")
    p_1 = 1 / (1 + T.exp(-T.dot(x, w) - b))
    prediction = p_1 > 0.5
    xent = -y * T.log(p_1) - (1 - y) * T.log(1 - p_1)
    cost = xent.mean() + np.asarray(0.01, dtype)[()] * (w**2).sum()
    gw, gb = theano.grad(cost, [w, b])
    rate = np.asarray(RATE, dtype)[()]
    return theano.function([x, y], [prediction, xent], updates=[(w, w - rate * gw), (b, b - rate * gb)])


def symbolic_mlp(theano: Any, T: Any, softmax: Any, **options: Any) -> Callable[[np.ndarray, np.ndarray], Any]:
    """Two hidden tanh layers and a softmax, with its crossentropy."""
    _, _, start = mlp_data()
    params = [theano.shared(p) for p in start]
    x, y = T.fmatrix("x"), T.lvector("y")
    h = x
    for w, b in zip(params[:-2:2], params[1:-2:2]):
        h = T.tanh(T.dot(h, w) + b)
    p_y = softmax(T.dot(h, params[-2]) + params[-1])
    cost = -T.log(p_y)[T.arange(y.shape[0]), y].mean()
    rate = np.float32(RATE)
    updates = [(p, p - rate * g) for p, g in zip(params, theano.grad(cost, params))]
    return theano.function([x, y], cost, updates=updates, **options)


def theano_logistic(dtype: str = "float32") -> Callable[..., Any]:
    import theano
    import theano.tensor as T

    return symbolic_logistic(theano, T, dtype)


def theano_mlp() -> Callable[..., Any]:
    import theano
    import theano.tensor as T

    return symbolic_mlp(theano, T, T.nnet.softmax)


def jax_logistic(jax: Any) -> Callable[..., Any]:
    jnp = jax.numpy
    _, _, w0 = logistic_data()

    def loss(w: Any, b: Any, x: Any, y: Any) -> Any:
        p_1 = 1 / (1 + jnp.exp(-x @ w - b))
        xent = -y * jnp.log(p_1) - (1 - y) * jnp.log(1 - p_1)
        return xent.mean() + 0.01 * (w**2).sum(), (p_1 > 0.5, xent)

    @jax.jit
    def step(w: Any, b: Any, x: Any, y: Any) -> Any:
        (gw, gb), out = jax.grad(loss, argnums=(0, 1), has_aux=True)(w, b, x, y)
        return w - RATE * gw, b - RATE * gb, out

    state = [jnp.asarray(w0), jnp.float32(0)]

    def call(x: Any, y: Any) -> Any:
        state[0], state[1], out = step(state[0], state[1], x, y)
        return jax.block_until_ready(out)

    return call


def jax_mlp(jax: Any) -> Callable[..., Any]:
    jnp = jax.numpy

    def loss(params: Any, x: Any, y: Any) -> Any:
        h = x
        for w, b in zip(params[:-2:2], params[1:-2:2]):
            h = jnp.tanh(h @ w + b)
        return -jax.nn.log_softmax(h @ params[-2] + params[-1])[jnp.arange(y.shape[0]), y].mean()

    @jax.jit
    def step(params: Any, x: Any, y: Any) -> Any:
        cost, grads = jax.value_and_grad(loss)(params, x, y)
        return cost, [p - RATE * g for p, g in zip(params, grads)]

    state = [[jnp.asarray(p) for p in mlp_data()[2]]]

    def call(x: Any, y: Any) -> Any:
        cost, state[0] = step(state[0], x, y)
        return jax.block_until_ready(cost)

    return call


def torch_logistic(torch: Any) -> Callable[..., Any]:
    _, _, w0 = logistic_data()
    w = torch.from_numpy(w0.copy()).requires_grad_()
    b = torch.zeros((), requires_grad=True)

    def call(x: Any, y: Any) -> Any:
        p_1 = 1 / (1 + torch.exp(-x @ w - b))
        xent = -y * torch.log(p_1) - (1 - y) * torch.log(1 - p_1)
        cost = xent.mean() + 0.01 * (w**2).sum()
        gw, gb = torch.autograd.grad(cost, [w, b])
        with torch.no_grad():
            w.sub_(gw, alpha=RATE)
            b.sub_(gb, alpha=RATE)
        return p_1 > 0.5, xent

    return call


def torch_mlp(torch: Any) -> Callable[..., Any]:
    params = [torch.from_numpy(p).requires_grad_() for p in mlp_data()[2]]

    def call(x: Any, y: Any) -> Any:
        h = x
        for w, b in zip(params[:-2:2], params[1:-2:2]):
            h = torch.tanh(torch.addmm(b, h, w))
        cost = torch.nn.functional.cross_entropy(torch.addmm(params[-1], h, params[-2]), y)
        grads = torch.autograd.grad(cost, params)
        with torch.no_grad():
            for p, g in zip(params, grads):
                p.sub_(g, alpha=RATE)
        return cost

    return call


def rows(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    x, y, _ = logistic_data()
    bx, by, _ = mlp_data()
    logistic: dict[str, Any] = {"Theano": (theano_logistic(), x, y)}
    mlp: dict[str, Any] = {"Theano": (theano_mlp(), bx, by)}
    jax = importable("jax")
    if jax:
        logistic["JAX"] = (jax_logistic(jax), jax.numpy.asarray(x), jax.numpy.asarray(y))
        mlp["JAX"] = (jax_mlp(jax), jax.numpy.asarray(bx), jax.numpy.asarray(by))
    torch = importable("torch")
    if torch:
        torch.set_num_threads(threads)
        logistic["PyTorch"] = (torch_logistic(torch), torch.from_numpy(x), torch.from_numpy(y))
        mlp["PyTorch"] = (torch_mlp(torch), torch.from_numpy(bx), torch.from_numpy(by))
    pytensor = importable("pytensor")
    if pytensor:
        import pytensor.tensor as pt

        logistic["PyTensor"] = (symbolic_logistic(pytensor, pt), x, y)
        mlp["PyTensor"] = (symbolic_mlp(pytensor, pt, lambda v: pt.special.softmax(v, axis=1)), bx, by)
    for case, contenders in (("logistic regression step, 400x784", logistic),
                             ("MLP step, batch 128, 784-512-512-10", mlp)):
        calls = {name: (lambda f=f, args=args: f(*args)) for name, (f, *args) in contenders.items()}
        limits = None
        if case.startswith("MLP"):
            calls["C"], cost = training_in_c.mlp(threads, *mlp_data())
            calls["C"]()
            np.testing.assert_allclose(theano_mlp()(bx, by), cost[0], rtol=1e-4)
            limits = {"C": 1.1}
        yield row(f"{case}, float32", threads, calls, seconds, limits)
    yield logistic_in_float64(threads, seconds)


def logistic_in_float64(threads: int, seconds: float) -> dict[str, Any]:
    x, y, w = logistic_data("float64")
    step, results = training_in_c.logistic(x, y, w)
    step()
    for ours, theirs in zip(theano_logistic("float64")(x, y), results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)
    f = theano_logistic("float64")
    calls: dict[str, Callable[[], Any]] = {"Theano": lambda: f(x, y), "C": step, "NumPy": numpy_logistic(x, y, w)}
    return row("logistic regression step, 400x784, float64", threads, calls, seconds, {"C": 1.1})


def numpy_logistic(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> Callable[[], Any]:
    state = [w.copy(), 0.0]

    def call() -> Any:
        w, b = state
        p_1 = 1 / (1 + np.exp(-(x @ w) - b))
        xent = -y * np.log(p_1) - (1 - y) * np.log(1 - p_1)
        d = (p_1 - y) / len(y)
        state[:] = w - RATE * (x.T @ d + 0.02 * w), b - RATE * d.sum()
        return p_1 > 0.5, xent

    return call
