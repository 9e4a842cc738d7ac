"""Stack traces on their way through the optimizer, and the flag that checks them."""

import warnings

import pytest

import theano
import theano.tensor as T
from theano import config, gof
from theano.gof.opt import PatternSub, TopoOptimizer, check_stack_trace, local_optimizer
from theano.scalar import add, float64, mul, neg


@local_optimizer([T.cosh])
def forgets_traces(node):
    with config.change_flags(**{"traceback.limit": 0}):
        return [T.sinh(node.inputs[0])]


def with_a_rewrite_that_forgets(flag, optimizer):
    x = T.dvector("x")
    forgetful = TopoOptimizer(forgets_traces, failure_callback=TopoOptimizer.warn)
    mode = theano.Mode("py", optimizer).register((forgetful, 1.05)).excluding("fusion")
    with config.change_flags(check_stack_trace=flag):
        return theano.function([x], T.cosh(x) + 1, mode=mode)


def test_what_a_rewrite_makes_on_its_way_has_the_trace_too():
    x, y = float64("x"), float64("y")
    fgraph = gof.FunctionGraph([x, y], [add(x, y)])
    with config.change_flags(**{"traceback.limit": 0}):
        TopoOptimizer(PatternSub((add, "a", "b"), (neg, (mul, "a", (neg, "b"))))).optimize(fgraph)
    assert len(fgraph.apply_nodes) == 3
    assert check_stack_trace(fgraph, ops_to_check="all")


@pytest.mark.parametrize("optimizer", ["o4", "o3", "o1", "unsafe"])
def test_a_missing_trace_is_an_error_in_every_mode(optimizer):
    with pytest.raises(AssertionError, match="The optimization that inserted this variable is forgets_traces"):
        with_a_rewrite_that_forgets("raise", optimizer)
    assert with_a_rewrite_that_forgets("off", optimizer)([0.0]) == 1


@pytest.mark.parametrize("flag", ["log", "warn"])
def test_a_missing_trace_is_replaced_by_one_that_names_the_rewrite(flag):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f = with_a_rewrite_that_forgets(flag, "o3")
    told = [str(one.message) for one in caught if one.category is UserWarning]
    assert len([text for text in told if "forgets_traces" in text]) == (flag == "warn")
    (sinh,) = [node for node in f.maker.fgraph.toposort() if "sinh" in str(node.op)]
    assert sinh.outputs[0].tag.trace[0][0][2].endswith("inserted this variable is forgets_traces")


def test_our_own_rewrites_pass_the_check():
    m, w = T.dmatrices("m", "w")
    random = theano.tensor.shared_randomstreams.RandomStreams(1).uniform(m.shape)
    loop, _ = theano.scan(lambda row, total: total + T.exp(row).sum(), sequences=m, outputs_info=T.constant(0.0, dtype="float64"))
    cost = T.sqr(T.nnet.softmax(T.dot(m, w).T[1:] * m.shape[0])).sum() + (m * random / m.sum(0)).mean() + loop[-1]
    with config.change_flags(check_stack_trace="raise"):
        f = theano.function([m, w], [cost, T.grad(cost, w), m])
    assert check_stack_trace(f, "all")


def test_a_graph_without_traces_passes_the_check():
    x = float64("x")
    with config.change_flags(**{"traceback.limit": 0}, check_stack_trace="raise"):
        fgraph = gof.FunctionGraph([x], [neg(neg(x))])
        gof.CheckStackTraceOptimization().optimize(fgraph)
        TopoOptimizer(PatternSub((neg, (neg, "a")), (mul, "a", 1.0))).optimize(fgraph)
    assert [node.op for node in fgraph.apply_nodes] == [mul]
