"""Programs that overwrite shared variables: what keeping them whole costs, and that a failing call leaves them as they were."""

import numpy as np
import pytest
from vm_tools import runtime

import theano
import theano.tensor as tt
from theano import distributed, sparse, typed_list
from theano.compile.ops import as_op
from theano.ifelse import ifelse
from theano.native import instructions as vm
from theano.sandbox.rng_mrg import MRG_RandomStreams
from theano.tensor.shared_randomstreams import RandomStreams
from theano.tensor.signal.pool import AveragePoolGrad, pool_2d

LENGTH = 1_000_000
BYTES = 8 * LENGTH


@as_op(itypes=[tt.dvector], otypes=[tt.dvector])
def python_op(x):
    return x + 1


@as_op(itypes=[tt.lvector], otypes=[tt.lvector])
def failing(x):
    raise RuntimeError("always")


class OverwriteBoth(theano.Op):
    """Adds 1 to two vectors in place."""

    __props__ = ()
    destroy_map = {0: [0], 1: [1]}

    def make_node(self, a, b):
        return theano.Apply(self, [a, b], [a.type(), b.type()])

    def perform(self, node, inputs, output_storage):
        for value, storage in zip(inputs, output_storage, strict=True):
            value += 1
            storage[0] = value


def updated(make_output, inputs=(), **kwargs):
    """A function that adds 1 to the first elements of a long shared vector, and makes something of the new vector."""
    w = theano.shared(np.arange(float(LENGTH)), borrow=True)
    new = tt.inc_subtensor(w[:2], 1)
    return w, theano.function(list(inputs), make_output(new), updates={w: new}, **kwargs)


def most_bytes(f, *args):
    """Memory that a call takes beyond what there was before."""
    f(*args)
    runtime.pool_trim()
    before = runtime.pool_stats()["in_use"]
    f(*args)
    return runtime.pool_stats()["peak"] - before


def square(new):
    return new[:4].reshape((2, 2)) + np.array([[5, 1], [1, 7]])


def positions(new):
    return tt.cast(new[2:5] % 3, "int64")


def image(new):
    return new[:9].reshape((1, 1, 3, 3))


def sparse_matrix(new):
    return sparse.CSR(new[:3], [0, 2, 1], [0, 1, 2, 3], (3, 3))


def parts(new):
    return typed_list.make_list([new[:3], new[1:4]])


def at(new):
    return tt.cast(new[0] % 2, "int64")


MATRIX = np.arange(6.0).reshape(3, 2)

