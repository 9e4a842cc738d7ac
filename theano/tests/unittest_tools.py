"""Helpers for tests of Ops: seeds, comparison of arrays, gradients, shape inference."""

from __future__ import annotations

import logging
import re
import unittest
from collections.abc import Callable
from copy import copy, deepcopy
from functools import wraps
from typing import Any
from unittest import SkipTest  # noqa: F401

import numpy as np

import theano
from theano.compile.debugmode import str_diagnostic
from theano.configparser import config

_logger = logging.getLogger("theano.tests.unittest_tools")

__test__ = False


def __getattr__(name: str) -> Any:
    # Test modules find the package of this name here, if it is installed.
    if name == "parameterized":
        from parameterized import parameterized

        return parameterized
    if name == "attr":
        # The runner's marks of slow tests; here they mark nothing.
        return lambda *args, **kwargs: lambda test: test
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def custom_assert(condition: Any, message: str = "") -> None:
    """Raise an AssertionError unless the condition holds, also under ``python -O``.

    Parameters
    ----------
    condition : object
        What has to be true.
    message : str, optional
        That of the error.

    Raises
    ------
    AssertionError
        If it is false.

    Examples
    --------
    >>> custom_assert(1 + 1 == 2)
    >>> custom_assert(1 + 1 == 3, "wrong sum")
    Traceback (most recent call last):
        ...
    AssertionError: wrong sum
    """
    if not condition:
        raise AssertionError(message)


def fetch_seed(pseed: Any = None) -> Any:
    """Return the seed that tests are to use.

    Parameters
    ----------
    pseed : int, optional
        An explicit seed; by default that of ``config.unittests.rseed``.

    Returns
    -------
    int or None
        The seed. None, for a random one, if the flag is 'random'.

    Raises
    ------
    ValueError
        If ``config.unittests.rseed`` is neither an integer nor ``random``.

    Examples
    --------
    >>> fetch_seed(1234)
    1234
    >>> with theano.config.change_flags({"unittests.rseed": "42"}):
    ...     fetch_seed()
    42
    """
    seed = pseed or config.unittests.rseed
    if seed is None or seed == "random":
        return None
    try:
        return int(seed)
    except ValueError:
        raise ValueError(f"config.unittests.rseed must be an integer or 'random', got {seed!r}") from None


def custom_name_func(testcase_func: Callable[..., Any], param_num: Any, param: Any) -> str:
    """Return the name of a parameterized test, made of its function's and of the arguments.

    Parameters
    ----------
    testcase_func : callable
        The test.
    param_num : int
        Not used.
    param : parameterized.param
        Anything with the arguments as `args`.

    Returns
    -------
    str
        It has letters, digits and underscores only.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> def test_sum(): pass
    >>> custom_name_func(test_sum, 0, SimpleNamespace(args=((2, 3), True)))
    'test_sum__2_3__True'
    """
    return testcase_func.__name__ + "_" + re.sub("[^a-zA-Z0-9_]+", "_", "_".join(map(str, param.args)))


def seed_rng(pseed: Any = None) -> Any:
    """Seed ``numpy.random``.

    Parameters
    ----------
    pseed : int, optional
        An explicit seed; by default that of ``config.unittests.rseed``.

    Returns
    -------
    int or None
        The seed that was used.

    Examples
    --------
    >>> seed_rng(1234)
    1234
    >>> first = np.random.rand()
    >>> seed = seed_rng(1234)
    >>> first == np.random.rand()
    True
    """
    seed = fetch_seed(pseed)
    if pseed is not None and pseed != seed:
        _logger.warning("using seed given by config.unittests.rseed=%s instead of seed %s given as parameter", seed, pseed)
    np.random.seed(seed)
    return seed


def verify_grad(op: Callable[..., Any], pt: list[Any], n_tests: int = 2, rng: Any = None, *args: Any, **kwargs: Any) -> None:
    """Compare the gradient of an Op with finite differences, from a seeded generator.

    Parameters
    ----------
    op : callable
        Takes variables and returns one.
    pt : list of ndarray
        The point.
    n_tests : int
        Number of random projections.
    rng : RandomState, optional
        Generator; by default the one of ``numpy.random``, seeded.
    *args, **kwargs
        As for :func:`theano.gradient.verify_grad`.

    See Also
    --------
    theano.test : Run the tests with pytest.

    Examples
    --------
    >>> import theano.tensor as T
    >>> verify_grad(T.tanh, [np.array([0.5, -1.0])])
    >>> verify_grad(lambda x: x * theano.gradient.disconnected_grad(x), [np.array([0.5, -1.0])])
    Traceback (most recent call last):
        ...
    theano.gradient_check.GradientError: GradientError: numeric gradient and analytic gradient exceed tolerance: ...
    """
    if rng is None:
        seed_rng()
        rng = np.random
    theano.gradient.verify_grad(op, pt, n_tests, rng, *args, **kwargs)


