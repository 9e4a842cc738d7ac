/* What the processor that this runs on can do: a variant of a function for it has the attribute, and is called where the test says so. */
#pragma once

#if defined(__x86_64__) && defined(__GNUC__)
#define THN_AVX2 __attribute__((target("avx2,fma"), optimize("fp-contract=fast")))
#define THN_AVX512 __attribute__((target("avx512f,avx2,fma"), optimize("fp-contract=fast")))
#define THN_WIDE THN_AVX2 /* of variants in plain C, which compile for any processor */

static inline int thn_has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static inline int thn_has_avx512(void)
{
    return __builtin_cpu_supports("avx512f");
}
#else
#define THN_WIDE
static inline int thn_has_avx2(void)
{
    return 0;
}
#endif
