/* Instructions: arithmetic of positions in arrays: flat indices and coordinates, permutations of rows, repetitions. */
#include "vm.h"
#include "tables.h"

/* Reads the lengths of an array; returns how many elements it has. -1: a length is negative, or they are too many. */
static int64_t read_dims(ThnFrame *f, const ThnCell *c, int64_t *dims)
{
    int64_t size = 1;
    int bad = c->dims[0] > THN_MAXDIM;
    for (npy_intp i = 0; i < c->dims[0] && !bad; i++) {
        dims[i] = *(const int64_t *)(c->data + i * c->strides[0]);
        bad = dims[i] < 0 || __builtin_mul_overflow(size, dims[i], &size);
    }
    THN_FAIL_IF(f, bad, PyExc_ValueError, "invalid dims: array size defined by dims is larger than the maximum possible size.");
    return size;
}

/* ---- unravel_index */

static int unravel_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *lengths = THN_IN(f, ins, 1);
    THN_FAIL_IF(f, lengths->dims[0] != ins->nout, PyExc_ValueError, "unravel_index: a shape of %lld entries, %d expected",
                (long long)lengths->dims[0], ins->nout);
    return thn_outs_like(f, ins, 0, 5.0 * ins->nout);
}

static int unravel_execute(ThnFrame *f, const ThnInstr *ins)
{
    const int columns = ((const thn_unravel_index_params *)ins->data)->first_fastest;
    const ThnCell *index = THN_IN(f, ins, 0), *first = THN_OUT(f, ins, 0);
    int64_t dims[THN_MAXDIM], *outs[THN_MAXDIM];
    const int n = ins->nout;
    const int64_t size = read_dims(f, THN_IN(f, ins, 1), dims);
    const npy_intp count = thn_size(index);
    THN_TRY(size);
    for (int k = 0; k < n; k++) {
        outs[k] = (int64_t *)THN_OUT(f, ins, k)->data;
    }
    thn_copy_strided(index->ndim, index->dims, first->data, first->strides, index->data, index->strides, 8);
    for (npy_intp i = 0; i < count; i++) {
        int64_t left = outs[0][i];
        THN_FAIL_IF(f, left < 0 || left >= size, PyExc_ValueError, "index %lld is out of bounds for array with size %lld", (long long)left,
                    (long long)size);
        for (int k = 0; k < n; k++) {
            const int axis = columns ? k : n - 1 - k;
            outs[axis][i] = k < n - 1 ? left % dims[axis] : left;
            left /= dims[axis];
        }
    }
    return 0;
}

/* ---- ravel_index */

static int ravel_check(ThnProgram *Py_UNUSED(p), ThnInstr *ins)
{
    return thn_fits(ins, ins->nin >= 2 && ((const thn_ravel_index_params *)ins->data)->modes.n == ins->nin - 1);
}

static int ravel_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const int n = ins->nin - 1;
    const ThnCell *lengths = THN_IN(f, ins, n);
    ThnCell *out = THN_OUT(f, ins, 0);
    const int nd = out->ndim;
    npy_intp dims[THN_MAXDIM];
    THN_FAIL_IF(f, lengths->dims[0] != n, PyExc_ValueError, "parameter multi_index must be a sequence of length %lld",
                (long long)lengths->dims[0]);
    for (int i = 0; i < nd; i++) {
        dims[i] = 1;
    }
    for (int k = 0; k < n; k++) {
        const ThnCell *x = THN_IN(f, ins, k);
        THN_FAIL_IF(f, thn_widen(x, nd, dims) >= 0, PyExc_ValueError,
                    "shape mismatch: coordinates of shape %s and others of shape %s cannot be broadcast", THN_SHAPE(x->ndim, x->dims),
                    THN_SHAPE(nd, dims));
    }
    f->work = 3.0 * (double)thn_product(nd, dims) * n;
    return thn_out_alloc(f, out, dims);
}

static int ravel_execute(ThnFrame *f, const ThnInstr *ins)
{
    const thn_ravel_index_params *r = ins->data;
    const int n = ins->nin - 1;
    const ThnCell *out = THN_OUT(f, ins, 0);
    const npy_intp total = thn_size(out);
    int64_t dims[THN_MAXDIM], step = 1;
    THN_TRY(read_dims(f, THN_IN(f, ins, n), dims));
    memset(out->data, 0, (size_t)total * 8);
    for (int k = 0; k < n && total; k++) {
        const int axis = r->first_fastest ? k : n - 1 - k, mode = r->modes.at[axis];
        const ThnCell *x = THN_IN(f, ins, axis);
        const int64_t length = dims[axis];
        npy_intp strides[THN_MAXDIM], at[THN_MAXDIM] = {0};
        const Dims g = {out->ndim, out->dims, strides, 0};
        char *from = x->data;
        thn_broadcast_strides(x, out->ndim, out->dims, strides);
        for (npy_intp i = 0; i < total; i++) {
            int64_t v = *(const int64_t *)from;
            if (v < 0 || v >= length) {
                THN_FAIL_IF(f, mode == THN_OutOfBounds_RAISE || length == 0, PyExc_ValueError,
                            "invalid entry in coordinates array: %lld along dimension %d of length %lld", (long long)v, axis,
                            (long long)length);
                v = mode == THN_OutOfBounds_WRAP ? (v % length + length) % length : v < 0 ? 0 : length - 1;
            }
            ((int64_t *)out->data)[i] += v * step;
            thn_step(&g, g.n, 1, &from, at);
        }
        step *= length;
    }
    return 0;
}

