/* Kernels of conv_depth.c for one element type, see for_floats.h. Each is written once for any number of taps, stride and rows at a
 * time, and compiled for a few of them. */
#include "vectors_32.h"

/* A vector of p[i] where integers at `mask` are negative, else 0; nothing else is read. */
#define LOAD_IF(p, mask) ((V)MASKLOAD((p), _mm256_loadu_si256((const __m256i_u *)(mask))))
/* The same by a plain load: all of the vector is read. */
#define LOAD_CUT(p, mask) ((V)(*(const NAME(Bits) *)(p) & *(const NAME(Bits) *)(mask)))
typedef T NAME(Vector) __attribute__((vector_size(LANES * sizeof(T)), aligned(sizeof(T)), may_alias));
typedef BITS NAME(Index) __attribute__((vector_size(LANES * sizeof(T))));
typedef T NAME(HalfVector) __attribute__((vector_size(LANES * sizeof(T) / 2), aligned(sizeof(T)), may_alias));
typedef BITS NAME(Bits) __attribute__((vector_size(LANES * sizeof(T)), aligned(sizeof(T)), may_alias));
#define V NAME(Vector)
#define Half NAME(HalfVector)
#if ITEM == 8
#define FIRST_HALVES {0, 1, 4, 5}
#define LAST_HALVES {2, 3, 6, 7}
#else
#define FIRST_HALVES {0, 1, 2, 3, 8, 9, 10, 11}
#define LAST_HALVES {4, 5, 6, 7, 12, 13, 14, 15}
#endif
#define EACH(i, n) _Pragma("GCC unroll 16") for (int i = 0; i < (n); i++)
#define INLINE TARGET static inline __attribute__((always_inline))

/* Vector number k that is read at `row`; at an edge without what lies outside of it. */
INLINE V NAME(load)(const T *row, int k, const Edge *edge)
{
    return edge ? LOAD_IF(row, edge->masks[k]) : *(const V *)row;
}

/* What the taps read for the positions from `row` on. */
INLINE void NAME(read)(int taps, int stride, const Edge *edge, const T *row, V *v)
{
    if (stride == 1) {
        EACH(k, taps) v[k] = NAME(load)(row + k, k, edge);
        return;
    }
    EACH(k, (taps + 1) / 2) {
        const V a = NAME(load)(row + 2 * k, 2 * k, edge), b = NAME(load)(row + 2 * k + LANES, 2 * k + 1, edge);
        v[2 * k] = THN_SHUFFLE(a, b, (NAME(Index))EVENS);
        if (2 * k + 1 < taps) {
            v[2 * k + 1] = THN_SHUFFLE(a, b, (NAME(Index))ODDS);
        }
    }
}

/* The first n of two vectors. */
INLINE void NAME(put)(T *to, V first, V second, npy_intp n)
{
    if (n >= LANES) {
        *(V *)to = first;
        to += LANES;
        n -= LANES;
        first = second;
    }
    if (n >= LANES) {
        *(V *)to = first;
        return;
    }
    T all[LANES];
    *(V *)all = first;
    if (n >= LANES / 2) {
        *(Half *)to = *(const Half *)all;
        *(Half *)(to + n - LANES / 2) = *(const Half *)(all + n - LANES / 2);
        return;
    }
    for (npy_intp i = 0; i < n; i++) {
        to[i] = all[i];
    }
}

/* The row y of a plane that is read, or zeros. */
INLINE const T *NAME(row_of)(const Row *s, const char *plane, npy_intp y)
{
    return (const T *)((size_t)y < (size_t)s->height ? plane + y * s->in_row : s->zeros);
}

/* Calls BLOCK(edge, x) for the positions x of a row, where `edge` is a constant NULL if nothing is to be left out. */
#define ALONG(s, BLOCK)                                                     \
    do {                                                                    \
        const Edge *e = (s)->edges;                                         \
        for (npy_intp i = 0; i < (s)->before; i++, e++) {                   \
            BLOCK(e, e->x);                                                 \
        }                                                                   \
        for (npy_intp x = (s)->first; x < (s)->end; x += LANES) {           \
            BLOCK(NULL, x);                                                 \
        }                                                                   \
        for (npy_intp i = 0; i < (s)->after; i++, e++) {                    \
            BLOCK(e, e->x);                                                 \
        }                                                                   \
    } while (0)

/* ---- sums over taps: a vector of positions of `rows` rows */

