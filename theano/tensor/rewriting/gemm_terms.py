"""Sums of scaled matrices or vectors taken apart to pairs of a scale and a term, for programs with such rewrites of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano.tensor import basic as T
from theano.tensor.blas import _is_real_matrix, _is_real_vector
from theano.tensor.dimshuffle import DimShuffle

_DTYPES = ("float16", "float32", "float64", "complex64", "complex128")


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
    stack = [(r, scale, maxclients)]
    while stack:
        v, factor, most = stack.pop()
        if v.type.ndim not in (1, 2) or v.type.dtype not in _DTYPES:
            rval.append(_scaled(factor, v))
            continue
        op = v.owner.op if v.owner is not None else None
        parts: list[tuple[Any, Any]] | None = None
        if most and len(getattr(v, "clients", ())) > most:
            pass
        elif op == T.add:
            parts = [(i, factor) for i in v.owner.inputs]
        elif op == T.sub:
            parts = [(v.owner.inputs[0], factor), (v.owner.inputs[1], -factor)]
        elif op == T.neg:
            parts = [(v.owner.inputs[0], -factor)]
        elif op == T.mul:
            numbers = [_number_of(i) for i in v.owner.inputs if all(i.type.broadcastable)]
            terms = [i for i in v.owner.inputs if not all(i.type.broadcastable)]
            if len(terms) == 1 and (_is_real_matrix(terms[0]) or _is_real_vector(terms[0])):
                if numbers:
                    first = _scaled(factor, numbers[0])
                    factor = first if len(numbers) == 1 else T.mul(first, *numbers[1:])
                parts = [(terms[0], factor)]
        if parts is None:
            rval.append((factor, v))
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
