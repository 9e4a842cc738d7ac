"""MRG_RandomStreams draws the numbers of Theano 1.0.5, which were recorded there, natively and in Python."""

import zlib

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.sandbox.rng_mrg import M1, MRG_RandomStreams, mrg_uniform

SIZES = [*range(1, 41), 50, 64, 99, 100, 101, 127, 128, 200]
SEEDS = {"same": 123, "six": [1, 2, 3, 4, 5, 6], "largest": 2147462578}

# The checksum of two draws in a row.
EXACT = {
    "same": {
        "uniform": 0x87CA4A6C, "float16": 0xE9F2C0D0, "constant size": 0xF631017A, "NumPy's integers": 0x07664B36,
        "mixed size": 0x8CDC7F95, "binomial": 0x289B9A02, "multinomial 1": 0x8F35D182, "multinomial 3": 0xFACFAC37,
        "choice 1": 0xE17BA780, "choice 3": 0x4C70A926, "choice 5": 0xF247BEFD,
    },
    "six": {
        "uniform": 0x85F1D9DC, "float16": 0x28B08AA5, "constant size": 0x469291CA, "NumPy's integers": 0xBB70AD96,
        "mixed size": 0x5DCDFCB9, "binomial": 0x773CBA1B, "multinomial 1": 0x4D992183, "multinomial 3": 0xC8707342,
        "choice 1": 0xF7B783A4, "choice 3": 0x5E84B4A6, "choice 5": 0x24E5F8D6,
    },
    "largest": {
        "uniform": 0x0C93A477, "float16": 0x214AAAE8, "constant size": 0xEA3E456C, "NumPy's integers": 0xE021A5EE,
        "mixed size": 0x3DF4B283, "binomial": 0x20E40A08, "multinomial 1": 0x664AFB97, "multinomial 3": 0x41AAB925,
        "choice 1": 0xB7BD973E, "choice 3": 0x920BAE59, "choice 5": 0xE6C71881,
    },
}  # fmt: skip

# Of the second draw the first number, the last one, and the sum of all without their signs.
NORMAL = {
    ("same", (1,)): (2.895945045202018, 2.895945045202018, 2.895945045202018),
    ("same", (29,)): (-2.6724939627821582, 1.6888892799386712, 57.57708670890683),
    ("same", (31,)): (1.9437839513856865, -0.7207460169644602, 64.61411132427553),
    ("same", (200,)): (2.9567487017674288, 0.7948998993792937, 340.38755973007875),
    ("six", (30,)): (6.179055604515804, -2.72209365067355, 50.497884331286755),
    ("six", (7, 13)): (6.910034061466079, 1.297831359731089, 166.07464883528678),
    ("six", (200,)): (-6.202444312335796, -1.812102370128342, 348.2401377524017),
    ("largest", (30,)): (1.6434671168763375, 1.0732590875252137, 44.877427678619235),
}
TRUNCATED = {
    ("same", (1,)): (3.223823498265082, 3.223823498265082, 3.223823498265082),
    ("same", (29,)): (-3.106640987544664, -3.1743811859487567, 50.03222096148215),
    ("same", (31,)): (2.1413617921152106, 1.720729817335991, 59.48167685585378),
    ("same", (200,)): (3.2929479670691406, -3.5146187564254303, 349.02961561431886),
    ("six", (30,)): (1.5145018029567228, -2.0478522381650923, 51.63611799346962),
    ("six", (7, 13)): (0.008293889813657696, -1.5102884998156965, 172.94300940932715),
    ("six", (200,)): (0.8108809928400253, 1.9037450995124294, 370.08430487549754),
    ("largest", (30,)): (1.7999474293779472, -1.6938122416514902, 48.26134301150976),
}


def draws(seed):
    """The expressions of a seed by their names in the table, each of streams of its own."""

    def rng():
        return MRG_RandomStreams(seed)

    p = np.random.RandomState(1).rand(8, 5)
    p /= p.sum(1, keepdims=True)
    with theano.configparser.change_flags(floatX="float64"):
        found = {
            "float16": [rng().uniform((7, 9), low=-1, high=2, dtype="float16")],
            "constant size": [rng().uniform(T.constant(np.array([3, 4])))],
            "NumPy's integers": [rng().uniform((np.int64(30), np.int64(2)))],
            "mixed size": [rng().uniform((3, T.constant(np.int64(12))), ndim=2)],
            "binomial": [rng().binomial((20, 10), p=0.3)],
            "uniform": [rng().uniform((n,)) for n in SIZES],
        }
        found |= {f"multinomial {n}": [rng().multinomial(pvals=p, n=n)] for n in (1, 3)}
        found |= {f"choice {n}": [rng().choice(size=n, p=p, replace=False)] for n in (1, 3, 5)}
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_draws_are_the_originals_to_the_bit(seed):
    expressions = draws(SEEDS[seed])
    f = theano.function([], [v for group in expressions.values() for v in group])
    one, two = f(), f()
    position = 0
    for name, group in expressions.items():
        values = [np.ascontiguousarray(x) for k in range(position, position + len(group)) for x in (one[k], two[k])]
        position += len(group)
        assert zlib.crc32(b"".join(x.tobytes() for x in values)) == EXACT[seed][name], name


