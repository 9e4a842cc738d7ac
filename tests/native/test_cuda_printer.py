"""Kernels that the lowerings make are printed for a GPU and compiled, without a change in a lowering."""

import re

import pytest

import theano
import theano.tensor as T
from tests.native import cuda_printer
from tests.native.test_kernels import binary, picking, softmax
from tests.native.test_reference import graphs
from theano.native import ir
from theano.native.target import target

pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC is not installed: pip install cuda-bindings nvidia-cuda-nvrtc")


def compiled(kernels):
    """The names of the kernels in the machine code."""
    code = cuda_printer.compile_for_sm_90(cuda_printer.program(kernels))
    assert code.startswith(b"\x7fELF")
    return set(re.findall(rb"\.text\.(kernel\d+)", code))


def test_kernels_of_graphs(monkeypatch):
    caught = set()
    cpu = type(target("cpu"))
    load_kernels = cpu.load_kernels
    monkeypatch.setattr(cpu, "load_kernels", lambda self, kernels: (caught.update(kernels), load_kernels(self, kernels))[1])
    h = T.TensorType("float16", (False, False))("h")
    with theano.config.change_flags(program_cache="off"):
        theano.function(*graphs())
        theano.function([h], [(h * 2).sum(axis=0), T.tanh(h), T.arange(h.shape[0]) * 3])
    kernels = [k for k in sorted(caught, key=repr) if all(isinstance(s, ir.Stmt) for st in k.stages for s in st.body)]
    assert len(kernels) > 15
    assert len(compiled(kernels)) == len(kernels)


def test_kernels_of_every_kind():
    kernels = [binary(0, (), ()), binary(3, (False,) * 3, (False, True, False), "complex64"), softmax((1, 0, 2), 1), picking()]
    assert len(compiled(kernels)) == len(kernels)


def test_the_compiler_refuses_what_is_wrong():
    with pytest.raises(ValueError, match="error"):
        cuda_printer.compile_for_sm_90(cuda_printer.PRELUDE + "__global__ void f() { nothing; }")


def test_it_is_a_sketch():
    with open(cuda_printer.__file__, encoding="utf8") as file:
        assert len(file.readlines()) < 250
