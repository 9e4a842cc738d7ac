/* Instructions: gathering and scattering by arrays of integers. All indices are checked before anything is written. */
#include "vm.h"
#include "copy.h"
#include "items.h"
#include "target.h"
#include "threads.h"

#include <stdatomic.h>
#include <stdlib.h>

typedef struct {
    int set, inplace;
    int mode;             /* what becomes of indices that are out of bounds */
    int first;            /* the first index input */
    int n;                /* number of index inputs */
    int adjacent;
    int axes[THN_MAXDIM];
} Adv;

typedef struct {
    int nd;                                   /* of the broadcast indices */
    int rest;                                 /* dimensions of x that are taken whole */
    int unchecked;                            /* the indices are checked while they are used */
    npy_intp dims[THN_MAXDIM];                /* of the broadcast indices */
    npy_intp full[THN_MAXDIM];                /* of the result */
    int at;                                   /* where the index dims are in the result */
    npy_intp rest_dims[THN_MAXDIM];
    npy_intp rest_strides[THN_MAXDIM];        /* in x */
    npy_intp idx_strides[THN_MAXDIM][THN_MAXDIM];
} AdvPlan;

static int adv_axes(ThnProgram *p, ThnInstr *ins, Adv *a, PyObject *axes)
{
    PyObject *fast = PySequence_Fast(axes, "the indexed axes must be a sequence");
    if (!fast) {
        return -1;
    }
    a->n = (int)PySequence_Fast_GET_SIZE(fast);
    int nd = p->cells[ins->ins[0]].ndim, ok = a->n > 0 && a->n == ins->nin - a->first && a->n <= nd;
    a->adjacent = 1;
    for (int k = 0; ok && k < a->n; k++) {
        a->axes[k] = (int)PyLong_AsLong(PySequence_Fast_GET_ITEM(fast, k));
        ok = a->axes[k] >= 0 && a->axes[k] < nd && (k == 0 || a->axes[k] > a->axes[k - 1])
            && thn_int_reader(p->cells[ins->ins[a->first + k]].typenum);
        a->adjacent &= k == 0 || a->axes[k] == a->axes[k - 1] + 1;
    }
    Py_DECREF(fast);
    if (!ok) {
        PyErr_SetString(PyExc_ValueError, "advanced indexing: increasing axes of the array, one integer index for each");
        return -1;
    }
    return 0;
}

static int adv_get_init(ThnProgram *p, ThnInstr *ins, PyObject *params)
{
    PyObject *axes;
    Adv *a = thn_alloc(sizeof *a);
    ins->data = a;
    if (!a || !PyArg_ParseTuple(params, "O", &axes)) {
        return -1;
    }
    a->first = 1;
    return adv_axes(p, ins, a, axes);
}

static int adv_inc_init(ThnProgram *p, ThnInstr *ins, PyObject *params)
{
    PyObject *axes;
    Adv *a = thn_alloc(sizeof *a);
    ins->data = a;
    if (!a || !PyArg_ParseTuple(params, "Opp", &axes, &a->set, &a->inplace)) {
        return -1;
    }
    a->first = 2;
    return adv_axes(p, ins, a, axes);
}

/* Checks that every element of an index is within the axis. */
static int check_index(ThnFrame *f, const ThnCell *index, npy_intp size, int axis)
{
    npy_intp at[THN_MAXDIM] = {0};
    ThnReadInt get = thn_int_reader(index->typenum);
    const char *p = index->data;
    if (thn_size(index) == 0) {
        return 0;
    }
    int last = index->ndim - 1;
    npy_intp n = last < 0 ? 1 : index->dims[last], s = last < 0 ? 0 : index->strides[last];
    for (;;) {
        const npy_intp unsure = thn_all_within(index->typenum, p, s, n, size) ? 0 : n;
        for (npy_intp i = 0; i < unsure; i++) {
            int64_t v = get(p + i * s);
            if (v < -size || v >= size) {
                return thn_error(f, PyExc_IndexError, "index %lld is out of bounds for axis %d with size %lld",
                                 (long long)v, axis, (long long)size);
            }
        }
        int k = last - 1;
        for (; k >= 0; k--) {
            p += index->strides[k];
            if (++at[k] < index->dims[k]) {
                break;
            }
            p -= index->strides[k] * index->dims[k];
            at[k] = 0;
        }
        if (k < 0) {
            return 0;
        }
    }
}

