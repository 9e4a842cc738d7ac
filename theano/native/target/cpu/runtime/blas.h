/* Matrix products over BLAS function pointers, for any strides and dtypes. No Python objects: the GIL may be released. */
#pragma once

#include "cells.h"

typedef struct ThnMatrix {
    char *data;
    npy_intp rows, cols;
    npy_intp row_stride, col_stride; /* bytes */
} ThnMatrix;

/* The matrix of a cell, or its transpose. */
static inline ThnMatrix thn_matrix(const ThnCell *c, int transposed)
{
    return (ThnMatrix){c->data, c->dims[transposed], c->dims[!transposed], c->strides[transposed], c->strides[!transposed]};
}

static inline ThnMatrix thn_transposed(const ThnMatrix *m)
{
    return (ThnMatrix){m->data, m->cols, m->rows, m->col_stride, m->row_stride};
}

/* The float32 or float64 at `p`; `otherwise` without an address. */
static inline double thn_number(int typenum, const void *p, double otherwise)
{
    return !p ? otherwise : typenum == NPY_FLOAT ? (double)*(const float *)p : *(const double *)p;
}

/* c = alpha * a @ b + beta * c. alpha and beta point to values of the type, or are NULL for 1 and 0. Dtypes are all
 * `typenum`; alpha and beta are used for float32/64 and complex64/128 only. -1: out of memory. */
int thn_matmul(int typenum, const ThnMatrix *a, const ThnMatrix *b, const ThnMatrix *c, const void *alpha,
               const void *beta);
/* a = a + alpha * x y^T; x and y as n x 1 matrices; float and complex types. -1: out of memory. */
int thn_ger(int typenum, const ThnMatrix *a, const ThnMatrix *x, const ThnMatrix *y, const void *alpha);
/* As column-major memory: 'N' if columns are contiguous, `ld` items apart, 'T' if rows are. 0: neither. */
char thn_layout(const ThnMatrix *m, npy_intp item, int64_t *ld);
/* Holds the library to one thread of its own until the matching call; returns whether it could. */
int thn_blas_hold(void);
void thn_blas_let_go(int held);
/* Of a variable that gets its result: what is held is let go where the variable's scope ends. */
#define THN_HELD __attribute__((cleanup(thn_blas_end))) const int
static inline void thn_blas_end(const int *held)
{
    thn_blas_let_go(*held);
}
/* A `check`: makes sure that the function pointers were looked for (GIL held); -1 with a Python error. */
int thn_blas_check(struct ThnProgram *p, struct ThnInstr *ins);
/* Calls a function that gives the runtime its routines. -1: exception. */
int thn_load_routines(const char *from, const char *function);
/* Routines for the four types by the addresses that a dict has under their names: `n` names of those for real and for complex types.
 * NULL, or if `all` are needed an exception, where there is none. -1: exception. */
int thn_take_routines(PyObject *pointers, int n, const char *const (*names)[2], void *(*to)[4], int all);
