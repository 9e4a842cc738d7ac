/* Calls of LAPACK through pointers that theano.native.target.cpu.lapack_library finds.
 *
 * Integers are passed as pointers to int64_t. A library with 32-bit integers reads and writes the low half; arrays of
 * integers have 64 bits for each and are handed back to the library only, but for pivots, which are widened here. */
#include "vm.h"
#include "blas.h"
#include "lapack.h"
#include "panels.h"
#include "pool.h"
#include "threads.h"
#include "triangle.h"

enum { POTRF, GETRF, GETRI, GETRS, SYSV, TRSM, GEMM, SYEVD, SYGVD, GESDD, GEQRF, ORGQR, GEEV, GELSD, N_ROUTINES };

static const char *const names[N_ROUTINES][2] = {
    {"potrf", "potrf"}, {"getrf", "getrf"}, {"getri", "getri"}, {"getrs", "getrs"},
    {"sysv", "sysv"},   {"trsm", "trsm"},   {"gemm", "gemm"},   {"syevd", "heevd"}, {"sygvd", "hegvd"},
    {"gesdd", "gesdd"}, {"geqrf", "geqrf"}, {"orgqr", "ungqr"}, {"geev", "geev"},
    {"gelsd", "gelsd"},
};

static void *routines[N_ROUTINES][4];
static int wide; /* the library's integers have 64 bits */
static int state;

static const int64_t item_of[4] = {4, 8, 8, 16};

int thn_lapack_letter(int typenum)
{
    switch (typenum) {
    case NPY_FLOAT: return THN_S;
    case NPY_DOUBLE: return THN_D;
    case NPY_CFLOAT: return THN_C;
    case NPY_CDOUBLE: return THN_Z;
    default: return -1;
    }
}

static int64_t result(int64_t info)
{
    return wide ? info : (int32_t)info;
}

static int64_t at_least_1(int64_t n)
{
    return n > 0 ? n : 1;
}

/* ---- calls
 *
 * All arguments are addresses, so a call is a list of them. What stands for a workspace, its size or `info` in the list is put in
 * its place: a routine that has workspaces is asked for their sizes first. It is given more arguments than it takes, which C's
 * calling conventions allow. */

#define MOST_ARGUMENTS 17

typedef void (*Routine)(const void *, const void *, const void *, const void *, const void *, const void *, const void *,
                        const void *, const void *, const void *, const void *, const void *, const void *, const void *,
                        const void *, const void *, const void *);

enum { WORK_SPACE, INT_SPACE, REAL_SPACE, N_SPACES };

static char spaces[N_SPACES], lengths[N_SPACES], info_place;
#define WORK (&spaces[WORK_SPACE])
#define LWORK (&lengths[WORK_SPACE])
#define IWORK (&spaces[INT_SPACE])
#define LIWORK (&lengths[INT_SPACE])
#define RWORK (&spaces[REAL_SPACE])
#define LRWORK (&lengths[REAL_SPACE])
#define INFO (&info_place)

static void call(int routine, int letter, const void *const *a)
{
    ((Routine)routines[routine][letter])(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13],
                                         a[14], a[15], a[16]);
}

/* The size that a query left in a workspace. */
static int64_t asked(int letter, int space, const void *answer)
{
    const double n = space != INT_SPACE ? letter & 1 ? *(const double *)answer : (double)*(const float *)answer
                     : wide             ? (double)*(const int64_t *)answer
                                        : (double)*(const int32_t *)answer;
    return at_least_1((int64_t)(n + (space != INT_SPACE)));
}

/* Runs a routine; `sizes`, where not NULL: numbers of the workspaces whose size it does not tell. Returns its info. Those of real
 * types have no real workspace of their own: it is taken out of the list. */
