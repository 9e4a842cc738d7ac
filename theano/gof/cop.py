"""Ops whose C code is in files of its own, and Ops that use OpenMP."""

from __future__ import annotations

import inspect
import os
import re
import warnings
from collections.abc import Iterable
from typing import Any

from theano.configdefaults import config
from theano.gof.op import Op
from theano.gof.params_type import ParamsType
from theano.gof.utils import MethodNotDefined
from theano.process import new_lock


class OpenMPOp(Op):
    """An Op whose C code uses OpenMP.

    Parameters
    ----------
    openmp : bool, optional
        Whether it does; by default ``config.openmp``.

    See Also
    --------
    theano.Op : An operation, with its C interface: the base class of Ops.
    theano.gof.COp : An Op whose C code is in files of its own.

    Examples
    --------
    >>> class Total(OpenMPOp):
    ...     __props__ = ()
    >>> Total(openmp=False).c_compile_args(), Total(openmp=False).c_headers()
    ([], [])
    """

    #: Whether the compiler knows OpenMP; None as long as nobody asked.
    gxx_support_openmp: bool | None = None
    _lock = new_lock()

    def __init__(self, openmp: bool | None = None):
        super().__init__()
        self.openmp = config.openmp if openmp is None else openmp

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        if not hasattr(self, "openmp"):
            self.openmp = False

    def c_compile_args(self) -> list[str]:
        """Return ``-fopenmp`` where OpenMP is used."""
        self.update_self_openmp()
        return ["-fopenmp"] if self.openmp else []

    def c_headers(self) -> list[str]:
        """Return the header of OpenMP where it is used."""
        self.update_self_openmp()
        return ["omp.h"] if self.openmp else []

    @staticmethod
    def test_gxx_support() -> bool:
        """Try to compile a program with OpenMP."""
        from theano.gof.cmodule import GCC_compiler

        return GCC_compiler.try_flags(["-fopenmp"], "#include <omp.h>", "return omp_get_num_threads() < 0;")

    def update_self_openmp(self) -> None:
        """Set `openmp` to False, with a warning, where the compiler does not know OpenMP."""
        if not self.openmp:
            return
        with OpenMPOp._lock:
            if OpenMPOp.gxx_support_openmp is None:
                OpenMPOp.gxx_support_openmp = self.test_gxx_support()
                if not OpenMPOp.gxx_support_openmp:
                    warnings.warn(
                        "Your g++ compiler fails to compile OpenMP code. We know this happen with some version of the "
                        "EPD mingw compiler and LLVM compiler on Mac OS X. We disable openmp everywhere in Theano. To "
                        "remove this warning set the theano flags `openmp` to False.",
                        stacklevel=3,
                    )
        if not OpenMPOp.gxx_support_openmp:
            self.openmp = False
            config.openmp = False

    def prepare_node(self, node: Any, storage_map: Any, compute_map: Any, impl: str | None) -> None:
        if impl == "c":
            self.update_self_openmp()


def lquote_macro(txt: str) -> str:
    """Return a text of several lines as the body of a C macro.

    Parameters
    ----------
    txt : str
        C code.

    Examples
    --------
    >>> print(lquote_macro("{\\n    failed = 1;\\n}"))
    { \\
        failed = 1; \\
    }
    """
    return "\n".join(line + " \\" for line in txt.split("\n")[:-1]) + ("\n" if "\n" in txt else "") + txt.split("\n")[-1]


def get_sub_macros(sub: dict[str, str]) -> tuple[str, str]:
    """Return the C lines that define, and those that undefine, the macros ``FAIL`` and ``PARAMS``.

    Parameters
    ----------
    sub : dict
        As Ops get it.

    Examples
    --------
    >>> define, undefine = get_sub_macros({"fail": "goto failure;", "params": "V9"})
    >>> print(define)
    #define FAIL goto failure;
    #define PARAMS V9
    >>> print(undefine)
    #undef FAIL
    #undef PARAMS
    """
    define = [f"#define FAIL {lquote_macro(sub['fail'])}"]
    undef = ["#undef FAIL"]
    if "params" in sub:
        define.append(f"#define PARAMS {sub['params']}")
        undef.append("#undef PARAMS")
    return "\n".join(define), "\n".join(undef)


