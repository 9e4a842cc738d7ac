"""What rewrites ask of an expression, and what they build."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from theano.gof.graph import Constant
from theano.gof.memo import Bounded
from theano.gof.opt import copy_stack_trace
from theano.tensor import basic as T
from theano.tensor.elemwise import DimShuffle, Elemwise


def is_elemwise(node: Any, *ops: Any) -> bool:
    """Whether `node` is an Apply of one of the elementwise `ops`, which are given without inplace pattern.

    Examples
    --------
    >>> node = T.exp(T.dvector("x")).owner
    >>> is_elemwise(node, T.exp, T.log), is_elemwise(node, T.log)
    (True, False)
    """
    if node is None or not isinstance(node.op, Elemwise):
        return False
    scalar_op = node.op.scalar_op
    for op in ops:
        other = op.scalar_op
        if scalar_op is other or (type(scalar_op) is type(other) and scalar_op == other):
            return True
    return False


def kind_of(v: Any) -> Any:
    """The class of the scalar Op of the elementwise operation that computes `v`, None if none does."""
    node = v.owner
    return type(node.op.scalar_op) if node is not None and type(node.op) is Elemwise else None


def is_made_by(v: Any, *classes: type) -> bool:
    """Whether an Op of one of these classes computes `v`.

    Examples
    --------
    >>> from theano.tensor.elemwise import Elemwise
    >>> x = T.dvector()
    >>> is_made_by(T.exp(x), Elemwise), is_made_by(x, Elemwise)
    (True, False)
    """
    return v.owner is not None and isinstance(v.owner.op, classes)


def nodes_below(v: Any, most: int, through: Any = object) -> Iterator[Any]:
    """Yield the nodes that `v` is computed by, nearest first.

    Parameters
    ----------
    v : TensorVariable
        Where to begin.
    most : int
        How many variables are looked at.
    through : class or tuple of class, optional
        Whose inputs are looked at, too: Ops of these.

    Yields
    ------
    Apply

    Examples
    --------
    >>> x = T.dvector()
    >>> [str(node.op.scalar_op) for node in nodes_below(T.exp(-x), 9)]
    ['exp', 'neg']
    """
    todo = [v]
    for _ in range(most):
        node = todo.pop().owner if todo else None
        if node is not None:
            yield node
            if isinstance(node.op, through):
                todo.extend(node.inputs)


def as_scalar_constant(v: Any) -> Any:
    """Return the value of all elements of `v`, a constant or one behind a DimShuffle, as a 0-d array, else None.

    Parameters
    ----------
    v : TensorVariable
        Any tensor.

    Examples
    --------
    >>> [as_scalar_constant(v) for v in (T.constant([2.0, 2.0]), T.constant([2.0, 3.0]), T.dscalar())]
    [array(2.), None, None]
    """
    node = v.owner
    if node is not None:
        if type(node.op) is not DimShuffle:
            return None
        v = node.inputs[0]
    if not isinstance(v, Constant):
        return None
    data = v.data
    if getattr(data, "size", 0) == 1 and hasattr(data, "reshape"):
        return data.reshape(()) if data.ndim else data
    unique = getattr(v.tag, "unique_value", None)
    return None if unique is None else np.asarray(unique)


def is_number(v: Any, number: float) -> bool:
    """Whether `v` is a constant, or one behind a DimShuffle, all elements of which are `number`.

    Parameters
    ----------
    v : TensorVariable
        Any tensor.
    number : float
        The number.

    Examples
    --------
    >>> is_number(T.constant([2.0, 2.0]), 2), is_number(T.constant([2.0, 3.0]), 2)
    (True, False)
    """
    node = v.owner
    if node is not None:
        if type(node.op) is not DimShuffle:
            return False
        v = node.inputs[0]
    return isinstance(v, Constant) and v.number == number


def argument_of(v: Any, op: Any, dtype: str | None = None) -> Any:
    """Return the argument of `v` if it is the elementwise `op` of something, and of this dtype, else None.

    Parameters
    ----------
    v : TensorVariable
        Any tensor.
    op : Elemwise
        Without inplace pattern.
    dtype : str, optional
        That of `v`; by default any.

    Examples
    --------
    >>> y = T.exp(T.dvector("x"))
    >>> argument_of(y, T.exp), argument_of(y, T.log), argument_of(y, T.exp, "float32")
    (x, None, None)
    """
    return v.owner.inputs[0] if is_elemwise(v.owner, op) and dtype in (None, v.type.dtype) else None


def is_inexact(x: Any) -> bool:
    """Whether the negative of `x` is one: that of an integer may wrap around.

    Parameters
    ----------
    x : TensorVariable
        Any tensor.

    Examples
    --------
    >>> is_inexact(T.dscalar()), is_inexact(T.lscalar())
    (True, False)
    """
    return x.type.dtype not in T.discrete_dtypes


def signed(v: Any) -> tuple[Any, bool]:
    """Return `v` as ``(x, negative)`` with ``v == -x`` if negative; the negative of an integer may have wrapped around.

    Parameters
    ----------
    v : TensorVariable
        Any tensor.

    Examples
    --------
    >>> x = T.dscalar("x")
    >>> signed(-x), signed(-1 * x), signed(x)
    ((x, True), (x, True), (x, False))
    """
    if not is_inexact(v):
        return v, False
    x = argument_of(v, T.neg)
    if x is None and is_elemwise(v.owner, T.mul) and len(v.owner.inputs) == 2:
        a, b = v.owner.inputs
        x = b if is_number(a, -1) else a if is_number(b, -1) else None
    return (v, False) if x is None else (x, True)


def negated(v: Any) -> Any:
    """``-v``, without a double negative."""
    x = argument_of(v, T.neg)
    return T.neg(v) if x is None else x


def factors_of(v: Any) -> list[Any]:
    """The factors of `v`; the product of integers may have wrapped around."""
    return list(v.owner.inputs) if v.type.dtype in T.float_dtypes and is_elemwise(v.owner, T.mul) else [v]


def fraction(v: Any) -> tuple[list[Any], list[Any]]:
    """The factors of `v` above and below the line; ``-1`` is one of them where `v` is a negative."""
    node = v.owner
    if node is None or v.type.dtype not in T.float_dtypes:
        return [v], []
    if node.op == T.neg:
        top, bottom = fraction(node.inputs[0])
        return [_minus_one(v), *top], bottom
    if node.op == T.inv:
        return [], factors_of(node.inputs[0])
    if node.op == T.true_div:
        return factors_of(node.inputs[0]), factors_of(node.inputs[1])
    return factors_of(v), []


_MUL, _SQR, _NEG, *_ = _OPENED = [type(op.scalar_op) for op in (T.mul, T.sqr, T.neg, T.inv, T.true_div)]


#: From so many factors on the rest of a product stays as it is, and among more nothing is looked for.
MOST_FACTORS = 16


def opened(v: Any, divisions: bool = True, fits: Any = None) -> tuple[list[Any], list[Any]]:
    """The factors of `v` above and below the line, also those of its factors, which other expressions may use too.

    Parameters
    ----------
    v : TensorVariable
        What is taken apart: products, squares, negatives and quotients.
    divisions : bool, optional
        Whether quotients are, too.
    fits : callable, optional
        Says of a variable that would be taken apart whether it is.
    """
    top: list[Any] = []
    bottom: list[Any] = []
    todo, opens = [(v, True)], _OPENED if divisions else _OPENED[:3]
    while todo:
        v, above = todo.pop()
        node, kind = v.owner, kind_of(v)
        # The product of integers may have wrapped around.
        whole = kind not in opens or v.type.dtype not in T.float_dtypes or len(top) + len(bottom) >= MOST_FACTORS
        if whole or (fits is not None and not fits(v)):
            (top if above else bottom).append(v)
        elif kind is _NEG:
            todo += [(node.inputs[0], above), (_minus_one(v), True)]
        elif kind is _MUL or kind is _SQR:
            todo += [(i, above) for i in reversed(node.inputs)] * (2 if kind is _SQR else 1)
        else:
            todo += [(node.inputs[-1], not above), *((i, above) for i in node.inputs[:-1])]
    return top, bottom


def _minus_one(like: Any) -> Any:
    return T.constant(np.asarray(-1, dtype=like.type.dtype))


def quotient(top: Sequence[Any], bottom: Sequence[Any], dtype: str) -> Any:
    """The product of `top` over the product of `bottom`, which are computed in `dtype`."""
    above = product_of([T.cast(f, dtype) for f in top])
    below = product_of([T.cast(f, dtype) for f in bottom])
    if above is None:
        above = T.constant(np.asarray(1, dtype=dtype))
    return above if below is None else T.true_div(above, below)


def scaled(k: Any, u: Any, dtype: str) -> Any:
    """``k * u`` in `dtype`, with the constants of `u`."""
    k, u = float(k), T.cast(u, dtype)
    node = u.owner
    if is_elemwise(node, T.neg):
        return scaled(-k, node.inputs[0], dtype)
    if is_elemwise(node, T.mul):
        rest = [i for i in node.inputs if as_scalar_constant(i) is None]
        if len(rest) == len(node.inputs) - 1:
            product = product_of(rest)
            if product.type == u.type:
                (constant,) = (i for i in node.inputs if i not in rest)
                u, k = product, k * float(as_scalar_constant(constant))
    return u if k == 1 else T.neg(u) if k == -1 else T.mul(np.asarray(k, dtype=dtype), u)


def is_bounded(x: Any, op: Any) -> bool:
    """Whether `x` is the minimum or maximum, as `op` is, with a constant: what rules give to a function in a branch."""
    return is_elemwise(x.owner, op) and any(as_scalar_constant(i) is not None for i in x.owner.inputs)


def repeated_constant(v: Any) -> Any:
    """The number that `v` is, or repeats, as `as_scalar_constant` returns it."""
    node = v.owner
    return as_scalar_constant(node.inputs[0] if node is not None and isinstance(node.op, T.Alloc) else v)


def split_constants(factors: Sequence[Any], repeated: bool = False) -> tuple[float, list[Any]]:
    """The product of the constants among `factors` that are single numbers, or one number `repeated`, and the other factors."""
    value, rest = 1.0, []
    for f in factors:
        constant = repeated_constant(f) if repeated or all(f.type.broadcastable) else None
        if constant is None:
            rest.append(f)
        else:
            value *= float(constant)
    return value, rest


def with_number(value: float, factors: Sequence[Any], dtype: str) -> list[Any]:
    """`factors`, and a number; one that rounding has made differ from a multiple of 1/8 is that one."""
    whole = np.round(8 * value) / 8
    if abs(value - whole) <= 2 * np.finfo(dtype).eps * abs(value):
        value = float(whole)
    return [*factors] if value == 1 else [T.constant(np.asarray(value, dtype=dtype)), *factors]


def product_of(factors: Sequence[Any]) -> Any:
    """Return the product of `factors`; None if there is none.

    Parameters
    ----------
    factors : sequence of TensorVariable
        What to multiply.

    Returns
    -------
    TensorVariable or None
        A single factor as it is.

    Examples
    --------
    >>> product_of([T.constant(2.0), T.constant(3.0)]).eval()
    array(6., dtype=float32)
    """
    return None if not factors else factors[0] if len(factors) == 1 else T.mul(*factors)


def sum_of(terms: Sequence[Any]) -> Any:
    """Return the sum of `terms`, as `product_of` does the product of factors.

    Parameters
    ----------
    terms : sequence of TensorVariable
        What to add.

    Examples
    --------
    >>> sum_of([T.constant(2.0), T.constant(3.0)]).eval()
    array(5., dtype=float32)
    """
    return None if not terms else terms[0] if len(terms) == 1 else T.add(*terms)


def changed(op: Any, **properties: Any) -> Any:
    """Return an Op like `op` but for these properties.

    Parameters
    ----------
    op : Op
        One with `__props__`.
    **properties
        Some of them, by name.

    Returns
    -------
    Op
        One of the same class.

    Examples
    --------
    >>> from theano.tensor.elemwise import Sum
    >>> changed(Sum(axis=(0,)), axis=(1,)).axis
    (1,)
    """
    return type(op)(**{**op._props_dict(), **properties})


def same_expression(a: Any, b: Any, depth: int = 6) -> bool:
    """Whether two small expressions are the same computation, merged or not."""
    if a is b:
        return True
    na, nb = a.owner, b.owner
    if na is None or nb is None:
        return isinstance(a, Constant) and isinstance(b, Constant) and a.equals(b)
    return (
        depth > 0
        and na.op == nb.op
        and len(na.inputs) == len(nb.inputs)
        and na.outputs.index(a) == nb.outputs.index(b)
        and all(same_expression(x, y, depth - 1) for x, y in zip(na.inputs, nb.inputs, strict=True))
    )


def compared(a: Iterable[Any], b: Iterable[Any], same: Any = same_expression) -> tuple[list[Any], list[Any], list[Any]]:
    """What only `a` has, what only `b` has, and what both have, each as often as it is there."""
    own, rest, common = [], list(b), []
    for v in a:
        k = next((k for k, other in enumerate(rest) if same(v, other)), None)
        (own if k is None else common).append(v)
        if k is not None:
            del rest[k]
    return own, rest, common


def same_dimension(a: Any, b: Any) -> bool:
    """Whether two symbolic dimensions are certainly equal.

    Parameters
    ----------
    a, b : scalar
        The lengths.

    Examples
    --------
    >>> x, y = T.dvectors("x", "y")
    >>> same_dimension(x.shape[0], x.shape[0]), same_dimension(x.shape[0], y.shape[0])
    (True, False)
    """
    if a is b:
        return True
    if isinstance(a, Constant) or isinstance(b, Constant):
        return isinstance(a, Constant) and isinstance(b, Constant) and bool(a.data == b.data)
    # So deep are the sums and products of Shape_i that infer_shape returns most of the time.
    return same_expression(a, b, 2)


def lengths_of(node: Any, x: Any) -> Any:
    """Return the symbolic dimensions of `x`, if the graph of `node` knows them, else None.

    Parameters
    ----------
    node : Apply
        A node of a graph.
    x : TensorVariable
        Any tensor.

    Examples
    --------
    >>> from theano.gof import FunctionGraph
    >>> from theano.tensor.opt import ShapeFeature
    >>> fgraph = FunctionGraph([x := T.dvector("x")], [y := T.exp(x)], clone=False, features=[ShapeFeature()])
    >>> lengths_of(y.owner, y), lengths_of(T.exp(x).owner, x)
    ((Shape_i{0}.0,), None)
    """
    feature = getattr(getattr(node, "fgraph", None), "shape_feature", None)
    return None if feature is None else feature.shape(x)


def constant_like(value: Any, like: Any) -> Any:
    """Return a constant `value` of the dtype of `like`, with as many broadcastable dimensions.

    Parameters
    ----------
    value : number
        The number.
    like : TensorVariable
        Any tensor.

    Examples
    --------
    >>> constant_like(2, T.fmatrix()).data
    array([[2.]], dtype=float32)
    """
    return constant_of(np.asarray(value).astype(like.type.dtype).reshape((1,) * like.type.ndim))


#: The constants of `constant_of` that no graph takes as its own: with them all of a graph would stay.
_constants = Bounded(1000)


def constant_of(data: np.ndarray) -> Any:
    """Return a constant of `data`, of one element: rewrites need the same few again and again.

    Parameters
    ----------
    data : np.ndarray
        Of any rank.

    Examples
    --------
    >>> constant_of(np.asarray(2.5)) is constant_of(np.asarray(2.5))
    True
    """
    key = (data.dtype, data.ndim, data.tobytes())
    found = _constants.get(key)
    if found is None or found.name is not None:
        found = T.constant(data)
        if getattr(found, "cached", False):
            _constants.keep(key, found)
    return found


def same_dtype(new: Any, old: Any) -> Any:
    """Return `new` cast to the dtype of `old` if it has another.

    Parameters
    ----------
    new, old : TensorVariable
        Any tensors.

    Examples
    --------
    >>> same_dtype(T.lvector("n"), T.fvector("x")).dtype
    'float32'
    """
    return T.cast(new, old.type.dtype)


def replacement(node: Any, new: Any, shape_from: Any = None) -> Any:
    """Return what a local optimizer returns to put `new` in the place of the output of `node`; False if that is impossible.

    Parameters
    ----------
    node : Apply
        The node.
    new : TensorVariable
        It is cast to the dtype of the output, and where it is narrower filled to the shape of an elementwise result.
    shape_from : Variable, optional
        What has that shape, by default the inputs of `node`.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> replacement((x * 0).owner, T.constant(0))[0].eval({x: [1.0, 2.0]})
    array([0., 0.])
    """
    out = node.outputs[0]
    new = T.cast(new, out.type.dtype)
    if new.type.broadcastable != out.type.broadcastable and (shape_from is not None or isinstance(node.op, Elemwise)):
        new = fill_chain(new, node.inputs if shape_from is None else shape_from)[0]
    return exact_replacement(node, new)


def exact_replacement(node: Any, new: Any, index: int = 0) -> Any:
    """Return what a local optimizer returns to put `new`, of the same type, in the place of an output of `node`, else False.

    Parameters
    ----------
    node : Apply
        What is replaced.
    new : TensorVariable
        What takes the place of its output; it gets its stack trace.
    index : int
        Which output.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> exact_replacement((x + 0).owner, x), exact_replacement((x * 0).owner, T.constant(0.0))
    ([x], False)
    """
    out = node.outputs[index]
    if new.type != out.type:
        return False
    if new.owner is not None or isinstance(new, Constant):
        copy_stack_trace(out, new)
    return [new]


def fill_chain(new_out: Any, orig_inputs: Iterable[Any]) -> list[Any]:
    """Return a list of `new_out`, filled in the shape of the broadcast of `orig_inputs`.

    Inputs that are broadcastable wherever `new_out` is not say nothing and are left out.

    Parameters
    ----------
    new_out : TensorVariable
        What is filled in.
    orig_inputs : iterable of TensorVariable
        What has the shape.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> fill_chain(T.constant(1.0), [x])[0].eval({x: [5.0, 6.0]}).tolist()
    [1.0, 1.0]
    """
    for i in orig_inputs:
        if i.type.ndim and not encompasses_broadcastable(new_out.type.broadcastable, i.type.broadcastable):
            new_out = T.fill(i, new_out)
    return [new_out]


def encompasses_broadcastable(b1: Sequence[bool], b2: Sequence[bool]) -> bool:
    """Whether a tensor of pattern `b2` broadcasts to the shape of one of pattern `b1`, and not the opposite.

    Parameters
    ----------
    b1, b2 : sequence of bool
        Broadcast patterns; the shorter one is extended on the left.

    Examples
    --------
    >>> encompasses_broadcastable((False, False), (True,)), encompasses_broadcastable((True,), (False,))
    (True, False)
    """
    if len(b1) < len(b2):
        return False
    tail = b1[-len(b2) :] if b2 else ()
    return not any(v1 and not v2 for v1, v2 in zip(tail, b2, strict=True))


def broadcast_like(value: Any, template: Any, fgraph: Any, dtype: str | None = None) -> Any:
    """Return `value` broadcast to the shape of `template`.

    Parameters
    ----------
    value : tensor_like
        What to broadcast; cast if needed.
    template : Variable
        A variable of `fgraph`.
    fgraph : FunctionGraph
        The graph; its `shape_feature` gives the shape if there is one.
    dtype : str, optional
        The dtype of the result, by default that of `template`.

    Examples
    --------
    >>> from theano.gof import FunctionGraph
    >>> x = T.dvector("x")
    >>> broadcast_like(7, x, FunctionGraph([x], [x], clone=False)).eval({x: [1.0, 2.0]})
    array([7., 7.])
    """
    value = T.cast(value, template.dtype if dtype is None else dtype)
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
    """Return the values of the scalar constants in a list, the variables that they are, and the other variables.

    Parameters
    ----------
    inputs : list of TensorVariable
        What is partitioned.
    elemwise, only_process_constants : bool, optional
        As for :func:`get_scalar_constant_value`.

    Examples
    --------
    >>> scalarconsts_rest([T.dscalar("x"), T.constant(2)])
    ([array(2, dtype=int8)], [TensorConstant{2}], [x])
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
