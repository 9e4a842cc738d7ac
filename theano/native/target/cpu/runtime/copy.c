/* Strided loops over one or two arrays. */
#include "copy.h"
#include "walk.h"
#include "threads.h"

#include <stdio.h>

#define PARALLEL_BYTES ((npy_intp)4 << 20) /* loops over less are not split */

/* ---- element types. float16 is computed with in float32. */

typedef struct {
    uint16_t bits;
} half_t;

static inline float half_to_float(half_t h)
{
    uint32_t sign = (uint32_t)(h.bits & 0x8000) << 16, exponent = (h.bits >> 10) & 31, mantissa = h.bits & 1023, bits;
    if (exponent == 31) {
        bits = sign | 0x7f800000u | (mantissa << 13);
    } else if (exponent) {
        bits = sign | ((exponent + 112) << 23) | (mantissa << 13);
    } else if (mantissa) {
        int shift = __builtin_clz(mantissa) - 21;
        bits = sign | ((uint32_t)(113 - shift) << 23) | ((mantissa << (13 + shift)) & 0x7fffff);
    } else {
        bits = sign;
    }
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

/* Rounds to nearest, ties to even. */
static inline half_t float_to_half(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, 4);
    uint32_t sign = (bits >> 16) & 0x8000, magnitude = bits & 0x7fffffff, r;
    if (magnitude >= 0x7f800000u) {
        r = magnitude == 0x7f800000u ? 0x7c00 : (0x7e00 | ((magnitude >> 13) & 0x3ff));
    } else if (magnitude >= 0x477ff000u) {
        r = 0x7c00;
    } else if (magnitude >= 0x38800000u) {
        uint32_t m = magnitude - 0x38000000u;
        r = (m + 0xfff + ((m >> 13) & 1)) >> 13;
    } else if (magnitude >= 0x33000000u) {
        uint32_t shift = 126 - (magnitude >> 23), m = (magnitude & 0x7fffff) | 0x800000;
        uint32_t half = 1u << (shift - 1);
        r = m >> shift;
        uint32_t rest = m & ((1u << shift) - 1);
        r += rest > half || (rest == half && (r & 1));
    } else {
        r = 0;
    }
    return (half_t){(uint16_t)(sign | r)};
}

/* Rounds once: what narrowing to float32 drops is kept in its last bit, which is beyond those that decide. */
static inline half_t double_to_half(double d)
{
    uint64_t bits;
    memcpy(&bits, &d, 8);
    bits = (bits >> 29 | ((bits & 0x1fffffff) != 0)) << 29;
    memcpy(&d, &bits, 8);
    return float_to_half((float)d);
}

int thn_type_index(int typenum)
{
    /* One more than it; 0: none. */
    static const int8_t places[] = {
        [NPY_BOOL] = T_b1 + 1, [NPY_BYTE] = T_i1 + 1, [NPY_UBYTE] = T_u1 + 1, [NPY_SHORT] = T_i2 + 1, [NPY_USHORT] = T_u2 + 1,
        [NPY_INT] = T_i4 + 1, [NPY_UINT] = T_u4 + 1, [NPY_LONG] = (sizeof(long) == 8 ? T_i8 : T_i4) + 1,
        [NPY_ULONG] = (sizeof(long) == 8 ? T_u8 : T_u4) + 1, [NPY_LONGLONG] = T_i8 + 1, [NPY_ULONGLONG] = T_u8 + 1,
        [NPY_HALF] = T_f2 + 1, [NPY_FLOAT] = T_f4 + 1, [NPY_DOUBLE] = T_f8 + 1, [NPY_CFLOAT] = T_c8 + 1, [NPY_CDOUBLE] = T_c16 + 1,
    };
    return typenum >= 0 && typenum < (int)sizeof places ? places[typenum] - 1 : -1;
}

/* X(name, type, type of the number that is read) for real types; halves are read by their own. */
#define INTEGERS(X)                                                                                              \
    X(i1, int8_t, int64_t) X(u1, uint8_t, int64_t) X(i2, int16_t, int64_t) X(u2, uint16_t, int64_t)              \
    X(i4, int32_t, int64_t) X(u4, uint32_t, int64_t) X(i8, int64_t, int64_t) X(u8, uint64_t, uint64_t)
