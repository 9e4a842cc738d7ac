/* Plans and runs launches of generated kernels; see launch.h for what kernels are.
 *
 * A plan holds, for the outer and the inner iteration dims apart, the dims that remain after dims of length 1 are dropped,
 * dims are sorted by stride and neighbours that are one run in memory are merged. What runs then depends on the strides
 * along the innermost dim: the kernel directly on the arrays, or block by block through buffers. Work is cut into tasks by
 * sizes alone, and partial reductions are combined in a fixed order, so that results do not depend on the number of threads. */
#include "launch.h"
#include "threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER 1024               /* elements of a block of an elementwise kernel that goes through buffers */
#define ROWS 256                  /* rows whose reductions are finished together */
#define PIECE 4096                /* elements that a strided row is gathered by */
#define CHUNK 16384               /* elements of a row that are reduced as one */
#define TASK_WORK 25000.0         /* ns of work worth a task */
#define PARALLEL_WORK 60000.0     /* ns of work below which nothing is split */
#define ACC_BYTES (THN_LANES * 16)

enum { RUN_NOTHING, RUN_ELEM, RUN_ELEM_BUFFERED, RUN_ROWS, RUN_REDUCE, RUN_COLUMNS };

typedef struct Dims {
    int n;
    thn_intp *shape;
    thn_intp *strides; /* strides[op * cap + dim] */
    int cap;
} Dims;

struct ThnPlan {
    const ThnKernel *k;
    int mode;
    int buffered;      /* some operand goes through a buffer */
    int flat;          /* buffered elementwise: two innermost dims may be taken as one */
    double work;
    thn_intp rows;     /* product of the outer dims */
    thn_intp inner;    /* product of the inner dims */
    Dims outer, in;
    char **ptr;
    unsigned char *through; /* operand goes through a buffer */
};

static inline int n_ops(const ThnKernel *k) { return k->nin + k->nout; }

static inline int itemsize_of(const ThnKernel *k, int op)
{
    return op < k->nin ? k->in[op].itemsize : k->out[op - k->nin].itemsize;
}

size_t thn_plan_size(const ThnKernel *k)
{
    const size_t ops = (size_t)n_ops(k), nd = (size_t)(k->n_outer + k->n_inner) + 2;
    return sizeof(ThnPlan) + ops * sizeof(char *) + 2 * nd * sizeof(thn_intp) + 2 * ops * nd * sizeof(thn_intp) + ops + 16;
}

int thn_kernel_shape(const ThnKernel *k, const ThnArg *in, thn_intp *shape, char *err, size_t errlen)
{
    const int nd = k->n_outer + k->n_inner;
    for (int d = 0; d < nd; d++) {
        int first = -1;
        shape[d] = 1;
        for (int i = 0; i < k->nin; i++) {
            const ThnKernelIn *op = &k->in[i];
            if (op->bcast >> d & 1) {
                continue;
            }
            const thn_intp n = in[i].dims[op->axes[d]];
            if (first < 0) {
                first = i;
                shape[d] = n;
            }
            else if (n != shape[d]) {
                snprintf(err, errlen, "Input dimension mis-match. (input[%d].shape[%d] = %lld, input[%d].shape[%d] = %lld)",
                         first, (int)k->in[first].axes[d], (long long)shape[d], i, (int)op->axes[d], (long long)n);
                return -1;
            }
        }
    }
    if (k->nonempty) {
        for (int d = k->n_outer; d < nd; d++) {
            if (shape[d] == 0) {
                snprintf(err, errlen, "zero-size array to a reduction operation which has no identity");
                return -1;
            }
        }
    }
    return 0;
}

void thn_kernel_out_dims(const ThnKernel *k, int o, const thn_intp *shape, thn_intp *dims)
{
    const ThnKernelOut *out = &k->out[o];
    for (int a = 0; a < out->rank; a++) {
        dims[a] = out->dims[a] < 0 ? 1 : shape[out->dims[a]];
    }
}

static inline thn_intp magnitude(thn_intp x) { return x < 0 ? -x : x; }

/* Stride of operand `i` (an input) along iteration dim d. */
static inline thn_intp in_stride(const ThnKernel *k, int i, int d, const ThnArg *in)
{
    const ThnKernelIn *op = &k->in[i];
    return op->bcast >> d & 1 ? 0 : in[i].strides[op->axes[d]];
}

int thn_kernel_out_order(const ThnKernel *k, int o, const ThnArg *in, const thn_intp *shape, thn_intp *strides)
{
    const ThnKernelOut *out = &k->out[o];
    int axes[THN_KMAXDIM], changed = 0;
    if (out->rank < 2 || k->n_inner) {
        return 0;
    }
    for (int a = 0; a < out->rank; a++) {
        axes[a] = a;
    }
    /* Insertion sort of the axes; an operand that is strided along both decides, the first such operand wins. */
    for (int a = 1; a < out->rank; a++) {
        for (int b = a; b > 0; b--) {
            const int d1 = out->dims[axes[b - 1]], d2 = out->dims[axes[b]];
            int swap = 0;
            if (d1 < 0 || d2 < 0 || shape[d1] == 1 || shape[d2] == 1) {
                break;
            }
            for (int i = 0; i < k->nin; i++) {
                const thn_intp s1 = magnitude(in_stride(k, i, d1, in)), s2 = magnitude(in_stride(k, i, d2, in));
                if (s1 != 0 && s2 != 0 && s1 != s2) {
                    swap = s1 < s2;
                    break;
                }
            }
            if (!swap) {
                break;
            }
            const int t = axes[b];
            axes[b] = axes[b - 1];
            axes[b - 1] = t;
            changed = 1;
        }
    }
    if (!changed) {
        return 0;
    }
    thn_intp step = out->itemsize;
    for (int a = out->rank - 1; a >= 0; a--) {
        const thn_intp n = out->dims[axes[a]] < 0 ? 1 : shape[out->dims[axes[a]]];
        strides[axes[a]] = step;
        step *= n > 0 ? n : 1;
    }
    return 1;
}

/* ---- planning */

/* Whether dim a should be outside of dim b: by the first operand, outputs first, that decides. */
static int goes_outside(const Dims *g, int ops, int nin, int a, int b)
{
    for (int pass = 0; pass < 2; pass++) {
        for (int op = pass ? 0 : nin; op < (pass ? nin : ops); op++) {
            const thn_intp sa = magnitude(g->strides[op * g->cap + a]), sb = magnitude(g->strides[op * g->cap + b]);
            if (sa != 0 && sb != 0 && sa != sb) {
                return sa > sb;
            }
        }
    }
    return a < b;
}

