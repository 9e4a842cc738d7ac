"""Every instruction of the virtual machine against NumPy."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from vm_tools import integer, make, run_instruction, runtime, tensor

INTEGERS = [f"{sign}int{bits}" for bits in (8, 16, 32, 64) for sign in ("", "u")]
DTYPES = ["bool", *INTEGERS, "float16", "float32", "float64", "complex64", "complex128"]
SETTINGS = settings(max_examples=60, deadline=None)


def sample(shape, dtype="float64", seed=0):
    values = np.random.default_rng(seed).integers(0, 100, size=shape)
    return values.astype(dtype)


def variants(x):
    """The same values in other memory layouts."""
    yield x
    yield np.asfortranarray(x)
    if x.ndim:
        wide = np.repeat(x, 2, axis=-1)
        yield wide[..., ::2]
        yield np.ascontiguousarray(x[..., ::-1])[..., ::-1]


class TestViews:
    def test_dimshuffle(self):
        x = sample((2, 3, 1))
        out = run_instruction("dimshuffle", [x], [tensor("float64", 4)], ((1, -1, 0, -1),))
        assert_array_equal(out, x.transpose(1, 0, 2).reshape(3, 1, 2, 1))
        assert np.shares_memory(out, x)

    def test_dimshuffle_refuses_to_drop_a_long_dimension(self):
        with pytest.raises(ValueError, match="dropped"):
            run_instruction("dimshuffle", [sample((2, 3))], [tensor("float64", 1)], ((1,),))

    def test_dimshuffle_of_a_scalar(self):
        assert_array_equal(run_instruction("dimshuffle", [np.array(3.0)], [tensor("float64", 2)], ((-1, -1),)), [[3.0]])

    @SETTINGS
    @given(st.data())
    def test_subtensor_is_numpys_indexing(self, data):
        shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=4))
        x = sample(shape, "int32")
        index = data.draw(hnp.basic_indices(shape, allow_ellipsis=False, allow_newaxis=True))
        index = index if isinstance(index, tuple) else (index,)
        entries, cells, used = [], [], 0

        def entry(value):
            if value is None or not data.draw(st.booleans()):
                return value
            cells.append(np.array(value, dtype=data.draw(st.sampled_from(["int64", "int32"]))))
            return ("i", len(cells))

        for i in index:
            if i is None:
                entries.append(None)
            elif isinstance(i, slice):
                entries.append(("s", entry(i.start), entry(i.stop), entry(i.step)))
            else:
                entries.append(entry(int(i)))
            used += i is not None
        expected = np.asarray(x[index])
        out = run_instruction("subtensor", [x, *cells], [tensor("int32", expected.ndim)], (tuple(entries),))
        assert_array_equal(out, expected)

    def test_subtensor_out_of_bounds(self):
        with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
            run_instruction("subtensor", [sample((3,)), integer(3)], [tensor("float64", 0)], ((("i", 1),),))

    def test_zero_step(self):
        with pytest.raises(ValueError, match="step"):
            run_instruction("subtensor", [sample((3,))], [tensor("float64", 1)], ((("s", None, None, 0),),))

    @SETTINGS
    @given(st.data())
    def test_reshape(self, data):
        shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
        x = sample(shape, "int16")
        order = data.draw(st.permutations(range(len(shape))))
        x = x.transpose(order)
        if x.ndim and data.draw(st.booleans()):
            x = x[::-1]
        target = [x.size]
        for _ in range(data.draw(st.integers(0, 2))):
            divisors = [d for d in range(1, 5) if target[-1] % d == 0]
            d = data.draw(st.sampled_from(divisors))
            target[-1:] = [d, target[-1] // d]
        if x.size and data.draw(st.booleans()):
            target[data.draw(st.integers(0, len(target) - 1))] = -1
        out = run_instruction("reshape", [x, np.array(target, "int64")], [tensor("int16", len(target))])
        assert_array_equal(out, x.reshape(target))

    def test_reshape_makes_a_view_where_it_can(self):
        x = sample((4, 6))[:, ::2]
        out = run_instruction("reshape", [x, integer([2, 2, 3])], [tensor("float64", 3)])
        assert np.shares_memory(out, x)

    @pytest.mark.parametrize("shape", [[4, 2], [-1, -1], [-1, 4], [-2, -3]])
    def test_reshape_refuses(self, shape):
        with pytest.raises(ValueError, match=r"Cannot reshape input of shape \(2, 3\) to shape"):
            run_instruction("reshape", [sample((2, 3)), integer(shape)], [tensor("float64", 2)])

    def test_reshape_checks_the_length(self):
        with pytest.raises(ValueError, match="length 1, expected 2"):
            run_instruction("reshape", [sample((2, 3)), integer([6])], [tensor("float64", 2)])

    def test_specify_shape(self):
        x = sample((2, 3))
        assert_array_equal(run_instruction("specify_shape", [x, integer([2, 3])], [tensor("float64", 2)]), x)
        with pytest.raises(AssertionError, match=r"Got shape \(2, 3\), expected \(2, 4\)"):
            run_instruction("specify_shape", [x, integer([2, 4])], [tensor("float64", 2)])

    def test_rebroadcast(self):
        x = sample((1, 3))
        assert_array_equal(run_instruction("rebroadcast", [x], [tensor("float64", 2)], ((0,),)), x)
        with pytest.raises(ValueError, match="Dimension 1 in Rebroadcast's input was supposed to be 1"):
            run_instruction("rebroadcast", [x], [tensor("float64", 2)], ((1,),))

    @pytest.mark.parametrize("offset", [-5, -1, 0, 2, 7])
    def test_diagonal(self, offset):
        x = sample((3, 4, 5))
        out = run_instruction("diagonal", [x], [tensor("float64", 2)], (offset, (0, 2)))
        assert_array_equal(out, np.diagonal(x, offset, 0, 2))

    def test_view(self):
        x = sample((2, 3))
        assert run_instruction("view", [x], [tensor("float64", 2)]) is not None
        assert run_instruction("view", [np.array(2.5)], [tensor("float64", 0)]) == 2.5

    def test_assertion(self):
        x = sample((2,))
        assert_array_equal(run_instruction("assert_op", [x, np.array(True)], [tensor("float64", 1)], ("no", ValueError)), x)
        with pytest.raises(AssertionError, match="it is not so"):
            run_instruction("assert_op", [x, np.array(False)], [tensor("float64", 1)], ("it is not so", AssertionError))


class TestAllocation:
    def test_shape(self):
        x = sample((2, 0, 3))
        assert_array_equal(run_instruction("shape", [x], [tensor("int64", 1)]), [2, 0, 3])
        assert run_instruction("shape_i", [x], [tensor("int64", 0)], (2,)) == 3

    def test_makevector(self):
        out = run_instruction("makevector", [integer(1), np.array(2.5), np.array(3, "int8")], [tensor("float64", 1)])
        assert_array_equal(out, [1, 2.5, 3])

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_alloc(self, dtype):
        value = sample((1, 3), dtype) + np.array(1, dtype)
        out = run_instruction("alloc", [value, integer(2), integer(4), integer(3)], [tensor(dtype, 3)])
        assert_array_equal(out, np.broadcast_to(value, (2, 4, 3)))
        zero = run_instruction("alloc", [np.array(0, dtype), integer(5)], [tensor(dtype, 1)])
        assert_array_equal(zero, np.zeros(5, dtype))

    def test_alloc_refuses(self):
        with pytest.raises(ValueError, match=r"could not broadcast input array from shape \(2,\) into shape \(3,\)"):
            run_instruction("alloc", [sample((2,)), integer(3)], [tensor("float64", 1)])
        with pytest.raises(ValueError, match="negative dimensions"):
            run_instruction("alloc", [np.array(1.0), integer(-1)], [tensor("float64", 1)])

    def test_too_large(self):
        with pytest.raises(MemoryError):
            run_instruction("alloc_empty", [integer(2**40), integer(2**40)], [tensor("float64", 2)])

    @pytest.mark.parametrize(
        "start, stop, step, dtype",
        [
            (0, 5, 1, "int64"),
            (5, 0, -2, "int32"),
            (5, 5, 1, "int8"),
            (3, 9, -1, "int64"),
            (0.0, 1.0, 0.1, "float64"),
            (0.0, 1.0, 0.3, "float32"),
            (1.0, -2.0, -0.25, "float64"),
            (0, 7, 2, "float16"),
            (0, 7, 3, "complex64"),
            (-(2**61), 2**61, 2**59, "int64"),
        ],
    )
    def test_arange(self, start, stop, step, dtype):
        cast = "float64" if isinstance(step, float) else "int64"
        kind = dtype if dtype == "float32" else cast
        ends = [np.array(v, kind) for v in (start, stop, step)]
        out = run_instruction("arange", ends, [tensor(dtype, 1)])
        expected = np.arange(*[e[()] for e in ends], dtype=dtype)
        assert out.shape == expected.shape
        assert_allclose(out, expected, rtol=1e-6 if dtype != "float64" else 1e-15, atol=1e-15)

    def test_arange_refuses_a_zero_step(self):
        with pytest.raises(ZeroDivisionError):
            run_instruction("arange", [integer(0), integer(5), integer(0)], [tensor("int64", 1)])

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_diagonal_matrix(self, dtype):
        out = tensor(dtype, 2)
        number = sample((1,), dtype)[0]
        shapes = [(3, 3, 0), (2, 4, 1), (4, 2, -3), (3, 2, 5), (3, 2, -3), (2, 3, -(2**63)), (0, 2, 0), (2, 0, 0)]
        for rows, columns, offset in shapes:
            got = run_instruction("diagonal_matrix", [np.array(number), *map(integer, (rows, columns, offset))], [out], (0,))
            wanted = np.eye(rows, columns, max(offset, -9), dtype) * number
            assert got.dtype == dtype
            assert_array_equal(got, wanted.astype(dtype))
        for offset in (0, 2, -1):
            for vector in (sample((3,), dtype), sample((6,), dtype)[::-2], sample((0,), dtype)):
                assert_array_equal(run_instruction("diagonal_matrix", [vector], [out], (offset,)), np.diag(vector, offset))

    def test_diagonal_matrix_refuses_what_it_cannot_do(self):
        one, out = np.array(1.0), [tensor("float64", 2)]
        with pytest.raises(ValueError, match="negative dimensions"):
            run_instruction("diagonal_matrix", [one, integer(-1), integer(2), integer(0)], out, (0,))
        for operands in ([one], [np.ones((2, 2))], [np.ones(2), integer(1)], [np.array(1), integer(1), integer(1), integer(0)]):
            with pytest.raises(ValueError, match="diagonal_matrix"):
                run_instruction("diagonal_matrix", operands, out, (0,))

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_fill_diagonal(self, dtype):
        number = sample((1,), dtype)[0]
        for x in (sample((3, 4), dtype), sample((4, 6), dtype)[::-1, ::2], sample((3, 2), dtype).T, sample((0, 2), dtype)):
            for offset in (None, 0, 1, -2, 3, -3, 9, 2**63 - 1, -(2**63)):
                wanted = np.where(np.eye(*x.shape, max(min(offset or 0, 9), -9), bool), np.array(number), x)
                operands = [x, np.array(number), *([] if offset is None else [integer(offset)])]
                got = run_instruction("fill_diagonal", operands, [tensor(dtype, 2)])
                assert got.dtype == dtype
                assert_array_equal(got, wanted)
        for rank in (3, 5):
            wanted = sample((2,) * rank, dtype)
            got = run_instruction("fill_diagonal", [wanted, np.array(number)], [tensor(dtype, rank)])
            np.fill_diagonal(wanted, number)
            assert_array_equal(got, wanted)

    def test_fill_diagonal_refuses_what_it_cannot_do(self):
        x, one, out = sample((2, 3)), np.array(1.0), [tensor("float64", 2)]
        for operands in ([x[0], one], [x, x[0]], [x, np.array(1)]):
            with pytest.raises(ValueError, match="fill_diagonal: operands"):
                run_instruction("fill_diagonal", operands, out)
        cube = sample((2, 2, 3))
        with pytest.raises(ValueError, match=r"must be of equal length, got the shape \(2, 2, 3\)"):
            run_instruction("fill_diagonal", [cube, one], [tensor("float64", 3)])
        with pytest.raises(ValueError, match="fill_diagonal: operands"):
            run_instruction("fill_diagonal", [cube, one, integer(0)], [tensor("float64", 3)])

    @pytest.mark.parametrize("to", DTYPES)
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_cast(self, dtype, to):
        x = sample((3, 4), dtype)
        out = run_instruction("cast_copy", [x], [tensor(to, 2)])
        real = x.real if np.iscomplexobj(x) and not to.startswith("complex") else x
        assert out.dtype == to
        assert_array_equal(out, real.astype(to))

    def test_half_rounds_as_numpy(self):
        bits = np.arange(2**16, dtype="uint16").view("float16")
        wide = run_instruction("cast_copy", [bits], [tensor("float32", 1)])
        assert_array_equal(wide, bits.astype("float32"))
        random = np.random.default_rng(0).integers(0, 2**32, 20000, dtype="uint32").view("float32")
        near = (bits.astype("float64") * (1 + 2.0**-11)).astype("float32")
        for values in (random, near, np.float32([65519.9, 65520, 1e-8, 2.0**-25, 6e-8])):
            with np.errstate(all="ignore"):
                expected = values.astype("float16")
            assert_array_equal(run_instruction("cast_copy", [values], [tensor("float16", 1)]), expected)

    @pytest.mark.parametrize("dtype", ["float64", "complex128"])
    def test_half_of_wider_numbers_is_rounded_once(self, dtype):
        halves = np.arange(0x7C00, dtype="uint16").view("float16").astype("float64")
        middle = (halves[:-1] + halves[1:]) / 2
        near = [middle, np.nextafter(middle, np.inf), np.nextafter(middle, 0)]
        near += [middle * (1 + scale * 2.0**-power) for power in (24, 25, 26, 30, 52) for scale in (-1, 1)]
        ends = [65504, 65519.999999999, 65520, 1e300, np.inf, np.nan, 5e-324, 2.0**-25, 2.0**-25 * (1 + 2.0**-40), 1e-300]
        for values in (*near, np.array(ends), np.random.default_rng(0).uniform(-1, 5, 300000)):
            values = np.concatenate([values, -values])
            with np.errstate(all="ignore"):
                expected = values.astype("float16")
            out = run_instruction("cast_copy", [values.astype(dtype)], [tensor("float16", 1)])
            assert_array_equal(out, expected)
            assert_array_equal(np.signbit(out), np.signbit(expected))

    @pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
    def test_half_of_integers(self, dtype):
        info = np.iinfo(dtype)
        ends = [info.max - 1, info.max, info.min, 2**24 - 1, 2**24, 2**24 + 1, 2**31 - 1]
        values = np.concatenate([np.arange(66000), ends]).astype(dtype)
        for numbers in (values, -values) if info.min else (values,):
            with np.errstate(all="ignore"):
                expected = numbers.astype("float16")
            assert_array_equal(run_instruction("cast_copy", [numbers], [tensor("float16", 1)]), expected)


class TestCopies:
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_copy_of_any_layout(self, dtype):
        x = sample((3, 4, 5), dtype)
        for y in variants(x):
            out = run_instruction("copy", [y], [tensor(dtype, 3)])
            assert_array_equal(out, x)
            assert not np.shares_memory(out, y)
            assert out.flags.c_contiguous

    def test_large_transposition(self):
        x = np.random.default_rng(0).normal(size=(300, 200, 3))
        out = run_instruction("copy", [x.transpose(2, 1, 0)], [tensor("float64", 3)])
        assert_array_equal(out, x.transpose(2, 1, 0))

    def test_objects(self):
        value = {"a": [1]}
        shallow = make("copy", [("object",)], [("object",)]).call([value])[0]
        deep = make("deepcopy", [("object",)], [("object",)]).call([value])[0]
        assert shallow == deep == value
        assert shallow["a"] is value["a"]
        assert deep["a"] is not value["a"]


class TestJoin:
    @SETTINGS
    @given(st.data())
    def test_join(self, data):
        shape = list(data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4)))
        axis = data.draw(st.integers(-len(shape), len(shape) - 1))
        dtype = data.draw(st.sampled_from(DTYPES))
        parts = []
        for k in range(data.draw(st.integers(1, 4))):
            shape[axis] = data.draw(st.integers(0, 3))
            parts.append(data.draw(st.sampled_from(list(variants(sample(shape, dtype, k))))))
        out_spec = [tensor(dtype, len(shape))]
        expected = np.concatenate(parts, axis)
        assert_array_equal(run_instruction("join", parts, out_spec, (axis,)), expected)
        assert_array_equal(run_instruction("join", [integer(axis), *parts], out_spec, (None,)), expected)

    def test_join_refuses(self):
        with pytest.raises(
            ValueError, match="along dimension 0, the array at index 0 has size 2 and the array at index 1"
        ):
            run_instruction("join", [sample((2, 3)), sample((4, 3))], [tensor("float64", 2)], (1,))
        with pytest.raises(IndexError, match="Join axis 2 out of bounds"):
            run_instruction("join", [integer(2), sample((2, 3))], [tensor("float64", 2)], (None,))

    def test_split(self):
        x = sample((2, 6, 3))
        outs = [tensor("float64", 3)] * 3
        parts = run_instruction("split", [x, integer([1, 0, 5])], outs, (1,))
        for part, expected in zip(parts, np.split(x, [1, 1], 1), strict=True):
            assert_array_equal(part, expected)
            assert not np.shares_memory(part, x)
        parts = run_instruction("split", [x, integer(-1), integer([1, 1, 1])], outs, (None,))
        assert_array_equal(parts[2], x[..., 2:])

    def test_split_refuses(self):
        outs = [tensor("float64", 1)] * 2
        with pytest.raises(ValueError, match="sum to 4, expected 3"):
            run_instruction("split", [sample((3,)), integer([2, 2])], outs, (0,))
        with pytest.raises(ValueError, match="negative number of elements"):
            run_instruction("split", [sample((3,)), integer([4, -1])], outs, (0,))
        with pytest.raises(ValueError, match="len_splits"):
            run_instruction("split", [sample((3,)), integer([1, 1, 1])], outs, (0,))


class TestIndexing:
    @pytest.mark.parametrize("inplace", [False, True])
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_inc_subtensor(self, dtype, inplace):
        for set_it in (False, True):
            x, y = sample((4, 5), dtype), sample((2, 1), dtype, 1)
            expected = x.copy()
            view = expected[1::2, ::-2]
            view[...] = y if set_it else view + y
            index = (("s", 1, None, ("i", 2)), ("s", None, None, -2))
            out = run_instruction("inc_subtensor", [x, y, integer(2)], [tensor(dtype, 2)], (index, set_it, inplace))
            assert_array_equal(out, expected)
            assert (out is x) == inplace

    def test_inc_subtensor_of_overlapping_memory(self):
        x = np.arange(6.0)
        run_instruction("inc_subtensor", [x, x[:-1]], [tensor("float64", 1)], ((("s", 1, None, None),), True, True))
        assert_array_equal(x, [0, 0, 1, 2, 3, 4])

    def test_inc_subtensor_refuses(self):
        x = np.zeros((4, 5))
        with pytest.raises(ValueError, match=r"could not broadcast input array from shape \(3,\) into shape \(5,\)"):
            run_instruction("inc_subtensor", [x, np.ones(3)], [tensor("float64", 2)], ((1,), False, True))
        with pytest.raises(IndexError):
            run_instruction("inc_subtensor", [x, np.ones(5)], [tensor("float64", 2)], ((4,), False, True))
        assert not x.any()

    @SETTINGS
    @given(st.data())
    def test_take(self, data):
        shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=5))
        dtype = data.draw(st.sampled_from(DTYPES))
        x = data.draw(st.sampled_from(list(variants(sample(shape, dtype)))))
        n = shape[0]
        index_dtype = data.draw(st.sampled_from(["int8", "int32", "int64", "uint8", "uint64"]))
        low = 0 if index_dtype.startswith("u") else -n
        index = np.array(data.draw(st.lists(st.integers(low, n - 1), max_size=6)), dtype=index_dtype)
        assert_array_equal(
            run_instruction("advanced_subtensor", [x, index], [tensor(dtype, len(shape))], ((0,),)), x[index.astype("int64")]
        )

    def test_rows_out_of_bounds(self):
        with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
            run_instruction("advanced_subtensor", [sample((3, 2)), integer([0, 3])], [tensor("float64", 2)], ((0,),))

    @pytest.mark.parametrize("inplace", [False, True])
    @pytest.mark.parametrize("dtype", ["float32", "int64", "complex64", "float16"])
    def test_advanced_inc_of_rows(self, dtype, inplace):
        index = integer([2, -1, 2, 0])
        for y in (sample((4, 3), dtype, 1), sample((1, 3), dtype, 2), sample((), dtype, 3)):
            for set_it in (False, True):
                x = sample((5, 3), dtype)
                expected = x.copy()
                if set_it:
                    expected[index] = y
                else:
                    np.add.at(expected, index, y)
                out = run_instruction("advanced_inc", [x, y, index], [tensor(dtype, 2)], ((0,), set_it, inplace))
                assert_array_equal(out, expected)
                assert (out is x) == inplace

    def test_advanced_inc_of_rows_checks_before_it_writes(self):
        x = np.zeros((3, 2))
        with pytest.raises(IndexError):
            run_instruction("advanced_inc", [x, np.ones((2, 2)), integer([0, 7])], [tensor("float64", 2)], ((0,), False, True))
        assert not x.any()

    @pytest.mark.parametrize("axes", [(0,), (1,), (0, 1), (1, 2), (0, 2), (0, 1, 2), (1, 3), (3,)])
    def test_advanced_subtensor(self, axes):
        x = sample((3, 4, 5, 2))
        rng = np.random.default_rng(0)
        shapes = [(2, 3), (3,), (2, 1)]
        index = [integer(rng.integers(-x.shape[a], x.shape[a], size=s)) for a, s in zip(axes, shapes, strict=False)]
        full = [slice(None)] * 4
        for a, i in zip(axes, index, strict=True):
            full[a] = i
        expected = x[tuple(full)]
        out = run_instruction("advanced_subtensor", [x, *index], [tensor("float64", expected.ndim)], (axes,))
        assert_array_equal(out, expected)
        for y in (sample(expected.shape, seed=3), np.array(2.0)):
            for set_it in (False, True):
                changed = x.copy()
                if set_it:
                    changed[tuple(full)] = y
                else:
                    np.add.at(changed, tuple(full), y)
                if set_it and y.ndim:
                    continue  # the order of repeated assignments is not NumPy's promise
                out = run_instruction("advanced_inc", [x, y, *index], [tensor("float64", 4)], (axes, set_it, False))
                assert_allclose(out, changed)

    def test_advanced_subtensor_refuses(self):
        x = sample((3, 4))
        with pytest.raises(IndexError, match="could not be broadcast"):
            run_instruction("advanced_subtensor", [x, integer([0, 1]), integer([0, 1, 2])], [tensor("float64", 1)], ((0, 1),))
        with pytest.raises(IndexError, match="index 4 is out of bounds for axis 1 with size 4"):
            run_instruction("advanced_subtensor", [x, integer([0, 1]), integer([0, 4])], [tensor("float64", 1)], ((0, 1),))

    def test_check_index(self):
        x = sample((2, 3))
        for bad in (integer([0, 3]), integer([-1, 0])):
            with pytest.raises(ValueError, match="y_i value out of bounds"):
                make("check_index", [bad, x], [], (1, "y_i value out of bounds")).call([bad, x])
        assert make("check_index", [integer([0, 2]), x], [], (1, "no")).call([integer([0, 2]), x]) == []


class TestOrder:
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_cumulate(self, dtype):
        x = sample((3, 4, 5), dtype) % np.array(7, dtype) if not dtype.startswith("c") else sample((3, 4, 5), dtype)
        for y in variants(x):
            for axis in range(3):
                out = run_instruction("cumulate", [y], [tensor(dtype, 3)], (axis, False))
                assert_array_equal(out, np.cumsum(x, axis, dtype=dtype))
                out = run_instruction("cumulate", [y], [tensor(dtype, 3)], (axis, True))
                assert_allclose(out, np.cumprod(x, axis, dtype=dtype), rtol=1e-3 if dtype == "float16" else 1e-6)
        wide = run_instruction("cumulate", [x], [tensor("complex128", 3)], (1, False))
        assert_allclose(wide, np.cumsum(x, 1, dtype="complex128"))

    def test_cumulate_of_nothing(self):
        for shape in [(0, 3), (3, 0), (1, 1)]:
            x = np.ones(shape)
            assert_array_equal(run_instruction("cumulate", [x], [tensor("float64", 2)], (0, False)), np.cumsum(x, 0))

    @SETTINGS
    @given(st.data())
    def test_nonzero(self, data):
        shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=5))
        dtype = data.draw(st.sampled_from([d for d in DTYPES if not d.startswith("complex")]))
        x = (sample(shape, "int8", data.draw(st.integers(0, 9))) % 3).astype(dtype)
        x = data.draw(st.sampled_from(list(variants(x))))
        out = make("nonzero", [x], [tensor("int64", 1)] * len(shape), (0,)).call([x])
        for got, expected in zip(out, np.nonzero(x), strict=True):
            assert_array_equal(got, expected)

    def test_nonzero_checks_a_mask(self):
        mask, x = np.ones((2, 3), bool), np.ones((4, 2, 5))
        with pytest.raises(
            IndexError, match="along axis 2; size of axis is 5 but size of corresponding boolean axis is 3"
        ):
            make("nonzero", [mask, x], [tensor("int64", 1)] * 2, (1,)).call([mask, x])


def matrices(dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.integers(-5, 5, size=(4, 6)).astype(dtype)
    if dtype.startswith("complex"):
        x += 1j * rng.integers(-5, 5, size=x.shape).astype(dtype)
    return x


@pytest.fixture(params=["blas", "loops"])
def products(request):
    """All products with the BLAS that was found, and with the runtime's own loops."""
    from theano.native.target.cpu.blas_library import load_blas

    if request.param == "loops":
        runtime.blas_set({}, "none")
        yield request.param
        load_blas()
    else:
        load_blas()
        yield request.param


