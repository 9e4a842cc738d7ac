"""Random graphs that carry their own NumPy evaluation, and the comparison of compiled functions with it.

A :class:`Graph` grows step by step.  Each step is a pair of texts: the symbolic expression and its NumPy meaning, both in
terms of the names of earlier items, so that a failing graph prints as a small program.  Besides the value of each item the
graph keeps a *noisy* value, computed from inputs of slightly perturbed results: the distance of the two tells how large
rounding errors can grow on the way, and so how closely two evaluations have to agree.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.special

import theano
import theano.tensor as T
from theano.tensor import extra_ops, nlinalg, slinalg

FLOATS = ("float16", "float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
COMPLEX = ("complex64", "complex128")
#: Dtype of a floating result of an integer operand.
FLOAT_FOR = {
    "bool": "float32", "int8": "float32", "int16": "float32", "int32": "float64", "int64": "float64",
    "uint8": "float32", "uint16": "float32", "uint32": "float64", "uint64": "float64",
}  # fmt: skip
NAMES = re.compile(r"\b[xcsv]\d+\b")


class Reject(Exception):
    """The step that was tried is of no use: not finite, too large, ill-conditioned or without operands."""


def w(x: Any) -> np.ndarray:
    """Return `x` in the widest dtype of its kind."""
    x = np.asarray(x)
    return x.astype("complex128" if x.dtype.kind == "c" else "float64")


def shuffle(x: Any, order: Sequence[Any]) -> np.ndarray:
    """Return what ``dimshuffle(*order)`` means."""
    x = np.asarray(x)
    kept = [i for i in order if i != "x"]
    x = x.transpose(kept + [i for i in range(x.ndim) if i not in kept])
    x = x.reshape(x.shape[: len(kept)])
    return np.expand_dims(x, tuple(i for i, o in enumerate(order) if o == "x"))


def arg_over(function: Callable, x: Any, axes: Any, keepdims: bool = False) -> np.ndarray:
    """Return the index that `function` finds over several axes, which count as one in C order."""
    x = np.asarray(x)
    axes = range(x.ndim) if axes is None else [a % x.ndim for a in np.atleast_1d(axes)]
    axes = sorted(axes)
    rest = [i for i in range(x.ndim) if i not in axes]
    flat = x.transpose(rest + axes).reshape([x.shape[i] for i in rest] + [-1])
    found = function(flat, axis=-1)
    return np.expand_dims(found, tuple(axes)) if keepdims else found


def changed(x: Any, index: Any, y: Any, add: bool) -> np.ndarray:
    """Return a copy of `x` with `y` put at `index`, or added there once for each time that the index names an element."""
    x = np.array(x)
    if add:
        np.add.at(x, index, np.broadcast_to(np.asarray(y).astype(x.dtype), x[index].shape))
    else:
        x[index] = y
    return x


def wrapped_power(x: Any, y: Any, dtype: str) -> np.ndarray:
    """Return the integer power in `dtype`, of exponents that are not negative."""
    return np.power(np.asarray(x).astype(dtype), np.asarray(y).astype(dtype))


NUMERIC = {
    "np": np, "sp": scipy.special, "w": w, "shuffle": shuffle, "arg_over": arg_over, "changed": changed,
    "wrapped_power": wrapped_power, "abs": abs, "slice": slice, "linalg": scipy.linalg,
}  # fmt: skip
SYMBOLIC = {"T": T, "np": np, "nlinalg": nlinalg, "slinalg": slinalg, "extra_ops": extra_ops, "abs": abs, "slice": slice}


@dataclass
class Item:
    """An input, a constant or a step of a graph."""

    name: str
    var: Any
    value: np.ndarray
    noisy: np.ndarray
    #: Whether every evaluation gives the same bits.
    exact: bool
    symbolic: str = ""
    numeric: str = ""
    parents: tuple[str, ...] = ()
    rule: str = "input"

    @property
    def dtype(self) -> str:
        return self.var.dtype

    @property
    def kind(self) -> str:
        return self.value.dtype.kind

    @property
    def ndim(self) -> int:
        return self.value.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        return self.var.broadcastable

    def tolerance(self) -> float:
        """Return how far a correct result may be off."""
        if self.exact or not self.value.size:
            return 0.0
        size = float(np.max(np.abs(w(self.value))))
        return 100 * float(np.max(np.abs(w(self.noisy) - w(self.value)))) + 100 * eps_of(self.dtype) * size


def eps_of(dtype: str) -> float:
    return float(np.finfo(dtype).eps) if np.dtype(dtype).kind in "fc" else 0.0


@dataclass(frozen=True)
class Profile:
    """What kind of graphs are built."""

    dtypes: tuple[str, ...] = (
        ("float64",) * 6 + ("float32",) * 6 + ("float16",) * 2 + SIGNED + ("int64", "int32") + UNSIGNED
        + ("bool", "bool") + COMPLEX
    )  # fmt: skip
    lengths: tuple[int, ...] = (0, 1, 1, 2, 2, 3, 3, 4, 5)
    max_steps: int = 12
    #: Elements of the largest array.
    max_size: int = 240
    #: Integers of the whole range of their dtype, which wrap around.
    whole_range: bool = False
    #: Only steps whose gradient is defined.
    differentiable: bool = False


VALUES = Profile()
#: Arrays that are split over threads and vectors, with odd ends.
LARGE = Profile(lengths=(1, 7, 64, 129, 300), max_steps=5, max_size=500_000)
INTEGERS = Profile(
    dtypes=("int8", "int8", "int16", "int32", "uint8", "uint8", "uint16", "uint32", "bool", "float64", "float32"),
    whole_range=True,
)
GRADIENTS = Profile(dtypes=("float64",) * 8 + ("int64", "int32", "bool"), lengths=(0, 1, 1, 2, 2, 3, 3, 4), differentiable=True)


@dataclass
class Rule:
    name: str
    function: Callable[[Graph], None]
    weight: float
    differentiable: bool


RULES: list[Rule] = []


def rule(weight: float = 1.0, grad: bool = True) -> Callable:
    """Register a function that adds a step to a graph.

    Parameters
    ----------
    weight : float
        How often it is chosen, relative to others.
    grad : bool
        Whether the gradient of the step is defined.
    """

    def register(function: Callable[[Graph], None]) -> Callable[[Graph], None]:
        RULES.append(Rule(function.__name__, function, weight, grad))
        return function

    return register


@dataclass
class Graph:
    """A random graph.

    Parameters
    ----------
    seed : int
        Everything follows from it.
    profile : Profile
    """

    seed: int
    profile: Profile = VALUES
    items: list[Item] = field(default_factory=list)
    current_rule: str = ""

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.numbers = np.random.default_rng(self.seed)
        self.by_name: dict[str, Item] = {}

    # Items.

    def _register(self, item: Item) -> Item:
        self.items.append(item)
        self.by_name[item.name] = item
        return item

    def random_value(self, shape: Sequence[int], dtype: str) -> np.ndarray:
        """Return small numbers: integers, quarters, or normally distributed ones."""
        kind = np.dtype(dtype).kind
        shape = tuple(shape)
        if kind == "b":
            return self.numbers.random(shape) < 0.6
        if kind in "iu" and self.profile.whole_range:
            info = np.iinfo(dtype)
            ends = [info.min, info.min + 1, info.max, info.max - 1, info.max // 2, 0, 1, 2, 3, 7, 10]
            return self.numbers.choice(np.array(ends, dtype), shape)
        if kind == "u":
            return self.numbers.integers(0, 10, shape).astype(dtype)
        if kind == "i":
            return self.numbers.integers(-6, 7, shape).astype(dtype)
        style = self.rng.choice(["normal", "normal", "quarters", "integers"])

        def part() -> np.ndarray:
            if style == "normal":
                return self.numbers.normal(size=shape) * 1.5
            if style == "quarters":
                return self.numbers.integers(-12, 13, shape) / 4
            return self.numbers.integers(-4, 5, shape) * 1.0

        if self.profile.differentiable:
            # Ties and kinks have no derivative.
            return self.numbers.normal(size=shape) * 1.5
        return (part() + 1j * part() if kind == "c" else part()).astype(dtype)

    def arrange(self, value: np.ndarray) -> np.ndarray:
        """Return the same numbers in some memory layout."""
        layout = self.rng.choice(["C", "C", "F", "permuted", "negative", "stepped", "readonly", "swapped"])
        if layout == "F":
            return np.array(value, order="F")
        if layout == "permuted" and value.ndim:
            order = self.rng.sample(range(value.ndim), value.ndim)
            return np.ascontiguousarray(value.transpose(order)).transpose(np.argsort(order))
        if layout == "negative" and value.ndim:
            flip = tuple(slice(None, None, self.rng.choice([1, -1])) for _ in range(value.ndim))
            return np.ascontiguousarray(value[flip])[flip]
        if layout == "stepped" and value.ndim:
            steps = [self.rng.choice([1, 2, 3, -2]) for _ in range(value.ndim)]
            big = np.zeros([n * abs(s) for n, s in zip(value.shape, steps)], value.dtype)
            view = big[tuple(slice(None, None, s) for s in steps)]
            view[...] = value
            return view
        if layout == "readonly":
            value = value.copy()
            value.flags.writeable = False
            return value
        if layout == "swapped" and value.dtype.itemsize > 1:
            return value.astype(value.dtype.newbyteorder(">"))
        return value

    def input(self, shape: Sequence[int], dtype: str, pattern: Sequence[bool] | None = None,
              value: Any = None) -> Item:  # fmt: skip
        """Add an input, a shared variable or a constant, and return it."""
        if value is None:
            value = self.random_value(shape, dtype)
        value = np.asarray(value).astype(dtype).reshape(tuple(shape))
        if pattern is None:
            pattern = [n == 1 and self.rng.random() < 0.6 for n in shape]
        kind = self.rng.random()
        n = len(self.items)
        type_ = T.TensorType(dtype, tuple(pattern))
        if kind < 0.1:
            var = theano.shared(value, name=f"s{n}", broadcastable=tuple(pattern))
        elif kind < 0.22:
            # A constant is broadcastable wherever it has length 1.
            var = T.constant(value)
        else:
            var = type_(f"x{n}")
            value = self.arrange(value)
        name = f"{'s' if kind < 0.1 else 'c' if kind < 0.22 else 'x'}{n}"
        noisy = value.astype(dtype)
        return self._register(Item(name, var, value, noisy, True))

    @property
    def inputs(self) -> list[Item]:
        return [i for i in self.items if i.name[0] == "x"]

    def steps(self) -> list[Item]:
        return [i for i in self.items if i.name[0] == "v"]

    def leaves(self) -> list[Item]:
        """Return the steps that no other step uses."""
        used = {p for i in self.items for p in i.parents}
        return [i for i in self.steps() if i.name not in used]

    def random_shape(self, ndim: int | None = None) -> tuple[int, ...]:
        ndim = self.rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4]) if ndim is None else ndim
        shape = [self.rng.choice(self.profile.lengths) for _ in range(ndim)]
        while np.prod(shape) > self.profile.max_size:
            shape[shape.index(max(shape))] = 1
        return tuple(shape)

    def random_dtype(self, kinds: str) -> str:
        found = [d for d in self.profile.dtypes if np.dtype(d).kind in kinds]
        if not found:
            raise Reject
        return self.rng.choice(found)

    def pick(self, kinds: str = "fiub", ndim: int | Sequence[int] | None = None,
             where: Callable[[Item], bool] | None = None, shape: Sequence[int] | None = None) -> Item:  # fmt: skip
        """Return an item of one of the kinds of dtype and ranks for which `where` is true; a new input if there is none."""
        ranks = None if ndim is None else (ndim,) if isinstance(ndim, int) else tuple(ndim)
        found = [
            i for i in self.items
            if i.kind in kinds and (ranks is None or i.ndim in ranks) and (shape is None or i.shape == tuple(shape))
            and (where is None or where(i))
        ]  # fmt: skip
        if found and self.rng.random() < 0.93:
            # The latest are preferred: deep graphs.
            return found[-1 - min(int(self.rng.expovariate(0.45)), len(found) - 1)]
        if shape is None:
            shape = self.random_shape(None if ranks is None else self.rng.choice(ranks))
        item = self.input(shape, self.random_dtype(kinds))
        if where is not None and not where(item):
            raise Reject
        return item

    def compatible(self, a: Item, kinds: str = "fiub", within: bool = False) -> Item:
        """Return an item that broadcasts with `a` elementwise; to the shape of `a` if `within`."""

        def fits(i: Item) -> bool:
            if within and i.ndim > a.ndim:
                return False
            for k in range(1, min(i.ndim, a.ndim) + 1):
                m, n = i.shape[-k], a.shape[-k]
                if m == n and i.broadcastable[-k] == a.broadcastable[-k]:
                    continue
                if m == n == 1:
                    if within and a.broadcastable[-k]:
                        return False
                    continue
                if m == 1 and i.broadcastable[-k]:
                    continue
                if n == 1 and a.broadcastable[-k] and not within:
                    continue
                return False
            return True

        found = [i for i in self.items if i.kind in kinds and fits(i)]
        if found and self.rng.random() < 0.75:
            return self.rng.choice(found)
        shape, pattern = [], []
        for n, b in zip(a.shape, a.broadcastable):
            one = self.rng.random() < 0.25
            shape.append(1 if one else n)
            pattern.append(b or one)
        if self.rng.random() < 0.25:
            cut = self.rng.randint(0, a.ndim)
            shape, pattern = shape[cut:], pattern[cut:]
        return self.input(shape, self.random_dtype(kinds), pattern)

    def integer(self, value: int, low: int | None = None) -> str:
        """Return a text for an integer: itself, or the name of a symbolic scalar."""
        if self.rng.random() < 0.65:
            return str(value)
        dtype = self.rng.choice(["int64", "int64", "int32", "int8" if abs(value) < 100 else "int64"])
        return self.input((), dtype, value=value).name

    def axis_of(self, a: Item) -> int:
        if not a.ndim:
            raise Reject
        return self.rng.randrange(-a.ndim, a.ndim)

    # Steps.

    def apply(self, symbolic: str, numeric: str | None = None, dtype: str | None = None, exact: bool = False,
              copies: bool = False, sharp: bool = False, working: str | None = None) -> Item:  # fmt: skip
        """Add a step.

        Parameters
        ----------
        symbolic, numeric : str
            The expression and its NumPy meaning; without the latter that of `symbolic` with ``np.`` for ``T.``.
        dtype : str, optional
            What the dtype of the result has to be.
        exact : bool
            Whether the result of exact operands has no rounding errors.
        copies : bool
            Whether the step only moves numbers.
        sharp : bool
            Whether the result jumps; such steps are taken only where it does not.
        working : str, optional
            Dtype in which the result is computed, where it is smaller than all others.
        """
        if numeric is None:
            numeric = symbolic.replace("T.", "np.")
        parents = tuple(dict.fromkeys(NAMES.findall(symbolic)))
        operands = [self.by_name[p] for p in parents]
        known = all(o.exact for o in operands)
        value = np.asarray(self._evaluate(numeric, {o.name: native(o.value) for o in operands}))
        if value.size > self.profile.max_size or value.ndim > 5:
            raise Reject
        self._check_size(value)
        var = eval(symbolic, dict(SYMBOLIC), {o.name: o.var for o in operands})
        if dtype is not None and var.dtype != dtype:
            raise AssertionError(f"dtype {var.dtype} where {dtype} is right\n{self._line(symbolic)}")
        if not np.can_cast(value.dtype, var.dtype, "same_kind") and not (value.dtype.kind in "iu" and var.dtype[0] in "iu"):
            raise AssertionError(f"dtype {var.dtype} where NumPy has {value.dtype}\n{self._line(symbolic)}")
        if var.ndim != value.ndim or any(b and n != 1 for b, n in zip(var.broadcastable, value.shape)):
            raise AssertionError(f"{var.type} where NumPy has the shape {value.shape}\n{self._line(symbolic)}")
        value = value.astype(var.dtype)
        self._check_size(value)
        noisy = value
        is_exact = known and (exact or copies or value.dtype.kind in "iub")
        if not is_exact:
            noisy = np.asarray(self._evaluate(numeric, {o.name: o.noisy for o in operands}))
            if noisy.shape != value.shape:
                raise Reject
            if sharp and not known:
                self._refuse_jumps(numeric, operands, value)
            noisy = self._with_noise(noisy, value, operands, copies, working)
            if value.dtype.kind in "iub":
                if not np.array_equal(noisy, value):
                    raise Reject
                is_exact, noisy = True, value
        item = Item(f"v{len(self.items)}", var, value, noisy, is_exact, symbolic, numeric, parents, self.current_rule)
        return self._register(item)

    def _check_size(self, value: np.ndarray) -> None:
        if not (self.profile.whole_range and value.dtype.kind in "iu"):
            check_size(value, 1e12 if self.profile.whole_range else 1e5)

    def _evaluate(self, numeric: str, values: dict[str, Any]) -> Any:
        with np.errstate(all="ignore"):
            return eval(numeric, dict(NUMERIC), values)

    def _with_noise(self, noisy: np.ndarray, value: np.ndarray, operands: list[Item], copies: bool,
                    working: str | None) -> np.ndarray:  # fmt: skip
        if value.dtype.kind in "iub":
            return noisy.astype(value.dtype)
        if not copies:
            eps = max([eps_of(value.dtype.name), eps_of(working or "float64")] + [eps_of(o.dtype) for o in operands])
            scale = float(np.max(np.abs(w(value)))) if value.size else 0.0
            noisy = w(noisy) * (1 + eps * self.numbers.uniform(-1, 1, value.shape))
            noisy = noisy + eps * scale * self.numbers.choice([-1, -0.5, 0.5, 1], value.shape)
        if not np.isfinite(noisy).all():
            raise Reject
        if value.size:
            off = float(np.max(np.abs(w(noisy) - w(value))))
            if off > min(2e4 * eps_of(value.dtype.name), 0.02) * (float(np.max(np.abs(w(value)))) + 1e-3):
                raise Reject
        return noisy.astype(value.dtype) if copies else noisy

    def _refuse_jumps(self, numeric: str, operands: list[Item], value: np.ndarray) -> None:
        for _ in range(3):
            values = {}
            for o in operands:
                if o.exact:
                    values[o.name] = native(o.value)
                else:
                    noise = self.numbers.uniform(-1, 1, o.shape)
                    values[o.name] = w(o.value) * (1 + 1e-2 * noise) + 1e-2 * noise
            other = np.asarray(self._evaluate(numeric, values))
            if other.shape != value.shape or not np.allclose(w(other), w(value), rtol=0.05, atol=0.05):
                raise Reject

    def evaluate(self, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the NumPy values of all items, for other values of the inputs."""
        known: dict[str, Any] = {}
        for item in self.items:
            if item.numeric:
                known[item.name] = np.asarray(self._evaluate(item.numeric, known))
            else:
                known[item.name] = values.get(item.name, native(item.value))
        return known

    # Text.

    def _line(self, symbolic: str) -> str:
        return self.program([self.by_name[p] for p in NAMES.findall(symbolic)]) + f"\nresult = {symbolic}"

    def ancestors(self, items: Sequence[Item]) -> list[Item]:
        """Return the items on which others depend, and these, in the order of the graph."""
        wanted = {i.name for i in items}
        for item in reversed(self.items):
            if item.name in wanted:
                wanted.update(item.parents)
        return [i for i in self.items if i.name in wanted]

    def program(self, items: Sequence[Item] | None = None) -> str:
        """Return the text of a program that builds items, by default all."""
        lines = [f"# seed {self.seed}"]
        for item in self.ancestors(self.items if items is None else items):
            if item.symbolic:
                lines.append(f"{item.name} = {item.symbolic}  # {item.dtype} {item.shape}")
                continue
            text = f"np.array({np.array2string(native(item.value), separator=', ', threshold=300)}, '{item.dtype}')"
            text = " ".join(text.split()) + (f".reshape({item.shape})" if not item.value.size else "")
            kind = {"x": f"T.TensorType('{item.dtype}', {item.broadcastable})()", "c": "T.constant", "s": "theano.shared"}
            lines.append(f"{item.name} = {kind[item.name[0]]}  # {text}, strides {item.value.strides}")
        return "\n".join(lines)


