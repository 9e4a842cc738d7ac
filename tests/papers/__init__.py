"""Models from papers, written as programs for Theano 1.0 were, with the numbers that it gives for them; see ``test_papers``."""
