/* Instructions: cumulative sums and products. */
#include "vm.h"
#include "copy.h"
#include "processor.h"
#include "threads.h"

/* ---- cumulate */

static int cumulate_prepare(ThnFrame *f, const ThnInstr *ins)
{
    return thn_outs_like(f, ins, 0, 1);
}

/* Running sums of a contiguous line, eight at a time: only the last of them waits for the eight before. Sums of numbers that
 * are not negative never fall. Eight whose own sums overflow are added one by one, as the sum so far may allow. */
#define DEFINE_SUMS(S, T, ZERO)                                                             \
    static void sums_##S(npy_intp n, void *to, const void *from)                            \
    {                                                                                       \
        const T *in = from;                                                                 \
        T *out = to, sum = ZERO;                                                            \
        npy_intp i = 0;                                                                     \
        for (; i + 8 <= n; i += 8) {                                                        \
            const T *x = in + i;                                                            \
            T *y = out + i;                                                                 \
            const T p0 = x[0], p1 = p0 + x[1], p2 = p1 + x[2], p3 = p1 + (x[2] + x[3]);     \
            const T p4 = p3 + x[4], p5 = p3 + (x[4] + x[5]), p6 = p5 + x[6];                \
            const T p7 = p5 + (x[6] + x[7]), all = (p2 + p4) + (p6 + p7);                   \
            if (!(all - all == 0)) {                                                        \
                for (int k = 0; k < 8; k++) {                                               \
                    sum += x[k];                                                            \
                    y[k] = sum;                                                             \
                }                                                                           \
                continue;                                                                   \
            }                                                                               \
            y[0] = sum + p0;                                                                \
            y[1] = sum + p1;                                                                \
            y[2] = sum + p2;                                                                \
            y[3] = sum + p3;                                                                \
            y[4] = sum + p4;                                                                \
            y[5] = sum + p5;                                                                \
            y[6] = sum + p6;                                                                \
            y[7] = sum = sum + p7;                                                          \
        }                                                                                   \
        for (; i < n; i++) {                                                                \
            sum += in[i];                                                                   \
            out[i] = sum;                                                                   \
        }                                                                                   \
    }

DEFINE_SUMS(f4, float, -0.0f)
DEFINE_SUMS(f8, double, -0.0)

/* ---- running sums of 64-bit integers, which are the same in any order */

#ifdef THN_AVX512
#include <immintrin.h>

/* Sums of full registers, each made in three steps, which add what stands one, two and four places before. Returns how many
 * elements were done. */
THN_AVX512 static npy_intp sums_512(uint64_t *sum, npy_intp n, uint64_t *out, const uint64_t *in)
{
    const __m512i zero = _mm512_setzero_si512(), last = _mm512_set1_epi64(7);
    __m512i before = _mm512_set1_epi64((long long)*sum);
    npy_intp i = 0;
    for (; i + 8 <= n; i += 8) {
        __m512i v = _mm512_loadu_si512(in + i);
        v = _mm512_add_epi64(v, _mm512_alignr_epi64(v, zero, 7));
        v = _mm512_add_epi64(v, _mm512_alignr_epi64(v, zero, 6));
        v = _mm512_add_epi64(v, _mm512_alignr_epi64(v, zero, 4));
        _mm512_storeu_si512(out + i, _mm512_add_epi64(v, before));
        before = _mm512_add_epi64(before, _mm512_permutexvar_epi64(last, v));
    }
    *sum = (uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(before));
    return i;
}
#endif

static void sums_i8(uint64_t sum, npy_intp n, uint64_t *out, const uint64_t *in)
{
    npy_intp i = 0;
#ifdef THN_AVX512
    i = n >= 16 && thn_has_avx512() ? sums_512(&sum, n, out, in) : 0;
#endif
#pragma GCC unroll 8 /* a turn of one element takes twice as long where its jump is on another line of the code */
    for (; i < n; i++) {
        out[i] = sum += in[i];
    }
}

#define LONG_LINE 262144 /* elements from which on threads share a line: each first adds up its part */
#define MOST_PARTS 16

typedef struct {
    uint64_t *out;
    const uint64_t *in;
    npy_intp part;
    uint64_t totals[MOST_PARTS + 1]; /* of what comes before each part */
} Line;

static int total_of_part(void *ctx, npy_intp start, npy_intp stop)
{
    Line *l = ctx;
    uint64_t sum = 0;
    for (npy_intp i = start; i < stop; i++) {
        sum += l->in[i];
    }
    l->totals[start / l->part + 1] = sum;
    return 0;
}

static int sums_of_part(void *ctx, npy_intp start, npy_intp stop)
{
    const Line *l = ctx;
    sums_i8(l->totals[start / l->part], stop - start, l->out + start, l->in + start);
    return 0;
}

