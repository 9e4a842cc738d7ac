/* Cells, buffers, instructions and frames: the data structures that all parts of the runtime share.
 *
 * A Program is a flat array of ThnInstr over numbered cells. Its constant part (ThnProgram, ThnInstr) is shared by all
 * threads; what changes during a call lives in a ThnFrame: one ThnCell for each cell number plus scratch memory.
 *
 * An instruction's kind is a ThnOpDef, the code of a row of the table instructions.def:
 *   check(prog, instr)          once, GIL held, after the params were parsed to instr->data (which keeps C data and borrowed
 *                               Python objects only: instr->params keeps these alive): do they fit the cells? May be NULL.
 *                               -1 + Python error.
 *   clear(instr)                once, GIL held: frees what hangs on instr->data. May be NULL.
 *   prepare(frame, instr)       GIL held: checks, computes shapes, allocates or aliases the outputs, may store a plan in
 *                               thn_scratch(). Sets frame->work (estimated ns of execute; above THN_GIL_WORK the GIL is
 *                               released around execute). 0, or -1 with thn_error() or a Python exception set.
 *   execute(frame, instr)       perhaps WITHOUT the GIL: touches only cell data, never Python objects. 0, or -1 with
 *                               thn_error(). May be NULL (views).
 * In the tail of a program all prepares run before all executes: execute must read nothing but cells and its scratch.
 */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include "failing.h"
#include <stdint.h>
#include <stddef.h>
#include <string.h>

#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL thn_ARRAY_API
#ifndef THN_IMPORT_ARRAY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

#define THN_MAXDIM 32
#define THN_GIL_WORK 30000.0 /* ns of estimated work above which the GIL is released */

/* Memory of cells. With owner == NULL `data` is a block of the pool and freed with the last reference; otherwise the
 * Python object `owner` keeps it alive. Reference counts change only while the GIL is held. */
typedef struct ThnBuffer {
    Py_ssize_t refs;
    PyObject *owner;
    char *data;
    struct ThnBuffer *next_free;
} ThnBuffer;

enum { THN_KIND_TENSOR = 0, THN_KIND_OBJECT = 1 };

enum {
    THN_CELL_SET = 1,    /* has a value in this call */
    THN_CELL_CONST = 2,  /* value survives the call */
    THN_CELL_FIXED = 8,  /* the same value in all steps of a loop, or calls, as long as no length changes */
    THN_CELL_DEST = 4,   /* its value should be made in the place that the frame's `dests` names */
};

typedef struct ThnCell {
    char *data;          /* first element; scalars (ndim 0) computed by instructions point to `scalar` */
    npy_intp *dims;      /* ndim entries, owned by the frame */
    npy_intp *strides;   /* bytes; strides of dimensions with 1 or 0 elements are arbitrary */
    ThnBuffer *buf;      /* NULL: inline scalar, or no value */
    PyObject *obj;       /* OBJECT cells: the value. TENSOR cells: an ndarray equal to the value, if one was made; or NULL */
    int32_t flags;
    int16_t kind;
    int16_t ndim;
    int32_t typenum;     /* NumPy type number; static */
    int32_t itemsize;
    uint32_t bcast;      /* bit i: dimension i is statically 1 (checked on inputs) */
    union { double f8; int64_t i8; char bytes[16]; double c16[2]; } scalar;
} ThnCell;

struct ThnProgram;
struct ThnInstr;
struct ThnFrame;

typedef struct ThnOpDef {
    int code;                /* THN_OP_... */
    int flags;
    size_t size;             /* of instr->data */
    int (*check)(struct ThnProgram *, struct ThnInstr *);
    void (*clear)(struct ThnInstr *);
    int (*prepare)(struct ThnFrame *, const struct ThnInstr *);
    int (*execute)(struct ThnFrame *, const struct ThnInstr *);
} ThnOpDef;

/* Flags; instructions.def says what they mean. */
enum {
    THN_JUMP = 1,
    THN_NEEDS_GIL = 2,
    THN_PYTHON = 4,
    THN_FAILS = 8,
    THN_READS_AXIS = 16,
    THN_DIMS_ONLY = 32,
    THN_IMPURE = THN_JUMP | THN_NEEDS_GIL | THN_PYTHON | THN_FAILS, /* may do something else than make its results */
};

typedef struct ThnInstr {
    const ThnOpDef *def;
    int *ins, *outs, *frees; /* cell numbers */
    int *shown;              /* further cells that a message about a failure tells of */
    int nin, nout, nfree, nshown;
    int index;               /* position in the program */
    int node_index;          /* handed to on_error; -1: none */
    int stays;               /* nobody writes to or takes the memory of what it makes */
    void *data;              /* parsed params, and what check made of them */
    PyObject *params;        /* the params tuple, kept alive */
} ThnInstr;

typedef struct ThnScratch {
    void *ptr;
    size_t size;
    double work;
} ThnScratch;

