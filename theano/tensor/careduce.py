"""Reductions along dimensions by a commutative and associative scalar op: sums, products, all, any."""

from __future__ import annotations

import copy
import typing
from collections.abc import Sequence

import numpy as np

from theano import scalar as scal
from theano.configdefaults import config
from theano.gof import Apply, Op
from theano.scalar.op import BinaryScalarOp, ScalarOp
from theano.scalar.output_types import upcast_out
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.dimshuffle import dim_shuffle
from theano.tensor.elemwise_eval import resolve_function
from theano.tensor.type import ops, tensor_type

_SUM_DTYPE = {
    "bool": "int64",
    "int8": "int64",
    "int16": "int64",
    "int32": "int64",
    "uint8": "uint64",
    "uint16": "uint64",
    "uint32": "uint64",
}

_ACC_DTYPE = {**_SUM_DTYPE, "float16": "float32", "float32": "float64", "complex64": "complex128"}


class CAReduce(Op):
    """The reduction of a tensor by a scalar op, along some or all dimensions.

    The order in which elements are combined is not defined, so the scalar op must be commutative and associative.

    Parameters
    ----------
    scalar_op : ScalarOp
        A binary op with one output, such as ``scalar.add`` or ``scalar.maximum``.
    axis : int or sequence of int, optional
        The dimensions to reduce; all by default.

    See Also
    --------
    theano.tensor.CAReduceDtype : A reduction with a dtype of the result and one in which it accumulates.
    theano.tensor.Elemwise : A scalar op applied to each element of tensors, which are broadcast to a common shape.
    theano.tensor.DimShuffle : A view of a tensor with its dimensions permuted, dropped, and new ones of length 1
        inserted.

    Examples
    --------
    >>> import theano.tensor as T
    >>> CAReduce(scal.maximum, axis=1)(T.matrix("m")).type
    TensorType(float64, vector)
    """

    __props__: tuple[str, ...] = ("scalar_op", "axis")
    _f16_ok = True

    def __init__(self, scalar_op: ScalarOp, axis: typing.Any = None) -> None:
        if scalar_op.nin not in (-1, 2) or scalar_op.nout != 1:
            raise NotImplementedError("CAReduce only supports binary functions with a single output.")
        self.scalar_op = scalar_op
        if axis is None:
            self.axis = None
        elif isinstance(axis, (int, np.integer)) or (isinstance(axis, np.ndarray) and axis.ndim == 0):
            self.axis = (int(axis),)
        else:
            self.axis = tuple(sorted({int(a) for a in axis}))
            if len(self.axis) != len(list(axis)):
                raise ValueError(f"A dimension is named twice in the axes of a reduction: {axis}")

    @property
    def ufunc(self) -> typing.Any:
        """The NumPy ufunc that combines two arrays."""
        spec = self.scalar_op.nfunc_spec
        function = resolve_function(spec[0]) if spec is not None else None
        if isinstance(function, np.ufunc):
            return function
        return np.frompyfunc(self.scalar_op.impl, 2, 1)

    def _output_dtype(self, input_dtype: str) -> str:
        return input_dtype

    def make_node(self, input: typing.Any) -> Apply:
        """Return the node for a tensor that has the dimensions to be reduced."""
        x = as_tensor_variable(input)
        op = self
        ndim = x.type.ndim
        axis = self.axis
        if axis is not None:
            for a in axis:
                if not -ndim <= a < ndim:
                    raise ValueError(f"Not enough dimensions on {x} to reduce on axis {a}")
            if any(a < 0 for a in axis):
                axis = tuple(sorted(a % ndim for a in axis))
                if len(set(axis)) != len(axis):
                    raise ValueError(f"A dimension is named twice in the axes of a reduction: {self.axis}")
                op = copy.copy(self)
                op.axis = axis
        reduced = range(ndim) if axis is None else axis
        pattern = tuple(b for i, b in enumerate(x.type.broadcastable) if i not in reduced)
        out = tensor_type(self._output_dtype(x.type.dtype), pattern)
        return Apply(op, [x], [out.make_variable()])

    def __str__(self) -> str:
        if self.axis is not None:
            return f"Reduce{{{self.scalar_op}}}{{{', '.join(map(str, self.axis))}}}"
        return f"Reduce{{{self.scalar_op}}}"

    def __repr__(self) -> str:
        return str(self)

    def static_shape(self, node: Apply, shape_of: typing.Any) -> Sequence[int | None] | None:
        shape = shape_of(node.inputs[0])
        axes = self.reduced_axes(node.inputs[0].type.ndim)
        return None if shape is None else [n for i, n in enumerate(shape) if i not in axes]

    def reduced_axes(self, ndim: int) -> tuple[int, ...]:
        """Return the axes that it reduces of an array of so many dimensions, in increasing order."""
        return tuple(range(ndim)) if self.axis is None else self.axis

    def perform(self, node: Apply, inp: Sequence[typing.Any], out: Sequence[list], params: typing.Any = None) -> None:
        if inp[0] is None:
            raise TypeError("expected an array, got None")
        x = np.asarray(inp[0])
        axes = self.reduced_axes(x.ndim)
        acc_dtype = getattr(self, "acc_dtype", None)
        dtype = node.outputs[0].type.numpy_dtype
        if acc_dtype is None:
            acc_dtype = dtype
        identity = getattr(self.scalar_op, "identity", None)
        if identity is None and any(x.shape[a] == 0 for a in axes):
            empty = next(a for a in axes if x.shape[a] == 0)
            raise ValueError(
                f"Input ({node.inputs[0]}) has zero-size on axis {empty}, but self.scalar_op ({self.scalar_op}) has"
                " no attribute 'identity'"
            )
        with np.errstate(all="ignore"):
            out[0][0] = np.asarray(self._reduce(x, axes, np.dtype(acc_dtype)), dtype=dtype)

    def _reduce(self, x: np.ndarray, axes: tuple[int, ...], dtype: np.dtype) -> typing.Any:
        if not axes:
            return x.astype(dtype)
        ufunc = self.ufunc
        if len(ufunc.types) and "O" not in ufunc.types[0]:
            value = x.astype(dtype, copy=False)
            # One axis after the other, the last one first: rounded as ever.
            for a in sorted(axes, reverse=True):
                value = ufunc.reduce(value, axis=a)
            return value
        # A Python function: NumPy combines along one axis at a time, in objects.
        value = x.astype(object)
        for a in sorted(axes, reverse=True):
            length = value.shape[a]
            if length:
                value = ufunc.reduce(value, axis=a)
            else:
                shape = value.shape[:a] + value.shape[a + 1 :]
                value = np.full(shape, self.scalar_op.identity, dtype=object)
        return value

    def infer_shape(self, node: Apply, shapes: Sequence[typing.Any]) -> list[tuple]:
        """Return the lengths of the dimensions that stay."""
        (shape,) = shapes
        axes = self.reduced_axes(node.inputs[0].type.ndim)
        return [tuple(shape[i] for i in range(node.inputs[0].type.ndim) if i not in axes)]


