"""C code that adds to parts of arrays, or sets them, by any index that NumPy takes."""

from __future__ import annotations


def inc_code() -> str:
    """Return C code for the global scope that defines a function::

        int inplace_increment(PyArrayObject* a, PyObject* index, PyArrayObject* inc, int inc_or_set)

    It does ``a[index] += inc``, positions that are there several times being added to each time, or ``a[index] = inc`` where
    `inc_or_set` is 0. It returns 0, or -1 with a Python exception.
    """
    return """
static int inplace_increment(PyArrayObject* a, PyObject* index, PyArrayObject* inc, int inc_or_set)
{
    if (PyArray_FailUnlessWriteable(a, "input/output array") < 0) return -1;
    if (PyArray_NDIM(a) == 0) {
        PyErr_SetString(PyExc_IndexError, "0-d arrays can't be indexed.");
        return -1;
    }
    if (!inc_or_set) return PyObject_SetItem((PyObject*)a, index, (PyObject*)inc);
    PyObject* numpy = PyImport_ImportModule("numpy");
    PyObject* add = numpy ? PyObject_GetAttrString(numpy, "add") : NULL;
    PyObject* done = add ? PyObject_CallMethod(add, "at", "OOO", (PyObject*)a, index, (PyObject*)inc) : NULL;
    int failed = done == NULL;
    Py_XDECREF(done);
    Py_XDECREF(add);
    Py_XDECREF(numpy);
    return failed ? -1 : 0;
}
"""