static AdvPlan *adv_plan(ThnFrame *f, const ThnInstr *ins, const ThnCell *x, int may_defer)
{
    const Adv *a = ins->data;
    AdvPlan *plan = thn_scratch(f, ins, sizeof *plan);
    if (!plan) {
        return NULL;
    }
    plan->nd = 0;
    for (int k = 0; k < a->n; k++) {
        const ThnCell *index = THN_IN(f, ins, a->first + k);
        plan->nd = index->ndim > plan->nd ? index->ndim : plan->nd;
    }
    for (int i = 0; i < plan->nd; i++) {
        plan->dims[i] = 1;
    }
    for (int k = 0; k < a->n; k++) {
        const ThnCell *index = THN_IN(f, ins, a->first + k);
        int skip = plan->nd - index->ndim;
        for (int i = 0; i < index->ndim; i++) {
            npy_intp n = index->dims[i], *have = &plan->dims[skip + i];
            if (n != 1 && *have != 1 && n != *have) {
                thn_error(f, PyExc_IndexError,
                          "shape mismatch: indexing arrays could not be broadcast together: sizes %lld and %lld in "
                          "dimension %d",
                          (long long)*have, (long long)n, skip + i);
                return NULL;
            }
            *have = n != 1 ? n : *have;
        }
    }
    int empty = 0;
    for (int i = 0; i < plan->nd; i++) {
        empty |= plan->dims[i] == 0;
    }
    plan->unchecked = may_defer;
    for (int k = 0; k < a->n; k++) {
        const ThnCell *index = THN_IN(f, ins, a->first + k);
        thn_broadcast_strides(index, plan->nd, plan->dims, plan->idx_strides[k]);
        if (!plan->unchecked && !empty && check_index(f, index, x->dims[a->axes[k]], a->axes[k]) < 0) {
            return NULL;
        }
    }
    plan->rest = 0;
    plan->at = a->adjacent ? a->axes[0] : 0;
    for (int i = 0, k = 0; i < x->ndim; i++) {
        if (k < a->n && a->axes[k] == i) {
            k++;
            continue;
        }
        plan->rest_dims[plan->rest] = x->dims[i];
        plan->rest_strides[plan->rest++] = x->strides[i];
    }
    if (plan->rest + plan->nd > THN_MAXDIM) {
        thn_error(f, PyExc_ValueError, "the result of indexing would have more than %d dimensions", THN_MAXDIM);
        return NULL;
    }
    int nd = 0;
    for (int i = 0; i < plan->at; i++) {
        plan->full[nd++] = plan->rest_dims[i];
    }
    for (int i = 0; i < plan->nd; i++) {
        plan->full[nd++] = plan->dims[i];
    }
    for (int i = plan->at; i < plan->rest; i++) {
        plan->full[nd++] = plan->rest_dims[i];
    }
    return plan;
}

/* ---- the walk over all positions */

#define BLOCK 512                     /* positions whose offsets are worked out at once */
#define LINE 64
#define AHEAD 4                       /* rows that are fetched ahead */
#define FEW 8                         /* positions below which whole rests are copied one by one */
#define ROWS_BYTES (512 << 10)        /* bytes of rows from which on they are split */
#define SPLIT_ITEMS 32768             /* single elements from which on they are split */
#define MORE_ITEMS 16384              /* single elements that are worth one more task */
#define MORE_BYTES (256 << 10)

