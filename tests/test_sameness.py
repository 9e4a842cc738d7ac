"""Values, dtypes and errors that programs for the first Theano count on, each as Theano 1.0.5 has it."""

import warnings

import numpy as np
import pytest

import theano
import theano.tensor as tt
from theano.sandbox.rng_mrg import MRG_RandomStreams
from theano.scalar.arithmetic import ComplexError
from theano.tensor.shared_randomstreams import RandomStreams


def vector(dtype, name=None):
    return tt.TensorType(dtype, (False,))(name)


@pytest.mark.parametrize(
    "dtype, low, high, result",
    [
        ("uint8", -10, -5, "int16"),
        ("int8", 0, 300, "int16"),
        ("bool", 1, 5, "int8"),
        ("int64", 1.5, 2.5, "float64"),
        ("float32", 0, 1, "float32"),
    ],
)
def test_clip_has_the_common_dtype(dtype, low, high, result):
    x = vector(dtype)
    value = theano.function([x], tt.clip(x, low, high))(np.array([0, 1], dtype=dtype))
    assert value.dtype == result
    np.testing.assert_array_equal(value, np.clip(np.array([0.0, 1.0]), low, high))
    with pytest.raises(TypeError):
        tt.clip(vector("complex64"), 0, 1)


def test_dtypes_of_means_and_deviations():
    x = vector("float32")
    assert tt.mean(x, dtype="float16").dtype == "float16"
    assert tt.mean(vector("float16")).dtype == "float16"
    assert tt.var(x).dtype == "float32"
    assert tt.var(x, ddof=1).dtype == tt.std(x, ddof=1).dtype == "float64"
    z = vector("complex64")
    deviation = tt.std(z)
    assert deviation.dtype == tt.var(z).dtype == "complex64"
    value = np.array([1, 2j, 3 - 1j], dtype="complex64")
    np.testing.assert_allclose(deviation.eval({z: value}), value.std(), rtol=1e-6)


@pytest.mark.parametrize("names, result", [(("int8", "int8"), "complex64"), (("int32", "float32"), "complex128")])
def test_complex_numbers_of_small_parts_are_small(names, result):
    a, b = (vector(name) for name in names)
    value = theano.function([a, b], tt.complex(a, b))(np.array([1], dtype=names[0]), np.array([2], dtype=names[1]))
    assert value.dtype == result
    assert value[0] == 1 + 2j
    assert tt.complex_from_polar(a, b).dtype == result


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "FAST_RUN", theano.Mode("py")], ids=str)
def test_quotients_of_truth_values_are_truth_values(mode):
    a, b = vector("bool"), vector("bool")
    values = np.array([True, False, True, False]), np.array([True, True, False, False])
    quotient, rest = theano.function([a, b], divmod(a, b), mode=mode)(*values)
    assert quotient.dtype == rest.dtype == "bool"
    assert quotient.tolist() == [True, False, False, False]
    assert not rest.any()


def test_divmod_gives_a_tuple():
    a, b = tt.ivectors("ab")
    assert isinstance(divmod(a, b), tuple)
    quotient, rest = theano.function([a, b], tt.divmod(a, b))([7, -7], [2, 2])
    assert quotient.tolist() == [3, -4]
    assert rest.tolist() == [1, 1]


