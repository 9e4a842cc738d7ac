/* Products with compressed sparse matrices. */
#include "sparse_parts.h"
#include "copy.h"
#include "plan.h"
#include "pool.h"
#include "threads.h"
#include "processor.h"
#include "shuffle.h"

#define SHORT_ROWS (sizeof(T) == 4 ? 12 : 8) /* values that short rows have on average, */
#define SHORT_COLUMNS 6 /* and short columns, */
#define LONG 32  /* and long rows */
#define RUN 32   /* short rows that are worked on at once, */
#define ROOM 2048 /* if they have so many values at most */
#define BY_ROWS 4 /* columns from which on a csc matrix is sorted by rows for a product */
#define MOST_COPIES 8 /* of the result of a csc matrix times a vector */
#define AHEAD 8 /* values between the one that is worked on and that whose row is fetched */

#define LOOPS "for_indices.h"
#define INDEXED "sparse_loops.h"
#define SUFFIX NAME()
#define ISA any
#define TARGET
#include "for_floats.h"
#if defined(__x86_64__)
#define ISA avx2
#define TARGET THN_AVX2
#include "for_floats.h"
#endif

typedef struct {
    ThnOfLines csr_matrix, csr_vectors, dot_at;
    int (*csc_vector)(const ThnProduct *, npy_intp, npy_intp, const char *, char *, npy_intp);
} Loops;

#define OF(end) {csr_matrix##end, csr_vectors##end, dot_at##end, csc_vector##end}
#define OF_FLOATS(isa) {FOR_INDICES(OF, isa##_float), FOR_INDICES(OF, isa##_double)}
static const Loops plain_loops[2][2] = OF_FLOATS(_any);
#if defined(__x86_64__)
static const Loops avx2_loops[2][2] = OF_FLOATS(_avx2);
#endif

/* NULL: of other dtypes. */
static const Loops *loops_for(const ThnSparse *s)
{
    THN_NULL_UNLESS(s->typenum == NPY_FLOAT || s->typenum == NPY_DOUBLE);
#if defined(__x86_64__)
    if (thn_has_avx2()) {
        return &avx2_loops[s->typenum == NPY_DOUBLE][s->wide];
    }
#endif
    return &plain_loops[s->typenum == NPY_DOUBLE][s->wide];
}

typedef struct {
    const void *what;
    ThnOfLines work_on;
    npy_intp parts;
} Lines;

static int lines_of_part(void *ctx, npy_intp part, npy_intp next)
{
    const Lines *k = ctx;
    const ThnSparse *s = k->what;
    return k->work_on(k->what, thn_sparse_part(s, NULL, part, k->parts), thn_sparse_part(s, NULL, next, k->parts));
}

int thn_sparse_by_lines(const void *what, ThnOfLines work_on, double work)
{
    Lines k = {what, work_on, thn_worth(work, THN_MOST_PARTS)};
    return thn_parallel_ranges(k.parts, 1, lines_of_part, &k);
}

/* A csc matrix times columns. Parts of its lines are added up each in a copy of the result of its own, and then part by part:
 * how many there are does not depend on the number of threads. */
typedef struct {
    const ThnProduct *what;
    const Loops *loops;
    npy_intp parts;
    char *copies; /* of parts from 1 on, for each column; contiguous */
    npy_intp copy;
} Scattered;

static char *copy_of(const Scattered *k, npy_intp part, npy_intp column)
{
    const ThnProduct *w = k->what;
    return part ? k->copies + ((part - 1) * w->columns + column) * k->copy : w->y + column * w->y_col;
}

static int csc_vector(void *ctx, npy_intp task, npy_intp Py_UNUSED(next))
{
    const Scattered *k = ctx;
    const ThnProduct *w = k->what;
    const npy_intp part = task % k->parts, column = task / k->parts, row = part ? w->s.item : w->y_row;
    const npy_intp l0 = thn_sparse_part(&w->s, NULL, part, k->parts), l1 = thn_sparse_part(&w->s, NULL, part + 1, k->parts);
    return k->loops->csc_vector(w, l0, l1, w->b + column * w->b_col, copy_of(k, part, column), row);
}

#define PIECE 8192 /* elements of the result that a task adds up */

static void add_copies_task(void *ctx, long task)
{
    Scattered *k = ctx;
    const ThnProduct *w = k->what;
    const npy_intp pieces = (w->s.length + PIECE - 1) / PIECE, column = task / pieces, first = task % pieces * PIECE;
    const npy_intp n = thn_least(w->s.length - first, PIECE), item = w->s.item;
    for (npy_intp part = 1; part < k->parts; part++) {
        thn_add_inner(w->s.typenum)(n, copy_of(k, 0, column) + first * w->y_row, w->y_row, copy_of(k, part, column) + first * item, item);
    }
}

static int csc_vectors(const ThnProduct *w, const Loops *loops)
{
    THN_POOLED char *copies = NULL;
    Scattered k = {.what = w, .loops = loops, .parts = 1, .copy = w->s.length * w->s.item};
    if (w->s.length && w->s.stored > 20000 && w->s.stored / 8 >= w->s.length) {
        const npy_intp worth = w->s.stored / (8 * w->s.length);
        k.parts = thn_least(thn_most(worth, 2), MOST_COPIES);
        k.copies = copies = thn_pool_alloc((size_t)((k.parts - 1) * w->columns * k.copy));
        THN_MEMORY(copies);
    }
    const int r = thn_parallel_ranges(w->columns * k.parts, 1, csc_vector, &k);
    if (k.parts > 1 && r == 0) {
        thn_parallel((long)(w->columns * ((w->s.length + PIECE - 1) / PIECE)), add_copies_task, &k);
    }
    return r;
}

int thn_sparse_product(ThnProduct *w)
{
    ThnSparse *s = &w->s;
    const Loops *loops = loops_for(s);
    THN_MADE ThnSparse made = {0};
    if (s->csc && w->columns >= BY_ROWS) {
        /* Adding to rows all over the result costs more than to sort the values by rows. */
        const int r = thn_sparse_turn(s, &made);
        if (r < 0) {
            return r;
        }
        *s = made;
    }
    if (w->columns == 0) {
        return 0;
    }
    if (s->csc && loops) {
        return csc_vectors(w, loops);
    }
    const ThnOfLines product = thn_sparse_loops(s)->product;
    if (s->csc) {
        memset(w->y, 0, (size_t)(s->length * w->columns * s->item));
        return product(w, 0, s->lines);
    }
    const int rows_dense = w->columns > 1 && w->b_col == s->item && w->y_col == s->item;
    const double work = ((double)s->stored + (double)s->lines) * (1.0 + (loops ? 0.4 : 0.6) * (double)w->columns);
    return thn_sparse_by_lines(w, !loops ? product : rows_dense ? loops->csr_matrix : loops->csr_vectors, work);
}

int thn_sparse_dot_at(const ThnSparse *s, const char *a, const char *b, npy_intp depth, char *out)
{
    const ThnSampled w = {*s, s->csc ? b : a, s->csc ? a : b, depth, out};
    const Loops *loops = loops_for(s);
    return thn_sparse_by_lines(&w, loops ? loops->dot_at : thn_sparse_loops(s)->dot_at,
                               (double)s->stored * (2.0 + (loops ? 0.4 : 0.6) * (double)depth));
}
