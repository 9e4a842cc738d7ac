"""Operations on tensors element by element: :class:`Elemwise`. Reductions and DimShuffle are named here too."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Sequence

import numpy as np

from theano import scalar as scal
from theano.configdefaults import config
from theano.gof import Apply, Constant, Op, Variable
from theano.gof.graph import io_toposort
from theano.gof.null_type import NullType
from theano.gof.op import gradient_method
from theano.gradient_types import DisconnectedType
from theano.misc.frozendict import frozendict
from theano.scalar.op import ScalarOp
from theano.tensor.careduce import (  # noqa: F401
    All,
    Any,
    CAReduce,
    CAReduceDtype,
    MaxOrMinusInfinity,
    MulWithoutZeros,
    Prod,
    ProdWithoutZeros,
    Sum,
    mul_without_zeros,
)
from theano.tensor.conversion import as_tensor_variable, constant, is_evidently
from theano.tensor.dimshuffle import DimShuffle, dim_shuffle  # noqa: F401
from theano.tensor.dimshuffle_print import DimShufflePrinter  # noqa: F401
from theano.tensor.elemwise_eval import check_shapes, evaluate, evaluator, resolve_function
from theano.tensor.static_shape import check_elementwise
from theano.tensor.type import TensorType, ops, tensor_type
from theano.tensor.var import TensorConstant


class _Signature:
    """What `inspect.signature` and `help` show of an operation; nothing for the class itself."""

    def __get__(self, op: Elemwise | None, owner: type) -> inspect.Signature | None:
        if op is None:
            return None
        count = getattr(op.scalar_op, "nin", -1)
        kind = inspect.Parameter.POSITIONAL_ONLY
        if count < 1:
            return inspect.Signature([inspect.Parameter("inputs", inspect.Parameter.VAR_POSITIONAL)])
        names = list("ab")[:count]
        if count > 2:
            try:
                names = list(inspect.signature(op.scalar_op.impl).parameters)
            except (TypeError, ValueError):
                names = []
            if len(names) != count:
                names = [f"input_{i}" for i in range(count)]
        return inspect.Signature([inspect.Parameter(name, kind) for name in names])


class _Documentation:
    """The text of the class, and of an operation that was described its own, which is written when somebody asks for it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __get__(self, op: Elemwise | None, owner: type) -> str:
        if op is None or op.description is None:
            return self.text
        from theano.tensor.elemwise_docs import describe

        return describe(op, *op.description)


