/* Instructions whose output is a view of their input (reshape copies where no view exists). */
#include "vm.h"
#include "copy.h"
#include "index.h"
#include "walk.h"

/* ---- dimshuffle */

static int dimshuffle_check(ThnProgram *p, ThnInstr *ins)
{
    const ThnInts *order = &((const thn_dimshuffle_params *)ins->data)->order;
    int ok = p->cells[ins->outs[0]].ndim == order->n;
    for (int i = 0; ok && i < order->n; i++) {
        ok = order->at[i] >= -1 && order->at[i] < p->cells[ins->ins[0]].ndim;
    }
    return thn_fits(ins, ok);
}

static int dimshuffle_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const ThnInts *order = &((const thn_dimshuffle_params *)ins->data)->order;
    ThnCell *in = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    npy_intp dims[THN_MAXDIM], strides[THN_MAXDIM];
    uint64_t used = 0;
    for (int i = 0; i < order->n; i++) {
        int k = order->at[i];
        dims[i] = k < 0 ? 1 : in->dims[k];
        strides[i] = k < 0 ? 0 : in->strides[k];
        used |= k < 0 ? 0 : (uint64_t)1 << k;
    }
    for (int k = 0; k < in->ndim; k++) {
        THN_FAIL_IF(f, !(used >> k & 1) && in->dims[k] != 1, PyExc_ValueError,
                    "DimShuffle: dimension %d is dropped and must have size 1; the input has shape %s", k,
                    THN_SHAPE(in->ndim, in->dims));
    }
    return thn_out_view(f, out, in, in->data, dims, strides);
}

/* ---- basic indexing */

static int parse_term(const ThnInstr *ins, PyObject *o, ThnTerm *t)
{
    if (o == Py_None) {
        t->kind = 0;
        return 0;
    }
    if (PyTuple_Check(o)) {
        const char *tag;
        int k;
        THN_NEED(PyArg_ParseTuple(o, "si", &tag, &k));
        THN_RAISE_IF(strcmp(tag, "i") != 0 || k < 0 || k >= ins->nin, PyExc_ValueError, "bad index entry %R", o);
        t->kind = 2;
        t->value = k;
        return 0;
    }
    THN_OWNED PyObject *n = PyNumber_Index(o);
    THN_NEED(n);
    int overflow;
    long long v = PyLong_AsLongLongAndOverflow(n, &overflow);
    t->kind = 1;
    t->value = overflow > 0 ? NPY_MAX_INTP : overflow < 0 ? -NPY_MAX_INTP : v;
    return 0;
}

ThnIndex *thn_index_parse(const ThnInstr *ins, PyObject *idx_list)
{
    THN_OWNED PyObject *fast = PySequence_Fast(idx_list, "an index list must be a sequence");
    THN_NULL_UNLESS(fast);
    Py_ssize_t n = PySequence_Fast_GET_SIZE(fast);
    ThnIndex *index = thn_alloc(sizeof(ThnIndex) + sizeof(ThnIndexEntry) * (size_t)n);
    THN_NULL_UNLESS(index);
    index->n = (int)n;
    int r = 0;
    for (Py_ssize_t i = 0; i < n && r == 0; i++) {
        PyObject *o = PySequence_Fast_GET_ITEM(fast, i);
        ThnIndexEntry *e = &index->entries[i];
        if (o == Py_None) {
            e->kind = 2;
        } else if (PyTuple_Check(o) && PyTuple_GET_SIZE(o) == 4) {
            e->kind = 1;
            r = parse_term(ins, PyTuple_GET_ITEM(o, 1), &e->start) || parse_term(ins, PyTuple_GET_ITEM(o, 2), &e->stop)
                || parse_term(ins, PyTuple_GET_ITEM(o, 3), &e->step);
        } else {
            r = parse_term(ins, o, &e->start);
        }
    }
    if (r) {
        thn_free(index);
        return NULL;
    }
    return index;
}

static int64_t term(ThnFrame *f, const ThnInstr *ins, const ThnTerm *t, int64_t absent)
{
    if (t->kind == 0) {
        return absent;
    }
    return t->kind == 1 ? t->value : thn_scalar_int(THN_IN(f, ins, t->value));
}

