"""Symbolic differentiation: reverse mode (`grad`, `Lop`), forward mode (`Rop`) and what is built on them.

`grad` works in three steps, each linear in the number of edges between the cost and `wrt`: walk from the
cost to its ancestors through truly connected edges, keep what leads to an element of `wrt`, then ask each
Apply for the gradient of its inputs once the gradients of all its outputs are known. Nothing recurses, so
that the depth of a graph is limited by memory only.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import theano
from theano.gof.graph import Apply, Variable
from theano.gof.null_type import NullType, null_type
from theano.gof.rewriting.base import garbage_collection_paused
from theano.gof.utils import get_variable_trace_string
from theano.gradient_check import GradientError, numeric_grad, verify_grad
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
)

__all__ = [
    "ConsiderConstant",
    "DisconnectedGrad",
    "DisconnectedInputError",
    "DisconnectedType",
    "GradClip",
    "GradScale",
    "GradientError",
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
    "hessian",
    "jacobian",
    "null_type",
    "numeric_grad",
    "subgraph_grad",
    "undefined_grad",
    "undefined_grad_",
    "verify_grad",
    "zero_grad",
    "zero_grad_",
]

# Seconds spent in all calls to `grad`; the profiler prints it.
grad_time: float = 0.0
_grad_time_lock = threading.Lock()

_CONTINUOUS = frozenset(("float16", "float32", "float64", "complex64", "complex128"))
_FLOATS = frozenset(("float16", "float32", "float64"))
_DISCRETE = frozenset(("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"))


def _dtype(variable: Variable) -> str | None:
    return getattr(variable.type, "dtype", None)


def _float_zeros_like(x: Any) -> Any:
    """`x.zeros_like()`, of dtype floatX if that of `x` is discrete."""
    rval = x.zeros_like()
    return rval if rval.type.dtype in _CONTINUOUS else rval.astype(theano.config.floatX)


def _float_ones_like(x: Any) -> Any:
    """`ones_like(x)`, of dtype floatX if that of `x` is discrete."""
    from theano import tensor

    dtype = x.type.dtype
    return tensor.ones_like(x, dtype=dtype if dtype in _CONTINUOUS else theano.config.floatX)


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
        return _float_zeros_like(x)
    if key == "none":
        return None
    if key == "disconnected":
        return disconnected
    raise ValueError(f"return_disconnected must be 'zero', 'None' or 'Disconnected', not {choice!r}.")


def _node_to_pattern(node: Apply) -> list[list[bool]] | None:
    """The connection pattern of `node` (`[input][output]`), or None when everything is connected."""
    method = getattr(node.op, "connection_pattern", None)
    if method is None:
        return None
    pattern = method(node)
    if not isinstance(pattern, list):
        raise TypeError(f"{node.op}.connection_pattern should return a list, not {type(pattern)}")
    if len(pattern) != len(node.inputs):
        raise ValueError(f"{node.op}.connection_pattern should have {len(node.inputs)} rows but has {len(pattern)}.")
    for row in pattern:
        if not isinstance(row, list):
            raise TypeError(f"{node.op}.connection_pattern should return a list of lists, not of {type(row)}")
        if len(row) != len(node.outputs):
            raise ValueError(f"{node.op}.connection_pattern should have {len(node.outputs)} columns but has {len(row)}.")
        for element in row:
            if element not in (True, False):
                raise TypeError(f"{node.op}.connection_pattern should contain only bools, not {element!r}.")
    return pattern


def grad(
    cost: Variable | None,
    wrt: Any,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: str = "raise",
    add_names: bool = True,
    known_grads: Mapping[Variable, Variable] | None = None,
    return_disconnected: str = "zero",
    null_gradients: str = "raise",
) -> Any:
    """Symbolic gradient of a scalar cost with respect to one or more variables.

    Parameters
    ----------
    cost
        Scalar (0-dimensional) variable to differentiate. May be None if `known_grads` is given.
    wrt
        The variable, or list or tuple of variables, to differentiate with respect to.
    consider_constant
        Expressions not to back-propagate through.
    disconnected_inputs : {'raise', 'warn', 'ignore'}
        What to do when the cost does not depend on an element of `wrt`. Unless it is 'raise' the gradient is zero.
    add_names
        Name the gradients ``(d<cost.name>/d<var.name>)`` where both names exist.
    known_grads
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

    driver = _Backward(outputs, wrt_list, _check_constants(consider_constant), _initial_gradients(cost, known_grads))
    if add_names and cost is not None:
        driver.cost_name = cost.name
    result: list[Any] = []
    with garbage_collection_paused():
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
                    + (get_variable_trace_string(elem) if disconnected_inputs == "raise" else str(elem))
                )
            _disconnected(disconnected_inputs, message)
            gradient = _replace_disconnected(return_disconnected, elem, gradient)
        result.append(gradient)
    with _grad_time_lock:
        grad_time += time.perf_counter() - start
    return format_as(isinstance(wrt, list), isinstance(wrt, tuple), result)


