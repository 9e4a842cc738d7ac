/* Calls of a small program with arrays of the same layouts, one after the other: as the steps of a loop (steady.c) they are a list of
 * function calls on memory that stays. Only what a call is given and what it returns lies elsewhere each time. */
#include "replay.h"
#include "pool.h"

#define FIRST_WAIT 3        /* calls before one is recorded; each further time twice as many */
#define MOST_DOUBLINGS 20
#define WORTH_IT 100        /* so many calls that repeat another: the next one may be recorded as soon as the first */

typedef struct ThnCalls {
    ThnSteady *steady;
    ThnMover *movers;       /* the inputs, then memory that outputs take with them */
    size_t *bytes;          /* of that memory */
    int nmade;
    int *made_at;           /* of each output which it takes; -1: it lies in its cell */
    npy_intp *layouts;      /* of the inputs */
} ThnCalls;

static ThnCell *input(ThnProgram *p, ThnFrame *f, int i) { return &f->cells[p->inputs[i].cell]; }
static ThnCell *output(ThnProgram *p, ThnFrame *f, int i) { return &f->cells[p->outputs[i].cell]; }

int thn_may_be_steady(const ThnProgram *p)
{
    int may = p->ninstrs > 1 && thn_replayable(p); /* one alone is as quick as usual: a kernel keeps its plan in any case */
    for (int i = 0; i < p->ninstrs; i++) {
        const ThnOpDef *def = p->instrs[i].def;
        may &= thn_rows[def->code].replay != THN_REPLAY_FULL || (p->instrs[i].stays && !(def->flags & THN_IMPURE));
    }
    for (int c = 0; c < p->ncells; c++) {
        may &= p->cells[c].kind == THN_KIND_TENSOR;
    }
    return may;
}

/* Copies the dims and strides of inputs to `s`, or tells whether they are those. */
static int layouts(ThnProgram *p, ThnFrame *f, ThnCalls *s, int copies)
{
    npy_intp *at = s->layouts;
    for (int i = 0; i < p->ninputs; i++) {
        const ThnCell *c = input(p, f, i);
        const size_t n = 2 * (size_t)c->ndim; /* strides lie behind dims */
        if (copies) {
            memcpy(at, c->dims, n * sizeof *at);
        } else if (memcmp(at, c->dims, n * sizeof *at) != 0) {
            return 0;
        }
        at += n;
    }
    return 1;
}

/* The cell that was the first in this memory; NULL: an input or a constant. */
static ThnCell *maker_of(ThnProgram *p, ThnFrame *f, const ThnBuffer *buf)
{
    for (int i = 0; i < p->ninstrs && !buf->owner; i++) {
        for (int o = 0; o < p->instrs[i].nout; o++) {
            ThnCell *c = THN_OUT(f, &p->instrs[i], o);
            if (c->buf == buf) {
                return c->data == buf->data ? c : NULL;
            }
        }
    }
    return NULL;
}

/* Finds the memory that outputs take with them; 0: it is not known. */
static int find_made(ThnProgram *p, ThnFrame *f, ThnCalls *s)
{
    for (int i = 0; i < p->noutputs; i++) {
        const ThnCell *c = output(p, f, i);
        int m = -1;
        for (int before = 0; before < i && m < 0 && c->buf; before++) {
            m = output(p, f, before)->buf == c->buf ? s->made_at[before] : -1;
        }
        if (m < 0 && c->buf) {
            ThnCell *maker = maker_of(p, f, c->buf);
            if (!maker) {
                return 0;
            }
            m = s->nmade++;
            s->movers[p->ninputs + m] = (ThnMover){.cell = maker, .first = maker->data, .len = 1};
            s->bytes[m] = thn_pool_capacity(maker->data);
        }
        s->made_at[i] = m;
    }
    return 1;
}

/* Lets go of the memory of arguments and results, but for the inputs and outputs themselves. */
static void drop_what_moves(ThnProgram *p, ThnFrame *f)
{
    for (ThnCell *c = f->cells, *end = c + p->ncells; c < end; c++) {
        int moves = c->buf && c->buf->owner, stays = !c->buf || (c->flags & THN_CELL_CONST);
        for (int i = 0; i < p->noutputs; i++) {
            moves |= c->buf == output(p, f, i)->buf;
            stays |= c == output(p, f, i);
        }
        for (int i = 0; i < p->ninputs; i++) {
            stays |= c == input(p, f, i);
        }
        if (moves && !stays) {
            thn_buffer_drop(c->buf);
            c->buf = NULL;
        }
    }
}