INLINE void NAME(block)(int taps, int stride, int rows, const Edge *edge, const Row *s, const T *const *in, T *const *out,
                        const V *w, npy_intp x)
{
    V sums[MOST_ROWS];
    EACH(i, rows) sums[i] = (V){0};
    EACH(r, (rows - 1) * stride + taps) {
        V v[MOST_TAPS + 1];
        NAME(read)(taps, stride, edge, in[r] + x * stride - s->low, v);
        EACH(i, rows) {
            const int ky = r - i * stride;
            if (ky >= 0 && ky < taps) {
                EACH(kx, taps) sums[i] += w[ky * taps + kx] * v[kx];
            }
        }
    }
    EACH(i, rows) {
        const V z = stride == 1 ? sums[i] : THN_PERMUTE(sums[i], (NAME(Index))AS_READ);
        NAME(put)(out[i] + x, z, z, edge && s->count - x < LANES ? s->count - x : LANES);
    }
}

INLINE void NAME(strips)(int taps, int stride, int rows, const Row *s, const char *plane, char *to, const T *weights,
                         npy_intp first, npy_intp last)
{
    V w[MOST_TAPS * MOST_TAPS];
    EACH(k, taps * taps) w[k] = (V){0} + weights[k];
    for (npy_intp at = first; at < last; at += rows) {
        /* The last ones may be made twice. */
        const npy_intp y = at + rows <= last ? at : last - rows;
        const T *in[MOST_READ];
        T *out[MOST_ROWS];
        EACH(r, (rows - 1) * stride + taps) in[r] = NAME(row_of)(s, plane, y * stride - s->above + r);
        EACH(i, rows) out[i] = (T *)(to + (y + i) * s->out_row);
#define BLOCK(edge, x) NAME(block)(taps, stride, rows, edge, s, in, out, w, x)
        ALONG(s, BLOCK);
#undef BLOCK
    }
}

/* ---- gradients of images with a stride of 2: a row of an image, of which each second position meets the same taps */

INLINE void NAME(spread_block)(int taps, int odd, int rows, const Edge *edge, const Row *s, const T *const *in, T *out,
                               const V *w, npy_intp x)
{
    const int half = (taps - 1) / 2;
    V even_taps = {0}, odd_taps = {0};
    EACH(r, rows) {
        V v[MOST_TAPS];
        EACH(d, half + 1) v[d] = NAME(load)(in[r] + x + s->low - d, d, edge);
        EACH(m, half + 1) even_taps += w[r * taps + 2 * m] * v[m];
        EACH(m, half) odd_taps += w[r * taps + 2 * m + 1] * v[m + odd];
    }
    const V a = odd ? odd_taps : even_taps, b = odd ? even_taps : odd_taps;
    const V lower = THN_SHUFFLE(a, b, (NAME(Index))LOWER), upper = THN_SHUFFLE(a, b, (NAME(Index))UPPER);
    const npy_intp left = s->count - 2 * x;
    NAME(put)(out + 2 * x, THN_SHUFFLE(lower, upper, (NAME(Index))FIRST_HALVES),
              THN_SHUFFLE(lower, upper, (NAME(Index))LAST_HALVES), edge && left < 2 * LANES ? left : 2 * LANES);
}

INLINE void NAME(spread)(int taps, int odd, const Row *s, const char *plane, char *to, const T *weights, npy_intp first,
                         npy_intp last)
{
    const int half = (taps - 1) / 2;
    V w[2][3 * MOST_TAPS];
    EACH(k, taps * taps) w[k / taps % 2][k / taps / 2 * taps + k % taps] = (V){0} + weights[k];
    for (npy_intp y = first; y < last; y++) {
        const npy_intp at = y + s->above;
        const T *in[3];
        T *out = (T *)(to + y * s->out_row);
        EACH(m, half + 1) in[m] = NAME(row_of)(s, plane, at / 2 - m);
        if (at % 2) {
#define BLOCK(edge, x) NAME(spread_block)(taps, odd, half, edge, s, in, out, w[1], x)
            ALONG(s, BLOCK);
#undef BLOCK
        } else {
#define BLOCK(edge, x) NAME(spread_block)(taps, odd, half + 1, edge, s, in, out, w[0], x)
            ALONG(s, BLOCK);
#undef BLOCK
        }
    }
}

/* ---- scalar products of `rows` rows of top and what the taps of `high` rows of a filter read */

INLINE void NAME(dots_block)(int high, int taps, int stride, int rows, const Edge *edge, const Row *s, const T *const *in,
                             const T *const *top, V *sums, npy_intp x)
{
    V t[MOST_ROWS];
    EACH(i, rows) {
        t[i] = NAME(load)(top[i] + x, TOP_MASK, edge);
        if (stride == 2) {
            t[i] = THN_PERMUTE(t[i], (NAME(Index))AS_READ);
        }
    }
    EACH(r, (rows - 1) * stride + high) {
        V v[MOST_TAPS + 1];
        NAME(read)(taps, stride, edge, in[r] + x * stride - s->low, v);
        EACH(i, rows) {
            const int ky = r - i * stride;
            if (ky >= 0 && ky < high) {
                EACH(kx, taps) sums[ky * taps + kx] += t[i] * v[kx];
            }
        }
    }
}

