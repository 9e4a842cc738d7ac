"""A line on the terminal while a function takes long to compile."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any

DELAY = 2.0
"""Seconds that a compilation may take before the line appears."""

_INTERVAL = 0.25

_active = threading.local()


class CompileProgress:
    """Context in which a function is compiled: after `DELAY` seconds a line on the terminal says how far that is.

    Nothing is written, and no thread started, where standard error is no terminal, nor for functions that are compiled in
    the course of another (the inner one of a scan).

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

    def __enter__(self) -> CompileProgress:
        stream = sys.stderr
        if getattr(_active, "progress", None) is None and stream is not None and stream.isatty():
            _active.progress = self
            self._stream = stream
            self._start = time.perf_counter()
            self._stop = threading.Event()
            self._thread = threading.Thread(target=self._show, name="theano-compile-progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._thread is not None:
            _active.progress = None
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
            parts.append(f"{len(fgraph.apply_nodes):,} nodes")
        state = ", ".join(part for part in parts if part)
        name = self.name or ""
        room = width - len(f"theano.function : {state}")
        if len(name) > room:
            name = f"...{name[3 - room :]}" if room > 3 else ""
        return f"theano.function{' ' if name else ''}{name}: {state}"[:width]

    def _show(self) -> None:
        shown = 0
        if not self._stop.wait(DELAY):
            while True:
                text = self.line(min(self._columns() - 1, 100))
                self._write("\r" + text.ljust(shown))
                shown = len(text)
                if self._stop.wait(_INTERVAL):
                    break
        if shown:
            self._write("\r" + " " * shown + "\r")

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
        except (OSError, ValueError):
            # The terminal is gone; the function is compiled all the same.
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
