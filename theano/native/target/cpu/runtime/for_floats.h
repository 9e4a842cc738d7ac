/* Includes LOOPS for float and for double on one kind of processor: T, BITS and UBITS (integers of its ITEM bytes), LANES of VECTOR
 * bytes if such are given, and NAME(x), which is x_ISA_float and x_ISA_double. TARGET, the attribute of functions, ISA and VECTOR are gone
 * afterwards; what LOOPS defines alike each time may stay. No include guard. */
#define GLUED(x, isa, type) x##_##isa##_##type
#define GLUE(x, isa, type) GLUED(x, isa, type)
#define NAME(x) GLUE(x, ISA, T)
#ifdef VECTOR
#define LANES (VECTOR / ITEM)
#endif
#define ITEM 4
#define T float
#define BITS int32_t
#define UBITS uint32_t
#include LOOPS
#undef T
#undef BITS
#undef UBITS
#undef ITEM
#define ITEM 8
#define T double
#define BITS int64_t
#define UBITS uint64_t
#include LOOPS
#undef T
#undef BITS
#undef UBITS
#undef ITEM
#undef NAME
#undef GLUE
#undef GLUED
#undef ISA
#undef LANES
#undef VECTOR
#undef TARGET
