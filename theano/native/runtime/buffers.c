/* Copies between arrays and dense buffers, positions in nested dims, and memory for buffers. */
#include "plan.h"

#include <stdlib.h>
#if !defined(_WIN32)
#include <pthread.h>
#endif

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
void thn_copy_2d(int size, char *dst, thn_intp dsr, thn_intp dse, const char *src, thn_intp ssr, thn_intp sse, thn_intp rows,
                    thn_intp n)
{
    if (sse == size && dse == size) {
        for (thn_intp r = 0; r < rows; r++) {
            memcpy(dst + r * dsr, src + r * ssr, (size_t)n * size);
        }
        return;
    }
    if (sse == 0 && dse == size && n > 0) {
        for (thn_intp r = 0; r < rows; r++) {
            char *row = dst + r * dsr;
            memcpy(row, src + r * ssr, (size_t)size);
            for (thn_intp done = 1; done < n; done *= 2) {
                memcpy(row + done * size, row, (size_t)(done < n - done ? done : n - done) * size);
            }
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
void thn_seek(const Dims *g, int nd, thn_intp at, int ops, char **ptr, thn_intp *idx)
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
void thn_step(const Dims *g, int nd, int ops, char **ptr, thn_intp *idx)
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
void thn_strides_along(const Dims *g, int d, int ops, thn_intp *s)
{
    for (int op = 0; op < ops; op++) {
        s[op] = d < 0 ? 0 : g->strides[op * g->cap + d];
    }
}

/* Copies elements [at, at + n) of the inner dims of `rows` rows between operand `op` at `base` and a dense buffer. */
void thn_move_rows(const ThnPlan *p, int op, char *base, thn_intp row_stride, thn_intp rows, thn_intp at, thn_intp n, char *buf,
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
            thn_copy_2d(size, b, buf_row, size, a, row_stride, s[last], rows, m);
        }
        else {
            thn_copy_2d(size, a, row_stride, s[last], b, buf_row, size, rows, m);
        }
        done += m;
    }
}

/* Buffers are taken for every launch: each thread keeps the last one it gave back. */
#define KEEP_BYTES ((size_t)1 << 20)

typedef struct Buffer {
    size_t size;
    char align[64 - sizeof(size_t)];
} Buffer;

#if defined(_WIN32)
static Buffer *take_kept(size_t n) { (void)n; return NULL; }
static int keep(Buffer *b) { (void)b; return 0; }
#else
static pthread_key_t kept_key;
static pthread_once_t kept_once = PTHREAD_ONCE_INIT;
static int kept_works;

static void make_kept_key(void)
{
    kept_works = pthread_key_create(&kept_key, free) == 0; /* what is kept is freed when the thread ends */
}

static Buffer *take_kept(size_t n)
{
    pthread_once(&kept_once, make_kept_key);
    Buffer *b = kept_works ? pthread_getspecific(kept_key) : NULL;
    if (!b || b->size < n) {
        return NULL;
    }
    pthread_setspecific(kept_key, NULL);
    return b;
}

static int keep(Buffer *b)
{
    if (!kept_works || b->size > KEEP_BYTES) {
        return 0;
    }
    Buffer *old = pthread_getspecific(kept_key);
    if (old && old->size >= b->size) {
        return 0;
    }
    free(old);
    return pthread_setspecific(kept_key, b) == 0;
}
#endif

void *thn_buffer_alloc(size_t n)
{
    Buffer *b = take_kept(n);
    if (!b) {
        n = (n + 4095) & ~(size_t)4095;
        b = malloc(sizeof(Buffer) + n);
        if (!b) {
            return NULL;
        }
        b->size = n;
    }
    return b + 1;
}

void thn_buffer_free(void *p)
{
    if (p && !keep((Buffer *)p - 1)) {
        free((Buffer *)p - 1);
    }
}
