/* Instructions: pooling and its gradients, see pooling.h for the loops over rows.
 *
 * A row is what lies along the last axis. The row of a result is made of the rows of the images that its windows cover along the
 * other pooled axes: these are combined first, then what comes out of it along the row. */
#include "vm.h"
#include "copy.h"
#include "plan.h"
#include "pool.h"
#include "pooling.h"
#include "threads.h"

typedef ThnPoolAxis Axis;

typedef struct {
    int nd, lead;               /* pooled dims, those before them */
    int run;                    /* images are taken as rows */
    Axis axes[THN_MAXDIM];
    npy_intp planes, lines;     /* images; rows of a result in each */
    int typenum;                /* in which is computed */
    npy_intp parts, length;     /* gradients: parts of an image, and how long they are along its first pooled axis */
    npy_intp tasks, per;        /* and units of work in each */
    npy_intp sizes[];           /* elements of windows along the row, as averages count them */
} State;

/* The fields that all have begin the same. */
typedef thn_pool_params Params;

static int mode_of(const ThnInstr *ins)
{
    const int has_mode = ins->def->code == THN_OP_pool || ins->def->code == THN_OP_pool_sum_gradient;
    return has_mode ? ((const Params *)ins->data)->mode : THN_PoolMode_MAX;
}

static int pool_check(ThnProgram *p, ThnInstr *ins)
{
    const Params *params = ins->data;
    const ThnCellSpec *x = &p->cells[ins->ins[0]];
    const int arrays = ins->nin - 3;
    int ok = arrays >= 1 && params->ndim >= 1 && params->ndim <= x->ndim && !PyTypeNum_ISCOMPLEX(x->typenum);
    ok = ok && thn_cast_inner(NPY_DOUBLE, x->typenum) && p->cells[ins->outs[0]].typenum == x->typenum;
    for (int k = 0; ok && k < ins->nin; k++) {
        const ThnCellSpec *cell = &p->cells[ins->ins[k]];
        ok = k < arrays ? cell->typenum == x->typenum && cell->ndim == x->ndim
                        : cell->ndim == 1 && thn_int_reader(cell->typenum) != NULL;
    }
    return thn_fits(ins, ok);
}

static npy_intp ceiling(npy_intp a, npy_intp b)
{
    return a > 0 ? (a + b - 1) / b : -(-a / b);
}

static npy_intp windows_along(const Axis *a, int ignore_border)
{
    if (ignore_border) {
        const npy_intp room = a->n + 2 * a->p - a->w;
        return room < 0 ? 0 : room / a->s + 1;
    }
    return thn_least(thn_most(ceiling(a->n - a->w, a->s), 0) + 1, ceiling(a->n, a->s));
}

/* The elements that window j covers, `padded`: those of the padding, too. */
static npy_intp first_of(const Axis *a, npy_intp j)
{
    return thn_most(j * a->s - a->p, 0);
}

static npy_intp end_of(const Axis *a, npy_intp j)
{
    return thn_least(j * a->s - a->p + a->w, a->n);
}

static npy_intp size_of(const Axis *a, npy_intp j, int padded)
{
    const npy_intp start = j * a->s - a->p;
    const npy_intp size = padded ? thn_least(start + a->w, a->n + a->p) - start : end_of(a, j) - first_of(a, j);
    return thn_most(size, 1);
}

/* The first window that covers element i, if any does. */
static npy_intp first_window(const Axis *a, npy_intp i)
{
    return thn_most(ceiling(i + a->p - a->w + 1, a->s), 0);
}

/* Reads and checks the windows. */
static int read_axes(ThnFrame *f, const ThnInstr *ins, Axis *axes, const ThnCell *x)
{
    static const char *names[] = {"window", "stride", "padding"};
    const Params *params = ins->data;
    const int nd = params->ndim, mode = mode_of(ins);
    /* A window of nothing but padding has a sum, but no maximum. */
    const int zeros_count = mode == THN_PoolMode_SUM || mode == THN_PoolMode_AVERAGE_INC_PAD;
    for (int v = 0; v < 3; v++) {
        const ThnCell *vector = THN_IN(f, ins, ins->nin - 3 + v);
        const ThnReadInt get = thn_int_reader(vector->typenum);
        THN_FAIL_IF(f, vector->dims[0] != nd, PyExc_ValueError,
                    "the %s must have a length for each of the %d axes that are pooled, got %lld", names[v], nd,
                    (long long)vector->dims[0]);
        for (int i = 0; i < nd; i++) {
            const npy_intp value = (npy_intp)get(vector->data + i * vector->strides[0]);
            *(v == 0 ? &axes[i].w : v == 1 ? &axes[i].s : &axes[i].p) = value;
            THN_FAIL_IF(f, v < 2 && value < 1, PyExc_ValueError, "the %s of a pooling must be positive, got %lld", names[v],
                        (long long)value);
        }
    }
    for (int i = 0; i < nd; i++) {
        Axis *a = &axes[i];
        const npy_intp limit = (npy_intp)1 << 48;
        THN_FAIL_IF(f, a->p < 0, PyExc_ValueError, "the padding of a pooling must not be negative, got %lld", (long long)a->p);
        THN_FAIL_IF(f, a->p && !params->ignore_border, PyExc_ValueError, "padding works only with ignore_border=True");
        THN_FAIL_IF(f, a->p >= a->w && !zeros_count, PyExc_ValueError, "the padding (%lld) must be smaller than the window (%lld)",
                    (long long)a->p, (long long)a->w);
        a->n = x->dims[x->ndim - nd + i];
        a->w = thn_least(a->w, limit);
        a->s = thn_least(a->s, limit);
        a->p = thn_least(a->p, limit);
        a->count = windows_along(a, params->ignore_border);
        if (a->count == 1) {
            /* Nothing lies beyond the first window. */
            a->w = thn_least(a->w, a->n + 2 * a->p);
            a->s = a->w;
        }
    }
    return 0;
}

