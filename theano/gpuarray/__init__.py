"""The GPU back-end's names, for programs that ask whether there is one: there is none, and everything runs on the CPU."""

from __future__ import annotations

from typing import Any, NoReturn

#: The library of GPU arrays: not there.
pygpu = None

#: Whether functions are compiled for a GPU.
pygpu_activated = False

MESSAGE = (
    "This version of Theano has no GPU back-end and cannot use pygpu, which no current Python can install. Leave the flags "
    "device and init_gpu_device at their defaults and what asks for theano.gpuarray out: functions run on the CPU."
)


def init_dev(dev: Any = None, name: str | None = None, preallocate: Any = None) -> NoReturn:
    """Take a device into use: there is none.

    Raises
    ------
    RuntimeError
        Always; the message says what to do instead.
    """
    raise RuntimeError(MESSAGE)


def use(device: Any = None, *args: Any, **kwargs: Any) -> NoReturn:
    """Make a device the one that functions are compiled for: there is none.

    Raises
    ------
    RuntimeError
        Always; the message says what to do instead.
    """
    raise RuntimeError(MESSAGE)
