/* Products with a matrix that stays the same over many calls: it is rearranged once. No Python objects. */
#ifndef THN_PACKED_H
#define THN_PACKED_H

#include "blas.h"

typedef struct ThnPacked ThnPacked;

/* The matrix in the order in which products with matrices of so many rows read it; NULL where a library's product is as good
 * (small or thin matrices, few rows, types other than float32 and float64), or out of memory. Frees with thn_packed_free. */
ThnPacked *thn_pack(int typenum, const ThnMatrix *b, npy_intp rows);
void thn_packed_free(ThnPacked *b);
/* Whether it is kept row by row, as for a single row: then *m is it. */
int thn_packed_rows(const ThnPacked *b, ThnMatrix *m);
/* c = alpha * a @ b + beta * z for any strides; alpha, beta point to values of the type, NULL: 1 and 0. z may be c. Neither
 * overlaps a. The result of each element does not depend on the number of threads. */
void thn_packed_multiply(const ThnPacked *b, const ThnMatrix *a, const ThnMatrix *z, const ThnMatrix *c, const void *alpha,
                         const void *beta);

#endif
