/* Instructions: sorting, the positions that sort, the k first elements, positions in a sorted vector. */
#include "vm.h"
#include "copy.h"
#include "pool.h"
#include "sortkeys.h"
#include "threads.h"
#include "walk.h"

#define PARALLEL_ROWS 65536 /* elements above which rows are sorted on several threads */
#define LONG_ROW 131072

/* ---- rows: all lines of an array along one axis */

typedef struct {
    const ThnCell *in, *out, *out2; /* out2: indices of topk; NULL where there is no such output */
    int sorted;                     /* topk: the largest in order */
    int axis;
    npy_intp n, count;              /* count: negative for the smallest elements */
    int argsort;
} Rows;

/* The axis is the first field of all that sort. */
static int rows_check(ThnProgram *Py_UNUSED(p), ThnInstr *ins)
{
    return thn_fits(ins, *(const int *)ins->data != THN_NO_AXIS || ins->nin == 2);
}

static int row_axis(ThnFrame *f, const ThnInstr *ins)
{
    const int given = *(const int *)ins->data, ndim = THN_IN(f, ins, 0)->ndim;
    int64_t axis = given == THN_NO_AXIS ? thn_scalar_int(THN_IN(f, ins, 1)) : given;
    THN_FAIL_IF(f, axis < -ndim || axis >= ndim, PyExc_ValueError, "axis %lld is out of bounds for array of dimension %d", (long long)axis,
                ndim);
    axis += axis < 0 ? ndim : 0;
    THN_FAIL_IF(f, THN_IN(f, ins, 0)->dims[axis] > UINT32_MAX, PyExc_ValueError, "cannot sort more than %lld elements along an axis",
                (long long)UINT32_MAX);
    return (int)axis;
}

static int sort_prepare(ThnFrame *f, const ThnInstr *ins)
{
    THN_TRY(row_axis(f, ins));
    return thn_outs_like(f, ins, 0, 20);
}

/* Positions that sort a row, in the low halves of the result. `work` has room for 7 n words. */
static const uint64_t *argsort_row(const ThnCell *in, const char *row, npy_intp stride, npy_intp n, uint64_t *work)
{
    uint64_t *a = work, *b = work + n, *keys = work + 2 * n;
    const int size = thn_key_size(in->typenum);
    if (size) {
        thn_keys(THN_TO_MERGED, in->typenum, row, stride, n, keys);
        return thn_argsort(size, keys, n, a, b);
    }
    /* Complex numbers: by imaginary part, then by real part, then by class; each sort keeps the order of the one before. */
    uint64_t *all = work + 2 * n, *moved = work + 5 * n, *order = NULL;
    uint32_t *before = (uint32_t *)(work + 6 * n);
    thn_complex_keys(in->typenum, row, stride, n, all + 2 * n, all + n, all);
    for (int by = 0; by < 3; by++, all += n) {
        for (npy_intp i = 0; i < n; i++) {
            before[i] = order ? (uint32_t)order[i] : (uint32_t)i;
            moved[i] = all[before[i]];
        }
        order = thn_argsort(8, moved, n, a, b);
        for (npy_intp i = 0; i < n; i++) {
            order[i] = before[(uint32_t)order[i]];
        }
    }
    return order;
}

static void sort_row(const ThnCell *in, const char *row, npy_intp stride, npy_intp n, char *out, npy_intp step, void *work)
{
    const int size = thn_key_size(in->typenum);
    if (size) {
        thn_keys(THN_TO_KEYS, in->typenum, row, stride, n, work);
        thn_keys(THN_FROM_KEYS, in->typenum, out, step, n, thn_sort(size, work, (char *)work + n * size, n));
        return;
    }
    const uint64_t *order = argsort_row(in, row, stride, n, work);
    for (npy_intp i = 0; i < n; i++, out += step) {
        memcpy(out, row + (npy_intp)(uint32_t)order[i] * stride, (size_t)in->itemsize);
    }
}

