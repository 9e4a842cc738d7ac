/* Instructions: gathering and scattering by arrays of integers. All indices are checked before anything is written. */
#include "vm.h"
#include "tables.h"
#include "target.h"

#include <stdlib.h>

typedef struct {
    int set, inplace;
    int mode;             /* what becomes of indices that are out of bounds */
    int first;            /* the first index input */
    int n;                /* number of index inputs */
    int axes[THN_MAXDIM];
} Adv;

static int adv_axes(ThnProgram *p, ThnInstr *ins, Adv *a, PyObject *axes)
{
    PyObject *fast = PySequence_Fast(axes, "the indexed axes must be a sequence");
    if (!fast) {
        return -1;
    }
    a->n = (int)PySequence_Fast_GET_SIZE(fast);
    int nd = p->cells[ins->ins[0]].ndim, ok = a->n > 0 && a->n == ins->nin - a->first && a->n <= nd;
    for (int k = 0; ok && k < a->n; k++) {
        a->axes[k] = (int)PyLong_AsLong(PySequence_Fast_GET_ITEM(fast, k));
        ok = a->axes[k] >= 0 && a->axes[k] < nd && (k == 0 || a->axes[k] > a->axes[k - 1])
            && thn_int_reader(p->cells[ins->ins[a->first + k]].typenum);
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

static ThnTable *open_table(ThnFrame *f, const ThnInstr *ins, const ThnCell *x)
{
    const Adv *a = ins->data;
    ThnTable *t = thn_scratch(f, ins, sizeof *t);
    return t && thn_table_open(f, ins, x, a->first, a->n, a->axes, -1, 0, t) == 0 ? t : NULL;
}

static int adv_get_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *out = THN_OUT(f, ins, 0);
    const ThnTable *t = open_table(f, ins, THN_IN(f, ins, 0));
    if (!t) {
        return -1;
    }
    if (t->nd + t->rest != out->ndim) {
        return thn_error(f, PyExc_SystemError, "AdvancedSubtensor: the result has %d dimensions, expected %d", t->nd + t->rest,
                         (int)out->ndim);
    }
    /* Checked while they are used, but in the tail: nothing may fail any more once its first instruction has run. */
    const int now = ins->index >= f->prog->tail_start || t->row == 0;
    if ((now && ((const Adv *)ins->data)->mode == THN_RAISE && thn_table_check(f, t) < 0)
        || thn_out_alloc(f, out, t->full) < 0) {
        return -1;
    }
    f->work = thn_bytes_work(out) + (double)thn_size(out) * 0.5;
    return 0;
}

static int adv_get_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *out = THN_OUT(f, ins, 0);
    const ThnTable *t = f->scratch[ins->index].ptr;
    return thn_table_move(t, THN_READ, ((const Adv *)ins->data)->mode, out->data, out->strides) ? 0 : thn_table_check(f, t);
}

/* Gathers and scatters that are a part of a kernel are checked before it. */
static int bounds_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const ThnTable *t = open_table(f, ins, THN_IN(f, ins, 0));
    return t ? thn_table_check(f, t) : -1;
}

static int adv_inc_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const Adv *a = ins->data;
    ThnCell *x = THN_IN(f, ins, 0), *y = THN_IN(f, ins, 1), *out = THN_OUT(f, ins, 0);
    npy_intp strides[THN_MAXDIM];
    if (thn_same_dtype(f, x, y, "AdvancedIncSubtensor") < 0 || thn_target_prepare(f, out, x, a->inplace) < 0) {
        return -1;
    }
    const ThnTable *t = open_table(f, ins, out);
    if (!t || thn_table_check(f, t) < 0) {
        return -1;
    }
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
    const Adv *a = ins->data;
    const ThnTable *t = f->scratch[ins->index].ptr;
    const ThnCell *x = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    ThnCell y = *THN_IN(f, ins, 1);
    npy_intp y_strides[THN_MAXDIM], strides[THN_MAXDIM];
    const char *src;
    char *held;
    thn_target_execute(out, x, a->inplace);
    if (thn_source(f, &y, out, &src, y_strides, &held) < 0) {
        return -1;
    }
    y.strides = y_strides;
    thn_broadcast_strides(&y, t->nd + t->rest, t->full, strides);
    thn_table_move(t, a->set ? THN_WRITE : THN_ADD, THN_RAISE, (char *)src, strides);
    free(held);
    return 0;
}

/* ---- take and its reverse: one index vector along the first axis */

static int take_common(ThnProgram *p, ThnInstr *ins, int first)
{
    Adv *a = ins->data;
    a->first = first;
    a->n = 1;
    if (ins->nin != first + 1 || p->cells[ins->ins[0]].ndim < 1 || p->cells[ins->ins[first]].ndim != 1
        || !thn_int_reader(p->cells[ins->ins[first]].typenum)) {
        PyErr_SetString(PyExc_ValueError, "take: an array of at least one dimension and a vector of integers");
        return -1;
    }
    return 0;
}

static int take_init(ThnProgram *p, ThnInstr *ins, PyObject *params)
{
    Adv *a = thn_alloc(sizeof *a);
    ins->data = a;
    if (!a || !PyArg_ParseTuple(params, "|i", &a->mode)) {
        return -1;
    }
    return take_common(p, ins, 1);
}

static int inc_take_init(ThnProgram *p, ThnInstr *ins, PyObject *params)
{
    Adv *a = thn_alloc(sizeof *a);
    ins->data = a;
    if (!a || !PyArg_ParseTuple(params, "pp", &a->set, &a->inplace)) {
        return -1;
    }
    return take_common(p, ins, 2);
}

static int take_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *x = THN_IN(f, ins, 0), *index = THN_IN(f, ins, 1);
    if (((const Adv *)ins->data)->mode && x->dims[0] == 0 && index->dims[0] > 0) {
        return thn_error(f, PyExc_IndexError, "cannot do a non-empty take from an empty axes.");
    }
    return adv_get_prepare(f, ins);
}

const ThnOpDef thn_ops_gather[] = {
    {"advanced_subtensor", adv_get_init, NULL, adv_get_prepare, adv_get_execute, 0},
    {"advanced_inc", adv_inc_init, NULL, adv_inc_prepare, adv_inc_execute, 0},
    {"check_bounds", adv_get_init, NULL, bounds_prepare, NULL, 0},
    {"take", take_init, NULL, take_prepare, adv_get_execute, 0},
    {"inc_take", inc_take_init, NULL, adv_inc_prepare, adv_inc_execute, 0},
    {NULL, NULL, NULL, NULL, NULL, 0},
};
