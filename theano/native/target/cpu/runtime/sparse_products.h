/* Products of sparse matrices of any dtype. Integers are taken by their size, as in sparse_parts.h. -1: an index is out of bounds,
 * -2: out of memory. */
#ifndef THN_SPARSE_PRODUCTS_H
#define THN_SPARSE_PRODUCTS_H

#include "sparse_parts.h"

/* y = matrix @ b for integers and complex numbers, `b` and `y` of any strides (bytes). */
int thn_sparse_product_any(const ThnPlaces *s, int typenum, int item, const char *b, const npy_intp *b_strides, char *y,
                           const npy_intp *y_strides, npy_intp columns);
/* out[k] = a[i] . b[j] for the place (i, j) of value k, of such; `a` and `b` C contiguous with rows of `depth` elements. */
int thn_sparse_dot_at_any(const ThnPlaces *s, int typenum, int item, const char *a, const char *b, npy_intp depth, char *out);
/* The lines of `b` that those of `a` ask for, times the values there, added up: a @ b for csr, b @ a for csc; of one width, any dtype.
 * Indices increase, zeros are not stored. -3: more values than fit the indices.
 * Algorithm: F. Gustavson, Two fast algorithms for sparse matrices, ACM TOMS 4 (1978). */
int thn_sparse_times(const ThnPlaces *a, const ThnPlaces *b, int typenum, int item, ThnSparseMade *to);

#endif
