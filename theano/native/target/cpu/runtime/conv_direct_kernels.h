/* Kernels of conv_direct.c for one element type and instruction set, see for_floats.h. */
#include "conv_rows.h"

typedef T NAME(Vector) __attribute__((vector_size(LANES * sizeof(T)), aligned(sizeof(T)), may_alias));
#define V NAME(Vector)
#define EACH(i, n) _Pragma("GCC unroll 9") for (int i = 0; i < (n); i++)
#define INLINE TARGET static inline __attribute__((always_inline))

/* `count` filters at `vectors` vectors of positions. */
INLINE void NAME(block)(int count, int vectors, npy_intp taps, const npy_intp *offset, const T *w, const T *from, T *to,
                        npy_intp apart)
{
    V s[MOST_FILTERS][8];
    EACH(f, count) EACH(i, vectors) s[f][i] = (V){0};
    for (npy_intp t = 0; t < taps; t++, w += count) {
        const T *x = from + offset[t];
        EACH(i, vectors) {
            const V v = *(const V *)(x + i * LANES);
            EACH(f, count) s[f][i] += w[f] * v;
        }
    }
    EACH(f, count) EACH(i, vectors) *(V *)(to + f * apart + i * LANES) = s[f][i];
}

#define SUMS(COUNT, VECTORS)                                                                                           \
    for (; n > (VECTORS - 1) * LANES; n -= VECTORS * LANES, from += VECTORS * LANES, to += VECTORS * LANES) {          \
        NAME(block)(COUNT, VECTORS, taps, offset, w, from, to, apart);                                                 \
    }                                                                                                                  \
    for (; n > 0; n -= LANES, from += LANES, to += LANES) {                                                            \
        NAME(block)(COUNT, 1, taps, offset, w, from, to, apart);                                                       \
    }

TARGET static void NAME(sums)(int count, npy_intp n, npy_intp taps, const npy_intp *offset, const void *w_, const void *from_,
                              void *to_, npy_intp apart)
{
    const T *w = w_, *from = from_;
    T *to = to_;
    switch (count) {
    case 1: SUMS(1, 8) break;
    case 2: SUMS(2, 5) break;
    case 3: SUMS(3, 3) break;
    default: SUMS(4, 3)
    }
}

INLINE void NAME(some_dots)(int count, npy_intp n, const npy_intp *offset, const T *top, const T *from, double *sums)
{
    V s[MOST_DOTS];
    const T *x[MOST_DOTS];
    EACH(t, count) {
        s[t] = (V){0};
        x[t] = from + offset[t];
    }
    for (npy_intp i = 0; i < n; i += LANES) {
        const V v = *(const V *)(top + i);
        EACH(t, count) s[t] += v * *(const V *)(x[t] + i);
    }
    EACH(t, count) {
        T all = 0;
        for (int i = 0; i < LANES; i++) {
            all += s[t][i];
        }
        sums[t] += (double)all;
    }
}

TARGET static void NAME(dots)(npy_intp n, npy_intp taps, const npy_intp *offset, const void *top, const void *from, double *sums)
{
    for (; taps >= MOST_DOTS; taps -= MOST_DOTS, offset += MOST_DOTS, sums += MOST_DOTS) {
        NAME(some_dots)(MOST_DOTS, n, offset, top, from, sums);
    }
    for (; taps >= 3; taps -= 3, offset += 3, sums += 3) {
        NAME(some_dots)(3, n, offset, top, from, sums);
    }
    for (; taps > 0; taps--, offset++, sums++) {
        NAME(some_dots)(1, n, offset, top, from, sums);
    }
}

static const Kernels NAME(kernels) = {NAME(sums), NAME(dots), NAME(copy_rows)};
