/* See tk_as_double.h. No include guard. */
#undef TK_T
#undef TK_R
#undef TK_S
#undef TK_B
#undef TK_LIMITS
#define TK_T float
#define TK_R(x) x##f
#define TK_S(x) x##_f32
#define TK_B(x) __builtin_##x##f
#define TK_LIMITS(of_double, of_float) of_float
