/* Products of sparse matrices: of integers and complex numbers with dense ones, and of two sparse ones of any dtype. */
#include "sparse_products.h"
#include "plan.h"
#include "pool.h"
#include "threads.h"

#include <complex.h>
#include <stdlib.h>

#define MOST_SUMS ((size_t)1 << 40) /* for which sums are kept in a product of two; more are in no memory */
#define LONG_LINES ((size_t)1 << 26)    /* bytes of them */

typedef struct {
    ThnPlaces a, b;
} Times;

#define TIMES_OF(SUFFIX, T, PRODUCT)               \
    static inline T times_of##SUFFIX(T x, T y)     \
    {                                              \
        return PRODUCT;                            \
    }
TIMES_OF(_u1, uint8_t, (uint8_t)(1u * x * y))
TIMES_OF(_u2, uint16_t, (uint16_t)(1u * x * y))
TIMES_OF(_u4, uint32_t, x * y)
TIMES_OF(_u8, uint64_t, x * y)
TIMES_OF(_f4, float, x * y)
TIMES_OF(_f8, double, x * y)
/* As NumPy multiplies: infinities are not looked for. */
TIMES_OF(_c8, float complex, __builtin_complex(crealf(x) * crealf(y) - cimagf(x) * cimagf(y), crealf(x) * cimagf(y) + cimagf(x) * crealf(y)))
TIMES_OF(_c16, double complex, __builtin_complex(creal(x) * creal(y) - cimag(x) * cimag(y), creal(x) * cimag(y) + cimag(x) * creal(y)))

#define INDEXED "sparse_products_loops.h"
#include "for_values.h"

typedef struct {
    ThnOfLines rows;
    int (*columns)(const ThnProduct *, const char *, char *);
    ThnOfLines dot_at;
    ThnFilling times;
} Loops;

#define OF(end) {rows##end, columns##end, dot_at##end, times##end}
static const Loops all_loops[][2] = FOR_VALUES(OF);

static const Loops *loops_for(int typenum, int item, int wide)
{
    return &all_loops[thn_sparse_type(typenum, item)][wide];
}

typedef struct {
    const ThnProduct *what;
    const Loops *loops;
} Work;

static int some_columns(void *ctx, npy_intp first, npy_intp last)
{
    const Work *k = ctx;
    const ThnProduct *w = k->what;
    for (npy_intp column = first; column < last; column++) {
        THN_TRY(k->loops->columns(w, w->b + column * w->b_col, w->y + column * w->y_col));
    }
    return 0;
}

int thn_sparse_product_any(const ThnPlaces *s, int typenum, int item, const char *b, const npy_intp *b_strides, char *y,
                           const npy_intp *y_strides, npy_intp columns)
{
    ThnProduct w = {*s, b, y, b_strides[0], b_strides[1], y_strides[0], y_strides[1], columns};
    const Loops *loops = loops_for(typenum, item, s->wide);
    if (s->csc) {
        Work k = {&w, loops};
        return thn_parallel_ranges(columns, 1, some_columns, &k);
    }
    return thn_sparse_by_lines(&w, loops->rows, ((double)s->stored + (double)s->lines) * (1.0 + 0.6 * (double)columns));
}

int thn_sparse_dot_at_any(const ThnPlaces *s, int typenum, int item, const char *a, const char *b, npy_intp depth, char *out)
{
    const ThnSampled w = {*s, s->csc ? b : a, s->csc ? a : b, depth, out};
    const double work = (double)s->stored * (2.0 + 0.6 * (double)depth);
    return thn_sparse_by_lines(&w, loops_for(typenum, item, s->wide)->dot_at, work);
}

int thn_sparse_times(const ThnPlaces *a, const ThnPlaces *b, int typenum, int item, ThnSparseMade *to)
{
    const Loops *loops = loops_for(typenum, item, a->wide);
    const Times what = {*a, *b};
    ThnFilled k = {.index = a->wide ? 8 : 4, .item = item, .what = &what, .to = to, .fill = loops->times};
    double products = 0;
    npy_intp bound = 0;
    THN_POOLED npy_intp *bounds = thn_pool_alloc(sizeof(npy_intp) * (size_t)(a->lines + 1));
    if (!bounds) {
        return -2;
    }
    for (npy_intp line = 0; line < a->lines; line++) {
        const npy_intp start = thn_sparse_pointer(a, line), end = thn_sparse_pointer(a, line + 1);
        int wrong = !thn_sparse_within(a, start, end);
        npy_intp most = 0;
        bounds[line] = bound;
        for (npy_intp at = start; at < end && !wrong; at++) {
            const npy_uintp i = (npy_uintp)thn_sparse_number(a->indices, a->wide, at);
            if (i >= (npy_uintp)b->lines) {
                wrong = 1;
                break;
            }
            const npy_intp first = thn_sparse_pointer(b, (npy_intp)i), last = thn_sparse_pointer(b, (npy_intp)i + 1);
            wrong = !thn_sparse_within(b, first, last);
            most += last - first;
        }
        THN_TRY(wrong ? -1 : 0);
        products += (double)most;
        bound += most < b->length ? most : b->length;
    }
    bounds[a->lines] = bound;
    if (!a->wide && bound > INT32_MAX) {
        return -3;
    }
    /* Each part clears sums of its own, which must be worth it. */
    k.parts = thn_get_threads() > 1 ? thn_worth(4.0 * products, THN_MOST_PARTS) : 1;
    while (k.parts > 1 && (double)k.parts * (double)b->length > 0.25 * products) {
        k.parts /= 2;
    }
    for (npy_intp part = 0, line = 0; part <= k.parts; part++) {
        const double want = (double)(bound + a->lines) * (double)part / (double)k.parts;
        while (line < a->lines && (part == k.parts || (double)(bounds[line] + line) < want)) {
            line++;
        }
        k.lines[part] = line;
        k.room[part] = bounds[line];
    }
    return thn_sparse_filled(&k);
}
