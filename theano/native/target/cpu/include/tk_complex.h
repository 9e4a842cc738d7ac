/* Complex types: C99's. With gcc, products and quotients follow Fortran's rules (-fcx-fortran-rules), as NumPy's do. */
#pragma once
#include "tk_core.h"

typedef float _Complex npy_complex64;
typedef double _Complex npy_complex128;

#define creal(x) (__real__(x))
#define cimag(x) (__imag__(x))
#define conj(x) (~(x))

/* gcc makes fused instructions of a product of complex numbers in vectors, -ffp-contract=off or not: single elements, left
   over at the end of a loop, would be rounded differently, and z * conj(z) would not be real. A barrier keeps the roundings. */
#ifdef __has_builtin
#if __has_builtin(__builtin_assoc_barrier)
#define TK_ROUNDED(x) __builtin_assoc_barrier(x)
#endif
#endif
#ifndef TK_ROUNDED
#define TK_ROUNDED(x) (x)
#endif

#define TK_PRODUCT(NAME, T, PART)                                                              \
    static inline __attribute__((always_inline)) T NAME(T a, T b)                              \
    {                                                                                          \
        const PART rr = creal(a) * creal(b), ii = cimag(a) * cimag(b);                         \
        const PART ri = creal(a) * cimag(b), ir = cimag(a) * creal(b);                         \
        return __builtin_complex(TK_ROUNDED(rr) - TK_ROUNDED(ii), TK_ROUNDED(ri) + TK_ROUNDED(ir)); \
    }
TK_PRODUCT(tk_product_complex64, npy_complex64, float)
TK_PRODUCT(tk_product_complex128, npy_complex128, double)

/* R. Smith's division (Communications of the ACM 5, 1962), NumPy's too: it divides by the larger part first. */
#define TK_QUOTIENT(NAME, T, PART)                                                                            \
    TK_INLINE T NAME(T x, T y)                                                                                \
    {                                                                                                         \
        const PART a = creal(x), b = cimag(x), c = creal(y), d = cimag(y);                                    \
        if ((c < 0 ? -c : c) >= (d < 0 ? -d : d)) {                                                           \
            if (c == 0) return __builtin_complex(a / (c * c), b / (c * c));                                   \
            const PART r = d / c, s = 1 / (c + d * r);                                                        \
            return __builtin_complex((a + b * r) * s, (b - a * r) * s);                                       \
        }                                                                                                     \
        const PART r = c / d, s = 1 / (d + c * r);                                                            \
        return __builtin_complex((a * r + b) * s, (b * r - a) * s);                                           \
    }
TK_QUOTIENT(tk_quotient_complex64, npy_complex64, float)
TK_QUOTIENT(tk_quotient_complex128, npy_complex128, double)

/* The cases that NumPy does not leave to the C library. */
#define TK_COMPLEX_POWER(NAME, T, PART, POWER)                                                                \
    TK_INLINE T NAME(T x, T y)                                                                                \
    {                                                                                                         \
        if (y == 0) return 1;                                                                                 \
        if (x == 0) {                                                                                         \
            const PART whole = creal(y) > 0 ? 0 : (PART)__builtin_nan("");                                    \
            return __builtin_complex(whole, whole);                                                           \
        }                                                                                                     \
        return y == 1 ? x : POWER(x, y);                                                                      \
    }
TK_COMPLEX_POWER(tk_power_complex64, npy_complex64, float, __builtin_cpowf)
TK_COMPLEX_POWER(tk_power_complex128, npy_complex128, double, __builtin_cpow)
