/* Inside of the instruction "indexed_kernel": what it is given, and a run of it. The parts are instr_indexed.c (arguments and
 * shapes) and indexed_run.c (tiles and tasks). */
#pragma once

#include "instructions.h"
#include "plan.h"
#include "tables.h"

#define LINE 64
#define MOST_GATHERS 8

typedef struct {
    int op;                /* operand of the kernel; the target: position of its cell among the inputs */
    int at, first;         /* place of the index dims; position of the first index array */
    int same;
    ThnInts axes;          /* that the index arrays apply to */
} Indexed;

typedef struct {
    thn_indexed_kernel_params given;
    const ThnKernel *k;
    int nd;                /* number of index dims */
    const int *dims;
    int n_gathers;
    Indexed gathers[MOST_GATHERS];
    uint64_t gathered;     /* bit k: operand k */
    int scatters, adds;    /* adds: the last input is the target */
    Indexed target;
} Spec;

typedef struct {
    npy_intp shape[THN_KMAXDIM], count;  /* iteration; number of index positions */
    npy_intp along[THN_KMAXDIM];         /* lengths of the index dims */
    int whole;                           /* results are made as a whole before they are scattered */
    npy_intp value[THN_KMAXDIM];         /* shape of what is scattered */
    double work;
    ThnTable arrays[MOST_GATHERS + 1];   /* the last one: the target */
} State;

#define TARGET MOST_GATHERS
#define MOST_WALKING (THN_KMAXOPS + (MOST_GATHERS + 1) * THN_KMAXDIM)

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
    Dims walk;                   /* index dims that remain after merging; tiles are cut from the last one */
    npy_intp lengths[THN_KMAXDIM], strides[MOST_WALKING][THN_KMAXDIM];
    char *start[MOST_WALKING];   /* where operands, then index arrays begin */
    int walking;                 /* their number */
    int first[MOST_GATHERS + 1]; /* the first of each array's index arrays */
    int carrier;                 /* the iteration dim along which tiles have several rows */
    int column;                  /* iteration dim by which rows may be shared out between threads, or -1 */
    npy_intp columns;            /* its length */
    npy_intp row;                /* elements of the kernel's row */
    int by_row;                  /* rows are taken one by one, gathered ones where they are */
    npy_intp block;              /* rows of a tile */
    npy_intp kinds;              /* of pages of the target, each a task's, if greater than 1 */
    int32_t *again;              /* same: for each position -1, or which of the rows kept beforehand it reads */
    char *kept;
    atomic_int failed;
} Run;

/* Runs the kernel. -1: no memory. */
int thn_run_indexed(Run *r);

static inline int is_gathered(const Spec *s, int op)
{
    return (int)(s->gathered >> op & 1);
}

/* Whether an operand of the kernel is given row by row: the target, to be read or written. */
static inline int is_target(const Run *r, int op)
{
    return r->scatters && (op >= r->k->nin || (r->s->adds && op == r->k->nin - 1));
}
