"""Random numbers drawn from NumPy's RandomState: the Type, the Op, and the distributions.

A draw is a function of a state and returns the new state with the sample.
:mod:`theano.tensor.shared_randomstreams` keeps the states in shared variables.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable
from copy import deepcopy
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from theano import aliases, gof
from theano.configdefaults import config
from theano.gof import Apply, Op, Variable, local_optimizer
from theano.gof.opt import copy_stack_trace, in2out
from theano.gof.rewriting.stages import optdb
from theano.gradient_types import grad_undefined
from theano.scalar import upcast
from theano.tensor import basic as tensor

__getattr__, __dir__ = aliases.lazy(__name__)


@functools.cache
def pending_normal_at() -> int:
    """Where a RandomState in memory has its pending normal; 0 if its state does not lie as expected.

    There is an int that tells whether there is a pending normal, and 8 bytes further the number; the words of a Mersenne Twister
    stand behind one another, with the position after them.

    NumPy takes thirty times as long as a copy of the memory to make an array of the words.

    Examples
    --------
    >>> pending_normal_at() >= 0
    True
    """
    if sys.implementation.name != "cpython":
        return 0
    mark = 0.12345678987654321
    generator = np.random.RandomState(1)
    generator.random_sample(3)
    state: Any = generator.get_state(legacy=False)
    expected = np.array([*state["state"]["key"], state["state"]["pos"]], dtype="uint32")
    words = np.frombuffer(ctypes.string_at(generator._bit_generator.ctypes.state_address, expected.nbytes), dtype="uint32")
    generator.set_state({**state, "has_gauss": 1, "gauss": mark})
    memory = ctypes.string_at(id(generator), type(generator).__basicsize__)
    at = memory.find(np.float64(mark).tobytes()) - 8
    if at < 0 or not np.array_equal(words, expected):
        return 0
    pending = ctypes.c_int.from_address(id(generator) + at)
    there = pending.value
    generator.set_state({**state, "has_gauss": 0, "gauss": 0.0})
    return at if (there, pending.value) == (1, 0) else 0


class RandomStateType(gof.type.SingletonType):
    """The Type of ``numpy.random.RandomState`` values.

    See Also
    --------
    theano.tensor.shared_randomstreams.RandomStateSharedVariable : A shared variable that holds a RandomState.
    theano.tensor.shared_randomstreams.randomstate_constructor : Make a shared variable of a RandomState, of a copy of it
        unless `borrow`.
    theano.tensor.raw_random.RandomFunction : Draw from a RandomState; the outputs are the new state and the sample.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = np.random.RandomState(5), np.random.RandomState(5)
    >>> RandomStateType().values_eq(a, b)
    True
    >>> drawn = b.uniform()
    >>> RandomStateType().values_eq(a, b)
    False
    """

    def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Return `data` if it is a RandomState, else raise TypeError."""
        if self.is_valid_value(data):
            return data
        raise TypeError(f"expected a numpy.random.RandomState, got {type(data)}")

    def is_valid_value(self, a: Any, strict: bool = True) -> bool:
        return isinstance(a, np.random.RandomState)

    def values_eq(self, a: Any, b: Any) -> bool:
        """Return whether two generators are in the same state."""
        one, other = a.get_state(), b.get_state()
        return all(np.array_equal(x, y) for x, y in zip(one, other))

    @staticmethod
    def may_share_memory(a: Any, b: Any) -> bool:
        return a is b

    @staticmethod
    def get_state(value: Any) -> Any:
        """Return what :meth:`set_state` needs to put a generator back into its present state.

        Parameters
        ----------
        value : RandomState
            The generator.
        """
        return value.get_state(legacy=False)

    @staticmethod
    def set_state(value: Any, state: Any) -> None:
        """Put a generator into a state that it had."""
        value.set_state(state)

    def get_shape_info(self, obj: Any) -> None:
        return None

    def get_size(self, shape_info: Any) -> int:
        # What a Mersenne Twister keeps: 624 words, position and a pending normal.
        return 624 * 4 + 32


random_state_type = RandomStateType()


