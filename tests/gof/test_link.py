"""Linkers that run in Python, containers, and the description of run-time errors."""

import copy
import io
import sys
import threading

import numpy as np
import pytest

from theano import gof
from theano.configparser import change_flags
from theano.gof.graph import Apply
from theano.gof.link import (
    Container,
    PerformLinker,
    WrapLinker,
    WrapLinkerMany,
    gc_helper,
    log_thunk_trace,
    map_storage,
    raise_with_op,
    streamline,
)
from theano.gof.vm import Loop, LoopGC, Stack, VM_Linker
from theano.scalar import add, float64, int64, mul, neg


class Failing(gof.Op):
    """Raises what it is made with."""

    def __init__(self, exc):
        self.exc = exc

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        raise self.exc

    def __str__(self):
        return "Failing"


class Vector(gof.Type):
    """Lists of floats, which Ops may change in place."""

    def filter(self, value, strict=False, allow_downcast=None):
        if not isinstance(value, np.ndarray):
            raise TypeError("an array is needed")
        return value

    def __eq__(self, other):
        return type(self) is type(other)

    def __hash__(self):
        return hash(type(self))


class Increment(gof.Op):
    """Adds one to an array in place."""

    __props__ = ()
    destroy_map = {0: [0]}

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        inputs[0] += 1
        output_storage[0][0] = inputs[0]


LINKERS = [PerformLinker, lambda **kw: VM_Linker(use_cloop=False, **kw)]


@pytest.fixture
def xy():
    return float64("x"), float64("y")


@pytest.mark.parametrize("make", LINKERS)
@pytest.mark.parametrize("allow_gc", [True, False])
class TestRunning:
    def test_function(self, xy, make, allow_gc):
        x, y = xy
        fgraph = gof.FunctionGraph([x, y], [mul(add(x, y), neg(x)), y])
        f = make(allow_gc=allow_gc).accept(fgraph).make_function()
        assert [float(v) for v in f(2.0, 3.0)] == [-10.0, 3.0]
        assert [float(v) for v in f(1.0, 1.0)] == [-2.0, 1.0]
        with pytest.raises(TypeError):
            f(1.0)

    def test_thunk_works_on_given_storage(self, xy, make, allow_gc):
        x, y = xy
        fgraph = gof.FunctionGraph([x, y], [add(x, y)])
        cells = [[1.0], [2.0]]
        thunk, inputs, outputs = make(allow_gc=allow_gc).accept(fgraph).make_thunk(input_storage=cells)
        thunk()
        assert float(outputs[0].data) == 3.0
        assert inputs[0].storage is cells[0]

    def test_intermediate_values(self, xy, make, allow_gc):
        x, y = xy
        fgraph = gof.FunctionGraph([x, y], [neg(add(x, y))])
        storage_map = {}
        thunk, inputs, _ = make(allow_gc=allow_gc).accept(fgraph).make_thunk(storage_map=storage_map)
        inputs[0].data, inputs[1].data = 1.0, 2.0
        thunk()
        inner = fgraph.outputs[0].owner.inputs[0]
        assert (storage_map[inner][0] is None) == allow_gc

    def test_deep_chain(self, xy, make, allow_gc):
        x, y = xy
        out = x
        for _ in range(5000):
            out = neg(out)
        f = make(allow_gc=allow_gc).accept(gof.FunctionGraph([x], [out])).make_function()
        assert float(f(1.5)) == 1.5

    def test_destroyed_inputs_come_back_after_a_failure(self, xy, make, allow_gc):
        v = Vector()()
        out = Increment()(v)
        fgraph = gof.FunctionGraph([v], [out, Failing(ValueError("no"))(out)])
        thunk, inputs, outputs = make(allow_gc=allow_gc).accept(fgraph).make_thunk()
        value = np.zeros(3)
        inputs[0].data = value
        with pytest.raises(ValueError):
            thunk()
        assert inputs[0].data is value and not value.any()


class TestAccept:
    @pytest.mark.parametrize("make", LINKERS)
    def test_second_graph_gets_another_linker(self, xy, make):
        x, y = xy
        linker = make()
        first = linker.accept(gof.FunctionGraph([x], [neg(x)]))
        second = linker.accept(gof.FunctionGraph([x], [add(x, x)]))
        assert first is linker and second is not linker

    @pytest.mark.parametrize("make", LINKERS)
    def test_clone(self, make):
        linker = make(allow_gc=True)
        assert linker.clone().allow_gc is True
        assert linker.clone(allow_gc=False).allow_gc is False
        assert linker.allow_gc is True

    def test_schedule(self, xy):
        x, y = xy
        order = []

        def scheduler(fgraph):
            order.append(1)
            return fgraph.toposort()

        PerformLinker(schedule=scheduler).accept(gof.FunctionGraph([x], [neg(x)])).make_function()
        assert order == [1]


