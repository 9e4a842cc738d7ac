/* Numbers of several distributions, integers and permutations as NumPy's RandomState draws them.
 *
 * A sample is made in blocks: the block's parameters are converted, its numbers drawn and converted to the sample's dtype. */
#include "draw.h"
#include "copy.h"
#include "instructions.h"
#include "tables.h"

#include <math.h>

#define BLOCK 512

typedef union {
    double f8[BLOCK];
    int64_t i8[BLOCK];
} Block;

/* How a distribution is drawn. Of n elements, whole rows of `row` that are one draw; `same`: these have the same parameters. */
typedef struct {
    int typenums[THN_DRAW_PARAMS], drawn;              /* of the parameters that it is given, of what it makes */
    int (*fits)(const Block *param, npy_intp row, npy_intp n);
    void (*draw)(const ThnGenerator *from, const Block *param, int same, npy_intp row, npy_intp n, void *drawn);
} Method;

/* Where the parameters of the sample's next element are. */
typedef struct {
    const ThnDraw *d;
    npy_intp left;
    npy_intp at[THN_DRAW_PARAMS][THN_MAXDIM];
    char *p[THN_DRAW_PARAMS];
    int same[THN_DRAW_PARAMS]; /* of all elements */
} Walk;

static Dims dims_of(const Walk *w, int k)
{
    return (Dims){w->d->out->ndim, w->d->out->dims, (npy_intp *)w->d->strides[k], 0};
}

/* The parameters that `take` gets are of these types. */
static void start(Walk *w, const ThnDraw *d)
{
    w->d = d;
    w->left = thn_size(d->out);
    for (int k = 0; k < THN_DRAW_PARAMS; k++) {
        const Dims g = dims_of(w, k);
        w->p[k] = d->param[k]->data;
        w->same[k] = thn_size(d->param[k]) == 1;
        if (!w->same[k] && w->left) {
            thn_seek(&g, g.n, 0, 1, &w->p[k], w->at[k]);
        }
    }
}

/* The number of elements of the next block, and their parameters in these dtypes, where they are not those of the block before.
 * 0: there are no more. */
static npy_intp take(Walk *w, Block *param, const int *typenums)
{
    const ThnDraw *d = w->d;
    const npy_intp n = thn_least(w->left, BLOCK / d->row * d->row);
    const int begun = w->left < thn_size(d->out);
    for (int k = 0; k < THN_DRAW_PARAMS && n; k++) {
        const ThnInner load = thn_cast_inner(typenums[k], d->param[k]->typenum);
        if (w->same[k]) {
            load(begun ? 0 : n, (char *)&param[k], 8, w->p[k], 0);
            continue;
        }
        const Dims g = dims_of(w, k);
        thn_load_run(&g, &w->p[k], w->at[k], n, load, (char *)&param[k], 8);
    }
    w->left -= n;
    return n;
}

/* Whether of each element's parameters, p and q, this is true. */
#define FITS(NAME, KIND_P, KIND_Q, TRUE)                                             \
    static int NAME(const Block *param, npy_intp Py_UNUSED(row), npy_intp n)         \
    {                                                                                \
        int fits = 1;                                                                \
        for (npy_intp i = 0; i < n; i++) {                                           \
            const __typeof__(*param->KIND_P) p = param[0].KIND_P[i];                 \
            const __typeof__(*param->KIND_Q) q = param[1].KIND_Q[i];                 \
            (void)p;                                                                 \
            fits &= (TRUE) != 0;                                                     \
        }                                                                            \
        return fits;                                                                 \
    }

/* ---- uniform */

FITS(is_finite_range, f8, f8, isfinite(q - p))

static void draw_uniform(const ThnGenerator *from, const Block *param, int Py_UNUSED(same), npy_intp Py_UNUSED(row), npy_intp n, void *drawn)
{
    double *const to = drawn, (*const next)(void *) = from->bits->next_double;
    void *const state = from->bits->state;
    for (npy_intp i = 0; i < n; i++) {
        to[i] = next(state);
    }
    for (npy_intp i = 0; i < n; i++) {
        const double low = param[0].f8[i], range = param[1].f8[i] - low;
        to[i] = low + range * to[i];
    }
}

/* ---- normal */

FITS(is_deviation, f8, f8, !signbit(q) || isnan(q))

/* Two standard normals each, by the polar method (Marsaglia and Bray, 1964). Points beyond the circle are overwritten by the next:
 * a branch would be mispredicted as often as they come. */
