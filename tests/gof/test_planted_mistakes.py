"""Mistakes in users' Ops, and the tool that finds each of them."""

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.compile.debugmode import (
    BadDestroyMap,
    BadOptimization,
    BadThunkOutput,
    BadViewMap,
    DebugMode,
    DebugModeError,
    InvalidValueError,
)
from theano.compile.nanguardmode import NanGuardMode
from theano.gof import Apply
from theano.tests import unittest_tools as utt

from . import user_c_ops as u
from .planted import GOOD, IN, LOOP, OUT, V, needs_compiler

_v, _w = T.dvector("v"), T.dvector("w")
ALLOCATE = "%(z)s = (PyArrayObject*)PyArray_EMPTY(1, PyArray_DIMS(%(x)s), NPY_DOUBLE, 0);"


class Double(u.COpOfUser):
    """Twice the input, by code that a test gives."""

    __props__ = ("code",)

    def __init__(self, code):
        self.code = code

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * 2


def double_in_debugmode(code, expression=_v, preallocated="", value=V):
    mode = DebugMode(check_preallocated_output=preallocated)
    return theano.function([_v], Double(code)(expression), mode=mode)(value)


@needs_compiler
class TestCCode:
    def test_good_code_passes_all_checks(self):
        assert double_in_debugmode(GOOD, _v[::-2], "ALL").tolist() == (V[::-2] * 2).tolist()

    def test_wrong_value(self):
        with pytest.raises(BadThunkOutput) as error:
            double_in_debugmode(u.OUTPUT_LIKE + f"{LOOP} {OUT} = 2 * {IN} + (i == 3);")
        assert error.value.val1.tolist() == (V * 2).tolist()
        assert error.value.val2[3] == 2
        text = str(error.value)
        assert "Double" in text and "perform" in text and "c_code" in text and "max abs diff" in text

    @pytest.mark.parametrize("expression", [_v[::2], _v[::-1]], ids=["gaps", "backwards"])
    def test_strides_of_the_input_are_ignored(self, expression):
        code = u.OUTPUT_LIKE + f"{LOOP} {OUT} = 2 * ((double*)PyArray_DATA(%(x)s))[i];"
        assert double_in_debugmode(code).tolist() == (V * 2).tolist()
        # What lies between and before the elements of a copy may be anything.
        with pytest.raises((BadThunkOutput, InvalidValueError)):
            double_in_debugmode(code, expression)

    def test_strides_of_the_output_are_ignored(self):
        code = f"""
        if (%(z)s == NULL || PyArray_DIMS(%(z)s)[0] != PyArray_DIMS(%(x)s)[0]) {{ Py_XDECREF(%(z)s); {ALLOCATE} }}
        {LOOP} {OUT} = 2 * {IN};
        """
        assert double_in_debugmode(code, preallocated="c_contiguous:wrong_size").tolist() == (V * 2).tolist()
        with pytest.raises(BadThunkOutput, match="strided"):
            double_in_debugmode(code, preallocated="strided")

    def test_the_output_is_not_allocated_again_for_another_size(self):
        code = f"if (%(z)s == NULL) {{ {ALLOCATE} }} {LOOP} if (i < PyArray_DIMS(%(z)s)[0]) {OUT} = 2 * {IN};"
        assert double_in_debugmode(code).tolist() == (V * 2).tolist()
        with pytest.raises(BadThunkOutput, match="wrong_size"):
            double_in_debugmode(code, preallocated="wrong_size")

    def test_the_output_is_never_allocated(self):
        with pytest.raises(InvalidValueError):
            double_in_debugmode("")

    def test_the_output_is_added_to(self):
        code = f"if (%(z)s == NULL) {{ {ALLOCATE} {LOOP} {OUT} = 0; }} {LOOP} {OUT} += 2 * {IN};"
        with pytest.raises(BadThunkOutput):
            double_in_debugmode(code, preallocated="initial")

    def test_an_input_is_written_to(self):
        with pytest.raises(BadDestroyMap) as error:
            double_in_debugmode(GOOD + f"{LOOP} {IN} = 0;")
        assert (error.value.node.op.__class__, error.value.idx) == (Double, 0)

    def test_an_undeclared_view_is_returned(self):
        class Half(u.FirstHalf):
            view_map = {}

        with pytest.raises(BadViewMap):
            theano.function([_v], Half()(_v), mode=DebugMode(check_py_code=False))(V)

    def test_a_view_of_another_input_is_declared(self):
        class Half(u.FirstHalf):
            view_map = {0: [1]}

        with pytest.raises(BadViewMap) as error:
            theano.function([_v, _w], Half()(_v, _w), mode="DebugMode")(V, V)
        assert error.value.output_idx == 0 and error.value.in_alias_idx == [0]

    def test_a_reference_to_an_input_leaks(self):
        with pytest.raises(DebugModeError, match=r"leaks references.*input 0"):
            double_in_debugmode(GOOD + "Py_INCREF(%(x)s);")

    def test_a_reference_to_the_output_leaks(self):
        with pytest.raises(DebugModeError, match=r"leaks references.*output 0"):
            double_in_debugmode(f"Py_XDECREF(%(z)s); {ALLOCATE} Py_INCREF(%(z)s); {LOOP} {OUT} = 2 * {IN};")

    def test_the_type_of_the_output_is_wrong(self):
        code = f"Py_XDECREF(%(z)s); {ALLOCATE.replace('DOUBLE', 'INT64')} {LOOP} ((npy_int64*)PyArray_DATA(%(z)s))[i] = 2;"
        with pytest.raises((InvalidValueError, BadThunkOutput)):
            double_in_debugmode(code, value=np.ones(3))

    def test_an_error_without_a_python_exception(self):
        with pytest.raises(RuntimeError, match="No Python exception was set"):
            double_in_debugmode(GOOD + "%(fail)s;")


