"""The rewrites of matrix products, of sums of increments, into the memory of other values and into one pass, by their
registered names; and those that prepare, check, merge or print a graph.
"""

import numpy as np
import pytest
from by_name import DTYPES, FAST, OFF, ByName, ByNameTests, Given, compile_given, count, kinds, ops, text

import theano
import theano.tensor as T
from theano.gof.destroyhandler import DestroyHandler
from theano.gof.fg import InconsistencyError
from theano.gof.opt import Optimizer, copy_stack_trace
from theano.gof.optdb import Query
from theano.sandbox.rng_mrg import MRG_RandomStreams, mrg_uniform
from theano.tensor.raw_random import RandomFunction, random_state_type, uniform
from theano.tensor.shared_randomstreams import RandomStreams
from theano.tensor.subtensor import AdvancedIncSubtensor1, IncSubtensor
from theano.typed_list import Append, TypedListType, append, make_list


def adds(f):
    return ops(f).count(T.add)


def in_place(kind):
    """Whether each Op of a class destroys something, in order."""
    return lambda f: [bool(getattr(op, "destroy_map", None)) for op in ops(f) if isinstance(op, kind)]


def product(g):
    return T.dot(g.m, g.w)


def column(g):
    return T.unbroadcast(g.b.dimshuffle(0, "x"), 0)


BLAS = ("fusion", "inplace")

CASES = [
    ByName("local_dot_to_dot22", product, lambda g: T.dot(g.m, T.cast(g.w, "float32")), count("Dot22"), (0, 1)),
    ByName(
        "gemm_optimizer",
        lambda g: g.z * 0.5 - 2 * T.dot(g.w, g.u),
        lambda g: T.tanh(g.z) * T.dot(g.w, g.u),
        count("Gemm"),
        (0, 1),
        BLAS,
    ),
    ByName(
        "local_dot22_to_dot22scalar",
        lambda g: g.k * product(g),
        lambda g: g.m * product(g),
        count("Dot22Scalar"),
        (0, 1),
        BLAS,
    ),
    ByName("local_gemm_to_gemv", lambda g: T.dot(g.w, g.b), product, count("Gemv"), (0, 1), BLAS),
    ByName(
        "InplaceBlasOpt",
        lambda g: T.tanh(g.z) + T.dot(g.w, g.u),
        lambda g: g.z + T.dot(g.w, g.u),
        in_place(T.blas.Gemm),
        ([False], [True]),
        ("fusion",),
    ),
    ByName(
        "pre_local_IncSubtensor_serialize",
        lambda g: T.inc_subtensor(T.exp(g.w)[:2], g.u[:2]) + T.inc_subtensor(T.tanh(g.w)[1:], g.z[1:]),
        lambda g: T.set_subtensor(T.exp(g.w)[:2], g.u[:2]) + T.set_subtensor(T.tanh(g.w)[1:], g.z[1:]),
        # One after the other in place of side by side.
        lambda f: [isinstance(n.inputs[0].owner.op, IncSubtensor) for n in f.maker.fgraph.toposort() if is_increment(n)],
        ([False, False], [False, True]),
    ),
    ByName(
        "local_inplace_setsubtensor",
        lambda g: T.set_subtensor(T.exp(g.w)[1:], g.u[1:]),
        lambda g: T.set_subtensor(g.w[1:], g.u[1:]),
        in_place(IncSubtensor),
        ([False], [True]),
    ),
    ByName(
        "local_inplace_incsubtensor1",
        lambda g: T.inc_subtensor(T.exp(g.w)[g.i], g.u),
        lambda g: T.inc_subtensor(g.w[g.i], g.u),
        in_place(AdvancedIncSubtensor1),
        ([False], [True]),
    ),
    ByName(
        "inplace_elemwise_opt",
        lambda g: T.tanh(T.dot(g.w, g.u)),
        lambda g: T.tanh(g.w),
        in_place(T.Elemwise),
        ([False], [True]),
    ),
    ByName(
        "composite_elemwise_fusion",
        lambda g: T.tanh(g.x * g.y) - T.exp(g.x),
        lambda g: T.tanh(T.dot(g.w, g.u)),
        count(T.Elemwise),
        (4, 1),
    ),
    ByName(
        "local_add_mul_fusion",
        lambda g: g.x + (g.y + g.x * g.y),
        lambda g: g.x + g.x * g.y,
        adds,
        (2, 1),
        ("local_add_canonizer", "composite_elemwise_fusion", "inplace"),
    ),
    ByName(
        "ShapeOpt",
        lambda g: T.exp(product(g)).shape * g.k,
        lambda g: T.exp(product(g)),
        count("Dot22"),
        (1, 0),
    ),
    ByName(
        "local_alloc_empty_to_zeros",
        lambda g: T.dot(g.w, g.b),
        lambda g: g.b + g.v,
        count(T.AllocEmpty),
        (1, 0),
        on_demand=True,
    ),
    ByName(
        "add_no_output_from_inplace",
        lambda g: T.tanh(T.dot(g.w, g.u)),
        lambda g: T.dot(T.tanh(T.dot(g.w, g.u)), g.z),
        in_place(T.Elemwise),
        ([True], [False]),
        on_demand=True,
    ),
]


