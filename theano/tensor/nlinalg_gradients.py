"""Derivatives of matrix decompositions and of tensor equations: the formulas behind :mod:`theano.tensor.nlinalg`.

Each function takes what the gradient of an Op gets. Sources: J. Townsend, "Differentiating the singular value
decomposition" (2016); S. Walter, L. Lehmann, "Algorithmic differentiation of linear algebra functions" (2010).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano.gof.copying import view_op
from theano.gradient_types import DisconnectedType, gradient_of
from theano.raise_op import Assert
from theano.tensor import basic as T
from theano.tensor.type import ops

square = Assert(
    "The gradient at the orthogonal factors of a decomposition with square factors takes a square matrix: ask for the "
    "reduced factors"
)
_tall = Assert("The gradient of the QR decomposition takes a matrix of at least as many rows as columns")


def is_connected(gradient: Any) -> bool:
    """Return whether anything flows back through an output."""
    return not isinstance(gradient.type, DisconnectedType)


def direction_from_gradient(op: Any, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
    """Return the derivatives of the outputs of an op along `eval_points`, from its gradient.

    The gradient is linear in what flows in from above: the derivative of its product with a direction, with respect to
    that, is the derivative of the output along the direction.
    """
    outputs = op(*inputs, return_list=True)
    directions: list[Any] = []
    for position, out in enumerate(outputs):
        if out.type.dtype in T.discrete_dtypes:
            directions.append(None)
            continue
        seeds = [DisconnectedType()() for _ in outputs]
        seeds[position] = out.zeros_like()
        total = sum(
            (g * point).sum()
            for g, point in zip(op.L_op(list(inputs), outputs, seeds), eval_points)
            if point is not None and is_connected(g)
        )
        directions.append(gradient_of(total, seeds[position]) if hasattr(total, "type") else None)
    return directions


def _scaled_columns(matrix: Any, factors: Any) -> Any:
    return matrix * factors.dimshuffle("x", 0)


def symmetric_from(matrix: Any, lower: bool) -> Any:
    """Return the symmetric matrix that a triangle of `matrix` stands for."""
    if lower:
        return T.tril(matrix) + T.tril(matrix, -1).T
    return T.triu(matrix) + T.triu(matrix, 1).T


def without_diagonal(numerator: Any, differences: Any) -> Any:
    """Return the quotient off the diagonal, and 0 on it."""
    diagonal = T.identity_like(differences)
    return T.switch(diagonal, 0, numerator / T.switch(diagonal, 1, differences))


def svd_gradient(x: Any, outputs: Sequence[Any], gradients: Sequence[Any], full_matrices: bool) -> Any:
    """Return the gradient at `x` of the factors ``u, s, v`` of ``x == u * diag(s) * v``.

    Parameters
    ----------
    x : matrix
    outputs : u, s, v
    gradients : list
        One for each output; some may be disconnected.
    full_matrices : bool
        Whether `u` and `v` are square.
    """
    u, s, v = outputs
    gu, gs, gv = gradients
    if full_matrices:
        count = s.shape[0]
        if is_connected(gu) or is_connected(gv):
            u = square(u, T.eq(x.shape[0], x.shape[1]))
        u, v = u[:, :count], v[:count]
        gu = gu[:, :count] if is_connected(gu) else gu
        gv = gv[:count] if is_connected(gv) else gv
    # From here on the columns of `w` are the right singular vectors.
    w = v.T
    squares = s**2
    gaps = squares.dimshuffle("x", 0) - squares.dimshuffle(0, "x")
    core = T.diag(gs) if is_connected(gs) else T.zeros_like(gaps)
    rest: Any = 0
    if is_connected(gu):
        turn = T.dot(u.T, gu)
        core = core + _scaled_columns(without_diagonal(turn - turn.T, gaps), s)
        rest = rest + T.dot(_scaled_columns(gu - T.dot(u, turn), 1 / s), v)
    if is_connected(gv):
        gw = gv.T
        turn = T.dot(v, gw)
        core = core + without_diagonal(turn - turn.T, gaps) * s.dimshuffle(0, "x")
        rest = rest + T.dot(u, _scaled_columns(gw - T.dot(w, turn), 1 / s).T)
    return T.dot(T.dot(u, core), v) + rest


def qr_gradient(x: Any, q: Any, r: Any, gq: Any, gr: Any) -> Any:
    """Return the gradient at `x`, of at least as many rows as columns, of its reduced factors `q` and `r`."""
    r = _tall(r, T.ge(x.shape[0], x.shape[1]))
    inner = T.zeros_like(r)
    if is_connected(gr):
        inner = inner + T.dot(r, gr.T)
    if is_connected(gq):
        inner = inner - T.dot(gq.T, q)
    total = T.dot(q, symmetric_from(inner, lower=True))
    if is_connected(gq):
        total = total + gq
    return ops.solve_upper_triangular(r, total.T).T


def singular_values_gradient(x: Any, gs: Any) -> Any:
    """Return the gradient at `x` of its singular values alone."""
    u, _, v = ops.svd(x, full_matrices=False)
    return T.dot(_scaled_columns(u, gs), v)


def eigh_direction(x: Any, values: Any, vectors: Any, point: Any, lower: bool) -> tuple[Any, Any]:
    """Return the derivatives of the eigenvalues and -vectors of a symmetric matrix along `point`."""
    turned = T.dot(T.dot(vectors.T, symmetric_from(point, lower)), vectors)
    gaps = values.dimshuffle("x", 0) - values.dimshuffle(0, "x")
    return T.diagonal(turned), T.dot(vectors, without_diagonal(turned, gaps))


def pinv_direction(x: Any, z: Any, point: Any) -> Any:
    """Return the derivative along `point` of the pseudo-inverse `z` of `x`, while the rank stays."""
    xz, zx = T.dot(x, z), T.dot(z, x)
    return (
        -T.dot(T.dot(z, point), z)
        + T.dot(T.dot(T.dot(z, z.T), point.T), T.identity_like(xz) - xz)
        + T.dot(T.dot(T.dot(T.identity_like(zx) - zx, point.T), z.T), z)
    )


def flat_matrix(x: Any, rows: int) -> Any:
    """Return the matrix of a tensor whose first `rows` dimensions become the rows."""
    lengths = [x.shape[i] for i in range(x.ndim)]
    height, width = T.constant(1, dtype="int64"), T.constant(1, dtype="int64")
    for length in lengths[:rows]:
        height = height * length
    for length in lengths[rows:]:
        width = width * length
    return x.reshape((height, width), ndim=2)


def tensorinv_gradient(a: Any, inverse: Any, gz: Any, ind: int) -> Any:
    """Return the gradient at `a` of its `inverse` with respect to ``tensordot(a, b, ind)``."""
    z = flat_matrix(inverse, a.ndim - ind)
    g = -T.dot(T.dot(z.T, flat_matrix(gz, a.ndim - ind)), z.T)
    return g.reshape(a.shape, ndim=a.ndim)


def tensorsolve_gradients(a: Any, b: Any, x: Any, gx: Any, axes: Sequence[int] | None) -> list[Any]:
    """Return the gradients at `a` and `b` of the solution `x` of ``tensordot(a, x, x.ndim) == b``."""
    order = list(range(a.ndim))
    for axis in axes or ():
        order.remove(axis % a.ndim)
        order.append(axis % a.ndim)
    moved = a.dimshuffle(order)
    gb = ops.solve(flat_matrix(moved, b.ndim).T, gx.flatten())
    ga = -T.outer(gb, x.flatten()).reshape(moved.shape, ndim=a.ndim)
    back = [order.index(i) for i in range(a.ndim)]
    return [ga.dimshuffle(back), gb.reshape(b.shape, ndim=b.ndim)]


def lstsq_gradients(x: Any, y: Any, outputs: Sequence[Any], gradients: Sequence[Any]) -> list[Any]:
    """Return the gradients at `x` and `y` of the outputs of a least-squares problem whose rank stays.

    The solution is the pseudo-inverse of `x` times `y`, the residuals are ``sum((x * solution - y) ** 2)``.
    """
    g_solution, g_residuals, _, g_values = gradients
    solution = T.dot(ops.pinv(x), y)
    results, seeds = [], []
    if is_connected(g_solution):
        results.append(solution)
        seeds.append(g_solution)
    if is_connected(g_residuals):
        squares = (T.dot(x, solution) - y) ** 2
        # There are none where the equations can all hold.
        results.append((squares.sum(axis=0) if y.ndim == 2 else squares.sum().dimshuffle("x"))[: outputs[1].shape[0]])
        seeds.append(g_residuals)
    if is_connected(g_values):
        results.append(ops.svd(x, compute_uv=False))
        seeds.append(g_values)
    known = {view_op(result): seed for result, seed in zip(results, seeds, strict=True)}
    return gradient_of(None, [x, y], known_grads=known, disconnected_inputs="ignore")
