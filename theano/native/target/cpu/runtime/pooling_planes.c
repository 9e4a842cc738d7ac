/* Gradients of maxima, whole planes at a time: an element takes what all windows give it in one go, and is written once.
 *
 * Along rows windows are one apart, or two apart and two or three long; across rows they may be anything. Every second element of
 * two vectors is taken in an order that is cheap within their halves, then put in its place, or of pairs maxima and gradients in
 * the same order. What is added, and in which order, is what the loops over rows of pooling.h do. */
#include "pooling.h"

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
#define TARGET __attribute__((target("avx2")))
#define T float
#define INDEX int
#define LANES 8
#define LOAD_IF(p, mask) ((V)_mm256_maskload_ps((p), (__m256i)(mask)))
#define IOTA {0, 1, 2, 3, 4, 5, 6, 7}
#define EVENS {0, 2, 8, 10, 4, 6, 12, 14}
#define ODDS {1, 3, 9, 11, 5, 7, 13, 15}
#define AS_READ {0, 1, 4, 5, 2, 3, 6, 7}
#define LOWER {0, 8, 1, 9, 4, 12, 5, 13}
#define UPPER {2, 10, 3, 11, 6, 14, 7, 15}
#define NAME(x) f4_##x
#include "pooling_planes_loops.h"
#define T double
#define INDEX long long
#define LANES 4
#define LOAD_IF(p, mask) ((V)_mm256_maskload_pd((p), (__m256i)(mask)))
#define IOTA {0, 1, 2, 3}
#define EVENS {0, 4, 2, 6}
#define ODDS {1, 5, 3, 7}
#define AS_READ {0, 2, 1, 3}
#define LOWER {0, 4, 2, 6}
#define UPPER {1, 5, 3, 7}
#define NAME(x) f8_##x
#include "pooling_planes_loops.h"
#endif

ThnPoolPlaneLoop thn_pool_plane(int typenum, const ThnPoolAxis *down, const ThnPoolAxis *across, npy_intp planes)
{
    const npy_intp most = (npy_intp)1 << 28;
    if (across->n > most || across->w > 64 || planes * ((down->w + down->s - 1) / down->s) > THN_POOLING_ROWS) {
        return NULL;
    }
#ifdef HAVE_AVX2
    if (__builtin_cpu_supports("avx2")) {
        return typenum == NPY_FLOAT ? f4_loop_for(down, across, planes) : typenum == NPY_DOUBLE ? f8_loop_for(down, across, planes) : NULL;
    }
#endif
    (void)typenum;
    return NULL;
}
