/* The steps of a loop: rows that move, and the inner program run again and again. */
#include "scan.h"
#include "copy.h"
#include "pool.h"

#define KEEP_BYTES (16u << 20)    /* inner programs with more intermediate values drop them in every step */
#define MOST_STEPS 256            /* between two looks at signals */
#define CHUNK_WORK 1e6            /* ns between two, where it is known what steps take */
#define STEADY_WORK 2.0           /* ns of such a step besides */
#define LEAST_STEADY 4            /* steps for which it is worth it to write them down */
/* After which other threads get the GIL: longer than the 5 ms after which one that waits asks for it, as who gives it away
 * unasked is likely to have it back before the other one is awake. */
#define HOLD_SECONDS 11e-3

/* The next row's place of all that moves. */
static void advance(const Scan *s, const Run *run)
{
    for (int k = 0; k < run->nmovers; k++) {
        ThnMover *m = &run->movers[k];
        m->row = m->row + 1 < m->len ? m->row + 1 : 0;
        if (k < s->given.nseq + s->ntaps) {
            m->cell->data = thn_place(m);
        }
    }
}

/* Whether output o may be made in its row at once, or only when all inputs have been read. */
static int may_bind(const Scan *s, const Run *run, int o)
{
    const Out *out = &s->outs[o];
    const Buf *b = &run->bufs[out->buf];
    if (out->dest < 0 || !b->cell || !b->dense || b->len == 0) {
        return 0;
    }
    const Rec *r = out->buf < s->nrec ? &s->recs[out->buf] : NULL;
    for (int k = r ? r->tap : 0; r && k < r->tap + r->ntaps; k++) {
        int allowed = run->taps[k].row != run->rows[o].row;
        for (int j = 0; j < out->nover; j++) {
            allowed |= out->over[j] == s->given.nseq + k;
        }
        if (!allowed) {
            return 0;
        }
    }
    return 1;
}

static void bind_rows(const Scan *s, const Run *run, ThnFrame *g)
{
    for (int o = 0; o < s->nrows; o++) {
        if (run->bound[o]) {
            ThnCell *c = run->rows[o].cell;
            char *place = thn_place(&run->rows[o]);
            c->flags |= THN_CELL_DEST;
            g->dests[s->outs[o].dest] = (ThnDest){place, run->bufs[s->outs[o].buf].dims};
            if ((c->flags & THN_CELL_SET) && !c->buf && c->data == run->lent[o]) {
                c->data = place;
            }
            run->lent[o] = place;
        }
    }
}

static int put_row(ThnFrame *f, const Scan *s, const Run *run, int o, const ThnCell *v, npy_intp step)
{
    const int buf = s->outs[o].buf;
    const Buf *b = &run->bufs[buf];
    char *place = thn_place(&run->rows[o]);
    if (memcmp(v->dims, b->dims, sizeof(npy_intp) * (size_t)b->ndim) != 0) {
        const char *here = THN_SHAPE(v->ndim, v->dims);
        const char *before = THN_SHAPE(b->ndim, b->dims);
        return thn_error(f, PyExc_ValueError,
                         "could not broadcast input array from shape %s into shape %s: output %d of %s has the shape %s at step "
                         "%lld (counted from 0), but %s had the shape %s: all steps must return results of the same shape.",
                         here, before, buf, s->text, here, (long long)step, buf < s->nrec ? "the initial value" : "earlier steps",
                         before);
    }
    if (v->data != place && b->len > 0) {
        thn_copy_strided(b->ndim, b->dims, place, b->strides, v->data, v->strides, v->itemsize);
    }
    return 0;
}

/* Whether a value lies in memory that the copies of this step overwrite. */
static int lies_in_buffers(const Scan *s, const Run *run, const ThnCell *v)
{
    for (int i = 0; i < s->nrec; i++) {
        if (run->bufs[i].cell && thn_may_overlap(v, run->bufs[i].cell)) {
            return 1;
        }
    }
    return 0;
}

/* Copies the outputs that were not made in their rows. */
static int put_rows(ThnFrame *f, const Scan *s, const Run *run, npy_intp step)
{
    int r = 0;
    char *held[s->nrows + 1];
    memset(held, 0, sizeof held);
    for (int o = 0; o < s->nrows && s->nrows > 1 && r == 0; o++) {
        const ThnCell *v = run->made[o];
        npy_intp strides[THN_MAXDIM];
        if (v->data == thn_place(&run->rows[o]) || v->buf || !lies_in_buffers(s, run, v)) {
            continue;
        }
        held[o] = thn_alloc((size_t)thn_dense_strides(v->ndim, v->dims, v->itemsize, strides));
        if (held[o]) {
            thn_copy_strided(v->ndim, v->dims, held[o], strides, v->data, v->strides, v->itemsize);
        } else {
            r = -1;
        }
    }
    for (int o = 0; o < s->nrows && r == 0; o++) {
        ThnCell v = *run->made[o];
        npy_intp strides[THN_MAXDIM];
        if (held[o]) {
            thn_dense_strides(v.ndim, v.dims, v.itemsize, strides);
            v.strides = strides;
            v.data = held[o];
        }
        r = put_row(f, s, run, o, &v, step);
    }
    for (int o = 0; o < s->nrows; o++) {
        thn_free(held[o]);
    }
    return r;
}

