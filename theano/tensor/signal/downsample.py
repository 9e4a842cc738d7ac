"""Deprecated: the names under which earlier versions had :mod:`theano.tensor.signal.pool`."""

import warnings

from theano.tensor.signal.pool import (  # noqa: F401
    AveragePoolGrad,
    DownsampleFactorMaxGradGrad,
    MaxPoolGrad,
    Pool,
    PoolGrad,
    max_pool_2d_same_size,
    pool_2d,
)

warnings.warn("downsample module has been moved to the theano.tensor.signal.pool module.", stacklevel=2)

max_pool_2d = pool_2d
DownsampleFactorMax = Pool
DownsampleFactorMaxGrad = MaxPoolGrad
