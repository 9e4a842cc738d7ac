/* Matrix products.
 *
 * BLAS routines are called through pointers that theano.native.target.cpu.blas_library finds. They are Fortran's: column-major, all
 * arguments by reference. Integers are given as pointers to int64_t; a BLAS with 32-bit integers reads the low half
 * (little-endian), which is the same number for all sizes that it can handle. Larger sizes and other dtypes, and all
 * dtypes when there is no BLAS, go through loops.
 */
#include "vm.h"
#include "linalg.h"
#include "pool.h"
#include "threads.h"
#include "packed.h"
#include "row_product.h"

#include <stdatomic.h>
#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

typedef void (*gemm_fn)(const char *, const char *, const void *, const void *, const void *, const void *, const void *,
                        const void *, const void *, const void *, const void *, void *, const void *);
typedef void (*gemv_fn)(const char *, const void *, const void *, const void *, const void *, const void *, const void *,
                        const void *, const void *, void *, const void *);
typedef void (*ger_fn)(const void *, const void *, const void *, const void *, const void *, const void *, const void *,
                       void *, const void *);
typedef double (*ddot_fn)(const void *, const void *, const void *, const void *, const void *);
typedef float (*sdot_fn)(const void *, const void *, const void *, const void *, const void *);

enum { GEMM, GEMV, GER, DOT, N_ROUTINES };
static const char *const names[N_ROUTINES][2] = {{"gemm", "gemm"}, {"gemv", "gemv"}, {"ger", "geru"}, {"dot", "dot"}};
static void *routines[N_ROUTINES][4];
static void (*set_blas_threads)(int);
static int (*get_blas_threads)(void);
static int blas_state; /* 0: not looked for yet, 1: looked for */
static char blas_name[256] = "";

#define MAX_INT 2147483647

static npy_intp type_size(int typenum)
{
    const int letter = thn_lapack_letter(typenum);
    return letter >= 0 ? (npy_intp)thn_item_size(letter) : 8; /* the others are computed with in int64 */
}

/* ---- plain loops over C contiguous operands: c += a b */

#define LOOPS(NAME, T, MULADD)                                                                          \
    static void loops_##NAME(npy_intp m, npy_intp n, npy_intp k, const T *a, const T *b, T *c)          \
    {                                                                                                   \
        for (npy_intp i = 0; i < m; i++) {                                                              \
            for (npy_intp l = 0; l < k; l++) {                                                          \
                const T v = a[i * k + l];                                                               \
                const T *row = b + l * n;                                                               \
                T *out = c + i * n;                                                                     \
                for (npy_intp j = 0; j < n; j++) {                                                      \
                    MULADD;                                                                             \
                }                                                                                       \
            }                                                                                           \
        }                                                                                               \
    }

LOOPS(i8, uint64_t, out[j] += v * row[j])
LOOPS(f4, float, out[j] += v * row[j])
LOOPS(f8, double, out[j] += v * row[j])
#define COMPLEX_MULADD                              \
    out[j].re += v.re * row[j].re - v.im * row[j].im; \
    out[j].im += v.re * row[j].im + v.im * row[j].re
LOOPS(c8, ThnC8, COMPLEX_MULADD)
LOOPS(c16, ThnC16, COMPLEX_MULADD)

/* The elements of m in C order, converted to `to`, in a new pool block. */
static char *contiguous(const ThnMatrix *m, int from, int to, npy_intp item)
{
    char *p = thn_pool_alloc((size_t)(m->rows * m->cols * item) + 1);
    if (p) {
        npy_intp dims[2] = {m->rows, m->cols}, ds[2] = {m->cols * item, item}, ss[2] = {m->row_stride, m->col_stride};
        thn_loop2(2, dims, p, ds, m->data, ss, thn_cast_inner(to, from));
    }
    return p;
}

/* t = alpha * t + beta * c, where t is C contiguous. -1: out of memory. */
static int blend(int typenum, const ThnMatrix *c, char *t, const void *alpha, const void *beta)
{
    const npy_intp n = c->rows * c->cols, item = type_size(typenum);
    const ThnInner multiply = thn_mul_inner(typenum);
    multiply(n, t, item, alpha, 0);
    if (thn_is_zero(thn_lapack_letter(typenum), beta)) {
        return 0;
    }
    THN_POOLED char *old = contiguous(c, typenum, typenum, item);
    THN_NEED(old);
    multiply(n, old, item, beta, 0);
    thn_add_inner(typenum)(n, t, item, old, item);
    return 0;
}

