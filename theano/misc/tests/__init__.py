"""The documented place of tests of tools."""