def get_io_macros(inputs: Iterable[str], outputs: Iterable[str]) -> tuple[str, str]:
    """Return the C lines that define, and those that undefine, ``INPUT_0``, ``OUTPUT_0`` and so on.

    Parameters
    ----------
    inputs, outputs : iterable of str
        The names of the variables.

    Examples
    --------
    >>> define, undefine = get_io_macros(["V3", "V5"], ["V7"])
    >>> print(define)
    #define INPUT_0 V3
    #define INPUT_1 V5
    #define OUTPUT_0 V7
    """
    names = [(f"INPUT_{i}", v) for i, v in enumerate(inputs)] + [(f"OUTPUT_{i}", v) for i, v in enumerate(outputs)]
    return "\n".join(f"#define {k} {v}" for k, v in names), "\n".join(f"#undef {k}" for k, _ in names)


_SECTIONS = (
    "init_code",
    "init_code_apply",
    "init_code_struct",
    "support_code",
    "support_code_apply",
    "support_code_struct",
    "cleanup_code_struct",
    "code",
    "code_cleanup",
)
_SECTION_MARK = re.compile(r"^#section ([a-zA-Z0-9_]+)[ \t]*$", re.MULTILINE)
_OLD_MARK = re.compile(r"^THEANO_(APPLY|SUPPORT)_CODE_SECTION[ \t]*$", re.MULTILINE)


