"""Steps that make, reshape, join, split, order and accumulate."""

from __future__ import annotations

import numpy as np

import theano

from .graphs import Graph, Item, Reject, rule
from .rules_elementwise import largest, modest


def factors(g: Graph, size: int) -> list[int]:
    """Return a random shape of `size` elements."""
    if size == 0:
        return g.rng.choice([[0], [0, 1], [2, 0], [0, 3]])
    shape = []
    while size > 1:
        d = g.rng.choice([d for d in range(2, size + 1) if size % d == 0])
        shape.append(d)
        size //= d
    for _ in range(g.rng.randint(0, 2)):
        shape.insert(g.rng.randint(0, len(shape)), 1)
    return shape[:5] if len(shape) <= 5 else [int(np.prod(shape))]


@rule(5)
def reshape(g: Graph) -> None:
    x = g.pick("fiubc")
    shape = factors(g, x.value.size)
    style = g.rng.choice(["literal", "minus", "symbolic", "like"])
    if style == "minus" and shape and x.value.size:
        shape[g.rng.randrange(len(shape))] = -1
    if style == "like":
        other = g.pick("fiub", where=lambda i: i.value.size == x.value.size)
        g.apply(f"T.reshape({x.name}, T.shape({other.name}), ndim={other.ndim})", f"np.reshape({x.name}, {other.name}.shape)",
                dtype=x.dtype, copies=True)  # fmt: skip
        return
    entries = [g.integer(n) if style == "symbolic" else str(n) for n in shape]
    text = "(" + "".join(f"{n}, " for n in entries) + ")"
    symbolic = g.rng.choice([f"T.reshape({x.name}, {text})", f"{x.name}.reshape({text})"])
    g.apply(symbolic, f"np.reshape({x.name}, {text})", dtype=x.dtype, copies=True)


@rule(5)
def dimshuffle(g: Graph) -> None:
    x = g.pick("fiubc")
    order: list = [i for i in range(x.ndim) if not (x.broadcastable[i] and g.rng.random() < 0.5)]
    g.rng.shuffle(order)
    for _ in range(g.rng.choice([0, 0, 1, 2])):
        order.insert(g.rng.randint(0, len(order)), "x")
    g.apply(f"{x.name}.dimshuffle({order})", f"shuffle({x.name}, {order})", dtype=x.dtype, copies=True)


@rule(5)
def rearrange(g: Graph) -> None:
    x = g.pick("fiubc")
    n, a = x.ndim, x.name
    options = [
        (f"T.shape_padleft({a}, {(k := g.rng.randint(1, 2))})", f"{a}.reshape((1,) * {k} + {a}.shape)"),
        (f"T.shape_padright({a}, {(k := g.rng.randint(1, 2))})", f"{a}.reshape({a}.shape + (1,) * {k})"),
        (f"T.shape_padaxis({a}, {(k := g.rng.randint(-n - 1, n))})", f"np.expand_dims({a}, {k})"),
        (f"T.atleast_Nd({a}, {(k := g.rng.randint(1, 4))})", f"{a}.reshape((1,) * max(0, {k} - {n}) + {a}.shape)"),
        (f"T.squeeze({a})", f"np.squeeze({a}, axis={tuple(i for i in range(n) if x.broadcastable[i])})"),
        (f"{a}.T", f"{a}.T"),
        (f"T.flatten({a})" if n else f"{a}.flatten()", f"np.ravel({a})"),
        (f"{a}.ravel()", f"np.ravel({a})"),
    ]
    if n:
        k = g.rng.randint(1, n)
        options.append((f"T.flatten({a}, ndim={k})", f"{a}.reshape({a}.shape[:{k - 1}] + ({int(np.prod(x.shape[k - 1 :]))},))"))
        order = g.rng.sample(range(n), n)
        options += [
            (f"T.transpose({a}, {order})", f"np.transpose({a}, {order})"),
            (f"{a}.transpose({', '.join(map(str, order))})", f"np.transpose({a}, {order})"),
        ]
        i, j = g.rng.randrange(-n, n), g.rng.randrange(-n, n)
        options += [(f"T.swapaxes({a}, {i % n}, {j % n})", f"np.swapaxes({a}, {i % n}, {j % n})")]
        options += [(f"T.moveaxis({a}, {i}, {j})", f"np.moveaxis({a}, {i}, {j})")]
        ones = [d for d in range(n) if x.shape[d] == 1]
        if ones:
            d = g.rng.choice(ones)
            options += [(f"T.addbroadcast({a}, {d})", a), (f"T.unbroadcast({a}, {d})", a)] * 2
            pattern = tuple(d in ones and g.rng.random() < 0.5 for d in range(n))
            options.append((f"T.patternbroadcast({a}, {pattern})", a))
        if g.rng.random() < 0.3:
            options = [(f"T.specify_shape({a}, {x.shape})", a)]
    symbolic, numeric = g.rng.choice(options)
    g.apply(symbolic, numeric, dtype=x.dtype, copies=True)


