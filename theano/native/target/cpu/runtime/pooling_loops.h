/* The loops of pooling for one dtype of ITEM bytes and one kind of processor, as for_floats.h includes them; of integers LEAST is
 * what no element is less than. */
#ifdef LEAST
#define LARGER(a, b) ((b) > (a) ? (b) : (a))
#define NANS(v) ((M){0})
#else
#define LEAST (-INFINITY)
/* A NaN is the largest. The first choice is one instruction, the second hardly ever taken. */
#define LARGER(a, b) ((b) != (b) ? (b) : (b) > (a) ? (b) : (a))
#define NANS(v) ((M)((v) != (v)))
#endif
#include "vectors_32.h"
/* Shuffles of floats are cheap. */
#define HAVE_PAIRS ((T)0.5 != 0)

#define INLINE TARGET static inline __attribute__((always_inline))
/* A loop that the table of loops has. */
#define LOOP(name, ...) TARGET static void NAME(name)(const ThnPoolPlane *p) { __VA_ARGS__; }
/* Vectors of elements, which are as these in memory: no pointer that is read lies where they are written. And of their bits. */
typedef T NAME(V) __attribute__((vector_size(32), aligned(sizeof(T))));
typedef BITS NAME(M) __attribute__((vector_size(32)));
#define V NAME(V)
#define M NAME(M)
#define WIDE ((npy_intp)(32 / sizeof(T)))
#define VECTOR(p) (*(const V *)(p))
#define ROW(plane, stride, at) ((const T *)((plane) + (at) * (stride)))
/* A loop over windows that are s apart, compiled for the usual s. */
#define BY_STRIDE(DO, s, ...)                                                                                    \
    ((s) == 1 ? DO(1, __VA_ARGS__) : (s) == 2 ? DO(2, __VA_ARGS__) : (s) == 3 ? DO(3, __VA_ARGS__) : DO(s, __VA_ARGS__))

/* ---- maxima and sums: of the rows that windows cover, then along what comes out of it */

INLINE T NAME(both)(T a, T b, int is_max)
{
    return is_max ? LARGER(a, b) : a + b;
}

/* t[i] = the largest, the sum of rows[.][i]; there are at least two rows. */
INLINE void NAME(combine)(T *restrict t, const T *const *rows, npy_intp nrows, npy_intp n, int is_max)
{
    const T *a = rows[0], *b = rows[1], *c = nrows > 2 ? rows[2] : NULL;
    if (nrows == 2) {
        for (npy_intp i = 0; i < n; i++) {
            t[i] = NAME(both)(a[i], b[i], is_max);
        }
    } else {
        for (npy_intp i = 0; i < n; i++) {
            t[i] = NAME(both)(NAME(both)(a[i], b[i], is_max), c[i], is_max);
        }
    }
    for (npy_intp r = 3; r < nrows; r++) {
        const T *row = rows[r];
        for (npy_intp i = 0; i < n; i++) {
            t[i] = NAME(both)(t[i], row[i], is_max);
        }
    }
}

/* z[j] = the largest, the sum of t[j * s + k], k < w: the first one, two or three elements of each window, then one more of all
 * windows at a time. */
INLINE void NAME(columns_by)(npy_intp s, T *restrict z, const T *restrict t, npy_intp count, npy_intp w, int first, int is_max)
{
    for (npy_intp j = 0; j < count; j++) {
        T r = t[j * s];
        r = first > 1 ? NAME(both)(r, t[j * s + 1], is_max) : r;
        z[j] = first > 2 ? NAME(both)(r, t[j * s + 2], is_max) : r;
    }
    for (npy_intp k = 3; k < w; k++) {
        for (npy_intp j = 0; j < count; j++) {
            z[j] = NAME(both)(z[j], t[j * s + k], is_max);
        }
    }
}

