/* Samples of distributions from a generator of NumPy, by the methods of its RandomState: the same numbers from the same state.
 * No Python objects; the GIL only where it says so: who calls holds the generator's lock. */
#pragma once

#include "cells.h"

#include <numpy/random/bitgen.h>

#define THN_DRAW_PARAMS 2

/* What numbers are drawn from. */
typedef struct {
    bitgen_t *bits;
    int *has_normal; /* normals come in pairs: whether a RandomState keeps the second of one, and which; NULL: it is not known where */
    double *normal;
    int with_gil; /* it is held while numbers are drawn: what is remembered from call to call may be used */
} ThnGenerator;

/* A sample whose parameters broadcast against it. */
typedef struct ThnDraw {
    ThnGenerator from;
    const ThnCell *out;
    npy_intp row; /* how many elements are one draw */
    const ThnCell *param[THN_DRAW_PARAMS];
    npy_intp strides[THN_DRAW_PARAMS][THN_MAXDIM];
} ThnDraw;

/* Whether a sample of a distribution (THN_Distribution_...) is drawn here as NumPy draws it; else NumPy has another method, or an error.
 * Parameters: of UNIFORM low, high; of NORMAL mean, deviation; of BINOMIAL n, p; of INTEGERS low, high, both included; of MULTINOMIAL
 * n, probabilities along the last dim; of POISSON the mean, twice; of CHOICE a limit, whether with replacement; none of PERMUTATION. */
int thn_draw_fits(const ThnDraw *d, int distribution);
/* Draws it, for PERMUTATION along the last dim. */
void thn_draw(const ThnDraw *d, int distribution);
