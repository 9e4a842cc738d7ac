import copy
import pickle
import sys
import threading

import pytest

import theano
from theano.gof import Apply, Constant, Variable, graph
from theano.gof.graph import (
    NoParams,
    ancestors,
    as_string,
    clone,
    clone_get_equiv,
    general_toposort,
    inputs,
    io_connection_pattern,
    io_toposort,
    is_in_ancestors,
    is_same_graph,
    list_of_nodes,
    nodes_constructed,
    op_as_string,
    ops,
    orphans,
    stack_search,
    variables,
    view_roots,
)
from theano.gof.traverse import depth_first_order

from .toys import Toy, TwoOutputs, chain, number, toy, view

DEEP = 20_000


@pytest.fixture
def deep():
    assert sys.getrecursionlimit() < 5000
    return chain(DEEP)


def test_apply_takes_over_its_outputs():
    x, out = number("x"), number()
    node = Apply(toy, [x], [out])
    assert out.owner is node and out.index == 0
    assert node.nin == node.nout == 1
    assert node.get_parents() == [x] and out.get_parents() == [node] and x.get_parents() == []
    assert node.out is out


def test_apply_refuses_what_is_no_variable_and_outputs_of_others():
    x = number("x")
    y = toy(x)
    with pytest.raises(ValueError):
        Apply(toy, [x], [y])
    with pytest.raises(ValueError):
        Apply(toy, [x], [number(), y])
    with pytest.raises(TypeError):
        Apply(toy, [1], [number()])
    with pytest.raises(TypeError):
        Apply(toy, [x], [1])
    with pytest.raises(TypeError):
        Apply(toy, x, [number()])
    with pytest.raises(ValueError):
        Apply(toy, [x], [Constant(number, 1)])


def test_a_variable_takes_attributes_of_its_users():
    x = number("x")
    x.my_own = 3
    x.tag.mine = 4
    assert x.my_own == 3 and x.clone().tag.mine == 4
    assert not hasattr(x, "clients")


def test_variable_checks_its_arguments():
    with pytest.raises(TypeError):
        Variable(number, owner=3)
    with pytest.raises(TypeError):
        Variable(number, index="0")
    with pytest.raises(TypeError):
        Variable(number, name=3)


def test_text_of_variables():
    x = number("x")
    assert str(x) == "x" and str(number()) == "<number>"
    y = toy(x)
    assert str(y) == "toy.0"
    assert str(y.owner) == "toy(x)" == repr(y.owner)
    assert str(Constant(number, 2)) == "Constant{2.0}"
    assert str(Constant(number, 2, name="c")) == "c"


def test_auto_names_count():
    a, b = number(), number()
    assert int(b.auto_name.split("_")[1]) == int(a.auto_name.split("_")[1]) + 1


def test_constant_filters_its_data_and_keeps_it():
    c = Constant(number, 3)
    assert c.data == c.value == 3.0 and isinstance(c.data, float)
    with pytest.raises(AttributeError):
        c.value = 4
    assert c.equals(Constant(number, 3)) and not c.equals(Constant(number, 4))
    assert c.clone().data is c.data


def test_clone_with_new_inputs_keeps_the_tag():
    x, y = number("x"), number("y")
    node = toy(x).owner
    node.tag.note = "n"
    new = node.clone_with_new_inputs([y])
    assert new.inputs == [y] and new.op == node.op and new.tag.note == "n" and new is not node
    assert node.inputs == [x]


def test_run_params():
    assert toy(number()).owner.run_params() is NoParams


def test_traversals_agree_on_a_small_graph():
    x, y, z = number("x"), number("y"), number("z")
    a = toy(x, y)
    b = Toy("b")(a, z)
    assert inputs([b]) == [x, y, z]
    assert ancestors([b]) == [b, a, x, y, z]
    assert ancestors([b], blockers=[a]) == [b, a, z]
    assert set(variables([x, y], [b])) == {x, y, z, a, b} and orphans([x, y], [b]) == [z]
    assert ops([a], [b]) == {b.owner} and list_of_nodes([x], [b])[0] is b.owner
    assert io_toposort([x, y, z], [b]) == [a.owner, b.owner]
    assert is_in_ancestors(b.owner, a.owner) and not is_in_ancestors(a.owner, b.owner)


