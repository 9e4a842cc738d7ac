/* Sparse matrices by their parts; no Python. All take integers of any size, float32, float64, complex64, complex128, as
 * `typenum` and `item`, the bytes of a value. -1: an index is out of bounds, -2: out of memory. */
#ifndef THN_SPARSE_PARTS_H
#define THN_SPARSE_PARTS_H

#include "sparse.h"

/* A new matrix: blocks of the pool. */
typedef struct ThnSparseMade {
    char *data, *indices, *indptr;
    npy_intp lines, stored;
    int wide;
} ThnSparseMade;

/* Whether there are sparse matrices of a dtype. */
int thn_sparse_dtype(int typenum);
void thn_sparse_made_free(ThnSparseMade *m);
/* The sum or product of two matrices of one format, shape and width, with increasing indices and without zeros. */
int thn_sparse_merge(const ThnPlaces *a, const ThnPlaces *b, int typenum, int item, int multiply, ThnSparseMade *to);
/* What is not zero of a dense matrix of lines with these strides. */
int thn_sparse_from_dense(const char *dense, const npy_intp *strides, npy_intp lines, npy_intp length, int typenum, int item,
                          ThnSparseMade *to);
/* Adds the values to a dense matrix with strides for rows and columns. */
int thn_sparse_add_dense(const ThnPlaces *s, int typenum, int item, char *dense, const npy_intp *strides);
/* The sums of each line, or for each index. */
int thn_sparse_sum(const ThnPlaces *s, int typenum, int item, int of_lines, char *to);
/* The matrix in the other format. */
int thn_sparse_turn(const ThnPlaces *s, int item, ThnSparseMade *to);
/* memcpy, by several threads. */
void thn_sparse_copy(void *to, const void *from, npy_intp bytes);
/* Some of the lines; -1: there is no such one, -3: more values than fit the indices. */
int thn_sparse_take(const ThnPlaces *s, int item, const int64_t *which, npy_intp n, ThnSparseMade *to);

#endif
