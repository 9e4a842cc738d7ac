/* pow: log2(|x|) as a sum of two doubles (relative error below 2^-64), times y, then 2^ of the two parts; float32 by way
 * of double. The signs, zeros and infinities of C99 annex F by selections. cbrt is libm's. */
#pragma once
#include "tk_exp.h"
#include "tk_log.h"

double pow(double, double), cbrt(double);
float powf(float, float), cbrtf(float);
float _Complex cpowf(float _Complex, float _Complex);
double _Complex cpow(double _Complex, double _Complex);

#if TK_HAS_FMA
/* Everything but the size of the result. `size` = 2^(y log2|x|) where both are finite and |x| is not 0 or 1. */
TK_INLINE double tk_pow_special(double x, double y, double size)
{
    double a = __builtin_fabs(x), half = 0.5 * y;
    int whole = __builtin_rint(y) == y, odd = whole & (__builtin_rint(half) != half);
    int negative = tk_bits(x) < 0;
    double r = size;
    r = (a == 0) | (a == (double)TK_INF) ? ((a == 0) == (y > 0) ? 0.0 : (double)TK_INF) : r;
    r = __builtin_fabs(y) == (double)TK_INF ? ((a > 1) == (y > 0) ? (double)TK_INF : 0.0) : r;
    r = a == 1 ? 1.0 : r;
    r = negative & odd ? -r : r;
    r = negative & !whole & (a != 0) & (a != (double)TK_INF) ? (double)NAN : r;
    r = (x != x) | (y != y) ? (double)NAN : r;
    return (y == 0) | (x == 1) ? 1.0 : r;
}

TK_INLINE double tk_pow(double x, double y)
{
    double k, f = tk_split(__builtin_fabs(x), &k) - 1.0;
    double d = 2.0 + f, dlo = f - (d - 2.0), rd = 1.0 / d;
    double s = f * rd, slo = (tk_fma(-s, d, f) - s * dlo) * rd;
    double z = s * s, zlo = tk_fma(s, s, -z) + 2.0 * s * slo;
    double q = TK_H3(tk_fma, 0.13199251476016768, z, 0.13256512256406547, 0.15386770018505724, 0.18181784101711174);
    q = TK_H3(tk_fma, q, z, 0.22222222522834306, 0.28571428570083984, 0.4000000000000229);
    /* p = z (2/3 + z q) */
    double t = z * 0x1.5555555555555p-1, tlo = tk_fma(z, 0x1.5555555555555p-1, -t);
    tlo = tk_fma(z, 0x1.5555555555555p-55, tk_fma(zlo, 0x1.5555555555555p-1, tlo));
    double u = z * z * q, p = t + u, plo = ((t - p) + u) + tlo;
    /* log(m) = s (2 + p) */
    double sp = s * p, splo = tk_fma(s, p, -sp) + tk_fma(s, plo, slo * p);
    double l = 2.0 * s + sp, llo = ((2.0 * s - l) + sp) + tk_fma(2.0, slo, splo);
    double g = l * 0x1.71547652b82fep+0;
    double glo = tk_fma(l, 0x1.71547652b82fep+0, -g);
    glo = tk_fma(l, 0x1.777d0ffda0d24p-56, tk_fma(llo, 0x1.71547652b82fep+0, glo));
    double h = k + g, hlo = ((k - h) + g) + glo;
    double w = y * h, wlo = tk_fma(y, h, -w) + y * hlo;
    int out = !(__builtin_fabs(w) < 1200.0);
    wlo = out ? 0.0 : wlo;
    w = out ? (w > 0 ? 1200.0 : -1200.0) : w;
    return tk_pow_special(x, y, tk_exp2_dd(w, wlo));
}

TK_INLINE float tk_powf(float x, float y)
{
    double k, f = tk_split(__builtin_fabs((double)x), &k) - 1.0;
    double s = f / (2.0 + f), z = s * s;
    double p = TK_H3(tk_fma, 0.1961189474147715, z, 0.22174907995023055, 0.2857211823806308, 0.3999999582795093);
    p = tk_fma(p, z, 0.6666666667391636);
    double l = tk_fma(s * z, p, 2.0 * s);
    double w = (double)y * tk_fma(l, 0x1.71547652b82fep+0, k);
    w = w > 300.0 ? 300.0 : w;
    w = w < -300.0 ? -300.0 : w;
    double n = (w + TK_MAGIC) - TK_MAGIC;
    double r = (w - n) * TK_LN2_HI;
    double e = tk_double((tk_bits(n + TK_MAGIC) + 1023) << 52);
    return (float)tk_pow_special((double)x, (double)y, e * (1.0 + tk_exp_small(r)));
}
#endif

#define pow(x, y) _Generic((x) + (y), float: TK_OWN(powf), TK_HALF(TK_OWN(powf)) float _Complex: cpowf, double _Complex: cpow, \
    default: TK_OWN(pow))(x, y)
#define cbrt(x) TK_REAL1(cbrtf, cbrt, x)
