"""The profile as a page, and what it advises."""

import io
import re

import numpy as np
import pytest

import theano
import theano.tensor as T
from tests.tools import run_program
from theano.compile.profile_page import page, write_page
from theano.compile.profile_tips import tips

from .browser import needs_browser, run_in_page


def profiled(outputs=None, inputs=(), values=(), calls=1, **kwargs):
    stats = theano.compile.ProfileStats(atexit_print=False, message="my <function>")
    f = theano.function(list(inputs), outputs, profile=stats, **kwargs)
    for _ in range(calls):
        f(*values)
    return f


def network():
    rng = np.random.default_rng(0)
    x, t = T.dmatrix("x"), T.ivector("t")
    w, b = theano.shared(rng.normal(size=(6, 3)), "w"), theano.shared(np.zeros(3), "b")
    loss = T.nnet.categorical_crossentropy(T.nnet.softmax(T.tanh(x).dot(w) + b), t).mean()
    updates = [(p, p - 0.1 * g) for p, g in zip((w, b), T.grad(loss, [w, b]))]
    return profiled(loss, [x, t], [rng.normal(size=(50, 6)), np.zeros(50, "int32")], updates=updates)


def test_sections_and_numbers():
    with theano.configparser.change_flags(profile_memory=True):
        f = network()
    text = page([f.profile])
    for word in ("my &lt;function&gt;", "Compile time", "Classes of Ops", "Nodes", "Memory", "allow_gc", "optimizer"):
        assert word in text
    nodes = f.maker.fgraph.toposort()
    assert all(text.count(type(node.op).__name__) >= 4 for node in nodes)
    for table in text.split("<table>")[1:]:
        percents = [float(p) for p in re.findall(r'class="bar"[^>]*data-value="([^"]+)"', table)]
        assert sum(percents) == pytest.approx(100, abs=0.1)
    assert "<function>" not in text
    assert not re.search(r'(?:src|href)="(?!data:)', text)


@needs_browser
def test_page_in_a_browser(tmp_path):
    f = network()
    f.profile.write_html(tmp_path / "profile.html")
    result, problems = run_in_page(
        tmp_path / "profile.html",
        """
        const table = document.querySelectorAll("table")[2];
        const column = () => [...table.tBodies[0].rows].map((row) => Number(row.cells[1].dataset.value));
        const before = column();
        const head = table.tHead.rows[0].cells[1];
        head.querySelector("button").click();
        const down = column();
        head.querySelector("button").click();
        return [before, down, column(), head.getAttribute("aria-sort")];
        """,
        tmp_path / "user",
    )
    assert problems == []
    before, down, up, order = result
    assert len(before) == len(f.maker.fgraph.toposort())
    assert before == down == sorted(before, reverse=True)
    assert up == sorted(before)
    assert order == "ascending"


def profiled_scan():
    """A function with a scan after a call, and the profiles of the scan."""
    x, w = T.dmatrix("x"), theano.shared(np.eye(3), "w")
    h, _ = theano.scan(lambda a, b: T.tanh(a + T.dot(b, w)), sequences=x, outputs_info=T.zeros((3,)), profile="rnn")
    known = list(theano.compile.profiling._atexit_print_list)
    f = profiled(h[-1].sum(), [x], [np.ones((4, 3))])
    inner = [p for p in theano.compile.profiling._atexit_print_list if p not in known]
    for found in inner:
        theano.compile.profiling._atexit_print_list.remove(found)
    return f, inner


@needs_browser
def test_page_of_a_scan_in_a_browser(tmp_path):
    f, inner = profiled_scan()
    write_page([f.profile, *inner], tmp_path / "scan.html")
    result, problems = run_in_page(
        tmp_path / "scan.html",
        """
        const sections = [...document.querySelectorAll("section")];
        const nodes = (section) => {
          const heading = [...section.querySelectorAll("h3")].find((h) => h.textContent === "Nodes");
          return heading.nextElementSibling;
        };
        const rows = (table) => [...table.tBodies[0].rows].map((row) => row.lastElementChild.textContent);
        const table = nodes(sections[1]);
        const before = rows(table);
        table.tHead.rows[0].cells[table.tHead.rows[0].cells.length - 1].querySelector("button").click();
        const details = document.querySelector("details");
        const closed = details ? details.getBoundingClientRect().height : 0;
        if (details) details.open = true;
        return {
          headings: sections.map((section) => section.querySelector("h2").textContent),
          outer: rows(nodes(sections[0])),
          before, sorted: rows(table),
          opened: !details || details.getBoundingClientRect().height > closed,
          wide: document.documentElement.scrollWidth <= window.innerWidth,
          bars: [...document.querySelectorAll("td.bar")].every((cell) => getComputedStyle(cell).backgroundSize !== "auto"),
        };
        """,
        tmp_path / "user",
    )
    assert problems == []
    assert result["headings"] == ["my <function>", "Scan rnn"]
    assert len(result["outer"]) == len(f.maker.fgraph.apply_nodes)
    assert any("for" in node for node in result["outer"])
    assert any("Gemv" in node or "anh" in node for node in result["before"])
    assert result["sorted"] == sorted(result["before"], reverse=True)
    assert result["opened"] and result["wide"] and result["bars"]


def test_the_destination_may_be_a_page(tmp_path):
    target = tmp_path / "all.html"
    code = (
        "import theano, theano.tensor as T; x = T.dvector('x')\n"
        "[theano.function([x], x * k, name=f'times {k}')([1, 2]) for k in (2, 3)]"
    )
    done = run_program(code, f"profile=True,profiling.destination={target}")
    assert done.returncode == 0, done.stderr
    text = target.read_text()
    assert "times 2" in text and "times 3" in text and "Sum of all(2)" in text
    assert "profiling" not in done.stderr


def test_a_scan_has_a_section_of_its_own():
    f, inner = profiled_scan()
    text = page([f.profile, *inner])
    assert "Scan rnn" in text and "Runs of the scan" in text
    assert re.search(r"<dt>Steps</dt><dd>4</dd>", text)
    assert len(inner) == 1


class Slow(theano.Op):
    __props__ = ()
    itypes = [T.dvector]
    otypes = [T.dvector]

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.sort(inputs[0])


def test_tips():
    x, m = T.dvector("x"), T.fmatrix("m")
    assert tips(theano.compile.ProfileStats(atexit_print=False)) == []
    python = tips(profiled(Slow()(x), [x], [np.ones(20000)]).profile)
    assert any("Slow runs in Python" in tip for tip in python)
    n = T.dmatrix("n")
    values = [np.ones((90, 90), "float32"), np.ones((90, 90))]
    mixed = tips(profiled(T.dot(m, n), [m, n], values).profile)
    assert any("Dot22" in tip for tip in mixed)
    small = tips(profiled(x.sum(), [x], [np.ones(2)], calls=20).profile)
    assert any("in each call" in tip for tip in small)
    with theano.configparser.change_flags(optimizer="None"):
        assert "Few optimizations" in tips(profiled(x + 1, [x], [np.ones(2)]).profile)[0]


def test_tips_are_part_of_the_text():
    text = io.StringIO()
    x = T.dvector("x")
    profiled(Slow()(x), [x], [np.ones(20000)]).profile.summary(file=text)
    assert "Tips" in text.getvalue() and "Slow runs in Python" in text.getvalue()
