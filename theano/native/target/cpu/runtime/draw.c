/* Uniform numbers, integers, permutations and binomial numbers as NumPy's RandomState draws them.
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

/* How a distribution is drawn. */
typedef struct {
    int typenums[THN_DRAW_PARAMS], drawn;              /* of the parameters that it is given, of what it makes */
    int (*fits)(const Block *param, npy_intp n);
    void (*draw)(bitgen_t *bits, const Block *param, int same, npy_intp n, void *drawn); /* same: the parameters of all elements */
} Method;

/* Where the parameters of the sample's next element are. */
typedef struct {
    const ThnDraw *d;
    npy_intp left;
    int begun;
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
    w->begun = 0;
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
    const npy_intp n = w->left < BLOCK ? w->left : BLOCK;
    for (int k = 0; k < THN_DRAW_PARAMS && n; k++) {
        const ThnInner load = thn_cast_inner(typenums[k], d->param[k]->typenum);
        if (w->same[k]) {
            load(w->begun ? 0 : n, (char *)&param[k], 8, w->p[k], 0);
            continue;
        }
        const Dims g = dims_of(w, k);
        thn_load_run(&g, &w->p[k], w->at[k], n, load, (char *)&param[k], 8);
    }
    w->begun = 1;
    w->left -= n;
    return n;
}

/* ---- uniform */

static int is_finite_range(const Block *param, npy_intp n)
{
    for (npy_intp i = 0; i < n; i++) {
        if (!isfinite(param[1].f8[i] - param[0].f8[i])) {
            return 0;
        }
    }
    return 1;
}

