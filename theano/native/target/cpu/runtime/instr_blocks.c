/* Instructions: products of chosen blocks of vectors and matrices. */
#include "vm.h"
#include "blas.h"
#include "copy.h"
#include "lapack.h"
#include "processor.h"
#include "row_product.h"
#include "target.h"
#include "threads.h"

#define PART 32768 /* multiplications from which on another thread may take a share */
#define SHARES 16  /* of the work on blocks that are written to */

typedef struct {
    const ThnCell *x, *y, *w, *out, *alpha;
    npy_intp batch, nx, ny, per_task;
    ThnRowProduct small; /* what a dot product of a small block is done by */
    const int64_t *ix, *iy; /* which blocks, (batch, nx) and (batch, ny) */
} Job;

/* The block of the i-th vector of x and the k-th of y in the n-th of the batch. */
static ThnMatrix block_of(const Job *j, npy_intp n, npy_intp i, npy_intp k)
{
    const ThnCell *w = j->w;
    char *data = w->data + j->ix[n * j->nx + i] * w->strides[0] + j->iy[n * j->ny + k] * w->strides[1];
    return (ThnMatrix){data, w->dims[2], w->dims[3], w->strides[2], w->strides[3]};
}

/* A vector as a column. */
static ThnMatrix vector_of(const ThnCell *x, npy_intp n, npy_intp i)
{
    return (ThnMatrix){x->data + n * x->strides[0] + i * x->strides[1], x->dims[2], 1, x->strides[2], 0};
}

/* out[n, b] += sum over a of dot(x[n, a], w[ix, iy]) */
static int dot_some(void *ctx, npy_intp begin, npy_intp end)
{
    const Job *j = ctx;
    const int typenum = j->out->typenum;
    const void *const one = thn_unit(thn_lapack_letter(typenum), 1);
    ThnRowProduct product = j->small;
    int failed = 0;
    for (npy_intp i = begin; i < end; i++) {
        const npy_intp n = i / j->ny, b = i % j->ny;
        const ThnMatrix out = vector_of(j->out, n, b);
        for (npy_intp a = 0; a < j->nx; a++) {
            const ThnMatrix block = block_of(j, n, a, b), x = vector_of(j->x, n, a), turned = thn_transposed(&block);
            if (product.run) {
                product.x = x.data;
                product.z = product.y = out.data;
                product.b.data = block.data;
                product.run(&product);
            } else {
                failed |= thn_matmul(typenum, &turned, &x, &out, NULL, one);
            }
        }
    }
    return failed;
}

/* w += alpha * x y^T */
#define DEFINE_OUTER(NAME, T, TARGET)                                                                              \
    TARGET static void NAME(const ThnMatrix *w, const ThnMatrix *x, const ThnMatrix *y, const void *alpha)         \
    {                                                                                                              \
        const int dense = w->col_stride == (npy_intp)sizeof(T) && y->row_stride == (npy_intp)sizeof(T);            \
        const npy_intp n = w->cols;                                                                                \
        for (npy_intp k = 0; k < w->rows; k++) {                                                                   \
            const T by = *(const T *)alpha * *(const T *)(x->data + k * x->row_stride), *from = (const T *)y->data;\
            char *row = w->data + k * w->row_stride;                                                               \
            T *restrict to = (T *)row;                                                                             \
            for (npy_intp l = 0; dense && l < n; l++) {                                                            \
                to[l] += by * from[l];                                                                             \
            }                                                                                                      \
            for (npy_intp l = 0; !dense && l < n; l++) {                                                           \
                *(T *)(row + l * w->col_stride) += by * *(const T *)(y->data + l * y->row_stride);                 \
            }                                                                                                      \
        }                                                                                                          \
    }

DEFINE_OUTER(outer_f4, float, )
DEFINE_OUTER(outer_f8, double, )
DEFINE_OUTER(wide_f4, float, THN_WIDE)
DEFINE_OUTER(wide_f8, double, THN_WIDE)

typedef void Outer(const ThnMatrix *w, const ThnMatrix *x, const ThnMatrix *y, const void *alpha);
static Outer *const outers[2][2] = {{outer_f8, wide_f8}, {outer_f4, wide_f4}};

/* w[ix, iy] += alpha * outer(x[n, a], y[n, b]) for some shares of the first axis' blocks: all that is added to a block comes in one
 * order. */
static int outer_some(void *ctx, npy_intp share, npy_intp end)
{
    const Job *j = ctx;
    Outer *const outer = outers[j->out->typenum == NPY_FLOAT][thn_has_avx2()];
    for (npy_intp i = 0; i < j->batch * j->nx; i++) {
        const int own = j->ix[i] % SHARES >= share && j->ix[i] % SHARES < end;
        for (npy_intp b = 0; b < j->ny && own; b++) {
            const ThnMatrix block = block_of(j, i / j->nx, i % j->nx, b), x = vector_of(j->x, i / j->nx, i % j->nx);
            const ThnMatrix y = vector_of(j->y, i / j->nx, b);
            outer(&block, &x, &y, j->alpha->data);
        }
    }
    return 0;
}

