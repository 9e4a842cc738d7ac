"""Ways to make an Op from a Python function, and the documented path of Ops on views, copies and shapes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from theano.gof.copying import (  # noqa: F401
    DeepCopyOp,
    OutputGuard,
    ViewOp,
    deep_copy_op,
    register_deep_copy_op_c_code,
    register_view_op_c_code,
    view_op,
)
from theano.gof.graph import Apply, Variable
from theano.gof.op import Op
from theano.gof.type import Type
from theano.tensor.shapes import (  # noqa: F401
    Rebroadcast,
    Shape,
    Shape_i,
    SpecifyShape,
    register_rebroadcast_c_code,
    register_shape_c_code,
    register_shape_i_c_code,
    register_specify_shape_c_code,
    shape,
    shape_i,
    shape_i_op,
    specify_shape,
)


class FromFunctionOp(Op):
    """An Op that calls a Python function; its gradient is undefined.

    Parameters
    ----------
    fn : callable
        Takes the values of the inputs; returns the output, or a list of the
        outputs.
    itypes, otypes : list of Type
        Types of the inputs and the outputs.
    infer_shape : callable, optional
        Called as ``infer_shape(node, input_shapes)``; returns the shapes of the
        outputs.

    See Also
    --------
    theano.as_op : Return a decorator that makes an Op of a Python function.

    Examples
    --------
    >>> import theano.tensor as T
    >>> def spread(x):
    ...     return x.max() - x.min()
    >>> x = T.dvector("x")
    >>> y = FromFunctionOp(spread, [T.dvector], [T.dscalar])(x)
    >>> print(y.owner.op, y.eval({x: [1.0, 3.0, 2.0]}))
    FromFunctionOp{spread} 2.0
    """

    def __init__(self, fn: Callable[..., Any], itypes: list[Any], otypes: list[Any], infer_shape: Any = None):
        self.__fn = fn
        self.itypes = itypes
        self.otypes = otypes
        self.__infer_shape = infer_shape
        if infer_shape is not None:
            self.infer_shape = self._infer_shape

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__fn == other.__fn  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(type(self)) ^ hash(self.__fn)

    def __str__(self) -> str:
        return f"FromFunctionOp{{{getattr(self.__fn, '__name__', self.__fn)}}}"

    def make_node(self, *inputs: Variable) -> Apply:
        """Return the node; the inputs must have exactly the types of the op.

        Raises
        ------
        ValueError
            For another number of inputs.
        TypeError
            For inputs of other types.
        """
        if len(inputs) != len(self.itypes):
            raise ValueError(f"{self} expected {len(self.itypes)} inputs, got {len(inputs)}: {inputs}")
        for position, (x, type_) in enumerate(zip(inputs, self.itypes)):
            if getattr(x, "type", None) != type_:
                raise TypeError(
                    f"{self} expected an input of type {type_} at position {position}, got {x} of type "
                    f"{getattr(x, 'type', type(x))}"
                )
        return Apply(self, list(inputs), [type_() for type_ in self.otypes])

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[list[Any]]) -> None:
        outputs = self.__fn(*inputs)
        if not isinstance(outputs, (list, tuple)):
            outputs = (outputs,)
        if len(outputs) != len(output_storage):
            raise ValueError(f"{self} returned {len(outputs)} values instead of {len(output_storage)}")
        for storage, value in zip(output_storage, outputs):
            storage[0] = value

    def _infer_shape(self, node: Apply, input_shapes: list[Any]) -> list[Any]:
        return self.__infer_shape(node, input_shapes)

    def __reduce__(self) -> Any:
        # A function that as_op replaced by this op is found under its name again.
        fn = self.__fn
        module = sys.modules.get(getattr(fn, "__module__", None) or "")
        name = getattr(fn, "__name__", None)
        if module is None or name is None or getattr(module, name, None) is not self:
            return type(self), (fn, self.itypes, self.otypes, self.__infer_shape)
        return load_back, (fn.__module__, name)


#: Types whose variables hold values that may be made larger, for Ops that do so; there are none.
expandable_types: tuple = ()


def load_back(mod: str, name: str) -> Any:
    """Return an object of a module, by the names of both; the module is imported.

    Parameters
    ----------
    mod : str
        Full name of the module.
    name : str
        Name of the object in it.

    See Also
    --------
    theano.as_op : Return a decorator that makes an Op of a Python function.

    Examples
    --------
    >>> load_back("math", "sqrt")(16)
    4.0
    """
    __import__(mod)
    return getattr(sys.modules[mod], name)


def as_op(itypes: Any, otypes: Any, infer_shape: Any = None) -> Callable[[Callable[..., Any]], FromFunctionOp]:
    """Return a decorator that makes an Op of a Python function.

    Parameters
    ----------
    itypes, otypes : Type or list of Type
        Types of the inputs and the outputs.
    infer_shape : callable, optional
        Called as ``infer_shape(node, input_shapes)`` with a list of tuples;
        returns such a list for the outputs.

    Returns
    -------
    callable
        The decorator.

    Raises
    ------
    TypeError
        If `itypes` or `otypes` are no Theano types, or `infer_shape` cannot be called.

    See Also
    --------
    theano.Op : An operation, with its C interface: the base class of Ops.
    theano.OpFromGraph : An Op that computes a graph, and that can be applied several times.
    theano.compile.FromFunctionOp : An Op that calls a Python function; its gradient is undefined.

    Examples
    --------
    >>> import numpy, theano, theano.tensor as T
    >>> @theano.compile.ops.as_op(itypes=[T.dmatrix, T.dmatrix], otypes=[T.dmatrix])
    ... def numpy_dot(a, b):
    ...     return numpy.dot(a, b)
    """
    itypes = list(itypes) if isinstance(itypes, (list, tuple)) else [itypes]
    otypes = list(otypes) if isinstance(otypes, (list, tuple)) else [otypes]
    if not all(isinstance(t, Type) for t in itypes):
        raise TypeError(f"itypes has to be a list of Theano types, got {itypes}")
    if not all(isinstance(t, Type) for t in otypes):
        raise TypeError(f"otypes has to be a list of Theano types, got {otypes}")
    if infer_shape is not None and not callable(infer_shape):
        raise TypeError(f"infer_shape needs to be a callable: {infer_shape}")

    def make_op(fn: Callable[..., Any]) -> FromFunctionOp:
        return FromFunctionOp(fn, itypes, otypes, infer_shape)

    return make_op
