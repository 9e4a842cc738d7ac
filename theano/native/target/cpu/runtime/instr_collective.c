/* Instructions: collectives of several processes. The plan is cached by the bytes that are given; the Python object behind an instruction
 * makes it, and does what is not for here. */
#include "collective.h"
#include "copy.h"
#include "pool.h"

#define LISTEN 0.02   /* s after which Python waits instead: it hears who has ended, knows the timeout, lets itself be interrupted */
#define ALIGNMENT 64  /* of arrays that share a message; theano.distributed.algorithms has the same */

typedef struct {
    thn_collective_start_params given;
    PyObject *exchange;      /* None: there is none; NULL: not asked yet */
    PyObject *label, *plan;
    ThnCombine combine;
    npy_intp times, over;    /* how the first axis changes */
    int64_t nbytes, needs[3];
} Start;

static void start_clear(ThnInstr *ins)
{
    Start *s = ins->data;
    Py_CLEAR(s->exchange);
    Py_CLEAR(s->label);
    Py_CLEAR(s->plan);
}

/* Asks once for the exchange and what does not change. */
static int ask(Start *s, int typenum)
{
    THN_OWNED PyObject *said = PyObject_CallMethod(s->given.collective, "native", NULL);
    PyObject *exchange, *ufunc, *label;
    THN_NEED(said);
    if (said == Py_None) {
        s->exchange = Py_NewRef(Py_None);
        return 0;
    }
    THN_NEED(PyArg_ParseTuple(said, "O!OnnO", thn_ExchangeType, &exchange, &ufunc, &s->times, &s->over, &label));
    THN_TRY(thn_combine_loop(ufunc, typenum, &s->combine));
    s->label = Py_NewRef(label);
    s->exchange = Py_NewRef(exchange);
    return 0;
}

