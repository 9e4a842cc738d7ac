"""The kernels that tests make, kept in files, and their comparison with the reference target.

``python -m pytest -p tests.kernel_corpus ...`` with ``THEANO_KERNEL_CORPUS`` set to a directory keeps the kernels there; then
``python -m tests.kernel_corpus DIRECTORY`` compares what each gives on random arrays with what NumPy makes of it.
"""

import glob
import os
import pickle
import sys

import numpy as np

from theano.native import ir
from theano.native.target import target
from theano.native.target.reference.kernels import ReferenceKernel

TOLERANCE = {"float16": 5e-3, "float32": 2e-4, "float64": 1e-9, "complex64": 2e-4, "complex128": 1e-9}


def pytest_configure(config):
    """Keep the kernels that the CPU is given."""
    directory = os.environ.get("THEANO_KERNEL_CORPUS")
    if not directory:
        return
    cpu, kept = type(target("cpu")), set()
    load_kernels = cpu.load_kernels

    def load_and_keep(self, kernels):
        kept.update(kernels)
        return load_kernels(self, kernels)

    cpu.load_kernels = load_and_keep
    config.pluginmanager.register(_Writer(directory, kept))


class _Writer:
    """Writes the kernels when the tests have run."""

    def __init__(self, directory, kept):
        self.directory, self.kept = directory, kept

    def pytest_sessionfinish(self):
        _write(self.directory, self.kept)


def _write(directory, kernels):
    found = [kernel if has_reference(kernel) else without_functions(kernel) for kernel in kernels]
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, f"{os.getpid()}.pkl"), "wb") as file:
        pickle.dump(found, file)


def without_functions(kernel):
    """A kernel whose C code says nothing about itself but its text: an Op that a test has defined cannot be kept."""

    def plain(stmts):
        return tuple(s.replaced(function=None) if isinstance(s, ir.Code) else s for s in stmts)

    return kernel.replaced(stages=tuple(s.replaced(body=plain(s.body), row=plain(s.row)) for s in kernel.stages))


def has_reference(kernel):
    """Whether all that a kernel computes is known without C."""
    stmts = [s for stage in kernel.stages for s in (*stage.body, *stage.row)]
    # An Op that a test defines is not there when the kernel is read again.
    return all(isinstance(s, ir.Stmt) or (s.function is not None and s.function.__module__.startswith("theano.")) for s in stmts)


def random_inputs(kernel, rng):
    """Arrays that fit a kernel."""
    lengths = [int(n) for n in rng.integers(1, 5, kernel.n_outer)] + [int(n) for n in rng.integers(2, 7, kernel.n_inner)]
    # Of arrays of many dims most are one element long.
    lengths[8:] = [1] * len(lengths[8:])
    # A dim that nobody walks is one element long.
    walked = {d for op in kernel.inputs for d in range(kernel.ndim) if not op.broadcast[d]}
    lengths = [n if d in walked else 1 for d, n in enumerate(lengths)]
    found = []
    for operand in kernel.inputs:
        shape = [1] * operand.rank
        for dim in range(kernel.ndim):
            if not operand.broadcast[dim]:
                shape[operand.axis_of(dim)] = lengths[dim]
        found.append(_random(operand.dtype, shape, rng))
    return found


def _random(dtype, shape, rng):
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.asarray(rng.integers(0, 2, shape), bool)
    if kind in "iu":
        return np.asarray(rng.integers(0 if kind == "u" else -3, 5, shape), dtype)
    value = rng.uniform(-1.5, 2.5, shape)
    if kind == "c":
        value = value + 1j * rng.uniform(-1.5, 2.5, shape)
    return np.asarray(value, dtype)


def assert_agree(kernel, inputs, results):
    """Compare what a kernel has made of copies of `inputs` with what NumPy makes of them."""
    expected = ReferenceKernel(kernel)([np.array(x) for x in inputs])
    stmts = [s for stage in kernel.stages for s in (*stage.body, *stage.row)]
    least = max([TOLERANCE.get(dtype, 0) for s in stmts for _, dtype in s.defines], default=0)
    for result, wanted, out in zip(results, expected, kernel.outputs, strict=True):
        assert result.shape == wanted.shape and result.dtype == wanted.dtype == out.dtype
        tolerance = max(TOLERANCE[out.dtype], least) if out.dtype in TOLERANCE else 0
        with np.errstate(all="ignore"):
            scale = np.max(np.abs(wanted[np.isfinite(wanted)]), initial=0) if tolerance else 0
            np.testing.assert_allclose(result, wanted, rtol=tolerance, atol=tolerance * max(float(scale), 1))


def compare(kernels, rounds=2):
    """Compare kernels with the reference; returns how many were, and what is wrong with which."""
    import theano.native.lowering.nnet  # noqa: F401, as it declares functions of its kernels
    from tests.native.vm_tools import kernel_functions

    kernels = [k for k in kernels if has_reference(k)]
    wrong = []
    for start in range(0, len(kernels), 200):
        some = kernels[start : start + 200]
        for kernel, function in zip(some, kernel_functions(some), strict=True):
            for seed in range(rounds):
                inputs = random_inputs(kernel, np.random.default_rng(seed))
                try:
                    assert_agree(kernel, inputs, function([np.array(x) for x in inputs]))
                except Exception as error:
                    wrong.append((kernel, f"{type(error).__name__}: {error}"))
                    break
    return len(kernels), wrong


if __name__ == "__main__":
    corpus = set()
    for path in glob.glob(os.path.join(sys.argv[1], "*.pkl")):
        with open(path, "rb") as kept:
            corpus.update(pickle.load(kept))
    count, failures = compare(sorted(corpus, key=repr))
    for kernel, message in failures[:20]:
        print(kernel, message, sep="\n", end="\n\n")
    print(f"{len(corpus)} kernels, {count} compared, {len(failures)} differ")
    sys.exit(bool(failures))
