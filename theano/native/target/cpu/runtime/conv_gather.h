/* Convolutions as products of packed matrices. */
#ifndef THN_CONV_GATHER_H
#define THN_CONV_GATHER_H

#include "conv.h"

/* A part of the sum: channels [channel, channel + channels), taps [tap, tap + taps) of each. */
typedef struct ThnSlab {
    npy_intp channel, channels, tap, taps;
} ThnSlab;

/* How a gather is cut up. */
typedef struct ThnGatherJob {
    ThnConv c;
    const struct ThnGatherKernels *kernels;
    npy_intp taps, pixels, total;       /* of a filter; of an image; of all images */
    npy_intp slabs, slab_channels, slab_taps, tap_parts;
    npy_intp panels;                    /* of rows in a group */
    npy_intp unit;                      /* columns that are cut into panels for themselves: of a row, an image, or all */
    npy_intp unit_vectors, unit_panels, all_panels;
    npy_intp block, blocks;             /* panels of columns of a block; blocks */
    npy_intp chunk, chunks;             /* rows of a task, a multiple of a tile's; chunks */
    const npy_intp *places;             /* see thn_tap_places */
    char *packed;                       /* weights: group by group, slab by slab, panel by panel */
    int direct;                         /* columns are read from the images themselves */
    int open;                           /* they are not packed; a panel lies in one row */
} ThnGatherJob;

/* What is compiled for each processor and type. */
typedef struct ThnGatherKernels {
    int rows, lanes;                    /* of a tile; of a vector */
    void (*pack)(const ThnGatherJob *j, npy_intp group, npy_intp panel, npy_intp end);
    /* -1: out of memory. */
    int (*compute)(const ThnGatherJob *j, npy_intp group, npy_intp row, npy_intp rows, npy_intp panel, npy_intp panels);
} ThnGatherKernels;

static inline ThnSlab thn_slab(const ThnGatherJob *j, npy_intp index)
{
    const npy_intp c = index / j->tap_parts * j->slab_channels, t = index % j->tap_parts * j->slab_taps;
    const npy_intp nc = j->c.channels - c < j->slab_channels ? j->c.channels - c : j->slab_channels;
    const npy_intp nt = j->taps - t < j->slab_taps ? j->taps - t : j->slab_taps;
    return (ThnSlab){c, nc, t, nt};
}

/* Vectors are cut into panels of at most 3, as equal as they can be: the width of one of them. */
static inline npy_intp thn_panel_vectors(npy_intp vectors, npy_intp panels, npy_intp panel)
{
    return vectors / panels + (panel < vectors % panels);
}

/* The first column of a panel. */
static inline npy_intp thn_panel_column(const ThnGatherJob *j, npy_intp panel, npy_intp lanes)
{
    const npy_intp p = panel % j->unit_panels, more = j->unit_vectors % j->unit_panels;
    return panel / j->unit_panels * j->unit + (p * (j->unit_vectors / j->unit_panels) + (p < more ? p : more)) * lanes;
}

/* Whether filters are shared, and strides not too large. */
int thn_gather_fits(const ThnConv *c);
/* Lays rows together to one long row where nothing is padded, skipped or reused between them. */
void thn_gather_flatten(ThnConv *c);
/* Bytes from the first weight of a filter and channel to that of each tap; freed by thn_pool_free. NULL: out of memory. */
npy_intp *thn_tap_places(const ThnConv *c);
/* Whether rows may be read where they lie: they are neither padded nor cut into phases of a stride. */
int thn_gather_direct(const ThnConv *c);

#endif
