"""Linkers: they turn a graph into something that runs, and explain what fails while it runs."""

from __future__ import annotations

import io
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from copy import copy, deepcopy
from typing import Any, NoReturn

import numpy as np

from theano.configdefaults import config
from theano.gof import utils
from theano.gof.graph import Constant, Variable
from theano.gof.type import PureType
from theano.gof.utils import MethodNotDefined


def log_thunk_trace(value: BaseException, f: Any = None) -> None:
    """Write where the node that failed with `value` was created.

    Parameters
    ----------
    value : Exception
        As `raise_with_op` leaves it.
    f : file-like, optional
        Default: the standard error stream.
    """
    f = f or sys.stderr
    trace = getattr(value, "__thunk_trace__", None)
    if trace is None:
        return
    if not trace:
        print("Could not find where this Op was defined.", file=f)
        return
    print("", file=f)
    print("Definition in: ", file=f)
    for stack in trace if isinstance(trace[0], list) else [trace]:
        for line in traceback.format_list(stack):
            f.write(line)
    print(
        "For the full definition stack trace set the Theano flags traceback.limit to -1",
        file=f,
    )


def thunk_hook(exc_type: type, value: BaseException, trace: Any) -> None:
    """An exception hook (for ``sys.excepthook``) that also tells where the failing node was created."""
    log_thunk_trace(value)
    sys.__excepthook__(exc_type, value, trace)


class _QuotedText(str):
    # KeyError shows the repr of its argument; the details must stay readable there.
    def __repr__(self) -> str:
        return str(self)


_SMALL = 5
_HINT_TRACE = (
    "HINT: Re-running with most Theano optimization disabled could give you a back-traces when this node was created. "
    "This can be done with by setting the Theano flags 'optimizer=fast_compile'. If that does not work, Theano "
    "optimization can be disabled with 'optimizer=None'."
)
_HINT_VERBOSE = (
    "HINT: Use the Theano flag 'exception_verbosity=high' for a debugprint and storage map footprint "
    "of this apply node."
)
_HINT_LINKER = "HINT: Use another linker then the c linker to have the inputs shapes and strides printed."


def _stack_traces(node: Any) -> Any:
    for thing in (node.outputs[0] if node.outputs else None, node.op):
        trace = getattr(getattr(thing, "tag", None), "trace", None)
        if trace:
            return trace
    return ()


def _trace_text(trace: Any) -> str:
    lines: list[str] = []
    for stack in trace if isinstance(trace[0], list) else [trace]:
        lines.extend(traceback.format_list(stack))
    return "".join(lines)


def _value_text(value: Any) -> Any:
    return value if getattr(value, "size", _SMALL + 1) <= _SMALL else "not shown"


def node_description(node: Any, thunk: Any = None, storage_map: Any = None, index: int | None = None) -> str:
    """Describe an Apply node that failed, as the text that follows the message of the exception.

    Parameters
    ----------
    node : Apply
    thunk : callable, optional
        Its `inputs` hold the values that the node was run on.
    storage_map : dict, optional
        For the footprint of the storage.
    index : int, optional
        The node's place in the order of running.

    Returns
    -------
    str
        Begins with a newline.
    """
    verbose = config.exception_verbosity == "high"
    hints = []
    parts = [f"\nApply node that caused the error: {node}"]
    if index is not None:
        parts.append(f"\nToposort index: {index}")
    parts.append(f"\nInputs types: {[getattr(var, 'type', 'No type') for var in node.inputs]}\n")
    cells = getattr(thunk, "inputs", None)
    if cells is None and storage_map is not None and all(var in storage_map for var in node.inputs):
        cells = [storage_map[var] for var in node.inputs]
    if cells is not None:
        values = [cell[0] for cell in cells]
        parts.append(f"Inputs shapes: {[getattr(v, 'shape', 'No shapes') for v in values]}")
        parts.append(f"\nInputs strides: {[getattr(v, 'strides', 'No strides') for v in values]}")
        parts.append(f"\nInputs values: {[_value_text(v) for v in values]}")
        if verbose:
            numbers = [getattr(getattr(v, "dtype", ""), "num", "") for v in values]
            parts.append(f"\nInputs type_num: {numbers}")
        if hasattr(node.op, "__input_name__"):
            parts.append(f"\nInputs name: {node.op.__input_name__}\n")
        clients = [[client[0] for client in getattr(var, "clients", ())] for var in node.outputs]
        parts.append(f"\nOutputs clients: {clients}\n")
    else:
        hints.append(_HINT_LINKER)

    trace = _stack_traces(node)
    if trace:
        parts.append(
            "\nBacktrace when the node is created(use Theano flag traceback.limit=N to make it longer):\n"
            + _trace_text(trace)
        )
    else:
        hints.append(_HINT_TRACE)

    if verbose:
        from theano.printing import debugprint

        text = io.StringIO()
        debugprint(node, file=text, stop_on_name=True, print_type=True)
        parts.append(f"\nDebugprint of the apply node: \n{text.getvalue()}")
        if storage_map is not None:
            parts.append(_footprint(node, storage_map))
    else:
        hints.append(_HINT_VERBOSE)
    return "".join(parts) + "\n" + "\n".join(hints)


