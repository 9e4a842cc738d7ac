/* log, log2, log10, log1p: x = 2^k m with m in [sqrt(1/2), sqrt(2)), log(m) = f - f^2/2 + s (f^2/2 + R(s^2)) with
 * f = m - 1 and s = f / (2 + f), the splitting of Tang (1990) and fdlibm; R by Remez, and for float32 a polynomial in f.
 * Errors below 1 ulp. */
#ifndef TK_LOG_H
#define TK_LOG_H
#include "tk_core.h"

double log(double), log2(double), log10(double), log1p(double);
float logf(float), log2f(float), log10f(float), log1pf(float);
float _Complex clogf(float _Complex);
double _Complex clog(double _Complex);

#if TK_HAS_FMA
#define TK_LOG_LN2_HI 0x1.62e42feep-1     /* k * HI is exact */
#define TK_LOG_LN2_LO 0x1.a39ef35793c76p-33

/* m of x > 0, and k as a double. */
TK_INLINE double tk_split(double x, double *k)
{
    int tiny = x < 0x1p-1022;
    npy_int64 i = tk_bits(x * (tiny ? 0x1p54 : 1.0)) + (0x3ff0000000000000LL - 0x3fe6a09e667f3bcdLL);
    npy_int64 e = (npy_int64)((npy_uint64)i >> 52);
    *k = tk_double(e | 0x4330000000000000LL) - (tiny ? 0x1p52 + 1077.0 : 0x1p52 + 1023.0);
    return tk_double((i & 0x000fffffffffffffLL) + 0x3fe6a09e667f3bcdLL);
}
TK_INLINE float tk_splitf(float x, float *k)
{
    int tiny = x < 0x1p-126f;
    npy_int32 i = tk_bitsf(x * (tiny ? 0x1p24f : 1.0f)) + (0x3f800000 - 0x3f3504f3);
    *k = (float)((i >> 23) - (tiny ? 151 : 127));
    return tk_float((i & 0x007fffff) + 0x3f3504f3);
}
/* log at zero, negative numbers, infinity, NaN; else y. */
TK_INLINE double tk_log_special(double x, double y)
{
    y = x < (double)TK_INF ? y : x;
    y = x < 0 ? (double)NAN : y;
    return x == 0 ? -(double)TK_INF : y;
}
TK_INLINE float tk_log_specialf(float x, float y)
{
    y = x < TK_INF ? y : x;
    y = x < 0 ? NAN : y;
    return x == 0 ? -TK_INF : y;
}
/* s * (f^2/2 + R) */
TK_INLINE double tk_log_tail(double f, double hfsq)
{
    double s = f / (2.0 + f), z = s * s;
    double p = 0.14811936241135093;
    p = tk_fma(p, z, 0.15313030178560308);
    p = tk_fma(p, z, 0.1818357643089106);
    p = tk_fma(p, z, 0.22222199005393076);
    p = tk_fma(p, z, 0.28571428730011333);
    p = tk_fma(p, z, 0.3999999999951718);
    p = tk_fma(p, z, 0.666666666666671);
    return s * tk_fma(p, z, hfsq);
}
/* (log(1 + f) - f + f^2/2) / f^3, for float without a division. */
TK_INLINE float tk_log_polyf(float f)
{
    float p = 0.069193393f;
    p = tk_fmaf(p, f, -0.11794553f);
    p = tk_fmaf(p, f, 0.118734896f);
    p = tk_fmaf(p, f, -0.123836167f);
    p = tk_fmaf(p, f, 0.14218545f);
    p = tk_fmaf(p, f, -0.166692883f);
    p = tk_fmaf(p, f, 0.200022295f);
    p = tk_fmaf(p, f, -0.249999866f);
    return tk_fmaf(p, f, 0.333333105f);
}
TK_INLINE float tk_log_tailf(float f) { return f * f * (f * tk_log_polyf(f)); }

TK_INLINE double tk_log(double x)
{
    double k, f = tk_split(x, &k) - 1.0, hfsq = 0.5 * f * f;
    double t = tk_log_tail(f, hfsq);
    return tk_log_special(x, tk_fma(k, TK_LOG_LN2_HI, f - (hfsq - tk_fma(k, TK_LOG_LN2_LO, t))));
}
TK_INLINE float tk_logf(float x)
{
    float k, f = tk_splitf(x, &k) - 1.0f;
    float p = tk_fmaf(tk_log_polyf(f), f, -0.5f);
    float r = f + tk_fmaf(f * f, p, k * -0x1.05c61p-29f);
    return tk_log_specialf(x, tk_fmaf(k, 0x1.62e43p-1f, r));
}

