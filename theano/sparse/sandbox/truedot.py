"""The product with a sparse result, under its first path."""

from theano import aliases
from theano.sparse.basic import SparseType, TrueDot, as_sparse_variable, dense_from_sparse, transpose, true_dot

__getattr__, __dir__ = aliases.lazy(__name__)
