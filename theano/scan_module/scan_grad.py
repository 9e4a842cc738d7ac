"""The gradient of a Scan: a Scan that goes through its steps from the last to the first.

For a step ``y = f(x)`` the backward step computes ``x' = y' * df/dx``, where ``'`` is the gradient. What it reads of
the forward loop (elements of sequences, taps of states, results) are sequences for it, reversed. The gradient of a state
is a mit_mot, reversed too: with ``M`` the largest tap of the state, forward tap ``k`` has backward tap ``M - k``. A
backward step reads the gradients of the taps that the forward step wrote, which are complete by then, and adds to those
of the taps that the forward step read. Gradients of sequences are nit_sot, those of other arguments are summed up in
sit_sot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano import tensor
from theano.configparser import change_flags
from theano.gof import traverse
from theano.gof.copying import view_op
from theano.gof.graph import Variable
from theano.gof.null_type import NullType
from theano.gradient_types import DisconnectedType, grad_undefined
from theano.scan_module.scan_hoist import gradients_by_hoisting
from theano.scan_module.scan_utils import clone, expand_empty, reconstruct_graph
from theano.tensor.type import TensorType

_DISCRETE = frozenset(("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"))


def gradient_of_scan(op: Any, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]) -> list[Any]:
    """Return the gradients of the outer inputs of a Scan.

    Parameters
    ----------
    op : Scan
    inputs, outputs : list of Variable
        The outer inputs and outputs.
    output_grads : list of Variable
        The gradients of the outer outputs.

    Raises
    ------
    TypeError
        If a state changes its type from step to step.
    """
    op.validate_inner_graph()

    def differentiate(op: Any, inputs: list[Any]) -> list[Any]:
        return _Gradient(op, inputs, outputs, output_grads).compute()

    found = gradients_by_hoisting(op, inputs, differentiate)
    return differentiate(op, list(inputs)) if found is None else found


def is_differentiable(variable: Any) -> bool:
    """Whether a variable is a tensor of real or complex numbers."""
    return isinstance(variable.type, TensorType) and variable.type.dtype not in _DISCRETE


def _is_disconnected(variable: Any) -> bool:
    return isinstance(variable.type, DisconnectedType)


def _is_null(variable: Any) -> bool:
    return isinstance(variable.type, NullType)


class _BackwardState:
    """The gradient of a state, as a mit_mot of the backward loop; or as a sequence if nothing is added to it."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.read_taps: list[int] = []
        self.read: list[Any] = []
        self.write_taps: list[int] = []
        self.write: list[Any] = []


