"""Names that programs written for the original import from here; on today's Python they are all built in."""

from __future__ import annotations

import os
from collections import OrderedDict, defaultdict  # noqa: F401
from collections.abc import Callable, Mapping, MutableMapping  # noqa: F401
from io import BytesIO, StringIO  # noqa: F401
from operator import truediv
from typing import Any

PY3 = True
string_types = (str,)
integer_types = (int,)
python2x = False
izip = zip
imap = map
ifilter = filter
# The operator that ``/`` is.
operator_div = truediv


def maybe_add_to_os_environ_pathlist(var: str, newpath: str) -> None:
    """Put a directory first in a variable of the environment that is a list of directories, if it is not there yet.

    Parameters
    ----------
    var : str
        The variable, ``'PATH'``, say.
    newpath : str
        The directory; a relative one is left out.
    """
    if os.path.isabs(newpath):
        there = os.environ.get(var, "")
        if newpath not in there.split(os.pathsep):
            os.environ[var] = newpath + os.pathsep + there if there else newpath


def cmp(x: Any, y: Any) -> int:
    """Return -1, 0 or 1 as `x` is less than, equal to or greater than `y`."""
    return (x > y) - (x < y)


def exc_message(e: BaseException) -> Any:
    """Return the message of an exception: its first argument, or that of an exception which is the first argument."""
    msg = e.args[0]
    return exc_message(msg) if isinstance(msg, Exception) else msg


def get_unbound_function(unbound: Any) -> Any:
    """Return the function of a method."""
    return getattr(unbound, "__func__", unbound)


def decode(x: bytes) -> str:
    """Return text of its UTF-8 encoding."""
    return x.decode()


def decode_with(x: bytes, encoding: str) -> str:
    """Return text of its encoding."""
    return x.decode(encoding)


def decode_iter(itr: Any) -> Any:
    """Decode each element of an iterable."""
    return (x.decode() for x in itr)


class DefaultOrderedDict(OrderedDict):
    """An `OrderedDict` that makes the values of missing keys by a factory.

    Parameters
    ----------
    default_factory : callable, optional
        Takes no arguments.
    *args, **kwargs
        As for `OrderedDict`.
    """

    def __init__(self, default_factory: Callable[[], Any] | None = None, *args: Any, **kwargs: Any):
        if default_factory is not None and not callable(default_factory):
            raise TypeError("first argument must be callable")
        super().__init__(*args, **kwargs)
        self.default_factory = default_factory

    def __missing__(self, key: Any) -> Any:
        if self.default_factory is None:
            raise KeyError(key)
        value = self[key] = self.default_factory()
        return value

    def __reduce__(self) -> Any:
        return type(self), (self.default_factory,), None, None, iter(self.items())

    def copy(self) -> DefaultOrderedDict:
        """Return a shallow copy."""
        return type(self)(self.default_factory, self)

    __copy__ = copy
