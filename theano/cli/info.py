"""`theano info`: what a bug report needs."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import sys


def _versions() -> list[tuple[str, str]]:
    rows = [("python", sys.version.split()[0]), ("platform", platform.platform())]
    for name in ("Theano", "numpy", "scipy", "ziglang", "pydot", "igraph", "matplotlib"):
        try:
            rows.append((name, importlib.metadata.version(name)))
        except importlib.metadata.PackageNotFoundError:
            rows.append((name, "not installed"))
    return rows


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _engine() -> list[tuple[str, str]]:
    from theano.misc import file_cache as cache
    from theano.native import threads
    from theano.native.fastcall import _runtime
    from theano.native.target.cpu import compiler

    rows = [("processor", _processor()), ("cores", str(os.cpu_count()))]
    if _runtime is None:
        rows.append(("runtime", "not available: functions run on NumPy"))
    else:
        rows += [("runtime", _runtime.__file__), ("threads", str(threads.thread_count()))]
    found = compiler.find_compiler()
    rows.append(("compiler", "none" if found is None else " ".join(found.command)))
    rows.append(("BLAS", _blas()))
    count = len(cache.list_entries())
    rows.append(("cache", f"{cache.cache_directory()} ({count} libraries, {cache.cache_size() / 1e6:.1f} MB)"))
    return rows


def _blas() -> str:
    from theano.native.fastcall import _runtime

    if _runtime is None:
        return "NumPy's"
    from theano.native.target.cpu.blas_library import load_blas

    return load_blas()


def _value(flag: str) -> str:
    from theano.configdefaults import config

    value = config
    for part in flag.split("."):
        value = getattr(value, part)
    return str(value)


def _flags() -> list[tuple[str, str, str]]:
    from theano.configparser import _config_var_list, flag_source

    names = sorted(param.fullname for param in _config_var_list)
    return [(name, _value(name), flag_source(name)) for name in names]


def info(as_json: bool = False) -> int:
    """Print versions, the engine's state, and every flag with where its value came from; returns the exit status."""
    import theano

    folder = os.path.dirname(theano.__file__)
    if as_json:
        flags = {name: {"value": value, "from": source} for name, value, source in _flags()}
        facts = {"theano": theano.__version__, "folder": folder, "versions": dict(_versions()), "engine": dict(_engine())}
        print(json.dumps({**facts, "flags": flags}, indent=2))
        return 0

    from rich.console import Console
    from rich.table import Table

    # In a file or a pipe nothing is cut to a width that nobody sees.
    console = Console(soft_wrap=True, width=None if sys.stdout.isatty() else 10_000)
    console.print(f"Theano {theano.__version__}, {folder}")
    for title, rows in (("versions", _versions()), ("engine", _engine())):
        table = Table(title=title, title_justify="left", show_header=False)
        for row in rows:
            table.add_row(*row)
        console.print(table)
    flags_table = Table("flag", "value", "from", title="flags in force", title_justify="left")
    for row in _flags():
        flags_table.add_row(*row)
    console.print(flags_table)
    return 0
