/* The kernels that conv_winograd.h describes, for one element type, vector length and tile. Included several times, with
 *
 *     LANES   elements of a vector, a multiple of 4
 *     M       length of a tile of results: 2 or 4
 *     TILED(x) makes names of this inclusion; see for_floats.h for the others
 *
 * F(2, 3) has the points 0, 1, -1 and infinity, F(4, 3) and F(3, 4) have 0, PA, -PA, PB, -PB and infinity. PA = 3/4 and
 * PB = 3/2 give, with random numbers, half the error of 1 and 2, and are exact. */
#ifndef PA
#define PA 0.75
#define PB 1.5
#define AA (PA * PA)
#define BB (PB * PB)
/* The products of the differences from the other points, inverted. */
#define NA (1 / (2 * AA * (AA - BB)))
#define NB (1 / (2 * BB * (BB - AA)))
#endif
#define N (M + 2)
#define PANEL (2 * LANES)

typedef T TILED(Vector) __attribute__((vector_size(LANES * sizeof(T))));
typedef T TILED(Four) __attribute__((vector_size(4 * sizeof(T)), aligned(sizeof(T)), may_alias));
typedef T TILED(Eight) __attribute__((vector_size(8 * sizeof(T)), aligned(sizeof(T)), may_alias));
typedef BITS TILED(Order) __attribute__((vector_size(4 * sizeof(T))));
#define V TILED(Vector)
#define Q TILED(Four)
#define W TILED(Eight)
#define EACH(i, n) _Pragma("GCC unroll 9") for (int i = 0; i < (n); i++)
#define INLINE TARGET static inline __attribute__((always_inline))

/* Four rows of four into four columns. */
#define TRANSPOSE(a, b, c, d, x0, x1, x2, x3)                                        \
    do {                                                                             \
        const Q ab = THN_SHUFFLE(a, b, (TILED(Order)){0, 4, 1, 5});                 \
        const Q cd = THN_SHUFFLE(c, d, (TILED(Order)){0, 4, 1, 5});                 \
        const Q ab_ = THN_SHUFFLE(a, b, (TILED(Order)){2, 6, 3, 7});                \
        const Q cd_ = THN_SHUFFLE(c, d, (TILED(Order)){2, 6, 3, 7});                \
        x0 = THN_SHUFFLE(ab, cd, (TILED(Order)){0, 1, 4, 5});                       \
        x1 = THN_SHUFFLE(ab, cd, (TILED(Order)){2, 3, 6, 7});                       \
        x2 = THN_SHUFFLE(ab_, cd_, (TILED(Order)){0, 1, 4, 5});                     \
        x3 = THN_SHUFFLE(ab_, cd_, (TILED(Order)){2, 3, 6, 7});                     \
    } while (0)

/* One dim of a transform of images: N values `step` apart to N values; y may be x. */
#if M == 4
#define IMAGE_LINE(x, y, step)                                                                             \
    do {                                                                                                   \
        const V e = x[4 * (step)] - (T)BB * x[2 * (step)], f = x[3 * (step)] - (T)BB * x[step];            \
        const V g = x[4 * (step)] - (T)AA * x[2 * (step)], h = x[3 * (step)] - (T)AA * x[step];            \
        const V first = x[4 * (step)] + (T)(AA * BB) * x[0] - (T)(AA + BB) * x[2 * (step)];                \
        const V last = x[5 * (step)] + (T)(AA * BB) * x[step] - (T)(AA + BB) * x[3 * (step)];              \
        y[0] = first;                                                                                      \
        y[step] = e + (T)PA * f;                                                                           \
        y[2 * (step)] = e - (T)PA * f;                                                                     \
        y[3 * (step)] = g + (T)PB * h;                                                                     \
        y[4 * (step)] = g - (T)PB * h;                                                                     \
        y[5 * (step)] = last;                                                                              \
    } while (0)
#else
#define IMAGE_LINE(x, y, step)                                                                                 \
    do {                                                                                                       \
        const V first = x[0] - x[2 * (step)], a = x[step] + x[2 * (step)];                                     \
        const V b = x[2 * (step)] - x[step], last = x[step] - x[3 * (step)];                                   \
        y[0] = first;                                                                                          \
        y[step] = a;                                                                                           \
        y[2 * (step)] = b;                                                                                     \
        y[3 * (step)] = last;                                                                                  \
    } while (0)
#endif

