/* Inside of the instruction "indexed_kernel": what it is given, and a run of it. The parts are instr_indexed.c (arguments and
 * shapes), indexed_run.c (tiles and tasks) and indexed_rows.c (rows between tables, buffers and targets). */
#ifndef THN_INDEXED_H
#define THN_INDEXED_H

#include "copy.h"
#include "plan.h"

#define AHEAD 4                   /* rows that are fetched ahead */
#define FETCHED 1024              /* bytes of a row that are fetched ahead */
#define LINE 64
#define MOST_GATHERS 8

typedef struct {
    int op;                /* operand of the kernel; the target: position of its cell among the inputs */
    int at, n, first;      /* place of the index dims; number of index arrays and position of the first one */
    int same;
    int axes[THN_KMAXDIM];
} Indexed;

typedef struct {
    const ThnKernel *k;
    int nd;                /* number of index dims */
    int dims[THN_KMAXDIM];
    int n_gathers;
    Indexed gathers[MOST_GATHERS];
    int scatters, adds;    /* adds: the last input is the target */
    Indexed target;
} Spec;

/* An indexed array in a call. */
typedef struct {
    char *data;
    int rest;                            /* dims that are taken whole */
    npy_intp rest_dims[THN_KMAXDIM], rest_strides[THN_KMAXDIM];
    int axis_of_rest[THN_KMAXDIM];       /* axis of the result */
    npy_intp full[THN_KMAXDIM];          /* dims of the result */
    npy_intp idx_dims[THN_KMAXDIM];
    npy_intp idx_strides[THN_KMAXDIM][THN_KMAXDIM]; /* of each index array along the index dims */
    const char *idx[THN_KMAXDIM];
    ThnReadInt get[THN_KMAXDIM];         /* NULL: int64 */
    npy_intp size[THN_KMAXDIM], stride[THN_KMAXDIM]; /* of the indexed axes */
    npy_intp row;                        /* elements of one row */
    int dense;                           /* the elements of a row are one run */
} Array;

typedef struct {
    npy_intp shape[THN_KMAXDIM], count;  /* iteration; number of index positions */
    npy_intp along[THN_KMAXDIM];         /* lengths of the index dims */
    int whole;                           /* results are made as a whole before they are scattered */
    npy_intp value[THN_KMAXDIM];         /* shape of what is scattered */
    double work;
    Array arrays[MOST_GATHERS + 1];      /* the last one: the target */
} State;

#define TARGET MOST_GATHERS

/* A run over the index positions. */
typedef struct {
    const Spec *s;
    const ThnKernel *k;
    State *st;
    int scatters;                /* results go to rows of the target */
    ThnArg target;
    char *whole;                 /* where they go instead, or NULL */
    ThnArg in[THN_KMAXOPS], out[THN_KMAXOPS];
    npy_intp whole_strides[THN_KMAXDIM];
    int nw;                      /* index dims that remain after merging; tiles are cut from the last one */
    int carrier;                 /* the iteration dim along which tiles have several rows */
    npy_intp walk[THN_KMAXDIM];
    npy_intp steps[THN_KMAXOPS][THN_KMAXDIM];              /* of operands that are not indexed, along them */
    npy_intp idx_steps[MOST_GATHERS + 1][THN_KMAXDIM][THN_KMAXDIM];
    int column;                  /* iteration dim by which wide rows are cut, or -1 */
    npy_intp columns;            /* its length */
    npy_intp row;                /* elements of the kernel's row */
    int by_row;                  /* rows are taken one by one, gathered ones where they are */
    npy_intp block, width;       /* rows and columns of a tile */
    npy_intp unit;               /* index positions or columns of a task */
    int by_column;
    npy_intp kinds;              /* of pages of the target, each a task's, if greater than 1 */
    int32_t *again;              /* same: for each position -1, or which of the rows kept beforehand it reads */
    char *kept;
    ThnInner inner;
    volatile int failed;
} Run;

/* Runs the kernel. -1: no memory. */
int thn_run_indexed(Run *r);

/* The index dims that are not of length 1, neighbours taken as one where all that walk them can. */
void thn_merge_walk(Run *r);
/* Byte stride of an operand of the kernel along iteration dim d. */
npy_intp thn_step_of(const Run *r, int op, int d);
/* Byte offsets of the rows of n successive positions. */
void thn_find_offsets(const Run *r, int g, const npy_intp *at, npy_intp n, npy_intp *to);
/* Rows of a table, which are kept whole, into a dense buffer. */
void thn_gather_rows(const Array *a, npy_intp item, char *dense, const char *data, const npy_intp *offsets, npy_intp n);
/* Columns [c0, c0 + width) of n rows of a value, at `strides` within a row, into the target. */
void thn_scatter_rows(const Run *r, const npy_intp *offsets, npy_intp n, const char *value, npy_intp row_step,
                      const npy_intp *strides, npy_intp c0, npy_intp width);

static inline void dense_strides(int n, const npy_intp *dims, npy_intp item, npy_intp *strides)
{
    for (int i = n - 1; i >= 0; i--) {
        strides[i] = item;
        item *= dims[i] ? dims[i] : 1;
    }
}

static inline int is_gathered(const Spec *s, int op)
{
    for (int g = 0; g < s->n_gathers; g++) {
        if (s->gathers[g].op == op) {
            return 1;
        }
    }
    return 0;
}

/* Whether an operand of the kernel is given row by row: the target, to be read or written. */
static inline int is_target(const Run *r, int op)
{
    return r->scatters && (op >= r->k->nin || (r->s->adds && op == r->k->nin - 1));
}

static inline void fetch(const char *p, npy_intp bytes)
{
    bytes = bytes < FETCHED ? bytes : FETCHED;
    for (npy_intp k = 0; k < bytes; k += LINE) {
        __builtin_prefetch(p + k, 1);
    }
}

#endif
