"""Targets: what is true of one kind of machine, each in its folder, behind the interface of :mod:`theano.native.target.base`."""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from theano.native.target.base import Target

TARGETS = {"cpu": "theano.native.target.cpu.machine:CPU", "reference": "theano.native.target.reference.machine:Reference"}
"""Where the class of each target is."""


@functools.cache
def target(name: str) -> Target:
    """The target of a name.

    Examples
    --------
    >>> target("reference").name
    'reference'
    """
    if name not in TARGETS:
        raise ValueError(f"there is no target {name!r}, but {', '.join(TARGETS)}")
    module, class_name = TARGETS[name].split(":")
    return getattr(importlib.import_module(module), class_name)()
