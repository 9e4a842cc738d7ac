"""Rewriting machinery: global and local optimizers, patterns, navigators, equilibrium, merging."""

import gc
import io
import logging
import pickle
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theano import gof
from theano.configparser import change_flags
from theano.gof.graph import Apply
from theano.gof.opt import (
    EquilibriumOptimizer,
    FromFunctionOptimizer,
    GraphToGPULocalOptGroup,
    LocalOptGroup,
    LocalOptimizer,
    MergeOptimizer,
    NavigatorOptimizer,
    OpKeyOptimizer,
    OpRemove,
    OpSub,
    Optimizer,
    PatternSub,
    SeqOptimizer,
    TopoOptimizer,
    check_stack_trace,
    copy_stack_trace,
    in2out,
    inplace_optimizer,
    is_same_graph_with_merge,
    local_optimizer,
    optimizer,
    out2in,
    pre_constant_merge,
    pre_greedy_local_optimizer,
)
from theano.gof.traverse import depth_first_order
from theano.scalar import add, float64, identity, mul, neg, sub, true_div
from theano.scalar.basic import ScalarConstant


@pytest.fixture
def xyz():
    return float64("x"), float64("y"), float64("z")


def constant(value):
    return ScalarConstant(float64, float(value))


def graph(inputs, *outputs):
    return gof.FunctionGraph(list(inputs), list(outputs))


def deep_chain(x, n):
    for _ in range(n):
        x = neg(x)
    return x


class TestGlobal:
    def test_optimize_adds_requirements_before_it_applies(self, xyz):
        calls = []

        class Recorder(Optimizer):
            def add_requirements(self, fgraph):
                calls.append("requirements")

            def apply(self, fgraph):
                calls.append("apply")

        Recorder().optimize(graph(xyz, neg(xyz[0])))
        assert calls == ["requirements", "apply"]

    def test_function_becomes_optimizer(self, xyz):
        seen = []
        opt = optimizer(lambda fgraph: seen.append(fgraph))
        fgraph = graph(xyz, neg(xyz[0]))
        opt.optimize(fgraph)
        assert seen == [fgraph] and isinstance(opt, FromFunctionOptimizer)

    def test_inplace_optimizer_attaches_destroy_handler(self, xyz):
        fgraph = graph(xyz, neg(xyz[0]))
        inplace_optimizer(lambda fgraph: None).optimize(fgraph)
        assert fgraph.destroy_handler is not None

    def test_sequence_runs_in_order_and_profiles(self, xyz):
        order = []
        seq = SeqOptimizer([optimizer(lambda f: order.append(1)), optimizer(lambda f: order.append(2))])
        prof = seq.optimize(graph(xyz, neg(xyz[0])))
        stream = io.StringIO()
        seq.print_profile(stream, prof)
        assert order == [1, 2]
        assert "for 1/1 nodes before/after optimization" in stream.getvalue()
        merged = SeqOptimizer.merge_profile(prof, prof)
        assert merged.nb_before == 2 and len(merged.parts) == 2

    @pytest.mark.parametrize("how", ["ignore", "warn"])
    def test_sequence_goes_on_after_a_failure(self, xyz, how):
        def fail(fgraph):
            raise RuntimeError("on purpose")

        ran = []
        seq = SeqOptimizer([optimizer(fail), optimizer(lambda f: ran.append(1))], failure_callback=SeqOptimizer.warn)
        logging.getLogger("theano.gof.opt").disabled = True
        try:
            with change_flags(on_opt_error=how):
                seq.optimize(graph(xyz, neg(xyz[0])))
        finally:
            logging.getLogger("theano.gof.opt").disabled = False
        assert ran == [1]

    def test_sequence_raises_if_told_to(self, xyz):
        def fail(fgraph):
            raise RuntimeError("on purpose")

        logging.getLogger("theano.gof.opt").disabled = True
        try:
            with change_flags(on_opt_error="raise"), pytest.raises(RuntimeError, match="on purpose"):
                SeqOptimizer([optimizer(fail)], failure_callback=SeqOptimizer.warn).optimize(graph(xyz, neg(xyz[0])))
        finally:
            logging.getLogger("theano.gof.opt").disabled = False


class TestLocalOptimizerDecorator:
    def test_tracks_and_transform(self, xyz):
        @local_optimizer([neg])
        def opt(node):
            return [node.inputs[0]]

        x = xyz[0]
        assert isinstance(opt, LocalOptimizer)
        assert opt.tracks() == [neg]
        assert opt.transform(neg(x).owner) == [x]
        assert str(opt) == "opt"

    def test_none_tracks_everything(self):
        assert local_optimizer(None)(lambda node: None).tracks() is None

    @pytest.mark.parametrize("tracks", [[], ["neg"], [int]])
    def test_wrong_tracks_are_refused(self, tracks):
        with pytest.raises(ValueError):
            local_optimizer(tracks)(lambda node: None)

    def test_requirements_are_called(self, xyz):
        called = []
        opt = local_optimizer([neg], requirements=[called.append])(lambda node: None)
        fgraph = graph(xyz, neg(xyz[0]))
        TopoOptimizer(opt).optimize(fgraph)
        assert called == [fgraph]

    def test_inplace_requires_the_destroy_handler(self, xyz):
        fgraph = graph(xyz, neg(xyz[0]))
        TopoOptimizer(local_optimizer([neg], inplace=True)(lambda node: None)).optimize(fgraph)
        assert fgraph.destroy_handler is not None