static int computed_in(int typenum)
{
    return typenum == NPY_HALF || typenum == NPY_FLOAT                    ? NPY_FLOAT
           : typenum == NPY_DOUBLE                                        ? NPY_DOUBLE
           : PyTypeNum_ISUNSIGNED(typenum) || PyTypeNum_ISBOOL(typenum) ? NPY_UINT64
                                                                          : NPY_INT64;
}

static int same_dims(ThnFrame *f, const char *name, const ThnCell *cell, const npy_intp *dims)
{
    if (memcmp(cell->dims, dims, sizeof *dims * (size_t)cell->ndim) == 0) {
        return 0;
    }
    return thn_error(f, PyExc_ValueError, "%s has the shape %s, expected %s", name, THN_SHAPE(cell->ndim, cell->dims), THN_SHAPE(cell->ndim, dims));
}

/* Whether an image is one run in memory. */
static int is_run(const ThnCell *cell, int nd)
{
    npy_intp expected = cell->itemsize;
    for (int i = cell->ndim - 1; i >= cell->ndim - nd; i--) {
        if (cell->dims[i] != 1 && cell->strides[i] != expected) {
            return 0;
        }
        expected *= cell->dims[i];
    }
    return 1;
}

/* Where one window covers a whole image, the pooled axes are one; `sizes` gets the window's. */
static void merge_axes(State *s, int padded)
{
    Axis *a = s->axes;
    npy_intp n = 1, size = 1;
    for (int i = 0; i < s->nd; i++) {
        if (a[i].count != 1 || a[i].w - a[i].p < a[i].n) {
            return;
        }
        n *= a[i].n;
        size *= size_of(&a[i], 0, padded);
    }
    if (n > 0) {
        s->nd = 1;
        s->axes[0] = (Axis){n, 1, n, n, 0};
        s->sizes[0] = size;
        s->lines = 1;
        s->run = 1;
    }
}

