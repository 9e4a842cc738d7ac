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

/* ---- elementwise */

/* Rows [r0, r1) of the loops around the innermost dim, elements [e0, e1) of each. */
static void elem_range(const ThnPlan *p, thn_intp r0, thn_intp r1, thn_intp e0, thn_intp e1)
{
    const ThnKernel *k = p->k;
    const Dims *g = &p->outer;
    const int ops = n_ops(k), last = g->n - 1;
    char *ptr[THN_KMAXOPS];
    thn_intp s1[THN_KMAXOPS], idx[THN_KMAXDIM + 2];
    thn_strides_along(g, last - 1, ops, s1);
    for (int op = 0; op < ops; op++) {
        ptr[op] = p->ptr[op] + e0 * g->strides[op * g->cap + last];
    }
    thn_seek(g, last, r0, ops, ptr, idx);
    for (thn_intp r = r0; r < r1;) {
        const thn_intp left = thn_left(g, last, idx), m = left < r1 - r ? left : r1 - r;
        k->fn->elem(ptr, s1, m, e1 - e0);
        r += m;
        if (r < r1) {
            thn_skip(g, last, m, ops, ptr, idx);
        }
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
        if (p->through[op] && magnitude(s[last - 1]) < 64 && magnitude(s[last - 1]) < magnitude(s[last])) {
            return 1;
        }
    }
    return 0;
}

/* The same through buffers, in tiles of several rows. */
static int elem_range_tiled(const ThnPlan *p, thn_intp r0, thn_intp r1, thn_intp e0, thn_intp e1)
{
    const ThnKernel *k = p->k;
    const Dims *g = &p->outer;
    const int ops = n_ops(k), last = g->n - 1;
    char *ptr[THN_KMAXOPS], *q[THN_KMAXOPS];
    thn_intp s1[THN_KMAXOPS], idx[THN_KMAXDIM + 2];
    size_t at[THN_KMAXOPS], bytes = 0;
    for (int op = 0; op < ops; op++) {
        at[op] = bytes;
        bytes += p->through[op] ? (size_t)TILE_ROWS * TILE_COLUMNS * itemsize_of(k, op) : 0;
    }
    char *buf = thn_buffer_alloc(bytes);
    if (!buf) {
        return -1;
    }
    for (thn_intp r = r0, rows; r < r1; r += rows) {
        memcpy(ptr, p->ptr, ops * sizeof(char *));
        thn_seek(g, last, r, ops, ptr, idx);
        const thn_intp left = g->shape[last - 1] - r % g->shape[last - 1];
        rows = left < TILE_ROWS ? left : TILE_ROWS;
        rows = rows < r1 - r ? rows : r1 - r;
        for (thn_intp e = e0; e < e1; e += TILE_COLUMNS) {
            const thn_intp m = e1 - e < TILE_COLUMNS ? e1 - e : TILE_COLUMNS;
            for (int op = 0; op < ops; op++) {
                const thn_intp *s = g->strides + op * g->cap, size = itemsize_of(k, op);
                q[op] = ptr[op] + e * s[last];
                s1[op] = s[last - 1];
                if (p->through[op]) {
                    char *b = buf + at[op];
                    if (op < k->nin) {
                        thn_copy_2d((int)size, b, m * size, size, q[op], s[last - 1], s[last], rows, m);
                    }
                    q[op] = b;
                    s1[op] = m * size;
                }
            }
            k->fn->elem(q, s1, rows, m);
            for (int op = k->nin; op < ops; op++) {
                const thn_intp *s = g->strides + op * g->cap, size = itemsize_of(k, op);
                if (p->through[op]) {
                    thn_copy_2d((int)size, ptr[op] + e * s[last], s[last - 1], s[last], q[op], m * size, size, rows, m);
                }
            }
        }
    }
    thn_buffer_free(buf);
    return 0;
}