class TestPatterns:
    def test_op_sub(self, xyz):
        x, y, z = xyz
        fgraph = graph(xyz, sub(add(x, y), add(add(x, z), z)))
        TopoOptimizer(OpSub(add, mul)).optimize(fgraph)
        assert str(fgraph) == "[sub(mul(x, y), mul(mul(x, z), z))]"

    def test_op_sub_keeps_tags(self, xyz):
        x, y, _ = xyz
        out = add(x, y)
        out.tag.mark = "here"
        (new,) = OpSub(add, mul).transform(out.owner)
        assert new.tag.mark == "here" and new.owner.op == mul

    def test_op_remove(self, xyz):
        x, y, _ = xyz
        fgraph = graph(xyz, add(identity(x), identity(identity(y))))
        TopoOptimizer(OpRemove(identity)).optimize(fgraph)
        assert str(fgraph) == "[add(x, y)]"

    def test_repeated_variable_must_match_twice(self, xyz):
        x, y, _ = xyz
        fgraph = graph(xyz, add(mul(x, y), mul(y, y)))
        TopoOptimizer(PatternSub((mul, "a", "a"), (neg, "a"))).optimize(fgraph)
        assert str(fgraph) == "[add(mul(x, y), neg(y))]"

    def test_nested_pattern_and_constant(self, xyz):
        x, y, _ = xyz
        fgraph = graph(xyz, sub(add(x, constant(2)), y), sub(add(x, constant(3)), y))
        TopoOptimizer(PatternSub((sub, (add, "a", 2.0), "b"), (mul, "b", "a"))).optimize(fgraph)
        assert str(fgraph.outputs[0].owner) == "mul(y, x)"
        assert fgraph.outputs[1].owner.op == sub

    def test_constraint(self, xyz):
        x, y, _ = xyz
        pattern = PatternSub((neg, {"pattern": "a", "constraint": lambda v: v.name == "x"}), "a")
        fgraph = graph(xyz, neg(x), neg(y))
        TopoOptimizer(pattern).optimize(fgraph)
        assert str(fgraph) == "[x, neg(y)]"

    def test_a_part_that_does_not_fit_binds_nothing(self, xyz):
        x, y, _ = xyz
        named = {"pattern": "a", "constraint": lambda v: v.name == "x"}
        pattern = PatternSub(
            (neg, (add, {"pattern": (neg, "a"), "constraint": lambda v: False}, "b")),
            "b",
            skip_identities_fn=lambda v: v.owner.inputs[0] if v.owner is not None and v.owner.op == neg else None,
        )
        fgraph = graph(xyz, neg(add(neg(x), y)))
        TopoOptimizer(pattern).optimize(fgraph)
        assert str(fgraph) == "[neg(add(neg(x), y))]"
        fgraph = graph(xyz, add(x, y), add(y, x))
        TopoOptimizer(PatternSub((add, named, "b"), "b")).optimize(fgraph)
        assert str(fgraph) == "[y, add(y, x)]"

    def test_one_part_may_be_used_elsewhere(self, xyz):
        x, y, _ = xyz
        shared = {"pattern": (neg, "a"), "allow_multiple_clients": True}
        for part, expected in (((neg, "a"), "[add(*1 -> neg(x), y), *1]"), (shared, "[sub(y, x), neg(x)]")):
            inner = neg(x)
            fgraph = graph(xyz, add(inner, y), inner)
            TopoOptimizer(PatternSub((add, part, "b"), (sub, "b", "a"))).optimize(fgraph)
            assert str(fgraph) == expected

    def test_the_debugger_starts_at_the_pattern_s_op(self, xyz, monkeypatch):
        x, y, _ = xyz
        stops = []
        monkeypatch.setattr(sys, "breakpointhook", lambda: stops.append(1))
        fgraph = graph(xyz, neg(neg(x)), add(x, y))
        TopoOptimizer(PatternSub((neg, (neg, "a")), "a", pdb=True)).optimize(fgraph)
        assert len(stops) == 2

    @pytest.mark.parametrize("allowed", [False, True])
    def test_inner_part_used_elsewhere(self, xyz, allowed):
        x, _, _ = xyz
        inner = neg(x)
        fgraph = graph(xyz, neg(inner), inner)
        TopoOptimizer(PatternSub((neg, (neg, "a")), "a", allow_multiple_clients=allowed)).optimize(fgraph)
        assert (fgraph.outputs[0] is fgraph.inputs[0]) == allowed

    def test_skip_identities(self, xyz):
        x, _, _ = xyz

        def skip(var):
            return var.owner.inputs[0] if var.owner is not None and var.owner.op == identity else None

        fgraph = graph(xyz, neg(identity(neg(x))))
        TopoOptimizer(PatternSub((neg, (neg, "a")), "a", skip_identities_fn=skip)).optimize(fgraph)
        assert fgraph.outputs[0] is fgraph.inputs[0]

    def test_get_nodes_starts_at_clients(self, xyz):
        x, _, _ = xyz
        pattern = PatternSub(
            (neg, (identity, "a")),
            "a",
            tracks=[identity],
            get_nodes=lambda node: [client for client, _ in node.outputs[0].clients],
        )
        fgraph = graph(xyz, neg(identity(x)))
        EquilibriumOptimizer([pattern], max_use_ratio=5).optimize(fgraph)
        assert fgraph.outputs[0] is fgraph.inputs[0]

    def test_needs_an_op_to_start_with(self):
        with pytest.raises(TypeError):
            PatternSub("x", "y")

    def test_text(self):
        assert str(PatternSub((true_div, (mul, "x", "y"), "y"), "x")) == "true_div(mul(x, y), y) -> x"
        assert str(PatternSub((neg, "x"), "x", name="drop")) == "drop"