static void swap_dims(Dims *g, int ops, int a, int b)
{
    thn_intp t = g->shape[a];
    g->shape[a] = g->shape[b];
    g->shape[b] = t;
    for (int op = 0; op < ops; op++) {
        thn_intp *s = g->strides + op * g->cap;
        t = s[a];
        s[a] = s[b];
        s[b] = t;
    }
}

static void sort_dims(Dims *g, int ops, int nin)
{
    for (int a = 1; a < g->n; a++) {
        for (int b = a; b > 0 && !goes_outside(g, ops, nin, b - 1, b); b--) {
            swap_dims(g, ops, b - 1, b);
        }
    }
}

static void merge_dims(Dims *g, int ops)
{
    int last = 0;
    for (int d = 1; d < g->n; d++) {
        int one_run = 1;
        for (int op = 0; op < ops && one_run; op++) {
            const thn_intp *s = g->strides + op * g->cap;
            one_run = s[last] == s[d] * g->shape[d];
        }
        if (one_run) {
            g->shape[last] *= g->shape[d];
        }
        else {
            g->shape[++last] = g->shape[d];
        }
        for (int op = 0; op < ops; op++) {
            thn_intp *s = g->strides + op * g->cap;
            s[last] = s[d];
        }
    }
    g->n = g->n ? last + 1 : 0;
}

/* Puts dims [first, first + count) of the iteration into the group, without those of length 1. */
static thn_intp fill_dims(Dims *g, const ThnKernel *k, const ThnArg *in, const ThnArg *out, const thn_intp *shape, int first,
                          int count)
{
    const int ops = n_ops(k);
    thn_intp total = 1;
    g->n = 0;
    for (int d = first; d < first + count; d++) {
        total *= shape[d];
        if (shape[d] == 1) {
            continue;
        }
        g->shape[g->n] = shape[d];
        for (int i = 0; i < k->nin; i++) {
            g->strides[i * g->cap + g->n] = in_stride(k, i, d, in);
        }
        for (int op = k->nin; op < ops; op++) {
            const ThnKernelOut *o = &k->out[op - k->nin];
            thn_intp s = 0;
            for (int a = 0; a < o->rank; a++) {
                if (o->dims[a] == d) {
                    s = out[op - k->nin].strides[a];
                    break;
                }
            }
            g->strides[op * g->cap + g->n] = s;
        }
        g->n++;
    }
    return total;
}

/* Operands that the kernel takes as constant along the innermost loop. */
static inline int is_constant_elem(const ThnKernel *k, int op)
{
    return op < k->nin && k->n_outer > 0 && (k->in[op].bcast >> (k->n_outer - 1) & 1);
}

static inline int is_row_operand(const ThnKernel *k, int op)
{
    if (op >= k->nin) {
        return !k->out[op - k->nin].full;
    }
    const uint32_t mask = ((1u << k->n_inner) - 1u) << k->n_outer;
    return (k->in[op].bcast & mask) == mask;
}

static void plan_elem(ThnPlan *p)
{
    const ThnKernel *k = p->k;
    Dims *g = &p->outer;
    const int ops = n_ops(k);
    if (g->n > 1) {
        /* The original last dim is the one along which static constants are known to be constant: find where it goes. */
        sort_dims(g, ops, k->nin);
    }
    /* The innermost dim must keep the kernel's constants constant. */
    int inner = -1;
    for (int d = g->n - 1; d >= 0 && inner < 0; d--) {
        int ok = 1;
        for (int op = 0; op < k->nin && ok; op++) {
            ok = !is_constant_elem(k, op) || g->strides[op * g->cap + d] == 0;
        }
        if (ok) {
            inner = d;
        }
    }
    if (inner < 0) {
        /* Every remaining dim varies a constant: rows of one element. */
        g->shape[g->n] = 1;
        for (int op = 0; op < ops; op++) {
            g->strides[op * g->cap + g->n] = is_constant_elem(k, op) ? 0 : itemsize_of(k, op);
        }
        g->n++;
    }
    else {
        for (int d = inner; d < g->n - 1; d++) {
            swap_dims(g, ops, d, d + 1);
        }
        merge_dims(g, ops);
    }
    const int last = g->n - 1;
    const thn_intp n0 = g->shape[last];
    p->buffered = 0;
    p->flat = 1;
    for (int op = 0; op < ops; op++) {
        const thn_intp *s = g->strides + op * g->cap;
        const int constant = is_constant_elem(k, op);
        p->through[op] = !constant && s[last] != itemsize_of(k, op) && n0 > 1;
        p->buffered |= p->through[op];
        if (constant && last > 0 && s[last - 1] != 0) {
            p->flat = 0;
        }
    }
    if (g->n < 2) {
        p->flat = 0;
    }
    p->mode = p->buffered ? RUN_ELEM_BUFFERED : RUN_ELEM;
}

/* The operands that must be gathered for rows of the inner dims to be contiguous. */
static void find_buffered_rows(ThnPlan *p)
{
    const ThnKernel *k = p->k;
    const Dims *g = &p->in;
    p->buffered = 0;
    for (int op = 0; op < n_ops(k); op++) {
        const int direct = is_row_operand(k, op) || p->inner <= 1 ||
                           (g->n == 1 && g->strides[op * g->cap] == itemsize_of(k, op));
        p->through[op] = !direct;
        p->buffered |= !direct;
    }
}

static int columns_fit(const ThnPlan *p)
{
    const ThnKernel *k = p->k;
    const Dims *g = &p->outer;
    if (!k->fn->cols || g->n == 0) {
        return 0;
    }
    for (int i = 0; i < k->nin; i++) {
        const thn_intp s = g->strides[i * g->cap + g->n - 1];
        const int constant = k->in[i].bcast >> (k->n_outer - 1) & 1;
        if (s != (constant ? 0 : k->in[i].itemsize)) {
            return 0;
        }
    }
    return 1;
}

