"""Databases of optimizers and queries."""

import contextlib
import copy
import io
import pickle

import pytest

from theano import gof
from theano.gof import Query
from theano.gof.opt import (
    EquilibriumOptimizer,
    LocalOptGroup,
    OpRemove,
    Optimizer,
    PatternSub,
    SeqOptimizer,
    TopoOptimizer,
)
from theano.gof.optdb import DB, EquilibriumDB, LocalGroupDB, ProxyDB, SequenceDB, TopoDB
from theano.scalar import add, float64, identity, neg, sub


class Note(Optimizer):
    def __init__(self, name, applied):
        self.text = name
        self.applied = applied

    def apply(self, fgraph):
        self.applied.append(self.text)


def optimize_a_small_graph(opt):
    x = float64("x")
    opt.optimize(gof.FunctionGraph([x], [neg(x)]))


@pytest.fixture
def sequence():
    applied = []
    db = SequenceDB()
    db.register("opt_c", Note("c", applied), 3, "fast", "tag_x")
    db.register("opt_a", Note("a", applied), 1, "fast", "stable")
    db.register("opt_b", Note("b", applied), 2.5, "slow", "stable")
    db.register("opt_d", Note("d", applied), 4, "fast", "slow", "buggy")

    def query(*args, **kwargs):
        applied.clear()
        optimize_a_small_graph(db.query(*args, **kwargs))
        return "".join(applied)

    query.db = db
    return query


class TestSequence:
    @pytest.mark.parametrize(
        "query, expected",
        [
            (Query(include=["fast"]), "acd"),
            (Query(include=["fast", "slow"]), "abcd"),
            (Query(include=["fast", "slow"], require=["stable"]), "ab"),
            (Query(include=["fast"], exclude=["buggy"]), "ac"),
            (Query(include=["fast"], exclude=["opt_a"]), "cd"),
            (Query(include=["opt_b"]), "b"),
            (Query(include=["fast"]).including("slow"), "abcd"),
            (Query(include=["fast"]).excluding("buggy"), "ac"),
            (Query(include=["fast"]).including("slow").requiring("stable"), "ab"),
            (Query(include=["fast"], position_cutoff=3), "a"),
            (Query(include=["Note"]), "abcd"),
        ],
    )
    def test_selection(self, sequence, query, expected):
        assert sequence(query) == expected

    def test_short_form(self, sequence):
        assert sequence("+fast", "-buggy") == "ac"
        assert sequence("+fast", "+slow", "&stable") == "ab"
        assert sequence("+fast", position_cutoff=3.5) == "ac"
        with pytest.raises(TypeError):
            sequence(Query(include=[]), "+fast")

    def test_names_and_tags_do_not_collide(self, sequence):
        with pytest.raises(ValueError):
            sequence.db.register("fast", Note("e", []), 1)
        with pytest.raises(ValueError):
            sequence.db.register("opt_e", Note("e", []), 1, "opt_a")
        with pytest.raises(TypeError):
            sequence.db.register("opt_f", "not an optimizer", 1)
        with pytest.raises(TypeError):
            sequence.db.register("opt_g", Note("g", []), "first")

    def test_what_is_refused_leaves_no_trace(self, sequence):
        kept = Note("e", [])
        for error, args in ((TypeError, (kept, "first")), (ValueError, (kept, 1, "fast", "opt_a"))):
            with pytest.raises(error):
                sequence.db.register("opt_e", *args)
            assert "opt_e" not in sequence.db and kept.name is None
        assert sequence(Query(include=["Note"])) == "abcd"
        group = LocalGroupDB()
        with pytest.raises(TypeError):
            group.register("sub", OpRemove(identity), "all", position="first")
        assert group.query("+all").opts == []

    def test_a_text_is_no_collection_of_tags(self):
        for wrong in ({"include": "fast"}, {"include": [], "require": "fast"}, {"include": [], "exclude": "fast"}):
            with pytest.raises(TypeError, match="fast"):
                Query(**wrong)

    def test_tags_can_be_added_and_removed(self, sequence):
        sequence.db.add_tags("opt_b", "fast")
        assert sequence("+fast") == "abcd"
        sequence.db.remove_tags("opt_a", "fast")
        assert sequence("+fast") == "bcd"

    def test_extra_optimizations(self, sequence):
        applied = []
        extra = Note("extra", applied)
        optimize_a_small_graph(sequence.db.query(Query(include=["fast"]).register((extra, 1.5))))
        assert applied == ["extra"]

    def test_an_optimizer_may_run_a_second_time_elsewhere(self, sequence):
        assert sequence(Query(include=["fast"]).register((sequence.db["opt_a"], 3.5))) == "acad"

    def test_last_position(self, sequence):
        applied = []
        sequence.db.register("opt_z", Note("z", applied), "last", "fast")
        opts = sequence.db.query("+fast")
        assert isinstance(opts, SeqOptimizer) and opts[-1].name == "opt_z"

    def test_lookup(self, sequence):
        assert sequence.db["opt_a"].text == "a"
        assert "opt_a" in sequence.db and "nothing" not in sequence.db
        with pytest.raises(KeyError):
            sequence.db["nothing"]
        with pytest.raises(ValueError):
            sequence.db["fast"]

    def test_summary(self, sequence):
        stream = io.StringIO()
        sequence.db.print_summary(stream)
        assert "('opt_a', 1.0)" in stream.getvalue()

    def test_the_summary_goes_to_the_standard_output_of_the_moment(self, sequence):
        for printed in (sequence.db, sequence.db.query("+fast")):
            stream = io.StringIO()
            with contextlib.redirect_stdout(stream):
                printed.print_summary()
            assert "opt_a" in stream.getvalue()

    def test_the_result_has_the_query_s_name(self, sequence):
        query = Query(include=["fast"])
        query.name = "OPT_FAST"
        assert sequence.db.query(query).name == "OPT_FAST"


