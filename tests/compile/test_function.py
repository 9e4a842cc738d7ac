"""theano.function: inputs, outputs, updates, givens, calls, copies."""

import copy
import functools
import inspect
import pickle
import threading

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano import In, Out
from theano.compile.function_module import UnusedInputError

MODES = [None, "FAST_COMPILE", theano.Mode(linker="py", optimizer="fast_run"), theano.Mode(linker="vm")]


@pytest.fixture(params=MODES, ids=["default", "fast_compile", "py", "vm"])
def mode(request):
    return request.param


def test_forms_of_outputs(mode):
    x = T.dscalar("x")
    assert isinstance(theano.function([x], x + 1, mode=mode)(1), np.ndarray)
    assert theano.function([x], [x + 1], mode=mode)(1) == [2.0]
    assert theano.function([x], [], on_unused_input="ignore", mode=mode)(1) == []
    assert theano.function([x], None, on_unused_input="ignore", mode=mode)(1) == []
    assert theano.function([x], {"b": x * 2, "a": x}, mode=mode)(1) == {"a": 1.0, "b": 2.0}


def test_keys_of_a_dictionary_of_outputs_must_be_strings():
    x = T.dscalar("x")
    with pytest.raises(AssertionError, match="strings"):
        theano.function([x], {1: x})


def test_output_subset_selects_outputs_and_runs_updates(mode):
    x, s = T.dscalar("x"), theano.shared(0.0)
    f = theano.function([x], [x, x * 2, x * 3], updates=[(s, s + 1)], mode=mode)
    assert f(1.0, output_subset=[0, 2]) == [1.0, 3.0]
    g = theano.function([x], {"a": x, "b": x * 2}, mode=mode)
    assert g(1.0, output_subset=["b"]) == {"b": 2.0}
    assert s.get_value() == 1.0


def test_updates_use_the_old_values(mode):
    a, b = theano.shared(1.0), theano.shared(10.0)
    f = theano.function([], [a, b], updates=[(a, b), (b, a + b)], mode=mode)
    assert f() == [1.0, 10.0]
    assert (a.get_value(), b.get_value()) == (10.0, 11.0)


def test_swapped_shared_variables_do_not_alias(mode):
    a, b = theano.shared(np.zeros(2)), theano.shared(np.ones(2))
    theano.function([], [], updates=[(a, b), (b, a)], mode=mode)()
    assert np.all(a.get_value() == 1) and np.all(b.get_value() == 0)
    assert not np.shares_memory(a.get_value(borrow=True), b.get_value(borrow=True))


def test_an_update_to_an_input_does_not_keep_the_argument(mode):
    x, s = T.dvector("x"), theano.shared(np.zeros(2))
    f = theano.function([x], [], updates=[(s, x)], mode=mode)
    value = np.ones(2)
    f(value)
    value[:] = 5
    assert np.all(s.get_value() == 1)


def test_outputs_do_not_alias_shared_variables_or_each_other(mode):
    s = theano.shared(np.zeros(2))
    a, b = theano.function([], [s, s], mode=mode)()
    a[:] = 1
    assert np.all(b == 0) and np.all(s.get_value() == 0)


def test_two_updates_of_one_variable_are_refused():
    s = theano.shared(0.0)
    with pytest.raises(ValueError, match="already has an update"):
        theano.function([], [], updates=[(s, s + 1), (s, s + 2)])


def test_updates_have_the_type_of_their_variable():
    s = theano.shared(np.zeros(2))
    with pytest.raises(TypeError, match="same type"):
        theano.function([], [], updates=[(s, T.dmatrix())])
    with pytest.raises(TypeError, match="SharedVariable"):
        theano.function([], [], updates=[(T.dscalar(), s)])


