/* Reductions: along contiguous rows, through buffers, and down columns. Partial results are made of pieces that depend on
 * sizes alone, and are combined in a fixed order. */
#include "plan.h"

#include <stdlib.h>

#define ROWS 256                  /* rows whose reductions are finished together */
#define PIECE 4096                /* elements that a strided row is gathered by */
#define CHUNK 16384               /* elements of a row that are reduced as one */
#define ACC_BYTES (THN_LANES * 16)

/* ---- accumulators */

#define ACC_LOOP(T, EXPR)                                     \
    {                                                         \
        T *x = (T *)a;                                        \
        const T *y = (const T *)b;                            \
        for (thn_intp i = 0; i < n; i++) {                    \
            x[i] = (T)(EXPR);                                 \
        }                                                     \
        return;                                               \
    }
#define SUMS(T, U)                                                                            \
    case 'a': ACC_LOOP(T, (U)x[i] + (U)y[i])                                                  \
    case 'm': ACC_LOOP(T, (U)x[i] * (U)y[i])                                                  \
    case 'A': ACC_LOOP(T, (x[i] != 0) & (y[i] != 0))                                          \
    case 'O': ACC_LOOP(T, (x[i] != 0) | (y[i] != 0))
#define ORDERED(T, U)                                                                         \
    SUMS(T, U)                                                                                \
    case 'X': ACC_LOOP(T, (y[i] > x[i]) | (y[i] != y[i]) ? y[i] : x[i])                       \
    case 'N': ACC_LOOP(T, (y[i] < x[i]) | (y[i] != y[i]) ? y[i] : x[i])
#define INTEGERS(T, U)                                                                        \
    ORDERED(T, U)                                                                             \
    case '&': ACC_LOOP(T, x[i] & y[i])                                                        \
    case '|': ACC_LOOP(T, x[i] | y[i])                                                        \
    case '^': ACC_LOOP(T, x[i] ^ y[i])
#define ACC(c, OPERATORS, T, U)                                                               \
    case c:                                                                                   \
        switch (op) {                                                                         \
            OPERATORS(T, U)                                                                   \
        }                                                                                     \
        break;

/* a[i] = a[i] op b[i] */
static void combine(char op, char type, void *a, const void *b, thn_intp n)
{
    switch (type) {
        ACC('b', INTEGERS, int8_t, unsigned)
        ACC('h', INTEGERS, int16_t, unsigned)
        ACC('i', INTEGERS, int32_t, uint32_t)
        ACC('q', INTEGERS, int64_t, uint64_t)
    case '?':
        ACC('B', INTEGERS, uint8_t, unsigned)
        ACC('H', INTEGERS, uint16_t, unsigned)
        ACC('I', INTEGERS, uint32_t, uint32_t)
        ACC('Q', INTEGERS, uint64_t, uint64_t)
#if defined(__FLT16_MAX__)
        ACC('e', ORDERED, _Float16, _Float16)
#endif
        ACC('f', ORDERED, float, float)
        ACC('d', ORDERED, double, double)
        ACC('F', SUMS, float _Complex, float _Complex)
        ACC('D', SUMS, double _Complex, double _Complex)
    }
}

/* Bytes of an accumulator. */
static int acc_size(char type)
{
    switch (type) {
    case '?': case 'b': case 'B': return 1;
    case 'h': case 'H': case 'e': return 2;
    case 'i': case 'I': case 'f': return 4;
    case 'D': return 16;
    default: return 8;
    }
}

/* The first n lanes of all accumulators become the first of others, which hold the reduction of no element. */
static void acc_init(const char *codes, char *acc, const char *empty, thn_intp n)
{
    for (int r = 0; codes[2 * r]; r++) {
        char *to = acc + (size_t)r * ACC_BYTES;
        const size_t size = (size_t)acc_size(codes[2 * r + 1]), total = (size_t)n * size;
        memcpy(to, empty + (size_t)r * ACC_BYTES, size);
        for (size_t done = size; done < total; done *= 2) {
            memcpy(to + done, to, done < total - done ? done : total - done);
        }
    }
}

