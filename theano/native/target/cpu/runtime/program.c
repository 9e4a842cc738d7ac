/* The Python type Program: parsing what the linker gives, and the entry points of a call. */
#include "vm.h"
#include "pool.h"

#include <stdlib.h>
#include <structmember.h>

PyTypeObject *thn_ProgramType;

/* ---- construction */

int thn_parse_ints(PyObject *seq, int **out, int *n, long least, long limit, const char *who, const char *what)
{
    THN_OWNED PyObject *fast = PySequence_Fast(seq, "expected a sequence of integers");
    THN_NEED(fast);
    Py_ssize_t len = PySequence_Fast_GET_SIZE(fast);
    THN_NEED(*out = thn_alloc(sizeof(int) * (size_t)len));
    *n = (int)len;
    for (Py_ssize_t i = 0; i < len; i++) {
        long v = PyLong_AsLong(PySequence_Fast_GET_ITEM(fast, i));
        THN_TRY(v == -1 && PyErr_Occurred() ? -1 : 0);
        THN_RAISE_IF(v < least || v >= limit, PyExc_ValueError, "%s: %s %ld is not in %ld..%ld", who, what, v, least, limit - 1);
        (*out)[i] = (int)v;
    }
    return 0;
}

static int parse_cell(ThnProgram *p, PyObject *spec, ThnCellSpec *c)
{
    int typenum = 0, ndim = 0;
    PyObject *bcast = Py_None;
    const char *name;
    THN_RAISE_IF(!PyTuple_Check(spec), PyExc_TypeError, "a cell is a tuple ('tensor', typenum, ndim[, broadcastable]) or ('object',)");
    THN_NEED(PyArg_ParseTuple(spec, "s|iiO", &name, &typenum, &ndim, &bcast));
    c->maker = &p->nobody;
    c->kind = strcmp(name, "object") == 0 ? THN_KIND_OBJECT : THN_KIND_TENSOR;
    if (c->kind == THN_KIND_OBJECT) {
        return 0;
    }
    THN_RAISE_IF(strcmp(name, "tensor") != 0 || ndim < 0 || ndim > THN_MAXDIM, PyExc_ValueError, "bad cell: %R (at most %d dimensions)",
                 spec, THN_MAXDIM);
    THN_OWNED PyArray_Descr *d = PyArray_DescrFromType(typenum);
    THN_NEED(d);
    THN_RAISE_IF(!PyTypeNum_ISBOOL(typenum) && !PyTypeNum_ISNUMBER(typenum), PyExc_ValueError, "a tensor cell cannot hold dtype %S",
                 (PyObject *)d);
    c->typenum = d->type_num;
    c->ndim = (int16_t)ndim;
    c->itemsize = thn_itemsize(typenum);
    THN_RAISE_IF(c->itemsize <= 0 || c->itemsize > 16, PyExc_ValueError, "bad cell: %R", spec);
    if (bcast != Py_None) {
        THN_OWNED PyObject *fast = PySequence_Fast(bcast, "a broadcast pattern is a sequence of bools");
        THN_NEED(fast);
        THN_RAISE_IF(PySequence_Fast_GET_SIZE(fast) != ndim, PyExc_ValueError, "bad cell: %R", spec);
        for (int i = 0; i < ndim; i++) {
            int b = PyObject_IsTrue(PySequence_Fast_GET_ITEM(fast, i));
            THN_TRY(b);
            c->bcast |= (uint32_t)b << i;
        }
    }
    c->dims_offset = p->arena_size;
    p->arena_size += 2 * ndim;
    return 0;
}

