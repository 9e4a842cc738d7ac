/* The functions of tk_hyper.h that are written alike for both types, see tk_as_double.h. No include guard. */

#if TK_HAS_FMA
/* 1 / (1 + exp(-x)), with e = exp(-|x|): e / (1 + e) below 0, else 1 / (1 + e). Both are scaled by a power of two, so that e is no
 * subnormal number; the quotient is made good for the rounding of 1 + e. */
TK_INLINE TK_T TK_S(tk_sigmoid)(TK_T x)
{
    const TK_T magic = TK_LIMITS(TK_MAGIC, TK_MAGICF), one = TK_LIMITS(0x1p512, 0x1p64f);
    TK_T a = -TK_B(fabs)(x), t = TK_R(tk_fma)(a, TK_LIMITS(1.4426950408889634074, 1.44269504f), magic), n = t - magic;
    TK_T r = TK_R(tk_fma)(-n, TK_LIMITS(TK_LN2_LO, -2.12194440e-4f), TK_R(tk_fma)(-n, TK_LIMITS(TK_LN2_HI, 0.693359375f), a));
    TK_T s = TK_R(tk_two_to)(t, TK_LIMITS(512, 64)), e = TK_R(tk_fma)(TK_R(tk_sigmoid_small)(r), s, s);
    e = a < TK_LIMITS(-750.0, -105.0f) ? 0 : e;
    TK_T d = one + e, dlo = e - (d - one), q = (x < 0 ? e : one) / d;
    return TK_R(tk_fma)(-q, dlo / d, q);
}
#else
/* 1 / (1 + exp(-x)), also where exp(-x) overflows. */
TK_INLINE TK_T TK_S(tk_sigmoid)(TK_T x)
{
    TK_T e = TK_R(tk_exp_exact)(-TK_B(fabs)(x)), d = 1 + e, dlo = e - (d - 1);
    TK_T q = (x < 0 ? e : 1) / d;
    return TK_R(tk_fma)(-q * dlo, x < 0 ? 1 - q : q, q);
}
/* log(1 + exp(x)) */
TK_INLINE TK_T TK_S(tk_softplus)(TK_T x)
{
    return (x < 0 ? 0 : x) + log1p(TK_R(tk_exp_exact)(-TK_B(fabs)(x)));
}
#endif
