/* Vectors of picked elements: THN_SHUFFLE(a, b, at) of two, numbered through, THN_PERMUTE(a, at) of one. `at` is a vector of integers of
 * the elements' size. GCC has a function for it; Clang, which is also what ziglang brings, makes one instruction of the loop. */
#pragma once

#if defined(__clang__)
#define THN_SHUFFLE(a, b, ...)                                                                  \
    ({                                                                                          \
        __typeof__((a) + (a)) thn_a = (a), thn_b = (b), thn_r;                                  \
        __typeof__((__VA_ARGS__) + 0) thn_at = (__VA_ARGS__);                                   \
        enum { thn_n = sizeof thn_r / sizeof thn_r[0] };                                        \
        _Pragma("clang loop unroll(full)") for (int thn_i = 0; thn_i < thn_n; thn_i++) {        \
            const int thn_k = (int)thn_at[thn_i] & (2 * thn_n - 1);                             \
            thn_r[thn_i] = thn_k < thn_n ? thn_a[thn_k] : thn_b[thn_k - thn_n];                 \
        }                                                                                       \
        thn_r;                                                                                  \
    })
#define THN_PERMUTE(a, ...) THN_SHUFFLE(a, a, __VA_ARGS__)
#else
#define THN_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, __VA_ARGS__)
#define THN_PERMUTE(a, ...) __builtin_shuffle(a, __VA_ARGS__)
#endif