static int parse_instr(ThnProgram *p, PyObject *spec, ThnInstr *ins)
{
    PyObject *ins_seq, *outs_seq, *params, *free_seq = NULL, *shown_seq = NULL;
    const char *name;
    ins->index = (int)(ins - p->instrs);
    ins->node_index = -1;
    THN_RAISE_IF(!PyTuple_Check(spec), PyExc_TypeError, "an instruction is a tuple (opname, ins, outs, params, node_index, free, shown)");
    THN_NEED(PyArg_ParseTuple(spec, "sOOO|iOO", &name, &ins_seq, &outs_seq, &params, &ins->node_index, &free_seq, &shown_seq));
    const ThnOpDef *def = thn_find_op(name);
    THN_RAISE_IF(!def, PyExc_NotImplementedError, "the runtime has no instruction '%s'", name);
    THN_TRY(thn_parse_ints(ins_seq, &ins->ins, &ins->nin, 0, p->ncells, name, "cell"));
    THN_TRY(thn_parse_ints(outs_seq, &ins->outs, &ins->nout, 0, p->ncells, name, "cell"));
    THN_TRY(free_seq ? thn_parse_ints(free_seq, &ins->frees, &ins->nfree, 0, p->ncells, name, "cell") : 0);
    THN_TRY(shown_seq ? thn_parse_ints(shown_seq, &ins->shown, &ins->nshown, 0, p->ncells, name, "cell") : 0);
    ins->def = def;
    ins->params = Py_NewRef(params);
    return thn_parse_params(p, ins, params);
}

static int parse_slot(ThnProgram *p, PyObject *entry, ThnSlot *s)
{
    PyObject *held;
    THN_RAISE_IF(!PyTuple_Check(entry), PyExc_TypeError, "expected a tuple (cell, value), got %R", entry);
    THN_NEED(PyArg_ParseTuple(entry, "iO|p", &s->cell, &held, &s->flag));
    s->held = Py_NewRef(held);
    THN_RAISE_IF(s->cell < 0 || s->cell >= p->ncells, PyExc_ValueError, "there is no cell %d", s->cell);
    return 0;
}

static int parse_output(ThnProgram *p, PyObject *entry, ThnSlot *s)
{
    THN_TRY(parse_slot(p, entry, s));
    THN_RAISE_IF(s->held != Py_None && (!PyList_Check(s->held) || PyList_GET_SIZE(s->held) != 1), PyExc_TypeError,
                 "a storage is a list with one element");
    return 0;
}

static int parse_input(ThnProgram *p, PyObject *entry, ThnSlot *s)
{
    THN_TRY(parse_output(p, entry, s));
    THN_RAISE_IF(s->held == Py_None, PyExc_TypeError, "an input needs a storage");
    return 0;
}

static int parse_update(ThnProgram *p, PyObject *entry, ThnUpdate *u)
{
    THN_NEED(PyArg_ParseTuple(entry, "ii", &u->output, &u->input));
    THN_RAISE_IF(u->output < 0 || u->output >= p->noutputs || u->input < 0 || u->input >= p->ninputs, PyExc_ValueError,
                 "an update is (output position, input position)");
    p->outputs[u->output].flag = 1;
    return 0;
}

/* Makes p->all of the entries of a sequence, which may be missing; p->count is how many of them may have to be freed. */
#define PARSE_EACH(p, entries, all, count, parse)                                               \
    {                                                                                           \
        THN_OWNED PyObject *list = (entries) ? PySequence_List(entries) : PyList_New(0);        \
        THN_NEED(list && (p->all = thn_alloc(sizeof *p->all * (size_t)PyList_GET_SIZE(list)))); \
        for (int i = 0; i < PyList_GET_SIZE(list); i++) {                                       \
            p->count = i + 1;                                                                   \
            THN_TRY(parse(p, PyList_GET_ITEM(list, i), &p->all[i]));                            \
        }                                                                                       \
    }