double thn_plan(const ThnKernel *k, const ThnArg *in, const ThnArg *out, const thn_intp *shape, ThnPlan *p)
{
    const int ops = n_ops(k), cap = k->n_outer + k->n_inner + 2;
    char *mem = (char *)(p + 1);
    p->k = k;
    p->ptr = (char **)mem;
    mem += ops * sizeof(char *);
    p->outer.shape = (thn_intp *)mem;
    mem += cap * sizeof(thn_intp);
    p->in.shape = (thn_intp *)mem;
    mem += cap * sizeof(thn_intp);
    p->outer.strides = (thn_intp *)mem;
    mem += (size_t)ops * cap * sizeof(thn_intp);
    p->in.strides = (thn_intp *)mem;
    mem += (size_t)ops * cap * sizeof(thn_intp);
    p->through = (unsigned char *)mem;
    p->outer.cap = p->in.cap = cap;
    p->buffered = p->flat = 0;
    for (int i = 0; i < k->nin; i++) {
        p->ptr[i] = in[i].data;
    }
    for (int o = 0; o < k->nout; o++) {
        p->ptr[k->nin + o] = out[o].data;
    }
    p->rows = fill_dims(&p->outer, k, in, out, shape, 0, k->n_outer);
    p->inner = fill_dims(&p->in, k, in, out, shape, k->n_outer, k->n_inner);
    p->work = k->cost * (double)p->rows * (double)p->inner + 4.0 * (double)(k->n_inner ? p->rows : 0);
    if (p->rows == 0 || (k->n_inner == 0 && p->inner == 0)) {
        p->mode = RUN_NOTHING;
        return 0.0;
    }
    if (k->n_inner == 0) {
        plan_elem(p);
        return p->buffered ? p->work *= 2 : p->work;
    }
    /* Positions in the inner dims count in C order: such kernels keep the order of their inner dims. */
    if (p->in.n > 1 && !k->ordered) {
        sort_dims(&p->in, ops, k->nin);
    }
    merge_dims(&p->in, ops);
    if (p->outer.n > 1) {
        sort_dims(&p->outer, ops, k->nin);
        merge_dims(&p->outer, ops);
    }
    find_buffered_rows(p);
    p->mode = k->fn->rows ? RUN_ROWS : RUN_REDUCE;
    if (p->mode == RUN_REDUCE && p->buffered) {
        if (columns_fit(p)) {
            p->mode = RUN_COLUMNS;
        }
        else if (p->outer.n > 1) {
            /* Outputs decided the order; the columns may be contiguous in the inputs only. */
            for (int d = 0; d < p->outer.n - 1 && p->mode == RUN_REDUCE; d++) {
                swap_dims(&p->outer, ops, d, p->outer.n - 1);
                if (columns_fit(p)) {
                    p->mode = RUN_COLUMNS;
                }
                else {
                    swap_dims(&p->outer, ops, d, p->outer.n - 1);
                }
            }
        }
    }
    return p->buffered ? p->work *= 2 : p->work;
}

/* ---- copies between arrays and buffers */

#define COPY_2D(T)                                                                                         \
    do {                                                                                                   \
        if (magnitude(ssr) < magnitude(sse) && rows > 1) {                                                 \
            for (thn_intp e = 0; e < n; e++) {                                                             \
                const char *s = src + e * sse;                                                             \
                char *d = dst + e * dse;                                                                   \
                for (thn_intp r = 0; r < rows; r++) {                                                      \
                    *(T *)(d + r * dsr) = *(const T *)(s + r * ssr);                                       \
                }                                                                                          \
            }                                                                                              \
        }                                                                                                  \
        else {                                                                                             \
            for (thn_intp r = 0; r < rows; r++) {                                                          \
                const char *s = src + r * ssr;                                                             \
                char *d = dst + r * dsr;                                                                   \
                for (thn_intp e = 0; e < n; e++) {                                                         \
                    *(T *)(d + e * dse) = *(const T *)(s + e * sse);                                       \
                }                                                                                          \
            }                                                                                              \
        }                                                                                                  \
    } while (0)

typedef struct Item16 {
    uint64_t a, b;
} Item16;

/* rows x n items; ssr/dsr: strides from row to row, sse/dse: from element to element. */
static void copy_2d(int size, char *dst, thn_intp dsr, thn_intp dse, const char *src, thn_intp ssr, thn_intp sse, thn_intp rows,
                    thn_intp n)
{
    if (sse == size && dse == size) {
        for (thn_intp r = 0; r < rows; r++) {
            memcpy(dst + r * dsr, src + r * ssr, (size_t)n * size);
        }
        return;
    }
    switch (size) {
    case 1: COPY_2D(uint8_t); break;
    case 2: COPY_2D(uint16_t); break;
    case 4: COPY_2D(uint32_t); break;
    case 8: COPY_2D(uint64_t); break;
    default: COPY_2D(Item16); break;
    }
}

/* Adds to the pointers the offset of the linear position `at` in the dims [0, nd) and returns the positions in `idx`. */
static void seek(const Dims *g, int nd, thn_intp at, int ops, char **ptr, thn_intp *idx)
{
    for (int d = nd - 1; d >= 0; d--) {
        const thn_intp i = at % g->shape[d];
        at /= g->shape[d];
        idx[d] = i;
        if (i) {
            for (int op = 0; op < ops; op++) {
                ptr[op] += i * g->strides[op * g->cap + d];
            }
        }
    }
}

/* Steps to the next position in the dims [0, nd). */
static void step(const Dims *g, int nd, int ops, char **ptr, thn_intp *idx)
{
    for (int d = nd - 1; d >= 0; d--) {
        if (++idx[d] < g->shape[d]) {
            for (int op = 0; op < ops; op++) {
                ptr[op] += g->strides[op * g->cap + d];
            }
            return;
        }
        idx[d] = 0;
        for (int op = 0; op < ops; op++) {
            ptr[op] -= (g->shape[d] - 1) * g->strides[op * g->cap + d];
        }
    }
}

/* Strides of all operands along dim d. */
static void strides_along(const Dims *g, int d, int ops, thn_intp *s)
{
    for (int op = 0; op < ops; op++) {
        s[op] = d < 0 ? 0 : g->strides[op * g->cap + d];
    }
}

/* ---- elementwise */

typedef struct Launch {
    const ThnPlan *p;
    thn_intp ntasks;
    thn_intp unit;      /* rows, elements or columns a task takes */
    int by_inner;       /* tasks cut the innermost dim */
    char *acc;          /* partial results */
    thn_intp chunk, nchunks, blocks;
    char **row_ptr;
    volatile int failed;
} Launch;

static void *buffer_alloc(size_t n)
{
    return malloc(n ? n : 1);
}

