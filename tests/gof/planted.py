"""What the tests of mistakes in users' C code are put together from."""

import numpy as np
import pytest

import theano

from . import user_c_ops as u

needs_compiler = pytest.mark.skipif(not theano.config.cxx, reason="there is no C++ compiler")
V = np.array([3.5, -1.0, 2.25, 0.5, 4.0])
LOOP = "for (npy_intp i = 0; i < PyArray_DIMS(%(x)s)[0]; i++)"
OUT = "((double*)PyArray_DATA(%(z)s))[i]"
IN = "*(double*)PyArray_GETPTR1(%(x)s, i)"
GOOD = u.OUTPUT_LIKE + f"{LOOP} {OUT} = 2 * {IN};"
