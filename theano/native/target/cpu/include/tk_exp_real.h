/* The functions of tk_exp.h that are written alike for both types, see tk_as_double.h. No include guard. */
#define TK_NEAREST TK_LIMITS(TK_MAGIC, TK_MAGICF)
#define TK_U TK_LIMITS(npy_uint64, npy_uint32)
#define TK_I TK_LIMITS(npy_int64, npy_int32)
#define TK_OF TK_LIMITS(tk_double, tk_float)
#define TK_LOG2 TK_LIMITS(1.4426950408889634074, 1.44269504f)

/* The integer nearest to x / ln(2), at most 1030 or 130: the limit is set on the bits, by one integer minimum. For a NaN it is
 * some number, for x far below 0 it is of no use: the callers take 0 there. */
TK_INLINE TK_T TK_R(tk_exp_multiple)(TK_T x)
{
    TK_I i = TK_R(tk_bits)(TK_R(tk_fma)(x, TK_LOG2, TK_NEAREST)), most = TK_R(tk_bits)(TK_NEAREST + TK_LIMITS(1030.0, 130.0f));
    return TK_OF(i < most ? i : most) - TK_NEAREST;
}
/* exp(r + rlo) for a small rlo, to little more than half an ulp. */
TK_INLINE TK_T TK_R(tk_exp_reduced)(TK_T r, TK_T rlo)
{
    TK_T t = TK_R(tk_exp_tail)(r), a = 1 + r;
    return a + (((1 - a) + r) + TK_R(tk_fma)(rlo, 1 + (r + t), t));
}
/* x less n ln(2) */
TK_INLINE TK_T TK_R(tk_less_ln2)(TK_T x, TK_T n)
{
    return TK_R(tk_fma)(-n, TK_LIMITS(TK_LN2_LO, TK_LN2F_LO), TK_R(tk_fma)(-n, TK_LIMITS(TK_LN2_HI, TK_LN2F_HI), x));
}
/* The halves of 2^n for an integer n, |n| < 2046 or 254: TK_T s, u with s u = 2^n. */
#define TK_TWO_HALVES(n)                                                                                                    \
    const TK_U bits = (TK_U)TK_R(tk_bits)(n + TK_LIMITS(TK_MAGIC + 2046.0, TK_MAGICF + 254.0f)), lower = bits >> 1;         \
    const TK_T s = TK_OF((TK_I)(lower << TK_LIMITS(52, 23))), u = TK_OF((TK_I)((bits - lower) << TK_LIMITS(52, 23)));
