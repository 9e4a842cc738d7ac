"""Programs about arrays: elementwise work, reductions, indexing, shapes, products, random numbers."""

from __future__ import annotations

from tests.differential.generator import FLOATS, INTS, REAL, Writer, kind

UNARY = [
    "abs_",
    "exp",
    "exp2",
    "expm1",
    "neg",
    "log",
    "log2",
    "log10",
    "log1p",
    "sgn",
    "ceil",
    "floor",
    "iround",
    "trunc",
    "sqr",
    "sqrt",
    "cos",
    "arccos",
    "sin",
    "arcsin",
    "tan",
    "arctan",
    "cosh",
    "arccosh",
    "sinh",
    "arcsinh",
    "tanh",
    "arctanh",
    "erf",
    "erfc",
    "erfinv",
    "gamma",
    "gammaln",
    "psi",
    "inv",
    "real",
    "imag",
    "angle",
    "conj",
    "isnan",
    "isinf",
    "invert",
    "rad2deg",
    "deg2rad",
    "zeros_like",
    "ones_like",
    "nnet.sigmoid",
    "nnet.softplus",
    "nnet.relu",
    "nnet.hard_sigmoid",
    "nnet.ultra_fast_sigmoid",
    "identity_like",
    "cast_float",
    "round",
    "tri_gamma",
    "j0",
    "j1",
    "chi2sf",
]
BINARY = [
    "maximum",
    "minimum",
    "add",
    "sub",
    "mul",
    "true_div",
    "int_div",
    "floor_div",
    "mod",
    "pow",
    "arctan2",
    "eq",
    "neq",
    "lt",
    "le",
    "gt",
    "ge",
    "and_",
    "or_",
    "xor",
    "isclose",
    "allclose",
    "complex",
    "complex_from_polar",
]
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "<", "<=", ">", ">=", "&", "|", "^"]


def _unary(w: Writer, x: str) -> str:
    name = w.pick(*UNARY)
    if name == "round":
        return f"T.round({x}" + w.pick("", ", mode='half_to_even'", ", mode='half_away_from_zero'", ", mode='other'") + ")"
    if name == "cast_float":
        return f"T.cast({x}, {w.pick(repr(w.dtype()), repr('floatX'))})"
    if name == "identity_like":
        return f"T.{name}({x})"
    return f"T.{name}({x})"


def _binary(w: Writer, x: str, y: str) -> str:
    if w.r.random() < 0.5:
        return f"({x} {w.pick(*OPERATORS)} {y})"
    return f"T.{w.pick(*BINARY)}({x}, {y})"


@kind
def elementwise(w: Writer) -> None:
    """Mixed dtypes, broadcasting, numbers; now and then shapes that do not fit."""
    shape = w.shape()
    inputs = []
    for _ in range(w.r.randint(1, 3)):
        own = tuple(1 if w.r.random() < 0.2 else n for n in shape)[w.r.randrange(len(shape) + 1) if w.r.random() < 0.25 else 0 :]
        inputs.append(w.variable(shape=own))
    if w.r.random() < 0.05:
        inputs.append(w.variable())
    terms = list(inputs)
    for _ in range(w.r.randint(1, 3)):
        x = w.r.choice(terms)
        y = w.number() if w.r.random() < 0.3 else w.r.choice(terms)
        if w.r.random() < 0.35:
            made = _unary(w, x)
        elif w.r.random() < 0.15:
            made = w.pick(
                f"T.switch({_binary(w, x, y)}, {x}, {w.r.choice(terms)})",
                f"T.where({x}, {x}, {y})",
                f"T.clip({x}, {w.number()}, {w.number()})",
                f"({x}).clip({w.number()}, {w.r.choice(terms)})",
                f"divmod({x}, {y})[0]",
                f"T.add({x}, {y}, {w.r.choice(terms)})",
                f"T.mul({x}, {y}, {w.number()})",
                f"({x}).astype({w.dtype()!r})",
                f"{y} - {x}",
                f"T.ge({y}, {x})",
                f"abs({x})",
                f"-({x})",
                f"~({x})",
            )
        else:
            made = _binary(w, x, y)
        terms.append(w.evaluate(made, inputs))


