/* The virtual machine: programs and how they run.
 *
 * Python API of theano.native._runtime (the docstring of theano/native/fastcall.py repeats it for users of Python):
 *
 *   prog = Program(cells, instrs, tail_start, inputs, constants, outputs, updates, on_error=None, serialise=False)
 *     cells      sequence of ('tensor', typenum, ndim[, broadcastable tuple]) or ('object',); list position = cell number
 *     instrs     sequence of (opname, ins, outs, params, node_index, free[, shown]): ins/outs/free/shown are sequences of
 *                cell numbers, `free` names the cells whose value is dropped after the instruction, `shown` further cells
 *                that on_error gets the values of
 *     tail_start index of the first instruction of the tail (len(instrs): no tail)
 *     inputs     sequence of (cell, storage_list); storage_list[0] is read at the start of a call; a
 *                true third element: the program destroys the value, so a read-only array is copied first
 *     constants  sequence of (cell, object)
 *     outputs    sequence of (cell, storage_list or None); the storage of an output that is an update is not written
 *     updates    sequence of (output_position, input_position): after a successful call the input's storage_list[0]
 *                becomes the output's value (all at once, after everything that can fail)
 *     on_error   callable(node_index, exc_type, exc_value, traceback, input_values) expected to raise; input_values is a
 *                tuple of the failing instruction's inputs and shown cells as arrays/objects (None where unset)
 *     serialise  True: one thread at a time (programs that change persistent storage); re-entry by the same thread is let in
 *   prog()              reads storages, runs, writes output storages and updates; returns None (a linker's thunk)
 *   prog.call(values)   values: sequence with one entry for each input; None: read its storage_list. Returns the list of
 *                       output values; writes no output storage; does updates. Several threads may call at once.
 *   prog.free()         drops idle frames and this process's recycled memory blocks
 *   prog.set_profile(bool); prog.node_times() -> list of seconds, one for each instruction; prog.node_counts() -> list of
 *                       calls; prog.call_count, prog.call_time
 *   prog.ninstrs, prog.ncells, prog.need_update_inputs (always False: updates are done here)
 *
 *   instruction_names() -> frozenset of the opnames known to this build
 *   pool_stats() -> dict(retained, in_use, peak, limit); pool_set_limit(bytes); pool_trim()
 *   blas_set(pointers, name), blas_name(): see theano/native/blas_library.py
 *   FastCall            see fastcall.c
 *
 * Instructions (params in parentheses; "0-d int" = a 0-d cell of any integer dtype):
 *   view               ()                            out aliases in (also: any op whose output is its input unchanged)
 *   copy               ()                            C contiguous copy; object cells: copy.copy
 *   deepcopy           ()                            the same for tensors; object cells: copy.deepcopy
 *   dimshuffle         (new_order)                   ints and 'x' or -1; dropped dims must be 1
 *   subtensor          (idx_list)                    ins[0] = array; idx_list entries: int constant; ('i', k): 0-d int in
 *                                                    ins[k]; ('s', start, stop, step) with each None, int or ('i', k);
 *                                                    None: newaxis. Missing trailing dimensions are taken whole.
 *   reshape            (ndim)                        ins = array, shape vector (or one 0-d int per dimension)
 *   specify_shape      ()                            ins = array, shape vector (or 0-d ints); AssertionError
 *   rebroadcast        ((axis, bool), ...)           ValueError when a dimension is not 1
 *   assert_op          (message)                     ins = value, conditions...; AssertionError
 *   diagonal           (offset, axes)                a view over two axes, or more that are equally long; ins = x[, 0-d int: offset]
 *   split              (axis_or_None, n[, views])    ins = array[, axis], sizes vector; with axis None ins[1] is the axis;
 *                                                    outputs are copies, or views where the third param is true
 *   shape_i            (i)                           0-d int64
 *   shape              ()                            int64 vector
 *   makevector         ()                            0-d inputs to a vector
 *   scalar             ()                            tensor_from_scalar and scalar_from_tensor: an alias
 *   alloc              ()                            ins = value, one 0-d int per dimension
 *   alloc_empty        ()                            ins = one 0-d int per dimension
 *   alloc_like_fill    ()                            ins = model, value (Theano's second / fill with a 0-d value)
 *   arange             ()                            ins = start, stop, step (0-d, all of the output's dtype or any real)
 *   join               (axis_or_None)                axis None: ins[0] is the axis; ValueError as NumPy's
 *   inc_subtensor      (idx_list, set, inplace)      ins = x, y, index cells...; index cells are numbered from ins[0]
 *   take               (mode)                        AdvancedSubtensor1: ins = x, integer vector; mode 0 raise, 1 wrap, 2 clip
 *   inc_take           (set, inplace)                AdvancedIncSubtensor1: ins = x, y, integer vector
 *   advanced_subtensor (axes)                        ins = x, integer index arrays...; axes: index k applies to that axis
 *                                                    (increasing, adjacent); trailing and leading axes whole
 *   advanced_inc       (axes, set, inplace)          ins = x, y, index arrays...
 *   cast_copy          ()                            conversion between dtypes as NumPy's astype (kernels do it better)
 *   cumulate           (axis, multiply)              running sum or product along an axis; converts to the output's dtype
 *   sort, argsort      (axis_or_None)                along an axis; None: ins[1], a 0-d int, tells it; stable; NaN last
 *   topk               (axis, sorted, values, indices)
 *                                                    ins = array, k: the |k| largest, for k < 0 smallest, and their positions
 *   searchsorted       (right)                       ins = sorted vector, values of its dtype[, integers that sort the vector]
 *   nonzero            ([first_axis])                ins = real array[, x]; one int64 vector for each dimension. With x the
 *                                                    array is a mask of x's dimensions from first_axis on: IndexError
 *   masked             ()                            ins = array, mask of its leading dimensions: array[mask]; IndexError
 *   check_index        (axis, message)               ins = integers, array; no outputs: ValueError(message) unless all
 *                                                    integers are in 0..array.shape[axis] - 1
 *   check_bounds       (axes)                        ins = x, integer index arrays...; no outputs: IndexError unless all are
 *                                                    within the axes of x
 *   kernel             see launch.h
 *   indexed_kernel     see instr_indexed.c
 *   dot                ()                            1-d/2-d operands of one dtype; BLAS or loops
 *   gemm               (inplace)                     ins = z, alpha, x, y, beta
 *   gemv               (inplace)                     ins = y, alpha, A, x, beta
 *   ger                (inplace)                     ins = A, alpha, x, y
 *   dot22scalar        ()                            ins = x, y, alpha
 *   batched_dot        ()                            3-d x 3-d (also 3-d x 2-d, 2-d x 3-d)
 *   special            (function, factor, swap)      ins = one or two real operands; capsules: double f(double[, double], int);
 *                                                    factor (or None): a function of the first operand to multiply with
 *   choose             (mode)                        ins = integers, choices...; one choice: along its first dimension;
 *                                                    mode 0 raise, 1 wrap, 2 clip
 *   contiguous         ()                            a view if the input is C contiguous, else a copy
 *   unravel_index      (first_fastest)               ins = int64 array, int64 vector; one output for each of its entries
 *   ravel_index        (first_fastest, modes)        ins = int64 coordinates..., int64 vector; modes 0 raise, 1 wrap, 2 clip
 *   permute_rows       ()                            ins = array, int64 array, 0-d int: take the inverse permutation
 *   repeat_positions   (axis)                        ins = int64 vector, array: how often each position of its axis is repeated
 *   count_length       ()                            ins = integer vector: the largest plus 1, 0 for none
 *   unique             (index, inverse, counts)      ins = real vector; outs = the sorted distinct elements and those asked for
 *   complex_extremum   (least, axes)                 outs = extremum and/or int64 position; bit i of axes: axis i is reduced
 *   Linear algebra; one floating point dtype, see linalg.h:
 *   cholesky           (lower, nan_on_failure)
 *   solve              (structure, lower[, numpy])   ins = A, b; with the errors of SciPy's or NumPy's function; structure 0 general, 1 symmetric, 2 lower, 3 upper triangular
 *   inverse, det, pinv ()
 *   eigh               (lower)                       ins = A[, B]; outs = values[, vectors]
 *   eig                ()                            outs = values, vectors; ValueError if complex for a real matrix
 *   svd                (full_matrices)               outs = u, s, v, or s alone
 *   lstsq              ()                            ins = A, b, 0-d float64 rcond; outs = solution (a matrix), sums of squared
 *                                                    residuals, rank, singular values; float32 and float64
 *   residuals          ()                            ins = sums, rank, A: the sums, or none where lstsq has many solutions
 *   expm               ()                            float64 and complex128
 *   expm_direction     ()                            ins = A, E; the derivative of expm at A in the direction E
 *   qr                 (mode)                        0: r; 1 reduced, 2 complete: q, r; 3 raw: h, tau
 *   scan               see instr_scan.c
 *   jump               (target)                      go on with instruction `target`
 *   jump_if_false      (target)                      ins = 0-d condition (any dtype)
 *   perform            (perform, node)               Python fallback: perform(node, inputs, output_storage); re-entrant
 *   thunk              (thunk, in_storages, out_storages[, compute_maps])
 *                                                    Python fallback for closures over storage lists; one thread at a time
 *   call               (callable)                    callable(*inputs) -> value, or tuple when several outputs
 */
