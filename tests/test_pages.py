"""Pages are made of templates, which escape what users wrote; what makes no page needs no templates."""

import html
import pathlib
import subprocess
import sys

import jinja2
import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.compile.profile_page import page as profile_page
from theano.d3viz import d3viz
from theano.pages import render, verbatim
from theano.printing import OptimizationTrace
from theano.printing.notebook import framed, function_html, graph_html

NAME = "<script>alert('1')</script>"


def _function(**kwargs):
    x, w = T.dvector(NAME), theano.shared(np.ones(2), NAME)
    return theano.function([x], T.exp(x) * w, updates=[(w, w + 1)], name=NAME, **kwargs)


def _trace():
    x = T.dvector(NAME)
    trace = OptimizationTrace()
    theano.function([x], T.exp(T.log(x)) + 0, mode=trace.watch())
    return trace.html()


def _profile():
    f = _function(profile=theano.compile.ProfileStats(message=NAME, atexit_print=False))
    f(np.ones(2))
    return profile_page([f.profile], NAME)


def _graph_page(folder):
    pytest.importorskip("igraph")
    d3viz(_function(), folder / "page.html")
    return (folder / "page.html").read_text(encoding="utf-8")


PAGES = {
    "variable": lambda _: T.dvector(NAME)._repr_html_(),
    "expression": lambda _: (T.exp(T.dvector(NAME)) * 2)._repr_html_(),
    "function": lambda _: function_html(_function()),
    "graph": lambda _: graph_html(_function().maker.fgraph),
    "frame": lambda _: framed(f'<p title="{NAME}">'),
    "trace": lambda _: _trace(),
    "profile": lambda _: _profile(),
    "d3viz": _graph_page,
}


@pytest.mark.parametrize("kind", PAGES)
def test_names_are_shown_and_not_run(kind, tmp_path):
    text = PAGES[kind](tmp_path)
    assert type(text) is str
    assert NAME not in text and "<script>alert" not in text
    if kind != "d3viz":
        assert NAME in html.unescape(text)


def test_what_a_template_asks_for_in_vain_is_an_error():
    with pytest.raises(jinja2.UndefinedError, match="rows"):
        render("notebook.html#flags")


def test_what_is_verbatim_is_not_escaped(tmp_path):
    (tmp_path / "own.html").write_text("{{ a }}{{ b }}", encoding="utf-8")
    assert render("own.html", tmp_path, a=verbatim("<b>"), b="<i>") == "<b>&lt;i&gt;"


def test_templates_are_read_when_a_page_is_made():
    program = "import sys, theano.tensor as T; before = 'jinja2' in sys.modules; T.matrix()._repr_html_();"
    program += "print(before, 'jinja2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_no_page_is_written_within_a_program():
    package = pathlib.Path(theano.__file__).parent
    found = [
        path.name
        for path in package.rglob("*.py")
        if any(tag in path.read_text(encoding="utf-8") for tag in ("<table", "<!DOCTYPE", "</div>", "<section"))
    ]
    assert not found
