"""Each row of the manual's table of optimizations, in each of its modes, by what it does to a small graph.

A row is in a mode if the graph shows it there, and no longer when the rewrite is excluded by its name; where the table has
no mark, the graph does not show it. The column "Stabilization" is partial: expressions are canonical before they are made
stable, since that is the form in which the stable ones are recognized, so the rows that simplify are in it as well.
The tests of sparse matrices and of GPUs are with those.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from by_name import Given, compile_given, ops

import theano
import theano.tensor as T
from theano.raise_op import Assert
from theano.tensor.raw_random import RandomFunction
from theano.tensor.shared_randomstreams import RandomStreams
from theano.tensor.subtensor import IncSubtensor

MODES = ("o4", "o3", "o2", "o1", "Stabilization", "unsafe")
CANONIZERS = ("local_add_canonizer", "local_mul_canonizer")
NEGATIONS = ("local_func_inv", "local_neg_to_mul", *CANONIZERS)


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Parameters
    ----------
    row : str
        As the manual calls it.
    name : str
        What excludes it.
    modes : str
        Those that have it.
    build : callable
        From `Given` to an expression.
    shows : callable
        Says of a compiled function whether the rewrite was applied.
    others : tuple of str
        Rewrites that do the same to this expression, or hide it.
    """

    row: str
    name: str
    modes: str
    build: Callable[[Given], Any]
    shows: Callable[[Any], bool]
    others: tuple[str, ...] = ()

    def mode(self, name: str, *excluding: str) -> Any:
        hiding = () if self.row == "elemwise fusion" else ("fusion",)
        return theano.Mode("vm", name).excluding(*self.others, *hiding, *excluding)


def names(f: Any) -> list[str]:
    """Classes of the Ops of a compiled function, and of their scalar Ops."""
    return [type(part).__name__ for op in ops(f) for part in (op, getattr(op, "scalar_op", None)) if part is not None]


def has(name: str) -> Callable[[Any], bool]:
    return lambda f: name in names(f)


def lacks(*unwanted: str) -> Callable[[Any], bool]:
    return lambda f: not set(unwanted) & set(names(f))


def once(name: str) -> Callable[[Any], bool]:
    return lambda f: names(f).count(name) == 1


def destroys(kind: type) -> Callable[[Any], bool]:
    return lambda f: any(getattr(op, "destroy_map", None) for op in ops(f) if isinstance(op, kind))


def increments_follow_each_other(f: Any) -> bool:
    owners = [node.inputs[0].owner for node in f.maker.fgraph.apply_nodes if isinstance(node.op, IncSubtensor)]
    return any(owner is not None and isinstance(owner.op, IncSubtensor) for owner in owners)


def sum_comes_first(f: Any) -> bool:
    """The scalar is multiplied with a sum."""
    return not isinstance(f.maker.fgraph.outputs[0].owner.op, T.Sum)


def increments(g: Given) -> Any:
    return T.inc_subtensor(T.exp(g.w)[:2], g.u[:2]) + T.inc_subtensor(T.tanh(g.w)[1:], g.z[1:])


ALWAYS = "o4 o3 o2 o1 Stabilization unsafe"
CANONICAL = "o4 o3 Stabilization unsafe"
LATER = "o4 o3 unsafe"

