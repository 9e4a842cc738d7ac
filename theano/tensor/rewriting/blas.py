"""Matrix products become BLAS calls: Dot22, Gemm, Gemv, Ger, Dot22Scalar."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from theano.gof.fg import InconsistencyError
from theano.gof.opt import EquilibriumOptimizer, Optimizer, copy_stack_trace, in2out, local_optimizer
from theano.gof.optdb import SequenceDB
from theano.gof.rewriting.profiles import Overhead, Profile
from theano.gof.rewriting.stages import optdb
from theano.gof.toolbox import ReplacementDidntRemovedError
from theano.gof.traverse import view_roots
from theano.tensor import basic as T
from theano.tensor.blas import (
    Dot22,
    _as_scalar,
    _dot22,
    _dot22scalar,
    _is_real_matrix,
    _is_real_vector,
    gemm_inplace,
    gemm_no_inplace,
    gemv_inplace,
    gemv_no_inplace,
    ger,
    ger_destructive,
)
from theano.tensor.elemwise import DimShuffle, Elemwise
from theano.tensor.rewriting.elemwise import local_dimshuffle_lift
from theano.tensor.rewriting.terms import as_scalar_constant, exact_replacement, is_elemwise, lengths_of, product_of, sum_of

_BLAS = ("float16", "float32", "float64", "complex64", "complex128")
_BLAS_BY_VECTOR = _BLAS[1:]


def _length(node: Any, x: Any, i: int) -> Any:
    """Dimension `i` of `x`, as the graph of `node` knows it."""
    lengths = lengths_of(node, x)
    return x.shape[i] if lengths is None else lengths[i]


@local_optimizer([T.Dot])
def local_dot_to_dot22(node: Any) -> Any:
    """``dot(matrix, matrix) -> Dot22(matrix, matrix)``, and vectors as matrices of one row or column

    For two operands of one floating-point dtype.
    """
    x, y = node.inputs
    if x.type.dtype != y.type.dtype or x.type.dtype not in _BLAS or not {x.ndim, y.ndim} <= {1, 2}:
        return False
    kept = [axis for axis, v in enumerate(node.inputs) if v.ndim == 2]
    new = _dot22(x if x.ndim == 2 else x.dimshuffle("x", 0), y if y.ndim == 2 else y.dimshuffle(0, "x"))
    return exact_replacement(node, new if kept == [0, 1] else new.dimshuffle(*kept))


class _Term(NamedTuple):
    """``factor * matrix`` in a sum: the scalars (variables and one number) are kept apart from the matrix.

    `uses` tells how often the sum had the matrix, before terms of one matrix became one.
    """

    number: float
    scalars: list[Any]
    matrix: Any
    uses: int = 1

    def factor(self, dtype: str) -> Any:
        """The factor as a 0-d variable of `dtype`; None if that would lose precision."""
        scalars, others = _split_scalars(self.scalars, dtype)
        if others:
            return None
        number, product = T.constant(np.asarray(self.number, dtype=dtype)), product_of(scalars)
        if product is None:
            return number
        return product if self.number == 1 else T.neg(product) if self.number == -1 else number * product


def _product_of(v: Any, uses: int = 1) -> Any:
    """The Dot22 Apply that computes `v`, if it is not used more than so many times."""
    node = v.owner
    if node is None or not isinstance(node.op, Dot22) or len(getattr(v, "clients", ())) > uses:
        return None
    return node


def _merged(terms: list[_Term], dtype: str) -> list[_Term]:
    """Terms of one matrix become one: ``a * x + b * x -> (a + b) * x``."""
    groups: dict[int, list[_Term]] = {}
    for t in terms:
        groups.setdefault(id(t.matrix), []).append(t)
    result: list[_Term] = []
    for group in groups.values():
        first = group[0]
        if len(group) == 1:
            result += group
        elif all(t.scalars == first.scalars for t in group):
            number = sum(t.number for t in group)
            # Nothing times an infinity is NaN.
            result += [_Term(number, first.scalars, first.matrix, len(group))] if number else group
        else:
            factors = [t.factor(dtype) for t in group]
            known = all(f is not None for f in factors)
            result += [_Term(1.0, [T.add(*factors)], first.matrix, len(group))] if known else group
    return result


def _terms(root: Any) -> list[_Term]:
    """`root` as a sum of scaled matrices: only additions, subtractions, negations and scalings used once are opened."""
    result: list[_Term] = []
    stack: list[tuple[Any, float, list[Any], bool]] = [(root, 1.0, [], True)]
    while stack:
        var, number, scalars, top = stack.pop()
        is_open = top or (len(var.clients) == 1 and var.type == root.type)
        parts = _parts(var, number, scalars) if is_open and var.owner is not None and len(result) + len(stack) <= 64 else None
        if parts is None:
            result.append(_Term(number, scalars, var))
        else:
            stack.extend((*part, False) for part in reversed(parts))
    return _merged(result, root.type.dtype)


def _parts(var: Any, number: float, scalars: list[Any]) -> list[tuple[Any, float, list[Any]]] | None:
    """The terms of `var`, which is multiplied with a number and with scalars; None if it has none."""
    op, inputs = var.owner.op, var.owner.inputs
    if (op == T.add or op == T.sub) and all(i.type.dtype == var.type.dtype for i in inputs):
        return [(i, -number if k and op == T.sub else number, scalars) for k, i in enumerate(inputs)]
    if op == T.neg:
        return [(inputs[0], -number, scalars)]
    if op == T.mul:
        matrices = [i for i in inputs if not all(i.type.broadcastable)]
        if len(matrices) != 1 or matrices[0].type != var.type:
            return None
        rest = list(scalars)
        for i in inputs:
            constant = as_scalar_constant(i)
            if constant is not None and i is not matrices[0]:
                number = number * constant.item()
            elif i is not matrices[0]:
                rest.append(i)
        return [(matrices[0], number, rest)]
    if op == T.true_div and all(inputs[1].type.broadcastable) and inputs[0].type == var.type:
        constant = as_scalar_constant(inputs[1])
        return [(inputs[0], number / constant.item(), scalars)] if constant is not None and constant != 0 else None
    return None


def _matrices_of(term: _Term, out: Any) -> Any:
    """``(A, B)`` if the matrix of a term is ``dot(A, B)``, as a Dot22 of the type of the sum `out`: so is Gemm's accumulator."""
    product = _product_of(term.matrix, term.uses) if term.matrix.type == out.type else None
    return None if product is None else product.inputs