int thn_index_apply(ThnFrame *f, const ThnInstr *ins, const ThnIndex *index, const ThnCell *x, char **data,
                    npy_intp *dims, npy_intp *strides)
{
    int axis = 0, nd = 0;
    char *p = x->data;
    int used = 0;
    for (int i = 0; i < index->n; i++) {
        used += index->entries[i].kind != 2;
    }
    THN_FAIL_IF(f, used > x->ndim, PyExc_IndexError, "too many indices for array: array is %d-dimensional, but %d were indexed",
                (int)x->ndim, used);
    THN_FAIL_IF(f, x->ndim - used + index->n > THN_MAXDIM, PyExc_ValueError, "the result of indexing would have more than %d dimensions",
                THN_MAXDIM);
    for (int i = 0; i < index->n; i++) {
        const ThnIndexEntry *e = &index->entries[i];
        if (e->kind == 2) {
            dims[nd] = 1;
            strides[nd++] = 0;
            continue;
        }
        npy_intp n = x->dims[axis], s = x->strides[axis];
        if (e->kind == 0) {
            int64_t k = term(f, ins, &e->start, 0);
            THN_FAIL_IF(f, k < -n || k >= n, PyExc_IndexError, "index %lld is out of bounds for axis %d with size %lld", (long long)k, axis,
                        (long long)n);
            p += (k < 0 ? k + n : k) * s;
        } else {
            int64_t step = term(f, ins, &e->step, 1);
            THN_FAIL_IF(f, step == 0, PyExc_ValueError, "slice step cannot be zero");
            Py_ssize_t start = (Py_ssize_t)term(f, ins, &e->start, step > 0 ? 0 : NPY_MAX_INTP);
            /* Below every index: AdjustIndices turns it into -1. */
            Py_ssize_t stop = (Py_ssize_t)term(f, ins, &e->stop, step > 0 ? NPY_MAX_INTP : -NPY_MAX_INTP);
            Py_ssize_t count = PySlice_AdjustIndices(n, &start, &stop, (Py_ssize_t)step);
            p += count > 0 ? start * s : 0;
            dims[nd] = count;
            strides[nd++] = s * (npy_intp)step;
        }
        axis++;
    }
    for (; axis < x->ndim; axis++) {
        dims[nd] = x->dims[axis];
        strides[nd++] = x->strides[axis];
    }
    *data = p;
    return nd;
}

static int subtensor_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *x = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    npy_intp dims[THN_MAXDIM], strides[THN_MAXDIM];
    char *data;
    int nd = thn_index_apply(f, ins, ((const thn_subtensor_params *)ins->data)->index, x, &data, dims, strides);
    THN_TRY(nd);
    THN_FAIL_IF(f, nd != out->ndim, PyExc_SystemError, "Subtensor: the result has %d dimensions, expected %d", nd, (int)out->ndim);
    return thn_out_view(f, out, x, data, dims, strides);
}

/* ---- reshape */

/* Strides that make the elements of `in`, in C order, an array of shape `dims`. 0: there are none. */
static int reshape_strides(const ThnCell *in, int nd, const npy_intp *dims, npy_intp *strides)
{
    npy_intp n[THN_MAXDIM + 1] = {1}, s[THN_MAXDIM + 1] = {in->itemsize}, have = 1;
    Dims g = {0, n, s, THN_MAXDIM};
    for (int i = 0; i < in->ndim; i++) {
        if (in->dims[i] != 1) {
            n[g.n] = in->dims[i];
            s[g.n++] = in->strides[i];
        }
    }
    thn_merge_dims(&g, 1);
    /* Each of the dims must lie within one of the runs that are left. */
    for (int i = nd - 1, run = g.n ? g.n - 1 : 0; i >= 0; i--) {
        strides[i] = s[run] * have;
        have *= dims[i];
        if (have > n[run]) {
            return 0;
        }
        if (have == n[run] && run > 0) {
            run--;
            have = 1;
        }
    }
    return 1;
}

/* Shape from the instruction's inputs 1...: one vector, or one 0-d integer for each dimension. */
static int read_shape(ThnFrame *f, const ThnInstr *ins, int nd, npy_intp *shape, const char *who)
{
    const ThnCell *c = ins->nin > 1 ? THN_IN(f, ins, 1) : NULL;
    const int is_vector = c && c->ndim == 1;
    const npy_intp n = is_vector ? c->dims[0] : ins->nin - 1;
    const ThnReadInt get = is_vector ? thn_int_reader(c->typenum) : NULL;
    THN_FAIL_IF(f, is_vector && !get, PyExc_TypeError, "%s: the shape must hold integers", who);
    THN_FAIL_IF(f, n != nd, PyExc_ValueError, "%s: the shape has length %lld, expected %d", who, (long long)n, nd);
    for (int i = 0; i < nd; i++) {
        shape[i] = (npy_intp)(is_vector ? get(c->data + i * c->strides[0]) : thn_scalar_int(THN_IN(f, ins, 1 + i)));
    }
    return 0;
}