class MaxOrMinusInfinity(CAReduce):
    """The maximum of floats along the dimensions, minus infinity where there are none.

    What rewrites subtract from the arguments of exponentials, whose sum is 0 where there are none.

    Parameters
    ----------
    axis : int or sequence of int, optional
        Along which axes; None for all of them.

    See Also
    --------
    theano.tensor.CAReduce : The reduction of a tensor by a scalar op, along some or all dimensions.

    Examples
    --------
    >>> import theano.tensor as T
    >>> float(MaxOrMinusInfinity()(T.zeros((0, 2))).eval())
    -inf
    """

    __props__ = ("axis",)

    # For the modes that look for infinities: of finite numbers it makes one only where there are none, on purpose.
    infinite_on_purpose = True

    def __init__(self, axis: typing.Any = None) -> None:
        super().__init__(scal.maximum, axis)

    def perform(self, node: Apply, inp: Sequence[typing.Any], out: Sequence[list], params: typing.Any = None) -> None:
        x = np.asarray(inp[0])
        out[0][0] = np.asarray(np.maximum.reduce(x, axis=self.reduced_axes(x.ndim), initial=-np.inf), dtype=x.dtype)

    def L_op(self, inputs: Sequence[typing.Any], outputs: Sequence[typing.Any], grads: Sequence[typing.Any]) -> list:
        """Return the gradient: that of the result, wherever the maximum is."""
        (x,), (top,), (gz,) = inputs, outputs, grads
        axes = self.reduced_axes(x.type.ndim)
        return [ops.eq(ops.makeKeepDims(x, top, axes), x) * ops.makeKeepDims(x, gz, axes)]

    def __str__(self) -> str:
        name = type(self).__name__
        return name if self.axis is None else f"{name}{{{', '.join(map(str, self.axis))}}}"


