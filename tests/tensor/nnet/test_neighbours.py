"""Neighbourhoods of pixels: all modes against loops, gradients, inferred shapes, and what does not fit."""

import numpy as np
import pytest

import theano
from tests.tensor.helpers import PLAIN, evaluate, inferred_shape
from theano import tensor as T
from theano.tensor.nnet.neighbours import Images2Neibs, images2neibs, neibs2images


def by_loops(images, shape, step, mode):
    """The definition."""
    height, width = images.shape[2:]
    (r, c), (dr, dc) = shape, step
    if mode in ("half", "full"):
        by = [(n // 2, n // 2) if mode == "half" else (n - 1, n - 1) for n in shape]
        images = np.pad(images, ((0, 0), (0, 0), *by))
        height, width = images.shape[2:]
    if mode == "wrap_centered":
        images = np.pad(images, ((0, 0), (0, 0), (r // 2, r // 2), (c // 2, c // 2)), mode="wrap")
        tops, lefts = range(0, height, dr), range(0, width, dc)
    else:
        tops, lefts = range(0, height - r + 1, dr), range(0, width - c + 1, dc)
    rows = [images[i, j, a : a + r, b : b + c].ravel()
            for i in range(len(images)) for j in range(images.shape[1]) for a in tops for b in lefts]  # fmt: skip
    return np.array(rows).reshape(-1, r * c)


CASES = [
    ("valid", (6, 8), (3, 2), (3, 2)),
    ("valid", (6, 8), (2, 4), (2, 1)),
    ("valid", (5, 5), (1, 2), (4, 3)),
    ("ignore_borders", (7, 5), (2, 2), (2, 2)),
    ("ignore_borders", (7, 5), (3, 2), (1, 3)),
    ("ignore_borders", (2, 5), (3, 2), (1, 3)),
    ("half", (5, 6), (3, 2), (2, 3)),
    ("full", (4, 6), (3, 2), (1, 2)),
    ("wrap_centered", (5, 7), (3, 5), (2, 3)),
]


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("mode, size, shape, step", CASES)
def test_values(mode, size, shape, step, native):
    for dtype in ("float32", "int8", "complex128", "float16"):
        images = np.random.RandomState(0).randint(0, 100, (2, 3, *size)).astype(dtype)
        for view in (images, images[::-1, :, ::-1], np.asfortranarray(images)):
            got = evaluate(lambda x: images2neibs(x, shape, step, mode), view, mode=None if native else PLAIN)
            assert got.dtype == dtype
            np.testing.assert_array_equal(got, by_loops(view, shape, step, mode))
    assert inferred_shape(lambda x: images2neibs(x, shape, step, mode), images) == got.shape


def test_no_images():
    empty = np.zeros((0, 3, 4, 4))
    assert evaluate(lambda x: images2neibs(x, (2, 2)), empty, mode=None).shape == (0, 4)


@pytest.mark.parametrize("mode", ["valid", "ignore_borders"])
def test_back(mode):
    size = (4, 6) if mode == "valid" else (5, 7)
    images = np.random.RandomState(0).rand(2, 3, *size)
    back = evaluate(lambda x: neibs2images(images2neibs(x, (2, 3), mode=mode), (2, 3), x.shape, mode), images, mode=None)
    expected = images.copy()
    expected[:, :, 4:], expected[:, :, :, 6:] = 0, 0
    np.testing.assert_array_equal(back, expected)


@pytest.mark.parametrize("mode, size, shape, step", [c for c in CASES if c[0] in ("valid", "ignore_borders")])
def test_gradients(mode, size, shape, step):
    images = np.random.RandomState(0).rand(2, 1, *size)
    theano.gradient.verify_grad(lambda x: images2neibs(x, shape, step, mode), [images], rng=np.random.RandomState(0))
    second = lambda x: theano.grad((images2neibs(x, shape, step, mode) ** 3).sum(), x)
    theano.gradient.verify_grad(second, [images], rng=np.random.RandomState(0))


def test_gradient_of_the_way_back():
    neibs = np.random.RandomState(0).rand(12, 4)
    theano.gradient.verify_grad(lambda n: neibs2images(n, (2, 2), (1, 2, 4, 6)), [neibs], rng=np.random.RandomState(0))
    theano.gradient.verify_grad(lambda n: neibs2images(n, (2, 2), (1, 2, 5, 7), "ignore_borders"), [neibs],
                                rng=np.random.RandomState(0))  # fmt: skip


@pytest.mark.parametrize("mode", [PLAIN, None])
def test_what_does_not_fit(mode):
    x = T.dtensor4()
    for size, shape, kind in [((7, 4), (2, 2), "valid"), ((5, 5), (2, 2), "half"), ((5, 5), (2, 2), "full"),
                              ((6, 6), (2, 3), "wrap_centered"), ((2, 3), (3, 3), "wrap_centered")]:  # fmt: skip
        with pytest.raises(TypeError):
            theano.function([x], images2neibs(x, shape, mode=kind), mode=mode)(np.zeros((1, 1, *size)))
    for shape in ((0, 2), (2, 2, 2)):
        with pytest.raises(ValueError):
            theano.function([x], images2neibs(x, shape), mode=mode)(np.zeros((1, 1, 4, 4)))
    neibs = T.dmatrix()
    with pytest.raises(ValueError):
        theano.function([neibs], neibs2images(neibs, (2, 2), (1, 1, 4, 6)), mode=mode)(np.zeros((4, 4)))


def test_bad_arguments():
    with pytest.raises(NotImplementedError):
        Images2Neibs("same")
    with pytest.raises(NotImplementedError):
        neibs2images(T.dmatrix(), (2, 2), (1, 1, 4, 4), mode="full")
    with pytest.raises(TypeError):
        images2neibs(T.dmatrix(), (2, 2))
    with pytest.raises(TypeError):
        images2neibs(T.dtensor4(), (2.0, 2.0))
    for shape in ((0, 2), (2, 2, 2)):
        with pytest.raises(ValueError, match="neib_shape must be two positive numbers"):
            images2neibs(T.dtensor4(), shape)
    with pytest.raises(ValueError, match="neib_step must be two positive numbers"):
        images2neibs(T.dtensor4(), (2, 2), (1, -1))
    with pytest.raises(ValueError, match="original_shape must be four numbers"):
        neibs2images(T.dmatrix(), (2, 2), (1, 5, 5))
    with pytest.raises(ValueError, match=r"\[1, 1, 4, 5\].*\[2, 2\] must divide rows and columns"):
        neibs2images(T.dmatrix(), (2, 2), (1, 1, 4, 5))
    with pytest.raises(TypeError, match="original_shape"):
        neibs2images(T.dmatrix(), (2, 2), (1.0, 1.0, 4.0, 4.0))
    with pytest.raises(theano.gradient.NullTypeGradError):
        x = T.dtensor4()
        theano.grad(images2neibs(x, (3, 3), mode="half").sum(), x)


@pytest.mark.parametrize(("shape", "step", "mode"), [
    (2**32, 4, "half"), (2**32, 2**32 + 2, "full"), (3, 2**63 - 1, "wrap_centered"), (2**31 - 1, 4, "half"),
])  # fmt: skip
def test_lengths_beyond_all_memory_are_errors(shape, step, mode):
    x, lengths = T.dtensor4(), T.lvectors(2)
    f = theano.function([x, *lengths], images2neibs(x, *lengths, mode))
    with pytest.raises((ValueError, TypeError, MemoryError)):
        f(np.ones((1, 1, 4, 4)), [shape, shape], [step, step])


@pytest.mark.parametrize("mode", ["valid", "ignore_borders", "wrap_centered", "half", "full"])
@pytest.mark.parametrize("dtype", ["int8", "float32", "complex128"])
def test_few_windows_of_large_images(mode, dtype):
    """They are those that begin at such places among all windows."""
    images = theano.tensor.TensorType(dtype, (False,) * 4)()
    shape, step = theano.tensor.lvectors(2)
    f = theano.function([images, shape, step], images2neibs(images, shape, step, mode=mode))
    values = np.random.default_rng(0).integers(1, 100, (2, 3, 13, 15)).astype(dtype)
    for length in ((3, 3), (5, 1), (1, 7)):
        all_windows = f(values, length, (1, 1))
        around = {"half": 1, "full": 2}.get(mode, 0)
        count = [n if mode == "wrap_centered" else n + around * (k - 1) - k + 1 for n, k in zip((13, 15), length)]
        steps = [max(n - 1, 1) if mode not in ("wrap_centered", "ignore_borders") else 6 for n in count]
        chosen = all_windows.reshape(2, 3, *count, -1)[:, :, :: steps[0], :: steps[1]]
        for layout in (values, np.asfortranarray(values), values[..., ::-1].copy()[..., ::-1]):
            assert np.array_equal(f(layout, length, steps), chosen.reshape(-1, chosen.shape[-1]))


def test_windows_of_a_repeated_pixel_take_no_copy_of_the_image():
    images = theano.tensor.ftensor4()
    f = theano.function([images], images2neibs(images, (2, 2), (1 << 21, 1 << 21), mode="ignore_borders"))
    repeated = np.broadcast_to(np.float32(3), (1, 1, 1 << 22, 1 << 22))
    assert np.array_equal(f(repeated), np.full((4, 4), 3, "float32"))
