"""Convolutions of well-known networks: forward, gradient with respect to the filters, gradient with respect to the images.

``python -m benchmarks.convolution [--quick] [--only REGEX] [--threads N]`` prints one line a row, the geometric mean of each
direction against the best peer of each row, and the rows in which that peer is beaten by less than `WORST` allows. The C code
writes the columns of one image and calls BLAS, as the original's ``conv_gemm`` did; ``--original PYTHON`` adds that itself.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import compile_c, importable, row
from benchmarks.original import Original

DIRECTIONS = ("forward", "weights", "inputs")
BATCHES = (1, 8, 32)
MOST_PRODUCTS = 1.5e9
"""Multiply-adds of a call: the larger batches of a layer are left out beyond it."""
WORST = 1.3

C_CODE = """
typedef void (*gemm_fn)(char *, char *, int *, int *, int *, T *, T *, int *, T *, int *, T *, T *, int *);
typedef struct { long b, c, h, w, f, kh, kw, sh, sw, ph, pw, dh, dw, g, oh, ow; } Shape;

static void columns(const Shape *s, const T *x, T *col)
{
    for (long c = 0; c < s->c / s->g; c++) for (long ky = 0; ky < s->kh; ky++) for (long kx = 0; kx < s->kw; kx++)
        for (long y = 0; y < s->oh; y++, col += s->ow) {
            const long iy = y * s->sh - s->ph + ky * s->dh;
            for (long o = 0; o < s->ow; o++) {
                const long ix = o * s->sw - s->pw + kx * s->dw;
                col[o] = iy < 0 || iy >= s->h || ix < 0 || ix >= s->w ? 0 : x[(c * s->h + iy) * s->w + ix];
            }
        }
}

static void image(const Shape *s, T *x, const T *col)
{
    for (long i = 0; i < s->c / s->g * s->h * s->w; i++) x[i] = 0;
    for (long c = 0; c < s->c / s->g; c++) for (long ky = 0; ky < s->kh; ky++) for (long kx = 0; kx < s->kw; kx++)
        for (long y = 0; y < s->oh; y++, col += s->ow) {
            const long iy = y * s->sh - s->ph + ky * s->dh;
            if (iy < 0 || iy >= s->h) continue;
            for (long o = 0; o < s->ow; o++) {
                const long ix = o * s->sw - s->pw + kx * s->dw;
                if (ix >= 0 && ix < s->w) x[(c * s->h + iy) * s->w + ix] += col[o];
            }
        }
}

