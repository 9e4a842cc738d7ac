/* Runs plans: elementwise kernels and row pipelines. Where tasks are cut changes no result: sums that are made of parts are
 * cut by sizes alone. */
#include "plan.h"

#define BUFFER 1024               /* elements of a block of an elementwise kernel that goes through buffers */
#define TILE_ROWS 16              /* rows of a tile of an operand that lies transposed: some cache lines of each column */
#define TILE_COLUMNS 256
#define TASK_WORK 25000.0         /* ns of work worth a task */

/* Number of tasks that the work is worth, at most `most`: four a thread, so that who is late is helped, and no fewer than 64. */
thn_intp thn_worth(double work, thn_intp most)
{
    const thn_intp threads = thn_get_threads();
    if (work < PARALLEL_WORK || most < 2) {
        return 1;
    }
    const thn_intp n = (thn_intp)(work / TASK_WORK), enough = threads > 16 ? 4 * threads : 64;
    most = enough < most ? enough : most;
    return n < most ? n : most;
}

thn_intp thn_share(double work, thn_intp n)
{
    const thn_intp parts = thn_worth(work, n);
    return n > 0 ? (n + parts - 1) / parts : 1;
}

/* ---- elementwise */

/* Where the operands' elements e0 of row r0 of the loops around the innermost dim are. */
static void walk_rows(ThnWalk *w, const ThnPlan *p, thn_intp r0, thn_intp e0)
{
    const Dims *g = &p->outer;
    const int last = g->n - 1;
    thn_walk(w, g, last, n_ops(p->k), p->ptr, r0);
    for (int op = 0; op < w->ops; op++) {
        w->ptr[op] += e0 * g->strides[op * g->cap + last];
    }
}

/* Whether an operand that goes through a buffer is dense along the rows' dim rather than along the rows: then each of its
 * cache lines holds elements of several rows, and is to be used for all of them while it is there. */
static int is_transposed(const ThnPlan *p, thn_intp n0)
{
    const Dims *g = &p->outer;
    const int last = g->n - 1;
    const thn_intp least = p->flat ? 32 : 4; /* short rows are better taken together, where they can be */
    for (int op = 0; op < n_ops(p->k) && last > 0 && n0 >= least; op++) {
        const thn_intp *s = g->strides + op * g->cap;
        if (p->through[op] && thn_magnitude(s[last - 1]) < 64 && thn_magnitude(s[last - 1]) < thn_magnitude(s[last])) {
            return 1;
        }
    }
    return 0;
}

/* In tiles: of several rows where an operand lies transposed, else of one, or, with p->flat, of as many short ones as fit, which are
 * taken as one. */
static int elem_range_buffered(const ThnPlan *p, thn_intp r0, thn_intp r1, thn_intp e0, thn_intp e1)
{
    const ThnKernel *k = p->k;
    const Dims *g = &p->outer;
    const int ops = n_ops(k), last = g->n - 1;
    const thn_intp n0 = e1 - e0;
    const int transposed = is_transposed(p, n0), together = !transposed && p->flat && n0 < BUFFER / 2 && n0 == g->shape[last];
    const thn_intp columns = transposed ? TILE_COLUMNS : BUFFER, most = transposed ? TILE_ROWS : together ? BUFFER / n0 : 1;
    char *q[THN_KMAXOPS];
    thn_intp s1[THN_KMAXOPS], rows = 0;
    size_t at[THN_KMAXOPS], bytes = 0;
    ThnWalk w;
    for (int op = 0; op < ops; op++) {
        at[op] = bytes;
        bytes += p->through[op] || together ? (size_t)(transposed ? TILE_ROWS * TILE_COLUMNS : BUFFER) * itemsize_of(k, op) : 0;
    }
    char *buf = thn_buffer_alloc(bytes);
    THN_NEED(buf);
    walk_rows(&w, p, r0, e0);
    for (thn_intp r = r0; r < r1; r += rows) {
        rows = thn_walk_on(&w, rows, r1 - r < most ? r1 - r : most);
        for (thn_intp e = 0; e < n0; e += columns) {
            const thn_intp m = n0 - e < columns ? n0 - e : columns;
            for (int op = 0; op < ops; op++) {
                const thn_intp step = g->strides[op * g->cap + last], size = itemsize_of(k, op);
                q[op] = w.ptr[op] + e * step;
                s1[op] = transposed ? w.along[op] : 0;
                if (p->through[op] || (together && rows > 1 && !is_constant_elem(k, op))) {
                    if (op < k->nin) {
                        thn_copy_2d((int)size, buf + at[op], m * size, size, q[op], w.along[op], step, rows, m);
                    }
                    q[op] = buf + at[op];
                    s1[op] = transposed ? m * size : 0;
                }
            }
            k->fn->elem(q, s1, transposed ? rows : 1, transposed ? m : rows * m);
            for (int op = k->nin; op < ops; op++) {
                const thn_intp step = g->strides[op * g->cap + last], size = itemsize_of(k, op);
                if (q[op] == buf + at[op]) {
                    thn_copy_2d((int)size, w.ptr[op] + e * step, w.along[op], step, q[op], m * size, size, rows, m);
                }
            }
        }
    }
    thn_buffer_free(buf);
    return 0;
}

