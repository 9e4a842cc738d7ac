/* Convolutions by their definition, tap by tap over rows: what everything else is measured against, and the way of unshared
 * ones. See conv.h. */
#include "conv.h"
#include "plan.h"

/* One pair of rows: n outputs at `top` (contiguous), elements of the image `step` apart, filters `place` bytes apart. */
#define ROW(NAME, T)                                                                                                       \
    static void NAME(int direction, npy_intp n, char *top_, char *image_, npy_intp step, char *filter, npy_intp place)     \
    {                                                                                                                      \
        T *restrict top = (T *)top_, *restrict image = (T *)image_;                                                        \
        if (direction == THN_CONV_WEIGHTS && place == 0) {                                                                 \
            T sums[8] = {0};                                                                                               \
            npy_intp i = 0;                                                                                                \
            for (; i + 8 <= n; i += 8) {                                                                                   \
                for (int j = 0; j < 8; j++) {                                                                              \
                    sums[j] += top[i + j] * image[(i + j) * step];                                                         \
                }                                                                                                          \
            }                                                                                                              \
            for (; i < n; i++) {                                                                                           \
                sums[0] += top[i] * image[i * step];                                                                       \
            }                                                                                                              \
            *(T *)filter += ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));     \
        } else if (direction == THN_CONV_WEIGHTS) {                                                                        \
            for (npy_intp i = 0; i < n; i++, filter += place) {                                                            \
                *(T *)filter += top[i] * image[i * step];                                                                  \
            }                                                                                                              \
        } else {                                                                                                           \
            const int inputs = direction == THN_CONV_INPUTS;                                                               \
            const npy_intp step_to = inputs ? step : 1, step_from = inputs ? 1 : step;                                     \
            T *restrict to = inputs ? image : top, *restrict from = inputs ? top : image;                                  \
            const T w = *(T *)filter;                                                                                      \
            for (npy_intp i = 0; place == 0 && step == 1 && i < n; i++) {                                                  \
                to[i] += from[i] * w;                                                                                      \
            }                                                                                                              \
            for (npy_intp i = 0; (place || step > 1) && i < n; i++, filter += place) {                                     \
                to[i * step_to] += from[i * step_from] * *(T *)filter;                                                     \
            }                                                                                                              \
        }                                                                                                                  \
    }
ROW(row_single, float)
ROW(row_double, double)

/* All products of one plane of an image with one plane of top and one plane of filters. */
static void plane(const ThnConv *c, char *image, char *filter, char *top)
{
    npy_intp z0, z1, y0, y1, x0, x1;
    for (npy_intp kz = 0; kz < c->kernel[0]; kz++) {
        thn_conv_inside(c, 0, kz, &z0, &z1);
        for (npy_intp ky = 0; ky < c->kernel[1]; ky++) {
            thn_conv_inside(c, 1, ky, &y0, &y1);
            for (npy_intp kx = 0; kx < c->kernel[2]; kx++) {
                thn_conv_inside(c, 2, kx, &x0, &x1);
                char *w = filter + kz * c->filter_strides[2] + ky * c->filter_strides[3] + kx * c->filter_strides[4];
                if (x0 == x1) {
                    continue;
                }
                for (npy_intp z = z0; z < z1; z++) {
                    for (npy_intp y = y0; y < y1; y++) {
                        char *t = top + z * c->top_strides[2] + y * c->top_strides[3] + x0 * c->item;
                        char *i = image + (z * c->stride[0] + kz * c->dilation[0] - c->low[0]) * c->image_strides[2] +
                                  (y * c->stride[1] + ky * c->dilation[1] - c->low[1]) * c->image_strides[3] +
                                  (x0 * c->stride[2] + kx * c->dilation[2] - c->low[2]) * c->item;
                        char *v = w + z * c->place_strides[0] + y * c->place_strides[1] + x0 * c->place_strides[2];
                        (c->item == 4 ? row_single : row_double)(c->direction, x1 - x0, t, i, c->stride[2], v,
                                                                 c->place_strides[2]);
                    }
                }
            }
        }
    }
}

/* How many planes the result has: images' filters or channels, filters' channels; and how many pairs of planes add up to each. */
static npy_intp planes_of(const ThnConv *c, npy_intp *pairs)
{
    const int weights = c->direction == THN_CONV_WEIGHTS, inputs = c->direction == THN_CONV_INPUTS;
    *pairs = weights ? c->batch : inputs ? c->filters : c->channels;
    return c->groups * (weights ? c->filters * c->channels : c->batch * (inputs ? c->channels : c->filters));
}

static int simple_some(void *ctx, npy_intp made, npy_intp end)
{
    const ThnConv *c = ctx;
    npy_intp pairs;
    planes_of(c, &pairs);
    for (; made < end; made++) {
        for (npy_intp k = 0; k < pairs; k++) {
            /* Image, group, filter and channel within it. */
            npy_intp b = k, f = k, ch = k, rest = made;
            if (c->direction != THN_CONV_FORWARD) {
                ch = rest % c->channels;
                rest /= c->channels;
            }
            if (c->direction != THN_CONV_INPUTS) {
                f = rest % c->filters;
                rest /= c->filters;
            }
            const npy_intp g = rest % c->groups;
            b = c->direction != THN_CONV_WEIGHTS ? rest / c->groups : b;
            plane(c, c->at.images + b * c->image_strides[0] + (g * c->channels + ch) * c->image_strides[1],
                  c->at.filters + g * c->filter_strides[5] + f * c->filter_strides[0] + ch * c->filter_strides[1],
                  c->at.top + b * c->top_strides[0] + (g * c->filters + f) * c->top_strides[1]);
        }
    }
    return 0;
}

static double simple_cost(const ThnConv *c)
{
    return thn_conv_has_rows(c) ? thn_conv_products(c) * ((c->item == 4 ? 0.4 : 0.6) + 5 / (double)c->top[2]) : -1;
}

static int simple_execute(const ThnConv *c, double cost)
{
    npy_intp pairs;
    const npy_intp planes = planes_of(c, &pairs);
    thn_conv_clear(c);
    return thn_parallel_ranges(planes, thn_share(cost, planes), simple_some, (void *)c);
}

const ThnConvAlgorithm thn_conv_simple = {"simple", 0, 0, simple_cost, simple_execute};
