"""The documented path of shared variables, whose home is `theano.gof.sharedvalue`."""

from theano.gof import Container as Container
from theano.gof import Variable as Variable
from theano.gof import generic as generic
from theano.gof.sharedvalue import SharedVariable, constructors, generic_constructor, shared, shared_constructor

__all__ = ["SharedVariable", "constructors", "generic_constructor", "shared", "shared_constructor"]
