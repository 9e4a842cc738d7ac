/* Compressed sparse matrices, and their products with dense ones. Plain C over pointers: the GIL may be released. Results do not depend
 * on the number of threads. */
#pragma once

#include "cells.h"

/* A matrix of csr (lines are rows) or csc (lines are columns), perhaps without its values. */
typedef struct ThnSparse {
    void *data, *indices, *indptr;
    npy_intp lines, length, stored; /* lines; how long each of them is; values that are stored */
    int csc, wide;                  /* wide: indices are int64, else int32 */
    int typenum, item;              /* of the values; their bytes */
} ThnSparse;

/* One of the numbers of indices or indptr. */
static inline npy_intp thn_sparse_number(const void *numbers, int wide, npy_intp i)
{
    return wide ? (npy_intp)((const int64_t *)numbers)[i] : ((const int32_t *)numbers)[i];
}

static inline void thn_sparse_set(void *numbers, int wide, npy_intp i, npy_intp v)
{
    if (wide) {
        ((int64_t *)numbers)[i] = v;
    } else {
        ((int32_t *)numbers)[i] = (int32_t)v;
    }
}

/* Bytes of an index. */
static inline npy_intp thn_sparse_index(const ThnSparse *s)
{
    return s->wide ? 8 : 4;
}

static inline npy_intp thn_sparse_pointer(const ThnSparse *s, npy_intp line)
{
    return thn_sparse_number(s->indptr, s->wide, line);
}

/* An element, as `type`, that is read from memory but once: what was checked is what is used, though another thread changes it. */
#define THN_ONCE(type, p) ((type)__atomic_load_n(p, __ATOMIC_RELAXED))

/* Whether a line lies within what is stored: another thread may change the arrays of a matrix at any time. */
static inline int thn_sparse_within(const ThnSparse *s, npy_intp start, npy_intp end)
{
    return start >= 0 && start <= end && end <= s->stored;
}

/* The first line of part `part` of `parts`, which are about equally long in values and lines of both (`b` may be NULL). */
npy_intp thn_sparse_part(const ThnSparse *a, const ThnSparse *b, npy_intp part, npy_intp parts);

#define THN_MOST_PARTS 64

/* A product with a dense matrix: strides in bytes. */
typedef struct ThnProduct {
    ThnSparse s;
    const char *b;
    char *y;
    npy_intp b_row, b_col, y_row, y_col, columns;
} ThnProduct;

/* Products of the rows of two matrices that the places name: rows for the lines, and for the indices; C contiguous. */
typedef struct ThnSampled {
    ThnSparse s;
    const char *of_lines, *of_indices;
    npy_intp depth;
    char *out;
} ThnSampled;

/* Works on lines [l0, l1) of a matrix; -1: another thread changed it, or an index is out of bounds. */
typedef int (*ThnOfLines)(const void *what, npy_intp l0, npy_intp l1);
/* All lines by parts, of which there are as many as this work is worth, at most THN_MOST_PARTS. `what` begins with the places. */
int thn_sparse_by_lines(const void *what, ThnOfLines work_on, double work);

/* The values of a line, each with its place k; leaves the function with -1 if they are not within what is stored. */
#define THN_EACH_VALUE(s, line, k)                                                                                      \
    const npy_intp first = ((const INDEX *)(s)->indptr)[line], last = ((const INDEX *)(s)->indptr)[(line) + 1];         \
    THN_NEED(thn_sparse_within(s, first, last));                                                                \
    for (npy_intp k = first; k < last; k++)

/* The index of value k, as `at`; leaves the function with -1 if it is out of bounds. */
#define THN_INDEX_OF(s, k, at)                                                                                          \
    const npy_intp at = THN_ONCE(npy_intp, (const INDEX *)(s)->indices + (k));                                          \
    THN_NEED((npy_uintp)at < (npy_uintp)(s)->length);

/* How many indices there are of `length`, as an unsigned one: what is not below is out of bounds. */
#define THN_BOUND(length) (sizeof(INDEX) == 4 && (length) > INT32_MAX ? (UINDEX)INT32_MAX + 1 : (UINDEX)(length))

/* Whether the numbers of an indptr do not decrease from 0 on. */
int thn_sparse_rises(const void *indptr, int wide, npy_intp lines);

/* The first field of instructions of sparse matrices, unless they overwrite something. */
static inline int thn_is_csc(const ThnInstr *ins)
{
    return *(const int *)ins->data;
}

/* The rows and columns of a matrix, an input. */
#define THN_SIDES(f, ins, k) ((const npy_intp *)THN_IN(f, ins, k)->data)

/* Of an instruction: the places that its inputs from `at` on name (indices, indptr, shape), checked but for the indices, for values of
 * the dtype of its first output. */
int thn_sparse_read(ThnFrame *f, const ThnInstr *ins, int at, int csc, ThnSparse *s);
/* The places and the values, which are the input behind them, a contiguous vector. */
int thn_sparse_read_parts(ThnFrame *f, const ThnInstr *ins, int at, int csc, ThnSparse *s);
/* A vector as one of int32 or int64, contiguous; `flags` of NumPy more. */
PyObject *thn_sparse_numbers(PyObject *a, int wide, int flags);
/* Gives a cell a shape. */
int thn_sparse_give_shape(ThnFrame *f, ThnCell *out, npy_intp rows, npy_intp columns);
/* 0, or the error that a result below 0 of what follows stands for, and -1. */
int thn_sparse_result(ThnFrame *f, const ThnSparse *s, int r);

/* ---- -1: an index is out of bounds, or another thread changed the matrix; -2: out of memory */

#define THN_MEMORY(condition) \
    do {                      \
        if (!(condition)) {   \
            return -2;        \
        }                     \
    } while (0)

/* y = matrix @ b. */
int thn_sparse_product(ThnProduct *w);
/* out[k] = a[i] . b[j] for the place (i, j) of value k; `a` and `b` C contiguous with rows of `depth` elements. */
int thn_sparse_dot_at(const ThnSparse *s, const char *a, const char *b, npy_intp depth, char *out);
