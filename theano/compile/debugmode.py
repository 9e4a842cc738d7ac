"""A mode that checks everything: :class:`DebugMode`."""

from __future__ import annotations

import copy
import itertools
import logging
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from theano import gof
from theano.compile.aliasing import insert_deepcopy
from theano.compile.debug_errors import (  # noqa: F401
    BadDestroyMap,
    BadOptimization,
    BadThunkOutput,
    BadViewMap,
    DebugModeError,
    InvalidValueError,
    StochasticOrder,
    char_from_number,
    str_diagnostic,
)
from theano.compile.debug_tracker import EquivalenceTracker
from theano.compile.function_module import FunctionMaker, std_fgraph
from theano.compile.mode import Mode
from theano.compile.nanguardmode import is_uninitialized, may_be_unset
from theano.configparser import change_flags, config
from theano.gof import engine
from theano.gof.copying import OutputGuard
from theano.gof.link import LocalLinker, map_storage, raise_with_op, storage_containers
from theano.gof.utils import MethodNotDefined

_logger = logging.getLogger("theano.compile.debugmode")

_PREALLOCATED_KINDS = ("initial", "previous", "c_contiguous", "f_contiguous", "strided", "wrong_size")


class NoDuplicateOptWarningFilter(logging.Filter):
    """Lets each message that begins with ``Optimization Warning:`` pass once.

    Examples
    --------
    >>> once = NoDuplicateOptWarningFilter()
    >>> record = logging.makeLogRecord({"msg": "Optimization Warning: the filter is flipped"})
    >>> once.filter(record), once.filter(record)
    (True, False)
    """

    prev_msgs: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a message is to be shown."""
        message = record.getMessage()
        if not message.startswith("Optimization Warning: "):
            return True
        known = message in self.prev_msgs
        self.prev_msgs.add(message)
        return not known


_logger.addFilter(NoDuplicateOptWarningFilter())


#: What Ops that make no thunk of their own have as `make_thunk`.
default_make_thunk = [gof.Op.make_thunk]


class DataDestroyed:
    """What stands in the place of a value that an operation has overwritten, once it has run.

    Examples
    --------
    >>> cells = {"x": [3.0]}
    >>> cells["x"][0] = data_destroyed  # After an Op has worked in place on it.
    >>> isinstance(cells["x"][0], DataDestroyed)
    True
    """


data_destroyed = DataDestroyed()


def check_eq(var: Any, val1: Any, val2: Any) -> bool:
    """Return whether two values of a variable are equal but for rounding, as its tag or its Type say.

    Parameters
    ----------
    var : Variable
        What the values are of.
    val1, val2 : object
        The values.

    Examples
    --------
    >>> import numpy as np
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> check_eq(x, np.asarray(0.3), np.asarray(0.1 + 0.2)), check_eq(x, np.asarray(0.3), np.asarray(0.4))
    (True, False)
    """
    compare = getattr(var.tag, "values_eq_approx", None) or var.type.values_eq_approx
    return bool(compare(val1, val2))


def _is_finite(value: Any, infinity_allowed: bool = False) -> bool:
    if hasattr(value, "tocsr") and hasattr(value, "data"):
        value = value.data
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "fc":
        return not np.isnan(value).any() if infinity_allowed else bool(np.isfinite(value).all())
    return True


def _may_share_memory(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return bool(a.size and b.size and np.may_share_memory(a, b))
    parts = [
        [x] if isinstance(x, np.ndarray) else list(x) if isinstance(x, list) else
        [getattr(x, name) for name in ("data", "indices", "indptr") if isinstance(getattr(x, name, None), np.ndarray)]
        for x in (a, b)
    ]  # fmt: skip
    if isinstance(a, list) and a is b:
        return True
    return any(
        isinstance(p, np.ndarray) and isinstance(q, np.ndarray) and _may_share_memory(p, q)
        for p, q in itertools.product(*parts)
    )


def _variables_share_memory(a: Any, x: Any, b: Any, y: Any) -> bool:
    """Return whether the values `x` and `y` of two variables may share memory, by what their Types say of it."""
    if isinstance(x, np.ndarray) and isinstance(y, np.ndarray):
        return _may_share_memory(x, y)
    for variable in (a, b):
        shares = getattr(variable.type, "may_share_memory", None)
        if shares is not None:
            return bool(shares(x, y) if variable is a else shares(y, x))
    return _may_share_memory(x, y)


def _copy_of(value: Any) -> Any:
    """Return an independent copy with the same strides; unlike deepcopy it keeps 0-d arrays arrays."""
    if not isinstance(value, np.ndarray):
        return copy.deepcopy(value)
    if value.flags.forc or type(value) is not np.ndarray or value.dtype.hasobject:
        return value.copy(order="K")
    # Gaps and negative strides matter to the code that is tested; NumPy's copies have none.
    low = sum(min(0, s * (n - 1)) for s, n in zip(value.strides, value.shape))
    high = sum(max(0, s * (n - 1)) for s, n in zip(value.strides, value.shape))
    # Code that ignores strides reads and writes beside the elements, at most as far as they reach.
    margin = high - low + value.itemsize
    room = np.empty(3 * margin, "uint8")
    result = np.ndarray(value.shape, value.dtype, room, margin - low, value.strides)
    result[...] = value
    return result


def _buffer(shape: Any, dtype: Any, beside: int) -> np.ndarray:
    """Return a C-contiguous array of -1 with `beside` elements of free memory before and after it.

    Wrong code that is offered the array for its output may write there; that must be found, not crash the process.
    """
    size = int(np.prod(shape))
    room = np.empty(size + 2 * beside, dtype)
    buffer = room[beside : beside + size].reshape(shape)
    buffer[...] = np.asarray(-1).astype(dtype)
    return buffer


class _Evaluation:
    """One run of a function: every variable that was ever in its graph gets a value, and all are compared."""

    def __init__(self, linker: DebugLinker, storage_map: dict[Any, list[Any]], order: list[Any]):
        self.mode = linker.mode
        self.linker = linker
        self.storage_map = storage_map
        self.order = order
        self.values: dict[Any, Any] = {}

    def run(self) -> None:
        storage_map, values = self.storage_map, self.values
        leaves = [v for v in storage_map if v.owner is None]
        for variable in leaves:
            value = storage_map[variable][0]
            if value is not None or not hasattr(variable.type, "dtype"):
                self._check_type(variable, value, None, "Graph input")
            values[variable] = value
        try:
            for node, py_thunk, c_thunk in self.order:
                self._run_node(node, py_thunk, c_thunk)
            self._compare_replaced()
        finally:
            for variable in leaves:
                storage_map[variable][0] = values[variable]
        for variable in self.linker.fgraph.outputs:
            storage_map[variable][0] = values[variable]

    def _check_type(self, variable: Any, value: Any, node: Any, hint: str) -> None:
        if not variable.type.is_valid_value(value):
            raise InvalidValueError(
                variable,
                value,
                client_node=node,
                hint=hint,
                specific_hint=str(variable.type.value_validity_msg(value)),
            )

    def _load_inputs(self, node: Any) -> list[Any]:
        values = []
        for variable in dict.fromkeys(node.inputs):
            self.storage_map[variable][0] = _copy_of(self.values[variable])
        for variable in node.inputs:
            values.append(self.storage_map[variable][0])
        return values

    def _run_node(self, node: Any, py_thunk: Any, c_thunk: Any) -> None:
        done = False
        for name, thunk in (("perform", py_thunk), ("c_code", c_thunk)):
            if thunk is None:
                continue
            inputs = self._load_inputs(node)
            for variable in node.outputs:
                self.storage_map[variable][0] = None
            try:
                thunk()
            except (NotImplementedError, MethodNotDefined) as error:
                if name == "perform" and c_thunk is not None:
                    continue
                raise_with_op(node, thunk, storage_map=self.storage_map)
                raise error
            except Exception:
                raise_with_op(node, thunk, storage_map=self.storage_map)
            self._check_outputs(node, name)
            self._check_inputs(node, inputs, name)
            self._check_views(node)
            if not done:
                for variable in node.outputs:
                    self.values[variable] = _copy_of(self.storage_map[variable][0])
            else:
                self._compare_outputs(node, "perform", "c_code")
            done = True
            self._try_preallocated(node, thunk, name)
            if name == "c_code" and isinstance(node.op, gof.Op) and node.op._has_c_code(node):
                self._check_references(node, thunk)
        for variable in (*node.inputs, *node.outputs):
            self.storage_map[variable][0] = None
        for indices in getattr(node.op, "destroy_map", {}).values():
            for i in indices:
                self.storage_map[node.inputs[i]][0] = data_destroyed

    def _check_outputs(self, node: Any, name: str) -> None:
        look = self.mode.check_isfinite and not may_be_unset(node)
        infinity_allowed = getattr(node.op, "infinite_on_purpose", False)
        for variable in node.outputs:
            value = self.storage_map[variable][0]
            self._check_type(variable, value, node, f"{name} output")
            if look and not _is_finite(value, infinity_allowed):
                raise InvalidValueError(
                    variable, value, client_node=node, hint=f"{name} output", specific_hint="non-finite elements"
                )

    def _check_inputs(self, node: Any, inputs: list[Any], name: str) -> None:
        destroyed = {i for indices in getattr(node.op, "destroy_map", {}).values() for i in indices}
        for index, (variable, value) in enumerate(zip(node.inputs, inputs)):
            if index in destroyed or any(node.inputs[i] is variable for i in destroyed):
                continue
            before = self.values[variable]
            if not _same_value(variable, before, value):
                raise BadDestroyMap(node, index, before, value, name)
        # Compiled code keeps small values in places of its own.
        if config.DebugMode.warn_input_not_reused and name == "perform":
            self._warn_not_reused(node, inputs)

    def _warn_not_reused(self, node: Any, inputs: list[Any]) -> None:
        for kind in ("destroy_map", "view_map"):
            for out, sources in getattr(node.op, kind, {}).items():
                value = self.storage_map[node.outputs[out]][0]
                if len(sources) != 1 or not isinstance(value, np.ndarray) or value.size == 0 or value.ndim == 0:
                    continue
                source = inputs[sources[0]]
                if isinstance(source, np.ndarray) and not _may_share_memory(value, source):
                    if kind == "view_map" and isinstance(node.op, OutputGuard):
                        continue
                    _logger.warning(
                        "Optimization Warning: Op %s claims in its %s to work inplace on input %d, but output %d "
                        "did not reuse its memory",
                        node, kind, sources[0], out,
                    )  # fmt: skip

    def _check_views(self, node: Any) -> None:
        storage_map = self.storage_map
        view_map = getattr(node.op, "view_map", {})
        destroy_map = getattr(node.op, "destroy_map", {})
        for oi, output in enumerate(node.outputs):
            value = storage_map[output][0]
            declared = {*view_map.get(oi, ()), *destroy_map.get(oi, ())}
            declared_variables = [node.inputs[i] for i in declared]
            undeclared = [
                ii
                for ii, source in enumerate(node.inputs)
                if _variables_share_memory(output, value, source, storage_map[source][0])
                and not any(source is other for other in declared_variables)
            ]
            if undeclared:
                raise BadViewMap(node, oi, value, undeclared)
            if not getattr(output, "clients", None):
                continue
            for oj, other in enumerate(node.outputs):
                if oj == oi or not getattr(other, "clients", None):
                    continue
                if not _variables_share_memory(output, value, other, storage_map[other][0]):
                    continue
                common = declared & {*view_map.get(oj, ()), *destroy_map.get(oj, ())}
                if not common:
                    raise BadViewMap(node, oi, value, out_alias_idx=[oj])

    def _compare_outputs(self, node: Any, first: str, second: str) -> None:
        if is_uninitialized(node):
            return
        for variable in node.outputs:
            expected, value = self.values[variable], self.storage_map[variable][0]
            if not check_eq(variable, expected, value):
                inputs = [self.values[v] for v in node.inputs]
                raise BadThunkOutput(variable, first, expected, second, value, inputs_val=inputs)
            self._check_strides(node, variable, expected, value)

    def _check_strides(self, node: Any, variable: Any, expected: Any, value: Any) -> None:
        if not self.mode.require_matching_strides or not isinstance(expected, np.ndarray):
            return
        strides = [
            [s for s, n in zip(getattr(v, "strides", ()), getattr(v, "shape", ())) if n > 1] for v in (expected, value)
        ]
        if strides[0] != strides[1] and "c_code" in self.linker.compared:
            message = f"Strides of the outputs of perform and c_code differ for {variable}: {strides} ({node})"
            if self.mode.require_matching_strides == 2:
                raise DebugModeError(message)
            _logger.debug(message)

    def _check_references(self, node: Any, thunk: Any) -> None:
        """Run a user's C code again to see whether it gives back the references that it takes."""
        inputs = self._load_inputs(node)
        counts = []
        for _ in range(3):
            for variable in node.outputs:
                self.storage_map[variable][0] = None
            thunk()
            results = [self.storage_map[variable][0] for variable in node.outputs]
            for variable in node.outputs:
                self.storage_map[variable][0] = None
            # Its own references are those of `results` and of the argument of `getrefcount`.
            held = [
                0 if any(results[k] is value for value in inputs) else sys.getrefcount(results[k]) - 2
                for k in range(len(results))
            ]
            del results
            counts.append(([sys.getrefcount(inputs[k]) for k in range(len(inputs))], held))
        # The code may keep something for the next run; only what grows with each run is lost.
        (first, _), (second, held), (third, held_again) = counts
        for k, variable in enumerate(node.inputs):
            if first[k] < second[k] < third[k]:
                raise DebugModeError(
                    f"The C code of {node.op} leaks references: each run takes {third[k] - second[k]} of input {k} "
                    f"({variable}) and does not give it back.\n  Apply   : {node}"
                )
        for k, variable in enumerate(node.outputs):
            if held[k] > 0 and held_again[k] > 0 and isinstance(self.values[variable], np.ndarray):
                raise DebugModeError(
                    f"The C code of {node.op} leaks references: {held_again[k]} to output {k} ({variable}) remain, so "
                    f"that its memory is never freed.\n  Apply   : {node}"
                )
        self._check_old_outputs(node, thunk)

    def _check_old_outputs(self, node: Any, thunk: Any) -> None:
        """Run a user's C code with outputs of an earlier run to see whether it uses them or gives them back."""
        outputs = [v for v in node.outputs if isinstance(self.values[v], np.ndarray)]
        given: list[list[Any]] = []
        for _ in range(2):
            self._load_inputs(node)
            given.append([_copy_of(self.values[v]) for v in outputs])
            for variable, value in zip(outputs, given[-1]):
                self.storage_map[variable][0] = value
            thunk()
            for variable in (*node.inputs, *node.outputs):
                self.storage_map[variable][0] = None
        # The code may keep what it was given last. Further references are those of the list and of `getrefcount`.
        for k, variable in enumerate(outputs):
            if sys.getrefcount(given[0][k]) > 2:
                raise DebugModeError(
                    f"The C code of {node.op} leaks references: it neither uses the memory of output {k} ({variable}) of an "
                    f"earlier run nor gives it back.\n  Apply   : {node}"
                )

    def _try_preallocated(self, node: Any, thunk: Any, name: str) -> None:
        flag = self.mode.check_preallocated_output
        wanted = (config.DebugMode.check_preallocated_output if flag is None else flag).split(":")
        kinds = [kind for kind in _PREALLOCATED_KINDS if kind in wanted or "ALL" in wanted]
        if not kinds or is_uninitialized(node):
            return
        in_place = {*getattr(node.op, "view_map", {}), *getattr(node.op, "destroy_map", {})}
        outputs = [v for i, v in enumerate(node.outputs) if i not in in_place and hasattr(v.type, "broadcastable")]
        if not outputs:
            return
        for kind, buffers in self._buffers(kinds, outputs):
            self._load_inputs(node)
            for variable in node.outputs:
                self.storage_map[variable][0] = buffers.get(variable)
            try:
                thunk()
            except Exception:
                raise_with_op(node, thunk, storage_map=self.storage_map)
            self._check_outputs(node, f"{name} with preallocated output ({kind})")
            self._compare_outputs(node, "Reference value", f"{name} with preallocated output ({kind})")

    def _buffers(self, kinds: list[str], outputs: list[Any]) -> Iterator[tuple[str, dict[Any, Any]]]:
        """Yield memory of all kinds that an Op may find in its output storage."""
        reference = {v: np.asarray(self.values[v]) for v in outputs if isinstance(self.values[v], np.ndarray)}
        if not reference:
            return

        for kind in kinds:
            if kind in ("initial", "previous"):
                yield kind, {v: value.copy() for v, value in reference.items()}
            elif kind == "c_contiguous":
                yield kind, {v: _buffer(r.shape, r.dtype, r.size) for v, r in reference.items()}
            elif kind == "f_contiguous":
                yield kind, {v: _buffer(r.shape[::-1], r.dtype, r.size).T for v, r in reference.items()}
            elif kind == "strided":
                yield from self._strided_buffers(reference)
            else:
                yield from self._wrong_size_buffers(reference)

    def _strided_buffers(self, reference: dict[Any, np.ndarray]) -> Iterator[tuple[str, dict[Any, Any]]]:
        max_ndim = max(value.ndim for value in reference.values())
        checked = min(max_ndim, config.DebugMode.check_preallocated_output_ndim)
        if not checked:
            return
        for steps in itertools.product((1, -1, 2), repeat=checked):
            if all(step == 1 for step in steps):
                continue
            buffers = {}
            for variable, value in reference.items():
                own = (1,) * max(value.ndim - checked, 0) + steps[checked - min(value.ndim, checked) :]
                own = own[: value.ndim]
                big: Any = _buffer([n * abs(s) for n, s in zip(value.shape, own)], value.dtype, value.size)
                # The ellipsis keeps a 0-d array an array.
                buffers[variable] = big[(..., *(slice(None, None, s) for s in own))]
            yield f"strided{steps}", buffers

    def _wrong_size_buffers(self, reference: dict[Any, np.ndarray]) -> Iterator[tuple[str, dict[Any, Any]]]:
        for name, change in (("smaller", -1), ("bigger", 1)):
            max_ndim = max(value.ndim for value in reference.values())
            for dim in range(max_ndim):
                buffers = {}
                for variable, value in reference.items():
                    broadcastable = variable.type.broadcastable
                    shape = [
                        max(n + change, 0) if i == dim and not broadcastable[i] else n
                        for i, n in enumerate(value.shape)
                    ]
                    buffers[variable] = _buffer(shape, value.dtype, value.size)
                yield f"wrong_size {name} {dim}", buffers

    def _compare_replaced(self) -> None:
        tracker = self.linker.tracker
        for node, _, _ in self.order:
            for new in node.outputs:
                for reason, old, old_graph, new_graph in tracker.reasons.get(new, ()):
                    if old not in self.values or any(n is not None and is_uninitialized(n) for n in (old.owner, node)):
                        continue
                    problem = None
                    if old.type != new.type:
                        problem = "types differ"
                    elif not check_eq(new, self.values[new], self.values[old]):
                        problem = "values differ"
                    if problem:
                        raise BadOptimization(
                            old, new, self.values[old], self.values[new], reason, old_graph, new_graph
                        )


