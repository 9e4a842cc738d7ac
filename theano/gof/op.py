"""Operations: what an Apply node computes, how, and with which gradient."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from theano import aliases
from theano.configdefaults import config
from theano.gof import hooks, utils
from theano.gof.c_interface import CLinkerObject, CLinkerOp  # noqa: F401
from theano.gof.graph import Apply, NoParams, Variable, get_test_value
from theano.gof.meta import MetaObject
from theano.gof.params_type import ParamsType
from theano.gof.stack_traces import _raw_stack, add_tag_trace
from theano.gof.test_values import compute_test_values


class _Signature:
    """What `inspect.signature` and `help` show of an Op that is called: `make_node` gets the arguments. Of a class, nothing."""

    def __get__(self, op: Any, owner: type) -> Any:
        if op is None or owner.__call__ is not PureOp.__call__:
            return None
        import inspect

        return inspect.signature(op.make_node).replace(return_annotation=inspect.Signature.empty)


class PureOp(MetaObject):
    """An operation that can be applied to variables.

    A subclass defines `make_node` (or ``itypes`` and ``otypes``) and `perform`, and may define the methods ``grad`` (or
    `L_op`), `R_op`, ``infer_shape(node, input_shapes)``, ``connection_pattern(node)``, ``flops(inputs, outputs)`` and
    ``debug_perform(node, inputs, output_storage)``, and the attributes ``view_map`` and ``destroy_map``: dictionaries
    from the number of an output to the list of the numbers of the inputs that it is a view of, or that are overwritten
    to compute it.

    Attributes
    ----------
    default_output : int, optional
        The output that a call of the Op returns; by default all.
    writes_first_input : bool
        Whether the Op, or what a rewrite makes of it, overwrites its first input or copies it: a constant that is folded
        there would have to be copied again.
    transfer : {None, 'start', 'wait'}
        Whether the Op starts a transfer to or from other processes, or waits for one: linkers run the first as early,
        the second as late as the graph allows.
    transfer_rank : int
        Of several transfers that could be started, or waited for, that of the lowest rank is first.
    transfer_chain : hashable, optional
        All processes start the transfers of one chain in the same order.

    See Also
    --------
    theano.Op : An operation, with its C interface: the base class of Ops.

    Examples
    --------
    >>> import theano.tensor as T
    >>> class Twice(PureOp):
    ...     __props__ = ()
    ...     itypes = otypes = [T.dscalar]
    ...     def perform(self, node, inputs, output_storage):
    ...         output_storage[0][0] = 2 * inputs[0]
    >>> x = T.dscalar("x")
    >>> Twice()(x).owner, Twice() == Twice()
    (Twice(x), True)
    """

    __signature__ = _Signature()
    default_output: int | None = None
    writes_first_input = False
    transfer: str | None = None
    transfer_rank: int = 0
    transfer_chain: Any = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _pair_gradients(cls)

    def make_node(self, *inputs: Any) -> Apply:
        """Return a node that applies the Op to `inputs`.

        The default works for an Op with ``itypes`` and ``otypes``.

        Parameters
        ----------
        *inputs
            Variables, or what can be made into constants.

        Returns
        -------
        Apply

        Raises
        ------
        NotImplementedError
            The Op has no ``itypes`` and ``otypes``.
        ValueError, TypeError
            The number of inputs, or the type of one, does not fit.
        """
        itypes = getattr(self, "itypes", None)
        otypes = getattr(self, "otypes", None)
        if itypes is None:
            raise NotImplementedError(
                f"You can either define itypes and otypes, or implement make_node ({type(self).__name__} has neither)"
            )
        if otypes is None:
            raise NotImplementedError(
                f"You can either define itypes and otypes, or implement make_node ({type(self).__name__} has no otypes)"
            )
        if len(inputs) != len(itypes):
            raise ValueError(f"We expected {len(itypes)} inputs but got {len(inputs)}.")
        variables = [_as_variable(x, t) for x, t in zip(inputs, itypes, strict=True)]
        for i, (var, type_) in enumerate(zip(variables, itypes, strict=True)):
            if var.type != type_:
                raise TypeError(
                    f"We expected inputs of types {list(itypes)} but got types {[v.type for v in variables]} "
                    f"(input {i} of {self})"
                )
        return Apply(self, variables, [o() for o in otypes])

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        """Apply the Op and return its output.

        Parameters
        ----------
        *inputs
            For `make_node`.
        **kwargs
            For `make_node`, and `return_list`: whether a list is returned even for one output.

        Returns
        -------
        Variable or list of Variable
            The default output, the only output, or all.
        """
        return_list = kwargs.pop("return_list", False)
        node = self.make_node(*inputs, **kwargs)
        outputs = node.outputs
        limit = config.traceback.limit
        if limit:
            trace = None
            for out in outputs:
                tag = out.tag
                if tag._trace is None:
                    if trace is None:
                        trace = _raw_stack(limit, sys._getframe(1))
                    tag._trace = trace
        if config.compute_test_value != "off":
            compute_test_values(node)
        do = self.default_output
        if do is not None:
            return [outputs[do]] if return_list else outputs[do]
        if return_list:
            return list(outputs)
        if len(outputs) == 1:
            return outputs[0]
        return outputs

    # Old code calls this name; the trace goes to the thing's tag.
    add_tag_trace = staticmethod(add_tag_trace)

    def L_op(self, inputs: Sequence, outputs: Sequence, output_grads: Sequence) -> Any:
        """Return the gradient of a scalar with respect to the inputs, given that with respect to the outputs.

        The default calls ``grad(inputs, output_grads)``.
        """
        return self.grad(inputs, output_grads)

    def R_op(self, inputs: Sequence, eval_points: Sequence) -> Any:
        """Return the product of the Jacobian with `eval_points` (one for each input; None means zero).

        Raises
        ------
        NotImplementedError
            The Op does not define it.
        """
        raise NotImplementedError(
            f"{self} of class {self.__class__.__name__} does not implement R_op. If this is a theano op, report it as "
            "missing; if it is your own op, implement the R_op method."
        )

    def perform(self, node: Apply, inputs: Sequence, output_storage: Sequence, params: Any = None) -> None:
        """Compute the outputs.  Required, unless there is C code.

        Parameters
        ----------
        node : Apply
        inputs : list
            Values of the inputs; they must not be changed, but for those that ``destroy_map`` names.
        output_storage : list of list
            For each output a list of one element: to be set to the value.  It may hold an earlier value, whose memory
            can be used again.
        params
            Passed only to Ops with parameters.
        """
        raise utils.MethodNotDefined(
            "perform",
            type(self),
            self.__class__.__name__,
            "Did you used Theano flags mode=FAST_COMPILE? You can use optimizer=fast_compile instead.",
        )

    def do_constant_folding(self, node: Apply) -> bool:
        """Return whether the node may be computed when the graph is compiled, if all its inputs are constants."""
        return True


def _pair_gradients(cls: type) -> None:
    """Make `L_op` and ``grad`` of a class agree with whichever is defined in the class nearer to it.

    Each of the two can be overridden, whichever of them the base class defines, and each can be called, also by `super`.
    """
    nearest = next((c.__dict__ for c in cls.__mro__ if "L_op" in c.__dict__ or "grad" in c.__dict__), {})
    if "L_op" not in nearest:
        if getattr(cls, "L_op", PureOp.L_op) is not PureOp.L_op:
            cls.L_op = _l_op_by_grad(cls)  # type: ignore[attr-defined]
    elif "grad" not in nearest and "L_op" in cls.__dict__ and (_is_own(cls) or not hasattr(cls, "grad")):

        def grad(self: Any, inputs: Sequence, output_grads: Sequence) -> Any:
            return cls.L_op(self, inputs, self(*inputs, return_list=True), output_grads)  # type: ignore[attr-defined]

        grad.__doc__ = """Return the gradient with respect to each input, as `L_op`."""
        cls.grad = grad  # type: ignore[attr-defined]
    cls._paired = _own_gradients(cls)  # type: ignore[attr-defined]


def _own_gradients(cls: type) -> tuple[Any, Any]:
    return cls.__dict__.get("grad"), cls.__dict__.get("L_op")


_asked = threading.local()


def _l_op_by_grad(cls: Any) -> Callable:
    """Return an `L_op` that asks ``grad``, and where that asks for `L_op` itself, the `L_op` that `cls` inherits."""

    def L_op(self: Any, inputs: Sequence, outputs: Sequence, output_grads: Sequence) -> Any:
        calls = _asked.__dict__.setdefault("calls", [])
        call = (id(self), *map(id, inputs))
        if call in calls:
            return super(cls, self).L_op(inputs, outputs, output_grads)
        calls.append(call)
        try:
            return self.grad(inputs, output_grads)
        finally:
            calls.remove(call)

    L_op.__doc__ = PureOp.L_op.__doc__
    return L_op


class _OwnGradient(NamedTuple):
    """The `L_op` of an instance that has a ``grad`` of its own; equal for the same one."""

    grad: Callable

    def __call__(self, inputs: Sequence, outputs: Sequence, output_grads: Sequence, *wanted: Any) -> Any:
        return self.grad(inputs, output_grads)


def _pairs(kind: type) -> tuple:
    # The classes whose `L_op` and `grad` agree as long as the latter is what it was, with what it was.
    found = tuple([(cls, cls.__dict__["_paired"][0]) for cls in kind.__mro__ if "_paired" in cls.__dict__])
    if found:
        kind._pairs = found  # type: ignore[attr-defined]
    return found


def _pair_anew(kind: type) -> None:
    # As `_pair_gradients`, for what was assigned after the classes were made.
    for cls in kind.__mro__:
        own = cls.__dict__
        paired = own.get("_paired")
        if paired is not None and own.get("grad") is not paired[0]:
            if own.get("L_op") is paired[1] and "grad" in own:
                cls.L_op = _l_op_by_grad(cls)  # type: ignore[attr-defined]
            cls._paired = _own_gradients(cls)  # type: ignore[attr-defined]
    _pairs(kind)


def gradient_method(op: Any) -> Callable | None:
    """Return the `L_op` of an Op, which is its ``grad`` where that was assigned to it or one of its classes last; None without any.

    Parameters
    ----------
    op : Op
        The Op.

    Examples
    --------
    >>> import theano.tensor as T
    >>> class Twice(PureOp):
    ...     def grad(self, inputs, output_gradients):
    ...         return [2 * g for g in output_gradients]
    >>> x, g = T.scalars("xg")
    >>> gradient_method(Twice())([x], [2 * x], [g])
    [Elemwise{mul,no_inplace}.0]
    """  # noqa: E501
    own = getattr(op, "__dict__", {})
    if "grad" in own and "L_op" not in own:
        by_grad: Any = _OwnGradient(own["grad"])  # mypy does not see that a named tuple can be called
        return by_grad
    kind = type(op)
    for cls, grad in kind.__dict__.get("_pairs") or _pairs(kind):
        if cls.__dict__.get("grad") is not grad:
            _pair_anew(kind)
            break
    return getattr(op, "L_op", None)


def _as_variable(x: Any, type_: Any) -> Any:
    if isinstance(x, Variable):
        return x
    return getattr(type_, "as_variable", hooks.as_variable)(x)


class Op(PureOp, CLinkerOp):
    """An operation, with its C interface: the base class of Ops.

    Parameters
    ----------
    use_c_code : bool
        Whether its C code may be used, for Ops that call this constructor.

    See Also
    --------
    theano.OpFromGraph : An Op that computes a graph, and that can be applied several times.
    theano.as_op : Return a decorator that makes an Op of a Python function.
    theano.Type : A type with a C interface: the base class of types.

    Examples
    --------
    >>> import theano
    >>> class Double(Op):
    ...     __props__ = ()
    ...     def make_node(self, x):
    ...         return theano.Apply(self, [x], [x.type()])
    ...     def perform(self, node, inputs, output_storage):
    ...         output_storage[0][0] = inputs[0] * 2
    ...     def grad(self, inputs, output_grads):
    ...         return [output_grads[0] * 2]
    >>> x = theano.tensor.dvector("x")
    >>> theano.function([x], Double()(x))([1.0, 2.0])
    array([2., 4.])
    """

    _op_use_c_code = True

    def __init__(self, use_c_code: Any = True):
        self._op_use_c_code = use_c_code

    def get_params(self, node: Apply) -> Any:
        """Return the Op's parameters for a node.

        The default collects them from the Op's attributes where ``params_type`` is a `ParamsType`.

        Raises
        ------
        MethodNotDefined
            The Op has no parameters.
        AttributeError
            An attribute is missing.
        """
        params_type = getattr(self, "params_type", None)
        if params_type is not None:
            if isinstance(params_type, ParamsType):
                missing = [field for field in params_type.fields if not hasattr(self, field)]
                if missing:
                    raise AttributeError(
                        f"{self}: params_type has the fields {missing}, but the Op has no attributes of these names; "
                        "set them or override get_params."
                    )
                return params_type.get_params(self)
        raise utils.MethodNotDefined("get_params", type(self), self.__class__.__name__)

    def prepare_node(self, node: Apply, storage_map: dict | None, compute_map: dict | None, impl: str | None) -> None:
        """Do what is needed before a thunk of the node is made.

        Parameters
        ----------
        node : Apply
        storage_map, compute_map : dict or None
        impl : {'c', 'py', None}
            Which implementation the thunk will use.
        """

    def make_thunk(
        self, node: Apply, storage_map: dict, compute_map: dict, no_recycling: Any, impl: str | None = None
    ) -> Callable:
        """Return a function without arguments that computes the node.

        Parameters
        ----------
        node : Apply
        storage_map : dict
            From each variable to the list of one element that holds its value.
        compute_map : dict
            From each variable to a list of one element: whether its value has been computed.
        no_recycling : collection of Variable
            Outputs whose earlier values must not be used again.
        impl : {'c', 'py', None}
            Which implementation to use; None means C code where there is any.

        Returns
        -------
        callable
            With the attributes `inputs`, `outputs` (the storage) and `lazy` (False; a lazy thunk returns the numbers
            of the inputs that it still needs).
        """
        if impl == "c" or (impl is None and self._has_c_code(node)):
            self.prepare_node(node, storage_map=storage_map, compute_map=compute_map, impl="c")
            try:
                return self.make_c_thunk(node, storage_map, compute_map, no_recycling)
            except (NotImplementedError, utils.MethodNotDefined):
                if impl == "c":
                    raise
        self.prepare_node(node, storage_map=storage_map, compute_map=compute_map, impl="py")
        return self.make_py_thunk(node, storage_map, compute_map, no_recycling)

    def _has_c_code(self, node: Apply) -> bool:
        # Whether it is worth asking for C code at all; looked up on the instance, which may carry its own.
        if not config.cxx or not getattr(self, "_op_use_c_code", True):
            return False
        code = self.c_code
        if getattr(code, "__func__", code) is CLinkerOp.c_code:
            return False
        # Theano's own Ops run natively or by NumPy: their C expressions are for the native engine.
        perform = self.perform
        if getattr(perform, "__func__", perform) is PureOp.perform:
            return True
        return not _is_own(type(self)) or registered_c_code(node)

    def make_c_thunk(self, node: Apply, storage_map: dict, compute_map: dict, no_recycling: Any) -> Callable:
        """Return a function without arguments that computes the node by its C code.

        Raises
        ------
        NotImplementedError, MethodNotDefined
            There is no C code for this node.
        """
        if not self._has_c_code(node):
            raise NotImplementedError(f"{self} is not compiled by itself")
        if not getattr(self, "_f16_ok", False):
            for var in (*node.inputs, *node.outputs):
                if getattr(var.type, "dtype", None) == "float16":
                    warnings.warn(f"Disabling C code for {self} due to unsupported float16", stacklevel=2)
                    raise NotImplementedError("float16")
        return hooks.node_in_c(node, storage_map, compute_map, no_recycling)

    def make_py_thunk(
        self, node: Apply, storage_map: dict, compute_map: dict, no_recycling: Any, debug: bool = False
    ) -> Callable:
        """Return a function without arguments that computes the node by `perform`.

        Parameters
        ----------
        node, storage_map, compute_map, no_recycling
            As for `make_thunk`.
        debug : bool
            Whether to use ``debug_perform`` where the Op has it.
        """
        ins = [storage_map[r] for r in node.inputs]
        outs = [storage_map[r] for r in node.outputs]
        computed = [compute_map[r] for r in node.outputs] if compute_map is not None else []
        perform = self.debug_perform if debug and hasattr(self, "debug_perform") else self.perform
        params = node.run_params()
        if params is NoParams:
            extra: tuple = ()
        else:
            extra = (node.params_type.filter(params),)

        def rval() -> Any:
            r = perform(node, [x[0] for x in ins], outs, *extra)
            for flag in computed:
                flag[0] = True
            return r

        rval.inputs = ins
        rval.outputs = outs
        rval.perform = perform
        rval.lazy = False
        return rval

    def __getstate__(self) -> dict:
        state = dict(self.__dict__)
        state.pop("_thunk_cache", None)
        return state


def simple_meth(tag: str) -> Any:
    """Return the method ``c_<tag>`` of an Op whose C code lies in its dictionary `code_sections`, by tag.

    It raises `MethodNotDefined` where there is none.

    Parameters
    ----------
    tag : str
        ``'code_cleanup'``, say.

    Examples
    --------
    >>> class Kernel:
    ...     code_sections = {"headers": ["<math.h>"]}
    ...     c_headers = simple_meth("headers")
    ...     c_libraries = simple_meth("libraries")
    >>> Kernel().c_headers()
    ['<math.h>']
    >>> Kernel().c_libraries()
    Traceback (most recent call last):
        ...
    theano.gof.utils.MethodNotDefined: ('c_libraries', <class 'theano.gof.op.Kernel'>, 'Kernel')
    """

    def section(self: Any) -> Any:
        if tag not in self.code_sections:
            raise utils.MethodNotDefined(f"c_{tag}", type(self), self.__class__.__name__)
        return self.code_sections[tag]

    section.__name__ = f"c_{tag}"
    return section


def _is_own(cls: type) -> bool:
    return cls.__module__.startswith("theano.") and ".tests." not in cls.__module__


def registered_c_code(node: Apply) -> bool:
    """Return whether a user gave one of Theano's Ops C code for the type of the node's first input.

    That is what ``theano.compile.ops.register_view_op_c_code`` and its like do.

    Parameters
    ----------
    node : Apply
        The node.

    Examples
    --------
    >>> import theano
    >>> from theano.compile import view_op
    >>> class Text(theano.Type):
    ...     __module__ = "text_types"
    >>> node = view_op(Text()("title")).owner
    >>> registered_c_code(node)
    False
    >>> theano.compile.register_view_op_c_code(Text, "%(oname)s = %(iname)s;", 1)
    >>> registered_c_code(node)
    True
    >>> del type(view_op).c_code_and_version[Text]
    """
    table = getattr(node.op, "c_code_and_version", None)
    if not table or not node.inputs:
        return False
    cls = type(node.inputs[0].type)
    return cls in table and not _is_own(cls)


PureOp._get_test_value = staticmethod(get_test_value)


def missing_test_message(msg: str) -> None:
    """Say that a test value is missing, in the way that ``config.compute_test_value`` asks for.

    Parameters
    ----------
    msg : str
        The sentence.

    Raises
    ------
    AttributeError
        It asks to raise.

    See Also
    --------
    theano.gof.op.debug_assert : Check a condition on test values.
    theano.gof.op.debug_error_message : Say that something is wrong with test values, in the way that
        ``config.compute_test_value`` asks for.

    Examples
    --------
    >>> with config.change_flags(compute_test_value="raise"):
    ...     missing_test_message("x has no test value")
    Traceback (most recent call last):
        ...
    AttributeError: x has no test value
    """
    action = config.compute_test_value
    if action == "raise":
        raise AttributeError(msg)
    if action == "warn":
        warnings.warn(msg, stacklevel=2)
    else:
        assert action in ("ignore", "off")


def debug_error_message(msg: str) -> None:
    """Say that something is wrong with test values, in the way that ``config.compute_test_value`` asks for.

    Parameters
    ----------
    msg : str
        What is wrong.

    Raises
    ------
    ValueError
        It asks to raise, or to ignore missing values only.

    See Also
    --------
    theano.gof.op.missing_test_message : Say that a test value is missing, in the way that ``config.compute_test_value``
        asks for.
    theano.gof.op.get_debug_values : Return the test values of some variables, for an Op that checks them when it is
        applied.

    Examples
    --------
    >>> with config.change_flags(compute_test_value="raise"):
    ...     debug_error_message("the matrix is not square")
    Traceback (most recent call last):
        ...
    ValueError: the matrix is not square
    """
    action = config.compute_test_value
    if action in ("raise", "ignore"):
        raise ValueError(msg)
    warnings.warn(msg, stacklevel=2)


def debug_assert(condition: Any, msg: str | None = None) -> None:
    """Check a condition on test values.

    Parameters
    ----------
    condition : object
        What has to be true.
    msg : str, optional
        What to say if it is not.

    See Also
    --------
    theano.gof.op.get_debug_values : Return the test values of some variables, for an Op that checks them when it is
        applied.
    theano.gof.op.missing_test_message : Say that a test value is missing, in the way that ``config.compute_test_value``
        asks for.

    Examples
    --------
    >>> with config.change_flags(compute_test_value="raise"):
    ...     debug_assert(2 + 2 == 4)
    ...     debug_assert(2 + 2 == 5, "shapes differ")
    Traceback (most recent call last):
        ...
    ValueError: shapes differ
    """
    if not condition:
        debug_error_message(msg if msg is not None else "debug_assert failed")


def get_debug_values(*args: Any) -> list[tuple]:
    """Return the test values of some variables, for an Op that checks them when it is applied.

    Parameters
    ----------
    *args : Variable
        Whose test values are wanted.

    Returns
    -------
    list
        Empty where a value is missing or test values are off; else it holds one tuple of all values.

    Raises
    ------
    ValueError
        A value is missing and ``config.compute_test_value`` is ``'raise'``.

    See Also
    --------
    theano.gof.graph.get_test_value : Return the test value of a variable.
    theano.gof.op.debug_error_message : Say that something is wrong with test values, in the way that
        ``config.compute_test_value`` asks for.
    theano.gof.op.missing_test_message : Say that a test value is missing, in the way that ``config.compute_test_value``
        asks for.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> x.tag.test_value = 3.0
    >>> with config.change_flags(compute_test_value="ignore"):
    ...     for x_value, half in get_debug_values(x, T.constant(0.5)):
    ...         print(float(x_value * half))
    ...     print(get_debug_values(x, T.dscalar("y")))
    1.5
    []
    """
    if config.compute_test_value == "off":
        return []
    values = []
    for i, arg in enumerate(args):
        try:
            values.append(get_test_value(arg))
        except AttributeError:
            if getattr(arg, "name", None) is not None:
                missing_test_message(f"Argument {i} ('{arg.name}') has no test value")
            else:
                missing_test_message(f"Argument {i} has no test value")
            return []
    return [tuple(values)]


# From the class of an Op that runs a compiled function of its own to the name of the attribute that holds it.
ops_with_inner_function: dict[type, str] = {}


__getattr__, __dir__ = aliases.lazy(__name__)
