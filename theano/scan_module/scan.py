"""`scan`: symbolic loops."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from theano.configdefaults import config
from theano.gof import traverse
from theano.gof.graph import Variable, nodes_constructed
from theano.gof.sharedvalue import SharedVariable
from theano.gof.stack_traces import warn_user
from theano.scan_module.scan_arguments import (
    OutputInfo,
    SequenceInfo,
    as_list,
    fixed_number,
    is_outer_argument,
    output_infos,
    sequence_infos,
    symbolic_number,
)
from theano.scan_module.scan_op import Scan
from theano.scan_module.scan_utils import (
    check_no_missing_inputs,
    clone,
    copy_test_value,
    expand_empty,
    get_updates_and_outputs,
    safe_new,
    until,
)
from theano.tensor import TensorType, as_tensor_variable, patternbroadcast, shape_padleft, unbroadcast
from theano.updates import OrderedUpdates


def scan(
    fn: Callable[..., Any],
    sequences: Any = None,
    outputs_info: Any = None,
    non_sequences: Any = None,
    n_steps: Any = None,
    truncate_gradient: int = -1,
    go_backwards: bool = False,
    mode: Any = None,
    name: str | None = None,
    profile: Any = False,
    allow_gc: bool | None = None,
    strict: bool = False,
    return_list: bool = False,
) -> tuple[Any, OrderedUpdates]:
    """Loop: apply a step function again and again, over sequences and to its own results.

    Parameters
    ----------
    fn : callable
        The step. It is called once, with variables for the taps of the sequences, then the taps of the outputs, then
        `non_sequences`, all in the order in which they are given. It returns the outputs (a variable or a list), the
        updates of shared variables (a dictionary or a list of pairs) or both in any order, followed by an `until` if
        the loop may end early.
    sequences : variable, dict, or list of them
        What to iterate over, along the first dimension. A dictionary has the keys ``input`` and ``taps``, a list of
        integers (by default [0]): at step ``t``, tap ``k`` is element ``t + k``. With negative taps the first element
        counts as that of the smallest of them.
    outputs_info : variable, dict, None, or list of them
        For each output its initial value, if the step needs earlier values of it. A dictionary has the keys
        ``initial`` and ``taps``, a list of negative integers (by default [-1]). With taps other than [-1] the initial
        value has one more dimension, and holds the values in order of time. None or an empty dictionary is an output
        that the step does not read.
    non_sequences : variable, or list of them
        Further arguments of `fn`, the same at each step. What else it uses is found automatically.
    n_steps : int or integer scalar, optional
        Number of steps; by default as many as the shortest sequence allows. With `until` it is the most that are done.
    truncate_gradient : int
        Number of steps that gradients go back; -1 for all.
    go_backwards : bool
        Whether to go through the sequences from their ends.
    mode : Mode or str, optional
        How to compile the step.
    name : str, optional
        Name for printing and profiling.
    profile : bool or str
        Whether to profile the step, or the name of the profile.
    allow_gc : bool, optional
        Whether to free intermediate results after each step; `config.scan.allow_gc` by default.
    strict : bool
        Whether all shared variables that the step uses must be passed explicitly, but for those that it updates.
    return_list : bool
        Whether to return a list even for one output.

    Returns
    -------
    outputs : Variable, list of Variable, or None
        For each output its values at all steps, stacked along a new first dimension; without the initial values.
    updates : OrderedUpdates
        New values of the shared variables that the loop updates, to be passed to `theano.function`.

    Raises
    ------
    ValueError
        For arguments or results of `fn` that do not fit; for an initial value of another dtype or rank than the result
        of the step; if the number of steps is unknown.
    MissingInputError
        If `strict` and a shared variable was not passed.

    See Also
    --------
    theano.map : Apply a function to each element of sequences.
    theano.reduce : Accumulate over sequences, and return the last results only.
    theano.foldl : `reduce` from the first element to the last.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> x = T.dvector('x')
    >>> sums, updates = theano.scan(lambda x_t, s: s + x_t, sequences=x, outputs_info=T.constant(0., dtype='float64'))
    >>> theano.function([x], sums, updates=updates)([1., 2., 3.]).tolist()
    [1.0, 3.0, 6.0]
    """
    fixed = fixed_number(n_steps)
    loop = _Builder(sequence_infos(sequences), output_infos(outputs_info), as_list(non_sequences), name or "scan_fn")
    loop.open_sequences(bool(go_backwards))
    loop.cut_sequences(n_steps)
    loop.open_outputs()
    with nodes_constructed() as loop.made_by_step:
        returned = loop.step(fn)
    condition, outputs, updates = get_updates_and_outputs(returned)
    loop.close(outputs, updates, condition, strict and fixed != 1)
    info = {
        "truncate_gradient": int(truncate_gradient),
        "name": loop.name,
        "mode": mode,
        "profile": profile,
        "allow_gc": config.scan.allow_gc if allow_gc is None else allow_gc,
        "strict": strict,
        "gpua": False,
        "destroy_map": {},
        "inplace": False,
        "as_while": condition is not None,
    }
    results = loop.unrolled() if fixed == 1 else loop.apply(info)
    if len(results) == 1 and not return_list:
        return results[0], loop.updates
    return (results or None) if not return_list else results, loop.updates


class _State:
    """A recurrent value: its outer buffer, what the step reads and what it writes."""

    def __init__(self, buffer: Any, taps: list[int], inner: list[Any], initial: list[Any]):
        self.buffer = buffer
        self.taps = taps
        self.inner = inner
        self.initial = initial
        self.result: Any = None


class _Builder:
    """Builds the inner graph of a Scan and its outer inputs."""

    n_steps: Any

    def __init__(self, sequences: list[SequenceInfo], outputs: list[OutputInfo], non_sequences: list[Any], name: str):
        self.name = name
        self.sequences = sequences
        self.output_infos = outputs
        self.non_sequences = [v if isinstance(v, Variable) else as_tensor_variable(v) for v in non_sequences]
        # One entry for each tap of each sequence: the outer variable and the element that the step sees.
        self.seqs: list[tuple[Any, Any]] = []
        self.states: dict[int, _State] = {}
        self.nit_sots: dict[int, Any] = {}
        # Shared variables that the step updates, with their stand-ins and new values.
        self.tensor_shared: list[tuple[SharedVariable, Any, Any]] = []
        self.other_shared: list[tuple[SharedVariable, Any, Any]] = []
        self.others: list[tuple[Any, Any]] = []
        self.condition: Any = None
        self.updates = OrderedUpdates()
        self.made_by_step: list[Any] = []
        self.single_steps: list[Any] = []

    def open_sequences(self, go_backwards: bool) -> None:
        """Shift the sequences by their taps, and make variables for their elements."""
        for info in self.sequences:
            for tap in info.taps:
                start, end = tap - info.first, tap - info.last
                rows = info.input[start : end or None]
                if getattr(info.input, "name", None) is not None:
                    rows.name = f"{info.input.name}[{start}:{end or ''}]"
                if go_backwards:
                    rows = rows[::-1]
                element = _element(info.input, start)
                element.name = _tap_name(info.input, tap)
                self.seqs.append((rows, element))

    def cut_sequences(self, n_steps: Any) -> None:
        """Set the number of steps, and cut the sequences to it."""
        lengths: list[Any] = []
        missing_rows = any(info.last > info.first for info in self.sequences)
        rows_of_taps = iter(self.seqs)
        for info in self.sequences:
            rows = [next(rows_of_taps)[0] for _ in info.taps]
            # All taps of a sequence have the same number of rows.
            missing = info.last - info.first
            lengths.append(info.input.shape[0] - missing if missing else rows[0].shape[0])
        self.n_steps = symbolic_number(n_steps, lengths)
        if n_steps is not None or len(self.sequences) > 1 or not missing_rows:
            self.seqs = [(rows[: self.n_steps], element) for rows, element in self.seqs]

    def open_outputs(self) -> None:
        """Make the buffers of the recurrent outputs, and variables for their taps."""
        for i, info in enumerate(self.output_infos):
            if info.kind == "sit_sot":
                self.states[i] = self._single_state(info.initial)
            elif info.kind == "mit_sot":
                depth = -min(info.taps)
                if info.initial.ndim == 0:
                    raise ValueError(
                        f"The initial value of output {i} of scan is a scalar, but the taps {info.taps} need an array "
                        f"of at least {depth} rows."
                    )
                inner, initial = [], []
                for tap in info.taps:
                    element = _element(info.initial, tap + depth)
                    element.name = _tap_name(info.initial, tap)
                    inner.append(element)
                    initial.append(info.initial[tap + depth])
                rows = unbroadcast(info.initial[:depth], 0)
                self.states[i] = _State(rows, info.taps, inner, initial)

    def _single_state(self, initial: Any) -> _State:
        element = initial.type()
        copy_test_value(initial, element)
        element.name = _tap_name(initial, -1)
        return _State(unbroadcast(shape_padleft(initial), 0), [-1], [element], [initial])

    def arguments(self) -> list[Any]:
        """What the step function is called with."""
        taps = [v for state in self.states.values() for v in state.inner]
        return [element for _, element in self.seqs] + taps + self.non_sequences

    def step(self, fn: Any) -> Any:
        """Call the step function; if it takes other arguments than scan has for it, say which those are."""
        arguments = self.arguments()
        try:
            return fn(*arguments)
        except TypeError as error:
            try:
                signature = inspect.signature(fn)
            except (TypeError, ValueError):
                # Not every callable has one.
                raise error from None
            try:
                signature.bind(*arguments)
            except TypeError as mismatch:
                states = sum(len(state.inner) for state in self.states.values())
                raise TypeError(
                    f"The step function of scan cannot be called with the {len(arguments)} arguments that scan has for it"
                    f" ({mismatch}): {len(self.seqs)} of sequences, {states} of earlier results (outputs_info) and"
                    f" {len(self.non_sequences)} non_sequences, in this order: {', '.join(map(str, arguments))}."
                ) from error
            raise

    def close(self, outputs: list[Any], updates: OrderedUpdates, condition: until | None, strict: bool) -> None:
        """Take what the step returned, and find everything else that it depends on."""
        infos = self.output_infos
        if not infos:
            infos = self.output_infos = [OutputInfo() for _ in outputs]
        if len(infos) != len(outputs):
            raise ValueError(
                f"Please provide None as outputs_info for any output that does not feed back into scan (i.e. it "
                f"behaves like a map): outputs_info has {len(infos)} entries, but the step function returned "
                f"{len(outputs)} outputs."
            )
        stop = condition.condition if condition is not None else None
        targets = [*outputs, *([stop] if stop is not None else [])]
        own = [v for _, v in self.seqs] + [v for state in self.states.values() for v in state.inner]
        updates = self._all_updates(targets, updates, own)

        cut = [v for v in dict.fromkeys(self.non_sequences) if is_outer_argument(v) and v not in own]
        replace: dict[Any, Any] = {}
        for v in cut:
            replace[v] = safe_new(v, "_copy")
        expressions = [*targets, *updates.values()]
        found = traverse.inputs(clone(expressions, replace=replace))
        ignored = {*own, *replace.values()}
        shared = [v for v in found if isinstance(v, SharedVariable)]
        shared += [v for v in updates if v not in shared]
        for v in found:
            if v not in ignored and is_outer_argument(v) and v not in replace:
                replace[v] = safe_new(v, "_copy")
        for v in shared:
            stand_in = v.type()
            stand_in.name = f"{v.name}_copy" if v.name else None
            copy_test_value(v, stand_in)
            replace[v] = stand_in
        if strict:
            allowed = {*own, *replace.values(), *self.non_sequences, *updates}
            allowed |= {v for v in found if not isinstance(v, SharedVariable)}
            check_no_missing_inputs(clone(expressions, replace={v: replace[v] for v in cut}), allowed, strict)

        inner = iter(clone(expressions, replace=replace))
        results = [next(inner) for _ in outputs]
        self.condition = next(inner) if stop is not None else None
        for v in updates:
            new_value = next(inner)
            (self.tensor_shared if isinstance(v.type, TensorType) else self.other_shared).append((v, replace[v], new_value))
        for i, (info, result) in enumerate(zip(infos, results, strict=True)):
            if info.kind == "nit_sot":
                if not isinstance(result.type, TensorType):
                    raise ValueError(f"Output {i} of scan is of {result.type}; only tensors can be stacked.")
                self.nit_sots[i] = result
            else:
                self.states[i].result = _relaxed(result, self.states[i].inner[0])
        self.others = [(v, stand_in) for v, stand_in in replace.items() if v not in updates]

    def _all_updates(self, targets: Sequence[Any], given: OrderedUpdates, own: Sequence[Any]) -> OrderedUpdates:
        """The given updates and the default updates of all shared variables that the step uses."""
        updates = OrderedUpdates()
        for v, expression in given.items():
            updates[v] = self._typed_update(v, expression)
        blockers = [v for v in self.non_sequences if not isinstance(v, SharedVariable)] + list(own)
        pending = [*targets, *updates.values()]
        seen: set[Any] = set()
        while pending:
            leaves = traverse.inputs(pending, blockers=blockers)
            pending = []
            for v in leaves:
                if v in seen or not isinstance(v, SharedVariable):
                    continue
                seen.add(v)
                default = getattr(v, "default_update", None)
                if v not in updates and default is not None:
                    inner = getattr(default.tag, "single_step_of", None)
                    if inner is not None:
                        warn_user(
                            f"A step of the loop {self.name or 'scan_fn'!r} uses the loop {inner!r}, but does not return the "
                            f"updates that scan returned with it: a step leaves {v.name or v.type} where one step of the inner "
                            "loop does, and random numbers of two steps are nearly the same. Return them with the results."
                        )
                    updates[v] = self._typed_update(v, default)
                    pending.append(updates[v])
        # A default update that the step function set is that of one step. A function that uses the loop takes the update
        # of the whole loop, or, when it is not given that, the one step: unless that depends on the step's variables.
        made_by_step, self.made_by_step = set(self.made_by_step), []
        of_step = set(own)
        for v in updates:
            default = getattr(v, "default_update", None)
            if default is not None and default in made_by_step:
                if of_step.isdisjoint(traverse.inputs([default])):
                    self.single_steps.append(default)
                else:
                    v.default_update = None
                    v.tag.unmoved_by = self.name or "scan_fn"
        return updates

    @staticmethod
    def _typed_update(target: Any, expression: Any) -> Any:
        from theano.compile.rebuild import _check_update

        return _check_update(target, expression)

    def _by_kind(self) -> tuple[list[tuple[int, _State]], list[tuple[int, _State]]]:
        kinds = [info.kind for info in self.output_infos]
        mit_sot = [(i, state) for i, state in self.states.items() if kinds[i] == "mit_sot"]
        sit_sot = [(i, state) for i, state in self.states.items() if kinds[i] == "sit_sot"]
        return mit_sot, sit_sot

    def apply(self, info: dict[str, Any]) -> list[Any]:
        """Apply the Scan; return its outputs in the user's order and set the updates."""
        for default in self.single_steps:
            default.tag.single_step_of = self.name
        mit_sot, sit_sot = self._by_kind()
        shared_states = []
        for v, stand_in, new_value in self.tensor_shared:
            state = self._single_state(v)
            state.inner = [stand_in]
            state.result = patternbroadcast(new_value, v.type.broadcastable)
            shared_states.append(state)
        states = [state for _, state in mit_sot] + [state for _, state in sit_sot] + shared_states
        inner_inputs = [element for _, element in self.seqs]
        inner_inputs += [v for state in states for v in state.inner]
        inner_inputs += [stand_in for _, stand_in, _ in self.other_shared]
        inner_inputs += [stand_in for _, stand_in in self.others]
        inner_outputs = [state.result for state in states] + list(self.nit_sots.values())
        inner_outputs += [new_value for _, _, new_value in self.other_shared]
        if self.condition is not None:
            inner_outputs.append(self.condition)
        info = {
            **info,
            "n_seqs": len(self.seqs),
            "n_mit_mot": 0,
            "n_mit_mot_outs": 0,
            "mit_mot_out_slices": [],
            "n_mit_sot": len(mit_sot),
            "n_sit_sot": len(sit_sot) + len(shared_states),
            "n_nit_sot": len(self.nit_sots),
            "n_shared_outs": len(self.other_shared),
            "tap_array": [list(state.taps) for state in states],
        }
        op = Scan(inner_inputs, inner_outputs, info)
        outer_inputs = [self.n_steps, *(rows for rows, _ in self.seqs)]
        outer_inputs += [
            expand_empty(state.buffer, self.n_steps, -min(state.taps) if len(state.taps) > 1 else None) for state in states
        ]
        outer_inputs += [v for v, _, _ in self.other_shared]
        outer_inputs += [self.n_steps] * len(self.nit_sots)
        outer_inputs += [v for v, _ in self.others]
        outs = op(*outer_inputs, return_list=True)

        results: dict[int, Any] = {}
        for (i, state), out in zip(mit_sot + sit_sot, outs):
            results[i] = out[-min(state.taps) :]
        first = len(mit_sot) + len(sit_sot)
        for (v, _, _), out in zip(self.tensor_shared, outs[first:]):
            self.updates[v] = out[-1]
        first += len(shared_states)
        for i, out in zip(self.nit_sots, outs[first:]):
            results[i] = out
        first += len(self.nit_sots)
        for (v, _, _), out in zip(self.other_shared, outs[first:]):
            self.updates[v] = out
        return [results[i] for i in range(len(self.output_infos))]

    def unrolled(self) -> list[Any]:
        """The outputs of a loop of one step, without a Scan."""
        replace: dict[Any, Any] = {}
        for rows, element in self.seqs:
            replace[element] = _as_type(rows[0], element)
        for state in self.states.values():
            for v, initial in zip(state.inner, state.initial, strict=True):
                # Nothing is fed back, so that the result may be of any type.
                replace[v] = _as_type(initial, v)
        shared = self.tensor_shared + self.other_shared
        for v, stand_in, _ in shared:
            replace[stand_in] = v
        for v, stand_in in self.others:
            replace[stand_in] = v
        results = [self.states[i].result if i in self.states else self.nit_sots[i] for i in range(len(self.output_infos))]
        values = iter(clone([*results, *(new_value for _, _, new_value in shared)], replace=replace))
        outputs = [unbroadcast(shape_padleft(next(values)), 0) for _ in results]
        for v, _, _ in shared:
            self.updates[v] = next(values)
        return outputs


def _element(rows: Any, position: int) -> Any:
    """A new variable for an element of `rows`, with the test value of the element at `position`."""
    element = TensorType(rows.dtype, rows.broadcastable[1:])()
    if config.compute_test_value != "off":
        copy_test_value(rows[position], element)
    return element


def _as_type(value: Any, like: Any) -> Any:
    return patternbroadcast(value, like.type.broadcastable)


def _tap_name(variable: Any, tap: int) -> str | None:
    if getattr(variable, "name", None) is None:
        return None
    if tap == 0:
        return f"{variable.name}[t]"
    return f"{variable.name}[t{tap:+d}]"


def _relaxed(result: Any, like: Any) -> Any:
    """`result` without the broadcastable dimensions that `like` has not."""
    if not isinstance(result.type, TensorType) or result.type.ndim != like.type.ndim:
        return result
    axes = [i for i, (b, wanted) in enumerate(zip(result.type.broadcastable, like.type.broadcastable)) if b and not wanted]
    return unbroadcast(result, *axes) if axes else result
