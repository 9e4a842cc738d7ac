"""What functions do with None for an array, with arguments that they may overwrite, and with results that are numbers."""

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano import scalar as scal
from theano.tensor import inplace
from theano.tensor.raw_random import RandomFunction, random_state_type

MODES = ["FAST_RUN", "FAST_COMPILE", theano.Mode("py", None), theano.Mode("vm", "fast_run")]


@pytest.mark.parametrize("mode", MODES)
def test_none_for_an_array_takes_the_default(mode):
    x, y = T.dscalars("x", "y")
    f = theano.function([x, y], T.default(x, y), mode=mode)
    assert f(1, 2) == 1
    assert f(None, 2) == 2
    assert f(1, None) == 1
    assert f(1, 2) == 1


@pytest.mark.parametrize(("name", "reference"), [("eye", np.eye), ("tri", np.tri)])
def test_a_number_of_columns_that_is_none_is_that_of_the_rows(name, reference):
    n, m, k = T.iscalars("n", "m", "k")
    f = theano.function([n, m, k], getattr(T, name)(n, m, k))
    np.testing.assert_array_equal(f(3, None, 1), reference(3, None, 1))
    np.testing.assert_array_equal(f(3, 4, 0), reference(3, 4))


@pytest.mark.parametrize("mode", MODES)
def test_none_elsewhere_is_an_error_that_leaves_shared_variables_alone(mode):
    x, total = T.dvector("x"), theano.shared(np.zeros(3))
    f = theano.function([x], x.sum(), updates=[(total, total + x)], mode=mode)
    with pytest.raises(TypeError):
        f(None)
    np.testing.assert_array_equal(total.get_value(), np.zeros(3))
    f(np.ones(3))
    np.testing.assert_array_equal(total.get_value(), np.ones(3))


def test_updates_are_done_where_an_argument_is_none():
    x, y, s = T.dscalar("x"), T.dscalar("y"), theano.shared(1.0)
    f = theano.function([x, y], T.default(x, y), updates=[(s, s + 1)])
    assert f(None, 4.0) == 4
    assert s.get_value() == 2


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("name", "value"), [("i0", [1.0, 2.0]), ("exp", [1.0, 0.5]), ("exp", [1 + 1j, 2j]), ("sqr", [1 + 2j, 3]), ("erfcx", [0.1])]
)
def test_a_mutable_argument_is_overwritten(name, value, mode):
    value = np.array(value)
    x = T.vector(dtype=value.dtype.name)
    f = theano.function([theano.In(x, mutable=True)], getattr(inplace, f"{name}_inplace")(x), accept_inplace=True, mode=mode)
    expected = theano.function([x], getattr(T, name)(x))(value)
    argument = value.copy()
    f(argument)
    np.testing.assert_allclose(argument, expected)


def test_an_operation_that_overwrites_is_shown_by_its_name():
    x, y = T.dvectors("x", "y")
    assert [str(op) for op in (inplace.abs__inplace, inplace.add_inplace)] == ["abs__inplace", "add_inplace"]
    assert theano.pprint(inplace.add_inplace(x, y)) == "(x += y)"
    assert "add_inplace [id A]" in theano.printing.debugprint(inplace.add_inplace(x, y), file="str")


def test_a_failing_function_puts_back_the_state_of_a_generator_that_it_advances_in_place():
    state, z = random_state_type(), T.dvector("z")
    new, sample = RandomFunction("uniform", T.dvector)(state, (4,), 0.0, 1.0)
    f = theano.function([theano.In(state, value=np.random.RandomState(3), update=new, mutable=True), z], sample + z)
    generator = f[state]
    expected = np.random.RandomState(3)
    np.testing.assert_array_equal(f(z=np.zeros(4)), expected.uniform(size=4))
    with pytest.raises(ValueError):
        f(z=np.zeros(3))
    np.testing.assert_array_equal(f(z=np.zeros(4)), expected.uniform(size=4))
    assert f[state] is generator


@pytest.mark.parametrize("mode", MODES)
def test_the_value_of_a_scalar_variable_is_a_number(mode):
    x = T.dscalar()
    value = theano.function([x], T.scalar_from_tensor(x), mode=mode)(3.0)
    assert isinstance(value, np.float64)
    assert value == 3
    a, b = scal.int8("a"), scal.float64("b")
    value = theano.function([a, b], [scal.add(a, b), scal.lt(a, b)], mode=mode)(1, 2.0)
    assert [type(v) for v in value] == [np.float64, np.bool_]
    assert value == [3, True]


def test_the_value_of_a_scalar_variable_beside_an_update():
    x, s = T.dscalar(), theano.shared(np.zeros(3))
    f = theano.function([x], T.scalar_from_tensor(x + 1), updates=[(s, s + x)])
    assert isinstance(f(2.0), np.float64)
    np.testing.assert_array_equal(s.get_value(), [2, 2, 2])


@pytest.mark.parametrize("mode", MODES)
def test_a_join_may_be_a_view_of_its_only_full_part(mode):
    x, y = T.dmatrices("x", "y")
    joined = T.Join(view=1)(0, x, y)
    f = theano.function([theano.In(x, borrow=True), theano.In(y, borrow=True)], theano.Out(joined, borrow=True), mode=mode)
    full = np.ones((2, 3))
    assert np.shares_memory(f(np.zeros((0, 3)), full), full)
    both = f(np.zeros((1, 3)), full)
    assert both.shape == (3, 3)
    assert not np.shares_memory(both, full)


def test_arrays_that_are_not_aligned_are_refused():
    x = T.dvector()
    f = theano.function([x], x + 1)
    with pytest.raises(TypeError, match="not aligned"):
        f(np.zeros(25, dtype="int8")[1:].view("float64"))
