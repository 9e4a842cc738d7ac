/* The choice of an algorithm, and plans that are kept; see conv.h.
 *
 * A gradient of images is a convolution, too, of the gradient of the output and of filters turned round, one for each phase: image
 * positions of one remainder of the strides read every so many taps. */
#include "conv.h"
#include "conv_winograd.h"
#include "plan.h"

#define PASSED 4e6      /* bytes of images that caches hold while phases pass over them, about */
#define TOGETHER 1000000 /* bytes of images whose phases are made before those of the next */
#define MOST_STRIDE 127 /* of gradients that are made phase by phase */

const ThnConvAlgorithm *const thn_conv_algorithms[] = {&thn_conv_simple,   &thn_conv_gather, &thn_conv_weights,
                                                       &thn_conv_winograd, &thn_conv_direct,  &thn_conv_scatter,
                                                       &thn_conv_depth,    NULL};

static const ThnConvAlgorithm *preferred;

void thn_conv_prefer(const ThnConvAlgorithm *a)
{
    preferred = a;
}

/* ---- zeros */

typedef struct {
    int nd;
    npy_intp item, dims[2 + 2 * THN_CONV_DIMS], strides[2 + 2 * THN_CONV_DIMS];
    char *data;
} Zeros;

static void clear(const Zeros *z, int dim, char *data)
{
    const npy_intp n = z->dims[dim], step = z->strides[dim];
    const int last = dim == z->nd - 1;
    if (last && step == z->item) {
        memset(data, 0, (size_t)(n * step));
        return;
    }
    for (npy_intp i = 0; i < n; i++, data += step) {
        if (last) {
            memset(data, 0, (size_t)z->item);
        } else {
            clear(z, dim + 1, data);
        }
    }
}

static int clear_some(void *ctx, npy_intp i, npy_intp end)
{
    const Zeros *z = ctx;
    for (; i < end; i++) {
        clear(z, 2, z->data + i / z->dims[1] * z->strides[0] + i % z->dims[1] * z->strides[1]);
    }
    return 0;
}

void thn_conv_clear(const ThnConv *c)
{
    const int weights = c->direction == THN_CONV_WEIGHTS, forward = c->direction == THN_CONV_FORWARD;
    const npy_intp *lengths = forward ? c->top : weights ? c->kernel : c->image;
    const npy_intp *steps = forward ? c->top_strides : weights ? c->filter_strides : c->image_strides;
    Zeros z = {.nd = weights ? 8 : 5, .item = c->item, .data = forward ? c->at.top : weights ? c->at.filters : c->at.images,
               .dims = {weights ? c->groups * c->filters : c->batch,
                        weights ? c->channels : c->groups * (forward ? c->filters : c->channels)},
               .strides = {steps[0], steps[1]}};
    for (int i = 0; i < THN_CONV_DIMS; i++) {
        z.dims[2 + i] = lengths[i];
        z.strides[2 + i] = steps[2 + i];
        z.dims[5 + i] = c->unshared ? c->top[i] : 1;
        z.strides[5 + i] = c->place_strides[i];
    }
    const npy_intp planes = z.dims[0] * z.dims[1];
    thn_parallel_ranges(planes, thn_share((double)(planes * thn_conv_size(lengths) * c->item) * 0.1, planes), clear_some, &z);
}

/* ---- phases */

/* How many taps meet the positions phase, phase + stride ... along a dim: the first, and every so many. */
static npy_intp taps_of(const ThnConv *c, int dim, npy_intp phase, npy_intp *first, npy_intp *every)
{
    npy_intp n = 0;
    *first = *every = 0;
    for (npy_intp t = 0; t < c->kernel[dim]; t++) {
        if ((phase + c->low[dim] - t * c->dilation[dim]) % c->stride[dim] == 0) {
            n++;
            *first = n == 1 ? t : *first;
            *every = n == 2 ? t - *first : *every;
        }
    }
    return n;
}

/* Phases along a dim, as far as there are positions. */
static npy_intp phases_along(const ThnConv *c, int dim)
{
    return thn_least(c->stride[dim], c->image[dim]);
}

static npy_intp all_phases(const ThnConv *c)
{
    return phases_along(c, 0) * phases_along(c, 1) * phases_along(c, 2);
}

/* Phase n, the positions at, at + stride ... of images along each dim, as a convolution. No taps along a dim: all is to be 0. */
static ThnConv phase_of(const ThnConv *c, npy_intp n)
{
    ThnConv p = *c;
    npy_intp at = 0, first, every;
    p.direction = THN_CONV_FORWARD;
    p.channels = c->filters;
    p.filters = c->channels;
    p.at.images = c->at.top;
    p.at.top = c->at.images;
    for (int i = 0; i < 2; i++) {
        p.image_strides[i] = c->top_strides[i];
        p.top_strides[i] = c->image_strides[i];
        p.filter_strides[i] = c->filter_strides[1 - i];
    }
    for (int i = THN_CONV_DIMS - 1; i >= 0; n /= phases_along(c, i--)) {
        const npy_intp s = c->stride[i], d = c->dilation[i];
        at = n % phases_along(c, i);
        p.kernel[i] = taps_of(c, i, at, &first, &every);
        p.image[i] = c->top[i];
        p.top[i] = (c->image[i] - at + s - 1) / s;
        p.stride[i] = 1;
        p.dilation[i] = every * d / s;
        p.low[i] = (p.kernel[i] - 1) * p.dilation[i] - (at + c->low[i] - first * d) / s;
        p.image_strides[2 + i] = c->top_strides[2 + i];
        p.top_strides[2 + i] = c->image_strides[2 + i] * s;
        /* The last tap comes first. */
        p.filter_strides[2 + i] = -every * c->filter_strides[2 + i];
        if (c->at.images) {
            p.at.top += at * c->image_strides[2 + i];
            p.at.filters += (first + (p.kernel[i] - 1) * every) * c->filter_strides[2 + i];
        }
        if (i == 2 && s == 2) {
            p.beside = at ? -1 : 1;
            p.odd = !at && c->image[2] % 2;
            p.zeros = c->image[2] % 2 == 0 && !taps_of(c, 2, 1 - at, &first, &every);
        }
    }
    return p;
}

