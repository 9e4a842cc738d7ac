/* Types, constants and integer helpers of generated kernels. No other header is included: parsing this must stay quick. */
#pragma once

typedef unsigned char npy_bool;
typedef signed char npy_int8;
typedef unsigned char npy_uint8;
typedef short npy_int16;
typedef unsigned short npy_uint16;
typedef int npy_int32;
typedef unsigned int npy_uint32;
typedef __INT64_TYPE__ npy_int64;
typedef __UINT64_TYPE__ npy_uint64;
typedef float npy_float32;
typedef double npy_float64;
typedef __INTPTR_TYPE__ npy_intp;
typedef __INTPTR_TYPE__ tk_intp;
#if defined(__FLT16_MAX__)
typedef _Float16 npy_float16;
#else
typedef unsigned short npy_float16; /* the lowering keeps float16 out of kernels when the compiler lacks it */
#endif
typedef npy_int8 npy_byte;
typedef npy_uint8 npy_ubyte;
typedef npy_int64 int64_t;
typedef npy_uint64 uint64_t;
typedef npy_int32 int32_t;
typedef npy_uint32 uint32_t;
typedef npy_int16 int16_t;
typedef npy_uint16 uint16_t;
typedef npy_int8 int8_t;
typedef npy_uint8 uint8_t;
typedef __SIZE_TYPE__ size_t;
typedef npy_float64 npy_double;
typedef npy_float32 npy_float;
typedef npy_int64 npy_longlong;

#define INT8_MAX 127
#define INT16_MAX 32767
#define INT32_MAX 2147483647
#define INT64_MAX ((npy_int64)0x7fffffffffffffffLL)
#define INT8_MIN (-128)
#define INT16_MIN (-32768)
#define INT32_MIN (-2147483647 - 1)
#define INT64_MIN (-INT64_MAX - 1)

#define TK_INF __builtin_inff()
#ifndef INFINITY
#define INFINITY __builtin_inff()
#endif
#ifndef NAN
#define NAN __builtin_nanf("")
#endif
#define NPY_INFINITY __builtin_inff()
#define NPY_NAN __builtin_nanf("")
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440

#define TK_INLINE static inline __attribute__((always_inline, unused))
#define TK_COLD __attribute__((cold, noinline))
/* Where a kernel ends the upper halves of vectors have to be zero: code without AVX, which goes on, is slow otherwise. Compilers
 * take care of that, but gcc not at -O1. */
#if defined(__AVX__)
#define TK_LEAVE __builtin_ia32_vzeroupper();
#else
#define TK_LEAVE
#endif
#if defined(__clang__)
#define TK_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define TK_IVDEP _Pragma("GCC ivdep")
#endif
/* In a loop that must stay scalar: a remainder, or a rare path, whose vector form would only cost compile time. */
#define TK_SCALAR_LOOP __asm__ volatile("");
typedef npy_int32 tk_flag;

/* What launch.h declares as ThnKernelTable. */
typedef struct {
    npy_int64 abi;
    const char *reduces;
    void (*elem)(char *const *, const tk_intp *, tk_intp, tk_intp);
    void (*rows)(char *const *, const tk_intp *, tk_intp, tk_intp);
    void (*part)(char *const *, const tk_intp *, tk_intp, tk_intp, tk_intp, char *, tk_intp);
    void (*cols)(char *const *, const tk_intp *, tk_intp, tk_intp, char *);
    void (*fin)(char *const *, const tk_intp *, tk_intp, char *);
} tk_table;
#define TK_TABLE(name, reduces, ...) \
    __attribute__((visibility("default"), used)) const tk_table name = {1, reduces, __VA_ARGS__};

/* Reductions: take v into a. NaN wins a maximum or minimum, as in NumPy. */
#define TK_R_add(a, v) ((a) += (v))
#define TK_R_mul(a, v) ((a) *= (v))
#define TK_R_and(a, v) ((a) &= (v))
#define TK_R_or(a, v) ((a) |= (v))
#define TK_R_xor(a, v) ((a) ^= (v))
#define TK_R_all(a, v) ((a) = (((a) != 0) & ((v) != 0)))
#define TK_R_any(a, v) ((a) = (((a) != 0) | ((v) != 0)))
#define TK_R_maximum(a, v) ((a) = (v) > (a) ? (v) : (a))
#define TK_R_minimum(a, v) ((a) = (v) < (a) ? (v) : (a))
#define TK_R_maximum_f(a, v) ((a) = ((v) > (a)) | ((v) != (v)) ? (v) : (a))
#define TK_R_minimum_f(a, v) ((a) = ((v) < (a)) | ((v) != (v)) ? (v) : (a))
#define TK_FILL(a, n, value) for (int l = 0; l < n; l++) a[l] = value;
#define TK_FOLD(op, a, h) for (int l = 0; l < h; l++) { op(a[l], a[l + h]); }
#define TK_TREE8(op, a) TK_FOLD(op, a, 4) TK_FOLD(op, a, 2) TK_FOLD(op, a, 1)
#define TK_TREE16(op, a) TK_FOLD(op, a, 8) TK_TREE8(op, a)
#define TK_TREE32(op, a) TK_FOLD(op, a, 16) TK_TREE16(op, a)
#define TK_TREE64(op, a) TK_FOLD(op, a, 32) TK_TREE32(op, a)

