/* Includes LOOPS, the kernels of products and convolutions, for each kind of processor and type, see for_floats.h. FOR_AVX2 and FOR_AVX512, if
 * given, are the attributes of functions there, HAS_AVX512 says whether a processor has what they need. VARIANT(x, typenum) is the
 * address of what NAME(x) is on the processor that this runs on. */
#include "processor.h"
#pragma GCC optimize("align-loops=64") /* a loop over three cache lines where two hold it takes up to a tenth longer on Zen 3 */
#define ISA any
#define VECTOR 16
#define TARGET
#include "for_floats.h"
#define OF_TYPE(x, typenum) ((typenum) == NPY_FLOAT ? &x##_float : &x##_double)
#if defined(__x86_64__) && defined(__GNUC__)
#ifndef FOR_AVX2
#define FOR_AVX2 __attribute__((target("avx2,fma")))
#define FOR_AVX512 __attribute__((target("avx512f,fma")))
#endif
#ifndef HAS_AVX512
#define HAS_AVX512 thn_has_avx512()
#endif
#define ISA avx2
#define VECTOR 32
#define TARGET FOR_AVX2
#include "for_floats.h"
#define ISA avx512
#define VECTOR 64
#define TARGET FOR_AVX512
#include "for_floats.h"
#define VARIANT(x, typenum)                                                                                                \
    (HAS_AVX512         ? OF_TYPE(x##_avx512, typenum)                                                                     \
     : thn_has_avx2()   ? OF_TYPE(x##_avx2, typenum)                                                                       \
                        : OF_TYPE(x##_any, typenum))
#else
#define VARIANT(x, typenum) OF_TYPE(x##_any, typenum)
#endif