class _Drawing(NamedTuple):
    """Draws samples of one dtype and rank.

    Parameters
    ----------
    draw
        A method of ``RandomState``, or a function like one.
    dtype, ndim
        Of the samples.
    ndim_added
        Dimensions of a single draw.
    """

    draw: Callable[..., Any]
    dtype: str
    ndim: int
    ndim_added: int

    def __call__(self, state: Any, shape: Any, *args: Any) -> np.ndarray:
        # Methods of compiled classes do not look at what they are called of.
        if not isinstance(state, np.random.RandomState):
            raise TypeError(f"Expected a RandomState, got {state} of {type(state)}")
        size = tuple(np.asarray(shape).tolist()) or None
        if size is not None and self.ndim != len(size) + self.ndim_added:
            raise ValueError(
                f"Shape mismatch: self.outtype.ndim ({self.ndim}) != len(shape) ({len(size)}) + "
                f"self.ndim_added ({self.ndim_added})"
            )
        sample = np.asarray(self.draw(state, *args, size), dtype=self.dtype)
        if size is None and sample.ndim < self.ndim:
            # NumPy returns a scalar where all arguments have one element.
            sample = sample.reshape((1,) * (self.ndim - sample.ndim) + sample.shape)
        if sample.ndim != self.ndim:
            raise ValueError(f"The sample should have dimension {self.ndim}, it has shape {sample.shape}")
        return sample


class RandomFunction(Op):
    """Draw from a RandomState; the outputs are the new state and the sample.

    Parameters
    ----------
    fn : str or callable
        Name of a method of RandomState, or a function that is called with a
        RandomState, the arguments, and the shape.
    outtype : TensorType
        Type of the sample.
    inplace : bool
        Whether to advance the given state instead of a copy of it.
    ndim_added : int
        How many dimensions one draw has.

    See Also
    --------
    theano.tensor.raw_random.choice_helper : Draw elements of an array, or numbers below a limit.
    theano.tensor.raw_random.choice : Draw elements of the vector `a`, or integers below the scalar `a`; see `uniform`.
    theano.tensor.raw_random.permutation_helper : Draw permutations of the integers below `n`, one for each index into
        `shape`.

    Examples
    --------
    >>> import numpy as np
    >>> state = random_state_type("state")
    >>> exponential = RandomFunction("exponential", tensor.dvector)
    >>> new_state, sample = exponential(state, (3,), 2.0)
    >>> drawn = sample.eval({state: np.random.RandomState(5)})
    >>> bool(np.allclose(drawn, np.random.RandomState(5).exponential(2.0, 3)))
    True
    """

    __props__ = ("fn", "outtype", "inplace", "ndim_added")

    def __init__(self, fn: str | Callable[..., Any], outtype: Any, inplace: bool = False, ndim_added: int = 0):
        self.fn = fn
        self.outtype = outtype
        self.inplace = inplace
        self.ndim_added = ndim_added
        if inplace:
            self.destroy_map = {0: [0]}

    def __str__(self) -> str:
        name = self.fn if isinstance(self.fn, str) else self.fn.__name__
        return f"RandomFunction{{{name}}}"

    def make_node(self, r: Variable, shape: Any, *args: Any) -> Apply:
        """Return the node.

        Parameters
        ----------
        r : Variable
            The state.
        shape : Variable or sequence
            Shape of the sample without the dimensions of a single draw, a vector of
            integers; an empty one leaves the shape to the arguments.
        *args
            Arguments of the distribution.
        """
        if not isinstance(r.type, RandomStateType):
            raise TypeError(f"The first argument must be of RandomStateType, got {r.type}")
        shape_variable = tensor.as_tensor_variable(shape, ndim=1)
        if isinstance(shape, (tuple, list)) and not shape:
            shape_variable = shape_variable.astype("int64")
        if shape_variable.dtype not in ("int64", "int32", "int16", "int8", "uint8", "uint16", "uint32"):
            raise TypeError(f"The shape must be a vector of integers, got {shape_variable.type}")
        arguments = [tensor.as_tensor_variable(a) for a in args]
        return Apply(self, [r, shape_variable, *arguments], [r.type(), self.outtype()])

    @property
    def drawing(self) -> _Drawing:
        """What draws the samples."""
        draw = getattr(np.random.RandomState, self.fn) if isinstance(self.fn, str) else self.fn
        return _Drawing(draw, self.outtype.dtype, self.outtype.ndim, self.ndim_added)

    def infer_shape(self, node: Apply, input_shapes: list[Any]) -> list[Any]:
        shape = node.inputs[1]
        automatic = len(getattr(shape, "data", [0])) == 0
        if automatic and self.outtype.ndim == 0:
            return [None, ()]
        if self.ndim_added or automatic:
            return [None, None]
        return [None, [shape[i] for i in range(node.outputs[1].ndim)]]

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[list[Any]]) -> None:
        r, *given = inputs
        output_storage[0][0] = r = r if self.inplace else deepcopy(r)
        output_storage[1][0] = self.drawing(r, *given)

    def grad(self, inputs: list[Variable], output_grads: list[Variable]) -> list[Variable]:
        comment = "No gradient defined through raw random numbers op"
        return [grad_undefined(self, k, x, comment) for k, x in enumerate(inputs)]

    def R_op(self, inputs: list[Variable], eval_points: list[Any]) -> list[Any]:
        return [None, None]