static int matmul_loops(int typenum, const ThnMatrix *a, const ThnMatrix *b, const ThnMatrix *c, const void *alpha,
                        const void *beta)
{
    int letter = thn_lapack_letter(typenum);
    int work = letter >= 0 ? typenum : typenum == NPY_HALF ? NPY_FLOAT : NPY_INT64;
    const npy_intp item = type_size(work);
    npy_intp m = c->rows, n = c->cols, k = a->cols;
    THN_POOLED char *x = contiguous(a, typenum, work, item), *y = contiguous(b, typenum, work, item);
    THN_POOLED char *t = thn_pool_alloc((size_t)(m * n * item) + 1);
    THN_NEED(x && y && t);
    memset(t, 0, (size_t)(m * n * item));
    switch (work) {
    case NPY_FLOAT: loops_f4(m, n, k, (float *)x, (float *)y, (float *)t); break;
    case NPY_DOUBLE: loops_f8(m, n, k, (double *)x, (double *)y, (double *)t); break;
    case NPY_CFLOAT: loops_c8(m, n, k, (ThnC8 *)x, (ThnC8 *)y, (ThnC8 *)t); break;
    case NPY_CDOUBLE: loops_c16(m, n, k, (ThnC16 *)x, (ThnC16 *)y, (ThnC16 *)t); break;
    default: loops_i8(m, n, k, (uint64_t *)x, (uint64_t *)y, (uint64_t *)t);
    }
    THN_TRY(letter >= 0 && (alpha || beta) ? blend(typenum, c, t, alpha ? alpha : thn_unit(letter, 1), beta ? beta : thn_unit(letter, 0)) : 0);
    npy_intp dims[2] = {m, n}, ss[2] = {n * item, item}, ds[2] = {c->row_stride, c->col_stride};
    thn_loop2(2, dims, c->data, ds, t, ss, thn_cast_inner(typenum, work));
    return 0;
}

/* ---- threads
 *
 * OpenBLAS waits for its threads by spinning: next to another pool, or on a busy machine, its own parallel products can be
 * slower by an order of magnitude than its serial ones. So, where the number of its threads can be set, products are cut
 * into parts here, along the longer side of the result, and OpenBLAS is held to one thread meanwhile. The parts depend on
 * the sizes only. */

#define SERIAL_GEMM 262144   /* multiply-adds up to which OpenBLAS uses one thread anyway */
#define SERIAL_GEMV 9216
#define MAX_PARTS 32

static atomic_flag hold_lock = ATOMIC_FLAG_INIT;
static int holders, held_threads, forgotten_threads;

static void lock_holders(void)
{
    while (atomic_flag_test_and_set_explicit(&hold_lock, memory_order_acquire)) {
    }
}

static void unlock_holders(void)
{
    atomic_flag_clear_explicit(&hold_lock, memory_order_release);
}

#if defined(__unix__) || defined(__APPLE__)
/* The threads that hold the number down do not live on in a child process. */
static void forget_holders(void)
{
    forgotten_threads = holders > 0 ? held_threads : 0;
    holders = 0;
    unlock_holders();
}
#endif

int thn_blas_hold(void)
{
    if (!set_blas_threads) {
        return 0;
    }
    lock_holders();
    if (holders++ == 0) {
        held_threads = (int)thn_most(get_blas_threads(), forgotten_threads);
        forgotten_threads = 0;
        if (held_threads > 1) {
            set_blas_threads(1);
        }
    }
    unlock_holders();
    return 1;
}

void thn_blas_let_go(int held)
{
    if (!held) {
        return;
    }
    lock_holders();
    if (--holders == 0 && held_threads > 1) {
        set_blas_threads(held_threads);
    }
    unlock_holders();
}

/* Runs a product of so much work in parts of a side, at least `least` long and worth `each`: each a multiple of 16, an even
 * number of them if possible. */
static void run_parts(double work, double serial, double each, int64_t length, int64_t least, thn_range_fn fn, void *ctx)
{
    if (!set_blas_threads || work <= serial) {
        fn(ctx, 0, length);
        return;
    }
    THN_HELD held = thn_blas_hold();
    int64_t parts = thn_least(length / least, MAX_PARTS);
    parts = work / each < (double)parts ? (int64_t)(work / each) : parts;
    parts = thn_most(parts - parts % 2, 1);
    thn_parallel_ranges(length, ((length + parts - 1) / parts + 15) / 16 * 16, fn, ctx);
}

