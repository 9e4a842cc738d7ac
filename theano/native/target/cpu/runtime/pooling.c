/* The variants of the loops of pooling. */
#include "pooling.h"

#include <math.h>

/* The first choice is one instruction, the second hardly ever taken. */
#define LARGER_FLOAT(a, b) ((b) != (b) ? (b) : (b) > (a) ? (b) : (a))
#define LARGER_INT(a, b) ((b) > (a) ? (b) : (a))

#define T float
#define NAME(x) f4_##x
#define TARGET
#define MASK int32_t
#define FIRST {0, 0, 1, 1, 2, 2, 3, 3}
#define SECOND {4, 4, 5, 5, 6, 6, 7, 7}
#define LEAST (-INFINITY)
#define LARGER LARGER_FLOAT
#include "pooling_loops.h"

#define T double
#define NAME(x) f8_##x
#define TARGET
#define MASK int64_t
#define FIRST {0, 0, 1, 1}
#define SECOND {2, 2, 3, 3}
#define LEAST (-INFINITY)
#define LARGER LARGER_FLOAT
#include "pooling_loops.h"

#define T int64_t
#define NAME(x) i8_##x
#define TARGET
#define MASK int64_t
#define FIRST {0, 0, 1, 1}
#define SECOND {2, 2, 3, 3}
#define LEAST INT64_MIN
#define LARGER LARGER_INT
#include "pooling_loops.h"

#define T uint64_t
#define NAME(x) u8_##x
#define TARGET
#define MASK int64_t
#define FIRST {0, 0, 1, 1}
#define SECOND {2, 2, 3, 3}
#define LEAST 0
#define LARGER LARGER_INT
#include "pooling_loops.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define HAVE_AVX2 1

#define T float
#define NAME(x) f4_avx2_##x
#define TARGET __attribute__((target("avx2")))
#define MASK int32_t
#define FIRST {0, 0, 1, 1, 2, 2, 3, 3}
#define SECOND {4, 4, 5, 5, 6, 6, 7, 7}
#define LEAST (-INFINITY)
#define LARGER LARGER_FLOAT
#include "pooling_loops.h"

#define T double
#define NAME(x) f8_avx2_##x
#define TARGET __attribute__((target("avx2")))
#define MASK int64_t
#define FIRST {0, 0, 1, 1}
#define SECOND {2, 2, 3, 3}
#define LEAST (-INFINITY)
#define LARGER LARGER_FLOAT
#include "pooling_loops.h"
#endif

const ThnPooling *thn_pooling(int typenum)
{
#ifdef HAVE_AVX2
    if (__builtin_cpu_supports("avx2")) {
        if (typenum == NPY_FLOAT) {
            return &f4_avx2_loops;
        }
        if (typenum == NPY_DOUBLE) {
            return &f8_avx2_loops;
        }
    }
#endif
    return typenum == NPY_FLOAT    ? &f4_loops
           : typenum == NPY_DOUBLE ? &f8_loops
           : typenum == NPY_UINT64  ? &u8_loops
                                   : &i8_loops;
}
