/* Instructions: writing into slices, gathering and scattering by integer indices. All indices are checked before
 * anything is written. */
#include "vm.h"
#include "copy.h"
#include "index.h"
#include "threads.h"

#include <stdatomic.h>
#include <stdlib.h>

static double bytes_work(const ThnCell *c)
{
    return (double)thn_size(c) * c->itemsize * 0.2;
}

/* The target of a writing instruction: x itself, or a fresh array to copy x into. */
static int target_prepare(ThnFrame *f, ThnCell *out, ThnCell *x, int inplace)
{
    return inplace ? thn_out_alias(f, out, x) : thn_out_alloc(f, out, x->dims);
}

static void target_execute(const ThnCell *out, const ThnCell *x, int inplace)
{
    if (!inplace && out->data != x->data) {
        thn_copy_strided(out->ndim, out->dims, out->data, out->strides, x->data, x->strides, x->itemsize);
    }
}

/* y's elements for reading while `out` is written: a copy if they share memory. `held` is freed by the caller. */
static int source(ThnFrame *f, const ThnCell *y, const ThnCell *out, const char **data, npy_intp *strides, char **held)
{
    *held = NULL;
    *data = y->data;
    memcpy(strides, y->strides, sizeof(npy_intp) * (size_t)y->ndim);
    if (thn_may_overlap(y, out)) {
        npy_intp s = y->itemsize;
        for (int i = y->ndim - 1; i >= 0; i--) {
            strides[i] = s;
            s *= y->dims[i] ? y->dims[i] : 1;
        }
        *held = malloc((size_t)s);
        if (!*held) {
            return thn_error(f, PyExc_MemoryError, "out of memory for a copy of an operand");
        }
        thn_copy_strided(y->ndim, y->dims, *held, strides, y->data, y->strides, y->itemsize);
        *data = *held;
    }
    return 0;
}

static int broadcast_error(ThnFrame *f, const ThnCell *y, int nd, const npy_intp *dims)
{
    char a[200], b[200];
    return thn_error(f, PyExc_ValueError, "could not broadcast input array from shape %s into shape %s",
                     thn_shape_text(a, sizeof a, y->ndim, y->dims), thn_shape_text(b, sizeof b, nd, dims));
}

static int same_dtype(ThnFrame *f, const ThnCell *x, const ThnCell *y, const char *who)
{
    if (!PyArray_EquivTypenums(x->typenum, y->typenum)) {
        return thn_error(f, PyExc_SystemError, "%s: the operands must have one dtype", who);
    }
    return 0;
}

/* ---- inc_subtensor */

typedef struct {
    int set, inplace;
    ThnIndex *index;
} Inc;

typedef struct {
    char *data;
    npy_intp offset;
    int nd;
    npy_intp dims[THN_MAXDIM], strides[THN_MAXDIM];
} IncPlan;

static int inc_init(ThnProgram *p, ThnInstr *ins, PyObject *params)
{
    (void)p;
    PyObject *idx_list;
    Inc *inc = thn_alloc(sizeof *inc);
    ins->data = inc;
    if (!inc || !PyArg_ParseTuple(params, "Opp", &idx_list, &inc->set, &inc->inplace)) {
        return -1;
    }
    inc->index = thn_index_parse(ins, idx_list);
    return inc->index ? 0 : -1;
}

static void inc_clear(ThnInstr *ins)
{
    if (ins->data) {
        thn_free(((Inc *)ins->data)->index);
    }
    thn_free(ins->data);
}

