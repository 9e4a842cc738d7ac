"""The lazy conditional."""

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano import gof
from theano.gof.graph import Apply
from theano.ifelse import IfElse, ifelse

LINKERS = ["vm", "vm_nogc", "cvm", "py", None]


def mode(linker):
    return theano.Mode(linker=linker, optimizer="fast_compile") if linker else None


class Note(gof.Op):
    """Identity that takes down that it ran."""

    def __init__(self, log, name):
        self.log = log
        self.name = name

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        self.log.append(self.name)
        output_storage[0][0] = inputs[0].copy()

    def grad(self, inputs, output_grads):
        return output_grads


@pytest.mark.parametrize("linker", LINKERS)
class TestValues:
    def test_one_output(self, linker):
        c, x = T.iscalar("c"), T.dvector("x")
        f = theano.function([c, x], ifelse(c, x * 2, x**2), mode=mode(linker))
        np.testing.assert_array_equal(f(1, [1.0, 3.0]), [2.0, 6.0])
        np.testing.assert_array_equal(f(0, [1.0, 3.0]), [1.0, 9.0])

    def test_lists(self, linker):
        c, x = T.iscalar("c"), T.dvector("x")
        a, b = ifelse(c, [x + 1, x + 2], [x * 10, x * 20])
        f = theano.function([c, x], [a, b], mode=mode(linker))
        assert [r.tolist() for r in f(1, [1.0])] == [[2.0], [3.0]]
        assert [r.tolist() for r in f(0, [1.0])] == [[10.0], [20.0]]

    def test_gradient(self, linker):
        c, x, y = T.iscalar("c"), T.dvector("x"), T.dvector("y")
        out = ifelse(c, x**2, y**3).sum()
        f = theano.function([c, x, y], T.grad(out, [x, y]), mode=mode(linker))
        assert [r.tolist() for r in f(1, [3.0], [2.0])] == [[6.0], [0.0]]
        assert [r.tolist() for r in f(0, [3.0], [2.0])] == [[0.0], [12.0]]

    def test_result_is_not_an_alias(self, linker):
        c = T.iscalar("c")
        s = theano.shared(np.zeros(2))
        f = theano.function([c], ifelse(c, s, s + 1), mode=mode(linker))
        f(1)[:] = 5
        assert not s.get_value().any()

    def test_nested(self, linker):
        c, d, x = T.iscalar("c"), T.iscalar("d"), T.dscalar("x")
        f = theano.function([c, d, x], ifelse(c, ifelse(d, x, -x), x * 0), mode=mode(linker))
        assert [float(f(i, j, 2.0)) for i, j in ((1, 1), (1, 0), (0, 1))] == [2.0, -2.0, 0.0]


@pytest.mark.parametrize("linker", ["vm", "vm_nogc", "cvm", None])
class TestLaziness:
    def test_only_one_branch_runs(self, linker):
        log = []
        c, x = T.iscalar("c"), T.dvector("x")
        f = theano.function([c, x], ifelse(c, Note(log, "then")(x), Note(log, "else")(x)), mode=mode(linker))
        f(1, [1.0])
        assert log == ["then"]
        f(0, [1.0])
        assert log == ["then", "else"]

    def test_what_both_branches_share_runs_once(self, linker):
        log = []
        c, x = T.iscalar("c"), T.dvector("x")
        shared = Note(log, "shared")(x)
        f = theano.function([c, x], ifelse(c, shared + 1, shared * 2), mode=mode(linker))
        assert f(0, [3.0]).tolist() == [6.0] and log == ["shared"]


class TestTypes:
    def test_numbers_are_converted(self):
        c, x = T.iscalar("c"), T.dscalar("x")
        assert ifelse(c, x, 1).type == ifelse(c, 1, x).type == x.type

    def test_different_dtypes_are_refused(self):
        c, y = T.iscalar("c"), theano.sparse.csc_matrix("y")
        for then, orelse in [
            (T.fvector(), T.dvector()), (T.iscalar(), 0.5), (y, T.matrix()), (T.matrix(), y), (y, theano.sparse.csr_matrix())
        ]:
            with pytest.raises(TypeError, match="identical types|sparse|convert"):
                ifelse(c, then, orelse)

    def test_gradient_of_whole_numbers(self):
        w = T.dscalar()
        g = T.grad(ifelse(w > 0, T.cast(w, "int32"), T.cast(2 * w, "int32")), w)
        assert theano.function([w], g)(3.0) == 0

    def test_broadcastable_in_one_branch_only(self):
        c = T.iscalar("c")
        assert ifelse(c, T.row("r"), T.matrix("m")).broadcastable == (False, False)

    def test_different_ranks_are_refused(self):
        with pytest.raises(TypeError):
            ifelse(T.iscalar(), T.vector(), T.matrix())

    def test_different_lengths_are_refused(self):
        x = T.vector()
        with pytest.raises(ValueError):
            ifelse(T.iscalar(), [x, x], [x])

    def test_condition_must_be_scalar(self):
        x = T.vector()
        with pytest.raises(TypeError):
            ifelse(x, x, x)

    def test_kind_of_the_result(self):
        c, x = T.iscalar("c"), T.vector()
        assert isinstance(ifelse(c, [x], [x]), list)
        assert isinstance(ifelse(c, (x,), (x,)), tuple)
        assert isinstance(ifelse(c, x, x), theano.Variable)


