/* A row times a matrix: a small one, where a library takes longer to begin than to compute, or one whose rows lie together. No Python
 * objects; the result does not depend on the number of threads. */
#pragma once

#include "blas.h"

/* y = alpha * x b + beta * z of float32 or float64; x, z and y are given by data and byte stride, alpha and beta point to values
 * of the type, NULL: 1 and 0. z may be y, else none overlaps y. 0: nothing was done, it is for a library (other types and
 * processors, matrices whose elements do not follow one another along either dim, large ones along the first only). */
int thn_row_product(int typenum, const char *x, npy_intp xs, const ThnMatrix *b, const char *z, npy_intp zs, char *y, npy_intp ys,
                    const void *alpha, const void *beta);
/* A small product that is computed again and again: `run` gets the struct, of which x, y, b.data and z (NULL: nothing is added)
 * are the caller's. */
typedef struct ThnRowProduct {
    void (*run)(const struct ThnRowProduct *);
    const char *x, *z;
    char *y;
    npy_intp xs, zs, ys;
    ThnMatrix b;
    double alpha, beta;
} ThnRowProduct;
int thn_row_product_call(ThnRowProduct *r, int typenum, npy_intp xs, const ThnMatrix *b, npy_intp zs, npy_intp ys, const void *alpha,
                         const void *beta);
/* c[j] = alpha * t[j] + beta * z[j]; z is c, or does not overlap it, or is NULL: nothing is added. */
#define THN_PUT_ROW(T)                                                                                              \
    static inline __attribute__((always_inline)) void put_row_##T(npy_intp n, T alpha, const T *t, T beta, const char *z,\
                                                                  npy_intp zs, char *c, npy_intp cs)                \
    {                                                                                                               \
        if (cs == sizeof(T) && (!z || zs == sizeof(T))) {                                                           \
            _Pragma("GCC ivdep") for (npy_intp j = 0; j < n; j++) {                                                 \
                ((T *)c)[j] = z ? alpha * t[j] + beta * ((const T *)z)[j] : alpha * t[j];                           \
            }                                                                                                       \
            return;                                                                                                 \
        }                                                                                                           \
        for (npy_intp j = 0; j < n; j++) {                                                                          \
            *(T *)(c + j * cs) = z ? alpha * t[j] + beta * *(const T *)(z + j * zs) : alpha * t[j];                 \
        }                                                                                                           \
    }
/* Whether a product with a matrix of this size is done along either dim. */
int thn_takes_row_product(int typenum, const ThnMatrix *b);
