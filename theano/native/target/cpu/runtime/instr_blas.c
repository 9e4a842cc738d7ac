/* Instructions: matrix products. */
#include "vm.h"
#include "blas.h"
#include "copy.h"
#include "row_product.h"
#include "target.h"
#include "threads.h"

#define NS_PER_FLOP 0.1

/* The same for products of vectors and matrices. */
static int dot_check(ThnProgram *p, ThnInstr *ins)
{
    const int first = ins->def == &thn_op_batched_dot;
    return thn_fits(ins, p->cells[ins->outs[0]].ndim == p->cells[ins->ins[0]].ndim + p->cells[ins->ins[1]].ndim - 2 - first) < 0
               ? -1 : thn_blas_check(p, ins);
}

/* The left or the right operand of a product, behind so many dims: a matrix, or the row or column that a vector is there. */
static ThnMatrix left(const ThnCell *c, int first)
{
    const int last = c->ndim - 1;
    return last == first ? (ThnMatrix){c->data, 1, c->dims[last], c->itemsize, c->strides[last]}
                         : (ThnMatrix){c->data, c->dims[first], c->dims[last], c->strides[first], c->strides[last]};
}

static ThnMatrix right(const ThnCell *c, int first)
{
    const int last = c->ndim - 1;
    return last == first ? (ThnMatrix){c->data, c->dims[first], 1, c->strides[first], c->itemsize} : left(c, first);
}

/* Memory for products, over `first` leading dims, of vectors or matrices that fit. */
static int new_product(ThnFrame *f, const ThnCell *x, const ThnCell *y, ThnCell *out, int first)
{
    npy_intp dims[3] = {x->dims[0]};
    const int wide = y->ndim == 2 + first;
    int nd = first;
    if (x->ndim == 2 + first) {
        dims[nd++] = x->dims[first];
    }
    if (wide) {
        dims[nd++] = y->dims[first + 1];
    }
    f->work = (double)thn_size(x) * (wide ? (double)y->dims[first + 1] : 1) * NS_PER_FLOP;
    return thn_out_alloc(f, out, dims);
}

static int no_memory(ThnFrame *f, int r)
{
    return r < 0 ? thn_error(f, PyExc_MemoryError, "out of memory for a copy of a matrix") : 0;
}

static int mismatch(ThnFrame *f, const ThnCell *x, const ThnCell *y)
{
    THN_FAIL_IF(f, x->ndim == 2 && y->ndim == 2, PyExc_ValueError,
                "Shape mismatch: x has %lld cols (and %lld rows) but y has %lld rows (and %lld cols)", (long long)x->dims[1],
                (long long)x->dims[0], (long long)y->dims[0], (long long)y->dims[1]);
    return thn_error(f, PyExc_ValueError, "shapes %s and %s not aligned: %lld (dim %d) != %lld (dim 0)",
                     THN_SHAPE(x->ndim, x->dims), THN_SHAPE(y->ndim, y->dims),
                     (long long)x->dims[x->ndim - 1], x->ndim - 1, (long long)y->dims[0]);
}

/* ---- dot: vectors and matrices */

static int dot_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *x = THN_IN(f, ins, 0), *y = THN_IN(f, ins, 1), *out = THN_OUT(f, ins, 0);
    if (x->dims[x->ndim - 1] != y->dims[0]) {
        return mismatch(f, x, y);
    }
    return new_product(f, x, y, out, 0);
}

/* The third operand of dot22scalar is a factor. */
static int dot_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *out = THN_OUT(f, ins, 0);
    const ThnMatrix a = left(THN_IN(f, ins, 0), 0), b = right(THN_IN(f, ins, 1), 0);
    const ThnMatrix c = {out->data, a.rows, b.cols, b.cols * out->itemsize, out->itemsize};
    return no_memory(f, thn_matmul(out->typenum, &a, &b, &c, ins->nin > 2 ? THN_IN(f, ins, 2)->data : NULL, NULL));
}

/* ---- gemm, gemv, ger */

/* The accumulator: the input itself, or a copy of it. `dims` are what the product needs. */
static int accumulator(ThnFrame *f, const ThnInstr *ins, const npy_intp *dims, const char *who)
{
    ThnCell *z = THN_IN(f, ins, 0);
    for (int i = 0; i < z->ndim; i++) {
        THN_FAIL_IF(f, z->dims[i] != dims[i], PyExc_ValueError, "%s: Shape mismatch: the accumulator has shape %s, the product %s", who,
                    THN_SHAPE(z->ndim, z->dims), THN_SHAPE(z->ndim, dims));
    }
    return thn_target_prepare(f, THN_OUT(f, ins, 0), z, thn_in_place(ins));
}

/* The right operand and the accumulator of gemv are columns. */
static int gemm_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *x = THN_IN(f, ins, 2), *y = THN_IN(f, ins, 3);
    if (x->dims[1] != y->dims[0]) {
        return mismatch(f, x, y);
    }
    npy_intp dims[2] = {x->dims[0], y->ndim > 1 ? y->dims[1] : 2}; /* a column alone takes twice as long as one of many */
    f->work = (double)thn_size(x) * (double)dims[1] * NS_PER_FLOP;
    return accumulator(f, ins, dims, y->ndim > 1 ? "Gemm" : "Gemv");
}

