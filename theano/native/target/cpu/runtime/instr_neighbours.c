/* Instructions: the neighbourhoods of pixels as rows, and to each pixel the sum over its neighbourhoods. */
#include "vm.h"
#include "tables.h"
#include "threads.h"

#define PART 16384 /* elements from which on another thread may take a share */

/* One axis of the images. */
typedef struct {
    npy_intp size, length, step, before, count; /* of the image, a window, between windows; what is before it; windows */
} Axis;

typedef struct {
    Axis rows, columns;
    int wrapped;
    npy_intp inner[2];      /* the windows whose columns are all within the image, from one to before another */
    const ThnCell *images;  /* read, or written to */
    char *neighbours;       /* (image, window row, window column, row, column) */
    npy_intp item, units, per_task;
    int typenum;
} Job;

/* The two positive numbers of an operand; 0 and an error if it has others, or larger ones than products of two can be. */
static int two(ThnFrame *f, const ThnCell *c, const char *name, npy_intp *v)
{
    const ThnReadInt get = thn_int_reader(c->typenum);
    if (c->dims[0] == 2) {
        v[0] = (npy_intp)get(c->data);
        v[1] = (npy_intp)get(c->data + c->strides[0]);
    }
    if (c->dims[0] != 2 || v[0] <= 0 || v[1] <= 0 || v[0] > INT32_MAX || v[1] > INT32_MAX) {
        thn_error(f, PyExc_ValueError, "%s must be two positive numbers below 2**31", name);
        return 0;
    }
    return 1;
}

static const char *const mode_names[] = {"valid", "ignore_borders", "wrap_centered", "half", "full"};

/* How windows lie along an axis; 0 and an error if they do not fit. */
static int axis_fits(ThnFrame *f, Axis *a, int mode, const char *what)
{
    const npy_intp size = a->size, length = a->length, step = a->step;
    a->before = mode == THN_WindowBorder_FULL                                               ? length - 1
                : mode == THN_WindowBorder_HALF || mode == THN_WindowBorder_WRAP_CENTERED ? length / 2
                                                                                          : 0;
    if (mode == THN_WindowBorder_WRAP_CENTERED) {
        if (length % 2 == 0) {
            thn_error(f, PyExc_TypeError, "Images2Neibs: in mode wrap_centered neib_shape must be odd, got %ld %s", (long)length, what);
            return 0;
        }
        if (size < length) {
            thn_error(f, PyExc_TypeError, "Images2Neibs: in mode wrap_centered images of %ld %s are smaller than neib_shape, %ld",
                      (long)size, what, (long)length);
            return 0;
        }
        a->count = (size + step - 1) / step;
        return 1;
    }
    const npy_intp rest = size + 2 * a->before - length;
    if (mode != THN_WindowBorder_IGNORE_BORDERS && (rest < 0 || rest % step)) {
        thn_error(f, PyExc_TypeError,
                  "Images2Neibs: in mode %s neib_shape, %ld %s, and neib_step, %ld, do not cover images of %ld %s",
                  mode_names[mode], (long)length, what, (long)step, (long)size, what);
        return 0;
    }
    a->count = rest < 0 ? 0 : rest / step + 1;
    return 1;
}

static int job_fits(ThnFrame *f, Job *j, int mode, const ThnCell *images, const ThnCell *shape, const ThnCell *step)
{
    npy_intp lengths[2], steps[2];
    if (!two(f, shape, "neib_shape", lengths) || !two(f, step, "neib_step", steps)) {
        return 0;
    }
    j->rows = (Axis){.size = images->dims[2], .length = lengths[0], .step = steps[0]};
    j->columns = (Axis){.size = images->dims[3], .length = lengths[1], .step = steps[1]};
    j->wrapped = mode == THN_WindowBorder_WRAP_CENTERED;
    if (!axis_fits(f, &j->rows, mode, "rows") || !axis_fits(f, &j->columns, mode, "columns")) {
        return 0;
    }
    const Axis *c = &j->columns;
    const npy_intp last = c->size - c->length + c->before; /* of the first columns that are within, after `before` */
    const npy_intp end = last < 0 ? 0 : last / c->step + 1;
    j->inner[1] = end < c->count ? end : c->count;
    j->inner[0] = (c->before + c->step - 1) / c->step;
    j->inner[0] = j->inner[0] < j->inner[1] ? j->inner[0] : j->inner[1];
    return 1;
}

/* The pixel at a place that may be outside the image; -1 for a zero. */
static inline npy_intp pixel(const Axis *a, int wrapped, npy_intp at)
{
    if (wrapped) {
        at %= a->size;
        return at < 0 ? at + a->size : at;
    }
    return at >= 0 && at < a->size ? at : -1;
}

static char *image_of(const ThnCell *x, npy_intp image)
{
    return x->data + image / x->dims[1] * x->strides[0] + image % x->dims[1] * x->strides[1];
}

typedef struct {
    uint64_t half[2];
} Wide;

#define FEW(N)                                                             \
    case N:                                                                \
        for (npy_intp b = first; b < end; b++, p += step, q += next) {     \
            memcpy(q, p, N * sizeof *q);                                   \
        }                                                                  \
        break;