class TestNavigators:
    @pytest.mark.parametrize("order", ["in_to_out", "out_to_in"])
    def test_order(self, xyz, order):
        seen = []

        @local_optimizer(None)
        def look(node):
            seen.append(node.op)

        x, y, _ = xyz
        TopoOptimizer(look, order=order).optimize(graph(xyz, neg(add(x, mul(y, y)))))
        assert seen == ([mul, add, neg] if order == "in_to_out" else [neg, add, mul])

    def test_profile(self, xyz):
        x, y, z = xyz
        fgraph = graph(xyz, add(z, mul(true_div(mul(y, x), y), true_div(z, x))))
        opt = TopoOptimizer(PatternSub((true_div, (mul, "y", "x"), "y"), "x"))
        prof = opt.optimize(fgraph)
        assert (prof.nb_changed, prof.nb_before, prof.nb_after) == (1, 5, 3)
        # The manual reads what was returned by number.
        assert prof[0] is opt
        assert (prof[1], prof[2], prof[3]) == (1, 5, 3)
        stream = io.StringIO()
        opt.print_profile(stream, prof)
        assert "nb_node (start, end, changed) (5, 3, 1)" in stream.getvalue()

    def test_new_nodes_are_looked_at(self, xyz):
        x, _, _ = xyz
        opts = LocalOptGroup(OpSub(neg, identity), OpRemove(identity))
        fgraph = graph(xyz, neg(x))
        TopoOptimizer(opts).optimize(fgraph)
        assert fgraph.outputs[0] is fgraph.inputs[0]

    def test_new_nodes_may_be_ignored(self, xyz):
        x, _, _ = xyz
        opts = LocalOptGroup(OpSub(neg, identity), OpRemove(identity))
        fgraph = graph(xyz, neg(x))
        TopoOptimizer(opts, ignore_newtrees=True).optimize(fgraph)
        assert str(fgraph) == "[identity(x)]"

    def test_wrong_order(self):
        with pytest.raises(ValueError):
            TopoOptimizer(OpSub(add, mul), order="sideways")

    def test_groups(self, xyz):
        x, y, _ = xyz
        for make in (in2out, out2in):
            fgraph = graph(xyz, add(identity(x), neg(neg(y))))
            make(OpRemove(identity), PatternSub((neg, (neg, "a")), "a"), name="both").optimize(fgraph)
            assert str(fgraph) == "[add(x, y)]"

    def test_op_key_optimizer(self, xyz):
        x, y, _ = xyz
        fgraph = graph(xyz, add(neg(x), neg(neg(y))))
        OpKeyOptimizer(OpRemove(neg)).optimize(fgraph)
        assert str(fgraph) == "[add(x, y)]"
        with pytest.raises(TypeError):
            OpKeyOptimizer(local_optimizer(None)(lambda node: None))

    def test_dict_replaces_other_variables(self, xyz):
        x, y, _ = xyz

        @local_optimizer([add])
        def push(node):
            for client, _ in node.outputs[0].clients:
                if client != "output" and client.op == neg:
                    return {client.outputs[0]: mul(*node.inputs)}
            return None

        fgraph = graph(xyz, neg(add(x, y)), neg(x))
        TopoOptimizer(push).optimize(fgraph)
        assert str(fgraph) == "[mul(x, y), neg(x)]"

    def test_dict_with_remove(self, xyz):
        x, _, _ = xyz

        @local_optimizer([neg])
        def drop(node):
            return {node.outputs[0]: node.inputs[0], "remove": [node.outputs[0]]}

        fgraph = graph(xyz, neg(x))
        TopoOptimizer(drop).optimize(fgraph)
        assert fgraph.outputs[0] is fgraph.inputs[0]

    @pytest.mark.parametrize(
        "proposal, error", [(3, TypeError), ([None, None], ValueError), ([None], ValueError)]
    )
    def test_wrong_proposals(self, xyz, proposal, error):
        opt = local_optimizer([neg])(lambda node: proposal)
        with pytest.raises(error):
            TopoOptimizer(opt).optimize(graph(xyz, neg(xyz[0])))

    def test_failure_callback(self, xyz):
        @local_optimizer([neg])
        def fail(node):
            raise RuntimeError("on purpose")

        failures = []
        TopoOptimizer(fail, failure_callback=lambda exc, *rest: failures.append(exc)).optimize(graph(xyz, neg(xyz[0])))
        assert [str(exc) for exc in failures] == ["on purpose"]
        with change_flags(on_opt_error="raise"), pytest.raises(RuntimeError):
            logging.getLogger("theano.gof.opt").disabled = True
            try:
                TopoOptimizer(fail, failure_callback=NavigatorOptimizer.warn).optimize(graph(xyz, neg(xyz[0])))
            finally:
                logging.getLogger("theano.gof.opt").disabled = False


class TestGroup:
    def test_apply_all(self, xyz):
        x, _, _ = xyz
        opts = [OpSub(neg, identity), OpSub(identity, neg)]
        assert LocalOptGroup(*opts).transform(neg(x).owner)[0].owner.op == identity
        chain = LocalOptGroup(OpSub(add, mul), OpSub(mul, sub), apply_all_opts=True)
        assert chain.transform(add(x, x).owner)[0].owner.op == sub

    def test_the_member_that_changed_the_node_is_the_reason(self, xyz):
        x, y, _ = xyz
        first, second, third = PatternSub((add, "a", "b"), (mul, "a", "b"), name="first"), OpSub(mul, sub), OpSub(neg, identity)
        reasons = []

        class Reasons(gof.toolbox.Feature):
            def on_change_input(self, fgraph, node, i, r, new_r, reason=None):
                reasons.append(str(reason))

        for all_opts in (False, True):
            fgraph = graph(xyz, add(x, y), neg(x))
            fgraph.attach_feature(Reasons())
            TopoOptimizer(LocalOptGroup(first, second, third, apply_all_opts=all_opts), ignore_newtrees=True).optimize(fgraph)
        assert reasons == ["first", "neg -> identity", "first + mul -> sub", "neg -> identity"]

    def test_no_tracks_are_all_nodes(self, xyz):
        class Negates(LocalOptimizer):
            def tracks(self):
                return []

            def transform(self, node):
                return node.op == add and [mul(*node.inputs)]

        for navigator in (
            EquilibriumOptimizer([Negates()], max_use_ratio=5),
            in2out(LocalOptGroup(OpRemove(neg), Negates())),
            out2in(Negates()),
        ):
            fgraph = graph(xyz, add(*xyz[:2]))
            navigator.optimize(fgraph)
            assert str(fgraph) == "[mul(x, y)]"

    def test_tracks_all_members(self):
        assert LocalOptGroup(OpSub(add, mul), OpRemove(neg)).tracks() == [add, neg]

    def test_profile(self, xyz):
        group = LocalOptGroup(OpSub(add, mul), profile=True)
        group.transform(add(*xyz[:2]).owner)
        assert list(group.applied_true.values()) == [1]
        stream = io.StringIO()
        group.print_profile(stream, group.counts())
        assert "add -> mul" in stream.getvalue()
        again = io.StringIO()
        group.print_profile(again, (group.time_opts, group.process_count, group.applied_true, group.node_created))
        assert again.getvalue() == stream.getvalue()


