/* Instructions: pooling and its gradients, see pooling.h for the loops over the rows of planes.
 *
 * What a result is made of are planes of images or of windows: rows along the last axis, `across`, one below the other along the
 * one before, `down`. Along the pooled axes before these, a plane of results is made of those that it covers or is covered by. */
#include "vm.h"
#include "copy.h"
#include "plan.h"
#include "pool.h"
#include "pooling.h"
#include "threads.h"

typedef ThnPoolAxis Axis;

/* Elements of the images of which parts of planes are made, about. */
#define PART 32768
/* Rows of windows prepared at most where rows of images, of a vector to 128 bytes, are made by columns: they stay near. */
#define RING 32

typedef struct {
    int lead;                   /* dims before the axes */
    int run;                    /* images are taken as rows */
    int nd;                     /* axes: those that are pooled, of a single one also that before it, as windows of one element */
    Axis axes[THN_MAXDIM];
    int of_images;              /* the result is; else of windows */
    npy_intp outer;             /* planes of the result */
    npy_intp rows, parts, length;   /* rows of one; parts of it, and how many rows these have */
    int typenum;                /* in which is computed */
    npy_intp tasks, per;        /* and parts in each */
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
        THN_FAIL_IF(f, a->p >= a->w && !zeros_count, PyExc_ValueError,
                    "the padding (%lld) must be smaller than the window (%lld)", (long long)a->p, (long long)a->w);
        a->n = x->dims[x->ndim - nd + i];
        a->w = thn_least(a->w, limit);
        a->s = thn_least(a->s, limit);
        a->p = thn_least(a->p, limit);
        a->count = windows_along(a, params->ignore_border);
        if (a->count <= 1) {
            /* Nothing lies beyond the first window. */
            a->w = thn_most(thn_least(a->w, a->n + 2 * a->p), 1);
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
    THN_FAIL_IF(f, !PyArray_CompareLists(cell->dims, dims, cell->ndim), PyExc_ValueError, "%s has the shape %s, expected %s", name,
                THN_SHAPE(cell->ndim, cell->dims), THN_SHAPE(cell->ndim, dims));
    return 0;
}

/* Whether an image is one run in memory. */
static int is_run(const ThnCell *cell, int nd)
{
    const int lead = cell->ndim - nd;
    return thn_is_run(nd, cell->dims + lead, cell->strides + lead, cell->itemsize);
}

/* Where one window covers a whole image the pooled axes are one, of which images are rows. */
static void merge_axes(State *s)
{
    npy_intp n = 1;
    for (int i = 0; i < s->nd; i++) {
        const Axis *a = &s->axes[i];
        if (a->count != 1 || a->w < a->n || a->p) {
            return;
        }
        n *= a->n;
    }
    s->nd = 1;
    s->axes[0] = (Axis){n, 1, n, n, 0};
    s->run = 1;
}

static npy_intp length_of(const Axis *a, int of_images)
{
    return of_images ? a->n : a->count;
}

/* Divides the result into parts of planes, and these among tasks. */
static void plan_parts(State *s, double work)
{
    const Axis *down = &s->axes[s->nd - 2], *across = down + 1;
    s->rows = length_of(down, s->of_images);
    /* Planes, or where these are few parts of them; large ones in parts that stay in caches. */
    const npy_intp row = thn_most(across->n * (s->of_images ? 1 : down->s), 1), wanted = thn_worth(work, 64);
    npy_intp parts = s->outer && s->outer < wanted ? (wanted + s->outer - 1) / s->outer : 1;
    s->length = thn_most(thn_least((s->rows + parts - 1) / parts, PART / row), 1);
    s->parts = (s->rows + s->length - 1) / s->length;
    const npy_intp units = s->outer * s->parts, tasks = thn_most(thn_worth(work, units), 1);
    s->per = thn_most((units + tasks - 1) / tasks, 1);
    s->tasks = (units + s->per - 1) / s->per;
}

static int pool_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const Params *params = ins->data;
    const ThnCell *x = THN_IN(f, ins, 0);
    const int nd = params->ndim, lead = x->ndim - nd, code = ins->def->code;
    const int of_images = code == THN_OP_pool_max_gradient || code == THN_OP_pool_sum_gradient;
    npy_intp dims[THN_MAXDIM];
    State *s = thn_scratch(f, ins, sizeof *s);
    THN_NEED(s);
    THN_TRY(read_axes(f, ins, s->axes, x));
    double windows = 1, window = 1;
    for (int i = 0; i < x->ndim; i++) {
        dims[i] = i < lead ? x->dims[i] : s->axes[i - lead].count;
        windows *= (double)dims[i];
    }
    for (int i = 0; i < nd; i++) {
        window *= (double)thn_least(s->axes[i].w, s->axes[i].n + 1);
    }
    const int picks = code == THN_OP_pool_pick;
    THN_TRY(code == THN_OP_pool_max_gradient || picks ? same_dims(f, "the array of maxima", THN_IN(f, ins, 1), dims) : 0);
    THN_TRY(of_images ? same_dims(f, "the gradient", THN_IN(f, ins, ins->nin - 4), dims) : 0);
    THN_TRY(picks ? same_dims(f, "what is picked from", THN_IN(f, ins, 2), x->dims) : 0);
    THN_TRY(thn_out_alloc(f, THN_OUT(f, ins, 0), of_images ? x->dims : dims));
    s->of_images = of_images;
    s->typenum = computed_in(x->typenum);
    s->lead = lead;
    s->nd = nd;
    s->run = 0;
    if (is_run(x, nd) && (!picks || is_run(THN_IN(f, ins, 2), nd))) {
        merge_axes(s);
    }
    if (s->nd == 1) {
        const npy_intp n = lead ? x->dims[lead - 1] : 1;
        s->axes[1] = s->axes[0];
        s->axes[0] = (Axis){n, n, 1, 1, 0};
        s->nd = 2;
        s->lead--;
    }
    s->outer = thn_product(s->lead, x->dims);
    for (int i = 0; i < s->nd - 2; i++) {
        s->outer *= length_of(&s->axes[i], of_images);
    }
    const double each = x->typenum == s->typenum ? 0.1 : 1.0;
    f->work = each * (windows * window + 2 * (double)thn_size(x));
    plan_parts(s, f->work);
    return 0;
}

