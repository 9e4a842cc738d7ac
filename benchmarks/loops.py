"""Loops: a scalar recurrence against C, recurrent networks with their gradient, a hessian, and what compiling them takes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import first_result, training_in_c
from benchmarks.harness import compile_c, importable, row

STEPS = 100_000
LSTM = (100, 32, 256)
GRU = (100, 32, 128)
RNN = (1000, 1, 32)
HESSIAN = 50

RECURRENCE_C = """
#include <math.h>
void recurrence(double *out, double x, double a, double b, long n)
{
    for (long i = 0; i < n; i++) {
        x = tanh(a * x + b);
        out[i] = x;
    }
}
"""


def weights(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.RandomState(0)
    return [(rng.randn(*s) / np.sqrt(s[0] if len(s) > 1 else 100)).astype("float32") for s in shapes]


def data(model: str) -> tuple[np.ndarray, ...]:
    """The batch that a model is called with."""
    rng = np.random.RandomState(1)
    if model == "gru":
        steps, batch, width = GRU
        lengths = rng.randint(steps // 2, steps + 1, batch)
        mask = (np.arange(steps)[:, None] < lengths).astype("float32")
        return rng.randn(steps, batch, width).astype("float32"), mask
    steps, batch, width = LSTM if model == "lstm" else RNN
    return (rng.randn(steps, batch, width).astype("float32"),)


def parameters(model: str) -> list[np.ndarray]:
    width = {"lstm": LSTM, "gru": GRU, "rnn": RNN}[model][2]
    gates = {"lstm": 4, "gru": 3, "rnn": 1}[model]
    return weights((width, gates * width), (width, gates * width), (gates * width,))


# Each cell is written once for Theano and PyTensor and once for JAX and PyTorch: the same formulas, different names.


def symbolic_model(model: str, theano: Any, T: Any, sigmoid: Callable[[Any], Any], scan: Any,
                   mode: Any = None) -> Callable[..., Any]:
    """Cost and gradients of all parameters of a recurrent network."""
    w, u, b = (theano.shared(p) for p in parameters(model))
    width = u.get_value().shape[0]
    x = T.tensor3("x", dtype="float32")
    inputs = [x]
    projected = T.dot(x, w) + b
    zero = T.zeros((x.shape[1], width), dtype="float32")

    def lstm(xt: Any, h: Any, c: Any, u: Any) -> Any:
        z = xt + T.dot(h, u)
        i, f, o = (sigmoid(z[:, k * width : (k + 1) * width]) for k in range(3))
        c = f * c + i * T.tanh(z[:, 3 * width :])
        return o * T.tanh(c), c

    def gru(xt: Any, m: Any, h: Any, u: Any) -> Any:
        z = sigmoid(xt[:, : 2 * width] + T.dot(h, u[:, : 2 * width]))
        reset, update = z[:, :width], z[:, width:]
        new = T.tanh(xt[:, 2 * width :] + T.dot(reset * h, u[:, 2 * width :]))
        new = update * h + (1 - update) * new
        return m * new + (1 - m) * h

    def rnn(xt: Any, h: Any, u: Any) -> Any:
        return T.tanh(xt + T.dot(h, u))

    if model == "lstm":
        (h, _), _ = scan(lstm, sequences=[projected], outputs_info=[zero, zero], non_sequences=[u])
    elif model == "gru":
        mask = T.matrix("mask", dtype="float32")
        inputs.append(mask)
        h, _ = scan(gru, sequences=[projected, mask.dimshuffle(0, 1, "x")], outputs_info=[zero], non_sequences=[u])
    else:
        h, _ = scan(rnn, sequences=[projected], outputs_info=[zero], non_sequences=[u])
    cost = T.sqr(h[-1]).sum()
    return theano.function(inputs, [cost, *theano.grad(cost, [w, u, b])], mode=mode)


def theano_model(model: str) -> Callable[..., Any]:
    import theano
    import theano.tensor as T

    return symbolic_model(model, theano, T, T.nnet.sigmoid, theano.scan)


def pytensor_model(model: str, pytensor: Any, mode: str) -> Callable[..., Any]:
    import pytensor.tensor as pt

    def scan(*args: Any, **kwargs: Any) -> Any:
        return pytensor.scan(*args, **kwargs)

    return symbolic_model(model, pytensor, pt, pt.sigmoid, scan, mode)


def jax_model(model: str, jax: Any) -> Callable[..., Any]:
    jnp = jax.numpy
    width = parameters(model)[1].shape[0]

    def lstm(state: Any, xt: Any, u: Any) -> Any:
        h, c = state
        z = xt + h @ u
        i, f, o = (jax.nn.sigmoid(z[:, k * width : (k + 1) * width]) for k in range(3))
        c = f * c + i * jnp.tanh(z[:, 3 * width :])
        return o * jnp.tanh(c), c

    def gru(state: Any, inputs: Any, u: Any) -> Any:
        h, xt, m = state[0], *inputs
        z = jax.nn.sigmoid(xt[:, : 2 * width] + h @ u[:, : 2 * width])
        reset, update = z[:, :width], z[:, width:]
        new = jnp.tanh(xt[:, 2 * width :] + (reset * h) @ u[:, 2 * width :])
        new = update * h + (1 - update) * new
        return (m[:, None] * new + (1 - m[:, None]) * h,)

    def rnn(state: Any, xt: Any, u: Any) -> Any:
        return (jnp.tanh(xt + state[0] @ u),)

    cell = {"lstm": lstm, "gru": gru, "rnn": rnn}[model]

    def loss(params: Any, x: Any, *mask: Any) -> Any:
        w, u, b = params
        zero = jnp.zeros((x.shape[1], width), "float32")
        start = (zero, zero) if model == "lstm" else (zero,)
        projected = x @ w + b
        end, _ = jax.lax.scan(lambda s, z: (cell(s, z, u), None), start, (projected, *mask) if mask else projected)
        return (end[0] ** 2).sum()

    step = jax.jit(jax.value_and_grad(loss))
    params = [jnp.asarray(p) for p in parameters(model)]
    return lambda *args: jax.block_until_ready(step(params, *args))


def torch_model(model: str, torch: Any, compiled: bool) -> Callable[..., Any]:
    width = parameters(model)[1].shape[0]
    params = [torch.from_numpy(p).requires_grad_() for p in parameters(model)]

    def lstm(xt: Any, h: Any, c: Any, u: Any) -> Any:
        z = torch.addmm(xt, h, u)
        i, f, o, g = z.chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c

    def gru(xt: Any, m: Any, h: Any, u: Any) -> Any:
        z = torch.sigmoid(torch.addmm(xt[:, : 2 * width], h, u[:, : 2 * width]))
        reset, update = z[:, :width], z[:, width:]
        new = torch.tanh(torch.addmm(xt[:, 2 * width :], reset * h, u[:, 2 * width :]))
        new = update * h + (1 - update) * new
        return (m * new + (1 - m) * h,)

    def rnn(xt: Any, h: Any, u: Any) -> Any:
        return (torch.tanh(torch.addmm(xt, h, u)),)

    cell: Any = {"lstm": lstm, "gru": gru, "rnn": rnn}[model]
    if compiled:
        cell = torch.compile(cell)

    def call(x: Any, *mask: Any) -> Any:
        w, u, b = params
        zero = torch.zeros(x.shape[1], width)
        state = (zero, zero) if model == "lstm" else (zero,)
        projected = x @ w + b
        masks = mask[0].unbind(0) if mask else None
        for t, xt in enumerate(projected.unbind(0)):
            state = cell(xt, *((masks[t][:, None],) if masks else ()), *state, u)
        return torch.autograd.grad((state[0] ** 2).sum(), params)

    return call


def torch_module(model: str, torch: Any) -> Callable[..., Any]:
    """`torch.nn.LSTM` or `torch.nn.RNN`, whose loop is written in C++."""
    width = parameters(model)[1].shape[0]
    layer = {"lstm": torch.nn.LSTM, "rnn": torch.nn.RNN}[model](width, width)

    def call(x: Any) -> Any:
        h, _ = layer(x)
        return torch.autograd.grad((h[-1] ** 2).sum(), list(layer.parameters()))

    return call


# ---- a scalar recurrence


def symbolic_recurrence(theano: Any, T: Any, mode: Any = None) -> Callable[..., Any]:
    x, a, b = T.dscalar("x"), T.dscalar("a"), T.dscalar("b")
    out, _ = theano.scan(lambda x, a, b: T.tanh(a * x + b), outputs_info=[x], non_sequences=[a, b], n_steps=STEPS)
    return theano.function([x, a, b], out, mode=mode)


def c_recurrence() -> Callable[..., Any]:
    function = compile_c(RECURRENCE_C).recurrence
    function.argtypes = [ctypes.c_void_p, *[ctypes.c_double] * 3, ctypes.c_long]

    def call(x: float, a: float, b: float) -> np.ndarray:
        out = np.empty(STEPS)
        function(out.ctypes.data, x, a, b, STEPS)
        return out

    return call


def jax_recurrence(jax: Any) -> Callable[..., Any]:
    def run(x: Any, a: Any, b: Any) -> Any:
        def step(x: Any, _: Any) -> Any:
            x = jax.numpy.tanh(a * x + b)
            return x, x

        return jax.lax.scan(step, x, None, length=STEPS)[1]

    compiled = jax.jit(run)
    return lambda *args: jax.block_until_ready(compiled(*args))


# ---- a hessian


def symbolic_hessian(theano: Any, T: Any, hessian: Any) -> Callable[..., Any]:
    x, w = T.dvector("x"), T.dmatrix("w")
    cost = T.log(1 + T.exp(T.dot(w, T.sin(x)))).sum() + T.sqr(T.tanh(x).sum())
    return theano.function([x, w], hessian(cost, x))


def jax_hessian(jax: Any) -> Callable[..., Any]:
    jnp = jax.numpy

    def cost(x: Any, w: Any) -> Any:
        return jnp.log(1 + jnp.exp(w @ jnp.sin(x))).sum() + jnp.tanh(x).sum() ** 2

    compiled = jax.jit(jax.hessian(cost))
    return lambda *args: jax.block_until_ready(compiled(*args))


def torch_hessian(torch: Any) -> Callable[..., Any]:
    def call(x: Any, w: Any) -> Any:
        return torch.autograd.functional.hessian(
            lambda x: torch.log(1 + torch.exp(w @ torch.sin(x))).sum() + torch.tanh(x).sum() ** 2, x
        )

    return call


# ---- rows


def running_rows(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    import theano
    import theano.tensor as T

    jax, torch, pytensor = importable("jax"), importable("torch"), importable("pytensor")
    if jax:
        jax.config.update("jax_enable_x64", True)
    if torch:
        torch.set_num_threads(threads)
    modes = ("NUMBA", "CVM") if pytensor else ()

    calls: dict[str, Any] = {"Theano": symbolic_recurrence(theano, T), "hand-written C": c_recurrence()}
    if jax:
        calls["JAX"] = jax_recurrence(jax)
    for mode in modes:
        import pytensor.tensor as pt

        calls[f"PyTensor {mode}"] = symbolic_recurrence(pytensor, pt, mode)
    calls = {name: (lambda f=f: f(0.3, 1.1, 0.2)) for name, f in calls.items()}
    yield row("x = tanh(a*x + b), 1e5 steps, float64", threads, calls, seconds, {"hand-written C": 1.5})

    for model, title in (("lstm", "LSTM {}x{}x{}"), ("rnn", "RNN {}x{}x{}"), ("gru", "GRU with masks {}x{}x{}")):
        given = data(model)
        made: dict[str, Any] = {"Theano": (theano_model(model), given)}
        if jax:
            made["JAX"] = (jax_model(model, jax), [jax.numpy.asarray(v) for v in given])
        if torch:
            tensors = [torch.from_numpy(v) for v in given]
            made["PyTorch"] = (torch_model(model, torch, False), tensors)
            made["PyTorch compiled"] = (torch_model(model, torch, True), tensors)
            if model != "gru":
                made["PyTorch module"] = (torch_module(model, torch), tensors)
        for mode in modes:
            made[f"PyTensor {mode}"] = (pytensor_model(model, pytensor, mode), given)
        calls = {name: (lambda f=f, args=args: f(*args)) for name, (f, args) in made.items()}
        limits = None
        if model == "lstm":
            calls["C"], results = training_in_c.lstm(threads, *given, parameters(model))
            calls["C"]()
            for ours, theirs in zip(calls["Theano"](), results, strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4)
            limits = {"C": 1.1}
        sizes = {"lstm": LSTM, "rnn": RNN, "gru": GRU}[model]
        yield row(f"{title.format(*sizes)}, value and gradient, float32", threads, calls, seconds, limits)

    rng = np.random.RandomState(0)
    given = (rng.randn(HESSIAN), rng.randn(20, HESSIAN))
    made = {"Theano": (symbolic_hessian(theano, T, theano.gradient.hessian), given)}
    if jax:
        made["JAX"] = (jax_hessian(jax), [jax.numpy.asarray(v) for v in given])
    if torch:
        made["PyTorch"] = (torch_hessian(torch), [torch.from_numpy(v) for v in given])
    if pytensor:
        made["PyTensor NUMBA"] = (symbolic_hessian(pytensor, pt, pytensor.gradient.hessian), given)
    calls = {name: (lambda f=f, args=args: f(*args)) for name, (f, args) in made.items()}
    yield row(f"hessian of a {HESSIAN}-dimensional function, float64", threads, calls, seconds)


# ---- compiling


def nested_loops(depth: int = 3) -> Callable[..., Any]:
    """A scan in a scan in a scan."""
    import theano
    import theano.tensor as T

    def run(level: int, x: Any) -> Any:
        if level == 0:
            return T.tanh(x) + 0.1
        return theano.scan(lambda x: run(level - 1, x), outputs_info=[x], n_steps=4)[0][-1]

    x = T.dvector("x")
    return theano.function([x], run(depth, x))


def stacked_lstms(layers: int = 10) -> Callable[..., Any]:
    """Ten LSTMs, one above the other, with the gradient of all parameters."""
    import theano
    import theano.tensor as T

    width = 16
    x = h = T.ftensor3("x")
    params = []
    for _ in range(layers):
        w, u, b = (theano.shared(p) for p in weights((width, 4 * width), (width, 4 * width), (4 * width,)))
        params += [w, u, b]
        zero = T.zeros((x.shape[1], width), dtype="float32")

        def lstm(xt: Any, h: Any, c: Any, u: Any) -> Any:
            z = xt + T.dot(h, u)
            i, f, o = (T.nnet.sigmoid(z[:, k * width : (k + 1) * width]) for k in range(3))
            c = f * c + i * T.tanh(z[:, 3 * width :])
            return o * T.tanh(c), c

        (h, _), _ = theano.scan(lstm, sequences=[T.dot(h, w) + b], outputs_info=[zero, zero], non_sequences=[u])
    cost = T.sqr(h[-1]).sum()
    return theano.function([x], [cost, *theano.grad(cost, params)])


TIME = """
import time
import numpy as np
from benchmarks import loops
{setup}
start = time.perf_counter()
{build}
print(time.perf_counter() - start)
"""
SETUP = "import theano, theano.tensor as T; T.nnet.sigmoid; theano.scan"
COMPILED = {
    "LSTM step": ("x, = loops.data('lstm')\n" + SETUP, "loops.theano_model('lstm')(x)"),
    "scan in a scan in a scan": (SETUP, "loops.nested_loops()(np.arange(3.0))"),
    "ten stacked LSTMs": ("x = np.zeros((5, 2, 16), 'f')\n" + SETUP, "loops.stacked_lstms()(x)"),
}
JAX_LSTM = ("import jax; jax.numpy.zeros(1).block_until_ready()\nx, = loops.data('lstm')", "loops.jax_model('lstm', jax)(x)")
LIMITS = {
    ("LSTM step", "empty"): 1.2,
    ("LSTM step", "warm"): 0.5,
    ("scan in a scan in a scan", "empty"): 2.0,
    ("ten stacked LSTMs", "empty"): 6.0,
}


def compiling_rows(threads: int) -> Iterator[dict[str, Any]]:
    for what, (setup, build) in COMPILED.items():
        contenders = {"Theano": TIME.format(setup=setup, build=build)}
        if what == "LSTM step" and importable("jax"):
            contenders["JAX"] = TIME.format(setup=JAX_LSTM[0], build=JAX_LSTM[1])
        limits = {state: limit for (model, state), limit in LIMITS.items() if model == what}
        yield from first_result.rows_of(what, threads, first_result.with_empty_and_warm_cache(contenders), limits)


# ---- memory


def peak_bytes(function: Callable[..., Any], *args: Any) -> int:
    """Bytes of the engine's memory that one call takes at its peak, results included."""
    from theano.native.fastcall import _runtime

    function(*args)
    _runtime.pool_trim()
    before = _runtime.pool_stats()["in_use"]
    kept = function(*args)
    peak = _runtime.pool_stats()["peak"]
    del kept
    return int(peak - before)


