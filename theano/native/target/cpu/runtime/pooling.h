/* Loops of pooling over rows of images, for the dtypes in which it computes. No Python objects, no GIL.
 *
 * Along the last pooled axis window j covers the elements j * s .. j * s + w - 1 of a padded row. Element u is so in the windows
 * u / s - t of the taps t = 0 .. taps - 1, where taps = ceil(w / s), the last of which only if it is one of the first
 * w - (taps - 1) * s elements of its stride. What belongs to windows is therefore spread out, each repeated s times, and element u
 * looks at position u - t * s of it.
 */
#ifndef THN_POOLING_H
#define THN_POOLING_H

#include "cells.h"

/* So many elements behind what is spread out may be read. */
#define THN_POOLING_BEYOND 8

typedef struct ThnPooling {
    int item;
    /* t[i] = the largest, the sum of rows[.][i]; there is at least one row. */
    void (*rows_max)(void *t, const void *const *rows, npy_intp nrows, npy_intp n);
    void (*rows_sum)(void *t, const void *const *rows, npy_intp nrows, npy_intp n);
    /* z[j] = the largest, the sum of t[j * s + k], k < w. */
    void (*columns_max)(void *z, const void *t, npy_intp count, npy_intp w, npy_intp s);
    void (*columns_sum)(void *z, const void *t, npy_intp count, npy_intp w, npy_intp s);
    /* z[j] = v[j] / (factor * sizes[j]) */
    void (*divide)(void *z, const void *v, const void *sizes, npy_intp factor, npy_intp count);
    /* e[j * s + q] = v[j] for q < keep, else 0. */
    void (*spread)(void *e, const void *v, npy_intp count, npy_intp s, npy_intp keep);
    /* gx[i] = (add ? gx[i] : 0) + what the windows of element i give it that equal x[i]; `last` are gradients of the last tap. */
    void (*max_gradient)(void *gx, const void *x, const void *maxima, const void *g, const void *last, npy_intp n, npy_intp taps,
                         npy_intp s, int add);
    /* r[i] = what the windows of element i give it. */
    void (*sum_gradient)(void *r, const void *g, const void *last, npy_intp n, npy_intp taps, npy_intp s);
    /* to[i] += from[i] */
    void (*add)(void *to, const void *from, npy_intp n);
    /* picked[i] += from[i] where x[i] == maxima[i] */
    void (*pick)(void *picked, const void *x, const void *maxima, const void *from, npy_intp n);
    /* z[j] += picked[j * s], as far as `picked` is of the tap. */
    void (*add_strided)(void *z, const void *picked, npy_intp count, npy_intp s);
    /* z[j] = from[j * s] where x[j * s] == maxima[j] */
    void (*replace_strided)(void *z, const void *x, const void *maxima, const void *from, npy_intp count, npy_intp s);
    /* Fills with what no element is less than; with 1, ... */
    void (*fill_least)(void *t, npy_intp n);
    void (*fill_sizes)(void *t, const npy_intp *sizes, npy_intp n);
    /* As max_gradient, of windows of two elements, and all at once: w = s = 2. Elements behind them get 0. */
    void (*pair_gradient)(void *gx, const void *x, const void *maxima, const void *g, npy_intp n, npy_intp count);
    /* Of many rows behind each other, each of which is one window. */
    void (*whole_sum_gradient)(void *gx, const void *g, const void *size, npy_intp rows, npy_intp n);
    void (*whole_max_gradient)(void *gx, const void *x, const void *maxima, const void *g, npy_intp rows, npy_intp n);
} ThnPooling;

/* Along a pooled axis: elements, windows; their length, stride, padding. */
typedef struct {
    npy_intp n, count, w, s, p;
} ThnPoolAxis;

/* Gradients of maxima for the rows from `begin` to `end` of a plane. Windows of some planes cover it. Strides are in bytes; rows
 * are contiguous. */
#define THN_POOLING_ROWS 32
typedef struct {
    ThnPoolAxis down, across;
    npy_intp begin, end, planes;
    const char *x;
    char *gx;
    const char *const *maxima, *const *g;
    npy_intp x_row, gx_row, maxima_row, g_row;
} ThnPoolPlane;

typedef void (*ThnPoolPlaneLoop)(const ThnPoolPlane *p);
/* NULL: there is none for such windows on this processor. */
ThnPoolPlaneLoop thn_pool_plane(int typenum, const ThnPoolAxis *down, const ThnPoolAxis *across, npy_intp planes);

/* In float, double, int64 or uint64; the processor is asked which variant it runs. */
const ThnPooling *thn_pooling(int typenum);

#endif
