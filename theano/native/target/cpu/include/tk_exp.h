/* exp, exp2, exp10, expm1: Cody-Waite reduction to |r| <= ln(2)/2 and minimax polynomials (Remez). No branch and no
 * table, so that loops vectorise. Errors below 1 ulp; results below the least normal number are rounded once.
 *
 * Polynomials are summed in pairs of pairs: in a loop whose steps wait for one another (a recurrence) it is the length of
 * the longest chain of operations that takes the time. */
#pragma once
#include "tk_core.h"

double exp(double), exp2(double), expm1(double);
float expf(float), exp2f(float), expm1f(float);
float _Complex cexpf(float _Complex);
double _Complex cexp(double _Complex);

#if TK_HAS_FMA
#define TK_MAGIC 0x1.8p52   /* added to |x| < 2^51 it leaves the nearest integer in the low bits */
#define TK_MAGICF 0x1.8p23f
#define TK_LN2_HI 0x1.62e42fefa39efp-1
#define TK_LN2_LO 0x1.abc9e3b39803fp-56
#define TK_LN2F_HI 0x1.62e43p-1f
#define TK_LN2F_LO -0x1.05c61p-29f

/* exp(r) - 1 for |r| <= 0.3466, as r + the result. */
TK_INLINE double tk_exp_tail(double r)
{
    double r2 = r * r, r4 = r2 * r2;
    double a = tk_fma(0.16666666666666421, r, 0.5000000000000009);
    double b = tk_fma(0.00833333333349297, r, 0.041666666666539724);
    double c = tk_fma(0.00019841269504818285, r, 0.0013888888941492588);
    double d = tk_fma(2.7557590945162124e-06, r, 2.4801495027535096e-05);
    double e = tk_fma(2.4997959711583386e-08, r, 2.7629639973506935e-07);
    return r2 * tk_fma(tk_fma(e, r4, tk_fma(d, r2, c)), r4, tk_fma(b, r2, a));
}
TK_INLINE double tk_exp_small(double r) { return r + tk_exp_tail(r); }
TK_INLINE float tk_exp_tailf(float r)
{
    float r2 = r * r;
    float a = tk_fmaf(0.166666657f, r, 0.5f), b = tk_fmaf(0.00833350047f, r, 0.0416663028f);
    float c = tk_fmaf(0.000197881251f, r, 0.00139442855f);
    return r2 * tk_fmaf(tk_fmaf(c, r2, b), r2, a);
}

/* (exp(r) - 1 - r) / r^2 for expm1 */
TK_INLINE double tk_expm1_poly(double r)
{
    double r2 = r * r, r4 = r2 * r2;
    double p0 = tk_fma(0.16666666666666677, r, 0.5), p1 = tk_fma(0.008333333333321835, r, 0.0416666666666667);
    double p2 = tk_fma(0.00019841269885704404, r, 0.0013888888888867394);
    double p3 = tk_fma(2.7557244557051736e-06, r, 2.4801587359732634e-05);
    double p4 = tk_fma(tk_fma(2.0924309150977968e-09, r, 2.5108937817232558e-08), r, 2.7557243307178896e-07);
    return tk_fma(tk_fma(p4, r4, tk_fma(p3, r2, p2)), r4, tk_fma(p1, r2, p0));
}
TK_INLINE float tk_expm1_polyf(float r)
{
    float r2 = r * r;
    float p0 = tk_fmaf(0.166666672f, r, 0.5f), p1 = tk_fmaf(0.00833327323f, r, 0.0416663587f);
    float p2 = tk_fmaf(0.000199141272f, r, 0.0013940729f);
    return tk_fmaf(tk_fmaf(p2, r2, p1), r2, p0);
}

/* 2^(n + k) of t = n + TK_MAGIC */
TK_INLINE double tk_two_to(double t, int k) { return tk_double((tk_bits(t) + 1023 + k) << 52); }
TK_INLINE float tk_two_tof(float t, int k) { return tk_float((npy_int32)((npy_uint32)(tk_bitsf(t) + 127 + k) << 23)); }
#include "tk_as_double.h"
#include "tk_exp_real.h"
#include "tk_as_float.h"
#include "tk_exp_real.h"

