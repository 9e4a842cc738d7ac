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
    f->work = NS_PER_SAMPLE * (double)n + NS_PER_STREAM * (double)thn_least(n, states->dims[0]);
    return thn_out_alloc(f, out, dims);
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
    const long tasks = (long)((thn_least(m.n, m.streams) + THN_MRG_BLOCK - 1) / THN_MRG_BLOCK);
    thn_parallel_if(m.n >= 20000, tasks, mrg_uniform_task, &m);
    return 0;
}

THN_INSTRUCTION(mrg_uniform, NULL, mrg_uniform_prepare, mrg_uniform_execute)

/* ---- RandomStates */

enum { GENERATOR, CAPSULE, LOCK, ACQUIRE, RELEASE, N_NAMES };

/* Names of a RandomState's attributes and theirs; the class. */
static PyObject *names[N_NAMES], *random_state;

static int find_names(void)
{
    THN_OWNED PyObject *module = random_state ? NULL : PyImport_ImportModule("numpy.random");
    random_state = module ? PyObject_GetAttrString(module, "RandomState") : random_state;
    THN_NEED(random_state);
    static const char *const texts[N_NAMES] = {"_bit_generator", "capsule", "lock", "acquire", "release"};
    for (int k = 0; k < N_NAMES; k++) {
        names[k] = names[k] ? names[k] : PyUnicode_InternFromString(texts[k]);
        THN_NEED(names[k]);
    }
    return 0;
}

/* 1, 0, or -1 and an exception. */
static int is_random_state(PyObject *state)
{
    THN_TRY(find_names());
    return PyObject_IsInstance(state, random_state);
}

/* Acquires the lock of a RandomState's generator. Returns the lock, NULL if that failed. */
static PyObject *hold(PyObject *state, int pending, ThnGenerator *from)
{
    THN_OWNED PyObject *owner = PyObject_GetAttr(state, names[GENERATOR]), *lock = owner ? PyObject_GetAttr(owner, names[LOCK]) : NULL;
    THN_OWNED PyObject *capsule = lock ? PyObject_GetAttr(owner, names[CAPSULE]) : NULL;
    from->bits = capsule ? PyCapsule_GetPointer(capsule, "BitGenerator") : NULL;
    THN_OWNED PyObject *acquired = from->bits ? PyObject_CallMethodNoArgs(lock, names[ACQUIRE]) : NULL;
    from->has_normal = pending > 0 ? (int *)((char *)state + pending) : NULL;
    from->normal = pending > 0 ? (double *)((char *)state + pending + sizeof(double)) : NULL;
    return acquired ? Py_NewRef(lock) : NULL;
}

static int let_go(PyObject *lock)
{
    THN_OWNED PyObject *released = PyObject_CallMethodNoArgs(lock, names[RELEASE]);
    return released ? 0 : -1;
}

/* Bytes of a Mersenne Twister's state: 624 words and the position; of a pending normal: whether there is one, and which. */
#define TWISTER (625 * sizeof(uint32_t))
#define PENDING (2 * sizeof(double))

/* Whether all of the state of an object lies as a RandomState with a Mersenne Twister has it in memory; -1: failed. */
static int is_twister(PyObject *state, int pending)
{
    const int known = pending > 0 ? is_random_state(state) : 0;
    if (known <= 0) {
        return known;
    }
    THN_OWNED PyObject *owner = PyObject_GetAttr(state, names[GENERATOR]);
    return owner ? strcmp(Py_TYPE(owner)->tp_name, "numpy.random._mt19937.MT19937") == 0 : -1;
}

static int keep_state_execute(ThnFrame *f, const ThnInstr *ins)
{
    const thn_keep_state_params *p = ins->data;
    PyObject *state = THN_IN(f, ins, 0)->obj;
    THN_FAIL_IF(f, !state, PyExc_TypeError, "there is no state");
    ThnCell *memory = THN_OUT(f, ins, 1);
    const int copied = is_twister(state, p->pending);
    THN_TRY(copied);
    THN_TRY(thn_out_alloc(f, memory, (npy_intp[]){copied ? TWISTER + PENDING : 0}));
    if (copied) {
        ThnGenerator from;
        THN_OWNED PyObject *lock = hold(state, p->pending, &from);
        THN_NEED(lock);
        memcpy(memory->data, from.bits->state, TWISTER);
        memcpy(memory->data + TWISTER, from.has_normal, PENDING);
        THN_TRY(let_go(lock));
    }
    THN_OWNED PyObject *kept = copied ? Py_NewRef(Py_None) : PyObject_CallOneArg(p->take, state);
    THN_NEED(kept);
    thn_set_object(THN_OUT(f, ins, 0), kept);
    return 0;
}

static int restore_state_execute(ThnFrame *f, const ThnInstr *ins)
{
    const thn_restore_state_params *p = ins->data;
    PyObject *state = THN_IN(f, ins, 0)->obj, *kept = THN_IN(f, ins, 1)->obj;
    const ThnCell *memory = THN_IN(f, ins, 2);
    if (memory->dims[0] == TWISTER + PENDING && is_twister(state, p->pending) == 1) {
        ThnGenerator from;
        THN_OWNED PyObject *lock = hold(state, p->pending, &from);
        THN_NEED(lock);
        memcpy(from.bits->state, memory->data, TWISTER);
        memcpy(from.has_normal, memory->data + TWISTER, PENDING);
        return let_go(lock);
    }
    THN_OWNED PyObject *done = PyObject_CallFunctionObjArgs(p->put, state, kept, NULL);
    return done ? 0 : -1;
}

