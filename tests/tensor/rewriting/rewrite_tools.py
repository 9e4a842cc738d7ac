"""Apply one rewrite to a small graph and look at what it did."""

import numpy as np

import theano
import theano.tensor as T
from theano.gof import FunctionGraph
from theano.gof.graph import clone
from theano.gof.opt import EquilibriumOptimizer, check_stack_trace
from theano.scan_module.scan_utils import equal_computations
from theano.tensor.opt import ShapeFeature

PLAIN = theano.Mode("py", None)


def rewrite(lopt, inputs, output, prepare=None):
    """The graph of `output` (one or a list) after `lopt` (one or a list) has been applied to its end, as a FunctionGraph.

    `prepare` changes the FunctionGraph before that.
    """
    fgraph = FunctionGraph(list(inputs), output if isinstance(output, list) else [output], clone=True)
    fgraph.attach_feature(ShapeFeature())
    if prepare is not None:
        prepare(fgraph)
    opts = lopt if isinstance(lopt, list) else [lopt]
    EquilibriumOptimizer(opts, max_use_ratio=20, ignore_newtrees=False).optimize(fgraph)
    return fgraph


def names(fgraph):
    """The Ops of a graph in order: names of scalar operations (just Composite for long ones), classes of others."""
    result = []
    for node in fgraph.toposort():
        scalar_op = getattr(node.op, "scalar_op", None)
        if isinstance(node.op, T.Elemwise):
            name = getattr(scalar_op, "name", None) or type(scalar_op).__name__
            result.append("Composite" if " " in name else name)
        else:
            result.append(type(node.op).__name__)
    return result


def compute(inputs, outputs, values, mode=PLAIN):
    f = theano.function(list(inputs), outputs, mode=mode, on_unused_input="ignore")
    with np.errstate(all="ignore"):
        return f(*values)


def in_float32(inputs, output):
    """The same graph for float32 inputs: constants and inputs of float64 change their dtype, and so do sums of them."""
    memo = {v: v.type.clone(dtype="float32")(v.name) if is_float64(v) else v for v in inputs}
    for node in theano.gof.graph.io_toposort(inputs, [output]):
        for i in node.inputs:
            if i not in memo and isinstance(i, theano.Constant) and is_float64(i):
                memo[i] = T.constant(np.asarray(i.data, "float32"))
        op, args = node.op, [memo.get(i, i) for i in node.inputs]
        if isinstance(op, T.Sum | T.elemwise.Prod) and op.dtype == "float64" and is_float64(node.inputs[0]):
            op = with_dtype(op, "float32")
        for old, new in zip(node.outputs, op.make_node(*args).outputs, strict=True):
            memo[old] = new
    return [memo[v] for v in inputs], memo.get(output, output)


def with_dtype(op, dtype):
    """A Sum or Prod whose result is of another dtype."""
    options = {"no_zeros_in_input": op.no_zeros_in_input} if isinstance(op, T.elemwise.Prod) else {}
    return type(op)(op.axis, dtype=dtype, acc_dtype=op.acc_dtype, **options)


def is_float64(v):
    return getattr(v.type, "dtype", None) == "float64"


def is_float(v):
    return getattr(v.type, "dtype", "").startswith("float")


def same_graph(a, b):
    """Whether two FunctionGraphs of the same inputs compute their outputs in the same way."""
    return equal_computations(a.outputs, b.outputs, a.inputs, b.inputs)


def gradients(inputs, output):
    """The gradients of the sum of `output` with respect to all float inputs."""
    wrt = [v for v in inputs if getattr(v.type, "dtype", "").startswith("float")]
    if not wrt or not output.type.dtype.startswith("float"):
        return []
    return T.grad(output.sum(), wrt, disconnected_inputs="ignore")


def check_fires(lopts, companions, inputs, output, after, prepare=None):
    """`lopts` and their `companions` turn the graph into the Ops `after`, the companions alone do not.

    The output keeps its type, and its stack trace goes to what takes its place. Returns the graphs of the companions
    alone and of all.
    """
    before = rewrite(companions, inputs, output, prepare)
    with theano.config.change_flags(**{"traceback.limit": 0}):
        fgraph = rewrite([*companions, *lopts], inputs, output, prepare)
    assert sorted(names(fgraph)) == sorted(after)
    assert fgraph.outputs[0].type == output.type
    assert not same_graph(fgraph, before)
    if fgraph.outputs[0].owner is not None:
        assert check_stack_trace(fgraph, "last")
    return before, fgraph


def check_values(lopts, companions, inputs, output, values, rtol, gradient=True, prepare=None):
    """`lopts` fire and change neither the value nor the gradients, be they taken before or after.

    `gradient` is False where the graph has none, and 'before' where what it becomes has none or another one.
    """
    lopts = [*companions, *lopts]
    fgraph = rewrite(lopts, inputs, output, prepare)
    assert not same_graph(fgraph, rewrite(companions, inputs, output, prepare))
    outputs = [output, *(gradients(inputs, output) if gradient else ())]
    assert (len(outputs) > 1) == bool(gradient and is_float(output) and any(map(is_float, inputs)))
    wanted = computed(inputs, outputs, values)
    if prepare is None:
        together = rewrite(lopts, inputs, outputs)
        assert_close(computed(together.inputs, together.outputs, values), wanted, rtol)
    ins, (out,) = clone(fgraph.inputs, fgraph.outputs)
    slopes = gradients(ins, out) if gradient is True else []
    assert_close(computed(ins, [out, *slopes], values), wanted if slopes else wanted[:1], rtol)


def computed(inputs, outputs, values):
    """The values of a graph that is not compiled itself."""
    return compute(*clone(inputs, outputs), values)


def assert_close(results, wanted, rtol):
    for a, b in zip(results, wanted, strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * 1e-2)


def check_values_in_float32(lopts, companions, inputs, output, values, rtol, gradient=True, prepare=None):
    """The same of the graph for float32."""
    inputs, output = in_float32(inputs, output)
    values = [np.asarray(v, "float32") if np.asarray(v).dtype == "float64" else v for v in values]
    check_values(lopts, companions, inputs, output, values, rtol, gradient, prepare)
