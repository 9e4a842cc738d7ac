"""Matrix products as BLAS calls."""

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.tensor import blas

A, B, Z = T.dmatrices("A", "B", "Z")
al, be = T.dscalars("al", "be")
u, v = T.dvectors("u", "v")
FAST = theano.Mode("py", "fast_run")
rng = np.random.RandomState(2)
a, b, z = rng.rand(2, 3), rng.rand(3, 4), rng.rand(2, 4)


def ops(f):
    return [type(node.op).__name__ for node in f.maker.fgraph.toposort()]


@pytest.mark.parametrize(
    ("build", "value", "gemms"),
    [
        (lambda: Z + T.dot(A, B), lambda: z + a @ b, 1),
        (lambda: Z - T.dot(A, B), lambda: z - a @ b, 1),
        (lambda: T.dot(A, B) - Z, lambda: a @ b - z, 1),
        (lambda: be * Z + al * T.dot(A, B), lambda: -3 * z + 2 * a @ b, 1),
        (lambda: Z - 0.5 * T.dot(A, B), lambda: z - 0.5 * a @ b, 1),
        (lambda: Z + T.dot(A, B) / 4.0, lambda: z + a @ b / 4, 1),
        (lambda: Z - al * (be * T.dot(A, B)), lambda: z + 6 * a @ b, 1),
        (lambda: Z + T.dot(A, B) + T.dot(2 * A, B), lambda: z + 3 * a @ b, 2),
        (lambda: Z + T.dot(B.T, A.T).T, lambda: z + a @ b, 1),
        (lambda: (Z - T.dot(A, B)).T, lambda: (z - a @ b).T, 1),
        (lambda: Z * Z + T.dot(A, B), lambda: z * z + a @ b, 1),
        (lambda: Z + T.dot(A, B) + T.dot(A, B), lambda: z + 2 * a @ b, 1),
        (lambda: Z + Z + T.dot(A, B), lambda: 2 * z + a @ b, 1),
        (lambda: Z * be + al**2 * T.dot(A, B) + be * T.dot(A, B), lambda: -3 * z + a @ b, 1),
        (lambda: B[0] + Z * be - T.dot(A, B), lambda: b[0] - 3 * z - a @ b, 1),
        (lambda: B[0] + T.dot(A, B), lambda: b[0] + a @ b, 0),
        (lambda: (Z + T.dot(A, B)) * T.dot(A, B), lambda: (z + a @ b) * (a @ b), 0),
    ],
)
def test_gemm(build, value, gemms):
    f = theano.function([A, B, Z, al, be], build(), mode=FAST, on_unused_input="ignore")
    assert ops(f).count("Gemm") == gemms
    assert "Dot" not in ops(f)
    np.testing.assert_allclose(f(a, b, z, 2.0, -3.0), value())


@pytest.mark.parametrize(
    ("build", "value", "name"),
    [
        (lambda: T.dot(A, B), lambda: a @ b, "Dot22"),
        (lambda: al * T.dot(A, B), lambda: 2 * a @ b, "Dot22Scalar"),
        (lambda: T.mul(T.dot(A, B), al * Z, Z), lambda: 2 * (a @ b) * z * z, "Dot22Scalar"),
        (lambda: T.dot(A, v), lambda: a @ b[:, 0], "Gemv"),
        (lambda: T.dot(v, A.T), lambda: a @ b[:, 0], "Gemv"),
        (lambda: u + al * T.dot(A, v), lambda: z[:, 0] + 2 * a @ b[:, 0], "Gemv"),
        (lambda: Z + al * T.outer(u, B[0]), lambda: z + 2 * np.outer(z[:, 0], b[0]), "Ger"),
        (lambda: T.outer(u, v), lambda: np.outer(z[:, 0], b[:, 0]), "Ger"),
    ],
)
def test_other_products(build, value, name):
    f = theano.function([A, B, Z, u, v, al], build(), mode=FAST, on_unused_input="ignore")
    if name != "Ger" or "Ger" in ops(f):
        assert name in ops(f), ops(f)
    np.testing.assert_allclose(f(a, b, z, z[:, 0], b[:, 0], 2.0), value())


