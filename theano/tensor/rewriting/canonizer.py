"""Canonical forms of sums and products: ``(a + b) - (c + d)`` and ``(a * b) / (c * d)``.

Constants are collected into one, and what stands on both sides cancels.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property, reduce
from itertools import zip_longest
from math import fsum
from typing import Any, TextIO

import numpy as np

from theano.gof import extensions
from theano.gof.graph import Constant, Variable
from theano.gof.memo import ById
from theano.gof.opt import LocalOptimizer
from theano.gof.rewriting.local import NewInputs
from theano.scalar import upcast
from theano.tensor import basic as T
from theano.tensor.elemwise import DimShuffle, Elemwise
from theano.tensor.rewriting.registry import register_canonicalize
from theano.tensor.rewriting.terms import argument_of, as_scalar_constant, constant_of, replacement

# A tree of this many terms is not taken apart any further by the node above it: kernels with very many inputs do not
# get faster, and looking at all terms again whenever one changes would make the cost quadratic.
MAX_TERMS = 32


def _strip(v: Any) -> Any:
    """`v` without a DimShuffle that only adds broadcastable dimensions on the left."""
    node = v.owner
    if node is not None and type(node.op) is not Elemwise and isinstance(node.op, DimShuffle):
        x = node.inputs[0]
        order = node.op.new_order
        ndim = x.type.ndim
        if order[len(order) - ndim :] == tuple(range(ndim)) and all(o == "x" for o in order[: len(order) - ndim]):
            return x
    return v


def _with_keywords(calculate: Callable[..., Any]) -> Callable[..., Any]:
    """`calculate`, or what does for it with the keywords `aslist` and `out_type`."""
    parameters = inspect.signature(calculate).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()) or {"aslist", "out_type"} <= set(parameters):
        return calculate

    def calculated(num: Sequence[Any], denum: Sequence[Any], aslist: bool = False, out_type: Any = None) -> Any:
        if "aslist" in parameters:
            return calculate(num, denum, aslist=aslist)
        value = calculate(num, denum)
        if not aslist:
            return value
        return [] if np.all(value == calculate([], [])) else [value]

    return calculated


_MAIN, _INVERSE, _RECIPROCAL = 1, 2, 3


#: The fraction of the smallest constant that its sum with others may lose to rounding.
_KEPT = 1024

#: What `AlgebraicCanonizer._measure` found when it last looked at a node, where that is not the number of its inputs.
_terms_of = ById()


class AlgebraicCanonizer(LocalOptimizer):
    """Bring trees of `main`, `inverse` and `reciprocal` to one canonical form.

    Parameters
    ----------
    main : Op
        A commutative and associative Op with any number of inputs: add or mul.
    inverse : Op
        An Op such that ``inverse(main(x, y), y) == x``: sub or true_div.
    reciprocal : Op
        An Op such that ``main(x, reciprocal(y)) == inverse(x, y)``: neg or inv.
    calculate : callable
        Function that takes a list of arrays for the numerator and one for the denominator, and computes the constant. It may
        take the keywords `aslist`, with which it gives a list that is empty for the neutral element, and `out_type`.
    use_reciprocal : bool
        Whether an expression without numerator may become a reciprocal.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor.opt import Canonizer
    >>> add_canonizer = Canonizer(T.add, T.sub, T.neg, lambda n, d: sum(n) - sum(d))
    """

    def __init__(
        self,
        main: Any,
        inverse: Any,
        reciprocal: Any,
        calculate: Callable[..., Any],
        use_reciprocal: bool = True,
    ) -> None:
        self.main = main
        self.inverse = inverse
        self.reciprocal = reciprocal
        self.calculate = _with_keywords(calculate)
        self.use_reciprocal = use_reciprocal
        self.external_simplifiers: list[tuple[Callable[..., Any], str]] = []
        # The Ops of the factors below the line that the simplifiers look for; None: they look at anything.
        self._simplified: frozenset | None = frozenset()
        self._family = {main: _MAIN, inverse: _INVERSE, reciprocal: _RECIPROCAL}
        # Whether constants are added; they are multiplied where it is False, and None where it is neither.
        self._sums = True if main == T.add else False if main == T.mul else None
        # Hashing and comparing Ops is most of the work on nodes that stay as they are.
        self._roles = ById()

    def add_simplifier(self, simplifier: Callable[..., Any], reason: str, below: Sequence[Any] | None = None) -> None:
        """Have ``simplifier(num, denum) -> (num, denum)`` called before factors are cancelled.

        Where `below` is given, it changes nothing unless something in ``denum`` is computed by one of these Ops.
        """
        extensions.note()
        self.external_simplifiers.append((simplifier, reason))
        self._simplified = None if below is None or self._simplified is None else self._simplified.union(below)

    def tracks(self) -> list[Any]:
        return [self.main, self.inverse, self.reciprocal]

    def print_summary(self, stream: TextIO | None = None, level: int = 0, depth: int = -1) -> None:
        """Write a line with the class, the name under which it is registered, and the identity."""
        name = self.__dict__.get("name") or self.__dict__.get("__name__")
        label = f"{type(self).__name__} {name}" if name else type(self).__name__
        print(f"{' ' * level}{label} id={id(self)}", file=stream)

    def __str__(self) -> str:
        return getattr(self, "name", None) or f"AlgebraicCanonizer({self.main}, {self.inverse}, {self.reciprocal})"

    def _role(self, op: Any) -> int:
        """Which of the three `op` is, 0 if none."""
        return (self._roles.get(id(op)) or self._find_role(op))[0]

    def _find_role(self, op: Any) -> tuple:
        return self._roles.keep(op, self._family.get(op, 0))

    # Taking apart.

    def absorbed(self, node: Any) -> bool:
        """Whether `node` goes into the tree of the only node that uses it, so that nothing need be done to it."""
        out = node.outputs[0]
        return bool(self._role(node.op) and getattr(out, "clients", None)) and self._absorbed_into(out)

    def _absorbed_into(self, var: Any) -> bool:
        """Whether `var` is part of the tree of the only node that uses it."""
        clients = var.clients
        if len(clients) != 1:
            return False
        client = clients[0][0]
        dtype = var.type.dtype
        # Also where the client is none of the family as yet: it may become one.
        if self._measure(var.owner) >= MAX_TERMS:
            return False
        while type(client) is not str and type(client.op) is not Elemwise and isinstance(client.op, DimShuffle):
            out = client.outputs[0]
            if len(out.clients) != 1 or _strip(out) is out:
                return False
            client = out.clients[0][0]
        if type(client) is str or not (self._roles.get(id(client.op)) or self._find_role(client.op))[0]:
            return False
        return client.outputs[0].type.dtype == dtype

    def _measure(self, node: Any) -> int:
        """The number of terms in the tree of `node`, as far as nothing else uses its parts; remembered."""
        terms, roles = 0, self._roles
        for i in node.inputs:
            terms += 1
            below = i.owner
            if below is not None and type(below.op) is not Elemwise:
                i = _strip(i)
                below = i.owner
            if below is None or len(i.clients) != 1:
                continue
            if (roles.get(id(below.op)) or self._find_role(below.op))[0]:
                size = _terms_of[id(below)][0] if id(below) in _terms_of else len(below.inputs)
                terms += size - 1 if size < MAX_TERMS else 0
        if terms != len(node.inputs) or id(node) in _terms_of:
            _terms_of.keep(node, terms)
        return terms

    def _collect(self, root: Any, expand: Callable[[Any], bool]) -> tuple[list[Any], list[Any]]:
        """Numerator and denominator of `root`; `expand` says which variables below it to take apart."""
        num: list[Any] = []
        denum: list[Any] = []
        stack: list[tuple[Any, bool]] = [(root, True)]
        dtype = root.type.dtype
        first = True
        roles = self._roles
        while stack:
            var, positive = stack.pop()
            node = var.owner
            if node is None or type(node.op) is Elemwise:
                inner = var
            else:
                inner = _strip(var)
                node = inner.owner
            role = 0 if node is None else (roles.get(id(node.op)) or self._find_role(node.op))[0]
            if not role or inner.type.dtype != dtype or (not first and not expand(inner)):
                (num if positive else denum).append(inner)
                continue
            first = False
            if role == _MAIN:
                stack.extend([(i, positive) for i in reversed(node.inputs)])
            elif role == _INVERSE:
                stack.append((node.inputs[1], not positive))
                stack.append((node.inputs[0], positive))
            else:
                stack.append((node.inputs[0], not positive))
        return num, denum

    def get_num_denum(self, input: Any) -> tuple[list[Any], list[Any]]:
        """Lists such that `input` is ``inverse(main(*num), main(*denum))``.

        For mul, true_div and inv: ``x * y / z`` gives ``([x, y], [z])`` and ``a / (b / c)`` gives ``([a, c], [b])``.
        """
        return self._collect(input, lambda v: True)

    # Putting together.

    def merge_num_denum(self, num: Sequence[Any], denum: Sequence[Any]) -> Any:
        """The expression of `num` over `denum` with the fewest operations."""
        top, bottom = (None if not side else side[0] if len(side) == 1 else self.main(*side) for side in (num, denum))
        if top is None:
            if bottom is not None and self.use_reciprocal and bottom.type.dtype != "bool":
                return self.reciprocal(bottom)
            top = self.calculate([], [], aslist=False)
        return T.as_tensor_variable(top) if bottom is None else self.inverse(top, bottom)

    @staticmethod
    def get_constant(v: Any) -> Any:
        """The number that `v` is, or None if it is a variable or a constant of several values."""
        if isinstance(v, Variable):
            return as_scalar_constant(v)
        return v

    def _split(self, terms: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The terms that are no numbers, and the numbers that the others are."""
        rest, numbers = [], []
        for v in terms:
            number = self.get_constant(v)
            if number is None:
                rest.append(v)
            else:
                numbers.append(number)
        return rest, numbers

    def simplify(self, num: list[Any], denum: list[Any], out_type: Any) -> tuple[list[Any], list[Any]]:
        """`simplify_constants` of `simplify_factors`."""
        # Those that are registered with `below` look at nothing unless there is something below the line.
        if denum or self._simplified is None:
            for simplifier, _ in self.external_simplifiers:
                num, denum = simplifier(num, denum)
        return self.simplify_constants(*self.simplify_factors(num, denum), out_type=out_type)

    def simplify_factors(self, num: list[Any], denum: list[Any]) -> tuple[list[Any], list[Any]]:
        """Remove from both lists, which are changed, what stands in both."""
        if not denum:
            return num, denum
        present = Counter(num)
        for v in list(denum):
            if present.get(v):
                present[v] -= 1
                num.remove(v)
                denum.remove(v)
        return num, denum

    def simplify_constants(
        self, orig_num: Sequence[Any], orig_denum: Sequence[Any], out_type: Any = None
    ) -> tuple[list[Any], list[Any]]:
        """Put all constants together into one, first in the numerator; the neutral element is left out."""
        (num, numct), (denum, denumct) = map(self._split, (orig_num, orig_denum))
        if not numct and not denumct:
            return list(orig_num), list(orig_denum)
        one_number = num and len(numct) == 1 and not denumct and out_type is not None and self._sums is not None
        if one_number and getattr(numct[0], "dtype", None) == out_type.numpy_dtype:
            # There is nothing to compute.
            ct = [] if self._is_neutral(numct[0]) else numct
        elif self.use_reciprocal or num:
            ct = self.calculate(numct, denumct, aslist=True, out_type=out_type)
        else:
            # Without reciprocal a bare denominator needs the neutral element above it.
            ct = [self.calculate(numct, denumct, aslist=False, out_type=out_type)]
        # Of the rank of the result where that is known: no DimShuffle is needed then, only to be folded again.
        ndim, dtype = (0, None) if out_type is None else (out_type.ndim, out_type.dtype)
        if len(ct) == len(numct) == 1 and not denumct and (ct is numct or _same_value(np.asarray(numct[0]), np.asarray(ct[0]))):
            one = next(v for v, other in zip_longest(orig_num, num) if v is not other)
            if one is orig_num[0]:
                # The constant stands where it belongs: a new one would look like a change for ever.
                return list(orig_num), list(orig_denum)
            if isinstance(one, Constant) and one.type.broadcastable == (True,) * ndim and one.name is None:
                return [one, *num], denum
        made = [c if isinstance(c, Variable) else constant_of(np.asarray(c, dtype).reshape((1,) * ndim)) for c in ct]
        return made + num, denum

    def loses_constant(self, num: Sequence[Any], denum: Sequence[Any], dtype: str) -> bool:
        """Whether one constant in `dtype` instead of several is without a small summand, or has left the range of the dtype.

        ``1 - x + 1e-8`` is not ``1 - x`` where `x` is 1, although the sum of the constants is 1 in float32.
        """
        if self._sums is None or len(num) + len(denum) < 2 or not dtype.startswith("float"):
            return False
        if sum([v.owner is None or type(v.owner.op) is DimShuffle for v in (*num, *denum)]) < 2:
            return False
        top, bottom = ([float(c) for c in self._split(side)[1]] for side in (num, denum))
        values = [c for c in (*top, *bottom) if c and np.isfinite(c)]
        if len(values) < 2:
            return False
        if self._sums and sum(map(abs, values)) <= _KEPT and all(c.is_integer() for c in values):
            return False
        info = np.finfo(dtype)
        with np.errstate(all="ignore"):
            one = float(np.asarray(self.calculate(top, bottom, aslist=False)).astype(dtype))
            if not self._sums:
                inside = all(info.tiny <= abs(c) <= info.max for c in values)
                return inside and not info.tiny <= abs(one) <= info.max
            if not np.isfinite(one):
                return True
            lost = abs(fsum([*top, *(-c for c in bottom), -one]))
        return lost > min(map(abs, values)) / _KEPT

    # The rewrite.

    def transform(self, node: Any) -> Any:
        """``tree of main, inverse and reciprocal -> inverse(main(constant, ...), main(...))``

        Only at the top of the tree.
        """
        found = self._terms(node)
        return found is not None and self._built(node, *found)

    def change(self, node: Any) -> Any:
        """As `transform`; a sum or product of other terms stays the same node, and gets these as its inputs."""
        if type(self) is not AlgebraicCanonizer:
            # What a subclass does is for itself to say.
            return self.transform(node)
        found = self._terms(node)
        if found is None:
            return False
        num, denum = found
        kind, present = node.outputs[0].type, node.fgraph.variables
        stays = not denum and len(num) > 1 and self._role(node.op) == _MAIN and self._sums is not None
        if not stays or all(v.type.broadcastable != kind.broadcastable for v in num):
            return self._built(node, num, denum)
        for v in num:
            of_kind = v.type.dtype == kind.dtype and v.type.ndim == kind.ndim
            # What a simplifier makes may not fit into the graph.
            if not of_kind or (v not in present and not isinstance(v, Constant)):
                return self._built(node, num, denum)
        # As of a node that has just been made.
        _terms_of.pop(id(node), None)
        return NewInputs(num)

    def _terms(self, node: Any) -> tuple[list[Any], list[Any]] | None:
        """What the canonical form of `node` is built of, above and below the line; None if it is of that form."""
        role = (self._roles.get(id(node.op)) or self._find_role(node.op))[0]
        if not role:
            return None
        if role == _MAIN and node.op is not self.main:
            # An equal operation that a gradient made without a name: what is compiled shows the name.
            node.op = self.main
            if hasattr(node, "fgraph"):
                node.fgraph.forget_places()
        out = node.outputs[0]
        clients = getattr(out, "clients", None)
        if not clients or (len(clients) == 1 and self._absorbed_into(out)):
            return None
        if self._is_plainly_canonical(node, role):
            return None
        shared: list[Any] = []

        def single(v: Any) -> bool:
            if len(v.clients) == 1:
                # What has just been made is not measured yet.
                size = _terms_of[id(v.owner)][0] if id(v.owner) in _terms_of else len(v.owner.inputs)
                return size < MAX_TERMS
            shared.append(v)
            return False

        orig_num, orig_denum = self._collect(out, single)
        if self.loses_constant(orig_num, orig_denum, out.type.dtype):
            return None
        num, denum = self.simplify(list(orig_num), list(orig_denum), out.type)
        if shared and (orig_denum or any(v.owner.op != self.main for v in shared)):
            # Taking apart what others use too repeats work. It pays where terms cancel.
            budget = 4 * MAX_TERMS

            def within_budget(v: Any) -> bool:
                nonlocal budget
                budget -= len(v.owner.inputs)
                return budget > 0

            all_num, all_denum = self._collect(out, within_budget)
            if not self.loses_constant(all_num, all_denum, out.type.dtype):
                wide_num, wide_denum = self.simplify(all_num, all_denum, out_type=out.type)
                if len(wide_num) + len(wide_denum) < len(num) + len(denum):
                    num, denum = wide_num, wide_denum
        return None if self._is_built(out, num, denum) else (num, denum)

    def _built(self, node: Any, num: list[Any], denum: list[Any]) -> Any:
        """What `transform` returns for these terms."""
        dtype = node.outputs[0].type.dtype
        terms = {v.type.dtype for v in (*num, *denum)}
        if (denum or len(num) > 1) and dtype not in terms and upcast(*terms) != dtype:
            # What made the dtype wide has cancelled: the rest is computed in it all the same.
            num, denum = [T.cast(v, dtype) for v in num], [T.cast(v, dtype) for v in denum]
        if denum:
            num, denum = _in_dtype(num, dtype), _in_dtype(denum, dtype)
        return replacement(node, self.merge_num_denum(num, denum))

    def _is_plainly_canonical(self, node: Any, role: int) -> bool:
        """Whether a look at the inputs is enough to see that nothing changes; most nodes are like that."""
        roles, stripped = self._roles, []
        for given in node.inputs:
            inner, below = given, given.owner
            if below is not None and type(below.op) is not Elemwise:
                inner = _strip(given)
                below = inner.owner
            if below is not None and (inside := (roles.get(id(below.op)) or self._find_role(below.op))[0]):
                # What others use too stays whole, in a sum of sums and a product of products.
                if role != _MAIN or inside != _MAIN or len(inner.clients) < 2 or inner is not given:
                    return False
            elif below is None and stripped and role == _MAIN and isinstance(inner, Constant):
                return False
            stripped.append(inner)
        top = stripped[0]
        if role == _MAIN:
            if len(stripped) < 2:
                return False
            if not isinstance(top, Constant):
                return True
            if top.number is not None:
                return top.type.dtype == node.outputs[0].type.dtype and top.number != self._neutral
            value = self.get_constant(top)
            return value is None or (value.dtype == node.outputs[0].type.numpy_dtype and not self._is_neutral(value))
        if role == _RECIPROCAL:
            return not isinstance(top, Constant)
        bottom = stripped[1]
        if isinstance(bottom, Constant) or top is bottom:
            return False
        if bottom.owner is not None and (self._simplified is None or bottom.owner.op in self._simplified):
            return False
        return not isinstance(top, Constant) or not self._is_neutral(self.get_constant(top))

    @cached_property
    def _neutral(self) -> Any:
        """The neutral element, as a number of Python, which compares quicker."""
        return np.asarray(self.calculate([], [], aslist=False)).item()

    def _is_neutral(self, value: Any) -> bool:
        return value is not None and _all_are(value, self._neutral)

    def _is_built(self, out: Any, num: list[Any], denum: list[Any]) -> bool:
        """Whether `out` is what `merge_num_denum` would build."""
        node = out.owner
        role = self._role(node.op)
        n, d = len(num), len(denum)
        if d == 0:
            return n > 1 and role == _MAIN and self._same(node.inputs, num)
        if n == 0:
            if self.use_reciprocal:
                return role == _RECIPROCAL and self._is_part(node.inputs[0], denum)
            if role == _RECIPROCAL:
                return True
            neutral = self.get_constant(node.inputs[0]) if role == _INVERSE else None
            return neutral is not None and self._is_part(node.inputs[1], denum)
        return role == _INVERSE and self._is_part(node.inputs[0], num) and self._is_part(node.inputs[1], denum)

    def _is_part(self, v: Any, terms: list[Any]) -> bool:
        v = _strip(v)
        if len(terms) == 1:
            return v is terms[0] or self._equal(v, terms[0])
        return v.owner is not None and self._role(v.owner.op) == _MAIN and self._same(v.owner.inputs, terms)

    def _same(self, inputs: Sequence[Any], terms: Sequence[Any]) -> bool:
        return len(inputs) == len(terms) and all(
            _strip(i) is t or self._equal(_strip(i), t) for i, t in zip(inputs, terms, strict=True)
        )

    def _equal(self, a: Any, b: Any) -> bool:
        """Whether two constants have the same dtype and value."""
        if not isinstance(b, Constant) or a.type.dtype != b.type.dtype:
            return False
        x, y = self.get_constant(a), self.get_constant(b)
        return x is not None and y is not None and _same_value(np.asarray(x), np.asarray(y))


