/* Sparse matrices by their parts; no Python. All take integers of any size, float32, float64, complex64, complex128, as
 * `typenum` and `item`, the bytes of a value. -1: an index is out of bounds, -2: out of memory. */
#ifndef THN_SPARSE_PARTS_H
#define THN_SPARSE_PARTS_H

#include "sparse.h"

#include <stdatomic.h>

/* A new matrix: blocks of the pool. */
typedef struct ThnSparseMade {
    char *data, *indices, *indptr;
    npy_intp lines, stored;
    int wide;
} ThnSparseMade;

/* It as a matrix of lines so long, of csr. */
static inline ThnPlaces thn_sparse_of(const ThnSparseMade *m, npy_intp length)
{
    return (ThnPlaces){m->data, m->indices, m->indptr, m->lines, length, m->stored, 0, m->wide};
}

/* Makes lines [l0, l1) of a matrix: their values, indices and where each line ends, counted from the first of these. Returns how
 * many values there are, at most `room`; -1: the input is not as it must be, -2: out of memory. */
typedef npy_intp (*ThnFilling)(const void *what, npy_intp l0, npy_intp l1, char *data, char *indices, void *ends, npy_intp room);

/* A matrix that is made by parts of its lines, each as far as it goes, which are put together then: part k are lines [lines[k],
 * lines[k + 1]), and it has room[k + 1] - room[k] values at most. */
typedef struct ThnFilled {
    ThnFilling fill;
    const void *what;
    ThnSparseMade *to;
    int item, index; /* bytes of a value and of an index */
    npy_intp parts, lines[THN_MOST_PARTS + 1], room[THN_MOST_PARTS + 1];
    npy_intp found[THN_MOST_PARTS + 1];
    char *data, *indices; /* where parts are filled: part k from room[k] on */
    atomic_int failed;
} ThnFilled;

/* Makes `to`; 0, or what a part returned. Give fill, what, to, item, index, parts, lines and room. */
int thn_sparse_filled(ThnFilled *k);
/* Which of the types of for_values.h has these values. */
int thn_sparse_type(int typenum, int item);
/* Whether there are sparse matrices of a dtype. */
int thn_sparse_dtype(int typenum);
void thn_sparse_made_free(ThnSparseMade *m);
/* The sum or product of two matrices of one format, shape and width, with increasing indices and without zeros. */
int thn_sparse_merge(const ThnPlaces *a, const ThnPlaces *b, int typenum, int item, int multiply, ThnSparseMade *to);
/* The matrix with the values of each line in order, without zeros, or both. */
int thn_sparse_tidy(const ThnPlaces *s, int typenum, int item, int sort, int drop, ThnSparseMade *to);
/* What `y` has at the places of `x`, of one format, shape and width: x->stored values. Where `y` stores values at just these places
 * they are its own; else what it stores several times at one place is added up. */
int thn_sparse_values_of(const ThnPlaces *x, const ThnPlaces *y, int typenum, int item, char *to);
/* out[k] = y[i, j] for the place (i, j) of value k, of elements of `item` bytes. */
int thn_sparse_values_at(const ThnPlaces *s, int item, const char *y, const npy_intp *strides, char *out);
/* What is not zero of a dense matrix of lines with these strides. */
int thn_sparse_from_dense(const char *dense, const npy_intp *strides, npy_intp lines, npy_intp length, int typenum, int item,
                          ThnSparseMade *to);
/* Adds the values to a dense matrix with strides for rows and columns. */
int thn_sparse_add_dense(const ThnPlaces *s, int typenum, int item, char *dense, const npy_intp *strides);
/* The sums of each line, or for each index. */
int thn_sparse_sum(const ThnPlaces *s, int typenum, int item, int of_lines, char *to);
/* Matrices one after the other: their lines, or `across`, of each line what they have of it. `n` >= 1, of one width. */
int thn_sparse_stack(const ThnPlaces *s, int n, int item, int across, ThnSparseMade *to);
/* The matrix in the other format. */
int thn_sparse_turn(const ThnPlaces *s, int item, ThnSparseMade *to);
/* memcpy, by several threads. */
void thn_sparse_copy(void *to, const void *from, npy_intp bytes);
/* Some of the lines; -1: there is no such one, -3: more values than fit the indices, -4: another thread changed it. */
int thn_sparse_take(const ThnPlaces *s, int item, const int64_t *which, npy_intp n, ThnSparseMade *to);

#endif
