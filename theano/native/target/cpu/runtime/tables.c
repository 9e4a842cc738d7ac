/* Rows of tables: which they are, how they are moved, and the walk over all positions. */
#include "tables.h"
#include "threads.h"

#include <stdatomic.h>

int thn_table_open(ThnFrame *f, const ThnInstr *ins, const ThnCell *array, int first, int n, const int *axes, int at, int nd,
                   ThnTable *t)
{
    int adjacent = 1;
    for (int k = 0; k < n; k++) {
        t->index[k] = THN_IN(f, ins, first + k);
        t->axes[k] = axes[k];
        t->size[k] = array->dims[axes[k]];
        t->stride[k] = array->strides[axes[k]];
        adjacent &= k == 0 || axes[k] == axes[k - 1] + 1;
        nd = t->index[k]->ndim > nd ? t->index[k]->ndim : nd;
    }
    t->array = array;
    t->data = array->data;
    t->n = n;
    t->nd = nd;
    t->at = at >= 0 ? at : adjacent ? axes[0] : 0;
    THN_FAIL_IF(f, nd + array->ndim - n > THN_MAXDIM, PyExc_ValueError, "the result of indexing would have more than %d dimensions",
                THN_MAXDIM);
    for (int d = 0; d < nd; d++) {
        t->dims[d] = 1;
        t->along[d] = 0;
    }
    for (int k = 0; k < n; k++) {
        const int differs = thn_widen(t->index[k], nd, t->dims);
        THN_FAIL_IF(f, differs >= 0, PyExc_IndexError,
                    "shape mismatch: indexing arrays could not be broadcast together: sizes %lld and %lld in dimension %d",
                    (long long)t->dims[differs], (long long)t->index[k]->dims[differs - nd + t->index[k]->ndim], differs);
    }
    for (int k = 0; k < n; k++) {
        thn_broadcast_strides(t->index[k], nd, t->dims, t->strides[k]);
    }
    t->rest = 0;
    for (int i = 0, k = 0; i < array->ndim; i++) {
        if (!n && i >= t->at && i < t->at + nd) {
            t->dims[i - t->at] = array->dims[i];
            t->along[i - t->at] = array->strides[i];
        } else if (k < n && axes[k] == i) {
            k++;
        } else {
            t->rest_dims[t->rest] = array->dims[i];
            t->rest_strides[t->rest++] = array->strides[i];
        }
    }
    t->row = 1;
    t->dense = 1;
    for (int i = t->rest - 1; i >= 0; i--) {
        t->axis_of_rest[i] = i < t->at ? i : i + nd;
        t->full[t->axis_of_rest[i]] = t->rest_dims[i];
        t->dense &= t->rest_dims[i] == 1 || t->rest_strides[i] == t->row * array->itemsize;
        t->row *= t->rest_dims[i];
    }
    memcpy(t->full + t->at, t->dims, sizeof(npy_intp) * (size_t)nd);
    return 0;
}

int thn_within(const ThnCell *index, int64_t low, int64_t high, int64_t *outside)
{
    const int last = index->ndim - 1;
    const npy_intp n = last < 0 ? 1 : index->dims[last], step = last < 0 ? 0 : index->strides[last];
    const ThnReadInt get = thn_int_reader(index->typenum);
    const Dims g = {index->ndim, index->dims, index->strides, 0};
    npy_intp at[THN_MAXDIM] = {0};
    char *p = index->data;
    for (npy_intp rows = n ? thn_size(index) / n : 0; rows > 0; rows--) {
        for (npy_intp i = thn_offsets(index->typenum, p, step, n, high, low < 0, 0, 0, NULL) ? n : 0; i < n; i++) {
            *outside = get(p + i * step);
            if (*outside < low || *outside >= high) {
                return 0;
            }
        }
        thn_step(&g, last, 1, &p, at);
    }
    return 1;
}

int thn_table_check(ThnFrame *f, const ThnTable *t)
{
    const npy_intp count = thn_product(t->nd, t->dims);
    int64_t v;
    for (int k = 0; k < t->n && count; k++) {
        THN_FAIL_IF(f, !thn_within(t->index[k], -t->size[k], t->size[k], &v), PyExc_IndexError,
                    "index %lld is out of bounds for axis %d with size %lld", (long long)v, t->axes[k], (long long)t->size[k]);
    }
    return 0;
}

int thn_table_offsets(const ThnTable *t, char *const *ptr, const npy_intp *steps, int pitch, npy_intp n, npy_intp *offsets)
{
    for (int k = 0; k < t->n; k++) {
        if (!thn_offsets(t->index[k]->typenum, ptr[k], steps[k * pitch], n, t->size[k], 1, t->stride[k], k > 0, offsets)) {
            return 0;
        }
    }
    return 1;
}