Canonizer = AlgebraicCanonizer


# Constants are almost always one number; NumPy's reductions take longer than all else that is done to one.


def _all_are(value: Any, number: Any) -> bool:
    """Whether all elements of `value` equal `number`."""
    return bool(value.item() == number if value.size == 1 else (value == number).all())


def _same_value(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether two arrays have the same dtype and elements, where NaN equals NaN."""
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    if x.size == 1:
        a, b = x.item(), y.item()
        return bool(a == b or (a != a and b != b))
    return bool(np.array_equal(x, y, equal_nan=x.dtype.kind in "fc"))


def mul_calculate(num: Sequence[Any], denum: Sequence[Any], aslist: bool = False, out_type: Any = None) -> Any:
    """Return the product of `num` over that of `denum`; with `aslist` in a list, which is empty for 1.

    Parameters
    ----------
    num, denum : list of array
        Values of constants.
    aslist : bool, optional
        Whether to return a list.
    out_type : TensorType
        Of what the result is to be part, for its dtype.

    Examples
    --------
    >>> float(mul_calculate([6.0], [4.0])), mul_calculate([2.0], [2.0], aslist=True)
    (1.5, [])
    """
    if not num and not denum:
        return [] if aslist else np.int8(1)
    dtype = out_type.dtype if out_type is not None else np.result_type(*[np.asarray(v).dtype for v in (*num, *denum)])
    if len(num) == 1 and not denum:
        value = np.asarray(num[0]).astype(dtype)
        return _listed(value, 1) if aslist else value
    one = np.asarray(1, dtype=dtype)
    # Dividing by a constant zero is the user's business and gives infinity, as it would at run time.
    with np.errstate(all="ignore"):
        value = reduce(np.multiply, num, one)
        if len(denum):
            value = np.true_divide(value, reduce(np.multiply, denum, one))
        value = np.asarray(value).astype(dtype)
    return _listed(value, 1) if aslist else value


def _listed(value: Any, neutral: int) -> list[Any]:
    return [] if _all_are(np.asarray(value), neutral) else [value]


def add_calculate(num: Sequence[Any], denum: Sequence[Any], aslist: bool = False, out_type: Any = None) -> Any:
    """Return the sum of `num` minus that of `denum`; with `aslist` in a list, which is empty for 0.

    Parameters
    ----------
    num, denum : list of array
        Values of constants.
    aslist : bool, optional
        Whether to return a list.
    out_type : TensorType
        Of what the result is to be part, for its dtype.

    Examples
    --------
    >>> float(add_calculate([2.0, 3.0], [1.0])), add_calculate([1.0], [1.0], aslist=True)
    (4.0, [])
    """
    zero: Any = 0.0 if out_type is None else np.asarray(0, dtype=out_type.dtype)
    with np.errstate(all="ignore"):
        if out_type is not None and out_type.dtype == "bool":
            value = reduce(np.logical_or, num, zero)
        else:
            value = reduce(np.add, num, zero)
            if len(denum):
                value = value - reduce(np.add, denum, zero)
        if out_type is not None:
            value = np.asarray(value).astype(out_type.dtype)
    return _listed(value, 0) if aslist else value


local_mul_canonizer = AlgebraicCanonizer(T.mul, T.true_div, T.inv, mul_calculate, False)
register_canonicalize(local_mul_canonizer, name="local_mul_canonizer")
local_add_canonizer = AlgebraicCanonizer(T.add, T.sub, T.neg, add_calculate)
register_canonicalize(local_add_canonizer, name="local_add_canonizer")


def _in_dtype(terms: list[Any], dtype: str) -> list[Any]:
    """`terms`, so that what is computed of them without the others has the dtype of all: integers would wrap around."""
    if len(terms) < 2 or upcast(*{v.type.dtype for v in terms}) == dtype:
        return terms
    return [T.cast(terms[0], dtype), *terms[1:]]


def check_for_x_over_absX(numerators: list[Any], denominators: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return the factors of a quotient, where ``x / abs(x)`` is made ``sign(x)``.

    Parameters
    ----------
    numerators, denominators : list of TensorVariable
        The factors; the lists are changed.

    Examples
    --------
    >>> x, y = T.dscalars("x", "y")
    >>> check_for_x_over_absX([x, y], [abs(x)])
    ([y, Elemwise{sgn,no_inplace}.0], [])
    """
    for den in list(denominators):
        x = argument_of(den, T.abs_)
        # The absolute value of the least integer is itself.
        if x in numerators and x.type.dtype in T.float_dtypes:
            denominators.remove(den)
            numerators.remove(x)
            numerators.append(T.sgn(x))
    return numerators, denominators


local_mul_canonizer.add_simplifier(check_for_x_over_absX, "X_over_absX", below=[T.abs_])
