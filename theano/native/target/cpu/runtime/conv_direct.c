/* Convolutions with few channels in a group, depthwise ones first, straight from padded planes.
 *
 * The planes that a group reads are copied to rows with their padding, a band of rows at a time; those of strided
 * convolutions by phases, so that what one tap reads for neighbouring positions are neighbours. Output rows have the same
 * pitch: then a tap is one offset for a whole band, and a band is one long row. A few filters and vectors of positions stay in
 * registers while all taps pass.
 *
 * Gradients of images read padded planes of `top` in the same way, for each phase the taps that meet it. Gradients of filters
 * are scalar products of `top`, with zeros between its rows, and what a tap reads. Bands depend on shapes only, and so does the
 * order of sums. */
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
    int lanes;
    /* to[f][i] = sum over taps of w[tap][f] * from[offset[tap] + i], for at least n positions. */
    void (*sums)(int count, npy_intp n, npy_intp taps, const npy_intp *offset, const void *w, const void *from, void *to,
                 npy_intp apart);
    /* sums[tap] += sum over i < n of top[i] * from[offset[tap] + i]; there are zeros behind top. */
    void (*dots)(npy_intp n, npy_intp taps, const npy_intp *offset, const void *top, const void *from, double *sums);
    /* Rows of every `step`-th of n elements, after `before` zeros and before `after`; strides in bytes. */
    void (*copy)(npy_intp rows, npy_intp before, npy_intp n, npy_intp after, const void *from, npy_intp step,
                 npy_intp from_stride, void *to, npy_intp to_stride);
    void (*spread)(npy_intp n, const void *from, npy_intp step, void *to);
} Kernels;

#define LOOPS "conv_direct_kernels.h"
#define FOR_AVX2 THN_AVX2
#define FOR_AVX512 __attribute__((target("avx512f,fma"), optimize("fp-contract=fast")))
#include "conv_variants.h"

/* ---- the shape of bands */

typedef struct {
    const ThnConv *c;
    const Kernels *k;
    char *images, *filters, *top;
    npy_intp cg, fg;              /* channels and filters of a group */
    npy_intp first[2], length[2]; /* positions in rows and columns: of top, or for INPUTS of images by stride, from `first` on */
    npy_intp reach[2];            /* how many more positions the taps read */
    npy_intp phases[2];           /* of what is read */
    npy_intp pitch, band, bands;  /* of rows; rows of a band */
    npy_intp plane;               /* elements of one phase of one plane of a band */
    npy_intp sources;             /* planes read by a group: channels, or filters for INPUTS */
    npy_intp per_task, chunk;
    atomic_int failed;
    /* Taps by the phases of what is written, up to first_tap[phase + 1]: where they read, bytes to their weights. */
    npy_intp first_tap[MOST_PHASES + 1], *offset, *weight;
} Job;

static npy_intp floor_of(npy_intp a, npy_intp b)
{
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}

/* Bytes for which planes of a band are meant to stay in the first-level cache, or at least in the second. */
#define NEAR 24576
#define FAR 262144

static void describe(Job *j, const ThnConv *c)
{
    const int inputs = c->direction == THN_CONV_INPUTS;
    j->c = c;
    j->k = VARIANT(kernels, c->typenum);
    j->cg = c->channels / c->groups;
    j->fg = c->filters / c->groups;
    j->sources = inputs ? j->fg : j->cg;
    for (int i = 0; i < 2; i++) {
        const npy_intp s = c->stride[1 + i], low = c->low[1 + i];
        j->reach[i] = (c->kernel[1 + i] - 1) * c->dilation[1 + i] / s;
        j->phases[i] = inputs ? 1 : s;
        j->first[i] = inputs ? floor_of(low, s) : 0;
        j->length[i] = inputs ? floor_of(low + c->image[1 + i] - 1, s) - j->first[i] + 1 : c->top[1 + i];
    }
    j->pitch = j->length[1] + j->reach[1];
    const npy_intp row = j->sources * j->phases[0] * j->phases[1] * j->pitch * c->item;
    npy_intp band = NEAR / row - j->reach[0];
    if (band < 4 + 2 * j->reach[0]) {
        band = FAR / row - j->reach[0];
        band = band > 4 + 2 * j->reach[0] ? 4 + 2 * j->reach[0] : band;
    }
    band = band < 1 ? 1 : band > j->length[0] ? j->length[0] : band;
    j->bands = (j->length[0] + band - 1) / band;
    j->band = (j->length[0] + j->bands - 1) / j->bands;
    j->plane = (j->band + j->reach[0]) * j->pitch;
}

