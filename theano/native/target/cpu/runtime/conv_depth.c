/* Depthwise convolutions: filters of one channel, 3x3 or 5x5, with strides of 1 or 2, straight from the images.
 *
 * Several rows of a result are made at a time, so that each row of the image is read once for all of its rows that it is for, and
 * vectors of positions stay in registers while all taps pass. Where a row of the image lies outside of it a row of zeros is read;
 * at both ends of rows loads leave out what lies outside. Of rows with a stride every second element is picked in registers.
 *
 * Of gradients of images with a stride of 2 each second position of a row meets the same taps, and two vectors are interleaved.
 * Gradients of filters keep a vector for each tap, which is added up in double precision after some rows. Each number is summed in
 * one order, however rows and planes are dealt out. */
#include "conv.h"
#include "copy.h"
#include "shuffle.h"
#include "plan.h"
#include "pool.h"
#include "processor.h"

#define MOST_ROWS 4
#define MOST_TAPS 5
#define MOST_READ (MOST_ROWS + MOST_TAPS - 1)
#define MOST_LOADS 6
#define MOST_NARROW 4 /* vectors of a row */
/* Products that are added up in the precision of operands, at most, about. */
#define PARTIAL 256
/* Bytes of neighbouring planes whose filters' gradients are made together. */
#define NEAR 131072
/* Filters whose gradients are made together of one image: no plane is read again, and the sums stay near. */
#define ALONE 16
/* Bytes by which narrow planes are fetched before they are read. */
#define AHEAD 2048
/* Bytes of all planes up to which that is of no use to gradients of filters: they are in the cache. */
#define IN_CACHE ((npy_intp)16 << 20)
#define MOST_LENGTH ((npy_intp)1 << 28)

/* Positions from x on for which something is to be left out: what the loads may read, all bits of it or none. */
#define TOP_MASK MOST_LOADS
typedef struct {
    npy_intp x;
    char masks[MOST_LOADS + 1][32];
} Edge;

/* What all rows have in common. A load for position x begins at x * stride - low, for `spread` at x + low. */
typedef struct {
    npy_intp low, count;      /* elements made */
    npy_intp first, end;      /* x of whole vectors; edges before and after them */
    npy_intp before, after;
    Edge *edges;
    npy_intp above, height;   /* padding of the plane that is read, and its rows */
    npy_intp in_row, out_row; /* bytes from row to row; for gradients of filters those of top are `out` */
    const char *zeros;        /* a row that is read above and below */
} Row;

/* For rows first .. last - 1 of a plane: makes those of `other` with the weights `numbers`, or reads them, and adds to the vectors
 * of partial sums `numbers`, one for each tap. */
typedef void (*Loop)(const Row *s, const char *plane, char *other, void *numbers, npy_intp first, npy_intp last);

typedef struct {
    Loop strips[2][2];        /* by stride; several rows at a time, one */
    Loop spread[2];           /* whether the first position of a row meets odd taps */
    Loop dots[2][3];          /* by stride; one row at a time, two, four */
    Loop narrow;
} Loops;

/* The loads of `narrow_dots`: by masks, or plain, of planes that are near or far. */
enum { MASKED, NEAR_BY, FAR };

typedef struct {
    int lanes;
    Loops of[2];              /* 3 taps, 5 */
    Loop narrow_dots[3];      /* of 3 taps, by loads */
    void (*gather_sums)(int taps, void *partial, double *sums);
} Kernels;

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include <immintrin.h>
#define HAVE_AVX2 1
#define LOOPS "conv_depth_kernels.h"
#define ISA avx2
#define VECTOR 32
#define TARGET THN_AVX2
#include "for_floats.h"
#endif

/* NULL: where vectors are shorter `direct` is as good. */
static const Kernels *kernels(int typenum)
{
#ifdef HAVE_AVX2
    if (thn_has_avx2()) {
        return typenum == NPY_DOUBLE ? &kernels_avx2_double : &kernels_avx2_float;
    }
#endif
    (void)typenum;
    return NULL;
}

