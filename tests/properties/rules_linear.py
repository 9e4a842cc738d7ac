"""Steps of linear algebra: products and decompositions."""

from __future__ import annotations

import numpy as np

from .graphs import Graph, Reject, rule
from .rules_elementwise import modest


def _matching(g: Graph, x, axis: int, length: int, ndim: tuple[int, ...], kinds: str):
    """Return an item whose axis has a length: an operand of a product."""
    found = [i for i in g.items if i.kind in kinds and i.ndim in ndim and modest(i) and i.shape[axis] == length]
    if found and g.rng.random() < 0.6:
        return g.rng.choice(found)
    rank = g.rng.choice(ndim)
    shape = list(g.random_shape(rank))
    shape[axis] = length
    return g.input(shape, x.dtype if g.rng.random() < 0.8 else g.random_dtype(kinds))


@rule(9)
def dot(g: Graph) -> None:
    kinds = "f" if g.profile.differentiable else "fffiuc"
    x = g.pick(kinds, ndim=(1, 2, 2, 3), where=modest)
    y = _matching(g, x, 0, x.shape[-1], (1, 2), kinds)
    if not modest(y):
        raise Reject
    dtype = np.result_type(x.dtype, y.dtype).name
    text = g.rng.choice(["T.dot({}, {})", "{}.dot({})"] + (["{} @ {}"] if max(x.ndim, y.ndim) < 3 else []))
    wide = "w({})" if np.dtype(dtype).kind in "fc" else "{}"
    meaning = f"np.dot({wide.format(x.name)}, {wide.format(y.name)})"
    g.apply(text.format(x.name, y.name), meaning, dtype=dtype, working=dtype)


@rule(2)
def affine(g: Graph) -> None:
    """What becomes a gemm or gemv: alpha * dot(x, y) + beta * z."""
    x = g.pick("f", ndim=2, where=modest)
    y = _matching(g, x, 0, x.shape[1], (1, 2), "f")
    if not modest(y):
        raise Reject
    shape = (x.shape[0], *y.shape[1:])
    z = g.pick("f", shape=shape)
    alpha, beta = g.rng.choice(["1", "2.0", "-0.5"]), g.rng.choice(["1", "0.5", "-1.0"])
    g.apply(f"{alpha} * T.dot({x.name}, {y.name}) + {beta} * {z.name}",
            f"{alpha} * np.dot(w({x.name}), w({y.name})) + {beta} * w({z.name})",
            working=min(x.dtype, y.dtype, key=_bits))  # fmt: skip


def _bits(dtype: str) -> int:
    return np.dtype(dtype).itemsize


@rule(4)
def other_products(g: Graph) -> None:
    kinds = "f" if g.profile.differentiable else "ffic"
    style = g.rng.choice(["outer", "tensordot", "batched", "batched_tensordot", "matmul"])
    if style == "outer":
        x, y = (g.pick(kinds, ndim=(1, 2), where=modest) for _ in range(2))
        if x.value.size * y.value.size > g.profile.max_size:
            raise Reject
        g.apply(f"T.outer({x.name}, {y.name})", f"np.outer({x.name}, {y.name})", dtype=np.result_type(x.dtype, y.dtype).name)
        return
    if style == "tensordot":
        x = g.pick(kinds, ndim=(1, 2, 3), where=modest)
        k = g.rng.randint(0, min(2, x.ndim))
        free = g.random_shape(g.rng.randint(0, 2 if k else 1))
        if x.value.size * np.prod(free) > 10 * g.profile.max_size:
            raise Reject
        y = g.input((*x.shape[x.ndim - k :], *free), x.dtype)
        if g.rng.random() < 0.5:
            axes = str(k)
        else:
            axes = str([list(range(x.ndim - k, x.ndim)), list(range(k))])
        text = f"tensordot({x.name}, {y.name}, axes={axes})"
        g.apply(f"T.{text}", f"np.{text}", dtype=x.dtype)
        return
    x = g.pick("f", ndim=(2, 3), where=modest)
    b = x.shape[0]
    if style == "batched":
        rank = g.rng.choice([2, 3])
        y = g.input((b, x.shape[-1], *g.random_shape(rank - 2)), x.dtype)
        left = "b" + "ij"[2 - (x.ndim - 1) :]
        right = "bjk"[:rank]
        out = "b" + left[1:-1] + right[2:]
        g.apply(f"T.batched_dot({x.name}, {y.name})", f"np.einsum('{left},{right}->{out}', w({x.name}), w({y.name}))",
                dtype=x.dtype, working=x.dtype)  # fmt: skip
    elif style == "batched_tensordot":
        if x.ndim != 3:
            raise Reject
        y = g.input((b, x.shape[1], *g.random_shape(1)), x.dtype)
        g.apply(f"T.batched_tensordot({x.name}, {y.name}, axes=[[1], [1]])",
                f"np.einsum('bij,bik->bjk', w({x.name}), w({y.name}))", dtype=x.dtype, working=x.dtype)  # fmt: skip
    else:
        if x.ndim != 2:
            raise Reject
        y = g.input((x.shape[1], 2), x.dtype)
        g.apply(f"{x.name} @ {y.name}", f"np.matmul(w({x.name}), w({y.name}))", dtype=x.dtype, working=x.dtype)


