"""Shapes of convolutions as numbers and as expressions."""

import itertools

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.configparser import change_flags
from theano.tensor.nnet import abstract_conv as ac

AXES = list(itertools.product((1, 4, 7), (1, 2, 3), ("valid", "half", "full", 2, (0, 3)), (1, 2, 3), (1, 2)))


def counted(n, k, mode, s, d):
    """The number of places at which a filter is put on a padded axis."""
    spread = (k - 1) * d + 1
    lo, hi = {"valid": (0, 0), "half": (spread // 2,) * 2, "full": (spread - 1,) * 2, 2: (2, 2), (0, 3): (0, 3)}[mode]
    return len(range(0, n + lo + hi - spread + 1, s))


@pytest.mark.parametrize("axis", AXES, ids=str)
def test_length_of_the_output_and_back(axis):
    n, k, mode, s, d = axis
    out = counted(*axis)
    if out > 0:
        assert ac.get_conv_shape_1axis(n, k, mode, s, d) == out
    image = ac.get_conv_gradinputs_shape_1axis(k, out, mode, s, d)
    kernel = ac.get_conv_gradweights_shape_1axis(n, out, mode, s, d)
    if s == 1:
        if out > 0:
            assert image == n
        assert kernel == (None if mode == "half" else k) or out == 0
    else:
        assert image is None and kernel is None


def test_lengths_as_expressions():
    n, k = T.lscalars("n", "k")
    out = [ac.get_conv_shape_1axis(n, k, mode, s, d) for _, _, mode, s, d in AXES]
    f = theano.function([n, k], out)
    for length, kernel in ((9, 3), (12, 4)):
        assert [int(o) for o in f(length, kernel)] == [counted(length, kernel, *axis[2:]) for axis in AXES]


def test_unknown_lengths_stay_unknown():
    assert ac.get_conv_output_shape((None, 3, 8, None), (5, 3, None, 2), "valid", (1, 1)) == (None, 5, None, None)
    assert ac.get_conv_gradweights_shape((2, None, 8, 8), (2, 5, None, 7), "valid", (1, 1)) == (5, None, None, 2)
    assert ac.get_conv_gradinputs_shape((5, None, 2, 2), (None, 5, 7, None), "valid", (1, 1)) == (None, None, 8, None)


def test_groups_and_filters_of_each_place():
    assert ac.get_conv_output_shape((2, 4, 8, 8), (6, 5, 5, 2, 4, 4), "valid", (1, 1)) == (2, 6, 5, 5)
    assert ac.get_conv_gradweights_shape((2, 4, 8, 8), (2, 6, 5, 5), "valid", (1, 1), (1, 1), 2, True) == (6, 5, 5, 2, 4, 4)
    assert ac.get_conv_gradinputs_shape((6, 5, 5, 2, 4, 4), (2, 6, 5, 5), "valid", (1, 1), num_groups=2) == (2, 4, 8, 8)


def test_shapes_that_are_compared():
    check = ac.check_conv_gradinputs_shape
    arguments = "half", (2, 2)
    assert check((2, 3, 8, 8), (5, 3, 3, 3), (2, 5, 4, 4), *arguments)
    assert not check((2, 3, 8, 8), (5, 3, 3, 3), (2, 5, 4, 5), *arguments)
    assert not check((2, 3, 8, 8), (5, 3, 3, 3), (1, 5, 4, 4), *arguments)
    assert check((2, 3, 8, None), (5, 3, 3, 3), (2, None, 4, T.lscalar()), *arguments)
    assert not check((2, 3, T.constant(8), 8), (5, 3, 3, 3), (2, 5, T.constant(5), 4), *arguments)


def test_padding_of_border_modes():
    assert ac.border_mode_to_pad("full", 2, (3, 4)) == ((2, 2), (3, 3))
    assert ac.border_mode_to_pad(2, 3, (1, 1, 1)) == ((2, 2),) * 3
    assert ac.border_mode_to_pad((1, (2, 0)), 2, (3, 4)) == ((1, 1), (2, 0))
    for mode in ("same", -1, 1.5, (1,), (1, -1), (1, (1, 2, 3))):
        with pytest.raises(ValueError, match="border_mode"):
            ac.border_mode_to_pad(mode, 2, (3, 4))


@pytest.mark.parametrize("function", [ac.get_conv_shape_1axis, ac.get_conv_gradinputs_shape_1axis])
def test_bad_border_modes_of_one_axis(function):
    for mode in ("same", -1, (1, -2)):
        with pytest.raises(ValueError, match="border_mode"):
            function(8, 3, mode, 1, 1)
    with pytest.raises(ValueError, match="border_mode"):
        ac.get_conv_output_shape((1, 1, 8, 8), (1, 1, 3, 3), (1, 1, 1), (1, 1))


def test_shape_of_a_convolution_is_checked():
    n = T.lscalar()
    assert ac.assert_conv_shape((0, 2, 3, 4)) == (0, 2, 3, 4)
    batch, channels, rows, columns = ac.assert_conv_shape((2, n, 3, n))
    assert (batch, rows) == (2, 3)
    f = theano.function([n], [channels, columns])
    assert [int(v) for v in f(4)] == [4, 4]
    for bad, message in ((0, "axis 3 is not positive"), (-1, "negative|not positive")):
        with pytest.raises(AssertionError, match=message):
            f(bad)
    for shape in ((-1, 2, 3, 4), (1, -2, 3, 4), (1, 2, 0, 4)):
        with pytest.raises(ValueError, match="invalid shape"):
            ac.assert_conv_shape(shape)


def test_shape_of_a_tensor_is_checked_on_demand():
    x, n = T.dtensor3(), T.lscalar()
    assert ac.assert_shape(x, (1, 2, 3)) is x
    with change_flags([("conv.assert_shape", True)]):
        assert ac.assert_shape(x, None) is x
        assert ac.assert_shape(x, (None,) * 3) is x
        y = ac.assert_shape(x, (None, n, 3), "another shape")
    f = theano.function([x, n], y)
    f(np.ones((5, 2, 3)), 2)
    for shape in ((5, 1, 3), (5, 2, 4)):
        with pytest.raises(AssertionError, match="another shape"):
            f(np.ones(shape), 2)
