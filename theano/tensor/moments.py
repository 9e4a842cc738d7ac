"""Sum and squared deviations of all elements of an array at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano.gof.graph import Apply
from theano.gof.op import Op
from theano.gradient_types import DisconnectedType
from theano.tensor import basic as T


class Moments(Op):
    """Number, sum, mean and sum of squared deviations from the mean, of all elements.

    What `theano.tensor.var` over all axes compiles to: memory is passed over once. The results are numbers of float64;
    of an empty array they are 0.

    References
    ----------
    T. F. Chan, G. H. Golub, R. J. LeVeque: Updating formulae and a pairwise algorithm for computing sample variances (1979).

    Examples
    --------
    >>> import numpy as np
    >>> import theano
    >>> x = theano.tensor.dmatrix()
    >>> count, total, mean, squares = theano.function([x], moments(x))(np.array([[1.0, 2.0], [3.0, 6.0]]))
    >>> float(count), float(total), float(mean), float(squares)
    (4.0, 12.0, 3.0, 14.0)
    """

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        """Apply to an array of float32 or float64."""
        x = T.as_tensor_variable(x)
        if x.type.dtype not in ("float32", "float64"):
            raise TypeError(f"Moments: the array must be of float32 or float64, not of {x.type.dtype}.")
        return Apply(self, [x], [T.dscalar() for _ in range(4)])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Compute with NumPy, in two passes."""
        (x,) = inputs
        total = x.sum(dtype="float64")
        mean = total / x.size if x.size else np.float64(0)
        for storage, value in zip(output_storage, (x.size, total, mean, np.square(x - mean).sum()), strict=True):
            storage[0] = np.asarray(value, "float64")

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """Four numbers."""
        return [(), (), (), ()]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """The number of elements does not depend on them."""
        return [[False, True, True, True]]

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        """The gradients of the sum, of the mean and of the squares are 1, 1 / n and 2 (x - mean)."""
        (x,) = inputs
        count, _, mean, _ = outputs
        _, total, middle, squares = (0.0 if isinstance(g.type, DisconnectedType) else g for g in output_grads)
        return [T.cast(total + middle / count + 2 * squares * (x - mean), x.type.dtype)]

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
        """Derivatives along a direction."""
        (x,), (direction,) = inputs, eval_points
        if direction is None:
            return [None] * 4
        count, _, mean, _ = self(x)
        along = T.sum(direction, dtype="float64")
        return [T.zeros_like(count), along, along / count, T.sum(2 * (x - mean) * direction, dtype="float64")]


moments = Moments()