def _check_constants(consider_constant: Iterable[Variable] | None) -> frozenset[Variable]:
    if consider_constant is None:
        return frozenset()
    if not isinstance(consider_constant, Iterable) or isinstance(consider_constant, Variable):
        raise TypeError(f"consider_constant must be an iterable collection, got {type(consider_constant)}")
    constants = list(consider_constant)
    for elem in constants:
        if not isinstance(elem, Variable):
            raise TypeError(f"Elements of consider_constant must be variables, but got {type(elem)}")
    return frozenset(constants)


def _initial_gradients(cost: Any, known_grads: Mapping[Variable, Any] | None) -> dict[Variable, Any]:
    """The gradients that are given: 1 for the cost, and `known_grads`."""
    gradients: dict[Variable, Any] = {}
    known = {} if known_grads is None else known_grads
    if cost is not None:
        g_cost = known[cost] if cost in known else _float_ones_like(cost)
        if _dtype(g_cost) is not None and _dtype(cost) in _CONTINUOUS and g_cost.type.dtype != cost.type.dtype:
            g_cost = g_cost.astype(cost.type.dtype)
        gradients[cost] = g_cost
    for var, gradient in known.items():
        if not isinstance(gradient, Variable):
            raise TypeError(f"output grads must be theano variables. Ambiguous whether {type(gradient)} should be made into one.")
        if not isinstance(gradient.type, NullType | DisconnectedType) and _dtype(gradient) not in _CONTINUOUS:
            raise TypeError(
                "Gradients must always be NullType, DisconnectedType, or continuous, but grad was given a "
                f"known_grad of type {gradient.type}"
            )
        gradients.setdefault(var, gradient)
    return gradients


