"""The old place of :mod:`theano.tensor.nnet.neighbours`."""

from theano.tensor.nnet.neighbours import Images2Neibs, images2neibs, neibs2images

__all__ = ["Images2Neibs", "images2neibs", "neibs2images"]