class _TruthReduce(CAReduce):
    """A reduction of truth values; numbers are true when they are not 0."""

    __props__ = ("axis",)
    _scalar: ScalarOp

    def __init__(self, axis: typing.Any = None) -> None:
        super().__init__(self._scalar, axis)

    def _output_dtype(self, input_dtype: str) -> str:
        return "bool"

    def make_node(self, input: typing.Any) -> Apply:
        x = as_tensor_variable(input)
        if x.type.dtype != "bool":
            x = ops.neq(x, 0)
        return super().make_node(x)

    def __str__(self) -> str:
        name = type(self).__name__
        return name if self.axis is None else f"{name}{{{', '.join(map(str, self.axis))}}}"

    def grad(self, inp: Sequence[typing.Any], grads: Sequence[typing.Any]) -> list:
        return [inp[0].zeros_like(dtype=config.floatX)]

    def R_op(self, inputs: Sequence[typing.Any], eval_points: Sequence[typing.Any]) -> list:
        return [None]


class All(_TruthReduce):
    """Whether all elements along the dimensions are true.

    Parameters
    ----------
    axis : int or sequence of int, optional
        Along which axes; None for all of them.

    See Also
    --------
    theano.tensor.Any : Whether some element along the dimensions is true.
    theano.tensor.all : Return whether all elements of `x` over `axis` are true.

    Examples
    --------
    >>> import theano.tensor as T
    >>> All(axis=1)(T.constant([[1, 1], [1, 0]])).eval().tolist()
    [True, False]
    """

    __props__ = ("axis",)
    _scalar = scal.and_
    __str__ = _TruthReduce.__str__


class Any(_TruthReduce):
    """Whether some element along the dimensions is true.

    Parameters
    ----------
    axis : int or sequence of int, optional
        Along which axes; None for all of them.

    See Also
    --------
    theano.tensor.all : Return whether all elements of `x` over `axis` are true.
    theano.tensor.All : Whether all elements along the dimensions are true.

    Examples
    --------
    >>> import theano.tensor as T
    >>> Any(axis=1)(T.constant([[0, 1], [0, 0]])).eval().tolist()
    [True, False]
    """

    __props__ = ("axis",)
    _scalar = scal.or_
    __str__ = _TruthReduce.__str__


