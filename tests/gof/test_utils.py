import copy
import hashlib
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import theano
from theano.gof import FunctionGraph, sched, unify, utils
from theano.gof.callcache import CallCache
from theano.gof.compilelock import compile_lock, lock_ctx
from theano.gof.memo import Bounded
from theano.misc.frozendict import frozendict
from theano.misc.ordered_set import OrderedSet

from .toys import Toy, number, toy


def test_scratchpad():
    tag = utils.scratchpad()
    tag.a = 1
    other = copy.copy(tag)
    other.b = 2
    assert not hasattr(tag, "b") and tag.__update__(other).b == 2
    assert pickle.loads(pickle.dumps(tag)).b == 2 and "'a': 1" in str(tag)
    tag.clear()
    assert not hasattr(tag, "a") and not hasattr(tag, "trace")
    with pytest.raises(AttributeError):
        del tag.trace


def test_test_values_are_pickled_if_the_flag_says_so():
    tag = utils.scratchpad()
    tag.test_value = 3
    assert pickle.loads(pickle.dumps(tag)).test_value == 3
    with theano.config.change_flags(pickle_test_value=False):
        assert not hasattr(pickle.loads(pickle.dumps(tag)), "test_value")


def nested(n, x):
    return nested(n - 1, x) if n else utils.add_tag_trace(x)


def test_traces_are_bounded():
    x = number("x")
    with theano.config.change_flags({"traceback.limit": 3}):
        assert len(nested(9, x).tag.trace[0]) == 3
    assert len(utils.add_tag_trace(x, 1).tag.trace[0]) == 1
    with theano.config.change_flags({"traceback.limit": -1}):
        assert len(nested(20, x).tag.trace[0]) > 20
    filename, lineno, name, text = x.tag.trace[0][-1]
    assert (filename, name) == (__file__, "nested") and text.startswith("return nested(")
    assert "Backtrace when that variable is created" in utils.get_variable_trace_string(x)
    assert pickle.loads(pickle.dumps(x)).tag.trace == x.tag.trace
    del x.tag.trace
    assert utils.get_variable_trace_string(x) == ""


def test_constants_that_graphs_share_gather_no_stack_traces():
    shared = theano.tensor.constant(3.0)
    assert shared.cached
    before = getattr(shared.tag, "trace", None)
    for _ in range(3):
        utils.copy_stack_trace([theano.tensor.dscalar() + 1, theano.tensor.dscalar() + 2], shared)
    assert getattr(shared.tag, "trace", None) == before


def test_copy_stack_trace_merges():
    x = number("x")
    y = toy(number("a"))
    z = toy(number("b"))
    stack_y, stack_z = y.tag.trace[0], z.tag.trace[0]
    del x.tag.trace
    utils.copy_stack_trace([y, z], x)
    assert x.tag.trace == [stack_y, stack_z]
    utils.copy_stack_trace(y, x)
    assert x.tag.trace == [stack_y, stack_z]


def test_simple_extract_stack():
    assert utils.simple_extract_stack()[-1][2] == "test_simple_extract_stack"
    assert len(utils.simple_extract_stack(limit=2)) == 2
    assert utils.simple_extract_stack(skips=["test_utils"])[-1][0] != __file__


def test_hashes(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"bytes")
    assert hashlib.sha256(b"bytes").hexdigest() in utils.hash_from_file(path)
    assert utils.hash_from_code("a") == utils.hash_from_code(b"a") != utils.hash_from_code("b")
    assert utils.hash_from_dict({"a": 1, "b": [2, 3]}) == utils.hash_from_dict({"b": [2, 3], "a": 1})


def test_flatten_needs_no_recursion():
    deep = [1]
    for _ in range(10_000):
        deep = [deep]
    assert utils.flatten(deep) == [1]
    assert utils.flatten([1, (2, {3}), []]) == [1, 2, 3] and utils.flatten(7) == [7]


def test_toposort_refuses_cycles():
    assert utils.toposort({"c": ["a", "b"], "b": ["a"], "a": []}) == ["a", "b", "c"]
    for bad in ({"a": ["b"], "b": ["a"]}, {"a": ["unknown"]}):
        with pytest.raises(Exception, match="sort topologically"):
            utils.toposort(bad)


@given(st.lists(st.integers(0, 5)))
def test_uniq_keeps_first_occurrences(seq):
    assert utils.uniq(seq) == sorted(set(seq), key=seq.index) and utils.unique(seq) == (len(set(seq)) == len(seq))
    assert utils.uniq([[i] for i in seq]) == [[i] for i in utils.uniq(seq)]


