/* Convolutions by their definition, tap by tap over rows: what everything else is measured against, and the way of unshared
 * ones. See conv.h. */
#include "conv.h"
#include "plan.h"

/* Adds n products to a row, or to a number; elements of each of the three operands are so many bytes apart. Most rows are dense: they
 * get a number times a row, or a number gets eight sums of products, which the compiler makes vectors of. */
#define ROW(NAME, T)                                                                                                   \
    __attribute__((always_inline)) static inline T NAME##_sum(npy_intp n, const T *a, const T *b, npy_intp apart)      \
    {                                                                                                                  \
        T sums[8] = {0};                                                                                               \
        npy_intp i = 0;                                                                                                \
        for (; i + 8 <= n; i += 8) {                                                                                   \
            for (int j = 0; j < 8; j++) {                                                                              \
                sums[j] += a[i + j] * b[(i + j) * apart];                                                              \
            }                                                                                                          \
        }                                                                                                              \
        for (; i < n; i++) {                                                                                           \
            sums[0] += a[i] * b[i * apart];                                                                            \
        }                                                                                                              \
        return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));              \
    }                                                                                                                  \
    static void NAME(npy_intp n, char *to, npy_intp step, const char *a, npy_intp a_step, const char *b, npy_intp b_step)\
    {                                                                                                                  \
        const npy_intp item = (npy_intp)sizeof(T);                                                                     \
        const T *x = (const T *)a, *y = (const T *)b;                                                                  \
        if (step == 0 && a_step == item && b_step == item) {                                                           \
            *(T *)to += NAME##_sum(n, x, y, 1);                                                                        \
        } else if (step == 0 && a_step == item && b_step % item == 0) {                                                \
            *(T *)to += NAME##_sum(n, x, y, b_step / item);                                                            \
        } else if (step == item && a_step + b_step == item && (a_step == 0 || b_step == 0)) {                          \
            const T number = b_step == 0 ? *y : *x, *restrict row = b_step == 0 ? x : y;                               \
            T *restrict sums = (T *)to;                                                                                \
            for (npy_intp i = 0; i < n; i++) {                                                                         \
                sums[i] += row[i] * number;                                                                            \
            }                                                                                                          \
        } else {                                                                                                       \
            for (npy_intp i = 0; i < n; i++, to += step, a += a_step, b += b_step) {                                   \
                *(T *)to += *(const T *)a * *(const T *)b;                                                             \
            }                                                                                                          \
        }                                                                                                              \
    }
ROW(row_single, float)
ROW(row_double, double)

enum { TOP, IMAGE, FILTER };

/* All products of one plane of an image with one plane of top and one plane of filters. */
static void plane(const ThnConv *c, char *image, char *filter, char *top)
{
    const int made = c->direction == THN_CONV_FORWARD ? TOP : c->direction == THN_CONV_INPUTS ? IMAGE : FILTER;
    const int a = (made + 1) % 3, b = (made + 2) % 3;
    const npy_intp steps[3] = {c->item, c->stride[2] * c->item, c->place_strides[2]}, *n = c->kernel;
    for (npy_intp tap = 0; tap < thn_conv_size(n); tap++) {
        const npy_intp k[] = {tap / n[2] / n[1], tap / n[2] % n[1], tap % n[2]};
        npy_intp first[THN_CONV_DIMS], end[THN_CONV_DIMS];
        for (int d = 0; d < THN_CONV_DIMS; d++) {
            thn_conv_inside(c, d, k[d], &first[d], &end[d]);
        }
        for (npy_intp z = first[0]; z < end[0]; z++) {
            for (npy_intp y = first[1]; y < end[1] && first[2] < end[2]; y++) {
                const npy_intp place[] = {z, y, first[2]};
                char *at[] = {[TOP] = top, [IMAGE] = image, [FILTER] = filter};
                for (int d = 0; d < THN_CONV_DIMS; d++) {
                    at[TOP] += place[d] * c->top_strides[2 + d];
                    at[IMAGE] += (place[d] * c->stride[d] + k[d] * c->dilation[d] - c->low[d]) * c->image_strides[2 + d];
                    at[FILTER] += k[d] * c->filter_strides[2 + d] + place[d] * c->place_strides[d];
                }
                (c->item == 4 ? row_single : row_double)(end[2] - first[2], at[made], steps[made], at[a], steps[a], at[b], steps[b]);
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
