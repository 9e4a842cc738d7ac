/* Instructions: random numbers. */
#include "vm.h"
#include "copy.h"
#include "draw.h"
#include "mrg.h"
#include "target.h"
#include "threads.h"

#define NS_PER_SAMPLE 1.0
#define NS_PER_STREAM 10.0
#define NS_PER_DRAW 8.0

/* The lengths of the sample, from a vector of integers. */
static int read_size(ThnFrame *f, const ThnCell *size, int ndim, npy_intp *dims)
{
    const ThnReadInt read = thn_int_reader(size->typenum);
    THN_FAIL_IF(f, size->ndim != 1 || !read, PyExc_ValueError, "the size of a sample must be a vector of integers");
    THN_FAIL_IF(f, size->dims[0] != ndim, PyExc_ValueError, "the size of a sample must have length %d, not %lld", ndim,
                (long long)size->dims[0]);
    for (int i = 0; i < ndim; i++) {
        dims[i] = (npy_intp)read(size->data + i * size->strides[0]);
        THN_FAIL_IF(f, dims[i] < 0, PyExc_ValueError, "negative dimensions are not allowed");
    }
    return 0;
}

/* ---- mrg_uniform */

static int mrg_uniform_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *states = THN_IN(f, ins, 0);
    ThnCell *out = THN_OUT(f, ins, 1);
    npy_intp dims[THN_MAXDIM], n = 1;
    THN_TRY(read_size(f, THN_IN(f, ins, 1), out->ndim, dims));
    for (int i = 0; i < out->ndim; i++) {
        n = dims[i] ? n : 0;
    }
    for (int i = 0; i < out->ndim && n; i++) {
        THN_FAIL_IF(f, dims[i] > INT32_MAX / n, PyExc_ValueError, "rng_mrg does not support more than (2**31 - 1) samples");
        n *= dims[i];
    }
    THN_FAIL_IF(f, states->dims[1] != THN_MRG_WORDS || (n && !states->dims[0]), PyExc_ValueError,
                "the states must have %d columns, and at least one row", THN_MRG_WORDS);
    THN_TRY(thn_target_prepare(f, THN_OUT(f, ins, 0), THN_IN(f, ins, 0), thn_in_place(ins)));
    THN_TRY(thn_out_alloc(f, out, dims));
    f->work = NS_PER_SAMPLE * (double)n + NS_PER_STREAM * (double)(n < states->dims[0] ? n : states->dims[0]);
    return 0;
}

static void mrg_uniform_task(void *ctx, long task)
{
    thn_mrg_block(ctx, task * THN_MRG_BLOCK);
}

static int mrg_uniform_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *states = THN_OUT(f, ins, 0), *out = THN_OUT(f, ins, 1);
    thn_target_execute(states, THN_IN(f, ins, 0), thn_in_place(ins));
    ThnMrg m = {.states = states->data, .row = states->strides[0], .word = states->strides[1], .streams = states->dims[0],
                .n = thn_size(out), .out = out->data, .typenum = out->typenum};
    const npy_intp used = m.n < m.streams ? m.n : m.streams;
    const long tasks = (long)((used + THN_MRG_BLOCK - 1) / THN_MRG_BLOCK);
    thn_parallel_if(m.n >= 20000, tasks, mrg_uniform_task, &m);
    return 0;
}

THN_INSTRUCTION(mrg_uniform, NULL, mrg_uniform_prepare, mrg_uniform_execute)

/* ---- draw */

/* Attributes of a RandomState. Interned; NULL + MemoryError. */
static PyObject *name_of(PyObject **held, const char *text)
{
    if (!*held) {
        *held = PyUnicode_InternFromString(text);
    }
    return *held;
}

static PyObject *attribute(PyObject *o, PyObject **held, const char *text)
{
    PyObject *name = name_of(held, text);
    return name ? PyObject_GetAttr(o, name) : NULL;
}

typedef struct {
    bitgen_t *bits;
    PyObject *owner, *lock; /* of the bits */
} Generator;

static int generator_open(Generator *g, PyObject *state)
{
    static PyObject *generator_name, *capsule_name, *lock_name, *acquire_name;
    memset(g, 0, sizeof *g);
    THN_OWNED PyObject *capsule = NULL, *done = NULL;
    if ((g->owner = attribute(state, &generator_name, "_bit_generator")) && (capsule = attribute(g->owner, &capsule_name, "capsule"))
        && (g->bits = PyCapsule_GetPointer(capsule, "BitGenerator")) && (g->lock = attribute(g->owner, &lock_name, "lock"))
        && name_of(&acquire_name, "acquire")) {
        done = PyObject_CallMethodNoArgs(g->lock, acquire_name);
    }
    if (!done) {
        Py_CLEAR(g->lock);
        Py_CLEAR(g->owner);
    }
    return done ? 0 : -1;
}

