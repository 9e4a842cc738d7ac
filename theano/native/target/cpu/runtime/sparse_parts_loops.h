/* The loops of sparse_parts.c for one type of values and one of indices, see for_values.h. No include guard. */

enum { FN(index_bytes) = sizeof(INDEX), FN(value_bytes) = sizeof(T) };

typedef struct {
    INDEX index, at;
} FN(Entry);

/* 1: the indices of each line increase; 0: they do not; -1: one is out of bounds. */
static int FN(increases)(const ThnPlaces *s)
{
    const INDEX *indices = s->indices, *indptr = s->indptr;
    int sorted = 1, wrong = 0;
    for (npy_intp line = 0; line < s->lines; line++) {
        INDEX before = -1;
        THN_EACH_VALUE(s, line, k)
        {
            sorted &= indices[k] > before;
            wrong |= (npy_uintp)indices[k] >= (npy_uintp)s->length;
            before = indices[k];
        }
    }
    return wrong ? -1 : sorted;
}

/* Sorts `n` entries by index; what comes first stays first. `other` has room for as many. Returns where they are. */
static __attribute__((noinline)) FN(Entry) *FN(sort)(FN(Entry) *a, FN(Entry) *other, npy_intp n)
{
    for (npy_intp width = 1; width < n; width *= 2) {
        for (npy_intp start = 0; start < n; start += 2 * width) {
            const npy_intp middle = start + width < n ? start + width : n, end = middle + width < n ? middle + width : n;
            npy_intp i = start, j = middle;
            for (npy_intp k = start; k < end; k++) {
                other[k] = i < middle && (j >= end || a[i].index <= a[j].index) ? a[i++] : a[j++];
            }
        }
        FN(Entry) *swap = a;
        a = other;
        other = swap;
    }
    return a;
}

/* Lines [l0, l1) with their values in order, those of one place added up, or without zeros. */
static npy_intp FN(tidy)(const void *what, npy_intp l0, npy_intp l1, char *to_data, char *to_indices, void *to_ends, npy_intp room)
{
    const Tidied *w = what;
    const T *data = w->s.data;
    const INDEX *indices = w->s.indices, *indptr = w->s.indptr;
    T *out = (T *)to_data;
    INDEX *to = (INDEX *)to_indices, *ends = to_ends;
    const int drop = w->drop, add = w->add;
    npy_intp n = 0, have = 0;
    FN(Entry) *work = NULL;
    for (npy_intp line = l0; line < l1; line++) {
        const npy_intp start = indptr[line], end = indptr[line + 1], first = n;
        int sorted = 1;
        if (!thn_sparse_within(&w->s, start, end) || n + end - start > room) {
            n = -1;
            break;
        }
        for (npy_intp k = start + 1; w->sort && k < end; k++) {
            sorted &= add ? indices[k - 1] < indices[k] : indices[k - 1] <= indices[k];
        }
        if (sorted) {
            for (npy_intp k = start; k < end; k++) {
                out[n] = data[k];
                to[n] = indices[k];
                n += !drop || data[k] != 0;
            }
        } else {
            if (end - start > have) {
                thn_pool_free(work);
                have = 2 * (end - start);
                work = thn_pool_alloc(2 * sizeof(FN(Entry)) * (size_t)have);
                if (!work) {
                    return -2;
                }
            }
            for (npy_intp k = start; k < end; k++) {
                work[k - start] = (FN(Entry)){indices[k], (INDEX)(k - start)};
            }
            const FN(Entry) *entries = FN(sort)(work, work + have, end - start);
            for (npy_intp k = 0; k < end - start; k++) {
                const T value = data[start + entries[k].at];
                if (add && n > first && to[n - 1] == entries[k].index) {
                    out[n - 1] += value;
                    continue;
                }
                out[n] = value;
                to[n] = entries[k].index;
                n += !drop || value != 0;
            }
        }
        ends[line] = (INDEX)n;
    }
    thn_pool_free(work);
    return n;
}

/* For the values of lines [l0, l1) of `x` those that `y`, whose indices increase, has at their places. */
static int FN(values_of)(const void *what, npy_intp l0, npy_intp l1)
{
    const ThnPlaces *x = &((const Merge *)what)->a, *y = &((const Merge *)what)->b;
    T *to = (T *)((const Merge *)what)->to;
    const T *data = y->data;
    const INDEX *i_x = x->indices, *p_x = x->indptr, *i_y = y->indices, *p_y = y->indptr;
    for (npy_intp line = l0; line < l1; line++) {
        const npy_intp start = p_y[line], end = p_y[line + 1], k_end = p_x[line + 1];
        npy_intp at = start, k = p_x[line];
        if (!thn_sparse_within(x, k, k_end) || !thn_sparse_within(y, start, end)) {
            return -1;
        }
        for (; k < k_end; k++) {
            const INDEX c = THN_ONCE(INDEX, i_x + k);
            npy_intp steps = 8;
            if ((npy_uintp)c >= (npy_uintp)x->length) {
                return -1;
            }
            at = at > start && i_y[at - 1] >= c ? start : at;
            for (; steps && at < end && i_y[at] < c; steps--) {
                at++;
            }
            for (npy_intp high = end; steps == 0 && at < high;) {
                const npy_intp middle = at + (high - at) / 2;
                if (i_y[middle] < c) {
                    at = middle + 1;
                } else {
                    high = middle;
                }
            }
            to[k] = at < end && i_y[at] == c ? data[at] : 0;
        }
    }
    return 0;
}