def _matrix_and_vector_of(term: _Term, out: Any) -> Any:
    """``(A, x)`` if the vector of a term is ``dot(A, x)`` as a Dot22 with one column or row, and nothing else uses it."""
    v = term.matrix
    node = v.owner
    if node is None or not isinstance(node.op, DimShuffle) or len(v.clients) != 1:
        return None
    product = _product_of(node.inputs[0])
    if product is None:
        return None
    x, y = product.inputs
    if tuple(node.op.new_order) == (0,) and y.type.broadcastable[1] and not x.type.broadcastable[0]:
        return x, y.dimshuffle(0)
    if tuple(node.op.new_order) == (1,) and x.type.broadcastable[0] and not y.type.broadcastable[1]:
        return y.T, x.dimshuffle(1)
    return None


_SUMS = frozenset((T.add, T.sub, T.neg, T.mul))

_USES = 8
"""How often one product can stand in a sum."""


def _sums_of_products(fgraph: Any) -> set[Any]:
    """The nodes that add, subtract, negate or scale what a Dot22 gives, as far as nothing else uses what is between."""
    found: set[Any] = set()
    seen: set[Any] = set()
    for node in fgraph.apply_nodes:
        if not isinstance(node.op, Dot22) or len(node.outputs[0].clients) > _USES:
            continue
        for user, _ in node.outputs[0].clients:
            while user != "output" and user not in seen:
                if isinstance(user.op, Elemwise):
                    if user.op in _SUMS:
                        found.add(user)
                    elif user.op != T.true_div:
                        break
                elif not isinstance(user.op, DimShuffle):
                    break
                seen.add(user)
                if len(user.outputs[0].clients) != 1:
                    break
                user = user.outputs[0].clients[0][0]
    return found