class _Gradient:
    def __init__(self, op: Any, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]):
        self.op = op
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.output_grads = list(output_grads)
        self.maps = op.var_mappings
        self.steps = self._number_of_steps()
        self.truncated = op.truncate_gradient != -1
        self.grad_steps = tensor.minimum(self.steps, op.truncate_gradient) if self.truncated else self.steps
        self.pattern = op.connection_pattern(None)

    def _number_of_steps(self) -> Any:
        """The number of steps that were done."""
        op = self.op
        if op.as_while:
            if op.n_nit_sot:
                return self.outputs[op.n_outs].shape[0]
            if op.n_outs > op.n_mit_mot:
                return self.outputs[op.n_outs - 1].shape[0] + op.mintaps[op.n_outs - 1]
        return self.inputs[0]

    def written_taps(self, state: int) -> list[int]:
        return self.op.mit_mot_out_slices[state] if state < self.op.n_mit_mot else [0]

    def compute(self) -> list[Any]:
        with change_flags(compute_test_value="off"):
            self._differentiate_step()
            self._make_backward_states()
        self._build()
        return self._collect()

    def _live_outputs(self) -> list[int]:
        """Outer outputs whose gradient is not zero: those that the cost depends on, directly or through others."""
        op = self.op
        n_out = op.n_outs + op.n_nit_sot
        can = [is_differentiable(self.outputs[o]) for o in range(n_out)]
        live = {o for o in range(n_out) if can[o] and not _is_disconnected(self.output_grads[o])}
        state_input = self.maps["outer_inp_from_outer_out"]
        for o in range(op.n_outs):
            if can[o] and o not in live:
                row = self.pattern[state_input[o]]
                if any(row[other] for other in live):
                    live.add(o)
        return sorted(live)

    def _differentiate_step(self) -> None:
        """Find the gradients of the inner inputs, in terms of those of the inner outputs."""
        from theano.gradient import grad

        op = self.op
        self.live = self._live_outputs()
        self.cotangents: dict[int, Any] = {}
        known: dict[Any, Any] = {}
        for o in self.live:
            for k in self.maps["inner_out_from_outer_out"][o]:
                result = op.outputs[k]
                cotangent = result.type()
                cotangent.name = f"d{result.name or f'out{k}'}"
                self.cotangents[k] = cotangent
                # The same variable may be an input, or several outputs, or used for others: a view stands for one of these.
                known[view_op(result)] = cotangent
        others = set(op.inputs[op._ends["inner_in"][4] :])
        wrt = [v for v in op.inputs if is_differentiable(v) or v in others and isinstance(v.type, TensorType)]
        gradients: list[Any] = []
        if known and wrt:
            gradients = grad(
                None,
                wrt,
                known_grads=known,
                disconnected_inputs="ignore",
                return_disconnected="Disconnected",
                null_gradients="return",
                add_names=False,
            )
        self.terms: dict[int, Any] = {}
        self.null: dict[int, Any] = {}
        position_of = {v: i for i, v in enumerate(op.inputs)}
        for v, gradient in zip(wrt, gradients, strict=bool(gradients)):
            if _is_null(gradient):
                if is_differentiable(v):
                    self.null[position_of[v]] = gradient.type
            elif not _is_disconnected(gradient):
                self.terms[position_of[v]] = _of_type(gradient, v)

    def _make_backward_states(self) -> None:
        op = self.op
        self.states: list[_BackwardState] = []
        for i in self.live:
            if i >= op.n_outs:
                continue
            written = self.written_taps(i)
            read = op.tap_array[i]
            last = max([*read, *written])
            state = _BackwardState(i)
            for tap, k in zip(written, self.maps["inner_out_from_outer_out"][i], strict=True):
                state.read_taps.append(last - tap)
                state.read.append(self.cotangents[k])
            totals: dict[int, Any] = {}
            for tap, k in zip(read, self.maps["inner_inp_from_outer_out"][i], strict=True):
                if k in self.terms:
                    totals[tap] = totals[tap] + self.terms[k] if tap in totals else self.terms[k]
            for tap, total in totals.items():
                state.write_taps.append(last - tap)
                if tap in written:
                    # The forward step replaced this value, so that only what it read counts before it.
                    state.write.append(total)
                else:
                    before = total.type()
                    state.read_taps.append(last - tap)
                    state.read.append(before)
                    state.write.append(before + total)
            if i < op.n_mit_mot:
                for tap, k in zip(written, self.maps["inner_out_from_outer_out"][i], strict=True):
                    if tap not in totals:
                        state.write_taps.append(last - tap)
                        state.write.append(tensor.zeros_like(self.cotangents[k]))
            self.states.append(state)

    # -- what the backward step needs of the forward one -----------------------------------------------------------

    def _recorded(self, wanted: list[Any]) -> dict[Any, Any]:
        """Values of the forward step that are not among its outputs: run it again, with them as outputs.

        Returns for each variable of the inner graph the outer variable with its values at all steps.
        """
        op = self.op
        ends = op._ends["inner_out"]
        inner_outputs = [*op.outputs[: ends[2]], *op.outputs[ends[2] : ends[3]], *wanted, *op.outputs[ends[3] :]]
        info = {**op.info, "n_nit_sot": op.n_nit_sot + len(wanted), "destroy_map": {}, "inplace": False}
        place = op.nit_sot_arg_offset + op.n_nit_sot
        outer = [*self.inputs[:place], *[self.inputs[0]] * len(wanted), *self.inputs[place:]]
        outs = type(op)(op.inputs, inner_outputs, info)(*outer, return_list=True)
        first = op.n_outs + op.n_nit_sot
        return dict(zip(wanted, outs[first : first + len(wanted)], strict=True))

    def _changing_randomly(self, expressions: list[Any], blockers: set[Any]) -> list[Any]:
        """The first tensors that are computed from shared states that are not tensors, such as random numbers."""
        op = self.op
        tainted = {v for v in op.inner_shared(op.inputs) if not isinstance(v.type, TensorType)}
        if not tainted:
            return []
        found = []
        for node in traverse.io_toposort(blockers, expressions):
            if any(v in tainted for v in node.inputs):
                for out in node.outputs:
                    if out in blockers:
                        continue
                    if isinstance(out.type, TensorType):
                        found.append(out)
                    else:
                        tainted.add(out)
        return found

    def _backwards(self, rows: Any) -> Any:
        """Rows in reversed order, as many as the gradient goes back."""
        rows = rows[::-1]
        return rows[: self.grad_steps] if self.truncated else rows

    def _forward_values(self, expressions: list[Any]) -> tuple[list[Any], list[tuple[Any, Any]]]:
        """Replace what comes from the forward loop.

        Returns the expressions and the pairs of outer and inner variables of all sequences that they need.
        """
        op = self.op
        inner_inputs = set(op.inputs)
        ends = op._ends["inner_out"]
        computed: dict[Any, Any] = {}
        for k in range(ends[0], ends[3]):
            v = op.outputs[k]
            if v.owner is not None and v not in inner_inputs and v not in computed:
                o = self.maps["outer_out_from_inner_out"][k]
                computed[v] = self.outputs[o][-op.mintaps[o] :] if o < op.n_outs else self.outputs[o]
        stop = set(computed) | inner_inputs
        reached = _reached(expressions, stop)
        replace: dict[Any, Any] = {}
        pairs: list[tuple[Any, Any]] = []
        for v, rows in computed.items():
            if v in reached:
                replace[v] = _stand_in(v)
                pairs.append((self._backwards(rows), replace[v]))

        random = self._changing_randomly(expressions, stop)
        overwritten = self._overwritten_taps(reached)
        wanted = random + overwritten
        if wanted:
            for v, rows in self._recorded(wanted).items():
                replace[v] = _stand_in(v)
                pairs.append((self._backwards(rows), replace[v]))
        if replace:
            expressions = clone(expressions, replace=replace)
            reached = _reached(expressions, inner_inputs | set(replace.values()))

        for seq, v in zip(op.outer_seqs(self.inputs), op.inner_seqs(op.inputs), strict=True):
            if v in reached:
                pairs.append((self._backwards(seq[: self.steps] if op.as_while else seq), v))
        for i, taps in enumerate(op.tap_array):
            for tap, k in zip(taps, self.maps["inner_inp_from_outer_out"][i], strict=True):
                v = op.inputs[k]
                if v not in reached:
                    continue
                first = tap - op.mintaps[i]
                if i < op.n_mit_mot:
                    rows = self.outputs[i][first : first + self.steps]
                else:
                    rows = self.outputs[i][first:tap]
                pairs.append((self._backwards(rows), v))
        for v in op.inner_shared(op.inputs):
            if v in reached:
                raise NotImplementedError(
                    f"The gradient of {op} depends on the shared state {v} of {v.type}, whose earlier values are not kept."
                )
        return expressions, pairs

    def _overwritten_taps(self, reached: set[Any]) -> list[Any]:
        """Taps of mit_mot that are needed, but have another value at the end of the loop than when they were read."""
        op = self.op
        found = []
        for i in range(op.n_mit_mot):
            earliest = min(op.mit_mot_out_slices[i], default=None)
            for tap, k in zip(op.tap_array[i], self.maps["inner_inp_from_outer_out"][i], strict=True):
                if earliest is not None and tap >= earliest and op.inputs[k] in reached:
                    found.append(op.inputs[k])
        return found

    # -- the backward Scan -----------------------------------------------------------------------------------------

    def _build(self) -> None:
        op = self.op
        n_seqs = op.n_seqs
        first_other = op._ends["inner_in"][4]
        self.seq_terms = [k for k in range(n_seqs) if k in self.terms]
        self.other_terms = [k for k in range(first_other, len(op.inputs)) if k in self.terms]
        writing = [state for state in self.states if state.write]
        # The gradient of a state that nothing is added to is known beforehand.
        reading = [state for state in self.states if not state.write]

        expressions = [v for state in writing for v in state.write]
        expressions += [self.terms[k] for k in self.other_terms]
        expressions += [self.terms[k] for k in self.seq_terms]
        self.results: dict[int, Any] = {}
        if not expressions:
            return
        expressions, pairs = self._forward_values(expressions)
        reached = _reached(expressions, set())
        used_others = [
            (outer, v)
            for outer, v in zip(op.outer_non_seqs(self.inputs), op.inner_non_seqs(op.inputs), strict=True)
            if v in reached
        ]

        seqs = [(rows, v) for rows, v in pairs]
        for o in self.live:
            if o >= op.n_outs:
                (k,) = self.maps["inner_out_from_outer_out"][o]
                seqs.append((self._backwards(self._given(o)), self.cotangents[k]))
        for state in reading:
            rows = self._given(state.index)[-op.mintaps[state.index] :]
            seqs.append((self._backwards(rows), state.read[0]))
        position = iter(expressions)
        written = [[next(position) for _ in state.write] for state in writing]
        sums, sum_inputs = [], []
        with change_flags(compute_test_value="off"):
            for k in self.other_terms:
                before = self.terms[k].type()
                sum_inputs.append(before)
                sums.append(before + next(position))
        seq_results = list(position)

        inner_inputs = [v for _, v in seqs]
        inner_inputs += [v for state in writing for v in state.read]
        inner_inputs += sum_inputs + [v for _, v in used_others]
        inner_outputs = [v for values in written for v in values] + sums + seq_results
        inner_inputs, inner_outputs = reconstruct_graph(inner_inputs, inner_outputs)
        info = {
            **op.info,
            "n_seqs": len(seqs),
            "n_mit_mot": len(writing),
            "n_mit_mot_outs": sum(len(state.write) for state in writing),
            "mit_mot_out_slices": [state.write_taps for state in writing],
            "n_mit_sot": 0,
            "n_sit_sot": len(sums),
            "n_nit_sot": len(seq_results),
            "n_shared_outs": 0,
            "tap_array": [state.read_taps for state in writing] + [[-1]] * len(sums),
            "as_while": False,
            "destroy_map": {},
            "inplace": False,
            "name": f"grad_of_{op.name}" if op.name else None,
        }
        backward = type(op)(inner_inputs, inner_outputs, info)
        rests: list[Any] = []
        outer = [self.grad_steps, *(rows for rows, _ in seqs)]
        for state in writing:
            buffer, rest = self._reversed_buffer(state.index)
            outer.append(buffer)
            rests.append(rest)
        for k in self.other_terms:
            zero = tensor.zeros_like(self.inputs[self.maps["outer_inp_from_inner_inp"][k]], dtype=self.terms[k].dtype)
            outer.append(expand_empty(tensor.unbroadcast(tensor.shape_padleft(zero), 0), self.grad_steps, 1))
        outer += [self.grad_steps] * len(seq_results)
        outer += [v for v, _ in used_others]
        outs = iter(backward(*outer, return_list=True))

        for state, rest in zip(writing, rests, strict=True):
            total = next(outs)[::-1]
            if rest is not None:
                total = tensor.concatenate([total, rest])
            self.results[self.maps["outer_inp_from_outer_out"][state.index]] = total
        for k in self.other_terms:
            self.results[self.maps["outer_inp_from_inner_inp"][k]] = next(outs)[-1]
        for k in self.seq_terms:
            self.results[1 + k] = self._padded(next(outs)[::-1], self.inputs[1 + k])
        for state in reading:
            self.results[self.maps["outer_inp_from_outer_out"][state.index]] = self._given(state.index)

    def _given(self, output: int) -> Any:
        """The gradient of an outer output that comes from outside of the loop."""
        gradient = self.output_grads[output]
        if _is_disconnected(gradient) or _is_null(gradient):
            return tensor.zeros_like(self.outputs[output])
        return gradient

    def _reversed_buffer(self, state: int) -> tuple[Any, Any]:
        """The given gradient of a state's buffer, reversed; and that of the rows that no step touched, if there may be any."""
        op = self.op
        given = self._given(state)
        if state >= op.n_mit_mot or not self.truncated:
            return given[::-1], None
        # A loop of truncated length goes through a part of its buffer only.
        last = max([*op.tap_array[state], *self.written_taps(state)])
        touched = self.steps + (last - op.mintaps[state])
        return given[:touched][::-1], given[touched:]

    def _padded(self, rows: Any, seq: Any) -> Any:
        """The gradient of a sequence: zero where the loop, or its gradient, did not come."""
        if not self.truncated and not self.op.as_while:
            return rows
        zeros = tensor.zeros_like(seq)
        return tensor.set_subtensor(zeros[self.steps - self.grad_steps : self.steps], rows)

    def _collect(self) -> list[Any]:
        op = self.op
        connected_to = [o for o, g in enumerate(self.output_grads) if not _is_disconnected(g)]
        null_outputs = {o: g.type for o, g in enumerate(self.output_grads) if _is_null(g)}
        null_inputs: dict[int, Any] = {}
        for k, why in self.null.items():
            outer = self.maps["outer_inp_from_inner_inp"][k]
            null_inputs.setdefault(outer, why)
            # The gradient of a state is needed for that of everything that it is computed from.
            state = self.maps["outer_out_from_inner_inp"][k]
            if state >= 0:
                null_outputs.setdefault(state, why)
        gradients: list[Any] = []
        for i, variable in enumerate(self.inputs):
            row = self.pattern[i]
            why = null_inputs.get(i) or next((why for o, why in null_outputs.items() if row[o]), None)
            if not any(row[o] for o in connected_to):
                gradients.append(DisconnectedType()())
            elif why is not None:
                gradients.append(why())
            elif i in self.results:
                gradients.append(self.results[i])
            elif isinstance(variable.type, TensorType):
                gradients.append(_zeros(variable))
            else:
                gradients.append(grad_undefined(op, i, variable, "Only tensors have gradients in a scan."))
        return gradients


def _zeros(variable: Any) -> Any:
    from theano.configdefaults import config

    dtype = config.floatX if variable.type.dtype in _DISCRETE else variable.type.dtype
    return tensor.zeros_like(variable, dtype=dtype)


def _of_type(gradient: Any, like: Any) -> Any:
    """`gradient` with the dtype and the broadcastable dimensions of `like`."""
    if gradient.type.dtype != like.type.dtype and like.type.dtype not in _DISCRETE:
        gradient = tensor.cast(gradient, like.type.dtype)
    if gradient.type.broadcastable != like.type.broadcastable:
        gradient = tensor.patternbroadcast(gradient, like.type.broadcastable)
    return gradient


def _stand_in(variable: Any) -> Any:
    new = variable.type()
    new.name = variable.name
    return new


def _reached(expressions: Sequence[Any], stop: set[Variable]) -> set[Any]:
    """All variables that `expressions` depend on, without what is before those in `stop`."""
    seen: set[Any] = set()
    stack = list(expressions)
    while stack:
        v = stack.pop()
        if v in seen:
            continue
        seen.add(v)
        if v.owner is not None and v not in stop:
            stack.extend(v.owner.inputs)
    return seen