static void draw_uniform(bitgen_t *bits, const Block *param, int Py_UNUSED(same), npy_intp n, void *drawn)
{
    double *const to = drawn, (*const next)(void *) = bits->next_double;
    void *const state = bits->state;
    for (npy_intp i = 0; i < n; i++) {
        to[i] = next(state);
    }
    for (npy_intp i = 0; i < n; i++) {
        const double low = param[0].f8[i], range = param[1].f8[i] - low;
        to[i] = low + range * to[i];
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
static inline uint32_t at_most_32(bitgen_t *bits, uint32_t most, uint32_t mask)
{
    uint32_t (*const next)(void *) = bits->next_uint32;
    void *const state = bits->state;
    uint32_t value;
    do {
        value = next(state) & mask;
    } while (value > most);
    return value;
}

static uint64_t at_most(bitgen_t *bits, uint64_t most, uint64_t mask)
{
    uint64_t value;
    if (most <= UINT32_MAX) {
        return at_most_32(bits, (uint32_t)most, (uint32_t)mask);
    }
    do {
        value = bits->next_uint64(bits->state) & mask;
    } while (value > most);
    return value;
}

static int is_integer_range(const Block *param, npy_intp n)
{
    for (npy_intp i = 0; i < n; i++) {
        if (param[0].i8[i] > param[1].i8[i] || param[1].i8[i] == INT64_MAX) {
            return 0;
        }
    }
    return 1;
}

static void draw_integers(bitgen_t *bits, const Block *param, int same, npy_intp n, void *drawn)
{
    int64_t *const to = drawn;
    uint64_t most = (uint64_t)param[1].i8[0] - (uint64_t)param[0].i8[0], mask = mask_of(most);
    if (same && most && most <= UINT32_MAX) {
        /* Numbers that are beyond are overwritten by the next: a branch would be mispredicted as often as they come. */
        const uint64_t low = (uint64_t)param[0].i8[0];
        uint32_t (*const next)(void *) = bits->next_uint32;
        void *const state = bits->state;
        for (npy_intp i = 0; i < n;) {
            const uint32_t value = next(state) & (uint32_t)mask;
            to[i] = (int64_t)(low + value);
            i += value <= (uint32_t)most;
        }
        return;
    }
    for (npy_intp i = 0; i < n; i++) {
        const uint64_t low = (uint64_t)param[0].i8[i], here = (uint64_t)param[1].i8[i] - low;
        if (here != most) {
            most = here;
            mask = mask_of(most);
        }
        to[i] = (int64_t)(low + (most ? at_most(bits, most, mask) : 0));
    }
}

static void draw_permutations(const ThnDraw *d)
{
    const npy_intp n = d->out->dims[d->out->ndim - 1];
    bitgen_t *const bits = d->bits;
    int64_t *out = (int64_t *)d->out->data, *const end = out + thn_size(d->out);
    for (; out < end; out += n) {
        for (npy_intp i = 0; i < n; i++) {
            out[i] = i;
        }
        uint64_t mask = mask_of((uint64_t)(n - 1));
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
}

/* ---- binomial */

/* Beyond this expected number of successes, or failures, NumPy draws by rejection. */
#define MOST_BY_INVERSION 30.0

static int is_inverted(const Block *param, npy_intp n)
{
    int fits = 1;
    for (npy_intp i = 0; i < n; i++) {
        const double trials = (double)param[0].i8[i], p = param[1].f8[i], q = 1.0 - p, rarer = q < p ? q : p;
        fits &= (p >= 0) & (p <= 1) & (trials >= 0) & (trials * rarer <= MOST_BY_INVERSION);
    }
    return fits;
}

/* How often n trials of probability p <= 1/2 succeed, by inversion: the uniform number is compared with the sums of the
 * probabilities of 0, 1, ... successes. */
static int64_t inverted(bitgen_t *bits, int64_t n, double p, double uniform)
{
    const double q = 1.0 - p, none = exp((double)n * log(q)), mean = (double)n * p;
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

static void draw_binomial(bitgen_t *bits, const Block *param, int Py_UNUSED(same), npy_intp n, void *drawn)
{
    int64_t *const to = drawn, single = 1;
    Block larger;
    for (npy_intp i = 0; i < n; i++) {
        const double p = param[1].f8[i], q = 1.0 - p;
        larger.f8[i] = q > p ? q : p;
        single &= param[0].i8[i] == 1;
    }
    for (npy_intp i = 0; i < n; i++) {
        const int64_t trials = param[0].i8[i], flip = param[1].f8[i] > 0.5;
        const double uniform = bits->next_double(bits->state), from = uniform - larger.f8[i];
        to[i] = (from > 0) ^ flip;
        if (!single || fabs(from) < NEAR || uniform > 1 - NEAR) {
            const double p = param[1].f8[i];
            const int64_t x = inverted(bits, trials, flip ? 1.0 - p : p, uniform);
            to[i] = flip ? trials - x : x;
        }
    }
}

/* ---- all of them */

static int is_whole(int typenum)
{
    return PyTypeNum_ISINTEGER(typenum) && typenum != NPY_ULONG && typenum != NPY_ULONGLONG;
}

static const Method methods[] = {
    [THN_Distribution_UNIFORM] = {{NPY_DOUBLE, NPY_DOUBLE}, NPY_DOUBLE, is_finite_range, draw_uniform},
    [THN_Distribution_BINOMIAL] = {{NPY_INT64, NPY_DOUBLE}, NPY_INT64, is_inverted, draw_binomial},
    [THN_Distribution_INTEGERS] = {{NPY_INT64, NPY_INT64}, NPY_INT64, is_integer_range, draw_integers},
};

int thn_draw_fits(const ThnDraw *d, int distribution)
{
    const int out = d->out->typenum, is_real = out == NPY_FLOAT || out == NPY_DOUBLE || out == NPY_HALF;
    Walk w;
    Block param[THN_DRAW_PARAMS];
    if (distribution == THN_Distribution_PERMUTATION) {
        return out == NPY_INT64;
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
        fit = m->fits(param, n);
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
        m->draw(d->bits, param, w.same[0] && w.same[1], n, direct ? (void *)out : &drawn);
        if (!direct) {
            thn_cast_inner(d->out->typenum, m->drawn)(n, out, item, (const char *)&drawn, 8);
        }
    }
}
