/* Indexed kernels: how a run is cut into tiles and tasks. */
#include "indexed.h"
#include "pool.h"

#define TILE 4096                 /* elements of a tile */
#define DIRECT_BYTES 512          /* rows from this length on are read where they are */
#define ROWS 256                  /* positions whose offsets are found together */
#define SPLIT_BYTES (256 << 10)   /* bytes below which rows to be written are not split */
#define SHORT_WORK 60000.0        /* ns of work that is never split */
#define SHORT_ROW 16384           /* elements of a row that is reduced as one */

/* What a task works with. */
typedef struct {
    ThnPlan *plan;
    npy_intp rows;               /* of the plan; -1: none yet */
    npy_intp kind;               /* of pages of the target; -1: all */
    char *buffers[MOST_GATHERS + 1];
    npy_intp *offsets[MOST_GATHERS + 1];
    char *acc, *neutral;
    npy_intp s1[THN_KMAXOPS];
} Work;

static const npy_intp in_place[THN_KMAXOPS]; /* strides of what does not move */

/* Number of index arrays of a gather, or of the target while tiles are scattered. */
static int arrays_of(const Run *r, int g)
{
    return g < r->s->n_gathers ? r->s->gathers[g].axes.n : g == TARGET && r->scatters ? r->s->target.axes.n : 0;
}

/* Byte stride of an operand of the kernel along iteration dim d. */
static npy_intp step_of(const Run *r, int op, int d)
{
    return thn_stride_along(r->k, op, d, r->in, r->out);
}

/* What walks the index dims, and those of them that are not of length 1, neighbours taken as one where all can. */
static void open_walk(Run *r)
{
    const Spec *s = r->s;
    const int ops = n_ops(r->k);
    Dims *g = &r->walk;
    *g = (Dims){0, r->lengths, r->strides[0], THN_KMAXDIM};
    for (int op = 0; op < ops; op++) {
        r->start[op] = op < r->k->nin ? r->in[op].data : r->out[op - r->k->nin].data;
    }
    r->walking = ops;
    for (int a = 0; a <= TARGET; a++) {
        r->first[a] = r->walking;
        for (int k = 0; k < arrays_of(r, a); k++) {
            r->start[r->walking++] = r->st->arrays[a].index[k]->data;
        }
    }
    r->carrier = s->dims[s->nd - 1];
    for (int d = 0; d < s->nd; d++) {
        if (r->st->along[d] == 1 && (g->n || d < s->nd - 1)) {
            continue;
        }
        for (int op = 0; op < ops; op++) {
            r->strides[op][g->n] = is_gathered(s, op) || is_target(r, op) ? 0 : step_of(r, op, s->dims[d]);
        }
        for (int a = 0; a <= TARGET; a++) {
            for (int k = 0; k < arrays_of(r, a); k++) {
                r->strides[r->first[a] + k][g->n] = r->st->arrays[a].strides[k][d];
            }
        }
        r->lengths[g->n++] = r->st->along[d];
        r->carrier = s->dims[d];
    }
    thn_merge_dims(g, r->walking);
}

/* Byte offsets in an array of the rows of n successive positions; `ptr`: where all that walks is. */
static void find_offsets(const Run *r, int a, char *const *ptr, npy_intp n, npy_intp *to)
{
    const npy_intp *steps = r->strides[r->first[a]] + r->walk.n - 1;
    thn_table_offsets(&r->st->arrays[a], ptr + r->first[a], steps, THN_KMAXDIM, n, to);
}

/* Rows of a table, which are kept whole, into a dense buffer. */
static void gather_rows(const ThnTable *a, char *dense, const npy_intp *offsets, npy_intp n)
{
    npy_intp strides[THN_KMAXDIM];
    ThnRows rows;
    thn_dense_strides(a->rest, a->rest_dims, a->array->itemsize, strides);
    thn_rows_open(&rows, a, THN_READ, a->rest_dims, strides);
    thn_rows_move(&rows, a->data, offsets, n, dense, a->row * a->array->itemsize);
}

/* Strides within a row, in a buffer, of a table or of that many columns of the target; returns the row's bytes. */
static npy_intp row_strides(const Run *r, int g, npy_intp width, npy_intp *strides)
{
    const ThnTable *a = &r->st->arrays[g];
    npy_intp step = a->array->itemsize;
    for (int i = a->rest - 1; i >= 0; i--) {
        strides[i] = step;
        step *= g == TARGET && i == a->rest - 1 && r->column >= 0 ? width : a->rest_dims[i];
    }
    return step;
}

