"""The documented place of tests of typed lists."""
