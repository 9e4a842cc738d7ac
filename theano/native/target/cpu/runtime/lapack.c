/* Calls of LAPACK through pointers that theano.native.target.cpu.lapack_library finds, and factors that are made here.
 *
 * Integers are passed as pointers to int64_t. A library with 32-bit integers reads and writes the low half; arrays of
 * integers have room for 64 bits each. */
#include "vm.h"
#include "blas.h"
#include "lapack.h"
#include "panels.h"
#include "pool.h"
#include "threads.h"
#include "triangle.h"

static const char *const names[THN_ROUTINES][2] = {
    {"potrf", "potrf"}, {"getrf", "getrf"}, {"getri", "getri"}, {"getrs", "getrs"}, {"laswp", "laswp"},
    {"sysv", "sysv"},   {"trsm", "trsm"},   {"gemm", "gemm"},   {"syevd", "heevd"}, {"sygvd", "hegvd"},
    {"gesdd", "gesdd"}, {"geqrf", "geqrf"}, {"orgqr", "ungqr"}, {"geev", "geev"},
    {"gelsd", "gelsd"},
};

static void *routines[THN_ROUTINES][4];
static int wide; /* the library's integers have 64 bits */
static int state;

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

/* ---- calls */

typedef void (*Routine)(const void *, const void *, const void *, const void *, const void *, const void *, const void *,
                        const void *, const void *, const void *, const void *, const void *, const void *, const void *,
                        const void *, const void *, const void *);

char thn_places[THN_PLACES];

/* The routine is given more arguments than it takes, which C's calling conventions allow. */
static void call(int routine, int letter, const void *const *a)
{
    ((Routine)routines[routine][letter])(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13],
                                         a[14], a[15], a[16]);
}
#define CALL(ROUTINE, LETTER, ...) call(THN_##ROUTINE, LETTER, (const void *const[THN_MOST_ARGUMENTS]){__VA_ARGS__})

/* The size that a query left in a workspace. */
static int64_t asked(int letter, int space, const void *answer)
{
    return space == THN_INT_SPACE ? thn_most(result(*(const int64_t *)answer), 1)
                                  : (int64_t)thn_get_real(thn_real_size(letter), answer) + 1;
}

int64_t thn_lapack_run(int routine, int letter, const void *const *list, const int64_t *sizes)
{
    double answers[THN_SPACES][2] = {{0}};
    int64_t lengths[THN_SPACES] = {-1, -1, -1}, info = 0; /* -1: a question */
    void *places[THN_PLACES] = {answers[0], answers[1], answers[2], &lengths[0], &lengths[1], &lengths[2], &info};
    const void *a[THN_MOST_ARGUMENTS] = {NULL}, **of_place[THN_PLACES] = {NULL};
    int failed = 0;
    for (int i = 0, n = 0; i < THN_MOST_ARGUMENTS; i++) {
        const uintptr_t place = (uintptr_t)list[i] - (uintptr_t)thn_places;
        if (place >= THN_PLACES) {
            a[n++] = list[i];
        } else if (letter >= THN_C || (place != THN_REAL_SPACE && place != THN_SPACES + THN_REAL_SPACE)) {
            of_place[place] = &a[n];
            a[n++] = places[place];
        }
    }
    if (of_place[THN_SPACES + THN_WORK_SPACE]) {
        call(routine, letter, a);
    }
    for (int k = 0; k < THN_SPACES; k++) {
        lengths[k] = sizes && sizes[k] ? sizes[k] : asked(letter, k, answers[k]);
        places[k] = of_place[k] ? thn_pool_alloc((size_t)(lengths[k] * (k == THN_WORK_SPACE ? thn_item_size(letter) : 8))) : NULL;
        failed |= of_place[k] && !places[k];
        if (of_place[k]) {
            *of_place[k] = places[k];
        }
    }
    if (!failed) {
        call(routine, letter, a);
    }
    for (int k = 0; k < THN_SPACES; k++) {
        thn_pool_free(places[k]);
    }
    return failed ? THN_LAPACK_MEMORY : result(info);
}

/* c -= a op(b); op by `trans`. */
static void gemm(int letter, const ThnDense *a, char trans, const ThnDense *b, const ThnDense *c)
{
    CALL(GEMM, letter, "N", &trans, &c->rows, &c->cols, &a->cols, thn_unit(letter, -1), THN_AND_LD(*a), THN_AND_LD(*b),
         thn_unit(letter, 1), THN_AND_LD(*c));
}

static ThnDense block(int letter, ThnDense a, int64_t row, int64_t col, int64_t rows, int64_t cols)
{
    return (ThnDense){a.data + (row + col * a.ld) * thn_item_size(letter), rows, cols, a.ld};
}

/* ---- LU and Cholesky factors by panels, which run on several threads. One thread goes the same way, which is quicker than the
 * library's, so that factors do not depend on the number of threads. */

#define WIDTH 32  /* of a panel */
#define ALONE 200 /* sizes up to which another thread would come too late */

typedef struct {
    int letter;
    ThnDense a;
    int64_t width; /* of a panel */
    void *pivots; /* for LU factors */
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
    THN_HELD held = thn_blas_hold();
    const int r = thn_run_panels(&panels, f, f->a.cols > ALONE ? thn_get_threads() : 1);
    return r < 0 ? THN_LAPACK_MEMORY : f->info;
}