# What uses each instruction on a few elements of the new vector.
USES = {
    "jump": lambda new: ifelse(new[3] > 2, tt.sort(new[:3]), new[:3]),
    "jump_if_false": lambda new: ifelse(new[3] > 2, tt.sort(new[:3]), new[:3]),
    "thunk": lambda new: python_op(new[:3]),
    "call": lambda new: tt.scalar_from_tensor(new[1]),
    "scan": lambda new: theano.scan(lambda a, s: tt.tanh(s * a), sequences=new[:3], outputs_info=tt.ones(()))[0],
    "guard": lambda new: tt.nonzero(new[:3])[0],
    "view": lambda new: theano.compile.ViewOp()(new[:3]),
    "copy": lambda new: tt.extra_ops.DiffOp(n=0)(new[:3]),
    "deepcopy": lambda new: new[:3].copy(),
    "contiguous": lambda new: tt.extra_ops.cpu_contiguous(new[:6:2]),
    "cast_copy": lambda new: tt.dot(new[:3], np.arange(3)),
    "dimshuffle": lambda new: tt.dot(new[:3].dimshuffle("x", 0), MATRIX),
    "subtensor": lambda new: new[:3],
    "reshape": lambda new: new[:4].reshape((2, 2)),
    "diagonal": lambda new: tt.diagonal(square(new)),
    "specify_shape": lambda new: tt.specify_shape(new[:3], (3,)),
    "rebroadcast": lambda new: tt.addbroadcast(new[:1], 0),
    "assert_op": lambda new: tt.opt.Assert()(new[:3], new[0] >= 0),
    "check_index": lambda new: tt.nnet.crossentropy_softmax_1hot(square(new), positions(new)[:2] % 2)[0],
    "check_bounds": lambda new: tt.exp(tt.as_tensor(MATRIX)[positions(new)]) + new[:3].dimshuffle(0, "x"),
    "shape_i": lambda new: new[:3].shape[0],
    "shape": lambda new: theano.compile.Shape()(new[:3]),
    "makevector": lambda new: tt.stack([new[0], new[1]]),
    "alloc": lambda new: tt.alloc(new[1], 3),
    "alloc_empty": lambda new: tt.AllocEmpty("float64")(positions(new)[0]),
    "diagonal_matrix": lambda new: tt.eye(positions(new)[1]),
    "fill_diagonal": lambda new: tt.fill_diagonal(square(new), new[1]),
    "arange": lambda new: tt.arange(new[1]),
    "join": lambda new: tt.concatenate([new[:3], new[1:2]]),
    "split": lambda new: tt.split(new[:3], [1, 2], 2)[0],
    "inc_subtensor": lambda new: tt.inc_subtensor(new[:3][:2], 1),
    "advanced_subtensor": lambda new: new[positions(new)],
    "advanced_inc": lambda new: tt.inc_subtensor(tt.zeros(3)[positions(new)], 1),
    "nonzero": lambda new: tt.nonzero(new[:3])[0],
    "masked": lambda new: new[:3][new[:3] > 2],
    "choose": lambda new: tt.choose(positions(new), [1, 2, 3]),
    "kernel": lambda new: tt.exp(-new[:3]),
    "triangle": lambda new: tt.tri(positions(new)[0], 3),
    "indexed_kernel": lambda new: tt.exp(tt.as_tensor(MATRIX)[positions(new)]),
    "special": lambda new: tt.erfinv(new[:3] / 9),
    "moments": lambda new: tt.var(new[:3]),
    "cumulate": lambda new: tt.cumsum(new[:3]),
    "sort": lambda new: tt.sort(new[:3]),
    "argsort": lambda new: tt.argsort(new[:3]),
    "topk": lambda new: tt.topk(new[:3], 2),
    "searchsorted": lambda new: tt.extra_ops.searchsorted(np.arange(5.0), new[:3]),
    "unravel_index": lambda new: tt.unravel_index(positions(new), (2, 2))[0],
    "ravel_index": lambda new: tt.ravel_multi_index((positions(new), positions(new)), (3, 3)),
    "permute_rows": lambda new: tt.basic.permute_row_elements(new[:3], positions(new) * 0 + np.arange(3)),
    "repeat_positions": lambda new: tt.repeat(new[:3], positions(new)),
    "count_length": lambda new: tt.extra_ops.bincount(positions(new)),
    "neighbours": lambda new: tt.nnet.neighbours.images2neibs(new[:4].reshape((1, 1, 2, 2)), (1, 2)),
    "neighbours_sum": lambda new: theano.grad(
        (tt.nnet.neighbours.images2neibs(w := new[:4].reshape((1, 1, 2, 2)), (1, 2), (1, 1)) ** 2).sum(), w
    ),
    "block_dot": lambda new: tt.nnet.sparse_block_dot(
        square(new)[None, None], new[:2][None], np.zeros((1,), int), square(new), np.zeros((1,), int)
    ),
    "block_outer": lambda new: tt.nnet.blocksparse.sparse_block_outer(
        square(new)[None, None], new[:2][None, None], new[1:3][None, None], np.zeros((1, 1), int), np.zeros((1, 1), int)
    ),
    "ctc": lambda new: tt.nnet.ctc.ctc(
        tt.cast(new[:4], "float32").reshape((2, 1, 2)), np.ones((1, 1), "int32"), np.array([2], "int32")
    ),
    "complex_extremum": lambda new: tt.max(new[:3] + 1j),
    "dot": lambda new: tt.dot(square(new), square(new)),
    "dot22scalar": lambda new: tt.dot(square(new), square(new)) * 0.5,
    "gemm": lambda new: tt.dot(square(new), square(new)) * 0.5 + square(new),
    "gemv": lambda new: tt.dot(MATRIX, new[:2]) + new[:3],
    "ger": lambda new: square(new) + tt.outer(new[:2], new[1:3]),
    "batched_dot": lambda new: tt.batched_dot(square(new)[None], square(new)[None]),
    "conv_forward": lambda new: tt.nnet.conv2d(image(new), image(new)[:, :, :2, :2]),
    "conv_weights": lambda new: theano.grad(tt.sqr(tt.nnet.conv2d(image(new), w := image(new)[:, :, :2, :2])).sum(), w),
    "conv_inputs": lambda new: theano.grad(tt.sqr(tt.nnet.conv2d(x := image(new), image(new)[:, :, :2, :2])).sum(), x),
    "sparse_values": lambda new: sparse.sp_sum(sparse_matrix(new)[::2]),
    "sparse_places": lambda new: sparse.dot(sparse_matrix(new)[::2], new[:3]),
    "sparse_dot": lambda new: sparse.dot(sparse_matrix(new), MATRIX),
    "sparse_dot_at": lambda new: sparse.sampling_dot(MATRIX, MATRIX, sparse_matrix(new)),
    "sparse_values_at": lambda new: sparse_matrix(new) * tt.outer(new[:3], new[:3]),
    "list_item": lambda new: parts(new)[at(new)],
    "list_slice": lambda new: parts(new)[at(new) :],
    "list_length": lambda new: typed_list.length(parts(new)),
    "list_count": lambda new: parts(new).count(new[:3]),
    "list_find": lambda new: parts(new).ind(new[1:4]),
    "list_append": lambda new: parts(new).append(new[:3]),
    "list_insert": lambda new: parts(new).insert(at(new), new[:3]),
    "list_extend": lambda new: parts(new).extend(parts(new)),
    "list_remove": lambda new: parts(new).remove(new[1:4]),
    "list_reverse": lambda new: parts(new).reverse(),
    "make_list": lambda new: parts(new),
    "sparse_merge": lambda new: sparse.sp_sum(sparse_matrix(new) + sparse_matrix(new).astype("float32")),
    "sparse_times": lambda new: sparse.sp_sum(sparse.true_dot(sparse_matrix(new), sparse_matrix(new))),
    "sparse_values_of": lambda new: sparse.structure.values_at(sparse_matrix(new), sparse.sqr(sparse_matrix(new)).T),
    "sparse_tidy": lambda new: sparse.sp_sum(sparse.clean(sparse_matrix(new))),
    "sparse_stack": lambda new: sparse.sp_sum(sparse.vstack([sparse_matrix(new), sparse_matrix(new)])),
    "sparse_turn": lambda new: sparse.sp_sum(sparse_matrix(new) * sparse_matrix(new).T),
    "sparse_from_dense": lambda new: sparse.sp_sum(sparse.csr_from_dense(square(new))),
    "sparse_add_dense": lambda new: sparse_matrix(new) + np.ones((3, 3)),
    "sparse_sum": lambda new: sparse.sp_sum(sparse_matrix(new), 0),
    "sparse_slice": lambda new: sparse.sp_sum(sparse_matrix(new)[:2]),
    "sparse_take": lambda new: sparse.sp_sum(sparse_matrix(new)[positions(new)]),
    "sparse_make": lambda new: sparse.sp_sum(sparse_matrix(new) + sparse_matrix(new)),
    "sparse_copy": lambda new: sparse.structured_exp(sparse_matrix(new)),
    "sparse_index": lambda new: sparse.csm_indices(sparse_matrix(new) + sparse_matrix(new)),
    "cholesky": lambda new: tt.slinalg.cholesky(square(new)),
    "solve": lambda new: tt.slinalg.solve(square(new), new[:2]),
    "inverse": lambda new: tt.nlinalg.matrix_inverse(square(new)),
    "det": lambda new: tt.nlinalg.det(square(new)),
    "eigh": lambda new: tt.nlinalg.eigh(square(new))[0],
    "eig": lambda new: tt.nlinalg.eig(square(new))[0],
    "svd": lambda new: tt.nlinalg.svd(square(new))[1],
    "qr": lambda new: tt.nlinalg.qr(square(new))[0],
    "lstsq": lambda new: tt.nlinalg.lstsq()(square(new), new[:2], -1.0)[0],
    "expm": lambda new: tt.slinalg.expm(square(new)),
    "pool": lambda new: pool_2d(square(new), positions(new)[:2] % 2 + 1, True),
    "pool_max_gradient": lambda new: theano.grad(pool_2d(w := square(new), (2, 1), True).sum(), w),
    "pool_sum_gradient": lambda new: AveragePoolGrad(True)(square(new), new[:2].dimshuffle(0, "x"), (1, 2)),
    "pool_pick": lambda new: theano.Rop(pool_2d(w := square(new), (2, 1), True), w, w),
    "mrg_uniform": lambda new: MRG_RandomStreams(1).uniform(positions(new)[:1], ndim=1),
    "draw": lambda new: RandomStreams(1).uniform(positions(new)[:1], ndim=1),
    "keep_state": lambda new: RandomStreams(1).normal(positions(new)[:1], ndim=1),
    "restore_state": lambda new: RandomStreams(1).poisson(positions(new)[:1], ndim=1),
    "pick_columns": lambda new: MRG_RandomStreams(1).multinomial(pvals=square(new) / 9),
    "expm_direction": lambda new: theano.grad(tt.slinalg.expm(w := square(new)).sum(), w),
    "collective_start": lambda new: distributed.all_reduce(new[:3]),
    "collective_wait": lambda new: distributed.all_gather(new[:3]),
}

