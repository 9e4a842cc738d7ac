"""Each rule of the table of rewrites: instances of its pattern are made, it fires, keeps the value and the gradient, and leaves
near misses alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

import theano
import theano.sparse.opt
import theano.tensor as T
import theano.tensor.nnet
import theano.tensor.nnet.opt  # noqa: F401
from theano.compile.ops import Shape_i
from theano.gof import FunctionGraph
from theano.gof.graph import clone_get_equiv
from theano.gof.opt import check_stack_trace
from theano.gof.rewriting.local import TrackIndex
from theano.gof.rewriting.match import Applied, Named, Number, Only, Part, Rest
from theano.gof.rewriting.rules import TABLE, Rule, names
from theano.tensor.rewriting.rules import _Constant

VALUES = np.array([-3.1, -1.4, -0.62, -0.2, 0.13, 0.35, 0.7, 0.93, 1.6, 2.9])
INTEGERS = {"float32": "int32", "float64": "int64"}
#: What the constants of a pattern may be, tried in turn.
CONSTANTS = {0: [()], 1: [(2,), (-2,), (3,), (0.5,), (-1,), (1,), (0,)], 2: [(2, -2), (2, 3), (-1, 1), (3, 2)],
             3: [(2, -2, 3)], 4: [(-1.5, 2, -1, 1.5)]}  # fmt: skip
#: They are wanted by name, and approximate.
APPROXIMATE = ("local_ultra_fast_sigmoid", "local_hard_sigmoid")

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
    return T.TensorConstant(T.TensorType(dtype, ()), np.asarray(value, dtype))


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


def n_constants(part: Part) -> int:
    return len({p.name for p in walk(part) if isinstance(p, _Constant)})


def candidates(part: Part, dtype: str) -> Iterator[Instance]:
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


def first_that_fires(rules: Sequence[Rule], i: int, part: Part, dtype: str) -> tuple[Instance, Any] | None:
    """Return an instance for the rule, but not for those that are tried before it, and what it becomes."""
    for instance in candidates(part, dtype):
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
        rules = TABLE[name].rules
        for dtype in INTEGERS:
            fired = [first_that_fires(rules, i, part, dtype) for part in spellings(rules[i])]
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
            assert rewrite in index.find_for(node)
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
                    yield Applied(part.op, (*part.inputs[:k], type(p)("other"), *part.inputs[k + 1 :]))
            for changed in near_misses(p):
                yield Applied(part.op, (*part.inputs[:k], changed, *part.inputs[k + 1 :]))


def refused(rule: Rule, part: Part, dtype: str) -> Iterator[Instance]:
    """Yield graphs that differ from instances of a pattern in one thing, and that the rule is not for."""
    for changed in near_misses(part):
        for instance in itertools.islice(candidates(changed, dtype), 1):
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


@pytest.mark.parametrize(("name", "i"), RULES)
def test_leaves_near_misses_alone(name, i):
    rule = TABLE[name].rules[i]
    count = 0
    for part in spellings(rule)[:3]:
        for instance in refused(rule, part, "float64"):
            count += 1
            assert not proposal(rule, instance), theano.pp(instance.out)
    if rule.where is not None:
        # The condition says something: there is a graph of this form for which it does not hold.
        given = [proposal(rule, instance) for instance in candidates(spellings(rule)[0], "float64")]
        count += sum(not result for result in given)
    assert count, f"no near miss of {rule}"


def canonical(instance: Instance, new: Any, made_inputs: dict[tuple, Any]) -> tuple[Any, Any, list[Any]]:
    """Return the graphs before and after in terms of inputs that all instances share, and those that they have."""
    memo = {}
    for k, v in enumerate(instance.inputs):
        key = (k, v.type)
        if key not in made_inputs:
            made_inputs[key] = v.type(f"shared{k}")
        memo[v] = made_inputs[key]
    equiv = clone_get_equiv([], [instance.out, new], copy_inputs=False, copy_orphans=False, memo=dict(memo))
    return equiv[instance.out], equiv[new], [v for v in memo.values() if v.type.dtype in T.float_dtypes]


def value_for(k: int, v: Any) -> np.ndarray:
    values = np.roll(VALUES, 3 * k) if v.type.dtype in T.float_dtypes else np.roll(np.arange(-4, 6), 3 * k)
    if v.type.dtype.startswith("uint"):
        values = abs(values)
    return (values if v.type.ndim == 1 else values.reshape(2, 5)).astype(v.type.dtype)


@pytest.mark.parametrize("dtype", list(INTEGERS))
def test_value_and_gradient_stay(instances, dtype):
    inputs: dict[tuple, Any] = {}
    outputs, labels, of_value = [], [], []
    for name, i in RULES:
        if name in APPROXIMATE:
            continue
        for instance, new in instances[name, i, dtype]:
            old, new, wrt = canonical(instance, new, inputs)
            outputs += [old, new]
            labels.append(f"value of {TABLE[name].rules[i]}")
            at = len(of_value)
            of_value.append(at)
            if wrt and old.type.dtype in T.float_dtypes:
                for v in wrt:
                    outputs += [T.grad(out.sum(), v, disconnected_inputs="ignore") for out in (old, new)]
                    labels.append(f"gradient of {TABLE[name].rules[i]}")
                    of_value.append(at)
    f = theano.function(list(inputs.values()), outputs, mode=theano.Mode("py", None), on_unused_input="ignore")
    with np.errstate(all="ignore"):
        results = f(*[value_for(k, v) for (k, _), v in inputs.items()])
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