def memory_rows(threads: int) -> Iterator[dict[str, Any]]:
    import theano
    import theano.tensor as T

    x, n = T.dvector("x"), T.lscalar("n")
    start = np.zeros(1000)

    def step(x: Any) -> Any:
        return T.tanh(1.1 * x + 0.1)

    def result(case: str, what: str, value: float, limit: float) -> dict[str, Any]:
        return {"case": case, "threads": threads, "times": {}, "checks": {what: [value, limit]}}

    last = theano.scan(step, outputs_info=[x], n_steps=n)[0][-1]
    function = theano.function([x, n], last)
    ratio = peak_bytes(function, start, 10_000) / peak_bytes(function, start, 100)
    yield result("memory of 10,000 steps of which the last value is used", "/ 100 steps", ratio, 1.0)
    gradient = theano.function([x, n], T.grad(last.sum(), x))
    ratio = peak_bytes(gradient, start, 10_000) / (10_000 * start.nbytes)
    yield result("memory of the gradient of 10,000 steps", "/ the steps' values", ratio, 1.2)
    every = 100
    saved = theano.scan_checkpoints(step, outputs_info=[x], n_steps=n, save_every_N=every)[0][-1]
    gradient = theano.function([x, n], T.grad(saved.sum(), x))
    ratio = peak_bytes(gradient, start, 10_000) / (2 * every * start.nbytes)
    yield result("the same with checkpoints at every 100th step", "/ 2 sqrt(T) values", ratio, 2.0)


def rows(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    yield from running_rows(threads, seconds)
    yield from compiling_rows(threads)
    yield from memory_rows(threads)