/* Columns [c0, c0 + width) of n rows of a value, at `strides` within a row, into the target. */
static void scatter_rows(const Run *r, const npy_intp *offsets, npy_intp n, char *value, npy_intp row_step,
                         const npy_intp *strides, npy_intp c0, npy_intp width)
{
    const ThnTable *a = &r->st->arrays[TARGET];
    const int last = a->rest - 1, cut = r->column >= 0 && last >= 0;
    npy_intp dims[THN_KMAXDIM];
    ThnRows rows;
    memcpy(dims, a->rest_dims, sizeof(npy_intp) * (size_t)a->rest);
    if (cut) {
        dims[last] = width;
    }
    thn_rows_open(&rows, a, r->s->adds ? THN_ADD : THN_WRITE, dims, strides);
    thn_rows_move(&rows, a->data + (cut ? c0 * a->rest_strides[last] : 0), offsets, n, value, row_step);
}

/* The plan of a tile of so many rows and columns. Operands that are indexed are dense buffers, or rows of their table. */
static void make_plan(const Run *r, Work *w, npy_intp rows, npy_intp width)
{
    const Spec *s = r->s;
    const ThnKernel *k = r->k;
    ThnArg in[THN_KMAXOPS], out[THN_KMAXOPS];
    npy_intp shape[THN_KMAXDIM], strides[MOST_GATHERS + 1][THN_KMAXDIM];
    memcpy(in, r->in, sizeof(ThnArg) * (size_t)k->nin);
    memcpy(out, r->out, sizeof(ThnArg) * (size_t)k->nout);
    memcpy(shape, r->st->shape, sizeof(npy_intp) * (size_t)(k->n_outer + k->n_inner));
    for (int d = 0; d < s->nd; d++) {
        shape[s->dims[d]] = s->dims[d] == r->carrier ? rows : 1;
    }
    if (r->column >= 0) {
        shape[r->column] = width;
    }
    for (int g = 0; g <= TARGET; g++) {
        if (arrays_of(r, g)) {
            const ThnTable *a = &r->st->arrays[g];
            npy_intp within[THN_KMAXDIM];
            const npy_intp step = row_strides(r, g, width, within);
            for (int d = 0; d < s->nd; d++) {
                strides[g][a->at + d] = step;
            }
            for (int i = 0; i < a->rest; i++) {
                strides[g][a->axis_of_rest[i]] = r->by_row ? a->rest_strides[i] : within[i];
            }
            if (g < TARGET || s->adds) {
                in[g < TARGET ? s->gathers[g].op : k->nin - 1].strides = strides[g];
            }
        }
    }
    if (r->scatters) {
        out[0].strides = strides[TARGET];
    }
    thn_plan(k, in, out, shape, w->plan);
    w->rows = rows;
    if (w->plan->mode == RUN_ELEM) {
        thn_strides_along(&w->plan->outer, w->plan->outer.n - 2, n_ops(k), w->s1);
    }
}

/* Pointers of a plan of so many rows and columns, from c0 on, those of operands that are not indexed to where `from` leads. */
static char **open_plan(const Run *r, Work *w, char *const *from, npy_intp rows, npy_intp c0, npy_intp width)
{
    if (w->rows != rows) {
        make_plan(r, w, rows, width);
    }
    for (int op = 0; op < n_ops(r->k); op++) {
        w->plan->ptr[op] = from[op] + (c0 && !is_target(r, op) && !is_gathered(r->s, op) ? c0 * step_of(r, op, r->column) : 0);
    }
    return w->plan->ptr;
}

static void run_plan(Run *r, Work *w)
{
    const ThnPlan *p = w->plan;
    const ThnKernel *k = r->k;
    if (p->work < SHORT_WORK) {
        if (p->mode == RUN_ELEM && p->outer.n <= 2) {
            k->fn->elem(p->ptr, w->s1, p->outer.n > 1 ? p->outer.shape[0] : 1, p->outer.shape[p->outer.n - 1]);
            return;
        }
        if (!p->buffered && p->rows == 1 && p->inner <= SHORT_ROW) {
            if (p->mode == RUN_ROWS) {
                k->fn->rows(p->ptr, in_place, 1, p->inner);
                return;
            }
            if (p->mode == RUN_REDUCE) {
                k->fn->part(p->ptr, in_place, 1, p->inner, 0, w->acc, 0);
                k->fn->fin(p->ptr, in_place, 1, w->acc);
                return;
            }
        }
    }
    if (thn_plan_run(p) < 0) {
        r->failed = 1;
    }
}