def test_integers_and_mixed_types_stay_dot():
    i, j = T.lmatrices("i", "j")
    assert "Dot" in ops(theano.function([i, j], T.dot(i, j), mode=FAST))
    f32 = T.fmatrix("f32")
    f = theano.function([f32, B], T.dot(f32, B), mode=FAST)
    assert "Dot" in ops(f)


def test_a_product_that_is_used_twice_is_computed_once():
    d = T.dot(A, B)
    f = theano.function([A, B, Z], [Z + d, d * 2], mode=FAST)
    assert ops(f).count("Dot22") == 1 and "Gemm" not in ops(f)
    for got, wanted in zip(f(a, b, z), [z + a @ b, 2 * a @ b]):
        np.testing.assert_allclose(got, wanted)


def test_updates_of_shared_variables_are_in_place():
    W = theano.shared(z.copy())
    f = theano.function([A, B], [], updates=[(W, W - 0.1 * T.dot(A, B))], mode=FAST)
    (node,) = [node for node in f.maker.fgraph.toposort() if isinstance(node.op, blas.Gemm)]
    assert node.op.inplace
    f(a, b)
    np.testing.assert_allclose(W.get_value(), z - 0.1 * a @ b)


def test_steps_with_weight_decay_are_one_operation():
    w = theano.shared(np.ones((2, 4)))
    f = theano.function([A, B], updates=[(w, w - 0.5 * (w * 0.25 + T.dot(A, B)))])
    assert ops(f) == ["Gemm"]
    f(a, b)
    np.testing.assert_allclose(w.get_value(), 1 - 0.125 - 0.5 * a @ b)


@pytest.mark.parametrize("build", [lambda: (Z, Z), lambda: (A, Z.T), lambda: (Z[::-1], A), lambda: (Z, A)])
def test_what_is_overwritten_is_no_factor(build):
    with pytest.raises(blas.InconsistencyError, match="aliased"):
        blas.gemm_inplace(Z, 1.0, *build(), 1.0)
    assert blas.InconsistencyError is theano.gof.fg.InconsistencyError
    f = theano.function([theano.In(Z, mutable=True), A], Z + T.dot(*build()), mode=FAST, on_unused_input="ignore")
    plain = theano.function([Z, A], Z + T.dot(*build()), mode="FAST_COMPILE", on_unused_input="ignore")
    square = np.arange(4.0).reshape(2, 2)
    np.testing.assert_allclose(f(square.copy(), square), plain(square, square))


def test_a_rewrite_of_products_outside_of_a_graph():
    product = al * blas._dot22(A, B) * Z
    assert blas.local_dot22_to_dot22scalar.transform(T.mul(blas._dot22(A, B), al.dimshuffle("x", "x"), Z).owner)
    f = theano.function([A, B, Z, al], product, mode=FAST)
    np.testing.assert_allclose(f(a, b, z, 2.0), 2 * (a @ b) * z)


def test_names():
    assert str(blas.gemv_inplace) == "Gemv{inplace}" and str(blas.gemm_no_inplace) == "Gemm{no_inplace}"
    assert str(blas.ger_destructive) == "Ger{destructive}" and str(blas.ger) == "Ger{non-destructive}"
    assert blas.Gemm(True) == blas.gemm_inplace and blas.Gemm(True) != blas.Gemm(False)
    assert blas.local_dot_to_dot22 and blas.GemmOptimizer and blas.blas_optdb


def test_errors():
    with pytest.raises(TypeError):
        blas.gemm_no_inplace(Z, al, u, B, be)
    with pytest.raises(TypeError):
        blas.gemm_no_inplace(Z, al, T.fmatrix(), B, be)
    with pytest.raises(blas.InconsistencyError):
        blas.gemm_inplace(Z, al, Z, B, be)
    one = T.constant(np.float64(1))
    f = theano.function([Z, A, B], blas.gemm_no_inplace(Z, one, A, B, one), mode=theano.Mode("py", None))
    with pytest.raises(ValueError):
        f(z, a, b[:2])


