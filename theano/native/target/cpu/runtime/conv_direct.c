/* Convolutions with few channels in a group, depthwise ones first, straight from padded planes.
 *
 * The planes that a group reads are copied to rows with their padding, a band of rows at a time; those of strided
 * convolutions by phases, so that what one tap reads for neighbouring positions are neighbours. Output rows have the same
 * pitch: then a tap is one offset for a whole band, and a band is one long row. A few filters and vectors of positions stay in
 * registers while all taps pass.
 *
 * Gradients of filters are scalar products of `top`, with zeros between its rows, and what a tap reads. Bands depend on shapes
 * only, and so does the order of sums. */
#include "conv.h"
#include "plan.h"
#include "pool.h"
#include "processor.h"

#include <math.h>

#define MOST_FILTERS 4
#define MOST_DOTS 9
#define MOST_TAPS 8192
#define MOST_PHASES 16
/* Elements behind a band that whole vectors may read and write. */
#define BEHIND 256

typedef struct {
    /* to[f][i] = sum over taps of w[tap][f] * from[offset[tap] + i], for at least n positions. */
    void (*sums)(int count, npy_intp n, npy_intp taps, const npy_intp *offset, const void *w, const void *from, void *to,
                 npy_intp apart);
    /* sums[tap] += sum over i < n of top[i] * from[offset[tap] + i]; there are zeros behind top. */
    void (*dots)(npy_intp n, npy_intp taps, const npy_intp *offset, const void *top, const void *from, double *sums);
    ThnConvRows copy;
} Kernels;

#define LOOPS "conv_direct_kernels.h"
#define FOR_AVX2 THN_AVX2
#define FOR_AVX512 THN_AVX512
#include "variants.h"

/* ---- the shape of bands */

typedef struct {
    const ThnConv *c;
    const Kernels *k;
    npy_intp reach[2];            /* how many more positions than there are in a column and a row of top the taps read */
    npy_intp pitch, band, bands;  /* of rows; rows of a band */
    npy_intp plane, planes;       /* elements of one phase of one plane of a band; phases of all planes of a group */
    npy_intp taps, chunk;
    npy_intp *offset, *weight;    /* of each tap of all channels: where it reads, bytes to its weight */
} Job;

/* Bytes for which planes of a band are meant to stay in the first-level cache, or at least in the second. */
#define NEAR 24576
#define FAR 262144

static void describe(Job *j, const ThnConv *c)
{
    j->c = c;
    j->k = VARIANT(kernels, c->typenum);
    j->taps = c->channels * thn_conv_size(c->kernel);
    j->planes = c->channels * c->stride[1] * c->stride[2];
    for (int i = 0; i < 2; i++) {
        j->reach[i] = (c->kernel[1 + i] - 1) * c->dilation[1 + i] / c->stride[1 + i];
    }
    j->pitch = c->top[2] + j->reach[1];
    const npy_intp row = j->planes * j->pitch * c->item, few = 4 + 2 * j->reach[0];
    npy_intp band = NEAR / row - j->reach[0];
    if (band < few) {
        band = thn_least(FAR / row - j->reach[0], few);
    }
    band = thn_most(thn_least(band, c->top[1]), 1);
    j->bands = (c->top[1] + band - 1) / band;
    j->band = (c->top[1] + j->bands - 1) / j->bands;
    j->plane = (j->band + j->reach[0]) * j->pitch;
}

/* The planes of a group that a band of top reads, by phases. */
static void read_images(const Job *j, npy_intp image, npy_intp group, npy_intp row, char *to)
{
    const ThnConv *c = j->c;
    const npy_intp phases = c->stride[1] * c->stride[2], all = j->band + j->reach[0];
    for (npy_intp ch = 0; ch < c->channels; ch++, to += phases * j->plane * c->item) {
        const char *plane = c->at.images + image * c->image_strides[0] + (group * c->channels + ch) * c->image_strides[1];
        /* A few rows of all phases, then the next: they are neighbours in memory. */
        const npy_intp step = phases > 1 ? 4 : all;
        for (npy_intp r = 0; r < all; r += step) {
            char *at = to + r * j->pitch * c->item;
            for (npy_intp phase = 0; phase < phases; phase++, at += j->plane * c->item) {
                j->k->copy(plane, c->image_strides[3], c->image + 1, (row + r) * c->stride[1] + phase / c->stride[2] - c->low[1],
                           c->stride[1], thn_least(all - r, step), phase % c->stride[2] - c->low[2], c->stride[2], j->pitch, at,
                           j->pitch * c->item, c->image_strides[1]);
            }
        }
    }
}

