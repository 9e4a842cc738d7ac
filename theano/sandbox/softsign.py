"""The old place of :func:`theano.tensor.nnet.softsign`."""

import warnings

from theano.tensor.nnet.activations import softsign  # noqa: F401

warnings.warn("softsign has moved from theano.sandbox.softsign to theano.tensor.nnet", DeprecationWarning, stacklevel=2)
