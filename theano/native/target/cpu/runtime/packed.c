/* Products with packed matrices.
 *
 * b is cut into panels of as many columns as some vector registers hold, and these into slabs of DEPTH rows, so that a slab
 * stays in the first-level cache while all rows of a pass it by. A tile of a few rows of the result is kept in registers
 * while one slab is added to it. */
#include "packed.h"
#include "copy.h"
#include "plan.h"
#include "pool.h"
#include "row_product.h"

#define DEPTH 256
#define MOST_COLUMNS 64
#define MOST_ROWS 8
#define PAGE 4096
#define SHALLOW 64
#define FIRST_CACHE 24000
#define LOW_ELEMENTS 1000000 /* of a matrix that is read as it lies */
#define NARROW 4e6 /* multiply-adds of a product that one or two panels pass by, where packing takes longer than they do */
#define LEAST_ROWS 4 /* of the other matrix; of a single one b is kept by rows */

struct ThnPacked {
    int typenum, width;          /* columns of a panel; 0: all of b, row by row */
    npy_intp rows, cols, panels;
    char *data;                  /* behind this in one block of the pool: slab by slab, in a slab panel by panel */
};

typedef struct {
    int rows, width; /* of a tile, whose columns are those of two vectors */
    /* `m` rows of a tile: sums over `depth` of a[i][k] * b[k][j], j in one vector or two. a is given by byte strides, of b and of the
     * sums, `out`, `br` and `or` are those of rows. */
    void (*tile)(int m, int vectors, npy_intp depth, const char *a, npy_intp ar, npy_intp ac, const char *b, npy_intp br, char *out,
                 npy_intp or);
} Kernels;

#define LOOPS "packed_kernels.h"
#define FOR_AVX2 THN_AVX2
#define FOR_AVX512 THN_AVX512
#include "variants.h"

/* NULL: of other types, and where a library is as good. */
static const Kernels *kernels_of(int typenum)
{
    THN_NULL_UNLESS(thn_has_avx2() && (typenum == NPY_FLOAT || typenum == NPY_DOUBLE));
    return VARIANT(kernels, typenum);
}

/* Room for a matrix, which `data` gets. */
static ThnPacked *pack(int typenum, npy_intp width, const ThnMatrix *b, npy_intp panels, npy_intp bytes, char **data)
{
    ThnPacked *p;
    THN_NULL_UNLESS(THN_POOL_PARTS({&p, sizeof *p}, {data, (size_t)bytes}));
    *p = (ThnPacked){typenum, (int)width, b->rows, b->cols, panels, *data};
    return p;
}

/* For a single row: a matrix whose columns lie together, turned. */
static ThnPacked *turn(int typenum, const ThnMatrix *b)
{
    const npy_intp item = typenum == NPY_FLOAT ? 4 : 8, dims[2] = {b->rows, b->cols}, from[2] = {b->row_stride, b->col_stride};
    const npy_intp to[2] = {b->cols * item, item};
    THN_NULL_UNLESS(thn_takes_row_product(typenum, b) && b->row_stride == item && b->col_stride != item);
    char *data;
    ThnPacked *p = pack(typenum, 0, b, 1, b->rows * b->cols * item, &data);
    THN_NULL_UNLESS(p);
    thn_copy_strided(2, dims, data, to, b->data, from, (int)item);
    return p;
}

ThnPacked *thn_pack(int typenum, const ThnMatrix *b, npy_intp rows)
{
    if (rows == 1) {
        return turn(typenum, b);
    }
    const Kernels *k = kernels_of(typenum);
    THN_NULL_UNLESS(k && rows >= LEAST_ROWS && b->rows >= 16 && b->cols >= k->width);
    const npy_intp item = typenum == NPY_FLOAT ? 4 : 8, panels = (b->cols + k->width - 1) / k->width;
    const ThnInner copy = thn_copy_inner((int)item);
    char *data;
    ThnPacked *p = pack(typenum, k->width, b, panels, panels * k->width * b->rows * item, &data);
    THN_NULL_UNLESS(p);
    for (npy_intp slab = 0; slab < b->rows; slab += DEPTH) {
        const npy_intp end = slab + DEPTH < b->rows ? slab + DEPTH : b->rows;
        for (npy_intp panel = 0; panel < panels; panel++) {
            const npy_intp first = panel * k->width;
            const npy_intp n = b->cols - first < k->width ? b->cols - first : k->width;
            for (npy_intp i = slab; i < end; i++, data += k->width * item) {
                const char *row = b->data + i * b->row_stride + first * b->col_stride;
                copy(n, data, item, row, b->col_stride);
                memset(data + n * item, 0, (size_t)((k->width - n) * item));
            }
        }
    }
    return p;
}

/* A product whose tasks take panels of b, which is packed, or lies as it is where `packed` is NULL. */
typedef struct {
    const ThnPacked *packed;
    const ThnMatrix *a, *b, *z, *c;
    double alpha, beta;
    const Kernels *k;
    npy_intp item, depth, cols, panels;
} Product;

/* Columns [skip, skip + n) of a tile of m rows: c = alpha * tile + beta * z, at a row and column of c and z. */
typedef struct {
    const double *tile;
    const ThnMatrix *c, *z;
    npy_intp row, first, n;
    int m, width, skip;
    double alpha, beta;
} Put;

#define PUT(T)                                                                                                      \
    THN_PUT_ROW(T)                                                                                                  \
    static void put_##T(const Put *p)                                                                               \
    {                                                                                                               \
        const ThnMatrix *c = p->c, *z = p->z;                                                                       \
        for (int i = 0; i < p->m; i++) {                                                                            \
            char *to = c->data + (p->row + i) * c->row_stride + p->first * c->col_stride;                           \
            const char *from = z ? z->data + (p->row + i) * z->row_stride + p->first * z->col_stride : NULL;        \
            const T *t = (const T *)p->tile + i * p->width + p->skip;                                               \
            put_row_##T(p->n, (T)p->alpha, t, (T)p->beta, from, z ? z->col_stride : 0, to, c->col_stride);          \
        }                                                                                                           \
    }
