/* Instructions: linear algebra over LAPACK. Operands have one dtype: float32, float64, complex64 or complex128. */
#include "vm.h"
#include "blas.h"
#include "copy.h"
#include "lapack.h"
#include "pool.h"

#include <math.h>

/* Above this many multiply-adds the library may use its own threads. */
#define THREADED_WORK 2e8

static PyObject *LinAlgError;

static int linalg_ready(void)
{
    if (!LinAlgError) {
        PyObject *module = PyImport_ImportModule("numpy.linalg");
        LinAlgError = module ? PyObject_GetAttrString(module, "LinAlgError") : NULL;
        Py_XDECREF(module);
        if (!LinAlgError) {
            return -1;
        }
    }
    return thn_blas_ready() < 0 ? -1 : thn_lapack_ready();
}

static int memory_error(ThnFrame *f)
{
    return thn_error(f, PyExc_MemoryError, "out of memory for linear algebra");
}

static int one_dtype(ThnProgram *p, const ThnInstr *ins, const char *who)
{
    int typenum = p->cells[ins->ins[0]].typenum;
    int ok = thn_lapack_letter(typenum) >= 0 && p->cells[ins->ins[0]].ndim == 2;
    for (int k = 1; k < ins->nin; k++) {
        ok = ok && p->cells[ins->ins[k]].typenum == typenum;
    }
    if (!ok) {
        PyErr_Format(PyExc_ValueError, "%s: matrices of one floating point dtype", who);
        return -1;
    }
    return linalg_ready();
}

static int letter_of(const ThnCell *c)
{
    return thn_lapack_letter(c->typenum);
}

static double cubic_work(const ThnCell *a)
{
    double m = (double)a->dims[0], n = (double)a->dims[1];
    return m * n * (m < n ? m : n) * 0.1;
}

static int hold(const ThnCell *a)
{
    double m = (double)a->dims[0], n = (double)a->dims[1];
    return m * n * (m < n ? m : n) < THREADED_WORK ? thn_blas_hold() : 0;
}

/* C contiguous copy of a matrix at dst: seen column-major it is the transpose. */
static void copy_rows(const ThnCell *a, char *dst)
{
    npy_intp strides[2] = {a->dims[1] * a->itemsize, a->itemsize};
    thn_copy_strided(2, a->dims, dst, strides, a->data, a->strides, a->itemsize);
}

/* Column-major copy. A vector is one column. */
static void copy_columns(const ThnCell *a, char *dst)
{
    npy_intp strides[2] = {a->itemsize, a->dims[0] * a->itemsize};
    thn_copy_strided(a->ndim, a->dims, dst, strides, a->data, a->strides, a->itemsize);
}

static ThnDense dense(char *data, npy_intp rows, npy_intp cols)
{
    return (ThnDense){data, rows, cols, rows > 0 ? rows : 1};
}

static int alloc_columns(ThnFrame *f, ThnCell *out, npy_intp rows, npy_intp cols)
{
    npy_intp dims[2] = {rows, cols}, strides[2] = {out->itemsize, rows * out->itemsize};
    return thn_out_alloc_strided(f, out, dims, strides);
}

/* Column-major memory for a result: its own, or, where that was laid out differently, memory that is copied at the end. */
typedef struct {
    char *data, *held;
    const ThnCell *out;
} Columns;

static int columns_open(Columns *c, const ThnCell *out)
{
    const npy_intp item = out->itemsize, rows = out->dims[0], cols = out->ndim > 1 ? out->dims[1] : 1;
    *c = (Columns){out->data, NULL, out};
    if (out->ndim > 1 && ((rows > 1 && out->strides[0] != item) || (cols > 1 && out->strides[1] != rows * item))) {
        c->data = c->held = thn_pool_alloc((size_t)(rows * cols * item));
    }
    return c->data ? 0 : -1;
}

static void columns_close(Columns *c)
{
    if (c->held) {
        npy_intp strides[2] = {c->out->itemsize, c->out->dims[0] * c->out->itemsize};
        thn_copy_strided(2, c->out->dims, c->out->data, c->out->strides, c->held, strides, c->out->itemsize);
        thn_pool_free(c->held);
    }
}

/* Adding one to the exponent of infinities and NaNs, and of no other number, carries into the sign bit. */
#define FINITE_ROW(NAME, U, SIGN, ONE)                                                         \
    static int NAME(const char *row, npy_intp n, npy_intp stride, int parts)                   \
    {                                                                                          \
        U carries = 0;                                                                         \
        if (stride == (npy_intp)sizeof(U) * parts) {                                           \
            for (npy_intp j = 0; j < n * parts; j++) {                                         \
                carries |= (((const U *)row)[j] & ~(SIGN)) + (ONE);                            \
            }                                                                                  \
        } else {                                                                               \
            for (npy_intp j = 0; j < n; j++, row += stride) {                                  \
                for (int k = 0; k < parts; k++) {                                              \
                    carries |= (((const U *)row)[k] & ~(SIGN)) + (ONE);                        \
                }                                                                              \
            }                                                                                  \
        }                                                                                      \
        return !(carries & (SIGN));                                                            \
    }

