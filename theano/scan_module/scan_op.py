"""The Scan Op: a loop over an inner graph.

A Scan is built as ``Scan(inputs, outputs, info)`` from the inputs and outputs of its *inner graph*, which computes one
step, and a dictionary that tells what they mean. The variables that the Scan is applied to, and that it returns, are
its *outer* inputs and outputs. Each kind of them stands in one block, in these orders:

===============  ===============================================================================================
outer inputs     ``n_steps``, seqs, mit_mot, mit_sot, sit_sot, shared, lengths of the nit_sot, other arguments
outer outputs    mit_mot, mit_sot, sit_sot, nit_sot, shared
inner inputs     seqs, taps of the mit_mot, taps of the mit_sot, sit_sot, shared, other arguments
inner outputs    written taps of the mit_mot, mit_sot, sit_sot, nit_sot, shared, condition of a while loop
===============  ===============================================================================================

The keys of `info`, each of which is also an attribute of the Op:

``n_seqs``, ``n_mit_mot``, ``n_mit_sot``, ``n_sit_sot``, ``n_nit_sot``, ``n_shared_outs``
    How many there are of each kind.
``tap_array``
    For each mit_mot, mit_sot and sit_sot the list of the taps that a step reads.
``mit_mot_out_slices``, ``n_mit_mot_outs``
    For each mit_mot the list of the taps that a step writes, and the number of all of them.
``as_while``
    Whether the last inner output is a condition; the loop ends after the step in which it is true.
``truncate_gradient``
    Number of steps that the gradient goes back, -1 for all.
``destroy_map``, ``inplace``
    Which states are computed in the memory of their outer inputs.
``name``, ``mode``, ``profile``, ``allow_gc``, ``strict``, ``gpua``
    As for `theano.scan`; the last is kept for its name.

What one step sees, at step ``t`` counted from 0:

- a sequence gives its row ``t``; it has at least ``n_steps`` rows, taps and direction having been applied outside;
- the outer input of a *state* (mit_mot, mit_sot, sit_sot) is its buffer. With ``m`` the smallest of its taps (those that
  are read, and those that are written: 0 but for a mit_mot), its first ``-m`` rows are the initial values, and tap ``k``
  is row ``t - m + k``. The buffer of a mit_sot or sit_sot may have fewer than ``n_steps - m`` rows: row numbers are then
  taken modulo its length, so that the oldest values are overwritten. The buffer of a mit_mot is never circular. All taps
  are read before any is written;
- a nit_sot is not read; its outer input is the number of its last values to keep, also circular, and what it computed at
  step ``t`` is row ``t``;
- a shared state is replaced by what the step returns for it.

The outer outputs are the buffers after the last step. A circular buffer is rotated in the end so that its rows are in
order of time. Rows of a mit_sot, sit_sot or nit_sot that no step reached are cut off when a while loop ended early, and are
zero otherwise. With no step at all states are returned as they came, and a nit_sot has no rows.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from typing import Any, TextIO

import numpy as np

from theano.compile.profiling import register_profiler_printer
from theano.gof.graph import Apply, Variable
from theano.gof.op import Op, ops_with_inner_function
from theano.gof.run_errors import _add_text
from theano.scan_module.scan_layout import ScanLayout
from theano.scan_module.scan_utils import equal_computations
from theano.tensor import TensorType, as_tensor_variable

_DEFAULTS: dict[str, Any] = {
    "n_seqs": 0,
    "n_mit_mot": 0,
    "n_mit_mot_outs": 0,
    "n_mit_sot": 0,
    "n_sit_sot": 0,
    "n_nit_sot": 0,
    "n_shared_outs": 0,
    "tap_array": [],
    "mit_mot_out_slices": [],
    "as_while": False,
    "truncate_gradient": -1,
    "destroy_map": {},
    "inplace": False,
    "name": "scan_fn",
    "mode": None,
    "profile": False,
    "allow_gc": False,
    "strict": False,
    "gpua": False,
}

# What makes two Scans over equal inner graphs the same Op.
_IDENTITY = tuple(key for key in _DEFAULTS if key not in ("inplace", "name", "profile", "strict", "mode"))


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(sorted((k, _frozen(v)) for k, v in value.items()))
    if isinstance(value, list | tuple):
        return tuple(_frozen(v) for v in value)
    return value


class Scan(ScanLayout, Op):
    """A loop over an inner graph.

    Parameters
    ----------
    inputs, outputs : list of Variable
        The inner graph. It must depend on nothing but `inputs` and constants.
    info : dict
        What the inputs and outputs mean; see the docstring of the module.
    typeConstructor : callable, optional
        Makes the type of an output from the keywords `broadcastable` and `dtype`; TensorType by default.

    Notes
    -----
    Use `theano.scan`, which builds both the inner graph and its arguments.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dvector("x")
    >>> sums, _ = theano.scan(lambda e, total: total + e, sequences=x, outputs_info=T.zeros(()))
    >>> loop = sums.owner.inputs[0].owner.op
    >>> isinstance(loop, Scan), loop.n_seqs, loop.n_sit_sot, len(loop.inputs)
    (True, 1, 1, 2)
    """

    # What shows graphs tells loops by this.
    loops = True
    # Attributes that `info` sets.
    truncate_gradient: int
    destroy_map: dict[int, list[int]]
    name: str | None
    mode: Any
    profile: Any
    allow_gc: bool | None
    strict: bool
    gpua: bool
    inplace: bool
    # Rewrites of the loop see in ``out[1:][-1]`` that only the last value is wanted.
    keep_slices = True
    # For `theano.compile.program_key`.
    key_state = (*_DEFAULTS, "inputs", "outputs")
    _scan_savemem_visited = False

    def __init__(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], info: dict[str, Any], typeConstructor: Any = None
    ):
        if info.get("gpua"):
            raise NotImplementedError("Scan has no GPU version: pass the arguments of the loop as tensors.")
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.info = {**{k: copy.copy(v) for k, v in _DEFAULTS.items()}, **info}
        for key, value in self.info.items():
            setattr(self, key, value)
        self._check_counts()
        make_type = typeConstructor or (lambda broadcastable, dtype: TensorType(dtype=dtype, broadcastable=broadcastable))
        self.output_types: list[Any] = []
        position = 0
        for taps in self.mit_mot_out_slices:
            self.output_types.append(self._row_type(self.outputs[position].type, make_type))
            position += len(taps)
        ends = self._ends["inner_out"]
        for out in self.outputs[position : ends[3]]:
            self.output_types.append(self._row_type(out.type, make_type))
        self.output_types.extend(out.type for out in self.outputs[ends[3] : ends[4]])

        self.n_outs = self.n_mit_mot + self.n_mit_sot + self.n_sit_sot
        self.n_tap_outs = self.n_mit_mot + self.n_mit_sot
        self.mintaps = [
            min([*taps, *(self.mit_mot_out_slices[i] if i < self.n_mit_mot else [0])]) for i, taps in enumerate(self.tap_array)
        ] + [0] * self.n_nit_sot
        self.seqs_arg_offset = 1 + self.n_seqs
        self.shared_arg_offset = self.seqs_arg_offset + self.n_outs
        self.nit_sot_arg_offset = self.shared_arg_offset + self.n_shared_outs
        self._inner_mode: Any = None
        self._fn: Any = None
        self._step_profile: Any = None
        self._hash: int | None = None

    @staticmethod
    def _row_type(element: Any, make_type: Any) -> Any:
        return make_type(broadcastable=(False, *element.broadcastable), dtype=element.dtype)

    def _check_counts(self) -> None:
        n_states = self.n_mit_mot + self.n_mit_sot + self.n_sit_sot
        if len(self.tap_array) != n_states:
            raise ValueError(f"tap_array has {len(self.tap_array)} entries for {n_states} states")
        if len(self.inputs) < self._ends["inner_in"][4]:
            raise ValueError(f"The inner graph of {self.name} has only {len(self.inputs)} inputs")
        n_out = self._ends["inner_out"][4] + bool(self.as_while)
        if len(self.outputs) != n_out:
            raise ValueError(f"The inner graph of {self.name} has {len(self.outputs)} outputs instead of {n_out}")

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other) or hash(self) != hash(other):
            return False
        if self._identity() != other._identity():  # type: ignore[attr-defined]
            return False
        return equal_computations(
            self.outputs, other.outputs, self.inputs, other.inputs  # type: ignore[attr-defined]
        )

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self._identity())
        return self._hash

    def _identity(self) -> Any:
        return (
            type(self),
            tuple(_frozen(getattr(self, key)) for key in _IDENTITY),
            self.mode if isinstance(self.mode, str) else id(self.mode),
            tuple(v.type for v in self.inputs),
            tuple(v.type for v in self.outputs),
        )

    def __str__(self) -> str:
        loop = "do_while" if self.as_while else "for"
        place = "gpu" if self.gpua else "cpu"
        if self.destroy_map:
            if sorted(self.destroy_map) == list(range(self.n_outs)):
                return f"{loop}all_inplace,{place},{self.name}}}"
            numbers = "".join(f"{k}," for k in self.destroy_map)
            return f"{loop}{{inplace{{{numbers}}},{place},{self.name}}}"
        return f"{loop}{{{place},{self.name}}}"

    def __getstate__(self) -> dict[str, Any]:
        # The compiled function is made again when it is needed.
        return {**Op.__getstate__(self), "_fn": None, "_step_profile": None, "_inner_mode": None, "_hash": None}

    # -- building ------------------------------------------------------------------------------------------------

    def make_node(self, *inputs: Any) -> Apply:
        """Return the node; inputs whose types fit up to their broadcastable dimensions are converted.

        Raises
        ------
        ValueError
            For a wrong number of inputs, or a state whose dtype or number of dimensions the step changes.
        TypeError
            For inputs of other types.
        """
        n_expected = 1 + self.n_seqs + self.n_outs + self.n_shared_outs + self.n_nit_sot
        n_expected += len(self.inputs) - self._ends["inner_in"][4]
        if len(inputs) != n_expected:
            raise ValueError(f"{self} takes {n_expected} inputs, got {len(inputs)}")
        n_steps = as_tensor_variable(inputs[0])
        if n_steps.ndim != 0 or n_steps.dtype not in _INTEGERS:
            raise TypeError(f"The number of steps of {self} must be an integer scalar, not {n_steps.type}")
        variables: list[Any] = [n_steps]
        variables += [
            self._with_rows(outer, inner, f"sequence {i}")
            for i, (outer, inner) in enumerate(zip(self.outer_seqs(inputs), self.inner_seqs(self.inputs), strict=True))
        ]
        variables += self._fit_states(inputs)
        for kind, outer, inner in [
            ("shared state", self.outer_shared(inputs), self.inner_shared(self.inputs)),
            ("length", self.outer_nitsot(inputs), None),
            ("argument", self.outer_non_seqs(inputs), self.inner_non_seqs(self.inputs)),
        ]:
            for i, variable in enumerate(outer):
                if inner is not None:
                    variables.append(self._fit(variable, inner[i].type, f"{kind} {i}"))
                    continue
                length = as_tensor_variable(variable)
                if length.ndim != 0 or length.dtype not in _INTEGERS:
                    raise TypeError(f"The length of an output of {self} must be an integer scalar, not {length.type}")
                variables.append(length)
        return Apply(self, variables, [type_() for type_ in self.output_types])

    def _with_rows(self, outer: Any, inner: Variable, what: str) -> Any:
        """`outer` as an array of rows of the type of `inner`."""
        wanted: Any = inner.type
        return self._fit(outer, TensorType(wanted.dtype, (False, *wanted.broadcastable)), what)

    def _fit(self, outer: Any, wanted: Any, what: str) -> Any:
        if isinstance(wanted, TensorType):
            outer = as_tensor_variable(outer)
            if outer.dtype != wanted.dtype or outer.ndim != wanted.ndim:
                raise TypeError(f"{self}: the inner graph expects for {what} ({outer}) the type {wanted}, not {outer.type}")
            extra = [i for i, (mine, its) in enumerate(zip(outer.broadcastable, wanted.broadcastable)) if mine and not its]
            if extra:
                from theano.tensor import unbroadcast

                outer = unbroadcast(outer, *extra)
            missing = [i for i, (mine, its) in enumerate(zip(outer.broadcastable, wanted.broadcastable)) if its and not mine]
            if missing:
                from theano.tensor import addbroadcast

                outer = addbroadcast(outer, *missing)
            return outer
        try:
            return wanted.filter_variable(outer)
        except TypeError as error:
            raise TypeError(f"{self}: the inner graph expects for {what} ({outer}) the type {wanted}") from error

    def _fit_states(self, inputs: Sequence[Any]) -> list[Any]:
        inner_in = self.inputs[self.n_seqs :]
        outer = self.outer_mitmot(inputs) + self.outer_mitsot(inputs) + self.outer_sitsot(inputs)
        variables = []
        read = written = 0
        for i, (state, taps) in enumerate(zip(outer, self.tap_array, strict=True)):
            n_out = len(self.mit_mot_out_slices[i]) if i < self.n_mit_mot else 1
            state = as_tensor_variable(state)
            outs = self.outputs[written : written + n_out]
            for out in outs:
                if out.type.dtype != state.dtype or out.type.ndim + 1 != state.ndim:
                    raise ValueError(
                        f"The initial value of state {i} of {self} ({state}; see `outputs_info`) has dtype "
                        f"{state.dtype} and {state.ndim - 1} dimension(s) per step, but the step function returns for "
                        f"it a result of dtype {out.type.dtype} and {out.type.ndim} dimension(s). Both must be the "
                        "same: a state is neither cast nor reshaped silently. Cast the initial value or the result, "
                        "for instance with theano.tensor.cast, or set config.floatX."
                    )
            like = inner_in[read] if taps else outs[0]
            variables.append(self._with_rows(state, like, f"the initial value of state {i}"))
            read += len(taps)
            written += n_out
        return variables

    def validate_inner_graph(self) -> None:
        """Check that what a step reads and what it writes of the same state are of one type.

        Raises
        ------
        TypeError
            When they are not.
        """
        maps = self.var_mappings["inner_out_from_inner_inp"]
        for i, outs in maps.items():
            for o in outs:
                read, written = self.inputs[i].type, self.outputs[o].type
                if read != written:
                    raise TypeError(
                        f"Inconsistency in the inner graph of scan '{self.name}': an input and an output are associated "
                        f"with the same recurrent state and should have the same type but have type '{read}' and "
                        f"'{written}' respectively. If only their broadcastable dimensions differ, apply "
                        "theano.tensor.unbroadcast to the initial value or patternbroadcast to the result of the step."
                    )

    # -- running ---------------------------------------------------------------------------------------------------

    @property
    def mode_instance(self) -> Any:
        """The Mode that the inner function is compiled with."""
        if self._inner_mode is None:
            from theano.compile.mode import get_default_mode, get_mode

            if self.mode is None:
                self._inner_mode = get_default_mode().clone(link_kwargs={"allow_gc": bool(self.allow_gc)})
            else:
                self._inner_mode = get_mode(self.mode)
        return self._inner_mode

    @property
    def fn(self) -> Any:
        """The compiled inner function: takes the inner inputs and returns the list of the inner outputs."""
        if self._fn is None:
            self.validate_inner_graph()
            from theano.compile.function_module import orig_function
            from theano.compile.io import In, Out

            fn = orig_function(
                [In(v, borrow=True) for v in self.inputs],
                [Out(v, borrow=False) for v in self.outputs],
                mode=self.mode_instance,
                name=self.name,
                profile=self.step_profile,
                on_unused_input="ignore",
                accept_inplace=True,
            )
            fn.trust_input = True
            self._fn = fn
        return self._fn

    @property
    def step_profile(self) -> Any:
        """What the steps cost, a ScanProfileStats that runs add to; None unless `profile` is set."""
        if self.profile and self._step_profile is None:
            from theano.compile.profiling import ScanProfileStats

            self._step_profile = ScanProfileStats(name=self.name if self.profile is True else str(self.profile))
        return self._step_profile

    def prepare_node(self, node: Apply, storage_map: Any, compute_map: Any, impl: str | None) -> None:
        """Compile the inner function when the node is linked, not when it runs first."""
        _ = self.fn

    def do_constant_folding(self, node: Apply) -> bool:
        return False

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list], params: Any = None) -> None:
        """Run the loop in Python, one call of the inner function a step.

        Raises
        ------
        IndexError
            For a negative number of steps.
        ValueError
            For a sequence that is too short, or a step whose result has another shape than before.
        """
        start = time.perf_counter()
        done = _Loop(self, node, inputs).run(output_storage)
        stats = getattr(self.fn, "profile", None)
        if stats is not None and hasattr(stats, "nbsteps"):
            stats.callcount += 1
            stats.nbsteps += done
            stats.call_time += time.perf_counter() - start

    # -- shapes and derivatives ------------------------------------------------------------------------------------

    def infer_shape(self, node: Apply, input_shapes: Sequence[Any]) -> list[Any]:
        """Shapes of the outputs: those of the buffers, and for a nit_sot what the inner graph says."""
        from theano.scan_module.scan_utils import infer_inner_shapes

        return infer_inner_shapes(self, node, input_shapes)

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]) -> list[Any]:
        """The gradient: a Scan that goes through the steps backwards."""
        from theano.scan_module.scan_grad import gradient_of_scan

        return gradient_of_scan(self, inputs, outputs, output_grads)

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """The R operator: a Scan whose states are accompanied by their derivatives."""
        from theano.scan_module.scan_rop import rop_of_scan

        return rop_of_scan(self, inputs, eval_points)


_INTEGERS = frozenset(("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"))


class _Loop:
    """One run of a Scan over values."""

    def __init__(self, op: Scan, node: Apply, inputs: Sequence[Any]):
        self.op = op
        self.node = node
        self.n_steps = int(inputs[0])
        if self.n_steps < 0:
            raise IndexError(f"Scan was asked to run for a negative number of steps: {self.n_steps}")
        self.seqs = op.outer_seqs(inputs)
        for i, seq in enumerate(self.seqs):
            if seq.shape[0] < self.n_steps:
                raise ValueError(
                    f"Sequence {i} of {op} is shorter than the required number of steps: it has {seq.shape[0]} elements "
                    f"for {self.n_steps} steps (its shape is {seq.shape})."
                )
        self.buffers = op.outer_mitmot(inputs) + op.outer_mitsot(inputs) + op.outer_sitsot(inputs)
        destroyed = op.destroy_map
        for i, buffer in enumerate(self.buffers):
            if i not in destroyed:
                self.buffers[i] = buffer.copy()
            needed = -op.mintaps[i] if i >= op.n_mit_mot else max(
                0, self.n_steps + max([*op.tap_array[i], *op.mit_mot_out_slices[i]]) - op.mintaps[i]
            ) * bool(self.n_steps)
            if self.buffers[i].shape[0] < needed:
                raise ValueError(
                    f"State {i} of {op} needs at least {needed} rows, its buffer has the shape {buffer.shape}."
                )
        self.shared = [copy.copy(value) for value in op.outer_shared(inputs)]
        self.lengths = [int(n) for n in op.outer_nitsot(inputs)]
        for n in self.lengths:
            if n < 0:
                raise IndexError(f"Scan was asked to keep a negative number of values of an output: {n}")
        self.results: list[Any] = [None] * op.n_nit_sot
        self.others = op.outer_non_seqs(inputs)

    def run(self, output_storage: Sequence[list]) -> int:
        """Run all steps, put the results in the storage and return the number of steps done."""
        op = self.op
        fn = op.fn
        t = 0
        ended = False
        while t < self.n_steps and not ended:
            try:
                values = fn(*self.arguments(t))
            except Exception as error:
                _add_text(error, f"\nThis was raised by step {t} (counted from 0) of {self.n_steps} of the scan {op.name}.")
                raise
            if op.as_while:
                ended = bool(values[-1])
            self.store(t, values)
            t += 1
        for i in range(op.n_outs):
            output_storage[i][0] = self.buffers[i] if i < op.n_mit_mot else self.in_order(self.buffers[i], t, -op.mintaps[i])
        if t == 0 and op.n_nit_sot:
            self.make_empty_results()
        for k in range(op.n_nit_sot):
            output_storage[op.n_outs + k][0] = self.in_order(self.results[k], t, 0)
        for k, value in enumerate(self.shared):
            output_storage[op.n_outs + op.n_nit_sot + k][0] = value
        return t

    def make_empty_results(self) -> None:
        """Make the results of a loop without steps: no rows, of the shape that a step on zeros gives."""
        op = self.op
        values: list[Any] = [np.zeros(seq.shape[1:], dtype=seq.dtype) for seq in self.seqs]
        for buffer, taps in zip(self.buffers, op.tap_array, strict=True):
            values.extend(np.zeros(buffer.shape[1:], dtype=buffer.dtype) for _ in taps)
        first = op._ends["inner_out"][2]
        shapes: list[Any] = []
        try:
            with np.errstate(all="ignore"):
                elements = op.fn(*values, *self.shared, *self.others)
            shapes = [np.shape(value) for value in elements[first : first + op.n_nit_sot]]
        except Exception:
            # A step that cannot do with zeros leaves the shapes unknown.
            shapes = [[1 if b else 0 for b in v.type.broadcastable] for v in op.inner_nitsot_outs(op.outputs)]
        for k, shape in enumerate(shapes):
            dtype = self.node.outputs[op.n_outs + k].type.dtype  # type: ignore[attr-defined]
            self.results[k] = np.zeros((0, *shape), dtype=dtype)

    def arguments(self, t: int) -> list[Any]:
        op = self.op
        values: list[Any] = [_row(seq, t) for seq in self.seqs]
        for i, taps in enumerate(op.tap_array):
            buffer = self.buffers[i]
            first = t - op.mintaps[i]
            if i < op.n_mit_mot:
                values.extend(_row(buffer, first + tap) for tap in taps)
            else:
                length = buffer.shape[0]
                values.extend(_row(buffer, (first + tap) % length) for tap in taps)
        values.extend(self.shared)
        values.extend(self.others)
        return values

    def store(self, t: int, values: Sequence[Any]) -> None:
        """Put what step `t` returned where it belongs."""
        op = self.op
        position = 0
        for i in range(op.n_mit_mot):
            for tap in op.mit_mot_out_slices[i]:
                self.put(self.buffers[i], t - op.mintaps[i] + tap, values[position], t, i)
                position += 1
        for i in range(op.n_mit_mot, op.n_outs):
            buffer = self.buffers[i]
            self.put(buffer, (t - op.mintaps[i]) % buffer.shape[0], values[position], t, i)
            position += 1
        for k in range(op.n_nit_sot):
            value = np.asarray(values[position])
            position += 1
            if self.results[k] is None:
                self.results[k] = np.zeros((self.lengths[k], *value.shape), dtype=value.dtype)
            if self.lengths[k]:
                self.put(self.results[k], t % self.lengths[k], value, t, op.n_outs + k)
        for k in range(op.n_shared_outs):
            self.shared[k] = values[position]
            position += 1

    def put(self, buffer: Any, row: int, value: Any, t: int, output: int) -> None:
        shape = np.shape(value)
        if shape != buffer.shape[1:]:
            before = "earlier steps" if output >= self.op.n_outs else "the initial value"
            raise ValueError(
                f"could not broadcast input array from shape {shape} into shape {buffer.shape[1:]}: output {output} of "
                f"{self.op} has the shape {shape} at step {t} (counted from 0), but {before} had the shape "
                f"{buffer.shape[1:]}: all steps must return results of the same shape."
            )
        buffer[row] = value

    def in_order(self, buffer: Any, t: int, n_initial: int) -> Any:
        """The buffer with its rows in order of time, after `t` steps."""
        length, filled = buffer.shape[0], t + n_initial
        if filled > length:
            start = filled % length if length else 0
            return np.concatenate((buffer[start:], buffer[:start])) if start else buffer
        if filled < length:
            if t < self.n_steps:
                return buffer[:filled]
            buffer[filled:] = 0
        return buffer


def _row(array: Any, i: int) -> Any:
    """Row `i` of an array, as an array also when it is a scalar."""
    return array[i, ...]


ops_with_inner_function[Scan] = "fn"


@register_profiler_printer
def profile_printer(
    message: str,
    compile_time: float,
    fct_call_time: float,
    apply_time: dict[Any, float],
    apply_cimpl: Any,
    outputs_size: Any,
    file: TextIO,
) -> None:
    """Print how much of the time of the loops in a profile is that of their steps.

    Parameters
    ----------
    message, compile_time, fct_call_time, apply_cimpl, outputs_size : object
        As for every function that prints a section of profiles; not used.
    apply_time : dict
        For each node the seconds that it took.
    file : file
        Where to print; nothing is where there is no loop.

    Examples
    --------
    >>> import sys
    >>> import theano
    >>> import theano.tensor as T
    >>> doubles, _ = theano.scan(lambda e: 2 * e, sequences=T.dvector("x"), name="doubling")
    >>> profile_printer("", 0.0, 0.0, {doubles.owner: 2.0}, None, None, sys.stdout)
    <BLANKLINE>
    Scan overhead:
    <Scan op time(s)> <sub scan fct time(s)> <sub scan op time(s)> ... <node>
      The steps of for{cpu,doubling} are not profiled: give scan profile=True, or set the flag profile.
    """
    loops = [(node, seconds) for node, seconds in apply_time.items() if isinstance(node.op, Scan) and seconds > 0]
    if not loops:
        return
    print("\nScan overhead:", file=file)
    print(
        "<Scan op time(s)> <sub scan fct time(s)> <sub scan op time(s)> <sub scan fct time(% scan op time)> "
        "<sub scan op time(% scan op time)> <node>",
        file=file,
    )
    total = np.zeros(3)
    for node, seconds in loops:
        stats = node.op.step_profile
        if stats is None:
            print(f"  The steps of {node.op} are not profiled: give scan profile=True, or set the flag profile.", file=file)
            continue
        times = np.array([seconds, stats.call_time, sum(stats.apply_time.values())])
        total += times
        print(f"      {_overhead(times)} {node}", file=file)
    if total[0] > 0:
        print(f"total {_overhead(total)}", file=file)


def _overhead(times: np.ndarray) -> str:
    shares = 100 * times[1:] / times[0]
    return "  ".join([*(f"{t:5.1f}s" for t in times), *(f"{s:5.1f}%" for s in shares)])
