"""Tools around the core: serialization, timing scripts, ordered collections, functions of other libraries."""

from theano import aliases

__getattr__, __dir__ = aliases.lazy(__name__)
