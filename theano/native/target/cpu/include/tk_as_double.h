/* What a header that is included for both types makes its functions of: here for double, in tk_as_float.h for float. TK_T is the
 * type, TK_R(x) and TK_S(x) the names of its functions, as exp and expf, or x_f64 and x_f32. No include guard. */
#undef TK_T
#undef TK_R
#undef TK_S
#undef TK_B
#undef TK_LIMITS
#define TK_T double
#define TK_R(x) x
#define TK_S(x) x##_f64
#define TK_B(x) __builtin_##x
#define TK_LIMITS(of_double, of_float) of_double
