"""What the programs found, and is as in the original since."""

import copy

import numpy as np
import pytest
import scipy.sparse

import theano
import theano.sparse
import theano.tensor as T
from theano.tensor.nnet.neighbours import Images2Neibs


def test_a_copy_of_a_function_updates_the_same_shared_variables():
    s, x = theano.shared(0.0), T.dscalar()
    f = theano.function([x], s + x, updates=[(s, s + 1)])
    g = copy.copy(f)
    assert (f(1), g(1), f(1)) == (1, 2, 3)
    assert s.get_value() == 3


def test_texts():
    x = T.dmatrix("x")
    assert str(T.sort(x).owner.op) == "SortOp{quicksort, None}"
    assert str(T.argsort(x).owner.op) == "ArgSortOp{quicksort, None}"
    indexed = T.inc_subtensor(x[[[0, 1]], 1:], 1)
    assert str(indexed.owner.op) == "AdvancedIncSubtensor{inplace=False,  set_instead_of_inc=False}"
    assert str(T.slinalg.Solve()) == "Solve{A_structure='general', lower=False, overwrite_A=False, overwrite_b=False}"
    assert theano.pprint(x % x) == "mod(x, x)"
    assert theano.pprint(x.flatten()) == "Reshape{1}(x, TensorConstant{(1,) of -1})"
    assert str(T.prod(x, axis=0).owner.op) == "Prod{axis=(0,), dtype='float64', acc_dtype='float64'}"
    assert str(theano.shared(np.random.RandomState(3))) == "<RandomStateType>"


def test_the_hessian_of_what_is_linear_is_zero():
    x = T.dvector("x")
    assert theano.function([x], theano.gradient.hessian((x[::-1] * 2).sum(), x))([1, 2]).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("dtypes", [("int8", "int8"), ("int32", "bool"), ("bool", "bool")])
def test_gradients_of_products_of_integers_are_zero(dtypes):
    for shapes in [(2, 2), (1, 2), (2, 1), (1, 1)]:
        a, b = (T.TensorType(d, (False,) * n)() for d, n in zip(dtypes, shapes, strict=True))
        grads = T.grad(T.sum(T.dot(a, b)), [a, b])
        assert [g.dtype for g in grads] == [theano.config.floatX] * 2
        values = [np.ones((2,) * n, d) for d, n in zip(dtypes, shapes, strict=True)]
        for g, value in zip(theano.function([a, b], grads)(*values), values, strict=True):
            assert g.shape == value.shape and not g.any()


def test_smaller_things():
    x, b = T.dvector("x"), T.vector("b", dtype="bool")
    for make, expected in [(T.largest, [2, 1]), (T.smallest, [2, 0])]:
        assert theano.function([x], make(x, [2.0, 1.0]))([np.nan, 0]).tolist() == expected
    assert T.conj(b).dtype == "int8"
    assert theano.function([b], T.conj(b))([True, False]).tolist() == [1, 0]
    chosen = T.choose(b, [[1, 2], [3, 4]])
    assert theano.function([b], chosen)([True, False]).tolist() == [3, 2]
    with pytest.raises(T.AsTensorError):
        T.as_tensor_variable([x[0], np.arange(3)])
    with pytest.raises(TypeError, match="no number"):
        T.constant(2j, dtype="float64")
    assert T.constant(2j, dtype="complex64").dtype == "complex64"
    with pytest.raises(ValueError, match="axis"):
        T.join(3, x, x)
    with pytest.raises(IndexError, match="axis"):
        T.join(-3, x, x)


def test_names_of_results():
    x = T.dmatrix("x")
    assert [y.name for y in (x.mean(), x.var(axis=0), x.std(), T.transpose(x, [1, 0]))] == ["mean", "var", "std", "x.T"]
    assert x.transpose(1, 0).name is None
    assert [y.name for y in T.nlinalg.eigh(x)] == [None, None]
    assert str(x.std()) == "std"


def test_gradients_of_integer_sparse_matrices_are_zero():
    a, x = theano.sparse.csr_matrix("a", dtype="int8"), T.bmatrix("x")
    value = scipy.sparse.csr_matrix(np.eye(3, 2, dtype="int8"))
    for made in (theano.sparse.dot(a, x.T), theano.sparse.true_dot(a, x.T), a * x, a.toarray(), theano.sparse.csr_from_dense(x)):
        cost = theano.sparse.sp_sum(made) if hasattr(made.type, "format") else made.sum()
        for wrt in (a, x):
            g = T.grad(cost, wrt, disconnected_inputs="ignore")
            assert g.dtype == theano.config.floatX
            found = theano.function([a, x], g, on_unused_input="ignore")(value, np.ones((3, 2), "int8"))
            assert found.shape == (3, 2) and not found.sum()


