"""Random graphs of all tensor functions give NumPy's values, and their gradients the slopes that NumPy measures.

200 graphs run by default, 5,000 with the environment variable ``THEANO_NIGHTLY=1``: that takes one core half an hour, and a
third of that once the cache has the kernels.  pytest's ``-k`` takes parts of it, such as ``-k "values_are_those and native"``.
A failure prints the smallest wrong part of the graph as a program; its pattern then becomes a test in
``test_found_by_graphs.py``.
"""

import os

import pytest

import theano

from . import checking, misfits
from .graphs import GRADIENTS, INTEGERS, LARGE, RULES, build

NIGHTLY = bool(os.environ.get("THEANO_NIGHTLY"))
PIECE = 20
GRAPHS = 5000 if NIGHTLY else 200
SLOPES = 5000 if NIGHTLY else 60
MODES = {
    "native": None,
    "python": theano.Mode("py", "fast_run"),
    "rewrites off": theano.Mode("py", None),
}
#: All modes that a user can name; each is compared with NumPy, hence with all others.
NAMED_MODES = {
    "FAST_RUN": "FAST_RUN",
    "FAST_COMPILE": "FAST_COMPILE",
    "o1": theano.Mode("cvm", "o1"),
    "o2": theano.Mode("cvm", "o2"),
    "o3": theano.Mode("cvm", "o3"),
    "o4": theano.Mode("cvm", "o4"),
    "None": theano.Mode("cvm", None),
    "unsafe": theano.Mode("cvm", "unsafe"),
    "Stabilization": theano.Mode("cvm", "stabilize"),
    "merge": theano.Mode("vm", "merge"),
    "vm": theano.Mode("vm", "fast_run"),
    "cvm_nogc": theano.Mode("cvm_nogc", "fast_run"),
    "c|py": theano.Mode("c|py", "fast_run"),
}


def pieces(count):
    return [range(start, min(start + PIECE, count)) for start in range(0, count, PIECE)]


def name_of(seeds):
    return f"{seeds[0]}-{seeds[-1]}" if isinstance(seeds, range) else str(seeds)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seeds", pieces(GRAPHS), ids=name_of)
def test_values_are_those_of_numpy(mode, seeds):
    wrong = checking.check_values(seeds, MODES[mode])
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("seeds", pieces(GRAPHS), ids=name_of)
def test_shapes_are_inferred(seeds):
    graphs = [g for g in map(build, seeds) if g.steps()]
    wrong = checking.check_shapes(graphs, theano.Mode("py", "fast_run") if seeds[0] % 100 else None)
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("mode", ["native", "rewrites off"])
@pytest.mark.parametrize("seeds", pieces(SLOPES), ids=name_of)
def test_gradients_are_slopes(mode, seeds):
    wrong, compared = checking.check_gradients(seeds, MODES[mode])
    assert not wrong, "\n\n".join(wrong)
    assert compared > len(seeds) // 2


@pytest.mark.parametrize("seeds", pieces(SLOPES), ids=name_of)
def test_the_r_operator_gives_the_slope(seeds):
    wrong = checking.check_forward(seeds, MODES["rewrites off"])
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("mode", NAMED_MODES)
@pytest.mark.parametrize("seeds", pieces(1000 if NIGHTLY else 12), ids=name_of)
def test_every_named_mode_computes_the_same(mode, seeds):
    offset = range(10_000 + seeds[0], 10_000 + seeds[-1] + 1)
    wrong = checking.check_values(offset, NAMED_MODES[mode])
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seeds", pieces(1000 if NIGHTLY else 20), ids=name_of)
def test_large_arrays(mode, seeds):
    """Arrays that are split over threads and vectors; each graph is a function of its own."""
    wrong = [r for s in seeds for r in checking.check_values((), MODES[mode], [build(40_000 + s, LARGE)])]
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seeds", pieces(3000 if NIGHTLY else 40), ids=name_of)
def test_integers_that_wrap_around(mode, seeds):
    graphs = [build(s, INTEGERS) for s in seeds]
    wrong = checking.check_values((), MODES[mode], graphs)
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("seed", range(20_000, 20_200 if NIGHTLY else 20_004))
def test_debug_mode_finds_nothing(seed):
    graph = build(seed)
    wrong = checking.check_values((), "DEBUG_MODE", [graph])
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("seeds", pieces(1000 if NIGHTLY else 20), ids=name_of)
def test_updates_in_place(seeds):
    offset = range(30_000 + seeds[0], 30_000 + seeds[-1] + 1)
    wrong = checking.check_updates(offset, None)
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("seeds", pieces(1000 if NIGHTLY else 40), ids=name_of)
def test_modes_agree_on_inputs_that_do_not_fit(seeds):
    offset = range(60_000 + seeds[0], 60_000 + seeds[-1] + 1)
    wrong = misfits.check_misfits(offset)
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("mode", ["native", "python"])
@pytest.mark.parametrize("seeds", pieces(1000 if NIGHTLY else 20), ids=name_of)
def test_a_failed_call_changes_no_shared_variable(mode, seeds):
    offset = range(30_000 + seeds[0], 30_000 + seeds[-1] + 1)
    wrong, failed = misfits.check_failed_updates(offset, MODES[mode])
    assert not wrong, "\n\n".join(wrong)
    assert failed


def test_the_rules_are_all_used():
    used = {i.rule for seed in range(250) for i in build(seed).steps()}
    assert used == {r.name for r in RULES}


def test_a_graph_follows_from_its_seed():
    for profile in ({}, {"profile": GRADIENTS}):
        assert build.__wrapped__(7, **profile).program() == build.__wrapped__(7, **profile).program()


def test_a_wrong_result_is_reported():
    graph = build(1)
    item = graph.leaves()[0]
    assert checking.difference(item, item.value) is None
    assert checking.difference(item, item.value + item.value.dtype.type(1)) or not item.value.size
    assert checking.difference(item, item.value[None]) is not None