FINITE_ROW(finite_row32, uint32_t, (uint32_t)1 << 31, (uint32_t)1 << 23)
FINITE_ROW(finite_row64, uint64_t, (uint64_t)1 << 63, (uint64_t)1 << 52)

static int all_finite(const ThnCell *a)
{
    const int last = a->ndim - 1, parts = letter_of(a) >= THN_C ? 2 : 1, is_double = letter_of(a) & 1;
    for (npy_intp i = 0; i < (last ? a->dims[0] : 1); i++) {
        const char *row = a->data + (last ? i * a->strides[0] : 0);
        if (!(is_double ? finite_row64 : finite_row32)(row, a->dims[last], a->strides[last], parts)) {
            return 0;
        }
    }
    return 1;
}

static int not_finite(ThnFrame *f)
{
    return thn_error(f, PyExc_ValueError, "array must not contain infs or NaNs");
}

static int square(ThnFrame *f, const ThnCell *a, PyObject *type, const char *message)
{
    char shape[80];
    if (a->dims[0] == a->dims[1]) {
        return 0;
    }
    return thn_error(f, type, "%s, got the shape %s", message, thn_shape_text(shape, sizeof shape, 2, a->dims));
}

#define NUMPY_SQUARE "Last 2 dimensions of the array must be square"

/* ---- cholesky */

typedef struct {
    int lower, nan;
} Cholesky;

static int cholesky_init(ThnProgram *p, ThnInstr *ins, PyObject *params)
{
    Cholesky *c = thn_alloc(sizeof *c);
    ins->data = c;
    if (!c || !PyArg_ParseTuple(params, "pp", &c->lower, &c->nan)) {
        return -1;
    }
    return one_dtype(p, ins, "cholesky");
}

static int cholesky_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *a = THN_IN(f, ins, 0);
    if (square(f, a, PyExc_ValueError, "Input array is expected to be square") < 0) {
        return -1;
    }
    f->work = cubic_work(a);
    ThnCell *out = THN_OUT(f, ins, 0);
    return ((const Cholesky *)ins->data)->lower ? alloc_columns(f, out, a->dims[0], a->dims[0])
                                                : thn_out_alloc(f, out, a->dims);
}

static void fill_nan(int letter, char *p, npy_intp n)
{
    npy_intp count = letter >= THN_C ? 2 * n : n;
    for (npy_intp i = 0; i < count; i++) {
        double v = letter >= THN_C && i % 2 ? 0 : NAN;
        if (letter & 1) {
            ((double *)p)[i] = v;
        } else {
            ((float *)p)[i] = (float)v;
        }
    }
}

#define TILE 32

/* Copies the lower triangle of `a`, seen with these strides, to column-major memory, and clears the rest there. */
static void copy_lower(const ThnCell *a, npy_intp row_stride, npy_intp col_stride, char *dst)
{
    const npy_intp n = a->dims[0], item = a->itemsize;
    const ThnInner copy = thn_copy_inner((int)item);
    for (npy_intp top = 0; top < n; top += TILE) {
        const npy_intp end = n - top < TILE ? n : top + TILE;
        for (npy_intp j = 0; j < end; j++) {
            const npy_intp i = j > top ? j : top;
            copy(end - i, dst + (i + j * n) * item, item, a->data + i * row_stride + j * col_stride, row_stride);
        }
    }
    for (npy_intp j = 1; j < n; j++) {
        memset(dst + j * n * item, 0, (size_t)(j * item));
    }
}

/* The lower factor is made column by column, the upper one row by row: to LAPACK both are the lower factor, which it finds
 * faster. */
static int cholesky_execute(ThnFrame *f, const ThnInstr *ins)
{
    const Cholesky *c = ins->data;
    const ThnCell *a = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    const npy_intp n = a->dims[0];
    Columns factor = {out->data, NULL, out};
    if (n == 0) {
        return 0;
    }
    if (!all_finite(a)) {
        return not_finite(f);
    }
    if (c->lower && columns_open(&factor, out) < 0) {
        return memory_error(f);
    }
    copy_lower(a, a->strides[!c->lower], a->strides[c->lower], factor.data);
    int64_t info = thn_potrf(letter_of(a), 'L', dense(factor.data, n, n));
    if (info > 0 && c->nan) {
        fill_nan(letter_of(a), factor.data, n * n);
        info = 0;
    }
    columns_close(&factor);
    return info ? thn_error(f, LinAlgError, "%lld-th leading minor of the array is not positive definite", (long long)info) : 0;
}