/* A row of the windows of one line of pixels: all but a few of them are within it, those from first to end. Few dense pixels are
 * copied by their number: a loop of any length would take longer than they do. */
#define DEFINE_GATHER(T, S)                                                                                        \
    static void gather_##S(const Job *j, const char *line, npy_intp stride, npy_intp first, npy_intp end, T *out,  \
                           npy_intp next)                                                                          \
    {                                                                                                              \
        const npy_intp length = j->columns.length, step = j->columns.step * stride;                                \
        const char *p = line + first * step - j->columns.before * stride;                                          \
        T *q = out + first * next;                                                                                 \
        const int dense = stride == (npy_intp)sizeof(T);                                                           \
        switch (dense ? length : 0) {                                                                              \
            FEW(1) FEW(2) FEW(3) FEW(4) FEW(5) FEW(6) FEW(7) FEW(8)                                                \
        default:                                                                                                   \
            for (npy_intp b = first; b < end; b++, p += step, q += next) {                                         \
                if (dense) {                                                                                       \
                    memcpy(q, p, (size_t)length * sizeof(T));                                                      \
                }                                                                                                  \
                for (npy_intp i = 0; !dense && i < length; i++) {                                                  \
                    q[i] = *(const T *)(p + i * stride);                                                           \
                }                                                                                                  \
            }                                                                                                      \
        }                                                                                                          \
    }                                                                                                              \
    static void edge_##S(const Job *j, const char *line, npy_intp stride, npy_intp b, T *q)                        \
    {                                                                                                              \
        const Axis *c = &j->columns;                                                                               \
        for (npy_intp i = 0; i < c->length; i++) {                                                                 \
            const npy_intp at = pixel(c, j->wrapped, b * c->step - c->before + i);                                 \
            if (at < 0) {                                                                                          \
                memset(q + i, 0, sizeof(T));                                                                       \
            } else {                                                                                               \
                q[i] = *(const T *)(line + at * stride);                                                           \
            }                                                                                                      \
        }                                                                                                          \
    }                                                                                                              \
    static void unit_##S(const Job *j, npy_intp unit)                                                              \
    {                                                                                                              \
        const Axis *r = &j->rows, *c = &j->columns;                                                                \
        const npy_intp next = r->length * c->length, stride = j->images->strides[3];                               \
        const char *image = image_of(j->images, unit / r->count);                                                  \
        T *out = (T *)j->neighbours + unit * c->count * next;                                                      \
        for (npy_intp i = 0; i < r->length; i++, out += c->length) {                                               \
            const npy_intp at = pixel(r, j->wrapped, unit % r->count * r->step - r->before + i);                   \
            if (at < 0) {                                                                                          \
                for (npy_intp b = 0; b < c->count; b++) {                                                          \
                    memset(out + b * next, 0, (size_t)c->length * sizeof(T));                                      \
                }                                                                                                  \
                continue;                                                                                          \
            }                                                                                                      \
            const char *line = image + at * j->images->strides[2];                                                 \
            for (npy_intp b = 0; b < j->inner[0]; b++) {                                                           \
                edge_##S(j, line, stride, b, out + b * next);                                                      \
            }                                                                                                      \
            gather_##S(j, line, stride, j->inner[0], j->inner[1], out, next);                                      \
            for (npy_intp b = j->inner[1]; b < c->count; b++) {                                                    \
                edge_##S(j, line, stride, b, out + b * next);                                                      \
            }                                                                                                      \
        }                                                                                                          \
    }

DEFINE_GATHER(uint8_t, 1)
DEFINE_GATHER(uint16_t, 2)
DEFINE_GATHER(uint32_t, 4)
DEFINE_GATHER(uint64_t, 8)
DEFINE_GATHER(Wide, 16)

static int gather_some(void *ctx, npy_intp begin, npy_intp end)
{
    const Job *j = ctx;
    for (npy_intp unit = begin; unit < end; unit++) {
        switch (j->item) {
        case 1: unit_1(j, unit); break;
        case 2: unit_2(j, unit); break;
        case 4: unit_4(j, unit); break;
        case 8: unit_8(j, unit); break;
        default: unit_16(j, unit);
        }
    }
    return 0;
}

/* Each pixel of an image is the sum over the windows, which are all within it. */
#define DEFINE_SUM(T)                                                                                    \
    static void sum_##T(const Job *j, npy_intp image)                                                    \
    {                                                                                                    \
        const Axis *r = &j->rows, *c = &j->columns;                                                      \
        T *out = (T *)j->images->data + image * r->size * c->size;                                       \
        const T *in = (const T *)j->neighbours + image * r->count * c->count * r->length * c->length;    \
        const npy_intp length = c->length, next = r->length * length, step = c->step;                    \
        memset(out, 0, (size_t)(r->size * c->size) * sizeof(T));                                         \
        for (npy_intp a = 0; a < r->count; a++, in += c->count * next) {                                 \
            for (npy_intp i = 0; i < r->length; i++) {                                                   \
                T *line = out + (a * r->step + i) * c->size;                                             \
                const T *p = in + i * length;                                                            \
                if (step < length) { /* one pixel of all windows after another: no sum waits for the last */\
                    for (npy_intp k = 0; k < length; k++) {                                              \
                        for (npy_intp b = 0; b < c->count; b++) {                                        \
                            line[b * step + k] += p[b * next + k];                                       \
                        }                                                                                \
                    }                                                                                    \
                    continue;                                                                            \
                }                                                                                        \
                for (npy_intp b = 0; b < c->count; b++, p += next, line += step) {                       \
                    for (npy_intp k = 0; k < length; k++) {                                              \
                        line[k] += p[k];                                                                 \
                    }                                                                                    \
                }                                                                                        \
            }                                                                                            \
        }                                                                                                \
    }

