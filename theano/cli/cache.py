"""`theano cache` and `theano-cache`: the compiled kernels and modules on disk."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def _directories() -> dict[str, str]:
    """Where kernels, the modules of Ops with C code and programs are kept, and what to call the files there."""
    from theano.gof import cmodule
    from theano.misc import file_cache as store

    libraries, programs = (store.cache_directory(), cmodule.modules_directory()), store.programs_directory()
    return {**dict.fromkeys(libraries, "libraries"), programs: "programs"}


def _in_words(removed: dict[str, int]) -> str:
    """How many files were removed from each directory."""
    counts = dict.fromkeys(_directories().values(), 0)
    for directory, count in removed.items():
        counts[_directories()[directory]] += count
    return " and ".join(f"{count} {what}" for what, count in counts.items()) + " removed"


def _clear(max_age: float = 0.0) -> dict[str, int]:
    import shutil

    from theano.gof import cmodule
    from theano.misc import file_cache as store

    removed = {directory: store.clear(directory, max_age) for directory in _directories()}
    if not max_age:
        for directory in cmodule.precompiled_headers():
            shutil.rmtree(directory, ignore_errors=True)
    return removed


def cache(action: str) -> int:
    """List, size, clear or purge the cache of kernels and of modules; returns the exit status."""
    from theano.misc import file_cache as store

    if action == "list":
        for directory in _directories():
            for entry in store.list_entries(directory):
                known = {store.cache_directory(): f"{entry.kernels:>4} kernels", store.programs_directory(): "     program"}
                print(f"{entry.size:>10,} bytes  {known.get(directory, '     module ')}  {entry.path}")
    elif action == "size":
        for directory, what in _directories().items():
            print(f"{directory}: {len(store.list_entries(directory))} {what}, {store.cache_size(directory):,} bytes")
    elif action == "clear":
        print(_in_words(_clear()))
    else:
        print(_in_words({directory: store.purge(directory) for directory in _directories()}))
    return 0


def theano_cache(argv: Sequence[str] | None = None) -> int:
    """Run the documented `theano-cache` command; returns the exit status."""
    ask = argparse.ArgumentParser(prog="theano-cache", description="Look at the cache of compiled code, or empty it.")
    ask.add_argument(
        "action",
        nargs="?",
        default="print",
        choices=("print", "basecompiledir", "list", "cleanup", "clear", "unlock", "purge"),
        help="print (default): where the cache is; basecompiledir: where those of all configurations are; list: its"
        " libraries; cleanup: remove what was not used for long; clear: remove the kernels; unlock: remove stale locks;"
        " purge: remove everything",
    )
    args = ask.parse_args(argv)
    from theano.configdefaults import config
    from theano.misc import file_cache as store

    if args.action == "print":
        print(store.cache_directory())
    elif args.action == "basecompiledir":
        print(config.base_compiledir)
    elif args.action == "list":
        cache("list")
    elif args.action == "cleanup":
        print(_in_words(_clear(config.cmodule.age_thresh_use)))
    elif args.action == "unlock":
        from theano.gof.compilelock import force_unlock

        force_unlock()
    else:
        cache(args.action)
    return 0
