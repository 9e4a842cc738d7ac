import os
import sys
import uuid

import numpy as np
import pytest

import theano
from tests.tools import run_program
from theano import gof
from theano import tensor as T
from theano.gof import Apply, CLinker, COp, EnumList, FunctionGraph, Op, ParamsType, Type, cmodule
from theano.gof.cc import HideC
from theano.gof.utils import MethodNotDefined
from theano.scalar import Scalar

pytestmark = pytest.mark.skipif(not theano.config.cxx, reason="there is no C++ compiler")


class Double(Type):
    """A Python float, with a C interface whose methods take as little as they may."""

    def filter(self, x, strict=False, allow_downcast=None):
        if strict and not isinstance(x, float):
            raise TypeError("a float is needed")
        return float(x)

    def c_declare(self, name, sub):
        return f"double {name};"

    def c_init(self, name, sub):
        return f"{name} = 0.0;"

    def c_extract(self, name, sub):
        return f"""
        if (!PyFloat_Check(py_{name})) {{
            PyErr_SetString(PyExc_TypeError, "expected a float");
            {sub["fail"]}
        }}
        {name} = PyFloat_AsDouble(py_{name});
        """

    def c_sync(self, name, sub):
        return f"Py_XDECREF(py_{name}); py_{name} = PyFloat_FromDouble({name});"

    def c_cleanup(self, name, sub):
        return ""

    def c_code_cache_version(self):
        return (1,)


double = Double()


class Compute(Op):
    """An Op without `perform`: ``text`` computes ``z`` from ``x`` (and ``y``)."""

    __props__ = ("text",)

    def __init__(self, text):
        self.text = text

    def make_node(self, *inputs):
        return Apply(self, list(inputs), [inputs[0].type()])

    def c_code(self, node, name, inputs, outputs, sub):
        names = dict(zip("xy", inputs, strict=False), z=outputs[0], fail=sub["fail"])
        return self.text % names

    def c_code_cache_version(self):
        return (1,)


COPY = """
Py_XDECREF(%(z)s);
%(z)s = (PyArrayObject*)PyArray_NewCopy(%(x)s, NPY_CORDER);
if (!%(z)s) { %(fail)s; }
"""


def test_c_code_of_an_op_runs_in_a_function():
    x = T.dvector("x")
    f = theano.function([x], Compute(COPY + "((double*)PyArray_DATA(%(z)s))[0] = 7;")(x) + 1)
    assert f([1.0, 2.0]).tolist() == [8, 3]
    value = np.array([5.0])
    assert f(value).tolist() == [8] and value.tolist() == [5]


def test_errors_of_c_code_come_out_and_leave_the_op_usable():
    text = """
    if (PyArray_DIMS(%(x)s)[0] == 0) {
        PyErr_SetString(PyExc_OverflowError, "empty");
        %(fail)s
    }
    if (PyArray_DIMS(%(x)s)[0] == 1)
        %(fail)s
    """
    x = T.dvector("x")
    f = theano.function([x], Compute(text + COPY)(x))
    for _ in range(3):
        with pytest.raises(OverflowError, match="empty"):
            f([])
        with pytest.raises(RuntimeError, match="No Python exception was set"):
            f([1.0])
        assert f([1.0, 2.0]).tolist() == [1, 2]


def test_a_type_of_the_users_is_computed_as_a_whole():
    x, y = double("x"), double("y")
    total = Compute("%(z)s = %(x)s + %(y)s;")(x, y)
    out = Compute("%(z)s = %(x)s * %(y)s;")(total, x)
    fg = FunctionGraph([x, y], [out, total])
    f, ins, outs = CLinker().accept(fg).make_thunk()
    ins[0].value, ins[1].value = 3, 4
    f()
    assert [o.value for o in outs] == [21.0, 7.0]
    ins[0].storage[0] = "text"
    with pytest.raises(TypeError, match="expected a float"):
        f()
    assert "c_extract" not in CLinker().accept(fg).source()


