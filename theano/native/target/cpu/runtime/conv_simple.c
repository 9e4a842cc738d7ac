/* Convolutions by their definition, tap by tap over rows: what everything else is measured against, and the way of unshared
 * ones. See conv.h. */
#include "conv.h"
#include "plan.h"

typedef struct {
    const ThnConv *c;
    char *images, *filters, *top;
    npy_intp per_task;
} Job;

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

/* Tasks are planes of the output: image by filter, filter by channel, or image by channel. */
static void simple_task(void *ctx, long task)
{
    const Job *j = ctx;
    const ThnConv *c = j->c;
    const npy_intp cg = c->channels / c->groups, fg = c->filters / c->groups;
    const npy_intp inner = c->direction == THN_CONV_FORWARD ? c->filters : c->direction == THN_CONV_WEIGHTS ? cg : c->channels;
    const npy_intp total = inner * (c->direction == THN_CONV_WEIGHTS ? c->filters : c->batch);
    const npy_intp end = (task + 1) * j->per_task < total ? (task + 1) * j->per_task : total;
    for (npy_intp k = task * j->per_task; k < end; k++) {
        const npy_intp outer = k / inner, in = k % inner;
        if (c->direction == THN_CONV_FORWARD) {
            char *top = j->top + outer * c->top_strides[0] + in * c->top_strides[1];
            thn_conv_clear(3, c->top, c->top_strides + 2, top, c->item);
            for (npy_intp ch = 0; ch < cg; ch++) {
                plane(c, j->images + outer * c->image_strides[0] + (in / fg * cg + ch) * c->image_strides[1],
                      j->filters + in * c->filter_strides[0] + ch * c->filter_strides[1], top);
            }
        } else if (c->direction == THN_CONV_INPUTS) {
            char *image = j->images + outer * c->image_strides[0] + in * c->image_strides[1];
            thn_conv_clear(3, c->image, c->image_strides + 2, image, c->item);
            for (npy_intp f = in / cg * fg; f < (in / cg + 1) * fg; f++) {
                plane(c, image, j->filters + f * c->filter_strides[0] + in % cg * c->filter_strides[1],
                      j->top + outer * c->top_strides[0] + f * c->top_strides[1]);
            }
        } else {
            char *filter = j->filters + outer * c->filter_strides[0] + in * c->filter_strides[1];
            npy_intp dims[6], strides[6];
            for (int i = 0; i < 3; i++) {
                dims[i] = c->kernel[i];
                strides[i] = c->filter_strides[2 + i];
                dims[3 + i] = c->unshared ? c->top[i] : 1;
                strides[3 + i] = c->place_strides[i];
            }
            thn_conv_clear(6, dims, strides, filter, c->item);
            for (npy_intp b = 0; b < c->batch; b++) {
                plane(c, j->images + b * c->image_strides[0] + (outer / fg * cg + in) * c->image_strides[1], filter,
                      j->top + b * c->top_strides[0] + outer * c->top_strides[1]);
            }
        }
    }
}

static double simple_cost(const ThnConv *c)
{
    return thn_conv_products(c) * ((c->item == 4 ? 0.4 : 0.6) + 5 / (double)c->top[2]);
}

static int simple_execute(const ThnConvPlan *p, char *images, char *filters, char *top)
{
    const ThnConv *c = &p->conv;
    const npy_intp total = c->direction == THN_CONV_WEIGHTS   ? c->filters * (c->channels / c->groups)
                           : c->direction == THN_CONV_FORWARD ? c->batch * c->filters
                                                              : c->batch * c->channels;
    Job j = {c, images, filters, top, total};
    const npy_intp tasks = thn_worth(p->cost, total);
    j.per_task = (total + tasks - 1) / tasks;
    thn_parallel((long)((total + j.per_task - 1) / j.per_task), simple_task, &j);
    return 0;
}

const ThnConvAlgorithm thn_conv_simple = {"simple", simple_cost, simple_execute};
