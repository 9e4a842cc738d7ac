/* Winograd's way for 3x3 filters with a stride of 1; see conv_winograd.c. */
#pragma once

#include "conv.h"

/* Rows of a product that stay in registers; columns of one at most. */
#define THN_WINOGRAD_ROWS 6
#define THN_WINOGRAD_MOST_COLUMNS 32

/* What conv_winograd_kernels.h makes for a type, a tile and an instruction set. A tile has m x m results of (m + 2) x (m + 2)
 * elements, which become as many points. `apart` is in elements, from point to point; `row` is in bytes. */
typedef struct ThnWinogradKernels {
    int m;
    int panel; /* columns of a product that stay in registers */
    ThnConvRows copy;
    /* A panel of tiles, or of channels of one tile: each lane's first row begins at at[lane]. */
    void (*image)(const char *const *at, npy_intp row, void *out, npy_intp apart);
    /* n filters from `at` on, of these strides. The first n lanes of what is written count. */
    void (*filter)(npy_intp n, const char *at, const npy_intp *strides, void *out, npy_intp apart);
    /* Eight tiles of results of 4x4, which take the part of filters. */
    void (*top)(const char *const *at, npy_intp row, void *out, npy_intp apart);
    void (*result)(const void *m, npy_intp apart, char *const *at, const npy_intp *row);
    /* Gradients of filters: taps[9][panel]. */
    void (*taps)(const void *m, npy_intp apart, void *taps);
    /* out[ROWS][panel], its rows `apart` elements from each other: sums over k of a[k][ROWS] times b[k][panel]; added to what
     * is there if `add`. */
    void (*multiply)(npy_intp depth, const void *a, const void *b, void *out, npy_intp apart, int add);
} ThnWinogradKernels;

/* Those of this machine; m is 2 or 4. */
const ThnWinogradKernels *thn_winograd_kernels(int typenum, int m);

double thn_winograd_weights_cost(const ThnConv *c);
/* -1: out of memory. */
int thn_winograd_weights(const ThnConv *c, int many_threads);

extern const ThnConvAlgorithm thn_conv_winograd;