verify_grad.E_grad = theano.gradient.GradientError  # type: ignore[attr-defined]


class MockRandomState:
    """Stands in for a RandomState that always draws the same number, to try the limits of a range.

    Parameters
    ----------
    val : float
        What is drawn: of the interval from 0 to 1, or added to the lower limit of
        integers.

    Examples
    --------
    >>> MockRandomState(0.999).rand(2).tolist(), MockRandomState(0).randint(3, 7, (2,)).tolist()
    ([0.999, 0.999], [3, 3])
    """

    def __init__(self, val: float):
        self.val = val

    def rand(self, *shape: int) -> np.ndarray:
        """Return an array full of the number."""
        return np.zeros(shape, dtype="float64") + self.val

    def randint(self, minval: int, maxval: int | None = None, size: Any = 1) -> np.ndarray:
        """Return an array of integers, each the lower limit plus the number, below the upper limit."""
        if maxval is None:
            minval, maxval = 0, minval
        out = np.zeros(size, dtype="int64")
        return out + min(int(minval + self.val), maxval - 1) if self.val else out + minval


class OptimizationTestMixin:
    """Assertions on which ops a compiled function has.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dmatrix("x")
    >>> f = theano.function([x], T.dot(x, x))
    >>> OptimizationTestMixin().assertFunctionContainsClass(f, T.blas.GemmRelated, min=1)
    >>> OptimizationTestMixin().assertFunctionContains0(f, T.exp)
    """

    def assertFunctionContains(self, f: Any, op: Any, min: int = 1, max: float = float("inf")) -> None:
        """Check how many nodes have an op equal to `op`."""
        toposort = f.maker.fgraph.toposort()
        matches = [node for node in toposort if node.op == op]
        if not min <= len(matches) <= max:
            raise AssertionError((toposort, matches, str(op), len(matches), min, max))

    def assertFunctionContains0(self, f: Any, op: Any) -> None:
        """Check that no node has the op."""
        self.assertFunctionContains(f, op, min=0, max=0)

    def assertFunctionContains1(self, f: Any, op: Any) -> None:
        """Check that one node has the op."""
        self.assertFunctionContains(f, op, min=1, max=1)

    def assertFunctionContainsN(self, f: Any, op: Any, N: int) -> None:
        """Check that N nodes have the op."""
        self.assertFunctionContains(f, op, min=N, max=N)

    def assertFunctionContainsClass(self, f: Any, op: type, min: int = 1, max: float = float("inf")) -> None:
        """Check how many nodes have an op of a class."""
        toposort = f.maker.fgraph.toposort()
        matches = [node for node in toposort if isinstance(node.op, op)]
        if not min <= len(matches) <= max:
            raise AssertionError((toposort, matches, str(op), len(matches), min, max))

    def assertFunctionContainsClassN(self, f: Any, op: type, N: int) -> None:
        """Check that N nodes have an op of a class."""
        self.assertFunctionContainsClass(f, op, min=N, max=N)

    def SkipTest(self, msg: str = "Skip this test") -> None:
        """Skip the running test."""
        raise unittest.SkipTest(msg)


TestOptimizationMixin = OptimizationTestMixin


