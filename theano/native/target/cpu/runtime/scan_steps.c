/* The steps of a loop: rows that move, the inner program run again and again, and the way around it for programs of one
 * elementwise kernel. */
#include "scan.h"
#include "copy.h"
#include "plan.h"
#include "replay.h"

#define KEEP_BYTES (16u << 20)    /* inner programs with more intermediate values drop them in every step */
#define CHUNK_WORK 1e6            /* ns between two looks at signals */
#define MOST_STEPS 256            /* between two looks at signals */
#define LEAST_STEADY 4            /* steps for which it is worth it to write them down */
#define HOLD_SECONDS 5e-3         /* after which other threads get the GIL */

/* The next row's place of all that moves. */
static void advance(const Scan *s, Run *run, npy_intp by)
{
    for (int k = 0; k < s->given.nseq; k++) {
        run->seqs[k]->data += by * run->seq_stride[k];
    }
    for (int k = 0; k < s->ntaps + s->nrows; k++) {
        Row *r = &run->taps[k]; /* the outputs' rows lie behind those of the taps */
        const Buf *b = &run->bufs[r->buf];
        r->at += by;
        if (r->at >= b->len) {
            r->at -= b->len > 0 ? b->len : r->at;
        } else if (r->at < 0) {
            r->at += b->len;
        }
        if (k < s->ntaps) {
            r->cell->data = b->cell->data + r->at * b->stride;
        }
    }
}

/* Whether output o may be made in its row at once, or only when all inputs have been read. */
static int may_bind(const Scan *s, const Run *run, int o)
{
    const Out *out = &s->outs[o];
    const Row *row = &run->rows[o];
    if (out->dest < 0 || !run->bufs[out->buf].cell || !run->bufs[out->buf].dense || run->bufs[out->buf].len == 0) {
        return 0;
    }
    for (int k = 0; k < s->ntaps; k++) {
        if (run->taps[k].buf != out->buf || run->taps[k].at != row->at) {
            continue;
        }
        int allowed = 0;
        for (int j = 0; j < out->nover; j++) {
            allowed |= out->over[j] == s->given.nseq + k;
        }
        if (!allowed) {
            return 0;
        }
    }
    return 1;
}

static void bind_rows(const Scan *s, const Run *run, ThnFrame *g, const char *bound)
{
    for (int o = 0; o < s->nrows; o++) {
        if (bound[o]) {
            const Row *row = &run->rows[o];
            const Buf *b = &run->bufs[row->buf];
            ThnCell *c = &g->cells[s->outs[o].dest];
            char *place = b->cell->data + row->at * b->stride;
            c->flags |= THN_CELL_DEST;
            g->dests[s->outs[o].dest] = (ThnDest){place, b->dims};
            if ((c->flags & THN_CELL_SET) && !c->buf && c->data == run->lent[o]) {
                c->data = place;
            }
            run->lent[o] = place;
        }
    }
}

static int put_row(ThnFrame *f, const Scan *s, const Run *run, int o, const ThnCell *v, npy_intp step)
{
    const Row *row = &run->rows[o];
    const Buf *b = &run->bufs[row->buf];
    char *place = b->cell->data + row->at * b->stride;
    if (memcmp(v->dims, b->dims, sizeof(npy_intp) * (size_t)b->ndim) != 0) {
        const char *here = THN_SHAPE(v->ndim, v->dims);
        const char *before = THN_SHAPE(b->ndim, b->dims);
        return thn_error(f, PyExc_ValueError,
                         "could not broadcast input array from shape %s into shape %s: output %d of %s has the shape %s at step "
                         "%lld (counted from 0), but %s had the shape %s: all steps must return results of the same shape.",
                         here, before, row->buf, s->text, here, (long long)step,
                         row->buf < s->nrec ? "the initial value" : "earlier steps", before);
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
        const Buf *b = &run->bufs[i];
        if (!b->cell || b->len == 0) {
            continue;
        }
        /* Rows of memory from outside, a shared variable's, may go in any direction. */
        const char *low = b->cell->data, *high = low + v->itemsize;
        for (int k = -1; k < b->ndim; k++) {
            const npy_intp span = k < 0 ? (b->len - 1) * b->stride : (b->dims[k] - 1) * b->strides[k];
            *(span < 0 ? &low : &high) += span;
        }
        if (v->data >= low && v->data < high) {
            return 1;
        }
    }
    return 0;
}

