"""Sums of scaled matrices or vectors taken apart to pairs of a scale and a term, for programs with such rewrites of their own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from theano.tensor import basic as T
from theano.tensor.dimshuffle import DimShuffle
from theano.tensor.rewriting.blas import _BLAS, _parts


def res_is_a(node: Any, op: Any, maxclients: int | None = None) -> bool:
    """Return whether an Op computes a variable, which not more than `maxclients` others use."""
    if node.owner is None or node.owner.op != op:
        return False
    return maxclients is None or len(node.clients) <= maxclients


def _scaled(scale: Any, term: Any) -> Any:
    if isinstance(scale, (int, float)) and scale == 1:
        return term
    if isinstance(scale, (int, float)) and scale == -1 and term.type.dtype != "bool":
        return -term
    return scale * term


def _number_of(v: Any) -> Any:
    """A broadcastable tensor without its dimensions."""
    while v.owner is not None and isinstance(v.owner.op, DimShuffle):
        v = v.owner.inputs[0]
    return v.dimshuffle() if v.type.broadcastable else v


def _gemm_canonicalize(r: Any, scale: Any, rval: list, maxclients: int | None) -> list | None:
    """Take a sum of scaled matrices or vectors apart.

    Parameters
    ----------
    r : Variable
        The sum: additions, subtractions, negations, and products with numbers, of which no part but the whole is used by
        more than one.
    scale : number or Variable
        What it is multiplied with.
    rval : list
        Pairs of a scale and a term are added to it; what is neither a matrix nor a vector of floats is added alone.
    maxclients : int or None
        The whole is a term if more than so many others use it, any number if that is 0 or None.

    Returns
    -------
    list or None
        `rval`; None if `r` is no tensor.
    """
    if not hasattr(r.type, "broadcastable"):
        return None
    stack: list[tuple[Any, float, list[Any], int | None]] = [(r, 1.0, [], maxclients)]
    while stack:
        v, number, numbers, most = stack.pop()
        factor = reduce(_scaled, map(_number_of, numbers), scale if number == 1 else number * scale)
        is_sum = v.type.ndim in (1, 2) and v.type.dtype in _BLAS
        is_whole = v.owner is None or v.owner.op == T.true_div or (most and len(getattr(v, "clients", ())) > most)
        parts = _parts(v, number, numbers) if is_sum and not is_whole else None
        if parts is None:
            rval.append((factor, v) if is_sum else _scaled(factor, v))
        else:
            stack += [(*part, 1) for part in reversed(parts)]
    return rval


def _factor_canonicalized(lst: Sequence[Any]) -> list:
    """Return the pairs of :func:`_gemm_canonicalize` with the scales of equal terms added up; what is no pair stays."""
    result: list = []
    places: dict[int, int] = {}
    for entry in lst:
        if not (isinstance(entry, tuple) and len(entry) == 2):
            result.append(entry)
            continue
        scale, term = entry
        place = places.setdefault(id(term), len(result))
        if place < len(result):
            result[place] = (result[place][0] + scale, term)
        else:
            result.append(entry)
    return result