class TestOp:
    def test_text_and_equality(self):
        assert str(IfElse(1, name="pick")) == "if{pick}" and str(IfElse(1)) == "if{}"
        assert IfElse(1) == IfElse(1) and IfElse(1) != IfElse(2) and hash(IfElse(1)) == hash(IfElse(1))
        assert IfElse(2, as_view=True).view_map == {0: [1, 3], 1: [2, 4]}

    def test_connections(self):
        c, x, y = T.iscalar(), T.vector(), T.vector()
        node = ifelse(c, [x, y], [y, x])[0].owner
        pattern = node.op.connection_pattern(node)
        assert pattern == [[True, True], [True, False], [False, True], [True, False], [False, True]]

    def test_shape(self):
        c, x, y = T.iscalar("c"), T.dmatrix("x"), T.dmatrix("y")
        f = theano.function([c, x, y], ifelse(c, x, y).shape)
        assert f(1, np.zeros((2, 3)), np.zeros((4, 5))).tolist() == [2, 3]
        assert f(0, np.zeros((2, 3)), np.zeros((4, 5))).tolist() == [4, 5]

    def test_r_operator(self):
        c, x, v = T.iscalar("c"), T.dvector("x"), T.dvector("v")
        f = theano.function([c, x, v], T.Rop(ifelse(c, x**2, x * 5), x, v))
        assert f(1, [3.0], [1.0]).tolist() == [6.0]
        assert f(0, [3.0], [1.0]).tolist() == [5.0]

    def test_updates_choose_too(self):
        c = T.iscalar("c")
        s = theano.shared(1.0)
        f = theano.function([c], [], updates=[(s, ifelse(c, s * 2, s + 10))])
        f(1)
        f(0)
        assert float(s.get_value()) == 12.0

    def test_test_values(self):
        with theano.configparser.change_flags(compute_test_value="raise"):
            c, x = T.iscalar("c"), T.dvector("x")
            c.tag.test_value, x.tag.test_value = 1, np.array([1.0, 2.0])
            out = ifelse(c, x * 2, x + 100)
        assert out.tag.test_value.tolist() == [2.0, 4.0]

    def test_gradient_of_one_of_two_outputs(self):
        c, x, y = T.iscalar("c"), T.dvector("x"), T.dvector("y")
        first, _ = ifelse(c, [x**2, y], [y**3, x])
        f = theano.function([c, x, y], T.grad(first.sum(), [x, y]))
        assert [r.tolist() for r in f(1, [3.0], [2.0])] == [[6.0], [0.0]]
        assert [r.tolist() for r in f(0, [3.0], [2.0])] == [[0.0], [12.0]]

    def test_gradient_of_integers_in_a_branch(self):
        c, x, n = T.iscalar("c"), T.dscalar("x"), T.lscalar("n")
        f = theano.function([c, x, n], T.grad(ifelse(c, x * n, T.cast(n, "float64")), x))
        assert [float(f(1, 2.0, 5)), float(f(0, 2.0, 5))] == [5.0, 0.0]

    def test_generic_values(self):
        c, x, y = T.iscalar("c"), theano.generic("x"), theano.generic("y")
        f = theano.function([c, x, y], ifelse(c, x, y))
        assert f(1, ["then"], ["else"]) == ["then"] and f(0, ["then"], ["else"]) == ["else"]

    def test_types_that_do_not_fit(self):
        c = T.iscalar("c")
        with pytest.raises(TypeError):
            ifelse(c, theano.generic(), T.vector())


def conditionals(f):
    return [node for node in f.maker.fgraph.toposort() if isinstance(node.op, IfElse)]


