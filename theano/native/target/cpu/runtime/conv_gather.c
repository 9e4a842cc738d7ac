/* Convolutions as products of packed matrices (implicit GEMM).
 *
 * The rows of the product are filters, its columns output pixels of all images, and the sum runs over channels and taps. Columns
 * are cut into panels of as many as some vector registers hold, the sum into slabs, so that a panel of a slab stays in the
 * first-level cache while all rows pass it by. A panel is packed straight from the images, or from a patch, a copy of the few
 * rows of some channels that a block of panels needs, with its padding and with rows cut into phases of the stride: no matrix
 * of all pixels and taps is ever made. Goto & van de Geijn, Anatomy of high-performance matrix multiplication (2008).
 *
 * A gradient of inputs is a gather, too: image positions of one remainder of the stride read every so many taps, backwards. */
#include "conv_gather.h"
#include "plan.h"
#include "pool.h"
#include "shuffle.h"

#define DEPTH 256   /* of a slab, about */
#define RESULTS 196608 /* bytes of results of a block, about */
#define OWN 96      /* columns of an image that are panels of their own */
#define PASSED 4e6  /* bytes of images that caches hold while phases pass over them, about */
#define CHUNK 512   /* rows of a task, at most */

#define LOOPS "conv_gather_kernels.h"
#include "conv_variants.h"

/* ---- from a convolution to gathers */

/* A dim with one tap and nothing padded is read as if what its stride skips were not there; and where nothing is padded, skipped
 * or reused between rows, rows are one long row. */
static void flatten(ThnGather *g)
{
    for (int i = 0; i < 2; i++) {
        if (g->kernel[i] == 1 && g->low[i] == 0 && (g->out[i] - 1) * g->stride[i] < g->in[i]) {
            g->in_strides[2 + i] *= g->stride[i];
            g->in[i] = g->out[i];
            g->stride[i] = 1;
        }
    }
    for (int i = 1; i >= 0; i--) {
        /* Dim i and those behind it, which are already one. */
        int plain = 1;
        for (int k = i; k < THN_CONV_DIMS; k++) {
            plain = plain && g->kernel[k] == 1 && g->stride[k] == 1 && g->low[k] == 0 && g->in[k] == g->out[k];
        }
        const int dense = plain && (g->in[i] == 1 || (g->in_strides[2 + i] == g->in[2] * g->in_strides[4] &&
                                                      g->out_strides[2 + i] == g->out[2] * g->out_strides[4]));
        if (!dense) {
            return;
        }
        g->in[2] *= g->in[i];
        g->out[2] *= g->out[i];
        g->in[i] = g->out[i] = 1;
    }
}

int thn_gather_direct(const ThnGather *g)
{
    int direct = g->stride[2] == 1;
    for (int i = 0; i < THN_CONV_DIMS; i++) {
        direct = direct && g->low[i] <= 0 &&
                 (g->out[i] - 1) * g->stride[i] + (g->kernel[i] - 1) * g->dilation[i] - g->low[i] < g->in[i];
    }
    return direct;
}

npy_intp *thn_tap_places(const ThnGather *g)
{
    const npy_intp *n = g->kernel, *steps = g->weight_strides + 2;
    npy_intp *places = thn_pool_alloc((size_t)(n[0] * n[1] * n[2]) * sizeof *places);
    for (npy_intp t = 0; places && t < n[0] * n[1] * n[2]; t++) {
        places[t] = t / n[2] / n[1] * steps[0] + t / n[2] % n[1] * steps[1] + t % n[2] * steps[2];
    }
    return places;
}

static npy_intp gcd(npy_intp a, npy_intp b)
{
    while (b) {
        const npy_intp r = a % b;
        a = b;
        b = r;
    }
    return a;
}

ThnGather thn_gather_forward(const ThnConv *c, char *images, char *filters, char *top)
{
    ThnGather g = {.item = c->item, .images = c->batch, .groups = c->groups, .rows = c->filters / c->groups,
                   .channels = c->channels / c->groups, .in_data = images, .out_data = top, .weights = filters};
    for (int i = 0; i < THN_CONV_DIMS; i++) {
        g.in[i] = c->image[i];
        g.out[i] = c->top[i];
        g.kernel[i] = c->kernel[i];
        g.stride[i] = c->stride[i];
        g.dilation[i] = c->dilation[i];
        g.low[i] = c->low[i];
    }
    memcpy(g.in_strides, c->image_strides, sizeof g.in_strides);
    memcpy(g.out_strides, c->top_strides, sizeof g.out_strides);
    memcpy(g.weight_strides, c->filter_strides, sizeof c->filter_strides);
    g.weight_strides[5] = g.rows * c->filter_strides[0];
    flatten(&g);
    return g;
}