static int parse_all(ThnProgram *p, PyObject *const *seqs)
{
    const int n = (int)PySequence_Size(seqs[1]);
    THN_TRY(n);
    PARSE_EACH(p, seqs[0], cells, ncells, parse_cell)
    p->times = thn_alloc(sizeof(double) * (size_t)n);
    p->counts = thn_alloc(sizeof(long long) * (size_t)n);
    THN_NEED(p->times && p->counts);
    p->end = p->end < 0 || p->end > n ? n : p->end;
    p->nundo = n - p->end;
    PARSE_EACH(p, seqs[1], instrs, ninstrs, parse_instr)
    if (p->tail_start < 0 || p->tail_start > p->end) {
        p->tail_start = p->end;
    }
    PARSE_EACH(p, seqs[2], inputs, ninputs, parse_input)
    PARSE_EACH(p, seqs[3], constants, nconstants, parse_slot)
    PARSE_EACH(p, seqs[4], outputs, noutputs, parse_output)
    PARSE_EACH(p, seqs[5], updates, nupdates, parse_update)
    thn_find_staying(p);
    p->may_be_steady = thn_may_be_steady(p);
    return 0;
}

static PyObject *program_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"cells", "instrs", "tail_start", "inputs", "constants", "outputs",
                            "updates", "on_error", "serialise", "end", NULL};
    PyObject *seqs[6] = {NULL};
    PyObject *on_error = Py_None;
    int tail_start = -1, serialise = 0, end = -1;
    THN_NULL_UNLESS(PyArg_ParseTupleAndKeywords(args, kwargs, "OOiOOO|OOpi:Program", names, &seqs[0], &seqs[1], &tail_start, &seqs[2],
                    &seqs[3], &seqs[4], &seqs[5], &on_error, &serialise, &end));
    ThnProgram *p = (ThnProgram *)type->tp_alloc(type, 0);
    THN_NULL_UNLESS(p);
    thn_pool_join();
    p->tail_start = tail_start;
    p->end = end;
    p->serialise = serialise;
    if (on_error != Py_None) {
        p->on_error = Py_NewRef(on_error);
    }
    p->lock = (ThnLock){.lock = PyThread_allocate_lock()};
    if (!p->lock.lock) {
        PyErr_NoMemory();
    }
    if (!p->lock.lock || parse_all(p, seqs) < 0) {
        Py_CLEAR(p);
    }
    return (PyObject *)p;
}

/* Does something with each object that a program holds. */
#define EACH_HELD(p, DO)                      \
    for (int i = 0; i < p->ninstrs; i++) {    \
        DO(p->instrs[i].params);              \
    }                                         \
    for (int i = 0; i < p->ninputs; i++) {    \
        DO(p->inputs[i].held);                \
    }                                         \
    for (int i = 0; i < p->nconstants; i++) { \
        DO(p->constants[i].held);             \
    }                                         \
    for (int i = 0; i < p->noutputs; i++) {   \
        DO(p->outputs[i].held);               \
    }                                         \
    DO(p->on_error);                          \
    DO(p->dict)

static int program_traverse(ThnProgram *p, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(p));
    EACH_HELD(p, Py_VISIT);
    return 0;
}

/* Programs that are still running cannot be collected: the caller holds a reference. */
static int program_clear(ThnProgram *p)
{
    p->cleared = 1;
    EACH_HELD(p, Py_CLEAR);
    return 0;
}

static void drop_frames(ThnProgram *p)
{
    while (p->free_frames) {
        ThnFrame *f = p->free_frames;
        p->free_frames = f->next_free;
        p->nfree_frames--;
        thn_frame_destroy(p, f);
    }
}

static void program_dealloc(ThnProgram *p)
{
    PyTypeObject *type = Py_TYPE(p);
    PyObject_GC_UnTrack(p);
    if (p->weakrefs) {
        PyObject_ClearWeakRefs((PyObject *)p);
    }
    drop_frames(p);
    for (int i = 0; i < p->ninstrs; i++) {
        ThnInstr *ins = &p->instrs[i];
        thn_free_params(ins);
        thn_free(ins->ins);
        thn_free(ins->outs);
        thn_free(ins->frees);
        thn_free(ins->shown);
    }
    program_clear(p);
    thn_free(p->cells);
    thn_free(p->instrs);
    thn_free(p->inputs);
    thn_free(p->constants);
    thn_free(p->outputs);
    thn_free(p->updates);
    thn_free(p->times);
    thn_free(p->counts);
    if (p->lock.lock) {
        PyThread_free_lock(p->lock.lock);
    }
    thn_pool_leave();
    type->tp_free((PyObject *)p);
    Py_DECREF(type);
}

