"""ConvOp, `nnet.conv.conv2d`, `conv3d2d` and `signal.conv`: the interfaces of older programs."""

import numpy as np
import pytest
from scipy import signal

import theano
import theano.tensor as T
from theano.gradient import verify_grad
from theano.tensor.nnet import conv, conv3d2d
from theano.tensor.signal import conv as signal_conv

RNG = np.random.RandomState(3)
X, W = RNG.rand(3, 2, 7, 5), RNG.rand(4, 2, 2, 3)


def by_scipy(mode):
    return np.array([[sum(signal.convolve(xc, wc, mode) for xc, wc in zip(image, kernel)) for kernel in W] for image in X])


@pytest.mark.parametrize("mode", ["valid", "full"])
@pytest.mark.parametrize("shapes", [{}, {"image_shape": X.shape, "filter_shape": (4, None, 2, None)}])
def test_conv2d(mode, shapes):
    y = conv.conv2d(X, W, border_mode=mode, unroll_batch=1, unroll_kern=2, openmp=False, **shapes)
    np.testing.assert_allclose(y.eval(), by_scipy(mode), rtol=1e-12)
    np.testing.assert_allclose(theano.function([], y, mode="FAST_COMPILE")(), by_scipy(mode), rtol=1e-12)


def test_strides_and_gradients():
    shapes = {"image_shape": X.shape, "filter_shape": W.shape}
    y = conv.conv2d(X, W, border_mode="full", subsample=(2, 1), **shapes)
    np.testing.assert_allclose(y.eval(), by_scipy("full")[:, :, ::2], rtol=1e-12)
    verify_grad(lambda x, w: conv.conv2d(x, w, border_mode="full", subsample=(2, 1), **shapes), [X, W], rng=RNG)
    verify_grad(conv.conv2d, [X, W], rng=RNG)


def test_gradients_that_it_has_not():
    x, w = T.dtensor4s("x", "w")
    shapes = {"image_shape": X.shape, "filter_shape": W.shape}
    for arguments in ({"subsample": (2, 2), **shapes}, {"subsample": (3, 1), "border_mode": "full", **shapes},
                      {"subsample": (2, 1), "border_mode": "full"}):  # fmt: skip
        with pytest.raises(NotImplementedError, match=r"nnet\.conv2d"):
            T.grad(conv.conv2d(x, w, **arguments).sum(), x)


def test_shapes_are_checked():
    x, w = T.dtensor4s("x", "w")
    f = theano.function([x, w], conv.conv2d(x, w, (3, None, 7, 5), (4, None, 2, 3)))
    f(X, W)
    for images, filters in ((X[:2], W), (X[:, :, :6], W), (X, W[:3]), (X, W[..., :2]), (X[:, :1], W)):
        with pytest.raises(ValueError):
            f(images, filters)


def test_errors_when_the_graph_is_built():
    x, w = T.dtensor4s("x", "w")
    with pytest.raises(AssertionError, match="channels"):
        conv.conv2d(x, w, (3, 2, 8, 8), (4, 3, 5, 5))
    with pytest.raises(ValueError, match="do not fit"):
        conv.conv2d(x, w, (3, 2, 5, 5), (4, 2, 8, 8))
    with pytest.raises(T.NotScalarConstantError):
        conv.conv2d(x, w, (3, 2, 8, T.iscalar()))
    with pytest.raises(ValueError, match="4 elements"):
        conv.conv2d(x, w, (3, 2, 8))
    with pytest.raises(ValueError, match="output_mode"):
        conv.conv2d(x, w, border_mode="half")
    with pytest.raises(TypeError, match="4 dimensions"):
        conv.conv2d(T.dtensor3(), w)
    with pytest.raises(NotImplementedError, match="same type"):
        conv.conv2d(T.ftensor4(), w)
    with pytest.raises(NotImplementedError, match="conv2d_transpose"):
        conv.ConvOp((2, 5, 5), (3, 3), imshp_logical=(2, 10, 10))
    with pytest.raises(NotImplementedError, match="engine"):
        conv.gen_conv_code_unroll_batch_kern({})


def test_known_lengths_of_one_broadcast():
    y = conv.conv2d(T.dtensor4(), T.dtensor4(), (1, 2, 3, None), (1, 2, 3, 3))
    assert y.broadcastable == (True, True, True, False)


def test_helpers_of_the_op():
    assert conv.ConvOp.getOutputShape((7, 5), (2, 3), (2, 1), "full") == (4, 7)
    assert conv.ConvOp.has_all_shape((2, 7, 5), (2, 3), 4, 3)
    assert not conv.ConvOp.has_all_shape((2, 7, None), (2, 3), 4, 3)
    op = conv.ConvOp((2, 7, 5), (2, 3), 4, 3)
    assert (op.outshp, op.fulloutshp, op.out_mode) == ((6, 3), (6, 3), "valid")
    assert op.flops([X.shape, W.shape], [(3, 4, 6, 3)]) == 2 * 3 * 4 * 6 * 3 * 2 * 2 * 3
    with pytest.raises(ValueError, match="channels"):
        op.flops([X.shape, (4, 1, 2, 3)], [(3, 4, 6, 3)])


