/* Instructions: the exponential of a matrix, and its derivative in a direction; float64 and complex128.
 *
 * Scaling and squaring of Pade approximants: A. Al-Mohy, N. Higham, "A new scaling and squaring algorithm for the matrix
 * exponential", SIAM J. Matrix Anal. Appl. 31 (2009), and, for the derivative, "Computing the Frechet derivative of the matrix
 * exponential", ibid. 30 (2009). Matrices are stored by rows and worked on as if by columns: the transpose of the result is the
 * result for the transpose. */
#include "linalg.h"
#include "pool.h"

#include <math.h>

/* Square matrices of one size, each with its derivative in the direction behind it, where there is one. */
typedef struct {
    int typenum, letter, parts; /* parts: doubles of a number */
    npy_intp n, count, all; /* doubles of a matrix, and with those of its derivative */
    int failed;
} Space;

#define MATRICES 9
#define MOST_DEGREE 13
typedef double *Matrix;

/* c = sign * a b, or is increased by that. */
static void add_product(Space *s, Matrix a, Matrix b, Matrix c, int sign, int add)
{
    const npy_intp item = 8 * s->parts;
    ThnMatrix x = {(char *)a, s->n, s->n, item, s->n * item}, y = x, z = x;
    y.data = (char *)b;
    z.data = (char *)c;
    s->failed |= thn_matmul(s->typenum, &x, &y, &z, sign < 0 ? thn_unit(s->letter, -1) : NULL, add ? thn_unit(s->letter, 1) : NULL) < 0;
}

/* c = a b, or is increased by that; with the derivatives. */
static void product(Space *s, Matrix a, Matrix b, Matrix c, int add)
{
    add_product(s, a, b, c, 1, add);
    if (s->all > s->count) {
        add_product(s, a, b + s->count, c + s->count, 1, add);
        add_product(s, a + s->count, b, c + s->count, 1, 1);
    }
}

/* The largest sum of magnitudes of a column, times `scale` and the numbers of `v`, where there are some; the sums are kept in `sums`. */
static double largest_sum(const Space *s, Matrix a, double scale, const double *v, double *sums)
{
    static const double one = 1;
    const npy_intp step = v ? 1 : 0;
    double largest = 0;
    v = v ? v : &one;
    for (npy_intp j = 0; j < s->n; j++) {
        double sum = 0;
        for (npy_intp i = 0; i < s->n; i++, a += s->parts) {
            sum += (s->parts > 1 ? hypot(a[0], a[1]) : fabs(a[0])) * v[i * step];
        }
        sum *= scale;
        if (sums) {
            sums[j] = sum;
        }
        largest = sum > largest || isnan(sum) ? sum : largest;
    }
    return largest;
}

static double norm1(const Space *s, Matrix a)
{
    return largest_sum(s, a, 1, NULL, NULL);
}

/* How often the matrix has still to be halved, lest rounding spoils the approximant of degree m; `v` has 2 n numbers. */
static int more_halvings(const Space *s, Matrix a, double scale, int m, double *v)
{
    static const double leading[] = {100800.0, 10059033600.0, 4487938430976000.0, 5914384781877411840000.0,
                                     113250775606021113483283660800000000.0};
    const double norm = largest_sum(s, a, scale, NULL, v), unit = 1.1102230246251565e-16;
    double *sums = v + s->n, largest = norm;
    if (norm == 0) {
        return 0;
    }
    for (int k = 0; k < 2 * m; k++) {
        double *const before = v;
        largest = largest_sum(s, a, scale, v, sums);
        v = sums;
        sums = before;
    }
    const double alpha = largest / leading[m == 13 ? 4 : (m - 3) / 2] / norm;
    return alpha > unit && isfinite(alpha) ? (int)ceil(log2(alpha / unit) / (2 * m)) : 0;
}

/* Coefficients of the numerator of degree m. */
static void coefficients(int m, double *b)
{
    int64_t c = 1;
    for (int k = m; k >= 0; k--) {
        b[k] = (double)c;
        c = c * k * (2 * m - k + 1) / (m - k + 1);
    }
}

/* out = sum of weights[2 k] * powers[k + 1] */
static void combine(const Space *s, Matrix out, int terms, const double *weights, Matrix const *powers)
{
    for (npy_intp i = 0; i < s->all; i++) {
        double sum = 0;
        for (int k = 0; k < terms; k++) {
            sum += weights[2 * k] * powers[k + 1][i];
        }
        out[i] = sum;
    }
}