void convolve(int direction, const Shape *s, T *x, T *w, T *top, T *col, gemm_fn gemm)
{
    int p = s->oh * s->ow, k = s->c / s->g * s->kh * s->kw, f = s->f / s->g;
    const int pointwise = s->kh * s->kw == 1 && s->sh * s->sw == 1 && s->ph + s->pw == 0;
    T one = 1, zero = 0;
    for (long b = 0; b < s->b; b++) for (long g = 0; g < s->g; g++) {
        T *xg = x + (b * s->c + g * (s->c / s->g)) * s->h * s->w, *wg = w + g * f * k, *tg = top + (b * s->f + g * f) * p;
        T *cols = pointwise ? xg : col;
        if (direction < 2 && !pointwise) columns(s, xg, col);
        if (direction == 0) gemm("N", "N", &p, &f, &k, &one, cols, &p, wg, &k, &zero, tg, &p);
        else if (direction == 1) gemm("T", "N", &k, &f, &p, &one, cols, &p, tg, &p, b ? &one : &zero, wg, &k);
        else {
            gemm("N", "T", &p, &k, &f, &one, tg, &p, wg, &k, &zero, cols, &p);
            if (!pointwise) image(s, xg, col);
        }
    }
}
"""


class Layer(NamedTuple):
    """A convolution: channels and lengths of images, number and lengths of filters; `quick` ones are in the short list."""

    name: str
    channels: int
    image: tuple[int, ...]
    filters: int
    kernel: tuple[int, ...]
    pad: int = 0
    stride: int = 1
    dilation: int = 1
    groups: int = 1
    quick: bool = False

    @property
    def top(self) -> tuple[int, ...]:
        return tuple((n + 2 * self.pad - self.dilation * (k - 1) - 1) // self.stride + 1 for n, k in zip(self.image, self.kernel))

    @property
    def products(self) -> int:
        return self.filters * self.channels // self.groups * math.prod(self.kernel) * math.prod(self.top)

    def __str__(self) -> str:
        size, kernel = "x".join(map(str, self.image)), "x".join(map(str, self.kernel))
        unusual = ((letter, n) for letter, n in (("/", self.stride), ("d", self.dilation), ("g", self.groups)) if n != 1)
        extra = "".join(f" {letter}{n}" for letter, n in unusual)
        return f"{self.name} {self.channels}x{size} {self.filters} {kernel}{extra}"


def _square(name: str, channels: int, size: int, filters: int, kernel: int, *more: Any, **keywords: Any) -> Layer:
    return Layer(name, channels, (size, size), filters, (kernel, kernel), *more, **keywords)


LAYERS = (
    _square("LeNet", 1, 28, 20, 5, quick=True),
    _square("LeNet", 20, 12, 50, 5, quick=True),
    _square("AlexNet", 3, 224, 64, 11, 2, 4, quick=True),
    _square("AlexNet", 64, 27, 192, 5, 2, quick=True),
    _square("AlexNet", 192, 13, 384, 3, 1),
    _square("AlexNet", 384, 13, 256, 3, 1),
    _square("AlexNet", 256, 13, 256, 3, 1, quick=True),
    _square("VGG", 3, 224, 64, 3, 1, quick=True),
    _square("VGG", 64, 224, 64, 3, 1),
    _square("VGG", 64, 112, 128, 3, 1),
    _square("VGG", 128, 112, 128, 3, 1),
    _square("VGG", 128, 56, 256, 3, 1),
    _square("VGG", 256, 56, 256, 3, 1),
    _square("VGG", 256, 28, 512, 3, 1),
    _square("VGG", 512, 28, 512, 3, 1),
    _square("VGG", 512, 14, 512, 3, 1),
    _square("ResNet", 3, 224, 64, 7, 3, 2, quick=True),
    _square("ResNet", 64, 56, 64, 1, quick=True),
    _square("ResNet", 64, 56, 64, 3, 1, quick=True),
    _square("ResNet", 64, 56, 256, 1),
    _square("ResNet", 256, 56, 64, 1),
    _square("ResNet", 128, 56, 128, 3, 1, 2, quick=True),
    _square("ResNet", 128, 28, 128, 3, 1),
    _square("ResNet", 128, 28, 512, 1),
    _square("ResNet", 512, 28, 128, 1),
    _square("ResNet", 256, 56, 512, 1, 0, 2, quick=True),
    _square("ResNet", 256, 28, 256, 3, 1, 2),
    _square("ResNet", 256, 14, 256, 3, 1, quick=True),
    _square("ResNet", 256, 14, 1024, 1, quick=True),
    _square("ResNet", 1024, 14, 256, 1),
    _square("ResNet", 1024, 14, 2048, 1, 0, 2),
    _square("ResNet", 512, 7, 512, 3, 1, quick=True),
    _square("ResNet", 512, 7, 2048, 1),
    _square("ResNet", 2048, 7, 512, 1),
    _square("MobileNet", 32, 112, 32, 3, 1, groups=32, quick=True),
    _square("MobileNet", 64, 112, 64, 3, 1, 2, groups=64, quick=True),
    _square("MobileNet", 128, 56, 128, 3, 1, groups=128),
    _square("MobileNet", 256, 28, 256, 3, 1, 2, groups=256),
    _square("MobileNet", 512, 14, 512, 3, 1, groups=512, quick=True),
    _square("MobileNet", 1024, 7, 1024, 3, 1, groups=1024),
    _square("MobileNet", 32, 112, 64, 1),
    _square("MobileNet", 512, 14, 512, 1, quick=True),
    _square("dilated", 256, 28, 256, 3, 2, 1, 2, quick=True),
    _square("ResNeXt", 128, 56, 128, 3, 1, groups=32, quick=True),
    Layer("3d", 16, (16, 32, 32), 32, (3, 3, 3), 1, quick=True),
)
IN_DOUBLE = ("LeNet", "ResNet", "MobileNet", "3d")
"""The quick layers of these are measured in float64, too."""


class Case(NamedTuple):
    layer: Layer
    batch: int
    dtype: str
    direction: str

    def __str__(self) -> str:
        return f"{self.layer} batch {self.batch} {self.dtype} {self.direction}"

    def arrays(self) -> list[np.ndarray]:
        """Images, filters, gradient with respect to the result."""
        rng = np.random.RandomState(0)
        layer = self.layer
        shapes = (
            (self.batch, layer.channels, *layer.image),
            (layer.filters, layer.channels // layer.groups, *layer.kernel),
            (self.batch, layer.filters, *layer.top),
        )
        return [rng.uniform(-1, 1, shape).astype(self.dtype) for shape in shapes]


def cases(quick: bool) -> Iterator[Case]:
    for dtype in ("float32", "float64"):
        for layer in LAYERS:
            if (quick and not layer.quick) or (dtype == "float64" and not (layer.quick and layer.name in IN_DOUBLE)):
                continue
            fitting = [b for b in BATCHES if b == 1 or b * layer.products <= MOST_PRODUCTS]
            for batch in fitting[-1:] if quick or dtype == "float64" else fitting:
                for direction in DIRECTIONS:
                    yield Case(layer, batch, dtype, direction)


# ---- the contenders


def theano_call(case: Case, arrays: list[np.ndarray]) -> Callable[[], Any]:
    import theano
    import theano.tensor as T

    layer = case.layer
    kind = T.TensorType(case.dtype, (False,) * arrays[0].ndim)
    x, w, d = kind("x"), kind("w"), kind("d")
    out = _symbolic(T, layer, x, w, arrays)
    if case.direction == "forward":
        function = theano.function([x, w], out)
        return lambda: function(arrays[0], arrays[1])
    wrt = w if case.direction == "weights" else x
    function = theano.function([x, w, d], theano.grad(None, wrt, known_grads={out: d}), on_unused_input="ignore")
    return lambda: function(*arrays)


def _symbolic(T: Any, layer: Layer, x: Any, w: Any, arrays: list[np.ndarray]) -> Any:
    nd = len(layer.image)
    options = {
        "border_mode": (layer.pad,) * nd,
        "subsample": (layer.stride,) * nd,
        "filter_dilation": (layer.dilation,) * nd,
        "num_groups": layer.groups,
        "filter_flip": False,
        "input_shape": arrays[0].shape,
        "filter_shape": arrays[1].shape,
    }
    return T.nnet.conv2d(x, w, **options) if nd == 2 else T.nnet.conv3d(x, w, **options)


def torch_calls(case: Case, arrays: list[np.ndarray], torch: Any) -> dict[str, Callable[[], Any]]:
    layer, nd = case.layer, len(case.layer.image)
    options = [[layer.stride] * nd, [layer.pad] * nd, [layer.dilation] * nd]
    last = torch.channels_last if nd == 2 else torch.channels_last_3d
    wanted = [case.direction == "inputs", case.direction == "weights", False]
    calls = {}
    for name, layout in (("PyTorch", torch.contiguous_format), ("PyTorch, channels last", last)):
        x, w, d = (torch.from_numpy(a).contiguous(memory_format=layout) for a in arrays)
        if case.direction == "forward":
            calls[name] = lambda x=x, w=w: torch.convolution(x, w, None, *options, False, [0] * nd, layer.groups)
        else:
            calls[name] = lambda x=x, w=w, d=d: torch.ops.aten.convolution_backward(
                d, x, w, None, *options, False, [0] * nd, layer.groups, wanted)[0 if wanted[0] else 1]  # fmt: skip
    return calls


def jax_call(case: Case, arrays: list[np.ndarray], jax: Any) -> Callable[[], Any]:
    layer, nd = case.layer, len(case.layer.image)
    jax.config.update("jax_enable_x64", True)

    def forward(x: Any, w: Any) -> Any:
        pad, dilation = [(layer.pad, layer.pad)] * nd, [layer.dilation] * nd
        return jax.lax.conv_general_dilated(
            x, w, [layer.stride] * nd, pad, rhs_dilation=dilation, feature_group_count=layer.groups
        )

    x, w, d = (jax.numpy.asarray(a) for a in arrays)
    if case.direction == "forward":
        compiled = jax.jit(forward)
        return lambda: jax.block_until_ready(compiled(x, w))
    if case.direction == "weights":
        compiled = jax.jit(lambda x, w, d: jax.vjp(lambda w: forward(x, w), w)[1](d)[0])
    else:
        compiled = jax.jit(lambda x, w, d: jax.vjp(lambda x: forward(x, w), x)[1](d)[0])
    return lambda: jax.block_until_ready(compiled(x, w, d))


_libraries: dict[str, Any] = {}


def c_call(case: Case, arrays: list[np.ndarray]) -> Callable[[], Any] | None:
    """im2col and BLAS, in C; None without SciPy, which brings the address of BLAS, and for three dims."""
    layer = case.layer
    if len(layer.image) != 2 or not importable("scipy"):
        return None
    from scipy.linalg import cython_blas

    kind, name = ("float", "sgemm") if case.dtype == "float32" else ("double", "dgemm")
    if case.dtype not in _libraries:
        _libraries[case.dtype] = compile_c(f"#define T {kind}\n" + C_CODE)
    capsule = cython_blas.__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    gemm = ctypes.c_void_p(api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule)))
    (h, w), (kh, kw), (oh, ow) = layer.image, layer.kernel, layer.top
    shape = np.array([case.batch, layer.channels, h, w, layer.filters, kh, kw, layer.stride, layer.stride, layer.pad, layer.pad,
                      layer.dilation, layer.dilation, layer.groups, oh, ow], "int64")  # fmt: skip
    columns = np.empty(layer.channels // layer.groups * kh * kw * oh * ow, case.dtype)
    operands = list(arrays)
    index = {"forward": 2, "weights": 1, "inputs": 0}[case.direction]
    operands[index] = np.empty_like(operands[index])
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (shape, *operands, columns)]
    call = _libraries[case.dtype].convolve

    def run() -> np.ndarray:
        call(ctypes.c_int(DIRECTIONS.index(case.direction)), *pointers, gemm)
        return operands[index]

    run.arrays = (shape, operands, columns)  # type: ignore[attr-defined]
    return run


def original_call(name: str) -> Callable[[], Any]:
    """The case of this name, built by the Theano of the process."""
    case = next(case for case in cases(quick=False) if str(case) == name)
    return theano_call(case, case.arrays())


def contenders(case: Case, threads: int, original: Original | None = None) -> dict[str, Callable[[], Any]]:
    arrays = case.arrays()
    calls = {"Theano": theano_call(case, arrays)}
    torch, jax = importable("torch"), importable("jax")
    if torch:
        torch.set_num_threads(threads)
        calls |= torch_calls(case, arrays, torch)
    if jax:
        calls["JAX"] = jax_call(case, arrays, jax)
    c = c_call(case, arrays)
    if c:
        calls["C"] = c
    ours = np.asarray(calls["Theano"]())
    for name, call in calls.items():
        theirs = np.asarray(call())
        np.testing.assert_allclose(ours, theirs, atol=1e-4 * max(1.0, float(np.abs(theirs).max())), err_msg=f"{case}: {name}")
    if original:
        call = original.call(case)
        np.testing.assert_allclose(call.total, np.abs(ours.astype("float64")).sum(), rtol=1e-4, err_msg=f"{case}: the original")
        calls["original"] = call
    return calls


def measured(case: Case, threads: int, seconds: float, original: Original | None = None) -> dict[str, Any]:
    """A row as `benchmarks.harness.row` gives it, checked against the best peer; `rate` in GFLOP a second."""
    calls = contenders(case, threads, original)
    measures = row(str(case), threads, calls, seconds, dict.fromkeys(calls, WORST))
    times, checks = measures["times"], measures["checks"]
    best = min(checks, key=lambda check: times[check.removeprefix("/ ")], default=None)
    rate = 2e-9 * case.batch * case.layer.products / times["Theano"]
    return measures | {"case": f"{case}, {rate:.1f} GFLOP/s", "direction": case.direction, "dtype": case.dtype,
                       "checks": {best: checks[best]} if best else {}}  # fmt: skip


def rows(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    found = []
    for case in cases(quick=False):
        found.append(measured(case, threads, min(seconds, 0.2)))
        yield found[-1]
    yield from means(found, threads)


def means(found: list[dict[str, Any]], threads: int) -> Iterator[dict[str, Any]]:
    """Rows of the geometric means against the best peers."""
    for dtype in ("float32", "float64"):
        for direction in DIRECTIONS:
            ratios = [value for row in found if (row["dtype"], row["direction"]) == (dtype, direction)
                      for value, _ in row["checks"].values()]  # fmt: skip
            if ratios:
                mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
                yield {"case": f"geometric mean of {len(ratios)} rows, {dtype}, {direction}", "threads": threads, "times": {},
                       "checks": {"/ best peer": [mean, 1.0]}}  # fmt: skip


def main() -> int:
    from benchmarks.table import as_text

    ask = argparse.ArgumentParser(prog="python -m benchmarks.convolution", description=__doc__,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    ask.add_argument("--quick", action="store_true", help="fewer layers, the largest batch of each")
    ask.add_argument("--only", default="", help="regular expression: rows whose name has it")
    ask.add_argument("--threads", type=int, default=1, help="threads of everybody (default: %(default)s)")
    ask.add_argument("--seconds", type=float, default=0.1, help="time for each contender of a row (default: %(default)s)")
    ask.add_argument("--original", metavar="PYTHON", help="an interpreter that has Theano 1.0.5, g++ and OpenBLAS")
    args = ask.parse_args()
    if not os.environ.get("_CONVOLUTION_CHILD"):
        from benchmarks.__main__ import limit_threads

        os.execve(sys.executable, [sys.executable, "-m", "benchmarks.convolution", *sys.argv[1:]],
                  dict(limit_threads(args.threads), _CONVOLUTION_CHILD="1"))  # fmt: skip
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.threads])
    original = Original(args.original, "benchmarks.convolution", args.threads) if args.original else None
    found = []
    for case in cases(args.quick):
        if re.search(args.only, str(case)):
            row = measured(case, args.threads, args.seconds, original)
            found.append(row)
            times = ", ".join(f"{name} {as_text(t)}" for name, t in row["times"].items())
            checks = ", ".join(f"{what} {value:.2f}" for what, (value, _) in row["checks"].items())
            print(f"{row['case']}: {times}; {checks}", flush=True)
    print()
    for row in found:
        for what, (value, limit) in row["checks"].items():
            if value > limit:
                print(f"above {limit}: {row['case']} {what} {value:.2f}")
    for row in means(found, args.threads):
        print(f"{row['case']}: {row['checks']['/ best peer'][0]:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
