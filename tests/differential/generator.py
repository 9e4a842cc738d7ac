"""Random programs over the documented language.

A program is the text of some statements. Each kind of program is a function that writes the statements into a :class:`Writer`;
`KINDS` holds them by name. The same seed gives the same program.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
#: How often each is taken.
WEIGHTS = [2, 3, 2, 3, 4, 3, 1, 1, 1, 1, 5, 8, 1, 2]
REAL = [d for d in DTYPES if not d.startswith("complex")]
FLOATS = ["float32", "float64", "float64", "float64"]
INTS = ["int8", "int32", "int64", "uint8"]

HEADER = "import numpy as np\nimport theano\nimport theano.tensor as T\nimport theano.tensor.nlinalg, theano.tensor.slinalg"


class Writer:
    """Writes a program.

    Attributes
    ----------
    r
        Source of all choices.
    """

    def __init__(self, seed: str):
        self.r = random.Random(seed)
        self.lines = [HEADER]
        self._counts: dict[str, int] = {}

    def add(self, *lines: str) -> None:
        """Append statements."""
        self.lines += lines

    def pick(self, *choices: object) -> str:
        """One of the choices, as text."""
        return str(self.r.choice(choices))

    def maybe(self, text: str, chance: float = 0.5) -> str:
        """The text, or none."""
        return text if self.r.random() < chance else ""

    def name(self, start: str) -> str:
        """A name that is not used yet."""
        self._counts[start] = self._counts.get(start, -1) + 1
        return f"{start}{self._counts[start]}"

    def dtype(self, among: Sequence[str] = ()) -> str:
        """A dtype."""
        return self.r.choice(list(among)) if among else self.r.choices(DTYPES, WEIGHTS)[0]

    def shape(self, ndim: int | None = None, most: int = 4) -> tuple[int, ...]:
        """Lengths, few of them 0, some 1."""
        if ndim is None:
            ndim = self.r.choices([0, 1, 2, 3, 4], [3, 6, 8, 3, 1])[0]
        lengths = [*range(2, most + 1), 3, 1] + [0] * (self.r.random() < 0.12)
        return tuple(self.r.choice(lengths) for _ in range(ndim))

    def value(self, dtype: str, shape: Sequence[int], low: float = -4, high: float = 5) -> str:
        """The expression of an array."""
        seed = self.r.randrange(1000)
        if dtype == "bool":
            return f"np.asarray(np.random.RandomState({seed}).uniform(size={tuple(shape)}) < 0.5)"
        if dtype.startswith("uint"):
            low = max(low, 0)
        made = f"np.random.RandomState({seed}).uniform({low}, {high}, size={tuple(shape)})"
        if dtype.startswith("complex"):
            made += f" + 1j * np.random.RandomState({seed + 1}).uniform({low}, {high}, size={tuple(shape)})"
        return f"np.asarray({made}).astype({dtype!r})"

    def variable(self, dtype: str | None = None, shape: Sequence[int] | None = None, **bounds: float) -> str:
        """Write a variable and, under the name with a v, a value for it; returns the name."""
        dtype = dtype or self.dtype()
        shape = self.shape() if shape is None else tuple(shape)
        name = self.name("x")
        pattern = tuple(n == 1 and self.r.random() < 0.7 for n in shape)
        self.add(f"{name} = T.TensorType({dtype!r}, {pattern})({name!r})", f"{name}v = {self.value(dtype, shape, **bounds)}")
        return name

    def mode(self) -> str:
        """An argument `mode` of a function, or none."""
        return self.r.choice(["", "", "", ", mode='FAST_RUN'", ", mode='FAST_COMPILE'"])

    def evaluate(self, expression: str, inputs: Sequence[str], texts: float = 0.15) -> str:
        """Write statements that make an expression, and report what it is and its value; returns its name."""
        name = self.name("y")
        self.add(f"{name} = {expression}", f"report({name})")
        if self.r.random() < texts and "grad(" not in expression:
            self.add(f"report(theano.pprint({name}))", f"report(theano.printing.debugprint({name}, file='str'))")
        function = self.name("f")
        self.add(f"{function} = theano.function([{', '.join(inputs)}], {name}, on_unused_input='ignore'{self.mode()})")
        self.add(f"report({function}({', '.join(i + 'v' for i in inputs)}))")
        return name

    def number(self) -> str:
        """A number as programs write it."""
        r = self.r
        return r.choice(
            [
                str(r.randint(-3, 4)),
                str(r.randint(-3, 300)),
                repr(round(r.uniform(-3, 3), 2)),
                "2",
                "0.5",
                "1e-3",
                "True",
                "2j",
                f"np.float32({round(r.uniform(-3, 3), 1)})",
                f"np.float64({round(r.uniform(-3, 3), 1)})",
                f"np.int8({r.randint(-3, 3)})",
                f"np.int64({r.randint(-3, 3)})",
                f"np.uint8({r.randint(0, 200)})",
                "np.arange(3)",
                "[1.5, 2, 3]",
                "100000",
                "-129",
            ]
        )

    def text(self) -> str:
        """The program."""
        return "\n".join(self.lines) + "\n"


Kind = Callable[[Writer], None]
KINDS: dict[str, Kind] = {}


def kind(function: Kind) -> Kind:
    """Register a kind of program under the function's name."""
    KINDS[function.__name__] = function
    return function


def program(seed: int, kinds: Sequence[str]) -> tuple[str, str]:
    """The name and the text of the program of a seed, of one of the kinds."""
    name = random.Random(seed).choice(list(kinds))
    writer = Writer(f"{name} {seed}")
    if writer.r.random() < 0.25:
        writer.add("theano.config.floatX = 'float32'")
    if writer.r.random() < 0.08:
        writer.add("theano.config.cast_policy = 'numpy+floatX'")
    KINDS[name](writer)
    return f"{name} {seed}", writer.text()


# Each fills KINDS.
from tests.differential import programs_arrays, programs_functions, programs_graphs, programs_loops  # noqa: E402, F401
