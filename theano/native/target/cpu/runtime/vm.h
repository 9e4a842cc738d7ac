/* The virtual machine: programs and how they run.
 *
 * Python API of theano.native._runtime:
 *
 *   prog = Program(cells, instrs, tail_start, inputs, constants, outputs, updates, on_error=None, serialise=False, end=-1)
 *     cells      sequence of ('tensor', typenum, ndim[, broadcastable tuple]) or ('object',); list position = cell number
 *     instrs     sequence of (opname, ins, outs, params, node_index, free[, shown]): ins/outs/free/shown are sequences of
 *                cell numbers, `free` names the cells whose value is dropped after the instruction, `shown` further cells
 *                that on_error gets the values of
 *     tail_start index of the first instruction of the tail (end: no tail)
 *     inputs     sequence of (cell, storage_list); storage_list[0] is read at the start of a call; a
 *                true third element: the program destroys the value, so a read-only array is copied first
 *     constants  sequence of (cell, object)
 *     outputs    sequence of (cell, storage_list or None); the storage of an output that is an update is not written
 *     updates    sequence of (output_position, input_position): after a successful call the input's storage_list[0]
 *                becomes the output's value (all at once, after everything that can fail)
 *     on_error   callable(node_index, exc_type, exc_value, traceback, input_values) expected to raise; input_values is a
 *                tuple of the failing instruction's inputs and shown cells as arrays/objects (None where unset)
 *     serialise  True: one thread at a time (programs that change persistent storage); re-entry by the same thread is let in
 *     end        index behind the last instruction (-1: len(instrs)); those that follow are targets of `guard`
 *   prog()              reads storages, runs, writes output storages and updates; returns None (a linker's thunk)
 *   prog.call(values)   values: sequence with one entry for each input; None: read its storage_list. Returns the list of
 *                       output values; writes no output storage; does updates. Several threads may call at once.
 *   prog.free()         drops idle frames and this process's recycled memory blocks
 *   prog.set_profile(bool); prog.node_times() -> list of seconds, one for each instruction; prog.node_counts() -> list of
 *                       calls; prog.call_count, prog.call_time
 *   prog.ninstrs, prog.ncells, prog.need_update_inputs (always False: updates are done here)
 *
 *   instruction_table(), instruction_choices(): see instructions.c
 *   pool_stats() -> dict(retained, in_use, peak, limit); pool_set_limit(bytes); pool_set_memory(bytes); pool_trim()
 *   blas_set(pointers, name), blas_name(): see theano/native/target/cpu/blas_library.py
 *   conv_algorithms(), conv_prefer(name): see instr_conv.c
 *   FastCall            see fastcall.c
 *
 * The instructions are described in instructions.def.
 */
#pragma once

#include "cells.h"
#include "instructions.h"

typedef struct ThnCellSpec {
    int16_t kind, ndim;
    int32_t typenum, itemsize;
    uint32_t bcast;
    npy_intp dims_offset; /* into the frame's arena */
    ThnInstr *maker;      /* what made the memory that it lies in, or the program's `nobody` */
} ThnCellSpec;

/* A cell and what it is filled from or emptied into: a constant's value, or a one-element list (of an output perhaps None). */
typedef struct ThnSlot {
    int cell;
    int flag;             /* inputs: the program may write into it, so read-only arrays are copied first; outputs: the list is not
                           * written, the value goes to the updated input */
    PyObject *held;
} ThnSlot;

/* A lock that its owner may take again; the GIL is released while waiting. Whatever other threads hold is free in a forked
 * child. */
typedef struct ThnLock {
    PyThread_type_lock lock;
    unsigned long owner;
    int depth;
    int forks;            /* how often this process and those before it were forked when the lock was taken last */
} ThnLock;

typedef struct ThnUpdate {
    int output, input;
} ThnUpdate;

typedef struct ThnProgram {
    PyObject_HEAD
    int ncells, ninstrs, ninputs, nconstants, noutputs, nupdates;
    int tail_start;
    int end, nundo; /* the last instructions run only to undo others, see guard */
    npy_intp arena_size;
    ThnCellSpec *cells;
    ThnInstr *instrs, nobody;
    ThnSlot *inputs, *constants, *outputs;
    ThnUpdate *updates;
    PyObject *on_error;
    PyObject *dict;
    PyObject *weakrefs;
    ThnFrame *free_frames;
    int nfree_frames;
    int serialise;
    int cleared;
    ThnLock lock;
    int may_be_steady;    /* calls of the same layouts may repeat one another */
    int profile;
    long long call_count;
    double call_time;
    double *times;
    long long *counts;
} ThnProgram;

extern PyTypeObject *thn_ProgramType;

/* The integers of a sequence, all of least ... limit - 1, in memory to be freed; -1 with a Python error that names `who` and `what`. */
int thn_parse_ints(PyObject *seq, int **out, int *n, long least, long limit, const char *who, const char *what);

