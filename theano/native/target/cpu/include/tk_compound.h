/* Functions of exponentials that lose digits or overflow when they are composed: the density of the logistic distribution
 * and logarithms of 1 - exp(x), exp(x) - 1, cosh(x), 1 - tanh(x) and x / (1 - x). Each has one expm1 and one logarithm, of
 * arguments chosen by selections, so that loops vectorise. Errors below 4 ulp. */
#ifndef TK_COMPOUND_H
#define TK_COMPOUND_H
#include "tk_hyper.h"

#define TK_LN2_F64 0x1.62e42fefa39efp-1
#define TK_LN2_F32 0x1.62e43p-1f

/* sigmoid(x) * (1 - sigmoid(x)) = e / (1 + e)^2; the rounding errors of the square are made good. */
TK_INLINE double tk_sigmoid_slope_f64(double x)
{
    double e = tk_exp_exact(-__builtin_fabs(x)), d = 1.0 + e, dlo = e - (d - 1.0), q = d * d, r = 1.0 / q, y = e * r;
    return tk_fma(-y * r, tk_fma(d, d, -q) + 2.0 * d * dlo, y);
}
TK_INLINE float tk_sigmoid_slope_f32(float x)
{
    float e = tk_expf_exact(-__builtin_fabsf(x)), d = 1.0f + e, dlo = e - (d - 1.0f), q = d * d, r = 1.0f / q, y = e * r;
    return tk_fmaf(-y * r, tk_fmaf(d, d, -q) + 2.0f * d * dlo, y);
}

#if TK_HAS_FMA
/* log(1 + f) for -0.2929 < f < 0.4142 */
TK_INLINE double tk_log1p_near(double f)
{
    double half = 0.5 * f * f;
    return f - (half - tk_log_tail(f, half));
}
TK_INLINE float tk_log1p_nearf(float f) { return f - (0.5f * f * f - tk_log_tailf(f)); }

/* Near 0 log(cosh(a)), as cosh(a) - 1 = expm1(a)^2 / (2 exp(a)); log1p(exp(-2 a)) beyond. */
TK_INLINE double tk_log_cosh_parts(double a, int near)
{
    double e = tk_expm1(near ? a : -2.0 * a);
    return tk_log1p_near(near ? e * e / (2.0 + 2.0 * e) : 1.0 + e);
}
TK_INLINE float tk_log_cosh_partsf(float a, int near)
{
    float e = tk_expm1f(near ? a : -2.0f * a);
    return tk_log1p_nearf(near ? e * e / (2.0f + 2.0f * e) : 1.0f + e);
}

/* log(1 - exp(x)): log(-expm1(x)) down to log(1 - sqrt(1/2)), log1p(-exp(x)) below. */
TK_INLINE double tk_log_1_minus_exp_f64(double x)
{
    double c, s, r = tk_expm1_parts(x < -750.0 ? -750.0 : x, &c, &s);
    int far = x < -1.227;
    double y = tk_log_near(far ? 1.0 : -tk_expm1_of(x, r, c, s), 0.0, -2.0 * tk_fma(s, r + c, s), far);
    y = x < 0 ? y : (double)NAN;
    return x == 0 ? -(double)TK_INF : y;
}
TK_INLINE float tk_log_1_minus_exp_f32(float x)
{
    float c, s, r = tk_expm1_partsf(x < -105.0f ? -105.0f : x, &c, &s);
    int far = x < -1.227f;
    float y = tk_log_nearf(far ? 1.0f : -tk_expm1_off(x, r, c, s), 0.0f, -2.0f * tk_fmaf(s, r + c, s), far);
    y = x < 0 ? y : NAN;
    return x == 0 ? -TK_INF : y;
}

/* log(exp(x) - 1): log1p(2 expm1(x - log(2))) around log(2), where it is 0, x + log1p(-exp(-x)) from 1.23 on, else
 * log(expm1(x)). */
TK_INLINE double tk_log_expm1_f64(double x)
{
    int middle = (x > 0.54) & (x < 0.88), large = x > 1.23;
    double e = tk_expm1(middle ? (x - TK_LN2_HI) - TK_LN2_LO : large ? -x : x);
    double l = tk_log_near(middle | large ? 1.0 : e, 0.0, middle ? e + e : -1.0 - e, middle | large);
    double y = large ? x + l : l;
    y = x >= 0 ? y : (double)NAN;
    return x == 0 ? -(double)TK_INF : y;
}
TK_INLINE float tk_log_expm1_f32(float x)
{
    int middle = (x > 0.54f) & (x < 0.88f), large = x > 1.23f;
    float e = tk_expm1f(middle ? (x - TK_LN2F_HI) - TK_LN2F_LO : large ? -x : x);
    float l = tk_log_nearf(middle | large ? 1.0f : e, 0.0f, middle ? e + e : -1.0f - e, middle | large);
    float y = large ? x + l : l;
    y = x >= 0 ? y : NAN;
    return x == 0 ? -TK_INF : y;
}

