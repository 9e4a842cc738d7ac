"""Compiles kernels: finds a C compiler, calls it for all kernels that are missing together, loads the libraries.

The entry point is :func:`load_kernels`. A C compiler is the one of ``config.cxx``; where that flag was not set, ``CC``,
``gcc``, ``cc``, ``clang`` and the ``ziglang`` package are tried in this order. ``config.cxx = ''`` turns compilation
off. ``config.gcc.cxxflags`` is added to the command.
"""

from __future__ import annotations

import heapq
import os
import re
import shlex
import sys
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from theano.configdefaults import config
from theano.misc import file_cache as kernel_cache
from theano.misc.digest import blake2b
from theano.native import ir
from theano.native.program import TYPENUM
from theano.native.runtime_build import load_runtime
from theano.native.target.cpu import libraries, printer
from theano.native.target.cpu.toolchain import Compiler, find_compiler
from theano.native.threads import core_count

HEADERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")

BASE_FLAGS = (
    "-shared", "-fPIC", "-std=gnu11", "-w", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-fwrapv",
    "-fno-strict-aliasing", "-fvisibility=hidden",
)  # fmt: skip
"""Flags of every kernel. No flag lets the compiler change values: NaN, infinities and the order of operations stay."""

GCC_FLAGS = (
    "-O1", "-fgcse", "-fpeel-loops", "-ftree-loop-vectorize", "-fvect-cost-model=dynamic", "--param", "vect-epilogues-nomask=0",
    "-fira-region=one", "-fno-thread-jumps", "-fno-semantic-interposition", "-fexcess-precision=standard", "-fcx-fortran-rules",
    "-nostdlib", "-lgcc",
)  # fmt: skip
"""What gcc gets besides. Kernels gain nothing from the passes of -O2 and -O3 but vectorisation and the unrolling of
short loops; without them gcc takes half the time. Nor do they gain from registers allocated loop by loop, a tenth of the
rest. Jump threading makes separate ways of selections on one condition, and such loops are not vectorised. Symbols of libm
and libc are those that the process has already."""


class CompilerMissing(RuntimeError):
    """There is no C compiler, or compilation is turned off."""


class CompileError(RuntimeError):
    """The compiler refused a kernel; the message shows its text where the error is."""


class CompilerFailed(CompileError, CompilerMissing):
    """The compiler could not do its work, whatever the text: no room on the disk, no memory, killed."""


@cache
def _cpu() -> tuple[bytes, frozenset[str]]:
    """What tells the CPU from others, and which of the instruction sets fma, avx2 and avx512f it has."""
    runtime = load_runtime()
    info = runtime.cpu_info() if runtime is not None else None
    if info is not None:
        names = zip(("fma", "avx2", "avx512f"), info[2:], strict=True)
        return info[1], frozenset(name for name, has in names if has)
    try:
        with open("/proc/cpuinfo", "rb") as file:
            first = file.read(8192).split(b"\n\n")[0]
    except OSError:
        import platform

        return f"{platform.machine()} {platform.processor()}".encode(), frozenset()
    # Not the lines that change from one moment to the next.
    lines = [line for line in first.split(b"\n") if not line.startswith((b"cpu MHz", b"bogomips", b"BogoMIPS"))]
    flags = [line for line in lines if line.startswith((b"flags", b"Features"))]
    return b"\n".join(lines), frozenset(flags[0].decode().partition(":")[2].split()) if flags else frozenset()


def cpu_flags() -> frozenset[str]:
    """Names of the CPU's instruction sets, as far as they matter here: fma, avx2, avx512f."""
    return _cpu()[1]


def cpu_fingerprint() -> str:
    """What tells apart CPUs that ``-march=native`` gives different code for."""
    return blake2b(_cpu()[0], digest_size=8).hexdigest()


@cache
def header_fingerprint(names: tuple[str, ...]) -> str:
    """Hash of headers and of those that they include."""
    texts: dict[str, bytes] = {}
    missing = list(names)
    while missing:
        name = missing.pop()
        if name not in texts:
            with open(os.path.join(HEADERS, name), "rb") as file:
                texts[name] = file.read()
            missing += [part.partition(b'"')[0].decode() for part in texts[name].split(b'\n#include "')[1:]]
    digest = blake2b(digest_size=16)
    for name in sorted(texts):
        digest.update(texts[name])
    return digest.hexdigest()