/* Frames: what changes during a call. */
ThnFrame *thn_frame_get(ThnProgram *p);
void thn_frame_put(ThnProgram *p, ThnFrame *f);
void thn_frame_destroy(ThnProgram *p, ThnFrame *f);
/* Runs all instructions. -1 with a Python exception set. */
int thn_run(ThnProgram *p, ThnFrame *f);
/* The same for a call of what may be steady, whose inputs are loaded: it may repeat the one before. */
int thn_run_call(ThnProgram *p, ThnFrame *f);
/* Marks the instructions whose results stay. */
void thn_find_staying(ThnProgram *p);
int thn_may_be_steady(const ThnProgram *p);
/* At the end of a call that may be repeated: lets go of what it was given and returned. */
void thn_calls_end(ThnProgram *p, ThnFrame *f);
void thn_calls_free(ThnFrame *f);
/* After a failure: puts back what guarded instructions have overwritten, the last first. The Python exception stays. */
void thn_undo(ThnProgram *p, ThnFrame *f);
/* Loads input i from `v` (NULL or None: the storage list). */
int thn_load_input(ThnProgram *p, ThnFrame *f, int i, PyObject *v);
/* Lets the cell see the memory of an array whose dtype, rank and layout were checked. */
int thn_take_array(ThnCell *c, PyArrayObject *a);
/* Whether the one element of a tensor cell is not zero. */
int thn_truth(const ThnCell *c);
/* The Python exception that is set, with its traceback, to be handed to an `on_error`. */
void thn_take_error(PyObject **type, PyObject **value, PyObject **tb);
/* After that call, which returned `r` (taken): sets the exception again unless another was raised in its place. -1. */
int thn_settle_error(PyObject *r, PyObject *type, PyObject *value, PyObject *tb);
/* Turns the failure of an instruction into a Python exception, described by `on_error`. -1. */
int thn_fail(ThnProgram *p, ThnFrame *f, const ThnInstr *ins);
/* The inputs as a tuple of arrays and objects; NULL + Python error. `shown`: with what else a message shows, and None for what has
 * no value. */
PyObject *thn_box_inputs(ThnFrame *f, const ThnInstr *ins, int shown);
/* A copy of an array, or of a list of arrays, or of such lists; NULL + Python error. */
PyObject *thn_copy_of(PyObject *v, NPY_ORDER order);
/* Gives the outputs the values of a sequence, which `who` has returned; -1 with a Python error. */
int thn_unbox_outputs(ThnFrame *f, const ThnInstr *ins, PyObject *values, const char *who);
/* A `prepare` that leaves all to execute. */
int thn_nothing_prepare(ThnFrame *f, const ThnInstr *ins);
/* Executes a prepared instruction; without the GIL if that is worth it. */
int thn_execute(ThnFrame *f, const ThnInstr *ins, double work);
/* Whether the instruction, one of those that overwrite their first input if their first field says so, does it. */
static inline int thn_in_place(const ThnInstr *ins)
{
    return ((const thn_gemm_params *)ins->data)->inplace;
}
/* Whether the instruction drops a cell's value. */
int thn_is_freed(const ThnInstr *ins, int cell);
/* Drops the values that nobody needs after the instruction. */
void thn_drop(ThnFrame *f, const ThnInstr *ins);
/* Seconds of a clock that never goes back. */
double thn_now(void);

/* Frees what a loop keeps of its steps (replay.c). */
void thn_replay_free(ThnProgram *p, ThnFrame *f);

/* Takes a lock without keeping the GIL from whoever has it. */
void thn_acquire(PyThread_type_lock lock);
int thn_lock(ThnLock *lock);
void thn_locks_init(void);
void thn_unlock(ThnLock *lock);
/* Boxes all outputs into `out` (noutputs new references), then does the updates. Nothing happens on failure. */
int thn_finish(ThnProgram *p, ThnFrame *f, PyObject **out);

/* A call: `load` fills the input cells of a frame from `what`, `out` gets the outputs. 1; -1: Python error, nothing has changed; or
 * what `load` returns if that is not 1. */
static inline int thn_call(ThnProgram *p, int (*load)(ThnProgram *p, ThnFrame *f, const void *what), const void *what, PyObject **out)
{
    THN_TRY(p->serialise ? thn_lock(&p->lock) : 0);
    int r = -1;
    ThnFrame *f = thn_frame_get(p);
    if (f) {
        r = load(p, f, what);
        r = r > 0 && ((p->may_be_steady ? thn_run_call(p, f) : thn_run(p, f)) < 0 || thn_finish(p, f, out) < 0) ? -1 : r;
        thn_frame_put(p, f);
    }
    if (p->serialise) {
        thn_unlock(&p->lock);
    }
    return r;
}

/* The kernel of a Python object of type Kernel; NULL + TypeError. */
const struct ThnKernel *thn_kernel_of(PyObject *o);
/* Memory for the outputs of an instruction that runs a kernel over `shape`. */
struct ThnArg;
int thn_kernel_outputs(ThnFrame *f, const ThnInstr *ins, const struct ThnKernel *k, const struct ThnArg *in, const npy_intp *shape);

int thn_program_init(PyObject *module);
int thn_fastcall_init(PyObject *module);
int thn_launch_init(PyObject *module);
int thn_blas_init(PyObject *module);
int thn_lapack_init(PyObject *module);
int thn_conv_init(PyObject *module);