# What several instructions do, with one of them.
COMPOSED = [
    ("masked", lambda new: tt.extra_ops.Unique()(new[:3])),
    ("svd", lambda new: tt.nlinalg.pinv(square(new))),
    ("lstsq", lambda new: tt.nlinalg.lstsq()(square(new), new[:2], -1.0)[1]),
]


# Rewrites that would do without the instruction.
LEFT_OUT = {"shape": ("ShapeOpt", "local_shape_to_shape_i")}


def test_every_instruction_is_used_here():
    assert {row[0] for row in vm.table().values()} == set(USES)


@pytest.mark.parametrize(("name", "make"), [*USES.items(), *COMPOSED])
def test_an_instruction_after_an_update_does_not_copy_the_state(name, make):
    w, f = updated(make, mode=theano.compile.get_default_mode().excluding(*LEFT_OUT.get(name, ())))
    assert name in [instr.name for instr in f.fn.instrs]
    assert most_bytes(f) < BYTES / 8
    assert w.get_value(borrow=True)[:4].tolist() == [2, 3, 2, 3]


def test_state_that_is_overwritten_many_times_is_kept_once():
    w = theano.shared(np.zeros(LENGTH))
    new = w
    for _ in range(5):
        new = tt.inc_subtensor(tt.exp(new - python_op(new[:1])[0])[:3], 2)
    f = theano.function([], [], updates={w: new})
    assert most_bytes(f) < 1.25 * BYTES