/* An exception that is set stays. */
static int generator_close(Generator *g)
{
    static PyObject *release_name;
    PyObject *type, *value, *tb;
    PyErr_Fetch(&type, &value, &tb);
    THN_OWNED PyObject *done = name_of(&release_name, "release") ? PyObject_CallMethodNoArgs(g->lock, release_name) : NULL;
    Py_DECREF(g->lock);
    Py_DECREF(g->owner);
    if (type || done) {
        PyErr_Restore(type, value, tb);
    }
    return done && !type ? 0 : -1;
}

/* The lengths of the sample, without the last dim of those that have one more than is asked for. 1: known; 0: only NumPy knows;
 * -1: failed. */
static int sample_dims(ThnFrame *f, const ThnInstr *ins, npy_intp *dims)
{
    const thn_draw_params *p = ins->data;
    const ThnCell *shape = THN_IN(f, ins, 1), *out = THN_OUT(f, ins, 1);
    const int ndim = out->ndim - p->own_dims;
    if (shape->dims[0] > 0) {
        THN_FAIL_IF(f, shape->dims[0] != ndim, PyExc_ValueError,
                    "Shape mismatch: self.outtype.ndim (%d) != len(shape) (%lld) + self.ndim_added (%d)", out->ndim,
                    (long long)shape->dims[0], p->own_dims);
        return read_size(f, shape, ndim, dims) < 0 ? -1 : 1;
    }
    for (int i = 0; i < ndim; i++) {
        dims[i] = 1;
    }
    for (int k = 2; k < ins->nin && p->distribution != THN_Distribution_PERMUTATION; k++) {
        const ThnCell *c = THN_IN(f, ins, k);
        if (c->ndim > ndim || thn_widen(c, ndim, dims) >= 0) {
            return 0;
        }
    }
    return ndim == 0 || p->distribution != THN_Distribution_PERMUTATION;
}

static int is_whole(int typenum)
{
    return PyTypeNum_ISINTEGER(typenum) && typenum != NPY_ULONG && typenum != NPY_ULONGLONG;
}

/* Whether the sample can be drawn here. */
static int fits(const ThnDraw *d, int distribution)
{
    const int out = d->out->typenum, first = d->param[0]->typenum, second = d->param[1]->typenum;
    const int real = (out == NPY_FLOAT || out == NPY_DOUBLE || out == NPY_HALF);
    switch (distribution) {
    case THN_Distribution_UNIFORM: return real && thn_uniform_fits(d);
    case THN_Distribution_BINOMIAL: return (real || is_whole(out)) && is_whole(first) && thn_binomial_fits(d);
    default: return (real || is_whole(out)) && is_whole(first) && is_whole(second) && thn_integers_fit(d);
    }
}

/* 1: drawn; 0: this is NumPy's to do; -1: failed. */
static int draw_natively(ThnFrame *f, const ThnInstr *ins, PyObject *state)
{
    const int distribution = ((const thn_draw_params *)ins->data)->distribution;
    ThnCell *out = THN_OUT(f, ins, 1);
    ThnDraw d = {.out = out};
    npy_intp dims[THN_MAXDIM], n = 0, rows = 1;
    if (distribution == THN_Distribution_OTHER) {
        return 0;
    }
    const int known = sample_dims(f, ins, dims);
    if (known <= 0) {
        return known;
    }
    if (distribution == THN_Distribution_PERMUTATION) {
        const ThnCell *c = THN_IN(f, ins, 2);
        n = is_whole(c->typenum) && c->ndim == 0 ? (npy_intp)thn_scalar_int(c) : -1;
        if (n < 0 || out->typenum != NPY_INT64) {
            return 0;
        }
        for (int i = 0; i < out->ndim - 1; i++) {
            rows *= dims[i];
        }
        dims[out->ndim - 1] = n;
    }
    THN_TRY(thn_out_alloc(f, out, dims));
    if (distribution != THN_Distribution_PERMUTATION) {
        for (int k = 0; k < THN_DRAW_PARAMS; k++) {
            d.param[k] = THN_IN(f, ins, 2 + k);
            if (PyTypeNum_ISCOMPLEX(d.param[k]->typenum) || thn_broadcast_strides(d.param[k], out->ndim, dims, d.strides[k]) < 0) {
                return 0;
            }
        }
        if (!fits(&d, distribution)) {
            return 0;
        }
    }
    Generator g;
    THN_TRY(generator_open(&g, state));
    d.bits = g.bits;
    PyThreadState *released = (double)thn_size(out) * NS_PER_DRAW > THN_GIL_WORK ? PyEval_SaveThread() : NULL;
    switch (distribution) {
    case THN_Distribution_UNIFORM: thn_draw_uniform(&d); break;
    case THN_Distribution_BINOMIAL: thn_draw_binomial(&d); break;
    case THN_Distribution_INTEGERS: thn_draw_integers(&d); break;
    default: thn_draw_permutations(g.bits, (int64_t *)out->data, rows, n);
    }
    if (released) {
        PyEval_RestoreThread(released);
    }
    return generator_close(&g) < 0 ? -1 : 1;
}