/* ---- a call */

int thn_load_input(ThnProgram *p, ThnFrame *f, int i, PyObject *v)
{
    const ThnSlot *in = &p->inputs[i];
    if (!v || v == Py_None) {
        THN_RAISE_IF(PyList_GET_SIZE(in->held) != 1, PyExc_ValueError, "a storage list has changed its length");
        v = PyList_GET_ITEM(in->held, 0);
    }
    const int copies = in->flag && PyArray_Check(v) && !PyArray_ISWRITEABLE((PyArrayObject *)v);
    THN_OWNED PyObject *own = copies ? PyArray_NewCopy((PyArrayObject *)v, NPY_KEEPORDER) : Py_NewRef(v);
    THN_NEED(own);
    return thn_unbox(f, &f->cells[in->cell], own);
}

/* A list could change while the call runs; NULL: all inputs are in their storages. */
static int load_tuple(ThnProgram *p, ThnFrame *f, const void *values)
{
    for (int i = 0; i < p->ninputs; i++) {
        THN_TRY(thn_load_input(p, f, i, values ? PyTuple_GET_ITEM((PyObject *)values, i) : NULL));
    }
    return 1;
}

int thn_finish(ThnProgram *p, ThnFrame *f, PyObject **out)
{
    for (int i = 0; i < p->noutputs; i++) {
        out[i] = thn_box(f, &f->cells[p->outputs[i].cell]);
        if (!out[i]) {
            while (i-- > 0) {
                Py_CLEAR(out[i]);
            }
            thn_undo(p, f);
            return -1;
        }
    }
    for (int i = 0; i < p->nupdates; i++) {
        PyObject *v = out[p->updates[i].output];
        Py_INCREF(v);
        PyList_SetItem(p->inputs[p->updates[i].input].held, 0, v);
    }
    return 0;
}

/* A list of the outputs. */
static PyObject *list_outputs(ThnProgram *p, const void *values)
{
    THN_NULL_IF(p->cleared, PyExc_RuntimeError, "this program was already freed");
    PyObject *list = PyList_New(p->noutputs);
    THN_NULL_UNLESS(list);
    PyObject_GC_UnTrack(list); /* nobody is to find it before it is filled */
    if (thn_call(p, load_tuple, values, ((PyListObject *)list)->ob_item) < 0) {
        Py_DECREF(list);
        return NULL;
    }
    PyObject_GC_Track(list);
    return list;
}

static PyObject *program_call(ThnProgram *p, PyObject *args, PyObject *kwargs)
{
    THN_NULL_IF(PyTuple_GET_SIZE(args) || (kwargs && PyDict_GET_SIZE(kwargs)), PyExc_TypeError,
                "a program takes no arguments: it reads its storages");
    THN_OWNED PyObject *self = Py_NewRef((PyObject *)p), *list = list_outputs(p, NULL);
    THN_NULL_UNLESS(list);
    for (int i = 0; i < p->noutputs; i++) {
        const ThnSlot *out = &p->outputs[i];
        if (out->held && out->held != Py_None && !out->flag) {
            PyList_SetItem(out->held, 0, Py_NewRef(PyList_GET_ITEM(list, i)));
        }
    }
    Py_RETURN_NONE;
}

static PyObject *program_call_values(ThnProgram *p, PyObject *values)
{
    THN_OWNED PyObject *given = PySequence_Tuple(values);
    THN_NULL_UNLESS(given);
    THN_NULL_IF(PyTuple_GET_SIZE(given) != p->ninputs, PyExc_TypeError, "expected %d values, got %zd", p->ninputs,
                PyTuple_GET_SIZE(given));
    return list_outputs(p, given);
}

static PyObject *program_free(ThnProgram *p, PyObject *Py_UNUSED(unused))
{
    drop_frames(p);
    thn_pool_trim();
    Py_RETURN_NONE;
}

