/* The loops of pooling for one dtype of ITEM bytes and one kind of processor, as for_floats.h includes them; of integers LEAST is
 * what no element is less than. */
#ifdef LEAST
#define LARGER(a, b) ((b) > (a) ? (b) : (a))
#else
#define LEAST (-INFINITY)
/* A NaN is the largest. The first choice is one instruction, the second hardly ever taken. */
#define LARGER(a, b) ((b) != (b) ? (b) : (b) > (a) ? (b) : (a))
#endif
/* The elements of the halves of a vector of 32 bytes that is twice as long, each repeated. */
#if ITEM == 4
#define FIRST {0, 0, 1, 1, 2, 2, 3, 3}
#define SECOND {4, 4, 5, 5, 6, 6, 7, 7}
#else
#define FIRST {0, 0, 1, 1}
#define SECOND {2, 2, 3, 3}
#endif
#define ADDED(a, b) ((a) + (b))

#define COMBINED(WHAT, OF)                                                                                          \
    TARGET static void NAME(rows_##WHAT)(void *to, const void *const *from, npy_intp nrows, npy_intp n)             \
    {                                                                                                               \
        T *restrict t = to;                                                                                         \
        const T *const *rows = (const T *const *)from;                                                              \
        const T *a = rows[0], *b = nrows > 1 ? rows[1] : NULL, *c = nrows > 2 ? rows[2] : NULL;                     \
        if (nrows == 1) {                                                                                           \
            memcpy(t, a, sizeof(T) * (size_t)n);                                                                    \
        } else if (nrows == 2) {                                                                                    \
            for (npy_intp i = 0; i < n; i++) {                                                                      \
                t[i] = OF(a[i], b[i]);                                                                              \
            }                                                                                                       \
        } else {                                                                                                    \
            for (npy_intp i = 0; i < n; i++) {                                                                      \
                const T ab = OF(a[i], b[i]);                                                                        \
                t[i] = OF(ab, c[i]);                                                                                \
            }                                                                                                       \
        }                                                                                                           \
        for (npy_intp r = 3; r < nrows; r++) {                                                                      \
            const T *row = rows[r];                                                                                 \
            for (npy_intp i = 0; i < n; i++) {                                                                      \
                t[i] = OF(t[i], row[i]);                                                                            \
            }                                                                                                       \
        }                                                                                                           \
    }                                                                                                               \
    /* The first one, two or three elements of each window, then one more of all windows at a time. */              \
    TARGET static inline __attribute__((always_inline)) void NAME(columns_##WHAT##_by)(                             \
        T *restrict z, const T *restrict t, npy_intp count, npy_intp w, npy_intp s, int first)                      \
    {                                                                                                               \
        for (npy_intp j = 0; j < count; j++) {                                                                      \
            T r = t[j * s];                                                                                         \
            r = first > 1 ? OF(r, t[j * s + 1]) : r;                                                                \
            z[j] = first > 2 ? OF(r, t[j * s + 2]) : r;                                                             \
        }                                                                                                           \
        for (npy_intp k = 3; k < w; k++) {                                                                          \
            for (npy_intp j = 0; j < count; j++) {                                                                  \
                z[j] = OF(z[j], t[j * s + k]);                                                                      \
            }                                                                                                       \
        }                                                                                                           \
    }                                                                                                               \
    TARGET static void NAME(columns_##WHAT)(void *z, const void *from, npy_intp count, npy_intp w, npy_intp s)      \
    {                                                                                                               \
        const T *restrict t = from;                                                                                 \
        if (count == 1 && w >= 16) {                                                                                \
            T part[8];                                                                                              \
            npy_intp k = 8;                                                                                         \
            memcpy(part, t, sizeof part);                                                                           \
            for (; k + 8 <= w; k += 8) {                                                                            \
                for (int q = 0; q < 8; q++) {                                                                       \
                    part[q] = OF(part[q], t[k + q]);                                                                \
                }                                                                                                   \
            }                                                                                                       \
            for (; k < w; k++) {                                                                                    \
                part[k % 8] = OF(part[k % 8], t[k]);                                                                \
            }                                                                                                       \
            for (int half = 4; half; half /= 2) {                                                                   \
                for (int q = 0; q < half; q++) {                                                                    \
                    part[q] = OF(part[q], part[q + half]);                                                          \
                }                                                                                                   \
            }                                                                                                       \
            *(T *)z = part[0];                                                                                      \
        } else if (w == 1) {                                                                                        \
            NAME(columns_##WHAT##_by)(z, t, count, 1, s, 1);                                                        \
        } else if (w == 2) {                                                                                        \
            s == 2 ? NAME(columns_##WHAT##_by)(z, t, count, 2, 2, 2) : NAME(columns_##WHAT##_by)(z, t, count, 2, s, 2);\
        } else if (s == 1) {                                                                                        \
            NAME(columns_##WHAT##_by)(z, t, count, w, 1, 3);                                                        \
        } else {                                                                                                    \
            s == 2 ? NAME(columns_##WHAT##_by)(z, t, count, w, 2, 3) : NAME(columns_##WHAT##_by)(z, t, count, w, s, 3);\
        }                                                                                                           \
    }

COMBINED(max, LARGER)
COMBINED(sum, ADDED)

TARGET static void NAME(divide)(void *to, const void *from, const void *by, npy_intp factor, npy_intp count)
{
    T *z = to;
    const T *v = from, *sizes = by, f = (T)factor;
    for (npy_intp j = 0; j < count; j++) {
        z[j] = v[j] / (f * sizes[j]);
    }
}

TARGET static inline __attribute__((always_inline)) void NAME(spread_by)(T *restrict e, const T *restrict v, npy_intp count,
                                                                         npy_intp s, npy_intp keep)
{
    for (npy_intp j = 0; j < count; j++) {
        for (npy_intp q = 0; q < s; q++) {
            e[j * s + q] = q < keep ? v[j] : 0;
        }
    }
}

TARGET static void NAME(spread)(void *to, const void *from, npy_intp count, npy_intp s, npy_intp keep)
{
    if (s == 1) {
        memcpy(to, from, sizeof(T) * (size_t)count);
    } else if (s == 2) {
        keep == 2 ? NAME(spread_by)(to, from, count, 2, 2) : NAME(spread_by)(to, from, count, 2, 1);
    } else {
        NAME(spread_by)(to, from, count, s, keep);
    }
}

typedef T NAME(V) __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));
typedef BITS NAME(M) __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));
#define LANES ((npy_intp)(32 / sizeof(T)))
#define VECTOR(p) (*(const NAME(V) *)(p))

/* What elements i.. are given by their windows, of which there are `taps` at most; added to r. */
#define GIVEN(r, from, i, taps)                                                                               \
    do {                                                                                                      \
        const NAME(V) here = VECTOR(from);                                                                    \
        for (npy_intp t = 0; t < (taps); t++) {                                                               \
            const T *gradients = t == (taps) - 1 ? last : g;                                                  \
            const NAME(M) equal = (NAME(M))(here == VECTOR(m + (i) - t * s));                                 \
            r += (NAME(V))((NAME(M))VECTOR(gradients + (i) - t * s) & equal);                                 \
        }                                                                                                     \
    } while (0)

/* The last elements are computed before any is overwritten and stored after all others, some of which they repeat. */
#define GIVE_ROW(taps)                                                                                        \
    do {                                                                                                      \
        const npy_intp end = n - LANES;                                                                       \
        NAME(V) tail = {0};                                                                                   \
        if (add) {                                                                                            \
            tail = VECTOR(gx + end);                                                                          \
        }                                                                                                     \
        GIVEN(tail, x + end, end, taps);                                                                      \
        for (npy_intp i = 0; i < end; i += LANES) {                                                           \
            NAME(V) r = {0};                                                                                  \
            if (add) {                                                                                        \
                r = VECTOR(gx + i);                                                                           \
            }                                                                                                 \
            GIVEN(r, x + i, i, taps);                                                                         \
            *(NAME(V) *)(gx + i) = r;                                                                         \
        }                                                                                                     \
        *(NAME(V) *)(gx + end) = tail;                                                                        \
    } while (0)

TARGET static void NAME(max_gradient)(void *to, const void *from, const void *maxima, const void *gradient,
                                      const void *last_gradient, npy_intp n, npy_intp taps, npy_intp s, int add)
{
    T *gx = to;
    const T *x = from, *m = maxima, *g = gradient, *last = last_gradient;
    if (n < LANES) {
        T images[32 / sizeof(T)] = {0}, given[32 / sizeof(T)] = {0};
        memcpy(images, x, sizeof(T) * (size_t)n);
        if (add) {
            memcpy(given, gx, sizeof(T) * (size_t)n);
        }
        NAME(V) r = VECTOR(given);
        GIVEN(r, images, 0, taps);
        *(NAME(V) *)given = r;
        memcpy(gx, given, sizeof(T) * (size_t)n);
    } else if (taps == 1) {
        GIVE_ROW(1);
    } else if (taps == 2) {
        GIVE_ROW(2);
    } else if (taps == 3) {
        GIVE_ROW(3);
    } else {
        GIVE_ROW(taps);
    }
}

/* The same for windows of two elements that do not overlap, of which there are as many as in `maxima`. */
TARGET static void NAME(pair_gradient)(void *to, const void *from, const void *maxima, const void *gradient, npy_intp n,
                                       npy_intp count)
{
    T *gx = to;
    const T *x = from, *m = maxima, *g = gradient;
    npy_intp j = 0;
    if (count >= LANES) {
        for (;;) {
            const NAME(V) mv = VECTOR(m + j), gv = VECTOR(g + j);
            for (int half = 0; half < 2; half++) {
                const NAME(M) which = half ? (NAME(M))SECOND : (NAME(M))FIRST;
                const npy_intp at = 2 * j + half * LANES;
                const NAME(M) equal = (NAME(M))(VECTOR(x + at) == THN_PERMUTE(mv, which));
                *(NAME(V) *)(gx + at) = (NAME(V))((NAME(M))THN_PERMUTE(gv, which) & equal);
            }
            if (j == count - LANES) {
                break;
            }
            j = j + 2 * LANES <= count ? j + LANES : count - LANES;
        }
        j = count;
    }
    for (; j < count; j++) {
        const T mj = m[j], gj = g[j];
        gx[2 * j] = x[2 * j] == mj ? gj : 0;
        gx[2 * j + 1] = x[2 * j + 1] == mj ? gj : 0;
    }
    for (npy_intp i = 2 * count; i < n; i++) {
        gx[i] = 0;
    }
}

/* Rows that one window covers each: gradients of their sums, of their maxima. */
TARGET static void NAME(whole_sum_gradient)(void *to, const void *gradient, const void *size, npy_intp rows, npy_intp n)
{
    T *restrict gx = to;
    const T *g = gradient;
    for (npy_intp r = 0; r < rows; r++, gx += n) {
        const T each = g[r] / *(const T *)size;
        for (npy_intp i = 0; i < n; i++) {
            gx[i] = each;
        }
    }
}

TARGET static void NAME(whole_max_gradient)(void *to, const void *from, const void *maxima, const void *gradient, npy_intp rows,
                                            npy_intp n)
{
    T *restrict gx = to;
    const T *restrict x = from;
    const T *m = maxima, *g = gradient;
    for (npy_intp r = 0; r < rows; r++, gx += n, x += n) {
        const T mr = m[r], gr = g[r];
        for (npy_intp i = 0; i < n; i++) {
            gx[i] = x[i] == mr ? gr : 0;
        }
    }
}

#undef GIVEN
#undef GIVE_ROW
#undef VECTOR
#undef LANES

TARGET static void NAME(sum_gradient)(void *to, const void *gradient, const void *last_gradient, npy_intp n, npy_intp taps,
                                      npy_intp s)
{
    T *restrict r = to;
    const T *g = gradient, *last = (const T *)last_gradient - (taps - 1) * s;
    if (taps == 1) {
        memcpy(r, last, sizeof(T) * (size_t)n);
        return;
    }
    for (npy_intp i = 0; i < n; i++) {
        r[i] = g[i] + last[i];
    }
    for (npy_intp t = 1; t < taps - 1; t++) {
        g -= s;
        for (npy_intp i = 0; i < n; i++) {
            r[i] += g[i];
        }
    }
}

TARGET static void NAME(add)(void *to, const void *from, npy_intp n)
{
    T *restrict a = to;
    const T *restrict b = from;
    for (npy_intp i = 0; i < n; i++) {
        a[i] += b[i];
    }
}

TARGET static void NAME(pick)(void *to, const void *images, const void *maxima, const void *from, npy_intp n)
{
    T *restrict picked = to;
    const T *x = images, *m = maxima, *v = from;
    for (npy_intp i = 0; i < n; i++) {
        const T value = v[i];
        picked[i] += x[i] == m[i] ? value : 0;
    }
}

TARGET static void NAME(add_strided)(void *to, const void *from, npy_intp count, npy_intp s)
{
    T *restrict z = to;
    const T *restrict picked = from;
    for (npy_intp j = 0; j < count; j++) {
        z[j] += picked[j * s];
    }
}

TARGET static void NAME(replace_strided)(void *to, const void *images, const void *maxima, const void *from, npy_intp count,
                                         npy_intp s)
{
    T *restrict z = to;
    const T *x = images, *m = maxima, *v = from;
    for (npy_intp j = 0; j < count; j++) {
        z[j] = x[j * s] == m[j] ? v[j * s] : z[j];
    }
}

TARGET static void NAME(fill_least)(void *to, npy_intp n)
{
    T *t = to;
    for (npy_intp i = 0; i < n; i++) {
        t[i] = LEAST;
    }
}

TARGET static void NAME(fill_sizes)(void *to, const npy_intp *sizes, npy_intp n)
{
    T *t = to;
    for (npy_intp i = 0; i < n; i++) {
        t[i] = (T)sizes[i];
    }
}

static const ThnPooling NAME(loops) = {
    sizeof(T),          NAME(rows_max),     NAME(rows_sum), NAME(columns_max), NAME(columns_sum), NAME(divide),
    NAME(spread),       NAME(max_gradient), NAME(sum_gradient), NAME(add),     NAME(pick),        NAME(add_strided),
    NAME(replace_strided), NAME(fill_least), NAME(fill_sizes), NAME(pair_gradient), NAME(whole_sum_gradient),
    NAME(whole_max_gradient),
};

#undef ADDED
#undef COMBINED
#undef FIRST
#undef SECOND
#undef LEAST
#undef LARGER
