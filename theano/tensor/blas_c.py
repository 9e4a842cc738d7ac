"""The names under which programs ask for BLAS operations in C: those of :mod:`theano.tensor.blas`, which all run natively."""

from theano.tensor.blas import Gemv as CGemv
from theano.tensor.blas import Ger as CGer
from theano.tensor.blas import gemv_inplace as cgemv_inplace
from theano.tensor.blas import gemv_no_inplace as cgemv_no_inplace
from theano.tensor.blas import ger as cger_no_inplace
from theano.tensor.blas import ger_destructive as cger_inplace

__all__ = ["CGemv", "CGer", "cgemv_inplace", "cgemv_no_inplace", "cger_inplace", "cger_no_inplace"]