static int pool_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const Params *params = ins->data;
    const ThnCell *x = THN_IN(f, ins, 0);
    const int nd = params->ndim, lead = x->ndim - nd, code = ins->def->code;
    const int is_gradient = code == THN_OP_pool_max_gradient || code == THN_OP_pool_sum_gradient;
    Axis axes[THN_MAXDIM];
    npy_intp dims[THN_MAXDIM], window = 1;
    THN_TRY(read_axes(f, ins, axes, x));
    const npy_intp count = axes[nd - 1].count;
    State *s = thn_scratch(f, ins, sizeof *s + sizeof *s->sizes * (size_t)count);
    THN_NEED(s);
    s->nd = nd;
    s->lead = lead;
    s->run = 0;
    memcpy(s->axes, axes, sizeof *axes * (size_t)nd);
    s->planes = s->lines = 1;
    for (int i = 0; i < x->ndim; i++) {
        dims[i] = i < lead ? x->dims[i] : axes[i - lead].count;
        s->planes *= i < lead ? dims[i] : 1;
        s->lines *= i >= lead && i < x->ndim - 1 ? dims[i] : 1;
    }
    for (int i = 0; i < nd; i++) {
        window *= thn_least(axes[i].w, axes[i].n + 1);
    }
    const int padded = mode_of(ins) == THN_PoolMode_AVERAGE_INC_PAD;
    for (npy_intp j = 0; j < count; j++) {
        s->sizes[j] = size_of(&axes[nd - 1], j, padded);
    }
    s->typenum = computed_in(x->typenum);
    if (code == THN_OP_pool_max_gradient || code == THN_OP_pool_pick) {
        THN_TRY(same_dims(f, "the array of maxima", THN_IN(f, ins, 1), dims));
    }
    if (is_gradient && same_dims(f, "the gradient", THN_IN(f, ins, ins->nin - 4), dims) < 0) {
        return -1;
    }
    if (code == THN_OP_pool_pick && same_dims(f, "what is picked from", THN_IN(f, ins, 2), x->dims) < 0) {
        return -1;
    }
    if (is_run(x, nd) && (code != THN_OP_pool_pick || is_run(THN_IN(f, ins, 2), nd))) {
        merge_axes(s, padded);
    }
    THN_TRY(thn_out_alloc(f, THN_OUT(f, ins, 0), is_gradient ? x->dims : dims));
    const double each = x->typenum == s->typenum ? 0.1 : 1.0;
    f->work = each * ((double)s->planes * (double)s->lines * (double)count * (double)window + 2 * (double)thn_size(x));
    npy_intp units = s->planes * s->lines;
    s->parts = s->length = 1;
    if (is_gradient) {
        /* Images, or where these are few parts of them. */
        const npy_intp wanted = thn_worth(f->work, 64), first = s->nd > 1 ? axes[0].n : 1;
        s->parts = s->planes >= wanted || !s->planes || !first ? 1 : thn_least((wanted + s->planes - 1) / s->planes, first);
        s->length = first ? (first + s->parts - 1) / s->parts : 1;
        s->parts = first ? (first + s->length - 1) / s->length : 1;
        units = s->planes * s->parts;
    }
    const npy_intp tasks = thn_most(thn_worth(f->work, units), 1);
    s->per = thn_most((units + tasks - 1) / tasks, 1);
    s->tasks = (units + s->per - 1) / s->per;
    return 0;
}

/* ---- rows of operands */

typedef struct {
    const ThnCell *cell;
    npy_intp n;               /* elements of a row */
    ThnInner convert;         /* NULL: rows are used where they are */
    npy_intp item, step;      /* of what is computed in; from element to element */
    npy_intp plane;           /* bytes from image to image; 0: these are not evenly spaced */
} Source;

typedef struct {
    const State *s;
    const ThnInstr *ins;
    const ThnPooling *loops;
    Source x, maxima, other;
    const ThnCell *out;
    ThnInner store;           /* to the output's dtype; NULL: it is computed in that */
    int mode, first;
    int pairs;                /* gradients of maxima of windows w = s = 2 along rows, none of which overlap */
    ThnPoolPlaneLoop planes;  /* gradients of maxima, by planes of one to three pooled axes; or NULL */
    atomic_int failed;
} Job;

static Source source_of(const State *s, const ThnCell *cell, npy_intp item, npy_intp n)
{
    const npy_intp step = s->run ? cell->itemsize : cell->strides[cell->ndim - 1];
    const int direct = cell->typenum == s->typenum && (step == item || n <= 1);
    npy_intp plane = 0, run = 1;
    for (int i = s->lead - 1; i >= 0; i--) {
        if (cell->dims[i] == 1) {
            continue;
        }
        if (run == 1) {
            plane = cell->strides[i];
        } else if (cell->strides[i] != plane * run) {
            plane = 0;
            break;
        }
        run *= cell->dims[i];
    }
    return (Source){cell, n, direct ? NULL : thn_cast_inner(s->typenum, cell->typenum), item, step, plane};
}

/* The row at `p`, perhaps copied to `buffer`. */
static const void *row_at(const Source *v, const char *p, void *buffer)
{
    if (!v->convert) {
        return p;
    }
    v->convert(v->n, buffer, v->item, p, v->step);
    return buffer;
}

static const char *plane_at(const State *s, const Source *v, npy_intp plane)
{
    const ThnCell *cell = v->cell;
    const char *p = cell->data;
    if (v->plane) {
        return p + plane * v->plane;
    }
    for (int i = s->lead - 1; i >= 0; i--) {
        p += plane % cell->dims[i] * cell->strides[i];
        plane /= cell->dims[i];
    }
    return p;
}

/* The row at these positions along the pooled axes but the last. */
static const char *line_at(const State *s, const ThnCell *cell, const char *plane, const npy_intp *at)
{
    for (int i = 0; i < s->nd - 1; i++) {
        plane += at[i] * cell->strides[s->lead + i];
    }
    return plane;
}

/* Steps through low..high of the pooled axes but the last; 0 at the end. */
static int next(int n, npy_intp *at, const npy_intp *low, const npy_intp *high)
{
    for (int i = n - 1; i >= 0; i--) {
        if (++at[i] < high[i]) {
            return 1;
        }
        at[i] = low[i];
    }
    return 0;
}