static npy_intp all_planes(const Job *j)
{
    return j->sources * j->phases[0] * j->phases[1] * j->plane;
}

/* Copies rows y, y + step_y ... of a plane, of each the elements x, x + step_x ...; 0 outside. */
static void copy_plane(const Job *j, const char *plane, npy_intp row_stride, const npy_intp *lengths, npy_intp y, npy_intp x,
                       npy_intp step_y, npy_intp step_x, npy_intp rows, npy_intp length, char *to)
{
    const npy_intp item = j->c->item, pitch = j->pitch * item;
    npy_intp before = x < 0 ? (-x + step_x - 1) / step_x : 0, end = x < lengths[1] ? (lengths[1] - 1 - x) / step_x + 1 : 0;
    before = before < length ? before : length;
    end = end < length ? end : length;
    end = end > before ? end : before;
    npy_intp first = y < 0 ? (-y + step_y - 1) / step_y : 0, last = y < lengths[0] ? (lengths[0] - 1 - y) / step_y + 1 : 0;
    first = first < rows ? first : rows;
    last = last < rows ? last : rows;
    last = last > first ? last : first;
    const char *from = plane + (y + first * step_y) * row_stride + (x + before * step_x) * item;
    memset(to, 0, (size_t)(first * pitch));
    memset(to + last * pitch, 0, (size_t)((rows - last) * pitch));
    j->k->copy(last - first, before, end - before, j->pitch - end, from, step_x, step_y * row_stride, to + first * pitch, pitch);
}

/* The planes of a group that a band of top reads, by phases. */
static void read_images(const Job *j, npy_intp image, npy_intp group, npy_intp row, char *to)
{
    const ThnConv *c = j->c;
    for (npy_intp s = 0; s < j->cg; s++) {
        const char *plane = j->images + image * c->image_strides[0] + (group * j->cg + s) * c->image_strides[1];
        /* A few rows of all phases, then the next: they are neighbours in memory. */
        const npy_intp all = j->band + j->reach[0], step = j->phases[0] * j->phases[1] > 1 ? 4 : all;
        for (npy_intp r = 0; r < all; r += step) {
            char *at = to + r * j->pitch * c->item;
            for (npy_intp phase = 0; phase < j->phases[0] * j->phases[1]; phase++, at += j->plane * c->item) {
                copy_plane(j, plane, c->image_strides[3], c->image + 1,
                           (row + r) * c->stride[1] + phase / j->phases[1] - c->low[1], phase % j->phases[1] - c->low[2],
                           c->stride[1], c->stride[2], all - r < step ? all - r : step, j->pitch, at);
            }
        }
        to += j->phases[0] * j->phases[1] * j->plane * c->item;
    }
}

static void read_top(const Job *j, npy_intp image, npy_intp group, npy_intp row, char *to)
{
    const ThnConv *c = j->c;
    for (npy_intp s = 0; s < j->fg; s++, to += j->plane * c->item) {
        copy_plane(j, j->top + image * c->top_strides[0] + (group * j->fg + s) * c->top_strides[1], c->top_strides[3], c->top + 1,
                   j->first[0] + row - j->reach[0], j->first[1] - j->reach[1], 1, 1, j->band + j->reach[0], j->pitch, to);
    }
}

/* Where a tap of a plane reads. */
static npy_intp offset_of(const Job *j, npy_intp source, npy_intp ky, npy_intp kx)
{
    const npy_intp y = ky * j->c->dilation[1], x = kx * j->c->dilation[2], sy = j->c->stride[1], sx = j->c->stride[2];
    if (j->c->direction == THN_CONV_INPUTS) {
        return source * j->plane + (j->reach[0] - y / sy) * j->pitch + j->reach[1] - x / sx;
    }
    return ((source * sy + y % sy) * sx + x % sx) * j->plane + y / sy * j->pitch + x / sx;
}

/* ---- forward, and gradients with respect to images */

