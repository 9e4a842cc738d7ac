"""Checking gradients against finite differences; `theano.gradient` is the documented path of these names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theano.compile.debugmode import DebugMode
from theano.compile.function import function
from theano.compile.mode import FAST_RUN, get_mode
from theano.configdefaults import config
from theano.gof.sharedvalue import shared
from theano.gradient import grad
from theano.tensor.reduction import sum as tensor_sum
from theano.tensor.type import TensorType


class GradientError(Exception):
    """Raised when a computed gradient differs from the finite difference.

    Parameters
    ----------
    arg : int
        Position of the input.
    err_pos : int
        Position of the worst element in that input, flattened.
    shape : tuple of int
        Shape of the input.
    val1, val2 : float
        The computed and the numeric value.
    abs_err, rel_err : float
        The errors.
    abs_tol, rel_tol : float
        The tolerances.

    See Also
    --------
    theano.gradient.verify_grad : Compare the symbolic gradient of `fun` with finite differences.
    theano.gradient.numeric_grad : Numeric derivative of a scalar-valued function at a point, by forward differences.

    Examples
    --------
    >>> import numpy as np
    >>> from theano.gradient import disconnected_grad, verify_grad
    >>> def half_told(x):
    ...     return x * disconnected_grad(x)
    >>> verify_grad(half_told, [np.array(3.0)], rng=np.random.RandomState(0))
    Traceback (most recent call last):
        ...
    theano.gradient_check.GradientError: GradientError: numeric gradient and analytic gradient exceed tolerance:...
    """

    def __init__(
        self,
        arg: int,
        err_pos: int,
        shape: Any,
        val1: Any,
        val2: Any,
        abs_err: Any,
        rel_err: Any,
        abs_tol: Any,
        rel_tol: Any,
    ) -> None:
        super().__init__()
        self.arg = arg
        self.err_pos = err_pos
        self.shape = shape
        self.val1 = val1
        self.val2 = val2
        self.abs_err = abs_err
        self.rel_err = rel_err
        self.abs_tol = abs_tol
        self.rel_tol = rel_tol

    def __str__(self) -> str:
        notes = ", ".join(str(arg) for arg in self.args)
        return (
            "GradientError: numeric gradient and analytic gradient exceed tolerance:\n"
            f"        At position {self.err_pos} of argument {self.arg} with shape {self.shape},\n"
            f"            val1 = {self.val1:f}      ,  val2 = {self.val2:f}\n"
            f"            abs. error = {self.abs_err:f},  abs. tolerance = {self.abs_tol:f}\n"
            f"            rel. error = {self.rel_err:f},  rel. tolerance = {self.rel_tol:f}\n"
            f"Exception args: {notes}"
        )


class numeric_grad:
    """Numeric derivative of a scalar-valued function at a point, by forward differences.

    Parameters
    ----------
    f : callable
        Function of one or more arrays that returns a scalar.
    pt : ndarray, or list or tuple of ndarray
        Array, or list or tuple of arrays: the arguments at which to differentiate.
    eps : float, optional
        Step size. By default it is chosen from the dtypes: 1e-7 for float64, 3e-4 for float32, 1e-1 for float16.
    out_type : str, optional
        The dtype of the output of `f`, if it is complex.

    Attributes
    ----------
    gf
        The gradient: an array, or a list of arrays if `pt` is one.

    See Also
    --------
    theano.gradient.GradientError : Raised when a computed gradient differs from the finite difference.
    theano.gradient.verify_grad : Compare the symbolic gradient of `fun` with finite differences.

    Examples
    --------
    >>> numeric_grad(lambda x: (x ** 2).sum(), [np.array([1., 2.])]).gf[0].round(5).tolist()
    [2.0, 4.0]
    """

    type_eps = {
        "float64": 1e-7,
        "float32": 3e-4,
        "float16": 1e-1,
        np.dtype("float64"): 1e-7,
        np.dtype("float32"): 3e-4,
        np.dtype("float16"): 1e-1,
    }

    def __init__(self, f: Callable[..., Any], pt: Any, eps: float | None = None, out_type: str | None = None) -> None:
        packed = not isinstance(pt, list | tuple)
        points = [np.array(p) for p in ([pt] if packed else pt)]
        dtypes = [str(p.dtype) for p in points]
        if out_type is not None and out_type.startswith("complex"):
            working = {"complex64": "float32", "complex128": "float64"}.get(out_type, "float64")
        else:
            working = max(dtypes, key=lambda d: np.dtype(d).itemsize, default=config.floatX)
        # One buffer of the widest dtype keeps the arithmetic of the differences exact for all arguments.
        points = [np.array(p, dtype=working, order="C") for p in points]
        if eps is None:
            eps = max((self.type_eps[np.dtype(d)] for d in dtypes if np.dtype(d) in self.type_eps), default=1e-7)
        center = np.array(f(*[p.copy() for p in points]), copy=True)
        self.gf: Any = []
        for index, point in enumerate(points):
            gradient = np.zeros(point.shape, dtype=working)
            flat = gradient.reshape(-1)
            for i in range(point.size):
                shifted = [p.copy() for p in points]
                entry = shifted[index].reshape(-1)
                entry[i] += eps
                # Rounding makes the step that was really taken differ from eps.
                step = entry[i] - point.reshape(-1)[i]
                value = f(*shifted)
                flat[i] = np.asarray((np.asarray(value) - center) / (step if step else eps)).real
            self.gf.append(gradient)
        if packed:
            self.gf = self.gf[0]

    @staticmethod
    def abs_rel_err(a: Any, b: Any) -> tuple[Any, Any]:
        """Absolute and relative error between `a` and `b`.

        ``abs_err = |a - b|`` and ``rel_err = abs_err / max(|a| + |b|, 1e-8)``: the denominator is clipped, so that
        two numbers close to 0 are close.
        """
        abs_err = abs(a - b)
        return abs_err, abs_err / np.maximum(abs(a) + abs(b), 1e-8)

    def abs_rel_errors(self, g_pt: Sequence[np.ndarray]) -> list[tuple[Any, Any]]:
        """Absolute and relative errors of the estimate `g_pt`, one pair for each array.

        Raises
        ------
        ValueError
            If `g_pt` has another length than `gf`, or its arrays have other shapes.
        """
        if len(g_pt) != len(self.gf):
            raise ValueError("argument has wrong number of elements", len(g_pt))
        errors = []
        for i, (a, b) in enumerate(zip(g_pt, self.gf, strict=True)):
            if a.shape != b.shape:
                raise ValueError(f"argument element {i} has wrong shape {a.shape}, expected {b.shape}")
            errors.append(self.abs_rel_err(a, b))
        return errors

    def max_err(self, g_pt: Sequence[np.ndarray], abs_tol: float, rel_tol: float) -> tuple[int, int, Any, Any]:
        """The worst violation of the tolerances in `g_pt`.

        Returns
        -------
        tuple
            ``(argument, position, abs_err, rel_err)`` where ``min(abs_err / abs_tol, rel_err / rel_tol)`` is largest.
            A value of it above 1 means that both tolerances are exceeded.
        """
        worst: tuple[float, int, int, Any, Any] | None = None
        for arg, (abs_err, rel_err) in enumerate(self.abs_rel_errors(g_pt)):
            if not np.all(np.isfinite(abs_err)):
                raise ValueError("abs_err not finite", repr(abs_err))
            if not np.all(np.isfinite(rel_err)):
                raise ValueError("rel_err not finite", repr(rel_err))
            if abs_err.size == 0:
                continue
            score = np.minimum(np.asarray(abs_err) / abs_tol, np.asarray(rel_err) / rel_tol).ravel()
            pos = int(np.argmax(score))
            if worst is None or score[pos] > worst[0]:
                worst = (score[pos], arg, pos, np.ravel(abs_err)[pos], np.ravel(rel_err)[pos])
        if worst is None:
            return 0, 0, 0.0, 0.0
        return worst[1:]


_TOLERANCE = {"float16": 5e-2, "float32": 1e-2, "float64": 1e-4}


def mode_not_slow(mode: Any) -> Any:
    """Return a mode that computes the same as another one and is quick: FAST_RUN for FAST_COMPILE and DebugMode.

    Parameters
    ----------
    mode : Mode, str or None
        As for `function`. A DebugMode's optimizer is kept.

    Returns
    -------
    Mode
    """
    if mode == "FAST_COMPILE":
        return FAST_RUN
    mode = get_mode(mode)
    return FAST_RUN.clone(optimizer=mode.optimizer) if isinstance(mode, DebugMode) else mode


def verify_grad(
    fun: Callable[..., Any],
    pt: Sequence[Any],
    n_tests: int = 2,
    rng: Any = None,
    eps: float | None = None,
    out_type: str | None = None,
    abs_tol: float | None = None,
    rel_tol: float | None = None,
    mode: Any = None,
    cast_to_output_type: bool = False,
    no_debug_ref: bool = True,
) -> None:
    """Compare the symbolic gradient of `fun` with finite differences.

    What is compared is the gradient of ``sum(u * fun(*pt))`` for random `u`.

    Parameters
    ----------
    fun : callable
        Takes as many variables as `pt` has elements and returns one variable; an Op with one output, say.
    pt : list of ndarray
        List of float16, float32 or float64 arrays: the point.
    n_tests : int
        Number of random projections to try.
    rng : numpy.random.RandomState
        Draws the projections.
    eps : float, optional
        Step of the finite difference; see `numeric_grad`.
    out_type : str, optional
        The dtype of the output, if it is complex.
    abs_tol, rel_tol : float, optional
        Tolerances. By default they follow from the dtypes of `pt`.
    mode : Mode or str, optional
        Mode in which to compile.
    cast_to_output_type : bool
        Draw float32 projections if the output is float32.
    no_debug_ref : bool
        Do not use DebugMode for the function that is differentiated numerically.

    Raises
    ------
    GradientError
        If both tolerances are exceeded.
    TypeError
        If `rng` is missing or an array of `pt` is not of floats.

    See Also
    --------
    theano.gradient.numeric_grad : Numeric derivative of a scalar-valued function at a point, by forward differences.
    theano.gradient.GradientError : Raised when a computed gradient differs from the finite difference.

    Examples
    --------
    >>> import theano.tensor
    >>> verify_grad(theano.tensor.tanh, [np.array([[2., 3.], [-1., 3.3]])], rng=np.random.RandomState(1))
    """
    assert isinstance(pt, list | tuple), "pt must be a list or tuple of arrays"
    points = [np.array(p) for p in pt]
    for i, p in enumerate(points):
        if str(p.dtype) not in _TOLERANCE:
            raise TypeError(f"verify_grad can work only with floating point inputs, but input {i} has dtype {p.dtype}.")
    default_tol = max((_TOLERANCE[str(p.dtype)] for p in points), default=_TOLERANCE["float64"])
    abs_tol = default_tol if abs_tol is None else abs_tol
    rel_tol = default_tol if rel_tol is None else rel_tol
    if rng is None:
        raise TypeError(
            "rng should be a valid instance of numpy.random.RandomState. You may want to use "
            "theano.tests.unittest_tools.verify_grad instead of theano.gradient.verify_grad."
        )

    def compiled(inputs: list[Any], output: Any, name: str, mode: Any) -> Any:
        return function(
            inputs,
            output,
            accept_inplace=True,
            allow_input_downcast=True,
            mode=mode,
            on_unused_input="ignore",
            name=name,
        )

    tensor_pt = [TensorType(str(p.dtype), tuple(n == 1 for n in p.shape))(name=f"input {i}") for i, p in enumerate(points)]
    output = fun(*tensor_pt)
    if isinstance(output, list | tuple):
        raise NotImplementedError("cannot (yet) autotest the gradient of a function with multiple outputs")

    output_value = compiled(tensor_pt, output, "gradient.py fwd", mode)(*[p.copy() for p in points])
    if not isinstance(output_value, np.ndarray | np.generic):
        raise TypeError(f"The outputs of a verified function must be arrays, not {type(output_value)}")

    def random_projection() -> np.ndarray:
        # The offset keeps away from 0, where a wrong gradient could hide.
        plain = np.asarray(rng.rand(*output_value.shape) + 0.5)
        if cast_to_output_type and output.dtype == "float32":
            return plain.astype("float32")
        return plain

    projection = shared(random_projection(), borrow=True)
    projection.name = "random_projection"
    cost = tensor_sum(projection * output)
    cost_mode = mode_not_slow(mode) if no_debug_ref else get_mode(mode)
    cost_fn = compiled(tensor_pt, cost, "gradient.py cost", cost_mode)
    gradients = grad(cost, tensor_pt, disconnected_inputs="ignore")
    grad_fn = compiled(tensor_pt, gradients, "gradient.py symbolic grad", mode)

    for test in range(n_tests):
        try:
            numeric = numeric_grad(cost_fn, [p.copy() for p in points], eps, out_type)
            analytic = grad_fn(*[p.copy() for p in points])
            if len(analytic) != len(points):
                raise ValueError(f"got {len(analytic)} gradients for {len(points)} inputs")
            arg, pos, abs_err, rel_err = numeric.max_err(analytic, abs_tol, rel_tol)
            if abs_err > abs_tol and rel_err > rel_tol:
                raise GradientError(
                    arg,
                    pos,
                    analytic[arg].shape,
                    analytic[arg].ravel()[pos],
                    numeric.gf[arg].ravel()[pos],
                    abs_err,
                    rel_err,
                    abs_tol,
                    rel_tol,
                )
        except Exception as e:
            e.args += (
                "\nThe error happened with the following inputs:",
                points,
                "\nThe value of eps is:",
                eps,
                "\nThe out_type is:",
                out_type,
                "\nTest number:",
                test,
            )
            raise
        if test < n_tests - 1:
            projection.set_value(random_projection(), borrow=True)


# The exception is documented as an attribute of the function, too.
verify_grad.E_grad = GradientError  # type: ignore[attr-defined]
