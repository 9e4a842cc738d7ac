/* Includes INDEXED for both types of indices, INDEX and UINDEX, of sparse matrices of one type T of values: names FN(x) end in
 * SUFFIX and _i4 or _i8. T is gone afterwards. No include guard. */
#define JOINED(x, suffix, end) x##suffix##end
#define JOIN(x, suffix, end) JOINED(x, suffix, end)
#define INDEX int32_t
#define UINDEX uint32_t
#define FN(x) JOIN(x, SUFFIX, _i4)
#include INDEXED
#undef INDEX
#undef UINDEX
#undef FN
#define INDEX int64_t
#define UINDEX uint64_t
#define FN(x) JOIN(x, SUFFIX, _i8)
#include INDEXED
#undef INDEX
#undef UINDEX
#undef FN
#undef JOIN
#undef JOINED
#undef T

/* What OF(end of names) makes of both. */
#define FOR_INDICES(OF, suffix) {OF(suffix##_i4), OF(suffix##_i8)}
