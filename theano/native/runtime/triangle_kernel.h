/* Substitution with a small triangle, for one type and one kind of vectors. Included by triangle.c with
 * T: the type; BYTES: of a vector; VECTORS: of a block of rows; TARGET: attribute of functions; NAME(x): their names. */

#define LANES ((int)(BYTES / sizeof(T)))
#define BLOCK_ROWS (VECTORS * LANES)

typedef T NAME(vector) __attribute__((vector_size(BYTES), aligned(sizeof(T)), may_alias));

/* Some columns of b; see NAME(lower). */
TARGET static inline __attribute__((always_inline)) void NAME(lower_columns)(const T *t, int64_t n, T *b, int64_t ld,
                                                                            const int columns)
{
    for (int64_t top = 0; top < n; top += LANES) {
        NAME(vector) x[COLUMNS];
        for (int c = 0; c < columns; c++) {
            x[c] = *(const NAME(vector) *)(b + top + c * ld);
        }
        for (int64_t k = 0; k < top; k++) {
            const NAME(vector) l = *(const NAME(vector) *)(t + top + k * n);
            for (int c = 0; c < columns; c++) {
                x[c] -= l * b[k + c * ld];
            }
        }
        const T *corner = t + top + top * n;
#pragma GCC unroll 8
        for (int i = 0; i < LANES - 1; i++) {
            const NAME(vector) l = *(const NAME(vector) *)(corner + i * n);
            for (int c = 0; c < columns; c++) {
                x[c] -= l * x[c][i];
            }
        }
        for (int c = 0; c < columns; c++) {
            *(NAME(vector) *)(b + top + c * ld) = x[c];
        }
    }
}

/* b = t^-1 b, where t is unit lower, its n a multiple of LANES, with zeros on its diagonal and above. */
TARGET static void NAME(lower)(const T *t, int64_t n, T *b, int64_t ld, int64_t columns)
{
    for (; columns >= COLUMNS; columns -= COLUMNS, b += COLUMNS * ld) {
        NAME(lower_columns)(t, n, b, ld, COLUMNS);
    }
    for (; columns > 0; columns--, b += ld) {
        NAME(lower_columns)(t, n, b, ld, 1);
    }
}

/* Columns `first` ... of x; see NAME(upper). */
TARGET static inline __attribute__((always_inline)) void NAME(upper_columns)(const T *t, int64_t n, T *x, int64_t first,
                                                                            const int columns)
{
    NAME(vector) s[ACROSS][VECTORS];
    for (int c = 0; c < columns; c++) {
        for (int m = 0; m < VECTORS; m++) {
            s[c][m] = *(const NAME(vector) *)(x + (first + c) * BLOCK_ROWS + m * LANES);
        }
    }
    for (int64_t k = 0; k < first; k++) {
        const T *row = x + k * BLOCK_ROWS;
        for (int c = 0; c < columns; c++) {
            const T u = t[k + (first + c) * n];
            for (int m = 0; m < VECTORS; m++) {
                s[c][m] -= *(const NAME(vector) *)(row + m * LANES) * u;
            }
        }
    }
    for (int c = 0; c < columns; c++) {
        const T *column = t + (first + c) * n + first;
        for (int d = 0; d < c; d++) {
            for (int m = 0; m < VECTORS; m++) {
                s[c][m] -= s[d][m] * column[d];
            }
        }
        for (int m = 0; m < VECTORS; m++) {
            s[c][m] *= column[c];
            *(NAME(vector) *)(x + (first + c) * BLOCK_ROWS + m * LANES) = s[c][m];
        }
    }
}

/* b = b t^-1, where t is upper and has the inverses of its diagonal there; b's columns are `ld` apart, which may be negative. */
TARGET static void NAME(upper)(const T *t, int64_t n, T *b, int64_t ld, int64_t rows)
{
    T x[SMALL * BLOCK_ROWS] __attribute__((aligned(64)));
    for (; rows > 0; rows -= BLOCK_ROWS, b += BLOCK_ROWS) {
        const size_t bytes = (size_t)(rows < BLOCK_ROWS ? rows : BLOCK_ROWS) * sizeof(T);
        for (int64_t j = 0; j < n; j++) {
            if (bytes < sizeof(T) * BLOCK_ROWS) {
                memset(x + j * BLOCK_ROWS, 0, sizeof(T) * BLOCK_ROWS);
                memcpy(x + j * BLOCK_ROWS, b + j * ld, bytes);
            } else {
                memcpy(x + j * BLOCK_ROWS, b + j * ld, sizeof(T) * BLOCK_ROWS);
            }
        }
        int64_t j = 0;
        for (; j + ACROSS <= n; j += ACROSS) {
            NAME(upper_columns)(t, n, x, j, ACROSS);
        }
        for (; j < n; j++) {
            NAME(upper_columns)(t, n, x, j, 1);
        }
        for (j = 0; j < n; j++) {
            if (bytes < sizeof(T) * BLOCK_ROWS) {
                memcpy(b + j * ld, x + j * BLOCK_ROWS, bytes);
            } else {
                memcpy(b + j * ld, x + j * BLOCK_ROWS, sizeof(T) * BLOCK_ROWS);
            }
        }
    }
}

#undef LANES
#undef BLOCK_ROWS
#undef T
#undef BYTES
#undef VECTORS
#undef TARGET
#undef NAME
