"""Products as trees, and other functions of expressions that `nnet.sigm` and `nnet.nnet` document."""

import numpy as np
import pytest

import theano
from tests.tensor.helpers import evaluate
from theano import tensor as T
from theano.gof.graph import is_same_graph
from theano.tensor.nnet import nnet, sigm
from theano.tensor.nnet import sigmoid as s
from theano.tensor.nnet.sigm import compute_mul, parse_mul_tree, perform_sigm_times_exp, simplify_mul

x, y, z = T.vectors("x", "y", "z")


def test_trees():
    assert parse_mul_tree(-(x * y)) == [True, [[False, x], [False, y]]]
    assert parse_mul_tree((x * y) * -z) == [False, [[False, [[False, x], [False, y]]], [True, z]]]
    assert is_same_graph(compute_mul(parse_mul_tree((x * y) * -z)), (x * y) * -z)
    assert simplify_mul([True, [[True, None], [False, [[True, x]]]]]) == [True, x]
    assert simplify_mul([True, [[False, None]]]) == [True, 1.0]


@pytest.mark.parametrize(
    "before, after",
    [
        (s(x) * T.exp(-x), s(-x)),
        (T.exp(-x) * -T.exp(-x) * (-s(x) * -s(x)), -s(-x) * s(-x)),
        (-T.exp(x) * -s(-x) * -T.exp(-x), -s(-x)),
        (s(x) * T.exp(x), s(x) * T.exp(x)),
        (y * (T.exp(z) * -s(-z)), y * -s(z)),
    ],
)
def test_sigmoids_times_exponentials(before, after):
    tree = parse_mul_tree(before)
    assert perform_sigm_times_exp(tree) == (before is not after and not is_same_graph(before, after))
    assert is_same_graph(compute_mul(simplify_mul(tree)), compute_mul(parse_mul_tree(after)))


def test_patterns():
    assert sigm.is_1pexp(T.exp(x) + 1, False) == (False, x)
    assert all(sigm.is_1pexp(v, False) is None for v in (1 - T.exp(x), 2 + T.exp(x), 1 + 2 * T.exp(x), x))
    assert sigm.is_exp(-T.exp(x)) == (True, x) and sigm.is_exp(x) is None
    found, rest, negative = sigm.partition_num_or_denom(T.mul(-T.exp(x), y, T.exp(z)), sigm.is_exp)
    assert (found, rest, negative) == ([x, z], [y], True)
    m = T.matrix()
    numerators, denominators = nnet.softmax_simplifier([y, e := T.exp(m)], [T.sum(e, axis=1, keepdims=True), z])
    assert denominators == [z] and numerators[0] is y and isinstance(numerators[1].owner.op, nnet.Softmax)


def test_softsign_of_numbers():
    op = T.Elemwise(nnet.scalar_softsign)
    values = np.array([-3.0, 0.0, 0.5])
    for mode in ("FAST_COMPILE", None):
        np.testing.assert_allclose(evaluate(op, values, mode=mode), values / (1 + abs(values)))
    theano.gradient.verify_grad(op, [values + 0.1], rng=np.random.RandomState(0))
