/* Instructions: Cholesky factors, linear systems, inverses, determinants; see linalg.h. */
#include "vm.h"
#include "copy.h"
#include "linalg.h"

#include <math.h>

/* ---- cholesky */

static int cholesky_prepare(ThnFrame *f, const ThnInstr *ins)
{
    return thn_square_prepare(f, ins, 1, PyExc_ValueError, "Input array is expected to be square");
}

static void fill_nan(int letter, char *p, npy_intp n)
{
    const npy_intp count = letter >= THN_C ? 2 * n : n, real = thn_real_size(letter);
    for (npy_intp i = 0; i < count; i++) {
        thn_put_real(real, p + i * real, letter >= THN_C && i % 2 ? 0 : NAN);
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

/* The transposed lower factor, or the upper one: column by column both are LAPACK's lower factor, which it finds faster. */
static int cholesky_execute(ThnFrame *f, const ThnInstr *ins)
{
    const thn_cholesky_params *c = ins->data;
    const ThnCell *a = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    const npy_intp n = a->dims[0];
    if (n == 0) {
        return 0;
    }
    THN_TRY(thn_require_finite(f, thn_all_finite(a)));
    copy_lower(a, a->strides[!c->lower], a->strides[c->lower], out->data);
    int64_t info = thn_potrf(thn_letter_of(a), thn_dense(out->data, n, n));
    if (info > 0 && c->nan_on_failure) {
        fill_nan(thn_letter_of(a), out->data, n * n);
        info = 0;
    }
    THN_FAIL_IF(f, info > 0, thn_LinAlgError, "%lld-th leading minor of the array is not positive definite", (long long)info);
    return thn_linalg_result(f, info, "the matrix cannot be factored");
}

/* ---- solve */

static int solve_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const thn_solve_params *s = ins->data;
    ThnCell *a = THN_IN(f, ins, 0), *b = THN_IN(f, ins, 1), *out = THN_OUT(f, ins, 0);
    THN_TRY(thn_require_square(f, a, s->numpy ? thn_LinAlgError : PyExc_ValueError, "Expected square matrix"));
    THN_FAIL_IF(f, a->dims[0] != b->dims[0], PyExc_ValueError, "shapes of a %s and b %s are incompatible", THN_SHAPE(2, a->dims),
                THN_SHAPE(b->ndim, b->dims));
    f->work = thn_cubic_work(a) + (double)thn_size(b) * (double)a->dims[0] * 0.1;
    const npy_intp turned[2] = {b->dims[b->ndim - 1], b->dims[0]};
    return thn_out_alloc(f, out, s->structure == THN_Structure_SYMMETRIC ? turned : b->dims);
}

static int solve_triangular(ThnFrame *f, const ThnCell *a, const ThnCell *out, int upper)
{
    const npy_intp n = a->dims[0], item = a->itemsize;
    int letter = thn_letter_of(a);
    for (npy_intp i = 0; i < n; i++) {
        THN_FAIL_IF(f, thn_is_zero(letter, a->data + i * (a->strides[0] + a->strides[1])), thn_LinAlgError,
                    "singular matrix: resolution failed at diagonal %lld", (long long)i);
    }
    THN_POOLED char *copy = NULL;
    ThnDense d = {a->data, n, n, 0};
    const ThnMatrix matrix = thn_matrix(a, 0);
    char form = thn_layout(&matrix, item, &d.ld);
    if (!form) {
        THN_NEED(copy = thn_linalg_room(f, n * n * item));
        thn_copy_rows(a, copy, 0);
        d = thn_dense(copy, n, n);
        form = 'T';
    }
    THN_HELD held = thn_hold_for(a);
    char uplo = (form == 'T') != upper ? 'U' : 'L';
    if (out->ndim == 1) {
        thn_trsm(letter, 'L', uplo, form, 'N', d, thn_dense(out->data, n, 1));
    } else {
        /* The transposed equation: b is there row by row. */
        thn_trsm(letter, 'R', uplo, form == 'T' ? 'N' : 'T', 'N', d, thn_dense(out->data, out->dims[1], n));
    }
    return 0;
}

static int solve_symmetric(ThnFrame *f, const thn_solve_params *s, const ThnCell *a, const ThnCell *b, const ThnCell *out)
{
    const npy_intp n = a->dims[0];
    THN_POOLED char *copy = thn_linalg_room(f, n * n * a->itemsize);
    THN_NEED(copy);
    thn_copy_rows(a, copy, 0);
    thn_copy_columns(b, out->data);
    THN_HELD held = thn_hold_for(a);
    const ThnDense d = thn_dense(copy, n, n), b_x = thn_dense(out->data, n, out->ndim == 1 ? 1 : out->dims[0]);
    const int64_t sizes[THN_SPACES] = {[THN_INT_SPACE] = n + 1};
    return thn_linalg_result(f, THN_LAPACK(SYSV, thn_letter_of(a), sizes, s->lower ? "U" : "L", &d.rows, &b_x.cols, THN_AND_LD(d),
                                           THN_INT_WORK, THN_AND_LD(b_x), THN_WORK, THN_INFO), "Matrix is singular.");
}

static int solve_general(ThnFrame *f, const thn_solve_params *s, const ThnCell *a, const ThnCell *b, const ThnCell *out)
{
    const npy_intp n = a->dims[0], item = a->itemsize;
    int letter = thn_letter_of(a);
    THN_POOLED char *lu = thn_linalg_room(f, n * n * item);
    THN_POOLED int64_t *pivots = thn_linalg_room(f, n * (npy_intp)sizeof *pivots);
    THN_NEED(lu && pivots);
    THN_HELD held = thn_hold_for(a);
    const int finite = thn_copy_rows(a, lu, !s->numpy) && thn_copy_rows(b, out->data, !s->numpy);
    ThnDense d = thn_dense(lu, n, n); /* the transpose: P L U = A^T */
    int64_t info = finite ? thn_getrf(letter, d, pivots) : 0;
    if (finite && info == 0 && out->ndim == 1) {
        info = thn_getrs(letter, 'T', d, pivots, thn_dense(out->data, n, 1));
    } else if (finite && info == 0) {
        /* x^T P L U = b^T, where b^T is what the rows of b are column-major. */
        thn_getrs_right(letter, d, pivots, thn_dense(out->data, out->dims[1], n));
    }
    THN_TRY(thn_require_finite(f, finite));
    return thn_linalg_result(f, info, "Matrix is singular.");
}

static int solve_execute(ThnFrame *f, const ThnInstr *ins)
{
    const thn_solve_params *s = ins->data;
    const ThnCell *a = THN_IN(f, ins, 0), *b = THN_IN(f, ins, 1), *out = THN_OUT(f, ins, 0);
    if (s->structure == THN_Structure_GENERAL && thn_size(out) > 0) {
        return solve_general(f, s, a, b, out);
    }
    THN_TRY(thn_require_finite(f, s->numpy || (thn_all_finite(a) && thn_all_finite(b))));
    if (thn_size(out) == 0) {
        return 0;
    }
    if (s->structure == THN_Structure_SYMMETRIC) {
        return solve_symmetric(f, s, a, b, out);
    }
    thn_copy_strided(b->ndim, b->dims, out->data, out->strides, b->data, b->strides, b->itemsize);
    return solve_triangular(f, a, out, s->structure == THN_Structure_UPPER_TRIANGULAR);
}

/* ---- inverse and determinant */

static int square_prepare(ThnFrame *f, const ThnInstr *ins)
{
    return thn_square_prepare(f, ins, 3, thn_LinAlgError, NUMPY_SQUARE);
}

static int inverse_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *a = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    const npy_intp n = a->dims[0];
    if (n == 0) {
        return 0;
    }
    THN_POOLED int64_t *pivots = thn_linalg_room(f, n * (npy_intp)sizeof *pivots);
    THN_NEED(pivots);
    thn_copy_rows(a, out->data, 0); /* the inverse of the transpose is the transpose of the inverse */
    ThnDense d = thn_dense(out->data, n, n);
    THN_HELD held = thn_hold_for(a);
    int64_t info = thn_getrf(thn_letter_of(a), d, pivots);
    info = info ? info : THN_LAPACK(GETRI, thn_letter_of(a), NULL, &d.rows, THN_AND_LD(d), pivots, THN_WORK, THN_INFO);
    return thn_linalg_result(f, info, "Singular matrix");
}

