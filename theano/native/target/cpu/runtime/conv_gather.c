/* Convolutions as products of packed matrices (implicit GEMM).
 *
 * The rows of the product are filters, its columns output pixels of all images, and the sum runs over channels and taps. Columns
 * are cut into panels of as many as some vector registers hold, the sum into slabs, so that a panel of a slab stays in the
 * first-level cache while all rows pass it by. A panel is packed straight from the images, or from a patch, a copy of the few
 * rows of some channels that a block of panels needs, with its padding and with rows cut into phases of the stride: no matrix
 * of all pixels and taps is ever made. Goto & van de Geijn, Anatomy of high-performance matrix multiplication (2008). */
#include "conv_gather.h"
#include "plan.h"
#include "pool.h"
#include "shuffle.h"

#define DEPTH 256   /* of a slab, about */
#define RESULTS 196608 /* bytes of results of a block, about */
#define OWN 96      /* columns of an image that are panels of their own */
#define CHUNK 512   /* rows of a task, at most */

/* How a gather is cut up. */
typedef struct {
    ThnConv c;
    const struct Kernels *kernels;
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
} Job;

/* What is compiled for each processor and type. */
typedef struct Kernels {
    int rows, lanes;                    /* of a tile; of a vector */
    void (*pack)(const Job *j, npy_intp group, npy_intp panel, npy_intp end);
    /* -1: out of memory. */
    int (*compute)(const Job *j, npy_intp group, npy_intp row, npy_intp rows, npy_intp panel, npy_intp panels);
} Kernels;

static inline ThnSlab slab_of(const Job *j, npy_intp index)
{
    const npy_intp c = index / j->tap_parts * j->slab_channels, t = index % j->tap_parts * j->slab_taps;
    const npy_intp nc = j->c.channels - c < j->slab_channels ? j->c.channels - c : j->slab_channels;
    const npy_intp nt = j->taps - t < j->slab_taps ? j->taps - t : j->slab_taps;
    return (ThnSlab){c, nc, t, nt};
}

/* The first column of a panel. */
static inline npy_intp panel_column(const Job *j, npy_intp panel, npy_intp lanes)
{
    const npy_intp p = panel % j->unit_panels, more = j->unit_vectors % j->unit_panels;
    return panel / j->unit_panels * j->unit + (p * (j->unit_vectors / j->unit_panels) + (p < more ? p : more)) * lanes;
}

#define LOOPS "conv_gather_kernels.h"
#include "variants.h"

/* A dim with one tap and nothing padded is read as if what its stride skips were not there; and where nothing is padded, skipped
 * or reused between rows, rows are one long row. */
void thn_gather_flatten(ThnConv *c)
{
    for (int i = 0; i < 2; i++) {
        if (c->kernel[i] == 1 && c->low[i] == 0 && (c->top[i] - 1) * c->stride[i] < c->image[i]) {
            c->image_strides[2 + i] *= c->stride[i];
            c->image[i] = c->top[i];
            c->stride[i] = 1;
        }
    }
    for (int i = 1; i >= 0; i--) {
        /* Dim i and those behind it, which are already one. */
        int plain = 1;
        for (int k = i; k < THN_CONV_DIMS; k++) {
            plain = plain && c->kernel[k] == 1 && c->stride[k] == 1 && c->low[k] == 0 && c->image[k] == c->top[k];
        }
        const int dense = plain && (c->image[i] == 1 || (c->image_strides[2 + i] == c->image[2] * c->image_strides[4] &&
                                                         c->top_strides[2 + i] == c->top[2] * c->top_strides[4]));
        if (!dense) {
            return;
        }
        c->image[2] *= c->image[i];
        c->top[2] *= c->top[i];
        c->image[i] = c->top[i] = 1;
    }
}

int thn_gather_fits(const ThnConv *c)
{
    return !c->unshared && thn_conv_most_stride(c) <= 127; /* a remainder is a signed char */
}

int thn_gather_direct(const ThnConv *c)
{
    int direct = c->stride[2] == 1;
    for (int i = 0; i < THN_CONV_DIMS; i++) {
        direct = direct && c->low[i] <= 0 &&
                 (c->top[i] - 1) * c->stride[i] + (c->kernel[i] - 1) * c->dilation[i] - c->low[i] < c->image[i];
    }
    return direct;
}

npy_intp *thn_tap_places(const ThnConv *c)
{
    const npy_intp *n = c->kernel, *steps = c->filter_strides + 2, taps = thn_conv_size(n);
    npy_intp *places = thn_pool_alloc((size_t)taps * sizeof *places);
    for (npy_intp t = 0; places && t < taps; t++) {
        places[t] = t / n[2] / n[1] * steps[0] + t / n[2] % n[1] * steps[1] + t % n[2] * steps[2];
    }
    return places;
}

/* Panels of rows, of all groups. */
static int pack_some(void *ctx, npy_intp unit, npy_intp end)
{
    const Job *j = ctx;
    for (npy_intp left; unit < end; unit += left) {
        const npy_intp first = unit % j->panels;
        left = thn_least(end - unit, j->panels - first);
        j->kernels->pack(j, unit / j->panels, first, first + left);
    }
    return 0;
}