/* Lanes [to, to + n) of acc take in lanes [from, from + n) of other. */
static void acc_combine(const char *codes, char *acc, thn_intp to, const char *other, thn_intp from, thn_intp n)
{
    for (int r = 0; codes[2 * r]; r++) {
        const char op = codes[2 * r], type = codes[2 * r + 1];
        const size_t size = (size_t)acc_size(type);
        combine(op, type, acc + (size_t)r * ACC_BYTES + to * size, other + (size_t)r * ACC_BYTES + from * size, n);
    }
}

/* Lane 0 of acc becomes the reduction of its n lanes, as a balanced tree. */
static void acc_fold(const char *codes, char *acc, thn_intp n)
{
    while (n > 1) {
        const thn_intp h = (n + 1) / 2;
        acc_combine(codes, acc, 0, acc, h, n - h);
        n = h;
    }
}

static size_t acc_total(const ThnKernel *k)
{
    return strlen(k->fn->reduces) / 2 * (size_t)ACC_BYTES;
}

/* ---- reductions along rows */

static thn_intp chunk_length(thn_intp n)
{
    thn_intp c = (n + THN_LANES - 1) / THN_LANES;
    c = (c + 2047) / 2048 * 2048;
    return c < CHUNK ? CHUNK : c;
}

/* Rows that are taken at a time, at most. Gathered tiles are a few cache lines wide. */
static thn_intp rows_together(const ThnPlan *p)
{
    const thn_intp most = p->inner > chunk_length(p->inner) ? 1 : p->buffered ? 32 : ROWS, last = p->outer.n - 1;
    return last >= 0 && p->outer.shape[last] < most ? p->outer.shape[last] : most;
}

/* Elements [e0, e1) of m rows at q (strides s) into lanes j.. of acc. */
static void reduce_rows(const ThnPlan *p, char *const *q, const thn_intp *s, thn_intp m, thn_intp e0, thn_intp e1, char *acc, thn_intp j,
                        char *buf, char *spare)
{
    const ThnKernel *k = p->k;
    const int ops = n_ops(k);
    char *v[THN_KMAXOPS];
    thn_intp sv[THN_KMAXOPS];
    if (!p->buffered) {
        for (int op = 0; op < ops; op++) {
            v[op] = q[op] + (is_row_operand(k, op) ? 0 : e0 * itemsize_of(k, op));
        }
        k->fn->part(v, s, m, e1 - e0, e0, acc, j);
        return;
    }
    if (e0 == e1) {
        k->fn->part(q, s, m, 0, e0, acc, j);
        return;
    }
    const Dims *g = &p->in;
    /* Not by m: where the rows are cut between tasks must change no result. */
    const thn_intp tile = PIECE / rows_together(p), run = p->segmented ? g->shape[g->n - 1] : 0;
    for (thn_intp e = e0, n; e < e1; e += n) {
        n = run ? run - e % run : tile;
        n = e1 - e < n ? e1 - e : n;
        for (int op = 0; op < ops; op++) {
            v[op] = q[op];
            sv[op] = s[op];
            if (run && !is_row_operand(k, op)) {
                thn_intp pos = e / run;
                v[op] += e % run * itemsize_of(k, op);
                for (int d = g->n - 2; d >= 0; d--) {
                    v[op] += pos % g->shape[d] * g->strides[op * g->cap + d];
                    pos /= g->shape[d];
                }
            } else if (p->through[op]) {
                v[op] = buf + (size_t)op * PIECE * 16;
                sv[op] = n * itemsize_of(k, op);
                if (op < k->nin) {
                    thn_move_rows(p, op, q[op], s[op], m, e, n, v[op], sv[op], 1);
                }
            } else if (!is_row_operand(k, op)) {
                v[op] += e * itemsize_of(k, op);
            }
        }
        if (e == e0) {
            k->fn->part(v, sv, m, n, e, acc, j);
        } else {
            k->fn->part(v, sv, m, n, e, spare, 0);
            acc_combine(k->fn->reduces, acc, j, spare, 0, m);
        }
        for (int op = k->nin; op < ops && !run; op++) {
            if (p->through[op]) {
                thn_move_rows(p, op, q[op], s[op], m, e, n, v[op], sv[op], 0);
            }
        }
    }
}

