/* The table of instructions at run time: its rows, params from Python, and what Python is told of it. */
#include "vm.h"
#include "index.h"
#include "copy.h"
#include "lapack.h"
#include "sortkeys.h"

enum {
    IS_INT, IS_FLAG, IS_CHOSEN, IS_AXIS, IS_INTS, IS_CHOSEN_INTS, IS_TEXT, IS_OBJECT, IS_TUPLE, IS_FUNCTION,
    IS_OPTIONAL_FUNCTION, IS_KERNEL, IS_PROGRAM, IS_INDEX
};

static const char *const kind_names[] = {"int", "bool", "choice", "axis", "ints", "choices", "str", "object", "tuple",
                                         "function", "optional_function", "kernel", "program", "index"};
static const char *const expected[] = {"an int", "a bool", "a member of its enumeration", "an int or None", "a tuple of ints",
                                       "a tuple of members of its enumeration", "a str", "an object", "a tuple",
                                       "a capsule with a function", "a capsule with a function or None", "a Kernel", "a Program",
                                       "an index list"};
static const char *const memory_names[] = {"fresh", "same", "view", "inplace", "kernel", "any"};
static const char *const replay_names[] = {"full", "kernel", "product", "view", "copy", "empty"};
static const struct { int flag; const char *name; } flag_names[] = {
    {THN_JUMP, "jump"},   {THN_NEEDS_GIL, "needs_gil"},   {THN_PYTHON, "python"},
    {THN_FAILS, "fails"}, {THN_READS_AXIS, "reads_axis"}, {THN_DIMS_ONLY, "dims_only"},
};

#define NONE -1

ThnRow thn_rows[THN_N_OPS];

