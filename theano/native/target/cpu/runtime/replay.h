/* Running a program step by step, as loops do with their inner program and calls with that of a small function.
 *
 * replay.c: all values stay where they are, and a step repeats of each instruction what the one before did as long as shapes are
 * the same. steady.c: where that is known of a whole program beforehand, a step is a list of calls and of addresses that move. */
#pragma once

#include "packed.h"
#include "vm.h"

typedef struct ThnAgain {
    int now;                /* how the next step repeats it */
    double work;
    ptrdiff_t offset;       /* views: distance from the base's first element */
    ThnPacked *packed;      /* products: the operand that is the same in all steps */
    int first;              /* it is the first one */
} ThnAgain;

/* Whether a program can be run that way. */
int thn_replayable(const ThnProgram *p);
/* A step: THN_AGAIN repeats what the one before did, whose input cells had the same dims and strides; the others prepare everything,
 * and THN_ALONE drops the values that nobody needs any more. `bytes`, or NULL: those of all values are added to it, and THN_KEEP goes
 * on as THN_ALONE once they are more than THN_MOST_KEPT. */
enum { THN_ALONE, THN_KEEP, THN_AGAIN };
#define THN_MOST_KEPT (128 << 10)
int thn_run_step(ThnProgram *p, ThnFrame *f, int how, size_t *bytes);
/* Whether the instruction can be repeated as it was recorded: the values lie where they lay, and nobody sees them. */
int thn_repeats(ThnFrame *f, const ThnInstr *ins, const ThnAgain *a);
/* Whether the cell's value is that of the step before. */
static inline int thn_has_same_value(const ThnCell *c)
{
    return (c->flags & (THN_CELL_FIXED | THN_CELL_CONST)) != 0;
}
/* Whether a product overwrites its first operand. */
static inline int thn_product_in_place(const ThnInstr *ins)
{
    return thn_rows[ins->def->code].memory == THN_MEMORY_INPLACE && thn_in_place(ins);
}
/* The operands of a product of vectors or matrices; what it has not is NULL. 0: it is another instruction. */
typedef struct ThnOperands {
    const ThnCell *z, *alpha, *x, *y, *beta;
} ThnOperands;
int thn_operands(ThnFrame *f, const ThnInstr *ins, ThnOperands *o);
/* A product with a packed matrix. */
void thn_run_packed(ThnFrame *f, const ThnInstr *ins, const ThnAgain *a);
/* Forgets what was prepared for further steps. */
void thn_replay_end(ThnProgram *p, ThnFrame *f);

/* A cell whose value lies in one row after the other, at `first` again after the last of `len`. */
typedef struct ThnMover {
    ThnCell *cell;
    char *first;
    npy_intp stride, row, len;
} ThnMover;

static inline char *thn_place(const ThnMover *m)
{
    return m->first + m->row * m->stride;
}

typedef struct ThnSteady ThnSteady;

/* After a step that has kept all values: the further ones as a list of calls. `movers` are the cells whose places move by themselves;
 * the values of `ends` must be made in the places of the last `nends` of them. work: estimated ns of a step. NULL, without an
 * exception: not possible, or out of memory. A block of the pool. */
ThnSteady *thn_steady(ThnProgram *p, ThnFrame *f, ThnMover *movers, int n, ThnCell *const *ends, int nends, ThnCell *condition,
                      double *work);
/* Runs up to n steps, till the condition holds: then `*stop` is set. -1: the step after `*done` of them has failed. Movers and
 * cells are as after the last step. */
int thn_steady_run(ThnSteady *s, npy_intp n, npy_intp *done, int *stop);
