"""Pooling: the maximum, sum or average of windows of images, its gradients and theirs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from theano import aliases
from theano.configdefaults import config
from theano.gof.cop import OpenMPOp
from theano.gof.enum_type import EnumList
from theano.gof.graph import Apply
from theano.gradient_types import DisconnectedType
from theano.scalar.type import bool as bool_t  # noqa: F401
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.math import discrete_dtypes
from theano.tensor.signal.windows import out_shape_of, window_inputs, window_sizes, window_steps, window_values
from theano.tensor.type import TensorType

PoolingMode_t = EnumList(
    ("POOLING_MAX", "max"),
    ("POOLING_SUM", "sum"),
    ("POOLING_AVERAGE_COUNT_INCLUDE_PADDING", "average_inc_pad"),
    ("POOLING_AVERAGE_COUNT_EXCLUDE_PADDING", "average_exc_pad"),
)

LINEAR_MODES = ("sum", "average_inc_pad", "average_exc_pad")
MODES = ("max", *LINEAR_MODES)


def max_pool_2d_same_size(input: Any, patch_size: Any):
    """Return the images with all but the maxima of non-overlapping patches set to zero.

    Parameters
    ----------
    input : tensor4
        Images, of which the last two dimensions are pooled.
    patch_size : (int, int) or integer vector
        Height and width of a patch. (2, 2) keeps one of four values; equal maxima are all kept.

    Returns
    -------
    tensor4
        Of the shape and dtype of `input`. Rows and columns beyond the last whole patch are zero.

    See Also
    --------
    theano.tensor.signal.pool.pool_2d : Downscale images over their last two dimensions.
    theano.tensor.signal.pool.pool_3d : Downscale images over their last three dimensions; parameters are of three
        lengths, else as those of `pool_2d`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor.signal.pool import max_pool_2d_same_size
    >>> x = T.constant([[[[1., 2., 3., 4.], [5., 6., 7., 8.]]]])
    >>> max_pool_2d_same_size(x, (2, 2)).eval().tolist()
    [[[[0.0, 0.0, 0.0, 0.0], [0.0, 6.0, 0.0, 8.0]]]]
    """
    pooled = Pool(ignore_border=True)(input, patch_size)
    return MaxPoolGrad(ignore_border=True)(input, pooled, pooled, patch_size)


def pool_2d(
    input: Any,
    ws: Any = None,
    ignore_border: bool | None = None,
    stride: Any = None,
    pad: Any = (0, 0),
    mode: str = "max",
    ds: Any = None,
    st: Any = None,
    padding: Any = None,
):
    """Downscale images over their last two dimensions.

    Parameters
    ----------
    input : tensor of two or more dimensions
        The last two dimensions are those of an image.
    ws : (int, int) or integer vector
        Height and width of a window: (2, 2) halves the image in each dimension.
    ignore_border : bool, optional
        Whether windows that reach beyond the image are left out: an image of (5, 5) gives (2, 2) for windows of (2, 2), else
        (3, 3). None means False, with a warning.
    stride : (int, int) or integer vector, optional
        From one window to the next, by default `ws`.
    pad : (int, int) or integer vector
        Rows above and below, columns left and right of the image, of zeros for sums and averages; only with `ignore_border`.
    mode : {'max', 'sum', 'average_inc_pad', 'average_exc_pad'}
        What is taken of a window. 'max' and 'sum' leave the padding out; averages count it or not.
    ds, st, padding : tuple of int, optional
        Deprecated names of `ws`, `stride`, `pad`.

    Returns
    -------
    tensor
        Of the dtype of `input`.

    Raises
    ------
    NotImplementedError
        If `input` has fewer than two dimensions; for padding without `ignore_border`, or, for 'max' and 'average_exc_pad', as
        long as the window.
    ValueError
        If a parameter is given under both names, or no window; if one has another length than two; for another mode.
    TypeError
        If a parameter is no vector of integers.

    See Also
    --------
    theano.tensor.signal.pool.pool_3d : Downscale images over their last three dimensions; parameters are of three
        lengths, else as those of `pool_2d`.
    theano.tensor.signal.pool.max_pool_2d_same_size : Return the images with all but the maxima of non-overlapping patches
        set to zero.
    theano.tensor.signal.pool.Pool : The maximum, sum or average of each window of images.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor.signal.pool import pool_2d
    >>> x = T.constant([[1., 2., 3.], [4., 5., 6.], [7., 8., 9.]])
    >>> pool_2d(x, (2, 2), ignore_border=True).eval()
    array([[5.]])
    >>> pool_2d(x, (2, 2), ignore_border=True, stride=(1, 1), mode='average_exc_pad').eval()
    array([[3., 4.],
           [6., 7.]])
    """
    return _pool_nd(2, input, ws, ignore_border, stride, pad, mode, ds, st, padding)


def pool_3d(
    input: Any,
    ws: Any = None,
    ignore_border: bool | None = None,
    stride: Any = None,
    pad: Any = (0, 0, 0),
    mode: str = "max",
    ds: Any = None,
    st: Any = None,
    padding: Any = None,
):
    """Downscale images over their last three dimensions; parameters are of three lengths, else as those of :func:`pool_2d`.

    Parameters
    ----------
    input : tensor_like
        Of three dimensions or more, of which the last three are pooled.
    ws : sequence of three int, or integer vector
        The lengths of the windows.
    ignore_border, stride, pad, mode, ds, st, padding
        As for :func:`pool_2d`, with three numbers where that has two.

    Returns
    -------
    TensorVariable
        Of the dtype of `input`.

    See Also
    --------
    theano.tensor.signal.pool.max_pool_2d_same_size : Return the images with all but the maxima of non-overlapping patches
        set to zero.
    theano.tensor.signal.pool.pool_2d : Downscale images over their last two dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> import theano.tensor as T
    >>> from theano.tensor.signal.pool import pool_3d
    >>> pool_3d(T.constant(np.ones((2, 4, 4, 4))), (2, 2, 4), ignore_border=True, mode='sum').eval().shape
    (2, 2, 2, 1)
    """
    return _pool_nd(3, input, ws, ignore_border, stride, pad, mode, ds, st, padding)


def _pool_nd(
    ndim: int, input: Any, ws: Any, ignore_border: Any, stride: Any, pad: Any, mode: str, ds: Any, st: Any, padding: Any
) -> Any:
    ws, stride, pad = _current_names(ws, stride, pad, ds, st, padding, (0,) * ndim, 5)
    input = as_tensor_variable(input)
    if input.type.ndim < ndim:
        raise NotImplementedError(f"pool_{ndim}d requires a dimension >= {ndim}")
    if ignore_border is None:
        warnings.warn(
            f"pool_{ndim}d() will have the parameter ignore_border default value changed to True (currently False). "
            "To have consistent behavior with all Theano version, explicitly add the parameter ignore_border=True.",
            stacklevel=3,
        )
        ignore_border = False
    return Pool(ignore_border, ndim=ndim, mode=mode)(input, ws, stride, pad)


def _current_names(ws: Any, stride: Any, pad: Any, ds: Any, st: Any, padding: Any, no_pad: Any, level: int) -> tuple:
    """Return window, stride and padding, of which each may have been given under its deprecated name."""

    def one_of(value: Any, name: str, old_value: Any, old_name: str) -> Any:
        if old_value is None:
            return value
        if value is not None:
            raise ValueError(f"You can't provide a tuple value to both '{name}' and '{old_name}'.")
        warnings.warn(
            f"DEPRECATION: the '{old_name}' parameter is not going to exist anymore as it is going to be replaced by the "
            f"parameter '{name}'.",
            stacklevel=level,
        )
        return old_value

    ws = one_of(ws, "ws", ds, "ds")
    if ws is None:
        raise ValueError("You must provide a tuple value for the window size.")
    stride = one_of(stride, "stride", st, "st")
    unpadded = pad is None or (isinstance(pad, tuple) and pad == no_pad)
    return ws, stride, one_of(None if unpadded else pad, "pad", padding, "padding")


def _summed_dtype(dtype: np.dtype) -> np.dtype:
    """Return the dtype in which elements are added up."""
    if dtype == "float16":
        return np.dtype("float32")
    return np.dtype({"b": "uint64", "u": "uint64", "i": "int64"}.get(dtype.kind, dtype))


def _quotient(total: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return sums by the sizes of their windows; integers are rounded towards zero."""
    sizes = sizes.astype(total.dtype)
    if total.dtype.kind == "i":
        return np.where(total < 0, -(-total // sizes), total // sizes)
    return total // sizes if total.dtype.kind == "u" else total / sizes


class _Pooling(OpenMPOp):
    """What all Ops of pooling share: their properties, the parameters of windows, shapes."""

    __props__ = ("ignore_border", "mode", "ndim")
    _f16_ok = True
    modes: tuple[str, ...] = MODES

    def __init__(self, ignore_border: bool = False, mode: str = "max", ndim: int = 2, openmp: bool | None = None) -> None:
        super().__init__(openmp=openmp)
        if mode not in self.modes:
            raise ValueError(
                f"{type(self).__name__} mode parameter only support {', '.join(map(repr, self.modes))}. Got {mode!r}"
            )
        self.ndim = ndim
        self.ignore_border = bool(ignore_border)
        self.mode = mode

    def __str__(self) -> str:
        return f"{type(self).__name__}{{ignore_border={self.ignore_border}, mode='{self.mode}', ndim={self.ndim}}}"

    @staticmethod
    def out_shape(
        imgshape: Any,
        ws: Any = None,
        ignore_border: bool = False,
        stride: Any = None,
        pad: Any = None,
        ndim: int = 2,
        ds: Any = None,
        st: Any = None,
        padding: Any = None,
    ) -> list[Any]:
        """Return the shape of what is pooled of images.

        Parameters
        ----------
        imgshape : sequence of int or scalar variables
        ws, ignore_border, stride, pad, ds, st, padding
            As in :func:`pool_2d`.
        ndim : int
            The number of axes that are pooled, the last ones.

        Returns
        -------
        list
            Of the length of `imgshape`; scalar variables where a length depends on one.

        Raises
        ------
        TypeError
            If `imgshape` has fewer than `ndim` lengths.

        Examples
        --------
        >>> from theano.tensor.signal.pool import Pool
        >>> Pool.out_shape((9, 8, 6), (2, 2))
        [9, 4, 3]
        """
        ws, stride, pad = _current_names(ws, stride, pad, ds, st, padding, (0,) * ndim, 4)
        return out_shape_of(
            imgshape, ws, ignore_border, ws if stride is None else stride, (0,) * ndim if pad is None else pad, ndim
        )

    def _images(self, name: str, *values: Any) -> list[Any]:
        """Return tensors that have the pooled axes and are of one rank."""
        tensors = [as_tensor_variable(v) for v in values]
        ranks = {v.type.ndim for v in tensors}
        if min(ranks) < self.ndim or len(ranks) > 1:
            raise TypeError(
                f"{type(self).__name__} pools over {self.ndim} dimensions: {name} must have one rank of at least that, "
                f"got {', '.join(str(v.type) for v in tensors)}"
            )
        return tensors

    def _windows(self, ws: Any, stride: Any, pad: Any) -> list[Any]:
        return window_inputs(self.ndim, self.ignore_border, self.mode, ws, stride, pad)

    def _pooled_type(self, x: Any) -> TensorType:
        return TensorType(x.type.dtype, (*x.type.broadcastable[: x.type.ndim - self.ndim], *[False] * self.ndim))

    def _values(self, x: np.ndarray, *vectors: np.ndarray) -> tuple[tuple, tuple[int, ...]]:
        """Return what :func:`window_steps` takes, and the shape of what is pooled of `x`."""
        ws, stride, pad = window_values(self.ndim, self.ignore_border, self.mode, *vectors)
        shape = tuple(out_shape_of(x.shape, ws, self.ignore_border, stride, pad, self.ndim))
        return (x.shape[x.ndim - self.ndim :], shape[x.ndim - self.ndim :], ws, stride, pad), shape

    @staticmethod
    def _check_shape(name: str, array: np.ndarray, shape: tuple[int, ...]) -> None:
        if array.shape != shape:
            raise ValueError(f"{name} has the shape {array.shape}, what is pooled has {shape}")

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True]] * (len(node.inputs) - 3) + [[False]] * 3

    def _disconnected(self) -> list[Any]:
        return [DisconnectedType()() for _ in range(3)]


