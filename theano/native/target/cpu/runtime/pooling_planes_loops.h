/* Gradients of maxima of a plane for one dtype; see pooling_planes.c and for_floats.h. */
#include "vectors_32.h"

/* A vector of p[i] where the mask is set, else 0; nothing else is read. */
#define LOAD_IF(p, mask) ((V)MASKLOAD((p), (__m256i)(mask)))
typedef T NAME(V) __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));
typedef BITS NAME(Index) __attribute__((vector_size(32)));
#define V NAME(V)
#define Index NAME(Index)
#define INLINE TARGET static inline __attribute__((always_inline))

/* Elements at, at + 1 ... of a row of n; at an edge those outside of it are 0. */
INLINE V NAME(load)(const T *row, npy_intp at, npy_intp n, int edge)
{
    if (edge) {
        const Index i = (Index)IOTA + (BITS)at;
        return LOAD_IF(row + at, (i >= 0) & (i < (BITS)n));
    }
    return *(const V *)(row + at);
}

/* What windows at, at + 1 ... of a row give to elements that equal their maxima. */
INLINE V NAME(given)(V x, const char *maxima, const char *g, npy_intp at, npy_intp count, int edge)
{
    const Index equal = (Index)(x == NAME(load)((const T *)maxima, at, count, edge));
    return (V)((Index)NAME(load)((const T *)g, at, count, edge) & equal);
}

/* Elements from `first` to `end` of two vectors. */
INLINE void NAME(put)(T *to, V lower, V upper, npy_intp first, npy_intp end)
{
    T all[2 * LANES];
    *(V *)all = lower;
    *(V *)(all + LANES) = upper;
    if (end - first >= LANES) {
        *(V *)(to + first) = *(const V *)(all + first);
        *(V *)(to + end - LANES) = *(const V *)(all + end - LANES);
    } else {
        memcpy(to + first, all + first, sizeof(T) * (size_t)(end - first));
    }
}

/* What the windows of element `at` of a row give it; they are s apart. */
INLINE T NAME(element)(const Rows *p, T x, npy_intp at, npy_intp w, npy_intp s)
{
    const npy_intp u = at + p->across.p, last = u / s < p->across.count ? u / s : p->across.count - 1;
    T r = 0;
    for (npy_intp i = 0; i < p->rows; i++) {
        const T *maxima = (const T *)p->maxima[i], *g = (const T *)p->g[i];
        for (npy_intp j = last; j >= 0 && j * s + w > u; j--) {
            /* No branch, which would be guessed. */
            BITS bits;
            T given;
            memcpy(&bits, &g[j], sizeof bits);
            bits &= -(BITS)(x == maxima[j]);
            memcpy(&given, &bits, sizeof given);
            r += given;
        }
    }
    return r;
}

/* Blocks of windows from j on until the last one, some of which may be made twice. */
#define BLOCKS(j, last, BLOCK)                                       \
    for (;; j = j + LANES < last ? j + LANES : last) {               \
        BLOCK;                                                       \
        if (j == last) {                                             \
            break;                                                   \
        }                                                            \
    }

/* A row whose elements are in as many windows as these are long; `at`: its first element here. */
INLINE void NAME(dense_block)(const Rows *p, const T *x, T *gx, npy_intp at, npy_intp w, int edge)
{
    const npy_intp n = p->across.n, j = at + p->across.p;
    const V here = NAME(load)(x, at, n, edge);
    V r = {0};
    for (npy_intp i = 0; i < p->rows; i++) {
        const char *maxima = p->maxima[i], *g = p->g[i];
        for (npy_intp k = 0; k < w; k++) {
            r += NAME(given)(here, maxima, g, j - k, p->across.count, edge);
        }
    }
    if (edge && at + LANES > n) {
        NAME(put)(gx + at, r, r, 0, n - at);
    } else {
        *(V *)(gx + at) = r;
    }
}

INLINE void NAME(dense_row)(const Rows *p, const T *x, T *gx, npy_intp w)
{
    const npy_intp n = p->across.n, before = p->across.p, inside = p->across.count - before;
    const npy_intp first = w - 1 > before ? w - 1 - before : 0, last = (inside < n ? inside : n) - LANES;
    if (last < first) {
        for (npy_intp i = 0; i < n; i += LANES) {
            NAME(dense_block)(p, x, gx, i + LANES <= n || n < LANES ? i : n - LANES, w, 1);
        }
        return;
    }
    for (npy_intp i = 0; i < first; i++) {
        gx[i] = NAME(element)(p, x[i], i, w, 1);
    }
    npy_intp at = first;
    BLOCKS(at, last, NAME(dense_block)(p, x, gx, at, w, 0))
    for (npy_intp i = last + LANES; i < n; i++) {
        gx[i] = NAME(element)(p, x[i], i, w, 1);
    }
}

