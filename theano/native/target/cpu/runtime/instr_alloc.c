/* Instructions that make arrays from shapes and scalars, and that read shapes. */
#include "vm.h"
#include "copy.h"
#include "pool.h"
#include "target.h"
#include "threads.h"

#include <math.h>

#define NS_PER_BYTE 0.1
#define TASK_BYTES (512 << 10) /* that a thread fills */

/* ---- shapes */

static int shape_i_execute(ThnFrame *f, const ThnInstr *ins)
{
    *(int64_t *)THN_OUT(f, ins, 0)->data = THN_IN(f, ins, 0)->dims[((const thn_shape_i_params *)ins->data)->axis];
    return 0;
}

static int shape_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *in = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    for (int i = 0; i < in->ndim; i++) {
        ((int64_t *)out->data)[i] = in->dims[i];
    }
    return 0;
}

static int shape_i_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *out = THN_OUT(f, ins, 0);
    THN_TRY(thn_out_alloc(f, out, out->dims));
    return shape_i_execute(f, ins);
}

static int shape_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *in = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    npy_intp n = in->ndim;
    THN_TRY(thn_out_alloc(f, out, &n));
    return shape_execute(f, ins);
}

/* ---- makevector */

static int makevector_prepare(ThnFrame *f, const ThnInstr *ins)
{
    npy_intp n = ins->nin;
    return thn_out_alloc(f, THN_OUT(f, ins, 0), &n);
}

static int makevector_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *out = THN_OUT(f, ins, 0);
    for (int k = 0; k < ins->nin; k++) {
        const ThnCell *in = THN_IN(f, ins, k);
        thn_cast_inner(out->typenum, in->typenum)(1, out->data + k * out->itemsize, 0, in->data, 0);
    }
    return 0;
}

/* ---- alloc */

static int dims_from_scalars(ThnFrame *f, const ThnInstr *ins, int first, npy_intp *dims)
{
    int nd = THN_OUT(f, ins, 0)->ndim;
    THN_FAIL_IF(f, ins->nin - first != nd, PyExc_SystemError, "expected %d dimensions, got %d", nd, ins->nin - first);
    for (int i = 0; i < nd; i++) {
        dims[i] = (npy_intp)thn_scalar_int(THN_IN(f, ins, first + i));
        THN_FAIL_IF(f, dims[i] < 0, PyExc_ValueError, "negative dimensions are not allowed");
    }
    return 0;
}

/* An output whose bytes are all written. */
static int alloc_filled(ThnFrame *f, ThnCell *out, const npy_intp *dims)
{
    f->work = (double)thn_product(out->ndim, dims) * out->itemsize * NS_PER_BYTE;
    return thn_out_alloc(f, out, dims);
}

static int alloc_empty_prepare(ThnFrame *f, const ThnInstr *ins)
{
    npy_intp dims[THN_MAXDIM];
    THN_TRY(dims_from_scalars(f, ins, 0, dims));
    return thn_out_alloc(f, THN_OUT(f, ins, 0), dims);
}

static int alloc_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *value = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    npy_intp dims[THN_MAXDIM];
    THN_TRY(dims_from_scalars(f, ins, 1, dims));
    THN_TRY(thn_broadcasts(f, value, out->ndim, dims));
    return alloc_filled(f, out, dims);
}

static int alloc_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *out = THN_OUT(f, ins, 0), *value = THN_IN(f, ins, 0);
    npy_intp strides[THN_MAXDIM];
    static const char zero[16];
    if (value->ndim == 0 && value->typenum == out->typenum && memcmp(value->data, zero, (size_t)out->itemsize) == 0) {
        memset(out->data, 0, (size_t)(thn_size(out) * out->itemsize));
        return 0;
    }
    thn_broadcast_strides(value, out->ndim, out->dims, strides);
    thn_loop2(out->ndim, out->dims, out->data, out->strides, value->data, strides, thn_cast_inner(out->typenum, value->typenum));
    return 0;
}

/* ---- matrices of zeros but for a diagonal */

static int diagonal_matrix_check(ThnProgram *p, ThnInstr *ins)
{
    const ThnCellSpec *in = &p->cells[ins->ins[0]], *out = &p->cells[ins->outs[0]];
    return thn_fits(ins, ins->nin == (in->ndim == 0 ? 4 : 1) && in->ndim <= 1 && out->ndim == 2
                             && PyArray_EquivTypenums(in->typenum, out->typenum));
}

static int diagonal_matrix_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *in = THN_IN(f, ins, 0);
    const npy_intp k = ((const thn_diagonal_matrix_params *)ins->data)->offset;
    npy_intp dims[2];
    if (in->ndim == 0) {
        dims[0] = (npy_intp)thn_scalar_int(THN_IN(f, ins, 1));
        dims[1] = (npy_intp)thn_scalar_int(THN_IN(f, ins, 2));
    } else {
        dims[0] = dims[1] = in->dims[0] + (k < 0 ? -k : k);
    }
    return alloc_filled(f, THN_OUT(f, ins, 0), dims);
}

