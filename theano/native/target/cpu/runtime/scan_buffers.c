/* The memory of a loop: buffers of states and outputs, what the inner program is lent of them, and their order in the
 * end. */
#include "scan.h"
#include "copy.h"
#include "pool.h"

static void look_at(Buf *b, ThnCell *c)
{
    b->cell = c;
    b->len = c->dims[0];
    b->stride = c->strides[0];
    b->ndim = c->ndim - 1;
    b->dims = c->dims + 1;
    b->strides = c->strides + 1;
    b->dense = thn_is_run(b->ndim, b->dims, b->strides, c->itemsize);
}

int thn_scan_take_buffer(ThnFrame *f, const ThnInstr *ins, const Scan *s, int i, npy_intp steps, Buf *b)
{
    const Rec *r = &s->recs[i];
    const int where = 1 + s->given.nseq + i;
    ThnCell *in = THN_IN(f, ins, where), *out = THN_OUT(f, ins, i);
    int uses = 0;
    for (int k = 0; k < ins->nin; k++) {
        uses += ins->ins[k] == ins->ins[where];
    }
    if (r->inplace || (uses == 1 && thn_cell_exclusive(in) && thn_is_freed(ins, ins->ins[where]))) {
        THN_TRY(thn_out_alias(f, out, in));
    } else {
        THN_TRY(thn_out_alloc(f, out, in->dims));
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
    THN_FAIL_IF(f, b->len < needed, PyExc_ValueError, "State %d of %s needs at least %lld rows, its buffer has the shape %s.", i, s->text,
                (long long)needed, THN_SHAPE(in->ndim, in->dims));
    return 0;
}

int thn_scan_check_dims(ThnFrame *f, const ThnCell *c, const char *what, int i)
{
    for (int d = 0; d < c->ndim; d++) {
        THN_FAIL_IF(f, (c->bcast >> d & 1) && c->dims[d] != 1, PyExc_TypeError,
                    "scan: dimension %d of a value of %s %d must be 1, it is %lld", d, what, i, (long long)c->dims[d]);
    }
    return 0;
}

int thn_scan_lend(ThnFrame *f, ThnCell *c, char *data, const npy_intp *dims, const npy_intp *strides, const char *what, int i)
{
    memcpy(c->dims, dims, sizeof(npy_intp) * (size_t)c->ndim);
    memcpy(c->strides, strides, sizeof(npy_intp) * (size_t)c->ndim);
    thn_cell_release(c);
    c->data = data;
    c->flags |= THN_CELL_SET;
    return thn_scan_check_dims(f, c, what, i);
}

/* A shared value's cell of the inner program holds a copy: the step writes a new value while it reads the old one, or over it. */
int thn_scan_copy_shared(ThnFrame *f, ThnCell *to, ThnCell *from, int *same)
{
    if (to->kind == THN_KIND_OBJECT) {
        thn_set_object(to, from->obj);
        return 0;
    }
    if (from->buf && from->buf == to->buf && from->data == to->data
        && memcmp(to->dims, from->dims, 2 * sizeof(npy_intp) * (size_t)to->ndim) == 0) {
        return 0; /* the step has changed it in place; strides lie behind dims */
    }
    if (!(to->flags & THN_CELL_SET) || memcmp(to->dims, from->dims, sizeof(npy_intp) * (size_t)to->ndim) != 0
        || to->obj || (to->buf && (to->buf->owner || to->buf->refs > 1))) {
        *same = 0;
        THN_TRY(thn_out_alloc(f, to, from->dims));
    }
    thn_copy_strided(to->ndim, to->dims, to->data, to->strides, from->data, from->strides, to->itemsize);
    return 0;
}

int thn_scan_new_buffers(ThnFrame *f, const ThnInstr *ins, const Scan *s, Run *run, npy_intp rows, int known)
{
    for (int i = 0; i < s->given.nnit; i++) {
        const ThnCell *len = THN_IN(f, ins, 1 + s->given.nseq + s->nrec + s->given.nshared + i);
        const int row = s->nrows - s->given.nnit + i;
        const ThnCell *v = run->made[row];
        ThnCell *out = THN_OUT(f, ins, s->nrec + i);
        Buf *b = &run->bufs[s->nrec + i];
        npy_intp dims[THN_MAXDIM];
        dims[0] = rows < 0 ? (npy_intp)thn_scalar_int(len) : rows;
        for (int d = 1; d < out->ndim; d++) {
            dims[d] = known ? v->dims[d - 1] : out->bcast >> d & 1;
        }
        THN_TRY(thn_out_alloc(f, out, dims));
        look_at(b, out);
        run->rows[row] = thn_scan_mover(run->rows[row].cell, b, 0);
    }
    return 0;
}

/* ---- the end */

/* Puts the rows of a circular buffer in order: the oldest one, at `start`, comes first. */
static int rotate(ThnFrame *f, const Buf *b, npy_intp start)
{
    const ThnCell *c = b->cell;
    npy_intp dims[THN_MAXDIM], strides[THN_MAXDIM];
    if (start == 0) {
        return 0;
    }
    memcpy(dims, c->dims, sizeof(npy_intp) * (size_t)c->ndim);
    THN_POOLED char *held = thn_pool_alloc((size_t)thn_dense_strides(c->ndim, dims, c->itemsize, strides));
    THN_FAIL_IF(f, !held, PyExc_MemoryError, "out of memory for the rotation of a buffer");
    dims[0] = b->len - start;
    thn_copy_strided(c->ndim, dims, held, strides, c->data + start * b->stride, c->strides, c->itemsize);
    dims[0] = start;
    thn_copy_strided(c->ndim, dims, held + (b->len - start) * strides[0], strides, c->data, c->strides, c->itemsize);
    dims[0] = b->len;
    thn_copy_strided(c->ndim, dims, c->data, c->strides, held, strides, c->itemsize);
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

int thn_scan_finish(ThnFrame *f, const ThnInstr *ins, const Scan *s, Run *run, ThnFrame *g, npy_intp steps, npy_intp done)
{
    for (int i = 0; i < s->nrec + s->given.nnit; i++) {
        const Rec *r = i < s->nrec ? &s->recs[i] : NULL;
        Buf *b = &run->bufs[i];
        if (r && r->whole) {
            continue;
        }
        const npy_intp total = (r ? r->first : 0) + done;
        if (b->len < total && b->len > 0) {
            THN_TRY(rotate(f, b, total % b->len));
        } else if (b->len > total) {
            if (done < steps) {
                b->cell->dims[0] = total;
            } else {
                clear_rows(b, total);
            }
        }
    }
    for (int k = 0; k < s->given.nshared; k++) {
        ThnCell *from = &g->cells[s->given.inner->inputs[s->given.nseq + s->ntaps + k].cell], *to = THN_OUT(f, ins, s->nrec + s->given.nnit + k);
        THN_TRY(thn_out_alias(f, to, from));
        /* An inline scalar lives in the inner frame. */
        if (to->kind == THN_KIND_TENSOR && !to->buf) {
            THN_FAIL_IF(f, to->ndim, PyExc_SystemError, "scan: a shared value without memory");
            memcpy(to->scalar.bytes, to->data, (size_t)to->itemsize);
            to->data = to->scalar.bytes;
        }
    }
    return 0;
}

/* A cell of its own for a row of zeros. */
static int zero_row(ThnFrame *g, ThnCell *c, const npy_intp *dims)
{
    THN_TRY(thn_out_alloc(g, c, dims));
    memset(c->data, 0, (size_t)thn_size(c) * (size_t)c->itemsize);
    return 0;
}

/* Outputs that no step has made have no rows, of the shape that a step on zeros gives. */
int thn_scan_no_steps(ThnFrame *f, const ThnInstr *ins, const Scan *s, Run *run, ThnFrame *g)
{
    int known = 1, input = s->given.nseq;
    if (!s->given.nnit) {
        return 0;
    }
    for (int k = 0; k < s->given.nseq && known; k++) {
        known = zero_row(g, run->movers[k].cell, THN_IN(f, ins, 1 + k)->dims + 1) == 0;
    }
    for (int i = 0; i < s->nrec; i++) {
        for (int t = 0; t < s->recs[i].ntaps && known; t++, input++) {
            known = zero_row(g, &g->cells[s->given.inner->inputs[input].cell], run->bufs[i].dims) == 0;
        }
    }
    if (!known || thn_run(s->given.inner, g) < 0) {
        if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)) {
            return -1;
        }
        PyErr_Clear();
        known = 0;
    }
    return thn_scan_new_buffers(f, ins, s, run, 0, known);
}
