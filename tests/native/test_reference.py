"""The reference target: the same programs and kernels in NumPy, and what the C of the CPU's kernels gives beside it."""

import numpy as np
import pytest

import theano
import theano.tensor as T
from tests import kernel_corpus
from theano.native import instructions as vm
from theano.native import ir, program
from theano.native.linker import NativeLinker
from theano.native.target import TARGETS, target
from theano.native.target.base import REQUIRED
from theano.native.target.reference.kernels import ReferenceKernel
from theano.scalar.expression import variable

REFERENCE = theano.Mode(linker="reference")


def graphs():
    x, y, i = T.fmatrix("x"), T.fvector("y"), T.ivector("i")
    z, n = T.zmatrix("z"), T.bvector("n")
    p = T.nnet.softmax(x)
    cost = T.nnet.categorical_crossentropy(p, i).sum()
    centred = x - x.mean(axis=1, keepdims=True)
    return [x, y, i, z, n], [
        p, T.nnet.logsoftmax(x), cost, T.grad(cost, x), T.grad(p.norm(2), x), T.argmax(x, axis=1), T.max(x, axis=0),
        T.exp(-(x**2)) * T.tanh(y) + T.log1p(T.exp(x)), (x > y).sum(), x.var(axis=0), centred / x.std(axis=1, keepdims=True),
        T.switch(x > 0, x, T.sin(x)), T.clip(x, -0.5, y), x[i] * 2, T.set_subtensor(x[0], y), T.inc_subtensor(x[i], y),
        z * z / (1 + abs(z)), z.imag + z.conj().real, n // 3 + n % 5, n**3, T.cast(x, "int8"), T.eq(n, 2).any(),
        T.prod(x, axis=1), T.min(n), T.maximum(x, y).sum(axis=0, acc_dtype="float64"),
        T.concatenate([x, x]).T, T.dot(x, x.T), T.sort(x, axis=1),
    ]  # fmt: skip


def values(seed=0):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(3, 4)).astype("float32"), rng.normal(size=4).astype("float32")
    z = rng.normal(size=(2, 3)) + 1j * rng.normal(size=(2, 3))
    return [x, y, np.array([2, 0, 1], "int32"), z, rng.integers(-9, 9, 5).astype("int8")]


def registered(monkeypatch, target, lower, *classes):
    """Register a lowering until the test ends. The table stays the same: what is imported meanwhile registers itself, too."""
    for op_class in classes:
        monkeypatch.setitem(program._lowerings, (op_class, target), None)
    program.lowers(*classes, target=target)(lower)


def test_programs_agree():
    inputs, outputs = graphs()
    native, reference = theano.function(inputs, outputs), theano.function(inputs, outputs, mode=REFERENCE)
    assert not any(hasattr(i.op, "thunk") and "softmax" in str(i.node).lower() for i in reference.fn.instrs)
    for seed in range(3):
        for out, ours, theirs in zip(outputs, native(*values(seed)), reference(*values(seed)), strict=True):
            assert ours.dtype == theirs.dtype == out.dtype and ours.shape == theirs.shape
            np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-6, err_msg=str(out))


def test_kernels_agree(monkeypatch):
    caught = set()
    cpu = type(target("cpu"))
    load_kernels = cpu.load_kernels
    monkeypatch.setattr(cpu, "load_kernels", lambda self, kernels: (caught.update(kernels), load_kernels(self, kernels))[1])
    with theano.config.change_flags(program_cache="off"):
        theano.function(*graphs())
    assert len(caught) > 15
    count, wrong = kernel_corpus.compare(sorted(caught, key=repr))
    assert count > 15 and not wrong


def test_updates_and_failures_are_those_of_the_engine():
    w, x = theano.shared(np.zeros(3)), T.dvector("x")
    f = theano.function([x], w.sum(), updates=[(w, w + x)], mode=REFERENCE)
    assert f(np.ones(3)) == 0 and f(np.ones(3)) == 3
    np.testing.assert_array_equal(w.get_value(), [2, 2, 2])
    with pytest.raises(ValueError, match="mismatch"):
        f(np.ones(4))
    np.testing.assert_array_equal(w.get_value(), [2, 2, 2])


def test_branches_run_lazily():
    c, x = T.scalar("c"), T.dvector("x")
    f = theano.function([c, x], theano.ifelse.ifelse(c, x.sum(), T.log(x).max()), mode=REFERENCE)
    assert f(1, [1.0, 2.0]) == 3 and f(0, [1.0, np.e]) == pytest.approx(1)