class TestSubDatabases:
    def make(self, applied):
        outer, inner = SequenceDB(), SequenceDB()
        outer.register("first", Note("f", applied), 1, "fast")
        outer.register("inner", inner, 2, "fast")
        outer.register("last", Note("l", applied), 3, "fast")
        inner.register("i1", Note("1", applied), 1, "fast")
        inner.register("i2", Note("2", applied), 2, "special")
        return outer

    @pytest.mark.parametrize(
        "subquery, expected",
        [(None, "f1l"), ({"inner": Query(["special"])}, "f2l"), ({"inner": Query(["special", "fast"])}, "f12l")],
    )
    def test_subquery(self, subquery, expected):
        applied = []
        optimize_a_small_graph(self.make(applied).query(Query(include=["fast"], subquery=subquery)))
        assert "".join(applied) == expected

    def test_registered_objects_get_the_database_s_name_as_tag(self):
        applied = []
        outer = self.make(applied)
        outer["inner"].register("i3", Note("3", applied), 3)
        optimize_a_small_graph(outer["inner"].query("+inner"))
        assert applied == ["1", "2", "3"]

    def test_proxy(self):
        applied = []
        outer = SequenceDB()
        inner = self.make(applied)
        outer.register("one", inner, 1, "fast")
        outer.register("two", ProxyDB(inner), 2, "fast")
        optimize_a_small_graph(outer.query("+fast"))
        assert "".join(applied) == "f1lf1l"
        with pytest.raises(TypeError):
            ProxyDB("no database")


class TestLocalDatabases:
    def test_equilibrium(self):
        db = EquilibriumDB()
        db.register("neg_neg", PatternSub((neg, (neg, "x")), "x"), "simple")
        db.register("sub", PatternSub((sub, "x", "y"), (add, "x", (neg, "y"))), "simple", "rewrite_sub")
        x, y = float64("x"), float64("y")

        def result(*query):
            fgraph = gof.FunctionGraph([x, y], [sub(x, neg(neg(neg(y))))])
            opt = db.query(*query)
            assert isinstance(opt, EquilibriumOptimizer)
            opt.optimize(fgraph)
            return str(fgraph)

        assert result("+simple") == "[add(x, y)]"
        assert result("+simple", "-rewrite_sub") == "[sub(x, neg(y))]"

    def test_final_and_cleanup(self):
        db = EquilibriumDB()
        applied = []
        db.register("final", Note("f", applied), "all", final_opt=True)
        db.register("clean", Note("c", applied), "all", cleanup=True)
        opt = db.query("+all")
        assert [o.name for o in opt.final_optimizers] == ["final"]
        assert [o.name for o in opt.cleanup_optimizers] == ["clean"]
        with pytest.raises(ValueError):
            db.register("both", Note("b", applied), final_opt=True, cleanup=True)

    def test_groups_and_navigator(self):
        db = LocalGroupDB()
        db.register("remove", OpRemove(identity), "all")
        db.register("neg_neg", PatternSub((neg, (neg, "x")), "x"), "all", position=-1)
        group = db.query("+all")
        assert isinstance(group, LocalOptGroup) and [o.name for o in group.opts] == ["neg_neg", "remove"]
        x = float64("x")
        fgraph = gof.FunctionGraph([x], [neg(neg(identity(x)))])
        summary = io.StringIO()
        TopoDB(ProxyDB(db)).print_summary(summary)
        assert "neg_neg" in summary.getvalue()
        navigator = TopoDB(db).query("+all")
        assert isinstance(navigator, TopoOptimizer)
        navigator.optimize(fgraph)
        assert fgraph.outputs[0] is fgraph.inputs[0]


def test_all_databases_are_databases():
    for db in (SequenceDB(), EquilibriumDB(), LocalGroupDB(), TopoDB(DB()), ProxyDB(DB())):
        assert isinstance(db, gof.optdb.DB)


def test_queries_copy_and_pickle():
    query = Query(include=["a"], exclude=["b"], require=["c"])
    for other in (copy.copy(query), pickle.loads(pickle.dumps(query))):
        assert list(other.include) == ["a"] and list(other.exclude) == ["b"] and list(other.require) == ["c"]
    assert "inc=['a']" in str(query)