def test_default_updates(mode):
    s = theano.shared(0.0)
    s.default_update = s + 1
    theano.function([], s, mode=mode)()
    assert s.get_value() == 1
    theano.function([], s, no_default_updates=True, mode=mode)()
    theano.function([], s, no_default_updates=[s], mode=mode)()
    assert s.get_value() == 1
    theano.function([], s, updates=[(s, s + 10)], mode=mode)()
    assert s.get_value() == 11


def test_givens_replace_variables(mode):
    x, y = T.dscalars("x", "y")
    square = x**2
    assert theano.function([y], square + 1, givens={x: y * 2}, mode=mode)(3) == 37
    assert theano.function([y], square + 1, givens=[(square, y)], mode=mode)(3) == 4


def test_givens_for_an_input_are_refused():
    x, y = T.dscalars("x", "y")
    with pytest.raises(RuntimeError, match="givens"):
        theano.function([x, y], x + y, givens={x: y})


def test_givens_keep_the_type_unless_told_otherwise():
    x, y = T.ivector("x"), T.dvector("y")
    with pytest.raises(TypeError):
        theano.function([y], x * 2, givens={x: y})
    assert theano.function([y], x * 2, givens={x: y}, rebuild_strict=False)([1.5]) == [3.0]


def test_unused_inputs():
    x, y = T.dscalars("x", "y")
    with pytest.raises(UnusedInputError, match="index 1"):
        theano.function([x, y], x)
    with pytest.warns(UserWarning, match="index 1"):
        theano.function([x, y], x, on_unused_input="warn")
    assert theano.function([x, y], x, on_unused_input="ignore")(1, 2) == 1
    with pytest.raises(ValueError, match="on_unused_input"):
        theano.function([x, y], x, on_unused_input="nonsense")


@pytest.mark.parametrize("bad", ["x", 3, object(), T.constant(1.0), theano.shared(1.0)])
def test_things_that_are_no_inputs(bad):
    with pytest.raises(TypeError):
        theano.function([bad], T.dscalar("x"))


def test_the_same_variable_twice_is_refused():
    x = T.dscalar("x")
    with pytest.raises(UnusedInputError, match="used twice"):
        theano.function([x, In(x, name="again")], x)


def test_missing_inputs_are_named():
    x, y = T.dscalars("x", "y")
    with pytest.raises(theano.gof.MissingInputError, match="y"):
        theano.function([x], x + y)


def test_calls_by_position_and_name(mode):
    x, y = T.dscalars("x", "y")
    f = theano.function([x, y], x - y, mode=mode)
    assert f(5, 3) == f(5, y=3) == f(y=3, x=5) == 2


@pytest.mark.parametrize(
    "args, kwargs, message",
    [
        ((1,), {}, "Missing required input: y"),
        ((1, 2, 3), {}, "Too many parameter"),
        ((1,), {"z": 2}, "Unknown input or state: z. The function has 2 named inputs"),
        ((1, 2), {"x": 2}, "parameter|Multiple values for input: x"),
    ],
)
def test_wrong_calls(args, kwargs, message):
    x, y = T.dscalars("x", "y")
    f = theano.function([x, y], x - y)
    with pytest.raises(TypeError, match=message):
        f(*args, **kwargs)
    assert f(3, 1) == 2


def test_bad_arguments_say_which_and_where():
    x = T.dvector("x")
    f = theano.function([x], x, name="my_function")
    with pytest.raises(TypeError) as info:
        f(np.zeros((2, 2)))
    text = str(info.value)
    assert 'Bad input argument with name "x" to theano function with name "my_function" at index 0 (0-based)' in text


def test_the_name_defaults_to_the_place_of_the_call():
    x = T.dscalar("x")
    assert "test_function.py:" in theano.function([x], x).name


def test_conversion_of_arguments(mode):
    x = T.fvector("x")
    f = theano.function([x], x, mode=mode)
    assert f([1, 2]).dtype == f(range(2)).dtype == f(np.zeros(2, "int16")).dtype == "float32"
    with pytest.raises(TypeError):
        f(np.zeros(2))
    g = theano.function([x], x, allow_input_downcast=True, mode=mode)
    assert g(np.zeros(2)).dtype == "float32"
    strict = theano.function([In(x, strict=True)], x, mode=mode)
    with pytest.raises(TypeError):
        strict([1.0])