@rule(3)
def shape_of(g: Graph) -> None:
    x = g.pick("fiubc")
    a = x.name
    options = [(f"T.shape({a})", f"np.array({a}.shape, 'int64')"), (f"{a}.size", f"np.int64({a}.size)")]
    if x.ndim:
        i = g.rng.randrange(x.ndim)
        options += [(f"{a}.shape[{i}]", f"np.int64({a}.shape[{i}])")] * 2
    symbolic, numeric = g.rng.choice(options)
    g.apply(symbolic, numeric, dtype="int64")


@rule(3)
def repeated(g: Graph) -> None:
    x = g.pick("fiubc")
    a = x.name
    style = g.rng.choice(["roll", "tile", "repeat", "repeat_each"])
    if style == "roll":
        axis = None if g.rng.random() < 0.3 or not x.ndim else g.rng.randrange(-x.ndim, x.ndim)
        if not x.value.size or not x.ndim:
            raise Reject
        shift = g.integer(g.rng.randint(-4, 4))
        g.apply(f"T.roll({a}, {shift}, axis={axis})", f"np.roll({a}, {shift}, axis={axis})", dtype=x.dtype, copies=True)
    elif style == "tile":
        count = g.rng.randint(max(x.ndim, 1), x.ndim + 1)
        reps = [g.rng.choice([0, 1, 1, 2, 2, 2, 3, 3]) for _ in range(count)]
        text = ", ".join(g.integer(r) for r in reps)
        g.apply(f"T.tile({a}, ({text},))", f"np.tile({a}, {reps})", dtype=x.dtype, copies=True)
    else:
        axis = None if g.rng.random() < 0.3 or not x.ndim else g.rng.randrange(-x.ndim, x.ndim)
        n = x.value.size if axis is None else x.shape[axis]
        if style == "repeat":
            repeats = g.integer(g.rng.randint(0, 3))
        else:
            dtype = g.rng.choice(["int64", "int32", "int8", "uint8"])
            repeats = g.input((n,), dtype, value=g.numbers.integers(0, 3, n)).name
        g.apply(f"T.repeat({a}, {repeats}, axis={axis})", f"np.repeat({a}, {repeats}, axis={axis})", dtype=x.dtype, copies=True)


@rule(5)
def joining(g: Graph) -> None:
    x = g.pick("fiubc", ndim=(1, 2, 3))
    axis = g.rng.randrange(-x.ndim, x.ndim)
    k = axis % x.ndim
    pieces = [x]

    def others(i: Item) -> tuple[int, ...]:
        return i.shape[:k] + i.shape[k + 1 :]

    for _ in range(g.rng.randint(1, 3)):
        found = [i for i in g.items if i.ndim == x.ndim and i.kind in "fiub" and others(i) == others(x)]
        if found and g.rng.random() < 0.6:
            pieces.append(g.rng.choice(found))
        else:
            shape = list(x.shape)
            shape[k] = g.rng.choice(g.profile.lengths)
            pieces.append(g.input(shape, g.random_dtype("fiub")))
    g.rng.shuffle(pieces)
    names = ", ".join(p.name for p in pieces)
    dtype = np.result_type(*[p.dtype for p in pieces]).name
    text = g.rng.choice([f"T.concatenate([{names}], axis={axis})", f"T.join({axis}, {names})"])
    g.apply(text, f"np.concatenate([{names}], axis={axis})", dtype=dtype, copies=True, exact=True)


