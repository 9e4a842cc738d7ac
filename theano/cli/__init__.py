"""The command line: `theano demo`, `theano info`, `theano cache`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from theano.version import full_version


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not a positive number")
    return number


def _new_file(path: str) -> str:
    """A path that a file can be written to, which is asked before the work that ends with writing it."""
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path) or not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        raise argparse.ArgumentTypeError(f"no file can be written to {path}")
    return path


def parser() -> argparse.ArgumentParser:
    """Build the parser of the `theano` command."""
    top = argparse.ArgumentParser(prog="theano", description="Symbolic NumPy expressions, compiled.")
    top.add_argument("--version", action="version", version=f"Theano {full_version}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="train three models, the last a convolutional net, on handwritten digits")
    demo.add_argument("--epochs", type=_count, default=40, help="passes over the training digits (default: %(default)s)")
    demo.add_argument("--seed", type=int, default=1, help="seed of the split and of the weights (default: %(default)s)")
    demo.add_argument(
        "--picture",
        type=_new_file,
        default="theano-demo.png",
        metavar="FILE",
        help="where to draw the digits that the MLP gets wrong; needs matplotlib (default: %(default)s)",
    )
    demo.add_argument("--ranks", type=_count, default=1, metavar="N",
                      help="train in N processes, each on a part of every batch; needs MPI (default: %(default)s)")

    info = commands.add_parser("info", help="what a bug report needs: versions, flags, compiler, BLAS, cache")
    info.add_argument("--json", action="store_true", help="print it as JSON")

    cache = commands.add_parser("cache", help="look at the cache of compiled kernels, or empty it")
    cache.add_argument("action", choices=("list", "size", "clear", "purge"),
                       help="list: the files; size: their number and bytes; clear: the kernels; "
                            "purge: everything, the compiled runtime included")
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run the `theano` command; returns the exit status."""
    args = parser().parse_args(argv)
    if args.command == "demo":
        from theano.cli.demo import demo, launch

        if args.ranks > 1:
            return launch(args.ranks, ["--epochs", str(args.epochs), "--seed", str(args.seed), "--picture", args.picture])
        return demo(epochs=args.epochs, seed=args.seed, picture=args.picture)
    if args.command == "info":
        from theano.cli.info import info

        return info(as_json=args.json)
    from theano.cli.cache import cache

    return cache(args.action)