/* For the values of lines [l0, l1) the elements of a dense matrix at their places. */
static int FN(values_at)(const void *what, npy_intp l0, npy_intp l1)
{
    const Gathered *w = what;
    const INDEX *indices = w->s.indices, *indptr = w->s.indptr;
    for (npy_intp line = l0; line < l1; line++) {
        const char *from = w->from + line * w->of_line;
        THN_EACH_VALUE(&w->s, line, k)
        {
            THN_INDEX_OF(&w->s, k, at)
            ((T *)w->to)[k] = *(const T *)(from + at * w->of_index);
        }
    }
    return 0;
}

/* The element, or zero: without a jump, which would be guessed wrong half of the time. */
static inline T FN(kept)(const T *x, int keep)
{
    BITS bits[sizeof(T) / sizeof(BITS)];
    T value;
    memcpy(bits, x, sizeof bits);
    for (size_t k = 0; k < sizeof(T) / sizeof(BITS); k++) {
        bits[k] &= (BITS)-(BITS)keep;
    }
    memcpy(&value, bits, sizeof value);
    return value;
}

/* The rest of a line of one matrix, of which a sum takes over the values. */
#define TAKE_REST(k, end, indices_of, values)          \
    for (; k < end; k++) {                             \
        bad |= indices_of[k] <= last;                  \
        last = indices_of[k];                          \
        if (!multiply) {                               \
            out[n] = values[k];                        \
            indices[n] = last;                         \
            n += values[k] != 0;                       \
        }                                              \
    }

/* Lines [l0, l1) of the sum, or product, of two matrices with increasing indices, without zeros; `ends` gets where each line ends,
 * counted from the first of these. -1: the indices of a line do not increase, or are out of bounds. */
static inline __attribute__((always_inline)) npy_intp FN(merge)(const Merge *w, npy_intp l0, npy_intp l1, char *to_data,
                                                                char *to_indices, void *to_ends, npy_intp room, const int multiply)
{
    const T *x = w->a.data, *y = w->b.data;
    const INDEX *i_x = w->a.indices, *p_x = w->a.indptr, *i_y = w->b.indices, *p_y = w->b.indptr;
    T *restrict out = (T *)to_data;
    INDEX *restrict indices = (INDEX *)to_indices, *restrict ends = to_ends;
    npy_intp n = 0;
    int bad = 0;
    for (npy_intp line = l0; line < l1; line++) {
        npy_intp i = p_x[line], j = p_y[line];
        const npy_intp i_end = p_x[line + 1], j_end = p_y[line + 1];
        INDEX last = -1;
        if (!thn_sparse_within(&w->a, i, i_end) || !thn_sparse_within(&w->b, j, j_end)
            || n + (i_end - i) + (multiply ? 0 : j_end - j) > room) {
            return -1;
        }
        while (i < i_end && j < j_end) {
            const INDEX c = i_x[i], d = i_y[j], least = c < d ? c : d;
            const int left = c <= d, right = d <= c;
            bad |= least <= last;
            last = least;
            /* What only one of them stores is not in their product. */
            if (!multiply || c == d) {
                const T value = multiply ? (T)(1u * x[i] * y[j]) : FN(kept)(x + i, left) + FN(kept)(y + j, right);
                out[n] = value;
                indices[n] = least;
                n += value != 0;
            }
            i += left;
            j += right;
        }
        TAKE_REST(i, i_end, i_x, x)
        TAKE_REST(j, j_end, i_y, y)
        bad |= last != -1 && (npy_uintp)last >= (npy_uintp)w->a.length;
        ends[line] = (INDEX)n;
    }
    return bad ? -1 : n;
}

static npy_intp FN(merge_add)(const void *what, npy_intp l0, npy_intp l1, char *data, char *indices, void *ends, npy_intp room)
{
    return FN(merge)(what, l0, l1, data, indices, ends, room, 0);
}

static npy_intp FN(merge_multiply)(const void *what, npy_intp l0, npy_intp l1, char *data, char *indices, void *ends, npy_intp room)
{
    return FN(merge)(what, l0, l1, data, indices, ends, room, 1);
}
#undef TAKE_REST

/* Adds the values of lines [l0, l1) to a dense matrix with these strides from line to line and from index to index. */
static int FN(add_dense)(const void *what, npy_intp l0, npy_intp l1)
{
    const ThnPlaces *s = what;
    const Added *w = what;
    const T *data = s->data;
    const INDEX *indices = s->indices, *indptr = s->indptr;
    for (npy_intp line = l0; line < l1; line++) {
        char *row = w->to + line * w->of_line;
        THN_EACH_VALUE(s, line, k)
        {
            THN_INDEX_OF(s, k, at)
            *(T *)(row + at * w->of_index) += data[k];
        }
    }
    return 0;
}

