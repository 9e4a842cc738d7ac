/* conv_winograd_kernels.h for both element types and both tiles of one instruction set: VECTOR bytes, TARGET, and ISA in the
 * names. */
#define GLUE4(x, isa, type, m) x##_##isa##_##type##_##m
#define GLUE(x, isa, type, m) GLUE4(x, isa, type, m)
#define NAME(x) GLUE(x, ISA, T, M)

#define T float
#define INDEX int
#define LANES (VECTOR / 4)
#define M 2
#include "conv_winograd_kernels.h"
#undef M
#define M 4
#include "conv_winograd_kernels.h"
#undef M
#undef T
#undef INDEX
#undef LANES

#define T double
#define INDEX long long
#define LANES (VECTOR / 8 < 4 ? 4 : VECTOR / 8)
#define M 2
#include "conv_winograd_kernels.h"
#undef M
#define M 4
#include "conv_winograd_kernels.h"
#undef M
#undef T
#undef INDEX
#undef LANES

#undef NAME
#undef GLUE
#undef GLUE4
#undef TARGET
#undef VECTOR
#undef ISA