def _footprint(node: Any, storage_map: dict) -> str:
    """List what is in the storage map, biggest first, and how many bytes that is."""
    fgraph = getattr(node, "fgraph", None)
    inputs = set(getattr(fgraph, "inputs", ()))
    outputs = set(getattr(fgraph, "outputs", ()))
    rows: list[tuple[int, str]] = []
    total = total_inputs = 0
    for var, cell in storage_map.items():
        value = cell[0]
        if value is None:
            continue
        kind = ""
        if var in inputs:
            kind = "Input, "
            if getattr(var, "owner", None) is None and hasattr(var, "container"):
                kind = "Shared Input, "
        elif var in outputs:
            kind = "Output, "
        elif isinstance(var, Constant):
            kind = "Constant, "
        shape = getattr(value, "shape", None)
        item = getattr(getattr(value, "dtype", None), "itemsize", None)
        line = f" - {var}, {kind}"
        size = 0
        if shape is not None:
            line += f"Shape: {tuple(shape)}, "
        if item is not None and shape is not None:
            size = int(item) * int(np.prod(shape, dtype="int64"))
            line += f"ElemSize: {item} Byte(s), TotalSize: {size} Byte(s)"
            total += size
            if var in inputs:
                total_inputs += size
        rows.append((size, line))
    rows.sort(key=lambda row: -row[0])
    gib = 1024.0**3
    return (
        "\nStorage map footprint:\n"
        + "\n".join(line for _, line in rows)
        + f"\n TotalSize: {total} Byte(s) {total / gib:.3f} GB"
        + f"\n TotalSize inputs: {total_inputs} Byte(s) {total_inputs / gib:.3f} GB\n"
    )


def _add_text(exc: BaseException, text: str) -> None:
    """Append `text` to the message of `exc`, which stays the same object."""
    own_str = type(exc).__str__
    if own_str is BaseException.__str__:
        exc.args = (f"{exc}{text}",)
    elif own_str is KeyError.__str__:
        exc.args = (_QuotedText(f"{exc}{text}"),)
    elif hasattr(exc, "add_note"):
        exc.add_note(text)
    else:
        # Python 3.10 has no notes: whoever looks for the details finds them in the same place.
        exc.__notes__ = [*getattr(exc, "__notes__", ()), text]  # type: ignore[attr-defined]


def raise_with_op(node: Any, thunk: Any = None, exc_info: Any = None, storage_map: Any = None) -> NoReturn:
    """Raise again an exception that `node` raised while it ran, with a description of the node.

    Parameters
    ----------
    node : Apply
    thunk : callable, optional
        What ran; its `inputs` hold the values.
    exc_info : tuple, optional
        As ``sys.exc_info()`` returns it, which is the default.
    storage_map : dict, optional
        The values of all variables, for the footprint of the storage.

    Raises
    ------
    Exception
        The same exception object, of the same type.

    Notes
    -----
    The exception gets the attributes `__thunk_trace__` (where the node was created),
    `__op_instance__` (the node) and `__applynode_index__` (its place in the order of running).
    """
    if exc_info is None:
        exc_info = sys.exc_info()
    exc: Any = exc_info[1]
    exc_trace = exc_info[2]
    if isinstance(exc, KeyboardInterrupt):
        raise exc.with_traceback(exc_trace)
    fgraph = getattr(node, "fgraph", None)
    index = None
    if fgraph is not None:
        for i, other in enumerate(fgraph.toposort()):
            if other is node:
                index = i
                break
    try:
        exc.__thunk_trace__ = _stack_traces(node)
        exc.__op_instance__ = node
        exc.__applynode_index__ = index
    except AttributeError:
        # An exception with slots takes no attributes.
        pass
    _add_text(exc, node_description(node, thunk, storage_map, index))
    raise exc.with_traceback(exc_trace)