/* x * 2^n with one rounding. */
TK_INLINE TK_T TK_R(tk_scale)(TK_T x, TK_T n)
{
    TK_TWO_HALVES(n)
    return x * s * u;
}
/* (1 + x) * 2^n, the sum rounded. */
TK_INLINE TK_T TK_R(tk_scale_1p)(TK_T x, TK_T n)
{
    TK_TWO_HALVES(n)
    return TK_R(tk_fma)(x, s, s) * u;
}
TK_INLINE TK_T TK_R(tk_exp)(TK_T x)
{
    TK_T n = TK_R(tk_exp_multiple)(x), r = TK_R(tk_less_ln2)(x, n), y = TK_R(tk_scale_1p)(r + TK_R(tk_exp_tail)(r), n);
    return x < TK_LIMITS(-750.0, -105.0f) ? 0 : y;
}
/* exp(d + low) of a small low: the rounding error of d, which the exponential would make |d| times larger. */
TK_INLINE TK_T TK_S(tk_exp_two)(TK_T d, TK_T low)
{
    TK_T n = TK_R(tk_exp_multiple)(d), r = TK_R(tk_less_ln2)(d, n);
    TK_T t = TK_R(tk_exp_tail)(r), y = TK_R(tk_scale_1p)(r + TK_R(tk_fma)(low, 1 + (r + t), t), n);
    return d < TK_LIMITS(-750.0, -105.0f) ? 0 : y;
}
TK_INLINE TK_T TK_S(tk_exp_diff)(TK_T x, TK_T m)
{
    TK_T d = x - m, b = d - x;
    return TK_S(tk_exp_two)(d, (x - (d - b)) - (m + b));
}
/* exp(x - m) * TK_EXP_SCALE for x <= m: no result is subnormal, so that one factor scales it. */
TK_INLINE TK_T TK_S(tk_exp_diff_scaled)(TK_T x, TK_T m)
{
    TK_T d = x - m, b = d - x, low = (x - (d - b)) - (m + b), w = TK_R(tk_fma)(d, TK_LOG2, TK_NEAREST), n = w - TK_NEAREST;
    TK_T r = TK_R(tk_less_ln2)(d, n), t = TK_R(tk_exp_tail)(r);
    TK_T s = TK_R(tk_two_to)(w, TK_LIMITS(512, 64)), y = TK_R(tk_fma)(r + TK_R(tk_fma)(low, 1 + (r + t), t), s, s);
    return d < TK_LIMITS(-750.0, -105.0f) ? 0 : y;
}
TK_INLINE TK_T TK_S(tk_exp_minus_square)(TK_T x)
{
    TK_T d = -x * x;
    return TK_S(tk_exp_two)(d, TK_R(tk_fma)(-x, x, -d));
}
/* x exp(-x^2), scaled last: a subnormal exponential would have few digits. */
TK_INLINE TK_T TK_S(tk_x_exp_minus_square)(TK_T x)
{
    TK_T d = -x * x, low = TK_R(tk_fma)(-x, x, -d), n = TK_R(tk_exp_multiple)(d);
    TK_T y = TK_R(tk_scale)(x * TK_R(tk_exp_reduced)(TK_R(tk_less_ln2)(d, n), low), n);
    return d < TK_LIMITS(-755.0, -110.0f) ? TK_B(copysign)(0, x) : y;
}
/* exp(r) of a reduced r with an error of little more than half an ulp, */
TK_INLINE TK_T TK_R(tk_exp_1p)(TK_T r)
{
    TK_T a = 1 + r;
    return a + (((1 - a) + r) + TK_R(tk_exp_tail)(r));
}
/* exp so, for what is computed from it; */
TK_INLINE TK_T TK_R(tk_exp_exact)(TK_T x)
{
    TK_T n = TK_R(tk_exp_multiple)(x), y = TK_R(tk_scale)(TK_R(tk_exp_1p)(TK_R(tk_less_ln2)(x, n)), n);
    return x < TK_LIMITS(-750.0, -105.0f) ? 0 : y;
}
/* and exp(d) * TK_EXP_SCALE for d <= 0. */
TK_INLINE TK_T TK_R(tk_exp_down)(TK_T d)
{
    TK_T w = TK_R(tk_fma)(d, TK_LOG2, TK_NEAREST), r = TK_R(tk_less_ln2)(d, w - TK_NEAREST);
    TK_T y = TK_R(tk_exp_1p)(r) * TK_R(tk_two_to)(w, TK_LIMITS(512, 64));
    return d < TK_LIMITS(-750.0, -105.0f) ? 0 : y;
}
/* expm1(x) = (2^n - 1) + 2^n (exp(r) - 1); the reduced argument's rounding error is carried along. The result is
 * exp(r) - 1 as r + c, and s = 2^(n - 1). */
TK_INLINE TK_T TK_R(tk_expm1_parts)(TK_T x, TK_T *c, TK_T *s)
{
    const TK_T ln2 = TK_LIMITS(TK_LN2_HI, TK_LN2F_HI), ln2_low = TK_LIMITS(TK_LN2_LO, TK_LN2F_LO);
    TK_T n = TK_R(tk_fma)(x, TK_LOG2, TK_NEAREST) - TK_NEAREST;
    TK_T hi = TK_R(tk_fma)(-n, ln2, x), r = TK_R(tk_fma)(-n, ln2_low, hi), rlo = TK_R(tk_fma)(-n, ln2_low, hi - r);
    *c = TK_R(tk_fma)(r * r, TK_R(tk_expm1_poly)(r), TK_R(tk_fma)(rlo, r, rlo));
    *s = TK_R(tk_scale)((TK_T)0.5, n);
    return r;
}
/* The half of what is subnormal need not be a number. */
TK_INLINE TK_T TK_R(tk_expm1_of)(TK_T x, TK_T r, TK_T c, TK_T s)
{
    TK_T a = TK_R(tk_fma)(s, r, s - (TK_T)0.5), b = TK_R(tk_fma)(s, r, (s - (TK_T)0.5) - a);
    TK_T y = 2 * (a + TK_R(tk_fma)(s, c, b));
    y = x < TK_LIMITS(-60.0, -30.0f) ? -1 : y;
    y = x > TK_LIMITS(709.79, 88.73f) ? (TK_T)TK_INF : y;
    return TK_B(fabs)(x) < TK_LIMITS(0x1p-60, 0x1p-30f) ? x : y;
}
TK_INLINE TK_T TK_R(tk_expm1)(TK_T x)
{
    TK_T c, s, r = TK_R(tk_expm1_parts)(x, &c, &s);
    return TK_R(tk_expm1_of)(x, r, c, s);
}

#undef TK_NEAREST
#undef TK_LOG2
#undef TK_U
#undef TK_I
#undef TK_OF
#undef TK_TWO_HALVES
