"""NumPy's functions on variables build graphs whose values are NumPy's."""

import numpy as np
import pytest
import scipy.special

import theano
import theano.tensor as T
from theano.tensor.numpy_functions import FUNCTIONS, SAME_UFUNCS, UFUNCS

A = np.array([[0.5, 0.25, 2.0], [1.0, 4.0, 0.75]])
S = np.array([[2.0, 0.5], [0.5, 1.0]])

CALLS = [
    "np.isfinite(x)", "np.isfinite(1 / (x - 1))",
    "np.exp(x)", "np.sqrt(x)", "np.abs(x)", "np.square(x)", "np.negative(x)", "np.positive(x)", "np.reciprocal(x)",
    "np.sign(x)", "np.add(A, x)", "np.subtract(A, x)", "np.multiply(x, 2)", "np.divide(A, x)", "np.floor_divide(A, x)",
    "np.remainder(A, x)", "np.power(x, 2)", "np.maximum(x, 1)", "np.minimum(A, x)", "np.less(A, x)", "np.less_equal(x, A)",
    "np.greater(1, x)", "np.equal(x, A)", "np.not_equal(x, 1)", "np.isnan(x)", "np.isinf(x)", "np.logical_and(x > 1, x)",
    "np.logical_not(x)", "np.rint(x)", "np.degrees(x)", "np.radians(x)", "np.matmul(A, x.T)", "A @ x.T", "x @ A.T", "A + x",
    "np.float32(2) * x", "np.float64(1) < x", "A > x", "A ** x", "A // x", "np.add.reduce(x)", "np.multiply.reduce(x, axis=1)",
    "np.maximum.reduce(x, axis=None)", "np.logical_or.reduce(x > 3, axis=1, keepdims=True)", "scipy.special.gammaln(x)",
    "scipy.special.erf(x)", "np.all(x > 1, axis=0)", "np.any(x > 3)", "np.argmax(x)", "np.argmax(x, axis=1)",
    "np.argmin(x, axis=0)", "np.argsort(x, axis=1)", "np.around(x)", "np.clip(x, 0.5, 1)",
    "np.compress([True, False, True], x, axis=1)", "np.concatenate([x, A], axis=1)", "np.concatenate([A, x])",
    "np.cumprod(x, axis=1)", "np.cumsum(x)", "np.diag(x)", "np.diff(x, axis=0)", "np.dot(A.T, x)", "np.dot(x, A.T)",
    "np.expand_dims(x, 1)", "np.full_like(x, 3)", "np.isclose(x, A)", "np.max(x)", "np.amin(x, axis=1)",
    "np.mean(x, axis=1, keepdims=True)", "np.ones_like(x)", "np.outer(x[0], x[1])", "np.prod(x, axis=0)", "np.ptp(x, axis=0)",
    "np.ravel(x)", "np.repeat(x, 2, axis=1)", "np.reshape(x, (3, 2))", "np.roll(x, 1, axis=1)", "np.round(x)",
    "np.searchsorted(np.sort(x[0]), 0.3)", "np.sort(x, axis=0)", "np.squeeze(np.expand_dims(x, 0))", "np.stack([x, A])",
    "np.std(x, axis=1, ddof=1)", "np.sum(x, axis=(0, 1))", "np.sum(x, keepdims=True)", "np.swapaxes(x, 0, 1)",
    "np.take(x, [2, 0], axis=1)", "np.tensordot(x, A, axes=[[1], [1]])", "np.tile(x, (2, 1))", "np.trace(x)", "np.transpose(x)",
    "np.tril(x)", "np.triu(x, k=1)", "np.var(x, axis=0)", "np.where(x > 1, x, 0)", "np.zeros_like(x)",
    "np.linalg.det(x[:, :2])", "np.linalg.inv(x[:, :2])", "np.linalg.solve(S, x)", "np.linalg.cholesky(S + 0 * x[0, 0])",
    "np.linalg.pinv(x)", "np.linalg.matrix_power(x[:, :2], 3)", "np.ndim(x)", "np.shape(x)", "np.size(x)", "np.real(x)",
    "np.imag(x)", "np.allclose(x, A)", "np.diagonal(x)",
]  # fmt: skip


