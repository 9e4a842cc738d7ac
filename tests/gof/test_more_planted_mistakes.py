"""Further mistakes in users' Ops, Types and rewrites, and the tool that finds each of them."""

import gc
import sys

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano import gof
from theano.compile.debugmode import (
    BadDestroyMap,
    BadOptimization,
    BadThunkOutput,
    BadViewMap,
    DebugMode,
    DebugModeError,
    InvalidValueError,
    StochasticOrder,
)
from theano.compile.nanguardmode import NanGuardMode
from theano.gof import Apply, COp
from theano.gof.fg import MissingInputError
from theano.tests import unittest_tools as utt

from . import user_c_ops as u
from .planted import GOOD, IN, LOOP, OUT, V, needs_compiler

_v, _w, _m = T.dvector("v"), T.dvector("w"), T.dmatrix("m")


class PyOp(theano.Op):
    """An Op of vectors with a given `perform`."""

    def __init__(self, function, n=1, type_=T.dvector, **attributes):
        self.function, self.n, self.type_ = function, n, type_
        self.__dict__.update(attributes)

    def make_node(self, *inputs):
        return Apply(self, list(map(T.as_tensor_variable, inputs)), [self.type_() for _ in range(self.n)])

    def perform(self, node, inputs, output_storage):
        results = self.function(*inputs)
        for storage, value in zip(output_storage, results if self.n > 1 else [results], strict=True):
            storage[0] = value


class Twice(u.COpOfUser):
    """Twice the input, by code that a test gives."""

    __props__ = ("code", "extra")

    def __init__(self, code, extra=()):
        self.code, self.extra = code, extra

    def __getattribute__(self, name):
        extra = dict(object.__getattribute__(self, "__dict__").get("extra", ()))
        return extra[name] if name in extra else super().__getattribute__(name)

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * 2


def debug(output, *values, inputs=(_v,), **kwargs):
    mode = DebugMode(**{"check_preallocated_output": "", **kwargs})
    return theano.function(list(inputs), output, mode=mode)(*(value.copy() for value in values))


class TestViewsAndDestruction:
    def test_two_outputs_share_memory(self):
        op = PyOp(lambda x: [x * 2] * 2, n=2)
        with pytest.raises(BadViewMap) as error:
            debug(op(_v), V)
        assert error.value.out_alias_idx

    def test_two_outputs_may_share_with_one_input_if_both_say_so(self):
        op = PyOp(lambda x: [x[1:], x[:-1]], n=2, view_map={0: [0], 1: [0]})
        assert [r.tolist() for r in debug(op(_v), V)] == [V[1:].tolist(), V[:-1].tolist()]

    def test_a_declared_destruction_of_the_other_input(self):
        def add(x, y):
            y += x
            return y.copy()

        with pytest.raises(BadDestroyMap) as error:
            debug(PyOp(add)(_v, _w), V, V, inputs=[_v, _w])
        assert error.value.idx == 1

    def test_an_input_is_destroyed_through_a_view(self):
        def clear(x):
            x[1:][0] = 0
            return x.sum(keepdims=True)

        with pytest.raises(BadDestroyMap):
            debug(PyOp(clear)(_v), V)

    def test_a_constant_is_written_to(self):
        def clear(x, c):
            c[0] = 7
            return x + c

        constant = T.constant(np.ones(5))
        with pytest.raises(BadDestroyMap):
            debug(PyOp(clear)(_v, constant), V)
        assert constant.data.tolist() == [1] * 5

    @needs_compiler
    def test_c_code_returns_the_input_itself(self):
        code = "Py_XDECREF(%(z)s); %(z)s = %(x)s; Py_INCREF(%(x)s);"
        with pytest.raises((BadViewMap, BadThunkOutput)):
            debug(Twice(code)(_v), V)

    def test_a_mutable_map_that_does_not_fit(self):
        class Wrong(PyOp):
            view_map = {3: [0]}

        with pytest.raises((ValueError, IndexError, KeyError, DebugModeError)):
            debug(Wrong(lambda x: x)(_v), V)