class _Backward:
    """Back-propagation from `outputs` to `wrt`, driven by demand.

    Attributes
    ----------
    clients
        For each variable that the outputs depend on: the Applies that use it on the way to the outputs, each
        with the positions at which it does, in the order in which a depth-first walk meets them.
    """

    def __init__(
        self,
        outputs: Sequence[Variable],
        wrt: Sequence[Variable],
        constants: frozenset[Variable],
        gradients: dict[Variable, Any],
    ) -> None:
        self.cost_name: str | None = None
        self.gradients = gradients
        self.patterns: dict[Apply, list[list[bool]] | None] = {}
        self.terms: dict[Apply, list[Any]] = {}
        self.clients: dict[Variable, dict[Apply, list[int]]] = {}
        self._walk(outputs, constants)
        self._keep_ancestors_of(wrt)

    def _walk(self, outputs: Sequence[Variable], constants: frozenset[Variable]) -> None:
        """Fill `clients` with all true ancestors of the outputs."""
        clients, patterns = self.clients, self.patterns
        visited: set[Variable] = set()
        for output in outputs:
            clients.setdefault(output, {})
            stack = [self._edges(output, visited, constants)]
            while stack:
                for node, position, inp in stack[-1]:
                    uses = clients.setdefault(inp, {}).setdefault(node, [])
                    if position not in uses:
                        uses.append(position)
                    if inp not in visited and inp.owner is not None:
                        stack.append(self._edges(inp, visited, constants))
                        break
                else:
                    stack.pop()
        self.patterns = patterns

    def _edges(self, var: Variable, visited: set[Variable], constants: frozenset[Variable]) -> Any:
        """Iterate over `(node, position, input)` of the inputs that `var` truly depends on."""
        if var in visited:
            return iter(())
        visited.add(var)
        node = var.owner
        if node is None or var in constants:
            return iter(())
        if node not in self.patterns:
            self.patterns[node] = _node_to_pattern(node)
        pattern = self.patterns[node]
        if pattern is None:
            return iter([(node, i, inp) for i, inp in enumerate(node.inputs)])
        index = node.outputs.index(var)
        return iter([(node, i, inp) for i, inp in enumerate(node.inputs) if pattern[i][index]])

    def _keep_ancestors_of(self, wrt: Sequence[Variable]) -> None:
        """Drop from `clients` the variables that do not depend on an element of `wrt`."""
        clients, patterns = self.clients, self.patterns
        kept: set[Variable] = set()
        stack = list(wrt)
        while stack:
            var = stack.pop()
            if var in kept or var not in clients:
                continue
            kept.add(var)
            for node, positions in clients[var].items():
                pattern = patterns[node]
                for j, output in enumerate(node.outputs):
                    if pattern is None or any(pattern[i][j] for i in positions):
                        stack.append(output)
        self.clients = {var: uses for var, uses in clients.items() if var in kept}

    def gradient(self, wanted: Variable) -> Any:
        """The gradient of `wanted`; it and all that it needs are computed once."""
        gradients, clients, terms = self.gradients, self.clients, self.terms
        stack = [wanted]
        while stack:
            var = stack[-1]
            if var in gradients:
                stack.pop()
                continue
            uses = clients.get(var, ())
            missing = [output for node in uses if node not in terms for output in node.outputs if output not in gradients]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            gradients[var] = self._sum_of_terms(var, uses)
        return gradients[wanted]

    def _sum_of_terms(self, var: Variable, uses: Any) -> Any:
        total: Any = None
        for node in uses:
            if node not in self.terms:
                self.terms[node] = self._terms_of(node)
            for position in uses[node]:
                term = self.terms[node][position]
                kind = term.type
                if isinstance(kind, NullType):
                    return term
                if isinstance(kind, DisconnectedType):
                    continue
                ndim = getattr(var, "ndim", None)
                if ndim is not None and getattr(term, "ndim", ndim) != ndim:
                    raise ValueError(f"{node.op}.grad returned a term with {term.ndim} dimensions, but {ndim} are required.")
                total = term if total is None else total + term
        if total is None:
            return disconnected_type()
        if self.cost_name is not None and var.name is not None:
            total.name = f"(d{self.cost_name}/d{var.name})"
        return total

    def _terms_of(self, node: Apply) -> list[Any]:
        """What `node` contributes to the gradient of each of its inputs."""
        inputs, outputs = node.inputs, node.outputs
        output_grads = [self.gradients[output] for output in outputs]
        pattern = self.patterns[node]
        live = [not isinstance(g.type, DisconnectedType) for g in output_grads]
        null = [isinstance(g.type, NullType) for g in output_grads]
        discrete = [_dtype(output) in _DISCRETE for output in outputs]

        def reach(i: int, wanted: list[bool]) -> bool:
            """Whether input `i` is connected to an output that is live and wanted."""
            if pattern is None:
                return any(w and c for w, c in zip(wanted, live, strict=True))
            return any(w and c and p for w, c, p in zip(wanted, live, pattern[i], strict=True))

        everything = [True] * len(outputs)
        count = range(len(inputs))
        connected = [reach(i, everything) for i in count]
        if not any(connected):
            return [disconnected_type() for _ in inputs]
        if any(null):
            only_null = [not reach(i, [not n for n in null]) for i in count]
            if all(only_null):
                undefined = output_grads[null.index(True)].type
                return [undefined() if c else disconnected_type() for c in connected]
        else:
            only_null = [False] * len(inputs)
        only_discrete = [not reach(i, [not d for d in discrete]) for i in count] if any(discrete) else [False] * len(inputs)
        # What does not lie between the cost and the variables in question need not be built, where the Op can do that.
        wanted = [inp in self.clients for inp in inputs] if _takes_wanted(node.op) else None
        raw = _call_grad(node, output_grads, wanted)
        return [
            disconnected_type()
            if wanted is not None and not wanted[i]
            else _check_term(node, i, raw[i], connected[i], only_discrete[i], only_null[i])
            for i in count
        ]


