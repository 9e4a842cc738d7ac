/* log, log2, log10, log1p: x = 2^k m with m in [sqrt(1/2), sqrt(2)), log(m) = f - f^2/2 + s (f^2/2 + R(s^2)) with
 * f = m - 1 and s = f / (2 + f), the splitting of Tang (1990) and fdlibm; R by Remez, and for float32 a polynomial in f.
 * Errors below 1 ulp. */
#pragma once
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
/* s * (f^2/2 + R) */
TK_INLINE double tk_log_tail(double f, double hfsq)
{
    double s = f / (2.0 + f), z = s * s;
    double p = TK_H3(tk_fma, 0.14811936241135093, z, 0.15313030178560308, 0.1818357643089106, 0.22222199005393076);
    p = TK_H3(tk_fma, p, z, 0.28571428730011333, 0.3999999999951718, 0.666666666666671);
    return s * tk_fma(p, z, hfsq);
}
/* (log(1 + f) - f + f^2/2) / f^3, for float without a division. */
TK_INLINE float tk_log_polyf(float f)
{
    float p = TK_H4(tk_fmaf, 0.069193393f, f, -0.11794553f, 0.118734896f, -0.123836167f, 0.14218545f);
    p = TK_H3(tk_fmaf, p, f, -0.166692883f, 0.200022295f, -0.249999866f);
    return tk_fmaf(p, f, 0.333333105f);
}
TK_INLINE float tk_log_tailf(float f, float hfsq) { (void)hfsq; return f * f * (f * tk_log_polyf(f)); }
#include "tk_as_double.h"
#include "tk_log_real.h"
#include "tk_as_float.h"
#include "tk_log_real.h"

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

TK_INLINE double tk_log2(double x)
{
    return tk_log_base(x, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56, 1.0, 0.0);
}
TK_INLINE double tk_log10(double x)
{
    return tk_log_base(x, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57, 0x1.34413509f79ffp-2, -0x1.9dc1da994fd21p-59);
}
TK_INLINE float tk_log2f(float x) { return tk_log_basef(x, 0x1.715476p+0f, 0x1.4ae0cp-26f, 1.0f, 0.0f); }
TK_INLINE float tk_log10f(float x)
{
    return tk_log_basef(x, 0x1.bcb7b2p-2f, -0x1.5b235ep-27f, 0x1.344136p-2f, -0x1.ec10cp-27f);
}
#endif

#define log(x) _Generic((x), float: TK_OWN(logf), TK_HALF(TK_OWN(logf)) float _Complex: clogf, double _Complex: clog, \
    default: TK_OWN(log))(x)
#define log2(x) TK_OWN1(log2, x)
#define log10(x) TK_OWN1(log10, x)
#define log1p(x) TK_OWN1(log1p, x)