typedef struct {
    int letter, by_columns;
    char ta, tb;
    int64_t m, n, k, lda, ldb, ldc;
    npy_intp item;
    const void *alpha, *beta;
    const char *a, *b;
    char *c;
} Gemm;

static int gemm_part(void *ctx, npy_intp start, npy_intp stop)
{
    const Gemm *g = ctx;
    int64_t m = g->m, n = g->n;
    const char *a = g->a, *b = g->b;
    char *c = g->c;
    if (g->by_columns) {
        n = stop - start;
        b += start * (g->tb == 'N' ? g->ldb : 1) * g->item;
        c += start * g->ldc * g->item;
    } else {
        m = stop - start;
        a += start * (g->ta == 'N' ? 1 : g->lda) * g->item;
        c += start * g->item;
    }
    ((gemm_fn)routines[GEMM][g->letter])(&g->ta, &g->tb, &m, &n, &g->k, g->alpha, a, &g->lda, b, &g->ldb, g->beta, c, &g->ldc);
    return 0;
}

typedef struct {
    int letter;
    char trans;
    int64_t rows, cols, ld, incx, incy; /* rows and cols as the routine sees them */
    npy_intp item;
    const void *alpha, *beta;
    const char *a, *x;
    char *y;
} Gemv;

static int gemv_part(void *ctx, npy_intp start, npy_intp stop)
{
    const Gemv *g = ctx;
    int normal = g->trans == 'N';
    int64_t length = normal ? g->rows : g->cols, count = stop - start;
    int64_t rows = normal ? count : g->rows, cols = normal ? g->cols : count;
    const char *a = g->a + start * (normal ? 1 : g->ld) * g->item;
    /* With a negative step the vector's start is at its end. */
    int64_t skip = g->incy > 0 ? start : length - start - count;
    char *y = g->y + skip * (g->incy > 0 ? g->incy : -g->incy) * g->item;
    ((gemv_fn)routines[GEMV][g->letter])(&g->trans, &rows, &cols, g->alpha, a, &g->ld, g->x, &g->incx, g->beta, y, &g->incy);
    return 0;
}

/* ---- BLAS */

/* Whether the columns of such a matrix are contiguous; `ld` apart. */
static int by_columns(npy_intp rows, npy_intp cols, npy_intp row_stride, npy_intp col_stride, npy_intp item, int64_t *ld)
{
    const npy_intp least = thn_most(rows, 1);
    *ld = cols > 1 ? col_stride / item : least;
    return (rows <= 1 || row_stride == item) && (cols <= 1 || col_stride % item == 0) && *ld >= least && *ld <= MAX_INT;
}

char thn_layout(const ThnMatrix *m, npy_intp item, int64_t *ld)
{
    return by_columns(m->rows, m->cols, m->row_stride, m->col_stride, item, ld)   ? 'N'
           : by_columns(m->cols, m->rows, m->col_stride, m->row_stride, item, ld) ? 'T'
                                                                                  : 0;
}

/* The same matrix in memory that BLAS can describe, copied in the order in which it lies; `held`, NULL before,
 * is for a block of the pool. */
static int usable(ThnMatrix *m, int typenum, npy_intp item, int64_t *ld, char *trans, char **held)
{
    *trans = thn_layout(m, item, ld);
    if (!*trans) {
        const int turned = llabs(m->row_stride) < llabs(m->col_stride);
        ThnMatrix copy = turned ? thn_transposed(m) : *m;
        *held = contiguous(&copy, typenum, typenum, item);
        THN_NEED(*held);
        copy = (ThnMatrix){*held, copy.rows, copy.cols, copy.cols * item, item};
        *m = turned ? thn_transposed(&copy) : copy;
        *trans = thn_layout(m, item, ld);
    }
    return 0;
}

/* A vector's stride in items, 0 if BLAS cannot walk it; *data becomes its lowest address. */
static int64_t vector_step(npy_intp n, npy_intp stride, npy_intp item, const char **data)
{
    if (n <= 1) {
        return 1;
    }
    if (stride == 0 || stride % item != 0 || stride / item > MAX_INT || stride / item < -MAX_INT) {
        return 0;
    }
    if (stride < 0) {
        *data += (n - 1) * stride;
    }
    return stride / item;
}

