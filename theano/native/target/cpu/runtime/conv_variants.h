/* Includes KERNELS once for each kind of processor and each type, with the macros that conv_gather_kernels.h describes, and
 * offers VARIANT(x, typenum): the address of what NAME(x) is on the processor that this runs on. */
#include "processor.h"

#if defined(__GNUC__) && !defined(__clang__)
#define HAVE_SHUFFLE 1
#endif

typedef float F4 __attribute__((vector_size(16)));
typedef float F4U __attribute__((vector_size(16), aligned(4)));
typedef double D2 __attribute__((vector_size(16)));
typedef double D2U __attribute__((vector_size(16), aligned(8)));

#define TARGET
#define T float
#define V F4
#define VU F4U
#define LANES 4
#define MR 4
#define NAME(x) x##_f4_128
#include KERNELS
#define T double
#define V D2
#define VU D2U
#define LANES 2
#define MR 4
#define NAME(x) x##_f8_128
#include KERNELS
#undef TARGET

#if defined(__x86_64__) && defined(__GNUC__)
#define HAVE_WIDE 1
typedef float F8 __attribute__((vector_size(32)));
typedef float F8U __attribute__((vector_size(32), aligned(4)));
typedef double D4 __attribute__((vector_size(32)));
typedef double D4U __attribute__((vector_size(32), aligned(8)));
typedef float F16 __attribute__((vector_size(64)));
typedef float F16U __attribute__((vector_size(64), aligned(4)));
typedef double D8 __attribute__((vector_size(64)));
typedef double D8U __attribute__((vector_size(64), aligned(8)));

#define TARGET __attribute__((target("avx2,fma")))
#define T float
#define V F8
#define VU F8U
#define LANES 8
#define MR 4
#define NAME(x) x##_f4_256
#include KERNELS
#define T double
#define V D4
#define VU D4U
#define LANES 4
#define MR 4
#define NAME(x) x##_f8_256
#include KERNELS
#undef TARGET

#define TARGET __attribute__((target("avx512f,fma")))
#define T float
#define V F16
#define VU F16U
#define LANES 16
#define MR 8
#define NAME(x) x##_f4_512
#include KERNELS
#define T double
#define V D8
#define VU D8U
#define LANES 8
#define MR 8
#define NAME(x) x##_f8_512
#include KERNELS
#undef TARGET
#endif

#ifdef HAVE_WIDE
#define VARIANT(x, typenum)                                                                                                \
    (__builtin_cpu_supports("avx512f")                                                                                     \
         ? ((typenum) == NPY_FLOAT ? &x##_f4_512 : &x##_f8_512)                                                            \
     : thn_has_avx2()                                                                                                  \
         ? ((typenum) == NPY_FLOAT ? &x##_f4_256 : &x##_f8_256)                                                            \
         : ((typenum) == NPY_FLOAT ? &x##_f4_128 : &x##_f8_128))
#else
#define VARIANT(x, typenum) ((typenum) == NPY_FLOAT ? &x##_f4_128 : &x##_f8_128)
#endif
