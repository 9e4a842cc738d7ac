"""Signals and images: pooling (:mod:`pool`) and convolution of single images with single filters (:mod:`conv`)."""

from theano import aliases as _aliases

__getattr__, __dir__ = _aliases.lazy(__name__)