def _dimension(s: Any, i: int, ndim: int, args: tuple[Variable, ...]) -> tuple[Any, bool]:
    """Return the length of dimension `i`, given as `s`, and whether it is known to be 1."""
    if isinstance(s, Variable):
        return s, False
    if s != int(s) or s < -1:
        raise TypeError(f"Elements of shape must be integers, -1 or symbolic, got {s}")
    if s >= 0:
        return tensor.as_tensor_variable(int(s)), s == 1
    overlapping = [(a, i + a.ndim - ndim) for a in args if i + a.ndim >= ndim]
    if not overlapping:
        raise ValueError("Auto-shape of -1 must overlap with the shape of one of the broadcastable inputs")
    for a, axis in overlapping:
        if not a.broadcastable[axis]:
            return a.shape[axis], False
    return tensor.as_tensor_variable(1), True


def _infer_ndim_bcast(ndim: int | None, shape: Any, *args: Variable) -> tuple[int, Variable, tuple[bool, ...]]:
    """Return the number of dimensions, the shape and the broadcast pattern of a sample.

    Parameters
    ----------
    ndim : int, optional
        Number of dimensions, needed where the length of `shape` is not known.
    shape : sequence, Variable or None
        The shape. In a sequence -1 stands for the length of the broadcast
        arguments; None takes the whole shape from them.
    *args : Variable
        Arguments of the distribution.
    """
    args_ndim = max((a.ndim for a in args), default=0)
    if isinstance(shape, (tuple, list)):
        if ndim is None:
            ndim = len(shape)
        elif ndim != len(shape):
            raise ValueError(f"ndim should be equal to len(shape), but ndim = {ndim}, len(shape) = {len(shape)}: {shape}")
        pairs = [_dimension(s, i, ndim, args) for i, s in enumerate(shape)]
        lengths = [length for length, _ in pairs]
        broadcastable = tuple(bool(one) for _, one in pairs)
        v_shape = tensor.stack(lengths) if lengths else tensor.constant(np.zeros(0, dtype="int64"))
    elif shape is None:
        if not args:
            raise TypeError("the shape cannot be inferred without arguments: give size")
        template: Any = reduce(lambda a, b: a + b, args)  # type: ignore[operator]
        v_shape, broadcastable, ndim = template.shape, tuple(template.broadcastable), template.ndim
    else:
        v_shape = tensor.as_tensor_variable(shape)
        if v_shape.ndim != 1:
            raise TypeError(f"shape must be a vector or list of scalar, got: {v_shape}")
        if ndim is None:
            ndim = tensor.get_vector_length(v_shape)
        broadcastable = (False,) * ndim
    if v_shape.ndim != 1 or (v_shape.dtype not in tensor.integer_dtypes and ndim):
        raise TypeError(f"shape must be an integer vector or list, got {v_shape.dtype}")
    if args_ndim > ndim:
        raise ValueError(f"ndim should be at least as big as required by args value: {(ndim, args_ndim)}, {args}")
    return ndim, v_shape, broadcastable


def _draw(fn: Any, random_state: Variable, size: Any, ndim: int | None, dtype: str, *args: Variable) -> Any:
    ndim, size, broadcastable = _infer_ndim_bcast(ndim, size, *args)
    return RandomFunction(fn, tensor.TensorType(dtype=dtype, broadcastable=broadcastable))(random_state, size, *args)


