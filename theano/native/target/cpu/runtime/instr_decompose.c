/* Instructions: eigenvalues, singular values, QR factors, and what is made of them; see linalg.h. */
#include "vm.h"
#include "copy.h"
#include "linalg.h"

#include <math.h>

/* ---- eigenvalues */

static int eigh_prepare(ThnFrame *f, const ThnInstr *ins)
{
    THN_TRY(ins->nout > 1 ? thn_square_prepare(f, ins, 20, thn_LinAlgError, NUMPY_SQUARE)
                          : thn_square_prepare(f, ins, 20, PyExc_ValueError, "expected square \"a\" matrix"));
    if (ins->nin > 1) {
        const ThnCell *a = THN_IN(f, ins, 0), *b = THN_IN(f, ins, 1);
        THN_TRY(thn_require_square(f, b, PyExc_ValueError, "expected square \"b\" matrix"));
        THN_FAIL_IF(f, b->dims[0] != a->dims[0], PyExc_ValueError, "wrong b dimensions %s, should be %s", THN_SHAPE(2, b->dims),
                    THN_SHAPE(2, a->dims));
    }
    return 0;
}

static int eigh_execute(ThnFrame *f, const ThnInstr *ins)
{
    const thn_eigh_params *e = ins->data;
    const ThnCell *a = THN_IN(f, ins, 0), *b = ins->nin > 1 ? THN_IN(f, ins, 1) : NULL;
    char *const w = THN_OUT(f, ins, 0)->data;
    const npy_intp n = a->dims[0], bytes = n * n * a->itemsize;
    const int vectors = ins->nout > 1, letter = thn_letter_of(a);
    if (n == 0) {
        return 0;
    }
    THN_TRY(thn_require_finite(f, vectors || (thn_all_finite(a) && (!b || thn_all_finite(b)))));
    THN_POOLED char *copy = thn_linalg_room(f, vectors ? 0 : bytes), *second = thn_linalg_room(f, b ? bytes : 0);
    const char *const job = vectors ? "V" : "N", *const uplo = e->lower ? "L" : "U";
    const int64_t kind = 1;
    int64_t info;
    THN_NEED(copy && second);
    const ThnDense x = thn_dense(vectors ? THN_OUT(f, ins, 1)->data : copy, n, n), y = thn_dense(second, n, n);
    thn_copy_columns(a, x.data);
    THN_HELD held = thn_hold_for(a);
    if (b) {
        thn_copy_columns(b, second);
        info = THN_LAPACK(SYGVD, letter, NULL, &kind, job, uplo, &x.rows, THN_AND_LD(x), THN_AND_LD(y), w, THN_WORK, THN_SIZED_REAL_WORK,
                          THN_SIZED_INT_WORK, THN_INFO);
    } else {
        info = THN_LAPACK(SYEVD, letter, NULL, job, uplo, &x.rows, THN_AND_LD(x), w, THN_WORK, THN_SIZED_REAL_WORK, THN_SIZED_INT_WORK,
                          THN_INFO);
    }
    THN_FAIL_IF(f, info > n, thn_LinAlgError, "The leading minor of order %lld of B is not positive definite", (long long)(info - n));
    return thn_linalg_result(f, info, "Eigenvalues did not converge");
}

static int eig_prepare(ThnFrame *f, const ThnInstr *ins)
{
    return thn_square_prepare(f, ins, 50, thn_LinAlgError, NUMPY_SQUARE);
}

static int eig_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *a = THN_IN(f, ins, 0), *w = THN_OUT(f, ins, 0);
    const npy_intp n = a->dims[0], item = a->itemsize;
    int letter = thn_letter_of(a);
    if (n == 0) {
        return 0;
    }
    THN_FAIL_IF(f, !thn_all_finite(a), thn_LinAlgError, "Array must not contain infs or NaNs");
    THN_POOLED char *copy = thn_linalg_room(f, n * n * item), *values = thn_linalg_room(f, 2 * n * item);
    int is_complex = 0;
    THN_NEED(copy && values);
    thn_copy_columns(a, copy);
    THN_HELD held = thn_hold_for(a);
    /* Real types have the imaginary parts behind the real ones, and no workspace of real numbers. */
    const ThnDense x = thn_dense(copy, n, n), y = thn_dense(THN_OUT(f, ins, 1)->data, n, n), none = thn_dense(NULL, 1, 1);
    const int64_t sizes[THN_SPACES] = {[THN_REAL_SPACE] = 2 * n};
    const int64_t info =
        letter < THN_C ? THN_LAPACK(GEEV, letter, NULL, "N", "V", &x.rows, THN_AND_LD(x), values, values + n * item, THN_AND_LD(none),
                                    THN_AND_LD(y), THN_WORK, THN_INFO)
                       : THN_LAPACK(GEEV, letter, sizes, "N", "V", &x.rows, THN_AND_LD(x), values, THN_AND_LD(none), THN_AND_LD(y),
                                    THN_WORK, THN_REAL_WORK, THN_INFO);
    for (npy_intp i = n; letter < THN_C && i < 2 * n; i++) {
        is_complex |= !thn_is_zero(letter, values + i * item);
    }
    memcpy(w->data, values, (size_t)(n * item));
    THN_TRY(thn_linalg_result(f, info, "Eigenvalues did not converge"));
    return is_complex ? thn_error(f, PyExc_ValueError, "the eigenvalues are complex: cast the matrix to a complex dtype") : 0;
}