AXES = [
    "None",
    "0",
    "1",
    "-1",
    "-2",
    "(0, 1)",
    "[0]",
    "(1,)",
    "[0, -1]",
    "2",
    "()",
    "np.int64(0)",
    "(0, 0)",
    "5",
    "1.5",
    "T.constant(0)",
]


@kind
def reductions(w: Writer) -> None:
    """All reductions with all arguments."""
    x = w.variable(shape=w.shape(w.r.choice([0, 1, 2, 2, 2, 3])))
    for _ in range(w.r.randint(2, 4)):
        name = w.pick(
            "sum", "prod", "mean", "var", "std", "max", "min", "any", "all", "argmax", "argmin", "ptp", "max_and_argmax", "norm"
        )
        axis = w.maybe(f", axis={w.pick(*AXES[:8], *AXES)}", 0.75)
        args = axis + w.maybe(f", keepdims={w.pick(True, False)}", 0.35)
        if name in ("sum", "prod", "mean"):
            args += w.maybe(f", dtype={w.dtype()!r}", 0.25) + w.maybe(f", acc_dtype={w.dtype()!r}", 0.15)
            if name == "prod":
                args += w.maybe(", no_zeros_in_input=True", 0.1)
        if name in ("var", "std"):
            args += w.maybe(f", ddof={w.r.randint(0, 2)}", 0.3) + w.maybe(", corrected=True", 0.2)
        if name == "norm":
            w.evaluate(f"({x}).norm({w.pick(1, 2, 3, 0, 'None', repr('inf'), 'np.inf')}{axis})", [x])
        elif name == "max_and_argmax":
            y = w.name("m")
            w.add(f"{y} = T.max_and_argmax({x}{args})")
            w.evaluate(f"{y}[0]", [x])
            w.evaluate(f"{y}[1]", [x])
        elif w.r.random() < 0.4 and name != "ptp":
            w.evaluate(f"({x}).{name}({args[2:]})", [x])
        else:
            w.evaluate(f"T.{name}({x}{args})", [x])


def _index(w: Writer, ndim: int, integers: list[str]) -> str:
    r = w.r
    entries = []
    for _ in range(r.randint(1, max(ndim, 1) + (r.random() < 0.1))):
        entries.append(
            r.choice(
                [
                    str(r.randint(-3, 3)),
                    f"{w.maybe(str(r.randint(-5, 5)))}:{w.maybe(str(r.randint(-5, 5)))}",
                    f"{w.maybe(str(r.randint(-4, 4)))}:{w.maybe(str(r.randint(-4, 4)))}:{r.choice([-2, -1, 2, 1, 3])}",
                    "::-1",
                    ":",
                    "None",
                    "...",
                    "[0, 1, 0]",
                    "[True, False, True]",
                    "np.array([[0, 1], [1, 0]])",
                    "[-1, 5]",
                    r.choice(integers),
                    f"{r.choice(integers)}:",
                    f":{r.choice(integers)}",
                    "np.newaxis",
                    "[[0], [1]]",
                    "np.int64(1)",
                    "T.constant([1, 0])",
                    "np.array([], dtype='int64')",
                ]
            )
        )
    return ", ".join(entries)


@kind
def indexing(w: Writer) -> None:
    """Slices, integers, arrays, masks, new axes; setting and incrementing."""
    shape = w.shape(w.r.choice([1, 2, 2, 3]))
    x = w.variable(shape=shape)
    i = w.variable(w.dtype(INTS), (), low=0, high=2)
    j = w.variable("int64", w.pick and (w.r.choice([2, 3]),), low=-1, high=2)
    inputs = [x, i, j]
    integers = [i, i, j]
    if w.r.random() < 0.3:
        mask = w.variable("bool", shape)
        inputs.append(mask)
        integers.append(mask)
    for _ in range(w.r.randint(1, 3)):
        index = _index(w, len(shape), integers)
        choice = w.r.random()
        if choice < 0.6:
            w.evaluate(f"{x}[{index}]", inputs)
        elif choice < 0.9:
            value = w.pick(w.number(), w.number(), f"{x}[{index}]", f"T.ones_like({x}[{index}])", i)
            y = w.evaluate(f"T.{w.pick('set_subtensor', 'inc_subtensor')}({x}[{index}], {value})", inputs)
            if w.r.random() < 0.2:
                w.evaluate(f"T.grad(T.sum({y}), {x})", inputs)
        else:
            w.evaluate(f"T.grad(T.sum({x}[{index}]), {x})", inputs)


