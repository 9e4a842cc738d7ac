"""Helpers for tests of sparse matrices."""
