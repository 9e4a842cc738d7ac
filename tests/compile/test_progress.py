"""A compilation that takes long says so on a terminal, and nowhere else."""

import io
import re
import sys
import time

import pytest

import theano
import theano.tensor as T
from theano.compile import progress
from theano.gof.opt import Optimizer


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Slow(Optimizer):
    name = "a slow pass"

    def apply(self, fgraph):
        time.sleep(0.1)


@pytest.fixture
def slow_mode():
    return theano.Mode("py", theano.gof.opt.SeqOptimizer([Slow()]))


def compile_with(stream, mode, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream)
    x = T.dscalar()
    return theano.function([x], x + 1, mode=mode, name="f")


def test_a_line_with_stage_pass_and_nodes_appears_and_is_erased(slow_mode, monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 0.01)
    monkeypatch.setattr(progress, "_INTERVAL", 0.01)
    stream = Terminal()
    assert compile_with(stream, slow_mode, monkeypatch)(1) == 2
    *lines, last = stream.getvalue().split("\r")[1:]
    # On a busy machine the first line may show an earlier stage.
    assert any(re.match(r"theano.function f: \d+ s, rewriting, a slow pass, 1 nodes", line) for line in lines)
    assert last == ""
    assert stream.getvalue().endswith(" \r")


def test_quick_compilations_write_nothing(slow_mode, monkeypatch):
    stream = Terminal()
    compile_with(stream, slow_mode, monkeypatch)
    assert stream.getvalue() == ""


def test_nothing_is_written_where_there_is_no_terminal(slow_mode, monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 0.01)
    stream = io.StringIO()
    compile_with(stream, slow_mode, monkeypatch)
    assert stream.getvalue() == ""


def test_functions_within_functions_share_one_line(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress.CompileProgress("outer") as outer, progress.CompileProgress("inner") as inner:
        progress.stage("here")
        assert outer.what == "here"
        assert inner.what == ""


def test_a_terminal_that_is_gone_does_not_matter(slow_mode, monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 0.01)

    class Gone(Terminal):
        def write(self, text):
            raise OSError("gone")

    assert compile_with(Gone(), slow_mode, monkeypatch)(1) == 2


def test_a_long_name_is_cut_so_that_the_line_fits_the_terminal(slow_mode, monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 0.01)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    x = T.dscalar()
    theano.function([x], x + 1, mode=slow_mode, name="/home/somebody/" + "deep/" * 20 + "train.py:123")
    shown = [line for line in terminal.getvalue().split("\r") if line.strip()]
    assert shown and all(len(line) < 80 for line in shown)
    assert all(re.search(r"/train\.py:123: \d+ s", line) for line in shown)