typedef struct {
    const char *data;
    int typenum;
    npy_intp size, stride;            /* of the axis of x */
    npy_intp strides[THN_MAXDIM];
} Index;

/* other[position] = x[offset], or x[offset] op= other[position]. At each position lies a run of `bytes` that are side by side
 * in x and in `other`; the dimensions of the rest around it are gone through for every block of positions. */
typedef struct {
    char *x, *other;
    int n, nd, rest, write, mode;
    ThnInner inner;                   /* NULL: copy */
    int typenum;
    npy_intp item, bytes, total;
    npy_intp dims[THN_MAXDIM], other_strides[THN_MAXDIM];
    npy_intp rest_dims[THN_MAXDIM], rest_x[THN_MAXDIM], rest_other[THN_MAXDIM];
    npy_intp chunk, part, slice;      /* positions, bytes, entries of the first dimension of the rest that a task takes */
    npy_intp kinds;                   /* of pages, each a task's, if greater than 1 */
    atomic_int bad;
    Index *index;
} Walk;

/* What a task does. */
typedef struct {
    npy_intp start, stop, from, bytes, first, slices, kind;
} Share;

/* Runs of more than one element, of these of n places in `other`. */
static void move_rows(const Walk *w, char *x, const npy_intp *offsets, const npy_intp *places, npy_intp n, char *other,
                      npy_intp step, npy_intp bytes)
{
    const npy_intp fetched = bytes < 1024 ? bytes : 1024;
    for (npy_intp i = 0; i < n; i++) {
        char *p = x + offsets[i], *q = other + (places ? places[i] : i) * step;
        if (i + AHEAD < n) {
            const char *ahead = x + offsets[i + AHEAD];
            for (npy_intp k = 0; k < fetched; k += LINE) {
                __builtin_prefetch(ahead + k, 1);
            }
        }
        if (!w->inner) {
            memcpy(w->write ? p : q, w->write ? q : p, (size_t)bytes);
        } else {
            w->inner(bytes / w->item, p, w->item, q, w->item);
        }
    }
}

/* Of a block's rows those that begin in one kind of pages. */
static void move_kind(const Walk *w, npy_intp kind, const npy_intp *offsets, npy_intp n, char *other, npy_intp step)
{
    npy_intp chosen[BLOCK], places[BLOCK], found = 0;
    for (npy_intp i = 0; i < n; i++) {
        chosen[found] = offsets[i];
        places[found] = i;
        found += thn_page_kind(w->x + offsets[i], w->kinds) == kind;
    }
    move_rows(w, w->x, chosen, places, found, other, step, w->bytes);
}

static void move(const Walk *w, char *x, const npy_intp *offsets, npy_intp n, char *other, npy_intp step, npy_intp bytes)
{
    if (w->bytes > w->item) {
        move_rows(w, x, offsets, NULL, n, other, step, bytes);
    } else if (!w->write) {
        thn_read_items((int)w->item, x, offsets, n, other, step);
    } else if (!w->inner) {
        thn_write_items((int)w->item, x, offsets, n, other, step);
    } else {
        thn_add_items(w->typenum, x, offsets, n, other, step);
    }
}