/* Planes that begin between two places. */
typedef struct {
    const char *first, *last;
} Planes;

typedef struct {
    const ThnConv *c;
    const Kernels *k;
    const Loops *loops;
    int taps, stride, spread;
    int rows;                      /* made at a time */
    npy_intp vectors, most;        /* of a row; rows of which partial sums are made */
    /* Planes read and made; for gradients of filters those of images and top. */
    const char *in;
    char *out;
    char *filters;                 /* one behind the other; NULL: each is gathered where it is needed */
    npy_intp in_length[2], out_length[2], low[2];
    npy_intp in_strides[2], out_strides[2]; /* image, channel or filter */
    npy_intp parts, part;          /* of a plane; rows in each */
    Planes plain[2];               /* of images and of top: those of which plain loads can be made */
    int far;                       /* planes are to be fetched before they are read */
    int narrow;                    /* each row is few vectors, all of which are edges */
    Row row;
} Job;

/* ---- rows */

static void mask(Edge *e, int k, int lane, int item, int set)
{
    memset(e->masks[k] + lane * item, set ? 0xff : 0, (size_t)item);
}

/* What is left out for the positions from x on. */
static void describe_edge(const Job *j, Edge *e, npy_intp x)
{
    const int lanes = j->k->lanes, item = j->c->item;
    const npy_intp n = j->in_length[1], count = j->out_length[1];
    e->x = x;
    for (int lane = 0; lane < lanes; lane++) {
        mask(e, TOP_MASK, lane, item, x + lane < count);
        for (int k = 0; k < MOST_LOADS; k++) {
            npy_intp at = x + k - j->row.low + lane, position = x + lane;
            if (j->spread) {
                at = x + j->row.low - k + lane;
                position = x;
            } else if (j->stride == 2) {
                at = 2 * x + k / 2 * 2 - j->row.low + k % 2 * lanes + lane;
                position = x + (k % 2 * lanes + lane) / 2;
            }
            mask(e, k, lane, item, at >= 0 && at < n && position < count);
        }
    }
}

/* Cuts a row into vectors. -1: out of memory. */
static int cut_row(Job *j)
{
    const npy_intp lanes = j->k->lanes, n = j->in_length[1], half = (j->taps - 1) / 2;
    const int overlap = j->c->direction != THN_CONV_WEIGHTS;
    Row *s = &j->row;
    s->count = j->out_length[1];
    s->low = j->low[1];
    npy_intp count = s->count, low = s->low, end;
    if (j->spread) {
        s->low = (low + 1) / 2;
        count = (count + 1) / 2;
        /* from x + low - half >= 0 on, up to x + low + lanes <= n */
        low = half - s->low;
        end = thn_least(n - s->low, s->count / 2);
    } else if (j->stride == 2) {
        end = thn_least((n - 2 * half + low) / 2, count);
        low = (low + 1) / 2;
    } else {
        end = thn_least(n - j->taps + 1 + low, count);
    }
    low = thn_most(low, 0);
    s->before = (low + lanes - 1) / lanes;
    s->first = s->before * lanes;
    s->end = s->first + thn_most(end - s->first, 0) / lanes * lanes;
    if (s->before * lanes >= count) {
        s->before = (count + lanes - 1) / lanes;
        s->first = s->end = count;
    }
    s->after = s->end < count ? (count - s->end + lanes - 1) / lanes : 0;
    s->edges = thn_pool_alloc(sizeof(Edge) * (size_t)(s->before + s->after + 1));
    THN_NEED(s->edges);
    for (npy_intp i = 0; i < s->before + s->after; i++) {
        npy_intp x = i < s->before ? i * lanes : s->end + (i - s->before) * lanes;
        /* The last ones may be made twice. */
        if (overlap && x + lanes > count && count >= lanes) {
            x = count - lanes;
        }
        describe_edge(j, &s->edges[i], x);
    }
    /* Whole vectors may be written over what the next row begins with. */
    j->narrow = !j->spread && j->stride == 1 && count > 0 && s->first == s->end && s->before + s->after <= MOST_NARROW &&
                (overlap ? count >= lanes || s->out_row == count * j->c->item : j->taps == 3);
    return 0;
}

