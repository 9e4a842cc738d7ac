"""Shape inference: what a graph says about shapes without computing the values.

`ShapeFeature` knows, for each variable of a `FunctionGraph`, symbolic expressions of its dimensions. They are
made when somebody asks, so that a graph without questions about shapes costs nothing; a question costs what the
ancestors of the variable cost that were not asked about before.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from operator import is_
from typing import Any

import numpy as np

from theano.configdefaults import config
from theano.gof import toolbox
from theano.gof.graph import Constant, Variable
from theano.gof.opt import Optimizer, copy_stack_trace
from theano.gof.rewriting.stages import optdb
from theano.tensor import basic as T
from theano.tensor.elemwise import Elemwise
from theano.tensor.rewriting.registry import rewrites
from theano.tensor.rewriting.rules import Made, applies, replaces, rewrite, rule, x
from theano.tensor.rewriting.terms import lengths_of, same_dimension
from theano.tensor.shapes import Shape, Shape_i, shape_i  # noqa: F401
from theano.tensor.slicing import Subtensor
from theano.tensor.type import tensor_type

_logger = logging.getLogger("theano.tensor.opt")
# What almost all entries of shapes are.
_LENGTH = tensor_type("int64", ())


class _ShapeOf(Mapping[Variable, Any]):
    """The mapping from variables to their shape tuples that is computed when it is looked at."""

    def __init__(self, feature: ShapeFeature) -> None:
        self.feature = feature

    def __getitem__(self, var: Variable) -> Any:
        return self.feature.shape(var)

    def __contains__(self, var: object) -> bool:
        return var in self.feature.known or var in self.feature.fgraph.variables

    def __iter__(self) -> Iterator[Variable]:
        return iter(self.feature.fgraph.variables)

    def __len__(self) -> int:
        return len(self.feature.fgraph.variables)


class ShapeFeature(toolbox.Feature):
    """Knows the shapes of the variables of a graph, in terms of the shapes of its inputs.

    Attributes
    ----------
    shape_of : mapping
        For each variable a tuple of symbolic 0-d integers, one for each dimension; None for what is not a tensor.

    Examples
    --------
    >>> from theano.gof import FunctionGraph
    >>> x, y = T.dvector("x"), T.dmatrix("y")
    >>> fgraph = FunctionGraph([x, y], [T.exp(T.dot(x, y))], clone=False, features=[ShapeFeature()])
    >>> fgraph.shape_feature.shape_of[fgraph.outputs[0]][0].owner.inputs
    [y]
    """

    fgraph: Any = None

    follows_ops = True

    def __init__(self) -> None:
        self.known: dict[Variable, Any] = {}
        self.shape_of: Mapping[Variable, Any] = _ShapeOf(self)
        # What a replaced variable was: its Op may say more about the shape than the Op of its replacement.
        self.replaced: dict[Variable, Variable] = {}
        # For a variable whose dimensions are only known by looking at it: what was derived from them.
        self.derived: dict[Variable, set[Variable]] = {}
        self.scheduled: dict[Any, Variable] = {}
        self._opaque: dict[Variable, frozenset[Variable]] = {}
        # The constant 1 of dtype int64.
        self.lscalar_one = T.constant(1, dtype="int64")

    # The callbacks of a Feature.

    def on_attach(self, fgraph: Any) -> None:
        if hasattr(fgraph, "shape_feature"):
            raise toolbox.AlreadyThere("This FunctionGraph already has a ShapeFeature")
        fgraph.shape_feature = self
        self.fgraph = fgraph

    def on_detach(self, fgraph: Any) -> None:
        self.known.clear()
        self.replaced.clear()
        self.derived.clear()
        self._opaque.clear()
        self.scheduled.clear()
        self.fgraph = None
        del fgraph.shape_feature

    def clone(self) -> ShapeFeature:
        """A new, unattached feature."""
        return type(self)()

    def on_change_input(self, fgraph: Any, node: Any, i: int, r: Variable, new_r: Variable, reason: Any) -> None:
        if new_r is r or getattr(r.type, "ndim", None) is None:
            return
        if r in self.derived:
            self._forget(r)
            for client, _ in (*r.clients, (node, i)):
                if not isinstance(client, str) and isinstance(client.op, Shape_i):
                    self.scheduled[client] = new_r
        owner = new_r.owner
        if owner is None or hasattr(owner.op, "infer_shape"):
            # A replacement that infers its own shape may still lose a constant that is known already.
            if r not in self.known:
                return
        if new_r not in self.replaced:
            self.replaced[new_r] = r
            if self.known.get(new_r) is not None:
                self._forget(new_r)

    def _forget(self, var: Variable) -> None:
        """Drop the shapes that were derived from Shape_i of `var`."""
        for other in self.derived.pop(var, ()):
            self.known.pop(other, None)
            self._opaque.pop(other, None)

    # Questions.

    def shape(self, var: Variable) -> Any:
        """The shape tuple of `var`, or None if it is not a tensor."""
        known = self.known
        found = known.get(var, self)
        if found is not self:
            return found
        stack = [var]
        # Variables that wait for what they need. One that is needed while it waits is reached through the variable
        # that it replaced: there its own dimensions stand for themselves.
        waiting: set[Variable] = set()
        while stack:
            v = stack[-1]
            if v in known:
                stack.pop()
                continue
            node = v.owner
            if node is None:
                self._set(v, self.shape_tuple(v), frozenset())
                stack.pop()
                continue
            infers = hasattr(node.op, "infer_shape")
            if v not in waiting:
                pending = [i for i in node.inputs if i not in known and i not in waiting] if infers else []
                old = self.replaced.get(v)
                if old is not None and old not in known and old not in waiting and old is not v:
                    pending.append(old)
                if pending:
                    waiting.add(v)
                    stack.extend(pending)
                    continue
            self._infer(node, infers)
            stack.pop()
        return known[var]

    def _infer(self, node: Any, infers: bool) -> None:
        """Fill in the shapes of all outputs of `node`; those of its inputs are known."""
        known = self.known
        o_shapes: Any = None
        if infers and type(node.op) is Elemwise and len(node.outputs) == 1:
            shape = self._of_all(node)
            if shape is not None:
                out = node.outputs[0]
                if out not in self.replaced and self._opaque.keys().isdisjoint(node.inputs):
                    # It is complete already.
                    known[out] = shape
                    return
                o_shapes = [shape]
        if infers and o_shapes is None:
            i_shapes = [known[i] if i in known else self.shape_tuple(i) for i in node.inputs]
            try:
                o_shapes = node.op.infer_shape(node, i_shapes)
            except (T.ShapeError, NotImplementedError):
                pass
            except Exception as e:
                message = (
                    f"Failed to infer_shape from Op {node.op}.\nInput shapes: {i_shapes}\n"
                    f"Exception encountered during infer_shape: {type(e)}\nException message: {e}"
                )
                if config.on_shape_error == "raise":
                    raise Exception(message) from e
                _logger.warning(message)
        opaque = o_shapes is None
        if opaque:
            o_shapes = [self.shape_tuple(o) for o in node.outputs]
        elif not isinstance(o_shapes, list | tuple):
            raise Exception(f"infer_shape of {node} should return a list, not {type(o_shapes)}")
        elif len(o_shapes) != len(node.outputs):
            raise Exception(
                f'The infer_shape method for the Op "{node.op}" returned a list with the wrong number of '
                f"element: len(o_shapes) = {len(o_shapes)}  != len(node.outputs) = {len(node.outputs)}"
            )
        base: frozenset[Variable] = frozenset()
        if not opaque:
            for i in node.inputs:
                part = self._opaque.get(i)
                if part:
                    base = base | part if base else part
        for output, shape in zip(node.outputs, o_shapes, strict=True):
            if output in known:
                continue
            if shape is None:
                self._set(output, None, frozenset())
                continue
            try:
                full = self._complete(output, shape)
            except T.ShapeError as e:
                if config.on_shape_error == "raise":
                    raise
                _logger.warning("Failed to infer_shape from Op %s: %s", node.op, e)
                full, opaque = self.shape_tuple(output), True
            old = known.get(self.replaced.get(output))
            if old is not None and len(old) == len(full):
                full = tuple(self._better(o, f, output) for f, o in zip(full, old, strict=True))
            self._set(output, full, frozenset((output,)) if opaque else base)

    def _of_all(self, node: Any) -> Any:
        """The shape tuple of all inputs of an elementwise `node` that are not single numbers, if it is one and the same."""
        known, pattern = self.known, node.outputs[0].type.broadcastable
        shape = None
        for i in node.inputs:
            if i.type.broadcastable == pattern:
                found = known.get(i)
                if found is None or (shape is not None and found is not shape):
                    return None
                shape = found
            elif False in i.type.broadcastable:
                return None
        return shape

    @staticmethod
    def _better(old: Any, new: Any, var: Variable) -> Any:
        """Of two expressions of one dimension the one that says more."""
        if isinstance(new, Constant) or isinstance(old, Constant):
            return new if isinstance(new, Constant) else old
        node, other = new.owner, old.owner
        of_var = node is not None and isinstance(node.op, Shape_i) and node.inputs[0] is var
        # The old one must not be stated in terms of the variable itself.
        direct = other is not None and isinstance(other.op, Shape_i) and other.inputs[0].owner is None
        return old if of_var and direct else new

    def _complete(self, r: Any, shape: Sequence[Any]) -> tuple[Any, ...]:
        """The entries of `shape` as symbolic integers, 1 where the type of `r` says so."""
        if not isinstance(shape, tuple | list):
            raise T.ShapeError(f"the shape of {r} must be a tuple, not {type(shape)}")
        ndim = r.type.ndim
        if len(shape) != ndim:
            raise T.ShapeError(
                f"Something inferred a shape with {len(shape)} dimensions for a variable with {ndim} dimensions: {r}"
            )
        broadcastable = getattr(r.type, "broadcastable", (False,) * ndim)
        full = [self.lscalar_one if one else self.unpack(s, r) for s, one in zip(shape, broadcastable, strict=True)]
        # The same object where nothing changes, so that it can be seen to be the same.
        return shape if isinstance(shape, tuple) and all(map(is_, full, shape)) else tuple(full)

    def _set(self, var: Variable, shape: Any, opaque: frozenset[Variable]) -> None:
        self.known[var] = shape
        if opaque:
            self._opaque[var] = opaque
            for source in opaque:
                self.derived.setdefault(source, set()).add(var)

    def shape_ir(self, i: int, r: Any) -> Any:
        """Symbolic ``r.shape[i]`` that looks at `r` itself."""
        if getattr(r.type, "broadcastable", (False,) * (i + 1))[i]:
            return self.lscalar_one
        if isinstance(r, Constant) and hasattr(r.data, "shape"):
            return T.constant(r.data.shape[i], dtype="int64")
        # A Type that is not a tensor has its own operation.
        make = getattr(r.type, "shape_i", None)
        return make(r, i) if callable(make) else Shape_i(i)(r)

    def shape_tuple(self, r: Any) -> tuple[Any, ...] | None:
        """A tuple of symbolic dimensions that look at `r` itself; None if it is not a tensor."""
        ndim = getattr(r.type, "ndim", None)
        if ndim is None:
            return None
        return tuple(self.shape_ir(i, r) for i in range(ndim))

    def default_infer_shape(self, node: Any, i_shapes: Any) -> list[Any]:
        """What stands in for `infer_shape` of an Op that has none: the shapes of its outputs, looked at."""
        return [self.shape_tuple(r) for r in node.outputs]

    def unpack(self, s_i: Any, var: Variable) -> Any:
        """A symbolic integer for one entry of what `infer_shape` returned.

        Parameters
        ----------
        s_i
            Integer, NumPy integer or 0-d integer variable; or None where nothing is known.
        var
            The variable whose shape it is, for error messages.
        """
        if s_i is None:
            raise T.ShapeError(f"infer_shape returned None for a dimension of {var}")
        if getattr(s_i, "type", None) is _LENGTH:
            return s_i if isinstance(s_i, Constant) else self._simple(s_i)
        if isinstance(s_i, float | np.floating):
            if int(s_i) != s_i:
                raise T.ShapeError(f"shape of {var} must be an integer, got {s_i}")
            s_i = int(s_i)
        if isinstance(s_i, int | np.integer | np.ndarray):
            if np.ndim(s_i) != 0 or not np.issubdtype(np.asarray(s_i).dtype, np.integer):
                raise TypeError(f"Unsupported shape element {s_i!r} of {var}")
            if s_i < 0:
                raise T.ShapeError(f"There is a negative shape in the graph: {s_i} for {var}")
            return self.lscalar_one if s_i == 1 else T.constant(int(s_i), dtype="int64")
        if isinstance(s_i, tuple | list):
            raise NotImplementedError(s_i)
        dtype = getattr(s_i.type, "dtype", "")
        if not dtype.startswith(("int", "uint")):
            raise TypeError(f"Unsupported shape element of type {s_i.type} for {var}: it must be an integer")
        if not hasattr(s_i.type, "broadcastable"):
            # A scalar of theano.scalar.
            return T.tensor_from_scalar(s_i)
        if s_i.type.ndim:
            raise TypeError(f"Unsupported shape element with {s_i.type.ndim} dimensions for {var}")
        if isinstance(s_i, Constant):
            return T.constant(int(s_i.data), dtype="int64") if dtype != "int64" else s_i
        return self._simple(s_i)

    def _simple(self, s_i: Any) -> Any:
        """``x.shape[i]`` as the known dimension of `x`; anything else as it is."""
        node = s_i.owner
        if node is None:
            return s_i
        if isinstance(node.op, Shape_i):
            source = self.known.get(node.inputs[0])
            return s_i if source is None else source[node.op.i]
        if isinstance(node.op, Subtensor) and node.inputs[0].owner is not None:
            inner = node.inputs[0].owner
            if isinstance(inner.op, Shape):
                source = self.known.get(inner.inputs[0])
                try:
                    index = int(T.get_scalar_constant_value(node.op.idx_list[0] if len(node.inputs) == 1 else node.inputs[1]))
                except (T.NotScalarConstantError, TypeError, ValueError):
                    return s_i
                if source is not None and -len(source) <= index < len(source):
                    return source[index]
        return s_i

    # Other changes.

    def set_shape(self, r: Any, s: Any, override: bool = False) -> None:
        """Assign the shape `s` to `r`.

        Parameters
        ----------
        r
            A variable.
        s
            Tuple of symbolic integers, or None.
        override
            Whether `r` may have a shape already.
        """
        if not override and r in self.known:
            raise AssertionError(f"{r} already has a shape")
        self._set(r, None if s is None else self._complete(r, s), frozenset())

    def update_shape(self, r: Any, other_r: Any) -> None:
        """Replace the shape of `r` by that of `other_r`, where the latter says more."""
        other = self.shape(other_r)
        if other is None:
            return
        mine = self.known.get(r)
        if mine is None:
            self._set(r, other, self._opaque.get(other_r, frozenset()))
            return
        self.known[r] = tuple(self._better(o, m, r) for o, m in zip(other, mine, strict=True))

    def set_shape_i(self, r: Any, i: int, s_i: Any) -> None:
        """Replace dimension `i` of the shape of `r` by `s_i`."""
        previous = self.shape(r)
        self.known[r] = (*previous[:i], self.unpack(s_i, r), *previous[i + 1 :])

    def init_r(self, r: Any) -> None:
        """Register the shape of `r`."""
        if r not in self.known:
            self._set(r, self.shape_tuple(r), frozenset((r,)) if r.owner is not None else frozenset())

    def get_shape(self, var: Any, idx: int) -> Any:
        """The current expression of dimension `idx` of `var`."""
        return self.shape(var)[idx]

    def same_shape(self, x: Any, y: Any, dim_x: int | None = None, dim_y: int | None = None) -> bool:
        """Whether `x` and `y` (or one dimension of each) certainly have the same shape."""
        sx, sy = self.shape(x), self.shape(y)
        if sx is None or sy is None:
            return False
        if dim_x is not None:
            sx = (sx[dim_x],)
        if dim_y is not None:
            sy = (sy[dim_y],)
        return len(sx) == len(sy) and all(same_dimension(a, b) for a, b in zip(sx, sy, strict=True))


class ShapeOptimizer(Optimizer):
    """Gives the graph a `ShapeFeature`.

    Examples
    --------
    >>> from theano.gof import FunctionGraph
    >>> fgraph = FunctionGraph([x := T.dvector("x")], [T.exp(x)])
    >>> ShapeOptimizer().optimize(fgraph)
    >>> fgraph.shape_feature.shape_of[fgraph.outputs[0]]
    (Shape_i{0}.0,)
    """

    def add_requirements(self, fgraph: Any) -> None:
        if not hasattr(fgraph, "shape_feature"):
            fgraph.attach_feature(ShapeFeature())

    def apply(self, fgraph: Any) -> None:
        """Nothing: the feature is all."""


class UnShapeOptimizer(Optimizer):
    """Takes the `ShapeFeature` from the graph.

    Examples
    --------
    >>> from theano.gof import FunctionGraph
    >>> fgraph = FunctionGraph([x := T.dvector("x")], [T.exp(x)], features=[ShapeFeature()])
    >>> UnShapeOptimizer().optimize(fgraph)
    >>> hasattr(fgraph, "shape_feature")
    False
    """

    def apply(self, fgraph: Any) -> None:
        for feature in list(fgraph._features):
            if isinstance(feature, ShapeFeature):
                fgraph.remove_feature(feature)


# Available from the very first rewrites on; see theano.compile.mode.optdb for the other positions.
optdb.register("ShapeOpt", ShapeOptimizer(), 0.1, "fast_run", "fast_compile")
# After the rewrites that ask for shapes, when asked for by name.
optdb.register("UnShapeOpt", UnShapeOptimizer(), 10)


@replaces(applies(Shape)(x), "specialize canonicalize")
def local_shape_to_shape_i(out: Any, x: Any) -> Any:
    """``shape(x) -> MakeVector(the dimensions of x)``"""
    shape = lengths_of(out.owner, x)
    empty = np.zeros(0, dtype="int64")
    return None if shape is None else T.MakeVector("int64")(*shape) if shape else T.constant(empty)


@rewrites([Shape_i], "specialize canonicalize")
def local_shape_i_lift(node: Any) -> Any:
    """``f(x).shape[i] -> the dimension in terms of the shapes of the inputs``

    Only where the shape is inferred; `Shape_i` of what cannot be inferred stays.
    """
    if node.inputs[0].owner is None and not isinstance(node.inputs[0], Constant):
        return False
    shape = lengths_of(node, node.inputs[0])
    if shape is None:
        return False
    new = shape[node.op.i]
    if new.owner is not None and new.owner.op == node.op and new.owner.inputs[0] is node.inputs[0]:
        return False
    return _traced(node, new)


def _traced(node: Any, dimension: Any) -> Any:
    """What replaces a length: a dimension, which has its stack trace if it has none. Many nodes share what the feature made."""
    (out,) = node.outputs
    if dimension is out or dimension.type != out.type:
        return False
    if dimension.owner is not None and not dimension.tag._trace:
        copy_stack_trace(out, dimension)
    return [dimension]


@rewrites([Shape_i], "specialize canonicalize")
def local_track_shape_i(node: Any) -> Any:
    """``Shape_i(x) -> Shape_i(y)`` where `x` was replaced by `y`."""
    feature = getattr(getattr(node, "fgraph", None), "shape_feature", None)
    if feature is None:
        return False
    replacement = feature.scheduled.pop(node, None)
    if replacement is None or replacement not in node.fgraph.variables:
        return False
    return _traced(node, feature.shape(replacement)[node.op.i])


local_shape_i_of_constant = rewrite(
    "local_shape_i_of_constant",
    "useless canonicalize",
    rule(
        applies(Shape_i, "length", Shape_i(0))(x),
        Made("its length", lambda out, x: T.constant(x.data.shape[out.owner.op.i], dtype="int64")),
        where=("`x` is a constant", lambda x: isinstance(x, Constant) and hasattr(x.data, "shape")),
    ),
)
