/* Gamma and Bessel functions: libm's, in scalar code. */
#pragma once
#include "tk_core.h"

double tgamma(double), lgamma(double), j0(double), j1(double);
float tgammaf(float), lgammaf(float);

#define tgamma(x) TK_REAL1(tgammaf, tgamma, x)
#define lgamma(x) TK_REAL1(lgammaf, lgamma, x)
#define gammaln(x) lgamma(x)
