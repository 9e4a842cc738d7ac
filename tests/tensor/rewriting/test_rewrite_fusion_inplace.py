"""Fusion and in-place elementwise operations."""

import contextlib

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano import scalar
from theano.tensor.rewriting.fusion import MAX_NODES, FusionOptimizer, local_add_mul_fusion, local_elemwise_fusion

x, y = T.dvectors("x", "y")
m = T.dmatrix("m")
FAST = theano.Mode("py", "fast_run")
V, W = np.array([0.5, -1.25, 3.0]), np.array([2.0, 4.0, -0.75])


def nodes(f):
    return f.maker.fgraph.toposort()


def test_a_chain_becomes_one_node():
    e = T.exp(x * 2 + y) - T.sin(y) / 3
    f = theano.function([x, y], e, mode=FAST)
    (node,) = nodes(f)
    assert "Composite" in str(node.op)
    np.testing.assert_allclose(f(V, W), np.exp(V * 2 + W) - np.sin(W) / 3)


def test_sums_are_fused_beside_nodes_of_several_outputs():
    values, positions = T.max_and_argmax(m, axis=0)
    fgraph = theano.gof.FunctionGraph([x, m], [values + (x + 1), positions])
    assert FusionOptimizer(local_add_mul_fusion).optimize(fgraph).nb_replacement == 1
    assert len(fgraph.outputs[0].owner.inputs) == 3


def test_excluding_fusion_keeps_the_nodes():
    f = theano.function([x, y], T.exp(x * 2 + y) - T.sin(y) / 3, mode=FAST.excluding("fusion"))
    assert len(nodes(f)) > 3


def test_what_is_used_twice_is_computed_once():
    e = T.exp(x)
    f = theano.function([x], [e * 2, T.sin(e) + 1], mode=FAST)
    assert sum("exp" in str(node.op) for node in nodes(f)) == 1
    np.testing.assert_allclose(f(V)[1], np.sin(np.exp(V)) + 1)


def test_a_diamond_is_fused():
    e = T.exp(x)
    f = theano.function([x], T.sin(e) * T.cos(e), mode=FAST)
    assert len(nodes(f)) == 1
    np.testing.assert_allclose(f(V), np.sin(np.exp(V)) * np.cos(np.exp(V)))


def test_what_broadcasts_is_not_computed_again_for_each_row():
    f = theano.function([m, x], T.exp(x) * m, mode=FAST)
    assert len([node for node in nodes(f) if isinstance(node.op, T.Elemwise)]) == 2


@pytest.mark.parametrize("length", [10, 200])
def test_composites_have_a_bounded_size(length):
    e = x
    for _ in range(length):
        e = T.sin(e) + y
    f = theano.function([x, y], e, mode=FAST)
    composites = [node.op.scalar_op for node in nodes(f) if "Composite" in str(node.op)]
    assert composites and all(len(c.nodes) <= MAX_NODES for c in composites)
    wanted = V
    for _ in range(length):
        wanted = np.sin(wanted) + W
    np.testing.assert_allclose(f(V, W), wanted)


def test_many_inputs_are_split():
    variables = T.dvectors(40)
    f = theano.function(variables, T.exp(sum(T.sin(v) for v in variables)), mode=FAST)
    assert all(len(node.inputs) + len(node.outputs) <= 33 for node in nodes(f))
    values = [V * k / 40 for k in range(40)]
    np.testing.assert_allclose(f(*values), np.exp(sum(np.sin(v) for v in values)))


def test_an_intermediate_result_is_written_over():
    f = theano.function([m], T.exp(T.dot(m, m)), mode=FAST)
    (node,) = [node for node in nodes(f) if isinstance(node.op, T.Elemwise)]
    assert node.op.inplace_pattern == {0: 0}
    assert str(node.op) == "Elemwise{Exp}[(0, 0)]" or "[(0, 0)]" in str(node.op)


def test_inputs_outputs_and_later_uses_are_protected():
    d = T.dot(m, m)
    f = theano.function([m], [T.exp(m), T.exp(d), d, T.sin(d.T)], mode=FAST)
    value = np.array([[0.1, 0.2], [0.3, 0.4]])
    results = f(value)
    product = value.dot(value)
    for result, wanted in zip(results, [np.exp(value), np.exp(product), product, np.sin(product.T)]):
        np.testing.assert_allclose(result, wanted)
    np.testing.assert_array_equal(value, [[0.1, 0.2], [0.3, 0.4]])


def test_a_mutable_input_is_written_over():
    f = theano.function([theano.In(m, mutable=True)], T.exp(m), mode=FAST)
    (node,) = [node for node in nodes(f) if isinstance(node.op, T.Elemwise)]
    assert node.op.inplace_pattern == {0: 0}


def test_a_view_is_not_written_over_while_its_base_is_needed():
    d = T.dot(m, m)
    f = theano.function([m], T.dot(T.exp(d.T), d), mode=FAST)
    value = np.array([[0.1, 0.2], [0.3, 0.4]])
    product = value.dot(value)
    np.testing.assert_allclose(f(value), np.exp(product.T).dot(product))


def test_excluding_inplace_leaves_none():
    f = theano.function([m], T.exp(T.dot(m, m)), mode=FAST.excluding("inplace"))
    assert not any(getattr(node.op, "destroy_map", None) for node in nodes(f))


def test_shared_variables_are_updated_with_old_values():
    a, b = theano.shared(V.copy()), theano.shared(W.copy())
    f = theano.function([], [], updates=[(a, a + b), (b, a * b)], mode=FAST)
    f()
    np.testing.assert_allclose(a.get_value(), V + W)
    np.testing.assert_allclose(b.get_value(), V * W)


class _UpAndDown(scalar.UnaryScalarOp):
    """A scalar op of two results."""

    nout = 2

    def impl(self, x):
        return x + 1, x - 1


def test_one_of_several_results_is_written_over_the_input():
    both = T.Elemwise(_UpAndDown(lambda dtype: [dtype, dtype]))
    up, down = both(x * 2)
    f = theano.function([x], [up, down], mode=FAST)
    assert any(node.op.destroy_map for node in f.maker.fgraph.apply_nodes if isinstance(node.op, T.Elemwise))
    np.testing.assert_array_equal(f(np.array([1.0, 2.0])), [[3.0, 5.0], [1.0, 3.0]])


@pytest.mark.parametrize("error", [theano.gof.InconsistencyError, ValueError])
def test_what_a_feature_refuses_with_any_error_is_not_fused(error):
    class Refuses(theano.gof.Feature):
        def validate(self, fgraph):
            if any("Composite" in str(node.op) for node in fgraph.apply_nodes):
                raise error("no")

    fgraph = theano.gof.FunctionGraph([x, y], [T.exp(T.sin(x) * y + 1)], clone=True)
    fgraph.attach_feature(theano.gof.toolbox.ReplaceValidate())
    fgraph.attach_feature(Refuses())
    before = str(fgraph)
    with contextlib.suppress(ValueError):
        FusionOptimizer(local_elemwise_fusion).optimize(fgraph)
    assert str(fgraph) == before
    fgraph.check_integrity()