@rule(3)
def stacking(g: Graph) -> None:
    x = g.pick("fiubc")
    others = [g.pick("fiub", shape=x.shape) for _ in range(g.rng.randint(0, 2))]
    axis = g.rng.randint(-x.ndim - 1, x.ndim)
    names = ", ".join(i.name for i in (x, *others))
    dtype = np.result_type(*[p.dtype for p in (x, *others)]).name
    g.apply(f"T.stack([{names}], axis={axis})", f"np.stack([{names}], axis={axis})", dtype=dtype, copies=True)


@rule(3)
def splitting(g: Graph) -> None:
    x = g.pick("fiubc", ndim=(1, 2, 3))
    axis = g.rng.randrange(x.ndim)
    n = x.shape[axis]
    cuts = sorted(g.rng.randint(0, n) for _ in range(g.rng.randint(0, 2)))
    sizes = np.diff([0, *cuts, n])
    which = g.rng.randrange(len(sizes))
    sizes_text = g.input((len(sizes),), "int64", value=sizes).name if g.rng.random() < 0.4 else str(sizes.tolist())
    index = (":, " * axis) + f"{int(sizes[:which].sum())}:{int(sizes[: which + 1].sum())}"
    text = f"T.split({x.name}, {sizes_text}, {len(sizes)}, axis={axis})"
    # A split in one piece gives the piece itself.
    g.apply(text + (f"[{which}]" if len(sizes) > 1 else ""), f"{x.name}[{index}]", dtype=x.dtype, copies=True)


@rule(4)
def creating(g: Graph) -> None:
    x = g.pick("fiub")
    a = x.name
    dtype = g.random_dtype("fiub")
    small = g.rng.randint(0, 4)
    n, m, k = g.integer(small), g.integer(g.rng.randint(0, 4)), g.integer(g.rng.randint(-2, 2))
    start, step = g.rng.randint(-3, 3), g.rng.choice([1, 2, -1, -2, 3])
    options = [
        (f"T.zeros_like({a})", f"np.zeros_like({a})", x.dtype),
        (f"T.ones_like({a}, dtype='{dtype}')", f"np.ones_like({a}, dtype='{dtype}')", dtype),
        (f"T.full_like({a}, 1)", f"np.full_like({a}, 1)", x.dtype),
        (f"T.zeros(({n}, {m}), dtype='{dtype}')", f"np.zeros(({n}, {m}), dtype='{dtype}')", dtype),
        (f"T.ones({n}, dtype='{dtype}')", f"np.ones({n}, dtype='{dtype}')", dtype),
        (f"T.full(({n}, {m}), 1, dtype='{dtype}')", f"np.full(({n}, {m}), 1, dtype='{dtype}')", dtype),
        (f"T.eye({n}, {m}, {k}, dtype='{dtype}')", f"np.eye({n}, {m}, {k}, dtype='{dtype}')", dtype),
        (f"T.tri({n}, {m}, {k}, dtype='{dtype}')", f"np.tri({n}, {m}, {k}, dtype='{dtype}')", dtype),
        (f"T.arange({n})", f"np.arange({n})", None),
        (f"T.arange({start}, {n}, {step}, dtype='int64')", f"np.arange({start}, {n}, {step}, dtype='int64')", "int64"),
        (f"T.arange(0.5, {n}, 0.75)", f"np.arange(0.5, {n}, 0.75)", None),
        (f"T.mgrid[0:{n}, 0:2][{(p := g.rng.randint(0, 1))}]", f"np.mgrid[0:{n}, 0:2][{p}]", None),
        (f"T.ogrid[0:{n}, 0:2][{p}]", f"np.ogrid[0:{n}, 0:2][{p}]", None),
        (f"T.extra_ops.bartlett({n})", f"np.bartlett({n})", "float64"),
    ]
    symbolic, numeric, wanted = g.rng.choice(options)
    if np.dtype(dtype).kind == "b" and "full(" in symbolic:
        raise Reject
    g.apply(symbolic, numeric, dtype=wanted, exact="bartlett" not in symbolic and "0.75" not in symbolic)


