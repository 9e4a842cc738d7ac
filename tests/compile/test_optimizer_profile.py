"""What the profile of the optimizer shows, section by section."""

import io
import re

import pytest

import theano
import theano.tensor as T


@pytest.fixture(scope="module")
def lines():
    x, w = T.dmatrix("x"), T.dmatrix("w")
    stats = theano.compile.ProfileStats(atexit_print=False)
    with theano.config.change_flags(profile_optimizer=True, linker="py"):
        theano.function([x, w], [T.dot(x, w) * 2 + T.exp(x + 1) * 3, T.log(1 + x)], profile=stats)
    stream = io.StringIO()
    stats.summary(stream)
    text = stream.getvalue()
    return text[text.index("Optimizer Profile") :].split("\n")


def section(lines, start):
    """The lines below the one that matches, as far as they are indented more."""
    (at, head) = next((i, line) for i, line in enumerate(lines) if re.match(start, line))
    depth = len(head) - len(head.lstrip())
    below = []
    for line in lines[at + 1 :]:
        if line.strip() and len(line) - len(line.lstrip()) <= depth:
            break
        below.append(line.strip())
    return [line for line in below if line]


def matches(lines, patterns):
    found = iter(lines)
    return [p for p in patterns if not any(re.fullmatch(p, line) for line in found)]


def test_the_sequence_comes_first(lines):
    assert lines[:2] == ["Optimizer Profile", "-----------------"]
    head = r" ?SeqOptimizer OPT_FAST_RUN  time \d+\.\d{3}s for \d+/\d+ nodes before/after optimization"
    assert re.fullmatch(head, lines[2])
    times = [r"\d\.\d{3}s for fgraph\.validate\(\)", r"\d\.\d{3}s for callback"]
    words = [*times, r"time      - \(name, class, index\) - validate time"]
    assert not matches([line.strip() for line in lines[3:]], words)


def test_parts_are_ordered_by_time(lines):
    parts = [line for line in lines if re.match(r"   \d+\.\d{6}s - \('[\w.]+', '\w+', \d+\) - \d+\.\d{3}s$", line)]
    seconds = [float(line.split("s -")[0]) for line in parts]
    assert len(parts) > 15 and seconds == sorted(seconds, reverse=True)


def test_the_equilibrium_shows_passes_and_rewrites(lines):
    below = section(lines, r" +\d\.\d+s - \('canonicalize', 'EquilibriumOptimizer', \d+\)")
    assert below[0] == "EquilibriumOptimizer      canonicalize"
    assert not matches(
        below,
        [
            r"time \d\.\d{3}s for \d+ passes",
            r"nb nodes \(start, end,  max\) \d+ \d+ \d+",
            r"time io_toposort \d\.\d{3}s",
            r"time in local optimizers \d\.\d{3}s",
            r"time in global optimizers \d\.\d{3}s",
            r"0 - \d\.\d{3}s \d+ \(\d\.\d{3}s in global opts, \d\.\d{3}s io_toposort\) - \d+ nodes - \('\w+', \d+\).*",
            r"times - times applied - nb node created - name:",
            r"\d\.\d{3}s - [1-9]\d* - \d+ - constant_folding",
            r"\d\.\d{3}s - in \d+ optimization that were not used \(display only those with a runtime > 0\)",
            r"\d\.\d{3}s - \w+",
        ],
    )


@pytest.mark.parametrize(
    "part, rows",
    [
        ("gemm_optimizer", r"nb_iter 1|nb_replacement 1|nb_replacement_didn_t_remove 0|nb_inconsistency_make 0"),
        ("gemm_optimizer", r"nb_inconsistency_replace 0|time_canonicalize (?!0$)\d.*"),
        ("gemm_optimizer", r"time_factor_can (?!0$)\d.*|time_factor_list (?!0$)\d.*"),
        ("gemm_optimizer", r"time_toposort (?!0$)\d.*|validate_time (?!0$)\d.*|callback_time (?!0$)\d.*"),
        ("composite_elemwise_fusion", r"FusionOptimizer|nb_iter \d+|nb_replacement 1|nb_inconsistency_replace 0"),
        ("local_dot_to_dot22", r"TopoOptimizer .*|nb_node \(start, end, changed\) \(\d+, \d+, 1\)|init io_toposort .*"),
        ("inplace_elemwise_opt", r"InplaceElemwiseOptimizer Elemwise|node_before \d+|nb_replaced 0|nb_inconsistent 0"),
        ("useless", r"TopoOptimizer +useless|LocalOptGroup|-+|time taken - times applied - times tried - name - node_created:"),
        ("merge1", r"MergeOptimizer|nb fail= +0 merged= +\d+ constant= +\d+|time replace=.* validate=.* callback=.*"),
    ],
)
def test_parts_show_what_they_did(lines, part, rows):
    below = section(lines, rf" +\d\.\d+s - \('{part}', '\w+', \d+\)")
    assert not matches(below, rows.split("|")), below


def test_everything_has_a_name(lines):
    assert not [line for line in lines if " object at 0x" in line]


def test_groups_count_for_each_function_anew():
    x = T.dvector("x")
    shown = []
    for _ in range(2):
        stats = theano.compile.ProfileStats(atexit_print=False)
        with theano.config.change_flags(profile_optimizer=True):
            theano.function([x], T.fill(x, x) + 1, profile=stats)
        stream = io.StringIO()
        stats.summary(stream)
        shown.append(re.findall(r"s - (\d+ - \d+) - (local_useless_\w+) - ", stream.getvalue()))
    assert ("1 - 1", "local_useless_fill") in shown[0]
    assert sorted(shown[0]) == sorted(shown[1])


def test_functions_with_one_profile_are_added_up():
    x, m = T.dvector("x"), T.dmatrix("m")
    shown = []
    for n in (1, 2):
        stats = theano.compile.ProfileStats(atexit_print=False)
        for _ in range(n):
            with theano.config.change_flags(profile_optimizer=True):
                theano.function([x, m], [T.fill(x, x) + T.dot(x, T.exp(x)), T.dot(m, m) + T.tanh(m) * 2 + 1], profile=stats)
        stream = io.StringIO()
        stats.summary(stream)
        shown.append(stream.getvalue())
    sizes = [sorted(map(int, re.findall(r"time \S+s for (\d+)/\d+ nodes before", text))) for text in shown]
    assert [2 * size for size in sizes[0]] == sizes[1]
    counts = [[int(n) for n in re.findall(r"(?:nb_replacement|nb_replaced|nb_iter|ndim 2:) (\d+)", text)] for text in shown]
    assert sum(counts[0]) > 5 and sorted(2 * n for n in counts[0]) == sorted(counts[1])
    assert "s - 1 - 1 - local_useless_fill" in shown[0] and "s - 2 - 2 - local_useless_fill" in shown[1]
