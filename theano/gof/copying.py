"""Ops that pass on what they get, of any Type: views and copies."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from theano.gof.graph import Apply, Variable
from theano.gof.op import Op
from theano.gof.utils import MethodNotDefined


class CodeByType:
    """C code that was registered for Types, for an Op that is generic over them."""

    #: For each Type class the code, the version and what else the Op takes.
    c_code_and_version: dict[type, tuple[Any, ...]]

    def _registered(self, node: Apply) -> tuple[Any, ...]:
        try:
            return self.c_code_and_version[type(node.inputs[0].type)]
        except KeyError:
            raise MethodNotDefined(f"{type(self).__name__} has no C code for {node.inputs[0].type}") from None

    def c_code_cache_version(self) -> tuple[Any, ...]:
        versions = []
        for type_, (_, *rest) in self.c_code_and_version.items():
            version = rest[-1]
            if not version:
                return ()
            versions.append((str(type_), version))
        return tuple(sorted(versions))

    def c_code(self, node: Apply, nodename: str, inp: list[str], out: list[str], sub: dict[str, str]) -> str:
        code, _ = self._registered(node)
        return code % {"iname": inp[0], "oname": out[0], "fail": sub["fail"]}


class _PassOn(CodeByType, Op):
    """Returns what it gets."""

    __props__ = ()
    _f16_ok = True

    def make_node(self, x: Variable) -> Apply:
        """Return the node for a variable of any Type."""
        return Apply(self, [x], [x.type()])

    def infer_shape(self, node: Apply, input_shapes: list[Any]) -> list[Any]:
        return input_shapes

    def grad(self, inputs: list[Variable], output_gradients: list[Variable]) -> list[Variable]:
        return output_gradients

    def R_op(self, inputs: list[Variable], eval_points: list[Any]) -> list[Any]:
        return list(eval_points)


class ViewOp(_PassOn):
    """Return a view of the input.

    See Also
    --------
    theano.compile.OutputGuard : Return a view of the input, and claim to destroy it.
    theano.compile.DeepCopyOp : Return a copy of the input that shares no memory with it.
    theano.gradient.view_op : An instance of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.vector("x")
    >>> y = ViewOp()(x)
    >>> y.owner, y.owner.op.view_map
    (ViewOp(x), {0: [0]})
    """

    view_map = {0: [0]}
    c_code_and_version: dict[type, tuple[Any, ...]] = {}

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[list[Any]]) -> None:
        output_storage[0][0] = inputs[0]


view_op = ViewOp()


class OutputGuard(ViewOp):
    """Return a view of the input, and claim to destroy it.

    Nothing is destroyed; the claim keeps other operations from working in
    place on the input, which is an output of a function.

    See Also
    --------
    theano.compile.register_OutputGuard_c_code : Say that OutputGuard supports a Type in C; it needs nothing for that
        here.
    theano.compile.DeepCopyOp : Return a copy of the input that shares no memory with it.
    theano.compile.ViewOp : Return a view of the input.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.vector("x")
    >>> y = OutputGuard()(x)
    >>> y.owner.op.view_map, y.owner.op.destroy_map
    ({0: [0]}, {0: [0]})
    """

    destroy_map = {0: [0]}
    check_input = False


class DeepCopyOp(_PassOn):
    """Return a copy of the input that shares no memory with it.

    See Also
    --------
    theano.compile.register_deep_copy_op_c_code : Say how DeepCopyOp copies a Type in C.
    theano.compile.register_view_op_c_code : Say how ViewOp returns a view of a Type in C.
    theano.compile.ViewOp : Return a view of the input.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dvector("x")
    >>> value = np.ones(2)
    >>> copied = DeepCopyOp()(x).eval({x: value})
    >>> copied is value, copied
    (False, array([1., 1.]))
    """

    writes_first_input = True
    c_code_and_version: dict[type, tuple[Any, ...]] = {}
    check_input = False

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[list[Any]]) -> None:
        (value,) = inputs
        # The copy method of an array keeps its class where deepcopy of a 0-d
        # array returns a scalar.
        output_storage[0][0] = value.copy() if isinstance(value, np.ndarray) else copy.deepcopy(value)


deep_copy_op = DeepCopyOp()


def register_view_op_c_code(type: type, code: str, version: Any = ()) -> None:
    """Say how ViewOp returns a view of a Type in C.

    Parameters
    ----------
    type : class
        The Type's class, not an instance.
    code : str
        C code; ``%(iname)s`` and ``%(oname)s`` are the input and the output.
    version : int or tuple
        Version of the code, for caches.

    See Also
    --------
    theano.compile.DeepCopyOp : Return a copy of the input that shares no memory with it.
    theano.compile.register_deep_copy_op_c_code : Say how DeepCopyOp copies a Type in C.

    Examples
    --------
    >>> from theano.gof import Type
    >>> class Table(Type):
    ...     pass
    >>> register_view_op_c_code(Table, "%(oname)s = %(iname)s;", version=1)
    >>> ViewOp.c_code_and_version.pop(Table)
    ('%(oname)s = %(iname)s;', 1)
    """
    ViewOp.c_code_and_version[type] = (code, version)


def register_deep_copy_op_c_code(typ: type, code: str, version: Any = ()) -> None:
    """Say how DeepCopyOp copies a Type in C.

    Parameters
    ----------
    typ : class
        The Type's class, not an instance.
    code : str
        C code; ``%(iname)s`` and ``%(oname)s`` are the input and the output.
    version : int or tuple
        Version of the code, for caches.

    See Also
    --------
    theano.compile.register_view_op_c_code : Say how ViewOp returns a view of a Type in C.
    theano.compile.DeepCopyOp : Return a copy of the input that shares no memory with it.

    Examples
    --------
    >>> from theano.gof import Type
    >>> class Table(Type):
    ...     pass
    >>> register_deep_copy_op_c_code(Table, "%(oname)s = table_copy(%(iname)s);", version=1)
    >>> DeepCopyOp.c_code_and_version.pop(Table)
    ('%(oname)s = table_copy(%(iname)s);', 1)
    """
    DeepCopyOp.c_code_and_version[typ] = (code, version)
