"""The search path of programs, ``PATH``, changed for this process."""

from __future__ import annotations

import os
import sys


class PathParser:
    """The directories of ``PATH``, to which more are added; the variable changes with each.

    All objects share the directories, which stand in the variable without repetition and in alphabetical order.

    Parameters
    ----------
    *paths : str
        Directories to add at once.

    Examples
    --------
    >>> import os, theano.pathparse
    >>> before = os.environ["PATH"]
    >>> paths = theano.pathparse.PathParser("/opt/tools/bin")
    >>> paths.add("/opt/more/bin")
    >>> {"/opt/tools/bin", "/opt/more/bin"} <= set(os.environ["PATH"].split(os.pathsep))
    True
    >>> os.environ["PATH"] = before
    """

    paths: set[str] = set()

    def __init__(self, *paths: str):
        for path in (*os.environ.get("PATH", "").split(os.pathsep), *paths):
            self._add(path)
        self._update()

    def add(self, path: str) -> None:
        """Add a directory."""
        self._add(path)
        self._update()

    def _add(self, path: str) -> None:
        path = path.strip()
        if path:
            # File names of Windows do not differ by case.
            self.paths.add(os.path.abspath(path.lower() if sys.platform == "win32" else path))

    def _update(self) -> None:
        os.environ["PATH"] = os.pathsep.join(sorted(self.paths))

    def _debug(self) -> None:
        print("\n".join(sorted(self.paths)))
