/* Vectors of 32 bytes of elements of ITEM bytes: loads by a mask, and shuffles. Every second element of two vectors is cheapest in
 * the order of EVENS and ODDS, within halves of vectors; AS_READ gives elements the same, LOWER and UPPER put them back. No include
 * guard. */
#undef MASKLOAD
#undef IOTA
#undef EVENS
#undef ODDS
#undef AS_READ
#undef LOWER
#undef UPPER
#if ITEM == 8
#define MASKLOAD _mm256_maskload_pd
#define IOTA {0, 1, 2, 3}
#define EVENS {0, 4, 2, 6}
#define ODDS {1, 5, 3, 7}
#define AS_READ {0, 2, 1, 3}
#define LOWER {0, 4, 2, 6}
#define UPPER {1, 5, 3, 7}
#else
#define MASKLOAD _mm256_maskload_ps
#define IOTA {0, 1, 2, 3, 4, 5, 6, 7}
#define EVENS {0, 2, 8, 10, 4, 6, 12, 14}
#define ODDS {1, 3, 9, 11, 5, 7, 13, 15}
#define AS_READ {0, 1, 4, 5, 2, 3, 6, 7}
#define LOWER {0, 8, 1, 9, 4, 12, 5, 13}
#define UPPER {2, 10, 3, 11, 6, 14, 7, 15}
#endif