/* The sums of lines [l0, l1). */
static int FN(sum_lines)(const void *what, npy_intp l0, npy_intp l1)
{
    const ThnPlaces *s = what;
    const T *data = s->data;
    const INDEX *indptr = s->indptr;
    for (npy_intp line = l0; line < l1; line++) {
        ACC sum = 0;
        THN_EACH_VALUE(s, line, k)
        {
            sum += data[k];
        }
        ((T *)((const Added *)what)->to)[line] = (T)sum;
    }
    return 0;
}

/* The sums of the values of each index. */
static int FN(sum_indices)(const ThnPlaces *s, char *to)
{
    const T *data = s->data;
    const INDEX *indices = s->indices;
    memset(to, 0, sizeof(T) * (size_t)s->length);
    for (npy_intp k = 0; k < s->stored; k++) {
        THN_INDEX_OF(s, k, at)
        ((T *)to)[at] += data[k];
    }
    return 0;
}

/* The elements of lines [l0, l1) of a dense matrix that are not zero; returns their number, and writes them if `to_data`: -1 if
 * they are not as many as there is room for. */
static npy_intp FN(from_dense)(const void *what, npy_intp l0, npy_intp l1, char *to_data, char *to_indices, void *to_ends,
                                npy_intp room)
{
    const Dense *w = what;
    T *out = (T *)to_data;
    INDEX *indices = (INDEX *)to_indices, *ends = to_ends;
    npy_intp n = 0;
    for (npy_intp line = l0; line < l1; line++) {
        const char *row = w->from + line * w->of_line;
        if (out) {
            for (npy_intp i = 0; i < w->length; i++) {
                const T value = *(const T *)(row + i * w->of_index);
                if (value != 0) {
                    if (n == room) {
                        return -1;
                    }
                    out[n] = value;
                    indices[n++] = (INDEX)i;
                }
            }
            ends[line] = (INDEX)n;
        } else {
            for (npy_intp i = 0; i < w->length; i++) {
                n += *(const T *)(row + i * w->of_index) != 0;
            }
        }
    }
    return out && n != room ? -1 : n;
}

/* The matrix in the other format. */
static int FN(turn)(const ThnPlaces *s, ThnSparseMade *to)
{
    const T *values = s->data;
    const INDEX *indices = s->indices, *indptr = s->indptr;
    T *data = (T *)to->data;
    INDEX *lines = (INDEX *)to->indices, *next = (INDEX *)to->indptr;
    memset(next, 0, sizeof(INDEX) * (size_t)(s->length + 2));
    for (npy_intp k = 0; k < s->stored; k++) {
        THN_INDEX_OF(s, k, i)
        next[i + 2]++; /* one place on: what stands at i + 1 is where line i begins, and is where it ends when it is filled */
    }
    for (npy_intp i = 2; i <= s->length; i++) {
        next[i] += next[i - 1];
    }
    npy_intp k = 0;
    for (npy_intp line = 0; line < s->lines; line++) {
        const npy_intp end = indptr[line + 1];
        if (!thn_sparse_within(s, k, end)) {
            return -1;
        }
        for (; k < end; k++) {
            THN_INDEX_OF(s, k, i)
            if (next[i + 1] >= s->stored) {
                return -1; /* another thread changed the matrix */
            }
            const INDEX at = next[i + 1]++;
            data[at] = values[k];
            lines[at] = (INDEX)line;
        }
    }
    return k == s->stored ? 0 : -1;
}

/* `n` matrices one after the other, or `across`. */
static int FN(stack)(const ThnPlaces *s, int n, int across, ThnSparseMade *to)
{
    INDEX *to_indices = (INDEX *)to->indices, *to_indptr = (INDEX *)to->indptr;
    npy_intp at = 0;
    int part = 0, wrong = 0;
    to_indptr[0] = 0;
    for (npy_intp line = 0; line < to->lines || (!across && part < n);) {
        npy_intp offset = 0;
        for (; part < n; part++) {
            const ThnPlaces *m = &s[part];
            const INDEX *indices = m->indices, *indptr = m->indptr;
            const npy_intp first = across ? line : 0, last = across ? line + 1 : m->lines;
            const npy_intp start = indptr[first], end = indptr[last];
            if (!thn_sparse_within(m, start, end) || at + end - start > to->stored) {
                return -1;
            }
            memcpy((T *)to->data + at, (const T *)m->data + start, (size_t)(end - start) * sizeof(T));
            for (npy_intp k = start; k < end; k++) {
                const INDEX i = THN_ONCE(INDEX, indices + k);
                wrong |= (npy_uintp)i >= (npy_uintp)m->length;
                to_indices[at + k - start] = (INDEX)(i + offset);
            }
            for (npy_intp i = first; i < last && !across; i++) {
                to_indptr[++line] = (INDEX)(at + indptr[i + 1] - start);
            }
            at += end - start;
            offset += across ? m->length : 0;
        }
        if (across) {
            to_indptr[++line] = (INDEX)at;
            part = 0;
        }
    }
    return wrong ? -1 : 0;
}
