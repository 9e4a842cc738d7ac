/* Transfers: they post messages, test them and compute, by the plan; whoever waits and a thread in the background drive them. */
#include "collective.h"
#include "copy.h"
#include "pool.h"

#include <numpy/ufuncobject.h>
#include <structmember.h>

#include <limits.h>
#if defined(_WIN32)
#include <windows.h>
#else
#include <time.h>
#endif

#define FULL_SPEED 2e-4 /* s for which who waits tests without a pause; then it sleeps a twentieth of the time it has waited */
#define LONGEST_PAUSE 1e-3
#define FIRST_PAUSE 5e-5 /* of the thread in the background, between tests */
#define STAYS_AWAKE 2e-2 /* s for which that thread goes on testing when nothing is under way */
#define BLOCK 65536      /* elements that are combined at a time where there are more than two sources */

/* MPI's functions; handles are numbers of four bytes or pointers. Those of four bytes are passed as ones of eight, which C's
 * calling conventions allow. */
typedef int ThnPost(void *p, int n, intptr_t type, int rank, int tag, intptr_t comm, void *request);
typedef struct Mpi {
    ThnPost *isend, *irecv;
    int (*test_all)(int n, void *requests, int *flag, void *statuses);
    int (*get_count)(const void *status, intptr_t type, int *count);
    int (*get_status)(intptr_t request, int *flag, void *status);
    int handle, status; /* bytes */
    intptr_t comm, byte;
} Mpi;

struct ThnExchange {
    PyObject_HEAD
    Mpi mpi;
    int number, numbers;
    int64_t big;
    PyObject *on_big;
    PyThread_type_lock lock;  /* of what follows; whoever holds it does not wait for the GIL */
    ThnTransfer *active, *ended;
    int nactive, nbig;
    int direct;
    int waiting, stop, asleep, driven;
    PyThread_type_lock wake;
};

PyTypeObject *thn_ExchangeType, *thn_TransferType;

static int load(const int *x) { return __atomic_load_n(x, __ATOMIC_SEQ_CST); }
static void store(int *x, int value) { __atomic_store_n(x, value, __ATOMIC_SEQ_CST); }

static void pause_for(double seconds)
{
#if defined(_WIN32)
    Sleep(seconds < 1e-3 ? 1 : (DWORD)(seconds * 1e3));
#else
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
#endif
}

static intptr_t handle_at(const Mpi *m, const char *p)
{
    int32_t narrow;
    intptr_t wide;
    memcpy(&narrow, p, sizeof narrow);
    if (m->handle == 4) {
        return narrow;
    }
    memcpy(&wide, p, sizeof wide);
    return wide;
}

/* ---- combining */

int thn_combine_loop(PyObject *ufunc, int typenum, ThnCombine *combine)
{
    *combine = (ThnCombine){NULL, NULL, 1, 0};
    if (ufunc == Py_None) {
        return 0;
    }
    /* The type without NumPy's table of functions: what is read here are fields. */
    THN_RAISE_IF(strcmp(Py_TYPE(ufunc)->tp_name, "numpy.ufunc") != 0 || ((PyUFuncObject *)ufunc)->nargs != 3,
                 PyExc_TypeError, "expected a ufunc of two arguments, got %R", ufunc);
    const PyUFuncObject *u = (const PyUFuncObject *)ufunc;
    combine->half = typenum == NPY_HALF;
    const int want = combine->half ? NPY_FLOAT : typenum;
    for (int i = 0; i < u->ntypes; i++) {
        const char *types = u->types + 3 * i;
        if (types[0] == want && types[1] == want && types[2] == want && u->functions[i]) {
            combine->itemsize = thn_itemsize(typenum);
            combine->loop = (void (*)(char **, const npy_intp *, const npy_intp *, void *))u->functions[i];
            combine->data = u->data ? (void *)u->data[i] : NULL;
            return combine->itemsize < 0 ? -1 : 0;
        }
    }
    return THN_RAISE(PyExc_TypeError, "%R has no loop for the dtype of number %d", ufunc, typenum);
}

/* The k-th of the sources that a plan lists. */
static const char *source(const ThnTransfer *t, const int64_t *sources, int64_t k)
{
    return t->place[sources[2 * k]] + sources[2 * k + 1];
}

#define HALVES 2048

