"""Training steps of convolutional networks: LeNet on 64 images of 28x28, a ResNet-20 on 32 images of 32x32.

A step gives the cost and moves all parameters down their gradients. ``python -m benchmarks.networks [MODEL ...]`` prints the
milliseconds of a step of each contender on one thread.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.harness import by_turns, importable, row

RATE = 0.01
SHAPES = {"lenet": (64, 1, 28, 28), "resnet20": (32, 3, 32, 32)}
TITLES = {"lenet": "LeNet step, batch 64, 28x28", "resnet20": "ResNet-20 step, batch 32, 32x32"}


# ---- the networks, in terms of a few operations


def lenet(ops: Any, x: Any, params: list[Any]) -> Any:
    w1, b1, w2, b2, w3, b3, w4, b4 = params
    x = ops.relu(ops.max_pool(ops.conv(x, w1, 0, 1) + ops.channels(b1)))
    x = ops.relu(ops.max_pool(ops.conv(x, w2, 0, 1) + ops.channels(b2)))
    x = ops.relu(ops.dot(ops.flat(x), w3) + b3)
    return ops.dot(x, w4) + b4


def lenet_params(rng: np.random.RandomState) -> list[np.ndarray]:
    params = []
    for shape, fan in (((20, 1, 5, 5), 25), ((50, 20, 5, 5), 500), ((800, 500), 800), ((500, 10), 500)):
        count = shape[0] if len(shape) == 4 else shape[1]
        params += [rng.randn(*shape) / np.sqrt(fan), np.zeros(count)]
    return params


def _blocks() -> Iterator[tuple[int, int, int]]:
    """Channels in, channels out and stride of each residual block."""
    channels = 16
    for stage, width in enumerate((16, 32, 64)):
        for block in range(3):
            yield channels, width, 2 if stage and not block else 1
            channels = width


def resnet20(ops: Any, x: Any, params: list[Any]) -> Any:
    queue = list(params)

    def normal(x: Any, pad: int, stride: int) -> Any:
        w, gain, bias = queue.pop(0), queue.pop(0), queue.pop(0)
        return ops.batch_norm(ops.conv(x, w, pad, stride), gain, bias)

    x = ops.relu(normal(x, 1, 1))
    for before, after, stride in _blocks():
        y = ops.relu(normal(x, 1, stride))
        y = normal(y, 1, 1)
        x = ops.relu(y + (normal(x, 0, stride) if before != after else x))
    return ops.dot(ops.spatial_mean(x), queue[0]) + queue[1]


def resnet20_params(rng: np.random.RandomState) -> list[np.ndarray]:
    params: list[np.ndarray] = []

    def normal(filters: int, channels: int, size: int) -> None:
        scale = np.sqrt(2 / (channels * size * size))
        params.extend([rng.randn(filters, channels, size, size) * scale, np.ones(filters), np.zeros(filters)])

    normal(16, 3, 3)
    for before, after, _ in _blocks():
        normal(after, before, 3)
        normal(after, after, 3)
        if before != after:
            normal(after, before, 1)
    return [*params, rng.randn(64, 10) / 8, np.zeros(10)]


NETWORKS: dict[str, Callable[..., Any]] = {"lenet": lenet, "resnet20": resnet20}


def data(model: str) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    rng = np.random.RandomState(0)
    x = rng.uniform(-1, 1, SHAPES[model]).astype("float32")
    params = {"lenet": lenet_params, "resnet20": resnet20_params}[model](rng)
    return x, rng.randint(0, 10, len(x)), [p.astype("float32") for p in params]


# ---- the contenders


def theano_step(model: str, start: list[np.ndarray]) -> Callable[..., Any]:
    import theano
    import theano.tensor as T
    from theano.tensor.nnet import bn
    from theano.tensor.signal.pool import pool_2d

    class Ops:
        relu, dot = T.nnet.relu, T.dot

        @staticmethod
        def conv(x: Any, w: Any, pad: int, stride: int) -> Any:
            return T.nnet.conv2d(x, w, border_mode=pad, subsample=(stride, stride), filter_flip=False)

        @staticmethod
        def max_pool(x: Any) -> Any:
            return pool_2d(x, (2, 2), ignore_border=True)

        @staticmethod
        def batch_norm(x: Any, gain: Any, bias: Any) -> Any:
            return bn.batch_normalization_train(x, Ops.channels(gain), Ops.channels(bias), "spatial", epsilon=1e-5)[0]

        @staticmethod
        def channels(b: Any) -> Any:
            return b.dimshuffle("x", 0, "x", "x")

        @staticmethod
        def flat(x: Any) -> Any:
            return x.flatten(2)

        @staticmethod
        def spatial_mean(x: Any) -> Any:
            return x.mean(axis=(2, 3))

    params = [theano.shared(p) for p in start]
    x, y = T.ftensor4("x"), T.lvector("y")
    p_y = T.nnet.softmax(NETWORKS[model](Ops, x, params))
    cost = T.nnet.categorical_crossentropy(p_y, y).mean()
    updates = [(p, p - np.float32(RATE) * g) for p, g in zip(params, theano.grad(cost, params), strict=True)]
    return theano.function([x, y], cost, updates=updates)


def torch_step(model: str, start: list[np.ndarray], torch: Any, last: bool = False, compiled: bool = False) -> Callable[..., Any]:
    f = torch.nn.functional
    layout = torch.channels_last if last else torch.contiguous_format

    class Ops:
        relu, dot = torch.relu, torch.matmul

        @staticmethod
        def conv(x: Any, w: Any, pad: int, stride: int) -> Any:
            return f.conv2d(x, w, None, stride, pad)

        @staticmethod
        def max_pool(x: Any) -> Any:
            return f.max_pool2d(x, 2)

        @staticmethod
        def batch_norm(x: Any, gain: Any, bias: Any) -> Any:
            return f.batch_norm(x, None, None, gain, bias, True, 0.1, 1e-5)

        @staticmethod
        def channels(b: Any) -> Any:
            return b[None, :, None, None]

        @staticmethod
        def flat(x: Any) -> Any:
            return x.flatten(1)

        @staticmethod
        def spatial_mean(x: Any) -> Any:
            return x.mean((2, 3))

    params = [torch.from_numpy(p.copy()) for p in start]
    params = [(p.contiguous(memory_format=layout) if p.ndim == 4 else p).requires_grad_() for p in params]

    def cost_of(x: Any, y: Any, *params: Any) -> Any:
        return f.cross_entropy(NETWORKS[model](Ops, x, list(params)), y)

    if compiled:
        cost_of = torch.compile(cost_of)

    def step(x: Any, y: Any) -> Any:
        cost = cost_of(x.contiguous(memory_format=layout), y, *params)
        grads = torch.autograd.grad(cost, params)
        with torch.no_grad():
            torch._foreach_add_(params, grads, alpha=-RATE)
        return cost

    return step


def jax_step(model: str, start: list[np.ndarray], jax: Any) -> Callable[..., Any]:
    lax, jnp = jax.lax, jax.numpy

    class Ops:
        relu, dot = jax.nn.relu, jnp.matmul

        @staticmethod
        def conv(x: Any, w: Any, pad: int, stride: int) -> Any:
            return lax.conv_general_dilated(x, w, (stride, stride), [(pad, pad)] * 2)

        @staticmethod
        def max_pool(x: Any) -> Any:
            return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

        @staticmethod
        def batch_norm(x: Any, gain: Any, bias: Any) -> Any:
            mean = x.mean((0, 2, 3), keepdims=True)
            var = ((x - mean) ** 2).mean((0, 2, 3), keepdims=True)
            return (x - mean) * lax.rsqrt(var + 1e-5) * Ops.channels(gain) + Ops.channels(bias)

        @staticmethod
        def channels(b: Any) -> Any:
            return b[None, :, None, None]

        @staticmethod
        def flat(x: Any) -> Any:
            return x.reshape(len(x), -1)

        @staticmethod
        def spatial_mean(x: Any) -> Any:
            return x.mean((2, 3))

    def cost_of(params: Any, x: Any, y: Any) -> Any:
        return -jax.nn.log_softmax(NETWORKS[model](Ops, x, params))[jnp.arange(len(y)), y].mean()

    @jax.jit
    def update(params: Any, x: Any, y: Any) -> Any:
        cost, grads = jax.value_and_grad(cost_of)(params, x, y)
        return cost, [p - RATE * g for p, g in zip(params, grads, strict=True)]

    state = [[jnp.asarray(p) for p in start]]

    def step(x: Any, y: Any) -> Any:
        cost, state[0] = update(state[0], x, y)
        return jax.block_until_ready(cost)

    return step


def contenders(model: str, threads: int, compiled: bool = True) -> dict[str, Callable[[], Any]]:
    x, y, start = data(model)
    ours = theano_step(model, start)
    calls: dict[str, Callable[[], Any]] = {"Theano": lambda: ours(x, y)}
    torch, jax = importable("torch"), importable("jax")
    if torch:
        torch.set_num_threads(threads)
        tx, ty = torch.from_numpy(x), torch.from_numpy(y)
        for name, last, is_compiled in (("PyTorch", False, False), ("PyTorch, channels last", True, False),
                                        ("PyTorch, compiled", False, True)):  # fmt: skip
            if compiled or not is_compiled:
                step = torch_step(model, start, torch, last, is_compiled)
                calls[name] = lambda step=step: step(tx, ty)
    if jax:
        jax_call, jx, jy = jax_step(model, start, jax), jax.numpy.asarray(x), jax.numpy.asarray(y)
        calls["JAX"] = lambda: jax_call(jx, jy)
    first = float(calls["Theano"]())
    for name, call in calls.items():
        if name != "Theano":
            np.testing.assert_allclose(float(call()), first, rtol=1e-3, err_msg=name)
    return calls


def rows(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    for model, title in TITLES.items():
        yield row(f"{title}, float32", threads, contenders(model, threads), seconds)


if __name__ == "__main__":
    for model in sys.argv[1:] or NETWORKS:
        for name, times in by_turns(contenders(model, 1, compiled=False), 1.0).items():
            print(f"{TITLES[model]}: {name} {1e3 * min(times):.2f} ms")
