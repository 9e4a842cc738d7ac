/* Small triangular systems by substitution, in vectors: the library's routines take several times as long for them. */
#pragma once

#include "lapack.h"

/* The largest triangle. */
#define THN_SMALL 64

/* b = a^-1 b, where a is unit lower. 0: not done, because of the type, the size or the machine. */
int thn_small_left(int letter, ThnDense a, ThnDense b);
/* b = b op(a)^-1. 0: not done. */
int thn_small_right(int letter, char uplo, char trans, char diag, ThnDense a, ThnDense b);