class TestContainer:
    def test_values_are_filtered(self):
        container = Container(int64("n"), [None])
        container.value = 3
        assert container.data == 3 and container.name == "n"
        with pytest.raises(TypeError, match='Container name "n"'):
            container.value = 1.5
        container.value = None
        assert container.data is None

    def test_downcast(self):
        container = Container(int64("n"), [None], allow_downcast=True)
        container.value = 1.5
        assert container.data == 1

    def test_readonly(self):
        container = Container(float64, [2.0], readonly=True, name="fixed")
        with pytest.raises(Exception, match="readonly storage: fixed"):
            container.value = 1.0

    def test_storage_must_be_a_list(self):
        with pytest.raises(TypeError):
            Container(float64, ())

    def test_deepcopy_copies_the_value_once(self):
        value = np.zeros(2)
        v = Vector()()
        container = Container(v, [value])
        memo = {}
        other = copy.deepcopy(container, memo)
        assert other.data is not value and memo[id(value)] is other.data
        assert repr(container) == "<array([0., 0.])>"


class TestErrors:
    def message(self, exc, **flags):
        x = float64("x")
        fgraph = gof.FunctionGraph([x], [Failing(exc)(x)])  # the line that makes the node
        with change_flags(**flags):
            f = VM_Linker(use_cloop=False).accept(fgraph).make_function()
            with pytest.raises(type(exc)) as info:
                f(2.0)
        assert type(info.value) is type(exc) and info.value.__op_instance__.op.exc is exc
        assert info.value.__applynode_index__ == 0
        return str(info.value) + "".join(getattr(info.value, "__notes__", []))

    def test_description(self):
        text = self.message(ValueError("not this"))
        assert text.startswith("not this\nApply node that caused the error: Failing(x)\nToposort index: 0\n")
        assert "Inputs types: [Scalar(float64)]" in text or "Inputs types: [float64]" in text
        assert "Inputs values: [2.0]" in text or "Inputs values: [np.float64(2.0)]" in text
        assert "Backtrace when the node is created" in text and "the line that makes the node" in text
        assert "HINT: Use the Theano flag 'exception_verbosity=high'" in text

    def test_without_traces(self):
        with change_flags(**{"traceback.limit": 0}):
            text = self.message(ValueError("not this"))
        assert "'optimizer=fast_compile'" in text and "'optimizer=None'" in text

    def test_verbose(self):
        text = self.message(ValueError("not this"), exception_verbosity="high")
        assert "Debugprint of the apply node: \nFailing [id A]" in text
        assert "Storage map footprint:" in text and "TotalSize" in text

    @pytest.mark.parametrize(
        "exc",
        [KeyError("key"), OSError(2, "no file"), UnicodeDecodeError("utf8", b"x", 0, 1, "bad"), ZeroDivisionError()],
    )
    def test_type_is_kept(self, exc):
        assert "Apply node that caused the error: Failing(x)" in self.message(exc)

    def test_odd_constructors(self):
        class Odd(Exception):
            def __init__(self, a, *, b):
                super().__init__(f"{a} {b}")
                self.a = a

        exc = Odd(1, b=2)
        text = self.message(exc)
        assert text.startswith("1 2\nApply node") and exc.a == 1

    def test_keyboard_interrupt_stays_as_it_is(self):
        node = Failing(None).make_node(float64("x"))
        with pytest.raises(KeyboardInterrupt) as info:
            try:
                raise KeyboardInterrupt("now")
            except KeyboardInterrupt:
                raise_with_op(node)
        assert str(info.value) == "now"

    def test_trace_is_logged(self):
        exc = ValueError()
        exc.__thunk_trace__ = [[("file.py", 3, "f", "y = g(x)")]]
        stream = io.StringIO()
        log_thunk_trace(exc, stream)
        assert "Definition in: " in stream.getvalue() and "y = g(x)" in stream.getvalue()