@kind
def shapes(w: Writer) -> None:
    """Reshaping, joining, repeating, building."""
    r = w.r
    shape = w.shape(r.choice([1, 2, 2, 3]))
    x = w.variable(shape=shape)
    y = w.variable(shape=shape)
    n = w.variable(w.dtype(INTS), (), low=0, high=3)
    inputs = [x, y, n]
    d = [*range(len(shape))]
    r.shuffle(d)
    pattern = [*d]
    for _ in range(r.randint(0, 2)):
        pattern.insert(r.randrange(len(pattern) + 1), "x")  # type: ignore[arg-type]
    k = r.randint(-2, 3)
    total = 1
    for length in shape:
        total *= length
    choices = [
        lambda: f"{x}.dimshuffle({pattern})",
        lambda: f"{x}.dimshuffle({', '.join(map(repr, pattern))})",
        lambda: f"{x}.T",
        lambda: f"{x}.transpose({', '.join(map(str, d))})",
        lambda: f"T.transpose({x}, {d})",
        lambda: f"{x}.swapaxes(0, {k})",
        lambda: f"{x}.flatten({w.pick('', 1, 2, 0, 5)})",
        lambda: f"T.flatten({x}, {w.pick(1, 2)})",
        lambda: f"{x}.ravel()",
        lambda: f"{x}.reshape({w.pick((-1,), (total,), (1, -1), (-1, 2), (total, 1), (7, 7), (-1, -1))})",
        lambda: f"T.reshape({x}, {x}.shape[::-1])",
        lambda: f"T.reshape({x}, [{n}, -1], ndim=2)",
        lambda: f"{x}.reshape({x}.shape, ndim={w.pick(len(shape), 1)})",
        lambda: f"T.concatenate([{x}, {y}]{w.maybe(f', axis={k}')})",
        lambda: f"T.join({k}, {x}, {y})",
        lambda: f"T.join({n}, {x}, {y})",
        lambda: f"T.stack([{x}, {y}]{w.maybe(f', axis={k}')})",
        lambda: f"T.stack({x}, {y})",
        lambda: f"T.stacklists([[{x}, {y}], [{y}, {x}]])",
        lambda: f"T.horizontal_stack({x}, {y})",
        lambda: f"T.vertical_stack({x}, {y})",
        lambda: f"T.tile({x}, {w.pick(2, (2,), (1, 2), (2, 1, 2), n)}{w.maybe(', ndim=3', 0.2)})",
        lambda: f"T.repeat({x}, {w.pick(2, n, 0, '[1, 2, 0]', -1)}{w.maybe(f', axis={k}')})",
        lambda: f"{x}.repeat({w.pick(2, n)}, {k})",
        lambda: f"T.alloc({w.pick(x, n, 1.5, 2)}, {w.pick('2, 3', '3', f'{n}, 2', '2, 2, 2')})",
        lambda: (
            f"T.{w.pick('zeros', 'ones')}({w.pick('(2, 3)', n, f'({n}, 2)', f'{x}.shape', '3', '()', -1)}{w.maybe(f', dtype={w.dtype()!r}')})"  # noqa: E501
        ),
        lambda: (
            f"T.arange({w.pick(n, 3, '1, 6, 2', f'0, {n}', 2.5, '5, 0, -1', f'{n}, 7, 2')}{w.maybe(f', dtype={w.dtype()!r}', 0.3)})"  # noqa: E501
        ),
        lambda: f"T.eye({w.pick(3, n, '2, 3', '3, 4, 1', f'{n}, 3, -1')}{w.maybe(f', dtype={w.dtype()!r}', 0.3)})",
        lambda: f"T.tri({w.pick(3, '2, 3', '3, 3, 1')}{w.maybe(f', dtype={w.dtype()!r}', 0.3)})",
        lambda: f"T.{w.pick('tril', 'triu')}({x}, {k})",
        lambda: f"T.diag({x}{w.maybe(f', {k}')})",
        lambda: f"T.diagonal({x}, {k}{w.maybe(', 0, 1')})",
        lambda: f"T.roll({x}, {w.pick(k, n)}{w.maybe(f', axis={k}')})",
        lambda: f"T.extra_ops.squeeze({x})",
        lambda: f"{x}.squeeze()",
        lambda: f"T.shape_padleft({x}, {w.pick(1, 2)})",
        lambda: f"T.shape_padright({x})",
        lambda: f"T.shape_padaxis({x}, {k})",
        lambda: f"T.addbroadcast({x}, {k})",
        lambda: f"T.unbroadcast({x}, 0)",
        lambda: f"T.patternbroadcast({x}, {x}.broadcastable)",
        lambda: (
            f"T.take({x}, {w.pick(0, '[0, 1]', n, '[[0, 1], [1, 0]]')}{w.maybe(f', axis={k}')}"
            + w.maybe(f", mode={w.pick(repr('clip'), repr('wrap'), repr('raise'))}", 0.4)
            + ")"
        ),
        lambda: f"{x}.take([0, 1], {k})",
        lambda: f"T.choose({n}, [{x}, {y}]{w.maybe(', mode=' + w.pick(repr('wrap'), repr('clip')))})",
        lambda: f"T.nonzero({x}, return_matrix=True)",
        lambda: f"{x}.nonzero_values()",
        lambda: f"T.flatnonzero({x})",
        lambda: f"{x}.nonzero()[0]",
        lambda: f"T.extra_ops.{w.pick('cumsum', 'cumprod')}({x}{w.maybe(f', axis={k}')})",
        lambda: f"{x}.cumsum({k})",
        lambda: f"T.extra_ops.diff({x}, {w.pick(1, 2)}{w.maybe(f', axis={k}')})",
        lambda: f"T.extra_ops.bincount({w.pick(x, n)})",
        lambda: f"T.sort({x}{w.maybe(f', axis={w.pick(k, None)}')})",
        lambda: f"T.argsort({x}, {w.pick(k, None)})",
        lambda: f"{x}.sort()",
        lambda: f"T.topk({x}, {w.pick(1, 2, -1)}{w.maybe(f', axis={k}')})",
        lambda: f"T.extra_ops.Unique()({x})",
        lambda: f"T.extra_ops.searchsorted(T.sort({x}), {y})",
        lambda: f"T.extra_ops.fill_diagonal({x}, {w.number()})",
        lambda: f"T.extra_ops.to_one_hot(T.cast({x}, 'int64') % 3, 3)",
        lambda: f"T.extra_ops.compress([True, False], {x}{w.maybe(f', axis={k}')})",
        lambda: f"{x}.shape",
        lambda: f"{x}.shape[{k}]",
        lambda: f"{x}.size",
        lambda: f"T.shape({x})[0] + {n}",
        lambda: f"T.fill({x}, {w.number()})",
        lambda: f"T.split({x}, [1, 1], 2, axis=0)[1]",
        lambda: f"T.as_tensor_variable([{n}, {n}, 2])",
        lambda: f"T.as_tensor_variable({w.number()})",
        lambda: f"T.mgrid[0:2, 0:{k}][1]",
        lambda: "T.ogrid[0:3][0]",
        lambda: f"T.constant({w.number()})",
        lambda: f"{x}.copy()",
        lambda: f"T.specify_shape({x}, {shape})",
        lambda: f"T.specify_shape({x}, {(9,) * len(shape)})",
        lambda: f"T.identity_like({x})",
        lambda: f"T.zeros_like({x}{w.maybe(f', dtype={w.dtype()!r}')})",
        lambda: f"T.ones_like({x}{w.maybe(f', dtype={w.dtype()!r}')})",
        lambda: f"T.make_vector({n}, {n})" if w.r.random() < 0 else f"T.stack([{n}, {n} + 1.5])",
        lambda: f"T.power({x}, {k})",
        lambda: f"T.batched_dot({x}, {y})",
    ]
    for _ in range(r.randint(2, 4)):
        w.evaluate(r.choice(choices)(), inputs)


