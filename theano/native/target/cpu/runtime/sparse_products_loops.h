/* The loops of sparse_products.c for one type of values and one of indices, see for_values.h. No include guard. */
#define TIMES(x, y) JOIN(times_of, SUFFIX, )(x, y)

/* Rows [r0, r1) of a csr matrix times a dense one. */
static int FN(rows)(const void *what, npy_intp r0, npy_intp r1)
{
    const ThnProduct *w = what;
    const T *data = w->s.data;
    const INDEX *indices = w->s.indices, *indptr = w->s.indptr;
    const npy_intp item = sizeof(T), p = w->columns;
    const int dense = w->b_col == item && w->y_col == item;
    for (npy_intp i = r0; i < r1; i++) {
        char *y = w->y + i * w->y_row;
        for (npy_intp q = 0; q < p; q++) {
            *(T *)(y + q * w->y_col) = 0;
        }
        THN_EACH_VALUE(&w->s, i, k)
        {
            THN_INDEX_OF(&w->s, k, at)
            const T value = data[k];
            const char *b = w->b + at * w->b_row;
            if (dense) {
                const T *restrict from = (const T *)b;
                T *restrict to = (T *)y;
                for (npy_intp q = 0; q < p; q++) {
                    to[q] += TIMES(value, from[q]);
                }
            } else {
                for (npy_intp q = 0; q < p; q++) {
                    *(T *)(y + q * w->y_col) += TIMES(value, *(const T *)(b + q * w->b_col));
                }
            }
        }
    }
    return 0;
}

/* A csc matrix times one column. */
static int FN(columns)(const ThnProduct *w, const char *b, char *y)
{
    const T *data = w->s.data;
    const INDEX *indices = w->s.indices, *indptr = w->s.indptr;
    for (npy_intp i = 0; i < w->s.length; i++) {
        *(T *)(y + i * w->y_row) = 0;
    }
    for (npy_intp line = 0; line < w->s.lines; line++) {
        const T x = *(const T *)(b + line * w->b_row);
        THN_EACH_VALUE(&w->s, line, k)
        {
            THN_INDEX_OF(&w->s, k, at)
            *(T *)(y + at * w->y_row) += TIMES(data[k], x);
        }
    }
    return 0;
}

/* For the values of lines [l0, l1) the products of the rows that their places name. */
static int FN(dot_at)(const void *what, npy_intp l0, npy_intp l1)
{
    const ThnSampled *w = what;
    const INDEX *indices = w->s.indices, *indptr = w->s.indptr;
    for (npy_intp line = l0; line < l1; line++) {
        const T *u = (const T *)w->of_lines + line * w->depth;
        THN_EACH_VALUE(&w->s, line, k)
        {
            THN_INDEX_OF(&w->s, k, at)
            const T *v = (const T *)w->of_indices + at * w->depth;
            T total = 0;
            for (npy_intp q = 0; q < w->depth; q++) {
                total += TIMES(u[q], v[q]);
            }
            ((T *)w->out)[k] = total;
        }
    }
    return 0;
}

/* Lines [l0, l1) of the product of two matrices. Sums are kept for all indices; which are not zero stand in `seen`, a bit for each,
 * and in `words`, a bit for each word of it: reading them gives the indices in order. */
static npy_intp FN(times)(const void *what, npy_intp l0, npy_intp l1, char *to_data, char *to_indices, void *to_ends, npy_intp room)
{
    const Times *w = what;
    const T *x = w->a.data, *y = w->b.data;
    const INDEX *i_x = w->a.indices, *p_x = w->a.indptr, *i_y = w->b.indices, *p_y = w->b.indptr;
    const size_t length = (size_t)w->b.length, n_seen = length / 64 + 1, n_words = n_seen / 64 + 1;
    const size_t bytes = 8 * (n_seen + n_words) + length * sizeof(T);
    /* Of long lines only the pages that are used become memory. */
    uint64_t *seen = length > MOST_SUMS ? NULL : bytes > LONG_LINES ? calloc(1, bytes) : thn_pool_alloc(bytes);
    uint64_t *words = seen + n_seen;
    T *sums = (T *)(words + n_words), *out = (T *)to_data;
    INDEX *indices = (INDEX *)to_indices, *ends = to_ends;
    npy_intp n = 0;
    if (!seen) {
        return -2;
    }
    if (bytes <= LONG_LINES) {
        memset(seen, 0, bytes);
    }
    for (npy_intp line = l0; line < l1; line++) {
        const npy_intp k_start = p_x[line], k_end = p_x[line + 1];
        if (!thn_sparse_within(&w->a, k_start, k_end)) {
            goto wrong;
        }
        for (npy_intp k = k_start; k < k_end; k++) {
            const npy_uintp middle = (npy_uintp)THN_ONCE(INDEX, i_x + k);
            if (middle >= (npy_uintp)w->b.lines) {
                goto wrong;
            }
            const T value = x[k];
            const npy_intp j_start = p_y[middle], j_end = p_y[middle + 1];
            if (!thn_sparse_within(&w->b, j_start, j_end)) {
                goto wrong;
            }
            for (npy_intp j = j_start; j < j_end; j++) {
                const npy_uintp c = (npy_uintp)THN_ONCE(INDEX, i_y + j);
                if (c >= length) {
                    goto wrong;
                }
                sums[c] += TIMES(value, y[j]);
                seen[c >> 6] |= (uint64_t)1 << (c & 63);
                words[c >> 12] |= (uint64_t)1 << (c >> 6 & 63);
            }
        }
        for (size_t high = 0; high < n_words; high++) {
            for (uint64_t rest = words[high]; rest; rest &= rest - 1) {
                const size_t at = high * 64 + (size_t)__builtin_ctzll(rest);
                for (uint64_t bits = seen[at]; bits; bits &= bits - 1) {
                    const size_t c = at * 64 + (size_t)__builtin_ctzll(bits);
                    if (n == room) {
                        goto wrong; /* another thread changed the matrix */
                    }
                    if (sums[c] != 0) {
                        out[n] = sums[c];
                        indices[n++] = (INDEX)c;
                    }
                    sums[c] = 0;
                }
                seen[at] = 0;
            }
            words[high] = 0;
        }
        ends[line] = (INDEX)n;
    }
    goto done;
wrong:
    n = -1;
done:
    if (bytes > LONG_LINES) {
        free(seen);
    } else {
        thn_pool_free(seen);
    }
    return n;
}