def _same_value(variable: Any, before: Any, after: Any) -> bool:
    if isinstance(before, np.ndarray) and isinstance(after, np.ndarray):
        if before.dtype != after.dtype or before.shape != after.shape:
            return False
        return np.array_equal(before, after, equal_nan=before.dtype.kind in "fc")
    if before is after:
        return True
    try:
        return bool(variable.type.values_eq(before, after))
    except Exception:
        # A value that cannot be compared cannot be found to have changed.
        return True


class DebugLinker(LocalLinker):
    """Evaluates every variable that was ever in the graph of a function, in Python and in C, and checks all.

    Parameters
    ----------
    mode : DebugMode
        The mode, with its options.

    Examples
    --------
    >>> import theano
    >>> from theano.scalar import float64
    >>> x, y = float64("x"), float64("y")
    >>> linker = DebugLinker(DebugMode(check_c_code=False))
    >>> f = linker.accept(theano.gof.FunctionGraph([x, y], [x + y])).make_function()
    >>> float(f(2.0, 3.0))
    5.0
    """

    def __init__(self, mode: DebugMode):
        super().__init__(allow_gc=False)
        self.mode = mode
        self.compared = ("perform", "c_code")

    def clone(self, allow_gc: Any = None) -> DebugLinker:
        """Return a linker of the same mode, without graph."""
        return type(self)(self.mode)

    def make_all(
        self, profiler: Any = None, input_storage: Any = None, output_storage: Any = None, storage_map: Any = None
    ) -> Any:
        fgraph = self.fgraph
        tracker = getattr(fgraph, "equivalence_tracker", None)
        if tracker is None:
            tracker = EquivalenceTracker()
            fgraph.attach_feature(tracker)
        self.tracker = tracker
        wanted = [*fgraph.outputs, *tracker.all_variables_ever]
        order = gof.graph.io_toposort(fgraph.inputs, wanted)
        input_storage, output_storage, storage_map = map_storage(
            fgraph, order, input_storage, output_storage, storage_map
        )
        thunks = [self._thunks(node, storage_map) for node in order]
        evaluation_order = list(zip(order, *zip(*thunks))) if thunks else []

        def run() -> None:
            _Evaluation(self, storage_map, evaluation_order).run()

        run.storage_map = storage_map  # type: ignore[attr-defined]
        run.allow_gc = False  # type: ignore[attr-defined]
        return (
            run,
            *storage_containers(fgraph.inputs, fgraph.outputs, input_storage, output_storage),
            [thunk for pair in thunks for thunk in pair if thunk is not None],
            order,
        )

    def _thunks(self, node: Any, storage_map: dict[Any, list[Any]]) -> tuple[Any, Any]:
        """Return what computes a node in Python and in C, None for what there is not or is not wanted."""
        compute_map = {v: [True] for v in (*node.inputs, *node.outputs)}
        mode, op = self.mode, node.op
        c_thunk = py_thunk = None
        debug = hasattr(op, "debug_perform")
        if mode.check_c_code and config.cxx and not debug:
            c_thunk = _compiled_thunk(node, storage_map, compute_map)
        if mode.check_py_code or c_thunk is None or debug:
            py_thunk = _python_thunk(node, storage_map, compute_map, debug)
            if py_thunk is None and c_thunk is None:
                c_thunk = node.op.make_thunk(node, storage_map, compute_map, [])
        for thunk in (c_thunk, py_thunk):
            if thunk is not None:
                thunk.inputs = [storage_map[v] for v in node.inputs]
                thunk.outputs = [storage_map[v] for v in node.outputs]
        return py_thunk, c_thunk