class TestRewrites:
    def test_constant_condition(self):
        x, y = T.dvectors("x", "y")
        f = theano.function([x, y], ifelse(T.constant(0), x + 1, y * 2), on_unused_input="ignore")
        assert not conditionals(f) and f([1.0], [3.0]).tolist() == [6.0]

    def test_same_value_in_both_branches(self):
        c, x, y = T.iscalar("c"), T.dvector("x"), T.dvector("y")
        same, different = ifelse(c, [x + 1, x], [x + 1, y])
        f = theano.function([c, x, y], [same, different])
        (node,) = conditionals(f)
        assert node.op.n_outs == 1
        assert [r.tolist() for r in f(0, [1.0], [5.0])] == [[2.0], [5.0]]

    def test_repeated_and_unused_outputs(self):
        c, x, y = T.iscalar("c"), T.dvector("x"), T.dvector("y")
        a, b, _ = ifelse(c, [x, x, x * 2], [y, y, y * 3])
        f = theano.function([c, x, y], [a, b])
        (node,) = conditionals(f)
        assert node.op.n_outs == 1 and [r.tolist() for r in f(1, [1.0], [5.0])] == [[1.0], [1.0]]

    def test_nested_on_the_same_condition(self):
        c, d, x, y = T.iscalar("c"), T.iscalar("d"), T.dvector("x"), T.dvector("y")
        out = ifelse(c, ifelse(c, x * 2, y), ifelse(c, y, ifelse(d, x, y)))
        f = theano.function([c, d, x, y], out)
        assert len(conditionals(f)) == 2
        assert [f(i, j, [1.0], [5.0]).tolist() for i, j in ((1, 0), (0, 1), (0, 0))] == [[2.0], [1.0], [5.0]]

    def test_neighbours_merge(self):
        c, x, y = T.iscalar("c"), T.dvector("x"), T.dvector("y")
        f = theano.function([c, x, y], [ifelse(c, x * 2, y), ifelse(c, x + 1, y * 3)])
        (node,) = conditionals(f)
        assert node.op.n_outs == 2
        assert [r.tolist() for r in f(1, [1.0], [5.0])] == [[2.0], [2.0]]
        assert [r.tolist() for r in f(0, [1.0], [5.0])] == [[5.0], [15.0]]

    def test_neighbours_that_need_each_other_stay(self):
        c, x, y = T.iscalar("c"), T.dvector("x"), T.dvector("y")
        first = ifelse(c, x, y)
        f = theano.function([c, x, y], [first, ifelse(c, y, first**2)])
        assert len(conditionals(f)) == 2 and [r.tolist() for r in f(0, [1.0], [5.0])] == [[5.0], [25.0]]

    def test_what_stands_in_a_branch_stays_there(self):
        c, d, x, y = T.iscalar("c"), T.iscalar("d"), T.dvector("x"), T.dvector("y")
        outs = [ifelse(d, ifelse(c, x * 2, y).sum(), x.sum()), ifelse(c, x + 1, y * 3).sum()]
        f = theano.function([c, d, x, y], outs)
        assert [node.op.n_outs for node in conditionals(f)] == [1, 1, 1]
        assert [float(r) for r in f(1, 1, [1.0], [5.0])] == [2.0, 2.0]

    def test_the_backward_pass_is_lazy(self):
        log = []

        class Seen(Note):
            def infer_shape(self, node, shapes):
                return shapes

        c, x, y = T.iscalar("c"), T.dvector("x"), T.dvector("y")
        out = ifelse(c, T.tanh(Seen(log, "x")(x)), T.exp(Seen(log, "y")(y)))
        f = theano.function([c, x, y], [(out**2).sum()] + T.grad((out**2).sum(), [x, y]))
        value, to_x, to_y = f(1, [1.0], [2.0])
        assert log == ["x"] and to_y.tolist() == [0.0]
        np.testing.assert_allclose(to_x, 2 * np.tanh(1.0) * (1 - np.tanh(1.0) ** 2))

    def test_lifting_on_demand(self):
        c, x, y = T.iscalar("c"), T.dvector("x"), T.dvector("y")
        out = T.exp(ifelse(c, x, y)) * 2
        default = theano.function([c, x, y], out)
        lifted = theano.function(
            [c, x, y], out, mode=theano.compile.get_default_mode().including("ifelse_lift_single_if_through_acceptable_ops")
        )
        assert isinstance(lifted.maker.fgraph.outputs[0].owner.op, IfElse)
        assert not isinstance(default.maker.fgraph.outputs[0].owner.op, IfElse)
        for value in (0, 1):
            np.testing.assert_allclose(lifted(value, [1.0], [2.0]), default(value, [1.0], [2.0]))

    def test_results_are_views_where_nobody_destroys_them(self):
        c, x, y = T.iscalar("c"), T.dvector("x"), T.dvector("y")
        f = theano.function([c, x, y], ifelse(c, x, y).sum())
        assert [node.op.as_view for node in conditionals(f)] == [True]
        given = np.ones(3)
        g = theano.function([c, theano.In(x, borrow=True), y], theano.Out(ifelse(c, x, y) + 1, borrow=True))
        assert g(1, given, given * 2).tolist() == [2.0] * 3 and given.tolist() == [1.0] * 3

    def test_shared_variable_updated_beside_a_branch_that_reads_it(self):
        c = T.iscalar("c")
        s, t = theano.shared(np.ones(3)), theano.shared(np.full(3, 7.0))
        chosen = ifelse(c, s, t)
        f = theano.function([c], chosen * 2, updates=[(s, s + 1), (t, t * 2)])
        assert f(1).tolist() == [2.0] * 3 and f(0).tolist() == [28.0] * 3
        assert s.get_value().tolist() == [3.0] * 3 and t.get_value().tolist() == [28.0] * 3


def test_the_condition_may_be_computed_from_what_is_differentiated():
    x = T.dscalar("x")
    f = theano.function([x], T.grad(ifelse(T.gt(x, 0.5), x**2, 3 * x), x))
    assert f(2.0) == 4.0 and f(0.0) == 3.0