/* Rows [r0, r1) of the loops around the innermost dim, elements [e0, e1) of each. */
static void elem_range(const ThnPlan *p, thn_intp r0, thn_intp r1, thn_intp e0, thn_intp e1)
{
    const ThnKernel *k = p->k;
    const Dims *g = &p->outer;
    const int ops = n_ops(k), last = g->n - 1, nd = last > 0 ? last - 1 : 0;
    char *ptr[THN_KMAXOPS], *q[THN_KMAXOPS];
    thn_intp s1[THN_KMAXOPS], idx[THN_KMAXDIM + 2];
    const thn_intp n1 = last > 0 ? g->shape[last - 1] : 1;
    strides_along(g, last - 1, ops, s1);
    for (int op = 0; op < ops; op++) {
        ptr[op] = p->ptr[op] + e0 * g->strides[op * g->cap + last];
    }
    seek(g, nd, r0 / n1, ops, ptr, idx);
    thn_intp i1 = r0 % n1;
    for (thn_intp r = r0; r < r1;) {
        const thn_intp m = n1 - i1 < r1 - r ? n1 - i1 : r1 - r;
        for (int op = 0; op < ops; op++) {
            q[op] = ptr[op] + i1 * s1[op];
        }
        k->fn->elem(q, s1, m, e1 - e0);
        r += m;
        i1 = 0;
        if (r < r1) {
            step(g, nd, ops, ptr, idx);
        }
    }
}

/* The same through buffers. With p->flat, rows are taken together as far as they fit. */
static int elem_range_buffered(const ThnPlan *p, thn_intp r0, thn_intp r1, thn_intp e0, thn_intp e1)
{
    const ThnKernel *k = p->k;
    const Dims *g = &p->outer;
    const int ops = n_ops(k), last = g->n - 1, nd = last;
    char *ptr[THN_KMAXOPS], *q[THN_KMAXOPS];
    thn_intp zero[THN_KMAXOPS] = {0}, idx[THN_KMAXDIM + 2];
    const thn_intp n0 = e1 - e0;
    const int together = p->flat && n0 < BUFFER / 2 && n0 == g->shape[last];
    char *buf = buffer_alloc((size_t)ops * BUFFER * 16);
    if (!buf) {
        return -1;
    }
    for (int op = 0; op < ops; op++) {
        ptr[op] = p->ptr[op] + e0 * g->strides[op * g->cap + last];
    }
    seek(g, nd, r0, ops, ptr, idx);
    for (thn_intp r = r0; r < r1;) {
        thn_intp rows = 1;
        if (together) {
            const thn_intp left = g->shape[last - 1] - idx[last - 1];
            rows = BUFFER / n0;
            rows = rows < left ? rows : left;
            rows = rows < r1 - r ? rows : r1 - r;
        }
        for (thn_intp e = 0; e < n0; e += BUFFER) {
            const thn_intp m = n0 - e < BUFFER ? n0 - e : BUFFER;
            for (int op = 0; op < ops; op++) {
                const thn_intp *s = g->strides + op * g->cap;
                const thn_intp size = itemsize_of(k, op), sr = last > 0 ? s[last - 1] : 0;
                const int constant = is_constant_elem(k, op);
                q[op] = ptr[op] + e * s[last];
                if (p->through[op] || (rows > 1 && !constant)) {
                    char *b = buf + (size_t)op * BUFFER * 16;
                    if (op < k->nin) {
                        copy_2d((int)size, b, m * size, size, q[op], sr, s[last], rows, m);
                    }
                    q[op] = b;
                }
            }
            k->fn->elem(q, zero, 1, rows * m);
            for (int op = k->nin; op < ops; op++) {
                const thn_intp *s = g->strides + op * g->cap;
                const thn_intp size = itemsize_of(k, op), sr = last > 0 ? s[last - 1] : 0;
                char *b = buf + (size_t)op * BUFFER * 16;
                if (q[op] == b) {
                    copy_2d((int)size, ptr[op] + e * s[last], sr, s[last], b, m * size, size, rows, m);
                }
            }
        }
        r += rows;
        if (r < r1) {
            if (rows == 1) {
                step(g, nd, ops, ptr, idx);
            }
            else {
                for (int op = 0; op < ops; op++) {
                    ptr[op] = p->ptr[op] + e0 * g->strides[op * g->cap + last];
                }
                seek(g, nd, r, ops, ptr, idx);
            }
        }
    }
    free(buf);
    return 0;
}

static void elem_task(void *ctx, long task)
{
    Launch *l = ctx;
    const ThnPlan *p = l->p;
    const thn_intp n0 = p->outer.shape[p->outer.n - 1], rows = p->rows / n0;
    thn_intp r0 = 0, r1 = rows, e0 = 0, e1 = n0;
    if (l->by_inner) {
        e0 = task * l->unit;
        e1 = e0 + l->unit < n0 ? e0 + l->unit : n0;
    }
    else {
        r0 = task * l->unit;
        r1 = r0 + l->unit < rows ? r0 + l->unit : rows;
    }
    if (p->mode == RUN_ELEM) {
        elem_range(p, r0, r1, e0, e1);
    }
    else if (elem_range_buffered(p, r0, r1, e0, e1) < 0) {
        l->failed = 1;
    }
}

/* Number of tasks that the work is worth, at most `most`. */
static thn_intp worth(double work, thn_intp most)
{
    thn_intp n;
    if (work < PARALLEL_WORK || most < 2) {
        return 1;
    }
    n = (thn_intp)(work / TASK_WORK);
    n = n > 64 ? 64 : n;
    return n < most ? n : most;
}

static int run_elem(const ThnPlan *p)
{
    Launch l = {.p = p};
    const thn_intp n0 = p->outer.shape[p->outer.n - 1], rows = p->rows / n0;
    if (p->work < PARALLEL_WORK) {
        l.ntasks = 1;
        l.unit = rows;
    }
    else if (rows >= 32 || n0 < 8192) {
        l.ntasks = worth(p->work, rows);
        l.unit = (rows + l.ntasks - 1) / l.ntasks;
        l.ntasks = (rows + l.unit - 1) / l.unit;
    }
    else {
        l.by_inner = 1;
        l.ntasks = worth(p->work, n0 / 4096);
        l.unit = ((n0 + l.ntasks - 1) / l.ntasks + 511) / 512 * 512;
        l.ntasks = (n0 + l.unit - 1) / l.unit;
    }
    if (l.ntasks <= 1) {
        elem_task(&l, 0);
    }
    else {
        thn_parallel((long)l.ntasks, elem_task, &l);
    }
    return l.failed ? -1 : 0;
}

/* ---- gathering rows of the inner dims */

