"""The R operator of a Scan: a Scan whose sequences, states and arguments are accompanied by their tangents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano import tensor
from theano.configparser import change_flags
from theano.scan_module.scan_grad import is_differentiable
from theano.scan_module.scan_utils import reconstruct_graph, scan_args
from theano.tensor.type import TensorType


def rop_of_scan(op: Any, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
    """Return the product of the Jacobian of a Scan with evaluation points.

    Parameters
    ----------
    op : Scan
    inputs : list of Variable
        The outer inputs.
    eval_points : list of Variable or None
        One for each outer input; None means zero.

    Returns
    -------
    list
        For each outer output its derivative, or None if it has none.
    """
    pattern = op.connection_pattern(None)
    maps = op.var_mappings
    has_point = [point is not None and is_differentiable(v) for v, point in zip(inputs, eval_points, strict=True)]
    n_out = op.n_outs + op.n_nit_sot + op.n_shared_outs
    moving_out = [
        any(has_point[i] and pattern[i][o] for i in range(len(inputs))) and isinstance(op.output_types[o], TensorType)
        for o in range(n_out)
    ]
    moving_in = list(has_point)
    for o in range(op.n_outs):
        i = maps["outer_inp_from_outer_out"][o]
        moving_in[i] = moving_out[o] and is_differentiable(inputs[i])
    if not any(moving_in):
        return [None] * n_out

    with change_flags(compute_test_value="off"):
        inner_inputs, inner_outputs = reconstruct_graph(op.inputs, op.outputs)
        tangent_of: dict[int, Any] = {}
        for k, v in enumerate(inner_inputs):
            if moving_in[maps["outer_inp_from_inner_inp"][k]]:
                tangent_of[k] = v.type()
        tangents_out = _inner_rop(inner_inputs, inner_outputs, tangent_of)

    none: list[Any] = [None] * n_out
    args = scan_args(inputs, none, inner_inputs, inner_outputs, op.info, clone=False)
    position_in = {v: k for k, v in enumerate(inner_inputs)}
    points: dict[int, Any] = {}
    for i, moving in enumerate(moving_in):
        if moving:
            points[i] = eval_points[i] if has_point[i] else tensor.zeros_like(inputs[i])

    def doubled(kind: str, first_outer: int, count: int, first_out: int, slices: tuple[str, ...] = ()) -> list[int]:
        """Add the tangents of a kind of states behind the states; return which outputs have one."""
        added = []
        for k in range(count):
            if not moving_in[first_outer + k]:
                continue
            added.append(first_out + k)
            getattr(args, f"outer_in_{kind}").append(points[first_outer + k])
            inner_in = getattr(args, f"inner_in_{kind}")
            inner_in.append(
                [tangent_of[position_in[v]] for v in inner_in[k]]
                if isinstance(inner_in[k], list)
                else tangent_of[position_in[inner_in[k]]]
            )
            inner_out = getattr(args, f"inner_out_{kind}")
            outs = maps["inner_out_from_outer_out"][first_out + k]
            values = [_tangent(tangents_out[o], inner_outputs[o]) for o in outs]
            inner_out.append(values if isinstance(inner_out[k], list) else values[0])
            for name in slices:
                getattr(args, name).append(list(getattr(args, name)[k]))
        return added

    offset = 1
    for k in range(op.n_seqs):
        if moving_in[offset + k]:
            args.outer_in_seqs.append(points[offset + k])
            args.inner_in_seqs.append(tangent_of[k])
    offset = op.seqs_arg_offset
    mit_mot = doubled("mit_mot", offset, op.n_mit_mot, 0, ("mit_mot_in_slices", "mit_mot_out_slices"))
    offset += op.n_mit_mot
    mit_sot = doubled("mit_sot", offset, op.n_mit_sot, op.n_mit_mot, ("mit_sot_in_slices",))
    offset += op.n_mit_sot
    sit_sot = doubled("sit_sot", offset, op.n_sit_sot, op.n_tap_outs)
    nit_sot = []
    for k in range(op.n_nit_sot):
        o = op.n_outs + k
        if moving_out[o] and is_differentiable(op.inner_nitsot_outs(op.outputs)[k]):
            (inner,) = maps["inner_out_from_outer_out"][o]
            nit_sot.append(o)
            args.outer_in_nit_sot.append(args.outer_in_nit_sot[k])
            args.inner_out_nit_sot.append(_tangent(tangents_out[inner], inner_outputs[inner]))
    first_other = op._ends["outer_in"][6]
    for i in range(first_other, len(inputs)):
        if moving_in[i]:
            (k,) = maps["inner_inp_from_outer_inp"][i]
            args.outer_in_non_seqs.append(points[i])
            args.inner_in_non_seqs.append(tangent_of[k])

    args.other_info = {**args.other_info, "destroy_map": {}, "inplace": False, "name": f"rop_of_{op.name}"}
    outs = type(op)(args.inner_inputs, args.inner_outputs, args.info)(*args.outer_inputs, return_list=True)
    result: list[Any] = [None] * n_out
    position = 0
    for added, count in ((mit_mot, op.n_mit_mot), (mit_sot, op.n_mit_sot), (sit_sot, op.n_sit_sot), (nit_sot, op.n_nit_sot)):
        position += count
        for o in added:
            result[o] = outs[position]
            position += 1
    return result


def _inner_rop(inputs: list[Any], outputs: list[Any], tangent_of: dict[int, Any]) -> list[Any]:
    """For each inner output its tangent, or None."""
    from theano.gradient import Rop

    wrt = [inputs[k] for k in tangent_of]
    wanted = [o for o, v in enumerate(outputs) if is_differentiable(v)]
    values = Rop(
        [outputs[o] for o in wanted],
        wrt,
        list(tangent_of.values()),
        disconnected_outputs="ignore",
        return_disconnected="None",
    )
    result: list[Any] = [None] * len(outputs)
    for o, value in zip(wanted, values, strict=True):
        result[o] = value
    return result


def _tangent(value: Any, like: Any) -> Any:
    """`value` with the type of `like`; zeros for None."""
    if value is None:
        return tensor.zeros_like(like)
    if value.type.dtype != like.type.dtype:
        value = tensor.cast(value, like.type.dtype)
    if value.type.broadcastable != like.type.broadcastable:
        value = tensor.patternbroadcast(value, like.type.broadcastable)
    return value