/* Sorts the taps by phases of what is written. */
static void sort_taps(Job *j)
{
    const ThnConv *c = j->c;
    const int inputs = c->direction == THN_CONV_INPUTS;
    npy_intp n = 0, phase = 0;
    for (npy_intp py = 0; py < (inputs ? c->stride[1] : 1); py++) {
        for (npy_intp px = 0; px < (inputs ? c->stride[2] : 1); px++) {
            j->first_tap[phase++] = n;
            for (npy_intp s = 0; s < j->sources; s++) {
                for (npy_intp ky = 0; ky < c->kernel[1]; ky++) {
                    for (npy_intp kx = 0; kx < c->kernel[2]; kx++) {
                        if (inputs && (ky * c->dilation[1] % c->stride[1] != py || kx * c->dilation[2] % c->stride[2] != px)) {
                            continue;
                        }
                        j->weight[n] = s * c->filter_strides[inputs ? 0 : 1] + ky * c->filter_strides[3] +
                                       kx * c->filter_strides[4];
                        j->offset[n++] = offset_of(j, s, ky, kx);
                    }
                }
            }
        }
    }
    j->first_tap[phase] = n;
}

/* Writes a band of one output plane. */
static void write_band(const Job *j, const char *from, char *plane, npy_intp row, npy_intp py, npy_intp px)
{
    const ThnConv *c = j->c;
    const npy_intp item = c->item, rows = j->length[0] - row < j->band ? j->length[0] - row : j->band;
    if (c->direction == THN_CONV_FORWARD) {
        j->k->copy(rows, 0, j->length[1], 0, from, 1, j->pitch * item, plane + row * c->top_strides[3], c->top_strides[3]);
        return;
    }
    const npy_intp step = c->stride[2];
    npy_intp x = j->first[1] * step + px - c->low[2], skipped = x < 0 ? (-x + step - 1) / step : 0;
    x += skipped * step;
    const npy_intp n = x < c->image[2] ? (c->image[2] - 1 - x) / step + 1 : 0;
    const npy_intp y0 = (j->first[0] + row) * c->stride[1] + py - c->low[1];
    npy_intp first = y0 < 0 ? (-y0 + c->stride[1] - 1) / c->stride[1] : 0;
    npy_intp last = y0 < c->image[1] ? (c->image[1] - 1 - y0) / c->stride[1] + 1 : 0;
    last = last < rows ? last : rows;
    if (first >= last || n <= 0) {
        return;
    }
    from += (first * j->pitch + skipped) * item;
    char *to = plane + (y0 + first * c->stride[1]) * c->image_strides[3] + x * item;
    if (step == 1) {
        j->k->copy(last - first, 0, n, 0, from, 1, j->pitch * item, to, c->stride[1] * c->image_strides[3]);
        return;
    }
    for (npy_intp r = first; r < last; r++, from += j->pitch * item, to += c->stride[1] * c->image_strides[3]) {
        j->k->spread(n, from, step, to);
    }
}