void thn_elem_apart(const ThnPlan *p)
{
    const ThnKernel *k = p->k;
    const thn_intp *step = p->outer.strides;
    char buf[(FEW_APART + THN_KMAXOPS) * 16] __attribute__((aligned(64))), *ptr[THN_KMAXOPS], *to = buf;
    for (int op = 0; op < n_ops(k); op++) {
        ptr[op] = p->ptr[op];
        if (p->through[op]) {
            const int size = itemsize_of(k, op);
            ptr[op] = to;
            to += (p->n0 * size + 15) / 16 * 16; /* where any type may lie */
            if (op < k->nin) {
                thn_copy_2d(size, ptr[op], 0, size, p->ptr[op], 0, step[op * p->outer.cap], 1, p->n0);
            }
        }
    }
    k->fn->elem(ptr, p->s1, 1, p->n0);
    for (int op = k->nin; op < n_ops(k); op++) {
        if (p->through[op]) {
            const int size = itemsize_of(k, op);
            thn_copy_2d(size, p->ptr[op], 0, step[op * p->outer.cap], ptr[op], 0, size, 1, p->n0);
        }
    }
}

static int elem_part(const ThnPlan *p, thn_intp r0, thn_intp r1, thn_intp e0, thn_intp e1)
{
    if (p->mode == RUN_ELEM_BUFFERED) {
        return elem_range_buffered(p, r0, r1, e0, e1);
    }
    ThnWalk w;
    walk_rows(&w, p, r0, e0);
    for (thn_intp r = r0, m = 0; r < r1; r += m) {
        m = thn_walk_on(&w, m, r1 - r);
        p->k->fn->elem(w.ptr, w.along, m, e1 - e0);
    }
    return 0;
}

static int elem_rows(void *ctx, thn_intp r0, thn_intp r1)
{
    const ThnPlan *p = ctx;
    return elem_part(p, r0, r1, 0, p->outer.shape[p->outer.n - 1]);
}

static int elem_columns(void *ctx, thn_intp e0, thn_intp e1)
{
    const ThnPlan *p = ctx;
    return elem_part(p, 0, p->rows / p->outer.shape[p->outer.n - 1], e0, e1);
}

static int run_elem(const ThnPlan *p)
{
    const thn_intp n0 = p->outer.shape[p->outer.n - 1], rows = p->rows / n0;
    if (p->work < PARALLEL_WORK) {
        return elem_part(p, 0, rows, 0, n0);
    }
    if (rows >= 32 || n0 < 8192) {
        return thn_parallel_ranges(rows, thn_share(p->work, rows), elem_rows, (void *)p);
    }
    const thn_intp tasks = thn_worth(p->work, n0 / 4096);
    return thn_parallel_ranges(n0, ((n0 + tasks - 1) / tasks + 511) / 512 * 512, elem_columns, (void *)p);
}

/* ---- row pipelines */

static int run_rows(void *ctx, thn_intp r0, thn_intp r1)
{
    const ThnPlan *p = ctx;
    const ThnKernel *k = p->k;
    const int ops = n_ops(k);
    char *q[THN_KMAXOPS], *buf = NULL;
    thn_intp sb[THN_KMAXOPS], tile = r1;
    size_t widest = 1;
    ThnWalk w;
    if (p->buffered) {
        for (int op = 0; op < ops; op++) {
            const size_t item = (size_t)itemsize_of(k, op);
            widest = p->through[op] && item > widest ? item : widest;
        }
        /* Several cache lines of each strided element of the rows, as far as the second-level cache holds them. */
        tile = (512 << 10) / (thn_intp)((p->inner ? (size_t)p->inner : 1) * widest);
        tile = tile < 1 ? 1 : tile > 64 ? 64 : tile;
        buf = thn_buffer_alloc((size_t)ops * tile * p->inner * widest);
        THN_NEED(buf);
    }
    thn_walk(&w, &p->outer, p->outer.n, ops, p->ptr, r0);
    for (thn_intp r = r0, m = 0; r < r1; r += m) {
        m = thn_walk_on(&w, m, r1 - r < tile ? r1 - r : tile);
        for (int op = 0; op < ops; op++) {
            q[op] = w.ptr[op];
            sb[op] = w.along[op];
            if (p->through[op]) {
                q[op] = buf + (size_t)op * tile * p->inner * widest;
                sb[op] = p->inner * itemsize_of(k, op);
                if (op < k->nin) {
                    thn_move_rows(p, op, w.ptr[op], w.along[op], m, 0, p->inner, q[op], sb[op], 1);
                }
            }
        }
        k->fn->rows(q, sb, m, p->inner);
        for (int op = k->nin; op < ops; op++) {
            if (p->through[op]) {
                thn_move_rows(p, op, w.ptr[op], w.along[op], m, 0, p->inner, q[op], sb[op], 0);
            }
        }
    }
    thn_buffer_free(buf);
    return 0;
}

int thn_plan_run(const ThnPlan *p)
{
    if (p->direct) {
        thn_run_direct(p);
        return 0;
    }
    switch (p->mode) {
    case RUN_ELEM:
    case RUN_ELEM_BUFFERED: return run_elem(p);
    case RUN_ROWS: return thn_parallel_ranges(p->rows, thn_share(p->work, p->rows), run_rows, (void *)p);
    case RUN_REDUCE: return thn_run_reduce(p);
    case RUN_COLUMNS: return thn_run_columns(p);
    default: return 0;
    }
}