static int compute_some(void *ctx, npy_intp task, npy_intp end)
{
    const Job *j = ctx;
    for (; task < end; task++) {
        const npy_intp row = task / j->blocks % j->chunks * j->chunk, panel = task % j->blocks * j->block;
        THN_TRY(j->kernels->compute(j, task / j->blocks / j->chunks, row, thn_least(j->c.filters - row, j->chunk), panel,
                                    thn_least(j->all_panels - panel, j->block)));
    }
    return 0;
}

static int gather_execute(const ThnConv *given, double Py_UNUSED(cost))
{
    Job j = {.c = *given, .kernels = VARIANT(kernels, given->typenum)};
    ThnConv *c = &j.c;
    const npy_intp mr = j.kernels->rows, lanes = j.kernels->lanes;
    thn_gather_flatten(c);
    j.taps = thn_conv_size(c->kernel);
    j.pixels = thn_conv_size(c->top);
    j.total = j.pixels * c->batch;
    j.tap_parts = (j.taps + DEPTH * 3 / 2 - 1) / (DEPTH * 3 / 2);
    j.slab_taps = (j.taps + j.tap_parts - 1) / j.tap_parts;
    j.tap_parts = (j.taps + j.slab_taps - 1) / j.slab_taps;
    const npy_intp most = j.tap_parts > 1 ? 1 : thn_most(1, DEPTH / j.taps), parts = (c->channels + most - 1) / most;
    j.slab_channels = (c->channels + parts - 1) / parts;
    j.slabs = (c->channels + j.slab_channels - 1) / j.slab_channels * j.tap_parts;
    j.panels = (c->filters + mr - 1) / mr;
    j.direct = thn_gather_direct(c);
    const double work = 2e-2 * (double)c->item / 4 * (double)j.total * (double)c->filters * (double)c->groups *
                        (double)c->channels * (double)j.taps;
    const npy_intp threads = thn_get_threads(), wanted = threads > 1 ? thn_worth(work, 4 * threads) : 1;
    j.chunks = (c->filters + CHUNK - 1) / CHUNK;
    /* Packing a column takes as long as some rows do; panels that end with a row may be less full. */
    const npy_intp row_vectors = (c->top[2] + lanes - 1) / lanes, image_vectors = (j.pixels + lanes - 1) / lanes;
    const double waste = (double)(row_vectors * c->top[0] * c->top[1]) / (double)image_vectors - 1;
    j.open = (waste + (c->channels * j.taps < 64 ? 0.06 : 0.15)) * (double)c->filters < 5;
    j.direct = j.direct && (!j.open || c->top[2] % lanes == 0);
    j.unit = j.open ? c->top[2] : j.pixels >= OWN ? j.pixels : j.total;
    j.unit_vectors = (j.unit + lanes - 1) / lanes;
    j.unit_panels = (j.unit_vectors + 2) / 3;
    j.all_panels = j.total / j.unit * j.unit_panels;
    /* Large blocks copy fewer rows twice, for their neighbours. */
    npy_intp columns = RESULTS / c->item / (c->filters < CHUNK ? c->filters : CHUNK);
    columns = columns < 240 ? 240 : columns > 3072 ? 3072 : columns;
    j.blocks = (j.total + columns - 1) / columns;
    /* Some tasks for each thread (no result depends on how this is cut): by narrower blocks, then by fewer rows. */
    while (j.blocks * j.chunks * c->groups < wanted && j.all_panels / j.blocks > 3) {
        j.blocks++;
    }
    while (j.blocks * j.chunks * c->groups < (wanted < 4 ? wanted : 4) && c->filters / j.chunks > 4 * mr) {
        j.chunks++;
    }
    j.chunk = ((c->filters + j.chunks - 1) / j.chunks + mr - 1) / mr * mr;
    j.chunks = (c->filters + j.chunk - 1) / j.chunk;
    j.block = (j.all_panels + j.blocks - 1) / j.blocks;
    j.blocks = (j.all_panels + j.block - 1) / j.block;
    const npy_intp weights = c->groups * j.panels * mr * c->channels * j.taps;
    THN_POOLED char *packed = j.packed = thn_pool_alloc((size_t)(weights * c->item));
    THN_POOLED npy_intp *places = thn_tap_places(c);
    THN_NEED(packed && places);
    j.places = places;
    THN_TRY(thn_parallel_ranges(j.panels * c->groups, thn_share((double)weights, j.panels * c->groups), pack_some, &j));
    return thn_parallel_ranges(j.blocks * j.chunks * c->groups, 1, compute_some, &j);
}

static double gather_cost(const ThnConv *c)
{
    THN_NEED(c->direction == THN_CONV_FORWARD && thn_gather_fits(c));
    const double rows = (double)c->filters, each = c->item == 4 ? 0.02 : 0.04, groups = (double)(c->batch * c->groups);
    /* Columns are packed for few rows, too, or read where they are for fewer. Each group of an image begins anew, and filters are
     * packed once. */
    const double filters = (double)(c->filters * c->groups * c->channels * thn_conv_size(c->kernel));
    return thn_conv_products(c) * each * (1 + (rows < 8 ? 4 : 10) / rows) + (c->groups > 1 ? groups * 600 : 0) + filters + 1000;
}

const ThnConvAlgorithm thn_conv_gather = {"gather", 0, 0, gather_cost, gather_execute};