def test_quotients_of_complex_numbers_fail_at_once():
    z = vector("complex128")
    for quotient in (lambda: z // 2, lambda: 2 // z, lambda: z % 2, lambda: tt.ceil_intdiv(z, z), lambda: divmod(z, z)):
        with pytest.raises(ComplexError):
            quotient()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_counts_have_the_dtype_of_what_is_counted(dtype):
    x = vector(dtype)
    counts = theano.function([x], tt.extra_ops.bincount(x, minlength=5))(np.array([1, 3, 1], dtype=dtype))
    assert counts.dtype == dtype
    assert counts.tolist() == [0, 2, 0, 1, 0]
    assert tt.extra_ops.bincount(x, weights=vector("float32")).dtype == "float32"


def test_flatten_makes_a_new_variable():
    m = tt.dmatrix("m")
    flat = m.flatten(2)
    assert flat is not m
    assert flat.owner.inputs[0] is m
    value = np.empty((0, 3))
    assert theano.function([m], flat)(value).shape == (0, 3)


@pytest.mark.parametrize("linker", ["cvm", "py"])
def test_survival_function_of_chi_squared_below_zero(linker):
    x, k = tt.dvectors("xk")
    f = theano.function([x, k], tt.chi2sf(x, k), mode=theano.Mode(linker))
    np.testing.assert_array_equal(f([-1.0, -0.5, 0.0, np.inf, np.nan], [1, 0.5, 3, 2, 2]), [1, 1, 1, 0, np.nan])
    np.testing.assert_array_equal(f([1.0, -1.0, 0.0], [0, -1, 0]), [np.nan] * 3)
    np.testing.assert_allclose(f([1.0], [2.0]), np.exp(-0.5))


def test_lists_with_none_are_no_index():
    m = tt.dmatrix("m")
    for index in ([0, None], [None], [0, Ellipsis]):
        with pytest.raises(TypeError):
            m[index]
    assert m[[slice(0, 1), 1]].ndim == 1


class TestNumbersAsArguments:
    """NumPy's numbers are taken as Python's: by their value."""

    @pytest.mark.parametrize("number", [np.int64(3), np.float64(3), np.float32(3), np.uint64(3), np.bool_(True), 3.0])
    def test_a_number_that_fits_is_taken(self, number):
        i = tt.iscalar()
        value = theano.function([i], i)(number)
        assert value.dtype == "int32"
        assert value == number
        shared = theano.shared(np.int32(0))
        shared.set_value(number)
        assert shared.get_value().dtype == "int32"
        assert shared.get_value() == number

    @pytest.mark.parametrize("number", [np.int64(2**40), np.float64(3.5), np.uint64(2**63), np.array(3), np.array(3.0)])
    def test_others_are_refused(self, number):
        i = tt.iscalar()
        with pytest.raises(TypeError):
            theano.function([i], i)(number)
        with pytest.raises(TypeError):
            theano.shared(np.int32(0)).set_value(number)

    @pytest.mark.parametrize("allow", [True, False, None])
    @pytest.mark.parametrize(
        "number, error", [(np.nan, ValueError), (1e300, OverflowError), (-np.inf, OverflowError), (1j, TypeError)]
    )
    def test_what_is_no_integer_stays_none(self, allow, number, error):
        i, v = tt.iscalar(), tt.bvector()
        with pytest.raises(error):
            theano.function([i], i, allow_input_downcast=allow)(number)
        with pytest.raises(error):
            theano.function([v], v, allow_input_downcast=allow)([number])

    def test_downcasts_that_are_allowed(self):
        b, q, f = tt.bscalar(), tt.TensorType("uint64", ())(), tt.fscalar()
        small = theano.function([b], b, allow_input_downcast=True)
        assert [int(small(v)) for v in (300, 300.7, np.int64(300), -1.5)] == [44, 44, 44, -1]
        large = theano.function([q], q, allow_input_downcast=True)
        assert [int(large(v)) for v in (1.8e19, -1.0)] == [18000000000000000000, 2**64 - 1]
        single = theano.function([f], f, allow_input_downcast=True)
        assert single(np.float64(0.1)) == np.float32(0.1)
        assert single(1e300) == np.inf
        with pytest.raises(TypeError, match="complex"):
            single(1j)

    def test_arrays_are_cast_as_numpy_casts(self):
        v = tt.ivector()
        f = theano.function([v], v, allow_input_downcast=True)
        assert f(np.array([3.5, -2.5])).tolist() == [3, -2]
        with pytest.raises(TypeError):
            theano.function([v], v)(np.array([3]))


class TestNewAxesOfFewIndices:
    """``x[:, None]`` with fewer entries than dimensions drops the dimensions left over, where all are broadcastable."""

    col, deep = tt.col("col"), tt.TensorType("float64", (False, True, True))("deep")

    @pytest.mark.parametrize(
        "index, pattern",
        [
            ((slice(None), None), (False, True)),
            ((None, slice(None)), (True, False)),
            ((0, None), (True,)),
            ((slice(None), None, None), (False, True, True)),
        ],
    )
    def test_trailing_dimensions_are_dropped(self, index, pattern):
        for x in (self.col, self.deep):
            with pytest.warns(UserWarning, match="NumPy keeps them") as caught:
                y = x[index]
            assert caught[0].filename == __file__
            assert y.broadcastable == pattern
            value = np.arange(3.0).reshape((3,) + (1,) * (x.ndim - 1))
            expected = value.reshape(3)[index]
            np.testing.assert_array_equal(theano.function([x], y)(value), expected)

    @pytest.mark.parametrize("index, dims", [((slice(None), None, Ellipsis), 3), ((slice(None), slice(None), None), 3)])
    def test_an_index_of_all_dimensions_keeps_them(self, index, dims):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert self.col[index].ndim == dims
            assert self.col[0].ndim == 1

    def test_dimensions_that_are_not_broadcastable_stay(self):
        m = tt.dmatrix("m")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            y = m[:, None]
            assert self.col[None].broadcastable == (True, False, True)
        assert theano.function([m], y)(np.ones((2, 3))).shape == (2, 1, 3)

    def test_a_flag_gives_numpys_meaning(self):
        with theano.config.change_flags(trailing_dims_of_newaxis="keep"), warnings.catch_warnings():
            warnings.simplefilter("error")
            assert self.col[:, None].broadcastable == (False, True, True)

    @pytest.mark.filterwarnings("ignore:An index with None")
    def test_values_are_set_through_the_index(self):
        for index, expected in [((0, None), [7, 1, 2]), ((slice(1, None), None), [0, 7, 7])]:
            y = tt.set_subtensor(self.col[index], 7.0)
            np.testing.assert_array_equal(theano.function([self.col], y)(np.arange(3.0).reshape(3, 1)).ravel(), expected)


class TestLoops:
    @pytest.mark.parametrize("mrg", [False, True])
    def test_without_updates_random_numbers_move_on_by_one_draw(self, mrg):
        streams = (MRG_RandomStreams if mrg else RandomStreams)(234)
        draws, updates = theano.scan(lambda: streams.uniform((2,)), n_steps=3, name="draws")
        with pytest.warns(UserWarning, match="loop 'draws'") as caught:
            f = theano.function([], draws)
        assert caught[0].filename == __file__
        first, second = f(), f()
        np.testing.assert_array_equal(second[:2], first[1:])
        assert (second[2] != first).all()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            g = theano.function([], draws, updates=updates)
            h = theano.function([], draws, no_default_updates=True)
        third, fourth = g(), g()
        assert not np.isin(fourth, third).any()
        np.testing.assert_array_equal(h(), h())

    def test_a_loop_of_one_step_moves_on_by_itself(self):
        streams = RandomStreams(1)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            f = theano.function([], theano.scan(lambda: streams.uniform(()), n_steps=1)[0])
        assert f() != f()

    def test_numbers_of_a_size_that_the_step_reads_have_no_single_step(self):
        streams = RandomStreams(1)
        sums, updates = theano.scan(lambda n: streams.uniform((n,), ndim=1).sum(), sequences=tt.arange(1, 4))
        f = theano.function([], sums, updates=updates)
        assert (f() != f()).all()

    def test_strict_loops_refuse_shared_variables_only(self):
        x, w = tt.dvector("x"), tt.dscalar("w")
        shared = theano.shared(2.0)
        for step in (lambda a: a * w, lambda a: a * (w * 1)):
            f = theano.function([x, w], theano.scan(step, sequences=x, strict=True)[0])
            assert f([1, 2], 3).tolist() == [3, 6]
        with pytest.raises(theano.gof.fg.MissingInputError, match="strict"):
            theano.scan(lambda a: a * (shared + 1), sequences=x, strict=True)
        for arguments in ({"non_sequences": shared}, {"n_steps": 1}):
            theano.scan(lambda a, *_: a * shared, sequences=x, strict=True, **arguments)

    @pytest.mark.parametrize("initial", [tt.constant(np.float32(2)), tt.constant(np.int8(2)), tt.fscalar()])
    def test_a_loop_of_one_step_has_any_initial_value(self, initial):
        results, _ = theano.scan(lambda p: p * tt.constant(np.float64(2.5)), outputs_info=initial, n_steps=1)
        assert results.dtype == "float64"
        assert results.eval({} if initial.owner is None and hasattr(initial, "data") else {initial: 2}) == [5]
        with pytest.raises(ValueError, match="initial value"):
            theano.scan(lambda p: p * tt.constant(np.float64(2.5)), outputs_info=initial, n_steps=2)


def test_a_rectifier_of_arrays_is_an_array():
    for x in (np.array([-1.0, 2.0]), np.float64(-1.0), -1.0):
        value = tt.nnet.relu(x)
        assert isinstance(value, (np.ndarray, float))
        np.testing.assert_array_equal(value, np.maximum(x, 0))
    assert isinstance(tt.nnet.relu([-1.0, 2.0]), theano.Variable)
    assert isinstance(tt.nnet.relu(np.array([-1.0]), alpha=0.1), theano.Variable)


def test_what_is_plain_arithmetic_or_nothing_at_all_gives_arrays():
    a, v = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 2.0])
    np.testing.assert_array_equal(tt.power(a, 2), a**2)
    assert tt.power(2, 3) == 8
    assert isinstance(tt.power(tt.dvector(), 2), theano.Variable)
    normal = tt.nnet.batch_normalization(a, v, v, v, v, mode="high_mem")
    assert isinstance(normal, np.ndarray)
    np.testing.assert_array_equal(normal, a - v + v)
    assert tt.join(0, a) is a
    assert tt.nlinalg.matrix_dot(a) is a