THN_INSTRUCTION(keep_state, NULL, thn_nothing_prepare, keep_state_execute)
THN_INSTRUCTION(restore_state, NULL, thn_nothing_prepare, restore_state_execute)

/* ---- draw */

/* Of a distribution that is drawn here: how many parameters it is given, and how many dims one draw has. */
static const struct { int params, own_dims; } draws[] = {
    [THN_Distribution_UNIFORM] = {2, 0}, [THN_Distribution_NORMAL] = {2, 0},      [THN_Distribution_BINOMIAL] = {2, 0},
    [THN_Distribution_INTEGERS] = {2, 0}, [THN_Distribution_MULTINOMIAL] = {2, 1}, [THN_Distribution_POISSON] = {1, 0},
    [THN_Distribution_CHOICE] = {3, 0},  [THN_Distribution_PERMUTATION] = {1, 1},
};

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
        ThnCell c = *THN_IN(f, ins, k);
        c.ndim -= p->distribution == THN_Distribution_MULTINOMIAL && k == 3; /* without its last dim */
        if (c.ndim > ndim || thn_widen(&c, ndim, dims) >= 0) {
            return 0;
        }
    }
    return ndim == 0 || p->distribution != THN_Distribution_PERMUTATION;
}

/* 1: drawn; 0: this is NumPy's to do; -1: failed. */
static int draw_natively(ThnFrame *f, const ThnInstr *ins, PyObject *state)
{
    const thn_draw_params *p = ins->data;
    const int distribution = p->distribution;
    ThnCell *out = THN_OUT(f, ins, 1);
    ThnDraw d = {.out = out};
    npy_intp dims[THN_MAXDIM];
    if (distribution == THN_Distribution_OTHER || ins->nin != 2 + draws[distribution].params || p->own_dims != draws[distribution].own_dims) {
        return 0;
    }
    const int last = out->ndim - 1;
    if (distribution == THN_Distribution_PERMUTATION) {
        const ThnCell *c = THN_IN(f, ins, 2);
        dims[last] = PyTypeNum_ISINTEGER(c->typenum) && c->ndim == 0 ? (npy_intp)thn_scalar_int(c) : -1;
    } else if (distribution == THN_Distribution_MULTINOMIAL) {
        const ThnCell *c = THN_IN(f, ins, 3);
        dims[last] = c->ndim ? c->dims[c->ndim - 1] : -1;
    }
    d.row = p->own_dims ? dims[last] : 1;
    int numbers = 1; /* a choice is made here of integers, all of one probability */
    for (int k = 2; k < ins->nin && distribution == THN_Distribution_CHOICE; k++) {
        numbers &= THN_IN(f, ins, k)->ndim == 0;
    }
    if (d.row < 0 || !numbers) {
        return 0;
    }
    const int known = sample_dims(f, ins, dims);
    if (known <= 0) {
        return known;
    }
    THN_TRY(thn_out_alloc(f, out, dims));
    for (int k = 0; k < THN_DRAW_PARAMS; k++) {
        const int ndim = out->ndim - (distribution == THN_Distribution_MULTINOMIAL && k == 0); /* the same along the last dim */
        d.param[k] = THN_IN(f, ins, draws[distribution].params > k ? 2 + k : 2);
        d.strides[k][last < 0 ? 0 : last] = 0;
        if (d.param[k]->ndim > ndim || thn_broadcast_strides(d.param[k], ndim, dims, d.strides[k]) < 0) {
            return 0;
        }
    }
    /* NumPy looks at the parameters of no numbers, too. */
    if (thn_size(out) == 0 && distribution != THN_Distribution_PERMUTATION) {
        return 0;
    }
    THN_OWNED PyObject *lock = hold(state, p->pending, &d.from);
    THN_NEED(lock);
    const int fits = thn_draw_fits(&d, distribution);
    if (fits) {
        d.from.with_gil = (double)thn_size(out) * NS_PER_DRAW <= THN_GIL_WORK;
        THN_WITHOUT_GIL_IF(!d.from.with_gil, thn_draw(&d, distribution));
    }
    return let_go(lock) < 0 ? -1 : fits;
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
    return thn_fits(ins, PyCallable_Check(d->function) && PyCallable_Check(d->copy) && d->own_dims >= 0
                             && d->own_dims <= p->cells[ins->outs[1]].ndim);
}

static int draw_execute(ThnFrame *f, const ThnInstr *ins)
{
    const thn_draw_params *p = ins->data;
    PyObject *given = THN_IN(f, ins, 0)->obj;
    const int expected = given ? is_random_state(given) : 0;
    THN_TRY(expected);
    THN_FAIL_IF(f, !expected, PyExc_TypeError, "expected a numpy.random.RandomState");
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
