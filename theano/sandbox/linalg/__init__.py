"""Linear algebra on matrices of which more is known than their type says."""

from theano.sandbox.linalg.ops import cholesky, det, matrix_inverse, psd, solve, spectral_radius_bound

__all__ = ["cholesky", "det", "matrix_inverse", "psd", "solve", "spectral_radius_bound"]