def test_constants_of_numbers_equal_plain_constants():
    part = tt.dmatrix()[1:2]
    int64 = theano.scalar.Scalar("int64")
    assert part.owner.inputs[1].equals(theano.Constant(int64, 1))
    assert not part.owner.inputs[1].equals(theano.Constant(int64, 2))
    assert not part.owner.inputs[1].equals(theano.Constant(theano.scalar.Scalar("int32"), 1))


@pytest.mark.parametrize("streams", [RandomStreams, MRG_RandomStreams])
def test_a_loop_whose_draws_depend_on_its_states_warns_without_its_updates(streams):
    x, r = tt.dvector("x"), streams(4)
    out, updates = theano.scan(
        lambda h: tt.cast(r.binomial(size=(3,), n=1, p=tt.nnet.sigmoid(h)), "float64"), outputs_info=[x], n_steps=3, name="gibbs"
    )
    with pytest.warns(UserWarning, match="'gibbs'"):
        theano.function([x], out)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f = theano.function([x], out, updates=updates)
    draws = [f(np.zeros(3)).tolist() for _ in range(20)]
    assert any(d != draws[0] for d in draws)


@pytest.mark.parametrize("streams", [RandomStreams, MRG_RandomStreams])
def test_a_loop_in_a_loop_that_drops_its_updates_warns(streams):
    r = streams(5)

    def outer_step():
        values, updates = theano.scan(lambda: r.uniform((2,)), n_steps=3, name="inner")
        return (values.sum(), updates) if given else values.sum()

    given = False
    with pytest.warns(UserWarning, match="'outer' uses the loop 'inner'"):
        theano.scan(outer_step, n_steps=4, name="outer")
    given, r = True, streams(5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sums, updates = theano.scan(outer_step, n_steps=4, name="outer")
        f = theano.function([], sums, updates=updates)
    assert len({*f().tolist(), *f().tolist()}) == 8


def test_the_warning_of_dropped_updates_names_what_is_left():
    count = theano.shared(0, name="count")

    def step():
        count.default_update = count + 1
        return count * 2

    values, _ = theano.scan(step, n_steps=3, name="counting")
    with pytest.warns(UserWarning, match="'counting'.* leaves count where one step") as caught:
        theano.function([], values)
    assert not any("draws" in str(w.message) for w in caught)


def test_what_is_no_list_is_not_stacked():
    value = np.array([1.0, 2.0])
    assert tt.stacklists(value) is value
    assert tt.stacklists([value, value]).ndim == 2 and tt.stacklists([[value], (value,)]).ndim == 3


def test_strict_loops_know_the_shared_variables_of_a_product():
    x, w, shared = tt.dvector(), tt.dscalar("w"), theano.shared(2.0)
    with pytest.raises(theano.gof.fg.MissingInputError):
        theano.scan(lambda a: a * shared * w, sequences=x, strict=True)
    values, _ = theano.scan(lambda a, _: a * shared * w, sequences=x, non_sequences=[shared], strict=True)
    np.testing.assert_array_equal(values.eval({x: [1.0, 2.0], w: 3.0}), [6, 12])