/* The k-th source from element `at` on; halves as numbers of float32, for which there is `room`. */
static const char *operand(const ThnTransfer *t, const int64_t *sources, int64_t k, npy_intp at, npy_intp n, float *room)
{
    const char *from = source(t, sources, k) + at * t->combine.itemsize;
    if (t->combine.half) {
        thn_cast_inner(NPY_FLOAT, NPY_HALF)(n, (char *)room, 4, from, 2);
        return (const char *)room;
    }
    return from;
}

static void combine_all(const ThnTransfer *t, char *to, const int64_t *sources, int64_t count, npy_intp n)
{
    const ThnCombine *c = &t->combine;
    const npy_intp block = c->half ? HALVES : count > 2 ? BLOCK : n, size = c->half ? 4 : c->itemsize, steps[3] = {size, size, size};
    float room[HALVES], next[HALVES];
    for (npy_intp at = 0; at < n; at += block) {
        const npy_intp m = thn_least(n - at, block);
        char *here = to + at * c->itemsize, *sum = c->half ? (char *)room : here;
        const char *first = operand(t, sources, 0, at, m, room);
        for (int64_t k = 1; k < count; k++, first = sum) {
            char *args[3] = {(char *)first, (char *)operand(t, sources, k, at, m, next), sum};
            c->loop(args, &m, steps, c->data);
        }
        if (c->half) {
            thn_cast_inner(NPY_HALF, NPY_FLOAT)(m, here, 2, sum, 4);
        }
    }
}

/* ---- plans */

#define HEADER 4
#define MESSAGE 4 /* numbers of a message: rank, place, begin, bytes */

static int within(int64_t place, int64_t begin, int64_t nbytes, int64_t needs[3])
{
    if (place < 0 || place > THN_ROOM || begin < 0 || nbytes < 0 || nbytes > INT64_MAX - begin) {
        return 0;
    }
    needs[place] = needs[place] > begin + nbytes ? needs[place] : begin + nbytes;
    return 1;
}

/* 0, or -1 for what is no plan. */
static int read_plan(const int64_t *at, const int64_t *const end, int64_t needs[3])
{
    THN_NEED(end - at >= HEADER && at[0] >= 0 && at[1] >= 0 && at[1] <= INT_MAX && at[2] >= 0 && !(at[3] & ~(int64_t)1));
    const int64_t room = needs[THN_ROOM] = at[0], most = at[1];
    int64_t rounds = at[2];
    for (at += HEADER; rounds > 0; rounds--) {
        THN_NEED(end - at >= 3 && at[0] >= 0 && at[1] >= 0 && at[2] >= 0 && at[0] <= most && at[1] <= most - at[0]);
        const int64_t messages = at[0] + at[1], work = at[2];
        at += 3;
        THN_NEED(end - at >= MESSAGE * messages);
        for (int64_t i = 0; i < messages; i++, at += MESSAGE) {
            THN_NEED(at[3] <= INT_MAX && within(at[1], at[2], at[3], needs));
        }
        for (int64_t i = 0; i < work; i++) {
            THN_NEED(end - at >= 4 && at[3] >= 0 && at[3] <= (end - at - 4) / 2 && within(at[0], at[1], at[2], needs));
            const int64_t nbytes = at[2], sources = at[3];
            at += 4;
            for (int64_t k = 0; k < sources; k++, at += 2) {
                THN_NEED(within(at[0], at[1], nbytes, needs));
            }
        }
    }
    return at == end && needs[THN_ROOM] == room ? 0 : -1;
}

int thn_plan_check(PyObject *plan, int64_t needs[3])
{
    PyArrayObject *a = (PyArrayObject *)plan;
    THN_RAISE_IF(!PyArray_Check(plan) || PyArray_TYPE(a) != NPY_INT64 || PyArray_NDIM(a) != 1 || !PyArray_IS_C_CONTIGUOUS(a),
                 PyExc_TypeError, "a plan is a vector of int64");
    const int64_t *numbers = PyArray_DATA(a);
    memset(needs, 0, 3 * sizeof *needs);
    const int bad = read_plan(numbers, numbers + PyArray_SIZE(a), needs) < 0;
    THN_RAISE_IF(bad, PyExc_ValueError, "this is no plan of a collective");
    return 0;
}