/* ---- operands */

/* Images or windows, as rows of planes. */
typedef struct {
    const ThnCell *cell;
    int of_images;
    ThnInner convert;         /* NULL: rows are used where they are */
    npy_intp n, item, step;   /* elements of a row; of what is computed in; from element to element */
    npy_intp strides[THN_MAXDIM];  /* along the axes but the last */
    npy_intp image;           /* bytes from image to image; 0: these are not evenly spaced */
} Source;

typedef struct {
    const State *s;
    const ThnPooling *loops;
    ThnPoolLoop loop;
    Source sources[3];        /* images, maxima, others; those that there are have a cell */
    const ThnCell *out;
    ThnInner store;           /* to the output's dtype; NULL: it is computed in that */
    int is_average, padded, first;
    int spreads;              /* gradients are spread out in slots */
    int direct;               /* gradients of maxima of one plane each, which are read and written where they are */
    npy_intp planes, rows;    /* that go into a part of the result, at most */
    atomic_int failed;
} Job;

static void open_source(const State *s, Source *v, const ThnCell *cell, int of_images, npy_intp item)
{
    v->cell = cell;
    v->of_images = of_images;
    v->n = length_of(&s->axes[s->nd - 1], of_images);
    v->item = item;
    v->step = s->run ? cell->itemsize : cell->strides[cell->ndim - 1];
    if (cell->typenum != s->typenum || (v->step != item && v->n > 1)) {
        v->convert = thn_cast_inner(s->typenum, cell->typenum);
    }
    for (int i = 0; i < s->nd - 1; i++) {
        v->strides[i] = s->lead + i >= 0 ? cell->strides[s->lead + i] : 0;
    }
    int last = s->lead - 1;
    for (; last >= 0 && cell->dims[last] == 1; last--) {
    }
    v->image = last < 0 ? 0 : cell->strides[last];
    v->image = thn_is_run(s->lead, cell->dims, cell->strides, v->image) ? v->image : 0;
}

static const char *image_at(const State *s, const Source *v, npy_intp image)
{
    const Dims g = {s->lead, v->cell->dims, v->cell->strides, 0};
    npy_intp at[THN_MAXDIM];
    char *p = v->cell->data;
    if (v->image) {
        return p + image * v->image;
    }
    thn_seek(&g, g.n, image, 1, &p, at);
    return p;
}

/* Steps through low..high of n axes; 0 at the end. */
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

/* ---- parts of planes */

typedef struct {
    char *block;
    ThnPoolPlane p;
    char *buffers[3], *out, *sizes;
    npy_intp *low, *high;
} Work;

