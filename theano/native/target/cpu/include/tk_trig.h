/* sin, cos, tan: Cody-Waite reduction by multiples of pi/2 in three parts (exact to about 2^-160 of the multiple) and
 * minimax polynomials, no branch. An argument beyond the reduction's range sets `tk_bad`; the loop around then computes
 * its block again with the scalar functions of libm (tk_slow_*), which reduce by Payne and Hanek's method. */
#ifndef TK_TRIG_H
#define TK_TRIG_H
#include "tk_core.h"

double sin(double), cos(double), tan(double);
float sinf(float), cosf(float), tanf(float);
float _Complex csinf(float _Complex), ccosf(float _Complex), ctanf(float _Complex);
double _Complex csin(double _Complex), ccos(double _Complex), ctan(double _Complex);

#if TK_HAS_FMA
#define TK_TRIG_LIMIT 0x1p40
#define TK_TRIG_LIMITF 0x1p16f

/* r + rlo = x - k pi/2 with |r| <= pi/4; returns k modulo 2^51. */
TK_INLINE npy_int64 tk_reduce(double x, double *r, double *rlo, tk_flag *bad)
{
    double a = __builtin_fabs(x);
    *bad |= (a > TK_TRIG_LIMIT) & (a < (double)TK_INF);
    double t = tk_fma(x, 0x1.45f306dc9c883p-1, 0x1.8p52), k = t - 0x1.8p52;
    double h = tk_fma(-k, 0x1.921fb54442d18p+0, x);
    /* h - k P2 as an exact sum of two: near a multiple of pi/2 the leading parts cancel. */
    double w = k * 0x1.1a62633145c07p-54, wlo = tk_fma(k, 0x1.1a62633145c07p-54, -w);
    double d = h - w, v = d - h;
    *r = d;
    *rlo = tk_fma(-k, -0x1.f1976b7ed8fbcp-110, ((h - (d - v)) - (w + v)) - wlo);
    return tk_bits(t);
}
TK_INLINE double tk_sin_poly(double r, double rlo)
{
    double z = r * r, p = TK_H2(tk_fma, 1.5891457192140213e-10, z, -2.505067954359484e-08, 2.7557313313449685e-06);
    p = TK_H3(tk_fma, p, z, -0.00019841269829234034, 0.008333333333322663, -0.16666666666666638);
    return r + tk_fma(r * z, p, rlo * tk_fma(z, -0.5, 1.0));
}
TK_INLINE double tk_cos_poly(double r, double rlo)
{
    double z = r * r, p = TK_H2(tk_fma, -1.1365946290639974e-11, z, 2.0875863309135774e-09, -2.7557315526882754e-07);
    p = TK_H3(tk_fma, p, z, 2.4801587294058422e-05, -0.0013888888888882213, 0.04166666666666665);
    double h = 0.5 * z, w = 1.0 - h;
    return w + (((1.0 - w) - h) + tk_fma(z * z, p, -(r * rlo)));
}
TK_INLINE npy_int32 tk_reducef(float x, float *r, float *rlo, tk_flag *bad)
{
    float a = __builtin_fabsf(x);
    *bad |= (a > TK_TRIG_LIMITF) & (a < TK_INF);
    float t = tk_fmaf(x, 0x1.45f306p-1f, 0x1.8p23f), k = t - 0x1.8p23f;
    float h = tk_fmaf(-k, 0x1.921fb6p+0f, x);
    float w = k * -0x1.777a5cp-25f, wlo = tk_fmaf(k, -0x1.777a5cp-25f, -w);
    float d = h - w, v = d - h;
    *r = d;
    *rlo = tk_fmaf(-k, -0x1.ee59dap-50f, ((h - (d - v)) - (w + v)) - wlo);
    return tk_bitsf(t);
}
TK_INLINE float tk_sin_polyf(float r, float rlo)
{
    float z = r * r, p = TK_H3(tk_fmaf, 2.71756358e-06f, z, -0.000198392561f, 0.00833332911f, -0.166666672f);
    return r + tk_fmaf(r * z, p, rlo * tk_fmaf(z, -0.5f, 1.0f));
}
TK_INLINE float tk_cos_polyf(float r, float rlo)
{
    float z = r * r, p = TK_H2(tk_fmaf, 2.44570947e-05f, z, -0.0013887604f, 0.041666653f);
    float h = 0.5f * z, w = 1.0f - h;
    return w + (((1.0f - w) - h) + tk_fmaf(z * z, p, -(r * rlo)));
}
#include "tk_as_double.h"
#include "tk_trig_real.h"
#include "tk_as_float.h"
#include "tk_trig_real.h"
#else
TK_INLINE double tk_sin_libm(double x, tk_flag *bad) { return (sin)(x); }
TK_INLINE float tk_sinf(float x, tk_flag *bad) { return sinf(x); }
TK_INLINE double tk_cos_libm(double x, tk_flag *bad) { return (cos)(x); }
TK_INLINE float tk_cosf(float x, tk_flag *bad) { return cosf(x); }
TK_INLINE double tk_tan_libm(double x, tk_flag *bad) { return (tan)(x); }
TK_INLINE float tk_tanf(float x, tk_flag *bad) { return tanf(x); }
#define tk_sin tk_sin_libm
#define tk_cos tk_cos_libm
#define tk_tan tk_tan_libm
#endif

#define TK_SLOW(name, x) _Generic((x), float: name##f, TK_HALF(name##f) float _Complex: c##name##f, \
    double _Complex: c##name, default: name)(x)
#define tk_slow_sin(x) TK_SLOW(sin, x)
#define tk_slow_cos(x) TK_SLOW(cos, x)
#define tk_slow_tan(x) TK_SLOW(tan, x)
#define TK_GUARDED(f32, f64, x) _Generic((x), float: f32, TK_HALF(f32) default: f64)(x, &tk_bad)
#define sin(x) TK_GUARDED(tk_sinf, tk_sin, x)
#define cos(x) TK_GUARDED(tk_cosf, tk_cos, x)
#define tan(x) TK_GUARDED(tk_tanf, tk_tan, x)
#endif