/* Computes what comes after a round; returns where the next one stands. */
static const int64_t *work_of(const ThnTransfer *t)
{
    const int64_t *at = t->now;
    int64_t work = at[2];
    at += 3 + MESSAGE * (at[0] + at[1]);
    for (; work > 0; work--) {
        char *to = t->place[at[0]] + at[1];
        const int64_t nbytes = at[2];
        const int64_t count = at[3];
        at += 4;
        if (count == 0) {
            memset(to, 0, (size_t)nbytes);
        } else if (count == 1) {
            memcpy(to, source(t, at, 0), (size_t)nbytes);
        } else {
            combine_all(t, to, at, count, (npy_intp)nbytes / t->combine.itemsize);
        }
        at += 2 * count;
    }
    return at;
}

/* ---- transfers under way. The exchange's lock is held, the GIL need not be. */

static int post_round(ThnTransfer *t)
{
    const Mpi *m = &t->exchange->mpi;
    const int64_t *at = t->now + 3;
    const int64_t receives = t->now[0], sends = t->now[1];
    char *request = t->requests;
    int code = 0;
    for (int64_t i = 0; i < receives + sends && !code; i++, at += MESSAGE, request += m->handle) {
        char *p = t->place[at[1]] + at[2];
        code = (i < receives ? m->irecv : m->isend)(p, (int)at[3], m->byte, (int)at[0], t->tag, m->comm, request);
    }
    return code;
}

/* Whether what came is what should come. */
static int came_right(ThnTransfer *t)
{
    const Mpi *m = &t->exchange->mpi;
    for (int64_t i = 0; i < t->now[0]; i++) {
        const int64_t *message = t->now + 3 + MESSAGE * i;
        int count = -1;
        const int code = m->get_count(t->statuses + i * m->status, m->byte, &count);
        if (code || count != message[3]) {
            t->code = code;
            t->source = (int)message[0];
            t->came = count;
            t->expected = message[3];
            return 0;
        }
    }
    return 1;
}

static int end_with(ThnTransfer *t, int state)
{
    t->ended = thn_now();
    store(&t->state, state);
    return 1;
}

static int fail_with(ThnTransfer *t, int code)
{
    t->code = code;
    t->source = -1;
    return end_with(t, THN_FAILED);
}

/* Does the work of rounds that need nobody, and posts the messages of the first that does. */
static void next_round(ThnTransfer *t)
{
    for (t->now = NULL; !t->now; t->rounds--) {
        if (t->rounds == 0) {
            end_with(t, THN_DONE);
            return;
        }
        t->now = t->at;
        if (t->now[0] + t->now[1] == 0) {
            t->at = work_of(t);
            t->now = NULL;
        }
    }
    const int code = post_round(t);
    if (code) {
        fail_with(t, code);
    }
}

/* Takes the steps that are possible now; returns whether anything happened. */
static int advance(ThnTransfer *t)
{
    int moved = 0;
    for (; t->state == THN_UNDER_WAY; moved = 1) {
        int flag = 1;
        const int code = t->exchange->mpi.test_all((int)(t->now[0] + t->now[1]), t->requests, &flag, t->statuses);
        if (code) {
            return fail_with(t, code);
        }
        if (!flag) {
            return moved;
        }
        if (!came_right(t)) {
            return end_with(t, THN_FAILED);
        }
        t->at = work_of(t);
        next_round(t);
    }
    return moved;
}

static int advance_all(ThnExchange *e)
{
    int moved = 0;
    for (ThnTransfer **link = &e->active; *link;) {
        ThnTransfer *t = *link;
        moved |= advance(t);
        if (t->state == THN_UNDER_WAY) {
            link = &t->next;
            continue;
        }
        *link = t->next;
        e->nactive--;
        e->nbig -= t->nbytes >= e->big;
        if (t->state == THN_DONE) {
            t->next = e->ended;
            e->ended = t;
        }
        /* What has failed is never let go: MPI may still write into its memory. */
    }
    return moved;
}

static int advance_locked(ThnExchange *e)
{
    PyThread_acquire_lock(e->lock, WAIT_LOCK);
    const int moved = advance_all(e);
    PyThread_release_lock(e->lock);
    return moved;
}