#define FLOATS(X) X(f4, float, float) X(f8, double, double)

/* get_X(p) -> a C number */
#define DEFINE_GET(S, T, R) \
    static inline R get_##S(const char *p) { return (R) * (const T *)p; }
DEFINE_GET(b1, npy_bool, int64_t)
INTEGERS(DEFINE_GET)
FLOATS(DEFINE_GET)
static inline float get_f2(const char *p) { return half_to_float(*(const half_t *)p); }
/* Integers that float32 does not hold are infinite. */
#define TO_HALF(v) _Generic(v, double: double_to_half, default: float_to_half)(v)

#define LOOP for (npy_intp i = 0; i < n; i++, d += ds, s += ss)

/* Each conversion from a real type: to which, and the value that it makes of v. */
#define EACH_TO(X, FROM)                                                                                    \
    X(FROM, b1, npy_bool, (v != 0)) X(FROM, i1, int8_t, (int8_t)v) X(FROM, u1, uint8_t, (uint8_t)v)         \
    X(FROM, i2, int16_t, (int16_t)v) X(FROM, u2, uint16_t, (uint16_t)v) X(FROM, i4, int32_t, (int32_t)v)    \
    X(FROM, u4, uint32_t, (uint32_t)v) X(FROM, i8, int64_t, (int64_t)v) X(FROM, u8, uint64_t, (uint64_t)v)  \
    X(FROM, f2, half_t, TO_HALF(v)) X(FROM, f4, float, (float)v) X(FROM, f8, double, (double)v)             \
    X(FROM, c8, ThnC8, ((ThnC8){(float)v, 0})) X(FROM, c16, ThnC16, ((ThnC16){(double)v, 0}))
#define CAST(FROM, TO, T, VALUE)                                                                            \
    static void cast_##FROM##_##TO(npy_intp n, char *d, npy_intp ds, const char *s, npy_intp ss)            \
    {                                                                                                       \
        LOOP                                                                                                \
        {                                                                                                   \
            const __auto_type v = get_##FROM(s);                                                            \
            *(T *)d = VALUE;                                                                                \
        }                                                                                                   \
    }
#define CAST_ROW(FROM, ...) EACH_TO(CAST, FROM)
CAST_ROW(b1)
INTEGERS(CAST_ROW)
CAST_ROW(f2)
FLOATS(CAST_ROW)

#define ENTRY(FROM, TO, ...) cast_##FROM##_##TO,
#define TABLE_ROW(FROM, ...) [T_##FROM] = {EACH_TO(ENTRY, FROM)},
static const ThnInner casts[T_c8][T_COUNT] = {TABLE_ROW(b1) INTEGERS(TABLE_ROW) TABLE_ROW(f2) FLOATS(TABLE_ROW)};

static void cast_c8_c16(npy_intp n, char *d, npy_intp ds, const char *s, npy_intp ss)
{
    LOOP *(ThnC16 *)d = (ThnC16){((const ThnC8 *)s)->re, ((const ThnC8 *)s)->im};
}

static void cast_c16_c8(npy_intp n, char *d, npy_intp ds, const char *s, npy_intp ss)
{
    LOOP *(ThnC8 *)d = (ThnC8){(float)((const ThnC16 *)s)->re, (float)((const ThnC16 *)s)->im};
}

ThnInner thn_cast_inner(int to, int from)
{
    int t = thn_type_index(to), f = thn_type_index(from);
    static const int8_t sizes[T_COUNT] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8, 8, 16};
    THN_NULL_UNLESS(t >= 0 && f >= 0);
    if (t == f) {
        return thn_copy_inner(sizes[t]);
    }
    if (f == T_c8) {
        return t == T_c16 ? cast_c8_c16 : t < T_c8 ? casts[T_f4][t] : NULL; /* the real part, which comes first */
    }
    if (f == T_c16) {
        return t == T_c8 ? cast_c16_c8 : casts[T_f8][t];
    }
    return casts[f][t];
}

/* ---- copying */

