/* Loops over compressed sparse matrices: products with dense matrices, and products computed at stored places only. Plain C
 * over pointers: the GIL may be released. Results do not depend on the number of threads. */
#ifndef THN_SPARSE_H
#define THN_SPARSE_H

#include "cells.h"

/* The places of a matrix of csr (lines are rows) or csc (lines are columns), and perhaps its values. */
typedef struct ThnPlaces {
    const void *data, *indices, *indptr;
    npy_intp lines, length, stored; /* lines; how long each of them is; values that are stored */
    int csc, wide;                  /* wide: indices are int64, else int32 */
} ThnPlaces;

static inline npy_intp thn_sparse_pointer(const ThnPlaces *s, npy_intp line)
{
    return s->wide ? (npy_intp)((const int64_t *)s->indptr)[line] : ((const int32_t *)s->indptr)[line];
}

/* Whether a line lies within what is stored: another thread may change the arrays of a matrix at any time. */
static inline int thn_sparse_within(const ThnPlaces *s, npy_intp start, npy_intp end)
{
    return start >= 0 && start <= end && end <= s->stored;
}

/* The first line of part `part` of `parts`, which are about equally long in values and lines of both (`b` may be NULL). */
npy_intp thn_sparse_part(const ThnPlaces *a, const ThnPlaces *b, npy_intp part, npy_intp parts);

struct ThnFrame;
struct ThnInstr;
struct ThnProgram;
/* Of an instruction: the places that its inputs from `at` on name (indices, indptr, shape), checked but for the indices. */
int thn_sparse_read(struct ThnFrame *f, const struct ThnInstr *ins, int at, int csc, ThnPlaces *s);
/* Their values, a contiguous vector. */
int thn_sparse_read_values(struct ThnFrame *f, const ThnCell *values, ThnPlaces *s);
/* Whether the cells of these inputs are such. -1 + Python error. */
int thn_sparse_check(struct ThnProgram *p, const struct ThnInstr *ins, int at);
int thn_sparse_wrong_index(struct ThnFrame *f, const ThnPlaces *s);

/* y = matrix @ b for float32 or float64 (typenum), `b` and `y` of any strides (bytes). -1: an index is out of bounds,
 * -2: out of memory. */
int thn_sparse_product(const ThnPlaces *s, int typenum, const char *b, const npy_intp *b_strides, char *y,
                       const npy_intp *y_strides, npy_intp columns);
/* out[k] = a[i] . b[j] for the place (i, j) of value k; `a` and `b` C contiguous with rows of `depth` elements. */
int thn_sparse_dot_at(const ThnPlaces *s, int typenum, const char *a, const char *b, npy_intp depth, char *out);
/* out[k] = y[i, j] for the place (i, j) of value k, of elements of `item` bytes. */
int thn_sparse_values_at(const ThnPlaces *s, int item, const char *y, const npy_intp *strides, char *out);

#endif
