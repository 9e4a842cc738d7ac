/* FastCall: the base type of compiled functions. A call whose arguments are exactly what the program wants runs without any
 * Python code; everything else goes to the method _slow_call. The interface is described in theano/native/fastcall.py. */
#include "vm.h"
#include "copy.h"

#include <structmember.h>

static PyTypeObject *FastCallType;

#define MAX_STACK_OUTPUTS 32

typedef struct {
    int cell;
    int downcast;               /* a Python float is rounded to the input's dtype */
    PyTypeObject *scalar_type;  /* the NumPy scalar type of the dtype (0-d inputs), not owned: they are static */
    int depth;                  /* of a list of arrays 1, of lists of such 2 ...; 0: an array */
    ThnCellSpec element;        /* the arrays of a list */
} Arg;

/* What a call does. It never changes: another binding takes its place, and a call that runs keeps its own. References are
 * counted under the GIL. */
typedef struct {
    Py_ssize_t refs;
    ThnProgram *program;
    int *input_arg;             /* for each input of the program the argument that fills it, or -1 */
    int nargs;
    int noutputs;
    int form;                   /* 0: list, 1: the single value, 2: None */
    Arg args[];
} Binding;

typedef struct {
    PyObject_HEAD
    Binding *binding;           /* or NULL: every call takes the slow path */
    vectorcallfunc vectorcall;
} FastCall;

static PyObject *slow_call_name;

/* ---- arguments */

/* Whether the cell holds the number: what it then has is the number again. */
static int take_integer(ThnCell *c, int64_t v)
{
    int64_t back;
    if (c->typenum == NPY_INT64) {
        c->scalar.i8 = v;
        return 1;
    }
    if (!(PyTypeNum_ISINTEGER(c->typenum) || c->typenum == NPY_DOUBLE || c->typenum == NPY_FLOAT)
        || (v < 0 && PyTypeNum_ISUNSIGNED(c->typenum))) {
        return 0;
    }
    thn_cast_inner(c->typenum, NPY_INT64)(1, c->scalar.bytes, 0, (const char *)&v, 0);
    thn_cast_inner(NPY_INT64, c->typenum)(1, (char *)&back, 0, c->scalar.bytes, 0);
    return back == v;
}

/* The scalar's value into the cell without loss: 1, or 0 if that is not possible. */
static int take_scalar(ThnCell *c, const Arg *arg, PyObject *v)
{
    if (PyFloat_CheckExact(v)) {
        double d = PyFloat_AS_DOUBLE(v);
        if (c->typenum == NPY_DOUBLE) {
            c->scalar.f8 = d;
            return 1;
        }
        if (c->typenum == NPY_FLOAT) {
            float s = (float)d;
            if ((double)s != d && d == d && !arg->downcast) {
                return 0;
            }
            memcpy(c->scalar.bytes, &s, sizeof s);
            return 1;
        }
        return 0;
    }
    if (Py_TYPE(v) == arg->scalar_type) {
        PyArray_ScalarAsCtype(v, c->scalar.bytes);
        return 1;
    }
    if (PyBool_Check(v) && c->typenum == NPY_BOOL) {
        c->scalar.bytes[0] = v == Py_True;
        return 1;
    }
    if (PyLong_CheckExact(v) || PyBool_Check(v)) {
        int overflow;
        long long n = PyLong_AsLongLongAndOverflow(v, &overflow);
        return overflow ? 0 : take_integer(c, n);
    }
    return 0;
}

static int fits(PyArrayObject *a, int typenum, int ndim, uint32_t bcast)
{
    if (PyArray_TYPE(a) != typenum || PyArray_NDIM(a) != ndim || !PyArray_ISBEHAVED_RO(a)) {
        return 0;
    }
    for (int i = 0; bcast; bcast >>= 1, i++) {
        if ((bcast & 1) && PyArray_DIM(a, i) != 1) {
            return 0;
        }
    }
    return 1;
}

/* Whether a list, of lists of ..., holds just the arrays that it should. */
static int list_fits(const Arg *arg, PyObject *v, int depth)
{
    int all = PyList_Check(v);
    for (Py_ssize_t i = 0; all && i < PyList_GET_SIZE(v); i++) {
        PyObject *element = PyList_GET_ITEM(v, i);
        all = depth > 1 ? list_fits(arg, element, depth - 1)
                        : PyArray_CheckExact(element)
                              && fits((PyArrayObject *)element, arg->element.typenum, arg->element.ndim, arg->element.bcast);
    }
    return all;
}

static int take(ThnFrame *f, const Arg *arg, PyObject *v)
{
    ThnCell *c = &f->cells[arg->cell];
    if (arg->depth) {
        if (!list_fits(arg, v, arg->depth)) {
            return 0;
        }
        thn_set_object(c, v);
        return 1;
    }
    if (PyArray_CheckExact(v)) {
        PyArrayObject *a = (PyArrayObject *)v;
        return fits(a, c->typenum, c->ndim, c->bcast) ? thn_take_array(c, a) < 0 ? -1 : 1 : 0;
    }
    if (c->ndim != 0 || !take_scalar(c, arg, v)) {
        return 0;
    }
    c->data = c->scalar.bytes;
    c->flags |= THN_CELL_SET;
    return 1;
}

