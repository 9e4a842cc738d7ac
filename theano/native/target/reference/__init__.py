"""The reference target: programs and kernels in plain NumPy, the oracle of the native engine's tests."""
