"""Loops: `scan`, and its simpler forms `map`, `reduce`, `foldl` and `foldr`."""

from __future__ import annotations

from theano.scan_module.scan import scan
from theano.scan_module.scan_checkpoints import scan_checkpoints
from theano.scan_module.scan_utils import clone, until
from theano.scan_module.scan_views import foldl, foldr, map, reduce
from theano.updates import OrderedUpdates

__all__ = ["OrderedUpdates", "clone", "foldl", "foldr", "map", "reduce", "scan", "scan_checkpoints", "until"]

import theano.scan_module.scan_opt  # noqa: E402, F401  (registers the rewrites)
