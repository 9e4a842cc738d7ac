/* LAPACK and triangular BLAS routines through function pointers, on column-major matrices. No Python objects: the GIL may be
 * released, but for thn_lapack_ready. */
#pragma once

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

/* Bytes of a real number of the type. */
static inline int64_t thn_real_size(int letter)
{
    return letter & 1 ? 8 : 4;
}

static inline int64_t thn_item_size(int letter)
{
    return letter < THN_C ? thn_real_size(letter) : 2 * thn_real_size(letter);
}

/* -1, 0 or 1 as a number of the type. */
static inline const void *thn_unit(int letter, int value)
{
    static const float s[3][2] = {{-1}, {0}, {1}};
    static const double d[3][2] = {{-1}, {0}, {1}};
    return letter & 1 ? (const void *)d[value + 1] : (const void *)s[value + 1];
}

/* What computes returns LAPACK's info: 0 for success, positive where the mathematics fails; THN_LAPACK_MEMORY when out of memory. */
#define THN_LAPACK_MEMORY (-1000)

/* The routines, by their names for real types. */
enum {
    THN_POTRF, THN_GETRF, THN_GETRI, THN_GETRS, THN_LASWP, THN_SYSV, THN_TRSM, THN_GEMM, THN_SYEVD, THN_SYGVD, THN_GESDD, THN_GEQRF, THN_ORGQR,
    THN_GEEV, THN_GELSD, THN_ROUTINES
};
/* Runs one over a list of addresses, its arguments. What stands for a workspace, its size or `info` in the list is put in its place: a
 * routine that has workspaces is asked for their sizes first. `sizes`, where not NULL: numbers of those whose size it does not tell.
 * Those of real types have no real workspace of their own: it is taken out of the list. */
#define THN_MOST_ARGUMENTS 17
enum { THN_WORK_SPACE, THN_INT_SPACE, THN_REAL_SPACE, THN_SPACES };
int64_t thn_lapack_run(int routine, int letter, const void *const *list, const int64_t *sizes);
#define THN_LAPACK(ROUTINE, LETTER, SIZES, ...) \
    thn_lapack_run(THN_##ROUTINE, LETTER, (const void *const[THN_MOST_ARGUMENTS]){__VA_ARGS__}, SIZES)

/* The addresses that stand for the workspaces, their sizes and `info`. */
enum { THN_INFO_PLACE = 2 * THN_SPACES, THN_PLACES };
extern char thn_places[THN_PLACES];
#define THN_WORK &thn_places[THN_WORK_SPACE], &thn_places[THN_SPACES + THN_WORK_SPACE]
#define THN_INT_WORK &thn_places[THN_INT_SPACE]
#define THN_SIZED_INT_WORK THN_INT_WORK, &thn_places[THN_SPACES + THN_INT_SPACE]
#define THN_REAL_WORK &thn_places[THN_REAL_SPACE]
#define THN_SIZED_REAL_WORK THN_REAL_WORK, &thn_places[THN_SPACES + THN_REAL_SPACE]
#define THN_INFO &thn_places[THN_INFO_PLACE]
/* A matrix among the arguments. */
#define THN_AND_LD(A) (A).data, &(A).ld

/* The lower Cholesky factor in place; above the diagonal there are zeros, and may be numbers where it fails. */
int64_t thn_potrf(int letter, ThnDense a);
/* LU factors in place; pivots has room for min(rows, cols) numbers of int64, which are the library's: pivot i is that of thn_pivot. */
int64_t thn_getrf(int letter, ThnDense a, void *pivots);
int64_t thn_pivot(const void *pivots, int64_t i);
/* b = op(A)^-1 b with the factors of thn_getrf; trans 'N' or 'T'. */
int64_t thn_getrs(int letter, char trans, ThnDense lu, const void *pivots, ThnDense b);
/* b = b (P L U)^-1. */
void thn_getrs_right(int letter, ThnDense lu, const void *pivots, ThnDense b);
/* b = op(A)^-1 b (side 'L') or b op(A)^-1 (side 'R'). */
void thn_trsm(int letter, char side, char uplo, char trans, char diag, ThnDense a, ThnDense b);