/* y = alpha * A x + beta * y with x and y given by data and stride; 0 done, 1 not possible, -1 no memory. */
static int by_gemv(int letter, int typenum, ThnMatrix a, const char *x, npy_intp x_stride, char *y, npy_intp y_stride,
                   const void *alpha, const void *beta)
{
    npy_intp item = type_size(typenum);
    const char *yc = y;
    int64_t incx = vector_step(a.cols, x_stride, item, &x), incy = vector_step(a.rows, y_stride, item, &yc), ld;
    THN_POOLED char *held = NULL;
    char trans;
    if (!incx || !incy) {
        return 1;
    }
    THN_TRY(usable(&a, typenum, item, &ld, &trans, &held));
    int64_t rows = trans == 'N' ? a.rows : a.cols, cols = trans == 'N' ? a.cols : a.rows;
    if (rows > 0 && cols > 0) {
        Gemv g = {letter, trans, rows, cols, ld, incx, incy, item, alpha, beta, a.data, x, (char *)yc};
        run_parts((double)rows * (double)cols, SERIAL_GEMV, 65536, trans == 'N' ? rows : cols, 16, gemv_part, &g);
    }
    return 0;
}

int thn_matmul(int typenum, const ThnMatrix *a0, const ThnMatrix *b0, const ThnMatrix *c0, const void *alpha,
               const void *beta)
{
    int letter = thn_lapack_letter(typenum);
    if (c0->rows == 0 || c0->cols == 0) {
        return 0;
    }
    if (letter < 0 || !routines[GEMM][letter] || !routines[GEMV][letter] || a0->rows > MAX_INT || a0->cols > MAX_INT || b0->cols > MAX_INT || a0->cols == 0) {
        return matmul_loops(typenum, a0, b0, c0, alpha, beta);
    }
    npy_intp item = type_size(typenum);
    alpha = alpha ? alpha : thn_unit(letter, 1);
    beta = beta ? beta : thn_unit(letter, 0);
    if (c0->rows == 1 && c0->cols == 1 && letter < 2 && routines[DOT][letter] && thn_is_zero(letter, beta)) {
        const char *x = a0->data, *y = b0->data;
        int64_t n = a0->cols;
        int64_t incx = vector_step(n, a0->col_stride, item, &x), incy = vector_step(n, b0->row_stride, item, &y);
        if (incx && incy) {
            if (letter == 0) {
                *(float *)c0->data = *(const float *)alpha * ((sdot_fn)routines[DOT][letter])(&n, x, &incx, y, &incy);
            } else {
                *(double *)c0->data = *(const double *)alpha * ((ddot_fn)routines[DOT][letter])(&n, x, &incx, y, &incy);
            }
            return 0;
        }
    }
    if (c0->cols == 1 || c0->rows == 1) {
        const int column = c0->cols == 1;
        const ThnMatrix b = column ? thn_transposed(a0) : *b0;
        const char *x = column ? b0->data : a0->data;
        const npy_intp xs = column ? b0->row_stride : a0->col_stride, ys = column ? c0->row_stride : c0->col_stride;
        if (thn_row_product(typenum, x, xs, &b, c0->data, ys, c0->data, ys, alpha, beta)) {
            return 0;
        }
        const int r = by_gemv(letter, typenum, thn_transposed(&b), x, xs, c0->data, ys, alpha, beta);
        if (r <= 0) {
            return r;
        }
    }
    const ThnMatrix at = thn_transposed(a0), bt = thn_transposed(b0), ct = thn_transposed(c0);
    if (letter < 2 && (thn_low_product(typenum, a0, b0, c0, alpha, beta) || thn_low_product(typenum, &bt, &at, &ct, alpha, beta))) {
        return 0;
    }
    ThnMatrix a = *a0, b = *b0, c = *c0;
    int64_t lda, ldb, ldc;
    THN_POOLED char *held_a = NULL, *held_b = NULL, *held_c = NULL;
    char ta, tb, tc;
    THN_TRY(usable(&c, typenum, item, &ldc, &tc, &held_c));
    if (tc == 'T') {
        /* Row-major result: c^T = b^T a^T. */
        a = bt;
        b = at;
        c = thn_transposed(&c);
    }
    THN_TRY(usable(&a, typenum, item, &lda, &ta, &held_a));
    THN_TRY(usable(&b, typenum, item, &ldb, &tb, &held_b));
    Gemm g = {letter, c.cols >= c.rows, ta, tb, c.rows, c.cols, a.cols, lda, ldb, ldc, item, alpha, beta, a.data, b.data, c.data};
    run_parts((double)g.m * (double)g.n * (double)g.k, SERIAL_GEMM, 2e6, thn_most(g.m, g.n), 128, gemm_part, &g);
    if (held_c) {
        const ThnMatrix to = tc == 'T' ? ct : *c0;
        const npy_intp dims[2] = {c.rows, c.cols}, ss[2] = {c.row_stride, c.col_stride}, ds[2] = {to.row_stride, to.col_stride};
        thn_copy_strided(2, dims, to.data, ds, c.data, ss, (int)item);
    }
    return 0;
}

