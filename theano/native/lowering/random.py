"""Random numbers: of MRG31k3p, and of NumPy's RandomState."""

from __future__ import annotations

import copy
from typing import Any

from theano.gof.graph import Apply
from theano.native import instructions as vm
from theano.native.program import CannotLower, ProgramBuilder, is_tensor_like, lowers, lowers_to
from theano.sandbox.multinomial import ChoiceFromUniform, MultinomialFromUniform
from theano.sandbox.rng_mrg import mrg_uniform
from theano.tensor import raw_random
from theano.tensor.math import float_dtypes, integer_dtypes
from theano.tensor.raw_random import RandomFunction


def _is_size(size: Any) -> bool:
    return size.type.ndim == 1 and size.type.dtype in integer_dtypes


def _are_streams(node: Apply) -> bool:
    (states, size), (_, sample) = node.inputs, node.outputs
    return states.type.dtype == "int32" and states.type.ndim == 2 and sample.type.dtype in float_dtypes and _is_size(size)


lowers_to(
    {mrg_uniform: lambda op: vm.MrgUniform(bool(op.inplace))},
    where=("states are rows of int32, samples floats, and the size is a vector of integers", _are_streams),
)


@lowers(MultinomialFromUniform, ChoiceFromUniform)
def lower_pick_columns(builder: ProgramBuilder, node: Apply) -> None:
    count = isinstance(node.op, MultinomialFromUniform)
    p, unis, n = node.inputs
    floats = ("float32", "float64")
    if p.type.dtype not in floats or unis.type.dtype not in floats:
        raise CannotLower("probabilities of other types")
    if node.outputs[0].type.dtype not in (*floats, *integer_dtypes) or n.type.ndim or n.type.dtype not in integer_dtypes:
        raise CannotLower("results of other types")
    builder.emit_for(node, vm.PickColumns(count, count or bool(node.op.replace)))


_DRAWN_NATIVELY: dict[Any, str] = {
    "uniform": "UNIFORM",
    "normal": "NORMAL",
    "binomial": "BINOMIAL",
    raw_random.random_integers_helper: "INTEGERS",
    raw_random.multinomial_helper: "MULTINOMIAL",
    raw_random.poisson_helper: "POISSON",
    raw_random.choice_helper: "CHOICE",
    raw_random.permutation_helper: "PERMUTATION",
}


@lowers(RandomFunction)
def lower_random_function(builder: ProgramBuilder, node: Apply) -> None:
    """Methods of RandomState, some of them native; a function of the user's runs in Python, through `perform`."""
    op = node.op
    _state, size, *parameters = node.inputs
    kind = vm.Distribution[_DRAWN_NATIVELY.get(op.fn, "OTHER")]
    if not isinstance(op.fn, str) and getattr(op.fn, "__module__", None) != raw_random.__name__:
        raise CannotLower("a function of the user's")
    if not all(is_tensor_like(v.type) for v in (*parameters, node.outputs[1])):
        raise CannotLower("parameters or samples that are no arrays")
    if not 0 <= op.ndim_added <= node.outputs[1].type.ndim or not _is_size(size):
        raise CannotLower("samples of another rank, or a size that is no vector of integers")
    pending = raw_random.pending_normal_at()
    builder.emit_for(node, vm.Draw(bool(op.inplace), kind, op.ndim_added, pending, op.drawing, copy.deepcopy))