/* The largest, the sum of w elements, at least WIDE; whether there is a NaN is asked beside the maxima. */
INLINE T NAME(whole)(const T *t, npy_intp w, int is_max)
{
    V part = is_max ? VECTOR(t + w - WIDE) : (V){0};
    M nans = NANS(part);
    _Alignas(V) T lanes[WIDE];
    _Alignas(M) BITS is_nan[WIDE];
    npy_intp k = 0;
    for (; k + WIDE <= w; k += WIDE) {
        const V b = VECTOR(t + k);
        const M larger = (M)(part > b);
        nans |= NANS(b);
        part = is_max ? (V)(((M)part & larger) | ((M)b & ~larger)) : part + b;
    }
    *(V *)lanes = part;
    *(M *)is_nan = nans;
    for (int half = WIDE / 2; half; half /= 2) {
        for (int q = 0; q < half; q++) {
            lanes[q] = !is_max ? lanes[q] + lanes[q + half] : lanes[q] > lanes[q + half] ? lanes[q] : lanes[q + half];
            is_nan[q] |= is_nan[q + half];
        }
    }
    for (k = is_max ? 0 : k; k < w && (!is_max || is_nan[0]); k++) {
        lanes[0] = NAME(both)(lanes[0], t[k], is_max);
    }
    return lanes[0];
}

INLINE void NAME(columns)(T *z, const T *t, npy_intp count, npy_intp w, npy_intp s, int is_max)
{
    if (count == 1 && w >= 2 * WIDE) {
        *z = NAME(whole)(t, w, is_max);
    } else if (w == 1) {
        NAME(columns_by)(s, z, t, count, 1, 1, is_max);
    } else if (w == 2) {
        BY_STRIDE(NAME(columns_by), s, z, t, count, 2, 2, is_max);
    } else {
        BY_STRIDE(NAME(columns_by), s, z, t, count, w, 3, is_max);
    }
}

/* z[j] = v[j] / (factor * sizes[j]) */
INLINE void NAME(divide)(T *z, const T *v, const T *sizes, npy_intp factor, npy_intp count)
{
    const T f = (T)factor;
    for (npy_intp j = 0; j < count; j++) {
        z[j] = v[j] / (f * sizes[j]);
    }
}

INLINE void NAME(pool)(const ThnPoolPlane *p, int is_max)
{
    const ThnPoolAxis a = p->across, d = p->down;
    const npy_intp length = thn_most(a.p + a.n, (a.count - 1) * a.s + a.w);
    T *z = (T *)p->out, *t = p->line;
    const T **rows = (const T **)p->rows;
    int filled = 0;
    for (npy_intp k = p->begin; k < p->end; k++, z += a.count) {
        const npy_intp low = thn_pool_first(&d, k), high = thn_pool_end(&d, k);
        npy_intp nrows = 0;
        for (npy_intp i = 0; i < p->planes; i++) {
            for (npy_intp y = low; y < high; y++) {
                rows[nrows++] = ROW(p->x[i], p->x_row, y);
            }
        }
        const T *from = t;
        if (nrows == 1 && length == a.n) {
            from = rows[0];
        } else {
            if (!filled || nrows == 0) {
                /* What lies beyond the images changes no maximum, no sum. */
                for (npy_intp i = 0; i < length; i++) {
                    t[i] = is_max ? LEAST : 0;
                }
                filled = 1;
            }
            if (nrows == 1) {
                memcpy(t + a.p, rows[0], sizeof(T) * (size_t)a.n);
            } else if (nrows > 1) {
                NAME(combine)(t + a.p, rows, nrows, a.n, is_max);
            }
        }
        NAME(columns)(z, from, a.count, a.w, a.s, is_max);
        if (p->factors) {
            NAME(divide)(z, z, p->sizes, p->factors[0] * thn_pool_size(&d, k, p->padded), a.count);
        }
    }
}

LOOP(max, NAME(pool)(p, 1))
LOOP(sum, NAME(pool)(p, 0))

/* ---- gradients: each row gets what the rows of windows that cover it give */