def test_outputs_that_are_inputs_or_come_twice():
    x = double("x")
    y = Compute("%(z)s = -%(x)s;")(x)
    f, ins, outs = CLinker().accept(FunctionGraph([x], [y, x, y])).make_thunk()
    ins[0].value = 2
    f()
    assert [o.value for o in outs] == [-2.0, 2.0, -2.0]


def test_linker_for_whole_functions():
    x = T.dvector("x")
    f = theano.function([x], T.exp(x).sum(), mode=theano.Mode(linker=gof.CLinker(), optimizer=None))
    assert np.allclose(f([0.0, 0.0]), 2)
    with pytest.raises((MethodNotDefined, NotImplementedError)):
        CLinker(strict=True).accept(FunctionGraph([x], [T.exp(x)])).make_thunk()


class Affine(Op):
    __props__ = ("mode", "factor")
    params_type = ParamsType(mode=EnumList("TIMES", ("PLUS", "+")), factor=Scalar("float64"), table=T.dvector)
    table = np.array([100.0])

    def __init__(self, mode, factor):
        self.mode = mode
        self.factor = factor

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def c_code(self, node, name, inputs, outputs, sub):
        p = sub["params"]
        return (
            COPY
            + """
        double* d = (double*)PyArray_DATA(%(z)s);
        if (%(p)s->mode == PLUS) *d += %(p)s->factor; else *d *= %(p)s->factor;
        *d += *(double*)PyArray_DATA(%(p)s->table);
        """
        ) % {"x": inputs[0], "z": outputs[0], "p": p, "fail": sub["fail"]}

    def c_code_cache_version(self):
        return (2,)


def test_parameters_are_fields_of_a_struct():
    x = T.dvector("x")
    f = theano.function([x], [Affine("+", 5)(x), Affine("TIMES", 5)(x)])
    assert [v.tolist() for v in f([2.0])] == [[107], [110]]


def test_struct_state_belongs_to_one_thunk():
    class Count(Compute):
        def c_support_code_struct(self, node, name):
            return f"int n_{name};"

        def c_init_code_struct(self, node, name, sub):
            return f"n_{name} = 10;"

        def c_code(self, node, name, inputs, outputs, sub):
            return f"{outputs[0]} = n_{name}++;"

    x = double("x")
    thunks = []
    for _ in range(2):
        f, ins, outs = CLinker().accept(FunctionGraph([x], [Count("")(x)])).make_thunk()
        ins[0].value = 0
        thunks.append((f, outs[0]))
    f()
    f()
    thunks[0][0]()
    assert [out.value for _, out in thunks] == [10.0, 11.0]


def test_a_failing_initialization_is_reported():
    class Bad(Compute):
        def c_init_code_struct(self, node, name, sub):
            return f'PyErr_SetString(PyExc_ValueError, "no start"); {sub["fail"]}'

    x = double("x")
    with pytest.raises(ValueError, match="no start"):
        CLinker().accept(FunctionGraph([x], [Bad("%(z)s = 1;")(x)])).make_thunk()


def test_compile_errors_show_the_line():
    x = double("x")
    with pytest.raises(cmodule.CompileError, match="this_is_unknown") as e:
        CLinker().accept(FunctionGraph([x], [Compute("%(z)s = this_is_unknown;")(x)])).make_thunk()
    assert "V2 = this_is_unknown;" in str(e.value)
    assert "The C code of Compute" in str(e.value)
    v = T.dvector("v")
    with pytest.raises(cmodule.CompileError, match=r"The C code of Compute.*\(v\)"):
        theano.function([v], Compute("nothing_at_all(%(z)s);")(v))


def test_compiled_code_is_kept_if_it_has_a_version(monkeypatch, tmp_path):
    calls = []
    original = cmodule.GCC_compiler.compile

    def compile(*args, **kwargs):
        calls.append(1)
        return original(*args, **kwargs)

    monkeypatch.setattr(cmodule.GCC_compiler, "compile", staticmethod(compile))
    text = f"/* {tmp_path} */ int @MODULE@(void) {{ return 0; }}"
    for keep, expected in ((True, 1), (False, 3)):
        key = uuid.uuid4().hex
        for _ in range(2):
            path = cmodule._module_file(key, text, [], [], [], [], [], keep)
            with open(path, "rb") as f:
                assert f.read(4) in (b"\x7fELF", b"\xcf\xfa\xed\xfe")
        assert len(calls) == expected