@pytest.mark.parametrize("images", [1, 2])
@pytest.mark.parametrize("filters", [1, 2])
def test_signal_conv2d(images, filters):
    x, w = (X[:2, 0], W[:3, 0])
    expected = np.array([[signal.convolve2d(i, k, "full") for k in w] for i in x])
    if images == 1:
        x, expected = x[0], expected[0]
    if filters == 1:
        w, expected = w[0], expected[..., 0, :, :]
    y = signal_conv.conv2d(x, w, image_shape=x.shape, filter_shape=w.shape, border_mode="full")
    assert y.ndim == expected.ndim
    np.testing.assert_allclose(y.eval(), expected, rtol=1e-12)


def test_signal_conv2d_refuses_other_ranks():
    with pytest.raises(TypeError, match="input"):
        signal_conv.conv2d(T.dvector(), T.dmatrix())
    with pytest.raises(TypeError, match="filters"):
        signal_conv.conv2d(T.dmatrix(), T.dtensor4())
    with pytest.raises(ValueError, match="image_shape"):
        signal_conv.conv2d(T.dmatrix(), T.dmatrix(), image_shape=(1, 2, 3))


def padding(mode, n):
    return {"valid": 0, "half": n // 2, "full": n - 1}[mode]


@pytest.mark.parametrize("mode", ["valid", "half", "full", ("full", "valid", "valid")])
@pytest.mark.parametrize("span", [1, 3])
def test_convolution_of_movies(mode, span):
    movies, filters = RNG.rand(2, 5, 2, 4, 5), RNG.rand(3, span, 2, 2, 3)
    modes = (mode,) * 3 if isinstance(mode, str) else mode
    pads = [padding(m, n) for m, n in zip(modes, (span, 2, 3))]
    front = np.pad(movies, [(0, 0), (pads[0],) * 2, (0, 0), (pads[1],) * 2, (pads[2],) * 2])
    expected = np.array([
        [sum(signal.convolve(m[:, c], f[:, c], "valid") for c in range(2)) for f in filters] for m in front
    ]).swapaxes(1, 2)  # fmt: skip
    for shapes in (
        {},
        {"signals_shape": movies.shape, "filters_shape": filters.shape},
        {"filters_shape": (None, span, 2, None, None)},
    ):
        y = conv3d2d.conv3d(movies, filters, border_mode=mode, **shapes)
        np.testing.assert_allclose(y.eval(), expected, rtol=1e-12)
    verify_grad(lambda s, f: conv3d2d.conv3d(s, f, border_mode=mode), [movies[:1, :3], filters[:1]], rng=RNG)


def test_wrong_movies():
    with pytest.raises(TypeError, match="signals"):
        conv3d2d.conv3d(T.dtensor4(), T.dtensor5())
    with pytest.raises(TypeError, match="filters"):
        conv3d2d.conv3d(T.dtensor5(), T.dtensor4())
    for mode in ("same", ("valid", "full", "half"), ("valid", "valid")):
        with pytest.raises(ValueError, match="border_mode"):
            conv3d2d.conv3d(T.dtensor5(), T.dtensor5(), border_mode=mode)


def test_diagonals():
    x = np.arange(20.0).reshape(5, 4)
    view = conv3d2d.get_diagonal_subtensor_view(x, 0, 1)
    assert view.tolist() == [[12, 9, 6, 3], [16, 13, 10, 7]]
    view[:] = 0
    assert x[3, 0] == 0
    with pytest.raises(NotImplementedError, match="shorter"):
        conv3d2d.get_diagonal_subtensor_view(x, 1, 0)


def test_diagonals_in_graphs():
    x, y = T.dmatrix(), T.dmatrix()
    taken = conv3d2d.diagonal_subtensor(x * 1.5, 0, 1)
    increased = conv3d2d.inc_diagonal_subtensor(x + 1, 0, 1, y)
    f = theano.function([x, y], [taken, increased])
    ops = [
        n.op for n in f.maker.fgraph.toposort() if isinstance(n.op, conv3d2d.DiagonalSubtensor | conv3d2d.IncDiagonalSubtensor)
    ]
    assert [op.inplace for op in ops] == [True, True]
    value, more = RNG.rand(5, 4), RNG.rand(2, 4)
    kept = value.copy()
    a, b = f(value, more)
    np.testing.assert_array_equal(a, conv3d2d.get_diagonal_subtensor_view(value, 0, 1) * 1.5)
    expected = value + 1
    conv3d2d.get_diagonal_subtensor_view(expected, 0, 1)[...] += more
    np.testing.assert_array_equal(b, expected)
    assert (value == kept).all()
    verify_grad(lambda x: conv3d2d.diagonal_subtensor(x, 0, 1), [value], rng=RNG)
    verify_grad(lambda x, y: conv3d2d.inc_diagonal_subtensor(x, 0, 1, y), [value, more], rng=RNG)
    dx = T.dmatrix()
    pushed = theano.function([x, y, dx], T.Rop([taken, increased], x, dx), on_unused_input="ignore")(value, more, value)
    np.testing.assert_allclose(pushed[0], conv3d2d.get_diagonal_subtensor_view(value, 0, 1) * 1.5)
    np.testing.assert_allclose(pushed[1], value)
    shape = theano.function([x, y], increased.shape)
    assert shape(value, more).tolist() == [5, 4]