/* Windows two apart, of two or three elements: two vectors of elements, of every second in turn. */
INLINE void NAME(strided_block)(const Rows *p, const T *x, T *gx, npy_intp j, npy_intp w, int edge)
{
    const npy_intp n = p->across.n, at = 2 * j - p->across.p;
    const V a = NAME(load)(x, at, n, edge), b = NAME(load)(x, at + LANES, n, edge);
    const V even = THN_PERMUTE(THN_SHUFFLE(a, b, (Index)EVENS), (Index)AS_READ);
    const V odd = THN_PERMUTE(THN_SHUFFLE(a, b, (Index)ODDS), (Index)AS_READ);
    V to_even = {0}, to_odd = {0};
    for (npy_intp i = 0; i < p->rows; i++) {
        const T *maxima = (const T *)p->maxima[i], *g = (const T *)p->g[i];
        const V m = NAME(load)(maxima, j, p->across.count, edge), v = NAME(load)(g, j, p->across.count, edge);
        to_even += (V)((Index)v & (Index)(even == m));
        to_odd += (V)((Index)v & (Index)(odd == m));
        if (w == 3) {
            to_even += NAME(given)(even, p->maxima[i], p->g[i], j - 1, p->across.count, edge);
        }
    }
    to_even = THN_PERMUTE(to_even, (Index)AS_READ);
    to_odd = THN_PERMUTE(to_odd, (Index)AS_READ);
    const V first = THN_SHUFFLE(to_even, to_odd, (Index)LOWER), second = THN_SHUFFLE(to_even, to_odd, (Index)UPPER);
    if (edge && (at < 0 || at + 2 * LANES > n)) {
        NAME(put)(gx + at, first, second, at < 0 ? -at : 0, at + 2 * LANES <= n ? 2 * LANES : n - at);
    } else {
        *(V *)(gx + at) = first;
        *(V *)(gx + at + LANES) = second;
    }
}

INLINE void NAME(strided_row)(const Rows *p, const T *x, T *gx, npy_intp w)
{
    const npy_intp n = p->across.n, before = p->across.p, count = p->across.count, places = (n + before) / 2;
    const npy_intp begin = (before + 1) / 2, first = begin > w - 2 ? begin : w - 2;
    const npy_intp last = (count < places ? count : places) - LANES;
    if (last < first) {
        for (npy_intp j = 0; 2 * j - before < n; j += LANES) {
            NAME(strided_block)(p, x, gx, j, w, 1);
        }
        return;
    }
    for (npy_intp i = 0; i < 2 * first - before; i++) {
        gx[i] = NAME(element)(p, x[i], i, w, 2);
    }
    npy_intp j = first;
    BLOCKS(j, last, NAME(strided_block)(p, x, gx, j, w, 0))
    for (npy_intp i = 2 * (last + LANES) - before; i < n; i++) {
        gx[i] = NAME(element)(p, x[i], i, w, 2);
    }
}

INLINE void NAME(plane)(const ThnPoolPlane *p, void (*row)(const Rows *, const T *, T *, npy_intp), npy_intp w)
{
    const ThnPoolAxis a = p->down;
    Rows rows = {.across = p->across};
    npy_intp low = p->begin + a.p - a.w + 1, high;
    low = low > 0 ? (low + a.s - 1) / a.s : 0;
    high = (p->begin + a.p) / a.s;
    for (npy_intp y = p->begin; y < p->end; y++) {
        while (low * a.s - a.p + a.w <= y) {
            low++;
        }
        while ((high + 1) * a.s - a.p <= y) {
            high++;
        }
        rows.rows = 0;
        for (npy_intp i = 0; i < p->planes; i++) {
            for (npy_intp k = low; k <= high && k < a.count; k++) {
                rows.maxima[rows.rows] = p->maxima[i] + k * p->maxima_row;
                rows.g[rows.rows++] = p->g[i] + k * p->g_row;
            }
        }
        row(&rows, (const T *)(p->x + y * p->x_row), (T *)(p->gx + y * p->gx_row), w);
    }
}

