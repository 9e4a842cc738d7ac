"""The documented names of ``theano.tensor.nnet.nnet``, gathered from the modules in which they live."""

from theano import aliases
from theano.tensor.nnet.activations import (
    ScalarSoftsign,
    confusion_matrix,
    elu,
    h_softmax,
    relu,
    scalar_softsign,
    selu,
    softsign,
)
from theano.tensor.nnet.crossentropy import (
    CrossentropyCategorical1Hot,
    CrossentropyCategorical1HotGrad,
    CrossentropySoftmax1HotWithBiasDx,
    CrossentropySoftmaxArgmax1HotWithBias,
    Prepend_scalar_constant_to_each_row,
    Prepend_scalar_to_each_row,
    binary_crossentropy,
    categorical_crossentropy,
    crossentropy_categorical_1hot,
    crossentropy_categorical_1hot_grad,
    crossentropy_softmax_1hot,
    crossentropy_softmax_1hot_with_bias,
    crossentropy_softmax_1hot_with_bias_dx,
    crossentropy_softmax_argmax_1hot_with_bias,
    crossentropy_softmax_max_and_argmax_1hot,
    crossentropy_softmax_max_and_argmax_1hot_with_bias,
    prepend_0_to_each_row,
    prepend_1_to_each_row,
    prepend_scalar_to_each_row,
    sigmoid_binary_crossentropy,
)
from theano.tensor.nnet.sigm import hard_sigmoid, sigmoid, softplus, ultra_fast_sigmoid
from theano.tensor.nnet.softmax import (
    LogSoftmax,
    Softmax,
    SoftmaxGrad,
    SoftmaxWithBias,
    logsoftmax,
    logsoftmax_op,
    softmax,
    softmax_grad,
    softmax_graph,
    softmax_op,
    softmax_with_bias,
)

__getattr__, __dir__ = aliases.lazy(__name__)
