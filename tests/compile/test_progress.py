"""A compilation that takes long says so on a terminal, and nowhere else."""

import io
import logging
import pdb
import re
import sys
import threading
import time

import pytest

import theano
import theano.tensor as T
from theano.gof import progress
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
    assert any(re.match(r"theano.function f: \d+ s, rewriting, a slow pass, 1 node(,|\s|$)", line) for line in lines)
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


def test_no_line_where_each_replacement_is_printed(slow_mode, monkeypatch, capsys):
    monkeypatch.setattr(progress, "DELAY", 0.01)
    stream = Terminal()
    with theano.config.change_flags(optimizer_verbose=True):
        compile_with(stream, slow_mode, monkeypatch)
    assert stream.getvalue() == ""


class Raises(Optimizer):
    name = "wrong"

    def apply(self, fgraph):
        time.sleep(0.1)
        raise ValueError("wrong")


def test_the_line_makes_way_for_what_is_logged(monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 0.01)
    monkeypatch.setattr(progress, "_INTERVAL", 10)
    stream = Terminal()
    handler = logging.StreamHandler(stream)
    logger = logging.getLogger("theano.gof.opt")
    monkeypatch.setattr(logger, "handlers", [handler])
    monkeypatch.setattr(logger, "propagate", False)
    wrong = theano.gof.opt.SeqOptimizer([Raises()], failure_callback=theano.gof.opt.SeqOptimizer.warn)
    compile_with(stream, theano.Mode("py", wrong), monkeypatch)
    line, blanks, *rest = stream.getvalue().split("\r")[1:]
    assert line.startswith("theano.function f") and not blanks.strip() and len(blanks) == len(line)
    assert rest[0].startswith("SeqOptimizer apply")


def test_no_line_while_the_user_is_in_a_debugger(monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 0.01)
    monkeypatch.setattr(progress, "_INTERVAL", 0.01)
    stream = Terminal()
    at_prompt = []

    class Slowly(io.StringIO):
        """Gives the debugger a command after some time."""

        def readline(self, *size):
            before = stream.getvalue()
            time.sleep(0.1)
            at_prompt.append(stream.getvalue()[len(before) :])
            return "q\n"

    def debug(traceback):
        debugger = pdb.Pdb(stdin=Slowly(), stdout=io.StringIO(), nosigint=True, readrc=False)
        debugger.reset()
        debugger.interaction(None, traceback)

    monkeypatch.setattr(pdb, "post_mortem", debug)
    wrong = theano.gof.opt.SeqOptimizer([Raises()], failure_callback=theano.gof.opt.SeqOptimizer.warn)
    with theano.config.change_flags(on_opt_error="pdb"):
        compile_with(stream, theano.Mode("py", wrong), monkeypatch)
    assert at_prompt == [""]
    assert "theano.function f" in stream.getvalue()


def test_one_of_several_threads_has_the_line(monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 0.01)
    monkeypatch.setattr(progress, "_INTERVAL", 0.01)
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    both = threading.Barrier(2)

    def compiles(name):
        with progress.CompileProgress(name):
            both.wait()
            time.sleep(0.1)
            both.wait()

    threads = [threading.Thread(target=compiles, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shown = set(re.findall(r"theano.function (\w+)", stream.getvalue()))
    assert len(shown) == 1
    assert stream.getvalue().endswith(" \r")


def test_the_line_is_erased_when_the_user_interrupts(monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 0.01)
    monkeypatch.setattr(progress, "_INTERVAL", 0.01)

    class Interrupted(Optimizer):
        def apply(self, fgraph):
            time.sleep(0.1)
            raise KeyboardInterrupt

    stream = Terminal()
    with pytest.raises(KeyboardInterrupt):
        compile_with(stream, theano.Mode("py", theano.gof.opt.SeqOptimizer([Interrupted()])), monkeypatch)
    assert stream.getvalue().endswith(" \r")
    assert not [thread for thread in threading.enumerate() if thread.name == "theano-compile-progress"]
