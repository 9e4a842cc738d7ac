/* The loops of sparse_parts.h for one type of values and one of indices, see for_values.h. No include guard. */
#include "sparse_products_loops.h"

typedef struct {
    INDEX index, at;
} FN(Entry);

/* 1: the indices of each line increase; 0: they do not; -1: one is out of bounds. */
static int FN(increases)(const ThnSparse *s)
{
    const INDEX *indices = s->indices;
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
static npy_intp FN(tidy)(const void *what, npy_intp l0, npy_intp l1, void *to_data, void *to_indices, void *to_ends, npy_intp room)
{
    const Tidied *w = what;
    const T *data = w->s.data;
    const INDEX *indices = w->s.indices, *indptr = w->s.indptr;
    T *out = to_data;
    INDEX *to = to_indices, *ends = to_ends;
    const int drop = w->drop, add = w->add;
    npy_intp n = 0, have = 0;
    THN_POOLED FN(Entry) *work = NULL;
    for (npy_intp line = l0; line < l1; line++) {
        const npy_intp start = indptr[line], end = indptr[line + 1], first = n;
        int sorted = 1;
        THN_NEED(thn_sparse_within(&w->s, start, end) && n + end - start <= room);
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
                THN_MEMORY(work);
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
    return n;
}

/* For the values of lines [l0, l1) of `x` those that `y`, whose indices increase, has at their places. */
static int FN(values_of)(const void *what, npy_intp l0, npy_intp l1)
{
    const ThnTwo *w = what;
    const ThnSparse *x = &w->a, *y = &w->b;
    T *to = w->to;
    const T *data = y->data;
    const INDEX *i_x = x->indices, *p_x = x->indptr, *i_y = y->indices, *p_y = y->indptr;
    for (npy_intp line = l0; line < l1; line++) {
        const npy_intp start = p_y[line], end = p_y[line + 1], k_end = p_x[line + 1];
        npy_intp at = start, k = p_x[line];
        THN_NEED(thn_sparse_within(x, k, k_end) && thn_sparse_within(y, start, end));
        for (; k < k_end; k++) {
            const INDEX c = THN_ONCE(INDEX, i_x + k);
            npy_intp steps = 8;
            THN_NEED((npy_uintp)c < (npy_uintp)x->length);
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
    const ThnLines *w = what;
    for (npy_intp line = l0; line < l1; line++) {
        THN_EACH_VALUE(&w->s, line, k)
        {
            THN_INDEX_OF(&w->s, k, at)
            ((T *)w->to)[k] = *(const T *)(w->dense + line * w->of_line + at * w->of_index);
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
static inline __attribute__((always_inline)) npy_intp FN(merge)(const ThnTwo *w, npy_intp l0, npy_intp l1, void *to_data,
                                                                void *to_indices, void *to_ends, npy_intp room, const int multiply)
{
    const T *x = w->a.data, *y = w->b.data;
    const INDEX *i_x = w->a.indices, *p_x = w->a.indptr, *i_y = w->b.indices, *p_y = w->b.indptr;
    T *restrict out = to_data;
    INDEX *restrict indices = to_indices, *restrict ends = to_ends;
    npy_intp n = 0;
    int bad = 0;
    for (npy_intp line = l0; line < l1; line++) {
        npy_intp i = p_x[line], j = p_y[line];
        const npy_intp i_end = p_x[line + 1], j_end = p_y[line + 1];
        INDEX last = -1;
        THN_NEED(thn_sparse_within(&w->a, i, i_end) && thn_sparse_within(&w->b, j, j_end)
                 && n + (i_end - i) + (multiply ? 0 : j_end - j) <= room);
        while (i < i_end && j < j_end) {
            const INDEX c = i_x[i], d = i_y[j], least = c < d ? c : d;
            const int left = c <= d, right = d <= c;
            const T value = multiply ? (T)(1u * x[i] * y[j]) : FN(kept)(x + i, left) + FN(kept)(y + j, right);
            bad |= least <= last;
            last = least;
            /* What only one of them stores is not in their product. */
            if (!multiply || c == d) {
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

static npy_intp FN(merge_add)(const void *what, npy_intp l0, npy_intp l1, void *data, void *indices, void *ends, npy_intp room)
{
    return FN(merge)(what, l0, l1, data, indices, ends, room, 0);
}

static npy_intp FN(merge_multiply)(const void *what, npy_intp l0, npy_intp l1, void *data, void *indices, void *ends, npy_intp room)
{
    return FN(merge)(what, l0, l1, data, indices, ends, room, 1);
}
#undef TAKE_REST

/* Adds the values of lines [l0, l1) to a dense matrix. */
static int FN(add_dense)(const void *what, npy_intp l0, npy_intp l1)
{
    const ThnLines *w = what;
    const T *data = w->s.data;
    for (npy_intp line = l0; line < l1; line++) {
        THN_EACH_VALUE(&w->s, line, k)
        {
            THN_INDEX_OF(&w->s, k, at)
            *(T *)(w->dense + line * w->of_line + at * w->of_index) += data[k];
        }
    }
    return 0;
}

/* The sums of lines [l0, l1). */
static int FN(sum_lines)(const void *what, npy_intp l0, npy_intp l1)
{
    const ThnLines *w = what;
    for (npy_intp line = l0; line < l1; line++) {
        ACC sum = 0;
        THN_EACH_VALUE(&w->s, line, k)
        {
            sum += ((const T *)w->s.data)[k];
        }
        ((T *)w->to)[line] = (T)sum;
    }
    return 0;
}

/* The sums of the values of each index. */
static int FN(sum_indices)(const ThnSparse *s, void *to)
{
    const T *data = s->data;
    memset(to, 0, sizeof(T) * (size_t)s->length);
    for (npy_intp k = 0; k < s->stored; k++) {
        THN_INDEX_OF(s, k, at)
        ((T *)to)[at] += data[k];
    }
    return 0;
}

/* The elements of lines [l0, l1) of a dense matrix that are not zero; returns their number, and writes them if `to_data`: -1 if
 * they are not as many as there is room for. */
static npy_intp FN(from_dense)(const void *what, npy_intp l0, npy_intp l1, void *to_data, void *to_indices, void *to_ends,
                                npy_intp room)
{
    const ThnLines *w = what;
    T *out = to_data;
    INDEX *indices = to_indices, *ends = to_ends;
    npy_intp n = 0;
    for (npy_intp line = l0; line < l1; line++) {
        const char *row = w->dense + line * w->of_line;
        if (out) {
            for (npy_intp i = 0; i < w->s.length; i++) {
                const T value = *(const T *)(row + i * w->of_index);
                if (value != 0) {
                    THN_NEED(n < room);
                    out[n] = value;
                    indices[n++] = (INDEX)i;
                }
            }
            ends[line] = (INDEX)n;
        } else {
            for (npy_intp i = 0; i < w->s.length; i++) {
                n += *(const T *)(row + i * w->of_index) != 0;
            }
        }
    }
    return out && n != room ? -1 : n;
}

/* The matrix in the other format. */
static int FN(turn)(const ThnSparse *s, ThnSparse *to)
{
    const T *values = s->data;
    T *data = to->data;
    INDEX *lines = to->indices, *next = to->indptr;
    memset(next, 0, sizeof(INDEX) * (size_t)(s->length + 2));
    for (npy_intp k = 0; k < s->stored; k++) {
        THN_INDEX_OF(s, k, i)
        next[i + 2]++; /* one place on: what stands at i + 1 is where line i begins, and is where it ends when it is filled */
    }
    for (npy_intp i = 2; i <= s->length; i++) {
        next[i] += next[i - 1];
    }
    npy_intp moved = 0;
    for (npy_intp line = 0; line < s->lines; line++) {
        THN_EACH_VALUE(s, line, k)
        {
            THN_INDEX_OF(s, k, i)
            THN_NEED(next[i + 1] < s->stored); /* another thread changed the matrix */
            const INDEX at = next[i + 1]++;
            data[at] = values[k];
            lines[at] = (INDEX)line;
        }
        moved += last - first;
    }
    return moved == s->stored ? 0 : -1;
}

/* `n` matrices one after the other, or `across`. A single one is not looked at. */
static int FN(stack)(const ThnSparse *s, int n, int across, ThnSparse *to)
{
    INDEX *to_indices = to->indices, *ends = to->indptr;
    npy_intp at = 0;
    int wrong = 0;
    *ends++ = 0;
    for (npy_intp line = 0; line < (across ? to->lines : 1); line++) {
        npy_intp offset = 0;
        for (int part = 0; part < n; part++) {
            const ThnSparse *m = &s[part];
            const INDEX *indices = m->indices, *indptr = m->indptr;
            const npy_intp stop = across ? line + 1 : m->lines, start = indptr[line], end = indptr[stop];
            THN_NEED(thn_sparse_within(m, start, end) && at + end - start <= to->stored);
            memcpy((T *)to->data + at, (const T *)m->data + start, (size_t)(end - start) * sizeof(T));
            memcpy(to_indices + at, indices + start, (size_t)(end - start) * sizeof(INDEX));
            const UINDEX bound = THN_BOUND(m->length);
            for (npy_intp k = at; n > 1 && k < at + end - start; k++) {
                wrong |= (UINDEX)to_indices[k] >= bound;
                to_indices[k] += (INDEX)offset;
            }
            for (npy_intp i = 0; i < stop && !across; i++) {
                *ends++ = (INDEX)(at + indptr[i + 1] - start);
            }
            at += end - start;
            offset += across ? m->length : 0;
        }
        if (across) {
            *ends++ = (INDEX)at;
        }
    }
    return wrong ? -1 : 0;
}
