"""Compiling C++ text to Python extension modules, and loading them.

Modules are kept under a digest of their text, of the compiler and of what else goes into them, in the directory
``modules`` of ``config.compiledir``.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import glob
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from theano.configdefaults import config
from theano.gof.loading import timed_loading
from theano.gof.utils import uniq
from theano.misc import file_cache
from theano.process import new_lock, temporary_directory

_lock = new_lock()
_loaded: dict[str, Any] = {}
_own: list[str] = []
_n_compiled = 0
_prelude_lock = new_lock()
_prelude_in_work: _PreludeInWork | None = None


class CompileError(Exception):
    """The compiler refused the C code of an Op or Type; the message shows its text where the error is.

    Examples
    --------
    >>> try:
    ...     with config.change_flags(cxx=""):
    ...         GCC_compiler.compile_str("m", "z = x + y", ".")
    ... except CompileError as error:  # MissingGXX is one.
    ...     print(error)
    there is no C++ compiler (config.cxx is empty)
    """


def modules_directory() -> str:
    """Return the directory where compiled modules are kept.

    Examples
    --------
    >>> os.path.relpath(modules_directory(), config.compiledir)
    'modules'
    """
    return os.path.join(config.compiledir, "modules")


def precompiled_headers() -> list[str]:
    """Return the directories with precompiled headers, which hold nothing that cannot be made again.

    Examples
    --------
    >>> all(os.path.dirname(path) == modules_directory() for path in precompiled_headers())
    True
    """
    return glob.glob(os.path.join(modules_directory(), "prelude-*"))


def std_include_dirs() -> list[str]:
    """Return the directories of the headers of Python and NumPy, and of Theano's own for C code.

    Examples
    --------
    >>> numpy, python, own = std_include_dirs()
    >>> os.path.exists(os.path.join(numpy, "numpy", "arrayobject.h")), os.path.basename(own)
    (True, 'c_code')
    """
    here = os.path.dirname(os.path.abspath(__file__))
    return [np.get_include(), sysconfig.get_paths()["include"], os.path.join(here, "c_code")]


def std_lib_dirs_and_libs() -> tuple[list[str], list[str]]:
    """Return the directories and names of the libraries that every module is linked against.

    Examples
    --------
    >>> dirs, libs = std_lib_dirs_and_libs()
    >>> dirs == std_lib_dirs(), libs == std_libs()
    (True, True)
    """
    if sys.platform == "win32":
        base = sys.base_prefix
        return [os.path.join(base, "libs")], [f"python{sys.version_info[0]}{sys.version_info[1]}"]
    # Functions of half floats, for instance, are in a library that comes with NumPy.
    folder = os.path.join(os.path.dirname(np.get_include()), "lib")
    if os.path.exists(os.path.join(folder, "libnpymath.a")):
        return [folder], ["npymath"]
    return [], []


def std_libs() -> list[str]:
    """Return the names of the libraries that every module is linked against.

    Examples
    --------
    >>> any(name.startswith(("lib", "-l")) for name in std_libs())  # As the linker takes them after -l.
    False
    """
    return std_lib_dirs_and_libs()[1]


def std_lib_dirs() -> list[str]:
    """Return the directories of the libraries that every module is linked against.

    Examples
    --------
    >>> all(os.path.isabs(path) for path in std_lib_dirs())
    True
    """
    return std_lib_dirs_and_libs()[0]


def get_lib_extension() -> str:
    """Return what the files of extension modules end in, without the dot.

    Examples
    --------
    >>> import sysconfig
    >>> sysconfig.get_config_var("EXT_SUFFIX").endswith("." + get_lib_extension())
    True
    """
    return {"win32": "pyd", "cygwin": "dll"}.get(sys.platform, "so")


def get_gcc_shared_library_arg() -> str:
    """Return the flag with which GCC makes a library.

    Examples
    --------
    >>> get_gcc_shared_library_arg() in ("-shared", "-dynamiclib")
    True
    """
    return "-dynamiclib" if sys.platform == "darwin" else "-shared"


def gcc_version() -> str:
    """Return the version of the compiler.

    Examples
    --------
    >>> with config.change_flags(cxx=""):
    ...     gcc_version()
    'none'
    """
    from theano.configdefaults import _compiler_version

    return _compiler_version()


@functools.cache
def _is_llvm(cxx: str) -> bool:
    if not cxx:
        return False
    try:
        done = subprocess.run([*_compiler_command(), "--version"], capture_output=True)
    except OSError:
        return False
    return any(word in (done.stdout + done.stderr).lower() for word in (b"llvm", b"clang"))


def gcc_llvm() -> bool:
    """Return whether the compiler is one of LLVM, such as clang.

    Examples
    --------
    >>> with config.change_flags(cxx=""):
    ...     gcc_llvm()
    False
    """
    return _is_llvm(config.cxx)


def try_march_flag(flags: Sequence[str]) -> bool:
    """Return whether a program compiled with some flags runs on this processor, and computes rightly.

    Parameters
    ----------
    flags : sequence of str
        Of the compiler.

    Examples
    --------
    >>> try_march_flag(["-march=no-such-processor"])
    False
    """
    code = """
        #include <cmath>
        int main(int argc, char** argv)
        {
            float x[4] = {0.0f, 1.0f, 4.0f, 9.0f}, total = 0.0f;
            for (int i = 0; i < 4; ++i) total += std::sqrt(x[i] * argc);
            return total == 6.0f ? 0 : 1;
        }
        """
    return all(GCC_compiler.try_compile_tmp(code, "try_march_", flags, try_run=True))


def icc_module_compile_str(*args: Any) -> None:
    """Raise an error: the compilers that can be used are those of :class:`GCC_compiler`.

    Raises
    ------
    NotImplementedError

    Examples
    --------
    >>> icc_module_compile_str("m", "int x;")
    Traceback (most recent call last):
        ...
    NotImplementedError: modules are compiled by GCC and clang only, see the flag cxx
    """
    raise NotImplementedError("modules are compiled by GCC and clang only, see the flag cxx")


def debug_counter(name: str, every: int = 1) -> None:
    """Count how often a place in the code is passed, and print it to the standard error each `every` times.

    Parameters
    ----------
    name : str
        Of the place.
    every : int, optional
        How often to print.

    Examples
    --------
    >>> for step in range(4):
    ...     debug_counter("rewrites", every=10)
    >>> debug_counter.rewrites
    4
    >>> del debug_counter.rewrites
    """
    count = vars(debug_counter).get(name, 0) + 1
    setattr(debug_counter, name, count)
    if count % every == 0:
        print(f"debug_counter [{name}]: {count}", file=sys.stderr)


class MissingGXX(CompileError):
    """There is no C++ compiler.

    Examples
    --------
    >>> with config.change_flags(cxx=""):
    ...     GCC_compiler.compile_str("m", "int x;", ".")
    Traceback (most recent call last):
        ...
    theano.gof.cmodule.MissingGXX: there is no C++ compiler (config.cxx is empty)
    """


class Compiler:
    """What compilers have in common: ways to find out whether they compile something.

    See Also
    --------
    theano.tensor.nnet.ctc.GCC_compiler : The C++ compiler.

    Examples
    --------
    >>> class AnsiC(Compiler):
    ...     @staticmethod
    ...     def compile_args():
    ...         return ["-ansi"]
    >>> AnsiC._try_compile_tmp("int main() {}", compiler="no-such-compiler")
    False
    """

    @staticmethod
    def compile_args() -> list[str]:
        """Return the flags of every module."""
        return []

    @classmethod
    def _try_compile_tmp(
        cls,
        src_code: str | bytes,
        tmp_prefix: str = "",
        flags: Sequence[str] = (),
        try_run: bool = False,
        output: bool = False,
        compiler: str | Sequence[str] | None = None,
        comp_args: bool = True,
    ) -> Any:
        """Find out whether a program compiles, and optionally what it does.

        Parameters
        ----------
        src_code
            The text of a whole program.
        tmp_prefix
            Start of the name of its file.
        flags
            For the compiler.
        try_run
            Whether to run it as well.
        output
            Whether to return what was printed, too.
        compiler
            The command; without one nothing compiles.
        comp_args
            Whether to add the flags of every module.

        Returns
        -------
        bool, tuple
            Whether it compiled; with `try_run` also whether it ran without an error; with `output` also the texts
            of the standard output and the standard error.
        """
        command = [compiler] if isinstance(compiler, str) else list(compiler or ())
        compiled = ran = False
        out = err = ""
        with tempfile.TemporaryDirectory(prefix="theano-try-") as folder:
            source, target = os.path.join(folder, f"{tmp_prefix}try.cpp"), os.path.join(folder, "try")
            with open(source, "wb") as f:
                f.write(src_code.encode() if isinstance(src_code, str) else src_code)
            try:
                if command and command[0]:
                    command += [*(cls.compile_args() if comp_args else ()), source, "-o", target, *flags]
                    done = subprocess.run(command, capture_output=True, text=True)
                    compiled, out, err = done.returncode == 0, done.stdout, done.stderr
                if compiled and try_run:
                    done = subprocess.run([target], capture_output=True, text=True)
                    ran, out, err = done.returncode == 0, done.stdout, done.stderr
            except OSError as why:
                err = str(why)
        result: list[Any] = [compiled, ran] if try_run else [compiled]
        if output:
            result += [out, err]
        return result[0] if len(result) == 1 else tuple(result)

    @classmethod
    def _try_flags(
        cls,
        flag_list: Sequence[str],
        preambule: str = "",
        body: str = "",
        try_run: bool = False,
        output: bool = False,
        compiler: str | Sequence[str] | None = None,
        comp_args: bool = True,
    ) -> Any:
        """Find out whether the compiler takes some flags; see :meth:`_try_compile_tmp`.

        Parameters
        ----------
        flag_list
            The flags.
        preambule, body
            Text before the function ``main`` of the program, and in it.
        try_run, output, compiler, comp_args
            As in `_try_compile_tmp`.
        """
        code = f"{preambule}\nint main(int argc, char** argv)\n{{\n{body}\nreturn 0;\n}}\n"
        return cls._try_compile_tmp(code, "try_flags_", flag_list, try_run, output, compiler, comp_args)


class GCC_compiler(Compiler):
    """The C++ compiler.

    See Also
    --------
    theano.gof.cmodule.Compiler : What compilers have in common: ways to find out whether they compile something.

    Examples
    --------
    >>> GCC_compiler.linking_patch([], ["m", "z"])
    ['-lm', '-lz']
    """

    @staticmethod
    def version_str() -> str:
        """Return the path and the version of the compiler."""
        return f"{config.cxx} {gcc_version()}"

    @staticmethod
    def compile_args() -> list[str]:
        """Return the flags of every module."""
        flags = [] if config.cmodule.remove_gxx_opt else ["-O2"]
        if config.cmodule.remove_gxx_opt:
            flags.append("-g")
        flags += ["-fno-math-errno", "-std=gnu++17", "-fwrapv", "-fno-strict-aliasing"]
        if not config.cmodule.compilation_warning:
            flags.append("-w")
        return flags + shlex.split(config.gcc.cxxflags)

    @staticmethod
    def linking_patch(lib_dirs: Sequence[str], libs: Sequence[str]) -> list[str]:
        """Return the arguments that link against libraries."""
        return [f"-l{lib}" for lib in libs]

    @classmethod
    def try_compile_tmp(
        cls,
        src_code: str | bytes,
        tmp_prefix: str = "",
        flags: Sequence[str] = (),
        try_run: bool = False,
        output: bool = False,
        compiler: str | None = None,
        comp_args: bool = True,
    ) -> Any:
        """Find out whether a program compiles, and optionally what it does; see :meth:`Compiler._try_compile_tmp`.

        The compiler is that of ``config.cxx`` by default.
        """
        command = compiler or (_compiler_command() if config.cxx else None)
        return cls._try_compile_tmp(src_code, tmp_prefix, flags, try_run, output, command, comp_args)

    @classmethod
    def try_flags(
        cls,
        flag_list: Sequence[str],
        preambule: str = "",
        body: str = "",
        try_run: bool = False,
        output: bool = False,
        compiler: str | None = None,
        comp_args: bool = True,
    ) -> Any:
        """Find out whether the compiler takes some flags; see :meth:`Compiler._try_flags`.

        The compiler is that of ``config.cxx`` by default.
        """
        command = compiler or (_compiler_command() if config.cxx else None)
        return cls._try_flags(flag_list, preambule, body, try_run, output, command, comp_args)

    @staticmethod
    def compile(
        src_code: str,
        include_dirs: Sequence[str] = (),
        lib_dirs: Sequence[str] = (),
        libs: Sequence[str] = (),
        args: Sequence[str] = (),
        no_args: Iterable[str] = (),
    ) -> bytes:
        """Compile a C++ text to a shared library.

        Parameters
        ----------
        src_code
        include_dirs, lib_dirs, libs
            Besides those of Python and NumPy.
        args, no_args
            Arguments to add and to leave out.

        Returns
        -------
        bytes
            The library.

        Raises
        ------
        CompileError
            With the compiler's message and the lines that it names.
        """
        if not config.cxx:
            raise MissingGXX("there is no C++ compiler (config.cxx is empty)")
        std_dirs, std_libs = std_lib_dirs_and_libs()
        forbidden = set(no_args)
        with tempfile.TemporaryDirectory(prefix="theano-cxx-") as folder:
            source = os.path.join(folder, "mod.cpp")
            target = os.path.join(folder, "mod.so")
            with open(source, "w") as f:
                f.write(src_code)
            command = [*_compiler_command(), "-shared", "-fPIC"]
            if sys.platform == "darwin":
                command += ["-undefined", "dynamic_lookup"]
            command += [a for a in [*GCC_compiler.compile_args(), *args] if a not in forbidden]
            command += [f"-I{d}" for d in uniq([*_prelude_dirs(), *include_dirs, *std_include_dirs()])]
            command += ["-o", target, source]
            all_dirs = uniq([*lib_dirs, *std_dirs])
            command += [f"-L{d}" for d in all_dirs] + [f"-Wl,-rpath,{d}" for d in all_dirs if sys.platform != "win32"]
            command += GCC_compiler.linking_patch(all_dirs, uniq([*libs, *std_libs]))
            try:
                done = subprocess.run(command, capture_output=True, text=True, errors="replace")
            except OSError as e:
                raise CompileError(f"the compiler {config.cxx!r} cannot be run: {e}") from e
            if config.cmodule.compilation_warning and done.stderr:
                print(done.stderr, file=sys.stderr)
            if done.returncode:
                kept = f"\nThe source is kept in {_keep(src_code)}" if config.nocleanup else ""
                raise CompileError(_explain(command, src_code, done.stderr, done.returncode) + kept)
            with open(target, "rb") as binary:
                return binary.read()

    @staticmethod
    def compile_str(
        module_name: str,
        src_code: str,
        location: str | None = None,
        include_dirs: Sequence[str] = (),
        lib_dirs: Sequence[str] = (),
        libs: Sequence[str] = (),
        preargs: Sequence[str] = (),
        py_module: bool = True,
        hide_symbols: bool = True,
    ) -> Any:
        """Compile a C++ text to a module in the directory `location`, and load it if it is a Python module.

        Parameters
        ----------
        module_name
            The name for which the text defines ``PyInit_<name>``.
        src_code
        location
            The directory; by default a temporary one of the process.
        include_dirs, lib_dirs, libs, preargs
            For the compiler.
        py_module
            Whether the module is loaded and returned.
        hide_symbols
            Kept for callers that pass it.

        Raises
        ------
        CompileError
        """
        data = GCC_compiler.compile(src_code, include_dirs, lib_dirs, libs, preargs)
        if location is None:
            location = tempfile.mkdtemp(prefix="theano-module-")
        path = os.path.join(location, module_name + ".so")
        with open(path, "wb") as f:
            f.write(data)
        return _load(module_name, path) if py_module else None


@functools.lru_cache(maxsize=1)
def _own_headers() -> str:
    # A digest of the headers that come with the package: what is compiled with others is of no use.
    digest = sha256()
    for path in sorted(glob.glob(os.path.join(std_include_dirs()[-1], "*.h"))):
        with open(path, "rb") as header:
            digest.update(header.read())
    return digest.hexdigest()[:16]


def _prelude_dirs() -> list[str]:
    """Return the directory of the precompiled headers of Python and NumPy, if they are there.

    These headers are most of what there is to compile. From a process' second module on, they are compiled beside it,
    so that no module has to wait for them.
    """
    global _n_compiled
    _n_compiled += 1
    if sys.platform != "linux" or "g++" not in os.path.basename(os.path.realpath(_compiler_command()[0])):
        return []
    flags = [a for a in GCC_compiler.compile_args() if a != "-w"]
    mark = [flags, GCC_compiler.version_str(), sys.version, np.__version__, std_include_dirs(), _own_headers()]
    folder = os.path.join(
        file_cache.open_cache(modules_directory()).directory,
        "prelude-" + sha256(repr(mark).encode()).hexdigest()[:20],
    )
    target = os.path.join(folder, "theano_prelude.h.gch")
    with _prelude_lock:
        if _prelude_in_work is not None:
            _prelude_in_work.take()
        if os.path.exists(target):
            return [folder]
        if _n_compiled > 1 and _prelude_in_work is None:
            _start_prelude(target)
    return []


class _PreludeInWork:
    """Headers that the compiler is working on, for this process."""

    def __init__(self, target: str):
        self.target = target
        self.temporary = f"{target}.{os.getpid()}.tmp"
        self.owner = os.getpid()
        header = os.path.join(std_include_dirs()[-1], "theano_prelude.h")
        command = [*_compiler_command(), "-fPIC", *GCC_compiler.compile_args(), "-x", "c++-header", header]
        command += ["-o", self.temporary, *(f"-I{d}" for d in std_include_dirs())]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        atexit.register(self.stop)

    def take(self) -> None:
        """Put the headers in their place if they are done."""
        if os.getpid() == self.owner and self.process.poll() == 0 and os.path.exists(self.temporary):
            with contextlib.suppress(OSError):
                os.replace(self.temporary, self.target)

    def stop(self) -> None:
        """Put the headers in their place, or give them up."""
        if os.getpid() != self.owner:
            return
        self.take()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        with contextlib.suppress(OSError):
            os.unlink(self.temporary)


def _start_prelude(target: str) -> None:
    global _prelude_in_work
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(target), 0o700, exist_ok=True)
        _prelude_in_work = _PreludeInWork(target)


def _compiler_command() -> list[str]:
    # The flag is a path, which may hold spaces, or a command with arguments.
    from shutil import which

    return [config.cxx] if os.path.exists(config.cxx) or which(config.cxx) else shlex.split(config.cxx)


def _keep(source: str) -> str:
    handle, path = tempfile.mkstemp(prefix="theano-failed-", suffix=".cpp")
    with os.fdopen(handle, "w") as f:
        f.write(source)
    return path


def _explain(command: Sequence[str], source: str, stderr: str, status: int) -> str:
    lines = source.split("\n")
    named = sorted({int(n) for n in re.findall(r"mod\.cpp:(\d+)", stderr) if int(n) <= len(lines)})[:8]
    near = sorted({m for n in named for m in range(max(1, n - 3), min(len(lines), n + 3) + 1)})
    excerpt = "\n".join(f"{n:5d}{'>' if n in named else ' '} {lines[n - 1]}" for n in near)
    return f"the compiler failed with status {status}\n{shlex.join(command)}\n{stderr.strip()[:6000]}\n{excerpt}"


def _load(name: str, path: str) -> Any:
    from importlib.machinery import ExtensionFileLoader
    from importlib.util import module_from_spec, spec_from_file_location

    loader = ExtensionFileLoader(name, path)
    spec = spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = module_from_spec(spec)
    with timed_loading():
        loader.exec_module(module)
    return module


def load_module(
    src_code: str,
    include_dirs: Sequence[str] = (),
    lib_dirs: Sequence[str] = (),
    libs: Sequence[str] = (),
    args: Sequence[str] = (),
    no_args: Sequence[str] = (),
    version: Any = None,
    compiler: Any = None,
) -> Any:
    """Return the extension module of a C++ text, compiled now or before.

    Parameters
    ----------
    src_code : str
        The text; it names the module ``@MODULE@``.
    include_dirs, lib_dirs, libs, args, no_args : list of str
        For the compiler.
    version : tuple or None
        What else the module depends on; None means that it is not kept beyond the process.
    compiler : object
        What an Op or Type gave as its compiler, with the interface of :class:`GCC_compiler`; its modules are not kept
        beyond the process.

    Returns
    -------
    module

    Raises
    ------
    CompileError

    Examples
    --------
    >>> class DryRun:
    ...     @staticmethod
    ...     def compile_args():
    ...         return ["-O3"]
    ...     @staticmethod
    ...     def compile_str(name, text, folder, include_dirs, lib_dirs, libs, flags):
    ...         return flags
    >>> load_module("int @MODULE@;", args=["-fopenmp", "-g"], no_args=["-g"], compiler=DryRun)
    ['-O3', '-fopenmp']
    """
    parts = [src_code, list(include_dirs), list(lib_dirs), list(libs), list(args), sorted(no_args), version]
    parts += [config.cxx, GCC_compiler.compile_args(), sys.version, np.__version__, sys.platform, _own_headers()]
    key = sha256(repr(parts).encode()).hexdigest()[:32]
    with _lock:
        own = compiler is None or compiler is GCC_compiler
        module = _loaded.get(key if own else f"{key} {compiler!r}")
        if module is None and not own:
            flags = [a for a in [*compiler.compile_args(), *args] if a not in set(no_args)]
            dirs = [*include_dirs, *std_include_dirs()]
            text, name = src_code.replace("@MODULE@", "m" + key), "m" + key
            module = compiler.compile_str(name, text, _own_directory(), dirs, list(lib_dirs), list(libs), flags)
            _loaded[f"{key} {compiler!r}"] = module
        elif module is None:
            path = _module_file(key, src_code, include_dirs, lib_dirs, libs, args, no_args, version is not None)
            module = _loaded[key] = _load("m" + key, path)
    return module


def _module_file(
    key: str,
    src_code: str,
    include_dirs: Sequence[str],
    lib_dirs: Sequence[str],
    libs: Sequence[str],
    args: Sequence[str],
    no_args: Sequence[str],
    keep: bool,
) -> str:
    store = file_cache.open_cache(modules_directory()) if keep else None
    if store is not None:
        found = store.lookup([key])
        if found:
            return found[key]
    data = GCC_compiler.compile(src_code.replace("@MODULE@", "m" + key), include_dirs, lib_dirs, libs, args, no_args)
    if store is not None:
        try:
            return store.store(data, [key])
        except OSError:
            pass
    path = os.path.join(_own_directory(), key + ".so")
    with open(path, "wb") as f:
        f.write(data)
    return path


def _own_directory() -> str:
    # Of this process, for what is not kept.
    if not _own or not os.path.isdir(_own[0]):
        _own[:] = [temporary_directory("theano-modules-")]
    return _own[0]
