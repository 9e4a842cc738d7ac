"""`theano cache` and `theano-cache`: the compiled kernels and modules on disk."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def _directories() -> list[str]:
    """Where kernels are kept, and the modules of Ops with C code."""
    from theano.gof import cmodule
    from theano.misc import file_cache as store

    return list(dict.fromkeys([store.cache_directory(), cmodule.modules_directory()]))


def _clear(max_age: float = 0.0) -> int:
    import shutil

    from theano.gof import cmodule
    from theano.misc import file_cache as store

    removed = sum(store.clear(directory, max_age) for directory in _directories())
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
                what = f"{entry.kernels:>4} kernels" if directory == store.cache_directory() else "     module "
                print(f"{entry.size:>10,} bytes  {what}  {entry.path}")
    elif action == "size":
        for directory in _directories():
            print(f"{directory}: {len(store.list_entries(directory))} libraries, {store.cache_size(directory):,} bytes")
    elif action == "clear":
        print(f"{_clear()} libraries removed")
    else:
        print(f"{sum(store.purge(directory) for directory in _directories())} libraries removed")
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
        print(f"{_clear(config.cmodule.age_thresh_use)} libraries removed")
    elif args.action == "unlock":
        from theano.gof.compilelock import force_unlock

        force_unlock()
    else:
        cache(args.action)
    return 0