/* A reduction that is cut into chunks, whose results are combined. */
typedef struct {
    const ThnPlan *p;
    char *acc;          /* partial results */
    char *empty;        /* columns: accumulators of no element */
    thn_intp chunk, nchunks;
    char *const *row_ptr;
    const thn_intp *along;
    thn_intp rows;      /* that are taken together; more than one have a single chunk each */
    int spread;         /* chunks of a row are tasks, with buffers of their own */
    char *buf;
} Launch;

/* Bytes of what rows of a reduction go through: buffers, then accumulators. */
static size_t buffer_bytes(const ThnPlan *p)
{
    return p->buffered ? (size_t)n_ops(p->k) * PIECE * 16 : 0;
}

/* Chunks of some rows. */
static int reduce_chunks(void *ctx, thn_intp e0, thn_intp e1)
{
    const Launch *l = ctx;
    const ThnPlan *p = l->p;
    char *own = l->spread && p->buffered ? thn_buffer_alloc(buffer_bytes(p) + acc_total(p->k)) : NULL, *buf = own ? own : l->buf;
    THN_NEED(buf || !p->buffered);
    do {
        const thn_intp e = e1 - e0 < l->chunk ? e1 : e0 + l->chunk;
        reduce_rows(p, l->row_ptr, l->along, l->rows, e0, e, l->acc, e0 / l->chunk, buf, buf + buffer_bytes(p));
        e0 = e;
    } while (e0 < e1);
    thn_buffer_free(own);
    return 0;
}

/* Rows [r0, r1), every chunk of them. */
static int reduce_row_range(void *ctx, thn_intp r0, thn_intp r1)
{
    Launch l = *(const Launch *)ctx;
    const ThnPlan *p = l.p;
    const thn_intp most = rows_together(p);
    int failed = 0;
    ThnWalk w;
    l.acc = thn_buffer_alloc(2 * acc_total(p->k) + buffer_bytes(p));
    THN_NEED(l.acc);
    l.buf = l.spread ? NULL : l.acc + acc_total(p->k);
    l.row_ptr = w.ptr;
    l.along = w.along;
    thn_walk(&w, &p->outer, p->outer.n, n_ops(p->k), p->ptr, r0);
    for (thn_intp r = r0; r < r1 && !failed; r += l.rows) {
        l.rows = thn_walk_on(&w, l.rows, r1 - r < most ? r1 - r : most);
        failed = l.spread ? thn_parallel_ranges(p->inner, l.chunk, reduce_chunks, &l) : reduce_chunks(&l, 0, p->inner);
        if (l.nchunks > 1) {
            acc_fold(p->k->fn->reduces, l.acc, l.nchunks);
        }
        p->k->fn->fin(w.ptr, w.along, l.rows, l.acc);
    }
    thn_buffer_free(l.acc);
    return failed;
}

#define DIRECT_REDUCTIONS 2

int thn_reduces_directly(const ThnPlan *p)
{
    return p->rows <= ROWS && p->inner <= CHUNK && acc_total(p->k) <= DIRECT_REDUCTIONS * (size_t)ACC_BYTES;
}

void thn_reduce_direct(const ThnPlan *p)
{
    char acc[DIRECT_REDUCTIONS * ACC_BYTES] __attribute__((aligned(64)));
    p->k->fn->part(p->ptr, p->s1, p->n1, p->n0, 0, acc, 0);
    p->k->fn->fin(p->ptr, p->s1, p->n1, acc);
}

