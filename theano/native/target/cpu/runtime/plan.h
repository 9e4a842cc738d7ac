/* Inside of the launcher: plans, buffers and what the parts of it share. The parts are plan.c (from arrays to a plan),
 * buffers.c (copies and memory), launch.c (elementwise kernels and row pipelines) and reduce.c (reductions). */
#pragma once

#include "threads.h"
#include "walk.h"

#include <stdatomic.h>
#include <string.h>

enum { RUN_NOTHING, RUN_ELEM, RUN_ELEM_BUFFERED, RUN_ROWS, RUN_REDUCE, RUN_COLUMNS };

struct ThnPlan {
    const ThnKernel *k;
    int mode;
    int buffered;      /* some operand goes through a buffer */
    int segmented;     /* buffered reduction: runs along the last inner dim are long enough to be taken one by one */
    int flat;          /* buffered elementwise: two innermost dims may be taken as one */
    double work;
    thn_intp rows;     /* product of the outer dims */
    thn_intp inner;    /* product of the inner dims */
    Dims outer, in;
    char **ptr;
    unsigned char *through; /* operand goes through a buffer */
    int direct;        /* small: n1 rows of n0 elements, s1 from row to row, at once; or a row of which some operands are copied */
    thn_intp n1, n0, *s1;
    int made;          /* the instruction has a plan for the arrays that `layout` describes */
    thn_intp *layout;    /* dims and strides of each input, then of each output */
};

static inline int n_ops(const ThnKernel *k) { return k->nin + k->nout; }

static inline int itemsize_of(const ThnKernel *k, int op)
{
    return op < k->nin ? k->in[op].itemsize : k->out[op - k->nin].itemsize;
}

#define PARALLEL_WORK 60000.0     /* ns of work below which nothing is split */

/* Elements of all operands of a row that lie apart and are copied to the stack. */
#define FEW_APART 256
void thn_elem_apart(const ThnPlan *p);

/* Whether rows of a reduction are few and short enough for thn_reduce_direct. */
int thn_reduces_directly(const ThnPlan *p);
void thn_reduce_direct(const ThnPlan *p);

static inline void thn_run_direct(const ThnPlan *p)
{
    switch (p->mode) {
    case RUN_ELEM: p->k->fn->elem(p->ptr, p->s1, p->n1, p->n0); break;
    case RUN_ELEM_BUFFERED: thn_elem_apart(p); break;
    case RUN_ROWS: p->k->fn->rows(p->ptr, p->s1, p->n1, p->n0); break;
    default: thn_reduce_direct(p);
    }
}

/* Operands that the kernel takes as constant along the innermost loop. */
static inline int is_constant_elem(const ThnKernel *k, int op)
{
    return op < k->nin && k->n_outer > 0 && (k->in[op].bcast >> (k->n_outer - 1) & 1);
}

static inline int is_row_operand(const ThnKernel *k, int op)
{
    if (op >= k->nin) {
        return !k->out[op - k->nin].full;
    }
    const uint32_t mask = (uint32_t)((((uint64_t)1 << k->n_inner) - 1) << k->n_outer);
    return (k->in[op].bcast & mask) == mask;
}

/* Byte stride of operand `op` along iteration dim d. */
thn_intp thn_stride_along(const ThnKernel *k, int op, int d, const ThnArg *in, const ThnArg *out);
/* Number of tasks that the work (ns) is worth, at most `most`. */
thn_intp thn_worth(double work, thn_intp most);
/* How long ranges of 0 .. n - 1 should be, at least 1, for as many as the work is worth. */
thn_intp thn_share(double work, thn_intp n);
int thn_run_reduce(const ThnPlan *p);
int thn_run_columns(const ThnPlan *p);

/* ---- copies and buffers */

/* rows x n items; ssr/dsr: strides from row to row, sse/dse: from element to element. */
void thn_copy_2d(int size, char *dst, thn_intp dsr, thn_intp dse, const char *src, thn_intp ssr, thn_intp sse, thn_intp rows,
                 thn_intp n);
/* Copies elements [at, at + n) of the inner dims of `rows` rows between operand `op` at `base` and a dense buffer. */
void thn_move_rows(const ThnPlan *p, int op, char *base, thn_intp row_stride, thn_intp rows, thn_intp at, thn_intp n, char *buf,
                   thn_intp buf_row, int to_buffer);
void *thn_buffer_alloc(size_t n); /* or NULL */
void thn_buffer_free(void *p);
