"""What the tests of tensor operations share: running a graph op by op, and comparing values, shapes and dtypes."""

import numpy as np

import theano
from theano import tensor as T

#: Every operation by its Python implementation, in a graph that no rewrite has touched.
PLAIN = theano.Mode("py", None)
#: The same with rewrites.
REWRITTEN = theano.Mode("vm", "fast_run")


def variable_like(value, name=None):
    """Return a variable of the type of an array, without broadcastable dimensions."""
    value = np.asarray(value)
    return T.TensorType(value.dtype.name, (False,) * value.ndim)(name)


def evaluate(build, *values, mode=PLAIN):
    """Return the value of ``build(*variables)`` at `values`."""
    variables = [variable_like(v) for v in values]
    outputs = build(*variables)
    return theano.function(variables, outputs, mode=mode, on_unused_input="ignore")(*values)


def inferred_shape(build, *values):
    """Return the shape of ``build(*variables)`` as shape inference finds it."""
    variables = [variable_like(v) for v in values]
    return tuple(theano.function(variables, build(*variables).shape, mode=REWRITTEN, on_unused_input="ignore")(*values))


def assert_like_numpy(build, reference, *values, shape=True, rtol=1e-7):
    """Compare a graph with a NumPy function: the value, its dtype where both are not bool, and the inferred shape."""
    expected = np.asarray(reference(*values))
    got = evaluate(build, *values)
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=1e-12)
    if shape:
        assert inferred_shape(build, *values) == expected.shape
    return got
