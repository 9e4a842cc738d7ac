"""More Ops with C or C++ code of users: with cleanup, callbacks, optional inputs, libraries, exceptions and odd types."""

from textwrap import dedent

import numpy as np

import theano.tensor as T
from theano import scalar
from theano.gof import Apply, COp, Op, ParamsType, Type
from theano.gof.type import EnumList, EnumType, Generic
from theano.tensor import blas
from theano.tensor.type_other import NoneConst

from .user_c_ops import OUTPUT_LIKE, SCALAR_OUTPUT, COpOfUser


class Scratch(COpOfUser):
    """Takes memory in `c_code`, and gives it back in `c_code_cleanup`, which runs after errors as well."""

    def c_support_code(self):
        return "static long SCRATCH_LIVE = 0;"

    code = (
        "double* scratch_%(name)s;"
        + OUTPUT_LIKE
        + """
    npy_intp n = PyArray_DIMS(%(x)s)[0];
    scratch_%(name)s = (double*)malloc(n * sizeof(double) + 8);
    SCRATCH_LIVE++;
    for (npy_intp i = 0; i < n; i++) {
        scratch_%(name)s[i] = *(double*)PyArray_GETPTR1(%(x)s, i);
        if (scratch_%(name)s[i] < -100) {
            free(scratch_%(name)s);
            SCRATCH_LIVE--;
            PyErr_SetString(PyExc_OverflowError, "too small");
            %(fail)s
        }
    }
    for (npy_intp i = 0; i < n; i++) *(double*)PyArray_GETPTR1(%(z)s, i) = scratch_%(name)s[n - 1 - i] + SCRATCH_LIVE;
    free(scratch_%(name)s);
    """
    )

    def c_code_cleanup(self, node, name, inputs, outputs, sub):
        return "SCRATCH_LIVE = 0;"

    def perform(self, node, inputs, output_storage):
        if (inputs[0] < -100).any():
            raise OverflowError("too small")
        output_storage[0][0] = inputs[0][::-1] + 1


class SwapSigns(COpOfUser):
    """Two outputs, both in the memory of inputs."""

    destroy_map = {0: [1], 1: [0]}

    def make_node(self, x, y):
        x, y = T.as_tensor_variable(x), T.as_tensor_variable(y)
        return Apply(self, [x, y], [y.type(), x.type()])

    def infer_shape(self, node, shapes):
        return [shapes[1], shapes[0]]

    code = """
    Py_XDECREF(%(z)s); Py_XDECREF(%(w)s);
    %(z)s = %(y)s; Py_INCREF(%(z)s);
    %(w)s = %(x)s; Py_INCREF(%(w)s);
    for (npy_intp i = 0; i < PyArray_DIMS(%(z)s)[0]; i++) *(double*)PyArray_GETPTR1(%(z)s, i) *= -1;
    for (npy_intp i = 0; i < PyArray_DIMS(%(w)s)[0]; i++) *(double*)PyArray_GETPTR1(%(w)s, i) *= -2;
    """

    def perform(self, node, inputs, output_storage):
        x, y = inputs
        x *= -2
        y *= -1
        output_storage[0][0], output_storage[1][0] = y, x


class AbsoluteSquares(COpOfUser):
    """Complex numbers in, real ones out."""

    def make_node(self, x):
        x = T.as_tensor_variable(x)
        return Apply(self, [x], [T.dvector()])

    code = """
    npy_intp n = PyArray_DIMS(%(x)s)[0];
    Py_XDECREF(%(z)s);
    %(z)s = (PyArrayObject*)PyArray_EMPTY(1, &n, NPY_DOUBLE, 0);
    if (!%(z)s) { %(fail)s; }
    for (npy_intp i = 0; i < n; i++) {
        npy_complex128 v = *(npy_complex128*)PyArray_GETPTR1(%(x)s, i);
        *(double*)PyArray_GETPTR1(%(z)s, i) = v.real * v.real + v.imag * v.imag;
    }
    """

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = (inputs[0] * inputs[0].conj()).real.copy()