static int64_t run(int routine, int letter, const void *const *list, const int64_t *sizes)
{
    double answers[N_SPACES][2] = {{0}};
    char *memory[N_SPACES] = {NULL};
    int64_t given[N_SPACES] = {0}, info = 0;
    const int64_t query = -1;
    int asks = 0, used[N_SPACES] = {0}, failed = 0;
    for (int pass = 0; pass < 2; pass++) {
        const void *a[MOST_ARGUMENTS] = {NULL};
        for (int i = 0, n = 0; i < MOST_ARGUMENTS; i++) {
            if (letter < THN_C && (list[i] == RWORK || list[i] == LRWORK)) {
                continue;
            }
            a[n] = list[i] == INFO ? &info : list[i];
            for (int k = 0; k < N_SPACES; k++) {
                if (list[i] == &spaces[k]) {
                    a[n] = pass ? (const void *)memory[k] : answers[k];
                    used[k] = 1;
                } else if (list[i] == &lengths[k]) {
                    a[n] = pass ? &given[k] : &query;
                    asks = 1;
                }
            }
            n++;
        }
        if (pass == 0 && (used[WORK_SPACE] || asks)) {
            call(routine, letter, a);
        }
        for (int k = 0; k < N_SPACES && !pass; k++) {
            given[k] = sizes && sizes[k] ? sizes[k] : asked(letter, k, answers[k]);
            memory[k] = used[k] ? thn_pool_alloc((size_t)(given[k] * (k == WORK_SPACE ? item_of[letter] : 8))) : NULL;
            failed |= used[k] && !memory[k];
        }
        if (pass && !failed) {
            call(routine, letter, a);
        }
    }
    for (int k = 0; k < N_SPACES; k++) {
        thn_pool_free(memory[k]);
    }
    return failed ? THN_LAPACK_MEMORY : result(info);
}

/* The arguments in a list; what is not named is NULL. */
#define RUN(ROUTINE, LETTER, SIZES, ...) run(ROUTINE, LETTER, (const void *const[MOST_ARGUMENTS]){__VA_ARGS__}, SIZES)
#define CALL(ROUTINE, LETTER, ...) call(ROUTINE, LETTER, (const void *const[MOST_ARGUMENTS]){__VA_ARGS__})

/* c -= a op(b); op by `trans`. */
static void gemm(int letter, const ThnDense *a, char trans, const ThnDense *b, const ThnDense *c)
{
    static const float s[4] = {-1, 0, 1, 0};
    static const double d[4] = {-1, 0, 1, 0};
    const char no = 'N';
    const void *minus = letter & 1 ? (const void *)d : (const void *)s;
    const void *one = letter & 1 ? (const void *)(d + 2) : (const void *)(s + 2);
    CALL(GEMM, letter, &no, &trans, &c->rows, &c->cols, &a->cols, minus, a->data, &a->ld, b->data, &b->ld, one, c->data, &c->ld);
}

static ThnDense block(int letter, ThnDense a, int64_t row, int64_t col, int64_t rows, int64_t cols)
{
    return (ThnDense){a.data + (row + col * a.ld) * item_of[letter], rows, cols, a.ld};
}

/* ---- LU and Cholesky factors by panels, which run on several threads. One thread goes the same way, which is quicker than the
 * library's, so that factors do not depend on the number of threads. */

#define WIDTH 32  /* of a panel */
#define ALONE 200 /* sizes up to which another thread would come too late */

typedef struct {
    int letter;
    ThnDense a;
    int64_t width; /* of a panel */
    int64_t *pivots; /* for LU factors */
    int64_t info;
} Factors;

/* Sizes from which on own panels are quicker (benchmarks/linear_algebra.py). */
#define CUT_CHOLESKY 400
#define CUT_LU 256
#define CUT_LU_DOUBLE 64

static int is_cut(ThnDense a, int64_t least)
{
    return a.rows == a.cols && a.rows >= least;
}

/* Rows from `row` to the end of the columns of a panel. */
static ThnDense panel_from(const Factors *f, long panel, int64_t row)
{
    const int64_t start = panel * f->width, left = f->a.cols - start;
    return block(f->letter, f->a, row, start, f->a.rows - row, left < f->width ? left : f->width);
}

/* Its first rows, as many as columns. */
static ThnDense top_of(ThnDense panel)
{
    panel.rows = panel.cols;
    return panel;
}

static ThnDense below_top(const Factors *f, ThnDense panel)
{
    return block(f->letter, panel, panel.cols, 0, panel.rows - panel.cols, panel.cols);
}

