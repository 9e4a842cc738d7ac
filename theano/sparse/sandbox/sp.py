"""Convolution by products with sparse matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import theano.tensor as tensor
from theano import aliases
from theano.gof.graph import Apply
from theano.gof.op import Op
from theano.gof.rewriting.stages import optdb
from theano.sparse.products import structured_dot
from theano.sparse.structure import CSM


def register_specialize(lopt: Any, *tags: str, **kwargs: Any) -> Any:
    """Register a local optimizer among the specializations.

    Parameters
    ----------
    lopt : LocalOptimizer
        What is registered.
    *tags : str
        More tags; ``'fast_run'`` is one.
    name : str, optional
        Name in the database, by default that of the function.

    Returns
    -------
    LocalOptimizer
        `lopt` itself.

    See Also
    --------
    theano.sparse.sandbox.sp2.register_specialize : Register a local optimizer in the `specialize` database.

    Examples
    --------
    >>> from theano.gof.opt import local_optimizer
    >>> from theano.sparse import Transpose
    >>> @register_specialize
    ... @local_optimizer([Transpose])
    ... def local_transpose_of_transpose(node):
    ...     inner = node.inputs[0].owner
    ...     return [inner.inputs[0]] if inner and isinstance(inner.op, Transpose) else False
    >>> optdb["specialize"]["local_transpose_of_transpose"] is local_transpose_of_transpose
    True
    """
    name = kwargs.pop("name", None) or lopt.__name__
    optdb["specialize"].register(name, lopt, "fast_run", *tags)
    return lopt


class ConvolutionIndices(Op):
    """The places of the ones of a sparse matrix that takes patches out of images, or of one of local connections.

    See Also
    --------
    theano.sparse.sandbox.sp.convolve : Return the convolution of images with kernels, by products with a sparse matrix.
    theano.sparse.sandbox.sp.max_pool : Return the largest element of each area of images.
    theano.sparse.sandbox.sp.convolution_indices : An instance of it.

    Examples
    --------
    >>> indices, indptr, shape, format, outshape = ConvolutionIndices.evaluate((1, 3), (1, 2))
    >>> matrix = CSM(format)(np.ones(len(indices)), indices, indptr, shape)
    >>> tensor.dot(matrix.toarray(), [10, 20, 30]).eval().tolist(), outshape.tolist()
    ([20.0, 10.0, 30.0, 20.0], [1, 2])
    """

    __props__ = ()

    @staticmethod
    def conv_eval(
        inshp: Sequence[int], kshp: Sequence[int], strides: tuple[int, int] = (1, 1), nkern: int = 1,
        mode: str = "valid", ws: bool = True,
    ) -> Any:  # fmt: skip
        """See :meth:`evaluate`."""
        return ConvolutionIndices.evaluate(inshp, kshp, strides, nkern, mode, ws)

    @staticmethod
    def evaluate(
        inshp: Sequence[int], kshp: Sequence[int], strides: tuple[int, int] = (1, 1), nkern: int = 1,
        mode: str = "valid", ws: bool = True,
    ) -> tuple[np.ndarray, np.ndarray, tuple[int, int], str, np.ndarray]:  # fmt: skip
        """Return where a matrix has its values that takes the patches out of an image.

        The product of the matrix with an image, a vector in raster order, is all patches, one after the other: for each
        place of the kernel, in raster order, the elements of the patch from the last to the first, so that the product of
        a patch with a kernel is a convolution.

        Parameters
        ----------
        inshp : tuple of int
            The shape of an image, ``(rows, columns)`` or ``(channels, rows, columns)``.
        kshp : tuple of int
            The shape of the kernel.
        strides : tuple of int
            How many elements lie between neighbouring patches.
        nkern : int
            How many kernels there are, which matters without shared weights.
        mode : {'valid', 'full'}
            Whether patches lie within the image or only overlap it.
        ws : bool
            Whether weights are shared, which they must be.

        Returns
        -------
        tuple
            ``(indices, indptr, shape, format, outshape)``: the arrays and the shape of a csc matrix, and the rows and
            columns of the result of the convolution.

        Raises
        ------
        ValueError
            If the mode is another one, the kernel larger than the image, or a stride not positive.
        NotImplementedError
            Without shared weights.
        """
        if not ws:
            raise NotImplementedError("ConvolutionIndices needs shared weights")
        if mode not in ("valid", "full"):
            raise ValueError(f"mode must be 'valid' or 'full', got {mode!r}")
        step = np.array(strides)
        if np.any(step < 1):
            raise ValueError(f"strides must be positive, got {strides}")
        image = np.array(inshp[-2:])
        channels = int(inshp[0]) if len(inshp) == 3 else 1
        kernel = np.array(kshp)
        first = kernel - 1 if mode == "full" else np.array([0, 0])
        padded = image + 2 * first
        if np.any(padded < kernel):
            raise ValueError(f"the kernel of shape {tuple(kshp)} is larger than the image of shape {tuple(inshp)}")
        outshape = (padded - kernel) // step + 1
        # Sizes: place of the patch (rows, columns), channel, place within the patch (rows, columns).
        row = step[0] * np.arange(outshape[0])[:, None] + np.arange(kernel[0])[None, :] - first[0]
        column = step[1] * np.arange(outshape[1])[:, None] + np.arange(kernel[1])[None, :] - first[1]
        # The first element of a patch of a convolution is its last.
        row, column = row[:, ::-1], column[:, ::-1]
        row_ok, column_ok = (row >= 0) & (row < image[0]), (column >= 0) & (column < image[1])
        full = (*outshape, channels, *kernel)
        ok = np.broadcast_to(row_ok[:, None, None, :, None] & column_ok[None, :, None, None, :], full)
        source = np.broadcast_to(
            np.arange(channels)[None, None, :, None, None] * image.prod()
            + row[:, None, None, :, None] * image[1]
            + column[None, :, None, None, :],
            full,
        )
        target = np.arange(np.prod(full)).reshape(full)[ok]
        source = source[ok]
        order = np.lexsort((target, source))
        columns = int(channels * image.prod())
        indptr = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=columns))])
        return target[order].astype("int32"), indptr.astype("int32"), (int(np.prod(full)), columns), "csc", outshape

    def make_node(self, inshp: Any, kshp: Any) -> Apply:
        inputs = [tensor.as_tensor_variable(v) for v in (inshp, kshp)]
        return Apply(self, inputs, [tensor.ivector(), tensor.ivector(), tensor.lvector(), tensor.lvector()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        inshp, kshp = (tuple(map(int, v)) for v in inputs)
        indices, indptr, shape, _, outshape = self.evaluate(inshp, kshp)
        for storage, value in zip(output_storage, (indices, indptr, np.array(shape), outshape)):
            storage[0] = np.asarray(value, dtype=node.outputs[0].type.dtype if value is indices or value is indptr else "int64")


convolution_indices = ConvolutionIndices()


def _three(imgshp: Sequence[int]) -> tuple[int, ...]:
    """The shape of images with their channels."""
    return (1, *map(int, imgshp)) if len(imgshp) == 2 else tuple(map(int, imgshp))


def _patches(
    images: Any, imgshp: tuple[int, ...], shape: Sequence[int], step: tuple[int, int], mode: str
) -> tuple[Any, Any, int]:
    """The patches of images, the shape of their places, and the size of one: (batch * places, size)."""
    indices, indptr, shape2, format, outshape = convolution_indices.evaluate(imgshp, shape, step, mode=mode)
    ones = tensor.ones((len(indices),), dtype=images.dtype)
    matrix = CSM(format)(ones, indices, indptr, shape2)
    size = int(np.prod(shape)) * imgshp[0]
    patches = structured_dot(matrix, images.T).T
    return patches.reshape((images.shape[0] * int(np.prod(outshape)), size)), outshape, size


def convolve(
    kerns: Any, kshp: Sequence[int], nkern: int, images: Any, imgshp: Sequence[int], step: tuple[int, int] = (1, 1),
    bias: Any = None, mode: str = "valid", flatten: bool = True,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the convolution of images with kernels, by products with a sparse matrix.

    Parameters
    ----------
    kerns : matrix
        A kernel in each row, of shape ``(nkern, prod(kshp))``, in raster order; of images with several channels
        ``(nkern, channels * prod(kshp))``.
    kshp : tuple of int
        The shape of a kernel.
    nkern : int
        How many kernels there are.
    images : matrix
        An image in each row, in raster order.
    imgshp : tuple of int
        The shape of an image, with or without channels.
    step : tuple of int
        How many elements lie between neighbouring patches.
    bias : vector, optional
        What is added to the results of each kernel.
    mode : {'valid', 'full'}
        Which one is computed.
    flatten : bool
        Whether the last two dimensions of the result are one.

    Returns
    -------
    TensorVariable
        ``(images, nkern * places)``, or ``(images, nkern, places)``.
    tuple
        ``(nkern, rows, columns)`` of the result.

    See Also
    --------
    theano.sparse.sandbox.sp.max_pool : Return the largest element of each area of images.
    theano.sparse.sandbox.sp.ConvolutionIndices : The places of the ones of a sparse matrix that takes patches out of
        images, or of one of local connections.

    Examples
    --------
    >>> image, kernel = [[1.0, 2.0, 4.0, 8.0]], [[10.0, 1.0]]
    >>> result, shape = convolve(kernel, (1, 2), 1, image, (1, 4))
    >>> result.eval(), shape.tolist()
    (array([[21., 42., 84.]]), [1, 1, 3])
    """
    imgshp = _three(imgshp)
    images, kerns = tensor.as_tensor_variable(images), tensor.as_tensor_variable(kerns)
    patches, outshape, _ = _patches(images, imgshp, kshp, step, mode)
    places = int(np.prod(outshape))
    result = tensor.dot(patches, kerns.T)
    if bias is not None:
        result = result + bias
    result = result.reshape((images.shape[0], places, nkern)).dimshuffle(0, 2, 1)
    shape = np.hstack((nkern, outshape))
    return (result.reshape((images.shape[0], nkern * places)) if flatten else result), shape


