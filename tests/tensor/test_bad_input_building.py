"""Wrong arguments of tensor functions are refused when the graph is built, by an error that names what is wrong."""

import pytest

import theano.tensor as T
import theano.tensor.fft as fft
from theano.gradient import DisconnectedInputError
from theano.tensor import extra_ops, nlinalg, slinalg

NAMES = {
    "T": T, "fft": fft, "extra_ops": extra_ops, "nlinalg": nlinalg, "slinalg": slinalg,
    "s": T.dscalar("s"), "v": T.dvector("v"), "m": T.dmatrix("m"), "t": T.dtensor3("t"), "r": T.drow("r"),
    "i": T.lscalar("i"), "iv": T.lvector("iv"), "im": T.lmatrix("im"),
    "b": T.TensorType("bool", (False,))("b"), "bm": T.TensorType("bool", (False, False))("bm"),
    "z": T.zvector("z"), "zm": T.zmatrix("zm"),
}  # fmt: skip

WRONG_AXIS = """
T.sum(m, axis=2)                      | ValueError | axis 2
T.sum(m, axis=-3)                     | ValueError | axis -3
T.sum(m, axis=(0, 0))                 | ValueError | twice
T.sum(m, axis=1.5)                    | TypeError  |
T.prod(m, axis=5)                     | ValueError | axis 5
T.max(m, axis=2)                      | ValueError | axis 2
T.min(m, axis=-3)                     | ValueError | axis -3
T.argmax(m, axis=2)                   | ValueError | axis 2
T.argmin(m, axis=-3)                  | ValueError | axis -3
T.max_and_argmax(m, axis=2)           | ValueError | axis 2
T.mean(m, axis=3)                     | ValueError | axis 3
T.var(m, axis=3)                      | ValueError | axis 3
T.std(m, axis=-4)                     | ValueError | axis -4
T.any(bm, axis=2)                     | ValueError | axis 2
T.all(bm, axis=2)                     | ValueError | axis 2
T.ptp(m, axis=2)                      | ValueError | axis 2
m.norm(2, axis=3)                     | ValueError | axis 3
T.swapaxes(m, 0, 2)                   | ValueError | axis 2
T.moveaxis(m, 0, 2)                   | ValueError | out of bounds
T.transpose(m, (0, 2))                | ValueError | axis 2
T.transpose(m, (0, 0))                | ValueError | twice
T.transpose(m, (0,))                  | ValueError | drop
T.shape_padaxis(m, 4)                 | IndexError | axis 4
T.addbroadcast(m, 2)                  | ValueError | dimension 2
T.unbroadcast(m, 2)                   | ValueError | dimension 2
T.patternbroadcast(m, (True, 0, True))| ValueError | 3 flags
T.roll(m, 1, axis=2)                  | ValueError | axis 2
T.repeat(m, 2, axis=2)                | ValueError | axis 2
T.join(2, m, m)                       | IndexError | axis 2
T.concatenate([m, m], axis=-3)        | IndexError | axis -3
T.stack([m, m], axis=4)               | IndexError | axis 4
T.split(m, [1, 2], 2, axis=2)         | IndexError | axis 2
T.take(m, iv, axis=2)                 | IndexError | axis 2
T.cumsum(m, axis=2)                   | ValueError | axis
T.cumprod(m, axis=-3)                 | ValueError | axis
T.diff(m, axis=2)                     | ValueError | axis 2
T.sort(m, axis=2)                     | ValueError | axis 2
T.argsort(m, axis=-3)                 | ValueError | axis -3
T.topk(m, 1, axis=2)                  | IndexError | axis
extra_ops.compress(b, m, axis=2)      | IndexError | axis 2
T.diagonal(m, 0, 2, 0)                | ValueError | axis 2
T.diagonal(m, 0, 0, 0)                | ValueError | same axis
T.tensordot(m, m, axes=3)             | ValueError | axes 3
T.tensordot(m, m, axes=[[2], [0]])    | ValueError | axis 2
T.batched_tensordot(m, m, axes=4)     | ValueError | axes 4
m.dimshuffle(0, 2)                    | ValueError | 2
m.dimshuffle(0)                       | ValueError | drop
m.dimshuffle(0, 0)                    | ValueError | twice
"""

