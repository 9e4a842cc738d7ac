"""Generated kernels against NumPy: shapes, strides of every sign, orders, dtypes, variants of launching."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from vm_tools import all_native, kernel_functions, runtime

import theano
import theano.tensor as T
from theano.native import ir
from theano.native.ir import let
from theano.native.target.cpu.compiler import kernel_source, load_kernels
from theano.scalar.expression import call, cast, constant, select, variable

SETTINGS = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
_built = {}


def f8(names):
    """Named values of float64."""
    return [variable(name, "float64") for name in names]


def build(kernel):
    """The function of a kernel; kept between the examples of a test."""
    if kernel not in _built:
        (_built[kernel],) = kernel_functions([kernel])
    return _built[kernel]


def binary(ndim, bcast_a, bcast_b, dtype="float64", compute=lambda a, b: a * b + a):
    return ir.elementwise(
        ndim,
        [ir.Operand(dtype, bcast_a), ir.Operand(dtype, bcast_b)],
        [ir.Output(dtype, tuple(range(ndim)))],
        [ir.Load("a", 0), ir.Load("b", 1)],
        [let("c", compute(variable("a", dtype), variable("b", dtype)))],
        [ir.Store(0, "c")],
    )


def reduction(op, acc, dtype, out_dtype, n_outer, n_inner, axes, body=None, value="x"):
    ndim = n_outer + n_inner
    return ir.Kernel(
        n_outer,
        n_inner,
        (ir.Operand(dtype, (False,) * ndim, axes),),
        (ir.Output(out_dtype, tuple(range(n_outer))),),
        (
            ir.Stage(
                loads=(ir.Load("x", 0),),
                body=body or (),
                reduces=(ir.Reduce(op, acc, value, "r"),),
                row=(ir.Stmt("q", out_dtype, variable("r", acc)),),
                row_stores=(ir.Store(0, "q"),),
            ),
        ),
    )


def softmax(axes, n_outer=1, dtype="float64"):
    ndim = len(axes)
    y, m, s, f, t = (variable(name, dtype) for name in "ymsft")
    return ir.Kernel(
        n_outer,
        ndim - n_outer,
        (ir.Operand(dtype, (False,) * ndim, axes),),
        (ir.Output(dtype, tuple(np.argsort(axes).tolist())),),
        (
            ir.Stage(loads=(ir.Load("x", 0),), reduces=(ir.Reduce("maximum", dtype, "x", "m"),)),
            ir.Stage(
                loads=(ir.Load("y", 0),),
                body=(let("e", call("exp", y - m)),),
                stores=(ir.Store(0, "e"),),
                reduces=(ir.Reduce("add", dtype, "e", "s"),),
                row=(let("t", 1 / s),),
            ),
            ir.Stage(loads=(ir.Reload("f", 0),), body=(let("g", f * t),), stores=(ir.Store(0, "g"),)),
        ),
    )


@st.composite
def laid_out(draw, shape, dtype=np.float64, seed=st.integers(0, 2**32 - 1)):
    """An array of the shape in any layout: permuted, with gaps, reversed, offset."""
    rng = np.random.default_rng(draw(seed))
    order = draw(st.permutations(range(len(shape))))
    steps = draw(st.lists(st.sampled_from([1, 1, 2, -1, -2, 3]), min_size=len(shape), max_size=len(shape)))
    big = [shape[a] * abs(steps[a]) + 1 for a in order]
    base = rng.integers(-50, 50, size=big).astype(dtype)
    view = base.transpose(np.argsort(order)) if shape else base
    return view[tuple(slice(None, None, s) for s in steps)][tuple(slice(0, n) for n in shape)] if shape else view


lengths = st.sampled_from([0, 1, 2, 3, 7, 16, 33, 70])


@SETTINGS
@given(data=st.data(), ndim=st.integers(0, 4))
def test_elementwise_with_broadcasting_of_any_layout(data, ndim):
    shape = [data.draw(lengths if ndim < 4 else st.sampled_from([1, 2, 5])) for _ in range(ndim)]
    flags = [data.draw(st.lists(st.booleans(), min_size=ndim, max_size=ndim)) for _ in range(2)]
    arrays = []
    for op in flags:
        own = [1 if op[d] else shape[d] for d in range(ndim)]
        arrays.append(data.draw(laid_out(own)))
    both = [d for d in range(ndim) if flags[0][d] and flags[1][d]]
    kernel = binary(ndim, tuple(flags[0]), tuple(flags[1]))
    (result,) = build(kernel)(arrays)
    expected = np.asarray(arrays[0] * arrays[1] + arrays[0])
    assert result.shape == expected.shape == tuple(1 if d in both else shape[d] for d in range(ndim))
    np.testing.assert_array_equal(result, expected)


@SETTINGS
@given(data=st.data(), ndim=st.integers(1, 3))
def test_output_in_place_of_input(data, ndim):
    shape = [data.draw(lengths) for _ in range(ndim)]
    a, b = data.draw(laid_out(shape)), data.draw(laid_out(shape))
    x = ir.Operand("float64", (False,) * ndim)
    p, q = f8("ab")
    kernel = ir.elementwise(
        ndim,
        [x, x],
        [ir.Output("float64", tuple(range(ndim)), alias=0), ir.Output("float64", tuple(range(ndim)))],
        [ir.Load("a", 0), ir.Load("b", 1)],
        [let("c", p - q), let("d", p + 2 * q)],
        [ir.Store(0, "c"), ir.Store(1, "d")],
    )
    expected = a - b, a + 2 * b
    results = build(kernel)([a, b])
    assert results[0] is a
    np.testing.assert_array_equal(results[0], expected[0])
    np.testing.assert_array_equal(results[1], expected[1])


@SETTINGS
@given(
    data=st.data(),
    op=st.sampled_from(["add", "maximum", "minimum", "mul"]),
    axes_kept=st.sampled_from(
        [((0, 1), 1), ((1, 0), 1), ((0, 1), 0), ((0, 1, 2), 1), ((0, 2, 1), 2), ((1, 0, 2), 1), ((2, 0, 1), 1),
         ((1, 2, 0), 2), ((0,), 0)]
    ),
)  # fmt: skip
def test_reductions_over_any_axes_of_any_layout(data, op, axes_kept):
    axes, kept = axes_kept
    shape = [data.draw(st.sampled_from([1, 2, 5, 33, 70, 300])) for _ in axes]
    if len(axes) == 3:
        shape = [min(n, 70) for n in shape]
    x = data.draw(laid_out(shape))
    if op == "mul":
        x = np.sign(x) + 0.0
    kernel = reduction(op, "float64", "float64", "float64", kept, len(axes) - kept, axes)
    (result,) = build(kernel)([x])
    ufunc = getattr(np, {"mul": "multiply"}.get(op, op))
    moved = x.transpose(axes)
    expected = ufunc.reduce(moved.reshape(*moved.shape[:kept], -1), axis=-1)
    np.testing.assert_array_equal(result, expected)


def test_reduction_over_batch_and_pixels_but_not_channels():
    kernel = reduction("add", "float64", "float64", "float64", 1, 3, (1, 0, 2, 3))
    rng = np.random.default_rng(0)
    for shape in ((5, 3, 9, 8), (2, 300, 9, 9), (40, 2, 30, 31), (1, 2, 3, 0)):
        x = rng.integers(-9, 9, size=shape).astype("float64")
        for y in (x, x[:, :, ::-1], x[..., ::2], x[::2]):
            np.testing.assert_array_equal(build(kernel)([y])[0], y.sum((0, 2, 3)))


@pytest.mark.parametrize("kept", [0, 1])
def test_reduction_of_nothing_gives_the_identity(kept):
    x = np.zeros((3, 0)) if kept else np.zeros((0, 3))
    for op, identity in (("add", 0.0), ("mul", 1.0), ("maximum", -np.inf)):
        kernel = reduction(op, "float64", "float64", "float64", kept, 2 - kept, (0, 1))
        (result,) = build(kernel)([x])
        np.testing.assert_array_equal(result, np.full((3,) if kept else (), identity))


def test_maximum_of_nothing_raises_where_asked():
    kernel = reduction("maximum", "float64", "float64", "float64", 0, 1, (0,))
    kernel = ir.Kernel(kernel.n_outer, kernel.n_inner, kernel.inputs, kernel.outputs, kernel.stages, nonempty=True)
    with pytest.raises(ValueError, match="zero-size array"):
        build(kernel)([np.zeros(0)])


@pytest.mark.parametrize("op", ["add", "maximum", "minimum", "mul"])
@pytest.mark.parametrize("axis", [0, 1])
def test_nan_and_infinities_in_reductions(op, axis):
    x = np.ones((70, 90))
    x[3, 4], x[60, 7], x[8, 70], x[69, 89] = np.nan, np.inf, -np.inf, np.nan
    kernel = reduction(op, "float64", "float64", "float64", 1, 1, (1 - axis, axis))
    (result,) = build(kernel)([x])
    with np.errstate(invalid="ignore"):
        expected = getattr(np, {"mul": "multiply"}.get(op, op)).reduce(x, axis=axis)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("dtype", [d for d in ir.DTYPES if d != "bool" and not d.startswith("complex")])
@pytest.mark.parametrize("op", ["add", "maximum", "minimum"])
def test_reductions_of_every_dtype(dtype, op):
    rng = np.random.default_rng(1)
    x = rng.integers(0, 20, size=(40, 150)).astype(dtype)
    for axes in ((0, 1), (1, 0)):
        acc = {"float16": "float32"}.get(dtype, dtype) if op == "add" else dtype
        kernel = reduction(op, acc, dtype, dtype, 1, 1, axes)
        (result,) = build(kernel)([x])
        exact = x.astype("float64") if dtype == "float16" else x
        expected = getattr(np, op).reduce(exact, axis=axes[1], **({"dtype": exact.dtype} if op == "add" else {}))
        np.testing.assert_array_equal(result, expected.astype(dtype))


@pytest.mark.parametrize("op", ["and", "or", "xor", "all", "any"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64"])
def test_bit_and_truth_reductions(op, dtype):
    x = np.random.default_rng(2).integers(0, 4, size=(33, 80)).astype(dtype)
    acc = "bool" if op in ("all", "any") else dtype
    for axes in ((0, 1), (1, 0)):
        (result,) = build(reduction(op, acc, dtype, acc, 1, 1, axes))([x])
        ufunc = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "all": np.logical_and, "any": np.logical_or}[op]  # fmt: skip  # noqa: E501
        np.testing.assert_array_equal(result, ufunc.reduce(x, axis=axes[1]))


@pytest.mark.parametrize("n", [1, 31, 32, 33, 2047, 2048, 2049, 16385, 100_003])
def test_long_sums_are_as_accurate_as_pairwise_ones(n):
    x = np.random.default_rng(n).random(n).astype("float32")
    (result,) = build(reduction("add", "float32", "float32", "float32", 0, 1, (0,)))([x])
    exact = x.sum(dtype="float64")
    assert abs(result - exact) <= 4e-7 * exact


@SETTINGS
@given(data=st.data(), case=st.sampled_from([((0, 1), 1), ((1, 0), 1), ((0, 1), 0), ((1, 2, 0), 2), ((1, 0, 2), 1)]))
def test_softmax_rows_of_any_layout(data, case):
    axes, kept = case
    shape = [data.draw(st.sampled_from([1, 2, 5, 33, 70])) for _ in axes]
    x = data.draw(laid_out(shape))
    (result,) = build(softmax(axes, kept))([x])
    moved = x.transpose(axes)
    flat = moved.reshape(*moved.shape[:kept], -1)
    e = np.exp(flat - flat.max(-1, keepdims=True))
    expected = (e / e.sum(-1, keepdims=True)).reshape(moved.shape).transpose(np.argsort(axes))
    np.testing.assert_allclose(result, expected, rtol=1e-14)


@SETTINGS
@given(data=st.data(), axis=st.sampled_from([0, 1, None]), largest=st.booleans())
def test_argmax_takes_the_first_and_nan(data, axis, largest):
    shape = [data.draw(st.sampled_from([1, 3, 40, 100])) for _ in range(2)]
    x = data.draw(laid_out(shape)).copy(order=data.draw(st.sampled_from("CF")))
    if data.draw(st.booleans()):
        x[data.draw(st.integers(0, shape[0] - 1)), data.draw(st.integers(0, shape[1] - 1))] = np.nan
    axes = (0, 1) if axis in (1, None) else (1, 0)
    kept = 0 if axis is None else 1
    loads = (ir.Load("x", 0),)
    first = ir.Stage(loads, reduces=(ir.Reduce("maximum" if largest else "minimum", "float64", "x", "m"),))
    second = ir.position_stage(loads, ir.variable("x", "float64"), "m", "at").replaced(row_stores=(ir.Store(0, "at"),))
    stages = (first, second)
    outputs = (ir.Output("int64", tuple(range(kept))),)
    kernel = ir.Kernel(kept, 2 - kept, (ir.Operand("float64", (False, False), axes),), outputs, stages, nonempty=True)
    (result,) = build(kernel)([x])
    np.testing.assert_array_equal(result, (np.argmax if largest else np.argmin)(x, axis=axis))


def test_several_reductions_with_row_operands_in_one_pass():
    """Mean and mean of squares, around a given centre of each row, and their combination."""
    float64 = "float64"
    x, c, d, s, t = f8("xcdst")
    kernel = ir.Kernel(
        1,
        1,
        (ir.Operand(float64, (False, False)), ir.Operand(float64, (False, True), (0, -1), 1)),
        (ir.Output(float64, (0,)), ir.Output(float64, (0, -1))),
        (
            ir.Stage(
                loads=(ir.Load("x", 0),),
                body=(let("d", x - c), let("dd", d * d)),
                reduces=(ir.Reduce("add", float64, "d", "s"), ir.Reduce("add", float64, "dd", "t")),
                row=(let("u", s + c), let("w", t - s * s)),
                row_stores=(ir.Store(0, "u"), ir.Store(1, "w")),
            ),
        ),
        row_loads=(ir.Load("c", 1),),
    )
    rng = np.random.default_rng(0)
    for shape in ((5, 7), (300, 200), (3, 40_000), (1, 1), (4, 0)):
        x, c = rng.integers(-5, 5, size=shape).astype(float64), rng.integers(-5, 5, size=shape[0]).astype(float64)
        u, w = build(kernel)([x, c])
        d = x - c[:, None]
        np.testing.assert_array_equal(u, d.sum(1) + c)
        np.testing.assert_array_equal(w, ((d * d).sum(1) - d.sum(1) ** 2)[:, None])


def test_mixed_dtypes_and_casts():
    dtypes = ("int8", "float32", "bool", "uint16")
    ops = [ir.Operand(d, (False,)) for d in dtypes]
    p, q, chosen, r = (variable(name, dtype) for name, dtype in zip("abcd", dtypes, strict=True))
    kernel = ir.elementwise(
        1,
        ops,
        [ir.Output("float64", (0,)), ir.Output("bool", (0,))],
        [ir.Load(n, i) for i, n in enumerate("abcd")],
        [
            let("r", select(chosen, cast(p, "float64") * cast(q, "float64"), cast(r, "float64"))),
            let("s", cast(p, "int32") < cast(r, "int32")),
        ],
        [ir.Store(0, "r"), ir.Store(1, "s")],
    )
    rng = np.random.default_rng(3)
    a = rng.integers(-100, 100, 77).astype("int8")
    b = rng.random(77).astype("float32")
    c = rng.integers(0, 2, 77).astype(bool)
    d = rng.integers(0, 50000, 77).astype("uint16")
    r, s = build(kernel)([a, b, c, d])
    np.testing.assert_array_equal(r, np.where(c, a.astype("float64") * b, d))
    np.testing.assert_array_equal(s, a < d)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_arithmetic(dtype):
    rng = np.random.default_rng(4)
    a, b = ((rng.random(50) + 1j * rng.random(50)).astype(dtype) for _ in range(2))
    (result,) = build(binary(1, (False,), (False,), dtype, lambda a, b: a * b + a / b))([a, b])
    np.testing.assert_allclose(result, a * b + a / b, rtol=3e-6 if dtype == "complex64" else 1e-15)


def test_transposed_operands_and_inserted_axes_need_no_copy():
    p, q = f8("ab")
    kernel = ir.elementwise(
        2,
        [ir.Operand("float64", (False, False), (1, 0)), ir.Operand("float64", (True, False), (-1, 0), 1)],
        [ir.Output("float64", (0, 1))],
        [ir.Load("a", 0), ir.Load("b", 1)],
        [let("c", p + q)],
        [ir.Store(0, "c")],
    )
    a, b = np.random.rand(50, 30), np.random.rand(50)
    np.testing.assert_array_equal(build(kernel)([a, b])[0], a.T + b)


def test_output_follows_the_memory_order_of_the_inputs():
    kernel = binary(2, (False, False), (False, False))
    a = np.asfortranarray(np.random.rand(20, 30))
    (result,) = build(kernel)([a, a])
    assert result.flags.f_contiguous
    np.testing.assert_array_equal(result, a * a + a)


@pytest.mark.parametrize("op", ["maximum", "add"])
def test_short_reductions_of_columns_are_loops_over_vectors_for_any_layout(op):
    short = reduction(op, "float32", "float32", "float32", 1, 1, (1, 0))
    body = (let("e", call("exp", variable("x", "float32"))),)
    long = reduction(op, "float32", "float32", "float32", 1, 1, (1, 0), body, "e")
    assert "TK_COLD static void kernel0p(" not in kernel_source([short])
    assert "TK_COLD static void kernel0p(" in kernel_source([long])
    for order in "CF":
        a = np.asarray(np.random.default_rng(1).uniform(size=(700, 90)), "float32", order=order)
        expected = a.max(0) if op == "maximum" else a.sum(0)
        np.testing.assert_allclose(build(short)([a])[0], expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex128"])
def test_an_operand_that_is_constant_along_memory_is_repeated(dtype):
    kernel = binary(2, (False, False), (True, False), dtype, lambda a, b: a + b)
    for shape in ((3, 1), (70, 9), (5001, 4)):
        a = np.asarray(np.arange(np.prod(shape)).reshape(shape) % 50, dtype, order="F")
        b = np.arange(shape[1], dtype=dtype).reshape(1, -1)
        np.testing.assert_array_equal(build(kernel)([a, b])[0], a + b)


def test_shape_mismatch_is_reported_with_inputs_and_axes():
    kernel = binary(2, (False, False), (False, False))
    with pytest.raises(ValueError, match=r"Input dimension mis-match. \(input\[0\].shape\[1\] = 3, input\[1\].shape\[1\] = 1\)"):
        build(kernel)([np.ones((2, 3)), np.ones((2, 1))])


@pytest.mark.parametrize(
    "shape", [(3_000_000,), (300, 5000), (5000, 300), (40_000, 20), (20, 40_000), (20, 1000, 60), (2, 90, 9000)]
)
def test_results_do_not_depend_on_the_number_of_threads(shape):
    rng = np.random.default_rng(5)
    x = rng.standard_normal(shape).astype("float32")
    kernels = [reduction("add", "float32", "float32", "float32", 0, x.ndim, tuple(range(x.ndim)))]
    if x.ndim == 2:
        kernels += [reduction("add", "float32", "float32", "float32", 1, 1, axes) for axes in ((0, 1), (1, 0))]
        kernels += [softmax((0, 1), 1, "float32"), softmax((1, 0), 1, "float32")]
    if x.ndim == 3:
        kernels += [reduction("add", "float32", "float32", "float32", 2, 1, (0, 2, 1))]
    before = runtime.get_threads()
    try:
        for kernel in kernels:
            built = build(kernel)
            for y in (x, x[..., ::2]):
                results = []
                for n in (1, 2, 3, 7):
                    runtime.set_threads(n)
                    results.append(built([y])[0].tobytes())
                assert len(set(results)) == 1
    finally:
        runtime.set_threads(before)


def test_threads_launch_at_once():
    import threading

    kernels = kernel_functions([binary(1, (False,), (False,))] * 8)
    x = np.random.rand(400_000)
    expected = x * x + x
    wrong = []

    def work(kernel):
        for _ in range(20):
            if not np.array_equal(kernel([x, x])[0], expected):
                wrong.append(1)

    before = runtime.get_threads()
    runtime.set_threads(4)
    try:
        threads = [threading.Thread(target=work, args=(kernel,)) for kernel in kernels]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        runtime.set_threads(before)
    assert not wrong


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="no fork")
def test_pool_works_in_a_forked_child():
    import os

    kernel = build(binary(1, (False,), (False,)))
    x = np.random.rand(2_000_000)
    before = runtime.get_threads()
    runtime.set_threads(3)
    try:
        expected = kernel([x, x])[0]
        pid = os.fork()
        if pid == 0:
            os._exit(0 if np.array_equal(kernel([x, x])[0], expected) else 1)
        assert os.waitpid(pid, 0)[1] == 0
    finally:
        runtime.set_threads(before)


def test_large_results_are_streamed_right_at_any_alignment():
    x = np.arange(8_000_003, dtype="float64")
    plain = binary(1, (False,), (False,))
    # The result takes the memory of an input that nothing reads.
    target = ir.Kernel(1, 0, (*plain.inputs, plain.inputs[0]), (ir.Output("float64", (0,), alias=2),), plain.stages)
    kernel = build(target)
    out = np.empty(8_000_010)
    for offset in (0, 1, 3):
        y = out[offset : offset + x.size]
        kernel([x, x, y])
        np.testing.assert_array_equal(y, x * x + x)


def test_kernels_that_differ_in_names_and_rank_share_code():
    one, two = load_kernels([binary(1, (False,), (False,)), binary(3, (False,) * 3, (False,) * 3)])
    assert one.symbol == two.symbol


@pytest.mark.parametrize(
    "change",
    [
        {"outputs": (ir.Output("float32", (0,)),)},
        {"outputs": ()},
        {"stages": ()},
        {"inputs": (ir.Operand("float64", (False, False)),)},
        {"inputs": (ir.Operand("floating", (False,)), ir.Operand("float64", (False,)))},
        {"n_outer": 40},
    ],
)
def test_the_verifier_names_what_is_wrong(change):
    kernel = binary(1, (False,), (False,))
    with pytest.raises(ir.IRError, match=r"\w"):
        ir.verify(kernel.replaced(**change))


def picking(at="at"):
    """``x - x[i, at[i]]`` in two stages, the element there set to -1."""
    float64 = "float64"
    picks = (ir.Pick(ir.Load("p", 0), at), ir.Pick(ir.Reload("q", 0), at))
    p, q, m, x, y = f8("pqmxy")
    half = let("m", (p + q) / 2)
    stages = (
        ir.Stage((ir.Load("x", 0),), (let("z", x),), (ir.Store(0, "z"),), row=(half,), picks=picks),
        ir.Stage((ir.Reload("y", 0),), (let("d", y - m),), (ir.Store(0, "d"),), row=(let("n", constant(-1, float64)),),
                 puts=(ir.Put(0, "n", "at"),)),
    )  # fmt: skip
    inputs = (ir.Operand(float64, (False, False)), ir.Operand("int64", (False, True), (0, -1), 1))
    return ir.Kernel(1, 1, inputs, (ir.Output(float64, (0, 1)),), stages, row_loads=(ir.Load("at", 1),))


def test_a_stage_that_only_picks_has_no_loop():
    (p,) = f8("p")
    stage = ir.Stage(row=(let("r", p + 1),), picks=(ir.Pick(ir.Load("p", 0), "at"),), row_stores=(ir.Store(0, "r"),))
    inputs = (ir.Operand("float64", (False, False)), ir.Operand("int64", (False, True), (0, -1), 1))
    kernel = ir.Kernel(1, 1, inputs, (ir.Output("float64", (0,)),), (stage,), row_loads=(ir.Load("at", 1),))
    assert "< n0; i++" not in kernel_source([kernel])


@SETTINGS
@given(data=st.data())
def test_single_elements_of_rows_of_any_layout(data):
    rows, columns = data.draw(st.tuples(st.integers(0, 9), st.integers(1, 70)))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    x, at = rng.standard_normal((rows, columns)), rng.integers(0, columns, rows)
    for layout in (x, np.asfortranarray(x), x[::-1, ::-1]):
        expected = layout - layout[np.arange(rows), at][:, None]
        expected[np.arange(rows), at] = -1
        np.testing.assert_array_equal(build(picking())([layout, at])[0], expected)


def test_the_verifier_wants_positions_that_are_integers_of_the_row():
    ir.verify(picking())
    for name in ("m", "nowhere"):
        with pytest.raises(ir.IRError, match="no integer row value"):
            ir.verify(picking(name))


def test_calls_by_turns_with_other_lengths_and_orders_of_memory():
    """What a call found out for its arrays serves the next one of the same dims and strides, and no other."""
    x, y, v = T.dmatrix(), T.dmatrix(), T.dvector()
    total = theano.shared(np.zeros(()))
    outputs = [x * y + v, T.exp(-T.sqr(x)).sum(axis=1), T.nnet.softmax(x + v), (x - x.mean()).T, T.set_subtensor(y[0], v) * 2]
    f = all_native([x, y, v], outputs, updates=[(total, total + x.sum())])
    rng = np.random.default_rng(0)
    orders = [
        np.ascontiguousarray,
        np.asfortranarray,
        lambda a: a[::-1, ::-1],
        lambda a: np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3],
    ]
    expected_total = 0.0
    for _ in range(150):
        shape = [(3, 4), (1, 4), (3, 1), (7, 40), (2, 300)][rng.integers(5)]
        a, b = (orders[rng.integers(4) if rng.integers(2) else 0](rng.standard_normal(shape)) for _ in range(2))
        w = rng.standard_normal(shape[1])
        if rng.integers(10) == 0:
            with pytest.raises(ValueError):
                f(a, rng.standard_normal((shape[0] + 1, shape[1] + 1)), w)
        product, sums, soft, centred, changed = f(a, b, w)
        np.testing.assert_allclose(product, a * b + w, rtol=1e-13)
        np.testing.assert_allclose(sums, np.exp(-(a**2)).sum(axis=1), rtol=1e-13)
        e = np.exp(a + w - (a + w).max(axis=1, keepdims=True))
        np.testing.assert_allclose(soft, e / e.sum(axis=1, keepdims=True), rtol=1e-12)
        np.testing.assert_allclose(centred, (a - a.mean()).T, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(changed, np.vstack([[2 * w], 2 * b[1:]]), rtol=1e-15)
        expected_total += a.sum()
        np.testing.assert_allclose(total.get_value(), expected_total, rtol=1e-9, atol=1e-9)


def test_few_elements_that_lie_apart_are_aligned():
    """Operands of a short row that are copied together begin where their types may (asked by `tests.sanitizers asan`)."""
    a, b, c = T.bvector(), T.dvector(), T.zvector()
    f = theano.function([a, b, c], [a + b, a * c])
    for n in (1, 3, 5, 51):
        given = [np.arange(2 * n).astype(v.dtype)[::2] for v in (a, b, c)]
        total, product = f(*given)
        assert (total == given[0] + given[1]).all() and (product == given[0] * given[2]).all()