class HalfTwice(COpOfUser):
    """float16, which C code has to ask for."""

    _f16_ok = True

    code = (
        OUTPUT_LIKE
        + """
    for (npy_intp i = 0; i < PyArray_DIMS(%(x)s)[0]; i++) {
        float v = npy_half_to_float(*(npy_half*)PyArray_GETPTR1(%(x)s, i));
        *(npy_half*)PyArray_GETPTR1(%(z)s, i) = npy_float_to_half(2 * v);
    }
    """
    )

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = (inputs[0] * np.float16(2)).astype("float16")


class Total(COpOfUser):
    """Any number of inputs, of any ranks: their sums added up, while the interpreter may do something else."""

    def make_node(self, *inputs):
        return Apply(self, [T.as_tensor_variable(i) for i in inputs], [T.dscalar()])

    def infer_shape(self, node, shapes):
        return [()]

    def c_code(self, node, name, inputs, outputs, sub):
        steps = "".join(
            f"""
            {{
                PyArrayObject* whole = (PyArrayObject*)PyArray_FROM_OTF((PyObject*){v}, NPY_DOUBLE, NPY_ARRAY_IN_ARRAY);
                if (whole == NULL) {sub["fail"]}
                double* at = (double*)PyArray_DATA(whole);
                npy_intp n = PyArray_SIZE(whole);
                Py_BEGIN_ALLOW_THREADS
                for (npy_intp i = 0; i < n; i++) total += at[i];
                Py_END_ALLOW_THREADS
                Py_DECREF(whole);
            }}
            """
            for v in inputs
        )
        allocate = SCALAR_OUTPUT % {"z": outputs[0], "t": "NPY_DOUBLE", "fail": sub["fail"]}
        return f"double total = 0;\n{steps}\n{allocate}\n*(double*)PyArray_DATA({outputs[0]}) = total;"

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.asarray(sum(float(np.sum(v)) for v in inputs))


class ClippedBelow(COpOfUser):
    """The second input is optional."""

    def make_node(self, x, low=None):
        return Apply(self, [T.as_tensor_variable(x), NoneConst if low is None else T.as_tensor_variable(low)], [T.dvector()])

    def c_code(self, node, name, inputs, outputs, sub):
        x, low = inputs
        given = "0" if node.inputs[1].type == NoneConst.type else f"*(dtype_{low}*)PyArray_DATA({low})"
        names = {"x": x, "z": outputs[0], "fail": sub["fail"]}
        return (OUTPUT_LIKE % names) + f"""
        for (npy_intp i = 0; i < PyArray_DIMS({x})[0]; i++) {{
            double v = *(double*)PyArray_GETPTR1({x}, i), low = {given};
            *(double*)PyArray_GETPTR1({outputs[0]}, i) = v < low ? low : v;
        }}
        """

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.maximum(inputs[0], 0 if inputs[1] is None else inputs[1])


class Applied(COpOfUser):
    """Calls a Python function from C."""

    def make_node(self, function, x):
        return Apply(self, [function, T.as_tensor_variable(x)], [T.dvector()])

    def infer_shape(self, node, shapes):
        return [shapes[1]]

    code = """
    PyObject* made = PyObject_CallFunctionObjArgs((PyObject*)%(x)s, (PyObject*)%(y)s, NULL);
    if (made == NULL) { %(fail)s }
    Py_XDECREF(%(z)s);
    %(z)s = (PyArrayObject*)PyArray_FROM_OTF(made, NPY_DOUBLE, NPY_ARRAY_ENSURECOPY | NPY_ARRAY_ENSUREARRAY);
    Py_DECREF(made);
    if (%(z)s == NULL) { %(fail)s }
    """

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.array(inputs[0](inputs[1]), dtype="float64")


