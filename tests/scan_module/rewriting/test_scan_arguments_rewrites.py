"""Constants, unused, dead and doubled arguments of loops; the simplification of the step."""

import numpy as np
from loop_tools import compile_checked, loops, numbers, steps

import theano
import theano.tensor as T
from theano.scan_module import scan_opt

x, y = T.dvectors("x", "y")
h0 = T.dscalar("h0")


def rewritten(rewrite, outputs):
    """Apply one rewrite to the loops of a graph; return the loops that are left."""
    inputs = [v for v in theano.gof.graph.inputs(outputs) if not isinstance(v, theano.Constant)]
    fgraph = theano.gof.FunctionGraph(inputs, outputs)
    theano.gof.MergeOptimizer().optimize(fgraph)
    theano.gof.opt.in2out(rewrite, ignore_newtrees=True).optimize(fgraph)
    return [node for node in fgraph.toposort() if type(node.op).__name__ == "Scan"]


def test_constant_argument_moves_in():
    k = T.dscalar("k")
    h, _ = theano.scan(lambda a, h, k: T.tanh(a + h) * k, x, h0, [k])
    assert len(h.owner.inputs[0].owner.op.outer_non_seqs(h.owner.inputs[0].owner)) == 1
    h = theano.clone(h, replace={k: T.constant(3.0, dtype="float64")})
    (node,) = rewritten(scan_opt.remove_constants_and_unused_inputs_scan, [h])
    assert not node.op.outer_non_seqs(node)
    compile_checked([x, h0], h, [numbers(4), 0.5])


def test_sequence_of_equal_rows_moves_in():
    h, _ = theano.scan(lambda a, k, h: T.tanh(a + h) * k, [x, T.ones_like(x)], h0)
    f = compile_checked([x, h0], h, [numbers(4), 0.5])
    (node,) = loops(f)
    assert node.op.n_seqs == 1 and "Alloc" not in steps(f)


def test_unused_and_doubled_arguments_go():
    h, _ = theano.scan(lambda a, b, c, h, k: T.tanh(a + b + h), [x, x, y], h0, [y])
    (node,) = rewritten(scan_opt.remove_constants_and_unused_inputs_scan, [h])
    assert node.op.n_seqs in (1, 2) and not node.op.outer_non_seqs(node)
    (node,) = loops(compile_checked([x, y, h0], h, [numbers(4), numbers(4, seed=1), 0.5]))
    assert node.op.n_seqs == 1


def test_dead_outputs_go_with_what_only_they_need():
    (h, g, out), _ = theano.scan(lambda a, b, h, g: [T.tanh(a + h), T.tanh(b * g), g + 1], [x, y], [h0, h0, None])
    (node,) = rewritten(scan_opt.scan_remove_dead_outputs, [h])
    assert (node.op.n_seqs, node.op.n_sit_sot, node.op.n_nit_sot) == (1, 1, 0)
    compile_checked([x, y, h0], h, [numbers(4), numbers(4), 0.5])


def test_state_that_another_one_needs_stays():
    (h, g), _ = theano.scan(lambda a, h, g: [T.tanh(a + h), T.tanh(h * g)], x, [h0, h0])
    (node,) = rewritten(scan_opt.scan_remove_dead_outputs, [g])
    assert node.op.n_sit_sot == 2


def test_states_that_do_the_same_become_one():
    (h, g), _ = theano.scan(lambda a, h, g: [T.tanh(a * g + h), T.tanh(a * h + g)], x, [h0, h0])
    (node,) = rewritten(scan_opt.scan_merge_inouts, [h, g])
    assert node.op.n_sit_sot == 1
    compile_checked([x, h0], [h, g], [numbers(4), 0.5])


def test_states_that_differ_stay():
    h1 = T.dscalar("h1")
    (h, g), _ = theano.scan(lambda a, h, g: [T.tanh(a + h), T.tanh(a + g)], x, [h0, h1])
    (node,) = loops(compile_checked([x, h0, h1], [h, g], [numbers(4), 0.5, 0.25]))
    assert node.op.n_sit_sot == 2


def test_equal_outputs_become_one():
    (h, a, b), _ = theano.scan(lambda v, h: [T.tanh(v + h), T.exp(h * v), T.exp(h * v)], x, [h0, None, None])
    (node,) = rewritten(scan_opt.scan_merge_inouts, [h, a, b])
    assert node.op.n_nit_sot == 1
    compile_checked([x, h0], [h, a, b], [numbers(4), 0.5])


def test_step_is_simplified():
    h, _ = theano.scan(lambda a, h: T.tanh(a * h / h + h + T.zeros_like(h)), x, h0)
    f = compile_checked([x, h0], h, [numbers(4), 0.5])
    assert steps(f) == ["Elemwise", "Elemwise"]


def test_loop_in_a_loop_is_rewritten_too():
    def outer(a, h):
        g, _ = theano.scan(lambda v, g, k: T.tanh(v + g) * T.exp(k), y, h, [a])
        return g[-1]

    h, _ = theano.scan(outer, x, h0)
    f = compile_checked([x, y, h0], h, [numbers(3), numbers(4), 0.5])
    (node,) = loops(f)
    inner = [n.op for n in theano.gof.graph.io_toposort(node.op.inputs, node.op.outputs) if type(n.op).__name__ == "Scan"]
    names = [n.op for n in theano.gof.graph.io_toposort(inner[0].inputs, inner[0].outputs)]
    assert len(inner) == 1 and not any(getattr(op, "scalar_op", None) == T.exp.scalar_op for op in names)


def test_excluded_by_name():
    h, _ = theano.scan(lambda a, h, k: T.tanh(a + h + T.exp(k)), x, h0, [h0])
    f = compile_checked([x, h0], h, [numbers(4), 0.5], excluding=("scanOp_pushout_nonseqs_ops", "scanOp_pushout_seqs_ops"))
    (node,) = loops(f)
    nodes = theano.gof.graph.io_toposort(node.op.inputs, node.op.outputs)
    assert any(getattr(n.op, "scalar_op", None) == T.exp.scalar_op for n in nodes)
    assert np.isfinite(f(numbers(2), 0.0)[0]).all()
