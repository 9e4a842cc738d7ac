"""A line on the terminal while a function takes long to compile."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any

from theano.configparser import config
from theano.process import new_lock

DELAY = 2.0
"""Seconds that a compilation may take before the line appears."""

_INTERVAL = 0.25

_active = threading.local()
# Held by the compilation whose line is shown.
_line = new_lock()


def _in_notebook() -> bool:
    """Whether the program runs in a cell of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


class _Cell:
    """Stands for the terminal: the line is an output of a notebook's cell, which is replaced and at last emptied."""

    def __init__(self) -> None:
        self._handle: Any = None

    def isatty(self) -> bool:
        return True

    def flush(self) -> None:
        pass

    def write(self, text: str) -> None:
        from IPython.display import display  # type: ignore[import-not-found, unused-ignore]

        from theano.pages import render

        line = text.strip("\r ")
        data = {"text/plain": line, "text/html": render("notebook.html#progress", line=line)}
        if self._handle is None:
            self._handle = display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)


class CompileProgress:
    """Context in which a function is compiled: after `DELAY` seconds a line on the terminal says how far that is.

    In a notebook the line is an output of the cell. Nothing is written, and no thread started, where standard error is
    neither a terminal nor a notebook, where `config.optimizer_verbose` prints
    each replacement, nor for functions that are compiled in the course of another (the inner one of a scan). There is one
    line at a time, of the first of several threads that compile, and none while the compilation stands in a debugger.

    Parameters
    ----------
    name : str, optional
        Of the function.
    """

    def __init__(self, name: str | None = None) -> None:
        self.name = name
        self.what = ""
        self.fgraph: Any = None
        self._thread: threading.Thread | None = None
        self._shown = 0
        self._writing = new_lock()

    def __enter__(self) -> CompileProgress:
        stream: Any = sys.stderr
        if stream is not None and not stream.isatty() and _in_notebook():
            stream = _Cell()
        if (
            getattr(_active, "progress", None) is None
            and stream is not None
            and stream.isatty()
            and not config.optimizer_verbose
        ):
            _active.progress = self
            self._stream = stream
            self._compiles = threading.get_ident()
            self._start = time.perf_counter()
            self._stop = threading.Event()
            self._thread = threading.Thread(target=self._show, name="theano-compile-progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._thread is not None:
            _active.progress = None
            # In a child that was forked meanwhile the thread is not there, and what it held stays taken.
            if self._thread.is_alive():
                self._stop.set()
                self._thread.join()
            self._thread = None

    def line(self, width: int = 100) -> str:
        """Return what is shown: the seconds, the stage, and the pass and size of the graph.

        Parameters
        ----------
        width : int
            Most characters. Of a name that is too long (a path, say) the end is shown.
        """
        parts = [f"{time.perf_counter() - self._start:.0f} s", self.what]
        fgraph = self.fgraph
        if fgraph is not None:
            current = getattr(fgraph, "current_pass", None)
            if current:
                parts.append(str(current))
            count = len(fgraph.apply_nodes)
            parts.append(f"{count:,} node{'' if count == 1 else 's'}")
        state = ", ".join(part for part in parts if part)
        name = self.name or ""
        room = width - len(f"theano.function : {state}")
        if len(name) > room:
            name = f"...{name[3 - room :]}" if room > 3 else ""
        return f"theano.function{' ' if name else ''}{name}: {state}"[:width]

    def _show(self) -> None:
        if self._stop.wait(DELAY):
            return
        while not _line.acquire(blocking=False):
            if self._stop.wait(_INTERVAL):
                return
        try:
            while True:
                with self._writing:
                    if not self._in_debugger():
                        text = self.line(min(self._columns() - 1, 100))
                        self._write("\r" + text.ljust(self._shown))
                        self._shown = len(text)
                if self._stop.wait(_INTERVAL):
                    break
            self.clear()
        finally:
            _line.release()

    def clear(self) -> None:
        """Take the line away, so that something else can be printed; it comes back if that is not the end."""
        with self._writing:
            if self._shown:
                self._write("\r" + " " * self._shown + "\r")
                self._shown = 0

    def _in_debugger(self) -> bool:
        """Whether the thread that compiles waits for the user of a debugger, whose prompt the line would overwrite."""
        frame = sys._current_frames().get(self._compiles)
        while frame is not None:
            if frame.f_globals.get("__name__") in ("bdb", "cmd", "code", "pdb"):
                return True
            frame = frame.f_back
        return False

    def _columns(self) -> int:
        """Width of the terminal; a line that does not fit could not be overwritten by the next one."""
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except (OSError, ValueError, AttributeError):
            return 80

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError, ImportError, LookupError, RuntimeError):
            # The terminal or the notebook is gone; the function is compiled all the same.
            self._stop.set()


def stage(what: str, fgraph: Any = None) -> None:
    """Say what is done now for the function that this thread compiles.

    Parameters
    ----------
    what : str
    fgraph : FunctionGraph, optional
        The graph that is worked on.
    """
    progress = getattr(_active, "progress", None)
    if progress is not None:
        progress.what = what
        progress.fgraph = fgraph


def clear_line() -> None:
    """Take away the line of the function that this thread compiles, before something else is printed."""
    progress = getattr(_active, "progress", None)
    if progress is not None:
        progress.clear()
