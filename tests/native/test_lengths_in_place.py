"""Lengths and scalars whose memory later instructions write over."""

from __future__ import annotations

import numpy as np

import theano
import theano.tensor as T


def test_a_scalar_taken_from_a_tensor_is_no_view_of_it():
    x = T.dvector("x")
    n = T.minimum(np.int64(3), x.shape[0])
    # The sum n + 4 may be computed in the memory of n, which is still needed as an index.
    room = T.AllocEmpty("float64")(n + 4)
    f = theano.function([x], T.set_subtensor(room[:n], x[:3]))
    result = f(np.arange(5.0))
    assert result.shape == (7,) and result[:3].tolist() == [0.0, 1.0, 2.0]


def test_a_length_is_read_anew_at_each_step_of_a_loop():
    x, h = T.dmatrix("x"), T.lscalar("h")
    # The difference is computed in the memory of the length.
    out, _ = theano.scan(
        lambda i, h, x: T.minimum(h + 1, x.shape[0] - i * h), T.arange(6, dtype="int64"), h, x
    )
    f = theano.function([x, h], out)
    g = theano.function([x, h], out, mode=theano.Mode("py", None))
    for start in (0, 1):
        assert f(np.ones((7, 2)), start).tolist() == g(np.ones((7, 2)), start).tolist()
