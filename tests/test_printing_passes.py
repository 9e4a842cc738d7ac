"""The passes of the optimizer are shown: what fired how often, and the graph after each."""

import pickle
import re

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.printing import OptimizationTrace


@pytest.fixture(scope="module")
def traced():
    trace = OptimizationTrace()
    x, y = T.dmatrices("x", "y")
    f = theano.function([x, y], [T.log(1 + T.exp(x)) * 1, T.dot(x, y) * 2 + y], mode=trace.watch())
    return trace, f


def test_the_function_is_what_it_is_without_a_trace(traced):
    _, f = traced
    x, y = T.dmatrices("x", "y")
    plain = theano.function([x, y], [T.log(1 + T.exp(x)) * 1, T.dot(x, y) * 2 + y])
    assert [str(n.op) for n in f.maker.fgraph.toposort()] == [str(n.op) for n in plain.maker.fgraph.toposort()]


def test_passes_count_what_fired(traced):
    trace, _ = traced
    by_name = {done.name: done for done in trace.passes}
    assert by_name["canonicalize"].fired["local_mul_canonizer"] >= 1
    assert by_name["stabilize"].fired["local_log1p"] == 1
    assert by_name["BlasOpt/gemm_optimizer"].fired == {"GemmOptimizer": 1}
    assert trace.fired()["local_log1p_to_softplus"] == 1
    assert trace.passes[0].before == trace.initial_nodes == 10
    assert all(a.after == b.before for a, b in zip(trace.passes, trace.passes[1:], strict=False))


def test_text_shows_graphs_of_passes_that_changed_something(traced):
    trace, _ = traced
    text = str(trace)
    assert re.search(r"stabilize: \d+ -> \d+ nodes", text)
    assert "1 x local_log1p\n" in text
    assert "softplus [id" in text
    assert "Gemm{" in text
    assert "merge2" not in text
    assert "[id" not in trace.text(graphs=False)


def test_html_is_one_page_with_marked_changes(traced, tmp_path):
    trace, _ = traced
    page = trace.html(tmp_path / "passes.html")
    assert (tmp_path / "passes.html").read_text() == page
    assert page.startswith("<!DOCTYPE html>")
    assert "src=" not in page
    assert not re.search(r"href=\"[^#]", page)
    assert page.count("<section") == page.count("</section>") == 1 + sum(done.changed for done in trace.passes)
    assert re.search(r"<mark>[^<]*softplus", page)
    assert "InplaceDimShuffle{x,x}" in page


def test_large_graphs_are_counted_but_not_printed():
    trace = OptimizationTrace(max_nodes=3)
    x = T.dvector("x")
    theano.function([x], T.exp(T.sin(T.cos(T.tan(T.sqr(x) * 1)))), mode=trace.watch(theano.Mode("py", "fast_compile")))
    assert "nodes are not shown" in trace.initial
    assert trace.passes


def deep(x, n):
    for _ in range(n):
        x = T.tanh(x) * 2 + 1
    return x


def test_deep_graphs_are_lists_whose_nodes_keep_their_numbers():
    trace = OptimizationTrace()
    x = T.dvector("x")
    theano.function([x], T.log(1 + T.exp(deep(x, 40))), mode=trace.watch(theano.Mode("py", "o3").excluding("fusion")))
    assert re.match(r"%1 = InplaceDimShuffle\{x\}\(TensorConstant\{1\}\)\n", trace.initial)
    assert re.search(r"\n%(\d+) = Elemwise\{log,no_inplace\}\(%\d+\)\nreturn %\1$", trace.initial)
    (stabilized,) = [done.graph for done in trace.passes if done.name == "stabilize"]
    assert "%1 =" not in stabilized
    # What did not change has the same line before and after.
    (canonical,) = [done.graph for done in trace.passes if done.name == "canonicalize"]
    assert len(set(canonical.split("\n")) & set(stabilized.split("\n"))) == 40 * 3


def test_the_page_of_a_large_graph_shows_what_changed():
    sizes = []
    for n in (200, 400):
        trace = OptimizationTrace()
        x = T.dvector("x")
        theano.function([x], T.log(1 + T.exp(deep(x, n))), mode=trace.watch(theano.Mode("py", "o3").excluding("fusion")))
        page = trace.html()
        sizes.append(len(page))
        stabilize = page[page.index("<h2>stabilize</h2>") : page.index("</section>", page.index("<h2>stabilize</h2>"))]
        assert "<mark>" in stabilize and re.search(r"<i>\d+ lines as before</i>", stabilize)
        assert stabilize.count("\n") < 20
    assert sizes[1] < 2.2 * sizes[0]


def test_a_watched_function_can_be_pickled():
    x = T.dvector("x")
    for mode in (None, theano.Mode("py", "o1"), theano.Mode("py", theano.gof.MergeOptimizer())):
        f = theano.function([x], x + 1, mode=OptimizationTrace().watch(mode))
        again = pickle.loads(pickle.dumps(f))
        np.testing.assert_array_equal(again([1.0]), [2.0])
        assert "watched" not in str(again.maker.mode)


def test_a_watched_mode_can_be_changed():
    trace = OptimizationTrace()
    x = T.dvector("x")
    out = T.tanh(T.exp(x) * 2)
    theano.function([x], out, mode=trace.watch().excluding("fusion", "inplace"))
    assert trace.passes and not any("fusion" in done.name for done in trace.passes)
    theano.function([x], out, mode=trace.watch(theano.Mode("py", "merge")).including("fusion"))
    assert "FusionOptimizer" in trace.fired()


def test_members_of_groups_are_counted_by_their_names():
    trace = OptimizationTrace()
    x = T.dvector("x")
    theano.function([x], T.fill(x, x) * 2, mode=trace.watch())
    assert trace.fired()["local_useless_fill"] == 1