/* The same through buffers. With p->flat, rows are taken together as far as they fit. */
static int elem_range_buffered(const ThnPlan *p, thn_intp r0, thn_intp r1, thn_intp e0, thn_intp e1)
{
    const ThnKernel *k = p->k;
    const Dims *g = &p->outer;
    const int ops = n_ops(k), last = g->n - 1;
    char *ptr[THN_KMAXOPS], *q[THN_KMAXOPS];
    thn_intp zero[THN_KMAXOPS] = {0}, idx[THN_KMAXDIM + 2];
    const thn_intp n0 = e1 - e0;
    if (is_transposed(p, n0)) {
        return elem_range_tiled(p, r0, r1, e0, e1);
    }
    const int together = p->flat && n0 < BUFFER / 2 && n0 == g->shape[last];
    char *buf = thn_buffer_alloc((size_t)ops * BUFFER * 16);
    if (!buf) {
        return -1;
    }
    for (int op = 0; op < ops; op++) {
        ptr[op] = p->ptr[op] + e0 * g->strides[op * g->cap + last];
    }
    thn_seek(g, last, r0, ops, ptr, idx);
    for (thn_intp r = r0; r < r1;) {
        thn_intp rows = 1;
        if (together) {
            const thn_intp left = thn_left(g, last, idx);
            rows = BUFFER / n0;
            rows = rows < left ? rows : left;
            rows = rows < r1 - r ? rows : r1 - r;
        }
        for (thn_intp e = 0; e < n0; e += BUFFER) {
            const thn_intp m = n0 - e < BUFFER ? n0 - e : BUFFER;
            for (int op = 0; op < ops; op++) {
                const thn_intp *s = g->strides + op * g->cap;
                const thn_intp size = itemsize_of(k, op), sr = last > 0 ? s[last - 1] : 0;
                const int constant = is_constant_elem(k, op);
                q[op] = ptr[op] + e * s[last];
                if (p->through[op] || (rows > 1 && !constant)) {
                    char *b = buf + (size_t)op * BUFFER * 16;
                    if (op < k->nin) {
                        thn_copy_2d((int)size, b, m * size, size, q[op], sr, s[last], rows, m);
                    }
                    q[op] = b;
                }
            }
            k->fn->elem(q, zero, 1, rows * m);
            for (int op = k->nin; op < ops; op++) {
                const thn_intp *s = g->strides + op * g->cap;
                const thn_intp size = itemsize_of(k, op), sr = last > 0 ? s[last - 1] : 0;
                char *b = buf + (size_t)op * BUFFER * 16;
                if (q[op] == b) {
                    thn_copy_2d((int)size, ptr[op] + e * s[last], sr, s[last], b, m * size, size, rows, m);
                }
            }
        }
        r += rows;
        if (r < r1) {
            thn_skip(g, last, rows, ops, ptr, idx);
        }
    }
    thn_buffer_free(buf);
    return 0;
}

void thn_elem_apart(const ThnPlan *p)
{
    const ThnKernel *k = p->k;
    const Dims *g = &p->outer;
    char buf[FEW_APART * 16] __attribute__((aligned(64))), *ptr[THN_KMAXOPS], *to = buf;
    for (int op = 0; op < n_ops(k); op++) {
        ptr[op] = p->ptr[op];
        if (p->through[op]) {
            const int size = itemsize_of(k, op);
            ptr[op] = to;
            to += p->n0 * size;
            if (op < k->nin) {
                thn_copy_2d(size, ptr[op], 0, size, p->ptr[op], 0, g->strides[op * g->cap], 1, p->n0);
            }
        }
    }
    k->fn->elem(ptr, p->s1, 1, p->n0);
    for (int op = k->nin; op < n_ops(k); op++) {
        if (p->through[op]) {
            const int size = itemsize_of(k, op);
            thn_copy_2d(size, p->ptr[op], 0, g->strides[op * g->cap], ptr[op], 0, size, 1, p->n0);
        }
    }
}

static void elem_task(void *ctx, long task)
{
    Launch *l = ctx;
    const ThnPlan *p = l->p;
    const thn_intp n0 = p->outer.shape[p->outer.n - 1], rows = p->rows / n0;
    thn_intp r0 = 0, r1 = rows, e0 = 0, e1 = n0;
    if (l->by_inner) {
        e0 = task * l->unit;
        e1 = e0 + l->unit < n0 ? e0 + l->unit : n0;
    }
    else {
        r0 = task * l->unit;
        r1 = r0 + l->unit < rows ? r0 + l->unit : rows;
    }
    if (p->mode == RUN_ELEM) {
        elem_range(p, r0, r1, e0, e1);
    }
    else if (elem_range_buffered(p, r0, r1, e0, e1) < 0) {
        l->failed = 1;
    }
}