/* What goes into elements begin..end of the result along an axis, images or windows: from low to high. */
static void range_of(const Axis *a, int of_images, npy_intp begin, npy_intp end, npy_intp *low, npy_intp *high)
{
    *low = of_images ? thn_pool_first_window(a, begin) : thn_pool_first(a, begin);
    *high = thn_most(of_images ? thn_least(thn_pool_strides(a, end - 1 + a->p) + 1, a->count) : thn_pool_end(a, end - 1), *low);
}

/* How many go into a range of the result at most, if it has any. */
static npy_intp most_of(const Axis *a, int of_images, npy_intp length)
{
    return of_images ? thn_least((length + a->w - 2) / a->s + 1, a->count)
                     : thn_least((length - 1) * a->s + a->w, a->n);
}

static int work_open(const Job *job, Work *w)
{
    const State *s = job->s;
    const Axis *down = &s->axes[s->nd - 2], *across = down + 1;
    const int is_max_gradient = s->of_images && job->sources[1].cell, picks = !s->of_images && job->sources[1].cell;
    const npy_intp item = job->loops->item, taps = thn_pool_taps(across), spread = (taps - 1) * across->s;
    const npy_intp covered = thn_most(across->n + across->p, across->count * across->s);
    *w = (Work){.p = {.down = *down, .across = *across, .padded = job->padded, .first = job->first, .ring = 1}};
    ThnPoolPlane *p = &w->p;
    const int by_columns = is_max_gradient && job->planes == 1 && down->w == 3 && down->s == 1 && across->w == 3 && across->s == 1
                           && across->n * item >= 32 && across->n * item <= 128;
    p->together = by_columns ? RING - 2 : 1;
    while (p->ring < (by_columns ? RING : thn_least(thn_pool_taps(down), down->count))) {
        p->ring *= 2;
    }
    p->pitch = (spread + covered + THN_POOLING_BEYOND + 15) / 16 * 16;
    p->slot = is_max_gradient ? 3 * p->pitch : p->pitch;
    const size_t line = (size_t)((job->spreads ? 3 : !s->of_images) * p->pitch * item);
    const size_t lists = (size_t)job->planes * sizeof(void *);
    const size_t slots = job->spreads ? (size_t)(p->ring * job->planes * p->slot * item) : 0;
    const size_t windows = picks ? (size_t)across->w * sizeof(npy_intp) : 0;
    size_t converted[3] = {0};
    npy_intp *strides[] = {&p->x_row, &p->maxima_row, &p->other_row};
    for (int k = 0; k < 3; k++) {
        const Source *v = &job->sources[k];
        *strides[k] = v->convert ? v->n * v->item : v->strides[s->nd - 2];
        if (v->cell && v->convert) {
            const npy_intp rows = v->of_images == s->of_images ? s->length : job->planes * job->rows;
            converted[k] = (size_t)(rows * v->n * item);
        }
    }
    const npy_intp made = length_of(across, s->of_images);
    w->block = THN_POOL_PARTS({&p->x, lists}, {&p->maxima, lists}, {&p->other, lists}, {&p->factors, lists},
                              {&p->rows, (size_t)(2 * job->planes * job->rows) * sizeof(void *)}, {&p->line, line},
                              {&p->slots, slots}, {&w->buffers[0], converted[0]}, {&w->buffers[1], converted[1]},
                              {&w->buffers[2], converted[2]},
                              {&w->out, job->store ? (size_t)(s->length * made * item) : 0},
                              {&w->sizes, job->is_average ? (size_t)(across->count * item) : 0}, {&w->low, windows},
                              {&w->high, windows});
    THN_NEED(w->block);
    memset(p->line, 0, job->spreads ? line : 0);
    memset(p->slots, 0, slots);
    if (job->is_average) {
        job->loops->fill_sizes(w->sizes, across, job->padded);
        p->sizes = w->sizes;
    } else {
        p->factors = NULL;
    }
    for (npy_intp q = 0; q < (picks ? across->w : 0); q++) {
        w->low[q] = thn_most(ceiling(across->p - q, across->s), 0);
        w->high[q] = thn_most(thn_least(ceiling(across->n + across->p - q, across->s), across->count), w->low[q]);
    }
    p->low = w->low;
    p->high = w->high;
    p->maxima = job->sources[1].cell ? p->maxima : NULL;
    return 0;
}

