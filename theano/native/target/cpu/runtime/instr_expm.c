/* Instructions: the exponential of a matrix, and its derivative in a direction; float64 and complex128.
 *
 * Scaling and squaring of Pade approximants: A. Al-Mohy, N. Higham, "A new scaling and squaring algorithm for the matrix
 * exponential", SIAM J. Matrix Anal. Appl. 31 (2009), and, for the derivative, "Computing the Frechet derivative of the matrix
 * exponential", ibid. 30 (2009). Matrices are stored by rows and worked on as if by columns: the transpose of the result is the
 * result for the transpose. */
#include "linalg.h"
#include "pool.h"

#include <math.h>

static const double pade3[] = {120, 60, 12, 1};
static const double pade5[] = {30240, 15120, 3360, 420, 30, 1};
static const double pade7[] = {17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1};
static const double pade9[] = {17643225600.0, 8821612800.0, 2075673600, 302702400, 30270240, 2162160, 110880, 3960, 90, 1};
static const double *const pades[] = {pade3, pade5, pade7, pade9};
static const double pade13[] = {64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
                                129060195264000.0,   10559470521600.0,    670442572800.0,     33522128640.0,
                                1323241920,          40840800,            960960,             16380,
                                182,                 1};

/* Square matrices of one size, each with its derivative in the direction behind it, where there is one. */
typedef struct {
    int typenum, letter;
    npy_intp n, count, all; /* doubles of a matrix, and with those of its derivative */
    int failed;
} Space;

#define MATRICES 11
typedef double *Matrix;