@rule(4)
def decompositions(g: Graph) -> None:
    x = g.pick("f", ndim=2, where=lambda i: modest(i) and i.dtype != "float16")
    n = x.shape[0]
    if not 0 < n <= 4 or not x.value.size:
        raise Reject
    # Symmetric, positive definite and well-conditioned.
    a = f"(T.dot({x.name}, {x.name}.T) / 4 + 3 * T.eye({n}, dtype='{x.dtype}'))"
    b = f"(np.dot(w({x.name}), w({x.name}).T) / 4 + 3 * np.eye({n}))"
    options = [
        (f"nlinalg.matrix_inverse({a})", f"np.linalg.inv({b})"),
        (f"nlinalg.det({a})", f"np.linalg.det({b})"),
        (f"nlinalg.trace({a})", f"np.trace({b})"),
        (f"nlinalg.matrix_power({a}, 2)", f"np.linalg.matrix_power({b}, 2)"),
        (f"nlinalg.matrix_dot({x.name}.T, {a}, {x.name})", f"w({x.name}).T @ {b} @ w({x.name})"),
        (f"slinalg.cholesky({a})", f"np.linalg.cholesky({b})"),
        (f"slinalg.solve({a}, {x.name})", f"np.linalg.solve({b}, w({x.name}))"),
        (f"slinalg.kron({x.name}, {x.name})", f"np.kron(w({x.name}), w({x.name}))"),
        (f"slinalg.expm({x.name}[:1, :1] / 4)", f"np.exp(w({x.name})[:1, :1] / 4)"),
    ]
    if not g.profile.differentiable:
        options += [
            (f"nlinalg.pinv({x.name})", f"np.linalg.pinv(w({x.name}), rcond=1e-15)"),
            (f"nlinalg.eigh({a})[0]", f"np.linalg.eigh({b})[0]"),
            (f"nlinalg.svd({x.name}, full_matrices=0)[1]", f"np.linalg.svd(w({x.name}))[1]"),
            (f"abs(nlinalg.qr({a})[1])", f"abs(np.linalg.qr({b})[1])"),
            (f"nlinalg.norm({x.name}, 'fro')", f"np.linalg.norm(w({x.name}))"),
            (f"slinalg.solve_lower_triangular(T.tril({a}), {x.name})", f"np.linalg.solve(np.tril({b}), w({x.name}))"),
            (f"slinalg.eigvalsh({a}, T.eye({n}, dtype='{x.dtype}'))", f"np.linalg.eigvalsh({b})"),
            (f"nlinalg.tensorinv({a}.reshape(({n}, 1, {n}, 1)), 2)", f"np.linalg.tensorinv({b}.reshape({n}, 1, {n}, 1), 2)"),
            (f"nlinalg.tensorsolve({a}, {x.name}[:, 0])", f"np.linalg.tensorsolve({b}, w({x.name})[:, 0])"),
        ]
    symbolic, numeric = g.rng.choice(options)
    g.apply(symbolic, numeric, working=x.dtype)
