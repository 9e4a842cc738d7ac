/* Instruction: scan, a loop over a nested program.
 *
 * The inner program is a Program of its own. Its input cells see the outer memory: elements of sequences and rows of the
 * recurrent buffers by pointers that move, everything else by sharing. Its outputs are made in the rows of the outer
 * buffers where the instruction that makes them can do so (THN_CELL_DEST) and copied there otherwise.
 *
 * ins:  number of steps, sequences, recurrent buffers, shared values, lengths of the other outputs, other arguments
 * outs: recurrent buffers, other outputs, shared values
 * inner inputs:  sequences, taps of all recurrent buffers, shared values, other arguments
 * inner outputs: for each recurrent buffer one for each of its slices, other outputs, shared values[, stop condition]
 */
#include "vm.h"
#include "blas.h"
#include "copy.h"
#include "plan.h"

#include <time.h>

#define KEEP_BYTES (16u << 20)    /* inner programs with more intermediate values drop them in every step */
#define CHUNK_WORK 1e6            /* ns between two looks at signals */

typedef struct {
    int ntaps, nouts, inplace, whole;
    int first;                    /* minus the least tap: rows of initial values */
    int last;                     /* the greatest tap */
    int *taps, *slices;
} Rec;

/* One inner output. */
typedef struct {
    int cell;
    int dest;                     /* the cell that is bound to the row, or -1 */
    int buf, slice;
    int nover, *over;             /* inner inputs that may lie in the row that is written */
} Out;

typedef struct {
    ThnProgram *inner;
    PyObject *on_error;           /* borrowed: on_error(step, steps, type, value, traceback) is expected to raise */
    const char *text;             /* the Op, for messages */
    int nseq, nrec, nshared, nnit, nother, as_while;
    int ntaps, nrows;             /* taps of all buffers; outputs that go to buffers */
    Rec *recs;
    Out *outs;
    int products;                 /* the inner program multiplies matrices */
    int single;                   /* the inner program is one elementwise kernel: the number of its outputs, or 0 */
} Scan;

/* A recurrent buffer or other output while the loop runs. */
typedef struct {
    ThnCell *cell;
    npy_intp len, stride, size;   /* rows, bytes from row to row, bytes of a row */
    const npy_intp *dims, *strides;
    int ndim, dense;              /* of a row */
} Buf;

/* A row that moves with the steps. */
typedef struct {
    ThnCell *cell;
    int buf;
    npy_intp at;
} Row;

typedef struct {
    Buf *bufs;
    Row *taps, *rows;
    ThnCell **seqs;
    npy_intp *seq_stride;
    char **lent;                  /* for each row the place its cell was last bound to */
} Run;

/* ---- parameters */

static int int_tuple(PyObject *t, int **out, int *n)
{
    if (!PyTuple_Check(t)) {
        PyErr_SetString(PyExc_TypeError, "scan: a tuple of integers is needed");
        return -1;
    }
    *n = (int)PyTuple_GET_SIZE(t);
    *out = thn_alloc(sizeof(int) * (size_t)*n);
    for (int i = 0; *out && i < *n; i++) {
        (*out)[i] = (int)PyLong_AsLong(PyTuple_GET_ITEM(t, i));
    }
    return *out && !PyErr_Occurred() ? 0 : -1;
}

static int parse_recs(Scan *s, PyObject *recs)
{
    s->nrec = (int)PyTuple_GET_SIZE(recs);
    s->recs = thn_alloc(sizeof(Rec) * (size_t)s->nrec);
    for (int i = 0; s->recs && i < s->nrec; i++) {
        Rec *r = &s->recs[i];
        PyObject *taps, *slices;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(recs, i), "OOpp", &taps, &slices, &r->whole, &r->inplace)
            || int_tuple(taps, &r->taps, &r->ntaps) < 0 || int_tuple(slices, &r->slices, &r->nouts) < 0) {
            return -1;
        }
        for (int k = 0; k < r->ntaps + r->nouts; k++) {
            const int tap = k < r->ntaps ? r->taps[k] : r->slices[k - r->ntaps];
            r->first = k == 0 || -tap > r->first ? -tap : r->first;
            r->last = k == 0 || tap > r->last ? tap : r->last;
        }
        s->ntaps += r->ntaps;
        s->nrows += r->nouts;
    }
    return s->recs ? 0 : -1;
}

