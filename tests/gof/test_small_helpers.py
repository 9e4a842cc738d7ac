"""Small helpers of theano.gof that programs use."""

import pytest

import theano
import theano.tensor as T
from theano.gof import destroyhandler, link, op, opt, sched, toolbox, unify, utils


def test_toposort_of_edges():
    assert sched._toposort({1: {2, 3}, 2: (3,)}) == [1, 2, 3]
    assert sched._toposort({}) == []
    with pytest.raises(ValueError, match="cycles"):
        sched._toposort({1: {2}, 2: {1}})


def test_memodict_asks_once():
    asked = []
    f = sched.memodict(lambda x: asked.append(x) or x + 1)
    assert [f(1), f(1), f(2)] == [2, 2, 3] and asked == [1, 2]


def test_keywords_are_marks():
    assert [bool(k) for k in (utils.ABORT, utils.RETRY, utils.FAILURE, utils.FALL_THROUGH)] == [False, False, False, True]
    assert str(utils.ABORT) == "<ABORT>" and isinstance(utils.ANY_TYPE, utils.simple_types)
    assert {"int", "template"} <= utils.c_cpp_keywords


def test_a_metaclass_gives_what_props_ask_for():
    class P(metaclass=utils.MetaObject):
        __props__ = ("a",)

        def __init__(self, a):
            self.a = a

    assert P(1) == P(1) != P(2) and hash(P(1)) == hash(P(1)) and str(P(1)) == "P{a=1}"
    assert P(3)._props() == (3,) and P(3)._props_dict() == {"a": 3}
    with pytest.raises(TypeError, match="tuple"):
        utils.MetaObject("Q", (), {"__props__": "ab"})


def test_sections_of_c_code():
    class Sections:
        code_sections = {"code": "x"}
        c_code, c_headers = op.simple_meth("code"), op.simple_meth("headers")

    assert Sections().c_code() == "x"
    with pytest.raises(utils.MethodNotDefined):
        Sections().c_headers()


def test_a_change_is_undone():
    x, y = T.dscalars("xy")
    fgraph = theano.FunctionGraph([x, y], [T.exp(x)], clone=False)
    node = fgraph.outputs[0].owner
    undo = toolbox.LambdExtract(fgraph, node, 0, x, "test")
    fgraph.change_input(node, 0, y)
    undo()
    assert node.inputs == [x]


def test_functions_of_patterns():
    x = unify.var_lookup(unify.FreeVariable, "x")
    _, u = unify.unify([x, 2], [3, 2])
    assert unify.FVar(lambda a, b: a + b, x, 4)(u) == 7


def test_cells_are_emptied():
    def f():
        pass

    cells = {"a": [1], "b": [2]}
    link.add_clear_storage(f, ["a"], cells)
    f.clear_storage()
    assert cells == {"a": [None], "b": [2]}
    assert issubclass(destroyhandler.ProtocolError, Exception)


def test_chains_of_ops():
    x = T.dvector()
    y = T.exp(T.log(x))
    assert opt.check_chain(y, T.exp, T.log, None) and opt.check_chain(y.owner, T.elemwise.Elemwise)
    assert not opt.check_chain(y, T.log) and not opt.check_chain(y, T.exp, None) and not opt.check_chain(x, T.exp)
    assert opt.merge_dict({"a": 1, "b": 2}, {"b": 3}) == {"a": 1, "b": 5}


def test_a_proposal_that_is_to_be_skipped_prints_nothing(capsys):
    class Choice(opt.LocalMetaOptimizer):
        verbose = 1

        def time_call(self, fn):
            raise opt.LocalMetaOptimizerSkipAssertionError("no")

    choice = Choice()
    choice.verbose = 1
    choice.register(opt.local_optimizer([T.exp])(lambda node: [T.log(node.inputs[0])]))
    out = T.exp(T.constant(1.0))
    assert choice.transform(out.owner) is None
    assert capsys.readouterr().out == ""
