import copy
import gc
import pickle
import sys

import pytest

import theano
from theano.gof import CachedConstantError, Constant, DestroyHandler, FunctionGraph, MissingInputError, graph
from theano.gof.toolbox import (
    AlreadyThere,
    Bookkeeper,
    Feature,
    GetCheckpoint,
    History,
    NodeFinder,
    NoOutputFromInplace,
    PreserveNames,
    PreserveVariableAttributes,
    PrintListener,
    ReplacementDidntRemovedError,
    ReplaceValidate,
    Validator,
)

from .toys import Toy, TwoOutputs, chain, inplace, number, toy


class Log(Feature):
    def __init__(self):
        self.events = []

    def on_import(self, fgraph, node, reason):
        self.events.append(("import", node, reason))

    def on_prune(self, fgraph, node, reason):
        self.events.append(("prune", node, reason))

    def on_change_input(self, fgraph, node, i, r, new_r, reason=None):
        self.events.append(("change", node, i, r, new_r, reason))


@pytest.fixture
def small():
    x, y = number("x"), number("y")
    a = Toy("a")(x, y)
    return FunctionGraph([x, y], [Toy("b")(a, x)], clone=False), x, y, a


def test_clients_of_variables(small):
    fg, x, y, a = small
    b = fg.outputs[0]
    assert fg.clients(x) == [(a.owner, 0), (b.owner, 1)] and fg.clients(y) == [(a.owner, 1)]
    assert fg.clients(b) == [("output", 0)] and b.fgraph is fg and b.owner.fgraph is fg
    assert str(fg) == "[b(a(x, y), x)]"
    fg.check_integrity()


def test_the_users_graph_is_cloned_by_default():
    x = number("x")
    y = toy(x)
    fg = FunctionGraph([x], [y])
    assert fg.outputs[0] is not y and not hasattr(y, "clients")


def test_missing_inputs_are_named():
    x, y = number("x"), number("y")
    with pytest.raises(MissingInputError, match=r"Input 1 of the graph .*was not provided and not given a value") as e:
        FunctionGraph([x], [toy(x, y)])
    assert e.value.variable.name == "y" and "test_fg.py" in str(e.value)
    assert isinstance(pickle.loads(pickle.dumps(e.value)), MissingInputError)
    with pytest.raises(MissingInputError):
        FunctionGraph([x], [y])


def test_a_refused_import_changes_nothing(small):
    fg, x, y, a = small
    with pytest.raises(MissingInputError):
        fg.replace(a, toy(number("other")))
    fg.check_integrity()
    assert a in fg.variables


def test_shared_constants_need_cloning():
    c = Constant(number, 1)
    c.cached = True
    with pytest.raises(CachedConstantError):
        FunctionGraph([], [toy(c)], clone=False)


def test_inputs_must_have_no_owner():
    x, v = chain(2)
    with pytest.raises(ValueError, match="already existing node"):
        FunctionGraph([v.owner.inputs[0]], [v], clone=False)
    assert len(FunctionGraph([v.owner.inputs[0]], [v]).apply_nodes) == 1


def test_replacement_imports_and_prunes(small):
    fg, x, y, a = small
    log = Log()
    fg.attach_feature(log)
    new = Toy("new")(Toy("inner")(y))
    b = fg.outputs[0].owner
    fg.replace(a, new, reason="why")
    assert log.events == [
        ("import", new.owner.inputs[0].owner, "why"),
        ("import", new.owner, "why"),
        ("prune", a.owner, "why"),
        ("change", b, 0, a, new, "why"),
    ]
    assert a not in fg.variables and a.owner not in fg.apply_nodes
    fg.check_integrity()


def test_unused_outputs_keep_a_node():
    x = number("x")
    p, q = TwoOutputs()(x)
    fg = FunctionGraph([x], [p, q], clone=False)
    fg.replace(p, x)
    assert q.owner in fg.apply_nodes and fg.outputs == [x, q]
    fg.check_integrity()
    fg.replace(q, x)
    assert not fg.apply_nodes
    fg.check_integrity()


def test_replacing_what_is_gone_does_nothing(small):
    fg, x, y, a = small
    fg.replace(a, x)
    fg.replace(a, y)
    assert fg.outputs[0].owner.inputs == [x, x]


def test_types_must_agree(small):
    fg, x, y, a = small
    other = theano.gof.generic("other")
    with pytest.raises(TypeError):
        fg.change_input(a.owner, 0, other)
    with pytest.raises(TypeError):
        fg.replace(a, other)
    with pytest.raises(Exception, match="does not belong"):
        fg.change_input(toy(x).owner, 0, y)


