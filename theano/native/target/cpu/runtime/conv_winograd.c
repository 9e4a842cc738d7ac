/* Minimal filtering for 3x3 filters with a stride of 1 (Lavin and Gray 2015, "Fast algorithms for convolutional neural
 * networks", arXiv:1509.09308): F(2x2, 3x3) and F(4x4, 3x3).
 *
 * Tiles of an image and filters are transformed to 16 or 36 points; at each point the products summed over channels are a
 * product of matrices, filters by channels and channels by tiles; what comes out is transformed to tiles of results. That is
 * done for one block of tiles at a time, so that what is transformed stays in the caches. The transformed filters are kept
 * for a whole call. Gradients with respect to images are the same with flipped filters and other padding. The order in which
 * a result is summed up does not depend on blocks. */
#include "conv_winograd.h"
#include "plan.h"
#include "pool.h"
#include "processor.h"
#include "shuffle.h"

#define LOOPS "conv_winograd_sizes.h"
#define FOR_AVX2 THN_AVX2
#define FOR_AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,fma"), optimize("fp-contract=fast")))
#define HAS_AVX512 \
    (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
#include "variants.h"

const ThnWinogradKernels *thn_winograd_kernels(int typenum, int m)
{
    return &(*VARIANT(kernels, typenum))[m == 4];
}

/* ---- forward, and gradients with respect to images */

/* Filters that are taken together: their products stay in the second-level cache. */
#define FILTERS 48
#define MOST_TILES 128

/* One group of a convolution. */
typedef struct {
    const ThnConv *c;
    const ThnWinogradKernels *k;
    npy_intp item, m, points;
    npy_intp across, down, tiles;               /* tiles of a row, of a column, of all images */
    npy_intp block, blocks;                     /* tiles of a block: a multiple of the panel */
    npy_intp width;                             /* of padded rows */
    npy_intp filter_panel, filter_apart, image_apart, product_apart;
    size_t images_size, products_size;          /* bytes of a block's points */
    char *transformed;                          /* filters */
    char *images;                               /* transformed images of the one block, where tasks share them */
} Job;

static void describe(Job *j, const ThnConv *c, int m)
{
    j->c = c;
    j->k = thn_winograd_kernels(c->typenum, m);
    j->item = c->item;
    j->m = m;
    j->points = (m + 2) * (m + 2);
    j->across = (c->top[2] + m - 1) / m;
    j->down = (c->top[1] + m - 1) / m;
    j->tiles = c->batch * j->across * j->down;
    j->width = j->across * m + 2;
}

/* Blocks: transformed images that leave room in the last cache; as many for each thread where there are several. */
static void cut(Job *j)
{
    const ThnConv *c = j->c;
    const npy_intp panel = j->k->panel, panels = (j->tiles + panel - 1) / panel;
    npy_intp most = (npy_intp)3 * 1024 * 1024 / (j->points * c->channels * j->item);
    most = most < 48 ? 48 : most > MOST_TILES ? MOST_TILES : most;
    most = most / panel > 0 ? most / panel : 1;
    npy_intp blocks = (panels + most - 1) / most;
    const npy_intp threads = thn_get_threads();
    if (threads > 1 && panels >= threads) {
        blocks = (blocks + threads - 1) / threads * threads;
        blocks = blocks < panels ? blocks : panels;
    }
    j->block = (panels + blocks - 1) / blocks * panel;
    j->blocks = (j->tiles + j->block - 1) / j->block;
    /* Points fall on different sets of the caches. */
    const npy_intp line = 64 / j->item, filters = thn_least(c->filters, FILTERS);
    j->filter_panel = c->channels * THN_WINOGRAD_ROWS + 2; /* the last vector of a panel is longer than it */
    j->filter_apart = (c->filters + THN_WINOGRAD_ROWS - 1) / THN_WINOGRAD_ROWS * j->filter_panel + line;
    j->image_apart = j->block * c->channels + line;
    j->product_apart = (filters + THN_WINOGRAD_ROWS - 1) / THN_WINOGRAD_ROWS * THN_WINOGRAD_ROWS * j->block + line;
    j->images_size = (size_t)(j->points * j->image_apart * j->item);
    j->products_size = (size_t)(j->points * j->product_apart * j->item);
}

/* Transforms a panel of filters. */
static void transform_filters(void *ctx, long panel)
{
    const Job *j = ctx;
    const ThnConv *c = j->c;
    const npy_intp *s = c->filter_strides, first = panel * THN_WINOGRAD_ROWS, n = thn_least(c->filters - first, THN_WINOGRAD_ROWS);
    char *to = j->transformed + panel * j->filter_panel * j->item;
    for (npy_intp ch = 0; ch < c->channels; ch++, to += THN_WINOGRAD_ROWS * j->item) {
        j->k->filter(n, c->at.filters + first * s[0] + ch * s[1], s, to, j->filter_apart);
    }
}

/* Where the tiles of a block begin in padded rows, which are made for each run of rows of tiles in one image. */
typedef struct {
    npy_intp runs;
    struct {
        npy_intp image, y, rows, offset;
    } run[MOST_TILES];
    npy_intp elements;
    npy_intp at[MOST_TILES];
} Rows;

static npy_intp lay_out(const Job *j, npy_intp block, Rows *rows)
{
    const npy_intp first = block * j->block, end = first + j->block < j->tiles ? first + j->block : j->tiles;
    const npy_intp per_image = j->across * j->down;
    rows->runs = rows->elements = 0;
    for (npy_intp t = first; t < end;) {
        const npy_intp image = t / per_image, row0 = t % per_image / j->across;
        const npy_intp stop = (image + 1) * per_image < end ? (image + 1) * per_image : end;
        const npy_intp row1 = (stop - 1) % per_image / j->across + 1, height = (row1 - row0) * j->m + 2;
        rows->run[rows->runs].image = image;
        rows->run[rows->runs].y = row0 * j->m - j->c->low[1];
        rows->run[rows->runs].rows = height;
        rows->run[rows->runs++].offset = rows->elements;
        for (; t < stop; t++) {
            const npy_intp y = t % per_image / j->across, x = t % j->across;
            rows->at[t - first] = rows->elements + (y - row0) * j->m * j->width + x * j->m;
        }
        rows->elements += height * j->width;
    }
    return end - first;
}

/* Transforms channels [ch, end) of the images of a block. -1: out of memory. */
static int transform_images(const Job *j, npy_intp block, npy_intp ch, npy_intp end, char *to)
{
    const ThnConv *c = j->c;
    Rows rows;
    const npy_intp n = lay_out(j, block, &rows), panel = j->k->panel;
    THN_POOLED char *padded = thn_pool_alloc((size_t)((rows.elements + 6 * j->width) * j->item));
    THN_NEED(padded);
    const char *at[MOST_TILES + THN_WINOGRAD_MOST_COLUMNS];
    memset(padded + rows.elements * j->item, 0, (size_t)(6 * j->width * j->item));
    for (npy_intp t = 0; t < j->block; t++) {
        at[t] = padded + (t < n ? rows.at[t] : rows.elements) * j->item;
    }
    for (; ch < end; ch++) {
        for (npy_intp r = 0; r < rows.runs; r++) {
            j->k->copy(c->at.images + rows.run[r].image * c->image_strides[0] + ch * c->image_strides[1], c->image_strides[3],
                       c->image + 1, rows.run[r].y, 1, rows.run[r].rows, -c->low[2], 1, j->width,
                       padded + rows.run[r].offset * j->item, j->width * j->item, c->image_strides[1]);
        }
        for (npy_intp p = 0; p < j->block; p += panel) {
            j->k->image(at + p, j->width * j->item, to + (p * c->channels + ch * panel) * j->item, j->image_apart);
        }
    }
    return 0;
}

/* Results of filters [f0, f0 + FILTERS) for a block. `products` is room for them. */
static void filter_block(const Job *j, npy_intp block, npy_intp f0, const char *images, char *products)
{
    const ThnConv *c = j->c;
    const npy_intp n = thn_least(c->filters - f0, FILTERS), panel = j->k->panel, item = j->item;
    const npy_intp panels = (n + THN_WINOGRAD_ROWS - 1) / THN_WINOGRAD_ROWS;
    const npy_intp first = block * j->block, end = first + j->block < j->tiles ? first + j->block : j->tiles;
    for (npy_intp point = 0; point < j->points; point++) {
        const char *a = j->transformed + (point * j->filter_apart + f0 / THN_WINOGRAD_ROWS * j->filter_panel) * item;
        for (npy_intp t = 0; t < end - first; t += panel) {
            const char *b = images + (point * j->image_apart + t * c->channels) * item;
            for (npy_intp f = 0; f < panels; f++) {
                j->k->multiply(c->channels, a + f * j->filter_panel * item, b,
                               products + (point * j->product_apart + f * THN_WINOGRAD_ROWS * j->block + t) * item, j->block, 0);
            }
        }
    }
    double edges[THN_WINOGRAD_MOST_COLUMNS * 16];
    for (npy_intp t = 0; t < end - first; t += panel) {
        npy_intp offset[THN_WINOGRAD_MOST_COLUMNS], row[THN_WINOGRAD_MOST_COLUMNS];
        int height[THN_WINOGRAD_MOST_COLUMNS], length[THN_WINOGRAD_MOST_COLUMNS], whole[THN_WINOGRAD_MOST_COLUMNS];
        for (npy_intp l = 0; l < panel; l++) {
            const npy_intp tile = first + t + l, x = tile % j->across * j->m, y = tile / j->across % j->down * j->m;
            height[l] = tile < end ? (int)thn_least(c->top[1] - y, j->m) : 0;
            length[l] = (int)thn_least(c->top[2] - x, j->m);
            whole[l] = height[l] == j->m && length[l] == j->m;
            offset[l] = tile / (j->across * j->down) * c->top_strides[0] + y * c->top_strides[3] + x * item;
            row[l] = whole[l] ? c->top_strides[3] : j->m * item;
        }
        for (npy_intp f = 0; f < n; f++) {
            char *out = c->at.top + (f0 + f) * c->top_strides[1], *at[THN_WINOGRAD_MOST_COLUMNS];
            for (npy_intp l = 0; l < panel; l++) {
                at[l] = whole[l] ? out + offset[l] : (char *)edges + l * j->m * j->m * item;
            }
            j->k->result(products + (f * j->block + t) * item, j->product_apart, at, row);
            for (npy_intp l = 0; l < panel; l++) {
                for (int y = 0; !whole[l] && y < height[l]; y++) {
                    memcpy(out + offset[l] + y * c->top_strides[3], at[l] + y * j->m * item, (size_t)(length[l] * item));
                }
            }
        }
    }
}

/* All of some blocks. */
static int block_some(void *ctx, npy_intp block, npy_intp end)
{
    const Job *j = ctx;
    THN_POOLED char *images = thn_pool_alloc(j->images_size), *products = thn_pool_alloc(j->products_size);
    THN_NEED(images && products);
    for (; block < end; block++) {
        THN_TRY(transform_images(j, block, 0, j->c->channels, images));
        for (npy_intp f = 0; f < j->c->filters; f += FILTERS) {
            filter_block(j, block, f, images, products);
        }
    }
    return 0;
}

/* Some channels of the one block. */
static int images_some(void *ctx, npy_intp ch, npy_intp end)
{
    const Job *j = ctx;
    return transform_images(j, 0, ch, end, j->images);
}

/* FILTERS filters of the one block. */
static int results_some(void *ctx, npy_intp f, npy_intp Py_UNUSED(end))
{
    const Job *j = ctx;
    THN_POOLED char *products = thn_pool_alloc(j->products_size);
    THN_NEED(products);
    filter_block(j, 0, f, j->images, products);
    return 0;
}

/* ns on one thread, for tiles of m x m. */
static double cost_of(const ThnConv *c, int m)
{
    Job j = {0};
    describe(&j, c, m);
    const double panel = j.k->panel, points = (double)j.points, scale = c->item == 4 ? 1 : 2;
    const double tiles = (double)((j.tiles + (npy_intp)panel - 1) / (npy_intp)panel) * panel;
    const double rows = (double)((c->filters + 5) / 6 * 6), depth = (double)c->channels;
    const double products = points * rows * depth * tiles * 0.019;
    const double images = depth * tiles * points * 0.45, results = (double)c->filters * tiles * points * 0.4;
    const double filters = rows * depth * points * 0.15;
    return (double)c->groups * scale * (products + images + results + filters) + 2000;
}

static int tile_of(const ThnConv *c)
{
    return cost_of(c, 4) <= cost_of(c, 2) ? 4 : 2;
}

static int winograd_execute(const ThnConv *c, double cost)
{
    const int many = thn_worth(cost, 16) > 1;
    if (c->direction == THN_CONV_WEIGHTS) {
        return thn_winograd_weights(c, many);
    }
    Job j = {0};
    describe(&j, c, tile_of(c));
    cut(&j);
    const npy_intp panels = (c->filters + THN_WINOGRAD_ROWS - 1) / THN_WINOGRAD_ROWS;
    THN_POOLED char *transformed = j.transformed = thn_pool_alloc((size_t)((j.points * j.filter_apart + 8) * j.item));
    THN_NEED(transformed);
    thn_parallel_if(many, panels, transform_filters, &j);
    if (!many || j.blocks > 1) {
        return thn_parallel_ranges(j.blocks, many ? 1 : j.blocks, block_some, &j);
    }
    THN_POOLED char *images = j.images = thn_pool_alloc(j.images_size);
    THN_NEED(images);
    THN_TRY(thn_parallel_ranges(c->channels, (c->channels + 7) / 8, images_some, &j));
    return thn_parallel_ranges(c->filters, FILTERS, results_some, &j);
}

/* Whether each result is the sum of some products: 0 is to be 0. */
static int all_seen(const ThnConv *c)
{
    for (int dim = 1; dim < THN_CONV_DIMS; dim++) {
        if (c->low[dim] > 2 || c->top[dim] + 2 - c->low[dim] - c->image[dim] > 2) {
            return 0;
        }
        for (npy_intp tap = 0; tap < 3; tap++) {
            npy_intp first, end;
            thn_conv_inside(c, dim, tap, &first, &end);
            if (c->direction == THN_CONV_WEIGHTS && first == end) {
                return 0;
            }
        }
    }
    return 1;
}

static double winograd_cost(const ThnConv *c)
{
    THN_NEED(c->direction != THN_CONV_INPUTS && thn_conv_is_flat(c) && thn_conv_has_rows(c));
    for (int i = 1; i < THN_CONV_DIMS; i++) {
        THN_NEED(c->kernel[i] == 3 && c->stride[i] == 1 && c->dilation[i] == 1);
    }
    THN_NEED(all_seen(c));
    return c->direction == THN_CONV_WEIGHTS ? thn_winograd_weights_cost(c) : cost_of(c, tile_of(c));
}

const ThnConvAlgorithm thn_conv_winograd = {"winograd", 1, 0, winograd_cost, winograd_execute};