class CAReduceDtype(CAReduce):
    """A reduction with a dtype of the result and one in which it accumulates.

    Parameters
    ----------
    scalar_op : ScalarOp
        The operation on two numbers: associative and commutative.
    axis : int or sequence of int, optional
        Along which axes; None for all of them.
    dtype : str, optional
        Dtype of the result; by default that of the input, with small integers widened to 64 bits.
    acc_dtype : str, optional
        Dtype of the accumulator; by default at least 64 bits wide (a float16 accumulates in float32).

    Raises
    ------
    TypeError
        When applied to an input that `acc_dtype` cannot hold.

    See Also
    --------
    theano.tensor.Elemwise : A scalar op applied to each element of tensors, which are broadcast to a common shape.
    theano.tensor.CAReduce : The reduction of a tensor by a scalar op, along some or all dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> import theano.tensor as T
    >>> from theano.scalar import add
    >>> total = CAReduceDtype(add, axis=0, dtype="float64")
    >>> total(T.fmatrix()).type, total(T.fmatrix()).owner.op.acc_dtype
    (TensorType(float64, vector), 'float64')
    >>> int(CAReduceDtype(add)(T.constant(np.int8([100, 100]))).eval())
    200
    """

    __props__: tuple[str, ...] = ("scalar_op", "axis", "dtype", "acc_dtype")

    def __init__(
        self,
        scalar_op: ScalarOp,
        axis: typing.Any = None,
        dtype: str | None = None,
        acc_dtype: str | None = None,
    ) -> None:
        super().__init__(scalar_op, axis=axis)
        self.dtype = dtype
        self.acc_dtype = acc_dtype

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state) if hasattr(super(), "__setstate__") else self.__dict__.update(state)
        self.__dict__.setdefault("dtype", None)
        self.__dict__.setdefault("acc_dtype", None)

    def _output_dtype(self, idtype: str) -> str:
        if self.dtype is None:
            return _SUM_DTYPE.get(idtype, idtype)
        return self.dtype

    def _acc_dtype(self, idtype: str) -> str:
        if self.acc_dtype is None:
            return _ACC_DTYPE.get(idtype, idtype)
        acc, source = np.dtype(self.acc_dtype).kind, np.dtype(idtype).kind
        if acc in "fc" and source in "biu":
            # Real numbers may stand for whole ones.
            return self.acc_dtype
        if scal.upcast(idtype, self.acc_dtype) != self.acc_dtype:
            raise TypeError(
                f"Cannot build {self} node with input dtype {idtype} and acc_dtype {self.acc_dtype}, as precision"
                " would be lost. To correct this error, you can:\n"
                "  - not specify acc_dtype, or\n"
                f"  - use an acc_dtype at least as precise as {scal.upcast(idtype, self.acc_dtype)}.\n"
                'If you are expecting the precision loss, you can use tensor.cast(..., dtype="'
                f'{self.acc_dtype}"), on your input.'
            )
        return self.acc_dtype

    def make_node(self, input: typing.Any) -> Apply:
        """Return the node, of an op whose dtypes are those for the input."""
        x = as_tensor_variable(input)
        dtype = self._output_dtype(x.type.dtype)
        acc_dtype = self._acc_dtype(x.type.dtype)
        op = self
        if (dtype, acc_dtype) != (self.dtype, self.acc_dtype):
            op = copy.copy(self)
            op.dtype, op.acc_dtype = dtype, acc_dtype
        return CAReduce.make_node(op, x)

    def __str__(self) -> str:
        name = type(self).__name__
        if name == "CAReduceDtype":
            name = f"ReduceDtype{{{self.scalar_op}}}"
        axis = "" if self.axis is None else f"axis=[{', '.join(map(str, self.axis))}], "
        return f"{name}{{{axis}acc_dtype={self.acc_dtype}}}"

    def _spread(self, x: typing.Any, g: typing.Any) -> typing.Any:
        # Put broadcastable dimensions where `x` was reduced.
        axes = self.reduced_axes(x.type.ndim)
        kept = iter(range(x.type.ndim))
        order = tuple("x" if i in axes else next(kept) for i in range(x.type.ndim))
        return dim_shuffle(g.type.broadcastable, order)(g)


