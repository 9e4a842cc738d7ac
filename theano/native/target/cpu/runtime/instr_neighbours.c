/* Instructions: the neighbourhoods of pixels as rows, and to each pixel the sum over its neighbourhoods. */
#include "vm.h"
#include "pool.h"
#include "tables.h"
#include "threads.h"

#define PART 16384 /* elements from which on another thread may take a share */

#define CALL 16            /* elements that are copied in the time of finding out where to copy some */
#define MOST_PADDED 1e9    /* elements of padded lines */

/* One axis of the images. */
typedef struct {
    npy_intp size, length, step, before, count; /* of the image, a window, between windows; what is before and behind it; windows */
} Axis;

typedef struct {
    Axis rows, columns;
    int wrapped, as_they_lie; /* pixels are read where they are: nothing is around them, and lines are dense */
    int apart;                /* windows are far apart: each is read alone */
    const ThnCell *images;    /* read, or written to */
    char *neighbours;         /* (image, window row, window column, row, column) */
    npy_intp units, per_task;
    thn_range_fn some;        /* does some of the units */
} Job;

/* The two positive numbers of an operand; an error if it has others, or larger ones than products of two can be. */
static int two(ThnFrame *f, const ThnCell *c, const char *name, npy_intp *v)
{
    const ThnReadInt get = thn_int_reader(c->typenum);
    if (c->dims[0] == 2) {
        v[0] = (npy_intp)get(c->data);
        v[1] = (npy_intp)get(c->data + c->strides[0]);
    }
    THN_FAIL_IF(f, c->dims[0] != 2 || v[0] <= 0 || v[1] <= 0 || v[0] > INT32_MAX || v[1] > INT32_MAX, PyExc_ValueError,
                "%s must be two positive numbers below 2**31", name);
    return 0;
}

static const char *const mode_names[] = {"valid", "ignore_borders", "wrap_centered", "half", "full"};

/* How windows lie along an axis; an error if they do not fit. */
static int lay_out(ThnFrame *f, Axis *a, int mode, const char *what)
{
    const npy_intp size = a->size, length = a->length, step = a->step;
    const int wrapped = mode == THN_WindowBorder_WRAP_CENTERED;
    a->before = mode == THN_WindowBorder_FULL ? length - 1 : mode == THN_WindowBorder_HALF || wrapped ? length / 2 : 0;
    THN_FAIL_IF(f, wrapped && length % 2 == 0, PyExc_TypeError,
                "Images2Neibs: in mode wrap_centered neib_shape must be odd, got %ld %s", (long)length, what);
    THN_FAIL_IF(f, wrapped && size < length, PyExc_TypeError,
                "Images2Neibs: in mode wrap_centered images of %ld %s are smaller than neib_shape, %ld", (long)size, what, (long)length);
    const npy_intp rest = wrapped ? size - 1 : size + 2 * a->before - length;
    THN_FAIL_IF(f, !wrapped && mode != THN_WindowBorder_IGNORE_BORDERS && (rest < 0 || rest % step), PyExc_TypeError,
                "Images2Neibs: in mode %s neib_shape, %ld %s, and neib_step, %ld, do not cover images of %ld %s", mode_names[mode],
                (long)length, what, (long)step, (long)size, what);
    a->count = rest < 0 ? 0 : rest / step + 1;
    return 0;
}

static int describe(ThnFrame *f, Job *j, int mode, const ThnCell *images, const ThnCell *shape, const ThnCell *step)
{
    npy_intp lengths[2], steps[2];
    THN_TRY(two(f, shape, "neib_shape", lengths));
    THN_TRY(two(f, step, "neib_step", steps));
    j->rows = (Axis){.size = images->dims[2], .length = lengths[0], .step = steps[0]};
    j->columns = (Axis){.size = images->dims[3], .length = lengths[1], .step = steps[1]};
    j->wrapped = mode == THN_WindowBorder_WRAP_CENTERED;
    THN_TRY(lay_out(f, &j->rows, mode, "rows"));
    return lay_out(f, &j->columns, mode, "columns");
}