static void line_of_i8(npy_intp n, void *out, const void *in)
{
    Line l = {.out = out, .in = in};
    npy_intp parts = thn_least(thn_get_threads(), MOST_PARTS);
    if (n < LONG_LINE || parts < 2) {
        sums_i8(0, n, out, in);
        return;
    }
    l.part = (n + parts - 1) / parts;
    parts = (n + l.part - 1) / l.part;
    thn_parallel_ranges((parts - 1) * l.part, l.part, total_of_part, &l);
    for (npy_intp k = 1; k < parts; k++) {
        l.totals[k] += l.totals[k - 1];
    }
    thn_parallel_ranges(n, l.part, sums_of_part, &l);
}

#define DEFINE_PRODUCTS(S, T)                                              \
    static void products_##S(npy_intp n, void *out, const void *in)        \
    {                                                                      \
        T value = 1;                                                       \
        for (npy_intp i = 0; i < n; i++) {                                 \
            ((T *)out)[i] = value *= ((const T *)in)[i];                   \
        }                                                                  \
    }

DEFINE_PRODUCTS(f4, float)
DEFINE_PRODUCTS(f8, double)
DEFINE_PRODUCTS(i8, uint64_t)

typedef void (*OfLine)(npy_intp n, void *out, const void *in);

/* One line; `in` may be `out`. */
static void cumulate_line(int typenum, int multiply, npy_intp n, char *out, const char *in, npy_intp item, ThnInner op)
{
    const OfLine own = typenum == NPY_FLOAT                             ? (multiply ? products_f4 : sums_f4)
                       : typenum == NPY_DOUBLE                          ? (multiply ? products_f8 : sums_f8)
                       : PyTypeNum_ISINTEGER(typenum) && item == 8      ? (multiply ? products_i8 : line_of_i8)
                                                                        : NULL;
    if (own) {
        own(n, out, in);
        return;
    }
    if (in != out) {
        memcpy(out, in, (size_t)(n * item));
    }
    op(n - 1, out + item, item, out, item); /* each element reads the one that was written before it */
}

typedef struct {
    const ThnCell *in, *out;
    ThnInner op;
    int multiply, direct; /* direct: read the input; else the output holds a copy of it */
    npy_intp n, inner, outer, lines, columns;
} Cumulating;

/* A run of lines, or, where neighbours along the axis are apart, some columns of one block. */
static void cumulate_task(void *ctx, long task)
{
    const Cumulating *c = ctx;
    const npy_intp item = c->out->itemsize, step = c->inner * item, size = c->n * step;
    const char *from = c->direct ? c->in->data : c->out->data;
    if (c->inner == 1) {
        for (npy_intp o = task * c->lines; o < (task + 1) * c->lines && o < c->outer; o++) {
            cumulate_line(c->out->typenum, c->multiply, c->n, c->out->data + o * size, from + o * size, item, c->op);
        }
        return;
    }
    const npy_intp parts = (c->inner + c->columns - 1) / c->columns, start = task % parts * c->columns;
    const npy_intp count = c->inner - start < c->columns ? c->inner - start : c->columns;
    char *to = c->out->data + task / parts * size + start * item;
    from += task / parts * size + start * item;
    for (npy_intp i = 0; i < c->n; i++, to += step, from += step) {
        if (c->direct) {
            memcpy(to, from, (size_t)(count * item));
        }
        if (i > 0) {
            c->op(count, to, item, to - step, item);
        }
    }
}

static int cumulate_execute(ThnFrame *f, const ThnInstr *ins)
{
    const thn_cumulate_params *p = ins->data;
    const ThnCell *in = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    Cumulating c = {.in = in, .out = out, .multiply = p->multiply, .n = out->dims[p->axis]};
    c.op = p->multiply ? thn_mul_inner(out->typenum) : thn_add_inner(out->typenum);
    const npy_intp total = thn_size(out);
    if (total == 0) {
        return 0;
    }
    c.outer = thn_product(p->axis, out->dims);
    c.inner = thn_product(out->ndim - p->axis - 1, out->dims + p->axis + 1);
    c.direct = PyArray_EquivTypenums(in->typenum, out->typenum) && thn_is_c_contiguous(in);
    if (!c.direct) {
        thn_loop2(in->ndim, in->dims, out->data, out->strides, in->data, in->strides,
                  thn_cast_inner(out->typenum, in->typenum));
    }
    /* Few long lines are gone through one by one: threads share each of them. */
    const int one_by_one = c.n >= LONG_LINE && c.outer < thn_get_threads() && PyTypeNum_ISINTEGER(out->typenum);
    c.lines = one_by_one ? c.outer : 32768 / c.n + 1;
    c.columns = 4096;
    npy_intp tasks = c.inner == 1 ? (c.outer + c.lines - 1) / c.lines : c.outer * ((c.inner + c.columns - 1) / c.columns);
    thn_parallel((long)tasks, cumulate_task, &c);
    return 0;
}

THN_INSTRUCTION(cumulate, NULL, cumulate_prepare, cumulate_execute)