def test_empty_rows():
    x = ir.Operand("float64", (False, False))
    for op, expected in (("add", 0), ("mul", 1), ("maximum", -np.inf)):
        stage = ir.Stage((ir.Load("x", 0),), reduces=(ir.Reduce(op, "float64", "x", "r"),), row_stores=(ir.Store(0, "r"),))
        kernel = ir.Kernel(1, 1, (x,), (ir.Output("float64", (0,)),), (stage,))
        np.testing.assert_array_equal(ReferenceKernel(kernel)([np.ones((2, 0))])[0], [expected] * 2)
    nonempty = ReferenceKernel(ir.Kernel(1, 1, (x,), (ir.Output("float64", (0,)),), (stage,), nonempty=True))
    for rows in (2, 0):
        with pytest.raises(ValueError, match="zero-size"):
            nonempty([np.ones((rows, 0))])


def test_a_function_that_nobody_has_declared_is_no_oracle():
    x = ir.Operand("float64", (False,))
    value = ir.let("c", ir.Expression("something_of_a_user", "float64", (variable("a", "float64"),)))
    kernel = ir.elementwise(1, [x], [ir.Output("float64", (0,))], [ir.Load("a", 0)], [value], [ir.Store(0, "c")])
    with pytest.raises(KeyError, match="something_of_a_user"):
        ReferenceKernel(kernel)([np.ones(3)])


def test_a_target_lowers_an_op_in_its_own_way(monkeypatch):
    calls = []

    class Twice(theano.Op):
        __props__ = ()

        def make_node(self, x):
            return theano.Apply(self, [x], [x.type()])

        def perform(self, node, inputs, outputs):
            outputs[0][0] = 2 * inputs[0]

    def lower(builder, node):
        calls.append(builder.target.name)
        builder.emit(vm.Call(lambda x: x + x), [builder.cell(node.inputs[0])], [builder.cell(node.outputs[0])])

    registered(monkeypatch, "reference", lower, Twice)
    x = T.dvector("x")
    for mode, expected in (("cvm", []), ("reference", ["reference"])):
        f = theano.function([x], Twice()(x), mode=theano.Mode(linker=mode))
        np.testing.assert_array_equal(f([1.0, 2.0]), [2, 4])
        assert calls == expected


def test_what_a_target_lowers_in_its_own_way_is_in_no_pair(monkeypatch):
    asked, plain = [], program.lowering_of

    def lower(builder, node):
        asked.append(type(node.op))
        plain(node)(builder, node)

    x, y = T.fmatrix("x"), T.ivector("y")
    cost = T.nnet.categorical_crossentropy(T.nnet.softmax(x), y).sum()
    args = np.arange(6, dtype="float32").reshape(2, 3), np.array([2, 0], "int32")
    expected = theano.function([x, y], [cost, T.grad(cost, x)])(*args)
    ops = T.nnet.CrossentropySoftmaxArgmax1HotWithBias, T.nnet.CrossentropySoftmax1HotWithBiasDx
    registered(monkeypatch, "reference", lower, *ops)
    f = theano.function([x, y], [cost, T.grad(cost, x)], mode=REFERENCE)
    assert len(asked) == 2
    for given, wanted in zip(f(*args), expected, strict=True):
        np.testing.assert_allclose(given, wanted, rtol=1e-6)


def test_slices_are_there_for_what_a_target_lowers_in_its_own_way(monkeypatch):
    def lower(builder, node):
        builder.emit(vm.Call(lambda a, *index: a[index]), map(builder.cell, node.inputs), [builder.cell(node.outputs[0])])

    registered(monkeypatch, "reference", lower, T.subtensor.AdvancedSubtensor)
    x, k, start = T.dtensor3("x"), T.lvector("k"), T.lscalar("start")
    f = theano.function([x, k, start], x[k, start:3, k], mode=REFERENCE)
    a = np.arange(36.0).reshape(3, 4, 3)
    np.testing.assert_array_equal(f(a, [2, 0], 1), a[[2, 0], 1:3, [2, 0]])


class Own(type(target("cpu"))):
    """The CPU under another name."""

    name = "own"


def test_pairs_of_steps_are_those_of_the_target(monkeypatch):
    asked, plain = [], program.lowering_of

    def lower(builder, node):
        asked.append(builder.target.name)
        plain(node)(builder, node)

    monkeypatch.setitem(TARGETS, "own", f"{__name__}:Own")
    registered(monkeypatch, "own", lower, T.nnet.CrossentropySoftmaxArgmax1HotWithBias)
    xs, y = T.ftensor3("xs"), T.ivector("y")

    def step(x):
        cost = T.nnet.categorical_crossentropy(T.nnet.softmax(x), y).sum()
        return cost, T.grad(cost, x)

    args = np.ones((2, 2, 3), "float32"), np.array([2, 0], "int32")
    outputs = theano.scan(step, sequences=xs)[0]
    own = theano.Mode(NativeLinker(target="own"), "fast_run")
    ours, native = (theano.function([xs, y], outputs, mode=mode) for mode in (own, None))
    assert asked == ["own"]
    for given, wanted in zip(ours(*args), native(*args), strict=True):
        np.testing.assert_allclose(given, wanted, rtol=1e-6)


