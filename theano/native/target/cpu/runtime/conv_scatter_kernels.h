/* Loops of conv_scatter.c for one element type and instruction set, see variants.h. */

typedef T NAME(Whole) __attribute__((vector_size(VECTOR), aligned(sizeof(T)), may_alias));
typedef T NAME(Half) __attribute__((vector_size(VECTOR / 2), aligned(sizeof(T)), may_alias));

#define ADD_COLUMNS(KIND, WIDTH)                                                                                           \
    for (; i + (WIDTH) <= n; i += (WIDTH))                                                                                 \
        for (npy_intp y = 0; y < rows; y++)                                                                                \
            *(KIND *)(to + y * to_row + i * ITEM) += *(const KIND *)(from + (y * from_row + i) * ITEM);

/* Long rows one after the other, few short ones by columns of vectors, of half a vector and of single elements. */
TARGET static void NAME(add)(npy_intp rows, npy_intp n, const char *from, npy_intp from_row, char *to, npy_intp to_row)
{
    npy_intp i = 0;
    if (n > MOST_SIDE_BY_SIDE || rows > MOST_SIDE_BY_SIDE) {
        for (npy_intp y = 0; y < rows; y++, from += from_row * ITEM, to += to_row) {
            for (i = 0; i < n; i++) {
                ((T *)to)[i] += ((const T *)from)[i];
            }
        }
        return;
    }
    ADD_COLUMNS(NAME(Whole), LANES)
    ADD_COLUMNS(NAME(Half), LANES / 2)
    ADD_COLUMNS(T, 1)
}

TARGET static inline __attribute__((always_inline)) void NAME(join_by)(npy_intp n, const T *restrict from, npy_intp apart,
                                                                       const npy_intp step, T *restrict to)
{
    const npy_intp whole = n / step;
    for (npy_intp i = 0; i < whole; i++) {
        _Pragma("GCC unroll 4") for (npy_intp p = 0; p < step; p++) to[i * step + p] = from[p * apart + i];
    }
    for (npy_intp p = 0; p < n - whole * step; p++) {
        to[whole * step + p] = from[p * apart + whole];
    }
}

TARGET static void NAME(join)(npy_intp n, const void *from, npy_intp apart, npy_intp step, void *to)
{
    switch (step) { /* as a constant, for which there are vectors */
    case 2: NAME(join_by)(n, from, apart, 2, to); break;
    case 4: NAME(join_by)(n, from, apart, 4, to); break;
    default: NAME(join_by)(n, from, apart, step, to);
    }
}

static const Loops NAME(loops) = {NAME(add), NAME(join)};