class Histogram(COpOfUser):
    """The result is a dict of Python."""

    def make_node(self, x):
        return Apply(self, [T.as_tensor_variable(x)], [Generic()()])

    def infer_shape(self, node, shapes):
        return [None]

    code = """
    Py_XDECREF(%(z)s);
    %(z)s = PyDict_New();
    if (%(z)s == NULL) %(fail)s
    for (npy_intp i = 0; i < PyArray_DIMS(%(x)s)[0]; i++) {
        PyObject* key = PyLong_FromLong((long)*(npy_int32*)PyArray_GETPTR1(%(x)s, i));
        PyObject* old = key ? PyDict_GetItem(%(z)s, key) : NULL;
        PyObject* count = PyLong_FromLong(old ? PyLong_AsLong(old) + 1 : 1);
        int bad = !key || !count || PyDict_SetItem(%(z)s, key, count) < 0;
        Py_XDECREF(key);
        Py_XDECREF(count);
        if (bad) %(fail)s
    }
    """

    def perform(self, node, inputs, output_storage):
        keys, counts = np.unique(inputs[0], return_counts=True)
        output_storage[0][0] = dict(zip(keys.tolist(), counts.tolist()))


class Words(COpOfUser):
    """Containers and exceptions of C++."""

    def c_headers(self):
        return ["<map>", "<stdexcept>", "<vector>", "<numeric>", "<functional>"]

    def c_support_code(self):
        return dedent("""
        namespace users {
        template <typename T> class Ranks {
            std::map<T, int> found;
        public:
            explicit Ranks(const std::vector<T>& values) {
                for (const auto& v : values) found[v] = 0;
                int k = 0;
                for (auto& item : found) item.second = k++;
            }
            int of(T value) const {
                auto at = found.find(value);
                if (at == found.end()) throw std::out_of_range("not there");
                return at->second;
            }
        };
        }
        """)

    code = (
        OUTPUT_LIKE
        + """
    try {
        std::vector<double> values;
        for (npy_intp i = 0; i < PyArray_DIMS(%(x)s)[0]; i++) values.push_back(*(double*)PyArray_GETPTR1(%(x)s, i));
        if (values.empty()) throw std::invalid_argument("no values");
        users::Ranks<double> ranks(values);
        std::function<int(double)> of = [&](double v) { return ranks.of(v); };
        for (size_t i = 0; i < values.size(); i++) *(double*)PyArray_GETPTR1(%(z)s, i) = of(values[i]);
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_ValueError, error.what());
        %(fail)s
    }
    """
    )

    def perform(self, node, inputs, output_storage):
        if not len(inputs[0]):
            raise ValueError("no values")
        output_storage[0][0] = np.unique(inputs[0], return_inverse=True)[1].astype("float64")


class Filled(COpOfUser):
    """The lengths of the output are an input."""

    def make_node(self, value, lengths):
        return Apply(self, [T.as_tensor_variable(value), T.as_tensor_variable(lengths)], [T.dmatrix()])

    def infer_shape(self, node, shapes):
        return [(node.inputs[1][0], node.inputs[1][1])]

    code = """
    npy_intp dims[2] = {(npy_intp)*(npy_int64*)PyArray_GETPTR1(%(y)s, 0), (npy_intp)*(npy_int64*)PyArray_GETPTR1(%(y)s, 1)};
    if (dims[0] < 0 || dims[1] < 0) { PyErr_SetString(PyExc_ValueError, "negative length"); %(fail)s }
    Py_XDECREF(%(z)s);
    %(z)s = (PyArrayObject*)PyArray_EMPTY(2, dims, NPY_DOUBLE, 0);
    if (%(z)s == NULL) %(fail)s
    PyArray_FillWithScalar(%(z)s, PyArray_ToScalar(PyArray_DATA(%(x)s), %(x)s));
    """

    def perform(self, node, inputs, output_storage):
        if (inputs[1] < 0).any():
            raise ValueError("negative length")
        output_storage[0][0] = np.full(inputs[1], inputs[0])


class Tabled(COpOfUser):
    """A table that is filled once, when the module is loaded."""

    __props__ = ("base",)

    def __init__(self, base):
        self.base = base

    def c_support_code_apply(self, node, name):
        return f"static double table_{name}[16];"

    def c_init_code_apply(self, node, name):
        return f"for (int i = 0; i < 16; i++) table_{name}[i] = pow({self.base}, i);"

    def c_code_cache_version(self):
        return (1, self.base)

    code = (
        OUTPUT_LIKE
        + """
    for (npy_intp i = 0; i < PyArray_DIMS(%(x)s)[0]; i++)
        *(npy_double*)PyArray_GETPTR1(%(z)s, i) = table_%(name)s[((npy_intp)*(double*)PyArray_GETPTR1(%(x)s, i)) & 15];
    """
    )

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = float(self.base) ** (inputs[0].astype(int) & 15)


