/* Radix sorts. Keys are cut into digits of 8 or 11 bits, from the highest bit in which the keys differ; what lies more than
 * 32 bits below it is looked at only where the upper bits are equal.
 *
 * Threads share long sorts: each takes a part of the elements, counts their digits, and moves them behind those of the parts
 * before. The order of the result is the only one that a stable sort has, whatever the number of parts. */
#include "sortkeys.h"
#include "copy.h"
#include "pool.h"
#include "threads.h"

#define FEW 32 /* rows that insertion sorts */
#define SHARED 131072 /* elements from which on threads share a sort */
#define MOST_PARTS 16
#define DIGITS 2048

static int parts_of(npy_intp n)
{
    return n < SHARED ? 1 : (int)thn_least(thn_get_threads(), thn_least(2 * n / SHARED, MOST_PARTS));
}

static npy_intp part_length(npy_intp n)
{
    const int parts = parts_of(n);
    return (n + parts - 1) / parts;
}

static void by_parts(npy_intp n, thn_range_fn fn, void *ctx)
{
    thn_parallel_ranges(n, part_length(n), fn, ctx);
}

/* ---- keys */

/* key: of a float's bits, in the order of the numbers. NaNs are greater than these; merged, they are one, and so are both zeros.
 * bits: of a key that is not merged. */
#define KEY(NAME, U, INFINITE)                                   \
    static inline U key_##NAME(U b, int merge)                   \
    {                                                            \
        const U sign = (U)((U)1 << (8 * sizeof(U) - 1));         \
        if ((U)(b & ~sign) > (INFINITE)) {                       \
            return merge ? (U)-1 : (U)(b | sign);                \
        }                                                        \
        if (merge && b == sign) {                                \
            b = 0;                                               \
        }                                                        \
        return (U)(b & sign ? ~b : b | sign);                    \
    }                                                            \
    static inline U bits_##NAME(U key)                           \
    {                                                            \
        const U sign = (U)((U)1 << (8 * sizeof(U) - 1));         \
        return (U)(key & sign ? key ^ sign : ~key);              \
    }

KEY(f2, uint16_t, 0x7c00)
KEY(f4, uint32_t, 0x7f800000u)
KEY(f8, uint64_t, 0x7ff0000000000000u)

#define SIGN_8 ((uint64_t)1 << 63)

/* X(name, type of the bits, type of keys, key of bits v, bits of key v) */
#define SMALL(X)                                                                             \
    X(b1, uint8_t, uint32_t, v, v)                                                           \
    X(u1, uint8_t, uint32_t, v, v)                                                           \
    X(i1, uint8_t, uint32_t, v ^ 0x80, v ^ 0x80)                                             \
    X(u2, uint16_t, uint32_t, v, v)                                                          \
    X(i2, uint16_t, uint32_t, v ^ 0x8000, v ^ 0x8000)                                        \
    X(u4, uint32_t, uint32_t, v, v)                                                          \
    X(i4, uint32_t, uint32_t, v ^ 0x80000000u, v ^ 0x80000000u)                              \
    X(f2, uint16_t, uint32_t, key_f2(v, merge), bits_f2((uint16_t)v))                        \
    X(f4, uint32_t, uint32_t, key_f4(v, merge), bits_f4(v))
#define LARGE(X)                                                                             \
    X(u8, uint64_t, uint64_t, v, v)                                                          \
    X(i8, uint64_t, uint64_t, v ^ SIGN_8, v ^ SIGN_8)                                        \
    X(f8, uint64_t, uint64_t, key_f8(v, merge), bits_f8(v))

#define TO_KEYS(S, T, K, KEY_OF_V, BITS_OF_V)                  \
    case T_##S:                                                \
        for (npy_intp i = 0; i < n; i++, p += stride) {        \
            const T v = *(const T *)p;                         \
            keys[i] = KEY_OF_V;                                \
        }                                                      \
        break;
#define TO_ELEMENTS(S, T, K, KEY_OF_V, BITS_OF_V)              \
    case T_##S:                                                \
        for (npy_intp i = 0; i < n; i++, p += stride) {        \
            const K v = ((const K *)keys)[i];                  \
            *(T *)p = (T)(BITS_OF_V);                          \
        }                                                      \
        break;

