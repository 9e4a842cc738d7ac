"""The documented place of tests of neural networks."""