/* One tile through buffers: n positions from linear position `t` on, where `from` leads, columns [c0, c0 + width). */
static void run_tile(Run *r, Work *w, char *const *from, npy_intp t, npy_intp n, npy_intp c0, npy_intp width)
{
    const Spec *s = r->s;
    const ThnKernel *k = r->k;
    npy_intp strides[THN_KMAXDIM];
    char **ptr = open_plan(r, w, from, n, c0, width);
    for (int g = 0; g < s->n_gathers; g++) {
        const ThnTable *a = &r->st->arrays[g];
        const int op = s->gathers[g].op;
        const npy_intp item = k->in[op].itemsize;
        ptr[op] = w->buffers[g];
        if (s->gathers[g].same && r->kept) {
            ptr[op] = r->kept + t * a->row * item;
        } else {
            find_offsets(r, g, from, n, w->offsets[g]);
            gather_rows(a, w->buffers[g], w->offsets[g], n);
        }
        if (c0 && !(k->in[op].bcast >> r->column & 1)) {
            ptr[op] += c0 * item;
        }
    }
    if (!r->scatters) {
        run_plan(r, w);
        return;
    }
    ptr[k->nin] = w->buffers[TARGET];
    if (s->adds) {
        ptr[k->nin - 1] = w->neutral;
    }
    run_plan(r, w);
    find_offsets(r, TARGET, from, n, w->offsets[TARGET]);
    const npy_intp row = row_strides(r, TARGET, width, strides);
    scatter_rows(r, w->offsets[TARGET], n, w->buffers[TARGET], row, strides, c0, width);
}

/* Fills memory with what can be added without changing anything, a zero's sign included. */
static void fill_neutral(const ThnKernelOut *out, char *p, npy_intp bytes)
{
    const double zero = -0.0;
    const int t = out->typenum, part = t == NPY_CFLOAT ? NPY_FLOAT : t == NPY_CDOUBLE ? NPY_DOUBLE : t;
    const npy_intp item = out->itemsize / (part == t ? 1 : 2);
    char number[8];
    thn_cast_inner(part, NPY_DOUBLE)(1, number, 0, (const char *)&zero, 0);
    thn_copy_inner((int)item)(bytes / item, p, item, number, 0);
}

/* Memory for a task of so many columns; NULL: none left. */
static char *make_work(const Run *r, Work *w, npy_intp width)
{
    const Spec *s = r->s;
    const ThnKernel *k = r->k;
    const npy_intp rows = r->block > ROWS ? r->block : ROWS;
    const size_t acc = k->n_inner && k->fn->part ? strlen(k->fn->reduces) / 2 * (size_t)THN_LANES * 16 : 0;
    size_t sizes[MOST_GATHERS + 1] = {0}, n = 0;
    ThnPart parts[2 * (MOST_GATHERS + 1) + 3];
    for (int g = 0; g < s->n_gathers && !r->by_row; g++) {
        sizes[g] = (size_t)(r->block * r->st->arrays[g].row * k->in[s->gathers[g].op].itemsize);
    }
    if (r->scatters && !r->by_row) {
        sizes[TARGET] = (size_t)(r->block * (r->columns ? r->row / r->columns : 0) * width * k->out[0].itemsize);
    }
    parts[n++] = (ThnPart){&w->plan, thn_plan_size(k)};
    parts[n++] = (ThnPart){&w->acc, acc};
    parts[n++] = (ThnPart){&w->neutral, s->adds ? sizes[TARGET] : 0};
    for (int g = 0; g <= TARGET; g++) {
        if (arrays_of(r, g)) {
            parts[n++] = (ThnPart){&w->offsets[g], sizeof(npy_intp) * (size_t)rows};
            parts[n++] = (ThnPart){&w->buffers[g], sizes[g]};
        }
    }
    char *mem = thn_buffer_alloc(thn_parts_bytes(parts, n) + 64);
    THN_NULL_UNLESS(mem);
    thn_parts_place(parts, n, mem + (64 - (uintptr_t)mem % 64) % 64);
    if (s->adds && sizes[TARGET]) {
        fill_neutral(&k->out[0], w->neutral, (npy_intp)sizes[TARGET]);
    }
    w->rows = -1;
    return mem;
}