def is_increment(node):
    return isinstance(node.op, IncSubtensor)


class TestWholeGraph(ByNameTests):
    cases = CASES


def selecting(*names, **databases):
    """A mode that applies only the rewrites of some names."""
    return theano.Mode("vm", Query(include=[*names, *databases], subquery=databases))


#: The names under which computations are merged, with the place of each in the sequence.
MERGES = {"merge1": 0, "merge1.1": 0.65, "merge1.2": 1.2, "merge2": 49, "merge3": 100}
CANONICALIZE_MERGE = {"canonicalize": Query(include=["merge"])}
MERGING = {**{name: selecting(name) for name in MERGES}, "merge": selecting(**CANONICALIZE_MERGE)}


def constants(f):
    return len({v for node in f.maker.fgraph.apply_nodes for v in node.inputs if isinstance(v, theano.Constant)})


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MERGING)
def test_merging(name, dtype):
    g = Given(dtype)
    outputs = [(g.x + g.y) * g.number([1, 2, 3, 4]), T.tanh(g.x + g.y), T.exp(g.x) * g.number([1, 2, 3, 4])]
    slopes = theano.grad(sum(out.sum() for out in outputs), [g.x, g.y])
    off, on = (compile_given(g, outputs, mode) for mode in (OFF, MERGING[name]))
    assert (adds(off), adds(on)) == (2, 1)
    assert (constants(off), constants(on)) == (2, 1)
    wanted, got = (compile_given(g, outputs + slopes, mode)(*g.values) for mode in (OFF, MERGING[name]))
    for a, b in zip(got, wanted, strict=True):
        assert a.dtype == b.dtype == dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", MERGING)
def test_what_differs_is_not_merged(name):
    g = Given("float64")
    outputs = [T.exp(g.x + g.y), T.exp(g.y + g.x), T.exp(g.x - g.y), T.cast(g.x, "float32") + 1]
    off, on = (compile_given(g, outputs, mode) for mode in (OFF, MERGING[name]))
    assert text(off) == text(on)


class Doubling(Optimizer):
    """Computes each sum that is used twice twice."""

    def apply(self, fgraph):
        for node in fgraph.toposort():
            if node.op == T.add and len(node.outputs[0].clients) > 1:
                client, position = node.outputs[0].clients[1]
                fgraph.change_input(client, position, node.op(*node.inputs))


@pytest.mark.parametrize(("name", "position"), MERGES.items())
def test_each_merging_has_its_place(name, position):
    g = Given("float64")
    total = g.x + g.y
    found = []
    for place in (position - 1e-3, position + 1e-3):
        mode = theano.Mode("vm", Query(include=[name]).register((Doubling(), place)))
        found.append(adds(compile_given(g, [T.exp(total), T.tanh(total)], mode)))
    assert found == [1, 2]


