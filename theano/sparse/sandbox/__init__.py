"""Convolution and random numbers with sparse matrices."""
