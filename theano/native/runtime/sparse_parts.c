/* Sparse matrices by their parts: sums and products of two, dense matrices of them and with them, sums of their values, other
 * formats, lines. Integers are taken by their size: sums and products are the same modulo its power of two. */
#include "sparse_parts.h"
#include "plan.h"
#include "pool.h"
#include "threads.h"

#include <complex.h>
#include <stdatomic.h>

#define MOST_PARTS 64
/* More lines or values are in no memory; their bytes can be computed. */
#define MOST_LINES ((npy_intp)1 << 46)

typedef struct {
    ThnPlaces a, b;
} Merge;

typedef struct {
    const char *from;
    npy_intp lines, length, of_line, of_index;
} Dense;

#define T uint8_t
#define BITS uint8_t
#define ACC uint64_t
#define INDEX int32_t
#define FN(name) name##_u1_i4
#include "sparse_parts_loops.h"
#undef INDEX
#undef FN
#define INDEX int64_t
#define FN(name) name##_u1_i8
#include "sparse_parts_loops.h"
#undef T
#undef ACC
#undef BITS
#undef INDEX
#undef FN
#define T uint16_t
#define BITS uint16_t
#define ACC uint64_t
#define INDEX int32_t
#define FN(name) name##_u2_i4
#include "sparse_parts_loops.h"
#undef INDEX
#undef FN
#define INDEX int64_t
#define FN(name) name##_u2_i8
#include "sparse_parts_loops.h"
#undef T
#undef ACC
#undef BITS
#undef INDEX
#undef FN
#define T uint32_t
#define BITS uint32_t
#define ACC uint64_t
#define INDEX int32_t
#define FN(name) name##_u4_i4
#include "sparse_parts_loops.h"
#undef INDEX
#undef FN
#define INDEX int64_t
#define FN(name) name##_u4_i8
#include "sparse_parts_loops.h"
#undef T
#undef ACC
#undef BITS
#undef INDEX
#undef FN
#define T uint64_t
#define BITS uint64_t
#define ACC uint64_t
#define INDEX int32_t
#define FN(name) name##_u8_i4
#include "sparse_parts_loops.h"
#undef INDEX
#undef FN
#define INDEX int64_t
#define FN(name) name##_u8_i8
#include "sparse_parts_loops.h"
#undef T
#undef ACC
#undef BITS
#undef INDEX
#undef FN
#define T float
#define BITS uint32_t
#define ACC double
#define INDEX int32_t
#define FN(name) name##_f4_i4
#include "sparse_parts_loops.h"
#undef INDEX
#undef FN
#define INDEX int64_t
#define FN(name) name##_f4_i8
#include "sparse_parts_loops.h"
#undef T
#undef ACC
#undef BITS
#undef INDEX
#undef FN
#define T double
#define BITS uint64_t
#define ACC double
#define INDEX int32_t
#define FN(name) name##_f8_i4
#include "sparse_parts_loops.h"
#undef INDEX
#undef FN
#define INDEX int64_t
#define FN(name) name##_f8_i8
#include "sparse_parts_loops.h"
#undef T
#undef ACC
#undef BITS
#undef INDEX
#undef FN
#define T float complex
#define BITS uint64_t
#define ACC double complex
#define INDEX int32_t
#define FN(name) name##_c8_i4
#include "sparse_parts_loops.h"
#undef INDEX
#undef FN
#define INDEX int64_t
#define FN(name) name##_c8_i8
#include "sparse_parts_loops.h"
#undef T
#undef ACC
#undef BITS
#undef INDEX
#undef FN
#define T double complex
#define BITS uint64_t
#define ACC double complex
#define INDEX int32_t
#define FN(name) name##_c16_i4
#include "sparse_parts_loops.h"
#undef INDEX
#undef FN
#define INDEX int64_t
#define FN(name) name##_c16_i8
#include "sparse_parts_loops.h"
#undef T
#undef ACC
#undef BITS
#undef INDEX
#undef FN