/* The range of the images' rows that a row of windows covers; how many these are. */
static npy_intp covered(const State *s, const npy_intp *windows, npy_intp *low, npy_intp *high)
{
    npy_intp rows = 1;
    for (int i = 0; i < s->nd - 1; i++) {
        low[i] = first_of(&s->axes[i], windows[i]);
        high[i] = end_of(&s->axes[i], windows[i]);
        rows *= thn_most(high[i] - low[i], 0);
    }
    return rows;
}

static npy_intp most_rows(const State *s)
{
    npy_intp rows = 1;
    for (int i = 0; i < s->nd - 1; i++) {
        rows *= thn_least(s->axes[i].w, s->axes[i].n);
    }
    return rows;
}

/* How many elements windows have along the pooled axes but the last, as averages count them. */
static npy_intp outer_size(const Job *job, const npy_intp *windows)
{
    npy_intp size = 1;
    for (int i = 0; i < job->s->nd - 1; i++) {
        size *= size_of(&job->s->axes[i], windows[i], job->mode == THN_PoolMode_AVERAGE_INC_PAD);
    }
    return size;
}

static int is_average(const Job *job)
{
    return job->mode == THN_PoolMode_AVERAGE_INC_PAD || job->mode == THN_PoolMode_AVERAGE_EXC_PAD;
}

/* ---- one row of results, from rows of the images */

typedef struct {
    char *block;
    const void **rows, **others;      /* of the images, and of what is picked from */
    char *row_buffer, *other_buffer, *maxima_buffer, *across, *z, *sizes, *spread, *picked;
    npy_intp across_length, picked_length;
} Line;

/* With what changes no maximum, no sum. */
static void fill_across(const Job *job, Line *l)
{
    if (job->mode == THN_PoolMode_MAX) {
        job->loops->fill_least(l->across, l->across_length);
    } else {
        memset(l->across, 0, (size_t)(l->across_length * job->loops->item));
    }
}

static int line_open(const Job *job, Line *l)
{
    const State *s = job->s;
    const Axis *a = &s->axes[s->nd - 1];
    const npy_intp rows = most_rows(s), taps = (a->w + a->s - 1) / a->s;
    const size_t item = (size_t)job->loops->item, row = (size_t)(rows * a->n) * item, result = (size_t)a->count * item;
    const int picks = job->maxima.cell && !job->first;
    l->across_length = thn_most(a->p + a->n, (a->count - 1) * a->s + a->w);
    l->picked_length = thn_most(l->across_length, a->count * a->s) + (taps - 1) * a->s;
    const size_t across = (size_t)l->across_length * item, picked = picks ? (size_t)l->picked_length * item : 0;
    l->block = THN_POOL_PARTS({&l->rows, (size_t)rows * sizeof(void *)}, {&l->others, (size_t)rows * sizeof(void *)},
                              {&l->row_buffer, job->x.convert ? row : 0}, {&l->other_buffer, job->other.convert ? row : 0},
                              {&l->maxima_buffer, result}, {&l->across, across}, {&l->z, result}, {&l->sizes, result},
                              {&l->spread, picked}, {&l->picked, picked});
    THN_NEED(l->block);
    fill_across(job, l);
    if (is_average(job)) {
        job->loops->fill_sizes(l->sizes, s->sizes, a->count);
    }
    memset(l->spread, 0, picked);
    l->spread += (taps - 1) * a->s * job->loops->item;
    return 0;
}

static void collect(const Job *job, const Source *v, const char *plane, const npy_intp *low, const npy_intp *high, npy_intp count,
                    const void **rows, char *buffer)
{
    npy_intp at[THN_MAXDIM];
    memcpy(at, low, sizeof *at * (size_t)(job->s->nd - 1));
    for (npy_intp r = 0; r < count; r++) {
        rows[r] = row_at(v, line_at(job->s, v->cell, plane, at), buffer + (v->convert ? r * v->n * v->item : 0));
        next(job->s->nd - 1, at, low, high);
    }
}

static void combine_line(const Job *job, Line *l, const npy_intp *windows, npy_intp rows, void *z)
{
    const Axis *a = &job->s->axes[job->s->nd - 1];
    const npy_intp item = job->loops->item;
    const int is_max = job->mode == THN_PoolMode_MAX;
    const void *across = l->across;
    if (rows == 1 && a->p == 0 && l->across_length == a->n) {
        across = l->rows[0];
    } else if (rows) {
        (is_max ? job->loops->rows_max : job->loops->rows_sum)(l->across + a->p * item, l->rows, rows, a->n);
    } else {
        fill_across(job, l);
    }
    (is_max ? job->loops->columns_max : job->loops->columns_sum)(z, across, a->count, a->w, a->s);
    if (is_average(job)) {
        job->loops->divide(z, z, l->sizes, outer_size(job, windows), a->count);
    }
}

