"""An Op made of a graph: :class:`OpFromGraph`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theano.compile.function_module import orig_function
from theano.compile.rebuild import rebuild_collect_shared
from theano.configparser import change_flags
from theano.gof import Apply, FunctionGraph, Op, Variable, graph, local_optimizer
from theano.gof.null_type import NullType
from theano.gof.op import get_test_value, ops_with_inner_function
from theano.gof.opt import in2out
from theano.gof.rewriting.stages import optdb
from theano.gof.sharedvalue import SharedVariable


def _substitute(outputs: list[Variable], replace: dict[Variable, Variable]) -> list[Variable]:
    """Return clones of the outputs with variables replaced; everything else is shared with the original."""
    return rebuild_collect_shared(outputs, replace=replace, copy_inputs_over=True, no_default_updates=True)[1]


def infer_shape(outs: list[Variable], inputs: list[Variable], input_shapes: list[Any]) -> list[Any]:
    """Return the shapes of variables, given those of the inputs of their graph.

    Parameters
    ----------
    outs : list of Variable
        Variables of a graph.
    inputs : list of Variable
        Its inputs.
    input_shapes : list
        For each input its shape as a sequence of variables, or None.

    Returns
    -------
    list
        For each output its shape as a tuple of variables, or None.

    See Also
    --------
    theano.tensor.utils.shape_of_variables : Return the numeric shape of every variable of a graph.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, n = T.dmatrix("x"), T.lscalar("n")
    >>> infer_shape([x.T], [x], [(n, T.constant(3))])
    [(TensorConstant{3}, n)]
    """
    from theano.tensor.opt import ShapeFeature

    feature = ShapeFeature()
    feature.on_attach(FunctionGraph([], []))
    for variable, shape in zip(inputs, input_shapes):
        if shape is not None and len(shape) == getattr(variable, "ndim", len(shape)):
            feature.set_shape(variable, shape)
    return [feature.shape(variable) for variable in outs]


def _is_placeholder(variable: Any) -> bool:
    """Whether a gradient is no value: disconnected or undefined."""
    from theano.gradient_types import DisconnectedType

    return isinstance(variable.type, (DisconnectedType, NullType))


class _Derivative:
    """A list of results, some computed by an OpFromGraph and the others known beforehand."""

    def __init__(self, owner: OpFromGraph, suffix: str, inputs: list[Variable], results: list[Any]):
        self.placeholders: list[Any] = [r if r is None or _is_placeholder(r) else False for r in results]
        wanted = [r for r, p in zip(results, self.placeholders) if p is False]
        self.op = None
        if wanted:
            self.op = OpFromGraph(
                inputs, wanted, inline=owner.is_inline, name=f"{owner.name or ''}_{suffix}", on_unused_input="ignore"
            )

    def __call__(self, *inputs: Variable) -> list[Any]:
        computed = iter(self.op(*inputs, return_list=True) if self.op is not None else ())
        return [
            next(computed) if p is False else (p if p is None else p.type() if hasattr(p, "type") else p)
            for p in self.placeholders
        ]


class OpFromGraph(Op):
    """An Op that computes a graph, and that can be applied several times.

    Parameters
    ----------
    inputs : list of Variable
        Inputs of the graph.
    outputs : list of Variable
        Outputs of the graph. Shared variables in it become further inputs
        by themselves.
    inline : bool
        True puts the graph in the place of the Op before anything else is
        optimized; False compiles it to a function of its own.
    lop_overrides : 'default', OpFromGraph, callable or list
        Gradient in place of the automatic one, from the inputs, the outputs and
        the gradients of the outputs: called as ``f(inputs, outputs,
        output_gradients)`` and returning a list. A list has an entry for each
        input: 'default', something to call that returns one gradient, or a
        variable of DisconnectedType or NullType.
    grad_overrides : 'default', OpFromGraph, callable or list
        The same without the outputs: ``f(inputs, output_gradients)``. Give one
        of both.
    rop_overrides : 'default', OpFromGraph, callable or list
        R operator in place of the automatic one: ``f(inputs, eval_points)``
        returns a list with an entry for each output.
    connection_pattern : list of list of bool, optional
        For each input, which outputs depend on it; in place of what the graph
        says.
    name : str, optional
        Name, for printing.
    **kwargs
        Options of the function that the graph is compiled to, see
        :func:`theano.compile.function_module.orig_function`.

    See Also
    --------
    theano.as_op : Return a decorator that makes an Op of a Python function.
    theano.Op : An operation, with its C interface: the base class of Ops.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> x, y = T.dscalars('x', 'y')
    >>> op = theano.OpFromGraph([x, y], [x + 2 * y])
    >>> f = theano.function([x, y], op(x, y) + op(y, x))
    >>> float(f(1, 2))
    9.0
    """

    def __init__(
        self,
        inputs: list[Variable],
        outputs: list[Variable],
        inline: bool = False,
        lop_overrides: Any = "default",
        grad_overrides: Any = "default",
        rop_overrides: Any = "default",
        connection_pattern: list[list[bool]] | None = None,
        name: str | None = None,
        **kwargs: Any,
    ):
        if not isinstance(outputs, list):
            raise TypeError(f"outputs must be list, got {type(outputs)}")
        if not isinstance(inputs, (list, tuple)):
            raise TypeError(f"inputs must be list, got {type(inputs)}")
        for variable in [*inputs, *outputs]:
            if not isinstance(variable, Variable):
                raise TypeError(f"Inputs and outputs must be Variable instances, got {variable!r}")
        if "updates" in kwargs or "givens" in kwargs:
            raise TypeError("updates and givens are not allowed here")
        inputs = list(inputs)

        self.is_inline = inline
        self.name = name
        self.kwargs = kwargs
        shared = [v for v in graph.inputs(outputs, blockers=inputs) if isinstance(v, SharedVariable) and v not in inputs]
        self.shared_inputs: list[Any] = list(dict.fromkeys(shared))
        stand_ins = [_stand_in(v) for v in self.shared_inputs]
        self.local_inputs, self.local_outputs, _ = rebuild_collect_shared(
            outputs,
            inputs=[*inputs, *self.shared_inputs],
            replace=list(zip([*inputs, *self.shared_inputs], [_stand_in(v) for v in inputs] + stand_ins)),
            copy_inputs_over=False,
        )
        self.inputs = inputs
        self.outputs = outputs
        self.input_types = [v.type for v in inputs]
        self.output_types = [v.type for v in outputs]

        self._connection_pattern = connection_pattern
        self.set_grad_overrides(grad_overrides)
        if not _is_default(lop_overrides):
            if not _is_default(grad_overrides):
                raise ValueError("lop_overrides and grad_overrides are mutually exclusive")
            self.set_lop_overrides(lop_overrides)
        self.set_rop_overrides(rop_overrides)

    def set_grad_overrides(self, grad_overrides: Any) -> None:
        """Set the gradient, in the form of the argument `grad_overrides` of the class."""
        self._overrides = grad_overrides
        self._overrides_take_outputs = False
        self._lop: Callable[..., list[Any]] | None = None

    def set_lop_overrides(self, lop_overrides: Any) -> None:
        """Set the gradient, in the form of the argument `lop_overrides` of the class."""
        self._overrides = lop_overrides
        self._overrides_take_outputs = True
        self._lop = None

    def set_rop_overrides(self, rop_overrides: Any) -> None:
        """Set the R operator, in the form of the argument `rop_overrides` of the class."""
        self._rop_overrides = rop_overrides
        self._rops: dict[tuple[bool, ...], _Derivative] = {}

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self) >> 4

    def __str__(self) -> str:
        name = type(self).__name__ if self.name is None else self.name
        return f"{name}{{inline={self.is_inline}}}"

    def __getstate__(self) -> dict[str, Any]:
        # The function and the derivatives are made again when they are needed.
        state = dict(self.__dict__)
        state.pop("_fn", None)
        state["_lop"] = None
        state["_rops"] = {}
        return state

    def make_node(self, *inputs: Any) -> Apply:
        """Return the node.

        Raises
        ------
        ValueError
            For a wrong number of inputs.
        TypeError
            For inputs of other types.
        """
        if len(inputs) != len(self.input_types):
            raise ValueError(f"Expected {len(self.input_types)} inputs, got {len(inputs)}")
        variables = [type_.filter_variable(v) for v, type_ in zip(inputs, self.input_types)]
        return Apply(self, variables + self.shared_inputs, [type_() for type_ in self.output_types])

    @property
    def fn(self) -> Any:
        """The compiled graph."""
        if "_fn" not in self.__dict__:
            fn = orig_function(self.local_inputs, self.local_outputs, **{"on_unused_input": "ignore", **self.kwargs})
            fn.trust_input = True
            self._fn = fn
        return self._fn

    def prepare_node(self, node: Apply, storage_map: Any, compute_map: Any, impl: str | None) -> None:
        """Compile the graph when the node is linked, not when it runs first."""
        _ = self.fn

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[list[Any]]) -> None:
        values = self.fn(*inputs)
        for storage, value in zip(output_storage, values):
            storage[0] = value

    def infer_shape(self, node: Apply, input_shapes: list[Any]) -> list[Any]:
        shapes = infer_shape(self.local_outputs, self.local_inputs, input_shapes)
        flat = [length for shape in shapes if shape is not None for length in shape]
        # Lengths may be computed from the values of the inputs.
        outer = iter(_substitute(flat, dict(zip(self.local_inputs, node.inputs))) if flat else ())
        return [None if shape is None else tuple(next(outer) for _ in shape) for shape in shapes]

    def connection_pattern(self, node: Apply | None = None) -> list[list[bool]]:
        """Return for each input which outputs depend on it."""
        if self._connection_pattern is not None:
            return self._connection_pattern
        pattern = [list(row) for row in graph.io_connection_pattern(self.local_inputs, self.local_outputs)]
        if not _is_default(self._overrides):
            lop = self.get_lop_op()
            if isinstance(lop, _Derivative):
                self._connect_overrides(pattern, lop)
        return pattern

    def _connect_overrides(self, pattern: list[list[bool]], lop: _Derivative) -> None:
        """Correct the connection pattern of the graph by what the given gradients say."""
        n_in, n_out = len(self.local_inputs), len(self.local_outputs)
        through: list[list[bool]] = []
        if lop.op is not None:
            inner = graph.io_connection_pattern(lop.op.local_inputs, lop.op.local_outputs)
            through = inner[n_in + n_out : n_in + 2 * n_out]
        computed = 0
        for i, placeholder in enumerate(lop.placeholders):
            if placeholder is False:
                for o in range(n_out):
                    pattern[i][o] = pattern[i][o] or bool(through[o][computed])
                computed += 1
            elif placeholder is not None and not isinstance(placeholder.type, NullType):
                pattern[i] = [False] * n_out

    def get_lop_op(self) -> Callable[..., list[Any]]:
        """Return what computes the gradients from the inputs, the outputs and the gradients of the outputs."""
        if self._lop is None:
            with change_flags(compute_test_value="off"):
                self._lop = self._make_lop()
        return self._lop

    def get_rop_op(self) -> Callable[..., list[Any]]:
        """Return what computes the R operator from the inputs and the evaluation points of all inputs."""
        return self._rop_for((True,) * len(self.local_inputs))

    def _make_lop(self) -> Callable[..., list[Any]]:
        from theano import gradient

        overrides = self._overrides
        n_in, n_out = len(self.local_inputs), len(self.local_outputs)
        explicit = len(self.input_types)
        if isinstance(overrides, OpFromGraph):

            def given(*args: Variable) -> list[Any]:
                parts = [args[:explicit], args[n_in : n_in + n_out], args[n_in + n_out :]]
                if not self._overrides_take_outputs:
                    del parts[1]
                results = list(overrides(*[v for part in parts for v in part], return_list=True))
                return results + [gradient.DisconnectedType()() for _ in range(n_in - len(results))]

            return given

        inputs = self.local_inputs
        outputs = [type_() for type_ in self.output_types]
        output_grads = [type_() for type_ in self.output_types]
        arguments = [inputs[:explicit], outputs, output_grads]
        if not self._overrides_take_outputs:
            del arguments[1]
        results: list[Any]
        if callable(overrides):
            results = list(overrides(*arguments))
            if len(results) != explicit:
                raise ValueError(f"The overriding gradient must return {explicit} variables, it returned {len(results)}")
            if n_in > explicit:
                results += self._default_grads(outputs, output_grads)[explicit:]
        elif _is_default(overrides):
            results = self._default_grads(outputs, output_grads)
        elif isinstance(overrides, (list, tuple)):
            if len(overrides) != explicit:
                raise ValueError(f"Need to override {explicit} gradients, got {len(overrides)}")
            results = [None] * explicit
            defaults: list[Any] | None = None
            for i, override in enumerate([*overrides, *["default"] * (n_in - explicit)]):
                if override is None or _is_default(override):
                    if defaults is None:
                        defaults = self._default_grads(outputs, output_grads)
                    value = defaults[i]
                elif isinstance(override, Variable):
                    if not _is_placeholder(override):
                        raise ValueError(f"A gradient given as a variable must be of DisconnectedType or NullType: {override}")
                    value = override
                elif isinstance(override, OpFromGraph):
                    value = override(*[v for part in arguments for v in part])
                elif callable(override):
                    value = override(*arguments)
                else:
                    raise TypeError(f"Invalid gradient override: {override!r}")
                results[i : i + 1] = [value]
        else:
            raise TypeError(f"Invalid gradient overrides: {overrides!r}")
        return _Derivative(self, "LOp", inputs + outputs + output_grads, results)

    def _default_grads(self, outputs: list[Variable], output_grads: list[Variable]) -> list[Variable]:
        """Return the gradients of the graph, in terms of stand-ins for its outputs and their gradients."""
        from theano import gradient
        from theano.gof.copying import view_op

        # A known gradient is the whole gradient of a variable, also of an output that others are computed from.
        known = {view_op(output): output_grad for output, output_grad in zip(self.local_outputs, output_grads)}
        grads = gradient.grad(
            cost=None,
            known_grads=known,
            wrt=self.local_inputs,
            disconnected_inputs="ignore",
            return_disconnected="Disconnected",
            null_gradients="return",
        )
        values = [g for g in grads if not _is_placeholder(g)]
        # The gradients may use the outputs, which are there already.
        replace = {o: s for o, s in zip(self.local_outputs, outputs) if o.owner is not None}
        substituted = iter(_substitute(values, replace) if values else ())
        return [g if _is_placeholder(g) else next(substituted) for g in grads]

    def L_op(self, inputs: list[Variable], outputs: list[Variable], output_grads: list[Variable]) -> list[Any]:
        """Return the gradients of the inputs."""
        grads = [
            output.zeros_like() if _is_placeholder(g) else g for output, g in zip(outputs, output_grads)
        ]
        lop = self.get_lop_op()
        return [_disconnected() if g is None else g for g in lop(*inputs, *outputs, *grads)]

    def grad(self, inputs: list[Variable], output_grads: list[Variable]) -> list[Any]:
        """Return the gradients of the inputs."""
        explicit = inputs[: len(self.input_types)]
        return OpFromGraph.L_op(self, inputs, self(*explicit, return_list=True), output_grads)

    def R_op(self, inputs: list[Variable], eval_points: list[Any]) -> list[Any]:
        """Return the R operator of the outputs."""
        given = tuple(e is not None and not _is_placeholder(e) for e in eval_points)
        if not any(given):
            return [None] * len(self.output_types)
        overrides = self._rop_overrides
        if not _is_default(overrides) and not all(given):
            eval_points = [e if g else v.zeros_like() for v, e, g in zip(inputs, eval_points, given)]
            given = (True,) * len(inputs)
        return self._rop_for(given)(*inputs, *[e for e, g in zip(eval_points, given) if g])

    def _rop_for(self, given: tuple[bool, ...]) -> Any:
        """Return the R operator for the case that these inputs have evaluation points."""
        if isinstance(self._rop_overrides, OpFromGraph):
            op = self._rop_overrides
            return lambda *args: op(*args, return_list=True)
        if given not in self._rops:
            points = [v.type() for v, g in zip(self.local_inputs, given) if g]
            with change_flags(compute_test_value="off"):
                results = self._rop_results(given, points)
                self._rops[given] = _Derivative(self, "ROp", self.local_inputs + points, results)
        return self._rops[given]

    def _rop_results(self, given: tuple[bool, ...], points: list[Variable]) -> list[Any]:
        from theano import gradient

        def default() -> list[Any]:
            wrt = [v for v, g in zip(self.local_inputs, given) if g]
            return gradient.Rop(
                self.local_outputs, wrt, points, disconnected_outputs="ignore", return_disconnected="None"
            )

        overrides = self._rop_overrides
        explicit = len(self.input_types)
        arguments = self.local_inputs[:explicit], points[:explicit]
        if _is_default(overrides):
            return default()
        if callable(overrides):
            results = list(overrides(*arguments))
            if len(results) != len(self.output_types):
                raise ValueError(
                    f"The overriding R operator must return {len(self.output_types)} variables, "
                    f"it returned {len(results)}"
                )
            return results
        if not isinstance(overrides, (list, tuple)):
            raise TypeError(f"Invalid R operator overrides: {overrides!r}")
        if len(overrides) != len(self.output_types):
            raise ValueError(f"Need to override {len(self.output_types)} R operators, got {len(overrides)}")
        results, defaults = [], None
        for i, override in enumerate(overrides):
            if override is None or _is_default(override):
                defaults = default() if defaults is None else defaults
                results.append(defaults[i])
            elif isinstance(override, Variable):
                results.append(override)
            elif isinstance(override, OpFromGraph):
                results.append(override(*arguments[0], *arguments[1]))
            else:
                results.append(override(*arguments))
        return results


def _stand_in(variable: Variable) -> Variable:
    stand_in = variable.type()
    stand_in.name = variable.name
    try:
        stand_in.tag.test_value = get_test_value(variable)
    except AttributeError:
        # Most variables have none.
        pass
    return stand_in


def _is_default(override: Any) -> bool:
    return isinstance(override, str) and override == "default"


def _disconnected() -> Variable:
    from theano.gradient_types import DisconnectedType

    return DisconnectedType()()


@local_optimizer([OpFromGraph])
def inline_ofg_expansion(node: Apply) -> Any:
    """``OpFromGraph(x)`` -> its graph on ``x``, if the op says ``inline``."""
    op = node.op
    if not isinstance(op, OpFromGraph) or not op.is_inline:
        return False
    return _substitute(op.local_outputs, dict(zip(op.local_inputs, node.inputs)))


# Before everything else, so that all rewrites see the graph.
optdb.register("inline_ofg_expansion", in2out(inline_ofg_expansion), -0.01, "fast_compile", "fast_run")

ops_with_inner_function[OpFromGraph] = "fn"
