"""Shape inference during rewriting."""

import numpy as np
import pytest
from rewrite_tools import names

import theano
import theano.tensor as T
from theano.gof import FunctionGraph
from theano.tensor import opt

x, y = T.dmatrices("x", "y")
FAST = theano.Mode("py", "fast_run")
X, Y = np.ones((2, 3)), np.ones((3, 4))


def op_names(f):
    return {type(node.op).__name__ for node in f.maker.fgraph.toposort()}


@pytest.mark.parametrize(
    ("build", "wanted"),
    [
        (lambda: T.log(x).shape, (2, 3)),
        (lambda: T.dot(x, y).shape, (2, 4)),
        (lambda: T.concatenate([x, x], axis=0).shape, (4, 3)),
        (lambda: x.T.shape, (3, 2)),
        (lambda: x.sum(axis=0).shape, (3,)),
        (lambda: x[1:].shape, (1, 3)),
        (lambda: (x + 1)[:, ::-1].shape, (2, 3)),
        (lambda: T.zeros_like(x).shape, (2, 3)),
    ],
)
def test_shapes_are_known_without_the_values(build, wanted):
    f = theano.function([x, y], build(), mode=FAST, on_unused_input="ignore")
    assert tuple(f(X, Y)) == wanted
    assert not op_names(f) & {"Dot", "Dot22", "Join", "DimShuffle", "Sum", "Alloc", "Shape"}
    assert "log" not in names(f.maker.fgraph)


class NoShape(theano.Op):
    __props__ = ()

    def make_node(self, a):
        return theano.Apply(self, [a], [a.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = inputs[0] * 1


def test_an_op_without_infer_shape_is_looked_at():
    f = theano.function([x], NoShape()(x * 2).shape, mode=FAST)
    assert "NoShape" in op_names(f)
    assert tuple(f(X)) == (2, 3)


def test_the_shape_of_what_was_replaced_is_kept():
    # The inner op is replaced by one that says less about its shape.
    @theano.gof.local_optimizer([T.Dot])
    def local_hide(node):
        return [NoShape()(T.dot(*node.inputs))] if not getattr(node.op, "seen", False) else None

    fgraph = FunctionGraph([x, y], [T.dot(x, y)], clone=True)
    fgraph.attach_feature(opt.ShapeFeature())
    old = fgraph.outputs[0]
    new = NoShape()(old.owner.inputs[0])
    fgraph.replace(old, new)
    shape = fgraph.shape_feature.shape_of[new]
    assert all(type(s.owner.op).__name__ == "Shape_i" and s.owner.inputs[0] in fgraph.inputs for s in shape)


def test_interface_of_the_feature():
    fgraph = FunctionGraph([x, y], [T.dot(x, y), x + x], clone=True)
    feature = opt.ShapeFeature()
    fgraph.attach_feature(feature)
    product, double = fgraph.outputs
    a = fgraph.inputs[0]
    assert feature.same_shape(double, a)
    assert not feature.same_shape(product, a)
    assert feature.same_shape(product, a, 0, 0)
    assert feature.get_shape(double, 1) is feature.shape_of[a][1]
    assert len(feature.shape_tuple(a)) == 2
    assert int(feature.unpack(3, a).data) == 3
    feature.set_shape_i(a, 0, T.constant(7))
    assert int(feature.shape_of[a][0].data) == 7
    with pytest.raises(T.ShapeError):
        feature.set_shape(a, (1,), override=True)
    fgraph.remove_feature(feature)
    assert not hasattr(fgraph, "shape_feature")


def test_unshape_takes_the_feature_away():
    fgraph = FunctionGraph([x], [x.shape], clone=True)
    opt.ShapeOptimizer().optimize(fgraph)
    assert hasattr(fgraph, "shape_feature")
    opt.UnShapeOptimizer().optimize(fgraph)
    assert not hasattr(fgraph, "shape_feature")


def test_a_wrong_infer_shape_is_an_error_when_asked_for():
    class Wrong(NoShape):
        def infer_shape(self, node, shapes):
            return [(1,)]

    with theano.config.change_flags(on_shape_error="raise"):
        fgraph = FunctionGraph([x], [Wrong()(x)], clone=True)
        feature = opt.ShapeFeature()
        fgraph.attach_feature(feature)
        with pytest.raises(T.ShapeError):
            feature.shape_of[fgraph.outputs[0]]


def test_a_chain_of_shapes_is_not_recursive():
    v = x
    for _ in range(5000):
        v = v + 1
    fgraph = FunctionGraph([x], [v], clone=True)
    feature = opt.ShapeFeature()
    fgraph.attach_feature(feature)
    assert feature.same_shape(fgraph.outputs[0], fgraph.inputs[0])