class Linker:
    """Base of the linkers.

    Parameters
    ----------
    allow_gc : bool, optional
        Whether intermediate values are freed as soon as they are not needed; default `config.allow_gc`.
    scheduler : callable, optional
        Gets a FunctionGraph and returns its Apply nodes in the order of running; default: ``fgraph.toposort()``.
    """

    def __init__(self, *, allow_gc: bool | None = None, scheduler: Callable | None = None):
        self._allow_gc = allow_gc
        self._scheduler = scheduler

    @property
    def allow_gc(self) -> bool:
        """Whether intermediate values are freed as soon as they are not needed."""
        return config.allow_gc if self._allow_gc is None else self._allow_gc

    @allow_gc.setter
    def allow_gc(self, value: bool | None) -> None:
        self._allow_gc = value

    def clone(self, allow_gc: Any = utils.undef) -> Linker:
        """Return a linker like this one that has accepted no graph, perhaps with another `allow_gc`."""
        new = copy(self)
        if allow_gc is not utils.undef:
            new._allow_gc = allow_gc
        return new

    def make_thunk(self, *args: Any, **kwargs: Any) -> Any:
        """Return (thunk, input containers, output containers).

        The thunk takes no arguments: it computes the outputs' containers from the inputs'.
        """
        raise MethodNotDefined("make_thunk", type(self), self.__class__.__name__)

    def make_function(self, unpack_single: bool = True, **kwargs: Any) -> Callable:
        """Return a function of the values of the graph's inputs.

        Parameters
        ----------
        unpack_single : bool
            Return the value of a single output instead of a list of one.
        **kwargs
            For `make_thunk`.

        Examples
        --------
        >>> from theano import gof
        >>> from theano.scalar import float64
        >>> x, y = float64('x'), float64('y')
        >>> f = gof.PerformLinker().accept(gof.FunctionGraph([x, y], [x + y])).make_function()
        >>> float(f(8.0, 2.0))
        10.0
        """
        thunk, inputs, outputs = self.make_thunk(**kwargs)

        def execute(*args: Any) -> Any:
            if len(args) != len(inputs):
                raise TypeError(f"Function call takes exactly {len(inputs)} args, got {len(args)}")
            for arg, container in zip(args, inputs):
                container.data = arg
            thunk()
            if unpack_single:
                return utils.to_return_values([container.data for container in outputs])
            return [container.data for container in outputs]

        execute.thunk = thunk  # type: ignore[attr-defined]
        execute.inputs = inputs  # type: ignore[attr-defined]
        execute.outputs = outputs  # type: ignore[attr-defined]
        return execute

    def schedule(self, fgraph: Any) -> list[Any]:
        """Return the Apply nodes of `fgraph` in the order of running."""
        if self._scheduler is not None:
            return self._scheduler(fgraph)
        return fgraph.toposort()


