"""Hints about matrices (symmetric, positive definite), the rewrites that use them, and a bound of eigenvalues."""

from __future__ import annotations

from typing import Any

from theano import scalar
from theano.gof.graph import Apply, Variable
from theano.gof.op import Op
from theano.gof.opt import Optimizer, copy_stack_trace, local_optimizer
from theano.gof.rewriting.stages import optdb
from theano.tensor import nlinalg
from theano.tensor.basic import diagonal, dot, prod
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.dimshuffle import DimShuffle
from theano.tensor.elemwise import Elemwise
from theano.tensor.nlinalg import (  # noqa: F401
    Det,
    Eig,
    Eigh,
    MatrixInverse,
    MatrixPinv,
    alloc_diag,
    det,
    diag,
    eig,
    eigh,
    extract_diag,
    matrix_dot,
    matrix_inverse,
    matrix_power,
    pinv,
    qr,
    svd,
    trace,
)
from theano.tensor.rewriting.registry import register_canonicalize, register_specialize, register_stabilize
from theano.tensor.slinalg import (  # noqa: F401
    Cholesky,
    CholeskyGrad,
    Eigvalsh,
    EigvalshGrad,
    Solve,
    cholesky,
    eigvalsh,
    kron,
    solve,
    solve_lower_triangular,
    solve_upper_triangular,
)


class Hint(Op):
    """Tell the rewrites something about a variable: its value is passed on as it is.

    Parameters
    ----------
    **kwargs
        What is known, such as ``symmetric=True``.

    Notes
    -----
    The canonical form of a graph has no such nodes: what they say moves to the graph's :class:`HintsFeature`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dmatrix("x")
    >>> known = Hint(symmetric=True)(x)
    >>> hints(known), known.eval({x: [[1.0, 2.0], [2.0, 1.0]]}).tolist()
    ({'symmetric': True}, [[1.0, 2.0], [2.0, 1.0]])
    """

    __props__ = ("hints",)
    view_map = {0: [0]}

    def __init__(self, **kwargs: Any) -> None:
        self.hints = tuple(sorted(kwargs.items()))

    def make_node(self, x: Any) -> Apply:
        x = as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        output_storage[0][0] = inputs[0]

    def grad(self, inputs: Any, grads: Any) -> list[Any]:
        return grads

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
        return eval_points

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return in_shapes


def is_hint_node(node: Any) -> bool:
    """Return whether a node is an application of :class:`Hint`.

    Parameters
    ----------
    node : Apply
        Any node.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dmatrix("x")
    >>> is_hint_node(hint(x, psd=True).owner), is_hint_node((x + x).owner)
    (True, False)
    """
    return isinstance(node.op, Hint)


def hint(x: Any, **kwargs: Any) -> Any:
    """Return `x` with hints attached to it; see :class:`Hint`.

    Parameters
    ----------
    x : TensorVariable
        Any variable.
    **kwargs
        What is true of it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> is_symmetric(hint(T.dmatrix("x"), symmetric=True))
    True
    """
    return Hint(**kwargs)(x)


def psd(v: Any) -> Any:
    """Return the matrix `v` with the hint that it is symmetric and positive semi-definite.

    Parameters
    ----------
    v : TensorVariable
        A matrix.

    Returns
    -------
    TensorVariable
        Its value is that of `v`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> is_psd(psd(T.matrix("m")))
    True
    """
    return hint(v, psd=True, symmetric=True)


