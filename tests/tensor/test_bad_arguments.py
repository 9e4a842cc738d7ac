"""Arguments that make no sense: an error of NumPy's kind, when the graph is built or when the function is called."""

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.tensor import extra_ops, fft, nlinalg, slinalg

X, V, T3, S, Z = T.dmatrix("x"), T.dvector("v"), T.dtensor3("t"), T.dscalar("s"), T.zmatrix("z")
I = T.ivector("i")  # noqa: E741
A, ONES = np.ones((2, 3)), np.ones(3)

BUILD = {
    "sum over a missing axis": (ValueError, lambda: X.sum(axis=2)),
    "sum over a missing negative axis": (ValueError, lambda: X.sum(axis=-3)),
    "sum over an axis that is no integer": (TypeError, lambda: X.sum(axis=1.5)),
    "sum over an axis twice": (ValueError, lambda: X.sum(axis=(0, 0))),
    "maximum over a missing axis": (ValueError, lambda: T.max(X, axis=5)),
    "position of the maximum over a missing axis": (ValueError, lambda: T.argmax(X, axis=5)),
    "variance over a missing axis": (ValueError, lambda: T.var(X, axis=9)),
    "a sum that loses precision": (TypeError, lambda: T.sum(X, acc_dtype="int8")),
    "a product of an unknown dtype": (TypeError, lambda: T.prod(X, dtype="bad")),
    "sorting along a missing axis": (ValueError, lambda: T.sort(X, 3)),
    "shuffling a missing dimension": (ValueError, lambda: X.dimshuffle(0, 2)),
    "dropping a dimension that is not 1": (ValueError, lambda: X.dimshuffle(0)),
    "shuffling a dimension twice": (ValueError, lambda: X.dimshuffle(0, 0)),
    "transposing with too many axes": (ValueError, lambda: T.transpose(X, (0, 1, 2))),
    "swapping a missing axis": (ValueError, lambda: T.swapaxes(X, 0, 3)),
    "moving to a missing axis": (ValueError, lambda: T.moveaxis(X, 0, 5)),
    "moving an axis twice": (ValueError, lambda: T.moveaxis(X, (0, 0), (0, 1))),
    "a shape of unknown length": (ValueError, lambda: X.reshape(I)),
    "a shape of floats": (TypeError, lambda: X.reshape((2.5, 3))),
    "flattening to more dimensions": (ValueError, lambda: X.flatten(3)),
    "a broadcastable dimension that is missing": (ValueError, lambda: T.addbroadcast(X, 5)),
    "padding out of bounds": (IndexError, lambda: T.shape_padaxis(X, 9)),
    "joining other ranks": (TypeError, lambda: T.join(0, X, V)),
    "joining along a missing axis": (IndexError, lambda: T.join(2, X, X)),
    "joining numbers": (TypeError, lambda: T.join(0, S, S)),
    "joining nothing": (ValueError, lambda: T.join(0)),
    "joining along half an axis": (TypeError, lambda: T.join(0.5, X, X)),
    "concatenating what is no list": (TypeError, lambda: T.concatenate(X)),
    "stacking other ranks": (TypeError, lambda: T.stack([X, V])),
    "stacking along a missing axis": (IndexError, lambda: T.stack([X, X], axis=4)),
    "stacking nothing": (ValueError, lambda: T.stack([])),
    "stacking vectors on top of each other": (TypeError, lambda: T.vertical_stack(V, V)),
    "too many summed axes": (ValueError, lambda: T.tensordot(X, X, axes=3)),
    "summed axes of other numbers": (ValueError, lambda: T.tensordot(X, X, axes=[[0], [0, 1]])),
    "a batch of numbers": (TypeError, lambda: T.batched_dot(S, X)),
    "bits of floats": (TypeError, lambda: X & X),
    "inverted floats": (TypeError, lambda: ~X),
    "remainder of complex numbers": (NotImplementedError, lambda: Z % Z),
    "rounded complex numbers": (TypeError, lambda: T.floor(Z)),
    "complex numbers cast to real ones": (TypeError, lambda: T.cast(Z, "float64")),
    "an unknown dtype": (TypeError, lambda: T.cast(X, "bad")),
    "two arguments of a switch": (TypeError, lambda: T.switch(X, X)),
    "an exponential of text": (TypeError, lambda: T.exp("a")),
    "too many indices": (IndexError, lambda: X[0, 0, 0]),
    "an index that is a float": (TypeError, lambda: X[1.0]),
    "an index that is text": (TypeError, lambda: X["a"]),
    "an index array of floats": (TypeError, lambda: X[V]),
    "two ellipses": (IndexError, lambda: X[..., ...]),
    "a bound that is a float": (TypeError, lambda: X[1.5:]),
    "a mask of too many dimensions": (IndexError, lambda: V[np.ones((2, 2), bool)]),
    "assigning to what is no part": (TypeError, lambda: T.set_subtensor(X, V)),
    "assigning more dimensions": (TypeError, lambda: T.set_subtensor(X[0, 0], V)),
    "an unknown mode of take": (ValueError, lambda: X.take([0], mode="bad")),
    "taking along a missing axis": (IndexError, lambda: X.take([0], axis=3)),
    "an unknown mode of choose": (ValueError, lambda: T.choose(I, [V, V], mode="bad")),
    "choosing by floats": (TypeError, lambda: T.choose(V, [V, V])),
    "repeating a matrix of times": (ValueError, lambda: T.repeat(X, T.ones((2, 2), dtype="int64"))),
    "repeating one and a half times": (TypeError, lambda: T.repeat(X, 1.5)),
    "repeating along a missing axis": (ValueError, lambda: T.repeat(X, 2, axis=3)),
    "tiling one and a half times": (ValueError, lambda: T.tile(X, 1.5)),
    "tiling into fewer dimensions": (ValueError, lambda: T.tile(X, (1, 2, 3), ndim=2)),
    "rolling by a float": (TypeError, lambda: T.roll(X, 1.5)),
    "cumulating along a missing axis": (ValueError, lambda: T.cumsum(X, 2)),
    "differences along a missing axis": (ValueError, lambda: T.diff(X, axis=3)),
    "differences of negative order": (ValueError, lambda: T.diff(X, n=-1)),
    "counting in a matrix": (TypeError, lambda: T.bincount(T.imatrix())),
    "counting floats": (TypeError, lambda: T.bincount(V)),
    "filling the diagonal of a vector": (TypeError, lambda: T.fill_diagonal(V, 1.0)),
    "filling an offset diagonal of a tensor": (TypeError, lambda: T.fill_diagonal_offset(T3, 1.0, 0)),
    "searching in a matrix": (ValueError, lambda: T.searchsorted(X, V)),
    "the largest along a missing axis": (IndexError, lambda: T.topk(V, 1, axis=2)),
    "the largest of a number": (ValueError, lambda: T.topk(S, 1)),
    "one and a half largest": (TypeError, lambda: T.topk(V, 1.5)),
    "compressing along a missing axis": (IndexError, lambda: extra_ops.compress([1, 0], X, axis=4)),
    "the inverse of a vector": (TypeError, lambda: nlinalg.matrix_inverse(V)),
    "an unknown kind of QR": (ValueError, lambda: nlinalg.qr(X, "bad")),
    "an unknown norm": (ValueError, lambda: nlinalg.norm(X, "bad")),
    "the diagonal of three dimensions": (TypeError, lambda: nlinalg.diag(T3)),
    "the Kronecker product of numbers": (TypeError, lambda: slinalg.kron(S, S)),
    "an unknown norm of a transform": (ValueError, lambda: fft.rfft(X, norm="bad")),
    "the transform of a vector": (TypeError, lambda: fft.rfft(V)),
    "an identity of two and a half rows": (TypeError, lambda: T.eye(2.5)),
    "allocating fewer dimensions": (TypeError, lambda: T.alloc(X, 3)),
    "allocating a float": (TypeError, lambda: T.alloc(1.0, 2.5)),
    "a range to a vector": (TypeError, lambda: T.arange(V)),
    "the non-zeros of a number": (ValueError, lambda: T.nonzero(S)),
    "defaults of another type": (TypeError, lambda: T.default(X, V)),
    "a tensor of text": (TypeError, lambda: T.as_tensor_variable([1, "a"])),
    "a ragged tensor": (ValueError, lambda: T.as_tensor_variable([[1], [1, 2]])),
    "a tensor of nothing": (TypeError, lambda: T.as_tensor_variable(None)),
    "a tensor type of an unknown dtype": (TypeError, lambda: T.TensorType("float99", (False,))),
    "iterating over an unknown length": (ValueError, lambda: list(V)),
    "the length of a vector": (TypeError, lambda: len(V)),
    "the truth of a comparison": (TypeError, lambda: bool(X > 1)),
    "the gradient of a matrix": (TypeError, lambda: T.grad(X, X)),
}