class TestEquilibrium:
    def test_until_nothing_changes(self, xyz):
        x, y, z = xyz
        opts = [
            PatternSub((sub, "x", "y"), (add, "x", (neg, "y"))),
            PatternSub((neg, (neg, "x")), "x"),
            PatternSub((neg, (add, "x", "y")), (add, (neg, "x"), (neg, "y"))),
        ]
        fgraph = graph(xyz, sub(x, sub(y, sub(z, x))))
        EquilibriumOptimizer(opts, max_use_ratio=10).optimize(fgraph)
        assert str(fgraph) == "[add(x, add(neg(y), add(z, neg(x))))]"

    def test_endless_rewriting_is_stopped(self, xyz):
        opts = [OpSub(neg, identity), OpSub(identity, neg)]
        messages = []
        handler = logging.Handler()
        handler.emit = lambda record: messages.append(record.getMessage())
        logger = logging.getLogger("theano.gof.opt")
        logger.addHandler(handler)
        try:
            with change_flags(on_opt_error="warn"):
                EquilibriumOptimizer(opts, max_use_ratio=2).optimize(graph(xyz, neg(xyz[0])))
        finally:
            logger.removeHandler(handler)
        assert any("max'ed out by" in message for message in messages)

    def test_what_is_given_twice_is_asked_once(self, xyz):
        asked = []
        watch = gof.local_optimizer(None)(lambda node: asked.append(node) or False)
        EquilibriumOptimizer([watch, watch], max_use_ratio=10).optimize(graph(xyz, neg(xyz[0])))
        assert len(asked) == 1

    def test_times_of_callbacks_keep_no_nodes(self, xyz):
        fgraph = graph(xyz, add(neg(neg(xyz[0])), xyz[1]))
        EquilibriumOptimizer([PatternSub((neg, (neg, "a")), (identity, "a"))], max_use_ratio=10).optimize(fgraph)
        timed = set(fgraph.execute_callbacks_times).difference(fgraph._features)
        held = [value for f in timed for value in vars(f).values() if isinstance(value, (list, dict, set, tuple))]
        assert held and not any(isinstance(thing, Apply) for value in held for thing in value)

    def test_ratio_is_required(self):
        with pytest.raises(ValueError):
            EquilibriumOptimizer([OpSub(add, mul)])

    def test_global_final_and_cleanup_optimizers(self, xyz):
        x, y, _ = xyz
        calls = []

        def note(name):
            class Note(Optimizer):
                def apply(self, fgraph):
                    calls.append(name)

            return Note()

        fgraph = graph(xyz, add(neg(neg(x)), neg(neg(x)), y))
        EquilibriumOptimizer(
            [PatternSub((neg, (neg, "a")), (identity, "a")), note("global")],
            max_use_ratio=10,
            final_optimizers=[note("final")],
            cleanup_optimizers=[MergeOptimizer()],
        ).optimize(fgraph)
        assert calls[:2] == ["global", "final"]
        assert len(fgraph.apply_nodes) == 2

    def test_tracks_by_class_and_for_all(self, xyz):
        x, y, _ = xyz
        seen = {"class": 0, "all": 0, "other": 0}

        def count(key, tracks):
            def opt(node):
                seen[key] += 1

            return local_optimizer(tracks)(opt)

        opts = [count("class", [type(add)]), count("all", None), count("other", [mul])]
        EquilibriumOptimizer(opts, max_use_ratio=10).optimize(graph(xyz, neg(add(x, y))))
        assert seen == {"class": 1, "all": 2, "other": 0}

    def test_profile_text(self, xyz):
        opt = EquilibriumOptimizer([PatternSub((neg, (neg, "a")), "a", name="local_neg_neg")], max_use_ratio=10)
        opt.name = "tidy"
        fgraph = graph(xyz, deep_chain(xyz[0], 4))
        prof = opt.optimize(fgraph)
        stream = io.StringIO()
        opt.print_profile(stream, prof)
        text = stream.getvalue()
        assert "EquilibriumOptimizer      tidy" in text
        assert "('local_neg_neg', 2)" in text
        merged = EquilibriumOptimizer.merge_profile(prof, prof)
        assert merged.nb_start == 8 and sum(merged.node_created.values()) == 0

    def test_change_deep_below_the_pattern_is_noticed(self, xyz):
        # The inner rewrite happens after the outer node was looked at.
        x, y, _ = xyz
        opts = [
            PatternSub((mul, (add, (neg, (true_div, "a", "b")), "b"), "b"), "a"),
            PatternSub((identity, (identity, "a")), (true_div, "a", "a")),
            PatternSub((true_div, "a", "a"), (true_div, "a", constant(2))),
        ]
        two = constant(2)
        fgraph = graph(xyz, mul(add(neg(identity(identity(x))), two), two))
        EquilibriumOptimizer(opts, max_use_ratio=10, cleanup_optimizers=[MergeOptimizer()]).optimize(fgraph)
        assert fgraph.outputs[0] is fgraph.inputs[0]

    def test_long_chain_needs_no_recursion_and_few_passes(self, xyz):
        fgraph = graph(xyz, deep_chain(xyz[0], 20000))
        prof = EquilibriumOptimizer([PatternSub((neg, (neg, "a")), "a")], max_use_ratio=10).optimize(fgraph)
        assert fgraph.outputs[0] is fgraph.inputs[0]
        assert len(prof.passes) <= 4


