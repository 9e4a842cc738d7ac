"""Products as trees, in which sigmoids and exponentials of opposite numbers are paired; `nnet.sigm` is the documented path.

A tree is a list of a bool, whether it is negated, and a variable or a list of trees, its factors. Rewrites of functions do
not use these: they are for programs that transform expressions themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from theano.tensor import basic as T
from theano.tensor.conversion import NotScalarConstantError, get_scalar_constant_value
from theano.tensor.nnet.sigm import sigmoid

__all__ = [
    "compute_mul",
    "is_1pexp",
    "is_exp",
    "is_mul",
    "is_neg",
    "parse_mul_tree",
    "partition_num_or_denom",
    "perform_sigm_times_exp",
    "register_local_1msigmoid",
    "replace_leaf",
    "simplify_mul",
]

#: Whether :func:`theano.tensor.nnet.rewriting.local_1msigmoid` is an option of the original's; here it always runs.
register_local_1msigmoid = False


def _arguments(variable: Any, op: Any) -> list[Any] | None:
    node = getattr(variable, "owner", None)
    return list(node.inputs) if node is not None and node.op == op else None


def _is_constant(variable: Any, number: float, only_process_constants: bool = True) -> bool:
    try:
        return bool(get_scalar_constant_value(variable, only_process_constants=only_process_constants) == number)
    except NotScalarConstantError:
        return False


def is_mul(var: Any) -> list[Any] | None:
    """Return the factors of a product, or None.

    Parameters
    ----------
    var : TensorVariable
        Any variable.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y = T.dscalars("x", "y")
    >>> is_mul(x * y), is_mul(x + y)
    ([x, y], None)
    """
    return _arguments(var, T.mul)


def is_neg(var: Any) -> Any:
    """Return `x` if `var` is ``-x``, or a product with a factor of -1, else None.

    Parameters
    ----------
    var : TensorVariable
        Any variable.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> is_neg(-x), is_neg(x * -1), is_neg(x)
    (x, x, None)
    """
    negated = _arguments(var, T.neg)
    if negated:
        return negated[0]
    factors = _arguments(var, T.mul) or []
    for i, factor in enumerate(factors):
        if len(factors) > 1 and _is_constant(factor, -1):
            rest = factors[:i] + factors[i + 1 :]
            return rest[0] if len(rest) == 1 else T.mul(*rest)
    return None


def is_exp(var: Any) -> tuple[bool, Any] | None:
    """Return whether `var` is negated, and `x`, if it is ``exp(x)`` or ``-exp(x)``, else None.

    Parameters
    ----------
    var : TensorVariable
        Any variable.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> is_exp(T.exp(x)), is_exp(-T.exp(x)), is_exp(x)
    ((False, x), (True, x), None)
    """
    inner = is_neg(var)
    argument = _arguments(var if inner is None else inner, T.exp)
    return None if argument is None else (inner is not None, argument[0])


def is_1pexp(t: Any, only_process_constants: bool = True) -> tuple[bool, Any] | None:
    """Return False and `x` if `t` is ``1 + exp(x)``, else None.

    Parameters
    ----------
    t : TensorVariable
        Any variable.
    only_process_constants : bool, optional
        Whether the 1 has to be a constant, or may be a graph that is known to be 1.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> is_1pexp(1 + T.exp(x)), is_1pexp(2 + T.exp(x))
    ((False, x), None)
    """
    terms = _arguments(t, T.add) or []
    for one, other in (terms, terms[::-1]) if len(terms) == 2 else ():
        found = is_exp(other)
        if found is not None and not found[0] and _is_constant(one, 1, only_process_constants):
            return found
    return None


def partition_num_or_denom(r: Any, f: Callable[[Any], tuple[bool, Any] | None]) -> tuple[list[Any], list[Any], bool]:
    """Divide the factors of `r` into those that `f` knows, by what it gives for them, and the rest.

    Parameters
    ----------
    r : TensorVariable
        The product.
    f : callable
        Returns whether its argument is negated, and something, or None.

    Returns
    -------
    list, list, bool
        What `f` gives, the rest, and whether an odd number of the first is negated.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y = T.dscalars("x", "y")
    >>> partition_num_or_denom(T.mul(T.exp(x), y, -T.exp(y)), is_exp)
    ([x, y], [y], True)
    """
    found, rest, negative = [], [], False
    for factor in is_mul(r) or [r]:
        known = f(factor)
        if known is None:
            rest.append(factor)
        else:
            negative ^= bool(known[0])
            found.append(known[1])
    return found, rest, negative


def parse_mul_tree(root: Any) -> list[Any]:
    """Return the tree of a product.

    Parameters
    ----------
    root : TensorVariable
        The product.

    Examples
    --------
    >>> from theano import tensor
    >>> x, y = tensor.vectors('x', 'y')
    >>> parse_mul_tree(-x * y)
    [False, [[True, x], [False, y]]]
    """
    factors = is_mul(root)
    if factors is not None:
        return [False, [parse_mul_tree(factor) for factor in factors]]
    inner = is_neg(root)
    if inner is None:
        return [False, root]
    tree = parse_mul_tree(inner)
    return [not tree[0], tree[1]]


def compute_mul(tree: Sequence[Any]) -> Any:
    """Return the variable that a tree stands for.

    Parameters
    ----------
    tree : list
        ``[negative, variable]`` or ``[negative, [trees of the factors]]``.

    Raises
    ------
    AssertionError
        If the tree has leaves that were removed.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x, y = T.dscalars("x", "y")
    >>> theano.pp(compute_mul([True, [[False, x], [False, y]]]))
    '(-(x * y))'
    """
    negative, inner = tree
    if inner is None:
        raise AssertionError("the tree has leaves that were removed: simplify_mul takes them out")
    value = T.mul(*map(compute_mul, inner)) if isinstance(inner, list) else inner
    return -value if negative else value


def simplify_mul(tree: Sequence[Any]) -> list[Any]:
    """Return a tree without the leaves that were removed, and without products of one factor; of none it is 1.

    Parameters
    ----------
    tree : list
        As :func:`parse_mul_tree` makes it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> simplify_mul([True, [[False, None], [True, x]]])
    [False, x]
    """
    negative, inner = _without_removed(tree)
    return [negative, 1.0 if inner is None else inner]


def _without_removed(tree: Sequence[Any]) -> list[Any]:
    negative, inner = tree
    if not isinstance(inner, list):
        return [negative, inner]
    kept = []
    for factor in map(_without_removed, inner):
        if factor[1] is None:
            negative = negative != factor[0]
        else:
            kept.append(factor)
    if len(kept) > 1:
        return [negative, kept]
    return [negative != kept[0][0], kept[0][1]] if kept else [negative, None]


def _opposite(a: Any, b: Any) -> bool:
    """Whether `a` is written as ``-b`` or the other way round."""
    return is_neg(a) is b or is_neg(b) is a


def replace_leaf(arg: Any, leaves: list[Any], new_leaves: list[Any], op: Callable[[Any], Any], neg: bool) -> bool:
    """Replace the first leaf of an argument opposite to `arg` by ``op`` of it.

    Parameters
    ----------
    arg : Variable
        The leaf.
    leaves : list of (Variable, leaf)
        Arguments and leaves; the one that is replaced is taken out.
    new_leaves : list of (Variable, leaf)
        Where it is put then, with its new argument.
    op : callable
        Of ``-argument`` it gives the new variable.
    neg : bool
        Whether the leaf is negated.

    Returns
    -------
    bool
        Whether there was one.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> leaf = [False, T.exp(-x)]
    >>> replace_leaf(x, [(-x, leaf)], [], T.nnet.sigmoid, False)
    True
    >>> leaf
    [False, sigmoid.0]
    """
    for i, (argument, leaf) in enumerate(leaves):
        if _opposite(argument, arg):
            new = op(arg)
            leaf[0] = leaf[0] != neg
            leaf[1] = new
            del leaves[i]
            new_leaves.append((new.owner.inputs[0], leaf))
            return True
    return False


def _replace_exponential(arg: Any, exponentials: list[Any], sigmoids: list[Any], neg: bool) -> bool:
    """The same for a leaf ``exp(x)`` and the sigmoid of `arg`, the opposite of `x`: it becomes the sigmoid of `x`."""
    for i, (argument, leaf) in enumerate(exponentials):
        if _opposite(argument, arg):
            leaf[0] = leaf[0] != neg
            leaf[1] = sigmoid(argument)
            del exponentials[i]
            sigmoids.append((argument, leaf))
            return True
    return False


def perform_sigm_times_exp(tree: list[Any]) -> bool:
    """Replace ``exp(x) * sigmoid(-x)`` by ``sigmoid(x)`` wherever both are factors of a tree.

    The one that comes first is replaced, the other removed; :func:`simplify_mul` takes it out.

    Parameters
    ----------
    tree : list
        It is changed.

    Returns
    -------
    bool
        Whether something was replaced.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> tree = parse_mul_tree(T.exp(x) * T.nnet.sigmoid(-x))
    >>> perform_sigm_times_exp(tree)
    True
    >>> theano.pp(compute_mul(simplify_mul(tree)))
    'sigmoid(x)'
    """
    exponentials: list[Any] = []
    sigmoids: list[Any] = []
    changed = False
    todo = [tree]
    while todo:
        leaf = todo.pop()
        if isinstance(leaf[1], list):
            todo.extend(reversed(leaf[1]))
            continue
        power, argument = _arguments(leaf[1], T.exp), _arguments(leaf[1], sigmoid)
        if (power and replace_leaf(power[0], sigmoids, sigmoids, sigmoid, leaf[0])) or (
            argument and _replace_exponential(argument[0], exponentials, sigmoids, leaf[0])
        ):
            leaf[0], leaf[1] = False, None
            changed = True
        elif power:
            exponentials.append((power[0], leaf))
        elif argument:
            sigmoids.append((argument[0], leaf))
    return changed