INLINE void NAME(dots)(int high, int taps, int stride, int rows, const Row *s, const char *plane, const char *other, void *sums_,
                       npy_intp first, npy_intp last)
{
    V *all = sums_;
    for (int ky = 0; ky < taps; ky += high, all += high * taps) {
        V sums[9];
        EACH(k, high * taps) sums[k] = all[k];
        for (npy_intp y = first; y < last; y += rows) {
            const T *in[MOST_READ], *top[MOST_ROWS];
            EACH(r, (rows - 1) * stride + high) in[r] = NAME(row_of)(s, plane, y * stride - s->above + ky + r);
            EACH(i, rows) top[i] = (const T *)(other + (y + i) * s->out_row);
#define BLOCK(edge, x) NAME(dots_block)(high, taps, stride, rows, edge, s, in, top, sums, x)
            ALONG(s, BLOCK);
#undef BLOCK
        }
        EACH(k, high * taps) all[k] = sums[k];
    }
}

/* ---- planes of few vectors a row, all of which are edges: each row of the plane that is read is loaded once */

INLINE void NAME(narrow)(int taps, const Row *s, const char *plane, char *to_, const T *weights, npy_intp first, npy_intp last)
{
    V w[MOST_TAPS * MOST_TAPS];
    EACH(k, taps * taps) w[k] = (V){0} + weights[k];
    for (npy_intp i = 0; i < s->before + s->after; i++) {
        const Edge *edge = &s->edges[i];
        const npy_intp x = edge->x, n = s->count - x < LANES ? s->count - x : LANES;
        const T *row = (const T *)(plane + (first - s->above) * s->in_row) + x - s->low;
        T *to = (T *)(to_ + first * s->out_row) + x;
        /* The next rows overwrite what is behind a row. */
        const npy_intp whole = n == LANES ? last : last - (LANES - 1) / s->count;
        /* Of the rows of which the last taps read this row, the next one, ... */
        V sums[MOST_TAPS] = {{0}};
        for (npy_intp y = first - taps + 1, r = first - s->above; y < last; y++, r++) {
            /* Masked loads are not seen by the processor's prefetching. */
            __builtin_prefetch((const char *)row + AHEAD);
            if ((size_t)r < (size_t)s->height) {
                V v[MOST_TAPS];
                EACH(kx, taps) v[kx] = LOAD_IF(row + kx, edge->masks[kx]);
                EACH(ky, taps) {
                    EACH(kx, taps) sums[taps - 1 - ky] += w[ky * taps + kx] * v[kx];
                }
            }
            row = (const T *)((const char *)row + s->in_row);
            if (y >= first) {
                if (y < whole) {
                    *(V *)to = sums[0];
                } else {
                    NAME(put)(to, sums[0], sums[0], n);
                }
                to = (T *)((char *)to + s->out_row);
            }
            EACH(ky, taps - 1) sums[ky] = sums[ky + 1];
            sums[taps - 1] = (V){0};
        }
    }
}

typedef struct {
    const T *row, *top;
    V t[3];                     /* the rows of top of which the last taps read this row, the one before it, ... */
    V sums[9];
} NAME(NarrowDots);

/* Row y, which taps lo to hi of rows of top read, the first of them its own. */
INLINE void NAME(narrow_row)(int lo, int hi, int plain, int far, const Row *s, const Edge *edge, npy_intp y,
                             NAME(NarrowDots) *d)
{
    const int taps = 3;
    __asm__("" : "+r"(edge)); /* masks do not take registers */
    EACH(k, taps - 1) d->t[taps - 1 - k] = d->t[taps - 2 - k];
    if (far) {
        __builtin_prefetch((const char *)d->row + AHEAD);
        __builtin_prefetch((const char *)d->top + AHEAD);
    }
    if (lo == 0) {
        d->t[0] = plain ? LOAD_CUT(d->top, edge->masks[TOP_MASK]) : LOAD_IF(d->top, edge->masks[TOP_MASK]);
        d->top = (const T *)((const char *)d->top + s->out_row);
    }
    if ((size_t)(y - s->above) < (size_t)s->height) {
        V v[3];
        EACH(kx, taps) v[kx] = plain ? LOAD_CUT(d->row + kx, edge->masks[kx]) : LOAD_IF(d->row + kx, edge->masks[kx]);
        EACH(ky, taps) {
            if (ky >= lo && ky <= hi) {
                EACH(kx, taps) d->sums[ky * taps + kx] += d->t[ky] * v[kx];
            }
        }
    }
    d->row = (const T *)((const char *)d->row + s->in_row);
}

/* Of at least two rows; `plain`: plain loads may be made. Zeros instead of rows of top would not do: they would meet what is no
 * number. */
