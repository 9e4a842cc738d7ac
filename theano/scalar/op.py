"""Base classes of operations on single numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theano.configdefaults import config
from theano.gof import Apply, Op, Variable
from theano.gof.utils import MethodNotDefined
from theano.scalar.convert import as_scalar
from theano.scalar.expression import Expression, c_text, call, cast, compute_dtype, declare_function, variable
from theano.scalar.output_types import Policy, bool_out, upgrade_to_float
from theano.scalar.type import Scalar, ScalarConstant, complex_types, discrete_types, get_scalar_type, ops


class ScalarOp(Op):
    """An operation on numbers; :class:`theano.tensor.Elemwise` applies it to every element of tensors.

    A subclass defines `impl` (the value), `L_op` or `grad`, and for native code `expression` (the value as an
    :class:`~theano.scalar.expression.Expression`, which every target understands) or `c_code` (C statements, which only C does).

    Parameters
    ----------
    output_types_preference : callable, optional
        Gives the output types from the input types; see :mod:`theano.scalar.output_types`.
    name : str, optional
        The name under which the op prints; by default that of its class.

    Attributes
    ----------
    nin, nout
        Number of inputs (-1: any) and outputs.
    sign
        How the operation is written before its one input or between two, for the names of composed ones.
    nfunc_spec
        ``(name, nin, nout)`` of a NumPy or SciPy function that computes the op on arrays, or None.

    See Also
    --------
    theano.scalar.UnaryScalarOp : A scalar op of one input.
    theano.scalar.BinaryScalarOp : A scalar op of two inputs.
    theano.scalar.Program : The inner graph of a `Composite` as straight-line code.

    Examples
    --------
    >>> from theano.scalar import float64, upcast_out
    >>> class Hypot(ScalarOp):
    ...     nin = 2
    ...     def impl(self, x, y):
    ...         return (x * x + y * y) ** 0.5
    >>> hypot = Hypot(upcast_out, name="hypot")
    >>> x, y = float64("x"), float64("y")
    >>> float(hypot(x, y).eval({x: 3.0, y: 4.0}))
    5.0
    """

    nin = -1
    nout = 1
    sign = ""
    nfunc_spec: tuple[str, int, int] | None = None
    commutative = False
    associative = False
    identity: Any = None
    _f16_ok = True

    def __init__(self, output_types_preference: Policy | None = None, name: str | None = None) -> None:
        if name is not None:
            self.name = name
        if output_types_preference is not None:
            if not callable(output_types_preference):
                raise TypeError(
                    f"Expected a callable for the 'output_types_preference' argument to {type(self)}."
                    f" (got: {output_types_preference})"
                )
            self.output_types_preference = output_types_preference

    def make_node(self, *inputs: Any) -> Apply:
        """Return the node that applies the op to `inputs` (anything :func:`as_scalar` takes)."""
        if self.nin >= 0 and len(inputs) != self.nin:
            raise TypeError(f"Wrong number of inputs for {self}.make_node (got {len(inputs)}({inputs}), expected {self.nin})")
        variables = [as_scalar(i) for i in inputs]
        outputs = [t() for t in self.output_types([v.type for v in variables])]
        if len(outputs) != self.nout:
            raise TypeError(f"Not the right number of outputs produced for {self}({inputs}).")
        return Apply(self, variables, outputs)

    def output_types(self, types: Sequence[Scalar]) -> Sequence[Scalar]:
        """Return the types of the outputs for inputs of the given types."""
        preference = getattr(self, "output_types_preference", None)
        if preference is None:
            raise NotImplementedError(f"Cannot calculate the output types for {self}")
        result = preference(*types)
        if not isinstance(result, (list, tuple)) or any(not isinstance(t, Scalar) for t in result):
            raise TypeError(f"output_types_preference should return a list or a tuple of types, got {result!r} from {preference}")
        if len(result) != self.nout:
            raise TypeError(
                f"Not the right number of outputs types produced for {self}({', '.join(map(str, types))})"
                f" by {preference}. Expected {self.nout}, got {len(result)}."
            )
        return result

    def impl(self, *inputs: Any) -> Any:
        """Return the value of the op for NumPy scalars."""
        raise MethodNotDefined("impl", type(self), type(self).__name__)

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list]) -> None:
        """Compute the outputs with :meth:`impl`, as NumPy scalars of the output types."""
        values = self.impl(*inputs)
        if self.nout == 1:
            values = (values,)
        elif len(values) != self.nout:
            raise ValueError(f"{self}.impl returned {len(values)} values instead of {self.nout}")
        with np.errstate(all="ignore"):
            for storage, value, out in zip(output_storage, values, node.outputs):
                storage[0] = out.type.dtype_specs()[0](value)

    def grad(self, inputs: Sequence[Variable], output_gradients: Sequence[Variable]) -> list:
        """Return the gradient with respect to each input; a subclass defines it, or :meth:`L_op`."""
        raise MethodNotDefined("grad", type(self), type(self).__name__)

    def R_op(self, inputs: Sequence[Variable], eval_points: Sequence[Variable | None]) -> list:
        """Return the directional derivative of each output along `eval_points`."""
        node = self.make_node(*inputs)
        result: list = []
        for i, out in enumerate(node.outputs):
            if out.type in discrete_types:
                result.append(out.zeros_like(dtype=config.floatX))
                continue
            seeds = [o.ones_like() if k == i else o.zeros_like() for k, o in enumerate(node.outputs)]
            total = None
            for partial, point in zip(self.L_op(inputs, node.outputs, seeds), eval_points):
                if point is not None:
                    term = partial * point
                    total = term if total is None else total + term
            result.append(total)
        return result

    def expression(self, out: str, *inputs: Expression) -> Expression:
        """Return the one output as an expression of the inputs.

        Parameters
        ----------
        out
            Dtype of the output; the expression's may be another, which is converted.
        inputs
            Values of the inputs' dtypes.

        Raises
        ------
        NotImplementedError
            For dtypes without native code.
        """
        raise MethodNotDefined("expression", type(self), type(self).__name__)

    def c_code(self, node: Apply, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: dict) -> str:
        """Return C statements that assign the outputs from the inputs: by default those of :meth:`expression`."""
        values = [variable(x, v.type.dtype) for x, v in zip(inputs, node.inputs)]
        return f"{outputs[0]} = {c_text(self.expression(node.outputs[0].type.dtype, *values))};"

    def c_code_contiguous(self, node, name, inp, out, sub):
        """Return C code for a whole contiguous array; no built-in op needs it."""
        raise MethodNotDefined("c_code_contiguous", type(self), type(self).__name__)

    def supports_c_code(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> bool:
        """Return whether the op has C code for inputs of the dtypes of `inputs`."""
        try:
            node = self.make_node(*(get_scalar_type(v.type.dtype)() for v in inputs))
            self.c_code(
                node,
                "test_presence_of_c_code",
                [f"x{i}" for i in range(len(inputs))],
                [f"z{i}" for i in range(len(outputs))],
                {"fail": "%(fail)s"},
            )
        except (MethodNotDefined, NotImplementedError):
            return False
        return True

    def c_code_cache_version(self) -> tuple:
        return (4,)

    def c_code_cache_version_apply(self, node: Apply) -> tuple:
        version = self.c_code_cache_version()
        return (*version, np.__version__) if version else ()

    def __eq__(self, other: Any) -> bool:
        return self is other or (
            type(self) is type(other)
            and getattr(self, "output_types_preference", None) == getattr(other, "output_types_preference", None)
        )

    def __hash__(self) -> int:
        return hash((type(self), getattr(self, "output_types_preference", None)))

    def __str__(self) -> str:
        name = getattr(self, "name", None)
        if name:
            return name
        params = [
            f"{key}={value}"
            for key, value in sorted(self.__dict__.items())
            if key not in ("name", "_op_use_c_code", "bool", "output_types_preference") and not key.startswith("_")
        ]
        kind = type(self).__name__
        return f"{kind}{{{', '.join(params)}}}" if params else kind

    def __repr__(self) -> str:
        return str(self)


class UnaryScalarOp(ScalarOp):
    """A scalar op of one input.

    See Also
    --------
    theano.scalar.BinaryScalarOp : A scalar op of two inputs.
    theano.scalar.ScalarOp : An operation on numbers; `theano.tensor.Elemwise` applies it to every element of tensors.
    theano.scalar.UnaryMathOp : A function of one number that NumPy has as a ufunc and C as a function.

    Examples
    --------
    >>> from theano.scalar import float64, same_out
    >>> class Cube(UnaryScalarOp):
    ...     def impl(self, x):
    ...         return x**3
    ...     def expression(self, out, x):
    ...         return x * x * x
    >>> cube = Cube(same_out, name="cube")
    >>> float(cube(2.0).eval()), cube.supports_c_code([float64()], [float64()])
    (8.0, True)
    """

    nin = 1


class BinaryScalarOp(ScalarOp):
    """A scalar op of two inputs.

    See Also
    --------
    theano.scalar.ScalarOp : An operation on numbers; `theano.tensor.Elemwise` applies it to every element of tensors.
    theano.scalar.UnaryScalarOp : A scalar op of one input.

    Examples
    --------
    >>> from theano.scalar import float64, upcast_out
    >>> class Difference(BinaryScalarOp):
    ...     def impl(self, x, y):
    ...         return abs(x - y)
    >>> difference = Difference(upcast_out, name="difference")
    >>> float(difference(1.0, 3.5).eval())
    2.5
    """

    nin = 2
    commutative = False
    associative = False


def zeros_for(inputs: Sequence[Variable]) -> list[Variable]:
    """Return a zero gradient for each input, of floatX for integers.

    Parameters
    ----------
    inputs : sequence of Variable
        Scalars.

    See Also
    --------
    theano.scalar.chain : Return the gradient at `x` of a cost whose gradient is `gz` at a function of `x` with the given
        derivative.

    Examples
    --------
    >>> from theano.scalar import float32, int8
    >>> [zero.type for zero in zeros_for([float32("x"), int8("i")])]
    [Scalar(float32), Scalar(float64)]
    """
    return [x.zeros_like(dtype=config.floatX) if x.type in discrete_types else x.zeros_like() for x in inputs]


def number(value: float, like: Variable) -> ScalarConstant:
    """Return a constant of the type of `like`."""
    return ScalarConstant(like.type, value)


def chain(gz: Any, derivative: Any, x: Variable) -> Any:
    """Return the gradient at `x` of a cost whose gradient is `gz` at a function of `x` with the given derivative.

    Gradients of complex variables are ``dC/dRe + i dC/dIm``, so an analytic function multiplies by the conjugate of
    its derivative and a real input takes the real part.

    Parameters
    ----------
    gz : scalar
        The gradient at the result.
    derivative : scalar
        The derivative at `x`.
    x : Variable
        The argument.

    See Also
    --------
    theano.scalar.zeros_for : Return a zero gradient for each input, of floatX for integers.

    Examples
    --------
    >>> from theano.scalar import complex128, float64
    >>> gz, x, z = float64("gz"), float64("x"), complex128("z")
    >>> float(chain(gz, 2 * x, x).eval({gz: 10.0, x: 3.0}))
    60.0
    >>> chain(gz, 2 * z, z).eval({gz: 10.0, z: 3 + 1j}).tolist()
    (60-20j)
    """
    if derivative.type not in complex_types and gz.type not in complex_types:
        return gz * derivative
    result = gz * (ops.conj(derivative) if derivative.type in complex_types else derivative)
    return result if x.type in complex_types else ops.real(result)


def is_expression(op: Any) -> bool:
    """Whether what a scalar op computes is an expression, and not C code of its own."""
    return getattr(op.c_code, "__func__", None) is ScalarOp.c_code


_C99_COMPLEX = frozenset(
    [
        "exp",
        "log",
        "sqrt",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
    ]
)


class UnaryMathOp(UnaryScalarOp):
    """A function of one number that NumPy has as a ufunc and C as a function.

    Subclasses define `np_func`, `c_func` and :meth:`derivative`.

    Attributes
    ----------
    np_func
        NumPy's (or another) function on arrays.
    c_func
        Name of the C function; None if there is none.
    real_gradient
        ``real_gradient(gz, x, z)`` is the gradient at real numbers `x`, where that is not said best by the derivative.

    See Also
    --------
    theano.scalar.FloatFunction : A unary function whose result is a float, also for integers.
    theano.scalar.UnaryScalarOp : A scalar op of one input.

    Examples
    --------
    >>> from theano.scalar import float64, same_out
    >>> class Cbrt(UnaryMathOp):
    ...     np_func = staticmethod(np.cbrt)
    ...     c_func = "cbrt"
    >>> cbrt = Cbrt(same_out, name="cbrt")
    >>> print(cbrt(27.0).eval().round(4))
    3.0
    """

    np_func: Callable
    c_func: str | None = None
    real_gradient: Callable | None = None

    def impl(self, x: Any) -> Any:
        dtype = getattr(x, "dtype", None)
        # NumPy has half precision results for 8-bit integers; ours are float32.
        if dtype is not None and dtype.kind in "biu" and dtype.itemsize <= 2:
            x = np.asarray(x, dtype="float32")[()]
        with np.errstate(all="ignore"):
            return type(self).np_func(x)

    def derivative(self, x: Variable, z: Variable) -> Variable:
        """Return the derivative at `x`, where the value is `z`."""
        raise NotImplementedError(f"{self} has no derivative")

    def L_op(self, inputs, outputs, output_gradients):
        (x,) = inputs
        (z,) = outputs
        (gz,) = output_gradients
        if z.type in discrete_types:
            return zeros_for(inputs)
        if self.real_gradient is not None and x.type.dtype.startswith("float") and gz.type not in complex_types:
            return [self.real_gradient(gz, x, z)]
        if x.type in discrete_types:
            # The derivative is that of the function of real numbers, which the type of the integer need not hold.
            x = ops.cast(x, z.type.dtype)
        return [chain(gz, self.derivative(x, z), x)]

    def expression(self, out: str, x: Expression) -> Expression:
        if self.c_func is None:
            raise MethodNotDefined("expression", type(self), type(self).__name__)
        if not x.dtype.startswith("complex"):
            return call(self.c_func, cast(x, compute_dtype(out)))
        if self.c_func not in _C99_COMPLEX:
            raise MethodNotDefined("expression", type(self), type(self).__name__)
        return call(self.c_func, x)


class FloatFunction(UnaryMathOp):
    """A unary function whose result is a float, also for integers.

    See Also
    --------
    theano.scalar.UnaryScalarOp : A scalar op of one input.
    theano.scalar.UnaryMathOp : A function of one number that NumPy has as a ufunc and C as a function.

    Examples
    --------
    >>> from theano.scalar import exp, int8, int64
    >>> isinstance(exp, FloatFunction), exp(int8("i")).type, exp(int64("j")).type
    (True, Scalar(float32), Scalar(float64))
    """

    output_types_preference = staticmethod(upgrade_to_float)


def with_example(summary: str, example: str) -> str:
    """Return the docstring of a scalar operation.

    Parameters
    ----------
    summary
        What it computes.
    example
        A call of the operation and what it prints, with an arrow between them, such as ``"neg(3).eval() -> -3"``; or nothing.
    """
    if not example:
        return summary
    call, _, printed = example.partition(" -> ")
    name = call.partition("(")[0]
    return f"{summary}\n\nExamples\n--------\n>>> from theano.scalar import {name}\n>>> print({call})\n{printed}\n"


def float_function(
    class_name: str,
    doc: str,
    np_func: Callable,
    derivative: Callable[[Any, Any], Any],
    c_func: str | None = None,
    name: str | None = None,
    *,
    example: str = "",
    **attributes: Any,
) -> tuple[type[FloatFunction], Any]:
    """Return the class of a :class:`FloatFunction`, and the op that is its instance.

    Parameters
    ----------
    class_name, doc
        Name of the class, and the summary of its docstring.
    np_func, c_func
        As in :class:`UnaryMathOp`.
    derivative
        ``derivative(x, z)`` is the derivative at `x`, where the value is `z`.
    name
        Name of the op; by default that of the class in small letters.
    example
        That of the docstring; see :func:`with_example`.
    **attributes
        More attributes of the class; `nfunc_spec` is that of the ufunc by default.

    Examples
    --------
    >>> import numpy as np
    >>> Sinh, sinh = float_function("Sinh", "Hyperbolic sine.", np.sinh, lambda x, z: cosh(x), "sinh")
    >>> sinh
    sinh
    """
    if isinstance(np_func, np.ufunc):
        attributes.setdefault("nfunc_spec", (np_func.__name__, 1, 1))
    body = {
        "__doc__": with_example(doc, example),
        "__module__": derivative.__module__,
        "np_func": staticmethod(np_func),
        "derivative": staticmethod(derivative),
        "c_func": c_func,
        **attributes,
    }
    cls = type(class_name, (FloatFunction,), body)
    if c_func is not None:
        declare_function(c_func, np_func)
    return cls, cls(cls.output_types_preference, name=name or class_name.lower())


class Predicate(ScalarOp):
    """An op whose result is a truth value.

    See Also
    --------
    theano.scalar.LogicalComparison : A comparison of two numbers, with a result of type bool.
    theano.scalar.FixedLogicalComparison : A test of one number, with a result of type bool.

    Examples
    --------
    >>> from theano.scalar import float64, isnan
    >>> isinstance(isnan, Predicate), isnan(float64("x")).type
    (True, Scalar(bool))
    """

    output_types_preference = staticmethod(bool_out)

    def L_op(self, inputs, outputs, output_gradients):
        return zeros_for(inputs)