class TestValues:
    def test_the_dtype_is_wrong(self):
        with pytest.raises(InvalidValueError, match="float32"):
            debug(PyOp(lambda x: x.astype("float32"))(_v), V)

    def test_the_rank_is_wrong(self):
        with pytest.raises(InvalidValueError):
            debug(PyOp(lambda x: x[None])(_v), V)

    def test_a_list_instead_of_an_array(self):
        with pytest.raises(InvalidValueError):
            debug(PyOp(lambda x: list(x))(_v), V)

    def test_a_row_that_is_none(self):
        with pytest.raises(InvalidValueError):
            debug(PyOp(lambda x: np.ones((2, 2)), type_=T.drow)(_v), V)

    def test_state_in_the_op(self):
        counter = iter(range(1000))
        with pytest.raises((BadThunkOutput, DebugModeError)):
            debug(PyOp(lambda x: x + next(counter))(_v), V, check_preallocated_output="initial")

    def test_perform_uses_the_old_output_as_it_is(self):
        class Accumulates(PyOp):
            def perform(self, node, inputs, output_storage):
                old = output_storage[0][0]
                if old is None or old.shape != inputs[0].shape:
                    old = np.zeros_like(inputs[0])
                old += inputs[0]
                output_storage[0][0] = old

        with pytest.raises(BadThunkOutput, match="initial"):
            debug(Accumulates(None)(_v), V, check_preallocated_output="initial")

    def test_nan_that_comes_of_a_later_node_is_found_where_it_comes_from(self):
        guard = NanGuardMode(nan_is_error=True, inf_is_error=False, big_is_error=False)
        f = theano.function([_v, _w], T.sum(T.sqrt(_v) * PyOp(lambda x: x * 2)(_w)), mode=guard)
        with pytest.raises(AssertionError, match="NaN") as error:
            f(-abs(V), V)
        assert "Sqrt" in str(error.value) or "sqrt" in str(error.value)

    def test_nan_inside_a_scan(self):
        states, _ = theano.scan(lambda a, s: s * T.log(a), sequences=_v, outputs_info=T.ones(()))
        guard = NanGuardMode(nan_is_error=True, inf_is_error=False, big_is_error=False)
        with pytest.raises(AssertionError, match="NaN"):
            theano.function([_v], states[-1], mode=guard)(V)


@needs_compiler
class TestCCode:
    def test_the_old_output_is_lost(self):
        code = f"%(z)s = NULL; {GOOD}"
        with pytest.raises(DebugModeError, match="leak"):
            debug(Twice(code)(_v), V)

    def test_the_output_is_released_twice(self):
        """A reference too few is as wrong as one too many."""
        held = []

        class Released(Twice):
            def perform(self, node, inputs, output_storage):
                held.append(inputs[0])
                output_storage[0][0] = inputs[0] * 2

        code = GOOD + "Py_INCREF(%(x)s); Py_INCREF(%(x)s); Py_DECREF(%(x)s);"
        with pytest.raises(DebugModeError, match="leak"):
            debug(Released(code)(_v), V)

    def test_a_wrong_element_type(self):
        code = u.OUTPUT_LIKE + f"{LOOP} ((float*)PyArray_DATA(%(z)s))[i] = 2 * {IN};"
        with pytest.raises((BadThunkOutput, InvalidValueError)):
            debug(Twice(code)(_v), V)

    def test_the_first_element_is_left_out(self):
        code = u.OUTPUT_LIKE + LOOP.replace("i = 0", "i = 1") + f" {OUT} = 2 * {IN};"
        with pytest.raises((BadThunkOutput, InvalidValueError)):
            debug(Twice(code)(_v), V + 100, check_preallocated_output="initial:c_contiguous")

    def test_an_output_in_the_order_of_fortran_is_not_expected(self):
        code = """
        if (%(z)s == NULL || PyArray_DIMS(%(z)s)[0] != PyArray_DIMS(%(x)s)[0]
            || PyArray_DIMS(%(z)s)[1] != PyArray_DIMS(%(x)s)[1]) {
            Py_XDECREF(%(z)s);
            %(z)s = (PyArrayObject*)PyArray_EMPTY(2, PyArray_DIMS(%(x)s), NPY_DOUBLE, 0);
        }
        npy_intp n = PyArray_DIMS(%(x)s)[1];
        for (npy_intp i = 0; i < PyArray_DIMS(%(x)s)[0]; i++) for (npy_intp j = 0; j < n; j++)
            ((double*)PyArray_DATA(%(z)s))[i * n + j] = 2 * *(double*)PyArray_GETPTR2(%(x)s, i, j);
        """
        value = np.arange(6.0).reshape(2, 3)
        assert debug(Twice(code)(_m), value, inputs=[_m]).tolist() == (2 * value).tolist()
        with pytest.raises(BadThunkOutput, match="f_contiguous"):
            debug(Twice(code)(_m), value, inputs=[_m], check_preallocated_output="f_contiguous")

    def test_compile_errors_name_the_op_and_show_the_line(self):
        with pytest.raises(theano.gof.cmodule.CompileError) as error:
            theano.function([_v], Twice("double a = 1;\nthis_function_is_missing(a);")(_v))
        text = str(error.value)
        assert "Twice" in text and "this_function_is_missing(a);" in text and "test_more_planted_mistakes" in text

    def test_the_header_is_missing(self):
        extra = (("c_headers", lambda: ["there_is_no_such_header.h"]),)
        with pytest.raises(theano.gof.cmodule.CompileError, match="there_is_no_such_header"):
            theano.function([_v], Twice(GOOD, extra)(_v))

    def test_the_library_is_missing(self):
        extra = (("c_libraries", lambda: ["there_is_no_such_library"]),)
        with pytest.raises(theano.gof.cmodule.CompileError, match="there_is_no_such_library"):
            theano.function([_v], Twice(GOOD, extra)(_v))

    def test_a_section_of_a_cop_is_misspelled(self, tmp_path):
        (tmp_path / "code.c").write_text("#section suport_code\nint a;\n")
        with pytest.raises(ValueError, match="suport_code"):
            COp(str(tmp_path / "code.c"))


