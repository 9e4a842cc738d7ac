/* What the instructions of linear algebra share. Operands have one dtype: float32, float64, complex64 or complex128. */
#pragma once

#include "vm.h"
#include "blas.h"
#include "copy.h"
#include "lapack.h"
#include "pool.h"

extern PyObject *thn_LinAlgError;

#define NUMPY_SQUARE "Last 2 dimensions of the array must be square"

/* A `check`: makes sure that LAPACK, BLAS and NumPy's LinAlgError are there (GIL held); -1 with a Python error. */
int thn_linalg_check(ThnProgram *p, ThnInstr *ins);

/* A block of the pool; NULL with an error. */
void *thn_linalg_room(ThnFrame *f, npy_intp bytes);
/* 0 if all that is asked for is finite. */
int thn_require_finite(ThnFrame *f, int finite);
/* 0, or the error that a routine's info stands for: LinAlgError with a message, or out of memory. */
int thn_linalg_result(ThnFrame *f, int64_t info, const char *message);
/* A `prepare` of what takes a square matrix: memory for outputs that have its dims, or the first of them. `cost`: see thn_cubic_work. */
int thn_square_prepare(ThnFrame *f, const ThnInstr *ins, double cost, PyObject *type, const char *message);
/* 0 if the matrix is square. */
int thn_require_square(ThnFrame *f, const ThnCell *a, PyObject *type, const char *message);

/* Nanoseconds that a decomposition may take, divided by a small factor. */
double thn_cubic_work(const ThnCell *a);
/* Holds the BLAS to one thread for small matrices; its result is for THN_HELD. */
int thn_hold_for(const ThnCell *a);
/* Whether a matrix or vector holds neither infinity nor NaN. */
int thn_all_finite(const ThnCell *a);
/* Whether the number at p is zero. */
int thn_is_zero(int letter, const char *p);

/* C contiguous copy of a matrix or vector at dst: seen column-major it is the transpose. 0: there is an infinity or NaN, and it was
 * asked for none. */
int thn_copy_rows(const ThnCell *a, char *dst, int finite);
/* Column-major copy. A vector is one column. */
void thn_copy_columns(const ThnCell *a, char *dst);

static inline int thn_letter_of(const ThnCell *c)
{
    return thn_lapack_letter(c->typenum);
}

static inline ThnDense thn_dense(char *data, npy_intp rows, npy_intp cols)
{
    return (ThnDense){data, rows, cols, rows > 0 ? rows : 1};
}