class TestHelpers:
    def test_map_storage(self, xy):
        x, y = xy
        fgraph = gof.FunctionGraph([x, y], [add(x, y)])
        order = fgraph.toposort()
        cells = [[1.0], [2.0]]
        inputs, outputs, storage = map_storage(fgraph, order, cells, None)
        assert inputs is cells and storage[fgraph.inputs[0]] is cells[0]
        assert outputs == [storage[fgraph.outputs[0]]]
        with pytest.raises(ValueError):
            map_storage(fgraph, order, [[1.0]], None)

    def test_gc_helper(self, xy):
        x, y = xy
        fgraph = gof.FunctionGraph([x, y], [mul(add(x, y), x)])
        first, second = fgraph.toposort()
        computed, last_user = gc_helper([first, second])
        assert computed == {first.outputs[0], second.outputs[0]}
        assert last_user[fgraph.inputs[0]] is second and last_user[fgraph.inputs[1]] is first

    def test_streamline_checks_lengths(self, xy):
        with pytest.raises(ValueError):
            streamline(None, [lambda: None], [])


class TestWrap:
    def test_wrapper_sees_every_node(self, xy):
        x, y = xy
        seen = []

        def wrapper(i, node, thunk):
            thunk()
            seen.append((i, node.op, [float(cell[0]) for cell in thunk.outputs]))

        fgraph = gof.FunctionGraph([x, y], [neg(add(x, y))])
        f = WrapLinker([PerformLinker(allow_gc=False)], wrapper).accept(fgraph).make_function()
        assert float(f(1.0, 2.0)) == -3.0
        assert seen == [(0, add, [3.0]), (1, neg, [-3.0])]

    @pytest.mark.parametrize("linker", [*map(gof.engine.linkers.get, ["py", "vm", "cvm", "c|py"]), gof.OpWiseCLinker()])
    def test_copies_of_wrapped_linkers_collect_as_these(self, linker):
        for allow_gc in (True, False):
            wrapped = WrapLinker([linker.clone(allow_gc=allow_gc)], lambda *args: None)
            assert wrapped.clone().linkers[0].allow_gc is allow_gc
            assert wrapped.clone(allow_gc=not allow_gc).linkers[0].allow_gc is not allow_gc

    def test_several_wrappers(self, xy):
        x, y = xy
        count = []

        def run_thunks(i, node, *thunks):
            for thunk in thunks:
                thunk()

        linker = WrapLinkerMany([PerformLinker(), PerformLinker()], [run_thunks, lambda *args: count.append(len(args))])
        f = linker.accept(gof.FunctionGraph([x, y], [add(x, y)])).make_function()
        assert float(f(1.0, 2.0)) == 3.0 and count == [4]


class LazyPick(gof.PureOp):
    """Second or third input, by the first; computes only the one it needs."""

    def make_node(self, c, a, b):
        return Apply(self, [c, a, b], [a.type()])

    def make_thunk(self, node, storage_map, compute_map, no_recycling, impl=None):
        def thunk():
            if not compute_map[node.inputs[0]][0]:
                return [0]
            which = 1 if storage_map[node.inputs[0]][0] else 2
            if not compute_map[node.inputs[which]][0]:
                return [which]
            storage_map[node.outputs[0]][0] = storage_map[node.inputs[which]][0]
            compute_map[node.outputs[0]][0] = True
            return []

        thunk.lazy = True
        return thunk


