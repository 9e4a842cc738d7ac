"""Ops with C or C++ code of the kinds that users write; each also has a `perform` to be compared with."""

from textwrap import dedent

import numpy as np

import theano.tensor as T
from theano import scalar
from theano.gof import Apply, COp, Op, OpenMPOp, ParamsType, Type
from theano.gof.type import CDataType, CEnumType, EnumList, Generic

#: Makes the output %(z)s a C-contiguous array of the shape of %(x)s, in the old memory if that fits.
OUTPUT_LIKE = """
if (%(z)s == NULL || PyArray_NDIM(%(z)s) != PyArray_NDIM(%(x)s) || !PyArray_IS_C_CONTIGUOUS(%(z)s)
    || !PyArray_CompareLists(PyArray_DIMS(%(z)s), PyArray_DIMS(%(x)s), PyArray_NDIM(%(x)s))) {
    Py_XDECREF(%(z)s);
    %(z)s = (PyArrayObject*)PyArray_EMPTY(PyArray_NDIM(%(x)s), PyArray_DIMS(%(x)s), PyArray_TYPE(%(x)s), 0);
    if (%(z)s == NULL) %(fail)s
}
"""
#: The same for a 0-d output of the type %(t)s.
SCALAR_OUTPUT = """
if (%(z)s == NULL) {
    %(z)s = (PyArrayObject*)PyArray_EMPTY(0, NULL, %(t)s, 0);
    if (%(z)s == NULL) %(fail)s
}
"""


class COpOfUser(Op):
    """An Op whose `code` computes ``z`` (and ``w``) from ``x`` (and ``y``)."""

    __props__ = ()
    code = ""

    def make_node(self, *inputs):
        inputs = [T.as_tensor_variable(i) for i in inputs]
        return Apply(self, inputs, [inputs[0].type()])

    def c_code(self, node, name, inputs, outputs, sub):
        names = dict(zip("xy", inputs)) | dict(zip("zw", outputs)) | {"name": name} | sub
        return self.code % names

    def c_code_cache_version(self):
        return (5,)

    def infer_shape(self, node, shapes):
        return [shapes[0]]


class Harmonic(scalar.BinaryScalarOp):
    """x * y / (x + y): fuses with other elementwise operations."""

    def impl(self, x, y):
        return x * y / (x + y)

    def c_code(self, node, name, inputs, outputs, sub):
        (x, y), (z,) = inputs, outputs
        return f"{z} = {x} * {y} / ({x} + {y});"

    def grad(self, inputs, gradients):
        (x, y), (g,) = inputs, gradients
        return [g * (y / (x + y)) ** 2, g * (x / (x + y)) ** 2]

    def c_code_cache_version(self):
        return (1,)


harmonic = T.Elemwise(Harmonic(scalar.upgrade_to_float, name="harmonic"))


class Fraction(scalar.UnaryScalarOp):
    """A scalar Op with a function of its own in C."""

    def impl(self, x):
        return x - np.floor(x) if x > 0 else 0.0

    def c_support_code(self):
        return "static double users_fraction(double x) { return x > 0 ? x - floor(x) : 0.0; }"

    def c_headers(self):
        return ["<math.h>"]

    def c_code(self, node, name, inputs, outputs, sub):
        return f"{outputs[0]} = users_fraction({inputs[0]});"

    def c_code_cache_version(self):
        return (1,)


fraction = T.Elemwise(Fraction(scalar.upgrade_to_float, name="fraction"))


class VectorTimesScalar(COpOfUser):
    """Any strides in, any type, macros for the element types."""

    code = (
        OUTPUT_LIKE
        + """
    dtype_%(z)s* out = (dtype_%(z)s*)PyArray_DATA(%(z)s);
    const dtype_%(y)s factor = *(dtype_%(y)s*)PyArray_DATA(%(y)s);
    for (npy_intp i = 0; i < PyArray_DIMS(%(x)s)[0]; i++)
        out[i] = *(dtype_%(x)s*)PyArray_GETPTR1(%(x)s, i) * factor;
    """
    )

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = (inputs[0] * inputs[1]).astype(node.outputs[0].dtype)

    def grad(self, inputs, gradients):
        return [gradients[0] * inputs[1], (gradients[0] * inputs[0]).sum()]


