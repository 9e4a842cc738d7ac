/* Gradients of filters as products of packed matrices (implicit GEMM).
 *
 * The rows of the product are channels and taps, its columns filters, and the sum runs over the output pixels of all images. A
 * block of pixels at a time, the gradient of the output is packed into panels of a few vectors of filters; what the rows hold is
 * read where it lies, in the images or in patches of them (see conv_patch.h), one number for each filter at a time.
 *
 * The sum is cut into parts by lengths alone, and parts are added in their order: results do not depend on threads. */
#include "conv_weights.h"
#include "plan.h"
#include "pool.h"
#include "shuffle.h"

#define BLOCK 256 /* pixels of a block, about */
#define TASKS 8   /* what a large gradient is cut into */

#define LOOPS "conv_weights_kernels.h"
#include "conv_variants.h"

static void compute_task(void *ctx, long task)
{
    ThnWeightsJob *j = ctx;
    const npy_intp span = task % j->spans, unit = task / j->spans % j->units, group = task / j->spans / j->units % j->g.groups;
    if (j->kernels->compute(j, task / j->spans / j->units / j->g.groups, group, unit, span) < 0) {
        __atomic_store_n(&j->failed, 1, __ATOMIC_RELAXED);
    }
}

static void gather_task(void *ctx, long task)
{
    const ThnWeightsJob *j = ctx;
    j->kernels->gather(j, task / j->spans / j->units, task / j->spans % j->units, task % j->spans);
}

/* Where there is one tap, which reads each pixel once, images and gradient of the output may change places. The operand of the
 * fewer channels is packed; results of a short sum are better written by rows. */
static void exchange(ThnGather *g)
{
    npy_intp total = g->images;
    for (int i = 0; i < THN_CONV_DIMS; i++) {
        if (g->kernel[i] != 1 || g->stride[i] != 1 || g->low[i] != 0 || g->in[i] != g->out[i]) {
            return;
        }
        total *= g->out[i];
    }
    if (g->rows <= g->channels && total > 2 * BLOCK) {
        return;
    }
    ThnGather x = *g;
    x.in_data = g->out_data;
    x.out_data = g->in_data;
    memcpy(x.in_strides, g->out_strides, sizeof x.in_strides);
    memcpy(x.out_strides, g->in_strides, sizeof x.out_strides);
    x.rows = g->channels;
    x.channels = g->rows;
    x.weight_strides[0] = g->weight_strides[1];
    x.weight_strides[1] = g->weight_strides[0];
    *g = x;
}

static double weights_cost(const ThnConv *c)
{
    if (c->unshared || c->direction != THN_CONV_WEIGHTS) {
        return -1;
    }
    for (int i = 0; i < THN_CONV_DIMS; i++) {
        if (c->stride[i] > 127) {
            return -1;
        }
    }
    const double rows = (double)c->filters / (double)c->groups, groups = (double)(c->batch * c->groups);
    const double scale = c->item == 4 ? 1 : 2, taps = (double)(c->kernel[0] * c->kernel[1] * c->kernel[2]);
    const double written = (double)c->filters * (double)(c->channels / c->groups) * taps * 0.7;
    return scale * (thn_conv_products(c) * 0.0225 * (1 + 20 / rows) + written) + (c->groups > 1 ? groups * 600 : 0) + 1000;
}

static int weights_execute(const ThnConvPlan *p, char *images, char *filters, char *top)
{
    const ThnConv *c = &p->conv;
    ThnWeightsJob j = {.g = thn_gather_forward(c, images, filters, top), .kernels = VARIANT(kernels, c->typenum)};
    ThnGather *g = &j.g;
    exchange(g);
    const npy_intp mr = j.kernels->rows;
    j.taps = g->kernel[0] * g->kernel[1] * g->kernel[2];
    j.pixels = g->out[0] * g->out[1] * g->out[2];
    j.total = j.pixels * g->images;
    j.direct = thn_gather_direct(g);
    j.vectors = (g->rows + j.kernels->lanes - 1) / j.kernels->lanes;
    j.blocks = (j.total + BLOCK - 1) / BLOCK;
    j.block = (j.total + j.blocks - 1) / j.blocks;
    j.blocks = (j.total + j.block - 1) / j.block;
    /* Parts of the sum, by lengths alone. They cost a pass over the result. */
    const npy_intp rows = g->channels * j.taps, wanted = thn_worth(p->cost, TASKS);
    const npy_intp units = thn_least(thn_most(1, rows / BLOCK), g->channels);
    const npy_intp spans = j.direct || j.taps > 8 ? thn_most(1, j.vectors / 12) : 1;
    j.parts = thn_least(thn_most(1, wanted / (g->groups * thn_least(units * spans, TASKS))), thn_most(1, j.total / 500));
    /* Each task packs what it needs of the gradient of the output, and so should have many rows; or copies what it needs of the
     * images, and should have many columns. No result depends on how these are cut. */
    const npy_intp others = thn_get_threads() > 1 ? thn_most(1, wanted / (g->groups * j.parts)) : 1;
    j.units = thn_least(others, units);
    j.unit = (g->channels + j.units - 1) / j.units;
    j.units = (g->channels + j.unit - 1) / j.unit;
    j.spans = thn_least(thn_most(1, others / j.units), thn_most(1, j.vectors / 12));
    j.span = (j.vectors + j.spans - 1) / j.spans;
    j.spans = (j.vectors + j.span - 1) / j.span;
    j.part_blocks = (j.blocks + j.parts - 1) / j.parts;
    j.parts = (j.blocks + j.part_blocks - 1) / j.part_blocks;
    j.tiles = (j.unit * j.taps + mr - 1) / mr;
    j.task_sums = j.tiles * mr * j.span * j.kernels->lanes;
    const npy_intp tasks = g->groups * j.units * j.spans;
    THN_POOLED char *sums = j.sums = thn_pool_alloc((size_t)(j.parts * tasks * j.task_sums * g->item));
    THN_POOLED npy_intp *places = thn_tap_places(g);
    THN_NEED(sums && places);
    j.places = places;
    thn_parallel((long)(j.parts * tasks), compute_task, &j);
    if (!j.failed) {
        thn_parallel((long)tasks, gather_task, &j);
    }
    return j.failed ? -1 : 0;
}

const ThnConvAlgorithm thn_conv_weights = {"weights", weights_cost, weights_execute};
