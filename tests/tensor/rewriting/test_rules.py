"""Each rule of the table of rewrites: instances of its pattern are made, it fires, keeps the value and the gradient, and leaves
near misses alone.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse

import theano
import theano.sparse.opt
import theano.tensor as T
import theano.tensor.nnet
import theano.tensor.nnet.opt  # noqa: F401
from theano.compile.ops import Shape_i, ViewOp
from theano.gof import FunctionGraph
from theano.gof.graph import Constant, clone_get_equiv
from theano.gof.opt import check_stack_trace
from theano.gof.rewriting.index import TrackIndex
from theano.gof.rewriting.match import Applied, Named, Number, Only, Part, Rest
from theano.gof.rewriting.rules import TABLE, Rule, names
from theano.tensor.rewriting.rules import P, _Constant, rule, z

VALUES = np.array([-3.1, -1.4, -0.62, -0.2, 0.13, 0.35, 0.7, 0.93, 1.6, 2.9])
INTEGERS = {"float32": "int32", "float64": "int64"}
#: What the constants of a pattern may be, tried in turn.
CONSTANTS = {0: [()], 1: [(2,), (-2,), (3,), (0.5,), (-1,), (1,), (0,)], 2: [(2, -2), (2, 3), (-1, 1), (3, 2)],
             3: [(2, -2, 3)], 4: [(-1.5, 2, -1, 1.5)]}  # fmt: skip
#: What they replace has lost half of its digits in float32: it is computed in float64 to compare with.
CANCELLING = {"local_log_1_minus_half_erfc"}
#: They are wanted by name, and approximate; or what they replace has no value yet.
APPROXIMATE = ("local_ultra_fast_sigmoid", "local_hard_sigmoid", "local_alloc_empty_to_zeros")

#: What the names of a rule stand for where not all are vectors: a sparse matrix in a format, a dense one, a vector, a 0-d array,
#: a scalar, integers, constant ones (k), another name; several for the rest of the inputs.
SPARSE: dict[str, list[dict[str, str]]] = {
    "local_stored_values": [{"x": "csr", "y": "v"}, {"x": "csr"}, {"x": "m", "y": "m", "z": "i3"},
                            *[{"x": "v", "y": "i3", "z": "i4", "w": "i2"}] * 2],
    "local_with_own_values": [{"x": "csr"}],
    "local_values_at": [{"x": "csr", "z": "x", "y": "v"}, {"x": "csr", "y": "m", "z": "m"}],
    "local_values_at_of_dense": [{"x": "csr", "y": "m"}] * 2,
    "local_sparse_transpose": [{"x": "csr"}, {"x": "csr", "y": "v"}],
    "local_mul_s_v": [{"x": "csr", "y": "v"}],
    "local_structured_add_s_v": [{"x": "csr", "y": "v"}],
    "local_scale": [{"x": "csc", "y": "v"}] * 2,
    "local_mul_s_d": [{"x": "csr", "y": "s"}, {"x": "csr", "y": "m"}],
    "local_structured_dot": [{"x": "csr", "y": "m"}],
    "local_dot_with_values": [{"x": "csr", "y": "v", "z": "m"}] * 2,
    "local_square_diagonal": [{"x": "v"}],
    "local_sampling_dot_csr": [{"x": "m", "y": "m", "z": "csr"}],
}  # fmt: skip
DENSE: dict[str, list[dict[str, str] | None]] = {
    "local_tensor_scalar_tensor": [{"x": "s"}],
    "local_scalar_tensor_scalar": [{"x": "scalar"}],
    "local_useless_dimshuffle": [{"x": "m"}],
    "local_useless_elemwise": [None] * 8 + [{"x": "flags"}, None],
    "local_dimshuffle_no_inplace_at_canonicalize": [{"x": "v"}],
    "local_max_to_min": [{"x": "m"}],
    "local_alloc_unary": [{"x": "v", "rest": "n3 n3"}],
    "local_alloc_empty_to_zeros": [{"rest": "n3 n3"}],
    "local_alloc_dimshuffle": [{"x": "v", "rest": "n3 n3"}],
    "local_dimshuffle_alloc": [{"x": "v", "rest": "n3 n3"}],
    "local_reshape_dimshuffle": [{"x": "m", "z": "i2"}],
    "local_useless_dimshuffle_in_reshape": [{"x": "m", "z": "i2"}],
    "local_reshape_chain": [{"x": "m", "y": "i2", "z": "i2"}],
    "local_reshape_lift": [{"x": "m", "z": "i2"}],
    "local_useless_rebroadcast": [{"x": "v"}],
    "local_rebroadcast_lift": [{"x": "row"}] * 2,
    "local_join_1": [{"x": "v", "y": "k0"}],
    "local_useless_split": [{"x": "v", "y": "k0", "z": "i1"}],
    "local_flatten_lift": [{"x": "m"}],
    "local_remove_all_assert": [{"x": "v", "rest": "n3"}],
    "local_merge_specify_shape": [{"x": "m", "y": "i2"}],
    "local_fill_to_alloc": [{"x": "m", "y": "s"}],
    "local_sum_prod_all_to_none": [{"x": "v"}] * 2,
    "local_cut_useless_reduce": [*[{"x": "v"}] * 4, *[{"x": "flags"}] * 2],
    "local_useless_reduce": [{"x": "flag"}] * 2,
    "local_sumsqr2dot": [{"x": "m", "y": "m"}],
    "local_incsubtensor_of_zeros": [
        {"x": "v", "y": "zero", "rest": ""}, {"x": "m", "y": "zero", "rest": "i3 i3"}, {"x": "v", "y": "zero", "rest": "i3"}],
    "local_incsubtensor_of_zeros_to_setsubtensor": [{"rest": "v"}],
    "local_adv_sub1_adv_inc_sub1": [{"x": "v", "y": "v", "z": "k3"}],
    "local_setsubtensor_of_itself": [{"x": "v", "rest": ""}],
    "local_shape_i_of_constant": [{"x": "k3"}],
    "local_log_of_indexed_softmax": [{"x": "m", "rest": "i3 i3"}, {"x": "m", "y": "v", "rest": "i3 i3"}],
}  # fmt: skip
GIVEN = {(name, i): kinds for name, each in (SPARSE | DENSE).items() for i, kinds in enumerate(each) if kinds is not None}
#: Sparse forms differ by their gradients, which are tested where they are defined; and what late rewrites make has none.
NO_GRADIENT = {*SPARSE, "local_max_to_min", "local_cut_useless_reduce"}
INTEGER_VALUES = {"i1": [3], "i2": [3, 3], "i3": [2, 0, 1], "i4": [0, 1, 2, 3], "n3": 3, "k0": 0, "k3": [2, 0, 1]}

view = ViewOp()

RULES = [(name, i) for name, rewrite in TABLE.items() for i in range(len(rewrite.rules))]


class Instance(NamedTuple):
    """A graph that a pattern matches, perhaps."""

    inputs: list[Any]
    out: Any
    found: dict[str, Any]


def walk(part: Part) -> Iterator[Part]:
    yield part
    inner = part.inputs if isinstance(part, Applied) else (part.part,) if isinstance(part, Only) else ()
    for p in inner:
        yield from walk(p)


def is_of_matrices(part: Part) -> bool:
    return any(isinstance(p, Applied) and not hasattr(p.op, "scalar_op") for p in walk(part))


def variable(kind: str, dtype: str, ndim: int, inputs: list[Any]) -> Any:
    """Return a variable of a kind; what it depends on is added to `inputs`."""
    leaf = T.TensorType("int64" if kind == "length" else dtype, (False,) * ndim)(f"v{len(inputs)}")
    inputs.append(leaf)
    if kind == "length":
        return Shape_i(0)(leaf)
    return T.exp(leaf) if kind == "positive" else leaf[0] if kind == "row" else leaf


def constant(value: Any, dtype: str) -> Any:
    return T.TensorConstant(T.TensorType(dtype, (False,) * np.ndim(value)), np.asarray(value, dtype))


def made(part: Part, kind: str, dtype: str, constants: tuple, other: tuple[str, ...] = ()) -> Instance:
    """Return the graph of a pattern without alternatives, of variables of a kind.

    The names `other` stand for variables of another dtype.
    """
    inputs: list[Any] = []
    found: dict[str, Any] = {}
    left = list(constants)
    number_dtype = "int64" if kind == "length" else dtype
    ndim = 2 if is_of_matrices(part) else 1
    for p in walk(part):
        if not isinstance(p, Named) or p.name in found:
            continue
        if isinstance(p, Rest):
            found[p.name] = (variable("", dtype, ndim, inputs), variable("", dtype, ndim, inputs))
        elif isinstance(p, _Constant):
            found[p.name] = constant(left.pop(0), number_dtype)
        else:
            kind_of_this = "row" if kind == "bias" and p.name == "y" else kind
            found[p.name] = variable(kind_of_this, "int8" if p.name in other else dtype, ndim, inputs)
    return Instance(inputs, part.build(found, lambda value: constant(value, number_dtype)), found)


def given(kind: str, name: str, dtype: str) -> Any:
    """Return a variable of a kind of `GIVEN`, for the rest of the inputs as many as there are kinds."""
    if name == "rest":
        return tuple(given(one, f"other{k}", dtype) for k, one in enumerate(kind.split()))
    if kind in ("csr", "csc"):
        return theano.sparse.matrix(kind, name=name, dtype=dtype)
    if kind == "zero":
        return constant(0, dtype)
    if kind[0] == "k":
        return constant(INTEGER_VALUES[kind], "int64")
    if kind in INTEGER_VALUES:
        return T.TensorType("int32", (False,) * np.ndim(INTEGER_VALUES[kind]))(f"{name}{kind}")
    if kind in ("flags", "flag"):
        return T.TensorType("bool", (False,) * (kind == "flags"))(name)
    if kind == "scalar":
        return theano.scalar.get_scalar_type(dtype)(name)
    if kind == "row":
        return T.TensorType(dtype, (True, False))(name)
    return T.TensorType(dtype, (False,) * {"m": 2, "v": 1, "s": 0}[kind])(name)


def made_of(part: Part, kinds: dict[str, str], dtype: str) -> Instance:
    """Return the graph of a pattern of variables of kinds that are `GIVEN`."""
    found: dict[str, Any] = {}
    for name, kind in kinds.items():
        found[name] = found[kind] if kind in kinds else given(kind, name, dtype)
    found = {name: found[name] for name in kinds if name in names(part)}
    each = [v for value in found.values() for v in (value if isinstance(value, tuple) else (value,))]
    inputs = list({id(v): v for v in each if not isinstance(v, Constant)}.values())
    out = part.build(found, lambda value: constant(value, inputs[0].type.dtype))
    # A graph takes no constants that all graphs share.
    return Instance(inputs, clone_get_equiv(inputs, [out], copy_inputs=False)[out], found)


def n_constants(part: Part) -> int:
    return len({p.name for p in walk(part) if isinstance(p, _Constant)})


def candidates(part: Part, dtype: str, kinds: dict[str, str] | None = None) -> Iterator[Instance]:
    if kinds is not None:
        with contextlib.suppress(TypeError, ValueError, AttributeError, KeyError):
            yield made_of(part, kinds, dtype)
        return
    for kind, dtype_ in (("", dtype), ("", INTEGERS[dtype]), ("length", "int64"), ("positive", dtype), ("bias", dtype)):
        if kind == "bias" and not is_of_matrices(part):
            continue
        for constants in CONSTANTS[n_constants(part)]:
            if np.dtype(dtype_).kind == "i" and any(c != int(c) for c in constants):
                continue
            try:
                yield made(part, kind, dtype_, constants)
            except (TypeError, ValueError):
                # No operation for such variables.
                break


def proposal(rule: Rule, instance: Instance) -> Any:
    """Return what the rule proposes for the instance, and the node."""
    node = instance.out.owner
    if not hasattr(node, "fgraph"):
        FunctionGraph(instance.inputs, [instance.out], clone=False)
    for root in rule.roots:
        if root.is_of(node.op):
            result = rule.transform(node, root)
            if result:
                return result
    return False


def first_that_fires(name: str, i: int, part: Part, dtype: str) -> tuple[Instance, Any] | None:
    """Return an instance for the rule, but not for those that are tried before it, and what it becomes."""
    rules = TABLE[name].rules
    for instance in candidates(part, dtype, GIVEN.get((name, i))):
        result = proposal(rules[i], instance)
        if result and not any(proposal(rule, instance) for rule in rules[:i]):
            return instance, result[0]
    return None


def spellings(rule: Rule) -> list[Part]:
    return [part for root in rule.roots for part in root.spellings()]


@pytest.fixture(scope="module")
def instances() -> dict[tuple, list[tuple[Instance, Any]]]:
    """Of each rule and dtype the first instance of each spelling that fires, and what it becomes."""
    found = {}
    for name, i in RULES:
        for dtype in INTEGERS:
            fired = [first_that_fires(name, i, part, dtype) for part in spellings(TABLE[name].rules[i])]
            found[name, i, dtype] = [one for one in fired if one is not None]
    return found


@pytest.mark.parametrize(("name", "i"), RULES)
def test_fires(instances, name, i):
    rewrite = TABLE[name]
    index = TrackIndex()
    index.add(rewrite)
    for dtype in INTEGERS:
        assert instances[name, i, dtype], f"no instance of {rewrite.rules[i]} in {dtype}"
        for instance, new in instances[name, i, dtype]:
            node = instance.out.owner
            assert new.type == instance.out.type
            # Nothing that is looked at first refuses it.
            assert rewrite in [opt for opt, _ in index.find_for(node)]
            assert rewrite not in index.with_needs() or any(
                rewrite in index.woken_by(n.op) for n in instance.out.owner.fgraph.apply_nodes
            )
            assert rewrite.transform(node)


def near_misses(part: Part) -> Iterator[Part]:
    """Yield patterns that differ from `part` in one thing."""
    if isinstance(part, Number):
        yield Number(7)
    elif isinstance(part, Only):
        for p in near_misses(part.part):
            yield Only(p, part.condition)
    elif isinstance(part, Applied):
        if not any(isinstance(p, Rest) for p in part.inputs):
            others = {1: T.arctan, 2: T.arctan2, 3: T.clip if part.op is T.switch else T.switch}
            yield Applied(others[len(part.inputs)], part.inputs)
        for k, p in enumerate(part.inputs):
            if isinstance(p, Named) and not isinstance(p, Rest):
                others = [q for j, q in enumerate(part.inputs) if j != k]
                if p.name in set().union(*map(names, others)):
                    yield Applied(part.example or part.op, (*part.inputs[:k], type(p)("other"), *part.inputs[k + 1 :]))
            for changed in near_misses(p):
                yield Applied(part.example or part.op, (*part.inputs[:k], changed, *part.inputs[k + 1 :]))


def refused(rule: Rule, part: Part, dtype: str, kinds: dict[str, str] | None) -> Iterator[Instance]:
    """Yield graphs that differ from instances of a pattern in one thing, and that the rule is not for."""
    for changed in near_misses(part) if kinds is None else near_misses_of_given(part):
        for instance in itertools.islice(candidates(changed, dtype, kinds), 1):
            yield instance
    if rule.kinds and rule.kinds != "cast":
        names_ = sorted({p.name for p in walk(part) if isinstance(p, Named) and not isinstance(p, Rest | _Constant)})
        constants = CONSTANTS[n_constants(part)][0]
        numbers = [*constants, *(p.value for p in walk(part) if isinstance(p, Number))]
        if rule.kinds == "same":
            instance = made(part, "", dtype, constants, tuple(names_[:1]))
            if any(v.type.dtype != instance.out.type.dtype for v in instance.found.values()):
                yield instance
        elif all(value == int(value) for value in numbers):
            instance = made(part, "", "int64", constants)
            if instance.out.type.dtype not in T.float_dtypes or rule.kinds == "floats":
                yield instance


def near_misses_of_given(part: Any) -> Iterator[Part]:
    """Yield the pattern with copies of its inputs, which are in between: what is wanted is behind them."""
    for k, p in enumerate(part.inputs):
        if isinstance(p, Applied):
            yield Applied(part.example or part.op, (*part.inputs[:k], Applied(view, (p,)), *part.inputs[k + 1 :]))
    yield Applied(view, (part,))


@pytest.mark.parametrize(("name", "i"), RULES)
def test_leaves_near_misses_alone(name, i):
    rule = TABLE[name].rules[i]
    kinds = GIVEN.get((name, i))
    count = 0
    for part in spellings(rule)[:3]:
        for instance in refused(rule, part, "float64", kinds):
            count += 1
            assert not proposal(rule, instance), theano.pp(instance.out)
    if rule.where is not None and kinds is None:
        # The condition says something: there is a graph of this form for which it does not hold.
        given = [proposal(rule, instance) for instance in candidates(spellings(rule)[0], "float64")]
        count += sum(not result for result in given)
    assert count, f"no near miss of {rule}"


def canonical(instance: Instance, new: Any, made_inputs: dict[tuple, Any], is_given: bool) -> tuple[Any, Any, list[Any]]:
    """Return the graphs before and after in terms of inputs that all instances share, and those that they have."""
    memo = {}
    for k, v in enumerate(instance.inputs):
        key = (k, v.type, v.name if is_given else "")
        if key not in made_inputs:
            made_inputs[key] = v.type(f"given{v.name}" if is_given else f"shared{k}")
        memo[v] = made_inputs[key]
    equiv = clone_get_equiv([], [instance.out, new], copy_inputs=False, copy_orphans=False, memo=dict(memo))
    return equiv[instance.out], equiv[new], [v for v in memo.values() if v.type.dtype in T.float_dtypes]


def value_for(k: int, v: Any) -> Any:
    if getattr(v.type, "format", None):
        matrix = scipy.sparse.csr_matrix(np.array([[0, 1.5, 0], [0, 0, -2.5], [0.5, 0, 0]], v.type.dtype))
        return matrix.asformat(v.type.format)
    if v.name[-2:] in INTEGER_VALUES:
        return np.array(INTEGER_VALUES[v.name[-2:]], "int32")
    if v.name.startswith("given"):
        shape = tuple(1 if one else 3 for one in getattr(v.type, "broadcastable", ()))
        return np.cos(np.arange(1.0, 1 + math.prod(shape)) * (k + 1)).reshape(shape).astype(v.type.dtype)[()]
    values = np.roll(VALUES, 3 * k) if v.type.dtype in T.float_dtypes else np.roll(np.arange(-4, 6), 3 * k)
    if v.type.dtype.startswith("uint"):
        values = abs(values)
    return (values if v.type.ndim == 1 else values.reshape(2, 5)).astype(v.type.dtype)


def before_and_after(instances: Any, names_: Any, dtype: str, given: str) -> tuple[list[str], list[int], list[Any]]:
    """Return what each value and gradient is of, where its value stands, and those before and after by turns.

    The inputs have `dtype`, their values are numbers of the dtype `given`.
    """
    inputs: dict[tuple, Any] = {}
    outputs, labels, of_value = [], [], []
    for name, i in names_:
        for instance, new in instances[name, i, dtype]:
            old, new, wrt = canonical(instance, new, inputs, (name, i) in GIVEN)
            outputs += [old, new]
            labels.append(f"value of {TABLE[name].rules[i]}")
            at = len(of_value)
            of_value.append(at)
            if wrt and isinstance(old, T.TensorVariable) and old.type.dtype in T.float_dtypes and name not in NO_GRADIENT:
                for v in wrt:
                    outputs += [T.grad(out.sum(), v, disconnected_inputs="ignore") for out in (old, new)]
                    labels.append(f"gradient of {TABLE[name].rules[i]}")
                    of_value.append(at)
    f = theano.function(list(inputs.values()), outputs, mode=theano.Mode("py", None), on_unused_input="ignore")
    values = [value_for(key[0], v) for key, v in inputs.items()]
    if given != dtype:
        values = [v.astype(given).astype(dtype) if v.dtype == dtype else v for v in values]
    with np.errstate(all="ignore"):
        results = f(*values)
    return labels, of_value, [r.toarray() if scipy.sparse.issparse(r) else r for r in results]


@pytest.mark.parametrize("dtype", list(INTEGERS))
def test_value_and_gradient_stay(instances, dtype):
    exact = [(name, i) for name, i in RULES if name not in APPROXIMATE]
    labels, of_value, results = before_and_after(instances, exact, dtype, dtype)
    if dtype == "float32":
        cancelling = [(name, i) for name, i in exact if name in CANCELLING]
        known, _, precise = before_and_after(instances, cancelling, "float64", dtype)
        places = [k for k, label in enumerate(labels) if label in known]
        for k, label, value in zip(places, known, precise[::2], strict=True):
            assert labels[k] == label
            results[2 * k] = value.astype(dtype)
    rtol = 1e-9 if dtype == "float64" else 1e-3
    for label, k, before, after in zip(labels, of_value, results[::2], results[1::2], strict=True):
        assert before.dtype == after.dtype and before.shape == after.shape, label
        finite, value = np.isfinite(before), results[2 * k]
        if value.shape == before.shape:
            # Where there is no value there need be no gradient.
            finite &= np.isfinite(value)
        assert finite.any(), label
        np.testing.assert_allclose(after[finite], before[finite], rtol=rtol, atol=rtol * 1e-2, err_msg=label)


def test_what_takes_the_place_has_a_stack_trace(instances):
    for name, i in RULES:
        instance, new = instances[name, i, "float64"][0]
        if new.owner is not None:
            fgraph = FunctionGraph(*clone_for_trace(instance, new), clone=False)
            assert check_stack_trace(fgraph, "last"), TABLE[name].rules[i]


def clone_for_trace(instance: Instance, new: Any) -> tuple[list[Any], list[Any]]:
    inputs, equiv = [], clone_get_equiv(instance.inputs, [new])
    inputs = [equiv[v] for v in instance.inputs]
    return inputs, [equiv[new]]


def test_only_nodes_whose_inputs_may_fit_are_offered():
    u, v = T.dvectors("u", "v")
    index = TrackIndex()
    for name in ("local_mul_zero", "local_elemwise_sub_zeros", "local_expm1", "local_log1p_to_softplus"):
        index.add(TABLE[name])
    dimension_added = constant(0, "float64").dimshuffle("x")
    for out, offered in (
        (u * 2, []),
        (u * v, []),
        (u * constant(0, "float64"), ["local_mul_zero"]),
        (T.mul(u, v, dimension_added), ["local_mul_zero"]),
        (u - v, []),
        (u - u, ["local_elemwise_sub_zeros"]),
        (constant(1, "float64") - constant(1, "float64"), ["local_elemwise_sub_zeros"]),
        (constant(1, "float64") - constant(2, "float64"), []),
        (T.exp(u) - 1, ["local_expm1"]),
        (1 - T.exp(u), ["local_expm1"]),
        (T.exp(u) - 2, []),
        (T.log1p(T.exp(u)), ["local_log1p_to_softplus"]),
        (T.log1p(u), []),
    ):
        assert [opt.__name__ for opt, _ in index.find_for(out.owner)] == offered, theano.pp(out)


def test_a_rule_says_what_is_wrong_with_it():
    with pytest.raises(ValueError, match="'floats'.*not 'flaots'"):
        rule(P.exp(z), z, "flaots")
    with pytest.raises(TypeError, match="a text and a function"):
        rule(P.exp(z), z, where=lambda z: z.ndim == 0)
