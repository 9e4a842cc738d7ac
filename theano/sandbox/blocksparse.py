"""The first path of :mod:`theano.tensor.nnet.blocksparse`."""

from theano import aliases

__all__ = aliases.names(__name__)  # noqa: PLE0605
__getattr__, __dir__ = aliases.lazy(__name__)
