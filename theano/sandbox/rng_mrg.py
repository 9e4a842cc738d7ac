"""Random numbers of the combined multiple recursive generator MRG31k3p.

P. L'Ecuyer and R. Touzin, Fast Combined Multiple Recursive Generators with
Multipliers of the form a = +/- 2^d +/- 2^e, Proceedings of the 2000 Winter
Simulation Conference, 683-689. The streams and substreams are those of
P. L'Ecuyer, R. Simard, E. J. Chen and W. D. Kelton, An Object-Oriented
Random-Number Package with Many Long Streams and Substreams, Operations
Research 50 (2002), 1073-1075.

A state is six numbers, the last three terms of each of two sequences::

    x_n = (2^22 x_{n-2} + (2^7 + 1) x_{n-3}) mod M1
    y_n = (2^15 y_{n-1} + (2^15 + 1) y_{n-3}) mod M2

and a sample is ``(x_n - y_n) mod M1`` divided by ``2^31``.
"""

from __future__ import annotations

import functools
import math
import warnings
from typing import Any

import numpy as np

from theano import aliases, gradient, tensor
from theano.compile import optdb, shared
from theano.configdefaults import config
from theano.gof import Apply, Op, Variable, local_optimizer
from theano.gof.opt import in2out
from theano.sandbox import multinomial
from theano.scalar import upcast

M1 = np.asarray(2147483647, dtype="int32")
M2 = np.asarray(2147462579, dtype="int32")
_M1, _M2 = int(M1), int(M2)
_A1 = ((0, 2**22, 2**7 + 1), (1, 0, 0), (0, 1, 0))
_A2 = ((2**15, 0, 2**15 + 1), (1, 0, 0), (0, 1, 0))
_DEFAULT_STREAMS = 60 * 256


MASK12 = np.int32(2**9 - 1)
MASK13 = np.int32(2**24 - 1)
MASK2 = np.int32(2**16 - 1)
MULT2 = np.int32(2**31 - _M2)
NORM = 2.0**-31
np_int32_vals = [np.int32(i) for i in (0, 7, 9, 15, 16, 22, 24)]


def _matrix(*rows: tuple[int, int, int]) -> np.ndarray:
    return np.array(rows, dtype="int64")


# What advances the two sequences by 2**72 and by 2**134 terms.
A1p72 = _matrix(
    (1516919229, 758510237, 499121365), (1884998244, 1516919229, 335398200), (601897748, 1884998244, 358115744)
)
A2p72 = _matrix(
    (1228857673, 1496414766, 954677935), (1133297478, 1407477216, 1496414766), (2002613992, 1639496704, 1407477216)
)
A1p134 = _matrix(
    (1702500920, 1849582496, 1656874625), (828554832, 1702500920, 1512419905), (1143731069, 828554832, 102237247)
)
A2p134 = _matrix(
    (796789021, 1464208080, 607337906), (1241679051, 1431130166, 1464208080), (1401213391, 1178684362, 1431130166)
)


def _matmul(a: Any, b: Any, m: int) -> tuple:
    return tuple(tuple(sum(a[i][k] * b[k][j] for k in range(3)) % m for j in range(3)) for i in range(3))


