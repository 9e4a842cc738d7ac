"""Indexing, sorting, joining and linear algebra, against NumPy, PyTensor, JAX and PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import importable, row

CONTENDERS = ("numpy", "pytensor", "jax", "torch")
TITLES = {"numpy": "NumPy", "pytensor": "PyTensor", "jax": "JAX", "torch": "PyTorch"}


class Case(NamedTuple):
    """One expression in every library.

    Attributes
    ----------
    name
        What the table shows.
    arrays
        The arguments.
    theano
        ``theano(T, *symbols)`` gives the expression.
    others
        For each peer a function of its module (for NumPy ``numpy``, for PyTensor ``pytensor.tensor``) and its arrays.
    reference
        The result, as a function of the arrays; None: NumPy's.
    """

    name: str
    arrays: tuple[np.ndarray, ...]
    theano: Any
    others: dict[str, Any]
    reference: Any = None


def cases(rng: np.random.RandomState) -> Iterator[Case]:
    """The expressions that have no state."""
    table = rng.uniform(-1, 1, (50_000, 256)).astype("float32")
    rows_ = rng.randint(0, len(table), 2048)
    index = {name: lambda m, w, i: w[i] for name in CONTENDERS}
    yield Case("embedding lookup, 2048 rows of 50000x256 float32", (table, rows_), lambda m, w, i: w[i], index)

    x = rng.uniform(-1, 1, 1_000_000)
    for dtype, values in (("float64", x), ("float32", x.astype("float32")), ("int64", (x * 1e9).astype("int64"))):
        argsort = {name: lambda m, v: m.argsort(v) for name in CONTENDERS}
        yield Case(f"argsort, 1e6 {dtype}", (values,), lambda m, v: m.argsort(v), argsort,
                   lambda v: np.argsort(v, kind="stable"))
        cumsum = {name: lambda m, v: m.cumsum(v, axis=0) for name in CONTENDERS}
        yield Case(f"cumsum, 1e6 {dtype}", (values,), lambda m, v: m.cumsum(v), cumsum)

    yield Case("x[i], 1e6 of 1e6 float64", (x, rng.randint(0, x.size, x.size)), lambda m, v, i: v[i], index)
    pairs = {name: lambda m, v, i, j: v[i, j] for name in CONTENDERS}
    places = (rng.randint(0, 1000, x.size), rng.randint(0, 1000, x.size))
    yield Case("x[i, j], 1e6 of 1000x1000 float64", (x.reshape(1000, 1000), *places), lambda m, v, i, j: v[i, j], pairs)
    mask = {name: lambda m, v, b: v[b] for name in CONTENDERS if name != "jax"}
    yield Case("x[mask], 1e6 float64", (x, x > 0), lambda m, v, b: v[b], mask)
    nonzero = {name: lambda m, b: m.nonzero(b)[0] for name in CONTENDERS if name not in ("jax", "torch")}
    nonzero["torch"] = lambda m, b: m.nonzero(b)[:, 0]
    yield Case("nonzero, 1e6 bool", (x > 0,), lambda m, b: m.nonzero(b)[0], nonzero)

    pieces = tuple(rng.uniform(-1, 1, 10_000) for _ in range(100))
    concatenate = {name: lambda m, *v: m.concatenate(v) for name in CONTENDERS}
    yield Case("concatenate, 100 pieces of 1e4 float64", pieces, lambda m, *v: m.concatenate(v), concatenate)

    a, b = (rng.uniform(-1, 1, (64, 128, 128)).astype("float32") for _ in range(2))
    matmul = {name: lambda m, u, v: m.matmul(u, v) for name in CONTENDERS}
    yield Case("batched_dot, 64x128x128x128 float32", (a, b), lambda m, u, v: m.batched_dot(u, v), matmul)

    for dtype in ("float64", "float32"):
        square = rng.uniform(-1, 1, (500, 500))
        square = (square @ square.T + 50 * np.eye(500)).astype(dtype)
        vector, right = rng.uniform(-1, 1, 500).astype(dtype), rng.uniform(-1, 1, (500, 500)).astype(dtype)
        cholesky = {name: lambda m, v: m.linalg.cholesky(v) for name in CONTENDERS}
        solve = {name: lambda m, u, v: m.linalg.solve(u, v) for name in CONTENDERS}
        yield Case(f"Cholesky, 500x500 {dtype}", (square,), lambda m, v: m.slinalg.cholesky(v), cholesky)
        yield Case(f"solve, 500x500 and a vector, {dtype}", (square, vector), lambda m, u, v: m.slinalg.solve(u, v), solve)
        yield Case(f"solve, 500x500 and a matrix, {dtype}", (square, right), lambda m, u, v: m.slinalg.solve(u, v), solve)


def symbol(m: Any, array: np.ndarray) -> Any:
    """A variable for arrays like this one; `m` is ``theano.tensor`` or ``pytensor.tensor``."""
    return m.TensorType(array.dtype.name, (False,) * array.ndim)()


def peers(case: Case, threads: int) -> dict[str, Any]:
    """The expression in each library that is installed."""
    found: dict[str, Any] = {}
    modules = {name: importable(name) for name in CONTENDERS if name in case.others}
    if modules.get("numpy"):
        found["NumPy"] = lambda: case.others["numpy"](np, *case.arrays)
    if modules.get("jax"):
        jax = modules["jax"]
        jax.config.update("jax_enable_x64", True)
        compiled = jax.jit(lambda *v: case.others["jax"](jax.numpy, *v))
        on_device = [jax.numpy.asarray(v) for v in case.arrays]
        found["JAX"] = lambda: compiled(*on_device).block_until_ready()
    if modules.get("pytensor"):
        import pytensor
        import pytensor.tensor as pt

        symbols = [pt.TensorType(v.dtype.name, (None,) * v.ndim)() for v in case.arrays]
        function = pytensor.function(symbols, case.others["pytensor"](pt, *symbols), trust_input=True)
        found["PyTensor"] = lambda: function(*case.arrays)
    if modules.get("torch"):
        torch = modules["torch"]
        torch.set_num_threads(threads)
        tensors = [torch.from_numpy(v) for v in case.arrays]
        found["PyTorch"] = lambda: case.others["torch"](torch, *tensors)
    return found


def scatter_add(threads: int, seconds: float, rng: np.random.RandomState) -> dict[str, Any]:
    """The gradient of an embedding lookup, added in place: ``W[i] += g``."""
    import theano
    import theano.tensor as T

    table, i = rng.uniform(-1, 1, (50_000, 256)).astype("float32"), rng.randint(0, 50_000, 2048)
    g = rng.uniform(-1e-3, 1e-3, (2048, 256)).astype("float32")
    w = theano.shared(table)
    index, step = T.lvector(), T.fmatrix()
    f = theano.function([index, step], [], updates=[(w, T.inc_subtensor(w[index], step))])
    expected = table.copy()
    np.add.at(expected, i, g)
    f(i, g)
    np.testing.assert_allclose(w.get_value(), expected, rtol=1e-5, atol=1e-6)

    def numpy_add() -> None:
        np.add.at(expected, i, g)

    contenders: dict[str, Any] = {"Theano": lambda: f(i, g), "NumPy": numpy_add}
    jax = importable("jax")
    if jax:
        held = [jax.numpy.asarray(table)]
        add = jax.jit(lambda v, k, d: v.at[k].add(d), donate_argnums=0)
        on_device = jax.numpy.asarray(i), jax.numpy.asarray(g)

        def jax_add() -> None:
            held[0] = add(held[0], *on_device)
            held[0].block_until_ready()

        contenders["JAX"] = jax_add
    pytensor = importable("pytensor")
    if pytensor:
        import pytensor.tensor as pt

        v = pytensor.shared(table)
        places, values = pt.lvector(), pt.fmatrix()
        h = pytensor.function([places, values], [], updates=[(v, pt.inc_subtensor(v[places], values))], trust_input=True)
        contenders["PyTensor"] = lambda: h(i, g)
    torch = importable("torch")
    if torch:
        torch.set_num_threads(threads)
        t, ti, tg = torch.from_numpy(table.copy()), torch.from_numpy(i), torch.from_numpy(g)
        contenders["PyTorch"] = lambda: t.index_add_(0, ti, tg)
    return row("embedding gradient: W[i] += g in place", threads, contenders, seconds)


def rows(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    import theano
    import theano.tensor as T
    import theano.tensor.slinalg

    rng = np.random.RandomState(0)
    for case in cases(rng):
        symbols = [symbol(T, v) for v in case.arrays]
        f = theano.function(symbols, case.theano(T, *symbols))
        contenders = {"Theano": lambda f=f, case=case: f(*case.arrays), **peers(case, threads)}
        expected = case.reference(*case.arrays) if case.reference else case.others["numpy"](np, *case.arrays)
        tolerance = 1e-2 if expected.dtype == "float32" else 1e-8
        np.testing.assert_allclose(contenders["Theano"](), expected, rtol=tolerance, atol=tolerance)
        yield row(case.name, threads, contenders, seconds)
    yield scatter_add(threads, seconds, rng)
