"""Operations of neural networks that are one instruction: the loss of CTC."""

from __future__ import annotations

from theano.native import instructions as vm
from theano.native.program import lowers_to
from theano.tensor.nnet.ctc import ConnectionistTemporalClassification

lowers_to({ConnectionistTemporalClassification: lambda op: vm.Ctc()})
