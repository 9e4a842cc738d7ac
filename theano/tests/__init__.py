"""Helpers to test Ops and graphs with: seeds, comparisons, gradients, shapes."""