static void pick_line(const Job *job, Line *l, const void *maxima, npy_intp rows, void *z)
{
    const ThnPooling *loops = job->loops;
    const Axis *a = &job->s->axes[job->s->nd - 1];
    const npy_intp item = loops->item, taps = (a->w + a->s - 1) / a->s, pitch = l->picked_length * item;
    memset(z, 0, (size_t)(a->count * item));
    if (!job->first) {
        loops->spread(l->spread, maxima, a->count, a->s, a->s);
        for (npy_intp t = 0; t < taps; t++) {
            memset(l->picked, 0, (size_t)pitch);
            for (npy_intp r = 0; r < rows; r++) {
                loops->pick(l->picked + a->p * item, l->rows[r], l->spread + (a->p - t * a->s) * item, l->others[r], a->n);
            }
            for (npy_intp k = t * a->s; k < thn_least((t + 1) * a->s, a->w); k++) {
                loops->add_strided(z, l->picked + k * item, a->count, a->s);
            }
        }
        return;
    }
    /* The first overwrites the others. */
    for (npy_intp r = rows - 1; r >= 0; r--) {
        for (npy_intp k = a->w - 1; k >= 0; k--) {
            const npy_intp start = k - a->p, low = thn_most(ceiling(-start, a->s), 0);
            const npy_intp high = thn_least(ceiling(a->n - start, a->s), a->count), from = (low * a->s + start) * item;
            if (low < high) {
                loops->replace_strided((char *)z + low * item, (const char *)l->rows[r] + from, (const char *)maxima + low * item,
                                       (const char *)l->others[r] + from, high - low, a->s);
            }
        }
    }
}

/* Images from `begin` on that one window covers each; 0 if they are not runs behind each other. */
static int whole_lines(const Job *job, npy_intp begin, npy_intp images)
{
    const State *s = job->s;
    const npy_intp n = s->axes[0].n, item = job->loops->item;
    if (!s->run || job->store || job->maxima.cell || job->x.convert || (s->planes > 1 && job->x.plane != n * item)) {
        return 0;
    }
    const char *x = job->x.cell->data + begin * n * item;
    char *z = job->out->data + begin * item, size[16] __attribute__((aligned(16)));
    job->loops->fill_sizes(size, s->sizes, 1);
    for (npy_intp i = 0; i < images; i++, x += n * item, z += item) {
        (job->mode == THN_PoolMode_MAX ? job->loops->columns_max : job->loops->columns_sum)(z, x, 1, n, n);
        if (is_average(job)) {
            job->loops->divide(z, z, size, 1, 1);
        }
    }
    return 1;
}

static void line_task(void *ctx, long task)
{
    Job *job = ctx;
    const State *s = job->s;
    const Axis *a = &s->axes[s->nd - 1];
    const int outer = s->nd - 1, picks = job->maxima.cell != NULL;
    const npy_intp begin = task * s->per, end = thn_least(begin + s->per, s->planes * s->lines);
    npy_intp windows[THN_MAXDIM], zeros[THN_MAXDIM] = {0}, counts[THN_MAXDIM], low[THN_MAXDIM], high[THN_MAXDIM];
    const char *x = NULL, *maxima = NULL, *other = NULL;
    if (whole_lines(job, begin, end - begin)) {
        return;
    }
    Line l;
    if (line_open(job, &l) < 0) {
        atomic_store(&job->failed, 1);
        return;
    }
    npy_intp rest = begin % s->lines;
    for (int i = outer - 1; i >= 0; i--) {
        counts[i] = s->axes[i].count;
        windows[i] = rest % counts[i];
        rest /= counts[i];
    }
    char *to = job->out->data + begin * a->count * job->out->itemsize;
    for (npy_intp line = begin; line < end; line++, to += a->count * job->out->itemsize) {
        if (line == begin || line % s->lines == 0) {
            x = plane_at(s, &job->x, line / s->lines);
            maxima = picks ? plane_at(s, &job->maxima, line / s->lines) : NULL;
            other = picks ? plane_at(s, &job->other, line / s->lines) : NULL;
        }
        const npy_intp rows = covered(s, windows, low, high);
        void *z = job->store ? l.z : to;
        collect(job, &job->x, x, low, high, rows, l.rows, l.row_buffer);
        if (picks) {
            collect(job, &job->other, other, low, high, rows, l.others, l.other_buffer);
            pick_line(job, &l, row_at(&job->maxima, line_at(s, job->maxima.cell, maxima, windows), l.maxima_buffer), rows, z);
        } else {
            combine_line(job, &l, windows, rows, z);
        }
        if (job->store) {
            job->store(a->count, to, job->out->itemsize, z, job->loops->item);
        }
        next(outer, windows, zeros, counts);
    }
    thn_pool_free(l.block);
}

/* ---- gradients: each row of results gives to the rows of the images that it covers */

