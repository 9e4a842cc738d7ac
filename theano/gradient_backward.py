"""Back-propagation: which gradients a wanted one needs, in which order the Ops are asked, and what they may answer.

It takes three steps, each linear in the number of edges between the cost and `wrt`: walk from the cost to its ancestors
through truly connected edges, keep what leads to an element of `wrt`, then ask each Apply for the gradient of its inputs
once the gradients of all its outputs are known.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from theano.configdefaults import config
from theano.gof.graph import Apply, Variable
from theano.gof.null_type import NullType
from theano.gof.op import gradient_method
from theano.gradient_types import DisconnectedType, disconnected_type

_CONTINUOUS = frozenset(("float16", "float32", "float64", "complex64", "complex128"))
_FLOATS = frozenset(("float16", "float32", "float64"))
_WITHOUT_VALUE = (DisconnectedType, NullType)
_DISCRETE = frozenset(("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"))


def _dtype(variable: Variable) -> str | None:
    return getattr(variable.type, "dtype", None)


def float_zeros_like(x: Any) -> Any:
    """`x.zeros_like()`, of dtype floatX if that of `x` is discrete."""
    rval = x.zeros_like()
    return rval if rval.type.dtype in _CONTINUOUS else rval.astype(config.floatX)


def _float_ones_like(x: Any) -> Any:
    """`ones_like(x)`, of dtype floatX if that of `x` is discrete."""
    from theano import tensor

    dtype = x.type.dtype
    return tensor.ones_like(x, dtype=dtype if dtype in _CONTINUOUS else config.floatX)


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
    if pattern == [[True] * len(node.outputs)] * len(node.inputs):
        return None
    for row in pattern:
        if not isinstance(row, list):
            raise TypeError(f"{node.op}.connection_pattern should return a list of lists, not of {type(row)}")
        if len(row) != len(node.outputs):
            raise ValueError(f"{node.op}.connection_pattern should have {len(node.outputs)} columns but has {len(row)}.")
        for element in row:
            if element not in (True, False):
                raise TypeError(f"{node.op}.connection_pattern should contain only bools, not {element!r}.")
    return pattern


def check_constants(consider_constant: Iterable[Variable] | None) -> frozenset[Variable]:
    """What `grad` was given as `consider_constant`, as a set; raises a TypeError that names what is no variable."""
    if consider_constant is None:
        return frozenset()
    if not isinstance(consider_constant, Iterable) or isinstance(consider_constant, Variable):
        raise TypeError(f"consider_constant must be an iterable collection, got {type(consider_constant)}")
    constants = list(consider_constant)
    for elem in constants:
        if not isinstance(elem, Variable):
            raise TypeError(f"Elements of consider_constant must be variables, but got {type(elem)}")
    return frozenset(constants)


def initial_gradients(cost: Any, known_grads: Mapping[Variable, Any] | None) -> dict[Variable, Any]:
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
        if not isinstance(gradient.type, _WITHOUT_VALUE) and _dtype(gradient) not in _CONTINUOUS:
            raise TypeError(
                "Gradients must always be NullType, DisconnectedType, or continuous, but grad was given a "
                f"known_grad of type {gradient.type}"
            )
        gradients.setdefault(var, gradient)
    return gradients


class Backward:
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
        # What the gradients of the Ops share.
        self.made: dict[Any, Any] = {}
        # Of each Op, by id: how it is asked for its gradient, and whether it can be told which terms are wanted.
        self.asked: dict[int, tuple[Any, bool]] = {}
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
                node, edges = stack[-1]
                for position, inp in edges:
                    takers = clients.get(inp)
                    if takers is None:
                        clients[inp] = {node: [position]}
                    elif node not in takers:
                        takers[node] = [position]
                    elif position not in takers[node]:
                        takers[node].append(position)
                    if inp not in visited and inp.owner is not None:
                        stack.append(self._edges(inp, visited, constants))
                        break
                else:
                    stack.pop()
        self.patterns = patterns

    def _edges(self, var: Variable, visited: set[Variable], constants: frozenset[Variable]) -> tuple[Any, Any]:
        """The node of `var`, and an iterator over `(position, input)` of the inputs that `var` truly depends on."""
        node, seen = var.owner, var in visited
        visited.add(var)
        if seen or node is None or var in constants:
            return node, iter(())
        if node not in self.patterns:
            self.patterns[node] = _node_to_pattern(node)
        pattern = self.patterns[node]
        if pattern is None:
            return node, enumerate(node.inputs)
        index = node.outputs.index(var)
        return node, iter([(i, inp) for i, inp in enumerate(node.inputs) if pattern[i][index]])

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
            uses = clients.get(var, {})
            missing = [output for node in uses if node not in terms for output in node.outputs if output not in gradients]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            gradients[var] = self._sum_of_terms(var, uses)
        return gradients[wanted]

    def _sum_of_terms(self, var: Variable, uses: dict[Apply, list[int]]) -> Any:
        total: Any = None
        for node, positions in uses.items():
            terms = self.terms.get(node)
            if terms is None:
                terms = self.terms[node] = self._terms_of(node)
            for position in positions:
                term = terms[position]
                kind = term.type
                if isinstance(kind, NullType):
                    return term
                if isinstance(kind, DisconnectedType):
                    continue
                ndim = None if kind is var.type else getattr(var, "ndim", None)
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
        count = range(len(inputs))
        has_value = not isinstance(output_grads[0].type, _WITHOUT_VALUE) and _dtype(outputs[0]) not in _DISCRETE
        if pattern is None and len(outputs) == 1 and has_value:
            # Most nodes have one output, which all inputs matter to, and of which there is a gradient.
            wanted = [inp in self.clients for inp in inputs] if self._how_to_ask(node.op)[1] else None
            raw = self._call_grad(node, output_grads, wanted)
            return [
                _check_term(node, i, raw[i], True, False, False) if wanted is None or wanted[i] else disconnected_type()
                for i in count
            ]
        live = [not isinstance(g.type, DisconnectedType) for g in output_grads]
        null = [isinstance(g.type, NullType) for g in output_grads]
        discrete = [_dtype(output) in _DISCRETE for output in outputs]

        def reach(i: int, wanted: list[bool]) -> bool:
            """Whether input `i` is connected to an output that is live and wanted."""
            if pattern is None:
                return any(w and c for w, c in zip(wanted, live, strict=True))
            return any(w and c and p for w, c, p in zip(wanted, live, pattern[i], strict=True))

        everything = [True] * len(outputs)
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
        wanted = [inp in self.clients for inp in inputs] if self._how_to_ask(node.op)[1] else None
        raw = self._call_grad(node, output_grads, wanted)
        return [
            disconnected_type()
            if wanted is not None and not wanted[i]
            else _check_term(node, i, raw[i], connected[i], only_discrete[i], only_null[i])
            for i in count
        ]

    def _how_to_ask(self, op: Any) -> tuple[Any, bool]:
        """The method that gives the gradient of an Op, and whether its `L_op` can be told which terms are wanted."""
        found = self.asked.get(id(op))
        if found is None:
            takes_wanted = getattr(getattr(op, "L_op", None), "takes_wanted", False)
            found = self.asked[id(op)] = gradient_method(op), takes_wanted
        return found

    def _call_grad(self, node: Apply, output_grads: list[Any], wanted: list[bool] | None) -> list[Any]:
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
            if isinstance(g.type, _WITHOUT_VALUE):
                continue
            o_dtype, g_dtype = _dtype(output), _dtype(g)
            if g_dtype is not None and g_dtype != o_dtype:
                if g_dtype not in _CONTINUOUS:
                    raise TypeError(f"{node.op}: the gradient of output {j} has the discrete dtype {g_dtype}.")
                if o_dtype in _FLOATS and g_dtype in _FLOATS:
                    output_grads[j] = g = g.astype(o_dtype)
        l_op = self._how_to_ask(op)[0]
        if wanted is not None and l_op is not None:
            terms = l_op(inputs, list(outputs), output_grads, wanted, self.made)
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
        # Zeros in forms that cannot be told from other values are taken for what they should be.
        if _is_zero(term) == "no":
            raise ValueError(
                f"{op}.grad returned {term} of type {type(term)} for input {i}. Since this input is only connected "
                "to integer-valued outputs, it should evaluate to zeros, but it evaluates to something else."
            )
        sparse = any(hasattr(v.type, "format") for v in (*node.inputs, *node.outputs))
        if term.owner is not None and _dtype(node.inputs[i]) in _DISCRETE and not sparse:
            # Zeros that are seen at a glance, so that those of the nodes before can be verified too. Sparse matrices of
            # integers have the gradients of sparse matrices of floats.
            term = float_zeros_like(node.inputs[i])
    if not connected and _is_zero(term) == "no":
        raise ValueError(
            f"{op}.grad returned {term} of type {kind} for input {i}, which its connection_pattern says is not "
            "connected to the cost: the gradient should be DisconnectedType or zeros."
        )
    return term
