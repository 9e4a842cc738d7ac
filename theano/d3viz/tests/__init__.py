"""The documented place of tests of drawings of graphs."""
