"""The native engine: lowering of graphs to programs, generated kernels, and the C runtime that runs them."""