/* Copies elements [at, at + n) of the inner dims of `rows` rows between operand `op` at `base` and a dense buffer. */
static void move_rows(const ThnPlan *p, int op, char *base, thn_intp row_stride, thn_intp rows, thn_intp at, thn_intp n, char *buf,
                      thn_intp buf_row, int to_buffer)
{
    const Dims *g = &p->in;
    const int size = itemsize_of(p->k, op), last = g->n - 1;
    const thn_intp *s = g->strides + op * g->cap;
    const thn_intp n0 = g->shape[last];
    thn_intp done = 0;
    while (done < n) {
        thn_intp pos = at + done, offset = 0;
        const thn_intp i0 = pos % n0;
        const thn_intp m = n0 - i0 < n - done ? n0 - i0 : n - done;
        pos /= n0;
        for (int d = last - 1; d >= 0; d--) {
            offset += pos % g->shape[d] * s[d];
            pos /= g->shape[d];
        }
        char *a = base + offset + i0 * s[last], *b = buf + done * size;
        if (to_buffer) {
            copy_2d(size, b, buf_row, size, a, row_stride, s[last], rows, m);
        }
        else {
            copy_2d(size, a, row_stride, s[last], b, buf_row, size, rows, m);
        }
        done += m;
    }
}

/* ---- row pipelines */

static void rows_task(void *ctx, long task)
{
    Launch *l = ctx;
    const ThnPlan *p = l->p;
    const ThnKernel *k = p->k;
    const Dims *g = &p->outer;
    const int ops = n_ops(k), nd = g->n > 0 ? g->n - 1 : 0;
    const thn_intp n1 = g->n > 0 ? g->shape[g->n - 1] : 1;
    const thn_intp r0 = task * l->unit, r1 = r0 + l->unit < p->rows ? r0 + l->unit : p->rows;
    char *ptr[THN_KMAXOPS], *q[THN_KMAXOPS], *buf = NULL;
    thn_intp s1[THN_KMAXOPS], sb[THN_KMAXOPS], idx[THN_KMAXDIM + 2];
    thn_intp tile = 1;
    strides_along(g, g->n - 1, ops, s1);
    if (p->buffered) {
        tile = 32768 / (p->inner ? p->inner : 1);
        tile = tile < 1 ? 1 : tile > 64 ? 64 : tile;
        buf = buffer_alloc((size_t)ops * tile * p->inner * 16);
        if (!buf) {
            l->failed = 1;
            return;
        }
    }
    memcpy(ptr, p->ptr, ops * sizeof(char *));
    seek(g, nd, r0 / n1, ops, ptr, idx);
    thn_intp i1 = r0 % n1;
    for (thn_intp r = r0; r < r1;) {
        thn_intp m = n1 - i1 < r1 - r ? n1 - i1 : r1 - r;
        if (buf && m > tile) {
            m = tile;
        }
        for (int op = 0; op < ops; op++) {
            q[op] = ptr[op] + i1 * s1[op];
            sb[op] = s1[op];
            if (p->through[op]) {
                char *b = buf + (size_t)op * tile * p->inner * 16;
                sb[op] = p->inner * itemsize_of(k, op);
                if (op < k->nin) {
                    move_rows(p, op, q[op], s1[op], m, 0, p->inner, b, sb[op], 1);
                }
                q[op] = b;
            }
        }
        k->fn->rows(q, sb, m, p->inner);
        for (int op = k->nin; op < ops; op++) {
            if (p->through[op]) {
                move_rows(p, op, ptr[op] + i1 * s1[op], s1[op], m, 0, p->inner, q[op], sb[op], 0);
            }
        }
        r += m;
        i1 += m;
        if (i1 == n1) {
            i1 = 0;
            if (r < r1) {
                step(g, nd, ops, ptr, idx);
            }
        }
    }
    free(buf);
}

static int run_rows(const ThnPlan *p)
{
    Launch l = {.p = p};
    l.ntasks = worth(p->work, p->rows);
    l.unit = (p->rows + l.ntasks - 1) / l.ntasks;
    l.ntasks = (p->rows + l.unit - 1) / l.unit;
    thn_parallel((long)l.ntasks, rows_task, &l);
    return l.failed ? -1 : 0;
}

/* ---- accumulators */

#define ACC_LOOP(T, EXPR)                                     \
    {                                                         \
        T *x = (T *)a;                                        \
        const T *y = (const T *)b;                            \
        for (thn_intp i = 0; i < n; i++) {                    \
            x[i] = (T)(EXPR);                                 \
        }                                                     \
        return;                                               \
    }
#define ACC_REAL(c, T)                                                                        \
    case c:                                                                                   \
        switch (op) {                                                                         \
        case 'a': ACC_LOOP(T, x[i] + y[i])                                                    \
        case 'm': ACC_LOOP(T, x[i] * y[i])                                                    \
        case 'X': ACC_LOOP(T, (y[i] > x[i]) | (y[i] != y[i]) ? y[i] : x[i])                   \
        case 'N': ACC_LOOP(T, (y[i] < x[i]) | (y[i] != y[i]) ? y[i] : x[i])                   \
        case 'A': ACC_LOOP(T, (x[i] != 0) & (y[i] != 0))                                      \
        case 'O': ACC_LOOP(T, (x[i] != 0) | (y[i] != 0))                                      \
        }                                                                                     \
        break;
#define ACC_INT(c, T, U)                                                                      \
    case c:                                                                                   \
        switch (op) {                                                                         \
        case 'a': ACC_LOOP(T, (U)x[i] + (U)y[i])                                              \
        case 'm': ACC_LOOP(T, (U)x[i] * (U)y[i])                                              \
        case 'X': ACC_LOOP(T, y[i] > x[i] ? y[i] : x[i])                                      \
        case 'N': ACC_LOOP(T, y[i] < x[i] ? y[i] : x[i])                                      \
        case '&': ACC_LOOP(T, x[i] & y[i])                                                    \
        case '|': ACC_LOOP(T, x[i] | y[i])                                                    \
        case '^': ACC_LOOP(T, x[i] ^ y[i])                                                    \
        case 'A': ACC_LOOP(T, (x[i] != 0) & (y[i] != 0))                                      \
        case 'O': ACC_LOOP(T, (x[i] != 0) | (y[i] != 0))                                      \
        }                                                                                     \
        break;
#define ACC_COMPLEX(c, T)                                                                     \
    case c:                                                                                   \
        switch (op) {                                                                         \
        case 'a': ACC_LOOP(T, x[i] + y[i])                                                    \
        case 'm': ACC_LOOP(T, x[i] * y[i])                                                    \
        case 'A': ACC_LOOP(T, (x[i] != 0) & (y[i] != 0))                                      \
        case 'O': ACC_LOOP(T, (x[i] != 0) | (y[i] != 0))                                      \
        }                                                                                     \
        break;

