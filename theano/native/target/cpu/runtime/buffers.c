/* Copies between arrays and dense buffers, and memory for buffers. */
#include "plan.h"
#include "shuffle.h"

#include <stdlib.h>

#define COPY_2D(T)                                                                                         \
    for (thn_intp r = 0; r < rows; r++) {                                                                  \
        const char *s = src + r * ssr;                                                                     \
        char *d = dst + r * dsr;                                                                           \
        for (thn_intp e = 0; e < n; e++) {                                                                 \
            *(T *)(d + e * dse) = *(const T *)(s + e * sse);                                               \
        }                                                                                                  \
    }                                                                                                      \
    break;

/* Items of a size, at any address: eight bytes of a complex64 lie at a multiple of four. */
typedef uint8_t Item1;
typedef uint16_t Item2 __attribute__((aligned(1), may_alias));
typedef uint32_t Item4 __attribute__((aligned(1), may_alias));
typedef uint64_t Item8 __attribute__((aligned(1), may_alias));
typedef struct __attribute__((packed, may_alias)) Item16 {
    uint64_t a, b;
} Item16;

typedef uint32_t Four __attribute__((vector_size(16)));
typedef uint32_t FourAt __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t Two __attribute__((vector_size(16)));
typedef uint64_t TwoAt __attribute__((vector_size(16), aligned(1), may_alias));
#define PICK4(a, b, ...) THN_SHUFFLE(a, b, (Four){__VA_ARGS__})
#define PICK2(a, b, ...) THN_SHUFFLE(a, b, (Two){__VA_ARGS__})

static inline void transpose_4x4(char *d, thn_intp ds, const char *s, thn_intp ss)
{
    const Four a = *(const FourAt *)s, b = *(const FourAt *)(s + ss);
    const Four c = *(const FourAt *)(s + 2 * ss), e = *(const FourAt *)(s + 3 * ss);
    const Four ab = PICK4(a, b, 0, 4, 1, 5), ab2 = PICK4(a, b, 2, 6, 3, 7);
    const Four ce = PICK4(c, e, 0, 4, 1, 5), ce2 = PICK4(c, e, 2, 6, 3, 7);
    *(FourAt *)d = PICK4(ab, ce, 0, 1, 4, 5);
    *(FourAt *)(d + ds) = PICK4(ab, ce, 2, 3, 6, 7);
    *(FourAt *)(d + 2 * ds) = PICK4(ab2, ce2, 0, 1, 4, 5);
    *(FourAt *)(d + 3 * ds) = PICK4(ab2, ce2, 2, 3, 6, 7);
}

static inline void transpose_2x2(char *d, thn_intp ds, const char *s, thn_intp ss)
{
    const Two a = *(const TwoAt *)s, b = *(const TwoAt *)(s + ss);
    *(TwoAt *)d = PICK2(a, b, 0, 2);
    *(TwoAt *)(d + ds) = PICK2(a, b, 1, 3);
}

/* dst[j, i] = src[i, j], i < n, j < m; ss, ds: from row to row; the items of a row are side by side. Of 4 or 8 bytes. */
static void transpose(int size, char *dst, thn_intp ds, const char *src, thn_intp ss, thn_intp n, thn_intp m)
{
    const thn_intp block = 16 / size, n1 = n - n % block, m1 = m - m % block;
    for (thn_intp i = 0; i < n1; i += block) {
        for (thn_intp k = 0; k < block && i + 2 * block + k < n; k++) {
            for (thn_intp j = 0; j < m * size; j += 64) {
                __builtin_prefetch(src + (i + 2 * block + k) * ss + j);
            }
        }
        for (thn_intp j = 0; j < m1; j += block) {
            char *d = dst + j * ds + i * size;
            const char *s = src + i * ss + j * size;
            if (size == 4) {
                transpose_4x4(d, ds, s, ss);
            } else {
                transpose_2x2(d, ds, s, ss);
            }
        }
    }
    for (thn_intp i = 0; i < n; i++) {
        for (thn_intp j = i < n1 ? m1 : 0; j < m; j++) {
            memcpy(dst + j * ds + i * size, src + i * ss + j * size, (size_t)size);
        }
    }
}

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
    if ((size == 4 || size == 8) && rows > 3 && n > 3) {
        if (ssr == size && dse == size) {
            transpose(size, dst, dsr, src, sse, n, rows);
            return;
        }
        if (sse == size && dsr == size) {
            transpose(size, dst, dse, src, ssr, rows, n);
            return;
        }
    }
    /* Each column at once where what is not dense is denser along the columns. */
    const thn_intp far_r = thn_magnitude(ssr) > thn_magnitude(dsr) ? ssr : dsr, far_e = thn_magnitude(sse) > thn_magnitude(dse) ? sse : dse;
    if (thn_magnitude(far_r) < thn_magnitude(far_e) && rows > 1) {
        const thn_intp held[3] = {rows, ssr, dsr};
        rows = n, ssr = sse, dsr = dse;
        n = held[0], sse = held[1], dse = held[2];
    }
    switch (size) {
    case 1: COPY_2D(Item1)
    case 2: COPY_2D(Item2)
    case 4: COPY_2D(Item4)
    case 8: COPY_2D(Item8)
    default: COPY_2D(Item16)
    }
}

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
        } else {
            thn_copy_2d(size, a, row_stride, s[last], b, buf_row, size, rows, m);
        }
        done += m;
    }
}

/* Buffers are taken for every launch. The last one that was given back is kept in one of some places, of which a thread finds its
 * own, mostly, by where its stack lies. */
#define KEEP_BYTES ((size_t)1 << 20)
#define PLACES 64

typedef struct Buffer {
    size_t size;
    char align[64 - sizeof(size_t)];
} Buffer;

static struct {
    _Alignas(64) _Atomic(Buffer *) kept;
} places[PLACES];

static Buffer *exchange(Buffer *b)
{
    const uint32_t stack = (uint32_t)((uintptr_t)__builtin_frame_address(0) >> 18);
    return atomic_exchange(&places[stack * 2654435769u / (UINT32_MAX / PLACES + 1)].kept, b);
}

void *thn_buffer_alloc(size_t n)
{
    Buffer *b = exchange(NULL);
    if (!b || b->size < n) {
        free(b);
        n = (n + 4095) & ~(size_t)4095;
        b = malloc(sizeof(Buffer) + n);
        THN_NULL_UNLESS(b);
        b->size = n;
    }
    return b + 1;
}

void thn_buffer_free(void *p)
{
    Buffer *b = p ? (Buffer *)p - 1 : NULL;
    free(b && b->size <= KEEP_BYTES ? exchange(b) : b);
}