/* Writes the first |count| elements in ascending, for positive counts descending, order. */
static void topk_row(const Rows *r, const char *row, char *out, char *out2, uint64_t *work)
{
    const npy_intp n = r->n, m = r->count < 0 ? -r->count : r->count;
    const npy_intp stride = r->in->strides[r->axis];
    uint64_t *keys = work, *chosen = work + n, *a = work + 2 * n, *b = work + 3 * n;
    uint32_t *positions = (uint32_t *)(work + 4 * n);
    thn_keys(THN_TO_WIDE, r->in->typenum, row, stride, n, keys);
    if (r->count > 0) {
        for (npy_intp i = 0; i < n; i++) {
            keys[i] = ~keys[i];
        }
    }
    const uint64_t last = thn_select_u64(keys, n, m, a);
    npy_intp below = 0, found = 0;
    for (npy_intp i = 0; i < n; i++) {
        below += keys[i] < last;
    }
    npy_intp ties = m - below;
    for (npy_intp i = 0; i < n && found < m; i++) {
        if (keys[i] < last || (keys[i] == last && ties-- > 0)) {
            chosen[found] = keys[i];
            positions[found++] = (uint32_t)i;
        }
    }
    const uint64_t *order = r->sorted ? thn_argsort(8, chosen, m, a, b) : NULL;
    const ThnInner write = r->out2 ? thn_cast_inner(r->out2->typenum, NPY_INT64) : NULL;
    for (npy_intp i = 0; i < m; i++) {
        int64_t position = positions[order ? (uint32_t)order[i] : i];
        if (r->out) {
            memcpy(out + i * r->out->strides[r->axis], row + position * stride, (size_t)r->in->itemsize);
        }
        if (r->out2) {
            write(1, out2 + i * r->out2->strides[r->axis], 0, (const char *)&position, 0);
        }
    }
}

/* The first element of line `number` along the axis. */
static char *line(const ThnCell *c, int axis, npy_intp number)
{
    char *p = c->data;
    for (int i = c->ndim - 1; i >= 0; i--) {
        if (i != axis) {
            p += number % c->dims[i] * c->strides[i];
            number /= c->dims[i];
        }
    }
    return p;
}

static int sort_rows(void *ctx, npy_intp start, npy_intp stop)
{
    const Rows *r = ctx;
    const npy_intp n = r->n, stride = r->in->strides[r->axis];
    THN_POOLED uint64_t *work = thn_pool_alloc((size_t)(7 * n) * sizeof *work);
    THN_NEED(work);
    for (npy_intp k = start; k < stop; k++) {
        const char *row = line(r->in, r->axis, k);
        char *out = r->out ? line(r->out, r->axis, k) : NULL;
        if (r->count) {
            topk_row(r, row, out, r->out2 ? line(r->out2, r->axis, k) : NULL, work);
        } else if (r->argsort) {
            const uint64_t *order = argsort_row(r->in, row, stride, n, work);
            thn_put_positions(order, n, out, r->out->strides[r->axis]);
        } else {
            sort_row(r->in, row, stride, n, out, r->out->strides[r->axis], work);
        }
    }
    return 0;
}

static int run_rows(ThnFrame *f, const ThnInstr *ins, Rows *r)
{
    r->in = THN_IN(f, ins, 0);
    r->n = r->in->dims[r->axis];
    if (thn_size(r->in) == 0) {
        return 0;
    }
    const npy_intp rows = thn_size(r->in) / r->n;
    /* Few long rows are sorted one by one: threads share each of them. */
    const int one_by_one = rows < thn_get_threads() && r->n >= LONG_ROW;
    const npy_intp some = rows > 1 && !one_by_one && r->n * rows >= PARALLEL_ROWS ? PARALLEL_ROWS / 4 / r->n + 1 : rows;
    THN_FAIL_IF(f, thn_parallel_ranges(rows, some, sort_rows, r) < 0, PyExc_MemoryError, "out of memory for sorting");
    return 0;
}