static int reshape_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *in = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    int nd = out->ndim;
    npy_intp shape[THN_MAXDIM], asked[THN_MAXDIM], strides[THN_MAXDIM];
    int *copies = thn_scratch(f, ins, sizeof(int));
    THN_NEED(copies);
    THN_TRY(read_shape(f, ins, nd, shape, "Reshape"));
    memcpy(asked, shape, sizeof shape);
    npy_intp total = thn_size(in), known = 1;
    int hole = -1, bad = 0;
    for (int i = 0; i < nd; i++) {
        if (shape[i] == -1) {
            bad |= hole >= 0;
            hole = i;
        } else {
            bad |= shape[i] < 0 || __builtin_mul_overflow(known, shape[i], &known);
        }
    }
    if (!bad && hole >= 0) {
        bad = known == 0 || total % known != 0;
        shape[hole] = bad ? 0 : total / known;
        known *= shape[hole];
    }
    THN_FAIL_IF(f, bad || known != total, PyExc_ValueError, "Cannot reshape input of shape %s to shape %s", THN_SHAPE(in->ndim, in->dims),
                THN_SHAPE(nd, asked));
    *copies = total > 0 && !reshape_strides(in, nd, shape, strides);
    if (total == 0) {
        thn_dense_strides(nd, shape, in->itemsize, strides);
    }
    if (!*copies) {
        return thn_out_view(f, out, in, in->data, shape, strides);
    }
    f->work = (double)total * in->itemsize * 0.15;
    return thn_out_alloc(f, out, shape);
}

static int reshape_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *in = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    if (*(const int *)f->scratch[ins->index].ptr) {
        npy_intp strides[THN_MAXDIM];
        thn_dense_strides(in->ndim, in->dims, in->itemsize, strides);
        thn_copy_strided(in->ndim, in->dims, out->data, strides, in->data, in->strides, in->itemsize);
    }
    return 0;
}

/* ---- checks */

static int specify_shape_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *in = THN_IN(f, ins, 0);
    npy_intp shape[THN_MAXDIM];
    if (read_shape(f, ins, in->ndim, shape, "SpecifyShape") < 0) {
        f->err_type = PyExc_AssertionError;
        return -1;
    }
    for (int i = 0; i < in->ndim; i++) {
        THN_FAIL_IF(f, in->dims[i] != shape[i], PyExc_AssertionError, "Got shape %s, expected %s", THN_SHAPE(in->ndim, in->dims),
                    THN_SHAPE(in->ndim, shape));
    }
    return thn_out_alias(f, THN_OUT(f, ins, 0), in);
}

static int rebroadcast_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *in = THN_IN(f, ins, 0);
    const ThnInts *axes = &((const thn_rebroadcast_params *)ins->data)->axes;
    for (int i = 0; i < axes->n; i++) {
        const int axis = axes->at[i];
        THN_FAIL_IF(f, in->dims[axis] != 1, PyExc_ValueError, "Dimension %d in Rebroadcast's input was supposed to be 1 (got %lld instead)",
                    axis, (long long)in->dims[axis]);
    }
    return thn_out_alias(f, THN_OUT(f, ins, 0), in);
}

/* ---- diagonal; a second input is the offset */

static int diagonal_check(ThnProgram *Py_UNUSED(p), ThnInstr *ins)
{
    const ThnInts *axes = &((const thn_diagonal_params *)ins->data)->axes;
    return thn_fits(ins, axes->n == 2 && axes->at[0] != axes->at[1]);
}

static int diagonal_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const thn_diagonal_params *d = ins->data;
    ThnCell *in = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    const int first = (int)d->axes.at[0], second = (int)d->axes.at[1];
    const int64_t offset = ins->nin > 1 ? thn_scalar_int(THN_IN(f, ins, 1)) : d->offset;
    npy_intp dims[THN_MAXDIM], strides[THN_MAXDIM], before;
    int nd = 0;
    for (int i = 0; i < in->ndim; i++) {
        if (i != first && i != second) {
            dims[nd] = in->dims[i];
            strides[nd++] = in->strides[i];
        }
    }
    dims[nd] = thn_diagonal(in, first, second, offset, &before);
    strides[nd] = in->strides[first] + in->strides[second];
    return thn_out_view(f, out, in, in->data + before, dims, strides);
}

THN_INSTRUCTION(dimshuffle, dimshuffle_check, dimshuffle_prepare, NULL)
THN_INSTRUCTION(subtensor, NULL, subtensor_prepare, NULL)
THN_INSTRUCTION(reshape, NULL, reshape_prepare, reshape_execute)
THN_INSTRUCTION(specify_shape, NULL, specify_shape_prepare, NULL)
THN_INSTRUCTION(rebroadcast, NULL, rebroadcast_prepare, NULL)
THN_INSTRUCTION(diagonal, diagonal_check, diagonal_prepare, NULL)
