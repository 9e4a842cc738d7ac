"""Simpler forms of scan: `map`, `reduce`, `foldl` and `foldr`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theano.scan_module.scan import scan


def map(
    fn: Callable[..., Any],
    sequences: Any,
    non_sequences: Any = None,
    truncate_gradient: int = -1,
    go_backwards: bool = False,
    mode: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Apply a function to each element of sequences.

    Parameters
    ----------
    fn, sequences, non_sequences, truncate_gradient, go_backwards, mode, name
        As for `theano.scan`.

    Returns
    -------
    tuple
        The stacked results, and the updates.

    See Also
    --------
    theano.reduce : Accumulate over sequences, and return the last results only.
    theano.scan : Loop: apply a step function again and again, over sequences and to its own results.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> x = T.dvector('x')
    >>> squares, _ = theano.map(lambda v: v ** 2, x)
    >>> theano.function([x], squares)([1., 2., 3.]).tolist()
    [1.0, 4.0, 9.0]
    """
    return scan(
        fn=fn,
        sequences=sequences,
        outputs_info=None,
        non_sequences=non_sequences,
        truncate_gradient=truncate_gradient,
        go_backwards=go_backwards,
        mode=mode,
        name=name,
    )


def reduce(
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    go_backwards: bool = False,
    mode: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Accumulate over sequences, and return the last results only.

    Parameters
    ----------
    fn, sequences, outputs_info, non_sequences, go_backwards, mode, name
        As for `theano.scan`.

    Returns
    -------
    tuple
        The results of the last step, and the updates.

    See Also
    --------
    theano.foldl : `reduce` from the first element to the last.
    theano.map : Apply a function to each element of sequences.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> x = T.dvector('x')
    >>> total, _ = theano.reduce(lambda v, s: s + v, x, T.constant(0., dtype='float64'))
    >>> float(theano.function([x], total)([1., 2., 3.]))
    6.0
    """
    outputs, updates = scan(
        fn=fn,
        sequences=sequences,
        outputs_info=outputs_info,
        non_sequences=non_sequences,
        go_backwards=go_backwards,
        truncate_gradient=-1,
        mode=mode,
        name=name,
    )
    if isinstance(outputs, list | tuple):
        return [output[-1] for output in outputs], updates
    return outputs[-1], updates


def foldl(
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    mode: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """`reduce` from the first element to the last.

    Parameters
    ----------
    fn, sequences, outputs_info, non_sequences, mode, name
        As for `theano.scan`.

    Returns
    -------
    tuple
        The results of the last step, and the updates.

    See Also
    --------
    theano.foldr : `reduce` from the last element to the first.
    theano.reduce : Accumulate over sequences, and return the last results only.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> x = T.dvector('x')
    >>> value, _ = theano.foldl(lambda v, s: 10. * s + v, x, T.constant(0., dtype='float64'))
    >>> float(theano.function([x], value)([1., 2., 3.]))
    123.0
    """
    return reduce(fn, sequences, outputs_info, non_sequences, go_backwards=False, mode=mode, name=name)


def foldr(
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    mode: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """`reduce` from the last element to the first.

    Parameters
    ----------
    fn, sequences, outputs_info, non_sequences, mode, name
        As for `theano.scan`.

    Returns
    -------
    tuple
        The results of the last step, and the updates.

    See Also
    --------
    theano.scan : Loop: apply a step function again and again, over sequences and to its own results.
    theano.foldl : `reduce` from the first element to the last.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> x = T.dvector('x')
    >>> value, _ = theano.foldr(lambda v, s: 10. * s + v, x, T.constant(0., dtype='float64'))
    >>> float(theano.function([x], value)([1., 2., 3.]))
    321.0
    """
    return reduce(fn, sequences, outputs_info, non_sequences, go_backwards=True, mode=mode, name=name)
