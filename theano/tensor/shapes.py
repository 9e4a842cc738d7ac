"""Ops that ask for the shape of a tensor, or say something about it."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano.gof.copying import CodeByType
from theano.gof.graph import Apply, Variable, as_variable
from theano.gof.op import Op
from theano.gradient_types import DisconnectedType, grad_not_implemented
from theano.tensor.constructors import lscalar, lvector
from theano.tensor.conversion import (
    NotScalarConstantError,
    as_tensor_variable,
    constant,
    get_scalar_constant_value,
)
from theano.tensor.from_scalars import MakeVector
from theano.tensor.math import integer_dtypes
from theano.tensor.static_shape import known_ints
from theano.tensor.type import ops
from theano.tensor.var import TensorConstant


class Shape(CodeByType, Op):
    """Return the shape of the input as a vector of int64; no gradient flows through it.

    The input is a tensor, or anything that becomes one; the output has as many elements as it has dimensions.

    See Also
    --------
    theano.tensor.SpecifyShape : Return the input, with a shape that is known from a second input.
    theano.compile.Shape_i : Return one dimension of the shape of the input; no gradient flows through it.
    theano.compile.register_shape_c_code : Say how Shape gets the shape of a Type in C.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.shape(T.zeros((2, 3))).eval()
    array([2, 3])
    """

    _f16_ok = True
    c_code_and_version: dict[type, tuple[Any, ...]] = {}
    check_input = False
    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        """Return the node for a variable, or for what can become a tensor."""
        return Apply(self, [as_variable(x)], [lvector()])

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[list[Any]]) -> None:
        output_storage[0][0] = np.asarray(inputs[0].shape, dtype="int64")

    def infer_shape(self, node: Apply, input_shapes: list[Any]) -> list[Any]:
        return [[len(input_shapes[0])]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        # The shape says how many elements there are, not what they are.
        return [[False]]

    def grad(self, inputs: list[Variable], output_gradients: list[Variable]) -> list[Variable]:
        return [DisconnectedType()()]

    def R_op(self, inputs: list[Variable], eval_points: list[Any]) -> list[Any]:
        return [None]


shape = Shape()


class Shape_i(CodeByType, Op):
    """Return one dimension of the shape of the input; no gradient flows through it.

    Parameters
    ----------
    i : int
        Which dimension.

    See Also
    --------
    theano.tensor.Shape : Return the shape of the input as a vector of int64; no gradient flows through it.
    theano.tensor.SpecifyShape : Return the input, with a shape that is known from a second input.
    theano.compile.shape_i_op : Return the op for dimension `i`, the same object each time.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dmatrix("x")
    >>> int(Shape_i(1)(x).eval({x: [[1, 2, 3]]}))
    3
    """

    _f16_ok = True
    c_code_and_version: dict[type, tuple[Any, ...]] = {}
    check_input = False
    __props__ = ("i",)

    def __init__(self, i: int):
        # A NumPy integer here would make unequal ops of equal ones after unpickling.
        self.i = int(i)

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.i}}}"

    def make_node(self, x: Any) -> Apply:
        """Return the node for a variable with more than `i` dimensions.

        Raises
        ------
        TypeError
            If `x` has too few dimensions.
        """
        x = as_variable(x)
        if not hasattr(x, "ndim") or x.ndim <= self.i:
            raise TypeError(
                f"{x} has too few dimensions for Shape_i: dimension {self.i} of {getattr(x, 'ndim', 'no')} dimensions"
            )
        return Apply(self, [x], [lscalar()])

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[list[Any]]) -> None:
        out = output_storage[0]
        if out[0] is None:
            out[0] = np.asarray(inputs[0].shape[self.i], dtype="int64")
        else:
            out[0][...] = inputs[0].shape[self.i]

    def c_code(self, node: Apply, nodename: str, inp: list[str], out: list[str], sub: dict[str, str]) -> str:
        code, check_input, _ = self._registered(node)
        names = {"iname": inp[0], "oname": out[0], "fail": sub["fail"], "i": self.i}
        return (check_input + code) % names

    def infer_shape(self, node: Apply, input_shapes: list[Any]) -> list[Any]:
        return [()]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False]]

    def grad(self, inputs: list[Variable], output_gradients: list[Variable]) -> list[Variable]:
        comment = "No gradient for the shape of a matrix is implemented."
        return [grad_not_implemented(op=self, x_pos=0, x=inputs[0], comment=comment)]

    def R_op(self, inputs: list[Variable], eval_points: list[Any]) -> list[Any]:
        return [None]


_shape_i_ops: dict[int, Shape_i] = {}


def shape_i_op(i: int) -> Shape_i:
    """Return the op for dimension `i`, the same object each time.

    Parameters
    ----------
    i : int
        The dimension.

    See Also
    --------
    theano.compile.Shape_i : Return one dimension of the shape of the input; no gradient flows through it.

    Examples
    --------
    >>> print(shape_i_op(1), shape_i_op(1) is shape_i_op(1))
    Shape_i{1} True
    """
    op = _shape_i_ops.get(i)
    if op is None:
        op = _shape_i_ops.setdefault(i, Shape_i(i))
    return op


def shape_i(var: Variable, i: int, fgraph: Any = None) -> Variable:
    """Return the length of a dimension, from what the graph knows about shapes where it does.

    For rewrites: the result needs no further shape inference.

    Parameters
    ----------
    var : Variable
        The variable.
    i : int
        Which dimension.
    fgraph : FunctionGraph, optional
        The graph whose ``shape_feature`` to ask; by default the graph that
        `var` belongs to.

    Returns
    -------
    Variable
        Equal to ``var.shape[i]``.

    See Also
    --------
    theano.tensor.get_vector_length : Return the number of elements of a symbolic vector, where the graph tells it.
    theano.tensor.shape : Return the shape of the input as a vector of int64; no gradient flows through it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.shape_i(T.zeros((2, 3)), 1).eval()
    array(3)
    """
    if fgraph is None:
        fgraph = getattr(var, "fgraph", None)
    feature = getattr(fgraph, "shape_feature", None)
    if feature is None:
        return var.shape[i]
    shape_of = feature.shape_of
    if var not in shape_of:
        if var.owner is None:
            feature.init_r(var)
        else:
            _import_shapes(feature, fgraph, var)
    return shape_of[var][i]


def _import_shapes(feature: Any, fgraph: Any, var: Variable) -> None:
    """Let the shape feature see the nodes that compute `var` and that it has not seen."""
    stack = [var.owner]
    while stack:
        node = stack[-1]
        missing = [
            v.owner
            for v in node.inputs
            if v.owner is not None and v.owner not in stack and not all(o in feature.shape_of for o in v.owner.outputs)
        ]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        if not all(o in feature.shape_of for o in node.outputs):
            feature.on_import(fgraph, node, "gof.ops.shape_i")


class Rebroadcast(CodeByType, Op):
    """Change which dimensions of the input are broadcastable.

    Parameters
    ----------
    *axis : (int, bool)
        Dimensions and whether they become broadcastable.

    See Also
    --------
    theano.tensor.addbroadcast : Return `x` with the given dimensions broadcastable.
    theano.compile.register_rebroadcast_c_code : Say how Rebroadcast checks that a dimension of a Type is 1 in C.

    Examples
    --------
    ``Rebroadcast((0, True), (1, False))(x)`` is `x` with the first dimension
    broadcastable, which is checked when it runs, and the second one not.

    >>> import theano.tensor as T
    >>> row = Rebroadcast((0, True))(T.dmatrix())
    >>> row.type, (row + T.dmatrix()).type
    (TensorType(float64, row), TensorType(float64, matrix))
    """

    view_map = {0: [0]}
    _f16_ok = True
    check_input = False
    c_code_and_version: dict[type, tuple[Any, ...]] = {}
    __props__ = ("axis",)

    def __init__(self, *axis: tuple[int, bool]):
        items = sorted((int(index), value) for index, value in axis)
        for index, value in items:
            if not isinstance(value, (bool, np.bool_)):
                raise ValueError(f"Rebroadcast needs pairs of a dimension and a bool, got {(index, value)!r}")
            if index < 0:
                raise ValueError(f"Rebroadcast needs dimensions that are not negative, got {index}")
        self.axis = {index: bool(value) for index, value in items}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.axis == other.axis  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self), tuple(self.axis.items())))

    def __str__(self) -> str:
        flags = ["?"] * (1 + max(self.axis, default=-1))
        for index, value in self.axis.items():
            flags[index] = str(int(value))
        return f"{type(self).__name__}{{{','.join(flags)}}}"

    def make_node(self, x: Variable) -> Apply:
        """Return the node.

        Raises
        ------
        ValueError
            If `x` has too few dimensions.
        """
        if self.axis and x.ndim <= max(self.axis):
            raise ValueError(f"Trying to rebroadcast non-existent dimension: {x}, {self.axis}")
        broadcastable = [self.axis.get(i, b) for i, b in enumerate(x.type.broadcastable)]
        return Apply(self, [x], [x.type.clone(broadcastable=broadcastable)()])

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[list[Any]]) -> None:
        (x,) = inputs
        for axis, value in self.axis.items():
            if value and x.shape[axis] != 1:
                raise ValueError(
                    f"Dimension {axis} in Rebroadcast's input was supposed to be 1 (got {x.shape[axis]} instead)"
                )
        output_storage[0][0] = x

    def grad(self, inputs: list[Variable], output_gradients: list[Variable]) -> list[Variable]:
        (x,) = inputs
        (gz,) = output_gradients
        return [Rebroadcast(*[(axis, x.type.broadcastable[axis]) for axis in self.axis])(gz)]

    def infer_shape(self, node: Apply, input_shapes: list[Any]) -> list[Any]:
        one = constant(1, dtype="int64")
        return [tuple(one if self.axis.get(i, False) else length for i, length in enumerate(input_shapes[0]))]

    def R_op(self, inputs: list[Variable], eval_points: list[Any]) -> list[Any]:
        if eval_points[0] is None:
            return [None]
        return self(*eval_points, return_list=True)

    def c_code(self, node: Apply, nodename: str, inp: list[str], out: list[str], sub: dict[str, str]) -> str:
        code, _ = self._registered(node)
        names = {"iname": inp[0], "oname": out[0], "fail": sub["fail"]}
        checks = [code % dict(names, axis=axis) for axis, value in self.axis.items() if value]
        return "\n".join([*checks, f"Py_XDECREF({out[0]}); {out[0]} = {inp[0]}; Py_XINCREF({out[0]});"])


class SpecifyShape(CodeByType, Op):
    """Return the input, with a shape that is known from a second input.

    If the op is still there when the function runs, it raises an
    AssertionError for another shape.

    The inputs are a tensor and an integer vector, or a tuple; the output has the type of the first.

    See Also
    --------
    theano.compile.Shape_i : Return one dimension of the shape of the input; no gradient flows through it.
    theano.tensor.Shape : Return the shape of the input as a vector of int64; no gradient flows through it.
    theano.compile.register_specify_shape_c_code : Say how SpecifyShape checks the shape of a Type in C.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.specify_shape(T.zeros((2, 3)), (2, 3)).eval().shape
    (2, 3)
    """

    view_map = {0: [0]}
    c_code_and_version: dict[type, tuple[Any, ...]] = {}
    __props__ = ()
    _f16_ok = True

    def make_node(self, x: Any, shape: Any) -> Apply:
        """Return the node.

        Parameters
        ----------
        x : Variable
            The tensor.
        shape : Variable or tuple
            Vector of integers, one per dimension of `x`.
        """
        x = as_variable(x)
        shape = as_tensor_variable(shape)
        if isinstance(shape, TensorConstant) and shape.data.size == 0:
            shape = as_tensor_variable(np.zeros(0, "int64"))  # () has no integer dtype
        if shape.ndim != 1 or shape.dtype not in integer_dtypes:
            raise AssertionError(f"The shape must be a vector of integers, got {shape.type}")
        if isinstance(shape, TensorConstant) and shape.data.size != x.ndim:
            raise AssertionError(f"The shape {shape.data} does not have {x.ndim} elements")
        return Apply(self, [x, shape], [x.type()])

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[list[Any]]) -> None:
        x, wanted = inputs
        if x.ndim != wanted.size or not np.all(x.shape == wanted):
            raise AssertionError(f"SpecifyShape: Got shape {tuple(x.shape)} but expected {tuple(map(int, wanted))}")
        output_storage[0][0] = x

    def static_shape(self, node: Apply, shape_of: Any) -> list[int | None]:
        return known_ints(node.inputs[1], node.inputs[0].type.ndim)

    def infer_shape(self, node: Apply, input_shapes: list[Any]) -> list[Any]:
        lengths = []
        parts = node.inputs[1].owner
        known = parts is not None and isinstance(parts.op, MakeVector)
        for dim in range(node.inputs[0].ndim):
            length = parts.inputs[dim] if known else node.inputs[1][dim]
            try:
                length = as_tensor_variable(get_scalar_constant_value(length), ndim=0).astype("int64")
            except NotScalarConstantError:
                pass
            lengths.append(length)
        return [tuple(lengths)]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [False]]

    def grad(self, inputs: list[Variable], output_gradients: list[Variable]) -> list[Variable]:
        # The gradient has the same shape; saying so helps later shape inference.
        return [specify_shape(output_gradients[0], inputs[1]), DisconnectedType()()]

    def R_op(self, inputs: list[Variable], eval_points: list[Any]) -> list[Any]:
        if eval_points[0] is None:
            return [None]
        return self.make_node(eval_points[0], *inputs[1:]).outputs

    def c_support_code_apply(self, node: Apply, name: str) -> str:
        return self._registered(node)[1] or ""

    def c_code(self, node: Apply, nodename: str, inp: list[str], out: list[str], sub: dict[str, str]) -> str:
        code, _, _ = self._registered(node)
        return code % {"iname": inp[0], "shape": inp[1], "oname": out[0], "fail": sub["fail"]}


specify_shape = SpecifyShape()


def register_shape_c_code(type: type, code: str, version: Any = ()) -> None:
    """Say how Shape gets the shape of a Type in C.

    Parameters
    ----------
    type : class
        The Type's class, not an instance.
    code : str
        C code that returns a vector; ``%(iname)s`` and ``%(oname)s`` are the
        input and the output.
    version : int or tuple
        Version of the code, for caches.

    See Also
    --------
    theano.compile.register_shape_i_c_code : Say how Shape_i gets a dimension of a Type in C.
    theano.tensor.Shape : Return the shape of the input as a vector of int64; no gradient flows through it.

    Examples
    --------
    >>> from theano.gof import Type
    >>> class Table(Type):
    ...     pass
    >>> register_shape_c_code(Table, "%(oname)s = table_shape(%(iname)s);", version=1)
    >>> Shape.c_code_and_version.pop(Table)
    ('%(oname)s = table_shape(%(iname)s);', 1)
    """
    Shape.c_code_and_version[type] = (code, version)


def register_shape_i_c_code(typ: type, code: str, check_input: str, version: Any = ()) -> None:
    """Say how Shape_i gets a dimension of a Type in C.

    Parameters
    ----------
    typ : class
        The Type's class, not an instance.
    code : str
        C code; ``%(iname)s`` and ``%(oname)s`` are the input and the output,
        ``%(i)s`` is the dimension.
    check_input : str
        C code that checks the input, put before `code`.
    version : int or tuple
        Version of the code, for caches.

    See Also
    --------
    theano.tensor.Shape : Return the shape of the input as a vector of int64; no gradient flows through it.
    theano.compile.register_shape_c_code : Say how Shape gets the shape of a Type in C.

    Examples
    --------
    >>> from theano.gof import Type
    >>> class Table(Type):
    ...     pass
    >>> register_shape_i_c_code(Table, "%(oname)s = table_length(%(iname)s, %(i)s);", "", version=1)
    >>> Shape_i.c_code_and_version.pop(Table)
    ('%(oname)s = table_length(%(iname)s, %(i)s);', '', 1)
    """
    Shape_i.c_code_and_version[typ] = (code, check_input, version)


def register_rebroadcast_c_code(typ: type, code: str, version: Any = ()) -> None:
    """Say how Rebroadcast checks that a dimension of a Type is 1 in C.

    Parameters
    ----------
    typ : class
        The Type's class, not an instance.
    code : str
        C code for one dimension; ``%(iname)s`` and ``%(oname)s`` are the input
        and the output, ``%(axis)s`` is the dimension.
    version : int or tuple
        Version of the code, for caches.

    See Also
    --------
    theano.tensor.Rebroadcast : Change which dimensions of the input are broadcastable.

    Examples
    --------
    >>> from theano.gof import Type
    >>> class Table(Type):
    ...     pass
    >>> code = "if (table_length(%(iname)s, %(axis)s) != 1) { %(fail)s }"
    >>> register_rebroadcast_c_code(Table, code, version=1)
    >>> Rebroadcast.c_code_and_version.pop(Table) == (code, 1)
    True
    """
    Rebroadcast.c_code_and_version[typ] = (code, version)


def register_specify_shape_c_code(
    typ: type, code: str, version: Any = (), c_support_code_apply: str | None = None
) -> None:
    """Say how SpecifyShape checks the shape of a Type in C.

    Parameters
    ----------
    typ : class
        The Type's class, not an instance.
    code : str
        C code that checks and returns a view; ``%(iname)s``, ``%(shape)s`` and
        ``%(oname)s`` are the inputs and the output.
    version : int or tuple
        Version of the code, for caches.
    c_support_code_apply : str, optional
        Further C code, outside of the function.

    See Also
    --------
    theano.tensor.SpecifyShape : Return the input, with a shape that is known from a second input.

    Examples
    --------
    >>> from theano.gof import Type
    >>> class Table(Type):
    ...     pass
    >>> register_specify_shape_c_code(Table, "%(oname)s = table_check(%(iname)s, %(shape)s);", version=1)
    >>> SpecifyShape.c_code_and_version.pop(Table)
    ('%(oname)s = table_check(%(iname)s, %(shape)s);', None, 1)
    """
    SpecifyShape.c_code_and_version[typ] = (code, c_support_code_apply, version)


ops.gather(globals(), "Shape_i")
