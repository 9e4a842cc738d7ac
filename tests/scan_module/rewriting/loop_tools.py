"""What the tests of the rewrites of loops share."""

import numpy as np

import theano
from theano.scan_module.scan_op import Scan


def loops(f):
    """The Scan nodes of a compile_checked function."""
    return [node for node in f.maker.fgraph.toposort() if isinstance(node.op, Scan)]


def steps(f):
    """Names of the classes of the Ops in the steps of all loops of a compile_checked function."""
    names = []
    for node in loops(f):
        op = node.op
        names += [type(n.op).__name__ for n in theano.gof.graph.io_toposort(op.inputs, op.outputs)]
    return names


def ops(f):
    """Names of the classes of the Ops outside of the loops."""
    return [type(node.op).__name__ for node in f.maker.fgraph.toposort()]


def compile_checked(inputs, outputs, *values, excluding=(), rtol=1e-9):
    """Compile, and check that the results are those of the loop as it was written."""
    outputs = outputs if isinstance(outputs, list) else [outputs]
    f = theano.function(inputs, outputs, mode=theano.compile.get_default_mode().excluding(*excluding), on_unused_input="ignore")
    plain = theano.function(inputs, outputs, mode=theano.Mode("vm", None), on_unused_input="ignore")
    for given in values:
        for result, expected in zip(f(*given), plain(*given), strict=True):
            assert result.shape == expected.shape and result.dtype == expected.dtype
            np.testing.assert_allclose(result, expected, rtol=rtol, atol=1e-12)
    return f


def numbers(*shape, seed=0):
    """Random numbers of a shape."""
    return np.random.default_rng(seed).normal(size=shape)
