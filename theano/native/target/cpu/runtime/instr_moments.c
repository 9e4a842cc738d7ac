/* Number, sum, mean and squared deviations of all elements in one pass over memory: blocks that the first cache holds are passed over
 * twice there, and merged two and two as by Chan, Golub and LeVeque (1979). Far from zero the means of blocks differ by little more
 * than their rounding errors: these are kept, too. */
#include "vm.h"
#include "processor.h"
#include "tables.h"
#include "threads.h"

#define BLOCK 2048
#define SPAN (32 * BLOCK) /* elements of a task, at least */
#define MOST_TASKS 64
#define LEVELS 48

typedef struct {
    double count, total, mean, low, squares; /* low: what the mean was rounded by */
} Moments;

typedef double D4 __attribute__((vector_size(32)));
typedef double D4u __attribute__((vector_size(32), aligned(8)));
typedef float F4u __attribute__((vector_size(16), aligned(4)));
#define LOAD_double(P) (*(const D4u *)(P))
#define LOAD_float(P) __builtin_convertvector(*(const F4u *)(P), D4)

#define DEFINE_BLOCK(NAME, T, TARGET)                                                                               \
    TARGET static void NAME(const void *data, npy_intp n, Moments *m)                                               \
    {                                                                                                               \
        const T *x = data;                                                                                          \
        D4 s[8] = {{0}}, q[4] = {{0}};                                                                              \
        double total = 0, squares = 0;                                                                              \
        npy_intp i = 0;                                                                                             \
        for (; i + 32 <= n; i += 32) {                                                                              \
            _Pragma("GCC unroll 8") for (int k = 0; k < 8; k++) s[k] += LOAD_##T(x + i + 4 * k);                    \
        }                                                                                                           \
        for (; i < n; i++) {                                                                                        \
            total += x[i];                                                                                          \
        }                                                                                                           \
        const D4 sum = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));                           \
        total += (sum[0] + sum[1]) + (sum[2] + sum[3]);                                                             \
        const double mean = total / (double)n;                                                                      \
        const D4 middle = {mean, mean, mean, mean};                                                                 \
        D4 r[4] = {{0}};                                                                                            \
        double rest = 0;                                                                                            \
        for (i = 0; i + 16 <= n; i += 16) {                                                                         \
            _Pragma("GCC unroll 4") for (int k = 0; k < 4; k++) {                                                   \
                const D4 d = LOAD_##T(x + i + 4 * k) - middle;                                                      \
                q[k] += d * d;                                                                                      \
                r[k] += d;                                                                                          \
            }                                                                                                       \
        }                                                                                                           \
        for (; i < n; i++) {                                                                                        \
            const double d = x[i] - mean;                                                                           \
            squares += d * d;                                                                                       \
            rest += d;                                                                                              \
        }                                                                                                           \
        const D4 all = (q[0] + q[1]) + (q[2] + q[3]), off = (r[0] + r[1]) + (r[2] + r[3]);                          \
        squares += (all[0] + all[1]) + (all[2] + all[3]);                                                           \
        rest += (off[0] + off[1]) + (off[2] + off[3]);                                                              \
        const double low = rest / (double)n;                                                                        \
        *m = (Moments){(double)n, total, mean, low, squares - rest * low};                                          \
    }

DEFINE_BLOCK(block_f4, float, )
DEFINE_BLOCK(block_f8, double, )
DEFINE_BLOCK(wide_f4, float, THN_WIDE)
DEFINE_BLOCK(wide_f8, double, THN_WIDE)

static void of_block(int typenum, const void *x, npy_intp n, Moments *m)
{
    static void (*const functions[2][2])(const void *, npy_intp, Moments *) = {{block_f8, wide_f8}, {block_f4, wide_f4}};
    functions[typenum == NPY_FLOAT][thn_has_avx2()](x, n, m);
}