int thn_ger(int typenum, const ThnMatrix *a, const ThnMatrix *x, const ThnMatrix *y, const void *alpha)
{
    int letter = thn_lapack_letter(typenum);
    npy_intp item = type_size(typenum);
    if (a->rows == 0 || a->cols == 0) {
        return 0;
    }
    const char *px = x->data, *py = y->data;
    int64_t incx = vector_step(x->rows, x->row_stride, item, &px), incy = vector_step(y->rows, y->row_stride, item, &py);
    int64_t ld;
    char form = thn_layout(a, item, &ld);
    const ger_fn ger = letter >= 0 ? (ger_fn)routines[GER][letter] : NULL;
    if (ger && incx && incy && form && a->rows <= MAX_INT && a->cols <= MAX_INT) {
        int64_t m = a->rows, n = a->cols;
        if (form == 'T') {
            ger(&n, &m, alpha, py, &incy, px, &incx, a->data, &ld);
        } else {
            ger(&m, &n, alpha, px, &incx, py, &incy, a->data, &ld);
        }
        return 0;
    }
    ThnMatrix row = thn_transposed(y);
    return thn_matmul(typenum, x, &row, a, alpha, thn_unit(letter, 1));
}

/* ---- where the pointers come from */

/* The address that the dict has under a name, a number or a capsule. NULL, perhaps with an exception, if there is none. */
static void *pointer_of(PyObject *pointers, const char *name)
{
    PyObject *v = PyDict_GetItemString(pointers, name); /* borrowed */
    THN_NULL_UNLESS(v);
    return PyCapsule_CheckExact(v) ? PyCapsule_GetPointer(v, PyCapsule_GetName(v)) : PyLong_AsVoidPtr(v);
}

int thn_take_routines(PyObject *pointers, int n, const char *const (*names)[2], void *(*to)[4], int all)
{
    for (int k = 0; k < 4 * n; k++) {
        char name[16];
        snprintf(name, sizeof name, "%c%s", "sdcz"[k % 4], names[k / 4][k % 4 >= THN_C]);
        to[k / 4][k % 4] = pointer_of(pointers, name);
        THN_TRY(PyErr_Occurred() ? -1 : 0);
        THN_RAISE_IF(all && !to[k / 4][k % 4], PyExc_KeyError, "the routine %s is missing", name);
    }
    return 0;
}

static PyObject *blas_set(PyObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *pointers;
    const char *name = "";
    THN_NULL_UNLESS(PyArg_ParseTuple(args, "O!|s", &PyDict_Type, &pointers, &name));
    THN_NULL_UNLESS(thn_take_routines(pointers, N_ROUTINES, names, routines, 0) == 0);
    get_blas_threads = (int (*)(void))pointer_of(pointers, "get_num_threads");
    set_blas_threads = get_blas_threads ? (void (*)(int))pointer_of(pointers, "set_num_threads") : NULL;
    snprintf(blas_name, sizeof blas_name, "%s", name);
    blas_state = 1;
    THN_NULL_UNLESS(!PyErr_Occurred());
    Py_RETURN_NONE;
}

static PyObject *blas_get_name(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(unused))
{
    return PyUnicode_FromString(blas_name);
}

int thn_load_routines(const char *from, const char *function)
{
    THN_OWNED PyObject *module = PyImport_ImportModule(from);
    THN_OWNED PyObject *r = module ? PyObject_CallMethod(module, function, NULL) : NULL;
    return r ? 0 : -1;
}

int thn_blas_check(ThnProgram *Py_UNUSED(p), ThnInstr *Py_UNUSED(ins))
{
    return blas_state ? 0 : thn_load_routines("theano.native.target.cpu.blas_library", "load_blas");
}

static PyMethodDef functions[] = {
    {"blas_set", blas_set, METH_VARARGS,
     "blas_set(pointers, name): use these BLAS routines; pointers maps names such as 'dgemm' to addresses or capsules."},
    {"blas_name", blas_get_name, METH_NOARGS, "What BLAS is in use; empty before the first program that needs one."},
    {NULL, NULL, 0, NULL},
};

int thn_blas_init(PyObject *module)
{
#if defined(__unix__) || defined(__APPLE__)
    pthread_atfork(lock_holders, unlock_holders, forget_holders);
#endif
    return PyModule_AddFunctions(module, functions);
}