PUT(float)
PUT(double)

/* Adds a slab of a panel, all rows of a, to the result. */
static void multiply_panel(const Product *p, npy_intp slab, npy_intp panel)
{
    double tile[MOST_ROWS * MOST_COLUMNS] __attribute__((aligned(64)));
    const npy_intp depth = p->depth - slab < DEPTH ? p->depth - slab : DEPTH, width = p->k->width, first = panel * width;
    const npy_intp left = p->cols - first, n = left < width ? left : width;
    const int vectors = n > width / 2 ? 2 : 1;
    const npy_intp made = vectors * width / 2; /* columns, n of which are wanted */
    /* Nothing behind the last column of a matrix is read: its last panel begins earlier. */
    const npy_intp skip = p->packed ? 0 : made - n, step = p->packed ? width * p->item : p->b->row_stride;
    const char *b = p->packed ? p->packed->data + (slab * p->panels + panel * depth) * step
                              : p->b->data + slab * step + (first - skip) * p->item;
    Put put = {.tile = tile, .c = p->c, .z = slab ? p->c : p->z, .first = first, .n = n, .width = (int)made, .skip = (int)skip,
               .alpha = p->alpha, .beta = slab ? 1.0 : p->beta};
    const int at_once = !put.z && p->alpha == 1.0 && n == made && p->c->col_stride == p->item;
    for (; put.row < p->a->rows; put.row += p->k->rows) {
        put.m = (int)(p->a->rows - put.row < p->k->rows ? p->a->rows - put.row : p->k->rows);
        const char *a = p->a->data + put.row * p->a->row_stride + slab * p->a->col_stride;
        char *out = at_once ? p->c->data + put.row * p->c->row_stride + first * p->item : (char *)tile;
        p->k->tile(put.m, vectors, depth, a, p->a->row_stride, p->a->col_stride, b, step, out,
                   at_once ? p->c->row_stride : made * p->item);
        if (!at_once) {
            (p->item == 4 ? put_float : put_double)(&put);
        }
    }
}

static int multiply_panels(void *ctx, npy_intp p0, npy_intp p1)
{
    const Product *p = ctx;
    for (npy_intp slab = 0; slab < p->depth; slab += DEPTH) {
        for (npy_intp panel = p0; panel < p1; panel++) {
            multiply_panel(p, slab, panel);
        }
    }
    return 0;
}

static void run_product(Product p, int typenum, const void *alpha, const void *beta)
{
    p.item = typenum == NPY_FLOAT ? 4 : 8;
    p.panels = (p.cols + p.k->width - 1) / p.k->width;
    p.alpha = thn_number(typenum, alpha, 1.0);
    p.beta = thn_number(typenum, beta, 0.0);
    if (p.beta == 0.0) {
        p.z = NULL;
    }
    const double work = (double)p.a->rows * (double)p.cols * (double)p.depth * (p.item == 4 ? 0.02 : 0.04);
    npy_intp tasks = thn_worth(work, p.panels);
    if (tasks > 1) {
        /* As many for each of two or four threads. */
        tasks = (tasks + 3) / 4 * 4;
    }
    thn_parallel_ranges(p.panels, (p.panels + tasks - 1) / tasks, multiply_panels, &p);
}

int thn_low_product(int typenum, const ThnMatrix *a, const ThnMatrix *b, const ThnMatrix *c, const void *alpha, const void *beta)
{
    const Kernels *k = kernels_of(typenum);
    const npy_intp item = typenum == NPY_FLOAT ? 4 : 8;
    if (!k || b->cols < k->width || b->col_stride != item || b->rows * b->cols > LOW_ELEMENTS) {
        return 0;
    }
    /* Rows a page apart share the same few lines of the first cache: fine as long as each is read once. */
    const int spread = b->row_stride % PAGE != 0, most = (spread ? 2 : 1) * k->rows, panels = a->col_stride == item ? 2 : 1;
    const int small = b->rows <= SHALLOW && (a->rows + b->cols) * b->rows * item < FIRST_CACHE;
    const int narrow = spread && b->cols <= panels * k->width && (double)a->rows * (double)b->rows * (double)b->cols < NARROW;
    if (a->rows > most && !small && !narrow) {
        return 0;
    }
    run_product((Product){.a = a, .b = b, .z = c, .c = c, .k = k, .depth = b->rows, .cols = b->cols}, typenum, alpha, beta);
    return 1;
}

int thn_packed_rows(const ThnPacked *b, ThnMatrix *m)
{
    const npy_intp item = b->typenum == NPY_FLOAT ? 4 : 8;
    if (b->width) {
        return 0;
    }
    *m = (ThnMatrix){b->data, b->rows, b->cols, b->cols * item, item};
    return 1;
}

void thn_packed_multiply(const ThnPacked *b, const ThnMatrix *a, const ThnMatrix *z, const ThnMatrix *c, const void *alpha,
                         const void *beta)
{
    ThnMatrix turned;
    if (thn_packed_rows(b, &turned)) {
        thn_row_product(b->typenum, a->data, a->col_stride, &turned, z->data, z->col_stride, c->data, c->col_stride, alpha, beta);
        return;
    }
    run_product((Product){.packed = b, .a = a, .z = z, .c = c, .k = kernels_of(b->typenum), .depth = b->rows, .cols = b->cols},
                b->typenum, alpha, beta);
}
