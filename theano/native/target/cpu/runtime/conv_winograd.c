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
#include "conv_variants.h"

const ThnWinogradKernels *thn_winograd_kernels(int typenum, int m)
{
    return &(*VARIANT(kernels, typenum))[m == 4];
}

void thn_winograd_rows(int item, const char *image, npy_intp row_stride, const npy_intp *lengths, npy_intp y, npy_intp x,
                       npy_intp rows, npy_intp width, char *to)
{
    npy_intp before = x < 0 ? -x : 0, end = lengths[1] - x < width ? lengths[1] - x : width;
    before = before < width ? before : width;
    end = end > before ? end : before;
    for (npy_intp r = y; r < y + rows; r++, to += width * item) {
        if (r < 0 || r >= lengths[0]) {
            memset(to, 0, (size_t)(width * item));
            continue;
        }
        memset(to, 0, (size_t)(before * item));
        memcpy(to + before * item, image + r * row_stride + (x + before) * item, (size_t)((end - before) * item));
        memset(to + end * item, 0, (size_t)((width - end) * item));
    }
}

/* ---- forward, and gradients with respect to images */

/* Filters that are taken together: their products stay in the second-level cache. */
#define FILTERS 48
#define MOST_TILES 128

/* One group of a convolution of `in` to `out`. */
typedef struct {
    const ThnWinogradKernels *k;
    int item, m, points;
    const char *in, *filters;
    char *out;
    npy_intp batch, depth, count;               /* images; channels in, channels out */
    npy_intp in_lengths[2], out_lengths[2], low[2];
    npy_intp in_strides[3], out_strides[3];     /* batch, channel, row */
    npy_intp filter_strides[4], filter_start;   /* out channel, in channel, taps; to the first tap */
    npy_intp across, down, tiles;               /* tiles of a row, of a column, of all images */
    npy_intp block, blocks;                     /* tiles of a block: a multiple of the panel */
    npy_intp width;                             /* of padded rows */
    npy_intp filter_panel, filter_apart, image_apart, product_apart;
    size_t images_size, products_size;          /* bytes of a block's points */
    char *transformed;                          /* filters */
    char *images;                               /* transformed images, where tasks share them */
    npy_intp block_now, per_task;
    atomic_int failed;
} Job;

static void describe(Job *j, const ThnConv *c, int m, char *images, char *filters, char *top)
{
    const int forward = c->direction == THN_CONV_FORWARD;
    const npy_intp *in = forward ? c->image_strides : c->top_strides, *out = forward ? c->top_strides : c->image_strides;
    j->k = thn_winograd_kernels(c->typenum, m);
    j->item = c->item;
    j->m = m;
    j->points = (m + 2) * (m + 2);
    j->in = forward ? images : top;
    j->out = forward ? top : images;
    j->filters = filters;
    j->batch = c->batch;
    j->depth = (forward ? c->channels : c->filters) / c->groups;
    j->count = (forward ? c->filters : c->channels) / c->groups;
    for (int i = 0; i < 2; i++) {
        j->in_lengths[i] = forward ? c->image[1 + i] : c->top[1 + i];
        j->out_lengths[i] = forward ? c->top[1 + i] : c->image[1 + i];
        j->low[i] = forward ? c->low[1 + i] : 2 - c->low[1 + i];
        j->filter_strides[i] = c->filter_strides[forward ? i : 1 - i];
        j->filter_strides[2 + i] = forward ? c->filter_strides[3 + i] : -c->filter_strides[3 + i];
        j->in_strides[i] = in[i];
        j->out_strides[i] = out[i];
    }
    j->filter_start = forward ? 0 : 2 * (c->filter_strides[3] + c->filter_strides[4]);
    j->in_strides[2] = in[3];
    j->out_strides[2] = out[3];
    j->across = (j->out_lengths[1] + m - 1) / m;
    j->down = (j->out_lengths[0] + m - 1) / m;
    j->tiles = j->batch * j->across * j->down;
    j->width = j->across * m + 2;
}