@kind
def products(w: Writer) -> None:
    """Dot products of all kinds, with gradients."""
    r = w.r
    n = [r.randint(1, 4) for _ in range(4)]
    dtypes = [w.dtype() if r.random() < 0.4 else w.dtype(FLOATS) for _ in range(2)]
    kinds = [
        ("T.dot({0}, {1})", (n[0], n[1]), (n[1], n[2])),
        ("T.dot({0}, {1})", (n[0],), (n[0], n[1])),
        ("T.dot({0}, {1})", (n[0], n[1]), (n[1],)),
        ("T.dot({0}, {1})", (n[0],), (n[0],)),
        ("T.dot({0}, {1})", (), (n[0], n[1])),
        ("T.dot({0}, {1})", (n[0], n[1], n[2]), (n[2], n[3])),
        ("{0}.dot({1})", (n[0], n[1]), (n[2], n[3])),
        ("T.outer({0}, {1})", (n[0],), (n[1],)),
        ("T.outer({0}, {1})", (n[0], n[1]), (n[1],)),
        ("T.tensordot({0}, {1}, axes=1)", (n[0], n[1]), (n[1], n[2], n[3])),
        ("T.tensordot({0}, {1}, axes=[[1], [0]])", (n[0], n[1]), (n[1], n[2])),
        ("T.tensordot({0}, {1}, axes=2)", (n[0], n[1], n[2]), (n[1], n[2])),
        ("T.tensordot({0}, {1}, axes=[[0, 1], [1, 0]])", (n[0], n[1]), (n[1], n[0])),
        ("T.batched_dot({0}, {1})", (n[0], n[1], n[2]), (n[0], n[2], n[3])),
        ("T.batched_dot({0}, {1})", (n[0], n[1]), (n[0], n[1])),
        ("T.batched_tensordot({0}, {1}, axes=[[2], [1]])", (n[0], n[1], n[2]), (n[0], n[2], n[3])),
        ("T.nlinalg.kron({0}, {1})", (n[0], n[1]), (n[2], n[3])),
        ("T.slinalg.kron({0}, {1})", (n[0], n[1]), (n[2], n[3])),
        ("T.dot({0}, {1}.T)", (n[0], n[1]), (n[0], n[1])),
        ("T.dot({0}.T, {1})", (n[0], n[1]), (n[0],)),
    ]
    form, a, b = r.choice(kinds)
    x, y = w.variable(dtypes[0], a), w.variable(dtypes[1], b)
    z = w.evaluate(form.format(x, y), [x, y])
    if r.random() < 0.5:
        w.evaluate(f"T.grad(T.sum({z} ** 2), [{x}, {y}])", [x, y])


