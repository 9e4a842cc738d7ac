/* Hyperbolic functions and their inverses, sigmoid, softplus: from expm1, exp, log1p. float32 forms of the rarer ones by
 * way of double. */
#pragma once
#include "tk_exp.h"
#include "tk_log.h"

double tanh(double), sinh(double), cosh(double), asinh(double), acosh(double), atanh(double);
float tanhf(float), sinhf(float), coshf(float), asinhf(float), acoshf(float), atanhf(float);

#if TK_HAS_FMA
/* exp(r) - 1 for 1 / (1 + exp(-x)): of the exponential less precision is needed than the quotient keeps, of degree 6 in float32
 * (error 3e-9). */
#define tk_sigmoid_small tk_exp_small
TK_INLINE float tk_sigmoid_smallf(float r)
{
    float r2 = r * r;
    float p0 = tk_fmaf(0.1666652113199234f, r, 0.4999999403953552f), p1 = tk_fmaf(0.008368715643882751f, r, 0.04166838899254799f);
    return tk_fmaf(r2, tk_fmaf(tk_fmaf(0.0013814601115882397f, r2, p1), r2, p0), r);
}
/* log(1 + exp(x)) = max(x, 0) + log(1 + e), with e = exp(-|x|) in [0, 1]: as log1p, but without a power of two to
 * split off; the rounding error of the logarithm is added to x first. */
TK_INLINE double tk_softplus_f64(double x)
{
    double e = tk_exp_down(-__builtin_fabs(x)) * (1.0 / TK_EXP_SCALE_F64), half = 0.5 * e, square = half * e;
    double s = e / (2.0 + e), z = s * s, z2 = z * z, z4 = z2 * z2;
    double p0 = tk_fma(0.4000000000015512, z, 0.6666666666666631), p1 = tk_fma(0.22222223953640737, z, 0.28571428548117898);
    double p2 = tk_fma(0.15386548378144268, z, 0.18181744479561087), p3 = tk_fma(0.12104942886093689, z, 0.13301121607912366);
    double p4 = tk_fma(0.17009738356198193, z, 0.083449809397974837);
    double p = tk_fma(tk_fma(p4, z4, tk_fma(p3, z2, p2)), z4, tk_fma(p1, z2, p0));
    double w = tk_fma(half, e, -(s * tk_fma(p, z, square))), y = e - w;
    return y + ((x < 0 ? 0.0 : x) + ((e - y) - w));
}
TK_INLINE float tk_softplus_f32(float x)
{
    float e = tk_exp_downf(-__builtin_fabsf(x)) * (1.0f / TK_EXP_SCALE_F32), e2 = e * e;
    float p0 = tk_fmaf(0.333330936f, e, -0.5f), p1 = tk_fmaf(0.1992646427f, e, -0.2499332795f);
    float p2 = tk_fmaf(0.1268077821f, e, -0.1622889903f), p3 = tk_fmaf(0.0443130481f, e, -0.08593554546f);
    float p4 = tk_fmaf(0.002277798838f, e, -0.0146892111f), e4 = e2 * e2;
    float p = tk_fmaf(tk_fmaf(p4, e4, tk_fmaf(p3, e2, p2)), e4, tk_fmaf(p1, e2, p0));
    float y = tk_fmaf(e2, p, e);
    return y + ((x < 0 ? 0.0f : x) + tk_fmaf(e2, p, e - y));
}
#endif
#include "tk_as_double.h"
#include "tk_hyper_real.h"
#include "tk_as_float.h"
#include "tk_hyper_real.h"

#if TK_HAS_FMA
/* An odd polynomial near 0, 1 - 2 / (exp(2|x|) + 1) beyond. There an error of the exponential counts the less the greater
 * it is, so that one constant for ln(2) will do. With n = round(2|x| / ln(2)), s = 2^n and exp(2|x|) = s (1 + m) the
 * denominator is s m + (s + 1); r is half of what is left of 2|x|, the coefficients have its powers of two. */