/* A place of somebody else's memory, C contiguous, for a value of these dims. */
typedef struct ThnDest {
    char *data;
    const npy_intp *dims;
} ThnDest;

typedef struct ThnFrame {
    struct ThnProgram *prog;
    ThnCell *cells;
    ThnDest *dests;          /* by cell number; NULL until a loop uses the frame. Of cells with THN_CELL_DEST only */
    struct ThnCalls *calls;  /* that repeat the last one; see steady_calls.c. NULL: they do not */
    npy_intp waited;         /* calls since one was recorded */
    int recorded;            /* how many were */
    struct ThnAgain *again;  /* by instruction: how a step of a loop repeats it; see replay.c. NULL until then */
    ThnScratch *scratch;     /* one per instruction */
    double work;             /* out-parameter of prepare, 0 before each prepare */
    int *tail_order;         /* the tail instructions prepared, in order */
    int *undo, nundo;        /* instructions behind the end that put back what was overwritten so far */
    npy_intp repeats;        /* loops: how often at most the program will still run */
    int next;                /* jump instructions set the next instruction's index here */
    PyObject *err_type;      /* borrowed, a static exception type; set by thn_error */
    char err_msg[768];
    struct ThnFrame *next_free;
} ThnFrame;

#define THN_IN(f, ins, k) (&(f)->cells[(ins)->ins[k]])
#define THN_OUT(f, ins, k) (&(f)->cells[(ins)->outs[k]])

