"""The older path of the random streams."""

from theano.tensor.shared_randomstreams import RandomStreams

__all__ = ["RandomStreams"]