/* What the calls after this one need; NULL, without an exception: they are as usual. */
static ThnCalls *make_calls(ThnProgram *p, ThnFrame *f)
{
    const size_t nin = (size_t)p->ninputs, nout = (size_t)p->noutputs;
    size_t lengths = 0;
    for (int i = 0; i < p->ninputs; i++) {
        lengths += 2 * (size_t)input(p, f, i)->ndim;
    }
    ThnCalls *s, made = {.nmade = 0};
    THN_NULL_UNLESS(THN_POOL_PARTS({&s, sizeof *s}, {&made.movers, (nin + nout) * sizeof(ThnMover)}, {&made.bytes, nout * sizeof(size_t)},
                                   {&made.made_at, nout * sizeof(int)}, {&made.layouts, lengths * sizeof(npy_intp)}));
    *s = made;
    layouts(p, f, s, 1);
    for (int i = 0; i < p->ninputs; i++) {
        s->movers[i] = (ThnMover){.cell = input(p, f, i), .first = input(p, f, i)->data, .len = 1};
    }
    double work;
    if (find_made(p, f, s) && (s->steady = thn_steady(p, f, s->movers, p->ninputs + s->nmade, NULL, 0, NULL, &work))
        && work <= THN_GIL_WORK) {
        drop_what_moves(p, f);
        return s;
    }
    thn_pool_free(s->steady);
    thn_pool_free(s);
    return NULL;
}

void thn_calls_free(ThnFrame *f)
{
    if (f->calls) {
        thn_pool_free(f->calls->steady);
        thn_pool_free(f->calls);
        f->calls = NULL;
    }
}

void thn_calls_end(ThnProgram *p, ThnFrame *f)
{
    for (int i = 0; i < p->ninputs; i++) {
        thn_cell_release(input(p, f, i));
    }
    for (int i = 0; i < p->noutputs; i++) {
        if (f->calls->made_at[i] < 0) {
            Py_CLEAR(output(p, f, i)->obj);
        } else {
            thn_cell_release(output(p, f, i));
        }
    }
}

/* Ends the steady calls; the inputs of this one stay. */
static void forget(ThnProgram *p, ThnFrame *f)
{
    thn_calls_free(f);
    for (int i = 0; i < p->ninstrs; i++) {
        for (int o = 0; o < p->instrs[i].nout; o++) {
            thn_cell_release(THN_OUT(f, &p->instrs[i], o));
        }
    }
}

static int record(ThnProgram *p, ThnFrame *f)
{
    f->waited = 0;
    f->recorded += f->recorded < MOST_DOUBLINGS;
    size_t bytes = 0;
    THN_TRY(thn_run_step(p, f, THN_KEEP, &bytes));
    p->call_count++;
    f->calls = bytes <= THN_MOST_KEPT ? make_calls(p, f) : NULL;
    return 0;
}

/* 0: out of memory. */
static int make_memory(ThnProgram *p, ThnFrame *f, ThnCalls *s, int m)
{
    char *block = thn_pool_alloc(s->bytes[m]);
    ThnBuffer *buf = block ? thn_buffer_over(NULL, block) : NULL;
    if (!buf) {
        thn_pool_free(block);
        return 0;
    }
    s->movers[p->ninputs + m].first = block;
    for (int i = 0; i < p->noutputs; i++) {
        ThnCell *c = output(p, f, i);
        if (s->made_at[i] == m && c->buf != buf) {
            c->buf = buf;
            c->flags |= THN_CELL_SET;
            buf->refs++;
        }
    }
    thn_buffer_drop(buf);
    return 1;
}

int thn_run_call(ThnProgram *p, ThnFrame *f)
{
    ThnCalls *s = f->calls;
    if (!s) {
        return !p->profile && f->waited++ == (npy_intp)FIRST_WAIT << f->recorded ? record(p, f) : thn_run(p, f);
    }
    int same = !p->profile && layouts(p, f, s, 0);
    for (int m = 0; same && m < s->nmade; m++) {
        same = make_memory(p, f, s, m);
    }
    if (!same) {
        forget(p, f);
        f->recorded = f->waited < WORTH_IT ? f->recorded : 0;
        f->waited = 0;
        return thn_run(p, f);
    }
    f->waited++;
    for (int i = 0; i < p->ninputs; i++) {
        s->movers[i].first = input(p, f, i)->data;
    }
    npy_intp done;
    int stop = 0;
    if (thn_steady_run(s->steady, 1, &done, &stop) < 0) {
        forget(p, f);
        return -1;
    }
    p->call_count++;
    return 0;
}
