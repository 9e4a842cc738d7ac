"""Rewrites of tensor graphs, one family a file; `theano.tensor.opt` gathers the documented names."""
