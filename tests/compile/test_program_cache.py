"""Programs of functions that are kept on disk: found again, the same results, never one for another graph."""

import copy
import gc
import pickle
import re

import numpy as np
import pytest

import theano
import theano.tensor as T
from tests.properties import graphs
from tests.properties.checking import outputs_of
from tests.tools import run_program
from theano.configparser import config
from theano.gof import extensions
from theano.misc import file_cache
from theano.native.linker import runs_natively
from theano.sandbox.rng_mrg import MRG_RandomStreams
from theano.tensor.shared_randomstreams import RandomStreams

pytestmark = pytest.mark.skipif(not runs_natively(), reason="programs are those of the native engine")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Programs are kept in a directory of the test's own, whatever other tests have registered."""
    monkeypatch.setattr(file_cache, "programs_directory", lambda: str(tmp_path / "programs"))
    monkeypatch.setattr(extensions, "_from_outside", False)
    with config.change_flags(program_cache="on"):
        yield tmp_path / "programs"


def twice(build):
    """Two functions of one graph; the second one's program was found."""
    first, second = build(), build()
    assert not first.maker.is_recalled
    assert second.maker.is_recalled
    return first, second


def equal(a, b):
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y)
        assert np.asarray(x).dtype == np.asarray(y).dtype


def softmax_step():
    x, y = T.fmatrix("x"), T.lvector("y")
    w, b = theano.shared(np.full((5, 3), 0.1, "float32"), "w"), theano.shared(np.zeros(3, "float32"), "b")
    cost = T.nnet.categorical_crossentropy(T.nnet.softmax(T.dot(x, w) + b), y).mean()
    updates = [(p, p - np.float32(0.1) * g) for p, g in zip([w, b], T.grad(cost, [w, b]), strict=True)]
    return theano.function([x, y], [cost, w.sum()], updates=updates)


def recurrence():
    x, w = T.dmatrix("x"), theano.shared(np.eye(3) * 0.5)
    h, _ = theano.scan(lambda e, h: T.tanh(e + T.dot(h, w)), sequences=x, outputs_info=T.zeros(3))
    return theano.function([x], [h[-1], T.grad(h[-1].sum(), w)])


def loop_in_a_loop():
    x = T.dvector("x")

    def inner(v):
        return theano.scan(lambda u: u * 0.5 + 1, outputs_info=v, n_steps=3)[0][-1]

    return theano.function([x], theano.scan(inner, outputs_info=x, n_steps=2)[0])


def branches():
    x, c = T.dvector("x"), T.bscalar("c")
    return theano.function([x, c], theano.ifelse.ifelse(c, T.exp(x).sum(), (x * 2)[0]))


def assertion():
    x = T.dvector("x")
    return theano.function([x], theano.tensor.opt.Assert("too large")(x * 2, T.all(x < 10)))


def convolution():
    x = T.ftensor4("x")
    w = theano.shared(np.ones((2, 1, 3, 3), "float32"))
    return theano.function([x], T.signal.pool.pool_2d(T.nnet.conv2d(x, w), (2, 2), ignore_border=True).sum(axis=(2, 3)))


def linear_algebra():
    x = T.dmatrix("x")
    return theano.function([x], [T.nlinalg.matrix_inverse(x), T.slinalg.cholesky(T.dot(x, x.T)), T.sort(x, axis=0)])


def drawn():
    return theano.function([], MRG_RandomStreams(3).normal((4,)))


def drawn_by_numpy():
    return theano.function([], RandomStreams(3).uniform((4,)))


SQUARE = np.arange(9.0).reshape(3, 3) + 4 * np.eye(3)
PROGRAMS = [
    (softmax_step, (np.ones((4, 5), "float32"), np.array([0, 1, 2, 0]))),
    (recurrence, (np.ones((6, 3)),)),
    (loop_in_a_loop, (np.arange(3.0),)),
    (branches, (np.arange(3.0) + 1, 0)),
    (assertion, (np.arange(3.0),)),
    (convolution, (np.ones((2, 1, 7, 7), "float32"),)),
    (linear_algebra, (SQUARE,)),
    (drawn, ()),
    (drawn_by_numpy, ()),
]