TABLE = [
    Row("merge", "merge", ALWAYS, lambda g: T.dot(g.x + g.y, g.x + g.y), once("Add")),
    Row("constant folding", "constant_folding", ALWAYS, lambda g: g.x * T.exp(g.number(2.5)), lacks("Exp")),
    Row(
        "shape promotion",
        "local_shape_i_lift",
        CANONICAL,
        lambda g: theano.compile.ops.Shape_i(0)(T.exp(T.dot(g.m, g.w))),
        lacks("Dot", "Dot22"),
    ),
    Row(
        "shape promotion",
        "local_shape_to_shape_i",
        CANONICAL,
        lambda g: T.exp(T.dot(g.m, g.w)).shape,
        lacks("Dot", "Dot22"),
    ),
    Row(
        "fill cut",
        "local_fill_sink",
        CANONICAL,
        lambda g: T.exp(T.fill(g.x, g.k) + g.y),
        lacks("Second"),
        ("local_fill_to_alloc", "local_fill_cut"),
    ),
    Row("inc_subtensor srlz.", "local_IncSubtensor_serialize", LATER, increments, increments_follow_each_other),
    Row(
        "reshape_chain",
        "local_reshape_chain",
        CANONICAL,
        lambda g: g.m.reshape((g.n, -1)).reshape((3, 4)),
        once("Reshape"),
    ),
    Row("const. elimination", "local_mul_specialize", LATER, lambda g: g.x * g.number(1), lacks("Mul"), CANONIZERS),
    Row("const. elimination", "local_pow_specialize", LATER, lambda g: g.x**1, lacks("Pow"), ("local_pow_canonicalize",)),
    Row("add canonical.", "local_add_canonizer", CANONICAL, lambda g: (g.x + g.y) - g.x, lacks("Sub")),
    Row(
        "mul canonical.",
        "local_mul_canonizer",
        CANONICAL,
        lambda g: (g.x * g.y) / g.x,
        lacks("TrueDiv"),
        ("local_quotient_of_powers",),
    ),
    # The manual marks o4, o3 and unsafe; the original has it in all but Stabilization.
    Row("dot22", "dot22", "o4 o3 o2 o1 unsafe", lambda g: T.dot(g.m, g.w), has("Dot22")),
    Row("dot22", "local_dot_to_dot22", "o4 o3 o2 o1 unsafe", lambda g: T.dot(g.m, g.w), has("Dot22")),
    Row("sum_scalar_mul", "local_sum_mul_by_scalar", CANONICAL, lambda g: (g.x * g.k).sum(), sum_comes_first),
    Row("neg_neg", "local_neg_neg", LATER, lambda g: -(-g.x), lacks("Neg"), NEGATIONS),
    Row(
        "neg_div_neg",
        "local_neg_div_neg",
        LATER,
        lambda g: -((-g.x) / g.y),
        lacks("Neg"),
        NEGATIONS,
    ),
    Row(
        "neg_div_neg",
        "local_div_of_negs",
        LATER,
        lambda g: (-g.x) / (-g.y),
        lacks("Neg"),
        NEGATIONS,
    ),
    Row("add specialize", "local_add_specialize", LATER, lambda g: g.x + g.number(0), lacks("Add"), CANONIZERS),
    Row("mul specialize", "local_mul_specialize", LATER, lambda g: g.x * g.number(-1), has("Neg")),
    Row(
        "mul specialize",
        "local_mul_specialize",
        LATER,
        lambda g: g.x * g.number(0),
        lacks("Mul"),
        ("local_mul_zero", *CANONIZERS),
    ),
    Row("mul specialize", "local_mul_to_sqr", LATER, lambda g: g.x * g.x, has("Sqr"), ("local_mul_canonizer",)),
    Row("pow specialize", "local_pow_specialize", LATER, lambda g: g.x**2, has("Sqr")),
    Row("pow specialize", "local_pow_specialize", LATER, lambda g: abs(g.x) ** -0.5, has("Sqrt")),
    Row("pow specialize", "local_pow_specialize", LATER, lambda g: g.x**0, lacks("Pow"), ("local_pow_canonicalize",)),
    Row(
        "inplace_setsubtensor",
        "inplace_setsubtensor",
        "o4",
        lambda g: T.set_subtensor(T.exp(g.w)[1:], g.u[1:]),
        destroys(IncSubtensor),
    ),
    Row("gemm", "gemm", LATER, lambda g: g.z + T.dot(g.w, g.u), has("Gemm")),
    Row("inplace_elemwise", "inplace_elemwise", "o4", lambda g: T.tanh(T.dot(g.w, g.u)), destroys(T.Elemwise)),
    Row("inplace_random", "inplace_random", "o4", lambda g: RandomStreams(3).uniform((2,)), destroys(RandomFunction)),
    Row("elemwise fusion", "fusion", "o4 o3 o2 unsafe", lambda g: T.tanh(g.x * g.y), has("Composite")),
    Row("local_log_softmax", "local_log_softmax", CANONICAL, lambda g: T.log(T.nnet.softmax(g.w)), has("LogSoftmax")),
    Row("local_remove_all_assert", "local_remove_all_assert", "unsafe", lambda g: Assert()(g.x, g.n > 0), lacks("Assert")),
]
IDS = [f"{row.row}-{row.name}-{i}" for i, row in enumerate(TABLE)]


@pytest.mark.parametrize("row", TABLE, ids=IDS)
def test_row_is_in_its_modes_and_in_no_other(row):
    g = Given("float64")
    wanted = compile_given(g, row.build(g), theano.Mode("vm", None))(*g.values)
    shown = []
    for name in MODES:
        f = compile_given(g, row.build(g), row.mode(name))
        if row.shows(f):
            shown.append(name)
            assert not row.shows(compile_given(g, row.build(g), row.mode(name, row.name))), name
        value = f(*g.values)
        assert value.dtype == wanted.dtype
        np.testing.assert_allclose(value, wanted, rtol=1e-12)
    assert " ".join(shown) == row.modes


def test_none_applies_nothing():
    g = Given("float64")
    for row in TABLE:
        assert not row.shows(compile_given(g, row.build(g), row.mode("None"))), row


def test_the_modes_are_named_twice():
    g = Given("float64")
    out = T.tanh(T.dot(g.w, g.u) + g.z * 1) * 2
    for one, other in (("o4", "fast_run"), ("o1", "fast_compile"), ("Stabilization", "stabilize")):
        texts = [theano.printing.debugprint(compile_given(g, out, theano.Mode("vm", name)), file="str") for name in (one, other)]
        assert texts[0] == texts[1]


def test_the_table_of_our_own_documentation():
    """It has the same rows, and marks them in the same modes."""
    text = (Path(__file__).parents[3] / "docs" / "optimizations.md").read_text()
    lines = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in text.splitlines() if line.startswith("| ")]
    (header, *rows) = [cells for cells in lines if len(cells) == 3 + len(MODES)]
    # The manual's column of the pass has the name of its optimizer here, as the others have.
    assert tuple(header[3:]) == tuple("stabilize" if mode == "Stabilization" else mode for mode in MODES)
    marks = {cells[0]: " ".join(mode for mode, mark in zip(MODES, cells[3:], strict=True) if mark == "x") for cells in rows[1:]}
    assert marks.pop("sparse_dot") == LATER
    assert marks == {row.row: row.modes for row in TABLE}
