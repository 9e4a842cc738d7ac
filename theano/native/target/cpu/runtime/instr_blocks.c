/* Instructions: products of chosen blocks of vectors and matrices. */
#include "vm.h"
#include "copy.h"
#include "target.h"
#include "threads.h"
#include "processor.h"

#define PART 32768 /* multiplications from which on another thread may take a share */
#define SHARES 16  /* of the work on blocks that are written to */

#define LOOPS "block_kernels.h"
#define ISA any
#define TARGET
#include "for_floats.h"
#if defined(__x86_64__) && defined(__GNUC__)
#define WIDE 1
#define ISA avx2
#define TARGET THN_AVX2
#include "for_floats.h"
#endif

static int is_wide(void)
{
#if WIDE
    return thn_has_avx2();
#else
    return 0;
#endif
}

typedef struct {
    int wide;
    const ThnCell *x, *y, *w, *out, *alpha;
    npy_intp batch, nx, ny, per_task;
    const int64_t *ix, *iy; /* which blocks, (batch, nx) and (batch, ny) */
} Job;

static inline char *block_of(const ThnCell *w, int64_t a, int64_t b)
{
    return w->data + a * w->strides[0] + b * w->strides[1];
}

static inline char *vector_of(const ThnCell *x, npy_intp n, npy_intp i)
{
    return x->data + n * x->strides[0] + i * x->strides[1];
}

/* Whether the elements along an axis are next to one another. */
static inline int is_dense(const ThnCell *c, int axis)
{
    return c->strides[axis] == c->itemsize || c->dims[axis] < 2;
}

#if WIDE
#define CALL(j, name, T, ...) ((j)->wide ? name##_avx2_##T(__VA_ARGS__) : name##_any_##T(__VA_ARGS__))
#else
#define CALL(j, name, T, ...) name##_any_##T(__VA_ARGS__)
#endif

/* out[n, b] += sum over a of dot(x[n, a], w[ix, iy]), and w[ix, iy] += alpha * outer(x[n, a], y[n, b]); strides in bytes. */
#define DEFINE_PRODUCTS(T, S)                                                                                              \
    static void dot_##S(const Job *j, npy_intp n, npy_intp b)                                                              \
    {                                                                                                                      \
        const ThnCell *w = j->w;                                                                                           \
        const npy_intp nk = w->dims[2], nl = w->dims[3], sk = w->strides[2], sl = w->strides[3], sx = j->x->strides[2];    \
        const npy_intp so = j->out->strides[2], item = (npy_intp)sizeof(T);                                                \
        const int simple = is_dense(j->x, 2) && is_dense(j->out, 2) && sk % item == 0 && sl % item == 0;                   \
        char *out = vector_of(j->out, n, b);                                                                               \
        for (npy_intp a = 0; a < j->nx; a++) {                                                                             \
            const char *x = vector_of(j->x, n, a), *block = block_of(w, j->ix[n * j->nx + a], j->iy[n * j->ny + b]);       \
            if (simple && is_dense(w, 3)) {                                                                                \
                CALL(j, add_rows, T, nk, nl, (const T *)x, (const T *)block, sk / item, (T *)out);                         \
            } else if (simple && is_dense(w, 2)) {                                                                         \
                CALL(j, add_columns, T, nk, nl, (const T *)x, (const T *)block, sl / item, (T *)out);                      \
            } else {                                                                                                       \
                for (npy_intp k = 0; k < nk; k++) {                                                                        \
                    for (npy_intp l = 0; l < nl; l++) {                                                                    \
                        *(T *)(out + l * so) += *(const T *)(x + k * sx) * *(const T *)(block + k * sk + l * sl);          \
                    }                                                                                                      \
                }                                                                                                          \
            }                                                                                                              \
        }                                                                                                                  \
    }                                                                                                                      \
    static void outer_##S(const Job *j, npy_intp n, npy_intp a)                                                            \
    {                                                                                                                      \
        const ThnCell *w = j->out;                                                                                         \
        const npy_intp nk = w->dims[2], nl = w->dims[3], sk = w->strides[2], sl = w->strides[3];                           \
        const npy_intp sx = j->x->strides[2], sy = j->y->strides[2], item = (npy_intp)sizeof(T);                           \
        const int simple = is_dense(j->x, 2) && is_dense(j->y, 2) && is_dense(w, 3) && sk % item == 0;                     \
        const char *x = vector_of(j->x, n, a);                                                                             \
        const T alpha = *(const T *)j->alpha->data;                                                                        \
        for (npy_intp b = 0; b < j->ny; b++) {                                                                             \
            const char *y = vector_of(j->y, n, b);                                                                         \
            char *block = block_of(w, j->ix[n * j->nx + a], j->iy[n * j->ny + b]);                                         \
            if (simple) {                                                                                                  \
                CALL(j, add_outer, T, nk, nl, (const T *)x, (const T *)y, alpha, (T *)block, sk / item);                   \
                continue;                                                                                                  \
            }                                                                                                              \
            for (npy_intp k = 0; k < nk; k++) {                                                                            \
                for (npy_intp l = 0; l < nl; l++) {                                                                        \
                    *(T *)(block + k * sk + l * sl) += alpha * *(const T *)(x + k * sx) * *(const T *)(y + l * sy);        \
                }                                                                                                          \
            }                                                                                                              \
        }                                                                                                                  \
    }

DEFINE_PRODUCTS(float, f4)
DEFINE_PRODUCTS(double, f8)