static int run_elem(const ThnPlan *p)
{
    Launch l = {.p = p};
    const thn_intp n0 = p->outer.shape[p->outer.n - 1], rows = p->rows / n0;
    if (p->work < PARALLEL_WORK) {
        l.ntasks = 1;
        l.unit = rows;
    }
    else if (rows >= 32 || n0 < 8192) {
        l.ntasks = thn_worth(p->work, rows);
        l.unit = (rows + l.ntasks - 1) / l.ntasks;
        l.ntasks = (rows + l.unit - 1) / l.unit;
    }
    else {
        l.by_inner = 1;
        l.ntasks = thn_worth(p->work, n0 / 4096);
        l.unit = ((n0 + l.ntasks - 1) / l.ntasks + 511) / 512 * 512;
        l.ntasks = (n0 + l.unit - 1) / l.unit;
    }
    if (l.ntasks <= 1) {
        elem_task(&l, 0);
    }
    else {
        thn_parallel((long)l.ntasks, elem_task, &l);
    }
    return l.failed ? -1 : 0;
}

/* ---- row pipelines */

static void rows_task(void *ctx, long task)
{
    Launch *l = ctx;
    const ThnPlan *p = l->p;
    const ThnKernel *k = p->k;
    const Dims *g = &p->outer;
    const int ops = n_ops(k);
    const thn_intp r0 = task * l->unit, r1 = r0 + l->unit < p->rows ? r0 + l->unit : p->rows;
    char *ptr[THN_KMAXOPS], *q[THN_KMAXOPS], *buf = NULL;
    thn_intp s1[THN_KMAXOPS], sb[THN_KMAXOPS], idx[THN_KMAXDIM + 2];
    thn_intp tile = 1;
    size_t widest = 1;
    thn_strides_along(g, g->n - 1, ops, s1);
    if (p->buffered) {
        for (int op = 0; op < ops; op++) {
            const size_t item = (size_t)itemsize_of(k, op);
            widest = p->through[op] && item > widest ? item : widest;
        }
        /* Several cache lines of each strided element of the rows, as far as the second-level cache holds them. */
        tile = (512 << 10) / (thn_intp)((p->inner ? (size_t)p->inner : 1) * widest);
        tile = tile < 1 ? 1 : tile > 64 ? 64 : tile;
        buf = thn_buffer_alloc((size_t)ops * tile * p->inner * widest);
        if (!buf) {
            l->failed = 1;
            return;
        }
    }
    memcpy(ptr, p->ptr, ops * sizeof(char *));
    thn_seek(g, g->n, r0, ops, ptr, idx);
    for (thn_intp r = r0; r < r1;) {
        thn_intp m = thn_left(g, g->n, idx);
        m = m < r1 - r ? m : r1 - r;
        if (buf && m > tile) {
            m = tile;
        }
        for (int op = 0; op < ops; op++) {
            q[op] = ptr[op];
            sb[op] = s1[op];
            if (p->through[op]) {
                char *b = buf + (size_t)op * tile * p->inner * widest;
                sb[op] = p->inner * itemsize_of(k, op);
                if (op < k->nin) {
                    thn_move_rows(p, op, q[op], s1[op], m, 0, p->inner, b, sb[op], 1);
                }
                q[op] = b;
            }
        }
        k->fn->rows(q, sb, m, p->inner);
        for (int op = k->nin; op < ops; op++) {
            if (p->through[op]) {
                thn_move_rows(p, op, ptr[op], s1[op], m, 0, p->inner, q[op], sb[op], 0);
            }
        }
        r += m;
        if (r < r1) {
            thn_skip(g, g->n, m, ops, ptr, idx);
        }
    }
    thn_buffer_free(buf);
}

static int run_rows(const ThnPlan *p)
{
    Launch l = {.p = p};
    l.ntasks = thn_worth(p->work, p->rows);
    l.unit = (p->rows + l.ntasks - 1) / l.ntasks;
    l.ntasks = (p->rows + l.unit - 1) / l.unit;
    thn_parallel((long)l.ntasks, rows_task, &l);
    return l.failed ? -1 : 0;
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
    case RUN_ROWS: return run_rows(p);
    case RUN_REDUCE: return thn_run_reduce(p);
    case RUN_COLUMNS: return thn_run_columns(p);
    default: return 0;
    }
}
