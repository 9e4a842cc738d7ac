/* The functions of tk_compound.h for one type, see tk_as_double.h. No include guard. */

/* sigmoid(x) * (1 - sigmoid(x)) = e / (1 + e)^2; the rounding errors of the square are made good. */
TK_INLINE TK_T TK_S(tk_sigmoid_slope)(TK_T x)
{
    TK_T e = TK_R(tk_exp_exact)(-TK_B(fabs)(x)), d = 1 + e, dlo = e - (d - 1), q = d * d, r = 1 / q, y = e * r;
    return TK_R(tk_fma)(-y * r, TK_R(tk_fma)(d, d, -q) + 2 * d * dlo, y);
}
#if TK_HAS_FMA
/* log(1 + f) for -0.2929 < f < 0.4142 */
TK_INLINE TK_T TK_R(tk_log1p_near)(TK_T f)
{
    TK_T half = (TK_T)0.5 * f * f;
    return f - (half - TK_R(tk_log_tail)(f, half));
}
/* Near 0 log(cosh(a)), as cosh(a) - 1 = expm1(a)^2 / (2 exp(a)); log1p(exp(-2 a)) beyond. */
TK_INLINE TK_T TK_R(tk_log_cosh_parts)(TK_T a, int near)
{
    TK_T e = TK_R(tk_expm1)(near ? a : -2 * a);
    return TK_R(tk_log1p_near)(near ? e * e / (2 + 2 * e) : 1 + e);
}
/* log(1 - exp(x)): log(-expm1(x)) down to log(1 - sqrt(1/2)), log1p(-exp(x)) below. */
TK_INLINE TK_T TK_S(tk_log_1_minus_exp)(TK_T x)
{
    const TK_T least = TK_LIMITS(-750.0, -105.0f);
    TK_T c, s, r = TK_R(tk_expm1_parts)(x < least ? least : x, &c, &s);
    int far = x < (TK_T)-1.227;
    TK_T y = TK_R(tk_log_near)(far ? 1 : -TK_R(tk_expm1_of)(x, r, c, s), 0, -2 * TK_R(tk_fma)(s, r + c, s), far);
    y = x < 0 ? y : (TK_T)NAN;
    return x == 0 ? -(TK_T)TK_INF : y;
}
/* log(exp(x) - 1): log1p(2 expm1(x - log(2))) around log(2), where it is 0, x + log1p(-exp(-x)) from 1.23 on, else
 * log(expm1(x)). */
TK_INLINE TK_T TK_S(tk_log_expm1)(TK_T x)
{
    int middle = (x > (TK_T)0.54) & (x < (TK_T)0.88), large = x > (TK_T)1.23;
    TK_T e = TK_R(tk_expm1)(middle ? (x - TK_LIMITS(TK_LN2_HI, TK_LN2F_HI)) - TK_LIMITS(TK_LN2_LO, TK_LN2F_LO) : large ? -x : x);
    TK_T l = TK_R(tk_log_near)(middle | large ? 1 : e, 0, middle ? e + e : -1 - e, middle | large);
    TK_T y = large ? x + l : l;
    y = x >= 0 ? y : (TK_T)NAN;
    return x == 0 ? -(TK_T)TK_INF : y;
}
/* log(x / (1 - x)), as log1p((2 x - 1) / (1 - x)) around 1/2, where it is 0. */
TK_INLINE TK_T TK_S(tk_logit)(TK_T x)
{
    int near = (x > (TK_T)0.4143) & (x < (TK_T)0.5857);
    TK_T w = (near ? 2 * x - 1 : x) / (1 - x);
    TK_T y = TK_R(tk_log_near)(near ? 1 : w, 0, w, near);
    y = (x > 0) & (x < 1) ? y : (TK_T)NAN;
    y = x == 1 ? (TK_T)TK_INF : y;
    return x == 0 ? -(TK_T)TK_INF : y;
}
#endif
/* log(cosh(x)) */
TK_INLINE TK_T TK_S(tk_log_cosh)(TK_T x)
{
    TK_T a = TK_B(fabs)(x);
    int near = a < (TK_T)0.88;
    TK_T l = TK_R(tk_log_cosh_parts)(a, near);
    return near ? l : a + (l - TK_LIMITS(TK_LN2_F64, TK_LN2_F32));
}
/* log(1 - tanh(x)) = -x - log(cosh(x)) */
TK_INLINE TK_T TK_S(tk_log_1_minus_tanh)(TK_T x)
{
    TK_T a = TK_B(fabs)(x);
    int near = a < (TK_T)0.88;
    TK_T l = TK_R(tk_log_cosh_parts)(a, near);
    return near ? -x - l : (TK_LIMITS(TK_LN2_F64, TK_LN2_F32) - (x > 0 ? 2 * x : 0)) - l;
}
