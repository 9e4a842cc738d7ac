/* Products of a vector and a block, for one type and one set of machine instructions: see for_floats.h. */

/* out[l] += sum over k of x[k] * w[k][l], rows of the block being dense. */
TARGET static void NAME(add_rows)(npy_intp nk, npy_intp nl, const T *x, const T *w, npy_intp row, T *restrict out)
{
    npy_intp k = 0;
    for (; k + 4 <= nk; k += 4) {
        const T a = x[k], b = x[k + 1], c = x[k + 2], d = x[k + 3];
        const T *p = w + k * row, *q = p + row, *r = q + row, *s = r + row;
        for (npy_intp l = 0; l < nl; l++) {
            out[l] += (a * p[l] + b * q[l]) + (c * r[l] + d * s[l]);
        }
    }
    for (; k < nk; k++) {
        const T a = x[k], *p = w + k * row;
        for (npy_intp l = 0; l < nl; l++) {
            out[l] += a * p[l];
        }
    }
}

/* The same where columns of the block are dense. */
TARGET static void NAME(add_columns)(npy_intp nk, npy_intp nl, const T *x, const T *w, npy_intp column, T *restrict out)
{
    for (npy_intp l = 0; l < nl; l++) {
        const T *p = w + l * column;
        T sums[16] = {0}, rest = 0;
        npy_intp k = 0;
        for (; k + 16 <= nk; k += 16) {
            for (int i = 0; i < 16; i++) {
                sums[i] += x[k + i] * p[k + i];
            }
        }
        for (; k < nk; k++) {
            rest += x[k] * p[k];
        }
        for (int h = 8; h; h /= 2) {
            for (int i = 0; i < h; i++) {
                sums[i] += sums[i + h];
            }
        }
        out[l] += sums[0] + rest;
    }
}

/* w[k][l] += x[k] * y[l], rows of the block being dense. */
TARGET static void NAME(add_outer)(npy_intp nk, npy_intp nl, const T *x, const T *y, T alpha, T *w, npy_intp row)
{
    for (npy_intp k = 0; k < nk; k++) {
        const T a = alpha * x[k];
        T *restrict p = w + k * row;
        for (npy_intp l = 0; l < nl; l++) {
            p[l] += a * y[l];
        }
    }
}