class VectorTimesVector(COpOfUser):
    """A helper function for each node, an error that names the lengths."""

    code = (
        """
    if (PyArray_DIMS(%(x)s)[0] != PyArray_DIMS(%(y)s)[0]) {
        PyErr_Format(PyExc_ValueError, "lengths differ: %%ld and %%ld",
                     (long)PyArray_DIMS(%(x)s)[0], (long)PyArray_DIMS(%(y)s)[0]);
        %(fail)s
    }
    """
        + OUTPUT_LIKE
        + "multiply_%(name)s(%(x)s, %(y)s, %(z)s);"
    )

    def c_support_code_apply(self, node, name):
        x, y, z = (v.type.dtype_specs()[1] for v in (*node.inputs, *node.outputs))
        return f"""
        static void multiply_{name}(PyArrayObject* x, PyArrayObject* y, PyArrayObject* z) {{
            for (npy_intp i = 0; i < PyArray_DIMS(x)[0]; i++)
                *({z}*)PyArray_GETPTR1(z, i) = *({x}*)PyArray_GETPTR1(x, i) * *({y}*)PyArray_GETPTR1(y, i);
        }}
        """

    def perform(self, node, inputs, output_storage):
        if len(inputs[0]) != len(inputs[1]):
            raise ValueError(f"lengths differ: {len(inputs[0])} and {len(inputs[1])}")
        output_storage[0][0] = inputs[0] * inputs[1]


class Increment(COpOfUser):
    """Works in place."""

    destroy_map = {0: [0]}
    code = """
    Py_XDECREF(%(z)s);
    %(z)s = %(x)s;
    Py_INCREF(%(z)s);
    for (npy_intp i = 0; i < PyArray_DIMS(%(z)s)[0]; i++) *(npy_double*)PyArray_GETPTR1(%(z)s, i) += 1;
    """

    def perform(self, node, inputs, output_storage):
        x = inputs[0]
        x += 1
        output_storage[0][0] = x