@pytest.mark.parametrize("build, args", PROGRAMS, ids=lambda v: getattr(v, "__name__", ""))
def test_what_is_found_computes_the_same(build, args):
    first, second = twice(build)
    for _ in range(3):
        a, b = first(*args), second(*args)
        equal(a if isinstance(a, list) else [a], b if isinstance(b, list) else [b])
    assert second.maker.is_recalled
    assert str(second.maker.fgraph) == str(first.maker.fgraph) and not second.maker.is_recalled
    assert [str(n) for n in second.fn.nodes] == [str(n) for n in first.fn.nodes]


@pytest.mark.parametrize("seed", range(7300000, 7300040))
def test_random_graphs_compute_the_same_when_they_are_found(seed):
    graph = graphs.build(seed)
    inputs, outputs = [i.var for i in graph.inputs], [i.var for i in outputs_of(graph)]

    def build():
        return theano.function(inputs, outputs, on_unused_input="ignore")

    values = [i.value for i in graph.inputs]
    # Where a node runs in Python nothing is kept.
    first, second = build(), build()
    with np.errstate(all="ignore"):
        equal(first(*values), second(*values))
    assert str(second.maker.fgraph) == str(first.maker.fgraph)


def test_another_process_finds_it(cache):
    program = """
import numpy as np, theano, theano.tensor as T, sys
x = T.dvector("x")
w = theano.shared(np.ones(3), "w")
f = theano.function([x], [T.exp(x) * w], updates=[(w, w + x)])
print(f.maker.is_recalled, f([1.0, 2.0, 3.0])[0].tolist(), f([0.0, 0.0, 1.0])[0].tolist())
print([m for m in ("theano.native.lowering.loops", "theano.native.optimize.fusion") if m in sys.modules])
"""
    flags = f"program_cache=on,base_compiledir={cache}"
    done = [run_program(program, flags) for _ in range(3)]
    assert [d.returncode for d in done] == [0, 0, 0], done[0].stderr
    first, *others = [d.stdout.split("\n") for d in done]
    assert first[0].startswith("False") and len(first[1]) > 2
    for found in others:
        assert found[0] == first[0].replace("False", "True", 1)
        assert found[1] == "[]"


VARIANTS = {
    "dtype": lambda: ([T.fvector("x")], lambda x: [x * 2], {}),
    "plain": lambda: ([T.dvector("x")], lambda x: [x * 2], {}),
    "constant": lambda: ([T.dvector("x")], lambda x: [x * 3], {}),
    "constant's dtype": lambda: ([T.dvector("x")], lambda x: [x * np.float32(2)], {}),
    "sign of zero": lambda: ([T.dvector("x")], lambda x: [x + 0.0], {}),
    "sign of another zero": lambda: ([T.dvector("x")], lambda x: [x + -0.0], {}),
    "broadcasting": lambda: ([T.TensorType("float64", (True,))("x")], lambda x: [x * 2], {}),
    "rank": lambda: ([T.dmatrix("x")], lambda x: [x * 2], {}),
    "twice": lambda: ([T.dvector("x")], lambda x: [x * 2, x * 2], {}),
    "axis": lambda: ([T.dmatrix("x")], lambda x: [x.sum(axis=0)], {}),
    "other axis": lambda: ([T.dmatrix("x")], lambda x: [x.sum(axis=1)], {}),
    "order": lambda: ([T.dvector("x"), T.dvector("y")], lambda x, y: [x - y], {}),
    "other order": lambda: ([T.dvector("x"), T.dvector("y")], lambda x, y: [y - x], {}),
    "cast": lambda: ([T.dvector("x")], lambda x: [T.cast(x, "float32")], {}),
    "other cast": lambda: ([T.dvector("x")], lambda x: [T.cast(x, "int32")], {}),
    "index": lambda: ([T.dmatrix("x")], lambda x: [x[1:]], {}),
    "other index": lambda: ([T.dmatrix("x")], lambda x: [x[:, 1:]], {}),
    "loop": lambda: ([T.dvector("x")], lambda x: [theano.scan(lambda v: v + 1, outputs_info=x, n_steps=4)[0][-1]], {}),
    "other step": lambda: ([T.dvector("x")], lambda x: [theano.scan(lambda v: v * v, outputs_info=x, n_steps=4)[0][-1]], {}),
    "mode": lambda: ([T.dvector("x")], lambda x: [x * 2], {"mode": theano.Mode(optimizer="fast_compile")}),
    "no rewrites": lambda: ([T.dvector("x")], lambda x: [x * 2], {"mode": theano.Mode(optimizer=None)}),
    "kept values": lambda: ([T.dvector("x")], lambda x: [x * 2], {"mode": theano.Mode("c")}),
    "mutable": lambda: ([theano.In(T.dvector("x"), mutable=True)], lambda x: [x * 2], {}),
    "borrowed": lambda: ([T.dvector("x")], lambda x: [theano.Out(x.T, borrow=True)], {}),
    "not borrowed": lambda: ([T.dvector("x")], lambda x: [x.T], {}),
}