INLINE void NAME(narrow_dots)(int plain, int far, const Row *s, const char *plane, const char *other, void *sums_, npy_intp first,
                              npy_intp last)
{
    const int taps = 3;
    V *all = sums_;
    NAME(NarrowDots) d;
    EACH(k, taps * taps) d.sums[k] = all[k];
    for (npy_intp i = 0; i < s->before + s->after; i++) {
        const Edge *edge = &s->edges[i];
        d.row = (const T *)(plane + (first - s->above) * s->in_row) + edge->x - s->low;
        d.top = (const T *)(other + first * s->out_row) + edge->x;
        NAME(narrow_row)(0, 0, plain, far, s, edge, first, &d);
        NAME(narrow_row)(0, 1, plain, far, s, edge, first + 1, &d);
        for (npy_intp y = first + 2; y < last; y++) {
            NAME(narrow_row)(0, 2, plain, far, s, edge, y, &d);
        }
        NAME(narrow_row)(1, 2, plain, far, s, edge, last, &d);
        NAME(narrow_row)(2, 2, plain, far, s, edge, last + 1, &d);
    }
    EACH(k, taps * taps) all[k] = d.sums[k];
}

/* Adds vectors of partial sums up, and clears them. */
typedef double NAME(Doubles) __attribute__((vector_size(LANES * sizeof(double))));
TARGET static void NAME(gather_sums)(int taps, void *partial, double *sums)
{
    V *s = partial;
    for (int k = 0; k < taps; k++) {
        const NAME(Doubles) all = __builtin_convertvector(s[k], NAME(Doubles));
        double fours[LANES / 4];
        EACH(i, LANES / 4) fours[i] = (all[4 * i] + all[4 * i + 1]) + (all[4 * i + 2] + all[4 * i + 3]);
        sums[k] += LANES == 4 ? fours[0] : fours[0] + fours[LANES / 4 - 1];
        s[k] = (V){0};
    }
}

/* A Loop of this name, which calls a function with these constants. */
#define LOOP(NAMED, FUNCTION, ...)                                                                                         \
    TARGET static void NAME(NAMED)(const Row *s, const char *plane, char *other, void *numbers, npy_intp first,            \
                                   npy_intp last)                                                                          \
    {                                                                                                                      \
        NAME(FUNCTION)(__VA_ARGS__, s, plane, other, numbers, first, last);                                                \
    }
/* Those for so many taps; of `high` rows of them the scalar products are made at once. */
#define LOOPS_OF(taps, high)                                                                                               \
    LOOP(strips_##taps##_1_4, strips, taps, 1, 4) LOOP(strips_##taps##_1_1, strips, taps, 1, 1)                            \
    LOOP(strips_##taps##_2_2, strips, taps, 2, 2) LOOP(strips_##taps##_2_1, strips, taps, 2, 1)                            \
    LOOP(spread_##taps##_0, spread, taps, 0) LOOP(spread_##taps##_1, spread, taps, 1)                                      \
    LOOP(dots_##taps##_1_1, dots, high, taps, 1, 1) LOOP(dots_##taps##_1_2, dots, high, taps, 1, 2)                        \
    LOOP(dots_##taps##_1_4, dots, high, taps, 1, 4)                                                                        \
    LOOP(dots_##taps##_2_1, dots, high, taps, 2, 1) LOOP(dots_##taps##_2_2, dots, high, taps, 2, 2)                        \
    LOOP(narrow_##taps, narrow, taps)
LOOPS_OF(3, 3)
LOOPS_OF(5, 1)
LOOP(narrow_dots_masked, narrow_dots, 0, 0)
LOOP(narrow_dots_near, narrow_dots, 1, 0)
LOOP(narrow_dots_far, narrow_dots, 1, 1)

#define TABLE_OF(taps)                                                                                                     \
    {{{NAME(strips_##taps##_1_4), NAME(strips_##taps##_1_1)}, {NAME(strips_##taps##_2_2), NAME(strips_##taps##_2_1)}},     \
     {NAME(spread_##taps##_0), NAME(spread_##taps##_1)},                                                                   \
     {{NAME(dots_##taps##_1_1), NAME(dots_##taps##_1_2), NAME(dots_##taps##_1_4)},                                         \
      {NAME(dots_##taps##_2_1), NAME(dots_##taps##_2_2)}},                                                                 \
     NAME(narrow_##taps)}

static const Kernels NAME(kernels) = {LANES,
                                      {TABLE_OF(3), TABLE_OF(5)},
                                      {NAME(narrow_dots_masked), NAME(narrow_dots_near), NAME(narrow_dots_far)},
                                      NAME(gather_sums)};

#undef FIRST_HALVES
#undef LAST_HALVES