def test_give_variables_names():
    a, b, c = number("a"), number("a"), number()
    utils.give_variables_names([a, b, c])
    assert len({a.name, b.name, c.name}) == 3 and all((a.name, b.name, c.name))


def test_guards():
    assert utils.difference([1, 2, 3], [2]) == [1, 3] and utils.remove(lambda x: x > 1, [1, 2]) == [1]
    assert utils.to_return_values([1]) == 1 and utils.from_return_values(1) == [1] and utils.hist("aab") == {"a": 2, "b": 1}
    assert utils.D(a=1).a == 1


def test_unification():
    x, y = unify.Var("x"), unify.Var("y")
    assert unify.unify(("add", x, 2), ("add", 1, y))[0] == ("add", 1, 2)
    assert unify.unify((x, x), (1, 2)) == (None, False) and unify.unify((x, x), (1, 1))[0] == (1, 1)
    assert unify.unify([x, {"k": x}], [3, {"k": y}])[0] == [3, {"k": 3}]
    assert unify.unify((1, 2), (1, 2, 3))[0] is None
    some, none = unify.OrVariable("o", [1, 2]), unify.NotVariable("n", [1])
    assert unify.unify(some, 2)[0] == 2 and unify.unify(some, 3)[1] is False
    assert unify.unify(none, 2)[0] == 2 and unify.unify(none, 1)[1] is False
    assert unify.unify(some, none)[0] == 2
    assert unify.unify((x, y, x), (y, 5, unify.wildcard()))[0] == (5, 5, 5)


def test_schedules():
    assert sched.posort([3, 1, 2], lambda a, b: a - b) == [1, 2, 3]
    x = number("x")
    a, b = Toy("a")(x), Toy("b")(x)
    c = toy(a, b)
    by_name = sched.key_to_cmp(lambda node: -ord(node.op.name[0]))
    order = [sched.make_dependence_cmp(), by_name]
    assert [n.op.name for n in sched.sort_apply_nodes([x], [c], order)] == ["b", "a", "toy"]
    assert [n.op.name for n in sched.sort_apply_nodes([x], [c], [by_name])] == ["toy", "b", "a"]
    assert [n.op.name for n in sched.sort_schedule_fn(by_name)(FunctionGraph([x], [c], clone=False))] == ["b", "a", "toy"]


def test_call_cache(tmp_path):
    path = str(tmp_path / "cache")
    calls = []
    cache = CallCache(path)
    for _ in range(2):
        assert cache.call(lambda: calls.append(1) or 7, key="k") == 7
    cache.persist()
    assert calls == [1] and CallCache(path).call(None, key="k") == 7
    (tmp_path / "cache").write_bytes(b"damaged")
    assert CallCache(path).cache == {}


@given(st.lists(st.tuples(st.sampled_from(["add", "discard"]), st.integers(0, 9))))
def test_ordered_set_is_a_set_in_order(steps):
    s, plain = OrderedSet(), {}
    for action, item in steps:
        getattr(s, action)(item)
        if action == "add":
            plain.setdefault(item)
        else:
            plain.pop(item, None)
    assert list(s) == list(plain) and len(s) == len(plain) and list(s | OrderedSet([3])) == list({**plain, 3: None})


def test_ordered_set_wants_an_order():
    with pytest.raises(TypeError):
        OrderedSet({1, 2})
    assert OrderedSet([1, 2]).union([3]) == OrderedSet([1, 2, 3]) and OrderedSet([1, 2]).pop() == 2
    with pytest.raises(KeyError):
        OrderedSet().pop()


def test_frozendict():
    d = frozendict(a=1)
    assert d["a"] == 1 and d == {"a": 1} and {d: 2}[frozendict({"a": 1})] == 2 and d.copy(b=2)["b"] == 2
    assert pickle.loads(pickle.dumps(d)) == d
    with pytest.raises(TypeError):
        d["b"] = 1


def test_the_compile_lock_decorates_functions():
    @lock_ctx()
    def locked():
        return compile_lock()._is_owned()

    with lock_ctx("directory", keep_lock=True) as value:
        assert value is None
    assert locked() and locked() and not compile_lock()._is_owned()


def test_what_is_kept_while_a_bounded_table_is_cleared_counts():
    table = Bounded(3)

    class Last:
        def __del__(self):
            table.keep("meanwhile", 1, size=2)

    table.keep("last", Last(), size=3)
    table.keep("new", 2)
    assert dict(table) == {"meanwhile": 1, "new": 2} and table.size == 3