/* A block of positions with all of the rest. */
static void move_block(const Walk *w, const Share *s, const npy_intp *offsets, npy_intp n, char *other, npy_intp step)
{
    npy_intp at[THN_MAXDIM] = {0}, dims[THN_MAXDIM];
    char *x = w->x + s->from;
    other += s->from;
    if (w->rest == 0) {
        move(w, x, offsets, n, other, step, s->bytes);
        return;
    }
    memcpy(dims, w->rest_dims, sizeof(npy_intp) * (size_t)w->rest);
    dims[0] = s->slices;
    x += s->first * w->rest_x[0];
    other += s->first * w->rest_other[0];
    if (w->total < FEW && w->bytes == w->item) {
        const ThnInner inner = w->inner ? w->inner : thn_copy_inner((int)w->item);
        for (npy_intp i = 0; i < n; i++, other += step) {
            if (w->write) {
                thn_loop2(w->rest, dims, x + offsets[i], w->rest_x, other, w->rest_other, inner);
            } else {
                thn_loop2(w->rest, dims, other, w->rest_other, x + offsets[i], w->rest_x, inner);
            }
        }
        return;
    }
    for (;;) {
        move(w, x, offsets, n, other, step, s->bytes);
        int i = w->rest - 1;
        for (; i >= 0; i--) {
            x += w->rest_x[i];
            other += w->rest_other[i];
            if (++at[i] < dims[i]) {
                break;
            }
            x -= w->rest_x[i] * dims[i];
            other -= w->rest_other[i] * dims[i];
            at[i] = 0;
        }
        if (i < 0) {
            return;
        }
    }
}

/* 0: an index is out of bounds. */
static int walk_share(const Walk *w, const Share *s)
{
    npy_intp at[THN_MAXDIM], offsets[BLOCK], rest = s->start;
    const char *idx[THN_MAXDIM];
    char *other = w->other;
    const int last = w->nd - 1;
    for (int k = 0; k < w->n; k++) {
        idx[k] = w->index[k].data;
    }
    for (int i = last; i >= 0; i--) {
        at[i] = rest % w->dims[i];
        rest /= w->dims[i];
        other += at[i] * w->other_strides[i];
        for (int k = 0; k < w->n; k++) {
            idx[k] += at[i] * w->index[k].strides[i];
        }
    }
    const npy_intp step = last < 0 ? 0 : w->other_strides[last];
    for (npy_intp position = s->start; position < s->stop;) {
        npy_intp n = s->stop - position < BLOCK ? s->stop - position : BLOCK;
        if (last >= 0 && w->dims[last] - at[last] < n) {
            n = w->dims[last] - at[last];
        }
        for (int k = 0; k < w->n; k++) {
            const Index *i = &w->index[k];
            const npy_intp s1 = last < 0 ? 0 : i->strides[last];
            if (!thn_offsets(i->typenum, idx[k], s1, n, i->size, i->stride, w->mode, k > 0, offsets)) {
                return 0;
            }
            idx[k] += n * s1;
        }
        if (w->kinds > 1) {
            move_kind(w, s->kind, offsets, n, other, step);
        } else {
            move_block(w, s, offsets, n, other, step);
        }
        position += n;
        other += n * step;
        if (last < 0 || (at[last] += n) < w->dims[last]) {
            continue;
        }
        for (int i = last;; i--) {
            other -= w->other_strides[i] * w->dims[i];
            for (int k = 0; k < w->n; k++) {
                idx[k] -= w->index[k].strides[i] * w->dims[i];
            }
            at[i] = 0;
            if (i == 0) {
                break;
            }
            other += w->other_strides[i - 1];
            for (int k = 0; k < w->n; k++) {
                idx[k] += w->index[k].strides[i - 1];
            }
            if (++at[i - 1] < w->dims[i - 1]) {
                break;
            }
        }
    }
    return 1;
}

static void walk_task(void *ctx, long task)
{
    Walk *w = ctx;
    Share s = {0, w->total, 0, w->bytes, 0, w->rest ? w->rest_dims[0] : 1, task};
    if (w->slice) {
        s.first = task * w->slice;
        s.slices = s.slices - s.first < w->slice ? s.slices - s.first : w->slice;
    } else if (w->part) {
        s.from = task * w->part;
        s.bytes = w->bytes - s.from < w->part ? w->bytes - s.from : w->part;
    } else if (w->chunk) {
        s.start = task * w->chunk;
        s.stop = w->total - s.start < w->chunk ? w->total : s.start + w->chunk;
    }
    if (!walk_share(w, &s)) {
        atomic_store(&w->bad, 1);
    }
}

