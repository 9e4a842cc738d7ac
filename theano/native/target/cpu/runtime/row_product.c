/* Products of a row and a matrix. Where rows of the matrix lie together, vectors of its columns are summed in registers, of large
 * matrices several rows at a time are added to the result; where columns do, four of them at a time are multiplied with the row. */
#include "row_product.h"
#include "threads.h"
#include "processor.h"

#define MOST_ELEMENTS 32768
#define LEAST_COLUMNS 64  /* of a large matrix */
#define TASK_ELEMENTS 65536
#define STRIP 2048        /* columns of the result that stay in the first cache while rows are added to them */

typedef ThnRowProduct Row;

#ifdef THN_AVX2
#include <immintrin.h>

typedef float F8 __attribute__((vector_size(32), aligned(4)));
typedef double D4 __attribute__((vector_size(32), aligned(8)));
typedef float F16 __attribute__((vector_size(64), aligned(4)));
typedef double D8 __attribute__((vector_size(64), aligned(8)));

/* Columns of y from `first` on: alpha * sum + beta * z. */
#define FINISH(T)                                                                                                   \
    THN_PUT_ROW(T)                                                                                                  \
    THN_AVX2 static inline void finish_##T(const Row *r, npy_intp first, int n, const T *sum)                       \
    {                                                                                                               \
        const char *z = r->z ? r->z + first * r->zs : NULL;                                                         \
        put_row_##T(n, (T)r->alpha, sum, (T)r->beta, z, r->zs, r->y + first * r->ys, r->ys);                        \
    }

