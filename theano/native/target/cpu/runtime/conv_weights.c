/* Gradients of filters as products of packed matrices (implicit GEMM).
 *
 * The rows of the product are channels and taps, its columns filters, and the sum runs over the output pixels of all images. A
 * block of pixels at a time, the gradient of the output is packed into panels of a few vectors of filters; what the rows hold is
 * read where it lies, in the images or in patches of them (see conv_patch.h), one number for each filter at a time.
 *
 * The sum is cut into parts by lengths alone, and parts are added in their order: results do not depend on threads. */
#include "conv_gather.h"
#include "plan.h"
#include "pool.h"
#include "shuffle.h"

#define BLOCK 256 /* pixels of a block, about */
#define TASKS 8   /* what a large gradient is cut into */
#define MOST_PANELS(vectors) (((vectors) + 2) / 3)

/* How it is cut up. */
typedef struct {
    ThnConv c;
    const struct Kernels *kernels;
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
} Job;

/* What is compiled for each processor and type. */
typedef struct Kernels {
    int rows, lanes;                    /* of a tile; of a vector */
    /* A task's sums. -1: out of memory. */
    int (*compute)(const Job *j, npy_intp part, npy_intp group, npy_intp unit, npy_intp span);
    /* Adds up the parts, and writes the weights. */
    void (*gather)(const Job *j, npy_intp group, npy_intp unit, npy_intp span);
} Kernels;

/* Channels of a unit, and vectors of a span. */
static inline npy_intp channels_of(const Job *j, npy_intp unit)
{
    return thn_least(j->c.channels - unit * j->unit, j->unit);
}

static inline npy_intp vectors_of(const Job *j, npy_intp span)
{
    return thn_least(j->vectors - span * j->span, j->span);
}

#define LOOPS "conv_weights_kernels.h"
#include "variants.h"

static int compute_some(void *ctx, npy_intp task, npy_intp end)
{
    const Job *j = ctx;
    for (; task < end; task++) {
        const npy_intp unit = task / j->spans, group = unit / j->units;
        THN_TRY(j->kernels->compute(j, group / j->c.groups, group % j->c.groups, unit % j->units, task % j->spans));
    }
    return 0;
}

static void gather(void *ctx, long task)
{
    const Job *j = ctx;
    j->kernels->gather(j, task / j->spans / j->units, task / j->spans % j->units, task % j->spans);
}

/* Where there is one tap, which reads each pixel once, images and gradient of the output may change places. The operand of the
 * fewer channels is packed; results of a short sum are better written by rows. */
static void exchange(ThnConv *c)
{
    npy_intp total = c->batch;
    for (int i = 0; i < THN_CONV_DIMS; i++) {
        if (c->kernel[i] != 1 || c->stride[i] != 1 || c->low[i] != 0 || c->image[i] != c->top[i]) {
            return;
        }
        total *= c->top[i];
    }
    if (c->filters <= c->channels && total > 2 * BLOCK) {
        return;
    }
    const ThnConv x = *c;
    c->at.images = x.at.top;
    c->at.top = x.at.images;
    memcpy(c->image_strides, x.top_strides, sizeof x.top_strides);
    memcpy(c->top_strides, x.image_strides, sizeof x.image_strides);
    c->filters = x.channels;
    c->channels = x.filters;
    c->filter_strides[0] = x.filter_strides[1];
    c->filter_strides[1] = x.filter_strides[0];
}

static double weights_cost(const ThnConv *c)
{
    THN_NEED(c->direction == THN_CONV_WEIGHTS && thn_gather_fits(c));
    const double rows = (double)c->filters, groups = (double)(c->batch * c->groups);
    const double scale = c->item == 4 ? 1 : 2, taps = (double)thn_conv_size(c->kernel);
    const double written = (double)(c->filters * c->groups * c->channels) * taps * 0.7;
    return scale * (thn_conv_products(c) * 0.0225 * (1 + 20 / rows) + written) + (c->groups > 1 ? groups * 600 : 0) + 1000;
}

static int weights_execute(const ThnConv *given, double cost)
{
    Job j = {.c = *given, .kernels = VARIANT(kernels, given->typenum)};
    ThnConv *c = &j.c;
    thn_gather_flatten(c);
    exchange(c);
    const npy_intp mr = j.kernels->rows;
    j.taps = thn_conv_size(c->kernel);
    j.pixels = thn_conv_size(c->top);
    j.total = j.pixels * c->batch;
    j.direct = thn_gather_direct(c);
    j.vectors = (c->filters + j.kernels->lanes - 1) / j.kernels->lanes;
    j.blocks = (j.total + BLOCK - 1) / BLOCK;
    j.block = (j.total + j.blocks - 1) / j.blocks;
    j.blocks = (j.total + j.block - 1) / j.block;
    /* Parts of the sum, by lengths alone. They cost a pass over the result. */
    const npy_intp rows = c->channels * j.taps, wanted = thn_worth(cost, TASKS);
    const npy_intp units = thn_least(thn_most(1, rows / BLOCK), c->channels);
    const npy_intp spans = j.direct || j.taps > 8 ? thn_most(1, j.vectors / 12) : 1;
    j.parts = thn_least(thn_most(1, wanted / (c->groups * thn_least(units * spans, TASKS))), thn_most(1, j.total / 500));
    /* Each task packs what it needs of the gradient of the output, and so should have many rows; or copies what it needs of the
     * images, and should have many columns. No result depends on how these are cut. */
    const npy_intp others = thn_get_threads() > 1 ? thn_most(1, wanted / (c->groups * j.parts)) : 1;
    j.units = thn_least(others, units);
    j.unit = (c->channels + j.units - 1) / j.units;
    j.units = (c->channels + j.unit - 1) / j.unit;
    j.spans = thn_least(thn_most(1, others / j.units), thn_most(1, j.vectors / 12));
    j.span = (j.vectors + j.spans - 1) / j.spans;
    j.spans = (j.vectors + j.span - 1) / j.span;
    j.part_blocks = (j.blocks + j.parts - 1) / j.parts;
    j.parts = (j.blocks + j.part_blocks - 1) / j.part_blocks;
    j.tiles = (j.unit * j.taps + mr - 1) / mr;
    j.task_sums = j.tiles * mr * j.span * j.kernels->lanes;
    const npy_intp tasks = c->groups * j.units * j.spans;
    THN_POOLED char *sums = j.sums = thn_pool_alloc((size_t)(j.parts * tasks * j.task_sums * c->item));
    THN_POOLED npy_intp *places = thn_tap_places(c);
    THN_NEED(sums && places);
    j.places = places;
    THN_TRY(thn_parallel_ranges(j.parts * tasks, 1, compute_some, &j));
    thn_parallel(tasks, gather, &j);
    return 0;
}

const ThnConvAlgorithm thn_conv_weights = {"weights", 0, 0, weights_cost, weights_execute};
