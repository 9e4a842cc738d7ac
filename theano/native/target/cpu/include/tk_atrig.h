/* asin, acos, atan, atan2: reduction as in fdlibm (Sun Microsystems, 1993), polynomials by Remez. */
#pragma once
#include "tk_core.h"

double asin(double), acos(double), atan(double), atan2(double, double);
float asinf(float), acosf(float), atanf(float), atan2f(float, float);

#if TK_HAS_FMA
#define TK_PIO2_HI 0x1.921fb54442d18p+0
#define TK_PIO2_LO 0x1.1a62633145c07p-54

/* asin(x) = x + x R(x^2) for |x| <= 1/2 */
TK_INLINE double tk_asin_tail(double z)
{
    double p = TK_H3(tk_fma, 0.03270173252919263, z, -0.021115982455430136, 0.021790087594471607, 0.0036724327220841128);
    p = TK_H4(tk_fma, p, z, 0.010789250390273801, 0.011397306712144605, 0.013981016721977964, 0.0173515956651175);
    p = TK_H4(tk_fma, p, z, 0.02237221589582872, 0.030381942675674293, 0.04464285717527691, 0.0749999999997011);
    p = tk_fma(p, z, 0.16666666666666763);
    return p * z;
}
TK_INLINE double tk_asin(double x)
{
    double a = __builtin_fabs(x);
    int big = a > 0.5;
    double z = big ? 0.5 * (1.0 - a) : a * a;
    double s = big ? __builtin_sqrt(z) : a;
    double t = s * tk_asin_tail(z);
    double slo = big ? tk_fma(-s, s, z) / (2.0 * s + 1e-300) : 0.0;
    double y = big ? TK_PIO2_HI - (2.0 * s - (TK_PIO2_LO - 2.0 * (slo + t))) : s + t;
    return __builtin_copysign(y, x);
}
TK_INLINE double tk_acos(double x)
{
    double a = __builtin_fabs(x);
    int big = a > 0.5;
    double z = big ? 0.5 * (1.0 - a) : a * a;
    double s = big ? __builtin_sqrt(z) : x;
    double t = s * tk_asin_tail(z);
    double slo = big ? tk_fma(-s, s, z) / (2.0 * s + 1e-300) : 0.0;
    double near = TK_PIO2_HI - (s - (TK_PIO2_LO - t));
    double right = 2.0 * (s + (t + slo));
    double left = 2.0 * (TK_PIO2_HI - (s - (TK_PIO2_LO - (t + slo))));
    return big ? (x > 0 ? right : left) : near;
}

/* atan(n / d) for n, d >= 0, not both infinite or zero. */
TK_INLINE double tk_atan_quotient(double n, double d)
{
    int low = n < 0.41421356237309503 * d, high = n > 2.4142135623730951 * d;
    double num = low ? n : high ? -d : n - d;
    double den = low ? d : high ? n : n + d;
    double base = low ? 0.0 : high ? TK_PIO2_HI : 0.5 * TK_PIO2_HI;
    double base_lo = low ? 0.0 : high ? TK_PIO2_LO : 0.5 * TK_PIO2_LO;
    double t = num / den, z = t * t;
    double p = TK_H3(tk_fma, 0.015181728473912179, z, -0.033461294763774345, 0.045029864174040896, -0.052182664911049725);
    p = TK_H4(tk_fma, p, z, 0.05877000461574003, -0.06666224587167234, 0.07692282612302426, -0.09090908138084591);
    p = TK_H4(tk_fma, p, z, 0.11111111088000122, -0.14285714285385176, 0.19999999999997647, -0.33333333333333326);
    return base + (tk_fma(t * z, p, base_lo) + t);
}
TK_INLINE double tk_atan(double x)
{
    double a = __builtin_fabs(x);
    double y = tk_atan_quotient(a > 0x1p60 ? 0x1p60 : a, 1.0);
    return __builtin_copysign(a < 0x1p-28 ? a : y, x);
}
TK_INLINE double tk_atan2(double y, double x)
{
    double n = __builtin_fabs(y), d = __builtin_fabs(x);
    const double inf = (double)TK_INF;
    int both = (n == inf) & (d == inf);
    n = both ? 1.0 : n;
    d = both ? 1.0 : d;
    /* Away from overflow in n + d, and from denominators below the normal numbers. */
    double scale = (n > 0x1p1000) | (d > 0x1p1000) ? 0x1p-30 : (n < 0x1p-900) & (d < 0x1p-900) ? 0x1p150 : 1.0;
    n *= scale;
    d *= scale;
    double a = n == inf ? TK_PIO2_HI : d == inf ? 0.0 : (n == 0) & (d == 0) ? 0.0 : tk_atan_quotient(n, d);
    a = tk_bits(x) < 0 ? 2.0 * TK_PIO2_HI - (a - 2.0 * TK_PIO2_LO) : a;
    a = (x != x) | (y != y) ? (double)NAN : a;
    return __builtin_copysign(a, y);
}
TK_INLINE float tk_asinf(float x) { return (float)tk_asin(x); }
TK_INLINE float tk_acosf(float x) { return (float)tk_acos(x); }
TK_INLINE float tk_atanf(float x) { return (float)tk_atan(x); }
TK_INLINE float tk_atan2f(float y, float x) { return (float)tk_atan2(y, x); }
#endif

#define asin(x) TK_OWN1(asin, x)
#define acos(x) TK_OWN1(acos, x)
#define atan(x) TK_OWN1(atan, x)
#define atan2(x, y) TK_REAL2(TK_OWN(atan2f), TK_OWN(atan2), x, y)