class Container:
    """A typed place for one value, shared by a function's arguments, its program and shared variables.

    Parameters
    ----------
    r : Variable or Type
        Says of which type the values are.
    storage : list
        The value is its first element.
    readonly : bool
        Whether setting the value is an error.
    strict : bool
        Whether values must be of the type exactly, without conversion.
    allow_downcast : bool, optional
        Whether conversion may lose precision; None allows it for Python floats to floatX only.
    name : str, optional
        Default: the name of `r`.

    Attributes
    ----------
    value, data : object
        The value; setting it converts it to the type.
    """

    def __init__(
        self,
        r: Any,
        storage: list,
        readonly: bool = False,
        strict: bool = False,
        allow_downcast: bool | None = None,
        name: str | None = None,
    ):
        if not isinstance(storage, list) or not storage:
            raise TypeError("storage must be a list of length at least one")
        self.type = r if isinstance(r, PureType) else r.type
        self.name = getattr(r, "name", None) if name is None else name
        self.storage = storage
        self.readonly = readonly
        self.strict = strict
        self.allow_downcast = allow_downcast

    def __get__(self) -> Any:
        return self.storage[0]

    def __set__(self, value: Any) -> None:
        if self.readonly:
            raise Exception(f"Cannot set readonly storage: {self.name}")
        if value is None:
            self.storage[0] = None
            return
        kwargs: dict[str, Any] = {}
        if self.strict:
            kwargs["strict"] = True
        if self.allow_downcast is not None:
            kwargs["allow_downcast"] = self.allow_downcast
        try:
            filter_inplace = getattr(self.type, "filter_inplace", None)
            if filter_inplace is not None:
                self.storage[0] = filter_inplace(value, self.storage[0], **kwargs)
            else:
                self.storage[0] = self.type.filter(value, **kwargs)
        except Exception as exc:
            exc.args = (*exc.args, f'Container name "{self.name}"')
            raise

    data = property(__get__, __set__)
    value = property(__get__, __set__)

    # Left in place, they would make a container that is a class attribute act as a descriptor.
    del __get__, __set__

    def __str__(self) -> str:
        return f"<{self.storage[0]}>"

    def __repr__(self) -> str:
        return f"<{self.storage[0]!r}>"

    def __deepcopy__(self, memo: dict) -> Container:
        data_was_in_memo = id(self.storage[0]) in memo
        new = type(self)(
            deepcopy(self.type, memo=memo),
            deepcopy(self.storage, memo=memo),
            readonly=self.readonly,
            strict=self.strict,
            allow_downcast=self.allow_downcast,
            name=self.name,
        )
        for key, value in self.__dict__.items():
            if key not in new.__dict__:
                new.__dict__[key] = deepcopy(value, memo)
        # NumPy gives a scalar for the deep copy of some 0-d arrays.
        if new.storage[0] is not None and not self.type.is_valid_value(new.storage[0]):
            if data_was_in_memo:
                raise TypeError(f"the container {self.name} holds a value that its type does not allow")
            new.storage[0] = self.type.filter(new.storage[0], strict=False, allow_downcast=False)
            memo[id(self.storage[0])] = new.storage[0]
        return new


def python_impl(op: Any) -> str | None:
    """Return the `impl` for `Op.make_thunk` that runs `op` in Python, or None if it has only C code."""
    from theano.gof.op import PureOp

    perform = op.perform
    return None if getattr(perform, "__func__", perform) is PureOp.perform else "py"


def map_storage(
    fgraph: Any,
    order: Iterable[Any],
    input_storage: list[list] | None,
    output_storage: list[list] | None,
    storage_map: dict[Variable, list] | None = None,
) -> tuple[list[list], list[list], dict[Variable, list]]:
    """Find or make a storage cell (a list of one element) for every variable of a graph.

    Parameters
    ----------
    fgraph : FunctionGraph
    order : list of Apply
        The nodes that will run.
    input_storage, output_storage : list of lists, optional
        Cells of the graph's inputs and outputs; made where they are None.
    storage_map : dict, optional
        Cells that exist already.

    Returns
    -------
    tuple
        The inputs' cells, the outputs' cells, and the map of all cells by variable.
    """
    if storage_map is None:
        storage_map = {}
    if input_storage is not None:
        if len(fgraph.inputs) != len(input_storage):
            raise ValueError(f"{len(input_storage)} storages for {len(fgraph.inputs)} inputs")
        for var, cell in zip(fgraph.inputs, input_storage):
            known = storage_map.get(var)
            if known is None:
                storage_map[var] = cell
            elif known is not cell:
                raise ValueError(f"given storage_map and input_storage disagree on the storage of {var}")
    else:
        input_storage = [storage_map.setdefault(var, [None]) for var in fgraph.inputs]
    if output_storage is not None:
        if len(fgraph.outputs) != len(output_storage):
            raise ValueError(f"{len(output_storage)} storages for {len(fgraph.outputs)} outputs")
        for var, cell in zip(fgraph.outputs, output_storage):
            known = storage_map.get(var)
            if known is None:
                storage_map[var] = cell
            elif known is not cell:
                raise ValueError(f"given storage_map and output_storage disagree on the storage of {var}")
    for node in order:
        for var in node.inputs:
            if var not in storage_map:
                storage_map[var] = [var.data if isinstance(var, Constant) else None]
        for var in node.outputs:
            storage_map.setdefault(var, [None])
    for var in fgraph.outputs:
        if var not in storage_map:
            storage_map[var] = [var.data if isinstance(var, Constant) else None]
    if output_storage is None:
        output_storage = [storage_map[var] for var in fgraph.outputs]
    return input_storage, output_storage, storage_map


