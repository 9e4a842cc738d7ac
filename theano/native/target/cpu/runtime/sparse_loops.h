/* The loops of sparse.c for one element type T, one index type INDEX and one kind of processor; included once for each.
 * FN(name) is the name of a function, TARGET its attribute. No include guard. */

typedef T FN(Vector) __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));
typedef T FN(Half) __attribute__((vector_size(16)));
enum { FN(WIDE) = 32 / sizeof(T) };
#define LANES (16 / (int)sizeof(T))

/* Rows [r0, r1) of a csr matrix times N vectors of columns from q on. Sums stay in registers. An index is checked where it is used:
 * another thread may change it at any time. */
#define ROWS(N)                                                                                                     \
    for (; p - q >= N * (npy_intp)FN(WIDE); q += N * (npy_intp)FN(WIDE)) {                                          \
        FN(Vector) sum[N] = {{0}};                                                                                  \
        for (npy_intp k = start; k < end; k++) {                                                                    \
            const UINDEX c = THN_ONCE(UINDEX, indices + k);                                                         \
            THN_NEED(__builtin_expect(c < bound, 1));                                                               \
            const FN(Vector) *row = (const FN(Vector) *)(b + (npy_intp)c * w->b_row + q * item);                    \
            if (k + AHEAD < stored) {                                                                               \
                const size_t next = (size_t)b + (size_t)indices[k + AHEAD] * (size_t)w->b_row + (size_t)(q * item); \
                for (int at = 0; at < N * 32; at += 64) {                                                           \
                    __builtin_prefetch((const void *)(next + (size_t)at)); /* of an index that is not checked yet */\
                }                                                                                                   \
            }                                                                                                       \
            for (int j = 0; j < N; j++) {                                                                           \
                sum[j] += data[k] * row[j];                                                                         \
            }                                                                                                       \
        }                                                                                                           \
        FN(Vector) *to = (FN(Vector) *)(y + q * item);                                                              \
        for (int j = 0; j < N; j++) {                                                                               \
            to[j] = sum[j];                                                                                         \
        }                                                                                                           \
    }

TARGET static int FN(csr_matrix)(const void *what, npy_intp r0, npy_intp r1)
{
    const ThnProduct *w = what;
    const T *data = w->s.data;
    const INDEX *indices = w->s.indices, *indptr = w->s.indptr;
    const npy_intp item = sizeof(T), p = w->columns, stored = w->s.stored;
    const UINDEX bound = THN_BOUND(w->s.length);
    const char *b = w->b;
    for (npy_intp i = r0; i < r1; i++) {
        const npy_intp start = indptr[i], end = indptr[i + 1];
        char *y = w->y + i * w->y_row;
        npy_intp q = 0;
        THN_NEED(thn_sparse_within(&w->s, start, end));
        ROWS(8)
        ROWS(4)
        ROWS(2)
        ROWS(1)
        for (; q < p; q++) {
            T sum = 0;
            for (npy_intp k = start; k < end; k++) {
                const UINDEX c = THN_ONCE(UINDEX, indices + k);
                THN_NEED(__builtin_expect(c < bound, 1));
                sum += data[k] * *(const T *)(b + (npy_intp)c * w->b_row + q * item);
            }
            *(T *)(y + q * item) = sum;
        }
    }
    return 0;
}

/* Of rows that are not so short the simplest loop is the fastest, up to some length: of narrow numbers, whose check costs nothing,
 * and without fused operations, each of which would wait for the one before with its product, too. */
static int FN(rows_one_by_one)(const ThnProduct *w, npy_intp r0, npy_intp r1, const char *b, char *y)
{
    const T *data = w->s.data, *x = (const T *)b;
    const INDEX *indices = w->s.indices, *indptr = w->s.indptr;
    const UINDEX bound = THN_BOUND(w->s.length), stored = (UINDEX)w->s.stored;
    INDEX k = indptr[r0];
    THN_NEED((UINDEX)k <= stored);
    for (npy_intp i = r0; i < r1; i++) {
        const INDEX end = indptr[i + 1];
        T sum = 0;
        THN_NEED(__builtin_expect((UINDEX)end <= stored, 1)); /* another thread changed the matrix */
        for (; k < end; k++) {
            const UINDEX c = THN_ONCE(UINDEX, indices + k);
            THN_NEED(__builtin_expect(c < bound, 1));
            sum += data[k] * x[c];
        }
        k = end;
        *(T *)(y + i * w->y_row) = sum;
    }
    return 0;
}

