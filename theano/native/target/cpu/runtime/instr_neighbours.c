/* Instructions: the neighbourhoods of pixels as rows, and to each pixel the sum over its neighbourhoods. */
#include "vm.h"
#include "tables.h"
#include "threads.h"

#define PART 16384 /* elements from which on another thread may take a share */

/* One axis of the images. */
typedef struct {
    npy_intp size, length, step, before, count; /* of the image, a window, between windows; what is before and behind it; windows */
} Axis;

typedef struct {
    Axis rows, columns;
    int wrapped;
    const ThnCell *images;  /* read, or written to */
    char *lines;            /* room for dense images with what is around them; NULL: they are read where they are */
    int apart;              /* windows hold fewer pixels than there are: each is read by itself */
    char *neighbours;       /* (image, window row, window column, row, column) */
    npy_intp units, per_task;
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
    return axis_fits(f, &j->rows, mode, "rows") && axis_fits(f, &j->columns, mode, "columns");
}

static char *image_of(const ThnCell *x, npy_intp image)
{
    return x->data + image / x->dims[1] * x->strides[0] + image % x->dims[1] * x->strides[1];
}

/* What is there of an axis. */
static npy_intp padded(const Axis *a)
{
    return a->size + 2 * a->before;
}

/* Lines with what is around them: zeros, or the pixels of the opposite border. */
static int pad_some(void *ctx, npy_intp begin, npy_intp end)
{
    const Job *j = ctx;
    const Axis *r = &j->rows, *c = &j->columns;
    const npy_intp item = j->images->itemsize, stride = j->images->strides[3], bytes = padded(c) * item, edge = c->before * item;
    const ThnInner copy = thn_copy_inner((int)item);
    for (npy_intp k = begin; k < end; k++) {
        char *line = j->lines + k * bytes;
        npy_intp at = k % padded(r) - r->before;
        at = j->wrapped ? (at + r->size) % r->size : at;
        memset(line, 0, (size_t)bytes);
        if (at < 0 || at >= r->size) {
            continue;
        }
        const char *p = image_of(j->images, k / padded(r)) + at * j->images->strides[2];
        copy(c->size, line + edge, item, p, stride);
        if (j->wrapped) {
            copy(c->before, line, item, p + (c->size - c->before) * stride, stride);
            copy(c->before, line + edge + c->size * item, item, p, stride);
        }
    }
    return 0;
}

#define FEW(N)                                                             \
    case N:                                                                \
        for (npy_intp b = 0; b < count; b++, p += step, q += next) {       \
            memcpy(q, p, N);                                               \
        }                                                                  \
        break;

/* One row of the windows along a line, of `bytes` each. Few bytes are copied by their number: a copy of any length would take longer
 * than they do. */
static void gather(const char *p, npy_intp step, npy_intp count, npy_intp bytes, char *q, npy_intp next)
{
    switch (bytes) {
        FEW(1) FEW(2) FEW(3) FEW(4) FEW(5) FEW(6) FEW(7) FEW(8) FEW(10) FEW(12) FEW(14) FEW(16) FEW(20) FEW(24) FEW(28) FEW(32)
        FEW(40) FEW(48) FEW(56) FEW(64)
    default:
        for (npy_intp b = 0; b < count; b++, p += step, q += next) {
            memcpy(q, p, (size_t)bytes);
        }
    }
}

/* A row of a window that begins at such a pixel of a line, or before it. */
static void take(const Job *j, const char *line, npy_intp start, char *to)
{
    const Axis *c = &j->columns;
    const npy_intp item = j->images->itemsize, stride = j->images->strides[3];
    for (npy_intp k = 0, n; k < c->length; k += n, to += n * item) {
        const npy_intp left = c->length - k, at = j->wrapped ? (start + k + c->size) % c->size : start + k;
        if (at < 0 || at >= c->size) {
            n = at < 0 ? thn_least(-at, left) : left;
            memset(to, 0, (size_t)(n * item));
        } else {
            n = thn_least(c->size - at, left);
            thn_copy_inner((int)item)(n, to, item, line + at * stride, stride);
        }
    }
}