def test_trust_input_skips_the_checks(mode):
    x = T.dvector("x")
    f = theano.function([x], x + 1, mode=mode)
    f.trust_input = True
    assert np.all(f(np.zeros(2)) == 1)


def test_a_failing_call_leaves_shared_variables_alone(mode):
    x, y = T.dvectors("x", "y")
    a, b = theano.shared(np.zeros(2)), theano.shared(np.zeros(2))
    f = theano.function([x, y], x + y, updates=[(a, a + 1), (b, b + x + y)], mode=mode)
    with pytest.raises(ValueError):
        f(np.zeros(2), np.zeros(3))
    assert np.all(a.get_value() == 0) and np.all(b.get_value() == 0)
    f(np.ones(2), np.ones(2))
    assert np.all(a.get_value() == 1) and np.all(b.get_value() == 2)


def test_defaults_last_one_call_without_update(mode):
    x, y = T.dscalars("x", "y")
    f = theano.function([x, In(y, value=10.0)], x + y, mode=mode)
    assert f(1) == 11 and f(1, 2) == 3 and f(1, y=5) == 6 and f(1) == 11
    with pytest.raises((TypeError, ValueError)):
        f("no number", 4)
    assert f[y] == 10.0


def test_defaults_with_update_persist(mode):
    x, s = T.dscalars("x", "s")
    f = theano.function([x, In(s, value=0.0, update=s + x)], s, mode=mode)
    assert f(2) == 0 and f[s] == 2 and f(1, 7) == 7 and f["s"] == 8
    f[s] = 100
    assert f(1) == 100 and f.value[1] == 101 and f.container["s"].value == 101


def test_values_by_position_name_and_variable():
    x, s = T.dscalars("x", "s")
    f = theano.function([x, In(s, value=1.5)], x + s)
    assert f[1] == f["s"] == f[s] == 1.5
    assert "s" in f and "nothing" not in f
    with pytest.raises(TypeError, match="Unknown input or state"):
        f["nothing"]
    with pytest.raises(TypeError):
        f.container[s] = 1


def test_names_that_several_inputs_have_are_ambiguous():
    a, b = T.dscalar("same"), T.dscalar("same")
    f = theano.function([a, b], a - b)
    assert f(3, 1) == 2
    with pytest.raises(TypeError, match="Ambiguous name"):
        f(3, same=1)


def test_a_container_as_value_is_shared_and_implicit():
    x, s = T.dscalars("x", "s")
    inc = theano.function([x, In(s, value=0.0, update=s + x)], s)
    dec = theano.function([x, In(s, value=inc.container[s], update=s - x)], s)
    inc(5)
    dec(2)
    assert inc[s] == dec[s] == 3
    with pytest.raises(TypeError, match="implicit"):
        dec(1, 2)


@pytest.mark.parametrize("index", range(6))
def test_shortcuts_for_inputs(index):
    q, r = T.dscalars("q", "r")
    spec, args, kwargs, expected = [
        (("other", r), (5,), {"other": 3}, 2),
        ((r, 3), (5,), {}, 2),
        (((r, r + q), 3), (5,), {}, 2),
        (("nm", r, 3), (5,), {"nm": 1}, 4),
        (("nm", (r, r + q), 3), (5,), {"nm": 1}, 4),
        (In(r, name="nm"), (5,), {"nm": 1}, 4),
    ][index]
    assert theano.function([q, spec], q - r)(*args, **kwargs) == expected


@pytest.mark.parametrize("spec", [(), ("name",), ("name", 1), (1, 2), ((1, 2), 3)])
def test_malformed_shortcuts(spec):
    with pytest.raises(TypeError):
        theano.function([spec], T.dscalar())


