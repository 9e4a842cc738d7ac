/* Instructions: functions of one or two numbers given by their address, applied to each element. */
#include "vm.h"
#include "copy.h"
#include "pool.h"
#include "threads.h"
#include "tables.h"

#include <math.h>
#include <stdatomic.h>

#define BLOCK 512 /* elements of a task */

typedef double (*Unary)(double, int);
typedef double (*Binary)(double, double, int);

static int special_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *out = THN_OUT(f, ins, 0);
    npy_intp dims[THN_MAXDIM];
    int from[THN_MAXDIM];
    for (int i = 0; i < out->ndim; i++) {
        dims[i] = 1;
        from[i] = -1;
        for (int k = 0; k < ins->nin; k++) {
            const ThnCell *in = THN_IN(f, ins, k);
            if (in->bcast >> i & 1) {
                continue;
            }
            THN_FAIL_IF(f, from[i] >= 0 && in->dims[i] != dims[i], PyExc_ValueError,
                        "Input dimension mis-match. (input[%d].shape[%d] = %lld, input[%d].shape[%d] = %lld)", from[i], i,
                        (long long)dims[i], k, i, (long long)in->dims[i]);
            dims[i] = in->dims[i];
            from[i] = k;
        }
    }
    f->work = 60.0 * (double)thn_product(out->ndim, dims);
    return thn_out_alloc(f, out, dims);
}

typedef struct {
    const thn_special_params *special;
    const ThnCell *out;
    int nin, direct[2]; /* direct: contiguous float64 of the result's shape */
    const ThnCell *in[2];
    npy_intp strides[2][THN_MAXDIM];
    ThnInner load[2], store;
} Apply;

/* Elements [start, start + n) of an operand, in C order, as float64. */
static const double *operand(const Apply *a, int k, npy_intp start, npy_intp n, double *buffer)
{
    const ThnCell *out = a->out;
    if (a->direct[k]) {
        return (const double *)a->in[k]->data + start;
    }
    const Dims g = {out->ndim, out->dims, (npy_intp *)a->strides[k], 0};
    npy_intp at[THN_MAXDIM];
    char *p = a->in[k]->data;
    thn_seek(&g, g.n, start, 1, &p, at);
    thn_load_run(&g, &p, at, n, a->load[k], (char *)buffer, 8);
    return buffer;
}

static int apply_some(void *ctx, npy_intp start, npy_intp stop)
{
    const Apply *a = ctx;
    const thn_special_params *s = a->special;
    const npy_intp n = stop - start;
    double one[BLOCK], two[BLOCK], result[BLOCK];
    const double *x = operand(a, 0, start, n, one);
    if (a->nin == 1) {
        const Unary function = (Unary)s->function;
        for (npy_intp i = 0; i < n; i++) {
            result[i] = function(x[i], 1);
        }
    } else {
        const double *y = operand(a, 1, start, n, two);
        const Binary function = (Binary)s->function;
        for (npy_intp i = 0; i < n; i++) {
            result[i] = !s->survival ? function(x[i], y[i], 1) : y[i] > 0 ? function(y[i], x[i] < 0 ? 0 : x[i], 1) : NAN;
        }
    }
    if (s->factor) {
        const Unary factor = (Unary)s->factor;
        for (npy_intp i = 0; i < n; i++) {
            result[i] *= factor(x[i], 1);
        }
    }
    const npy_intp item = a->out->itemsize;
    a->store(n, a->out->data + start * item, item, (const char *)result, 8);
    return 0;
}

static int special_execute(ThnFrame *f, const ThnInstr *ins)
{
    Apply a = {.special = ins->data, .out = THN_OUT(f, ins, 0), .nin = ins->nin};
    const npy_intp total = thn_size(a.out);
    a.store = thn_cast_inner(a.out->typenum, NPY_DOUBLE);
    for (int k = 0; k < ins->nin; k++) {
        const ThnCell *in = a.in[k] = THN_IN(f, ins, k);
        a.load[k] = thn_cast_inner(NPY_DOUBLE, in->typenum);
        a.direct[k] = in->typenum == NPY_DOUBLE && thn_is_c_contiguous(in) && thn_size(in) == total;
        thn_broadcast_strides(in, a.out->ndim, a.out->dims, a.strides[k]);
    }
    return thn_parallel_ranges(total, BLOCK, apply_some, &a);
}

THN_INSTRUCTION(special, NULL, special_prepare, special_execute)