#define LARGE 0x1p256 /* products of two real numbers between its inverse and it neither overflow nor lose digits */

/* Brings a number that is neither zero, infinite nor NaN to a magnitude below one where it is large or small; the exponent. */
static int brought_near(double *re, double *im)
{
    const double top = fmax(fabs(*re), fabs(*im));
    int exponent = 0;
    if ((top < 1 / LARGE || top > LARGE) && top > 0 && isfinite(top)) {
        frexp(top, &exponent);
        *re = ldexp(*re, -exponent);
        *im = ldexp(*im, -exponent);
    }
    return exponent;
}

/* The product of the diagonal, with an exponent of its own: partial products neither overflow nor underflow. */
static void diagonal_product(int letter, const char *lu, npy_intp n, const int64_t *pivots, double *re, double *im)
{
    const npy_intp real = thn_real_size(letter);
    double x = 1, y = 0;
    int64_t exponent = 0;
    for (npy_intp i = 0; i < n; i++) {
        const char *at = lu + i * (n + 1) * (letter < THN_C ? real : 2 * real);
        double a = thn_get_real(real, at), b = letter < THN_C ? 0 : thn_get_real(real, at + real);
        exponent += brought_near(&a, &b);
        const double u = letter < THN_C ? x * a : x * a - y * b, sign = thn_pivot(pivots, i) == i + 1 ? 1 : -1;
        y = sign * (letter < THN_C ? 0 : x * b + y * a);
        x = sign * u;
        exponent += brought_near(&x, &y);
    }
    const int e = (int)thn_most(thn_least(exponent, 100000), -100000);
    *re = ldexp(x, e);
    *im = ldexp(y, e);
}