def test_verbose_replacements_are_printed(small, capsys):
    fg, x, y, a = small
    fg.replace(a, x, reason="because", verbose=True)
    assert capsys.readouterr().out.strip() == "because a.0 x"


def test_test_values_of_replacements_must_agree(small):
    fg, x, y, a = small
    import numpy as np

    a.type.filter = lambda data, strict=False, allow_downcast=None: data
    try:
        a.tag.test_value, x.tag.test_value = np.zeros(2), np.zeros(3)
        with theano.config.change_flags(compute_test_value="raise"), pytest.raises(AssertionError):
            fg.replace(a, x)
    finally:
        del a.type.filter


def test_many_clients_are_removed_quickly():
    x = number("x")
    fg = FunctionGraph([x], [toy(toy(x), *[x] * 5000)], clone=False)
    big = fg.outputs[0].owner
    for i in range(5000, 0, -1):
        fg.change_input(big, i, big.inputs[0])
    assert fg.clients(x) == [(big.inputs[0].owner, 0)]
    fg.check_integrity()
    with pytest.raises(ValueError):
        fg.clients(big.inputs[0]).remove(("output", 7))


def test_what_a_feature_asks_during_a_change_is_not_kept():
    class Asks(Feature):
        def on_prune(self, fgraph, node, reason):
            fgraph.toposort()
            fgraph.depth_first()

    x, y = number("x"), number("y")
    overwritten, read = inplace(x), toy(x)
    for features in ([Asks(), DestroyHandler()], [DestroyHandler(), Asks()]):
        fgraph = FunctionGraph([x, y], [overwritten, read], features=features)
        fgraph.replace(fgraph.outputs[1], toy(fgraph.inputs[1]))
        assert set(fgraph.toposort()) == set(fgraph.depth_first()) == fgraph.apply_nodes


def test_toposort_is_cached_until_something_changes(small):
    fg, x, y, a = small
    order = fg.toposort()
    order.clear()
    assert len(fg.toposort()) == 2
    fg.replace(a, x)
    assert fg.toposort() == [fg.outputs[0].owner]


def test_orderings_must_be_reproducible(small):
    fg, x, y, a = small

    class Sets(Feature):
        def orderings(self, fgraph):
            return {a.owner: {fg.outputs[0].owner}}

    feature = Sets()
    fg.attach_feature(feature)
    with pytest.raises(TypeError):
        fg.orderings()
    fg.remove_feature(feature)
    assert fg.orderings() == {}


def test_disown_frees_the_nodes(small):
    fg, x, y, a = small
    out = fg.outputs[0]
    with pytest.raises(Exception, match="owned by another"):
        FunctionGraph([x, y], [out], clone=False)
    fg.disown()
    FunctionGraph([x, y], [out], clone=False).check_integrity()


def test_clone_attaches_the_features(small):
    fg, x, y, a = small
    log = Log()
    fg.attach_feature(log)
    new, equiv = fg.clone_get_equiv()
    assert log in new._features and equiv[a].owner in new.apply_nodes
    assert log not in fg.clone(attach_feature=False)._features


def test_pickle_and_deepcopy(small):
    fg, x, y, a = small
    for new in (pickle.loads(pickle.dumps(fg, -1)), copy.deepcopy(fg)):
        new.check_integrity()
        assert str(new) == str(fg)
        new.replace_validate(new.outputs[0].owner.inputs[0], new.inputs[1])
        assert str(new) == "[b(y, x)]" and str(fg) == "[b(a(x, y), x)]"
        mark = new.checkpoint()
        new.replace(new.inputs[1], new.inputs[0])
        new.revert(mark)
        assert str(new) == "[b(y, x)]"


def test_deep_graphs():
    x, v = chain(20_000)
    fg = FunctionGraph([x], [v])
    assert len(fg.toposort()) == 20_000
    new = pickle.loads(pickle.dumps(fg, -1))
    new.check_integrity()
    fg.replace(fg.outputs[0], fg.inputs[0])
    assert not fg.apply_nodes
    fg.check_integrity()


def test_already_there(small):
    fg, *_ = small

    class Once(Feature):
        def on_attach(self, fgraph):
            if hasattr(fgraph, "once"):
                raise AlreadyThere()
            fgraph.once = self

    first, second = Once(), Once()
    fg.attach_feature(first)
    fg.attach_feature(second)
    fg.attach_feature(first)
    assert [f for f in fg._features if isinstance(f, Once)] == [first]
    assert fg.collect_callbacks("on_detach", fg).keys() >= {first}