/* Rows [r0, r1) of a csr matrix times one column, whose elements are `step` bytes apart. */
TARGET static inline __attribute__((always_inline)) int FN(rows_of)(const ThnProduct *w, npy_intp r0, npy_intp r1, const char *b, char *y,
                                                                    const npy_intp step)
{
    const T *data = w->s.data;
    const INDEX *indices = w->s.indices, *indptr = w->s.indptr;
    const UINDEX bound = THN_BOUND(w->s.length);
    for (npy_intp i = r0; i < r1; i++) {
        const npy_intp end = indptr[i + 1];
        npy_intp k = indptr[i];
        THN_TRY(thn_sparse_within(&w->s, k, end) ? 0 : -1);
        T even = 0, odd = 0;
        for (; k + 1 < end; k += 2) {
            const UINDEX c = THN_ONCE(UINDEX, indices + k), d = THN_ONCE(UINDEX, indices + k + 1);
            THN_TRY(c < bound && d < bound ? 0 : -1);
            even += data[k] * *(const T *)(b + (npy_intp)c * step);
            odd += data[k + 1] * *(const T *)(b + (npy_intp)d * step);
        }
        if (k < end) {
            const UINDEX c = THN_ONCE(UINDEX, indices + k);
            THN_TRY(c < bound ? 0 : -1);
            even += data[k] * *(const T *)(b + (npy_intp)c * step);
        }
        *(T *)(y + i * w->y_row) = even + odd;
    }
    return 0;
}

TARGET static int FN(long_rows)(const ThnProduct *w, npy_intp r0, npy_intp r1, const char *b, char *y)
{
    return w->b_row == sizeof(T) ? FN(rows_of)(w, r0, r1, b, y, sizeof(T)) : FN(rows_of)(w, r0, r1, b, y, w->b_row);
}

/* 16 elements that keep another, and 16 that drop it. */
static const UBITS FN(mask)[32] = {[0 ... 15] = (UBITS)-1};

/* The sum of the first `n` elements of `p`, beyond which there are others to be read, up to a multiple of 16: as what the elements of
 * a vector add up to. */
TARGET static inline FN(Half) FN(sum_of)(const T *p, npy_intp n)
{
    typedef UBITS Mask __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));
    FN(Vector) sum = {0};
    FN(Half) half[2];
    npy_intp q = 0;
    do {
        const Mask *kept = (const Mask *)(FN(mask) + (n - q < 16 ? 16 - (n - q) : 0));
        for (int step = 0; step < 16 / (int)FN(WIDE); step++) {
            sum += (FN(Vector))(kept[step] & *(const Mask *)(p + q + step * (int)FN(WIDE)));
        }
        q += 16;
    } while (q < n);
    memcpy(half, &sum, sizeof half);
    return half[0] + half[1];
}

/* Elements of `a` and `b` by turns, each the sum of two that lie half a vector apart. */
TARGET static inline FN(Half) FN(folded)(FN(Half) a, FN(Half) b)
{
    UBITS __attribute__((vector_size(16))) first;
    for (int j = 0; j < LANES; j++) {
        first[j] = (UBITS)(j % 2 * LANES + j / 2);
    }
    return THN_SHUFFLE(a, b, first) + THN_SHUFFLE(a, b, first + LANES / 2);
}

/* As many sums as a vector has elements, each of the elements of one of `rows`. */
TARGET static inline FN(Half) FN(totals)(const FN(Half) *rows)
{
    if (LANES == 2) {
        return FN(folded)(rows[0], rows[1]);
    }
    return FN(folded)(FN(folded)(rows[0], rows[2]), FN(folded)(rows[1], rows[3]));
}

/* The products of `n` values with the elements of `x` that their indices name; -1: one is out of bounds. */
TARGET static inline int FN(products_of)(const T *data, const INDEX *indices, npy_intp n, const T *x, UINDEX bound, T *products)
{
    npy_intp k = 0;
    for (; k + 4 <= n; k += 4) {
        const UINDEX c[4] = {THN_ONCE(UINDEX, indices + k), THN_ONCE(UINDEX, indices + k + 1), THN_ONCE(UINDEX, indices + k + 2),
                             THN_ONCE(UINDEX, indices + k + 3)};
        THN_NEED(__builtin_expect((c[0] < bound) & (c[1] < bound) & (c[2] < bound) & (c[3] < bound), 1));
        const T at[4] = {x[c[0]], x[c[1]], x[c[2]], x[c[3]]};
        for (int j = 0; j < 4; j++) {
            products[k + j] = data[k + j] * at[j];
        }
    }
    for (; k < n; k++) {
        const UINDEX c = THN_ONCE(UINDEX, indices + k);
        THN_NEED(c < bound);
        products[k] = data[k] * x[c];
    }
    return 0;
}