static int parse_outs(Scan *s, PyObject *dests)
{
    ThnProgram *p = s->inner;
    if (PyTuple_GET_SIZE(dests) != s->nrows) {
        PyErr_SetString(PyExc_ValueError, "scan: one destination for each output is needed");
        return -1;
    }
    s->outs = thn_alloc(sizeof(Out) * (size_t)s->nrows);
    int o = 0;
    for (int b = 0; s->outs && b < s->nrec + s->nnit; b++) {
        for (int k = 0; k < (b < s->nrec ? s->recs[b].nouts : 1); k++, o++) {
            Out *out = &s->outs[o];
            PyObject *over;
            out->cell = p->outputs[o].cell;
            out->buf = b;
            out->slice = b < s->nrec ? s->recs[b].slices[k] : 0;
            if (!PyArg_ParseTuple(PyTuple_GET_ITEM(dests, o), "iO", &out->dest, &over)
                || int_tuple(over, &out->over, &out->nover) < 0) {
                return -1;
            }
            if (out->dest >= p->ncells) {
                PyErr_SetString(PyExc_ValueError, "scan: there is no such cell");
                return -1;
            }
        }
    }
    return s->outs ? 0 : -1;
}

/* Inner cell `in` is what outer cell `out` is, less `drop` dimensions. */
static int same_kind(const ThnCellSpec *in, const ThnCellSpec *out, int drop)
{
    return in->kind == out->kind && (in->kind == THN_KIND_OBJECT ? !drop : in->typenum == out->typenum
                                                                              && in->ndim + drop == out->ndim);
}

static int check_cells(ThnProgram *outer, const ThnInstr *ins, const Scan *s)
{
    const ThnProgram *p = s->inner;
    int k = 0, o = 0, ok = 1;
    for (int i = 0; i < s->nseq; i++) {
        ok &= same_kind(&p->cells[p->inputs[k++].cell], &outer->cells[ins->ins[1 + i]], 1);
    }
    for (int i = 0; i < s->nrec; i++) {
        const ThnCellSpec *buf = &outer->cells[ins->ins[1 + s->nseq + i]];
        ok &= same_kind(&outer->cells[ins->outs[i]], buf, 0);
        for (int t = 0; t < s->recs[i].ntaps; t++) {
            ok &= same_kind(&p->cells[p->inputs[k++].cell], buf, 1);
        }
        for (int t = 0; t < s->recs[i].nouts; t++) {
            ok &= same_kind(&p->cells[p->outputs[o++].cell], buf, 1);
        }
    }
    for (int i = 0; i < s->nnit; i++) {
        ok &= same_kind(&p->cells[p->outputs[o++].cell], &outer->cells[ins->outs[s->nrec + i]], 1);
    }
    for (int i = 0; i < s->nshared; i++) {
        ok &= same_kind(&p->cells[p->inputs[k++].cell], &outer->cells[ins->ins[1 + s->nseq + s->nrec + i]], 0);
        ok &= same_kind(&p->cells[p->outputs[o++].cell], &outer->cells[ins->outs[s->nrec + s->nnit + i]], 0);
    }
    for (int i = 0; i < s->nother; i++) {
        ok &= same_kind(&p->cells[p->inputs[k++].cell], &outer->cells[ins->ins[ins->nin - s->nother + i]], 0);
    }
    if (!ok) {
        PyErr_SetString(PyExc_TypeError, "scan: an inner value has another dtype or rank than the outer one");
    }
    return ok ? 0 : -1;
}