/* Reading is split by positions. Writing is split by what lies at each position, so that every element sees the positions in
 * their order: by columns, or by the pages in which the rows of a large table begin. */
static void run_walk(Walk *w)
{
    const npy_intp threads = thn_get_threads();
    npy_intp around = 1, reach = 0;
    for (int i = 0; i < w->rest; i++) {
        around *= w->rest_dims[i];
    }
    for (int k = 0; k < w->n; k++) {
        const npy_intp bytes = w->index[k].size * (w->index[k].stride < 0 ? -w->index[k].stride : w->index[k].stride);
        reach = bytes > reach ? bytes : reach;
    }
    const npy_intp runs = w->total * around, rows = w->bytes > w->item;
    npy_intp tasks = 1, most = rows ? runs * w->bytes / MORE_BYTES : runs / MORE_ITEMS;
    if (threads > 1 && (rows ? runs * w->bytes >= ROWS_BYTES : runs >= SPLIT_ITEMS)) {
        if (!w->write && (rows || w->total >= SPLIT_ITEMS)) {
            tasks = most < 4 * threads ? most : 4 * threads;
            tasks = tasks < w->total ? tasks : w->total;
            w->chunk = (w->total + tasks - 1) / tasks;
            tasks = (w->total + w->chunk - 1) / w->chunk;
        } else if (w->rest && w->rest_dims[0] > 1) {
            tasks = most < threads ? most : threads;
            w->slice = (w->rest_dims[0] + tasks - 1) / tasks;
            tasks = (w->rest_dims[0] + w->slice - 1) / w->slice;
        } else if (!w->rest && (w->kinds = thn_page_kinds(reach, most < threads ? most : threads)) > 1) {
            tasks = w->kinds;
        } else if (w->bytes >= 4 * LINE) {
            tasks = most < threads ? most : threads;
            w->part = ((w->bytes + tasks - 1) / tasks + LINE - 1) / LINE * LINE;
            tasks = (w->bytes + w->part - 1) / w->part;
        }
    }
    thn_parallel((long)tasks, walk_task, w);
}

/* Joins dimensions of the index that lie in memory as one. */
static void join_dims(Walk *w)
{
    for (int i = w->nd - 2; i >= 0; i--) {
        int joined = w->dims[i] == 1 || w->dims[i + 1] == 1 || w->other_strides[i] == w->other_strides[i + 1] * w->dims[i + 1];
        for (int k = 0; k < w->n; k++) {
            const npy_intp *s = w->index[k].strides;
            joined = joined && (w->dims[i] == 1 || w->dims[i + 1] == 1 || s[i] == s[i + 1] * w->dims[i + 1]);
        }
        if (!joined) {
            continue;
        }
        const int kept = w->dims[i + 1] == 1 ? i : i + 1; /* whose strides are those of the joined dimension */
        w->dims[i] *= w->dims[i + 1];
        w->other_strides[i] = w->other_strides[kept];
        for (int k = 0; k < w->n; k++) {
            w->index[k].strides[i] = w->index[k].strides[kept];
        }
        w->nd--;
        for (int j = i + 1; j < w->nd; j++) {
            w->dims[j] = w->dims[j + 1];
            w->other_strides[j] = w->other_strides[j + 1];
            for (int k = 0; k < w->n; k++) {
                w->index[k].strides[j] = w->index[k].strides[j + 1];
            }
        }
    }
}