/* What no tap meets, which is phase n: whole rows are left to the first phase of them, and every second place of a row to the
 * other phase, if that can do it. */
static void zero(const ThnConv *c, npy_intp n, ThnConv *phase)
{
    const int rows = !phase->kernel[0] || !phase->kernel[1];
    if (rows ? n % phases_along(c, 2) : c->stride[2] == 2 && c->image[2] % 2 == 0) {
        return;
    }
    if (rows) {
        phase->top[2] = c->image[2];
        phase->top_strides[4] = c->item;
    }
    thn_conv_clear(phase);
}

/* ---- plans */

/* Whether there is anything to be multiplied. */
static int has_work(const ThnConv *c)
{
    return c->batch && c->channels && c->filters && thn_conv_size(c->image) && thn_conv_size(c->kernel) && thn_conv_size(c->top);
}

/* As an algorithm's; perhaps the sum over phases. */
static double cost_of(const ThnConvAlgorithm *a, const ThnConv *c, int *by_phases)
{
    double cost = a->cost(c), all = 0, made = 0;
    *by_phases = cost < 0 && c->direction == THN_CONV_INPUTS && thn_conv_most_stride(c) <= MOST_STRIDE;
    for (npy_intp n = 0; *by_phases && n < all_phases(c); n++) {
        const ThnConv phase = phase_of(c, n);
        if (thn_conv_size(phase.kernel)) {
            cost = a->cost(&phase);
            if (cost < 0) {
                return cost;
            }
            all += cost;
            made++;
        }
    }
    /* Each phase passes over all images: slower where caches cannot hold them. */
    const double bytes = (double)(c->batch * c->groups * c->channels * thn_conv_size(c->image) * c->item);
    return *by_phases ? all + (!a->by_image && made > 1 && bytes > PASSED ? made * bytes * 0.15 : 0) : cost;
}

static void choose(ThnConvPlan *p)
{
    const ThnConv *c = &p->conv;
    for (int i = 0; has_work(c) && thn_conv_algorithms[i]; i++) {
        const ThnConvAlgorithm *a = thn_conv_algorithms[i];
        int by_phases;
        const double cost = cost_of(a, c, &by_phases);
        if (cost >= 0 && (!p->algorithm || a == preferred || (cost < p->cost && p->algorithm != preferred))) {
            p->algorithm = a;
            p->by_phases = by_phases;
            p->cost = cost;
        }
    }
}

void thn_conv_plan(ThnConvPlan *p, const ThnConv *c)
{
    if (p->conv.item && p->preferred == preferred && memcmp(&p->conv, c, sizeof *c) == 0) {
        return;
    }
    memset(p, 0, sizeof *p);
    p->conv = *c;
    p->preferred = preferred;
    choose(p);
}

static int execute(const ThnConvAlgorithm *a, const ThnConv *c, double cost)
{
    for (npy_intp g = 0; a->by_group && g < c->groups; g++) {
        const ThnConv one = thn_conv_group(c, g);
        THN_TRY(a->execute(&one, cost));
    }
    return a->by_group ? 0 : a->execute(c, cost);
}

int thn_conv_execute(const ThnConvPlan *p, char *images, char *filters, char *top)
{
    const ThnConvAlgorithm *a = p->algorithm;
    ThnConv c = p->conv;
    c.at.images = images;
    c.at.filters = filters;
    c.at.top = top;
    if (!a) {
        thn_conv_clear(&c);
        return 0;
    }
    if (!p->by_phases) {
        return execute(a, &c, p->cost);
    }
    const npy_intp bytes = c.groups * c.channels * thn_conv_size(c.image) * c.item, phases = all_phases(&c), batch = c.batch;
    const npy_intp together = a->by_image && phases > 1 ? thn_most(1, TOGETHER / bytes) : batch;
    for (npy_intp b = 0; b < batch; b += together) {
        c.batch = thn_least(batch - b, together);
        c.at.images = images + b * c.image_strides[0];
        c.at.top = top + b * c.top_strides[0];
        for (npy_intp n = 0; n < phases; n++) {
            ThnConv phase = phase_of(&c, n);
            if (thn_conv_size(phase.kernel)) {
                THN_TRY(execute(a, &phase, p->cost * (double)c.batch / (double)(batch * phases)));
            } else {
                zero(&c, n, &phase);
            }
        }
    }
    return 0;
}