/* ---- forward, and gradients with respect to images */

static void sums(const Job *j, const char *from, char *to, char *weights, npy_intp first, npy_intp last)
{
    const Loop make = j->narrow ? j->loops->narrow
                      : j->spread ? j->loops->spread[j->low[1] & 1] : j->loops->strips[j->stride - 1][last - first < j->rows];
    make(&j->row, from, to, weights, first, last);
}

static inline void copy_taps(int n, npy_intp item, const char *from, npy_intp down, npy_intp across, char *to)
{
    for (int y = 0; y < n; y++) {
        for (int x = 0; x < n; x++) {
            thn_copy_real(item, to + (y * n + x) * item, from + y * down + x * across);
        }
    }
}

/* The group, and so the plane of an image, of filter f; most have one filter. */
static inline npy_intp group_of(const ThnConv *c, npy_intp f)
{
    return c->filters == 1 ? f : f / c->filters;
}

/* The taps of filter f, one behind the other. */
static char *gather(const Job *j, npy_intp f, char *taps)
{
    const ThnConv *c = j->c;
    const npy_intp *s = c->filter_strides, g = group_of(c, f);
    const char *from = c->at.filters + g * s[5] + (f - g * c->filters) * s[0];
    if (j->taps == 3 && c->item == 4) {
        copy_taps(3, 4, from, s[3], s[4], taps);
    } else {
        copy_taps(j->taps, c->item, from, s[3], s[4], taps);
    }
    return taps;
}

/* Parts of planes. */
static int sum_some(void *ctx, npy_intp unit, npy_intp end)
{
    const Job *j = ctx;
    const ThnConv *c = j->c;
    double taps[MOST_TAPS * MOST_TAPS];
    const npy_intp planes = c->groups * c->filters;
    npy_intp p = unit % j->parts, f = unit / j->parts % planes, image = unit / j->parts / planes;
    for (; unit < end; unit++) {
        sums(j, j->in + image * j->in_strides[0] + group_of(c, f) * j->in_strides[1], j->out + image * j->out_strides[0] + f * j->out_strides[1],
             j->filters ? j->filters + f * j->taps * j->taps * c->item : gather(j, f, (char *)taps), p * j->part,
             thn_least((p + 1) * j->part, j->out_length[0]));
        if (++p == j->parts) {
            p = 0;
            if (++f == planes) {
                f = 0;
                image++;
            }
        }
    }
    return 0;
}

/* ---- gradients with respect to filters */

typedef struct {
    char *partial;                 /* a vector for each tap */
    double *sums;
    npy_intp added;
} Filter;

#define VECTOR_BYTES 32

/* Of an array of `planes` an image those that may be read so many elements before and behind each row without leaving the array: all
 * planes have rows alike, so what lies between the first and the last one of them is of the array, whatever the strides. */
static Planes plain_planes(const ThnConv *c, const char *array, npy_intp planes, const npy_intp strides[2], npy_intp before,
                           npy_intp behind)
{
    const npy_intp steps[] = {(c->batch - 1) * strides[0], (planes - 1) * strides[1]};
    const char *first = array, *last = array;
    for (int i = 0; i < 2; i++) {
        *(steps[i] < 0 ? &first : &last) += steps[i];
    }
    return (Planes){first + thn_most(before, 0) * c->item, last - thn_most(behind, 0) * c->item};
}

static inline int is_plain(const Planes *p, const char *plane)
{
    return plane >= p->first && plane <= p->last;
}

static void added(const Job *j, Filter *s, npy_intp vectors)
{
    s->added += vectors;
    if (s->added >= PARTIAL) {
        j->k->gather_sums(j->taps * j->taps, s->partial, s->sums);
        s->added = 0;
    }
}