/* a[i] = a[i] op b[i] */
static void combine(char op, char type, void *a, const void *b, thn_intp n)
{
    switch (type) {
        ACC_INT('?', uint8_t, unsigned)
        ACC_INT('b', int8_t, unsigned)
        ACC_INT('h', int16_t, unsigned)
        ACC_INT('i', int32_t, uint32_t)
        ACC_INT('q', int64_t, uint64_t)
        ACC_INT('B', uint8_t, unsigned)
        ACC_INT('H', uint16_t, unsigned)
        ACC_INT('I', uint32_t, uint32_t)
        ACC_INT('Q', uint64_t, uint64_t)
#if defined(__FLT16_MAX__)
        ACC_REAL('e', _Float16)
#endif
        ACC_REAL('f', float)
        ACC_REAL('d', double)
        ACC_COMPLEX('F', float _Complex)
        ACC_COMPLEX('D', double _Complex)
    }
}

static int acc_size(char type)
{
    switch (type) {
    case '?': case 'b': case 'B': return 1;
    case 'h': case 'H': case 'e': return 2;
    case 'i': case 'I': case 'f': return 4;
    case 'D': return 16;
    default: return 8;
    }
}

/* The neutral element's bytes. */
static void identity(char op, char type, char *to)
{
    const int size = acc_size(type);
    memset(to, 0, 16);
    if (op == 'm' || op == 'A') {
        switch (type) {
#if defined(__FLT16_MAX__)
        case 'e': { _Float16 v = 1; memcpy(to, &v, 2); break; }
#endif
        case 'f': case 'F': { float v = 1; memcpy(to, &v, 4); break; }
        case 'd': case 'D': { double v = 1; memcpy(to, &v, 8); break; }
        default: { uint64_t v = 1; memcpy(to, &v, size); }
        }
    }
    else if (op == '&') {
        memset(to, 0xff, size);
    }
    else if (op == 'X' || op == 'N') {
        const int most = op == 'N';
        switch (type) {
        case '?': to[0] = (char)most; break;
        case 'e': { uint16_t v = most ? 0x7c00 : 0xfc00; memcpy(to, &v, 2); break; }
        case 'f': { uint32_t v = most ? 0x7f800000u : 0xff800000u; memcpy(to, &v, 4); break; }
        case 'd': { uint64_t v = most ? 0x7ff0000000000000u : 0xfff0000000000000u; memcpy(to, &v, 8); break; }
        case 'B': case 'H': case 'I': case 'Q': memset(to, most ? 0xff : 0, size); break;
        default: /* signed, little endian or not: the top byte is set by value */
        {
            int64_t v = (int64_t)(((uint64_t)1 << (8 * size - 1)) - 1);
            v = most ? v : -v - 1;
            switch (size) {
            case 1: { int8_t w = (int8_t)v; memcpy(to, &w, 1); break; }
            case 2: { int16_t w = (int16_t)v; memcpy(to, &w, 2); break; }
            case 4: { int32_t w = (int32_t)v; memcpy(to, &w, 4); break; }
            default: memcpy(to, &v, 8);
            }
        }
        }
    }
}

static void acc_init(const char *codes, char *acc, thn_intp n)
{
    for (int r = 0; codes[2 * r]; r++) {
        char one[16];
        const int size = acc_size(codes[2 * r + 1]);
        identity(codes[2 * r], codes[2 * r + 1], one);
        char *to = acc + (size_t)r * ACC_BYTES;
        const size_t total = (size_t)n * size;
        memcpy(to, one, size);
        for (size_t done = size; done < total; done *= 2) {
            memcpy(to + done, to, done < total - done ? done : total - done);
        }
    }
}

/* Lanes [to, to + n) of acc take in lanes [from, from + n) of other. */
static void acc_combine(const char *codes, char *acc, thn_intp to, const char *other, thn_intp from, thn_intp n)
{
    for (int r = 0; codes[2 * r]; r++) {
        const char op = codes[2 * r], type = codes[2 * r + 1];
        const size_t size = (size_t)acc_size(type);
        combine(op, type, acc + (size_t)r * ACC_BYTES + to * size, other + (size_t)r * ACC_BYTES + from * size, n);
    }
}

/* Lane 0 of acc becomes the reduction of its n lanes, as a balanced tree. */
static void acc_fold(const char *codes, char *acc, thn_intp n)
{
    while (n > 1) {
        const thn_intp h = (n + 1) / 2;
        acc_combine(codes, acc, 0, acc, h, n - h);
        n = h;
    }
}

static size_t acc_total(const ThnKernel *k)
{
    return strlen(k->fn->reduces) / 2 * (size_t)ACC_BYTES;
}

/* ---- reductions along rows */

/* Elements [e0, e1) of m rows at q (strides s) into lanes j.. of acc. */
static void reduce_rows(const ThnPlan *p, char **q, const thn_intp *s, thn_intp m, thn_intp e0, thn_intp e1, char *acc, thn_intp j,
                        char *buf, char *spare)
{
    const ThnKernel *k = p->k;
    const int ops = n_ops(k);
    char *v[THN_KMAXOPS];
    thn_intp sv[THN_KMAXOPS];
    if (!p->buffered) {
        for (int op = 0; op < ops; op++) {
            v[op] = q[op] + (is_row_operand(k, op) ? 0 : e0 * itemsize_of(k, op));
        }
        k->fn->part(v, s, m, e1 - e0, e0, acc, j);
        return;
    }
    if (e0 == e1) {
        k->fn->part(q, s, m, 0, e0, acc, j);
        return;
    }
    const thn_intp tile = PIECE / m > 0 ? PIECE / m : 1;
    for (thn_intp e = e0; e < e1; e += tile) {
        const thn_intp n = e1 - e < tile ? e1 - e : tile;
        for (int op = 0; op < ops; op++) {
            v[op] = q[op];
            sv[op] = s[op];
            if (p->through[op] && op < k->nin) {
                v[op] = buf + (size_t)op * PIECE * 16;
                sv[op] = n * itemsize_of(k, op);
                move_rows(p, op, q[op], s[op], m, e, n, v[op], sv[op], 1);
            }
            else if (!is_row_operand(k, op)) {
                v[op] += e * itemsize_of(k, op);
            }
        }
        if (e == e0) {
            k->fn->part(v, sv, m, n, e, acc, j);
        }
        else {
            k->fn->part(v, sv, m, n, e, spare, 0);
            acc_combine(k->fn->reduces, acc, j, spare, 0, m);
        }
    }
}