static int64_t run_factors(Factors *f, ThnPanels panels)
{
    panels.count = (long)((f->a.cols + f->width - 1) / f->width);
    const int held = thn_blas_hold();
    if (thn_run_panels(&panels, f, f->a.cols > ALONE ? thn_get_threads() : 1) < 0) {
        f->info = THN_LAPACK_MEMORY;
    }
    thn_blas_let_go(held);
    return f->info;
}

static int64_t block_potrf(int letter, ThnDense a)
{
    const char lower = 'L';
    int64_t info = 0;
    CALL(POTRF, letter, &lower, &a.rows, a.data, &a.ld, &info);
    return result(info);
}

static void potrf_update(void *ctx, long panel, long by)
{
    const Factors *f = ctx;
    ThnDense below = panel_from(f, by, panel * f->width), target = panel_from(f, panel, panel * f->width);
    ThnDense beside = below;
    beside.rows = target.cols;
    gemm(f->letter, &below, 'C', &beside, &target);
}

static int potrf_factor(void *ctx, long panel)
{
    Factors *f = ctx;
    ThnDense columns = panel_from(f, panel, panel * f->width), corner = top_of(columns);
    f->info = block_potrf(f->letter, corner);
    if (f->info > 0) {
        f->info += panel * f->width;
    } else if (f->info == 0) {
        thn_trsm(f->letter, 'R', 'L', 'C', 'N', corner, below_top(f, columns));
    }
    /* What updates left above the diagonal. */
    for (int64_t j = 1; j < corner.cols; j++) {
        memset(corner.data + j * corner.ld * item_of[f->letter], 0, (size_t)(j * item_of[f->letter]));
    }
    return f->info != 0;
}

int64_t thn_potrf(int letter, ThnDense a)
{
    if (!is_cut(a, CUT_CHOLESKY)) {
        const int held = thn_blas_hold();
        const int64_t info = block_potrf(letter, a);
        thn_blas_let_go(held);
        return info;
    }
    Factors f = {letter, a, WIDTH, NULL, 0};
    return run_factors(&f, (ThnPanels){.update = potrf_update, .factor = potrf_factor});
}

/* Factors of a matrix that is not cut; pivots count from the row `first` of a larger one. */
static int64_t panel_getrf(int letter, ThnDense a, int64_t first, int64_t *pivots)
{
    int64_t info = 0, n = a.rows < a.cols ? a.rows : a.cols;
    CALL(GETRF, letter, &a.rows, &a.cols, a.data, &a.ld, pivots, &info);
    for (int64_t i = n - 1; i >= 0; i--) {
        pivots[i] = (wide ? pivots[i] : ((const int32_t *)pivots)[i]) + first;
    }
    info = result(info);
    return info > 0 ? info + first : info;
}

#define SWAP(T, COLUMN)                      \
    {                                        \
        T *const column = (COLUMN);          \
        const T held = column[i];            \
        column[i] = column[other];           \
        column[other] = held;                \
    }

/* Two columns at a time. */
#define SWAP_ROWS(T)                                                            \
    for (int64_t j = start; j < stop; j += 2) {                                 \
        T *const even = (T *)a.data + j * a.ld, *const odd = even + a.ld;       \
        for (int64_t i = top; i < bottom; i++) {                                \
            const int64_t other = pivots[i] - 1;                                \
            SWAP(T, even)                                                       \
            if (j + 1 < stop) {                                                 \
                SWAP(T, odd)                                                    \
            }                                                                   \
        }                                                                       \
    }                                                                           \
    break;

typedef struct {
    double re, im;
} Pair;

/* In the columns start ... stop, exchanges rows by the pivots top ... bottom. */
static void swap_rows(const Factors *f, int64_t start, int64_t stop, int64_t top, int64_t bottom)
{
    const ThnDense a = f->a;
    const int64_t *pivots = f->pivots;
    switch (f->letter) {
    case THN_S: SWAP_ROWS(float)
    case THN_Z: SWAP_ROWS(Pair)
    default: SWAP_ROWS(double)
    }
}