static int sort_execute(ThnFrame *f, const ThnInstr *ins)
{
    Rows r = {.out = THN_OUT(f, ins, 0), .axis = row_axis(f, ins), .argsort = ins->def == &thn_op_argsort};
    return run_rows(f, ins, &r);
}

static int topk_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *in = THN_IN(f, ins, 0);
    const int axis = row_axis(f, ins);
    THN_TRY(axis);
    const npy_intp n = in->dims[axis];
    const int64_t k = thn_scalar_int(THN_IN(f, ins, 1));
    THN_FAIL_IF(f, k == 0 || k > n || k < -n, PyExc_ValueError, "topk: kth must be in [-%lld, 0) or (0, %lld], got %lld", (long long)n,
                (long long)n, (long long)k);
    npy_intp dims[THN_MAXDIM];
    memcpy(dims, in->dims, sizeof(npy_intp) * (size_t)in->ndim);
    dims[axis] = (npy_intp)(k < 0 ? -k : k);
    f->work = 10.0 * (double)thn_size(in);
    for (int i = 0; i < ins->nout; i++) {
        THN_TRY(thn_out_alloc(f, THN_OUT(f, ins, i), dims));
    }
    return 0;
}

static int topk_execute(ThnFrame *f, const ThnInstr *ins)
{
    const thn_topk_params *s = ins->data;
    Rows r = {.out = s->values ? THN_OUT(f, ins, 0) : NULL, .out2 = s->indices ? THN_OUT(f, ins, ins->nout - 1) : NULL,
              .axis = s->axis, .sorted = s->sorted, .count = (npy_intp)thn_scalar_int(THN_IN(f, ins, 1))};
    return run_rows(f, ins, &r);
}

/* ---- searchsorted */

/* Where the value before was found: a greater one is not before it, and another is not far behind. In a vector that is not
 * sorted, where the result depends on the way, that is what NumPy gives. */
typedef struct {
    npy_intp low, high;
    const char *value;
} Found;

typedef npy_intp (*Search)(const char *x, npy_intp stride, npy_intp n, const char *value, const npy_intp *order, Found *last);

static inline float half_value(uint16_t b)
{
    float v;
    thn_cast_inner(NPY_FLOAT, NPY_HALF)(1, (char *)&v, 0, (const char *)&b, 0);
    return v;
}

#define LESS_INT(a, b) ((a) < (b))
#define LESS_FLOAT(a, b) ((a) < (b) || ((b) != (b) && (a) == (a)))
#define LESS_HALF(a, b) LESS_FLOAT(half_value(a), half_value(b))

/* Order of complex numbers by class, real and imaginary part, as sort has it. */
static int less_complex(double ar, double ai, double br, double bi)
{
    int a = 2 * (ar != ar) + (ai != ai), b = 2 * (br != br) + (bi != bi);
    return a != b ? a < b : a < 2 && ar != br ? ar < br : ai < bi;
}
#define LESS_COMPLEX(a, b) less_complex((a).re, (a).im, (b).re, (b).im)

/* A search for the first position whose element `e` does not come before the value `v`. */
#define DEFINE_SIDE(NAME, T, E_BEFORE_V)                                                                                    \
    static npy_intp NAME(const char *x, npy_intp stride, npy_intp n, const char *value, const npy_intp *order, Found *last) \
    {                                                                                                                       \
        const T v = *(const T *)value;                                                                                      \
        npy_intp low = 0, high = n;                                                                                         \
        if (last->value) {                                                                                                  \
            const T e = *(const T *)last->value;                                                                            \
            const int on = E_BEFORE_V;                                                                                      \
            low = on ? last->low : 0;                                                                                       \
            high = on || last->high >= n ? n : last->high + 1;                                                              \
        }                                                                                                                   \
        while (low < high) {                                                                                                \
            const npy_intp at = low + (high - low) / 2;                                                                     \
            const T e = *(const T *)(x + (order ? order[at] : at) * stride);                                                \
            const int after = E_BEFORE_V;                                                                                   \
            low = after ? at + 1 : low;                                                                                     \
            high = after ? high : at;                                                                                       \
        }                                                                                                                   \
        *last = (Found){low, high, value};                                                                                  \
        return low;                                                                                                         \
    }
