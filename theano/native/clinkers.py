"""Linkers of the original that are the engine by another name; their documented path is `theano.gof.cc`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from theano.gof.link import PerformLinker, WrapLinker
from theano.native.linker import NativeLinker

__all__ = ["DualLinker", "OpWiseCLinker"]


class OpWiseCLinker(NativeLinker):
    """The native linker, under the name of the linker that compiled Ops one by one.

    Parameters
    ----------
    fallback_on_perform : bool
        Accepted: an Op without C code always runs by its `perform`.
    allow_gc : bool, optional
        Whether intermediate values are freed as soon as they are not needed; default `config.allow_gc`.
    nice_errors : bool
        Accepted: errors always tell the node.
    schedule : callable, optional
        Returns the nodes of a FunctionGraph in the order in which they are run.

    See Also
    --------
    theano.DualLinker : Runs each node by its `perform` and by compiled code, and compares.
    theano.CLinker : Compiles the C code that the Ops of a graph bring themselves, to one function.

    Examples
    --------
    >>> from theano.gof import FunctionGraph
    >>> from theano.scalar import float64
    >>> x, y = float64("x"), float64("y")
    >>> linker = OpWiseCLinker().accept(FunctionGraph([x, y], [x * y + x]))
    >>> float(linker.make_function()(3.0, 4.0))
    15.0
    """

    def __init__(
        self,
        fallback_on_perform: bool = True,
        allow_gc: bool | None = None,
        nice_errors: bool = True,
        schedule: Callable | None = None,
    ):
        super().__init__(allow_gc=allow_gc, schedule=schedule)
        self.fallback_on_perform = fallback_on_perform
        self.nice_errors = nice_errors


def _check_equal(x: Any, y: Any) -> None:
    # What DualLinker does by default with the storage of an output.
    if not np.array_equal(x[0], y[0]):
        raise Exception(f"The results of C code and of perform differ: perform gave {x[0]!r}, C code {y[0]!r}.")


class DualLinker(WrapLinker):
    """Runs each node by its `perform` and by compiled code, and compares.

    Parameters
    ----------
    checker : callable
        Called as ``checker(x, y)`` with the storage of each output of each node, lists of one value: of `perform` and of C
        code. Raises an exception if they differ.
    schedule : callable, optional
        Returns the nodes of a FunctionGraph in the order in which they are run.

    See Also
    --------
    theano.PerformLinker : Runs the nodes in order, each by its Op's `perform`.
    theano.OpWiseCLinker : The native linker, under the name of the linker that compiled Ops one by one.

    Examples
    --------
    >>> from theano.gof import FunctionGraph
    >>> from theano.scalar import float64
    >>> def tell(by_perform, by_c):
    ...     print(float(by_perform[0]), float(by_c[0]))
    >>> x, y = float64("x"), float64("y")
    >>> linker = DualLinker(checker=tell).accept(FunctionGraph([x, y], [x * y + x]))
    >>> _ = linker.make_function()(3.0, 4.0)
    12.0 12.0
    15.0 15.0
    """

    def __init__(self, checker: Callable[[Any, Any], None] = _check_equal, schedule: Callable | None = None):
        self.checker = checker
        super().__init__([PerformLinker(schedule=schedule), OpWiseCLinker(schedule=schedule)], self._run_both)
        self._scheduler = schedule

    def clone(self, allow_gc: Any = None) -> DualLinker:
        """Return a linker with the same checker, without graph."""
        return type(self)(self.checker, self._scheduler)

    __copy__ = clone

    def _run_both(self, i: int, node: Any, by_perform: Any, by_c: Any) -> None:
        by_perform()
        by_c()
        for x, y in zip(by_perform.outputs, by_c.outputs, strict=True):
            self.checker(x, y)