void thn_load_run(const Dims *g, char **ptr, npy_intp *at, npy_intp n, ThnInner load, char *to, npy_intp item)
{
    const npy_intp step = g->n ? g->strides[g->n - 1] : 0;
    for (npy_intp some; n > 0; n -= some, to += some * item) {
        some = thn_least(thn_left(g, g->n, at), n);
        load(some, to, item, *ptr, step);
        thn_skip(g, g->n, some, 1, ptr, at);
    }
}

/* ---- rows */

#define FEW 8 /* rows below which what is around each is gone through one by one */

void thn_rows_open(ThnRows *r, const ThnTable *t, int how, const npy_intp *dims, const npy_intp *strides)
{
    Dims g = {0, r->dims, r->strides[0], THN_MAXDIM};
    r->typenum = t->array->typenum;
    r->how = how;
    r->item = r->bytes = t->array->itemsize;
    r->inner = how == THN_ADD ? thn_add_inner(r->typenum) : NULL;
    for (int i = 0; i < t->rest; i++) {
        r->bytes *= dims[i] > 0;
        r->dims[g.n] = dims[i];
        r->strides[0][g.n] = t->rest_strides[i];
        r->strides[1][g.n] = strides[i];
        g.n += dims[i] != 1;
    }
    thn_merge_dims(&g, 2);
    const int last = g.n - 1;
    r->rest = g.n;
    if (last >= 0 && r->strides[0][last] == r->item && r->strides[1][last] == r->item) {
        r->bytes *= r->dims[last];
        r->rest = last;
    }
}

/* The compiler makes one of it for each of the commonest lengths. */
__attribute__((always_inline)) static inline void copy_runs(npy_intp bytes, int write, char *x, const npy_intp *offsets,
                                                            const npy_intp *places, npy_intp n, char *other, npy_intp step)
{
    for (npy_intp i = 0; i < n; i++) {
        char *p = x + offsets[i], *q = other + (places ? places[i] : i) * step;
        if (bytes >= 64 && i + THN_AHEAD < n) {
            thn_fetch(x + offsets[i + THN_AHEAD], bytes);
        }
        memcpy(write ? p : q, write ? q : p, (size_t)bytes);
    }
}

#define COPY_RUNS(BYTES)                                                                       \
        if (r->how == THN_READ) {                                                              \
            copy_runs(BYTES, 0, x, offsets, NULL, n, other, step);                             \
        } else {                                                                               \
            copy_runs(BYTES, 1, x, offsets, NULL, n, other, step);                             \
        }                                                                                      \
        return;

#define SHORT 32 /* elements of a row for which a call is not worth it */
#define ADD_EACH(T, LENGTH, PLACE)                                                             \
    for (npy_intp i = 0; i < n; i++) {                                                         \
        T *to = (T *)(x + offsets[i]);                                                         \
        const T *from = (const T *)(other + (PLACE) * step);                                   \
        for (npy_intp e = 0; e < LENGTH; e++) {                                                \
            to[e] += from[e];                                                                  \
        }                                                                                      \
    }
#define ADD_RUNS(TYPENUM, T)                                                                   \
    case TYPENUM:                                                                              \
        if (places) {                                                                          \
            ADD_EACH(T, length, places[i])                                                     \
        } else if (length == 1) {                                                              \
            ADD_EACH(T, 1, i)                                                                  \
        } else {                                                                               \
            ADD_EACH(T, length, i)                                                             \
        }                                                                                      \
        return;

/* Runs, in their order, so that those that are added to the same place are summed; `places` (NULL: one after the other) apart in the
 * other array. */
static void move_runs(const ThnRows *r, char *x, const npy_intp *offsets, const npy_intp *places, npy_intp n, char *other,
                      npy_intp step)
{
    const npy_intp bytes = r->bytes, length = bytes / r->item;
    if (!r->inner) {
        if (r->how == THN_READ && !places && step == bytes) {
            const npy_intp done = thn_fetch_items(bytes, x, offsets, n, other);
            offsets += done;
            other += done * step;
            n -= done;
        }
        switch (places ? 0 : bytes) {
        case 0: copy_runs(bytes, r->how != THN_READ, x, offsets, places, n, other, step); return;
        case 1: COPY_RUNS(1)
        case 2: COPY_RUNS(2)
        case 4: COPY_RUNS(4)
        case 8: COPY_RUNS(8)
        case 16: COPY_RUNS(16)
        case 32: COPY_RUNS(32)
        case 64: COPY_RUNS(64)
        default: COPY_RUNS(bytes)
        }
    }
    switch (length <= SHORT ? r->typenum : NPY_NOTYPE) {
        ADD_RUNS(NPY_FLOAT, float)
        ADD_RUNS(NPY_DOUBLE, double)
        ADD_RUNS(NPY_INT32, uint32_t)
        ADD_RUNS(NPY_INT64, uint64_t)
    default: break;
    }
    for (npy_intp i = 0; i < n; i++) {
        if (i + THN_AHEAD < n) {
            thn_fetch(x + offsets[i + THN_AHEAD], bytes);
        }
        r->inner(length, x + offsets[i], r->item, other + (places ? places[i] : i) * step, r->item);
    }
}