class HintsFeature:
    """What is known of the variables of a FunctionGraph, by position: a variable's substitute takes over what is known.

    Attributes
    ----------
    hints : dict
        Maps variables to dictionaries of what is known of them.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dmatrix("x")
    >>> y = x + x
    >>> fgraph = theano.gof.FunctionGraph([x], [y], clone=False)
    >>> fgraph.attach_feature(HintsFeature())
    >>> fgraph.hints_feature.add_hint(y, "symmetric", True)
    >>> fgraph.replace(y, 2 * x)
    >>> hints(fgraph.outputs[0])
    {'symmetric': True}
    """

    def __init__(self) -> None:
        self.hints: dict[Variable, dict[str, Any]] = {}

    def add_hint(self, variable: Variable, key: str, value: Any) -> None:
        """Note something of a variable."""
        self.hints.setdefault(variable, {})[key] = value

    def on_attach(self, fgraph: Any) -> None:
        """Start with what the graph's :class:`Hint` nodes say."""
        from theano.gof.toolbox import AlreadyThere

        if hasattr(fgraph, "hints_feature"):
            raise AlreadyThere("HintsFeature is already present")
        fgraph.hints_feature = self
        for node in fgraph.toposort():
            self.on_import(fgraph, node, "on_attach")

    def on_detach(self, fgraph: Any) -> None:
        """Forget the graph."""
        del fgraph.hints_feature

    def on_import(self, fgraph: Any, node: Apply, reason: Any) -> None:
        """Note what a new node says, of its input and of its output."""
        if is_hint_node(node):
            for key, value in node.op.hints:
                self.add_hint(node.inputs[0], key, value)
                self.add_hint(node.outputs[0], key, value)

    def on_change_input(self, fgraph: Any, node: Any, i: Any, r: Variable, new_r: Variable, reason: Any) -> None:
        """Hand what is known of a variable to the one that takes its place."""
        for key, value in self.hints.get(r, {}).items():
            self.add_hint(new_r, key, value)


class HintsOptimizer(Optimizer):
    """Attaches a :class:`HintsFeature` to the graph.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dmatrix("x")
    >>> fgraph = theano.gof.FunctionGraph([x], [psd(x)], clone=False)
    >>> HintsOptimizer().optimize(fgraph)
    >>> hints(x)
    {'psd': True, 'symmetric': True}
    """

    def add_requirements(self, fgraph: Any) -> None:
        fgraph.attach_feature(HintsFeature())

    def apply(self, fgraph: Any) -> None:
        """Change nothing."""


optdb.register("HintsOpt", HintsOptimizer(), -1, "fast_run", "fast_compile")


def hints(variable: Any) -> dict[str, Any]:
    """Return what is known of a variable: by its tags, a :class:`Hint` that made it, and its graph's HintsFeature.

    Parameters
    ----------
    variable : Variable
        Any variable.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dmatrix("x")
    >>> x.tag.psd = True
    >>> hints(x), hints(hint(x, symmetric=True)), hints(T.exp(x))
    ({'psd': True}, {'symmetric': True}, {})
    """
    known: dict[str, Any] = {
        key: getattr(variable.tag, key) for key in ("psd", "symmetric") if getattr(variable.tag, key, None)
    }
    node = variable.owner
    if node is not None and is_hint_node(node):
        known.update(node.op.hints)
    feature = getattr(getattr(variable, "fgraph", None), "hints_feature", None)
    if feature is not None:
        known.update(feature.hints.get(variable, {}))
    return known


def is_psd(v: Any) -> bool:
    """Return whether `v` is known to be positive semi-definite.

    Parameters
    ----------
    v : Variable
        A matrix.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dmatrix("x")
    >>> is_psd(psd(x)), is_psd(x)
    (True, False)
    """
    return bool(hints(v).get("psd", False))


def is_symmetric(v: Any) -> bool:
    """Return whether `v` is known to be symmetric.

    Parameters
    ----------
    v : Variable
        A matrix.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dmatrix("x")
    >>> is_symmetric(psd(x)), is_symmetric(x)
    (True, False)
    """
    return bool(hints(v).get("symmetric", False))


def is_positive(v: Any) -> bool:
    """Return whether the elements of `v` are known not to be negative: it is a square, an absolute value or such.

    Parameters
    ----------
    v : Variable
        Any variable.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> is_positive(T.sqr(x)), is_positive(hint(x, positive=True)), is_positive(x)
    (True, True, False)
    """
    node = v.owner
    if node is not None and isinstance(node.op, Elemwise):
        if isinstance(node.op.scalar_op, (scalar.Sqr, scalar.Abs, scalar.Exp)):
            return True
    return bool(hints(v).get("positive", False))


@register_canonicalize
@local_optimizer([Hint])
def remove_hint_nodes(node: Any) -> Any:
    """``hint(x) -> x``; the graph's HintsFeature keeps what it said."""
    if not is_hint_node(node):
        return False
    feature = getattr(node.fgraph, "hints_feature", None)
    if feature is not None:
        for key, value in node.op.hints:
            feature.add_hint(node.inputs[0], key, value)
    return [node.inputs[0]]


