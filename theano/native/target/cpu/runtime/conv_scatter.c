/* Gradients with respect to images by products at the positions of `top`, added up in the images.
 *
 * Where images are small and not padded there are far fewer output positions than image positions. For each channel and tap the
 * product of its filters with the gradient of the output, all positions of an image at once, is a row; rows are added to the
 * image where their tap had read, always in the same order: to its phases where there is a stride along rows, so that whole vectors
 * are added. The kernels are those of conv_winograd.h. */
#include "conv_winograd.h"
#include "copy.h"
#include "plan.h"
#include "pool.h"

#define ROWS THN_WINOGRAD_ROWS
/* Bytes of the packed gradient of one image. */
#define MOST_TOP (4 * 1024 * 1024)
/* Bytes of a product that wait to be added, about. */
#define RESULTS (128 * 1024)
#define MOST_SIDE_BY_SIDE 32 /* rows, or elements of rows, that are added column by column */

typedef struct {
    /* Adds rows of a product to rows of an image, which are `from_row` elements and `to_row` bytes apart. */
    void (*add)(npy_intp rows, npy_intp n, const char *from, npy_intp from_row, char *to, npy_intp to_row);
    /* A row of n elements from its phases, which are so many elements apart. */
    void (*join)(npy_intp n, const void *from, npy_intp apart, npy_intp step, void *to);
} Loops;

#define LOOPS "conv_scatter_kernels.h"
#include "variants.h"

typedef struct {
    const ThnConv *c;
    const ThnWinogradKernels *k;
    const Loops *loops;
    char *packed;
    npy_intp taps, positions, padded;         /* positions: a multiple of the panel if padded */
    npy_intp blocks, panels, parts;           /* blocks: of ROWS channels, so that their rows fill panels, but for the last */
    npy_intp phase_row, phase;                /* elements of a row of a phase, and of the phase of a plane */
    npy_intp together;                        /* rows of a product that are added at once: panels of them */
    int dense;                                /* the taps of a filter's channels follow each other */
} Job;

static void describe(Job *j, const ThnConv *c)
{
    j->c = c;
    j->k = thn_winograd_kernels(c->typenum, 4);
    j->loops = VARIANT(loops, c->typenum);
    j->taps = c->kernel[1] * c->kernel[2];
    j->positions = c->top[1] * c->top[2];
    j->padded = (j->positions + j->k->panel - 1) / j->k->panel * j->k->panel;
    j->blocks = (c->channels + ROWS - 1) / ROWS;
    j->panels = (c->channels * j->taps + ROWS - 1) / ROWS;
    const npy_intp most = RESULTS / (ROWS * j->padded * c->item), *s = c->filter_strides;
    j->phase_row = (c->image[2] + c->stride[2] - 1) / c->stride[2];
    j->phase = j->phase_row * c->image[1];
    j->together = ROWS * (most < 1 ? 1 : most < j->panels ? most : j->panels);
    j->dense = s[4] == c->item && s[3] == c->kernel[2] * c->item && (s[1] == j->taps * c->item || c->channels == 1);
}

/* A panel of rows a[filter][row]. */
static void pack(void *ctx, long panel)
{
    const Job *j = ctx;
    const ThnConv *c = j->c;
    const npy_intp *s = c->filter_strides, item = c->item, row = panel * ROWS, n = thn_least(c->channels * j->taps - row, ROWS);
    char *to = j->packed + row * c->filters * item;
    if (j->dense && n == ROWS) {
        const char *from = c->at.filters + row * item;
        for (npy_intp f = 0; f < c->filters; f++, to += ROWS * item, from += s[0]) {
            if (item == 4) {
                memcpy(to, from, ROWS * sizeof(float));
            } else {
                memcpy(to, from, ROWS * sizeof(double));
            }
        }
        return;
    }
    if (n < ROWS) {
        memset(to, 0, (size_t)(ROWS * c->filters * item));
    }
    for (npy_intp i = 0; i < n; i++) {
        const npy_intp channel = (row + i) / j->taps, tap = (row + i) % j->taps;
        const char *w = c->at.filters + channel * s[1] + tap / c->kernel[2] * s[3] + tap % c->kernel[2] * s[4];
        thn_copy_inner(c->item)(c->filters, to + i * item, ROWS * item, w, s[0]);
    }
}

/* Adds what one tap gives to a plane, or to its phases. */
static void add_row(const Job *j, npy_intp tap, const char *row, char *plane, char *phases)
{
    const ThnConv *c = j->c;
    const npy_intp ky = tap / c->kernel[2], kx = tap % c->kernel[2], step = c->stride[2];
    npy_intp y0, y1, x0, x1;
    thn_conv_inside(c, 1, ky, &y0, &y1);
    thn_conv_inside(c, 2, kx, &x0, &x1);
    if (y0 == y1 || x0 == x1) {
        return;
    }
    const npy_intp y = y0 * c->stride[1] + ky * c->dilation[1] - c->low[1], x = x0 * step + kx * c->dilation[2] - c->low[2];
    npy_intp to_row = c->image_strides[3];
    char *to = plane + y * to_row + x * c->item;
    if (step > 1) {
        to_row = j->phase_row * c->item;
        to = phases + (x % step * j->phase + y * j->phase_row + x / step) * c->item;
    }
    j->loops->add(y1 - y0, x1 - x0, row + (y0 * c->top[2] + x0) * c->item, c->top[2], to, c->stride[1] * to_row);
}

static void clear_plane(const Job *j, char *plane, char *phases)
{
    const ThnConv *c = j->c;
    if (c->stride[2] > 1) {
        memset(phases, 0, (size_t)(c->stride[2] * j->phase * c->item));
        return;
    }
    for (npy_intp y = 0; y < c->image[1]; y++) {
        memset(plane + y * c->image_strides[3], 0, (size_t)(c->image[2] * c->item));
    }
}