/* ---- permute_rows */

static int permute_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *x = THN_IN(f, ins, 0), *y = THN_IN(f, ins, 1);
    const int last = x->ndim - 1;
    npy_intp dims[THN_MAXDIM];
    THN_FAIL_IF(f, x->dims[last] != y->dims[last], PyExc_ValueError, "rows of %lld elements and a permutation of %lld",
                (long long)x->dims[last], (long long)y->dims[last]);
    memcpy(dims, x->dims, sizeof(npy_intp) * (size_t)x->ndim);
    THN_FAIL_IF(f, thn_widen(y, x->ndim, dims) >= 0, PyExc_ValueError, "shape mismatch: rows of shape %s and permutations of shape %s",
                THN_SHAPE(x->ndim, x->dims), THN_SHAPE(y->ndim, y->dims));
    f->work = 3.0 * (double)thn_product(x->ndim, dims);
    return thn_out_alloc(f, THN_OUT(f, ins, 0), dims);
}

/* Each row of x is a table, and y its index; the rows lie side by side in what is walked. */
static int permute_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *x = THN_IN(f, ins, 0), *y = THN_IN(f, ins, 1), *out = THN_OUT(f, ins, 0);
    const int inverse = thn_truth(THN_IN(f, ins, 2)), last = out->ndim - 1;
    const ThnCell *table = inverse ? out : x;
    npy_intp strides[THN_MAXDIM];
    ThnTable t = {.array = table, .data = table->data, .n = 1, .nd = out->ndim, .axes = {last}, .index = {y}};
    t.size[0] = out->dims[last];
    t.stride[0] = table->strides[last];
    memcpy(t.dims, out->dims, sizeof(npy_intp) * (size_t)out->ndim);
    thn_broadcast_strides(y, t.nd, t.dims, t.strides[0]);
    thn_broadcast_strides(table, t.nd, t.dims, t.along);
    t.along[last] = 0;
    thn_broadcast_strides(inverse ? x : out, t.nd, t.dims, strides);
    if (inverse) {
        memset(out->data, 0, (size_t)(thn_size(out) * out->itemsize)); /* what names a place twice leaves another one out */
    }
    return thn_table_move(&t, inverse ? THN_WRITE : THN_READ, inverse ? x->data : out->data, strides)
               ? 0 : thn_table_check(f, &t);
}

/* ---- repeat_positions */

static int repeat_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const thn_repeat_positions_params *r = ins->data;
    const ThnCell *repeats = THN_IN(f, ins, 0), *x = THN_IN(f, ins, 1);
    const npy_intp n = x->dims[r->axis], given = repeats->dims[0];
    npy_intp total = 0;
    THN_FAIL_IF(f, given != n && given != 1, PyExc_ValueError, "operands could not be broadcast together with shape (%lld,) (%lld,)",
                (long long)n, (long long)given);
    for (npy_intp i = 0; i < given; i++) {
        int64_t count = *(const int64_t *)(repeats->data + i * repeats->strides[0]);
        THN_FAIL_IF(f, count < 0, PyExc_ValueError, "repeats may not contain negative values.");
        THN_FAIL_IF(f,
                    (given != n && __builtin_mul_overflow(count, (int64_t)n, &count)) || __builtin_add_overflow((int64_t)total, count, &total),
                    PyExc_MemoryError, "repeat: the result is too large");
    }
    f->work = (double)(total + n);
    return thn_out_alloc(f, THN_OUT(f, ins, 0), &total);
}

static int repeat_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *repeats = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    int64_t *to = (int64_t *)out->data, *end = to + out->dims[0];
    const npy_intp step = repeats->dims[0] == 1 ? 0 : repeats->strides[0];
    for (npy_intp i = 0; to < end; i++) {
        for (int64_t count = *(const int64_t *)(repeats->data + i * step); count > 0; count--) {
            *to++ = i;
        }
    }
    return 0;
}

/* ---- count_length */

static int count_length_prepare(ThnFrame *f, const ThnInstr *ins)
{
    f->work = 0.5 * (double)THN_IN(f, ins, 0)->dims[0];
    ThnCell *out = THN_OUT(f, ins, 0);
    return thn_out_alloc(f, out, out->dims);
}

static int count_length_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *x = THN_IN(f, ins, 0);
    const npy_intp n = x->dims[0], stride = x->strides[0];
    int64_t largest = n ? INT64_MIN : -1;
    if (x->itemsize == 8 && stride == 8) {
        for (npy_intp i = 0; i < n; i++) {
            const int64_t v = ((const int64_t *)x->data)[i];
            largest = v > largest ? v : largest;
        }
    } else {
        const ThnReadInt get = thn_int_reader(x->typenum);
        for (npy_intp i = 0; i < n; i++) {
            const int64_t v = get(x->data + i * stride);
            largest = v > largest ? v : largest;
        }
    }
    *(int64_t *)THN_OUT(f, ins, 0)->data = (int64_t)((uint64_t)largest + 1);
    return 0;
}

THN_INSTRUCTION(unravel_index, NULL, unravel_prepare, unravel_execute)
THN_INSTRUCTION(ravel_index, ravel_check, ravel_prepare, ravel_execute)
THN_INSTRUCTION(permute_rows, NULL, permute_prepare, permute_execute)
THN_INSTRUCTION(repeat_positions, NULL, repeat_prepare, repeat_execute)
THN_INSTRUCTION(count_length, NULL, count_length_prepare, count_length_execute)