def _takes_wanted(op: Any) -> bool:
    """Whether the Op's L_op can be told which gradients are wanted."""
    return getattr(getattr(op, "L_op", None), "takes_wanted", False)


def _call_grad(node: Apply, output_grads: list[Any], wanted: list[bool] | None) -> list[Any]:
    """Ask the Op of `node` for the gradients of its inputs, or of those `wanted`."""
    op, inputs, outputs = node.op, list(node.inputs), node.outputs
    destroy_map = getattr(op, "destroy_map", None)
    if destroy_map:
        # The gradient must see the values from before the Op wrote over them, else the graph has a cycle.
        for positions in destroy_map.values():
            for position in positions:
                if hasattr(inputs[position], "copy"):
                    inputs[position] = inputs[position].copy()
    for j, (output, g) in enumerate(zip(outputs, output_grads, strict=True)):
        if isinstance(g.type, DisconnectedType | NullType):
            continue
        o_dtype, g_dtype = _dtype(output), _dtype(g)
        if g_dtype is not None and g_dtype != o_dtype:
            if g_dtype not in _CONTINUOUS:
                raise TypeError(f"{node.op}: the gradient of output {j} has the discrete dtype {g_dtype}.")
            if o_dtype in _FLOATS and g_dtype in _FLOATS:
                output_grads[j] = g = g.astype(o_dtype)
    l_op = getattr(op, "L_op", None)
    if wanted is not None:
        terms = l_op(inputs, list(outputs), output_grads, wanted)
    elif l_op is not None:
        terms = l_op(inputs, list(outputs), output_grads)
    elif hasattr(op, "grad"):
        terms = op.grad(inputs, output_grads)
    else:
        raise NotImplementedError(f"The op {op} has no grad method: its gradient is not implemented.")
    if not isinstance(terms, Iterable) or isinstance(terms, Variable):
        raise TypeError(f"{op}.grad returned {type(terms).__name__}, expected iterable.")
    terms = list(terms)
    if len(terms) != len(inputs):
        raise ValueError(f"{op} returned the wrong number of gradient terms: {len(terms)} for {len(inputs)} inputs.")
    return terms


def _is_zero(x: Any) -> str:
    """Whether the value of `x` is known to be zero: 'yes', 'no' or 'maybe'."""
    from theano.tensor.basic import NotScalarConstantError, get_scalar_constant_value

    if not hasattr(x, "type"):
        return "yes" if (x == 0.0).all() else "no"
    if isinstance(x.type, NullType):
        return "no"
    if isinstance(x.type, DisconnectedType):
        return "yes"
    try:
        return "yes" if get_scalar_constant_value(x) == 0.0 else "no"
    except (NotScalarConstantError, TypeError):
        pass
    data = getattr(x, "data", None)
    if data is not None:
        return "yes" if (data == 0.0).all() else "no"
    return "maybe"


