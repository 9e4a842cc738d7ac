"""Steps that index: reading, setting and incrementing by slices, integers, arrays and masks."""

from __future__ import annotations

import numpy as np

from .graphs import Graph, Item, Reject, rule


def random_slice(g: Graph, n: int) -> str:
    """Return the text of a slice, with bounds of either sign, in and out of range, literal or symbolic."""

    def bound() -> str:
        return "None" if g.rng.random() < 0.45 else g.integer(g.rng.randint(-n - 2, n + 2))

    step = g.rng.choice(["None", "None", "None", "1", "2", "-1", "-2", "3"])
    if step != "None":
        step = g.integer(int(step))
    return f"slice({bound()}, {bound()}, {step})"


def basic_index(g: Graph, x: Item) -> list[str]:
    """Return the entries of a basic index."""
    entries = []
    for n in x.shape[: g.rng.randint(0, x.ndim)]:
        if n and g.rng.random() < 0.3:
            entries.append(g.integer(g.rng.randint(-n, n - 1)))
        else:
            entries.append(random_slice(g, n) if g.rng.random() < 0.8 else "slice(None)")
    if g.rng.random() < 0.2:
        # Beside a new axis dimensions that are not named are an old program's matter.
        entries += ["slice(None)"] * (x.ndim - len(entries))
        entries.insert(g.rng.randint(0, len(entries)), "None")
    if g.rng.random() < 0.15:
        # Entries after the ellipsis belong to the last dimensions: only such that fit them all.
        cut = g.rng.randint(0, len(entries))
        tail = [e for e in entries[cut:] if e.startswith("slice") or e == "None"]
        entries = entries[:cut] + ["Ellipsis"] + tail
    return entries


def text_of(entries: list[str]) -> str:
    return "(" + "".join(f"{e}, " for e in entries) + ")" if len(entries) != 1 else entries[0]


@rule(10)
def slicing(g: Graph) -> None:
    x = g.pick("fiubc", ndim=(1, 2, 3, 4))
    index = text_of(basic_index(g, x))
    g.apply(f"{x.name}[{index}]", dtype=x.dtype, copies=True)


def index_array(g: Graph, n: int, shape: tuple[int, ...], repeats: bool = True) -> str:
    """Return the name of an array of valid positions on an axis of length `n`."""
    size = int(np.prod(shape))
    if not n and size:
        raise Reject
    dtype = g.rng.choice(["int64", "int64", "int32", "int16"] + (["int8", "uint8"] if n < 100 else []))
    low = 0 if dtype == "uint8" else -n
    if repeats:
        value = g.numbers.integers(low, max(n, 1), shape)
    else:
        if size > n:
            raise Reject
        value = g.numbers.permutation(n)[:size].reshape(shape)
    if size and g.rng.random() < 0.15:
        return str(value.tolist()).replace(" ", "") if len(shape) else str(int(value))
    if g.rng.random() < 0.1 and len(shape):
        dtype = "int64"
    return g.input(shape, dtype, value=value).name


def advanced_index(g: Graph, x: Item, repeats: bool = True) -> list[str]:
    """Return the entries of an index with at least one array: vectors, broadcasting arrays, slices and a mask."""
    n = x.ndim
    style = g.rng.choice(["vector", "vector", "mixed", "mixed", "all", "mask", "mask_axis"])
    if style == "vector":
        k = g.rng.randrange(n)
        shape = (g.rng.choice([0, 1, 2, 3, 4]),) if repeats else (g.rng.randint(1, max(1, x.shape[k])),)
        return ["slice(None)"] * k + [index_array(g, x.shape[k], shape, repeats)]
    if style == "mask":
        return [g.input(x.shape, "bool", pattern=[False] * n).name]
    if style == "mask_axis":
        k = g.rng.randrange(n)
        return ["slice(None)"] * k + [g.input((x.shape[k],), "bool", pattern=[False]).name]
    if not repeats:
        raise Reject
    shape = tuple(g.rng.choice([1, 2, 3]) for _ in range(g.rng.randint(1, 2)))
    entries = []
    for k in range(n):
        part = g.rng.random()
        if style == "all" or part < 0.5:
            own = tuple(1 if g.rng.random() < 0.2 else d for d in shape[g.rng.randint(0, len(shape) - 1) :])
            entries.append(index_array(g, x.shape[k], own))
        elif part < 0.65 and x.shape[k]:
            entries.append(g.integer(g.rng.randrange(-x.shape[k], x.shape[k])))
        elif part < 0.75:
            entries.append(random_slice(g, x.shape[k]))
        else:
            entries.append("slice(None)")
    if g.rng.random() < 0.1:
        entries.insert(g.rng.randint(0, n), "None")
    if not any(e[0] in "xcs[" and not e.startswith("slice") for e in entries):
        raise Reject
    return entries


@rule(10)
def gathering(g: Graph) -> None:
    x = g.pick("fiubc", ndim=(1, 2, 3))
    index = text_of(advanced_index(g, x))
    g.apply(f"{x.name}[{index}]", dtype=x.dtype, copies=True)