@kind
def linear_algebra(w: Writer) -> None:
    """Matrices: decompositions, inverses, solutions."""
    r = w.r
    n = r.randint(1, 4)
    x = w.variable(w.dtype([*FLOATS, "int32", "complex128"]), (n, n))
    b = w.variable(w.dtype(FLOATS), r.choice([(n,), (n, 2)]))
    s = w.name("s")
    w.add(f"{s} = T.dot({x}, {x}.T) + np.eye({n}, dtype='float32') * 3")
    for _ in range(r.randint(1, 3)):
        made = w.pick(
            f"T.nlinalg.det({x})",
            f"T.nlinalg.matrix_inverse({x})",
            f"T.nlinalg.pinv({x})",
            f"T.nlinalg.trace({x})",
            f"T.nlinalg.eigh({s})[0]",
            f"T.nlinalg.svd({x})[1]",
            f"T.nlinalg.svd({x}, compute_uv=False)",
            f"T.nlinalg.qr({x})[1]",
            f"T.nlinalg.matrix_power({x}, {r.randint(-1, 4)})",
            f"T.nlinalg.norm({x}, {w.pick(None, 1, 2, repr('fro'), repr('inf'), repr('nuc'), -1)})",
            f"T.nlinalg.matrix_dot({x}, {x}, {s})",
            f"T.nlinalg.diag({x})",
            f"T.nlinalg.alloc_diag({b})",
            f"T.nlinalg.extract_diag({x})",
            f"T.slinalg.cholesky({s})",
            f"T.slinalg.solve({s}, {b})",
            f"T.slinalg.Solve()({s}, {b})",
            f"T.slinalg.solve_lower_triangular({s}, {b})",
            f"T.slinalg.solve_upper_triangular({s}, {b})",
            f"T.slinalg.expm({x})",
            f"T.slinalg.eigvalsh({s}, None)",
            f"T.nlinalg.tensorinv({x}.reshape(({n}, {n})), ind=1)",
            f"T.nlinalg.tensorsolve({s}, {b}[..., 0] if {b}.ndim == 2 else {b})",
            f"T.slinalg.Cholesky(lower=False)({s})",
            f"T.nlinalg.eig({s})[0]",
            f"T.nlinalg.lstsq()({x}, {b}, -1.0)[0]",
            f"T.slinalg.cholesky({x})",
        )
        z = w.evaluate(made, [x, b])
        if r.random() < 0.3:
            w.evaluate(f"T.grad(T.sum({z}), {x})", [x, b])


