"""What a profile says about how to make a function faster."""

from __future__ import annotations

from typing import Any

from theano.configparser import config
from theano.tensor.products import Dot

#: Shares of the time below this are not worth a word.
_WORTH_MENTIONING = 0.05


def tips(profile: Any) -> list[str]:
    """Return advice on how to make a function faster, most useful first.

    Parameters
    ----------
    profile : Any
        What was measured.

    Returns
    -------
    list of str
        A sentence or two each; empty if there is nothing to say.

    Examples
    --------
    >>> from theano.compile import ProfileStats
    >>> tips(ProfileStats(atexit_print=False))
    []
    """
    total = sum(profile.apply_time.values())
    if not total:
        return []
    found: list[tuple[float, str]] = []

    def share(nodes: list) -> float:
        return sum(profile.apply_time[node] for node in nodes) / total

    in_python: dict[type, list] = {}
    dots, doubles = [], []
    for node in profile.apply_time:
        if not profile.apply_cimpl.get(node):
            in_python.setdefault(type(node.op), []).append(node)
        kinds = {(getattr(v.type, "ndim", None), getattr(v.type, "dtype", None)) for v in node.inputs}
        if isinstance(node.op, Dot) and len(kinds) == 2 and {ndim for ndim, _ in kinds} == {2}:
            dots.append(node)
        if any(getattr(v.type, "dtype", None) == "float64" for v in node.outputs):
            doubles.append(node)
    for cls, nodes in in_python.items():
        found.append(
            (
                share(nodes),
                f"{cls.__name__} runs in Python. An implementation in C (c_code), or another way to write the "
                "expression, would be faster.",
            )
        )
    found.append(
        (
            share(dots),
            "There are products of matrices of different types, by the Op Dot. Cast both factors to the same floating "
            "point type: then the product becomes Dot22 or Gemm, which call BLAS at once.",
        )
    )
    if config.floatX == "float64":
        # Half the bytes: that is what most elementwise and matrix code can gain.
        found.append(
            (
                share(doubles) / 2,
                f"{100 * share(doubles):.0f} % of the nodes' time goes into float64. With the Theano flag floatX=float32 "
                "numbers take half the memory and vector instructions handle twice as many, if the precision suffices.",
            )
        )
    if profile.fct_callcount and profile.fct_call_time:
        overhead = 1 - total / profile.fct_call_time
        if profile.fct_call_time / profile.fct_callcount < 1e-3:
            found.append(
                (
                    overhead,
                    f"{100 * overhead:.0f} % of the calls' time is spent around the nodes. Do more in each call: larger "
                    "batches, several steps in one scan, or shared variables in place of arguments.",
                )
            )
    slow = config.optimizer in ("None", "fast_compile") or config.mode == "FAST_COMPILE"
    if slow:
        found.append((1.0, "Few optimizations are applied: use the Theano flags mode=FAST_RUN and optimizer=fast_run."))
    found = [(weight, text) for weight, text in found if weight >= _WORTH_MENTIONING]
    return [text for _, text in sorted(found, key=lambda item: -item[0])]