/* A call's arguments. */
typedef struct {
    Binding *binding;
    PyObject *const *args;
} Given;

/* Fills all inputs: 1, 0 if an argument needs the slow path, -1 with a Python error. */
static int fill(ThnProgram *p, ThnFrame *f, const void *what)
{
    const Given *given = what;
    const Binding *b = given->binding;
    for (int i = 0; i < b->nargs; i++) {
        int r = take(f, &b->args[i], given->args[i]);
        if (r <= 0) {
            return r;
        }
    }
    for (int i = 0; i < p->ninputs && b->nargs < p->ninputs; i++) {
        if (b->input_arg[i] < 0 && thn_load_input(p, f, i, NULL) < 0) {
            return -1;
        }
    }
    return 1;
}

/* ---- calls */

static PyObject *result(const Binding *b, PyObject **out)
{
    PyObject *r = b->form == 1 ? out[0] : b->form == 2 ? Py_NewRef(Py_None) : PyList_New(b->noutputs);
    const int kept = b->form == 1 ? 1 : b->form == 2 || !r ? 0 : b->noutputs;
    for (int i = 0; i < kept && b->form == 0; i++) {
        PyList_SET_ITEM(r, i, out[i]);
    }
    for (int i = kept; i < b->program->noutputs; i++) {
        Py_DECREF(out[i]);
    }
    return r;
}

static void release(Binding *b)
{
    if (b && --b->refs == 0) {
        Py_XDECREF(b->program);
        thn_free(b->input_arg);
        thn_free(b);
    }
}

/* Whether the call is done, and *value what it returns (NULL: an error); else the slow path is to be taken. */
static int fast(PyObject *o, PyObject *const *args, Py_ssize_t n, Py_ssize_t named, PyObject **value)
{
    Binding *b = ((FastCall *)o)->binding;
    PyObject *out[MAX_STACK_OUTPUTS];
    if (!b || n != b->nargs || named || b->program->cleared) {
        return 0;
    }
    b->refs++;
    const int r = thn_call(b->program, fill, &(Given){b, args}, out);
    *value = r > 0 ? result(b, out) : NULL;
    release(b);
    return r != 0;
}

static PyObject *fastcall_vectorcall(PyObject *o, PyObject *const *args, size_t nargsf, PyObject *names)
{
    PyObject *value;
    if (fast(o, args, PyVectorcall_NARGS(nargsf), names ? PyTuple_GET_SIZE(names) : 0, &value)) {
        return value;
    }
    THN_OWNED PyObject *method = PyObject_GetAttr(o, slow_call_name);
    return method ? PyObject_Vectorcall(method, args, (size_t)PyVectorcall_NARGS(nargsf), names) : NULL;
}

/* Before Python 3.12 subclasses are called by this, not by the vectorcall. */
static PyObject *fastcall_call(PyObject *o, PyObject *args, PyObject *named)
{
    PyObject *value;
    if (fast(o, &PyTuple_GET_ITEM(args, 0), PyTuple_GET_SIZE(args), named ? PyDict_GET_SIZE(named) : 0, &value)) {
        return value;
    }
    THN_OWNED PyObject *method = PyObject_GetAttr(o, slow_call_name);
    return method ? PyObject_Call(method, args, named) : NULL;
}

/* ---- binding */

static void bind(FastCall *self, Binding *b)
{
    Binding *old = self->binding;
    self->binding = b;
    release(old);
}

/* 0, 1 if every call takes the slow path, -1 with an error. */
static int parse_args(Binding *b, PyObject *positions, PyObject *downcast, PyObject *lists)
{
    const ThnProgram *p = b->program;
    for (int i = 0; i < p->ninputs; i++) {
        b->input_arg[i] = -1;
    }
    for (int i = 0; i < b->nargs; i++) {
        long k = PyLong_AsLong(PyTuple_GET_ITEM(positions, i));
        if (k == -1 && PyErr_Occurred()) {
            return -1;
        }
        THN_RAISE_IF(k < 0 || k >= p->ninputs || b->input_arg[k] >= 0, PyExc_ValueError,
                     "positions must be different inputs of the program");
        Arg *a = &b->args[i];
        const ThnCellSpec *c = &p->cells[p->inputs[k].cell];
        b->input_arg[k] = i;
        a->cell = p->inputs[k].cell;
        if (c->kind == THN_KIND_TENSOR) {
            a->scalar_type = (PyTypeObject *)PyArray_TypeObjectFromType(c->typenum);
            Py_XDECREF(a->scalar_type);
        }
        PyObject *list = lists && i < PyTuple_GET_SIZE(lists) ? PyTuple_GET_ITEM(lists, i) : Py_None;
        int typenum, ndim;
        unsigned int bcast;
        if (list != Py_None) {
            THN_NEED(PyArg_ParseTuple(list, "iiiI:_fast_bind", &a->depth, &typenum, &ndim, &bcast));
            a->element = (ThnCellSpec){.typenum = typenum, .ndim = (int16_t)ndim, .bcast = bcast};
        }
        if ((c->kind == THN_KIND_TENSOR) != (a->depth == 0) || p->inputs[k].flag) {
            return 1;
        }
        if (downcast && i < PyTuple_GET_SIZE(downcast)) {
            a->downcast = PyObject_IsTrue(PyTuple_GET_ITEM(downcast, i));
        }
    }
    return p->noutputs > MAX_STACK_OUTPUTS;
}