/* Copies the outputs that were not made in their rows. */
static int put_rows(ThnFrame *f, const Scan *s, Run *run, ThnFrame *g, npy_intp step)
{
    int r = 0;
    char **held = NULL;
    for (int o = 0; o < s->nrows && s->nrows > 1; o++) {
        ThnCell *v = &g->cells[s->outs[o].cell];
        const Row *row = &run->rows[o];
        const Buf *b = &run->bufs[row->buf];
        if (v->data == b->cell->data + row->at * b->stride || v->buf || !lies_in_buffers(s, run, v)) {
            continue;
        }
        if (!held && !(held = thn_alloc(sizeof(char *) * (size_t)s->nrows))) {
            return -1;
        }
        npy_intp strides[THN_MAXDIM];
        held[o] = thn_alloc((size_t)thn_dense_strides(v->ndim, v->dims, v->itemsize, strides));
        if (!held[o]) {
            r = -1;
            break;
        }
        thn_copy_strided(v->ndim, v->dims, held[o], strides, v->data, v->strides, v->itemsize);
    }
    for (int o = 0; o < s->nrows && r == 0; o++) {
        ThnCell v = g->cells[s->outs[o].cell];
        npy_intp strides[THN_MAXDIM];
        if (held && held[o]) {
            thn_dense_strides(v.ndim, v.dims, v.itemsize, strides);
            v.strides = strides;
            v.data = held[o];
        }
        r = put_row(f, s, run, o, &v, step);
    }
    for (int o = 0; held && o < s->nrows; o++) {
        thn_free(held[o]);
    }
    thn_free(held);
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

/* Steps of an inner program that is one elementwise kernel: a call of the kernel takes as many steps as follow one another
 * in memory, step by step as it takes the rows of a matrix. Returns the steps done, or -1. `*stop`: the condition held. */
static npy_intp run_single(const Scan *s, Run *run, ThnFrame *g, npy_intp todo, int *stop)
{
    const ThnInstr *ins = &s->given.inner->instrs[0];
    ThnPlan *plan = g->scratch[0].ptr;
    const ThnKernel *k = plan->k;
    const ThnCell *condition = s->given.as_while ? &g->cells[s->given.inner->outputs[s->given.inner->noutputs - 1].cell] : NULL;
    thn_intp stride[THN_KMAXOPS];
    Row *moves[THN_KMAXOPS];
    int seq[THN_KMAXOPS], nmoves = 0, move_op[THN_KMAXOPS], nseq = 0, seq_op[THN_KMAXOPS];
    const int ops = n_ops(k);
    npy_intp done = 0;
    const npy_intp chunk = 1 + (npy_intp)(CHUNK_WORK / (plan->work + 2.0));
    for (int op = 0; op < ops; op++) {
        const ThnCell *c = op < k->nin ? THN_IN(g, ins, op) : THN_OUT(g, ins, op - k->nin);
        stride[op] = 0;
        plan->ptr[op] = c->data;
        for (int q = 0; q < s->given.nseq; q++) {
            if (run->seqs[q] == c) {
                stride[op] = run->seq_stride[q];
                seq[nseq] = q;
                seq_op[nseq++] = op;
            }
        }
        for (int t = 0; t < s->ntaps + s->nrows; t++) {
            Row *r = &run->taps[t];
            const ThnCell *rc = t < s->ntaps ? r->cell : &g->cells[s->outs[t - s->ntaps].cell];
            if (rc == c) {
                stride[op] = run->bufs[r->buf].stride;
                moves[nmoves] = r;
                move_op[nmoves++] = op;
            }
        }
    }
    while (done < todo && !*stop) {
        const double start = s->given.inner->profile ? thn_now() : 0;
        npy_intp n = todo - done < chunk ? todo - done : chunk, left = n;
        Py_BEGIN_ALLOW_THREADS
        while (left > 0) {
            npy_intp m = condition ? 1 : left;
            for (int i = 0; i < nmoves; i++) {
                const Buf *b = &run->bufs[moves[i]->buf];
                m = b->len - moves[i]->at < m ? b->len - moves[i]->at : m;
                plan->ptr[move_op[i]] = b->cell->data + moves[i]->at * b->stride;
            }
            k->fn->elem(plan->ptr, stride, m, plan->outer.shape[0]);
            for (int i = 0; i < nmoves; i++) {
                moves[i]->at += m;
                if (moves[i]->at == run->bufs[moves[i]->buf].len) {
                    moves[i]->at = 0;
                }
            }
            for (int i = 0; i < nseq; i++) {
                plan->ptr[seq_op[i]] += m * run->seq_stride[seq[i]];
            }
            left -= m;
            if (condition && thn_truth(condition)) {
                *stop = 1;
                break;
            }
        }
        Py_END_ALLOW_THREADS
        done += n - left;
        if (s->given.inner->profile) {
            s->given.inner->times[0] += thn_now() - start;
            s->given.inner->counts[0] += n - left;
        }
        THN_TRY(PyErr_CheckSignals());
    }
    return done;
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
static ThnSteady *steady_steps(const Scan *s, const Run *run, ThnFrame *g, const char *bound, ThnMover **movers)
{
    const ThnProgram *p = s->given.inner;
    const int n = s->given.nseq + s->ntaps + s->nrows;
    int possible = s->given.nshared == 0 && !p->profile;
    for (int o = 0; o < s->nrows; o++) {
        possible &= bound[o];
    }
    *movers = possible ? thn_alloc(sizeof(ThnMover) * (size_t)n + sizeof(ThnCell *) * (size_t)(s->nrows + 1)) : NULL;
    if (!*movers) {
        PyErr_Clear();
        return NULL;
    }
    ThnMover *m = *movers;
    ThnCell **ends = (ThnCell **)(m + n);
    for (int k = 0; k < s->given.nseq; k++, m++) {
        *m = (ThnMover){run->seqs[k], NULL, run->seq_stride[k], 0, NPY_MAX_INTP};
    }
    for (int k = 0; k < s->ntaps + s->nrows; k++, m++) {
        const Row *r = &run->taps[k];
        const Buf *b = &run->bufs[r->buf];
        *m = (ThnMover){k < s->ntaps ? r->cell : &g->cells[s->outs[k - s->ntaps].dest], b->cell->data, b->stride, r->at, b->len};
        if (k >= s->ntaps) {
            ends[k - s->ntaps] = &g->cells[s->outs[k - s->ntaps].cell];
        }
    }
    return thn_steady(s->given.inner, g, *movers, n, ends, s->nrows,
                      s->given.as_while ? &g->cells[p->outputs[p->noutputs - 1].cell] : NULL);
}

/* Runs such steps from step `*done` on. */
static int run_steadily(const Scan *s, Run *run, ThnSteady *steady, const ThnMover *movers, npy_intp steps, npy_intp *done, Watch *look)
{
    int stop = 0, r = 0;
    while (*done < steps && !stop && r == 0) {
        npy_intp some = look->every < steps - *done ? look->every : steps - *done;
        r = thn_steady_run(steady, some, &some, &stop);
        *done += some;
        r = r < 0 ? fail_at(s, *done, steps) : *done < steps && !stop ? watch(look, *done) : 0;
    }
    for (int k = 0; k < s->ntaps + s->nrows; k++) {
        run->taps[k].at = movers[s->given.nseq + k].row;
    }
    return r;
}

int thn_scan_steps(ThnFrame *f, const ThnInstr *ins, const Scan *s, Run *run, ThnFrame *g, char *bound, npy_intp steps,
                   npy_intp *done)
{
    ThnProgram *p = s->given.inner;
    const int replay = thn_replayable(p), conditions = p->noutputs - 1;
    const int shared_in = s->given.nseq + s->ntaps, shared_out = s->nrows;
    const double begin = thn_now();
    Watch look = {begin, begin, 1, 1};
    size_t bytes = 0;
    int kept = 0, same = 1;
    for (npy_intp t = 0; t < steps; t++) {
        if (kept == 1 && steps - t > LEAST_STEADY) {
            ThnMover *movers;
            ThnSteady *steady = steady_steps(s, run, g, bound, &movers);
            const int r = steady ? run_steadily(s, run, steady, movers, steps, done, &look) : 0;
            thn_steady_free(steady);
            thn_free(movers);
            if (steady) {
                return r;
            }
        }
        kept += kept > 0;
        if (t > 0) {
            advance(s, run, 1);
        }
        if (t < 2) {
            for (int o = 0; o < s->nrows; o++) {
                bound[o] = t == 0 && s->outs[o].buf >= s->nrec ? 0 : may_bind(s, run, o);
            }
        }
        bind_rows(s, run, g, bound);
        for (int k = 0; k < s->given.nseq + s->ntaps; k++) {
            ThnCell *c = k < s->given.nseq ? run->seqs[k] : run->taps[k - s->given.nseq].cell;
            Py_CLEAR(c->obj);
        }
        int r;
        if (t == 0) {
            r = replay ? thn_run_first(p, g, 0, &bytes) : thn_run(p, g);
        } else if (kept && same) {
            r = thn_run_again(p, g);
        } else if (replay && bytes < KEEP_BYTES) {
            kept = 1;
            g->repeats = steps - t - 1;
            r = thn_run_first(p, g, 1, &bytes);
            g->repeats = 0;
        } else {
            r = thn_run(p, g);
        }
        if (r < 0) {
            return fail_at(s, t, steps);
        }
        if ((t == 0 && thn_scan_new_buffers(f, ins, s, run, g) < 0) || put_rows(f, s, run, g, t) < 0) {
            return -1;
        }
        *done = t + 1;
        const int stop = s->given.as_while && thn_truth(&g->cells[p->outputs[conditions].cell]);
        same = 1;
        for (int k = 0; k < s->given.nshared; k++) {
            ThnCell *to = &g->cells[p->inputs[shared_in + k].cell], *from = &g->cells[p->outputs[shared_out + k].cell];
            THN_TRY(thn_scan_copy_shared(f, g, to, from, &same));
        }
        if (stop) {
            break;
        }
        if (t == 0 && s->single && steps > 2) {
            const ThnPlan *plan = g->scratch[0].ptr;
            int fits = plan->mode == RUN_ELEM && plan->outer.n == 1 && plan->work < PARALLEL_WORK;
            advance(s, run, 1);
            for (int o = 0; o < s->nrows && fits; o++) {
                fits = run->bufs[s->outs[o].buf].len > 0 && run->bufs[s->outs[o].buf].size == plan->outer.shape[0] * g->cells[s->outs[o].cell].itemsize
                       && may_bind(s, run, o);
            }
            if (fits) {
                int stopped = 0;
                const npy_intp n = run_single(s, run, g, steps - 1, &stopped);
                *done += n > 0 ? n : 0;
                return n < 0 ? -1 : 0;
            }
            advance(s, run, -1);
        }
        if (t == look.next && watch(&look, t) < 0) {
            return -1;
        }
    }
    return 0;
}