@rule(3)
def allocating(g: Graph) -> None:
    shape = g.random_shape(g.rng.randint(1, 3))
    x = g.pick("fiubc", where=lambda i: i.ndim <= len(shape))
    full = list(shape)
    for k in range(1, x.ndim + 1):
        if not x.broadcastable[-k]:
            full[-k] = x.shape[-k]
    entries = ", ".join(g.integer(n) for n in full)
    g.apply(f"T.alloc({x.name}, {entries})", f"np.broadcast_to({x.name}, ({entries},))", dtype=x.dtype, copies=True)


@rule(3)
def triangles(g: Graph) -> None:
    x = g.pick("fiub", ndim=2)
    a, k = x.name, g.rng.randint(-2, 2)
    options = [
        (f"T.tril({a}, {k})", f"np.tril({a}, {k})"),
        (f"T.triu({a}, {k})", f"np.triu({a}, {k})"),
        (f"T.identity_like({a})", f"np.eye({x.shape[0]}, {x.shape[1]}, dtype='{x.dtype}')"),
        (f"T.diag({a}, {k})", f"np.diag({a}, {k})"),
        (f"T.diagonal({a}, {k})", f"np.diagonal({a}, {k})"),
        (f"{a}.diagonal(offset={k}, axis1=1, axis2=0)", f"{a}.diagonal({k}, 1, 0)"),
        (f"{a}.trace()", f"np.trace({a})"),
    ]
    symbolic, numeric = g.rng.choice(options)
    dtype = x.dtype
    if "triu" in symbolic:
        # What is kept is told by 1 less numbers of the dtype, as in the original.
        dtype = theano.scalar.upcast("int8", dtype)
        numeric += f".astype('{dtype}')"
    if ("tri" in symbolic and x.kind == "b") or (("diag" in symbolic or "trace" in symbolic) and not _diagonal_fits(x, k)):
        raise Reject
    if "trace" in symbolic:
        g.apply(symbolic, numeric)
    else:
        g.apply(symbolic, numeric, dtype=dtype, copies="identity" not in symbolic, exact=True)


def _diagonal_fits(x: Item, k: int) -> bool:
    return -x.shape[0] <= k <= x.shape[1]


@rule(2)
def diagonals(g: Graph) -> None:
    style = g.rng.choice(["diag", "fill", "offset", "cube"])
    if style == "diag":
        x = g.pick("fiub", ndim=1)
        k = g.rng.randint(-2, 2)
        g.apply(f"T.diag({x.name}, {k})", f"np.diag({x.name}, {k})", dtype=x.dtype, copies=True)
    elif style == "cube":
        x = g.pick("fiub", ndim=3)
        if not _diagonal_fits_axes(x, 1, 2):
            raise Reject
        g.apply(f"T.diagonal({x.name}, 0, 1, 2)", f"np.diagonal({x.name}, 0, 1, 2)", dtype=x.dtype, copies=True)
    else:
        x = g.pick("fi", ndim=2)
        y = g.pick("fi", ndim=0)
        if np.result_type(x.dtype, y.dtype) != x.dtype:
            raise Reject
        k = g.rng.randint(-1, 1) if style == "offset" else 0
        text = f"T.fill_diagonal_offset({x.name}, {y.name}, {k})" if style == "offset" else f"T.fill_diagonal({x.name}, {y.name})"
        g.apply(text, f"np.where(np.eye({x.shape[0]}, {x.shape[1]}, {k}, dtype=bool), {y.name}.astype('{x.dtype}'), {x.name})",
                dtype=x.dtype, copies=True)  # fmt: skip