/* Rows of windows, pixels of which are read where they are. */
static int take_some(void *ctx, npy_intp begin, npy_intp end)
{
    const Job *j = ctx;
    const Axis *r = &j->rows, *c = &j->columns;
    const npy_intp bytes = c->length * j->images->itemsize;
    for (npy_intp unit = begin; unit < end; unit++) {
        const char *image = image_of(j->images, unit / r->count);
        char *out = j->neighbours + unit * c->count * r->length * bytes;
        for (npy_intp i = 0; i < c->count * r->length; i++, out += bytes) {
            npy_intp at = unit % r->count * r->step - r->before + i % r->length;
            at = j->wrapped ? (at + r->size) % r->size : at;
            if (at < 0 || at >= r->size) {
                memset(out, 0, (size_t)bytes);
            } else {
                take(j, image + at * j->images->strides[2], i / r->length * c->step - c->before, out);
            }
        }
    }
    return 0;
}

/* Rows of windows. */
static int gather_some(void *ctx, npy_intp begin, npy_intp end)
{
    const Job *j = ctx;
    const Axis *r = &j->rows, *c = &j->columns;
    const npy_intp item = j->images->itemsize, bytes = c->length * item, next = r->length * bytes;
    const npy_intp below = j->lines ? padded(c) * item : j->images->strides[2];
    for (npy_intp unit = begin; unit < end; unit++) {
        const npy_intp image = unit / r->count;
        const char *line = j->lines ? j->lines + image * padded(r) * below : image_of(j->images, image);
        char *out = j->neighbours + unit * c->count * next;
        line += unit % r->count * r->step * below;
        for (npy_intp i = 0; i < r->length; i++, line += below, out += bytes) {
            gather(line, c->step * item, c->count, bytes, out, next);
        }
    }
    return 0;
}

#define DEFINE_ADD(T)                                                                                    \
    static inline void add_##T(npy_intp n, char *to, npy_intp to_step, const char *from, npy_intp step)  \
    {                                                                                                    \
        for (; n > 0; n--, to += to_step, from += step) {                                                \
            *(T *)to += *(const T *)from;                                                                \
        }                                                                                                \
    }

DEFINE_ADD(float)
DEFINE_ADD(double)

/* Each pixel of an image is the sum over the windows, which are all within it. */
static int sum_some(void *ctx, npy_intp begin, npy_intp end)
{
    const Job *j = ctx;
    const Axis *r = &j->rows, *c = &j->columns;
    const npy_intp item = j->images->itemsize, below = c->size * item, bytes = c->length * item, step = c->step * item;
    const npy_intp next = r->length * bytes;
    const int overlap = step < bytes;
    const ThnInner add = thn_add_inner(j->images->typenum);
    for (npy_intp image = begin; image < end; image++) {
        char *out = j->images->data + image * r->size * below;
        memset(out, 0, (size_t)(r->size * below));
        const char *p = j->neighbours + image * r->count * c->count * next;
        for (npy_intp a = 0; a < r->count; a++, p += c->count * next - r->length * bytes) {
            for (npy_intp k = 0; k < r->length; k++, p += bytes) {
                char *line = out + (a * r->step + k) * below;
                /* Where they overlap, one pixel of all windows after another: no sum waits for the last. */
                for (npy_intp i = 0; overlap && i < c->length; i++) {
                    (item == 4 ? add_float : add_double)(c->count, line + i * item, step, p + i * item, next);
                }
                for (npy_intp b = 0; !overlap && b < c->count; b++) {
                    add(c->length, line + b * step, item, p + b * next, item);
                }
            }
        }
    }
    return 0;
}

