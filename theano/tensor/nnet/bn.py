"""Batch normalization: with the statistics of the batch, with given ones, and the gradients.

S. Ioffe, C. Szegedy, "Batch Normalization: Accelerating Deep Network Training by Reducing Internal Covariate Shift",
2015, https://arxiv.org/abs/1502.03167.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano import aliases
from theano.configdefaults import config
from theano.configparser import change_flags
from theano.gof.graph import Apply, Constant, Variable
from theano.gof.op import Op
from theano.gof.opt import copy_stack_trace, local_optimizer
from theano.gof.optdb import LocalGroupDB
from theano.gradient_types import DisconnectedType
from theano.scalar.basic import add, as_common_dtype, mul, sub, true_div, upcast  # noqa: F401
from theano.scalar.composite import Composite
from theano.scalar.type import Scalar
from theano.tensor import basic as T
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.elemwise import Elemwise
from theano.tensor.math import float_dtypes
from theano.tensor.rewriting.registry import register_specialize_device
from theano.tensor.type import TensorType

__all__ = [
    "AbstractBatchNormInference",
    "AbstractBatchNormTrain",
    "AbstractBatchNormTrainGrad",
    "BNComposite",
    "batch_normalization",
    "batch_normalization_test",
    "batch_normalization_train",
]


class BNComposite(Composite):
    """The scalar operation ``(x - mean) / std * gamma + beta``, which keeps nothing for its gradient.

    Parameters
    ----------
    dtype : str
        That of the five inputs.

    See Also
    --------
    theano.tensor.nnet.batch_normalization : Return ``(inputs - mean) * gamma / std + beta``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor.elemwise import Elemwise
    >>> x, mean, std, gamma, beta = T.dvectors("x", "mean", "std", "gamma", "beta")
    >>> normal = Elemwise(BNComposite("float64"))(x, mean, std, gamma, beta)
    >>> normal.eval({x: [7.0], mean: [1.0], std: [2.0], gamma: [10.0], beta: [0.5]}).tolist()
    [30.5]
    """

    init_param = ("dtype",)

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        x, mean, std, gamma, beta = (Scalar(dtype=dtype).make_variable() for _ in range(5))
        with change_flags(compute_test_value="off"):
            out = add(mul(true_div(sub(x, mean), std), gamma), beta)
            super().__init__([x, mean, std, gamma, beta], [out])

    def grad(self, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x, mean, std, gamma, _), (top,) = inputs, grads
        normalized = (x - mean) / std
        dx = top * gamma / std
        return [dx, -dx, -(dx * normalized), top * normalized, top]


def batch_normalization(inputs: Any, gamma: Any, beta: Any, mean: Any, std: Any, mode: str = "low_mem") -> Any:
    """Return ``(inputs - mean) * gamma / std + beta``.

    Parameters
    ----------
    inputs : tensor
        The activations of a batch.
    gamma, beta, mean, std : tensor
        Scale, shift, mean and standard deviation, which broadcast against `inputs`.
    mode : {'low_mem', 'high_mem'}
        One operation that keeps no intermediate results for its gradient, or elementary ones.

    Returns
    -------
    tensor
        Of the shape of `inputs`.

    Raises
    ------
    ValueError
        If `mode` is another one.

    See Also
    --------
    theano.tensor.nnet.batch_normalization_train : Normalize inputs by their own mean and variance along some axes.
    theano.tensor.nnet.batch_normalization_test : Normalize inputs by a given mean and variance: ``(inputs - mean) * gamma
        / sqrt(var + epsilon) + beta``.
    theano.tensor.nnet.bn.BNComposite : The scalar operation ``(x - mean) / std * gamma + beta``, which keeps nothing for
        its gradient.

    Examples
    --------
    >>> import numpy as np
    >>> x, mean = np.array([[1.0, 2.0], [3.0, 6.0]]), np.array([[2.0, 4.0]])
    >>> batch_normalization(x, np.ones((1, 2)), np.zeros((1, 2)), mean, np.array([[1.0, 2.0]])).eval()
    array([[-1., -1.],
           [ 1.,  1.]])
    """
    if mode not in ("low_mem", "high_mem"):
        raise ValueError(f"mode must be either 'low_mem', 'high_mem', got {mode!r}")
    given = (inputs, gamma, beta, mean, std)
    # Plain arithmetic, also of arrays.
    if mode == "low_mem" or not all(isinstance(v, (np.ndarray, np.generic, int, float)) for v in given):
        inputs, gamma, beta, mean, std = map(as_tensor_variable, given)
    if mode == "high_mem":
        return (inputs - mean) * (gamma / std) + beta
    dtype = upcast(*(v.dtype for v in (inputs, gamma, beta, mean, std)))
    inputs, gamma, beta, mean, std = (T.cast(v, dtype) for v in (inputs, gamma, beta, mean, std))
    return Elemwise(scalar_op=BNComposite(dtype=dtype))(inputs, mean, std, gamma, beta)


def _axes_of(axes: Any, ndim: int) -> tuple[int, ...]:
    """Return the normalized axes, sorted, of what the argument `axes` says."""
    if isinstance(axes, str):
        if axes == "per-activation":
            axes = (0,)
        elif axes == "spatial":
            axes = (0, *range(2, ndim))
        else:
            raise ValueError(f"axes must be 'per-activation', 'spatial' or a tuple of ints, got {axes!r}")
    elif not isinstance(axes, tuple | list | np.ndarray):
        raise ValueError(f"invalid axes: {axes}")
    found = tuple(sorted({int(a) for a in axes}))
    if not found:
        raise ValueError("there should be at least one normalization axis")
    if found[0] < 0 or found[-1] >= ndim:
        raise ValueError(f"axes should be less than ndim ({found} for inputs of {ndim} dimensions)")
    return found


def _as_parameter(name: str, parameter: Any, axes: tuple[int, ...], ndim: int) -> Any:
    """Return a parameter with the rank of the inputs, broadcastable along `axes`."""
    parameter = as_tensor_variable(parameter)
    kept = [i for i in range(ndim) if i not in axes]
    if parameter.ndim == ndim:
        return T.addbroadcast(parameter, *axes)
    if parameter.ndim == len(kept):
        pattern: list[Any] = ["x"] * ndim
        for position, axis in enumerate(kept):
            pattern[axis] = position
        return parameter.dimshuffle(pattern)
    raise ValueError(
        f"{name} must have as many dimensions as the inputs ({ndim}), or those without the axes {axes} ({len(kept)}), "
        f"got {parameter.ndim}"
    )


def _check_epsilon(epsilon: Any) -> None:
    value = epsilon.data if isinstance(epsilon, Constant) else epsilon
    if not isinstance(value, Variable) and not np.all(np.asarray(value) >= 1e-5):
        raise ValueError(f"epsilon must be at least 1e-5, got {value}")


def batch_normalization_train(
    inputs: Any,
    gamma: Any,
    beta: Any,
    axes: Any = "per-activation",
    epsilon: Any = 1e-4,
    running_average_factor: Any = 0.1,
    running_mean: Any = None,
    running_var: Any = None,
) -> tuple[Any, ...]:
    """Normalize inputs by their own mean and variance along some axes.

    Parameters
    ----------
    inputs : tensor
        Of any number of dimensions.
    gamma, beta : tensor
        Scale and shift: of the shape of `inputs` with length 1 along `axes`, or without these axes.
    axes : {'per-activation', 'spatial'} or tuple of int
        The axes of the statistics: the first; all but the second; those.
    epsilon : float
        What is added to the variance; at least 1e-5.
    running_average_factor : float
        The weight of this batch in the running averages.
    running_mean, running_var : tensor, optional
        The running averages so far, in the layout of `gamma`. Both or none.

    Returns
    -------
    out : tensor
        ``(inputs - mean) * gamma * invstd + beta``.
    mean : tensor
        Of the inputs, along `axes`.
    invstd : tensor
        ``1 / sqrt(var + epsilon)``; like `mean` in the layout of `gamma`.
    new_running_mean : tensor
        ``running_mean * (1 - running_average_factor) + mean * running_average_factor``; given if `running_mean` is.
    new_running_var : tensor
        Likewise with ``m / (m - 1) * var``, for averages over `m` elements.

    Raises
    ------
    ValueError
        If the axes are none of `inputs`, a parameter has another rank, `epsilon` is too small, or only one of the
        running averages is given.

    See Also
    --------
    theano.tensor.nnet.batch_normalization_test : Normalize inputs by a given mean and variance: ``(inputs - mean) * gamma
        / sqrt(var + epsilon) + beta``.
    theano.tensor.nnet.batch_normalization : Return ``(inputs - mean) * gamma / std + beta``.
    theano.tensor.nnet.bn.AbstractBatchNormTrain : Batch normalization by the statistics of the batch;
        `batch_normalization_train` is what users call.

    Examples
    --------
    >>> import numpy as np, theano, theano.tensor as T
    >>> x, gamma, beta = T.dmatrix(), T.dvector(), T.dvector()
    >>> out, mean, invstd = batch_normalization_train(x, gamma, beta)
    >>> theano.function([x, gamma, beta], mean)(np.array([[1., 2.], [3., 6.]]), np.ones(2), np.zeros(2))
    array([2., 4.])
    """
    inputs = as_tensor_variable(inputs)
    ndim = inputs.ndim
    axes = _axes_of(axes, ndim)
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be given or both be None")
    _check_epsilon(epsilon)
    given = {"gamma": gamma, "beta": beta}
    if running_mean is not None:
        given.update(running_mean=running_mean, running_var=running_var)
    given = {name: as_tensor_variable(parameter) for name, parameter in given.items()}
    gamma, beta, *running = (_as_parameter(name, parameter, axes, ndim) for name, parameter in given.items())
    results = AbstractBatchNormTrain(axes=axes)(inputs, gamma, beta, epsilon, running_average_factor, *running)
    kept = [i for i in range(ndim) if i not in axes]
    statistics = []
    for result, name in zip(results[1:], ("gamma", "gamma", "running_mean", "running_var")):
        if given[name].ndim != ndim:
            result = result.dimshuffle(kept)
        if name != "gamma":
            # What updates a shared variable has its type.
            result = T.patternbroadcast(result, given[name].broadcastable)
        statistics.append(result)
    return results[0], *statistics


def batch_normalization_test(
    inputs: Any, gamma: Any, beta: Any, mean: Any, var: Any, axes: Any = "per-activation", epsilon: Any = 1e-4
) -> Any:
    """Normalize inputs by a given mean and variance: ``(inputs - mean) * gamma / sqrt(var + epsilon) + beta``.

    Parameters
    ----------
    inputs : tensor
        Of any number of dimensions.
    gamma, beta, mean, var : tensor
        Of the shape of `inputs` with length 1 along `axes`, or without these axes.
    axes : {'per-activation', 'spatial'} or tuple of int
        The first; all but the second; those.
    epsilon : float
        At least 1e-5.

    Returns
    -------
    tensor
        Of the shape of `inputs`.

    Raises
    ------
    ValueError
        If the axes are none of `inputs`, a parameter has another rank, or `epsilon` is too small.

    See Also
    --------
    theano.tensor.nnet.batch_normalization : Return ``(inputs - mean) * gamma / std + beta``.
    theano.tensor.nnet.batch_normalization_train : Normalize inputs by their own mean and variance along some axes.

    Examples
    --------
    >>> import numpy as np
    >>> x, one = np.array([[1.0, 2.0], [3.0, 6.0]]), np.ones(2)
    >>> batch_normalization_test(x, one, one, mean=[2.0, 4.0], var=[0.9999, 3.9999]).eval()
    array([[0., 0.],
           [2., 2.]])
    """
    inputs = as_tensor_variable(inputs)
    axes = _axes_of(axes, inputs.ndim)
    _check_epsilon(epsilon)
    given = {"gamma": gamma, "beta": beta, "mean": mean, "var": var}
    parameters = (_as_parameter(name, parameter, axes, inputs.ndim) for name, parameter in given.items())
    return AbstractBatchNormInference(axes=axes)(inputs, *parameters, epsilon)


def _common_floats(*variables: Any) -> list[Any]:
    """Cast variables to the float dtype in which all can be held."""
    variables = tuple(map(as_tensor_variable, variables))
    dtype = str(np.result_type(*(v.dtype for v in variables)))
    if dtype not in float_dtypes:
        if dtype.startswith("complex"):
            raise TypeError(f"batch normalization takes real numbers, got {[v.type for v in variables]}")
        dtype = str(np.result_type(dtype, config.floatX)) if dtype != "bool" else config.floatX
    return [T.cast(v, dtype) for v in variables]


def _number(value: Any, dtype: str, name: str) -> Any:
    value = as_tensor_variable(value)
    if value.ndim:
        raise ValueError(f"{name} must be a number, got {value.type}")
    return T.cast(value, dtype)


def _check_ranks(x: Any, *parameters: Any) -> None:
    for parameter in parameters:
        if parameter.ndim != x.ndim:
            raise ValueError(f"all of batch normalization's inputs must have {x.ndim} dimensions, got {parameter.type}")


class _Normalization(Op):
    __props__: Sequence[str] = ("axes",)

    def __init__(self, axes: Sequence[int] = (0,)) -> None:
        if not len(axes):
            raise ValueError("there should be at least one normalization axis")
        self.axes = tuple(int(a) for a in axes)

    def _pattern(self, x: Any) -> list[bool]:
        if max(self.axes) >= x.ndim:
            raise ValueError(f"axes should be less than ndim ({self.axes} for {x.type})")
        return [i in self.axes or b for i, b in enumerate(x.broadcastable)]

    def _sum_like(self, x: Any, target: Any) -> Any:
        """Return the sum of `x` over the axes, and over those along which `target` is broadcast."""
        axes = {i for i, b in enumerate(target.broadcastable) if b} | set(self.axes)
        return T.patternbroadcast(x.sum(axis=tuple(sorted(axes)), keepdims=True), target.broadcastable)


class AbstractBatchNormTrain(_Normalization):
    """Batch normalization by the statistics of the batch; :func:`batch_normalization_train` is what users call.

    Parameters
    ----------
    axes : tuple of int
        The axes of the statistics.

    See Also
    --------
    theano.tensor.nnet.bn.AbstractBatchNormTrainGrad : The gradient of `AbstractBatchNormTrain`'s first output with
        respect to inputs, scale and bias.
    theano.tensor.nnet.bn.AbstractBatchNormInference : Batch normalization by given statistics; `batch_normalization_test`
        is what users call.
    theano.tensor.nnet.batch_normalization_train : Normalize inputs by their own mean and variance along some axes.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, one, zero = T.constant([[1.0], [5.0]]), T.ones((1, 1)), T.zeros((1, 1))
    >>> outputs = AbstractBatchNormTrain(axes=(0,))(x, one, zero, 1e-5)
    >>> normal, mean, inverse_of_std = (v.eval().round(4).tolist() for v in outputs)
    >>> normal, mean, inverse_of_std
    ([[-1.0], [1.0]], [[3.0]], [[0.5]])
    """

    def make_node(
        self,
        x: Any,
        scale: Any,
        bias: Any,
        epsilon: Any = 1e-4,
        running_average_factor: Any = 0.1,
        running_mean: Any = None,
        running_var: Any = None,
    ) -> Apply:
        if (running_mean is None) != (running_var is None):
            raise ValueError("running_mean and running_var must either both be given or both be None")
        running = [] if running_mean is None else [running_mean, running_var]
        x, scale, bias, *running = _common_floats(x, scale, bias, *running)
        _check_ranks(x, scale, bias, *running)
        _check_epsilon(epsilon)
        statistic = TensorType(x.dtype, self._pattern(x))
        numbers = [
            _number(epsilon, x.dtype, "epsilon"),
            _number(running_average_factor, x.dtype, "running_average_factor"),
        ]
        outputs = [x.type(), statistic(), statistic(), *(statistic() for _ in running)]
        return Apply(self, [x, scale, bias, *numbers, *running], outputs)

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, scale, bias, epsilon, factor, *running = _wide(inputs)
        mean, var = _moments(x, self.axes)
        invstd = 1 / np.sqrt(var + epsilon)
        results = [(x - mean) * (scale * invstd) + bias, mean, invstd]
        if running:
            with np.errstate(divide="ignore", invalid="ignore"):
                m = x.dtype.type(np.prod([x.shape[a] for a in self.axes]))
                unbiased = var * (m / (m - 1))
            results += [running[0] * (1 - factor) + mean * factor, running[1] * (1 - factor) + unbiased * factor]
        for storage, result, out in zip(output_storage, results, node.outputs):
            storage[0] = np.asarray(result, dtype=out.dtype)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        x = in_shapes[0]
        statistic = tuple(1 if i in self.axes else length for i, length in enumerate(x))
        return [x] + [statistic] * (len(node.outputs) - 1)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        new = len(node.outputs) - 3
        first = [True, False, False] + [False] * new
        pattern = [[True] * (3 + new), first, first, [False] * (3 + new), [False] * (3 + new)]
        for i in range(new):
            pattern.append([j == 3 + i for j in range(3 + new)])
        return pattern

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        x, scale, _, _, factor, *running = inputs
        _, mean, invstd = outputs[:3]
        known = [None if isinstance(g.type, DisconnectedType) else g for g in grads]
        m = _count(x, self.axes)
        terms = []
        dscale: Any = DisconnectedType()()
        dbias: Any = DisconnectedType()()
        if known[0] is not None:
            dx, dscale, dbias = AbstractBatchNormTrainGrad(self.axes)(x, known[0], scale, mean, invstd)
            terms.append(dx)
        centered = x - mean
        if known[1] is not None:
            terms.append(T.fill(x, known[1] / m))
        if known[2] is not None:
            terms.append(known[2] * (-(invstd**3)) / m * centered)
        drunning: list[Any] = [DisconnectedType()() for _ in running]
        if running and known[3] is not None:
            terms.append(T.fill(x, known[3] * factor / m))
            drunning[0] = self._sum_like(known[3] * (1 - factor), running[0])
        if running and known[4] is not None:
            terms.append(known[4] * (2 * factor / (m - 1)) * centered)
            drunning[1] = self._sum_like(known[4] * (1 - factor), running[1])
        gradient: Any = sum(terms[1:], terms[0]) if terms else DisconnectedType()()
        return [gradient, dscale, dbias, DisconnectedType()(), DisconnectedType()(), *drunning]


class AbstractBatchNormInference(_Normalization):
    """Batch normalization by given statistics; :func:`batch_normalization_test` is what users call.

    Parameters
    ----------
    axes : tuple of int
        The axes along which the parameters have length 1.

    See Also
    --------
    theano.tensor.nnet.batch_normalization_train : Normalize inputs by their own mean and variance along some axes.
    theano.tensor.nnet.bn.AbstractBatchNormTrainGrad : The gradient of `AbstractBatchNormTrain`'s first output with
        respect to inputs, scale and bias.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, one, zero = T.constant([[1.0], [5.0]]), T.ones((1, 1)), T.zeros((1, 1))
    >>> normal = AbstractBatchNormInference(axes=(0,))(x, one, zero, 3 * one, 4 * one, 1e-5)
    >>> normal.eval().round(4).tolist()
    [[-1.0], [1.0]]
    """

    def make_node(
        self, x: Any, scale: Any, bias: Any, estimated_mean: Any, estimated_variance: Any, epsilon: Any = 1e-4
    ) -> Apply:
        x, *parameters = _common_floats(x, scale, bias, estimated_mean, estimated_variance)
        _check_ranks(x, *parameters)
        _check_epsilon(epsilon)
        self._pattern(x)
        return Apply(self, [x, *parameters, _number(epsilon, x.dtype, "epsilon")], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, scale, bias, mean, var, epsilon = _wide(inputs)
        result = (x - mean) * (scale / np.sqrt(var + epsilon)) + bias
        output_storage[0][0] = np.asarray(result, dtype=node.outputs[0].dtype)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [in_shapes[0]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True]] * 5 + [[False]]

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x, scale, bias, mean, var, epsilon), (dy,) = inputs, grads
        invstd = T.inv(T.sqrt(var + epsilon))
        centered = x - mean
        of_dy = self._sum_like(dy, bias)
        weighted = self._sum_like(dy * centered, scale)
        return [
            dy * (scale * invstd),
            weighted * invstd,
            of_dy,
            -of_dy * (scale * invstd),
            -0.5 * weighted * (scale * invstd**3),
            DisconnectedType()(),
        ]


class AbstractBatchNormTrainGrad(_Normalization):
    """The gradient of :class:`AbstractBatchNormTrain`'s first output with respect to inputs, scale and bias.

    With ``c = dy * invstd - (x - mean) * invstd**3 * average(dy * (x - mean))`` these are ``scale * (c - average(c))``,
    ``sum(dy * (x - mean)) * invstd`` and ``sum(dy)``.

    Parameters
    ----------
    axes : tuple of int
        The axes of the statistics.

    See Also
    --------
    theano.tensor.nnet.bn.AbstractBatchNormInference : Batch normalization by given statistics; `batch_normalization_test`
        is what users call.
    theano.tensor.nnet.bn.AbstractBatchNormTrain : Batch normalization by the statistics of the batch;
        `batch_normalization_train` is what users call.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, dy = T.constant([[-1.0], [-1.0], [1.0], [1.0]]), T.constant([[1.0], [0.0], [0.0], [0.0]])
    >>> one, zero = T.ones((1, 1)), T.zeros((1, 1))
    >>> of_x, of_scale, of_bias = AbstractBatchNormTrainGrad(axes=(0,))(x, dy, one, zero, one)
    >>> of_x.eval().ravel().tolist(), of_scale.eval().tolist(), of_bias.eval().tolist()
    ([0.5, -0.5, 0.0, 0.0], [[-1.0]], [[1.0]])
    """

    def make_node(self, x: Any, dy: Any, scale: Any, x_mean: Any, x_invstd: Any, epsilon: Any = 1e-4) -> Apply:
        x, dy, scale, x_mean, x_invstd = _common_floats(x, dy, scale, x_mean, x_invstd)
        _check_ranks(x, dy, scale, x_mean, x_invstd)
        self._pattern(x)
        epsilon = _number(epsilon, x.dtype, "epsilon")
        return Apply(self, [x, dy, scale, x_mean, x_invstd, epsilon], [x.type(), scale.type(), scale.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, dy, scale, mean, invstd, _ = _wide(inputs)
        centered = x - mean

        def average(v: np.ndarray) -> np.ndarray:
            return v.mean(axis=self.axes, keepdims=True)

        c = dy * invstd - centered * (average(dy * centered) * invstd**3)
        results = [
            scale * (c - average(c)),
            (dy * centered).sum(axis=self.axes, keepdims=True) * invstd,
            dy.sum(axis=self.axes, keepdims=True),
        ]
        for i, result in enumerate(results):
            if i:
                result = _sum_to(result, scale.shape)
            output_storage[i][0] = np.asarray(result, dtype=node.outputs[i].dtype)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [in_shapes[0], in_shapes[2], in_shapes[2]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        connected = [True, True, False]
        return [connected, [True, True, True], [True, False, False], connected, connected, [False] * 3]

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        x, dy, scale, mean, invstd, _ = inputs
        u, v, w = (None if isinstance(g.type, DisconnectedType) else g for g in grads)
        # With u', the part of u whose average is 0, a = average(dy * d), d = x - mean, b = average(u' * d):
        # sum(u * scale * (c - average(c))) = scale * m * (average(u' * dy) * invstd - a * b * invstd**3).
        axes = self.axes
        scale_, mean_, invstd_ = (T.addbroadcast(p, *axes) for p in (scale, mean, invstd))
        m = _count(x, axes)
        d = x - mean_

        def average(t: Any) -> Any:
            return t.sum(axis=axes, keepdims=True) / m

        a = average(dy * d)
        of_d, of_dy, of_invstd, of_scale = [], [], [], []
        if u is not None:
            u = u - average(u)
            b, uy, cube = average(u * d), average(u * dy), invstd_**3
            of_dy.append(scale_ * (invstd_ * u - cube * b * d))
            of_d.append(-(scale_ * cube) * (b * dy + a * u))
            of_invstd.append(m * scale_ * (uy - 3 * invstd_**2 * (a * b)))
            of_scale.append(m * (invstd_ * uy - cube * (a * b)))
        if v is not None:
            v = T.addbroadcast(v, *axes)
            of_dy.append(v * invstd_ * d)
            of_d.append(v * invstd_ * dy)
            of_invstd.append(m * v * a)
        if w is not None:
            of_dy.append(T.fill(x, T.addbroadcast(w, *axes)))

        def total(terms: list[Any], like: Any = None) -> Any:
            if not terms:
                return DisconnectedType()()
            found = sum(terms[1:], terms[0])
            return found if like is None else self._sum_like(found, like)

        dd = total(of_d)
        dmean = self._sum_like(-dd, mean) if of_d else DisconnectedType()()
        return [dd, total(of_dy), total(of_scale, scale), dmean, total(of_invstd, invstd), DisconnectedType()()]


def _count(x: Any, axes: Sequence[int]) -> Any:
    """Return the number of elements along `axes`, in the dtype of `x`."""
    count = x.shape[axes[0]]
    for a in axes[1:]:
        count = count * x.shape[a]
    return T.cast(count, x.dtype)


def _wide(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    # Sums in half precision would lose what the results can hold.
    return [a.astype("float32") if a.dtype == "float16" else a for a in arrays]


def _moments(x: np.ndarray, axes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the variance of `x` over `axes`; over no elements both are NaN."""
    if not np.prod([x.shape[a] for a in axes]):
        none = np.full([1 if i in axes else n for i, n in enumerate(x.shape)], np.nan, x.dtype)
        return none, none.copy()
    mean = x.mean(axis=axes, keepdims=True)
    centered = x - mean
    error = centered.mean(axis=axes, keepdims=True)
    return mean, np.square(centered).mean(axis=axes, keepdims=True) - error * error


