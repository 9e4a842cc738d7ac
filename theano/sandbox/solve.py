"""The old place of :func:`theano.tensor.slinalg.solve`."""

import warnings

from theano.tensor.slinalg import solve  # noqa: F401

message = "The module theano.sandbox.solve is deprecated: use theano.tensor.slinalg.solve."
warnings.warn(message, DeprecationWarning, stacklevel=2)