class TestMerge:
    def test_equal_nodes(self, xyz):
        x, y, _ = xyz
        fgraph = graph(xyz, true_div(mul(add(y, x), x), add(y, x)))
        prof = MergeOptimizer().optimize(fgraph)
        assert str(fgraph) == "[true_div(mul(*1 -> add(y, x), x), *1)]"
        assert (prof.nb_fail, prof.nb_merged, prof.nb_constant, prof.overhead.validate_time) == (0, 1, 0, None)

    def test_whole_trees(self, xyz):
        x, y, z = xyz

        def tree():
            return mul(add(neg(x), y), neg(z))

        fgraph = graph(xyz, sub(tree(), tree()))
        MergeOptimizer().optimize(fgraph)
        assert len(fgraph.apply_nodes) == 5

    def test_order_of_inputs_matters(self, xyz):
        x, y, _ = xyz
        fgraph = graph(xyz, mul(add(x, y), add(y, x)))
        MergeOptimizer().optimize(fgraph)
        assert len(fgraph.apply_nodes) == 3

    def test_constants(self, xyz):
        x, _, _ = xyz
        fgraph = graph(xyz, add(mul(x, constant(2)), mul(x, constant(2)), mul(x, constant(3))))
        prof = MergeOptimizer().optimize(fgraph)
        assert len(fgraph.apply_nodes) == 3 and prof.nb_constant == 1

    def test_names_are_kept(self, xyz):
        x, y, _ = xyz
        first, second = add(x, y), add(x, y)
        second.name = "sum"
        fgraph = graph(xyz, mul(first, second))
        MergeOptimizer().optimize(fgraph)
        assert fgraph.outputs[0].owner.inputs[0].name == "sum"

    def test_merges_what_changed_since(self, xyz):
        x, y, z = xyz
        fgraph = graph(xyz, sub(neg(add(x, y)), neg(add(x, z))))
        opt = MergeOptimizer()
        opt.optimize(fgraph)
        assert len(fgraph.apply_nodes) == 5
        fgraph.replace(fgraph.inputs[2], fgraph.inputs[1])
        opt.optimize(fgraph)
        assert str(fgraph) == "[sub(*1 -> neg(add(x, y)), *1)]"

    def test_what_a_node_was_is_not_merged(self, xyz):
        x, y, z = xyz
        fgraph = graph(xyz, add(neg(x), y), sub(x, y))
        MergeOptimizer().optimize(fgraph)
        changed = fgraph.outputs[0].owner
        fgraph.replace(fgraph.outputs[1], add(changed.inputs[0], fgraph.inputs[1]))
        fgraph.change_input(changed, 0, fgraph.inputs[2])
        MergeOptimizer().optimize(fgraph)
        assert str(fgraph) == "[add(z, y), add(neg(x), y)]"

    def test_same_op_with_other_props_is_not_merged(self, xyz):
        class Scaled(gof.Op):
            __props__ = ("factor",)

            def __init__(self, factor):
                self.factor = factor

            def make_node(self, x):
                return Apply(self, [x], [x.type()])

        x = xyz[0]
        fgraph = graph(xyz, add(Scaled(1)(x), Scaled(2)(x), Scaled(1)(x)))
        MergeOptimizer().optimize(fgraph)
        assert len(fgraph.apply_nodes) == 3

    def test_same_graph(self, xyz):
        x, y, z = xyz
        assert is_same_graph_with_merge(neg(add(x, y)), neg(add(x, y)))
        assert not is_same_graph_with_merge(neg(add(x, y)), neg(add(y, x)))
        assert is_same_graph_with_merge(neg(add(x, y)), neg(add(x, z)), givens={z: y})

    def test_pre_constant_merge(self, xyz):
        x = xyz[0]
        (out,) = pre_constant_merge([add(mul(x, constant(2)), constant(2))])
        assert out.owner.inputs[1] is out.owner.inputs[0].owner.inputs[1]

    def test_long_chains(self, xyz):
        x = xyz[0]
        fgraph = graph(xyz, add(deep_chain(x, 5000), deep_chain(x, 5000)))
        MergeOptimizer().optimize(fgraph)
        assert len(fgraph.apply_nodes) == 5001


class TestOutsideGraphs:
    def test_greedy(self, xyz):
        x, y, _ = xyz
        out = pre_greedy_local_optimizer(
            [PatternSub((neg, (neg, "a")), "a"), OpRemove(identity)], add(neg(identity(neg(x))), y)
        )
        assert str(out.owner) == "add(x, y)"


class TestStackTraces:
    def test_rewrites_keep_them(self, xyz):
        x, y, _ = xyz
        fgraph = graph(xyz, add(neg(neg(x)), y))
        TopoOptimizer(PatternSub((add, "a", "b"), (mul, "a", "b"))).optimize(fgraph)
        assert check_stack_trace(fgraph, ops_to_check="all")

    def test_missing_ones_are_found(self, xyz):
        x, y, _ = xyz
        fgraph = graph(xyz, add(x, y))
        out = fgraph.outputs[0]
        out.tag.trace = []
        assert not check_stack_trace(fgraph, ops_to_check=add, bug_print="ignore")
        with pytest.raises(Exception, match="Empty stack trace"):
            check_stack_trace(fgraph)
        copy_stack_trace(neg(x), out)
        assert check_stack_trace(fgraph, ops_to_check=[type(add)])

    def test_bad_arguments(self, xyz):
        fgraph = graph(xyz, add(*xyz[:2]))
        with pytest.raises(ValueError):
            check_stack_trace(fgraph, ops_to_check="some")
        with pytest.raises(ValueError):
            check_stack_trace(fgraph, bug_print="shout")
        with pytest.raises(ValueError):
            check_stack_trace(3)


def test_summaries_name_every_part(xyz):
    @local_optimizer([neg])
    def local_named(node):
        return None

    seq = SeqOptimizer([in2out(local_named), EquilibriumOptimizer([local_named], max_use_ratio=1)])
    stream = io.StringIO()
    seq.print_summary(stream)
    text = stream.getvalue()
    assert text.count("local_named at") == 2 and "TopoOptimizer local_named id" in text and "EquilibriumOptimizer" in text


def test_classes_pickle_by_their_documented_path():
    opt = pickle.loads(pickle.dumps(MergeOptimizer()))
    assert type(opt) is MergeOptimizer and MergeOptimizer.__module__ == "theano.gof.opt"


