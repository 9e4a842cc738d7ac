"""Arithmetic around gathers and scatters: rows of a table looked up and worked on, rows and slices updated in place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.harness import importable, row

RATE = np.float32(1e-4)


def _shared_table(theano: Any, table: np.ndarray, symbols: tuple[Any, ...], update: Callable[..., Any]) -> Any:
    """A function that updates a shared array in place; `update` gives the new value from it and the symbols."""
    w = theano.shared(table)
    return theano.function(list(symbols), [], updates=[(w, update(w, *symbols))]), w


def _in_place(jax: Any, table: np.ndarray, update: Callable[..., Any], *arrays: np.ndarray) -> Callable[[], None]:
    """JAX's way to update an array: its memory is given away and taken back."""
    held = [jax.numpy.asarray(table)]
    step = jax.jit(update, donate_argnums=0)
    on_device = [jax.numpy.asarray(a) for a in arrays]

    def call() -> None:
        held[0] = step(held[0], *on_device)
        held[0].block_until_ready()

    return call


def lookup(threads: int, seconds: float, table: np.ndarray, i: np.ndarray, s: np.ndarray) -> dict[str, Any]:
    """``tanh(W[i] * s + 1)``."""
    import theano
    import theano.tensor as T

    w, index, scale = T.fmatrix(), T.lvector(), T.fvector()
    f = theano.function([w, index, scale], T.tanh(w[index] * scale + np.float32(1)))
    np.testing.assert_allclose(f(table, i, s), np.tanh(table[i] * s + 1), rtol=1e-4)
    contenders: dict[str, Any] = {
        "Theano": lambda: f(table, i, s),
        "NumPy": lambda: np.tanh(table[i] * s + np.float32(1)),
    }
    jax, pytensor, torch = map(importable, ("jax", "pytensor", "torch"))
    if jax:
        h = jax.jit(lambda w, i, s: jax.numpy.tanh(w[i] * s + 1))
        arrays = [jax.numpy.asarray(a) for a in (table, i, s)]
        contenders["JAX"] = lambda: h(*arrays).block_until_ready()
    if pytensor:
        import pytensor.tensor as pt

        v, places, factor = pt.fmatrix(), pt.lvector(), pt.fvector()
        g = pytensor.function([v, places, factor], pt.tanh(v[places] * factor + np.float32(1)), trust_input=True)
        contenders["PyTensor"] = lambda: g(table, i, s)
    if torch:
        torch.set_num_threads(threads)
        tw, ti, ts = map(torch.from_numpy, (table, i, s))
        contenders["PyTorch"] = lambda: torch.tanh(tw[ti] * ts + 1)
    return row("embedding: tanh(W[i] * s + 1), 2048 rows of 50000x256 float32", threads, contenders, seconds)


def step(threads: int, seconds: float, table: np.ndarray, i: np.ndarray, s: np.ndarray) -> dict[str, Any]:
    """A step of gradient descent on ``sum(tanh(W[i] * s))``, for the rows in place."""
    import theano
    import theano.tensor as T

    def update(w: Any, index: Any, scale: Any) -> Any:
        rows_ = w[index]
        return T.inc_subtensor(rows_, -RATE * T.grad(T.tanh(rows_ * scale).sum(), rows_))

    f, w = _shared_table(theano, table, (T.lvector(), T.fvector()), update)
    expected = table.copy()
    np.add.at(expected, i, -RATE * (1 - np.tanh(table[i] * s) ** 2) * s)
    f(i, s)
    np.testing.assert_allclose(w.get_value(borrow=True), expected, rtol=1e-4, atol=1e-6)

    def numpy_step() -> None:
        np.add.at(expected, i, -RATE * (1 - np.tanh(expected[i] * s) ** 2) * s)

    contenders: dict[str, Any] = {"Theano": lambda: f(i, s), "NumPy": numpy_step}
    jax, pytensor, torch = map(importable, ("jax", "pytensor", "torch"))
    if jax:
        tanh = jax.numpy.tanh
        contenders["JAX"] = _in_place(
            jax, table, lambda v, k, c: v.at[k].add(-RATE * jax.grad(lambda x: tanh(x * c).sum())(v[k])), i, s
        )
    if pytensor:
        import pytensor.tensor as pt

        v, places, factor = pytensor.shared(table), pt.lvector(), pt.fvector()
        x = v[places]
        change = pt.inc_subtensor(x, -RATE * pt.grad(pt.tanh(x * factor).sum(), x))
        g = pytensor.function([places, factor], [], updates=[(v, change)], trust_input=True)
        contenders["PyTensor"] = lambda: g(i, s)
    if torch:
        torch.set_num_threads(threads)
        tw, ti, ts = torch.from_numpy(table.copy()), torch.from_numpy(i), torch.from_numpy(s)
        rate = float(RATE)

        def torch_step() -> None:
            tw.index_add_(0, ti, (1 - torch.tanh(tw[ti] * ts) ** 2) * ts, alpha=-rate)

        contenders["PyTorch"] = torch_step
    return row("W[i] -= rate * gradient of sum(tanh(W[i] * s)), in place", threads, contenders, seconds)