def test_gradients_of_sparse_matrices_are_those_of_the_original():
    a = theano.sparse.csc_matrix("a", dtype="int8")
    value = scipy.sparse.csc_matrix(np.eye(2, 3, dtype="int8"))
    g = T.grad(theano.sparse.sp_sum(theano.sparse.cast(a, "float32")), a)
    assert (g.dtype, theano.function([a], g)(value).toarray().tolist()) == ("float32", [[1, 1, 1], [1, 1, 1]])
    g = T.grad(theano.sparse.sp_sum(theano.sparse.cast(theano.sparse.cast(a, "float32"), "int8")), a)
    assert not theano.function([a], g)(value).sum()
    b, c = theano.sparse.csc_matrix("b", dtype="float64"), theano.sparse.csr_matrix("c", dtype="float64")
    grads = T.grad(theano.sparse.sp_sum(b * c), [b, c])
    assert [g.format for g in grads] == ["csr", "csc"]
    made = theano.function([b, c], grads)(
        scipy.sparse.csc_matrix([[2.0, 0], [3, 4]]), scipy.sparse.csr_matrix([[5.0, 6], [0, 7]])
    )
    assert [m.toarray().tolist() for m in made] == [[[5, 6], [0, 7]], [[2, 0], [3, 4]]]


@pytest.mark.parametrize("dtype, expected", [("bool", "int8"), ("uint8", "int16"), ("int8", "int8"), ("float32", "float32")])
def test_the_dtype_of_triu(dtype, expected):
    x = T.TensorType(dtype, (False, False))()
    made = theano.function([x], T.triu(x, 1))(np.ones((2, 3), dtype))
    assert (made.dtype, made.tolist()) == (np.dtype(expected), [[0, 1, 1], [0, 0, 1]])


def test_texts_of_built_graphs():
    x, i = T.lscalar("x"), T.lvector("i")
    mean = "float64(Sum{axis=[], acc_dtype=int64}(x))"
    assert theano.pprint(x.std()) == f"sqrt(Sum{{axis=[], acc_dtype=float64}}(((x - {mean}) ** TensorConstant{{2.0}})))"
    assert str(T.extra_ops.to_one_hot(i, 3).owner.inputs[1]) == "TensorConstant{1}"
    assert str(Images2Neibs("ignore_borders")) == "Images2Neibs{ignore_borders}"


def test_the_gradient_of_an_index_is_zero_where_a_division_is_by_zero():
    x, n = T.dvector("x"), T.bvector("n")
    f = theano.function([x, n], T.grad(T.argmax(T.exp(x) / n), [x, n]))
    for g in f([1, 2], np.array([0, 1], "int8")):
        assert g.tolist() == [0, 0] and not np.signbit(g).any()


def test_dtypes_of_nan():
    assert (T.fvector() + np.nan).dtype == T.arange(np.nan, 3).dtype == "float64"
    assert (T.fvector() + np.inf).dtype == (T.fvector() + np.float32("nan")).dtype == "float32"


def test_a_numpy_float_is_no_python_float():
    x = T.fscalar()
    f = theano.function([x], x)
    with theano.config.change_flags(floatX="float32"):
        assert f(0.1) == np.float32(0.1)
        with pytest.raises(TypeError, match="cannot store accurately"):
            f(np.float64(0.1))
        assert f(np.float64(0.5)) == 0.5


def test_arguments_that_make_no_sense():
    x, y = T.dvector("x"), T.dvector("y")
    with pytest.raises(TypeError, match="name must be a string"):
        theano.In(x, 1j)
    with pytest.raises(ValueError, match="replace has to be"):
        theano.clone(x, y)
    with pytest.raises(TypeError, match="must be a constant"):
        T.sum(x, axis=T.iscalar("axis"))
    with pytest.raises(ValueError, match="named twice"):
        T.var(x, axis=[0, -1])


def test_texts_of_more_operations():
    x = T.dvector("x")
    expected = "clip(((x * TensorConstant{0.2}) + TensorConstant{0.5}), TensorConstant{0}, TensorConstant{1})"
    assert theano.pprint(T.nnet.hard_sigmoid(x)) == expected
    assert str(theano.sparse.remove0) == "Remove0{}"
    assert str(theano.sparse.TrueDot()) == "TrueDot"


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_the_gradient_of_a_factor_that_is_not_there_is_not_finite(mode):
    cov = T.dmatrix("cov")
    factor = T.slinalg.Cholesky(lower=True, on_error="nan")(cov)
    positive = T.all(T.nlinalg.diag(factor) > 0)
    logp = T.switch(positive, T.log(T.nlinalg.diag(T.switch(positive, factor, 1))).sum(), -np.inf)
    f = theano.function(
        [cov], [logp, T.grad(logp, cov), T.slinalg.CholeskyGrad(lower=True)(cov, factor, T.zeros_like(cov))], mode=mode
    )
    value, *gradients = f(np.array([[1, 0.5], [0.5, -2]]))
    assert value == -np.inf
    assert not any(np.isfinite(g).all() for g in gradients)