static int gemm_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *out = THN_OUT(f, ins, 0), *z = THN_IN(f, ins, 0), *x = THN_IN(f, ins, 2);
    const void *alpha = THN_IN(f, ins, 1)->data, *beta = THN_IN(f, ins, 4)->data;
    ThnMatrix a = left(x, 0), b = right(THN_IN(f, ins, 3), 0), c = right(out, 0), from = right(z, 0);
    /* Here the accumulator need not be copied first. */
    if (c.rows == 1 && out->ndim > 1 && a.cols > 0
        && thn_row_product(out->typenum, x->data, a.col_stride, &b, from.data, from.col_stride, c.data, c.col_stride, alpha, beta)) {
        return 0;
    }
    thn_target_execute(out, z, thn_in_place(ins));
    return no_memory(f, thn_matmul(out->typenum, &a, &b, &c, alpha, beta));
}

static int ger_prepare(ThnFrame *f, const ThnInstr *ins)
{
    npy_intp dims[2] = {THN_IN(f, ins, 2)->dims[0], THN_IN(f, ins, 3)->dims[0]};
    f->work = (double)dims[0] * (double)dims[1] * NS_PER_FLOP * 2;
    return accumulator(f, ins, dims, "Ger");
}

static int ger_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *out = THN_OUT(f, ins, 0);
    thn_target_execute(out, THN_IN(f, ins, 0), thn_in_place(ins));
    ThnMatrix a = thn_matrix(out, 0), x = right(THN_IN(f, ins, 2), 0), y = right(THN_IN(f, ins, 3), 0);
    return no_memory(f, thn_ger(out->typenum, &a, &x, &y, THN_IN(f, ins, 1)->data));
}

/* ---- batched_dot: the first dimension counts the products */

#define LARGE_PRODUCT 16e6 /* multiply-adds */

static int batched_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *x = THN_IN(f, ins, 0), *y = THN_IN(f, ins, 1), *out = THN_OUT(f, ins, 0);
    THN_FAIL_IF(f, x->dims[0] != y->dims[0], PyExc_TypeError, "batched_dot: shape[0] of the operands must match, got shapes %s and %s",
                THN_SHAPE(x->ndim, x->dims), THN_SHAPE(y->ndim, y->dims));
    THN_FAIL_IF(f, x->dims[x->ndim - 1] != y->dims[1], PyExc_ValueError, "batched_dot: shapes %s and %s not aligned",
                THN_SHAPE(x->ndim, x->dims), THN_SHAPE(y->ndim, y->dims));
    return new_product(f, x, y, out, 1);
}

typedef struct {
    int typenum;
    ThnMatrix a, b, c;
    npy_intp a_step, b_step, c_step;
} Batch;

static int multiply_some(void *ctx, npy_intp start, npy_intp stop)
{
    const Batch *t = ctx;
    for (npy_intp i = start; i < stop; i++) {
        ThnMatrix a = t->a, b = t->b, c = t->c;
        a.data += i * t->a_step;
        b.data += i * t->b_step;
        c.data += i * t->c_step;
        THN_TRY(thn_matmul(t->typenum, &a, &b, &c, NULL, NULL));
    }
    return 0;
}

static int batched_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *x = THN_IN(f, ins, 0), *y = THN_IN(f, ins, 1), *out = THN_OUT(f, ins, 0);
    const npy_intp item = out->itemsize;
    const ThnMatrix a = left(x, 1), b = right(y, 1);
    ThnMatrix c = {out->data, a.rows, b.cols, b.cols * item, item};
    Batch t = {.typenum = out->typenum, .a = a, .b = b, .c = c, .a_step = x->strides[0], .b_step = y->strides[0],
               .c_step = out->strides[0]};
    const npy_intp n = x->dims[0];
    const double each = (double)a.rows * (double)a.cols * (double)b.cols;
    /* Large products are split inside; of small ones several make a task. */
    const npy_intp some = each > LARGE_PRODUCT ? n : (npy_intp)(LARGE_PRODUCT / 4 / (each + 1)) + 1;
    THN_HELD held = some < n ? thn_blas_hold() : 0;
    return no_memory(f, thn_parallel_ranges(n, some, multiply_some, &t));
}

THN_INSTRUCTION(dot, dot_check, dot_prepare, dot_execute)
THN_INSTRUCTION(dot22scalar, thn_blas_check, dot_prepare, dot_execute)
THN_INSTRUCTION(gemm, thn_blas_check, gemm_prepare, gemm_execute)
THN_INSTRUCTION(gemv, thn_blas_check, gemm_prepare, gemm_execute)
THN_INSTRUCTION(ger, thn_blas_check, ger_prepare, ger_execute)
THN_INSTRUCTION(batched_dot, dot_check, batched_prepare, batched_execute)