/* Lines, where values, indices and ends of lines are put, and for how many values there is room. */
typedef npy_intp (*Filling)(const void *, npy_intp, npy_intp, char *, char *, void *, npy_intp);

typedef struct {
    int (*increases)(const ThnPlaces *, int *);
    void (*canonical)(const ThnPlaces *, void *, void *, void *, void *);
    Filling merge_add, merge_multiply, from_dense;
    int (*add_dense)(const ThnPlaces *, npy_intp, npy_intp, char *, npy_intp, npy_intp);
    void (*sum_lines)(const ThnPlaces *, npy_intp, npy_intp, char *);
    int (*sum_indices)(const ThnPlaces *, char *);
    int index, item;
} Loops;

#define LOOPS(end, index, item)                                                                                          \
    {increases##end, canonical##end, merge_add##end, merge_multiply##end, from_dense##end,                               \
     add_dense##end, sum_lines##end, sum_indices##end, index, item}
#define BOTH(end, item) {LOOPS(end##_i4, 4, item), LOOPS(end##_i8, 8, item)}
static const Loops all_loops[8][2] = {BOTH(_u1, 1), BOTH(_u2, 2), BOTH(_u4, 4), BOTH(_u8, 8),
                                      BOTH(_f4, 4), BOTH(_f8, 8), BOTH(_c8, 8), BOTH(_c16, 16)};

static const Loops *loops_for(int typenum, int item, int wide)
{
    switch (typenum) {
    case NPY_FLOAT: return &all_loops[4][wide];
    case NPY_DOUBLE: return &all_loops[5][wide];
    case NPY_CFLOAT: return &all_loops[6][wide];
    case NPY_CDOUBLE: return &all_loops[7][wide];
    default: return &all_loops[item == 1 ? 0 : item == 2 ? 1 : item == 4 ? 2 : 3][wide];
    }
}

int thn_sparse_dtype(int typenum)
{
    return typenum == NPY_FLOAT || typenum == NPY_DOUBLE || typenum == NPY_CFLOAT || typenum == NPY_CDOUBLE
           || PyTypeNum_ISINTEGER(typenum);
}

static npy_intp number_at(const void *numbers, int wide, npy_intp i)
{
    return wide ? (npy_intp)((const int64_t *)numbers)[i] : ((const int32_t *)numbers)[i];
}

/* The first line of part `part` of `parts`, which are about equally long in values and lines of both matrices (`b` may be NULL). */
static npy_intp part_start(const ThnPlaces *a, const ThnPlaces *b, npy_intp part, npy_intp parts)
{
    const double all = (double)(a->stored + a->lines + (b ? b->stored : 0)), want = all * (double)part / (double)parts;
    npy_intp low = 0, high = a->lines;
    if (part >= parts) {
        return a->lines;
    }
    while (low < high) {
        const npy_intp middle = low + (high - low) / 2;
        const npy_intp before = number_at(a->indptr, a->wide, middle) + (b ? number_at(b->indptr, b->wide, middle) : 0);
        if ((double)(before + middle) < want) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void thn_sparse_made_free(ThnSparseMade *m)
{
    thn_pool_free(m->data);
    thn_pool_free(m->indices);
    thn_pool_free(m->indptr);
    *m = (ThnSparseMade){0};
}

/* Memory for a matrix of so many values; 0, or -2. */
static int made_alloc(ThnSparseMade *m, npy_intp lines, npy_intp stored, int wide, int item)
{
    const size_t index = wide ? 8 : 4;
    if (lines >= MOST_LINES || stored >= MOST_LINES) {
        *m = (ThnSparseMade){0};
        return -2;
    }
    *m = (ThnSparseMade){.lines = lines, .stored = stored, .wide = wide};
    m->data = thn_pool_alloc((size_t)(stored ? stored : 1) * (size_t)item);
    m->indices = thn_pool_alloc((size_t)(stored ? stored : 1) * index);
    m->indptr = thn_pool_alloc((size_t)(lines + 1) * index);
    if (!m->data || !m->indices || !m->indptr) {
        thn_sparse_made_free(m);
        return -2;
    }
    return 0;
}

/* ---- parts of lines that are filled one by one, each as far as it goes, and then put together */

typedef struct {
    const Loops *loops;
    const ThnPlaces *a, *b; /* split by their lines */
    npy_intp parts, lines[MOST_PARTS + 1], room[MOST_PARTS + 1], found[MOST_PARTS + 1];
    Filling fill;
    const void *what;
    char *data, *indices; /* where parts are filled: part k from room[k] on */
    ThnSparseMade *to;
    atomic_int bad;
} Filled;

static void fill_task(void *ctx, long task)
{
    Filled *k = ctx;
    const npy_intp at = k->room[task];
    char *ends = k->to->indptr;
    const npy_intp n = k->fill(k->what, k->lines[task], k->lines[task + 1], k->data ? k->data + at * k->loops->item : NULL,
                               k->data ? k->indices + at * k->loops->index : NULL, ends ? ends + k->loops->index : NULL, k->room[task + 1] - at);
    k->found[task] = n;
    if (n < 0) {
        k->bad = 1;
    }
}

/* Moves a part to its place, `room` says where that is. */
static void gather_task(void *ctx, long task)
{
    Filled *k = ctx;
    const npy_intp from = k->room[task], to = k->found[task], n = k->found[task + 1] - to;
    const int item = k->loops->item, index = k->loops->index;
    if (k->data != k->to->data) {
        memcpy(k->to->data + to * item, k->data + from * item, (size_t)(n * item));
        memcpy(k->to->indices + to * index, k->indices + from * index, (size_t)(n * index));
    }
    for (npy_intp line = k->lines[task]; to && line < k->lines[task + 1]; line++) {
        if (index == 8) {
            ((int64_t *)k->to->indptr)[line + 1] += to;
        } else {
            ((int32_t *)k->to->indptr)[line + 1] += (int32_t)to;
        }
    }
}

/* found[k]: where part k begins among all. */
static npy_intp add_up(Filled *k)
{
    npy_intp all = 0;
    for (npy_intp part = 0; part < k->parts; part++) {
        const npy_intp n = k->found[part];
        k->found[part] = all;
        all += n;
    }
    k->found[k->parts] = all;
    return all;
}

static int merged(const ThnPlaces *a, const ThnPlaces *b, const Loops *loops, int multiply, ThnSparseMade *to)
{
    const Merge what = {*a, *b};
    const size_t room = (size_t)(multiply ? a->stored : a->stored + b->stored) + 1;
    Filled k = {.loops = loops, .a = a, .b = b, .what = &what, .to = to};
    k.fill = multiply ? loops->merge_multiply : loops->merge_add;
    /* The result is the same for any number of parts; one needs not be put together. */
    k.parts = thn_get_threads() > 1 ? thn_worth(3.0 * (double)(a->stored + b->stored) + 2.0 * (double)a->lines, MOST_PARTS) : 1;
    for (npy_intp part = 0; part <= k.parts; part++) {
        const npy_intp line = k.lines[part] = part_start(a, b, part, k.parts);
        k.room[part] = number_at(a->indptr, a->wide, line) + (multiply ? 0 : number_at(b->indptr, b->wide, line));
    }
    *to = (ThnSparseMade){.lines = a->lines, .wide = a->wide};
    to->indptr = thn_pool_alloc((size_t)(a->lines + 1) * (size_t)loops->index);
    k.data = thn_pool_alloc(room * (size_t)loops->item);
    k.indices = thn_pool_alloc(room * (size_t)loops->index);
    int r = to->indptr && k.data && k.indices ? 0 : -2;
    if (r == 0) {
        memset(to->indptr, 0, (size_t)loops->index);
        thn_parallel((long)k.parts, fill_task, &k);
        r = k.bad ? -1 : 0;
    }
    if (r == 0) {
        to->stored = add_up(&k);
        if ((size_t)to->stored + (size_t)to->stored / 4 + 512 >= room && k.parts == 1) {
            /* What was filled is about what is needed. */
            to->data = k.data;
            to->indices = k.indices;
            return 0;
        }
        to->data = thn_pool_alloc((size_t)(to->stored + 1) * (size_t)loops->item);
        to->indices = thn_pool_alloc((size_t)(to->stored + 1) * (size_t)loops->index);
        r = to->data && to->indices ? 0 : -2;
    }
    if (r == 0) {
        thn_parallel((long)k.parts, gather_task, &k);
    } else {
        thn_sparse_made_free(to);
    }
    thn_pool_free(k.data);
    thn_pool_free(k.indices);
    return r;
}

/* `s` with increasing indices, over the memory of `made`. */
static int made_canonical(ThnPlaces *s, const Loops *loops, ThnSparseMade *made)
{
    npy_intp longest = 0;
    int bad = 0;
    if (loops->increases(s, &bad)) {
        return bad ? -1 : 0;
    }
    for (npy_intp line = 0; line < s->lines; line++) {
        const npy_intp n = number_at(s->indptr, s->wide, line + 1) - number_at(s->indptr, s->wide, line);
        longest = n > longest ? n : longest;
    }
    if (bad) {
        return -1;
    }
    void *work = thn_pool_alloc(4 * (size_t)loops->index * (size_t)longest);
    if (!work || made_alloc(made, s->lines, s->stored, s->wide, loops->item) < 0) {
        thn_pool_free(work);
        return -2;
    }
    loops->canonical(s, made->data, made->indices, made->indptr, work);
    thn_pool_free(work);
    s->data = made->data;
    s->indices = made->indices;
    s->indptr = made->indptr;
    s->stored = number_at(s->indptr, s->wide, s->lines);
    return 0;
}

int thn_sparse_merge(const ThnPlaces *a, const ThnPlaces *b, int typenum, int item, int multiply, ThnSparseMade *to)
{
    const Loops *loops = loops_for(typenum, item, a->wide);
    int r = merged(a, b, loops, multiply, to);
    if (r == -1) {
        ThnSparseMade made_a = {0}, made_b = {0};
        ThnPlaces x = *a, y = *b;
        r = made_canonical(&x, loops, &made_a);
        r = r < 0 ? r : made_canonical(&y, loops, &made_b);
        r = r < 0 ? r : merged(&x, &y, loops, multiply, to);
        thn_sparse_made_free(&made_a);
        thn_sparse_made_free(&made_b);
    }
    return r;
}

int thn_sparse_from_dense(const char *dense, const npy_intp *strides, npy_intp lines, npy_intp length, int typenum, int item,
                          ThnSparseMade *to)
{
    if (lines >= MOST_LINES) {
        return -2;
    }
    const Dense what = {dense, lines, length, strides[0], strides[1]};
    const ThnPlaces none = {0};
    Filled k = {.loops = loops_for(typenum, item, 0), .a = &none, .what = &what, .to = to};
    k.fill = k.loops->from_dense;
    k.parts = thn_worth(0.7 * (double)lines * (double)length, MOST_PARTS);
    for (npy_intp part = 0; part <= k.parts; part++) {
        k.lines[part] = (npy_intp)((double)lines * (double)part / (double)k.parts);
    }
    k.lines[k.parts] = lines;
    *to = (ThnSparseMade){0};
    thn_parallel((long)k.parts, fill_task, &k);
    const npy_intp stored = add_up(&k);
    const int wide = length > INT32_MAX || lines > INT32_MAX || stored > INT32_MAX;
    k.loops = loops_for(typenum, item, wide);
    k.fill = k.loops->from_dense;
    if (made_alloc(to, lines, stored, wide, item) < 0) {
        return -2;
    }
    memset(to->indptr, 0, (size_t)k.loops->index);
    memcpy(k.room, k.found, sizeof k.room);
    k.data = to->data;
    k.indices = to->indices;
    thn_parallel((long)k.parts, fill_task, &k);
    if (k.bad) {
        /* Another thread wrote to the matrix in between. */
        thn_sparse_made_free(to);
        return -1;
    }
    add_up(&k);
    thn_parallel((long)k.parts, gather_task, &k);
    return 0;
}

/* ---- dense matrices, sums */

typedef struct {
    const ThnPlaces *s;
    const Loops *loops;
    npy_intp parts, of_line, of_index;
    char *to;
    atomic_int bad;
} Lines;

static void add_dense_task(void *ctx, long task)
{
    Lines *k = ctx;
    const npy_intp l0 = part_start(k->s, NULL, task, k->parts), l1 = part_start(k->s, NULL, task + 1, k->parts);
    if (k->loops->add_dense(k->s, l0, l1, k->to, k->of_line, k->of_index) < 0) {
        k->bad = 1;
    }
}

int thn_sparse_add_dense(const ThnPlaces *s, int typenum, int item, char *dense, const npy_intp *strides)
{
    Lines k = {s, loops_for(typenum, item, s->wide), 1, strides[s->csc ? 1 : 0], strides[s->csc ? 0 : 1], dense, 0};
    k.parts = thn_worth(3.0 * (double)s->stored + (double)s->lines, MOST_PARTS);
    thn_parallel((long)k.parts, add_dense_task, &k);
    return k.bad ? -1 : 0;
}

static void sum_lines_task(void *ctx, long task)
{
    Lines *k = ctx;
    k->loops->sum_lines(k->s, part_start(k->s, NULL, task, k->parts), part_start(k->s, NULL, task + 1, k->parts), k->to);
}

int thn_sparse_sum(const ThnPlaces *s, int typenum, int item, int of_lines, char *to)
{
    const Loops *loops = loops_for(typenum, item, s->wide);
    if (!of_lines) {
        return loops->sum_indices(s, to);
    }
    Lines k = {.s = s, .loops = loops, .parts = thn_worth((double)(s->stored + s->lines), MOST_PARTS), .to = to};
    thn_parallel((long)k.parts, sum_lines_task, &k);
    return 0;
}

/* ---- other formats, some of the lines: values are moved by their size */

#define MOVE(SIZE)                                                                                                      \
    for (npy_intp line = 0; line < s->lines; line++) {                                                                  \
        const npy_intp end = number_at(s->indptr, s->wide, line + 1);                                                   \
        for (npy_intp k = number_at(s->indptr, s->wide, line); k < end; k++) {                                          \
            const npy_intp i = number_at(s->indices, s->wide, k);                                                       \
            npy_intp at;                                                                                                \
            if ((npy_uintp)i >= (npy_uintp)s->length) {                                                                 \
                thn_sparse_made_free(to);                                                                               \
                return -1;                                                                                              \
            }                                                                                                           \
            if (s->wide) {                                                                                              \
                at = (npy_intp)((int64_t *)to->indptr)[i + 1]++;                                                        \
                ((int64_t *)to->indices)[at] = line;                                                                    \
            } else {                                                                                                    \
                at = ((int32_t *)to->indptr)[i + 1]++;                                                                  \
                ((int32_t *)to->indices)[at] = (int32_t)line;                                                           \
            }                                                                                                           \
            memcpy(to->data + at * SIZE, (const char *)s->data + k * SIZE, SIZE);                                       \
        }                                                                                                               \
    }                                                                                                                   \
    break;

int thn_sparse_turn(const ThnPlaces *s, int item, ThnSparseMade *to)
{
    if (made_alloc(to, s->length, s->stored, s->wide, item) < 0) {
        return -2;
    }
    memset(to->indptr, 0, (size_t)(s->length + 1) * (s->wide ? 8 : 4));
    for (npy_intp k = 0; k < s->stored; k++) {
        const npy_intp i = number_at(s->indices, s->wide, k);
        if ((npy_uintp)i >= (npy_uintp)s->length) {
            thn_sparse_made_free(to);
            return -1;
        }
        /* Counted one place on: what stands at i + 1 is where line i begins, and is where it ends when it is filled. */
        if (i + 2 <= s->length) {
            if (s->wide) {
                ((int64_t *)to->indptr)[i + 2]++;
            } else {
                ((int32_t *)to->indptr)[i + 2]++;
            }
        }
    }
    for (npy_intp i = 2; i <= s->length; i++) {
        if (s->wide) {
            ((int64_t *)to->indptr)[i] += ((int64_t *)to->indptr)[i - 1];
        } else {
            ((int32_t *)to->indptr)[i] += ((int32_t *)to->indptr)[i - 1];
        }
    }
    switch (item) {
    case 1: MOVE(1)
    case 2: MOVE(2)
    case 4: MOVE(4)
    case 8: MOVE(8)
    default: MOVE(16)
    }
    return 0;
}

typedef struct {
    const ThnPlaces *s;
    const int64_t *which;
    npy_intp n, parts;
    int item;
    ThnSparseMade *to;
} Taken;

static void take_task(void *ctx, long task)
{
    const Taken *w = ctx;
    const npy_intp first = w->n * task / w->parts, last = w->n * (task + 1) / w->parts;
    const int item = w->item, index = w->s->wide ? 8 : 4;
    for (npy_intp i = first; i < last; i++) {
        const npy_intp line = (npy_intp)(w->which[i] < 0 ? w->which[i] + w->s->lines : w->which[i]);
        const npy_intp from = number_at(w->s->indptr, w->s->wide, line), at = number_at(w->to->indptr, w->s->wide, i);
        const size_t n = (size_t)(number_at(w->to->indptr, w->s->wide, i + 1) - at);
        memcpy(w->to->data + at * item, (const char *)w->s->data + from * item, n * (size_t)item);
        memcpy(w->to->indices + at * index, (const char *)w->s->indices + from * index, n * (size_t)index);
    }
}

int thn_sparse_take(const ThnPlaces *s, int item, const int64_t *which, npy_intp n, ThnSparseMade *to)
{
    npy_intp stored = 0;
    for (npy_intp i = 0; i < n; i++) {
        if (which[i] < -s->lines || which[i] >= s->lines) {
            return -1;
        }
        const npy_intp line = (npy_intp)(which[i] < 0 ? which[i] + s->lines : which[i]);
        stored += number_at(s->indptr, s->wide, line + 1) - number_at(s->indptr, s->wide, line);
    }
    if (!s->wide && stored > INT32_MAX) {
        return -3;
    }
    if (made_alloc(to, n, stored, s->wide, item) < 0) {
        return -2;
    }
    stored = 0;
    for (npy_intp i = 0; i <= n; i++) {
        if (s->wide) {
            ((int64_t *)to->indptr)[i] = stored;
        } else {
            ((int32_t *)to->indptr)[i] = (int32_t)stored;
        }
        if (i < n) {
            const npy_intp line = (npy_intp)(which[i] < 0 ? which[i] + s->lines : which[i]);
            stored += number_at(s->indptr, s->wide, line + 1) - number_at(s->indptr, s->wide, line);
        }
    }
    Taken w = {s, which, n, thn_worth(2.0 * (double)stored + 10.0 * (double)n, MOST_PARTS), item, to};
    thn_parallel((long)w.parts, take_task, &w);
    return 0;
}

typedef struct {
    char *to;
    const char *from;
    npy_intp bytes, parts;
} Copied;

static void copy_task(void *ctx, long task)
{
    const Copied *w = ctx;
    const npy_intp first = w->bytes / w->parts * task, last = task + 1 == w->parts ? w->bytes : w->bytes / w->parts * (task + 1);
    memcpy(w->to + first, w->from + first, (size_t)(last - first));
}

void thn_sparse_copy(void *to, const void *from, npy_intp bytes)
{
    Copied w = {to, from, bytes, thn_worth(0.1 * (double)bytes, MOST_PARTS)};
    thn_parallel((long)w.parts, copy_task, &w);
}
