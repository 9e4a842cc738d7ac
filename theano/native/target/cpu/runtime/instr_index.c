/* Instructions: writing into slices, gathering and scattering by arrays of integers, checking positions. All indices are checked
 * before anything is written. */
#include "vm.h"
#include "index.h"
#include "tables.h"
#include "pool.h"
#include "target.h"

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

/* The second input's elements for reading while the output is written, which is begun with the target: a copy if they share memory,
 * with strides over `dims`, to which they broadcast, in a block of the pool, which `held`, NULL before, gets. */
static int open_source(ThnFrame *f, const ThnInstr *ins, int inplace, int nd, const npy_intp *dims, char **data, npy_intp *strides,
                       char **held)
{
    const ThnCell *out = THN_OUT(f, ins, 0);
    ThnCell y = *THN_IN(f, ins, 1);
    npy_intp dense[THN_MAXDIM];
    thn_target_execute(out, THN_IN(f, ins, 0), inplace);
    if (thn_may_overlap(&y, out)) {
        *held = thn_pool_alloc((size_t)thn_dense_strides(y.ndim, y.dims, y.itemsize, dense));
        THN_FAIL_IF(f, !*held, PyExc_MemoryError, "out of memory for a copy of an operand");
        thn_copy_strided(y.ndim, y.dims, *held, dense, y.data, y.strides, y.itemsize);
        y.data = *held;
        y.strides = dense;
    }
    *data = y.data;
    return thn_broadcast_strides(&y, nd, dims, strides);
}

int thn_broadcasts(ThnFrame *f, const ThnCell *y, int nd, const npy_intp *dims)
{
    npy_intp strides[THN_MAXDIM];
    THN_FAIL_IF(f, thn_broadcast_strides(y, nd, dims, strides) < 0, PyExc_ValueError,
                "could not broadcast input array from shape %s into shape %s", THN_SHAPE(y->ndim, y->dims), THN_SHAPE(nd, dims));
    return 0;
}

/* ---- inc_subtensor */

typedef struct {
    char *data;
    int nd;
    npy_intp dims[THN_MAXDIM], strides[THN_MAXDIM];
} IncPlan;

static int inc_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const thn_inc_subtensor_params *inc = ins->data;
    ThnCell *x = THN_IN(f, ins, 0), *y = THN_IN(f, ins, 1), *out = THN_OUT(f, ins, 0);
    IncPlan *plan = thn_scratch(f, ins, sizeof *plan);
    THN_NEED(plan);
    THN_TRY(thn_target_prepare(f, out, x, inc->inplace));
    plan->nd = thn_index_apply(f, ins, inc->index, out, &plan->data, plan->dims, plan->strides);
    THN_TRY(plan->nd);
    THN_TRY(thn_broadcasts(f, y, plan->nd, plan->dims));
    f->work = inc->inplace ? thn_bytes_work(y) : thn_bytes_work(x);
    return 0;
}

static int inc_execute(ThnFrame *f, const ThnInstr *ins)
{
    const thn_inc_subtensor_params *inc = ins->data;
    const ThnCell *x = THN_IN(f, ins, 0);
    const IncPlan *plan = f->scratch[ins->index].ptr;
    npy_intp strides[THN_MAXDIM];
    THN_POOLED char *held = NULL;
    char *src;
    THN_TRY(open_source(f, ins, inc->inplace, plan->nd, plan->dims, &src, strides, &held));
    thn_loop2(plan->nd, plan->dims, plan->data, plan->strides, src, strides,
              inc->set ? thn_copy_inner(x->itemsize) : thn_add_inner(x->typenum));
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

/* ---- arrays of integers */

/* The axes that are indexed are the first field of all these instructions; the index arrays are the last inputs. */
static int axes_check(ThnProgram *Py_UNUSED(p), ThnInstr *ins)
{
    const ThnInts *axes = ins->data;
    return thn_fits(ins, axes->n > 0 && axes->n == ins->nin - thn_rows[ins->def->code].reads && thn_increase(axes));
}

static ThnTable *open_table(ThnFrame *f, const ThnInstr *ins, const ThnCell *x)
{
    const ThnInts *axes = ins->data;
    ThnTable *t = thn_scratch(f, ins, sizeof *t);
    return t && thn_table_open(f, ins, x, ins->nin - axes->n, axes->n, axes->at, -1, 0, t) == 0 ? t : NULL;
}

static int adv_get_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *out = THN_OUT(f, ins, 0);
    const ThnTable *t = open_table(f, ins, THN_IN(f, ins, 0));
    THN_NEED(t);
    THN_FAIL_IF(f, t->nd + t->rest != out->ndim, PyExc_SystemError, "AdvancedSubtensor: the result has %d dimensions, expected %d",
                t->nd + t->rest, (int)out->ndim);
    /* Checked while they are used, but in the tail: nothing may fail any more once its first instruction has run. */
    THN_TRY(ins->index >= f->prog->tail_start ? thn_table_check(f, t) : 0);
    THN_TRY(thn_out_alloc(f, out, t->full));
    f->work = thn_bytes_work(out) + (double)thn_size(out) * 0.5;
    return 0;
}

static int adv_get_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *out = THN_OUT(f, ins, 0);
    ThnTable *t = f->scratch[ins->index].ptr;
    t->data = t->array->data; /* it may have moved since this was prepared */
    return t->row && thn_table_move(t, THN_READ, out->data, out->strides) ? 0 : thn_table_check(f, t);
}

/* Gathers and scatters that are a part of a kernel are checked before it. */
static int bounds_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const ThnTable *t = open_table(f, ins, THN_IN(f, ins, 0));
    return t ? thn_table_check(f, t) : -1;
}

static int adv_inc_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const thn_advanced_inc_params *a = ins->data;
    ThnCell *x = THN_IN(f, ins, 0), *y = THN_IN(f, ins, 1), *out = THN_OUT(f, ins, 0);
    THN_TRY(thn_target_prepare(f, out, x, a->inplace));
    const ThnTable *t = open_table(f, ins, out);
    THN_NEED(t);
    THN_TRY(thn_table_check(f, t));
    const int nd = t->nd + t->rest;
    THN_TRY(thn_broadcasts(f, y, nd, t->full));
    f->work = 2.0 * (double)thn_product(nd, t->full) + (a->inplace ? 0 : thn_bytes_work(x));
    return 0;
}

static int adv_inc_execute(ThnFrame *f, const ThnInstr *ins)
{
    const thn_advanced_inc_params *a = ins->data;
    const ThnTable *t = f->scratch[ins->index].ptr;
    npy_intp strides[THN_MAXDIM];
    THN_POOLED char *held = NULL;
    char *src;
    THN_TRY(open_source(f, ins, a->inplace, t->nd + t->rest, t->full, &src, strides, &held));
    thn_table_move(t, a->set ? THN_WRITE : THN_ADD, src, strides);
    return 0;
}

THN_INSTRUCTION(inc_subtensor, NULL, inc_prepare, inc_execute)
THN_INSTRUCTION(check_index, NULL, check_prepare, NULL)
THN_INSTRUCTION(advanced_subtensor, axes_check, adv_get_prepare, adv_get_execute)
THN_INSTRUCTION(advanced_inc, axes_check, adv_inc_prepare, adv_inc_execute)
THN_INSTRUCTION(check_bounds, axes_check, bounds_prepare, NULL)