static void draw_pairs(bitgen_t *bits, npy_intp pairs, double *to)
{
    double (*const next)(void *) = bits->next_double;
    void *const state = bits->state;
    double squares[BLOCK / 2 + 1], logs[BLOCK / 2 + 1];
    for (npy_intp k = 0; k < pairs;) {
        const double x = 2.0 * next(state) - 1.0, y = 2.0 * next(state) - 1.0, square = x * x + y * y;
        to[2 * k] = y;
        to[2 * k + 1] = x;
        squares[k] = square;
        k += (square < 1.0) & (square != 0.0);
    }
    for (npy_intp k = 0; k < pairs; k++) {
        logs[k] = log(squares[k]);
    }
    for (npy_intp k = 0; k < pairs; k++) {
        const double factor = sqrt(-2.0 * logs[k] / squares[k]);
        to[2 * k] *= factor;
        to[2 * k + 1] *= factor;
    }
}

static void draw_normal(const ThnGenerator *from, const Block *param, int Py_UNUSED(same), npy_intp Py_UNUSED(row), npy_intp n, void *drawn)
{
    double *const to = drawn, last[2];
    npy_intp i = 0;
    if (*from->has_normal && n) {
        to[i++] = *from->normal;
        *from->has_normal = 0;
        *from->normal = 0;
    }
    draw_pairs(from->bits, (n - i) / 2, to + i);
    if ((n - i) % 2) {
        draw_pairs(from->bits, 1, last);
        to[n - 1] = last[0];
        *from->has_normal = 1;
        *from->normal = last[1];
    }
    for (i = 0; i < n; i++) {
        to[i] = param[0].f8[i] + param[1].f8[i] * to[i];
    }
}

/* ---- integers */

/* The least 2^k - 1 that is not below v. */
static uint64_t mask_of(uint64_t v)
{
    for (int shift = 1; shift < 64; shift *= 2) {
        v |= v >> shift;
    }
    return v;
}

/* An integer from 0 to `most`: numbers of so many bits until one is not beyond. */
static inline uint64_t at_most(bitgen_t *bits, uint64_t most, uint64_t mask)
{
    uint64_t value;
    do {
        value = (most <= UINT32_MAX ? bits->next_uint32(bits->state) : bits->next_uint64(bits->state)) & mask;
    } while (value > most);
    return value;
}

FITS(is_integer_range, i8, i8, (p <= q) & (q != INT64_MAX))

static void draw_between(bitgen_t *bits, uint64_t low, uint64_t most, npy_intp n, int64_t *to)
{
    const uint64_t mask = mask_of(most);
    uint32_t (*const next)(void *) = bits->next_uint32;
    void *const state = bits->state;
    npy_intp i = 0;
    while (most && most <= UINT32_MAX && i < n) {
        /* Numbers that are beyond are overwritten by the next: a branch would be mispredicted as often as they come. */
        const uint32_t value = next(state) & (uint32_t)mask;
        to[i] = (int64_t)(low + value);
        i += value <= (uint32_t)most;
    }
    for (; i < n; i++) {
        to[i] = (int64_t)(low + (most ? at_most(bits, most, mask) : 0));
    }
}

static void draw_integers(const ThnGenerator *from, const Block *param, int same, npy_intp Py_UNUSED(row), npy_intp n, void *drawn)
{
    int64_t *const to = drawn;
    for (npy_intp i = 0; i < n; i += same ? n : 1) {
        const uint64_t low = (uint64_t)param[0].i8[i];
        draw_between(from->bits, low, (uint64_t)param[1].i8[i] - low, same ? n : 1, to + i);
    }
}

/* The integers below n in a random order. */
static void shuffle(bitgen_t *bits, npy_intp n, int64_t *out)
{
    uint64_t mask = mask_of((uint64_t)(n - 1));
    for (npy_intp i = 0; i < n; i++) {
        out[i] = i;
    }
    for (npy_intp i = n - 1; i > 0; i--) {
        while (mask >> 1 >= (uint64_t)i) {
            mask >>= 1;
        }
        const npy_intp k = (npy_intp)at_most(bits, (uint64_t)i, mask);
        const int64_t held = out[k];
        out[k] = out[i];
        out[i] = held;
    }
}

static void draw_permutations(const ThnDraw *d)
{
    int64_t *out = (int64_t *)d->out->data, *const end = out + thn_size(d->out);
    for (; out < end; out += d->row) {
        shuffle(d->from.bits, d->row, out);
    }
}

/* ---- binomial */

/* Beyond this expected number of successes, or failures, NumPy draws by rejection. */
#define MOST_BY_INVERSION 30.0

/* fmin would be a call: it minds NaNs, of which no comparison here is true. */
FITS(is_inverted, i8, f8, (q >= 0) & (q <= 1) & (p >= 0) & ((double)p * (q < 1.0 - q ? q : 1.0 - q) <= MOST_BY_INVERSION))

/* The probability that none of n trials succeeds; the same distribution is often drawn from again. */
typedef struct {
    int64_t n;
    double p, none;
} Known;

/* How often n trials of probability p <= 1/2 succeed, by inversion: the uniform number is compared with the sums of the
 * probabilities of 0, 1, ... successes. */