/* exp(x) * 2^k for a small k. */
TK_INLINE double tk_exp_scaled(double x, double k)
{
    double n = tk_exp_multiple(x);
    double r = tk_less_ln2(x, n);
    double y = tk_scale_1p(tk_exp_small(r), n + k);
    return x < -750.0 ? 0.0 : y;
}
#define TK_EXP_SCALE_F64 0x1p512
#define TK_EXP_SCALE_F32 0x1p64f
/* 2^(x + xlo) */
TK_INLINE double tk_exp2_dd(double x, double xlo)
{
    double n = (x + TK_MAGIC) - TK_MAGIC, f = x - n;
    double r = f * TK_LN2_HI;
    double rlo = tk_fma(f, TK_LN2_HI, -r) + tk_fma(f, TK_LN2_LO, xlo * TK_LN2_HI);
    return tk_scale(tk_exp_reduced(r, rlo), n);
}
TK_INLINE double tk_exp2(double x)
{
    x = x > 1100.0 ? 1100.0 : x;
    x = x < -1100.0 ? -1100.0 : x;
    return tk_exp2_dd(x, 0.0);
}
TK_INLINE float tk_exp2f(float x)
{
    x = x > 140.0f ? 140.0f : x;
    x = x < -160.0f ? -160.0f : x;
    float n = (x + TK_MAGICF) - TK_MAGICF, f = x - n;
    float r = f * TK_LN2F_HI;
    float lo = tk_fmaf(f, TK_LN2F_LO, tk_fmaf(f, TK_LN2F_HI, -r)), a = 1.0f + r;
    return tk_scalef(a + (((1.0f - a) + r) + (tk_exp_tailf(r) + lo)), n);
}
#else
TK_INLINE double tk_exp_diff_f64(double x, double m)
{
    double d = x - m, b = d - x, low = (x - (d - b)) - (m + b), y = exp(d);
    return d < -750.0 ? y : y + y * low;
}
TK_INLINE float tk_exp_diff_f32(float x, float m) { return (float)exp((double)x - (double)m); }
#define TK_EXP_SCALE_F64 1.0
#define TK_EXP_SCALE_F32 1.0f
#define tk_exp_diff_scaled_f64 tk_exp_diff_f64
#define tk_exp_diff_scaled_f32 tk_exp_diff_f32
/* With the 26 upper bits of x, whose square is exact. */
TK_INLINE double tk_exp_minus_square_f64(double x)
{
    double a = x > 30.0 ? 30.0 : x < -30.0 ? -30.0 : x, c = tk_double(tk_bits(a) & ~(npy_int64)0x7ffffff);
    return exp(-c * c) * exp((c - a) * (c + a));
}
TK_INLINE float tk_exp_minus_square_f32(float x) { return (float)exp(-(double)x * x); }
TK_INLINE double tk_x_exp_minus_square_f64(double x)
{
    double a = x > 30.0 ? 30.0 : x < -30.0 ? -30.0 : x, c = tk_double(tk_bits(a) & ~(npy_int64)0x7ffffff);
    return x == x ? a * exp((c - a) * (c + a)) * exp(-c * c) : x;
}
TK_INLINE float tk_x_exp_minus_square_f32(float x) { return (float)tk_x_exp_minus_square_f64(x); }
#define tk_exp_exact exp
#define tk_exp_exactf expf
#endif

#define exp(x) _Generic((x), float: TK_OWN(expf), TK_HALF(TK_OWN(expf)) float _Complex: cexpf, double _Complex: cexp, \
    default: TK_OWN(exp))(x)
#define tk_exp_diff(x, m) _Generic((x), float: tk_exp_diff_f32, default: tk_exp_diff_f64)(x, m)
#define tk_exp_diff_scaled(x, m) _Generic((x), float: tk_exp_diff_scaled_f32, default: tk_exp_diff_scaled_f64)(x, m)
#define tk_exp_scale(x) _Generic((x), float: TK_EXP_SCALE_F32, default: TK_EXP_SCALE_F64)
#define tk_exp_minus_square(x) TK_REAL1(tk_exp_minus_square_f32, tk_exp_minus_square_f64, x)
#define tk_x_exp_minus_square(x) TK_REAL1(tk_x_exp_minus_square_f32, tk_x_exp_minus_square_f64, x)
#define exp2(x) TK_OWN1(exp2, x)
#define expm1(x) TK_OWN1(expm1, x)
