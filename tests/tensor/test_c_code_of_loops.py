"""C code of loops over arrays, of increments and of BLAS, in Ops of users."""

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.tensor import blas_c, elemwise_cgen
from theano.tensor.inc_code import inc_code

pytestmark = pytest.mark.skipif(not theano.config.cxx, reason="there is no C++ compiler")
RNG = np.random.default_rng(3)


class CodeOp(theano.Op):
    """An Op of C code only.

    Parameters
    ----------
    code : callable
        Called with the names of inputs and outputs and the code of a failure.
    types : list of Type
        Those of the outputs.
    support : str
    """

    __props__ = ("code", "types", "support")

    def __init__(self, code, types, support=""):
        self.code, self.types, self.support = code, tuple(types), support

    def make_node(self, *inputs):
        return theano.Apply(self, [T.as_tensor_variable(i) for i in inputs], [t() for t in self.types])

    def c_support_code(self):
        return self.support

    def c_code(self, node, name, inputs, outputs, sub):
        return self.code(inputs, outputs, sub)

    def perform(self, node, inputs, outputs):
        raise NotImplementedError


def loops(make):
    """Code of ``out[i, j] = a[i, j] + 2 * b[j]`` by loops that `make` returns for the orders, the types and the names."""
    orders, types = [(0, 1), ("x", 0), (0, 1)], ["npy_float64", "npy_float32", "npy_float64"]

    def code(inputs, outputs, sub):
        names = {"lv0": inputs[0], "lv1": inputs[1], "lv2": outputs[0], "olv": outputs[0], "fail": sub["fail"]}
        declared = elemwise_cgen.make_declare(orders, types, names)
        checked = elemwise_cgen.make_checks(orders[:2], types[:2], names)
        made = elemwise_cgen.make_alloc(orders[:2], types[2], names)
        last = elemwise_cgen.make_checks([orders[2]], [types[2]], {"lv0": outputs[0], "fail": sub["fail"]})
        task = f"{outputs[0]}_i = {inputs[0]}_i + 2 * {inputs[1]}_i;"
        return declared + checked + made + last + make(orders, types, task, names)

    return code


MAKERS = {
    "loop": lambda orders, types, task, names: elemwise_cgen.make_loop(orders, types, [("", ""), ("", task), ""], names),
    "openmp": lambda orders, types, task, names: elemwise_cgen.make_loop(
        orders, types, [("", ""), ("", task), ""], names, openmp=True
    ),
    "reordered": lambda orders, types, task, names: elemwise_cgen.make_reordered_loop(orders, 2, types, task, names),
    "careduce": lambda orders, types, task, names: elemwise_cgen.make_loop_careduce(
        orders,
        types,
        [("", ""), ("", task.replace("_i", "_iter[0]")), ""],
        names,
    ),
}


@pytest.mark.parametrize("kind", sorted(MAKERS))
def test_loops_over_arrays(kind):
    a, b = T.dmatrix(), T.fvector()
    f = theano.function([a, b], CodeOp(loops(MAKERS[kind]), [T.dmatrix])(a, b))
    normal = RNG.normal(size=(6, 8))
    for value in (np.ones((3, 4)), np.asfortranarray(normal[:3, :4]), normal[::-2, ::2], np.ones((0, 4))):
        row = np.arange(8, dtype="float32")[::-2]
        np.testing.assert_allclose(f(value, row), value + 2 * row)
    with pytest.raises(ValueError, match=r"input\[0\].shape\[1\] = 4, input\[1\].shape\[0\] = 3"):
        f(np.ones((2, 4)), np.ones(3, "float32"))


def test_loops_follow_the_strides_of_the_output():
    orders, types = [(0, 1)], ["npy_float64"]

    def code(inputs, outputs, sub):
        names = {"lv0": outputs[0], "olv": outputs[0], "fail": sub["fail"]}
        lengths = {"lv0": inputs[0], "olv": outputs[0], "fail": sub["fail"]}
        text = elemwise_cgen.make_declare(orders, types, lengths) + elemwise_cgen.make_checks(orders, types, lengths)
        text += elemwise_cgen.make_alloc(orders, types[0], lengths, fortran="1")
        text += elemwise_cgen.make_declare(orders, types, names) + elemwise_cgen.make_checks(orders, types, names)
        task = f"{outputs[0]}_i = count++;"
        return f"{{{text}double count = 0;\n{elemwise_cgen.make_reordered_loop(orders, 0, types, task, names)}}}"

    x = T.dmatrix()
    f = theano.function([x], CodeOp(code, [T.dmatrix])(x))
    result = f(np.zeros((3, 2)))
    assert result.flags.f_contiguous
    np.testing.assert_array_equal(result, [[0, 3], [1, 4], [2, 5]])