static int is_of_kind(const Run *r, const Work *w, npy_intp i)
{
    return thn_page_kind(r->st->arrays[TARGET].data + w->offsets[TARGET][i], r->kinds) == w->kind;
}

/* Rows one by one: n successive positions from linear position `t` on, where `from` leads, columns [c0, c0 + width). */
static void run_rows(Run *r, Work *w, char *const *from, npy_intp t, npy_intp n, npy_intp c0, npy_intp width)
{
    const Spec *s = r->s;
    const ThnKernel *k = r->k;
    const ThnTable *a = &r->st->arrays[TARGET];
    const int ops = n_ops(k), last = r->walk.n - 1;
    npy_intp steps[THN_KMAXOPS], bytes[MOST_GATHERS + 1], shift[MOST_GATHERS + 1];
    char **ptr = open_plan(r, w, from, 1, c0, width);
    for (int op = 0; op < ops; op++) {
        steps[op] = r->strides[op][last];
    }
    for (int g = 0; g <= TARGET; g++) {
        if (arrays_of(r, g)) {
            const ThnTable *x = &r->st->arrays[g];
            const int cut = c0 && (g == TARGET || !(k->in[s->gathers[g].op].bcast >> r->column & 1));
            find_offsets(r, g, from, n, w->offsets[g]);
            bytes[g] = (g == TARGET ? width : x->row) * x->array->itemsize;
            shift[g] = cut ? c0 * x->rest_strides[x->rest - 1] : 0;
        }
    }
    for (npy_intp i = 0; i < n; i++) {
        const int others = w->kind >= 0 && !is_of_kind(r, w, i);
        const int ahead = i + THN_AHEAD < n && (w->kind < 0 || is_of_kind(r, w, i + THN_AHEAD));
        for (int g = 0; g < s->n_gathers; g++) {
            char *data = r->st->arrays[g].data + shift[g];
            ptr[s->gathers[g].op] = data + w->offsets[g][i];
            if (s->gathers[g].same && r->again && r->again[t + i] >= 0) {
                ptr[s->gathers[g].op] = r->kept + r->again[t + i] * bytes[g] + shift[g];
            }
            if (ahead) {
                thn_fetch(data + w->offsets[g][i + THN_AHEAD], bytes[g]);
            }
        }
        if (r->scatters) {
            ptr[k->nin] = a->data + shift[TARGET] + w->offsets[TARGET][i];
            if (s->adds) {
                ptr[k->nin - 1] = ptr[k->nin];
            }
            if (!r->again && ahead) {
                thn_fetch(a->data + shift[TARGET] + w->offsets[TARGET][i + THN_AHEAD], bytes[TARGET]);
            }
        }
        if (!others) {
            run_plan(r, w);
        }
        for (int op = 0; op < ops; op++) {
            ptr[op] += steps[op];
        }
    }
}

/* Index positions [p0, p1), columns [c0, c1), of one kind of pages or (-1) all. */
static void run_part(Run *r, npy_intp p0, npy_intp p1, npy_intp c0, npy_intp c1, npy_intp kind)
{
    Work w;
    npy_intp at[THN_KMAXDIM];
    const npy_intp most = r->by_row ? ROWS : r->block;
    char *mem = make_work(r, &w, c1 - c0), *ptr[MOST_WALKING];
    if (!mem) {
        r->failed = 1;
        return;
    }
    w.kind = kind;
    memcpy(ptr, r->start, sizeof *ptr * (size_t)r->walking);
    thn_seek(&r->walk, r->walk.n, p0, r->walking, ptr, at);
    for (npy_intp t = p0, n; t < p1 && !r->failed; t += n) {
        n = thn_least(thn_left(&r->walk, r->walk.n, at), thn_least(most, p1 - t));
        (r->by_row ? run_rows : run_tile)(r, &w, ptr, t, n, c0, c1 - c0);
        thn_skip(&r->walk, r->walk.n, n, r->walking, ptr, at);
    }
    thn_buffer_free(mem);
}

static void run_kind(void *ctx, long kind)
{
    Run *r = ctx;
    run_part(r, 0, r->st->count, 0, r->columns, kind);
}

