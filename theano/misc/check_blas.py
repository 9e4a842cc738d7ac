"""Times a matrix product, to see which BLAS Theano uses and how many cores it takes.

Run it as a script: ``OMP_NUM_THREADS=2 python theano/misc/check_blas.py -q``.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import Any

import numpy as np

import theano
import theano.tensor as T


def execute(
    execute: bool = True,
    verbose: bool = True,
    M: int = 2000,
    N: int = 2000,
    K: int = 2000,
    iters: int = 10,
    order: str = "C",
) -> tuple[float, str]:
    """Time ``c = 0.4 * c + 0.8 * dot(a, b)``.

    Parameters
    ----------
    execute : bool
        Whether to run the function, not only to compile it.
    verbose : bool
        Whether to print flags and versions.
    M, N, K : int
        ``a`` is M by K, ``b`` is K by N.
    iters : int
        How often the product is computed.
    order : {'C', 'F'}
        Memory layout of the matrices.

    Returns
    -------
    seconds : float
        Time of all products.
    implementation : str
        'CPU', or a note that no BLAS call is in the compiled function.

    Examples
    --------
    >>> seconds, implementation = execute(verbose=False, M=2, N=2, K=2, iters=1)
    >>> implementation, seconds > 0
    ('CPU', True)
    """
    if verbose:
        print("Some Theano flags:")
        print("    blas.ldflags=", theano.config.blas.ldflags)
        print("    compiledir=", theano.config.compiledir)
        print("    floatX=", theano.config.floatX)
        print("    device=", theano.config.device)
        print("Some OS information:")
        print("    sys.platform=", sys.platform)
        print("    sys.version=", sys.version)
        print("Some environment variables:")
        for name in ("MKL_NUM_THREADS", "OMP_NUM_THREADS", "GOTO_NUM_THREADS"):
            print(f"    {name}=", os.getenv(name))
        print()
        print("Numpy version:", np.__version__)

    dtype = theano.config.floatX
    a = theano.shared(np.ones((M, K), dtype=dtype, order=order))
    b = theano.shared(np.ones((K, N), dtype=dtype, order=order))
    c = theano.shared(np.ones((M, N), dtype=dtype, order=order))
    f = theano.function([], updates=[(c, 0.4 * c + 0.8 * T.dot(a, b))])
    found = any(isinstance(node.op, T.blas.GemmRelated) for node in f.maker.fgraph.apply_nodes)
    implementation = "CPU" if found else "ERROR, no call to BLAS in the graph"
    if not execute:
        return 0.0, implementation
    f()
    start = time.perf_counter()
    for _ in range(iters):
        f()
    return time.perf_counter() - start, implementation


def jobman_job(state: object, channel: Any) -> Any:
    """Run :func:`execute` as a job of the scheduler Jobman; returns its mark of what is complete.

    Parameters
    ----------
    state : object
        Not used.
    channel : object
        It has the attribute ``COMPLETE``.

    Returns
    -------
    object
        ``channel.COMPLETE``.
    """
    execute()
    return channel.COMPLETE


def test() -> tuple[float, str]:
    """Run :func:`execute` as it is.

    Returns
    -------
    tuple
        The seconds and the description, as :func:`execute` returns them.
    """
    return execute()


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("-q", "--quiet", action="store_true", help="print only the time")
parser.add_argument("--print_only", action="store_true", help="print the flags and versions, compute nothing")
parser.add_argument("-M", type=int, default=0, help="rows of the first matrix")
parser.add_argument("-N", type=int, default=0, help="columns of the second matrix")
parser.add_argument("-K", type=int, default=0, help="columns of the first matrix")
parser.add_argument("--iter", type=int, default=10, help="number of products")
parser.add_argument("--order", choices=["C", "F"], default="C", help="memory layout")
parser.add_argument("-B", type=int, default=2000, help="size of all three, unless given")


def main(argv: list[str] | None = None) -> int:
    """Run the script.

    Parameters
    ----------
    argv : list of str, optional
        Arguments; by default those of the process.

    Returns
    -------
    int
        The exit status.

    Examples
    --------
    >>> main(["--quiet", "-B", "2", "--iter", "1"])
    We executed 1 calls to gemm with a and b matrices of shapes (2, 2) and (2, 2).
    Total execution time: ...s on CPU.
    0
    """
    options = parser.parse_args(argv)
    seconds, implementation = execute(
        execute=not options.print_only,
        verbose=not options.quiet,
        M=options.M or options.B,
        N=options.N or options.B,
        K=options.K or options.B,
        iters=options.iter,
        order=options.order,
    )
    if options.print_only:
        return 0
    print(f"We executed {options.iter} calls to gemm with a and b matrices of shapes "
          f"({options.M or options.B}, {options.K or options.B}) and ({options.K or options.B}, {options.N or options.B}).")
    print(f"Total execution time: {seconds:.2f}s on {implementation}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