def key_of(variant):
    inputs, outputs, options = VARIANTS[variant]()
    variables = [v.variable if isinstance(v, theano.In) else v for v in inputs]
    return theano.function(inputs, outputs(*variables), **options).maker._key


def test_what_differs_has_keys_that_differ():
    keys = {variant: key_of(variant) for variant in VARIANTS}
    assert None not in keys.values()
    assert len(set(keys.values())) == len(keys), keys
    assert keys == {variant: key_of(variant) for variant in VARIANTS}


def test_names_and_values_of_shared_variables_have_no_say():
    def key(name, value):
        x, w = T.dvector(name), theano.shared(np.full(3, value), name + "w")
        return theano.function([x], x + w, updates=[(w, w * 2)], name=name).maker._key

    assert key("a", 1.0) == key("b", 2.0) is not None


@pytest.mark.parametrize("flag, value", [("floatX", "float32"), ("optdb.max_use_ratio", 5.0), ("gcc.cxxflags", "-DX=1")])
def test_flags_are_part_of_the_key(flag, value):
    x = T.dvector("x")
    plain = theano.function([x], T.exp(x)).maker._key
    with config.change_flags({flag: value}):
        assert theano.function([x], T.exp(x)).maker._key not in (plain, None)
    assert theano.function([x], T.exp(x)).maker._key == plain


def test_the_package_has_a_key_while_an_editor_locks_its_files(tmp_path, monkeypatch):
    from theano.compile import program_key

    (tmp_path / "compile").mkdir()
    monkeypatch.setattr(program_key, "__file__", str(tmp_path / "compile" / "program_key.py"))
    seen = [program_key._package.__wrapped__()]
    for name in ("a.py", "b.h"):
        (tmp_path / name).write_text("x")
        seen.append(program_key._package.__wrapped__())
    assert len(set(seen)) == 3
    (tmp_path / ".#a.py").symlink_to("somebody@somewhere.1")
    assert program_key._package.__wrapped__() == seen[-1]


