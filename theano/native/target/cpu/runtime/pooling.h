/* Loops of pooling over the rows of planes, for the dtypes in which it computes. No Python objects, no GIL.
 *
 * A row lies along the last pooled axis, `across`, the rows of a plane along the one before it, `down`. A row of results is
 * made of the rows of the other kind (of images or of windows) that cover it or are covered by it, in one plane or, where more
 * axes are pooled, in some.
 *
 * Along a row window j covers the elements j * s .. j * s + w - 1 of a padded row. Element u is so in the windows u / s - t of
 * the taps t = 0 .. taps - 1, where taps = ceil(w / s), the last of which only if it is one of the first w - (taps - 1) * s
 * elements of its stride. For gradients, what belongs to windows is therefore spread out, each repeated s times, and element u
 * looks at position u - t * s of it. Of windows two apart, every second element is taken together instead. */
#pragma once

#include "cells.h"

/* So many elements behind what is spread out may be read. */
#define THN_POOLING_BEYOND 8

/* Along a pooled axis: elements, windows; their length, stride, padding. */
typedef struct {
    npy_intp n, count, w, s, p;
} ThnPoolAxis;

/* Windows that an element may be in, at most. */
static inline npy_intp thn_pool_taps(const ThnPoolAxis *a)
{
    return (a->w + a->s - 1) / a->s;
}

/* The elements that window j covers, `padded`: those of the padding, too. */
static inline npy_intp thn_pool_first(const ThnPoolAxis *a, npy_intp j)
{
    return thn_most(j * a->s - a->p, 0);
}

static inline npy_intp thn_pool_end(const ThnPoolAxis *a, npy_intp j)
{
    return thn_least(j * a->s - a->p + a->w, a->n);
}

static inline npy_intp thn_pool_size(const ThnPoolAxis *a, npy_intp j, int padded)
{
    const npy_intp start = j * a->s - a->p;
    const npy_intp size = padded ? thn_least(start + a->w, a->n + a->p) - start : thn_pool_end(a, j) - thn_pool_first(a, j);
    return thn_most(size, 1);
}

/* The strides in n elements; most are of one or two, which are not worth a division. */
static inline npy_intp thn_pool_strides(const ThnPoolAxis *a, npy_intp n)
{
    return a->s == 1 ? n : a->s == 2 ? n >> 1 : n / a->s;
}

/* The first window that covers element i, if any does. */
static inline npy_intp thn_pool_first_window(const ThnPoolAxis *a, npy_intp i)
{
    const npy_intp before = i + a->p - a->w + 1;
    return before > 0 ? thn_pool_strides(a, before + a->s - 1) : 0;
}

/* What a loop makes, and of what. Rows are contiguous. */
typedef struct {
    ThnPoolAxis down, across;
    npy_intp begin, end;              /* the rows that are made */
    char *out;                        /* they, one behind the other */
    npy_intp planes;                  /* of which they are made; of what lies as the results do there is one */
    const char **x, **maxima, **other;         /* the planes: of images, of maxima (or NULL), of gradients or what is picked */
    npy_intp x_row, maxima_row, other_row;     /* bytes from row to row */
    npy_intp *factors;                /* averages: elements of the windows of a plane along the axes before; else NULL */
    const void *sizes;                /* and along the row, each */
    int padded;                       /* they count the padding */
    int first;                        /* the first of equal maxima is picked; else all are, and added */
    const void **rows;                /* room for the rows of which one is made */
    void *line;                       /* and for one row */
    void *slots;                      /* zeros, for rows of windows that were prepared: `ring`, a power of two, for each plane */
    npy_intp ring, slot, pitch;       /* elements of one; and of each row that was spread out */
    npy_intp together;                /* gradients: rows that are made at once */
    const npy_intp *low, *high;       /* picking: the windows whose element k lies within the row */
} ThnPoolPlane;

typedef void (*ThnPoolLoop)(const ThnPoolPlane *p);

typedef struct {
    int item;
    /* What windows have along the row, as averages count it. */
    void (*fill_sizes)(void *sizes, const ThnPoolAxis *a, int padded);
    ThnPoolLoop max, sum, max_gradient, sum_gradient, pick;
    /* The loop for gradients of one plane that neither needs a line nor slots, if there is one for these windows. */
    ThnPoolLoop (*simple_gradient)(const ThnPoolAxis *down, const ThnPoolAxis *across, int is_max);
} ThnPooling;

/* In float, double, int64 or uint64; the processor is asked which variant it runs. */
const ThnPooling *thn_pooling(int typenum);
