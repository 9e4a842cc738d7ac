/* Dims that several operands walk together, in C order. No Python objects, no GIL. */
#pragma once

#include "launch.h"

typedef struct Dims {
    int n;
    thn_intp *shape;
    thn_intp *strides; /* bytes: strides[op * cap + dim] */
    int cap;
} Dims;

static inline thn_intp thn_magnitude(thn_intp x) { return x < 0 ? -x : x; }

/* Adds to the pointers the offset of the linear position `at` in the dims [0, nd) and returns the positions in `idx`. */
void thn_seek(const Dims *g, int nd, thn_intp at, int ops, char **ptr, thn_intp *idx);
/* Steps behind `n` positions along the last of the dims [0, nd). */
void thn_skip(const Dims *g, int nd, thn_intp n, int ops, char **ptr, thn_intp *idx);
/* Positions from here to the end of the last of the dims [0, nd). */
static inline thn_intp thn_left(const Dims *g, int nd, const thn_intp *idx) { return nd > 0 ? g->shape[nd - 1] - idx[nd - 1] : 1; }
/* Takes neighbours as one dim where they are one run in memory for all operands. */
void thn_merge_dims(Dims *g, int ops);
void thn_swap_dims(Dims *g, int ops, int a, int b);
/* Orders the dims by strides, the longest outside: the first operand that decides counts, those from `nin` on before the others. */
void thn_sort_dims(Dims *g, int ops, int nin);
/* Strides of all operands along dim d; zeros for d < 0. */
void thn_strides_along(const Dims *g, int d, int ops, thn_intp *s);

/* Steps to the next position in the dims [0, nd), from the last one to the first. */
static inline void thn_step(const Dims *g, int nd, int ops, char **ptr, thn_intp *idx)
{
    for (int d = nd - 1; d >= 0; d--) {
        if (++idx[d] < g->shape[d]) {
            for (int op = 0; op < ops; op++) {
                ptr[op] += g->strides[op * g->cap + d];
            }
            return;
        }
        idx[d] = 0;
        for (int op = 0; op < ops; op++) {
            ptr[op] -= (g->shape[d] - 1) * g->strides[op * g->cap + d];
        }
    }
}

/* Where the operands of a kernel are in the dims [0, nd). */
typedef struct ThnWalk {
    const Dims *g;
    int nd, ops;
    char *ptr[THN_KMAXOPS];
    thn_intp along[THN_KMAXOPS]; /* their strides along the last of these dims */
    thn_intp at[THN_KMAXDIM + 2];
} ThnWalk;

/* Begins at a linear position. */
void thn_walk(ThnWalk *w, const Dims *g, int nd, int ops, char *const *ptr, thn_intp start);
/* Steps behind n positions along the last dim, and returns how many there are from there on, `most` at most. */
static inline thn_intp thn_walk_on(ThnWalk *w, thn_intp n, thn_intp most)
{
    if (n > 0) {
        thn_skip(w->g, w->nd, n, w->ops, w->ptr, w->at);
    }
    const thn_intp left = thn_left(w->g, w->nd, w->at);
    return left < most ? left : most;
}
