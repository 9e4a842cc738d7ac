/* Instructions: choose, extrema of complex numbers. */
#include "vm.h"
#include "tables.h"

/* ---- choose */

/* The choices lie along the first dimension of one array. */
static inline int is_single(const ThnInstr *ins)
{
    return ins->nin == 2;
}

/* Choice k, seen as an array of its own. */
static ThnCell choice(ThnFrame *f, const ThnInstr *ins, npy_intp k)
{
    ThnCell x = *THN_IN(f, ins, is_single(ins) ? 1 : k + 1);
    if (is_single(ins)) {
        x.data += k * x.strides[0];
        x.ndim--;
        x.dims++;
        x.strides++;
    }
    return x;
}

static int choose_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const int mode = ((const thn_choose_params *)ins->data)->mode, single = is_single(ins);
    ThnCell *out = THN_OUT(f, ins, 0);
    const ThnCell *index = THN_IN(f, ins, 0);
    const int nd = out->ndim;
    npy_intp dims[THN_MAXDIM], count = single ? THN_IN(f, ins, 1)->dims[0] : ins->nin - 1;
    for (int i = 0; i < nd; i++) {
        dims[i] = 1;
    }
    int bad = thn_widen(index, nd, dims) >= 0;
    const int distinct = single ? count > 0 : (int)count; /* choices of one array have one shape */
    for (int k = 0; k < distinct; k++) {
        ThnCell x = choice(f, ins, k);
        bad = bad || thn_widen(&x, nd, dims) >= 0;
    }
    THN_FAIL_IF(f, bad, PyExc_ValueError, "shape mismatch: objects cannot be broadcast to a single shape");
    /* For the index, then for each choice. */
    npy_intp *strides = thn_scratch(f, ins, sizeof *strides * (size_t)(nd * (distinct + 1)));
    THN_NEED(strides);
    THN_TRY(thn_out_alloc(f, out, dims));
    npy_intp total = thn_size(out);
    thn_broadcast_strides(index, nd, dims, strides);
    for (int k = 0; k < distinct; k++) {
        ThnCell x = choice(f, ins, k);
        thn_broadcast_strides(&x, nd, dims, strides + (k + 1) * nd);
    }
    if (total == 0) {
        return 0;
    }
    THN_FAIL_IF(f, count == 0, PyExc_ValueError, "choose: there are no choices");
    int64_t outside;
    THN_FAIL_IF(f, mode == THN_OutOfBounds_RAISE && !thn_within(index, 0, count, &outside), PyExc_ValueError,
                "invalid entry in choice array");
    f->work = 5.0 * (double)total;
    return 0;
}

static int choose_execute(ThnFrame *f, const ThnInstr *ins)
{
    const int mode = ((const thn_choose_params *)ins->data)->mode, single = is_single(ins);
    const ThnCell *out = THN_OUT(f, ins, 0), *index = THN_IN(f, ins, 0);
    npy_intp *const index_strides = f->scratch[ins->index].ptr;
    const ThnReadInt get = thn_int_reader(index->typenum);
    const int nd = out->ndim;
    const npy_intp count = single ? THN_IN(f, ins, 1)->dims[0] : ins->nin - 1, total = thn_size(out), item = out->itemsize;
    const Dims g = {nd, out->dims, index_strides, 0};
    npy_intp at[THN_MAXDIM] = {0};
    char *p = index->data, *q = out->data;
    for (npy_intp n = 0; n < total; n++, q += item) {
        int64_t v = get(p);
        if (mode == THN_OutOfBounds_WRAP) {
            v = (v % count + count) % count;
        } else if (mode == THN_OutOfBounds_CLIP) {
            v = v < 0 ? 0 : v >= count ? count - 1 : v;
        }
        const npy_intp input = single ? 1 : v + 1, *strides = index_strides + input * nd;
        const ThnCell *x = THN_IN(f, ins, input);
        const char *from = x->data + (single ? v * x->strides[0] : 0);
        for (int i = 0; i < nd; i++) {
            from += at[i] * strides[i];
        }
        memcpy(q, from, (size_t)item);
        thn_step(&g, nd, 1, &p, at);
    }
    return 0;
}

/* ---- extrema of complex numbers, by real and then imaginary part; the first NaN wins. As NumPy has them, over one axis */

static int extremum_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const thn_complex_extremum_params *e = ins->data;
    ThnCell *in = THN_IN(f, ins, 0);
    npy_intp order[THN_MAXDIM], dims[THN_MAXDIM], last = 1;
    uint32_t reduced = 0; /* bit i: axis i */
    int kept = 0;
    for (int k = 0; k < e->axes.n; k++) {
        reduced |= (uint32_t)1 << e->axes.at[k];
        order[in->ndim - e->axes.n + k] = e->axes.at[k];
        last *= in->dims[e->axes.at[k]];
    }
    for (int i = 0; i < in->ndim; i++) {
        if (!(reduced >> i & 1)) {
            order[kept] = i;
            dims[kept++] = in->dims[i];
        }
    }
    dims[kept] = last;
    PyArray_Dims all = {order, in->ndim}, rows = {dims, kept + 1};
    THN_OWNED PyObject *x = thn_box(f, in), *turned = x ? PyArray_Transpose((PyArrayObject *)x, &all) : NULL;
    THN_OWNED PyObject *y = turned ? PyArray_Newshape((PyArrayObject *)turned, &rows, NPY_CORDER) : NULL;
    THN_NEED(y);
    for (int k = 0; k < ins->nout; k++) {
        ThnCell *out = THN_OUT(f, ins, k);
        PyObject *(*const of_values)(PyArrayObject *, int, PyArrayObject *) = e->least ? PyArray_Min : PyArray_Max;
        PyObject *(*const of_positions)(PyArrayObject *, int, PyArrayObject *) = e->least ? PyArray_ArgMin : PyArray_ArgMax;
        THN_OWNED PyObject *found = (PyTypeNum_ISCOMPLEX(out->typenum) ? of_values : of_positions)((PyArrayObject *)y, kept, NULL);
        THN_NEED(found);
        THN_TRY(thn_unbox(f, out, found));
    }
    return 0;
}

THN_INSTRUCTION(choose, NULL, choose_prepare, choose_execute)
THN_INSTRUCTION(complex_extremum, NULL, extremum_prepare, NULL)
