/* Gradients with respect to images by products at the positions of `top`, added up in the images.
 *
 * Where images are small and not padded there are far fewer output positions than image positions. For each channel and tap the
 * product of its filters with the gradient of the output, all positions of an image at once, is a row; rows are added to the
 * image where their tap had read, always in the same order. The kernels are those of conv_winograd.h. */
#include "conv_winograd.h"
#include "plan.h"
#include "pool.h"

#define ROWS THN_WINOGRAD_ROWS
/* Bytes of the packed gradient of one image. */
#define MOST_TOP (512 * 1024)

typedef struct {
    const ThnConv *c;
    const ThnWinogradKernels *k;
    char *images, *top, *packed;
    npy_intp cg, fg, taps, positions, padded; /* positions: a multiple of the panel if padded */
    npy_intp group, blocks, parts;            /* blocks: of ROWS channels, so that their rows fill panels */
    const char *filters;
    atomic_int failed;
} Job;

static void describe(Job *j, const ThnConv *c)
{
    j->c = c;
    j->k = thn_winograd_kernels(c->typenum, 4);
    j->cg = c->channels / c->groups;
    j->fg = c->filters / c->groups;
    j->taps = c->kernel[1] * c->kernel[2];
    j->positions = c->top[1] * c->top[2];
    j->padded = (j->positions + j->k->panel - 1) / j->k->panel * j->k->panel;
    j->blocks = (j->cg + ROWS - 1) / ROWS;
    j->parts = c->batch < 8 ? j->blocks : 1;
}

/* A panel of ROWS rows: a[filter][row]. */
static void pack_task(void *ctx, long panel)
{
    const Job *j = ctx;
    const npy_intp *s = j->c->filter_strides, item = j->c->item;
    char *to = j->packed + panel * ROWS * j->fg * item;
    for (npy_intp i = 0; i < ROWS; i++) {
        const npy_intp row = panel * ROWS + i, channel = row / j->taps, tap = row % j->taps;
        const char *w = j->filters + channel * s[1] + tap / j->c->kernel[2] * s[3] + tap % j->c->kernel[2] * s[4];
        for (npy_intp f = 0; f < j->fg; f++) {
            char *at = to + (f * ROWS + i) * item;
            if (channel >= j->cg) {
                memset(at, 0, (size_t)item);
            } else {
                memcpy(at, w + f * s[0], (size_t)item);
            }
        }
    }
}

#define ADD(NAME, T)                                                                                       \
    static void NAME(npy_intp n, const void *from_, void *to_, npy_intp step)                              \
    {                                                                                                      \
        const T *restrict from = from_;                                                                    \
        T *restrict to = to_;                                                                              \
        if (step == 1) {                                                                                   \
            for (npy_intp i = 0; i < n; i++) {                                                             \
                to[i] += from[i];                                                                          \
            }                                                                                              \
        } else {                                                                                           \
            for (npy_intp i = 0; i < n; i++) {                                                             \
                to[i * step] += from[i];                                                                   \
            }                                                                                              \
        }                                                                                                  \
    }
ADD(add_single, float)
ADD(add_double, double)

/* Adds what one tap gives to a plane. */
static void add_row(const Job *j, npy_intp tap, const char *row, char *plane)
{
    const ThnConv *c = j->c;
    const npy_intp ky = tap / c->kernel[2], kx = tap % c->kernel[2];
    npy_intp y0, y1, x0, x1;
    thn_conv_inside(c, 1, ky, &y0, &y1);
    thn_conv_inside(c, 2, kx, &x0, &x1);
    char *to = plane + (y0 * c->stride[1] + ky * c->dilation[1] - c->low[1]) * c->image_strides[3] +
               (x0 * c->stride[2] + kx * c->dilation[2] - c->low[2]) * c->item;
    for (npy_intp y = y0; y < y1; y++, to += c->stride[1] * c->image_strides[3]) {
        (c->item == 4 ? add_single : add_double)(x1 - x0, row + (y * c->top[2] + x0) * c->item, to, c->stride[2]);
    }
}

