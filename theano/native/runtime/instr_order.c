/* Instructions: cumulative sums and products, positions of the elements that are not zero. */
#include "vm.h"
#include "copy.h"
#include "threads.h"

/* ---- cumulate */

typedef struct {
    int axis;
    int multiply;
} Cumulate;

static int cumulate_init(ThnProgram *p, ThnInstr *ins, PyObject *params)
{
    Cumulate *c = thn_alloc(sizeof *c);
    ins->data = c;
    if (!c || !PyArg_ParseTuple(params, "ip", &c->axis, &c->multiply)) {
        return -1;
    }
    const ThnCellSpec *in = &p->cells[ins->ins[0]], *out = &p->cells[ins->outs[0]];
    if (c->axis < 0 || c->axis >= in->ndim || out->ndim != in->ndim || !thn_cast_inner(out->typenum, in->typenum)
        || !(c->multiply ? thn_mul_inner(out->typenum) : thn_add_inner(out->typenum))) {
        PyErr_SetString(PyExc_ValueError, "cumulate: the axis or the dtypes do not fit");
        return -1;
    }
    return 0;
}

static int cumulate_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *in = THN_IN(f, ins, 0);
    f->work = (double)thn_size(in);
    return thn_out_alloc(f, THN_OUT(f, ins, 0), in->dims);
}

/* Running sums of a contiguous line, eight at a time: only the last of them waits for the eight before. Sums of numbers that
 * are not negative never fall. Eight whose own sums overflow are added one by one, as the sum so far may allow. */
