/* Includes INDEXED for all types of values and indices of sparse matrices (see for_indices.h): T, SUFFIX, ACC, what sums are kept in,
 * and BITS, an unsigned integer that T consists of. Integers are taken by their size: sums and products are the same modulo its
 * power of two. No include guard. */
#define ACC uint64_t
#define T uint8_t
#define BITS T
#define SUFFIX _u1
#include "for_indices.h"
#undef SUFFIX
#define T uint16_t
#define SUFFIX _u2
#include "for_indices.h"
#undef SUFFIX
#define T uint32_t
#define SUFFIX _u4
#include "for_indices.h"
#undef SUFFIX
#define T uint64_t
#define SUFFIX _u8
#include "for_indices.h"
#undef SUFFIX
#undef BITS
#undef ACC
#define ACC double
#define BITS uint32_t
#define T float
#define SUFFIX _f4
#include "for_indices.h"
#undef SUFFIX
#undef BITS
#define BITS uint64_t
#define T double
#define SUFFIX _f8
#include "for_indices.h"
#undef SUFFIX
#undef ACC
#define ACC double complex
#define T float complex
#define SUFFIX _c8
#include "for_indices.h"
#undef SUFFIX
#define T double complex
#define SUFFIX _c16
#include "for_indices.h"
#undef SUFFIX
#undef BITS
#undef ACC

/* What OF(suffix) makes of each, by thn_sparse_type and whether indices are wide. */
#define FOR_VALUES(OF)                                                                                                  \
    {FOR_INDICES(OF, _u1), FOR_INDICES(OF, _u2), FOR_INDICES(OF, _u4), FOR_INDICES(OF, _u8),                   \
     FOR_INDICES(OF, _f4), FOR_INDICES(OF, _f8), FOR_INDICES(OF, _c8), FOR_INDICES(OF, _c16)}