static int run_columns(void *ctx, npy_intp c0, npy_intp c1)
{
    Run *r = ctx;
    run_part(r, 0, r->st->count, c0, c1, -1);
    return 0;
}

static int run_positions(void *ctx, npy_intp p0, npy_intp p1)
{
    Run *r = ctx;
    run_part(r, p0, p1, 0, r->columns, -1);
    return 0;
}

/* Tiles: as many rows as the first-level cache holds. */
static void choose_tiles(Run *r)
{
    const Spec *s = r->s;
    const ThnKernel *k = r->k;
    npy_intp longest = 0;
    r->row = 1;
    for (int d = 0, j = 0; d < k->n_outer + k->n_inner; d++) {
        if (j < s->nd && s->dims[j] == d) {
            j++;
        } else {
            r->row *= r->st->shape[d];
        }
    }
    r->by_row = s->n_gathers > 0 || r->scatters;
    for (int g = 0; g < s->n_gathers; g++) {
        const npy_intp bytes = r->st->arrays[g].row * k->in[s->gathers[g].op].itemsize;
        longest = bytes > longest ? bytes : longest;
        r->by_row &= r->st->arrays[g].dense || !s->gathers[g].same;
    }
    if (!s->n_gathers) {
        longest = r->row * k->out[0].itemsize;
    }
    r->by_row &= longest >= DIRECT_BYTES || r->row > TILE / 2;
    r->block = r->by_row || r->row >= TILE ? 1 : TILE / (r->row ? r->row : 1);
    r->column = -1;
    r->columns = 1;
    /* Only the last axis of the target is cut; then a gathered row is shifted along its own last axis. */
    const int last = k->out[0].rank - 1;
    if (r->scatters && r->st->arrays[TARGET].rest && r->st->arrays[TARGET].axis_of_rest[r->st->arrays[TARGET].rest - 1] == last) {
        r->column = k->out[0].dims[last];
        for (int g = 0; g < s->n_gathers; g++) {
            const int rank = k->in[s->gathers[g].op].rank;
            if (k->in[s->gathers[g].op].axes[r->column] != rank - 1 || s->gathers[g].at + s->nd >= rank) {
                r->column = -1;
            }
        }
    }
    if (r->column >= 0) {
        r->columns = r->st->shape[r->column];
    }
}

/* Shares a run out. */
static void run_parts(Run *r)
{
    const npy_intp threads = thn_get_threads(), item = r->k->out[0].itemsize, count = r->st->count;
    const ThnTable *a = &r->st->arrays[TARGET];
    r->kinds = 1;
    if (threads > 1 && r->st->work >= SHORT_WORK && !r->scatters) {
        thn_parallel_ranges(count, thn_share(r->st->work, count), run_positions, r);
        return;
    }
    if (threads > 1 && r->st->work >= SHORT_WORK && (double)count * (double)r->row * item >= SPLIT_BYTES) {
        const npy_intp reach = a->size[0] * thn_magnitude(a->stride[0]);
        if (r->by_row && r->s->target.axes.n == 1 && (r->kinds = thn_page_kinds(reach, threads)) > 1) {
            thn_parallel((long)r->kinds, run_kind, r);
            return;
        }
        if (r->column >= 0 && r->columns * item >= 4 * LINE) {
            const npy_intp line = LINE / item > 0 ? LINE / item : 1;
            const npy_intp unit = ((r->columns + threads - 1) / threads + line - 1) / line * line;
            thn_parallel_ranges(r->columns, unit, run_columns, r);
            return;
        }
    }
    run_positions(r, 0, count);
}

