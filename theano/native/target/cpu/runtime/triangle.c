/* Small triangular systems of float64; see triangle.h. The triangle is copied to memory of its own, in one form for all cases. */
#include "triangle.h"
#include "processor.h"

#include <string.h>

#define LANES 4
#define ROW_VECTORS 2
#define BLOCK_ROWS (ROW_VECTORS * LANES)
#define COLUMNS 8 /* that are solved for together */
#define ACROSS 4

typedef double Vector __attribute__((vector_size(32), aligned(sizeof(double)), may_alias));

/* Some columns of b; see lower. */
THN_WIDE static inline __attribute__((always_inline)) void lower_columns(const double *t, int64_t n, double *b, int64_t ld,
                                                                         const int columns)
{
    for (int64_t top = 0; top < n; top += LANES) {
        Vector x[COLUMNS];
        for (int c = 0; c < columns; c++) {
            x[c] = *(const Vector *)(b + top + c * ld);
        }
        for (int64_t k = 0; k < top; k++) {
            const Vector l = *(const Vector *)(t + top + k * n);
            for (int c = 0; c < columns; c++) {
                x[c] -= l * b[k + c * ld];
            }
        }
        const double *corner = t + top + top * n;
#pragma GCC unroll 8
        for (int i = 0; i < LANES - 1; i++) {
            const Vector l = *(const Vector *)(corner + i * n);
            for (int c = 0; c < columns; c++) {
                x[c] -= l * x[c][i];
            }
        }
        for (int c = 0; c < columns; c++) {
            *(Vector *)(b + top + c * ld) = x[c];
        }
    }
}

/* b = t^-1 b, where t is unit lower, its n a multiple of LANES, with zeros on its diagonal and above. */
THN_WIDE static void lower(const double *t, int64_t n, double *b, int64_t ld, int64_t columns)
{
    for (; columns >= COLUMNS; columns -= COLUMNS, b += COLUMNS * ld) {
        lower_columns(t, n, b, ld, COLUMNS);
    }
    for (; columns > 0; columns--, b += ld) {
        lower_columns(t, n, b, ld, 1);
    }
}

/* Columns `first` ... of x; see upper. */
THN_WIDE static inline __attribute__((always_inline)) void upper_columns(const double *t, int64_t n, double *x, int64_t first,
                                                                         const int columns)
{
    Vector s[ACROSS][ROW_VECTORS];
    for (int c = 0; c < columns; c++) {
        for (int m = 0; m < ROW_VECTORS; m++) {
            s[c][m] = *(const Vector *)(x + (first + c) * BLOCK_ROWS + m * LANES);
        }
    }
    for (int64_t k = 0; k < first; k++) {
        const double *row = x + k * BLOCK_ROWS;
        for (int c = 0; c < columns; c++) {
            const double u = t[k + (first + c) * n];
            for (int m = 0; m < ROW_VECTORS; m++) {
                s[c][m] -= *(const Vector *)(row + m * LANES) * u;
            }
        }
    }
    for (int c = 0; c < columns; c++) {
        const double *column = t + (first + c) * n + first;
        for (int d = 0; d < c; d++) {
            for (int m = 0; m < ROW_VECTORS; m++) {
                s[c][m] -= s[d][m] * column[d];
            }
        }
        for (int m = 0; m < ROW_VECTORS; m++) {
            s[c][m] *= column[c];
            *(Vector *)(x + (first + c) * BLOCK_ROWS + m * LANES) = s[c][m];
        }
    }
}

/* b = b t^-1, where t is upper and has the inverses of its diagonal there; b's columns are `ld` apart, which may be negative. */
THN_WIDE static void upper(const double *t, int64_t n, double *b, int64_t ld, int64_t rows)
{
    double x[THN_SMALL * BLOCK_ROWS] __attribute__((aligned(64)));
    for (; rows > 0; rows -= BLOCK_ROWS, b += BLOCK_ROWS) {
        const size_t bytes = (size_t)(rows < BLOCK_ROWS ? rows : BLOCK_ROWS) * sizeof(double);
        for (int64_t j = 0; j < n; j++) {
            if (bytes < sizeof(double) * BLOCK_ROWS) {
                memset(x + j * BLOCK_ROWS, 0, sizeof(double) * BLOCK_ROWS);
                memcpy(x + j * BLOCK_ROWS, b + j * ld, bytes);
            } else {
                memcpy(x + j * BLOCK_ROWS, b + j * ld, sizeof(double) * BLOCK_ROWS);
            }
        }
        int64_t j = 0;
        for (; j + ACROSS <= n; j += ACROSS) {
            upper_columns(t, n, x, j, ACROSS);
        }
        for (; j < n; j++) {
            upper_columns(t, n, x, j, 1);
        }
        for (j = 0; j < n; j++) {
            if (bytes < sizeof(double) * BLOCK_ROWS) {
                memcpy(b + j * ld, x + j * BLOCK_ROWS, bytes);
            } else {
                memcpy(b + j * ld, x + j * BLOCK_ROWS, sizeof(double) * BLOCK_ROWS);
            }
        }
    }
}

static int is_for(int letter, int64_t n)
{
    return letter == THN_D && n <= THN_SMALL && thn_has_avx2();
}

int thn_small_left(int letter, ThnDense a, ThnDense b)
{
    double t[THN_SMALL * THN_SMALL] __attribute__((aligned(64)));
    const int64_t n = a.rows;
    if (!is_for(letter, n) || n % LANES) {
        return 0;
    }
    for (int64_t j = 0; j < n; j++) {
        const double *column = (const double *)a.data + j * a.ld;
        memset(t + j * n, 0, (size_t)(j + 1) * sizeof *t);
        memcpy(t + j * n + j + 1, column + j + 1, (size_t)(n - j - 1) * sizeof *t);
    }
    lower(t, n, (double *)b.data, b.ld, b.cols);
    return 1;
}

/* A triangle op(a) that is lower is an upper one from its end. */
int thn_small_right(int letter, char uplo, char trans, char diag, ThnDense a, ThnDense b)
{
    double t[THN_SMALL * THN_SMALL] __attribute__((aligned(64)));
    const int transposed = trans != 'N', from_end = (uplo == 'L') != transposed;
    const int64_t n = a.rows, step = from_end ? -1 : 1, last = from_end ? n - 1 : 0;
    const int64_t along = transposed ? a.ld : 1, across = transposed ? 1 : a.ld;
    const double *start = (const double *)a.data + last * (a.ld + 1);
    if (!is_for(letter, n)) {
        return 0;
    }
    for (int64_t j = 0; j < n; j++) {
        for (int64_t k = 0; k < j; k++) {
            t[k + j * n] = start[step * (k * along + j * across)];
        }
        t[j + j * n] = diag == 'U' ? 1 : 1 / start[step * j * (a.ld + 1)];
    }
    upper(t, n, (double *)b.data + last * b.ld, step * b.ld, b.rows);
    return 1;
}