void thn_rows_move(const ThnRows *r, char *x, const npy_intp *offsets, npy_intp n, char *other, npy_intp step)
{
    if (r->bytes == 0) {
        return;
    }
    if (r->rest == 0) {
        move_runs(r, x, offsets, NULL, n, other, step);
        return;
    }
    if (n < FEW && r->bytes == r->item) {
        const ThnInner inner = r->inner ? r->inner : thn_copy_inner((int)r->item);
        for (npy_intp i = 0; i < n; i++, other += step) {
            if (r->how == THN_READ) {
                thn_loop2(r->rest, r->dims, other, r->strides[1], x + offsets[i], r->strides[0], inner);
            } else {
                thn_loop2(r->rest, r->dims, x + offsets[i], r->strides[0], other, r->strides[1], inner);
            }
        }
        return;
    }
    const Dims g = {r->rest, (npy_intp *)r->dims, (npy_intp *)r->strides, THN_MAXDIM};
    npy_intp at[THN_MAXDIM] = {0};
    char *ptr[2] = {x, other};
    for (npy_intp around = thn_product(r->rest, r->dims); around > 0; around--) {
        move_runs(r, ptr[0], offsets, NULL, n, ptr[1], step);
        thn_step(&g, g.n, 2, ptr, at);
    }
}

/* ---- the walk over all positions */

#define BLOCK 512                     /* positions whose offsets are worked out at once */
#define LINE 64
#define ROWS_BYTES (512 << 10)        /* bytes of rows from which on they are split */
#define SPLIT_ITEMS 32768             /* single elements from which on they are split */
#define MORE_ITEMS 16384              /* single elements that are worth one more task */
#define MORE_BYTES (256 << 10)

enum { OTHER, TABLE, INDEX };         /* what walks the index dims: the other array, the table itself, the index arrays */

typedef struct {
    const ThnTable *t;
    ThnRows rows;
    Dims dims;
    npy_intp shape[THN_MAXDIM], strides[INDEX + THN_MAXDIM][THN_MAXDIM];
    char *ptr[INDEX + THN_MAXDIM];
    npy_intp total;
    npy_intp chunk, part, slice;      /* positions, bytes of a run, entries of the first dim around it that a task takes */
    npy_intp kinds;                   /* of pages, each a task's, if greater than 1 */
    atomic_int bad;
} Walk;

/* Of a block's rows those that begin in one kind of pages. */
static void move_kind(const Walk *w, npy_intp kind, char *x, const npy_intp *offsets, npy_intp n, char *other, npy_intp step)
{
    npy_intp chosen[BLOCK], places[BLOCK], found = 0;
    for (npy_intp i = 0; i < n; i++) {
        chosen[found] = offsets[i];
        places[found] = i;
        found += thn_page_kind(x + offsets[i], w->kinds) == kind;
    }
    move_runs(&w->rows, x, chosen, places, found, other, step);
}

static void walk_task(void *ctx, long task)
{
    Walk *w = ctx;
    ThnRows own, *r = &w->rows;
    const Dims *g = &w->dims;
    const int last = g->n - 1, ops = INDEX + w->t->n;
    npy_intp at[THN_MAXDIM], offsets[BLOCK], start = 0, stop = w->total;
    const npy_intp *steps = g->strides + last, step = steps[OTHER * g->cap], own_step = steps[TABLE * g->cap];
    char *ptr[INDEX + THN_MAXDIM];
    memcpy(ptr, w->ptr, sizeof *ptr * (size_t)ops);
    if (w->chunk) {
        start = task * w->chunk;
        stop = w->total - start < w->chunk ? w->total : start + w->chunk;
    } else if (w->slice || w->part) {
        const npy_intp most = w->slice ? w->slice : w->part, from = task * most;
        npy_intp *length = w->slice ? &own.dims[0] : &own.bytes;
        own = *r;
        *length = thn_least(*length - from, most);
        ptr[TABLE] += from * (w->slice ? r->strides[0][0] : 1);
        ptr[OTHER] += from * (w->slice ? r->strides[1][0] : 1);
        r = &own;
    }
    thn_seek(g, g->n, start, ops, ptr, at);
    for (npy_intp position = start, n; position < stop; position += n) {
        n = stop - position < BLOCK ? stop - position : BLOCK;
        n = thn_left(g, g->n, at) < n ? thn_left(g, g->n, at) : n;
        if (!thn_table_offsets(w->t, ptr + INDEX, steps + INDEX * g->cap, g->cap, n, offsets)) {
            atomic_store(&w->bad, 1);
            return;
        }
        for (npy_intp i = 1; own_step && i < n; i++) {
            offsets[i] += i * own_step;
        }
        if (w->kinds > 1) {
            move_kind(w, task, ptr[TABLE], offsets, n, ptr[OTHER], step);
        } else {
            thn_rows_move(r, ptr[TABLE], offsets, n, ptr[OTHER], step);
        }
        thn_skip(g, g->n, n, ops, ptr, at);
    }
}