def _compiled_thunk(node: Any, storage_map: Any, compute_map: Any) -> Any:
    destroyed = {i for indices in getattr(node.op, "destroy_map", {}).values() for i in indices}
    if any(isinstance(node.inputs[i], gof.Constant) for i in destroyed):
        # Such a node was refused, but it is evaluated here; a program holds the constant itself, not a copy.
        return None
    if engine.current.has_form(node.op):
        return engine.current.node_thunk(node, storage_map, compute_map)
    if not isinstance(node.op, gof.Op) or not node.op._has_c_code(node):
        return None
    try:
        node.op.prepare_node(node, storage_map=storage_map, compute_map=compute_map, impl="c")
        return node.op.make_c_thunk(node, storage_map, compute_map, no_recycling=[])
    except (NotImplementedError, MethodNotDefined):
        return None


def _python_thunk(node: Any, storage_map: Any, compute_map: Any, debug: bool) -> Any:
    from theano.gof.op import PureOp

    op = node.op
    custom = type(op).make_thunk is not gof.Op.make_thunk
    perform = getattr(op.perform, "__func__", op.perform)
    if not custom and not debug and perform is PureOp.perform:
        return None
    if isinstance(op, gof.Op):
        op.prepare_node(node, storage_map=storage_map, compute_map=compute_map, impl="py")
    if custom:
        thunk = op.make_thunk(node, storage_map, compute_map, [], impl="py")
        return _forced(thunk) if getattr(thunk, "lazy", False) else thunk
    return op.make_py_thunk(node, storage_map, compute_map, no_recycling=[], debug=debug)