#ifndef THN_VM_H
#define THN_VM_H

#include "cells.h"

typedef struct ThnCellSpec {
    int16_t kind, ndim;
    int32_t typenum, itemsize;
    uint32_t bcast;
    npy_intp dims_offset; /* into the frame's arena */
} ThnCellSpec;

typedef struct ThnInput {
    int cell;
    int destroyed;        /* the program may write into it: read-only arrays are copied first */
    PyObject *storage;    /* one-element list */
} ThnInput;

typedef struct ThnConstant {
    int cell;
    PyObject *value;
} ThnConstant;

typedef struct ThnOutput {
    int cell;
    int is_update;        /* its storage is not written: the value goes to the updated input */
    PyObject *storage;    /* one-element list or NULL */
} ThnOutput;

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
    npy_intp arena_size;
    ThnCellSpec *cells;
    ThnInstr *instrs;
    ThnInput *inputs;
    ThnConstant *constants;
    ThnOutput *outputs;
    ThnUpdate *updates;
    PyObject *on_error;
    PyObject *dict;
    PyObject *weakrefs;
    ThnFrame *free_frames;
    int nfree_frames;
    int serialise;
    int cleared;
    ThnLock lock;
    int profile;
    long long call_count;
    double call_time;
    double *times;
    long long *counts;
} ThnProgram;