/* e[j * s + q] = v[j] for q < keep, else 0. */
INLINE void NAME(spread_by)(npy_intp s, T *restrict e, const T *restrict v, npy_intp count, npy_intp keep)
{
    for (npy_intp j = 0; j < count; j++) {
        for (npy_intp q = 0; q < s; q++) {
            e[j * s + q] = q < keep ? v[j] : 0;
        }
    }
}

INLINE void NAME(spread)(T *e, const T *v, npy_intp count, npy_intp s, npy_intp keep)
{
    if (s == 1 && count >= WIDE) {
        for (npy_intp j = 0; j < count; j += WIDE) {
            *(V *)(e + thn_least(j, count - WIDE)) = VECTOR(v + thn_least(j, count - WIDE));
        }
    } else if (s == 1) {
        memcpy(e, v, sizeof(T) * (size_t)count);
    } else {
        BY_STRIDE(NAME(spread_by), s, e, v, count, keep);
    }
}

/* What rows of windows give to a row. In `rows` there are maxima and gradients in turn, of which only gradients matter where all
 * elements get them; if they were spread out, gradients of the last tap lie `last` elements behind the others. */
typedef struct {
    const T *const *rows;
    npy_intp nrows, taps, w, s, p, last;
    int is_max;
} NAME(Given);
#define Given NAME(Given)

/* The gradients from g[at] on, where maxima are equal to `here`; added to r. */
#define ADD_GIVEN(r, v, k, at, here, beyond)                                  \
    do {                                                                      \
        M given = (M)VECTOR((v).rows[2 * (k) + 1] + (at) + (beyond));         \
        if ((v).is_max) {                                                     \
            given &= (M)((here) == VECTOR((v).rows[2 * (k)] + (at)));         \
        }                                                                     \
        r += (V)given;                                                        \
    } while (0)

/* A vector of elements from gx[0] on, which is element i of a row; windows are one apart or were spread out. */
INLINE void NAME(give_block)(T *gx, const T *x, npy_intp i, Given v)
{
    const V here = v.is_max ? VECTOR(x) : (V){0};
    V r = {0};
    for (npy_intp k = 0; k < v.nrows; k++) {
        for (npy_intp t = 0; t < v.taps; t++) {
            ADD_GIVEN(r, v, k, i + v.p - t * v.s, here, t == v.taps - 1 ? v.last : 0);
        }
    }
    *(V *)gx = r;
}

/* Two vectors of them; windows are two apart. Every second element is in the same place of its windows, the first in the one that
 * is `odd`. */
INLINE void NAME(give_pairs)(T *gx, const T *x, npy_intp i, Given v, npy_intp odd)
{
    const V a = v.is_max ? VECTOR(x) : (V){0}, b = v.is_max ? VECTOR(x + WIDE) : (V){0};
    const V here[2] = {THN_PERMUTE(THN_SHUFFLE(a, b, (M)EVENS), (M)AS_READ), THN_PERMUTE(THN_SHUFFLE(a, b, (M)ODDS), (M)AS_READ)};
    V r[2] = {{0}, {0}};
    for (npy_intp k = 0; k < v.nrows; k++) {
        for (npy_intp which = 0; which < 2; which++) {
            for (npy_intp q = which ^ odd; q < v.w; q += 2) {
                ADD_GIVEN(r[which], v, k, ((i + v.p) >> 1) + (which & odd) - (q >> 1), here[which], 0);
            }
        }
    }
    r[0] = THN_PERMUTE(r[0], (M)AS_READ);
    r[1] = THN_PERMUTE(r[1], (M)AS_READ);
    *(V *)gx = THN_SHUFFLE(r[0], r[1], (M)LOWER);
    *(V *)(gx + WIDE) = THN_SHUFFLE(r[0], r[1], (M)UPPER);
}

