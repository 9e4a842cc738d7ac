/* Instructions: gathering and scattering by arrays of integers. All indices are checked before anything is written. */
#include "vm.h"
#include "tables.h"
#include "target.h"

#include <stdlib.h>

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
    const int now = ins->index >= f->prog->tail_start || t->row == 0;
    if ((now && thn_table_check(f, t) < 0) || thn_out_alloc(f, out, t->full) < 0) {
        return -1;
    }
    f->work = thn_bytes_work(out) + (double)thn_size(out) * 0.5;
    return 0;
}

static int adv_get_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *out = THN_OUT(f, ins, 0);
    const ThnTable *t = f->scratch[ins->index].ptr;
    return thn_table_move(t, THN_READ, out->data, out->strides) ? 0 : thn_table_check(f, t);
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
    npy_intp strides[THN_MAXDIM];
    THN_TRY(thn_target_prepare(f, out, x, a->inplace));
    const ThnTable *t = open_table(f, ins, out);
    THN_NEED(t);
    THN_TRY(thn_table_check(f, t));
    const int nd = t->nd + t->rest;
    if (thn_broadcast_strides(y, nd, t->full, strides) < 0) {
        return thn_broadcast_error(f, y, nd, t->full);
    }
    double n = 1;
    for (int i = 0; i < nd; i++) {
        n *= (double)t->full[i];
    }
    f->work = n * 2 + (a->inplace ? 0 : thn_bytes_work(x));
    return 0;
}

static int adv_inc_execute(ThnFrame *f, const ThnInstr *ins)
{
    const thn_advanced_inc_params *a = ins->data;
    const ThnTable *t = f->scratch[ins->index].ptr;
    npy_intp strides[THN_MAXDIM];
    char *src, *held;
    THN_TRY(thn_source(f, ins, a->inplace, t->nd + t->rest, t->full, &src, strides, &held));
    thn_table_move(t, a->set ? THN_WRITE : THN_ADD, src, strides);
    free(held);
    return 0;
}

THN_INSTRUCTION(advanced_subtensor, axes_check, adv_get_prepare, adv_get_execute)
THN_INSTRUCTION(advanced_inc, axes_check, adv_inc_prepare, adv_inc_execute)
THN_INSTRUCTION(check_bounds, axes_check, bounds_prepare, NULL)
