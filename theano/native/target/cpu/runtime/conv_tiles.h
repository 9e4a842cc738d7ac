/* What convolutions by products of packed matrices have in common. Included by their kernels, for each processor and type; see
 * variants.h. No include guard. */

#include "conv_rows.h"
#include "tiles.h"

/* Orders of two vectors: the lower and the upper halves, one element of each after the other, which transposes a square if done
 * as often as LANES can be halved; then the even elements of the first and the odd ones of the second. */
static const __typeof__((V){0} < (V){0}) NAME(orders)[3] = {
#if LANES == 2
    {0, 2}, {1, 3}, {0, 3},
#elif LANES == 4
    {0, 4, 1, 5}, {2, 6, 3, 7}, {0, 5, 2, 7},
#elif LANES == 8
    {0, 8, 1, 9, 2, 10, 3, 11}, {4, 12, 5, 13, 6, 14, 7, 15}, {0, 9, 2, 11, 4, 13, 6, 15},
#else
    {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23}, {8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31},
    {0, 17, 2, 19, 4, 21, 6, 23, 8, 25, 10, 27, 12, 29, 14, 31},
#endif
};
