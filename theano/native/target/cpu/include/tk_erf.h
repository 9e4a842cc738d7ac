/* erf, erfc, erfcx and the rate exp(-x^2) / (sqrt(pi) erfc(x)) at which erfc falls: for |x| < 1 (erf) an odd polynomial; beyond,
 * exp(-x^2) f(t) / (1 + 2x) with t = (x - 4) / (x + 4) and f a polynomial fitted to (1 + 2x) exp(x^2) erfc(x), after Shepherd and
 * Laframboise (Math. Comp. 36, 1981); erfcx and the rate alike. */
#pragma once
#include "tk_exp.h"

double erf(double), erfc(double);
float erff(float), erfcf(float);

/* For x >= 0 (x + 1) d(x), where d(x) = exp(-x^2) / (sqrt(pi) erfc(x)) - x comes near 1 / (2x) for large x: a polynomial in
 * (x - 2) / (x + 2). */
TK_INLINE double tk_erfc_rate_factor(double x, double *low)
{
    double b = x < 1e18 ? x : 1e18, t = (b - 2.0) / (b + 2.0);
    double p = TK_H3(tk_fma, -1.1407414314116847e-09, t, 1.0052992382066197e-08, 3.264436761572307e-08, -5.2582172560731115e-08);
    p = TK_H4(tk_fma, p, t, -2.435244617781654e-07, -5.901538169103259e-08, 7.879339900242617e-07, 1.3767522687389206e-06);
    p = TK_H4(tk_fma, p, t, -3.9132058288738844e-07, -5.620703706897479e-06, -7.5341726157855495e-06, 9.321094282389226e-06);
    p = TK_H4(tk_fma, p, t, 3.824759076168485e-05, 1.5268336098947573e-05, -0.000104726354047085, -0.00015649610050119322);
    p = TK_H4(tk_fma, p, t, 0.0001624186888297151, 0.000608634806322607, 4.085898363229264e-05, -0.001711227261367169);
    p = TK_H4(tk_fma, p, t, -0.001310517645801425, 0.004033758311587254, 0.005863112618850093, -0.009034944087062607);
    p = TK_H4(tk_fma, p, t, -0.019925118383633592, 0.0242599242652302, 0.061816568433416715, -0.11316631108633354);
    p = tk_fma(p, t, -0.0786682861258423);
    double pt = p * t;
    p = pt + 0.6272412089916213;
    *low = pt - (p - 0.6272412089916213);
    return p;
}
/* d(x) */
TK_INLINE double tk_erfc_rate_excess_positive(double x)
{
    double low, p = tk_erfc_rate_factor(x, &low), d = x + 1.0;
#if TK_HAS_FMA
    double rd = 1.0 / d, q = p * rd, dlo = x > 1.0 ? 1.0 - (d - x) : x - (d - 1.0);
    q = tk_fma(tk_fma(-q, d, p) + (low - q * dlo), rd, q);
#else
    double q = (p + low) / d;
#endif
    return x == (double)TK_INF ? 0.0 : q;
}
#if TK_HAS_FMA
/* erf(x) / x - 1 for |x| < 1, z = x^2 */
TK_INLINE double tk_erf_small(double z)
{
    double p = TK_H3(tk_fma, 5.958660499333604e-11, z, -1.1376392330227391e-09, 1.4661469208016884e-08, -1.6350695022737936e-07);
    p = TK_H4(tk_fma, p, z, 1.646105047781521e-06, -1.4925599368920347e-05, 0.00012055331329037507, -0.0008548326988256511);
    p = TK_H4(tk_fma, p, z, 0.005223977624976345, -0.026866170645096527, 0.11283791670955005, -0.37612638903183754);
    return tk_fma(p, z, 0x1.06eba8214db69p-3);
}
/* f(t) for 1/2 <= a <= 28, with what its rounding leaves */
TK_INLINE double tk_erfc_factor(double a, double *low)
{
    double t = (a - 4.0) / (a + 4.0);
    double p = TK_H3(tk_fma, -1.0068445198804162e-08, t, -1.2138875154962527e-08, 1.0443878651035254e-07, 6.679397215225167e-08);
    p = TK_H4(tk_fma, p, t, -8.209399129608474e-07, 2.998217708795555e-07, 5.707458912291551e-06, -1.1224898413069253e-05);
    p = TK_H4(tk_fma, p, t, -2.439845268438389e-05, 0.0001506225578958729, -0.0001992568640575672, -0.0007577734632235893);
    p = TK_H4(tk_fma, p, t, 0.0050319700024072335, -0.016197734036235863, 0.03716751553532106, -0.06633036581376762);
    p = TK_H4(tk_fma, p, t, 0.09373283499845637, -0.10103906603624742, 0.06809705425469023, 0.015379652102618931);
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
/* exp(a^2) erfc(a) for a >= 0: (a + 1) / sqrt(pi) over (a + 1) (a + d(a)), scaled where that overflows; in *slope half of what
 * its derivative is below 0, d(a) times it. */
TK_INLINE double tk_erfcx_positive(double a, double *slope)
{
    double low, p = tk_erfc_rate_factor(a, &low), scale = a > 1e100 ? 0x1p-1024 : 1.0, above = a + 1.0;
    double d = tk_fma(a * scale, above, p * scale), above_scaled = above * scale, n = 0.5641895835477563 * above_scaled;
    double rd = 1.0 / d, q = n * rd;
    q = tk_fma(tk_fma(-q, d, n) + tk_fma(0.5641895835477563, above_scaled, -n) + 7.66772980658294e-18 * above_scaled, rd, q);
    q = a == (double)TK_INF ? 0.0 : q;
    *slope = a > 1e100 ? 0.886226925452758 * q * q : 0.5641895835477563 * p * rd;
    return q;
}
TK_INLINE double tk_erfcx_large(double a) { double slope; return tk_erfcx_positive(a, &slope); }
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
/* Half of the negative derivative of erfcx: below 0 it is 1 / sqrt(pi) - x erfcx(x). */
TK_INLINE double tk_erfcx_slope_f64(double x)
{
    double a = __builtin_fabs(x), above, positive = tk_erfcx_positive(a, &above);
    double c = a < 27.5 ? a : 27.5, square = c * c, low = tk_fma(c, c, -square);
    double n = tk_fma(square, 1.4426950408889634074, TK_MAGIC) - TK_MAGIC;
    double e = tk_exp_reduced(tk_fma(-n, TK_LN2_LO, tk_fma(-n, TK_LN2_HI, square)), low);
    double below = tk_fma(a, tk_scale(e, n + 1.0) - positive, 0.5641895835477563);
    return x < 0 ? below : above;
}
/* In single precision. */
/* erf(x) / x - 1 for |x| < 1, z = x^2 */
TK_INLINE float tk_erf_smallf(float z)
{
    float p = TK_H4(tk_fmaf, 7.889119e-05f, z, -8.020841e-04f, 5.189535e-03f, -2.6854444e-02f, 1.12836e-01f);
    p = tk_fmaf(p, z, -3.7612626e-01f);
    return tk_fmaf(p, z, 1.2837917e-01f);
}
/* 1 - exp(-q(|x|)) beyond 1, as erfc has few digits to give there. */
TK_INLINE float tk_erff(float x)
{
    float a = __builtin_fabsf(x), b = a < 1.0f ? a : 0.5f, c = a < 4.0f ? a : 4.0f;
    float q = TK_H4(tk_fmaf, -1.855749e-04f, c, 2.9396159e-03f, -2.1805352e-02f, 1.0303744e-01f, 6.382256e-01f);
    q = TK_H2(tk_fmaf, q, c, 1.12704e+00f, 3.5370892e-04f);
    float y = a < 1.0f ? tk_fmaf(b, tk_erf_smallf(b * b), b) : 1.0f - tk_expf(-q);
    y = a != a ? a : y;
    return __builtin_copysignf(y, x);
}
/* As in double precision, with t = (a - 2.5) / (a + 2.5). */
TK_INLINE float tk_erfcf(float x)
{
    float a = __builtin_fabsf(x), b = a < 0.5f ? x : 0.25f;
    float small = 1.0f - tk_fmaf(b, tk_erf_smallf(b * b), b);
    float c = a < 10.5f ? a : 10.5f, t = (c - 2.5f) / (c + 2.5f);
    float p = TK_H4(tk_fmaf, 5.333901e-04f, t, 4.114818e-04f, -4.347575e-03f, 9.5837406e-04f, 3.2755297e-02f);
    p = TK_H4(tk_fmaf, p, t, -1.0297065e-01f, 1.5763031e-01f, -9.902437e-02f, -1.2235677e-01f);
    float pt = p * t, top = 1.2648382e+00f;
    p = pt + top;
    float plo = pt - (p - top), z = c * c, zlo = tk_fmaf(c, c, -z), d = 1.0f + 2.0f * c, dlo = 2.0f * c - (d - 1.0f);
    /* exp(-z - zlo) = (1 + w) 2^n; the quotient of (1 + w) p and d is rounded once. */
    float n = tk_exp_multiplef(-z), r = tk_fmaf(-n, TK_LN2F_LO, tk_fmaf(-n, TK_LN2F_HI, -z)), w = tk_exp_tailf(r);
    w = r + tk_fmaf(-zlo, 1.0f + (r + w), w);
    float u = tk_fmaf(w, p, p), ulo = tk_fmaf(w, p, p - u), rd = 1.0f / d, q = u * rd;
    q = tk_fmaf(tk_fmaf(-q, d, u) + (tk_fmaf(w, plo, plo + ulo) - q * dlo), rd, q);
    float large = tk_scalef(q, n), y = a < 0.5f ? small : x > 0 ? large : 2.0f - large;
    return x != x ? x : y;
}
TK_INLINE float tk_erfcx_f32(float x) { return (float)tk_erfcx_f64(x); }
#else
/* erfcx is not among C's functions: what it has loses digits where x^2 is large, and erfc underflows above 26. */
TK_INLINE double tk_erfcx_f64(double x)
{
    double r = 1.0 / x, z = 0.5 * r * r;
    double far = 0.56418958354775628695 * r * (1.0 - z * (1.0 - z * (3.0 - z * (15.0 - z * (105.0 - z * 945.0)))));
    return x > 20.0 ? far : exp(x * x) * erfc(x);
}
TK_INLINE double tk_erfcx_slope_f64(double x)
{
    double a = __builtin_fabs(x), d = tk_erfc_rate_excess_positive(a);
    return x < 0 ? 0.5641895835477563 + a * tk_erfcx_f64(x) : a > 1e100 ? 0.0 : 0.5641895835477563 * d / (a + d);
}
TK_INLINE float tk_erfcx_f32(float x) { return (float)tk_erfcx_f64(x); }
#endif

TK_INLINE float tk_erfcx_slope_f32(float x) { return (float)tk_erfcx_slope_f64(x); }
/* The rate, the same less x, and half of the rate's derivative, which is the product of both. Below 0 the rate is exp(-x^2) over
 * twice the square root of pi less what erfc(-x) is by the rate at -x; a power of 2 keeps it from being subnormal in the product. */
typedef struct {
    double rate, excess, slope;
} tk_erfc_rates;
TK_INLINE tk_erfc_rates tk_erfc_rates_of(double x)
{
    double a = __builtin_fabs(x), above = tk_erfc_rate_excess_positive(a), rate = a + above;
#if TK_HAS_FMA
    double c = a < 30.0 ? a : 30.0, square = c * c, low = tk_fma(c, c, -square), n = tk_exp_multiple(-square);
    double e = tk_scale(tk_exp_reduced(tk_fma(-n, TK_LN2_LO, tk_fma(-n, TK_LN2_HI, -square)), -low), n + 64.0);
    double b = a < 1.0 ? a : 0.5, y = tk_fma(b, tk_erf_small(b * b), b), s = 1.0 + y;
    double near = 1.7724538509055161 * s;
    double near_low = tk_fma(1.7724538509055161, s, -near) + 1.7724538509055161 * ((1.0 - s) + y) - 7.666586499825799e-17 * s;
    double d = a < 1.0 ? near : 3.5449077018110322 - e * 0x1p-64 / rate, rd = 1.0 / d, q = e * rd;
    double lifted = tk_fma(tk_fma(-q, d, e) - q * (a < 1.0 ? near_low : 0.0), rd, q);
#else
    double lifted = tk_exp_minus_square_f64(x) * 0x1p64 / (1.7724538509055161 * erfc(-a));
#endif
    double below = lifted * 0x1p-64, slope = a > 1e18 ? 0.5 : rate * above;
    tk_erfc_rates all = {x < 0 ? below : rate, x < 0 ? below + a : above, x < 0 ? lifted * (below + a) * 0x1p-64 : slope};
    return all;
}
TK_INLINE double tk_erfc_rate_f64(double x) { return tk_erfc_rates_of(x).rate; }
TK_INLINE float tk_erfc_rate_f32(float x) { return (float)tk_erfc_rates_of(x).rate; }
TK_INLINE double tk_erfc_rate_excess_f64(double x) { return tk_erfc_rates_of(x).excess; }
TK_INLINE float tk_erfc_rate_excess_f32(float x) { return (float)tk_erfc_rates_of(x).excess; }
TK_INLINE double tk_erfc_rate_slope_f64(double x) { return x == -(double)TK_INF ? 0.0 : tk_erfc_rates_of(x).slope; }
TK_INLINE float tk_erfc_rate_slope_f32(float x) { return (float)tk_erfc_rate_slope_f64(x); }

#define erf(x) TK_OWN1(erf, x)
#define erfc(x) TK_OWN1(erfc, x)
#define tk_erfcx(x) TK_REAL1(tk_erfcx_f32, tk_erfcx_f64, x)
#define tk_erfcx_slope(x) TK_REAL1(tk_erfcx_slope_f32, tk_erfcx_slope_f64, x)
#define tk_erfc_rate(x) TK_REAL1(tk_erfc_rate_f32, tk_erfc_rate_f64, x)
#define tk_erfc_rate_slope(x) TK_REAL1(tk_erfc_rate_slope_f32, tk_erfc_rate_slope_f64, x)
#define tk_erfc_rate_excess(x) TK_REAL1(tk_erfc_rate_excess_f32, tk_erfc_rate_excess_f64, x)
