"""The names under which programs ask for SciPy's BLAS: those of :mod:`theano.tensor.blas`, which use it."""

from theano.tensor.blas import Ger as ScipyGer
from theano.tensor.blas import ger as scipy_ger_no_inplace
from theano.tensor.blas import ger_destructive as scipy_ger_inplace

__all__ = ["ScipyGer", "scipy_ger_inplace", "scipy_ger_no_inplace"]
