/* The functions of tk_trig.h that are written alike for both types, see tk_as_double.h. No include guard. */

/* r + rlo = x - k pi/2 with |r| <= pi/4; returns k modulo 2^51 or 2^22. */
TK_INLINE TK_LIMITS(npy_int64, npy_int32) TK_R(tk_reduce)(TK_T x, TK_T *r, TK_T *rlo, tk_flag *bad)
{
    const TK_T magic = TK_LIMITS(0x1.8p52, 0x1.8p23f), p2 = TK_LIMITS(0x1.1a62633145c07p-54, -0x1.777a5cp-25f);
    TK_T a = TK_B(fabs)(x);
    *bad |= (a > TK_LIMITS(0x1p40, 0x1p16f)) & (a < (TK_T)TK_INF);
    TK_T t = TK_R(tk_fma)(x, TK_LIMITS(0x1.45f306dc9c883p-1, 0x1.45f306p-1f), magic), k = t - magic;
    TK_T h = TK_R(tk_fma)(-k, TK_LIMITS(0x1.921fb54442d18p+0, 0x1.921fb6p+0f), x);
    /* h - k p2 as an exact sum of two: near a multiple of pi/2 the leading parts cancel. */
    TK_T w = k * p2, wlo = TK_R(tk_fma)(k, p2, -w);
    TK_T d = h - w, v = d - h;
    *r = d;
    *rlo = TK_R(tk_fma)(-k, TK_LIMITS(-0x1.f1976b7ed8fbcp-110, -0x1.ee59dap-50f), ((h - (d - v)) - (w + v)) - wlo);
    return TK_R(tk_bits)(t);
}
TK_INLINE TK_T TK_R(tk_sin_poly)(TK_T r, TK_T rlo)
{
    TK_T z = r * r;
    TK_T p = TK_LIMITS(TK_H2(tk_fma, 1.5891457192140213e-10, z, -2.505067954359484e-08, 2.7557313313449685e-06), 2.71756358e-06f);
    p = TK_H3(TK_R(tk_fma), p, z, TK_LIMITS(-0.00019841269829234034, -0.000198392561f), TK_LIMITS(0.008333333333322663, 0.00833332911f),
              TK_LIMITS(-0.16666666666666638, -0.166666672f));
    return r + TK_R(tk_fma)(r * z, p, rlo * TK_R(tk_fma)(z, (TK_T)-0.5, 1));
}
TK_INLINE TK_T TK_R(tk_cos_poly)(TK_T r, TK_T rlo)
{
    TK_T z = r * r, p = TK_LIMITS(TK_H3(tk_fma, TK_H2(tk_fma, -1.1365946290639974e-11, z, 2.0875863309135774e-09, -2.7557315526882754e-07),
                                        z, 2.4801587294058422e-05, -0.0013888888888882213, 0.04166666666666665),
                                  TK_H2(tk_fmaf, 2.44570947e-05f, z, -0.0013887604f, 0.041666653f));
    TK_T h = (TK_T)0.5 * z, w = 1 - h;
    return w + (((1 - w) - h) + TK_R(tk_fma)(z * z, p, -(r * rlo)));
}
/* y with its sign changed if bit 1 of q is set. */
TK_INLINE TK_T TK_R(tk_turned)(TK_T y, TK_LIMITS(npy_int64, npy_int32) q)
{
    return TK_LIMITS(tk_double(tk_bits(y) ^ (npy_int64)((npy_uint64)(q & 2) << 62)),
                     tk_float(tk_bitsf(y) ^ (npy_int32)((npy_uint32)(q & 2) << 30)));
}
TK_INLINE TK_T TK_R(tk_sin)(TK_T x, tk_flag *bad)
{
    TK_T r, rlo;
    TK_LIMITS(npy_int64, npy_int32) q = TK_R(tk_reduce)(x, &r, &rlo, bad);
    TK_T y = q & 1 ? TK_R(tk_cos_poly)(r, rlo) : TK_R(tk_sin_poly)(r, rlo);
    y = TK_R(tk_turned)(y, q);
    return x == 0 ? x : y;
}
TK_INLINE TK_T TK_R(tk_cos)(TK_T x, tk_flag *bad)
{
    TK_T r, rlo;
    TK_LIMITS(npy_int64, npy_int32) q = TK_R(tk_reduce)(x, &r, &rlo, bad) + 1;
    return TK_R(tk_turned)(q & 1 ? TK_R(tk_cos_poly)(r, rlo) : TK_R(tk_sin_poly)(r, rlo), q);
}
TK_INLINE TK_T TK_R(tk_tan)(TK_T x, tk_flag *bad)
{
    TK_T r, rlo;
    TK_LIMITS(npy_int64, npy_int32) q = TK_R(tk_reduce)(x, &r, &rlo, bad);
    TK_T s = TK_R(tk_sin_poly)(r, rlo), c = TK_R(tk_cos_poly)(r, rlo);
    TK_T y = (q & 1 ? -c : s) / (q & 1 ? s : c);
    return x == 0 ? x : y;
}
