import copy
import gc
import pickle
import random

import pytest

import theano
from theano.gof import Constant, DestroyHandler, FunctionGraph, InconsistencyError
from theano.gof.destroyhandler import fast_inplace_check
from theano.gof.graph import io_toposort, view_roots

from .toys import Toy, inplace, number, toy, view


def fg_of(inputs, outputs, algo=None):
    return FunctionGraph(inputs, outputs, features=[DestroyHandler(algo=algo)], clone=False)


def names(fg):
    return [node.op.name for node in fg.toposort()]


def test_readers_come_before_the_node_that_destroys():
    x = number("x")
    t = toy(x)
    fg = fg_of([x], [toy(Toy("read")(t), inplace(t))])
    fg.validate()
    assert names(fg).index("read") < names(fg).index("inplace")
    assert [n.op for n in fg.destroyers(t)] == [inplace] and fg.has_destroyers([x, t]) and not fg.destroyers(x)


def test_readers_of_views_come_before():
    x = number("x")
    v = view(view(x))
    fg = fg_of([x], [toy(Toy("read")(v), inplace(x))])
    fg.validate()
    assert names(fg)[-2:] == ["inplace", "toy"]
    assert fg.destroyers(v) == fg.destroyers(x) != []


def test_two_destroyers_are_refused():
    x = number("x")
    assert not fg_of([x], [toy(inplace(x), Toy("other", destroy=[0])(view(x)))]).consistent()


def test_destroying_a_constant_is_refused():
    c = Constant(number, 1)
    assert not fg_of([], [inplace(view(c))]).consistent()
    x = number("x")
    x.tag.indestructible = True
    assert not fg_of([x], [inplace(x)]).consistent()


def test_aliased_inputs_are_refused_unless_tolerated():
    x = number("x")
    add = Toy("add", destroy=[0])
    assert not fg_of([x], [add(x, x)]).consistent()
    x = number("x")
    assert not fg_of([x], [add(x, view(x))]).consistent()
    x = number("x")
    assert fg_of([x], [Toy("add", destroy=[0], tolerate=[(0, 1)])(x, view(x))]).consistent()


def test_an_op_may_destroy_several_inputs():
    x, y = number("x"), number("y")
    both = Toy("both", destroy=[0, 1])
    fg = fg_of([x, y], [toy(both(x, y), Toy("read")(y))])
    fg.validate()
    assert names(fg).index("read") < names(fg).index("both")


def test_a_cycle_is_refused_and_undone():
    x = number("x")
    t = toy(x)
    e = Toy("a")(t)
    fg = fg_of([x], [Toy("b")(e, t)])
    with pytest.raises(InconsistencyError):
        fg.replace_validate(e, inplace(t))
    assert fg.outputs[0].owner.inputs[0] is e
    fg.validate()
    fg.check_integrity()


def test_changing_a_view_moves_its_readers():
    x, y = number("x"), number("y")
    v = view(x)
    d = inplace(y)
    read = Toy("read")(v, d)
    fg = fg_of([x, y], [read])
    fg.validate()
    with pytest.raises(InconsistencyError):
        fg.replace_validate(x, y)
    fg.validate()
    assert fg.destroyers(v) == []


def test_attaching_twice_and_to_another_graph():
    x = number("x")
    fg = fg_of([x], [toy(x)])
    n = len(fg._features)
    fg.attach_feature(DestroyHandler())
    assert len(fg._features) == n
    y = number("y")
    with pytest.raises(Exception, match="only serve one"):
        FunctionGraph([y], [toy(y)], clone=False).attach_feature(fg.destroy_handler)
    new, _ = fg.clone_get_equiv()
    assert new.destroy_handler is not fg.destroy_handler
    fg.remove_feature(fg.destroy_handler)
    assert not hasattr(fg, "destroyers")


def test_fast_algorithm_wants_single_readers():
    x = number("x")
    t = toy(x)
    assert fg_of([x], [inplace(t)], "fast").consistent()
    x = number("x")
    t = toy(x)
    assert not fg_of([x], [toy(inplace(t), Toy("read")(t))], "fast").consistent()
    x = number("x")
    assert not fg_of([x], [inplace(view(toy(x)))], "fast").consistent()