class GemmProfile(Profile):
    """What a `GemmOptimizer` did, as it is printed.

    Parameters
    ----------
    title : str
        What is printed first.
    nb_iter, nb_replacement, nb_replacement_didn_t_remove, nb_inconsistency_make, nb_inconsistency_replace : int
        How many rounds there were, replacements, and replacements that were given up.
    time_canonicalize, time_factor_can, time_factor_list, time_toposort, validate_time, callback_time : float
        Seconds.

    Examples
    --------
    >>> from theano.gof import FunctionGraph
    >>> x, y, z = T.dmatrices("x", "y", "z")
    >>> GemmOptimizer().optimize(FunctionGraph([x, y, z], [z + _dot22(x, y)])).nb_replacement
    1
    """

    nb_iter: int = 0
    nb_replacement: int = 0
    nb_replacement_didn_t_remove: int = 0
    nb_inconsistency_make: int = 0
    nb_inconsistency_replace: int = 0
    time_canonicalize: float = 0.0
    time_factor_can: float = 0.0
    time_factor_list: float = 0.0
    time_toposort: float = 0.0
    validate_time: float | None = None
    callback_time: float = 0.0


class GemmOptimizer(Optimizer):
    """``beta * Z + alpha * dot(A, B) -> Gemm(Z, alpha, A, B, beta)``, and of vectors ``Gemv(z, alpha, A, x, beta)``

    Also with signs, several products (which become a chain of Gemms), scalars in products and quotients, and
    other terms in the sum.

    See Also
    --------
    theano.tensor.blas.GemmRelated : Base of the matrix-matrix products.
    theano.tensor.blas.Gemm : ``b * z + a * dot(x, y)`` for matrices `x`, `y`, `z` and scalars `a`, `b`.

    Examples
    --------
    >>> from theano.gof import FunctionGraph
    >>> x, y, z = T.dmatrices("x", "y", "z")
    >>> fgraph = FunctionGraph([x, y, z], [z + _dot22(x, y)])
    >>> profile = GemmOptimizer().optimize(fgraph)
    >>> print(fgraph)
    [Gemm{no_inplace}(z, TensorConstant{1.0}, x, y, TensorConstant{1.0})]
    """

    def apply(self, fgraph: Any) -> Any:
        profile = GemmProfile("GemmOptimizer")
        before = Overhead.of(fgraph)
        clock = time.perf_counter
        start = clock()
        sums = _sums_of_products(fgraph)
        profile.time_canonicalize = clock() - start
        start = clock()
        nodes = [node for node in fgraph.toposort() if node in sums] if sums else []
        profile.time_toposort = clock() - start
        profile.nb_iter = int(bool(nodes))
        for node in reversed(nodes):
            if node not in fgraph.apply_nodes:
                continue
            out = node.outputs[0]
            if _is_real_matrix(out):
                operation, operands_of = gemm_no_inplace, _matrices_of
            elif _is_real_vector(out) and out.type.dtype != "float16":
                operation, operands_of = gemv_no_inplace, _matrix_and_vector_of
            else:
                continue
            start = clock()
            terms = _terms(out)
            profile.time_factor_can += clock() - start
            start = clock()
            new = _chained(out, terms, operation, operands_of) if len(terms) > 1 else None
            profile.time_factor_list += clock() - start
            if new is None:
                continue
            if new.type != out.type:
                profile.nb_inconsistency_make += 1
                continue
            copy_stack_trace(out, new)
            try:
                fgraph.replace_all_validate_remove([(out, new)], [node], reason="GemmOptimizer", warn=False)
                profile.nb_replacement += 1
            except ReplacementDidntRemovedError:
                profile.nb_replacement_didn_t_remove += 1
            except InconsistencyError:
                profile.nb_inconsistency_replace += 1
        return before.entered_in(profile, fgraph)


def _chained(out: Any, terms: list[_Term], operation: Any, operands_of: Any) -> Any:
    """`out`, the sum of `terms`, as Gemms or Gemvs, or None if it has no product with something to add to."""
    dtype = out.type.dtype
    factors = [t.factor(dtype) for t in terms]
    products = [None if f is None else operands_of(t, out) for t, f in zip(terms, factors, strict=True)]
    found = [k for k, p in enumerate(products) if p is not None]
    others = [t for t, p in zip(terms, products, strict=True) if p is None]
    if not found or (others and all(t.matrix.type != out.type for t in others)):
        return None
    one: Any = T.constant(np.asarray(1, dtype=dtype))
    beta = one
    if not others:
        # The first product is what the others are added to.
        first = found.pop(0)
        z, beta = terms[first].matrix, factors[first]
    elif len(others) == 1 and others[0].factor(dtype) is not None:
        z, beta = others[0].matrix, others[0].factor(dtype)
    else:
        z = _rebuild(others)
    if z.type != out.type:
        return None
    for k in found:
        z = operation(z, factors[k], *products[k], beta)
        beta = one
    return z


