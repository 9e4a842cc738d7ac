"""Rewriting comes to an end: no two rewrites undo each other, and none replaces an expression by itself."""

import os
import random

import numpy as np
import pytest

import theano.tensor as tt
from theano import config
from theano.compile.mode import Mode
from theano.gof import FunctionGraph
from theano.gof.graph import inputs

N_GRAPHS = 2000 if os.environ.get("THEANO_NIGHTLY") else 60
NAMES = ["fast_compile", "o1", "o2", "o3", "fast_run", "unsafe"]

FUNCTIONS = [tt.exp, tt.exp, tt.log, tt.tanh, tt.nnet.sigmoid, tt.sqr, tt.sqrt, tt.neg, tt.inv, tt.expm1, tt.nnet.softplus]
OPERATIONS = [tt.true_div, tt.true_div, tt.add, tt.sub, tt.mul, tt.maximum, tt.pow]
CONSTANTS = [0.5, 1.0, 2.0, -1.0, 3.0, 0.0, 1e-8]


def random_expression(rng, leaves, size):
    pool = list(leaves)
    for _ in range(size):
        kind = rng.random()
        if kind < 0.4:
            new = rng.choice(FUNCTIONS)(rng.choice(pool))
        elif kind < 0.5:
            x = rng.choice(pool)
            new = x.sum(axis=rng.choice([None, 0]), keepdims=rng.random() < 0.5) if x.ndim else tt.exp(x)
        else:
            other = rng.choice(pool) if rng.random() < 0.7 else tt.constant(np.float64(rng.choice(CONSTANTS)))
            pair = [rng.choice(pool[-3:]), other]
            rng.shuffle(pair)
            new = rng.choice(OPERATIONS)(*pair)
        pool.append(new)
    return pool[-1]


def optimizer_of(name):
    return Mode(linker="py", optimizer=name).excluding("inplace").optimizer


def settled(expressions, optimizer):
    graph = FunctionGraph([v for v in inputs(expressions) if not hasattr(v, "data")], expressions, clone=True)
    optimizer.optimize(graph)
    return graph


@pytest.mark.parametrize("name", NAMES)
def test_random_quotients_settle(name):
    optimizer = optimizer_of(name)
    rng = random.Random(name)
    x, s, a = tt.dvector("x"), tt.dvector("s"), tt.dscalar("a")
    with config.change_flags(on_opt_error="raise"):
        for seed in range(N_GRAPHS):
            expression = random_expression(rng, [x, s, a], rng.randrange(3, 9))
            expressions = [expression]
            if seed % 3 == 0:
                expressions += tt.grad(expression.sum(), [x, s, a], disconnected_inputs="ignore")
            assert settled(expressions, optimizer).outputs, seed


X, S = tt.dvectors("xs")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "expression",
    [
        tt.exp(X) / (tt.exp(X) + S),
        tt.exp(X) / (tt.exp(X) + tt.exp(X).sum()),
        tt.exp(X) / (S - tt.exp(X)),
        1 / (tt.exp(X) * S + 1),
        tt.exp(X) / (tt.exp(X) * 3 + S + 1),
        (tt.exp(X) + S) / tt.exp(X),
    ],
    ids=range(6),
)
def test_quotients_with_other_terms_settle(name, expression):
    with config.change_flags(on_opt_error="raise"):
        graph = settled([expression], optimizer_of(name))
    assert len(graph.apply_nodes) <= 8