def test_history_reverts_to_any_mark(small):
    fg, x, y, a = small
    start = fg.checkpoint()
    fg.replace(a, x)
    middle = fg.checkpoint()
    fg.replace(x, y)
    assert str(fg) == "[b(y, y)]"
    fg.revert(middle)
    assert str(fg) == "[b(x, x)]"
    fg.revert(start)
    assert str(fg) == "[b(a(x, y), x)]"
    fg.check_integrity()
    n = len(fg._features)
    fg.attach_feature(History())
    fg.attach_feature(Validator())
    fg.attach_feature(ReplaceValidate())
    assert len(fg._features) == n


def test_replace_all_validate_remove(small, capsys):
    fg, x, y, a = small
    with pytest.raises(ReplacementDidntRemovedError):
        fg.replace_all_validate_remove([(y, x)], [a.owner], reason="kept")
    assert str(fg) == "[b(a(x, y), x)]" and "kept" in capsys.readouterr().err
    fg.replace_all_validate_remove([(a, x)], [a.owner])
    assert str(fg) == "[b(x, x)]"


def test_bookkeeper_and_node_finder(small):
    fg, x, y, a = small
    finder = NodeFinder()
    fg.attach_feature(finder)
    assert fg.get_nodes(Toy("a")) == [a.owner] and fg.get_nodes(Toy("c")) == []
    fg.replace(a, Toy("c")(x))
    assert fg.get_nodes(Toy("a")) == [] and len(fg.get_nodes(Toy("c"))) == 1
    with pytest.raises(TypeError):
        fg.get_nodes([])
    new = pickle.loads(pickle.dumps(fg))
    assert len(new.get_nodes(Toy("c"))) == 1
    fg.remove_feature(finder)
    assert not hasattr(fg, "get_nodes")

    class Count(Bookkeeper):
        n = 0

        def on_import(self, fgraph, node, reason):
            self.n += 1

        def on_prune(self, fgraph, node, reason):
            self.n -= 1

    count = Count()
    fg.attach_feature(count)
    assert count.n == 2
    fg.remove_feature(count)
    assert count.n == 0


def test_names_and_attributes_are_preserved(small):
    fg, x, y, a = small
    fg.attach_feature(PreserveNames())
    a.name = "the sum"
    a.tag.nan_guard_mode_check = False
    new = toy(x)
    fg.replace(a, new)
    assert new.name == "the sum"
    fg.attach_feature(PreserveVariableAttributes())
    new.tag.nan_guard_mode_check = True
    last = toy(y)
    fg.replace(new, last)
    assert last.name == "the sum" and last.tag.nan_guard_mode_check


def test_print_listener(small, capsys):
    fg, x, y, a = small
    fg.attach_feature(PrintListener())
    fg.replace(a, toy(x), reason="r")
    out = capsys.readouterr().out
    for text in ("-- attaching to:", "-- importing: toy(x), reason: r", "-- pruning: a(x, y)", "-- changing (b("):
        assert text in out
    fg.attach_feature(PrintListener(False))
    assert capsys.readouterr().out == ""


def test_no_output_from_inplace():
    x = number("x")
    fg = FunctionGraph([x], [toy(toy(x)), toy(x)], clone=False)
    fg.attach_feature(theano.gof.DestroyHandler())
    fg.attach_feature(NoOutputFromInplace(first_output_idx=0, last_output_idx=1))
    old = fg.outputs[0]
    with pytest.raises(theano.gof.InconsistencyError, match="modifying another variable"):
        fg.replace_validate(old, inplace(*old.owner.inputs))
    assert fg.outputs[0] is old
    inner = old.owner.inputs[0]
    fg.replace_validate(inner, inplace(toy(x)))
    assert fg.consistent()


def test_integrity_is_checked(small):
    fg, x, y, a = small
    a.owner.inputs[0] = y
    with pytest.raises(Exception, match="Inconsistent clients"):
        fg.check_integrity()


def test_add_input(small):
    fg, *_ = small
    z = number("z")
    fg.add_input(z)
    fg.add_input(z)
    assert fg.inputs[-1] is z and len(fg.inputs) == 3
    fg.check_integrity()
    assert set(graph.variables(fg.inputs, fg.outputs)) == fg.variables


