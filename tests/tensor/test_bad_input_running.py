"""Values that do not fit: NumPy's kind of error, with the node and the shapes, and shared variables stay as they were."""

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.tensor import extra_ops, nlinalg, slinalg

MODES = {"native": None, "rewrites off": theano.Mode("py", None)}
A = np.arange(6.0).reshape(2, 3)
TYPES = {
    "s": T.dscalar, "v": T.dvector, "w": T.dvector, "m": T.dmatrix, "n": T.dmatrix, "t": T.dtensor3, "u": T.dtensor3,
    "i": T.lscalar, "iv": T.lvector, "jv": T.lvector, "b": T.TensorType("bool", (False,)),
    "bm": T.TensorType("bool", (False, False)), "zm": T.zmatrix,
}  # fmt: skip


def ints(*values):
    return np.array(values, "int64")


SHAPES = [
    ("m + n", {"m": A, "n": A[:1]}, ValueError),
    ("m + v", {"m": A, "v": np.ones(2)}, ValueError),
    ("T.exp(m) * v + n", {"m": A, "v": np.ones(3), "n": A.T}, ValueError),
    ("T.switch(m > 0, v, m)", {"m": A, "v": np.ones(2)}, ValueError),
    ("T.sum((m - n) ** 2, axis=1)", {"m": A, "n": A[:1]}, ValueError),
    ("T.fill(m, v)", {"m": A, "v": np.ones(2)}, ValueError),
    ("T.alloc(v, 2, i)", {"v": np.ones(2), "i": 3}, ValueError),
    ("T.alloc(s, i)", {"s": 1.0, "i": -1}, ValueError),
    ("T.zeros(i) + 1", {"i": -2}, ValueError),
    ("T.eye(i)", {"i": -1}, ValueError),
    ("T.reshape(m, (2, -1, -1))", {"m": A}, ValueError),
    ("T.reshape(m, (2, -3))", {"m": A}, ValueError),
    ("T.reshape(m, (4, -1))", {"m": A}, ValueError),
    ("T.reshape(m, (5,))", {"m": A}, ValueError),
    ("T.reshape(m, iv, ndim=2)", {"m": A, "iv": ints(2, 2)}, ValueError),
    ("T.reshape(m, iv, ndim=2)", {"m": A, "iv": ints(2, 3, 1)}, ValueError),
    ("T.specify_shape(m, (3, 3))", {"m": A}, AssertionError),
    ("T.addbroadcast(m, 0)", {"m": A}, ValueError),
    ("T.repeat(m, -1, axis=0)", {"m": A}, ValueError),
    ("T.repeat(m, iv, axis=0)", {"m": A, "iv": ints(1, 2, 3)}, ValueError),
    ("T.repeat(m, iv, axis=0)", {"m": A, "iv": ints(1, -2)}, ValueError),
    ("T.tile(m, (i, 2))", {"m": A, "i": -1}, ValueError),
    ("T.join(0, m, n)", {"m": A, "n": A[:, :2]}, ValueError),
    ("T.join(1, m, n)", {"m": A, "n": A[:1]}, ValueError),
    ("T.stack([m, n])", {"m": A, "n": A[:1]}, ValueError),
    ("T.split(m, [1, 2], 3)[0]", {"m": A}, ValueError),
    ("T.split(m, [1, 2], 2)[0]", {"m": A}, ValueError),
    ("T.split(m, [3, -1], 2)[0]", {"m": A}, ValueError),
    ("T.dot(m, n)", {"m": A, "n": A}, ValueError),
    ("T.dot(m, v)", {"m": A, "v": np.ones(2)}, ValueError),
    ("T.dot(v, m)", {"m": A, "v": np.ones(3)}, ValueError),
    ("T.dot(v, w)", {"v": np.ones(3), "w": np.ones(2)}, ValueError),
    ("2 * T.dot(m, n) + n", {"m": A, "n": A}, ValueError),
    ("T.dot(m, v) + w", {"m": A, "v": np.ones(3), "w": np.ones(3)}, ValueError),
    ("T.tensordot(m, n, axes=1)", {"m": A, "n": A}, ValueError),
    ("T.batched_dot(t, u)", {"t": np.ones((2, 3, 4)), "u": np.ones((2, 3, 4))}, ValueError),
    ("T.batched_dot(t, u)", {"t": np.ones((2, 3, 4)), "u": np.ones((3, 4, 3))}, (TypeError, ValueError)),
    ("T.set_subtensor(m[0], v)", {"m": A, "v": np.ones(2)}, ValueError),
    ("T.inc_subtensor(m[1:], n)", {"m": A, "n": np.ones((2, 3))}, ValueError),
    ("T.inc_subtensor(m[iv], n)", {"m": A, "iv": ints(0, 1), "n": np.ones((3, 3))}, ValueError),
    ("T.inc_subtensor(m[iv], n)", {"m": A, "iv": ints(0, 1), "n": np.ones((2, 2))}, ValueError),
    ("T.set_subtensor(m[iv, jv], v)", {"m": A, "iv": ints(0, 1), "jv": ints(0, 1), "v": np.ones(3)}, ValueError),
    ("T.set_subtensor(m[bm], v)", {"m": A, "bm": A > 2, "v": np.ones(2)}, ValueError),
    ("T.choose(iv, [v, v])", {"iv": ints(0, 1), "v": np.ones(3)}, ValueError),
    ("T.permute_row_elements(m, iv)", {"m": A, "iv": ints(0, 1)}, ValueError),
    ("T.bincount(iv, weights=v)", {"iv": ints(1, 1), "v": np.ones(3)}, ValueError),
    ("T.searchsorted(v, m, sorter=iv)", {"v": np.ones(3), "m": A, "iv": ints(0, 1)}, ValueError),
    ("T.fill_diagonal(t, 1.0)", {"t": np.ones((2, 3, 2))}, ValueError),
    ("T.ravel_multi_index((iv, jv), (2, 3))", {"iv": ints(1, 0), "jv": ints(0, 1, 0)}, ValueError),
]
EMPTY = [
    ("T.max(m, axis=0)", {"m": A[:0]}, ValueError),
    ("T.min(m, axis=1)", {"m": A[:, :0]}, ValueError),
    ("T.argmax(m)", {"m": A[:0]}, ValueError),
    ("T.argmin(m, axis=1)", {"m": A[:, :0]}, ValueError),
    ("T.max_and_argmax(m, axis=1)[1]", {"m": A[:, :0]}, ValueError),
    ("T.ptp(m)", {"m": A[:0]}, ValueError),
    ("T.take(m, iv, mode='wrap')", {"m": A[:0], "iv": ints(1)}, IndexError),
]
BOUNDS = [
    ("m[i]", {"m": A, "i": 2}, IndexError),
    ("m[i]", {"m": A, "i": -3}, IndexError),
    ("m[0, i]", {"m": A, "i": 3}, IndexError),
    ("m[5]", {"m": A}, IndexError),
    ("m[::0]", {"m": A}, ValueError),
    ("m[::i]", {"m": A, "i": 0}, ValueError),
    ("m[iv]", {"m": A, "iv": ints(0, 2)}, IndexError),
    ("m[iv]", {"m": A, "iv": ints(-3, 0)}, IndexError),
    ("m[:, iv]", {"m": A, "iv": ints(0, 3)}, IndexError),
    ("m[iv, jv]", {"m": A, "iv": ints(0, 2), "jv": ints(0, 0)}, IndexError),
    ("m[iv, jv]", {"m": A, "iv": ints(0, 1), "jv": ints(0, 1, 2)}, IndexError),
    ("m[iv, 1:]", {"m": A, "iv": ints(7)}, IndexError),
    ("m[0, iv]", {"m": A, "iv": ints(7)}, IndexError),
    ("m[b]", {"m": A, "b": np.array([True, False, True])}, IndexError),
    ("m[:, b]", {"m": A, "b": np.array([True, False])}, IndexError),
    ("m[bm]", {"m": A, "bm": np.ones((3, 3), bool)}, IndexError),
    ("T.take(m, iv, axis=1)", {"m": A, "iv": ints(3)}, IndexError),
    ("T.take(m, iv)", {"m": A, "iv": ints(6)}, IndexError),
    ("T.set_subtensor(m[i], 0)", {"m": A, "i": 2}, IndexError),
    ("T.inc_subtensor(m[:, i], 1)", {"m": A, "i": -4}, IndexError),
    ("T.set_subtensor(m[iv], 0)", {"m": A, "iv": ints(2)}, IndexError),
    ("T.inc_subtensor(m[iv], 1)", {"m": A, "iv": ints(-3)}, IndexError),
    ("T.inc_subtensor(m[iv, jv], v)", {"m": A, "iv": ints(0, 1), "jv": ints(0, 5), "v": np.ones(2)}, IndexError),
    ("T.inc_subtensor(m[bm], 1)", {"m": A, "bm": np.ones((3, 2), bool)}, IndexError),
    ("m.shape[i]", {"m": A, "i": 2}, IndexError),
    ("T.join(i, m, m)", {"m": A, "i": 2}, IndexError),
    ("T.split(m, [1, 1], 2, axis=i)[0]", {"m": A, "i": 5}, IndexError),
    ("T.sort(m, axis=i)", {"m": A, "i": 2}, ValueError),
    ("T.topk(m, 0)", {"m": A}, ValueError),
    ("T.topk(m, 4)", {"m": A}, ValueError),
    ("T.topk(m, i)", {"m": A, "i": -4}, ValueError),
    ("T.searchsorted(v, m, sorter=iv)", {"v": np.ones(3), "m": A, "iv": ints(0, 1, 7)}, ValueError),
    ("T.bincount(iv, assert_nonneg=True)", {"iv": ints(1, -1)}, AssertionError),
    ("extra_ops.to_one_hot(iv, 3)", {"iv": ints(1, 3)}, IndexError),
    ("T.unravel_index(iv, (2, 3))[0]", {"iv": ints(6)}, ValueError),
    ("T.unravel_index(iv, (2, 3))[1]", {"iv": ints(-1)}, ValueError),
    ("T.ravel_multi_index((iv, iv), (2, 3))", {"iv": ints(2)}, ValueError),
    ("extra_ops.compress(b, m, axis=0)", {"b": np.ones(3, bool), "m": A}, IndexError),
    ("T.permute_row_elements(m, iv)", {"m": A, "iv": ints(0, 1, 5)}, IndexError),
    ("T.inverse_permutation(iv)", {"iv": ints(0, 5)}, IndexError),
    ("T.choose(iv, [v, v])", {"iv": ints(0, 2), "v": np.ones(2)}, ValueError),
    ("T.arange(0, 5, i)", {"i": 0}, ZeroDivisionError),
    ("T.arange(0, i, s)", {"i": 3, "s": 0.0}, ZeroDivisionError),
    ("T.arange(s)", {"s": np.nan}, ValueError),
]
SINGULAR = [
    ("nlinalg.matrix_inverse(m)", {"m": A}, np.linalg.LinAlgError),
    ("nlinalg.matrix_inverse(m)", {"m": np.zeros((2, 2))}, np.linalg.LinAlgError),
    ("nlinalg.det(m)", {"m": A}, np.linalg.LinAlgError),
    ("nlinalg.eig(m)[0]", {"m": A}, np.linalg.LinAlgError),
    ("nlinalg.eigh(m)[0]", {"m": A}, np.linalg.LinAlgError),
    ("nlinalg.svd(m)[1]", {"m": np.full((2, 2), np.nan)}, np.linalg.LinAlgError),
    ("nlinalg.matrix_power(m, 2)", {"m": A}, ValueError),
    ("nlinalg.matrix_power(m, -1)", {"m": np.zeros((2, 2))}, np.linalg.LinAlgError),
    ("nlinalg.tensorinv(t, 1)", {"t": np.ones((2, 2, 2))}, np.linalg.LinAlgError),
    ("nlinalg.tensorsolve(m, v)", {"m": A, "v": np.ones(2)}, np.linalg.LinAlgError),
    ("nlinalg.lstsq()(m, v, s)[0]", {"m": A, "v": np.ones(3), "s": 1e-9}, np.linalg.LinAlgError),
    ("slinalg.cholesky(m)", {"m": -np.eye(2)}, np.linalg.LinAlgError),
    ("slinalg.cholesky(m)", {"m": A}, ValueError),
    ("slinalg.solve(m, v)", {"m": np.zeros((2, 2)), "v": np.ones(2)}, np.linalg.LinAlgError),
    ("slinalg.solve(m, v)", {"m": np.eye(2), "v": np.ones(3)}, ValueError),
    ("slinalg.solve(m, v)", {"m": A, "v": np.ones(2)}, ValueError),
    ("slinalg.solve_lower_triangular(m, v)", {"m": np.zeros((2, 2)), "v": np.ones(2)}, np.linalg.LinAlgError),
    ("slinalg.expm(m)", {"m": A}, (ValueError, np.linalg.LinAlgError)),
    ("slinalg.eigvalsh(m, n)", {"m": np.eye(2), "n": -np.eye(2)}, np.linalg.LinAlgError),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text,values,error", SHAPES + EMPTY + BOUNDS + SINGULAR, ids=lambda p: p if isinstance(p, str) else "")
def test_error_and_shared_variables(text, values, error, mode):
    names = {"T": T, "extra_ops": extra_ops, "nlinalg": nlinalg, "slinalg": slinalg}
    inputs = {name: TYPES[name](name) for name in values}
    output = eval(text, {**names, **inputs})
    counter, table = theano.shared(np.arange(3.0)), theano.shared(np.ones((2, 3)))
    updates = [(counter, counter + 1), (table, T.inc_subtensor(table[0], 5.0))]
    function = theano.function(list(inputs.values()), output, mode=MODES[mode], updates=updates)
    with pytest.raises(error) as caught:
        function(*values.values())
    message = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert "Apply node that caused the error" in message
    assert "Inputs shapes" in message
    assert counter.get_value().tolist() == [0, 1, 2]
    assert (table.get_value() == 1).all()