def test_mutable_needs_borrow():
    with pytest.raises(AssertionError, match="mutable=True"):
        In(T.dvector(), mutable=True, borrow=False)


def test_arguments_are_not_modified_unless_mutable(mode):
    x = T.dvector("x")
    f = theano.function([x], T.exp(x + 1) * 2, mode=mode)
    value = np.zeros(3)
    f(value)
    assert np.all(value == 0)


def test_borrowed_arguments_may_share_memory():
    x, y = T.dvectors("x", "y")
    f = theano.function([In(x, borrow=True), In(y, borrow=True)], [x + y, x * 2, y - 1])
    a = np.arange(4.0)
    for found, wanted in zip(f(a, a[::-1]), [a + a[::-1], a * 2, a[::-1] - 1], strict=True):
        np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(a, np.arange(4.0))
    # Nothing is to be looked at before such a call: it needs no Python.
    assert (f._fast_program is None) == (getattr(f.fn, "program", None) is None)


def test_mutable_arguments_that_share_memory_give_right_results(mode):
    x, y = T.dvectors("x", "y")
    f = theano.function([In(x, mutable=True), In(y, mutable=True)], [x * 2 + 1, y * 3 + 1], mode=mode)
    value = np.arange(4.0)
    expected = [value * 2 + 1, value * 3 + 1]
    assert np.allclose(f(value, value), expected)
    base = np.arange(4.0)
    assert np.allclose(f(base[:2], base[1:3]), [[1, 3], [4, 7]])


def test_borrowed_outputs():
    x = T.dvector("x")
    f = theano.function([x], [x + 1, Out(x + 1, borrow=True)])
    assert np.allclose(f([1.0]), [[2.0], [2.0]])


def test_inplace_graphs_are_refused_unless_accepted():
    class Inplace(theano.Op):
        __props__ = ()
        destroy_map = {0: [0]}

        def make_node(self, x):
            return theano.Apply(self, [x], [x.type()])

        def perform(self, node, inputs, output_storage):
            inputs[0][...] += 1
            output_storage[0][0] = inputs[0]

    x = T.dvector("x")
    y = Inplace()(x + 0)
    with pytest.raises(TypeError, match="inplace"):
        theano.function([x], y)
    assert np.all(theano.function([x], y, accept_inplace=True)([1.0]) == 2)


def test_copy_has_its_own_graph_and_the_same_shared_variables(mode):
    x, s = T.dscalar("x"), theano.shared(0.0)
    f = theano.function([x], x + s, updates=[(s, s + 1)], mode=mode, name="orig")
    g = f.copy()
    assert g.name == "orig copy" and g.maker is not f.maker and g.maker.fgraph is not f.maker.fgraph
    assert f(0) == 0 and g(0) == 1 and f(0) == 2


@pytest.mark.parametrize("share_memory", [False, True])
def test_copies_with_and_without_shared_memory_agree(mode, share_memory):
    x = T.dvector("x")
    f = theano.function([x], [T.tanh(x + 2) / x], mode=mode)
    g = f.copy(share_memory=share_memory)
    value = np.array([1.0, 2.0])
    assert np.allclose(f(value), g(value)) and np.allclose(g(value * 2), f(value * 2))


def test_copy_with_swapped_shared_variables(mode):
    x, a, b = T.dscalar("x"), theano.shared(1.0, name="a"), theano.shared(100.0, name="b")
    f = theano.function([x], x + a, updates=[(a, a + 1)], mode=mode)
    g = f.copy(swap={a: b})
    assert g(0) == 100 and f(0) == 1
    assert (a.get_value(), b.get_value()) == (2.0, 101.0)
    with pytest.raises(ValueError, match="not found"):
        f.copy(swap={b: a})


def test_copy_without_updates_leaves_shared_variables_alone(mode):
    s = theano.shared(np.zeros(3))
    f = theano.function([], s + 1, updates=[(s, s + 1)], mode=mode)
    g = f.copy(delete_updates=True)
    assert np.all(g() == 1) and np.all(g() == 1)
    assert np.all(s.get_value() == 0)
    f()
    assert np.all(s.get_value() == 1) and np.all(g() == 2)


