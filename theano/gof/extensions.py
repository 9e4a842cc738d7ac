"""Whether the program adds to how graphs are compiled: rewrites, lowerings, checks of its own."""

from __future__ import annotations

import sys

_from_outside = False
# Who registers something before this package is there can only be the package.
_package_is_there = False


def watch() -> None:
    """From now on take note of who registers something: the package is there."""
    global _package_is_there
    _package_is_there = True


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
    if _package_is_there and not _from_outside:
        frame = sys._getframe(1)
        while frame is not None and _package(frame) == "theano":
            frame = frame.f_back
        _from_outside = frame is not None and _package(frame) != "importlib"


def _package(frame: object) -> str:
    return frame.f_globals.get("__name__", "").partition(".")[0]  # type: ignore[attr-defined]


def any_from_outside() -> bool:
    """Return whether somebody other than this package has registered something."""
    return _from_outside