#define COPY(NAME, T)                                                                          \
    static void copy_##NAME(npy_intp n, char *d, npy_intp ds, const char *s, npy_intp ss)      \
    {                                                                                          \
        if (ds == (npy_intp)sizeof(T) && ss == (npy_intp)sizeof(T)) {                          \
            memcpy(d, s, (size_t)n * sizeof(T));                                               \
        } else if (ds == (npy_intp)sizeof(T) && ss == 0) {                                     \
            const T v = *(const T *)s;                                                         \
            for (npy_intp i = 0; i < n; i++) {                                                 \
                ((T *)d)[i] = v;                                                               \
            }                                                                                  \
        } else {                                                                               \
            LOOP *(T *)d = *(const T *)s;                                                      \
        }                                                                                      \
    }
COPY(1, uint8_t)
COPY(2, uint16_t)
COPY(4, uint32_t)
COPY(8, uint64_t)
COPY(16, ThnC16)

ThnInner thn_copy_inner(int itemsize)
{
    static const ThnInner copies[] = {[1] = copy_1, [2] = copy_2, [4] = copy_4, [8] = copy_8, [16] = copy_16};
    return copies[itemsize];
}

/* ---- adding and multiplying */

#define ARITHMETIC(ATTRIBUTE, VERB, OP, NAME, T, WIDE)                                        \
    ATTRIBUTE static void VERB##_##NAME(npy_intp n, char *d, npy_intp ds, const char *s, npy_intp ss) \
    {                                                                                         \
        if (ds == (npy_intp)sizeof(T) && ss == (npy_intp)sizeof(T)) {                         \
            T *a = (T *)d;                                                                    \
            const T *b = (const T *)s;                                                        \
            for (npy_intp i = 0; i < n; i++) {                                                \
                a[i] = (T)((WIDE)a[i] OP (WIDE)b[i]);                                         \
            }                                                                                 \
            return;                                                                           \
        }                                                                                     \
        LOOP *(T *)d = (T)((WIDE) * (T *)d OP (WIDE) * (const T *)s);                         \
    }
#define ADD_AND_MULTIPLY(NAME, T, WIDE) ARITHMETIC(, add, +, NAME, T, WIDE) ARITHMETIC(, mul, *, NAME, T, WIDE)
ADD_AND_MULTIPLY(u1, uint8_t, uint32_t)
ADD_AND_MULTIPLY(u2, uint16_t, uint32_t)
ADD_AND_MULTIPLY(u4, uint32_t, uint32_t)
ADD_AND_MULTIPLY(u8, uint64_t, uint64_t)
ADD_AND_MULTIPLY(f4, float, float)
ADD_AND_MULTIPLY(f8, double, double)

#if defined(__x86_64__) && defined(__GNUC__)
#define WIDE_ADD 1
/* Rows that are added to rows, which scattering does most. */
ARITHMETIC(__attribute__((target("avx2"))), wide_add, +, f4, float, float)
ARITHMETIC(__attribute__((target("avx2"))), wide_add, +, f8, double, double)
#endif

/* *d becomes EXPR of it, x, and of *s, y. */
#define ARITHMETIC_OF(NAME, T, EXPR)                                                         \
    static void NAME(npy_intp n, char *d, npy_intp ds, const char *s, npy_intp ss)           \
    {                                                                                        \
        LOOP                                                                                 \
        {                                                                                    \
            const T x = *(const T *)d, y = *(const T *)s;                                    \
            *(T *)d = EXPR;                                                                  \
        }                                                                                    \
    }
#define COMPLEX_SUM {x.re + y.re, x.im + y.im}
#define COMPLEX_PRODUCT {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re}
ARITHMETIC_OF(add_b1, char, (char)(x | y))
ARITHMETIC_OF(add_f2, half_t, float_to_half(half_to_float(x) + half_to_float(y)))
ARITHMETIC_OF(add_c8, ThnC8, ((ThnC8)COMPLEX_SUM))
ARITHMETIC_OF(add_c16, ThnC16, ((ThnC16)COMPLEX_SUM))
ARITHMETIC_OF(mul_b1, char, (char)(x & y))
ARITHMETIC_OF(mul_f2, half_t, float_to_half(half_to_float(x) * half_to_float(y)))
ARITHMETIC_OF(mul_c8, ThnC8, ((ThnC8)COMPLEX_PRODUCT))
ARITHMETIC_OF(mul_c16, ThnC16, ((ThnC16)COMPLEX_PRODUCT))

