/* Convolutions as products of packed matrices. */
#pragma once

#include "conv.h"

/* A part of the sum: channels [channel, channel + channels), taps [tap, tap + taps) of each. */
typedef struct ThnSlab {
    npy_intp channel, channels, tap, taps;
} ThnSlab;

/* Vectors are cut into panels of at most 3, as equal as they can be: the width of one of them. */
static inline npy_intp thn_panel_vectors(npy_intp vectors, npy_intp panels, npy_intp panel)
{
    return vectors / panels + (panel < vectors % panels);
}

/* Whether filters are shared, and strides not too large. */
int thn_gather_fits(const ThnConv *c);
/* Lays rows together to one long row where nothing is padded, skipped or reused between them. */
void thn_gather_flatten(ThnConv *c);
/* Bytes from the first weight of a filter and channel to that of each tap; freed by thn_pool_free. NULL: out of memory. */
npy_intp *thn_tap_places(const ThnConv *c);
/* Whether rows may be read where they lie: they are neither padded nor cut into phases of a stride. */
int thn_gather_direct(const ThnConv *c);
