"""The page of a graph in a real browser: what is drawn, zoom, moving, editing, profile colors, inner graphs."""

import importlib.util

import numpy as np
import pytest

import theano
import theano.d3viz as d3v
import theano.tensor as T
from theano.printing.dot import pydot_status

from .browser import needs_browser, run_in_page

pytestmark = [
    needs_browser,
    pytest.mark.skipif(
        not pydot_status()[0] and importlib.util.find_spec("igraph") is None, reason="neither graphviz nor igraph is there"
    ),
]

SCRIPT = """
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const all = (selector) => [...document.querySelectorAll(selector)];
const send = (element, kind, more) => element.dispatchEvent(
  new MouseEvent(kind, { bubbles: true, cancelable: true, view: window, clientX: 300, clientY: 300, ...more }));
const place = (element) => element.getAttribute("transform");
const nodeWith = (text) => all("g.node").find((node) => node.textContent === text);
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


def test_page_of_a_profiled_network(folder):
    rng = np.random.default_rng(0)
    x, t = T.dmatrix("x"), T.ivector("t")
    w, b = theano.shared(rng.normal(size=(6, 3)), "w"), theano.shared(np.zeros(3), "b")
    loss = T.nnet.categorical_crossentropy(T.nnet.softmax(T.tanh(x).dot(w) + b), t).mean()
    updates = [(p, p - 0.1 * g) for p, g in zip((w, b), T.grad(loss, [w, b]))]
    f = theano.function([x, t], loss, updates=updates, profile=theano.ProfileStats(atexit_print=False))
    f(rng.normal(size=(5, 6)), np.zeros(5, "int32"))
    page = folder / "network.html"
    d3v.d3viz(f, page)

    result, problems = run_in_page(
        page,
        SCRIPT
        + """
        const result = {};
        result.kinds = {};
        for (const node of all("g.node")) {
          const kind = node.dataset.kind;
          result.kinds[kind] = (result.kinds[kind] || 0) + 1;
        }
        result.edges = all("path.edge").filter((path) => path.getAttribute("d").length > 5).length;

        const canvas = document.getElementById("canvas");
        const before = place(canvas);
        document.getElementById("graph").dispatchEvent(new WheelEvent("wheel",
          { bubbles: true, cancelable: true, deltaY: -300, clientX: 500, clientY: 300, view: window }));
        result.zoomed = place(canvas) !== before;
        document.getElementById("fit").click();
        result.fitted = place(canvas) === before;

        const node = nodeWith("x");
        const home = place(node);
        send(node, "mousedown", { clientX: 100, clientY: 100 });
        send(window, "mousemove", { clientX: 140, clientY: 130 });
        send(window, "mouseup", { clientX: 140, clientY: 130 });
        result.moved = place(node) !== home;
        await wait(20);
        document.getElementById("reset").click();
        result.reset = place(node) === home;
        document.getElementById("release").click();
        result.released = place(node) !== home;
        document.getElementById("reset").click();

        send(node, "mouseover");
        result.tooltip = document.getElementById("tooltip").textContent;
        send(node, "mouseout");
        result.hidden = document.getElementById("tooltip").hidden;

        send(node, "click");
        document.getElementById("edit").click();
        const input = document.getElementById("label");
        input.value = "the data";
        document.getElementById("context").requestSubmit();
        result.edited = node.textContent;

        const colors = () => all("g.node[data-kind=apply] .shape").map((shape) => shape.style.fill).join();
        const plain = colors();
        const button = document.getElementById("profile");
        result.offered = !button.hidden;
        button.click();
        result.heated = colors() !== plain;
        button.click();
        result.cooled = colors() === plain;
        return result;
        """,
        folder / "user",
    )
    assert problems == []
    assert result.pop("kinds")["apply"] == len(f.maker.fgraph.toposort())
    assert result.pop("edges") >= sum(len(node.inputs) for node in f.maker.fgraph.toposort())
    tooltip = result.pop("tooltip")
    assert "TensorType(float64, matrix)" in tooltip
    assert __file__.rpartition("/")[2] in tooltip
    assert result.pop("edited") == "the data"
    assert all(result.values()), result


def test_inner_graphs_open_and_close(folder):
    x, y, z = T.scalars("xyz")
    inner = theano.OpFromGraph([x, y], [x * y], name="inner")
    outer = theano.OpFromGraph([x, y, z], [inner(x, y) + z], name="outer")
    page = folder / "inner.html"
    d3v.d3viz(theano.function([x, y, z], outer(x, y, z) + z), page)

    result, problems = run_in_page(
        page,
        SCRIPT
        + """
        const count = () => all("g.node").length;
        const nested = () => all("g.nested").find((node) => !node.classList.contains("group"));
        const result = [count()];
        const opened = nested();
        send(opened, "dblclick");
        result.push(count());
        const width = Number(opened.querySelector("rect.shape").getAttribute("width"));
        send(nested(), "dblclick");
        result.push(count());
        const wider = Number(opened.querySelector("rect.shape").getAttribute("width"));
        // All nodes of the inner graph lie inside the shape of the node that was opened.
        const frame = opened.querySelector(".shape").getBoundingClientRect();
        const group = all("g.group")[1].getBoundingClientRect();
        result.push(frame.left <= group.left && frame.right >= group.right && frame.top <= group.top
          && frame.bottom >= group.bottom);
        const ends = all("path.edge").every((path) => !path.getAttribute("d").includes("NaN"));
        result.push(ends, wider >= width);
        send(opened, "dblclick");
        result.push(count());
        result.push(document.getElementById("profile").hidden);
        return result;
        """,
        folder / "user",
    )
    assert problems == []
    closed, one, two, inside, ends, grown, again, no_profile = result
    assert one == closed + 6
    assert two == one + 4
    assert again == closed
    assert inside and ends and grown and no_profile


@pytest.mark.parametrize("graphviz", [True, False])
def test_inner_graph_of_a_scan(folder, monkeypatch, graphviz):
    if graphviz and not pydot_status()[0]:
        pytest.skip(pydot_status()[1])
    x, w = T.dmatrix("x"), theano.shared(np.eye(3), "w")
    h, _ = theano.scan(lambda a, b: T.tanh(a + T.dot(b, w)), sequences=x, outputs_info=T.zeros((3,)))
    f = theano.function([x], h[-1].sum(), profile=theano.ProfileStats(atexit_print=False))
    f(np.ones((4, 3)))
    page = folder / "scan.html"
    if not graphviz:
        pytest.importorskip("igraph")
        monkeypatch.setattr(theano.d3viz.layout, "pydot_status", lambda: (False, "no dot"))
    d3v.d3viz(f, page)

    result, problems = run_in_page(
        page,
        SCRIPT
        + """
        const scan = all("g.nested")[0];
        const closed = all("g.node").length;
        send(scan, "dblclick");
        const inside = all("g.node").length - closed;
        const canvas = document.getElementById("canvas");
        const before = place(canvas);
        document.getElementById("graph").dispatchEvent(new WheelEvent("wheel",
          { bubbles: true, cancelable: true, deltaY: -300, clientX: 500, clientY: 300, view: window }));
        const zoomed = place(canvas) !== before;
        const heated = () => all("g.node[data-kind=apply] .shape").map((shape) => shape.style.fill).join();
        const cold = heated();
        document.getElementById("profile").click();
        const colored = heated() !== cold;
        const at = (path, t) => {
          const point = path.getPointAtLength(t * path.getTotalLength());
          return [point.x, point.y];
        };
        // The arrow from w must end at the inner variable that stands for it.
        const near = (node, [x, y]) => {
          const box = node.querySelector(".shape").getBBox();
          const [ax, ay] = place(node).match(/-?[\\d.]+/g).map(Number);
          return x >= ax + box.x - 3 && x <= ax + box.x + box.width + 3
            && y >= ay + box.y - 3 && y <= ay + box.y + box.height + 3;
        };
        const ends = all("path.edge").filter((path) => near(nodeWith("w"), at(path, 0)))
          .map((path) => near(nodeWith("w_copy"), at(path, 1)));
        const drawn = all("path.edge").every((path) => path.getTotalLength() > 5);
        return [all("g.group").length, ends, closed, inside, zoomed, colored, drawn];
        """,
        folder / "user",
    )
    assert problems == []
    groups, ends, closed, inside, *states = result
    assert groups == 1 and ends == [True]
    assert closed >= len(f.maker.fgraph.apply_nodes) + 3
    assert inside >= 4
    assert states == [True, True, True]


def test_search_legend_and_keys(folder):
    rng = np.random.default_rng(0)
    x, t = T.dmatrix("x"), T.ivector("t")
    w = theano.shared(rng.normal(size=(6, 3)), "weights")
    inner = theano.OpFromGraph([t], [T.sqr(t) + 41], name="hidden_away")
    loss = T.nnet.categorical_crossentropy(T.nnet.softmax(T.tanh(x).dot(w)), t).mean() + inner(t).sum()
    page = folder / "keys.html"
    d3v.d3viz(theano.function([x, t], loss, updates=[(w, w * 0.9)]), page)

    result, problems = run_in_page(
        page,
        SCRIPT
        + """
        const result = {};
        const key = (name, target) => (target || document.body).dispatchEvent(
          new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
        const search = document.getElementById("search");
        const canvas = document.getElementById("canvas");
        const ask = (text) => {
          search.value = text;
          search.dispatchEvent(new Event("input", { bubbles: true }));
          return all("g.node.found").length;
        };
        key("/");
        result.searches = document.activeElement === search;
        result.weights = ask("weights") >= 2;
        result.dimmed = document.getElementById("graph").classList.contains("searching");
        result.none = ask("no such thing") === 0 && document.getElementById("found").textContent.includes("nothing");
        const nodes = all("g.node").length;
        ask("41");
        const before = place(canvas);
        key("Enter", search);
        result.opened = all("g.node").length > nodes && all("g.node.current").length === 1;
        result.moved = place(canvas) !== before;
        key("Escape", search);
        result.ended = search.value === "" && !document.getElementById("graph").classList.contains("searching");

        key("0");
        const home = place(canvas);
        key("+");
        result.zoomed = place(canvas) !== home;
        key("0");
        key("ArrowLeft");
        result.shifted = place(canvas) !== home;
        key("0");
        result.fitted = place(canvas) === home;

        key("l");
        const legend = document.getElementById("legend");
        result.legend = legend.open && legend.textContent.includes("shared variable");
        key("Escape");
        result.closed = !legend.open;
        const group = all("g.group")[0];
        key("Enter", group);
        result.folded = all("g.group").length === 0;
        result.named = nodeWith("new weights").getAttribute("aria-label") === "output new weights";
        return result;
        """,
        folder / "user",
    )
    assert problems == []
    assert all(result.values()), result