def _forced(thunk: Any) -> Any:
    """Return a thunk that runs a lazy one to the end; all inputs are there."""

    def run() -> None:
        while thunk():
            pass

    return run


class DebugFunctionMaker(FunctionMaker):
    """Optimizes a graph several times, to see whether the same happens each time.

    Examples
    --------
    >>> import theano
    >>> x = theano.tensor.dvector("x")
    >>> f = theano.function([x], x * 2, mode=DebugMode(check_c_code=False, stability_patience=2))
    >>> isinstance(f.maker, DebugFunctionMaker), hasattr(f.maker.fgraph, "equivalence_tracker")
    (True, True)
    """

    def _prepare(self, inputs: Any, outputs: Any, accept_inplace: bool) -> Any:
        first = None
        mode = self.mode
        for attempt in range(max(1, mode.stability_patience)):
            fgraph, additional = std_fgraph(inputs, outputs, accept_inplace)
            tracker = EquivalenceTracker()
            fgraph.attach_feature(tracker)
            fgraph.equivalence_tracker = tracker
            fgraph.name = self.name
            flags = {
                "compute_test_value": config.compute_test_value_opt,
                "traceback.limit": config.traceback.compile_limit,
            }
            with change_flags(**flags):
                mode.optimizer(fgraph)
                insert_deepcopy(fgraph, inputs, [*outputs, *additional])
            if first is None:
                first = fgraph, additional
            else:
                _compare_events(first[0].equivalence_tracker, tracker, attempt)
        return first