def draws(dtype, size=2):
    return RandomStreams(3).uniform((size,), dtype=dtype)


def mrg_draws(dtype, size=2):
    return MRG_RandomStreams(3).uniform((size,), dtype=dtype)


def is_in_place(f):
    return [op.inplace for op in ops(f) if isinstance(op, (RandomFunction, mrg_uniform, Append))]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "build"), [("random_make_inplace", draws), ("random_make_inplace_mrg", mrg_draws)])
def test_states_of_random_numbers_change_in_place(name, build, dtype):
    def plain(f):
        return [np.asarray(f()) for _ in range(3)]

    found = {}
    for mode in (FAST, FAST.excluding(name), OFF):
        out = build(dtype)
        s = theano.shared(np.asarray(2, dtype))
        f = theano.function([], out, mode=mode)
        slope = theano.function([], T.grad((build(dtype) * s).sum(), s), mode=mode)
        found[tuple(is_in_place(f))] = [*plain(f), *plain(slope)]
    assert set(found) == {(True,), (False,)}
    for a, b in zip(*found.values(), strict=True):
        assert a.dtype == dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", ["random_make_inplace", "random_make_inplace_mrg"])
def test_states_that_are_arguments_stay(name):
    if name == "random_make_inplace":
        state = random_state_type()
        value, outputs = np.random.RandomState(5), uniform(state, (2,))
    else:
        streams, *rest = ancestor(mrg_draws("float64"), mrg_uniform).inputs
        state = streams.type()
        value, outputs = streams.get_value(), mrg_uniform(T.dvector)(state, *rest, return_list=True)
    f, without = (theano.function([state], outputs, mode=mode) for mode in (FAST, FAST.excluding(name)))
    assert is_in_place(f) == [False] and text(f) == text(without)
    np.testing.assert_array_equal(f(value)[1], f(value)[1])


def ancestor(variable, kind):
    return next(v.owner for v in theano.gof.graph.ancestors([variable]) if v.owner and isinstance(v.owner.op, kind))


@pytest.mark.parametrize("dtype", DTYPES)
def test_lists_that_nobody_else_needs_change_in_place(dtype):
    x, y = T.vector("x", dtype), T.vector("y", dtype)
    longer = append(append(make_list([T.exp(x)]), y), x * 2)
    values = [np.asarray([1, 2], dtype), np.asarray([0.5, 3], dtype)]
    found = []
    for mode in (FAST.excluding("typed_list_inplace_opt"), FAST, OFF):
        f = theano.function([x, y], longer, mode=mode)
        found.append(is_in_place(f))
        result = f(*values)
        assert [v.dtype for v in result] == [dtype] * 3
        np.testing.assert_allclose(result, [np.exp(values[0]), values[1], 2 * values[0]], rtol=1e-6)
    assert found == [[False, False], [True, True], [False, False]]


def test_lists_that_are_arguments_stay():
    given, x = TypedListType(T.dvector)("given"), T.dvector("x")
    f, without = (
        theano.function([given, x], append(given, x), mode=mode)
        for mode in (FAST, FAST.excluding("typed_list_inplace_opt"))
    )
    assert is_in_place(f) == [False] and text(f) == text(without)
    values = [np.ones(2)]
    assert len(f(values, np.zeros(2))) == 2 and len(values) == 1


class InPlace(Optimizer):
    """Has every tanh written over its argument, where the graph allows it."""

    def add_requirements(self, fgraph):
        fgraph.attach_feature(theano.gof.toolbox.ReplaceValidate())

    def apply(self, fgraph):
        for node in fgraph.toposort():
            if node.op == T.tanh:
                new = T.Elemwise(theano.scalar.tanh, {0: 0})(*node.inputs)
                try:
                    fgraph.replace_all_validate([(node.outputs[0], new)])
                except InconsistencyError:
                    continue