/* Reading is split by positions. Writing is split by what lies at each position, so that every element sees the positions in
 * their order: by columns, or by the pages in which the rows of a large table begin. Returns the number of tasks. */
static npy_intp split(Walk *w)
{
    const ThnRows *r = &w->rows;
    const npy_intp threads = thn_get_threads();
    const npy_intp runs = w->total * thn_product(r->rest, r->dims), rows = r->bytes > r->item;
    npy_intp reach = 0, most = rows ? runs * r->bytes / MORE_BYTES : runs / MORE_ITEMS;
    if (threads < 2 || (rows ? runs * r->bytes < ROWS_BYTES : runs < SPLIT_ITEMS)) {
        return 1;
    }
    if (r->how == THN_READ && (rows || w->total >= SPLIT_ITEMS)) {
        most = most < 4 * threads ? most : 4 * threads;
        most = most < w->total ? most : w->total;
        w->chunk = (w->total + most - 1) / most;
        return (w->total + w->chunk - 1) / w->chunk;
    }
    most = most < threads ? most : threads;
    if (r->rest && r->dims[0] > 1) {
        w->slice = (r->dims[0] + most - 1) / most;
        return (r->dims[0] + w->slice - 1) / w->slice;
    }
    for (int k = 0; k < w->t->n; k++) {
        const npy_intp bytes = w->t->size[k] * thn_magnitude(w->t->stride[k]);
        reach = bytes > reach ? bytes : reach;
    }
    if (!r->rest && (w->kinds = thn_page_kinds(reach, most)) > 1) {
        return w->kinds;
    }
    if (r->bytes >= 4 * LINE) {
        w->part = ((r->bytes + most - 1) / most + LINE - 1) / LINE * LINE;
        return (r->bytes + w->part - 1) / w->part;
    }
    return 1;
}

int thn_table_move(const ThnTable *t, int how, char *other, const npy_intp *strides)
{
    Walk w;
    npy_intp rest[THN_MAXDIM];
    w.t = t;
    w.total = thn_product(t->nd, t->dims);
    w.chunk = w.part = w.slice = w.kinds = 0;
    w.dims = (Dims){t->nd == 0, w.shape, w.strides[0], THN_MAXDIM}; /* no dims: one position */
    w.shape[0] = 1;
    w.ptr[OTHER] = other;
    w.ptr[TABLE] = t->data;
    w.strides[OTHER][0] = w.strides[TABLE][0] = 0;
    for (int k = 0; k < t->n; k++) {
        w.ptr[INDEX + k] = t->index[k]->data;
        w.strides[INDEX + k][0] = 0;
    }
    for (int d = 0; d < t->nd; d++) {
        const int i = w.dims.n;
        if (t->dims[d] == 1 && (i || d < t->nd - 1)) {
            continue;
        }
        w.shape[i] = t->dims[d];
        w.strides[OTHER][i] = strides[t->at + d];
        w.strides[TABLE][i] = t->along[d];
        for (int k = 0; k < t->n; k++) {
            w.strides[INDEX + k][i] = t->strides[k][d];
        }
        w.dims.n++;
    }
    for (int i = 0; i < t->rest; i++) {
        rest[i] = strides[t->axis_of_rest[i]];
    }
    thn_rows_open(&w.rows, t, how, t->rest_dims, rest);
    if (w.total == 0 || w.rows.bytes == 0) {
        return 1;
    }
    thn_merge_dims(&w.dims, INDEX + t->n);
    atomic_init(&w.bad, 0);
    thn_parallel((long)split(&w), walk_task, &w);
    return !atomic_load(&w.bad);
}
