"""Apply one rewrite to a small graph and look at what it did."""

import numpy as np

import theano
import theano.tensor as T
from theano.gof import FunctionGraph
from theano.gof.graph import clone
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


def in_float32(inputs, output):
    """The same graph for float32 inputs: constants and inputs of float64 change their dtype, the Ops stay."""
    memo = {v: v.type.clone(dtype="float32")(v.name) if is_float64(v) else v for v in inputs}
    for node in theano.gof.graph.io_toposort(inputs, [output]):
        args = []
        for i in node.inputs:
            if isinstance(i, theano.Constant) and is_float64(i):
                args.append(T.constant(np.asarray(i.data, "float32")))
            else:
                args.append(memo.get(i, i))
        for old, new in zip(node.outputs, node.op.make_node(*args).outputs, strict=True):
            memo[old] = new
    return [memo[v] for v in inputs], memo.get(output, output)


def is_float64(v):
    return getattr(v.type, "dtype", None) == "float64"


def gradients(inputs, output):
    """The gradients of the sum of `output` with respect to all float inputs."""
    wrt = [v for v in inputs if getattr(v.type, "dtype", "").startswith("float")]
    if not wrt or not output.type.dtype.startswith("float"):
        return []
    return T.grad(output.sum(), wrt, disconnected_inputs="ignore")


def check(lopt, inputs, output, values, expected, rtol=1e-10, gradient=True):
    """`lopt` turns the graph into the Ops `expected`, and value and gradient stay the same, also in float32.

    What takes the place of the output keeps the output's stack trace.
    """
    with theano.configparser.change_flags(**{"traceback.limit": 0}):
        fgraph = rewrite(lopt, inputs, output)
    assert names(fgraph) == expected, names(fgraph)
    assert fgraph.outputs[0].type == output.type
    if output.owner is not None and fgraph.outputs[0].owner is not None:
        assert theano.gof.opt.check_stack_trace(fgraph, "last")
    before = compute(inputs, output, values)
    after = compute(fgraph.inputs, fgraph.outputs[0], values)
    np.testing.assert_allclose(after, before, rtol=rtol)
    check_gradient_and_float32(lopt, inputs, output, values, rtol, gradient)
    return fgraph


def check_gradient_and_float32(lopt, inputs, output, values, rtol, gradient):
    """Compare value and gradient of the rewritten graph with those of the graph, in float64 and float32."""
    for dtype, tolerance in (("float64", max(rtol, 1e-8)), ("float32", max(rtol, 2e-4))):
        if dtype == "float32":
            if not any(is_float64(v) for v in inputs):
                return
            inputs, output = in_float32(inputs, output)
            values = [np.asarray(v, "float32") if np.asarray(v).dtype == "float64" else v for v in values]
        fgraph = rewrite(lopt, inputs, output)
        assert fgraph.outputs[0].type == output.type
        # What reductions become last has no gradient.
        gradient = gradient and not any(type(node.op) is T.CAReduce for node in fgraph.apply_nodes)
        results = []
        for ins, out in ((inputs, output), (fgraph.inputs, fgraph.outputs[0])):
            ins, out = clone(ins, [out])
            results.append(compute(ins, [*out, *(gradients(ins, out[0]) if gradient else ())], values))
        for a, b in zip(*results, strict=True):
            np.testing.assert_allclose(np.asarray(b, "float64"), np.asarray(a, "float64"), rtol=tolerance, atol=tolerance * 1e-2)


def unchanged(lopt, inputs, output):
    """`lopt` leaves the graph as it is."""
    fgraph = FunctionGraph(list(inputs), [output], clone=True)
    before = names(fgraph)
    assert names(rewrite(lopt, inputs, output)) == before