/* The even part of a numerator of coefficients b, or A^-1 times its odd part; powers: A, A^2, A^4, A^6, A^8. */
static void part_of(Space *s, int m, const double *b, int odd, Matrix const *powers, Matrix out, Matrix work)
{
    combine(s, out, m == 13 ? 3 : (m - 1) / 2, b + 2 + odd, powers);
    for (npy_intp i = 0; i < s->n; i++) {
        out[i * (s->n + 1) * s->parts] += b[odd];
    }
    if (m == 13) {
        combine(s, work, 3, b + 8 + odd, powers);
        product(s, powers[3], work, out, 1);
    }
}

/* x = (v - u)^-1 (v + u) in `v`; `q` and the pivots are overwritten. The derivative is (v - u)^-1 ((v + u)' - (v - u)' x). */
static int64_t quotient(Space *s, Matrix u, Matrix v, Matrix q, int64_t *pivots)
{
    const ThnDense lu = thn_dense((char *)q, s->n, s->n), x = thn_dense((char *)v, s->n, s->n);
    for (npy_intp i = 0; i < s->all; i++) {
        q[i] = v[i] - u[i];
        v[i] += u[i];
    }
    int64_t info = thn_getrf(s->letter, lu, pivots);
    info = info ? info : thn_getrs(s->letter, 'N', lu, pivots, x);
    if (info == 0 && s->all > s->count) {
        add_product(s, q + s->count, v, v + s->count, -1, 1);
        info = thn_getrs(s->letter, 'N', lu, pivots, thn_dense((char *)(v + s->count), s->n, s->n));
    }
    return info;
}

/* A^2, A^4 and A^6 of A. */
static void low_powers(Space *s, Matrix const *powers)
{
    product(s, powers[0], powers[0], powers[1], 0);
    product(s, powers[1], powers[1], powers[2], 0);
    product(s, powers[1], powers[2], powers[3], 0);
}