class Cube(theano.Op):
    """x ** 3, with mistakes that tests plant."""

    __props__ = ("wrong",)

    def __init__(self, wrong):
        self.wrong = wrong

    def make_node(self, x):
        x = T.as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        result = inputs[0] ** 3
        if self.wrong == "nan":
            result[0] = np.nan
        if self.wrong == "big":
            result[0] = 1e20
        output_storage[0][0] = result

    def infer_shape(self, node, shapes):
        return [(shapes[0][0] + (1 if self.wrong == "shape" else 0), *shapes[0][1:])]

    def grad(self, inputs, gradients):
        return [gradients[0] * inputs[0] ** 2 * (2 if self.wrong == "gradient" else 3)]

    def R_op(self, inputs, eval_points):
        if eval_points[0] is None:
            return [None]
        return [eval_points[0] * inputs[0] ** 2 * (2 if self.wrong == "R_op" else 3)]


def test_wrong_gradient_is_found_by_verify_grad():
    utt.verify_grad(Cube("nothing"), [V])
    with pytest.raises(theano.gradient.verify_grad.E_grad) as error:
        utt.verify_grad(Cube("gradient"), [V])
    assert "exceed tolerance" in str(error.value)


class TestShapes(utt.InferShapeTester):
    def test_right_shape(self):
        x = T.dmatrix("x")
        self._compile_and_check([x], [Cube("nothing")(x)], [np.ones((3, 2))], Cube)

    def test_wrong_shape_is_found_by_the_tester(self):
        x = T.dmatrix("x")
        with pytest.raises(AssertionError):
            self._compile_and_check([x], [Cube("shape")(x)], [np.ones((3, 2))], Cube)


def test_wrong_shape_is_found_by_debug_mode():
    f = theano.function([_v], Cube("shape")(_v).shape, mode="DebugMode")
    with pytest.raises(BadOptimization, match="ShapeOpt|local_shape"):
        f(V)


def test_wrong_r_op_is_found_by_its_tester():
    from theano.tests.test_rop import RopLop_checker

    class Checker(RopLop_checker):
        def runTest(self):
            pass

    checker = Checker()
    checker.setUp()
    checker.check_rop_lop(Cube("nothing")(checker.x), checker.in_shape)
    with pytest.raises(AssertionError):
        checker.check_rop_lop(Cube("R_op")(checker.x), checker.in_shape)


def test_values_that_are_not_finite():
    with pytest.raises(InvalidValueError, match="non-finite"):
        theano.function([_v], Cube("nan")(_v), mode="DebugMode")(V)
    guard = NanGuardMode(nan_is_error=True, inf_is_error=True, big_is_error=True)
    for wrong, what in (("nan", "NaN"), ("big", "[Bb]ig")):
        with pytest.raises(AssertionError, match=what) as error:
            theano.function([_v], Cube(wrong)(_v), mode=guard)(V)
        assert "Cube" in str(error.value)
    with pytest.raises(AssertionError, match="[Ii]nf"):
        theano.function([_v], Cube("nothing")(_v), mode=guard)(V * np.inf)


class Box:
    """A value of a user's Type: it holds an array."""

    def __init__(self, array):
        self.array = array


class BoxType(theano.gof.Type):
    def filter(self, value, strict=False, allow_downcast=None):
        if not isinstance(value, Box):
            raise TypeError("a box is needed")
        return value

    def values_eq(self, a, b):
        return np.array_equal(a.array, b.array)

    def values_eq_approx(self, a, b):
        return np.allclose(a.array, b.array)

    def may_share_memory(self, a, b):
        arrays = [value.array if isinstance(value, Box) else value for value in (a, b)]
        return np.may_share_memory(*arrays)

    def __eq__(self, other):
        return type(self) is type(other)

    def __hash__(self):
        return hash(type(self))


class Wrap(theano.Op):
    """Puts an array into a box: a view of it, or a copy."""

    __props__ = ("copies",)

    def __init__(self, copies):
        self.copies = copies

    def make_node(self, x):
        return Apply(self, [x], [BoxType()()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = Box(inputs[0].copy() if self.copies else inputs[0])


def test_views_between_types_of_the_user_are_found():
    assert theano.function([_v], Wrap(True)(_v), mode="DebugMode")(V).array.tolist() == V.tolist()
    with pytest.raises(BadViewMap):
        theano.function([_v], Wrap(False)(_v), mode="DebugMode")(V)
