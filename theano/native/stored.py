"""Programs kept on disk, so that a graph that was compiled before is neither rewritten nor lowered again.

What `theano.compile.program_key` makes of a function's graph and of all that has a say in its compilation is the key. Kept is the
program as plain data (`theano.native.target.cpu.form`) and what its kernels are made from; a program that calls functions of
Python other than those of this package and of NumPy is not kept. `theano.native.remember` writes them, `theano.native.recalled`
makes functions of them.
"""

from __future__ import annotations

import pickle
from typing import NamedTuple

from theano.configdefaults import config
from theano.misc import file_cache
from theano.native.target.cpu import libraries
from theano.native.target.cpu.form import Form


class Stored(NamedTuple):
    """What is kept of a function; all of it is data, so that equal ones have equal bytes.

    Parameters
    ----------
    program
        Its program.
    kernels
        What its kernels are made from.
    arrays
        Of each input whether it is an array.
    places
        Of each output the input whose storage it has, else None.
    computed
        Of each output whether a node makes it.
    """

    program: Form
    kernels: tuple[libraries.Form, ...]
    arrays: tuple[bool, ...]
    places: tuple[int | None, ...]
    computed: tuple[bool, ...]


def read(key: str) -> Stored | None:
    """What was kept for a key."""
    cache = file_cache.open_programs() if config.program_cache == "on" else None
    data = None if cache is None else cache.read(key)
    return None if data is None else pickle.loads(data)