static int scan_init(ThnProgram *prog, ThnInstr *ins, PyObject *params)
{
    PyObject *recs, *dests;
    Scan *s = thn_alloc(sizeof *s);
    ins->data = s;
    if (!s || !PyArg_ParseTuple(params, "O!OsiO!iiipO!", thn_ProgramType, &s->inner, &s->on_error, &s->text, &s->nseq, &PyTuple_Type,
                                &recs, &s->nshared, &s->nnit, &s->nother, &s->as_while, &PyTuple_Type, &dests)
        || parse_recs(s, recs) < 0) {
        return -1;
    }
    s->nrows += s->nnit;
    const ThnProgram *p = s->inner;
    if (ins->nin != 1 + s->nseq + s->nrec + s->nshared + s->nnit + s->nother || ins->nout != s->nrec + s->nnit + s->nshared
        || p->ninputs != s->nseq + s->ntaps + s->nshared + s->nother
        || p->noutputs != s->nrows + s->nshared + (s->as_while != 0)) {
        PyErr_SetString(PyExc_ValueError, "scan: the numbers of operands do not fit the inner program");
        return -1;
    }
    if (parse_outs(s, dests) < 0 || check_cells(prog, ins, s) < 0) {
        return -1;
    }
    for (int i = 0; i < p->ninstrs; i++) {
        for (const ThnOpDef *d = thn_ops_blas; d->name; d++) {
            s->products |= p->instrs[i].def == d;
        }
    }
    if (p->ninstrs == 1 && strcmp(p->instrs[0].def->name, "kernel") == 0 && !s->nshared && s->nrows) {
        const ThnKernel *k = p->instrs[0].data;
        s->single = k->n_inner == 0 ? k->nout : 0;
        for (int o = 0; o < s->nrows; o++) {
            /* A row is made by the kernel itself, by one output of it alone. */
            int makers = 0;
            for (int j = 0; j < k->nout; j++) {
                makers += p->instrs[0].outs[j] == s->outs[o].cell && k->out[j].alias < 0;
            }
            for (int j = 0; j < o; j++) {
                makers += s->outs[j].cell == s->outs[o].cell;
            }
            if (makers != 1 || s->outs[o].dest != s->outs[o].cell) {
                s->single = 0;
            }
        }
    }
    return 0;
}

static void scan_clear(ThnInstr *ins)
{
    Scan *s = ins->data;
    for (int i = 0; s && s->recs && i < s->nrec; i++) {
        thn_free(s->recs[i].taps);
        thn_free(s->recs[i].slices);
    }
    for (int i = 0; s && s->outs && i < s->nrows; i++) {
        thn_free(s->outs[i].over);
    }
    if (s) {
        thn_free(s->recs);
        thn_free(s->outs);
    }
    thn_free(s);
}

/* ---- setting up */

static npy_intp modulo(npy_intp a, npy_intp n)
{
    a %= n;
    return a < 0 ? a + n : a;
}

static void look_at(Buf *b, ThnCell *c)
{
    npy_intp step = c->itemsize;
    b->cell = c;
    b->len = c->dims[0];
    b->stride = c->strides[0];
    b->ndim = c->ndim - 1;
    b->dims = c->dims + 1;
    b->strides = c->strides + 1;
    b->dense = 1;
    for (int i = b->ndim - 1; i >= 0; i--) {
        b->dense &= b->dims[i] == 1 || b->strides[i] == step;
        step *= b->dims[i];
    }
    b->size = step;
}

static int is_freed(const ThnInstr *ins, int cell)
{
    for (int k = 0; k < ins->nfree; k++) {
        if (ins->frees[k] == cell) {
            return 1;
        }
    }
    return 0;
}

/* Gives output `i` the memory of its buffer: the input's own where it may be overwritten. */
static int take_buffer(ThnFrame *f, const ThnInstr *ins, const Scan *s, int i, npy_intp steps, Buf *b)
{
    const Rec *r = &s->recs[i];
    const int where = 1 + s->nseq + i;
    ThnCell *in = THN_IN(f, ins, where), *out = THN_OUT(f, ins, i);
    int uses = 0;
    for (int k = 0; k < ins->nin; k++) {
        uses += ins->ins[k] == ins->ins[where];
    }
    if (r->inplace || (uses == 1 && thn_cell_exclusive(in) && is_freed(ins, ins->ins[where]))) {
        if (thn_out_alias(f, out, in) < 0) {
            return -1;
        }
    } else {
        if (thn_out_alloc(f, out, in->dims) < 0) {
            return -1;
        }
        npy_intp dims[THN_MAXDIM];
        memcpy(dims, in->dims, sizeof(npy_intp) * (size_t)in->ndim);
        /* Rows behind the initial values are written by the steps. */
        if (!r->whole && steps > 0 && dims[0] > r->first) {
            dims[0] = r->first;
        }
        thn_copy_strided(in->ndim, dims, out->data, out->strides, in->data, in->strides, in->itemsize);
    }
    look_at(b, out);
    const npy_intp needed = r->whole ? (steps > 0 ? steps + r->last + r->first : 0) : r->first;
    if (b->len < needed) {
        char text[200];
        return thn_error(f, PyExc_ValueError, "State %d of %s needs at least %lld rows, its buffer has the shape %s.", i, s->text,
                         (long long)needed, thn_shape_text(text, sizeof text, in->ndim, in->dims));
    }
    return 0;
}