def uniform(
    random_state: Variable, size: Any = None, low: Any = 0.0, high: Any = 1.0, ndim: int | None = None, dtype: str | None = None
) -> Any:
    """Draw from the uniform distribution on ``[low, high[``.

    Parameters
    ----------
    random_state : Variable
        The state.
    size : sequence or Variable, optional
        Shape of the sample; by default that of the arguments.
    low, high : tensor_like
        The limits.
    ndim : int, optional
        Number of dimensions, where `size` does not tell.
    dtype : str, optional
        Type of the sample; by default floatX or a larger type of the limits.

    Returns
    -------
    list of Variable
        The new state and the sample.

    See Also
    --------
    theano.tensor.raw_random.normal : Draw from the normal distribution of mean `avg` and standard deviation `std`; see
        `uniform`.
    theano.tensor.raw_random.binomial : Draw how often, of `n` trials of probability `p`, one succeeds; see `uniform`.

    Examples
    --------
    >>> import numpy as np
    >>> state = random_state_type("state")
    >>> new_state, first = uniform(state, size=(2,))
    >>> newest_state, second = uniform(new_state, size=(1,))
    >>> both = tensor.concatenate([first, second])
    >>> drawn = both.eval({state: np.random.RandomState(5)})
    >>> bool(np.allclose(drawn, np.random.RandomState(5).uniform(size=3)))
    True
    """
    low, high = tensor.as_tensor_variable(low), tensor.as_tensor_variable(high)
    if dtype is None:
        dtype = upcast(config.floatX, low.dtype, high.dtype)
    return _draw("uniform", random_state, size, ndim, dtype, low, high)


def normal(
    random_state: Variable, size: Any = None, avg: Any = 0.0, std: Any = 1.0, ndim: int | None = None, dtype: str | None = None
) -> Any:
    """Draw from the normal distribution of mean `avg` and standard deviation `std`; see :func:`uniform`.

    Parameters
    ----------
    random_state, size, ndim : Variable
        As for :func:`uniform`.
    avg, std : tensor_like
        Means and standard deviations.
    dtype : str, optional
        That of the sample, by default floatX or a larger type of the arguments.

    Returns
    -------
    list of Variable
        The new state and the sample.

    See Also
    --------
    theano.tensor.raw_random.uniform : Draw from the uniform distribution on ``[low, high[``.

    Examples
    --------
    >>> import numpy as np
    >>> state = random_state_type("state")
    >>> new_state, sample = normal(state, size=(3,), avg=10.0, std=2.0)
    >>> drawn = sample.eval({state: np.random.RandomState(5)})
    >>> bool(np.allclose(drawn, np.random.RandomState(5).normal(10.0, 2.0, 3)))
    True
    """
    avg, std = tensor.as_tensor_variable(avg), tensor.as_tensor_variable(std)
    if dtype is None:
        dtype = upcast(config.floatX, avg.dtype, std.dtype)
    return _draw("normal", random_state, size, ndim, dtype, avg, std)


def binomial(
    random_state: Variable, size: Any = None, n: Any = 1, p: Any = 0.5, ndim: int | None = None, dtype: str = "int64"
) -> Any:
    """Draw how often, of `n` trials of probability `p`, one succeeds; see :func:`uniform`.

    Parameters
    ----------
    random_state, size, ndim : Variable
        As for :func:`uniform`.
    n, p : tensor_like
        Numbers of trials, probabilities.
    dtype : str, optional
        That of the sample.

    Returns
    -------
    list of Variable
        The new state and the sample.

    See Also
    --------
    theano.tensor.raw_random.uniform : Draw from the uniform distribution on ``[low, high[``.

    Examples
    --------
    >>> import numpy as np
    >>> state = random_state_type("state")
    >>> new_state, sample = binomial(state, size=(4,), n=10, p=0.5)
    >>> drawn = sample.eval({state: np.random.RandomState(5)})
    >>> drawn.tolist() == np.random.RandomState(5).binomial(10, 0.5, 4).tolist()
    True
    """
    n, p = tensor.as_tensor_variable(n), tensor.as_tensor_variable(p)
    return _draw("binomial", random_state, size, ndim, dtype, n, p)


def random_integers_helper(random_state: Any, low: Any, high: Any, size: Any) -> np.ndarray:
    """Draw integers between arrays of limits, both included.

    Parameters
    ----------
    random_state : RandomState
        It is advanced.
    low, high : array_like
        The limits.
    size : tuple of int or None
        Of the sample; by default that of the limits.

    Returns
    -------
    ndarray
        The sample.

    See Also
    --------
    theano.tensor.raw_random.random_integers : Draw integers between `low` and `high`, both included; see `uniform`.
    theano.tensor.raw_random.RandomFunction : Draw from a RandomState; the outputs are the new state and the sample.

    Examples
    --------
    >>> import numpy as np
    >>> random_integers_helper(np.random.RandomState(5), low=[1, 7], high=[1, 7], size=(2, 2)).tolist()
    [[1, 7], [1, 7]]
    """
    low, high = np.asarray(low), np.asarray(high)
    if size is None:
        size = np.broadcast_shapes(low.shape, high.shape)
    if low.ndim == high.ndim == 0:
        return np.asarray(random_state.randint(int(low), int(high) + 1, size=size))
    low, high = np.broadcast_to(low, size), np.broadcast_to(high, size)
    out = np.empty(size, dtype="int64")
    for index in np.ndindex(*size):
        out[index] = random_state.randint(low[index], high[index] + 1)
    return out