/* Puts elements on diagonal k of the C contiguous array: where all indices are equal, but for k between the two of a matrix. */
static void write_diagonal(const ThnCell *out, int64_t k, const ThnCell *from)
{
    npy_intp before, step = 0;
    const npy_intp n = thn_diagonal(out, 0, 1, k, &before);
    for (int i = 0; i < out->ndim; i++) {
        step += out->strides[i];
    }
    if (n > 0) {
        thn_copy_inner(out->itemsize)(n, out->data + before, step, from->data, from->ndim ? from->strides[0] : 0);
    }
}

static int diagonal_matrix_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *in = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    const int64_t k = in->ndim ? ((const thn_diagonal_matrix_params *)ins->data)->offset : thn_scalar_int(THN_IN(f, ins, 3));
    memset(out->data, 0, (size_t)(thn_size(out) * out->itemsize));
    write_diagonal(out, k, in);
    return 0;
}

/* ---- a number at and below a diagonal */

static int triangle_prepare(ThnFrame *f, const ThnInstr *ins)
{
    npy_intp dims[2];
    for (int i = 0; i < 2; i++) {
        dims[i] = thn_most((npy_intp)thn_scalar_int(THN_IN(f, ins, 1 + i)), 0);
    }
    return alloc_filled(f, THN_OUT(f, ins, 0), dims);
}

typedef struct {
    const ThnCell *out;
    const char *line; /* as many numbers as there are columns, then zeros: each row is a part of it */
    int64_t k;
} Triangle;

static int fill_rows(void *ctx, npy_intp start, npy_intp stop)
{
    const Triangle *t = ctx;
    const npy_intp columns = t->out->dims[1], item = t->out->itemsize;
    for (npy_intp i = start; i < stop; i++) {
        const npy_intp zeros = t->k < -i ? columns : t->k >= columns - i ? 0 : columns - i - t->k - 1;
        memcpy(t->out->data + i * columns * item, t->line + zeros * item, (size_t)(columns * item));
    }
    return 0;
}

static int triangle_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *out = THN_OUT(f, ins, 0);
    const npy_intp bytes = out->dims[1] * out->itemsize;
    if (thn_size(out) == 0) {
        return 0;
    }
    THN_POOLED char *line = thn_pool_alloc((size_t)(2 * bytes));
    THN_FAIL_IF(f, !line, PyExc_MemoryError, "out of memory for a row of a triangle");
    thn_copy_inner(out->itemsize)(out->dims[1], line, out->itemsize, THN_IN(f, ins, 0)->data, 0);
    memset(line + bytes, 0, (size_t)bytes);
    Triangle t = {out, line, thn_scalar_int(THN_IN(f, ins, 3))};
    return thn_parallel_ranges(out->dims[0], TASK_BYTES / (bytes + 1) + 1, fill_rows, &t);
}

/* ---- copies with a number on one diagonal */

static int fill_diagonal_check(ThnProgram *p, ThnInstr *ins)
{
    const int ndim = p->cells[ins->ins[0]].ndim;
    return thn_fits(ins, ndim >= 2 && (ins->nin == 2 || ndim == 2));
}

static int fill_diagonal_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *in = THN_IN(f, ins, 0);
    for (int i = 1; i < in->ndim && in->ndim > 2; i++) {
        THN_FAIL_IF(f, in->dims[i] != in->dims[0], PyExc_ValueError,
                    "fill_diagonal: all dimensions of the input must be of equal length, got the shape %s", THN_SHAPE(in->ndim, in->dims));
    }
    return alloc_filled(f, THN_OUT(f, ins, 0), in->dims);
}

static int fill_diagonal_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *out = THN_OUT(f, ins, 0);
    thn_target_execute(out, THN_IN(f, ins, 0), 0);
    write_diagonal(out, ins->nin > 2 ? thn_scalar_int(THN_IN(f, ins, 2)) : 0, THN_IN(f, ins, 1));
    return 0;
}

/* ---- arange. The sequence starts with start and start + step; the others follow from their difference, as NumPy's. */

typedef struct {
    double start, delta;
    int64_t istart, istep;
} Range;

static double read_real(const ThnCell *c)
{
    double v;
    thn_cast_inner(NPY_DOUBLE, c->typenum)(1, (char *)&v, 0, c->data, 0);
    return v;
}