class FirstHalf(COpOfUser):
    """Returns a view."""

    view_map = {0: [0]}
    code = """
    npy_intp n = PyArray_DIMS(%(x)s)[0] / 2;
    Py_XDECREF(%(z)s);
    Py_INCREF(PyArray_DESCR(%(x)s));
    %(z)s = (PyArrayObject*)PyArray_NewFromDescr(
        &PyArray_Type, PyArray_DESCR(%(x)s), 1, &n, PyArray_STRIDES(%(x)s), PyArray_DATA(%(x)s),
        PyArray_FLAGS(%(x)s) & ~NPY_ARRAY_OWNDATA, NULL);
    if (%(z)s == NULL) %(fail)s
    Py_INCREF(%(x)s);
    if (PyArray_SetBaseObject(%(z)s, (PyObject*)%(x)s) < 0) %(fail)s
    """

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0][: len(inputs[0]) // 2]

    def infer_shape(self, node, shapes):
        return [(shapes[0][0] // 2,)]


class Quadratic(COpOfUser):
    """Parameters of different types, which change without new code."""

    __props__ = ("a", "b", "kind")
    params_type = ParamsType(
        a=scalar.Scalar("float64"), b=T.dvector, kind=EnumList("PLAIN", ("SQUARED", "square"), ctype="int")
    )

    def __init__(self, a, b, kind):
        self.a = a
        self.b = tuple(b)
        self.kind = kind

    def get_params(self, node):
        return self.params_type.get_params(a=self.a, b=np.array(self.b), kind=self.kind)

    code = (
        OUTPUT_LIKE
        + """
    npy_double* out = (npy_double*)PyArray_DATA(%(z)s);
    PyArrayObject* b = %(params)s->b;
    for (npy_intp i = 0; i < PyArray_DIMS(%(x)s)[0]; i++) {
        npy_double v = *(npy_double*)PyArray_GETPTR1(%(x)s, i);
        if (%(params)s->kind == SQUARED) v *= v;
        out[i] = %(params)s->a * v + *(npy_double*)PyArray_GETPTR1(b, i %% PyArray_DIMS(b)[0]);
    }
    """
    )

    def perform(self, node, inputs, output_storage, params):
        x = inputs[0] ** 2 if params.kind == self.params_type.SQUARED else inputs[0]
        output_storage[0][0] = params.a * x + np.resize(params.b, x.shape)


class CLimit(COpOfUser):
    """A constant of a C header."""

    params_type = CEnumType(("INT_MAX", "largest"), "INT_MIN", ctype="int")

    def get_params(self, node):
        return self.params_type.INT_MAX

    def c_headers(self):
        return ["limits.h"]

    def make_node(self, x):
        return Apply(self, [T.as_tensor_variable(x)], [T.lscalar()])

    code = (
        SCALAR_OUTPUT % {"z": "%(z)s", "t": "NPY_INT64", "fail": "%(fail)s"}
        + "*(npy_int64*)PyArray_DATA(%(z)s) = (%(params)s == INT_MAX) ? INT_MAX : 0;"
    )

    def perform(self, node, inputs, output_storage, params):
        output_storage[0][0] = np.asarray(np.iinfo("int32").max)

    def infer_shape(self, node, shapes):
        return [()]


POINTER = CDataType("double*", "free_doubles", extra_support_code="static void free_doubles(void* p) { free(p); }", version=1)


class ToPointer(COpOfUser):
    """Passes memory of its own to another Op; the Type frees it."""

    def make_node(self, x):
        return Apply(self, [T.as_tensor_variable(x)], [POINTER()])

    def infer_shape(self, node, shapes):
        return [None]

    code = """
    %(z)s = (double*)malloc(2 * sizeof(double));
    if (%(z)s == NULL) { PyErr_NoMemory(); %(fail)s }
    %(z)s[0] = PyArray_DIMS(%(x)s)[0];
    %(z)s[1] = *(double*)PyArray_GETPTR1(%(x)s, 0);
    """


class FromPointer(COpOfUser):
    def make_node(self, p):
        return Apply(self, [p], [T.dscalar()])

    def infer_shape(self, node, shapes):
        return [()]

    code = (
        SCALAR_OUTPUT % {"z": "%(z)s", "t": "NPY_DOUBLE", "fail": "%(fail)s"}
        + "*(double*)PyArray_DATA(%(z)s) = %(x)s[0] + %(x)s[1];"
    )


class MinMax(COpOfUser):
    """Two outputs of different types."""

    def make_node(self, x):
        x = T.as_tensor_variable(x)
        return Apply(self, [x], [T.dscalar(), T.fscalar()])

    def infer_shape(self, node, shapes):
        return [(), ()]

    code = (
        SCALAR_OUTPUT % {"z": "%(z)s", "t": "NPY_DOUBLE", "fail": "%(fail)s"}
        + SCALAR_OUTPUT % {"z": "%(w)s", "t": "NPY_FLOAT", "fail": "%(fail)s"}
        + """
    npy_intp n = PyArray_DIMS(%(x)s)[0];
    if (n == 0) { PyErr_SetString(PyExc_ValueError, "no elements"); %(fail)s }
    double lo = *(double*)PyArray_GETPTR1(%(x)s, 0), hi = lo;
    for (npy_intp i = 1; i < n; i++) {
        double v = *(double*)PyArray_GETPTR1(%(x)s, i);
        lo = v < lo ? v : lo;
        hi = v > hi ? v : hi;
    }
    *(double*)PyArray_DATA(%(z)s) = lo;
    *(float*)PyArray_DATA(%(w)s) = (float)hi;
    """
    )

    def perform(self, node, inputs, output_storage):
        if not inputs[0].size:
            raise ValueError("no elements")
        output_storage[0][0] = np.asarray(inputs[0].min())
        output_storage[1][0] = np.asarray(inputs[0].max(), "float32")


class Sorted(COpOfUser):
    """C++: the standard library and a template."""

    def c_headers(self):
        return ["<algorithm>", "<functional>", "<vector>"]

    def c_support_code(self):
        return """
        template <typename T, typename Compare>
        static void users_sort(const std::vector<T>& values, T* out, Compare compare) {
            std::copy(values.begin(), values.end(), out);
            std::sort(out, out + values.size(), compare);
        }
        """

    code = (
        OUTPUT_LIKE
        + """
    std::vector<dtype_%(x)s> values;
    for (npy_intp i = 0; i < PyArray_DIMS(%(x)s)[0]; i++)
        values.push_back(*(dtype_%(x)s*)PyArray_GETPTR1(%(x)s, i));
    users_sort(values, (dtype_%(z)s*)PyArray_DATA(%(z)s), std::greater<dtype_%(x)s>());
    """
    )

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = -np.sort(-inputs[0])


class ParallelSquare(OpenMPOp):
    """A loop with OpenMP."""

    __props__ = ("openmp",)

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def c_code(self, node, name, inputs, outputs, sub):
        pragma = "#pragma omp parallel for" if self.openmp else ""
        code = (
            OUTPUT_LIKE
            + f"""
        {pragma}
        for (npy_intp i = 0; i < PyArray_DIMS(%(x)s)[0]; i++) {{
            double v = *(double*)PyArray_GETPTR1(%(x)s, i);
            ((double*)PyArray_DATA(%(z)s))[i] = v * v;
        }}
        """
        )
        return code % {"x": inputs[0], "z": outputs[0], **sub}

    def c_code_cache_version(self):
        return (1,)

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] ** 2


class RunningMean(COpOfUser):
    """State and memory of each compiled node: struct members with their start and end."""

    def c_support_code_struct(self, node, name):
        return f"double* scratch_{name}; npy_intp room_{name};"

    def c_init_code_struct(self, node, name, sub):
        return f"""
        room_{name} = 4;
        scratch_{name} = (double*)malloc(room_{name} * sizeof(double));
        if (scratch_{name} == NULL) {{ PyErr_NoMemory(); {sub["fail"]} }}
        """

    def c_cleanup_code_struct(self, node, name):
        return f"free(scratch_{name});"

    code = (
        OUTPUT_LIKE
        + """
    npy_intp n = PyArray_DIMS(%(x)s)[0];
    if (n > room_%(name)s) {
        double* more = (double*)realloc(scratch_%(name)s, n * sizeof(double));
        if (more == NULL) { PyErr_NoMemory(); %(fail)s }
        scratch_%(name)s = more;
        room_%(name)s = n;
    }
    double total = 0;
    for (npy_intp i = 0; i < n; i++) {
        total += *(double*)PyArray_GETPTR1(%(x)s, i);
        scratch_%(name)s[i] = total / (i + 1);
    }
    memcpy(PyArray_DATA(%(z)s), scratch_%(name)s, n * sizeof(double));
    """
    )

    def perform(self, node, inputs, output_storage):
        x = inputs[0]
        output_storage[0][0] = np.cumsum(x) / (np.arange(x.size) + 1)


class Reversed(COpOfUser):
    """Memory of one call, which `c_code_cleanup` frees also after a failure."""

    code = """
    double* temporary_%(name)s = (double*)malloc((PyArray_DIMS(%(x)s)[0] + 1) * sizeof(double));
    npy_intp n_%(name)s = PyArray_DIMS(%(x)s)[0];
    if (n_%(name)s == 1) { PyErr_SetString(PyExc_ValueError, "one element"); free(temporary_%(name)s); %(fail)s }
    for (npy_intp i = 0; i < n_%(name)s; i++)
        temporary_%(name)s[i] = *(double*)PyArray_GETPTR1(%(x)s, n_%(name)s - 1 - i);
    """ + OUTPUT_LIKE + """
    memcpy(PyArray_DATA(%(z)s), temporary_%(name)s, n_%(name)s * sizeof(double));
    users_calls++;
    free(temporary_%(name)s);
    """  # fmt: skip

    def c_support_code(self):
        return "static long users_calls;"

    def c_init_code(self):
        return ["users_calls = 0;"]

    def c_code_cleanup(self, node, name, inputs, outputs, sub):
        return "if (users_calls < 0) PyErr_Clear();"

    def perform(self, node, inputs, output_storage):
        if len(inputs[0]) == 1:
            raise ValueError("one element")
        output_storage[0][0] = inputs[0][::-1].copy()


class Bessel(COpOfUser):
    """A library and arguments for the compiler."""

    def c_headers(self):
        return ["<math.h>"]

    def c_libraries(self):
        return ["m"]

    def c_compile_args(self):
        return ["-DUSERS_ORDER=1"]

    def c_no_compile_args(self):
        return ["-fwrapv"]

    code = (
        OUTPUT_LIKE
        + """
    for (npy_intp i = 0; i < PyArray_DIMS(%(x)s)[0]; i++)
        ((double*)PyArray_DATA(%(z)s))[i] = jn(USERS_ORDER, *(double*)PyArray_GETPTR1(%(x)s, i));
    """
    )

    def perform(self, node, inputs, output_storage):
        from scipy.special import jv

        output_storage[0][0] = jv(1, inputs[0])


class ColumnSums(COpOfUser):
    """A matrix with any strides becomes a vector."""

    def make_node(self, x):
        x = T.as_tensor_variable(x)
        return Apply(self, [x], [T.TensorType(x.dtype, (False,))()])

    code = """
    npy_intp rows = PyArray_DIMS(%(x)s)[0], n = PyArray_DIMS(%(x)s)[1];
    if (%(z)s == NULL || PyArray_DIMS(%(z)s)[0] != n) {
        Py_XDECREF(%(z)s);
        %(z)s = (PyArrayObject*)PyArray_EMPTY(1, &n, PyArray_TYPE(%(x)s), 0);
        if (%(z)s == NULL) %(fail)s
    }
    for (npy_intp j = 0; j < n; j++) {
        dtype_%(x)s total = 0;
        for (npy_intp i = 0; i < rows; i++) total += *(dtype_%(x)s*)PyArray_GETPTR2(%(x)s, i, j);
        *(dtype_%(z)s*)PyArray_GETPTR1(%(z)s, j) = total;
    }
    """

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0].sum(axis=0, dtype=inputs[0].dtype)

    def infer_shape(self, node, shapes):
        return [(shapes[0][1],)]

    def grad(self, inputs, gradients):
        return [T.zeros_like(inputs[0]) + gradients[0]]


class Lookup(COpOfUser):
    """A Python object as an input."""

    def make_node(self, table, key):
        return Apply(self, [table, T.as_tensor_variable(key)], [T.dscalar()])

    def infer_shape(self, node, shapes):
        return [()]

    code = (
        SCALAR_OUTPUT % {"z": "%(z)s", "t": "NPY_DOUBLE", "fail": "%(fail)s"}
        + """
    PyObject* key = PyLong_FromLongLong(*(npy_int64*)PyArray_DATA(%(y)s));
    PyObject* found = key ? PyObject_GetItem(%(x)s, key) : NULL;
    Py_XDECREF(key);
    if (found == NULL) %(fail)s
    *(double*)PyArray_DATA(%(z)s) = PyFloat_AsDouble(found);
    Py_DECREF(found);
    if (PyErr_Occurred()) %(fail)s
    """
    )

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.asarray(float(inputs[0][int(inputs[1])]))


class CountPositive(COpOfUser):
    """Of any rank, through NumPy's iterator; an integer comes out."""

    def make_node(self, x):
        return Apply(self, [T.as_tensor_variable(x)], [T.lscalar()])

    def infer_shape(self, node, shapes):
        return [()]

    code = (
        SCALAR_OUTPUT % {"z": "%(z)s", "t": "NPY_INT64", "fail": "%(fail)s"}
        + """
    PyArrayIterObject* it = (PyArrayIterObject*)PyArray_IterNew((PyObject*)%(x)s);
    if (it == NULL) %(fail)s
    npy_int64 n = 0;
    while (it->index < it->size) {
        n += *(dtype_%(x)s*)PyArray_ITER_DATA(it) > 0;
        PyArray_ITER_NEXT(it);
    }
    Py_DECREF(it);
    *(npy_int64*)PyArray_DATA(%(z)s) = n;
    """
    )

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.asarray((inputs[0] > 0).sum(), "int64")


class Seven(COpOfUser):
    """Without inputs, and with an output that is not shown."""

    default_output = 1

    def make_node(self):
        return Apply(self, [], [T.bvector(), T.wscalar()])

    def infer_shape(self, node, shapes):
        return [(T.constant(3, dtype="int64"),), ()]

    code = """
    npy_intp three = 3;
    Py_XDECREF(%(z)s);
    Py_XDECREF(%(w)s);
    %(z)s = (PyArrayObject*)PyArray_ZEROS(1, &three, NPY_INT8, 0);
    %(w)s = (PyArrayObject*)PyArray_EMPTY(0, NULL, NPY_INT16, 0);
    if (%(z)s == NULL || %(w)s == NULL) %(fail)s
    *(npy_int16*)PyArray_DATA(%(w)s) = 7;
    """

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.zeros(3, "int8")
        output_storage[1][0] = np.asarray(7, "int16")

    def c_code(self, node, name, inputs, outputs, sub):
        return self.code % {"z": outputs[0], "w": outputs[1], **sub}


class Text(Type):
    """A Type of the user with a C interface: a text of Python, a pointer in C."""

    def filter(self, x, strict=False, allow_downcast=None):
        if not isinstance(x, str):
            raise TypeError("a text is needed")
        return x

    def __eq__(self, other):
        return type(self) is type(other)

    def __hash__(self):
        return hash(type(self))

    def c_declare(self, name, sub, check_input=True):
        return f"const char* {name};"

    def c_init(self, name, sub):
        return f'{name} = "";'

    def c_extract(self, name, sub, check_input=True):
        return f"{name} = PyUnicode_AsUTF8(py_{name}); if ({name} == NULL) {sub['fail']}"

    def c_sync(self, name, sub):
        return f"""
        PyObject* made_{name} = PyUnicode_FromString({name});
        Py_XDECREF(py_{name});
        py_{name} = made_{name};
        """

    def c_cleanup(self, name, sub):
        return ""

    def c_headers(self):
        return ["<string.h>"]

    def c_code_cache_version(self):
        return (1,)


class TextLength(COpOfUser):
    def make_node(self, x):
        return Apply(self, [x], [T.lscalar()])

    def infer_shape(self, node, shapes):
        return [()]

    code = (
        SCALAR_OUTPUT % {"z": "%(z)s", "t": "NPY_INT64", "fail": "%(fail)s"}
        + "*(npy_int64*)PyArray_DATA(%(z)s) = strlen(%(x)s);"
    )

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.asarray(len(inputs[0]), "int64")


class WithoutExtension(COpOfUser):
    """From a text to a text."""

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def infer_shape(self, node, shapes):
        return [None]

    code = '%(z)s = strrchr(%(x)s, (int)46) ? strrchr(%(x)s, (int)46) + 1 : "";'

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0].rpartition(".")[2] if "." in inputs[0] else ""