@pytest.mark.parametrize(
    "navigate",
    [
        TopoOptimizer,
        lambda opt, **kw: EquilibriumOptimizer([opt], max_use_ratio=9, **kw),
        lambda opt, **kw: EquilibriumOptimizer([opt], max_use_ratio=9, ignore_newtrees=False, **kw),
    ],
)
def test_a_replacement_that_is_refused_is_tried_once(xyz, navigate):
    # Both nodes would destroy the graph's input.
    class Change(gof.Op):
        __props__ = ("inplace",)

        def __init__(self, inplace):
            self.inplace = inplace
            if inplace:
                self.destroy_map = {0: [0]}

        def make_node(self, x):
            return Apply(self, [x], [x.type()])

    tries = []

    @local_optimizer([Change(False)], inplace=True)
    def make_inplace(node):
        if not node.op.inplace:
            tries.append(node)
            return Change(True)(*node.inputs, return_list=True)
        return None

    inner = neg(xyz[0])
    fgraph = graph(xyz, Change(False)(inner), Change(False)(inner), inner)
    navigate(make_inplace, failure_callback=TopoOptimizer.warn_inplace).optimize(fgraph)
    assert [out.owner.op.inplace for out in fgraph.outputs[:2]].count(True) == 1
    assert len(tries) <= 8


def test_the_garbage_collector_is_on_again_after_rewriting(xyz):
    states = []

    def fail(fgraph):
        states.append(gc.isenabled())
        raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError):
        SeqOptimizer([SeqOptimizer([optimizer(fail)])]).optimize(graph(xyz, neg(xyz[0])))
    assert states == [False] and gc.isenabled()


@pytest.mark.parametrize("ignore_newtrees", [True, False])
def test_a_replacement_that_is_never_valid_does_not_go_on_for_ever(xyz, ignore_newtrees):
    class Refuse(gof.Feature):
        def validate(self, fgraph):
            if any(node.op == identity for node in fgraph.apply_nodes):
                raise gof.InconsistencyError("no identities")

    tries = []

    @local_optimizer([neg])
    def to_identity(node):
        tries.append(node)
        return [identity(*node.inputs)]

    fgraph = graph(xyz, add(neg(neg(xyz[0])), neg(xyz[1])))
    fgraph.attach_feature(Refuse())
    for navigator in (
        TopoOptimizer(to_identity, failure_callback=TopoOptimizer.warn_inplace),
        EquilibriumOptimizer(
            [to_identity],
            max_use_ratio=9,
            ignore_newtrees=ignore_newtrees,
            failure_callback=NavigatorOptimizer.warn_inplace,
        ),
    ):
        tries.clear()
        navigator.optimize(fgraph)
        assert 3 <= len(tries) <= 12
        assert str(fgraph) == "[add(neg(neg(x)), neg(y))]"


RULES = [
    PatternSub((neg, (neg, "a")), "a", allow_multiple_clients=True),
    PatternSub((sub, "a", "b"), (add, "a", (neg, "b"))),
    PatternSub((neg, (add, "a", "b")), (add, (neg, "a"), (neg, "b")), allow_multiple_clients=True),
    PatternSub((mul, (neg, "a"), (neg, "b")), (mul, "a", "b"), allow_multiple_clients=True),
    PatternSub((identity, "a"), "a"),
]


STEPS = st.lists(
    st.tuples(st.sampled_from([neg, identity, add, sub, mul]), st.integers(0, 20), st.integers(0, 20)), max_size=20
)


def _made_by(steps, inputs):
    made = list(inputs)
    for op, i, j in steps:
        args = (made[i % len(made)],) if op in (neg, identity) else (made[i % len(made)], made[j % len(made)])
        made.append(op(*args))
    return made


@settings(max_examples=60, deadline=None)
@given(steps=STEPS, number=st.integers(1, 3))
def test_merging_keeps_the_order_of_what_is_left(steps, number):
    inputs = [float64(name) for name in "xyz"]
    fgraph = graph(inputs, *_made_by(steps, inputs)[-number:])
    MergeOptimizer().optimize(fgraph)
    assert fgraph.known_order() == depth_first_order(fgraph.outputs) or not fgraph.apply_nodes


@settings(max_examples=60, deadline=None)
@given(steps=STEPS, ignore_newtrees=st.booleans())
def test_equilibrium_keeps_the_value_and_leaves_nothing_to_do(steps, ignore_newtrees):
    inputs = [float64(name) for name in "xyz"]
    made = _made_by(steps, inputs)
    before = graph(inputs, made[-1])
    after = graph(inputs, made[-1])
    opt = EquilibriumOptimizer(
        RULES, max_use_ratio=1000, ignore_newtrees=ignore_newtrees, cleanup_optimizers=[MergeOptimizer()]
    )
    opt.optimize(after)
    after.check_integrity()
    assert not any(rule.transform(node) for node in after.toposort() for rule in RULES)
    values = (0.5, -1.25, 2.0)
    old, new = (float(gof.PerformLinker().accept(g).make_function()(*values)) for g in (before, after))
    assert new == pytest.approx(old, rel=1e-9, nan_ok=True)


def _moves(op, moved):
    """A rewrite that lets nodes of an Op stay with what `moved` says for their inputs."""
    from theano.gof.rewriting.local import NewInputs

    class Moves(LocalOptimizer):
        def tracks(self):
            return [op]

        def transform(self, node):
            found = moved(*node.inputs)
            return found and [op(*found)]

        def change(self, node):
            found = moved(*node.inputs)
            return found and NewInputs(found)

    return Moves()


@pytest.fixture
def looks_once(monkeypatch):
    """Nodes are looked at again only when something near them has changed, as in large graphs."""
    monkeypatch.setattr("theano.gof.rewriting.equilibrium._VERIFY_LIMIT", 0)