static void describe_taps(Job *j)
{
    const ThnConv *c = j->c;
    for (npy_intp i = 0; i < j->taps; i++) {
        const npy_intp kx = i % c->kernel[2], ky = i / c->kernel[2] % c->kernel[1], ch = i / c->kernel[2] / c->kernel[1];
        const npy_intp y = ky * c->dilation[1], x = kx * c->dilation[2], sy = c->stride[1], sx = c->stride[2];
        j->weight[i] = ch * c->filter_strides[1] + ky * c->filter_strides[3] + kx * c->filter_strides[4];
        j->offset[i] = ((ch * sy + y % sy) * sx + x % sx) * j->plane + y / sy * j->pitch + x / sx;
    }
}

/* ---- forward */

/* Bands of images' groups. */
static int sum_some(void *ctx, npy_intp unit, npy_intp end)
{
    const Job *j = ctx;
    const ThnConv *c = j->c;
    const npy_intp item = c->item, apart = j->band * j->pitch + BEHIND, size = j->planes * j->plane;
    THN_POOLED char *planes = thn_pool_alloc((size_t)((size + BEHIND) * item));
    THN_POOLED char *sums = thn_pool_alloc((size_t)(MOST_FILTERS * apart * item));
    THN_POOLED char *w = thn_pool_alloc((size_t)(MOST_FILTERS * j->taps * item));
    THN_NEED(planes && sums && w);
    memset(planes + size * item, 0, (size_t)(BEHIND * item));
    for (; unit < end; unit++) {
        const npy_intp row = unit % j->bands * j->band, group = unit / j->bands % c->groups, image = unit / j->bands / c->groups;
        const npy_intp rows = thn_least(c->top[1] - row, j->band);
        if (rows <= 0) {
            continue;
        }
        read_images(j, image, group, row, planes);
        for (npy_intp f = 0; f < c->filters; f += MOST_FILTERS) {
            const int count = (int)thn_least(c->filters - f, MOST_FILTERS);
            const char *filters = c->at.filters + group * c->filter_strides[5] + f * c->filter_strides[0];
            char *out = c->at.top + image * c->top_strides[0] + (group * c->filters + f) * c->top_strides[1] +
                        row * c->top_strides[3];
            for (npy_intp t = 0; t < j->taps; t++) {
                for (int i = 0; i < count; i++) {
                    thn_copy_real(item, w + (t * count + i) * item, filters + j->weight[t] + i * c->filter_strides[0]);
                }
            }
            j->k->sums(count, (rows - 1) * j->pitch + c->top[2], j->taps, j->offset, w, planes, sums, apart);
            for (int i = 0; i < count; i++) {
                thn_copy_2d((int)item, out + i * c->top_strides[1], c->top_strides[3], c->top_strides[4], sums + i * apart * item,
                            j->pitch * item, item, rows, c->top[2]);
            }
        }
    }
    return 0;
}

/* ---- gradients with respect to filters */

/* One number of the result by its definition: zeros between rows have met what is no number. */
static void define(const Job *j, npy_intp group, npy_intp f, npy_intp tap, char *to)
{
    ThnConv c = thn_conv_group(j->c, group);
    const npy_intp k[] = {0, tap / c.kernel[2] % c.kernel[1], tap % c.kernel[2]};
    c.at.images += tap / c.kernel[2] / c.kernel[1] * c.image_strides[1];
    c.at.top += f * c.top_strides[1];
    c.at.filters = to;
    c.channels = c.filters = 1;
    for (int i = 0; i < THN_CONV_DIMS; i++) {
        c.kernel[i] = 1;
        c.low[i] -= k[i] * c.dilation[i];
    }
    thn_conv_simple.execute(&c, 0);
}