/* `n` pixels of a line from `column` on, with what is around it: zeros, or the pixels of the opposite border. */
static void pad(const Job *j, const char *image, npy_intp at, npy_intp column, npy_intp n, char *to)
{
    const Axis *r = &j->rows, *c = &j->columns;
    const npy_intp item = j->images->itemsize, stride = j->images->strides[3];
    at = j->wrapped ? (at + r->size) % r->size : at;
    const npy_intp size = at < 0 || at >= r->size ? 0 : c->size; /* a line that is not there has no pixels */
    for (npy_intp m; n > 0; n -= m, column += m, to += m * item) {
        const npy_intp from = j->wrapped ? (column + size) % size : column;
        m = thn_least(from < 0 ? -from : from < size ? size - from : n, n);
        if (from < 0 || from >= size) {
            memset(to, 0, (size_t)(m * item));
        } else {
            thn_copy_inner((int)item)(m, to, item, image + at * j->images->strides[2] + from * stride, stride);
        }
    }
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

/* Rows of windows. Lines are padded one by one, as many as a window has at a time, each for all windows of this range; where windows
 * are far apart, only what is in them. */
static int gather_some(void *ctx, npy_intp unit, npy_intp end)
{
    const Job *j = ctx;
    const ThnCell *x = j->images;
    const Axis *r = &j->rows, *c = &j->columns;
    const npy_intp item = x->itemsize, bytes = c->length * item, next = r->length * bytes, width = c->size + 2 * c->before;
    const int padded = !j->as_they_lie && !j->apart;
    THN_POOLED char *lines = padded ? thn_pool_alloc((size_t)(r->length * width * item)) : NULL;
    THN_NEED(lines || !padded);
    for (npy_intp done = 0; unit < end; unit++) {
        const npy_intp image = unit / r->count, first = unit % r->count * r->step;
        const char *pixels = x->data + image / x->dims[1] * x->strides[0] + image % x->dims[1] * x->strides[1];
        char *out = j->neighbours + unit * c->count * next;
        done = first ? done : 0;
        for (npy_intp k = first; k < first + r->length; k++, out += bytes) {
            char *line = lines + k % r->length * width * item;
            if (lines && k >= done) {
                pad(j, pixels, k - r->before, -c->before, width, line);
                done = k + 1;
            }
            for (npy_intp b = 0; j->apart && b < c->count; b++) {
                pad(j, pixels, k - r->before, b * c->step - c->before, c->length, out + b * next);
            }
            if (!j->apart) {
                gather(lines ? line : pixels + k * x->strides[2], c->step * item, c->count, bytes, out, next);
            }
        }
    }
    return 0;
}

/* Adds one row of all windows to a line of pixels. Where windows overlap, one pixel of all of them after another: no sum waits for
 * the last. */
#define DEFINE_ADD(T)                                                                                     \
    static void add_##T(const Axis *c, T *restrict line, const T *restrict p, npy_intp next)              \
    {                                                                                                     \
        const npy_intp step = c->step, length = c->length, count = c->count;                              \
        for (npy_intp k = 0; step < length && k < length; k++) {                                          \
            _Pragma("GCC unroll 4") for (npy_intp b = 0; b < count; b++) {                                \
                line[b * step + k] += p[b * next + k];                                                    \
            }                                                                                             \
        }                                                                                                 \
        for (npy_intp b = 0; step >= length && b < count; b++) {                                          \
            for (npy_intp k = 0; k < length; k++) {                                                       \
                line[b * step + k] += p[b * next + k];                                                    \
            }                                                                                             \
        }                                                                                                 \
    }
DEFINE_ADD(float)
DEFINE_ADD(double)

/* Each pixel of an image is the sum over the windows, which are all within it. */
static int sum_some(void *ctx, npy_intp begin, npy_intp end)
{
    const Job *j = ctx;
    const Axis *r = &j->rows, *c = &j->columns;
    const npy_intp item = j->images->itemsize, below = c->size * item, bytes = c->length * item, next = r->length * bytes;
    for (npy_intp image = begin; image < end; image++) {
        char *out = j->images->data + image * r->size * below;
        memset(out, 0, (size_t)(r->size * below));
        const char *p = j->neighbours + image * r->count * c->count * next;
        for (npy_intp a = 0; a < r->count; a++, p += c->count * next - r->length * bytes) {
            for (npy_intp k = 0; k < r->length; k++, p += bytes) {
                char *line = out + (a * r->step + k) * below;
                if (j->images->typenum == NPY_FLOAT) {
                    add_float(c, (float *)line, (const float *)p, next / item);
                } else {
                    add_double(c, (double *)line, (const double *)p, next / item);
                }
            }
        }
    }
    return 0;
}

/* Keeps a job with the instruction; its units are shared by threads. */
static int keep(ThnFrame *f, const ThnInstr *ins, Job *j, double each)
{
    Job *kept = thn_scratch(f, ins, sizeof *kept);
    THN_NEED(kept);
    j->per_task = thn_most(j->per_task, each > 0 && each < PART ? (npy_intp)(PART / each) : 1);
    *kept = *j;
    f->work = each * (double)j->units;
    return 0;
}

/* ---- neighbours */

static int neighbours_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *x = THN_IN(f, ins, 0);
    Job j = {.some = gather_some, .images = x};
    THN_TRY(describe(f, &j, ((const thn_neighbours_params *)ins->data)->mode, x, THN_IN(f, ins, 1), THN_IN(f, ins, 2)));
    npy_intp dims[2] = {0, j.rows.length * j.columns.length};
    THN_FAIL_IF(f,
                __builtin_mul_overflow(x->dims[0] * x->dims[1], j.rows.count, &j.units) || __builtin_mul_overflow(j.units, j.columns.count, &dims[0]),
                PyExc_MemoryError, "Images2Neibs: too many windows");
    THN_TRY(thn_out_alloc(f, THN_OUT(f, ins, 0), dims));
    j.neighbours = THN_OUT(f, ins, 0)->data;
    j.as_they_lie = !j.rows.before && !j.columns.before && (x->strides[3] == x->itemsize || x->dims[3] < 2);
    const double width = (double)(j.columns.size + 2 * j.columns.before), length = (double)j.rows.length;
    const double alone = length * (double)j.columns.count * (double)(j.columns.length + CALL);
    const double padded = (double)thn_least(j.rows.step, j.rows.length) * width;
    j.apart = !j.as_they_lie && (alone < padded || length * width > MOST_PADDED);
    /* Each task pads all lines of its first windows. */
    j.per_task = j.as_they_lie || j.apart ? 1 : thn_least(j.rows.length, j.units / 4);
    return keep(f, ins, &j, (double)(j.columns.count * dims[1]));
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
    Job j = {.some = sum_some, .images = THN_OUT(f, ins, 0), .neighbours = g->data, .units = x->dims[0] * x->dims[1]};
    THN_TRY(describe(f, &j, ((const thn_neighbours_sum_params *)ins->data)->mode, x, THN_IN(f, ins, 2), THN_IN(f, ins, 3)));
    const npy_intp windows = j.rows.count * j.columns.count, pixels = j.rows.length * j.columns.length;
    THN_FAIL_IF(f, g->dims[0] != j.units * windows || g->dims[1] != pixels, PyExc_ValueError,
                "neighbours_sum: %ld rows of %ld, where there are %ld of %ld", (long)g->dims[0], (long)g->dims[1],
                (long)(j.units * windows), (long)pixels);
    THN_FAIL_IF(f, !thn_is_c_contiguous(g), PyExc_ValueError, "neighbours_sum: rows that are not contiguous");
    THN_TRY(thn_out_alloc(f, THN_OUT(f, ins, 0), x->dims));
    return keep(f, ins, &j, (double)(windows * pixels + j.rows.size * j.columns.size));
}

/* ---- either */

static int neighbours_execute(ThnFrame *f, const ThnInstr *ins)
{
    Job *j = f->scratch[ins->index].ptr;
    THN_FAIL_IF(f, thn_parallel_ranges(j->units, j->per_task, j->some, j) < 0, PyExc_MemoryError, "Images2Neibs: out of memory");
    return 0;
}

THN_INSTRUCTION(neighbours, NULL, neighbours_prepare, neighbours_execute)
THN_INSTRUCTION(neighbours_sum, neighbours_sum_check, neighbours_sum_prepare, neighbours_execute)
