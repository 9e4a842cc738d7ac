"""Graphs for pydot and pages, without a browser."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import theano
import theano.d3viz as d3v
import theano.tensor as T
from theano.d3viz.d3viz import d3write, replace_patterns, safe_json
from theano.d3viz.formatting import PyDotFormatter
from theano.d3viz.layered import arrange, find_ranks
from theano.d3viz.layout import layout
from theano.d3viz.model import build
from theano.printing.dot import pydot_status

pydot = pytest.importorskip("pydot")
needs_dot = pytest.mark.skipif(not pydot_status()[0], reason=pydot_status()[1])
needs_igraph = pytest.mark.skipif(importlib.util.find_spec("igraph") is None, reason="igraph is not installed")


def kinds(graph):
    return sorted(node.get("node_type") for node in graph.get_nodes())


def network():
    x = T.dmatrix("x")
    w = theano.shared(np.ones((3, 2)), "w")
    return x, w, T.tanh(T.dot(x, w)) * 2.5


def test_patterns_are_regular_and_replacements_literal():
    assert replace_patterns("a1 a22", {r"a\d+": r"\1"}) == r"\1 \1"


def test_json_is_safe_inside_a_script():
    value = {"<b>": ["</script>", "a & b", "\u2028", 1.5, None]}
    text = safe_json(value)
    assert not set(text) & set("<>&\u2028")
    assert json.loads(text) == value


def test_kinds_of_nodes():
    x, w, y = network()
    f = theano.function([x], y, mode="FAST_COMPILE")
    graph = PyDotFormatter()(f)
    assert kinds(graph).count("apply") == len(f.maker.fgraph.toposort())
    for kind in ("input", "shared_input", "constant_input", "output"):
        assert kinds(graph).count(kind) == 1
    assert PyDotFormatter(compact=False)(y).to_string().count("node_type=variable") == 3


def test_nodes_are_added_to_a_given_graph():
    _, _, y = network()
    graph = pydot.Dot()
    assert PyDotFormatter()(y, graph) is graph
    assert graph.get_nodes()


def test_variables_nodes_and_lists_are_drawn():
    x, w, y = network()
    assert kinds(PyDotFormatter()([y, y + 1])).count("output") == 2
    assert kinds(PyDotFormatter()(y.owner)) == kinds(PyDotFormatter()(y))
    with pytest.raises(ValueError, match="Variable"):
        PyDotFormatter()("y")


def test_colors_can_be_chosen():
    _, _, y = network()
    formatter = PyDotFormatter()
    formatter.node_colors["input"] = "orange"
    formatter.apply_colors["Dot"] = "pink"
    text = formatter(y).to_string()
    assert text.count("orange") == 1
    assert text.count("pink") == 1


def test_edges_show_views_and_destroyed_inputs():
    x = T.dmatrix("x")
    f = theano.function([theano.In(x, mutable=True, borrow=True)], x.T * 2, mode="FAST_RUN")
    colors = {edge.get("color") for edge in PyDotFormatter()(f).get_edges()}
    assert colors == {"black", "blue", "red"}


def test_inner_graphs_are_clusters():
    x, y = T.scalars("xy")
    op = theano.OpFromGraph([x, y], [x * y + 1])
    graph = PyDotFormatter()(op(x, y) + op(y, x))
    clusters = graph.get_subgraphs()
    assert len(clusters) == 2
    assert kinds(clusters[0]).count("input") == 2
    names = [node.get_name() for g in (graph, *clusters) for node in g.get_nodes()]
    assert len(names) == len(set(names))


def test_inner_graphs_of_compiled_functions_are_the_optimized_ones():
    x, y = T.scalars("xy")
    op = theano.OpFromGraph([x, y], [(x + y + 1) * 2])
    f = theano.function([x, y], op(x, y) + 1, mode="FAST_RUN")
    f(1, 2)
    before, = PyDotFormatter()(op(x, y)).get_subgraphs()
    after, = PyDotFormatter()(f).get_subgraphs()
    assert kinds(before).count("apply") == 3
    assert kinds(after).count("apply") == 1


def test_model_of_a_deep_graph():
    x = T.dvector("x")
    y = x
    for _ in range(3000):
        y = y + 1
    formatter = PyDotFormatter()
    graph = build(y, True, formatter.node_colors, formatter.apply_colors, formatter.shapes)
    assert sum(node.kind == "apply" for node in graph.nodes) >= 3000


def test_writing_for_graphviz(tmp_path):
    _, _, y = network()
    d3write(y, tmp_path / "graph.dot")
    text = (tmp_path / "graph.dot").read_text()
    assert text.startswith("digraph") and "node_type" in text


@needs_igraph
def test_igraph_alone_is_enough(tmp_path, monkeypatch):
    monkeypatch.setattr(theano.d3viz.layout, "pydot_status", lambda: (False, "no program dot"))
    d3v.d3viz(network()[2], tmp_path / "page.html")
    assert '"kind": "apply"' in (tmp_path / "page.html").read_text()


def test_without_graphviz_and_igraph_an_error_names_both(tmp_path, monkeypatch):
    monkeypatch.setattr(theano.d3viz.layout, "pydot_status", lambda: (False, "no program dot"))
    monkeypatch.setitem(sys.modules, "igraph", None)
    with pytest.raises(ImportError, match="pip install igraph.*graphviz.*no program dot.*igraph"):
        d3v.d3viz(network()[2], tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_a_graph_too_big_for_graphviz_needs_igraph(monkeypatch):
    monkeypatch.setattr(theano.d3viz.layout, "pydot_status", lambda: (True, ""))
    monkeypatch.setattr(theano.d3viz.layout, "_HUGE", 2)
    monkeypatch.setitem(sys.modules, "igraph", None)
    with pytest.raises(ImportError, match="pip install igraph.*nodes takes it too long"):
        layout(PyDotFormatter().model(network()[2]))


@needs_dot
@pytest.mark.parametrize("copied", [True, False])
def test_the_page_has_all_that_it_needs(tmp_path, copied):
    x = T.dvector("</script><b>")
    d3v.d3viz(T.exp(x), tmp_path / "new" / "page.html", copy_deps=copied)
    text = (tmp_path / "new" / "page.html").read_text()
    assert (tmp_path / "new" / "d3viz").is_dir() is copied
    # One file: nothing is loaded from elsewhere.
    assert re.findall(r'<[^>]*(?:src|href)="([^"]+)"', text) == ["data:,"]
    assert "@import" not in text and "url(" not in re.search("<style>(.*?)</style>", text, re.S).group(1)
    assert "%% " not in text
    assert text.count("</script>") == 3


@needs_dot
def test_updates_say_of_what(tmp_path):
    x, w = T.dvector("x"), theano.shared(np.zeros(2), "w")
    graph = PyDotFormatter().model(theano.function([x], x.sum(), updates=[(w, w + x)]))
    labels = [node.label for node in graph.nodes if node.kind == "output"]
    assert labels[1:] == ["new w"] and not labels[0].startswith("new")


class TestRanks:
    def test_edges_are_short(self):
        edges = [("a", "b"), ("b", "c"), ("c", "d"), ("e", "d"), ("a", "f")]
        assert find_ranks("abcdef", edges) == {"a": 0, "b": 1, "c": 2, "d": 3, "e": 2, "f": 1}

    def test_a_node_that_may_move_stands_at_its_use(self):
        assert find_ranks("abcdx", [("a", "b"), ("b", "c"), ("c", "d"), ("a", "x"), ("x", "d")])["x"] == 2

    def test_nodes_without_edges(self):
        assert find_ranks("abc", [("a", "b")]) == {"a": 0, "b": 1, "c": 0}
        assert find_ranks("ab", []) == {"a": 0, "b": 0}


@needs_igraph
class TestLayoutByIgraph:
    def test_edges_point_down_and_nodes_do_not_overlap(self):
        rng = np.random.default_rng(0)
        sizes = {f"n{i}": (float(rng.integers(20, 90)), 30.0) for i in range(60)}
        edges = [(f"n{i}", f"n{j}") for j in range(1, 60) for i in rng.integers(0, j, 2)]
        positions, paths = arrange(sizes, edges)
        assert list(positions) == list(sizes) and len(paths) == len(edges)
        rows = {}
        for name, (x, y) in positions.items():
            rows.setdefault(y, []).append((x, sizes[name][0]))
        for row in rows.values():
            row.sort()
            assert all(x1 - w1 / 2 >= x0 + w0 / 2 for (x0, w0), (x1, w1) in zip(row, row[1:]))
        for (source, target), path in zip(edges, paths):
            assert len(path) % 3 == 1
            assert positions[source][1] < path[0][1] < path[-1][1] < positions[target][1]
            assert path[0][0] == positions[source][0] and path[-1][0] == positions[target][0]

    def test_edges_pass_beside_the_nodes(self):
        rng = np.random.default_rng(3)
        sizes = {f"n{i}": (float(rng.integers(20, 200)), 30.0) for i in range(50)}
        edges = [(f"n{i}", f"n{j}") for j in range(1, 50) for i in rng.integers(max(0, j - 9), j, 2)]
        positions, paths = arrange(sizes, edges)
        passed = 0
        for path in paths:
            stops = path[::3]
            for (x0, y0), (x1, y1) in list(zip(stops, stops[1:]))[1:-1]:
                for name, (x, y) in positions.items():
                    if y0 <= y <= y1:
                        assert x0 == x1 and abs(x - x0) > sizes[name][0] / 2
                        passed += 1
        assert passed > 50

    def test_edges_that_need_not_cross_do_not(self):
        sizes = dict.fromkeys("abcdef", (30.0, 30.0))
        positions, _ = arrange(sizes, [("a", "f"), ("b", "e"), ("c", "d")])
        below = {"a": "f", "b": "e", "c": "d"}
        order = sorted("abc", key=lambda name: positions[name][0])
        assert sorted(below.values(), key=lambda name: positions[name][0]) == [below[name] for name in order]

    def test_parallel_edges_are_told_apart(self):
        _, paths = arrange({"a": (30.0, 30.0), "b": (30.0, 30.0)}, [("a", "b")] * 3)
        assert len({path[1] for path in paths}) == 3

    def test_nothing(self):
        assert arrange({}, []) == ({}, [])
        assert arrange({"a": (3.0, 3.0)}, [])[1] == []

    def test_a_deep_graph_with_long_edges(self):
        x = y = T.dvector("x")
        for _ in range(2000):
            y = T.tanh(y) + x
        drawn = layout(PyDotFormatter().model(y))
        depth = [node["y"] for node in drawn["nodes"]]
        assert max(depth) - min(depth) > 2000 * 2 * 30


def test_texts_of_variables_and_nodes():
    from theano.d3viz import formatting

    x = T.dmatrix("x")
    assert formatting.var_label(x) == "x" and formatting.var_label(T.exp(x)) == "dmatrix"
    assert formatting.var_label(T.constant(1.23456)) == "1.235" and formatting.var_label(T.constant(np.arange(3))) == "[0 1 2]"
    assert formatting.var_label(T.TensorType("float32", [False] * 4)()) == "float32"
    file, line, code = formatting.var_tag(x)
    assert file == Path(__file__).name and line > 0 and b'T.dmatrix("x")' in code
    x.tag.trace = []
    assert formatting.var_tag(x) is None
    node = T.exp(x).owner
    assert formatting.apply_label(node) == "Elemwise" and formatting.apply_profile(node, None) is None
    profile = theano.compile.ProfileStats(atexit_print=False)
    profile.fct_call_time, profile.apply_time[node] = 2.0, 0.5
    assert formatting.apply_profile(node, profile) == [0.5, 2.0]
    assert [formatting.broadcastable_to_str(b) for b in ((), (True, False), (True,))] == ["scalar", "row", ""]
    assert formatting.dtype_to_char("int64") == "l" and formatting.dtype_to_char("uint8") == "X"
    assert formatting.type_to_str(theano.gof.generic) == str(theano.gof.generic)
