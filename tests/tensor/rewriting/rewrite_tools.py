"""Apply one rewrite to a small graph and look at what it did."""

import numpy as np

import theano
import theano.tensor as T
from theano.gof import FunctionGraph
from theano.gof.opt import EquilibriumOptimizer
from theano.tensor.opt import ShapeFeature

PLAIN = theano.Mode("py", None)


def rewrite(lopt, inputs, output):
    """The graph of `output` after `lopt` (one or a list) has been applied to its end, as a FunctionGraph."""
    fgraph = FunctionGraph(list(inputs), [output], clone=True)
    fgraph.attach_feature(ShapeFeature())
    opts = lopt if isinstance(lopt, list) else [lopt]
    EquilibriumOptimizer(opts, max_use_ratio=20, ignore_newtrees=False).optimize(fgraph)
    return fgraph


def names(fgraph):
    """The Ops of a graph in order: names of scalar operations, classes of others."""
    result = []
    for node in fgraph.toposort():
        scalar_op = getattr(node.op, "scalar_op", None)
        if isinstance(node.op, T.Elemwise):
            result.append(getattr(scalar_op, "name", None) or type(scalar_op).__name__)
        else:
            result.append(type(node.op).__name__)
    return result


def compute(inputs, outputs, values, mode=PLAIN):
    f = theano.function(list(inputs), outputs, mode=mode, on_unused_input="ignore")
    with np.errstate(all="ignore"):
        return f(*values)


def check(lopt, inputs, output, values, expected, rtol=1e-10):
    """`lopt` turns the graph into the Ops `expected`, and the value stays the same."""
    fgraph = rewrite(lopt, inputs, output)
    assert names(fgraph) == expected, names(fgraph)
    assert fgraph.outputs[0].type == output.type
    before = compute(inputs, output, values)
    after = compute(fgraph.inputs, fgraph.outputs[0], values)
    np.testing.assert_allclose(after, before, rtol=rtol)
    return fgraph


def unchanged(lopt, inputs, output):
    """`lopt` leaves the graph as it is."""
    fgraph = FunctionGraph(list(inputs), [output], clone=True)
    before = names(fgraph)
    assert names(rewrite(lopt, inputs, output)) == before