static void add_plane(const Job *j, const char *from, char *with, Filter *s)
{
    const npy_intp each = j->vectors, most = j->most, rows = j->rows, all = j->out_length[0];
    if (j->narrow && all <= most && all >= 2) {
        const int plain = is_plain(&j->plain[0], from) && is_plain(&j->plain[1], with);
        j->k->narrow_dots[!plain ? MASKED : j->far ? FAR : NEAR_BY](&j->row, from, with, s->partial, 0, all);
        added(j, s, all * each);
        return;
    }
    for (npy_intp y = 0; y < all;) {
        const npy_intp left = thn_least(all - y, most), some = left < rows ? 1 + (left > 1) : rows, n = left / some * some;
        j->loops->dots[j->stride - 1][some / 2](&j->row, from, with, s->partial, y, y + n);
        y += n;
        added(j, s, n * each);
    }
}

/* Neighbouring filters of all groups: all images, one after the other. */
static int filters_some(void *ctx, npy_intp first, npy_intp end)
{
    const Job *j = ctx;
    const ThnConv *c = j->c;
    const npy_intp taps = (npy_intp)j->taps * j->taps, count = end - first;
    const size_t bytes = (size_t)(count * taps) * (VECTOR_BYTES + sizeof(double));
    THN_POOLED char *partial = thn_pool_alloc(bytes + sizeof(Filter) * (size_t)count);
    THN_NEED(partial);
    memset(partial, 0, bytes);
    double *sums = (double *)(partial + count * taps * VECTOR_BYTES);
    Filter *all = (Filter *)(partial + bytes);
    for (npy_intp i = 0; i < count; i++) {
        all[i] = (Filter){partial + i * taps * VECTOR_BYTES, sums + i * taps, 0};
    }
    for (npy_intp image = 0; image < c->batch; image++) {
        for (npy_intp i = 0; i < count; i++) {
            const npy_intp f = first + i;
            add_plane(j, j->in + image * j->in_strides[0] + group_of(c, f) * j->in_strides[1],
                      j->out + image * j->out_strides[0] + f * j->out_strides[1], &all[i]);
        }
    }
    for (npy_intp i = 0; i < count; i++) {
        j->k->gather_sums(j->taps * j->taps, all[i].partial, all[i].sums);
        char *filter = c->at.filters + (first + i) / c->filters * c->filter_strides[5] + (first + i) % c->filters * c->filter_strides[0];
        for (int k = 0; k < j->taps * j->taps; k++) {
            thn_put_real(c->item, filter + k / j->taps * c->filter_strides[3] + k % j->taps * c->filter_strides[4], all[i].sums[k]);
        }
    }
    return 0;
}

static void describe(Job *j, const ThnConv *c)
{
    const int spread = c->direction == THN_CONV_INPUTS;
    const npy_intp *from = spread ? c->top_strides : c->image_strides, *to = spread ? c->image_strides : c->top_strides;
    *j = (Job){.c = c, .k = kernels(c->typenum), .spread = spread, .in = spread ? c->at.top : c->at.images,
               .out = spread ? c->at.images : c->at.top, .taps = (int)c->kernel[1], .stride = (int)c->stride[1]};
    j->loops = &j->k->of[j->taps == 5];
    j->rows = j->stride == 1 ? MOST_ROWS : 2;
    for (int i = 0; i < 2; i++) {
        j->in_length[i] = spread ? c->top[1 + i] : c->image[1 + i];
        j->out_length[i] = spread ? c->image[1 + i] : c->top[1 + i];
        j->low[i] = c->low[1 + i];
        j->in_strides[i] = from[i];
        j->out_strides[i] = to[i];
    }
    j->row.height = j->in_length[0];
    j->row.above = j->low[0];
    j->row.in_row = from[3];
    j->row.out_row = to[3];
    j->vectors = (j->out_length[1] + j->k->lanes - 1) / j->k->lanes;
    j->most = thn_most(PARTIAL / thn_most(j->vectors, 1) / j->rows, 1) * j->rows;
    j->parts = 1;
    j->part = j->out_length[0];
}