/* The first tap that meets the positions phase, phase + stride, ... along a dim, and how many do, of every so many. */
static npy_intp taps_of(const ThnConv *c, int dim, npy_intp phase, npy_intp *first, npy_intp *every)
{
    const npy_intp s = c->stride[dim], d = c->dilation[dim], from = phase + c->low[dim];
    *every = s / gcd(s, d);
    *first = 0;
    while (*first < *every && (from - *first * d) % s) {
        ++*first;
    }
    return *first < *every && *first < c->kernel[dim] ? (c->kernel[dim] - 1 - *first) / *every + 1 : 0;
}

/* Positions from `phase` on along a dim. */
static npy_intp places_of(const ThnConv *c, int dim, npy_intp phase)
{
    return (c->image[dim] - phase + c->stride[dim] - 1) / c->stride[dim];
}

/* The positions phase[i], phase[i] + stride[i], ... of images, which some taps meet. */
static ThnGather phase_of(const ThnConv *c, const npy_intp *phase, char *images, char *filters, char *top)
{
    ThnGather g = {.item = c->item, .images = c->batch, .groups = c->groups, .rows = c->channels / c->groups,
                   .channels = c->filters / c->groups, .in_data = top, .out_data = images, .weights = filters};
    for (int i = 0; i < THN_CONV_DIMS; i++) {
        npy_intp first, every;
        const npy_intp s = c->stride[i], d = c->dilation[i], taps = taps_of(c, i, phase[i], &first, &every);
        g.out[i] = places_of(c, i, phase[i]);
        g.in[i] = c->top[i];
        g.kernel[i] = taps;
        g.stride[i] = 1;
        g.dilation[i] = every * d / s;
        g.low[i] = (taps - 1) * g.dilation[i] - (phase[i] + c->low[i] - first * d) / s;
        g.in_strides[2 + i] = c->top_strides[2 + i];
        g.out_strides[2 + i] = c->image_strides[2 + i] * s;
        g.out_data += phase[i] * c->image_strides[2 + i];
        /* The last tap comes first. */
        g.weights += (first + (taps - 1) * every) * c->filter_strides[2 + i];
        g.weight_strides[2 + i] = -every * c->filter_strides[2 + i];
    }
    for (int i = 0; i < 2; i++) {
        g.in_strides[i] = c->top_strides[i];
        g.out_strides[i] = c->image_strides[i];
        g.weight_strides[i] = c->filter_strides[1 - i];
    }
    g.weight_strides[5] = g.channels * c->filter_strides[0];
    if (c->stride[2] == 2) {
        npy_intp first, every;
        g.beside = phase[2] ? -1 : 1;
        g.odd = !phase[2] && c->image[2] % 2;
        g.zeros = c->image[2] % 2 == 0 && !taps_of(c, 2, 1 - phase[2], &first, &every);
    }
    flatten(&g);
    return g;
}

/* Positions that no tap meets. */
typedef struct {
    const ThnConv *c;
    char *first;
    npy_intp dims[THN_CONV_DIMS], strides[THN_CONV_DIMS];
    npy_intp planes; /* of a task */
} Zeros;

static void zero_task(void *ctx, long task)
{
    const Zeros *j = ctx;
    const ThnConv *c = j->c;
    const npy_intp *s = c->image_strides, total = c->batch * c->channels;
    for (npy_intp p = task * j->planes; p < total && p < (task + 1) * j->planes; p++) {
        thn_conv_clear(THN_CONV_DIMS, j->dims, j->strides, j->first + p / c->channels * s[0] + p % c->channels * s[1], c->item);
    }
}

/* Those of a phase; whole rows if `phase[2]` is -1. */
static void zero(const ThnConv *c, const npy_intp *phase, char *images)
{
    Zeros j = {.c = c, .first = images};
    double bytes = (double)(c->batch * c->channels * c->item);
    for (int i = 0; i < THN_CONV_DIMS; i++) {
        j.dims[i] = phase[i] < 0 ? c->image[i] : places_of(c, i, phase[i]);
        j.strides[i] = c->image_strides[2 + i] * (phase[i] < 0 ? 1 : c->stride[i]);
        j.first += phase[i] < 0 ? 0 : phase[i] * c->image_strides[2 + i];
        bytes *= (double)j.dims[i];
    }
    const npy_intp total = c->batch * c->channels, tasks = thn_worth(bytes * 0.1, total);
    j.planes = (total + tasks - 1) / tasks;
    thn_parallel((long)((total + j.planes - 1) / j.planes), zero_task, &j);
}

