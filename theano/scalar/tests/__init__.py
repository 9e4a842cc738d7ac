"""The documented place of tests of scalars."""