/* log(x) * (hi + lo) + k * unit, with log(m) taken as a sum of two doubles. */
TK_INLINE double tk_log_base(double x, double hi, double lo, double unit, double unit_lo)
{
    double k, f = tk_split(x, &k) - 1.0, hfsq = 0.5 * f * f;
    double t = tk_log_tail(f, hfsq);
    double a = f - hfsq, b = (f - a) - hfsq;
    b += tk_fma(0.5 * f, f, -hfsq) * -1.0;
    double c = b + t, h = a + c, l = (a - h) + c;
    double ph = h * hi, pl = tk_fma(h, hi, -ph) + tk_fma(h, lo, l * hi);
    double kh = k * unit, s = kh + ph, e = (kh - s) + ph;
    pl += tk_fma(k, unit_lo, tk_fma(k, unit, -kh)) + e;
    return tk_log_special(x, s + pl);
}
TK_INLINE double tk_log2(double x)
{
    return tk_log_base(x, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56, 1.0, 0.0);
}
TK_INLINE double tk_log10(double x)
{
    return tk_log_base(x, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57, 0x1.34413509f79ffp-2, -0x1.9dc1da994fd21p-59);
}
TK_INLINE float tk_log_basef(float x, float hi, float lo, float unit, float unit_lo)
{
    float k, f = tk_splitf(x, &k) - 1.0f, hfsq = 0.5f * f * f;
    float t = tk_log_tailf(f);
    float a = f - hfsq, b = (f - a) - hfsq;
    b -= tk_fmaf(0.5f * f, f, -hfsq);
    float c = b + t, h = a + c, l = (a - h) + c;
    float ph = h * hi, pl = tk_fmaf(h, hi, -ph) + tk_fmaf(h, lo, l * hi);
    float kh = k * unit, s = kh + ph, e = (kh - s) + ph;
    pl += tk_fmaf(k, unit_lo, tk_fmaf(k, unit, -kh)) + e;
    return tk_log_specialf(x, s + pl);
}
TK_INLINE float tk_log2f(float x) { return tk_log_basef(x, 0x1.715476p+0f, 0x1.4ae0cp-26f, 1.0f, 0.0f); }
TK_INLINE float tk_log10f(float x)
{
    return tk_log_basef(x, 0x1.bcb7b2p-2f, -0x1.5b235ep-27f, 0x1.344136p-2f, -0x1.ec10cp-27f);
}

/* log(v) + c; log(1 + f) with f instead where v is near 1. */
TK_INLINE double tk_log_near(double v, double c, double f, int near)
{
    double k, m = tk_split(v, &k);
    f = near ? f : m - 1.0;
    k = near ? 0.0 : k;
    c = near ? 0.0 : c;
    double hfsq = 0.5 * f * f, t = tk_log_tail(f, hfsq);
    return tk_fma(k, TK_LOG_LN2_HI, f - (hfsq - (t + tk_fma(k, TK_LOG_LN2_LO, c))));
}
TK_INLINE float tk_log_nearf(float v, float c, float f, int near)
{
    float k, m = tk_splitf(v, &k);
    f = near ? f : m - 1.0f;
    k = near ? 0.0f : k;
    c = near ? 0.0f : c;
    float hfsq = 0.5f * f * f, t = tk_log_tailf(f);
    return tk_fmaf(k, 0x1.62ep-1f, f - (hfsq - (t + tk_fmaf(k, 0x1.0bfbe8p-15f, c))));
}

/* log1p(x): log of u = 1 + x with the rounding error of u as a correction c; near 0, f = x itself. */
TK_INLINE double tk_log1p(double x)
{
    double u = 1.0 + x, v = u > 0 ? u : 1.0;
    double c = (x > 1.0 ? 1.0 - (u - x) : x - (u - 1.0)) / v;
    double y = tk_log_near(v, v > 0x1p60 ? 0.0 : c, x, (x > -0.29289) & (x < 0.41421));
    y = x < (double)TK_INF ? y : x;
    y = x < -1.0 ? (double)NAN : y;
    y = x == -1.0 ? -(double)TK_INF : y;
    return x == 0 ? x : y;
}
TK_INLINE float tk_log1pf(float x)
{
    float u = 1.0f + x, v = u > 0 ? u : 1.0f;
    float c = (x > 1.0f ? 1.0f - (u - x) : x - (u - 1.0f)) / v;
    float y = tk_log_nearf(v, v > 0x1p30f ? 0.0f : c, x, (x > -0.29289f) & (x < 0.41421f));
    y = x < TK_INF ? y : x;
    y = x < -1.0f ? NAN : y;
    y = x == -1.0f ? -TK_INF : y;
    return x == 0 ? x : y;
}
#else
#define tk_log log
#define tk_logf logf
#define tk_log2 log2
#define tk_log2f log2f
#define tk_log10 log10
#define tk_log10f log10f
#define tk_log1p log1p
#define tk_log1pf log1pf
#endif

#define log(x) _Generic((x), float: tk_logf, TK_HALF(tk_logf) float _Complex: clogf, double _Complex: clog, \
    default: tk_log)(x)
#define log2(x) TK_REAL1(tk_log2f, tk_log2, x)
#define log10(x) TK_REAL1(tk_log10f, tk_log10, x)
#define log1p(x) TK_REAL1(tk_log1pf, tk_log1p, x)
#endif
