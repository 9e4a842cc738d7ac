"""Numbers in graphs: their types, the operations on them with value, C code and gradient.

Every elementwise operation on tensors is one of these, applied by :class:`theano.tensor.Elemwise`.
"""

from theano.scalar.basic import *
from theano.scalar.basic import _scalar_py_operators
from theano.scalar.basic_scipy import *
from theano.scalar.sharedvar import shared