/* A few rows at a time: their products are made, and then added up row by row. Where a row ends is not
 * guessed, which is what takes the time of a loop over short rows. */
TARGET static int FN(short_rows)(const ThnProduct *w, npy_intp r0, npy_intp r1, const char *b, char *y)
{
    const INDEX *indptr = w->s.indptr;
    const T *x = (const T *)b;
    const UINDEX bound = THN_BOUND(w->s.length);
    T products[ROOM + 16];
    for (npy_intp i = r0; i < r1;) {
        const npy_intp end = i + RUN < r1 ? i + RUN : r1, start = indptr[i], n = indptr[end] - start;
        THN_NEED(thn_sparse_within(&w->s, start, start + n));
        if (n > ROOM) {
            THN_TRY(FN(long_rows)(w, i, end, b, y));
            i = end;
            continue;
        }
        THN_TRY(FN(products_of)((const T *)w->s.data + start, (const INDEX *)w->s.indices + start, n, x, bound, products));
        npy_intp at = 0;
        memset(products + n, 0, 16 * sizeof(T)); /* what sums read beyond the last row */
        for (; i < end; i += LANES) {
            const int rows = end - i < LANES ? (int)(end - i) : LANES;
            FN(Half) sums[4] = {{0}};
#pragma GCC unroll 4
            for (int j = 0; j < LANES; j++) {
                const npy_intp count = j < rows ? (npy_intp)THN_ONCE(INDEX, indptr + i + j + 1) - start - at : 0;
                THN_NEED((npy_uintp)count <= (npy_uintp)(n - at)); /* another thread changed the matrix */
                sums[j] = FN(sum_of)(products + at, count);
                at += count;
            }
            const FN(Half) totals = FN(totals)(sums);
            if (rows == LANES && w->y_row == sizeof(T)) {
                memcpy(y + i * (npy_intp)sizeof(T), &totals, sizeof totals);
                continue;
            }
            for (int j = 0; j < rows; j++) {
                *(T *)(y + (i + j) * w->y_row) = totals[j];
            }
        }
        i = end;
    }
    return 0;
}

/* Columns of any strides, one after the other. */
TARGET static int FN(csr_vectors)(const void *what, npy_intp r0, npy_intp r1)
{
    const ThnProduct *w = what;
    const int are_long = w->b_row != sizeof(T) || w->s.stored >= LONG * w->s.lines;
    const int are_short = w->s.stored < (npy_intp)SHORT_ROWS * w->s.lines;
    int r = 0;
    for (npy_intp q = 0; q < w->columns && r == 0; q++) {
        const char *b = w->b + q * w->b_col;
        char *y = w->y + q * w->y_col;
        r = are_long ? FN(long_rows)(w, r0, r1, b, y) : are_short ? FN(short_rows)(w, r0, r1, b, y)
                                                                  : FN(rows_one_by_one)(w, r0, r1, b, y);
    }
    return r;
}

/* Lines [l0, l1) of a csc matrix times one column; elements of the result are `step` bytes apart. */
static inline __attribute__((always_inline)) int FN(scatter_to)(const ThnProduct *w, npy_intp l0, npy_intp l1, const char *b,
                                                                char *restrict y, const npy_intp step)
{
    const T *restrict data = w->s.data;
    const INDEX *restrict indices = w->s.indices, *restrict indptr = w->s.indptr;
    const UINDEX bound = THN_BOUND(w->s.length), stored = (UINDEX)w->s.stored;
    INDEX k = indptr[l0];
    for (npy_intp i = 0; i < w->s.length; i++) {
        *(T *)(y + i * step) = 0;
    }
    THN_TRY((UINDEX)k <= stored ? 0 : -1);
    for (npy_intp line = l0; line < l1; line++) {
        const T x = *(const T *)(b + line * w->b_row);
        const INDEX end = indptr[line + 1];
        THN_TRY((UINDEX)end <= stored ? 0 : -1); /* another thread changed the matrix */
        for (; k < end; k++) {
            const UINDEX i = THN_ONCE(UINDEX, indices + k);
            THN_NEED(__builtin_expect(i < bound, 1));
            *(T *)(y + (npy_intp)i * step) += data[k] * x;
        }
        k = end;
    }
    return 0;
}

