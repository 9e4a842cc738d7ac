"""What is in the directories of compiled code, and removing it: the command ``theano-cache`` does the same."""

from __future__ import annotations

import os
import shutil
import time

from theano.configdefaults import config
from theano.gof.cmodule import modules_directory, precompiled_headers
from theano.misc import file_cache


def _directories() -> list[str]:
    return [file_cache.cache_directory(), modules_directory(), file_cache.programs_directory()]


def cleanup() -> None:
    """Remove what is of no use any more: compiled code that was not used for ``cmodule.age_thresh_use`` seconds, and the
    modules of older versions, which lie in directories of their own.
    """
    for directory in _directories():
        file_cache.clear(directory, config.cmodule.age_thresh_use)
    if os.path.isdir(config.compiledir):
        for entry in os.scandir(config.compiledir):
            if entry.is_dir() and os.path.isfile(os.path.join(entry.path, "key.pkl")):
                shutil.rmtree(entry.path, ignore_errors=True)


def print_title(title: str, overline: str = "", underline: str = "") -> None:
    """Print a title between lines of the characters `overline` and `underline`, which are left out if empty."""
    for line in (overline * len(title), title, underline * len(title)):
        if line:
            print(line)


def print_compiledir_content() -> None:
    """Print the files of compiled code in ``config.compiledir``: their sizes, how many kernels they hold, their ages."""
    print_title(f"Theano cache: {config.compiledir}", overline="=", underline="=")
    now = time.time()
    titles = "Compiled kernels", "Compiled modules of Ops with C code", "Programs of functions"
    for directory, title in zip(_directories(), titles, strict=True):
        entries = file_cache.list_entries(directory) if os.path.isdir(directory) else []
        print()
        print_title(f"{title}: {len(entries)} files, {sum(e.size for e in entries):,} bytes", underline="+")
        for entry in entries:
            name, days = os.path.basename(entry.path), (now - entry.used) / 86400
            print(f"{name}  {entry.size:>10,} bytes  {entry.kernels:>4} kernels  used {days:.0f} days ago")


def compiledir_purge() -> None:
    """Remove all that is compiled in ``config.compiledir``, and the directory."""
    for directory in _directories():
        file_cache.purge(directory)
    for directory in precompiled_headers():
        shutil.rmtree(directory, ignore_errors=True)
    shutil.rmtree(config.compiledir, ignore_errors=True)


def basecompiledir_ls() -> None:
    """Print what is in ``config.base_compiledir``: the directories of compiled code of all platforms, and other files."""
    entries = sorted(os.scandir(config.base_compiledir), key=lambda entry: entry.name)
    print(f"Base compile dir is {config.base_compiledir}")
    print("Sub-directories (possible compile caches):")
    for name in [entry.name for entry in entries if entry.is_dir()] or ["(None)"]:
        print(f"    {name}")
    others = [entry.name for entry in entries if not entry.is_dir()]
    if others:
        print("\nOther files in base_compiledir:")
        print("\n".join(f"    {name}" for name in others))


def basecompiledir_purge() -> None:
    """Remove the compiled code of all platforms, ``config.base_compiledir``."""
    compiledir_purge()
    shutil.rmtree(config.base_compiledir, ignore_errors=True)
