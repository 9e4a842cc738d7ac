/* Powers of integers, which wrap; a negative power is 0, but for 1 and -1. */
#pragma once
#include "tk_core.h"

#define TK_POWER(T, NEGATIVE)                                                                  \
    TK_INLINE npy_##T tk_power_##T(npy_##T x, npy_##T n)                                       \
    {                                                                                          \
        npy_uint64 r = 1, b = (npy_uint64)x, k;                                                \
        if (NEGATIVE) return x == 1 ? 1 : x == -1 ? (n & 1 ? -1 : 1) : 0;                      \
        for (k = (npy_uint64)n; k; k >>= 1, b *= b)                                            \
            if (k & 1) r *= b;                                                                 \
        return (npy_##T)r;                                                                     \
    }
TK_POWER(int8, n < 0)
TK_POWER(int16, n < 0)
TK_POWER(int32, n < 0)
TK_POWER(int64, n < 0)
TK_POWER(uint8, 0)
TK_POWER(uint16, 0)
TK_POWER(uint32, 0)
TK_POWER(uint64, 0)
