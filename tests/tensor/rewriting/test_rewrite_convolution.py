"""Which implementation takes the place of an abstract convolution."""

import itertools

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.configparser import change_flags
from theano.gof.opt import check_stack_trace
from theano.tensor.nnet import abstract_conv as ac
from theano.tensor.nnet import opt
from theano.tensor.nnet.conv import ConvOp
from theano.tensor.nnet.corr import CorrMM, CorrMM_gradInputs, CorrMM_gradWeights
from theano.tensor.nnet.corr3d import Corr3dMM, Corr3dMM_gradInputs, Corr3dMM_gradWeights

RNG = np.random.RandomState(8)
FAST_RUN = theano.compile.get_mode("FAST_RUN")
CORRELATIONS = {
    2: (CorrMM, CorrMM_gradInputs, CorrMM_gradWeights),
    3: (Corr3dMM, Corr3dMM_gradInputs, Corr3dMM_gradWeights),
}


def convolution_and_gradients(ndim, **arguments):
    x, w = (T.TensorType("float64", (False,) * (2 + ndim))() for _ in range(2))
    y = (T.nnet.conv2d if ndim == 2 else T.nnet.conv3d)(x, w, **arguments)
    return [x, w], [y, *T.grad((y**2).sum(), [x, w])]


def classes(f):
    return {type(node.op) for node in f.maker.fgraph.toposort()}


def abstract(f):
    return [node for node in f.maker.fgraph.toposort() if isinstance(node.op, ac.BaseAbstractConv)]


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_abstract_convolutions_become_correlations(ndim, mode):
    inputs, outputs = convolution_and_gradients(ndim, border_mode=1, filter_dilation=(2,) * ndim, num_groups=2)
    f = theano.function(inputs, outputs, mode=mode)
    assert set(CORRELATIONS[ndim]) <= classes(f)
    assert not abstract(f)
    for op in CORRELATIONS[ndim]:
        assert check_stack_trace(f, ops_to_check=op)
    values = RNG.rand(2, 4, *[5] * ndim), RNG.rand(2, 2, *[3] * ndim)
    plain = theano.function(inputs, outputs, mode=theano.Mode("py", None))
    for a, b in zip(f(*values), plain(*values)):
        np.testing.assert_allclose(a, b, rtol=1e-10)


@pytest.mark.parametrize(("border_mode", "flip"), list(itertools.product(["valid", "full"], [True, False])))
def test_without_gemm_the_old_convolution(border_mode, flip):
    inputs, outputs = convolution_and_gradients(2, border_mode=border_mode, filter_flip=flip)
    f = theano.function(inputs, outputs, mode=FAST_RUN.excluding("conv_gemm"))
    assert [type(n.op) for n in f.maker.fgraph.toposort()].count(ConvOp) == 3
    assert not abstract(f)
    plain = theano.function(inputs, outputs, mode=theano.Mode("py", None))
    values = RNG.rand(2, 4, 6, 5), RNG.rand(3, 4, 2, 3)
    for a, b in zip(f(*values), plain(*values)):
        np.testing.assert_allclose(a, b, rtol=1e-10)


def test_strides_of_the_old_convolution():
    x, w = T.dtensor4s("x", "w")
    y = T.nnet.conv2d(x, w, subsample=(2, 1))
    f = theano.function([x, w], y, mode=FAST_RUN.excluding("conv_gemm"))
    assert ConvOp in classes(f)
    values = RNG.rand(2, 4, 6, 5), RNG.rand(3, 4, 2, 3)
    np.testing.assert_allclose(f(*values), theano.function([x, w], y)(*values), rtol=1e-12)


WITHOUT = [
    {"border_mode": "half"},
    {"border_mode": (1, 2)},
    {"filter_dilation": (1, 2)},
    {"num_groups": 2},
]


@pytest.mark.parametrize("arguments", WITHOUT, ids=str)
def test_what_no_implementation_is_left_for_is_an_error(arguments):
    x, w = T.dtensor4s("x", "w")
    y = T.nnet.conv2d(x, w, **arguments)
    with pytest.raises(AssertionError, match='Did you exclude "conv_gemm"'):
        theano.function([x, w], y, mode=FAST_RUN.excluding("conv_gemm"))
    f = theano.function([x, w], y, mode=FAST_RUN.excluding("conv_gemm", "AbstractConvCheck"))
    assert abstract(f)
    values = RNG.rand(2, 4, 6, 5), RNG.rand(2, 2 if "num_groups" in arguments else 4, 2, 2)
    np.testing.assert_allclose(f(*values), theano.function([x, w], y)(*values), rtol=1e-12)


