"""Rewrites of systems, inverses and determinants of matrices, with and without hints about them, by their names."""

import pytest
from by_name import DTYPES, FAST, ByName, ByNameTests, Given, check_fires, compile_given, count, kinds, ops

import theano.tensor as T
from theano.sandbox.linalg.ops import Cholesky, Det, Hint, HintsFeature, Solve, psd
from theano.tensor.nlinalg import MatrixInverse, det, matrix_inverse
from theano.tensor.slinalg import cholesky, solve


def structures(f):
    return [op.A_structure for op in ops(f) if isinstance(op, Solve)]


def transposes(f):
    return sum(getattr(op, "new_order", None) == (1, 0) for op in ops(f))


def transpose_is_inverted(f):
    (inverse,) = [node for node in f.maker.fgraph.apply_nodes if isinstance(node.op, MatrixInverse)]
    return inverse.inputs[0].owner is not None


CASES = [
    ByName(
        "remove_hint_nodes",
        lambda g: psd(g.z) * 2,
        lambda g: T.Rebroadcast((0, False))(g.z) * 2,
        count(Hint),
        (1, 0),
    ),
    ByName(
        "no_transpose_symmetric",
        lambda g: T.exp(psd(g.z).T) * g.u,
        lambda g: T.exp(g.z.T) * g.u,
        transposes,
        (1, 0),
    ),
    ByName(
        "transinv_to_invtrans",
        lambda g: T.exp(matrix_inverse(g.z).T),
        lambda g: T.exp(matrix_inverse(g.z).dimshuffle(1, "x", 0)),
        transpose_is_inverted,
        (False, True),
    ),
    ByName(
        "psd_solve_with_chol",
        lambda g: solve(psd(g.z), g.u),
        lambda g: solve(g.z, g.u),
        count(Cholesky),
        (0, 1),
    ),
    ByName(
        "tag_solve_triangular",
        lambda g: solve(cholesky(g.z), g.u),
        lambda g: solve(T.exp(cholesky(g.z)), g.u),
        structures,
        (["general"], ["lower_triangular"]),
    ),
    ByName(
        "local_det_chol",
        lambda g: [cholesky(g.z), det(g.z)],
        lambda g: [cholesky(g.z), det(g.z * 2)],
        count(Det),
        (1, 0),
    ),
    ByName(
        "inv_as_solve",
        lambda g: [T.dot(matrix_inverse(g.z), g.u), T.dot(g.u, matrix_inverse(g.z * 2))],
        lambda g: [matrix_inverse(g.z) * g.u, T.dot(g.b, matrix_inverse(g.z))],
        lambda f: (count(Solve)(f), count(MatrixInverse)(f)),
        ((0, 2), (2, 0)),
    ),
]


class TestMatrices(ByNameTests):
    cases = CASES


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_hints_say_is_remembered_by_the_graph(dtype):
    g = Given(dtype)
    out = solve(psd(g.z), g.u)
    f, without = (compile_given(g, out, mode) for mode in (FAST, FAST.excluding("HintsOpt")))
    features = [any(isinstance(feature, HintsFeature) for feature in h.maker.fgraph._features) for h in (f, without)]
    assert features == [True, False]
    # What nothing remembers when the hint has gone is not made use of.
    assert ["Cholesky" in kinds(h) for h in (f, without)] == [True, False]
    check_fires(ByName("HintsOpt", lambda g: solve(psd(g.z), g.u), None, count(Cholesky), (0, 1)), dtype)
