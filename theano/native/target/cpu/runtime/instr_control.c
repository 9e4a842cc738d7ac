/* Instructions: control flow, Python fallbacks, aliases and checks. */
#include "vm.h"
#include "target.h"

/* ---- jumps (lazy branches) */

static int jump_prepare(ThnFrame *f, const ThnInstr *ins)
{
    f->next = ((const thn_jump_params *)ins->data)->target;
    return 0;
}

static int guard_prepare(ThnFrame *f, const ThnInstr *ins)
{
    f->undo[f->nundo++] = ((const thn_guard_params *)ins->data)->target;
    return 0;
}

static int guard_check(ThnProgram *p, ThnInstr *ins)
{
    const int target = ((const thn_guard_params *)ins->data)->target;
    return thn_fits(ins, target >= p->end && target - p->end < p->nundo);
}

int thn_truth(const ThnCell *c)
{
    switch (c->typenum) {
    case NPY_FLOAT: return *(const float *)c->data != 0;
    case NPY_DOUBLE: return *(const double *)c->data != 0;
    case NPY_CFLOAT: return ((const float *)c->data)[0] != 0 || ((const float *)c->data)[1] != 0;
    case NPY_CDOUBLE: return ((const double *)c->data)[0] != 0 || ((const double *)c->data)[1] != 0;
    case NPY_HALF: return (*(const uint16_t *)c->data & 0x7fff) != 0;
    default: return thn_scalar_int(c) != 0;
    }
}

static int jump_if_false_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *c = THN_IN(f, ins, 0);
    const int is_object = c->kind == THN_KIND_OBJECT;
    THN_FAIL_IF(f, !is_object && c->ndim != 0 && thn_size(c) != 1, PyExc_ValueError, "a condition must be a scalar");
    const int yes = is_object ? PyObject_IsTrue(c->obj) : thn_truth(c);
    THN_TRY(yes);
    if (!yes) {
        f->next = ((const thn_jump_if_false_params *)ins->data)->target;
    }
    return 0;
}

/* ---- aliases and checks of values */

static int view_prepare(ThnFrame *f, const ThnInstr *ins)
{
    return thn_out_alias(f, THN_OUT(f, ins, 0), THN_IN(f, ins, 0));
}

static int assert_prepare(ThnFrame *f, const ThnInstr *ins)
{
    for (int k = 1; k < ins->nin; k++) {
        const ThnCell *c = THN_IN(f, ins, k);
        if (c->kind == THN_KIND_TENSOR && c->ndim == 0 && !thn_truth(c)) {
            const thn_assert_op_params *given = ins->data;
            PyErr_SetObject(given->exception, given->message);
            return -1;
        }
    }
    return view_prepare(f, ins);
}

/* ---- Python fallbacks */

typedef struct {
    thn_thunk_params given;
    ThnLock lock;
} Thunk;

static int thunk_check(ThnProgram *Py_UNUSED(p), ThnInstr *ins)
{
    Thunk *t = ins->data;
    for (int side = 0; side < 2; side++) {
        PyObject *s = side ? t->given.out_storages : t->given.in_storages;
        THN_RAISE_IF(PyTuple_GET_SIZE(s) != (side ? ins->nout : ins->nin), PyExc_TypeError,
                     "thunk: storages are tuples with one list for each input and output");
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(s); i++) {
            THN_RAISE_IF(!PyList_Check(PyTuple_GET_ITEM(s, i)) || PyList_GET_SIZE(PyTuple_GET_ITEM(s, i)) != 1, PyExc_TypeError,
                         "thunk: a storage is a list with one element");
        }
    }
    t->lock.lock = PyThread_allocate_lock();
    THN_RAISE_IF(!t->lock.lock, PyExc_MemoryError, "no memory for a lock");
    return 0;
}

static void thunk_clear(ThnInstr *ins)
{
    Thunk *t = ins->data;
    if (t->lock.lock) {
        PyThread_free_lock(t->lock.lock);
    }
}

/* Puts `value` (a new reference, may be NULL for None) into a storage without disturbing a pending exception. */
static void put_back(PyObject *storage, PyObject *value)
{
    PyObject *type, *error, *tb;
    PyErr_Fetch(&type, &error, &tb);
    if (PyList_GET_SIZE(storage) == 1) {
        PyList_SetItem(storage, 0, value ? value : Py_NewRef(Py_None));
    } else {
        Py_XDECREF(value);
    }
    PyErr_Restore(type, error, tb);
}

/* A storage may belong to a shared variable or to a constant: what it held comes back after the call, and one that holds
 * the very value already is not touched. */
static int thunk_execute(ThnFrame *f, const ThnInstr *ins)
{
    Thunk *t = ins->data;
    PyObject *in_storages = t->given.in_storages, *out_storages = t->given.out_storages;
    PyObject *old[ins->nin + 1];
    memset(old, 0, sizeof old);
    int r = thn_lock(&t->lock);
    const int locked = r == 0;
    for (int k = 0; k < ins->nin && r == 0; k++) {
        PyObject *s = PyTuple_GET_ITEM(in_storages, k), *v = thn_box(f, THN_IN(f, ins, k));
        if (v && PyList_GET_SIZE(s) == 1 && PyList_GET_ITEM(s, 0) == v) {
            Py_DECREF(v);
            continue;
        }
        old[k] = v ? Py_NewRef(PyList_GET_SIZE(s) ? PyList_GET_ITEM(s, 0) : Py_None) : NULL;
        r = v ? PyList_SetItem(s, 0, v) : -1;
    }
    for (int k = 0; k < ins->nout && r == 0; k++) {
        put_back(PyTuple_GET_ITEM(out_storages, k), NULL);
    }
    THN_OWNED PyObject *result = r == 0 ? PyObject_CallNoArgs(t->given.thunk) : NULL;
    r = result ? 0 : -1;
    for (int k = 0; k < ins->nout && r == 0; k++) {
        PyObject *s = PyTuple_GET_ITEM(out_storages, k);
        THN_OWNED PyObject *v = Py_NewRef(PyList_GET_SIZE(s) ? PyList_GET_ITEM(s, 0) : Py_None);
        r = thn_unbox(f, THN_OUT(f, ins, k), v);
    }
    for (int k = 0; k < ins->nout && locked; k++) {
        put_back(PyTuple_GET_ITEM(out_storages, k), NULL);
    }
    for (int k = 0; k < ins->nin && locked; k++) {
        if (old[k]) {
            put_back(PyTuple_GET_ITEM(in_storages, k), old[k]);
        }
    }
    if (locked) {
        thn_unlock(&t->lock);
    }
    return r;
}