def _rebuild(terms: list[_Term]) -> Any:
    """The sum of terms that are no products."""
    sides: tuple[list[Any], list[Any]] = ([], [])
    for t in terms:
        factors = [*t.scalars, t.matrix]
        if abs(t.number) != 1:
            number = np.asarray(abs(t.number), dtype=t.matrix.type.dtype)
            factors.insert(-1, T.constant(number.reshape((1,) * t.matrix.ndim)))
        sides[t.number < 0].append(product_of(factors))
    top, bottom = map(sum_of, sides)
    return T.neg(bottom) if top is None else top if bottom is None else T.sub(top, bottom)


def _split_scalars(factors: list[Any], dtype: str) -> tuple[list[Any], list[Any]]:
    """Those of the factors that are scalars, as 0-d variables of a dtype, and the others."""
    scalars = [_as_scalar(v, dtype) for v in factors]
    return [s for s in scalars if s is not None], [v for v, s in zip(factors, scalars, strict=True) if s is None]


@local_optimizer([T.mul], needs=[Dot22])
def local_dot22_to_dot22scalar(node: Any) -> Any:
    """``scalar * Dot22(x, y) -> Dot22Scalar(x, y, scalar)``, and of a scalar in another factor"""
    out = node.outputs[0]
    if out.type.ndim != 2:
        return False
    products = [i for i in node.inputs if _product_of(i) is not None]
    if len(products) != 1:
        return False
    (product,) = products
    scalars, rest = _split_scalars([i for i in node.inputs if i is not product], out.type.dtype)
    for k, factor in enumerate(rest):
        if scalars:
            break
        if is_elemwise(factor.owner, T.mul) and len(getattr(factor, "clients", ())) <= 1:
            found, left = _split_scalars(factor.owner.inputs, out.type.dtype)
            if left:
                scalars, rest[k] = found, product_of(left)
    if not scalars or product.type.dtype != out.type.dtype:
        return False
    new = _dot22scalar(*product.owner.inputs, product_of(scalars))
    return exact_replacement(node, product_of([new, *rest]))


@local_optimizer([gemm_no_inplace])
def local_gemm_to_ger(node: Any) -> Any:
    """``Gemm(z, a, column, row, 1) -> Ger(z, a, column, row)``"""
    z, a, x, y, b = node.inputs
    beta = as_scalar_constant(b)
    if not _is_outer(x, y) or beta is None or beta not in (0, 1):
        return False
    return exact_replacement(node, _outer(node, z if beta == 1 else None, a, x, y))


def _is_outer(x: Any, y: Any) -> bool:
    """Whether a column is multiplied with a row, of a dtype that BLAS has."""
    return x.broadcastable[1] and y.broadcastable[0] and x.dtype in _BLAS_BY_VECTOR


def _outer(node: Any, z: Any, a: Any, x: Any, y: Any) -> Any:
    """``z + a * dot(x, y)`` of a column and a row; without `z`, if that is None."""
    if z is None:
        z = T.zeros([_length(node, x, 0), _length(node, y, 1)], x.dtype)
    return ger(z, a, x.dimshuffle(0), y.dimshuffle(1))


@local_optimizer([gemm_no_inplace])
def local_gemm_to_gemv(node: Any) -> Any:
    """``Gemm(z, a, row, y, b) -> Gemv(z, a, y.T, row, b)`` and ``Gemm(z, a, x, column, b) -> Gemv(z, a, x, column, b)``"""
    z, a, x, y, b = node.inputs
    if z.broadcastable == x.broadcastable == (True, False):
        new = gemv_no_inplace(z.dimshuffle(1), a, y.T, x.dimshuffle(1), b).dimshuffle("x", 0)
    elif z.broadcastable == y.broadcastable == (False, True):
        new = gemv_no_inplace(z.dimshuffle(0), a, x, y.dimshuffle(0), b).dimshuffle(0, "x")
    else:
        return False
    return exact_replacement(node, new)


