"""Ops that turn uniform samples into multinomial ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano import gradient, tensor
from theano.gof import Apply, Op, Variable


def _as_pvals_and_unis(pvals: Any, unis: Any) -> tuple[Variable, Variable]:
    pvals, unis = tensor.as_tensor_variable(pvals), tensor.as_tensor_variable(unis)
    if pvals.ndim != 2:
        raise NotImplementedError(f"pvals ndim should be 2, got {pvals.ndim}")
    if unis.ndim != 1:
        raise NotImplementedError(f"unis ndim should be 1, got {unis.ndim}")
    return pvals, unis


def _checked_number(pvals: np.ndarray, unis: np.ndarray, n: Any) -> int:
    """Return the number of draws of each row as an int, if there are columns and uniform numbers for them."""
    n, (rows, columns) = int(n), pvals.shape
    if n < 0 or unis.shape[0] != rows * n:
        raise ValueError(f"unis.shape[0] != pvals.shape[0] * n_samples: {unis.shape[0]}, {rows}, {n}")
    if n and rows and not columns:
        raise ValueError("there are no columns to draw from")
    return n


def _first_above(cumulated: np.ndarray, unis: np.ndarray) -> np.ndarray:
    """Return for each row the first column whose cumulated probability exceeds the uniform number; -1 where none does."""
    above = cumulated > unis[:, None]
    if not above.size:
        return np.full(len(above), -1)
    return np.where(above.any(axis=1), above.argmax(axis=1), -1)


class _FromUniform(Op):
    __props__: tuple[str, ...] = ("odtype",)

    def grad(self, inputs: list[Variable], output_grads: list[Variable]) -> list[Variable]:
        comment = "No gradient defined through random sampling op"
        return [gradient.grad_undefined(self, k, x, comment) for k, x in enumerate(inputs)]

    def R_op(self, inputs: list[Variable], eval_points: list[Any]) -> list[Any]:
        return [None]

    def _dtype(self, pvals: Variable) -> str:
        return pvals.dtype if self.odtype == "auto" else self.odtype


class MultinomialFromUniform(_FromUniform):
    """Count how often each column comes up in draws from the rows of a matrix of probabilities.

    Parameters
    ----------
    odtype : str
        Type of the counts; 'auto' for that of the probabilities.

    See Also
    --------
    theano.sandbox.multinomial.ChoiceFromUniform : Draw columns from the rows of a matrix of probabilities.
    theano.sandbox.rng_mrg.MRG_RandomStreams : Random variables of MRG31k3p, with an interface like ``numpy.random``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> chances = T.constant([[0.25, 0.25, 0.5], [1.0, 0.0, 0.0]])
    >>> MultinomialFromUniform("int64")(chances, T.constant([0.3, 0.9])).eval().tolist()
    [[0, 1, 0], [1, 0, 0]]
    """

    def __init__(self, odtype: str):
        self.odtype = odtype

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.odtype}}}"

    def make_node(self, pvals: Any, unis: Any, n: Any = 1) -> Apply:
        """Return the node for a matrix of probabilities, a vector of uniform numbers and the number of draws."""
        pvals, unis = _as_pvals_and_unis(pvals, unis)
        out = tensor.tensor(dtype=self._dtype(pvals), broadcastable=pvals.type.broadcastable)
        return Apply(self, [pvals, unis, tensor.as_tensor_variable(n)], [out])

    def infer_shape(self, node: Apply, input_shapes: list[Any]) -> list[Any]:
        return [input_shapes[0]]

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[list[Any]]) -> None:
        pvals, unis, n = inputs
        n, rows = _checked_number(pvals, unis, n), pvals.shape[0]
        out = np.zeros(pvals.shape, dtype=node.outputs[0].dtype)
        cumulated = np.cumsum(pvals, axis=1)
        for k in range(n if rows else 0):
            found = _first_above(cumulated, unis[k * rows : (k + 1) * rows])
            # Rounding may leave the sum below the number; then it is the last column with a chance.
            found = np.where(found < 0, cumulated.argmax(axis=1), found)
            out[np.arange(rows), found] += 1
        output_storage[0][0] = out


class ChoiceFromUniform(_FromUniform):
    """Draw columns from the rows of a matrix of probabilities.

    Where the probabilities that are left of a row do not sum to more than the uniform number, nothing is drawn: the result is -1.
    So it is when more columns are asked for than have a chance.

    Parameters
    ----------
    odtype : str
        Type of the column numbers.
    replace : bool
        Whether a column may be drawn more than once from a row.

    See Also
    --------
    theano.sandbox.rng_mrg.MRG_RandomStreams : Random variables of MRG31k3p, with an interface like ``numpy.random``.
    theano.sandbox.multinomial.MultinomialFromUniform : Count how often each column comes up in draws from the rows of a
        matrix of probabilities.
    theano.sandbox.multinomial.MultinomialWOReplacementFromUniform : The older name of `ChoiceFromUniform`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> chances = T.constant([[0.25, 0.25, 0.5], [1.0, 0.0, 0.0]])
    >>> ChoiceFromUniform("int64")(chances, T.constant([0.3, 0.9]), 1).eval().tolist()
    [[1], [0]]
    """

    __props__ = ("odtype", "replace")

    def __init__(self, odtype: str, replace: bool = False):
        self.odtype = odtype
        self.replace = replace

    def make_node(self, pvals: Any, unis: Any, n: Any = 1) -> Apply:
        """Return the node for a matrix of probabilities, a vector of uniform numbers and the number of draws."""
        pvals, unis = _as_pvals_and_unis(pvals, unis)
        dtype = "int64" if self.odtype == "auto" else self.odtype
        n = tensor.as_tensor_variable(n)
        # Of one column, one is drawn.
        single = pvals.type.broadcastable[1] and isinstance(n, tensor.TensorConstant) and n.data == 1
        out = tensor.tensor(dtype=dtype, broadcastable=(pvals.type.broadcastable[0], bool(single)))
        return Apply(self, [pvals, unis, n], [out])

    def infer_shape(self, node: Apply, input_shapes: list[Any]) -> list[Any]:
        return [(input_shapes[0][0], node.inputs[2].astype("int64"))]

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[list[Any]]) -> None:
        pvals, unis, n = inputs
        if int(n) > pvals.shape[1] and not self.replace:
            raise ValueError(f"Cannot sample without replacement n samples bigger than the size of the distribution: {n}")
        n, rows = _checked_number(pvals, unis, n), pvals.shape[0]
        pvals = pvals.copy()
        out = np.empty((rows, n), dtype=node.outputs[0].dtype)
        for k in range(n):
            found = _first_above(np.cumsum(pvals, axis=1), unis[k * rows : (k + 1) * rows])
            out[:, k] = found
            drawn = np.flatnonzero(found >= 0)
            if not self.replace and len(drawn):
                pvals[drawn, found[drawn]] = 0
                sums = np.cumsum(pvals, axis=1)[:, -1:]
                sums[found < 0] = 1
                pvals = np.divide(pvals, sums, out=np.zeros_like(pvals), where=sums != 0)
        output_storage[0][0] = out


class MultinomialWOReplacementFromUniform(ChoiceFromUniform):
    """The older name of :class:`ChoiceFromUniform`.

    See Also
    --------
    theano.sandbox.multinomial.ChoiceFromUniform : Draw columns from the rows of a matrix of probabilities.

    Examples
    --------
    >>> import theano.tensor as T
    >>> draw = MultinomialWOReplacementFromUniform("int64")
    >>> isinstance(draw, ChoiceFromUniform)
    True
    >>> draw(T.constant([[0.25, 0.25, 0.5]]), T.constant([0.3, 0.9]), 2).eval().tolist()
    [[1, 2]]
    """