static int64_t inverted(bitgen_t *bits, int64_t n, double p, double uniform, Known *known)
{
    const double q = 1.0 - p, mean = (double)n * p;
    if (known->n != n || known->p != p) {
        *known = (Known){n, p, exp((double)n * log(q))};
    }
    const double none = known->none;
    const double far = mean + 10.0 * sqrt(mean * q + 1);
    const int64_t bound = (int64_t)((double)n < far ? (double)n : far);
    double px = none;
    int64_t x = 0;
    while (uniform > px) {
        if (++x > bound) {
            x = 0;
            px = none;
            uniform = bits->next_double(bits->state);
        } else {
            uniform -= px;
            px = ((double)(n - x + 1) * p * px) / ((double)x * q);
        }
    }
    return x;
}

/* Of one trial, what inversion says is plain from how the number compares with the larger probability, but where rounding might
 * decide: near it, and near 1, where all of the probability might be below. */
#define NEAR 1e-14

static void draw_binomial(const ThnGenerator *from, const Block *param, int Py_UNUSED(same), npy_intp Py_UNUSED(row), npy_intp n, void *drawn)
{
    bitgen_t *const bits = from->bits;
    int64_t *const to = drawn, single = 1;
    Block larger;
    Known known = {-1, 0, 0};
    for (npy_intp i = 0; i < n; i++) {
        const double p = param[1].f8[i], q = 1.0 - p;
        larger.f8[i] = q > p ? q : p;
        single &= param[0].i8[i] == 1;
    }
    for (npy_intp i = 0; i < n; i++) {
        const int64_t trials = param[0].i8[i], flip = param[1].f8[i] > 0.5;
        const double uniform = bits->next_double(bits->state), beyond = uniform - larger.f8[i];
        to[i] = (beyond > 0) ^ flip;
        if (!single || fabs(beyond) < NEAR || uniform > 1 - NEAR) {
            const double p = param[1].f8[i];
            const int64_t x = inverted(bits, trials, flip ? 1.0 - p : p, uniform, &known);
            to[i] = flip ? trials - x : x;
        }
    }
}

/* ---- multinomial */

/* Of how many trials NumPy draws each outcome by inversion, whatever its probability. */
#define FEW_TRIALS (2 * MOST_BY_INVERSION)
/* Distributions that are remembered, by outcome and trials left, with the GIL from call to call. At first all are of no trials. */
#define KNOWN 64
/* How near to 1 all probabilities but the last may come: beyond, it depends on how they are summed whether NumPy takes them. */
#define NEAR_ALL (1 - 1e-9)

static int are_few_trials(const Block *param, npy_intp row, npy_intp n)
{
    for (npy_intp start = 0; start < n; start += row) {
        double all = 0;
        if (param[0].i8[start] < 0 || param[0].i8[start] > FEW_TRIALS) {
            return 0;
        }
        for (npy_intp i = start; i < start + row; i++) {
            const double p = param[1].f8[i];
            if (!(p >= 0 && p <= 1 && (i == start || all <= NEAR_ALL))) {
                return 0;
            }
            all += p;
        }
    }
    return 1;
}

/* How often each outcome comes up: of the trials that are left, by its probability among the outcomes that are left. */
static void draw_multinomial(const ThnGenerator *from, const Block *param, int Py_UNUSED(same), npy_intp row, npy_intp n, void *drawn)
{
    int64_t *const to = drawn;
    static Known shared[KNOWN];
    Known own[KNOWN], *const known = from->with_gil ? shared : memset(own, 0, sizeof own);
    for (npy_intp start = 0; start < n; start += row) {
        int64_t left = param[0].i8[start];
        double rest = 1.0;
        for (npy_intp i = start; i < start + row; i++) {
            const double p = param[1].f8[i] / rest;
            int64_t x = left;
            if (i < start + row - 1) {
                const double rarer = p > 0.5 ? 1.0 - p : p;
                Known *k = &known[((uint64_t)(i - start) * 8 + (uint64_t)left) % KNOWN];
                x = left && p != 0 ? inverted(from->bits, left, rarer, from->bits->next_double(from->bits->state), k) : 0;
                x = p > 0.5 ? left - x : x;
            }
            to[i] = x;
            left -= x;
            rest -= param[1].f8[i];
        }
    }
}

/* ---- Poisson */

/* From this mean on NumPy draws by rejection. */
#define MOST_BY_PRODUCTS 10.0

FITS(is_small_mean, f8, f8, (p >= 0) & (q < MOST_BY_PRODUCTS)) /* both are the mean */

/* How many uniform numbers can be multiplied before the product is at most exp(-mean) (Knuth, The Art of Computer Programming 2,
 * 3.4.1). */
