/* The CTC loss of a sequence, for one set of machine instructions: included by instr_ctc.c once for each, with TARGET, the
 * attribute of functions, and NAME(x), their names. No branch and no table, so that loops vectorise.
 *
 * exp and log have errors of a few units in the last place of a float, of which the sums are: what they change is relative
 * to a probability, at each time. The logarithms of probabilities are doubles.
 */

/* exp(x) for x <= 0; 0 where it is below the least normal number; NaN of NaN. */
TARGET static inline __attribute__((always_inline)) float NAME(exp_below)(float x)
{
    const float y = x < -87.0f ? -87.0f : x;
    const float shifted = y * 1.44269504f + 0x1.8p23f, n = shifted - 0x1.8p23f;
    const float r = (y - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;
    union { float f; int32_t i; } power = {shifted};
    float p = 1.3888889e-3f;
    p = p * r + 8.3333333e-3f;
    p = p * r + 4.1666668e-2f;
    p = p * r + 1.6666667e-1f;
    p = p * r + 0.5f;
    p = p * r * r + r + 1.0f;
    power.i = (int32_t)((uint32_t)(power.i - 0x4b400000 + 127) << 23);
    return x < -87.0f ? 0.0f : p * power.f;
}

/* log(x) for 1 <= x <= 3; NaN of NaN. */
TARGET static inline __attribute__((always_inline)) float NAME(log_above)(float x)
{
    const int far = x > 1.41421356f;
    const float y = far ? 0.5f * x : x, s = (y - 1.0f) / (y + 1.0f), s2 = s * s;
    float p = 0.22222222f;
    p = p * s2 + 0.28571429f;
    p = p * s2 + 0.4f;
    p = p * s2 + 0.66666667f;
    p = p * s2 + 2.0f;
    return p * s + (far ? 0.69314718f : 0.0f);
}

/* The largest of a row, NaN aside. */
TARGET static float NAME(largest)(npy_intp n, const float *x)
{
    float most[16];
    npy_intp i = 0;
    for (int l = 0; l < 16; l++) {
        most[l] = -__builtin_inff();
    }
    for (; i + 16 <= n; i += 16) {
        for (int l = 0; l < 16; l++) {
            most[l] = x[i + l] > most[l] ? x[i + l] : most[l];
        }
    }
    for (; i < n; i++) {
        most[0] = x[i] > most[0] ? x[i] : most[0];
    }
    for (int l = 1; l < 16; l++) {
        most[0] = most[l] > most[0] ? most[l] : most[0];
    }
    return most[0];
}

/* y = exp(x - top); returns the sum. */
TARGET static double NAME(exponentials)(npy_intp n, const float *x, float top, float *y)
{
    double sums[16] = {0}, sum = 0;
    npy_intp i = 0;
    for (; i + 16 <= n; i += 16) {
        for (int l = 0; l < 16; l++) {
            y[i + l] = NAME(exp_below)(x[i + l] - top);
        }
        for (int l = 0; l < 16; l++) {
            sums[l] += (double)y[i + l];
        }
    }
    for (; i < n; i++) {
        y[i] = NAME(exp_below)(x[i] - top);
        sum += (double)y[i];
    }
    for (int l = 0; l < 16; l++) {
        sum += sums[l];
    }
    return sum;
}

TARGET static void NAME(scale)(npy_intp n, float *x, float by)
{
    for (npy_intp i = 0; i < n; i++) {
        x[i] *= by;
    }
}

/* out = log(exp(a) + exp(b)) + add */
TARGET static void NAME(add_two)(npy_intp n, const double *a, const double *b, double add, double *restrict out)
{
#pragma GCC ivdep
    for (npy_intp i = 0; i < n; i++) {
        const double high = a[i] > b[i] ? a[i] : b[i], low = a[i] > b[i] ? b[i] : a[i];
        out[i] = high + (double)NAME(log_above)(1.0f + NAME(exp_below)((float)(low - high))) + add;
    }
}

/* out = log(exp(a) + exp(b) + exp(c + barred)) + add */
TARGET static void NAME(add_three)(npy_intp n, const double *a, const double *b, const double *c, const double *barred,
                                   const double *add, double *restrict out)
{
#pragma GCC ivdep
    for (npy_intp i = 0; i < n; i++) {
        const double u = a[i] > b[i] ? a[i] : b[i], v = a[i] > b[i] ? b[i] : a[i], w = c[i] + barred[i];
        const double high = u > w ? u : w, middle = u > w ? w : u;
        const float sum = 1.0f + (NAME(exp_below)((float)(middle - high)) + NAME(exp_below)((float)(v - high)));
        out[i] = high + (double)NAME(log_above)(sum) + add[i];
    }
}

/* out = exp(a + b - all), at most about 1 */
TARGET static void NAME(shares)(npy_intp n, const double *a, const double *b, double all, float *restrict out)
{
#pragma GCC ivdep
    for (npy_intp i = 0; i < n; i++) {
        const float x = (float)(a[i] + b[i] - all);
        out[i] = NAME(exp_below)(x > 80.0f ? 80.0f : x);
    }
}

static void NAME(sequence)(const Job *j, const Room *r, npy_intp b)
{
    const npy_intp width = j->longest + 4, symbols = j->symbols;
    const npy_intp slope_step = j->batch * symbols;
    float *slopes = j->slopes ? j->slopes + b * symbols : NULL;
    int32_t length, label;
    memcpy(&length, j->lengths->data + b * j->lengths->strides[0], sizeof length);
    npy_intp n = 0;
    for (npy_intp i = 0; i < j->labels->dims[1]; i++) {
        memcpy(&label, j->labels->data + b * j->labels->strides[0] + i * j->labels->strides[1], sizeof label);
        if (label >= 0) {
            r->path[n++] = label;
        }
    }
    for (npy_intp t = length; slopes && t < j->times; t++) {
        memset(slopes + t * slope_step, 0, (size_t)symbols * sizeof(float));
    }
    if (length == 0) {
        j->costs[b] = n ? INFINITY : 0;
        return;
    }
    for (npy_intp i = 0; i <= n; i++) {
        r->barred[i] = i > 0 && i < n && r->path[i] != 0 && r->path[i] != r->path[i - 1] ? 0 : NOTHING;
    }
    /* Forward; without a gradient two times are enough. */
    double *blanks = NULL, *states = NULL;
    for (npy_intp t = 0; t < length; t++) {
        const float *x = row_of(j, r, t, b);
        float *softmax = slopes ? slopes + t * slope_step : r->softmax;
        const float top = NAME(largest)(symbols, x);
        const double sum = NAME(exponentials)(symbols, x, top, softmax), norm = (double)top + log(sum);
        if (slopes) {
            NAME(scale)(symbols, softmax, (float)(1 / sum));
        }
        const double blank = emit(r, x, n, norm);
        const npy_intp at = slopes ? t : t & 1;
        r->norms[at] = norm;
        double *new_blanks = r->blanks + at * width, *new_states = r->states + at * width;
        new_states[0] = NOTHING;
        if (t == 0) {
            for (npy_intp i = 0; i <= n; i++) {
                new_blanks[i] = i ? NOTHING : blank;
                new_states[i + 1] = i || !n ? NOTHING : r->emitted[0];
            }
        } else {
            NAME(add_two)(n + 1, blanks, states, blank, new_blanks);
            NAME(add_three)(n, states + 1, blanks, states, r->barred, r->emitted, new_states + 1);
        }
        blanks = new_blanks;
        states = new_states;
    }
    double all = blanks[n], other = states[n]; /* before the first label there is NOTHING */
    if (other > all) {
        all = states[n];
        other = blanks[n];
    }
    all += log1p(exp(other - all));
    const int possible = !(all < 0.1 * NOTHING);
    j->costs[b] = possible ? (float)-all : INFINITY;
    if (!slopes) {
        return;
    }
    if (!possible) {
        for (npy_intp t = 0; t < length; t++) {
            memset(slopes + t * slope_step, 0, (size_t)symbols * sizeof(float));
        }
        return;
    }
    /* Backward. At the end there is nothing after the last blank and label. */
    double *after_blanks = r->back[0], *after_states = r->back[1], *here_blanks = r->back[2], *here_states = r->back[3];
    for (npy_intp i = 0; i <= n; i++) {
        here_blanks[i] = i == n ? 0 : NOTHING;
        here_states[i] = i == n - 1 ? 0 : NOTHING;
    }
    for (npy_intp t = length - 1; t >= 0; t--) {
        float *slope = slopes + t * slope_step;
        if (t < length - 1) {
            const double blank = emit(r, row_of(j, r, t + 1, b), n, r->norms[t + 1]);
            for (npy_intp i = 0; i <= n; i++) {
                after_blanks[i] = here_blanks[i] + blank;
                after_states[i] = i < n ? here_states[i] + r->emitted[i] : NOTHING;
            }
            memset(r->emitted, 0, (size_t)n * sizeof(double));
            NAME(add_two)(n + 1, after_blanks, after_states, 0, here_blanks);
            NAME(add_three)(n, after_states, after_blanks + 1, after_states + 1, r->barred + 1, r->emitted, here_states);
        }
        NAME(shares)(n + 1, r->blanks + t * width, here_blanks, all, r->share);
        double blank = 0;
        for (npy_intp i = 0; i <= n; i++) {
            blank += (double)r->share[i];
        }
        slope[0] -= (float)blank;
        NAME(shares)(n, r->states + t * width + 1, here_states, all, r->share);
        for (npy_intp i = 0; i < n; i++) {
            slope[r->path[i]] -= r->share[i];
        }
    }
}

#undef TARGET
#undef NAME