def _sum_to(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    axes = tuple(i for i, (n, length) in enumerate(zip(x.shape, shape)) if length == 1 != n)
    return x.sum(axis=axes, keepdims=True) if axes else x


#: What computes the abstract operations.
bn_groupopt = LocalGroupDB()
bn_groupopt.__name__ = "batchnorm_opts"
register_specialize_device(bn_groupopt, "fast_compile", "fast_run")


def _registered(optimizer: Any) -> Any:
    bn_groupopt.register(optimizer.__name__, optimizer, "fast_compile", "fast_run")
    return optimizer


def _computed(node: Apply, results: Sequence[Any]) -> list[Any]:
    """Return results of the types of a node's outputs."""
    news = []
    for out, result in zip(node.outputs, results):
        result = T.cast(result, out.dtype)
        if result.broadcastable != out.broadcastable:
            result = T.patternbroadcast(result, out.broadcastable)
        news.append(result)
    copy_stack_trace(node.outputs[0], news)
    return news


def _single(inputs: Sequence[Any]) -> list[Any]:
    return [T.cast(v, "float32") if v.dtype == "float16" else v for v in inputs]


@_registered
@local_optimizer([AbstractBatchNormTrain])
def local_abstract_batch_norm_train(node: Apply) -> Any:
    """Batch normalization in training -> averages and elementwise operations"""
    if not isinstance(node.op, AbstractBatchNormTrain):
        return None
    axes = node.op.axes
    x, scale, bias, epsilon, factor, *running = _single(node.inputs)
    scale, bias, *running = (T.addbroadcast(p, *axes) for p in (scale, bias, *running))
    mean = x.mean(axis=axes, keepdims=True)
    centered = x - mean
    error = centered.mean(axis=axes, keepdims=True)
    var = T.sqr(centered).mean(axis=axes, keepdims=True) - T.sqr(error)
    invstd = T.inv(T.sqrt(var + epsilon))
    results = [centered * (scale * invstd) + bias, mean, invstd]
    if running:
        m = _count(x, axes)
        keep = 1 - factor
        results += [running[0] * keep + mean * factor, running[1] * keep + (m / (m - 1)) * var * factor]
    return _computed(node, results)


@_registered
@local_optimizer([AbstractBatchNormTrainGrad])
def local_abstract_batch_norm_train_grad(node: Apply) -> Any:
    """The gradient of batch normalization in training -> sums and elementwise operations"""
    if not isinstance(node.op, AbstractBatchNormTrainGrad):
        return None
    op, axes = node.op, node.op.axes
    x, dy, scale, mean, invstd, _ = _single(node.inputs)
    scale_, mean, invstd = (T.addbroadcast(p, *axes) for p in (scale, mean, invstd))
    centered = x - mean
    m = _count(x, axes)
    total, weighted = (t.sum(axis=axes, keepdims=True) for t in (dy, dy * centered))
    slope = weighted * (invstd * invstd * invstd) / m
    offset = (total * invstd - slope * centered.sum(axis=axes, keepdims=True)) / m
    dx = (dy * invstd - centered * slope - offset) * scale_
    return _computed(node, [dx, op._sum_like(weighted * invstd, scale), op._sum_like(total, scale)])


@_registered
@local_optimizer([AbstractBatchNormInference])
def local_abstract_batch_norm_inference(node: Apply) -> Any:
    """Batch normalization by given statistics -> elementwise operations"""
    if not isinstance(node.op, AbstractBatchNormInference):
        return None
    x, scale, bias, mean, var, epsilon = _single(node.inputs)
    scale, bias, mean, var = (T.addbroadcast(p, *node.op.axes) for p in (scale, bias, mean, var))
    return _computed(node, [(x - mean) * (scale / T.sqrt(var + epsilon)) + bias])


__getattr__, __dir__ = aliases.lazy(__name__)