/* ---- solve */

enum { GENERAL, SYMMETRIC, LOWER, UPPER };

typedef struct {
    int structure, lower;
} Solve;

static int solve_init(ThnProgram *p, ThnInstr *ins, PyObject *params)
{
    Solve *s = thn_alloc(sizeof *s);
    ins->data = s;
    if (!s || !PyArg_ParseTuple(params, "ip", &s->structure, &s->lower)) {
        return -1;
    }
    return one_dtype(p, ins, "solve");
}

static int solve_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const Solve *s = ins->data;
    ThnCell *a = THN_IN(f, ins, 0), *b = THN_IN(f, ins, 1), *out = THN_OUT(f, ins, 0);
    char x[80], y[80];
    if (square(f, a, PyExc_ValueError, "Expected square matrix") < 0) {
        return -1;
    }
    if (a->dims[0] != b->dims[0]) {
        return thn_error(f, PyExc_ValueError, "shapes of a %s and b %s are incompatible",
                         thn_shape_text(x, sizeof x, 2, a->dims), thn_shape_text(y, sizeof y, b->ndim, b->dims));
    }
    f->work = cubic_work(a) + (double)thn_size(b) * (double)a->dims[0] * 0.1;
    if (b->ndim == 2 && s->structure == SYMMETRIC) {
        return alloc_columns(f, out, b->dims[0], b->dims[1]);
    }
    return thn_out_alloc(f, out, b->dims);
}

/* The matrix in column-major memory: 'N' as itself, 'T' as its transpose; 0: neither. */
static char orientation(const ThnCell *a, ThnDense *d)
{
    const npy_intp item = a->itemsize, n = a->dims[0], rows = a->strides[0], cols = a->strides[1];
    if (cols == item && rows % item == 0 && rows / item >= n) {
        *d = (ThnDense){a->data, n, n, rows / item};
        return 'T';
    }
    if (rows == item && cols % item == 0 && cols / item >= n) {
        *d = (ThnDense){a->data, n, n, cols / item};
        return 'N';
    }
    return 0;
}

static int is_zero(int letter, const char *p)
{
    static const char zeros[16];
    char v[16];
    int size = letter == THN_S ? 4 : letter == THN_Z ? 16 : 8;
    memcpy(v, p, (size_t)size);
    for (int i = 0; i < size; i += letter & 1 ? 8 : 4) {
        v[i + (letter & 1 ? 7 : 3)] &= 0x7f; /* minus zero */
    }
    return memcmp(v, zeros, (size_t)size) == 0;
}

static int solve_triangular(ThnFrame *f, const ThnCell *a, const ThnCell *out, int upper)
{
    const npy_intp n = a->dims[0], item = a->itemsize;
    int letter = letter_of(a);
    for (npy_intp i = 0; i < n; i++) {
        if (is_zero(letter, a->data + i * (a->strides[0] + a->strides[1]))) {
            return thn_error(f, LinAlgError, "singular matrix: resolution failed at diagonal %lld", (long long)i);
        }
    }
    char *copy = NULL;
    ThnDense d;
    char form = orientation(a, &d);
    if (!form) {
        copy = thn_pool_alloc((size_t)(n * n * item));
        if (!copy) {
            return memory_error(f);
        }
        copy_rows(a, copy);
        d = dense(copy, n, n);
        form = 'T';
    }
    int held = hold(a);
    char uplo = (form == 'T') != upper ? 'U' : 'L';
    if (out->ndim == 1) {
        thn_trsm(letter, 'L', uplo, form, 'N', d, dense(out->data, n, 1));
    } else {
        /* The transposed equation: b is there row by row. */
        thn_trsm(letter, 'R', uplo, form == 'T' ? 'N' : 'T', 'N', d, dense(out->data, out->dims[1], n));
    }
    thn_blas_let_go(held);
    thn_pool_free(copy);
    return 0;
}

static int solve_symmetric(ThnFrame *f, const Solve *s, const ThnCell *a, const ThnCell *b, const ThnCell *out)
{
    const npy_intp n = a->dims[0];
    char *copy = thn_pool_alloc((size_t)(n * n * a->itemsize));
    Columns x;
    if (!copy || columns_open(&x, out) < 0) {
        thn_pool_free(copy);
        return memory_error(f);
    }
    copy_rows(a, copy);
    copy_columns(b, x.data);
    int held = hold(a);
    int64_t info = thn_sysv(letter_of(a), s->lower ? 'U' : 'L', dense(copy, n, n),
                            dense(x.data, n, out->ndim == 1 ? 1 : out->dims[1]));
    thn_blas_let_go(held);
    thn_pool_free(copy);
    columns_close(&x);
    if (info == THN_LAPACK_MEMORY) {
        return memory_error(f);
    }
    return info ? thn_error(f, LinAlgError, "Matrix is singular.") : 0;
}