class Elemwise(Op):
    __doc__ = _Documentation(
        """A scalar op applied to each element of tensors, which are broadcast to a common shape.

    Which dimensions are repeated is known from the types: all inputs must have the same length in a dimension, but
    for those whose type says that it is broadcastable there. Inputs of fewer dimensions get broadcastable ones on
    the left.

    Parameters
    ----------
    scalar_op : ScalarOp
        The operation on numbers.
    inplace_pattern : dict, optional
        Maps an output to the input whose memory it takes.
    name : str, optional
        The name that is printed.
    nfunc_spec : tuple, optional
        ``(name, nin, nout)`` of a NumPy function that does the same on arrays; by default that of `scalar_op`.
    openmp : bool, optional
        Whether the loop may run in several threads; by default ``config.openmp``.

    See Also
    --------
    theano.tensor.CAReduce : The reduction of a tensor by a scalar op, along some or all dimensions.
    theano.tensor.DimShuffle : A view of a tensor with its dimensions permuted, dropped, and new ones of length 1 inserted.

    Examples
    --------
    >>> import theano.tensor as T
    >>> Elemwise(scal.add)(T.matrix("m"), T.vector("v")).type
    TensorType(float64, matrix)
    """
    )  # type: ignore[assignment]

    #: How programs write an operation that has a name, and what it computes; the rest of its docstring comes from itself.
    description: tuple[str, str] | None = None
    #: The operations that are described, by the last part of how programs write them.
    described: dict[str, Elemwise] = {}
    __props__ = ("scalar_op", "inplace_pattern")
    _f16_ok = True
    __signature__ = _Signature()

    def describe_as(self, path: str, summary: str) -> None:
        """Say how programs write this operation and what it computes.

        Parameters
        ----------
        path : str
            ``T.exp``, say, where ``import theano.tensor as T``.
        summary : str
            What it computes: a line, and more after an empty one.
        """
        self.description = (path, summary)
        Elemwise.described[path.rpartition(".")[2]] = self

    def __init__(
        self,
        scalar_op: ScalarOp,
        inplace_pattern: dict[int, int] | None = None,
        name: str | None = None,
        nfunc_spec: tuple[str, int, int] | None = None,
        openmp: bool | None = None,
    ) -> None:
        self.scalar_op = scalar_op
        self.name = name
        self.inplace_pattern = frozendict(inplace_pattern or {})
        self.destroy_map = {o: [i] for o, i in self.inplace_pattern.items()}
        self.nfunc_spec = nfunc_spec if nfunc_spec is not None else getattr(scalar_op, "nfunc_spec", None)
        self.openmp = config.openmp if openmp is None else openmp
        self._hash = hash((Elemwise, scalar_op, self.inplace_pattern))
        self._nodes: dict[typing.Any, typing.Any] = {}
        self._by_ids: dict[tuple, tuple] = {}
        self._ids: dict[tuple, tuple] = {}

    @property
    def nfunc(self) -> typing.Any:
        """The NumPy function of `nfunc_spec`, or None."""
        return None if self.nfunc_spec is None else resolve_function(self.nfunc_spec[0])

    def __getstate__(self) -> dict:
        state = {**self.__dict__, "_nodes": {}}
        state.pop("_hash", None)
        state.pop("_by_ids", None)
        state.pop("_ids", None)
        return state

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self.__dict__["_nodes"] = {}
        self.__dict__["_by_ids"] = {}
        self.__dict__["_ids"] = {}
        self._hash = hash((Elemwise, self.scalar_op, self.inplace_pattern))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            type(self) is type(other)
            and self._hash == other._hash  # type: ignore[attr-defined]
            and self.scalar_op == other.scalar_op  # type: ignore[attr-defined]
            and self.inplace_pattern == other.inplace_pattern  # type: ignore[attr-defined]
        )

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        if self.name is not None:
            return self.name
        if self.inplace_pattern:
            return f"Elemwise{{{self.scalar_op}}}{sorted(self.inplace_pattern.items())}"
        return f"Elemwise{{{self.scalar_op}}}"

    def __repr__(self) -> str:
        return str(self)

    def get_output_info(self, dim_shuffle: typing.Any, *inputs: typing.Any) -> tuple[list[str], list[tuple], list]:
        """Return the dtypes and broadcastable patterns of the outputs, and the inputs with ranks made equal.

        Parameters
        ----------
        dim_shuffle
            Makes the Op that adds dimensions: called with a pattern, an order and ``inplace=True``.
        *inputs
            Tensor variables.

        Raises
        ------
        ValueError
            If an output shall take the memory of an input that is repeated.
        """
        ndim = max((v.type.ndim for v in inputs), default=0)
        args = []
        for v in inputs:
            missing = ndim - v.type.ndim
            if missing:
                order = ["x"] * missing + list(range(v.type.ndim))
                v = dim_shuffle(v.type.broadcastable, order, inplace=True)(v)
            args.append(v)
        patterns = [v.type.broadcastable for v in args]
        out_pattern = tuple(all(flags) for flags in zip(*patterns)) if patterns else ()
        types = self.scalar_op.output_types([scal.get_scalar_type(v.type.dtype) for v in args])
        out_dtypes = [t.dtype for t in types]
        for output, i in self.inplace_pattern.items():
            if any(repeated and not out for repeated, out in zip(patterns[i], out_pattern)):
                raise ValueError("Operation cannot be done inplace on an input with broadcasted dimensions.")
            if args[i].type.dtype != out_dtypes[output]:
                raise TypeError(
                    f"Cannot do an inplace operation on incompatible data types: "
                    f"{[v.type.dtype for v in args]} to {out_dtypes} with {self.inplace_pattern}"
                )
        return out_dtypes, [out_pattern] * len(out_dtypes), args

    def make_node(self, *inputs: typing.Any) -> Apply:
        """Return the node for inputs of any ranks; those of lower rank get dimensions on the left."""
        variables = list(inputs)
        # True division and the casting policy make output types depend on the configuration.
        ids: list[typing.Any] = [config.floatX, config.cast_policy]
        for i, x in enumerate(inputs):
            if not isinstance(x, Variable) or type(x.type) is not TensorType:
                variables[i] = x = _as_tensor(x)
            ids.append(id(x.type))
        known = self._by_ids.get(tuple(ids))
        if known is None:
            known = self._known(ids, [v.type for v in variables])
        if known is None:
            key = (config.floatX, config.cast_policy, *[v.type for v in variables])
            if self.scalar_op.nin >= 0 and len(variables) != self.scalar_op.nin:
                raise TypeError(
                    f"Wrong number of inputs for {self}.make_node (got {len(variables)}({variables}),"
                    f" expected {self.scalar_op.nin})"
                )
            if isinstance(self.scalar_op, scal.Composite):
                # Its expressions are those of given types.
                scalar_op = self.scalar_op.with_types([scal.get_scalar_type(v.type.dtype) for v in variables])
                if scalar_op is not self.scalar_op:
                    return type(self)(scalar_op, dict(self.inplace_pattern), openmp=self.openmp).make_node(*variables)
            pads: list[typing.Any] = []

            def pad(pattern: typing.Any, order: typing.Any, inplace: bool = True) -> typing.Any:
                op = dim_shuffle(pattern, tuple(order))
                pads.append(op)
                return op

            dtypes, patterns, args = self.get_output_info(pad, *variables)
            out_types = [tensor_type(d, p) for d, p in zip(dtypes, patterns)]
            padding = iter(pads)
            ndim = max((v.type.ndim for v in variables), default=0)
            by_input = [next(padding) if v.type.ndim < ndim else None for v in variables]
            self._nodes[key] = (by_input if pads else None, out_types)
            check_elementwise(self, args)
            return Apply(self, args, [t.make_variable() for t in out_types])
        by_input, out_types = known[0]
        if by_input is not None:
            variables = [v if op is None else op(v) for v, op in zip(variables, by_input)]
        node = Apply.of_types(self, variables, out_types)
        if not check_elementwise(self, variables) and type(self) is Elemwise:
            # What `static_shape` would find.
            node.outputs[0]._lengths = None
        return node

    def known_types(self, variables: Sequence[typing.Any]) -> list | None:
        """Return the types of the outputs of a node on these tensors, of equal ranks, if there was such a node; else None."""
        types = [v.type for v in variables]
        ids = [config.floatX, config.cast_policy, *map(id, types)]
        known = self._by_ids.get(tuple(ids)) or self._known(ids, types)
        return None if known is None or known[0][0] is not None else known[0][1]

    def _known(self, ids: list, types: list) -> typing.Any:
        # What is known of nodes of inputs of these types, which from now on is found by their ids: that takes no hashes.
        found = self._nodes.get((*ids[:2], *types))
        return None if found is None else self._keep_by_ids(ids, found, types)

    def _keep_by_ids(self, ids: list, found: typing.Any, types: list) -> tuple:
        # Of equal types the last ones are kept, which hold their ids: else each function that comes and goes would add some.
        kind, new = (*ids[: -len(types) or None], *types), tuple(ids)
        self._by_ids.pop(self._ids.get(kind, new), None)
        self._ids[kind] = new
        known = self._by_ids[new] = (found, types)
        return known

    def perform(
        self, node: Apply, inputs: Sequence[typing.Any], output_storage: Sequence[list], params: typing.Any = None
    ) -> None:
        if any(x is None for x in inputs):
            raise TypeError("expected an array, got None")
        arrays = [np.asarray(x) for x in inputs]
        shape = check_shapes(node, arrays)
        # The outputs' types, too, depend on flags.
        key = ("run", *[v.type for v in node.inputs], *[v.type for v in node.outputs])
        run = self._nodes.get(key)
        if run is None:
            in_dtypes = tuple(v.type.dtype for v in node.inputs)
            out_dtypes = tuple(v.type.dtype for v in node.outputs)
            run = self._nodes[key] = evaluator(self.scalar_op, in_dtypes, out_dtypes, self.nfunc_spec)
        results = evaluate(run, arrays, shape)
        for i, (storage, value) in enumerate(zip(output_storage, results)):
            target = self.inplace_pattern.get(i)
            if target is not None and isinstance(inputs[target], np.ndarray):
                np.copyto(inputs[target], value)
                value = inputs[target]
            storage[0] = value

    def static_shape(self, node: Apply, shape_of: typing.Any) -> Sequence[int | None] | None:
        for x in node.inputs:
            lengths = shape_of(x)
            # One input of the result's pattern says all that is known.
            if lengths is not None and x.type.broadcastable == node.outputs[0].type.broadcastable:
                return lengths
        return None

    def infer_shape(self, node: Apply, i_shapes: Sequence[typing.Any]) -> list[tuple]:
        """Return the shape of the outputs: each length that of an input that is not repeated there."""
        shape: list[typing.Any] = []
        for dim, repeated in enumerate(node.outputs[0].type.broadcastable):
            if repeated:
                shape.append(constant(1, dtype="int64"))
                continue
            length: typing.Any = None
            for x, s in zip(node.inputs, i_shapes):
                if s is None or x.type.broadcastable[dim]:
                    continue
                if isinstance(s[dim], (int, Constant)):
                    # The first that is known.
                    length = s[dim]
                    break
                if length is None:
                    length = s[dim]
            shape.append(node.outputs[0].shape[dim] if length is None else length)
        return [tuple(shape)] * len(node.outputs)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return which outputs depend on which inputs, as the scalar op says."""
        pattern = getattr(self.scalar_op, "connection_pattern", None)
        if pattern is not None:
            return pattern(node)
        return [[True] * len(node.outputs) for _ in node.inputs]

    def python_constant_folding(self, node: Apply) -> bool:
        """Return whether folding the node should not compile C code for it: it is a single number."""
        return node.outputs[0].type.ndim == 0

    def L_op(
        self,
        inputs: Sequence[typing.Any],
        outs: Sequence[typing.Any],
        ograds: Sequence[typing.Any],
        wanted: Sequence[bool] | None = None,
        made: dict | None = None,
    ) -> list:
        """Return the gradients at the inputs, summed over the dimensions in which an input is repeated.

        Parameters
        ----------
        inputs, outs, ograds : sequence of Variable
        wanted : sequence of bool, optional
            The inputs whose gradients are to be built; for the others there is None.
        made : dict, optional
            Numbers of the gradients of other nodes, which go into these, too.
        """
        gradients = self._gradients(inputs, outs, ograds, None if wanted is None or all(wanted) else tuple(wanted), made)
        pattern = outs[0].type.broadcastable
        result = []
        for x, g in zip(inputs, gradients):
            if g is not None and type(g.type) is TensorType and x.type.broadcastable != g.type.broadcastable:
                g = _fit(x, g, pattern)
            result.append(g)
        return result

    # For `theano.gradient`: the fourth and the fifth argument are there.
    L_op.takes_wanted = True  # type: ignore[attr-defined]

    def R_op(self, inputs: Sequence[typing.Any], eval_points: Sequence[typing.Any]) -> list:
        """Return the derivatives of the outputs along `eval_points`."""
        outs = self(*inputs, return_list=True)
        result: list[typing.Any] = []
        for i, out in enumerate(outs):
            if out.type.numpy_dtype.kind in "biu":
                result.append(ops.zeros_like(out, dtype=config.floatX))
                continue
            # The gradient is that of a real number: for a complex output that of its real part, and of its imaginary one.
            parts = []
            for seed in (1, 1j) if out.type.numpy_dtype.kind == "c" else (1,):
                unit = constant(np.array(seed, dtype=out.type.dtype))
                seeds = [ops.fill(o, unit) if k == i else ops.zeros_like(o) for k, o in enumerate(outs)]
                parts.append(self._along(self._gradients(inputs, outs, seeds), eval_points))
            if all(part is None for part in parts):
                result.append(ops.zeros_like(out))
            elif len(parts) == 1:
                result.append(parts[0])
            else:
                dtype = "float32" if out.type.dtype == "complex64" else "float64"
                real, imag = (ops.zeros_like(out, dtype=dtype) if part is None else ops.cast(part, dtype) for part in parts)
                result.append(ops.complex(real, imag))
        return result

    def _along(self, gradients: Sequence[typing.Any], points: Sequence[typing.Any]) -> typing.Any:
        # The sum of the gradients' products with the directions; None if nothing flows.
        total: typing.Any = None
        for i, (g, point) in enumerate(zip(gradients, points)):
            if point is None or isinstance(point.type, DisconnectedType) or isinstance(g.type, DisconnectedType):
                continue
            # A derivative that is infinite or undefined does not matter where its input stands still.
            if is_evidently(point, 0):
                continue
            if isinstance(g.type, NullType):
                raise NotImplementedError(f"The derivative of {self} with respect to input {i}: {g.type.why_null}")
            if g.type.numpy_dtype.kind == "c" or point.type.numpy_dtype.kind == "c":
                term = ops.real(ops.conj(g) * point)
            else:
                term = g * point
            total = term if total is None else total + term
        return total

    def _gradients(
        self,
        inputs: Sequence[typing.Any],
        outs: Sequence[typing.Any],
        ograds: Sequence[typing.Any],
        wanted: tuple[bool, ...] | None = None,
        made: dict | None = None,
    ) -> list:
        # The gradients before repeated dimensions are summed.
        made = {} if made is None else made
        method = made.get(id(self))
        if method is None:
            method = made[id(self)] = gradient_method(self.scalar_op)
        by_ids: list[typing.Any] = [method, config.floatX, config.cast_policy, wanted]
        sources = [*inputs, *outs, *ograds]
        by_ids += [id(v.type) for v in sources]
        found = self._by_ids.get(tuple(by_ids))
        if found is not None:
            return found[0](sources, outs[0].type.ndim, made)
        plain = all(type(g.type) is TensorType for g in ograds)
        types = (
            tuple(v.type.dtype for v in inputs),
            tuple(v.type.dtype for v in outs),
            tuple(g.type.dtype if type(g.type) is TensorType else g.type for g in ograds),
        )
        recipe: _Recipe | None
        if plain:
            key = ("gradient", *by_ids[:4], types)
            recipe = self._nodes.get(key)
            if recipe is None:
                recipe = self._nodes[key] = _Recipe(self.scalar_op, *types, wanted)
            self._keep_by_ids(by_ids, recipe, [v.type for v in sources])
        else:
            recipe = _Recipe(self.scalar_op, *types, wanted)
        return recipe(sources, outs[0].type.ndim, made)


def _as_tensor(x: typing.Any) -> typing.Any:
    return as_tensor_variable(x)


def _fit(x: typing.Any, g: typing.Any, out_pattern: tuple[bool, ...]) -> typing.Any:
    # Give the gradient the shape of the input.
    pattern = x.type.broadcastable
    axes = [i for i, (ours, theirs) in enumerate(zip(pattern, g.type.broadcastable)) if ours and not theirs]
    if axes:
        summed = ops.sum(g, axis=axes, dtype=g.type.dtype)
        kept = iter(range(len(pattern)))
        order = tuple("x" if i in axes else next(kept) for i in range(len(pattern)))
        g = dim_shuffle(summed.type.broadcastable, order)(summed)
    if any(theirs and not ours for ours, theirs in zip(pattern, g.type.broadcastable)):
        g = elemwise_of(scal.second)(x, g)
    return g


class _Recipe:
    """The gradient of a scalar op as a list of tensor operations.

    The scalar gradient is a graph of scalar ops from the inputs, outputs and output gradients. It is the same for all
    tensors of the same dtypes, so it is made once and then replayed.
    """

    def __init__(
        self,
        scalar_op: ScalarOp,
        in_dtypes: tuple,
        out_dtypes: tuple,
        grad_types: tuple,
        wanted: tuple[bool, ...] | None,
    ) -> None:
        # Nobody asks where what is made here was made: it is replayed.
        with config.change_flags({"traceback.limit": 0}, compute_test_value="off"):
            inputs = [scal.get_scalar_type(d)() for d in in_dtypes]
            outputs = list(scalar_op.make_node(*inputs).outputs)
            grads = [scal.get_scalar_type(t)() if isinstance(t, str) else t() for t in grad_types]
            results = gradient_method(scalar_op)(inputs, outputs, grads)
        if len(results) != len(inputs):
            raise ValueError(f"{scalar_op} has {len(inputs)} inputs but returned {len(results)} gradients")
        sources = [*inputs, *outputs, *grads]
        results = [scal.as_scalar(g) if not isinstance(g, Variable) else g for g in results]
        if wanted is not None:
            results = [g if w else None for g, w in zip(results, wanted, strict=True)]
        self.slots: dict[Variable, int] = {}
        for i, v in enumerate(sources):
            self.slots.setdefault(v, i)
        self.constants: list[tuple[int, typing.Any]] = []
        self.steps: list[tuple[Elemwise, tuple[int, ...], tuple[int, ...]]] = []
        self.n_slots = len(sources)
        graph = [g for g in results if g is not None and isinstance(g.type, scal.Scalar)]
        for node in io_toposort(sources, graph):
            if not isinstance(node.op, ScalarOp):
                raise TypeError(f"The gradient of {scalar_op} holds {node.op}, which is not a scalar op")
            ins = tuple(self._slot(v) for v in node.inputs)
            for o in node.outputs:
                self.slots[o] = self.n_slots
                self.n_slots += 1
            self.steps.append((elemwise_of(node.op), ins, tuple(self.slots[o] for o in node.outputs)))
        self.results: list[typing.Any] = []
        for g in results:
            if g is None:
                self.results.append(None)
            elif isinstance(g.type, scal.Scalar):
                self.results.append(self._slot(g))
            elif isinstance(g.type, NullType) or g not in self.slots:
                self.results.append(g.type)
            else:
                self.results.append(self.slots[g])
        del self.slots

    def _slot(self, variable: Variable) -> int:
        found = self.slots.get(variable)
        if found is None:
            if not isinstance(variable, Constant):
                raise TypeError(f"The gradient of a scalar op depends on an unknown variable: {variable}")
            found = self.slots[variable] = self.n_slots
            self.n_slots += 1
            self.constants.append(
                (found, TensorConstant(tensor_type(variable.type.dtype, ()), np.asarray(variable.data)))
            )
        return found

    def __call__(self, sources: Sequence[typing.Any], ndim: int, made: dict) -> list:
        values: list[typing.Any] = [*sources, *([None] * (self.n_slots - len(sources)))]
        for slot, known in self.constants:
            number = made.get((known, ndim))
            if number is None:
                number = made[known, ndim] = dim_shuffle((), ("x",) * ndim)(known.clone())
            values[slot] = number
        limit = config.traceback.limit
        trace = made.get("trace") if limit and config.compute_test_value == "off" else None
        for op, ins, outs in self.steps:
            arguments = [values[i] for i in ins]
            if trace is None:
                results = op(*arguments, return_list=True)
                trace = results[0].tag._trace if limit and config.compute_test_value == "off" else None
                made["trace"] = trace
            else:
                # The line of the user is the same for all of a gradient.
                results = op.make_node(*arguments).outputs
                for result in results:
                    result.tag._trace = trace
            for slot, value in zip(outs, results):
                values[slot] = value
        return [values[r] if isinstance(r, int) else r and r() for r in self.results]


@functools.lru_cache(maxsize=4096)
def elemwise_of(scalar_op: ScalarOp) -> Elemwise:
    """Return the :class:`Elemwise` of a scalar op, without a name; the same one for equal ops."""
    return Elemwise(scalar_op)


ops.gather(globals(), "elemwise_of")