/* A row of them, `paired`: by two vectors. */
INLINE void NAME(give_by)(T *gx, const T *x, npy_intp n, Given v, int paired)
{
    const npy_intp length = paired ? 2 * WIDE : WIDE;
    npy_intp i = 0;
    for (; i + length <= n; i += length) {
        const T *from = v.is_max ? x + i : NULL;
        paired ? NAME(give_pairs)(gx + i, from, i, v, v.p & 1) : NAME(give_block)(gx + i, from, i, v);
    }
    if (i == n) {
        return;
    }
    /* The rest together with some elements that it was done for already; short rows in a copy. */
    T images[2 * WIDE], given[2 * WIDE], *to = given;
    const T *from = images;
    if (n >= length) {
        i = n - length;
        to = gx + i;
        from = v.is_max ? x + i : NULL;
    } else if (v.is_max) {
        memset(images, 0, sizeof images);
        memcpy(images, x, sizeof(T) * (size_t)n);
    }
    if (!paired) {
        NAME(give_block)(to, from, i, v);
    } else {
        (i + v.p) & 1 ? NAME(give_pairs)(to, from, i, v, 1) : NAME(give_pairs)(to, from, i, v, 0);
    }
    if (n < length) {
        memcpy(gx, given, sizeof(T) * (size_t)n);
    }
}

INLINE void NAME(give)(T *gx, const T *x, npy_intp n, Given v, int paired)
{
#define GIVE(NROWS, TAPS, W, P) NAME(give_by)(gx, x, n, (Given){v.rows, NROWS, TAPS, W, v.s, P, v.last, v.is_max}, paired)
#define GIVE_ROWS(MOST, TAPS, W, P)                                                                                \
    (v.nrows == 1 ? GIVE(1, TAPS, W, P) : v.nrows == (MOST) ? GIVE(MOST, TAPS, W, P) : GIVE(v.nrows, TAPS, W, P))
    if (paired && v.w == 3 && v.p < 2) {
        v.p ? GIVE_ROWS(2, 2, 3, 1) : GIVE_ROWS(2, 2, 3, 0);
    } else if (paired && v.w == 2 && v.p == 0) {
        GIVE_ROWS(1, 1, 2, 0);
    } else if (paired) {
        GIVE(v.nrows, v.taps, v.w, v.p);
    } else if (v.taps == 1) {
        GIVE_ROWS(1, 1, v.w, v.p);
    } else if (v.taps == 2) {
        GIVE_ROWS(2, 2, v.w, v.p);
    } else if (v.taps == 3) {
        GIVE_ROWS(3, 3, v.w, v.p);
    } else {
        GIVE(v.nrows, v.taps, v.w, v.p);
    }
#undef GIVE
#undef GIVE_ROWS
}

/* A vector of elements of rows begin..end of windows of three by three that are one apart: what such a row gives is read once for
 * its three rows of elements. */
INLINE void NAME(give_column)(T *gx, const ThnPoolPlane *p, npy_intp begin, npy_intp end, npy_intp at, const T *slots)
{
    const npy_intp n = p->across.n, count = p->down.count, x_row = p->x_row, pitch = p->pitch, slot = p->slot;
    const npy_intp ring = p->ring - 1, above = p->down.p;
    const char *x = (const char *)(ROW(p->x[0], x_row, begin) + at);
    V here[3] = {{0}}, r[3] = {{0}};
    slots += at + p->across.p;
    gx += at;
    for (npy_intp y = begin - 2; y < end; y++, x += x_row) {
        const npy_intp k = y + above;
        here[2] = y + 2 < end ? VECTOR(x) : (V){0};
        if (k >= 0 && k < count) {
            const T *e = slots + (k & ring) * slot;
            for (int t = 0; t < 3; t++, e--) {
                const V m = VECTOR(e), given = VECTOR(e + pitch);
                for (int i = 0; i < 3; i++) {
                    r[i] += (V)((M)given & (M)(here[i] == m));
                }
            }
        }
        if (y >= begin) {
            *(V *)gx = r[0];
            gx += n;
        }
        for (int i = 0; i < 2; i++) {
            here[i] = here[i + 1];
            r[i] = r[i + 1];
        }
        r[2] = (V){0};
    }
}

