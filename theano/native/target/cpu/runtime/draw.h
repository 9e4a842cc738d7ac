/* Samples of distributions from a generator of NumPy, by the methods of its RandomState: the same numbers from the same state.
 * No Python objects, no GIL: who calls holds the generator's lock. */
#ifndef THN_DRAW_H
#define THN_DRAW_H

#include "cells.h"

#include <numpy/random/bitgen.h>

#define THN_DRAW_PARAMS 2

/* A sample whose parameters broadcast against it. */
typedef struct ThnDraw {
    bitgen_t *bits;
    const ThnCell *out;
    const ThnCell *param[THN_DRAW_PARAMS];
    npy_intp strides[THN_DRAW_PARAMS][THN_MAXDIM];
} ThnDraw;

/* Whether all parameters are such that `thn_draw_...` does what NumPy does; else NumPy has another method, or an error. */
int thn_uniform_fits(const ThnDraw *d);  /* low, high */
int thn_binomial_fits(const ThnDraw *d); /* n, p */
int thn_integers_fit(const ThnDraw *d);  /* low, high, both included */

void thn_draw_uniform(const ThnDraw *d);
void thn_draw_binomial(const ThnDraw *d);
void thn_draw_integers(const ThnDraw *d);
/* Rows of n int64. */
void thn_draw_permutations(bitgen_t *bits, int64_t *out, npy_intp rows, npy_intp n);

#endif