/* Lends a row to an input cell of the inner program. */
static int lend(ThnFrame *f, ThnCell *c, char *data, const npy_intp *dims, const npy_intp *strides, const char *what, int i)
{
    memcpy(c->dims, dims, sizeof(npy_intp) * (size_t)c->ndim);
    memcpy(c->strides, strides, sizeof(npy_intp) * (size_t)c->ndim);
    thn_cell_release(c);
    c->data = data;
    c->flags |= THN_CELL_SET;
    for (int d = 0; d < c->ndim; d++) {
        if ((c->bcast >> d & 1) && c->dims[d] != 1) {
            return thn_error(f, PyExc_TypeError, "scan: dimension %d of a value of %s %d must be 1, it is %lld", d, what, i,
                             (long long)c->dims[d]);
        }
    }
    return 0;
}

static int share(ThnFrame *f, ThnFrame *g, ThnCell *to, ThnCell *from)
{
    if (thn_out_alias(g, to, from) < 0) {
        return -1;
    }
    for (int d = 0; d < to->ndim; d++) {
        if ((to->bcast >> d & 1) && to->dims[d] != 1) {
            return thn_error(f, PyExc_TypeError, "scan: dimension %d of an argument must be 1, it is %lld", d,
                             (long long)to->dims[d]);
        }
    }
    return 0;
}

/* A shared value's cell of the inner program holds a copy: the step writes a new value while it reads the old one. */
static int copy_shared(ThnFrame *f, ThnFrame *g, ThnCell *to, ThnCell *from, int *same)
{
    if (to->kind == THN_KIND_OBJECT) {
        thn_set_object(to, from->obj);
        return 0;
    }
    if (!(to->flags & THN_CELL_SET) || memcmp(to->dims, from->dims, sizeof(npy_intp) * (size_t)to->ndim) != 0
        || to->obj || (to->buf && (to->buf->owner || to->buf->refs > 1))) {
        *same = 0;
        if (thn_out_alloc(g, to, from->dims) < 0) {
            f->err_type = g->err_type;
            memcpy(f->err_msg, g->err_msg, sizeof f->err_msg);
            return -1;
        }
    }
    thn_copy_strided(to->ndim, to->dims, to->data, to->strides, from->data, from->strides, to->itemsize);
    return 0;
}

/* ---- steps */