/* ---- svd */

/* Singular values in s (real); a is overwritten; job "A", "S" or "N". */
static int64_t gesdd(int letter, const char *job, ThnDense a, void *s, ThnDense u, ThnDense vt)
{
    const int64_t small = thn_least(a.rows, a.cols), large = thn_most(a.rows, a.cols);
    /* The size that the routine's description gives for the real workspace of the complex versions. */
    const int64_t real = *job == 'N' ? 7 * small : small * thn_most(5 * small + 7, 2 * large + 2 * small + 1);
    const int64_t sizes[THN_SPACES] = {[THN_INT_SPACE] = 8 * small, [THN_REAL_SPACE] = real};
    return THN_LAPACK(GESDD, letter, sizes, job, &a.rows, &a.cols, THN_AND_LD(a), s, THN_AND_LD(u), THN_AND_LD(vt), THN_WORK,
                      THN_REAL_WORK, THN_INT_WORK, THN_INFO);
}

static int svd_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const thn_svd_params *s = ins->data;
    ThnCell *a = THN_IN(f, ins, 0);
    const npy_intp m = a->dims[0], n = a->dims[1], k = thn_least(m, n);
    f->work = 30 * thn_cubic_work(a);
    if (ins->nout == 1) {
        return thn_out_alloc(f, THN_OUT(f, ins, 0), &k);
    }
    npy_intp u[2] = {m, s->full_matrices ? m : k}, v[2] = {s->full_matrices ? n : k, n};
    THN_TRY(thn_out_alloc(f, THN_OUT(f, ins, 0), u));
    THN_TRY(thn_out_alloc(f, THN_OUT(f, ins, 1), &k));
    return thn_out_alloc(f, THN_OUT(f, ins, 2), v);
}

static void set_identity(const ThnCell *out)
{
    memset(out->data, 0, (size_t)(thn_size(out) * out->itemsize));
    for (npy_intp i = 0; i < thn_least(out->dims[0], out->dims[1]); i++) {
        thn_put_real(thn_real_size(thn_letter_of(out)), out->data + i * (out->strides[0] + out->strides[1]), 1);
    }
}

static int svd_execute(ThnFrame *f, const ThnInstr *ins)
{
    const thn_svd_params *s = ins->data;
    const ThnCell *a = THN_IN(f, ins, 0);
    const npy_intp m = a->dims[0], n = a->dims[1], k = thn_least(m, n);
    int vectors = ins->nout > 1;
    const ThnCell *values = THN_OUT(f, ins, vectors ? 1 : 0);
    if (k == 0) {
        if (vectors) {
            set_identity(THN_OUT(f, ins, 0));
            set_identity(THN_OUT(f, ins, 2));
        }
        return 0;
    }
    THN_POOLED char *copy = thn_linalg_room(f, m * n * a->itemsize);
    THN_NEED(copy);
    /* Column-major this is the transpose: its left vectors are the rows of v, its right ones the columns of u. */
    thn_copy_rows(a, copy, 0);
    ThnDense left = thn_dense(NULL, 1, 1), right = left;
    if (vectors) {
        left = thn_dense(THN_OUT(f, ins, 2)->data, n, s->full_matrices ? n : k);
        right = thn_dense(THN_OUT(f, ins, 0)->data, s->full_matrices ? m : k, m);
    }
    THN_HELD held = thn_hold_for(a);
    const char *const job = !vectors ? "N" : s->full_matrices ? "A" : "S";
    return thn_linalg_result(f, gesdd(thn_letter_of(a), job, thn_dense(copy, n, m), values->data, left, right), "SVD did not converge");
}

/* ---- qr */