static int arange_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *out = THN_OUT(f, ins, 0);
    const ThnCell *start = THN_IN(f, ins, 0), *stop = THN_IN(f, ins, 1), *step = THN_IN(f, ins, 2);
    Range *r = thn_scratch(f, ins, sizeof *r);
    THN_NEED(r);
    npy_intp n;
    if (PyTypeNum_ISINTEGER(start->typenum) && PyTypeNum_ISINTEGER(stop->typenum)
        && PyTypeNum_ISINTEGER(step->typenum)) {
        r->istart = thn_scalar_int(start);
        r->istep = thn_scalar_int(step);
        r->start = (double)r->istart;
        r->delta = (double)r->istep;
        THN_FAIL_IF(f, r->istep == 0, PyExc_ZeroDivisionError, "arange: the step must not be zero");
        __int128 span = (__int128)thn_scalar_int(stop) - r->istart, s = r->istep;
        const __int128 count = (span + s - (s > 0 ? 1 : -1)) / s; /* away from 0 */
        n = count <= 0 ? 0 : count > NPY_MAX_INTP / 16 ? -1 : (npy_intp)count;
    } else {
        double a = read_real(start), b = read_real(stop), s = read_real(step);
        THN_FAIL_IF(f, s == 0, PyExc_ZeroDivisionError, "arange: the step must not be zero");
        double count = ceil((b - a) / s);
        THN_FAIL_IF(f, isnan(count), PyExc_ValueError, "arange: cannot compute length");
        n = count <= 0 ? 0 : count > (double)(NPY_MAX_INTP / 16) ? -1 : (npy_intp)count;
        r->start = a;
        r->delta = out->typenum == NPY_FLOAT ? (double)((float)(a + s) - (float)a) : (a + s) - a;
        r->istart = (int64_t)a;
        r->istep = (int64_t)(a + s) - r->istart;
    }
    THN_FAIL_IF(f, n < 0, PyExc_ValueError, "arange: maximum allowed size exceeded");
    f->work = (double)n;
    return thn_out_alloc(f, out, &n);
}

typedef struct {
    const Range *range;
    const ThnCell *out;
    ThnInner cast;
} Filling;

#define FILL(T, START, STEP)                                                \
    for (; i < end; i++) {                                                 \
        ((T *)out->data)[i] = (T)(START) + (T)i * (T)(STEP);               \
    }                                                                      \
    return 0;

static int fill_range(void *ctx, npy_intp i, npy_intp end)
{
    const Filling *l = ctx;
    const ThnCell *out = l->out;
    const Range *r = l->range;
    switch (out->typenum) {
    case NPY_DOUBLE: FILL(double, r->start, r->delta)
    case NPY_FLOAT: FILL(float, r->start, r->delta)
    case NPY_INT64: FILL(uint64_t, r->istart, r->istep)
    default: break;
    }
    const int integer = PyTypeNum_ISINTEGER(out->typenum);
    for (npy_intp m; i < end; i += m) {
        int64_t whole[256];
        double real[256];
        m = thn_least(end - i, 256);
        for (npy_intp k = 0; k < m; k++) {
            whole[k] = (int64_t)((uint64_t)r->istart + (uint64_t)(i + k) * (uint64_t)r->istep);
            real[k] = r->start + (double)(i + k) * r->delta;
        }
        const char *values = integer ? (const char *)whole : (const char *)real;
        l->cast(m, out->data + i * out->itemsize, out->itemsize, values, 8);
    }
    return 0;
}

static int arange_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *out = THN_OUT(f, ins, 0);
    Filling l = {.range = f->scratch[ins->index].ptr, .out = out};
    l.cast = thn_cast_inner(out->typenum, PyTypeNum_ISINTEGER(out->typenum) ? NPY_INT64 : NPY_DOUBLE);
    return thn_parallel_ranges(out->dims[0], 32768, fill_range, &l);
}

/* ---- conversion */

static int cast_prepare(ThnFrame *f, const ThnInstr *ins)
{
    return thn_outs_like(f, ins, 0, 1);
}

static int cast_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *in = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    thn_loop2(out->ndim, out->dims, out->data, out->strides, in->data, in->strides,
              thn_cast_inner(out->typenum, in->typenum));
    return 0;
}

THN_INSTRUCTION(shape_i, NULL, shape_i_prepare, shape_i_execute)
THN_INSTRUCTION(shape, NULL, shape_prepare, shape_execute)
THN_INSTRUCTION(makevector, NULL, makevector_prepare, makevector_execute)
THN_INSTRUCTION(alloc, NULL, alloc_prepare, alloc_execute)
THN_INSTRUCTION(alloc_empty, NULL, alloc_empty_prepare, NULL)
THN_INSTRUCTION(triangle, NULL, triangle_prepare, triangle_execute)
THN_INSTRUCTION(diagonal_matrix, diagonal_matrix_check, diagonal_matrix_prepare, diagonal_matrix_execute)
THN_INSTRUCTION(fill_diagonal, fill_diagonal_check, fill_diagonal_prepare, fill_diagonal_execute)
THN_INSTRUCTION(arange, NULL, arange_prepare, arange_execute)
THN_INSTRUCTION(cast_copy, NULL, cast_prepare, cast_execute)
