"""Finds the C runtime `theano.native._runtime`, and builds it once per machine where the installation has none."""

from __future__ import annotations

import functools
import importlib
import os
import sys
import warnings
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

import numpy

from theano.misc.digest import blake2b
from theano.native.memory_limit import memory_limit
from theano.process import new_lock, temporary_directory

NAME = "theano.native._runtime"
SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "target", "cpu", "runtime")
# Functions begin at cache lines: how fast one is does not depend on what stands before it.
FLAGS = ("-std=gnu11", "-O3", "-fno-math-errno", "-falign-functions=64", "-fvisibility=hidden", "-fPIC", "-shared", "-pthread")

_lock = new_lock()


def load_runtime() -> ModuleType | None:
    """Return the extension module `theano.native._runtime`, or None if there is none and none can be built.

    The module that was installed with the package is taken first. Otherwise the C files beside this one are compiled, with
    the compiler that compiles kernels, to a file in `config.compiledir` that later processes load.
    """
    with _lock:
        return _load_once()


@functools.cache
def _load_once() -> ModuleType | None:
    runtime = _import() or build_runtime()
    memory = memory_limit()
    if runtime is not None and memory is not None:
        runtime.pool_set_memory(memory)
    return runtime


def _import() -> ModuleType | None:
    try:
        return importlib.import_module(NAME)
    except ImportError:
        return None


def build_runtime(directory: str | None = None) -> ModuleType | None:
    """Load the runtime from `directory`, compiling it there first if need be.

    Parameters
    ----------
    directory
        Where the compiled file is kept; by default the folder ``runtime`` of `config.compiledir`. A directory that others
        may write to, or that cannot be written to, is not used: the file is then built for this process only.

    Returns
    -------
    module or None
        None, with a warning, if there is no compiler or if it fails; None silently if `config.cxx` is empty.
    """
    import theano.native
    from theano.misc.file_cache import KernelCache
    from theano.native.target.cpu.toolchain import find_compiler

    compiler = find_compiler()
    if compiler is None:
        return None
    try:
        cache = KernelCache(_safe_directory(directory))
        key = _key(compiler.fingerprint)
        path = cache.lookup([key]).get(key) or cache.store(_compiled(compiler.command), [key])
        runtime = load_file(NAME, path)
    except (OSError, RuntimeError, ImportError) as problem:
        warnings.warn(f"the native runtime of Theano could not be built: {problem}", RuntimeWarning, stacklevel=2)
        return None
    sys.modules[NAME] = theano.native._runtime = runtime
    return runtime


def _safe_directory(directory: str | None) -> str:
    from theano.configdefaults import config
    from theano.misc.file_cache import unsafe_reason

    directory = directory or os.path.join(config.compiledir, "runtime")
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        if unsafe_reason(directory) is None and os.access(directory, os.W_OK | os.X_OK):
            return directory
    except OSError:
        pass
    return temporary_directory("theano-runtime-")


def _sources(*endings: str) -> list[str]:
    """The paths of the runtime's files with one of these endings, in order."""
    return sorted(os.path.join(SOURCES, name) for name in os.listdir(SOURCES) if name.endswith(endings))


def _key(compiler: str) -> str:
    """What the compiled file depends on."""
    import sysconfig

    digest = blake2b(digest_size=16)
    for path in _sources(".c", ".h", ".def"):
        with open(path, "rb") as file:
            digest.update(file.read())
    for part in (
        compiler,
        " ".join(FLAGS),
        sys.version,
        str(sysconfig.get_config_var("EXT_SUFFIX")),
        numpy.__version__,
    ):
        digest.update(part.encode())
    return digest.hexdigest()


def _compiled(command: tuple[str, ...]) -> bytes:
    """The bytes of the compiled file."""
    import subprocess
    import sysconfig
    import tempfile

    sources = _sources(".c")
    if not sources:
        raise RuntimeError("its C files were not installed")
    includes = [SOURCES, numpy.get_include(), sysconfig.get_path("include")]
    with tempfile.TemporaryDirectory(prefix="theano-cc-") as directory:
        target = os.path.join(directory, "runtime.so")
        arguments = [*command, *FLAGS, *(f"-I{d}" for d in includes), "-o", target, *sources]
        if sys.platform == "darwin":
            arguments += ["-undefined", "dynamic_lookup"]
        done = subprocess.run(arguments, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{command[0]} failed with status {done.returncode}\n{done.stderr.strip()[:2000]}")
        with open(target, "rb") as file:
            return file.read()


def load_file(name: str, path: str) -> ModuleType:
    """Load an extension module from a file, as a module that nothing else knows of."""
    loader = ExtensionFileLoader(name, path)
    module = module_from_spec(spec_from_file_location(name, path, loader=loader))
    loader.exec_module(module)
    return module
