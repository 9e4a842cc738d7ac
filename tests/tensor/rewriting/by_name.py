"""A rewrite of a mode is told apart by leaving it out by name: what it does shows in the difference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import theano
import theano.tensor as T

FAST = theano.Mode("vm", "fast_run")
OFF = theano.Mode("vm", None)
DTYPES = ("float64", "float32")
RTOL = {"float64": 1e-10, "float32": 1e-4}


class Given:
    """The arguments that the graphs of the tests are made of, in one precision, and values for them.

    `z` is symmetric and positive definite.
    """

    def __init__(self, dtype: str):
        self.dtype = dtype
        self.x, self.y, self.b, self.v = (T.vector(name, dtype) for name in "xybv")
        self.m, self.w, self.u, self.z = (T.matrix(name, dtype) for name in "mwuz")
        self.h, self.k = T.scalar("h", dtype), T.scalar("k", dtype)
        self.n, self.c, self.d = (T.lscalar(name) for name in "ncd")
        self.i = T.lvector("i")
        self.floats = [self.x, self.y, self.b, self.v, self.m, self.w, self.u, self.z, self.h, self.k]
        self.inputs = [*self.floats, self.n, self.c, self.d, self.i]
        rng = np.random.default_rng(7)
        shapes = [(4,), (4,), (3,), (3,), (4, 3), (3, 3), (3, 3), (3, 3), (), ()]
        self.values = [np.asarray(rng.normal(size=shape) / 2, dtype) for shape in shapes]
        self.values[7] = self.values[5] @ self.values[5].T + np.eye(3, dtype=dtype)
        self.values += [4, 1, 0, np.array([2, 0, 2])]

    @property
    def both_values(self) -> list[list[Any]]:
        """The values, and the same with the two conditions the other way round."""
        floats, (n, c, d, i) = self.values[: len(self.floats)], self.values[len(self.floats) :]
        return [self.values, [*floats, n, d, c, i]]

    def number(self, value: Any) -> Any:
        return T.constant(np.asarray(value, self.dtype))


@dataclass(frozen=True)
class ByName:
    """A graph with the pattern of a rewrite, the nearest one without it, and what the rewrite changes.

    Parameters
    ----------
    name : str
        The name under which the rewrite is registered.
    build, near_miss : callable
        From `Given` to an output or a list of outputs.
    look : callable
        Says of a compiled function what the rewrite changes.
    found : tuple
        What `look` gives without the rewrite, and with it.
    excluding : tuple of str
        Rewrites that would do the same, or hide it.
    on_demand : bool
        Whether the mode has the rewrite only when it is included by name.
    gradient : bool
        Whether the graph has gradients that can be compared.
    """

    name: str
    build: Callable[[Given], Any]
    near_miss: Callable[[Given], Any]
    look: Callable[[Any], Any]
    found: tuple[Any, Any]
    excluding: tuple[str, ...] = ()
    on_demand: bool = False
    gradient: bool = True

    @property
    def modes(self) -> tuple[Any, Any]:
        """The mode without the rewrite, and the one with it."""
        base = FAST.excluding(*self.excluding)
        return (base, base.including(self.name)) if self.on_demand else (base.excluding(self.name), base)


def label(case: ByName) -> str:
    return case.name


def compile_given(g: Given, outputs: Any, mode: Any) -> Any:
    return theano.function(g.inputs, outputs, mode=mode, on_unused_input="ignore")


def as_list(outputs: Any) -> list[Any]:
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


def check_fires(case: ByName, dtype: str) -> None:
    """The rewrite does what it promises; values and gradients are those of the graph as it was written."""
    g = Given(dtype)
    outputs = as_list(case.build(g))
    functions = [compile_given(g, outputs, mode) for mode in case.modes]
    assert tuple(map(case.look, functions)) == case.found
    everything = list(outputs)
    if case.gradient:
        total = sum(out.sum() for out in outputs)
        everything += theano.grad(total, g.floats, disconnected_inputs="ignore")
        functions.append(compile_given(g, everything, case.modes[1]))
    plain = compile_given(g, everything, OFF)
    some = False
    for values in g.both_values:
        wanted = plain(*values)
        some = some or any(np.any(value) and value.dtype == dtype for value in wanted[len(outputs) :])
        for f in functions:
            for result, expected in zip(f(*values), wanted, strict=False):
                assert result.dtype == expected.dtype and result.shape == expected.shape
                np.testing.assert_allclose(result, expected, rtol=RTOL[dtype], atol=RTOL[dtype])
    assert some or not case.gradient


def text(f: Any) -> str:
    """The compiled graph with all its parts, as printed."""
    return theano.printing.debugprint(f, file="str")


def check_near_miss(case: ByName) -> Any:
    """With and without the rewrite the compiled graph is the same; returns the function."""
    g = Given("float64")
    outputs = as_list(case.near_miss(g))
    without, with_it = (compile_given(g, outputs, mode) for mode in case.modes)
    assert text(with_it) == text(without)
    return with_it


class ByNameTests:
    """The tests of a table: a class `Test...` that inherits from this one names its `cases`."""

    cases: Sequence[ByName] = ()

    def pytest_generate_tests(self, metafunc: Any) -> None:
        metafunc.parametrize("case", self.cases, ids=label)
        if "dtype" in metafunc.fixturenames:
            metafunc.parametrize("dtype", DTYPES)

    def test_fires_and_keeps_values_and_gradients(self, case: ByName, dtype: str) -> None:
        check_fires(case, dtype)

    def test_leaves_the_near_miss_alone(self, case: ByName) -> None:
        check_near_miss(case)


def ops(f: Any) -> list[Any]:
    return [node.op for node in f.maker.fgraph.toposort()]


def kinds(f: Any) -> list[str]:
    """Names of the classes of the Ops of a compiled function, in order."""
    return [type(op).__name__ for op in ops(f)]


def count(kind: Any) -> Callable[[Any], int]:
    """How many Ops of a class, or of the name of a class, a compiled function has."""
    if isinstance(kind, str):
        return lambda f: kinds(f).count(kind)
    return lambda f: sum(isinstance(op, kind) for op in ops(f))
