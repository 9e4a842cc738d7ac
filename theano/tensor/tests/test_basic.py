"""Makers of test cases for tensor operations, and of random arrays for them.

:func:`makeTester` makes a ``unittest.TestCase`` of an operation, a function that gives the expected values, and inputs;
:func:`makeBroadcastTester` does the same for elementwise operations, also in-place ones.
"""

from __future__ import annotations

import copy
import unittest
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import theano
from theano import config, tensor
from theano.compile.mode import get_default_mode
from theano.tests import unittest_tools as utt


def inplace_func(
    inputs: Sequence[Any],
    outputs: Any,
    mode: Any = None,
    allow_input_downcast: bool = False,
    on_unused_input: str = "raise",
    name: str | None = None,
) -> Any:
    """Return a function that may hold in-place operations of the user.

    Parameters
    ----------
    inputs, outputs, mode, allow_input_downcast, on_unused_input, name : sequence
        As for :func:`theano.function`.

    Examples
    --------
    >>> x = tensor.dvector("x")
    >>> f = inplace_func([theano.In(x, mutable=True)], tensor.inplace.exp_inplace(x))
    >>> f([0.0]).tolist()
    [1.0]
    """
    return theano.function(
        inputs,
        outputs,
        mode=get_default_mode() if mode is None else mode,
        allow_input_downcast=allow_input_downcast,
        accept_inplace=True,
        on_unused_input=on_unused_input,
        name=name,
    )


def eval_outputs(outputs: Sequence[Any], ops: Any = (), mode: Any = None) -> Any:
    """Return the values of outputs that have no input: one value, or a list of them.

    Parameters
    ----------
    outputs : sequence of Variable
        What to compute.
    ops : object
        Not used.
    mode : Mode, optional
        In which to compile.

    Examples
    --------
    >>> int(eval_outputs([tensor.constant(2) + 3])), len(eval_outputs([tensor.zeros(2), tensor.ones(2)]))
    (5, 2)
    """
    results = inplace_func([], outputs, mode=mode)()
    return results[0] if len(results) == 1 else results


def get_numeric_subclasses(cls: Any = np.number, ignore: set[Any] | None = None) -> list[Any]:
    """Return the NumPy scalar types below `cls` that arrays can have, without equal ones.

    Parameters
    ----------
    cls : type
        Where to begin.
    ignore : set of int, optional
        Numbers of dtypes to leave out; those that are found are added.

    Examples
    --------
    >>> found = get_numeric_subclasses(np.unsignedinteger)
    >>> np.uint8 in found, np.int8 in found, np.unsignedinteger in found
    (True, False, False)
    """
    ignore = set() if ignore is None else ignore
    result = []
    number = np.dtype(cls).num if not cls.__subclasses__() else None
    if number is not None and number not in ignore:
        ignore.add(number)
        result.append(cls)
    for sub in cls.__subclasses__():
        result.extend(c for c in get_numeric_subclasses(sub, ignore))
    return result


def get_numeric_types(
    with_int: bool = True, with_float: bool = True, with_complex: bool = False, only_theano_types: bool = True
) -> list[Any]:
    """Return NumPy scalar types of the given kinds, by default only those that tensors can have.

    Parameters
    ----------
    with_int, with_float, with_complex : bool
        The kinds.
    only_theano_types : bool, optional
        Whether to leave out others.

    Examples
    --------
    >>> sorted(np.dtype(cls).name for cls in get_numeric_types(with_int=False))
    ['float16', 'float32', 'float64']
    """
    known = {t.dtype for t in theano.scalar.all_types} if hasattr(theano.scalar.all_types[0], "dtype") else set(
        map(str, theano.scalar.all_types)
    )
    result = []
    for cls in get_numeric_subclasses():
        if only_theano_types and np.dtype(cls).name not in known:
            continue
        if (
            (not with_complex and issubclass(cls, np.complexfloating))
            or (not with_int and issubclass(cls, np.integer))
            or (not with_float and issubclass(cls, np.floating))
        ):
            continue
        result.append(cls)
    return result


