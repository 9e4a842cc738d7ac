"""The arguments of `theano.scan` brought to one form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano.gof.graph import Constant, Variable
from theano.gof.record import Fields
from theano.scan_module.scan_utils import isNaN_or_Inf_or_None
from theano.tensor import NotScalarConstantError, as_tensor_variable, get_scalar_constant_value


class SequenceInfo(Fields):
    """A sequence and the taps at which a step reads it."""

    input: Any
    taps: list[int] = [0]

    @property
    def first(self) -> int:
        """The tap that the first row of the sequence has at the first step."""
        return min(0, *self.taps)

    @property
    def last(self) -> int:
        return max(0, *self.taps)


class OutputInfo(Fields):
    """The initial value of an output, and the taps at which a step reads it; neither if it is not recurrent."""

    initial: Any = None
    taps: list[int] = []

    @property
    def kind(self) -> str:
        if not self.taps:
            return "nit_sot"
        return "sit_sot" if self.taps == [-1] and not self.has_rows else "mit_sot"

    has_rows: bool = False


def as_list(value: Any) -> list[Any]:
    """`value` as a list; None is an empty one, and what is neither list nor tuple the only element."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _taps(value: Any) -> list[int]:
    taps = [value] if not isinstance(value, list | tuple) and not hasattr(value, "__iter__") else list(value)
    for tap in taps:
        if int(tap) != tap:
            raise ValueError(f"Taps must be integers, got {tap!r}")
    return [int(tap) for tap in taps]


def _check_keys(what: str, item: dict[str, Any], known: tuple[str, ...]) -> None:
    """Raise a ValueError that names the keys of `item` which are not `known`: a misspelt one would do nothing."""
    unknown = [key for key in item if key not in known]
    if unknown:
        raise ValueError(f"{what} of scan is a dictionary with the unknown keys {unknown}; it may have {list(known)}.")


def sequence_infos(sequences: Any) -> list[SequenceInfo]:
    """Normalize the argument `sequences`.

    Raises
    ------
    ValueError
        For a dictionary without ``input`` or with unknown keys.
    """
    infos = []
    for i, item in enumerate(as_list(sequences)):
        if not isinstance(item, dict):
            item = {"input": item}
        if item.get("input") is None:
            raise ValueError(f"Sequence {i} of scan is a dictionary without 'input'; its keys are {sorted(item)}.")
        _check_keys(f"Sequence {i}", item, ("input", "taps"))
        variable = item["input"]
        if not isinstance(variable, Variable):
            variable = as_tensor_variable(variable)
        if getattr(variable, "ndim", 1) == 0:
            raise ValueError(f"Sequence {i} of scan ({variable}) is a scalar: there is nothing to iterate over.")
        taps = item.get("taps")
        infos.append(SequenceInfo(variable, [0] if taps is None else _taps(taps)))
    return infos


def output_infos(outputs_info: Any) -> list[OutputInfo]:
    """Normalize the argument `outputs_info`.

    Raises
    ------
    ValueError
        For taps that are not negative, taps without initial value, or unknown keys of a dictionary.
    """
    infos = []
    for i, item in enumerate(as_list(outputs_info)):
        if item is None or (isinstance(item, dict) and not item):
            infos.append(OutputInfo())
            continue
        if not isinstance(item, dict):
            item = {"initial": item}
        if "return_steps" in item:
            raise ValueError("'return_steps' is no longer an option of outputs_info: slice the outputs of scan instead.")
        _check_keys(f"Output {i}", item, ("initial", "taps", "inplace"))
        initial = item.get("initial")
        taps = item.get("taps", [-1] if initial is not None else None)
        if taps is None or (not hasattr(taps, "__len__") and taps == 0) or (hasattr(taps, "__len__") and not len(taps)):
            infos.append(OutputInfo())
            continue
        taps = _taps(taps)
        if initial is None:
            raise ValueError(
                f"Output {i} of scan has the taps {taps} but no initial value: give it under the key 'initial'."
            )
        if any(tap >= 0 for tap in taps):
            raise ValueError(f"All taps of an output must be negative, output {i} of scan has {taps}")
        if len(set(taps)) < len(taps):
            raise ValueError(f"The taps of an output must be distinct, output {i} of scan has {taps}")
        if not isinstance(initial, Variable):
            initial = as_tensor_variable(initial)
        infos.append(OutputInfo(initial, taps, has_rows=taps != [-1]))
    return infos


def fixed_number(n_steps: Any) -> int | None:
    """The number of steps if it is known when the graph is built.

    Raises
    ------
    ValueError
        If it is negative, not finite or not an integer.
    """
    if n_steps is None:
        return None
    if isinstance(n_steps, float) or isNaN_or_Inf_or_None(n_steps):
        raise ValueError(f"n_steps must be an integer, got {n_steps}")
    try:
        value = get_scalar_constant_value(n_steps) if isinstance(n_steps, Variable) else n_steps
    except NotScalarConstantError:
        return None
    if int(value) != value:
        raise ValueError(f"n_steps must be an integer, got {value}")
    if value < 0:
        raise ValueError(f"n_steps must not be negative, got {int(value)}; use go_backwards to iterate from the end.")
    return int(value)


def symbolic_number(n_steps: Any, lengths: Sequence[Any]) -> Any:
    """The number of steps as a variable: `n_steps`, or the shortest of the lengths of the shifted sequences.

    Raises
    ------
    ValueError
        If there is neither, or `n_steps` is no integer scalar.
    """
    from theano import tensor

    if n_steps is not None:
        number = as_tensor_variable(n_steps)
        if number.ndim != 0:
            raise ValueError(f"n_steps must be a scalar, it has {number.ndim} dimensions")
        if number.dtype not in tensor.discrete_dtypes:
            raise ValueError(f"n_steps must be an integer, its dtype is {number.dtype}")
        return _not_negative(number)
    if not lengths:
        raise ValueError(
            "scan does not know how many steps to do: give it sequences to iterate over, or n_steps."
        )
    shortest = lengths[0]
    for length in lengths[1:]:
        shortest = tensor.minimum(shortest, length)
    return shortest


def _not_negative(number: Any) -> Any:
    """`number` with a check when it is computed, unless it is the length of an array or known.

    Without the check a loop that turns out to be a map would compute all elements but the last few.
    """
    from theano.raise_op import Assert
    from theano.tensor import ge
    from theano.tensor.shapes import Shape, Shape_i

    made_by = number.owner
    if made_by is None:
        checked = not isinstance(number, Constant) and not number.dtype.startswith("uint")
    else:
        array = made_by.inputs[0]
        checked = not (isinstance(made_by.op, Shape_i) or (array.owner is not None and isinstance(array.owner.op, Shape)))
    return Assert("The number of steps of a scan (n_steps) is negative.")(number, ge(number, 0)) if checked else number


def is_outer_argument(variable: Any) -> bool:
    """Whether a variable is neither a constant nor a shared variable."""
    from theano.gof.sharedvalue import SharedVariable

    return isinstance(variable, Variable) and not isinstance(variable, Constant | SharedVariable)
