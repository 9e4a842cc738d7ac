/* Functions of exponentials that lose digits or overflow when they are composed: the density of the logistic distribution
 * and logarithms of 1 - exp(x), exp(x) - 1, cosh(x), 1 - tanh(x) and x / (1 - x). Each has one expm1 and one logarithm, of
 * arguments chosen by selections, so that loops vectorise. Errors below 4 ulp. */
#pragma once
#include "tk_hyper.h"

#define TK_LN2_F64 0x1.62e42fefa39efp-1
#define TK_LN2_F32 0x1.62e43p-1f

#if !TK_HAS_FMA
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
#include "tk_as_double.h"
#include "tk_compound_real.h"
#include "tk_as_float.h"
#include "tk_compound_real.h"

#define tk_logit(x) TK_REAL1(tk_logit_f32, tk_logit_f64, x)
#define tk_sigmoid_slope(x) TK_REAL1(tk_sigmoid_slope_f32, tk_sigmoid_slope_f64, x)
#define tk_log_cosh(x) TK_REAL1(tk_log_cosh_f32, tk_log_cosh_f64, x)
#define tk_log_1_minus_tanh(x) TK_REAL1(tk_log_1_minus_tanh_f32, tk_log_1_minus_tanh_f64, x)
#define tk_log_1_minus_exp(x) TK_REAL1(tk_log_1_minus_exp_f32, tk_log_1_minus_exp_f64, x)
#define tk_log_expm1(x) TK_REAL1(tk_log_expm1_f32, tk_log_expm1_f64, x)
