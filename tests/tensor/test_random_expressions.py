"""Random expressions of elementwise operations, reductions and views: optimized native code against plain Python."""

import os
import random

import numpy as np
import pytest

import theano
import theano.tensor as T

PYTHON = theano.Mode("py", None)

UNARY = ["exp", "tanh", "sin", "sqr", "abs_", "neg", "sgn", "floor", "ceil", "log1p", "sqrt", "cos", "erf", "arctan", "inv"]
BINARY = ["add", "sub", "mul", "true_div", "maximum", "minimum", "lt", "ge", "eq"]
DTYPES = ["float64", "float64", "float32", "float32", "int32", "int8", "uint16", "int64", "bool"]
SHAPE = (3, 4)
PATTERNS = [(False, False), (True, False), (False, True), (True, True)]


def shape_of(pattern):
    return tuple(1 if b else n for n, b in zip(SHAPE, pattern))


def make(seed):
    """Return inputs, their values and the outputs of a random graph of matrices that broadcast to one shape."""
    rng = random.Random(seed)
    numbers = np.random.default_rng(seed)
    inputs, values = [], []
    for i in range(rng.randint(1, 4)):
        dtype, pattern = rng.choice(DTYPES), rng.choice(PATTERNS)
        inputs.append(T.TensorType(dtype, pattern)(f"x{i}"))
        low = 0 if dtype in ("bool", "uint16") else -3
        value = numbers.integers(low, 2 if dtype == "bool" else 4, shape_of(pattern)).astype(dtype)
        if dtype.startswith("float"):
            value += numbers.random(value.shape).astype(dtype)
        values.append(value)
    pool = list(inputs)
    for _ in range(rng.randint(3, 14)):
        kind = rng.random()
        x, y = rng.choice(pool), rng.choice(pool)
        if kind < 0.35:
            name = rng.choice(UNARY)
            if name in ("sqrt", "log1p"):
                x = abs(T.cast(x, "float64" if x.dtype != "float32" else x.dtype))
            if x.dtype == "bool" and name in ("neg", "abs_", "sqr", "sgn", "floor", "ceil"):
                x = T.cast(x, "int8")
            # Large arguments make exp overflow and sin lose all its digits.
            if x.dtype.startswith("float"):
                x = T.clip(x, np.asarray(-4, x.dtype), np.asarray(4, x.dtype))
            out = getattr(T, name)(x)
        elif kind < 0.7:
            name = rng.choice(BINARY)
            if name == "sub" and x.dtype == y.dtype == "bool":
                continue
            out = getattr(T, name)(x, y)
        elif kind < 0.8:
            out = T.switch(T.gt(x, rng.choice([0, 1])), y, rng.choice([x, 2]))
        elif kind < 0.87:
            out = T.cast(x, rng.choice(["float32", "float64", "int32"])) if x.dtype[0] != "f" else T.cast(x, "float32")
        else:
            # Reduced dimensions come back broadcastable.
            axis = rng.choice([0, 1, (0, 1)])
            function = rng.choice([T.sum, T.max, T.mean, T.min])
            if x.dtype == "bool":
                x = T.cast(x, "int32")
            out = function(x, axis=axis, keepdims=True)
        pool.append(out)
    computed = pool[len(inputs) :] or [pool[-1] + 0]
    # Rewrites turn x / x into 1, also where x is 0: only graphs without NaN and infinities are compared.
    with np.errstate(all="ignore"):
        intermediate = theano.function(inputs, computed, mode=PYTHON, on_unused_input="ignore")(*values)
    if not all(np.isfinite(v).all() for v in intermediate):
        pytest.skip("not finite")
    return inputs, values, computed[-3:]


def tolerance(dtype):
    return {"float32": 2e-4, "float64": 1e-7}.get(dtype, 0)


SEEDS = range(400) if os.environ.get("THEANO_NIGHTLY") else range(12)


@pytest.mark.parametrize("seed", SEEDS)
def test_default_mode_computes_what_python_does(seed):
    inputs, values, outputs = make(seed)
    with np.errstate(all="ignore"):
        slow = theano.function(inputs, outputs, mode=PYTHON, on_unused_input="ignore")(*values)
        fast = theano.function(inputs, outputs, on_unused_input="ignore")(*values)
    for p, q, out in zip(fast, slow, outputs):
        assert p.dtype == q.dtype == out.dtype and p.shape == q.shape
        if out.dtype.startswith("float"):
            # A comparison of two rounded numbers may come out either way: single elements may differ.
            close = np.isclose(p, q, rtol=tolerance(out.dtype), atol=tolerance(out.dtype), equal_nan=True)
            assert close.all(), (theano.pp(out), p, q)
        else:
            assert (p == q).all(), (theano.pp(out), p, q)


@pytest.mark.parametrize("seed", SEEDS)
def test_gradients_agree(seed):
    inputs, values, outputs = make(seed)
    wrt = [x for x in inputs if x.dtype.startswith("float")]
    cost = sum(T.cast(o, "float64").sum() for o in outputs if o.dtype.startswith("float"))
    if not wrt or isinstance(cost, int):
        pytest.skip("nothing to differentiate")
    grads = T.grad(cost, wrt, disconnected_inputs="ignore")
    with np.errstate(all="ignore"):
        slow = theano.function(inputs, grads, mode=PYTHON, on_unused_input="ignore")(*values)
        fast = theano.function(inputs, grads, on_unused_input="ignore")(*values)
    for p, q, x in zip(fast, slow, wrt):
        assert p.shape == q.shape
        finite = np.isfinite(q)
        assert np.isclose(p[finite], q[finite], rtol=1e-3, atol=1e-3).all(), (theano.pp(cost), p, q, x)
