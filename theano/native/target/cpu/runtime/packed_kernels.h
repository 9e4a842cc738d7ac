/* Tiles of packed.c for one element type and instruction set, see variants.h. */
#include "tiles.h"

TARGET static inline __attribute__((always_inline)) void NAME(some_rows)(const int m, npy_intp depth, const char *a, npy_intp ar,
                                                                         npy_intp ac, const char *b, npy_intp br, char *out, npy_intp or)
{
    CLEAR_SUMS(MR, 2)
    for (npy_intp k = 0; k < depth; k++, b += br, a += ac) {
        ADD_PRODUCTS(m, 2, *(const T *)(a + i * ar), VU, (const T *)b)
    }
    WRITE_SUMS(m, 2, VU, out + i * or, 0)
}

TARGET static void NAME(tile)(int m, npy_intp depth, const char *a, npy_intp ar, npy_intp ac, const char *b, npy_intp br, char *out,
                              npy_intp or)
{
    switch (m) {
    case 1: NAME(some_rows)(1, depth, a, ar, ac, b, br, out, or); break;
    case 2: NAME(some_rows)(2, depth, a, ar, ac, b, br, out, or); break;
    case 3: NAME(some_rows)(3, depth, a, ar, ac, b, br, out, or); break;
#if MR == 8
    case 4: NAME(some_rows)(4, depth, a, ar, ac, b, br, out, or); break;
    case 5: NAME(some_rows)(5, depth, a, ar, ac, b, br, out, or); break;
    case 6: NAME(some_rows)(6, depth, a, ar, ac, b, br, out, or); break;
    case 7: NAME(some_rows)(7, depth, a, ar, ac, b, br, out, or); break;
#endif
    default: NAME(some_rows)(MR, depth, a, ar, ac, b, br, out, or);
    }
}

static const Kernels NAME(kernels) = {MR, 2 * LANES, NAME(tile)};