@kind
def neural_networks(w: Writer) -> None:
    """Functions of `tensor.nnet` and `tensor.signal`, with gradients."""
    r = w.r
    x = w.variable(w.dtype(FLOATS) if r.random() < 0.8 else w.dtype(REAL), (r.randint(1, 3), r.randint(1, 4)))
    p = w.variable(w.dtype(FLOATS), (3, 4), low=0.05, high=0.95)
    k = w.variable(w.dtype([*INTS, "int64"]), (3,), low=0, high=4)
    images = w.variable(w.dtype(FLOATS), (2, 2, r.randint(4, 6), 5))
    filters = w.variable(w.dtype(FLOATS), (3, 2, r.randint(1, 3), 2))
    choices = [
        f"T.nnet.softmax({x})",
        f"T.nnet.logsoftmax({x})",
        f"T.nnet.softmax({x}[0])",
        f"T.nnet.relu({x}, {w.pick(0, 0.1, 1)})",
        f"T.nnet.elu({x})",
        f"T.nnet.selu({x})",
        f"T.nnet.softsign({x})",
        f"T.nnet.binary_crossentropy({p}, {p} * 0.9)",
        f"T.nnet.categorical_crossentropy({p}, {k})",
        f"T.nnet.categorical_crossentropy({p}, {p})",
        f"T.nnet.crossentropy_softmax_1hot({p}, {k})[0]",
        f"T.nnet.sigmoid_binary_crossentropy({p}, {p})",
        f"T.nnet.crossentropy_categorical_1hot({p}, {k})",
        f"T.nnet.h_softmax({p}, 3, 4, 2, 2, {p}[:, :2].T, {p}[0, :2], T.ones((2, 4, 2)), T.zeros((2, 2)))",
        f"T.nnet.conv2d({images}, {filters}, border_mode={w.pick(repr('valid'), repr('full'), repr('half'), 1, (0, 1))}, subsample={w.pick((1, 1), (2, 1))}"  # noqa: E501
        + w.maybe(", filter_flip=False", 0.3)
        + w.maybe(f", filter_dilation={w.pick((1, 1), (2, 1))}", 0.2)
        + ")",
        f"T.signal.pool.pool_2d({images}, {w.pick((2, 2), (3, 2))}, ignore_border={w.pick(True, False)}{w.maybe(', mode=' + w.pick(repr('sum'), repr('average_inc_pad'), repr('average_exc_pad')))}"  # noqa: E501
        + w.maybe(", stride=(1, 2)", 0.3)
        + ")",
        f"T.nnet.neighbours.images2neibs({images}, (2, 2){w.maybe(', (1, 1)')}{w.maybe(', mode=' + repr('ignore_borders'))})",
        f"T.nnet.bn.batch_normalization_test({x}, T.ones((1, {x}v.shape[1])), T.zeros((1, {x}v.shape[1])), T.zeros((1, {x}v.shape[1])), T.ones((1, {x}v.shape[1])) * 2)",  # noqa: E501
        f"T.nnet.bn.batch_normalization({x}, 2.0, 1.0, {x}.mean(0), {x}.std(0) + 1)",
        f"T.nnet.softmax({images})",
        f"T.nnet.confusion_matrix({k}, {k})[0]",
        f"T.nnet.abstract_conv.bilinear_upsampling({images}, 2, batch_size=2, num_input_channels=2)",
    ]
    w.add("import theano.tensor.signal.pool", "import theano.tensor.nnet.neighbours")
    inputs = [x, p, k, images, filters]
    for _ in range(2):
        y = w.evaluate(r.choice(choices), inputs, 0.1)
        if r.random() < 0.5:
            w.evaluate(f"T.grad(T.sum({y} ** 2), {w.pick(x, p, images, filters)}, disconnected_inputs='ignore')", inputs, 0)


