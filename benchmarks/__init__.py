"""Theano measured against hand-written C and against its living relatives: ``python -m benchmarks``."""