@pytest.mark.parametrize("method, recorded", [("normal", NORMAL), ("truncated_normal", TRUNCATED)])
def test_normals_are_the_originals_to_rounding(method, recorded):
    variables = [
        getattr(MRG_RandomStreams(SEEDS[seed]), method)(size, avg=0.5, std=2.0, dtype="float64") for seed, size in recorded
    ]
    f = theano.function([], variables)
    f()
    for (case, expected), x in zip(recorded.items(), f(), strict=True):
        x = x.ravel()
        assert np.allclose([x[0], x[-1], np.abs(x).sum()], expected, rtol=1e-12, atol=1e-14), case


def test_a_large_sample_is_the_originals():
    f = theano.function([], MRG_RandomStreams(5).uniform((40001,), dtype="float64"))
    assert zlib.crc32(f().tobytes() + f().tobytes()) == 0xE808C331


def published(states, n, dtype):
    """A sample in NumPy's integers, and the states after it: the generator as published."""
    states, out = states.astype("int64"), np.empty(n, dtype="int64")
    m1, m2 = int(M1), 2147462579
    for start in range(0, n, len(states)):
        s = states[: n - start]
        x = ((s[:, 1] << 22) + (s[:, 2] << 7) + s[:, 2]) % m1
        y = ((s[:, 3] << 15) + (s[:, 5] << 15) + s[:, 5]) % m2
        s[:, 1:3], s[:, 4:6] = s[:, 0:2].copy(), s[:, 3:5].copy()
        s[:, 0], s[:, 3] = x, y
        out[start : start + len(s)] = np.where(x > y, x - y, x - y + m1)
    if dtype == "float64":
        return out / 2.0**31, states
    if dtype == "float32":
        return out.astype("float32") * np.float32(4.6566126e-10), states
    return (((out & 0x7FFF) + 1) * float(np.float16(3.0458e-05))).astype("float16"), states


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("streams", [1, 5, 16, 100, 1025])
def test_any_number_of_streams_gives_any_number_of_samples(dtype, streams):
    rng = MRG_RandomStreams(77)
    state = theano.shared(rng.get_substream_rstates(streams, dtype))
    n = T.lscalar()
    op = mrg_uniform(T.TensorType(dtype, (False,)))
    new_state, sample = op(state, n.dimshuffle("x"))
    f = theano.function([n], sample, updates={state: new_state})
    in_python = theano.function([n], [new_state, sample], mode=theano.Mode(linker="py", optimizer=None))
    for count in (0, 1, 15, 16, 17, 99, 512, 513, 1030, 6 * 1025, 13 * 1025 + 3):
        before = state.get_value()
        values, after = published(before, count, dtype)
        shown = in_python(count)
        assert np.array_equal(f(count), values) and np.array_equal(state.get_value(), after)
        assert np.array_equal(shown[0], after) and np.array_equal(shown[1], values)


def test_the_number_of_threads_changes_nothing():
    drawn = []
    for threads in (1, 3):
        with theano.configparser.change_flags(threads=threads):
            f = theano.function([], MRG_RandomStreams(9).uniform((300, 300)))
            drawn.append([f(), f()])
    assert np.array_equal(*drawn)


def test_states_may_lie_in_any_way():
    states = MRG_RandomStreams(4).get_substream_rstates(7, "float64")
    rstate = T.imatrix()
    op = mrg_uniform(T.TensorType("float64", (False,)))
    f = theano.function([rstate], op(rstate, np.array([20])))
    new, sample = f(states)
    wide = np.zeros((14, 12), dtype="int32")
    wide[::2, ::-2] = states
    for view in (np.asfortranarray(states), wide[::2, ::-2]):
        kept = view.copy()
        assert all(map(np.array_equal, f(view), (new, sample))) and np.array_equal(view, kept)


@pytest.mark.parametrize("sizes, message", [([-1], "negative"), ([2, 2], "length"), ([2**16, 2**16], "samples")])
def test_a_size_that_cannot_be_leaves_the_states(sizes, message):
    rng = MRG_RandomStreams(4)
    size = T.lvector()
    sample = rng.uniform(size, ndim=2 if sizes[0] > 2 else 1)
    f = theano.function([size], sample)
    state = rng.state_updates[0][0]
    before = state.get_value()
    with pytest.raises(ValueError, match=message):
        f(sizes)
    assert np.array_equal(state.get_value(), before)
