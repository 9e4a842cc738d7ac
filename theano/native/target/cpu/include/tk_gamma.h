/* Gamma and Bessel functions: libm's, in scalar code. */
#ifndef TK_GAMMA_H
#define TK_GAMMA_H
#include "tk_core.h"

double tgamma(double), lgamma(double), j0(double), j1(double);
float tgammaf(float), lgammaf(float);

#define tgamma(x) TK_REAL1(tgammaf, tgamma, x)
#define lgamma(x) TK_REAL1(lgammaf, lgamma, x)
#define gammaln(x) lgamma(x)
#endif
