"""The documented names of the rewrites of loops, gathered from :mod:`theano.scan_module.rewriting`.

Importing this module registers them:

======  ==========================================  ================================================================
0.04    scan_simplify                               the first eight of the following, before all others
0.042   scan_cumulate                               running sums and products are no loops
0.045   scanOp_keep_values                          what the gradient needs is kept, not computed again
0.05    scan_eqopt1                                 until nothing changes:
..      scanOp_merge                                loops of the same length become one
..      scan_remove_dead_outputs                    outputs that nobody takes
..      scanOp_remove_constants_and_unused_inputs1  constants into the step, unused arguments away
..      scanOp_merge_inouts                         what is there twice
..      scan_write_out_short_loops                  loops of no step or one step
..      scan_optimize_inner                         the step is canonicalized and stabilized
..      scan_mitmot_to_sitsot                       gradients of states without a buffer of all steps
..      scanOp_pushout_nonseqs_ops                  what is the same at all steps is computed before the loop
..      scan_pushout_dot1                           sums of products become one product after the loop
..      scanOp_pushout_seqs_ops                     what needs no earlier step is computed before the loop
..      scanOp_pushout_output                       what no later step needs is computed after the loop
1.6     scan_eqopt2                                 once more, on the simplified graph
1.61    scanOp_save_mem                             memory for the steps that something takes
2.9     scanOp_remove_constants_and_unused_inputs2  constants that were found since
75      scanOp_make_inplace                         states in the memory of their initial values
======  ==========================================  ================================================================

Those that may need more memory have the tag ``more_mem``.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from theano.gof.opt import MergeOptimizer, in2out
from theano.gof.optdb import EquilibriumDB
from theano.gof.rewriting.stages import optdb
from theano.scan_module.rewriting.arguments import (
    remove_constants_and_unused_inputs_scan,
    scan_merge_inouts,
    scan_remove_dead_outputs,
)
from theano.scan_module.rewriting.backward import ScanMitMotToSitSot
from theano.scan_module.rewriting.inner import scan_optimize_inner
from theano.scan_module.rewriting.inplace import ScanInplaceOptimizer
from theano.scan_module.rewriting.keep import ScanKeepValues
from theano.scan_module.rewriting.merge import ScanMerge
from theano.scan_module.rewriting.pushout import PushOutNonSeqScan, PushOutSeqScan, ScanCumulate
from theano.scan_module.rewriting.pushout_output import PushOutDot1, PushOutScanOutput
from theano.scan_module.rewriting.savemem import ScanSaveMem
from theano.scan_module.rewriting.short import scan_write_out_short_loops
from theano.tensor.opt import (
    constant_folding,
    local_abs_merge,
    local_mul_switch_sink,
    local_upcast_elemwise_constant_inputs,
    local_useless_switch,
)

_logger = logging.getLogger("theano.scan_module.scan_opt")
#: What simplifies the bounds of slices.
list_opt_slice = [
    local_abs_merge,
    local_mul_switch_sink,
    local_upcast_elemwise_constant_inputs,
    local_useless_switch,
    constant_folding,
]

_FAMILIES = (
    ("scanOp_merge", ScanMerge(), ()),
    ("scan_remove_dead_outputs", scan_remove_dead_outputs, ()),
    (
        "scanOp_remove_constants_and_unused_inputs1",
        remove_constants_and_unused_inputs_scan,
        ("remove_constants_and_unused_inputs_scan",),
    ),
    ("scanOp_merge_inouts", scan_merge_inouts, ("scan_merge_inouts",)),
    ("scan_write_out_short_loops", scan_write_out_short_loops, ()),
    ("scan_optimize_inner", scan_optimize_inner, ()),
    ("scan_mitmot_to_sitsot", ScanMitMotToSitSot(), ()),
    ("scanOp_pushout_nonseqs_ops", PushOutNonSeqScan(), ("scan_pushout",)),
    ("scan_pushout_dot1", PushOutDot1(), ("scan_pushout", "more_mem")),
    ("scanOp_pushout_seqs_ops", PushOutSeqScan(), ("scan_pushout", "more_mem")),
    ("scanOp_pushout_output", PushOutScanOutput(), ("scan_pushout", "more_mem")),
)

scan_simplify = EquilibriumDB()
scan_eqopt1 = EquilibriumDB()
scan_eqopt2 = EquilibriumDB()
optdb.register("scan_simplify", scan_simplify, 0.04, "fast_run", "scan")
optdb.register("scan_cumulate", in2out(ScanCumulate(), ignore_newtrees=True), 0.042, "fast_run", "scan", "more_mem")
optdb.register("scanOp_keep_values", ScanKeepValues(), 0.045, "fast_run", "scan", "more_mem")
optdb.register("scan_eqopt1", scan_eqopt1, 0.05, "fast_run", "scan")
optdb.register("scan_eqopt2", scan_eqopt2, 1.6, "fast_run", "scan")
for _number, (_name, _rewrite, _tags) in enumerate(_FAMILIES):
    for _database in (scan_simplify, scan_eqopt1, scan_eqopt2) if _number < 8 else (scan_eqopt1, scan_eqopt2):
        _database.register(_name, _rewrite, "fast_run", "scan", *_tags)
# Loops whose arguments are computed in the same way are seen to have the same arguments.
scan_simplify.register("merge", MergeOptimizer(), "fast_run", "scan", cleanup=True)
optdb.register("scanOp_save_mem", in2out(ScanSaveMem(), ignore_newtrees=True), 1.61, "fast_run", "scan")
optdb.register(
    "scanOp_remove_constants_and_unused_inputs2",
    in2out(remove_constants_and_unused_inputs_scan, ignore_newtrees=True),
    2.9,
    "fast_run",
    "scan",
)
optdb.register("scanOp_make_inplace", ScanInplaceOptimizer(), 75, "fast_run", "inplace", "scan")


def warning(*msg: str) -> None:
    """Log a warning about a loop.

    Examples
    --------
    >>> from unittest import TestCase
    >>> with TestCase().assertLogs(_logger) as logs:
    ...     warning("the loop has", "no outputs")
    >>> logs.output
    ['WARNING:theano.scan_module.scan_opt:WARNING theano.scan: the loop has no outputs']
    """
    _logger.warning("WARNING theano.scan: %s", " ".join(msg))


def info(*msg: str) -> None:
    """Log something about a loop that is good to know.

    Examples
    --------
    >>> from unittest import TestCase
    >>> with TestCase().assertLogs(_logger, "INFO") as logs:
    ...     info("the loop has", "no outputs")
    >>> logs.output
    ['INFO:theano.scan_module.scan_opt:INFO theano.scan: the loop has no outputs']
    """
    _logger.info("INFO theano.scan: %s", " ".join(msg))


def has_duplicates(l: Sequence[Any]) -> bool:
    """Return whether elements of a list are equal.

    Parameters
    ----------
    l : list
        Of things that can be hashed.

    Examples
    --------
    >>> has_duplicates([1, 2, 1]), has_duplicates([1, 2])
    (True, False)
    """
    return len(set(l)) < len(l)


def make_equiv(lo: Sequence[Any], li: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Find what is there twice among the outer inputs of a loop.

    Parameters
    ----------
    lo, li : list of Variable
        The outer inputs, and the inner ones that they are given to.

    Returns
    -------
    left, right : list of Variable
        The inner inputs of those that were there before, and these outer ones.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y = T.dvectors("x", "y")
    >>> first, second, third = T.dscalars("first", "second", "third")
    >>> make_equiv([x, y, x], [first, second, third])
    ([third], [x])
    """
    seen, left, right = set(), [], []
    for outer, inner in zip(lo, li):
        if outer in seen:
            left.append(inner)
            right.append(outer)
        seen.add(outer)
    return left, right
