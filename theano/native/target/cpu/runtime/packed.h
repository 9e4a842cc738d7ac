/* Products of the engine's own: with a matrix that stays the same over many calls and is rearranged once, and of few rows
 * or columns, for which nothing is. No Python objects. */
#pragma once

#include "blas.h"

typedef struct ThnPacked ThnPacked;

/* The matrix in the order in which products with matrices of so many rows read it; NULL where a library's product is as good
 * (small or thin matrices, few rows, types other than float32 and float64), or out of memory. A block of the pool. */
ThnPacked *thn_pack(int typenum, const ThnMatrix *b, npy_intp rows);
/* Whether it is kept row by row, as for a single row: then *m is it. */
int thn_packed_rows(const ThnPacked *b, ThnMatrix *m);
/* c = alpha * a @ b + beta * z for any strides; alpha, beta point to values of the type, NULL: 1 and 0. z may be c. Neither
 * overlaps a. The result of each element does not depend on the number of threads. */
void thn_packed_multiply(const ThnPacked *b, const ThnMatrix *a, const ThnMatrix *z, const ThnMatrix *c, const void *alpha,
                         const void *beta);
/* c = alpha * a @ b + beta * c for a of a few rows or b of a few vectors of columns, where rearranging takes a library longer than the
 * product. 0: nothing was done, it is for a library (larger ones, rows of b whose elements do not follow one another, other types). */
int thn_low_product(int typenum, const ThnMatrix *a, const ThnMatrix *b, const ThnMatrix *c, const void *alpha, const void *beta);
