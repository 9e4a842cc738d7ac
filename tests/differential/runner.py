"""Runs programs with the interpreter that is asked to, one after the other, and writes what they report as lines of JSON.

    PYTHON runner.py PROGRAMS.json RESULTS.jsonl

`PROGRAMS.json` is a list of [name, source]. Each statement of a program runs on its own: an exception is part of the result, and
the next statement follows. A program has `report(value)`, which records what the value is.

This file runs with the interpreter of the original too: it uses nothing but the standard library, NumPy and Theano.
"""

import ast
import base64
import json
import os
import signal
import sys
import warnings

#: Of processor time, for a program.
SECONDS = 40


class TooLong(BaseException):
    pass


def _stop(signum, frame):
    raise TooLong


def _plain(value, depth=0):
    """What JSON can hold of a value."""
    import numpy as np

    import theano
    from theano.gof.graph import Variable

    if isinstance(value, Variable):
        kind = {"kind": "variable", "type": str(value.type), "name": value.name}
        if hasattr(value.type, "broadcastable") and not hasattr(value.type, "format"):
            kind["broadcastable"] = [bool(b) for b in value.type.broadcastable]
            kind["dtype"] = value.type.dtype
        return kind
    if hasattr(value, "tocsr"):
        return {"kind": "sparse", "format": value.format, "dense": _plain(np.asarray(value.todense()))}
    if isinstance(value, np.ndarray) and value.dtype != object or isinstance(value, np.generic):
        value = np.asarray(value)
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"kind": "array", "dtype": str(value.dtype), "shape": list(value.shape), "data": data}
    if isinstance(value, (list, tuple)) and depth < 4:
        return {"kind": type(value).__name__, "items": [_plain(v, depth + 1) for v in value]}
    if isinstance(value, dict) and depth < 4:
        return {"kind": "dict", "items": [[str(k), _plain(v, depth + 1)] for k, v in value.items()]}
    if value is None or isinstance(value, (bool, int, str)):
        return {"kind": type(value).__name__, "value": value}
    if isinstance(value, (float, complex)):
        return {"kind": type(value).__name__, "value": repr(value)}
    if isinstance(value, theano.gof.Apply):
        return {"kind": "Apply", "op": str(value.op)}
    return {"kind": "object", "class": type(value).__name__}


def run(source):
    """The list of what the statements of a program did: line, and an error or what they reported."""
    records = []
    reported = []
    namespace = {"report": lambda *values: reported.extend(_plain(v) for v in values), "__name__": "program"}
    for node in ast.parse(source).body:
        del reported[:]
        error = None
        try:
            exec(compile(ast.Module(body=[node], type_ignores=[]), "program", "exec"), namespace)
        except Exception as exc:
            error = {"class": type(exc).__name__, "bases": [c.__name__ for c in type(exc).__mro__], "text": str(exc)[:300]}
        records.append({"line": node.lineno, "reported": list(reported), "error": error})
    return records


def main(programs, results):
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, _stop)
    import numpy as np

    import theano
    import theano.tensor

    flags = ("floatX", "cast_policy", "compute_test_value", "on_unused_input", "int_division", "exception_verbosity")
    flags += ("warn_float64", "mode", "optimizer")
    before = {flag: getattr(theano.config, flag) for flag in flags}
    with open(programs) as file:
        todo = json.load(file)
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)
    with open(results, "a") as out:
        for name, source in todo:
            for flag, value in before.items():
                setattr(theano.config, flag, value)
            np.random.seed(0)
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            try:
                records = run(source)
            except TooLong:
                records = "too long"
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
            out.write(json.dumps([name, records]) + "\n")
            out.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