INLINE void NAME(gradient)(const ThnPoolPlane *p, int is_max)
{
    const ThnPoolAxis a = p->across, d = p->down;
    const int paired = a.s == 2 && HAVE_PAIRS;
    const npy_intp taps = thn_pool_taps(&a), s = paired ? 1 : a.s, keep = a.w - (taps - 1) * s, pitch = p->pitch;
    const npy_intp before = (taps - 1) * s, last = !paired && taps > 1 && keep != s ? pitch : 0;
    npy_intp low = thn_pool_first_window(&d, p->begin), high = thn_least(thn_pool_strides(&d, p->begin + d.p), d.count - 1);
    npy_intp ready = low, nrows = 0;
    T *gx = (T *)p->out, *slots = (T *)p->slots + before, *line = (T *)p->line + before;
    const T **rows = (const T **)p->rows;
    int changed = 1;
    for (npy_intp y = p->begin, end; y < p->end; gx += (end - y) * a.n, y = end) {
        end = thn_least(y + p->together, p->end);
        for (; low * d.s - d.p + d.w <= y; low++) {
            changed = 1;
        }
        for (; high + 1 < d.count && (high + 1) * d.s - d.p < end; high++) {
            changed = 1;
        }
        if (!changed && !is_max) {
            memcpy(gx, gx - a.n, sizeof(T) * (size_t)a.n);
            continue;
        }
        for (; ready <= high; ready++) {
            for (npy_intp i = 0; i < p->planes; i++) {
                const T *g = ROW(p->other[i], p->other_row, ready);
                T *e = slots + (i * p->ring + (ready & (p->ring - 1))) * p->slot;
                if (is_max) {
                    NAME(spread)(e, ROW(p->maxima[i], p->maxima_row, ready), a.count, s, s);
                    NAME(spread)(e + pitch, g, a.count, s, taps > 1 ? s : keep);
                    if (last) {
                        NAME(spread)(e + pitch + last, g, a.count, s, keep);
                    }
                } else if (p->factors) {
                    NAME(divide)(e, g, p->sizes, p->factors[i] * thn_pool_size(&d, ready, p->padded), a.count);
                } else {
                    memcpy(e, g, sizeof(T) * (size_t)a.count);
                }
            }
        }
        if (is_max && p->together > 1) {
            for (npy_intp i = 0; i < a.n; i += WIDE) {
                NAME(give_column)(gx, p, y, end, thn_least(i, a.n - WIDE), slots);
            }
            continue;
        }
        if (changed) {
            nrows = 0;
            for (npy_intp i = 0; i < p->planes; i++) {
                for (npy_intp k = low; k <= high; k++) {
                    const T *e = slots + (i * p->ring + (k & (p->ring - 1))) * p->slot;
                    if (!is_max) {
                        rows[nrows++] = e;
                        continue;
                    }
                    rows[2 * nrows] = e;
                    rows[2 * nrows++ + 1] = e + pitch;
                }
            }
            changed = 0;
        }
        Given v = {rows, nrows, taps, a.w, s, a.p, last, is_max};
        if (!nrows) {
            memset(gx, 0, sizeof(T) * (size_t)a.n);
            continue;
        }
        if (!is_max) {
            /* One row of their sums. */
            const T *total = rows[0];
            if (nrows > 1) {
                NAME(combine)(line, rows, nrows, a.count, 0);
                total = line;
            }
            if (s > 1) {
                NAME(spread)(line + pitch, total, a.count, s, taps > 1 ? s : keep);
                if (last) {
                    NAME(spread)(line + pitch + last, total, a.count, s, keep);
                }
                total = line + pitch;
            }
            const T *const sums[2] = {NULL, total};
            v.rows = sums;
            v.nrows = 1;
            paired ? NAME(give)(gx, NULL, a.n, v, 1) : NAME(give)(gx, NULL, a.n, v, 0);
        } else {
            const T *x = ROW(p->x[0], p->x_row, y);
            paired ? NAME(give)(gx, x, a.n, v, 1) : NAME(give)(gx, x, a.n, v, 0);
        }
    }
}

