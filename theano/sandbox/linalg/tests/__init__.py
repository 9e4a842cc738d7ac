"""The documented place of tests of linear algebra in the sandbox."""