static void draw_poisson(const ThnGenerator *from, const Block *param, int Py_UNUSED(same), npy_intp Py_UNUSED(row), npy_intp n, void *drawn)
{
    int64_t *const to = drawn;
    double (*const next)(void *) = from->bits->next_double;
    void *const state = from->bits->state;
    double mean = 0, least = 1;
    for (npy_intp i = 0; i < n; i++) {
        if (param[0].f8[i] != mean) {
            mean = param[0].f8[i];
            least = exp(-mean);
        }
        to[i] = 0;
        for (double product = mean > 0 ? next(state) : 0; product > least; product *= next(state)) {
            to[i]++;
        }
    }
}

/* ---- choices of the integers below a limit */

/* Without replacement: no more than there are, and so few that all are shuffled here, and the sample is one block. */
static int is_limit(const Block *param, npy_intp Py_UNUSED(row), npy_intp n)
{
    const int64_t limit = param[0].i8[0];
    return limit > 0 && (param[1].i8[0] || (n <= limit && limit < BLOCK));
}

static void draw_choice(const ThnGenerator *from, const Block *param, int Py_UNUSED(same), npy_intp Py_UNUSED(row), npy_intp n, void *drawn)
{
    const int64_t limit = param[0].i8[0];
    Block all;
    if (param[1].i8[0]) {
        draw_between(from->bits, 0, (uint64_t)limit - 1, n, drawn);
    } else {
        shuffle(from->bits, limit, all.i8);
        memcpy(drawn, all.i8, (size_t)n * sizeof(int64_t));
    }
}

/* ---- all of them */

static int is_whole(int typenum)
{
    return PyTypeNum_ISINTEGER(typenum) && typenum != NPY_ULONG && typenum != NPY_ULONGLONG;
}

static const Method methods[] = {
    [THN_Distribution_UNIFORM] = {{NPY_DOUBLE, NPY_DOUBLE}, NPY_DOUBLE, is_finite_range, draw_uniform},
    [THN_Distribution_NORMAL] = {{NPY_DOUBLE, NPY_DOUBLE}, NPY_DOUBLE, is_deviation, draw_normal},
    [THN_Distribution_BINOMIAL] = {{NPY_INT64, NPY_DOUBLE}, NPY_INT64, is_inverted, draw_binomial},
    [THN_Distribution_INTEGERS] = {{NPY_INT64, NPY_INT64}, NPY_INT64, is_integer_range, draw_integers},
    [THN_Distribution_MULTINOMIAL] = {{NPY_INT64, NPY_DOUBLE}, NPY_INT64, are_few_trials, draw_multinomial},
    [THN_Distribution_POISSON] = {{NPY_DOUBLE, NPY_DOUBLE}, NPY_INT64, is_small_mean, draw_poisson},
    [THN_Distribution_CHOICE] = {{NPY_INT64, NPY_INT64}, NPY_INT64, is_limit, draw_choice},
};

int thn_draw_fits(const ThnDraw *d, int distribution)
{
    const int out = d->out->typenum, is_real = out == NPY_FLOAT || out == NPY_DOUBLE || out == NPY_HALF;
    Walk w;
    Block param[THN_DRAW_PARAMS];
    if (distribution == THN_Distribution_PERMUTATION) {
        return out == NPY_INT64;
    }
    if ((distribution == THN_Distribution_NORMAL && !d->from.has_normal) || d->row < 1 || d->row > BLOCK) {
        return 0;
    }
    const Method *m = &methods[distribution];
    for (int k = 0; k < THN_DRAW_PARAMS; k++) {
        const int typenum = d->param[k]->typenum;
        if (PyTypeNum_ISCOMPLEX(typenum) || (m->typenums[k] == NPY_INT64 && !is_whole(typenum))) {
            return 0;
        }
    }
    int fit = is_real || (m->drawn == NPY_INT64 && is_whole(out));
    start(&w, d);
    for (npy_intp n; fit && (n = take(&w, param, m->typenums)); w.left = w.same[0] && w.same[1] ? 0 : w.left) {
        fit = m->fits(param, d->row, n);
    }
    return fit;
}

void thn_draw(const ThnDraw *d, int distribution)
{
    const npy_intp item = d->out->itemsize;
    char *out = d->out->data;
    Walk w;
    Block param[THN_DRAW_PARAMS], drawn;
    if (distribution == THN_Distribution_PERMUTATION) {
        draw_permutations(d);
        return;
    }
    const Method *m = &methods[distribution];
    start(&w, d);
    for (npy_intp n; (n = take(&w, param, m->typenums)); out += n * item) {
        const int direct = d->out->typenum == m->drawn;
        m->draw(&d->from, param, w.same[0] && w.same[1], d->row, n, direct ? (void *)out : &drawn);
        if (!direct) {
            thn_cast_inner(d->out->typenum, m->drawn)(n, out, item, (const char *)&drawn, 8);
        }
    }
}
