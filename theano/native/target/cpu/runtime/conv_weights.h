/* Gradients of filters as products of packed matrices. */
#ifndef THN_CONV_WEIGHTS_H
#define THN_CONV_WEIGHTS_H

#include "conv_gather.h"

#define THN_MOST_PANELS(vectors) (((vectors) + 2) / 3)

/* How it is cut up. The rows of the product are channels and taps, its columns filters; the sum runs over output pixels. */
typedef struct ThnWeightsJob {
    ThnConv c;
    const struct ThnWeightsKernels *kernels;
    npy_intp taps, pixels, total;
    npy_intp block, blocks;             /* pixels of a block; blocks */
    npy_intp parts, part_blocks;        /* parts of the sum, of so many blocks */
    npy_intp unit, units;               /* channels of a task; such tasks in a group */
    npy_intp vectors;                   /* of filters of a group */
    npy_intp span, spans;               /* vectors of a task; such tasks in a group */
    npy_intp tiles;                     /* of rows of a task */
    const npy_intp *places;             /* see thn_tap_places */
    char *sums;                         /* [part][group][unit][span][tile row][tile column] of tiles */
    npy_intp task_sums;                 /* elements */
    int direct;
} ThnWeightsJob;

/* What is compiled for each processor and type. */
typedef struct ThnWeightsKernels {
    int rows, lanes;                    /* of a tile; of a vector */
    /* A task's sums. -1: out of memory. */
    int (*compute)(const ThnWeightsJob *j, npy_intp part, npy_intp group, npy_intp unit, npy_intp span);
    /* Adds up the parts, and writes the weights. */
    void (*gather)(const ThnWeightsJob *j, npy_intp group, npy_intp unit, npy_intp span);
} ThnWeightsKernels;

#endif
