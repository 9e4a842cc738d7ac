/* Running a program: frames, the loop over instructions, errors. */
#include "vm.h"

#include <stdlib.h>
#include <time.h>
#if !defined(_WIN32)
#include <pthread.h>
#endif

#define MAX_IDLE_FRAMES 8
#define SIGNAL_CHECK_EVERY 32

/* ---- locks */

static int forks;

#if !defined(_WIN32)
static void count_fork(void)
{
    forks++;
}
#endif

void thn_locks_init(void)
{
#if !defined(_WIN32)
    pthread_atfork(NULL, NULL, count_fork);
#endif
}

void thn_acquire(PyThread_type_lock lock)
{
    if (!PyThread_acquire_lock(lock, NOWAIT_LOCK)) {
        Py_BEGIN_ALLOW_THREADS
        PyThread_acquire_lock(lock, WAIT_LOCK);
        Py_END_ALLOW_THREADS
    }
}

int thn_lock(ThnLock *l)
{
    unsigned long me = PyThread_get_thread_ident();
    if (l->depth > 0 && l->owner == me) {
        l->depth++;
        return 0;
    }
    if (l->forks != forks) {
        /* A thread that there is no more may hold it, also one that had not yet written so down. */
        PyThread_type_lock fresh = PyThread_allocate_lock();
        THN_RAISE_IF(!fresh, PyExc_MemoryError, "no memory for a lock");
        PyThread_free_lock(l->lock);
        *l = (ThnLock){fresh, 0, 0, forks};
    }
    thn_acquire(l->lock);
    l->owner = me;
    l->depth = 1;
    return 0;
}

void thn_unlock(ThnLock *l)
{
    if (--l->depth == 0) {
        l->owner = 0;
        PyThread_release_lock(l->lock);
    }
}

/* ---- frames */

static int set_constants(ThnProgram *p, ThnFrame *f)
{
    for (int i = 0; i < p->nconstants; i++) {
        ThnCell *c = &f->cells[p->constants[i].cell];
        THN_TRY(thn_unbox(f, c, p->constants[i].held));
        c->flags |= THN_CELL_CONST;
    }
    return 0;
}

ThnFrame *thn_frame_get(ThnProgram *p)
{
    ThnFrame *f = p->free_frames;
    if (f) {
        p->free_frames = f->next_free;
        p->nfree_frames--;
        f->err_type = NULL;
        return f;
    }
    /* All that it consists of is one block. */
    const size_t cells = (size_t)p->ncells, instrs = (size_t)p->ninstrs, tail = (size_t)(p->end - p->tail_start);
    f = thn_alloc(sizeof *f + cells * sizeof(ThnCell) + instrs * sizeof(ThnScratch) + (size_t)p->arena_size * sizeof(npy_intp)
                  + (tail + (size_t)p->nundo) * sizeof(int));
    THN_NULL_UNLESS(f);
    f->prog = p;
    f->cells = (ThnCell *)(f + 1);
    f->scratch = (ThnScratch *)(f->cells + cells);
    npy_intp *dims = (npy_intp *)(f->scratch + instrs);
    f->tail_order = (int *)(dims + p->arena_size);
    f->undo = f->tail_order + tail;
    for (int i = 0; i < p->ncells; i++) {
        ThnCell *c = &f->cells[i];
        const ThnCellSpec *s = &p->cells[i];
        c->kind = s->kind;
        c->ndim = s->ndim;
        c->typenum = s->typenum;
        c->itemsize = s->itemsize;
        c->bcast = s->bcast;
        c->dims = dims + s->dims_offset;
        c->strides = c->dims + s->ndim;
    }
    if (set_constants(p, f) < 0) {
        thn_frame_destroy(p, f);
        return NULL;
    }
    return f;
}

void thn_frame_destroy(ThnProgram *p, ThnFrame *f)
{
    for (int i = 0; i < p->ncells; i++) {
        thn_cell_release(&f->cells[i]);
    }
    for (int i = 0; i < p->ninstrs; i++) {
        thn_free(f->scratch[i].ptr);
    }
    thn_replay_free(p, f);
    thn_calls_free(f);
    thn_free(f->dests);
    thn_free(f);
}

static void release_all(ThnProgram *p, ThnFrame *f)
{
    ThnCell *end = f->cells + p->ncells;
    for (ThnCell *c = f->cells; c < end; c++) {
        if ((c->flags & (THN_CELL_SET | THN_CELL_CONST)) == THN_CELL_SET) {
            thn_cell_release(c);
        }
    }
}

void thn_frame_put(ThnProgram *p, ThnFrame *f)
{
    if (f->calls) {
        thn_calls_end(p, f);
    } else {
        release_all(p, f);
    }
    if (p->nfree_frames >= MAX_IDLE_FRAMES) {
        thn_frame_destroy(p, f);
        return;
    }
    f->next_free = p->free_frames;
    p->free_frames = f;
    p->nfree_frames++;
}

/* ---- errors */

void thn_take_error(PyObject **type, PyObject **value, PyObject **tb)
{
    PyErr_Fetch(type, value, tb);
    PyErr_NormalizeException(type, value, tb);
    if (*tb) {
        PyException_SetTraceback(*value, *tb);
    }
}

