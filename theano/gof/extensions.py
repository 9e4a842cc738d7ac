"""Whether the program adds to how graphs are compiled: rewrites, lowerings, checks of its own."""

from __future__ import annotations

import sys

_from_outside = False


def note() -> None:
    """Take note of who registers something: this package as it is imported, or somebody else.

    Examples
    --------
    >>> import theano
    >>> theano.gof.DB().register("mine", theano.gof.MergeOptimizer())
    >>> any_from_outside()
    True
    """
    global _from_outside
    if not _from_outside:
        frame = sys._getframe(1)
        while frame is not None and _package(frame) == "theano":
            frame = frame.f_back
        _from_outside = frame is not None and _package(frame) != "importlib"


def _package(frame: object) -> str:
    return frame.f_globals.get("__name__", "").partition(".")[0]  # type: ignore[attr-defined]


def any_from_outside() -> bool:
    """Return whether somebody other than this package has registered something."""
    return _from_outside