static void getrf_update(void *ctx, long panel, long by)
{
    const Factors *f = ctx;
    const int64_t top = by * f->width, end = top + f->width;
    ThnDense factored = panel_from(f, by, top), corner = top_of(factored), lower = below_top(f, factored);
    ThnDense target = panel_from(f, panel, end), upper = panel_from(f, panel, top);
    upper.rows = f->width;
    swap_rows(f, panel * f->width, panel * f->width + target.cols, top, end);
    if (!thn_small_left(f->letter, corner, upper)) {
        thn_trsm(f->letter, 'L', 'L', 'N', 'U', corner, upper);
    }
    gemm(f->letter, &lower, 'N', &upper, &target);
}

/* A zero pivot is no reason to stop: the factors exist. */
static int getrf_factor(void *ctx, long panel)
{
    Factors *f = ctx;
    const int64_t top = panel * f->width, info = panel_getrf(f->letter, panel_from(f, panel, top), top, f->pivots + top);
    f->info = f->info ? f->info : info;
    return 0;
}

/* Exchanges rows by the pivots of the panels behind. */
static void getrf_finish(void *ctx, long panel)
{
    const Factors *f = ctx;
    const int64_t start = panel * f->width, end = start + f->width;
    if (end < f->a.rows) {
        swap_rows(f, start, end, end, f->a.rows);
    }
}

int64_t thn_getrf(int letter, ThnDense a, int64_t *pivots)
{
    if (!is_cut(a, letter == THN_D ? CUT_LU_DOUBLE : CUT_LU)) {
        const int held = thn_blas_hold();
        const int64_t info = panel_getrf(letter, a, 0, pivots);
        thn_blas_let_go(held);
        return info;
    }
    Factors f = {letter, a, letter < THN_C ? WIDTH : 2 * WIDTH, pivots, 0};
    return run_factors(&f, (ThnPanels){.update = getrf_update, .factor = getrf_factor, .finish = getrf_finish});
}

/* Pivots as the library wants them; `held`, NULL before, is for a block of the pool. */
static const void *own_pivots(const int64_t *pivots, int64_t n, int32_t **held)
{
    if (wide) {
        return pivots;
    }
    int32_t *narrow = *held = thn_pool_alloc((size_t)(n + 1) * sizeof *narrow);
    for (int64_t i = 0; narrow && i < n; i++) {
        narrow[i] = (int32_t)pivots[i];
    }
    return narrow;
}

int64_t thn_getri(int letter, ThnDense a, const int64_t *pivots)
{
    THN_POOLED int32_t *held = NULL;
    const void *own = own_pivots(pivots, a.rows, &held);
    return own ? RUN(GETRI, letter, NULL, &a.rows, a.data, &a.ld, own, WORK, LWORK, INFO) : THN_LAPACK_MEMORY;
}

int64_t thn_getrs(int letter, char trans, ThnDense lu, const int64_t *pivots, ThnDense b)
{
    THN_POOLED int32_t *held = NULL;
    const void *own = own_pivots(pivots, lu.rows, &held);
    int64_t info = 0;
    if (!own) {
        return THN_LAPACK_MEMORY;
    }
    CALL(GETRS, letter, &trans, &lu.rows, &b.cols, lu.data, &lu.ld, own, b.data, &b.ld, &info);
    return result(info);
}

int64_t thn_sysv(int letter, char uplo, ThnDense a, ThnDense b)
{
    const int64_t sizes[N_SPACES] = {0, a.rows + 1, 0};
    return RUN(SYSV, letter, sizes, &uplo, &a.rows, &b.cols, a.data, &a.ld, IWORK, b.data, &b.ld, WORK, LWORK, INFO);
}

typedef struct {
    int letter;
    char side, uplo, trans, diag;
    ThnDense a, b;
    const int64_t *pivots;
} Triangular;

#define PART 128 /* right sides of a task */
#define MANY 768 /* right sides from which on they are cut into greater parts: the library rearranges the factor for each */

static void library_trsm(const Triangular *t, ThnDense a, ThnDense b)
{
    static const float s[2] = {1, 0};
    static const double d[2] = {1, 0};
    const int letter = t->letter;
    CALL(TRSM, letter, &t->side, &t->uplo, &t->trans, &t->diag, &b.rows, &b.cols, letter & 1 ? (const void *)d : (const void *)s,
         a.data, &a.ld, b.data, &b.ld);
}

