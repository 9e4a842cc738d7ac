"""No rewrite is registered without a test that it fires, keeps what it must, and leaves its near miss alone."""

from __future__ import annotations

import ast
import io
import re
from pathlib import Path

import pytest
from rewrite_cases import all_cases, registered
from whole_graph_rewrites import WHOLE_GRAPH

import theano

ROOT = Path(__file__).parents[3]


def test_every_registered_rewrite_is_tested():
    in_tables = {case.name for case in all_cases()}
    assert not in_tables & set(WHOLE_GRAPH), "one home for each rewrite"
    assert in_tables | set(WHOLE_GRAPH) == set(registered())


def test_every_case_table_has_a_near_miss_for_each_name():
    with_near_miss = {case.name for case in all_cases() if case.near_misses}
    assert with_near_miss == {case.name for case in all_cases()}


@pytest.mark.parametrize(("name", "where"), WHOLE_GRAPH.items())
def test_what_is_named_for_whole_graph_rewrites_exists(name, where):
    tests = [where] if isinstance(where, str) else list(where)
    assert tests
    for test in tests:
        path, _, found = test.partition("::")
        tree = ast.parse((ROOT / path).read_text())
        assert found.startswith(("test_", "Test"))
        assert found in {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}, test


def test_the_summary_tells_the_names_of_what_works_in_place():
    stream = io.StringIO()
    theano.compile.mode.optdb.query(theano.gof.Query(include=["fast_run"])).print_summary(stream)
    of_functions = set(re.findall(r"<function (\S+)", stream.getvalue()))
    assert of_functions >= {"local_inplace_gemv", "local_inplace_ger"}
    assert of_functions >= {"local_inplace_setsubtensor", "local_inplace_AdvancedIncSubtensor1"}
