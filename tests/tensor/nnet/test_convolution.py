"""Convolutions: documented behaviour, types, shapes, errors, derivatives that a program asks for."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import signal

import theano
import theano.tensor as T
from theano.configparser import change_flags
from theano.tensor.nnet import abstract_conv as ac
from theano.tensor.nnet import conv_base, conv_ops, corr, corr3d
from theano.tensor.nnet.conv import ConvOp

RNG = np.random.RandomState(4)
X = RNG.uniform(-1, 1, (2, 4, 7, 6))
W = RNG.uniform(-1, 1, (6, 4, 3, 2))
NATIVE = (corr.Correlation, ConvOp)


def computed(*variables, mode=None):
    return theano.function([], list(variables), mode=mode)()


def by_scipy(x, w, mode="valid"):
    """Convolution of (batch, channels, ...) with (filters, channels, ...)."""
    return np.array([[sum(signal.convolve(xc, wc, mode) for xc, wc in zip(image, kernel)) for kernel in w] for image in x])


@pytest.mark.parametrize("mode", ["valid", "full"])
def test_conv2d_is_that_of_scipy(mode):
    (y,) = computed(T.nnet.conv2d(X, W, border_mode=mode))
    np.testing.assert_allclose(y, by_scipy(X, W, mode), rtol=1e-12)


def test_conv3d_is_that_of_scipy():
    x, w = RNG.rand(1, 2, 4, 5, 3), RNG.rand(2, 2, 3, 2, 2)
    (y,) = computed(T.nnet.conv3d(x, w))
    np.testing.assert_allclose(y, by_scipy(x, w), rtol=1e-12)


def test_unflipped_is_correlation():
    (y,) = computed(T.nnet.conv2d(X, W, filter_flip=False))
    np.testing.assert_allclose(y, by_scipy(X, W[:, :, ::-1, ::-1]), rtol=1e-12)


def test_half_keeps_the_shape_of_images_for_odd_filters():
    w = RNG.rand(2, 4, 5, 3)
    (y,) = computed(T.nnet.conv2d(X, w, border_mode="half"))
    np.testing.assert_allclose(y, by_scipy(np.pad(X, ((0, 0), (0, 0), (2, 2), (1, 1))), w), rtol=1e-12)
    assert y.shape == (2, 2, 7, 6)


def test_image_shape_is_a_deprecated_name():
    with pytest.warns(UserWarning, match="input_shape"):
        y = T.nnet.conv2d(X, W, image_shape=X.shape)
    assert y.owner.op.imshp == X.shape
    with pytest.raises(ValueError, match="image_shape"):
        T.nnet.conv2d(X, W, image_shape=X.shape, input_shape=X.shape)


def test_other_keywords_are_ignored_with_a_warning():
    with pytest.warns(UserWarning, match="unroll_batch are.*ignored.$"):
        T.nnet.conv2d(X, W, unroll_batch=2)
    with pytest.warns(UserWarning, match="Did you mean subsample by strides?"):
        T.nnet.conv2d(X, W, strides=(2, 2))
    with pytest.raises(ValueError, match="imshp_logical"):
        T.nnet.conv2d(X, W, imshp_logical=(1, 2))


def test_dtypes_meet_in_the_common_one():
    for a, b in (("float32", "float64"), ("float64", "float32"), ("float32", "int8"), ("float16", "float16"), ("int32", "int8")):
        x, w = (X * 8).astype(a), (W * 8).astype(b)
        dtype = np.result_type(x, w)
        for y in computed(T.nnet.conv2d(x, w), corr.CorrMM(filter_flip=True)(x, w)):
            assert y.dtype == dtype
            np.testing.assert_allclose(y, by_scipy(x.astype(float), w.astype(float)), rtol=1e-2 if a == "float16" else 1e-4)


def test_complex_images():
    x, w = (X + 1j * X[::-1]).astype("complex128"), W.astype("complex128")
    (y,) = computed(T.nnet.conv2d(x, w))
    np.testing.assert_allclose(y, by_scipy(x, w), rtol=1e-12)


def test_empty_batches_channels_and_filters():
    for images, filters in (((0, 4, 7, 6), W.shape), ((2, 0, 7, 6), (6, 0, 3, 2)), (X.shape, (0, 4, 3, 2))):
        x, w = theano.shared(np.ones(images)), theano.shared(np.ones(filters))
        y = T.nnet.conv2d(x, w)
        got = computed(y, *T.grad(y.sum(), [x, w]))
        assert [g.shape for g in got] == [(images[0], filters[0], 5, 5), images, filters]
        if filters[1] == 0:
            assert not got[0].any()


def test_gradients_have_the_types_of_inputs_that_broadcast():
    x = T.TensorType("float64", (True, True, False, False))()
    w = T.TensorType("float64", (False, True, True, False))()
    y = T.nnet.conv2d(x, w)
    assert y.broadcastable == (True, False, False, False)
    assert [g.type for g in T.grad(y.sum(), [x, w])] == [x.type, w.type]


def test_rows_that_broadcast_are_convolved():
    x = T.TensorType("float64", (False, False, True, False))()
    y = T.nnet.conv2d(x, W[:, :, :1], border_mode=(0, 1))
    value = X[:, :, :1]
    np.testing.assert_allclose(y.eval({x: value}), by_scipy(np.pad(value, ((0, 0), (0, 0), (0, 0), (1, 1))), W[:, :, :1]))


def test_r_operator_of_all_directions():
    x, w, dx, dw = T.dtensor4s("x", "w", "dx", "dw")
    y = T.nnet.conv2d(x, w, num_groups=2, subsample=(2, 1))
    gx, gw = T.grad((y**2).sum(), [x, w])
    names = [x, w, dx, dw]
    w_value = W[:, :2]
    values = [X, w_value, RNG.rand(*X.shape), RNG.rand(*w_value.shape)]
    pushed = theano.function(names, T.Rop([y, gx, gw], [x, w], [dx, dw]))(*values)
    plain = theano.function(names, [y, gx, gw], on_unused_input="ignore")
    eps = 1e-5
    ahead, behind = (plain(X + s * eps * values[2], w_value + s * eps * values[3], *values[2:]) for s in (1, -1))
    for p, a, b in zip(pushed, ahead, behind):
        np.testing.assert_allclose(p, (a - b) / (2 * eps), rtol=1e-5, atol=1e-5)


def test_r_operator_of_one_input():
    x, dx = T.dtensor4s("x", "dx")
    pushed = T.Rop(T.nnet.conv2d(x, W), x, dx)
    np.testing.assert_allclose(pushed.eval({dx: X}), by_scipy(X, W), rtol=1e-12)
    assert T.nnet.conv2d(x, W).owner.op.R_op([x, W], [None, None]) == [None]


def test_lengths_have_no_gradient():
    lengths = T.lvector()
    y = ac.AbstractConv2d_gradInputs()(T.dtensor4(), T.dtensor4(), lengths)
    assert y.owner.op.connection_pattern(y.owner) == [[True], [True], [False]]
    with pytest.raises(theano.gradient.DisconnectedInputError):
        T.grad(y.sum(), lengths)


def test_shape_is_inferred_without_the_convolution():
    x, w = T.dtensor4s("x", "w")
    arguments = {"border_mode": ((1, 0), 2), "subsample": (2, 3), "filter_dilation": (1, 2), "num_groups": 2}
    y = T.nnet.conv2d(x, w, **arguments)
    outputs = [y, *T.grad((y**2).sum(), [x, w])]
    shapes = theano.function([x, w], [o.shape for o in outputs])
    assert not any(isinstance(n.op, conv_base.Convolution) for n in shapes.maker.fgraph.toposort())
    values = X, W[:, :2]
    for shape, value in zip(shapes(*values), theano.function([x, w], outputs)(*values)):
        assert tuple(shape) == value.shape


def test_symbolic_input_shape_of_a_gradient():
    g, rows = T.dtensor4(), T.lscalar()
    x = ac.conv2d_grad_wrt_inputs(g, W, (None, 4, rows, 6))
    assert x.owner.op.imshp == (None, 4, None, 6)
    assert x.eval({g: np.ones((2, 6, 5, 5)), rows: 7}).shape == X.shape


@pytest.mark.parametrize("border_mode", ["valid", "half", "full", 1, ((0, 1), 1)])
def test_gradient_without_input_shape_at_stride_one(border_mode):
    x, w = T.dtensor4s("x", "w")
    y = T.nnet.conv2d(x, w, border_mode=border_mode, filter_dilation=(2, 1))
    g = ac.conv2d_grad_wrt_inputs(T.ones_like(y), w, border_mode=border_mode, filter_dilation=(2, 1))
    got, expected = theano.function([x, w], [g, T.grad(y.sum(), x)])(X, W)
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    with pytest.raises(ValueError, match="input_shape"):
        ac.conv2d_grad_wrt_inputs(y, w, subsample=(2, 1))


def test_conv2d_transpose_is_the_gradient():
    (y,) = computed(
        T.nnet.conv2d_transpose(X, np.swapaxes(W, 0, 1), (None, None, 15, 13), input_dilation=(2, 2), border_mode=(0, 0))
    )
    expected = np.zeros((2, 6, 15, 13))
    flipped = W[:, :, ::-1, ::-1]
    for row in range(7):
        for column in range(6):
            expected[:, :, 2 * row : 2 * row + 3, 2 * column : 2 * column + 2] += np.einsum(
                "nc,fckl->nfkl", X[:, :, row, column], flipped
            )
    np.testing.assert_allclose(y, expected, rtol=1e-12)


def test_separable_convolution_is_one_with_products_of_filters():
    depthwise, pointwise = RNG.rand(8, 1, 3, 2), RNG.rand(5, 8, 1, 1)
    (y,) = computed(T.nnet.separable_conv2d(X, depthwise, pointwise, 4, border_mode="full", subsample=(2, 1)))
    whole = np.zeros((5, 4, 3, 2))
    for channel in range(8):
        whole[:, channel // 2] += pointwise[:, channel, 0, 0, None, None] * depthwise[channel, 0]
    np.testing.assert_allclose(y, by_scipy(X, whole, "full")[:, :, ::2], rtol=1e-12)
    with pytest.raises(ValueError, match="depthwise"):
        T.nnet.separable_conv2d(X, depthwise, pointwise, 4, depthwise_filter_shape=(8, 2, 3, 2))
    with pytest.raises(ValueError, match="pointwise"):
        T.nnet.separable_conv2d(X, depthwise, pointwise, 4, pointwise_filter_shape=(5, 8, 3, 1))


def test_causal_convolution_looks_back_only():
    x, w = RNG.rand(2, 3, 9), RNG.rand(4, 3, 3)
    (y,) = computed(ac.causal_conv1d(x, w, (4, 3, 3), filter_dilation=2))
    front = np.pad(x, ((0, 0), (0, 0), (4, 0)))
    expected = sum(np.einsum("ncl,fc->nfl", front[:, :, 2 * k : 2 * k + 9], w[:, :, 2 - k]) for k in range(3))
    np.testing.assert_allclose(y, expected, rtol=1e-12)


def test_causal_convolution_with_a_symbolic_length():
    x, w, n = T.dtensor3(), T.dtensor3(), T.lscalar()
    y = ac.causal_conv1d(x, w, (None, None, n), input_shape=(2, None, 9), subsample=2)
    values = RNG.rand(2, 3, 9), RNG.rand(4, 3, 3)
    got = theano.function([x, w, n], y)(*values, 3)
    np.testing.assert_allclose(got, ac.causal_conv1d(*values, (4, 3, 3), subsample=2).eval(), rtol=1e-12)


def test_causal_convolution_with_own_filters_at_each_place():
    x, w = RNG.rand(2, 3, 5), RNG.rand(4, 5, 3, 2)
    (y,) = computed(ac.causal_conv1d(x, w, (4, 5, 3, 2), input_shape=(2, 3, 5), unshared=True, filter_flip=False))
    front = np.pad(x, ((0, 0), (0, 0), (1, 0)))
    expected = sum(np.einsum("ncl,flc->nfl", front[:, :, k : k + 5], w[..., k]) for k in range(2))
    np.testing.assert_allclose(y, expected, rtol=1e-12)


def test_unshared_convolution_of_volumes():
    x, w = RNG.rand(1, 2, 3, 3, 3), RNG.rand(2, 2, 2, 2, 2, 2, 2, 2)
    y = ac.AbstractConv(3, filter_flip=False, unshared=True)(x, w)
    (got,) = computed(y, mode="FAST_COMPILE")
    for place in np.ndindex(2, 2, 2):
        region = x[(slice(None), slice(None), *(slice(p, p + 2) for p in place))]
        np.testing.assert_allclose(got[(..., *place)], np.einsum("ncijk,fcijk->nf", region, w[(slice(None), *place)]), rtol=1e-12)


@change_flags([("conv.assert_shape", True)])
def test_given_shapes_are_checked_on_demand():
    x, w = T.dtensor4s("x", "w")
    f = theano.function([x, w], T.nnet.conv2d(x, w, input_shape=(2, None, 7, 6), filter_shape=(6, 4, None, None)))
    f(X, W)
    with pytest.raises(AssertionError, match=r"imshp \(2, \?, 7, 6\)"):
        f(X[:1], W)
    with pytest.raises(AssertionError, match=r"kshp \(6, 4, \?, \?\)"):
        f(X, W[:3])


def test_wrong_shapes_that_are_not_checked_do_no_harm():
    """A last batch is often smaller than the others."""
    x = T.dtensor4()
    y = T.nnet.conv2d(x, W, input_shape=(8, 4, 9, 9))
    shape, mean, flat = theano.function([x], [y.shape, y.mean(), y.flatten(2)])(X)
    assert tuple(shape) == (2, 6, 5, 5)
    expected = by_scipy(X, W)
    np.testing.assert_allclose(mean, expected.mean())
    np.testing.assert_allclose(flat, expected.reshape(2, -1))


MISFITS = [
    ({}, (2, 3, 7, 6), W.shape, "3 channels, filters take 4"),
    ({"num_groups": 2}, X.shape, W.shape, "4 channels, filters take 4 in each of 2 groups"),
    ({"num_groups": 3}, X.shape, W.shape, "input channels must be divisible by num_groups=3"),
    ({"num_groups": 4}, X.shape, (6, 1, 3, 2), "output channels must be divisible by num_groups=4"),
    ({}, X.shape, (6, 4, 8, 2), "axis 2"),
    ({"filter_dilation": (1, 7)}, X.shape, W.shape, "axis 3"),
    ({"border_mode": 2}, X.shape, (6, 4, 3, 11), "axis 3"),
    ({"unshared": True}, X.shape, (6, 4, 5, 4, 3, 2), r"places \(4, 5\)"),
]


@pytest.mark.parametrize(("arguments", "image", "filters", "message"), MISFITS)
def test_shapes_that_do_not_fit(arguments, image, filters, message):
    """Known shapes are looked at when the graph is built, others when the function runs."""
    with pytest.raises(ValueError, match=message):
        T.nnet.conv2d(np.ones(image), np.ones(filters), **arguments)
    x, w = T.dtensor4(), T.TensorType("float64", (False,) * len(filters))()
    with pytest.raises(ValueError, match=message):
        T.nnet.conv2d(x, w, input_shape=image, filter_shape=filters, **arguments)
    y = T.nnet.conv2d(x, w, **arguments)
    python = theano.function([x, w], y, mode=theano.Mode(linker="py", optimizer=None))
    with pytest.raises(ValueError, match=message):
        python(np.ones(image), np.ones(filters))
    with pytest.raises(ValueError):
        theano.function([x, w], y)(np.ones(image), np.ones(filters))


def test_output_of_another_shape_than_the_convolution_gives():
    top = np.ones((2, 6, 4, 5))
    with pytest.raises(ValueError, match=r"topgrad has the shape \(2, 6, 4, 5\)"):
        ac.conv2d_grad_wrt_inputs(top, W, X.shape)
    with pytest.raises(ValueError, match=r"topgrad has the shape \(2, 6, 4, 5\)"):
        ac.conv2d_grad_wrt_weights(X, top, W.shape)
    t = T.dtensor4()
    for mode in (None, theano.Mode(linker="py", optimizer=None)):
        for g in (ac.conv2d_grad_wrt_inputs(t, W, X.shape), ac.conv2d_grad_wrt_weights(X, t, W.shape)):
            with pytest.raises(ValueError):
                theano.function([t], g, mode=mode)(top)


WRONG = [
    ({"border_mode": "same"}, ValueError, "border_mode 'same'.*'half' here"),
    ({"border_mode": -1}, ValueError, "border_mode"),
    ({"border_mode": (1, -1)}, ValueError, "border_mode"),
    ({"border_mode": (1, 1, 1)}, ValueError, "border_mode"),
    ({"border_mode": (1, (1, 2, 3))}, ValueError, "border_mode"),
    ({"border_mode": 0.5}, ValueError, "border_mode"),
    ({"subsample": (1,)}, ValueError, "subsample"),
    ({"subsample": (0, 1)}, ValueError, "subsample"),
    ({"subsample": 2}, ValueError, "subsample"),
    ({"filter_dilation": (1, 2, 3)}, ValueError, "filter_dilation"),
    ({"filter_dilation": (1.5, 1)}, ValueError, "filter_dilation"),
    ({"num_groups": 0}, ValueError, "num_groups"),
    ({"input_shape": (1, 2, 3)}, ValueError, "input_shape.* must have 4 elements"),
    ({"input_shape": 3}, ValueError, "input_shape.*tuple of 4"),
    ({"input_shape": (1, 2, 3, 4.5)}, ValueError, "imshp"),
    ({"filter_shape": (1, 2, 3, T.lscalar())}, ValueError, "kshp"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), WRONG)
def test_arguments_that_are_out_of_range(arguments, error, message):
    with pytest.raises(error, match=message):
        T.nnet.conv2d(T.dtensor4(), T.dtensor4(), **arguments)


def test_ranks_that_are_wrong():
    for x, w, message in (
        (T.dmatrix(), T.dtensor4(), r"img must be 4D.*\(batch, channels, rows, columns\)"),
        (T.dtensor4(), T.dtensor3(), r"kern must be 4D.*\(output channels, input channels, rows, columns\)"),
        (T.dtensor4(), theano.typed_list.TypedListType(T.dtensor4)(), "tensor|Variable"),
    ):
        with pytest.raises(TypeError, match=message):
            T.nnet.conv2d(x, w)
    with pytest.raises(TypeError, match="kern must be 6D tensor of an unshared"):
        T.nnet.conv2d(T.dtensor4(), T.dtensor4(), unshared=True)
    with pytest.raises(TypeError, match="img must be 5D"):
        T.nnet.conv3d(T.dtensor4(), T.dtensor4())
    with pytest.raises(ValueError, match="dimension 4"):
        ac.AbstractConv(4)


    with pytest.raises(TypeError, match="input must be a 3D tensor"):
        ac.causal_conv1d(T.dtensor4(), T.dtensor3(), (1, 1, 3))
    with pytest.raises(TypeError, match="filters must be a 4D tensor"):
        ac.causal_conv1d(T.dtensor3(), T.dtensor3(), (1, 1, 3), unshared=True)


def test_lengths_that_are_wrong():
    t = T.dtensor4()
    with pytest.raises(ValueError, match="input_shape"):
        ac.conv2d_grad_wrt_inputs(t, W, (None, None, None, 6))
    with pytest.raises(ValueError, match="filter_shape"):
        ac.conv2d_grad_wrt_weights(X, t, (None, None, 3, None))
    with pytest.raises(ValueError, match="filter_shape must be given"):
        ac.conv2d_grad_wrt_weights(X, t, None)
    with pytest.raises(ValueError, match="filter_shape must be given"):
        ac.causal_conv1d(T.dtensor3(), T.dtensor3(), None)
    with pytest.raises(TypeError, match="integers"):
        ac.AbstractConv2d_gradWeights()(X, t, [3.5, 2.0])
    with pytest.raises(ValueError, match="2 elements"):
        ac.AbstractConv2d_gradWeights()(X, t, [3, 2, 1])
    with pytest.raises(ValueError, match="shape must be given"):
        corr.CorrMM_gradInputs(subsample=(1, 2))(W, t)
    with pytest.raises(ValueError, match="shape must be given"):
        corr.CorrMM_gradWeights("half")(X, t)
    with pytest.raises(TypeError, match="scalar integers"):
        corr.CorrMM_gradWeights()(X, t, (3.5, 2))


def test_errors_at_run_time_name_the_shapes():
    x, w = T.dtensor4s("x", "w")
    f = theano.function([x, w], T.nnet.conv2d(x, w))
    with pytest.raises(ValueError, match=r"(?s)3 channels, filters take 4.*2, 3, 7, 6.*6, 4, 3, 2"):
        f(X[:, :3], W)
    transposed = theano.function([x, w], T.nnet.conv2d_transpose(x, w, (2, 4, 9, 7)))
    with pytest.raises(ValueError, match=r"of a transposed convolution\) has shape \(2, 4, 7, 6\), expected \(2, 6, 7, 6\)"):
        transposed(X, W)
    grouped = theano.function([x, w], T.nnet.conv2d(x, w, num_groups=2))
    with pytest.raises(ValueError, match="4 channels, filters take 4 in each of 2 groups"):
        grouped(X, W)


def test_gradients_of_correlations_without_lengths():
    x, w = T.dtensor4s("x", "w")
    y = corr.CorrMM("full", filter_dilation=(2, 1))(x, w)
    gx, gw = T.grad(y.sum(), [x, w])
    ones = T.ones_like(y)
    shorter = (
        corr.CorrMM_gradInputs("full", filter_dilation=(2, 1))(w, ones),
        corr.CorrMM_gradWeights("full", filter_dilation=(2, 1))(x, ones),
    )
    for mode in (None, theano.Mode(linker="py", optimizer=None)):
        a, b, c, d = theano.function([x, w], [gx, gw, *shorter], mode=mode)(X, W)
        np.testing.assert_allclose(a, c, rtol=1e-12)
        np.testing.assert_allclose(b, d, rtol=1e-12)


def test_correlations_tell_their_padding_and_parameters():
    op = corr.CorrMM((1, (0, 2)), (2, 1), (1, 3), 2)
    assert op.pad == ((1, 1), (0, 2))
    assert corr.CorrMM("half").pad == "half"
    assert corr.CorrMM([(2, 2), [1, 1]]).border_mode == (2, 1)
    assert corr.CorrMM(0) == corr.CorrMM("valid") == corr.CorrMM(((0, 0), 0))
    assert str(op) == "CorrMM{(1, (0, 2)), (2, 1), (1, 3), 2 False}"
    assert corr3d.Corr3dMM() != corr.CorrMM()
    for same in (op, corr3d.Corr3dMM_gradInputs(1), ac.AbstractConv2d((1, 2, 3, 4)), ConvOp((2, 5, 5))):
        assert pickle.loads(pickle.dumps(same)) == same


def test_floating_point_operations_are_counted_alike_in_all_directions():
    op = ac.AbstractConv2d(num_groups=2)
    x, w, y = (2, 4, 7, 6), (6, 2, 3, 2), (2, 6, 5, 5)
    expected = 2 * np.prod(y) * 2 * 3 * 2
    assert op.flops([x, w], [y]) == expected
    assert op.sibling("filters").flops([x, y, (2,)], [w]) == expected
    assert op.sibling("image").flops([w, y, (2,)], [x]) == expected
    assert corr3d.Corr3dMM().flops([(1, 2, 3, 3, 3), (4, 2, 2, 2, 2)], [(1, 4, 2, 2, 2)]) == 2 * 32 * 16


def test_convolution_of_arrays():
    op = ac.AbstractConv2d()
    y = by_scipy(X, W)
    np.testing.assert_allclose(op.conv(X, W), y)
    np.testing.assert_allclose(op.conv(X, W, "full"), by_scipy(X, W, "full"))
    x, w = T.dtensor4s("x", "w")
    for mode in ("valid", "full"):
        out = T.nnet.conv2d(x, w, border_mode=mode, filter_dilation=(1, 2))
        gx, gw = theano.function([x, w], T.grad(out.sum(), [x, w]))(X, W)
        ones = np.ones(op.conv(X, W, mode, dilation=(1, 2)).shape)
        np.testing.assert_allclose(op.conv(W, ones, mode, (1, 2), direction="backprop inputs"), gx)
        np.testing.assert_allclose(op.conv(X, ones, mode, (1, 2), direction="backprop weights"), gw)
    for arguments in ({"mode": "half"}, {"direction": "back"}):
        with pytest.raises(ValueError, match="invalid"):
            op.conv(X, W, **arguments)


def test_unshared_convolution_of_one_image():
    op = ac.AbstractConv2d(subsample=(2, 1), filter_flip=False, unshared=True)
    image, kernels = X[0, 0], RNG.rand(3, 5, 3, 2)
    out = op.unshared2d(image, kernels, (3, 5))
    expected = [[(image[2 * r : 2 * r + 3, c : c + 2] * kernels[r, c]).sum() for c in range(5)] for r in range(3)]
    np.testing.assert_allclose(out, expected)
    x, w = T.dtensor4(), T.TensorType("float64", (False,) * 6)()
    gx, gw = theano.function([x, w], T.grad(op(x, w).sum(), [x, w]))(image[None, None], kernels[None, :, :, None])
    np.testing.assert_allclose(op.unshared2d(kernels, np.ones((3, 5)), image.shape, "backprop inputs"), gx[0, 0])
    np.testing.assert_allclose(op.unshared2d(image, np.ones((3, 5)), kernels.shape, "backprop weights"), gw[0, :, :, 0])


def test_functions_do_not_change_their_inputs():
    x, w = X.copy(), W.copy()
    a, b = T.dtensor4s("a", "b")
    theano.function([a, b], T.grad((T.nnet.conv2d(a, b) ** 2).sum(), [a, b]))(x, w)
    assert (x == X).all() and (w == W).all()


def test_updates_of_filters_in_training():
    """Filters are replaced by what their gradient gives, and stay as they are when a call fails."""
    w = theano.shared(W.astype("float32"))
    x = T.ftensor4()
    cost = (T.nnet.conv2d(x, w) ** 2).sum() / np.float32(100)
    step = theano.function([x], cost, updates=[(w, w - np.float32(0.1) * T.grad(cost, w))])
    first = step(X.astype("float32"))
    assert step(X.astype("float32")) < first
    kept = w.get_value()
    with pytest.raises(ValueError):
        step(X[:, :3].astype("float32"))
    assert (w.get_value() == kept).all()


def test_old_pickles_without_newer_attributes():
    state = ac.AbstractConv2d().__dict__.copy()
    for name in ("num_groups", "unshared"):
        del state[name]
    op = ac.AbstractConv2d.__new__(ac.AbstractConv2d)
    op.__setstate__(state)
    assert op == ac.AbstractConv2d()


def test_no_warning_without_cause():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        computed(T.nnet.conv2d(X, W, input_shape=X.shape, filter_shape=W.shape))


def test_classes_by_direction():
    assert conv_ops.of_direction("image", 3) is ac.AbstractConv3d_gradInputs
