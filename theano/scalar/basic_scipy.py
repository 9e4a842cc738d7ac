"""The documented path of the special functions; they live in :mod:`theano.scalar.special`."""

from theano import aliases

__all__ = aliases.names(__name__)
__getattr__, __dir__ = aliases.lazy(__name__)