/* ---- operands: o, W, h, indices of h, indices of o; or o, x, y, indices of x, indices of y, alpha */

/* Reads indices of blocks, which count from the end where they are negative; each once, as another thread may write to them. */
static int read_indices(ThnFrame *f, const ThnCell *c, npy_intp blocks, int64_t *out)
{
    const ThnReadInt get = thn_int_reader(c->typenum);
    for (npy_intp n = 0; n < c->dims[0]; n++) {
        for (npy_intp i = 0; i < c->dims[1]; i++) {
            const int64_t v = get(c->data + n * c->strides[0] + i * c->strides[1]);
            THN_FAIL_IF(f, v >= blocks || v < -blocks, PyExc_IndexError, "index %lld is out of bounds for %ld blocks", (long long)v,
                        (long)blocks);
            *out++ = v < 0 ? v + blocks : v;
        }
    }
    return 0;
}

/* What both instructions check, prepare and keep: `w` are blocks that vectors of `x` and `y` fit. One of these is the output. */
static int prepare(ThnFrame *f, const ThnInstr *ins, const ThnCell *w, const ThnCell *x, const ThnCell *y)
{
    const ThnCell *ix = THN_IN(f, ins, 3), *iy = THN_IN(f, ins, 4);
    ThnCell *o = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    THN_TRY(thn_target_prepare(f, out, o, thn_in_place(ins)));
    const struct { const char *what; npy_intp a, b; } equal[] = {
        {"the batches of the operands", x->dims[0], y->dims[0]},
        {"the batches of vectors and indices", x->dims[0], ix->dims[0]},
        {"the batches of vectors and indices", y->dims[0], iy->dims[0]},
        {"the numbers of vectors and indices", x->dims[1], ix->dims[1]},
        {"the numbers of vectors and indices", y->dims[1], iy->dims[1]},
        {"the sizes of vectors and blocks", x->dims[2], w->dims[2]},
        {"the sizes of vectors and blocks", y->dims[2], w->dims[3]},
    };
    for (size_t i = 0; i < sizeof equal / sizeof *equal; i++) {
        THN_FAIL_IF(f, equal[i].a != equal[i].b, PyExc_ValueError, "%s differ: %ld and %ld", equal[i].what, (long)equal[i].a,
                    (long)equal[i].b);
    }
    const npy_intp nx = x->dims[0] * x->dims[1], ny = y->dims[0] * y->dims[1];
    Job *j = thn_scratch(f, ins, sizeof *j + sizeof(int64_t) * (size_t)(nx + ny));
    THN_NEED(j);
    int64_t *indices = (int64_t *)(j + 1);
    *j = (Job){.x = x, .y = y, .w = w, .out = out, .batch = x->dims[0], .nx = x->dims[1], .ny = y->dims[1], .ix = indices,
               .iy = indices + nx};
    const double each = (double)(w->dims[2] * w->dims[3]) * (double)j->nx;
    j->per_task = each > 0 && each < PART ? (npy_intp)(PART / each) : 1;
    THN_TRY(read_indices(f, ix, w->dims[0], indices));
    THN_TRY(read_indices(f, iy, w->dims[1], indices + nx));
    f->work = each * (double)ny * 0.3 + (thn_in_place(ins) ? 0 : thn_bytes_work(o));
    return 0;
}

static int block_dot_prepare(ThnFrame *f, const ThnInstr *ins)
{
    return prepare(f, ins, THN_IN(f, ins, 1), THN_IN(f, ins, 2), THN_OUT(f, ins, 0));
}

static int block_dot_execute(ThnFrame *f, const ThnInstr *ins)
{
    Job *j = f->scratch[ins->index].ptr;
    thn_target_execute(j->out, THN_IN(f, ins, 0), thn_in_place(ins));
    const ThnMatrix w = {NULL, j->w->dims[2], j->w->dims[3], j->w->strides[2], j->w->strides[3]};
    const npy_intp step = j->out->strides[2];
    thn_row_product_call(&j->small, j->out->typenum, j->x->strides[2], &w, step, step, NULL, thn_unit(thn_lapack_letter(j->out->typenum), 1));
    THN_HELD held = thn_blas_hold();
    const int r = thn_parallel_ranges(j->batch * j->ny, j->per_task, dot_some, j);
    return r < 0 ? thn_error(f, PyExc_MemoryError, "out of memory for copies of blocks") : 0;
}

static int block_outer_prepare(ThnFrame *f, const ThnInstr *ins)
{
    return prepare(f, ins, THN_OUT(f, ins, 0), THN_IN(f, ins, 1), THN_IN(f, ins, 2));
}

static int block_outer_execute(ThnFrame *f, const ThnInstr *ins)
{
    Job *j = f->scratch[ins->index].ptr;
    thn_target_execute(j->out, THN_IN(f, ins, 0), thn_in_place(ins));
    j->alpha = THN_IN(f, ins, 5);
    return thn_parallel_ranges(SHARES, 1, outer_some, j);
}

THN_INSTRUCTION(block_dot, thn_blas_check, block_dot_prepare, block_dot_execute)
THN_INSTRUCTION(block_outer, NULL, block_outer_prepare, block_outer_execute)