static int check_all(ThnFrame *f, const ThnInstr *ins, const ThnCell *x)
{
    const Adv *a = ins->data;
    for (int k = 0; k < a->n; k++) {
        if (check_index(f, THN_IN(f, ins, a->first + k), x->dims[a->axes[k]], a->axes[k]) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Walks all index positions; `other` has the result's layout with `strides`. */
static int adv_walk(ThnFrame *f, const ThnInstr *ins, const AdvPlan *plan, const ThnCell *x, char *x_data, char *other,
                    const npy_intp *strides, int write, ThnInner inner)
{
    const Adv *a = ins->data;
    Index index[THN_MAXDIM];
    Walk w = {.x = x_data, .other = other, .n = a->n, .nd = plan->nd, .write = write, .mode = a->mode, .typenum = x->typenum,
              .item = x->itemsize, .bytes = x->itemsize, .total = 1, .index = index};
    w.inner = inner == thn_copy_inner(x->itemsize) ? NULL : inner;
    for (int i = 0; i < plan->nd; i++) {
        w.total *= plan->dims[i];
        w.dims[i] = plan->dims[i];
        w.other_strides[i] = strides[plan->at + i];
    }
    if (w.total == 0) {
        return 0;
    }
    for (int k = 0; k < a->n; k++) {
        const ThnCell *c = THN_IN(f, ins, a->first + k);
        index[k] = (Index){.data = c->data, .typenum = c->typenum, .size = x->dims[a->axes[k]], .stride = x->strides[a->axes[k]]};
        memcpy(index[k].strides, plan->idx_strides[k], sizeof(npy_intp) * (size_t)plan->nd);
    }
    join_dims(&w);
    int side_by_side = 1;
    for (int i = plan->rest - 1; i >= 0; i--) {
        const npy_intp n = plan->rest_dims[i], in_x = plan->rest_strides[i], in_other = strides[i < plan->at ? i : i + plan->nd];
        if (n == 0) {
            return plan->unchecked && a->mode == THN_RAISE ? check_all(f, ins, x) : 0;
        }
        if (n == 1) {
            continue;
        }
        if (side_by_side && in_x == w.bytes && in_other == w.bytes) {
            w.bytes *= n;
            continue;
        }
        side_by_side = 0;
        memmove(w.rest_dims + 1, w.rest_dims, sizeof(npy_intp) * (size_t)w.rest);
        memmove(w.rest_x + 1, w.rest_x, sizeof(npy_intp) * (size_t)w.rest);
        memmove(w.rest_other + 1, w.rest_other, sizeof(npy_intp) * (size_t)w.rest++);
        w.rest_dims[0] = n;
        w.rest_x[0] = in_x;
        w.rest_other[0] = in_other;
    }
    atomic_init(&w.bad, 0);
    run_walk(&w);
    return atomic_load(&w.bad) ? check_all(f, ins, x) : 0;
}

static int adv_get_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *x = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    /* In the tail nothing may fail any more once the first instruction has run. */
    const int anywhere = ((const Adv *)ins->data)->mode != THN_RAISE;
    AdvPlan *plan = adv_plan(f, ins, x, anywhere || ins->index < f->prog->tail_start);
    if (!plan) {
        return -1;
    }
    if (plan->nd + plan->rest != out->ndim) {
        return thn_error(f, PyExc_SystemError, "AdvancedSubtensor: the result has %d dimensions, expected %d",
                         plan->nd + plan->rest, (int)out->ndim);
    }
    if (thn_out_alloc(f, out, plan->full) < 0) {
        return -1;
    }
    f->work = thn_bytes_work(out) + (double)thn_size(out) * 0.5;
    return 0;
}

/* Gathers and scatters that are a part of a kernel are checked before it. */
static int bounds_prepare(ThnFrame *f, const ThnInstr *ins)
{
    return adv_plan(f, ins, THN_IN(f, ins, 0), 0) ? 0 : -1;
}

static int adv_get_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *x = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    return adv_walk(f, ins, f->scratch[ins->index].ptr, x, x->data, out->data, out->strides, 0, thn_copy_inner(x->itemsize));
}

static int adv_inc_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const Adv *a = ins->data;
    ThnCell *x = THN_IN(f, ins, 0), *y = THN_IN(f, ins, 1), *out = THN_OUT(f, ins, 0);
    npy_intp strides[THN_MAXDIM];
    if (thn_same_dtype(f, x, y, "AdvancedIncSubtensor") < 0 || thn_target_prepare(f, out, x, a->inplace) < 0) {
        return -1;
    }
    AdvPlan *plan = adv_plan(f, ins, out, 0);
    if (!plan) {
        return -1;
    }
    if (thn_broadcast_strides(y, plan->nd + plan->rest, plan->full, strides) < 0) {
        return thn_broadcast_error(f, y, plan->nd + plan->rest, plan->full);
    }
    double n = 1;
    for (int i = 0; i < plan->nd + plan->rest; i++) {
        n *= (double)plan->full[i];
    }
    f->work = n * 2 + (a->inplace ? 0 : thn_bytes_work(x));
    return 0;
}

