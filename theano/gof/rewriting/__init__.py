"""Graph rewriting: the optimizers that :mod:`theano.gof.opt` gathers, one kind a file."""