/* To the left of elements that equal the value, and to the right of them. */
#define DEFINE_SEARCH(S, T, LESS)                                                                                           \
    DEFINE_SIDE(left_##S, T, LESS(e, v))                                                                                    \
    DEFINE_SIDE(right_##S, T, !(LESS(v, e)))
#define TYPES(X)                                                                                                            \
    X(b1, uint8_t, LESS_INT) X(i1, int8_t, LESS_INT) X(u1, uint8_t, LESS_INT) X(i2, int16_t, LESS_INT)                      \
    X(u2, uint16_t, LESS_INT) X(i4, int32_t, LESS_INT) X(u4, uint32_t, LESS_INT) X(i8, int64_t, LESS_INT)                   \
    X(u8, uint64_t, LESS_INT) X(f2, uint16_t, LESS_HALF) X(f4, float, LESS_FLOAT) X(f8, double, LESS_FLOAT)                 \
    X(c8, ThnC8, LESS_COMPLEX) X(c16, ThnC16, LESS_COMPLEX)
TYPES(DEFINE_SEARCH)

static Search search_of(int typenum, int right)
{
#define PAIR(S, ...) [T_##S] = {left_##S, right_##S},
    static const Search all[][2] = {TYPES(PAIR)};
    return all[thn_type_index(typenum)][right];
}

static int search_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *x = THN_IN(f, ins, 0);
    const npy_intp n = x->dims[0];
    if (ins->nin > 2) {
        const ThnCell *sorter = THN_IN(f, ins, 2);
        npy_intp *order = thn_scratch(f, ins, sizeof *order * (size_t)(n + 1));
        ThnReadInt get = thn_int_reader(sorter->typenum);
        THN_NEED(order);
        THN_FAIL_IF(f, sorter->dims[0] != n, PyExc_ValueError, "sorter.size must equal key.size, got %lld for a vector of %lld",
                    (long long)sorter->dims[0], (long long)n);
        for (npy_intp i = 0; i < n; i++) {
            int64_t position = get(sorter->data + i * sorter->strides[0]);
            THN_FAIL_IF(f, position < 0 || position >= n, PyExc_ValueError, "Sorter index out of range.");
            order[i] = (npy_intp)position;
        }
    }
    return thn_outs_like(f, ins, 1, 30);
}

typedef struct {
    const ThnCell *x, *v, *out;
    const npy_intp *order;
    Search search;
} Searching;

static int search_some(void *ctx, npy_intp start, npy_intp stop)
{
    const Searching *s = ctx;
    const Dims g = {s->v->ndim, s->v->dims, s->v->strides, 0};
    npy_intp at[THN_MAXDIM];
    char *p = s->v->data;
    Found last = {0, 0, NULL};
    thn_seek(&g, g.n, start, 1, &p, at);
    for (npy_intp k = start; k < stop; k++, thn_step(&g, g.n, 1, &p, at)) {
        ((int64_t *)s->out->data)[k] = s->search(s->x->data, s->x->strides[0], s->x->dims[0], p, s->order, &last);
    }
    return 0;
}

static int search_execute(ThnFrame *f, const ThnInstr *ins)
{
    Searching s = {THN_IN(f, ins, 0), THN_IN(f, ins, 1), THN_OUT(f, ins, 0), NULL, NULL};
    s.order = ins->nin > 2 ? f->scratch[ins->index].ptr : NULL;
    s.search = search_of(s.x->typenum, ((const thn_searchsorted_params *)ins->data)->right);
    return thn_parallel_ranges(thn_size(s.v), 8192, search_some, &s);
}

THN_INSTRUCTION(sort, rows_check, sort_prepare, sort_execute)
THN_INSTRUCTION(argsort, rows_check, sort_prepare, sort_execute)
THN_INSTRUCTION(topk, rows_check, topk_prepare, topk_execute)
THN_INSTRUCTION(searchsorted, NULL, search_prepare, search_execute)