def external_cops(folder):
    """Return two COps, whose code is in files: one with a whole function, one with code that is pasted."""
    (folder / "axpb.c").write_text(
        dedent("""
        #section support_code
        static double users_twice(double v) { return 2 * v; }
        #section support_code_apply
        int APPLY_SPECIFIC(axpb)(PyArrayObject* x, PyArrayObject** z, PARAMS_TYPE* params) {
            npy_intp n = PyArray_DIMS(x)[0];
            if (*z == NULL || PyArray_DIMS(*z)[0] != n) {
                Py_XDECREF(*z);
                *z = (PyArrayObject*)PyArray_EMPTY(1, &n, TYPENUM_OUTPUT_0, 0);
                if (*z == NULL) return 1;
            }
            for (npy_intp i = 0; i < n; i++)
                *(DTYPE_OUTPUT_0*)PyArray_GETPTR1(*z, i) =
                    params->a * *(DTYPE_INPUT_0*)PyArray_GETPTR1(x, i) + users_twice(params->b);
            return 0;
        }
        """)
    )
    (folder / "norm.c").write_text(
        dedent("""
        #section support_code_struct
        long CALLS;
        #section init_code_struct
        CALLS = 0;
        #section code
        if (OUTPUT_0 == NULL && (OUTPUT_0 = (PyArrayObject*)PyArray_EMPTY(0, NULL, TYPENUM_OUTPUT_0, 0)) == NULL)
            { FAIL }
        {
            DTYPE_OUTPUT_0 total = 0;
            for (npy_intp i = 0; i < PyArray_DIMS(INPUT_0)[0]; i++) {
                DTYPE_INPUT_0 v = *(DTYPE_INPUT_0*)PyArray_GETPTR1(INPUT_0, i);
                total += v * v;
            }
            *(DTYPE_OUTPUT_0*)PyArray_DATA(OUTPUT_0) = total;
            CALLS++;
        }
        """)
    )

    class Axpb(COp):
        __props__ = ("a", "b")
        params_type = ParamsType(a=scalar.float64, b=scalar.float64)

        def __init__(self, a, b):
            super().__init__(str(folder / "axpb.c"), "APPLY_SPECIFIC(axpb)")
            self.a = a
            self.b = b

        def make_node(self, x):
            return Apply(self, [x], [x.type()])

        def perform(self, node, inputs, output_storage, params):
            output_storage[0][0] = (params.a * inputs[0] + 2 * params.b).astype(inputs[0].dtype)

    class Norm(COp):
        __props__ = ()

        def __init__(self):
            super().__init__([str(folder / "norm.c")])

        def make_node(self, x):
            return Apply(self, [x], [x.type.clone(broadcastable=())()])

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = np.asarray((inputs[0] ** 2).sum())

    return Axpb, Norm


GENERIC = Generic()
