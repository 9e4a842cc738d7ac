import pickle
import threading
import warnings

import numpy as np
import pytest

import theano
from theano.gof import Apply, Constant, COp, Op, OpenMPOp, ParamsType, generic
from theano.gof.cop import get_io_macros, get_sub_macros
from theano.gof.op import get_debug_values, get_test_value, missing_test_message
from theano.gof.utils import MethodNotDefined

from .toys import Toy, TwoOutputs, number, toy


class Props(Op):
    __props__ = ("a", "b")

    def __init__(self, a, b):
        self.a = a
        self.b = b


class MoreProps(Props):
    pass


def test_props_make_values():
    assert Props(1, 2) == Props(1, 2) and hash(Props(1, 2)) == hash(Props(1, 2))
    assert Props(1, 2) != Props(1, 3) and Props(1, 2) != MoreProps(1, 2)
    assert str(Props(1, "x")) == "Props{a=1, b='x'}"
    assert Props(1, 2)._props() == (1, 2) and Props(1, 2)._props_dict() == {"a": 1, "b": 2}
    assert pickle.loads(pickle.dumps(Props(1, 2))) == Props(1, 2)


def test_props_must_be_a_tuple():
    with pytest.raises(TypeError):
        type("Bad", (Op,), {"__props__": ["a"]})


def test_own_equality_text_and_hash_win():
    class Own(Op):
        __props__ = ("a",)
        a = 1

        def __str__(self):
            return "own"

        def __hash__(self):
            return 7

        def __eq__(self, other):
            return True

    assert str(Own()) == "own" and hash(Own()) == 7 and Own() == 3


def test_an_op_without_props_is_equal_to_itself_only():
    class Plain(Op):
        pass

    a = Plain()
    assert a == a and a != Plain()


def test_call_returns_default_or_all_outputs():
    x = number("x")
    two = TwoOutputs()
    assert len(two(x)) == 2 and isinstance(toy(x, return_list=True), list)

    class Second(TwoOutputs):
        default_output = 1

    out = Second()(x)
    assert out.index == 1 and Second()(x, return_list=True)[0].index == 1


def test_itypes_and_otypes():
    class Typed(Op):
        itypes = [theano.tensor.dscalar]
        otypes = [theano.tensor.dvector]

    op = Typed()
    x = theano.tensor.dscalar("x")
    assert op(x).type == theano.tensor.dvector
    assert isinstance(op(np.float64(1.5)).owner.inputs[0], Constant)
    with pytest.raises(ValueError, match="expected 1 inputs"):
        op(x, x)
    with pytest.raises(TypeError):
        op(theano.tensor.fscalar())
    with pytest.raises(NotImplementedError):
        Op().make_node(x)


def test_traces_name_the_users_line():
    x = number("x")
    y = toy(x)
    for var in (x, y):
        filename, lineno, name, text = var.tag.trace[0][-1]
        assert filename == __file__ or filename.endswith("toys.py")
    assert "test_traces_name_the_users_line" in str(y.tag.trace)
    with theano.config.change_flags({"traceback.limit": 0}):
        assert not hasattr(toy(x).tag, "trace")


def test_thunks():
    x, y = number("x"), number("y")
    node = toy(x, y).owner
    storage = {x: [1.0], y: [2.0], node.outputs[0]: [None]}
    computed = {v: [False] for v in storage}
    thunk = node.op.make_thunk(node, storage, computed, [])
    assert thunk.lazy is False and thunk.inputs == [[1.0], [2.0]]
    thunk()
    assert storage[node.outputs[0]] == [3.0] and computed[node.outputs[0]] == [True]
    with pytest.raises((NotImplementedError, MethodNotDefined)):
        node.op.make_thunk(node, storage, computed, [], impl="c")


def test_prepare_node_is_called_before():
    seen = []

    class Prepared(Toy):
        def prepare_node(self, node, storage_map, compute_map, impl):
            seen.append(impl)

    x = number("x")
    node = Prepared()(x).owner
    node.op.make_thunk(node, {x: [1.0], node.outputs[0]: [None]}, None, [], impl="py")()
    assert seen == ["py"]


def test_params_reach_perform():
    class Scale(Op):
        __props__ = ("factor",)
        params_type = ParamsType(factor=number)

        def __init__(self, factor):
            self.factor = factor

        def make_node(self, x):
            return Apply(self, [x], [number()])

        def perform(self, node, inputs, output_storage, params):
            output_storage[0][0] = inputs[0] * params.factor

    x = number("x")
    node = Scale(3)(x).owner
    assert node.params_type == Scale.params_type and node.run_params().factor == 3.0
    out = [None]
    node.op.make_py_thunk(node, {x: [2.0], node.outputs[0]: out}, None, [])()
    assert out == [6.0]
    del node.op.factor
    with pytest.raises(AttributeError, match="factor"):
        node.run_params()


def test_interface_methods_say_that_they_are_missing():
    op = Op()
    for call in (
        lambda: op.perform(None, [], []),
        lambda: op.c_code(None, "n", [], [], {}),
        lambda: op.c_headers(),
        lambda: op.c_support_code_struct(None, "n"),
        lambda: op.get_params(None),
    ):
        with pytest.raises(MethodNotDefined):
            call()
    assert op.c_code_cache_version() == op.c_code_cache_version_apply(None) == ()
    with pytest.raises(NotImplementedError):
        op.R_op([], [])
    assert not hasattr(op, "grad")