/* The first n elements at p. */
THN_AVX2 static inline F8 part_float(const float *p, int n)
{
    static const int32_t mask[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    return (F8)_mm256_maskload_ps(p, _mm256_loadu_si256((const __m256i *)(mask + 8 - n)));
}

THN_AVX2 static inline D4 part_double(const double *p, int n)
{
    static const int64_t mask[8] = {-1, -1, -1, -1};
    return (D4)_mm256_maskload_pd(p, _mm256_loadu_si256((const __m256i *)(mask + 4 - n)));
}

/* `n` columns, those of NV vectors, or fewer of one, whose LOAD leaves what lies behind them unread; CHAINS rows are added at a time,
 * each to sums of its own, so that additions need not wait. */
#define WHOLE(T, V, J) ((const V *)b)[J]
#define PART(T, V, J) part_##T((const T *)b, n)
#define BLOCK(NAME, T, V, NV, CHAINS, LOAD) BLOCK_FOR(THN_AVX2, NAME, T, V, NV, CHAINS, LOAD)
#define BLOCK_FOR(TARGET, NAME, T, V, NV, CHAINS, LOAD)                                                             \
    TARGET static void NAME(const Row *r, npy_intp first, int n)                                                    \
    {                                                                                                               \
        enum { LANES = sizeof(V) / sizeof(T) };                                                                     \
        V acc[CHAINS][NV];                                                                                          \
        const npy_intp depth = r->b.rows, step = r->b.row_stride;                                                   \
        const char *b = r->b.data + first * (npy_intp)sizeof(T), *x = r->x;                                         \
        T sum[NV * LANES];                                                                                          \
        npy_intp i = 0;                                                                                             \
        _Pragma("GCC unroll 8") for (int c = 0; c < CHAINS; c++) {                                                  \
            _Pragma("GCC unroll 16") for (int j = 0; j < NV; j++) acc[c][j] = (V){0};                               \
        }                                                                                                           \
        for (; i + CHAINS <= depth; i += CHAINS) {                                                                  \
            _Pragma("GCC unroll 8") for (int c = 0; c < CHAINS; c++, x += r->xs, b += step) {                       \
                const T v = *(const T *)x;                                                                          \
                _Pragma("GCC unroll 16") for (int j = 0; j < NV; j++) acc[c][j] += v * LOAD(T, V, j);               \
            }                                                                                                       \
        }                                                                                                           \
        for (; i < depth; i++, x += r->xs, b += step) {                                                             \
            const T v = *(const T *)x;                                                                              \
            _Pragma("GCC unroll 16") for (int j = 0; j < NV; j++) acc[0][j] += v * LOAD(T, V, j);                   \
        }                                                                                                           \
        _Pragma("GCC unroll 8") for (int h = CHAINS / 2; h > 0; h /= 2) {                                           \
            _Pragma("GCC unroll 8") for (int c = 0; c < h; c++) {                                                   \
                _Pragma("GCC unroll 16") for (int j = 0; j < NV; j++) acc[c][j] += acc[c + h][j];                   \
            }                                                                                                       \
        }                                                                                                           \
        if (r->ys == sizeof(T) && !r->z && n == NV * LANES) {                                                       \
            V *y = (V *)((T *)r->y + first);                                                                        \
            _Pragma("GCC unroll 16") for (int j = 0; j < NV; j++) y[j] = (T)r->alpha * acc[0][j];                   \
            return;                                                                                                 \
        }                                                                                                           \
        _Pragma("GCC unroll 16") for (int j = 0; j < NV; j++) *(V *)(sum + j * LANES) = acc[0][j];                  \
        finish_##T(r, first, n, sum);                                                                               \
    }

#define BLOCKS_OF(NV, BLOCK_OF_THEM)                                                                                \
    for (; j + NV * LANES <= n; j += NV * LANES) {                                                                  \
        BLOCK_OF_THEM(r, j, NV * LANES);                                                                            \
    }
/* As many columns as there are registers for, whose rows are read as they lie: what is not in the first cache comes ahead. */
#define BY_WIDE_ROWS(NAME, T, V)                                                                                    \
    BLOCK_FOR(THN_AVX512, NAME##_w16, T, V, 16, 1, WHOLE)                                                           \
    BLOCK_FOR(THN_AVX512, NAME##_w12, T, V, 12, 1, WHOLE)                                                           \
    BLOCK_FOR(THN_AVX512, NAME##_w8, T, V, 8, 1, WHOLE)                                                             \
    BLOCK_FOR(THN_AVX512, NAME##_w4, T, V, 4, 2, WHOLE)                                                             \
    BLOCK_FOR(THN_AVX512, NAME##_w2, T, V, 2, 4, WHOLE)                                                             \
    static npy_intp NAME##_wide(const Row *r)                                                                       \
    {                                                                                                               \
        enum { LANES = sizeof(V) / sizeof(T) };                                                                     \
        const npy_intp n = r->b.cols;                                                                               \
        npy_intp j = 0;                                                                                             \
        BLOCKS_OF(16, NAME##_w16)                                                                                   \
        BLOCKS_OF(12, NAME##_w12)                                                                                   \
        BLOCKS_OF(8, NAME##_w8)                                                                                     \
        BLOCKS_OF(4, NAME##_w4)                                                                                     \
        BLOCKS_OF(2, NAME##_w2)                                                                                     \
        return j;                                                                                                   \
    }
#define BY_ROWS(NAME, T, V)                                                                                         \
    BLOCK(NAME##_8, T, V, 8, 1, WHOLE)                                                                              \
    BLOCK(NAME##_4, T, V, 4, 2, WHOLE)                                                                              \
    BLOCK(NAME##_2, T, V, 2, 4, WHOLE)                                                                              \
    BLOCK(NAME##_1, T, V, 1, 8, WHOLE)                                                                              \
    BLOCK(NAME##_part, T, V, 1, 4, PART)                                                                            \
    THN_AVX2 static void NAME(const Row *r)                                                                         \
    {                                                                                                               \
        enum { LANES = sizeof(V) / sizeof(T) };                                                                     \
        const npy_intp n = r->b.cols;                                                                               \
        npy_intp j = thn_has_avx512() ? NAME##_wide(r) : 0;                                                         \
        BLOCKS_OF(8, NAME##_8)                                                                                      \
        BLOCKS_OF(4, NAME##_4)                                                                                      \
        BLOCKS_OF(2, NAME##_2)                                                                                      \
        BLOCKS_OF(1, NAME##_1)                                                                                      \
        if (j < n) {                                                                                                \
            NAME##_part(r, j, (int)(n - j));                                                                        \
        }                                                                                                           \
    }

/* Sums over the lanes of four vectors. */
THN_AVX2 static inline void fold_float(const F8 *a, float *sum)
{
    const __m256 t = _mm256_hadd_ps(_mm256_hadd_ps((__m256)a[0], (__m256)a[1]), _mm256_hadd_ps((__m256)a[2], (__m256)a[3]));
    _mm_storeu_ps(sum, _mm_add_ps(_mm256_castps256_ps128(t), _mm256_extractf128_ps(t, 1)));
}

THN_AVX2 static inline void fold_double(const D4 *a, double *sum)
{
    const __m256d t = _mm256_hadd_pd((__m256d)a[0], (__m256d)a[1]), u = _mm256_hadd_pd((__m256d)a[2], (__m256d)a[3]);
    _mm256_storeu_pd(sum, _mm256_add_pd(_mm256_permute2f128_pd(t, u, 0x20), _mm256_permute2f128_pd(t, u, 0x31)));
}

#define BY_COLUMNS(NAME, T, V)                                                                                      \
    THN_AVX2 static void NAME(const Row *r)                                                                         \
    {                                                                                                               \
        enum { LANES = sizeof(V) / sizeof(T) };                                                                     \
        const npy_intp depth = r->b.rows, n = r->b.cols, step = r->b.col_stride;                                    \
        const T *x = (const T *)r->x;                                                                               \
        for (npy_intp j = 0; j < n; j += 4) {                                                                       \
            const int m = n - j < 4 ? (int)(n - j) : 4;                                                             \
            const T *b[4];                                                                                          \
            V even[4], odd[4];                                                                                      \
            T sum[4];                                                                                               \
            npy_intp i = 0;                                                                                         \
            _Pragma("GCC unroll 4") for (int c = 0; c < 4; c++) {                                                   \
                b[c] = (const T *)(r->b.data + (j + (c < m ? c : 0)) * step);                                       \
                even[c] = odd[c] = (V){0};                                                                          \
            }                                                                                                       \
            for (; i + 2 * LANES <= depth; i += 2 * LANES) {                                                        \
                const V u = *(const V *)(x + i), v = *(const V *)(x + i + LANES);                                   \
                _Pragma("GCC unroll 4") for (int c = 0; c < 4; c++) {                                               \
                    even[c] += u * *(const V *)(b[c] + i);                                                          \
                    odd[c] += v * *(const V *)(b[c] + i + LANES);                                                   \
                }                                                                                                   \
            }                                                                                                       \
            if (i + LANES <= depth) {                                                                               \
                const V u = *(const V *)(x + i);                                                                    \
                _Pragma("GCC unroll 4") for (int c = 0; c < 4; c++) even[c] += u * *(const V *)(b[c] + i);          \
                i += LANES;                                                                                         \
            }                                                                                                       \
            _Pragma("GCC unroll 4") for (int c = 0; c < 4; c++) even[c] += odd[c];                                  \
            fold_##T(even, sum);                                                                                    \
            for (; i < depth; i++) {                                                                                \
                _Pragma("GCC unroll 4") for (int c = 0; c < 4; c++) sum[c] += x[i] * b[c][i];                       \
            }                                                                                                       \
            finish_##T(r, j, m, sum);                                                                               \
        }                                                                                                           \
    }

/* Rows of a large matrix, eight at a time, are added to columns [from, to) of y. Each element is made of the same operations in the
 * same order wherever the columns are cut. */
#define ADD_ROWS(T, V, COUNT)                                                                                       \
    for (; i + COUNT <= r->b.rows; i += COUNT) {                                                                    \
        const T *b[COUNT];                                                                                          \
        T v[COUNT];                                                                                                 \
        npy_intp j = 0;                                                                                             \
        _Pragma("GCC unroll 8") for (int q = 0; q < COUNT; q++) {                                                   \
            b[q] = (const T *)(r->b.data + (i + q) * r->b.row_stride) + c;                                          \
            v[q] = alpha * *(const T *)(r->x + (i + q) * r->xs);                                                    \
        }                                                                                                           \
        for (; j + LANES <= n; j += LANES) {                                                                        \
            V a = *(const V *)(y + j);                                                                              \
            _Pragma("GCC unroll 8") for (int q = 0; q < COUNT; q++) a += v[q] * *(const V *)(b[q] + j);             \
            *(V *)(y + j) = a;                                                                                      \
        }                                                                                                           \
        for (; j < n; j++) {                                                                                        \
            T a = y[j];                                                                                             \
            _Pragma("GCC unroll 8") for (int q = 0; q < COUNT; q++) a += v[q] * b[q][j];                            \
            y[j] = a;                                                                                               \
        }                                                                                                           \
    }

#define SWEEP(NAME, T, V)                                                                                           \
    THN_AVX2 static int NAME(void *ctx, npy_intp from, npy_intp to)                                                 \
    {                                                                                                               \
        enum { LANES = sizeof(V) / sizeof(T) };                                                                     \
        const Row *r = ctx;                                                                                         \
        const T alpha = (T)r->alpha, beta = (T)r->beta;                                                             \
        for (npy_intp c = from; c < to; c += STRIP) {                                                               \
            const npy_intp n = to - c < STRIP ? to - c : STRIP;                                                     \
            T *y = (T *)r->y + c;                                                                                   \
            npy_intp i = 0;                                                                                         \
            for (npy_intp j = 0; j < n; j++) {                                                                      \
                y[j] = r->z ? beta * *(const T *)(r->z + (c + j) * r->zs) : 0;                                      \
            }                                                                                                       \
            ADD_ROWS(T, V, 8)                                                                                       \
            ADD_ROWS(T, V, 1)                                                                                       \
        }                                                                                                           \
        return 0;                                                                                                   \
    }

FINISH(float)
FINISH(double)
SWEEP(sweep_f4, float, F8)
SWEEP(sweep_f8, double, D4)
BY_WIDE_ROWS(rows_f4, float, F16)
BY_WIDE_ROWS(rows_f8, double, D8)
BY_ROWS(rows_f4, float, F8)
BY_ROWS(rows_f8, double, D4)
BY_COLUMNS(columns_f4, float, F8)
BY_COLUMNS(columns_f8, double, D4)

#define OF_TYPE(single, name) ((single) ? name##_f4 : name##_f8)
#else
#define OF_TYPE(single, name) NULL
#endif

static int is_for_us(int typenum)
{
    return (typenum == NPY_FLOAT || typenum == NPY_DOUBLE) && thn_has_avx2();
}

int thn_takes_row_product(int typenum, const ThnMatrix *b)
{
    return b->rows * b->cols <= MOST_ELEMENTS && is_for_us(typenum);
}

/* The function for a small product, or NULL. */
static void (*small_product(int single, const Row *r))(const Row *)
{
    const npy_intp item = single ? 4 : 8;
    if (r->b.row_stride == item && r->xs == item && (r->b.col_stride != item || r->b.cols == 1)) {
        return OF_TYPE(single, columns);
    }
    return r->b.col_stride != item ? NULL : OF_TYPE(single, rows);
}

/* One task a thread: the fewer cuts, the longer what is read of each row. */
static void run_sweep(const Row *r, int single)
{
    const npy_intp n = r->b.cols, worth = n * r->b.rows / TASK_ELEMENTS, most = n / LEAST_COLUMNS;
    const npy_intp tasks = thn_most(thn_least(thn_get_threads(), thn_least(worth, most)), 1);
    thn_parallel_ranges(n, ((n + tasks - 1) / tasks + 15) / 16 * 16, OF_TYPE(single, sweep), (void *)r);
}

int thn_row_product_call(ThnRowProduct *r, int typenum, npy_intp xs, const ThnMatrix *b, npy_intp zs, npy_intp ys, const void *alpha,
                         const void *beta)
{
    if (!is_for_us(typenum)) {
        return 0;
    }
    *r = (Row){.xs = xs, .zs = zs, .ys = ys, .b = *b, .alpha = thn_number(typenum, alpha, 1.0),
               .beta = thn_number(typenum, beta, 0.0)};
    r->run = thn_takes_row_product(typenum, b) ? small_product(typenum == NPY_FLOAT, r) : NULL;
    return r->run != NULL;
}

int thn_row_product(int typenum, const char *x, npy_intp xs, const ThnMatrix *b, const char *z, npy_intp zs, char *y, npy_intp ys,
                    const void *alpha, const void *beta)
{
    const npy_intp item = typenum == NPY_FLOAT ? 4 : 8;
    Row r;
    const int small = thn_row_product_call(&r, typenum, xs, b, zs, ys, alpha, beta);
    if (!small && (!is_for_us(typenum) || b->rows * b->cols <= MOST_ELEMENTS || b->cols < LEAST_COLUMNS || b->rows < 8
                   || b->col_stride != item || ys != item)) {
        return 0;
    }
    r.x = x;
    r.y = y;
    r.z = r.beta == 0 ? NULL : z;
    if (small) {
        r.run(&r);
    } else {
        run_sweep(&r, typenum == NPY_FLOAT);
    }
    return 1;
}