class Pool(_Pooling):
    """The maximum, sum or average of each window of images.

    Parameters
    ----------
    ignore_border : bool
        Whether windows that reach beyond the (padded) image are left out.
    mode : {'max', 'sum', 'average_inc_pad', 'average_exc_pad'}
        Which one is computed.
    ndim : int
        How many axes are pooled, the last ones.
    openmp : bool, optional
        Accepted for programs that give it: work is always divided among ``config.threads``.

    See Also
    --------
    theano.tensor.signal.pool.MaxPoolGrad : The gradient of the maxima of windows: each element that equals one gets its
        gradient, of equal ones each.
    theano.tensor.signal.pool.AveragePoolGrad : The gradient of the sums or averages of windows.
    theano.tensor.signal.pool.pool_2d : Downscale images over their last two dimensions.

    Notes
    -----
    NaN is the maximum of a window that has one. Averages of integers are rounded towards zero.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.constant([[[[1.0, 9.0, 5.0, 3.0, 8.0]]]])
    >>> [Pool(ignore_border=True, mode=mode)(x, [1, 2]).eval().ravel().tolist() for mode in ("max", "sum")]
    [[9.0, 5.0], [10.0, 8.0]]
    >>> Pool(ignore_border=False)(x, [1, 2]).eval().ravel().tolist()
    [9.0, 5.0, 8.0]
    """

    def make_node(self, x: Any, ws: Any, stride: Any = None, pad: Any = None) -> Apply:
        (x,) = self._images("the images", x)
        return Apply(self, [x, *self._windows(ws, stride, pad)], [self._pooled_type(x)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, *vectors = inputs
        windows, shape = self._values(x, *vectors)
        if self.mode == "max":
            least = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else False if x.dtype.kind == "b" else -np.inf
            z = np.full(shape, least, dtype=x.dtype)
            for which, elements in window_steps(*windows):
                z[which] = np.maximum(z[which], x[elements])
        else:
            z = np.zeros(shape, dtype=_summed_dtype(x.dtype))
            for which, elements in window_steps(*windows):
                z[which] += x[elements]
            if self.mode != "sum":
                z = _quotient(z, window_sizes(*windows, padded=self.mode == "average_inc_pad"))
        output_storage[0][0] = z.astype(x.dtype, copy=False)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        ws, stride, pad = node.inputs[1:]
        return [out_shape_of(in_shapes[0], ws, self.ignore_border, stride, pad, self.ndim)]

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x, *windows), (gz,) = inputs, grads
        if x.type.dtype in discrete_dtypes:
            return [x.zeros_like(dtype=config.floatX), *self._disconnected()]
        if self.mode == "max":
            gx = MaxPoolGrad(self.ignore_border, ndim=self.ndim)(x, outputs[0], gz, *windows)
        else:
            gx = AveragePoolGrad(self.ignore_border, mode=self.mode, ndim=self.ndim)(x, gz, *windows)
        return [gx, *self._disconnected()]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        (x, *windows), point = inputs, eval_points[0]
        if point is None:
            return [None]
        if self.mode == "max":
            return [MaxPoolRop(self.ignore_border, ndim=self.ndim)(x, point, *windows)]
        return [self(point, *windows)]


class PoolGrad(_Pooling):
    """The base of the gradients of pooling with respect to images, which have their shape and dtype.

    See Also
    --------
    theano.tensor.signal.pool.MaxPoolGrad : The gradient of the maxima of windows: each element that equals one gets its
        gradient, of equal ones each.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dtensor4("x")
    >>> pooled = [T.signal.pool.pool_2d(x, (2, 2), ignore_border=True, mode=mode) for mode in ("max", "sum")]
    >>> [isinstance(theano.grad(y.sum(), x).owner.op, PoolGrad) for y in pooled]
    [True, True]
    """

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [in_shapes[0]]


class MaxPoolGrad(PoolGrad):
    """The gradient of the maxima of windows: each element that equals one gets its gradient, of equal ones each.

    The inputs are the images, their maxima, the gradient with respect to these, and the windows.

    Parameters
    ----------
    ignore_border, ndim, openmp : bool, optional
        Those of :class:`Pool`.

    See Also
    --------
    theano.tensor.signal.pool.AveragePoolGrad : The gradient of the sums or averages of windows.
    theano.tensor.signal.pool.Pool : The maximum, sum or average of each window of images.
    theano.tensor.signal.pool.PoolGrad : The base of the gradients of pooling with respect to images, which have their
        shape and dtype.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, top = T.constant([[[[1.0, 9.0, 5.0, 3.0]]]]), T.constant([[[[10.0, 20.0]]]])
    >>> largest = Pool(ignore_border=True)(x, [1, 2])
    >>> MaxPoolGrad(ignore_border=True)(x, largest, top, [1, 2]).eval().ravel().tolist()
    [0.0, 10.0, 20.0, 0.0]
    """

    modes = ("max",)

    def __init__(self, ignore_border: bool = False, ndim: int = 2, openmp: bool | None = None) -> None:
        super().__init__(ignore_border, mode="max", ndim=ndim, openmp=openmp)

    def make_node(self, x: Any, maxout: Any, gz: Any, ws: Any, stride: Any = None, pad: Any = None) -> Apply:
        x, maxout, gz = self._images("images, maxima and gradient", x, maxout, gz)
        return Apply(self, [x, maxout, gz, *self._windows(ws, stride, pad)], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, maxout, gz, *vectors = inputs
        windows, shape = self._values(x, *vectors)
        self._check_shape("the array of maxima", maxout, shape)
        self._check_shape("the gradient", gz, shape)
        gx = np.zeros(x.shape, dtype=_summed_dtype(x.dtype))
        for which, elements in window_steps(*windows):
            gx[elements] += np.where(x[elements] == maxout[which], gz[which], 0).astype(gx.dtype, copy=False)
        output_storage[0][0] = gx.astype(x.dtype, copy=False)

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x, maxout, _, *windows), (ggx,) = inputs, grads
        ggz = DownsampleFactorMaxGradGrad(self.ignore_border, ndim=self.ndim)(x, maxout, ggx, *windows)
        return [x.zeros_like(), maxout.zeros_like(), ggz, *self._disconnected()]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        (x, maxout, _, *windows), point = inputs, eval_points[2]
        return [None if point is None else self(x, maxout, point, *windows)]


class AveragePoolGrad(PoolGrad):
    """The gradient of the sums or averages of windows.

    The inputs are the images, of which only the shape counts, the gradient with respect to what is pooled, and the windows.

    Parameters
    ----------
    ignore_border, mode, ndim : bool, optional
        Those of :class:`Pool`.

    See Also
    --------
    theano.tensor.signal.pool.pool_2d : Downscale images over their last two dimensions.
    theano.tensor.signal.pool.MaxPoolGrad : The gradient of the maxima of windows: each element that equals one gets its
        gradient, of equal ones each.

    Examples
    --------
    >>> import theano.tensor as T
    >>> images, top = T.zeros((1, 1, 2, 4)), T.constant([[[[4.0, 8.0]]]])
    >>> AveragePoolGrad(ignore_border=True)(images, top, [2, 2]).eval()[0, 0].tolist()
    [[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0]]
    """

    modes = LINEAR_MODES

    def __init__(self, ignore_border: bool = False, mode: str = "average_inc_pad", ndim: int = 2) -> None:
        super().__init__(ignore_border, mode=mode, ndim=ndim)

    def make_node(self, x: Any, gz: Any, ws: Any, stride: Any = None, pad: Any = None, dummy: Any = None) -> Apply:
        x, gz = self._images("images and gradient", x, gz)
        return Apply(self, [x, gz, *self._windows(ws, stride, pad)], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, gz, *vectors = inputs
        windows, shape = self._values(x, *vectors)
        self._check_shape("the gradient", gz, shape)
        wide = gz.astype(_summed_dtype(gz.dtype), copy=False)
        if self.mode != "sum":
            wide = _quotient(wide, window_sizes(*windows, padded=self.mode == "average_inc_pad"))
        gx = np.zeros(x.shape, dtype=_summed_dtype(x.dtype))
        for which, elements in window_steps(*windows):
            gx[elements] += wide[which].astype(gx.dtype, copy=False)
        output_storage[0][0] = gx.astype(x.dtype, copy=False)

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x, _, *windows), (ggx,) = inputs, grads
        ggz = Pool(self.ignore_border, ndim=self.ndim, mode=self.mode)(ggx, *windows)
        return [x.zeros_like(), ggz, *self._disconnected()]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        (x, _, *windows), point = inputs, eval_points[1]
        return [None if point is None else self(x, point, *windows)]


class DownsampleFactorMaxGradGrad(_Pooling):
    """The gradient of :class:`MaxPoolGrad` with respect to its gradient: what is at the maxima of windows, of equal ones the sum.

    The inputs are the images, their maxima, what is picked from, of the shape of the images, and the windows.

    See Also
    --------
    theano.tensor.signal.pool.MaxPoolRop : The R-operator of the maxima of windows: what is at the first maximum of each.
    theano.tensor.signal.pool.MaxPoolGrad : The gradient of the maxima of windows: each element that equals one gets its
        gradient, of equal ones each.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, of_x = T.constant([[[[1.0, 9.0, 5.0, 3.0]]]]), T.constant([[[[10.0, 20.0, 30.0, 40.0]]]])
    >>> largest = Pool(ignore_border=True)(x, [1, 2])
    >>> DownsampleFactorMaxGradGrad(ignore_border=True)(x, largest, of_x, [1, 2]).eval().ravel().tolist()
    [20.0, 30.0]
    """

    modes = ("max",)

    def make_node(self, x: Any, maxout: Any, gz: Any, ws: Any, stride: Any = None, pad: Any = None) -> Apply:
        x, maxout, gz = self._images("images, maxima and what is picked from", x, maxout, gz)
        out = TensorType(x.type.dtype, maxout.type.broadcastable)()
        return Apply(self, [x, maxout, gz, *self._windows(ws, stride, pad)], [out])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, maxout, ggx, *vectors = inputs
        windows, shape = self._values(x, *vectors)
        self._check_shape("the array of maxima", maxout, shape)
        if ggx.shape != x.shape:
            raise ValueError(f"what is picked from has the shape {ggx.shape}, the images have {x.shape}")
        ggz = np.zeros(shape, dtype=_summed_dtype(x.dtype))
        for which, elements in window_steps(*windows):
            ggz[which] += np.where(x[elements] == maxout[which], ggx[elements], 0).astype(ggz.dtype, copy=False)
        output_storage[0][0] = ggz.astype(x.dtype, copy=False)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [in_shapes[1]]

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x, maxout, _, *windows), (gz,) = inputs, grads
        gggx = MaxPoolGrad(self.ignore_border, ndim=self.ndim)(x, maxout, gz, *windows)
        return [x.zeros_like(), maxout.zeros_like(), gggx, *self._disconnected()]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        (x, maxout, _, *windows), point = inputs, eval_points[2]
        return [None if point is None else self(x, maxout, point, *windows)]