def test_algorithm_comes_from_the_flag():
    assert DestroyHandler().algo == "regular"
    with theano.config.change_flags(cycle_detection="fast"):
        assert DestroyHandler().algo == "fast"


def test_fast_inplace_check():
    x, y = number("x"), number("y")
    c = Constant(number, 1)
    out = toy(inplace(x), y, c)
    fg = fg_of([x, y], [out])
    assert fast_inplace_check([x, y, c, out]) == [y]
    assert fast_inplace_check([]) == []
    assert fg.has_destroyers([x])


def test_pickling_and_copying_keep_the_service():
    x = number("x")
    fg = fg_of([x], [inplace(toy(x))])
    for new in (pickle.loads(pickle.dumps(fg)), copy.deepcopy(fg)):
        assert new.has_destroyers([new.outputs[0].owner.inputs[0]]) and new.consistent()
        new.check_integrity()


def allowed(fg):
    """Whether the graph is consistent, by the definition."""
    before = {}
    struck = set()
    for node in fg.apply_nodes:
        for i in getattr(node.op, "destroy_map", {}).get(0, ()):
            (root,) = view_roots(node.inputs[i])
            if root in struck or isinstance(root, Constant):
                return False
            struck.add(root)
            for j, other in enumerate(node.inputs):
                if j != i and view_roots(other) == [root]:
                    return False
            readers = [n for n in fg.apply_nodes if any(view_roots(v) == [root] for v in n.inputs)]
            before.setdefault(node, []).extend(n for n in readers if n is not node)
    try:
        io_toposort(fg.inputs, fg.outputs, before)
        return True
    except ValueError:
        return False


@pytest.mark.parametrize("seed", range(40))
def test_agrees_with_the_definition_on_random_graphs(seed):
    rng = random.Random(seed)
    xs = [number(f"x{i}") for i in range(3)]
    pool = [*xs, Constant(number, 1)]
    for _ in range(30):
        args = [rng.choice(pool[-12:]) for _ in range(rng.randint(1, 3))]
        pool.append(rng.choice([toy, toy, toy, view])(*args))
    fg = fg_of(xs, [toy(*pool[4:][::3], pool[-1])])
    for _ in range(120):
        nodes = [n for n in fg.toposort() if n.outputs[0] not in fg.outputs]
        node = rng.choice(nodes)
        op = rng.choice([Toy("d", destroy=[rng.randrange(len(node.inputs))]), toy, view])
        kind = rng.random()
        if kind < 0.7:
            pair = (node.outputs[0], op(*node.inputs))
        else:
            # Another input, from further up so that the graph itself stays free of cycles.
            pair = (node.inputs[rng.randrange(len(node.inputs))], rng.choice(xs))
            if pair[0] is pair[1] or isinstance(pair[0], Constant):
                continue
        mark = fg.checkpoint()
        fg.replace(*pair)
        expected = allowed(fg)
        fg.revert(mark)
        try:
            fg.replace_validate(*pair)
            got = True
        except InconsistencyError:
            got = False
        assert got == expected
        assert allowed(fg)
    fg.check_integrity()


def test_in_place_passes_take_time_in_proportion():
    import time

    def seconds(n):
        x = number("x")
        acts, v = [], x
        for _ in range(n):
            acts.append(v)
            v = toy(v)
        for a in reversed(acts):
            v = toy(v, a)
        fg = fg_of([x], [v])
        start = time.process_time()
        for node in fg.toposort():
            if node.inputs[0] is not x and not fg.destroyers(node.inputs[0]):
                try:
                    fg.replace_validate(node.outputs[0], inplace(*node.inputs))
                except InconsistencyError:
                    pass
        return time.process_time() - start

    # What other tests left behind is not to be cleared away here.
    gc.disable()
    try:
        few, many = (min(seconds(n) for _ in range(3)) for n in (300, 3000))
    finally:
        gc.enable()
    assert many < 30 * max(few, 0.02)
