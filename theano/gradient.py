"""Symbolic differentiation: reverse mode (`grad`, `Lop`), forward mode (`Rop`) and what is built on them.

How `grad` goes through a graph is in gradient_backward.py. Nothing recurses, so that the depth of a graph is limited by
memory only.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from theano import aliases
from theano.gof.copying import view_op
from theano.gof.graph import Apply, Variable
from theano.gof.null_type import NullType, null_type
from theano.gof.stack_traces import get_variable_trace_string
from theano.gradient_backward import Backward, check_constants, float_zeros_like, initial_gradients
from theano.gradient_stops import (
    ConsiderConstant,
    DisconnectedGrad,
    GradClip,
    GradScale,
    UndefinedGrad,
    ZeroGrad,
    consider_constant,
    consider_constant_,
    disconnected_grad,
    disconnected_grad_,
    grad_clip,
    grad_scale,
    undefined_grad,
    undefined_grad_,
    zero_grad,
    zero_grad_,
)
from theano.gradient_types import (
    DisconnectedInputError,
    DisconnectedType,
    NullTypeGradError,
    disconnected_type,
    format_as,
    grad_not_implemented,
    grad_undefined,
    gradient_of,
)
from theano.process import garbage_collection_paused, new_lock

__all__ = [
    "ConsiderConstant",
    "DisconnectedGrad",
    "DisconnectedInputError",
    "DisconnectedType",
    "GradClip",
    "GradScale",
    "Lop",
    "NullTypeGradError",
    "Rop",
    "UndefinedGrad",
    "ZeroGrad",
    "consider_constant",
    "consider_constant_",
    "disconnected_grad",
    "disconnected_grad_",
    "disconnected_type",
    "format_as",
    "grad",
    "grad_clip",
    "grad_not_implemented",
    "grad_scale",
    "grad_time",
    "grad_undefined",
    "null_type",
    "subgraph_grad",
    "undefined_grad",
    "undefined_grad_",
    "zero_grad",
    "zero_grad_",
    *aliases.names(__name__),
]

# Seconds spent in all calls to `grad`; the profiler prints it.
grad_time: float = 0.0
_grad_time_lock = new_lock()


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _disconnected(policy: str, message: str) -> None:
    """Ignore, warn or raise, as `disconnected_inputs` and `disconnected_outputs` ask."""
    if policy == "ignore":
        return
    if policy == "warn":
        warnings.warn(message, stacklevel=3)
    elif policy == "raise":
        raise DisconnectedInputError(message)
    else:
        raise ValueError(
            f"Invalid value {policy!r} for a disconnected input or output: valid values are 'ignore', 'warn' and 'raise'."
        )


def _replace_disconnected(choice: str, x: Any, disconnected: Variable) -> Any:
    """What `return_disconnected` asks for in place of a gradient that is not there."""
    key = str(choice).lower()
    if key == "zero":
        return float_zeros_like(x)
    if key == "none":
        return None
    if key == "disconnected":
        return disconnected
    raise ValueError(f"return_disconnected must be 'zero', 'None' or 'Disconnected', not {choice!r}.")


@gradient_of.fill
def grad(
    cost: Variable | None,
    wrt: Any,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: str = "raise",
    add_names: bool = True,
    known_grads: Mapping[Any, Variable] | None = None,
    return_disconnected: str = "zero",
    null_gradients: str = "raise",
) -> Any:
    """Symbolic gradient of a scalar cost with respect to one or more variables.

    Parameters
    ----------
    cost : Variable or None
        Scalar (0-dimensional) variable to differentiate. May be None if `known_grads` is given.
    wrt : Variable, or list or tuple of Variable
        The variable, or list or tuple of variables, to differentiate with respect to.
    consider_constant : list of Variable, optional
        Expressions not to back-propagate through.
    disconnected_inputs : {'raise', 'warn', 'ignore'}
        What to do when the cost does not depend on an element of `wrt`. Unless it is 'raise' the gradient is zero.
    add_names : bool
        Name the gradients ``(d<cost.name>/d<var.name>)`` where both names exist.
    known_grads : dict of Variable to Variable, optional
        Maps variables to their gradients, which are then not computed but taken as given.
    return_disconnected : {'zero', 'None', 'Disconnected'}
        What to return for a disconnected element of `wrt`: zeros of its shape, None, or a variable of
        DisconnectedType.
    null_gradients : {'raise', 'return'}
        Raise NullTypeGradError for a gradient that is undefined or not implemented, or return it.

    Returns
    -------
    Variable, or list or tuple of Variables
        The gradients, in the container that `wrt` has.

    Raises
    ------
    TypeError
        If the cost is not a scalar, or an Op returns a gradient of a wrong type.
    DisconnectedInputError
        If the cost does not depend on an element of `wrt`.
    NullTypeGradError
        If a gradient is undefined or not implemented.

    See Also
    --------
    theano.Lop : The L operator: `eval_points` times the Jacobian of `f` with respect to `wrt`.
    theano.Rop : The R operator: the Jacobian of `f` with respect to `wrt`, times `eval_points`.
    theano.gradient.jacobian : The full Jacobian of a vector, row by row.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> x = T.dscalar('x')
    >>> float(theano.function([x], grad(x ** 3, x))(2.))
    12.0
    """
    global grad_time
    start = time.perf_counter()
    if null_gradients not in ("raise", "return"):
        raise ValueError(f"null_gradients must be 'raise' or 'return', not {null_gradients!r}.")
    if cost is None and not known_grads:
        raise ValueError("grad needs a cost, known_grads or both.")
    if cost is not None:
        if isinstance(cost.type, NullType):
            raise ValueError(f"Can't differentiate a NaN cost. cost is NaN because {cost.type.why_null}")
        if getattr(cost.type, "ndim", 0) != 0:
            raise TypeError(f"cost must be a scalar, but {cost} has {cost.type.ndim} dimensions.")

    wrt_list = _as_list(wrt)
    for elem in wrt_list:
        if not isinstance(elem, Variable):
            raise TypeError(f"Expected a Variable to differentiate with respect to, got {elem} instead of type {type(elem)}")
    outputs = [] if cost is None else [cost]
    if known_grads:
        outputs.extend(var for var in known_grads if var is not cost)

    result: list[Any] = []
    with garbage_collection_paused(begins=True):
        driver = Backward(outputs, wrt_list, check_constants(consider_constant), initial_gradients(cost, known_grads))
        if add_names and cost is not None:
            driver.cost_name = cost.name
        gradients = [driver.gradient(elem) for elem in wrt_list]
    for elem, gradient in zip(wrt_list, gradients, strict=True):
        if isinstance(gradient.type, NullType) and null_gradients == "raise":
            raise NullTypeGradError("tensor.grad encountered a NaN. " + gradient.type.why_null)
        if isinstance(gradient.type, DisconnectedType):
            if disconnected_inputs == "ignore":
                message = ""
            else:
                message = (
                    "grad method was asked to compute the gradient with respect to a variable that is not part of "
                    "the computational graph of the cost, or is used only by a non-differentiable operator: "
                    + str(elem)
                    + (get_variable_trace_string(elem) if disconnected_inputs == "raise" else "")
                )
            _disconnected(disconnected_inputs, message)
            gradient = _replace_disconnected(return_disconnected, elem, gradient)
        result.append(gradient)
    with _grad_time_lock:
        grad_time += time.perf_counter() - start
    return format_as(isinstance(wrt, list), isinstance(wrt, tuple), result)


def Lop(
    f: Any,
    wrt: Any,
    eval_points: Any,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: str = "raise",
) -> Any:
    """The L operator: `eval_points` times the Jacobian of `f` with respect to `wrt`.

    Parameters
    ----------
    f : Variable or list of Variable
        Variable or list of variables to differentiate.
    wrt : Variable, or list or tuple of Variable
        Variable, or list or tuple of variables, to differentiate with respect to.
    eval_points : Variable or list of Variable
        One variable of the type of `f` for each of its elements.
    consider_constant, disconnected_inputs
        As for `grad`.

    Returns
    -------
    Variable, or list or tuple of Variables
        ``sum_i eval_points[i] * d f[i] / d wrt[j]`` for each `j`, in the container that `wrt` has.

    Raises
    ------
    ValueError
        If there are not as many `eval_points` as elements of `f`.

    See Also
    --------
    theano.Rop : The R operator: the Jacobian of `f` with respect to `wrt`, times `eval_points`.
    theano.grad : Symbolic gradient of a scalar cost with respect to one or more variables.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> x, v = T.dvectors('x', 'v')
    >>> theano.function([x, v], Lop(x ** 2, x, v))([1., 2.], [1., 1.]).tolist()
    [2.0, 4.0]
    """
    points, functions = _as_list(eval_points), _as_list(f)
    if len(points) != len(functions):
        raise ValueError(f"Lop needs one evaluation point for each element of f: got {len(points)} for {len(functions)}.")
    # A known gradient is the whole gradient of a variable, also of one that others of `f` are computed from.
    known = {view_op(function): point for function, point in zip(functions, points, strict=True)}
    result = grad(
        cost=None,
        known_grads=known,
        consider_constant=consider_constant,
        wrt=_as_list(wrt),
        disconnected_inputs=disconnected_inputs,
    )
    return format_as(isinstance(wrt, list), isinstance(wrt, tuple), result)


def Rop(
    f: Any,
    wrt: Any,
    eval_points: Any,
    disconnected_outputs: str = "raise",
    return_disconnected: str = "zero",
) -> Any:
    """The R operator: the Jacobian of `f` with respect to `wrt`, times `eval_points`.

    Parameters
    ----------
    f : Variable, or list or tuple of Variable
        Variable, or list or tuple of variables, to differentiate.
    wrt : Variable or list of Variable
        Variable or list of variables to differentiate with respect to.
    eval_points : Variable or list of Variable
        One variable of the same rank for each element of `wrt`.
    disconnected_outputs : {'raise', 'warn', 'ignore'}
        What to do when an element of `f` does not depend on any element of `wrt`.
    return_disconnected : {'zero', 'None', 'Disconnected'}
        What to return for such an element.

    Returns
    -------
    Variable, or list or tuple of Variables
        ``sum_j d f[i] / d wrt[j] * eval_points[j]`` for each `i`, in the container that `f` has.

    Raises
    ------
    ValueError
        If `wrt` and `eval_points` differ in length, or one of their elements in the number of dimensions.

    See Also
    --------
    theano.gradient.jacobian : The full Jacobian of a vector, row by row.
    theano.Lop : The L operator: `eval_points` times the Jacobian of `f` with respect to `wrt`.
    theano.grad : Symbolic gradient of a scalar cost with respect to one or more variables.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> x, v = T.dvectors('x', 'v')
    >>> theano.function([x, v], Rop(x ** 2, x, v))([1., 2.], [1., 0.]).tolist()
    [2.0, 0.0]
    """
    from theano.tensor import as_tensor_variable

    wrt_list = [as_tensor_variable(x) for x in _as_list(wrt)]
    points = [as_tensor_variable(x) for x in _as_list(eval_points)]
    functions = _as_list(f)
    if len(wrt_list) != len(points):
        raise ValueError("`wrt` must be the same length as `eval_points`.")
    for i, (x, point) in enumerate(zip(wrt_list, points, strict=True)):
        if x.type.ndim != point.type.ndim:
            raise ValueError(
                f"Element {i} of wrt/eval_points have mismatched dimensionality: {x.type.ndim} versus {point.type.ndim}"
            )
    tangents: dict[Variable, Any] = dict(zip(wrt_list, points, strict=True))
    _forward([v for v in functions if v not in tangents], tangents)

    result: list[Any] = []
    for out in functions:
        tangent = tangents.get(out)
        if tangent is None:
            _disconnected(
                disconnected_outputs,
                "Rop method was asked to compute the gradient with respect to a variable that is not part of the "
                "computational graph of variables in wrt, or is used only by a non-differentiable operator: "
                f"{out}",
            )
            tangent = _replace_disconnected(return_disconnected, out, disconnected_type())
        result.append(tangent)
    return format_as(isinstance(f, list), isinstance(f, tuple), result)


def _forward(functions: Sequence[Variable], tangents: dict[Variable, Any]) -> None:
    """Add to `tangents` those of all variables between its keys and `functions`.

    A variable that does not depend on the keys is not added; one whose Op is not differentiable gets None.
    """
    order: list[Apply] = []
    done: set[Apply] = set()
    stack: list[tuple[Apply, bool]] = [(v.owner, False) for v in functions if v.owner is not None]
    while stack:
        node, expanded = stack.pop()
        if node in done:
            continue
        if expanded:
            done.add(node)
            order.append(node)
            continue
        stack.append((node, True))
        stack.extend(
            (inp.owner, False)
            for inp in reversed(node.inputs)
            if inp not in tangents and inp.owner is not None and inp.owner not in done
        )
    for node in order:
        if not any(inp in tangents for inp in node.inputs):
            continue
        if all(tangents.get(inp) is None for inp in node.inputs):
            # Through a shape, say: nothing flows here, whatever the Op.
            tangents.update((output, None) for output in node.outputs if output not in tangents)
            continue
        given = [_typed_tangent(inp, tangents) for inp in node.inputs]
        r_op = getattr(node.op, "R_op", None)
        if r_op is None:
            raise NotImplementedError(f"{node.op} of class {type(node.op).__name__} does not implement R_op.")
        results = r_op(list(node.inputs), given)
        for output, tangent in zip(node.outputs, results, strict=True):
            if output not in tangents:
                if tangent is not None and isinstance(getattr(tangent, "type", None), DisconnectedType):
                    tangent = None
                tangents[output] = tangent


def _typed_tangent(inp: Any, tangents: dict[Variable, Any]) -> Any:
    """The evaluation point for `inp`, of exactly its type; zeros if `inp` does not depend on `wrt`."""
    from theano.tensor import as_tensor_variable, cast

    if inp not in tangents:
        try:
            return inp.zeros_like()
        except Exception:
            # A random state, say: it has no zero and is not differentiable.
            return None
    tangent = tangents[inp]
    if tangent is None:
        return None
    if not isinstance(tangent, Variable):
        tangent = as_tensor_variable(tangent)
    try:
        return inp.type.filter_variable(tangent)
    except TypeError:
        return inp.type.filter_variable(cast(tangent, inp.type.dtype))


def subgraph_grad(
    wrt: list[Variable],
    end: list[Variable],
    start: dict[Variable, Variable] | None = None,
    cost: Variable | None = None,
    details: bool = False,
) -> tuple[Any, ...]:
    """Return gradients of a part of the graph: from `cost` and from known gradients `start`, up to `end`.

    Parameters
    ----------
    wrt : list of Variable
        Variables to differentiate with respect to.
    end : list of Variable
        Variables at which to stop; the gradients with respect to them are returned too.
    start : dict of Variable to Variable, optional
        Maps variables to their known gradients.
    cost : Variable, optional
        Scalar cost whose gradient is added. May be None if `start` is given.
    details : bool
        Also return the lists of gradients that come from `start` and from `cost`.

    Returns
    -------
    tuple of lists
        ``(wrt_grads, end_grads)``, and with `details` ``(wrt_grads, end_grads, start_grads, cost_grads)``,
        where the last two are with respect to the elements of `wrt`.

    See Also
    --------
    theano.grad : Symbolic gradient of a scalar cost with respect to one or more variables.

    Examples
    --------
    >>> import theano
    >>> x = theano.tensor.dscalar("x")
    >>> w = theano.shared(3.0, name="w")
    >>> y = w * x
    >>> (of_w,), (of_y,) = subgraph_grad([w], [y], cost=y**2)
    >>> of_y.eval({x: 2.0})
    array(12.)
    """
    assert cost is not None or start is not None, "`cost` or `start` must be specified."
    assert isinstance(end, list), "`end` must be a list."
    assert isinstance(wrt, list), "`wrt` must be a list."
    assert start is None or isinstance(start, dict), "`start` must be a dictionary."
    params = list(dict.fromkeys([*wrt, *end]))
    start_grads: dict[Variable, Any] | None = None
    cost_grads: dict[Variable, Any] | None = None
    if start is not None:
        gradients = grad(None, params, end, disconnected_inputs="ignore", known_grads=start)
        start_grads = dict(zip(params, gradients, strict=True))
    if cost is not None:
        gradients = grad(cost, params, end, disconnected_inputs="ignore")
        cost_grads = dict(zip(params, gradients, strict=True))
    parts = [part for part in (start_grads, cost_grads) if part is not None]
    total = {p: parts[0][p] if len(parts) == 1 else parts[0][p] + parts[1][p] for p in params}
    wrt_grads, end_grads = [total[p] for p in wrt], [total[p] for p in end]
    if not details:
        return wrt_grads, end_grads
    return (
        wrt_grads,
        end_grads,
        None if start_grads is None else [start_grads[p] for p in wrt],
        None if cost_grads is None else [cost_grads[p] for p in wrt],
    )


__getattr__, __dir__ = aliases.lazy(__name__)