def test_io_toposort_with_orderings():
    x = number("x")
    a, b = Toy("a")(x), Toy("b")(x)
    c = toy(a, b)
    for first, second in ((a, b), (b, a)):
        order = io_toposort([x], [c], orderings={second.owner: [first.owner]})
        assert order.index(first.owner) < order.index(second.owner) < order.index(c.owner)
    with pytest.raises(ValueError):
        io_toposort([x], [c], orderings={a.owner: [b.owner], b.owner: [a.owner]})


def test_general_toposort_refuses_sets_and_cycles():
    with pytest.raises(TypeError):
        general_toposort(["a"], lambda n: {"b", "c"})
    with pytest.raises(ValueError):
        general_toposort(["a"], {"a": ["b"], "b": ["a"]}.get)


def test_stack_search_refuses_unknown_modes():
    from collections import deque

    with pytest.raises(ValueError):
        stack_search(deque([1]), lambda n: [], "zigzag")


def test_view_roots_go_through_chains():
    x = number("x")
    y = toy(x)
    assert view_roots(view(view(y))) == [y]
    both = Toy("both", view=[0, 1])
    assert view_roots(both(view(x), y)) == [x, y]


def test_as_string_marks_what_is_shared():
    x, y = number("x"), number("y")
    a = Toy("a")(x, y)
    assert as_string([x, y], [Toy("b")(a, a)]) == ["b(*1 -> a(x, y), *1)"]
    assert as_string([a], [Toy("b")(a, y)]) == ["b(a.0, y)"]
    p, q = TwoOutputs()(x)
    assert as_string([x], [toy(p, q)]) == ["toy(*1 -> two(x), *1::1)"]
    assert op_as_string([x], toy(x).owner) == "toy(x)"


def test_clone_shares_or_copies_inputs():
    x = number("x")
    c = Constant(number, 1)
    y = toy(x, c)
    (new_x,), (new_y,) = clone([x], [y])
    assert new_x is not x and new_y.owner.inputs[0] is new_x and new_y.owner.inputs[1] is not c
    (same_x,), (new_y,) = clone([x], [y], copy_inputs=False)
    assert same_x is x and new_y.owner.inputs == [x, c] and new_y is not y
    memo = clone_get_equiv([x], [y], copy_inputs=False)
    assert memo[y].owner is memo[y.owner]


def test_io_connection_pattern_uses_the_ops_pattern():
    class First(Toy):
        def connection_pattern(self, node):
            return [[True]] + [[False]] * (len(node.inputs) - 1)

    x, y = number("x"), number("y")
    assert io_connection_pattern([x, y], [First()(x, y), toy(x, y)]) == [[True, True], [False, True]]


def test_is_same_graph_compares_structure():
    x, y, z = number("x"), number("y"), number("z")
    assert is_same_graph(toy(x, y), toy(x, y))
    assert not is_same_graph(toy(x, y), toy(y, x))
    assert not is_same_graph(Toy("a")(x), Toy("b")(x))
    assert is_same_graph(toy(x), toy(y), givens={x: y})
    assert is_same_graph(toy(x, x), toy(toy(z), toy(z)), givens=[(x, toy(z))])
    assert is_same_graph(toy(x, Constant(number, 1)), toy(x, Constant(number, 1)))
    p, q = TwoOutputs()(x)
    assert not is_same_graph(p, q) and is_same_graph(p, TwoOutputs()(x)[0])


def test_nodes_constructed_sees_its_own_thread_only():
    x = number("x")
    with nodes_constructed() as new:
        t = threading.Thread(target=lambda: toy(x))
        t.start()
        t.join()
        y = toy(x)
    toy(x)
    assert new == [y]
    assert not graph._observers


def test_depth_does_not_matter(deep):
    x, v = deep
    assert len(io_toposort([x], [v])) == DEEP
    assert len(ancestors([v])) == DEEP + 1
    (new_x,), (new_v,) = clone([x], [v])
    assert inputs([new_v]) == [new_x]
    assert is_same_graph(v, new_v, givens={x: new_x})
    assert as_string([x], [v])[0].count("toy(") == DEEP
    assert is_in_ancestors(v.owner, io_toposort([x], [v])[0])
    assert io_connection_pattern([x], [v]) == [[True]]


