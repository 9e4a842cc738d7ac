/* erf, erfc and erfcx: for |x| < 1 (erf) an odd polynomial; beyond, exp(-x^2) f(t) / (1 + 2x) with t = (x - 4) / (x + 4) and f a
 * polynomial fitted to (1 + 2x) exp(x^2) erfc(x), after Shepherd and Laframboise (Math. Comp. 36, 1981). */
#ifndef TK_ERF_H
#define TK_ERF_H
#include "tk_exp.h"

double erf(double), erfc(double);
float erff(float), erfcf(float);

#if TK_HAS_FMA
/* erf(x) / x - 1 for |x| < 1, z = x^2 */
TK_INLINE double tk_erf_small(double z)
{
    double p = 5.958660499333604e-11;
    p = tk_fma(p, z, -1.1376392330227391e-09);
    p = tk_fma(p, z, 1.4661469208016884e-08);
    p = tk_fma(p, z, -1.6350695022737936e-07);
    p = tk_fma(p, z, 1.646105047781521e-06);
    p = tk_fma(p, z, -1.4925599368920347e-05);
    p = tk_fma(p, z, 0.00012055331329037507);
    p = tk_fma(p, z, -0.0008548326988256511);
    p = tk_fma(p, z, 0.005223977624976345);
    p = tk_fma(p, z, -0.026866170645096527);
    p = tk_fma(p, z, 0.11283791670955005);
    p = tk_fma(p, z, -0.37612638903183754);
    return tk_fma(p, z, 0x1.06eba8214db69p-3);
}
/* f(t) for 1/2 <= a <= 28, with what its rounding leaves */
TK_INLINE double tk_erfc_factor(double a, double *low)
{
    double t = (a - 4.0) / (a + 4.0);
    double p = -1.0068445198804162e-08;
    p = tk_fma(p, t, -1.2138875154962527e-08);
    p = tk_fma(p, t, 1.0443878651035254e-07);
    p = tk_fma(p, t, 6.679397215225167e-08);
    p = tk_fma(p, t, -8.209399129608474e-07);
    p = tk_fma(p, t, 2.998217708795555e-07);
    p = tk_fma(p, t, 5.707458912291551e-06);
    p = tk_fma(p, t, -1.1224898413069253e-05);
    p = tk_fma(p, t, -2.439845268438389e-05);
    p = tk_fma(p, t, 0.0001506225578958729);
    p = tk_fma(p, t, -0.0001992568640575672);
    p = tk_fma(p, t, -0.0007577734632235893);
    p = tk_fma(p, t, 0.0050319700024072335);
    p = tk_fma(p, t, -0.016197734036235863);
    p = tk_fma(p, t, 0.03716751553532106);
    p = tk_fma(p, t, -0.06633036581376762);
    p = tk_fma(p, t, 0.09373283499845637);
    p = tk_fma(p, t, -0.10103906603624742);
    p = tk_fma(p, t, 0.06809705425469023);
    p = tk_fma(p, t, 0.015379652102618931);
    p = tk_fma(p, t, -0.1396211168405625);
    double pt = p * t;
    p = pt + 1.2329951186255526;
    *low = pt - (p - 1.2329951186255526);
    return p;
}
/* erfc(a) for a >= 1/2 */
TK_INLINE double tk_erfc_large(double a)
{
    a = a > 28.0 ? 28.0 : a;
    double plo, p = tk_erfc_factor(a, &plo);
    double z = a * a, zlo = tk_fma(a, a, -z), d = 1.0 + 2.0 * a, dlo = 2.0 * a - (d - 1.0);
    /* exp(-z - zlo) without its scale, so that the quotient is rounded once. */
    double n = tk_fma(-z, 1.4426950408889634074, TK_MAGIC) - TK_MAGIC;
    double r = tk_fma(-n, TK_LN2_LO, tk_fma(-n, TK_LN2_HI, -z));
    double e = tk_exp_reduced(r, -zlo);
    double u = e * p, ulo = tk_fma(e, p, -u), rd = 1.0 / d, q = u * rd;
    q = tk_fma(tk_fma(-q, d, u) + (tk_fma(e, plo, ulo) - q * dlo), rd, q);
    return tk_scale(q, n);
}
TK_INLINE double tk_erf(double x)
{
    double a = __builtin_fabs(x), b = a < 1.0 ? a : 0.5;
    double y = a < 1.0 ? tk_fma(b, tk_erf_small(b * b), b) : 1.0 - tk_erfc_large(a);
    y = a != a ? a : y;
    return __builtin_copysign(y, x);
}
TK_INLINE double tk_erfc(double x)
{
    double a = __builtin_fabs(x), b = a < 0.5 ? x : 0.25;
    double small = 1.0 - tk_fma(b, tk_erf_small(b * b), b);
    double large = tk_erfc_large(a);
    double y = a < 0.5 ? small : x > 0 ? large : 2.0 - large;
    return x != x ? x : y;
}
/* erfcx(a) = exp(a^2) erfc(a) for a >= 1/2; beyond 28 by its asymptotic series */
TK_INLINE double tk_erfcx_large(double a)
{
    double b = a > 28.0 ? 28.0 : a;
    double plo, p = tk_erfc_factor(b, &plo);
    double d = 1.0 + 2.0 * b, dlo = 2.0 * b - (d - 1.0), rd = 1.0 / d, q = p * rd;
    q = tk_fma(tk_fma(-q, d, p) + (plo - q * dlo), rd, q);
    double r = 1.0 / a, z = 0.5 * r * r;
    double s = tk_fma(tk_fma(tk_fma(tk_fma(tk_fma(tk_fma(10395.0, z, -945.0), z, 105.0), z, -15.0), z, 3.0), z, -1.0), z, 1.0);
    return a > 28.0 ? 0.56418958354775628695 * r * s : q;
}
TK_INLINE double tk_erfcx_f64(double x)
{
    double a = __builtin_fabs(x), b = a < 0.5 ? x : 0.25;
    double small = 1.0 - tk_fma(b, tk_erf_small(b * b), b);
    double large = tk_erfcx_large(a);
    /* exp(x^2) for |x| < 1/2 and for x <= -1/2, where twice that less erfcx(-x) is the result. */
    double c = a < 27.5 ? a : 27.5, square = c * c, low = tk_fma(c, c, -square);
    double n = tk_fma(square, 1.4426950408889634074, TK_MAGIC) - TK_MAGIC;
    double e = tk_exp_reduced(tk_fma(-n, TK_LN2_LO, tk_fma(-n, TK_LN2_HI, square)), low);
    double y = a < 0.5 ? tk_scale(e, n) * small : x > 0 ? large : tk_scale(e, n + 1.0) - large;
    return x != x ? x : y;
}
TK_INLINE float tk_erff(float x) { return (float)tk_erf(x); }
TK_INLINE float tk_erfcx_f32(float x) { return (float)tk_erfcx_f64(x); }
TK_INLINE float tk_erfcf(float x) { return (float)tk_erfc(x); }
#else
#define tk_erf erf
#define tk_erff erff
#define tk_erfc erfc
#define tk_erfcf erfcf
/* erfcx is not among C's functions: what it has loses digits where x^2 is large, and erfc underflows above 26. */
TK_INLINE double tk_erfcx_f64(double x)
{
    double r = 1.0 / x, z = 0.5 * r * r;
    double far = 0.56418958354775628695 * r * (1.0 - z * (1.0 - z * (3.0 - z * (15.0 - z * (105.0 - z * 945.0)))));
    return x > 20.0 ? far : exp(x * x) * erfc(x);
}
TK_INLINE float tk_erfcx_f32(float x) { return (float)tk_erfcx_f64(x); }
#endif

#define erf(x) TK_REAL1(tk_erff, tk_erf, x)
#define erfc(x) TK_REAL1(tk_erfcf, tk_erfc, x)
#define tk_erfcx(x) TK_REAL1(tk_erfcx_f32, tk_erfcx_f64, x)
#endif