class COp(Op):
    """An Op whose C code is in files of its own.

    Parameters
    ----------
    func_files : str or list of str
        The files, relative to the file of the class.  Each is divided by lines ``#section <kind>``, where the kind is
        one of support_code, support_code_apply, support_code_struct, init_code, init_code_apply, init_code_struct,
        cleanup_code_struct, code and code_cleanup.
    func_name : str, optional
        The function that computes the outputs, if there is no section `code`.  It takes the inputs, pointers to the
        outputs and, where the Op has parameters, a pointer to these, and returns 0 or, with an exception set, anything
        else.

    Raises
    ------
    ValueError
        There is no code, a section has an unknown kind, or both `func_name` and a section `code` are given.

    See Also
    --------
    theano.OpenMPOp : An Op whose C code uses OpenMP.
    theano.Op : An operation, with its C interface: the base class of Ops.

    Examples
    --------
    >>> with open("double.c", "w") as file:
    ...     print("#section code", file=file)
    ...     print("OUTPUT_0 = 2 * INPUT_0;", file=file)
    >>> class Double(COp):
    ...     def __init__(self):
    ...         super().__init__(os.path.abspath("double.c"))
    >>> print(Double().code_sections["code"].strip())
    OUTPUT_0 = 2 * INPUT_0;
    >>> os.remove("double.c")
    """

    _cop_num_inputs: int | None = None
    _cop_num_outputs: int | None = None

    section_re = _SECTION_MARK
    backward_re = _OLD_MARK
    SECTIONS = frozenset(_SECTIONS)

    @classmethod
    def get_path(cls, f: str) -> str:
        """Return the path of a file that is given relative to the file of the class."""
        if os.path.isabs(f):
            return f
        folder = os.path.dirname(os.path.abspath(inspect.getfile(cls)))
        return os.path.realpath(os.path.join(folder, f))

    def __init__(self, func_files: str | list[str], func_name: str | None = None):
        super().__init__()
        if not isinstance(func_files, list):
            func_files = [func_files]
        self.func_name = func_name
        self.func_files = [self.get_path(f) for f in func_files]
        self.load_c_code(self.func_files)
        if not self.code_sections:
            raise ValueError("No sections where defined in C files")
        if self.func_name is not None:
            for kind in ("code", "code_cleanup"):
                if kind in self.code_sections:
                    raise ValueError(f"Cannot have a `{kind}` section and specify the func_name")

    def load_c_code(self, func_files: list[str]) -> None:
        """Read the files."""
        self.func_codes = []
        for path in func_files:
            with open(path) as f:
                self.func_codes.append(f.read())
        self.code_sections: dict[str, str] = {}
        for path, code in zip(func_files, self.func_codes, strict=True):
            self._split(path, code)

    def _split(self, path: str, code: str) -> None:
        parts = _SECTION_MARK.split(code)
        if len(parts) == 1:
            old = _OLD_MARK.split(code)
            if len(old) == 1:
                raise ValueError(f"No valid section marker was found in file {path}")
            kinds = {"APPLY": "support_code_apply", "SUPPORT": "support_code"}
            parts = [old[0]] + [kinds[p] if i % 2 == 0 else p for i, p in enumerate(old[1:])]
        if parts[0].strip():
            raise ValueError(f"Stray code before first #section statement (in file {path}): {parts[0]}")
        for kind, text in zip(parts[1::2], parts[2::2], strict=True):
            if kind not in self.SECTIONS:
                raise ValueError(f"Unknown section type (in file {path}): {kind}")
            self.code_sections[kind] = self.code_sections.get(kind, "") + text

    def _params_macros(self) -> list[tuple[str, str]]:
        params_type = getattr(self, "params_type", None)
        if params_type is None:
            return []
        if isinstance(params_type, ParamsType):
            # The fields that are types or dtypes can be used as such in the code.
            macros = [("PARAMS_TYPE", params_type.name)]
            for field, type_ in zip(params_type.fields, params_type.types, strict=True):
                try:
                    macros.append((f"DTYPE_PARAM_{field}", type_.c_element_type()))
                except (MethodNotDefined, AttributeError):
                    pass
            return macros
        return [("PARAMS_TYPE", getattr(params_type, "ctype", "PyObject"))]

    def c_code_cache_version(self) -> tuple:
        version: tuple = (hash_of(tuple(self.func_codes)),)
        params_type = getattr(self, "params_type", None)
        if params_type is not None:
            version += (params_type.c_code_cache_version(),)
        return version

    def c_init_code(self) -> list[str]:
        """Return the sections `init_code`."""
        return [self._section("init_code")]

    def c_support_code(self) -> str:
        """Return the sections `support_code`."""
        return self._section("support_code")

    def _section(self, kind: str) -> str:
        code = self.code_sections.get(kind)
        if code is None:
            raise MethodNotDefined(f"c_{kind}", type(self), type(self).__name__)
        return code

    def _with_macros(self, kind: str, node: Any, name: str, *more: tuple[str, str]) -> str:
        code = self._section(kind)
        macros = [self.get_c_macros(node, name), *more]
        return "\n".join(["", *[define for define, _ in macros], code, *[undef for _, undef in reversed(macros)]])

    def format_c_function_args(self, inp: list[str], out: list[str]) -> str:
        """Return the arguments of the function that computes the outputs, ``NULL`` for those that are missing."""
        n_in, n_out = self._cop_num_inputs, self._cop_num_outputs
        args = list(inp) + ["NULL"] * (max(n_in - len(inp), 0) if n_in is not None else 0)
        args += [f"&{name}" for name in out]
        args += ["NULL"] * (max(n_out - len(out), 0) if n_out is not None else 0)
        return ", ".join(args)

    def get_c_macros(self, node: Any, name: str, check_input: bool | None = None) -> tuple[str, str]:
        """Return the C lines that define, and those that undefine, the macros of a node.

        For inputs and outputs with a dtype these are ``DTYPE_INPUT_0``, ``TYPENUM_INPUT_0``, ``ITEMSIZE_INPUT_0`` and so
        on; further, ``APPLY_SPECIFIC(name)`` makes a name unique to the node.
        """
        import numpy as np

        define: list[tuple[str, str]] = []
        if check_input is None:
            check_input = getattr(self, "check_input", True)
        if check_input:
            for kind, variables in (("INPUT", node.inputs), ("OUTPUT", node.outputs)):
                for i, var in enumerate(variables):
                    dtype = getattr(var.type, "dtype", None)
                    if dtype is None:
                        continue
                    try:
                        numpy_type = np.dtype(dtype)
                    except TypeError:
                        continue
                    define += [
                        (f"DTYPE_{kind}_{i}", f"npy_{dtype}"),
                        (f"TYPENUM_{kind}_{i}", _typenum(var.type, dtype)),
                        (f"ITEMSIZE_{kind}_{i}", str(numpy_type.itemsize)),
                    ]
        define.append(("APPLY_SPECIFIC(str)", f"str##_{name}"))
        define += self._params_macros()
        return (
            "\n".join(f"#define {k} {v}" for k, v in define),
            "\n".join(f"#undef {k.split('(')[0]}" for k, _ in define),
        )

    def get_sub_macros(self, sub: dict[str, str]) -> tuple[str, str]:
        """As the function of this name."""
        return get_sub_macros(sub)

    def get_io_macros(self, inputs: list[str], outputs: list[str]) -> tuple[str, str]:
        """As the function of this name."""
        return get_io_macros(inputs, outputs)

    def c_init_code_struct(self, node: Any, name: str, sub: dict[str, str]) -> str:
        """Return the sections `init_code_struct`."""
        return self._with_macros("init_code_struct", node, name, get_sub_macros(sub))

    def c_code(self, node: Any, name: str, inputs: list[str], outputs: list[str], sub: dict[str, str]) -> str:
        """Return a call of the function, or the sections `code`."""
        if self.func_name is not None:
            assert "code" not in self.code_sections
            define, undef = self.get_c_macros(node, name, check_input=False)
            args = self.format_c_function_args(inputs, outputs)
            if "params" in sub:
                args += f", {sub['params']}"
            return "\n".join(
                [
                    "",
                    define,
                    "{",
                    f"  if ({self.func_name}({args}) != 0) {{",
                    f"    {sub['fail']}",
                    "  }",
                    "}",
                    undef,
                    "",
                ]
            )
        return self._with_macros("code", node, name, get_sub_macros(sub), get_io_macros(inputs, outputs)) + "\n"

    def c_code_cleanup(self, node: Any, name: str, inputs: list[str], outputs: list[str], sub: dict[str, str]) -> str:
        """Return the sections `code_cleanup`."""
        return self._with_macros("code_cleanup", node, name, get_sub_macros(sub), get_io_macros(inputs, outputs)) + "\n"


