/* LAPACK and triangular BLAS routines through function pointers, on column-major matrices. No Python objects: the GIL may be
 * released, but for thn_lapack_ready. */
#ifndef THN_LAPACK_H
#define THN_LAPACK_H

#include "cells.h"

enum { THN_S, THN_D, THN_C, THN_Z };

/* A column-major matrix of `rows` x `cols`, its columns `ld` items apart. */
typedef struct ThnDense {
    char *data;
    int64_t rows, cols, ld;
} ThnDense;

int thn_lapack_letter(int typenum); /* -1: no float32, float64, complex64 or complex128 */
/* Makes sure that the function pointers were looked for (GIL held); -1 with a Python error. */
int thn_lapack_ready(void);

/* All return LAPACK's info: 0 for success, positive where the mathematics fails; THN_LAPACK_MEMORY when out of memory. */
#define THN_LAPACK_MEMORY (-1000)
/* The lower Cholesky factor in place; above the diagonal there are zeros, and may be numbers where it fails. */
int64_t thn_potrf(int letter, ThnDense a);
/* LU factors in place; pivots has min(rows, cols) entries. */
int64_t thn_getrf(int letter, ThnDense a, int64_t *pivots);
int64_t thn_getri(int letter, ThnDense a, const int64_t *pivots);
/* b = op(A)^-1 b with the factors of thn_getrf; trans 'N' or 'T'. */
int64_t thn_getrs(int letter, char trans, ThnDense lu, const int64_t *pivots, ThnDense b);
/* b = b (P L U)^-1. */
void thn_getrs_right(int letter, ThnDense lu, const int64_t *pivots, ThnDense b);
int64_t thn_sysv(int letter, char uplo, ThnDense a, ThnDense b);
/* b = op(A)^-1 b (side 'L') or b op(A)^-1 (side 'R'). */
void thn_trsm(int letter, char side, char uplo, char trans, char diag, ThnDense a, ThnDense b);
/* Eigenvalues in w (real), vectors in place of a where jobz is 'V'. */
int64_t thn_syevd(int letter, char jobz, char uplo, ThnDense a, void *w);
/* The same for a x = w b x; b is overwritten. */
int64_t thn_sygvd(int letter, char jobz, char uplo, ThnDense a, ThnDense b, void *w);
/* Singular values in s (real); a is overwritten; jobz 'A', 'S' or 'N'. */
int64_t thn_gesdd(int letter, char jobz, ThnDense a, void *s, ThnDense u, ThnDense vt);
int64_t thn_geqrf(int letter, ThnDense a, void *tau);
/* The first a.cols columns of Q from `k` reflectors in a. */
int64_t thn_orgqr(int letter, ThnDense a, int64_t k, const void *tau);
/* Eigenvalues and right eigenvectors. For real types w has room for 2 n numbers: real parts, then imaginary parts. */
int64_t thn_geev(int letter, ThnDense a, void *w, ThnDense vr);

/* The solution of least norm of a x = b, in place of b (of max(rows, cols) rows); singular values in s; float32 and float64. */
int64_t thn_gelsd(int letter, ThnDense a, ThnDense b, void *s, double rcond, int64_t *rank);

#endif