/* Bands of images' groups. */
static void band_task(void *ctx, long task)
{
    Job *j = ctx;
    const ThnConv *c = j->c;
    const int inputs = c->direction == THN_CONV_INPUTS;
    const npy_intp item = c->item, total = c->batch * c->groups * j->bands, outputs = inputs ? j->cg : j->fg;
    const npy_intp end = (task + 1) * j->per_task < total ? (task + 1) * j->per_task : total;
    const npy_intp apart = j->band * j->pitch + BEHIND, phases = inputs ? c->stride[1] * c->stride[2] : 1;
    THN_POOLED char *planes = thn_pool_alloc((size_t)((all_planes(j) + BEHIND) * item));
    THN_POOLED char *sums = thn_pool_alloc((size_t)(MOST_FILTERS * apart * item));
    THN_POOLED char *w = thn_pool_alloc((size_t)(MOST_FILTERS * j->sources * c->kernel[1] * c->kernel[2] * item));
    if (!planes || !sums || !w) {
        atomic_store(&j->failed, 1);
        return;
    }
    memset(planes + all_planes(j) * item, 0, (size_t)(BEHIND * item));
    for (npy_intp k = task * j->per_task; k < end; k++) {
        const npy_intp row = k % j->bands * j->band, group = k / j->bands % c->groups, image = k / j->bands / c->groups;
        const npy_intp rows = j->length[0] - row < j->band ? j->length[0] - row : j->band;
        if (rows <= 0) {
            continue;
        }
        (inputs ? read_top : read_images)(j, image, group, row, planes);
        for (npy_intp f = 0; f < outputs; f += MOST_FILTERS) {
            const int count = (int)(outputs - f < MOST_FILTERS ? outputs - f : MOST_FILTERS);
            char *out = inputs ? j->images + image * c->image_strides[0] + (group * j->cg + f) * c->image_strides[1]
                               : j->top + image * c->top_strides[0] + (group * j->fg + f) * c->top_strides[1];
            const char *filters = j->filters + (inputs ? group * j->fg * c->filter_strides[0] + f * c->filter_strides[1]
                                                       : (group * j->fg + f) * c->filter_strides[0]);
            const npy_intp filter_step = c->filter_strides[inputs ? 1 : 0];
            for (npy_intp phase = 0; phase < phases; phase++) {
                const npy_intp first = j->first_tap[phase], taps = j->first_tap[phase + 1] - first;
                for (npy_intp t = 0; t < taps; t++) {
                    for (int i = 0; i < count; i++) {
                        thn_copy_real(item, w + (t * count + i) * item, filters + j->weight[first + t] + i * filter_step);
                    }
                }
                j->k->sums(count, (rows - 1) * j->pitch + j->length[1], taps, j->offset + first, w, planes, sums, apart);
                for (int i = 0; i < count; i++) {
                    write_band(j, sums + i * apart * item, out + i * (inputs ? c->image_strides[1] : c->top_strides[1]), row,
                               phase / (inputs ? c->stride[2] : 1), phase % (inputs ? c->stride[2] : 1));
                }
            }
        }
    }
}

/* ---- gradients with respect to filters */

/* One number of the result by its definition: zeros between rows have met what is no number. */
static double exact_sum(const Job *j, npy_intp filter, npy_intp source, npy_intp ky, npy_intp kx)
{
    const ThnConv *c = j->c;
    npy_intp y0, y1, x0, x1;
    thn_conv_inside(c, 1, ky, &y0, &y1);
    thn_conv_inside(c, 2, kx, &x0, &x1);
    double sum = 0;
    for (npy_intp b = 0; b < c->batch; b++) {
        for (npy_intp y = y0; y < y1; y++) {
            const char *image = j->images + b * c->image_strides[0] + (filter / j->fg * j->cg + source) * c->image_strides[1] +
                                (y * c->stride[1] + ky * c->dilation[1] - c->low[1]) * c->image_strides[3] +
                                (kx * c->dilation[2] - c->low[2]) * c->item;
            const char *top = j->top + b * c->top_strides[0] + filter * c->top_strides[1] + y * c->top_strides[3];
            for (npy_intp x = x0; x < x1; x++) {
                const npy_intp at = x * c->stride[2];
                sum += thn_get_real(c->item, image + at * c->item) * thn_get_real(c->item, top + x * c->item);
            }
        }
    }
    return sum;
}

/* Some filters of a group: all images. */
static void filters_task(void *ctx, long task)
{
    Job *j = ctx;
    const ThnConv *c = j->c;
    const npy_intp item = c->item, chunks = (j->fg + j->chunk - 1) / j->chunk, group = task / chunks, f0 = task % chunks * j->chunk;
    const npy_intp count = j->fg - f0 < j->chunk ? j->fg - f0 : j->chunk, taps = j->cg * c->kernel[1] * c->kernel[2];
    const npy_intp size = j->band * j->pitch;
    THN_POOLED char *planes = thn_pool_alloc((size_t)((all_planes(j) + BEHIND) * item));
    THN_POOLED char *top = thn_pool_alloc((size_t)((size + BEHIND) * item));
    THN_POOLED double *sums = thn_pool_alloc((size_t)(count * taps) * sizeof(double));
    if (!planes || !top || !sums) {
        atomic_store(&j->failed, 1);
        return;
    }
    memset(sums, 0, (size_t)(count * taps) * sizeof(double));
    memset(planes + all_planes(j) * item, 0, (size_t)(BEHIND * item));
    memset(top + size * item, 0, (size_t)(BEHIND * item));
    for (npy_intp image = 0; image < c->batch; image++) {
        for (npy_intp row = 0; row < j->length[0]; row += j->band) {
            const npy_intp rows = j->length[0] - row < j->band ? j->length[0] - row : j->band;
            read_images(j, image, group, row, planes);
            for (npy_intp f = 0; f < count; f++) {
                copy_plane(j, j->top + image * c->top_strides[0] + (group * j->fg + f0 + f) * c->top_strides[1], c->top_strides[3],
                           c->top + 1, row, 0, 1, 1, j->band, j->length[1], top);
                j->k->dots((rows - 1) * j->pitch + j->length[1], taps, j->offset, top, planes, sums + f * taps);
            }
        }
    }
    for (npy_intp f = 0; f < count; f++) {
        for (npy_intp i = 0; i < taps; i++) {
            const npy_intp kx = i % c->kernel[2], ky = i / c->kernel[2] % c->kernel[1], s = i / c->kernel[2] / c->kernel[1];
            char *to = j->filters + (group * j->fg + f0 + f) * c->filter_strides[0] + s * c->filter_strides[1] +
                       ky * c->filter_strides[3] + kx * c->filter_strides[4];
            double sum = sums[f * taps + i];
            if (isnan(sum)) {
                sum = exact_sum(j, group * j->fg + f0 + f, s, ky, kx);
            }
            thn_put_real(item, to, sum);
        }
    }
}