@pytest.mark.parametrize("name", BUILD)
def test_graphs_that_are_not_built(name):
    error, build = BUILD[name]
    with pytest.raises(error):
        build()


RUN = {
    "the maximum of nothing": (ValueError, T.max(X), {X: np.zeros((0, 3))}),
    "the position of the maximum of nothing": (ValueError, T.argmax(X, axis=0), {X: np.zeros((0, 3))}),
    "another size": (ValueError, X.reshape((4, 2)), {X: A}),
    "two unknown lengths": (ValueError, X.reshape((-1, -1)), {X: A}),
    "a negative length": (ValueError, X.reshape((-2, 3)), {X: A}),
    "joining other lengths": (ValueError, T.join(0, X, X.T), {X: A}),
    "a split of too few elements": (ValueError, T.split(V, [1, 1], 2), {V: ONES}),
    "a split of negative elements": (ValueError, T.split(V, [4, -1], 2), {V: ONES}),
    "a product of other lengths": (ValueError, T.dot(X, X), {X: A}),
    "a product of a matrix and another vector": (ValueError, T.dot(X, V), {X: A, V: np.ones(2)}),
    "a tensor product of other lengths": (ValueError, T.tensordot(X, X, axes=[[0], [1]]), {X: A}),
    "other numbers of batches": (TypeError, T.batched_dot(T3, T3[:1]), {T3: np.ones((2, 3, 3))}),
    "batches of other lengths": (ValueError, T.batched_dot(T3, T3), {T3: np.ones((2, 3, 4))}),
    "a sum of other lengths": (ValueError, X + V, {X: A, V: np.ones(2)}),
    "a sum with a length of 1": (ValueError, X + V, {X: A, V: np.ones(1)}),
    "an index out of bounds": (IndexError, X[5], {X: A}),
    "a negative index out of bounds": (IndexError, X[-3], {X: A}),
    "an index array out of bounds": (IndexError, X[I], {X: A, I: np.array([0, 2], "int32")}),
    "two index arrays out of bounds": (IndexError, X[[0, 1], [0, 9]], {X: A}),
    "index arrays of other lengths": (IndexError, X[[0, 1], [0, 1, 2]], {X: A}),
    "a mask of another length": (IndexError, V[np.array([True, False])], {V: ONES}),
    "a step of 0": (ValueError, X[::0], {X: A}),
    "assigning another length": (ValueError, T.set_subtensor(X[0], V), {X: A, V: np.ones(2)}),
    "adding other rows": (ValueError, T.inc_subtensor(X[I], np.ones((3, 3))), {X: A, I: np.array([0, 1], "int32")}),
    "adding out of bounds": (IndexError, T.inc_subtensor(X[I], 1.0), {X: A, I: np.array([0, 7], "int32")}),
    "assigning another number": (ValueError, T.set_subtensor(X[[0, 1], [1, 2]], np.ones(3)), {X: A}),
    "taking out of bounds": (IndexError, X.take([7], axis=0), {X: A}),
    "choosing out of bounds": (ValueError, T.choose(I, [V, V]), {I: np.array([0, 1, 2], "int32"), V: ONES}),
    "other times to repeat": (ValueError, T.repeat(X, [1, 2], axis=1), {X: A}),
    "repeating -1 times": (ValueError, T.repeat(X, -1, axis=1), {X: A}),
    "the diagonal of a tensor that is no cube": (ValueError, T.fill_diagonal(T3, 1.0), {T3: np.ones((2, 3, 4))}),
    "a class out of bounds": (IndexError, extra_ops.to_one_hot(I, 3), {I: np.array([3], "int32")}),
    "an element out of bounds": (ValueError, T.unravel_index(I, (2, 2))[0], {I: np.array([4], "int32")}),
    "coordinates out of bounds": (ValueError, T.ravel_multi_index((I, I), (2, 2)), {I: np.array([4], "int32")}),
    "none of the largest": (ValueError, T.topk(V, 0), {V: ONES}),
    "more of the largest than there are": (ValueError, T.topk(V, 9), {V: ONES}),
    "permutations of other lengths": (ValueError, T.permute_row_elements(X, [0, 1]), {X: A}),
    "the inverse of a singular matrix": (np.linalg.LinAlgError, nlinalg.matrix_inverse(X), {X: np.ones((2, 2))}),
    "the inverse of a matrix that is not square": (np.linalg.LinAlgError, nlinalg.matrix_inverse(X), {X: A}),
    "a matrix that is not positive": (np.linalg.LinAlgError, slinalg.cholesky(X), {X: -np.eye(2)}),
    "a singular system": (np.linalg.LinAlgError, slinalg.solve(X, T.ones(2)), {X: np.ones((2, 2))}),
    "a system of other lengths": (ValueError, slinalg.solve(X, T.ones(3)), {X: np.eye(2)}),
    "a singular triangular system": (np.linalg.LinAlgError, slinalg.solve_lower_triangular(X, T.ones(2)), {X: np.zeros((2, 2))}),
    "the exponential of a matrix that is not square": (ValueError, slinalg.expm(X), {X: A}),
    "the tensor inverse of other lengths": (np.linalg.LinAlgError, nlinalg.tensorinv(X, 1), {X: A}),
    "allocating other lengths": (ValueError, T.alloc(V, 2, 4), {V: ONES}),
    "a dimension that is not 1": (ValueError, T.addbroadcast(X, 0), {X: A}),
    "another shape than specified": (AssertionError, T.specify_shape(X, (9, 9)), {X: A}),
}


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
@pytest.mark.parametrize("name", RUN)
def test_calls_that_fail_leave_shared_variables_alone(name, mode):
    error, result, values = RUN[name]
    total = theano.shared(np.zeros(3))
    f = theano.function(list(values), result, updates=[(total, total + 1)], mode=mode)
    with pytest.raises(error, match="(?s)Apply node that caused the error"):
        f(*values.values())
    np.testing.assert_array_equal(total.get_value(), np.zeros(3))
