"""Chooses the base class of `theano.compile.function_module.Function`.

`FastCall` is a C type of `theano.native._runtime` whose call handles the common case of a compiled function (all
arguments positional, each an array of exactly the declared type) without running Python. When the runtime is not
available, `theano.gof.engine.PythonCall` stands in.

Interface of `FastCall`
-----------------------
``FastCall._fast_bind(program, positions, n_outputs, single, float_downcast=(), lists=())``
    `program` is a `_runtime.Program` (None unbinds), `positions` a tuple with the index in the program's inputs of each
    positional argument, `n_outputs` the number of leading outputs to return (the rest are updates); `single` is True to
    return the value itself, False to return a list, None to return None. Bind only when a call with exactly
    ``len(positions)`` positional arguments means just that: fill these inputs, take the others from their storage, run,
    return. Inputs that the program may destroy or that need a copy first (``mutable`` with ``borrow=False``), dictionary
    outputs and profiled functions stay unbound. Where `float_downcast` is True for an argument, a Python float is rounded
    to a float32 input. Where `lists` has ``(depth, number of the dtype, rank, bits of the dimensions that broadcast)`` for
    an argument, it is a list (of lists of ..., `depth` in all) of such arrays.
``FastCall._slow_call(*args, **kwargs)``
    The Python path, defined by the subclass: it is called for keywords, another number of arguments, anything that needs
    a conversion, and while nothing is bound. It must raise the documented errors for bad arguments.
``FastCall._fast_program``
    The bound program or None.

The fast path takes an argument if it is an `ndarray` (no subclass) of the input's dtype, rank and broadcast pattern,
aligned and in native byte order; or, for 0-d inputs, a Python float, int or bool or a NumPy scalar that the dtype holds
without loss; or, as `lists` says, a list of such arrays. Everything else goes to `_slow_call`.

Programs
--------
The Python interface of `_runtime.Program` is in ``vm.h``, the list of instructions in ``instructions.def``, both in
``theano/native/target/cpu/runtime``.
"""

from __future__ import annotations

from theano.gof.engine import PythonCall
from theano.native.runtime_build import load_runtime

_runtime = load_runtime()

FastCall: type = PythonCall if _runtime is None else _runtime.FastCall