@pytest.mark.skipif(sys.version_info[:2] not in ((3, 11), (3, 12)), reason="how instances are laid out differs")
def test_the_members_of_a_graph_have_no_dictionaries():
    x = theano.tensor.dvector("x")
    graph = FunctionGraph([x], [theano.tensor.exp(x * 2)])
    members = [*graph.variables, *graph.apply_nodes]
    assert len(members) > 5
    assert not [m for m in members if any(type(part) is dict for part in gc.get_referents(m))]


def test_a_graph_has_one_copy_of_a_constant_of_all_graphs():
    two = theano.tensor.constant(2.0)
    assert two.cached
    x = theano.tensor.dscalar("x")
    graph = FunctionGraph([x], [x + 1, x + 3])
    graph.replace(graph.outputs[0], graph.inputs[0] * two)
    graph.replace(graph.outputs[1], graph.inputs[0] - two)
    first, second = (out.owner.inputs[1] for out in graph.outputs)
    assert first is second and first is not two and first.data == 2
    graph.check_integrity()


def test_the_mark_of_a_history_knows_its_graph(small):
    fg = small[0]
    assert isinstance(fg.checkpoint, GetCheckpoint)
    assert fg.checkpoint.fgraph is fg and isinstance(fg.checkpoint.history, History)


def test_features_may_say_themselves_what_is_not_pickled():
    class Noted:
        def __init_subclass__(cls, note, **kwargs):
            super().__init_subclass__(**kwargs)
            cls.note = note

    class Named(ReplaceValidate, Noted, note="a"):
        pickle_rm_attr = ("mine",)

    class More(Named, note="b"):
        pass

    assert (More.pickle_rm_attr, More.note) == (("mine",), "b")
    assert set(ReplaceValidate.pickle_rm_attr) == ReplaceValidate.provides.keys()


def test_a_node_gets_another_op_and_the_history_takes_it_back():
    x, end = chain(3)
    finder = NodeFinder()
    fgraph = FunctionGraph([x], [end], features=[finder])
    node = fgraph.outputs[0].owner.inputs[0].owner
    assert fgraph.can_change_ops()
    mark = fgraph.checkpoint()
    fgraph.change_op(node, inplace)
    assert node.op == inplace and finder.query(fgraph, inplace) == [node] and len(finder.query(fgraph, toy)) == 2
    assert inplace in fgraph.present_ops()
    fgraph.check_integrity()
    fgraph.revert(mark)
    assert node.op == toy and not finder.query(fgraph, inplace) and len(finder.query(fgraph, toy)) == 3


def test_a_node_gets_other_inputs_and_the_history_takes_it_back():
    x, y = theano.tensor.dvectors("xy")
    half = theano.tensor.constant([0.5])
    log = Log()
    fgraph = FunctionGraph([x, y], [theano.tensor.exp(x * y * half * y)])
    node = fgraph.outputs[0].owner.inputs[0].owner
    product, last = node.inputs
    fgraph.attach_feature(log)
    mark = fgraph.checkpoint()
    fgraph.put_inputs(node, [last, product])
    assert node.inputs == [last, product] and last.clients.count((node, 0)) == 1 and (node, 1) not in last.clients
    fgraph.check_integrity()
    inner = product.owner
    others, old = inner.inputs[:-1], inner.inputs[-1]
    fgraph.put_inputs(inner, [theano.tensor.constant(0.25).dimshuffle("x").owner.inputs[0].clone(), *others])
    assert inner.inputs[0].data == 0.25 and old not in fgraph.variables
    fgraph.check_integrity()
    fgraph.revert(mark)
    assert node.inputs == [product, last] and inner.inputs == [*others, old]
    fgraph.check_integrity()


@pytest.mark.parametrize("feature", [PrintListener(active=False), type("Mine", (PreserveVariableAttributes,), {})()])
def test_who_sees_replacements_is_not_passed_over(feature):
    x, end = chain(2)
    assert not FunctionGraph([x], [end], features=[feature]).can_change_ops()


def test_nodes_of_a_graph_that_was_not_cloned_keep_their_ops():
    """They belong to expressions that the user has, of which other functions may be made."""
    x = theano.tensor.dvector("x")
    middle = theano.tensor.exp(x)
    end = theano.tensor.tanh(middle)
    fgraph = FunctionGraph([x], [end], clone=False)
    assert not fgraph.can_change_ops()
    assert fgraph.clone().can_change_ops() and pickle.loads(pickle.dumps(fgraph)).can_change_ops()
    theano.compile.mode.optdb.query("+inplace", "+merge").optimize(fgraph)
    assert fgraph.outputs[0].owner.op.inplace_pattern
    assert not end.owner.op.inplace_pattern and not middle.owner.op.inplace_pattern