/* Blocks: transformed images that leave room in the last cache; as many for each thread where there are several. */
static void cut(Job *j)
{
    const npy_intp panel = j->k->panel, panels = (j->tiles + panel - 1) / panel;
    npy_intp most = (npy_intp)3 * 1024 * 1024 / (j->points * j->depth * j->item);
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
    const npy_intp line = 64 / j->item, filters = j->count < FILTERS ? j->count : FILTERS;
    j->filter_panel = j->depth * THN_WINOGRAD_ROWS + 2; /* the last vector of a panel is longer than it */
    j->filter_apart = (j->count + THN_WINOGRAD_ROWS - 1) / THN_WINOGRAD_ROWS * j->filter_panel + line;
    j->image_apart = j->block * j->depth + line;
    j->product_apart = (filters + THN_WINOGRAD_ROWS - 1) / THN_WINOGRAD_ROWS * THN_WINOGRAD_ROWS * j->block + line;
    j->images_size = (size_t)(j->points * j->image_apart * j->item);
    j->products_size = (size_t)(j->points * j->product_apart * j->item);
}

/* Transforms a panel of filters. */
static void filter_task(void *ctx, long task)
{
    const Job *j = ctx;
    double g_[9 * 8] = {0};
    const npy_intp first = task * THN_WINOGRAD_ROWS;
    const int n = (int)(j->count - first < THN_WINOGRAD_ROWS ? j->count - first : THN_WINOGRAD_ROWS);
    const npy_intp *s = j->filter_strides;
    char *to = j->transformed + task * j->filter_panel * j->item;
    for (npy_intp c = 0; c < j->depth; c++, to += THN_WINOGRAD_ROWS * j->item) {
        for (int f = 0; f < n; f++) {
            const char *w = j->filters + j->filter_start + (first + f) * s[0] + c * s[1];
            for (int y = 0; y < 3; y++) {
                for (int x = 0; x < 3; x++) {
                    if (j->item == 4) {
                        ((float *)g_)[(y * 3 + x) * 8 + f] = *(const float *)(w + y * s[2] + x * s[3]);
                    } else {
                        g_[(y * 3 + x) * 8 + f] = *(const double *)(w + y * s[2] + x * s[3]);
                    }
                }
            }
        }
        j->k->filter(g_, to, j->filter_apart);
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
        rows->run[rows->runs].y = row0 * j->m - j->low[0];
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

/* Transforms channels [c0, c1) of the images of a block. -1: out of memory. */
static int transform_images(const Job *j, npy_intp block, npy_intp c0, npy_intp c1, char *to)
{
    Rows rows;
    const npy_intp n = lay_out(j, block, &rows), panel = j->k->panel;
    THN_POOLED char *padded = thn_pool_alloc((size_t)((rows.elements + 6 * j->width) * j->item));
    THN_NEED(padded);
    const char *at[MOST_TILES + THN_WINOGRAD_MOST_COLUMNS];
    memset(padded + rows.elements * j->item, 0, (size_t)(6 * j->width * j->item));
    for (npy_intp t = 0; t < j->block; t++) {
        at[t] = padded + (t < n ? rows.at[t] : rows.elements) * j->item;
    }
    for (npy_intp c = c0; c < c1; c++) {
        for (npy_intp r = 0; r < rows.runs; r++) {
            thn_winograd_rows(j->item, j->in + rows.run[r].image * j->in_strides[0] + c * j->in_strides[1], j->in_strides[2],
                              j->in_lengths, rows.run[r].y, -j->low[1], rows.run[r].rows, j->width,
                              padded + rows.run[r].offset * j->item);
        }
        for (npy_intp p = 0; p < j->block; p += panel) {
            j->k->image(at + p, j->width * j->item, to + (p * j->depth + c * panel) * j->item, j->image_apart);
        }
    }
    return 0;
}

/* Results of filters [f0, f0 + FILTERS) for a block. `products` is room for them. */
static void filter_block(const Job *j, npy_intp block, npy_intp f0, const char *images, char *products)
{
    const npy_intp n = j->count - f0 < FILTERS ? j->count - f0 : FILTERS, panel = j->k->panel, item = j->item;
    const npy_intp panels = (n + THN_WINOGRAD_ROWS - 1) / THN_WINOGRAD_ROWS;
    const npy_intp first = block * j->block, end = first + j->block < j->tiles ? first + j->block : j->tiles;
    for (npy_intp point = 0; point < j->points; point++) {
        const char *a = j->transformed + (point * j->filter_apart + f0 / THN_WINOGRAD_ROWS * j->filter_panel) * item;
        for (npy_intp t = 0; t < end - first; t += panel) {
            const char *b = images + (point * j->image_apart + t * j->depth) * item;
            for (npy_intp f = 0; f < panels; f++) {
                j->k->multiply(j->depth, a + f * j->filter_panel * item, b,
                               products + (point * j->product_apart + f * THN_WINOGRAD_ROWS * j->block + t) * item, j->block, 0);
            }
        }
    }
    double edges[THN_WINOGRAD_MOST_COLUMNS * 16];
    for (npy_intp t = 0; t < end - first; t += panel) {
        npy_intp offset[THN_WINOGRAD_MOST_COLUMNS], row[THN_WINOGRAD_MOST_COLUMNS];
        int height[THN_WINOGRAD_MOST_COLUMNS], length[THN_WINOGRAD_MOST_COLUMNS];
        for (npy_intp l = 0; l < panel; l++) {
            const npy_intp tile = first + t + l, x = tile % j->across * j->m, y = tile / j->across % j->down * j->m;
            height[l] = length[l] = 0;
            row[l] = j->m * item;
            offset[l] = -1;
            if (tile >= end) {
                continue;
            }
            height[l] = (int)(j->out_lengths[0] - y < j->m ? j->out_lengths[0] - y : j->m);
            length[l] = (int)(j->out_lengths[1] - x < j->m ? j->out_lengths[1] - x : j->m);
            offset[l] = tile / (j->across * j->down) * j->out_strides[0] + y * j->out_strides[2] + x * item;
            row[l] = height[l] == j->m && length[l] == j->m ? j->out_strides[2] : j->m * item;
        }
        for (npy_intp f = 0; f < n; f++) {
            char *out = j->out + (f0 + f) * j->out_strides[1], *at[THN_WINOGRAD_MOST_COLUMNS];
            for (npy_intp l = 0; l < panel; l++) {
                const int whole = height[l] == j->m && length[l] == j->m;
                at[l] = whole ? out + offset[l] : (char *)edges + l * j->m * j->m * item;
            }
            j->k->result(products + (f * j->block + t) * item, j->product_apart, at, row);
            for (npy_intp l = 0; l < panel; l++) {
                if (height[l] == j->m && length[l] == j->m) {
                    continue;
                }
                for (int y = 0; y < height[l]; y++) {
                    memcpy(out + offset[l] + y * j->out_strides[2], at[l] + y * j->m * item, (size_t)(length[l] * item));
                }
            }
        }
    }
}

/* All of a block. */
static void block_task(void *ctx, long task)
{
    Job *j = ctx;
    THN_POOLED char *images = thn_pool_alloc(j->images_size), *products = thn_pool_alloc(j->products_size);
    if (!images || !products || transform_images(j, task, 0, j->depth, images)) {
        atomic_store(&j->failed, 1);
    } else {
        for (npy_intp f = 0; f < j->count; f += FILTERS) {
            filter_block(j, task, f, images, products);
        }
    }
}

/* Some channels of the one block. */
static void images_task(void *ctx, long task)
{
    Job *j = ctx;
    const npy_intp first = task * j->per_task, end = first + j->per_task < j->depth ? first + j->per_task : j->depth;
    if (transform_images(j, j->block_now, first, end, j->images)) {
        atomic_store(&j->failed, 1);
    }
}

/* Some filters of the one block. */
static void results_task(void *ctx, long task)
{
    Job *j = ctx;
    THN_POOLED char *products = thn_pool_alloc(j->products_size);
    if (products) {
        filter_block(j, j->block_now, task * FILTERS, j->images, products);
    } else {
        atomic_store(&j->failed, 1);
    }
}

static void one_group(Job *j, int many)
{
    const npy_intp panels = (j->count + THN_WINOGRAD_ROWS - 1) / THN_WINOGRAD_ROWS;
    thn_parallel_if(many, (long)panels, filter_task, j);
    if (!many || j->blocks > 1) {
        thn_parallel_if(many, (long)j->blocks, block_task, j);
        return;
    }
    THN_POOLED char *images = j->images = thn_pool_alloc(j->images_size);
    if (!images) {
        atomic_store(&j->failed, 1);
        return;
    }
    j->block_now = 0;
    j->per_task = (j->depth + 7) / 8;
    thn_parallel((long)((j->depth + j->per_task - 1) / j->per_task), images_task, j);
    if (!atomic_load(&j->failed)) {
        thn_parallel((long)((j->count + FILTERS - 1) / FILTERS), results_task, j);
    }
}

/* ns on one thread, for tiles of m x m. */
static double cost_of(const ThnConv *c, int m)
{
    Job j = {0};
    describe(&j, c, m, NULL, NULL, NULL);
    const double panel = j.k->panel, points = j.points, scale = c->item == 4 ? 1 : 2;
    const double tiles = (double)((j.tiles + (npy_intp)panel - 1) / (npy_intp)panel) * panel;
    const double rows = (double)((j.count + 5) / 6 * 6), depth = (double)j.depth;
    const double products = points * rows * depth * tiles * 0.019;
    const double images = depth * tiles * points * 0.45, results = (double)j.count * tiles * points * 0.4;
    const double filters = rows * depth * points * 0.15;
    return (double)c->groups * scale * (products + images + results + filters) + 2000;
}

static int tile_of(const ThnConv *c)
{
    return cost_of(c, 4) <= cost_of(c, 2) ? 4 : 2;
}

static int winograd_execute(const ThnConvPlan *p, char *images, char *filters, char *top)
{
    const ThnConv *c = &p->conv;
    if (c->direction == THN_CONV_WEIGHTS) {
        return thn_winograd_weights(p, images, filters, top);
    }
    Job j = {0};
    describe(&j, c, tile_of(c), images, filters, top);
    cut(&j);
    THN_POOLED char *transformed = j.transformed = thn_pool_alloc((size_t)((j.points * j.filter_apart + 8) * j.item));
    THN_NEED(transformed);
    const int forward = c->direction == THN_CONV_FORWARD, many = thn_worth(p->cost, 16) > 1;
    const npy_intp cg = c->channels / c->groups, fg = c->filters / c->groups;
    for (npy_intp g = 0; g < c->groups && !atomic_load(&j.failed); g++) {
        char *x = images + g * cg * c->image_strides[1], *t = top + g * fg * c->top_strides[1];
        j.in = forward ? x : t;
        j.out = forward ? t : x;
        j.filters = filters + g * fg * c->filter_strides[0];
        one_group(&j, many);
    }
    return atomic_load(&j.failed) ? -1 : 0;
}

/* Whether each result is the sum of some products: 0 is to be 0. */
static int all_seen(const ThnConv *c)
{
    for (int dim = 1; dim < THN_CONV_DIMS; dim++) {
        const npy_intp high = c->top[dim] + 2 - c->low[dim] - c->image[dim];
        if (c->direction != THN_CONV_INPUTS && (c->low[dim] > 2 || high > 2)) {
            return 0;
        }
        for (npy_intp tap = 0; tap < 3; tap++) {
            npy_intp first, end;
            thn_conv_inside(c, dim, tap, &first, &end);
            if (c->direction == THN_CONV_WEIGHTS && first == end) {
                return 0;
            }
        }
        if (c->direction == THN_CONV_INPUTS && (c->low[dim] < 0 || high < 0)) {
            return 0;
        }
    }
    return 1;
}

static double winograd_cost(const ThnConv *c)
{
    if (!thn_conv_is_flat(c) || c->kernel[1] != 3 || c->kernel[2] != 3 || !all_seen(c)) {
        return -1;
    }
    for (int i = 1; i < THN_CONV_DIMS; i++) {
        if (c->stride[i] != 1 || c->dilation[i] != 1) {
            return -1;
        }
    }
    return c->direction == THN_CONV_WEIGHTS ? thn_winograd_weights_cost(c) : cost_of(c, tile_of(c));
}

const ThnConvAlgorithm thn_conv_winograd = {"winograd", winograd_cost, winograd_execute};