@pytest.mark.parametrize("dtype", DTYPES)
def test_nothing_is_destroyed_that_is_needed(dtype):
    g = Given(dtype)
    outputs = [T.tanh(g.w), T.tanh(T.exp(g.w))]
    slopes = theano.grad(sum(out.sum() for out in outputs), [g.w])

    def made(outputs, *names):
        return compile_given(g, outputs, theano.Mode("vm", Query(include=names).register((InPlace(), 50))))

    f, without = made(outputs, "add_destroy_handler"), made(outputs)
    features = [[type(feature) for feature in h.maker.fgraph._features] for h in (f, without)]
    assert [DestroyHandler in kinds_of for kinds_of in features] == [True, False]
    assert [sorted(in_place(T.Elemwise)(h)) for h in (f, without)] == [[False, False, True], [False, True, True]]
    kept = [np.copy(value) for value in g.values]
    for result, wanted in zip(f(*g.values), compile_given(g, outputs, OFF)(*g.values), strict=True):
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, wanted)
    np.testing.assert_array_equal(
        made(slopes, "add_destroy_handler")(*g.values)[0], compile_given(g, slopes, OFF)(*g.values)[0]
    )
    for value, before in zip(g.values, kept, strict=True):
        np.testing.assert_array_equal(value, before)


class Untraced(Optimizer):
    """``tanh(x) -> sin(x)``, with or without the trace."""

    def __init__(self, copies):
        self.copies = copies

    def apply(self, fgraph):
        with theano.configparser.change_flags(**{"traceback.limit": 0}):
            for node in fgraph.toposort():
                if node.op == T.tanh:
                    new = T.sin(*node.inputs)
                    if self.copies:
                        copy_stack_trace(node.outputs, new)
                    fgraph.replace(node.outputs[0], new)


@pytest.mark.parametrize("dtype", DTYPES)
def test_missing_stack_traces_are_found(dtype):
    g = Given(dtype)

    def made(checked, copies):
        query = Query(include=["CheckStackTrace"] if checked else [])
        return compile_given(g, T.tanh(g.x), theano.Mode("vm", query.register((Untraced(copies), 1))))

    with theano.configparser.change_flags(check_stack_trace="raise"):
        with pytest.raises(AssertionError, match="Empty stack trace"):
            made(True, False)
        for checked, copies in ((True, True), (False, False), (False, True)):
            made(checked, copies)
    with theano.configparser.change_flags(check_stack_trace="off"):
        f = made(True, False)
    assert kinds(f) == ["Elemwise"]
    np.testing.assert_array_equal(f(*g.values), np.sin(g.values[0]))


def test_the_graph_is_printed_on_demand_at_its_place(capsys):
    g = Given("float64")
    out = T.log(T.exp(g.x) / 1 + 1 * g.number(1))
    compile_given(g, out, FAST)
    assert not capsys.readouterr().out
    shown = {}
    for name, header in (("Print1.21", "Post-canonicalize"), ("Print1.51", "Post-stabilize")):
        f = compile_given(g, out, FAST.including(name))
        shown[name] = capsys.readouterr().out
        assert header in shown[name]
        assert text(f) == text(compile_given(g, out, FAST))
    # What is canonical divides by no one; what is stable has no logarithm of a sum.
    assert all("true_div" not in printed for printed in shown.values())
    assert ["log" in printed for printed in shown.values()] == [True, False]


def test_shapes_are_forgotten_on_demand():
    g = Given("float64")
    features = []
    for mode in (FAST, FAST.including("UnShapeOpt")):
        f = compile_given(g, T.exp(T.dot(g.m, g.w)).shape, mode)
        # What asked for shapes before it has them.
        assert count("Dot22")(f) == 0
        np.testing.assert_array_equal(f(*g.values), [4, 3])
        features.append(any(type(feature).__name__ == "ShapeFeature" for feature in f.maker.fgraph._features))
    assert features == [True, False]
