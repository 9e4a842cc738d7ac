/* Tiles of packed.c for one element type and instruction set, see variants.h. */
#include "tiles.h"

TARGET static inline __attribute__((always_inline)) void NAME(some_rows)(const int m, const int vectors, npy_intp depth, const char *a,
                                                                         npy_intp ar, npy_intp ac, const char *b, npy_intp br,
                                                                         char *out, npy_intp or)
{
    CLEAR_SUMS(MR, 2)
    for (npy_intp k = 0; k < depth; k++, b += br, a += ac) {
        ADD_PRODUCTS(m, vectors, *(const T *)(a + i * ar), VU, (const T *)b)
    }
    WRITE_SUMS(m, vectors, VU, out + i * or, 0)
}

TARGET static void NAME(tile)(int m, int vectors, npy_intp depth, const char *a, npy_intp ar, npy_intp ac, const char *b, npy_intp br,
                              char *out, npy_intp or)
{
#define ROWS(M)                                                      \
    case M:                                                          \
        if (vectors == 1) {                                          \
            NAME(some_rows)(M, 1, depth, a, ar, ac, b, br, out, or); \
        } else {                                                     \
            NAME(some_rows)(M, 2, depth, a, ar, ac, b, br, out, or); \
        }                                                            \
        break;
    switch (m) {
        ROWS(1) ROWS(2) ROWS(3) ROWS(4)
#if MR == 8
        ROWS(5) ROWS(6) ROWS(7) ROWS(8)
#endif
    }
#undef ROWS
}

static const Kernels NAME(kernels) = {MR, 2 * LANES, NAME(tile)};
