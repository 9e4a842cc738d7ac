/* Sparse matrices by their parts; no Python. All take integers of any size, float32, float64, complex64, complex128; what only moves
 * values takes any dtype. Results below 0: see sparse.h. What makes a matrix makes it of blocks of the pool, with the csc of `to`. */
#pragma once

#include "sparse.h"

/* Of a variable for a matrix to be made, {0} before: it is freed where the variable's scope ends. */
#define THN_MADE __attribute__((cleanup(thn_sparse_free)))
void thn_sparse_free(ThnSparse *made);

/* Makes lines [l0, l1) of a matrix: their values, indices and where each line ends, counted from the first of these. Returns how
 * many values there are, at most `room`; -1: the input is not as it must be, -2: out of memory. */
typedef npy_intp (*ThnFilling)(const void *what, npy_intp l0, npy_intp l1, void *data, void *indices, void *ends, npy_intp room);

/* What is done to matrices of one type of values and of indices. */
typedef struct ThnSparseLoops {
    ThnOfLines product, dot_at, values_of, values_at, add_dense, sum_lines;
    ThnFilling merge_add, merge_multiply, from_dense, tidy, times;
    int (*increases)(const ThnSparse *);
    int (*sum_indices)(const ThnSparse *, void *);
    int (*turn)(const ThnSparse *, ThnSparse *);
    int (*stack)(const ThnSparse *, int, int, ThnSparse *);
} ThnSparseLoops;
const ThnSparseLoops *thn_sparse_loops(const ThnSparse *s);

/* A matrix with what else the loops over its lines take of this. */
typedef struct ThnLines {
    ThnSparse s;
    char *dense, *to;           /* a dense matrix; for each value or line */
    npy_intp of_line, of_index; /* strides of the dense one */
} ThnLines;

/* Two matrices; the values of one at the places of the other. */
typedef struct ThnTwo {
    ThnSparse a, b;
    void *to;
} ThnTwo;

/* The matrix's lines and a dense one with these strides for rows and columns. */
static inline ThnLines thn_sparse_lines(const ThnSparse *s, char *dense, const npy_intp *strides, char *to)
{
    return (ThnLines){*s, dense, to, strides[s->csc], strides[!s->csc]};
}

/* Memory for a matrix of lines so long, with the types of `like`. */
int thn_sparse_alloc(ThnSparse *to, const ThnSparse *like, npy_intp lines, npy_intp length, npy_intp stored);
/* The matrix in the other format. */
int thn_sparse_turn(const ThnSparse *s, ThnSparse *to);
/* `s` with increasing indices, of which there are several for one place, added up: as it is, or over the memory of `made`. */
int thn_sparse_canonical(ThnSparse *s, ThnSparse *made);
/* The matrix with the values of each line in order, without zeros, with those of one place added up. */
int thn_sparse_tidy(const ThnSparse *s, int sort, int drop, int add, ThnSparse *to);
/* The sum or product of two matrices of one format, shape and width, with increasing indices and without zeros. */
int thn_sparse_merge(const ThnSparse *a, const ThnSparse *b, int multiply, ThnSparse *to);
/* What is not zero of a dense matrix with these strides from line to line and along each; `to` has their number, their length and the
 * type of the values. -1: another thread wrote to the matrix. */
int thn_sparse_from_dense(char *dense, const npy_intp *strides, ThnSparse *to);
/* Some of the lines. -3: more values than fit the indices; -4: there is no such line. */
int thn_sparse_take(const ThnSparse *s, const int64_t *which, npy_intp n, ThnSparse *to);
/* The lines of `b` that those of `a` ask for, times the values there, added up: a @ b for csr, b @ a for csc; of one width. Indices
 * increase, zeros are not stored. -3: more values than fit the indices.
 * Algorithm: F. Gustavson, Two fast algorithms for sparse matrices, ACM TOMS 4 (1978). */
int thn_sparse_times(const ThnSparse *a, const ThnSparse *b, ThnSparse *to);