static thn_intp chunk_length(thn_intp n)
{
    thn_intp c = (n + THN_LANES - 1) / THN_LANES;
    c = (c + 2047) / 2048 * 2048;
    return c < CHUNK ? CHUNK : c;
}

/* Rows [r0, r1), every chunk of them. */
static int reduce_row_range(const ThnPlan *p, thn_intp r0, thn_intp r1)
{
    const ThnKernel *k = p->k;
    const Dims *g = &p->outer;
    const int ops = n_ops(k), nd = g->n > 0 ? g->n - 1 : 0;
    const thn_intp n1 = g->n > 0 ? g->shape[g->n - 1] : 1;
    const thn_intp chunk = chunk_length(p->inner);
    const size_t acc_bytes = acc_total(k), buf_bytes = p->buffered ? (size_t)k->nin * PIECE * 16 : 0;
    char *ptr[THN_KMAXOPS], *q[THN_KMAXOPS];
    thn_intp s1[THN_KMAXOPS], idx[THN_KMAXDIM + 2];
    char *acc = buffer_alloc(2 * acc_bytes + buf_bytes);
    if (!acc) {
        return -1;
    }
    char *spare = acc + acc_bytes, *buf = spare + acc_bytes;
    /* Gathered tiles are a few cache lines wide. */
    const thn_intp most = p->inner > chunk ? 1 : p->buffered ? 32 : ROWS;
    strides_along(g, g->n - 1, ops, s1);
    memcpy(ptr, p->ptr, ops * sizeof(char *));
    seek(g, nd, r0 / n1, ops, ptr, idx);
    thn_intp i1 = r0 % n1;
    for (thn_intp r = r0; r < r1;) {
        thn_intp m = n1 - i1 < r1 - r ? n1 - i1 : r1 - r;
        m = m < most ? m : most;
        for (int op = 0; op < ops; op++) {
            q[op] = ptr[op] + i1 * s1[op];
        }
        if (p->inner <= chunk) {
            reduce_rows(p, q, s1, m, 0, p->inner, acc, 0, buf, spare);
        }
        else {
            const thn_intp nchunks = (p->inner + chunk - 1) / chunk;
            for (thn_intp c = 0; c < nchunks; c++) {
                const thn_intp e1 = (c + 1) * chunk < p->inner ? (c + 1) * chunk : p->inner;
                reduce_rows(p, q, s1, 1, c * chunk, e1, acc, c, buf, spare);
            }
            acc_fold(k->fn->reduces, acc, nchunks);
        }
        k->fn->fin(q, s1, m, acc);
        r += m;
        i1 += m;
        if (i1 == n1) {
            i1 = 0;
            if (r < r1) {
                step(g, nd, ops, ptr, idx);
            }
        }
    }
    free(acc);
    return 0;
}

static void reduce_rows_task(void *ctx, long task)
{
    Launch *l = ctx;
    const thn_intp r0 = task * l->unit, r1 = r0 + l->unit < l->p->rows ? r0 + l->unit : l->p->rows;
    if (reduce_row_range(l->p, r0, r1) < 0) {
        l->failed = 1;
    }
}

/* One chunk of one row. */
static void reduce_chunk_task(void *ctx, long task)
{
    Launch *l = ctx;
    const ThnPlan *p = l->p;
    const size_t acc_bytes = acc_total(p->k);
    const thn_intp e0 = task * l->chunk, e1 = e0 + l->chunk < p->inner ? e0 + l->chunk : p->inner;
    thn_intp s1[THN_KMAXOPS];
    char *buf = NULL;
    if (p->buffered) {
        buf = buffer_alloc((size_t)p->k->nin * PIECE * 16 + acc_bytes);
        if (!buf) {
            l->failed = 1;
            return;
        }
    }
    strides_along(&p->outer, p->outer.n - 1, n_ops(p->k), s1);
    reduce_rows(p, l->row_ptr, s1, 1, e0, e1, l->acc, task, buf, buf ? buf + (size_t)p->k->nin * PIECE * 16 : NULL);
    free(buf);
}

static int run_reduce(const ThnPlan *p)
{
    const ThnKernel *k = p->k;
    Launch l = {.p = p};
    l.chunk = chunk_length(p->inner);
    l.nchunks = (p->inner + l.chunk - 1) / l.chunk;
    if (l.nchunks < 2 || p->rows >= 8 || p->work < PARALLEL_WORK) {
        l.ntasks = worth(p->work, p->rows);
        l.unit = (p->rows + l.ntasks - 1) / l.ntasks;
        l.ntasks = (p->rows + l.unit - 1) / l.unit;
        thn_parallel((long)l.ntasks, reduce_rows_task, &l);
        return l.failed ? -1 : 0;
    }
    /* Few long rows: the chunks of each row are spread over the threads. */
    const Dims *g = &p->outer;
    const int ops = n_ops(k);
    char *ptr[THN_KMAXOPS];
    thn_intp idx[THN_KMAXDIM + 2], s1[THN_KMAXOPS];
    l.acc = buffer_alloc(acc_total(k));
    if (!l.acc) {
        return -1;
    }
    memcpy(ptr, p->ptr, ops * sizeof(char *));
    strides_along(g, g->n - 1, ops, s1);
    seek(g, g->n, 0, ops, ptr, idx);
    l.row_ptr = ptr;
    for (thn_intp r = 0; r < p->rows && !l.failed; r++) {
        thn_parallel((long)l.nchunks, reduce_chunk_task, &l);
        acc_fold(k->fn->reduces, l.acc, l.nchunks);
        k->fn->fin(ptr, s1, 1, l.acc);
        if (r + 1 < p->rows) {
            step(g, g->n, ops, ptr, idx);
        }
    }
    free(l.acc);
    return l.failed ? -1 : 0;
}

/* ---- reductions down columns */