/* a * b + c with one rounding where the machine has it; generated statements themselves are never contracted. */
#if defined(__FMA__) || defined(__aarch64__) || defined(__VSX__)
#define TK_HAS_FMA 1
TK_INLINE double tk_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
TK_INLINE float tk_fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#else
#define TK_HAS_FMA 0
TK_INLINE double tk_fma(double a, double b, double c) { return a * b + c; }
TK_INLINE float tk_fmaf(float a, float b, float c) { return a * b + c; }
#endif

/* Steps of Horner's rule for a polynomial in z, p being what there is of it, with the fma of the type. */
#define TK_H2(F, p, z, a, b) F(F(p, z, a), z, b)
#define TK_H3(F, p, z, a, b, c) F(TK_H2(F, p, z, a, b), z, c)
#define TK_H4(F, p, z, a, b, c, d) F(TK_H3(F, p, z, a, b, c), z, d)

TK_INLINE npy_int64 tk_bits(double x) { npy_int64 i; __builtin_memcpy(&i, &x, 8); return i; }
TK_INLINE double tk_double(npy_int64 i) { double x; __builtin_memcpy(&x, &i, 8); return x; }
TK_INLINE npy_int32 tk_bitsf(float x) { npy_int32 i; __builtin_memcpy(&i, &x, 4); return i; }
TK_INLINE float tk_float(npy_int32 i) { float x; __builtin_memcpy(&x, &i, 4); return x; }

#if defined(__FLT16_MAX__)
#define TK_HALF(f) _Float16: f,
#else
#define TK_HALF(f)
#endif
/* Functions of one or two real arguments: float and half to the float form, everything else to the double form. */
#define TK_REAL1(f32, f64, x) _Generic((x), float: f32, TK_HALF(f32) default: f64)(x)
#define TK_REAL2(f32, f64, x, y) _Generic((x) + (y), float: f32, TK_HALF(f32) default: f64)(x, y)
/* The function of these headers, tk_name or tk_namef; without fma, on which it is built, that of C. */
#if TK_HAS_FMA
#define TK_OWN(name) tk_##name
#else
#define TK_OWN(name) name
#endif
#define TK_OWN1(name, x) TK_REAL1(TK_OWN(name##f), TK_OWN(name), x)

double sqrt(double), floor(double), ceil(double), trunc(double), rint(double), copysign(double, double), fabs(double);
float sqrtf(float), floorf(float), ceilf(float), truncf(float), rintf(float), copysignf(float, float), fabsf(float);
double fmod(double, double), nextafter(double, double), hypot(double, double), fmin(double, double), fmax(double, double);
float fmodf(float, float), nextafterf(float, float), hypotf(float, float), fminf(float, float), fmaxf(float, float);
float _Complex csqrtf(float _Complex);
double _Complex csqrt(double _Complex);
float cabsf(float _Complex);
double cabs(double _Complex);
#define sqrt(x) _Generic((x), float: sqrtf, TK_HALF(sqrtf) \
    float _Complex: csqrtf, double _Complex: csqrt, default: sqrt)(x)
#define floor(x) TK_REAL1(floorf, floor, x)
#define ceil(x) TK_REAL1(ceilf, ceil, x)
#define trunc(x) TK_REAL1(truncf, trunc, x)
#define rint(x) TK_REAL1(rintf, rint, x)
#define nearbyint(x) rint(x)
#define copysign(x, y) TK_REAL2(copysignf, copysign, x, y)
#define fma(x, y, z) _Generic((x), float: tk_fmaf, default: tk_fma)(x, y, z)
#define isnan(x) ((x) != (x))
#define isinf(x) (__builtin_isinf(x) != 0)
#define isfinite(x) (__builtin_isfinite(x) != 0)
#define signbit(x) (__builtin_signbit(x) != 0)
#define npy_isnan(x) isnan(x)
#define npy_isinf(x) isinf(x)

TK_INLINE npy_int8 tk_abs_i8(npy_int8 x) { return (npy_int8)(x < 0 ? -x : x); }
TK_INLINE npy_int16 tk_abs_i16(npy_int16 x) { return (npy_int16)(x < 0 ? -x : x); }
TK_INLINE npy_int32 tk_abs_i32(npy_int32 x) { return x < 0 ? -x : x; }
TK_INLINE npy_int64 tk_abs_i64(npy_int64 x) { return x < 0 ? -x : x; }
TK_INLINE npy_uint64 tk_abs_u(npy_uint64 x) { return x; }
#define tk_abs(x) _Generic((x), float: fabsf, TK_HALF(fabsf) double: (fabs), \
    float _Complex: cabsf, double _Complex: cabs, npy_int8: tk_abs_i8, npy_int16: tk_abs_i16, npy_int32: tk_abs_i32, \
    long: tk_abs_i64, long long: tk_abs_i64, default: tk_abs_u)(x)