class Sum(CAReduceDtype):
    """Sum along dimensions.

    Parameters
    ----------
    axis : int or sequence of int, optional
        Along which axes; None for all of them.
    dtype : str, optional
        Dtype of the result; by default that of the input, with small integers widened to 64 bits.
    acc_dtype : str, optional
        Dtype of the accumulator; by default at least 64 bits wide.

    See Also
    --------
    theano.tensor.Prod : Product along dimensions.
    theano.tensor.Mean : The mean over axes as one operation, without a rewrite of its own; `mean` builds a sum and a
        division.
    theano.tensor.sum : Return the sum of `input` over `axis`.

    Examples
    --------
    >>> import numpy as np
    >>> import theano.tensor as T
    >>> Sum(axis=0)(T.constant([[1, 2], [3, 4]])).eval().tolist()
    [4, 6]
    >>> Sum()(T.constant(np.int8([100, 100]))).type, Sum(dtype="int8")(T.constant(np.int8([100, 100]))).type
    (TensorType(int64, scalar), TensorType(int8, scalar))
    """

    __props__ = ("axis", "dtype", "acc_dtype")
    nfunc_spec = ("sum", 1, 1)
    __str__ = CAReduceDtype.__str__

    def __init__(self, axis: typing.Any = None, dtype: str | None = None, acc_dtype: str | None = None) -> None:
        super().__init__(scal.add, axis=axis, dtype=dtype, acc_dtype=acc_dtype)

    def L_op(self, inp: Sequence[typing.Any], out: Sequence[typing.Any], grads: Sequence[typing.Any]) -> list:
        """Return the gradient of the sum at each of its elements."""
        (x,) = inp
        if out[0].type.numpy_dtype.kind not in "fc":
            return [x.zeros_like(dtype=config.floatX)]
        return [ops.elemwise_of(scal.second)(x, self._spread(x, grads[0]))]

    def R_op(self, inputs: Sequence[typing.Any], eval_points: Sequence[typing.Any]) -> list:
        """Return the sum of the directions: it is linear."""
        if None in eval_points:
            return [None]
        return self(*eval_points, return_list=True)


class Prod(CAReduceDtype):
    """Product along dimensions.

    Parameters
    ----------
    axis : int or sequence of int, optional
        Along which axes; None for all of them.
    dtype, acc_dtype : str, optional
        As for :class:`Sum`.
    no_zeros_in_input : bool
        A promise that no element is 0, which makes the gradient simpler and twice differentiable.

    See Also
    --------
    theano.tensor.Mean : The mean over axes as one operation, without a rewrite of its own; `mean` builds a sum and a
        division.
    theano.tensor.Sum : Sum along dimensions.
    theano.tensor.ProdWithoutZeros : Product of the elements that are not 0, along dimensions; 1 if there are none.

    Examples
    --------
    >>> import theano.tensor as T
    >>> Prod(axis=1)(T.constant([[1, 2, 3], [4, 5, 6]])).eval().tolist()
    [6, 120]
    """

    __props__ = ("axis", "dtype", "acc_dtype", "no_zeros_in_input")
    nfunc_spec = ("prod", 1, 1)

    def __str__(self) -> str:
        return f"Prod{{axis={self.axis!r}, dtype={self.dtype!r}, acc_dtype={self.acc_dtype!r}}}"

    def __init__(
        self,
        axis: typing.Any = None,
        dtype: str | None = None,
        acc_dtype: str | None = None,
        no_zeros_in_input: bool = False,
    ) -> None:
        super().__init__(scal.mul, axis=axis, dtype=dtype, acc_dtype=acc_dtype)
        self.no_zeros_in_input = no_zeros_in_input

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("no_zeros_in_input", False)

    def L_op(self, inp: Sequence[typing.Any], out: Sequence[typing.Any], grads: Sequence[typing.Any]) -> list:
        """Return the gradient: at each element the product of the others.

        That is the whole product divided by the element where no element of the group is 0. With one 0 in a group only
        that element has a gradient, the product of the others; with more there is none.
        """
        (x,) = inp
        (gz,) = grads
        if out[0].type.numpy_dtype.kind not in "fc":
            return [x.zeros_like(dtype=config.floatX)]
        gz = as_tensor_variable(gz)
        product = self(x)
        spread_gz = self._spread(x, gz)
        quotient = ops.mul(spread_gz, self._spread(x, product)) / x
        if self.no_zeros_in_input:
            return [quotient]
        is_zero = ops.eq(x, 0.0)
        n_zeros = ops.sum(is_zero, axis=self.axis)
        groups_without = self._spread(x, ops.eq(n_zeros, 0))
        lone_zero = ops.and_(self._spread(x, ops.eq(n_zeros, 1)), is_zero)
        others = ProdWithoutZeros(axis=self.axis, dtype=self.dtype, acc_dtype=self.acc_dtype)(x)
        at_lone_zero = ops.switch(lone_zero, self._spread(x, others) * spread_gz, 0.0)
        return [ops.switch(groups_without, quotient, at_lone_zero)]

    def R_op(self, inputs: Sequence[typing.Any], eval_points: Sequence[typing.Any]) -> list:
        """Return the derivatives of the product at each element, times the direction, summed."""
        (x,), (point,) = inputs, eval_points
        out = self(x)
        if point is None:
            return [None]
        if out.type.numpy_dtype.kind not in "fc":
            return [out.zeros_like(dtype=config.floatX)]
        (others,) = self.L_op([x], [out], [ops.ones_like(out)])
        return [ops.sum(others * point, axis=self.axis, dtype=out.type.dtype)]

    def c_code_cache_version(self) -> tuple:
        return (1,)