def compile_flags(compiler: Compiler) -> list[str]:
    """Flags of the command, without input and output."""
    flags = list(BASE_FLAGS)
    if sys.platform == "darwin":
        flags += ["-mcpu=native" if os.uname().machine == "arm64" else "-march=native", "-undefined", "dynamic_lookup"]
    else:
        flags.append("-march=native")
    if compiler.is_gcc:
        # The lanes of reductions stay in registers when their loop is unrolled: 32 doubles are 4 or 8 vectors.
        flags += [*GCC_FLAGS, "--param", f"max-completely-peel-times={4 if 'avx512f' in cpu_flags() else 8}"]
    else:
        flags += ["-O3", "-lm"]
    return flags + shlex.split(config.gcc.cxxflags)


def load_kernels(kernels: Sequence[ir.Kernel]) -> libraries.Kernels:
    """Compile what the cache lacks, all together, and load all.

    Parameters
    ----------
    kernels
        Kernels of the IR; equal ones, and ones that differ in rank, axes or names only, share code.

    Returns
    -------
    Kernels
        A ``_runtime.Kernel`` for each.

    Raises
    ------
    CompilerMissing
        No runtime, or something is not in the cache and there is no compiler.
    CompileError
        The compiler refused the text.
    IRError
        A kernel breaks a rule of the IR.
    """
    if load_runtime() is None:
        raise CompilerMissing("the runtime of the native engine is not available")
    compiler = find_compiler()
    if compiler is None:
        raise CompilerMissing("no C compiler was found, or config.cxx is empty")
    printed = [printer.print_kernel(kernel) for kernel in kernels]
    salts = [_salt(compiler, p.headers, config.gcc.cxxflags) for p in printed]
    keys = [blake2b(p.text.encode(), key=s, digest_size=16).hexdigest() for p, s in zip(printed, salts, strict=True)]
    wanted = dict(zip(keys, printed, strict=True))
    found = libraries.find(wanted, lambda missing: _compile_missing(compiler, {key: wanted[key] for key in missing}))
    return libraries.Kernels(found, map(_form, keys, kernels, printed))


def kernel_source(kernels: Sequence[ir.Kernel]) -> str:
    """The C text of kernels, for reading."""
    return printer.translation_unit([(f"kernel{i}", printer.print_kernel(k)) for i, k in enumerate(kernels)])


@lru_cache(maxsize=512)
def _salt(compiler: Compiler, headers: tuple[str, ...], extra_flags: str) -> bytes:
    """What makes code differ besides its text; `extra_flags` are among those of `compile_flags`."""
    text = "\n".join((compiler.fingerprint, cpu_fingerprint(), header_fingerprint(headers), *compile_flags(compiler)))
    return blake2b(text.encode(), digest_size=32).digest()


