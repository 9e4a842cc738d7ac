"""What variables and functions show in a notebook."""

import io
import sys
import time
import types

import numpy as np
import pytest

import theano
import theano.tensor as T


def test_a_variable_without_a_graph_is_its_name_and_type():
    assert T.dmatrix("<x>")._repr_html_() == "<code>&lt;x&gt;</code>: <span>TensorType(float64, matrix)</span>"
    assert "TensorConstant{2.0}" in T.constant(2.0)._repr_html_()


def test_an_expression_is_shown_with_its_graph():
    x = T.dvector("x")
    text = (T.exp(x) * 2)._repr_html_()
    assert "exp(x)" in text and "TensorType(float64, vector)" in text
    assert "<details>" in text and "3 nodes" in text and "|x [id" in text


def test_a_large_graph_is_cut():
    x = y = T.dvector("x")
    for _ in range(5000):
        y = T.tanh(y) + x
    text = y._repr_html_()
    assert "more than 60 nodes" in text and len(text) < 20000


def test_a_function_shows_arguments_results_and_updates():
    x = T.dvector("x")
    w = theano.shared(np.zeros(2), "w<")
    f = theano.function([x], (x * w).sum(), updates=[(w, w + x)], name="step & <go>")
    text = f._repr_html_()
    assert "step &amp; &lt;go&gt;" in text and "<code>x</code>" in text
    assert "TensorType(float64, scalar)" in text
    assert "Updates" in text and "<code>w&lt;</code>" in text
    assert f"Graph of {len(f.maker.fgraph.apply_nodes)} nodes" in text
    assert "w<" not in text


def test_a_profiled_function_shows_its_time():
    x = T.dvector("x")
    f = theano.function([x], x + 1, profile=theano.compile.ProfileStats(atexit_print=False))
    f([1.0])
    assert "Calls" in f._repr_html_() and "1 in" in f._repr_html_()


def test_a_function_without_arguments_and_results():
    assert "none" in theano.function([], [])._repr_html_()


def test_graphs_flags_profiles_and_passes_show_themselves():
    x = T.dvector("x")
    fgraph = theano.gof.FunctionGraph([x], [T.exp(x) * 2])
    text = fgraph._repr_html_()
    assert "FunctionGraph" in text and "<code>x</code>" in text and "Graph of 3 nodes" in text and "<pre" in text
    flags = theano.config._repr_html_()
    assert "<code>floatX</code>" in flags and "<code>scan.allow_gc</code>" in flags
    assert "floatX" not in theano.config.scan._repr_html_()
    trace = theano.printing.OptimizationTrace()
    profile = theano.compile.ProfileStats(atexit_print=False)
    f = theano.function([x], T.log(T.exp(x)), mode=trace.watch(), profile=profile)
    f([1.0])
    for shown in (trace, profile):
        text = shown._repr_html_()
        # A page of its own, whose text cannot end the attribute that it is in.
        assert text.startswith('<iframe srcdoc="&lt;!DOCTYPE html') and text.count('"') == 4


def formula(variable):
    return theano.printing.latex(variable)


def test_formulas():
    x, w, A = T.dvector("x"), T.dvector("w_out"), T.dmatrix("A")
    s, sigma = T.dscalar("s"), T.dscalar("sigma")
    assert formula(s + sigma) == r"s + \sigma"
    assert formula(s - (sigma - 1)) == r"s - \left(\sigma - 1\right)"
    assert formula((s + 1) * sigma) == r"\left(s + 1\right) \, \sigma"
    assert formula(s / (1 + sigma)) == r"\frac{s}{1 + \sigma}"
    assert formula((s + 1) ** 2) == r"{\left(s + 1\right)}^{2}"
    assert formula(-(s**2)) == r"-{s}^{2}"
    assert formula(s + -sigma) == r"s + -\sigma" or formula(s + -sigma) == r"s -\sigma"
    assert formula(x * w) == r"\mathbf{x} \odot \mathbf{w}_{out}"
    assert formula(T.dot(A, x)) == r"\mathbf{A} \cdot \mathbf{x}"
    assert formula(A.T) == r"{\mathbf{A}}^{\top}"
    assert formula(T.sqrt(abs(s))) == r"\sqrt{\left|s\right|}"
    assert formula(T.exp(x).sum()) == r"\sum e^{\mathbf{x}}"
    assert formula(A.sum(axis=0)) == r"\sum_{0} \mathbf{A}"
    assert formula(x[1:3]) == r"\mathbf{x}\left[1:3\right]"
    assert formula(T.nnet.softmax(A)) == r"\operatorname{Softmax}\left(\mathbf{A}\right)"
    assert formula(T.tanh(s) * 1e-8) == r"\tanh\left(s\right) \, 1 \cdot 10^{-8}"
    assert "cases" in formula(T.switch(s > 0, s, 0 * s)) and "s > 0" in formula(T.switch(s > 0, s, 0 * s))
    assert (s * 2)._repr_latex_() == r"$\displaystyle s \, 2$"


def test_formulas_that_nobody_could_read_are_left_out():
    y = T.dscalar("y")
    for _ in range(200):
        y = y * y
    assert y._repr_latex_() is None
    deep = T.dscalar("z")
    for _ in range(3000):
        deep = T.tanh(deep)
    assert deep._repr_latex_() is None
    assert formula(deep).count(r"\tanh") == 3000


def rendered(tree):
    from rich.console import Console

    console = Console(width=100, file=io.StringIO(), color_system=None)
    console.print(tree)
    return console.file.getvalue()


def test_trees_for_terminals():
    x = T.dvector("x")
    w = theano.shared(np.zeros(2), "w")
    y = T.exp(x)
    text = rendered(theano.printing.rich_tree(y * w + y))
    assert text.splitlines()[0] == "graph"
    assert "A Elemwise{add" in text and "TensorType(float64, vector)" in text and "w" in text
    assert text.count("as above") == 1 and text.count("└── x") == 1
    assert "TensorType" not in rendered(theano.printing.rich_tree(y, types=False))
    assert "exp" not in rendered(theano.printing.rich_tree(y * w, depth=1))
    f = theano.function([x], y + 1, name="grow")
    assert rendered(theano.printing.rich_tree(f)).startswith("grow")
    deep = x
    for _ in range(2000):
        deep = T.tanh(deep)
    assert theano.printing.rich_tree(deep).children
    with pytest.raises(TypeError):
        theano.printing.rich_tree(3)


def test_a_long_compilation_shows_in_the_cell(monkeypatch):
    from theano.gof import progress

    shown = []

    class Handle:
        def update(self, data, raw):
            shown.append(data["text/plain"])

    def display(data, raw, display_id):
        shown.append(data["text/plain"])
        return Handle()

    IPython = types.ModuleType("IPython")
    IPython.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    IPython.display = types.ModuleType("IPython.display")
    IPython.display.display = display
    monkeypatch.setitem(sys.modules, "IPython", IPython)
    monkeypatch.setitem(sys.modules, "IPython.display", IPython.display)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(progress, "DELAY", 0.01)
    monkeypatch.setattr(progress, "_INTERVAL", 0.01)
    with progress.CompileProgress("f"):
        progress.stage("rewriting")
        time.sleep(0.2)
    assert any("theano.function f: 0 s" in line for line in shown)
    assert shown[-1] == ""
    assert sys.stderr.getvalue() == ""
