/* F(3x3, 4x4): gradients with respect to filters of 3x3, for conv_winograd.c.
 *
 * Tiles of 4x4 results take the part of filters. At each point, what is summed over the tiles of all images is a product of
 * matrices, filters by tiles and tiles by channels: it is added up for blocks of rows of tiles, always in the same order. */
#include "conv_winograd.h"
#include "plan.h"
#include "pool.h"

#include <math.h>

#define TILE 4
#define POINTS 36

/* One group of a convolution. */
typedef struct {
    const ThnConv *c;
    const ThnWinogradKernels *k;
    npy_intp across, down, rows;          /* tiles of a row, rows of an image, of all images */
    npy_intp block;                       /* rows of tiles in a block */
    npy_intp channel_panels, filter_panels;
    npy_intp filter_panel, image_apart, top_apart, sum_apart;
    char *image_points, *top_points, *sums;
    npy_intp row;                         /* the first of the block */
    npy_intp depth;                       /* tiles of the block */
} Job;

static void describe(Job *j, const ThnConv *c)
{
    j->c = c;
    j->k = thn_winograd_kernels(c->typenum, TILE);
    j->across = (c->top[2] + TILE - 1) / TILE;
    j->down = (c->top[1] + TILE - 1) / TILE;
    j->rows = c->batch * j->down;
    j->channel_panels = (c->channels + j->k->panel - 1) / j->k->panel;
    j->filter_panels = (c->filters + THN_WINOGRAD_ROWS - 1) / THN_WINOGRAD_ROWS;
    /* Many sums need many products for each time they are read. */
    const npy_intp size = POINTS * c->channels * c->filters * c->item, most = size < 1 << 21 ? 64 : size < 1 << 24 ? 112 : 192;
    j->block = most / j->across > 0 ? most / j->across : 1;
    j->block = j->block < j->rows ? j->block : j->rows;
    const npy_intp line = 64 / c->item, tiles = j->block * j->across;
    j->filter_panel = tiles * THN_WINOGRAD_ROWS + 2; /* the last vector of a panel is longer than it */
    j->top_apart = j->filter_panels * j->filter_panel + line;
    j->image_apart = j->channel_panels * j->k->panel * tiles + line;
    j->sum_apart = j->filter_panels * j->channel_panels * THN_WINOGRAD_ROWS * j->k->panel + line;
}

static const npy_intp no_padding[THN_CONV_DIMS];

/* A panel of channels or of filters for all tiles of the block, from padded rows of `slots` planes. */
static int transform(const Job *j, npy_intp number, int of_images)
{
    const ThnConv *c = j->c;
    const npy_intp item = c->item, *strides = of_images ? c->image_strides : c->top_strides;
    const npy_intp *lengths = of_images ? c->image : c->top, *low = of_images ? c->low : no_padding;
    const npy_intp panel = of_images ? j->k->panel : THN_WINOGRAD_ROWS, slots = of_images ? panel : THN_WINOGRAD_ROWS + 2;
    const npy_intp left = (of_images ? c->channels : c->filters) - number * panel, n = left < panel ? left : panel;
    const npy_intp more = of_images ? 2 : 0, rows = TILE + more, width = j->across * TILE + more, plane = rows * width * item;
    THN_POOLED char *padded = thn_pool_alloc((size_t)(slots * plane));
    THN_NEED(padded);
    memset(padded + n * plane, 0, (size_t)((slots - n) * plane));
    char *to = of_images ? j->image_points + number * panel * j->block * j->across * item
                         : j->top_points + number * j->filter_panel * item;
    const char *from = (of_images ? c->at.images : c->at.top) + number * panel * strides[1];
    const npy_intp end = thn_least(j->row + j->block, j->rows);
    for (npy_intp r = j->row; r < end; r++) {
        for (npy_intp l = 0; l < n; l++) {
            j->k->copy(from + r / j->down * strides[0] + l * strides[1], strides[3], lengths + 1, r % j->down * TILE - low[1], 1,
                       rows, -low[2], 1, width, padded + l * plane, width * item, strides[1]);
        }
        for (npy_intp x = 0; x < j->across; x++, to += panel * item) {
            const char *at[THN_WINOGRAD_MOST_COLUMNS];
            for (npy_intp l = 0; l < slots; l++) {
                at[l] = padded + l * plane + x * TILE * item;
            }
            (of_images ? j->k->image : j->k->top)(at, width * item, to, of_images ? j->image_apart : j->top_apart);
        }
    }
    return 0;
}