PyObject *thn_box_inputs(ThnFrame *f, const ThnInstr *ins, int shown)
{
    const int n = ins->nin + (shown ? ins->nshown : 0);
    PyObject *all = PyTuple_New(n);
    for (int k = 0; all && k < n; k++) {
        PyObject *v = thn_box(f, &f->cells[k < ins->nin ? ins->ins[k] : ins->shown[k - ins->nin]]);
        if (!v && !shown) {
            Py_CLEAR(all);
            break;
        }
        if (!v) {
            PyErr_Clear();
            v = Py_NewRef(Py_None);
        }
        PyTuple_SET_ITEM(all, k, v);
    }
    return all;
}

int thn_unbox_outputs(ThnFrame *f, const ThnInstr *ins, PyObject *values, const char *who)
{
    THN_OWNED PyObject *fast = PySequence_Fast(values, "expected a sequence of outputs");
    THN_NEED(fast);
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(fast);
    THN_RAISE_IF(n != ins->nout, PyExc_ValueError, "%s: expected %d outputs, got %zd", who, ins->nout, n);
    for (int k = 0; k < ins->nout; k++) {
        THN_TRY(thn_unbox(f, THN_OUT(f, ins, k), PySequence_Fast_GET_ITEM(fast, k)));
    }
    return 0;
}

static int call_execute(ThnFrame *f, const ThnInstr *ins)
{
    THN_OWNED PyObject *args = thn_box_inputs(f, ins, 0);
    THN_NEED(args);
    THN_OWNED PyObject *result = PyObject_Call(((const thn_call_params *)ins->data)->function, args, NULL);
    THN_NEED(result);
    if (ins->nout <= 1) {
        return ins->nout ? thn_unbox(f, THN_OUT(f, ins, 0), result) : 0;
    }
    return thn_unbox_outputs(f, ins, result, "call");
}

/* ---- copies of object cells go through the copy module, but for typed lists: lists of plain arrays, or of such lists */

#define MOST_LISTS 16 /* one within the other; a list may be its own element */

static int holds_plain_arrays(PyObject *list, int most)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *v = PyList_GET_ITEM(list, i);
        if (PyList_CheckExact(v) ? most == 0 || !holds_plain_arrays(v, most - 1)
                                 : !PyArray_CheckExact(v) || PyDataType_REFCHK(PyArray_DESCR((PyArrayObject *)v))) {
            return 0;
        }
    }
    return 1;
}

static int copy_object(ThnFrame *f, const ThnInstr *ins)
{
    const int deep = ins->def->code == THN_OP_deepcopy;
    PyObject *value = THN_IN(f, ins, 0)->obj;
    const int plain = value && PyList_CheckExact(value) && deep && holds_plain_arrays(value, MOST_LISTS);
    THN_OWNED PyObject *module = plain ? NULL : PyImport_ImportModule("copy");
    THN_OWNED PyObject *copy = plain ? thn_copy_of(value, NPY_KEEPORDER)
                             : module ? PyObject_CallMethod(module, deep ? "deepcopy" : "copy", "(O)", value) : NULL;
    THN_NEED(copy);
    thn_set_object(THN_OUT(f, ins, 0), copy);
    return 0;
}

static int copy_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *in = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    if (in->kind == THN_KIND_OBJECT) {
        return copy_object(f, ins);
    }
    f->work = (double)thn_size(in) * out->itemsize * 0.15;
    return thn_out_alloc(f, out, in->dims);
}

/* Objects, and what is a view, have been dealt with. */
static int copy_execute(ThnFrame *f, const ThnInstr *ins)
{
    thn_target_execute(THN_OUT(f, ins, 0), THN_IN(f, ins, 0), 0);
    return 0;
}

/* A view of what is C contiguous already, else a copy. */
static int contiguous_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *in = THN_IN(f, ins, 0);
    return thn_is_c_contiguous(in) ? thn_out_alias(f, THN_OUT(f, ins, 0), in) : copy_prepare(f, ins);
}

THN_INSTRUCTION(jump, NULL, jump_prepare, NULL)
THN_INSTRUCTION(guard, guard_check, guard_prepare, NULL)
THN_INSTRUCTION(jump_if_false, NULL, jump_if_false_prepare, NULL)
THN_INSTRUCTION(view, NULL, view_prepare, NULL)
THN_INSTRUCTION(assert_op, NULL, assert_prepare, NULL)
THN_INSTRUCTION(copy, NULL, copy_prepare, copy_execute)
THN_INSTRUCTION(deepcopy, NULL, copy_prepare, copy_execute)
THN_INSTRUCTION(contiguous, NULL, contiguous_prepare, copy_execute)
THN_INSTRUCTION_WITH(thunk, Thunk, thunk_check, thunk_clear, thn_nothing_prepare, thunk_execute)
THN_INSTRUCTION(call, NULL, thn_nothing_prepare, call_execute)