def _check_term(node: Apply, i: int, term: Any, connected: bool, only_discrete: bool, only_null: bool) -> Any:
    """Check one term that an Op returned, and bring it to the dtype of its input."""
    op = node.op
    if term is None:
        raise ValueError(
            f"{op}.grad returned None for a gradient term, this is prohibited. Instead of None, return "
            "zeros_like(input), disconnected_type(), or a NullType variable such as those made with the "
            "grad_undefined or grad_not_implemented helper functions."
        )
    if not isinstance(term, Variable):
        raise TypeError(f"{op}.grad returned {type(term)}, expected Variable instance.")
    kind = term.type
    if isinstance(kind, DisconnectedType):
        if connected:
            message = f"{op}.grad returned DisconnectedType for input {i}."
            if hasattr(op, "connection_pattern"):
                raise TypeError(message + " Its connection_pattern method does not allow this.")
            warnings.warn(message + " This Op should have a connection_pattern method that says so.", stacklevel=2)
        return term
    if isinstance(kind, NullType):
        return term
    if only_null:
        raise TypeError(
            f"{op}.grad returned {kind} for input {i}, whose only connections to the cost are through null gradients."
        )
    dtype = getattr(kind, "dtype", None)
    if dtype is not None:
        if dtype in _DISCRETE:
            raise TypeError(f"{op}.grad illegally returned an integer-valued variable. (Input index {i}, dtype {dtype})")
        wanted = _dtype(node.inputs[i])
        if wanted != dtype and wanted in _FLOATS and dtype in _FLOATS:
            term = term.astype(wanted)
    if only_discrete:
        known = _is_zero(term)
        if known != "yes":
            message = (
                f"{op}.grad returned {term} of type {type(term)} for input {i}. Since this input is only connected "
                "to integer-valued outputs, it should evaluate to zeros, but "
            )
            raise ValueError(
                message
                + (
                    "it evaluates to something else."
                    if known == "no"
                    else "theano can't simplify it to a constant, so it's not verifiably zeros."
                )
            )
        if term.owner is not None and _dtype(node.inputs[i]) in _DISCRETE:
            # Zeros that are seen at a glance, so that those of the nodes before can be verified too.
            term = _float_zeros_like(node.inputs[i])
    if not connected and _is_zero(term) == "no":
        raise ValueError(
            f"{op}.grad returned {term} of type {kind} for input {i}, which its connection_pattern says is not "
            "connected to the cost: the gradient should be DisconnectedType or zeros."
        )
    return term


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
    f
        Variable or list of variables to differentiate.
    wrt
        Variable, or list or tuple of variables, to differentiate with respect to.
    eval_points
        One variable of the type of `f` for each of its elements.
    consider_constant, disconnected_inputs
        As for `grad`.

    Returns
    -------
    Variable, or list or tuple of Variables
        ``sum_i eval_points[i] * d f[i] / d wrt[j]`` for each `j`, in the container that `wrt` has.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> x, v = T.dvectors('x', 'v')
    >>> theano.function([x, v], Lop(x ** 2, x, v))([1., 2.], [1., 1.]).tolist()
    [2.0, 4.0]
    """
    from theano.compile.ops import view_op

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
    f
        Variable, or list or tuple of variables, to differentiate.
    wrt
        Variable or list of variables to differentiate with respect to.
    eval_points
        One variable of the same rank for each element of `wrt`.
    disconnected_outputs : {'raise', 'warn', 'ignore'}
        What to do when an element of `f` does not depend on any element of `wrt`.
    return_disconnected : {'zero', 'None', 'Disconnected'}
        What to return for such an element.

    Returns
    -------
    Variable, or list or tuple of Variables
        ``sum_j d f[i] / d wrt[j] * eval_points[j]`` for each `i`, in the container that `f` has.

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
    """Gradients of a part of the graph: from `cost` and from known gradients `start`, up to `end`.

    Parameters
    ----------
    wrt
        Variables to differentiate with respect to.
    end
        Variables at which to stop; the gradients with respect to them are returned too.
    start
        Maps variables to their known gradients.
    cost
        Scalar cost whose gradient is added. May be None if `start` is given.
    details
        Also return the lists of gradients that come from `start` and from `cost`.

    Returns
    -------
    tuple of lists
        ``(wrt_grads, end_grads)``, and with `details` ``(wrt_grads, end_grads, start_grads, cost_grads)``,
        where the last two are with respect to the elements of `wrt`.
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


