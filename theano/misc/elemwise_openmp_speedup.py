"""Script: how much faster several threads make elementwise operations on this machine.

It times a fast and a slow operation on a vector of ``openmp_elemwise_minsize`` elements, in one thread and in all of
them, to help to choose that flag. ``OMP_NUM_THREADS`` sets the number of threads::

    OMP_NUM_THREADS=2 python theano/misc/elemwise_openmp_speedup.py
"""

from __future__ import annotations

import argparse
import functools
import os
import subprocess
import sys

OPERATIONS = ("fast", "slow")


def measure(size: int, calls: int) -> dict[str, float]:
    """Return the seconds that a call of each operation takes in this process.

    Parameters
    ----------
    size : int
        Length of the vector.
    calls : int
        How often each function is called; the quickest of five rounds counts.

    Returns
    -------
    dict
        Seconds by name of the operation.

    Examples
    --------
    >>> seconds = measure(size=10, calls=1)
    >>> sorted(seconds), min(seconds.values()) > 0
    (['fast', 'slow'], True)
    """
    import timeit

    import numpy as np

    import theano
    from theano import tensor as T

    x = T.vector("x")
    value = np.random.default_rng(0).random(size).astype(x.dtype)
    result = {}
    for name, expression in zip(OPERATIONS, (2 * x + x**3, T.sin(x))):
        f = theano.function([x], expression)
        f(value)
        result[name] = min(timeit.repeat(functools.partial(f, value), number=calls, repeat=5)) / calls
    return result


def _measure_in_child(openmp: bool, size: int, calls: int) -> dict[str, float]:
    # The number of threads is settled once a process.
    environment = dict(os.environ)
    flags = [f for f in environment.get("THEANO_FLAGS", "").split(",") if f]
    environment["THEANO_FLAGS"] = ",".join([*flags, f"openmp={openmp}"])
    if not openmp:
        environment["OMP_NUM_THREADS"] = "1"
    command = [sys.executable, os.path.abspath(__file__), "--child", "-N", str(size), "--iter", str(calls)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the measurement failed:\n{done.stderr}")
    words = done.stdout.split()
    return {name: float(seconds) for name, seconds in zip(words[-4::2], words[-3::2])}


def runScript(N: int) -> list[float]:
    """Return the seconds of a call of each operation on a vector of length `N`, in a process with the flags of this one.

    Parameters
    ----------
    N : int
        Its length.
    """
    from theano import config

    return list(_measure_in_child(config.openmp, N, 10).values())


parser = argparse.ArgumentParser(description="Time elementwise operations in one and in several threads.")
parser.add_argument("-N", type=int, default=0, help="length of the vector (default: openmp_elemwise_minsize)")
parser.add_argument("--iter", type=int, default=10, help="calls a round (default: 10)")
parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)


def main(arguments: list[str] | None = None) -> int:
    """Run the script with command-line `arguments`; return its exit status.

    Parameters
    ----------
    arguments : list of str, optional
        By default those of the process.

    Returns
    -------
    int
        0.

    Examples
    --------
    >>> main(["--child", "-N", "10", "--iter", "1"])
    fast ...
    slow ...
    0
    """
    options = parser.parse_args(arguments)
    size = options.N
    if not size:
        from theano import config

        size = config.openmp_elemwise_minsize
    if options.child:
        for name, seconds in measure(size, options.iter).items():
            print(name, seconds)
        return 0
    without, with_ = (_measure_in_child(openmp, size, options.iter) for openmp in (False, True))
    for name in OPERATIONS:
        a, b = without[name], with_[name]
        print(f"{name.capitalize()} op time without openmp {a:f}s with openmp {b:f}s speedup {a / b:2.2f}")
    return 0


if __name__ == "__main__":
    # Run as a file, this folder comes first on the path, where a module may hide one of the standard library's.
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [os.path.dirname(os.path.dirname(folder)), *(p for p in sys.path if os.path.abspath(p or ".") != folder)]
    sys.exit(main())