/* One vector of tiles or channels: each lane's N rows of N values begin at at[lane], `row` bytes apart. */
INLINE void TILED(image_vector)(const char *const *at, npy_intp row, T *restrict out, npy_intp apart)
{
    V d[N * N];
    T *flat = (T *)d;
    for (int q = 0; q < LANES; q += 4) {
        EACH(r, N) {
            const T *rows[4];
            EACH(i, 4) rows[i] = (const T *)(at[q + i] + r * row);
            T *to = flat + r * N * LANES + q;
            Q x[4];
            TRANSPOSE(*(const Q *)rows[0], *(const Q *)rows[1], *(const Q *)rows[2], *(const Q *)rows[3], x[0], x[1], x[2], x[3]);
            EACH(j, 4) *(Q *)(to + j * LANES) = x[j];
            if (N == 6) {
                const Q a = *(const Q *)(rows[0] + 2), b = *(const Q *)(rows[1] + 2);
                const Q c = *(const Q *)(rows[2] + 2), e = *(const Q *)(rows[3] + 2);
                TRANSPOSE(a, b, c, e, x[0], x[1], x[2], x[3]);
                *(Q *)(to + (N - 2) * LANES) = x[2];
                *(Q *)(to + (N - 1) * LANES) = x[3];
            }
        }
    }
    EACH(j, N) IMAGE_LINE((d + j), (d + j), N);
    EACH(i, N) {
        V y[N];
        IMAGE_LINE((d + i * N), y, 1);
        EACH(j, N) *(V *)(out + (i * N + j) * apart) = y[j];
    }
}

TARGET static void TILED(image)(const char *const *at, npy_intp row, void *out, npy_intp apart)
{
    TILED(image_vector)(at, row, out, apart);
    TILED(image_vector)(at + LANES, row, (T *)out + LANES, apart);
}

/* G: R values `step` apart to N that are `to` apart. */
#if M == 4
#define KERNEL_LINE(R, x, y, step, to)                                                                     \
    do {                                                                                                   \
        const W even_a = x[0] * (T)NA + x[2 * (step)] * (T)(NA * AA), even_b = x[0] * (T)NB + x[2 * (step)] * (T)(NB * BB); \
        W odd_a = x[step] * (T)(NA * PA), odd_b = x[step] * (T)(NB * PB);                                  \
        if (R == 4) {                                                                                      \
            odd_a += x[(R - 1) * (step)] * (T)(NA * AA * PA);                                              \
            odd_b += x[(R - 1) * (step)] * (T)(NB * BB * PB);                                              \
        }                                                                                                  \
        y[0] = x[0] * (T)(1 / (AA * BB));                                                                  \
        y[to] = even_a + odd_a;                                                                            \
        y[2 * (to)] = even_a - odd_a;                                                                      \
        y[3 * (to)] = even_b + odd_b;                                                                      \
        y[4 * (to)] = even_b - odd_b;                                                                      \
        y[5 * (to)] = x[(R - 1) * (step)];                                                                 \
    } while (0)
#else
#define KERNEL_LINE(R, x, y, step, to)                                                                         \
    do {                                                                                                       \
        const W even = x[0] + x[2 * (step)];                                                                   \
        y[0] = x[0];                                                                                           \
        y[to] = (even + x[step]) * (T)0.5;                                                                     \
        y[2 * (to)] = (even - x[step]) * (T)0.5;                                                               \
        y[3 * (to)] = x[2 * (step)];                                                                           \
    } while (0)
#endif

/* Eight filters of R x R, g[tap][8], to their points. */
#define KERNEL(FUNCTION, R)                                            \
    INLINE void FUNCTION(const W *g, T *restrict out, npy_intp apart)  \
    {                                                                  \
        W d[N * R];                                                    \
        EACH(j, R) KERNEL_LINE(R, (g + j), (d + j), R, R);             \
        EACH(i, N) {                                                   \
            W y[N];                                                    \
            KERNEL_LINE(R, (d + i * R), y, 1, 1);                      \
            EACH(j, N) *(W *)(out + (i * N + j) * apart) = y[j];       \
        }                                                              \
    }
KERNEL(TILED(filter_vector), 3)

TARGET static void TILED(filter)(npy_intp n, const char *at, const npy_intp *strides, void *out, npy_intp apart)
{
    W g[9];
    const char *of[THN_WINOGRAD_ROWS]; /* vectors are made in registers: loads of what was stored in parts would wait */
    EACH(f, THN_WINOGRAD_ROWS) of[f] = at + (f < n ? f : n - 1) * strides[0];
    EACH(i, 9) {
        const npy_intp tap = i / 3 * strides[3] + i % 3 * strides[4];
#define OF(f) *(const T *)(of[f] + tap)
        g[i] = (W){OF(0), OF(1), OF(2), OF(3), OF(4), OF(5), 0, 0};
#undef OF
    }
    TILED(filter_vector)(g, out, apart);
}

#if M == 4
KERNEL(TILED(top_vector), 4)

TARGET static void TILED(top)(const char *const *at, npy_intp row, void *out, npy_intp apart)
{
    W g[16];
    for (int q = 0; q < 8; q += 4) {
        EACH(r, 4) {
            Q x[4];
            TRANSPOSE(*(const Q *)(at[q] + r * row), *(const Q *)(at[q + 1] + r * row), *(const Q *)(at[q + 2] + r * row),
                      *(const Q *)(at[q + 3] + r * row), x[0], x[1], x[2], x[3]);
            EACH(j, 4) *(Q *)((T *)(g + r * 4 + j) + q) = x[j];
        }
    }
    TILED(top_vector)(g, out, apart);
}
#endif

