/* The variants of the loops of pooling. */
#include "pooling.h"
#include "shuffle.h"

#include <math.h>
#include <string.h>

#define ITEM 8
#define BITS int64_t
#define TARGET
#define T int64_t
#define NAME(x) x##_i8
#define LEAST INT64_MIN
#include "pooling_loops.h"
#undef T
#undef NAME
#define T uint64_t
#define NAME(x) x##_u8
#define LEAST 0
#include "pooling_loops.h"
#undef T
#undef NAME
#undef TARGET
#undef BITS
#undef ITEM

#define LOOPS "pooling_loops.h"
#define ISA any
#define TARGET
#include "for_floats.h"
#if defined(__x86_64__) && defined(__GNUC__)
#define HAVE_AVX2 1
#define ISA avx2
#define TARGET __attribute__((target("avx2")))
#include "for_floats.h"
#endif

const ThnPooling *thn_pooling(int typenum)
{
#ifdef HAVE_AVX2
    if (__builtin_cpu_supports("avx2") && (typenum == NPY_FLOAT || typenum == NPY_DOUBLE)) {
        return typenum == NPY_FLOAT ? &loops_avx2_float : &loops_avx2_double;
    }
#endif
    return typenum == NPY_FLOAT    ? &loops_any_float
           : typenum == NPY_DOUBLE ? &loops_any_double
           : typenum == NPY_UINT64 ? &loops_u8
                                   : &loops_i8;
}