/* b = b op(a)^-1; in float64 by halves of the triangle: products are the quicker part. */
static void trsm_right(const Triangular *t, ThnDense a, ThnDense b)
{
    const int letter = t->letter, ahead = (t->uplo == 'U') == (t->trans == 'N');
    const int64_t n = a.rows, half = (n / 2 + THN_SMALL - 1) / THN_SMALL * THN_SMALL, rest = n - half;
    if (letter != THN_D || n <= THN_SMALL) {
        if (!thn_small_right(letter, t->uplo, t->trans, t->diag, a, b)) {
            library_trsm(t, a, b);
        }
        return;
    }
    const int64_t first = ahead ? 0 : rest, then = ahead ? half : 0;
    ThnDense solved = block(letter, b, 0, first, b.rows, half), columns = block(letter, b, 0, then, b.rows, rest);
    ThnDense beside = t->trans == 'N' ? block(letter, a, first, then, half, rest) : block(letter, a, then, first, rest, half);
    trsm_right(t, block(letter, a, first, first, half, half), solved);
    gemm(letter, &solved, t->trans, &beside, &columns);
    trsm_right(t, block(letter, a, then, then, rest, rest), columns);
}

/* Some of the right sides. */
static ThnDense part_of(const Triangular *t, int64_t start, int64_t stop)
{
    return t->side == 'L' ? block(t->letter, t->b, 0, start, t->b.rows, stop - start)
                          : block(t->letter, t->b, start, 0, stop - start, t->b.cols);
}

static int trsm_some(void *ctx, npy_intp start, npy_intp stop)
{
    const Triangular *t = ctx;
    (t->side == 'L' ? library_trsm : trsm_right)(t, t->a, part_of(t, start, stop));
    return 0;
}

static void run_parts(Triangular *t, thn_range_fn fn)
{
    const int64_t length = t->side == 'L' ? t->b.cols : t->b.rows, part = length < MANY ? PART : 2 * PART;
    const int cut = (double)t->a.rows * (double)t->a.rows * (double)length > 1e6 && length >= PART;
    const int held = thn_blas_hold();
    thn_parallel_ranges(length, cut ? part : length, fn, t);
    thn_blas_let_go(held);
}

void thn_trsm(int letter, char side, char uplo, char trans, char diag, ThnDense a, ThnDense b)
{
    Triangular t = {.letter = letter, .side = side, .uplo = uplo, .trans = trans, .diag = diag, .a = a, .b = b};
    run_parts(&t, trsm_some);
}

/* The rows' turn through both factors and the exchanges, last first. */
static int right_some(void *ctx, npy_intp start, npy_intp stop)
{
    Triangular t = *(const Triangular *)ctx;
    const ThnDense x = part_of(&t, start, stop);
    const size_t bytes = (size_t)(x.rows * item_of[t.letter]), step = (size_t)(x.ld * item_of[t.letter]);
    t.uplo = 'U';
    t.diag = 'N';
    trsm_right(&t, t.a, x);
    t.uplo = 'L';
    t.diag = 'U';
    trsm_right(&t, t.a, x);
    for (int64_t i = x.cols - 1; i >= 0; i--) {
        char *one = x.data + (size_t)i * step, *other = x.data + (size_t)(t.pivots[i] - 1) * step;
        for (size_t done = 0; one != other && done < bytes;) {
            char held[1024];
            const size_t n = bytes - done < sizeof held ? bytes - done : sizeof held;
            memcpy(held, one + done, n);
            memcpy(one + done, other + done, n);
            memcpy(other + done, held, n);
            done += n;
        }
    }
    return 0;
}

void thn_getrs_right(int letter, ThnDense lu, const int64_t *pivots, ThnDense b)
{
    Triangular t = {.letter = letter, .side = 'R', .trans = 'N', .a = lu, .b = b, .pivots = pivots};
    run_parts(&t, right_some);
}

int64_t thn_syevd(int letter, char jobz, char uplo, ThnDense a, void *w)
{
    return RUN(SYEVD, letter, NULL, &jobz, &uplo, &a.rows, a.data, &a.ld, w, WORK, LWORK, RWORK, LRWORK, IWORK, LIWORK, INFO);
}