static void join_plane(const Job *j, const char *phases, char *plane)
{
    const ThnConv *c = j->c;
    for (npy_intp y = 0; y < c->image[1]; y++) {
        j->loops->join(c->image[2], phases + y * j->phase_row * c->item, j->phase, c->stride[2], plane + y * c->image_strides[3]);
    }
}

/* Packs a filter's gradient: its positions from p on, n of them in one row. */
static npy_intp pack_top(const Job *j, char *top, npy_intp f, npy_intp p, const char *from, npy_intp n)
{
    const npy_intp panel = j->k->panel, bytes = panel * j->c->item;
    char *to = top + ((p - p % panel) * j->c->filters + f * panel) * j->c->item;
    for (npy_intp end = p + n; p < end;) {
        const npy_intp at = p % panel, room = panel - at, len = end - p < room ? end - p : room;
        if (len < panel) {
            memcpy(to + at * j->c->item, from, (size_t)(len * j->c->item));
        } else if (bytes == 64) {
            memcpy(to, from, 64);
        } else {
            memcpy(to, from, (size_t)bytes);
        }
        to += at + len == panel ? bytes * j->c->filters : 0;
        from += len * j->c->item;
        p += len;
    }
    return p;
}

/* Parts of images. */
static int scatter_some(void *ctx, npy_intp unit, npy_intp last_unit)
{
    const Job *j = ctx;
    const ThnConv *c = j->c;
    const npy_intp item = c->item, panel = j->k->panel;
    const int by_phases = c->stride[2] > 1, one_row = c->top_strides[3] == c->top[2] * item;
    THN_POOLED char *top = thn_pool_alloc((size_t)(c->filters * j->padded * item));
    THN_POOLED char *rows = thn_pool_alloc((size_t)(j->together * j->padded * item));
    THN_POOLED char *phases = by_phases ? thn_pool_alloc((size_t)(c->stride[2] * j->phase * item)) : NULL;
    THN_NEED(top && rows && (phases || !by_phases));
    for (; unit < last_unit; unit++) {
        const npy_intp image = unit / j->parts, part = unit % j->parts, end = j->parts > 1 ? part + 1 : j->blocks;
        for (npy_intp f = 0; f < c->filters; f++) {
            const char *from = c->at.top + image * c->top_strides[0] + f * c->top_strides[1];
            npy_intp p = 0;
            for (npy_intp y = 0; y < (one_row ? 1 : c->top[1]); y++) {
                p = pack_top(j, top, f, p, from + y * c->top_strides[3], one_row ? j->positions : c->top[2]);
            }
            if (p < j->padded) {
                memset(top + ((p - p % panel) * c->filters + f * panel + p % panel) * item, 0, (size_t)((j->padded - p) * item));
            }
        }
        const npy_intp last = thn_least(end * ROWS, c->channels) * j->taps;
        for (npy_intp r = part * ROWS * j->taps; r < last; r += j->together) {
            const npy_intp n = thn_least(last - r, j->together);
            for (npy_intp p = 0; p < j->padded; p += panel) {
                for (npy_intp i = 0; i < n; i += ROWS) {
                    j->k->multiply(c->filters, j->packed + (r + i) * c->filters * item, top + p * c->filters * item,
                                   rows + (i * j->padded + p) * item, j->padded, 0);
                }
            }
            for (npy_intp i = 0; i < n; i++) {
                const npy_intp channel = (r + i) / j->taps, tap = (r + i) % j->taps;
                char *plane = c->at.images + image * c->image_strides[0] + channel * c->image_strides[1];
                if (tap == 0) {
                    clear_plane(j, plane, phases);
                }
                add_row(j, tap, rows + i * j->padded * item, plane, phases);
                if (by_phases && tap == j->taps - 1) {
                    join_plane(j, phases, plane);
                }
            }
        }
    }
    return 0;
}

static int scatter_execute(const ThnConv *c, double cost)
{
    Job j = {0};
    describe(&j, c);
    const int many = thn_worth(cost, 16) > 1;
    /* Each task packs the gradient of its image: images are cut for threads only, which changes no result. */
    j.parts = many && c->batch < 8 ? j.blocks : 1;
    THN_POOLED char *packed = j.packed = thn_pool_alloc((size_t)(j.panels * ROWS * c->filters * c->item));
    THN_NEED(packed);
    thn_parallel_if(many, j.panels, pack, &j);
    return thn_parallel_ranges(c->batch * j.parts, many ? 1 : c->batch * j.parts, scatter_some, &j);
}

static double scatter_cost(const ThnConv *c)
{
    THN_NEED(c->direction == THN_CONV_INPUTS && thn_conv_is_flat(c));
    Job j = {0};
    describe(&j, c);
    THN_NEED(j.padded * c->filters * c->item <= MOST_TOP);
    const double scale = c->item == 4 ? 1 : 2, groups = (double)(c->batch * c->groups);
    const double rows = (double)(j.panels * ROWS), positions = (double)j.padded, filters = (double)c->filters;
    const double lines = (double)(c->channels * j.taps * c->top[1]), joined = c->stride[2] == 1 ? 0 : 0.5;
    const double products = scale * 0.023 * rows * positions * (filters + 3), added = lines * (2.5 + scale * 0.08 * (double)c->top[2]) +
                        scale * joined * (double)(c->channels * c->image[1] * c->image[2]);
    const double packed = filters * positions * 0.2 * scale;
    return groups * (products + added + packed) + (double)c->groups * rows * filters * 0.15 * scale + 1000;
}

const ThnConvAlgorithm thn_conv_scatter = {"scatter", 1, 0, scatter_cost, scatter_execute};
