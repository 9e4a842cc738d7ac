/* Launching generated kernels: shapes, dim coalescing, choice of the variant, splitting over threads.
 *
 * What a compiled kernel is. The C printer (theano/native/target/cpu/printer.py) emits for each kernel one exported constant of type
 * ThnKernelTable; `P` holds the pointers of all inputs, then of all outputs. Kernels know element types and which operands
 * are constant along the innermost loop; everything about ranks, shapes, strides and transpositions is done here. An
 * operand that a kernel expects to be contiguous along the innermost loop and that is not is copied through a small
 * buffer (block by block), so each kernel is compiled only once.
 *
 *   elem(P, S, n1, n0)    elementwise: n1 rows of n0 elements; S: byte strides from row to row.
 *   rows(P, S, n1, n0)    row pipelines: n1 rows of n0 elements each, all stages.
 *   Reductions of a single stage, which may have full outputs as well, have instead, over accumulators `acc` (for
 *   reduction r the lanes start at acc + r * THN_LANES * 16):
 *   part(P, S, n1, n0, start, acc, j)  lane j + k = reduction of the n0 elements of row k; `start` is the inner position
 *                                      of the first element
 *   cols(P, S, n1, n0, acc)            lane k = lane k op elements (i, k), i < n1; S: byte strides of the reduced dim. Or NULL
 *   fin(P, S, n, acc)                  row statements and stores of n rows; S: strides from row to row
 *
 * From Python (theano.native.target.cpu.compiler.load_kernels gives the objects):
 *   load_library(path) -> library, which is unloaded when nothing holds it; a kernel does
 *   Kernel(library, symbol, n_outer, n_inner, inputs, outputs, nonempty, ordered, cost)
 *       inputs: tuple of (typenum, rank, axes, broadcast); outputs: tuple of (typenum, dims, alias)
 *   set_threads(n), get_threads()
 *   The instruction "kernel" has params (Kernel,), ins = the kernel's inputs, outs = its outputs.
 *
 * Init function for the module: thn_launch_init(module), after import_array().
 */
#pragma once

#include "failing.h"
#include <stddef.h>
#include <stdint.h>

#define THN_KERNEL_ABI 1
#define THN_KMAXDIM 32
#define THN_KMAXOPS 64
#define THN_LANES 2048 /* most accumulator lanes: columns or rows handled together */

typedef intptr_t thn_intp;

typedef struct ThnKernelTable {
    int64_t abi;      /* THN_KERNEL_ABI */
    const char *reduces; /* two characters a reduction: operator (amXN&|^AO) and accumulator type (?bhiqBHIQefdFD) */
    void (*elem)(char *const *P, const thn_intp *S, thn_intp n1, thn_intp n0);
    void (*rows)(char *const *P, const thn_intp *S, thn_intp n1, thn_intp n0);
    void (*part)(char *const *P, const thn_intp *S, thn_intp n1, thn_intp n0, thn_intp start, char *acc, thn_intp j);
    void (*cols)(char *const *P, const thn_intp *S, thn_intp n1, thn_intp n0, char *acc);
    void (*fin)(char *const *P, const thn_intp *S, thn_intp n, char *acc);
} ThnKernelTable;

typedef struct ThnKernelIn {
    int typenum, itemsize, rank;
    uint32_t bcast;              /* bit d: static stride 0 along iteration dim d */
    int8_t axes[THN_KMAXDIM];    /* axis walked by dim d, or -1 */
} ThnKernelIn;

typedef struct ThnKernelOut {
    int typenum, itemsize, rank, alias, full;
    int8_t dims[THN_KMAXDIM];    /* iteration dim of each axis, or -1 */
} ThnKernelOut;

typedef struct ThnKernel {
    const ThnKernelTable *fn;
    int n_outer, n_inner, nin, nout, nonempty;
    int ordered;                 /* inner positions are used: the order of inner dims is kept */
    double cost;                 /* estimated ns an element, one thread, data in cache */
    ThnKernelIn *in;
    ThnKernelOut *out;
} ThnKernel;

/* An array as the planner sees it. */
typedef struct ThnArg {
    char *data;
    const thn_intp *dims, *strides;
} ThnArg;

typedef struct ThnPlan ThnPlan;

/* Bytes of a plan of kernel k. */
size_t thn_plan_size(const ThnKernel *k);
/* Lengths of the iteration dims into shape[n_outer + n_inner]. -1: mismatch, message in err. */
int thn_kernel_shape(const ThnKernel *k, const ThnArg *in, thn_intp *shape, char *err, size_t errlen);
/* Lengths of the axes of output o. */
void thn_kernel_out_dims(const ThnKernel *k, int o, const thn_intp *shape, thn_intp *dims);
/* Byte strides of a dense layout for output o that follows the inputs' memory order. Returns 0 if that is C order. */
int thn_kernel_out_order(const ThnKernel *k, int o, const ThnArg *in, const thn_intp *shape, thn_intp *strides);
/* Fills the plan; returns the estimated work in ns. */
double thn_plan(const ThnKernel *k, const ThnArg *in, const ThnArg *out, const thn_intp *shape, ThnPlan *plan);
/* Computes. No Python object is touched, the GIL may be released. -1: out of memory for buffers. */
int thn_plan_run(const ThnPlan *plan);