class T_OpContractMixin:
    """Tests of what every Op has to do: equality, hashing, text.

    A test class sets ``ops`` in its ``setUp`` to a list of unequal ops, and defines
    ``clone(op)``, which returns an equal one.

    Examples
    --------
    >>> import theano.tensor as T
    >>> class TestReshape(T_OpContractMixin, unittest.TestCase):
    ...     def setUp(self):
    ...         self.ops = [T.Reshape(1), T.Reshape(2)]
    ...     def clone(self, op):
    ...         return T.Reshape(op.ndim)
    >>> tests = unittest.defaultTestLoader.loadTestsFromTestCase(TestReshape)
    >>> tests.run(unittest.TestResult())
    <unittest.result.TestResult run=3 errors=0 failures=0>
    """

    ops: list[Any]

    def copy(self, x: Any) -> Any:
        return copy(x)

    def deepcopy(self, x: Any) -> Any:
        return deepcopy(x)

    def clone(self, op: Any) -> Any:
        raise NotImplementedError("return new instance like `op`")

    def test_eq(self) -> None:
        for i, op_i in enumerate(self.ops):
            assert op_i == op_i
            assert op_i == self.clone(op_i)
            assert op_i == self.copy(op_i)
            assert op_i == self.deepcopy(op_i)
            for j, op_j in enumerate(self.ops):
                if i != j:
                    assert op_i != op_j

    def test_hash(self) -> None:
        for op in self.ops:
            h = hash(op)
            assert h == hash(self.clone(op)) == hash(self.copy(op)) == hash(self.deepcopy(op))

    def test_name(self) -> None:
        for op in self.ops:
            assert str(op)


class InferShapeTester(unittest.TestCase):
    """A test case that can check the ``infer_shape`` of an Op.

    Examples
    --------
    >>> import theano.tensor as T
    >>> class TestRepeat(InferShapeTester):
    ...     def test_shape(self):
    ...         x = T.dmatrix("x")
    ...         self._compile_and_check([x], [T.repeat(x, 2, axis=0)], [np.ones((3, 4))], T.extra_ops.RepeatOp)
    >>> TestRepeat("test_shape").run(unittest.TestResult())
    <unittest.result.TestResult run=1 errors=0 failures=0>
    """

    def setUp(self) -> None:
        seed_rng()
        # The shape of the whole result is wanted: 'local_useless' would remove too much to see it.
        mode = theano.compile.get_default_mode().including("canonicalize")
        if config.mode == "FAST_COMPILE" and not isinstance(mode, theano.compile.DebugMode):
            mode = theano.Mode(linker=mode.linker, optimizer="fast_run")
        self.mode = mode.including("ShapeOpt")

    def _compile_and_check(
        self,
        inputs: list[Any],
        outputs: list[Any],
        numeric_inputs: list[Any],
        cls: Any,
        excluding: list[str] | None = None,
        warn: bool = True,
        check_topo: bool = True,
    ) -> None:
        """Check that shapes are inferred, and that they are right.

        Parameters
        ----------
        inputs : list of Variable
            Inputs of a function.
        outputs : list of Variable
            Its outputs, which are of the Op.
        numeric_inputs : list of ndarray
            Values of the inputs.
        cls : class or tuple of classes
            Classes of Ops that must not be needed to compute the shapes.
        excluding : list of str, optional
            Tags of optimizations to leave out.
        warn : bool
            Whether to warn of inputs with equal dimensions, for which a wrong order
            would not be seen.
        check_topo : bool
            Whether to check that no node of `cls` is left.

        Raises
        ------
        AssertionError
            If a shape is wrong or an Op of `cls` is still there.
        """
        mode = self.mode.excluding(*excluding) if excluding else self.mode
        if warn:
            for variable, value in zip(inputs, numeric_inputs):
                shape = getattr(value, "shape", None)
                if hasattr(variable, "ndim") and shape is not None and variable.ndim > 1:
                    visible = [n for n, b in zip(shape, getattr(variable, "broadcastable", ())) if not b]
                    if len(set(visible)) < len(visible):
                        _logger.warning(
                            "While testing shape inference for %r, we received an input with a shape that has some "
                            "repeated values: %r, like a square matrix. This makes it impossible to check if the "
                            "values for these dimensions have been correctly used, or if they have been mixed up.",
                            cls, shape,
                        )  # fmt: skip
                        break
        outputs_function = theano.function(inputs, outputs, mode=mode)
        shapes_function = theano.function(inputs, [o.shape for o in outputs], mode=mode)
        if check_topo:
            left = [node for node in shapes_function.maker.fgraph.toposort() if isinstance(node.op, cls)]
            if left:
                raise AssertionError(f"These nodes were not removed by shape inference: {left}")
        numeric_outputs = outputs_function(*numeric_inputs)
        numeric_shapes = shapes_function(*numeric_inputs)
        for output, shape in zip(numeric_outputs, numeric_shapes):
            if not np.all(np.asarray(output.shape) == shape):
                raise AssertionError(f"The inferred shape is {shape}, the shape is {output.shape}")