/* The n-th root of the norm of A^n. */
static double root(const Space *s, Matrix power, int n)
{
    return pow(norm1(s, power), 1.0 / n);
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static int halvings(double norm, double bound)
{
    return norm > bound ? (int)ceil(log2(norm / bound)) : 0;
}

/* The degree for the matrix m[0], whose powers are m[1] ..., and how often it is halved. */
static int degree_of(Space *s, Matrix *m, double *vector, int *squarings)
{
    static const double bounds[] = {1.495585217958292e-2, 2.539398330063230e-1, 9.504178996162932e-1, 2.097847961257068};
    low_powers(s, m);
    const double d6 = root(s, m[3], 6);
    double d8 = 0, most = larger(root(s, m[2], 4), d6);
    for (int k = 0; k < 4; k++) {
        const int degree = 2 * k + 3;
        if (degree == 7) {
            product(s, m[2], m[2], m[4], 0);
            d8 = root(s, m[4], 8);
            most = larger(d6, d8);
        }
        if (most < bounds[k] && !more_halvings(s, m[0], 1, degree, vector)) {
            return degree;
        }
    }
    product(s, m[2], m[3], m[5], 0);
    const double top = larger(d8, root(s, m[5], 10)), norm = top < most ? top : most;
    *squarings = halvings(isfinite(norm) ? norm : norm1(s, m[0]), 4.25);
    *squarings += more_halvings(s, m[0], ldexp(1, -*squarings), 13, vector);
    return 13;
}

enum { BEFORE = 1, AFTER = 2 };

/* On which sides of the diagonal there are numbers other than zero; the sides in `clear` are set to zero. */
static int sides(const Space *s, Matrix a, int clear)
{
    const npy_intp length = s->n * s->parts;
    int found = 0;
    for (npy_intp j = 0; j < s->n; j++) {
        for (npy_intp i = 0; i < length; i++) {
            const int side = i / s->parts < j ? BEFORE : i / s->parts > j ? AFTER : 0;
            if (side & clear) {
                a[j * length + i] = 0;
            }
            found |= a[j * length + i] != 0 ? side : 0;
        }
    }
    return found;
}

/* Of a diagonal matrix. */
static void exponentials(const Space *s, Matrix a)
{
    for (npy_intp i = 0; i < s->n; i++, a += (s->n + 1) * s->parts) {
        const double size = exp(a[0]), angle = s->parts > 1 ? a[1] : 0;
        a[0] = angle == 0 ? size : size * cos(angle);
        if (angle != 0) {
            a[1] = size * sin(angle);
        }
    }
}

/* m[0] holds A, behind it perhaps a direction; the result is the one that is returned. */
static Matrix exponential(Space *s, Matrix *m, int64_t *pivots, double *vector, int64_t *info)
{
    Matrix spare = m[5], u = m[6], v = m[7], q = m[8];
    const int is_plain = s->all == s->count, filled = is_plain ? sides(s, m[0], 0) : BEFORE | AFTER;
    const double norm = norm1(s, m[0]);
    double b[MOST_DEGREE + 1];
    int degree = 13, squarings = 0;
    if (!isfinite(norm)) {
        for (npy_intp i = 0; i < s->all; i++) {
            m[0][i] = NAN;
        }
        return m[0];
    }
    if (!filled) {
        exponentials(s, m[0]);
        return m[0];
    }
    if (is_plain) {
        degree = degree_of(s, m, vector, &squarings);
    } else {
        squarings = halvings(norm, 4.74);
    }
    const double part = ldexp(1, -squarings);
    for (npy_intp i = 0; squarings && i < s->all; i++) {
        m[0][i] *= part;
    }
    if (squarings || !is_plain) { /* powers of a large matrix may have overflown */
        low_powers(s, m);
    }
    coefficients(degree, b);
    part_of(s, degree, b, 1, m, spare, q);
    product(s, m[0], spare, u, 0);
    part_of(s, degree, b, 0, m, v, q);
    *info = quotient(s, u, v, q, pivots);
    for (int k = 0; k < squarings && *info == 0; k++) {
        Matrix from = v;
        product(s, from, from, spare, 0);
        v = spare;
        spare = from;
    }
    if (filled != (BEFORE | AFTER)) { /* rounding in the solution may have left something there */
        sides(s, v, (BEFORE | AFTER) & ~filled);
    }
    return v;
}

static int expm_check(ThnProgram *p, ThnInstr *ins)
{
    const int typenum = p->cells[ins->ins[0]].typenum;
    return thn_fits(ins, typenum == NPY_DOUBLE || typenum == NPY_CDOUBLE) < 0 ? -1 : thn_linalg_check(p, ins);
}

static int expm_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *a = THN_IN(f, ins, 0);
    const npy_intp *direction = ins->nin > 1 ? THN_IN(f, ins, 1)->dims : NULL;
    THN_TRY(direction ? thn_square_prepare(f, ins, 30, PyExc_ValueError, "expected A to be a square matrix")
                      : thn_square_prepare(f, ins, 30, thn_LinAlgError, NUMPY_SQUARE));
    THN_FAIL_IF(f, direction && !PyArray_CompareLists(direction, a->dims, 2), PyExc_ValueError,
                "expected A and E to be the same shape, got %s and %s", THN_SHAPE(2, a->dims), THN_SHAPE(2, direction));
    return 0;
}

static int expm_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *a = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    const npy_intp n = a->dims[0];
    const npy_intp count = n * n * (a->itemsize / 8);
    Space s = {a->typenum, thn_letter_of(a), a->itemsize / 8, n, count, ins->nin * count, 0};
    if (n == 0) {
        return 0;
    }
    THN_POOLED double *memory = thn_linalg_room(f, (MATRICES * s.all + 3 * n) * (npy_intp)sizeof *memory);
    THN_NEED(memory);
    Matrix m[MATRICES];
    int64_t *pivots = (int64_t *)(memory + MATRICES * s.all), info = 0;
    for (int k = 0; k < MATRICES; k++) {
        m[k] = memory + k * s.all;
    }
    for (int k = 0; k < ins->nin; k++) {
        thn_copy_rows(THN_IN(f, ins, k), (char *)(m[0] + k * count), 0);
    }
    THN_HELD held = thn_hold_for(a);
    const Matrix result = exponential(&s, m, pivots, (double *)(pivots + n), &info);
    memcpy(out->data, result + s.all - count, (size_t)count * sizeof *result);
    return thn_linalg_result(f, s.failed ? THN_LAPACK_MEMORY : info, "expm: the approximant of the exponential is singular");
}

THN_INSTRUCTION(expm, expm_check, expm_prepare, expm_execute)
THN_INSTRUCTION(expm_direction, expm_check, expm_prepare, expm_execute)
