"""The optimizer that times what others propose."""

import time

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano import config
from theano.gof.opt import LocalMetaOptimizer, in2out, local_optimizer
from theano.tensor.elemwise import Elemwise


class Slow(theano.Op):
    __props__ = ()

    def make_node(self, x):
        return theano.Apply(self, [x], [x.type()])

    def perform(self, node, inputs, outputs):
        time.sleep(0.005)
        outputs[0][0] = np.exp(inputs[0])


@local_optimizer([Elemwise])
def slow_exp(node):
    return node.op == T.exp and [Slow()(node.inputs[0])]


@local_optimizer([Elemwise])
def quick_exp(node):
    return node.op == T.exp and [T.exp2(node.inputs[0] / np.log(2.0))]


def chosen(**flags):
    """The Op that takes the place of `exp`."""
    with config.change_flags(**{f"metaopt.{name}": value for name, value in flags.items()}):
        meta = LocalMetaOptimizer()
        meta.register(slow_exp, ["slow", "default"])
        meta.register(quick_exp, ["quick"])
        x = T.dvector("x")
        x.tag.test_value = np.zeros(3)
        f = theano.function([x], T.exp(x), mode=theano.Mode("py", in2out(meta, ignore_newtrees=True)))
    np.testing.assert_allclose(f([1.0]), [np.e])
    return "Slow" if any(isinstance(node.op, Slow) for node in f.maker.fgraph.toposort()) else "quick"


def test_the_quickest_is_chosen():
    assert chosen() == "quick"


@pytest.mark.parametrize(
    "flags, expected",
    [
        ({"optimizer_excluding": "other:quick"}, "Slow"),
        ({"optimizer_including": "other"}, "Slow"),
        ({"optimizer_including": "quick"}, "quick"),
        ({"optimizer_including": "quick", "optimizer_excluding": "quick"}, "Slow"),
    ],
)
def test_flags_choose_by_tag(flags, expected):
    assert chosen(**flags) == expected


def test_what_is_printed(capsys):
    for verbose, words in ((0, []), (1, []), (2, ["* slow_exp: ", "* quick_exp: ", "= "])):
        chosen(verbose=verbose)
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == len(words) and all(line.startswith(word) for line, word in zip(lines, words, strict=True))
    with config.change_flags(**{"metaopt.verbose": 1}):
        meta = LocalMetaOptimizer()
        meta.register(slow_exp)
        assert not meta.transform(T.exp(T.dvector("x")).owner)
    assert "cannot meta-optimize" in capsys.readouterr().out
