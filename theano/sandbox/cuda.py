"""The name of the first GPU back-end, for programs that look whether it is there."""

raise ImportError(
    "theano.sandbox.cuda, the GPU back-end that theano.gpuarray replaced in Theano 0.9, is not part of Theano 2. "
    "Leave the import out, and the flags device and init_gpu_device at their defaults: functions run on the CPU."
)