class Twice(theano.Op):
    __props__ = ()

    def make_node(self, x):
        return theano.Apply(self, [x], [x.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = inputs[0] * 2


def test_an_output_of_a_node_that_is_an_input_too_is_not_taken_for_another_one():
    x = T.dmatrix("x")
    largest, where = T.max_and_argmax(x, axis=0)
    for difference, expected in ((largest - where, 4.0), (where - largest, -4.0)):
        f = theano.function([x, largest], difference)
        np.testing.assert_array_equal(f(np.arange(6.0).reshape(2, 3), np.full(3, 5.0)), np.full(3, expected))


def test_what_functions_of_users_made_of_constants_is_not_taken_for_what_others_make():
    c = T.constant(np.array([1.0, 2.0]))
    for factor in (2.0, 3.0):
        op = theano.as_op(itypes=[T.dvector], otypes=[T.dvector])(lambda v, factor=factor: v * factor)
        np.testing.assert_array_equal(theano.function([], op(c))(), [factor, 2 * factor])


def test_expressions_of_sympy_differ():
    sympy = pytest.importorskip("sympy")
    from theano.scalar.basic_sympy import SymPyCCode

    a, x = sympy.Symbol("a"), T.dvector("x")
    for expression, expected in ((a**2, 9.0), (a + 1, 4.0)):
        f = theano.function([x], T.Elemwise(SymPyCCode([a], expression))(x))
        np.testing.assert_array_equal(f([3.0]), [expected])


def test_a_file_is_read_when_the_function_is_called(tmp_path):
    path = str(tmp_path / "values.npy")
    np.save(path, np.ones(3))
    first = theano.function([], T.load(path, "float64", (False,)) * 2)
    np.testing.assert_array_equal(first(), np.full(3, 2.0))
    np.save(path, np.full(3, 2.0))
    second = theano.function([], T.load(path, "float64", (False,)) * 2)
    for f in (first, second):
        np.testing.assert_array_equal(f(), np.full(3, 4.0))


def test_a_graph_that_somebody_has_changed_is_not_kept():
    x = T.dvector("x")
    maker = theano.FunctionMaker([theano.In(x)], x * 2.5)
    fgraph = maker.fgraph
    fgraph.replace(fgraph.outputs[0], T.exp(fgraph.inputs[0]))
    np.testing.assert_array_equal(maker.create()([0.0]), [1.0])
    f = theano.function([x], x * 2.5)
    np.testing.assert_array_equal(f([1.0]), [2.5])
    fgraph = f.maker.fgraph
    fgraph.replace(fgraph.outputs[0], T.exp(fgraph.inputs[0]))
    f.maker.create()
    np.testing.assert_array_equal(theano.function([x], x * 2.5)([1.0]), [2.5])


def test_makers_of_users_may_set_graph_and_linker():
    class Maker(theano.FunctionMaker):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.fgraph, self.linker = self.fgraph, self.linker

    x = T.dvector("x")
    np.testing.assert_array_equal(Maker([theano.In(x)], x * 2).create()([1.0]), [2.0])


def test_programs_with_ops_of_users_are_not_kept():
    x = T.dvector("x")
    f = theano.function([x], Twice()(x) + 1)
    assert f.maker._key is None
    np.testing.assert_array_equal(f([1.0, 2.0]), [3.0, 5.0])


def test_nothing_is_kept_of_programs_that_run_python_or_are_watched(cache):
    x = T.dvector("x")
    theano.function([x], T.exp(x), profile=True)
    theano.function([x], T.exp(x), mode="FAST_COMPILE")
    theano.function([x], T.exp(x), mode="DebugMode")
    theano.function([x], T.exp(x), mode=theano.compile.MonitorMode())
    theano.function([x], theano.printing.Print("x")(x))
    with config.change_flags(program_cache="off"):
        theano.function([x], T.exp(x))
    assert not list(cache.glob("*.program"))


def test_once_a_program_registers_rewrites_nothing_is_found():
    x = T.dvector("x")
    theano.function([x], T.exp(x))
    theano.gof.DB().register("of_the_test", theano.gof.MergeOptimizer())
    assert extensions.any_from_outside()
    assert theano.function([x], T.exp(x)).maker._key is None


@pytest.mark.parametrize("part", ["here", "in a loop", "in a loop in a loop"])
def test_errors_tell_the_node_and_the_line(part):
    def build():
        x, y = T.dvector("x"), T.dvector("y")
        if part == "here":
            return theano.function([x, y], T.exp(x + y))

        def step(v):
            if part == "in a loop":
                return T.exp(v + y)
            return theano.scan(lambda u: T.exp(u + y), outputs_info=v, n_steps=2)[0][-1]

        return theano.function([x, y], theano.scan(step, outputs_info=x, n_steps=2)[0][-1])

    errors = []
    for f in twice(build):
        with pytest.raises(ValueError) as caught:
            f([1.0, 2.0], [1.0, 2.0, 3.0])
        # Rows that no step has come to hold anything.
        errors.append(re.sub(r"array\(.*?\)", "array", str(caught.value), flags=re.DOTALL))
    assert errors[0] == errors[1]
    assert "Apply node that caused the error" in errors[0] and "test_program_cache.py" in errors[0]
    np.testing.assert_array_equal(f([0.0], [0.0]).shape, (1,))


@pytest.mark.parametrize("part", ["here", "in a loop"])
def test_errors_name_no_node_of_a_graph_that_was_changed_since(part):
    def build():
        x, y = T.dvector("x"), T.dvector("y")
        if part == "here":
            return theano.function([x, y], [T.exp(x) * 3, T.log(x + y)])
        return theano.function([x, y], theano.scan(lambda v: T.exp(v + y), outputs_info=x, n_steps=2)[0])

    _, f = twice(build)
    fgraph = f.maker.fgraph
    fgraph.replace(fgraph.outputs[0], fgraph.outputs[0] + fgraph.inputs[0].sum())
    if part == "here":
        fgraph.replace(fgraph.outputs[1], fgraph.outputs[0] * 2)
    with pytest.raises(ValueError) as caught:
        f([1.0, 2.0], [1.0, 2.0, 3.0])
    assert "mis-match" in str(caught.value) and "Apply node" not in str(caught.value)


def test_state_is_as_before_after_a_failure():
    def build():
        x, w = T.dvector("x"), theano.shared(np.zeros(3), "w")
        singular = x.dimshuffle(0, "x") * x.dimshuffle("x", 0)
        f = theano.function([x], T.nlinalg.matrix_inverse(singular), updates=[(w, w + x)])
        return f, w

    build()
    f, w = build()
    assert f.maker.is_recalled
    with pytest.raises(np.linalg.LinAlgError):
        f([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(w.get_value(), np.zeros(3))


def test_random_state_is_as_before_after_a_failure():
    def build():
        streams, x = RandomStreams(5), T.dvector("x")
        return theano.function([x], T.exp(streams.uniform((3,)) + x))

    first, second = twice(build)
    with pytest.raises(ValueError):
        second([1.0, 2.0])
    np.testing.assert_array_equal(first([0.0, 0.0, 0.0]), second([0.0, 0.0, 0.0]))


def test_copies_and_pickles_of_what_was_found():
    def build():
        x, w = T.dvector("x"), theano.shared(np.zeros(3), "w")
        return theano.function([x], w.sum(), updates=[(w, w + x)])

    first, second = twice(build)
    for function in (second.copy(), copy.copy(second), copy.deepcopy(second), pickle.loads(pickle.dumps(second))):
        assert float(function([1.0, 2.0, 3.0])) in (0.0, 6.0)
    second = build()
    assert second.maker.is_recalled
    assert float(second([1.0, 1.0, 1.0])) == 0.0
    second.free()
    assert second.maker.is_recalled
    shared = second.copy(share_memory=True)
    assert float(shared([0.0, 0.0, 0.0])) == 3.0


def test_the_graph_is_made_with_the_flags_of_then():
    def build():
        x, w = T.ftensor4("x"), theano.shared(np.ones((1, 1, 2, 2), "float32"))
        return theano.function([x], T.nnet.conv2d(x, w, input_shape=(None, 1, 5, 5)))

    def asserts(function):
        return sum(isinstance(node.op, T.opt.Assert) for node in function.maker.fgraph.apply_nodes)

    def with_asserts():
        return config.change_flags({"conv.assert_shape": True})

    first, second = twice(build)
    with with_asserts():
        assert asserts(second) == asserts(first) == 0
        first, second = twice(build)
    assert asserts(second) == asserts(first) > 0
    previous = config.conv.assert_shape
    config.conv.assert_shape = True
    try:
        third = build()
        assert third.maker.is_recalled
    finally:
        config.conv.assert_shape = previous
    assert asserts(third) > 0


def test_files_that_are_spoiled_or_gone_are_made_again(cache):
    x = T.dvector("x")

    def build():
        return theano.function([x], T.exp(x) * 2)

    twice(build)
    (file,) = cache.glob("*.program")
    file.write_bytes(file.read_bytes()[:-7])
    assert not build().maker.is_recalled
    assert build().maker.is_recalled
    (file,) = cache.glob("*.program")
    file.unlink()
    assert not build().maker.is_recalled
    np.testing.assert_array_equal(build()([0.0]), [2.0])


def test_programs_whose_kernels_are_gone_are_made_again(monkeypatch, tmp_path):
    from theano.gof.memo import Bounded
    from theano.native.target.cpu import libraries

    x = T.dvector("x")
    build = lambda: theano.function([x], T.exp(x) * 1.0625)  # noqa: E731
    twice(build)
    monkeypatch.setattr(libraries, "loaded", Bounded(1_000_000))
    monkeypatch.setattr(file_cache, "cache_directory", lambda: str(tmp_path / "kernels"))
    again = build()
    assert not again.maker.is_recalled
    np.testing.assert_array_equal(again([0.0]), [1.0625])


def test_a_directory_of_others_is_not_used(cache):
    cache.mkdir()
    cache.chmod(0o777)
    x = T.dvector("x")
    for _ in range(2):
        assert not theano.function([x], T.exp(x) * 2).maker.is_recalled
    assert not list(cache.iterdir())


def test_nothing_stays_of_what_was_found():
    def build():
        x = T.dvector("x")
        return theano.function([x], T.exp(x) * 2)

    twice(build)
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(20):
        build()([1.0])
    gc.collect()
    assert len(gc.get_objects()) - before < 40


def test_with_check_an_equal_key_means_an_equal_program(monkeypatch):
    from theano.native import remember

    x = T.dvector("x")
    with config.change_flags(program_cache="check"):
        for _ in range(2):
            assert not theano.function([x], T.exp(x) * 1.5).maker.is_recalled
        monkeypatch.setattr("theano.compile.program_key.program_key", lambda *args: "the same for all")
        theano.function([x], T.exp(x))
        with pytest.raises(remember.Differs):
            theano.function([x], T.sin(x))