/* What one window gives to a vector of elements, or to those of it that equal its maximum. */
INLINE void NAME(give_vector)(T *gx, const T *x, T m, T g, int is_max)
{
    const V every = g - (V){0};
    *(V *)gx = is_max ? (V)((M)every & (M)(VECTOR(x) == m)) : every;
}

/* The same of a row: all vectors but those at its ends are aligned, so that few are written across lines of the cache. Some elements
 * are written twice. */
INLINE void NAME(give_all)(T *gx, const T *x, npy_intp n, T m, T g, int is_max)
{
    if (n >= WIDE) {
        NAME(give_vector)(gx, x, m, g, is_max);
        for (npy_intp i = WIDE - (npy_intp)((size_t)gx / sizeof(T)) % WIDE; i < n - WIDE; i += WIDE) {
            NAME(give_vector)(gx + i, x + i, m, g, is_max);
        }
        NAME(give_vector)(gx + n - WIDE, x + n - WIDE, m, g, is_max);
    }
    for (npy_intp i = 0; n < WIDE && i < n; i++) {
        gx[i] = !is_max || x[i] == m ? g : 0;
    }
}

/* Where one window is a row. */
INLINE void NAME(whole_by)(const ThnPoolPlane *p, int is_max)
{
    const npy_intp n = p->across.n;
    const T size = p->factors ? (T)p->factors[0] * *(const T *)p->sizes : 1;
    T *gx = (T *)p->out;
    for (npy_intp y = p->begin; y < p->end; y++, gx += n) {
        const T g = *ROW(p->other[0], p->other_row, y);
        if (is_max) {
            NAME(give_all)(gx, ROW(p->x[0], p->x_row, y), n, *ROW(p->maxima[0], p->maxima_row, y), g, 1);
        } else {
            NAME(give_all)(gx, gx, n, 0, g / size, 0);
        }
    }
}

LOOP(whole_gradient, p->maxima ? NAME(whole_by)(p, 1) : NAME(whole_by)(p, 0))

/* Some rows of windows of two elements, which have all elements of the rows, or all but one, and are all that these are in. */
INLINE void NAME(give_window)(T *gx, const char *x, const ThnPoolPlane *p, npy_intp rows, const T *maxima, const T *g)
{
    const npy_intp n = p->across.n, count = p->across.count;
    for (npy_intp r = 0; r < (n > 2 * count ? rows : 0); r++) {
        gx[r * n + n - 1] = 0;
    }
    for (npy_intp j = 0; j < count; j += WIDE) {
        /* The last vectors may repeat some elements of those before. */
        const npy_intp at = thn_least(j, count - WIDE);
        const V m = THN_PERMUTE(VECTOR(maxima + at), (M)AS_READ), given = THN_PERMUTE(VECTOR(g + at), (M)AS_READ);
        for (npy_intp r = 0; r < rows; r++) {
            const T *from = ROW(x, p->x_row, r) + 2 * at;
            T *to = gx + r * n + 2 * at;
            const V a = VECTOR(from), b = VECTOR(from + WIDE);
            const M even = (M)(THN_SHUFFLE(a, b, (M)EVENS) == m), odd = (M)(THN_SHUFFLE(a, b, (M)ODDS) == m);
            /* Added to zero, as others are: no negative zeros. */
            const V to_even = (V){0} + (V)((M)given & even), to_odd = (V){0} + (V)((M)given & odd);
            *(V *)to = THN_SHUFFLE(to_even, to_odd, (M)LOWER);
            *(V *)(to + WIDE) = THN_SHUFFLE(to_even, to_odd, (M)UPPER);
        }
    }
}