TK_INLINE double tk_tanh(double x)
{
    double a = __builtin_fabs(x), z = x * x, z2 = z * z;
    double p0 = tk_fma(0.13333333333221042, z, -0.33333333333332826), p1 = tk_fma(0.021869486268076138, z, -0.053968253894092204);
    double p2 = tk_fma(0.0035917312819888445, z, -0.008863197035724264);
    double p3 = tk_fma(0.0005791221413275333, z, -0.0014532394740932833);
    double p4 = tk_fma(5.086742319048269e-05, z, -0.00021016898842072013);
    double p = tk_fma(tk_fma(tk_fma(p4, z2, p3), z2, p2), z2 * z2, tk_fma(p1, z2, p0));
    double b = a < 22.0 ? a : 22.0;
    double t = tk_fma(b, 2.8853900817779268, TK_MAGIC), s = tk_double((tk_bits(t) + 1023) << 52);
    double r = tk_fma(TK_MAGIC - t, 0.5 * TK_LN2_HI, b), r2 = r * r;
    double q0 = tk_fma(8.0 * 0.16666666666666421, r, 4.0 * 0.5000000000000009);
    double q1 = tk_fma(32.0 * 0.00833333333349297, r, 16.0 * 0.041666666666539724);
    double q2 = tk_fma(128.0 * 0.00019841269504818285, r, 64.0 * 0.0013888888941492588);
    double q3 = tk_fma(512.0 * 2.7557590945162124e-06, r, 256.0 * 2.4801495027535096e-05);
    double q4 = tk_fma(2048.0 * 2.4997959711583386e-08, r, 1024.0 * 2.7629639973506935e-07);
    double m = tk_fma(tk_fma(tk_fma(q4, r2, q3), r2, q2), r2 * r2 * r2, tk_fma(tk_fma(q1, r2, q0), r2, 2.0 * r));
    /* The polynomial's side takes NaN, of which the exponential may make a number. */
    double y = a >= 0.55 ? 1.0 - 2.0 / tk_fma(s, m, s + 1.0) : tk_fma(a * z, p, a);
    return __builtin_copysign(y, x);
}
TK_INLINE float tk_tanhf(float x)
{
    float a = __builtin_fabsf(x), z = x * x, z2 = z * z;
    float p0 = tk_fmaf(0.133315355f, z, -0.333332926f), p1 = tk_fmaf(0.0206140056f, z, -0.0537380502f);
    float p = tk_fmaf(tk_fmaf(-0.00566247804f, z2, p1), z2, p0);
    float b = a < 10.0f ? a : 10.0f;
    float t = tk_fmaf(b, 2.88539008f, TK_MAGICF), n = t - TK_MAGICF;
    float s = tk_float((npy_int32)((npy_uint32)(tk_bitsf(t) + 127) << 23));
    float r = tk_fmaf(-n, 0.5f * TK_LN2F_HI, b), r2 = r * r;
    float q0 = tk_fmaf(8.0f * 0.166666657f, r, 4.0f * 0.5f), q1 = tk_fmaf(32.0f * 0.00833350047f, r, 16.0f * 0.0416663028f);
    float q2 = tk_fmaf(128.0f * 0.000197881251f, r, 64.0f * 0.00139442855f);
    float m = tk_fmaf(tk_fmaf(tk_fmaf(q2, r2, q1), r2, q0), r2, r + r);
    float y = a >= 0.625f ? 1.0f - 2.0f / tk_fmaf(s, m, s + 1.0f) : tk_fmaf(a * z, p, a);
    return __builtin_copysignf(y, x);
}

TK_INLINE double tk_sinh(double x)
{
    double a = __builtin_fabs(x), z = a * a;
    /* Its series, to x^13, near 0. */
    double p = tk_fma(tk_fma(1.0 / 6227020800.0, z, 1.0 / 39916800.0), z, 1.0 / 362880.0);
    p = tk_fma(tk_fma(tk_fma(p, z, 1.0 / 5040.0), z, 1.0 / 120.0), z, 1.0 / 6.0);
    double t = tk_expm1(a > 22.0 ? 22.0 : a);
    double y = 0.5 * (a < 1.0 ? 2.0 * t - t * t / (t + 1.0) : t + t / (t + 1.0));
    y = a > 21.0 ? tk_exp_scaled(a, -1.0) : y;
    y = a < 0.5 ? tk_fma(a * z, p, a) : y;
    return __builtin_copysign(y, x);
}
TK_INLINE double tk_cosh(double x)
{
    double a = __builtin_fabs(x);
    double t = tk_expm1(a > 1.0 ? 1.0 : a);
    double near = 1.0 + t * t / (2.0 * (1.0 + t));
    double e = tk_exp_scaled(a, -1.0);
    return a < 0.35 ? near : e + (a > 22.0 ? 0.0 : 0.25 / e);
}
TK_INLINE double tk_asinh(double x)
{
    double a = __builtin_fabs(x), z = a * a;
    double near = tk_log1p(a + z / (1.0 + sqrt(z + 1.0))), far = tk_log(a) + 0x1.62e42fefa39efp-1;
    return __builtin_copysign(a > 0x1p28 ? far : near, x);
}
TK_INLINE double tk_acosh(double x)
{
    int big = x > 0x1p28;
    double t = big ? 1.0 : x - 1.0;
    double far = tk_log(x) + 0x1.62e42fefa39efp-1, near = tk_log1p(t + sqrt(tk_fma(t, t, 2.0 * t)));
    double y = big ? far : near;
    return x < 1.0 ? (double)NAN : y;
}
TK_INLINE double tk_atanh(double x)
{
    double a = __builtin_fabs(x), t = a + a;
    double y = 0.5 * tk_log1p(a < 0.5 ? t + t * a / (1.0 - a) : t / (1.0 - a));
    return __builtin_copysign(a < 0x1p-28 ? a : y, x);
}
TK_INLINE float tk_sinhf(float x) { return (float)tk_sinh(x); }
TK_INLINE float tk_coshf(float x) { return (float)tk_cosh(x); }
TK_INLINE float tk_asinhf(float x) { return (float)tk_asinh(x); }
TK_INLINE float tk_acoshf(float x) { return (float)tk_acosh(x); }
TK_INLINE float tk_atanhf(float x) { return (float)tk_atanh(x); }
#endif

#define tk_sigmoid(x) TK_REAL1(tk_sigmoid_f32, tk_sigmoid_f64, x)
#define tk_softplus(x) TK_REAL1(tk_softplus_f32, tk_softplus_f64, x)
#define tanh(x) TK_OWN1(tanh, x)
#define sinh(x) TK_OWN1(sinh, x)
#define cosh(x) TK_OWN1(cosh, x)
#define asinh(x) TK_OWN1(asinh, x)
#define acosh(x) TK_OWN1(acosh, x)
#define atanh(x) TK_OWN1(atanh, x)
