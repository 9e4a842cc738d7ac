/* The functions of tk_log.h that are written alike for both types, see tk_as_double.h. No include guard. */

/* log at zero, negative numbers, infinity, NaN; else y. */
TK_INLINE TK_T TK_R(tk_log_special)(TK_T x, TK_T y)
{
    y = x < (TK_T)TK_INF ? y : x;
    y = x < 0 ? (TK_T)NAN : y;
    return x == 0 ? -(TK_T)TK_INF : y;
}
/* log(x) * (hi + lo) + k * unit, with log(m) taken as a sum of two numbers. */
TK_INLINE TK_T TK_R(tk_log_base)(TK_T x, TK_T hi, TK_T lo, TK_T unit, TK_T unit_lo)
{
    TK_T k, f = TK_R(tk_split)(x, &k) - 1, hfsq = (TK_T)0.5 * f * f;
    TK_T t = TK_R(tk_log_tail)(f, hfsq);
    TK_T a = f - hfsq, b = (f - a) - hfsq;
    b -= TK_R(tk_fma)((TK_T)0.5 * f, f, -hfsq);
    TK_T c = b + t, h = a + c, l = (a - h) + c;
    TK_T ph = h * hi, pl = TK_R(tk_fma)(h, hi, -ph) + TK_R(tk_fma)(h, lo, l * hi);
    TK_T kh = k * unit, s = kh + ph, e = (kh - s) + ph;
    pl += TK_R(tk_fma)(k, unit_lo, TK_R(tk_fma)(k, unit, -kh)) + e;
    return TK_R(tk_log_special)(x, s + pl);
}
/* log(v) + c; log(1 + f) with f instead where v is near 1. */
TK_INLINE TK_T TK_R(tk_log_near)(TK_T v, TK_T c, TK_T f, int near)
{
    TK_T k, m = TK_R(tk_split)(v, &k);
    f = near ? f : m - 1;
    k = near ? 0 : k;
    c = near ? 0 : c;
    TK_T hfsq = (TK_T)0.5 * f * f, t = TK_R(tk_log_tail)(f, hfsq);
    TK_T low = t + TK_R(tk_fma)(k, TK_LIMITS(TK_LOG_LN2_LO, 0x1.0bfbe8p-15f), c);
    return TK_R(tk_fma)(k, TK_LIMITS(TK_LOG_LN2_HI, 0x1.62ep-1f), f - (hfsq - low));
}
/* log1p(x): log of u = 1 + x with the rounding error of u as a correction c; near 0, f = x itself. */
TK_INLINE TK_T TK_R(tk_log1p)(TK_T x)
{
    TK_T u = 1 + x, v = u > 0 ? u : 1;
    TK_T c = (x > 1 ? 1 - (u - x) : x - (u - 1)) / v;
    TK_T y = TK_R(tk_log_near)(v, v > TK_LIMITS(0x1p60, 0x1p30f) ? 0 : c, x, (x > (TK_T)-0.29289) & (x < (TK_T)0.41421));
    y = x < (TK_T)TK_INF ? y : x;
    y = x < -1 ? (TK_T)NAN : y;
    y = x == -1 ? -(TK_T)TK_INF : y;
    return x == 0 ? x : y;
}