static void fill_rows(void)
{
#define FIELD(kind, type, name, choices, count) {#name, IS_##kind, choices, count, offsetof(Params, name)},
#define INSTRUCTION(name, memory, reads, replay, flags, operands, fields, text)                                         \
    {                                                                                                                   \
        typedef thn_##name##_params Params;                                                                             \
        static const ThnField list[] = {fields {NULL, 0, NULL, 0, sizeof(Params)}};                                     \
        thn_rows[THN_OP_##name] = (ThnRow){&thn_op_##name, #name, operands, text, list,                                 \
                                           THN_MEMORY_##memory, reads, THN_REPLAY_##replay};                            \
    }
#include "instructions.def"
}

const ThnOpDef *thn_find_op(const char *name)
{
    for (int i = 0; i < THN_N_OPS; i++) {
        if (strcmp(thn_rows[i].name, name) == 0) {
            return thn_rows[i].def;
        }
    }
    return NULL;
}

/* 1: it is one in lowest .. highest; 0: not; -1: Python error. */
static int parse_int(PyObject *v, int *to, long lowest, long highest)
{
    if (!PyLong_Check(v)) {
        return 0;
    }
    const long n = PyLong_AsLong(v);
    THN_NEED(n != -1 || !PyErr_Occurred());
    *to = (int)n;
    return n >= lowest && n <= highest;
}

int thn_parse_tuple(PyObject *v, ThnInts *to, long lowest, long highest)
{
    if (!PyTuple_Check(v) || PyTuple_GET_SIZE(v) > THN_MAXDIM) {
        return 0;
    }
    to->n = (int)PyTuple_GET_SIZE(v);
    int ok = 1;
    for (int i = 0; i < to->n && ok > 0; i++) {
        ok = parse_int(PyTuple_GET_ITEM(v, i), &to->at[i], lowest, highest);
    }
    return ok;
}

static int parse_function(PyObject *v, void **to)
{
    if (!PyCapsule_CheckExact(v)) {
        return 0;
    }
    *to = PyCapsule_GetPointer(v, PyCapsule_GetName(v));
    return *to ? 1 : -1;
}

static int parse_field(ThnInstr *ins, const ThnField *field, PyObject *v, void *to)
{
    const long highest = field->choices ? field->count - 1 : INT32_MAX, lowest = field->choices ? 0 : -INT32_MAX;
    switch (field->kind) {
    case IS_FLAG:
        *(int *)to = v == Py_True;
        return PyBool_Check(v);
    case IS_AXIS:
        if (v == Py_None) {
            *(int *)to = THN_NO_AXIS;
            return 1;
        }
        /* fall through */
    case IS_INT:
    case IS_CHOSEN:
        return PyBool_Check(v) ? 0 : parse_int(v, to, lowest, highest);
    case IS_INTS:
    case IS_CHOSEN_INTS:
        return thn_parse_tuple(v, to, lowest, highest);
    case IS_OPTIONAL_FUNCTION:
        if (v == Py_None) {
            return 1;
        }
        /* fall through */
    case IS_FUNCTION:
        return parse_function(v, to);
    case IS_KERNEL:
        return (*(const struct ThnKernel **)to = thn_kernel_of(v)) ? 1 : -1;
    case IS_INDEX:
        return (*(ThnIndex **)to = thn_index_parse(ins, v)) ? 1 : -1;
    case IS_PROGRAM:
        *(ThnProgram **)to = (ThnProgram *)v;
        return PyObject_TypeCheck(v, thn_ProgramType);
    default:
        *(PyObject **)to = v;
        return field->kind == IS_TEXT ? PyUnicode_Check(v) : field->kind == IS_TUPLE ? PyTuple_Check(v) : 1;
    }
}

/* ---- the column `operands` */

int thn_fits(const ThnInstr *ins, int ok)
{
    const ThnRow *row = &thn_rows[ins->def->code];
    THN_RAISE_IF(!ok, PyExc_ValueError, "%s: operands or params do not fit. %s", row->name, row->text);
    return 0;
}

/* Whether the fields `axis` and `axes` name dims of an array of this rank. */
static int has_axes(const ThnInstr *ins, int ndim)
{
    int ok = 1;
    for (const ThnField *field = thn_rows[ins->def->code].fields; field->name; field++) {
        const ThnInts *all = (const void *)((const char *)ins->data + field->at);
        const ThnInts one = {1, {*(const int *)all}}, *axes = field->kind == IS_INTS ? all : &one;
        for (int i = 0; strncmp(field->name, "ax", 2) == 0 && i < axes->n; i++) {
            ok = ok && axes->at[i] >= 0 && axes->at[i] < ndim;
        }
    }
    return ok;
}

/* Whether a cell is what the letters and ranks say; `same` gets the first cell with T and the first with R. */
static int cell_fits(const ThnInstr *ins, const ThnCellSpec *c, const char *letters, size_t n, const ThnCellSpec **same)
{
    const int t = c->typenum, object = letters[0] == 'o';
    int ok = c->kind == (object ? THN_KIND_OBJECT : THN_KIND_TENSOR), ranks = 0, rank = 0;
    for (size_t i = 0; i < n && ok && !object; i++) {
        const char letter = letters[i];
        const ThnCellSpec **first = &same[letter == 'R'];
        switch (letter) {
        case 'T':
        case 'R':
            *first = *first ? *first : c;
            ok = letter == 'T' ? PyArray_EquivTypenums(t, (*first)->typenum) : c->ndim == (*first)->ndim;
            break;
        case 'A': ok = has_axes(ins, c->ndim); break;
        case 'i': ok = thn_int_reader(t) != NULL; break;
        case 'l': ok = PyArray_EquivTypenums(t, NPY_INT64); break;
        case 'n': ok = PyArray_EquivTypenums(t, NPY_INT32); break;
        case 'm': ok = t == NPY_INT32 || t == NPY_INT64; break;
        case 'h': ok = t == NPY_HALF || t == NPY_FLOAT || t == NPY_DOUBLE; break;
        case 'f': ok = t == NPY_FLOAT || t == NPY_DOUBLE; break;
        case 'F': ok = t == NPY_FLOAT; break;
        case 'd': ok = t == NPY_DOUBLE; break;
        case 'c': ok = PyTypeNum_ISCOMPLEX(t); break;
        case 'r': ok = thn_cast_inner(NPY_DOUBLE, t) != NULL; break;
        case 's': ok = thn_lapack_letter(t) >= 0 || PyTypeNum_ISINTEGER(t); break;
        case 'a': ok = thn_lapack_letter(t) >= 0; break;
        case 'k': ok = thn_key_size(t) || PyTypeNum_ISCOMPLEX(t); break;
        case '0': case '1': case '2': case '3': case '4':
            ranks = 1;
            rank |= c->ndim == letter - '0';
            break;
        default: break;
        }
    }
    return ok && (rank || !ranks);
}

static int operands_fit(const ThnProgram *p, const ThnInstr *ins, const char *at)
{
    const ThnCellSpec *same[2] = {NULL, NULL};
    for (int side = 0; side < 2 && *at; side++) {
        const int *cells = side ? ins->outs : ins->ins, n = side ? ins->nout : ins->nin;
        const char *first = at;
        int k = 0;
        for (size_t length; *at && *at != '>'; at += length + strspn(at + length, " ")) {
            length = strcspn(at, " ");
            const char mark = at[length - 1];
            if (mark == '&') {
                at = k < n ? first : at;
                length = k < n ? 0 : 1;
                continue;
            }
            const int least = k + (mark != '*' && mark != '?'), most = mark == '*' ? n : k + 1;
            for (; k < most && k < n; k++) {
                if (!cell_fits(ins, &p->cells[cells[k]], at, length, same)) {
                    return 0;
                }
            }
            if (k < least) {
                return 0;
            }
        }
        if (k != n) {
            return 0;
        }
        at += *at ? 2 : 0;
    }
    return 1;
}

int thn_parse_params(ThnProgram *p, ThnInstr *ins, PyObject *params)
{
    const ThnRow *row = &thn_rows[ins->def->code];
    Py_ssize_t n = 0;
    while (row->fields[n].name) {
        n++;
    }
    THN_RAISE_IF(!PyTuple_Check(params) || PyTuple_GET_SIZE(params) != n, PyExc_TypeError, "%s: a tuple of %zd params is needed, got %R",
                 row->name, n, params);
    ins->data = thn_alloc(ins->def->size);
    THN_NEED(ins->data);
    for (Py_ssize_t i = 0; i < n; i++) {
        const ThnField *field = &row->fields[i];
        PyObject *v = PyTuple_GET_ITEM(params, i);
        const int ok = parse_field(ins, field, v, (char *)ins->data + field->at);
        THN_TRY(ok);
        THN_RAISE_IF(!ok, PyExc_TypeError, "%s: %s must be %s, got %R", row->name, field->name, expected[field->kind], v);
    }
    THN_TRY(row->operands ? thn_fits(ins, operands_fit(p, ins, row->operands)) : 0);
    return ins->def->check ? ins->def->check(p, ins) : 0;
}

void thn_free_params(ThnInstr *ins)
{
    if (!ins->def || !ins->data) {
        return;
    }
    if (ins->def->clear) {
        ins->def->clear(ins);
    }
    for (const ThnField *field = thn_rows[ins->def->code].fields; field->name; field++) {
        if (field->kind == IS_INDEX) {
            thn_free(*(ThnIndex **)((char *)ins->data + field->at));
        }
    }
    thn_free(ins->data);
}

/* ---- what Python is told */

static PyObject *describe(const ThnRow *row)
{
    THN_OWNED PyObject *fields = PyList_New(0), *flags = PyList_New(0);
    THN_OWNED PyObject *reads = row->reads == NONE ? Py_NewRef(Py_None) : PyLong_FromLong(row->reads);
    THN_NULL_UNLESS(fields && flags && reads);
    for (const ThnField *field = row->fields; field->name; field++) {
        THN_NULL_UNLESS(thn_append(fields, Py_BuildValue("(ssz)", field->name, kind_names[field->kind], field->choices)) == 0);
    }
    for (size_t i = 0; i < sizeof flag_names / sizeof *flag_names; i++) {
        if (row->def->flags & flag_names[i].flag) {
            THN_NULL_UNLESS(thn_append(flags, PyUnicode_FromString(flag_names[i].name)) == 0);
        }
    }
    return Py_BuildValue("(sOsOsOs)", row->name, fields, memory_names[row->memory], reads, replay_names[row->replay], flags,
                         row->text);
}

static PyObject *instruction_table(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(unused))
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < THN_N_OPS; i++) {
        if (thn_append(list, describe(&thn_rows[i])) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *instruction_choices(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(unused))
{
    PyObject *list = PyList_New(0);
    int r = list ? 0 : -1;
#define CHOICE(type, member) r = r < 0 ? r : thn_append(list, Py_BuildValue("(ss)", #type, #member));
#define CHOICES(type)
#define CHOICES_END(type)
#include "instructions.def"
    if (r < 0) {
        Py_CLEAR(list);
    }
    return list;
}

static PyMethodDef functions[] = {
    {"instruction_table", instruction_table, METH_NOARGS,
     "instruction_table()\n--\n\nThe rows of instructions.def: (name, [(field, type, enumeration or None)], memory, reads, replay,\n"
     "flags, text)."},
    {"instruction_choices", instruction_choices, METH_NOARGS,
     "instruction_choices()\n--\n\nThe enumerations of instructions.def: (enumeration, member), in order."},
    {NULL, NULL, 0, NULL},
};

int thn_instructions_init(PyObject *module)
{
    fill_rows();
    return PyModule_AddFunctions(module, functions);
}