/* The next row's place of all that moves. */
static void advance(const Scan *s, Run *run, npy_intp by)
{
    for (int k = 0; k < s->nseq; k++) {
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
            allowed |= out->over[j] == s->nseq + k;
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
        char x[100], y[100];
        return thn_error(f, PyExc_ValueError,
                         "Output %d of %s has the shape %s at step %lld (counted from 0), but %s had the shape %s: all steps "
                         "must return results of the same shape.",
                         row->buf, s->text, thn_shape_text(x, sizeof x, v->ndim, v->dims), (long long)step,
                         row->buf < s->nrec ? "the initial value" : "earlier steps",
                         thn_shape_text(y, sizeof y, b->ndim, b->dims));
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
        const ThnCell *c = run->bufs[i].cell;
        if (c->buf && v->data >= c->data && v->data < c->data + run->bufs[i].len * run->bufs[i].stride) {
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
        npy_intp strides[THN_MAXDIM], size = v->itemsize;
        for (int i = v->ndim - 1; i >= 0; i--) {
            strides[i] = size;
            size *= v->dims[i];
        }
        held[o] = thn_alloc((size_t)size);
        if (!held[o]) {
            r = -1;
            break;
        }
        thn_copy_strided(v->ndim, v->dims, held[o], strides, v->data, v->strides, v->itemsize);
    }
    for (int o = 0; o < s->nrows && r == 0; o++) {
        ThnCell v = g->cells[s->outs[o].cell];
        npy_intp strides[THN_MAXDIM], size = v.itemsize;
        if (held && held[o]) {
            for (int i = v.ndim - 1; i >= 0; i--) {
                strides[i] = size;
                size *= v.dims[i];
            }
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

/* Makes the buffers of outputs that are not recurrent: the first step tells the dims of a value. */
static int new_buffers(ThnFrame *f, const ThnInstr *ins, const Scan *s, Run *run, ThnFrame *g)
{
    for (int i = 0; i < s->nnit; i++) {
        const ThnCell *len = THN_IN(f, ins, 1 + s->nseq + s->nrec + s->nshared + i);
        const ThnCell *v = &g->cells[s->outs[s->nrows - s->nnit + i].cell];
        ThnCell *out = THN_OUT(f, ins, s->nrec + i);
        npy_intp dims[THN_MAXDIM];
        dims[0] = (npy_intp)thn_scalar_int(len);
        memcpy(dims + 1, v->dims, sizeof(npy_intp) * (size_t)v->ndim);
        if (thn_out_alloc(f, out, dims) < 0) {
            return -1;
        }
        look_at(&run->bufs[s->nrec + i], out);
    }
    return 0;
}

/* An inner error: `on_error` raises what the user sees. */
static int fail_at(const Scan *s, npy_intp step, npy_intp steps)
{
    PyObject *type, *value, *tb;
    if (s->on_error == Py_None || !PyErr_Occurred()) {
        return -1;
    }
    thn_take_error(&type, &value, &tb);
    PyObject *r = PyObject_CallFunction(s->on_error, "nnOOO", (Py_ssize_t)step, (Py_ssize_t)steps, type, value, tb ? tb : Py_None);
    return thn_settle_error(r, type, value, tb);
}

/* Steps of an inner program that is one elementwise kernel: a call of the kernel takes as many steps as follow one another
 * in memory, step by step as it takes the rows of a matrix. Returns the steps done, or -1. `*stop`: the condition held. */
static npy_intp run_single(const Scan *s, Run *run, ThnFrame *g, npy_intp todo, int *stop)
{
    const ThnInstr *ins = &s->inner->instrs[0];
    ThnPlan *plan = g->scratch[0].ptr;
    const ThnKernel *k = plan->k;
    const ThnCell *condition = s->as_while ? &g->cells[s->inner->outputs[s->inner->noutputs - 1].cell] : NULL;
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
        for (int q = 0; q < s->nseq; q++) {
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
        if (PyErr_CheckSignals() < 0) {
            return -1;
        }
    }
    return done;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* Runs up to `steps` steps; `*done` counts them. */
static int run_steps(ThnFrame *f, const ThnInstr *ins, const Scan *s, Run *run, ThnFrame *g, char *bound, npy_intp steps,
                     npy_intp *done)
{
    ThnProgram *p = s->inner;
    const int replay = thn_replayable(p), conditions = p->noutputs - 1;
    const int shared_in = s->nseq + s->ntaps, shared_out = s->nrows;
    double last = now();
    size_t bytes = 0;
    int kept = 0, same = 1;
    for (npy_intp t = 0; t < steps; t++) {
        if (t > 0) {
            advance(s, run, 1);
        }
        if (t < 2) {
            for (int o = 0; o < s->nrows; o++) {
                bound[o] = t == 0 && s->outs[o].buf >= s->nrec ? 0 : may_bind(s, run, o);
            }
        }
        bind_rows(s, run, g, bound);
        for (int k = 0; k < s->nseq + s->ntaps; k++) {
            ThnCell *c = k < s->nseq ? run->seqs[k] : run->taps[k - s->nseq].cell;
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
        if ((t == 0 && new_buffers(f, ins, s, run, g) < 0) || put_rows(f, s, run, g, t) < 0) {
            return -1;
        }
        *done = t + 1;
        const int stop = s->as_while && thn_truth(&g->cells[p->outputs[conditions].cell]);
        same = 1;
        for (int k = 0; k < s->nshared; k++) {
            ThnCell *to = &g->cells[p->inputs[shared_in + k].cell], *from = &g->cells[p->outputs[shared_out + k].cell];
            if (copy_shared(f, g, to, from, &same) < 0) {
                return -1;
            }
        }
        if (stop) {
            break;
        }
        if (t == 0 && s->single && steps > 2) {
            const ThnPlan *plan = g->scratch[0].ptr;
            int fits = plan->mode == RUN_ELEM && plan->outer.n == 1 && plan->work < 60000.0;
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
        if ((t & 15) == 15) {
            const double time = now();
            if (PyErr_CheckSignals() < 0) {
                return -1;
            }
            if (time - last > 5e6) {
                Py_BEGIN_ALLOW_THREADS
                Py_END_ALLOW_THREADS
                last = time;
            }
        }
    }
    return 0;
}

/* ---- the end */

/* Puts the rows of a circular buffer in order: the oldest one, at `start`, comes first. */
static int rotate(ThnFrame *f, const Buf *b, npy_intp start)
{
    const ThnCell *c = b->cell;
    npy_intp dims[THN_MAXDIM], strides[THN_MAXDIM], step = c->itemsize;
    if (start == 0) {
        return 0;
    }
    memcpy(dims, c->dims, sizeof(npy_intp) * (size_t)c->ndim);
    for (int i = c->ndim - 1; i >= 0; i--) {
        strides[i] = step;
        step *= dims[i];
    }
    char *held = PyMem_Malloc((size_t)(step ? step : 1));
    if (!held) {
        return thn_error(f, PyExc_MemoryError, "out of memory for the rotation of a buffer");
    }
    dims[0] = b->len - start;
    thn_copy_strided(c->ndim, dims, held, strides, c->data + start * b->stride, c->strides, c->itemsize);
    dims[0] = start;
    thn_copy_strided(c->ndim, dims, held + (b->len - start) * strides[0], strides, c->data, c->strides, c->itemsize);
    dims[0] = b->len;
    thn_copy_strided(c->ndim, dims, c->data, c->strides, held, strides, c->itemsize);
    PyMem_Free(held);
    return 0;
}

static void clear_rows(const Buf *b, npy_intp from)
{
    static const char zero[16];
    const ThnCell *c = b->cell;
    npy_intp dims[THN_MAXDIM], none[THN_MAXDIM] = {0};
    memcpy(dims, c->dims, sizeof(npy_intp) * (size_t)c->ndim);
    dims[0] = b->len - from;
    thn_copy_strided(c->ndim, dims, c->data + from * b->stride, c->strides, zero, none, c->itemsize);
}

static int finish(ThnFrame *f, const ThnInstr *ins, const Scan *s, Run *run, ThnFrame *g, npy_intp steps, npy_intp done)
{
    for (int i = 0; i < s->nrec + s->nnit; i++) {
        const Rec *r = i < s->nrec ? &s->recs[i] : NULL;
        Buf *b = &run->bufs[i];
        if (r && r->whole) {
            continue;
        }
        const npy_intp total = (r ? r->first : 0) + done;
        if (b->len < total && b->len > 0) {
            if (rotate(f, b, total % b->len) < 0) {
                return -1;
            }
        } else if (b->len > total) {
            if (done < steps) {
                b->cell->dims[0] = total;
            } else {
                clear_rows(b, total);
            }
        }
    }
    for (int k = 0; k < s->nshared; k++) {
        ThnCell *from = &g->cells[s->inner->inputs[s->nseq + s->ntaps + k].cell], *to = THN_OUT(f, ins, s->nrec + s->nnit + k);
        if (thn_out_alias(f, to, from) < 0) {
            return -1;
        }
        /* An inline scalar lives in the inner frame. */
        if (to->kind == THN_KIND_TENSOR && !to->buf) {
            if (to->ndim) {
                return thn_error(f, PyExc_SystemError, "scan: a shared value without memory");
            }
            memcpy(to->scalar.bytes, to->data, (size_t)to->itemsize);
            to->data = to->scalar.bytes;
        }
    }
    return 0;
}

/* A cell of its own for a row of zeros. */
static int zero_row(ThnFrame *g, ThnCell *c, const npy_intp *dims)
{
    if (thn_out_alloc(g, c, dims) < 0) {
        return -1;
    }
    memset(c->data, 0, (size_t)thn_size(c) * (size_t)c->itemsize);
    return 0;
}

/* Outputs that no step has made have no rows, of the shape that a step on zeros gives. */
static int no_steps(ThnFrame *f, const ThnInstr *ins, const Scan *s, Run *run, ThnFrame *g)
{
    int known = 1, input = 0;
    if (!s->nnit) {
        return 0;
    }
    for (int k = 0; k < s->nseq && known; k++) {
        known = zero_row(g, run->seqs[k], THN_IN(f, ins, 1 + k)->dims + 1) == 0;
    }
    input = s->nseq;
    for (int i = 0; i < s->nrec; i++) {
        for (int t = 0; t < s->recs[i].ntaps && known; t++, input++) {
            known = zero_row(g, &g->cells[s->inner->inputs[input].cell], run->bufs[i].dims) == 0;
        }
    }
    if (!known || thn_run(s->inner, g) < 0) {
        if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)) {
            return -1;
        }
        PyErr_Clear();
        known = 0;
    }
    for (int i = 0; i < s->nnit; i++) {
        ThnCell *out = THN_OUT(f, ins, s->nrec + i);
        const ThnCell *v = &g->cells[s->outs[s->nrows - s->nnit + i].cell];
        npy_intp dims[THN_MAXDIM] = {0};
        for (int d = 1; d < out->ndim; d++) {
            dims[d] = known ? v->dims[d - 1] : out->bcast >> d & 1;
        }
        if (thn_out_alloc(f, out, dims) < 0) {
            return -1;
        }
        look_at(&run->bufs[s->nrec + i], out);
    }
    return 0;
}

static int check_lengths(ThnFrame *f, const ThnInstr *ins, const Scan *s, npy_intp steps)
{
    if (steps < 0) {
        return thn_error(f, PyExc_IndexError, "Scan was asked to run for a negative number of steps: %lld", (long long)steps);
    }
    for (int k = 0; k < s->nseq; k++) {
        const ThnCell *c = THN_IN(f, ins, 1 + k);
        if (c->dims[0] < steps) {
            char text[200];
            return thn_error(f, PyExc_ValueError,
                             "Sequence %d of %s is shorter than the required number of steps: it has %lld elements for %lld "
                             "steps (its shape is %s).",
                             k, s->text, (long long)c->dims[0], (long long)steps,
                             thn_shape_text(text, sizeof text, c->ndim, c->dims));
        }
    }
    for (int k = 0; k < s->nnit; k++) {
        const int64_t n = thn_scalar_int(THN_IN(f, ins, 1 + s->nseq + s->nrec + s->nshared + k));
        if (n < 0) {
            return thn_error(f, PyExc_IndexError, "Scan was asked to keep a negative number of values of an output: %lld",
                             (long long)n);
        }
    }
    return 0;
}

static int run_loop(ThnFrame *f, const ThnInstr *ins, const Scan *s, Run *run, ThnFrame *g, char *bound, npy_intp steps)
{
    ThnProgram *p = s->inner;
    int input = 0, tap = 0, row = 0, same = 0;
    npy_intp done = 0;
    for (int k = 0; k < s->nseq; k++, input++) {
        ThnCell *from = THN_IN(f, ins, 1 + k), *to = &g->cells[p->inputs[input].cell];
        run->seqs[k] = to;
        run->seq_stride[k] = from->strides[0];
        if (lend(f, to, from->data, from->dims + 1, from->strides + 1, "sequence", k) < 0) {
            return -1;
        }
    }
    for (int i = 0; i < s->nrec; i++) {
        const Rec *r = &s->recs[i];
        Buf *b = &run->bufs[i];
        if (take_buffer(f, ins, s, i, steps, b) < 0) {
            return -1;
        }
        for (int t = 0; t < r->ntaps && steps > 0; t++, tap++, input++) {
            Row *q = &run->taps[tap];
            *q = (Row){&g->cells[p->inputs[input].cell], i, modulo(r->first + r->taps[t], b->len)};
            if (lend(f, q->cell, b->cell->data + q->at * b->stride, b->dims, b->strides, "recurrent output", i) < 0) {
                return -1;
            }
        }
        for (int t = 0; t < r->nouts && steps > 0; t++, row++) {
            run->rows[row] = (Row){NULL, i, modulo(r->first + r->slices[t], b->len)};
        }
    }
    for (int i = 0; i < s->nnit; i++, row++) {
        run->rows[row] = (Row){NULL, s->nrec + i, 0};
        run->bufs[s->nrec + i].cell = NULL;
        run->bufs[s->nrec + i].len = 1;
    }
    input = s->nseq + s->ntaps;
    for (int k = 0; k < s->nshared; k++, input++) {
        ThnCell *from = THN_IN(f, ins, 1 + s->nseq + s->nrec + k);
        if (copy_shared(f, g, &g->cells[p->inputs[input].cell], from, &same) < 0) {
            return -1;
        }
    }
    for (int k = 0; k < s->nother; k++, input++) {
        ThnCell *to = &g->cells[p->inputs[input].cell];
        if (share(f, g, to, THN_IN(f, ins, ins->nin - s->nother + k)) < 0) {
            return -1;
        }
        to->flags |= THN_CELL_FIXED;
    }
    if (steps == 0) {
        return no_steps(f, ins, s, run, g) < 0 ? -1 : finish(f, ins, s, run, g, 0, 0);
    }
    if (run_steps(f, ins, s, run, g, bound, steps, &done) < 0) {
        return -1;
    }
    return finish(f, ins, s, run, g, steps, done);
}

static int nothing_prepare(ThnFrame *f, const ThnInstr *ins)
{
    (void)f;
    (void)ins;
    return 0;
}

static int scan_execute(ThnFrame *f, const ThnInstr *ins)
{
    const Scan *s = ins->data;
    ThnProgram *p = s->inner;
    const size_t nbuf = (size_t)(s->nrec + s->nnit), nrow = (size_t)(s->ntaps + s->nrows), nseq = (size_t)s->nseq;
    const npy_intp steps = (npy_intp)thn_scalar_int(THN_IN(f, ins, 0));
    if (check_lengths(f, ins, s, steps) < 0) {
        return -1;
    }
    char *mem = thn_scratch(f, ins, nbuf * sizeof(Buf) + nrow * sizeof(Row) + nseq * (sizeof(ThnCell *) + sizeof(npy_intp))
                                        + (size_t)s->nrows * (sizeof(char *) + 1));
    if (!mem) {
        return -1;
    }
    Run run;
    run.bufs = (Buf *)mem;
    run.taps = (Row *)(run.bufs + nbuf);
    run.rows = run.taps + s->ntaps;
    run.seqs = (ThnCell **)(run.taps + nrow);
    run.seq_stride = (npy_intp *)(run.seqs + nseq);
    run.lent = (char **)(run.seq_stride + nseq);
    char *bound = (char *)(run.lent + s->nrows);
    memset(run.lent, 0, (size_t)s->nrows * sizeof(char *));
    ThnFrame *g = thn_frame_get(p);
    if (!g) {
        return -1;
    }
    int r = -1;
    if (g->dests || (g->dests = thn_alloc(sizeof(ThnDest) * (size_t)p->ncells))) {
        /* Once for all products instead of for each. */
        const int held = s->products && steps > 1 && thn_blas_hold();
        r = run_loop(f, ins, s, &run, g, bound, steps);
        thn_blas_let_go(held);
        thn_replay_end(p, g);
    }
    for (int o = 0; o < s->nrows; o++) {
        if (s->outs[o].dest >= 0) {
            g->cells[s->outs[o].dest].flags &= ~THN_CELL_DEST;
        }
    }
    thn_frame_put(p, g);
    return r;
}

const ThnOpDef thn_ops_scan[] = {
    {"scan", scan_init, scan_clear, nothing_prepare, scan_execute, THN_OP_NEEDS_GIL},
    {NULL, NULL, NULL, NULL, NULL, 0},
};