static int solve_general(ThnFrame *f, const ThnCell *a, const ThnCell *out)
{
    const npy_intp n = a->dims[0], item = a->itemsize;
    int letter = letter_of(a);
    char *lu = thn_pool_alloc((size_t)(n * n * item));
    int64_t *pivots = thn_pool_alloc((size_t)n * sizeof *pivots);
    if (!lu || !pivots) {
        thn_pool_free(lu);
        thn_pool_free(pivots);
        return memory_error(f);
    }
    int held = hold(a);
    copy_rows(a, lu);
    ThnDense d = dense(lu, n, n); /* the transpose: P L U = A^T */
    int64_t info = thn_getrf(letter, d, pivots);
    if (info == 0 && out->ndim == 1) {
        info = thn_getrs(letter, 'T', d, pivots, dense(out->data, n, 1));
    } else if (info == 0) {
        /* x^T P L U = b^T, where b^T is what the rows of b are column-major. */
        ThnDense x = dense(out->data, out->dims[1], n);
        thn_trsm(letter, 'R', 'U', 'N', 'N', d, x);
        thn_trsm(letter, 'R', 'L', 'N', 'U', d, x);
        const size_t bytes = (size_t)(out->dims[1] * item);
        char *spare = thn_pool_alloc(bytes);
        for (npy_intp i = n - 1; i >= 0 && spare; i--) {
            if (pivots[i] != i + 1) {
                char *one = out->data + i * (npy_intp)bytes, *other = out->data + (pivots[i] - 1) * (npy_intp)bytes;
                memcpy(spare, one, bytes);
                memcpy(one, other, bytes);
                memcpy(other, spare, bytes);
            }
        }
        info = spare ? 0 : THN_LAPACK_MEMORY;
        thn_pool_free(spare);
    }
    thn_blas_let_go(held);
    thn_pool_free(lu);
    thn_pool_free(pivots);
    if (info == THN_LAPACK_MEMORY) {
        return memory_error(f);
    }
    return info ? thn_error(f, LinAlgError, "Matrix is singular.") : 0;
}

static int solve_execute(ThnFrame *f, const ThnInstr *ins)
{
    const Solve *s = ins->data;
    const ThnCell *a = THN_IN(f, ins, 0), *b = THN_IN(f, ins, 1), *out = THN_OUT(f, ins, 0);
    if (!all_finite(a) || !all_finite(b)) {
        return not_finite(f);
    }
    if (thn_size(out) == 0) {
        return 0;
    }
    if (s->structure == SYMMETRIC) {
        return solve_symmetric(f, s, a, b, out);
    }
    thn_copy_strided(b->ndim, b->dims, out->data, out->strides, b->data, b->strides, b->itemsize);
    return s->structure == GENERAL ? solve_general(f, a, out) : solve_triangular(f, a, out, s->structure == UPPER);
}

/* ---- inverse and determinant */

static int plain_init(ThnProgram *p, ThnInstr *ins, PyObject *params)
{
    (void)params;
    return one_dtype(p, ins, "linear algebra");
}

static int inverse_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *a = THN_IN(f, ins, 0);
    if (square(f, a, LinAlgError, NUMPY_SQUARE) < 0) {
        return -1;
    }
    f->work = 3 * cubic_work(a);
    return thn_out_alloc(f, THN_OUT(f, ins, 0), a->dims);
}

static int inverse_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *a = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    const npy_intp n = a->dims[0];
    if (n == 0) {
        return 0;
    }
    int64_t *pivots = thn_pool_alloc((size_t)n * sizeof *pivots);
    if (!pivots) {
        return memory_error(f);
    }
    copy_rows(a, out->data); /* the inverse of the transpose is the transpose of the inverse */
    ThnDense d = dense(out->data, n, n);
    int held = hold(a);
    int64_t info = thn_getrf(letter_of(a), d, pivots);
    info = info ? info : thn_getri(letter_of(a), d, pivots);
    thn_blas_let_go(held);
    thn_pool_free(pivots);
    if (info == THN_LAPACK_MEMORY) {
        return memory_error(f);
    }
    return info ? thn_error(f, LinAlgError, "Singular matrix") : 0;
}

static int det_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *a = THN_IN(f, ins, 0);
    if (square(f, a, LinAlgError, NUMPY_SQUARE) < 0) {
        return -1;
    }
    f->work = cubic_work(a);
    return thn_out_alloc(f, THN_OUT(f, ins, 0), NULL);
}