def test_theanos_own_ops_are_not_compiled_one_by_one():
    x = T.dvector("x")
    node = T.exp(x).owner
    assert not node.op._has_c_code(node)
    with pytest.raises((NotImplementedError, MethodNotDefined)):
        node.op.make_c_thunk(node, {}, {}, [])


def test_a_cop_runs(tmp_path):
    (tmp_path / "half.c").write_text(
        "#section support_code_apply\n"
        "int APPLY_SPECIFIC(half)(PyArrayObject* x, PyArrayObject** z) {\n"
        "    Py_XDECREF(*z);\n"
        "    *z = (PyArrayObject*)PyArray_NewCopy(x, NPY_CORDER);\n"
        "    if (*z == NULL) return 1;\n"
        "    for (npy_intp i = 0; i < PyArray_SIZE(*z); i++) ((DTYPE_OUTPUT_0*)PyArray_DATA(*z))[i] /= 2;\n"
        "    return 0;\n"
        "}\n"
    )

    class Half(COp):
        __props__ = ()

        def __init__(self):
            super().__init__(str(tmp_path / "half.c"), "APPLY_SPECIFIC(half)")

        def make_node(self, x):
            return Apply(self, [x], [x.type()])

    x = T.fvector("x")
    out = theano.function([x], Half()(x))(np.array([1, 2], "float32"))
    assert out.tolist() == [0.5, 1] and out.dtype == "float32"


def test_float16_needs_the_ops_consent():
    class Twice(Compute):
        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = inputs[0] * np.float16(2)

    x = T.TensorType("float16", (False,))("x")
    wrong = 'PyErr_SetString(PyExc_RuntimeError, "C code was used"); %(fail)s'
    with pytest.warns(UserWarning, match="float16"):
        f = theano.function([x], Twice(wrong)(x))
    assert f(np.array([2], "float16")).tolist() == [4]


def test_hide_c():
    class Hidden(HideC, Compute):
        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = inputs[0] * 3

    x = T.dvector("x")
    assert theano.function([x], Hidden("nonsense")(x))([1.0]).tolist() == [3]


def test_dual_linker_compares_both_ways():
    class Bad(Compute):
        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = inputs[0] * 2

    x, y = T.dvector("x"), T.dvector("y")
    good = COPY + "for (npy_intp i = 0; i < PyArray_SIZE(%(z)s); i++) ((double*)PyArray_DATA(%(z)s))[i] *= 2;"
    f = gof.DualLinker().accept(FunctionGraph([x, y], [Bad(good)(x) + y])).make_function()
    assert f(np.ones(2), np.ones(2)).tolist() == [3, 3]
    f = gof.DualLinker().accept(FunctionGraph([x], [Bad(COPY)(x)])).make_function()
    with pytest.raises(Exception, match="differ"):
        f(np.ones(2))
    seen = []
    gof.DualLinker(checker=lambda a, b: seen.append((a[0][0], b[0][0]))).accept(
        FunctionGraph([x], [Bad(COPY)(x)])
    ).make_function()(np.ones(1))
    assert seen == [(2.0, 1.0)]
    mode = theano.Mode(linker=gof.DualLinker(), optimizer=None)
    for _ in range(2):
        assert theano.function([x], Bad(good)(x), mode=mode)([1.0]).tolist() == [2]


def test_op_wise_linker_takes_its_arguments():
    x = T.dvector("x")
    linker = gof.OpWiseCLinker(fallback_on_perform=True, allow_gc=False, nice_errors=True)
    f = linker.accept(FunctionGraph([x], [T.exp(x) + 1])).make_function()
    assert f(np.zeros(2)).tolist() == [2, 2]
    assert linker.clone().allow_gc is False


