"""A program as plain data: what the runtime takes, but for kernels, storages and functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from theano.gof.record import Record
from theano.native.fastcall import _runtime
from theano.native.target.cpu import libraries
from theano.native.threads import thread_count


class Step(NamedTuple):
    """An instruction.

    Parameters
    ----------
    name, ins, outs, params
        As of `theano.native.program.Instr`; of a pending kernel or program the first of `params` is missing.
    kernel
        The number of the kernel that is the first param.
    nested, when_built
        The program that is the first param, and what is called with it when it is there.
    frees
        The cells whose value nobody reads after it.
    shown
        The cells that a message about its failure tells of besides its inputs.
    """

    name: str
    ins: tuple[int, ...]
    outs: tuple[int, ...]
    params: tuple[Any, ...]
    kernel: int | None
    nested: Form | None
    when_built: Callable[[Any], None] | None
    frees: tuple[int, ...]
    shown: tuple[int, ...]


class Form(NamedTuple):
    """A program; see `theano.native.program.Build`.

    Parameters
    ----------
    inputs
        Of each its cell, and whether it is written to.
    end
        Where the instructions begin that run only after a failure, or -1.
    """

    cells: list[tuple[Any, ...]]
    steps: list[Step]
    tail_start: int
    inputs: list[tuple[int, bool]]
    constants: list[tuple[int, Any]]
    outputs: list[int]
    updates: list[tuple[int, int]]
    serialise: bool
    end: int

    def realised(self, kernels: Sequence[Any], inputs: Sequence[list[Any]], outputs: Sequence[list[Any] | None],
                 on_error: Callable[..., Any] | None, path: tuple[int, ...] = ()) -> Any:
        """The `_runtime.Program`.

        Parameters
        ----------
        inputs, outputs
            Their storages.
        on_error
            See `theano.native.program.Build`.
        path
            The positions of the steps that it is in.
        """
        instrs = []
        for position, step in enumerate(self.steps):
            params, nested = step.params, step.nested
            if step.kernel is not None:
                params = (kernels[step.kernel], *params)
            elif nested is not None:
                own = [[None] for _ in nested.inputs], [None] * len(nested.outputs)
                program = nested.realised(kernels, *own, on_error, (*path, position))
                if step.when_built is not None:
                    step.when_built(program)
                params = (program, *params)
            instrs.append((step.name, step.ins, step.outs, params, position, step.frees, step.shown))
        _runtime.set_threads(thread_count())
        return _runtime.Program(
            self.cells,
            instrs,
            self.tail_start,
            [(cell, storage, destroyed) for (cell, destroyed), storage in zip(self.inputs, inputs, strict=True)],
            self.constants,
            list(zip(self.outputs, outputs, strict=True)),
            self.updates,
            on_error=None if on_error is None else lambda position, *error: on_error((*path, position), *error),
            serialise=self.serialise,
            end=self.end,
        )


class Stored(Record):
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