def random_integers(
    random_state: Variable, size: Any = None, low: Any = 0, high: Any = 1, ndim: int | None = None, dtype: str = "int64"
) -> Any:
    """Draw integers between `low` and `high`, both included; see :func:`uniform`.

    Parameters
    ----------
    random_state, size, ndim : Variable
        As for :func:`uniform`.
    low, high : tensor_like
        The limits.
    dtype : str, optional
        That of the sample.

    Returns
    -------
    list of Variable
        The new state and the sample.

    See Also
    --------
    theano.tensor.raw_random.uniform : Draw from the uniform distribution on ``[low, high[``.

    Examples
    --------
    >>> import numpy as np
    >>> state = random_state_type("state")
    >>> new_state, dice = random_integers(state, size=(1000,), low=1, high=6)
    >>> drawn = dice.eval({state: np.random.RandomState(5)})
    >>> sorted(set(drawn.tolist()))
    [1, 2, 3, 4, 5, 6]
    """
    low, high = tensor.as_tensor_variable(low), tensor.as_tensor_variable(high)
    return _draw(random_integers_helper, random_state, size, ndim, dtype, low, high)


def choice_helper(random_state: Any, a: Any, replace: Any, p: Any, size: Any) -> np.ndarray:
    """Draw elements of an array, or numbers below a limit.

    Parameters
    ----------
    random_state : RandomState
        It is advanced.
    a : array_like
        A vector, or the limit.
    replace : bool
        Whether an element may be drawn more than once.
    p : array_like
        Probabilities; 0-d for equal ones.
    size : tuple of int
        Of the sample.

    Returns
    -------
    ndarray
        The sample.

    Raises
    ------
    ValueError
        If `a` has more than one dimension, or `p` is neither a vector nor 0-d.

    See Also
    --------
    theano.tensor.raw_random.choice : Draw elements of the vector `a`, or integers below the scalar `a`; see `uniform`.
    theano.tensor.raw_random.RandomFunction : Draw from a RandomState; the outputs are the new state and the sample.

    Examples
    --------
    >>> import numpy as np
    >>> choice_helper(np.random.RandomState(5), a=[10, 20, 30], replace=True, p=[0, 1, 0], size=(2,)).tolist()
    [20, 20]
    """
    a = np.asarray(a)
    if a.ndim > 1:
        raise ValueError(f"a.ndim ({a.ndim}) must be 0 or 1")
    p = np.asarray(p)
    if p.ndim > 1:
        raise ValueError(f"p.ndim ({p.ndim}) must be 1, or 0 for equal probabilities")
    chances = p.astype("float64") if p.ndim else None
    if chances is not None:
        # In a smaller type the sum may miss 1 by more than NumPy allows.
        chances = chances / chances.sum()
    return np.asarray(random_state.choice(int(a) if a.ndim == 0 else a, size=size, replace=bool(replace), p=chances))


def choice(
    random_state: Variable,
    size: Any = None,
    a: Any = 2,
    replace: Any = True,
    p: Any = None,
    ndim: int | None = None,
    dtype: str = "int64",
) -> Any:
    """Draw elements of the vector `a`, or integers below the scalar `a`; see :func:`uniform`.

    Parameters
    ----------
    replace : bool
        Whether an element may be drawn more than once.
    p : tensor_like, optional
        Vector of probabilities; by default all are equal.
    random_state, size, ndim : Variable
        As for :func:`uniform`.
    a : tensor_like
        Vector or integer scalar.
    dtype : str, optional
        That of the sample.

    Returns
    -------
    list of Variable
        The new state and the sample.

    See Also
    --------
    theano.tensor.raw_random.uniform : Draw from the uniform distribution on ``[low, high[``.

    Examples
    --------
    >>> import numpy as np
    >>> state = random_state_type("state")
    >>> new_state, sample = choice(state, size=(3,), a=[10, 20, 30], replace=False)
    >>> sorted(sample.eval({state: np.random.RandomState(5)}).tolist())
    [10, 20, 30]
    """
    a = tensor.as_tensor_variable(a)
    replace = tensor.constant(bool(replace), dtype="int8") if isinstance(replace, bool) else tensor.as_tensor_variable(replace)
    p = tensor.as_tensor_variable(0.0 if p is None else p)
    ndim, size, broadcastable = _infer_ndim_bcast(ndim, () if size is None else size)
    op = RandomFunction(choice_helper, tensor.TensorType(dtype=dtype, broadcastable=broadcastable))
    return op(random_state, size, a, replace, p)


