"""The rewrites of :mod:`theano.tensor.rewriting.uncanonicalize` under their first path."""

from theano import aliases

__all__ = aliases.names(__name__)
__getattr__, __dir__ = aliases.lazy(__name__)
