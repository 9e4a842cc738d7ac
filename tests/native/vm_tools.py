"""Small programs for the tests of the virtual machine."""

import numpy as np
import pytest

from theano.native.runtime_build import load_runtime

runtime = load_runtime()
if runtime is None:
    pytest.skip("the native runtime is not available", allow_module_level=True)


def tensor(dtype, ndim, broadcastable=None):
    spec = ("tensor", np.dtype(dtype).num, ndim)
    return spec if broadcastable is None else (*spec, broadcastable)


def cell_of(value):
    return tensor(value.dtype, value.ndim)


def make(name, inputs, outputs, params=(), tail=False, **kwargs):
    """A program of one instruction; `inputs` are arrays (or the specs of cells), `outputs` specs of cells."""
    specs = [v if isinstance(v, tuple) else cell_of(v) for v in inputs]
    ins = tuple(range(len(specs)))
    outs = tuple(range(len(specs), len(specs) + len(outputs)))
    instrs = [(name, ins, outs, params, 0, ())]
    return runtime.Program(
        [*specs, *outputs],
        instrs,
        0 if tail else 1,
        [(i, [None]) for i in ins],
        [],
        [(o, [None]) for o in outs],
        **kwargs,
    )


def run(name, inputs, outputs, params=(), tail=False):
    """Outputs of one instruction."""
    inputs = [np.asarray(v) for v in inputs]
    result = make(name, inputs, outputs, params, tail).call(inputs)
    return result[0] if len(outputs) == 1 else result


def integer(value):
    return np.array(value, dtype="int64")