WRONG_RANK = """
T.reshape(m, iv)                      | ValueError | ndim
T.reshape(m, im)                      | TypeError  | vector
T.flatten(m, 3)                       | ValueError | ndim 3
T.flatten(m, 0)                       | ValueError | ndim 0
T.repeat(m, im, axis=0)               | ValueError | dimension
T.join(0, m, v)                       | TypeError  | same number of dimensions
T.join(0, s, s)                       | TypeError  | dimension 0
T.join(0)                             | ValueError | empty
T.concatenate([])                     | ValueError | empty
T.concatenate(m)                      | TypeError  | list
T.stack([m, v])                       | TypeError  | rank
T.stack([])                           | ValueError | No tensor
T.horizontal_stack(v, m)              | TypeError  | matrices
T.vertical_stack(v, v)                | TypeError  | matrices
m[0, 0, 0]                            | IndexError | too many indices
m[..., ...]                           | IndexError | ellipsis
m[iv, iv, iv]                         | IndexError | too many indices
v[bm]                                 | IndexError | too many indices
t[bm, bm]                             | IndexError | too many indices
s[0]                                  | IndexError | too many indices
T.set_subtensor(m, 0)                 | TypeError  | result of a subtensor
T.set_subtensor(m[0], m)              | TypeError  | 1-dimensional subtensor with a 2-dimensional
T.inc_subtensor(m[iv], t)             | TypeError  | 3-dimensional
T.bincount(im)                        | TypeError  | dimension 1
T.topk(s, 1)                          | ValueError | scalar
T.searchsorted(m, v)                  | ValueError | dimension
T.fill_diagonal(v, 1)                 | TypeError  | two dimensions
T.fill_diagonal(m, v)                 | TypeError  | scalar
T.fill_diagonal_offset(t, 1, 0)       | TypeError  | two dimensions
extra_ops.compress(im, m)             | ValueError | vector
extra_ops.bartlett(iv)                | TypeError  | scalar
T.batched_dot(s, s)                   | TypeError  | axis
m @ s                                 | ValueError | no dimension
T.arange(m)                           | TypeError  | scalars
T.eye(iv)                             | TypeError  | scalar
T.alloc(m, 2)                         | TypeError  | more dimensions
T.diag(s)                             | ValueError | one or more dimensions
T.diagonal(v)                         | ValueError | 2 dimensions
T.nonzero(s)                          | ValueError | non-scalar
T.norm(s, 2)                          | TypeError  | dimension
T.unravel_index(iv, im)               | TypeError  | vector
T.cov(t)                              | TypeError  | matrices
nlinalg.matrix_inverse(v)             | TypeError  | matrix
nlinalg.det(t)                        | TypeError  | matrix
nlinalg.pinv(v)                       | TypeError  | matrix
nlinalg.eig(v)                        | TypeError  | matrix
nlinalg.eigh(t)                       | TypeError  | matrix
nlinalg.svd(v)                        | TypeError  | matrix
nlinalg.qr(v)                         | TypeError  | matrix
nlinalg.matrix_power(v, 2)            | TypeError  | matrix
nlinalg.diag(t)                       | TypeError  | vector or matrix
nlinalg.norm(t, 'fro')                | NotImplementedError | ndim
slinalg.cholesky(v)                   | TypeError  | matrix
slinalg.solve(v, m)                   | TypeError  | matrix
slinalg.solve(m, t)                   | TypeError  | vector or a matrix
slinalg.kron(s, m)                    | TypeError  | dimensions
slinalg.expm(v)                       | TypeError  | matrix
slinalg.eigvalsh(v, m)                | TypeError  | matrix
fft.rfft(s)                           | TypeError  | dimension
T.grad(v, v)                          | TypeError  | scalar
"""