class Blend(COpOfUser):
    """Matrices with broadcast dimensions, by the iterator of NumPy for several arrays."""

    def make_node(self, x, y):
        x, y = T.as_tensor_variable(x), T.as_tensor_variable(y)
        pattern = [a and b for a, b in zip(x.broadcastable, y.broadcastable)]
        return Apply(self, [x, y], [T.TensorType("float64", pattern)()])

    def infer_shape(self, node, shapes):
        return [tuple(T.maximum(a, b) for a, b in zip(*shapes))]

    code = """
    {
        PyArrayMultiIterObject* it = (PyArrayMultiIterObject*)PyArray_MultiIterNew(2, %(x)s, %(y)s);
        if (it == NULL) %(fail)s
        Py_XDECREF(%(z)s);
        %(z)s = (PyArrayObject*)PyArray_EMPTY(PyArray_MultiIter_NDIM(it), PyArray_MultiIter_DIMS(it), NPY_DOUBLE, 0);
        if (%(z)s == NULL) { Py_DECREF(it); %(fail)s }
        double* out = (double*)PyArray_DATA(%(z)s);
        while (PyArray_MultiIter_NOTDONE(it)) {
            *out++ = 0.25 * *(dtype_%(x)s*)PyArray_MultiIter_DATA(it, 0) + 0.75 * *(dtype_%(y)s*)PyArray_MultiIter_DATA(it, 1);
            PyArray_MultiIter_NEXT(it);
        }
        Py_DECREF(it);
    }
    """

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = 0.25 * inputs[0] + 0.75 * inputs[1]


class Power2(scalar.UnaryScalarOp):
    """A scalar Op whose code has statements and a loop."""

    def impl(self, x):
        return 2.0 ** max(int(x), 0)

    def c_code(self, node, name, inputs, outputs, sub):
        (x,), (z,) = inputs, outputs
        return f"""
        {z} = 1;
        for (int i_{name} = 0; i_{name} < (int){x}; i_{name}++) {{
            {z} = {z} * 2;
        }}
        """

    def c_code_cache_version(self):
        return (1,)


power2 = T.Elemwise(Power2(scalar.upgrade_to_float, name="power2"))


class PlusScalar(COpOfUser):
    """An input that is a number and no array."""

    def make_node(self, x, number):
        return Apply(self, [T.as_tensor_variable(x), scalar.as_scalar(number)], [T.dvector()])

    code = OUTPUT_LIKE + """
    for (npy_intp i = 0; i < PyArray_DIMS(%(x)s)[0]; i++)
        *(double*)PyArray_GETPTR1(%(z)s, i) = *(double*)PyArray_GETPTR1(%(x)s, i) + %(y)s;
    """

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] + inputs[1]