static void scatter_task(void *ctx, long task)
{
    Job *j = ctx;
    const ThnConv *c = j->c;
    const npy_intp item = c->item, panel = j->k->panel, image = task / j->parts, part = task % j->parts;
    const npy_intp first = j->parts > 1 ? part : 0, end = j->parts > 1 ? part + 1 : j->blocks;
    char *top = thn_pool_alloc((size_t)(j->fg * j->padded * item)), *rows = thn_pool_alloc((size_t)(ROWS * j->padded * item));
    if (!top || !rows) {
        atomic_store(&j->failed, 1);
        thn_pool_free(top);
        thn_pool_free(rows);
        return;
    }
    for (npy_intp f = 0; f < j->fg; f++) {
        const char *from = j->top + image * c->top_strides[0] + f * c->top_strides[1];
        npy_intp p = 0;
        for (npy_intp y = 0; y < c->top[1]; y++) {
            for (npy_intp x = 0; x < c->top[2];) {
                const npy_intp room = panel - p % panel, n = c->top[2] - x < room ? c->top[2] - x : room;
                memcpy(top + ((p - p % panel) * j->fg + f * panel + p % panel) * item, from + y * c->top_strides[3] + x * item,
                       (size_t)(n * item));
                p += n;
                x += n;
            }
        }
        if (p < j->padded) {
            memset(top + ((p - p % panel) * j->fg + f * panel + p % panel) * item, 0, (size_t)((j->padded - p) * item));
        }
    }
    for (npy_intp channel = first * ROWS; channel < end * ROWS && channel < j->cg; channel++) {
        char *plane = j->images + image * c->image_strides[0] + channel * c->image_strides[1];
        for (npy_intp y = 0; y < c->image[1]; y++) {
            memset(plane + y * c->image_strides[3], 0, (size_t)(c->image[2] * item));
        }
    }
    for (npy_intp r = first * ROWS * j->taps; r < end * ROWS * j->taps; r += ROWS) {
        for (npy_intp p = 0; p < j->padded; p += panel) {
            j->k->multiply(j->fg, j->packed + r * j->fg * item, top + p * j->fg * item, rows + p * item, j->padded, 0);
        }
        for (npy_intp i = 0; i < ROWS && (r + i) / j->taps < j->cg; i++) {
            const npy_intp channel = (r + i) / j->taps;
            add_row(j, (r + i) % j->taps, rows + i * j->padded * item,
                    j->images + image * c->image_strides[0] + channel * c->image_strides[1]);
        }
    }
    thn_pool_free(top);
    thn_pool_free(rows);
}

static int scatter_execute(const ThnConvPlan *p, char *images, char *filters, char *top)
{
    const ThnConv *c = &p->conv;
    Job j = {0};
    describe(&j, c);
    const npy_intp panels = j.blocks * j.taps, tasks = c->batch * j.parts;
    j.packed = thn_pool_alloc((size_t)(panels * ROWS * j.fg * c->item));
    if (!j.packed) {
        return -1;
    }
    const int many = thn_worth(p->cost, 16) > 1;
    for (npy_intp g = 0; g < c->groups; g++) {
        j.images = images + g * j.cg * c->image_strides[1];
        j.top = top + g * j.fg * c->top_strides[1];
        j.filters = filters + g * j.fg * c->filter_strides[0];
        if (many) {
            thn_parallel((long)panels, pack_task, &j);
            thn_parallel((long)tasks, scatter_task, &j);
            continue;
        }
        for (npy_intp i = 0; i < panels; i++) {
            pack_task(&j, (long)i);
        }
        for (npy_intp i = 0; i < tasks; i++) {
            scatter_task(&j, (long)i);
        }
    }
    thn_pool_free(j.packed);
    return atomic_load(&j.failed) ? -1 : 0;
}

static double scatter_cost(const ThnConv *c)
{
    if (c->unshared || c->direction != THN_CONV_INPUTS || c->kernel[0] != 1 || c->image[0] != 1 || c->top[0] != 1 ||
        c->low[0] != 0) {
        return -1;
    }
    Job j = {0};
    describe(&j, c);
    if (j.padded * j.fg * c->item > MOST_TOP) {
        return -1;
    }
    const double scale = c->item == 4 ? 1 : 2, groups = (double)(c->batch * c->groups);
    const double rows = (double)(j.blocks * ROWS * j.taps), positions = (double)j.padded, filters = (double)j.fg;
    const double lines = (double)(j.cg * j.taps * c->top[1]), each = c->stride[2] == 1 ? 0.12 : 0.6;
    const double products = scale * 0.023 * rows * positions * (filters + 3), added = lines * (3 + scale * each * (double)c->top[2]);
    const double packed = filters * positions * (double)j.parts * 0.3;
    return groups * (products + added + packed) + (double)c->groups * rows * filters * 0.5 + 1000;
}

const ThnConvAlgorithm thn_conv_scatter = {"scatter", scatter_cost, NULL, scatter_execute};