class MaxPoolRop(_Pooling):
    """The R-operator of the maxima of windows: what is at the first maximum of each.

    The inputs are the images, the point, of their shape, and the windows.

    See Also
    --------
    theano.tensor.signal.pool.MaxPoolGrad : The gradient of the maxima of windows: each element that equals one gets its
        gradient, of equal ones each.
    theano.tensor.signal.pool.DownsampleFactorMaxGradGrad : The gradient of `MaxPoolGrad` with respect to its gradient.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, direction = T.constant([[[[1.0, 9.0, 5.0, 3.0]]]]), T.constant([[[[10.0, 20.0, 30.0, 40.0]]]])
    >>> MaxPoolRop(ignore_border=True)(x, direction, [1, 2]).eval().ravel().tolist()
    [20.0, 30.0]
    """

    modes = ("max",)

    def make_node(self, x: Any, eval_point: Any, ws: Any, stride: Any = None, pad: Any = None) -> Apply:
        x, eval_point = self._images("images and point", x, eval_point)
        out = TensorType(eval_point.type.dtype, self._pooled_type(x).broadcastable)()
        return Apply(self, [x, eval_point, *self._windows(ws, stride, pad)], [out])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        x, point, *vectors = inputs
        windows, shape = self._values(x, *vectors)
        if point.shape != x.shape:
            raise ValueError(f"the point has the shape {point.shape}, the images have {x.shape}")
        maxima: list[Any] = [None]
        Pool(self.ignore_border, ndim=self.ndim).perform(node, [x, *vectors], [maxima])
        z = np.zeros(shape, dtype=point.dtype)
        for which, elements in reversed(list(window_steps(*windows))):
            z[which] = np.where(x[elements] == maxima[0][which], point[elements], z[which])
        output_storage[0][0] = z

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        ws, stride, pad = node.inputs[2:]
        return [out_shape_of(in_shapes[0], ws, self.ignore_border, stride, pad, self.ndim)]

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        (x, _, *windows), (gz,) = inputs, grads
        maxima = Pool(self.ignore_border, ndim=self.ndim)(x, *windows)
        gradient = MaxPoolGrad(self.ignore_border, ndim=self.ndim)(x, maxima, gz, *windows)
        return [x.zeros_like(), gradient, *self._disconnected()]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        (x, _, *windows), point = inputs, eval_points[1]
        return [None if point is None else self(x, point, *windows)]


__getattr__, __dir__ = aliases.lazy(__name__)