class WrongValue(Exception):
    """Two values that should be close are not.

    Parameters
    ----------
    expected_val, val : object
        The values.
    rtol, atol : float
        The tolerances.

    Examples
    --------
    >>> try:
    ...     assert_allclose(np.array([1.0, 2.0]), np.array([1.0, 3.0]))
    ... except WrongValue as error:
    ...     print(error.val1, error.val2)
    [1. 2.] [1. 3.]
    """

    def __init__(self, expected_val: Any, val: Any, rtol: float | None, atol: float | None):
        super().__init__()
        self.val1 = expected_val
        self.val2 = val
        self.rtol = rtol
        self.atol = atol

    def __str__(self) -> str:
        return "WrongValue\n" + str_diagnostic(self.val1, self.val2, self.rtol, self.atol)


def assert_allclose(expected: Any, value: Any, rtol: float | None = None, atol: float | None = None) -> None:
    """Check that two arrays are close.

    Parameters
    ----------
    expected, value : array_like
        The arrays.
    rtol, atol : float, optional
        Tolerances; by default they depend on the dtypes and on
        ``config.tensor.cmp_sloppy``.

    Raises
    ------
    WrongValue
        If they are not.

    Examples
    --------
    >>> assert_allclose([1.0, 2.0], [1.0, 2.0 + 1e-12])
    >>> assert_allclose([1.0, 2.0], [1.0, 2.1], rtol=0.2)
    >>> assert_allclose(np.array([1.0, 2.0]), np.array([1.0, 2.1]))
    Traceback (most recent call last):
        ...
    theano.tests.unittest_tools.WrongValue: WrongValue
    """
    if not theano.tensor.basic._allclose(expected, value, rtol, atol):
        raise WrongValue(expected, value, rtol, atol)


class AttemptManyTimes:
    """A decorator for tests that may fail by chance: they run several times.

    Parameters
    ----------
    n_attempts : int
        How often the test runs.
    n_req_successes : int
        How often it has to pass.

    Examples
    --------
    >>> runs = []
    >>> @AttemptManyTimes(n_attempts=3, n_req_successes=1)
    ... def test_by_chance():
    ...     runs.append(fetch_seed())
    ...     assert len(runs) == 2
    >>> test_by_chance()
    >>> len(runs), runs[1] - runs[0]
    (2, 1)
    """

    def __init__(self, n_attempts: int, n_req_successes: int = 1):
        if not n_attempts >= n_req_successes:
            raise ValueError("there cannot be more successes than attempts")
        self.n_attempts = n_attempts
        self.n_req_successes = n_req_successes

    def __call__(self, fct: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(fct)
        def attempt(*args: Any, **kwargs: Any) -> None:
            successes = 0
            original_seed = config.unittests.rseed
            seed: Any = original_seed if original_seed == "random" else int(original_seed)
            for i in range(self.n_attempts):
                try:
                    with theano.change_flags({"unittests.rseed": str(seed)}):
                        fct(*args, **kwargs)
                    successes += 1
                except Exception:
                    if i == self.n_attempts - 1 and successes < self.n_req_successes:
                        raise
                if successes >= self.n_req_successes:
                    break
                if seed != "random":
                    # Each attempt has its own numbers, which can be drawn again.
                    seed += 1
            assert successes >= self.n_req_successes

        return attempt


def assertFailure_fast(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a test that has to fail in the mode FAST_COMPILE and to pass in others; a decorator.

    Parameters
    ----------
    f : callable
        The test.

    Examples
    --------
    >>> def needs_rewrites():
    ...     raise AssertionError("not rewritten")
    >>> with theano.config.change_flags(mode="FAST_COMPILE"):
    ...     assertFailure_fast(needs_rewrites)()
    >>> with theano.config.change_flags(mode="FAST_RUN"):
    ...     assertFailure_fast(needs_rewrites)()
    Traceback (most recent call last):
        ...
    AssertionError: not rewritten
    """
    if config.mode != "FAST_COMPILE":
        return f

    @wraps(f)
    def test_with_assert(*args: Any, **kwargs: Any) -> None:
        try:
            f(*args, **kwargs)
        except Exception:
            return
        raise AssertionError("the test passed, which it should not in this mode")

    return test_with_assert
