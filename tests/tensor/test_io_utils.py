"""Loading arrays, MPI names without mpi4py, hashes and shapes of graphs, slices as values, the makers of test cases."""

import pickle
import unittest

import numpy as np
import pytest

import theano
from tests.tensor.helpers import PLAIN
from theano import tensor as T
from theano.tensor import io, utils
from theano.tensor.tests.test_basic import makeBroadcastTester, makeTester
from theano.tensor.type_other import MakeSlice, NoneConst, SliceConstant, make_slice


@pytest.mark.parametrize("mmap_mode", [None, "c"])
def test_arrays_are_loaded_when_the_function_is_called(tmp_path, mmap_mode):
    path = theano.Variable(theano.gof.Generic())
    x = T.load(path, "int64", (False,), mmap_mode=mmap_mode)
    f = theano.function([path], x * 2)
    for values in ([0, 1, 2], [5]):
        np.save(tmp_path / "a b.npy", np.array(values, dtype="int64"))
        np.testing.assert_array_equal(f(str(tmp_path / "a b.npy")), np.array(values) * 2)
    np.save(tmp_path / "c.npy", np.zeros(2, dtype="float32"))
    with pytest.raises(TypeError):
        f(str(tmp_path / "c.npy"))
    with pytest.raises(FileNotFoundError):
        f(str(tmp_path / "none.npy"))
    with pytest.raises(ValueError):
        T.load(path, "int64", (False,), mmap_mode="r")


def test_transfers_without_mpi_say_what_is_missing():
    try:
        import mpi4py  # noqa: F401
    except ImportError:
        with pytest.raises(RuntimeError, match="mpi4py"):
            theano.function([], io.recv((2,), "float32", 0, 1), mode=PLAIN)()
    wait = io.irecv((2,), "float32", 0, 7).owner
    assert io.mpi_send_wait_key(wait) == 1 and io.mpi_tag_key(wait) == 7
    assert io.mpi_send_wait_key(wait.inputs[0].owner) == -1
    assert io.mpi_send_wait_key((T.dscalar() + 1).owner) == 0


def test_hashes_see_data_shape_strides_and_dtype():
    a = np.arange(6.0)
    assert utils.hash_from_ndarray(a) == utils.hash_from_ndarray(a.copy())
    variants = [a, a.reshape(2, 3), a.reshape(3, 2), a.astype("float32"), a + 1, a[::-1]]
    assert len({utils.hash_from_ndarray(v) for v in variants}) == len(variants)
    assert utils.hash_from_ndarray(a[::2]) == utils.hash_from_ndarray(a[::2].copy())


def test_shapes_of_a_graph():
    x, y = T.dmatrix(), T.dvector()
    z = T.dot(x, y)[1:]
    fgraph = theano.FunctionGraph([x, y], [z], clone=False)
    shapes = utils.shape_of_variables(fgraph, {x: (5, 3), y: (3,)})
    assert tuple(map(int, shapes[z])) == (4,) and tuple(map(int, shapes[x])) == (5, 3)
    with pytest.raises(ValueError):
        utils.shape_of_variables(fgraph, {T.dvector(): (3,)})


def test_slices_as_values():
    constant = make_slice(slice(1, np.int64(3)))
    assert isinstance(constant, SliceConstant) and constant.data == slice(1, 3)
    assert make_slice(slice(1, 3)).equals(constant)
    i = T.lscalar()
    symbolic = make_slice(slice(i, None))
    assert isinstance(symbolic.owner.op, MakeSlice)
    f = theano.function([i], T.arange(5)[symbolic], mode=PLAIN)
    np.testing.assert_array_equal(f(3), [3, 4])
    again = pickle.loads(pickle.dumps(NoneConst))
    assert again.type == NoneConst.type and again.data is None
    with pytest.raises(TypeError):
        make_slice(slice(T.dscalar(), None))
    with pytest.raises(TypeError):
        T.slicetype.filter(3)


def outcome(case):
    result = unittest.TestResult()
    unittest.TestLoader().loadTestsFromTestCase(case).run(result)
    return result.wasSuccessful(), result.testsRun


def test_made_test_cases_pass_and_fail_as_they_should():
    rand = np.random.RandomState(0).rand
    good = {"matrices": (rand(2, 3), rand(3, 2)), "vector": (rand(2, 3), rand(3))}
    bad = {"shapes": (rand(2, 3), rand(2, 3))}
    passed, count = outcome(makeTester("DotTester", T.dot, np.dot, good=good, bad_runtime=bad, grad=good))
    assert passed and count >= 4
    assert not outcome(makeTester("Wrong", T.dot, lambda x, y: np.dot(x, y) + 1, good=good))[0]
    assert not outcome(makeTester("NoError", T.dot, np.dot, bad_runtime=good))[0]
    assert not outcome(makeTester("NoBuildError", T.dot, np.dot, bad_build=good))[0]
    checks = {"never": lambda inputs, outputs: False}
    assert not outcome(makeTester("Check", T.dot, np.dot, checks=checks, good=good))[0]
    same = {"same": (rand(2, 3), rand(2, 3))}
    assert outcome(makeBroadcastTester(T.inplace.sub_inplace, np.subtract, good=same, inplace=True, name="Sub"))[0]