static void keys32(int kind, const char *p, npy_intp stride, npy_intp n, uint32_t *keys, int merge)
{
    switch (kind) {
        SMALL(TO_KEYS)
    }
}

static void keys64(int kind, const char *p, npy_intp stride, npy_intp n, uint64_t *keys, int merge)
{
    switch (kind) {
        SMALL(TO_KEYS)
        LARGE(TO_KEYS)
    }
}

static void elements(int kind, char *p, npy_intp stride, npy_intp n, const void *keys)
{
    switch (kind) {
        SMALL(TO_ELEMENTS)
        LARGE(TO_ELEMENTS)
    }
}

int thn_key_size(int typenum)
{
    const int t = thn_type_index(typenum);
    return t < 0 || t > T_f8 ? 0 : t == T_u8 || t == T_i8 || t == T_f8 ? 8 : 4;
}

typedef struct {
    int way, kind, size;
    char *elements;
    npy_intp stride;
    char *keys;
} Converting;

static int convert_some(void *ctx, npy_intp start, npy_intp stop)
{
    const Converting *c = ctx;
    char *p = c->elements + start * c->stride;
    void *keys = c->keys + start * c->size;
    if (c->way == THN_FROM_KEYS) {
        elements(c->kind, p, c->stride, stop - start, keys);
    } else if (c->size == 4) {
        keys32(c->kind, p, c->stride, stop - start, keys, c->way != THN_TO_KEYS);
    } else {
        keys64(c->kind, p, c->stride, stop - start, keys, c->way != THN_TO_KEYS);
    }
    return 0;
}

void thn_keys(int way, int typenum, const char *elements, npy_intp stride, npy_intp n, void *keys)
{
    const int size = way == THN_TO_WIDE ? 8 : thn_key_size(typenum);
    Converting c = {way, thn_type_index(typenum), size, (char *)elements, stride, keys};
    by_parts(n, convert_some, &c);
}

void thn_complex_keys(int typenum, const char *src, npy_intp stride, npy_intp n, uint64_t *class, uint64_t *re, uint64_t *im)
{
    for (npy_intp i = 0; i < n; i++, src += stride) {
        const int item = typenum == NPY_CFLOAT ? 4 : 8;
        const double part[2] = {thn_get_real(item, src), thn_get_real(item, src + item)};
        uint64_t bits[2];
        memcpy(bits, part, sizeof bits);
        int bad_re = part[0] != part[0], bad_im = part[1] != part[1];
        class[i] = (uint64_t)(2 * bad_re + bad_im);
        re[i] = bad_re ? 0 : key_f8(bits[0], 1);
        im[i] = bad_im ? 0 : key_f8(bits[1], 1);
    }
}

/* ---- radix sorts */

/* Counts of the digits up to `last`, part by part, become where the elements go. */
static inline __attribute__((always_inline)) void add_up(uint32_t *counts, npy_intp last, const npy_intp parts)
{
    uint32_t sum = 0;
    for (npy_intp d = 0; d <= last; d++) {
        for (npy_intp part = 0; part < parts; part++) {
            const uint32_t c = counts[part * DIGITS + d];
            counts[part * DIGITS + d] = sum;
            sum += c;
        }
    }
}

/* One pass moves elements from a to b in the order of one digit. radix: by the bits [low, low + bits), stable; returns the array that
 * holds the result. A single part has the digits of all passes counted at once. */
