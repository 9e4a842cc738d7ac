/* Sparse matrices by their parts: sums and products of two, dense matrices of them and with them, sums of their values, other
 * formats, lines. Integers are taken by their size: sums and products are the same modulo its power of two. */
#include "sparse_parts.h"
#include "plan.h"
#include "pool.h"
#include "threads.h"

#include <complex.h>
#include <stdatomic.h>

/* More lines or values are in no memory; their bytes can be computed. */
#define MOST_LINES ((npy_intp)1 << 46)

typedef struct {
    ThnPlaces a, b;
} Merge;

typedef struct {
    const char *from;
    npy_intp lines, length, of_line, of_index;
} Dense;

typedef struct {
    ThnPlaces s;
    int sort, drop;
} Tidied;

typedef struct {
    ThnPlaces s;
    char *to;
    npy_intp of_line, of_index;
} Added;

#define INDEXED "sparse_parts_loops.h"
#include "for_values.h"

typedef struct {
    int (*increases)(const ThnPlaces *, int *);
    int (*canonical)(const ThnPlaces *, void *, void *, void *, void *, npy_intp);
    ThnFilling merge_add, merge_multiply, from_dense;
    npy_intp (*tidy)(const void *, npy_intp, npy_intp, char *, char *, void *, npy_intp);
    int (*values_of)(const ThnPlaces *, const ThnPlaces *, npy_intp, npy_intp, char *);
    ThnOfLines add_dense;
    void (*sum_lines)(const ThnPlaces *, npy_intp, npy_intp, char *);
    int (*sum_indices)(const ThnPlaces *, char *);
    int index, item;
} Loops;

