"""Extension modules written by hand: their C text from functions, and their files."""

from __future__ import annotations

import importlib
import os
import re
import stat
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from typing import Any, TextIO

from theano.gof.utils import hash_from_code

METH_VARARGS = "METH_VARARGS"
METH_NOARGS = "METH_NOARGS"

#: Seconds that :func:`dlimport` has taken.
import_time = 0.0


class ExtFunction:
    """A C function of an extension module.

    Parameters
    ----------
    name : str
    code_block : str
        The whole function: ``static PyObject* <name>(...) {...}``.
    method : str
        How it is called: ``'METH_VARARGS'``, say.
    doc : str
        Its docstring.
    """

    def __init__(self, name: str, code_block: str, method: str, doc: str = "undocumented"):
        self.name = name
        self.code_block = code_block
        self.method = method
        self.doc = doc

    def method_decl(self) -> str:
        """Return the entry of the function in the table of the module."""
        return f'\t{{"{self.name}", {self.name}, {self.method}, "{self.doc}"}}'


class DynamicModule:
    """The C text of an extension module, put together from pieces.

    Once :meth:`code` was called, the module has its name, a digest of the text, which is in `code_hash`, and nothing more
    can be added.
    """

    def __init__(self) -> None:
        self.finalized = False
        self.code_hash: str | None = None
        #: Stands in the text for the name.
        self.hash_placeholder = "<<<<HASH_PLACEHOLDER>>>>"
        self.support_code: list[str] = []
        self.functions: list[ExtFunction] = []
        self.includes = ["<Python.h>", "<iostream>", '"theano_mod_helper.h"']
        self.init_blocks: list[str] = []

    def _add(self, pieces: list, piece: Any) -> None:
        assert not self.finalized, "nothing can be added to a module after its code was asked for"
        pieces.append(piece)

    def add_include(self, str: str) -> None:
        """Add a header; without ``<`` or quotes it is put in quotes."""
        self._add(self.includes, str)

    def add_init_code(self, code: str) -> None:
        """Add code that is executed when the module is loaded."""
        self._add(self.init_blocks, code)

    def add_support_code(self, code: str) -> None:
        """Add code for the global scope, unless it is there already."""
        if code and code not in self.support_code:
            self._add(self.support_code, code)

    def add_function(self, fn: ExtFunction) -> None:
        """Add a function."""
        self._add(self.functions, fn)

    def print_methoddef(self, stream: TextIO) -> None:
        """Write the table of functions."""
        entries = "".join(f"{f.method_decl()},\n" for f in self.functions)
        print(f"static PyMethodDef MyMethods[] = {{\n{entries}\t{{NULL, NULL, 0, NULL}}\n}};", file=stream)

    def print_init(self, stream: TextIO) -> None:
        """Write the function that is called when the module is loaded."""
        name, init = self.hash_placeholder, "\n".join(self.init_blocks)
        print(
            f'static struct PyModuleDef moduledef = {{PyModuleDef_HEAD_INIT, "{name}", NULL, -1, MyMethods}};\n'
            f"PyMODINIT_FUNC PyInit_{name}(void) {{\n{init}\n    return PyModule_Create(&moduledef);\n}}",
            file=stream,
        )

    def code(self) -> str:
        """Return the C text."""
        import io

        out = io.StringIO()
        for header in filter(None, self.includes):
            print("#include", header if header[0] in '<"' else f'"{header}"', file=out)
        for part in (*self.support_code, *(f.code_block for f in self.functions)):
            print(part, file=out)
        self.print_methoddef(out)
        self.print_init(out)
        text = out.getvalue()
        self.code_hash = hash_from_code(text)
        self.finalized = True
        return text.replace(self.hash_placeholder, self.code_hash)

    def list_code(self, ofile: TextIO | None = None) -> None:
        """Write the C text with the numbers of the lines, by default to the standard output."""
        for number, line in enumerate(self.code().split("\n"), start=1):
            print(f"{number:4d}", line, file=ofile)