def test_test_values_are_computed_while_building():
    x, y = number("x"), number("y")
    x.tag.test_value = 2.0
    with theano.config.change_flags(compute_test_value="raise"):
        z = toy(x, Constant(number, 3))
        assert z.tag.test_value == 5.0 and get_test_value(z) == 5.0
        with pytest.raises(ValueError, match="Cannot compute test value: input 1"):
            toy(x, y)
        x.tag.test_value = "text"
        with pytest.raises(ValueError, match="does not have the requested type"):
            toy(x)
    x.tag.test_value = 2.0
    with theano.config.change_flags(compute_test_value="ignore"):
        assert not hasattr(toy(y).tag, "test_value")
    with theano.config.change_flags(compute_test_value="warn"), pytest.warns(UserWarning, match="input 0"):
        toy(y)
    assert not hasattr(toy(x).tag, "test_value")


def test_destroying_ops_leave_test_values_alone():
    class Eat(Op):
        __props__ = ()
        destroy_map = {0: [0]}

        def make_node(self, x):
            return Apply(self, [x], [generic()])

        def perform(self, node, inputs, output_storage):
            inputs[0] += 1
            output_storage[0][0] = inputs[0]

    x = generic("x")
    x.tag.test_value = np.zeros(2)
    with theano.config.change_flags(compute_test_value="raise"):
        assert Eat()(x).tag.test_value.tolist() == [1, 1]
    assert x.tag.test_value.tolist() == [0, 0]


def test_debug_values():
    x, y = number("x"), number("y")
    x.tag.test_value = 1.0
    assert get_debug_values(x) == []
    with theano.config.change_flags(compute_test_value="raise"):
        assert get_debug_values(x, x) == [(1.0, 1.0)]
        with pytest.raises(AttributeError, match="Argument 1 \\('y'\\) has no test value"):
            get_debug_values(x, y)
        with pytest.raises(AttributeError):
            missing_test_message("gone")
    with theano.config.change_flags(compute_test_value="warn"), warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        missing_test_message("gone")
    assert [str(i.message) for i in w] == ["gone"]


C_FILE = """#section support_code
int helper;
#section code
OUTPUT_0 = INPUT_0; FAIL
#section init_code_struct
struct_code(PARAMS);
"""


def c_op_class(tmp_path, text, **kwargs):
    (tmp_path / "code.c").write_text(text)

    class Coded(COp):
        __props__ = ()

        def __init__(self):
            super().__init__(str(tmp_path / "code.c"), **kwargs)

        def make_node(self, x):
            return Apply(self, [x], [x.type()])

    return Coded


def test_cop_reads_its_sections(tmp_path):
    op = c_op_class(tmp_path, C_FILE)()
    node = op(theano.tensor.dvector("x")).owner
    sub = {"fail": "{goto bad;}", "params": "P"}
    code = op.c_code(node, "n1", ["IN"], ["OUT"], sub)
    for text in (
        "#define INPUT_0 IN",
        "#undef OUTPUT_0",
        "#define FAIL {goto bad;}",
        "#define DTYPE_INPUT_0 npy_float64",
        "#define TYPENUM_OUTPUT_0 NPY_FLOAT64",
        "#define ITEMSIZE_INPUT_0 8",
        "#define APPLY_SPECIFIC(str) str##_n1",
    ):
        assert text in code
    assert "helper" in op.c_support_code() and "#define PARAMS P" in op.c_init_code_struct(node, "n1", sub)
    with pytest.raises(MethodNotDefined):
        op.c_support_code_apply(node, "n1")
    assert op.c_code_cache_version() == c_op_class(tmp_path, C_FILE)().c_code_cache_version()
    assert op.c_code_cache_version() != c_op_class(tmp_path, C_FILE + "// more")().c_code_cache_version()


def test_cop_calls_its_function(tmp_path):
    cls = c_op_class(tmp_path, "#section support_code_apply\nint f();\n", func_name="APPLY_SPECIFIC(f)")
    cls._cop_num_inputs = 3
    cls._cop_num_outputs = 2
    op = cls()
    node = op(theano.tensor.dvector("x")).owner
    code = op.c_code(node, "n", ["a"], ["b"], {"fail": "F;", "params": "p"})
    assert "APPLY_SPECIFIC(f)(a, NULL, NULL, &b, NULL, p) != 0" in code and "F;" in code
    assert "#define DTYPE_OUTPUT_0 npy_float64" in op.c_support_code_apply(node, "n")


@pytest.mark.parametrize(
    "text, func_name, message",
    [
        ("#section unknown\n", None, "Unknown section type"),
        ("int x;\n#section code\n", None, "Stray code"),
        ("int x;\n", None, "No valid section marker"),
        ("#section code\n", "f", "Cannot have a `code` section"),
    ],
)
def test_cop_refuses_bad_files(tmp_path, text, func_name, message):
    with pytest.raises(ValueError, match=message):
        c_op_class(tmp_path, text, func_name=func_name)()


def test_macros():
    define, undef = get_sub_macros({"fail": "{\n goto x;\n}"})
    assert define == "#define FAIL {\\\n goto x;\\\n}".replace("\\", " \\").replace("  \\", " \\") and undef == "#undef FAIL"
    assert get_io_macros(["a"], ["b"]) == ("#define INPUT_0 a\n#define OUTPUT_0 b", "#undef INPUT_0\n#undef OUTPUT_0")


def test_openmp_op():
    class Parallel(OpenMPOp):
        __props__ = ()

    assert Parallel().openmp is theano.config.openmp
    assert Parallel(openmp=False).c_compile_args() == [] == Parallel(openmp=False).c_headers()
    assert Parallel(openmp=True).c_compile_args() in (["-fopenmp"], [])


def test_ops_are_built_in_many_threads():
    x = number("x")
    results = []

    def build():
        v = x
        for _ in range(200):
            v = toy(v, x)
        results.append(v)

    threads = [threading.Thread(target=build) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 8 and all(len(theano.gof.graph.io_toposort([x], [v])) == 200 for v in results)
