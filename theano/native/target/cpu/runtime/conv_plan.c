/* The choice of an algorithm, and plans that are kept; see conv.h. */
#include "conv.h"
#include "conv_winograd.h"
#include "pool.h"
#include "threads.h"

const ThnConvAlgorithm *const thn_conv_algorithms[] = {&thn_conv_simple,   &thn_conv_gather, &thn_conv_weights,
                                                       &thn_conv_winograd, &thn_conv_direct,  &thn_conv_scatter,
                                                       &thn_conv_depth,    NULL};

static const ThnConvAlgorithm *preferred;

void thn_conv_prefer(const ThnConvAlgorithm *a)
{
    preferred = a;
}

static npy_intp product(const npy_intp *n)
{
    return n[0] * n[1] * n[2];
}

/* Whether there is anything to be multiplied. */
static int has_work(const ThnConv *c)
{
    return c->batch && c->channels && c->filters && product(c->image) && product(c->kernel) && product(c->top);
}

static void choose(ThnConvPlan *p)
{
    const ThnConv *c = &p->conv;
    p->algorithm = NULL;
    p->cost = 0;
    if (!has_work(c)) {
        return;
    }
    for (int i = 0; thn_conv_algorithms[i]; i++) {
        const ThnConvAlgorithm *a = thn_conv_algorithms[i];
        const double cost = a->cost(c);
        if (cost >= 0 && (!p->algorithm || a == preferred || (cost < p->cost && p->algorithm != preferred))) {
            p->algorithm = a;
            p->cost = cost;
        }
    }
    if (p->algorithm->plan) {
        p->algorithm->plan(p);
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

/* Zeros for an output of up to 8 dims. */
static void clear(int nd, const npy_intp *dims, const npy_intp *strides, char *data, npy_intp item)
{
    if (nd == 0) {
        memset(data, 0, (size_t)item);
        return;
    }
    for (npy_intp i = 0; i < dims[0]; i++, data += strides[0]) {
        if (nd == 1 && strides[0] == item) {
            memset(data, 0, (size_t)(dims[0] * item));
            return;
        }
        clear(nd - 1, dims + 1, strides + 1, data, item);
    }
}

int thn_conv_execute(const ThnConvPlan *p, char *images, char *filters, char *top)
{
    const ThnConv *c = &p->conv;
    if (p->algorithm) {
        return p->algorithm->execute(p, images, filters, top);
    }
    npy_intp dims[2 + 2 * THN_CONV_DIMS], strides[2 + 2 * THN_CONV_DIMS];
    int nd = 2;
    char *out = c->direction == THN_CONV_FORWARD ? top : c->direction == THN_CONV_WEIGHTS ? filters : images;
    dims[0] = c->direction == THN_CONV_WEIGHTS ? c->filters : c->batch;
    dims[1] = c->direction == THN_CONV_WEIGHTS ? c->channels / c->groups : c->direction == THN_CONV_FORWARD ? c->filters
                                                                                                             : c->channels;
    const npy_intp *lengths = c->direction == THN_CONV_FORWARD ? c->top : c->direction == THN_CONV_WEIGHTS ? c->kernel : c->image;
    const npy_intp *steps = c->direction == THN_CONV_FORWARD   ? c->top_strides
                            : c->direction == THN_CONV_WEIGHTS ? c->filter_strides
                                                               : c->image_strides;
    strides[0] = steps[0];
    strides[1] = steps[1];
    for (int i = 0; i < THN_CONV_DIMS; i++) {
        dims[nd] = lengths[i];
        strides[nd++] = steps[2 + i];
    }
    if (c->direction == THN_CONV_WEIGHTS && c->unshared) {
        for (int i = 0; i < THN_CONV_DIMS; i++) {
            dims[nd] = c->top[i];
            strides[nd++] = c->place_strides[i];
        }
    }
    for (int i = 0; i < nd; i++) {
        if (dims[i] == 0) {
            return 0;
        }
    }
    clear(nd, dims, strides, out, c->item);
    return 0;
}
