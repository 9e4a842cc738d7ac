"""The documented place of tests of the sandbox."""