def poisson_helper(random_state: Any, lam: Any, size: Any) -> np.ndarray:
    """Draw from Poisson distributions.

    Parameters
    ----------
    random_state : RandomState
        It is advanced.
    lam : array_like
        Means.
    size : tuple of int or None
        Of the sample.

    Returns
    -------
    ndarray
        The sample.

    See Also
    --------
    theano.tensor.raw_random.poisson : Draw from the Poisson distribution of mean `lam`; see `uniform`.
    theano.tensor.raw_random.RandomFunction : Draw from a RandomState; the outputs are the new state and the sample.

    Examples
    --------
    >>> import numpy as np
    >>> poisson_helper(np.random.RandomState(5), lam=[0.0, 0.0], size=(3, 2)).tolist()
    [[0, 0], [0, 0], [0, 0]]
    """
    return np.asarray(random_state.poisson(lam, size))


def poisson(random_state: Variable, size: Any = None, lam: Any = 1.0, ndim: int | None = None, dtype: str = "int64") -> Any:
    """Draw from the Poisson distribution of mean `lam`; see :func:`uniform`.

    Parameters
    ----------
    random_state, size, ndim : Variable
        As for :func:`uniform`.
    lam : tensor_like
        Means.
    dtype : str, optional
        That of the sample.

    Returns
    -------
    list of Variable
        The new state and the sample.

    Raises
    ------
    TypeError
        If `ndim` asks for more dimensions than `lam` has, without a size.

    See Also
    --------
    theano.tensor.raw_random.uniform : Draw from the uniform distribution on ``[low, high[``.

    Examples
    --------
    >>> import numpy as np
    >>> state = random_state_type("state")
    >>> new_state, sample = poisson(state, lam=[0.0, 5.0])
    >>> drawn = sample.eval({state: np.random.RandomState(5)})
    >>> drawn.tolist() == np.random.RandomState(5).poisson([0.0, 5.0]).tolist()
    True
    """
    lam = tensor.as_tensor_variable(lam)
    if size is None and ndim not in (None, lam.ndim):
        raise TypeError(f"a sample of {ndim} dimensions needs a size: lam has {lam.ndim} dimensions")
    return _draw(poisson_helper, random_state, size, ndim, dtype, lam)


def permutation_helper(random_state: Any, n: Any, shape: Any) -> np.ndarray:
    """Draw permutations of the integers below `n`, one for each index into `shape`.

    Parameters
    ----------
    random_state : RandomState
        It is advanced.
    n : array_like
        One integer.
    shape : tuple of int or None
        How many permutations; None is ().

    Returns
    -------
    ndarray
        Of dtype int64, with `n` as the last length.

    See Also
    --------
    theano.tensor.raw_random.permutation : Draw permutations of the integers below `n`; the sample has one more dimension
        than `size`; see `uniform`.
    theano.tensor.raw_random.RandomFunction : Draw from a RandomState; the outputs are the new state and the sample.

    Examples
    --------
    >>> import numpy as np
    >>> rows = permutation_helper(np.random.RandomState(5), 3, (2,))
    >>> rows.shape, np.sort(rows).tolist()
    ((2, 3), [[0, 1, 2], [0, 1, 2]])
    """
    n = int(np.asarray(n).item())
    shape = () if shape is None else tuple(shape)
    out = np.empty((*shape, n), dtype="int64")
    for index in np.ndindex(*shape):
        out[index] = random_state.permutation(n)
    return out


def permutation(
    random_state: Variable, size: Any = None, n: Any = 1, ndim: int | None = None, dtype: str = "int64"
) -> Any:
    """Draw permutations of the integers below `n`; the sample has one more dimension than `size`; see :func:`uniform`.

    Parameters
    ----------
    random_state, size, ndim : Variable
        As for :func:`uniform`.
    n : int or scalar
        How many integers.
    dtype : str, optional
        That of the sample.

    Returns
    -------
    list of Variable
        The new state and the sample.

    Raises
    ------
    TypeError
        If `size` is None and `ndim` asks for more than one permutation.

    See Also
    --------
    theano.tensor.raw_random.uniform : Draw from the uniform distribution on ``[low, high[``.

    Examples
    --------
    >>> import numpy as np
    >>> state = random_state_type("state")
    >>> new_state, sample = permutation(state, size=(2,), n=4)
    >>> np.sort(sample.eval({state: np.random.RandomState(5)})).tolist()
    [[0, 1, 2, 3], [0, 1, 2, 3]]
    """
    if size is None or (isinstance(size, (tuple, list)) and not size):
        if ndim not in (None, 0, 1):
            raise TypeError("You asked for just one permutation but asked for 2 dimensions.")
        ndim, size = None, ()
    ndim, size, broadcastable = _infer_ndim_bcast(ndim, size)
    op = RandomFunction(
        permutation_helper, tensor.TensorType(dtype=dtype, broadcastable=(*broadcastable, False)), ndim_added=1
    )
    return op(random_state, size, n)