static int dot_some(void *ctx, npy_intp begin, npy_intp end)
{
    const Job *j = ctx;
    for (npy_intp i = begin; i < end; i++) {
        (j->out->typenum == NPY_FLOAT ? dot_f4 : dot_f8)(j, i / j->ny, i % j->ny);
    }
    return 0;
}

/* The share of the first axis' blocks that a task writes to: all that is added to a block comes in one order. */
static void outer_task(void *ctx, long task)
{
    const Job *j = ctx;
    for (npy_intp i = 0; i < j->batch * j->nx; i++) {
        if (j->ix[i] % SHARES != task) {
            continue;
        }
        (j->out->typenum == NPY_FLOAT ? outer_f4 : outer_f8)(j, i / j->nx, i % j->nx);
    }
}

/* ---- operands: o, W, h, indices of h, indices of o; or o, x, y, indices of x, indices of y, alpha */

/* Reads indices of blocks, which count from the end where they are negative. */
static int read_indices(ThnFrame *f, const ThnCell *c, npy_intp blocks, int64_t *out)
{
    const ThnReadInt get = thn_int_reader(c->typenum);
    for (npy_intp n = 0; n < c->dims[0]; n++) {
        for (npy_intp i = 0; i < c->dims[1]; i++) {
            const int64_t v = get(vector_of(c, n, i));
            THN_FAIL_IF(f, v >= blocks || v < -blocks, PyExc_IndexError, "index %lld is out of bounds for %ld blocks", (long long)v,
                        (long)blocks);
            *out++ = v < 0 ? v + blocks : v;
        }
    }
    return 0;
}

static int same(ThnFrame *f, const char *what, npy_intp a, npy_intp b)
{
    return a == b ? 1 : (thn_error(f, PyExc_ValueError, "%s differ: %ld and %ld", what, (long)a, (long)b), 0);
}

/* What both instructions check, prepare and keep: `w` are blocks that vectors of `x` and `y` fit. */
static int prepare(ThnFrame *f, const ThnInstr *ins, const ThnCell *w, const ThnCell *x, const ThnCell *y)
{
    const ThnCell *ix = THN_IN(f, ins, 3), *iy = THN_IN(f, ins, 4);
    ThnCell *o = THN_IN(f, ins, 0);
    if (!same(f, "the batches of the operands", x->dims[0], y->dims[0])
        || !same(f, "the batches of vectors and indices", x->dims[0], ix->dims[0])
        || !same(f, "the batches of vectors and indices", y->dims[0], iy->dims[0])
        || !same(f, "the numbers of vectors and indices", x->dims[1], ix->dims[1])
        || !same(f, "the numbers of vectors and indices", y->dims[1], iy->dims[1])
        || !same(f, "the sizes of vectors and blocks", x->dims[2], w->dims[2])
        || !same(f, "the sizes of vectors and blocks", y->dims[2], w->dims[3])) {
        return -1;
    }
    const npy_intp nx = x->dims[0] * x->dims[1], ny = y->dims[0] * y->dims[1];
    Job *j = thn_scratch(f, ins, sizeof *j + sizeof(int64_t) * (size_t)(nx + ny));
    THN_NEED(j);
    int64_t *indices = (int64_t *)(j + 1);
    const npy_intp products = w->dims[2] * w->dims[3];
    *j = (Job){.wide = is_wide(), .batch = x->dims[0], .nx = x->dims[1], .ny = y->dims[1]};
    const double each = (double)products * (double)j->nx;
    j->per_task = each > 0 && each < PART ? (npy_intp)(PART / each) : 1;
    THN_TRY(read_indices(f, ix, w->dims[0], indices));
    THN_TRY(read_indices(f, iy, w->dims[1], indices + nx));
    f->work = each * (double)ny * 0.3 + (thn_in_place(ins) ? 0 : thn_bytes_work(o));
    return thn_target_prepare(f, THN_OUT(f, ins, 0), o, thn_in_place(ins));
}

/* The job at its operands, and the target with what is there. */
static Job *begin(ThnFrame *f, const ThnInstr *ins, int w, int x, int y)
{
    Job *j = f->scratch[ins->index].ptr;
    j->ix = (const int64_t *)(j + 1);
    j->out = THN_OUT(f, ins, 0);
    j->w = w ? THN_IN(f, ins, w) : j->out;
    j->x = THN_IN(f, ins, x);
    j->y = y ? THN_IN(f, ins, y) : j->out;
    j->iy = j->ix + j->batch * j->nx;
    thn_target_execute(j->out, THN_IN(f, ins, 0), thn_in_place(ins));
    return j;
}

static int block_dot_prepare(ThnFrame *f, const ThnInstr *ins)
{
    return prepare(f, ins, THN_IN(f, ins, 1), THN_IN(f, ins, 2), THN_IN(f, ins, 0));
}

static int block_dot_execute(ThnFrame *f, const ThnInstr *ins)
{
    Job *j = begin(f, ins, 1, 2, 0);
    thn_parallel_ranges(j->batch * j->ny, j->per_task, dot_some, j);
    return 0;
}

static int block_outer_prepare(ThnFrame *f, const ThnInstr *ins)
{
    return prepare(f, ins, THN_IN(f, ins, 0), THN_IN(f, ins, 1), THN_IN(f, ins, 2));
}

static int block_outer_execute(ThnFrame *f, const ThnInstr *ins)
{
    Job *j = begin(f, ins, 0, 1, 2);
    j->alpha = THN_IN(f, ins, 5);
    thn_parallel(SHARES, outer_task, j);
    return 0;
}

THN_INSTRUCTION(block_dot, NULL, block_dot_prepare, block_dot_execute)
THN_INSTRUCTION(block_outer, NULL, block_outer_prepare, block_outer_execute)
