"""The command line: `theano demo`, `theano info`, `theano cache`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def parser() -> argparse.ArgumentParser:
    """Build the parser of the `theano` command."""
    top = argparse.ArgumentParser(prog="theano", description="Symbolic NumPy expressions, compiled.")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="train three models, the last a convolutional net, on handwritten digits")
    demo.add_argument("--epochs", type=int, default=40, help="passes over the training digits (default: %(default)s)")
    demo.add_argument("--seed", type=int, default=1, help="seed of the split and of the weights (default: %(default)s)")
    demo.add_argument("--picture", default="theano-demo.png", metavar="FILE",
                      help="where to draw the digits that the MLP gets wrong; needs matplotlib (default: %(default)s)")

    commands.add_parser("info", help="what a bug report needs: versions, flags, compiler, BLAS, cache")

    cache = commands.add_parser("cache", help="look at the cache of compiled kernels, or empty it")
    cache.add_argument("action", choices=("list", "size", "clear", "purge"),
                       help="list: the files; size: their number and bytes; clear: the kernels; "
                            "purge: everything, the compiled runtime included")
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run the `theano` command; returns the exit status."""
    args = parser().parse_args(argv)
    if args.command == "demo":
        from theano.cli.demo import demo

        return demo(epochs=args.epochs, seed=args.seed, picture=args.picture)
    if args.command == "info":
        from theano.cli.info import info

        return info()
    from theano.cli.cache import cache

    return cache(args.action)