ThnInner thn_mul_inner(int typenum)
{
    static const ThnInner table[T_COUNT] = {mul_b1, mul_u1, mul_u1, mul_u2, mul_u2, mul_u4, mul_u4,
                                            mul_u8, mul_u8, mul_f2, mul_f4, mul_f8, mul_c8, mul_c16};
    int t = thn_type_index(typenum);
    return t < 0 ? NULL : table[t];
}

ThnInner thn_add_inner(int typenum)
{
    static const ThnInner table[T_COUNT] = {add_b1, add_u1, add_u1, add_u2, add_u2, add_u4, add_u4,
                                            add_u8, add_u8, add_f2, add_f4, add_f8, add_c8, add_c16};
    int t = thn_type_index(typenum);
#if WIDE_ADD
    if ((typenum == NPY_FLOAT || typenum == NPY_DOUBLE) && __builtin_cpu_supports("avx2")) {
        return typenum == NPY_FLOAT ? wide_add_f4 : wide_add_f8;
    }
#endif
    return t < 0 ? NULL : table[t];
}

/* ---- reading indices */

#define READER(S, ...) \
    static int64_t read_##S(const char *p) { return (int64_t)get_##S(p); }
READER(b1)
INTEGERS(READER)

ThnReadInt thn_int_reader(int typenum)
{
    static const ThnReadInt table[] = {read_b1, read_i1, read_u1, read_i2, read_u2, read_i4, read_u4, read_i8, read_u8};
    int t = thn_type_index(typenum);
    return t < 0 || t > T_u8 ? NULL : table[t];
}

/* ---- the loop nest */

enum { SRC, DST };

/* Dims in normal form: none of length 1, neighbours merged where both operands allow; `n_first` entries of the first one. */
static void run_nest(const Dims *g, npy_intp n_first, char *dst, const char *src, ThnInner inner)
{
    const int nd = g->n, last = nd - 1, outer = nd - 2;
    const npy_intp *ds = g->strides + DST * g->cap, *ss = g->strides + SRC * g->cap;
    if (nd == 1) {
        inner(n_first, dst, ds[0], src, ss[0]);
        return;
    }
    const npy_intp n0 = g->shape[last], d0 = ds[last], s0 = ss[last];
    const npy_intp n1 = nd == 2 ? n_first : g->shape[outer], d1 = ds[outer], s1 = ss[outer];
    /* A transposition: walk tiles, so that the source's cache lines are used up before they go. */
    const npy_intp tile = thn_magnitude(s1) < thn_magnitude(s0) && n1 > 8 ? 16 : n0;
    npy_intp at[THN_MAXDIM] = {0}, planes = nd > 2 ? n_first * thn_product(outer - 1, g->shape + 1) : 1;
    char *ptr[2] = {[DST] = dst, [SRC] = (char *)src};
    for (; planes > 0; planes--, thn_step(g, outer, 2, ptr, at)) {
        for (npy_intp start = 0; start < n0; start += tile) {
            npy_intp count = n0 - start < tile ? n0 - start : tile;
            char *d = ptr[DST] + start * d0;
            const char *s = ptr[SRC] + start * s0;
            for (npy_intp i = 0; i < n1; i++, d += d1, s += s1) {
                inner(count, d, d0, s, s0);
            }
        }
    }
}

typedef struct {
    const Dims *g;
    char *dst;
    const char *src;
    ThnInner inner;
} Split;

static int run_part(void *ctx, npy_intp start, npy_intp stop)
{
    const Split *p = ctx;
    const Dims *g = p->g;
    run_nest(g, stop - start, p->dst + start * g->strides[DST * g->cap], p->src + start * g->strides[SRC * g->cap], p->inner);
    return 0;
}