def test_copy_copy_duplicates_containers_with_their_values(mode):
    x, s = T.dscalars("x", "s")
    f = theano.function([x, In(s, value=0.0, update=s + x)], [s], mode=mode)
    f(1)
    g = copy.copy(f)
    f(2)
    assert (f[s], g[s]) == (3.0, 1.0)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f, -1))])
def test_pickled_and_deep_copied_functions_are_independent(mode, duplicate):
    x, w = T.dscalars("x", "w")
    s = theano.shared(5.0)
    f = theano.function([x, In(w, value=3.0, update=w + 1)], x * w + s, updates=[(s, s + 1)], mode=mode)
    assert f(2) == 11
    g = duplicate(f)
    assert g["w"] == 4.0 and g(2) == 14 and g(2) == 17
    assert f["w"] == 4.0 and f(2) == 14 and s.get_value() == 7.0


def test_functions_that_share_a_variable_still_share_it_after_pickling():
    s = theano.shared(0.0)
    inc, get = theano.function([], [], updates=[(s, s + 1)]), theano.function([], s)
    inc2, get2, s2 = pickle.loads(pickle.dumps((inc, get, s), -1))
    inc2()
    assert get2() == s2.get_value() == 1 and s.get_value() == 0


def test_function_dump_reproduces_a_compilation(tmp_path):
    x, s = T.dscalar("x"), theano.shared(7.0)
    path = str(tmp_path / "dump.pkl")
    theano.function_dump(path, [x], x * s, updates=[(s, s + 1)])
    with open(path, "rb") as file:
        f = theano.function(**pickle.load(file))
    assert f(2) == 14 and f(2) == 16 and s.get_value() == 7


def test_get_shared_lists_what_is_read_or_updated():
    x, a, b, c = T.dscalar("x"), theano.shared(1.0), theano.shared(2.0), theano.shared(3.0)
    shared = theano.function([x], x + a, updates=[(b, b + 1)]).get_shared()
    assert a in shared and b in shared and c not in shared


def test_free_forgets_intermediate_values():
    x = T.dvector("x")
    with theano.change_flags(allow_gc=False):
        f = theano.function([x], (T.exp(x) * T.tanh(x + 1)).sum(), mode=theano.Mode(linker="vm", optimizer=None))
    before = f([1.0, 2.0])
    f.free()
    kept = [v for v, s in f.fn.storage_map.items() if v.owner is not None and s[0] is not None]
    assert kept == [] and f([1.0, 2.0]) == before


def test_the_users_graph_is_not_modified():
    x = T.dvector("x")
    y = (x * 1 + 0).sum()
    before = theano.printing.debugprint(y, file="str")
    theano.function([x], y)
    assert theano.printing.debugprint(y, file="str") == before
    assert not hasattr(y, "clients") or not y.clients


def test_functions_are_equal_only_to_themselves():
    x = T.dscalar("x")
    f = theano.function([x], x)
    assert f == f and f != f.copy() and len({f, f, f.copy()}) == 2


def test_deep_graphs_compile_without_recursion():
    x = T.dscalar("x")
    y = x
    for _ in range(3000):
        y = T.exp(y)
    f = theano.function([x], y, mode=theano.Mode(linker="vm", optimizer=None))
    with np.errstate(over="ignore"):
        assert f(0.0) == np.inf


def test_many_threads_compile_and_call():
    x = T.dvector("x")
    shared_function = theano.function([x], (x * 2).sum())
    a, default = T.dscalars("a", "default")
    with_default = theano.function([a, In(default, value=100.0)], a + default)
    failures = []

    def work(n):
        try:
            f = theano.function([x], x + n)
            for i in range(50):
                assert np.all(f(np.full(3, i)) == i + n)
                assert shared_function(np.full(3, float(i))) == 6 * i
                assert shared_function([float(i)] * 2) == 4 * i
                assert with_default(i, default=n) == i + n and with_default(i) == i + 100
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_functions_that_were_pickled_find_their_classes():
    from theano.compile import aliasing, function_module

    assert aliasing.Supervisor is function_module.Supervisor