def _views(op: Any, i_out: int) -> Sequence[int]:
    view_map = getattr(op, "view_map", None)
    return view_map.get(i_out, ()) if view_map else ()


class DestroyedInputs:
    """The values of a graph's inputs that running it overwrites; brings them back after a failure.

    Parameters
    ----------
    fgraph : FunctionGraph
    order : list of Apply
    storage_map : dict
    """

    def __init__(self, fgraph: Any, order: Iterable[Any], storage_map: dict[Variable, list]):
        inputs = set(fgraph.inputs)
        root: dict[Variable, tuple[Variable, ...]] = {}
        found: dict[Variable, None] = {}
        for node in order:
            destroy_map = getattr(node.op, "destroy_map", None) or {}
            for i_out, out in enumerate(node.outputs):
                roots: list[Variable] = []
                for i in (*_views(node.op, i_out), *destroy_map.get(i_out, ())):
                    var = node.inputs[i]
                    roots.extend(root.get(var, ()) or ((var,) if var in inputs else ()))
                if roots:
                    root[out] = tuple(dict.fromkeys(roots))
            for destroyed in destroy_map.values():
                for i in destroyed:
                    var = node.inputs[i]
                    found.update(dict.fromkeys(root.get(var, ()) or ((var,) if var in inputs else ())))
        self.cells = [storage_map[var] for var in found]

    def save(self) -> list[tuple[list, Any, Any]]:
        """Copy the values as they are before the run."""
        return [
            (cell, cell[0], cell[0].copy() if isinstance(cell[0], np.ndarray) else deepcopy(cell[0]))
            for cell in self.cells
            if cell[0] is not None
        ]

    @staticmethod
    def restore(saved: list[tuple[list, Any, Any]]) -> None:
        """Put the values back, into the same memory where that is an array."""
        for cell, value, old in saved:
            if isinstance(value, np.ndarray) and value.shape == old.shape and value.flags.writeable:
                value[...] = old
                cell[0] = value
            else:
                cell[0] = old


def streamline(
    fgraph: Any,
    thunks: Sequence[Callable],
    order: Sequence[Any],
    post_thunk_old_storage: Sequence[list] | None = None,
    no_recycling: Sequence[list] | None = None,
    nice_errors: bool = True,
) -> Callable[[], None]:
    """Make one function that runs thunks in order.

    Parameters
    ----------
    fgraph : FunctionGraph
    thunks : list of callables
    order : list of Apply
        The node of each thunk.
    post_thunk_old_storage : list of lists, optional
        For each thunk, the cells to empty after it.
    no_recycling : list, optional
        Cells to empty before the first.
    nice_errors : bool
        Describe the failing node in exceptions.

    Returns
    -------
    callable
    """
    if len(thunks) != len(order):
        raise ValueError("Length of thunks and order must match", (len(thunks), len(order)))
    if post_thunk_old_storage is not None and len(thunks) != len(post_thunk_old_storage):
        raise ValueError(
            "Length of thunks and post_thunk_old_storage must match", (len(thunks), len(post_thunk_old_storage))
        )
    clear = no_recycling or ()
    old_storage: Sequence[Any] = post_thunk_old_storage or [[] for _ in thunks]
    steps = list(zip(thunks, old_storage))

    def run_steps() -> None:
        for cell in clear:
            cell[0] = None
        i = 0
        try:
            for i, (thunk, old) in enumerate(steps):  # noqa: B007 - for the handler below
                thunk()
                for cell in old:
                    cell[0] = None
        except Exception:
            if not nice_errors:
                raise
            raise_with_op(order[i], thunks[i])

    return run_steps


def gc_helper(node_list: Iterable[Any]) -> tuple[set[Variable], dict[Variable, Any]]:
    """Find what garbage collection needs to know about nodes in the order of running.

    Parameters
    ----------
    node_list : list of Apply

    Returns
    -------
    tuple
        The set of variables that the nodes compute, and a dict from each variable to the last node that uses it.
    """
    computed: set[Variable] = set()
    last_user: dict[Variable, Any] = {}
    for node in node_list:
        for var in node.inputs:
            last_user[var] = node
        computed.update(node.outputs)
    return computed, last_user