class TestRewrites:
    def rewritten_in_debugmode(self, rewrite, output, **kwargs):
        query = gof.EquilibriumOptimizer([rewrite], max_use_ratio=10)
        mode = DebugMode(optimizer=query, **kwargs)
        return theano.function([_v], output, mode=mode)(abs(V))

    def test_a_wrong_value(self):
        @gof.local_optimizer([T.exp])
        def wrong(node):
            return [T.log(node.inputs[0])] if node.op == T.exp else False

        with pytest.raises(BadOptimization) as error:
            self.rewritten_in_debugmode(wrong, T.exp(_v))
        text = str(error.value)
        assert "wrong" in text and error.value.reason is not None
        assert "exp" in text and "log" in text

    def test_a_wrong_dtype_is_refused_at_once(self):
        @gof.local_optimizer([T.exp])
        def wrong(node):
            return [T.cast(node.inputs[0], "int8")] if node.op == T.exp else False

        errors = (TypeError, AssertionError, BadOptimization, ValueError)
        with theano.configparser.change_flags(on_opt_error="raise"), pytest.raises(errors):
            self.rewritten_in_debugmode(wrong, T.exp(_v))

    def test_a_rewrite_that_throws(self):
        @gof.local_optimizer([T.exp])
        def wrong(node):
            raise KeyError("planted")

        with theano.configparser.change_flags(on_opt_error="raise"), pytest.raises(KeyError, match="planted"):
            self.rewritten_in_debugmode(wrong, T.exp(_v))

    def test_a_stochastic_rewrite(self):
        state = [0]

        class Random(gof.Optimizer):
            def add_requirements(self, fgraph):
                fgraph.attach_feature(gof.toolbox.ReplaceValidate())

            def apply(self, fgraph):
                state[0] += 1
                if state[0] % 2:
                    out = fgraph.outputs[0]
                    fgraph.replace_validate(out, T.exp(fgraph.inputs[0]) * 1.0, reason="random")

        with pytest.raises(StochasticOrder):
            theano.function([_v], T.exp(_v), mode=DebugMode(optimizer=Random(), stability_patience=3))

    def test_inputs_that_are_not_in_the_graph(self):
        @gof.local_optimizer([T.exp])
        def wrong(node):
            return [T.exp(_w)] if node.op == T.exp and node.inputs[0] is not _w else False

        with theano.configparser.change_flags(on_opt_error="raise"), pytest.raises((MissingInputError, BadOptimization)):
            self.rewritten_in_debugmode(wrong, T.exp(_v))


class TestGradientsAndShapes:
    class Sum3(theano.Op):
        __props__ = ("wrong",)

        def __init__(self, wrong=""):
            self.wrong = wrong

        def make_node(self, x):
            return Apply(self, [T.as_tensor_variable(x)], [T.dscalar()])

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = np.asarray((inputs[0] ** 3).sum())

        def infer_shape(self, node, shapes):
            return [(), ()] if self.wrong == "shapes" else [(2,)] if self.wrong == "rank" else [()]

        def grad(self, inputs, gradients):
            g = gradients[0] * 3 * inputs[0] ** 2
            return {
                "count": [g, g], "none": [None], "type": [T.cast(g, "int64")], "number": 3, "value": [g * 1.1], "ndim": [g.sum()],
            }.get(self.wrong, [g])  # fmt: skip

    def test_right(self):
        utt.verify_grad(self.Sum3(), [V])

    def test_value(self):
        with pytest.raises(theano.gradient.verify_grad.E_grad):
            utt.verify_grad(self.Sum3("value"), [V])

    @pytest.mark.parametrize("wrong", ["count", "none", "type", "number", "ndim"])
    def test_what_grad_returns(self, wrong):
        with pytest.raises((ValueError, TypeError, AssertionError)) as error:
            g = T.grad(self.Sum3(wrong)(_v), _v)
            theano.function([_v], g, mode="DebugMode")(V)
        assert "Sum3" in str(error.value)

    @pytest.mark.parametrize("wrong", ["shapes", "rank"])
    def test_what_infer_shape_returns(self, wrong):
        flags = {"on_shape_error": "raise", "on_opt_error": "raise"}
        with theano.configparser.change_flags(flags), pytest.raises(Exception, match="shape") as error:
            theano.function([_v], self.Sum3(wrong)(_v).shape)
        assert "Sum3" in str(error.value)


def test_garbage_of_a_failing_debug_function_is_collected():
    op = PyOp(lambda x: x.astype("float32"))
    value = V.copy()
    before = sys.getrefcount(value)
    for _ in range(3):
        with pytest.raises(InvalidValueError):
            debug(op(_v), value)
    gc.collect()
    assert sys.getrefcount(value) == before
