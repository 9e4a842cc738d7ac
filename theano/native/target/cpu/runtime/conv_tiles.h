/* What the tiles of products have in common: M rows by N vectors of sums that stay in registers. Included by the kernels of
 * convolutions, for each processor and type; see conv_variants.h. No include guard. */

#include "conv_rows.h"

/* Vectors, and those at any address. */
typedef T NAME(Vector) __attribute__((vector_size(VECTOR)));
#define V NAME(Vector)
#define VU NAME(Anywhere)
#define MR (VECTOR == 64 ? 8 : 4) /* rows of the tile of sums that is kept in registers */

/* Sums that are 0. */
#define CLEAR_SUMS(M, N)                                                                                                   \
    V acc[M][N];                                                                                                           \
    _Pragma("GCC unroll 8") for (int i = 0; i < M; i++) {                                                                  \
        _Pragma("GCC unroll 4") for (int j = 0; j < N; j++) acc[i][j] = (V){0};                                            \
    }

/* Adds X, a number for each row i, times the N vectors of type W at B. */
#define ADD_PRODUCTS(M, N, X, W, B)                                                                                        \
    V bv[N];                                                                                                               \
    _Pragma("GCC unroll 4") for (int j = 0; j < N; j++) bv[j] = *(const W *)((B) + j * LANES);                             \
    _Pragma("GCC unroll 8") for (int i = 0; i < M; i++) {                                                                  \
        const T x = X;                                                                                                     \
        _Pragma("GCC unroll 4") for (int j = 0; j < N; j++) acc[i][j] += x * bv[j];                                        \
    }

/* Writes the sums to TO of each row i, or adds them to what is there. */
#define WRITE_SUMS(M, N, W, TO, ADD)                                                                                       \
    _Pragma("GCC unroll 8") for (int i = 0; i < M; i++) {                                                                  \
        W *to = (W *)(TO);                                                                                                 \
        if (ADD) {                                                                                                         \
            _Pragma("GCC unroll 4") for (int j = 0; j < N; j++) to[j] += acc[i][j];                                        \
        } else {                                                                                                           \
            _Pragma("GCC unroll 4") for (int j = 0; j < N; j++) to[j] = acc[i][j];                                         \
        }                                                                                                                  \
    }

/* Orders of two vectors: the lower and the upper halves, one element of each after the other, which transposes a square if done
 * as often as LANES can be halved; then the even elements of the first and the odd ones of the second. */
static const __typeof__((V){0} < (V){0}) NAME(orders)[3] = {
#if LANES == 2
    {0, 2}, {1, 3}, {0, 3},
#elif LANES == 4
    {0, 4, 1, 5}, {2, 6, 3, 7}, {0, 5, 2, 7},
#elif LANES == 8
    {0, 8, 1, 9, 2, 10, 3, 11}, {4, 12, 5, 13, 6, 14, 7, 15}, {0, 9, 2, 11, 4, 13, 6, 15},
#else
    {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23}, {8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31},
    {0, 17, 2, 19, 4, 21, 6, 23, 8, 25, 10, 27, 12, 29, 14, 31},
#endif
};