static int64_t aligned(int64_t n)
{
    return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Has Python do it. */
static int start_by_python(ThnFrame *f, const ThnInstr *ins)
{
    Start *s = ins->data;
    THN_OWNED PyObject *arrays = thn_box_inputs(f, ins, 0), *method = arrays ? PyObject_GetAttrString(s->given.collective, "start") : NULL;
    THN_NEED(method);
    THN_OWNED PyObject *transfer = PyObject_CallObject(method, arrays);
    THN_NEED(transfer);
    thn_set_object(THN_OUT(f, ins, 0), transfer);
    return 0;
}

/* The plan for so many bytes. */
static int plan_for(Start *s, int64_t nbytes)
{
    if (s->plan && s->nbytes == nbytes) {
        return 0;
    }
    PyObject *plan = PyObject_CallMethod(s->given.collective, "plan", "(L)", (long long)nbytes);
    int64_t needs[3];
    if (!plan || thn_plan_check(plan, needs) < 0) {
        Py_XDECREF(plan);
        return -1;
    }
    Py_XSETREF(s->plan, plan);
    s->nbytes = nbytes;
    memcpy(s->needs, needs, sizeof needs);
    if (needs[THN_GIVEN] > nbytes || needs[THN_TAKEN] > nbytes * s->times / s->over) {
        Py_CLEAR(s->plan);
        return THN_RAISE(PyExc_ValueError, "the plan of a collective needs more than is given");
    }
    return 0;
}

static int block_for(ThnTransfer *t, int place, int64_t nbytes)
{
    char *p = thn_pool_alloc(nbytes ? (size_t)nbytes : 1);
    t->buffers[place] = p ? thn_buffer_over(NULL, p) : NULL;
    if (!t->buffers[place]) {
        thn_pool_free(p);
        PyErr_NoMemory();
        return -1;
    }
    t->place[place] = p;
    return 0;
}

/* What is given: the memory of the one array, or a copy of all. */
static int give(ThnFrame *f, const ThnInstr *ins, ThnTransfer *t, int64_t nbytes)
{
    ThnCell *first = THN_IN(f, ins, 0);
    if (ins->nin == 1 && first->ndim == 0) {
        memcpy(t->scalar, first->data, (size_t)first->itemsize);
        t->place[THN_GIVEN] = t->scalar;
        return 0;
    }
    if (ins->nin == 1 && first->buf && thn_is_c_contiguous(first)) {
        first->buf->refs++;
        t->buffers[THN_GIVEN] = first->buf;
        t->place[THN_GIVEN] = first->data;
        return 0;
    }
    THN_TRY(block_for(t, THN_GIVEN, nbytes));
    char *to = t->place[THN_GIVEN];
    for (int k = 0; k < ins->nin; k++) {
        const ThnCell *c = THN_IN(f, ins, k);
        npy_intp strides[THN_MAXDIM];
        const npy_intp n = thn_size(c) * c->itemsize;
        thn_dense_strides(c->ndim, c->dims, c->itemsize, strides);
        thn_copy_strided(c->ndim, c->dims, to, strides, c->data, c->strides, c->itemsize);
        if (ins->nin > 1) {
            memset(to + n, 0, (size_t)(aligned(n) - n));
            to += aligned(n);
        }
    }
    return 0;
}

static int start_execute(ThnFrame *f, const ThnInstr *ins)
{
    Start *s = ins->data;
    const ThnCell *first = THN_IN(f, ins, 0);
    THN_TRY(s->exchange ? 0 : ask(s, first->typenum));
    if (s->exchange == Py_None || !thn_exchange_direct((ThnExchange *)s->exchange)
        || (s->over != 1 && (first->ndim == 0 || first->dims[0] % s->over))) {
        return start_by_python(f, ins);
    }
    int64_t nbytes = 0;
    for (int k = 0; k < ins->nin; k++) {
        const ThnCell *c = THN_IN(f, ins, k);
        const int64_t n = (int64_t)thn_size(c) * c->itemsize;
        nbytes += ins->nin > 1 ? aligned(n) : n;
    }
    THN_TRY(plan_for(s, nbytes));
    THN_OWNED ThnTransfer *t = thn_transfer_new((ThnExchange *)s->exchange, s->plan, &s->combine, s->label, nbytes);
    THN_NEED(t);
    t->times = s->times;
    t->over = s->over;
    t->taken_bytes = nbytes * s->times / s->over;
    THN_TRY(give(f, ins, t, nbytes));
    THN_TRY(block_for(t, THN_TAKEN, t->taken_bytes));
    THN_TRY(s->needs[THN_ROOM] ? block_for(t, THN_ROOM, s->needs[THN_ROOM]) : 0);
    THN_TRY(thn_transfer_begin(t));
    thn_set_object(THN_OUT(f, ins, 0), (PyObject *)t);
    return 0;
}

static int outputs_of_python(ThnFrame *f, const ThnInstr *ins, PyObject *transfer, int take)
{
    const thn_collective_wait_params *given = ins->data;
    THN_OWNED PyObject *results = PyObject_CallMethod(given->collective, "wait", "(O)", transfer);
    THN_NEED(results);
    return take ? thn_unbox_outputs(f, ins, results, "a collective") : 0;
}

static int wait_execute(ThnFrame *f, const ThnInstr *ins)
{
    PyObject *started = THN_IN(f, ins, 0)->obj;
    if (!started || !Py_IS_TYPE(started, thn_TransferType) || !((ThnTransfer *)started)->over) {
        return outputs_of_python(f, ins, started ? started : Py_None, 1);
    }
    ThnTransfer *t = (ThnTransfer *)started;
    THN_TRY(thn_transfer_wait(t, LISTEN) == THN_DONE ? 0 : outputs_of_python(f, ins, started, 0));
    ThnBuffer *buf = t->buffers[THN_TAKEN];
    char *from = t->place[THN_TAKEN];
    for (int k = 0; k < ins->nout; k++) {
        const ThnCell *in = THN_IN(f, ins, k + 1);
        ThnCell *out = THN_OUT(f, ins, k);
        npy_intp dims[THN_MAXDIM];
        const int64_t given = (int64_t)thn_size(in) * in->itemsize;
        memcpy(dims, in->dims, sizeof(npy_intp) * (size_t)in->ndim);
        if (in->ndim) {
            dims[0] = dims[0] * t->times / t->over;
        }
        thn_out_within(out, dims, buf, from);
        from += aligned(given);
    }
    return 0;
}

THN_INSTRUCTION_WITH(collective_start, Start, NULL, start_clear, thn_nothing_prepare, start_execute)
THN_INSTRUCTION(collective_wait, NULL, thn_nothing_prepare, wait_execute)