def test_numbers_need_no_loop():
    def code(inputs, outputs, sub):
        names = {"lv0": inputs[0], "lv1": outputs[0], "olv": outputs[0], "fail": sub["fail"]}
        orders, types = [(), ()], ["npy_float64"] * 2
        text = elemwise_cgen.make_declare(orders, types, names) + elemwise_cgen.make_checks(orders, types, names)
        text += elemwise_cgen.make_alloc(orders[:1], types[0], names)
        return text + elemwise_cgen.make_reordered_loop(orders, 1, types, f"{outputs[0]}_i = 2 * {inputs[0]}_i;", names)

    x = T.dscalar()
    assert theano.function([x], CodeOp(code, [T.dscalar])(x))(4.0) == 8


@pytest.mark.parametrize("add", [0, 1])
def test_increments_by_any_index(add):
    def code(inputs, outputs, sub):
        return f"""
            Py_XDECREF({outputs[0]});
            {outputs[0]} = (PyArrayObject*)PyArray_NewCopy({inputs[0]}, NPY_ANYORDER);
            if (inplace_increment({outputs[0]}, (PyObject*){inputs[1]}, {inputs[2]}, {add})) {sub["fail"]}
        """

    x, i, y = T.dvector(), T.lvector(), T.dvector()
    f = theano.function([x, i, y], CodeOp(code, [T.dvector], inc_code())(x, i, y))
    np.testing.assert_array_equal(f(np.ones(3), [0, 0, 2], [5, 6, 7]), [12, 1, 8] if add else [6, 1, 7])
    with pytest.raises(IndexError):
        f(np.ones(3), [3], [1])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("inplace", [False, True])
def test_blas_in_c_code(dtype, inplace):
    matrix, vector, scalar = (T.TensorType(dtype, [False] * n) for n in (2, 1, 0))
    support = blas_c.blas_header_text()

    def gemv(inputs, outputs, sub):
        y, alpha, A, x, beta = inputs
        return blas_c.gemv_c_code(y, A, x, outputs[0], alpha, beta, sub["fail"], params=f"(&{str(inplace).lower()}_params)")

    def ger(inputs, outputs, sub):
        A, a, x, y = inputs
        return blas_c.ger_c_code(A, a, x, y, outputs[0], sub["fail"], f"(&{str(inplace).lower()}_params)")

    support += """
        struct test_params { bool inplace; bool destructive; };
        static test_params true_params = {true, true}, false_params = {false, false};
    """
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    A, x, y, a, b = matrix(), vector(), vector(), scalar(), scalar()
    f = theano.function([y, a, A, x, b], CodeOp(gemv, [vector], support)(y, a, A, x, b))
    g = theano.function([A, a, x, y], CodeOp(ger, [matrix], support)(A, a, x, y))
    values = RNG.normal(size=(8, 10)).astype(dtype)
    for m in (values, np.asfortranarray(values), values[::-2, ::3], values[:1], values[:, :1], values[:0], values[:, :0]):
        u = RNG.normal(size=2 * m.shape[1]).astype(dtype)[::-2]
        v = RNG.normal(size=m.shape[0]).astype(dtype)
        for beta in (0.0, 1.5):
            expected = beta * v + 2 * m @ u
            np.testing.assert_allclose(f(v.copy(), 2, m, u, beta), expected, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(g(m.copy("K"), 2, v, u), m + 2 * np.outer(v, u), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(f(np.full(8, np.nan, dtype), 1, values, np.ones(10, dtype), 0), values.sum(1), rtol=1e-4)
    with pytest.raises(ValueError, match=r"A\.shape"):
        f(np.ones(3, dtype), 1, values, np.ones(10, dtype), 1)
    with pytest.raises(ValueError, match=r"A\.shape"):
        g(values, 1, np.ones(8, dtype), np.ones(9, dtype))