/* A: N values `step` apart to TO that are `to` apart: M, or 3 where tiles of 4 are summed over. */
#if M == 4
#define RESULT_LINE(TO, x, y, step, to)                                                                    \
    do {                                                                                                   \
        const V s = x[step] + x[2 * (step)], gap = x[step] - x[2 * (step)];                                \
        const V u = x[3 * (step)] + x[4 * (step)], v = x[3 * (step)] - x[4 * (step)];                      \
        y[0] = x[0] + s + u;                                                                               \
        y[to] = (T)PA * gap + (T)PB * v;                                                                   \
        if (TO == 4) {                                                                                     \
            y[2 * (to)] = (T)AA * s + (T)BB * u;                                                           \
            y[(TO - 1) * (to)] = (T)(AA * PA) * gap + (T)(BB * PB) * v + x[5 * (step)];                    \
        } else {                                                                                           \
            y[2 * (to)] = (T)AA * s + (T)BB * u + x[5 * (step)];                                           \
        }                                                                                                  \
    } while (0)
#else
#define RESULT_LINE(TO, x, y, step, to)                                                                        \
    do {                                                                                                       \
        y[0] = x[0] + x[step] + x[2 * (step)];                                                                 \
        y[to] = x[step] - x[2 * (step)] - x[3 * (step)];                                                       \
    } while (0)
#endif

/* One vector of products to TO x TO results: out[result][lane]. */
#define RESULT(FUNCTION, TO)                                                                         \
    INLINE void FUNCTION(const T *restrict m, npy_intp apart, V *restrict out)                       \
    {                                                                                                \
        V d[TO * N];                                                                                 \
        EACH(j, N) {                                                                                 \
            V x[N];                                                                                  \
            EACH(i, N) x[i] = *(const V *)(m + (i * N + j) * apart);                                 \
            RESULT_LINE(TO, x, (d + j), 1, N);                                                       \
        }                                                                                            \
        EACH(i, TO) RESULT_LINE(TO, (d + i * N), (out + i * TO), 1, 1);                              \
    }
RESULT(TILED(result_vector), M)
#if M == 4
RESULT(TILED(taps_vector), 3)

TARGET static void TILED(taps)(const void *m, npy_intp apart, void *taps)
{
    V y[9];
    for (int half = 0; half < 2; half++) {
        TILED(taps_vector)((const T *)m + half * LANES, apart, y);
        EACH(i, 9) *(V *)((T *)taps + i * PANEL + half * LANES) = y[i];
    }
}
#endif

TARGET static void TILED(result)(const void *m, npy_intp apart, char *const *at, const npy_intp *row)
{
    for (int half = 0; half < 2; half++, at += LANES, row += LANES) {
        V y[M * M];
        TILED(result_vector)((const T *)m + half * LANES, apart, y);
        const T *flat = (const T *)y;
        for (int q = 0; q < LANES; q += 4) {
            EACH(i, M) {
#if M == 4
                const T *from = flat + i * 4 * LANES + q;
                Q x[4];
                TRANSPOSE(*(const Q *)from, *(const Q *)(from + LANES), *(const Q *)(from + 2 * LANES),
                          *(const Q *)(from + 3 * LANES), x[0], x[1], x[2], x[3]);
                EACH(j, 4) *(Q *)(at[q + j] + i * row[q + j]) = x[j];
#else
                EACH(j, 4) {
                    T *to = (T *)(at[q + j] + i * row[q + j]);
                    to[0] = flat[(i * 2) * LANES + q + j];
                    to[1] = flat[(i * 2 + 1) * LANES + q + j];
                }
#endif
            }
        }
    }
}

#if M == 4
TARGET static void TILED(multiply)(npy_intp depth, const void *a_, const void *b_, void *out_, npy_intp apart, int add)
{
    const T *restrict a = a_, *restrict b = b_;
    T *restrict out = out_;
    V s[THN_WINOGRAD_ROWS][2];
    EACH(i, THN_WINOGRAD_ROWS) EACH(j, 2) s[i][j] = (V){0};
    for (npy_intp k = 0; k < depth; k++, a += THN_WINOGRAD_ROWS, b += PANEL) {
        const V b0 = *(const V *)b, b1 = *(const V *)(b + LANES);
        EACH(i, THN_WINOGRAD_ROWS) {
            s[i][0] += a[i] * b0;
            s[i][1] += a[i] * b1;
        }
    }
    EACH(i, THN_WINOGRAD_ROWS) EACH(j, 2) {
        V *to = (V *)(out + i * apart + j * LANES);
        *to = add ? *to + s[i][j] : s[i][j];
    }
}
#endif

#undef IMAGE_LINE
#undef KERNEL_LINE
#undef RESULT_LINE