def apply_meth(kind: str) -> Any:
    """Return a method ``(node, name)`` that returns the sections of one kind, specialized to the node.

    Parameters
    ----------
    kind : str
        ``'support_code_apply'``, say.

    Examples
    --------
    >>> class Kernel:
    ...     c_support_code_apply = apply_meth("support_code_apply")
    ...     def _with_macros(self, kind, node, name):
    ...         return f"// The sections {kind} of {name}"
    >>> Kernel().c_support_code_apply(None, "node_3")
    '// The sections support_code_apply of node_3'
    """

    def method(self: Any, node: Any, name: str) -> str:
        return self._with_macros(kind, node, name)

    method.__name__ = f"c_{kind}"
    method.__doc__ = f"Return the sections `{kind}`."
    return method


COp.c_init_code_apply = apply_meth("init_code_apply")
COp.c_support_code_apply = apply_meth("support_code_apply")
COp.c_support_code_struct = apply_meth("support_code_struct")
COp.c_cleanup_code_struct = apply_meth("cleanup_code_struct")


def hash_of(code: tuple[str, ...]) -> str:
    """Return a digest of some texts.

    Parameters
    ----------
    code : tuple of str
        The texts.

    Examples
    --------
    >>> hash_of(("ab", "c")) == hash_of(("ab", "c")), hash_of(("ab", "c")) == hash_of(("a", "bc"))
    (True, False)
    """
    from theano.gof.utils import hash_from_code

    return hash_from_code("\0".join(code))


def _typenum(type_: Any, dtype: str) -> str:
    specs = getattr(type_, "dtype_specs", None)
    if specs is not None:
        spec = specs()
        if len(spec) > 2 and isinstance(spec[2], str):
            return spec[2]
    return f"NPY_{dtype.upper()}"
