/* Products with compressed sparse matrices. */
#include "sparse.h"
#include "plan.h"
#include "pool.h"
#include "threads.h"
#include "processor.h"
#include "shuffle.h"

#include <stdatomic.h>

#define BY_ROWS 4 /* columns from which on a csc matrix is sorted by rows for a product */
#define SHORT_ROWS (sizeof(T) == 4 ? 12 : 8) /* values that short rows have on average, */
#define SHORT_COLUMNS 6 /* and short columns, */
#define LONG 32  /* and long rows */
#define RUN 32   /* short rows that are worked on at once, */
#define ROOM 2048 /* if they have so many values at most */
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
    ThnOfLines csr_matrix;
    int (*csr_vector)(const ThnProduct *, npy_intp, npy_intp, const char *, char *);
    int (*csc_vector)(const ThnProduct *, npy_intp, npy_intp, const char *, char *, npy_intp);
    void (*add_to)(char *, npy_intp, const char *, npy_intp);
    int (*by_rows)(const ThnPlaces *, void *, void *, void *);
    ThnOfLines dot_at;
} Loops;

#define OF(end) {csr_matrix##end, csr_vector##end, csc_vector##end, add_to##end, by_rows##end, dot_at##end}
#define OF_FLOATS(isa) {FOR_INDICES(OF, isa##_float), FOR_INDICES(OF, isa##_double)}
static const Loops plain_loops[2][2] = OF_FLOATS(_any);
#if defined(__x86_64__)
static const Loops avx2_loops[2][2] = OF_FLOATS(_avx2);
#endif

static const Loops *loops_for(int typenum, int wide)
{
#if defined(__x86_64__)
    if (thn_has_avx2()) {
        return &avx2_loops[typenum == NPY_DOUBLE][wide];
    }
#endif
    return &plain_loops[typenum == NPY_DOUBLE][wide];
}

typedef struct {
    const void *what;
    ThnOfLines work_on;
    npy_intp parts;
    atomic_int bad;
} Lines;

static void lines_task(void *ctx, long task)
{
    Lines *k = ctx;
    const ThnPlaces *s = k->what;
    if (k->work_on(k->what, thn_sparse_part(s, NULL, task, k->parts), thn_sparse_part(s, NULL, task + 1, k->parts)) < 0) {
        k->bad = 1;
    }
}

int thn_sparse_by_lines(const void *what, ThnOfLines work_on, double work)
{
    Lines k = {what, work_on, thn_worth(work, THN_MOST_PARTS), 0};
    thn_parallel((long)k.parts, lines_task, &k);
    return k.bad ? -1 : 0;
}

typedef struct {
    const void *what;
    const Loops *loops;
    npy_intp parts;
    atomic_int bad;
} Work;

/* Columns of any strides, one after the other. */
static void csr_vector_task(void *ctx, long task)
{
    Work *k = ctx;
    const ThnProduct *w = k->what;
    const npy_intp r0 = thn_sparse_part(&w->s, NULL, task, k->parts), r1 = thn_sparse_part(&w->s, NULL, task + 1, k->parts);
    for (npy_intp q = 0; q < w->columns; q++) {
        if (k->loops->csr_vector(w, r0, r1, w->b + q * w->b_col, w->y + q * w->y_col) < 0) {
            k->bad = 1;
        }
    }
}

/* A csc matrix times columns. Parts of its lines are added up each in a copy of the result of its own, and then part by part:
 * how many there are does not depend on the number of threads. */
typedef struct {
    Work work;
    char *copies; /* of parts from 1 on, for each column; contiguous */
    npy_intp copy;
} Scattered;

static char *copy_of(const Scattered *k, npy_intp part, npy_intp column)
{
    const ThnProduct *w = k->work.what;
    return part ? k->copies + ((part - 1) * w->columns + column) * k->copy : w->y + column * w->y_col;
}

static void csc_vector_task(void *ctx, long task)
{
    Scattered *k = ctx;
    const ThnProduct *w = k->work.what;
    const npy_intp part = task % k->work.parts, column = task / k->work.parts, row = part ? k->copy / w->s.length : w->y_row;
    const npy_intp l0 = thn_sparse_part(&w->s, NULL, part, k->work.parts), l1 = thn_sparse_part(&w->s, NULL, part + 1, k->work.parts);
    if (k->work.loops->csc_vector(w, l0, l1, w->b + column * w->b_col, copy_of(k, part, column), row) < 0) {
        k->work.bad = 1;
    }
}

#define PIECE 8192 /* elements of the result that a task adds up */

static void add_copies_task(void *ctx, long task)
{
    Scattered *k = ctx;
    const ThnProduct *w = k->work.what;
    const npy_intp pieces = (w->s.length + PIECE - 1) / PIECE, column = task / pieces, first = task % pieces * PIECE;
    const npy_intp n = w->s.length - first < PIECE ? w->s.length - first : PIECE, item = k->copy / w->s.length;
    for (npy_intp part = 1; part < k->work.parts; part++) {
        k->work.loops->add_to(copy_of(k, 0, column) + first * w->y_row, w->y_row, copy_of(k, part, column) + first * item, n);
    }
}