static int transform_some(void *ctx, npy_intp panel, npy_intp end)
{
    const Job *j = ctx;
    for (; panel < end; panel++) {
        const int of_images = panel < j->channel_panels;
        THN_TRY(transform(j, of_images ? panel : panel - j->channel_panels, of_images));
    }
    return 0;
}

static void multiply(void *ctx, long point)
{
    const Job *j = ctx;
    const npy_intp panel = j->k->panel, item = j->c->item, tiles = j->block * j->across;
    const char *a = j->top_points + point * j->top_apart * item, *b = j->image_points + point * j->image_apart * item;
    char *sums = j->sums + point * j->sum_apart * item;
    for (npy_intp p = 0; p < j->channel_panels; p++) {
        for (npy_intp f = 0; f < j->filter_panels; f++) {
            j->k->multiply(j->depth, a + f * j->filter_panel * item, b + p * panel * tiles * item,
                           sums + (f * j->channel_panels + p) * THN_WINOGRAD_ROWS * panel * item, panel, j->row > 0);
        }
    }
}

/* Taps of a filter. */
static void make_taps(void *ctx, long f)
{
    const Job *j = ctx;
    const ThnConv *c = j->c;
    const npy_intp panel = j->k->panel, item = c->item, *s = c->filter_strides;
    double taps[9 * THN_WINOGRAD_MOST_COLUMNS] __attribute__((aligned(64)));
    for (npy_intp p = 0; p < j->channel_panels; p++) {
        const npy_intp n = thn_least(c->channels - p * panel, panel), filter_panel = f / THN_WINOGRAD_ROWS;
        const npy_intp row = (filter_panel * j->channel_panels + p) * THN_WINOGRAD_ROWS + f % THN_WINOGRAD_ROWS;
        j->k->taps(j->sums + row * panel * item, j->sum_apart, taps);
        for (npy_intp l = 0; l < n; l++) {
            char *to = c->at.filters + f * s[0] + (p * panel + l) * s[1];
            for (int i = 0; i < 9; i++) {
                thn_copy_real(item, to + i / 3 * s[3] + i % 3 * s[4], (const char *)taps + (i * panel + l) * item);
            }
        }
    }
}

int thn_winograd_weights(const ThnConv *c, int many_threads)
{
    Job j = {0};
    describe(&j, c);
    THN_POOLED char *image_points = j.image_points = thn_pool_alloc((size_t)(POINTS * j.image_apart * c->item));
    THN_POOLED char *top_points = j.top_points = thn_pool_alloc((size_t)((POINTS * j.top_apart + 8) * c->item));
    THN_POOLED char *sums = j.sums = thn_pool_alloc((size_t)(POINTS * j.sum_apart * c->item));
    THN_NEED(image_points && top_points && sums);
    const npy_intp panels = j.channel_panels + j.filter_panels;
    for (; j.row < j.rows; j.row += j.block) {
        j.depth = thn_least(j.rows - j.row, j.block) * j.across;
        THN_TRY(thn_parallel_ranges(panels, many_threads ? 1 : panels, transform_some, &j));
        thn_parallel_if(many_threads, POINTS, multiply, &j);
    }
    thn_parallel_if(many_threads, c->filters, make_taps, &j);
    return 0;
}

double thn_winograd_weights_cost(const ThnConv *c)
{
    Job j = {0};
    describe(&j, c);
    const double scale = c->item == 4 ? 1 : 2, tiles = (double)(j.rows * j.across);
    const double rows = (double)(j.filter_panels * THN_WINOGRAD_ROWS), columns = (double)(j.channel_panels * j.k->panel);
    const double products = POINTS * rows * columns * tiles * 0.023;
    const double transforms = POINTS * tiles * (columns * 0.45 + rows * 0.4);
    /* They are read and written once by points and once by taps: slower where caches cannot hold them. */
    const double megabytes = POINTS * 1e-6 * rows * columns * (double)c->item, beyond = fmin(fmax((megabytes - 10) / 15, 0), 1);
    const double sums = POINTS * rows * columns * (0.4 + 0.5 * beyond + 0.2 * (double)(j.rows / j.block - 1));
    return (double)c->groups * scale * (products + transforms + sums) + 3000;
}
