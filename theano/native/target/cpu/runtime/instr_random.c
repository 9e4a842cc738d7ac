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
    npy_intp dims[THN_MAXDIM];
    THN_TRY(read_size(f, THN_IN(f, ins, 1), out->ndim, dims));
    const npy_intp n = PyArray_OverflowMultiplyList(dims, out->ndim);
    THN_FAIL_IF(f, n < 0 || n > INT32_MAX, PyExc_ValueError, "rng_mrg does not support more than (2**31 - 1) samples");
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

enum { GENERATOR, CAPSULE, LOCK, ACQUIRE, RELEASE, N_NAMES };

/* Names of a RandomState's attributes and theirs. */
static PyObject *names[N_NAMES];

static int intern_names(void)
{
    static const char *const texts[N_NAMES] = {"_bit_generator", "capsule", "lock", "acquire", "release"};
    for (int k = 0; k < N_NAMES; k++) {
        names[k] = names[k] ? names[k] : PyUnicode_InternFromString(texts[k]);
        THN_NEED(names[k]);
    }
    return 0;
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

/* 1: drawn; 0: this is NumPy's to do; -1: failed. */
static int draw_natively(ThnFrame *f, const ThnInstr *ins, PyObject *state)
{
    const int distribution = ((const thn_draw_params *)ins->data)->distribution;
    ThnCell *out = THN_OUT(f, ins, 1);
    ThnDraw d = {.out = out};
    npy_intp dims[THN_MAXDIM];
    if (distribution == THN_Distribution_OTHER) {
        return 0;
    }
    const int known = sample_dims(f, ins, dims);
    if (known <= 0) {
        return known;
    }
    if (distribution == THN_Distribution_PERMUTATION) {
        const ThnCell *c = THN_IN(f, ins, 2);
        const npy_intp n = PyTypeNum_ISINTEGER(c->typenum) && c->ndim == 0 ? (npy_intp)thn_scalar_int(c) : -1;
        if (n < 0) {
            return 0;
        }
        dims[out->ndim - 1] = n;
    }
    THN_TRY(thn_out_alloc(f, out, dims));
    for (int k = 0; k < ins->nin - 2; k++) {
        d.param[k] = THN_IN(f, ins, 2 + k);
        if (thn_broadcast_strides(d.param[k], out->ndim, dims, d.strides[k]) < 0) {
            return 0;
        }
    }
    if (!thn_draw_fits(&d, distribution)) {
        return 0;
    }
    THN_OWNED PyObject *owner = PyObject_GetAttr(state, names[GENERATOR]), *lock = owner ? PyObject_GetAttr(owner, names[LOCK]) : NULL;
    THN_OWNED PyObject *capsule = lock ? PyObject_GetAttr(owner, names[CAPSULE]) : NULL;
    d.bits = capsule ? PyCapsule_GetPointer(capsule, "BitGenerator") : NULL;
    THN_OWNED PyObject *acquired = d.bits ? PyObject_CallMethodNoArgs(lock, names[ACQUIRE]) : NULL;
    THN_NEED(acquired);
    THN_WITHOUT_GIL_IF((double)thn_size(out) * NS_PER_DRAW > THN_GIL_WORK, thn_draw(&d, distribution));
    THN_OWNED PyObject *released = PyObject_CallMethodNoArgs(lock, names[RELEASE]);
    return released ? 1 : -1;
}

/* function(state, lengths, parameters...), an array; a new reference. */
static PyObject *draw_by_call(ThnFrame *f, const ThnInstr *ins, PyObject *state)
{
    THN_OWNED PyObject *args = thn_box_inputs(f, ins, 0);
    THN_NULL_UNLESS(args && PyTuple_SetItem(args, 0, Py_NewRef(state)) == 0);
    return PyObject_Call(((const thn_draw_params *)ins->data)->function, args, NULL);
}

static int draw_check(ThnProgram *p, ThnInstr *ins)
{
    const thn_draw_params *d = ins->data;
    const int other = d->distribution == THN_Distribution_OTHER, order = d->distribution == THN_Distribution_PERMUTATION;
    const int wanted = other ? ins->nin : order ? 3 : 2 + THN_DRAW_PARAMS;
    THN_TRY(intern_names());
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
