"""The documented helpers for tests of tensor operations."""