class TestMachines:
    @pytest.mark.parametrize("allow_gc", [True, False])
    def test_only_the_needed_branch_runs(self, xy, allow_gc):
        x, y = xy
        fgraph = gof.FunctionGraph([x, y], [LazyPick()(neg(x), Failing(ValueError("left"))(x), add(y, y))])
        f = VM_Linker(use_cloop=False, allow_gc=allow_gc).accept(fgraph).make_function()
        assert isinstance(f.thunk, Stack)
        assert float(f(0.0, 3.0)) == 6.0
        with pytest.raises(ValueError, match="left"):
            f(1.0, 3.0)
        assert float(f(0.0, 4.0)) == 8.0

    def test_without_laziness_everything_runs(self, xy):
        x, y = xy
        fgraph = gof.FunctionGraph([x, y], [add(x, y)])
        assert isinstance(VM_Linker(allow_gc=True).accept(fgraph).make_thunk()[0], LoopGC)
        assert isinstance(VM_Linker(allow_gc=False).accept(fgraph).make_thunk()[0], Loop)
        assert isinstance(VM_Linker(lazy=True).accept(fgraph).make_thunk()[0], Stack)

    def test_callbacks(self, xy):
        x, y = xy
        nodes, inputs = [], []
        fgraph = gof.FunctionGraph([x, y], [neg(add(x, y))])
        linker = VM_Linker(
            callback=lambda node, thunk, storage_map, compute_map: nodes.append(
                (node.op, float(storage_map[node.outputs[0]][0]))
            ),
            callback_input=lambda var, value: inputs.append((var.name, value)),
        )
        f = linker.accept(fgraph).make_function()
        assert float(f(1.0, 2.0)) == -3.0
        assert nodes == [(add, 3.0), (neg, -3.0)] and inputs == [("x", 1.0), ("y", 2.0)]

    def test_output_subset(self, xy):
        x, y = xy
        fgraph = gof.FunctionGraph([x, y], [add(x, y), Failing(ValueError("never"))(x)])
        thunk, inputs, outputs = VM_Linker(allow_partial_eval=True).accept(fgraph).make_thunk()
        inputs[0].data, inputs[1].data = 1.0, 2.0
        assert thunk.supports_output_subset
        thunk(output_subset=[0])
        assert float(outputs[0].data) == 3.0

    def test_updates(self, xy):
        x, y = xy
        fgraph = gof.FunctionGraph([x, y], [neg(y), add(x, y), mul(x, y)])
        linker = VM_Linker().accept(fgraph)
        linker.accept_var_updates({fgraph.inputs[0]: fgraph.outputs[1], fgraph.inputs[1]: fgraph.outputs[2]})
        thunk, inputs, _ = linker.make_thunk()
        assert not thunk.need_update_inputs
        inputs[0].data, inputs[1].data = 2.0, 3.0
        thunk()
        assert float(inputs[0].data) == 5.0 and float(inputs[1].data) == 6.0

    def test_destroyer_runs_after_the_readers(self):
        class Read(gof.Op):
            __props__ = ()

            def make_node(self, x):
                return Apply(self, [x], [x.type()])

            def perform(self, node, inputs, output_storage):
                output_storage[0][0] = inputs[0].copy()

        v = Vector()()
        read = Read()(v)
        fgraph = gof.FunctionGraph([v], [Increment()(v), read])
        fgraph.attach_feature(gof.DestroyHandler())
        for lazy in (False, True):
            thunk, inputs, outputs = VM_Linker(lazy=lazy, allow_gc=False).accept(fgraph).make_thunk()
            inputs[0].data = np.zeros(2)
            thunk()
            assert [out.data.tolist() for out in outputs] == [[1.0, 1.0], [0.0, 0.0]]

    def test_profile(self, xy):
        x, y = xy
        fgraph = gof.FunctionGraph([x, y], [neg(add(x, y))])

        class Profile:
            def __init__(self):
                self.apply_time, self.apply_callcount, self.apply_cimpl = {}, {}, {}
                self.linker_node_make_thunks = 0.0
                self.linker_make_thunk_time = {}

        for lazy in (False, True):
            profile = Profile()
            thunk, inputs, _ = VM_Linker(lazy=lazy).accept(fgraph, profile=profile).make_thunk()
            inputs[0].data, inputs[1].data = 1.0, 2.0
            thunk()
            thunk()
            thunk.update_profile(profile)
            assert list(profile.apply_callcount.values()) == [2, 2]
            assert thunk.call_counts == [0, 0] and sum(profile.apply_time.values()) > 0


def test_recursion_limit_is_not_touched():
    assert sys.getrecursionlimit() < 100000


@pytest.mark.parametrize("linker", ["vm", "vm_nogc", "py", "cvm"])
class TestFunctions:
    """The same promises, of compiled functions."""

    def test_one_function_called_from_many_threads(self, linker):
        import theano
        import theano.tensor as T

        x = T.dvector("x")
        count = theano.shared(0)
        f = theano.function([x], (T.exp(x) * 2).sum(), updates=[(count, count + 1)], mode=theano.Mode(linker))
        wrong = []

        def work(k):
            for _ in range(50):
                # A list has to be converted, which does not happen on the shortest path.
                result = f([float(k)] * 3)
                if not np.allclose(result, 6 * np.exp(k)):
                    wrong.append(result)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong and count.get_value() == 400

    def test_a_failing_call_leaves_shared_variables_alone(self, linker):
        import theano
        import theano.tensor as T

        x = T.dvector("x")
        s = theano.shared(np.ones(2))
        new = s + x
        f = theano.function(
            [x], Failing(ValueError("after the update"))(new.sum()), updates=[(s, new)], mode=theano.Mode(linker)
        )
        with pytest.raises(ValueError, match="after the update"):
            f([1.0, 2.0])
        assert s.get_value().tolist() == [1.0, 1.0]