def test_batched_dot():
    p, q = T.dtensor3s("p", "q")
    pv, qv = rng.rand(5, 2, 3), rng.rand(5, 3, 4)
    f = theano.function([p, q], [T.batched_dot(p, q), *T.grad((T.batched_dot(p, q) ** 2).sum(), [p, q])], mode=FAST)
    out, gp, gq = f(pv, qv)
    np.testing.assert_allclose(out, pv @ qv)
    np.testing.assert_allclose(gp, 2 * (pv @ qv) @ qv.transpose(0, 2, 1))
    np.testing.assert_allclose(gq, 2 * pv.transpose(0, 2, 1) @ (pv @ qv))


@pytest.mark.parametrize("op", [blas._dot22, blas._batched_dot])
def test_gradients(op):
    points = [rng.rand(2, 3), rng.rand(3, 4)] if op is blas._dot22 else [rng.rand(2, 3, 2), rng.rand(2, 2, 3)]
    T.verify_grad(op, points, rng=rng, mode=theano.Mode("py", None))


def test_gradients_of_scaled_products():
    T.verify_grad(
        lambda s, p, q, t, w: blas.gemm_no_inplace(s, p, q, t, w),
        [z, np.array(2.0), a, b, np.array(3.0)],
        rng=rng,
        mode=theano.Mode("py", None),
    )
    T.verify_grad(
        lambda s, p, q, t, w: blas.gemv_no_inplace(s, p, q, t, w),
        [z[:, 0].copy(), np.array(2.0), a, b[:, 0].copy(), np.array(3.0)],
        rng=rng,
        mode=theano.Mode("py", None),
    )
    T.verify_grad(
        lambda s, p, q, t: blas.ger(s, p, q, t),
        [z, np.array(2.0), a[:, 0].copy(), b[0].copy()],
        rng=rng,
        mode=theano.Mode("py", None),
    )


def test_weights_of_deep_networks_are_not_updated_in_place():
    # In place they would keep the gradients of all layers in memory until the end of the call.
    def step(layers):
        params = [theano.shared(np.full((2, 2), 0.3)) for _ in range(layers)]
        h = x = T.dmatrix()
        for w in params:
            h = T.tanh(T.dot(h, w))
        grads = theano.grad(h.sum(), params)
        f = theano.function([x], h, updates=[(w, w - 0.1 * g) for w, g in zip(params, grads, strict=True)])
        updating = [n for n in f.maker.fgraph.apply_nodes if isinstance(n.op, T.blas.Gemm) and n.inputs[0].owner is None]
        return f, params, grads, x, updating

    f, params, grads, x, updating = step(3)
    assert len(updating) == 3
    assert all(node.op.inplace for node in updating)
    f, params, grads, x, updating = step(20)
    assert len(updating) == 20
    assert not any(node.op.inplace for node in updating)
    wanted = [w.get_value() - 0.1 * g for w, g in zip(params, theano.function([x], grads)([[1.0, -1.0]]), strict=True)]
    f([[1.0, -1.0]])
    for w, value in zip(params, wanted, strict=True):
        np.testing.assert_allclose(w.get_value(), value, rtol=1e-12)


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_products_that_are_repeated_are_added_by_the_sum(mode):
    row, col, one = u.dimshuffle("x", 0), v.dimshuffle(0, "x"), T.dot(u.dimshuffle("x", 0), u.dimshuffle(0, "x"))
    cases = [
        (A + T.dot(row, B), lambda a, b, u, v: a + u[None] @ b),
        (A + T.dot(B, col), lambda a, b, u, v: a + b @ v[:, None]),
        (A - 2 * T.dot(row, B) + T.dot(A, B), lambda a, b, u, v: a - 2 * u[None] @ b + a @ b),
        (A + one, lambda a, b, u, v: a + u @ u),
        (A / 2 - T.dot(col.T, col), lambda a, b, u, v: a / 2 - v @ v),
        (v + T.dot(row, B) + A, lambda a, b, u, v: v + u[None] @ b + a),
        (T.grad((T.dot(row, B) + A).sum() * 2, A), lambda a, b, u, v: np.full(a.shape, 2.0)),
    ]
    f = theano.function([A, B, u, v], [case for case, _ in cases], mode=mode, on_unused_input="ignore")
    a, b, p, q = rng.rand(3, 3), rng.rand(3, 3), rng.rand(3), rng.rand(3)
    for got, (_, expected) in zip(f(a, b, p, q), cases, strict=True):
        np.testing.assert_allclose(got, expected(a, b, p, q))
