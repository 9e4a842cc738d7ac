"""The documented place of tests of loops."""