int thn_settle_error(PyObject *r, PyObject *type, PyObject *value, PyObject *tb)
{
    if (r || !PyErr_Occurred()) {
        Py_XDECREF(r);
        PyErr_Restore(type, value, tb);
        return -1;
    }
    Py_DECREF(type);
    Py_DECREF(value);
    Py_XDECREF(tb);
    return -1;
}

int thn_fail(ThnProgram *p, ThnFrame *f, const ThnInstr *ins)
{
    if (!PyErr_Occurred()) {
        PyErr_SetString(f->err_type ? f->err_type : PyExc_RuntimeError,
                        f->err_type ? f->err_msg : "an instruction failed without a message");
    }
    f->err_type = NULL;
    if (!p->on_error || !ins) {
        return -1;
    }
    PyObject *type, *value, *tb;
    thn_take_error(&type, &value, &tb);
    THN_OWNED PyObject *values = thn_box_inputs(f, ins, 1);
    PyObject *r =
        values ? PyObject_CallFunction(p->on_error, "iOOOO", ins->node_index, type, value, tb ? tb : Py_None, values) : NULL;
    return thn_settle_error(r, type, value, tb);
}

/* ---- the loop */

double thn_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int thn_nothing_prepare(ThnFrame *Py_UNUSED(f), const ThnInstr *Py_UNUSED(ins))
{
    return 0;
}

int thn_execute(ThnFrame *f, const ThnInstr *ins, double work)
{
    const ThnOpDef *def = ins->def;
    if (work > THN_GIL_WORK && !(def->flags & THN_NEEDS_GIL)) {
        int r;
        Py_BEGIN_ALLOW_THREADS
        r = def->execute(f, ins);
        Py_END_ALLOW_THREADS
        return r;
    }
    return def->execute(f, ins);
}

int thn_is_freed(const ThnInstr *ins, int cell)
{
    for (int k = 0; k < ins->nfree; k++) {
        if (ins->frees[k] == cell) {
            return 1;
        }
    }
    return 0;
}

void thn_drop(ThnFrame *f, const ThnInstr *ins)
{
    for (int k = 0; k < ins->nfree; k++) {
        ThnCell *c = &f->cells[ins->frees[k]];
        if (!(c->flags & THN_CELL_CONST)) {
            thn_cell_release(c);
        }
    }
}

enum { PREPARE = 1, EXECUTE = 2 };

static inline int run_instr(ThnProgram *p, ThnFrame *f, const ThnInstr *ins, int parts)
{
    const ThnOpDef *def = ins->def;
    const int profile = p->profile;
    const double start = profile ? thn_now() : 0;
    if (parts & PREPARE) {
        f->work = 0;
        f->next = ins->index + 1;
        if (def->prepare(f, ins) < 0) {
            return thn_fail(p, f, ins);
        }
    }
    if ((parts & EXECUTE) && def->execute && thn_execute(f, ins, f->work) < 0) {
        return thn_fail(p, f, ins);
    }
    if (profile) {
        p->times[ins->index] += thn_now() - start;
        p->counts[ins->index] += parts & EXECUTE ? 1 : 0;
    }
    return 0;
}

static int run_tail(ThnProgram *p, ThnFrame *f)
{
    int n = 0;
    for (int i = p->tail_start; i < p->end; i = f->next) {
        THN_TRY(run_instr(p, f, &p->instrs[i], PREPARE));
        f->scratch[i].work = f->work;
        f->tail_order[n++] = i;
    }
    for (int k = 0; k < n; k++) {
        f->work = f->scratch[f->tail_order[k]].work;
        THN_TRY(run_instr(p, f, &p->instrs[f->tail_order[k]], EXECUTE));
    }
    for (int k = 0; k < n; k++) {
        thn_drop(f, &p->instrs[f->tail_order[k]]);
    }
    return 0;
}

void thn_undo(ThnProgram *p, ThnFrame *f)
{
    PyObject *type, *value, *tb;
    PyErr_Fetch(&type, &value, &tb);
    while (f->nundo > 0) {
        const ThnInstr *ins = &p->instrs[f->undo[--f->nundo]];
        f->work = 0;
        if (ins->def->prepare(f, ins) == 0) {
            thn_execute(f, ins, f->work);
        }
    }
    f->err_type = NULL;
    PyErr_Restore(type, value, tb);
}

static int run_all(ThnProgram *p, ThnFrame *f)
{
    int since_check = 0;
    const int profile = p->profile;
    const double start = profile ? thn_now() : 0;
    for (int i = 0; i < p->tail_start; i = f->next) {
        const ThnInstr *ins = &p->instrs[i];
        THN_TRY(run_instr(p, f, ins, PREPARE | EXECUTE));
        thn_drop(f, ins);
        if (f->work > THN_GIL_WORK || ++since_check >= SIGNAL_CHECK_EVERY) {
            since_check = 0;
            if (PyErr_CheckSignals() < 0) {
                return thn_fail(p, f, ins);
            }
        }
    }
    THN_TRY(p->tail_start < p->end ? run_tail(p, f) : 0);
    if (profile) {
        p->call_time += thn_now() - start;
    }
    p->call_count++;
    return 0;
}

int thn_run(ThnProgram *p, ThnFrame *f)
{
    f->nundo = 0;
    const int r = run_all(p, f);
    if (r < 0) {
        thn_undo(p, f);
    }
    return r;
}
