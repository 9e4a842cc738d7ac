/* Convolutions of 1 to 3 spatial dims, their gradients, and the choice between algorithms by shape. Plain C, no Python objects.
 *
 * All is reduced to correlations over three spatial dims: fewer are the last ones, with lengths of 1 before them; filters that a
 * true convolution flips are read with negative strides. For an output position o and a tap t along a dim the image is read
 * at o * stride + t * dilation - low, and is 0 outside of itself:
 *
 *     top[b, f, o] = sum over c, t of  images[b, g * channels/groups + c, o * stride + t * dilation - low] * filters[f, c, t]
 *
 * where g = f / (filters/groups). FORWARD computes top, WEIGHTS the gradient with respect to the filters for a gradient `top`,
 * INPUTS that with respect to the images. */
#pragma once

#include "cells.h"

#define THN_CONV_DIMS 3

enum { THN_CONV_FORWARD, THN_CONV_WEIGHTS, THN_CONV_INPUTS };

/* One convolution. Strides are in bytes. Zeroed before it is filled in: up to the operands, plans are compared as memory. */
typedef struct ThnConv {
    int direction;
    int typenum;                       /* NPY_FLOAT or NPY_DOUBLE, of all operands */
    int unshared;                      /* each output position has filters of its own */
    int item;                          /* bytes of an element */
    npy_intp batch, groups, channels, filters; /* channels, filters: of a group */
    npy_intp image[THN_CONV_DIMS], kernel[THN_CONV_DIMS], top[THN_CONV_DIMS]; /* lengths */
    npy_intp low[THN_CONV_DIMS];       /* padding in front, may be negative; what lies behind follows from the lengths */
    npy_intp stride[THN_CONV_DIMS], dilation[THN_CONV_DIMS];
    npy_intp image_strides[2 + THN_CONV_DIMS]; /* batch, channel, spatial */
    npy_intp filter_strides[3 + THN_CONV_DIMS]; /* filter, channel, taps: perhaps negative; group */
    npy_intp place_strides[THN_CONV_DIMS];      /* unshared: of the filters, by output position */
    npy_intp top_strides[2 + THN_CONV_DIMS];   /* batch, filter, spatial */
    /* Phases, where every second place of a row of top is computed: 1, the one behind each may be written as it is, but for that
     * behind the last of a row if `odd`; -1, that in front of each; 0, neither. They are to be 0 if `zeros`, which excludes `odd`. */
    int beside, odd, zeros;
    struct {
        char *images, *filters, *top;  /* the operands at their first elements, once they are known */
    } at;
} ThnConv;

/* A way to compute some convolutions. It sees lengths of 1 and more only, and writes all of its output. Rows of images and top
 * (their last dim) are contiguous, but for those of top in phases, all other strides may be anything. The result must not depend
 * on the number of threads. */
typedef struct ThnConvAlgorithm {
    const char *name;
    int by_group, by_image; /* `execute` sees one group at a time; phases of some images, then those of the next */
    /* Estimated ns on one thread; negative: not for this convolution. */
    double (*cost)(const ThnConv *c);
    /* `cost` is what was estimated, of all phases. -1: out of memory. */
    int (*execute)(const ThnConv *c, double cost);
} ThnConvAlgorithm;

/* What is kept as long as lengths and strides stay. */
typedef struct ThnConvPlan {
    ThnConv conv;
    const ThnConvAlgorithm *algorithm; /* NULL: nothing to compute but, perhaps, zeros */
    const ThnConvAlgorithm *preferred; /* see thn_conv_prefer */
    int by_phases;                     /* a gradient of images that the algorithm makes phase by phase */
    double cost;
} ThnConvPlan;

/* Makes the plan fit `c`, or leaves it as it is. A new plan is zeroed memory. */
void thn_conv_plan(ThnConvPlan *p, const ThnConv *c);
/* -1: out of memory. */
int thn_conv_execute(const ThnConvPlan *p, char *images, char *filters, char *top);

/* Zeros for what is computed. */
void thn_conv_clear(const ThnConv *c);

/* The algorithms, ended by NULL. */
extern const ThnConvAlgorithm *const thn_conv_algorithms[];
/* Lets plans made from now on use this one where it fits (NULL: the cheapest): for tests and measurements. */
void thn_conv_prefer(const ThnConvAlgorithm *a);

/* Of n places at, at + step ... those from *first to before *end that are within 0 .. length - 1. */
static inline void thn_conv_within(npy_intp at, npy_intp step, npy_intp length, npy_intp n, npy_intp *first, npy_intp *end)
{
    *end = thn_least(at >= length ? 0 : (length - 1 - at) / step + 1, n);
    *first = thn_least(at < 0 ? (-at + step - 1) / step : 0, *end);
}

/* Output positions [first, end) along a dim for which the tap reads within the image. */
static inline void thn_conv_inside(const ThnConv *c, int dim, npy_intp tap, npy_intp *first, npy_intp *end)
{
    thn_conv_within(tap * c->dilation[dim] - c->low[dim], c->stride[dim], c->image[dim], c->top[dim], first, end);
}

/* What conv_rows.h makes for each type. */
typedef void (*ThnConvRows)(const char *plane, npy_intp row, const npy_intp *lengths, npy_intp y, npy_intp step_y, npy_intp rows,
                            npy_intp x, npy_intp step, npy_intp n, char *to, npy_intp to_row, npy_intp apart);

/* Whether there is nothing but planes, which share their filters. */
static inline int thn_conv_is_flat(const ThnConv *c)
{
    return !c->unshared && c->kernel[0] == 1 && c->image[0] == 1 && c->top[0] == 1 && c->low[0] == 0;
}

/* Whether the elements of rows of top follow each other. */
static inline int thn_conv_has_rows(const ThnConv *c)
{
    return c->top_strides[1 + THN_CONV_DIMS] == c->item;
}

static inline npy_intp thn_conv_size(const npy_intp *n)
{
    return n[0] * n[1] * n[2];
}

static inline npy_intp thn_conv_most_stride(const ThnConv *c)
{
    return thn_most(c->stride[0], thn_most(c->stride[1], c->stride[2]));
}

/* Multiply-adds, those with padding included. */
static inline double thn_conv_products(const ThnConv *c)
{
    double n = (double)c->batch * (double)c->groups * (double)c->filters * (double)c->channels;
    for (int i = 0; i < THN_CONV_DIMS; i++) {
        n *= (double)c->kernel[i] * (double)c->top[i];
    }
    return n;
}

/* One of the groups. */
static inline ThnConv thn_conv_group(const ThnConv *c, npy_intp g)
{
    ThnConv one = *c;
    one.groups = 1;
    one.at.images += g * c->channels * c->image_strides[1];
    one.at.filters += g * c->filter_strides[5];
    one.at.top += g * c->filters * c->top_strides[1];
    return one;
}

extern const ThnConvAlgorithm thn_conv_simple, thn_conv_gather, thn_conv_weights, thn_conv_direct, thn_conv_scatter, thn_conv_depth;