#define abs(x) tk_abs(x)
#define fabs(x) tk_abs(x)
#define labs(x) tk_abs(x)
#define llabs(x) tk_abs(x)

/* Nearest integer, halves away from zero. */
TK_INLINE double tk_round(double x)
{
    double t = __builtin_trunc(x);
    return t + __builtin_copysign(__builtin_fabs(x - t) >= 0.5 ? 1.0 : 0.0, x);
}
TK_INLINE float tk_roundf(float x)
{
    float t = __builtin_truncf(x);
    return t + __builtin_copysignf(__builtin_fabsf(x - t) >= 0.5f ? 1.0f : 0.0f, x);
}
#define round(x) TK_REAL1(tk_roundf, tk_round, x)

#define fmod(x, y) TK_REAL2(fmodf, fmod, x, y)
#define hypot(x, y) TK_REAL2(hypotf, hypot, x, y)
#define nextafter(x, y) TK_REAL2(nextafterf, nextafter, x, y)
#define fmin(x, y) TK_REAL2(fminf, fmin, x, y)
#define fmax(x, y) TK_REAL2(fmaxf, fmax, x, y)

/* maximum and minimum of two values of one type; NaN wins. */
#define tk_maximum(x, y) ({ __typeof__((x) + (y)) tk_x = (x), tk_y = (y); \
    (tk_x >= tk_y) | (tk_x != tk_x) ? tk_x : tk_y; })
#define tk_minimum(x, y) ({ __typeof__((x) + (y)) tk_x = (x), tk_y = (y); \
    (tk_x <= tk_y) | (tk_x != tk_x) ? tk_x : tk_y; })

/* Integer division and remainder that round towards minus infinity; a zero divisor gives 0, and the quotient of the
 * least integer by -1 wraps. */
#define TK_INTEGER_DIVISION(S, T, U)                                                      \
    TK_INLINE T tk_floordiv_i##S(T a, T b)                                                \
    {                                                                                     \
        T d = (b == 0) | (b == -1) ? 1 : b, q = a / d;                                    \
        q -= (q * d != a) & ((a < 0) != (d < 0));                                         \
        return b == 0 ? 0 : b == -1 ? (T)(0 - (U)a) : q;                                  \
    }                                                                                     \
    TK_INLINE T tk_mod_i##S(T a, T b)                                                     \
    {                                                                                     \
        T d = (b == 0) | (b == -1) ? 1 : b, r = a % d;                                    \
        r += (r != 0) & ((r < 0) != (d < 0)) ? d : 0;                                     \
        return r;                                                                         \
    }                                                                                     \
    TK_INLINE U tk_floordiv_u##S(U a, U b) { return b == 0 ? 0 : a / b; }                 \
    TK_INLINE U tk_mod_u##S(U a, U b) { return b == 0 ? 0 : a % b; }
TK_INTEGER_DIVISION(64, npy_int64, npy_uint64)
TK_INTEGER_DIVISION(32, npy_int32, npy_uint32)

/* Python's float remainder (sign of the divisor) and floor division, as NumPy computes them. */
#define TK_REAL_DIVISION(S, T, F)                                                         \
    TK_INLINE T tk_mod_f##S(T a, T b)                                                     \
    {                                                                                     \
        T r = (fmod##F)(a, b), s = (r != 0) & ((b < 0) != (r < 0)) ? r + b : r;           \
        return s == 0 ? __builtin_copysign##F(0, b) : s;                                  \
    }                                                                                     \
    TK_INLINE T tk_floordiv_f##S(T a, T b)                                                \
    {                                                                                     \
        T r = (fmod##F)(a, b), q = (a - r) / b;                                           \
        q -= (r != 0) & ((b < 0) != (r < 0)) ? 1 : 0;                                     \
        T f = __builtin_floor##F(q);                                                      \
        f += q - f > (T)0.5 ? 1 : 0;                                                      \
        f = q != 0 ? f : __builtin_copysign##F(0, a / b);                                 \
        return b == 0 ? a / b : f;                                                        \
    }
TK_REAL_DIVISION(64, double, )
TK_REAL_DIVISION(32, float, f)
#define TK_DIVISION(kind, a, b) _Generic((a) + (b), double: kind##_f64, float: kind##_f32, TK_HALF(kind##_f32) \
    int: kind##_i32, unsigned int: kind##_u32, unsigned long: kind##_u64, unsigned long long: kind##_u64, \
    default: kind##_i64)(a, b)
#define tk_floordiv(a, b) TK_DIVISION(tk_floordiv, a, b)
#define tk_mod(a, b) TK_DIVISION(tk_mod, a, b)

/* Sign: NaN stays NaN. */
#define tk_sign(x) ({ __typeof__(x) tk_x = (x); tk_x > 0 ? (__typeof__(x))1 : tk_x < 0 ? (__typeof__(x))-1 : \
    tk_x == 0 ? (__typeof__(x))0 : tk_x; })