def test_a_node_that_got_other_inputs_and_goes_wakes_those_that_stay(looks_once):
    import theano.tensor as T

    @local_optimizer([T.sqr])
    def drop(node):
        v = node.inputs[0].owner.inputs[0]
        return [v] if v.owner is None else False

    @local_optimizer([T.sin])
    def alone(node):
        return [T.cos(node.inputs[0])] if len(node.inputs[0].clients) == 1 else False

    x, y = T.dvectors("xy")
    e = T.exp(x)
    fgraph = graph([x, y], T.sin(e), T.sqr(T.add(e, y)))
    swap = _moves(T.add, lambda a, b: [b, a] if b.owner is None else False)
    EquilibriumOptimizer([swap, drop, alone], max_use_ratio=10).optimize(fgraph)
    assert [node.op for node in fgraph.toposort()] == [T.exp, T.cos]


def test_what_a_node_has_less_often_is_looked_at_again(looks_once):
    import theano.tensor as T

    @local_optimizer([T.exp])
    def alone(node):
        return [T.cos(node.inputs[0])] if len(node.outputs[0].clients) == 1 else False

    x, y = T.dvectors("xy")
    e = T.exp(x)
    fgraph = graph([x, y], T.add(e, e, y))
    once = _moves(T.add, lambda a, *rest: rest if a is rest[0] else False)
    EquilibriumOptimizer([once, alone], max_use_ratio=10).optimize(fgraph)
    assert [node.op for node in fgraph.toposort()] == [T.cos, T.add]


def test_merging_never_makes_a_condition_depend_on_itself():
    import theano.tensor as T
    from theano.gof import FunctionGraph
    from theano.gof.opt import MergeOptimizer
    from theano.tensor.opt import Assert

    x, c = T.dscalar("x"), T.bscalar("c")
    check = Assert("checked")
    first = T.exp(check(x, c))
    second = T.exp(check(x, T.gt(first, 0)))
    fg = FunctionGraph([x, c], [first, second])
    MergeOptimizer().optimize(fg)
    assert len(fg.toposort()) == len(fg.apply_nodes)
    fg.check_integrity()


def test_among_inputs_spares_calls():
    calls = []

    @local_optimizer([mul], among_inputs=[neg])
    def local_mul_neg(node):
        calls.append(node)
        for k, i in enumerate(node.inputs):
            if i.owner is not None and i.owner.op == neg:
                return [neg(mul(*[i.owner.inputs[0] if j == k else other for j, other in enumerate(node.inputs)]))]
        return None

    x, y = float64("x"), float64("y")
    plain, hit = mul(add(x, y), y), mul(x, neg(y))
    fgraph = gof.FunctionGraph([x, y], [plain, hit])
    EquilibriumOptimizer([local_mul_neg], max_use_ratio=10).optimize(fgraph)
    assert len(calls) == 1
    assert [out.owner.op for out in fgraph.outputs] == [mul, neg]
    assert TopoOptimizer(LocalOptGroup(local_mul_neg)).optimize(fgraph).nb_changed == 0 and len(calls) == 1


def test_needs_spares_calls_until_the_op_comes_in():
    calls = []

    @local_optimizer([add], needs=[neg])
    def local_add_of_negated(node):
        calls.append(node)
        for k, i in enumerate(node.inputs):
            inner = i.owner.inputs[0].owner if i.owner is not None else None
            if inner is not None and inner.op == neg:
                return [add(inner.inputs[0], node.inputs[1 - k])]
        return None

    @local_optimizer([true_div])
    def local_div_to_neg(node):
        return [neg(node.inputs[0])]

    x, y = float64("x"), float64("y")
    optimizer = EquilibriumOptimizer([local_add_of_negated, local_div_to_neg], max_use_ratio=10)
    without = gof.FunctionGraph([x, y], [add(mul(x, y), y)])
    optimizer.optimize(without)
    in2out(local_add_of_negated).optimize(without)
    assert not calls
    with_it = gof.FunctionGraph([x, y], [add(mul(neg(x), y), y)])
    in2out(local_add_of_negated).optimize(with_it)
    assert calls and [i.owner for i in with_it.outputs[0].owner.inputs] == [None, None]
    calls.clear()
    for start in (neg(x), true_div(x, y)):
        with_it = gof.FunctionGraph([x, y], [add(mul(start, y), y)])
        optimizer.optimize(with_it)
        assert calls and [i.owner for i in with_it.outputs[0].owner.inputs] == [None, None]
        calls.clear()


OPTIMIZERS = [MergeOptimizer(), out2in(OpSub(add, mul)), EquilibriumOptimizer([OpSub(add, mul)], max_use_ratio=5)]


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=lambda optimizer: type(optimizer).__name__)
def test_optimizers_bring_what_makes_replacements(xyz, optimizer):
    x, y, _ = xyz
    fgraph = graph(xyz, neg(add(x, y)), neg(add(x, y)))
    for feature in list(fgraph._features):
        fgraph.remove_feature(feature)
    optimizer.optimize(fgraph)
    assert len(fgraph.apply_nodes) == (2 if isinstance(optimizer, MergeOptimizer) else 4)
    assert hasattr(fgraph, "replace_validate")


class _Told(LocalOptimizer):
    """Of another signature, as the original's rewrites for a device had: says what it was called with."""

    def __init__(self, answer):
        self.answer = answer

    def tracks(self):
        return [neg]

    def transform(self, op, context_name, inputs, outputs):
        return self.answer and (self.answer, op, context_name, inputs, outputs)


def test_a_group_for_a_device_asks_its_members_in_order():
    x = float64("x")
    y = neg(x)
    group = GraphToGPULocalOptGroup(_Told(None), _Told("first"), _Told("second"))
    assert group.transform(neg, "dev0", [x], [y]) == ("first", neg, "dev0", [x], [y])
    assert group.transform(identity, "dev0", [x], [y]) is None
    with pytest.raises(ValueError, match="apply_all_opts"):
        GraphToGPULocalOptGroup(apply_all_opts=True)


