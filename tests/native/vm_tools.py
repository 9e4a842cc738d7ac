"""Small programs for the tests of the virtual machine."""

import numpy as np
import pytest

import theano
from theano.native.runtime_build import load_runtime
from theano.tensor import TensorType

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


def run_instruction(name, inputs, outputs, params=(), tail=False):
    """Outputs of one instruction."""
    inputs = [np.asarray(v) for v in inputs]
    result = make(name, inputs, outputs, params, tail).call(inputs)
    return result[0] if len(outputs) == 1 else result


def kernel_functions(kernels):
    """Compiled kernels, each as the function of a list of arrays that gives the list of its results."""
    # Imported late: some tests replace what the compiler has loaded.
    from theano.native.target.cpu.compiler import load_kernels

    functions = []
    for kernel, loaded in zip(kernels, load_kernels(kernels), strict=True):
        inputs = [tensor(operand.dtype, operand.rank) for operand in kernel.inputs]
        outputs = [tensor(output.dtype, len(output.dims)) for output in kernel.outputs]
        functions.append(make("kernel", inputs, outputs, (loaded,)).call)
    return functions


def symbol(value):
    """A variable for arrays like this one."""
    return TensorType(value.dtype.name, (False,) * value.ndim)()


def all_native(inputs, outputs, **options):
    """A function of which no part runs in Python."""
    f = theano.function(inputs, outputs, on_unused_input="ignore", **options)
    assert not [i.node for i in f.fn.instrs if i.op.runs_python]
    return f


@pytest.fixture
def own_threads():
    """Gives the number of threads back that the runtime had."""
    before = runtime.get_threads()
    yield
    runtime.set_threads(before)


def on_threads(f, *values):
    """The results, after a check that they are the same, bit by bit, on 1, 2 and 5 threads."""
    results = []
    for count in (1, 2, 5):
        runtime.set_threads(count)
        results.append(f(*values))
    parts = [found if isinstance(found, list) else [found] for found in results]
    for found in parts[1:]:
        for a, b in zip(found, parts[0], strict=True):
            assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
    return results[0]


def integer(value):
    return np.array(value, dtype="int64")