static PyObject *program_set_profile(ThnProgram *p, PyObject *arg)
{
    int on = PyObject_IsTrue(arg);
    THN_NULL_UNLESS(on >= 0);
    p->profile = on;
    Py_RETURN_NONE;
}

static PyObject *program_reset_profile(ThnProgram *p, PyObject *Py_UNUSED(unused))
{
    memset(p->times, 0, sizeof(double) * (size_t)p->ninstrs);
    memset(p->counts, 0, sizeof(long long) * (size_t)p->ninstrs);
    p->call_count = 0;
    p->call_time = 0;
    Py_RETURN_NONE;
}

/* A list with one entry for each instruction. */
static PyObject *list_of(const ThnProgram *p, PyObject *(*entry)(const ThnProgram *p, int i))
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < p->ninstrs; i++) {
        if (thn_append(list, entry(p, i)) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

#define DEFINE_LIST(NAME, ENTRY)                                         \
    static PyObject *NAME##_entry(const ThnProgram *p, int i)            \
    {                                                                    \
        return ENTRY;                                                    \
    }                                                                    \
    static PyObject *program_##NAME(const ThnProgram *p, PyObject *none) \
    {                                                                    \
        (void)none;                                                      \
        return list_of(p, NAME##_entry);                                 \
    }

DEFINE_LIST(node_times, PyFloat_FromDouble(p->times[i]))
DEFINE_LIST(node_counts, PyLong_FromLongLong(p->counts[i]))
DEFINE_LIST(instructions, Py_BuildValue("(si)", thn_name_of(&p->instrs[i]), p->instrs[i].node_index))

static PyMethodDef program_methods[] = {
    {"call", (PyCFunction)program_call_values, METH_O,
     "call(values) -> list of outputs. One value for each input; None reads the input's storage."},
    {"free", (PyCFunction)program_free, METH_NOARGS, "Drop idle frames and recycled memory."},
    {"set_profile", (PyCFunction)program_set_profile, METH_O, "Turn the timing of instructions on or off."},
    {"reset_profile", (PyCFunction)program_reset_profile, METH_NOARGS, "Set all times and counts to zero."},
    {"node_times", (PyCFunction)program_node_times, METH_NOARGS, "Seconds spent in each instruction."},
    {"node_counts", (PyCFunction)program_node_counts, METH_NOARGS, "How often each instruction ran."},
    {"instructions", (PyCFunction)program_instructions, METH_NOARGS, "List of (opname, node_index)."},
    {NULL, NULL, 0, NULL},
};

static PyObject *get_need_update_inputs(ThnProgram *Py_UNUSED(p), void *Py_UNUSED(closure))
{
    Py_RETURN_FALSE;
}

static PyGetSetDef program_getset[] = {
    {"need_update_inputs", (getter)get_need_update_inputs, NULL, "False: updates are done by the program.", NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef program_members[] = {
    {"ncells", T_INT, offsetof(ThnProgram, ncells), READONLY, NULL},
    {"ninstrs", T_INT, offsetof(ThnProgram, ninstrs), READONLY, NULL},
    {"call_count", T_LONGLONG, offsetof(ThnProgram, call_count), READONLY, NULL},
    {"call_time", T_DOUBLE, offsetof(ThnProgram, call_time), READONLY, NULL},
    {"on_error", T_OBJECT, offsetof(ThnProgram, on_error), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(ThnProgram, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ThnProgram, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot program_slots[] = {
    {Py_tp_new, program_new},
    {Py_tp_dealloc, program_dealloc},
    {Py_tp_traverse, program_traverse},
    {Py_tp_clear, program_clear},
    {Py_tp_call, program_call},
    {Py_tp_methods, program_methods},
    {Py_tp_getset, program_getset},
    {Py_tp_members, program_members},
    {Py_tp_doc, "A compiled function: instructions over cells (the arguments are described in vm.h)."},
    {0, NULL},
};

int thn_program_init(PyObject *module)
{
    return THN_ADD_TYPE(module, "Program", ThnProgram, Py_TPFLAGS_HAVE_GC, program_slots, &thn_ProgramType);
}