def test_what_is_sorted_without_an_axis_is_flat_first():
    x = T.dmatrix("x")
    assert (
        theano.pprint(T.sort(x, axis=None))
        == "SortOp{quicksort, None}(Reshape{1}(x, TensorConstant{(1,) of -1}), TensorConstant{0})"
    )
    for sort, expected in [(T.sort, [1, 2, 3, 4]), (T.argsort, [1, 2, 3, 0])]:
        assert theano.function([x], sort(x, axis=None))([[4, 1], [2, 3]]).tolist() == expected


@pytest.mark.parametrize("order", [np.nan, {}, 1.5])
def test_the_order_of_a_difference_is_an_integer(order):
    with pytest.raises(TypeError, match="must be an integer"):
        T.extra_ops.diff([1.0, 2.0], order)
    assert T.extra_ops.diff([1.0, 3.0], np.int8(1)).eval() == [2]


def test_repetitions_are_no_dictionary():
    with pytest.raises(ValueError, match="reps must be"):
        T.tile([1, 2], {})


@pytest.mark.parametrize("mode", ["FAST_RUN", theano.Mode("py", "fast_run")])
def test_equal_elements_are_sorted_by_their_index(mode):
    x = T.lvector("x")
    index = theano.function([x], T.argsort(x), mode=mode)([-2, 4, 0, 2, 1, -1, 3, 0, -1] + [0] * 40)
    assert index.tolist() == [0, 5, 8, 2, 7, *range(9, 49), 4, 3, 6, 1]


@pytest.mark.parametrize("policy", ["custom", "numpy+floatX"])
@pytest.mark.parametrize(
    "dtype, expected", [("bool", "float32"), ("int8", "float32"), ("uint32", "float64"), ("int64", "float64")]
)
def test_the_dtype_of_softsign_of_integers(dtype, expected, policy):
    x = T.vector("x", dtype=dtype)
    with theano.config.change_flags(floatX="float32", cast_policy=policy):
        found = theano.function([x], T.nnet.softsign(x))(np.ones(2, dtype))
    assert (found.dtype, found.tolist()) == (np.dtype(expected), [0.5, 0.5])


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
@pytest.mark.parametrize("slope", [0, 1, 0.5])
def test_rectified_bools_and_integers(slope, mode):
    b, i = T.vector("b", dtype="bool"), T.ivector("i")
    found = theano.function([b, i], [T.nnet.relu(b, slope), T.nnet.relu(i, slope)], mode=mode)([True, False], [2, -2])
    assert [(y.dtype.name, y.tolist()) for y in found] == [("float32", [1, 0]), ("float64", [2, -2 * slope])]


@pytest.mark.parametrize("index", [np.s_[[0, 0], :], np.s_[[0], :, :], np.s_[:, [0]], np.s_[[[0]], :], np.s_[..., [0], :]])
def test_whole_slices_beside_an_index_array_are_counted(index):
    x = T.dvector("x")
    with pytest.raises(IndexError, match="too many indices for array: . for a tensor of 1"):
        x[index]
    with pytest.raises(IndexError, match="too many indices"):
        T.dmatrix()[[0], :, :]


@pytest.mark.parametrize("mode", ["FAST_RUN", theano.Mode("py", "fast_run")])
def test_products_of_sparse_integers_and_float16(mode):
    a, x = theano.sparse.csr_matrix("a", dtype="int8"), T.TensorType("float16", (False, False))("x")
    products = [theano.sparse.dot(x, a), theano.sparse.dot(a, x), theano.sparse.structured_dot(a, x)]
    grad = T.grad(products[0].sum(), x)
    assert [y.dtype for y in [*products, grad]] == ["float16"] * 4
    f = theano.function([x, a], [*products, grad], mode=mode)
    found = f(np.array([[1, 2], [3, 4]], "float16"), scipy.sparse.csr_matrix(np.eye(2, dtype="int8")))
    assert [y.tolist() for y in found] == [[[1, 2], [3, 4]]] * 3 + [[[1, 1], [1, 1]]]


def test_gradients_with_respect_to_integers_that_a_loop_reads():
    x, k = T.dmatrix("x"), T.ivector("k")
    mapped = theano.map(lambda a, k: a * k, [x], non_sequences=[k])[0]
    summed = theano.scan(lambda a, p: a * k + p, [x], [T.zeros(2)])[0][-1]
    grads = [T.grad(y.sum(), k) for y in (mapped, summed, mapped * summed[0])]
    assert [g.dtype for g in grads] == ["float64"] * 3
    found = theano.function([x, k], grads[:2])(np.ones((4, 2)), [1, 2])
    assert [g.tolist() for g in found] == [[4, 4], [4, 4]]