/* Lets the thread in the background go on. */
static void wake(ThnExchange *e)
{
    if (__atomic_exchange_n(&e->asleep, 0, __ATOMIC_SEQ_CST)) {
        PyThread_release_lock(e->wake);
    }
}

/* Lets go of what has ended; with the GIL, without the lock. */
static void let_go(ThnExchange *e)
{
    if (!__atomic_load_n(&e->ended, __ATOMIC_SEQ_CST)) {
        return;
    }
    PyThread_acquire_lock(e->lock, WAIT_LOCK);
    ThnTransfer *t = e->ended;
    e->ended = NULL;
    PyThread_release_lock(e->lock);
    while (t) {
        ThnTransfer *next = t->next;
        Py_DECREF(t);
        t = next;
    }
}

static int start_driver(ThnExchange *e)
{
    if (e->on_big != Py_None && !e->driven) {
        e->driven = 1;
        PyObject *r = PyObject_CallNoArgs(e->on_big);
        Py_XDECREF(r);
        return r ? 0 : -1;
    }
    wake(e);
    return 0;
}

int thn_exchange_direct(const ThnExchange *e)
{
    return load(&e->direct);
}

ThnTransfer *thn_transfer_new(ThnExchange *e, PyObject *plan, const ThnCombine *combine, PyObject *label, int64_t nbytes)
{
    let_go(e);
    ThnTransfer *t = PyObject_New(ThnTransfer, thn_TransferType);
    THN_NULL_UNLESS(t);
    memset((char *)t + sizeof(PyObject), 0, sizeof *t - sizeof(PyObject));
    const int64_t *numbers = PyArray_DATA((PyArrayObject *)plan);
    t->exchange = (ThnExchange *)Py_NewRef(e);
    t->plan = Py_NewRef(plan);
    t->label = Py_NewRef(label);
    t->combine = *combine;
    t->rounds = (int)numbers[2];
    t->at = numbers + HEADER;
    t->tag = (int)numbers[3]; /* the kind, until it begins */
    t->nbytes = nbytes;
    t->statuses = thn_pool_alloc((size_t)numbers[1] * (size_t)(e->mpi.status + e->mpi.handle));
    t->requests = t->statuses + numbers[1] * e->mpi.status;
    if (!t->statuses) {
        Py_DECREF(t);
        return (ThnTransfer *)PyErr_NoMemory();
    }
    t->started = thn_now();
    return t;
}

int thn_transfer_begin(ThnTransfer *t)
{
    ThnExchange *e = t->exchange;
    const int big = t->nbytes >= e->big;
    thn_acquire(e->lock);
    e->number = (e->number + 1) % e->numbers;
    t->tag += 2 * e->number;
    next_round(t); /* nothing of its messages has come in no time */
    if (t->state != THN_DONE) {
        Py_INCREF(t);
    }
    if (t->state == THN_UNDER_WAY) {
        e->nactive++;
        e->nbig += big;
        ThnTransfer **link = &e->active;
        while (*link) {
            link = &(*link)->next;
        }
        *link = t;
    }
    PyThread_release_lock(e->lock);
    return big && load(&t->state) == THN_UNDER_WAY ? start_driver(e) : 0;
}

int thn_transfer_wait(ThnTransfer *t, double seconds)
{
    ThnExchange *e = t->exchange;
    if (load(&t->state) != THN_UNDER_WAY) {
        return t->state;
    }
    Py_BEGIN_ALLOW_THREADS
    __atomic_add_fetch(&e->waiting, 1, __ATOMIC_SEQ_CST);
    const double begin = thn_now();
    for (;;) {
        advance_locked(e);
        if (load(&t->state) != THN_UNDER_WAY) {
            break;
        }
        const double waited = thn_now() - begin;
        if (waited > seconds) {
            break;
        }
        if (waited > FULL_SPEED) {
            pause_for(waited / 20 < LONGEST_PAUSE ? waited / 20 : LONGEST_PAUSE);
        }
    }
    __atomic_sub_fetch(&e->waiting, 1, __ATOMIC_SEQ_CST);
    Py_END_ALLOW_THREADS
    let_go(e);
    return load(&t->state);
}

/* ---- the Transfer type */