class LocalLinker(Linker):
    """Base of linkers that run the nodes one by one in this process.

    Subclasses implement `make_all`.
    """

    def make_thunk(
        self,
        input_storage: list | None = None,
        output_storage: list | None = None,
        storage_map: dict | None = None,
    ) -> Any:
        return self.make_all(
            input_storage=input_storage, output_storage=output_storage, storage_map=storage_map
        )[:3]

    def make_all(
        self, input_storage: list | None = None, output_storage: list | None = None, storage_map: dict | None = None
    ) -> Any:
        """Return (function, input containers, output containers, thunks, nodes)."""
        raise MethodNotDefined("make_all", type(self), self.__class__.__name__)


class PerformLinker(LocalLinker):
    """Runs the nodes in order, each by its Op's `perform`.

    Parameters
    ----------
    allow_gc : bool, optional
        Whether intermediate values are freed as soon as they are not needed; default `config.allow_gc`.
    schedule : callable, optional
        See `Linker`.
    """

    def __init__(self, allow_gc: bool | None = None, schedule: Callable | None = None):
        super().__init__(allow_gc=allow_gc, scheduler=schedule)
        self.fgraph: Any = None
        self.no_recycling: list[Variable] = []

    def accept(self, fgraph: Any, no_recycling: Any = None, profile: Any = None) -> PerformLinker:
        """Associate the linker with a graph.

        Parameters
        ----------
        fgraph : FunctionGraph
        no_recycling : list of Variable, optional
            Variables whose storage must not be reused by the next call.
        profile : ProfileStats, optional

        Returns
        -------
        PerformLinker
            This one, or a new one if it was associated with another graph.
        """
        if self.fgraph is not None and self.fgraph is not fgraph:
            return type(self)(allow_gc=self._allow_gc, schedule=self._scheduler).accept(fgraph, no_recycling, profile)
        self.fgraph = fgraph
        self.no_recycling = list(no_recycling or ())
        return self

    def clone(self, allow_gc: Any = utils.undef) -> Linker:
        new = super().clone(allow_gc)
        new.fgraph = None  # type: ignore[attr-defined]
        return new

    def make_all(
        self, input_storage: list | None = None, output_storage: list | None = None, storage_map: dict | None = None
    ) -> Any:
        fgraph = self.fgraph
        order = self.schedule(fgraph)
        input_storage, output_storage, storage_map = map_storage(
            fgraph, order, input_storage, output_storage, storage_map
        )
        compute_map: dict[Variable, list] = {var: [var.owner is None] for var in storage_map}
        thunks = []
        for node in order:
            thunk = node.op.make_thunk(node, storage_map, compute_map, [], impl=python_impl(node.op))
            thunk.inputs = [storage_map[var] for var in node.inputs]
            thunk.outputs = [storage_map[var] for var in node.outputs]
            thunks.append(thunk)
        computed, last_user = gc_helper(order)
        outputs = set(fgraph.outputs)
        old_storage = None
        if self.allow_gc:
            old_storage = [
                [
                    storage_map[var]
                    for var in dict.fromkeys(node.inputs)
                    if var in computed and var not in outputs and last_user[var] is node
                ]
                for node in order
            ]
        no_recycling = [storage_map[var] for var in self.no_recycling if var not in fgraph.inputs]
        run = streamline(fgraph, thunks, order, old_storage, no_recycling)
        destroyed = DestroyedInputs(fgraph, order, storage_map)
        if destroyed.cells:
            run = _restoring(run, destroyed)
        run.allow_gc = self.allow_gc  # type: ignore[attr-defined]
        run.storage_map = storage_map  # type: ignore[attr-defined]
        return (
            run,
            [Container(var, cell) for var, cell in zip(fgraph.inputs, input_storage)],
            [Container(var, cell, readonly=True) for var, cell in zip(fgraph.outputs, output_storage)],
            thunks,
            order,
        )


def _restoring(run: Callable[[], None], destroyed: DestroyedInputs) -> Callable[[], None]:
    def run_or_restore() -> None:
        saved = destroyed.save()
        try:
            run()
        except BaseException:
            destroyed.restore(saved)
            raise

    return run_or_restore


