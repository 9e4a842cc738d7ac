"""What an exception tells about the Apply node that raised it while it ran."""

from __future__ import annotations

import io
import sys
import traceback
from typing import Any, NoReturn

import numpy as np

from theano.configdefaults import config
from theano.gof import hooks
from theano.gof.graph import Constant


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
        text = io.StringIO()
        hooks.debugprint(node, file=text, stop_on_name=True, print_type=True)
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
        The application of an Op.
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

    Examples
    --------
    >>> import theano.tensor as T
    >>> node = T.exp(T.vector("x")).owner
    >>> try:
    ...     try:
    ...         raise ValueError("no value")
    ...     except ValueError:
    ...         raise_with_op(node)
    ... except ValueError as error:
    ...     print(str(error).splitlines()[:2], error.__op_instance__ is node)
    ['no value', 'Apply node that caused the error: Elemwise{exp,no_inplace}(x)'] True
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