static int csc_vectors(const ThnProduct *w, const Loops *loops, npy_intp item)
{
    THN_POOLED char *copies = NULL;
    Scattered k = {.work = {.what = w, .loops = loops, .parts = 1}, .copy = w->s.length * item};
    if (w->s.length && w->s.stored > 20000 && w->s.stored / 8 >= w->s.length) {
        const npy_intp worth = w->s.stored / (8 * w->s.length);
        k.work.parts = worth < 2 ? 2 : worth < MOST_COPIES ? worth : MOST_COPIES;
        k.copies = copies = thn_pool_alloc((size_t)((k.work.parts - 1) * w->columns * k.copy));
        if (!copies) {
            return -2;
        }
    }
    thn_parallel((long)(w->columns * k.work.parts), csc_vector_task, &k);
    if (k.work.parts > 1 && !k.work.bad) {
        thn_parallel((long)(w->columns * ((w->s.length + PIECE - 1) / PIECE)), add_copies_task, &k);
    }
    return k.work.bad ? -1 : 0;
}

/* Adding to rows all over the result costs more than to sort the values by rows. */
static int product_by_rows(const ThnPlaces *s, int typenum, const ThnProduct *w)
{
    const size_t index = s->wide ? 8 : 4, item = typenum == NPY_FLOAT ? 4 : 8, stored = (size_t)s->stored;
    THN_POOLED char *memory = thn_pool_alloc(stored * (item + index) + ((size_t)s->length + 2) * index);
    if (!memory) {
        return -2;
    }
    char *columns = memory + stored * item, *next = columns + stored * index;
    THN_TRY(loops_for(typenum, s->wide)->by_rows(s, memory, columns, next));
    const ThnPlaces rows = {memory, columns, next, s->length, s->lines, s->stored, 0, s->wide};
    const npy_intp b[2] = {w->b_row, w->b_col}, y[2] = {w->y_row, w->y_col};
    return thn_sparse_product(&rows, typenum, w->b, b, w->y, y, w->columns);
}

int thn_sparse_product(const ThnPlaces *s, int typenum, const char *b, const npy_intp *b_strides, char *y,
                       const npy_intp *y_strides, npy_intp columns)
{
    const npy_intp item = typenum == NPY_FLOAT ? 4 : 8;
    const ThnProduct w = {*s, b, y, b_strides[0], b_strides[1], y_strides[0], y_strides[1], columns};
    const double work = ((double)s->stored + (double)s->lines) * (1.0 + 0.4 * (double)columns);
    const int rows_dense = columns > 1 && b_strides[1] == item && y_strides[1] == item;
    Work k = {&w, loops_for(typenum, s->wide), 1, 0};
    if (columns == 0) {
        return 0;
    }
    if (s->csc && columns >= BY_ROWS) {
        return product_by_rows(s, typenum, &w);
    }
    if (s->csc) {
        return csc_vectors(&w, k.loops, item);
    }
    if (rows_dense) {
        return thn_sparse_by_lines(&w, k.loops->csr_matrix, work);
    }
    k.parts = thn_worth(work, THN_MOST_PARTS);
    thn_parallel((long)k.parts, csr_vector_task, &k);
    return k.bad ? -1 : 0;
}

int thn_sparse_dot_at(const ThnPlaces *s, int typenum, const char *a, const char *b, npy_intp depth, char *out)
{
    const ThnSampled w = {*s, s->csc ? b : a, s->csc ? a : b, depth, out};
    return thn_sparse_by_lines(&w, loops_for(typenum, s->wide)->dot_at, (double)s->stored * (2.0 + 0.4 * (double)depth));
}

typedef struct {
    ThnPlaces s;
    const char *y;
    npy_intp of_line, of_index;
    char *out;
} Gather;

#define GATHER(NAME, INDEX, SIZE)                                                                                       \
    static int NAME(const void *what, npy_intp l0, npy_intp l1)                                                         \
    {                                                                                                                   \
        const Gather *w = what;                                                                                         \
        const INDEX *indices = w->s.indices, *indptr = w->s.indptr;                                                     \
        for (npy_intp line = l0; line < l1; line++) {                                                                   \
            const char *from = w->y + line * w->of_line;                                                                \
            THN_EACH_VALUE(&w->s, line, k)                                                                              \
            {                                                                                                           \
                THN_INDEX_OF(&w->s, k, at)                                                                              \
                memcpy(w->out + k * SIZE, from + at * w->of_index, SIZE);                                               \
            }                                                                                                           \
        }                                                                                                               \
        return 0;                                                                                                       \
    }
#define GATHERS(SIZE) GATHER(gather_##SIZE##_i4, int32_t, SIZE) GATHER(gather_##SIZE##_i8, int64_t, SIZE)

GATHERS(1)
GATHERS(2)
GATHERS(4)
GATHERS(8)
GATHERS(16)

static const ThnOfLines gathers[5][2] = {{gather_1_i4, gather_1_i8},
                                         {gather_2_i4, gather_2_i8},
                                         {gather_4_i4, gather_4_i8},
                                         {gather_8_i4, gather_8_i8},
                                         {gather_16_i4, gather_16_i8}};

int thn_sparse_values_at(const ThnPlaces *s, int item, const char *y, const npy_intp *strides, char *out)
{
    const Gather w = {*s, y, strides[s->csc ? 1 : 0], strides[s->csc ? 0 : 1], out};
    return thn_sparse_by_lines(&w, gathers[__builtin_ctz((unsigned)item)][s->wide], 2.0 * (double)s->stored);
}