@pytest.mark.parametrize("protocol", [0, 2, pickle.HIGHEST_PROTOCOL])
def test_deep_graphs_pickle(deep, protocol):
    x, v = deep
    x.tag.note = [v]
    new_x, new_v = pickle.loads(pickle.dumps((x, v), protocol))
    order = io_toposort([new_x], [new_v])
    assert len(order) == DEEP and inputs([new_v]) == [new_x]
    assert new_x.tag.note[0] is new_v and new_v.owner.outputs == [new_v]
    assert not hasattr(new_v, "clients")


def test_pickling_several_variables_shares_their_graph():
    x, v = chain(50)
    outs = [toy(v) for _ in range(20)]
    one = len(pickle.dumps(outs[0], -1))
    assert len(pickle.dumps(outs, -1)) < 3 * one
    new = pickle.loads(pickle.dumps(outs, -1))
    assert len({id(o.owner.inputs[0]) for o in new}) == 1


def test_deep_graphs_copy(deep):
    x, v = deep
    new_v, new_x = copy.deepcopy([v, x])
    assert len(io_toposort([new_x], [new_v])) == DEEP and new_x is not x


def test_copies_keep_identities():
    x = number("x")
    p, q = TwoOutputs()(x)
    x.other = q
    new_q, new_p, new_x = copy.deepcopy((q, p, x))
    assert new_q.owner is new_p.owner and new_q.owner.outputs == [new_p, new_q]
    assert new_x.other is new_q and new_p.type is number
    shallow = copy.copy(p)
    assert shallow is not p and shallow.owner is p.owner


def test_pickled_node_brings_its_outputs():
    x = number("x")
    node = pickle.loads(pickle.dumps(TwoOutputs()(x)[0].owner))
    assert [o.index for o in node.outputs] == [0, 1] and all(o.owner is node for o in node.outputs)


def test_eval_caches_the_function():
    x = theano.tensor.dscalar("x")
    y = x + 1
    assert y.eval({x: 1.0}) == 2.0
    (kept,) = y._fn_cache.values()
    assert y.eval({x: 2.0}) == 3.0 and list(y._fn_cache.values()) == [kept]
    assert not hasattr(pickle.loads(pickle.dumps(y)), "_fn_cache")


def test_eval_takes_inputs_in_the_order_given_first():
    x, y = theano.tensor.dscalars("x", "y")
    for given in ([x, y], [y, x]):
        z = x - y
        assert z.eval(dict.fromkeys(given, 2.0)) == z.eval({x: 3.0, y: 3.0}) == 0.0 and z.eval({y: 1.0, x: 3.0}) == 2.0
        ((inputs, f),) = z._fn_cache.values()
        assert list(inputs) == given and [i.variable.name for i in f.maker.inputs] == [v.name for v in given]


def test_print_test_value():
    x = number("x")
    x.tag.test_value = 42.0
    with theano.config.change_flags(print_test_value=True):
        assert "42" in repr(x)
    assert repr(x) == "x"


def test_depth_first_order():
    x, y = number("x"), number("y")
    shared = toy(x)
    left, right = toy(shared, y), toy(y, shared)
    out = toy(left, right)
    order = depth_first_order([out, shared])
    assert [node.outputs[0] for node in order] == [shared, left, right, out]
    left.owner.inputs[1] = out
    with pytest.raises(ValueError, match="cycles"):
        depth_first_order([out])


def test_an_empty_tag_has_no_trace():
    x = number("x")
    x.tag.clear()
    assert x.tag.is_empty() and not hasattr(x.tag, "trace")
    x.tag.trace = [[("file", 1, "f", "text")]]
    x.tag.note = 1
    copied, deep, pickled = copy.copy(x.tag), copy.deepcopy(x.tag), pickle.loads(pickle.dumps(x.tag))
    for tag in (copied, deep, pickled):
        assert tag.trace == x.tag.trace and tag.note == 1
    del x.tag.trace
    assert not hasattr(x.tag, "trace") and copied.trace
