"""Minimal filtering: errors, tiles at borders, blocks, groups, threads.

A result's error is measured against the sum of its products' magnitudes, or a tenth of the largest such sum of its plane where
that is more: a tile's results share their rounding.

30 random convolutions by default, 4,000 with the environment variable ``THEANO_NIGHTLY=1``.
"""

import copy
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_less
from test_convolution import DIRECTIONS, LAYOUTS, Conv
from vm_tools import runtime

NIGHTLY = bool(os.environ.get("THEANO_NIGHTLY"))
SETTINGS = settings(max_examples=4000 if NIGHTLY else 30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
WORST = {"float32": 1e-5, "float64": 1e-13}


@pytest.fixture(autouse=True)
def winograd():
    before = runtime.get_threads()
    runtime.conv_prefer("winograd")
    yield
    runtime.conv_prefer(None)
    runtime.set_threads(before)


def check(conv, direction, dtype, layout=lambda x: x):
    for name in ("images", "filters", "top"):
        setattr(conv, name, getattr(conv, name).astype(dtype).astype("float64"))
    magnitudes = copy.copy(conv)
    for name in ("images", "filters", "top"):
        setattr(magnitudes, name, np.abs(getattr(conv, name)))
    expected, scale = conv.expected(direction), magnitudes.expected(direction)
    scale = np.maximum(scale, scale.max(axis=(-2, -1), keepdims=True) / 10)
    results = []
    for threads in (1, 2, 3):
        runtime.set_threads(threads)
        results.append(conv.run(direction, dtype, layout))
    assert_array_less(np.abs(results[0] - expected) - WORST[dtype] * scale, 1e-30)
    assert len({r.tobytes() for r in results}) == 1


# Image, batch, channels, filters: less than a tile, whole tiles, partial ones, several blocks, many channels.
SIZES = (
    ((3, 3), 1, 1, 1),
    ((4, 2), 3, 2, 5),
    ((6, 6), 2, 7, 6),
    ((13, 10), 2, 5, 13),
    ((40, 37), 2, 17, 20),
    ((7, 7), 9, 40, 70),
)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("dtype", WORST)
def test_error_is_small(direction, dtype):
    for image, batch, channels, filters in SIZES:
        for padding in ((1, 1, 1, 1), (2, 0, 0, 2)):
            check(Conv(image, (3, 3), batch=batch, channels=channels, filters=filters, padding=padding), direction, dtype)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_layouts_and_flipped_filters(direction):
    for layout in LAYOUTS.values():
        check(Conv((9, 11), (3, 3), channels=6, filters=8, border="HALF", flip=True), direction, "float32", layout)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_groups(direction):
    check(Conv((10, 10), (3, 3), channels=12, filters=24, groups=3, border="FULL"), direction, "float32")


def test_numbers_outside_of_a_tile_do_not_come_in():
    conv = Conv((16, 16), (3, 3), batch=1, channels=2, filters=2, border="HALF")
    clean = conv.run("forward", "float64")
    conv.images[0, 0, 15, 15] = np.nan
    found = conv.run("forward", "float64")
    assert np.isnan(found[0, :, 14:, 14:]).all()
    assert np.array_equal(found[0, :, :12, :12], clean[0, :, :12, :12])


@SETTINGS
@given(st.data())
def test_random_ones(data):
    side, few = st.integers(1, 23), st.integers(1, 19)
    groups = data.draw(st.integers(1, 2))
    pads = [data.draw(st.integers(0, 3)) for _ in range(4)]
    image = [max(data.draw(side), 3 - pads[0] - pads[1]), max(data.draw(side), 3 - pads[2] - pads[3])]
    conv = Conv(image, (3, 3), batch=data.draw(st.integers(1, 4)), channels=data.draw(few) * groups,
                filters=data.draw(few) * groups, groups=groups, padding=pads, flip=data.draw(st.booleans()))  # fmt: skip
    check(conv, data.draw(st.sampled_from(DIRECTIONS)), data.draw(st.sampled_from(sorted(WORST))))
