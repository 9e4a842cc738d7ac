/* Gradients of maxima, whole planes at a time: an element takes what all windows give it in one go, and is written once.
 *
 * Along rows windows are one apart, or two apart and two or three long; across rows they may be anything. Every second element of
 * two vectors is taken in an order that is cheap within their halves, then put in its place, or of pairs maxima and gradients in
 * the same order. What is added, and in which order, is what the loops over rows of pooling.h do. */
#include "pooling.h"
#include "shuffle.h"

#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include <immintrin.h>
#define HAVE_AVX2 1

/* Windows along a row, and those rows of them that cover the row that is made. */
typedef struct {
    ThnPoolAxis across;
    npy_intp rows;
    const char *maxima[THN_POOLING_ROWS], *g[THN_POOLING_ROWS];
} Rows;

/* Bytes of the elements of a plane, at most, that is made column by column. */
#define COLUMN_BYTES 4096
#define LOOPS "pooling_planes_loops.h"
#define ISA avx2
#define VECTOR 32
#define TARGET __attribute__((target("avx2")))
#include "for_floats.h"
#endif

ThnPoolPlaneLoop thn_pool_plane(int typenum, const ThnPoolAxis *down, const ThnPoolAxis *across, npy_intp planes)
{
    const npy_intp most = (npy_intp)1 << 28;
    if (across->n > most || across->w > 64 || planes * ((down->w + down->s - 1) / down->s) > THN_POOLING_ROWS) {
        return NULL;
    }
#ifdef HAVE_AVX2
    if (__builtin_cpu_supports("avx2")) {
        return typenum == NPY_FLOAT ? loop_for_avx2_float(down, across, planes) : typenum == NPY_DOUBLE ? loop_for_avx2_double(down, across, planes) : NULL;
    }
#endif
    (void)typenum;
    return NULL;
}