def test_the_compiler_can_be_asked():
    compiler = cmodule.GCC_compiler
    assert compiler.try_flags(["-O1"]) is True
    assert compiler.try_flags(["-l_there_is_no_such_library"]) is False
    assert compiler.try_flags([], "#include <stdio.h>", 'printf("hi"); return 3;', try_run=True, output=True) == (
        True, False, "hi", "",
    )  # fmt: skip
    ok, out, err = compiler.try_compile_tmp("int main() { nonsense }", output=True)
    assert not ok and "nonsense" in err
    assert compiler.try_compile_tmp("int main() {}", compiler="/no/such/compiler") is False


class Recording(cmodule.GCC_compiler):
    """A compiler of the user."""

    calls = []

    @staticmethod
    def compile_str(module_name, src_code, location=None, include_dirs=(), lib_dirs=(), libs=(), preargs=(), **kwargs):
        Recording.calls.append((module_name, list(preargs)))
        return cmodule.GCC_compiler.compile_str(
            module_name, src_code, location, include_dirs, lib_dirs, libs, [a for a in preargs if a != "-Wrong"], **kwargs
        )


class Compiled(Compute):
    compiler = Recording

    def c_compiler(self):
        return self.compiler

    def c_compile_args(self, c_compiler):
        return ["-Wrong", f"-DUSERS_{c_compiler.__name__}"]


def test_ops_may_bring_their_compiler():
    code = COPY + "\n#ifdef USERS_Recording\n((double*)PyArray_DATA(%(z)s))[0] = 7;\n#endif\n"
    x = T.dvector("x")
    Recording.calls.clear()
    for _ in range(2):
        assert theano.function([x], Compiled(code)(x))([1.0, 2.0]).tolist() == [7, 2]
    (name, arguments), = Recording.calls
    assert name.startswith("m") and "-Wrong" in arguments

    class Other(Compiled):
        compiler = type("OtherCompiler", (Recording,), {})

    graph = FunctionGraph([x], [Other(code)(Compiled(code)(x))])
    with pytest.raises(NotImplementedError, match="different compilers"):
        CLinker(strict=True).accept(graph).make_thunk()


def test_streams_of_the_standard_library_come_only_where_they_are_named():
    x = T.dvector("x")
    plain, streams = Compute(COPY)(x), Compute(COPY + 'if (0) std::cout << "never" << std::endl;')(x)
    taken = []

    def compile_(self, src_code, *args, **kwargs):
        taken.append("#include <iostream>" in src_code)
        return original(src_code, *args, **kwargs)

    original = cmodule.load_module
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cmodule, "load_module", lambda *args, **kwargs: compile_(None, *args, **kwargs))
        for expression in (plain, streams):
            assert theano.function([x], expression)([1.0, 2.0]).tolist() == [1, 2]
    assert taken == [False, True]


def test_a_header_of_the_user_may_count_on_the_streams(tmp_path):
    (tmp_path / "loud.h").write_text("#define NAME_OF(x) std::string(x).size()\n")

    class Loud(Compute):
        def c_headers(self):
            return ["loud.h"]

        def c_header_dirs(self):
            return [str(tmp_path)]

    x = T.dvector("x")
    text = COPY + '*(double*)PyArray_DATA(%(z)s) = NAME_OF("four");' + f"/* {uuid.uuid4()} */"
    assert theano.function([x], Loud(text)(x))([1.0, 2.0]).tolist() == [4, 2]


@pytest.mark.skipif(sys.platform != "linux" or "g++" not in theano.config.cxx, reason="headers are precompiled by g++")
def test_headers_are_compiled_beside_the_modules(tmp_path):
    code = """
import time, theano, theano.tensor as T
from theano.gof import cmodule
from tests.gof.test_cc import COPY, Compute
x = T.dvector("x")
had = []
for k in range(60):
    f = theano.function([x], Compute(COPY + f"/* {k} */")(x))
    assert f([1.0]).tolist() == [1]
    had.append(bool(cmodule._prelude_dirs()))
    if had[-1]:
        break
    time.sleep(0.2)
print(had[0], had[-1])
"""
    done = run_program(code, f"base_compiledir={tmp_path}")
    assert done.stdout.split() == ["False", "True"], done.stderr
    headers = [name for _, _, names in os.walk(tmp_path) for name in names if "prelude" in name]
    assert headers == ["theano_prelude.h.gch"]
