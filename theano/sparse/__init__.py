"""Symbolic sparse matrices: csr and csc of SciPy.

>>> import numpy as np, scipy.sparse, theano
>>> from theano import sparse
>>> x, y = sparse.csr_matrix("x"), theano.tensor.matrix("y")
>>> f = theano.function([x, y], sparse.dot(x, y))
>>> f(scipy.sparse.csr_matrix(np.diag([2.0, 3.0])), np.ones((2, 2)))
array([[2., 2.],
       [3., 3.]])
"""

import scipy

from theano import aliases
from theano.sparse import basic, opt, rewriting, sharedvar, type, utils
from theano.sparse.basic import *
from theano.sparse.sharedvar import sparse_constructor as shared

#: SciPy is one of the package's requirements.
enable_sparse = imported_scipy = True
scipy_ver = [int(part) for part in scipy.__version__.split(".")[:2]]
string_types = (str,)

__getattr__, __dir__ = aliases.lazy(__name__)
