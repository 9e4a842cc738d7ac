/* Instructions: cumulative sums and products, positions of the elements that are not zero. */
#include "vm.h"
#include "copy.h"

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

static int cumulate_execute(ThnFrame *f, const ThnInstr *ins)
{
    const Cumulate *c = ins->data;
    const ThnCell *in = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    thn_loop2(in->ndim, in->dims, out->data, out->strides, in->data, in->strides,
              thn_cast_inner(out->typenum, in->typenum));
    ThnInner op = c->multiply ? thn_mul_inner(out->typenum) : thn_add_inner(out->typenum);
    npy_intp n = out->dims[c->axis], step = out->strides[c->axis], outer = 1;
    for (int i = 0; i < c->axis; i++) {
        outer *= out->dims[i];
    }
    npy_intp inner = step / out->itemsize; /* elements between neighbours along the axis */
    if (thn_size(out) == 0) {
        return 0;
    }
    for (npy_intp o = 0; o < outer; o++) {
        char *block = out->data + o * n * step;
        if (inner == 1) {
            op(n - 1, block + step, step, block, step); /* each element reads the one that was written before it */
            continue;
        }
        for (npy_intp i = 1; i < n; i++) {
            op(inner, block + i * step, out->itemsize, block + (i - 1) * step, out->itemsize);
        }
    }
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
