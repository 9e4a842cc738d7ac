/* Small triangular systems; see triangle.h. The triangle is copied to memory of its own, in one form for all cases. */
#include "triangle.h"

#include <string.h>

#if defined(__GNUC__)

#define SMALL THN_SMALL
#define COLUMNS 8 /* that are solved for together */
#define ACROSS 4

#define JOIN(X, Y) X##Y

#if defined(__x86_64__)
#define T float
#define BYTES 32
#define VECTORS 2
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(X) JOIN(X, _s256)
#include "triangle_kernel.h"

#define T double
#define BYTES 32
#define VECTORS 2
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(X) JOIN(X, _d256)
#include "triangle_kernel.h"
#endif

#define T float
#define BYTES 16
#define VECTORS 2
#define TARGET
#define NAME(X) JOIN(X, _s128)
#include "triangle_kernel.h"

#define T double
#define BYTES 16
#define VECTORS 2
#define TARGET
#define NAME(X) JOIN(X, _d128)
#include "triangle_kernel.h"

#if defined(__x86_64__)
static int has_wide(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

#define BY_VECTORS(F, LETTER, ...)        \
    if (has_wide()) {                     \
        F##_##LETTER##256(__VA_ARGS__);   \
    } else {                              \
        F##_##LETTER##128(__VA_ARGS__);   \
    }
#else
#define BY_VECTORS(F, LETTER, ...) F##_##LETTER##128(__VA_ARGS__);
#endif

#define SMALL_LEFT(LETTER, T)                                                                             \
    static void left_##LETTER(ThnDense a, ThnDense b)                                                     \
    {                                                                                                     \
        T t[SMALL * SMALL] __attribute__((aligned(64)));                                                  \
        const int64_t n = a.rows;                                                                         \
        for (int64_t j = 0; j < n; j++) {                                                                 \
            const T *column = (const T *)a.data + j * a.ld;                                               \
            memset(t + j * n, 0, (size_t)(j + 1) * sizeof(T));                                            \
            memcpy(t + j * n + j + 1, column + j + 1, (size_t)(n - j - 1) * sizeof(T));                   \
        }                                                                                                 \
        BY_VECTORS(lower, LETTER, t, n, (T *)b.data, b.ld, b.cols)                                        \
    }

SMALL_LEFT(s, float)
SMALL_LEFT(d, double)

/* A triangle op(a) that is lower is an upper one from its end. */
#define SMALL_RIGHT(LETTER, T)                                                                            \
    static void right_##LETTER(int from_end, int transposed, int unit, ThnDense a, ThnDense b)            \
    {                                                                                                     \
        T t[SMALL * SMALL] __attribute__((aligned(64)));                                                  \
        const int64_t n = a.rows, step = from_end ? -1 : 1, last = from_end ? n - 1 : 0;                  \
        const int64_t along = transposed ? a.ld : 1, across = transposed ? 1 : a.ld;                      \
        const T *start = (const T *)a.data + last * (a.ld + 1);                                           \
        for (int64_t j = 0; j < n; j++) {                                                                 \
            for (int64_t k = 0; k < j; k++) {                                                             \
                t[k + j * n] = start[step * (k * along + j * across)];                                    \
            }                                                                                             \
            t[j + j * n] = unit ? 1 : 1 / start[step * j * (a.ld + 1)];                                   \
        }                                                                                                 \
        BY_VECTORS(upper, LETTER, t, n, (T *)b.data + last * b.ld, step * b.ld, b.rows)                   \
    }

SMALL_RIGHT(s, float)
SMALL_RIGHT(d, double)

int thn_small_left(int letter, ThnDense a, ThnDense b)
{
    if (letter > THN_D || a.rows > SMALL || a.rows % 8) {
        return 0;
    }
    (letter == THN_S ? left_s : left_d)(a, b);
    return 1;
}

int thn_small_right(int letter, char uplo, char trans, char diag, ThnDense a, ThnDense b)
{
    if (letter > THN_D || a.rows > SMALL) {
        return 0;
    }
    const int transposed = trans != 'N';
    (letter == THN_S ? right_s : right_d)((uplo == 'L') != transposed, transposed, diag == 'U', a, b);
    return 1;
}

#else

int thn_small_left(int letter, ThnDense a, ThnDense b)
{
    (void)letter;
    (void)a;
    (void)b;
    return 0;
}

int thn_small_right(int letter, char uplo, char trans, char diag, ThnDense a, ThnDense b)
{
    (void)letter;
    (void)uplo;
    (void)trans;
    (void)diag;
    (void)a;
    (void)b;
    return 0;
}

#endif