int thn_run_reduce(const ThnPlan *p)
{
    Launch l = {.p = p, .chunk = chunk_length(p->inner)};
    l.nchunks = (p->inner + l.chunk - 1) / l.chunk;
    /* Of few long rows the chunks of each are spread over the threads. */
    l.spread = l.nchunks > 1 && p->rows < 8 && p->work >= PARALLEL_WORK;
    return thn_parallel_ranges(p->rows, l.spread ? p->rows : thn_share(p->work, p->rows), reduce_row_range, &l);
}

/* ---- reductions down columns */

#define ROWS_TOGETHER 4 /* as the printer of kernels has it */

static thn_intp columns_of(const ThnPlan *p)
{
    return p->outer.shape[p->outer.n - 1];
}

static thn_intp blocks_of(const ThnPlan *p)
{
    return (columns_of(p) + THN_LANES - 1) / THN_LANES;
}

/* Rows [i0, i1) of the inner dims into the accumulators of column blocks [b0, b1). */
static void accumulate_columns(const Launch *l, thn_intp b0, thn_intp b1, thn_intp i0, thn_intp i1, char *acc)
{
    const ThnPlan *p = l->p;
    const ThnKernel *k = p->k;
    const thn_intp ncols = columns_of(p);
    const size_t acc_bytes = acc_total(k);
    char *q[THN_KMAXOPS];
    ThnWalk w;
    for (thn_intp b = b0; b < b1; b++) {
        const thn_intp left = ncols - b * THN_LANES;
        acc_init(k->fn->reduces, acc + (size_t)(b - b0) * acc_bytes, l->empty, left < THN_LANES ? left : THN_LANES);
    }
    thn_walk(&w, &p->in, p->in.n, n_ops(k), l->row_ptr, i0);
    for (thn_intp i = i0, m = 0; i < i1; i += m) {
        /* A few rows at once through all blocks: memory is read in long runs, which counts for more than still fewer visits
         * to the accumulators. */
        m = thn_walk_on(&w, m, b1 - b0 > 1 && i1 - i > ROWS_TOGETHER ? ROWS_TOGETHER : i1 - i);
        for (thn_intp b = b0; b < b1; b++) {
            const thn_intp c0 = b * THN_LANES, c1 = c0 + THN_LANES < ncols ? c0 + THN_LANES : ncols;
            for (int op = 0; op < w.ops; op++) {
                q[op] = w.ptr[op] + c0 * p->outer.strides[op * p->outer.cap + p->outer.n - 1];
            }
            k->fn->cols(q, w.along, m, c1 - c0, acc + (size_t)(b - b0) * acc_bytes);
        }
    }
}

static void finish_columns(const ThnPlan *p, char *const *base, thn_intp b, char *acc)
{
    const ThnKernel *k = p->k;
    const int ops = n_ops(k);
    const thn_intp ncols = columns_of(p), c0 = b * THN_LANES, c1 = c0 + THN_LANES < ncols ? c0 + THN_LANES : ncols;
    char *q[THN_KMAXOPS];
    thn_intp s[THN_KMAXOPS];
    thn_strides_along(&p->outer, p->outer.n - 1, ops, s);
    for (int op = 0; op < ops; op++) {
        q[op] = base[op] + c0 * s[op];
    }
    k->fn->fin(q, s, c1 - c0, acc);
}

/* Some of the inner rows of all columns. */
static int columns_chunk(void *ctx, thn_intp i0, thn_intp i1)
{
    const Launch *l = ctx;
    const thn_intp nblocks = blocks_of(l->p);
    for (thn_intp e; i0 < i1; i0 = e) {
        e = i1 - i0 < l->chunk ? i1 : i0 + l->chunk;
        accumulate_columns(l, 0, nblocks, i0, e, l->acc + (size_t)(i0 / l->chunk * nblocks) * acc_total(l->p->k));
    }
    return 0;
}