def masked(threads: int, seconds: float, table: np.ndarray, i: np.ndarray, rng: np.random.RandomState) -> dict[str, Any]:
    """``W[i] -= rate * g * mask``, in place."""
    import theano
    import theano.tensor as T

    g, mask = rng.uniform(-1, 1, (len(i), table.shape[1])).astype("float32"), rng.uniform(0, 1, (len(i), 1)).astype("float32")
    column = T.TensorType("float32", (False, True))
    f, w = _shared_table(theano, table, (T.lvector(), T.fmatrix(), column()),
                         lambda w, k, d, m: T.inc_subtensor(w[k], -RATE * d * m))
    expected = table.copy()
    np.add.at(expected, i, -RATE * g * mask)
    f(i, g, mask)
    np.testing.assert_allclose(w.get_value(borrow=True), expected, rtol=1e-4, atol=1e-6)

    def numpy_step() -> None:
        np.add.at(expected, i, -RATE * g * mask)

    contenders: dict[str, Any] = {"Theano": lambda: f(i, g, mask), "NumPy": numpy_step}
    jax, pytensor, torch = map(importable, ("jax", "pytensor", "torch"))
    if jax:
        contenders["JAX"] = _in_place(jax, table, lambda v, k, d, m: v.at[k].add(-RATE * d * m), i, g, mask)
    if pytensor:
        import pytensor.tensor as pt

        symbols = pt.lvector(), pt.fmatrix(), pt.TensorType("float32", (None, 1))()
        h, _ = _shared_table(pytensor, table, symbols, lambda v, k, d, m: pt.inc_subtensor(v[k], -RATE * d * m))
        h.trust_input = True
        contenders["PyTensor"] = lambda: h(i, g, mask)
    if torch:
        torch.set_num_threads(threads)
        tw, ti, tg, tm = map(torch.from_numpy, (table.copy(), i, g, mask))
        contenders["PyTorch"] = lambda: tw.index_add_(0, ti, tg * tm, alpha=-float(RATE))
    return row("W[i] -= rate * g * mask, in place", threads, contenders, seconds)


def part(threads: int, seconds: float, rng: np.random.RandomState) -> dict[str, Any]:
    """``a[1:] += b * b``, in place."""
    import theano
    import theano.tensor as T

    a, b = rng.uniform(-1, 1, 1_000_001).astype("float32"), rng.uniform(-1e-3, 1e-3, 1_000_000).astype("float32")
    f, w = _shared_table(theano, a, (T.fvector(),), lambda w, x: T.inc_subtensor(w[1:], x * x))
    expected = a.copy()
    expected[1:] += b * b
    f(b)
    np.testing.assert_allclose(w.get_value(borrow=True), expected, rtol=1e-6)

    def numpy_step() -> None:
        expected[1:] += b * b

    contenders: dict[str, Any] = {"Theano": lambda: f(b), "NumPy": numpy_step}
    jax, pytensor, torch = map(importable, ("jax", "pytensor", "torch"))
    if jax:
        contenders["JAX"] = _in_place(jax, a, lambda v, x: v.at[1:].add(x * x), b)
    if pytensor:
        import pytensor.tensor as pt

        h, _ = _shared_table(pytensor, a, (pt.fvector(),), lambda v, x: pt.inc_subtensor(v[1:], x * x))
        h.trust_input = True
        contenders["PyTensor"] = lambda: h(b)
    if torch:
        torch.set_num_threads(threads)
        ta, tb = torch.from_numpy(a.copy()), torch.from_numpy(b)
        contenders["PyTorch"] = lambda: ta[1:].addcmul_(tb, tb)
    return row("a[1:] += b * b in place, 1e6 float32", threads, contenders, seconds)


def rows(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    rng = np.random.RandomState(0)
    table = rng.uniform(-1, 1, (50_000, 256)).astype("float32")
    i, s = rng.randint(0, len(table), 2048), rng.uniform(-1, 1, 256).astype("float32")
    yield lookup(threads, seconds, table, i, s)
    yield step(threads, seconds, table, i, s)
    yield masked(threads, seconds, table, i, rng)
    yield part(threads, seconds, rng)
