"""C and C++ code in terms of older versions of Python and NumPy compiles and does what it did."""

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.gof.cc import _without_hidden_members

from . import user_c_ops as u

pytestmark = pytest.mark.skipif(not theano.config.cxx, reason="there is no C++ compiler")


class Facts(u.COpOfUser):
    """Collects numbers that old names give."""

    def make_node(self, x):
        return theano.gof.Apply(self, [x], [T.dvector()])

    facts = {
        "x->data": ("*(double*)%(x)s->data", 1.5),
        "x->dimensions": ("%(x)s->dimensions[0]", 3),
        "x->strides": ("%(x)s->strides[0]", 8),
        "x->nd": ("%(x)s->nd", 1),
        "type_num": ("%(x)s->descr->type_num == PyArray_DOUBLE", 1),
        "elsize": ("PyArray_DESCR(%(x)s)->elsize + %(x)s->descr->elsize", 16),
        "flags": ("(%(x)s->flags & NPY_ALIGNED) && PyArray_CHKFLAGS(%(x)s, NPY_C_CONTIGUOUS | NPY_F_CONTIGUOUS)", 1),
        "PyInt": ("PyInt_AsLong(number)", 41),
        "PyString": ("PyString_AsString(text)[0]", ord("t")),
        "PyCObject": ("*(int*)PyCObject_AsVoidPtr(pointer)", 5),
        "NpyCapsule": ("NpyCapsule_Check(pointer)", 1),
        "PyArray_FromDims": ("PyArray_DIMS((PyArrayObject*)made)[1]", 2),
        "PyArray_BASE": ("PyArray_BASE((PyArrayObject*)made) == number", 1),
        "half": ("npy_half_to_float(npy_float_to_half(0.5f))", 0.5),
        "std": ("std::max(1.0, 2.0)", 2),
    }
    code = (
        """
    static int five = 5;
    int lengths[2] = {3, 2};
    PyObject* number = PyInt_FromLong(41);
    PyObject* text = PyString_FromString("text");
    PyObject* pointer = PyCObject_FromVoidPtr(&five, NULL);
    PyObject* made = PyArray_FromDims(2, lengths, PyArray_FLOAT64);
    Py_INCREF(number);
    PyArray_BASE((PyArrayObject*)made) = number;
    double facts[] = {%s};
    npy_intp n = sizeof(facts) / sizeof(double);
    Py_XDECREF(%%(z)s);
    %%(z)s = (PyArrayObject*)PyArray_SimpleNew(1, &n, PyArray_DOUBLE);
    if (%%(z)s == NULL) %%(fail)s
    memcpy(PyArray_DATA(%%(z)s), facts, sizeof(facts));
    Py_DECREF(number);
    Py_DECREF(text);
    Py_DECREF(pointer);
    Py_DECREF(made);
    """
        % ",\n".join(f"(double)({text})" for text, _ in facts.values())
    )

    def c_headers(self):
        return ["<algorithm>"]


def test_old_names():
    x = T.dvector("x")
    values = theano.function([x], Facts()(x))(np.array([1.5, 2.0, 3.0]))
    assert dict(zip(Facts.facts, values, strict=True)) == {name: float(value) for name, (_, value) in Facts.facts.items()}


class ComplexArithmetic(u.COpOfUser):
    code = (
        u.OUTPUT_LIKE
        + """
    for (npy_intp i = 0; i < PyArray_DIMS(%(x)s)[0]; i++) {
        dtype_%(x)s a = *(dtype_%(x)s*)PyArray_GETPTR1(%(x)s, i);
        npy_complex128 conjugate;
        conjugate.real = a.real;
        conjugate.imag = -a.imag;
        theano_complex128 sum(1, 2);
        sum += a * conjugate / a - 2.0 * a;
        *(dtype_%(z)s*)PyArray_GETPTR1(%(z)s, i) = sum;
    }
    """
    )


def test_complex_numbers_have_parts_and_arithmetic():
    x = T.zvector("x")
    value = np.array([1 + 2j, -3.5j, 1e200 + 1e200j])
    result = theano.function([x], ComplexArithmetic()(x))(value)
    np.testing.assert_allclose(result[:2], (1 + 2j + value.conj() - 2 * value)[:2])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("n = PyArray_DESCR(x)->elsize;", "n = PyArray_ITEMSIZE(x);"),
        ("PyArray_DESCR(f(a)) -> elsize", "PyArray_ITEMSIZE(f(a))"),
        ("V1->descr->elsize * 2", "PyArray_ITEMSIZE(V1) * 2"),
        ("d->elsize_of", "d->elsize_of"),
        ("PyArray_DESCR(x)->type_num", "PyArray_DESCR(x)->type_num"),
    ],
)
def test_hidden_members_are_replaced(old, new):
    assert _without_hidden_members(old) == new