static void merge(Moments *a, const Moments *b)
{
    if (a->count == 0 || b->count == 0) {
        *a = a->count == 0 ? *b : *a;
        return;
    }
    const double n = a->count + b->count, part = b->count / n, d = (b->mean - a->mean) + (b->low - a->low);
    const double by = d * part + a->low, mean = a->mean + by;
    a->squares += b->squares + d * d * (a->count * part);
    a->low = by - (mean - a->mean);
    a->mean = mean;
    a->total += b->total;
    a->count = n;
}

typedef struct {
    int typenum;
    npy_intp item, size, span;
    char *data;
    Dims dims;
    Moments parts[MOST_TASKS];
} Pass;

static int moments_of_span(void *ctx, npy_intp start, npy_intp end)
{
    Pass *p = ctx;
    const Dims *g = &p->dims;
    const int dense = g->n == 0 || (g->n == 1 && g->strides[0] == p->item);
    char buffer[BLOCK * sizeof(double)] __attribute__((aligned(32)));
    char *ptr = p->data;
    npy_intp idx[THN_MAXDIM] = {0}, b = 0;
    Moments level[LEVELS], all = {0, 0, 0, 0, 0};
    int levels = 0;
    if (!dense) {
        thn_seek(g, g->n, start, 1, &ptr, idx);
    }
    for (npy_intp at = start; at < end; at += BLOCK, b++) {
        const npy_intp n = end - at < BLOCK ? end - at : BLOCK;
        Moments m;
        int k = 0;
        if (!dense) {
            thn_load_run(g, &ptr, idx, n, thn_copy_inner((int)p->item), buffer, p->item);
        }
        of_block(p->typenum, dense ? p->data + at * p->item : buffer, n, &m);
        for (; b >> k & 1; k++) {
            merge(&level[k], &m);
            m = level[k];
        }
        level[k] = m;
        levels = k < levels ? levels : k + 1;
    }
    for (int k = 0; k < levels; k++) {
        if (b >> k & 1) {
            merge(&all, &level[k]);
        }
    }
    p->parts[start / p->span] = all;
    return 0;
}

static int moments_prepare(ThnFrame *f, const ThnInstr *ins)
{
    return thn_outs_like(f, ins, 0, 0.4);
}

/* The order of the elements does not matter: dims are taken in the order of their strides, none backwards. */
static void lay_out(Pass *p, const ThnCell *x, npy_intp *shape, npy_intp *strides)
{
    Dims *g = &p->dims;
    *g = (Dims){0, shape, strides, THN_MAXDIM};
    p->data = x->data;
    for (int d = 0; d < x->ndim; d++) {
        if (x->dims[d] == 1) {
            continue;
        }
        p->data += x->strides[d] < 0 ? (x->dims[d] - 1) * x->strides[d] : 0;
        shape[g->n] = x->dims[d];
        strides[g->n++] = thn_magnitude(x->strides[d]);
    }
    thn_sort_dims(g, 1, 1);
    thn_merge_dims(g, 1);
}

static int moments_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *x = THN_IN(f, ins, 0);
    npy_intp shape[THN_MAXDIM], strides[THN_MAXDIM];
    Pass p = {.typenum = x->typenum, .item = x->itemsize, .size = thn_size(x)};
    Moments all = {0, 0, 0, 0, 0};
    if (p.size > 0) {
        lay_out(&p, x, shape, strides);
        p.span = (p.size + MOST_TASKS - 1) / MOST_TASKS;
        p.span = p.span < SPAN ? SPAN : (p.span + BLOCK - 1) / BLOCK * BLOCK;
        thn_parallel_ranges(p.size, p.span, moments_of_span, &p);
        for (npy_intp t = 0; t * p.span < p.size; t++) {
            merge(&all, &p.parts[t]);
        }
    }
    const double found[4] = {all.count, all.total, all.mean + all.low, all.squares};
    for (int k = 0; k < 4; k++) {
        *(double *)THN_OUT(f, ins, k)->data = found[k];
    }
    return 0;
}

THN_INSTRUCTION(moments, NULL, moments_prepare, moments_execute)
