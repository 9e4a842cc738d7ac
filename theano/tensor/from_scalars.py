"""Between scalars and tensors: made vectors, and the 0-d tensor of a Scalar and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano import scalar as scal
from theano.configdefaults import config
from theano.gof.graph import Apply, Constant
from theano.gof.op import Op
from theano.printing.pretty import pprint
from theano.scalar.convert import number_of
from theano.tensor.conversion import as_tensor_variable, constant
from theano.tensor.math import discrete_dtypes
from theano.tensor.type import TensorType, ops, tensor_type


class MakeVector(Op):
    """A vector of the given scalars; none at all make an empty vector.

    Parameters
    ----------
    dtype : str, optional
        That of the vector; constants that it cannot hold are refused.

    See Also
    --------
    theano.tensor.stack : Return tensors of equal shape along a new axis: ``stack(tensors, axis=0)``.
    theano.tensor.make_vector : An instance of it.
    theano.tensor.opt.make_vector : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.make_vector(1, T.constant(2)).eval()
    array([1, 2])
    """

    __props__ = ("dtype",)
    joins_numbers = True
    """The elements of the output are the inputs."""

    def __init__(self, dtype: str = "int64") -> None:
        self.dtype = dtype

    def make_node(self, *inputs: Any) -> Apply:
        inputs = tuple([as_tensor_variable(x) for x in inputs])
        if any(x.type.ndim for x in inputs):
            raise TypeError(f"MakeVector takes scalars, got {[x.type for x in inputs]}")
        cast_inputs = []
        for x in inputs:
            if x.type.dtype != self.dtype:
                if isinstance(x, Constant):
                    converted = constant(x.data.astype(self.dtype))
                    if converted.data != x.data:
                        raise TypeError(f"MakeVector of dtype {self.dtype} cannot hold the constant {x.data}")
                    x = converted
                elif scal.upcast(self.dtype, x.type.dtype) == self.dtype:
                    x = ops.cast(x, self.dtype)
                else:
                    raise AssertionError(
                        f"MakeVector of dtype {self.dtype} cannot hold an input of dtype {x.type.dtype} without loss"
                    )
            cast_inputs.append(x)
        return Apply(self, cast_inputs, [tensor_type(self.dtype, (False,))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        output_storage[0][0] = np.array([x.item() for x in inputs], dtype=self.dtype)

    def static_shape(self, node: Apply, shape_of: Any) -> Sequence[int | None]:
        return [len(node.inputs)]

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [(constant(len(in_shapes), dtype="int64"),)]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        if self.dtype in discrete_dtypes:
            return [x.zeros_like(dtype=config.floatX) for x in inputs]
        return [grads[0][i] for i in range(len(inputs))]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        if self.dtype in discrete_dtypes or all(e is None for e in eval_points):
            return [None]
        zero = constant(np.zeros((), dtype=self.dtype))
        return [self(*[zero if e is None else e for e in eval_points])]


make_vector = MakeVector()


class MakeVectorPrinter:
    """Writes a made vector as a list: ``[x, y]``."""

    def process(self, r: Any, pstate: Any) -> str:
        if r.owner is None or not isinstance(r.owner.op, MakeVector):
            raise TypeError("Can only print MakeVector.")
        old_precedence = getattr(pstate, "precedence", None)
        pstate.precedence = 1000
        try:
            parts = [pstate.pprinter.process(x, pstate) for x in r.owner.inputs]
        finally:
            pstate.precedence = old_precedence
        return f"[{', '.join(parts)}]"


pprint.assign(MakeVector, MakeVectorPrinter())


class TensorFromScalar(Op):
    """The 0-d tensor of a Scalar variable.

    See Also
    --------
    theano.tensor.ScalarFromTensor : The Scalar variable of a 0-d tensor.
    theano.tensor.tensor_from_scalar : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano import scalar
    >>> TensorFromScalar()(scalar.float64("s")).type
    TensorType(float64, scalar)
    """

    __props__ = ()
    _f16_ok = True

    def make_node(self, s: Any) -> Apply:
        if not isinstance(getattr(s, "type", None), scal.Scalar):
            raise TypeError(f"TensorFromScalar takes a variable of type Scalar, got {s!r}")
        return Apply(self, [s], [TensorType(s.type.dtype, ())()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        output_storage[0][0] = np.asarray(inputs[0])

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [()]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (s,) = inputs
        if s.type.dtype in discrete_dtypes:
            return [s.zeros_like().astype(config.floatX)]
        return [scalar_from_tensor(grads[0])]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None] if None in eval_points else [self(*eval_points)]


class ScalarFromTensor(Op):
    """The Scalar variable of a 0-d tensor.

    See Also
    --------
    theano.tensor.TensorFromScalar : The 0-d tensor of a Scalar variable.
    theano.tensor.scalar_from_tensor : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> ScalarFromTensor()(T.lscalar()).type, T.lscalar().type
    (Scalar(int64), TensorType(int64, scalar))
    """

    __props__ = ()
    _f16_ok = True

    def make_node(self, t: Any) -> Apply:
        if not isinstance(getattr(t, "type", None), TensorType) or t.type.ndim:
            raise TypeError(f"ScalarFromTensor takes a 0-d tensor variable, got {t!r}")
        return Apply(self, [t], [scal.get_scalar_type(dtype=t.type.dtype)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        output_storage[0][0] = inputs[0][()]

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [()]

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        return [tensor_from_scalar(grads[0])]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None] if None in eval_points else self.make_node(*eval_points).outputs


tensor_from_scalar = TensorFromScalar()
scalar_from_tensor = ScalarFromTensor()


@number_of.fill
def _number_of(x: Any) -> Any:
    return scalar_from_tensor(x) if isinstance(x.type, TensorType) and x.type.ndim == 0 else None
