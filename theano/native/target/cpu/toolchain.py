"""The C compiler of this machine."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from functools import lru_cache

from theano.gof.record import Record


class Compiler(Record):
    """A C compiler.

    Parameters
    ----------
    command
        Program and leading arguments.
    fingerprint
        What tells two compilers apart without running them: path, size and time of the program.
    """

    command: tuple[str, ...]
    fingerprint: str

    @property
    def is_gcc(self) -> bool:
        name = os.path.basename(os.path.realpath(self.command[0]))
        return ("gcc" in name or "g++" in name or name == "cc") and sys.platform == "linux"


def find_compiler() -> Compiler | None:
    """The compiler in force, or None where there is none or ``config.cxx`` is empty."""
    from theano.configdefaults import config
    from theano.configparser import flag_source

    setting = None if flag_source("cxx") == "default" else config.cxx
    return _find_compiler(setting, os.environ.get("CC", ""), os.environ.get("PATH", ""))


@lru_cache(maxsize=32)
def _find_compiler(setting: str | None, cc: str, path: str) -> Compiler | None:
    from shutil import which

    def resolve(command: Sequence[str]) -> Compiler | None:
        program = which(command[0], path=path) if command else None
        if program is None:
            return None
        info = os.stat(os.path.realpath(program))
        mark = f"{os.path.realpath(program)} {info.st_size} {info.st_mtime_ns} {' '.join(command[1:])}"
        return Compiler((program, *command[1:]), mark)

    if setting is not None and not setting.strip():
        return None
    # A path may hold spaces, a command may hold arguments.
    if setting is not None and (found := resolve([setting]) or resolve(shlex.split(setting))):
        return found
    for name in (cc, "gcc", "cc", "clang"):
        if name and (found := resolve(shlex.split(name))):
            return found
    return resolve(_zig())


def _zig() -> list[str]:
    """The command of the `ziglang` package; empty where that is not installed."""
    from importlib.util import find_spec

    spec = find_spec("ziglang")
    if spec is None or not spec.origin:
        return []
    return [os.path.join(os.path.dirname(spec.origin), "zig.exe" if os.name == "nt" else "zig"), "cc"]
