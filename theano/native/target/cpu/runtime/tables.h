/* Tables: arrays of which arrays of integers name the rows that are read or written. */
#pragma once

#include "copy.h"
#include "items.h"
#include "walk.h"

/* A table in a call. The result of indexing has the index dims in the place of the indexed axes. */
typedef struct {
    const ThnCell *array;
    char *data;
    int n, nd, at;                            /* index arrays; dims that they have together, and the place of these */
    int axes[THN_MAXDIM];
    const ThnCell *index[THN_MAXDIM];
    npy_intp size[THN_MAXDIM], stride[THN_MAXDIM]; /* of the indexed axes */
    npy_intp dims[THN_MAXDIM];
    npy_intp strides[THN_MAXDIM][THN_MAXDIM]; /* of each index array along the index dims */
    npy_intp along[THN_MAXDIM];               /* of the table itself along them: zeros where they are not its own */
    int rest;                                 /* dims that are taken whole */
    npy_intp rest_dims[THN_MAXDIM], rest_strides[THN_MAXDIM];
    int axis_of_rest[THN_MAXDIM];             /* axis of the result */
    npy_intp full[THN_MAXDIM];                /* dims of the result */
    npy_intp row;                             /* elements at one position */
    int dense;                                /* which are one run */
} ThnTable;

/* Fills in a table whose `axes` are indexed by the inputs from `first` on. at: the place of the index dims, -1: where NumPy has
 * them; nd: their number, 0: as many as the index arrays have. Without index arrays the index dims are axes of the table.
 * -1 with an error. */
int thn_table_open(ThnFrame *f, const ThnInstr *ins, const ThnCell *array, int first, int n, const int *axes, int at, int nd,
                   ThnTable *t);
/* Whether all indices are within their axes; -1 with an IndexError. */
int thn_table_check(ThnFrame *f, const ThnTable *t);
/* Whether all elements are within low .. high - 1, where low is 0 or -high; else `outside` is the first that is not. */
int thn_within(const ThnCell *index, int64_t low, int64_t high, int64_t *outside);
/* Byte offsets in the table of n positions along the last of some dims that the index arrays walk: ptr[k] is where index array k
 * is, steps[k * pitch] its stride. 0: an index is out of bounds. */
int thn_table_offsets(const ThnTable *t, char *const *ptr, const npy_intp *steps, int pitch, npy_intp n, npy_intp *offsets);

enum { THN_READ, THN_WRITE, THN_ADD };

/* How what lies at one position is moved between a table and another array. */
typedef struct {
    int typenum, how;
    npy_intp item, bytes;                     /* bytes: of a run in both; 0: there is nothing */
    ThnInner inner;                           /* what writes; NULL for copies */
    int rest;                                 /* dims around a run */
    npy_intp dims[THN_MAXDIM], strides[2][THN_MAXDIM]; /* strides in the table, in the other array */
} ThnRows;

/* `dims`, `strides`: of the rest, strides in the other array. */
void thn_rows_open(ThnRows *r, const ThnTable *t, int how, const npy_intp *dims, const npy_intp *strides);
/* n rows in their order, at these offsets from `x` in the table, `step` bytes apart in the other array. */
void thn_rows_move(const ThnRows *r, char *x, const npy_intp *offsets, npy_intp n, char *other, npy_intp step);

/* Moves what lies at all positions; `strides` are those of an array of the result's shape. Sums over repeated positions do not
 * depend on threads. 0: an index is out of bounds. */
int thn_table_move(const ThnTable *t, int how, char *other, const npy_intp *strides);

/* Loads the next `n` elements from *ptr, `at` in the dims, on: one behind the other, `item` bytes apart. */
void thn_load_run(const Dims *g, char **ptr, npy_intp *at, npy_intp n, ThnInner load, char *to, npy_intp item);

#define THN_AHEAD 4 /* rows that are fetched ahead */

/* Fetches the beginning of a row. */
static inline void thn_fetch(const char *p, npy_intp bytes)
{
    bytes = bytes < 1024 ? bytes : 1024;
    for (npy_intp k = 0; k < bytes; k += 64) {
        __builtin_prefetch(p + k, 1);
    }
}