@functools.cache
def _jump(log2_steps: int, times: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrices that advance both sequences by ``times * 2**log2_steps`` terms."""
    result = []
    for matrix, modulus in ((_A1, _M1), (_A2, _M2)):
        power: Any = matrix
        for _ in range(log2_steps):
            power = _matmul(power, power, modulus)
        total: Any = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
        for bit in bin(times)[2:]:
            total = _matmul(total, total, modulus)
            if bit == "1":
                total = _matmul(total, power, modulus)
        result.append(np.array(total, dtype="int64"))
    return result[0], result[1]


def matVecModM(A: Any, s: Any, m: Any) -> np.ndarray:
    """Return the product of a matrix and a vector modulo `m`, without overflow.

    Parameters
    ----------
    A : array_like
        Matrix of integers below `m`.
    s : array_like
        Vector, or matrix of vectors as rows, of integers below `m`.
    m : int
        The modulus, below ``2**31``.

    Returns
    -------
    ndarray
        Integers below `m`.

    See Also
    --------
    theano.sandbox.rng_mrg.DotModulo : Two products of a matrix and a vector, each modulo a number, put together to one
        vector.
    theano.sandbox.rng_mrg.multMatVect : Multiply the first half of `v` by `A` modulo `m1`, and the second half by `B`
        modulo `m2`.

    Examples
    --------
    >>> matVecModM([[1, 2], [3, 4]], [5, 6], 7)
    array([3, 4])
    """
    A, s, m = np.asarray(A, dtype="int64"), np.asarray(s, dtype="int64"), int(m)
    # Each product is below 2**62; a sum of them would not fit.
    return ((A * s[..., None, :]) % m).sum(axis=-1) % m


def multMatVect(v: Any, A: Any, m1: Any, B: Any, m2: Any) -> np.ndarray:
    """Multiply the first half of `v` by `A` modulo `m1`, and the second half by `B` modulo `m2`.

    Parameters
    ----------
    v : array_like
        Vector of six integers, or a matrix of such rows.
    A, B : array_like
        3 by 3 matrices of integers.
    m1, m2 : int
        The moduli.

    Returns
    -------
    ndarray
        As `v`, of int32.

    See Also
    --------
    theano.sandbox.rng_mrg.matVecModM : Return the product of a matrix and a vector modulo `m`, without overflow.
    theano.sandbox.rng_mrg.DotModulo : Two products of a matrix and a vector, each modulo a number, put together to one
        vector.

    Examples
    --------
    >>> import numpy as np
    >>> multMatVect([1, 2, 3, 4, 5, 6], np.eye(3), 7, 2 * np.eye(3), 7)
    array([1, 2, 3, 1, 3, 5], dtype=int32)
    """
    v = np.asarray(v)
    parts = [matVecModM(A, v[..., :3], m1), matVecModM(B, v[..., 3:], m2)]
    return np.concatenate(parts, axis=-1).astype("int32")


def advanced(states: np.ndarray, log2_steps: int, times: int = 1) -> np.ndarray:
    """Return the states of streams after ``times * 2**log2_steps`` terms.

    Parameters
    ----------
    states : ndarray
        Vector of six integers, or a matrix of such rows.
    log2_steps : int
        The power of two.
    times : int
        How often.

    Returns
    -------
    ndarray
        As `states`, of int32.

    See Also
    --------
    theano.sandbox.rng_mrg.mrg_next_value : Return the next sample of one stream.

    Examples
    --------
    >>> import numpy as np
    >>> from theano.sandbox.rng_mrg import MRG_RandomStreams, advanced
    >>> states = MRG_RandomStreams(7).get_substream_rstates(3, "float64")
    >>> bool((advanced(states[0], 72, 2) == states[2]).all())
    True
    """
    a, b = _jump(log2_steps, times)
    return multMatVect(states, a, _M1, b, _M2)


class DotModulo(Op):
    """Two products of a matrix and a vector, each modulo a number, put together to one vector.

    See Also
    --------
    theano.sandbox.rng_mrg.multMatVect : Multiply the first half of `v` by `A` modulo `m1`, and the second half by `B`
        modulo `m2`.
    theano.sandbox.rng_mrg.matVecModM : Return the product of a matrix and a vector modulo `m`, without overflow.

    Examples
    --------
    >>> import numpy as np
    >>> A, s = np.int64([[2, 0], [0, 3]]), np.int64([4, 5])
    >>> DotModulo()(A, s, np.int64(7), A, s, np.int64(11)).eval().tolist()
    [1, 1, 8, 4]
    """

    __props__ = ()

    def make_node(self, A: Any, s: Any, m: Any, A2: Any, s2: Any, m2: Any) -> Apply:
        """Return the node for two matrices, vectors and moduli."""
        inputs = [tensor.as_tensor_variable(x) for x in (A, s, m, A2, s2, m2)]
        return Apply(self, inputs, [inputs[1].type()])

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[list[Any]]) -> None:
        A, s, m, A2, s2, m2 = inputs
        both = np.concatenate([matVecModM(A, s, m), matVecModM(A2, s2, m2)])
        output_storage[0][0] = both.astype(node.outputs[0].dtype)


def _next_values(states: np.ndarray) -> np.ndarray:
    """Advance each row of `states` (int64, in place) by one term; return the numbers between 1 and M1."""
    x = ((states[:, 1] << 22) + (states[:, 2] << 7) + states[:, 2]) % _M1
    y = ((states[:, 3] << 15) + (states[:, 5] << 15) + states[:, 5]) % _M2
    states[:, 1:3] = states[:, 0:2]
    states[:, 4:6] = states[:, 3:5]
    states[:, 0], states[:, 3] = x, y
    difference = x - y
    difference[difference <= 0] += _M1
    return difference


def ff_2p134(rstate: Any) -> np.ndarray:
    """Return the state of a stream 2**134 terms later: that of the next stream.

    Parameters
    ----------
    rstate : array_like
        The six numbers of the state.

    Returns
    -------
    ndarray
        The six numbers of the new state.

    See Also
    --------
    theano.sandbox.rng_mrg.ff_2p72 : Return the state of a stream 2**72 terms later: that of its next substream.

    Examples
    --------
    >>> ff_2p134([1, 2, 3, 4, 5, 6]).shape
    (6,)
    """
    return multMatVect(rstate, A1p134, M1, A2p134, M2)


def ff_2p72(rstate: Any) -> np.ndarray:
    """Return the state of a stream 2**72 terms later: that of its next substream.

    Parameters
    ----------
    rstate : array_like
        The six numbers of the state.

    Returns
    -------
    ndarray
        The six numbers of the new state.

    See Also
    --------
    theano.sandbox.rng_mrg.ff_2p134 : Return the state of a stream 2**134 terms later: that of the next stream.

    Examples
    --------
    >>> ff_2p72([1, 2, 3, 4, 5, 6]).dtype
    dtype('int32')
    """
    return multMatVect(rstate, A1p72, M1, A2p72, M2)


def mrg_next_value(rstate: Any, new_rstate: np.ndarray, NORM: float, mask: int, offset: int) -> float:
    """Return the next sample of one stream.

    Parameters
    ----------
    rstate : array_like
        The six numbers of its state.
    new_rstate : ndarray
        The state after it is written there.
    NORM : float
        What the number between 1 and M1 is multiplied with.
    mask, offset : int
        Which bits of the number are taken, and what is added to them before.

    Returns
    -------
    float
        The sample.

    See Also
    --------
    theano.sandbox.rng_mrg.advanced : Return the states of streams after ``times * 2**log2_steps`` terms.

    Examples
    --------
    >>> import numpy as np
    >>> state = np.zeros(6, "int32")
    >>> 0 < mrg_next_value([12345] * 6, state, 2.0**-31, 2**31 - 1, 0) < 1
    True
    """
    states = np.array(rstate, dtype="int64").reshape(1, 6)
    (number,) = _next_values(states)
    new_rstate[...] = states[0]
    return ((int(number) & int(mask)) + int(offset)) * NORM


class mrg_uniform_base(Op):
    """What Ops that draw uniform numbers from a matrix of states have in common.

    Parameters
    ----------
    output_type : TensorType
        Type of the sample.
    inplace : bool
        Whether to overwrite the states.

    See Also
    --------
    theano.sandbox.rng_mrg.MRG_RandomStreams : Random variables of MRG31k3p, with an interface like ``numpy.random``.
    theano.sandbox.rng_mrg.mrg_uniform : Draw uniform numbers from a matrix of states; the outputs are the new states and
        the sample.

    Examples
    --------
    >>> op = mrg_uniform(tensor.dvector, inplace=True)
    >>> isinstance(op, mrg_uniform_base), op.destroy_map
    (True, {0: [0]})
    """

    __props__: tuple[str, ...] = ("output_type", "inplace")

    def __init__(self, output_type: Any, inplace: bool = False):
        self.output_type = output_type
        self.inplace = inplace
        if inplace:
            self.destroy_map = {0: [0]}

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.output_type},{'inplace' if self.inplace else 'no_inplace'}}}"

    def grad(self, inputs: list[Variable], output_grads: list[Variable]) -> list[Variable]:
        comment = "No gradient defined through random sampling op"
        return [gradient.grad_undefined(self, k, x, comment) for k, x in enumerate(inputs)]

    def R_op(self, inputs: list[Variable], eval_points: list[Any]) -> list[Any]:
        return [None for _ in eval_points]


class mrg_uniform(mrg_uniform_base):
    """Draw uniform numbers from a matrix of states; the outputs are the new states and the sample.

    Element ``i`` of the sample, in C order, comes from the stream ``i`` modulo
    the number of streams.

    Parameters
    ----------
    output_type : TensorType
        Type of the sample.
    inplace : bool
        Whether to overwrite the states.

    See Also
    --------
    theano.sandbox.rng_mrg.mrg_uniform_base : What Ops that draw uniform numbers from a matrix of states have in common.
    theano.sandbox.rng_mrg.MRG_RandomStreams : Random variables of MRG31k3p, with an interface like ``numpy.random``.

    Examples
    --------
    >>> import numpy as np
    >>> states = tensor.constant(np.int32([[12345] * 6]))
    >>> new_states, sample = mrg_uniform(tensor.fvector)(states, [3])
    >>> drawn = sample.eval()
    >>> drawn.shape, bool((0 < drawn).all() and (drawn < 1).all())
    ((3,), True)
    """

    @classmethod
    def new(cls, rstate: Variable, ndim: int | None, dtype: str, size: Variable) -> Any:
        """Return the new states and a sample of the given shape."""
        v_size = tensor.as_tensor_variable(size)
        if ndim is None:
            ndim = tensor.get_vector_length(v_size)
        op = cls(tensor.TensorType(dtype, (False,) * ndim))
        return op(rstate, v_size)

    def make_node(self, rstate: Any, size: Any) -> Apply:
        """Return the node for a matrix of states and the shape of the sample."""
        rstate, size = tensor.as_tensor_variable(rstate), tensor.as_tensor_variable(size)
        broadcastable = [tensor.extract_constant(size[i]) == 1 for i in range(self.output_type.ndim)]
        return Apply(self, [rstate, size], [rstate.type(), self.output_type.clone(broadcastable=broadcastable)()])

    def infer_shape(self, node: Apply, input_shapes: list[Any]) -> list[Any]:
        size = node.inputs[1]
        return [input_shapes[0], [size[i] for i in range(self.output_type.ndim)]]

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[list[Any]]) -> None:
        rstate, size = inputs
        shape = tuple(int(n) for n in size)
        n = int(np.prod(shape, dtype="int64"))
        if n > _M1:
            raise ValueError("rng_mrg does not support more than (2**31 - 1) samples")
        n_streams = rstate.shape[0]
        states = rstate.astype("int64")
        numbers = np.empty(n, dtype="int64")
        for start in range(0, n, n_streams):
            count = min(n_streams, n - start)
            used = states[:count]
            numbers[start : start + count] = _next_values(used)
        new_states = rstate if self.inplace else np.empty_like(rstate)
        new_states[...] = states
        output_storage[0][0] = new_states
        output_storage[1][0] = self._scaled(numbers, node.outputs[1].dtype).reshape(shape)

    @staticmethod
    def _scaled(numbers: np.ndarray, dtype: str) -> np.ndarray:
        if dtype == "float64":
            return numbers * 4.656612873077392578125e-10
        if dtype == "float32":
            # The largest factor with which no number is rounded up to 1.
            return numbers.astype("float32") * np.float32(4.6566126e-10)
        # Fifteen bits, off zero, so that neither bound is reached.
        return (((numbers & 0x7FFF) + 1) * np.float32(np.float16(3.0458e-05))).astype(dtype)


def guess_n_streams(size: Any, warn: bool = False) -> int:
    """Return a good number of streams for a sample.

    Parameters
    ----------
    size : sequence or Variable
        Shape of the sample.
    warn : bool
        Whether to warn if the shape is not a sequence of int, in which case 60 * 256
        is returned. What else is known about it does not count: which numbers are
        drawn must not depend on how a shape was found out.

    Returns
    -------
    int
        The number.

    See Also
    --------
    theano.sandbox.rng_mrg.MRG_RandomStreams : Random variables of MRG31k3p, with an interface like ``numpy.random``.

    Examples
    --------
    >>> guess_n_streams((10, 12))
    20
    """
    if isinstance(size, (tuple, list)) and all(isinstance(n, int) for n in size):
        n = math.prod(size)
        if n > 6:
            # A few numbers from each stream.
            n //= 6
        return max(1, min(n, _DEFAULT_STREAMS))
    if warn:
        warnings.warn(f"MRG_RandomStreams cannot know the number of elements of {size}, it uses {_DEFAULT_STREAMS} streams")
    return _DEFAULT_STREAMS


def _check_size(size: Any) -> Any:
    """Return a shape as a constant or symbolic vector of integers."""
    if isinstance(size, Variable):
        if size.ndim == 1:
            return size
        if size.ndim == 0:
            return tensor.stack([size])
        raise ValueError(f"The size must be a scalar or a vector of integers, got {size.type}")
    if isinstance(size, (int, np.integer)):
        size = (size,)
    elif not isinstance(size, (tuple, list, np.ndarray)):
        raise ValueError(f"The size must be an int, a tuple or a list of ints, or a variable, got {size!r}")
    for n in size:
        if isinstance(n, Variable):
            if n.ndim != 0:
                raise ValueError(f"Each dimension of the size must be a scalar, got {n.type}")
        elif not isinstance(n, (int, np.integer)):
            raise ValueError(f"Each dimension of the size must be an integer, got {n!r}")
        elif n <= 0:
            raise ValueError(f"The specified size contains a dimension with value <= 0: {size}")
    return tensor.as_tensor_variable(list(size), ndim=1) if len(size) else tensor.constant(np.zeros(0, dtype="int64"))


class MRG_RandomStreams:
    """Random variables of MRG31k3p, with an interface like ``numpy.random``.

    Parameters
    ----------
    seed : int or list of 6 int
        Start of the streams. An integer stands for six equal ones. The first
        three must be below 2147483647 and not all 0, the last three below
        2147462579 and not all 0.

    Attributes
    ----------
    rstate : ndarray
        Start of the next stream.
    state_updates : list
        For each random variable its shared states, the expression of their next
        values, the shape, and the number of streams asked for.

    See Also
    --------
    theano.tensor.shared_randomstreams.RandomStreams : A symbolic stand-in for ``numpy.random.RandomState``.
    theano.sandbox.rng_mrg.guess_n_streams : Return a good number of streams for a sample.
    theano.sandbox.rng_mrg.mrg_uniform : Draw uniform numbers from a matrix of states; the outputs are the new states and
        the sample.

    Examples
    --------
    >>> import theano
    >>> f = theano.function([], MRG_RandomStreams(seed=1).uniform(size=(3,)))
    >>> f().shape, bool((f() != f()).all())
    ((3,), True)
    """

    def __init__(self, seed: Any = 12345):
        self.state_updates: list[tuple[Any, Any, Any, Any]] = []
        self.default_instance_seed = seed
        self.set_rstate(seed)

    def updates(self) -> list[tuple[Any, Any, Any, Any]]:
        """Return the states of all random variables with their next values."""
        return list(self.state_updates)

    def set_rstate(self, seed: Any) -> None:
        """Start the next stream from a seed.

        Raises
        ------
        ValueError
            For a seed that the generator cannot start from.
        """
        if isinstance(seed, (int, np.integer)):
            if seed == 0:
                raise ValueError("seed should not be 0")
            if not 0 < seed < _M2:
                raise ValueError(f"seed should be positive and less than {_M2}, got {seed}")
            seed = [int(seed)] * 6
        elif not hasattr(seed, "__len__") or len(seed) != 6:
            raise TypeError(f"seed should be 1 integer or 6 integers, got {seed!r}")
        if not any(seed[:3]):
            raise ValueError(f"The first 3 values of seed should not be all 0, got {seed}")
        if not any(seed[3:]):
            raise ValueError(f"The last 3 values of seed should not be all 0, got {seed}")
        if not all(0 <= n < _M1 for n in seed[:3]):
            raise ValueError(f"The first 3 values of seed should be less than {_M1}, got {seed}")
        if not all(0 <= n < _M2 for n in seed[3:]):
            raise ValueError(f"The last 3 values of seed should be less than {_M2}, got {seed}")
        self.rstate = np.asarray(seed, dtype="int32")

    def seed(self, seed: Any = None) -> None:
        """Give all the random variables made so far new states.

        Parameters
        ----------
        seed : int or list of 6 int, optional
            The seed; by default the one given to the constructor.
        """
        self.set_rstate(self.default_instance_seed if seed is None else seed)
        for state, new_state, size, nstreams in self.state_updates:
            if nstreams is None:
                nstreams = self.n_streams(size)
            state.set_value(self.get_substream_rstates(nstreams, new_state.owner.outputs[1].dtype), borrow=True)

    def inc_rstate(self) -> None:
        """Skip ``2**134`` terms, to the start of the next stream."""
        a, b = _jump(134)
        self.rstate = multMatVect(self.rstate, a, _M1, b, _M2)

    def get_substream_rstates(self, n_streams: int, dtype: str, inc_rstate: bool = True) -> np.ndarray:
        """Return states that are ``2**72`` terms apart.

        Parameters
        ----------
        n_streams : int
            How many.
        dtype : str
            Type of the samples; the states do not depend on it.
        inc_rstate : bool
            Whether to go on to the next stream.

        Returns
        -------
        ndarray
            Matrix of int32 with a state in each row.
        """
        if not n_streams > 0:
            raise ValueError(f"the number of streams must be positive, got {n_streams}")
        states = np.empty((n_streams, 6), dtype="int32")
        states[0] = self.rstate
        known = 1
        while known < n_streams:
            # All known states at once, so that their number doubles.
            count = min(known, n_streams - known)
            a, b = _jump(72, known)
            states[known : known + count] = multMatVect(states[:count], a, _M1, b, _M2)
            known += count
        if inc_rstate:
            self.inc_rstate()
        return states

    def n_streams(self, size: Any) -> int:
        """Return the number of streams for a sample of a shape."""
        return guess_n_streams(size)

    def pretty_return(self, node_rstate: Any, new_rstate: Variable, sample: Any, size: Any, nstreams: Any) -> Any:
        """Return the sample, after noting its states: ``sample.rstate`` and ``sample.update``."""
        sample.rstate = node_rstate
        sample.update = (node_rstate, new_rstate)
        self.state_updates.append((node_rstate, new_rstate, size, nstreams))
        node_rstate.default_update = new_rstate
        return sample

    def uniform(
        self,
        size: Any,
        low: Any = 0.0,
        high: Any = 1.0,
        ndim: int | None = None,
        dtype: str | None = None,
        nstreams: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """Draw from the uniform distribution between `low` and `high`, both excluded.

        Parameters
        ----------
        size : sequence of int, or Variable
            Shape of the sample.
        low, high : tensor_like
            The bounds.
        ndim : int, optional
            Number of dimensions, where `size` does not tell.
        dtype : str, optional
            Type of the sample; by default floatX or a larger type of the bounds.
        nstreams : int, optional
            Number of streams.

        Returns
        -------
        Variable
            The sample.
        """
        given = (size,) if isinstance(size, int) else size
        size = _check_size(size)
        low, high = tensor.as_tensor_variable(low), tensor.as_tensor_variable(high)
        if dtype is None:
            dtype = upcast(config.floatX, low.dtype, high.dtype)
        low = gradient.undefined_grad(tensor.cast(low, dtype))
        high = gradient.undefined_grad(tensor.cast(high, dtype))
        states = self.get_substream_rstates(self.n_streams(given) if nstreams is None else nstreams, dtype)
        node_rstate = shared(states)
        u = self.pretty_return(node_rstate, *mrg_uniform.new(node_rstate, ndim, dtype, size), size=given, nstreams=nstreams)
        node_rstate.tag.is_rng = True
        sample = u * (high - low) + low
        if u.type.broadcastable != sample.type.broadcastable:
            raise NotImplementedError("Increase the size to match the broadcasting pattern of `low` and `high` arguments")
        return sample

    def binomial(
        self,
        size: Any = None,
        n: int = 1,
        p: Any = 0.5,
        ndim: int | None = None,
        dtype: str = "int64",
        nstreams: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """Draw 1 with probability `p`, else 0; only for ``n=1``. See :meth:`uniform` for the other parameters."""
        if n != 1:
            raise NotImplementedError("MRG_RandomStreams.binomial with n > 1")
        p = gradient.undefined_grad(tensor.as_tensor_variable(p))
        x = self.uniform(size=size, ndim=ndim, nstreams=nstreams)
        return tensor.cast(x < p, dtype)

    def multinomial(
        self,
        size: Any = None,
        n: int = 1,
        pvals: Any = None,
        ndim: int | None = None,
        dtype: str = "int64",
        nstreams: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """Count how often each column comes up in `n` draws from each row of the matrix `pvals` of probabilities.

        Returns
        -------
        Variable
            A matrix of the shape of `pvals`.
        """
        if pvals is None:
            raise TypeError("You have to specify pvals")
        pvals = gradient.undefined_grad(tensor.as_tensor_variable(pvals))
        if size is not None:
            raise ValueError(f"Provided a size argument to MRG_RandomStreams.multinomial, which does not use it: {size}")
        if ndim is not None:
            raise ValueError(f"Provided an ndim argument to MRG_RandomStreams.multinomial, which does not use it: {ndim}")
        if pvals.ndim != 2:
            raise NotImplementedError("MRG_RandomStreams.multinomial only implemented for pvals.ndim = 2")
        unis = self.uniform(size=(pvals.shape[0] * n,), ndim=1, nstreams=nstreams)
        return multinomial.MultinomialFromUniform(dtype)(pvals, unis, n)

    def choice(
        self,
        size: Any = 1,
        a: Any = None,
        replace: bool = True,
        p: Any = None,
        ndim: int | None = None,
        dtype: str = "int64",
        nstreams: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """Draw `size` columns, without replacement, from each row of the matrix `p` of probabilities.

        Returns
        -------
        Variable
            A matrix with a row of column numbers for each row of `p`; -1 where no column with a chance is left.

        Raises
        ------
        NotImplementedError
            If `replace` is not False.
        TypeError
            If `a` is given or `p` is not.
        """
        if replace:
            raise NotImplementedError("MRG_RandomStreams.choice draws without replacement only: replace must be False.")
        if a is not None:
            raise TypeError("MRG_RandomStreams.choice takes no a: what it draws are column numbers of p, so a has to be None.")
        if p is None:
            raise TypeError("MRG_RandomStreams.choice needs p.")
        if ndim is not None:
            raise ValueError("ndim argument to MRG_RandomStreams.choice is not used.")
        p = gradient.undefined_grad(tensor.as_tensor_variable(p))
        if p.ndim != 2:
            raise NotImplementedError("MRG_RandomStreams.choice is only implemented for p.ndim = 2")
        unis = self.uniform(size=(p.shape[0] * size,), ndim=1, nstreams=nstreams)
        return multinomial.ChoiceFromUniform(dtype, replace=replace)(p, unis, size)

    def multinomial_wo_replacement(
        self,
        size: Any = None,
        n: Any = 1,
        pvals: Any = None,
        ndim: int | None = None,
        dtype: str = "int64",
        nstreams: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """Draw without replacement; the older name of :meth:`choice`, with `n` for its `size` and `pvals` for its `p`."""
        warnings.warn("multinomial_wo_replacement is deprecated: use choice(size=n, p=pvals, replace=False)", stacklevel=2)
        if size is not None:
            raise ValueError(f"Provided a size argument to multinomial_wo_replacement, which does not use it: {size}")
        return self.choice(size=n, replace=False, p=pvals, ndim=ndim, dtype=dtype, nstreams=nstreams)

    def normal(
        self,
        size: Any,
        avg: Any = 0.0,
        std: Any = 1.0,
        ndim: int | None = None,
        dtype: str | None = None,
        nstreams: int | None = None,
        truncate: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Draw from the normal distribution, by the transformation of Box and Muller.

        Parameters
        ----------
        size : sequence of int, or Variable
            Shape of the sample.
        avg, std : tensor_like
            Mean and standard deviation.
        truncate : bool
            Whether to cut at 2 standard deviations; that of the sample is smaller than
            `std` then.
        ndim, dtype, nstreams
            As for :meth:`uniform`.

        Returns
        -------
        Variable
            The sample.
        """
        size = _check_size(size)
        avg = gradient.undefined_grad(tensor.as_tensor_variable(avg))
        std = gradient.undefined_grad(tensor.as_tensor_variable(std))
        if dtype is None:
            dtype = upcast(config.floatX, avg.dtype, std.dtype)
        avg, std = tensor.cast(avg, dtype), tensor.cast(std, dtype)

        wanted = tensor.prod(size, dtype="int64")
        even = wanted + wanted % 2
        # An expression, also of a known size, as is the size of what is drawn again: the numbers of the most streams.
        u = self.uniform((even,), ndim=1, dtype=dtype, nstreams=nstreams)
        u1, u2 = u[: even // 2], u[even // 2 :]
        theta = np.array(2.0 * np.pi, dtype=dtype) * u2
        cosine, sine = tensor.cos(theta), tensor.sin(theta)
        r = tensor.sqrt(-2.0 * tensor.log(u1))
        z0, z1 = r * cosine, r * sine
        if truncate:
            z0, z1 = self._redrawn(z0, z1, cosine, sine, dtype, nstreams)
        samples = tensor.join(0, z0, z1)[:wanted]
        if ndim is None:
            ndim = tensor.get_vector_length(size)
        return tensor.reshape(samples, size, ndim=ndim) * std + avg

    def _redrawn(self, z0: Any, z1: Any, cosine: Any, sine: Any, dtype: str, nstreams: Any) -> tuple[Any, Any]:
        """Drop numbers beyond 2; at the end come as many others in the same directions whose radius is at most 2."""
        bad0, bad1 = abs(z0) > 2.0, abs(z1) > 2.0
        index0, index1 = tensor.nonzero(bad0)[0], tensor.nonzero(bad1)[0]
        # A radius of at most 2 means a uniform number of at least exp(-2).
        lower = tensor.constant(np.exp(-2.0), dtype=dtype)
        u = self.uniform((index0.size + index1.size,), low=lower, high=1.0, ndim=1, dtype=dtype, nstreams=nstreams)
        r = tensor.sqrt(-2.0 * tensor.log(u))
        fixed0 = r[: index0.size] * cosine[index0]
        fixed1 = r[index0.size :] * sine[index1]
        good0, good1 = tensor.nonzero(~bad0)[0], tensor.nonzero(~bad1)[0]
        return tensor.join(0, z0[good0], fixed0), tensor.join(0, z1[good1], fixed1)

    def truncated_normal(
        self,
        size: Any,
        avg: Any = 0.0,
        std: Any = 1.0,
        ndim: int | None = None,
        dtype: str | None = None,
        nstreams: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """Draw from the normal distribution cut symmetrically, such that `std` is that of the sample; see :meth:`normal`."""
        std = tensor.as_tensor_variable(std)
        if dtype is None:
            dtype = upcast(config.floatX, tensor.as_tensor_variable(avg).dtype, std.dtype)
        # The standard deviation of the standard normal distribution cut at -2 and 2.
        std = std / tensor.constant(0.87962566103423978, dtype=dtype)
        return self.normal(size, avg, std, ndim=ndim, dtype=dtype, nstreams=nstreams, truncate=True)


@local_optimizer([mrg_uniform])
def mrg_random_make_inplace(node: Apply) -> Any:
    """``mrg_uniform(states)`` -> the same in the memory of the states, where nobody else needs the old ones."""
    op = node.op
    if not isinstance(op, mrg_uniform) or op.inplace:
        return False
    return type(op)(op.output_type, inplace=True).make_node(*node.inputs).outputs


optdb.register("random_make_inplace_mrg", in2out(mrg_random_make_inplace, ignore_newtrees=True), 99, "fast_run", "inplace")

__getattr__, __dir__ = aliases.lazy(__name__)