class ManyParams(COpOfUser):
    """Parameters of six Types in one struct."""

    __props__ = ("count", "on", "weights", "table", "kind", "unit")
    params_type = ParamsType(
        count=scalar.int64,
        on=scalar.bool,
        weights=T.TensorType("float32", (False, False)),
        table=Generic(),
        kind=EnumList("ROWS", "COLUMNS"),
        unit=EnumType(METRES=1, FEET=3),
    )

    def __init__(self, count, on, weights, table, kind, unit):
        self.count, self.on, self.table = count, on, table
        self.weights = np.asarray(weights, "float32")
        self.kind = getattr(self.params_type, kind)
        self.unit = getattr(self.params_type, unit)

    def __eq__(self, other):
        return type(self) is type(other) and self.get_params(None) == other.get_params(None)

    def __hash__(self):
        return hash((type(self), self.count, self.kind, self.unit))

    code = OUTPUT_LIKE + """
    PyObject* factor = PyDict_GetItemString(%(params)s->table, "factor");
    if (factor == NULL) { PyErr_SetString(PyExc_KeyError, "factor"); %(fail)s }
    for (npy_intp i = 0; i < PyArray_DIMS(%(x)s)[0]; i++) {
        npy_intp r = %(params)s->kind == ROWS ? i %% PyArray_DIMS(%(params)s->weights)[0] : 0;
        npy_intp c = %(params)s->kind == COLUMNS ? i %% PyArray_DIMS(%(params)s->weights)[1] : 0;
        double v = *(double*)PyArray_GETPTR1(%(x)s, i) * *(npy_float32*)PyArray_GETPTR2(%(params)s->weights, r, c);
        v = v * PyFloat_AsDouble(factor) + (%(params)s->on ? %(params)s->count : 0);
        *(double*)PyArray_GETPTR1(%(z)s, i) = %(params)s->unit == FEET ? 3 * v : v;
    }
    """

    def perform(self, node, inputs, output_storage, params):
        x = inputs[0]
        line = params.weights[:, 0] if params.kind == params.__dict__["__params_type__"].ROWS else params.weights[0]
        v = x * np.resize(line, len(x)).astype("float64") * params.table["factor"] + (params.count if params.on else 0)
        output_storage[0][0] = v * int(params.unit)


class Pair(Type):
    """Two numbers: a tuple in Python, a struct in C, with memory that is used again."""

    def filter(self, x, strict=False, allow_downcast=None):
        if not (isinstance(x, tuple) and len(x) == 2):
            raise TypeError("a pair is needed")
        return tuple(map(float, x))

    def __eq__(self, other):
        return type(self) is type(other)

    def __hash__(self):
        return hash(type(self))

    def values_eq_approx(self, a, b):
        return np.allclose(a, b)

    def c_support_code(self):
        return "struct users_pair { double first, second; };"

    def c_declare(self, name, sub, check_input=True):
        return f"users_pair {name};"

    def c_init(self, name, sub):
        return f"{name}.first = {name}.second = 0;"

    def c_extract(self, name, sub, check_input=True):
        return f"if (!PyArg_ParseTuple(py_{name}, \"dd\", &{name}.first, &{name}.second)) {sub['fail']}"

    def c_sync(self, name, sub):
        return f'Py_XDECREF(py_{name}); py_{name} = Py_BuildValue("dd", {name}.first, {name}.second);'

    def c_cleanup(self, name, sub):
        return ""

    def c_code_cache_version(self):
        return (1,)


pair = Pair()


class TimesPair(COpOfUser):
    """The product of two pairs, as of complex numbers."""

    def make_node(self, x, y):
        return Apply(self, [x, y], [pair()])

    def infer_shape(self, node, shapes):
        return [None]

    code = """
    %(z)s.first = %(x)s.first * %(y)s.first - %(x)s.second * %(y)s.second;
    %(z)s.second = %(x)s.first * %(y)s.second + %(x)s.second * %(y)s.first;
    """

    def perform(self, node, inputs, output_storage):
        (a, b), (c, d) = inputs
        output_storage[0][0] = (a * c - b * d, a * d + b * c)


class MakePair(COpOfUser):
    """From arrays to a Type of the user."""

    def make_node(self, x, y):
        return Apply(self, [T.as_tensor_variable(x), T.as_tensor_variable(y)], [pair()])

    def infer_shape(self, node, shapes):
        return [None]

    code = "%(z)s.first = *(dtype_%(x)s*)PyArray_DATA(%(x)s); %(z)s.second = *(dtype_%(y)s*)PyArray_DATA(%(y)s);"

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = (float(inputs[0]), float(inputs[1]))


class Norm(COpOfUser):
    """From a Type of the user to an array."""

    def make_node(self, x):
        return Apply(self, [x], [T.dscalar()])

    def infer_shape(self, node, shapes):
        return [()]

    code = (
        SCALAR_OUTPUT % {"z": "%(z)s", "t": "NPY_DOUBLE", "fail": "%(fail)s"}
        + "*(double*)PyArray_DATA(%(z)s) = %(x)s.first * %(x)s.first + %(x)s.second * %(x)s.second;"
    )

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.asarray(sum(v * v for v in inputs[0]))