/* ---- running one */

static void pack_task(void *ctx, long task)
{
    const ThnGatherJob *j = ctx;
    const npy_intp parts = (j->panels + j->pack_unit - 1) / j->pack_unit, first = task % parts * j->pack_unit;
    j->kernels->pack(j, task / parts, first, first + j->pack_unit < j->panels ? first + j->pack_unit : j->panels);
}

static void compute_task(void *ctx, long task)
{
    ThnGatherJob *j = ctx;
    const npy_intp block = task % j->blocks, chunk = task / j->blocks % j->chunks, group = task / j->blocks / j->chunks;
    const npy_intp row = chunk * j->chunk, panel = block * j->block;
    const npy_intp rows = j->g.rows - row < j->chunk ? j->g.rows - row : j->chunk;
    const npy_intp panels = j->all_panels - panel < j->block ? j->all_panels - panel : j->block;
    if (j->kernels->compute(j, group, row, rows, panel, panels) < 0) {
        __atomic_store_n(&j->failed, 1, __ATOMIC_RELAXED);
    }
}

static npy_intp cut(npy_intp n, npy_intp parts, npy_intp unit)
{
    return ((n + parts - 1) / parts + unit - 1) / unit * unit;
}

static int run(const ThnGather *given, int typenum)
{
    ThnGatherJob j = {.g = *given, .kernels = VARIANT(kernels, typenum)};
    const ThnGather *g = &j.g;
    const npy_intp mr = j.kernels->rows, lanes = j.kernels->lanes;
    j.taps = g->kernel[0] * g->kernel[1] * g->kernel[2];
    j.pixels = g->out[0] * g->out[1] * g->out[2];
    j.total = j.pixels * g->images;
    j.tap_parts = (j.taps + DEPTH * 3 / 2 - 1) / (DEPTH * 3 / 2);
    j.slab_taps = (j.taps + j.tap_parts - 1) / j.tap_parts;
    j.tap_parts = (j.taps + j.slab_taps - 1) / j.slab_taps;
    const npy_intp most = j.tap_parts > 1 ? 1 : thn_most(1, DEPTH / j.taps), parts = (g->channels + most - 1) / most;
    j.slab_channels = (g->channels + parts - 1) / parts;
    j.slabs = (g->channels + j.slab_channels - 1) / j.slab_channels * j.tap_parts;
    j.panels = (g->rows + mr - 1) / mr;
    j.direct = thn_gather_direct(g);
    const double work = 2e-2 * (double)g->item / 4 * (double)j.total * (double)g->rows * (double)g->groups *
                        (double)g->channels * (double)j.taps;
    const npy_intp threads = thn_get_threads(), wanted = threads > 1 ? thn_worth(work, 4 * threads) : 1;
    j.chunks = (g->rows + CHUNK - 1) / CHUNK;
    /* Packing a column takes as long as some rows do; panels that end with a row may be less full. */
    const npy_intp row_vectors = (g->out[2] + lanes - 1) / lanes, image_vectors = (j.pixels + lanes - 1) / lanes;
    const double waste = (double)(row_vectors * g->out[0] * g->out[1]) / (double)image_vectors - 1;
    j.open = (waste + (g->channels * j.taps < 64 ? 0.06 : 0.15)) * (double)g->rows < 5;
    j.direct = j.direct && (!j.open || g->out[2] % lanes == 0);
    j.unit = j.open ? g->out[2] : j.pixels >= OWN ? j.pixels : j.total;
    j.unit_vectors = (j.unit + lanes - 1) / lanes;
    j.unit_panels = (j.unit_vectors + 2) / 3;
    j.all_panels = j.total / j.unit * j.unit_panels;
    /* Large blocks copy fewer rows twice, for their neighbours. */
    npy_intp columns = RESULTS / g->item / (g->rows < CHUNK ? g->rows : CHUNK);
    columns = columns < 240 ? 240 : columns > 3072 ? 3072 : columns;
    j.blocks = (j.total + columns - 1) / columns;
    /* Some tasks for each thread (no result depends on how this is cut): by narrower blocks, then by fewer rows. */
    while (j.blocks * j.chunks * g->groups < wanted && j.all_panels / j.blocks > 3) {
        j.blocks++;
    }
    while (j.blocks * j.chunks * g->groups < (wanted < 4 ? wanted : 4) && g->rows / j.chunks > 4 * mr) {
        j.chunks++;
    }
    j.chunk = cut(g->rows, j.chunks, mr);
    j.chunks = (g->rows + j.chunk - 1) / j.chunk;
    j.block = (j.all_panels + j.blocks - 1) / j.blocks;
    j.blocks = (j.all_panels + j.block - 1) / j.block;
    const npy_intp weights = g->groups * j.panels * mr * g->channels * j.taps;
    THN_POOLED char *packed = j.packed = thn_pool_alloc((size_t)(weights * g->item));
    THN_POOLED npy_intp *places = thn_tap_places(g);
    THN_NEED(packed && places);
    j.places = places;
    const npy_intp packing = thn_worth((double)weights, j.panels * g->groups);
    j.pack_unit = thn_most(1, j.panels * g->groups / packing);
    j.pack_unit = j.pack_unit < j.panels ? j.pack_unit : j.panels;
    thn_parallel((long)(g->groups * ((j.panels + j.pack_unit - 1) / j.pack_unit)), pack_task, &j);
    thn_parallel((long)(j.blocks * j.chunks * g->groups), compute_task, &j);
    return j.failed ? -1 : 0;
}