def test_nodes_that_were_left_out_are_looked_at_when_an_optimizer_for_them_wakes(xyz):
    @local_optimizer([add])
    def add_to_mul(node):
        return [mul(*node.inputs)]

    @local_optimizer([neg], needs=[mul])
    def no_neg(node):
        return [node.inputs[0]]

    @local_optimizer(None)
    def of_constants(node):
        looked_at.append(node.op)

    of_constants.of_constants = True
    looked_at = []
    x, y, z = xyz
    fgraph = gof.FunctionGraph([x, y, z], [add(x, y), neg(neg(z))])
    EquilibriumOptimizer([add_to_mul, no_neg, of_constants], max_use_ratio=10).optimize(fgraph)
    assert [node.op for node in fgraph.toposort()] == [mul]
    fgraph = gof.FunctionGraph([x, z], [add(x, x), neg(neg(z))])
    looked_at.clear()
    EquilibriumOptimizer([no_neg, of_constants], max_use_ratio=10).optimize(fgraph)
    assert len(fgraph.apply_nodes) == 3 and not looked_at
    fgraph = gof.FunctionGraph([], [add(constant(1), constant(2))])
    EquilibriumOptimizer([no_neg, of_constants], max_use_ratio=10).optimize(fgraph)
    assert looked_at == [add]


def _offers(changes):
    """A sequence of two equilibria that share a rewrite, with another optimizer between them, and what was offered to it."""
    offered = []

    @local_optimizer([neg])
    def look(node):
        offered.append(node)
        return False

    @local_optimizer([add])
    def other(node):
        return False

    stages = [EquilibriumOptimizer([look], max_use_ratio=10), EquilibriumOptimizer([look, other], max_use_ratio=10)]
    seq = SeqOptimizer([stages[0], optimizer(changes), stages[1]])
    return seq, stages, offered


def test_what_a_stage_has_seen_the_next_one_does_not_offer_again():
    x, y, _ = (float64(name) for name in "xyz")
    for changes, times in (
        (lambda fgraph: None, 1),
        # Another graph, other features: it is all new.
        (lambda fgraph: fgraph.replace(fgraph.inputs[1], fgraph.inputs[0]), 2),
        (lambda fgraph: fgraph.attach_feature(gof.toolbox.NodeFinder()), 2),
    ):
        seq, stages, offered = _offers(changes)
        fgraph = graph([x, y], add(neg(x), y))
        seq.optimize(fgraph)
        assert len(offered) == times
        # Who calls an optimizer is not told that it need not look.
        for n, stage in enumerate(stages, 1):
            stage.optimize(fgraph)
            assert len(offered) == times + n


def test_a_change_wakes_what_has_seen_the_graph_before_it():
    x, y, z = (float64(name) for name in "xyz")
    seen = []

    @local_optimizer([mul])
    def of_mul(node):
        # Its node is not offered where the second stage begins, and is one of those near its change.
        seen.append([i.owner is not None and i.owner.op == sub for i in node.inputs])
        return [add(*node.inputs)] if any(seen[-1]) else False

    @local_optimizer([add])
    def to_sub(node):
        return [sub(*node.inputs)]

    stages = [EquilibriumOptimizer([of_mul], max_use_ratio=10), EquilibriumOptimizer([of_mul, to_sub], max_use_ratio=10)]
    fgraph = graph([x, y, z], mul(add(x, y), z))
    SeqOptimizer(stages).optimize(fgraph)
    assert seen == [[False, False], [True, False]]
    assert str(fgraph) == "[sub(sub(x, y), z)]"


def _chain(x, n):
    for _ in range(n):
        x = identity(x)
    return x


@pytest.mark.parametrize("nodes", [0, 1200])
@pytest.mark.parametrize("far", [1, 5, 10])
def test_a_change_far_below_wakes_what_has_seen_the_graph_before_it(far, nodes):
    x, y, z = (float64(name) for name in "xyz")

    @local_optimizer([mul])
    def looks_far(node):
        below = node.inputs[0]
        for _ in range(far):
            below = below.owner.inputs[0]
        return [add(*node.inputs)] if below.owner is not None and below.owner.op == sub else False

    @local_optimizer([true_div])
    def to_sub(node):
        return [sub(*node.inputs)]

    stages = [EquilibriumOptimizer([looks_far], max_use_ratio=10), EquilibriumOptimizer([looks_far, to_sub], max_use_ratio=10)]
    out = mul(_chain(true_div(x, y), far), z)
    fgraph = graph([x, y, z], _chain(out, nodes))
    SeqOptimizer(stages).optimize(fgraph)
    assert {str(node.op) for node in fgraph.apply_nodes} == {"add", "identity", "sub"}


def test_what_a_global_optimizer_attaches_is_seen():
    x, y, _ = (float64(name) for name in "xyz")

    @local_optimizer([neg])
    def asks(node):
        return [node.inputs[0]] if any(isinstance(f, gof.toolbox.NodeFinder) for f in node.fgraph._features) else False

    attach = optimizer(lambda fgraph: fgraph.attach_feature(gof.toolbox.NodeFinder()))
    stages = [EquilibriumOptimizer([asks], max_use_ratio=10), EquilibriumOptimizer([attach, asks], max_use_ratio=10)]
    fgraph = graph([x, y], add(neg(x), y))
    SeqOptimizer(stages).optimize(fgraph)
    assert str(fgraph) == "[add(x, y)]"


def test_who_changes_the_graph_without_saying_so_is_seen():
    x, y, _ = (float64(name) for name in "xyz")

    @local_optimizer([neg])
    def below_sub(node):
        # Is offered its node before the change, in the first stage.
        clients = [client for client, _ in node.outputs[0].clients]
        return [node.inputs[0]] if any(client != "output" and client.op == sub for client in clients) else False

    @local_optimizer([add])
    def silent(node):
        node.fgraph.replace(node.outputs[0], sub(*node.inputs))
        return False

    stages = [EquilibriumOptimizer([below_sub, silent], max_use_ratio=10) for _ in range(2)]
    fgraph = graph([x, y], add(neg(x), y))
    SeqOptimizer(stages).optimize(fgraph)
    assert str(fgraph) == "[sub(x, y)]"
