/* The loops of sparse_products.c for one type of values and one of indices, see for_values.h. No include guard. */
#define TIMES(x, y) JOIN(times_of, SUFFIX, )(x, y)

/* Lines [l0, l1) of a matrix times p columns: those of csr are rows of the result, those of csc add to rows all over it, which was
 * cleared. */
static inline __attribute__((always_inline)) int FN(product_of)(const ThnProduct w, npy_intp l0, npy_intp l1, const int csc,
                                                                const npy_intp p)
{
    const T *data = w.s.data;
    const int dense = w.b_col == sizeof(T) && w.y_col == sizeof(T);
    for (npy_intp line = l0; line < l1; line++) {
        for (npy_intp q = 0; q < p && !csc; q++) {
            *(T *)(w.y + line * w.y_row + q * w.y_col) = 0;
        }
        THN_EACH_VALUE(&w.s, line, k)
        {
            THN_INDEX_OF(&w.s, k, at)
            const T value = data[k];
            const char *b = w.b + (csc ? line : at) * w.b_row;
            char *y = w.y + (csc ? at : line) * w.y_row;
            if (dense) {
                const T *restrict from = (const T *)b;
                T *restrict to = (T *)y;
                for (npy_intp q = 0; q < p; q++) {
                    to[q] += TIMES(value, from[q]);
                }
                continue;
            }
            for (npy_intp q = 0; q < p; q++, b += w.b_col, y += w.y_col) {
                *(T *)y += TIMES(value, *(const T *)b);
            }
        }
    }
    return 0;
}

static int FN(product)(const void *what, npy_intp l0, npy_intp l1)
{
    const ThnProduct *w = what;
    if (w->columns == 1) {
        return w->s.csc ? FN(product_of)(*w, l0, l1, 1, 1) : FN(product_of)(*w, l0, l1, 0, 1);
    }
    return w->s.csc ? FN(product_of)(*w, l0, l1, 1, w->columns) : FN(product_of)(*w, l0, l1, 0, w->columns);
}

/* For the values of lines [l0, l1) the products of the rows that their places name. */
static int FN(dot_at)(const void *what, npy_intp l0, npy_intp l1)
{
    const ThnSampled *w = what;
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
 * and in `words`, a bit for each word of it: reading them gives the indices in order. All three are zeros. */
static npy_intp FN(times_with)(const ThnTwo *w, npy_intp l0, npy_intp l1, T *sums, uint64_t *seen, uint64_t *words, size_t n_words,
                               T *out, INDEX *indices, INDEX *ends, npy_intp room)
{
    const T *x = w->a.data, *y = w->b.data;
    const INDEX *i_x = w->a.indices, *p_x = w->a.indptr, *i_y = w->b.indices, *p_y = w->b.indptr;
    npy_intp n = 0;
    for (npy_intp line = l0; line < l1; line++) {
        const npy_intp k_start = p_x[line], k_end = p_x[line + 1];
        THN_NEED(thn_sparse_within(&w->a, k_start, k_end));
        for (npy_intp k = k_start; k < k_end; k++) {
            const npy_uintp middle = (npy_uintp)THN_ONCE(INDEX, i_x + k);
            THN_NEED(middle < (npy_uintp)w->b.lines);
            const T value = x[k];
            const npy_intp j_start = p_y[middle], j_end = p_y[middle + 1];
            THN_NEED(thn_sparse_within(&w->b, j_start, j_end));
            for (npy_intp j = j_start; j < j_end; j++) {
                const npy_uintp c = (npy_uintp)THN_ONCE(INDEX, i_y + j);
                THN_NEED(c < (npy_uintp)w->b.length);
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
                    THN_NEED(n < room); /* another thread changed the matrix */
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
    return n;
}

static npy_intp FN(times)(const void *what, npy_intp l0, npy_intp l1, void *data, void *indices, void *ends, npy_intp room)
{
    const ThnTwo *w = what;
    const size_t length = (size_t)w->b.length, n_seen = length / 64 + 1, n_words = n_seen / 64 + 1;
    const size_t bytes = 8 * (n_seen + n_words) + length * sizeof(T);
    THN_MEMORY(length <= MOST_SUMS);
    /* Of long lines only the pages that are used become memory. */
    THN_POOLED uint64_t *block = bytes > LONG_LINES ? NULL : thn_pool_alloc(bytes);
    uint64_t *pages = bytes > LONG_LINES ? calloc(1, bytes) : NULL, *seen = block ? memset(block, 0, bytes) : pages;
    THN_MEMORY(seen);
    uint64_t *words = seen + n_seen;
    const npy_intp n = FN(times_with)(w, l0, l1, (T *)(words + n_words), seen, words, n_words, data, indices, ends, room);
    free(pages);
    return n;
}