@local_optimizer([Dot22])
def local_dot22_to_ger_or_gemv(node: Any) -> Any:
    """``Dot22`` with a row or column ``-> Ger`` or ``Gemv``"""
    x, y = node.inputs
    if x.dtype not in _BLAS_BY_VECTOR:
        return False
    one, zero = (T.constant(np.asarray(n, dtype=x.dtype)) for n in (1, 0))

    def by_vector(matrix: Any, vector: Any, length: Any) -> Any:
        start = T.patternbroadcast(T.AllocEmpty(x.dtype)(length), (False,))
        return gemv_no_inplace(start, one, matrix, vector, zero)

    if _is_outer(x, y):
        new = _outer(node, None, one, x, y)
    elif y.broadcastable[1] and (x.broadcastable[0] or not x.broadcastable[1]):
        # The product of a row with a column is a Gemv of one row.
        new = by_vector(x, y.dimshuffle(0), _length(node, x, 0)).dimshuffle(0, "x")
    elif x.broadcastable[0] and not y.broadcastable[0]:
        new = by_vector(y.T, x.dimshuffle(1), _length(node, y, 1)).dimshuffle("x", 0)
    else:
        return False
    return exact_replacement(node, T.patternbroadcast(new, node.outputs[0].type.broadcastable))


def _fresh(v: Any) -> Any:
    """A new AllocEmpty or Alloc instead of `v`, if `v` is one that several nodes use: each may destroy its own."""
    owner = v.owner
    if owner is not None and isinstance(owner.op, T.AllocEmpty | T.Alloc) and len(v.clients) > 1:
        return owner.op(*owner.inputs)
    return v


_UPDATES_IN_PLACE = 16


def _updates_many(node: Any) -> bool:
    """Whether products are added to more than a few inputs of the graph.

    Inputs are destroyed last, when nothing can fail any more: until then the operands of all those products stay in
    memory. Of a deep network they are as large as all its activations, where a copy of the weights is small.
    """
    fgraph = getattr(node, "fgraph", None)
    if fgraph is None:
        return False
    many = getattr(fgraph, "_updates_many_by_gemm", None)
    if many is None:
        found = sum(node.op == gemm_no_inplace and node.inputs[0].owner is None for node in fgraph.apply_nodes)
        many = fgraph._updates_many_by_gemm = found > _UPDATES_IN_PLACE
    return many


def _in_place(name: str, op: Any, overwriting: Any) -> Any:
    def overwrite(node: Any) -> Any:
        """``op(z, x, y) -> op{inplace}(z, x, y)``, but Gemm of the weights of deep networks"""
        z, *rest = node.inputs
        if node.op != op or (op == gemm_no_inplace and z.owner is None and _updates_many(node)):
            return False
        roots = set(view_roots(z))
        if not all(roots.isdisjoint(view_roots(v)) for v in rest):
            return False
        return exact_replacement(node, overwriting(_fresh(z), *rest))

    overwrite.__name__ = overwrite.__qualname__ = name
    return local_optimizer([op], inplace=True)(overwrite)


local_inplace_gemm = _in_place("local_inplace_gemm", gemm_no_inplace, gemm_inplace)
local_inplace_gemv = _in_place("local_inplace_gemv", gemv_no_inplace, gemv_inplace)
local_inplace_ger = _in_place("local_inplace_ger", ger, ger_destructive)


blas_optdb = SequenceDB()
# After the canonicalization, which does not know these Ops, and before the specialization.
optdb.register("BlasOpt", blas_optdb, 1.7, "fast_run", "fast_compile")
blas_optdb.register("local_dot_to_dot22", in2out(local_dot_to_dot22), 0, "fast_run", "fast_compile", "dot22")
blas_optdb.register("gemm_optimizer", GemmOptimizer(), 10, "fast_run", "gemm", "GemmOptimizer")
blas_optdb.register("local_dot22_to_dot22scalar", in2out(local_dot22_to_dot22scalar), 11, "fast_run")
blas_optdb.register(
    "local_gemm_to_gemv",
    EquilibriumOptimizer(
        [local_gemm_to_gemv, local_gemm_to_ger, local_dot22_to_ger_or_gemv, local_dimshuffle_lift],
        max_use_ratio=5,
        ignore_newtrees=False,
    ),
    15,
    "fast_run",
)
blas_opt_inplace = in2out(local_inplace_gemm, local_inplace_gemv, local_inplace_ger, name="blas_opt_inplace")
optdb.register("InplaceBlasOpt", blas_opt_inplace, 70.0, "fast_run", "inplace", "blas_opt_inplace")
