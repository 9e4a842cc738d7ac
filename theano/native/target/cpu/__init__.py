"""The CPU: kernels in C, and the virtual machine of `theano.native._runtime`."""
