"""`theano cache` and `theano-cache`: the compiled kernels on disk."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def cache(action: str) -> int:
    """List, size, clear or purge the cache; returns the exit status."""
    from theano.native import cache as store

    entries = store.list_entries() if action in ("list", "size") else []
    if action == "list":
        for entry in entries:
            print(f"{entry.size:>10,} bytes  {entry.kernels:>4} kernels  {entry.path}")
    elif action == "size":
        print(f"{store.cache_directory()}: {len(entries)} libraries, {store.cache_size():,} bytes")
    elif action == "clear":
        print(f"{store.clear()} libraries removed")
    else:
        print(f"{store.purge()} libraries removed")
    return 0


def theano_cache(argv: Sequence[str] | None = None) -> int:
    """Run the documented `theano-cache` command; returns the exit status."""
    ask = argparse.ArgumentParser(prog="theano-cache", description="Look at the cache of compiled code, or empty it.")
    ask.add_argument("action", nargs="?", default="print", choices=("print", "list", "cleanup", "clear", "unlock", "purge"),
                     help="print (default): where the cache is; list: its libraries; cleanup: remove what was not used for long; "
                          "clear: remove the kernels; unlock: remove stale locks; purge: remove everything")
    args = ask.parse_args(argv)
    from theano.configdefaults import config
    from theano.native import cache as store

    if args.action == "print":
        print(store.cache_directory())
    elif args.action == "list":
        cache("list")
    elif args.action == "cleanup":
        print(f"{store.clear(max_age=config.cmodule.age_thresh_use)} libraries removed")
    elif args.action == "unlock":
        from theano.gof.compilelock import force_unlock

        force_unlock()
    else:
        cache(args.action)
    return 0