static double gather_cost(const ThnConv *c)
{
    if (c->unshared || c->direction == THN_CONV_WEIGHTS) {
        return -1;
    }
    for (int i = 0; i < THN_CONV_DIMS; i++) {
        if (c->stride[i] > 127) {
            return -1;
        }
    }
    double products = thn_conv_products(c), passed = 0;
    if (c->direction == THN_CONV_INPUTS) {
        /* By image positions instead of output positions. */
        double phases = 1, bytes = (double)(c->batch * c->channels * c->item);
        for (int i = 0; i < THN_CONV_DIMS; i++) {
            products *= (double)c->image[i] / (double)c->stride[i] / (double)c->top[i];
            phases *= (double)(c->kernel[i] < c->stride[i] ? c->kernel[i] : c->stride[i]);
            bytes *= (double)c->image[i];
        }
        /* Each phase passes over all images: slower where caches cannot hold them. */
        passed = phases > 1 && bytes > PASSED ? phases * bytes * 0.15 : 0;
    }
    const double rows = (double)(c->direction == THN_CONV_FORWARD ? c->filters : c->channels) / (double)c->groups;
    const double each = c->item == 4 ? 0.02 : 0.04, groups = (double)(c->batch * c->groups);
    /* Columns are packed for few rows, too, or read where they are for fewer. Each group of an image begins anew, and filters are
     * packed once. */
    const double filters = (double)(c->filters * (c->channels / c->groups) * c->kernel[0] * c->kernel[1] * c->kernel[2]);
    return products * each * (1 + (rows < 8 ? 4 : 10) / rows) + (c->groups > 1 ? groups * 600 : 0) + filters + passed + 1000;
}

static int gather_execute(const ThnConvPlan *p, char *images, char *filters, char *top)
{
    const ThnConv *c = &p->conv;
    if (c->direction == THN_CONV_FORWARD) {
        const ThnGather g = thn_gather_forward(c, images, filters, top);
        return run(&g, c->typenum);
    }
    for (npy_intp n = 0; n < c->stride[0] * c->stride[1] * c->stride[2]; n++) {
        npy_intp phase[] = {n / c->stride[2] / c->stride[1], n / c->stride[2] % c->stride[1], n % c->stride[2]}, first, every;
        if (places_of(c, 0, phase[0]) <= 0 || places_of(c, 1, phase[1]) <= 0 || places_of(c, 2, phase[2]) <= 0) {
            continue;
        }
        if (!taps_of(c, 0, phase[0], &first, &every) || !taps_of(c, 1, phase[1], &first, &every)) {
            phase[2] = -1;
            zero(c, phase, images);
            n += c->stride[2] - 1;
        } else if (taps_of(c, 2, phase[2], &first, &every)) {
            const ThnGather g = phase_of(c, phase, images, filters, top);
            THN_TRY(run(&g, c->typenum));
        } else if (c->stride[2] != 2 || c->image[2] % 2) {
            zero(c, phase, images); /* else the other phase writes these zeros */
        }
    }
    return 0;
}

const ThnConvAlgorithm thn_conv_gather = {"gather", gather_cost, gather_execute};