static void transfer_dealloc(PyObject *self)
{
    ThnTransfer *t = (ThnTransfer *)self;
    PyTypeObject *type = Py_TYPE(self);
    for (int i = 0; i < 3; i++) {
        if (t->buffers[i]) {
            thn_buffer_drop(t->buffers[i]);
        }
    }
    thn_pool_free(t->statuses);
    Py_XDECREF(t->exchange);
    Py_XDECREF(t->plan);
    Py_XDECREF(t->label);
    Py_XDECREF(t->result);
    PyObject_Free(t);
    Py_DECREF(type);
}

static PyObject *transfer_done(PyObject *self, void *Py_UNUSED(unused))
{
    return PyBool_FromLong(load(&((ThnTransfer *)self)->state) != THN_UNDER_WAY);
}

static PyObject *transfer_failure(PyObject *self, void *Py_UNUSED(unused))
{
    const ThnTransfer *t = (ThnTransfer *)self;
    if (load(&t->state) != THN_FAILED) {
        Py_RETURN_NONE;
    }
    const Py_ssize_t n = t->now ? (Py_ssize_t)((t->now[0] + t->now[1]) * t->exchange->mpi.status) : 0;
    return Py_BuildValue("(iiLLy#)", t->code, t->source, (long long)t->came, (long long)t->expected, t->statuses, n);
}

/* The ranks of which something has not come yet. */
static PyObject *transfer_missing(PyObject *self, PyObject *Py_UNUSED(unused))
{
    ThnTransfer *t = (ThnTransfer *)self;
    const Mpi *m = &t->exchange->mpi;
    PyObject *ranks = PyList_New(0);
    THN_NULL_UNLESS(ranks);
    thn_acquire(t->exchange->lock);
    const int64_t receives = t->state == THN_UNDER_WAY && t->now ? t->now[0] : 0;
    for (int64_t i = 0; i < receives && ranks; i++) {
        int flag = 1;
        char status[THN_STATUS_BYTES];
        if (m->get_status(handle_at(m, t->requests + i * m->handle), &flag, status) || flag) {
            continue;
        }
        if (thn_append(ranks, PyLong_FromLongLong(t->now[3 + MESSAGE * i])) < 0) {
            Py_CLEAR(ranks);
        }
    }
    PyThread_release_lock(t->exchange->lock);
    return ranks;
}

/* The bytes that were taken, an array over the transfer's memory. */
static PyObject *transfer_taken(PyObject *self, PyObject *Py_UNUSED(unused))
{
    ThnTransfer *t = (ThnTransfer *)self;
    ThnBuffer *buf = t->buffers[THN_TAKEN];
    THN_NULL_IF(!buf, PyExc_ValueError, "the transfer takes nothing");
    npy_intp n = (npy_intp)t->taken_bytes;
    if (!buf->owner && !(buf->owner = thn_array_of_block(NPY_UBYTE, n, buf->data))) {
        buf->owner = Py_NewRef(Py_None); /* the block is gone */
        return NULL;
    }
    PyObject *a = PyArray_NewFromDescr(&PyArray_Type, PyArray_DescrFromType(NPY_UBYTE), 1, &n, NULL, buf->data, NPY_ARRAY_WRITEABLE, NULL);
    if (a && PyArray_SetBaseObject((PyArrayObject *)a, Py_NewRef(buf->owner)) < 0) {
        Py_CLEAR(a);
    }
    return a;
}

/* Modes that watch values keep copies of them: there is only one of this. */
static PyObject *transfer_self(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return Py_NewRef(self);
}

