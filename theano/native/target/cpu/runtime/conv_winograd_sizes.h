/* conv_winograd_kernels.h for both tiles of one element type and instruction set, see for_floats.h; names TILED(x) have the tile's
 * length M. */
#define TILED(x) TILED_OF(x, M)
#define TILED_OF(x, m) TILED_AS(x, m)
#define TILED_AS(x, m) NAME(x##_##m)
#if LANES < 4
#undef LANES
#define LANES 4
#endif
#include "conv_rows.h"
#define M 2
#include "conv_winograd_kernels.h"
#undef M
#define M 4
#include "conv_winograd_kernels.h"
#undef M

/* The products are those of the larger tile. */
static const ThnWinogradKernels NAME(kernels)[2] = {
    {2, 2 * LANES, NAME(copy_rows), TILED_OF(image, 2), TILED_OF(filter, 2), NULL, TILED_OF(result, 2), NULL, TILED_OF(multiply, 4)},
    {4, 2 * LANES, NAME(copy_rows), TILED_OF(image, 4), TILED_OF(filter, 4), TILED_OF(top, 4), TILED_OF(result, 4), TILED_OF(taps, 4),
     TILED_OF(multiply, 4)},
};

#undef TILED
#undef TILED_OF
#undef TILED_AS