/* Chunks of the filters of groups: all images. */
static int filters_some(void *ctx, npy_intp unit, npy_intp end)
{
    const Job *j = ctx;
    const ThnConv *c = j->c;
    const npy_intp item = c->item, chunks = (c->filters + j->chunk - 1) / j->chunk, taps = j->taps;
    const npy_intp size = j->band * j->pitch, all = j->planes * j->plane;
    THN_POOLED char *planes = thn_pool_alloc((size_t)((all + BEHIND) * item));
    THN_POOLED char *top = thn_pool_alloc((size_t)((size + BEHIND) * item));
    THN_POOLED double *sums = thn_pool_alloc((size_t)(j->chunk * taps) * sizeof(double));
    THN_NEED(planes && top && sums);
    memset(planes + all * item, 0, (size_t)(BEHIND * item));
    memset(top + size * item, 0, (size_t)(BEHIND * item));
    for (; unit < end; unit++) {
        const npy_intp group = unit / chunks, first = unit % chunks * j->chunk, count = thn_least(c->filters - first, j->chunk);
        char *filters = c->at.filters + group * c->filter_strides[5] + first * c->filter_strides[0];
        char *tops = c->at.top + (group * c->filters + first) * c->top_strides[1];
        memset(sums, 0, (size_t)(count * taps) * sizeof(double));
        for (npy_intp image = 0; image < c->batch; image++) {
            for (npy_intp row = 0; row < c->top[1]; row += j->band) {
                const npy_intp rows = thn_least(c->top[1] - row, j->band);
                read_images(j, image, group, row, planes);
                for (npy_intp f = 0; f < count; f++) {
                    j->k->copy(tops + image * c->top_strides[0] + f * c->top_strides[1], c->top_strides[3], c->top + 1, row, 1,
                               j->band, 0, 1, j->pitch, top, j->pitch * item, 0);
                    j->k->dots((rows - 1) * j->pitch + c->top[2], taps, j->offset, top, planes, sums + f * taps);
                }
            }
        }
        for (npy_intp i = 0; i < count * taps; i++) {
            char *to = filters + i / taps * c->filter_strides[0] + j->weight[i % taps];
            thn_put_real(item, to, sums[i]);
            if (isnan(sums[i])) {
                define(j, group, first + i / taps, i % taps, to);
            }
        }
    }
    return 0;
}

static int direct_execute(const ThnConv *c, double cost)
{
    Job j = {0};
    describe(&j, c);
    THN_POOLED npy_intp *offset = j.offset = thn_pool_alloc((size_t)(2 * j.taps) * sizeof(npy_intp));
    THN_NEED(offset);
    j.weight = j.offset + j.taps;
    describe_taps(&j);
    if (c->direction == THN_CONV_WEIGHTS) {
        j.chunk = thn_least(thn_share(cost, c->groups * c->filters), c->filters);
        const npy_intp units = c->groups * ((c->filters + j.chunk - 1) / j.chunk);
        return thn_parallel_ranges(units, thn_share(cost, units), filters_some, &j);
    }
    const npy_intp units = c->batch * c->groups * j.bands;
    return thn_parallel_ranges(units, thn_share(cost, units), sum_some, &j);
}

static double direct_cost(const ThnConv *c)
{
    Job j = {0};
    const npy_intp phases = c->stride[1] * c->stride[2];
    THN_NEED(c->direction != THN_CONV_INPUTS && thn_conv_is_flat(c) && !c->zeros);
    THN_NEED(thn_conv_most_stride(c) <= MOST_PHASES && phases <= MOST_PHASES);
    describe(&j, c);
    THN_NEED(j.taps <= MOST_TAPS);
    const int weights = c->direction == THN_CONV_WEIGHTS;
    const double scale = c->item == 4 ? 1 : 2, outputs = (double)c->filters, positions = (double)(c->top[1] * j.pitch);
    const double each = weights ? 0.045 : outputs >= 4 ? 0.048 : outputs == 1 ? 0.055 : 0.04;
    const double read = (double)(j.planes * j.bands * j.plane) * (c->stride[2] > 1 ? 0.4 : 0.12);
    const double written = outputs * positions * (thn_conv_has_rows(c) ? 0.12 : 0.6);
    /* Each band adds the vectors of each tap's sums up. */
    const double added = weights ? 15 * (double)j.taps * outputs : 0;
    const double sums = scale * (positions * (double)j.taps * outputs * each + read + written);
    return (double)(c->batch * c->groups) * (sums + (double)j.bands * (60 * outputs + added)) + 500;
}

const ThnConvAlgorithm thn_conv_direct = {"direct", 0, 1, direct_cost, direct_execute};
