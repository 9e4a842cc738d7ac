"""Hints about matrices: what they say, how it follows the rewrites, what it is used for."""

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.sandbox.linalg import ops

A = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])


def nodes(f):
    return [node.op for node in f.maker.fgraph.toposort()]


def test_a_hint_changes_no_value_and_no_gradient():
    x = T.dmatrix("x")
    hinted = ops.psd(x)
    assert ops.is_psd(hinted)
    assert ops.is_symmetric(hinted)
    assert not ops.is_psd(x)
    f = theano.function([x], [hinted * 2, T.grad((hinted**2).sum(), x)])
    assert not any(isinstance(op, ops.Hint) for op in nodes(f))
    value, gradient = f(A)
    np.testing.assert_allclose(value, A * 2)
    np.testing.assert_allclose(gradient, A * 2)
    assert ops.Hint(psd=True, symmetric=True) == ops.Hint(symmetric=True, psd=True)
    assert ops.Hint(psd=True) != ops.Hint(psd=False)


def test_what_takes_the_place_of_a_variable_takes_over_its_hints():
    x, y = T.dmatrix("x"), T.dmatrix("y")
    z = x + y
    fgraph = theano.FunctionGraph([x, y], [T.exp(z)], clone=False)
    ops.HintsOptimizer().optimize(fgraph)
    fgraph.hints_feature.add_hint(z, "symmetric", True)
    new = y + x
    fgraph.replace(z, new)
    assert ops.is_symmetric(new)


def test_a_positive_definite_system_is_solved_by_its_cholesky_factor():
    x, b = T.dmatrices("x", "b")
    f = theano.function([x, b], ops.solve(ops.psd(x), b))
    assert any(isinstance(op, ops.Cholesky) for op in nodes(f))
    assert all(op.A_structure != "general" for op in nodes(f) if isinstance(op, ops.Solve))
    np.testing.assert_allclose(f(A, A[:, :2]), np.eye(3)[:, :2], atol=1e-12)


def test_a_system_with_a_cholesky_factor_is_triangular():
    x, b = T.dmatrices("x", "b")
    for factor, reference in ((ops.cholesky(x), np.linalg.cholesky(A)), (ops.cholesky(x).T, np.linalg.cholesky(A).T)):
        f = theano.function([x, b], ops.solve(factor, b))
        assert [op.A_structure for op in nodes(f) if isinstance(op, ops.Solve)][0].endswith("triangular")
        np.testing.assert_allclose(f(A, A), np.linalg.solve(reference, A), atol=1e-14)


def test_the_determinant_beside_a_cholesky_factor():
    x = T.dmatrix("x")
    f = theano.function([x], [ops.cholesky(x), ops.det(x)])
    assert not any(isinstance(op, ops.Det) for op in nodes(f))
    np.testing.assert_allclose(f(A)[1], np.linalg.det(A))


def test_transposes():
    x = T.dmatrix("x")
    f = theano.function([x], ops.psd(x).T * 2)
    assert not any(isinstance(op, T.DimShuffle) for op in nodes(f) if getattr(op, "new_order", None) == (1, 0))
    np.testing.assert_allclose(f(A), A * 2)
    value = A + np.triu(A)
    np.testing.assert_allclose(theano.function([x], ops.matrix_inverse(x).T)(value), np.linalg.inv(value).T)


def test_bounds_of_the_spectral_radius():
    x = T.dmatrix("x")
    largest = np.abs(np.linalg.eigvalsh(A)).max()
    bounds = [float(ops.spectral_radius_bound(x, n).eval({x: A})) for n in (1, 3, 5)]
    assert bounds == sorted(bounds, reverse=True)
    assert largest <= bounds[-1] < 1.1 * largest
    with pytest.raises(ValueError):
        ops.spectral_radius_bound(x, 0)
    with pytest.raises(TypeError):
        ops.spectral_radius_bound(x, 2.0)
    with pytest.raises(TypeError):
        ops.spectral_radius_bound(T.dvector(), 2)