#define OF(end)                                                                                                           \
    {increases##end, canonical##end, merge_add##end, merge_multiply##end, from_dense##end, tidy##end, values_of##end,     \
     add_dense##end, sum_lines##end, sum_indices##end, index_bytes##end, value_bytes##end}
static const Loops all_loops[][2] = FOR_VALUES(OF);

static const Loops *loops_for(int typenum, int item, int wide)
{
    return &all_loops[thn_sparse_type(typenum, item)][wide];
}

int thn_sparse_type(int typenum, int item)
{
    return typenum == NPY_FLOAT ? 4 : typenum == NPY_DOUBLE ? 5 : typenum == NPY_CFLOAT ? 6 : typenum == NPY_CDOUBLE ? 7
           : item == 1 ? 0 : item == 2 ? 1 : item == 4 ? 2 : 3;
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

static void set_number(void *numbers, int wide, npy_intp i, npy_intp v)
{
    if (wide) {
        ((int64_t *)numbers)[i] = v;
    } else {
        ((int32_t *)numbers)[i] = (int32_t)v;
    }
}

npy_intp thn_sparse_part(const ThnPlaces *a, const ThnPlaces *b, npy_intp part, npy_intp parts)
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

static void fill_task(void *ctx, long task)
{
    ThnFilled *k = ctx;
    const npy_intp at = k->room[task];
    char *ends = k->to->indptr;
    const npy_intp n = k->fill(k->what, k->lines[task], k->lines[task + 1], k->data ? k->data + at * k->item : NULL,
                               k->data ? k->indices + at * k->index : NULL, ends ? ends + k->index : NULL, k->room[task + 1] - at);
    k->found[task] = n;
    if (n < 0) {
        k->failed = (int)n;
    }
}

/* Moves a part to its place, `room` says where that is. */
static void gather_task(void *ctx, long task)
{
    ThnFilled *k = ctx;
    const npy_intp from = k->room[task], to = k->found[task], n = k->found[task + 1] - to;
    if (k->data != k->to->data) {
        memcpy(k->to->data + to * k->item, k->data + from * k->item, (size_t)(n * k->item));
        memcpy(k->to->indices + to * k->index, k->indices + from * k->index, (size_t)(n * k->index));
    }
    for (npy_intp line = k->lines[task]; to && line < k->lines[task + 1]; line++) {
        set_number(k->to->indptr, k->index == 8, line + 1, number_at(k->to->indptr, k->index == 8, line + 1) + to);
    }
}

/* found[k]: where part k begins among all. */
static npy_intp add_up(ThnFilled *k)
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

int thn_sparse_filled(ThnFilled *k)
{
    ThnSparseMade *to = k->to;
    const npy_intp lines = k->lines[k->parts], room = k->room[k->parts] + 1;
    *to = (ThnSparseMade){.lines = lines, .wide = k->index == 8};
    for (npy_intp part = 0; part < k->parts; part++) {
        if (k->room[part] < 0 || k->room[part] > k->room[part + 1] || k->lines[part] > k->lines[part + 1]) {
            return -1; /* another thread changed the matrix that they were read from */
        }
    }
    if (lines >= MOST_LINES || room >= MOST_LINES) {
        return -2;
    }
    to->indptr = thn_pool_alloc((size_t)((lines + 1) * k->index));
    k->data = thn_pool_alloc((size_t)(room * k->item));
    k->indices = thn_pool_alloc((size_t)(room * k->index));
    int r = to->indptr && k->data && k->indices ? 0 : -2;
    if (r == 0) {
        memset(to->indptr, 0, (size_t)k->index);
        k->failed = 0;
        thn_parallel((long)k->parts, fill_task, k);
        r = k->failed;
    }
    if (r == 0) {
        to->stored = add_up(k);
        if (to->stored + to->stored / 4 + 512 >= room && k->parts == 1) {
            /* What was filled is about what is needed. */
            to->data = k->data;
            to->indices = k->indices;
            return 0;
        }
        to->data = thn_pool_alloc((size_t)((to->stored + 1) * k->item));
        to->indices = thn_pool_alloc((size_t)((to->stored + 1) * k->index));
        r = to->data && to->indices ? 0 : -2;
    }
    if (r == 0) {
        thn_parallel((long)k->parts, gather_task, k);
    } else {
        thn_sparse_made_free(to);
    }
    thn_pool_free(k->data);
    thn_pool_free(k->indices);
    return r;
}

static int merged(const ThnPlaces *a, const ThnPlaces *b, const Loops *loops, int multiply, ThnSparseMade *to)
{
    const Merge what = {*a, *b};
    ThnFilled k = {.index = loops->index, .item = loops->item, .what = &what, .to = to};
    k.fill = multiply ? loops->merge_multiply : loops->merge_add;
    /* The result is the same for any number of parts; one needs not be put together. */
    k.parts = thn_get_threads() > 1 ? thn_worth(3.0 * (double)(a->stored + b->stored) + 2.0 * (double)a->lines, THN_MOST_PARTS) : 1;
    for (npy_intp part = 0; part <= k.parts; part++) {
        const npy_intp line = k.lines[part] = thn_sparse_part(a, b, part, k.parts);
        k.room[part] = thn_sparse_pointer(a, line) + (multiply ? 0 : thn_sparse_pointer(b, line));
    }
    return thn_sparse_filled(&k);
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
        const npy_intp n = thn_sparse_pointer(s, line + 1) - thn_sparse_pointer(s, line);
        longest = n > longest && n <= s->stored ? n : longest; /* a longer one is found wrong */
    }
    if (bad) {
        return -1;
    }
    THN_POOLED void *work = thn_pool_alloc(4 * (size_t)loops->index * (size_t)longest);
    if (!work || made_alloc(made, s->lines, s->stored, s->wide, loops->item) < 0) {
        return -2;
    }
    const int r = loops->canonical(s, made->data, made->indices, made->indptr, work, longest);
    if (r < 0) {
        thn_sparse_made_free(made);
        return r;
    }
    s->data = made->data;
    s->indices = made->indices;
    s->indptr = made->indptr;
    s->stored = thn_sparse_pointer(s, s->lines);
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

int thn_sparse_tidy(const ThnPlaces *s, int typenum, int item, int sort, int drop, ThnSparseMade *to)
{
    const Loops *loops = loops_for(typenum, item, s->wide);
    const Tidied what = {*s, sort, drop};
    ThnFilled k = {.index = loops->index, .item = item, .what = &what, .to = to, .fill = loops->tidy};
    k.parts = thn_worth((sort ? 8.0 : 2.0) * (double)s->stored + (double)s->lines, THN_MOST_PARTS);
    for (npy_intp part = 0; part <= k.parts; part++) {
        k.lines[part] = thn_sparse_part(s, NULL, part, k.parts);
        k.room[part] = thn_sparse_pointer(s, k.lines[part]);
    }
    return thn_sparse_filled(&k);
}

typedef struct {
    const ThnPlaces *x, *y;
    const Loops *loops;
    npy_intp parts;
    char *to;
    atomic_int bad;
} Elements;

static void values_of_task(void *ctx, long task)
{
    Elements *k = ctx;
    const npy_intp l0 = thn_sparse_part(k->x, k->y, task, k->parts), l1 = thn_sparse_part(k->x, k->y, task + 1, k->parts);
    if (k->loops->values_of(k->x, k->y, l0, l1, k->to) < 0) {
        k->bad = 1;
    }
}

int thn_sparse_values_of(const ThnPlaces *x, const ThnPlaces *y, int typenum, int item, char *to)
{
    const size_t index = x->wide ? 8 : 4;
    if (x->stored == y->stored && memcmp(x->indptr, y->indptr, index * (size_t)(x->lines + 1)) == 0
        && memcmp(x->indices, y->indices, index * (size_t)x->stored) == 0) {
        /* A gradient with respect to the values that are stored, one by one, also where several have one place. */
        thn_sparse_copy(to, y->data, x->stored * item);
        return 0;
    }
    ThnSparseMade made = {0};
    ThnPlaces ordered = *y;
    Elements k = {x, &ordered, loops_for(typenum, item, x->wide), 1, to, 0};
    int r = made_canonical(&ordered, k.loops, &made);
    if (r == 0) {
        k.parts = thn_worth(3.0 * (double)x->stored + (double)ordered.stored, THN_MOST_PARTS);
        thn_parallel((long)k.parts, values_of_task, &k);
        r = k.bad ? -1 : 0;
    }
    thn_sparse_made_free(&made);
    return r;
}

int thn_sparse_from_dense(const char *dense, const npy_intp *strides, npy_intp lines, npy_intp length, int typenum, int item,
                          ThnSparseMade *to)
{
    if (lines >= MOST_LINES) {
        return -2;
    }
    const Dense what = {dense, lines, length, strides[0], strides[1]};
    const Loops *loops = loops_for(typenum, item, 0);
    ThnFilled k = {.index = loops->index, .item = item, .what = &what, .to = to, .fill = loops->from_dense};
    k.parts = thn_worth(0.7 * (double)lines * (double)length, THN_MOST_PARTS);
    for (npy_intp part = 0; part <= k.parts; part++) {
        k.lines[part] = (npy_intp)((double)lines * (double)part / (double)k.parts);
    }
    k.lines[k.parts] = lines;
    *to = (ThnSparseMade){0};
    thn_parallel((long)k.parts, fill_task, &k);
    const npy_intp stored = add_up(&k);
    const int wide = length > INT32_MAX || lines > INT32_MAX || stored > INT32_MAX;
    loops = loops_for(typenum, item, wide);
    k.fill = loops->from_dense;
    k.index = loops->index;
    if (made_alloc(to, lines, stored, wide, item) < 0) {
        return -2;
    }
    memset(to->indptr, 0, (size_t)k.index);
    memcpy(k.room, k.found, sizeof k.room);
    k.data = to->data;
    k.indices = to->indices;
    thn_parallel((long)k.parts, fill_task, &k);
    if (k.failed) {
        /* Another thread wrote to the matrix in between. */
        thn_sparse_made_free(to);
        return -1;
    }
    add_up(&k);
    thn_parallel((long)k.parts, gather_task, &k);
    return 0;
}

/* ---- dense matrices, sums */

int thn_sparse_add_dense(const ThnPlaces *s, int typenum, int item, char *dense, const npy_intp *strides)
{
    const Added w = {*s, dense, strides[s->csc ? 1 : 0], strides[s->csc ? 0 : 1]};
    return thn_sparse_by_lines(&w, loops_for(typenum, item, s->wide)->add_dense, 3.0 * (double)s->stored + (double)s->lines);
}

typedef struct {
    const ThnPlaces *s;
    const Loops *loops;
    npy_intp parts;
    char *to;
} Lines;

static void sum_lines_task(void *ctx, long task)
{
    Lines *k = ctx;
    k->loops->sum_lines(k->s, thn_sparse_part(k->s, NULL, task, k->parts), thn_sparse_part(k->s, NULL, task + 1, k->parts), k->to);
}

int thn_sparse_sum(const ThnPlaces *s, int typenum, int item, int of_lines, char *to)
{
    const Loops *loops = loops_for(typenum, item, s->wide);
    if (!of_lines) {
        return loops->sum_indices(s, to);
    }
    Lines k = {.s = s, .loops = loops, .parts = thn_worth((double)(s->stored + s->lines), THN_MOST_PARTS), .to = to};
    thn_parallel((long)k.parts, sum_lines_task, &k);
    return 0;
}

/* ---- other formats, some of the lines: values are moved by their size */

#define MOVE(SIZE)                                                                                                      \
    for (npy_intp line = 0, k = 0; line < s->lines; line++) {                                                           \
        const npy_intp end = thn_sparse_pointer(s, line + 1);                                                           \
        int wrong = !thn_sparse_within(s, k, end) || (line == s->lines - 1 && end != s->stored);                        \
        for (; k < end && !wrong; k++) {                                                                                \
            const npy_intp i = number_at(s->indices, s->wide, k);                                                       \
            npy_intp at;                                                                                                \
            if ((npy_uintp)i >= (npy_uintp)s->length) {                                                                 \
                wrong = 1;                                                                                              \
                break;                                                                                                  \
            }                                                                                                           \
            if (s->wide) {                                                                                              \
                at = (npy_intp)((int64_t *)to->indptr)[i + 1]++;                                                        \
            } else {                                                                                                    \
                at = ((int32_t *)to->indptr)[i + 1]++;                                                                  \
            }                                                                                                           \
            if (at >= s->stored) {                                                                                      \
                wrong = 1;                                                                                              \
                break;                                                                                                  \
            }                                                                                                           \
            if (s->wide) {                                                                                              \
                ((int64_t *)to->indices)[at] = line;                                                                    \
            } else {                                                                                                    \
                ((int32_t *)to->indices)[at] = (int32_t)line;                                                           \
            }                                                                                                           \
            memcpy(to->data + at * SIZE, (const char *)s->data + k * SIZE, SIZE);                                       \
        }                                                                                                               \
        if (wrong) {                                                                                                    \
            thn_sparse_made_free(to); /* another thread changed the matrix */                                           \
            return -1;                                                                                                  \
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

#define STACK(INDEX)                                                                                                    \
    for (npy_intp line = 0; line < to->lines || (!across && part < n);) {                                               \
        npy_intp offset = 0;                                                                                            \
        for (; part < n; part++) {                                                                                      \
            const ThnPlaces *m = &s[part];                                                                              \
            const INDEX *indices = m->indices, *indptr = m->indptr;                                                     \
            INDEX *to_indices = (INDEX *)to->indices, *to_indptr = (INDEX *)to->indptr;                                 \
            const npy_intp first = across ? line : 0, last = across ? line + 1 : m->lines;                              \
            const npy_intp start = indptr[first], end = indptr[last];                                                   \
            if (!thn_sparse_within(m, start, end) || at + end - start > to->stored) {                                              \
                return -1;                                                                                              \
            }                                                                                                           \
            memcpy(to->data + at * item, (const char *)m->data + start * item, (size_t)((end - start) * item));         \
            for (npy_intp k = start; k < end; k++) {                                                                    \
                const INDEX i = THN_ONCE(INDEX, indices + k);                                                           \
                wrong |= (npy_uintp)i >= (npy_uintp)m->length;                                                          \
                to_indices[at + k - start] = (INDEX)(i + offset);                                                       \
            }                                                                                                           \
            for (npy_intp i = first; i < last && !across; i++) {                                                        \
                to_indptr[++line] = (INDEX)(at + indptr[i + 1] - start);                                                \
            }                                                                                                           \
            at += end - start;                                                                                          \
            offset += across ? m->length : 0;                                                                           \
        }                                                                                                               \
        if (across) {                                                                                                   \
            ((INDEX *)to->indptr)[++line] = (INDEX)at;                                                                  \
            part = 0;                                                                                                   \
        }                                                                                                               \
    }

static int stacked(const ThnPlaces *s, int n, int item, int across, ThnSparseMade *to)
{
    npy_intp at = 0;
    int part = 0, wrong = 0;
    memset(to->indptr, 0, to->wide ? 8 : 4);
    if (to->wide) {
        STACK(int64_t)
    } else {
        STACK(int32_t)
    }
    return wrong ? -1 : 0;
}

int thn_sparse_stack(const ThnPlaces *s, int n, int item, int across, ThnSparseMade *to)
{
    npy_intp stored = 0, lines = 0;
    for (int k = 0; k < n; k++) {
        stored += s[k].stored;
        lines = across ? s[k].lines : lines + s[k].lines;
    }
    int r = made_alloc(to, lines, stored, s[0].wide, item);
    r = r < 0 ? r : stacked(s, n, item, across, to);
    if (r < 0) {
        thn_sparse_made_free(to);
    }
    return r;
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
        const npy_intp from = thn_sparse_pointer(w->s, line), at = number_at(w->to->indptr, w->s->wide, i);
        const npy_intp count = number_at(w->to->indptr, w->s->wide, i + 1) - at;
        /* Another thread may have changed the matrix in between. */
        const size_t n = from >= 0 && from + count <= w->s->stored ? (size_t)count : 0;
        memcpy(w->to->data + at * item, (const char *)w->s->data + from * item, n * (size_t)item);
        memcpy(w->to->indices + at * index, (const char *)w->s->indices + from * index, n * (size_t)index);
    }
}

/* How many values a line has; -1: another thread changed the matrix. */
static npy_intp length_of(const ThnPlaces *s, npy_intp line)
{
    const npy_intp start = thn_sparse_pointer(s, line), end = thn_sparse_pointer(s, line + 1);
    return thn_sparse_within(s, start, end) ? end - start : -1;
}

int thn_sparse_take(const ThnPlaces *s, int item, const int64_t *which, npy_intp n, ThnSparseMade *to)
{
    npy_intp stored = 0;
    for (npy_intp i = 0; i < n; i++) {
        if (which[i] < -s->lines || which[i] >= s->lines) {
            return -1;
        }
        const npy_intp n_line = length_of(s, (npy_intp)(which[i] < 0 ? which[i] + s->lines : which[i]));
        if (n_line < 0) {
            return -4;
        }
        stored += n_line;
    }
    if (!s->wide && stored > INT32_MAX) {
        return -3;
    }
    if (made_alloc(to, n, stored, s->wide, item) < 0) {
        return -2;
    }
    stored = 0;
    for (npy_intp i = 0; i <= n; i++) {
        set_number(to->indptr, s->wide, i, stored);
        if (i < n) {
            const npy_intp n_line = length_of(s, (npy_intp)(which[i] < 0 ? which[i] + s->lines : which[i]));
            if (n_line < 0 || n_line > to->stored - stored) {
                thn_sparse_made_free(to);
                return -4;
            }
            stored += n_line;
        }
    }
    if (stored != to->stored) {
        thn_sparse_made_free(to);
        return -4;
    }
    Taken w = {s, which, n, thn_worth(2.0 * (double)stored + 10.0 * (double)n, THN_MOST_PARTS), item, to};
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
    Copied w = {to, from, bytes, thn_worth(0.1 * (double)bytes, THN_MOST_PARTS)};
    thn_parallel((long)w.parts, copy_task, &w);
}
