"""Where rewrites are registered, and what many of them need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from theano.compile.mode import local_useless, optdb
from theano.gof.graph import Constant, Variable
from theano.gof.opt import copy_stack_trace
from theano.tensor import basic as T
from theano.tensor.elemwise import DimShuffle, Elemwise

__all__ = [
    "as_scalar_constant",
    "broadcast_like",
    "constant_like",
    "encompasses_broadcastable",
    "fill_chain",
    "is_elemwise",
    "is_neg_one",
    "only_client",
    "register_canonicalize",
    "register_specialize",
    "register_specialize_device",
    "register_stabilize",
    "register_uncanonicalize",
    "register_useless",
    "same_dtype",
    "scalarconsts_rest",
]


def _registrar(database: str) -> Callable[..., Any]:
    """A function that registers local optimizers in `optdb[database]`, usable as a decorator with or without tags."""

    def register(lopt: Any, *tags: str, **kwargs: Any) -> Any:
        if isinstance(lopt, str):

            def decorate(inner: Any) -> Any:
                return register(inner, lopt, *tags, **kwargs)

            return decorate
        options = dict(kwargs)
        name = options.pop("name", None) or lopt.__name__
        target = local_useless if database == "useless" else optdb[database]
        if database == "useless":
            target.register(name, lopt, "last", "fast_run", *tags, **options)
        else:
            target.register(name, lopt, "fast_run", *tags, **options)
        return lopt

    register.__name__ = f"register_{database}"
    register.__doc__ = f"""Register a local optimizer in the `{database}` database.

    Parameters
    ----------
    lopt : LocalOptimizer or str
        The optimizer, or the first of the tags when used as ``@register_{database}('tag')``.
    *tags : str
        More tags; 'fast_run' is always one.
    name : str, optional
        Name in the database, by default that of the function.

    Returns
    -------
    LocalOptimizer or decorator
        `lopt`, or what takes it.
    """
    return register


register_useless = _registrar("useless")
register_canonicalize = _registrar("canonicalize")
register_stabilize = _registrar("stabilize")
register_specialize = _registrar("specialize")
register_uncanonicalize = _registrar("uncanonicalize")
register_specialize_device = _registrar("specialize_device")


def only_client(var: Variable) -> bool:
    """Whether at most one input slot in the graph uses `var`."""
    return len(getattr(var, "clients", ())) <= 1


def is_elemwise(node: Any, *ops: Any) -> bool:
    """Whether `node` is an Apply of one of the elementwise `ops`, which are given without inplace pattern."""
    if node is None or not isinstance(node.op, Elemwise):
        return False
    return node.op.scalar_op in [op.scalar_op for op in ops]


def as_scalar_constant(v: Any) -> Any:
    """The value of `v` as a 0-d array if it is a constant of one element (or 0-d behind a DimShuffle), else None."""
    node = v.owner
    if node is not None:
        if type(node.op) is not DimShuffle:
            return None
        v = node.inputs[0]
    if not isinstance(v, Constant):
        return None
    data = v.data
    if getattr(data, "size", 0) == 1 and hasattr(data, "reshape"):
        return data.reshape(())
    unique = getattr(v.tag, "unique_value", None)
    return None if unique is None else np.asarray(unique)


def constant_like(value: Any, like: Any) -> Any:
    """A constant `value` of the dtype of `like`, with as many broadcastable dimensions."""
    return constant_of(np.asarray(value).astype(like.type.dtype).reshape((1,) * like.type.ndim))


#: The constants of `constant_of`.
_constants: dict[tuple, Any] = {}


def constant_of(data: np.ndarray) -> Any:
    """A constant of `data`, of one element: rewrites need the same few again and again."""
    key = (data.dtype, data.ndim, data.tobytes())
    found = _constants.get(key)
    # One that a graph took as it is belongs to that graph.
    if found is None or not getattr(found, "cached", False) or found.name is not None:
        if len(_constants) > 1000:
            _constants.clear()
        found = _constants[key] = T.constant(data)
    return found


def same_dtype(new: Any, old: Any) -> Any:
    """`new` cast to the dtype of `old` if it has another."""
    return new if new.type.dtype == old.type.dtype else T.cast(new, old.type.dtype)


def is_neg_one(v: Any) -> bool:
    """Whether `v` is the constant -1."""
    value = as_scalar_constant(v)
    return value is not None and bool(value == -1)


def fill_chain(new_out: Any, orig_inputs: Iterable[Any]) -> list[Any]:
    """Give `new_out` the shape of the broadcast of `orig_inputs`.

    Inputs that are broadcastable wherever `new_out` is not say nothing and are left out.
    """
    for i in orig_inputs:
        if i.type.ndim and not encompasses_broadcastable(new_out.type.broadcastable, i.type.broadcastable):
            new_out = T.fill(i, new_out)
    return [new_out]


def encompasses_broadcastable(b1: Sequence[bool], b2: Sequence[bool]) -> bool:
    """Whether a tensor of pattern `b2` broadcasts to the shape of one of pattern `b1`, and not the opposite.

    Parameters
    ----------
    b1, b2
        Broadcast patterns; the shorter one is extended on the left.
    """
    if len(b1) < len(b2):
        return False
    tail = b1[-len(b2) :] if b2 else ()
    return not any(v1 and not v2 for v1, v2 in zip(tail, b2, strict=True))


def broadcast_like(value: Any, template: Any, fgraph: Any, dtype: str | None = None) -> Any:
    """`value` broadcast to the shape of `template`.

    Parameters
    ----------
    value
        What to broadcast; cast if needed.
    template
        A variable of `fgraph`.
    fgraph
        The graph; its `shape_feature` gives the shape if there is one.
    dtype
        dtype of the result, by default that of `template`.
    """
    value = T.as_tensor_variable(value)
    if dtype is None:
        dtype = template.dtype
    if value.type.dtype != dtype:
        value = T.cast(value, dtype)
    if value.type.broadcastable == template.type.broadcastable:
        return value
    feature = getattr(fgraph, "shape_feature", None)
    shape = feature.shape_of[template] if feature is not None else template.shape
    rval = T.alloc(value, *[shape[i] for i in range(template.ndim)])
    if rval.broadcastable != template.broadcastable:
        # A dimension that is 1 in this graph need not be declared so.
        rval = T.patternbroadcast(rval, template.broadcastable)
    copy_stack_trace(template, rval)
    return rval


def scalarconsts_rest(
    inputs: Sequence[Any], elemwise: bool = True, only_process_constants: bool = False
) -> tuple[list[Any], list[Any], list[Any]]:
    """Partition a list of variables into scalar constants and the rest.

    Returns
    -------
    tuple of lists
        The values of the constants, the variables that they are, and the variables that are not constant.
    """
    consts, origconsts, nonconsts = [], [], []
    for i in inputs:
        try:
            value = T.get_scalar_constant_value(i, elemwise=elemwise, only_process_constants=only_process_constants)
        except T.NotScalarConstantError:
            nonconsts.append(i)
        else:
            consts.append(value)
            origconsts.append(i)
    return consts, origconsts, nonconsts