@pytest.mark.usefixtures("products")
class TestProducts:
    @pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "bool"])
    def test_dot(self, dtype):
        x, y = matrices(dtype), matrices(dtype, 1).T
        for a in variants(x):
            for b in variants(np.ascontiguousarray(y)):
                assert_array_equal(run_instruction("dot", [a, b], [tensor(dtype, 2)]), x @ y)
            assert_array_equal(run_instruction("dot", [a, y[:, 0]], [tensor(dtype, 1)]), x @ y[:, 0])
            assert_array_equal(run_instruction("dot", [y[0], a], [tensor(dtype, 1)]), y[0] @ x)
            assert_array_equal(run_instruction("dot", [a[0], y[:, 1]], [tensor(dtype, 0)]), x[0] @ y[:, 1])

    def test_strides_that_blas_cannot_take(self):
        x, y = np.arange(24.0).reshape(4, 6), np.arange(30.0).reshape(6, 5)
        steps = np.broadcast_to(np.arange(6.0), (4, 6))
        for a in (x[::-1], x[:, ::-1], steps, np.repeat(x, 2, 1)[:, ::2]):
            assert_array_equal(run_instruction("dot", [a, y], [tensor("float64", 2)]), a @ y)
            assert_array_equal(run_instruction("dot", [a, y[::-1, 1]], [tensor("float64", 1)]), a @ y[::-1, 1])
        ones = np.broadcast_to(np.array(1.0), (6,))
        assert_array_equal(run_instruction("dot", [x, ones], [tensor("float64", 1)]), x @ ones)
        assert_array_equal(run_instruction("dot", [ones, ones], [tensor("float64", 0)]), 6)

    @pytest.mark.parametrize("m, n, k", [(0, 3, 2), (3, 0, 2), (3, 2, 0), (1, 1, 1), (1, 4, 3), (4, 1, 3), (3, 4, 1)])
    def test_degenerate_shapes(self, m, n, k):
        x, y, z = np.ones((m, k)), np.ones((k, n)), np.full((m, n), 2.0)
        assert_array_equal(run_instruction("dot", [x, y], [tensor("float64", 2)]), x @ y)
        out = run_instruction("gemm", [z, np.array(3.0), x, y, np.array(0.5)], [tensor("float64", 2)], (False,))
        assert_array_equal(out, 3 * (x @ y) + 1)

    @pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
    @pytest.mark.parametrize("inplace", [False, True])
    def test_gemm(self, dtype, inplace):
        x, y = matrices(dtype), np.ascontiguousarray(matrices(dtype, 1).T)
        for alpha, beta in [(1, 1), (2, 0), (-0.5, 3)]:
            scale = [np.array(v, dtype) for v in (alpha, beta)]
            expected = alpha * (x @ y) + beta * np.full((4, 4), 2, dtype)
            for layout in range(4):
                z = list(variants(np.full((4, 4), 2, dtype)))[layout]
                out = run_instruction("gemm", [z, scale[0], x, y, scale[1]], [tensor(dtype, 2)], (inplace,))
                assert_allclose(out, expected, rtol=1e-6)
                assert np.shares_memory(out, z) == inplace
                assert inplace or (z == 2).all()
                twice = run_instruction("dot22scalar", [x, y, scale[0]], [tensor(dtype, 2)])
                assert_allclose(twice, alpha * (x @ y), rtol=1e-6)

    def test_gemm_with_beta_zero_does_not_read_nan(self):
        z, one, zero = np.full((2, 2), np.nan), np.array(1.0), np.array(0.0)
        out = run_instruction("gemm", [z, one, np.eye(2), np.eye(2), zero], [tensor("float64", 2)], (True,))
        assert_array_equal(out, np.eye(2))

    @pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
    @pytest.mark.parametrize("inplace", [False, True])
    def test_gemv_and_ger(self, dtype, inplace):
        a = matrices(dtype)
        x, y = a[0] + 1, a[:, 0] - 2
        alpha, beta = np.array(2, dtype), np.array(3, dtype)
        for m in variants(a):
            target = y.copy()
            out = run_instruction("gemv", [target, alpha, m, x[::-1], beta], [tensor(dtype, 1)], (inplace,))
            assert_allclose(out, 2 * (a @ x[::-1]) + 3 * y, rtol=1e-6)
            assert (out is target) == inplace
            matrix = m.copy(order="K")
            out = run_instruction("ger", [matrix, alpha, y, x], [tensor(dtype, 2)], (inplace,))
            assert_allclose(out, a + 2 * np.outer(y, x), rtol=1e-6)
            assert (out is matrix) == inplace

    def test_batched_dot(self):
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=(3, 2, 4)).astype("float32"), rng.normal(size=(3, 4, 5)).astype("float32")
        assert_allclose(run_instruction("batched_dot", [x, y], [tensor("float32", 3)]), x @ y, rtol=1e-5)
        assert_allclose(run_instruction("batched_dot", [x[:, 0], y], [tensor("float32", 2)]), (x[:, :1] @ y)[:, 0], rtol=1e-5)
        last = run_instruction("batched_dot", [x, y[..., 0]], [tensor("float32", 2)])
        assert_allclose(last, (x @ y[..., :1])[..., 0], rtol=1e-5)

    def test_shape_mismatch(self):
        x, y = np.ones((2, 3)), np.ones((4, 5))
        with pytest.raises(ValueError, match=r"x has 3 cols \(and 2 rows\) but y has 4 rows \(and 5 cols\)"):
            run_instruction("dot", [x, y], [tensor("float64", 2)])
        with pytest.raises(ValueError, match="not aligned"):
            run_instruction("dot", [x, y[:, 0]], [tensor("float64", 1)])
        z, one = np.ones((2, 2)), np.array(1.0)
        with pytest.raises(ValueError, match=r"accumulator has shape \(2, 2\), the product \(2, 5\)"):
            run_instruction("gemm", [z, one, x, np.ones((3, 5)), one], [tensor("float64", 2)], (True,))
        with pytest.raises(ValueError, match="one dtype"):
            run_instruction("dot", [x, np.ones((3, 2), "float32")], [tensor("float64", 2)])