def dlimport(fullpath: str, suffix: str | None = None) -> Any:
    """Load an extension module or a Python file, whose directory becomes the package that it is in.

    Parameters
    ----------
    fullpath : str
        An absolute path.
    suffix : str, optional
        What follows the name of the module in that of the file; by default what extension modules end in.

    Raises
    ------
    ValueError
        If the path is relative or ends otherwise.
    """
    global import_time
    if not os.path.isabs(fullpath):
        raise ValueError("`fullpath` must be an absolute path", fullpath)
    if suffix is None:
        known = (sysconfig.get_config_var("EXT_SUFFIX") or ".so", ".so", ".pyd", ".dll", ".py")
        suffix = next((s for s in known if fullpath.endswith(s)), None)
    if not suffix or not fullpath.endswith(suffix):
        raise ValueError("path has wrong suffix", (fullpath, suffix))
    folder, file = os.path.split(fullpath)
    parent, package = os.path.split(folder)
    start = time.perf_counter()
    sys.path.insert(0, parent)
    try:
        importlib.invalidate_caches()
        module = importlib.import_module(f"{package}.{file[: -len(suffix)]}")
    finally:
        sys.path.remove(parent)
        import_time += time.perf_counter() - start
    return module


def dlimport_workdir(basedir: str) -> str:
    """Return a new directory in another one, for the file of a module that :func:`dlimport` is to load."""
    return tempfile.mkdtemp(dir=basedir)


def last_access_time(path: str) -> float:
    """Return when a file was last read, in seconds since the epoch."""
    return os.stat(path)[stat.ST_ATIME]


def module_name_from_dir(dirname: str, err: bool = True, files: Sequence[str] | None = None) -> str | None:
    """Return the path of the extension module in a directory.

    Parameters
    ----------
    dirname : str
    err : bool
        Whether it is an error if there is none; else None is returned.
    files : sequence of str, optional
        The files in the directory, if they are known.

    Raises
    ------
    ValueError
        If there are several, or none.
    """
    if files is None:
        try:
            files = os.listdir(dirname)
        except FileNotFoundError:
            if err:
                raise
            return None
    names = [file for file in files if file.endswith((".so", ".pyd"))]
    if not names and not err:
        return None
    if len(names) != 1:
        raise ValueError(f"{len(names)} compiled modules in this directory, not one: {dirname}")
    return os.path.join(dirname, names[0])


def is_same_entry(entry_1: str, entry_2: str) -> bool:
    """Return whether two paths are of the same module: of one file, or of equal names in equal temporary directories."""
    if entry_1 == entry_2 or os.path.realpath(entry_1) == os.path.realpath(entry_2):
        return True
    ends = [(os.path.basename(os.path.dirname(entry)), os.path.basename(entry)) for entry in (entry_1, entry_2)]
    return ends[0] == ends[1] and ends[0][0].startswith("tmp")


def _link_key(key: Any) -> tuple:
    _, link = key
    if link[0] != "CLinker.cmodule_key":
        raise ValueError(f"this is no key of a module: {key!r}")
    return link[1:]


def get_module_hash(src_code: str, key: Any) -> str:
    """Return a digest of what a module depends on.

    Parameters
    ----------
    src_code : str
        Its C text, whose indentation does not count.
    key : tuple
        ``(versions, ('CLinker.cmodule_key', ...))``: what follows are tuples of arguments and libraries of the compiler,
        texts about the compiler and the binary interface of NumPy, and the digest of flags, after which nothing counts.
    """
    parts = [line.strip() for line in src_code.split("\n")]
    parts += map(str, key[0] or ())
    for element in _link_key(key):
        if isinstance(element, tuple):
            parts += element
        elif re.match(r"md5:|hash:", element):
            break
        else:
            parts.append(element)
    return hash_from_code("\n".join(parts))


def get_safe_part(key: Any) -> tuple:
    """Return the part of a key, see :func:`get_module_hash`, that plain values make up: versions and the digest of flags."""
    digests = [e.partition(":")[2] for e in _link_key(key) if isinstance(e, str) and re.match(r"md5:|hash:", e)]
    return (*key[0], digests[0] if digests else None)