static int qr_prepare(ThnFrame *f, const ThnInstr *ins)
{
    int mode = ((const thn_qr_params *)ins->data)->mode;
    ThnCell *a = THN_IN(f, ins, 0), *first = THN_OUT(f, ins, 0), *second = ins->nout > 1 ? THN_OUT(f, ins, 1) : NULL;
    const npy_intp m = a->dims[0], n = a->dims[1], k = thn_least(m, n);
    f->work = 4 * thn_cubic_work(a);
    const npy_intp rows = mode == THN_QrMode_COMPLETE ? m : k, r[2] = {rows, n}, q[2] = {mode == THN_QrMode_RAW ? n : rows, m};
    THN_TRY(thn_out_alloc(f, first, mode == THN_QrMode_R ? r : q));
    return second ? thn_out_alloc(f, second, mode == THN_QrMode_RAW ? &k : r) : 0;
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
    int mode = ((const thn_qr_params *)ins->data)->mode;
    const ThnCell *a = THN_IN(f, ins, 0), *first = THN_OUT(f, ins, 0), *second = ins->nout > 1 ? THN_OUT(f, ins, 1) : NULL;
    const npy_intp m = a->dims[0], n = a->dims[1], k = thn_least(m, n), item = a->itemsize;
    if (k == 0) {
        if (mode == THN_QrMode_COMPLETE) {
            set_identity(first);
        }
        return 0;
    }
    const int raw = mode == THN_QrMode_RAW, letter = thn_letter_of(a);
    THN_POOLED char *own = thn_linalg_room(f, raw ? 0 : m * n * item), *own_tau = thn_linalg_room(f, raw ? 0 : k * item);
    THN_HELD held = thn_hold_for(a);
    THN_NEED(own && own_tau);
    char *tau = raw ? second->data : own_tau;
    const ThnDense factors = thn_dense(raw ? first->data : own, m, n);
    thn_copy_columns(a, factors.data);
    int64_t info = THN_LAPACK(GEQRF, letter, NULL, &factors.rows, &factors.cols, THN_AND_LD(factors), tau, THN_WORK, THN_INFO);
    if (info == 0 && !raw) {
        copy_r(factors.data, m, mode == THN_QrMode_R ? first : second);
    }
    if (info == 0 && (mode == THN_QrMode_REDUCED || mode == THN_QrMode_COMPLETE)) {
        const ThnDense q = thn_dense(first->data, m, first->dims[0]);
        memcpy(q.data, factors.data, (size_t)(m * k * item));
        info = THN_LAPACK(ORGQR, letter, NULL, &q.rows, &q.cols, &k, THN_AND_LD(q), tau, THN_WORK, THN_INFO);
    }
    return thn_linalg_result(f, info, "Incorrect argument found while performing QR factorization");
}

/* ---- lstsq: the solution of least norm, by singular values; float32 and float64 */

/* Outputs: for each right hand side a row, the solution and what is left behind it; rank, singular values. Without right hand sides there
 * is still a rank, and one row. */
static int lstsq_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *a = THN_IN(f, ins, 0), *b = THN_IN(f, ins, 1);
    const npy_intp m = a->dims[0], n = a->dims[1], least = thn_least(m, n);
    const npy_intp dims[2] = {b->ndim > 1 ? thn_most(b->dims[1], 1) : 1, thn_most(m, n)};
    THN_FAIL_IF(f, b->dims[0] != m, thn_LinAlgError, "Incompatible dimensions: a matrix of shape %s and right hand sides of shape %s",
                THN_SHAPE(2, a->dims), THN_SHAPE(b->ndim, b->dims));
    f->work = 40 * thn_cubic_work(a);
    THN_TRY(thn_out_alloc(f, THN_OUT(f, ins, 0), dims));
    THN_TRY(thn_out_alloc(f, THN_OUT(f, ins, 1), dims));
    return thn_out_alloc(f, THN_OUT(f, ins, 2), &least);
}

static int lstsq_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *a = THN_IN(f, ins, 0), *b = THN_IN(f, ins, 1), *x = THN_OUT(f, ins, 0);
    const npy_intp m = a->dims[0], n = a->dims[1], item = a->itemsize, to[2] = {item, x->dims[1] * item};
    int64_t info = 0, rank = 0; /* rank: a library with 32-bit integers writes the low half */
    THN_POOLED char *copy = thn_linalg_room(f, m * n * item);
    THN_NEED(copy);
    memset(x->data, 0, (size_t)(thn_size(x) * item));
    thn_copy_columns(a, copy);
    thn_copy_strided(b->ndim, b->dims, x->data, to, b->data, b->strides, (int)item);
    if (m && n) {
        const ThnDense x_a = thn_dense(copy, m, n), x_b = thn_dense(x->data, x->dims[1], x->dims[0]);
        double limit;
        thn_put_real(item, (char *)&limit, *(const double *)THN_IN(f, ins, 2)->data);
        THN_HELD held = thn_hold_for(a);
        info = THN_LAPACK(GELSD, thn_letter_of(a), NULL, &m, &n, &x_b.cols, THN_AND_LD(x_a), THN_AND_LD(x_b), THN_OUT(f, ins, 2)->data, &limit,
                          &rank, THN_WORK, THN_INT_WORK, THN_INFO);
    }
    *(int64_t *)THN_OUT(f, ins, 1)->data = rank;
    return thn_linalg_result(f, info, "SVD did not converge in Linear Least Squares");
}

THN_INSTRUCTION(eigh, thn_linalg_check, eigh_prepare, eigh_execute)
THN_INSTRUCTION(eig, thn_linalg_check, eig_prepare, eig_execute)
THN_INSTRUCTION(svd, thn_linalg_check, svd_prepare, svd_execute)
THN_INSTRUCTION(qr, thn_linalg_check, qr_prepare, qr_execute)
THN_INSTRUCTION(lstsq, thn_linalg_check, lstsq_prepare, lstsq_execute)