def _diagonal_fits_axes(x: Item, i: int, j: int) -> bool:
    return x.shape[i] > 0 and x.shape[j] > 0


# Order and accumulation.


@rule(3)
def sorting(g: Graph) -> None:
    x = g.pick("fiu")
    axis = None if g.rng.random() < 0.15 or not x.ndim else g.rng.randrange(-x.ndim, x.ndim)
    if not x.ndim and axis is not None:
        raise Reject
    if not x.ndim:
        raise Reject
    style = g.rng.choice(["sort", "argsort", "argsort"])
    if style == "sort":
        g.apply(f"T.sort({x.name}, axis={axis})", f"np.sort({x.name}, axis={axis})", dtype=x.dtype, copies=True)
    else:
        g.apply(f"T.argsort({x.name}, axis={axis}, kind='mergesort')", f"np.argsort({x.name}, axis={axis}, kind='stable')",
                dtype="int64", sharp=True)  # fmt: skip


@rule(2)
def largest_ones(g: Graph) -> None:
    x = g.pick("fiu", ndim=(1, 2, 3))
    axis = g.rng.randrange(-x.ndim, x.ndim)
    n = x.shape[axis]
    if n == 0:
        raise Reject
    k = g.rng.choice([k for k in range(-n, n + 1) if k])
    style = g.rng.choice(["topk", "argtopk"])
    # The order of the chosen ones is not defined: they are sorted.
    part = f"-{k}:" if k > 0 else f":{-k}"
    lead = ":, " * (axis % x.ndim)
    chosen = f"np.sort({x.name}, axis={axis})[{lead}{part}]"
    if style == "topk":
        g.apply(f"T.sort(T.topk({x.name}, {k}, axis={axis}), axis={axis})", chosen, dtype=x.dtype, copies=True)
    else:
        if len(np.unique(x.value)) != x.value.size:
            raise Reject
        order = f"np.sort(np.argsort({x.name}, axis={axis})[{lead}{part}], axis={axis})"
        g.apply(f"T.sort(T.argtopk({x.name}, {k}, axis={axis}), axis={axis})", order, dtype="int64", sharp=True)


@rule(4)
def cumulative(g: Graph) -> None:
    name = g.rng.choice(["cumsum", "cumsum", "cumprod", "diff"])
    x = g.pick("fiu" if name != "diff" else "fi", where=modest)
    if name == "diff":
        if not x.ndim:
            raise Reject
        axis, n = g.rng.randrange(-x.ndim, x.ndim), g.rng.randint(1, 2)
        g.apply(f"T.diff({x.name}, {n}, {axis})", f"np.diff({x.name}, {n}, {axis})", dtype=x.dtype)
        return
    axis = None if g.rng.random() < 0.3 or not x.ndim else g.rng.randrange(-x.ndim, x.ndim)
    text = g.rng.choice([f"T.{name}({x.name}, axis={axis})", f"{x.name}.{name}(axis={axis})"])
    wide = f"w({x.name})" if x.kind == "f" else x.name
    g.apply(text, f"np.{name}({wide}, axis={axis})", working=x.dtype)


@rule(2, grad=False)
def counting(g: Graph) -> None:
    x = g.pick("iu", ndim=1)
    if x.value.size and (np.min(x.value) < 0 or largest(x) > 20) or x.dtype == "uint64":
        raise Reject
    style = g.rng.choice(["plain", "weights", "minlength", "one_hot"])
    if style == "plain":
        g.apply(f"T.bincount({x.name})", f"np.bincount({x.name}).astype('{x.dtype}')", dtype=x.dtype)
    elif style == "weights":
        y = g.pick("f", shape=x.shape)
        g.apply(f"T.bincount({x.name}, weights={y.name})", f"np.bincount({x.name}, weights=w({y.name}))", working=y.dtype)
    elif style == "minlength":
        n = g.integer(g.rng.randint(0, 12))
        counts = f"np.bincount({x.name}, minlength={n})"
        g.apply(f"T.bincount({x.name}, minlength={n})", f"{counts}.astype('{x.dtype}')", dtype=x.dtype)
    else:
        n = int(largest(x)) + 1
        g.apply(f"T.extra_ops.to_one_hot({x.name}, {n}, dtype='float32')", f"np.eye({n}, dtype='float32')[{x.name}]",
                dtype="float32", exact=True)  # fmt: skip