static PyMethodDef transfer_methods[] = {
    {"missing", transfer_missing, METH_NOARGS, "The ranks of which something has not come yet."},
    {"taken", transfer_taken, METH_NOARGS, "The bytes that were taken."},
    {"__copy__", transfer_self, METH_NOARGS, "The transfer itself."},
    {"__deepcopy__", transfer_self, METH_O, "The transfer itself."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef transfer_getset[] = {
    {"done", transfer_done, NULL, "Whether it has ended.", NULL},
    {"failure", transfer_failure, NULL, "Why it has failed, see collective.h.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef transfer_members[] = {
    {"label", T_OBJECT, offsetof(ThnTransfer, label), READONLY, "What errors and traces call it."},
    {"result", T_OBJECT, offsetof(ThnTransfer, result), 0, "For whoever started it."},
    {"nbytes", T_LONGLONG, offsetof(ThnTransfer, nbytes), READONLY, "How much this process gives."},
    {"started", T_DOUBLE, offsetof(ThnTransfer, started), READONLY, "When it began."},
    {"ended", T_DOUBLE, offsetof(ThnTransfer, ended), READONLY, "When it ended."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot transfer_slots[] = {
    {Py_tp_dealloc, transfer_dealloc},
    {Py_tp_methods, transfer_methods},
    {Py_tp_getset, transfer_getset},
    {Py_tp_members, transfer_members},
    {Py_tp_doc, "A collective under way; see collective.h."},
    {0, NULL},
};

/* ---- the Exchange type */

static PyObject *exchange_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    unsigned long long f[5];
    long long comm, byte, big;
    int handle, status, numbers;
    PyObject *on_big;
    THN_NULL_IF(kwargs && PyDict_Size(kwargs), PyExc_TypeError, "Exchange takes no keywords");
    THN_NULL_UNLESS(PyArg_ParseTuple(args, "(KKKKK)(ii)LLiLO", &f[0], &f[1], &f[2], &f[3], &f[4], &handle, &status, &comm, &byte, &numbers,
                                     &big, &on_big));
    THN_NULL_IF((handle != 4 && handle != (int)sizeof(void *)) || status < 1 || status > THN_STATUS_BYTES || numbers < 1,
                PyExc_ValueError, "handles of %d bytes and statuses of %d are not known here", handle, status);
    ThnExchange *e = (ThnExchange *)type->tp_alloc(type, 0);
    THN_NULL_UNLESS(e);
    e->mpi = (Mpi){(void *)(uintptr_t)f[0], (void *)(uintptr_t)f[1], (void *)(uintptr_t)f[2], (void *)(uintptr_t)f[3],
                   (void *)(uintptr_t)f[4], handle, status, (intptr_t)comm, (intptr_t)byte};
    e->numbers = numbers;
    e->big = big;
    e->on_big = Py_NewRef(on_big);
    e->direct = 1;
    e->lock = PyThread_allocate_lock();
    e->wake = PyThread_allocate_lock();
    if (!e->lock || !e->wake) {
        Py_DECREF(e);
        return PyErr_NoMemory();
    }
    PyThread_acquire_lock(e->wake, WAIT_LOCK);
    return (PyObject *)e;
}

static void exchange_dealloc(PyObject *self)
{
    ThnExchange *e = (ThnExchange *)self;
    PyTypeObject *type = Py_TYPE(self);
    if (e->lock) {
        PyThread_free_lock(e->lock);
    }
    if (e->wake) {
        PyThread_release_lock(e->wake);
        PyThread_free_lock(e->wake);
    }
    Py_XDECREF(e->on_big);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *exchange_start(PyObject *self, PyObject *args)
{
    ThnExchange *e = (ThnExchange *)self;
    PyObject *plan, *ufunc, *places[3], *label;
    int typenum;
    long long nbytes;
    THN_NULL_UNLESS(PyArg_ParseTuple(args, "OOiO!O!O!OL", &plan, &ufunc, &typenum, &PyArray_Type, &places[0], &PyArray_Type, &places[1],
                                     &PyArray_Type, &places[2], &label, &nbytes));
    ThnCombine combine;
    int64_t needs[3];
    THN_NULL_UNLESS(thn_plan_check(plan, needs) == 0 && thn_combine_loop(ufunc, typenum, &combine) == 0);
    for (int i = 0; i < 3; i++) {
        PyArrayObject *a = (PyArrayObject *)places[i];
        THN_NULL_IF(PyArray_TYPE(a) != NPY_UBYTE || !PyArray_IS_C_CONTIGUOUS(a) || PyArray_SIZE(a) < needs[i]
                        || (i != THN_GIVEN && !PyArray_ISWRITEABLE(a)),
                    PyExc_ValueError, "a place is an array of as many bytes as the plan needs");
    }
    ThnTransfer *t = thn_transfer_new(e, plan, &combine, label, nbytes);
    THN_NULL_UNLESS(t);
    int ok = 1;
    for (int i = 0; i < 3; i++) {
        t->place[i] = PyArray_BYTES((PyArrayObject *)places[i]);
        ok &= (t->buffers[i] = thn_buffer_over(places[i], t->place[i])) != NULL;
    }
    t->taken_bytes = (int64_t)PyArray_SIZE((PyArrayObject *)places[THN_TAKEN]);
    if (!ok || thn_transfer_begin(t) < 0) {
        Py_CLEAR(t);
    }
    return ok ? (PyObject *)t : PyErr_NoMemory();
}

static PyObject *exchange_progress(PyObject *self, PyObject *Py_UNUSED(unused))
{
    ThnExchange *e = (ThnExchange *)self;
    int moved;
    Py_BEGIN_ALLOW_THREADS
    moved = advance_locked(e);
    Py_END_ALLOW_THREADS
    let_go(e);
    return PyBool_FromLong(moved);
}

static PyObject *exchange_give_up(PyObject *self, PyObject *Py_UNUSED(unused))
{
    ThnExchange *e = (ThnExchange *)self;
    store(&e->direct, 0);
    thn_acquire(e->lock);
    for (ThnTransfer *t = e->active; t; t = t->next) {
        fail_with(t, -1);
    }
    /* Their memory stays where it is: MPI may still write into it. */
    e->active = NULL;
    e->nbig = 0;
    PyThread_release_lock(e->lock);
    Py_RETURN_NONE;
}

static PyObject *exchange_drive(PyObject *self, PyObject *Py_UNUSED(unused))
{
    ThnExchange *e = (ThnExchange *)self;
    Py_BEGIN_ALLOW_THREADS
    double pause = FIRST_PAUSE, last = thn_now();
    while (!load(&e->stop)) {
        if (!load(&e->nbig)) {
            if (thn_now() - last > STAYS_AWAKE) {
                store(&e->asleep, 1);
                if ((load(&e->nbig) || load(&e->stop)) && __atomic_exchange_n(&e->asleep, 0, __ATOMIC_SEQ_CST)) {
                    continue;
                }
                PyThread_acquire_lock(e->wake, WAIT_LOCK);
                pause = FIRST_PAUSE / 1.5;
                last = thn_now();
            }
            pause *= 1.5;
        } else {
            last = thn_now();
            /* Who waits drives all transfers itself. */
            pause = load(&e->waiting) ? LONGEST_PAUSE : advance_locked(e) ? FIRST_PAUSE : pause * 1.5;
        }
        pause = pause < LONGEST_PAUSE ? pause : LONGEST_PAUSE;
        pause_for(pause);
    }
    Py_END_ALLOW_THREADS
    let_go(e);
    Py_RETURN_NONE;
}

static PyObject *exchange_stop(PyObject *self, PyObject *Py_UNUSED(unused))
{
    ThnExchange *e = (ThnExchange *)self;
    store(&e->stop, 1);
    wake(e);
    Py_RETURN_NONE;
}

static PyMethodDef exchange_methods[] = {
    {"start", exchange_start, METH_VARARGS, "Begin a transfer."},
    {"progress", exchange_progress, METH_NOARGS, "Drive all transfers; whether anything happened."},
    {"give_up", exchange_give_up, METH_NOARGS, "All transfers under way have failed."},
    {"drive", exchange_drive, METH_NOARGS, "Drive big transfers until `stop` is called."},
    {"stop", exchange_stop, METH_NOARGS, "End `drive`."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef exchange_members[] = {
    {"active", T_INT, offsetof(ThnExchange, nactive), READONLY, "How many transfers are under way."},
    {"direct", T_INT, offsetof(ThnExchange, direct), 0, "Whether instructions may start transfers by themselves."},
    {"waiting", T_INT, offsetof(ThnExchange, waiting), READONLY, "How many threads wait."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot exchange_slots[] = {
    {Py_tp_new, exchange_new},
    {Py_tp_dealloc, exchange_dealloc},
    {Py_tp_methods, exchange_methods},
    {Py_tp_members, exchange_members},
    {Py_tp_doc, "Drives the transfers of one communicator; see collective.h."},
    {0, NULL},
};

int thn_collective_init(PyObject *module)
{
    THN_TRY(THN_ADD_TYPE(module, "Transfer", ThnTransfer, Py_TPFLAGS_DISALLOW_INSTANTIATION, transfer_slots, &thn_TransferType));
    return THN_ADD_TYPE(module, "Exchange", ThnExchange, 0, exchange_slots, &thn_ExchangeType);
}