class WrapLinker(Linker):
    """Runs the thunks of several linkers side by side through a wrapper function.

    Parameters
    ----------
    linkers : list of LocalLinker
        Each makes thunks for every node.
    wrapper : callable
        Called for every node in order as ``wrapper(i, node, *thunks)`` with one thunk per linker; it has to call
        them. A thunk's `inputs` and `outputs` are lists of storage cells. By convention the values of the first
        linker's thunk are those of the function.

    Notes
    -----
    The outputs are those of the first linker.
    """

    def __init__(self, linkers: Sequence[Any], wrapper: Callable[..., Any]):
        super().__init__()
        self.fgraph: Any = None
        self.linkers = linkers
        self.wrapper = wrapper
        self.no_recycling: list[Variable] = []

    def __copy__(self) -> WrapLinker:
        """A shallow copy has the same linkers and wrapper, but no graph."""
        new = self.__class__([copy(linker) for linker in self.linkers], self.wrapper)
        new._allow_gc = self._allow_gc
        new._scheduler = self._scheduler
        return new

    def clone(self, allow_gc: Any = utils.undef) -> WrapLinker:
        new = self.__class__([linker.clone(allow_gc=allow_gc) for linker in self.linkers], self.wrapper)
        new._allow_gc = self._allow_gc if allow_gc is utils.undef else allow_gc
        new._scheduler = self._scheduler
        return new

    def accept(self, fgraph: Any, no_recycling: Any = None, profile: Any = None) -> WrapLinker:
        """Associate the linker and all it wraps with a graph; see `PerformLinker.accept`."""
        no_recycling = list(no_recycling or ())
        if self.fgraph is not None and self.fgraph is not fgraph:
            return type(self)(self.linkers, self.wrapper).accept(fgraph, no_recycling, profile)
        self.fgraph = fgraph
        self.no_recycling = no_recycling
        self.linkers = [linker.accept(fgraph, no_recycling) for linker in self.linkers]
        return self

    def pre(self, f: Any, inputs: list[Any], order: list[Any], thunk_groups: list[Any]) -> None:
        """Called at the start of every run; for subclasses."""

    def make_thunk(
        self,
        input_storage: list | None = None,
        output_storage: list | None = None,
        storage_map: dict | None = None,
    ) -> Any:
        no_recycling = self.no_recycling
        made = [
            linker.make_all(
                # The first linker's cells are the function's; the others get cells of their own.
                **(
                    {"input_storage": input_storage, "output_storage": output_storage, "storage_map": storage_map}
                    if i == 0
                    else {}
                )
            )
            for i, linker in enumerate(self.linkers)
        ]
        _, input_lists, output_lists, thunk_lists, order_lists = zip(*made)
        order = list(order_lists[0])
        for other in order_lists[1:]:
            if len(other) != len(order) or any(a is not b for a, b in zip(order, other)):
                raise Exception("All linkers to WrapLinker should execute operations in the same order.")
        thunk_groups = list(zip(*thunk_lists))
        inputs0 = input_lists[0]
        outputs0 = output_lists[0]
        to_reset = []
        skip = set(no_recycling)
        for thunks, node in zip(thunk_groups, order):
            for j, out in enumerate(node.outputs):
                if out in skip:
                    to_reset.extend(thunk.outputs[j] for thunk in thunks)
        wrapper, pre = self.wrapper, self.pre
        other_inputs = input_lists[1:]

        def f() -> None:
            for inputs in other_inputs:
                for mine, its in zip(inputs0, inputs):
                    its.storage[0] = copy(mine.storage[0])
            for cell in to_reset:
                cell[0] = None
            pre(self, [container.data for container in inputs0], order, thunk_groups)
            for i, (thunks, node) in enumerate(zip(thunk_groups, order)):
                try:
                    wrapper(i, node, *thunks)
                except Exception:
                    raise_with_op(node, thunks[0] if thunks else None)

        f.thunk_groups = thunk_groups  # type: ignore[attr-defined]
        return f, inputs0, outputs0


def WrapLinkerMany(linkers: Sequence[Any], wrappers: Sequence[Callable[..., Any]]) -> WrapLinker:
    """Return a `WrapLinker` that calls several wrappers for every node, in turn.

    Parameters
    ----------
    linkers : list of LocalLinker
    wrappers : list of callables
        See `WrapLinker`.
    """

    def wrapper(*args: Any) -> None:
        for f in wrappers:
            f(*args)

    return WrapLinker(linkers, wrapper)
