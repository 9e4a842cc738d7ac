"""Linkers under their documented names, and the compilation of the C code that Ops bring themselves."""

from __future__ import annotations

from typing import Any

from theano.gof.link import Linker
from theano.native.linker import NativeLinker

__all__ = ["CLinker", "DualLinker", "HideC", "OpWiseCLinker"]


class OpWiseCLinker(NativeLinker):
    """The native linker, under the name of the linker that compiled Ops one by one."""


class DualLinker(NativeLinker):
    """The native linker, under the name of the linker that compared C with Python."""


class CLinker(Linker):
    """Compiles the C code that the Ops of a graph bring themselves."""

    def accept(self, fgraph: Any, no_recycling: Any = None, profile: Any = None) -> CLinker:
        """Take the graph to compile."""
        self.fgraph = fgraph
        self.no_recycling = no_recycling or []
        return self

    def make_thunk(self, input_storage: Any = None, output_storage: Any = None, storage_map: Any = None) -> Any:
        """Raise NotImplementedError: the Ops' `perform` is used."""
        raise NotImplementedError("C code of Ops")


class HideC:
    """A mix-in for Ops that hides the C code of the classes after it."""

    def _hide(self, *args: Any, **kwargs: Any) -> Any:
        from theano.gof.utils import MethodNotDefined

        raise MethodNotDefined()

    c_code = _hide
    c_code_cleanup = _hide
    c_headers = _hide
    c_header_dirs = _hide
    c_libraries = _hide
    c_lib_dirs = _hide
    c_support_code = _hide
    c_support_code_apply = _hide
    c_compile_args = _hide
    c_no_compile_args = _hide
    c_init_code = _hide
    c_init_code_apply = _hide
    c_init_code_struct = _hide
    c_support_code_struct = _hide
    c_cleanup_code_struct = _hide

    def c_code_cache_version(self) -> tuple:
        """Return the empty tuple."""
        return ()

    def c_code_cache_version_apply(self, node: Any) -> tuple:
        """Return the empty tuple."""
        return ()
