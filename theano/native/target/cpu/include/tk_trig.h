/* sin, cos, tan: Cody-Waite reduction by multiples of pi/2 in three parts (exact to about 2^-160 of the multiple) and
 * minimax polynomials, no branch. An argument beyond the reduction's range sets `tk_bad`; the loop around then computes
 * its block again with the scalar functions of libm (tk_slow_*), which reduce by Payne and Hanek's method. */
#pragma once
#include "tk_core.h"

double sin(double), cos(double), tan(double);
float sinf(float), cosf(float), tanf(float);
float _Complex csinf(float _Complex), ccosf(float _Complex), ctanf(float _Complex);
double _Complex csin(double _Complex), ccos(double _Complex), ctan(double _Complex);

#if TK_HAS_FMA
#include "tk_as_double.h"
#include "tk_trig_real.h"
#include "tk_as_float.h"
#include "tk_trig_real.h"
#endif

#define TK_SLOW(name, x) _Generic((x), float: name##f, TK_HALF(name##f) float _Complex: c##name##f, \
    double _Complex: c##name, default: name)(x)
#define tk_slow_sin(x) TK_SLOW(sin, x)
#define tk_slow_cos(x) TK_SLOW(cos, x)
#define tk_slow_tan(x) TK_SLOW(tan, x)
#if TK_HAS_FMA
#define TK_GUARDED(name, x) _Generic((x), float: tk_##name##f, TK_HALF(tk_##name##f) default: tk_##name)(x, &tk_bad)
#else
#define TK_GUARDED(name, x) ((void)tk_bad, TK_SLOW(name, x))
#endif
#define sin(x) TK_GUARDED(sin, x)
#define cos(x) TK_GUARDED(cos, x)
#define tan(x) TK_GUARDED(tan, x)