/* The product of the diagonal, with an exponent of its own: partial products neither overflow nor underflow. */
static void diagonal_product(int letter, const char *lu, npy_intp n, const int64_t *pivots, double *re, double *im)
{
    double x = 1, y = 0;
    int64_t exponent = 0;
    for (npy_intp i = 0; i < n; i++) {
        const npy_intp at = i * (n + 1);
        double a, b = 0;
        switch (letter) {
        case THN_S: a = ((const float *)lu)[at]; break;
        case THN_D: a = ((const double *)lu)[at]; break;
        case THN_C:
            a = ((const float *)lu)[2 * at];
            b = ((const float *)lu)[2 * at + 1];
            break;
        default:
            a = ((const double *)lu)[2 * at];
            b = ((const double *)lu)[2 * at + 1];
        }
        double u = letter < THN_C ? x * a : x * a - y * b, v = letter < THN_C ? 0 : x * b + y * a, top;
        if (pivots[i] != i + 1) {
            u = -u;
            v = -v;
        }
        top = fabs(u) > fabs(v) ? fabs(u) : fabs(v);
        int shift = 0;
        if (top > 0 && isfinite(top)) {
            frexp(top, &shift);
        }
        x = ldexp(u, -shift);
        y = ldexp(v, -shift);
        exponent += shift;
    }
    int e = exponent > 100000 ? 100000 : exponent < -100000 ? -100000 : (int)exponent;
    *re = ldexp(x, e);
    *im = ldexp(y, e);
}

static int det_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *a = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    const npy_intp n = a->dims[0];
    int letter = letter_of(a);
    double re = 1, im = 0;
    if (n > 0) {
        char *lu = thn_pool_alloc((size_t)(n * n * a->itemsize));
        int64_t *pivots = thn_pool_alloc((size_t)n * sizeof *pivots), info = THN_LAPACK_MEMORY;
        if (lu && pivots) {
            copy_rows(a, lu);
            int held = hold(a);
            info = thn_getrf(letter, dense(lu, n, n), pivots);
            thn_blas_let_go(held);
            if (info > 0) {
                re = 0; /* a pivot is exactly zero */
            } else {
                diagonal_product(letter, lu, n, pivots, &re, &im);
            }
        }
        thn_pool_free(lu);
        thn_pool_free(pivots);
        if (info == THN_LAPACK_MEMORY) {
            return memory_error(f);
        }
    }
    switch (letter) {
    case THN_S: *(float *)out->data = (float)re; break;
    case THN_D: *(double *)out->data = re; break;
    case THN_C:
        ((float *)out->data)[0] = (float)re;
        ((float *)out->data)[1] = (float)im;
        break;
    default:
        ((double *)out->data)[0] = re;
        ((double *)out->data)[1] = im;
    }
    return 0;
}

/* ---- eigenvalues */

typedef struct {
    int lower, generalized;
} Eigh;

static int eigh_init(ThnProgram *p, ThnInstr *ins, PyObject *params)
{
    Eigh *e = thn_alloc(sizeof *e);
    ins->data = e;
    if (!e || !PyArg_ParseTuple(params, "p", &e->lower)) {
        return -1;
    }
    e->generalized = ins->nin > 1;
    return one_dtype(p, ins, "eigh");
}

static int eigh_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *a = THN_IN(f, ins, 0);
    const npy_intp n = a->dims[0];
    if (square(f, a, ins->nout > 1 ? LinAlgError : PyExc_ValueError,
               ins->nout > 1 ? NUMPY_SQUARE : "expected square \"a\" matrix") < 0) {
        return -1;
    }
    if (ins->nin > 1) {
        const ThnCell *b = THN_IN(f, ins, 1);
        char x[80], y[80];
        if (square(f, b, PyExc_ValueError, "expected square \"b\" matrix") < 0) {
            return -1;
        }
        if (b->dims[0] != n) {
            return thn_error(f, PyExc_ValueError, "wrong b dimensions %s, should be %s",
                             thn_shape_text(x, sizeof x, 2, b->dims), thn_shape_text(y, sizeof y, 2, a->dims));
        }
    }
    f->work = 20 * cubic_work(a);
    if (thn_out_alloc(f, THN_OUT(f, ins, 0), &n) < 0) {
        return -1;
    }
    return ins->nout > 1 ? alloc_columns(f, THN_OUT(f, ins, 1), n, n) : 0;
}