@rule(4)
def masking(g: Graph) -> None:
    x = g.pick("fiubc", ndim=(1, 2, 3))
    masks = [i for i in g.items if i.kind == "b" and i.shape == x.shape]
    if masks:
        g.apply(f"{x.name}[{g.rng.choice(masks).name}]", dtype=x.dtype, copies=True)
        return
    if x.kind not in "fi":
        raise Reject
    style = g.rng.choice(["index", "nonzero", "values"])
    if style == "index" or g.profile.differentiable:
        g.apply(f"{x.name}[{x.name} > 0]", dtype=x.dtype, sharp=True, copies=True)
    elif style == "nonzero":
        k = g.rng.randrange(x.ndim)
        g.apply(f"({x.name} > 0).nonzero()[{k}]", dtype="int64", sharp=True)
    else:
        g.apply(f"T.nonzero_values(T.maximum({x.name}, 0))", f"{x.name}[{x.name} > 0]", sharp=True, copies=True)


@rule(3)
def taking(g: Graph) -> None:
    x = g.pick("fiubc", ndim=(1, 2, 3))
    axis = None if g.rng.random() < 0.3 else g.rng.randrange(-x.ndim, x.ndim)
    n = x.value.size if axis is None else x.shape[axis]
    mode = g.rng.choice(["raise", "wrap", "clip"])
    shape = tuple(g.rng.choice([0, 1, 2, 3]) for _ in range(g.rng.choice([0, 1, 1, 2])))
    if not n:
        raise Reject
    if mode == "raise":
        index = index_array(g, n, shape)
    else:
        index = g.input(shape, "int64", value=g.numbers.integers(-2 * n, 2 * n, shape)).name
    text = g.rng.choice(["T.take({}, {}, axis={}, mode='{}')", "{}.take({}, axis={}, mode='{}')"])
    g.apply(text.format(x.name, index, axis, mode), f"np.take({x.name}, {index}, axis={axis}, mode='{mode}')",
            dtype=x.dtype, copies=True)  # fmt: skip


@rule(2, grad=False)
def choosing(g: Graph) -> None:
    x = g.pick("fiu")
    others = [x] + [g.pick("fiu", shape=x.shape) for _ in range(g.rng.randint(1, 2))]
    if len({i.dtype for i in others}) > 1 or len({i.broadcastable for i in others}) > 1:
        raise Reject
    mode = g.rng.choice(["raise", "wrap", "clip"])
    spread = 0 if mode == "raise" else 2
    index = g.input(x.shape, "int64", x.broadcastable, g.numbers.integers(-spread, len(others) + spread, x.shape))
    names = ", ".join(i.name for i in others)
    g.apply(f"T.choose({index.name}, [{names}], mode='{mode}')", f"np.choose({index.name}, [{names}], mode='{mode}')",
            dtype=x.dtype, copies=True)  # fmt: skip


@rule(1.5)
def compressing(g: Graph) -> None:
    x = g.pick("fiu", ndim=(1, 2, 3))
    axis = None if g.rng.random() < 0.3 else g.rng.randrange(x.ndim)
    n = x.value.size if axis is None else x.shape[axis]
    mask = g.input((n,), "bool", [False])
    g.apply(f"T.extra_ops.compress({mask.name}, {x.name}, axis={axis})", f"np.compress({mask.name}, {x.name}, axis={axis})",
            dtype=x.dtype, copies=True)  # fmt: skip


@rule(10)
def writing(g: Graph) -> None:
    x = g.pick("ffiuc" if not g.profile.differentiable else "f", ndim=(1, 2, 3))
    add = g.rng.random() < 0.5
    if g.rng.random() < 0.5:
        entries = basic_index(g, x)
        if not any(e not in ("None", "Ellipsis") for e in entries):
            # New dimensions alone are no subtensor.
            raise Reject
    else:
        entries = advanced_index(g, x, repeats=add)
    index = text_of(entries)
    region = np.asarray(g._evaluate(f"{x.name}[{index}]", {i.name: i.value for i in g.items}))
    values = [i for i in g.items if i.name[0] != "c" and _fits(i, x, region.shape)]
    values = [i for i in values if i.name not in index and not any(i.broadcastable)]
    masked = any(e in g.by_name and g.by_name[e].kind == "b" for e in entries)
    if values and not masked and g.rng.random() < 0.5:
        y = g.rng.choice(values).name
    elif masked or g.rng.random() < 0.3 or g.profile.differentiable and not region.size:
        y = g.input((), x.dtype).name if g.rng.random() < 0.7 else "2"
    else:
        cut = g.rng.randint(0, region.ndim)
        shape = [1 if g.rng.random() < 0.15 else n for n in region.shape[cut:]]
        y = g.input(shape, x.dtype, [n == 1 and r != 1 for n, r in zip(shape, region.shape[cut:])]).name
    name = "inc_subtensor" if add else "set_subtensor"
    g.apply(f"T.{name}({x.name}[{index}], {y})", f"changed({x.name}, {index}, {y}, {add})", dtype=x.dtype,
            exact=not add, copies=not add)  # fmt: skip


def _fits(i: Item, x: Item, shape: tuple[int, ...]) -> bool:
    return i.dtype == x.dtype and i.ndim <= len(shape) and i.shape == shape[len(shape) - i.ndim :]
