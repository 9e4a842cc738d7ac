"""The names under which programs ask for SciPy's BLAS: those of :mod:`theano.tensor.blas`, which use it."""

from theano.gof.opt import in2out
from theano.tensor.blas import Ger as ScipyGer
from theano.tensor.blas import ger as scipy_ger_no_inplace
from theano.tensor.blas import ger_destructive as scipy_ger_inplace
from theano.tensor.blas_c import use_c_ger as use_scipy_ger
from theano.tensor.rewriting.blas import local_inplace_ger as make_ger_destructive

__all__ = ["ScipyGer", "scipy_ger_inplace", "scipy_ger_no_inplace"]

# SciPy comes with the package.
have_fblas = True
use_scipy_blas = in2out(use_scipy_ger)
make_scipy_blas_destructive = in2out(make_ger_destructive, name="make_scipy_blas_destructive")