static int eigh_execute(ThnFrame *f, const ThnInstr *ins)
{
    const Eigh *e = ins->data;
    const ThnCell *a = THN_IN(f, ins, 0), *w = THN_OUT(f, ins, 0);
    const npy_intp n = a->dims[0];
    int vectors = ins->nout > 1;
    const size_t bytes = (size_t)(n * n * a->itemsize);
    if (n == 0) {
        return 0;
    }
    if (!vectors && (!all_finite(a) || (e->generalized && !all_finite(THN_IN(f, ins, 1))))) {
        return not_finite(f);
    }
    char *copy = vectors ? NULL : thn_pool_alloc(bytes), *second = e->generalized ? thn_pool_alloc(bytes) : NULL;
    char uplo = e->lower ? 'L' : 'U', job = vectors ? 'V' : 'N';
    Columns v = {copy, NULL, NULL};
    int64_t info = THN_LAPACK_MEMORY;
    if ((!vectors || columns_open(&v, THN_OUT(f, ins, 1)) == 0) && v.data && (second || !e->generalized)) {
        char *data = v.data;
        copy_columns(a, data);
        int held = hold(a);
        if (e->generalized) {
            copy_columns(THN_IN(f, ins, 1), second);
            info = thn_sygvd(letter_of(a), job, uplo, dense(data, n, n), dense(second, n, n), w->data);
        } else {
            info = thn_syevd(letter_of(a), job, uplo, dense(data, n, n), w->data);
        }
        thn_blas_let_go(held);
        columns_close(&v);
    }
    thn_pool_free(copy);
    thn_pool_free(second);
    if (info == THN_LAPACK_MEMORY) {
        return memory_error(f);
    }
    if (info > n) {
        return thn_error(f, LinAlgError, "The leading minor of order %lld of B is not positive definite",
                         (long long)(info - n));
    }
    return info ? thn_error(f, LinAlgError, "Eigenvalues did not converge") : 0;
}

static int eig_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *a = THN_IN(f, ins, 0);
    const npy_intp n = a->dims[0];
    if (square(f, a, LinAlgError, NUMPY_SQUARE) < 0) {
        return -1;
    }
    f->work = 50 * cubic_work(a);
    return thn_out_alloc(f, THN_OUT(f, ins, 0), &n) < 0 ? -1 : alloc_columns(f, THN_OUT(f, ins, 1), n, n);
}

static int eig_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *a = THN_IN(f, ins, 0), *w = THN_OUT(f, ins, 0);
    const npy_intp n = a->dims[0], item = a->itemsize;
    int letter = letter_of(a);
    if (n == 0) {
        return 0;
    }
    if (!all_finite(a)) {
        return thn_error(f, LinAlgError, "Array must not contain infs or NaNs");
    }
    char *copy = thn_pool_alloc((size_t)(n * n * item)), *values = thn_pool_alloc((size_t)(2 * n * item));
    int64_t info = THN_LAPACK_MEMORY;
    int is_complex = 0;
    Columns v;
    if (copy && values && columns_open(&v, THN_OUT(f, ins, 1)) == 0) {
        copy_columns(a, copy);
        int held = hold(a);
        info = thn_geev(letter, dense(copy, n, n), values, dense(v.data, n, n));
        thn_blas_let_go(held);
        columns_close(&v);
        for (npy_intp i = n; letter < THN_C && i < 2 * n; i++) {
            is_complex |= !is_zero(letter, values + i * item);
        }
        memcpy(w->data, values, (size_t)(n * item));
    }
    thn_pool_free(copy);
    thn_pool_free(values);
    if (info == THN_LAPACK_MEMORY) {
        return memory_error(f);
    }
    if (info) {
        return thn_error(f, LinAlgError, "Eigenvalues did not converge");
    }
    return is_complex ? thn_error(f, PyExc_ValueError, "the eigenvalues are complex: cast the matrix to a complex dtype") : 0;
}

/* ---- svd */

typedef struct {
    int full;
} Svd;

static int svd_init(ThnProgram *p, ThnInstr *ins, PyObject *params)
{
    Svd *s = thn_alloc(sizeof *s);
    ins->data = s;
    if (!s || !PyArg_ParseTuple(params, "p", &s->full)) {
        return -1;
    }
    return one_dtype(p, ins, "svd");
}

static int svd_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const Svd *s = ins->data;
    ThnCell *a = THN_IN(f, ins, 0);
    const npy_intp m = a->dims[0], n = a->dims[1], k = m < n ? m : n;
    f->work = 30 * cubic_work(a);
    if (ins->nout == 1) {
        return thn_out_alloc(f, THN_OUT(f, ins, 0), &k);
    }
    npy_intp u[2] = {m, s->full ? m : k}, v[2] = {s->full ? n : k, n};
    return thn_out_alloc(f, THN_OUT(f, ins, 0), u) < 0 || thn_out_alloc(f, THN_OUT(f, ins, 1), &k) < 0 ? -1
               : thn_out_alloc(f, THN_OUT(f, ins, 2), v);
}

static void set_identity(const ThnCell *out)
{
    npy_intp n = out->dims[0] < out->dims[1] ? out->dims[0] : out->dims[1];
    memset(out->data, 0, (size_t)(thn_size(out) * out->itemsize));
    for (npy_intp i = 0; i < n; i++) {
        int64_t one = 1;
        thn_cast_inner(out->typenum, NPY_INT64)(1, out->data + i * (out->strides[0] + out->strides[1]), 0, (char *)&one, 0);
    }
}

