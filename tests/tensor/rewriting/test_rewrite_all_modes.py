"""Random expressions have the same value with all rewrites as without any.

With the environment variable ``THEANO_NIGHTLY=1`` more of them, and with more optimizers.
"""

import os
import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import theano
import theano.tensor as T

NIGHTLY = bool(os.environ.get("THEANO_NIGHTLY"))
OPTIMIZERS = ("fast_run", "fast_compile", "stabilize") + (("o2", "o3", "unsafe", "merge") if NIGHTLY else ())

UNARY = [
    T.exp,
    T.neg,
    T.sqr,
    T.tanh,
    T.abs_,
    T.sgn,
    T.zeros_like,
    T.ones_like,
    T.nnet.sigmoid,
    T.nnet.softplus,
    lambda a: T.log(T.abs_(a) + 1),
    lambda a: T.sqrt(T.abs_(a)),
    lambda a: 1 - a,
    lambda a: a * 2,
    lambda a: a / 3.0,
    lambda a: a * 0,
    lambda a: a**2,
    lambda a: a**0,
    lambda a: T.log(1 + T.exp(a)),
    lambda a: T.exp(a) - 1,
    lambda a: T.switch(a > 0, a, 0),
    lambda a: T.clip(a, -1, 1),
    lambda a: T.cast(a, "float32"),
    lambda a: T.inv(a + 100),
]
BINARY = [
    T.add,
    T.sub,
    T.mul,
    T.maximum,
    T.minimum,
    T.fill,
    lambda a, b: a / (b + 200),
    lambda a, b: (a + b) - a,
    lambda a, b: T.switch(a > b, a, b),
    lambda a, b: T.log(T.exp(a) + T.exp(b)),
    lambda a, b: a * b / (b + 300) * b,
]
MATRIX = [
    lambda a: a.T,
    lambda a: a[1:],
    lambda a: a[::-1],
    lambda a: a[:, 1:2],
    lambda a: a[0],
    lambda a: a.sum(axis=0),
    lambda a: a.sum(axis=1, keepdims=True),
    lambda a: a.max(axis=0),
    lambda a: a.mean(axis=1),
    lambda a: a.flatten(),
    lambda a: a.reshape((a.shape[1], a.shape[0])),
    lambda a: T.concatenate([a, a * 2], axis=0),
    lambda a: T.dot(a, a.T),
    lambda a: T.set_subtensor(a[0], 1),
    lambda a: T.inc_subtensor(a[:, 0], a[:, 1]),
    lambda a: a[1:][:-1],
    lambda a: T.alloc(1.0, a.shape[0], a.shape[1]) * a,
    lambda a: T.dot(a, a.T) * 2 + a.sum(),
    lambda a: a.prod(axis=0),
]


def expression(rng, inputs, depth):
    if depth == 0:
        return rng.choice(inputs)
    kind = rng.random()
    if kind < 0.4:
        return rng.choice(UNARY)(expression(rng, inputs, depth - 1))
    if kind < 0.7:
        return rng.choice(BINARY)(expression(rng, inputs, depth - 1), expression(rng, inputs, depth - 1))
    inner = expression(rng, inputs, depth - 1)
    return rng.choice(MATRIX if inner.ndim == 2 else UNARY)(inner)


def rounding(inputs, outputs, values):
    """What rounding the largest of the values on the way to `outputs` may cost: rewrites may cancel it, ``e + 1 - e``."""
    steps = [v for v in theano.gof.graph.ancestors(outputs) if v.owner is not None and "float" in getattr(v.type, "dtype", "")]
    found = theano.function(inputs, steps, mode=theano.Mode("py", None), on_unused_input="ignore")(*values)
    finite = [np.abs(np.asarray(v)[np.isfinite(v)]) for v in found]
    return max((4 * np.finfo(v.dtype).eps * float(v.max()) for v in finite if v.size), default=0.0)


@settings(max_examples=2000 if NIGHTLY else 60, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.sampled_from(["float64", "float32", "int32"]))
def test_values_and_gradients_agree(seed, dtype):
    rng, numbers = random.Random(seed), np.random.RandomState(seed)
    inputs = [T.matrix("x", dtype=dtype), T.matrix("y", dtype="float64"), T.row("v", dtype=dtype), T.scalar("s", dtype="float64")]
    values = [np.asarray(numbers.randn(*shape) * 2).astype(i.dtype) for i, shape in zip(inputs, [(4, 3), (4, 3), (1, 3), ()])]
    try:
        out = expression(rng, inputs, rng.randint(1, 4))
        outputs = [out]
        if "float" in out.dtype:
            outputs.append(T.grad(out.sum(), inputs[1], disconnected_inputs="ignore"))
        with np.errstate(all="ignore"):
            plain = theano.function(inputs, outputs, mode=theano.Mode("py", None), on_unused_input="ignore")(*values)
            atol = 1e-3 + rounding(inputs, outputs, values)
    except (TypeError, ValueError, IndexError):
        # Not every combination of shapes and indices makes sense.
        return
    for optimizer in OPTIMIZERS:
        f = theano.function(inputs, outputs, mode=theano.Mode("py", optimizer), on_unused_input="ignore")
        with np.errstate(all="ignore"):
            results = f(*values)
        for result, wanted in zip(results, plain):
            result, wanted = np.asarray(result), np.asarray(wanted)
            assert result.shape == wanted.shape and result.dtype == wanted.dtype
            finite = np.isfinite(wanted)
            np.testing.assert_allclose(result[finite], wanted[finite], rtol=3e-3, atol=atol)