def _compile_missing(compiler: Compiler, missing: dict[str, printer.Printed]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    cache = kernel_cache.open_cache()
    for groups in _share_out(missing):
        sources = [printer.translation_unit([("tk_" + key, missing[key]) for key in group]) for group in groups]
        for group, data in zip(groups, compile_sources(compiler, sources), strict=True):
            library = _keep(cache, data, group)
            found.update((key, libraries.loaded.keep(key, library, len(data) // len(group))) for key in group)
    return found


def _keep(cache: kernel_cache.KernelCache, data: bytes, keys: list[str]) -> Any:
    """Store a library and load it."""
    try:
        return libraries.load(cache.store(data, keys))
    except OSError as exc:
        # A full disk, a directory made read-only, a mount without the right to execute.
        cache = kernel_cache.temporary_cache(f"the cache of compiled kernels {cache.directory!r} cannot be used: {exc}")
        try:
            return libraries.load(cache.store(data, keys))
        except OSError as problem:
            raise CompileError(f"the compiled kernels cannot be loaded: {problem}") from problem


_MOST_IN_A_TEXT = 100
"""Kernels in one text: the memory of the compiler grows with it, and what is done is kept should the process be stopped."""


def _share_out(kernels: dict[str, printer.Printed]) -> list[list[list[str]]]:
    """Split kernels into rounds of groups that are compiled at the same time; one group if they are few.

    A call costs about 20 ms by itself, a kernel 3 ms, 0.2 ms a line and 8 ms for each vector function in it.
    """
    weights = {key: 3.0 + 0.2 * p.text.count("\n") + 8.0 * p.functions for key, p in kernels.items()}
    at_once = max(1, min(int(sum(weights.values()) / 15), core_count(), 4, len(kernels)))
    rounds = -(-len(kernels) // (at_once * _MOST_IN_A_TEXT))
    loads = [(0.0, i) for i in range(rounds * at_once)]
    groups: list[list[str]] = [[] for _ in loads]
    for key in sorted(weights, key=lambda k: -weights[k]):
        load, lightest = loads[0]
        groups[lightest].append(key)
        heapq.heapreplace(loads, (load + weights[key], lightest))
    return [groups[i : i + at_once] for i in range(0, len(groups), at_once)]


def compile_sources(compiler: Compiler, sources: Sequence[str]) -> list[bytes]:
    """Compile C texts at the same time, each to a shared library; return the libraries' bytes.

    Raises
    ------
    CompileError
        With the compiler's message and the lines that it names.
    CompilerFailed
        When it is not the text that is wrong.
    """
    import tempfile

    flags = compile_flags(compiler)
    try:
        with tempfile.TemporaryDirectory(prefix="theano-cc-") as directory:
            return _run_compilers(compiler, sources, flags, directory)
    except OSError as exc:
        raise CompilerFailed(f"the compiler {compiler.command[0]!r} cannot be run: {exc}") from exc


_SYSTEM_FAULT = re.compile(
    r"signal terminated program|No space left|File too large|Disk quota|[Oo]ut of memory|[Rr]ead-only file system"
)


def _run_compilers(compiler: Compiler, sources: Sequence[str], flags: list[str], directory: str) -> list[bytes]:
    import subprocess

    running = []
    try:
        for i, source in enumerate(sources):
            text, target = os.path.join(directory, f"{i}.c"), os.path.join(directory, f"{i}{kernel_cache.SUFFIX}")
            with open(text, "w", encoding="utf-8") as file:
                file.write(source)
            command = [*compiler.command, "-x", "c", text, "-x", "none", "-I", HEADERS, "-o", target, *flags]
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, close_fds=False,
                start_new_session=os.name == "posix",
            )  # fmt: skip
            running.append((command, process, source, target))
        messages = [process.communicate()[1].decode(errors="replace") for _, process, _, _ in running]
    except BaseException:
        _stop([process for _, process, _, _ in running])
        raise
    results = []
    for (command, process, source, target), message in zip(running, messages, strict=True):
        if process.returncode:
            # A shell that starts the compiler reports a signal as 128 and its number.
            failed = process.returncode < 0 or process.returncode > 128 or _SYSTEM_FAULT.search(message)
            raise (CompilerFailed if failed else CompileError)(_error_text(command, source, message, process.returncode))
        with open(target, "rb") as file:
            results.append(file.read())
    return results


def _stop(processes: Sequence[Any]) -> None:
    """End compilers with the processes that they have started, and wait for them."""
    import signal

    for process in processes:
        try:
            if os.name == "posix":
                os.killpg(process.pid, signal.SIGTERM)
            else:
                process.terminate()
        except ProcessLookupError:
            pass
    for process in processes:
        process.communicate()


def _error_text(command: Sequence[str], source: str, stderr: str, code: int) -> str:
    lines = source.split("\n")
    named = sorted({int(n) for n in re.findall(r"\.c:(\d+):", stderr)})[:8]
    named = [n for n in named if n <= len(lines)]
    shown = sorted({m for n in named for m in range(max(1, n - 3), min(len(lines), n + 3) + 1)})
    excerpt = "\n".join(f"{n:5d}{'>' if n in named else ' '} {lines[n - 1]}" for n in shown)
    return f"the compiler failed with status {code}\n{shlex.join(command)}\n{stderr.strip()[:4000]}\n{excerpt}"


def _form(key: str, kernel: ir.Kernel, printed: printer.Printed) -> libraries.Form:
    dims = range(kernel.ndim)
    inputs = tuple((TYPENUM[op.dtype], op.rank, tuple(map(op.axis_of, dims)), op.broadcast) for op in kernel.inputs)
    outputs = tuple((TYPENUM[out.dtype], out.dims, out.alias) for out in kernel.outputs)
    ordered = any(stage.index is not None for stage in kernel.stages)
    return libraries.Form(key, kernel.n_outer, kernel.n_inner, inputs, outputs, kernel.nonempty, ordered, printed.cost)
