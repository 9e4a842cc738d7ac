"""Random programs over the documented language, run with Theano 1.0.5 and here, and compared; see ``__main__``."""