typedef struct {
    char *block, *row_buffer, *maxima_buffer, *other_buffer, *sizes, *scaled, *sum, *gx;
    char *maxima, *g, *last;          /* spread out */
} Given;

static int given_open(const Job *job, Given *v, npy_intp taps, npy_intp plane)
{
    const State *s = job->s;
    const Axis *a = &s->axes[s->nd - 1];
    const npy_intp item = job->loops->item, before = (taps - 1) * a->s;
    const size_t length = (size_t)((before + thn_most(a->n + a->p, a->count * a->s) + THN_POOLING_BEYOND) * item);
    const size_t row = (size_t)(a->n * item), result = (size_t)(a->count * item);
    v->block = THN_POOL_PARTS({&v->maxima, length}, {&v->g, length}, {&v->last, length}, {&v->row_buffer, row}, {&v->sum, row},
                              {&v->sizes, result}, {&v->maxima_buffer, result}, {&v->other_buffer, result}, {&v->scaled, result},
                              {&v->gx, job->store ? (size_t)(plane * item) : 0});
    THN_NEED(v->block);
    char **const spread[] = {&v->maxima, &v->g, &v->last};
    for (int i = 0; i < 3; i++) {
        memset(*spread[i], 0, length);
        *spread[i] += before * item;
    }
    if (is_average(job)) {
        job->loops->fill_sizes(v->sizes, s->sizes, a->count);
    }
    return 0;
}

/* Whether each row of the images is covered. */
static int all_covered(const State *s)
{
    int all = s->axes[s->nd - 1].count > 0;
    for (int i = 0; i < s->nd - 1; i++) {
        const Axis *a = &s->axes[i];
        all = all && a->count > 0 && (a->s <= a->w || a->count == 1) && (a->count - 1) * a->s - a->p + a->w >= a->n;
    }
    return all;
}

/* Spreads out what a row of windows gives. */
static void spread_line(const Job *job, Given *v, npy_intp taps, const npy_intp *windows, const char *maxima, const char *other)
{
    const State *s = job->s;
    const Axis *a = &s->axes[s->nd - 1];
    const ThnPooling *loops = job->loops;
    const void *g = row_at(&job->other, line_at(s, job->other.cell, other, windows), v->other_buffer);
    if (is_average(job)) {
        loops->divide(v->scaled, g, v->sizes, outer_size(job, windows), a->count);
        g = v->scaled;
    }
    if (taps > 1) {
        loops->spread(v->g, g, a->count, a->s, a->s);
    }
    loops->spread(v->last, g, a->count, a->s, a->w - (taps - 1) * a->s);
    if (maxima) {
        const void *m = row_at(&job->maxima, line_at(s, job->maxima.cell, maxima, windows), v->maxima_buffer);
        loops->spread(v->maxima, m, a->count, a->s, a->s);
    } else {
        loops->sum_gradient(v->sum, v->g + a->p * loops->item, v->last + a->p * loops->item, a->n, taps, a->s);
    }
}

/* A part of an image at once. */
static void gradient_planes(const Job *job, npy_intp plane, npy_intp part_number)
{
    const State *s = job->s;
    const Axis one = {1, 1, 1, 1, 0}, *a = s->axes, *across = &a[s->nd - 1];
    const int deep = s->nd == 3;
    ThnPoolPlane p = {.across = *across, .down = s->nd > 1 ? a[s->nd - 2] : one, .gx_row = across->n * job->x.item};
    npy_intp steps[3][2] = {{0}}, begin = part_number * s->length, end = s->nd > 1 ? thn_least(begin + s->length, a[0].n) : 1;
    const Source *sources[] = {&job->x, &job->maxima, &job->other};
    const char *data[3], *maxima[THN_POOLING_ROWS], *g[THN_POOLING_ROWS];
    for (int k = 0; k < 3; k++) {
        data[k] = plane_at(s, sources[k], plane);
        for (int i = 0; i < s->nd - 1; i++) {
            steps[k][i + !deep] = sources[k]->cell->strides[s->lead + i];
        }
    }
    p.x_row = steps[0][1];
    p.maxima_row = steps[1][1];
    p.g_row = steps[2][1];
    p.maxima = maxima;
    p.g = g;
    p.begin = deep ? 0 : begin;
    p.end = deep ? p.down.n : end;
    p.gx = job->out->data + plane * (deep ? a[0].n : 1) * p.down.n * p.gx_row;
    if (!deep) {
        p.planes = 1;
        p.x = data[0];
        maxima[0] = data[1];
        g[0] = data[2];
        job->planes(&p);
        return;
    }
    for (npy_intp z = begin; z < end; z++) {
        p.planes = 0;
        for (npy_intp k = first_window(&a[0], z); k < a[0].count && first_of(&a[0], k) <= z; k++) {
            maxima[p.planes] = data[1] + k * steps[1][0];
            g[p.planes++] = data[2] + k * steps[2][0];
        }
        ThnPoolPlane q = p;
        q.x = data[0] + z * steps[0][0];
        q.gx = p.gx + z * p.down.n * p.gx_row;
        job->planes(&q);
    }
}

