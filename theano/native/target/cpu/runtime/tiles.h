/* What the tiles of products have in common: M rows by N vectors of sums that stay in registers. Included for each processor and type;
 * see variants.h. No include guard. */

/* Vectors, and those at any address. */
typedef T NAME(Vector) __attribute__((vector_size(VECTOR)));
typedef T NAME(Anywhere) __attribute__((vector_size(VECTOR), aligned(sizeof(T))));
#define V NAME(Vector)
#define VU NAME(Anywhere)
#define MR (VECTOR == 64 ? 8 : 4) /* rows of the tile of sums that is kept in registers */

/* Sums that are 0. */
#define CLEAR_SUMS(M, N)                                                                                                   \
    V acc[M][N];                                                                                                           \
    _Pragma("GCC unroll 8") for (int i = 0; i < M; i++) {                                                                  \
        _Pragma("GCC unroll 4") for (int j = 0; j < N; j++) acc[i][j] = (V){0};                                            \
    }

/* Adds X, a number for each row i, times the N (at most 4) vectors of type W at B. */
#define ADD_PRODUCTS(M, N, X, W, B)                                                                                        \
    V bv[4];                                                                                                               \
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
