/* Copies of parts of planes with their padding. Included by the kernels of convolutions, for each processor and type; see
 * variants.h. No include guard. */

typedef T NAME(Anywhere) __attribute__((vector_size(LANES * sizeof(T)), aligned(sizeof(T))));

/* Every `step`-th of n elements; where they are neighbours by whole vectors, if there is room for one. */
TARGET static inline __attribute__((always_inline)) void NAME(move)(npy_intp n, const T *from, npy_intp step, T *to)
{
    npy_intp i = 0;
    for (; step == 1 && i + LANES <= n; i += LANES) {
        *(NAME(Anywhere) *)(to + i) = *(const NAME(Anywhere) *)(from + i);
    }
    if (step == 1 && i < n && n >= LANES) {
        *(NAME(Anywhere) *)(to + n - LANES) = *(const NAME(Anywhere) *)(from + n - LANES);
        return;
    }
    for (; i < n; i++) {
        to[i] = from[i * step];
    }
}

TARGET static inline __attribute__((always_inline)) void NAME(copy_by)(
    const char *plane, npy_intp row, const npy_intp *lengths, npy_intp y, npy_intp step_y, npy_intp rows, npy_intp x, npy_intp step,
    npy_intp n, char *to_, npy_intp to_row, npy_intp apart)
{
    npy_intp first, last, before, end;
    thn_conv_within(y, step_y, lengths[0], rows, &first, &last);
    thn_conv_within(x, step, lengths[1], n, &before, &end);
    for (npy_intp r = 0; r < rows; r++, to_ += to_row) {
        T *to = (T *)to_;
        if (r < first || r >= last) {
            memset(to, 0, sizeof(T) * (size_t)n);
            continue;
        }
        for (npy_intp i = 0; i < before; i++) {
            to[i] = 0;
        }
        const char *from = plane + (y + r * step_y) * row;
        __builtin_prefetch(from + 2 * apart);
        __builtin_prefetch(from + 2 * apart + 128);
        NAME(move)(end - before, (const T *)from + x + before * step, step, to + before);
        for (npy_intp i = end; i < n; i++) {
            to[i] = 0;
        }
    }
}

/* Rows y, y + step_y ... of a plane with rows `row` bytes apart, of each n elements x, x + step ..., to rows `to_row` bytes apart;
 * 0 for what lies outside. Planes read one after the other are `apart` bytes apart; the rows of the second next are asked for. */
TARGET static void NAME(copy_rows)(const char *plane, npy_intp row, const npy_intp *lengths, npy_intp y, npy_intp step_y,
                                   npy_intp rows, npy_intp x, npy_intp step, npy_intp n, char *to, npy_intp to_row, npy_intp apart)
{
    switch (step) { /* as a constant, for which there are vectors */
    case 1: NAME(copy_by)(plane, row, lengths, y, step_y, rows, x, 1, n, to, to_row, apart); break;
    case 2: NAME(copy_by)(plane, row, lengths, y, step_y, rows, x, 2, n, to, to_row, apart); break;
    default: NAME(copy_by)(plane, row, lengths, y, step_y, rows, x, step, n, to, to_row, apart);
    }
}
