/* Matrices that are made of others: parts of their lines are filled one by one, each as far as it goes, and put together then. Integers
 * are taken by their size: sums and products are the same modulo its power of two. */
#include "sparse_parts.h"
#include "plan.h"
#include "pool.h"
#include "threads.h"

#include <complex.h>
#include <stdlib.h>

/* More lines or values are in no memory; their bytes can be computed. */
#define MOST_LINES ((npy_intp)1 << 46)
#define MOST_SUMS ((size_t)1 << 40)  /* for which sums are kept in a product of two; more are in no memory */
#define LONG_LINES ((size_t)1 << 26) /* bytes of them */

typedef struct {
    ThnSparse s;
    int sort, drop, add; /* add: sorted values of one place */
} Tidied;

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

#define INDEXED "sparse_parts_loops.h"
#include "for_values.h"

#define OF(end)                                                                                                           \
    {product##end, dot_at##end, values_of##end, values_at##end, add_dense##end, sum_lines##end, merge_add##end,           \
     merge_multiply##end, from_dense##end, tidy##end, times##end, increases##end, sum_indices##end, turn##end, stack##end}

const ThnSparseLoops *thn_sparse_loops(const ThnSparse *s)
{
    static const ThnSparseLoops all[][2] = FOR_VALUES(OF);
    const int t = s->typenum, by_size[] = {[1] = 0, [2] = 1, [4] = 2, [8] = 3, [16] = 7};
    return &all[t == NPY_FLOAT ? 4 : t == NPY_DOUBLE ? 5 : t == NPY_CFLOAT ? 6 : by_size[s->item]][s->wide];
}

npy_intp thn_sparse_part(const ThnSparse *a, const ThnSparse *b, npy_intp part, npy_intp parts)
{
    const double all = (double)(a->stored + a->lines + (b ? b->stored : 0)), want = all * (double)part / (double)parts;
    npy_intp low = 0, high = a->lines;
    if (part >= parts) {
        return a->lines;
    }
    while (low < high) {
        const npy_intp middle = low + (high - low) / 2;
        const npy_intp before = thn_sparse_pointer(a, middle) + (b ? thn_sparse_pointer(b, middle) : 0);
        if ((double)(before + middle) < want) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void thn_sparse_free(ThnSparse *made)
{
    thn_pool_free(made->data);
    thn_pool_free(made->indices);
    thn_pool_free(made->indptr);
    *made = (ThnSparse){0};
}

int thn_sparse_alloc(ThnSparse *to, const ThnSparse *like, npy_intp lines, npy_intp length, npy_intp stored)
{
    const size_t index = like->wide ? 8 : 4;
    *to = (ThnSparse){.lines = lines, .length = length, .stored = stored, .csc = like->csc, .wide = like->wide,
                      .typenum = like->typenum, .item = like->item};
    if (lines < MOST_LINES && stored < MOST_LINES) {
        to->data = thn_pool_alloc((size_t)(stored + 1) * (size_t)like->item);
        to->indices = thn_pool_alloc((size_t)(stored + 1) * index);
        to->indptr = thn_pool_alloc((size_t)(lines + 2) * index); /* one more than there are, for where lines end while they are filled */
    }
    return to->data && to->indices && to->indptr ? 0 : -2;
}

/* Part k are lines [lines[k], lines[k + 1]), and it has room[k + 1] - room[k] values at most. */
typedef struct {
    ThnFilling fill;
    const void *what;
    ThnSparse *to, full; /* full: where part k is filled from room[k] on; without memory they are counted */
    npy_intp parts, lines[THN_MOST_PARTS + 1], room[THN_MOST_PARTS + 1], found[THN_MOST_PARTS + 1];
} Filled;

static void fill_task(void *ctx, long task)
{
    Filled *k = ctx;
    const ThnSparse *s = &k->full;
    const npy_intp at = k->room[task], index = thn_sparse_index(s);
    char *data = s->data, *indices = s->indices, *indptr = s->indptr;
    k->found[task] = k->fill(k->what, k->lines[task], k->lines[task + 1], data ? data + at * s->item : NULL,
                             data ? indices + at * index : NULL, data ? indptr + index : NULL, k->room[task + 1] - at);
}

/* Moves a part to its place. */
static void gather_task(void *ctx, long task)
{
    const Filled *k = ctx;
    const ThnSparse *s = &k->full, *to = k->to;
    const npy_intp from = k->room[task], at = k->found[task], n = k->found[task + 1] - at, index = thn_sparse_index(s);
    if (s->data != to->data) {
        memcpy((char *)to->data + at * s->item, (char *)s->data + from * s->item, (size_t)(n * s->item));
        memcpy((char *)to->indices + at * index, (char *)s->indices + from * index, (size_t)(n * index));
    }
    for (npy_intp line = k->lines[task]; at && line < k->lines[task + 1]; line++) {
        thn_sparse_set(to->indptr, s->wide, line + 1, thn_sparse_number(to->indptr, s->wide, line + 1) + at);
    }
}

/* found[k]: where part k begins among all. Below 0: one has failed. */
static npy_intp add_up(Filled *k)
{
    npy_intp all = 0;
    for (npy_intp part = 0; part < k->parts; part++) {
        const npy_intp n = k->found[part];
        if (n < 0) {
            return n;
        }
        k->found[part] = all;
        all += n;
    }
    k->found[k->parts] = all;
    return all;
}

/* Makes k->to, of lines so long, with the types of `like`. */
static int filled(Filled *k, const ThnSparse *like, npy_intp length)
{
    ThnSparse *to = k->to;
    const npy_intp room = k->room[k->parts];
    for (npy_intp part = 0; part < k->parts; part++) {
        if (k->room[part] < 0 || k->room[part] > k->room[part + 1] || k->lines[part] > k->lines[part + 1]) {
            return -1; /* another thread changed the matrix that they were read from */
        }
    }
    THN_MEMORY(thn_sparse_alloc(to, like, k->lines[k->parts], length, room) == 0);
    k->full = *to;
    memset(to->indptr, 0, (size_t)thn_sparse_index(to));
    thn_parallel((long)k->parts, fill_task, k);
    to->stored = add_up(k);
    if (to->stored < 0) {
        return (int)to->stored;
    }
    /* Unless what was filled is about what is needed. */
    const int move = to->stored != room && (k->parts > 1 || to->stored + to->stored / 4 + 512 < room);
    if (move) {
        to->data = thn_pool_alloc((size_t)((to->stored + 1) * to->item));
        to->indices = thn_pool_alloc((size_t)((to->stored + 1) * thn_sparse_index(to)));
    }
    if (to->data && to->indices) {
        thn_parallel((long)k->parts, gather_task, k);
    }
    if (move) {
        thn_pool_free(k->full.data);
        thn_pool_free(k->full.indices);
    }
    return to->data && to->indices ? 0 : -2;
}

/* By parts of lines of `a`, each of which has as many values at most as it and `b` (NULL: none) have there. The result is the same for any
 * number of parts; one needs not be put together. */
static int filled_by(ThnFilling fill, const void *what, const ThnSparse *a, const ThnSparse *b, double work, ThnSparse *to)
{
    Filled k = {.fill = fill, .what = what, .to = to, .parts = thn_get_threads() > 1 ? thn_worth(work, THN_MOST_PARTS) : 1};
    for (npy_intp part = 0; part <= k.parts; part++) {
        const npy_intp line = k.lines[part] = thn_sparse_part(a, b, part, k.parts);
        k.room[part] = thn_sparse_pointer(a, line) + (b ? thn_sparse_pointer(b, line) : 0);
    }
    return filled(&k, a, a->length);
}

int thn_sparse_tidy(const ThnSparse *s, int sort, int drop, int add, ThnSparse *to)
{
    const Tidied what = {*s, sort, drop, add};
    const double work = (sort ? 8.0 : 2.0) * (double)s->stored + (double)s->lines;
    return filled_by(thn_sparse_loops(s)->tidy, &what, s, NULL, work, to);
}

int thn_sparse_canonical(ThnSparse *s, ThnSparse *made)
{
    int r = thn_sparse_loops(s)->increases(s);
    if (r == 0) {
        r = thn_sparse_tidy(s, 1, 0, 1, made);
        *s = *made;
    }
    return r < 0 ? r : 0;
}

static int merged(const ThnTwo *w, int multiply, ThnSparse *to)
{
    const ThnSparseLoops *loops = thn_sparse_loops(&w->a);
    const double work = 3.0 * (double)(w->a.stored + w->b.stored) + 2.0 * (double)w->a.lines;
    return filled_by(multiply ? loops->merge_multiply : loops->merge_add, w, &w->a, multiply ? NULL : &w->b, work, to);
}

int thn_sparse_merge(const ThnSparse *a, const ThnSparse *b, int multiply, ThnSparse *to)
{
    THN_MADE ThnSparse made_a = {0}, made_b = {0};
    ThnTwo what = {*a, *b, NULL};
    int r = merged(&what, multiply, to);
    if (r == -1) {
        thn_sparse_free(to);
        r = thn_sparse_canonical(&what.a, &made_a);
        r = r < 0 ? r : thn_sparse_canonical(&what.b, &made_b);
        r = r < 0 ? r : merged(&what, multiply, to);
    }
    return r;
}

int thn_sparse_from_dense(char *dense, const npy_intp *strides, ThnSparse *to)
{
    const ThnLines what = {*to, dense, NULL, strides[0], strides[1]};
    THN_MEMORY(to->lines < MOST_LINES);
    Filled k = {.fill = thn_sparse_loops(to)->from_dense, .what = &what, .to = to};
    k.parts = thn_worth(0.7 * (double)to->lines * (double)to->length, THN_MOST_PARTS);
    for (npy_intp part = 0; part <= k.parts; part++) {
        k.lines[part] = part < k.parts ? (npy_intp)((double)to->lines * (double)part / (double)k.parts) : to->lines;
    }
    thn_parallel((long)k.parts, fill_task, &k);
    to->wide = to->length > INT32_MAX || to->lines > INT32_MAX || add_up(&k) > INT32_MAX;
    k.fill = thn_sparse_loops(to)->from_dense;
    memcpy(k.room, k.found, sizeof k.room);
    return filled(&k, to, to->length);
}

int thn_sparse_turn(const ThnSparse *s, ThnSparse *to)
{
    const int r = thn_sparse_alloc(to, s, s->length, s->lines, s->stored);
    to->csc = !s->csc;
    return r < 0 ? r : thn_sparse_loops(s)->turn(s, to);
}

typedef struct {
    ThnSparse s;
    const int64_t *which;
} Taken;

static npy_intp line_taken(const Taken *w, npy_intp i)
{
    return (npy_intp)(w->which[i] < 0 ? w->which[i] + w->s.lines : w->which[i]);
}

static npy_intp take(const void *what, npy_intp l0, npy_intp l1, void *data, void *indices, void *ends, npy_intp room)
{
    const Taken *w = what;
    const ThnSparse *s = &w->s;
    const npy_intp item = s->item, index = thn_sparse_index(s);
    npy_intp n = 0;
    for (npy_intp i = l0; i < l1; i++) {
        const npy_intp line = line_taken(w, i), start = thn_sparse_pointer(s, line), end = thn_sparse_pointer(s, line + 1);
        THN_NEED(thn_sparse_within(s, start, end) && n + end - start <= room);
        memcpy((char *)data + n * item, (const char *)s->data + start * item, (size_t)((end - start) * item));
        memcpy((char *)indices + n * index, (const char *)s->indices + start * index, (size_t)((end - start) * index));
        n += end - start;
        thn_sparse_set(ends, s->wide, i, n);
    }
    return n;
}

/* By parts of lines of which bounds[line] says how many values those before it have at most. */
static int filled_within(Filled *k, const npy_intp *bounds, npy_intp lines, const ThnSparse *like, npy_intp length)
{
    for (npy_intp part = 0, line = 0; part <= k->parts; part++) {
        const double want = (double)(bounds[lines] + lines) * (double)part / (double)k->parts;
        while (line < lines && (part == k->parts || (double)(bounds[line] + line) < want)) {
            line++;
        }
        k->lines[part] = line;
        k->room[part] = bounds[line];
    }
    return !like->wide && bounds[lines] > INT32_MAX ? -3 : filled(k, like, length);
}

int thn_sparse_take(const ThnSparse *s, const int64_t *which, npy_intp n, ThnSparse *to)
{
    const Taken what = {*s, which};
    Filled k = {.fill = take, .what = &what, .to = to};
    npy_intp stored = 0;
    THN_POOLED npy_intp *bounds = thn_pool_alloc(sizeof(npy_intp) * (size_t)(n + 1));
    THN_MEMORY(bounds);
    for (npy_intp i = 0; i < n; i++) {
        if (which[i] < -s->lines || which[i] >= s->lines) {
            return -4;
        }
        const npy_intp line = line_taken(&what, i), start = thn_sparse_pointer(s, line), end = thn_sparse_pointer(s, line + 1);
        THN_NEED(thn_sparse_within(s, start, end));
        bounds[i] = stored;
        stored += end - start;
    }
    bounds[n] = stored;
    k.parts = thn_worth(2.0 * (double)stored + 10.0 * (double)n, THN_MOST_PARTS);
    return filled_within(&k, bounds, n, s, s->length);
}

int thn_sparse_times(const ThnSparse *a, const ThnSparse *b, ThnSparse *to)
{
    const ThnTwo what = {*a, *b, NULL};
    Filled k = {.fill = thn_sparse_loops(a)->times, .what = &what, .to = to};
    double products = 0;
    npy_intp bound = 0;
    THN_POOLED npy_intp *bounds = thn_pool_alloc(sizeof(npy_intp) * (size_t)(a->lines + 1));
    THN_MEMORY(bounds);
    for (npy_intp line = 0; line < a->lines; line++) {
        const npy_intp start = thn_sparse_pointer(a, line), end = thn_sparse_pointer(a, line + 1);
        npy_intp most = 0;
        bounds[line] = bound;
        THN_NEED(thn_sparse_within(a, start, end));
        for (npy_intp at = start; at < end; at++) {
            const npy_intp i = thn_sparse_number(a->indices, a->wide, at);
            THN_NEED((npy_uintp)i < (npy_uintp)b->lines);
            const npy_intp first = thn_sparse_pointer(b, i), last = thn_sparse_pointer(b, i + 1);
            THN_NEED(thn_sparse_within(b, first, last));
            most += last - first;
        }
        products += (double)most;
        bound += most < b->length ? most : b->length;
    }
    bounds[a->lines] = bound;
    /* Each part clears sums of its own, which must be worth it. */
    k.parts = thn_get_threads() > 1 ? thn_worth(4.0 * products, THN_MOST_PARTS) : 1;
    while (k.parts > 1 && (double)k.parts * (double)b->length > 0.25 * products) {
        k.parts /= 2;
    }
    return filled_within(&k, bounds, a->lines, a, b->length);
}