/* Rows of the target that are read after their first update are copied before; short rows all. -1: no memory. */
static int keep_rows(Run *r)
{
    const Spec *s = r->s;
    int g = 0;
    while (g < s->n_gathers && !s->gathers[g].same) {
        g++;
    }
    if (g == s->n_gathers) {
        return 0;
    }
    const ThnTable *a = &r->st->arrays[g];
    const npy_intp bytes = a->row * a->array->itemsize, count = r->st->count, line = r->lengths[r->walk.n - 1];
    npy_intp at[THN_KMAXDIM] = {0}, n_kept = 0, step = a->stride[0] ? a->stride[0] : 1;
    char *ptr[MOST_WALKING];
    THN_POOLED unsigned char *seen = thn_pool_alloc((size_t)(a->size[0] / 8 + 1));
    THN_POOLED npy_intp *offsets = thn_pool_alloc(sizeof(npy_intp) * (size_t)(count + 1));
    r->again = r->by_row ? thn_pool_alloc(sizeof(int32_t) * (size_t)(count + 1)) : NULL;
    THN_NEED(seen && offsets && (r->again || !r->by_row) && count < INT32_MAX);
    memset(seen, 0, (size_t)(a->size[0] / 8 + 1));
    memcpy(ptr, r->start, sizeof *ptr * (size_t)r->walking);
    for (npy_intp t = 0; t < count; t += line, thn_skip(&r->walk, r->walk.n, line, r->walking, ptr, at)) {
        find_offsets(r, g, ptr, line, offsets + n_kept);
        if (!r->by_row) {
            n_kept += line;
            continue;
        }
        /* Kept offsets never run ahead of the positions that are read. */
        for (npy_intp i = 0, end = n_kept; i < line; i++) {
            const npy_intp offset = offsets[end + i], row = offset / step;
            const int known = seen[row >> 3] >> (row & 7) & 1;
            r->again[t + i] = known ? (int32_t)n_kept : -1;
            seen[row >> 3] |= (unsigned char)(1 << (row & 7));
            if (known) {
                offsets[n_kept++] = offset;
            }
        }
    }
    if (n_kept) {
        r->kept = thn_pool_alloc((size_t)(n_kept * bytes + 64));
        THN_NEED(r->kept);
        gather_rows(a, r->kept, offsets, n_kept);
    }
    return 0;
}

/* Scatters a value that is complete, broadcast to the rows. */
static void scatter_whole(Run *r)
{
    State *st = r->st;
    const ThnTable *a = &st->arrays[TARGET];
    const int adds = r->s->adds, rank = r->k->out[0].rank;
    npy_intp strides[THN_KMAXDIM];
    const ThnCell value = {.ndim = (int16_t)rank, .dims = st->value, .strides = r->whole_strides};
    thn_broadcast_strides(&value, rank, a->full, strides);
    if (r->s->target.axes.n) {
        thn_table_move(a, adds ? THN_ADD : THN_WRITE, r->whole, strides);
    } else {
        thn_loop2(rank, a->full, a->data, r->target.strides, r->whole, strides,
                  adds ? thn_add_inner(a->array->typenum) : thn_copy_inner(a->array->itemsize));
    }
}

/* Runs the kernel over everything at once. */
static int run_once(Run *r)
{
    ThnPlan *plan = thn_buffer_alloc(thn_plan_size(r->k));
    THN_NEED(plan);
    thn_plan(r->k, r->in, r->out, r->st->shape, plan);
    const int failed = thn_plan_run(plan);
    thn_buffer_free(plan);
    return failed;
}

int thn_run_indexed(Run *r)
{
    const Spec *s = r->s;
    State *st = r->st;
    const ThnKernelOut *out = &r->k->out[0];
    int whole = st->whole;
    r->scatters = s->target.axes.n > 0 && !whole;
    choose_tiles(r);
    if (r->scatters && r->column < 0 && thn_get_threads() > 1 && st->work > 8 * SHORT_WORK) {
        whole = 1; /* the value is made by several threads */
        r->scatters = 0;
        choose_tiles(r);
    }
    if (s->scatters && whole) {
        const npy_intp size = out->itemsize * thn_product(out->rank, st->value);
        thn_dense_strides(out->rank, st->value, out->itemsize, r->whole_strides);
        r->whole = thn_pool_alloc((size_t)size + 64);
        THN_NEED(r->whole);
        r->out[0] = (ThnArg){r->whole, st->value, r->whole_strides};
        if (s->adds) {
            fill_neutral(out, r->whole, size);
        }
    }
    if (s->adds) {
        r->in[r->k->nin - 1] = r->out[0];
    }
    if (st->count && (r->k->n_inner || r->row)) {
        if (!s->n_gathers && !r->scatters) {
            THN_TRY(run_once(r));
        } else {
            open_walk(r);
            THN_TRY(r->scatters ? keep_rows(r) : 0);
            run_parts(r);
            THN_TRY(r->failed ? -1 : 0);
        }
    }
    if (r->whole) {
        scatter_whole(r);
    }
    return 0;
}