def test_copies_of_functions_that_share_a_state_share_their_own():
    x, s = T.dscalars("x", "s")
    v = T.dvector("v")
    up = theano.function([x, theano.In(s, value=0.0, update=s + x, mutable=True)], s)
    down = theano.function([x, theano.In(s, value=up.container[s], update=s - x, mutable=True)], s)
    plus = theano.function([x, theano.In(v, value=np.arange(3.0))], x + v)
    up(10)
    for _, s2, v2, up2, down2, plus2 in (
        copy.deepcopy([x, s, v, up, down, plus]),
        pickle.loads(pickle.dumps([x, s, v, up, down, plus], -1)),
    ):
        assert up2.container[s2].storage is down2.container[s2].storage is not up.container[s].storage
        assert (up2(5), down2(1), up2[s2], up[s]) == (10, 15, 14, 10)
        assert plus2(1.0).tolist() == plus2(1.0).tolist() == [1, 2, 3] and plus2[v2].tolist() == [0, 1, 2]
        assert plus2(1.0, [5.0]).tolist() == [6] and plus2[v2].tolist() == [0, 1, 2]


def test_names_of_inputs_are_texts():
    x = T.dscalar()
    with pytest.raises(TypeError, match="name must be a string"):
        theano.function([theano.In(x, name=[])], x)


def test_signature_name_and_repr():
    x, y, unnamed = T.dmatrix("x"), T.dscalar("y"), T.dvector()
    scaled = theano.function([x, theano.In(y, value=2.0)], x * y, name="scaled")
    assert str(inspect.signature(scaled)) == "(x: TensorType(float64, matrix), y: TensorType(float64, scalar) = 2.0)"
    assert scaled.__name__ == "scaled"
    assert repr(scaled) == (
        "<theano.Function scaled(x: TensorType(float64, matrix), y: TensorType(float64, scalar)) -> TensorType(float64, matrix)>"
    )

    @functools.wraps(scaled)
    def wrapped(*args):
        return scaled(*args)

    assert inspect.signature(wrapped) == inspect.signature(scaled)
    named = theano.function([unnamed, y], {"twice": unnamed * y})
    assert list(inspect.signature(named).parameters) == ["input_0", "y"]
    assert repr(named).endswith("-> [twice: TensorType(float64, vector)]>")
    assert named.__name__ == "function"
    assert repr(theano.function([], [])).endswith("() -> []>")
    assert theano.compile.function_module.Function.__name__ == "Function"
    assert callable(inspect.signature(type(scaled)).bind)
    keyword = theano.function([T.dscalar("lambda"), x], x, on_unused_input="ignore")
    assert list(inspect.signature(keyword).parameters) == ["input_0", "x"]


def test_functions_are_compiled_where_test_values_are_asked_for(mode):
    n, x, d = T.lscalar(), T.dvector(), T.dmatrix()
    for variable, value in (n, 3), (x, np.ones(3)), (d, np.eye(3)):
        variable.tag.test_value = np.asarray(value)
    with theano.config.change_flags(compute_test_value="raise"):
        steps, updates = theano.scan(lambda total: total + x, outputs_info=[T.zeros_like(x)], n_steps=n)
        factor = T.slinalg.cholesky(d)
        outputs = [T.tri(n, n, 0), T.eye(n), T.bartlett(n), T.nnet.softmax(d), steps[-1], T.grad(factor.sum(), d), d[d > 0]]
        f = theano.function([n, x, d], outputs, updates=updates, mode=mode)
    for variable, value in zip(outputs, f(3, np.ones(3), np.eye(3))):
        np.testing.assert_allclose(value, variable.tag.test_value)