@rule(2, grad=False)
def searching(g: Graph) -> None:
    x = g.pick("fi", ndim=1)
    y = g.pick("fi")
    side = g.rng.choice(["left", "right"])
    if g.rng.random() < 0.4:
        g.apply(f"T.searchsorted({x.name}, {y.name}, side='{side}', sorter=T.argsort({x.name}))",
                f"np.searchsorted(np.sort({x.name}), {y.name}, side='{side}')", dtype="int64", sharp=True)  # fmt: skip
    else:
        g.apply(f"T.searchsorted(T.sort({x.name}), {y.name}, side='{side}')",
                f"np.searchsorted(np.sort({x.name}), {y.name}, side='{side}')", dtype="int64", sharp=True)  # fmt: skip


@rule(2, grad=False)
def positions(g: Graph) -> None:
    style = g.rng.choice(["unique", "unravel", "ravel", "permutation", "unique_extra"])
    if style.startswith("unique"):
        x = g.pick("fiu", ndim=1, where=lambda i: i.exact)
        if style == "unique":
            g.apply(f"T.extra_ops.Unique()({x.name})", f"np.unique({x.name})", dtype=x.dtype, copies=True)
        else:
            k = g.rng.randint(1, 3)
            g.apply(f"T.extra_ops.Unique(True, True, True)({x.name})[{k}]",
                    f"np.unique({x.name}, True, True, True)[{k}].reshape(-1)", dtype="int64")  # fmt: skip
        return
    if style == "permutation":
        n = g.rng.randint(1, 5)
        x = g.input((n,), "int64", value=g.numbers.permutation(n))
        y = g.pick("fiu", ndim=(1, 2))
        if y.ndim and y.shape[-1] == n and g.rng.random() < 0.7 and not y.broadcastable[-1]:
            inverse = g.rng.choice([True, False])
            g.apply(f"T.permute_row_elements({y.name}, {x.name}, {int(inverse)})",
                    f"{y.name}[..., np.argsort({x.name})]" if inverse else f"{y.name}[..., {x.name}]", copies=True)  # fmt: skip
        else:
            g.apply(f"T.inverse_permutation({x.name})", f"np.argsort({x.name})", dtype="int64")
        return
    dims = (g.rng.randint(1, 4), g.rng.randint(1, 4))
    order = g.rng.choice(["C", "F"])
    shape = g.random_shape(g.rng.randint(0, 2))
    if style == "unravel":
        x = g.input(shape, "int64", value=g.numbers.integers(0, dims[0] * dims[1], shape))
        k = g.rng.randint(0, 1)
        g.apply(f"T.unravel_index({x.name}, {dims}, order='{order}')[{k}]",
                f"np.asarray(np.unravel_index({x.name}, {dims}, order='{order}')[{k}])", dtype="int64")  # fmt: skip
    else:
        mode = g.rng.choice(["raise", "wrap", "clip"])
        spread = 0 if mode == "raise" else 3
        a, b = (g.input(shape, "int64", value=g.numbers.integers(-spread, n + spread, shape)) for n in dims)
        g.apply(f"T.ravel_multi_index(({a.name}, {b.name}), {dims}, mode='{mode}', order='{order}')",
                f"np.asarray(np.ravel_multi_index(({a.name}, {b.name}), {dims}, mode='{mode}', order='{order}'))",
                dtype="int64")  # fmt: skip