static int svd_execute(ThnFrame *f, const ThnInstr *ins)
{
    const Svd *s = ins->data;
    const ThnCell *a = THN_IN(f, ins, 0);
    const npy_intp m = a->dims[0], n = a->dims[1], k = m < n ? m : n;
    int vectors = ins->nout > 1;
    const ThnCell *values = THN_OUT(f, ins, vectors ? 1 : 0);
    if (k == 0) {
        if (vectors) {
            set_identity(THN_OUT(f, ins, 0));
            set_identity(THN_OUT(f, ins, 2));
        }
        return 0;
    }
    char *copy = thn_pool_alloc((size_t)(m * n * a->itemsize));
    if (!copy) {
        return memory_error(f);
    }
    /* Column-major this is the transpose: its left vectors are the rows of v, its right ones the columns of u. */
    copy_rows(a, copy);
    char dummy[16];
    ThnDense left = dense(dummy, 1, 1), right = left;
    if (vectors) {
        left = dense(THN_OUT(f, ins, 2)->data, n, s->full ? n : k);
        right = dense(THN_OUT(f, ins, 0)->data, s->full ? m : k, m);
    }
    int held = hold(a);
    int64_t info = thn_gesdd(letter_of(a), !vectors ? 'N' : s->full ? 'A' : 'S', dense(copy, n, m), values->data, left, right);
    thn_blas_let_go(held);
    thn_pool_free(copy);
    if (info == THN_LAPACK_MEMORY) {
        return memory_error(f);
    }
    return info ? thn_error(f, LinAlgError, "SVD did not converge") : 0;
}

/* ---- qr */

enum { QR_R, QR_REDUCED, QR_COMPLETE, QR_RAW };

static int qr_init(ThnProgram *p, ThnInstr *ins, PyObject *params)
{
    int *mode = thn_alloc(sizeof *mode);
    ins->data = mode;
    if (!mode || !PyArg_ParseTuple(params, "i", mode)) {
        return -1;
    }
    return one_dtype(p, ins, "qr");
}

static int qr_prepare(ThnFrame *f, const ThnInstr *ins)
{
    int mode = *(const int *)ins->data;
    ThnCell *a = THN_IN(f, ins, 0), *first = THN_OUT(f, ins, 0), *second = ins->nout > 1 ? THN_OUT(f, ins, 1) : NULL;
    const npy_intp m = a->dims[0], n = a->dims[1], k = m < n ? m : n;
    f->work = 4 * cubic_work(a);
    if (mode == QR_RAW) {
        npy_intp dims[2] = {n, m};
        return thn_out_alloc(f, first, dims) < 0 ? -1 : thn_out_alloc(f, second, &k);
    }
    npy_intp rows = mode == QR_COMPLETE ? m : k, r[2] = {rows, n};
    if (mode == QR_R) {
        return thn_out_alloc(f, first, r);
    }
    return alloc_columns(f, first, m, rows) < 0 ? -1 : thn_out_alloc(f, second, r);
}

/* Row-major upper triangle of the column-major factors. */
static void copy_r(const char *factors, npy_intp m, const ThnCell *r)
{
    const npy_intp item = r->itemsize, n = r->dims[1];
    npy_intp from = m * item;
    for (npy_intp i = 0; i < r->dims[0]; i++) {
        char *row = r->data + i * n * item;
        npy_intp zeros = i < n ? i : n, count = n - zeros;
        memset(row, 0, (size_t)(zeros * item));
        thn_copy_strided(1, &count, row + zeros * item, &item, factors + (zeros * m + i) * item, &from, (int)item);
    }
}

static int qr_execute(ThnFrame *f, const ThnInstr *ins)
{
    int mode = *(const int *)ins->data;
    const ThnCell *a = THN_IN(f, ins, 0), *first = THN_OUT(f, ins, 0), *second = ins->nout > 1 ? THN_OUT(f, ins, 1) : NULL;
    const npy_intp m = a->dims[0], n = a->dims[1], k = m < n ? m : n, item = a->itemsize;
    if (k == 0) {
        if (mode == QR_COMPLETE) {
            set_identity(first);
        }
        return 0;
    }
    int letter = letter_of(a), held = hold(a);
    char *factors = mode == QR_RAW ? first->data : thn_pool_alloc((size_t)(m * (n > m ? n : m) * item));
    char *tau = mode == QR_RAW ? second->data : thn_pool_alloc((size_t)(k * item));
    int64_t info = THN_LAPACK_MEMORY;
    if (factors && tau) {
        copy_columns(a, factors);
        info = thn_geqrf(letter, dense(factors, m, n), tau);
    }
    if (info == 0 && mode != QR_RAW) {
        copy_r(factors, m, mode == QR_R ? first : second);
    }
    if (info == 0 && (mode == QR_REDUCED || mode == QR_COMPLETE)) {
        Columns q;
        info = THN_LAPACK_MEMORY;
        if (columns_open(&q, first) == 0) {
            memcpy(q.data, factors, (size_t)(m * k * item));
            info = thn_orgqr(letter, dense(q.data, m, first->dims[1]), k, tau);
            columns_close(&q);
        }
    }
    thn_blas_let_go(held);
    if (mode != QR_RAW) {
        thn_pool_free(factors);
        thn_pool_free(tau);
    }
    if (info == THN_LAPACK_MEMORY) {
        return memory_error(f);
    }
    return info ? thn_error(f, LinAlgError, "Incorrect argument found while performing QR factorization") : 0;
}