static void gradient_unit(const Job *job, Given *v, npy_intp taps, npy_intp plane, npy_intp part_number)
{
    const State *s = job->s;
    const Axis *a = &s->axes[s->nd - 1];
    const ThnPooling *loops = job->loops;
    const npy_intp item = loops->item;
    const int outer = s->nd - 1;
    npy_intp first[THN_MAXDIM] = {0}, end[THN_MAXDIM], windows[THN_MAXDIM], low[THN_MAXDIM], high[THN_MAXDIM], at[THN_MAXDIM];
    npy_intp rows = 1, begin_row = 0, end_row = 0;
    for (int i = 0; i < outer; i++) {
        end[i] = s->axes[i].count;
        rows *= i ? s->axes[i].n : 1;
    }
    if (outer) {
        begin_row = part_number * s->length;
        end_row = thn_least(begin_row + s->length, s->axes[0].n);
        first[0] = first_window(&s->axes[0], begin_row);
        end[0] = thn_least(end[0], (end_row - 1 + s->axes[0].p) / s->axes[0].s + 1);
    }
    const npy_intp plane_rows = outer ? rows * s->axes[0].n : 1, part_rows = outer ? rows * (end_row - begin_row) : 1;
    char *out = job->out->data + (plane * plane_rows + rows * begin_row) * a->n * job->out->itemsize;
    char *gx = job->store ? v->gx : out;
    int some = a->count > 0;
    for (int i = 0; i < outer; i++) {
        some = some && first[i] < end[i];
    }
    if (!some || !all_covered(s)) {
        memset(gx, 0, (size_t)(part_rows * a->n * item));
    }
    const char *x = job->maxima.cell ? plane_at(s, &job->x, plane) : NULL;
    const char *maxima = job->maxima.cell ? plane_at(s, &job->maxima, plane) : NULL;
    const char *other = plane_at(s, &job->other, plane);
    memcpy(windows, first, sizeof first);
    for (int more = some; more; more = next(outer, windows, first, end)) {
        npy_intp count = covered(s, windows, low, high);
        if (outer) {
            count /= thn_most(high[0] - low[0], 1);
            low[0] = thn_most(low[0], begin_row);
            high[0] = thn_least(high[0], end_row);
            count *= thn_most(high[0] - low[0], 0);
        }
        if (!count) {
            continue;
        }
        const void *m = NULL, *g = NULL;
        if (job->pairs) {
            m = row_at(&job->maxima, line_at(s, job->maxima.cell, maxima, windows), v->maxima_buffer);
            g = row_at(&job->other, line_at(s, job->other.cell, other, windows), v->other_buffer);
        } else {
            spread_line(job, v, taps, windows, maxima, other);
        }
        memcpy(at, low, sizeof *at * (size_t)outer);
        do {
            npy_intp row = 0;
            int add = 0;
            for (int i = 0; i < outer; i++) {
                row = row * s->axes[i].n + at[i] - (i ? 0 : begin_row);
                /* Whether the window before has it, too. */
                add |= windows[i] > 0 && end_of(&s->axes[i], windows[i] - 1) > at[i];
            }
            char *to = gx + row * a->n * item;
            if (maxima) {
                const void *from = row_at(&job->x, line_at(s, job->x.cell, x, at), v->row_buffer);
                if (job->pairs) {
                    loops->pair_gradient(to, from, m, g, a->n, a->count);
                    continue;
                }
                loops->max_gradient(to, from, v->maxima + a->p * item, v->g + a->p * item, v->last + a->p * item, a->n, taps,
                                    a->s, add);
            } else if (add) {
                loops->add(to, v->sum, a->n);
            } else {
                memcpy(to, v->sum, (size_t)(a->n * item));
            }
        } while (next(outer, at, low, high));
    }
    if (job->store) {
        job->store(part_rows * a->n, out, job->out->itemsize, gx, item);
    }
}

/* Whether an operand has one element for each image, one behind the other. */
static int is_list(const State *s, const Source *v)
{
    return !v->convert && (v->plane == v->item || s->planes == 1);
}