/* c = sign * a b, or is increased by that. */
static void add_product(Space *s, Matrix a, Matrix b, Matrix c, int sign, int add)
{
    const npy_intp item = s->letter == THN_Z ? 16 : 8;
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

/* out = sum of weights[k] * terms[k] */
static void combine(const Space *s, Matrix out, int terms, const double *weights, Matrix const *from)
{
    for (npy_intp i = 0; i < s->all; i++) {
        double sum = 0;
        for (int k = 0; k < terms; k++) {
            sum += weights[k] * from[k][i];
        }
        out[i] = sum;
    }
}

static void add_diagonal(const Space *s, Matrix a, double value)
{
    const npy_intp parts = s->letter == THN_Z ? 2 : 1;
    for (npy_intp i = 0; i < s->n; i++) {
        a[i * (s->n + 1) * parts] += value;
    }
}

static double magnitude(const Space *s, Matrix a, npy_intp i)
{
    return s->letter == THN_Z ? hypot(a[2 * i], a[2 * i + 1]) : fabs(a[i]);
}

/* The largest sum of magnitudes of a column. */
static double norm1(const Space *s, Matrix a)
{
    double largest = 0;
    for (npy_intp j = 0; j < s->n; j++) {
        double sum = 0;
        for (npy_intp i = 0; i < s->n; i++) {
            sum += magnitude(s, a, j * s->n + i);
        }
        largest = sum > largest || isnan(sum) ? sum : largest;
        if (isnan(largest)) {
            break;
        }
    }
    return largest;
}

/* How often the matrix has still to be halved, lest rounding spoils the approximant of degree m; `v` has 2 n numbers. */
static int more_halvings(const Space *s, Matrix a, double scale, int m, double *v)
{
    static const double leading[] = {100800.0, 10059033600.0, 4487938430976000.0, 5914384781877411840000.0,
                                     113250775606021113483283660800000000.0};
    const double c = leading[m == 13 ? 4 : (m - 3) / 2];
    const npy_intp n = s->n;
    double *next = v + n, norm = norm1(s, a) * scale, largest = 0;
    if (norm == 0) {
        return 0;
    }
    for (npy_intp i = 0; i < n; i++) {
        v[i] = 1;
    }
    for (int k = 0; k < 2 * m + 1; k++) {
        for (npy_intp j = 0; j < n; j++) {
            double sum = 0;
            for (npy_intp i = 0; i < n; i++) {
                sum += magnitude(s, a, j * n + i) * scale * v[i];
            }
            next[j] = sum;
        }
        memcpy(v, next, (size_t)n * sizeof *v);
    }
    for (npy_intp i = 0; i < n; i++) {
        largest = v[i] > largest ? v[i] : largest;
    }
    const double alpha = largest / c / norm, unit = 1.1102230246251565e-16;
    if (!(alpha > unit) || !isfinite(alpha)) {
        return 0;
    }
    return (int)ceil(log2(alpha / unit) / (2 * m));
}

/* x = (v - u)^-1 (v + u) in `v`; `q` and the pivots are overwritten. The derivative is (v - u)^-1 ((v + u)' - (v - u)' x). */
static int64_t quotient(Space *s, Matrix u, Matrix v, Matrix q, int64_t *pivots)
{
    const ThnDense lu = thn_dense((char *)q, s->n, s->n), x = thn_dense((char *)v, s->n, s->n);
    Matrix const terms[] = {v, u};
    combine(s, q, 2, (const double[]){1, -1}, terms);
    combine(s, v, 2, (const double[]){1, 1}, terms);
    int64_t info = thn_getrf(s->letter, lu, pivots);
    info = info ? info : thn_getrs(s->letter, 'N', lu, pivots, x);
    if (info == 0 && s->all > s->count) {
        add_product(s, q + s->count, v, v + s->count, -1, 1);
        info = thn_getrs(s->letter, 'N', lu, pivots, thn_dense((char *)(v + s->count), s->n, s->n));
    }
    return info;
}

static void scale(const Space *s, Matrix a, double by)
{
    for (npy_intp i = 0; i < s->all; i++) {
        a[i] *= by;
    }
}

/* A^2, A^4 and A^6 of A. */
static void low_powers(Space *s, Matrix const *powers)
{
    product(s, powers[0], powers[0], powers[1], 0);
    product(s, powers[1], powers[1], powers[2], 0);
    product(s, powers[1], powers[2], powers[3], 0);
}

/* Odd and even part, u and v, of the numerator of degree 3, 5, 7 or 9; powers: A, A^2, A^4, A^6, A^8. */
static void low_degree(Space *s, int m, const double *b, Matrix const *powers, Matrix u, Matrix v, Matrix work)
{
    double odd[4], even[4];
    const int terms = (m - 1) / 2;
    for (int k = 0; k < terms; k++) {
        odd[k] = b[2 * k + 3];
        even[k] = b[2 * k + 2];
    }
    combine(s, work, terms, odd, powers + 1);
    add_diagonal(s, work, b[1]);
    product(s, powers[0], work, u, 0);
    combine(s, v, terms, even, powers + 1);
    add_diagonal(s, v, b[0]);
}

/* The same of degree 13; w, w1 and z1 are overwritten. */
static void degree_13(Space *s, Matrix const *powers, Matrix u, Matrix v, Matrix w, Matrix w1, Matrix z1)
{
    const double *b = pade13;
    combine(s, w1, 3, (const double[]){b[9], b[11], b[13]}, powers + 1);
    combine(s, z1, 3, (const double[]){b[8], b[10], b[12]}, powers + 1);
    combine(s, w, 3, (const double[]){b[3], b[5], b[7]}, powers + 1);
    add_diagonal(s, w, b[1]);
    combine(s, v, 3, (const double[]){b[2], b[4], b[6]}, powers + 1);
    add_diagonal(s, v, b[0]);
    product(s, powers[3], w1, w, 1);
    product(s, powers[0], w, u, 0);
    product(s, powers[3], z1, v, 1);
}

static double root(double x, int n)
{
    return pow(x, 1.0 / n);
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static int halvings(double norm, double bound)
{
    return norm > bound ? (int)ceil(log2(norm / bound)) : 0;
}

enum { BEFORE = 1, AFTER = 2 };

/* On which sides of the diagonal there are numbers other than zero; the sides in `clear` are set to zero. */
static int sides(const Space *s, Matrix a, int clear)
{
    const npy_intp parts = s->letter == THN_Z ? 2 : 1, length = s->n * parts;
    int found = 0;
    for (npy_intp j = 0; j < s->n; j++) {
        for (npy_intp i = 0; i < length; i++) {
            const int side = i / parts < j ? BEFORE : i / parts > j ? AFTER : 0;
            if (side & clear) {
                a[j * length + i] = 0;
            }
            found |= a[j * length + i] != 0 ? side : 0;
        }
    }
    return found;
}

static void exponentials(const Space *s, Matrix a)
{
    for (npy_intp i = 0; i < s->n; i++) {
        if (s->letter == THN_Z) {
            double *z = a + 2 * i * (s->n + 1), size = exp(z[0]), angle = z[1];
            z[0] = angle == 0 ? size : size * cos(angle);
            z[1] = angle == 0 ? 0 : size * sin(angle);
        } else {
            a[i * (s->n + 1)] = exp(a[i * (s->n + 1)]);
        }
    }
}

/* The degree for the matrix m[0], whose powers are m[1] ..., and how often it is halved. */
static int degree_of(Space *s, Matrix *m, double *vector, int *squarings)
{
    low_powers(s, m);
    const double d4 = root(norm1(s, m[2]), 4), d6 = root(norm1(s, m[3]), 6), low = larger(d4, d6);
    if (low < 1.495585217958292e-2 && !more_halvings(s, m[0], 1, 3, vector)) {
        return 3;
    }
    if (low < 2.539398330063230e-1 && !more_halvings(s, m[0], 1, 5, vector)) {
        return 5;
    }
    product(s, m[2], m[2], m[4], 0);
    const double d8 = root(norm1(s, m[4]), 8), high = larger(d6, d8);
    if (high < 9.504178996162932e-1 && !more_halvings(s, m[0], 1, 7, vector)) {
        return 7;
    }
    if (high < 2.097847961257068 && !more_halvings(s, m[0], 1, 9, vector)) {
        return 9;
    }
    product(s, m[2], m[3], m[5], 0);
    const double d10 = root(norm1(s, m[5]), 10), top = larger(d8, d10), norm = top < high ? top : high;
    *squarings = halvings(isfinite(norm) ? norm : norm1(s, m[0]), 4.25);
    *squarings += more_halvings(s, m[0], ldexp(1, -*squarings), 13, vector);
    return 13;
}

/* m[0] holds A, behind it perhaps a direction; the result is the one that is returned. */
static Matrix exponential(Space *s, Matrix *m, int64_t *pivots, double *vector, int64_t *info)
{
    Matrix *powers = m, u = m[6], v = m[7], q = m[8], spare = m[5];
    const int is_plain = s->all == s->count, filled = is_plain ? sides(s, m[0], 0) : BEFORE | AFTER;
    const double norm = norm1(s, m[0]);
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
    if (degree < 13) {
        low_degree(s, degree, pades[(degree - 3) / 2], powers, u, v, spare);
    } else {
        scale(s, powers[0], ldexp(1, -squarings));
        if (squarings || !is_plain) { /* powers of a large matrix may have overflown */
            low_powers(s, powers);
        }
        degree_13(s, powers, u, v, spare, m[9], m[10]);
    }
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
    ThnCell *a = THN_IN(f, ins, 0);
    const npy_intp *direction = ins->nin > 1 ? THN_IN(f, ins, 1)->dims : NULL;
    THN_TRY(direction ? thn_require_square(f, a, PyExc_ValueError, "expected A to be a square matrix")
                      : thn_require_square(f, a, thn_LinAlgError, NUMPY_SQUARE));
    THN_FAIL_IF(f, direction && !PyArray_CompareLists(direction, a->dims, 2), PyExc_ValueError,
                "expected A and E to be the same shape, got %s and %s", THN_SHAPE(2, a->dims), THN_SHAPE(2, direction));
    f->work = 30 * thn_cubic_work(a);
    return thn_out_alloc(f, THN_OUT(f, ins, 0), a->dims);
}

static int expm_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *a = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    const npy_intp n = a->dims[0];
    const npy_intp count = n * n * (a->itemsize / 8);
    Space s = {a->typenum, thn_letter_of(a), n, count, ins->nin * count, 0};
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
        thn_copy_rows(THN_IN(f, ins, k), (char *)(m[0] + k * count));
    }
    THN_HELD held = thn_hold_for(a);
    const Matrix result = exponential(&s, m, pivots, (double *)(pivots + n), &info);
    memcpy(out->data, result + s.all - count, (size_t)count * sizeof *result);
    return thn_linalg_result(f, s.failed ? THN_LAPACK_MEMORY : info, "expm: the approximant of the exponential is singular");
}

THN_INSTRUCTION(expm, expm_check, expm_prepare, expm_execute)
THN_INSTRUCTION(expm_direction, expm_check, expm_prepare, expm_execute)