/* How many elements windows have along the axes before planes, as averages count them. */
static npy_intp outer_size(const Job *job, const npy_intp *windows)
{
    npy_intp size = 1;
    for (int i = 0; i < job->s->nd - 2; i++) {
        size *= thn_pool_size(&job->s->axes[i], windows[i], job->padded);
    }
    return size;
}

/* Rows begin..end of a plane, perhaps copied to `*buffer`, as if row 0 were there. */
static const char *rows_at(const Source *v, const char *plane, npy_intp stride, npy_intp begin, npy_intp end, char **buffer)
{
    const char *first = *buffer - begin * v->n * v->item;
    for (npy_intp y = begin; y < end; y++, *buffer += v->n * v->item) {
        v->convert(v->n, *buffer, v->item, plane + y * stride, v->step);
    }
    return first;
}

/* Makes rows begin..end of a plane of the result, which is at these positions along the axes before. */
static void make_part(const Job *job, Work *w, npy_intp image, const npy_intp *at, char *to)
{
    const State *s = job->s;
    const int before = s->nd - 2;
    ThnPoolPlane *p = &w->p;
    const char **lists[] = {p->x, p->maxima, p->other};
    npy_intp low[THN_MAXDIM], high[THN_MAXDIM], other[THN_MAXDIM];
    npy_intp count = 1;
    for (int i = 0; i < before; i++) {
        range_of(&s->axes[i], s->of_images, at[i], at[i] + 1, &low[i], &high[i]);
        count *= high[i] - low[i];
    }
    for (int k = 0; k < 3; k++) {
        const Source *v = &job->sources[k];
        if (!v->cell) {
            continue;
        }
        const int same = v->of_images == s->of_images;
        const char *base = image_at(s, v, image);
        if (!v->convert && !p->factors && (same || count == 1)) {
            for (int i = 0; i < before; i++) {
                base += (same ? at : low)[i] * v->strides[i];
            }
            lists[k][0] = base;
            p->planes = 1;
            continue;
        }
        char *buffer = w->buffers[k];
        npy_intp planes = 0, begin = p->begin, end = p->end;
        if (v->convert && !same) {
            range_of(&p->down, s->of_images, p->begin, p->end, &begin, &end);
        }
        for (int i = 0; i < before; i++) {
            other[i] = same ? at[i] : low[i];
        }
        for (int more = same || count; more; more = !same && next(before, other, low, high)) {
            const char *plane = base;
            for (int i = 0; i < before; i++) {
                plane += other[i] * v->strides[i];
            }
            lists[k][planes] = v->convert ? rows_at(v, plane, v->strides[before], begin, end, &buffer) : plane;
            if (p->factors && s->of_images) {
                p->factors[planes] = outer_size(job, other);
            }
            planes++;
        }
        p->planes = planes;
    }
    if (p->factors && !s->of_images) {
        p->factors[0] = outer_size(job, at);
    }
    const npy_intp made = (p->end - p->begin) * length_of(&p->across, s->of_images);
    p->out = job->store ? w->out : to;
    if (p->planes || !s->of_images) {
        job->loop(p);
    } else {
        memset(p->out, 0, (size_t)(made * job->loops->item));
    }
    if (job->store) {
        job->store(made, to, job->out->itemsize, p->out, job->loops->item);
    }
}

/* The same for a job that is direct. */
static void make_direct_part(const Job *job, Work *w, npy_intp image, const npy_intp *at, char *to)
{
    const State *s = job->s;
    const Source *v = job->sources;
    const char *x = image_at(s, &v[0], image), *maxima = image_at(s, &v[1], image), *gradients = image_at(s, &v[2], image);
    for (int i = 0; i < s->nd - 2; i++) {
        npy_intp low, high;
        range_of(&s->axes[i], s->of_images, at[i], at[i] + 1, &low, &high);
        if (low == high) {
            memset(to, 0, (size_t)((w->p.end - w->p.begin) * w->p.across.n * job->loops->item));
            return;
        }
        x += at[i] * v[0].strides[i];
        maxima += low * v[1].strides[i];
        gradients += low * v[2].strides[i];
    }
    w->p.x[0] = x;
    w->p.maxima[0] = maxima;
    w->p.other[0] = gradients;
    w->p.out = to;
    w->p.planes = 1;
    job->loop(&w->p);
}