/* ---- errors. Works with and without the GIL; `type` is one of PyExc_*; returns -1. */
int thn_error(ThnFrame *f, PyObject *type, const char *fmt, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* With the GIL: the exception, and -1. */
#define THN_RAISE(...) (PyErr_Format(__VA_ARGS__), -1)
/* In a function that returns -1: fails with thn_error, or THN_RAISE, if the condition holds; or in one that returns NULL. */
#define THN_FAIL_IF(f, condition, ...)             \
    do {                                           \
        if (condition) {                           \
            return thn_error(f, __VA_ARGS__);      \
        }                                          \
    } while (0)
#define THN_NULL_IF(condition, ...)                \
    do {                                           \
        if (condition) {                           \
            return (void *)PyErr_Format(__VA_ARGS__); \
        }                                          \
    } while (0)
#define THN_RAISE_IF(condition, ...)               \
    do {                                           \
        if (condition) {                           \
            return THN_RAISE(__VA_ARGS__);         \
        }                                          \
    } while (0)

/* Of a variable that holds a Python object, or NULL: a reference is given back where the variable's scope ends. GIL held. */
#define THN_OWNED __attribute__((cleanup(thn_owned_end)))
static inline void thn_owned_end(void *variable)
{
    PyObject *object;
    memcpy(&object, variable, sizeof object);
    Py_XDECREF(object);
}

/* Does what may take long, without the GIL if it does. */
#define THN_WITHOUT_GIL_IF(is_long, what)                             \
    do {                                                              \
        PyThreadState *saved = (is_long) ? PyEval_SaveThread() : NULL; \
        what;                                                         \
        if (saved) {                                                  \
            PyEval_RestoreThread(saved);                              \
        }                                                             \
    } while (0)

/* ---- memory that lives with the program, and scratch that lives with the frame (kept between calls, not cleared) */
void *thn_alloc(size_t n);       /* zeroed; NULL + MemoryError */
void thn_free(void *p);
void *thn_scratch(ThnFrame *f, const ThnInstr *ins, size_t n); /* NULL + thn_error(MemoryError) */

/* ---- giving an output cell its value (prepare; GIL held) */
/* New memory, C contiguous, not initialised. The cell's ndim and itemsize are static; `dims` has ndim entries and may be
 * the dims of any cell. A 0-d cell gets its inline scalar. An input cell's value stays valid: a released block is only
 * given to others through the pool. */
int thn_out_alloc(ThnFrame *f, ThnCell *out, const npy_intp *dims);
/* All outputs of an instruction with the dims of its input k, or the first of these, and its work: `each` ns for an element. */
int thn_outs_like(ThnFrame *f, const ThnInstr *ins, int k, double each);
/* As thn_out_alloc with a dense layout of the caller's choice (byte strides covering exactly prod(dims) items, all >= 0), which a
 * cell with THN_CELL_DEST does not heed: read the strides back. */
int thn_out_alloc_strided(ThnFrame *f, ThnCell *out, const npy_intp *dims, const npy_intp *strides);
/* Shares the memory of `in`: data/dims/strides copied where ndim agrees; used for in-place outputs and views. */
int thn_out_alias(ThnFrame *f, ThnCell *out, ThnCell *in);
/* Shares the memory of `in` at `data` with the given dims and strides (out->ndim entries each). */
int thn_out_view(ThnFrame *f, ThnCell *out, ThnCell *in, char *data, const npy_intp *dims, const npy_intp *strides);
/* Memory that several cells may see: a block of the pool, which it then owns, or that of an object. NULL: there is no memory. GIL held. */
ThnBuffer *thn_buffer_over(PyObject *owner, char *data);
void thn_buffer_drop(ThnBuffer *b); /* one reference less */
/* A C contiguous value at `data` in the memory of `buf`, of which it takes a reference of its own. */
void thn_out_within(ThnCell *out, const npy_intp *dims, ThnBuffer *buf, char *data);
/* True if nobody but this cell (and no Python object) can see its memory: an instruction may take it over. */
int thn_cell_exclusive(const ThnCell *c);
/* Drops the value. */
void thn_cell_release(ThnCell *c);

/* ---- cells and Python objects (GIL held) */
PyObject *thn_box(ThnFrame *f, ThnCell *c);               /* new reference */
int thn_unbox(ThnFrame *f, ThnCell *c, PyObject *value);  /* checks dtype, ndim, broadcast pattern; TypeError */
void thn_set_object(ThnCell *c, PyObject *value);         /* OBJECT cells; takes a new reference */
/* Makes the type `to` of objects T, an attribute of the module. */
#define THN_ADD_TYPE(module, name, T, flags, slots, to) \
    thn_add_type(module, "theano.native._runtime." name, sizeof(T), flags, slots, to)
int thn_add_type(PyObject *module, const char *name, size_t size, unsigned long flags, PyType_Slot *slots, PyTypeObject **to);
/* Appends what it takes a reference of; -1 also if that is NULL. */
int thn_append(PyObject *list, PyObject *element);
/* Bytes of an element; -1 with an exception if there is no such type. */
int thn_itemsize(int typenum);
/* A vector over a block of the pool, which it owns; NULL + Python error, and the block is freed. */
PyObject *thn_array_of_block(int typenum, npy_intp n, char *block);

/* ---- small helpers */
/* How many elements an array of these dims has. */
static inline npy_intp thn_product(int nd, const npy_intp *dims)
{
    npy_intp n = 1;
    for (int i = 0; i < nd; i++) {
        n *= dims[i];
    }
    return n;
}

static inline npy_intp thn_size(const ThnCell *c)
{
    return thn_product(c->ndim, c->dims);
}

/* Strides of a C contiguous array; returns its bytes, where no dim counts as 0. */
static inline npy_intp thn_dense_strides(int nd, const npy_intp *dims, npy_intp item, npy_intp *strides)
{
    for (int i = nd - 1; i >= 0; i--) {
        strides[i] = item;
        item *= dims[i] > 1 ? dims[i] : 1;
    }
    return item;
}

/* Whether elements are one run in memory, in C order. */
static inline int thn_is_run(int nd, const npy_intp *dims, const npy_intp *strides, npy_intp item)
{
    for (int i = nd - 1; i >= 0; i--) {
        if (dims[i] == 0) {
            return 1;
        }
        if (dims[i] != 1) {
            if (strides[i] != item) {
                return 0;
            }
            item *= dims[i];
        }
    }
    return 1;
}

static inline int thn_is_c_contiguous(const ThnCell *c)
{
    return thn_is_run(c->ndim, c->dims, c->strides, c->itemsize);
}

static inline npy_intp thn_least(npy_intp a, npy_intp b)
{
    return a < b ? a : b;
}

static inline npy_intp thn_most(npy_intp a, npy_intp b)
{
    return a > b ? a : b;
}

/* How many elements diagonal k of axes i and j has, k to the right of the main one, and how many bytes lie before the first. */
static inline npy_intp thn_diagonal(const ThnCell *c, int i, int j, int64_t k, npy_intp *before)
{
    const npy_intp rows = c->dims[i], columns = c->dims[j];
    const npy_intp n = k <= -rows || k >= columns ? 0 : k < 0 ? thn_least(rows + k, columns) : thn_least(rows, columns - k);
    *before = n == 0 ? 0 : k < 0 ? -k * c->strides[i] : k * c->strides[j];
    return n;
}

/* A float of 4 bytes or a double. */
static inline double thn_get_real(npy_intp item, const char *p)
{
    return item == 4 ? (double)*(const float *)p : *(const double *)p;
}

static inline void thn_put_real(npy_intp item, char *p, double v)
{
    if (item == 4) {
        *(float *)p = (float)v;
    } else {
        *(double *)p = v;
    }
}

static inline void thn_copy_real(npy_intp item, char *to, const char *from)
{
    if (item == 4) {
        *(float *)to = *(const float *)from;
    } else {
        *(double *)to = *(const double *)from;
    }
}

/* Value of a 0-d integer or bool cell. */
int64_t thn_scalar_int(const ThnCell *c);
/* Copies elements between two strided regions of equal item size (memcpy per item; regions must not overlap). */
void thn_copy_strided(int ndim, const npy_intp *dims, char *dst, const npy_intp *dst_strides, const char *src,
                      const npy_intp *src_strides, int itemsize);