def multinomial_helper(random_state: Any, n: Any, pvals: Any, size: Any) -> np.ndarray:
    """Draw from multinomial distributions, with arrays of numbers of trials and of probabilities.

    Parameters
    ----------
    random_state : RandomState
        It is advanced.
    n : array_like
        Numbers of trials.
    pvals : array_like
        Probabilities, along the last dimension.
    size : tuple of int or None
        Of the sample, without the last dimension; by default that of the arrays.

    Returns
    -------
    ndarray
        The sample, int64.

    See Also
    --------
    theano.tensor.raw_random.multinomial : Draw how often each outcome comes up in `n` trials; the sample has one more
        dimension than `size`; see `uniform`.
    theano.tensor.raw_random.RandomFunction : Draw from a RandomState; the outputs are the new state and the sample.

    Examples
    --------
    >>> import numpy as np
    >>> multinomial_helper(np.random.RandomState(5), n=[1, 6], pvals=[[0.0, 1.0], [1.0, 0.0]], size=None).tolist()
    [[0, 1], [6, 0]]
    """
    n, pvals = np.asarray(n), np.asarray(pvals)
    # NumPy checks that the probabilities sum to one in double precision.
    pvals = pvals.astype("float64")
    if size is None:
        size = np.broadcast_shapes(n.shape, pvals.shape[:-1])
    totals = pvals[..., :-1].sum(axis=-1, keepdims=True)
    pvals = pvals / np.where((totals > 1) & (totals < 1 + 1e-5), totals, 1)
    if n.ndim == 0 and pvals.ndim == 1:
        return np.asarray(random_state.multinomial(int(n), pvals, size))
    n = np.broadcast_to(n, size)
    pvals = np.broadcast_to(pvals, (*size, pvals.shape[-1]))
    out = np.empty(pvals.shape, dtype="int64")
    for index in np.ndindex(*size):
        out[index] = random_state.multinomial(int(n[index]), pvals[index])
    return out


def multinomial(
    random_state: Variable,
    size: Any = None,
    n: Any = 1,
    pvals: Any = (0.5, 0.5),
    ndim: int | None = None,
    dtype: str = "int64",
) -> Any:
    """Draw how often each outcome comes up in `n` trials; the sample has one more dimension than `size`; see :func:`uniform`.

    Parameters
    ----------
    n : tensor_like
        Number of trials.
    pvals : tensor_like
        Probabilities of the outcomes, along the last dimension.
    random_state, size, ndim : Variable
        As for :func:`uniform`.
    dtype : str, optional
        That of the sample.

    Returns
    -------
    list of Variable
        The new state and the sample.

    See Also
    --------
    theano.tensor.raw_random.uniform : Draw from the uniform distribution on ``[low, high[``.

    Examples
    --------
    >>> import numpy as np
    >>> state = random_state_type("state")
    >>> new_state, sample = multinomial(state, size=(2,), n=6, pvals=[0.5, 0.25, 0.25])
    >>> drawn = sample.eval({state: np.random.RandomState(5)})
    >>> drawn.shape, drawn.sum(axis=1).tolist()
    ((2, 3), [6, 6])
    """
    n = tensor.as_tensor_variable(n)
    pvals = tensor.as_tensor_variable(list(pvals) if isinstance(pvals, tuple) else pvals)
    ndim, size, broadcastable = _infer_ndim_bcast(ndim, size, n, pvals.T[0].T)
    type_ = tensor.TensorType(dtype=dtype, broadcastable=(*broadcastable, pvals.type.broadcastable[-1]))
    return RandomFunction(multinomial_helper, type_, ndim_added=1)(random_state, size, n, pvals)