WRONG_DTYPE = """
T.sum(zm, acc_dtype='float64')        | TypeError  | precision
T.sum(m, acc_dtype='float32')         | TypeError  | precision
T.sum(m, dtype='nonsense')            | TypeError  | nonsense
T.reshape(m, (2.5, 3))                | TypeError  | integers
T.tile(m, (2.5, 2))                   | ValueError | integer
T.repeat(m, 2.5, axis=0)              | TypeError  | integer
T.join(0.5, m, m)                     | TypeError  | integer
T.split(m, v, 2)                      | TypeError  | splits
m[1.5]                                | TypeError  | integer
m[v]                                  | TypeError  | integer
m[0.5:2]                              | TypeError  | integer
m[s]                                  | TypeError  | integer
m['a']                                | TypeError  | Cannot convert a
T.take(m, v)                          | TypeError  | integers
T.inc_subtensor(v[0:2], z)            | TypeError  | complex
T.bincount(v)                         | TypeError  | integers
T.bincount(b)                         | TypeError  | integers
T.topk(m, 1.5)                        | TypeError  | integer
T.searchsorted(v, m, sorter=v)        | TypeError  | sorter
T.fill_diagonal(im, 1.5)              | TypeError  | type
T.fill_diagonal_offset(m, 1, 1.5)     | TypeError  | integer
extra_ops.to_one_hot(v, 3)            | TypeError  | integer
T.unravel_index(v, (2, 3))            | TypeError  | index
T.unravel_index(iv, (2.5, 3))         | TypeError  | index
T.ravel_multi_index((v, v), (2, 3))   | TypeError  | index
extra_ops.bartlett(s)                 | TypeError  | integer
T.permute_row_elements(m, v)          | TypeError  | integers
T.inverse_permutation(v)              | TypeError  | integers
T.choose(v, [m, m])                   | TypeError  | dtype
T.eye(1.5)                            | TypeError  | integer
T.eye(2, dtype='bad')                 | TypeError  | bad
T.alloc(m, 2.5, 3)                    | TypeError  | integer
T.zeros(2.5)                          | TypeError  | integer
T.cast(m, 'bad')                      | TypeError  | bad
T.cast(zm, 'float64')                 | TypeError  | complex
T.clip(zm, 0, 1)                      | TypeError  | complex
T.and_(m, m)                          | TypeError  | BitOp
T.invert(m)                           | TypeError  | BitOp
-b                                    | TypeError  | bool
b - b                                 | TypeError  | bool
T.floor(zm)                           | TypeError  | complex
T.sgn(zm)                             | TypeError  | complex
T.complex(zm, zm)                     | TypeError  | real
zm % 2                                | Exception  | complex
zm // 2                               | NotImplementedError | complex
T.exp('a')                            | TypeError  | Cannot convert a
m + None                              | TypeError  | NoneType
T.as_tensor_variable({})              | TypeError  | Cannot convert
T.TensorType('bad', ())               | TypeError  | bad
T.constant('a')                       | TypeError  | Unsupported dtype
fft.rfft(zm)                          | TypeError  | real
nlinalg.matrix_power(m, 1.5)          | TypeError  | integer
"""

WRONG_OPTION = """
T.take(m, iv, mode='bad')             | ValueError | bad
T.choose(iv, [m, m], mode='bad')      | ValueError | bad
T.choose(iv, [])                      | ValueError | choose
T.sort(m, kind='bad')                 | ValueError | bad
T.searchsorted(v, m, side='middle')   | ValueError | middle
T.diff(m, n=-1)                       | ValueError | -1
T.unravel_index(iv, (2, 3), order='X') | ValueError | X
T.round(m, mode='bad')                | Exception  | bad
T.switch(m)                           | TypeError  | Wrong number of inputs
m.dimshuffle(0, 1, 'y')               | TypeError  | y
nlinalg.eigh(m, 'X')                  | ValueError | X
nlinalg.qr(m, mode='bad')             | ValueError | bad
nlinalg.norm(m, 'bad')                | ValueError | bad
nlinalg.norm(v, 'fro')                | ValueError | fro
nlinalg.tensorinv(m, ind=0)           | ValueError | ind
slinalg.Solve(A_structure='bad')      | ValueError | bad
fft.rfft(m, norm='bad')               | ValueError | bad
fft.irfft(t, norm='bad')              | ValueError | bad
T.grad(s, m)                          | DisconnectedInputError | not part
"""


def rows(table):
    for line in table.strip().splitlines():
        text, error, words = (part.strip() for part in line.split("|"))
        yield pytest.param(text, {"DisconnectedInputError": DisconnectedInputError}.get(error) or eval(error), words, id=text)


@pytest.mark.parametrize("text,error,words", [*rows(WRONG_AXIS), *rows(WRONG_RANK), *rows(WRONG_DTYPE), *rows(WRONG_OPTION)])
def test_refused(text, error, words):
    with pytest.raises(error) as caught:
        eval(text, dict(NAMES))
    assert words in str(caught.value)