static int det_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *a = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    const npy_intp n = a->dims[0];
    int letter = thn_letter_of(a);
    double re = 1, im = 0;
    if (n > 0) {
        THN_POOLED char *lu = thn_linalg_room(f, n * n * a->itemsize);
        THN_POOLED int64_t *pivots = thn_linalg_room(f, n * (npy_intp)sizeof *pivots);
        THN_NEED(lu && pivots);
        thn_copy_rows(a, lu, 0);
        THN_HELD held = thn_hold_for(a);
        const int64_t info = thn_getrf(letter, thn_dense(lu, n, n), pivots);
        if (info > 0) {
            re = 0; /* a pivot is exactly zero */
        } else if (info == 0) {
            diagonal_product(letter, lu, n, pivots, &re, &im);
        } else if (info == THN_LAPACK_MEMORY) {
            return thn_linalg_result(f, info, "the matrix cannot be factored");
        }
    }
    const npy_intp real = thn_real_size(letter);
    thn_put_real(real, out->data, re);
    if (letter >= THN_C) {
        thn_put_real(real, out->data + real, im);
    }
    return 0;
}

THN_INSTRUCTION(cholesky, thn_linalg_check, cholesky_prepare, cholesky_execute)
THN_INSTRUCTION(solve, thn_linalg_check, solve_prepare, solve_execute)
THN_INSTRUCTION(inverse, thn_linalg_check, square_prepare, inverse_execute)
THN_INSTRUCTION(det, thn_linalg_check, square_prepare, det_execute)