/* ---- pseudo-inverse: v s^-1 u^H of the singular values above 1e-15 times the largest */

static int pinv_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *a = THN_IN(f, ins, 0);
    npy_intp dims[2] = {a->dims[1], a->dims[0]};
    f->work = 30 * cubic_work(a);
    return thn_out_alloc(f, THN_OUT(f, ins, 0), dims);
}

static void scale_row(int letter, char *row, npy_intp n, double by)
{
    npy_intp count = letter >= THN_C ? 2 * n : n;
    for (npy_intp i = 0; i < count; i++) {
        if (letter & 1) {
            ((double *)row)[i] *= by;
        } else {
            ((float *)row)[i] *= (float)by;
        }
    }
}

static void conjugate(int letter, char *data, npy_intp n)
{
    for (npy_intp i = 1; letter >= THN_C && i < 2 * n; i += 2) {
        if (letter & 1) {
            ((double *)data)[i] = -((double *)data)[i];
        } else {
            ((float *)data)[i] = -((float *)data)[i];
        }
    }
}

static int pinv_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *a = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    const npy_intp m = a->dims[0], n = a->dims[1], k = m < n ? m : n, item = a->itemsize;
    int letter = letter_of(a);
    if (k == 0) {
        return 0;
    }
    char *copy = thn_pool_alloc((size_t)(m * n * item)), *u = thn_pool_alloc((size_t)(m * k * item));
    char *v = thn_pool_alloc((size_t)(n * k * item)), *s = thn_pool_alloc((size_t)k * 8);
    int64_t info = THN_LAPACK_MEMORY;
    if (copy && u && v && s) {
        copy_rows(a, copy);
        int held = hold(a);
        /* As in svd: v holds v^H by rows, u holds u by rows. */
        info = thn_gesdd(letter, 'S', dense(copy, n, m), s, dense(v, n, k), dense(u, k, m));
        double largest = letter & 1 ? ((double *)s)[0] : (double)((float *)s)[0];
        for (npy_intp i = 0; i < k; i++) {
            double value = letter & 1 ? ((double *)s)[i] : (double)((float *)s)[i];
            scale_row(letter, v + i * n * item, n, value > 1e-15 * largest ? 1 / value : 0);
        }
        conjugate(letter, v, n * k);
        conjugate(letter, u, m * k);
        ThnMatrix x = {v, n, k, item, n * item}, y = {u, k, m, item, k * item}, z = {out->data, n, m, m * item, item};
        if (info == 0 && thn_matmul(a->typenum, &x, &y, &z, NULL, NULL) < 0) {
            info = THN_LAPACK_MEMORY;
        }
        thn_blas_let_go(held);
    }
    thn_pool_free(copy);
    thn_pool_free(u);
    thn_pool_free(v);
    thn_pool_free(s);
    if (info == THN_LAPACK_MEMORY) {
        return memory_error(f);
    }
    return info ? thn_error(f, LinAlgError, "SVD did not converge") : 0;
}

const ThnOpDef thn_ops_linalg[] = {
    {"cholesky", cholesky_init, NULL, cholesky_prepare, cholesky_execute, 0},
    {"solve", solve_init, NULL, solve_prepare, solve_execute, 0},
    {"inverse", plain_init, NULL, inverse_prepare, inverse_execute, 0},
    {"det", plain_init, NULL, det_prepare, det_execute, 0},
    {"eigh", eigh_init, NULL, eigh_prepare, eigh_execute, 0},
    {"eig", plain_init, NULL, eig_prepare, eig_execute, 0},
    {"svd", svd_init, NULL, svd_prepare, svd_execute, 0},
    {"qr", qr_init, NULL, qr_prepare, qr_execute, 0},
    {"pinv", plain_init, NULL, pinv_prepare, pinv_execute, 0},
    {NULL, NULL, NULL, NULL, NULL, 0},
};