static int direct_execute(const ThnConvPlan *p, char *images, char *filters, char *top)
{
    const ThnConv *c = &p->conv;
    Job j = {0};
    describe(&j, c);
    const npy_intp all_taps = j.sources * c->kernel[1] * c->kernel[2];
    THN_POOLED npy_intp *offset = j.offset = thn_pool_alloc((size_t)(2 * all_taps) * sizeof(npy_intp));
    THN_NEED(offset);
    j.weight = j.offset + all_taps;
    sort_taps(&j);
    j.images = images;
    j.filters = filters;
    j.top = top;
    if (c->direction == THN_CONV_WEIGHTS) {
        const npy_intp tasks = thn_worth(p->cost, c->filters);
        j.chunk = tasks <= c->groups ? j.fg : (c->filters + tasks - 1) / tasks;
        j.chunk = j.chunk < j.fg ? j.chunk : j.fg;
        thn_parallel_if(tasks > 1, (long)(c->groups * ((j.fg + j.chunk - 1) / j.chunk)), filters_task, &j);
    } else {
        const npy_intp total = c->batch * c->groups * j.bands, tasks = thn_worth(p->cost, total);
        j.per_task = (total + tasks - 1) / tasks;
        thn_parallel((long)((total + j.per_task - 1) / j.per_task), band_task, &j);
    }
    return atomic_load(&j.failed) ? -1 : 0;
}

static double direct_cost(const ThnConv *c)
{
    if (!thn_conv_is_flat(c)) {
        return -1;
    }
    if (c->stride[1] > MOST_PHASES || c->stride[2] > MOST_PHASES || c->stride[1] * c->stride[2] > MOST_PHASES) {
        return -1;
    }
    Job j = {0};
    describe(&j, c);
    const npy_intp taps = j.sources * c->kernel[1] * c->kernel[2];
    if (taps > MOST_TAPS) {
        return -1;
    }
    const int inputs = c->direction == THN_CONV_INPUTS, weights = c->direction == THN_CONV_WEIGHTS;
    const double scale = c->item == 4 ? 1 : 2, outputs = (double)(inputs ? j.cg : j.fg);
    const double groups = (double)(c->batch * c->groups), positions = (double)(j.length[0] * j.pitch);
    const double each = weights ? 0.045 : outputs >= 4 ? 0.048 : outputs == 1 ? 0.055 : 0.04;
    const double read = (double)(j.sources * j.phases[0] * j.phases[1] * j.bands * j.plane) * (c->stride[2] > 1 ? 0.4 : 0.12);
    const double phases = inputs ? (double)(c->stride[1] * c->stride[2]) : 1;
    const double written = outputs * positions * phases * (inputs && c->stride[2] > 1 ? 0.6 : 0.12);
    /* Each band adds the vectors of each tap's sums up. */
    const double added = weights ? 15 * (double)taps * outputs : 0;
    const double sums = scale * (positions * (double)taps * outputs * each + read + written);
    return groups * (sums + (double)j.bands * (60 * outputs + added)) + 500;
}

const ThnConvAlgorithm thn_conv_direct = {"direct", direct_cost, direct_execute};
