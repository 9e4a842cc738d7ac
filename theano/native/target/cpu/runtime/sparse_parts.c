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
    char *to; /* of values_of */
} Merge;

typedef struct {
    const char *from;
    npy_intp lines, length, of_line, of_index;
} Dense;

typedef struct {
    ThnPlaces s;
    int sort, drop, add; /* add: sorted values of one place */
} Tidied;

typedef struct {
    ThnPlaces s;
    char *to;
    npy_intp of_line, of_index; /* of a dense matrix */
} Added;

typedef struct {
    ThnPlaces s;
    const char *from;
    npy_intp of_line, of_index;
    char *to;
} Gathered;

#define INDEXED "sparse_parts_loops.h"
#include "for_values.h"

typedef struct {
    int (*increases)(const ThnPlaces *);
    ThnFilling merge_add, merge_multiply, from_dense, tidy;
    ThnOfLines values_of, values_at, add_dense, sum_lines;
    int (*sum_indices)(const ThnPlaces *, char *);
    int (*turn)(const ThnPlaces *, ThnSparseMade *);
    int (*stack)(const ThnPlaces *, int, int, ThnSparseMade *);
    int index, item;
} Loops;

#define OF(end)                                                                                                           \
    {increases##end, merge_add##end, merge_multiply##end, from_dense##end, tidy##end, values_of##end, values_at##end,     \
     add_dense##end, sum_lines##end, sum_indices##end, turn##end, stack##end, index_bytes##end, value_bytes##end}
static const Loops all_loops[][2] = FOR_VALUES(OF);

static const Loops *loops_for(int typenum, int item, int wide)
{
    return &all_loops[thn_sparse_type(typenum, item)][wide];
}

/* Of values that are moved as they are. */
static const Loops *moving_loops(int item, int wide)
{
    return loops_for(item == 16 ? NPY_CDOUBLE : NPY_INT64, item, wide);
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
    m->indptr = thn_pool_alloc((size_t)(lines + 2) * index); /* one more than there are, for where lines end while they are filled */
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
        thn_sparse_set(k->to->indptr, k->index == 8, line + 1, thn_sparse_number(k->to->indptr, k->index == 8, line + 1) + to);
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
    const Merge what = {*a, *b, NULL};
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

static int tidied(const Tidied *what, const Loops *loops, ThnSparseMade *to)
{
    const ThnPlaces *s = &what->s;
    ThnFilled k = {.index = loops->index, .item = loops->item, .what = what, .to = to, .fill = loops->tidy};
    k.parts = thn_worth((what->sort ? 8.0 : 2.0) * (double)s->stored + (double)s->lines, THN_MOST_PARTS);
    for (npy_intp part = 0; part <= k.parts; part++) {
        k.lines[part] = thn_sparse_part(s, NULL, part, k.parts);
        k.room[part] = thn_sparse_pointer(s, k.lines[part]);
    }
    return thn_sparse_filled(&k);
}

/* `s` with increasing indices, over the memory of `made`. */
static int made_canonical(ThnPlaces *s, const Loops *loops, ThnSparseMade *made)
{
    const Tidied what = {*s, .sort = 1, .add = 1};
    int r = loops->increases(s);
    if (r == 0) {
        r = tidied(&what, loops, made);
        *s = r < 0 ? *s : thn_sparse_of(made, s->length);
    }
    return r < 0 ? r : 0;
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
    const Tidied what = {*s, sort, drop, 0};
    return tidied(&what, loops_for(typenum, item, s->wide), to);
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
    const Loops *loops = loops_for(typenum, item, x->wide);
    ThnSparseMade made = {0};
    Merge what = {*x, *y, to};
    int r = made_canonical(&what.b, loops, &made);
    r = r < 0 ? r : thn_sparse_by_lines(&what, loops->values_of, 3.0 * (double)x->stored + (double)y->stored);
    thn_sparse_made_free(&made);
    return r;
}

int thn_sparse_values_at(const ThnPlaces *s, int item, const char *y, const npy_intp *strides, char *out)
{
    const Gathered w = {*s, y, strides[s->csc ? 1 : 0], strides[s->csc ? 0 : 1], out};
    return thn_sparse_by_lines(&w, moving_loops(item, s->wide)->values_at, 2.0 * (double)s->stored);
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

int thn_sparse_sum(const ThnPlaces *s, int typenum, int item, int of_lines, char *to)
{
    const Loops *loops = loops_for(typenum, item, s->wide);
    const Added w = {*s, to, 0, 0};
    return of_lines ? thn_sparse_by_lines(&w, loops->sum_lines, (double)(s->stored + s->lines)) : loops->sum_indices(s, to);
}

/* ---- other formats, some of the lines: values are moved by their size */

int thn_sparse_turn(const ThnPlaces *s, int item, ThnSparseMade *to)
{
    int r = made_alloc(to, s->length, s->stored, s->wide, item);
    r = r < 0 ? r : moving_loops(item, s->wide)->turn(s, to);
    if (r < 0) {
        thn_sparse_made_free(to);
    }
    return r;
}

int thn_sparse_stack(const ThnPlaces *s, int n, int item, int across, ThnSparseMade *to)
{
    npy_intp stored = 0, lines = 0;
    for (int k = 0; k < n; k++) {
        stored += s[k].stored;
        lines = across ? s[k].lines : lines + s[k].lines;
    }
    int r = made_alloc(to, lines, stored, s[0].wide, item);
    r = r < 0 ? r : moving_loops(item, s[0].wide)->stack(s, n, across, to);
    if (r < 0) {
        thn_sparse_made_free(to);
    }
    return r;
}

typedef struct {
    const ThnPlaces *s;
    const int64_t *which;
    int item;
    ThnSparseMade *to;
} Taken;

static int take_range(void *ctx, npy_intp first, npy_intp last)
{
    const Taken *w = ctx;
    const int item = w->item, index = w->s->wide ? 8 : 4;
    for (npy_intp i = first; i < last; i++) {
        const npy_intp line = (npy_intp)(w->which[i] < 0 ? w->which[i] + w->s->lines : w->which[i]);
        const npy_intp from = thn_sparse_pointer(w->s, line), at = thn_sparse_number(w->to->indptr, w->s->wide, i);
        const npy_intp count = thn_sparse_number(w->to->indptr, w->s->wide, i + 1) - at;
        /* Another thread may have changed the matrix in between. */
        const size_t n = from >= 0 && from + count <= w->s->stored ? (size_t)count : 0;
        memcpy(w->to->data + at * item, (const char *)w->s->data + from * item, n * (size_t)item);
        memcpy(w->to->indices + at * index, (const char *)w->s->indices + from * index, n * (size_t)index);
    }
    return 0;
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
        thn_sparse_set(to->indptr, s->wide, i, stored);
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
    Taken w = {s, which, item, to};
    thn_parallel_ranges(n, thn_share(2.0 * (double)stored + 10.0 * (double)n, n), take_range, &w);
    return 0;
}

typedef struct {
    char *to;
    const char *from;
} Copied;

static int copy_range(void *ctx, npy_intp first, npy_intp last)
{
    const Copied *w = ctx;
    memcpy(w->to + first, w->from + first, (size_t)(last - first));
    return 0;
}

void thn_sparse_copy(void *to, const void *from, npy_intp bytes)
{
    Copied w = {to, from};
    thn_parallel_ranges(bytes, thn_share(0.1 * (double)bytes, bytes), copy_range, &w);
}