class TestLargeProducts:
    """Products that are cut into parts over the threads."""

    @pytest.fixture(autouse=True, params=[1, 3])
    def threads(self, request):
        before = runtime.get_threads()
        runtime.set_threads(request.param)
        yield
        runtime.set_threads(before)

    @pytest.mark.parametrize("shape", [(700, 130, 90), (130, 700, 90), (513, 300, 40), (40, 257, 1000)])
    def test_dot_of_all_layouts(self, shape):
        m, n, k = shape
        rng = np.random.default_rng(0)
        x, y = rng.integers(-5, 5, (m, k)).astype("float32"), rng.integers(-5, 5, (k, n)).astype("float32")
        expected = x.astype("int64") @ y.astype("int64")
        for a in (x, np.asfortranarray(x)):
            for b in (y, np.asfortranarray(y)):
                assert_array_equal(run_instruction("dot", [a, b], [tensor("float32", 2)]), expected)
                z = np.asfortranarray(np.ones((m, n), "float32"))
                one = np.array(1, "float32")
                out = run_instruction("gemm", [z, one, a, b, one], [tensor("float32", 2)], (True,))
                assert_array_equal(out, expected + 1)
                assert np.shares_memory(out, z)

    @pytest.mark.parametrize("m, n", [(1000, 333), (333, 1000), (5000, 40), (40, 5000)])
    def test_gemv_of_all_layouts(self, m, n):
        rng = np.random.default_rng(0)
        a, x, y = (rng.integers(-5, 5, s).astype("float64") for s in ((m, n), n, m))
        one = np.array(1.0)
        for matrix in (a, np.asfortranarray(a)):
            for vector in (x, np.repeat(x, 2)[::2]):
                for target in (y.copy(), y[::-1].copy()[::-1], np.repeat(y, 2)[::2]):
                    out = run_instruction("gemv", [target, one, matrix, vector, one], [tensor("float64", 1)], (True,))
                    assert_array_equal(out, a @ x + y)

    def test_blas_threads_are_given_back(self):
        import ctypes

        from theano.native.target.cpu import blas_library

        _, pointers = blas_library.find_blas()
        if "get_num_threads" not in pointers:
            pytest.skip("this BLAS has no number of threads")
        count = ctypes.CFUNCTYPE(ctypes.c_int)(pointers["get_num_threads"])
        before, x = count(), np.ones((600, 600))
        p = make("dot", [x, x], [tensor("float64", 2)])
        workers = [threading.Thread(target=lambda: [p.call([x, x]) for _ in range(5)]) for _ in range(4)]
        for w in workers:
            w.start()
        for w in workers:
            w.join()
        assert count() == before


def test_bad_library_flags():
    from theano.native.target.cpu.blas_library import find_blas

    with pytest.raises(OSError, match="no_such_blas"):
        find_blas("-lno_such_blas")


def test_scipys_blas_is_found_and_works(monkeypatch):
    from theano.native.target.cpu import blas_library

    with monkeypatch.context() as without_numpys:
        without_numpys.setattr(blas_library, "numpys_routines", lambda names: None)
        description, found = blas_library.find_blas()
    runtime.blas_set(found, description)
    try:
        x = np.arange(12.0, dtype="float32").reshape(3, 4)
        assert_array_equal(run_instruction("dot", [x, x.T], [tensor("float32", 2)]), x @ x.T)
        assert runtime.blas_name() == "SciPy's cython_blas"
    finally:
        blas_library.load_blas()
