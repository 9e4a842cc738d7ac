"""What variables and functions show in a notebook."""

import numpy as np

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