def test_neither_implementation():
    x, w = T.dtensor4s("x", "w")
    with pytest.raises(AssertionError, match="no implementation"):
        theano.function([x, w], T.nnet.conv2d(x, w), mode=FAST_RUN.excluding("conv_gemm", "conv_direct"))


def test_lengths_come_from_shapes():
    inputs, outputs = convolution_and_gradients(2)
    f = theano.function(inputs, outputs[1:], mode="FAST_RUN")
    names = [type(n.op).__name__ for n in f.maker.fgraph.toposort()]
    assert names.count("Shape_i") == 4
    assert "MakeVector" not in names and "Subtensor" not in names


def test_images_that_broadcast():
    x = T.TensorType("float64", (True, True, False, False))()
    y = T.nnet.conv2d(x, RNG.rand(1, 1, 2, 2))
    f = theano.function([x], [y, T.grad(y.sum(), x)])
    assert not abstract(f)
    a, b = f(np.ones((1, 1, 3, 3)))
    assert a.shape == (1, 1, 2, 2) and b.shape == (1, 1, 3, 3)


def test_implementations_are_timed_on_demand():
    x, w = theano.shared(RNG.rand(2, 3, 5, 5)), theano.shared(RNG.rand(4, 3, 3, 3))
    shapes = {"input_shape": (2, 3, 5, 5), "filter_shape": (4, 3, 3, 3)}
    y = T.nnet.conv2d(x, w, **shapes)
    for excluded, allowed in (("", {ConvOp, CorrMM}), ("conv_gemm", {ConvOp}), ("conv_direct", {CorrMM})):
        f = theano.function([], y, mode=FAST_RUN.including("conv_meta"))
        with change_flags([("metaopt.optimizer_excluding", excluded)]):
            f = theano.function([], y, mode=FAST_RUN.including("conv_meta"))
        assert classes(f) & {ConvOp, CorrMM} <= allowed
        np.testing.assert_allclose(f(), y.eval(), rtol=1e-12)


def test_inputs_for_timing_have_the_shapes_that_are_known():
    x, w = T.dtensor4s("x", "w")
    y = T.nnet.conv2d(x, w, input_shape=(2, 3, 5, 5), filter_shape=(4, 3, 3, 3))
    g = T.grad(y.sum(), [x, w])
    meta = opt.conv_groupopt.query("+conv_meta").opts[0]
    assert {k: v.shape for k, v in meta.provide_inputs(y.owner, [x, w]).items()} == {x: (2, 3, 5, 5), w: (4, 3, 3, 3)}
    for node, expected in ((g[0].owner, (5, 5)), (g[1].owner, (3, 3))):
        values = meta.provide_inputs(node, node.inputs)
        assert values[node.inputs[1]].shape == (2, 4, 3, 3)
        assert tuple(values[node.inputs[2]]) == expected
    assert meta.provide_inputs(T.nnet.conv2d(x, w).owner, [x, w]) == {}


def test_documented_names_are_in_the_group():
    for tag, names in (("conv_gemm", 6), ("conv_direct", 3)):
        assert len(opt.conv_groupopt.query(f"+{tag}").opts) == names
    assert opt.local_abstractconv_gemm.transform(T.dmatrix().T.owner) is None


def test_a_users_own_convolution_is_left_as_it_is():
    class Doubled(ac.AbstractConv2d):
        def perform(self, node, inputs, output_storage):
            super().perform(node, inputs, output_storage)
            output_storage[0][0] *= 2

    values = RNG.rand(1, 2, 4, 4), RNG.rand(3, 2, 2, 2)
    x, w = T.dtensor4s("x", "w")
    y, doubled = theano.function([x, w], [T.nnet.conv2d(x, w), Doubled()(x, w)])(*values)
    np.testing.assert_allclose(doubled, 2 * y, rtol=1e-12)