/* An inner error: `on_error` raises what the user sees. */
static int fail_at(const Scan *s, npy_intp step, npy_intp steps)
{
    PyObject *type, *value, *tb;
    if (s->given.on_error == Py_None || !PyErr_Occurred()) {
        return -1;
    }
    thn_take_error(&type, &value, &tb);
    PyObject *r = PyObject_CallFunction(s->given.on_error, "nnOOO", (Py_ssize_t)step, (Py_ssize_t)steps, type, value, tb ? tb : Py_None);
    return thn_settle_error(r, type, value, tb);
}

/* Looks at signals, about once a millisecond, and lets other threads have the GIL. */
typedef struct {
    double seen, let;             /* when that was */
    npy_intp every, next;         /* steps */
} Watch;

static int watch(Watch *w, npy_intp step)
{
    const double time = thn_now(), passed = time - w->seen;
    if (passed < 0.5e-3 && w->every < MOST_STEPS) {
        w->every *= 2;
    } else if (passed > 2e-3 && w->every > 1) {
        w->every /= 2;
    }
    w->next = step + w->every;
    w->seen = time;
    if (time - w->let > HOLD_SECONDS) {
        w->let = time;
        Py_BEGIN_ALLOW_THREADS
        Py_END_ALLOW_THREADS
    }
    return PyErr_CheckSignals();
}

/* The steps from now on as a list of calls, if there is something to gain and nothing to copy between them; see steady.c. */
static ThnSteady *steady_steps(const Scan *s, const Run *run, ThnFrame *g, double *work)
{
    ThnProgram *p = s->given.inner;
    int possible = s->given.nshared == 0 && !p->profile;
    for (int o = 0; o < s->nrows; o++) {
        possible &= run->bound[o];
    }
    ThnCell *condition = s->given.as_while ? &g->cells[p->outputs[p->noutputs - 1].cell] : NULL;
    return possible ? thn_steady(p, g, run->movers, run->nmovers, run->made, s->nrows, condition, work) : NULL;
}

/* Runs such steps from step `*done` on, so many between two looks at signals. */
static int run_steadily(const Scan *s, ThnSteady *steady, npy_intp steps, npy_intp chunk, npy_intp *done, Watch *look)
{
    int stop = 0, r = 0;
    while (*done < steps && !stop && r == 0) {
        npy_intp some = thn_least(chunk, steps - *done);
        r = thn_steady_run(steady, some, &some, &stop);
        *done += some;
        r = r < 0 ? fail_at(s, *done, steps) : *done < steps && !stop ? watch(look, *done) : 0;
    }
    return r;
}

int thn_scan_steps(ThnFrame *f, const ThnInstr *ins, const Scan *s, Run *run, ThnFrame *g, npy_intp steps, npy_intp *done)
{
    ThnProgram *p = s->given.inner;
    const int replay = thn_replayable(p), conditions = p->noutputs - 1;
    const int shared_in = s->given.nseq + s->ntaps, shared_out = s->nrows;
    /* A single instruction has nothing to drop, and its results have their places from the first step on. */
    const int single = replay && p->ninstrs == 1 && !s->given.nnit;
    const double begin = thn_now();
    Watch look = {begin, begin, 1, 1};
    size_t bytes = 0;
    int kept = 0, same = 1;
    for (npy_intp t = 0; t < steps; t++) {
        double work;
        ThnSteady *steady = kept == 1 && steps - t > LEAST_STEADY ? steady_steps(s, run, g, &work) : NULL;
        if (steady) {
            const int r = run_steadily(s, steady, steps, 1 + (npy_intp)(CHUNK_WORK / (work + STEADY_WORK)), done, &look);
            thn_pool_free(steady);
            return r;
        }
        kept += kept > 0;
        if (t > 0) {
            advance(s, run);
        }
        for (int o = 0; o < s->nrows && t < 2; o++) {
            run->bound[o] = t == 0 && s->outs[o].buf >= s->nrec ? 0 : may_bind(s, run, o);
        }
        bind_rows(s, run, g);
        for (int k = 0; k < s->given.nseq + s->ntaps; k++) {
            Py_CLEAR(run->movers[k].cell->obj);
        }
        int r;
        if (kept && same) {
            r = thn_run_step(p, g, THN_AGAIN, NULL);
        } else if (replay && bytes < KEEP_BYTES && (t > 0 || single)) {
            kept = 1;
            g->repeats = steps - t - 1;
            r = thn_run_step(p, g, THN_KEEP, NULL);
            g->repeats = 0;
        } else {
            r = replay && t == 0 ? thn_run_step(p, g, THN_ALONE, &bytes) : thn_run(p, g);
        }
        if (r < 0) {
            return fail_at(s, t, steps);
        }
        THN_TRY(t == 0 ? thn_scan_new_buffers(f, ins, s, run, -1, 1) : 0);
        THN_TRY(put_rows(f, s, run, t));
        *done = t + 1;
        const int stop = s->given.as_while && thn_truth(&g->cells[p->outputs[conditions].cell]);
        same = 1;
        for (int k = 0; k < s->given.nshared; k++) {
            ThnCell *to = &g->cells[p->inputs[shared_in + k].cell], *from = &g->cells[p->outputs[shared_out + k].cell];
            THN_TRY(thn_scan_copy_shared(f, to, from, &same));
        }
        if (stop) {
            break;
        }
        THN_TRY(t == look.next ? watch(&look, t) : 0);
    }
    return 0;
}
