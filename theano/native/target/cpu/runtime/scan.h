/* A loop over a nested program, in three files: instr_scan.c is the instruction, scan_buffers.c the memory of what the steps
 * read and write, scan_steps.c the steps. */
#pragma once

#include "replay.h"

typedef struct {
    int ntaps, nouts, inplace, whole;
    int tap;                      /* the first of its taps */
    int first;                    /* minus the least tap: rows of initial values */
    int last;                     /* the greatest tap */
    int *taps, *slices;
} Rec;

/* One inner output. */
typedef struct {
    int cell;
    int dest;                     /* the cell that is bound to the row, or -1 */
    int buf, slice;
    int nover, *over;             /* inner inputs that may lie in the row that is written */
} Out;

typedef struct {
    thn_scan_params given;
    const char *text;             /* the Op, for messages */
    int nrec;                     /* recurrent buffers */
    int ntaps, nrows;             /* taps of all buffers; outputs that go to buffers */
    Rec *recs;
    Out *outs;
    int products;                 /* the inner program multiplies matrices */
} Scan;

/* A recurrent buffer or other output while the loop runs. */
typedef struct {
    ThnCell *cell;
    npy_intp len, stride;         /* rows, bytes from row to row */
    const npy_intp *dims, *strides;
    int ndim, dense;              /* of a row */
} Buf;

typedef struct {
    Buf *bufs;
    int nmovers;                  /* elements of sequences, then taps, then the rows that outputs go to */
    ThnMover *movers, *taps, *rows;
    ThnCell **made;               /* for each row the value that goes there */
    char **lent;                  /* the place its cell was last bound to */
    char *bound;                  /* and whether it is made there */
} Run;

/* A row of a buffer, which moves; that of a single one stays where it is. */
static inline ThnMover thn_scan_mover(ThnCell *c, const Buf *b, npy_intp row)
{
    return b->len == 1 ? (ThnMover){c, b->cell->data, 0, 0, NPY_MAX_INTP} : (ThnMover){c, b->cell->data, b->stride, row, b->len};
}

/* Memory (scan_buffers.c). */
/* Gives output `i` the memory of its recurrent buffer: the input's own where it may be overwritten. */
int thn_scan_take_buffer(ThnFrame *f, const ThnInstr *ins, const Scan *s, int i, npy_intp steps, Buf *b);
/* Makes the buffers of outputs that are not recurrent, of `rows` values, or (-1) as many as are asked for, as a step has made them; where
 * none could be made (not `known`), without elements. */
int thn_scan_new_buffers(ThnFrame *f, const ThnInstr *ins, const Scan *s, Run *run, npy_intp rows, int known);
/* Lends a row to an input cell of the inner program. */
int thn_scan_lend(ThnFrame *f, ThnCell *c, char *data, const npy_intp *dims, const npy_intp *strides, const char *what, int i);
/* Whether the dims of an inner input are those that it was made for; -1 with thn_error. */
int thn_scan_check_dims(ThnFrame *f, const ThnCell *c, const char *what, int i);
/* A shared value's cell of the inner program gets a copy; `*same` is cleared if its memory changed. */
int thn_scan_copy_shared(ThnFrame *f, ThnCell *to, ThnCell *from, int *same);
/* Outputs of a loop without steps. */
int thn_scan_no_steps(ThnFrame *f, const ThnInstr *ins, const Scan *s, Run *run, ThnFrame *g);
/* The outer outputs after `done` of `steps` steps. */
int thn_scan_finish(ThnFrame *f, const ThnInstr *ins, const Scan *s, Run *run, ThnFrame *g, npy_intp steps, npy_intp done);

/* Runs up to `steps` steps; `*done` counts them (scan_steps.c). */
int thn_scan_steps(ThnFrame *f, const ThnInstr *ins, const Scan *s, Run *run, ThnFrame *g, npy_intp steps, npy_intp *done);