class Product(COpOfUser):
    """A product of matrices by the BLAS of Theano."""

    def c_headers(self):
        return ["<string.h>"]

    def c_support_code(self):
        return blas.blas_header_text()

    def c_code_cache_version(self):
        return (1, blas.blas_header_version())

    def c_libraries(self):
        return blas.ldflags()

    def c_compile_args(self):
        return blas.ldflags(libs=False, flags=True)

    def c_lib_dirs(self):
        return blas.ldflags(libs=False, libs_dir=True)

    def c_header_dirs(self):
        return blas.ldflags(libs=False, include_dir=True)

    def infer_shape(self, node, shapes):
        return [(shapes[0][0], shapes[1][1])]

    code = """
    {
        PyArrayObject* a = (PyArrayObject*)PyArray_FROM_OTF((PyObject*)%(x)s, NPY_DOUBLE, NPY_ARRAY_IN_FARRAY);
        PyArrayObject* b = (PyArrayObject*)PyArray_FROM_OTF((PyObject*)%(y)s, NPY_DOUBLE, NPY_ARRAY_IN_FARRAY);
        npy_intp dims[2] = {PyArray_DIMS(%(x)s)[0], PyArray_DIMS(%(y)s)[1]};
        Py_XDECREF(%(z)s);
        %(z)s = (PyArrayObject*)PyArray_EMPTY(2, dims, NPY_DOUBLE, 1);
        if (!a || !b || !%(z)s) { Py_XDECREF(a); Py_XDECREF(b); %(fail)s }
        int m = dims[0], n = dims[1], k = PyArray_DIMS(%(x)s)[1];
        double one = 1, zero = 0;
        char no = 'N';
        dgemm_(&no, &no, &m, &n, &k, &one, (double*)PyArray_DATA(a), &m, (double*)PyArray_DATA(b), &k, &zero,
               (double*)PyArray_DATA(%(z)s), &m);
        Py_DECREF(a);
        Py_DECREF(b);
    }
    """

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.dot(*inputs)


class Uniform(COpOfUser):
    """Draws from a generator of Python: the state comes out as well."""

    def make_node(self, state):
        return Apply(self, [state], [T.dscalar(), state.type()])

    def infer_shape(self, node, shapes):
        return [(), None]

    code = """
    {
        PyObject* copy_module = PyImport_ImportModule("copy");
        PyObject* state = copy_module ? PyObject_CallMethod(copy_module, "copy", "O", %(x)s) : NULL;
        PyObject* drawn = state ? PyObject_CallMethod(state, "random", NULL) : NULL;
        Py_XDECREF(copy_module);
        if (drawn == NULL) { Py_XDECREF(state); %(fail)s }
        Py_XDECREF(%(z)s);
        %(z)s = (PyArrayObject*)PyArray_FROM_OTF(drawn, NPY_DOUBLE, NPY_ARRAY_ENSUREARRAY);
        Py_DECREF(drawn);
        Py_XDECREF(%(w)s);
        %(w)s = state;
        if (%(z)s == NULL) %(fail)s
    }
    """

    def perform(self, node, inputs, output_storage):
        import copy

        state = copy.copy(inputs[0])
        output_storage[0][0], output_storage[1][0] = np.asarray(state.random()), state


class Unchecked(COpOfUser):
    """Takes its inputs as they are."""

    check_input = False

    code = """
    npy_intp n = PyArray_SIZE(%(x)s);
    Py_XDECREF(%(z)s);
    %(z)s = (PyArrayObject*)PyArray_NewCopy(%(x)s, NPY_CORDER);
    if (%(z)s == NULL) %(fail)s
    for (npy_intp i = 0; i < n; i++) ((double*)PyArray_DATA(%(z)s))[i] += 0.5;
    """

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] + 0.5


