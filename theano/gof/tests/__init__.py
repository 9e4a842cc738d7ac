"""The documented place of tests of graphs."""