static int inc_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const Inc *inc = ins->data;
    ThnCell *x = THN_IN(f, ins, 0), *y = THN_IN(f, ins, 1), *out = THN_OUT(f, ins, 0);
    IncPlan *plan = thn_scratch(f, ins, sizeof *plan);
    npy_intp strides[THN_MAXDIM];
    if (!plan || same_dtype(f, x, y, "IncSubtensor") < 0 || target_prepare(f, out, x, inc->inplace) < 0) {
        return -1;
    }
    plan->nd = thn_index_apply(f, ins, inc->index, out, &plan->data, plan->dims, plan->strides);
    if (plan->nd < 0) {
        return -1;
    }
    if (thn_broadcast_strides(y, plan->nd, plan->dims, strides) < 0) {
        return broadcast_error(f, y, plan->nd, plan->dims);
    }
    f->work = inc->inplace ? bytes_work(y) : bytes_work(x);
    return 0;
}

static int inc_execute(ThnFrame *f, const ThnInstr *ins)
{
    const Inc *inc = ins->data;
    const ThnCell *x = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    const IncPlan *plan = f->scratch[ins->index].ptr;
    ThnCell y = *THN_IN(f, ins, 1);
    npy_intp y_strides[THN_MAXDIM], strides[THN_MAXDIM];
    const char *src;
    char *held;
    target_execute(out, x, inc->inplace);
    if (source(f, &y, out, &src, y_strides, &held) < 0) {
        return -1;
    }
    y.strides = y_strides;
    thn_broadcast_strides(&y, plan->nd, plan->dims, strides);
    thn_loop2(plan->nd, plan->dims, plan->data, plan->strides, src, strides,
              inc->set ? thn_copy_inner(x->itemsize) : thn_add_inner(x->typenum));
    free(held);
    return 0;
}

/* ---- integer indices */

typedef struct {
    int set, inplace;
    int first;            /* the first index input */
    int n;                /* number of index inputs */
    int adjacent;
    int axes[THN_MAXDIM];
} Adv;