static int adv_inc_execute(ThnFrame *f, const ThnInstr *ins)
{
    const Adv *a = ins->data;
    const AdvPlan *plan = f->scratch[ins->index].ptr;
    const ThnCell *x = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    ThnCell y = *THN_IN(f, ins, 1);
    npy_intp y_strides[THN_MAXDIM], strides[THN_MAXDIM];
    const char *src;
    char *held;
    thn_target_execute(out, x, a->inplace);
    if (thn_source(f, &y, out, &src, y_strides, &held) < 0) {
        return -1;
    }
    y.strides = y_strides;
    thn_broadcast_strides(&y, plan->nd + plan->rest, plan->full, strides);
    adv_walk(f, ins, plan, out, out->data, (char *)src, strides, 1,
             a->set ? thn_copy_inner(x->itemsize) : thn_add_inner(x->typenum));
    free(held);
    return 0;
}

/* ---- take and its reverse: one index vector along the first axis */

static int take_common(ThnProgram *p, ThnInstr *ins, int first)
{
    Adv *a = ins->data;
    a->first = first;
    a->n = 1;
    a->adjacent = 1;
    if (ins->nin != first + 1 || p->cells[ins->ins[0]].ndim < 1 || p->cells[ins->ins[first]].ndim != 1
        || !thn_int_reader(p->cells[ins->ins[first]].typenum)) {
        PyErr_SetString(PyExc_ValueError, "take: an array of at least one dimension and a vector of integers");
        return -1;
    }
    return 0;
}

static int take_init(ThnProgram *p, ThnInstr *ins, PyObject *params)
{
    Adv *a = thn_alloc(sizeof *a);
    ins->data = a;
    if (!a || !PyArg_ParseTuple(params, "|i", &a->mode)) {
        return -1;
    }
    return take_common(p, ins, 1);
}

static int inc_take_init(ThnProgram *p, ThnInstr *ins, PyObject *params)
{
    Adv *a = thn_alloc(sizeof *a);
    ins->data = a;
    if (!a || !PyArg_ParseTuple(params, "pp", &a->set, &a->inplace)) {
        return -1;
    }
    return take_common(p, ins, 2);
}

static int take_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *x = THN_IN(f, ins, 0), *index = THN_IN(f, ins, 1);
    if (((const Adv *)ins->data)->mode && x->dims[0] == 0 && index->dims[0] > 0) {
        return thn_error(f, PyExc_IndexError, "cannot do a non-empty take from an empty axes.");
    }
    return adv_get_prepare(f, ins);
}

const ThnOpDef thn_ops_gather[] = {
    {"advanced_subtensor", adv_get_init, NULL, adv_get_prepare, adv_get_execute, 0},
    {"advanced_inc", adv_inc_init, NULL, adv_inc_prepare, adv_inc_execute, 0},
    {"check_bounds", adv_get_init, NULL, bounds_prepare, NULL, 0},
    {"take", take_init, NULL, take_prepare, adv_get_execute, 0},
    {"inc_take", inc_take_init, NULL, adv_inc_prepare, adv_inc_execute, 0},
    {NULL, NULL, NULL, NULL, NULL, 0},
};