static int64_t block_potrf(int letter, ThnDense a)
{
    int64_t info = 0;
    CALL(POTRF, letter, "L", &a.rows, THN_AND_LD(a), &info);
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
        memset(corner.data + j * corner.ld * thn_item_size(f->letter), 0, (size_t)(j * thn_item_size(f->letter)));
    }
    return f->info != 0;
}

int64_t thn_potrf(int letter, ThnDense a)
{
    if (!is_cut(a, CUT_CHOLESKY)) {
        THN_HELD held = thn_blas_hold();
        return block_potrf(letter, a);
    }
    Factors f = {letter, a, WIDTH, NULL, 0};
    return run_factors(&f, (ThnPanels){.update = potrf_update, .factor = potrf_factor});
}

int64_t thn_pivot(const void *pivots, int64_t i)
{
    return wide ? ((const int64_t *)pivots)[i] : ((const int32_t *)pivots)[i];
}

/* Factors of a matrix that is not cut, which begins at the row `first` of a larger one, as its pivots. */
static int64_t panel_getrf(int letter, ThnDense a, int64_t first, void *pivots)
{
    int64_t info = 0, *own = (int64_t *)pivots + first;
    int32_t *narrow = (int32_t *)pivots + first;
    CALL(GETRF, letter, &a.rows, &a.cols, THN_AND_LD(a), wide ? (void *)own : (void *)narrow, &info);
    for (int64_t i = 0; i < thn_least(a.rows, a.cols); i++) {
        if (wide) {
            own[i] += first;
        } else {
            narrow[i] += (int32_t)first;
        }
    }
    info = result(info);
    return info > 0 ? info + first : info;
}

/* In the columns start ... stop, exchanges rows by the pivots top ... bottom. */
static void swap_rows(const Factors *f, int64_t start, int64_t stop, int64_t top, int64_t bottom)
{
    const ThnDense a = block(f->letter, f->a, 0, start, f->a.rows, stop - start);
    const int64_t first = top + 1, step = 1;
    CALL(LASWP, f->letter, &a.cols, THN_AND_LD(a), &first, &bottom, f->pivots, &step);
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
    const int64_t top = panel * f->width, info = panel_getrf(f->letter, panel_from(f, panel, top), top, f->pivots);
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

int64_t thn_getrf(int letter, ThnDense a, void *pivots)
{
    if (!is_cut(a, letter == THN_D ? CUT_LU_DOUBLE : CUT_LU)) {
        THN_HELD held = thn_blas_hold();
        return panel_getrf(letter, a, 0, pivots);
    }
    Factors f = {letter, a, letter < THN_C ? WIDTH : 2 * WIDTH, pivots, 0};
    return run_factors(&f, (ThnPanels){.update = getrf_update, .factor = getrf_factor, .finish = getrf_finish});
}

int64_t thn_getrs(int letter, char trans, ThnDense lu, const void *pivots, ThnDense b)
{
    int64_t info = 0;
    CALL(GETRS, letter, &trans, &lu.rows, &b.cols, THN_AND_LD(lu), pivots, THN_AND_LD(b), &info);
    return result(info);
}

typedef struct {
    int letter;
    char side, uplo, trans, diag;
    ThnDense a, b;
    const void *pivots;
} Triangular;

#define PART 128 /* right sides of a task */
#define MANY 768 /* right sides from which on they are cut into greater parts: the library rearranges the factor for each */

static void library_trsm(const Triangular *t, ThnDense a, ThnDense b)
{
    CALL(TRSM, t->letter, &t->side, &t->uplo, &t->trans, &t->diag, &b.rows, &b.cols, thn_unit(t->letter, 1), THN_AND_LD(a), THN_AND_LD(b));
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
    THN_HELD held = thn_blas_hold();
    thn_parallel_ranges(length, cut ? part : length, fn, t);
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
    const size_t bytes = (size_t)(x.rows * thn_item_size(t.letter)), step = (size_t)(x.ld * thn_item_size(t.letter));
    t.uplo = 'U';
    t.diag = 'N';
    trsm_right(&t, t.a, x);
    t.uplo = 'L';
    t.diag = 'U';
    trsm_right(&t, t.a, x);
    for (int64_t i = x.cols - 1; i >= 0; i--) {
        char *one = x.data + (size_t)i * step, *other = x.data + (size_t)(thn_pivot(t.pivots, i) - 1) * step;
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

void thn_getrs_right(int letter, ThnDense lu, const void *pivots, ThnDense b)
{
    Triangular t = {.letter = letter, .side = 'R', .trans = 'N', .a = lu, .b = b, .pivots = pivots};
    run_parts(&t, right_some);
}

/* ---- where the pointers come from */

static PyObject *lapack_set(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *pointers;
    int is_wide;
    THN_NULL_UNLESS(PyArg_ParseTuple(args, "O!p", &PyDict_Type, &pointers, &is_wide));
    THN_NULL_UNLESS(thn_take_routines(pointers, THN_ROUTINES, names, routines, 1) == 0);
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
