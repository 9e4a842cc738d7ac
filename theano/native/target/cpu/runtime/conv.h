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
#ifndef THN_CONV_H
#define THN_CONV_H

#include "cells.h"

#define THN_CONV_DIMS 3

enum { THN_CONV_FORWARD, THN_CONV_WEIGHTS, THN_CONV_INPUTS };

/* One convolution: all that is known before the elements are. Strides are in bytes. Zeroed before it is filled in: plans are
 * compared as memory. */
typedef struct ThnConv {
    int direction;
    int typenum;                       /* NPY_FLOAT or NPY_DOUBLE, of all operands */
    int unshared;                      /* each output position has filters of its own */
    int item;                          /* bytes of an element */
    npy_intp batch, channels, filters, groups;
    npy_intp image[THN_CONV_DIMS], kernel[THN_CONV_DIMS], top[THN_CONV_DIMS]; /* lengths */
    npy_intp low[THN_CONV_DIMS];       /* padding in front, may be negative; what lies behind follows from the lengths */
    npy_intp stride[THN_CONV_DIMS], dilation[THN_CONV_DIMS];
    npy_intp image_strides[2 + THN_CONV_DIMS]; /* batch, channel, spatial */
    npy_intp filter_strides[2 + THN_CONV_DIMS]; /* filter, channel within its group, taps: perhaps negative */
    npy_intp place_strides[THN_CONV_DIMS];      /* unshared: of the filters, by output position */
    npy_intp top_strides[2 + THN_CONV_DIMS];   /* batch, filter, spatial */
} ThnConv;

struct ThnConvPlan;

/* A way to compute some convolutions. It sees lengths of 1 and more only, and writes all of its output. Rows of images and top
 * (their last dim) are contiguous, all other strides may be anything. The result must not depend on the number of threads. */
typedef struct ThnConvAlgorithm {
    const char *name;
    /* Estimated ns on one thread; negative: not for this convolution. */
    double (*cost)(const ThnConv *c);
    /* Each operand at its first element; which one is written depends on the direction. -1: out of memory. */
    int (*execute)(const struct ThnConvPlan *p, char *images, char *filters, char *top);
} ThnConvAlgorithm;

/* What is kept as long as lengths and strides stay. */
typedef struct ThnConvPlan {
    ThnConv conv;
    const ThnConvAlgorithm *algorithm; /* NULL: nothing to compute but, perhaps, zeros */
    const ThnConvAlgorithm *preferred; /* see thn_conv_prefer */
    double cost;
} ThnConvPlan;

/* Makes the plan fit `c`, or leaves it as it is. A new plan is zeroed memory. */
void thn_conv_plan(ThnConvPlan *p, const ThnConv *c);
/* -1: out of memory. */
int thn_conv_execute(const ThnConvPlan *p, char *images, char *filters, char *top);

/* Zeros for an array of so many dims. */
void thn_conv_clear(int nd, const npy_intp *dims, const npy_intp *strides, char *data, npy_intp item);

/* The algorithms, ended by NULL. */
extern const ThnConvAlgorithm *const thn_conv_algorithms[];
/* Lets plans made from now on use this one where it fits (NULL: the cheapest): for tests and measurements. */
void thn_conv_prefer(const ThnConvAlgorithm *a);

/* Output positions [first, end) along a dim for which the tap reads within the image. */
static inline void thn_conv_inside(const ThnConv *c, int dim, npy_intp tap, npy_intp *first, npy_intp *end)
{
    const npy_intp s = c->stride[dim], from = tap * c->dilation[dim] - c->low[dim], n = c->image[dim];
    *first = from < 0 ? (-from + s - 1) / s : 0;
    *end = from >= n ? 0 : (n - 1 - from) / s + 1;
    *end = *end < c->top[dim] ? *end : c->top[dim];
    *first = *first < *end ? *first : *end;
}

/* Whether there is nothing but planes, which share their filters. */
static inline int thn_conv_is_flat(const ThnConv *c)
{
    return !c->unshared && c->kernel[0] == 1 && c->image[0] == 1 && c->top[0] == 1 && c->low[0] == 0;
}

/* Multiply-adds, those with padding included. */
static inline double thn_conv_products(const ThnConv *c)
{
    double n = (double)c->batch * (double)c->filters * (double)(c->channels / c->groups);
    for (int i = 0; i < THN_CONV_DIMS; i++) {
        n *= (double)c->kernel[i] * (double)c->top[i];
    }
    return n;
}

extern const ThnConvAlgorithm thn_conv_simple, thn_conv_gather, thn_conv_weights, thn_conv_direct, thn_conv_scatter, thn_conv_depth;

#endif
