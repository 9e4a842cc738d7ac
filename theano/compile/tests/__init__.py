"""The documented place of tests of functions."""