def _compare_events(first: EquivalenceTracker, other: EquivalenceTracker, attempt: int) -> None:
    a, b = first.event_list, other.event_list
    if a == b:
        return
    print("WARNING: Optimization process is unstable...", file=sys.stderr)
    lines = [f"The optimization did something else when it was repeated (attempt {attempt + 1})."]
    for index, (x, y) in enumerate(itertools.zip_longest(a, b)):
        if x is None or y is None or x != y:
            lines.append(f"The first difference is event {index}:")
            lines.append(f"  first   : {x}")
            lines.append(f"  repeated: {y}")
            break
    raise StochasticOrder("\n".join(lines))


class DebugMode(Mode):
    """Run like 'FAST_RUN', slowly, and check everything about Ops and optimizations.

    Parameters
    ----------
    optimizer : Optimizer, Query or str
        As for :class:`Mode`.
    stability_patience : int, optional
        How often the optimization is repeated, to see whether it always does
        the same.
    check_c_code, check_py_code : bool, optional
        Whether to run compiled code and ``perform``; if both run, the results
        are compared.
    check_isfinite : bool, optional
        Whether NaN and infinity are errors.
    require_matching_strides : {0, 1, 2}, optional
        Whether different strides of the results of both ways are ignored,
        noted, or an error.
    linker : None
        Ignored; the mode has its own linker.
    check_preallocated_output : str, optional
        Kinds of memory to offer for outputs, see
        ``config.DebugMode.check_preallocated_output``.

    Raises
    ------
    BadThunkOutput, BadOptimization, BadDestroyMap, BadViewMap, InvalidValueError
        When a function of this mode is called.
    StochasticOrder
        When it is compiled.

    See Also
    --------
    theano.compile.NanGuardMode : Raise AssertionError as soon as a node or an input yields an abnormal value.
    theano.compile.MonitorMode : Run one node after the other, with functions of yours around each.
    theano.compile.debugmode.BadOptimization : An optimization replaced a variable by one that has another value.

    Examples
    --------
    >>> import theano
    >>> x = theano.tensor.dvector("x")
    >>> mode = DebugMode(check_c_code=False, stability_patience=1)
    >>> f = theano.function([x], theano.tensor.log(x), mode=mode)
    >>> f([1.0])
    array([0.])
    >>> f([-1.0])
    Traceback (most recent call last):
        ...
    theano.compile.debug_errors.InvalidValueError: InvalidValueError...
    """

    stability_patience = config.DebugMode.patience
    check_c_code = config.DebugMode.check_c
    check_py_code = config.DebugMode.check_py
    check_isfinite = config.DebugMode.check_finite
    require_matching_strides = config.DebugMode.check_strides
    check_preallocated_output: str | None = None

    def __init__(
        self,
        optimizer: Any = "fast_run",
        stability_patience: int | None = None,
        check_c_code: bool | None = None,
        check_py_code: bool | None = None,
        check_isfinite: bool | None = None,
        require_matching_strides: int | None = None,
        linker: Any = None,
        check_preallocated_output: str | None = None,
    ):
        self._options: dict[str, Any] = {
            "stability_patience": stability_patience,
            "check_c_code": check_c_code,
            "check_py_code": check_py_code,
            "check_isfinite": check_isfinite,
            "check_preallocated_output": check_preallocated_output,
            "require_matching_strides": require_matching_strides,
        }
        super().__init__(optimizer=optimizer, linker=DebugLinker(self))
        for name, value in self._options.items():
            if value is not None:
                setattr(self, name, value)
        if not (self.check_c_code or self.check_py_code):
            raise ValueError("DebugMode has to check at least one of c and py code")

    def function_maker(
        self, i: Any, o: Any, m: Any, *args: Any, **kwargs: Any
    ) -> DebugFunctionMaker:
        """Make the maker of functions of this mode."""
        return DebugFunctionMaker(i, o, self, *args, **kwargs)

    def __getstate__(self) -> Any:
        return dict(self._options, optimizer=self.provided_optimizer)

    def __str__(self) -> str:
        return f"DebugMode(linker={self.provided_linker}, optimizer={self.provided_optimizer})"

    def clone(self, link_kwargs: dict[str, Any] | None = None, optimizer: Any = "", **kwargs: Any) -> DebugMode:
        """Return a mode with the same options and another optimizer."""
        if isinstance(optimizer, str) and optimizer == "":
            optimizer = self.provided_optimizer
        return type(self)(optimizer=optimizer, **self._options)
