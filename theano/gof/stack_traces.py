"""Stack traces: where in the user's program a variable or a node was made, and where a warning points."""

from __future__ import annotations

import linecache
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from theano.configdefaults import config

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# Whether a file's frames are Theano's own; found once per file name.
_internal_files: dict[str, bool] = {}


def _is_internal(filename: str) -> bool:
    internal = filename.startswith(_PACKAGE) and f"{os.sep}tests{os.sep}" not in filename[len(_PACKAGE) - 1 :]
    _internal_files[filename] = internal
    return internal


def _raw_stack(limit: int, frame: Any) -> tuple:
    # (file, line number, function) three by three, innermost first, from the first frame that is not Theano's.
    cache = _internal_files
    while frame is not None:
        filename = frame.f_code.co_filename
        internal = cache.get(filename)
        if internal is None:
            internal = _is_internal(filename)
        if not internal:
            break
        frame = frame.f_back
    raw: list = []
    while frame is not None and limit:
        code = frame.f_code
        raw += (code.co_filename, frame.f_lineno, code.co_name)
        limit -= 1
        frame = frame.f_back
    return tuple(raw)


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn of a line of the user's program: the innermost one that is not Theano's.

    Parameters
    ----------
    message : str
        What is printed.
    category : class
        A subclass of ``Warning``.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_user("the rate is large", RuntimeWarning)
    >>> caught[0].category, str(caught[0].message)
    (<class 'RuntimeWarning'>, 'the rate is large')
    """
    frame = sys._getframe(1)
    while frame.f_back is not None and (
        _is_internal(frame.f_code.co_filename) or frame.f_globals.get("__name__") == "contextlib"
    ):
        frame = frame.f_back
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    module = frame.f_globals.get("__name__", "<string>")
    warnings.warn_explicit(message, category, frame.f_code.co_filename, frame.f_lineno, module, registry)


def _compact_stacks(trace: tuple) -> tuple:
    # The stacks of a compact trace, which is one stack or a tuple of several.
    return trace if not trace or type(trace[0]) is tuple else (trace,)


def _resolve_stack(raw: tuple) -> list[tuple]:
    # Outermost first, with the text of each line, as traceback.format_list takes it.
    stack = []
    for i in range(len(raw) - 3, -1, -3):
        filename, lineno, name = raw[i : i + 3]
        stack.append((filename, lineno, name, linecache.getline(filename, lineno).strip() or None))
    return stack


def simple_extract_stack(f: Any = None, limit: int | None = None, skips: Sequence[str] = ()) -> list[tuple]:
    """Return the stack of calls, without asking the file system whether sources changed.

    Parameters
    ----------
    f : frame, optional
        The frame to start from; the caller's by default.
    limit : int, optional
        The number of levels to return; None means all.
    skips : sequence of str
        Innermost levels whose file name has one of these parts are left out, up to the first that has none.

    Returns
    -------
    list of (file name, line number, function name, text of the line)
        Outermost first.

    Examples
    --------
    >>> def level():
    ...     return simple_extract_stack(limit=1)
    >>> [(file, line, function, text)] = level()
    >>> line, function
    (2, 'level')
    """
    if f is None:
        f = sys._getframe(1)
    trace: list[tuple] = []
    while f is not None and (limit is None or len(trace) < limit):
        code = f.f_code
        if trace or not any(s in code.co_filename for s in skips):
            line = linecache.getline(code.co_filename, f.f_lineno, f.f_globals).strip()
            trace.append((code.co_filename, f.f_lineno, code.co_name, line or None))
        f = f.f_back
    trace.reverse()
    return trace


def add_tag_trace(thing: Any, user_line: int | None = None) -> Any:
    """Record on a variable or node where the user's code made it, in ``thing.tag.trace``.

    Parameters
    ----------
    thing : Variable or Apply
        What is changed, in place.
    user_line : int, optional
        How many levels of the user's stack are kept: ``config.traceback.limit`` by default, -1 means all.

    Returns
    -------
    thing
        What was given, changed in place.

    See Also
    --------
    theano.gof.graph.get_variable_trace_string : Return the text of the stack traces of a variable, or an empty string.
    theano.gof.graph.copy_tag : Return a copy of the tag of a variable or node.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.vector("x")
    >>> del x.tag.trace
    >>> hasattr(x.tag, "trace"), hasattr(add_tag_trace(x).tag, "trace")
    (False, True)
    """
    limit = config.traceback.limit if user_line is None else user_line
    if limit:
        thing.tag.trace = _raw_stack(limit, sys._getframe(1))
    return thing


def copy_stack_trace(from_var: Any, to_var: Any) -> Any:
    """Give one or several variables the stack traces of one or several others, in addition to their own.

    Parameters
    ----------
    from_var : Variable, or list, tuple or dict of Variables
        Whose traces are taken.
    to_var : Variable, or list, tuple or dict of Variables
        Who get them.

    Returns
    -------
    to_var
        What was given, changed in place.

    See Also
    --------
    theano.gof.opt.inherit_stack_trace : Give the variables that are made within the block the stack traces of one or
        several others, too.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> y = copy_stack_trace(x, x + 1)
    >>> all(stack in y.tag.trace for stack in x.tag.trace)
    True
    """
    sources = _as_variables(from_var)
    targets = _as_variables(to_var)
    for target in targets:
        if getattr(target, "cached", False):
            # A constant that all graphs share would gather the lines of all.
            continue
        tag = target.tag
        if tag._trace is None and len(sources) == 1:
            tag._trace = sources[0].tag._trace
            continue
        tags = [tag, *[source.tag for source in sources if source is not target]]
        compact = all(t._trace is None or type(t._trace) is tuple for t in tags)
        merged: list = []
        for t in tags:
            stacks = _compact_stacks(t._trace or ()) if compact else getattr(t, "trace", [])
            merged += [stack for stack in stacks if stack not in merged]
        tag._trace = tuple(merged) if compact else merged
    return to_var


def _as_variables(var: Any) -> list:
    if isinstance(var, dict):
        return list(var.values())
    if isinstance(var, (list, tuple)):
        return list(var)
    return [var]


def get_variable_trace_string(v: Any) -> str:
    """Return the text of the stack traces of a variable, or an empty string.

    Parameters
    ----------
    v : Variable
        Any variable.

    See Also
    --------
    theano.gof.graph.copy_tag : Return a copy of the tag of a variable or node.
    theano.gof.graph.add_tag_trace : Record on a variable or node where the user's code made it, in ``thing.tag.trace``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.vector("x")
    >>> x.tag.trace = [[("model.py", 12, "hidden_layer", "x = T.vector()")]]
    >>> print(get_variable_trace_string(x).strip())
    Backtrace when that variable is created:
    <BLANKLINE>
      File "model.py", line 12, in hidden_layer
        x = T.vector()
    """
    trace = getattr(v.tag, "trace", None)
    if not trace:
        return ""
    if isinstance(trace[0], list) and not trace[0]:
        return ""
    import traceback

    lines = ["\nBacktrace when that variable is created:\n\n"]
    stacks = trace if isinstance(trace[0], list) else [trace]
    for stack in stacks:
        lines += traceback.format_list(stack)
    return "".join(lines)
