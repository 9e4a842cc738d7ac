/* Instructions: writing into slices, checking positions. All indices are checked before anything is written. */
#include "vm.h"
#include "index.h"
#include "tables.h"
#include "target.h"

#include <stdlib.h>

int thn_target_prepare(ThnFrame *f, ThnCell *out, ThnCell *x, int inplace)
{
    return inplace ? thn_out_alias(f, out, x) : thn_out_alloc(f, out, x->dims);
}

void thn_target_execute(const ThnCell *out, const ThnCell *x, int inplace)
{
    if (!inplace && out->data != x->data) {
        thn_copy_strided(out->ndim, out->dims, out->data, out->strides, x->data, x->strides, x->itemsize);
    }
}

int thn_source(ThnFrame *f, const ThnInstr *ins, int inplace, int nd, const npy_intp *dims, char **data, npy_intp *strides, char **held)
{
    const ThnCell *out = THN_OUT(f, ins, 0);
    ThnCell y = *THN_IN(f, ins, 1);
    npy_intp dense[THN_MAXDIM];
    *held = NULL;
    thn_target_execute(out, THN_IN(f, ins, 0), inplace);
    if (thn_may_overlap(&y, out)) {
        *held = malloc((size_t)thn_dense_strides(y.ndim, y.dims, y.itemsize, dense));
        THN_FAIL_IF(f, !*held, PyExc_MemoryError, "out of memory for a copy of an operand");
        thn_copy_strided(y.ndim, y.dims, *held, dense, y.data, y.strides, y.itemsize);
        y.data = *held;
        y.strides = dense;
    }
    *data = y.data;
    return thn_broadcast_strides(&y, nd, dims, strides);
}

int thn_broadcast_error(ThnFrame *f, const ThnCell *y, int nd, const npy_intp *dims)
{
    return thn_error(f, PyExc_ValueError, "could not broadcast input array from shape %s into shape %s",
                     THN_SHAPE(y->ndim, y->dims), THN_SHAPE(nd, dims));
}

/* ---- inc_subtensor */

typedef struct {
    char *data;
    npy_intp offset;
    int nd;
    npy_intp dims[THN_MAXDIM], strides[THN_MAXDIM];
} IncPlan;

static int inc_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const thn_inc_subtensor_params *inc = ins->data;
    ThnCell *x = THN_IN(f, ins, 0), *y = THN_IN(f, ins, 1), *out = THN_OUT(f, ins, 0);
    IncPlan *plan = thn_scratch(f, ins, sizeof *plan);
    npy_intp strides[THN_MAXDIM];
    if (!plan || thn_target_prepare(f, out, x, inc->inplace) < 0) {
        return -1;
    }
    plan->nd = thn_index_apply(f, ins, inc->index, out, &plan->data, plan->dims, plan->strides);
    THN_TRY(plan->nd);
    if (thn_broadcast_strides(y, plan->nd, plan->dims, strides) < 0) {
        return thn_broadcast_error(f, y, plan->nd, plan->dims);
    }
    f->work = inc->inplace ? thn_bytes_work(y) : thn_bytes_work(x);
    return 0;
}

static int inc_execute(ThnFrame *f, const ThnInstr *ins)
{
    const thn_inc_subtensor_params *inc = ins->data;
    const ThnCell *x = THN_IN(f, ins, 0);
    const IncPlan *plan = f->scratch[ins->index].ptr;
    npy_intp strides[THN_MAXDIM];
    char *src, *held;
    THN_TRY(thn_source(f, ins, inc->inplace, plan->nd, plan->dims, &src, strides, &held));
    thn_loop2(plan->nd, plan->dims, plan->data, plan->strides, src, strides,
              inc->set ? thn_copy_inner(x->itemsize) : thn_add_inner(x->typenum));
    free(held);
    return 0;
}

/* ---- a check that elements are valid positions along an axis */

static int check_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const thn_check_index_params *c = ins->data;
    int64_t outside;
    if (!thn_within(THN_IN(f, ins, 0), 0, THN_IN(f, ins, 1)->dims[c->axis], &outside)) {
        PyErr_SetObject(PyExc_ValueError, c->message);
        return -1;
    }
    return 0;
}

THN_INSTRUCTION(inc_subtensor, NULL, inc_prepare, inc_execute)
THN_INSTRUCTION(check_index, NULL, check_prepare, NULL)