/* Such windows, which do not overlap: all rows of one at a time. */
TARGET static void NAME(pairs_gradient)(const ThnPoolPlane *p)
{
    const ThnPoolAxis d = p->down;
    const npy_intp n = p->across.n;
    T *gx = (T *)p->out;
    npy_intp k = thn_pool_strides(&d, p->begin + d.p), end;
    for (npy_intp y = p->begin; y < p->end; gx += (end - y) * n, y = end, k++) {
        if (k >= d.count) {
            memset(gx, 0, sizeof(T) * (size_t)((p->end - y) * n));
            return;
        }
        end = thn_least((k + 1) * d.s - d.p, p->end);
        const T *maxima = ROW(p->maxima[0], p->maxima_row, k), *g = ROW(p->other[0], p->other_row, k);
        const char *x = p->x[0] + y * p->x_row;
        if (end - y == 2) {
            NAME(give_window)(gx, x, p, 2, maxima, g);
        } else {
            NAME(give_window)(gx, x, p, end - y, maxima, g);
        }
    }
}

LOOP(max_gradient, NAME(gradient)(p, 1))
LOOP(sum_gradient, NAME(gradient)(p, 0))

/* The loop for windows which do not need any room, or NULL. */
static ThnPoolLoop NAME(simple_gradient)(const ThnPoolAxis *d, const ThnPoolAxis *a, int is_max)
{
    if (a->count == 1 && a->p == 0 && a->w >= a->n && d->count == d->n && d->w == 1 && d->p == 0) {
        return NAME(whole_gradient);
    }
    const int pairs = a->w == 2 && a->s == 2 && a->p == 0 && a->n / 2 == a->count && a->count >= WIDE && d->w == d->s;
    return is_max && pairs ? NAME(pairs_gradient) : NULL;
}

/* ---- what is at the elements of windows that equal their maxima */

/* z[j] += v[j * s], or = it, where x[j * s] == m[j] */
INLINE void NAME(pick_by)(npy_intp s, T *restrict z, const T *x, const T *m, const T *v, npy_intp count, int first)
{
    for (npy_intp j = 0; j < count; j++) {
        const T value = v[j * s];
        z[j] = first ? (x[j * s] == m[j] ? value : z[j]) : z[j] + (x[j * s] == m[j] ? value : 0);
    }
}

INLINE void NAME(pick_all)(const ThnPoolPlane *p, int first)
{
    const ThnPoolAxis a = p->across, d = p->down;
    T *z = (T *)p->out;
    for (npy_intp k = p->begin; k < p->end; k++, z += a.count) {
        const T *m = ROW(p->maxima[0], p->maxima_row, k);
        memset(z, 0, sizeof(T) * (size_t)a.count);
        /* From the last to the first, which overwrites the others. */
        for (npy_intp i = p->planes - 1; i >= 0; i--) {
            for (npy_intp y = thn_pool_end(&d, k) - 1; y >= thn_pool_first(&d, k); y--) {
                for (npy_intp q = a.w - 1; q >= 0; q--) {
                    const npy_intp low = p->low[q], from = low * a.s + q - a.p, count = p->high[q] - low;
                    const T *x = ROW(p->x[i], p->x_row, y) + from, *v = ROW(p->other[i], p->other_row, y) + from;
                    BY_STRIDE(NAME(pick_by), a.s, z + low, x, m + low, v, count, first);
                }
            }
        }
    }
}

LOOP(pick, p->first ? NAME(pick_all)(p, 1) : NAME(pick_all)(p, 0))

TARGET static void NAME(fill_sizes)(void *to, const ThnPoolAxis *a, int padded)
{
    T *sizes = to;
    for (npy_intp j = 0; j < a->count; j++) {
        sizes[j] = (T)thn_pool_size(a, j, padded);
    }
}

static const ThnPooling NAME(loops) = {
    sizeof(T), NAME(fill_sizes), NAME(max), NAME(sum), NAME(max_gradient), NAME(sum_gradient), NAME(pick), NAME(simple_gradient),
};

#undef LEAST
#undef LARGER
#undef NANS
#undef INLINE
#undef LOOP
#undef V
#undef M
#undef WIDE
#undef VECTOR
#undef ROW
#undef BY_STRIDE
#undef HAVE_PAIRS
#undef Given
#undef ADD_GIVEN
