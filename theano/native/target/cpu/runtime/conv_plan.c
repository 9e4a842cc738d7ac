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

void thn_conv_clear(int nd, const npy_intp *dims, const npy_intp *strides, char *data, npy_intp item)
{
    if (nd == 1 && strides[0] == item) {
        memset(data, 0, (size_t)(dims[0] * item));
        return;
    }
    for (npy_intp i = 0; i < dims[0]; i++, data += strides[0]) {
        if (nd > 1) {
            thn_conv_clear(nd - 1, dims + 1, strides + 1, data, item);
        } else {
            memset(data, 0, (size_t)item);
        }
    }
}

int thn_conv_execute(const ThnConvPlan *p, char *images, char *filters, char *top)
{
    const ThnConv *c = &p->conv;
    if (p->algorithm) {
        return p->algorithm->execute(p, images, filters, top);
    }
    const int weights = c->direction == THN_CONV_WEIGHTS, forward = c->direction == THN_CONV_FORWARD, nd = weights ? 8 : 5;
    const npy_intp *lengths = forward ? c->top : weights ? c->kernel : c->image;
    const npy_intp *steps = forward ? c->top_strides : weights ? c->filter_strides : c->image_strides;
    npy_intp dims[2 + 2 * THN_CONV_DIMS] = {weights ? c->filters : c->batch,
                                            weights ? c->channels / c->groups : forward ? c->filters : c->channels};
    npy_intp strides[2 + 2 * THN_CONV_DIMS] = {steps[0], steps[1]};
    for (int i = 0; i < THN_CONV_DIMS; i++) {
        dims[2 + i] = lengths[i];
        strides[2 + i] = steps[2 + i];
        dims[5 + i] = c->unshared ? c->top[i] : 1;
        strides[5 + i] = c->place_strides[i];
    }
    for (int i = 0; i < nd; i++) {
        if (dims[i] == 0) {
            return 0;
        }
    }
    thn_conv_clear(nd, dims, strides, forward ? top : weights ? filters : images, c->item);
    return 0;
}