static void pool_task(void *ctx, long task)
{
    Job *job = ctx;
    const State *s = job->s;
    const npy_intp begin = task * s->per, end = thn_least(begin + s->per, s->outer * s->parts);
    const npy_intp row = length_of(&s->axes[s->nd - 1], s->of_images) * job->out->itemsize;
    static const npy_intp zeros[THN_MAXDIM];
    npy_intp at[THN_MAXDIM], counts[THN_MAXDIM];
    Work w;
    if (work_open(job, &w) < 0) {
        atomic_store(&job->failed, 1);
        return;
    }
    npy_intp part = begin % s->parts, plane = begin / s->parts, image = plane;
    for (int i = s->nd - 3; i >= 0; i--) {
        counts[i] = length_of(&s->axes[i], s->of_images);
        at[i] = image % counts[i];
        image /= counts[i];
    }
    for (npy_intp unit = begin; unit < end; unit++) {
        w.p.begin = part * s->length;
        w.p.end = thn_least(w.p.begin + s->length, s->rows);
        (job->direct ? make_direct_part : make_part)(job, &w, image, at, job->out->data + (plane * s->rows + w.p.begin) * row);
        if (++part == s->parts) {
            part = 0;
            plane++;
            image += !next(s->nd - 2, at, zeros, counts);
        }
    }
    thn_pool_free(w.block);
}

static int pool_execute(ThnFrame *f, const ThnInstr *ins)
{
    const State *s = f->scratch[ins->index].ptr;
    const int code = ins->def->code, mode = mode_of(ins);
    const ThnPooling *loops = thn_pooling(s->typenum);
    Job job = {.s = s, .loops = loops, .out = THN_OUT(f, ins, 0), .padded = mode == THN_PoolMode_AVERAGE_INC_PAD};
    if (thn_size(job.out) == 0) {
        return 0;
    }
    job.is_average = job.padded || mode == THN_PoolMode_AVERAGE_EXC_PAD;
    const ThnCell *x = THN_IN(f, ins, 0), *second = THN_IN(f, ins, 1), *third = THN_IN(f, ins, 2);
    job.loop = code == THN_OP_pool_max_gradient   ? loops->max_gradient
               : code == THN_OP_pool_sum_gradient ? loops->sum_gradient
               : code == THN_OP_pool_pick         ? loops->pick
               : mode == THN_PoolMode_MAX         ? loops->max
                                                  : loops->sum;
    if (code == THN_OP_pool_sum_gradient) {
        open_source(s, &job.sources[2], second, 0, loops->item);
    } else {
        open_source(s, &job.sources[0], x, 1, loops->item);
    }
    if (code == THN_OP_pool_max_gradient || code == THN_OP_pool_pick) {
        open_source(s, &job.sources[1], second, 0, loops->item);
        open_source(s, &job.sources[2], third, code == THN_OP_pool_pick, loops->item);
        job.first = code == THN_OP_pool_pick && ((const thn_pool_pick_params *)ins->data)->first;
    }
    job.store = job.out->typenum != s->typenum ? thn_cast_inner(job.out->typenum, s->typenum) : NULL;
    job.planes = 1;
    for (int i = 0; i < s->nd - 2; i++) {
        job.planes *= thn_most(most_of(&s->axes[i], s->of_images, 1), 1);
    }
    job.rows = thn_most(most_of(&s->axes[s->nd - 2], s->of_images, s->length), 1);
    if (s->of_images) {
        const Axis *down = &s->axes[s->nd - 2];
        const int is_max = code == THN_OP_pool_max_gradient;
        const ThnPoolLoop simple = job.planes == 1 ? loops->simple_gradient(down, down + 1, is_max) : NULL;
        job.spreads = !simple;
        job.loop = simple ? simple : job.loop;
        const int converts = job.sources[0].convert || job.sources[1].convert || job.sources[2].convert;
        job.direct = job.planes == 1 && is_max && !job.store && !converts;
    }
    thn_parallel((long)s->tasks, pool_task, &job);
    return atomic_load(&job.failed) ? thn_error(f, PyExc_MemoryError, "%s: out of memory", thn_name_of(ins)) : 0;
}

THN_INSTRUCTION(pool, pool_check, pool_prepare, pool_execute)
THN_INSTRUCTION(pool_max_gradient, pool_check, pool_prepare, pool_execute)
THN_INSTRUCTION(pool_sum_gradient, pool_check, pool_prepare, pool_execute)
THN_INSTRUCTION(pool_pick, pool_check, pool_prepare, pool_execute)
