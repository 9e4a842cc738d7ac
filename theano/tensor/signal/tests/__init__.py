"""The documented place of tests of signals."""