#define DEFINE_SUMS(S, T, ZERO, OVERFLOWS)                                                  \
    static void sums_##S(npy_intp n, T *out, const T *in)                                   \
    {                                                                                       \
        T sum = ZERO;                                                                       \
        npy_intp i = 0;                                                                     \
        for (; i + 8 <= n; i += 8) {                                                        \
            const T *x = in + i;                                                            \
            T *y = out + i;                                                                 \
            const T p0 = x[0], p1 = p0 + x[1], p2 = p1 + x[2], p3 = p1 + (x[2] + x[3]);     \
            const T p4 = p3 + x[4], p5 = p3 + (x[4] + x[5]), p6 = p5 + x[6];                \
            const T p7 = p5 + (x[6] + x[7]), all = (p2 + p4) + (p6 + p7);                   \
            if (OVERFLOWS && !(all - all == 0)) {                                           \
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

DEFINE_SUMS(f4, float, -0.0f, 1)
DEFINE_SUMS(f8, double, -0.0, 1)
DEFINE_SUMS(i8, uint64_t, 0, 0)

#define DEFINE_PRODUCTS(S, T)                                  \
    static void products_##S(npy_intp n, T *out, const T *in)  \
    {                                                          \
        T value = 1;                                           \
        for (npy_intp i = 0; i < n; i++) {                     \
            value *= in[i];                                    \
            out[i] = value;                                    \
        }                                                      \
    }

DEFINE_PRODUCTS(f4, float)
DEFINE_PRODUCTS(f8, double)
DEFINE_PRODUCTS(i8, uint64_t)

/* One line; `in` may be `out`. */
static void cumulate_line(int typenum, int multiply, npy_intp n, char *out, const char *in, npy_intp item, ThnInner op)
{
#define LINE_OF(S, T)                              \
    if (multiply) {                                \
        products_##S(n, (T *)out, (const T *)in);  \
    } else {                                       \
        sums_##S(n, (T *)out, (const T *)in);      \
    }                                              \
    return;
    if (typenum == NPY_FLOAT) {
        LINE_OF(f4, float)
    }
    if (typenum == NPY_DOUBLE) {
        LINE_OF(f8, double)
    }
    if (PyTypeNum_ISINTEGER(typenum) && item == 8) {
        LINE_OF(i8, uint64_t)
    }
    if (in != out) {
        memcpy(out, in, (size_t)(n * item));
    }
    op(n - 1, out + item, item, out, item); /* each element reads the one that was written before it */
#undef LINE_OF
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
    const Cumulate *p = ins->data;
    const ThnCell *in = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    Cumulating c = {.in = in, .out = out, .multiply = p->multiply, .n = out->dims[p->axis], .outer = 1, .inner = 1};
    c.op = p->multiply ? thn_mul_inner(out->typenum) : thn_add_inner(out->typenum);
    const npy_intp total = thn_size(out);
    if (total == 0) {
        return 0;
    }
    for (int i = 0; i < out->ndim; i++) {
        *(i < p->axis ? &c.outer : &c.inner) *= i == p->axis ? 1 : out->dims[i];
    }
    c.direct = PyArray_EquivTypenums(in->typenum, out->typenum) && thn_is_c_contiguous(in);
    if (!c.direct) {
        thn_loop2(in->ndim, in->dims, out->data, out->strides, in->data, in->strides,
                  thn_cast_inner(out->typenum, in->typenum));
    }
    c.lines = 32768 / c.n + 1;
    c.columns = 4096;
    npy_intp tasks = c.inner == 1 ? (c.outer + c.lines - 1) / c.lines : c.outer * ((c.inner + c.columns - 1) / c.columns);
    thn_parallel((long)tasks, cumulate_task, &c);
    return 0;
}

/* ---- nonzero */

typedef struct {
    int first_axis;
} Nonzero;

typedef struct {
    npy_intp count;
    char flags[]; /* one byte for each element, in C order */
} Flags;

static int nonzero_init(ThnProgram *p, ThnInstr *ins, PyObject *params)
{
    Nonzero *z = thn_alloc(sizeof *z);
    ins->data = z;
    if (!z || !PyArg_ParseTuple(params, "|i", &z->first_axis)) {
        return -1;
    }
    const ThnCellSpec *in = &p->cells[ins->ins[0]];
    if (in->ndim < 1 || ins->nout != in->ndim || PyTypeNum_ISCOMPLEX(in->typenum)
        || (ins->nin > 1 && p->cells[ins->ins[1]].ndim < z->first_axis + in->ndim)) {
        PyErr_SetString(PyExc_ValueError, "nonzero: a real array, and an output for each of its dimensions");
        return -1;
    }
    return 0;
}

static int nonzero_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *mask = THN_IN(f, ins, 0);
    if (ins->nin > 1) {
        int first = ((const Nonzero *)ins->data)->first_axis;
        const ThnCell *x = THN_IN(f, ins, 1);
        for (int i = 0; i < mask->ndim; i++) {
            if (mask->dims[i] != x->dims[first + i]) {
                return thn_error(f, PyExc_IndexError,
                                 "boolean index did not match indexed array along axis %d; size of axis is %lld but size "
                                 "of corresponding boolean axis is %lld",
                                 first + i, (long long)x->dims[first + i], (long long)mask->dims[i]);
            }
        }
    }
    npy_intp total = thn_size(mask), strides[THN_MAXDIM], s = 1, count = 0;
    Flags *flags = thn_scratch(f, ins, sizeof(Flags) + (size_t)total);
    if (!flags) {
        return -1;
    }
    for (int i = mask->ndim - 1; i >= 0; i--) {
        strides[i] = s;
        s *= mask->dims[i];
    }
    thn_loop2(mask->ndim, mask->dims, flags->flags, strides, mask->data, mask->strides,
              thn_cast_inner(NPY_BOOL, mask->typenum));
    for (npy_intp i = 0; i < total; i++) {
        count += flags->flags[i] != 0;
    }
    flags->count = count;
    for (int k = 0; k < ins->nout; k++) {
        if (thn_out_alloc(f, THN_OUT(f, ins, k), &count) < 0) {
            return -1;
        }
    }
    f->work = (double)total + 4.0 * (double)count;
    return 0;
}

static int nonzero_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *mask = THN_IN(f, ins, 0);
    const Flags *flags = f->scratch[ins->index].ptr;
    npy_intp total = thn_size(mask);
    const char *p = flags->flags, *end = p + total;
    for (npy_intp found = 0; found < flags->count; found++, p++) {
        p = memchr(p, 1, (size_t)(end - p));
        if (!p) {
            break;
        }
        npy_intp position = p - flags->flags;
        for (int k = mask->ndim - 1; k > 0; k--) {
            ((int64_t *)THN_OUT(f, ins, k)->data)[found] = position % mask->dims[k];
            position /= mask->dims[k];
        }
        ((int64_t *)THN_OUT(f, ins, 0)->data)[found] = position;
    }
    return 0;
}

const ThnOpDef thn_ops_order[] = {
    {"cumulate", cumulate_init, NULL, cumulate_prepare, cumulate_execute, 0},
    {"nonzero", nonzero_init, NULL, nonzero_prepare, nonzero_execute, 0},
    {NULL, NULL, NULL, NULL, NULL, 0},
};
