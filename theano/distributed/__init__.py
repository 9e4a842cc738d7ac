"""Several processes that compute together: collectives in graphs, training on parts of each batch, workers of Dask and Ray.

``mpiexec -n 4 python train.py`` starts four processes of one program, which :func:`world` knows by their ranks.
"""

from theano import aliases

__getattr__, __dir__ = aliases.lazy(__name__)