def safe_make_node(op: Any, *inputs: Any) -> Any:
    """Return the node of `op` applied to `inputs`, which may be a function that returns a variable.

    Examples
    --------
    >>> x = tensor.dmatrix("x")
    >>> safe_make_node(lambda v: [tensor.exp(v), tensor.log(v)], x).op
    Elemwise{exp,no_inplace}
    """
    node = op(*inputs)
    return node[0].owner if isinstance(node, list) else node.owner


def upcast_float16_ufunc(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return `fn` with results of float16 computed in float32.

    Parameters
    ----------
    fn : callable
        A function of NumPy that takes a dtype.

    Examples
    --------
    >>> halves = np.ones(2, "float16")
    >>> np.add(halves, halves).dtype, upcast_float16_ufunc(np.add)(halves, halves).dtype
    (dtype('float16'), dtype('float32'))
    """

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if all(getattr(a, "dtype", None) == np.dtype("float16") for a in args):
            kwargs["dtype"] = "float32"
        return fn(*args, **kwargs)

    return wrapped


def upcast_int8_nfunc(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return `fn` with int8 and uint8 arguments converted to float32, where NumPy would compute in float16.

    Parameters
    ----------
    fn : callable
        A function of arrays.

    Examples
    --------
    >>> small = np.ones(2, "int8")
    >>> np.exp(small).dtype, upcast_int8_nfunc(np.exp)(small).dtype
    (dtype('float16'), dtype('float32'))
    """

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        converted = [a.astype("float32") if getattr(a, "dtype", None) in ("int8", "uint8") else a for a in args]
        return fn(*converted, **kwargs)

    return wrapped


def makeTester(
    name: str,
    op: Callable[..., Any],
    expected: Any,
    checks: Mapping[str, Callable[..., Any]] | None = None,
    good: Any = None,
    bad_build: Any = None,
    bad_runtime: Any = None,
    grad: Any = None,
    mode: Any = None,
    grad_rtol: float | None = None,
    eps: float = 1e-10,
    skip: Any = False,
    test_memmap: bool = True,
    check_name: bool = False,
    grad_eps: float | None = None,
) -> type[unittest.TestCase]:
    """Return a test case of an operation.

    Parameters
    ----------
    name : str
        Name of the class.
    op : callable
        Takes variables and returns a variable or a list of them.
    expected : callable
        Takes values and returns what `op` has to compute.
    checks : dict, optional
        Functions of the list of inputs and the list of outputs; one that returns False fails the test, with its key.
    good : dict, optional
        Lists of values that `op` has to compute as `expected` does.
    bad_build : dict, optional
        Lists of values whose graph has to be refused.
    bad_runtime : dict, optional
        Lists of values for which the function has to raise.
    grad : dict, optional
        Lists of values at which the gradient is verified.
    mode : Mode, optional
        In which functions are compiled.
    grad_rtol, grad_eps : float, optional
        Tolerance and step of the verification of gradients.
    eps : float
        Tolerance of values.
    skip : bool or str
        Whether to skip all tests.
    test_memmap : bool
        Accepted for old programs.
    check_name : bool
        Accepted for old programs.

    Returns
    -------
    type
        A subclass of TestCase.

    Examples
    --------
    >>> TraceTester = makeTester("TraceTester", tensor.nlinalg.trace, np.trace, good={"square": (np.eye(3),)})
    >>> unittest.defaultTestLoader.loadTestsFromTestCase(TraceTester).run(unittest.TestResult())
    <unittest.result.TestResult run=5 errors=0 failures=0>
    """
    cases: dict[str, Any] = {
        "checks": checks or {},
        "good": good or {},
        "bad_build": bad_build or {},
        "bad_runtime": bad_runtime or {},
        "grad": grad or {},
    }

    def table(what: str) -> Mapping[str, Any]:
        found = cases[what]
        return found() if callable(found) else found

    def values_of(what: str) -> list[tuple[str, Any]]:
        found = table(what)
        return list(found.items()) if isinstance(found, Mapping) else [(str(i), v) for i, v in enumerate(found)]

    class Checker(unittest.TestCase):
        def setUp(self) -> None:
            if skip:
                self.skipTest(str(skip))
            warnings.simplefilter("ignore", DeprecationWarning)

        @staticmethod
        def variables(values: Sequence[Any]) -> list[Any]:
            made = []
            for value in values:
                array = np.asarray(value)
                made.append(tensor.TensorType(array.dtype.name, [n == 1 for n in array.shape])())
            return made

        def apply(self, values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
            inputs = self.variables(values)
            result = op(*inputs)
            return inputs, list(result) if isinstance(result, (list, tuple)) else [result]

        def test_good(self) -> None:
            for label, values in values_of("good"):
                originals = [copy.copy(v) for v in values]
                with self.subTest(label):
                    inputs, outputs = self.apply(values)
                    function = inplace_func(inputs, outputs, mode=mode, name=f"{name}/{label}", on_unused_input="ignore")
                    results = function(*values)
                    wanted = expected(*originals)
                    wanted = list(wanted) if isinstance(wanted, (list, tuple)) else [wanted]
                    self.assertEqual(len(results), len(wanted))
                    for variable, result, right in zip(outputs, results, wanted):
                        self.check_value(label, variable, result, right)
                    for description, check in cases["checks"].items():
                        self.assertTrue(check(values, results), f"{name}/{label}: {description}")

        def check_value(self, label: str, variable: Any, result: Any, right: Any) -> None:
            right = np.asarray(right)
            message = f"{name}/{label}: got {result!r}, expected {right!r}"
            self.assertEqual(np.shape(result), right.shape, message)
            self.assertEqual(np.asarray(result).dtype.name, variable.type.dtype, message)
            tolerance = eps
            if "float32" in (np.asarray(result).dtype.name, right.dtype.name) or "complex64" in (
                np.asarray(result).dtype.name,
                right.dtype.name,
            ):
                tolerance = max(eps, 1e-5)
            if "float16" in (np.asarray(result).dtype.name, right.dtype.name):
                tolerance = max(eps, 5e-3)
            close = np.allclose(result, right, rtol=max(tolerance, 1e-8), atol=tolerance, equal_nan=True)
            self.assertTrue(close, message)

        def test_bad_build(self) -> None:
            for label, values in values_of("bad_build"):
                with self.subTest(label), self.assertRaises(Exception):
                    self.apply(values)

        def test_bad_runtime(self) -> None:
            for label, values in values_of("bad_runtime"):
                with self.subTest(label):
                    inputs, outputs = self.apply(values)
                    function = inplace_func(inputs, outputs, mode=mode, name=f"{name}/{label}", on_unused_input="ignore")
                    with self.assertRaises(Exception):
                        function(*values)

        def test_grad(self) -> None:
            if config.cast_policy == "numpy+floatX" and config.floatX == "float32":
                self.skipTest("gradients of float32 are too rough here")
            for label, values in values_of("grad"):
                with self.subTest(label):
                    utt.verify_grad(op, [np.asarray(v) for v in values], mode=mode, rel_tol=grad_rtol, eps=grad_eps)

        def test_grad_none(self) -> None:
            # The gradient of what cannot be differentiated still has to be something that compiles.
            for label, values in values_of("good"):
                with self.subTest(label):
                    inputs, outputs = self.apply(values)
                    if any(getattr(v.owner.op, "destroy_map", None) for v in outputs if v.owner is not None):
                        continue
                    if any("complex" in v.type.dtype for v in (*inputs, *outputs)):
                        continue
                    if any(v.type.dtype in tensor.discrete_dtypes for v in outputs) or not inputs:
                        continue
                    floats = [v for v in inputs if v.type.dtype in tensor.float_dtypes]
                    if not floats:
                        continue
                    cost = sum(v.sum() for v in outputs)
                    grads = theano.grad(cost, floats, disconnected_inputs="ignore", null_gradients="return")
                    self.assertEqual(len(grads), len(floats))

    Checker.__name__ = Checker.__qualname__ = name
    Checker.__module__ = __name__
    return Checker


def rand(*shape: int) -> Any:
    """Return floats between -1 and 1, also as shape ().

    Examples
    --------
    >>> values = rand(100)
    >>> values.shape, bool((abs(values) <= 1).all()), rand().shape
    ((100,), True, ())
    """
    return np.asarray(np.random.rand(*shape) * 2 - 1, dtype=config.floatX)


def rand_nonzero(shape: Sequence[int], eps: float = 3e-4) -> Any:
    """Return floats between -1 and 1, none nearer than `eps` to 0.

    Parameters
    ----------
    shape : sequence of int
        That of the array.
    eps : float, optional
        The least distance.

    Examples
    --------
    >>> bool((abs(rand_nonzero((100,), eps=0.1)) >= 0.1).all())
    True
    """
    values = np.asarray(np.random.rand(*shape) * (1 - eps) + eps * (np.random.rand(*shape) >= 0.5), dtype=config.floatX)
    signs = np.where(np.random.rand(*shape) >= 0.5, 1, -1)
    return np.asarray(np.maximum(values, eps) * signs, dtype=config.floatX)


def randint(*shape: int) -> Any:
    """Return integers from -5 to 5.

    Examples
    --------
    >>> sorted(set(randint(1000).tolist()))
    [-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5]
    """
    return np.random.randint(-5, 6, shape)


def randuint32(*shape: int) -> Any:
    """Return uint32 from 0 to 4.

    Examples
    --------
    >>> values = randuint32(1000)
    >>> values.dtype, sorted(set(values.tolist()))
    (dtype('uint32'), [0, 1, 2, 3, 4])
    """
    return np.array(np.random.randint(5, size=shape), dtype=np.uint32)


def randuint16(*shape: int) -> Any:
    """Return uint16 from 0 to 4.

    Examples
    --------
    >>> values = randuint16(1000)
    >>> values.dtype, sorted(set(values.tolist()))
    (dtype('uint16'), [0, 1, 2, 3, 4])
    """
    return np.array(np.random.randint(5, size=shape), dtype=np.uint16)


def randcomplex(*shape: int) -> Any:
    """Return complex numbers with parts between 0 and 1.

    Examples
    --------
    >>> values = randcomplex(100)
    >>> values.dtype, bool((0 <= values.imag).all() and (values.imag < 1).all())
    (dtype('complex128'), True)
    """
    return np.asarray(np.random.rand(*shape) + 1j * np.random.rand(*shape), dtype=np.complex128)


def randcomplex_nonzero(shape: Sequence[int], eps: float = 1e-4) -> Any:
    """Return complex numbers, none nearer than `eps` to 0.

    Parameters
    ----------
    shape : sequence of int
        That of the array.
    eps : float, optional
        The least distance of the real part.

    Examples
    --------
    >>> bool((abs(randcomplex_nonzero((100,), eps=0.1).real) >= 0.1).all())
    True
    """
    return np.asarray(rand_nonzero(shape, eps) + 1j * rand_nonzero(shape, eps), dtype=np.complex128)


def randint_nonzero(*shape: int) -> Any:
    """Return integers from -5 to 5 without 0.

    Examples
    --------
    >>> sorted(set(randint_nonzero(1000).tolist()))
    [-5, -4, -3, -2, -1, 1, 2, 3, 4, 5]
    """
    values = np.random.randint(-5, 5, shape)
    return values + (values >= 0)


def rand_ranged(min: float, max: float, shape: Sequence[int]) -> Any:
    """Return floats between `min` and `max`.

    Parameters
    ----------
    min, max : float
        The limits.
    shape : sequence of int
        That of the array.

    Examples
    --------
    >>> values = rand_ranged(10, 11, (100,))
    >>> bool((10 <= values).all() and (values <= 11).all())
    True
    """
    return np.asarray(np.random.rand(*shape) * (max - min) + min, dtype=config.floatX)


def randint_ranged(min: int, max: int, shape: Sequence[int]) -> Any:
    """Return integers from `min` to `max`, both included.

    Parameters
    ----------
    min, max : int
        The limits.
    shape : sequence of int
        That of the array.

    Examples
    --------
    >>> sorted(set(randint_ranged(7, 9, (1000,)).tolist()))
    [7, 8, 9]
    """
    return np.random.randint(min, max + 1, tuple(shape))


def randc128_ranged(min: float, max: float, shape: Sequence[int]) -> Any:
    """Return real numbers between `min` and `max` as complex128.

    Parameters
    ----------
    min, max : float
        The limits.
    shape : sequence of int
        That of the array.

    Examples
    --------
    >>> values = randc128_ranged(10, 11, (100,))
    >>> values.dtype, bool((values.imag == 0).all())
    (dtype('complex128'), True)
    """
    return np.asarray(np.random.rand(*shape) * (max - min) + min, dtype="complex128")


def rand_of_dtype(shape: Sequence[int], dtype: str) -> Any:
    """Return random numbers of a dtype.

    Parameters
    ----------
    shape : sequence of int
        That of the array.
    dtype : str
        Its dtype.

    Raises
    ------
    TypeError
        If there are no random numbers of that dtype.

    Examples
    --------
    >>> str(rand_of_dtype((2,), "uint8").dtype), str(rand_of_dtype((2,), "complex64").dtype)
    ('uint8', 'complex64')
    >>> rand_of_dtype((2,), "str")
    Traceback (most recent call last):
        ...
    TypeError: no random numbers of dtype 'str'
    """
    if dtype in tensor.discrete_dtypes:
        return randint(*shape).astype(dtype)
    if dtype in tensor.float_dtypes:
        return rand(*shape).astype(dtype)
    if dtype in tensor.complex_dtypes:
        return randcomplex(*shape).astype(dtype)
    raise TypeError(f"no random numbers of dtype {dtype!r}")


def check_floatX(inputs: Sequence[Any], rval: Any) -> Any:
    """Return `rval`, as float32 where ``config`` asks for it and no input is float64.

    Parameters
    ----------
    inputs : sequence of array
        What was computed with.
    rval : ndarray
        What was computed.

    Examples
    --------
    >>> values = np.ones(2)
    >>> with config.change_flags(floatX="float32", cast_policy="numpy+floatX"):
    ...     check_floatX([np.ones(2, "float32")], values).dtype, check_floatX([values], values).dtype
    (dtype('float32'), dtype('float64'))
    """
    is_float64 = getattr(rval, "dtype", None) == "float64" and config.cast_policy == "numpy+floatX"
    if is_float64 and config.floatX == "float32" and all(getattr(x, "dtype", None) != "float64" for x in inputs):
        return np.asarray(rval, dtype="float32")
    return rval


def makeBroadcastTester(
    op: Any,
    expected: Any,
    checks: Mapping[str, Callable[..., Any]] | None = None,
    name: str | None = None,
    grad_dtype: str | None = None,
    **kwargs: Any,
) -> type[unittest.TestCase]:
    """Return a test case of an elementwise operation; see :func:`makeTester`.

    Parameters
    ----------
    op, expected, checks
        See :func:`makeTester`.
    name : str, optional
        Name of the class; by default that of `op`.
    grad_dtype : str, optional
        Dtype of the inputs at which gradients are verified.
    **kwargs
        ``inplace=True`` checks that the first input is overwritten; the others go to :func:`makeTester`.

    Returns
    -------
    type
        A subclass of TestCase.

    Examples
    --------
    >>> SquareTester = makeBroadcastTester(
    ...     tensor.sqr, np.square, name="Square", good={"matrix": (np.ones((2, 3)),)}, grad={"vector": (np.ones(2),)}
    ... )
    >>> result = unittest.TestResult()
    >>> unittest.defaultTestLoader.loadTestsFromTestCase(SquareTester).run(result)
    <unittest.result.TestResult run=5 errors=0 failures=0>
    """
    checks = dict(checks or {})
    name = str(op) if name is None else name
    if not name.endswith("Tester"):
        name += "Tester"
    if kwargs.pop("inplace", False):
        if callable(expected):

            def overwritten(inputs: Sequence[Any], outputs: Sequence[Any]) -> bool:
                return bool(np.all(np.asarray(inputs[0]) == outputs[0]))

            checks["the output is not in the place of the input"] = overwritten
            compute = expected

            def in_place_dtype(*values: Any) -> Any:
                # The result takes the dtype of the array that it overwrites.
                result = compute(*values)
                wanted = np.asarray(values[0]).dtype
                return np.asarray(result).astype(wanted) if np.asarray(result).dtype != wanted else result

            expected = in_place_dtype
    if grad_dtype is not None:
        kwargs["grad"] = {
            label: [np.asarray(v).astype(grad_dtype) for v in values] for label, values in kwargs["grad"].items()
        }
    return makeTester(name, op, expected, checks, **kwargs)


def multi_dtype_checks(
    shape1: Sequence[int], shape2: Sequence[int], dtypes: Sequence[str] = tuple(tensor.all_dtypes), nameprefix: str = ""
) -> Any:
    """Yield pairs of random arrays of every two dtypes, with a name for each pair.

    Parameters
    ----------
    shape1, shape2 : sequence of int
        Those of the two arrays.
    dtypes : sequence of str, optional
        Each two of them are a pair.
    nameprefix : str, optional
        What the names begin with.

    Yields
    ------
    tuple
        The name, and the pair.

    Examples
    --------
    >>> for name, (a, b) in multi_dtype_checks((2, 3), (3,), ["int8", "float32"], nameprefix="dot"):
    ...     print(name, a.dtype, a.shape, b.dtype, b.shape)
    dot_int8_float32 int8 (2, 3) float32 (3,)
    """
    import itertools

    for dtype1, dtype2 in itertools.combinations(dtypes, 2):
        yield f"{nameprefix}_{dtype1}_{dtype2}", (rand_of_dtype(shape1, dtype1), rand_of_dtype(shape2, dtype2))


def multi_dtype_cast_checks(shape: Sequence[int], dtypes: Sequence[str] = tuple(tensor.all_dtypes), nameprefix: str = "") -> Any:
    """Yield a random array of a dtype and another dtype to cast to, with a name for each pair.

    Parameters
    ----------
    shape : sequence of int
        That of the arrays.
    dtypes : sequence of str, optional
        Each two of them are a pair.
    nameprefix : str, optional
        What the names begin with.

    Yields
    ------
    tuple
        The name, and the pair.

    Examples
    --------
    >>> for name, (array, dtype) in multi_dtype_cast_checks((2,), ["int8", "float32", "float64"], nameprefix="cast"):
    ...     print(name, array.dtype, dtype)
    cast_int8_float32 int8 float32
    cast_int8_float64 int8 float64
    cast_float32_float64 float32 float64
    """
    import itertools

    for dtype1, dtype2 in itertools.combinations(dtypes, 2):
        yield f"{nameprefix}_{dtype1}_{dtype2}", (rand_of_dtype(shape, dtype1), dtype2)