def max_pool(images: Any, imgshp: Sequence[int], maxpoolshp: Sequence[int]) -> tuple[Any, Any]:
    """Return the largest element of each area of images.

    Parameters
    ----------
    images : matrix
        An image in each row, in raster order.
    imgshp : tuple of int
        The shape of an image, with or without channels.
    maxpoolshp : tuple of int
        The shape of an area. Areas do not overlap; a rest at the end is left out.

    Returns
    -------
    TensorVariable
        A matrix with a row for each image.
    tuple
        ``(channels, rows, columns)`` of the result.

    See Also
    --------
    theano.sparse.sandbox.sp.ConvolutionIndices : The places of the ones of a sparse matrix that takes patches out of
        images, or of one of local connections.
    theano.sparse.sandbox.sp.convolve : Return the convolution of images with kernels, by products with a sparse matrix.

    Examples
    --------
    >>> image = [[1.0, 5.0, 2.0, 3.0]]
    >>> result, shape = max_pool(image, (1, 4), (1, 2))
    >>> result.eval(), shape.tolist()
    (array([[5., 3.]]), [1, 1, 2])
    """
    imgshp = _three(imgshp)
    images = tensor.as_tensor_variable(images)
    step = (int(maxpoolshp[0]), int(maxpoolshp[1]))
    patches, outshape, _ = _patches(images, imgshp, maxpoolshp, step, "valid")
    places = int(np.prod(outshape))
    areas = patches.reshape((images.shape[0], places, imgshp[0], int(np.prod(maxpoolshp))))
    largest = tensor.max(areas, axis=3).dimshuffle(0, 2, 1)
    shape = np.hstack((imgshp[0], outshape))
    return largest.reshape((images.shape[0], imgshp[0] * places)), shape


__getattr__, __dir__ = aliases.lazy(__name__)