typedef struct {
    int nd;                                   /* of the broadcast indices */
    int rest;                                 /* dimensions of x that are taken whole */
    int unchecked;                            /* the one index vector is checked while it is used */
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

#define ALL_VALID(T)                                                                          \
    do {                                                                                      \
        uint64_t bad = 0, low = (uint64_t)size, span = 2 * (uint64_t)size;                    \
        for (npy_intp i = 0; i < n; i++, p += stride) {                                       \
            bad |= (uint64_t)((uint64_t)(int64_t) * (const T *)p + low >= span);              \
        }                                                                                     \
        return !bad;                                                                          \
    } while (0)

/* Whether n indices are all within -size..size - 1; 0 also for the dtypes that it does not know. */
static int row_is_valid(int typenum, const char *p, npy_intp n, npy_intp stride, npy_intp size)
{
    if (typenum == NPY_INT64) {
        ALL_VALID(int64_t);
    }
    if (typenum == NPY_INT32) {
        ALL_VALID(int32_t);
    }
    return 0;
}

/* The same for all integer dtypes. */
static int indices_are_valid(int typenum, ThnReadInt get, const char *p, npy_intp n, npy_intp stride, npy_intp size)
{
    if (row_is_valid(typenum, p, n, stride, size)) {
        return 1;
    }
    for (npy_intp i = 0; i < n; i++) {
        int64_t v = get ? get(p + i * stride) : *(const int64_t *)(p + i * stride);
        if (v < -size || v >= size) {
            return 0;
        }
    }
    return 1;
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
        const npy_intp unsure = row_is_valid(index->typenum, p, n, s, size) ? 0 : n;
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
    plan->unchecked = may_defer && a->n == 1 && plan->nd == 1;
    for (int k = 0; k < a->n; k++) {
        const ThnCell *index = THN_IN(f, ins, a->first + k);
        thn_broadcast_strides(index, plan->nd, plan->dims, plan->idx_strides[k]);
        if (plan->unchecked) {
            continue;
        }
        if (!empty && check_index(f, index, x->dims[a->axes[k]], a->axes[k]) < 0) {
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

#define BLOCK 256

/* Byte offsets into x of `n` successive positions. */
static void offsets_of(const Adv *a, const AdvPlan *plan, ThnFrame *f, const ThnInstr *ins, const ThnCell *x,
                       const char *const *idx, npy_intp n, npy_intp *offsets)
{
    for (int k = 0; k < a->n; k++) {
        const ThnCell *index = THN_IN(f, ins, a->first + k);
        ThnReadInt get = thn_int_reader(index->typenum);
        npy_intp size = x->dims[a->axes[k]], stride = x->strides[a->axes[k]];
        npy_intp step = plan->nd ? plan->idx_strides[k][plan->nd - 1] : 0;
        const char *p = idx[k];
        for (npy_intp i = 0; i < n; i++, p += step) {
            int64_t v = index->typenum == NPY_INT64 ? *(const int64_t *)p : get(p);
            npy_intp offset = (v < 0 ? v + size : v) * stride;
            offsets[i] = k ? offsets[i] + offset : offset;
        }
    }
}

#define COPY_ITEMS(T)                                                     \
    for (npy_intp i = 0; i < n; i++, other += other_step) {               \
        if (write) {                                                      \
            *(T *)(x + offsets[i]) = *(const T *)other;                   \
        } else {                                                          \
            *(T *)other = *(const T *)(x + offsets[i]);                   \
        }                                                                 \
    }

/* Copies single items between x[offsets] and a strided row. 0: not an item size that it knows. */
static int copy_items(int item, char *x, const npy_intp *offsets, npy_intp n, char *other, npy_intp other_step, int write)
{
    switch (item) {
    case 1: COPY_ITEMS(uint8_t) return 1;
    case 2: COPY_ITEMS(uint16_t) return 1;
    case 4: COPY_ITEMS(uint32_t) return 1;
    case 8: COPY_ITEMS(uint64_t) return 1;
    default: return 0;
    }
}

#define ADD_ITEMS(T)                                            \
    for (npy_intp i = 0; i < n; i++, other += other_step) {     \
        *(T *)(x + offsets[i]) += *(const T *)other;            \
    }                                                           \
    return 1;

/* Adds single items; in their order, so that repeated positions are summed. 0: not a dtype that it knows. */
static int add_items(int typenum, char *x, const npy_intp *offsets, npy_intp n, const char *other, npy_intp other_step)
{
    switch (typenum) {
    case NPY_FLOAT: ADD_ITEMS(float)
    case NPY_DOUBLE: ADD_ITEMS(double)
    case NPY_INT64: ADD_ITEMS(uint64_t)
    case NPY_INT32: ADD_ITEMS(uint32_t)
    default: return 0;
    }
}

/* ---- one index vector: rows of contiguous elements, or single elements */

#define PARALLEL_BYTES (256 << 10) /* bytes below which rows are not split */
#define AHEAD 4                    /* rows that are fetched ahead */
#define LINE 64

typedef struct {
    char *x, *other;
    npy_intp n, size, stride, other_step, idx_step;
    const char *idx;
    ThnReadInt get; /* NULL: int64 */
    npy_intp bytes, item, chunk, part;
    int write, typenum;
    int check; /* indices were not checked before */
    atomic_int bad;
    ThnInner inner; /* NULL: copy */
} Lines;

static inline npy_intp line_offset(const Lines *l, npy_intp i)
{
    const char *p = l->idx + i * l->idx_step;
    int64_t v = l->get ? l->get(p) : *(const int64_t *)p;
    return (npy_intp)(v < 0 ? v + l->size : v) * l->stride;
}

#define READ_ITEMS(T, OFFSET)                                          \
    {                                                                  \
        for (npy_intp i = start; i < stop; i++, out += step) {         \
            *(T *)out = *(const T *)(x + OFFSET(i));                   \
        }                                                              \
        return 1;                                                      \
    }
#define ANY_OFFSET(i) line_offset(l, i)
#define WORD_OFFSET(i) ((idx[i] + (idx[i] >> 63 & size)) * stride)
#define READ_WIDTHS(OFFSET)                        \
    switch (l->bytes) {                            \
    case 1: READ_ITEMS(uint8_t, OFFSET)            \
    case 2: READ_ITEMS(uint16_t, OFFSET)           \
    case 4: READ_ITEMS(uint32_t, OFFSET)           \
    case 8: READ_ITEMS(uint64_t, OFFSET)           \
    default: return 0;                             \
    }

static int read_items(const Lines *l, npy_intp start, npy_intp stop)
{
    const npy_intp step = l->other_step, size = l->size, stride = l->stride;
    const char *x = l->x;
    char *out = l->other + start * step;
    if (!l->get && l->idx_step == sizeof(int64_t)) {
        const int64_t *idx = (const int64_t *)l->idx;
        READ_WIDTHS(WORD_OFFSET)
    }
    READ_WIDTHS(ANY_OFFSET)
}

/* Bytes [from, from + bytes) of the rows start to stop. */
static void lines_range(const Lines *l, npy_intp start, npy_intp stop, npy_intp from, npy_intp bytes)
{
    if (!l->write && read_items(l, start, stop)) {
        return;
    }
    const npy_intp fetched = bytes < 1024 ? bytes : 1024;
    npy_intp next[AHEAD];
    for (npy_intp i = 0; i < AHEAD && start + i < stop; i++) {
        next[(start + i) % AHEAD] = line_offset(l, start + i);
    }
    for (npy_intp i = start; i < stop; i++) {
        char *p = l->x + next[i % AHEAD] + from, *q = l->other + i * l->other_step + from;
        if (i + AHEAD < stop) {
            const npy_intp offset = next[i % AHEAD] = line_offset(l, i + AHEAD);
            const char *ahead = l->x + offset + from;
            for (npy_intp k = 0; k < fetched; k += LINE) {
                __builtin_prefetch(ahead + k, 1);
            }
        }
        if (l->inner) {
            l->inner(bytes / l->item, p, l->item, q, l->item);
        } else {
            memcpy(l->write ? p : q, l->write ? q : p, (size_t)bytes);
        }
    }
}

#define CHECKED 1024 /* indices that are checked at once: they are still at hand when they are used */

static void lines_task(void *ctx, long task)
{
    Lines *l = ctx;
    if (l->check) {
        npy_intp start = task * l->chunk, stop = l->n - start < l->chunk ? l->n : start + l->chunk;
        for (; start < stop; start += CHECKED) {
            npy_intp end = stop - start < CHECKED ? stop : start + CHECKED;
            if (!indices_are_valid(l->typenum, l->get, l->idx + start * l->idx_step, end - start, l->idx_step, l->size)) {
                atomic_store(&l->bad, 1);
                return;
            }
            lines_range(l, start, end, 0, l->bytes);
        }
        return;
    }
    if (l->part < l->bytes) {
        npy_intp from = task * l->part;
        lines_range(l, 0, l->n, from, l->bytes - from < l->part ? l->bytes - from : l->part);
    } else {
        npy_intp start = task * l->chunk;
        lines_range(l, start, l->n - start < l->chunk ? l->n : start + l->chunk, 0, l->bytes);
    }
}

/* Reading is split by rows. Writing is split within the rows, so that each element sees the rows in their order. */
static void run_lines(Lines *l)
{
    const npy_intp threads = thn_get_threads();
    long tasks = 1;
    l->part = l->bytes;
    l->chunk = l->n;
    if (l->n * l->bytes >= PARALLEL_BYTES && threads > 1) {
        if (!l->write) {
            l->chunk = l->n / (4 * threads) + 1;
            tasks = (long)((l->n + l->chunk - 1) / l->chunk);
        } else if (l->bytes >= 4 * LINE) {
            l->part = ((l->bytes + threads - 1) / threads + LINE - 1) / LINE * LINE;
            tasks = (long)((l->bytes + l->part - 1) / l->part);
        }
    }
    thn_parallel(tasks, lines_task, l);
}

/* Walks all index positions. Reading: other[position] = x[index]. Writing: x[index] op= other[position], where `other` has
 * the result's layout with `strides`. */
static int adv_walk(ThnFrame *f, const ThnInstr *ins, const AdvPlan *plan, const ThnCell *x, char *x_data, char *other,
                    const npy_intp *strides, int write, ThnInner inner)
{
    const Adv *a = ins->data;
    npy_intp at[THN_MAXDIM] = {0}, rest_other[THN_MAXDIM], offsets[BLOCK];
    const char *idx[THN_MAXDIM], *row[THN_MAXDIM];
    for (int i = 0; i < plan->nd; i++) {
        if (plan->dims[i] == 0) {
            return 0;
        }
    }
    for (int i = 0; i < plan->rest; i++) {
        if (plan->rest_dims[i] == 0) {
            return plan->unchecked ? check_index(f, THN_IN(f, ins, a->first), x->dims[a->axes[0]], a->axes[0]) : 0;
        }
        rest_other[i] = strides[i < plan->at ? i : i + plan->nd];
    }
    for (int k = 0; k < a->n; k++) {
        idx[k] = THN_IN(f, ins, a->first + k)->data;
    }
    /* The commonest rest: nothing, or rows that are contiguous on both sides. */
    npy_intp run = 1;
    int single = 1;
    {
        npy_intp expect = x->itemsize;
        for (int i = plan->rest - 1; i >= 0 && single; i--) {
            if (plan->rest_dims[i] != 1) {
                single = plan->rest_strides[i] == expect && rest_other[i] == expect;
                expect *= plan->rest_dims[i];
                run *= plan->rest_dims[i];
            }
        }
    }
    const npy_intp item = x->itemsize;
    if (single && a->n == 1 && plan->nd == 1 && (!write || inner == thn_copy_inner((int)item) || run > 1)) {
        const ThnCell *index = THN_IN(f, ins, a->first);
        Lines l = {.x = x_data, .other = other, .n = plan->dims[0], .size = x->dims[a->axes[0]],
                   .stride = x->strides[a->axes[0]], .other_step = strides[plan->at], .idx = index->data,
                   .idx_step = plan->idx_strides[0][0], .bytes = run * item, .item = item, .write = write,
                   .get = index->typenum == NPY_INT64 ? NULL : thn_int_reader(index->typenum),
                   .inner = inner == thn_copy_inner((int)item) ? NULL : inner};
        l.typenum = index->typenum;
        l.check = plan->unchecked;
        atomic_init(&l.bad, 0);
        run_lines(&l);
        return atomic_load(&l.bad) ? check_index(f, index, l.size, a->axes[0]) : 0;
    }
    if (plan->unchecked && check_index(f, THN_IN(f, ins, a->first), x->dims[a->axes[0]], a->axes[0]) < 0) {
        return -1;
    }
    const int last = plan->nd - 1, items = single && run == 1 && inner == thn_copy_inner((int)item);
    const int adds = single && run == 1 && write && !items;
    const npy_intp n = last < 0 ? 1 : plan->dims[last], other_step = last < 0 ? 0 : strides[plan->at + last];
    for (;;) {
        char *o = other;
        memcpy(row, idx, sizeof(char *) * (size_t)a->n);
        for (npy_intp start = 0; start < n; start += BLOCK) {
            npy_intp count = n - start < BLOCK ? n - start : BLOCK;
            offsets_of(a, plan, f, ins, x, row, count, offsets);
            int done = adds ? add_items(x->typenum, x_data, offsets, count, o, other_step)
                       : items && copy_items((int)item, x_data, offsets, count, o, other_step, write);
            if (!done) {
                char *q = o;
                for (npy_intp i = 0; i < count; i++, q += other_step) {
                    char *p = x_data + offsets[i];
                    if (single) {
                        inner(run, write ? p : q, item, write ? q : p, item);
                    } else if (write) {
                        thn_loop2(plan->rest, plan->rest_dims, p, plan->rest_strides, q, rest_other, inner);
                    } else {
                        thn_loop2(plan->rest, plan->rest_dims, q, rest_other, p, plan->rest_strides, inner);
                    }
                }
            }
            o += count * other_step;
            for (int k = 0; k < a->n && last >= 0; k++) {
                row[k] += plan->idx_strides[k][last] * count;
            }
        }
        int i = last - 1;
        for (; i >= 0; i--) {
            for (int k = 0; k < a->n; k++) {
                idx[k] += plan->idx_strides[k][i];
            }
            other += strides[plan->at + i];
            if (++at[i] < plan->dims[i]) {
                break;
            }
            for (int k = 0; k < a->n; k++) {
                idx[k] -= plan->idx_strides[k][i] * plan->dims[i];
            }
            other -= strides[plan->at + i] * plan->dims[i];
            at[i] = 0;
        }
        if (i < 0) {
            return 0;
        }
    }
}

static int adv_get_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *x = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    /* In the tail nothing may fail any more once the first instruction has run. */
    AdvPlan *plan = adv_plan(f, ins, x, ins->index < f->prog->tail_start);
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
    f->work = bytes_work(out) + (double)thn_size(out) * 0.5;
    return 0;
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
    if (same_dtype(f, x, y, "AdvancedIncSubtensor") < 0 || target_prepare(f, out, x, a->inplace) < 0) {
        return -1;
    }
    AdvPlan *plan = adv_plan(f, ins, out, 0);
    if (!plan) {
        return -1;
    }
    if (thn_broadcast_strides(y, plan->nd + plan->rest, plan->full, strides) < 0) {
        return broadcast_error(f, y, plan->nd + plan->rest, plan->full);
    }
    double n = 1;
    for (int i = 0; i < plan->nd + plan->rest; i++) {
        n *= (double)plan->full[i];
    }
    f->work = n * 2 + (a->inplace ? 0 : bytes_work(x));
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
    target_execute(out, x, a->inplace);
    if (source(f, &y, out, &src, y_strides, &held) < 0) {
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

typedef struct {
    Adv adv; /* first: the walk reads it */
    int mode;
} Take;

static int take_common(ThnProgram *p, ThnInstr *ins, int first)
{
    Take *t = ins->data;
    t->adv.first = first;
    t->adv.n = 1;
    t->adv.adjacent = 1;
    t->adv.axes[0] = 0;
    if (ins->nin != first + 1 || p->cells[ins->ins[0]].ndim < 1 || !thn_int_reader(p->cells[ins->ins[first]].typenum)) {
        PyErr_SetString(PyExc_ValueError, "take: an array of at least one dimension and an integer index");
        return -1;
    }
    return 0;
}

static int take_init(ThnProgram *p, ThnInstr *ins, PyObject *params)
{
    Take *t = thn_alloc(sizeof *t);
    ins->data = t;
    if (!t || !PyArg_ParseTuple(params, "|i", &t->mode)) {
        return -1;
    }
    return take_common(p, ins, 1);
}

static int inc_take_init(ThnProgram *p, ThnInstr *ins, PyObject *params)
{
    Take *t = thn_alloc(sizeof *t);
    ins->data = t;
    if (!t || !PyArg_ParseTuple(params, "pp", &t->adv.set, &t->adv.inplace)) {
        return -1;
    }
    return take_common(p, ins, 2);
}

/* The modes 1 (wrap) and 2 (clip) put every index within the bounds. */
static int take_moded_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *x = THN_IN(f, ins, 0), *index = THN_IN(f, ins, 1), *out = THN_OUT(f, ins, 0);
    npy_intp dims[THN_MAXDIM];
    if (index->ndim != 1 || out->ndim != x->ndim) {
        return thn_error(f, PyExc_SystemError, "take: the index must be a vector");
    }
    if (x->dims[0] == 0 && index->dims[0] > 0) {
        return thn_error(f, PyExc_IndexError, "cannot do a non-empty take from an empty axes.");
    }
    memcpy(dims, x->dims, sizeof(npy_intp) * (size_t)x->ndim);
    dims[0] = index->dims[0];
    if (thn_out_alloc(f, out, dims) < 0) {
        return -1;
    }
    f->work = bytes_work(out);
    return 0;
}

static int take_prepare(ThnFrame *f, const ThnInstr *ins)
{
    return ((const Take *)ins->data)->mode ? take_moded_prepare(f, ins) : adv_get_prepare(f, ins);
}

static int take_execute(ThnFrame *f, const ThnInstr *ins)
{
    int mode = ((const Take *)ins->data)->mode;
    if (!mode) {
        return adv_get_execute(f, ins);
    }
    const ThnCell *x = THN_IN(f, ins, 0), *index = THN_IN(f, ins, 1), *out = THN_OUT(f, ins, 0);
    ThnReadInt get = thn_int_reader(index->typenum);
    npy_intp n = x->dims[0];
    for (npy_intp i = 0; i < index->dims[0]; i++) {
        int64_t v = get(index->data + i * index->strides[0]);
        v = mode == 1 ? ((v % n) + n) % n : v < 0 ? 0 : v >= n ? n - 1 : v;
        thn_copy_strided(x->ndim - 1, x->dims + 1, out->data + i * out->strides[0], out->strides + 1,
                         x->data + v * x->strides[0], x->strides + 1, x->itemsize);
    }
    return 0;
}

/* ---- a check that elements are valid positions along an axis */

typedef struct {
    int axis;
} Check;

static int check_init(ThnProgram *p, ThnInstr *ins, PyObject *params)
{
    Check *c = thn_alloc(sizeof *c);
    PyObject *message;
    ins->data = c;
    if (!c || !PyArg_ParseTuple(params, "iU", &c->axis, &message)) {
        return -1;
    }
    if (ins->nin != 2 || c->axis < 0 || c->axis >= p->cells[ins->ins[1]].ndim
        || !thn_int_reader(p->cells[ins->ins[0]].typenum)) {
        PyErr_SetString(PyExc_ValueError, "check_index: integer positions, and an array with the axis");
        return -1;
    }
    return 0;
}

static int check_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *index = THN_IN(f, ins, 0);
    npy_intp size = THN_IN(f, ins, 1)->dims[((const Check *)ins->data)->axis], total = thn_size(index);
    ThnReadInt get = thn_int_reader(index->typenum);
    npy_intp at[THN_MAXDIM] = {0};
    const char *p = index->data;
    for (npy_intp k = 0; k < total; k++) {
        int64_t v = get(p);
        if (v < 0 || v >= size) {
            PyErr_SetObject(PyExc_ValueError, PyTuple_GET_ITEM(ins->params, 1));
            return -1;
        }
        for (int i = index->ndim - 1; i >= 0; i--) {
            p += index->strides[i];
            if (++at[i] < index->dims[i]) {
                break;
            }
            p -= index->strides[i] * index->dims[i];
            at[i] = 0;
        }
    }
    return 0;
}

const ThnOpDef thn_ops_index[] = {
    {"inc_subtensor", inc_init, inc_clear, inc_prepare, inc_execute, 0},
    {"advanced_subtensor", adv_get_init, NULL, adv_get_prepare, adv_get_execute, 0},
    {"advanced_inc", adv_inc_init, NULL, adv_inc_prepare, adv_inc_execute, 0},
    {"take", take_init, NULL, take_prepare, take_execute, 0},
    {"inc_take", inc_take_init, NULL, adv_inc_prepare, adv_inc_execute, 0},
    {"check_index", check_init, NULL, check_prepare, NULL, 0},
    {NULL, NULL, NULL, NULL, NULL, 0},
};