@local_optimizer([RandomFunction])
def random_make_inplace(node: Apply) -> Any:
    """``RandomFunction(state)`` -> the same on the state itself, where nobody else needs the old state."""
    op = node.op
    if not isinstance(op, RandomFunction) or op.inplace:
        return False
    new_op = RandomFunction(op.fn, op.outtype, inplace=True, ndim_added=op.ndim_added)
    new_outputs = new_op.make_node(*node.inputs).outputs
    for old, new in zip(node.outputs, new_outputs, strict=True):
        copy_stack_trace(old, new)
    return new_outputs


optdb.register(
    "random_make_inplace", in2out(random_make_inplace, ignore_newtrees=True), 99, "fast_run", "inplace", "inplace_random"
)


class RandomStreamsBase:
    """The distributions, for classes whose ``gen(op, *args, **kwargs)`` provides the state.

    See Also
    --------
    theano.tensor.shared_randomstreams.RandomStreams : A symbolic stand-in for ``numpy.random.RandomState``.

    Examples
    --------
    >>> import numpy as np
    >>> class OneState(RandomStreamsBase):
    ...     def __init__(self, state):
    ...         self.state = state
    ...     def gen(self, op, *args, **kwargs):
    ...         self.state, sample = op(self.state, *args, **kwargs)
    ...         return sample
    >>> state = random_state_type("state")
    >>> streams = OneState(state)
    >>> first, second = streams.uniform(()), streams.uniform(())
    >>> bool((first - second).eval({state: np.random.RandomState(5)}) == 0)
    False
    """

    gen: Callable[..., Any]

    def binomial(self, size: Any = None, n: Any = 1, p: Any = 0.5, ndim: int | None = None, dtype: str = "int64") -> Any:
        """Draw how often, of `n` trials of probability `p`, one succeeds."""
        return self.gen(binomial, size, n, p, ndim=ndim, dtype=dtype)

    def uniform(
        self, size: Any = None, low: Any = 0.0, high: Any = 1.0, ndim: int | None = None, dtype: str | None = None
    ) -> Any:
        """Draw from the uniform distribution on ``[low, high[``.

        If `size` does not tell the number of dimensions, `ndim` has to.
        """
        return self.gen(uniform, size, low, high, ndim=ndim, dtype=dtype)

    def normal(
        self, size: Any = None, avg: Any = 0.0, std: Any = 1.0, ndim: int | None = None, dtype: str | None = None
    ) -> Any:
        """Draw from the normal distribution of mean `avg` and standard deviation `std`."""
        return self.gen(normal, size, avg, std, ndim=ndim, dtype=dtype)

    def random_integers(
        self, size: Any = None, low: Any = 0, high: Any = 1, ndim: int | None = None, dtype: str = "int64"
    ) -> Any:
        """Draw integers between `low` and `high`, both included."""
        return self.gen(random_integers, size, low, high, ndim=ndim, dtype=dtype)

    def choice(
        self,
        size: Any = None,
        a: Any = 2,
        replace: Any = True,
        p: Any = None,
        ndim: int | None = None,
        dtype: str = "int64",
    ) -> Any:
        """Draw elements of the vector `a`, or integers below the scalar `a`."""
        return self.gen(choice, size, a, replace, p, ndim=ndim, dtype=dtype)

    def poisson(self, size: Any = None, lam: Any = 1.0, ndim: int | None = None, dtype: str = "int64") -> Any:
        """Draw from the Poisson distribution of mean `lam`."""
        return self.gen(poisson, size, lam, ndim=ndim, dtype=dtype)

    def permutation(self, size: Any = None, n: Any = 1, ndim: int | None = None, dtype: str = "int64") -> Any:
        """Draw permutations of the integers below `n`; the result has one more dimension than `size`."""
        return self.gen(permutation, size, n, ndim=ndim, dtype=dtype)

    def multinomial(
        self, size: Any = None, n: Any = 1, pvals: Any = (0.5, 0.5), ndim: int | None = None, dtype: str = "int64"
    ) -> Any:
        """Draw how often each outcome comes up in `n` trials; the result has one more dimension than `size`."""
        return self.gen(multinomial, size, n, pvals, ndim=ndim, dtype=dtype)

    def shuffle_row_elements(self, input: Variable) -> Variable:
        """Return `input` with the elements of every row (along the last dimension) shuffled.

        The permutation is the attribute ``permutation`` of the result.
        """
        permutation = self.permutation(size=input.shape[:-1], n=input.shape[-1], ndim=input.ndim - 1)
        shuffled = tensor.permute_row_elements(input, permutation)
        shuffled.permutation = permutation
        return shuffled


# A star import takes what it is only passed on as well: programs find `theano` so.
__all__ = [name for name in globals() if not name.startswith("_")] + aliases.names(__name__)
