/* Instructions: join and split. */
#include "vm.h"
#include "copy.h"
#include "threads.h"

/* The axis: the instruction's, the first field of both, or that which input k gives. */
static int axis_of(ThnFrame *f, const ThnInstr *ins, int k, int ndim, const char *who)
{
    const int given = *(const int *)ins->data;
    const int64_t axis = given == THN_NO_AXIS ? thn_scalar_int(THN_IN(f, ins, k)) : given;
    THN_FAIL_IF(f, axis < -ndim || axis >= ndim, PyExc_IndexError, "%s axis %lld out of bounds [0, %d)", who, (long long)axis, ndim);
    return (int)(axis < 0 ? axis + ndim : axis);
}

/* Position of the first array. */
static int join_first(const ThnInstr *ins)
{
    return ((const thn_join_params *)ins->data)->axis == THN_NO_AXIS;
}

static int join_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *out = THN_OUT(f, ins, 0);
    const int first = join_first(ins), axis = axis_of(f, ins, 0, out->ndim, "Join");
    THN_TRY(axis);
    npy_intp dims[THN_MAXDIM];
    for (int k = first; k < ins->nin; k++) {
        const ThnCell *in = THN_IN(f, ins, k);
        THN_FAIL_IF(f, in->ndim != out->ndim, PyExc_ValueError,
                    "all the input arrays must have same number of dimensions, but the array at index %d has %d dimension(s) and "
                    "the result has %d", k - first, (int)in->ndim, (int)out->ndim);
        THN_FAIL_IF(f, !thn_cast_inner(out->typenum, in->typenum), PyExc_TypeError,
                    "Join: cannot convert an input to the dtype of the result");
        if (k == first) {
            memcpy(dims, in->dims, sizeof(npy_intp) * (size_t)in->ndim);
            continue;
        }
        for (int i = 0; i < in->ndim; i++) {
            THN_FAIL_IF(f, i != axis && in->dims[i] != dims[i], PyExc_ValueError,
                        "all the input array dimensions except for the concatenation axis must match exactly, but along dimension "
                        "%d, the array at index 0 has size %lld and the array at index %d has size %lld",
                        i, (long long)dims[i], k - first, (long long)in->dims[i]);
        }
        dims[axis] += in->dims[axis];
    }
    f->work = (double)thn_product(out->ndim, dims) * out->itemsize * 0.15;
    return thn_out_alloc(f, out, dims);
}

#define PARALLEL_BYTES ((npy_intp)1 << 20) /* results below are not split */

typedef struct {
    ThnFrame *f;
    const ThnInstr *ins;
    int first, axis;
} Joining;

static int join_some(void *ctx, npy_intp start, npy_intp stop)
{
    const Joining *j = ctx;
    const ThnInstr *ins = j->ins;
    const ThnCell *out = THN_OUT(j->f, ins, 0);
    char *dst = out->data;
    for (int k = 0; k < stop; k++) {
        const ThnCell *in = THN_IN(j->f, ins, j->first + k);
        if (k >= start) {
            thn_loop2(in->ndim, in->dims, dst, out->strides, in->data, in->strides,
                      thn_cast_inner(out->typenum, in->typenum));
        }
        dst += in->dims[j->axis] * out->strides[j->axis];
    }
    return 0;
}

static int join_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *out = THN_OUT(f, ins, 0);
    Joining j = {f, ins, join_first(ins), axis_of(f, ins, 0, out->ndim, "Join")};
    const int n = ins->nin - j.first;
    const npy_intp bytes = thn_size(out) * out->itemsize;
    /* Few large pieces are split by thn_loop2 itself. */
    thn_parallel_ranges(n, bytes >= PARALLEL_BYTES && n >= 8 ? (n + 7) / 8 : n, join_some, &j);
    return 0;
}

/* ---- split */

static int split_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *in = THN_IN(f, ins, 0);
    const ThnCell *sizes = THN_IN(f, ins, ins->nin - 1);
    const int axis = axis_of(f, ins, 1, in->ndim, "Split");
    ThnReadInt get = thn_int_reader(sizes->typenum);
    THN_TRY(axis);
    THN_FAIL_IF(f, sizes->ndim != 1 || !get, PyExc_TypeError, "Split: the sizes must be an integer vector");
    THN_FAIL_IF(f, sizes->dims[0] != ins->nout, PyExc_ValueError,
                "In Split.perform(), len(splits) != len_splits: %lld sizes for %d outputs", (long long)sizes->dims[0], ins->nout);
    int64_t total = 0;
    for (int k = 0; k < ins->nout; k++) {
        int64_t n = get(sizes->data + k * sizes->strides[0]);
        THN_FAIL_IF(f, n < 0, PyExc_ValueError, "Split: you tried to make an ndarray with a negative number of elements.");
        total += n;
    }
    THN_FAIL_IF(f, total != in->dims[axis], PyExc_ValueError, "The splits sum to %lld, expected %lld", (long long)total,
                (long long)in->dims[axis]);
    npy_intp dims[THN_MAXDIM];
    memcpy(dims, in->dims, sizeof(npy_intp) * (size_t)in->ndim);
    for (int k = 0; k < ins->nout; k++) {
        dims[axis] = (npy_intp)get(sizes->data + k * sizes->strides[0]);
        THN_TRY(thn_out_alloc(f, THN_OUT(f, ins, k), dims));
    }
    f->work = (double)thn_size(in) * in->itemsize * 0.15;
    return 0;
}

static int split_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *in = THN_IN(f, ins, 0);
    const int axis = axis_of(f, ins, 1, in->ndim, "Split");
    const char *src = in->data;
    for (int k = 0; k < ins->nout; k++) {
        const ThnCell *out = THN_OUT(f, ins, k);
        thn_copy_strided(out->ndim, out->dims, out->data, out->strides, src, in->strides, in->itemsize);
        src += out->dims[axis] * in->strides[axis];
    }
    return 0;
}

THN_INSTRUCTION(join, NULL, join_prepare, join_execute)
THN_INSTRUCTION(split, NULL, split_prepare, split_execute)