#define PLANE(KIND, W, LENGTH)                                    \
    TARGET static void NAME(KIND##_##W)(const ThnPoolPlane *p)          \
    {                                                             \
        NAME(plane)(p, NAME(KIND##_row), LENGTH);                 \
    }
PLANE(dense, 2, 2)
PLANE(dense, 3, 3)
PLANE(dense, any, p->across.w)
PLANE(strided, 2, 2)
PLANE(strided, 3, 3)

/* Windows of 2 x 2 that do not overlap and cover all of a row: two rows at a time. */
TARGET static void NAME(pairs)(const ThnPoolPlane *p)
{
    const npy_intp n = p->across.n;
    npy_intp y = p->begin;
    const int fits = y % 2 == 0 && p->planes == 1 && n >= 2 * LANES && p->across.count * 2 == n;
    for (; fits && y + 1 < p->end && y / 2 < p->down.count; y += 2) {
        const T *x = (const T *)(p->x + y * p->x_row), *below = (const T *)(p->x + (y + 1) * p->x_row);
        T *gx = (T *)(p->gx + y * p->gx_row), *gx_below = (T *)(p->gx + (y + 1) * p->gx_row);
        const T *maxima = (const T *)(p->maxima[0] + y / 2 * p->maxima_row), *g = (const T *)(p->g[0] + y / 2 * p->g_row);
        for (npy_intp i = 0; i < p->across.count; i += LANES) {
            const npy_intp j = i + LANES <= p->across.count ? i : p->across.count - LANES;
            const V m = THN_PERMUTE(*(const V *)(maxima + j), (Index)AS_READ);
            const V v = THN_PERMUTE(*(const V *)(g + j), (Index)AS_READ);
            for (int row = 0; row < 2; row++) {
                const T *from = (row ? below : x) + 2 * j;
                T *to = (row ? gx_below : gx) + 2 * j;
                const V a = *(const V *)from, b = *(const V *)(from + LANES);
                const Index even = (Index)(THN_SHUFFLE(a, b, (Index)EVENS) == m);
                const Index odd = (Index)(THN_SHUFFLE(a, b, (Index)ODDS) == m);
                /* Added to zero, as others are: no negative zeros. */
                const V to_even = (V){0} + (V)((Index)v & even), to_odd = (V){0} + (V)((Index)v & odd);
                *(V *)to = THN_SHUFFLE(to_even, to_odd, (Index)LOWER);
                *(V *)(to + LANES) = THN_SHUFFLE(to_even, to_odd, (Index)UPPER);
            }
        }
    }
    if (y < p->end) {
        ThnPoolPlane rest = *p;
        rest.begin = y;
        NAME(strided_2)(&rest);
    }
}

/* ---- windows of 3 x 3 that are one apart: columns of vectors, so that what a row of windows gives is loaded once for its three
 * rows; of small planes, since memory is best written in its order */

INLINE V NAME(load_of)(const ThnPoolPlane *p, npy_intp y, npy_intp at, int edge)
{
    if (y < 0 || y >= p->down.n) {
        return (V){0};
    }
    return NAME(load)((const T *)(p->x + y * p->x_row), at, p->across.n, edge);
}

INLINE void NAME(dense_column)(const ThnPoolPlane *p, npy_intp at, int edge)
{
    const npy_intp j = at + p->across.p, count = p->across.count, n = p->across.n;
    V x[3], sums[3] = {{0}};
    npy_intp y = p->begin - 2, k = y + p->down.p;
    _Pragma("GCC unroll 3") for (int i = 0; i < 3; i++) x[i] = NAME(load_of)(p, y + i, at, edge);
    for (; y < p->end; y++, k++) {
        if (k >= 0 && k < p->down.count) {
            const T *maxima = (const T *)(p->maxima[0] + k * p->maxima_row), *g = (const T *)(p->g[0] + k * p->g_row);
            _Pragma("GCC unroll 3") for (int c = 0; c < 3; c++) {
                const V m = NAME(load)(maxima, j - c, count, edge), v = NAME(load)(g, j - c, count, edge);
                _Pragma("GCC unroll 3") for (int i = 0; i < 3; i++) sums[i] += (V)((Index)v & (Index)(x[i] == m));
            }
        }
        if (y >= p->begin) {
            T *to = (T *)(p->gx + y * p->gx_row) + at;
            if (edge && at + LANES > n) {
                NAME(put)(to, sums[0], sums[0], 0, n - at);
            } else {
                *(V *)to = sums[0];
            }
        }
        x[0] = x[1];
        x[1] = x[2];
        x[2] = NAME(load_of)(p, y + 3, at, edge);
        sums[0] = sums[1];
        sums[1] = sums[2];
        sums[2] = (V){0};
    }
}

TARGET static void NAME(dense_columns)(const ThnPoolPlane *p)
{
    const npy_intp n = p->across.n, before = p->across.p;
    for (npy_intp i = 0; i < n; i += LANES) {
        const npy_intp at = i + LANES <= n || n < LANES ? i : n - LANES;
        if (at + before - 2 >= 0 && at + before + LANES <= p->across.count && at + LANES <= n) {
            NAME(dense_column)(p, at, 0);
        } else {
            NAME(dense_column)(p, at, 1);
        }
    }
}

static ThnPoolPlaneLoop NAME(loop_for)(const ThnPoolAxis *down, const ThnPoolAxis *a, npy_intp planes)
{
    if (planes == 1 && a->w == 3 && down->w == 3 && a->s == 1 && down->s == 1 && down->n <= COLUMN_BYTES / (npy_intp)sizeof(T) / a->n) {
        return NAME(dense_columns);
    }
    if (a->w == 2 && a->s == 2 && a->p == 0 && down->w == 2 && down->s == 2 && down->p == 0) {
        return NAME(pairs);
    }
    if (a->s == 1) {
        return a->w == 2 ? NAME(dense_2) : a->w == 3 ? NAME(dense_3) : NAME(dense_any);
    }
    return a->s != 2 ? NULL : a->w == 2 ? NAME(strided_2) : a->w == 3 ? NAME(strided_3) : NULL;
}

#undef V
#undef Index
#undef INLINE
#undef BLOCKS
#undef PLANE
#undef LOAD_IF