DEFINE_SUM(float)
DEFINE_SUM(double)

static int sum_some(void *ctx, npy_intp begin, npy_intp end)
{
    const Job *j = ctx;
    for (npy_intp image = begin; image < end; image++) {
        (j->typenum == NPY_FLOAT ? sum_float : sum_double)(j, image);
    }
    return 0;
}

/* Keeps a job with the instruction; its units are shared by threads. */
static int keep(ThnFrame *f, const ThnInstr *ins, Job *j, double each)
{
    Job *kept = thn_scratch(f, ins, sizeof *kept);
    THN_NEED(kept);
    j->per_task = each > 0 && each < PART ? (npy_intp)(PART / each) : 1;
    *kept = *j;
    f->work = each * (double)j->units;
    return 0;
}

/* ---- neighbours */

static int neighbours_check(ThnProgram *p, ThnInstr *ins)
{
    const int item = p->cells[ins->ins[0]].itemsize;
    return thn_fits(ins, item == 1 || item == 2 || item == 4 || item == 8 || item == 16);
}

static int neighbours_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *x = THN_IN(f, ins, 0);
    Job j = {.item = x->itemsize};
    if (!job_fits(f, &j, ((const thn_neighbours_params *)ins->data)->mode, x, THN_IN(f, ins, 1), THN_IN(f, ins, 2))) {
        return -1;
    }
    npy_intp dims[2] = {0, j.rows.length * j.columns.length};
    THN_FAIL_IF(f,
                __builtin_mul_overflow(x->dims[0] * x->dims[1], j.rows.count, &j.units) || __builtin_mul_overflow(j.units, j.columns.count, &dims[0]),
                PyExc_MemoryError, "Images2Neibs: too many windows");
    return thn_out_alloc(f, THN_OUT(f, ins, 0), dims) < 0 ? -1 : keep(f, ins, &j, (double)(j.columns.count * dims[1]));
}

static int neighbours_execute(ThnFrame *f, const ThnInstr *ins)
{
    Job *j = f->scratch[ins->index].ptr;
    j->images = THN_IN(f, ins, 0);
    j->neighbours = THN_OUT(f, ins, 0)->data;
    thn_parallel_ranges(j->units, j->per_task, gather_some, j);
    return 0;
}

/* ---- neighbours_sum */

static int neighbours_sum_check(ThnProgram *Py_UNUSED(p), ThnInstr *ins)
{
    const int mode = ((const thn_neighbours_sum_params *)ins->data)->mode;
    return thn_fits(ins, mode == THN_WindowBorder_VALID || mode == THN_WindowBorder_IGNORE_BORDERS);
}

static int neighbours_sum_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *x = THN_IN(f, ins, 0), *g = THN_IN(f, ins, 1);
    Job j = {.typenum = g->typenum};
    if (!job_fits(f, &j, ((const thn_neighbours_sum_params *)ins->data)->mode, x, THN_IN(f, ins, 2), THN_IN(f, ins, 3))) {
        return -1;
    }
    j.units = x->dims[0] * x->dims[1];
    const npy_intp windows = j.rows.count * j.columns.count, pixels = j.rows.length * j.columns.length;
    THN_FAIL_IF(f, g->dims[0] != j.units * windows || g->dims[1] != pixels, PyExc_ValueError,
                "neighbours_sum: %ld rows of %ld, where there are %ld of %ld", (long)g->dims[0], (long)g->dims[1],
                (long)(j.units * windows), (long)pixels);
    THN_FAIL_IF(f, !thn_is_c_contiguous(g), PyExc_ValueError, "neighbours_sum: rows that are not contiguous");
    return thn_out_alloc(f, THN_OUT(f, ins, 0), x->dims) < 0
               ? -1
               : keep(f, ins, &j, (double)(windows * pixels + j.rows.size * j.columns.size));
}

static int neighbours_sum_execute(ThnFrame *f, const ThnInstr *ins)
{
    Job *j = f->scratch[ins->index].ptr;
    j->images = THN_OUT(f, ins, 0);
    j->neighbours = THN_IN(f, ins, 1)->data;
    thn_parallel_ranges(j->units, j->per_task, sum_some, j);
    return 0;
}

THN_INSTRUCTION(neighbours, neighbours_check, neighbours_prepare, neighbours_execute)
THN_INSTRUCTION(neighbours_sum, neighbours_sum_check, neighbours_sum_prepare, neighbours_sum_execute)