extern PyTypeObject *thn_ProgramType;
extern PyTypeObject *thn_FastCallType;

/* Frames. A call is: thn_frame_get, fill the input cells with thn_unbox (or scalars), thn_run, box the outputs,
 * thn_commit, thn_frame_put. */
ThnFrame *thn_frame_get(ThnProgram *p);
void thn_frame_put(ThnProgram *p, ThnFrame *f);
void thn_frame_destroy(ThnProgram *p, ThnFrame *f);
/* Runs all instructions. -1 with a Python exception set. */
int thn_run(ThnProgram *p, ThnFrame *f);
/* Loads inputs from values[k] (NULL or None: the storage list). values may be NULL. */
int thn_load_inputs(ThnProgram *p, ThnFrame *f, PyObject *const *values);
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
/* Executes a prepared instruction; without the GIL if that is worth it. */
int thn_execute(ThnFrame *f, const ThnInstr *ins, double work);
/* Drops the values that nobody needs after the instruction. */
void thn_drop(ThnFrame *f, const ThnInstr *ins);
/* Seconds of a clock that never goes back. */
double thn_now(void);

/* Running a program step by step (replay.c): all values stay where they are, and a step repeats what the one before did
 * as long as shapes are the same. */
/* Whether a program can be run that way. */
int thn_replayable(const ThnProgram *p);
/* A step that prepares everything. It drops nothing if `keep`, and adds the bytes of all new values to `bytes`. */
int thn_run_first(ThnProgram *p, ThnFrame *f, int keep, size_t *bytes);
/* A further step; the input cells have the dims and strides that they had in the step before. */
int thn_run_again(ThnProgram *p, ThnFrame *f);
/* Forgets what was prepared for further steps. */
void thn_replay_end(ThnProgram *p, ThnFrame *f);
void thn_replay_free(ThnProgram *p, ThnFrame *f);

int thn_lock(ThnLock *lock);
void thn_locks_init(void);
void thn_unlock(ThnLock *lock);
/* Boxes all outputs into `out` (noutputs new references), then does the updates. Nothing happens on failure. */
int thn_finish(ThnProgram *p, ThnFrame *f, PyObject **out);

const ThnOpDef *thn_find_op(const char *name);
PyObject *thn_op_names(void);

/* The tables of instructions; each ends with a NULL name. */
extern const ThnOpDef thn_ops_control[];
extern const ThnOpDef thn_ops_view[];
extern const ThnOpDef thn_ops_alloc[];
extern const ThnOpDef thn_ops_join[];
extern const ThnOpDef thn_ops_index[];
extern const ThnOpDef thn_ops_gather[];
extern const ThnOpDef thn_ops_mask[];
extern const ThnOpDef thn_ops_order[];
extern const ThnOpDef thn_ops_sort[];
extern const ThnOpDef thn_ops_linalg[];
extern const ThnOpDef thn_ops_special[];
extern const ThnOpDef thn_ops_select[];
extern const ThnOpDef thn_ops_blas[];
extern const ThnOpDef thn_ops_scan[];
extern const ThnOpDef thn_ops_positions[];
extern const ThnOpDef thn_ops_unique[];
extern const ThnOpDef thn_ops_decompose[];
extern const ThnOpDef thn_ops_expm[];
/* Defined by kernel_object.c: the generated kernels. */
extern const ThnOpDef thn_ops_kernel[];
extern const ThnOpDef thn_ops_indexed[];
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

#endif