static PyObject *fast_bind(FastCall *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"program", "positions", "n_outputs", "single", "float_downcast", "lists", NULL};
    PyObject *program, *positions = NULL, *single = Py_False, *downcast = NULL, *lists = NULL;
    int n_outputs = 0;
    THN_NULL_UNLESS(PyArg_ParseTupleAndKeywords(args, kwargs, "O|O!iOO!O!:_fast_bind", names, &program, &PyTuple_Type, &positions,
                    &n_outputs, &single, &PyTuple_Type, &downcast, &PyTuple_Type, &lists));
    if (program == Py_None) {
        bind(self, NULL);
        Py_RETURN_NONE;
    }
    THN_NULL_IF(!PyObject_TypeCheck(program, thn_ProgramType) || !positions, PyExc_TypeError,
                "_fast_bind: expected a Program and the positions of the arguments");
    ThnProgram *p = (ThnProgram *)program;
    THN_NULL_IF(n_outputs < 0 || n_outputs > p->noutputs || (single == Py_True && n_outputs < 1), PyExc_ValueError,
                "_fast_bind: the program does not have that many outputs");
    size_t nargs = (size_t)PyTuple_GET_SIZE(positions);
    Binding *b = thn_alloc(sizeof *b + sizeof(Arg) * nargs);
    THN_NULL_UNLESS(b);
    b->refs = 1;
    b->program = (ThnProgram *)Py_NewRef(program);
    b->nargs = (int)nargs;
    b->noutputs = n_outputs;
    b->form = single == Py_None ? 2 : single == Py_True ? 1 : 0;
    b->input_arg = thn_alloc(sizeof(int) * (size_t)p->ninputs);
    const int parsed = b->input_arg ? parse_args(b, positions, downcast, lists) : -1;
    if (parsed != 0) {
        release(b);
        b = NULL;
    }
    THN_NULL_UNLESS(parsed >= 0);
    bind(self, b);
    Py_RETURN_NONE;
}

static PyObject *missing_slow_call(PyObject *self, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    return PyErr_Format(PyExc_NotImplementedError, "%S must define _slow_call", (PyObject *)Py_TYPE(self));
}

static PyObject *fastcall_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    FastCall *self = (FastCall *)type->tp_alloc(type, 0);
    if (self) {
        self->vectorcall = fastcall_vectorcall;
    }
    return (PyObject *)self;
}

static int fastcall_traverse(FastCall *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    if (self->binding) {
        Py_VISIT(self->binding->program);
    }
    return 0;
}

static int fastcall_clear(FastCall *self)
{
    bind(self, NULL);
    return 0;
}

static void fastcall_dealloc(FastCall *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    bind(self, NULL);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"_fast_bind", (PyCFunction)(void (*)(void))fast_bind, METH_VARARGS | METH_KEYWORDS,
     "_fast_bind(program, positions, n_outputs, single, float_downcast=(), lists=()): see theano.native.fastcall."},
    {"_slow_call", (PyCFunction)(void (*)(void))missing_slow_call, METH_VARARGS | METH_KEYWORDS,
     "The Python path of a call; subclasses define it."},
    {NULL, NULL, 0, NULL},
};

static PyObject *get_program(FastCall *self, void *Py_UNUSED(closure))
{
    return Py_NewRef(self->binding ? (PyObject *)self->binding->program : Py_None);
}

static PyGetSetDef getset[] = {
    {"_fast_program", (getter)get_program, NULL, "The bound program, or None.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(FastCall, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, fastcall_new},
    {Py_tp_dealloc, fastcall_dealloc},
    {Py_tp_traverse, fastcall_traverse},
    {Py_tp_clear, fastcall_clear},
    {Py_tp_call, fastcall_call},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, getset},
    {Py_tp_doc, "Base class of compiled functions: see theano.native.fastcall."},
    {0, NULL},
};

int thn_fastcall_init(PyObject *module)
{
    slow_call_name = PyUnicode_InternFromString("_slow_call");
    THN_NEED(slow_call_name);
    return THN_ADD_TYPE(module, "FastCall", FastCall, Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots,
                        &FastCallType);
}
