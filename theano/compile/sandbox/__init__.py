"""Kept for programs that import it; it has been empty since what was tried here became :mod:`theano.compile`."""