void thn_loop2(int ndim, const npy_intp *dims, char *dst, const npy_intp *dst_strides, const char *src,
               const npy_intp *src_strides, ThnInner inner)
{
    npy_intp n[THN_MAXDIM], strides[2][THN_MAXDIM], *ds = strides[DST], *ss = strides[SRC];
    Dims g = {0, n, strides[0], THN_MAXDIM};
    for (int i = 0; i < ndim; i++) {
        if (dims[i] == 0) {
            return;
        }
        if (dims[i] == 1) {
            continue;
        }
        /* Insertion sort: the destination is walked in memory order. */
        int j = g.n++;
        for (; j > 0 && thn_magnitude(ds[j - 1]) < thn_magnitude(dst_strides[i]); j--) {
            n[j] = n[j - 1];
            ds[j] = ds[j - 1];
            ss[j] = ss[j - 1];
        }
        n[j] = dims[i];
        ds[j] = dst_strides[i];
        ss[j] = src_strides[i];
    }
    if (g.n == 0) {
        inner(1, dst, 0, src, 0);
        return;
    }
    thn_merge_dims(&g, 2);
    const int nd = g.n;
    /* The innermost destination stride stands for the item size; parts depend on sizes only. */
    const npy_intp rows = n[0], row_bytes = thn_magnitude(ds[nd - 1]) * thn_product(nd - 1, n + 1);
    if (ds[0] != 0 && rows > 1 && rows * row_bytes >= PARALLEL_BYTES) {
        Split split = {&g, dst, src, inner};
        thn_parallel_ranges(rows, ((npy_intp)1 << 20) / (row_bytes > 0 ? row_bytes : 1) + 1, run_part, &split);
        return;
    }
    run_nest(&g, rows, dst, src, inner);
}

void thn_copy_strided(int ndim, const npy_intp *dims, char *dst, const npy_intp *dst_strides, const char *src,
                      const npy_intp *src_strides, int itemsize)
{
    thn_loop2(ndim, dims, dst, dst_strides, src, src_strides, thn_copy_inner(itemsize));
}

/* ---- shapes */

static void extent(const ThnCell *c, const char **low, const char **high)
{
    *low = *high = c->data;
    for (int i = 0; i < c->ndim; i++) {
        if (c->dims[i] == 0) {
            *high = *low;
            return;
        }
        npy_intp reach = (c->dims[i] - 1) * c->strides[i];
        *(reach < 0 ? low : high) += reach;
    }
    *high += c->itemsize;
}

int thn_may_overlap(const ThnCell *a, const ThnCell *b)
{
    const char *a0, *a1, *b0, *b1;
    extent(a, &a0, &a1);
    extent(b, &b0, &b1);
    return a0 < b1 && b0 < a1;
}

int thn_widen(const ThnCell *c, int ndim, npy_intp *dims)
{
    const int skip = ndim - c->ndim;
    for (int i = 0; i < c->ndim; i++) {
        const npy_intp n = c->dims[i];
        npy_intp *have = &dims[skip + i];
        if (n != 1 && *have != 1 && n != *have) {
            return skip + i;
        }
        *have = n != 1 ? n : *have;
    }
    return -1;
}

int thn_broadcast_strides(const ThnCell *c, int ndim, const npy_intp *dims, npy_intp *strides)
{
    int skip = ndim - c->ndim;
    for (int i = 0; i < -skip; i++) {
        THN_NEED(c->dims[i] == 1);
    }
    for (int i = 0; i < ndim; i++) {
        const int k = i - skip, own = k >= 0 && c->dims[k] == dims[i];
        THN_NEED(k < 0 || own || c->dims[k] == 1);
        strides[i] = own ? c->strides[k] : 0;
    }
    return 0;
}

const char *thn_shape_text(char *buf, size_t size, int ndim, const npy_intp *dims)
{
    size_t used = (size_t)snprintf(buf, size, "(");
    for (int i = 0; i < ndim && used + 32 < size; i++) {
        used += (size_t)snprintf(buf + used, size - used, "%s%lld", i ? ", " : "", (long long)dims[i]);
    }
    snprintf(buf + used, size - used, ndim == 1 ? ",)" : ")");
    return buf;
}