def _grads_of_elements(vector: Any, wrt: list[Any], what: str, **kwargs: Any) -> list[Any]:
    """For each element of `wrt` the gradients of all elements of `vector`, stacked along axis 0."""
    from theano import tensor
    from theano.scan_module.scan import scan

    def row_of(i: Any, expression: Any, *arguments: Any) -> list[Any]:
        return grad(expression[i], list(arguments), **kwargs)

    # Updates are empty: a gradient holds no random state of its own.
    outputs, updates = scan(row_of, sequences=tensor.arange(vector.shape[0]), non_sequences=[vector, *wrt])
    assert not updates, f"Scan has returned a list of updates while computing the {what}. This should not happen."
    return _as_list(outputs)


def jacobian(
    expression: Any,
    wrt: Any,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: str = "raise",
) -> Any:
    """The full Jacobian of a vector, row by row.

    Parameters
    ----------
    expression
        Vector (or scalar) to differentiate.
    wrt
        Variable, or list or tuple of variables, to differentiate with respect to.
    consider_constant, disconnected_inputs
        As for `grad`.

    Returns
    -------
    Variable, or list or tuple of Variables
        For each element of `wrt` the Jacobian, of shape ``expression.shape + wrt.shape``, in the container that
        `wrt` has.

    Raises
    ------
    AssertionError
        If `expression` has more than one dimension.
    """
    from theano.tensor import as_tensor_variable

    if not isinstance(expression, Variable):
        raise TypeError(f"jacobian expects a Variable as `expression`, got {type(expression)}")
    expression = as_tensor_variable(expression)
    assert expression.ndim < 2, (
        "tensor.jacobian expects a 1 dimensional variable as `expression`. If not use flatten to make it a vector"
    )
    wrt_list = _as_list(wrt)
    kwargs: dict[str, Any] = {"consider_constant": consider_constant, "disconnected_inputs": disconnected_inputs}
    if expression.ndim == 0:
        result = grad(expression, wrt_list, **kwargs)
    else:
        result = _grads_of_elements(expression, wrt_list, "jacobian", **kwargs)
    return format_as(isinstance(wrt, list), isinstance(wrt, tuple), result)


def hessian(
    cost: Any,
    wrt: Any,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: str = "raise",
) -> Any:
    """The Hessian of a scalar cost with respect to one or more vectors.

    Parameters
    ----------
    cost
        Scalar to differentiate twice.
    wrt
        Vector, or list or tuple of vectors.
    consider_constant, disconnected_inputs
        As for `grad`.

    Returns
    -------
    Variable, or list or tuple of Variables
        One square matrix for each vector, in the container that `wrt` has.

    Raises
    ------
    AssertionError
        If `cost` is not a scalar or an element of `wrt` not a vector.
    """
    from theano.tensor import as_tensor_variable

    if not isinstance(cost, Variable):
        raise TypeError(f"hessian expects a Variable as `cost`, got {type(cost)}")
    cost = as_tensor_variable(cost)
    assert cost.ndim == 0, "tensor.hessian expects a 0 dimensional variable as `cost`"
    kwargs: dict[str, Any] = {"consider_constant": consider_constant, "disconnected_inputs": disconnected_inputs}
    result = []
    for x in _as_list(wrt):
        assert isinstance(x, Variable) and x.ndim == 1, "tensor.hessian expects a (list of) 1 dimensional variable as `wrt`"
        first = grad(cost, x, **kwargs)
        result.extend(_grads_of_elements(first, [x], "hessian", **kwargs))
    return format_as(isinstance(wrt, list), isinstance(wrt, tuple), result)