/* The same a few short lines at a time, see short_rows: the element of each line stands beside its values first. */
TARGET static int FN(short_columns)(const ThnProduct *w, npy_intp l0, npy_intp l1, const char *b, T *y)
{
    const INDEX *indptr = w->s.indptr;
    const UINDEX bound = THN_BOUND(w->s.length);
    T products[ROOM + 16];
    memset(y, 0, (size_t)w->s.length * sizeof(T));
    for (npy_intp line = l0; line < l1;) {
        const npy_intp end = line + RUN < l1 ? line + RUN : l1, start = indptr[line], n = indptr[end] - start;
        THN_NEED(thn_sparse_within(&w->s, start, start + n));
        const T *data = (const T *)w->s.data + start;
        const INDEX *indices = (const INDEX *)w->s.indices + start;
        for (; line < end; line++) {
            const T x = *(const T *)(b + line * w->b_row);
            const npy_intp at = indptr[line] - start, count = indptr[line + 1] - start - at;
            THN_NEED((npy_uintp)at <= (npy_uintp)n && (npy_uintp)count <= (npy_uintp)(n - at)); /* another thread changed the matrix */
            if (n > ROOM) {
                for (npy_intp k = at; k < at + count; k++) {
                    const UINDEX i = THN_ONCE(UINDEX, indices + k);
                    THN_NEED(i < bound);
                    y[i] += data[k] * x;
                }
                continue;
            }
            FN(Vector) all = {0};
            all += x;
            for (npy_intp q = 0; q == 0 || q < count; q += 16) {
                for (int step = 0; step < 16; step += (int)FN(WIDE)) {
                    *(FN(Vector) *)(products + at + q + step) = all;
                }
            }
        }
        for (npy_intp k = 0; n <= ROOM && k < n; k++) {
            products[k] *= data[k];
        }
        for (npy_intp k = 0; n <= ROOM && k < n; k++) {
            const UINDEX i = THN_ONCE(UINDEX, indices + k);
            THN_NEED(__builtin_expect(i < bound, 1));
            y[i] += products[k];
        }
    }
    return 0;
}

/* Not of fused operations, as rows_one_by_one. */
static int FN(scatter)(const ThnProduct *w, npy_intp l0, npy_intp l1, const char *b, char *y, npy_intp y_row)
{
    return y_row == sizeof(T) ? FN(scatter_to)(w, l0, l1, b, y, sizeof(T)) : FN(scatter_to)(w, l0, l1, b, y, y_row);
}

TARGET static int FN(csc_vector)(const ThnProduct *w, npy_intp l0, npy_intp l1, const char *b, char *y, npy_intp y_row)
{
    const int few = y_row == sizeof(T) && w->s.stored < SHORT_COLUMNS * w->s.lines;
    return few ? FN(short_columns)(w, l0, l1, b, (T *)y) : FN(scatter)(w, l0, l1, b, y, y_row);
}

/* For the values of lines [l0, l1) the products of the rows of `a` and `b` that their places name, C contiguous. */
TARGET static int FN(dot_at)(const void *what, npy_intp l0, npy_intp l1)
{
    const ThnSampled *w = what;
    const INDEX *indices = w->s.indices;
    const npy_intp p = w->depth, stored = w->s.stored;
    T *out = (T *)w->out;
    for (npy_intp line = l0; line < l1; line++) {
        THN_EACH_VALUE(&w->s, line, k)
        {
            THN_INDEX_OF(&w->s, k, i)
            if (k + AHEAD < stored) {
                const size_t next = (size_t)w->of_indices + (size_t)indices[k + AHEAD] * (size_t)p * sizeof(T);
                for (npy_intp at = 0; at < p * (npy_intp)sizeof(T) && at < 512; at += 64) {
                    __builtin_prefetch((const void *)(next + (size_t)at));
                }
            }
            const T *u = (const T *)w->of_lines + line * p, *v = (const T *)w->of_indices + i * p;
            FN(Vector) sum[4] = {{0}};
            npy_intp q = 0;
            for (; p - q >= 4 * (npy_intp)FN(WIDE); q += 4 * (npy_intp)FN(WIDE)) {
                for (int j = 0; j < 4; j++) {
                    sum[j] += ((const FN(Vector) *)(u + q))[j] * ((const FN(Vector) *)(v + q))[j];
                }
            }
            for (; p - q >= (npy_intp)FN(WIDE); q += (npy_intp)FN(WIDE)) {
                sum[0] += *(const FN(Vector) *)(u + q) * *(const FN(Vector) *)(v + q);
            }
            const FN(Vector) all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
            T total = 0;
            for (int j = 0; j < (int)FN(WIDE); j++) {
                total += all[j];
            }
            for (; q < p; q++) {
                total += u[q] * v[q];
            }
            out[k] = total;
        }
    }
    return 0;
}

#undef LANES
#undef ROWS
