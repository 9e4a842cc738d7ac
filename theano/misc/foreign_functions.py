"""Functions of JAX and of PyTorch as operations with gradients."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theano.gof import Apply, Op, Type, Variable
from theano.gradient_types import DisconnectedType
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.type import TensorType


class _JAX:
    """How functions of JAX are called and differentiated."""

    name = "JAX"

    def __init__(self) -> None:
        import jax

        self.vjp, self.jvp, self.jit = jax.vjp, jax.jvp, jax.jit
        self.exact = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64

    def prepared(self, fn: Callable) -> Callable:
        return self.jit(fn)

    def call(self, fn: Callable, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        # Without it JAX would take float64 for float32.
        with self.exact(True):
            return [np.array(output) for output in fn(*inputs)]


class _Torch:
    """How functions of PyTorch are called and differentiated."""

    name = "PyTorch"

    def __init__(self) -> None:
        import torch

        self.torch, self.vjp, self.jvp = torch, torch.func.vjp, torch.func.jvp

    def prepared(self, fn: Callable) -> Callable:
        return fn

    def call(self, fn: Callable, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        # A copy: the function may keep its arguments or work in place.
        tensors = [self.torch.from_numpy(np.array(x, order="C", copy=True)) for x in inputs]
        with self.torch.no_grad():
            return [output.detach().cpu().resolve_conj().numpy() for output in fn(*tensors)]


_LIBRARIES: dict[str, Callable[[], Any]] = {"jax": _JAX, "torch": _Torch}
_loaded: dict[str, Any] = {}


def _library(name: str) -> Any:
    if name not in _loaded:
        _loaded[name] = _LIBRARIES[name]()
    return _loaded[name]


class _Outputs:
    """The function, returning a tuple whatever it returned."""

    def __init__(self, fn: Callable) -> None:
        self.fn = fn

    def __call__(self, *inputs: Any) -> tuple:
        outputs = self.fn(*inputs)
        return tuple(outputs) if isinstance(outputs, (list, tuple)) else (outputs,)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.fn == other.fn  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self), self.fn))


class _Derivative:
    """A product with the Jacobian of a function, a function of the same library: of its inputs and a direction.

    Parameters
    ----------
    op : ForeignFunction
        Whose function it is of.
    backward : bool
        Whether the direction is one of the outputs (and the result one of the inputs) or the other way round.
    """

    def __init__(self, op: ForeignFunction, backward: bool) -> None:
        self.op, self.backward = op, backward

    def __call__(self, *arguments: Any) -> tuple:
        op = self.op
        inputs, direction = arguments[: len(op.itypes)], arguments[len(op.itypes) :]

        def smooth(*varied: Any) -> tuple:
            rest = iter(varied)
            outputs = op.fn(*[next(rest) if i in op.smooth_inputs else x for i, x in enumerate(inputs)])
            return tuple(outputs[i] for i in op.smooth_outputs)

        at = [inputs[i] for i in op.smooth_inputs]
        library = _library(op.library)
        if self.backward:
            return tuple(library.vjp(smooth, *at)[1](tuple(direction)))
        return tuple(library.jvp(smooth, tuple(at), tuple(direction))[1])

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and (self.op, self.backward) == (other.op, other.backward)  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self), self.op, self.backward))


class _ShapesOfInputs:
    """The shapes of the outputs of a derivative: those of some inputs."""

    def __init__(self, positions: Sequence[int]) -> None:
        self.positions = positions

    def __call__(self, node: Apply, input_shapes: list[Any]) -> list[Any]:
        return [input_shapes[i] for i in self.positions]


class ForeignFunction(Op):
    """An Op that calls a function of JAX or PyTorch, and takes its derivatives from there.

    Made by :func:`wrap_jax` and :func:`wrap_torch`.

    Parameters
    ----------
    library : {'jax', 'torch'}
        Whose function it is.
    fn : callable
        Takes and returns arrays of the library, the outputs as a tuple.
    itypes, otypes : tuple of TensorType
        Types of the inputs and the outputs.
    infer_shape : callable, optional
        Called as ``infer_shape(node, input_shapes)``; returns the shapes of the outputs.

    Examples
    --------
    >>> import theano.tensor as T
    >>> def total(x):
    ...     return (x.sum(),)
    >>> op = ForeignFunction("jax", total, [T.dvector], [T.dscalar])
    >>> x = T.dvector("x")
    >>> op(x).owner, op == ForeignFunction("jax", total, [T.dvector], [T.dscalar])
    (JAX{total}(x), True)
    """

    __props__ = ("library", "fn", "itypes", "otypes")

    def __init__(
        self, library: str, fn: Callable, itypes: Sequence[Any], otypes: Sequence[Any], infer_shape: Callable | None = None
    ) -> None:
        self.library, self.fn, self.itypes, self.otypes = library, fn, tuple(itypes), tuple(otypes)
        self.shapes = infer_shape
        if infer_shape is not None:
            self.infer_shape = infer_shape
        self.smooth_inputs = [i for i, t in enumerate(self.itypes) if t.dtype.startswith(("float", "complex"))]
        self.smooth_outputs = [i for i, t in enumerate(self.otypes) if t.dtype.startswith(("float", "complex"))]
        self._prepared: Callable | None = None

    def __str__(self) -> str:
        if isinstance(self.fn, _Derivative):
            return f"{'VJP' if self.fn.backward else 'JVP'}{{{self.fn.op}}}"
        fn = self.fn.fn if isinstance(self.fn, _Outputs) else self.fn
        return f"{_LIBRARIES[self.library].name}{{{getattr(fn, '__name__', fn)}}}"  # type: ignore[attr-defined]

    def __reduce__(self) -> tuple:
        return type(self), (self.library, self.fn, self.itypes, self.otypes, self.shapes)

    def make_node(self, *inputs: Any) -> Apply:
        """Return the node; numbers and arrays are taken as the types say.

        Raises
        ------
        ValueError
            For another number of inputs.
        TypeError
            For inputs of other types.
        """
        if len(inputs) != len(self.itypes):
            raise ValueError(f"{self} takes {len(self.itypes)} inputs, {len(inputs)} were given")
        values = [x if isinstance(x, Variable) else np.asarray(x, t.dtype) for x, t in zip(inputs, self.itypes)]
        variables = [t.filter_variable(x) for x, t in zip(values, self.itypes)]
        return Apply(self, variables, [t() for t in self.otypes])

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[list[Any]]) -> None:
        library = _library(self.library)
        if self._prepared is None:
            self._prepared = library.prepared(self.fn)
        outputs = library.call(self._prepared, inputs)
        if len(outputs) != len(output_storage):
            raise ValueError(f"{self} returned {len(outputs)} values, and {len(output_storage)} types of outputs were given")
        for number, (storage, value, type_) in enumerate(zip(output_storage, outputs, self.otypes)):
            if value.dtype != type_.dtype or value.ndim != type_.ndim:
                raise TypeError(
                    f"output {number} of {self} should be of {type_}, and is an array of {value.dtype} with {value.ndim}"
                    " dimensions"
                )
            storage[0] = value

    def derivative(self, backward: bool) -> ForeignFunction:
        """Return the operation that multiplies with the Jacobian: inputs first, then the direction."""
        ends = [self.itypes[i] for i in self.smooth_inputs], [self.otypes[i] for i in self.smooth_outputs]
        results, direction = ends if backward else ends[::-1]
        shapes = _ShapesOfInputs(self.smooth_inputs) if backward else None
        return ForeignFunction(self.library, _Derivative(self, backward), [*self.itypes, *direction], results, shapes)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        outputs = [o in self.smooth_outputs for o in range(len(self.otypes))]
        return [[smooth and i in self.smooth_inputs for smooth in outputs] for i in range(len(self.itypes))]

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]) -> list[Any]:
        direction = []
        for i in self.smooth_outputs:
            gradient = output_grads[i]
            missing = isinstance(gradient.type, DisconnectedType)
            direction.append(outputs[i].zeros_like() if missing else as_tensor_variable(gradient).astype(self.otypes[i].dtype))
        if not self.smooth_inputs or not direction:
            return [DisconnectedType()() for _ in inputs]
        found = iter(self.derivative(True)(*inputs, *direction, return_list=True))
        return [next(found) if i in self.smooth_inputs else DisconnectedType()() for i in range(len(inputs))]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        if not self.smooth_inputs or all(eval_points[i] is None for i in self.smooth_inputs):
            return [None for _ in self.otypes]
        direction = [inputs[i].zeros_like() if eval_points[i] is None else eval_points[i] for i in self.smooth_inputs]
        found = iter(self.derivative(False)(*inputs, *direction, return_list=True))
        return [next(found) if i in self.smooth_outputs else None for i in range(len(self.otypes))]


def _wrap(library: str, itypes: Any, otypes: Any, infer_shape: Callable | None) -> Callable[[Callable], ForeignFunction]:
    lists = []
    for name, given in (("itypes", itypes), ("otypes", otypes)):
        listed = list(given) if isinstance(given, (list, tuple)) else [given]
        for type_ in listed:
            if not isinstance(type_, TensorType):
                kind = "a type" if isinstance(type_, Type) else "no type"
                raise TypeError(f"{name} has to be a list of types of tensors such as theano.tensor.dmatrix; {type_!r} is {kind}")
        lists.append(listed)
    # That the library is missing is told here, not in a call later.
    with contextlib.suppress(KeyError):
        _library(library)
    inputs, outputs = lists
    return lambda fn: ForeignFunction(library, _Outputs(fn), inputs, outputs, infer_shape)


def wrap_jax(itypes: Any, otypes: Any, infer_shape: Callable | None = None) -> Callable[[Callable], ForeignFunction]:
    """Return a decorator that makes an operation with gradients of a function of JAX.

    The function is compiled by ``jax.jit``. Gradients, also of gradients, and R-operators are JAX's own.

    Parameters
    ----------
    itypes, otypes : TensorType or list of TensorType
        Types of the inputs and the outputs; the values that the function returns must be of these.
    infer_shape : callable, optional
        Called as ``infer_shape(node, input_shapes)`` with a list of tuples; returns such a list for the outputs. Without
        it a shape of an output is known only when the function has run.

    Returns
    -------
    callable
        The decorator.

    Raises
    ------
    ImportError
        JAX is not installed.
    TypeError
        For types that are not those of tensors.

    See Also
    --------
    wrap_torch : The same for functions of PyTorch.
    theano.as_op : For functions of NumPy, without gradients.

    Examples
    --------
    >>> import jax.numpy as jnp                                                 # doctest: +SKIP
    >>> import theano, theano.tensor as T
    >>> @theano.misc.wrap_jax([T.dvector], [T.dscalar])                         # doctest: +SKIP
    ... def energy(x):
    ...     return jnp.logaddexp.reduce(x)
    >>> x = T.dvector("x")
    >>> f = theano.function([x], T.grad(energy(2 * x), x))                      # doctest: +SKIP
    """
    return _wrap("jax", itypes, otypes, infer_shape)


def wrap_torch(itypes: Any, otypes: Any, infer_shape: Callable | None = None) -> Callable[[Callable], ForeignFunction]:
    """Return a decorator that makes an operation with gradients of a function of PyTorch.

    The function gets tensors on the CPU that are its own, and may be a ``torch.nn.Module``. Gradients, also of gradients,
    and R-operators are those of ``torch.func``, so the function must have no effects on other tensors.

    Parameters
    ----------
    itypes, otypes : TensorType or list of TensorType
        Types of the inputs and the outputs; the values that the function returns must be of these.
    infer_shape : callable, optional
        Called as ``infer_shape(node, input_shapes)`` with a list of tuples; returns such a list for the outputs. Without
        it a shape of an output is known only when the function has run.

    Returns
    -------
    callable
        The decorator.

    Raises
    ------
    ImportError
        PyTorch is not installed.
    TypeError
        For types that are not those of tensors.

    See Also
    --------
    wrap_jax : The same for functions of JAX.
    theano.as_op : For functions of NumPy, without gradients.

    Examples
    --------
    >>> import torch                                                            # doctest: +SKIP
    >>> import theano, theano.tensor as T
    >>> @theano.misc.wrap_torch([T.fmatrix], [T.fmatrix])                       # doctest: +SKIP
    ... def activation(x):
    ...     return torch.nn.functional.gelu(x)
    >>> x = T.fmatrix("x")
    >>> f = theano.function([x], T.grad(activation(x).sum(), x))                # doctest: +SKIP
    """
    return _wrap("torch", itypes, otypes, infer_shape)


for _function in (wrap_jax, wrap_torch):
    _function.__module__ = "theano.misc"