class TestFailures:
    """What is overwritten before an instruction fails comes back."""

    @pytest.mark.parametrize("kind", ["slice", "integer", "rows", "matrix", "kernel", "scatter", "product"])
    def test_state_is_put_back(self, kind):
        start = np.arange(36.0).reshape(6, 6)
        w = theano.shared(start.copy())
        i, at = tt.lvector(), tt.lscalar()
        new = {
            "slice": lambda: tt.set_subtensor(w[1:at, ::2], -1),
            "integer": lambda: tt.inc_subtensor(w[at], 3),
            "rows": lambda: tt.inc_subtensor(w[i], 2),
            "matrix": lambda: tt.inc_subtensor(w.T[1:3], 4),
            "kernel": lambda: tt.exp(w) - 3,
            "scatter": lambda: tt.inc_subtensor(w[i], tt.exp(w[0] + i.dimshuffle(0, "x"))),
            "product": lambda: w + tt.dot(w * 2, w + 1),
        }[kind]()
        x, zero = tt.matrix(), tt.scalar()
        out = tt.slinalg.cholesky(new[:2, :2] * zero + x)
        f = theano.function([x, zero, i, at], out, updates={w: new}, on_unused_input="ignore")
        assert "guard" in [instr.name for instr in f.fn.instrs]
        indices = np.array([1, 3, 1])
        with pytest.raises(np.linalg.LinAlgError):
            f(-np.eye(2), 0, indices, 4)
        np.testing.assert_array_equal(w.get_value(), start)
        f(np.eye(2), 0, indices, 4)
        assert (w.get_value() != start).any()

    @pytest.mark.parametrize("index", ["rows", "matrix", "kernel", "slice"])
    def test_an_index_that_is_overwritten_after_its_use(self, index):
        start = np.arange(150.0).reshape(50, 3)
        w, x = theano.shared(start.copy()), tt.vector()
        positions = tt.argsort(x)
        at = positions[0]
        new = {
            "rows": lambda: tt.inc_subtensor(w[positions], 1.0),
            "matrix": lambda: tt.inc_subtensor(w[positions, positions % 3], 1.0),
            "kernel": lambda: tt.inc_subtensor(w[positions], tt.exp(w[positions])),
            "slice": lambda: tt.inc_subtensor(w[at : at + 2], 1.0),
        }[index]()
        f = theano.function([x], failing(positions * 2 + 1), updates={w: new})
        with pytest.raises(RuntimeError):
            f(np.random.RandomState(1).rand(10))
        np.testing.assert_array_equal(w.get_value(), start)

    def test_a_part_before_the_whole(self):
        start = np.arange(6.0)
        w, x = theano.shared(start.copy()), tt.vector()
        part = tt.inc_subtensor(w[:2], x[0])
        whole = tt.exp(part + python_op(part[:1])[0])
        new = tt.set_subtensor(whole[1:3], python_op(whole[:1])[0])
        f = theano.function([x], failing(tt.cast(new[:2], "int64")), updates={w: new})
        assert [instr.name for instr in f.fn.instrs].count("guard") == 2
        with pytest.raises(RuntimeError):
            f(np.ones(6))
        assert w.get_value().tolist() == start.tolist()

    def test_a_second_state_after_one_that_is_kept_whole(self):
        """A Python Op that overwrites both makes one class of them."""
        start = np.arange(6.0)
        v, w, x = theano.shared(start.copy()), theano.shared(-start), tt.vector()
        first, second = OverwriteBoth()(tt.exp(v), w)
        updates = {v: tt.tanh(first) + x, w: tt.set_subtensor(second[:3], x[0])}
        f = theano.function([x], failing(tt.cast(first[:2], "int64")), updates=updates, accept_inplace=True)
        for _ in range(2):
            with pytest.raises(RuntimeError):
                f(np.ones(6))
            assert v.get_value().tolist() == start.tolist() and w.get_value().tolist() == (-start).tolist()

    def test_a_state_that_one_branch_overwrites_as_a_whole(self):
        start = np.arange(6.0)
        w, x = theano.shared(start.copy()), tt.vector()
        new = tt.inc_subtensor(ifelse(x[0] > 0, tt.exp(w), tt.exp(w + 1))[1:3], 2)
        f = theano.function([x], failing(tt.cast(new[:2], "int64")), updates={w: new})
        for sign in (1, -1):
            with pytest.raises(RuntimeError):
                f(np.full(6, sign))
            assert w.get_value().tolist() == start.tolist()

    @pytest.mark.parametrize("make", [lambda w, i, y: w[i[0]], lambda w, i, y: w[i]], ids=["integer", "rows"])
    def test_an_index_out_of_bounds_is_told_with_the_value(self, make):
        w, i, y = theano.shared(np.zeros((4, 3))), tt.lvector(), tt.vector()
        new = tt.inc_subtensor(make(w, i, y), tt.sort(y))
        f = theano.function([i, y], failing(tt.cast(new[0], "int64")), updates={w: new})
        assert "guard" in [instr.name for instr in f.fn.instrs]
        with pytest.raises(IndexError) as error:
            f([9], [7, 6, 5])
        assert "array([5., 6., 7.])" in str(error.value) and "No shapes" not in str(error.value)

    def test_random_numbers_do_not_make_what_follows_fail(self):
        """Dropout: the state of the generator is put back, and the weights are overwritten when all else is done."""
        w, x = theano.shared(np.ones(4)), tt.vector()
        random = tt.shared_randomstreams.RandomStreams(1)
        mask = random.uniform((4,))
        f = theano.function([x], (w * mask).sum(), updates={w: w - 0.5 * mask * x})
        names = [instr.name for instr in f.fn.instrs]
        assert names == ["keep_state", "guard", "draw", "kernel", "kernel", "restore_state"]
        with pytest.raises(ValueError):
            f(np.ones(3))
        assert w.get_value().tolist() == [1, 1, 1, 1]
        first = f(np.zeros(4))
        random.seed(1)
        assert f(np.zeros(4)) == first
