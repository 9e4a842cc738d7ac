"""Everything that walks dimensions, on arrays of 0 to 32 dimensions; beyond them, in Python.

At most five dimensions of an array are longer than 1: they lie at its beginning, at its end, or apart, and no two of them are
one run in memory.
"""

import numpy as np
import pytest

import theano
import theano.tensor as tt
from theano import typed_list
from theano.tensor import TensorType
from theano.tensor.signal.pool import pool_2d
from theano.tensor.sort import argsort, sort

PLACES = ("first", "last", "apart")
RANKS = [(n, where) for n in (*range(6), 8, 15, 16, 17, 24, 31, 32) for where in (PLACES if n > 5 else PLACES[:1])]
more_than_32 = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="NumPy 1 has arrays of at most 32 dimensions"
)


def long_dims(rank, where):
    count = min(rank, 5)
    if where == "apart" and count > 1:
        return [k * (rank - 1) // (count - 1) for k in range(count)]
    return list(range(count)) if where == "first" else list(range(rank - count, rank))


def array(rank, where):
    """Small integers, strided along each long dimension."""
    shape = [6 if d in long_dims(rank, where) else 1 for d in range(rank)]
    full = np.random.default_rng(rank).integers(-9, 9, shape).astype("float64")
    return full[tuple(slice(None, None, 2) if n > 1 else slice(None) for n in shape)]


def assert_all_equal(value, cases):
    """Compile all expressions of `cases` (name: function of a variable, expected value) as one function and compare."""
    x = TensorType(value.dtype.name, (False,) * value.ndim)()
    f = theano.function([x], [make(x) for make, _ in cases.values()], on_unused_input="ignore")
    for (name, (_, expected)), found in zip(cases.items(), f(value), strict=True):
        assert np.asarray(found).shape == np.asarray(expected).shape, name
        np.testing.assert_array_equal(found, expected, err_msg=name)


def test_a_sum_over_32_strided_dimensions():
    x = TensorType("float64", (False,) * 32)()
    value = np.arange(4.0**8).reshape((4,) * 8 + (1,) * 24)[(slice(None, None, 2),) * 8]
    assert theano.function([x], x.sum())(value) == 5592320


@pytest.mark.parametrize(("rank", "where"), RANKS)
def test_elementwise_work_and_copies(rank, where):
    v = array(rank, where)
    dense = np.ascontiguousarray(v[(slice(None, None, -1),) * rank])
    order = list(reversed(range(rank)))
    assert_all_equal(
        v,
        {
            "add": (lambda x: x + 2 * tt.constant(dense), v + 2 * dense),
            "float32": (lambda x: tt.cast(x, "float32"), v.astype("float32")),
            "int8": (lambda x: tt.cast(x, "int8"), v.astype("int8")),
            "complex128": (lambda x: tt.cast(x, "complex128") * 1j, v * 1j),
            "compare": (lambda x: x < tt.constant(dense), v < dense),
            "turned": (lambda x: x.dimshuffle(*order) * 2, v.transpose(order) * 2),
            "copy": (tt.tensor_copy, v),
            "with a number": (lambda x: x + x.sum(), v + v.sum()),
            "switch": (lambda x: tt.switch(x > 0, x, -1), np.where(v > 0, v, -1)),
            "filled": (lambda x: tt.zeros_like(x) + 3, np.full(v.shape, 3.0)),
        },
    )


@pytest.mark.parametrize(("rank", "where"), RANKS)
def test_reductions(rank, where):
    v = array(rank, where)
    long = long_dims(rank, where)
    cases = {
        "sum": (lambda x: x.sum(), v.sum()),
        "max": (lambda x: x.max(), v.max()),
        "any": (lambda x: (x > 8).any(), (v > 8).any()),
        "argmax": (lambda x: x.argmax(), v.argmax()),
        "sum of squares": (lambda x: (x**2).sum(), (v**2).sum()),
    }
    for axes in {tuple(long[:1]), tuple(long[-1:]), tuple(long[1:3]), tuple(long[::2]), tuple(range(rank // 2))} - {()}:
        cases[f"sum over {axes}"] = (lambda x, a=axes: x.sum(axis=a), v.sum(axis=axes))
        cases[f"min over {axes}"] = (lambda x, a=axes: x.min(axis=a, keepdims=True), v.min(axis=axes, keepdims=True))
        cases[f"argmax over {axes[0]}"] = (lambda x, a=axes: x.argmax(axis=a[0]), v.argmax(axis=axes[0]))
        if len(axes) == 1:
            cases[f"row {axes}"] = (
                lambda x, a=axes: (x - x.max(axis=a, keepdims=True)).sum(axis=a),
                (v - v.max(axis=axes, keepdims=True)).sum(axis=axes),
            )
    assert_all_equal(v, cases)


@pytest.mark.parametrize(("rank", "where"), RANKS)
def test_views_and_shapes(rank, where):
    v = array(rank, where)
    order = list(np.random.default_rng(rank).permutation(rank))
    turned = v.transpose(order)
    cases = {
        "dimshuffle": (lambda x: x.dimshuffle(*order), turned),
        "shape": (lambda x: x.shape, v.shape),
        "flat": (lambda x: x.flatten(), v.ravel()),
        "flat of turned": (lambda x: x.dimshuffle(*order).flatten(), turned.ravel()),
        "reshape": (lambda x: (x.dimshuffle(*order) + 0).reshape(turned.shape[::-1]), turned.reshape(turned.shape[::-1])),
        "new shape": (lambda x: x.flatten().reshape(turned.shape), v.reshape(turned.shape)),
        "specified": (lambda x: tt.specify_shape(x, v.shape), v),
        "alloc": (lambda x: tt.alloc(x, *v.shape), v),
    }
    if rank:
        steps = tuple(slice(None, None, -1) if k % 2 else slice(0, 2) for k in range(rank))
        cases |= {
            "slices": (lambda x: x[steps], v[steps]),
            "one item": (lambda x: x[(0,) * rank], v[(0,) * rank]),
            "last index": (lambda x: x[..., 0], v[..., 0]),
            "squeezed": (lambda x: x[tuple(slice(None) if n > 1 else 0 for n in v.shape)], v.squeeze()),
            "unbroadcast": (lambda x: tt.unbroadcast(x.sum(axis=0, keepdims=True), 0), v.sum(axis=0, keepdims=True)),
        }
    if rank > 1:
        cases["diagonal"] = (lambda x: x.diagonal(0, 0, rank - 1), v.diagonal(0, 0, rank - 1))
    assert_all_equal(v, cases)


@pytest.mark.parametrize(("rank", "where"), [r for r in RANKS if r[0]])
def test_join_split_and_repeat(rank, where):
    v = array(rank, where)
    cases = {}
    for axis in {0, rank // 2, rank - 1}:
        n = v.shape[axis]
        parts = [slice(None)] * rank
        parts[axis] = slice(1, None)
        cases |= {
            f"join {axis}": (lambda x, a=axis: tt.join(a, x, 2 * x, x), np.concatenate([v, 2 * v, v], axis)),
            f"split {axis}": (
                lambda x, a=axis, n=n: tt.split(tt.join(a, x, 2 * x), [n, n], 2, axis=a)[1] + 1, 2 * v + 1),
            f"repeat {axis}": (lambda x, a=axis: tt.repeat(x, 2, axis=a), np.repeat(v, 2, axis)),
            f"rest {axis}": (lambda x, p=tuple(parts): x[p].sum(), v[tuple(parts)].sum()),
        }  # fmt: skip
    if rank < 32:
        cases["stack"] = (lambda x: tt.stack([x, x + 1]), np.stack([v, v + 1]))
    assert_all_equal(v, cases)


@pytest.mark.parametrize(("rank", "where"), [r for r in RANKS if r[0]])
def test_gather_scatter_and_masks(rank, where):
    v = array(rank, where)
    long = long_dims(rank, where)
    a, b = long[0], long[-1]
    picked = [0, 2, 1, 2]
    index = [slice(None)] * rank
    index[a] = picked
    both = [slice(None)] * rank
    both[a] = both[b] = np.array(picked)
    pair = [slice(None)] * rank
    pair[a] = 1
    ones, twice, scattered = v.copy(), v.copy(), v.copy()
    ones[tuple(pair)] += 1
    twice[tuple(pair)] = 5
    np.add.at(scattered, tuple(index), 1)
    row = [slice(None)] * rank
    row[a] = slice(1, 3)
    sliced = v.copy()
    sliced[tuple(row)] += v[tuple(row)] * 2
    assert_all_equal(
        v,
        {
            "take": (lambda x: x.take(picked, axis=a), v.take(picked, axis=a)),
            "take flat": (lambda x: x.take(picked), v.take(picked)),
            "index": (lambda x: x[tuple(index)], v[tuple(index)]),
            "two indices": (lambda x: x[tuple(both)], v[tuple(both)]),
            "sum of a gather": (lambda x: (x[tuple(index)] * 2).sum(axis=b), (v[tuple(index)] * 2).sum(axis=b)),
            "mask": (lambda x: x[x > 0], v[v > 0]),
            "nonzero": (lambda x: tt.nonzero(x > 0)[0], np.nonzero(v > 0)[0]),
            "inc": (lambda x: tt.inc_subtensor(x[tuple(pair)], 1), ones),
            "set": (lambda x: tt.set_subtensor(x[tuple(pair)], 5), twice),
            "inc slice": (lambda x: tt.inc_subtensor(x[tuple(row)], x[tuple(row)] * 2), sliced),
            "inc at indices": (lambda x: tt.inc_subtensor(x[tuple(index)], 1), scattered),
            "set by mask": (lambda x: tt.set_subtensor(x[x > 0], 0), np.where(v > 0, 0, v)),
            "gradient": (lambda x: tt.grad((x[tuple(index)] ** 2).sum(), x), 2 * v * (scattered - v)),
        },
    )


@pytest.mark.parametrize(("rank", "where"), [r for r in RANKS if r[0]])
def test_sort_and_cumulate(rank, where):
    v = array(rank, where)
    cases = {"sorted flat": (lambda x: sort(x, None), np.sort(v, None))}
    for axis in {0, rank // 2, rank - 1}:
        cases |= {
            f"sort {axis}": (lambda x, a=axis: sort(x, a), np.sort(v, axis)),
            f"argsort {axis}": (lambda x, a=axis: argsort(x, a, kind="mergesort"), np.argsort(v, axis, kind="stable")),
            f"cumsum {axis}": (lambda x, a=axis: tt.cumsum(x, a), np.cumsum(v, axis)),
            f"diff {axis}": (lambda x, a=axis: tt.extra_ops.diff(x, axis=a), np.diff(v, axis=axis)),
        }
    assert_all_equal(v, cases)


@pytest.mark.parametrize(("rank", "where"), [r for r in RANKS if r[0] > 1])
def test_filled_diagonals(rank, where):
    v = array(rank, where)
    cube = np.zeros((2 if rank < 9 else 1,) * rank)[(slice(None, None, -1),) * rank]
    filled = cube.copy()
    np.fill_diagonal(filled, 3)
    cases = {"cube": (lambda x: tt.fill_diagonal(tt.constant(cube) + x.sum() * 0, 3), filled)}
    if rank == 2:
        cases["matrix"] = (lambda x: tt.fill_diagonal(x, 3), np.where(np.eye(*v.shape, dtype=bool), 3, v))
    assert_all_equal(v, cases)


@pytest.mark.parametrize(("rank", "where"), [r for r in RANKS if r[0] > 1])
def test_pooling(rank, where):
    """Windows of two by two in the last dimensions, the last of which may be cut off."""
    v = array(rank, where)
    first = [np.arange(0, n, 2) for n in v.shape[-2:]]
    largest, total = (
        function.reduceat(function.reduceat(v, first[0], axis=-2), first[1], axis=-1) for function in (np.maximum, np.add)
    )
    spread = largest.repeat(2, -2).repeat(2, -1)[..., : v.shape[-2], : v.shape[-1]]
    assert_all_equal(
        v,
        {
            "max": (lambda x: pool_2d(x, (2, 2), ignore_border=False), largest),
            "sum": (lambda x: pool_2d(x, (2, 2), ignore_border=False, mode="sum"), total),
            "gradient of max": (lambda x: tt.grad(pool_2d(x, (2, 2), ignore_border=False).sum(), x), v == spread),
            "gradient of sum": (
                lambda x: tt.grad(tt.sqr(pool_2d(x, (2, 2), ignore_border=False, mode="sum")).sum(), x),
                2 * total.repeat(2, -2).repeat(2, -1)[..., : v.shape[-2], : v.shape[-1]],
            ),
        },
    )


@pytest.mark.parametrize(("rank", "where"), RANKS)
def test_lists(rank, where):
    v = array(rank, where)
    order = tuple(reversed(range(rank)))

    def parts(x):
        return typed_list.make_list([x, x.dimshuffle(order).dimshuffle(order) * 2 + 1, x + 1])

    assert_all_equal(
        v,
        {
            "element": (lambda x: parts(x)[1], 2 * v + 1),
            "appended": (lambda x: parts(x).append(x * 3)[3], v * 3),
            "turned": (lambda x: parts(x).reverse()[0], v + 1),
            "inserted": (lambda x: parts(x).insert(1, -x)[1], -v),
            "count": (lambda x: parts(x).count(x + 1), 1),
            "position": (lambda x: parts(x).ind(x + 1), 2),
            "removed": (lambda x: typed_list.length(parts(x).remove(x)), 2),
        },
    )


@pytest.mark.parametrize(("rank", "where"), [r for r in RANKS if r[0]])
def test_scan(rank, where):
    v = array(rank, where)
    steps = TensorType("float64", (False,) * rank)()
    state, _ = theano.scan(lambda s, h: h * 0.5 + s, sequences=steps, outputs_info=tt.zeros_like(steps[0]))
    turned, _ = theano.scan(lambda s: s.dimshuffle(*reversed(range(rank - 1))).cumsum(axis=None), sequences=steps)
    found = theano.function([steps], [state, turned])(v)
    expected, h = [], np.zeros(v.shape[1:])
    for s in v:
        h = h * 0.5 + s
        expected.append(h)
    np.testing.assert_array_equal(found[0], expected)
    np.testing.assert_array_equal(found[1], [s.T.cumsum() for s in v])


@pytest.mark.parametrize(("rank", "where"), [r for r in RANKS if r[0]])
def test_shared_state(rank, where):
    v = array(rank, where)
    state = theano.shared(v.copy(), borrow=True)
    f = theano.function([], state.sum(), updates=[(state, tt.inc_subtensor(state[:1], 1) * 2)])
    expected = v.copy()
    for _ in range(2):
        assert f() == expected.sum()
        expected[:1] += 1
        expected *= 2
    np.testing.assert_array_equal(state.get_value(), expected)


@more_than_32
@pytest.mark.parametrize("rank", [33, 40])
def test_beyond_32_dimensions_nodes_run_in_python(rank):
    v = array(rank, "apart")
    b = long_dims(rank, "apart")[-1]
    row = tuple([slice(None)] * b + [slice(1, 3)])
    state = theano.shared(v)
    cases = {
        "exp": (lambda x: tt.exp(x) - tt.exp(x) + x, v),
        "sum": (lambda x: x.sum(), v.sum()),
        "sum over one": (lambda x: x.sum(axis=b), v.sum(axis=b)),
        "reversed": (lambda x: x.dimshuffle(*reversed(range(rank))), v.T),
        "flat": (lambda x: x.flatten(), v.ravel()),
        "back": (lambda x: x.flatten().reshape(v.shape, ndim=rank), v),
        "shape": (lambda x: x.shape, v.shape),
        "join": (lambda x: tt.join(0, x, x), np.concatenate([v, v])),
        "slice": (lambda x: x[row], v[row]),
        "take": (lambda x: x.take([2, 1], axis=b), v.take([2, 1], axis=b)),
        "cumsum": (lambda x: tt.cumsum(x, b), np.cumsum(v, b)),
        "argmax": (lambda x: x.argmax(axis=b), v.argmax(axis=b)),
        "state": (lambda x: x + state, 2 * v),
    }
    assert_all_equal(v, cases)


@more_than_32
def test_a_dimension_more_than_the_runtime_knows():
    v = array(32, "apart")
    assert_all_equal(
        v,
        {
            "new axis": (lambda x: (x.dimshuffle("x", *range(32)) * 2).sum(axis=0), v * 2),
            "two": (lambda x: x[None].shape, (1, *v.shape)),
        },
    )
