"""The type of arrays on a GPU, of which no variable can be made."""

from __future__ import annotations

from typing import Any

from theano.gof.type import Type
from theano.gpuarray import MESSAGE


class GpuArrayType(Type):
    """What variables on a GPU would be: a class for `isinstance`, of which there is no instance.

    Raises
    ------
    RuntimeError
        When it is called; the message says what to do instead.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        raise RuntimeError(MESSAGE)