def test_values_are_numpys():
    x = T.dmatrix("x")
    names = {"np": np, "scipy": scipy, "A": A, "S": S}
    results = [eval(call, {**names, "x": x}) for call in CALLS]
    symbolic = [i for i, result in enumerate(results) if isinstance(result, theano.Variable)]
    assert len(symbolic) > len(CALLS) - 3
    values = dict(zip(symbolic, theano.function([x], [results[i] for i in symbolic], mode="FAST_COMPILE")(A), strict=True))
    for i, call in enumerate(CALLS):
        wanted = eval(call, {**names, "x": A})
        np.testing.assert_allclose(values.get(i, results[i]), wanted, rtol=1e-9, err_msg=call)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_each_row_names_a_function_of_numpy_and_its_parameters(name):
    import inspect

    function = np
    for part in name.split("."):
        function = getattr(function, part)
    parameters = inspect.signature(function).parameters
    assert set(FUNCTIONS[name][1]) <= set(parameters)


def test_each_ufunc_is_one():
    for name in [*UFUNCS, *SAME_UFUNCS]:
        function = getattr(np, name, None) or getattr(scipy.special, name)
        assert callable(function)
        assert hasattr(T, UFUNCS.get(name, name))


def test_an_array_that_is_added_to_becomes_a_variable():
    v = T.dvector("v")
    a = kept = np.ones(2)
    a += v
    assert isinstance(a, theano.Variable)
    assert kept.tolist() == [1, 1]
    assert a.eval({v: [1.0, 2.0]}).tolist() == [2, 3]


def test_graphs_are_as_they_were():
    x = T.dmatrix("x")
    assert theano.pp(np.less(A, x)) == theano.pp(x > A)
    assert theano.pp(A - x) == theano.pp(T.sub(A, x))


def test_arrays_of_variables():
    x, v = T.dmatrix("x"), T.dvector("v")
    both = np.array([x, v], dtype=object)
    assert both[0] is x and both[1] is v
    both[:] = [v, x]
    assert both[0] is v
    y = T.dscalar("y")
    for result in (y * both, both + y, np.multiply(both, y)):
        assert result.shape == (2,) and all(isinstance(element, theano.Variable) for element in result)


def test_one_variable_or_several_are_taken_by_atleast_1d():
    x, v = T.dscalar("x"), T.dvector("v")
    for given in ([x], [v]):
        (found,) = np.atleast_1d(*given)
        assert found is given[0]
    assert list(np.atleast_1d([x, x])) == [x, x]
    first, second = np.atleast_1d(v, 3.0)
    assert first.shape == (1,) and first[0] is v
    np.testing.assert_array_equal(second, [3.0])


def test_lists_of_variables_are_numpys():
    x, y = T.dmatrix("x"), T.dscalar("y")
    a = np.ones((2, 5))
    assert np.prod((x.shape[0], 3)).eval({x: a}) == 6
    assert np.sum([y, y]).eval({y: 2.0}) == 4
    assert np.array([y, 2.0]).dtype == object


class Exported:
    """An array of another library."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Table:
    """A table of another library."""

    def __init__(self, array):
        self.array = array

    def to_numpy(self):
        return self.array


@pytest.mark.parametrize("foreign", [Exported, Table])
def test_arrays_of_other_libraries(foreign):
    a = np.array([1.0, 2.0], "float32")
    v = T.fvector("v")
    s = theano.shared(foreign(a))
    assert s.type == v.type
    a[0] = 5
    assert s.get_value().tolist() == [1, 2]
    s.set_value(foreign(a))
    assert s.get_value().tolist() == [5, 2]
    assert theano.function([v], 2 * v)(foreign(a)).tolist() == [10, 4]
    with pytest.raises(TypeError, match="float32"):
        theano.function([v], 2 * v)(foreign(np.array([0.1, 0.2])))


def test_tables_of_text_stay_objects():
    table = Table(np.array(["a", "b"], object))
    assert theano.shared(table).type == theano.gof.generic


def test_masks_without_masked_entries_are_nothing_to_refuse():
    array = np.ma.masked_array([1.0, 2.0], [False, False])
    assert theano.shared(array).get_value().tolist() == [1, 2]
    assert T.as_tensor_variable(array).eval().tolist() == [1, 2]