def test_a_product_over_memory_without_values_does_not_read_it():
    z, x = np.full((2, 2), np.nan), np.eye(2)
    a, b = T.dmatrices("ab")
    product = T.blas.gemm_no_inplace(a, np.float64(1), b, b, np.float64(0))
    f = theano.function([a, b], product, mode=theano.Mode("reference", None))
    np.testing.assert_array_equal(f(z, x), x)


def test_there_is_no_such_target():
    with pytest.raises(ValueError, match="no target 'twn', but cpu, reference"):
        theano.function([], T.constant(1) + 1, mode=theano.Mode(NativeLinker(target="twn")))


def test_numbers_are_compared_natively_as_numpy_compares_them():
    n, x = T.lvector("n"), T.fvector("x")
    f, g = (theano.function([n, x], [T.eq(n, x), n > x], mode=mode) for mode in (None, REFERENCE))
    integers, floats = np.array([2**24 + 1, 3]), np.array([2**24, 3], "float32")
    for compared in (f(integers, floats), g(integers, floats)):
        np.testing.assert_array_equal(compared[0], [False, True])
        np.testing.assert_array_equal(compared[1], [True, False])


class FewInstructions(type(target("reference"))):
    """No instruction but those that every target has."""

    name = "few"

    def has(self, op):
        return op.name in REQUIRED


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setitem(TARGETS, "few", f"{__name__}:FewInstructions")
    return theano.Mode(NativeLinker(target="few"), "fast_run")


def test_what_every_target_has_is_enough(few):
    x, k, c = T.dmatrix("x"), T.lvector("k"), T.dscalar("c")
    checked = T.opt.assert_op(T.exp(x).sum(axis=1), T.gt(x.sum(), 0))
    outputs = [
        T.exp(x).sum(), T.dot(x, x.T).reshape((4,)), x[1:, ::-1], x[k], theano.ifelse.ifelse(c, x, x * 2), T.nnet.softmax(x),
        theano.ifelse.ifelse(c, T.exp(x).sum(axis=0), T.dot(x, x.T)[0]), T.exp(x) - checked.dimshuffle(0, "x"), x.var(axis=1),
        theano.scan(lambda a, b: a + b, sequences=x, outputs_info=x[0] * 0)[0], T.sort(x), T.scalar_from_tensor(x.max()),
    ]  # fmt: skip
    ours, native = theano.function([x, k, c], outputs, mode=few), theano.function([x, k, c], outputs)
    assert {i.op.name for i in ours.fn.instrs} <= REQUIRED
    for condition in (0.0, 1.0):
        args = np.arange(6.0).reshape(2, 3), [1, 0, 1], condition
        for given, wanted in zip(ours(*args), native(*args), strict=True):
            np.testing.assert_allclose(given, wanted)


def test_what_every_target_has_is_enough_for_pairs(few):
    x, y = T.fmatrix("x"), T.ivector("y")
    cost = T.nnet.categorical_crossentropy(T.nnet.softmax(x), y).sum()
    ours, native = (theano.function([x, y], [cost, T.grad(cost, x)], mode=mode) for mode in (few, None))
    args = np.arange(6, dtype="float32").reshape(2, 3), np.array([2, 0], "int32")
    for given, wanted in zip(ours(*args), native(*args), strict=True):
        np.testing.assert_allclose(given, wanted, rtol=1e-6)


def test_what_every_target_has_is_enough_for_lists_that_fail(few):
    v, x = theano.typed_list.TypedListType(T.dvector)("v"), T.dvector("x")
    state = theano.In(v, value=[], update=v.append(x), mutable=True)
    for mode in (few, REFERENCE):
        f = theano.function([x, state], x[v.append(x).reverse()[0].shape[0] - 1] + x[[7]].sum(), mode=mode)
        with pytest.raises(IndexError):
            f(np.ones(3))
        assert f.value[v] == []


WRITES = [lambda s, k: T.inc_subtensor(s[k], 1), lambda s, k: T.set_subtensor(s[k[0]], 5.0), lambda s, k: T.exp(s) + k[0]]


@pytest.mark.parametrize("write", WRITES)
def test_what_every_target_has_puts_state_back(few, write):
    state, streams = theano.shared(np.zeros((2, 3))), T.shared_randomstreams.RandomStreams(1)
    k, x = T.lvector("k"), T.dmatrix("x")
    drawn = streams.normal((2,))
    f = theano.function([k, x], drawn + T.dot(x, x)[0, 0], updates=[(state, write(state, k))], mode=few)
    assert {i.op.name for i in f.fn.instrs} <= REQUIRED
    with pytest.raises(ValueError):
        f([0, 1], np.ones((2, 3)))
    assert not state.get_value().any()
    first = f([0, 1], np.zeros((2, 2)))
    assert state.get_value().any()
    again = theano.function([], T.shared_randomstreams.RandomStreams(1).normal((2,)))
    np.testing.assert_array_equal(first, again())