def _transposed(variable: Any) -> Any:
    # What a variable is the matrix transpose of, or None.
    node = variable.owner
    if node is not None and isinstance(node.op, DimShuffle) and node.op.new_order == (1, 0):
        return node.inputs[0]
    return None


@register_canonicalize
@register_stabilize
@register_specialize
@local_optimizer([DimShuffle])
def no_transpose_symmetric(node: Any) -> Any:
    """``x.T -> x`` where `x` is known to be symmetric"""
    x = _transposed(node.outputs[0])
    if x is None or not is_symmetric(x) or x.type != node.outputs[0].type:
        return False
    return [x]


@register_canonicalize
@local_optimizer([DimShuffle])
def transinv_to_invtrans(node: Any) -> Any:
    """``matrix_inverse(x).T -> matrix_inverse(x.T)``"""
    inverse = _transposed(node.outputs[0])
    if inverse is None or inverse.owner is None or not isinstance(inverse.owner.op, MatrixInverse):
        return False
    (x,) = inverse.owner.inputs
    new = matrix_inverse(x.T)
    copy_stack_trace(node.outputs[0], new)
    return [new]


@register_stabilize
@register_specialize
@local_optimizer([Solve])
def psd_solve_with_chol(node: Any) -> Any:
    """``solve(a, b) -> solve_upper(c.T, solve_lower(c, b))``, where ``c = cholesky(a)`` and `a` is known to be psd"""
    if node.op.A_structure != "general":
        return False
    a, b = node.inputs
    if not is_psd(a):
        return False
    factor = cholesky(a)
    new = solve_upper_triangular(factor.T, solve_lower_triangular(factor, b))
    copy_stack_trace(node.outputs[0], [factor, new])
    return [new]


@register_stabilize
@local_optimizer([Solve])
def tag_solve_triangular(node: Any) -> Any:
    """``solve(cholesky(x), b) -> solve_triangular(cholesky(x), b)``, also of its transpose"""
    if node.op.A_structure != "general":
        return False
    a, b = node.inputs
    transposed = _transposed(a)
    factor = a if transposed is None else transposed
    if factor.owner is None or not isinstance(factor.owner.op, Cholesky):
        return False
    lower = factor.owner.op.lower != (transposed is not None)
    new = (solve_lower_triangular if lower else solve_upper_triangular)(a, b)
    copy_stack_trace(node.outputs[0], new)
    return [new]


@register_stabilize
@register_specialize
@local_optimizer([Det])
def local_det_chol(node: Any) -> Any:
    """``det(x) -> prod(diagonal(cholesky(x)) ** 2)`` where the graph has the factor anyway"""
    (x,) = node.inputs
    for client, _ in x.clients:
        if client != "output" and isinstance(client.op, Cholesky):
            new = prod(diagonal(client.outputs[0]) ** 2)
            if new.type != node.outputs[0].type:
                return False
            copy_stack_trace(node.outputs[0], new)
            return [new]
    return False


def spectral_radius_bound(X: Any, log2_exponent: int) -> Any:
    """Return an upper bound of the largest absolute eigenvalue of the symmetric matrix `X`.

    It is ``trace(X ** n) ** (1 / n)`` for ``n = 2 ** log2_exponent``: the sum of the n-th powers of all eigenvalues is not
    less than that of the largest one.

    Parameters
    ----------
    X : symmetric matrix
        Of shape (n, n).
    log2_exponent : int
        Greater than 0: how often the matrix is squared. The larger, the tighter; 5 is usually enough.

    Returns
    -------
    scalar

    Raises
    ------
    TypeError
        If `X` is no matrix or `log2_exponent` no integer.
    ValueError
        If `log2_exponent` is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> float(spectral_radius_bound(np.diag([3.0, -1.0, 2.0]), 5).eval()) >= 3
    True
    """
    X = as_tensor_variable(X)
    if X.type.ndim != 2:
        raise TypeError("spectral_radius_bound requires a matrix argument", X)
    if not isinstance(log2_exponent, int):
        raise TypeError("spectral_radius_bound requires an integer exponent", log2_exponent)
    if log2_exponent <= 0:
        raise ValueError("spectral_radius_bound requires a strictly positive exponent", log2_exponent)
    power = X
    for _ in range(log2_exponent):
        power = dot(power, power)
    return nlinalg.trace(power) ** (2.0**-log2_exponent)