/* Keeps a job with the instruction, and room behind it; its units are shared by threads. */
static int keep(ThnFrame *f, const ThnInstr *ins, Job *j, double each, npy_intp room)
{
    Job *kept = thn_scratch(f, ins, sizeof *kept + (size_t)room);
    THN_NEED(kept);
    j->per_task = each > 0 && each < PART ? (npy_intp)(PART / each) : 1;
    *kept = *j;
    kept->lines = room ? (char *)(kept + 1) : NULL;
    f->work = each * (double)j->units;
    return 0;
}

/* ---- neighbours */

static int neighbours_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *x = THN_IN(f, ins, 0);
    Job j = {.units = 0};
    if (!job_fits(f, &j, ((const thn_neighbours_params *)ins->data)->mode, x, THN_IN(f, ins, 1), THN_IN(f, ins, 2))) {
        return -1;
    }
    npy_intp dims[2] = {0, j.rows.length * j.columns.length};
    THN_FAIL_IF(f,
                __builtin_mul_overflow(x->dims[0] * x->dims[1], j.rows.count, &j.units) || __builtin_mul_overflow(j.units, j.columns.count, &dims[0]),
                PyExc_MemoryError, "Images2Neibs: too many windows");
    THN_TRY(thn_out_alloc(f, THN_OUT(f, ins, 0), dims));
    const int in_place = !j.rows.before && !j.columns.before && (x->strides[3] == x->itemsize || x->dims[3] < 2);
    const double all = (double)padded(&j.rows) * (double)padded(&j.columns);
    j.apart = !in_place && (double)j.rows.count * (double)j.columns.count * (double)dims[1] < all;
    return keep(f, ins, &j, (double)(j.columns.count * dims[1]),
                in_place || j.apart ? 0 : x->dims[0] * x->dims[1] * padded(&j.rows) * padded(&j.columns) * x->itemsize);
}

static int neighbours_execute(ThnFrame *f, const ThnInstr *ins)
{
    Job *j = f->scratch[ins->index].ptr;
    j->images = THN_IN(f, ins, 0);
    j->neighbours = THN_OUT(f, ins, 0)->data;
    if (j->lines) {
        thn_parallel_ranges(j->images->dims[0] * j->images->dims[1] * padded(&j->rows), PART / (padded(&j->columns) + 1) + 1, pad_some, j);
    }
    thn_parallel_ranges(j->units, j->per_task, j->apart ? take_some : gather_some, j);
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
    Job j = {.units = x->dims[0] * x->dims[1]};
    if (!job_fits(f, &j, ((const thn_neighbours_sum_params *)ins->data)->mode, x, THN_IN(f, ins, 2), THN_IN(f, ins, 3))) {
        return -1;
    }
    const npy_intp windows = j.rows.count * j.columns.count, pixels = j.rows.length * j.columns.length;
    THN_FAIL_IF(f, g->dims[0] != j.units * windows || g->dims[1] != pixels, PyExc_ValueError,
                "neighbours_sum: %ld rows of %ld, where there are %ld of %ld", (long)g->dims[0], (long)g->dims[1],
                (long)(j.units * windows), (long)pixels);
    THN_FAIL_IF(f, !thn_is_c_contiguous(g), PyExc_ValueError, "neighbours_sum: rows that are not contiguous");
    return thn_out_alloc(f, THN_OUT(f, ins, 0), x->dims) < 0
               ? -1
               : keep(f, ins, &j, (double)(windows * pixels + j.rows.size * j.columns.size), 0);
}

static int neighbours_sum_execute(ThnFrame *f, const ThnInstr *ins)
{
    Job *j = f->scratch[ins->index].ptr;
    j->images = THN_OUT(f, ins, 0);
    j->neighbours = THN_IN(f, ins, 1)->data;
    thn_parallel_ranges(j->units, j->per_task, sum_some, j);
    return 0;
}

THN_INSTRUCTION(neighbours, NULL, neighbours_prepare, neighbours_execute)
THN_INSTRUCTION(neighbours_sum, neighbours_sum_check, neighbours_sum_prepare, neighbours_sum_execute)