/* Rows [i0, i1) of the inner dims into the accumulators of column blocks [b0, b1). */
static void accumulate_columns(const ThnPlan *p, char **base, thn_intp ncols, thn_intp b0, thn_intp b1, thn_intp i0, thn_intp i1,
                               char *acc)
{
    const ThnKernel *k = p->k;
    const Dims *g = &p->in;
    const int ops = n_ops(k), nd = g->n > 0 ? g->n - 1 : 0;
    const thn_intp n1 = g->n > 0 ? g->shape[g->n - 1] : 1;
    const size_t acc_bytes = acc_total(k);
    char *ptr[THN_KMAXOPS], *q[THN_KMAXOPS];
    thn_intp s1[THN_KMAXOPS], idx[THN_KMAXDIM + 2];
    strides_along(g, g->n - 1, ops, s1);
    for (thn_intp b = b0; b < b1; b++) {
        const thn_intp left = ncols - b * THN_LANES;
        acc_init(k->fn->reduces, acc + (size_t)(b - b0) * acc_bytes, left < THN_LANES ? left : THN_LANES);
    }
    memcpy(ptr, base, ops * sizeof(char *));
    seek(g, nd, i0 / n1, ops, ptr, idx);
    thn_intp j = i0 % n1;
    for (thn_intp i = i0; i < i1;) {
        thn_intp m = n1 - j < i1 - i ? n1 - j : i1 - i;
        /* Row by row through all blocks: memory is read in one run, which counts for more than fewer visits to the
         * accumulators. */
        m = b1 - b0 > 1 ? 1 : m;
        for (thn_intp b = b0; b < b1; b++) {
            const thn_intp c0 = b * THN_LANES, c1 = c0 + THN_LANES < ncols ? c0 + THN_LANES : ncols;
            for (int op = 0; op < k->nin; op++) {
                q[op] = ptr[op] + j * s1[op] + c0 * p->outer.strides[op * p->outer.cap + p->outer.n - 1];
            }
            k->fn->cols(q, s1, m, c1 - c0, acc + (size_t)(b - b0) * acc_bytes);
        }
        i += m;
        j += m;
        if (j == n1) {
            j = 0;
            if (i < i1) {
                step(g, nd, ops, ptr, idx);
            }
        }
    }
}

static void finish_columns(const ThnPlan *p, char **base, thn_intp ncols, thn_intp b, char *acc)
{
    const ThnKernel *k = p->k;
    const int ops = n_ops(k);
    const thn_intp c0 = b * THN_LANES, c1 = c0 + THN_LANES < ncols ? c0 + THN_LANES : ncols;
    char *q[THN_KMAXOPS];
    thn_intp s[THN_KMAXOPS];
    strides_along(&p->outer, p->outer.n - 1, ops, s);
    for (int op = 0; op < ops; op++) {
        q[op] = base[op] + c0 * s[op];
    }
    k->fn->fin(q, s, c1 - c0, acc);
}

static void columns_task(void *ctx, long task)
{
    Launch *l = ctx;
    const ThnPlan *p = l->p;
    const thn_intp ncols = p->outer.shape[p->outer.n - 1], nblocks = (ncols + THN_LANES - 1) / THN_LANES;
    const size_t acc_bytes = acc_total(p->k);
    if (l->nchunks > 1) {
        const thn_intp i0 = task * l->chunk, i1 = i0 + l->chunk < p->inner ? i0 + l->chunk : p->inner;
        accumulate_columns(p, l->row_ptr, ncols, 0, nblocks, i0, i1, l->acc + (size_t)task * nblocks * acc_bytes);
        return;
    }
    const thn_intp b0 = task * l->unit, b1 = b0 + l->unit < nblocks ? b0 + l->unit : nblocks;
    char *acc = l->acc + (size_t)b0 * acc_bytes;
    accumulate_columns(p, l->row_ptr, ncols, b0, b1, 0, p->inner, acc);
    for (thn_intp b = b0; b < b1; b++) {
        finish_columns(p, l->row_ptr, ncols, b, acc + (size_t)(b - b0) * acc_bytes);
    }
}

static int run_columns(const ThnPlan *p)
{
    const ThnKernel *k = p->k;
    const Dims *g = &p->outer;
    const int ops = n_ops(k), nd = g->n - 1;
    const thn_intp ncols = g->shape[nd], nblocks = (ncols + THN_LANES - 1) / THN_LANES;
    const size_t acc_bytes = acc_total(k);
    Launch l = {.p = p};
    char *ptr[THN_KMAXOPS];
    thn_intp idx[THN_KMAXDIM + 2], outer_rows = 1;
    /* Few columns and many rows: rows are cut into pieces that depend on the sizes alone. */
    l.nchunks = 1;
    if (ncols < 2048 && p->inner >= 512) {
        l.nchunks = p->inner * ncols / 32768;
        l.nchunks = l.nchunks > 16 ? 16 : l.nchunks < 1 ? 1 : l.nchunks;
        l.nchunks = l.nchunks > p->inner / 128 ? p->inner / 128 : l.nchunks;
    }
    l.chunk = (p->inner + l.nchunks - 1) / l.nchunks;
    l.acc = buffer_alloc((size_t)l.nchunks * nblocks * acc_bytes);
    if (!l.acc) {
        return -1;
    }
    for (int d = 0; d < nd; d++) {
        outer_rows *= g->shape[d];
    }
    memcpy(ptr, p->ptr, ops * sizeof(char *));
    seek(g, nd, 0, ops, ptr, idx);
    l.row_ptr = ptr;
    for (thn_intp r = 0; r < outer_rows; r++) {
        const double work = p->work / (double)outer_rows;
        if (l.nchunks > 1) {
            if (work < PARALLEL_WORK) {
                for (long c = 0; c < l.nchunks; c++) {
                    columns_task(&l, c);
                }
            }
            else {
                thn_parallel((long)l.nchunks, columns_task, &l);
            }
            for (thn_intp b = 0; b < nblocks; b++) {
                char *acc = l.acc + (size_t)b * acc_bytes;
                const thn_intp left = ncols - b * THN_LANES, n = left < THN_LANES ? left : THN_LANES;
                for (thn_intp span = 1; span < l.nchunks; span *= 2) {
                    for (thn_intp c = 0; c + span < l.nchunks; c += 2 * span) {
                        acc_combine(k->fn->reduces, acc + (size_t)c * nblocks * acc_bytes, 0,
                                    acc + (size_t)(c + span) * nblocks * acc_bytes, 0, n);
                    }
                }
                finish_columns(p, ptr, ncols, b, acc);
            }
        }
        else {
            l.ntasks = worth(work, nblocks);
            l.unit = (nblocks + l.ntasks - 1) / l.ntasks;
            l.ntasks = (nblocks + l.unit - 1) / l.unit;
            thn_parallel((long)l.ntasks, columns_task, &l);
        }
        if (r + 1 < outer_rows) {
            step(g, nd, ops, ptr, idx);
        }
    }
    free(l.acc);
    return 0;
}

int thn_plan_run(const ThnPlan *p)
{
    switch (p->mode) {
    case RUN_ELEM:
    case RUN_ELEM_BUFFERED: return run_elem(p);
    case RUN_ROWS: return run_rows(p);
    case RUN_REDUCE: return run_reduce(p);
    case RUN_COLUMNS: return run_columns(p);
    default: return 0;
    }
}
