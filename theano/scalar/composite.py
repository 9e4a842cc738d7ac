"""A graph of scalar ops as one scalar op: the body of fused loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from theano.configdefaults import config
from theano.gof import Apply, Constant, FunctionGraph, Variable
from theano.gof.graph import io_toposort
from theano.gof.memo import Bounded
from theano.gof.op import gradient_method
from theano.gof.utils import MethodNotDefined
from theano.scalar.convert import as_scalar
from theano.scalar.op import ScalarOp, is_expression, zeros_for
from theano.scalar.output_types import specific_out
from theano.scalar.type import Scalar, ScalarConstant, discrete_types, float32_for

_LONGEST_TEXT = 4000


class _Assembly:
    """Scalar nodes in the making: Composites are taken apart, and equal nodes and constants become one."""

    def __init__(self) -> None:
        self.nodes: list[Apply] = []
        self._constants: dict[Any, Variable] = {}
        self._known: dict[Any, list[Variable]] = {}

    def image(self, variable: Variable, env: dict[Variable, Variable]) -> Variable:
        """What stands for `variable`: that of `env`, or a constant."""
        found = env.get(variable)
        if found is not None:
            return found
        if not isinstance(variable, Constant):
            raise ValueError(f"A variable of a Composite is neither an input, a constant nor computed: {variable}")
        key = _constant_key(variable)
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = ScalarConstant(variable.type, variable.data)
        return found

    def apply(self, op: Any, args: list[Variable]) -> list[Variable]:
        """The outputs of an op."""
        if isinstance(op, Composite):
            op = op.with_types([a.type for a in args])
            inner = dict(zip(op.inputs, args))
            for node in op.nodes:
                inner.update(zip(node.outputs, self._emit(node.op, [self.image(i, inner) for i in node.inputs])))
            return [self.image(o, inner) for o in op.outputs]
        if not isinstance(op, ScalarOp):
            raise TypeError(
                "The fgraph to Composite must be exclusively composed of ScalarOp instances. Got type "
                f"{type(op)} for op {op}."
            )
        return self._emit(op, args)

    def _emit(self, op: ScalarOp, args: list[Variable]) -> list[Variable]:
        key = (op, *map(id, args))
        outs = self._known.get(key)
        if outs is None:
            node = op.make_node(*args)
            self.nodes.append(node)
            outs = self._known[key] = node.outputs
        return outs


def _flatten(
    inputs: Sequence[Variable], outputs: Sequence[Variable], new_inputs: Sequence[Variable]
) -> tuple[list[Apply], list[Variable]]:
    """Copy the graph from `inputs` to `outputs` onto `new_inputs`; see `_Assembly`."""
    replaced: dict[Variable, Variable] = dict(zip(inputs, new_inputs))
    made = _Assembly()
    for node in io_toposort(inputs, outputs):
        replaced.update(zip(node.outputs, made.apply(node.op, [made.image(i, replaced) for i in node.inputs])))
    return made.nodes, [made.image(o, replaced) for o in outputs]


def _constant_key(variable: Variable) -> tuple:
    return variable.type, np.asarray(variable.data).tobytes()


class Step(NamedTuple):
    """One inner operation of a :class:`Composite`: slots of its inputs and outputs in a table of values.

    See Also
    --------
    theano.scalar.Composite : A scalar op made of a graph of scalar ops.
    theano.scalar.Program : The inner graph of a `Composite` as straight-line code.

    Examples
    --------
    >>> from theano.scalar import exp, float64
    >>> x = float64("x")
    >>> for step in Composite([x], [exp(x * x)]).program.steps:
    ...     print(step.op, step.inputs, step.outputs)
    mul (0, 0) (1,)
    exp (1,) (2,)
    """

    op: ScalarOp
    node: Apply
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class Program(NamedTuple):
    """The inner graph of a :class:`Composite` as straight-line code.

    Values are numbered: first the inputs, then the constants, then what the steps compute.

    See Also
    --------
    theano.scalar.Composite : A scalar op made of a graph of scalar ops.
    theano.scalar.ScalarOp : An operation on numbers; `theano.tensor.Elemwise` applies it to every element of tensors.
    theano.scalar.Step : One inner operation of a `Composite`: slots of its inputs and outputs in a table of values.

    Examples
    --------
    >>> from theano.scalar import float64
    >>> x = float64("x")
    >>> program = Composite([x], [x * x + 3.0]).program
    >>> program.n_slots, program.constants, [(step.op, step.inputs) for step in program.steps], program.outputs
    (4, ((1, Constant{3.0}),), [(mul, (0, 0)), (add, (2, 1))], (3,))
    """

    n_slots: int
    constants: tuple[tuple[int, Any], ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]


class Composite(ScalarOp):
    """A scalar op made of a graph of scalar ops.

    Parameters
    ----------
    inputs : list of ScalarVariable
        Scalar variables that stand for the inputs.
    outputs : list of ScalarVariable
        Scalar variables computed from them by scalar ops. Composites among these are taken apart.

    Attributes
    ----------
    inputs, outputs, nodes
        The op's own copy of the graph; `nodes` in topological order.

    Raises
    ------
    TypeError
        If the graph holds something else than scalar ops.

    See Also
    --------
    theano.scalar.ScalarOp : An operation on numbers; `theano.tensor.Elemwise` applies it to every element of tensors.
    theano.scalar.Program : The inner graph of a `Composite` as straight-line code.
    theano.scalar.Step : One inner operation of a `Composite`: slots of its inputs and outputs in a table of values.

    Examples
    --------
    >>> from theano.scalar import float64
    >>> x, y = float64("x"), float64("y")
    >>> Composite([x, y], [(x + y) * x])
    Composite{((i0 + i1) * i0)}
    """

    init_param = key_state = ("inputs", "outputs")

    def __init__(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> None:
        if len(set(inputs)) != len(inputs):
            raise ValueError(f"The inputs of a Composite must be distinct, got {inputs}")
        if any(isinstance(i, Constant) for i in inputs):
            raise ValueError(f"A constant cannot be an input of a Composite: {inputs}")
        new_inputs = [i.type() for i in inputs]
        self._take(new_inputs, *_flatten(inputs, outputs, new_inputs))

    @classmethod
    def of_steps(cls, types: Sequence[Scalar], steps: Sequence[tuple]) -> Composite:
        """Make a Composite without a graph to copy.

        Parameters
        ----------
        types
            Of the inputs.
        steps
            The operations, each as a scalar op of one output and the numbers of its arguments: -1, -2 ... are the
            inputs, 0, 1 ... the results of steps. The last result is the output.

        Examples
        --------
        >>> from theano.scalar import add, float64, mul
        >>> Composite.of_steps([float64, float64], [(add, -1, -2), (mul, 0, -1)])
        Composite{((i0 + i1) * i0)}
        """
        made = _Assembly()
        inputs: list[Variable] = [t.make_variable() for t in types]
        results: list[Variable] = []
        for op, *args in steps:
            results += made.apply(op, [inputs[-a - 1] if a < 0 else results[a] for a in args])
        new = cls.__new__(cls)
        new._take(inputs, made.nodes, results[-1:])
        return new

    def _take(self, inputs: list[Variable], nodes: list[Apply], outputs: list[Variable]) -> None:
        self.inputs: list[Variable] = inputs
        self.nodes, self.outputs = nodes, outputs
        self.nin = len(self.inputs)
        self.nout = len(self.outputs)
        self.inputs_type: tuple[Scalar, ...] = tuple(i.type for i in self.inputs)
        self.outputs_type: tuple[Scalar, ...] = tuple(o.type for o in self.outputs)
        self._lazy: dict[str, Any] = {}

    def _once(self, key: str, make: Callable[[], Any]) -> Any:
        found = self._lazy.get(key)
        if found is None:
            found = self._lazy[key] = make()
        return found

    @property
    def fgraph(self) -> FunctionGraph:
        """A copy of the inner graph as a :class:`FunctionGraph`."""
        return self._once("fgraph", self._make_fgraph)

    def _make_fgraph(self) -> FunctionGraph:
        inputs = [i.type(name=f"i{k}") for k, i in enumerate(self.inputs)]
        _, outputs = _flatten(self.inputs, self.outputs, inputs)
        return FunctionGraph(inputs, outputs, clone=False)

    @property
    def program(self) -> Program:
        """The inner graph as straight-line code."""
        return self._once("program", self._make_program)

    def _make_program(self) -> Program:
        slots: dict[Variable, int] = {v: i for i, v in enumerate(self.inputs)}
        constants = []
        for variable in [i for node in self.nodes for i in node.inputs] + list(self.outputs):
            if isinstance(variable, Constant) and variable not in slots:
                slots[variable] = len(slots)
                constants.append((slots[variable], variable))
        steps = []
        for node in self.nodes:
            for out in node.outputs:
                slots[out] = len(slots)
            steps.append(
                Step(node.op, node, tuple(slots[i] for i in node.inputs), tuple(slots[o] for o in node.outputs))
            )
        return Program(len(slots), tuple(constants), tuple(steps), tuple(slots[o] for o in self.outputs))

    def _key(self) -> tuple:
        return self._once("key", self._make_key)

    def _make_key(self) -> tuple:
        program = self.program
        return (
            self.inputs_type,
            tuple((s.op, s.inputs) for s in program.steps),
            tuple(_constant_key(v) for _, v in program.constants),
            program.outputs,
        )

    def __eq__(self, other: Any) -> bool:
        if self is other:
            return True
        return type(self) is type(other) and hash(self) == hash(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return self._once("hash", lambda: hash((Composite, self._key())))

    def __getstate__(self) -> dict:
        state = {**self.__dict__, "_lazy": {}}
        # A node is pickled with all those before it: after the outputs, the list of nodes has nothing new.
        state["nodes"] = state.pop("nodes")
        return state

    @property
    def name(self) -> str:
        """The text that shows the inner expressions, ``Composite{...}``."""
        return self._once("name", self._make_name)

    def _make_name(self) -> str:
        program = self.program
        text = [f"i{i}" for i in range(self.nin)] + [""] * (program.n_slots - self.nin)
        for slot, variable in program.constants:
            text[slot] = str(variable)
        for step in program.steps:
            args = [text[i] for i in step.inputs]
            if sum(map(len, args)) > _LONGEST_TEXT:
                result = f"{step.op}(...)"
            elif step.op.sign:
                result = f"({step.op.sign}{args[0]})" if len(args) == 1 else f"({f' {step.op.sign} '.join(args)})"
            else:
                result = f"{step.op}({', '.join(args)})"
            for k, slot in enumerate(step.outputs):
                text[slot] = result if len(step.outputs) == 1 else f"{result}.{k}"
        return f"Composite{{{', '.join(text[o] for o in program.outputs)}}}"

    def with_types(self, types: Sequence[Scalar]) -> Composite:
        """Return the same expressions for inputs of the given types."""
        if tuple(types) == self.inputs_type:
            return self
        inputs = [t() for t in types]
        _, outputs = _flatten(self.inputs, self.outputs, inputs)
        return Composite(inputs, outputs)

    def clone_float32(self) -> Composite:
        """Return the op with float32 in place of each float16, constants and casts included."""
        made = _Assembly()
        inputs = [float32_for(t)() for t in self.inputs_type]
        image: dict[Variable, Variable] = dict(zip(self.inputs, inputs))
        for node in self.nodes:
            for v in node.inputs:
                if v not in image and v.type.dtype == "float16":
                    image[v] = ScalarConstant(float32_for(v.type), v.data)  # type: ignore[attr-defined]
            args = [made.image(v, image) for v in node.inputs]
            image.update(zip(node.outputs, made.apply(without_float16(node, args), args)))
        return Composite(inputs, [made.image(v, image) for v in self.outputs])

    def clone(self) -> Composite:
        """Return an equal op with variables of its own."""
        return type(self)(self.inputs, self.outputs)

    def output_types(self, types: Sequence[Scalar]) -> tuple[Scalar, ...]:
        if tuple(types) != self.inputs_type:
            raise TypeError(f"Wrong types for Composite. Expected {self.inputs_type}, got {tuple(types)}.")
        return self.outputs_type

    def make_node(self, *inputs: Any) -> Apply:
        variables = [as_scalar(i) for i in inputs]
        if len(variables) == self.nin:
            op = self.with_types([v.type for v in variables])
            if op is not self:
                return op.make_node(*variables)
        return super().make_node(*variables)

    def impl(self, *inputs: Any) -> Any:
        if len(inputs) != self.nin:
            raise ValueError(f"{self} takes {self.nin} values, got {len(inputs)}")
        program = self.program
        values: list[Any] = [*inputs, *([None] * (program.n_slots - self.nin))]
        for slot, variable in program.constants:
            values[slot] = variable.data
        with np.errstate(all="ignore"):
            for step in program.steps:
                results = step.op.impl(*(values[i] for i in step.inputs))
                if len(step.outputs) == 1:
                    results = (results,)
                for slot, result, out in zip(step.outputs, results, step.node.outputs):
                    values[slot] = out.type.dtype_specs()[0](result)
        outputs = tuple(values[o] for o in program.outputs)
        return outputs[0] if self.nout == 1 else outputs

    def perform(self, node, inputs, output_storage):
        values = self.impl(*inputs)
        for storage, value in zip(output_storage, (values,) if self.nout == 1 else values):
            storage[0] = value

    def c_code(self, node, name, inputs, outputs, sub):
        program = self.program
        names = [*inputs, *([""] * (program.n_slots - self.nin))]
        for slot, variable in program.constants:
            names[slot] = variable.type.c_literal(variable.data)
        lines = ["{"]
        for k, step in enumerate(program.steps):
            for slot, out in zip(step.outputs, step.node.outputs):
                names[slot] = f"{name}_v{slot}"
                lines.append(f"{out.type.dtype_specs()[1]} {names[slot]};")
            lines.append(
                step.op.c_code(
                    step.node,
                    f"{name}_step{k}",
                    [names[i] for i in step.inputs],
                    [names[o] for o in step.outputs],
                    sub,
                )
            )
        lines += [f"{z} = {names[o]};" for z, o in zip(outputs, program.outputs)]
        lines.append("}")
        return "\n".join(lines)

    def _inner_ops(self) -> list[ScalarOp]:
        return list(dict.fromkeys(step.op for step in self.program.steps))

    def _gather(self, method: str, *args: Any) -> list:
        result = []
        for op in self._inner_ops():
            try:
                result.append(getattr(op, method)(*args))
            except (MethodNotDefined, AttributeError):
                continue
        return result

    def c_support_code(self, *args: Any) -> str:
        return "\n".join(dict.fromkeys(str(text) for text in self._gather("c_support_code") if text))

    def c_support_code_apply(self, node, name):
        parts = []
        for k, step in enumerate(self.program.steps):
            try:
                parts.append(str(step.op.c_support_code_apply(step.node, f"{name}_step{k}") or ""))
            except MethodNotDefined:
                continue
        return "\n".join(filter(None, parts))

    def c_headers(self, *args: Any) -> list[str]:
        return list(dict.fromkeys(h for headers in self._gather("c_headers") for h in headers))

    def c_libraries(self, *args: Any) -> list[str]:
        return list(dict.fromkeys(h for libraries in self._gather("c_libraries") for h in libraries))

    def c_code_cache_version(self):
        versions = [op.c_code_cache_version() for op in self._inner_ops()]
        if not all(versions):
            return ()
        return (4, *versions)

    def L_op(self, inputs, outputs, output_gradients):
        """Return the gradients by running back through a copy of the inner graph."""
        program = self.program
        values: list[Any] = [*inputs, *([None] * (program.n_slots - self.nin))]
        for slot, constant in program.constants:
            values[slot] = constant
        for step in program.steps:
            for slot, out in zip(step.outputs, step.op.make_node(*(values[i] for i in step.inputs)).outputs):
                values[slot] = out
        # By slot, not by variable: one variable may be given for several inputs.
        gradients: dict[int, Any] = {}

        def accumulate(slot: int, term: Any) -> None:
            if isinstance(getattr(term, "type", None), Scalar):
                gradients[slot] = gradients[slot] + term if slot in gradients else term

        for slot, gz in zip(program.outputs, output_gradients):
            accumulate(slot, gz)
        for step in reversed(program.steps):
            if not any(o in gradients for o in step.outputs):
                continue
            outs = [values[o] for o in step.outputs]
            seeds = [
                gradients[k]
                if k in gradients
                else o.zeros_like(dtype=config.floatX if o.type in discrete_types else None)
                for k, o in zip(step.outputs, outs)
            ]
            for slot, term in zip(step.inputs, gradient_method(step.op)([values[i] for i in step.inputs], outs, seeds)):
                accumulate(slot, term)
        return [gradients[i] if i in gradients else zeros_for([x])[0] for i, x in enumerate(inputs)]


def without_float16(node: Apply, args: list[Variable]) -> Any:
    """The operation of `node` such that no result for `args` is a float16."""
    op = node.op
    if hasattr(op, "clone_float32"):
        op = op.clone_float32()
    if any(t.dtype == "float16" for t in op.output_types([a.type for a in args])):
        # The op says of itself that it gives float16, whatever it is given.
        op = op.__class__(specific_out(*(float32_for(o.type) for o in node.outputs)), name=getattr(op, "name", None))
    return op


# Operation and types -> whether it has C code for them.
_c_codes = Bounded(10_000)


def has_c_code(op: ScalarOp, types: Sequence[Scalar]) -> bool:
    """Whether a scalar op has C code for inputs of the given types; a `Composite`, whether all its operations have.

    Parameters
    ----------
    op : ScalarOp
        The op.
    types : sequence of Scalar
        Of its inputs.

    Examples
    --------
    >>> from theano.scalar import add, float64
    >>> has_c_code(add, [float64, float64])
    True
    """
    pending: list[tuple[ScalarOp, Sequence[Scalar], Apply | None]] = [(op, types, None)]
    while pending:
        op, types, node = pending.pop()
        if isinstance(op, Composite):
            pending += [(inner.op, [i.type for i in inner.inputs], inner) for inner in op.nodes]
            continue
        try:
            key = (op, *types)
            known = _c_codes.get(key)
        except TypeError:  # an op that cannot be hashed
            key, known = None, None
        if known is None:
            known = _writes_c(op, types, node)
            if key is not None:
                _c_codes.keep(key, known)
        if not known:
            return False
    return True


def _writes_c(op: ScalarOp, types: Sequence[Scalar], node: Apply | None) -> bool:
    # C code of users may stumble over dtypes that it was not written for; an expression that does has a mistake.
    stumbles: tuple[type[Exception], ...] = () if is_expression(op) else (AttributeError, TypeError, KeyError)
    try:
        if node is None:
            node = op.make_node(*[t.make_variable() for t in types])
    except (NotImplementedError, AttributeError, TypeError, KeyError):
        return False
    try:
        op.c_code(node, "tk", ["x"] * len(node.inputs), ["z"] * len(node.outputs), {"fail": "%(fail)s"})
    except (MethodNotDefined, NotImplementedError, *stumbles):
        return False
    return True