int64_t thn_sygvd(int letter, char jobz, char uplo, ThnDense a, ThnDense b, void *w)
{
    const int64_t kind = 1;
    return RUN(SYGVD, letter, NULL, &kind, &jobz, &uplo, &a.rows, a.data, &a.ld, b.data, &b.ld, w, WORK, LWORK, RWORK, LRWORK, IWORK,
               LIWORK, INFO);
}

int64_t thn_gesdd(int letter, char jobz, ThnDense a, void *s, ThnDense u, ThnDense vt)
{
    const int64_t small = a.rows < a.cols ? a.rows : a.cols, large = a.rows + a.cols - small;
    /* The size that the routine's description gives for the real workspace of the complex versions. */
    const int64_t real = jobz == 'N' ? 7 * small
                         : small * (5 * small + 7 > 2 * large + 2 * small + 1 ? 5 * small + 7 : 2 * large + 2 * small + 1);
    const int64_t sizes[N_SPACES] = {0, at_least_1(8 * small), at_least_1(real)};
    return RUN(GESDD, letter, sizes, &jobz, &a.rows, &a.cols, a.data, &a.ld, s, u.data, &u.ld, vt.data, &vt.ld, WORK, LWORK, RWORK,
               IWORK, INFO);
}

int64_t thn_geqrf(int letter, ThnDense a, void *tau)
{
    return RUN(GEQRF, letter, NULL, &a.rows, &a.cols, a.data, &a.ld, tau, WORK, LWORK, INFO);
}

int64_t thn_orgqr(int letter, ThnDense a, int64_t k, const void *tau)
{
    return RUN(ORGQR, letter, NULL, &a.rows, &a.cols, &k, a.data, &a.ld, tau, WORK, LWORK, INFO);
}

int64_t thn_geev(int letter, ThnDense a, void *w, ThnDense vr)
{
    const int64_t one = 1, sizes[N_SPACES] = {0, 0, at_least_1(2 * a.rows)};
    const double none[2] = {0, 0};
    const char no = 'N', yes = 'V', *imaginary = (const char *)w + a.rows * item_of[letter];
    return letter < THN_C ? RUN(GEEV, letter, NULL, &no, &yes, &a.rows, a.data, &a.ld, w, imaginary, none, &one, vr.data, &vr.ld,
                                WORK, LWORK, INFO)
                          : RUN(GEEV, letter, sizes, &no, &yes, &a.rows, a.data, &a.ld, w, none, &one, vr.data, &vr.ld, WORK,
                                LWORK, RWORK, INFO);
}

int64_t thn_gelsd(int letter, ThnDense a, ThnDense b, void *s, double rcond, int64_t *rank)
{
    const float narrow = (float)rcond;
    const void *limit = letter & 1 ? (const void *)&rcond : (const void *)&narrow;
    *rank = 0;
    const int64_t info = RUN(GELSD, letter, NULL, &a.rows, &a.cols, &b.cols, a.data, &a.ld, b.data, &b.ld, s, limit, rank, WORK,
                             LWORK, IWORK, INFO);
    *rank = result(*rank);
    return info;
}

/* ---- where the pointers come from */

static PyObject *lapack_set(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *pointers;
    int is_wide;
    static const char letters[] = "sdcz";
    THN_NULL_UNLESS(PyArg_ParseTuple(args, "O!p", &PyDict_Type, &pointers, &is_wide));
    for (int r = 0; r < N_ROUTINES; r++) {
        for (int letter = 0; letter < 4; letter++) {
            char name[16];
            snprintf(name, sizeof name, "%c%s", letters[letter], names[r][letter >= THN_C]);
            routines[r][letter] = thn_pointer_of(pointers, name);
            if (!routines[r][letter]) {
                return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_KeyError, "LAPACK's %s is missing", name);
            }
        }
    }
    wide = is_wide;
    state = 1;
    Py_RETURN_NONE;
}

int thn_lapack_ready(void)
{
    return state ? 0 : thn_load_routines("theano.native.target.cpu.lapack_library", "load_lapack");
}

static PyMethodDef functions[] = {
    {"lapack_set", lapack_set, METH_VARARGS,
     "lapack_set(pointers, wide): use these routines; pointers maps names such as 'dpotrf' to addresses or capsules."},
    {NULL, NULL, 0, NULL},
};

int thn_lapack_init(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