class MulWithoutZeros(BinaryScalarOp):
    """Product of two numbers in which 0 counts as 1, unless both are 0.

    See Also
    --------
    theano.tensor.ProdWithoutZeros : Product of the elements that are not 0, along dimensions; 1 if there are none.
    theano.tensor.elemwise.mul_without_zeros : An instance of it.

    Examples
    --------
    >>> [float(mul_without_zeros.impl(2.0, y)) for y in (0.0, 3.0)]
    [2.0, 6.0]
    """

    identity = 1.0
    commutative = True
    associative = True
    output_types_preference = staticmethod(upcast_out)

    def impl(self, x, y):
        return np.where(x == 0, y, np.where(y == 0, x, np.multiply(x, y)))[()]

    def c_code(self, node, name, inputs, outputs, sub):
        x, y = inputs
        return f"{outputs[0]} = {x} == 0 ? {y} : {y} == 0 ? {x} : {x} * {y};"

    def c_code_cache_version(self):
        return (1,)


mul_without_zeros = MulWithoutZeros(upcast_out, name="mul_without_zeros")


class ProdWithoutZeros(CAReduceDtype):
    """Product of the elements that are not 0, along dimensions; 1 if there are none.

    Parameters
    ----------
    axis : int or sequence of int, optional
        Along which axes; None for all of them.
    dtype, acc_dtype : str, optional
        As for :class:`Sum`.

    See Also
    --------
    theano.tensor.prod : Return the product of `input` over `axis`.
    theano.tensor.Prod : Product along dimensions.
    theano.tensor.elemwise.MulWithoutZeros : Product of two numbers in which 0 counts as 1, unless both are 0.

    Examples
    --------
    >>> import theano.tensor as T
    >>> ProdWithoutZeros(axis=1)(T.constant([[2, 0, 3], [0, 0, 0]])).eval().tolist()
    [6, 1]
    """

    __props__ = ("axis", "dtype", "acc_dtype")

    def __str__(self) -> str:
        return f"ProdWithoutZeros{{axis={self.axis!r}, dtype={self.dtype!r}, acc_dtype={self.acc_dtype!r}}}"

    def __init__(self, axis: typing.Any = None, dtype: str | None = None, acc_dtype: str | None = None) -> None:
        super().__init__(mul_without_zeros, axis=axis, dtype=dtype, acc_dtype=acc_dtype)

    def _reduce(self, x: np.ndarray, axes: tuple[int, ...], dtype: np.dtype) -> typing.Any:
        return np.multiply.reduce(np.where(x == 0, 1, x).astype(dtype), axis=axes)

    def grad(self, inp: Sequence[typing.Any], grads: Sequence[typing.Any]) -> list:
        from theano.gradient_types import grad_not_implemented

        return [
            grad_not_implemented(
                self,
                0,
                inp[0],
                "2nd derivatives of `product(a)` is not currently supported."
                "If `a` is guaranteed to contains no zeros, use `product(a, no_zeros_in_input=True)`.",
            )
        ]