static int depth_execute(const ThnConv *c, double cost)
{
    Job j;
    describe(&j, c);
    const size_t row = (size_t)(j.in_length[1] * c->item);
    THN_POOLED char *zeros = thn_pool_alloc(row);
    THN_NEED(zeros);
    THN_TRY(cut_row(&j));
    THN_POOLED Edge *edges = j.row.edges;
    memset(zeros, 0, row);
    j.row.zeros = zeros;
    const npy_intp filters = c->groups * c->filters;
    if (c->direction == THN_CONV_WEIGHTS) {
        const npy_intp plane = j.in_length[0] * j.row.in_row + j.out_length[0] * j.row.out_row;
        if (j.narrow) {
            const npy_intp end = j.row.edges[j.row.before + j.row.after - 1].x + j.k->lanes, low = j.low[1];
            j.plain[0] = plain_planes(c, j.in, c->groups, j.in_strides, low, end + j.taps - 1 - low - j.in_length[1]);
            j.plain[1] = plain_planes(c, j.out, filters, j.out_strides, 0, end - j.out_length[1]);
            j.far = c->batch * filters * thn_most(plane, -plane) > IN_CACHE;
        }
        const npy_intp near = c->batch == 1 ? ALONE : NEAR / thn_most(plane, 1);
        const npy_intp together = thn_least(near, filters / thn_most(1, thn_worth(cost, filters)));
        return thn_parallel_ranges(filters, thn_most(1, together), filters_some, &j);
    }
    const npy_intp *s = c->filter_strides, dims[] = {c->groups, c->filters, j.taps, j.taps}, from[] = {s[5], s[0], s[3], s[4]};
    npy_intp to[4], units = filters * c->batch;
    const size_t bytes = (size_t)thn_dense_strides(4, dims, c->item, to);
    const int dense = memcmp(from, to, sizeof to) == 0, gathered = !dense && c->batch > 1;
    THN_POOLED char *taps = gathered ? thn_pool_alloc(bytes) : NULL;
    THN_NEED(!gathered || taps);
    j.filters = dense ? c->at.filters : taps;
    for (npy_intp f = 0; gathered && f < filters; f++) {
        gather(&j, f, taps + f * to[1]);
    }
    const npy_intp wanted = thn_worth(cost, units * ((j.part + j.rows - 1) / j.rows));
    if (units < wanted) {
        const npy_intp parts = (wanted + units - 1) / units;
        j.part = ((j.part + parts - 1) / parts + j.rows - 1) / j.rows * j.rows;
        j.parts = (j.out_length[0] + j.part - 1) / j.part;
        units *= j.parts;
    }
    return thn_parallel_ranges(units, (units + wanted - 1) / wanted, sum_some, &j);
}

static double depth_cost(const ThnConv *c)
{
    const npy_intp taps = c->kernel[1], stride = c->stride[1];
    THN_NEED(kernels(c->typenum) && thn_conv_is_flat(c) && thn_conv_has_rows(c) && c->channels == 1);
    THN_NEED((taps == 3 || taps == 5) && c->kernel[2] == taps && c->dilation[1] == 1 && c->dilation[2] == 1);
    THN_NEED(stride <= 2 && c->stride[2] == stride && (c->direction != THN_CONV_INPUTS || (c->filters == 1 && stride == 2)));
    for (int i = 1; i < THN_CONV_DIMS; i++) {
        THN_NEED(c->image[i] <= MOST_LENGTH && c->top[i] <= MOST_LENGTH && c->low[i] <= MOST_LENGTH && c->low[i] >= 0);
    }
    /* Each vector of positions that is an edge takes memory. */
    THN_NEED(c->low[2] <= 4096 && c->top[2] - c->image[2] <= 4096);
    const double rows = (double)(c->batch * c->groups * c->filters * c->top[1]), vectors = (double)((c->top[2] * c->item + 31) / 32);
    return rows * (4 + vectors * ((double)(taps * taps) * 0.2 + 1 + 2 * (double)stride)) + 1000;
}

const ThnConvAlgorithm thn_conv_depth = {"depth", 0, 0, depth_cost, depth_execute};