#define DEFINE_RADIX(U)                                                                             \
    typedef struct {                                                                                \
        const U *a;                                                                                 \
        U *b, mask;                                                                                 \
        npy_intp length; /* of a part */                                                            \
        int shift;                                                                                  \
        uint32_t *counts; /* of each digit, part by part; then where the part's elements go */      \
    } Pass_##U;                                                                                     \
                                                                                                    \
    static int count_##U(void *ctx, npy_intp i, npy_intp stop)                                      \
    {                                                                                               \
        const Pass_##U *p = ctx;                                                                    \
        const int shift = p->shift;                                                                 \
        const U mask = p->mask;                                                                     \
        uint32_t *count = p->counts + i / p->length * DIGITS;                                       \
        memset(count, 0, sizeof *count * DIGITS);                                                   \
        for (; i < stop; i++) {                                                                     \
            count[(p->a[i] >> shift) & mask]++;                                                     \
        }                                                                                           \
        return 0;                                                                                   \
    }                                                                                               \
                                                                                                    \
    static int scatter_##U(void *ctx, npy_intp i, npy_intp stop)                                    \
    {                                                                                               \
        const Pass_##U *p = ctx;                                                                    \
        const int shift = p->shift;                                                                 \
        const U mask = p->mask;                                                                     \
        uint32_t *count = p->counts + (i ? i / p->length * DIGITS : 0);                             \
        for (; i < stop; i++) {                                                                     \
            const U v = p->a[i];                                                                    \
            p->b[count[(v >> shift) & mask]++] = v;                                                 \
        }                                                                                           \
        return 0;                                                                                   \
    }                                                                                               \
                                                                                                    \
    static U *radix_##U(U *a, U *b, npy_intp n, int low, int bits, int alone)                       \
    {                                                                                               \
        uint32_t own[5][DIGITS];                                                                    \
        const size_t wanted = alone ? 1 : (size_t)parts_of(n);                                      \
        uint32_t *room = wanted > 1 ? thn_pool_alloc(sizeof *room * DIGITS * wanted) : NULL;        \
        const npy_intp length = room ? part_length(n) : n, parts = (n + length - 1) / length;       \
        const int most = n < 4096 ? 8 : 11, passes = (bits + most - 1) / most;                      \
        const int width = passes ? (bits + passes - 1) / passes : 0;                                \
        const U mask = (U)(((U)1 << width) - 1);                                                    \
        for (int k = 0; k < passes && !room; k++) {                                                 \
            memset(own[k], 0, sizeof(uint32_t) << width);                                           \
        }                                                                                           \
        for (npy_intp i = 0; i < n && !room; i++) {                                                 \
            U v = (U)(a[i] >> low);                                                                 \
            for (int k = 0; k < passes; k++, v >>= width) {                                         \
                own[k][v & mask]++;                                                                 \
            }                                                                                       \
        }                                                                                           \
        for (int k = 0; k < passes; k++) {                                                          \
            uint32_t *const counts = room ? room : own[k], same = 0;                                \
            Pass_##U p = {a, b, mask, length, low + k * width, counts};                             \
            if (room) {                                                                             \
                thn_parallel_ranges(n, length, count_##U, &p);                                      \
            }                                                                                       \
            for (npy_intp part = 0; part < parts; part++) {                                         \
                same += counts[part * DIGITS + (npy_intp)((a[0] >> p.shift) & mask)];               \
            }                                                                                       \
            if ((npy_intp)same == n) {                                                              \
                continue;                                                                           \
            }                                                                                       \
            if (room) {                                                                             \
                add_up(counts, (npy_intp)mask, parts);                                              \
                thn_parallel_ranges(n, length, scatter_##U, &p);                                    \
            } else {                                                                                \
                add_up(counts, (npy_intp)mask, 1);                                                  \
                scatter_##U(&p, 0, n);                                                              \
            }                                                                                       \
            U *t = a;                                                                               \
            a = b;                                                                                  \
            b = t;                                                                                  \
        }                                                                                           \
        thn_pool_free(room);                                                                        \
        return a;                                                                                   \
    }

DEFINE_RADIX(uint32_t)
DEFINE_RADIX(uint64_t)

#define DEFINE_INSERTION(U)                                  \
    static void insertion_##U(U *a, npy_intp n)              \
    {                                                        \
        for (npy_intp i = 1; i < n; i++) {                   \
            const U v = a[i];                                \
            npy_intp j = i;                                  \
            for (; j > 0 && a[j - 1] > v; j--) {             \
                a[j] = a[j - 1];                             \
            }                                                \
            a[j] = v;                                        \
        }                                                    \
    }

DEFINE_INSERTION(uint32_t)
DEFINE_INSERTION(uint64_t)

typedef struct {
    const void *keys;
    uint64_t differ; /* bits in which any of them does */
} Spread;

#define DEFINE_SPREAD(U)                                                      \
    static int spread_##U(void *ctx, npy_intp start, npy_intp stop)           \
    {                                                                         \
        Spread *s = ctx;                                                      \
        const U *keys = s->keys, first = keys[0];                             \
        U differ = 0;                                                         \
        int fall = 0;                                                         \
        for (npy_intp i = start + (start == 0); i < stop; i++) {              \
            differ |= keys[i] ^ first;                                        \
            fall |= keys[i] < keys[i - 1];                                    \
        }                                                                     \
        __atomic_fetch_or(&s->differ, differ, __ATOMIC_RELAXED);              \
        return -fall;                                                         \
    }

DEFINE_SPREAD(uint32_t)
DEFINE_SPREAD(uint64_t)

/* Number of low bits that hold all differences between the keys; -1: they are sorted already. */
static int bits_of(int size, const void *keys, npy_intp n)
{
    Spread s = {keys, 0};
    const int fall = thn_parallel_ranges(n, part_length(n), size == 4 ? spread_uint32_t : spread_uint64_t, &s);
    return fall ? 64 - __builtin_clzll(s.differ) : -1;
}

/* ---- where the upper bits are equal, by the bits below `low` */

typedef struct {
    const uint64_t *keys;      /* NULL: `a` holds the keys themselves; else keys' upper parts, above positions */
    uint64_t *a, *b;
    int low, parts, alone;     /* alone: each part has about as much to do, and no thread is left to help */
    npy_intp bounds[MOST_PARTS + 1];
} Ties;

static int tied(const Ties *t, npy_intp i, npy_intp j)
{
    const int shift = t->keys ? 32 : t->low;
    return t->a[i] >> shift == t->a[j] >> shift;
}

/* In place, numbers that agree but for the bits [low, low + bits). */
static void sort_ties(uint64_t *a, uint64_t *b, npy_intp n, int low, int bits, int alone)
{
    if (n <= FEW) {
        insertion_uint64_t(a, n);
        return;
    }
    const uint64_t *sorted = radix_uint64_t(a, b, n, low, bits, alone);
    if (sorted != a) {
        memcpy(a, sorted, sizeof *a * (size_t)n);
    }
}

/* Positions whose keys agree above bit `low`. */
static void settle_positions(const uint64_t *keys, uint64_t *a, uint64_t *b, npy_intp n, int low, int alone)
{
    const uint64_t mask = ((uint64_t)1 << low) - 1;
    for (npy_intp i = 0; i < n; i++) {
        const uint64_t position = a[i] & UINT32_MAX;
        a[i] = (keys[position] & mask) << 32 | position;
    }
    sort_ties(a, b, n, 32, low, alone);
}

static void ties_task(void *ctx, long task)
{
    const Ties *t = ctx;
    const npy_intp stop = t->bounds[task + 1];
    for (npy_intp i = t->bounds[task], j; i < stop; i = j) {
        for (j = i + 1; j < stop && tied(t, i, j); j++) {
        }
        if (j - i < 2) {
            continue;
        }
        if (t->keys) {
            settle_positions(t->keys, t->a + i, t->b + i, j - i, t->low, t->alone);
        } else {
            sort_ties(t->a + i, t->b + i, j - i, 0, t->low, t->alone);
        }
    }
}

/* No part ends between elements that are tied. */
static void settle(const uint64_t *keys, uint64_t *a, uint64_t *b, npy_intp n, int low)
{
    Ties t = {.keys = keys, .a = a, .b = b, .low = low, .parts = parts_of(n), .alone = 1};
    if (!low) {
        return;
    }
    for (int k = 0; k < t.parts; k++) {
        npy_intp *start = &t.bounds[k];
        *start = thn_least(k * part_length(n), n);
        *start = k && *start < t.bounds[k - 1] ? t.bounds[k - 1] : *start;
        while (*start > 0 && *start < n && tied(&t, *start - 1, *start)) {
            ++*start;
        }
    }
    t.bounds[t.parts] = n;
    for (int k = 0; k < t.parts; k++) {
        t.alone &= t.bounds[k + 1] - t.bounds[k] >= part_length(n) / 2;
    }
    thn_parallel(t.parts, ties_task, &t);
}

void *thn_sort(int size, void *keys, void *spare, npy_intp n)
{
    if (n <= FEW) {
        size == 4 ? insertion_uint32_t(keys, n) : insertion_uint64_t(keys, n);
        return keys;
    }
    const int bits = bits_of(size, keys, n), low = bits > 32 ? bits - 32 : 0;
    if (bits < 0 || size == 4) {
        return bits < 0 ? keys : radix_uint32_t(keys, spare, n, 0, bits, 0);
    }
    uint64_t *a = radix_uint64_t(keys, spare, n, low, bits - low, 0);
    settle(NULL, a, a == keys ? spare : keys, n, low);
    return a;
}

/* ---- positions */

typedef struct {
    const void *keys;
    int size, low;
    npy_intp step;
    uint64_t *a;
    char *out;
} Positions;

/* Each position below 32 bits of its key. */
static int pair_some(void *ctx, npy_intp start, npy_intp stop)
{
    const Positions *p = ctx;
    for (npy_intp i = start; i < stop; i++) {
        const uint64_t key = p->size == 4 ? ((const uint32_t *)p->keys)[i] : ((const uint64_t *)p->keys)[i] >> p->low;
        p->a[i] = key << 32 | (uint64_t)i;
    }
    return 0;
}

uint64_t *thn_argsort(int size, const void *keys, npy_intp n, uint64_t *a, uint64_t *b)
{
    const int bits = size == 4 && n <= FEW ? 32 : bits_of(size, keys, n), low = bits > 32 ? bits - 32 : 0;
    if (bits < 0) {
        for (npy_intp i = 0; i < n; i++) {
            a[i] = (uint64_t)i;
        }
        return a;
    }
    Positions p = {.keys = keys, .size = size, .low = low, .a = a};
    by_parts(n, pair_some, &p);
    if (n <= FEW) {
        insertion_uint64_t(a, n);
    } else {
        uint64_t *sorted = radix_uint64_t(a, b, n, 32, bits - low, 0);
        b = sorted == a ? b : a;
        a = sorted;
    }
    settle(keys, a, b, n, low);
    return a;
}

static int put_some(void *ctx, npy_intp start, npy_intp stop)
{
    const Positions *p = ctx;
    char *out = p->out + start * p->step;
    for (npy_intp i = start; i < stop; i++, out += p->step) {
        *(int64_t *)out = (int64_t)(uint32_t)p->a[i];
    }
    return 0;
}

void thn_put_positions(const uint64_t *order, npy_intp n, char *out, npy_intp step)
{
    Positions p = {.step = step, .a = (uint64_t *)order, .out = out};
    by_parts(n, put_some, &p);
}

/* ---- selection: narrows the candidates digit by digit */

uint64_t thn_select_u64(const uint64_t *keys, npy_intp n, npy_intp count, uint64_t *a)
{
    uint64_t differ = 0;
    for (npy_intp i = 1; i < n; i++) {
        differ |= keys[i] ^ keys[0];
    }
    int top = differ ? 64 - __builtin_clzll(differ) : 0;
    memcpy(a, keys, sizeof *a * (size_t)n);
    while (top > 0 && n > FEW) {
        uint32_t counts[DIGITS] = {0};
        const int width = top < 11 ? top : 11;
        const uint64_t mask = ((uint64_t)1 << width) - 1;
        top -= width;
        for (npy_intp i = 0; i < n; i++) {
            counts[a[i] >> top & mask]++;
        }
        uint64_t digit = 0;
        while ((npy_intp)counts[digit] < count) {
            count -= counts[digit++];
        }
        npy_intp kept = 0;
        for (npy_intp i = 0; i < n; i++) {
            const uint64_t v = a[i];
            a[kept] = v;
            kept += (v >> top & mask) == digit;
        }
        n = kept;
    }
    if (top > 0) {
        insertion_uint64_t(a, n);
        return a[count - 1];
    }
    return a[0];
}
