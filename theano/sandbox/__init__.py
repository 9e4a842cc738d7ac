"""Code whose interface is not settled, and random numbers of the kind MRG31k3p."""