/* Some blocks of columns as a whole. */
static int column_blocks(void *ctx, thn_intp b0, thn_intp b1)
{
    const Launch *l = ctx;
    const size_t acc_bytes = acc_total(l->p->k);
    char *acc = l->acc + (size_t)b0 * acc_bytes;
    accumulate_columns(l, b0, b1, 0, l->p->inner, acc);
    for (thn_intp b = b0; b < b1; b++) {
        finish_columns(l->p, l->row_ptr, b, acc + (size_t)(b - b0) * acc_bytes);
    }
    return 0;
}

/* All columns of one position of the outer dims. l->acc has room for nchunks x nblocks accumulators. */
static void columns_of_row(Launch *l, double work)
{
    const ThnPlan *p = l->p;
    const ThnKernel *k = p->k;
    const thn_intp ncols = columns_of(p), nblocks = blocks_of(p);
    const size_t acc_bytes = acc_total(k);
    if (l->nchunks == 1) {
        thn_parallel_ranges(nblocks, thn_share(work, nblocks), column_blocks, l);
        return;
    }
    thn_parallel_ranges(p->inner, work < PARALLEL_WORK ? p->inner : l->chunk, columns_chunk, l);
    for (thn_intp b = 0; b < nblocks; b++) {
        char *acc = l->acc + (size_t)b * acc_bytes;
        const thn_intp left = ncols - b * THN_LANES, n = left < THN_LANES ? left : THN_LANES;
        for (thn_intp span = 1; span < l->nchunks; span *= 2) {
            for (thn_intp c = 0; c + span < l->nchunks; c += 2 * span) {
                acc_combine(k->fn->reduces, acc + (size_t)c * nblocks * acc_bytes, 0,
                            acc + (size_t)(c + span) * nblocks * acc_bytes, 0, n);
            }
        }
        finish_columns(p, l->row_ptr, b, acc);
    }
}

/* Positions [r0, r1) of the outer dims. */
static int column_rows(void *ctx, thn_intp r0, thn_intp r1)
{
    const Launch *shared = ctx;
    const ThnPlan *p = shared->p;
    const thn_intp rows = p->rows / columns_of(p);
    Launch l = *shared;
    ThnWalk w;
    l.empty = thn_buffer_alloc((size_t)(l.nchunks * blocks_of(p) + 1) * acc_total(p->k));
    THN_NEED(l.empty);
    l.acc = l.empty + acc_total(p->k);
    thn_walk(&w, &p->outer, p->outer.n - 1, n_ops(p->k), p->ptr, r0);
    l.row_ptr = w.ptr;
    p->k->fn->part(w.ptr, w.along, 1, 0, 0, l.empty, 0);
    for (thn_intp r = r0; r < r1; r++) {
        thn_walk_on(&w, r > r0, 1);
        /* With several tasks what is inside is no loop for several threads. */
        columns_of_row(&l, r1 - r0 == rows ? p->work / (double)rows : 0.0);
    }
    thn_buffer_free(l.empty);
    return 0;
}

int thn_run_columns(const ThnPlan *p)
{
    const thn_intp ncols = columns_of(p), rows = p->rows / ncols;
    Launch l = {.p = p, .nchunks = 1};
    /* Few columns and many rows: rows are cut into pieces that depend on the sizes alone. */
    if (ncols < 2048 && p->inner >= 512) {
        l.nchunks = p->inner * ncols / 32768;
        l.nchunks = l.nchunks > 16 ? 16 : l.nchunks < 1 ? 1 : l.nchunks;
        l.nchunks = l.nchunks > p->inner / 128 ? p->inner / 128 : l.nchunks;
    }
    l.chunk = (p->inner + l.nchunks - 1) / l.nchunks;
    l.nchunks = l.nchunks > 1 ? (p->inner + l.chunk - 1) / l.chunk : 1;
    return thn_parallel_ranges(rows, rows < 4 ? rows : thn_share(p->work, rows), column_rows, &l);
}