/* log(x / (1 - x)), as log1p((2 x - 1) / (1 - x)) around 1/2, where it is 0. */
TK_INLINE double tk_logit_f64(double x)
{
    int near = (x > 0.4143) & (x < 0.5857);
    double w = (near ? 2.0 * x - 1.0 : x) / (1.0 - x);
    double y = tk_log_near(near ? 1.0 : w, 0.0, w, near);
    y = (x > 0) & (x < 1.0) ? y : (double)NAN;
    y = x == 1.0 ? (double)TK_INF : y;
    return x == 0 ? -(double)TK_INF : y;
}
TK_INLINE float tk_logit_f32(float x)
{
    int near = (x > 0.4143f) & (x < 0.5857f);
    float w = (near ? 2.0f * x - 1.0f : x) / (1.0f - x);
    float y = tk_log_nearf(near ? 1.0f : w, 0.0f, w, near);
    y = (x > 0) & (x < 1.0f) ? y : NAN;
    y = x == 1.0f ? TK_INF : y;
    return x == 0 ? -TK_INF : y;
}
#else
TK_INLINE double tk_log_cosh_parts(double a, int near)
{
    double e = expm1(near ? a : -2.0 * a);
    return log1p(near ? e * e / (2.0 + 2.0 * e) : 1.0 + e);
}
TK_INLINE float tk_log_cosh_partsf(float a, int near) { return (float)tk_log_cosh_parts(a, near); }
TK_INLINE double tk_logit_f64(double x)
{
    double r = 1.0 - x;
    return (x > 0.3) & (x < 0.7) ? log1p((2.0 * x - 1.0) / r) : log(x / r);
}
TK_INLINE float tk_logit_f32(float x) { return (float)tk_logit_f64(x); }
TK_INLINE double tk_log_1_minus_exp_f64(double x) { return x < -TK_LN2_F64 ? log1p(-exp(x)) : log(-expm1(x)); }
TK_INLINE double tk_log_expm1_f64(double x)
{
    return x < 0.35 ? log(expm1(x)) : x > 1.38 ? x + log1p(-exp(-x))
                                               : log1p(2.0 * expm1((x - TK_LN2_F64) - 0x1.abc9e3b39803fp-56));
}
TK_INLINE float tk_log_1_minus_exp_f32(float x) { return (float)tk_log_1_minus_exp_f64(x); }
TK_INLINE float tk_log_expm1_f32(float x) { return (float)tk_log_expm1_f64(x); }
#endif

/* log(cosh(x)) */
TK_INLINE double tk_log_cosh_f64(double x)
{
    double a = __builtin_fabs(x);
    int near = a < 0.88;
    double l = tk_log_cosh_parts(a, near);
    return near ? l : a + (l - TK_LN2_F64);
}
TK_INLINE float tk_log_cosh_f32(float x)
{
    float a = __builtin_fabsf(x);
    int near = a < 0.88f;
    float l = tk_log_cosh_partsf(a, near);
    return near ? l : a + (l - TK_LN2_F32);
}

/* log(1 - tanh(x)) = -x - log(cosh(x)) */
TK_INLINE double tk_log_1_minus_tanh_f64(double x)
{
    double a = __builtin_fabs(x);
    int near = a < 0.88;
    double l = tk_log_cosh_parts(a, near);
    return near ? -x - l : (TK_LN2_F64 - (x > 0 ? 2.0 * x : 0.0)) - l;
}
TK_INLINE float tk_log_1_minus_tanh_f32(float x)
{
    float a = __builtin_fabsf(x);
    int near = a < 0.88f;
    float l = tk_log_cosh_partsf(a, near);
    return near ? -x - l : (TK_LN2_F32 - (x > 0 ? 2.0f * x : 0.0f)) - l;
}

#define tk_logit(x) TK_REAL1(tk_logit_f32, tk_logit_f64, x)
#define tk_sigmoid_slope(x) TK_REAL1(tk_sigmoid_slope_f32, tk_sigmoid_slope_f64, x)
#define tk_log_cosh(x) TK_REAL1(tk_log_cosh_f32, tk_log_cosh_f64, x)
#define tk_log_1_minus_tanh(x) TK_REAL1(tk_log_1_minus_tanh_f32, tk_log_1_minus_tanh_f64, x)
#define tk_log_1_minus_exp(x) TK_REAL1(tk_log_1_minus_exp_f32, tk_log_1_minus_exp_f64, x)
#define tk_log_expm1(x) TK_REAL1(tk_log_expm1_f32, tk_log_expm1_f64, x)
#endif
