/* Hyperbolic functions and their inverses, sigmoid, softplus: from expm1, exp, log1p. float32 forms of the rarer ones by
 * way of double. */
#ifndef TK_HYPER_H
#define TK_HYPER_H
#include "tk_exp.h"
#include "tk_log.h"

double tanh(double), sinh(double), cosh(double), asinh(double), acosh(double), atanh(double);
float tanhf(float), sinhf(float), coshf(float), asinhf(float), acoshf(float), atanhf(float);

/* 1 / (1 + exp(-x)), also where exp(-x) overflows. */
TK_INLINE double tk_sigmoid_f64(double x)
{
    double e = tk_exp_exact(-__builtin_fabs(x)), d = 1.0 + e, dlo = e - (d - 1.0);
    double q = (x < 0 ? e : 1.0) / d;
    return q - q * (x < 0 ? 1.0 - q : q) * dlo;
}
TK_INLINE float tk_sigmoid_f32(float x)
{
    float e = tk_expf_exact(-__builtin_fabsf(x)), d = 1.0f + e, dlo = e - (d - 1.0f);
    float q = (x < 0 ? e : 1.0f) / d;
    return q - q * (x < 0 ? 1.0f - q : q) * dlo;
}
/* log(1 + exp(x)). The exponential is that of the sigmoid, with which it often stands in one loop: the compiler then
 * computes it once. */
TK_INLINE double tk_softplus_f64(double x)
{
    return (x < 0 ? 0.0 : x) + tk_log1p(tk_exp_exact(-__builtin_fabs(x)));
}
TK_INLINE float tk_softplus_f32(float x)
{
    return (x < 0 ? 0.0f : x) + tk_log1pf(tk_expf_exact(-__builtin_fabsf(x)));
}

#if TK_HAS_FMA
/* An odd polynomial near 0, 1 - 2 / (exp(2|x|) + 1) beyond. */
TK_INLINE double tk_tanh(double x)
{
    double a = __builtin_fabs(x), z = x * x;
    double p = 5.086742319048269e-05;
    p = tk_fma(p, z, -0.00021016898842072013);
    p = tk_fma(p, z, 0.0005791221413275333);
    p = tk_fma(p, z, -0.0014532394740932833);
    p = tk_fma(p, z, 0.0035917312819888445);
    p = tk_fma(p, z, -0.008863197035724264);
    p = tk_fma(p, z, 0.021869486268076138);
    p = tk_fma(p, z, -0.053968253894092204);
    p = tk_fma(p, z, 0.13333333333221042);
    p = tk_fma(p, z, -0.33333333333332826);
    double b = a > 22.0 ? 44.0 : 2.0 * a;
    double t = tk_fma(b, 1.4426950408889634074, TK_MAGIC), n = t - TK_MAGIC;
    double r = tk_fma(-n, TK_LN2_LO, tk_fma(-n, TK_LN2_HI, b));
    double e = tk_double(tk_bits(1.0 + (r + tk_exp_tail(r))) + (tk_bits(t) << 52));
    /* Adding to the bits of a NaN may make a number of it: the polynomial's side takes NaN. */
    double y = a >= 0.55 ? 1.0 - 2.0 / (e + 1.0) : tk_fma(a * z, p, a);
    return __builtin_copysign(y, x);
}
TK_INLINE float tk_tanhf(float x)
{
    float a = __builtin_fabsf(x), z = x * x;
    float p = -0.00566247804f;
    p = tk_fmaf(p, z, 0.0206140056f);
    p = tk_fmaf(p, z, -0.0537380502f);
    p = tk_fmaf(p, z, 0.133315355f);
    p = tk_fmaf(p, z, -0.333332926f);
    float b = a > 10.0f ? 20.0f : 2.0f * a;
    float n = tk_fmaf(b, 1.44269504f, TK_MAGICF) - TK_MAGICF;
    float r = tk_fmaf(-n, TK_LN2F_LO, tk_fmaf(-n, TK_LN2F_HI, b));
    float e = tk_float(tk_bitsf(1.0f + (r + tk_exp_tailf(r))) + ((npy_int32)n << 23));
    float y = a >= 0.625f ? 1.0f - 2.0f / (e + 1.0f) : tk_fmaf(a * z, p, a);
    return __builtin_copysignf(y, x);
}

TK_INLINE double tk_sinh(double x)
{
    double a = __builtin_fabs(x);
    double t = tk_expm1(a > 22.0 ? 22.0 : a);
    double y = 0.5 * (a < 1.0 ? 2.0 * t - t * t / (t + 1.0) : t + t / (t + 1.0));
    y = a > 21.0 ? tk_exp_scaled(a, -1.0) : y;
    return __builtin_copysign(a == 0 ? a : y, x);
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
#else
#define tk_tanh tanh
#define tk_tanhf tanhf
#define tk_sinh sinh
#define tk_sinhf sinhf
#define tk_cosh cosh
#define tk_coshf coshf
#define tk_asinh asinh
#define tk_asinhf asinhf
#define tk_acosh acosh
#define tk_acoshf acoshf
#define tk_atanh atanh
#define tk_atanhf atanhf
#endif

#define tk_sigmoid(x) TK_REAL1(tk_sigmoid_f32, tk_sigmoid_f64, x)
#define tk_softplus(x) TK_REAL1(tk_softplus_f32, tk_softplus_f64, x)
#define tanh(x) TK_REAL1(tk_tanhf, tk_tanh, x)
#define sinh(x) TK_REAL1(tk_sinhf, tk_sinh, x)
#define cosh(x) TK_REAL1(tk_coshf, tk_cosh, x)
#define asinh(x) TK_REAL1(tk_asinhf, tk_asinh, x)
#define acosh(x) TK_REAL1(tk_acoshf, tk_acosh, x)
#define atanh(x) TK_REAL1(tk_atanhf, tk_atanh, x)
#endif