/* function(state, parameters..., size) as an array; a new reference. */
static PyObject *draw_by_call(ThnFrame *f, const ThnInstr *ins, PyObject *state)
{
    const thn_draw_params *p = ins->data;
    const ThnCell *shape = THN_IN(f, ins, 1), *out = THN_OUT(f, ins, 1);
    const int nd = (int)shape->dims[0];
    npy_intp dims[THN_MAXDIM];
    THN_NULL_UNLESS(!nd || sample_dims(f, ins, dims) >= 0);
    THN_OWNED PyObject *args = PyTuple_New(ins->nin), *size = nd ? PyTuple_New(nd) : Py_NewRef(Py_None);
    THN_NULL_UNLESS(args && size);
    for (int i = 0; i < nd; i++) {
        PyObject *length = PyLong_FromSsize_t(dims[i]);
        THN_NULL_UNLESS(length);
        PyTuple_SET_ITEM(size, i, length);
    }
    for (int k = 2; k < ins->nin; k++) {
        PyObject *v = thn_box(f, THN_IN(f, ins, k));
        THN_NULL_UNLESS(v);
        PyTuple_SET_ITEM(args, k - 1, v);
    }
    PyTuple_SET_ITEM(args, 0, Py_NewRef(state));
    PyTuple_SET_ITEM(args, ins->nin - 1, Py_NewRef(size));
    THN_OWNED PyObject *sample = PyObject_Call(p->function, args, NULL);
    PyObject *array = sample ? PyArray_FromAny(sample, PyArray_DescrFromType(out->typenum), 0, 0, NPY_ARRAY_FORCECAST, NULL) : NULL;
    if (array && !nd && PyArray_NDIM((PyArrayObject *)array) < out->ndim) {
        /* NumPy returns a scalar where all parameters have one element. */
        const int missing = out->ndim - PyArray_NDIM((PyArrayObject *)array);
        for (int i = 0; i < out->ndim; i++) {
            dims[i] = i < missing ? 1 : PyArray_DIM((PyArrayObject *)array, i - missing);
        }
        PyArray_Dims given = {dims, out->ndim};
        PyObject *reshaped = PyArray_Newshape((PyArrayObject *)array, &given, NPY_CORDER);
        Py_SETREF(array, reshaped);
    }
    if (array && PyArray_NDIM((PyArrayObject *)array) != out->ndim) {
        PyErr_Format(PyExc_ValueError, "The sample should have dimension %d, it has %d", out->ndim,
                     PyArray_NDIM((PyArrayObject *)array));
        Py_CLEAR(array);
    }
    return array;
}

static int draw_check(ThnProgram *p, ThnInstr *ins)
{
    const thn_draw_params *d = ins->data;
    const int other = d->distribution == THN_Distribution_OTHER, order = d->distribution == THN_Distribution_PERMUTATION;
    const int wanted = other ? ins->nin : order ? 3 : 2 + THN_DRAW_PARAMS;
    return thn_fits(ins, PyCallable_Check(d->function) && PyCallable_Check(d->copy) && d->own_dims >= 0
                             && d->own_dims <= p->cells[ins->outs[1]].ndim && ins->nin == wanted && (other || d->own_dims == order));
}

static int draw_execute(ThnFrame *f, const ThnInstr *ins)
{
    const thn_draw_params *p = ins->data;
    PyObject *given = THN_IN(f, ins, 0)->obj;
    THN_FAIL_IF(f, !given, PyExc_TypeError, "expected a numpy.random.RandomState");
    THN_OWNED PyObject *state = p->inplace ? Py_NewRef(given) : PyObject_CallOneArg(p->copy, given);
    THN_NEED(state);
    const int drawn = draw_natively(f, ins, state);
    THN_TRY(drawn);
    if (!drawn) {
        THN_OWNED PyObject *sample = draw_by_call(f, ins, state);
        THN_NEED(sample);
        THN_TRY(thn_unbox(f, THN_OUT(f, ins, 1), sample));
    }
    thn_set_object(THN_OUT(f, ins, 0), state);
    return 0;
}

THN_INSTRUCTION(draw, draw_check, thn_nothing_prepare, draw_execute)