@kind
def random_numbers(w: Writer) -> None:
    """Streams with seeds: several calls, seeding again, no updates, sizes of all kinds."""
    r = w.r
    n = w.variable("int64", (), low=1, high=4)
    p = w.variable(w.dtype(FLOATS), (3,), low=0.1, high=0.9)
    mrg = r.random() < 0.5
    if mrg:
        w.add(
            "from theano.sandbox.rng_mrg import MRG_RandomStreams",
            f"rs = MRG_RandomStreams({w.pick(f'seed={r.randint(1, 9999)}', r.randint(1, 9999), '[1, 2, 3, 4, 5, 6]', -1, 0)})",
        )
    else:
        w.add(f"rs = T.shared_randomstreams.RandomStreams({w.pick(f'seed={r.randint(0, 9999)}', r.randint(0, 9999))})")
    size = w.pick("(2, 3)", "(3,)", f"({n}, 2)", "()", f"({n},)", "3", "None")
    dtype = w.maybe(f", dtype={w.dtype(['float32', 'float64', 'int64', 'int8', 'floatX'])!r}", 0.25)
    shared = [
        f"rs.uniform({size}{dtype})",
        f"rs.uniform(size={size}, low={w.pick(-1, 0.5, p)}, high={w.pick(2, 3.5)})",
        f"rs.normal({size}{dtype})",
        f"rs.normal(size=(3,), avg={p}, std={w.pick(2, p)})",
        f"rs.binomial({size}, n={w.pick(1, 5)}, p={w.pick(0.3, p)}{dtype})",
        f"rs.multinomial(size=(2,), n={w.pick(1, 4)}, pvals={w.pick('[0.2, 0.3, 0.5]', f'{p} / {p}.sum()')})",
        f"rs.binomial(size=(3,), p={p})",
    ]
    own = [
        "rs.multinomial(pvals=[[0.2, 0.8], [0.5, 0.5]], n=2)",
        "rs.choice(size=2, a=5, replace=False, p=np.ones((2, 5)) / 5)",
        "rs.truncated_normal((3, 2))",
        "rs.uniform((2, 3), nstreams=5)",
        "rs.multinomial_wo_replacement(pvals=[[0.2, 0.3, 0.5]], n=2)",
    ]
    numpys = [
        f"rs.random_integers({size}, low={w.pick(0, -2)}, high={w.pick(5, n)})",
        f"rs.permutation(size=(2,), n={w.pick(4, n)})",
        f"rs.choice(size=(3,), a={w.pick(4, '[1, 2, 5]')})",
        f"rs.poisson({size}, lam={w.pick(2, p)})",
        f"rs.shuffle_row_elements(T.stack([{p}, {p}]))",
        "rs.choice((2, 2), 5, replace=False)",
    ]
    draw = w.name("d")
    w.add(f"{draw} = {r.choice([*shared, *(own if mrg else numpys)])}", f"report({draw})")
    f = w.name("f")
    w.add(
        f"{f} = theano.function([{n}, {p}], [{draw}, {draw}.sum()]{w.maybe(', no_default_updates=True', 0.2)}, on_unused_input='ignore'{w.mode()})"  # noqa: E501
    )
    call = f"report({f}({n}v, {p}v))"
    w.add(call, call)
    if r.random() < 0.4:
        w.add(
            f"rs.seed({w.pick(r.randint(1, 99), '', 'None')})"
            if r.random() < 0.8 or mrg
            else f"{draw}.rng.set_value(np.random.RandomState(3))",
            call,
        )
    if r.random() < 0.4:
        other = w.name("d")
        w.add(
            f"{other} = {r.choice(shared)}",
            f"g = theano.function([{n}, {p}], [{other}, {draw}], on_unused_input='ignore')",
            f"report(g({n}v, {p}v))",
            call,
        )
    if r.random() < 0.2:
        w.add("report(len(rs.state_updates))")