/* The gradients of images from `begin` on that one window covers each; 0 if they are not runs behind each other. */
static int whole_images(const Job *job, npy_intp begin, npy_intp images)
{
    const State *s = job->s;
    const npy_intp n = s->axes[0].n, item = job->loops->item;
    const int is_max = job->maxima.cell != NULL;
    if (!s->run || job->store || !is_list(s, &job->other)) {
        return 0;
    }
    char *gx = job->out->data + begin * n * item;
    const char *g = job->other.cell->data + begin * item;
    if (is_max) {
        if (!is_list(s, &job->maxima) || job->x.convert || (s->planes > 1 && job->x.plane != n * item)) {
            return 0;
        }
        const char *x = job->x.cell->data + begin * n * item, *m = job->maxima.cell->data + begin * item;
        job->loops->whole_max_gradient(gx, x, m, g, images, n);
        return 1;
    }
    const npy_intp one = 1;
    char size[16] __attribute__((aligned(16)));
    job->loops->fill_sizes(size, is_average(job) ? s->sizes : &one, 1);
    job->loops->whole_sum_gradient(gx, g, size, images, n);
    return 1;
}

static void gradient_task(void *ctx, long task)
{
    Job *job = ctx;
    const State *s = job->s;
    const Axis *a = &s->axes[s->nd - 1];
    const npy_intp begin = task * s->per, end = thn_least(begin + s->per, s->planes * s->parts), taps = (a->w + a->s - 1) / a->s;
    npy_intp plane = a->n * (s->nd > 1 ? s->length : 1);
    for (int i = 1; i < s->nd - 1; i++) {
        plane *= s->axes[i].n;
    }
    if (whole_images(job, begin, end - begin)) {
        return;
    }
    if (job->planes) {
        for (npy_intp unit = begin; unit < end; unit++) {
            gradient_planes(job, unit / s->parts, unit % s->parts);
        }
        return;
    }
    Given v;
    if (given_open(job, &v, taps, plane) < 0) {
        atomic_store(&job->failed, 1);
        return;
    }
    for (npy_intp unit = begin; unit < end; unit++) {
        gradient_unit(job, &v, taps, unit / s->parts, unit % s->parts);
    }
    thn_pool_free(v.block);
}

static int pool_execute(ThnFrame *f, const ThnInstr *ins)
{
    const State *s = f->scratch[ins->index].ptr;
    const int code = ins->def->code, is_gradient = code == THN_OP_pool_max_gradient || code == THN_OP_pool_sum_gradient;
    const ThnPooling *loops = thn_pooling(s->typenum);
    Job job = {.s = s, .ins = ins, .loops = loops, .out = THN_OUT(f, ins, 0), .mode = mode_of(ins)};
    if (thn_size(job.out) == 0) {
        return 0;
    }
    const Axis *row = &s->axes[s->nd - 1];
    job.x = source_of(s, THN_IN(f, ins, 0), loops->item, row->n);
    if (code == THN_OP_pool_max_gradient || code == THN_OP_pool_pick) {
        job.maxima = source_of(s, THN_IN(f, ins, 1), loops->item, row->count);
        job.other = source_of(s, THN_IN(f, ins, 2), loops->item, is_gradient ? row->count : row->n);
        job.first = code == THN_OP_pool_pick && ((const thn_pool_pick_params *)ins->data)->first;
    } else if (code == THN_OP_pool_sum_gradient) {
        job.other = source_of(s, THN_IN(f, ins, 1), loops->item, row->count);
    }
    job.pairs = code == THN_OP_pool_max_gradient && row->w == 2 && row->s == 2 && row->p == 0 && 2 * row->count <= row->n;
    for (int i = 0; i < s->nd; i++) {
        job.pairs = job.pairs && s->axes[i].s >= s->axes[i].w;
    }
    if (job.out->typenum != s->typenum) {
        job.store = thn_cast_inner(job.out->typenum, s->typenum);
    }
    if (code == THN_OP_pool_max_gradient && s->nd <= 3 && !s->run && !job.store && !job.x.convert && !job.maxima.convert &&
        !job.other.convert) {
        const Axis one = {1, 1, 1, 1, 0};
        const npy_intp planes = s->nd == 3 ? (s->axes[0].w + s->axes[0].s - 1) / s->axes[0].s : 1;
        job.planes = planes > THN_POOLING_ROWS ? NULL
                                               : thn_pool_plane(s->typenum, s->nd > 1 ? row - 1 : &one, row, planes);
    }
    thn_parallel((long)s->tasks, is_gradient ? gradient_task : line_task, &job);
    return atomic_load(&job.failed) ? thn_error(f, PyExc_MemoryError, "%s: out of memory", thn_name_of(ins)) : 0;
}

THN_INSTRUCTION(pool, pool_check, pool_prepare, pool_execute)
THN_INSTRUCTION(pool_max_gradient, pool_check, pool_prepare, pool_execute)
THN_INSTRUCTION(pool_sum_gradient, pool_check, pool_prepare, pool_execute)
THN_INSTRUCTION(pool_pick, pool_check, pool_prepare, pool_execute)