def library_op(folder):
    """Return an Op that uses a header and a library of the user, in a folder."""

    class FromLibrary(COpOfUser):
        def c_headers(self):
            return ["scale.h"]

        def c_header_dirs(self):
            return [str(folder)]

        def c_libraries(self):
            return ["users_scale"]

        def c_lib_dirs(self):
            return [str(folder)]

        code = OUTPUT_LIKE + """
        for (npy_intp i = 0; i < PyArray_DIMS(%(x)s)[0]; i++)
            *(double*)PyArray_GETPTR1(%(z)s, i) = users_scale(*(double*)PyArray_GETPTR1(%(x)s, i));
        """

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = inputs[0] * 7

    return FromLibrary()


def cop_with_all_sections(folder):
    """Return a COp with every section there is, in two files."""
    (folder / "first.c").write_text(
        dedent("""
        #section init_code
        users_started += 1;
        #section support_code
        static int users_started = 0;
        static int users_cleaned = 0;
        #section support_code_apply
        static double APPLY_SPECIFIC(offset);
        static double APPLY_SPECIFIC(add)(DTYPE_INPUT_0 v) { return v + APPLY_SPECIFIC(offset); }
        #section init_code_apply
        APPLY_SPECIFIC(offset) = 10 * users_started;
        """)
    )
    (folder / "second.c").write_text(
        dedent("""
        #section support_code_struct
        double* buffer;
        #section init_code_struct
        buffer = (double*)malloc(sizeof(double));
        if (buffer == NULL) { PyErr_NoMemory(); FAIL; }
        *buffer = PARAMS->step;
        #section cleanup_code_struct
        free(buffer);
        #section code
        {
            npy_intp n = PyArray_DIMS(INPUT_0)[0];
            Py_XDECREF(OUTPUT_0);
            OUTPUT_0 = (PyArrayObject*)PyArray_EMPTY(1, &n, TYPENUM_OUTPUT_0, 0);
            if (OUTPUT_0 == NULL) { FAIL; }
            if (PyArray_ITEMSIZE(INPUT_0) != ITEMSIZE_INPUT_0) { PyErr_SetString(PyExc_SystemError, "size"); FAIL; }
            for (npy_intp i = 0; i < n; i++) {
                DTYPE_PARAM_step step = PARAMS->step;
                *(DTYPE_OUTPUT_0*)PyArray_GETPTR1(OUTPUT_0, i) =
                    APPLY_SPECIFIC(add)(*(DTYPE_INPUT_0*)PyArray_GETPTR1(INPUT_0, i)) + (step + *buffer) / 2;
            }
        }
        #section code_cleanup
        users_cleaned++;
        """)
    )

    class AllSections(COp):
        __props__ = ("step",)
        params_type = ParamsType(step=scalar.float64)

        def __init__(self, step):
            super().__init__([str(folder / "first.c"), str(folder / "second.c")])
            self.step = step

        def make_node(self, x):
            return Apply(self, [x], [x.type()])

        def infer_shape(self, node, shapes):
            return [shapes[0]]

        def perform(self, node, inputs, output_storage, params):
            output_storage[0][0] = (inputs[0] + 10 + params.step).astype(inputs[0].dtype)

    return AllSections


def op_with_dispatch():
    """Return an Op whose C code differs by the dtypes of its node."""

    class Bits(Op):
        __props__ = ()

        def make_node(self, x):
            x = T.as_tensor_variable(x)
            return Apply(self, [x], [T.lscalar()])

        def c_code(self, node, name, inputs, outputs, sub):
            if not node.inputs[0].dtype.startswith(("int", "uint", "bool")):
                raise NotImplementedError("only whole numbers")
            x, z = inputs[0], outputs[0]
            return SCALAR_OUTPUT % {"z": z, "t": "NPY_INT64", "fail": sub["fail"]} + f"""
            npy_int64 bits = 0;
            for (npy_intp i = 0; i < PyArray_DIMS({x})[0]; i++)
                bits += __builtin_popcountll((npy_uint64)*(dtype_{x}*)PyArray_GETPTR1({x}, i));
            *(npy_int64*)PyArray_DATA({z}) = bits;
            """

        def c_code_cache_version(self):
            return (1,)

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = np.asarray(sum(bin(int(v)).count("1") for v in inputs[0]), "int64")

    return Bits()
