/* The functions of tk_trig.h that are written alike for both types, see tk_as_double.h. No include guard. */

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
