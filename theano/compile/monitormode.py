"""A mode that calls functions before and after each node: :class:`MonitorMode`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from theano.compile.mode import Mode
from theano.configparser import config
from theano.gof.engine import linkers
from theano.gof.link import WrapLinkerMany


class MonitorMode(Mode):
    """Run one node after the other, with functions of yours around each.

    The functions are called as ``func(i, node, fn)`` with the number of the node, the
    node, and its thunk; ``fn.inputs`` and ``fn.outputs`` are lists of
    lists of one element, the values.

    Parameters
    ----------
    pre_func : callable, optional
        Called before each node.
    post_func : callable, optional
        Called after each node.
    optimizer : Optimizer, Query or str, optional
        As for :class:`Mode`. The flags ``optimizer_including`` and so on have no
        effect here; use :meth:`including` and :meth:`excluding`.
    linker : None
        The mode has its own linker.

    See Also
    --------
    theano.compile.DebugMode : Run like 'FAST_RUN', slowly, and check everything about Ops and optimizations.
    theano.compile.NanGuardMode : Raise AssertionError as soon as a node or an input yields an abnormal value.
    theano.compile.monitormode.detect_nan : Print the node and its values if any output holds NaN; a `post_func` for
        `MonitorMode`.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> names = []
    >>> mode = theano.compile.MonitorMode(
    ...     post_func=lambda i, node, fn: names.append(str(node.op)), optimizer='None')
    >>> x = T.dscalar('x')
    >>> f = theano.function([x], x + 1, mode=mode)
    >>> float(f(1)), len(names)
    (2.0, 1)
    """

    def __init__(
        self,
        pre_func: Callable[..., Any] | None = None,
        post_func: Callable[..., Any] | None = None,
        optimizer: Any = "default",
        linker: Any = None,
    ):
        self.pre_func = pre_func
        self.post_func = post_func
        if isinstance(optimizer, str) and optimizer == "default":
            optimizer = config.optimizer
        if linker is not None and getattr(linker, "mode", None) is None:
            raise Exception(f"MonitorMode can only use its own linker! You should not provide one: {linker}")
        wrapped = WrapLinkerMany([linkers["cvm"].clone(allow_gc=config.allow_gc, fuse=False)], [self.eval])
        wrapped.mode = self  # type: ignore[attr-defined]
        super().__init__(wrapped, optimizer=optimizer)

    def __getstate__(self) -> Any:
        return {"pre_func": self.pre_func, "post_func": self.post_func, "optimizer": self.provided_optimizer}

    def eval(self, i: int, node: Any, fn: Any) -> None:
        """Run a node between the two functions."""
        if self.pre_func is not None:
            self.pre_func(i, node, fn)
        fn()
        if self.post_func is not None:
            self.post_func(i, node, fn)

    def clone(self, link_kwargs: dict[str, Any] | None = None, optimizer: Any = "", **kwargs: Any) -> MonitorMode:
        """Return a mode with the same functions and another optimizer."""
        if isinstance(optimizer, str) and optimizer == "":
            optimizer = self.provided_optimizer
        return type(self)(self.pre_func, self.post_func, optimizer=optimizer)


def detect_nan(i: int, node: Any, fn: Any) -> None:
    """Print the node and its values if any output holds NaN; a `post_func` for :class:`MonitorMode`.

    Parameters
    ----------
    i : int
        The place of the node in the order of execution.
    node : Apply
        The node.
    fn : callable
        What ran it; it has the lists of cells `inputs` and `outputs`.

    See Also
    --------
    theano.compile.MonitorMode : Run one node after the other, with functions of yours around each.
    theano.compile.NanGuardMode : Raise AssertionError as soon as a node or an input yields an abnormal value.

    Examples
    --------
    >>> import theano
    >>> x = theano.tensor.dscalar("x")
    >>> f = theano.function([x], theano.tensor.log(x), mode=MonitorMode(post_func=detect_nan))
    >>> with np.errstate(invalid="ignore"):
    ...     _ = f(-1.0)
    *** NaN detected ***
    Elemwise{log,no_inplace} [id A] ''...
     |x [id B]
    Inputs : [array(-1.)]
    Outputs: [array(nan)]
    """
    from theano.printing import debugprint

    for output in fn.outputs:
        value = output[0]
        if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "fc" and np.isnan(value).any():
            print("*** NaN detected ***")
            debugprint(node)
            print(f"Inputs : {[cell[0] for cell in fn.inputs]}")
            print(f"Outputs: {[cell[0] for cell in fn.outputs]}")
            break