def native(value: np.ndarray) -> np.ndarray:
    """Return the array in the machine's byte order."""
    return np.asarray(value, dtype=value.dtype.newbyteorder("="))


def check_size(value: np.ndarray, limit: float = 1e5) -> None:
    """Refuse values that are not finite or so large that later steps leave the range of their dtype."""
    if value.dtype.kind not in "fciu" or not value.size:
        if value.dtype.kind == "O":
            raise AssertionError("NumPy made an object")
        return
    if value.dtype.kind in "fc" and not np.isfinite(value).all():
        raise Reject
    if np.max(np.abs(w(value))) > (500 if value.dtype == "float16" else limit):
        raise Reject


@lru_cache(maxsize=64)
def build(seed: int, profile: Profile = VALUES) -> Graph:
    """Return the graph of a seed; it is kept for a while, as one mode after another compiles it.

    Parameters
    ----------
    seed : int
    profile : Profile

    Returns
    -------
    Graph
        With 1 to 12 steps.
    """
    from . import rules_arrays, rules_elementwise, rules_indexing, rules_linear  # noqa: F401  They fill the table.

    graph = Graph(seed, profile)
    rules = [r for r in RULES if r.differentiable or not profile.differentiable]
    weights = [r.weight for r in rules]
    wanted = graph.rng.randint(1, profile.max_steps)
    for _ in range(1, graph.rng.randint(2, 3)):
        graph.input(graph.random_shape(), graph.random_dtype("fiubc"))
    for _ in range(8 * wanted):
        if len(graph.steps()) >= wanted:
            break
        chosen = graph.rng.choices(rules, weights)[0]
        graph.current_rule = chosen.name
        try:
            chosen.function(graph)
        except Reject:
            continue
    # Operands of steps that were refused.
    used = {i.name for i in graph.ancestors(graph.steps())}
    graph.items = [i for i in graph.items if i.name in used]
    return graph
