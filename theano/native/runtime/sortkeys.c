/* Radix sorts. Keys are cut into digits of 8 or 11 bits, from the highest bit in which the keys differ; what lies more than
 * 32 bits below it is looked at only where the upper bits are equal. */
#include "sortkeys.h"

#define FEW 32 /* rows that insertion sorts */

/* ---- keys */

static inline uint16_t key_f2(uint16_t b, int merge)
{
    if ((b & 0x7fff) > 0x7c00) {
        return merge ? 0xffff : (uint16_t)(b | 0x8000);
    }
    if (merge && b == 0x8000) {
        b = 0;
    }
    return b & 0x8000 ? (uint16_t)~b : (uint16_t)(b | 0x8000);
}

static inline uint32_t key_f4(uint32_t b, int merge)
{
    const uint32_t sign = 0x80000000u;
    if ((b & ~sign) > 0x7f800000u) {
        return merge ? UINT32_MAX : b | sign;
    }
    if (merge && b == sign) {
        b = 0;
    }
    return b & sign ? ~b : b | sign;
}

static inline uint64_t key_f8(uint64_t b, int merge)
{
    const uint64_t sign = (uint64_t)1 << 63;
    if ((b & ~sign) > 0x7ff0000000000000u) {
        return merge ? UINT64_MAX : b | sign;
    }
    if (merge && b == sign) {
        b = 0;
    }
    return b & sign ? ~b : b | sign;
}

enum { K_U1, K_I1, K_U2, K_I2, K_U4, K_I4, K_U8, K_I8, K_F2, K_F4, K_F8, K_NONE };

static int key_kind(int typenum)
{
    switch (typenum) {
    case NPY_BOOL:
    case NPY_UBYTE: return K_U1;
    case NPY_BYTE: return K_I1;
    case NPY_USHORT: return K_U2;
    case NPY_SHORT: return K_I2;
    case NPY_UINT: return K_U4;
    case NPY_INT: return K_I4;
    case NPY_ULONG: return sizeof(long) == 8 ? K_U8 : K_U4;
    case NPY_LONG: return sizeof(long) == 8 ? K_I8 : K_I4;
    case NPY_ULONGLONG: return K_U8;
    case NPY_LONGLONG: return K_I8;
    case NPY_HALF: return K_F2;
    case NPY_FLOAT: return K_F4;
    case NPY_DOUBLE: return K_F8;
    default: return K_NONE;
    }
}

int thn_key_size(int typenum)
{
    int kind = key_kind(typenum);
    return kind == K_NONE ? 0 : kind == K_U8 || kind == K_I8 || kind == K_F8 ? 8 : 4;
}

#define EACH(T, EXPR)                                          \
    for (npy_intp i = 0; i < n; i++, src += stride) {          \
        const T v = *(const T *)src;                           \
        keys[i] = (EXPR);                                      \
    }                                                          \
    return;

#define SMALL_KEYS                                                  \
    case K_U1: EACH(uint8_t, v)                                     \
    case K_I1: EACH(int8_t, (uint8_t)((uint8_t)v ^ 0x80))           \
    case K_U2: EACH(uint16_t, v)                                    \
    case K_I2: EACH(int16_t, (uint16_t)((uint16_t)v ^ 0x8000))      \
    case K_U4: EACH(uint32_t, v)                                    \
    case K_I4: EACH(int32_t, (uint32_t)v ^ 0x80000000u)             \
    case K_F2: EACH(uint16_t, key_f2(v, merge))                     \
    case K_F4: EACH(uint32_t, key_f4(v, merge))

static void keys32(int kind, const char *src, npy_intp stride, npy_intp n, uint32_t *keys, int merge)
{
    switch (kind) {
        SMALL_KEYS
    default: return;
    }
}

static void keys64(int kind, const char *src, npy_intp stride, npy_intp n, uint64_t *keys, int merge)
{
    switch (kind) {
        SMALL_KEYS
    case K_U8: EACH(uint64_t, v)
    case K_I8: EACH(int64_t, (uint64_t)v ^ ((uint64_t)1 << 63))
    case K_F8: EACH(uint64_t, key_f8(v, merge))
    default: return;
    }
}

void thn_keys(int typenum, const char *src, npy_intp stride, npy_intp n, void *keys, int merge)
{
    if (thn_key_size(typenum) == 4) {
        keys32(key_kind(typenum), src, stride, n, keys, merge);
    } else {
        keys64(key_kind(typenum), src, stride, n, keys, merge);
    }
}

void thn_keys64(int typenum, const char *src, npy_intp stride, npy_intp n, uint64_t *keys)
{
    keys64(key_kind(typenum), src, stride, n, keys, 1);
}

#define BACK(T, K, EXPR)                                       \
    for (npy_intp i = 0; i < n; i++, dst += stride) {          \
        const K v = ((const K *)keys)[i];                      \
        *(T *)dst = (T)(EXPR);                                 \
    }                                                          \
    return;

void thn_unkeys(int typenum, const void *keys, npy_intp n, char *dst, npy_intp stride)
{
    const uint64_t sign = (uint64_t)1 << 63;
    switch (key_kind(typenum)) {
    case K_U1: BACK(uint8_t, uint32_t, v)
    case K_I1: BACK(uint8_t, uint32_t, v ^ 0x80)
    case K_U2: BACK(uint16_t, uint32_t, v)
    case K_I2: BACK(uint16_t, uint32_t, v ^ 0x8000)
    case K_U4: BACK(uint32_t, uint32_t, v)
    case K_I4: BACK(uint32_t, uint32_t, v ^ 0x80000000u)
    case K_F2: BACK(uint16_t, uint32_t, v & 0x8000 ? v ^ 0x8000 : ~v)
    case K_F4: BACK(uint32_t, uint32_t, v & 0x80000000u ? v ^ 0x80000000u : ~v)
    case K_U8: BACK(uint64_t, uint64_t, v)
    case K_I8: BACK(uint64_t, uint64_t, v ^ sign)
    case K_F8: BACK(uint64_t, uint64_t, v & sign ? v ^ sign : ~v)
    default: return;
    }
}

void thn_complex_keys(int typenum, const char *src, npy_intp stride, npy_intp n, uint8_t *class, uint64_t *re, uint64_t *im)
{
    for (npy_intp i = 0; i < n; i++, src += stride) {
        double part[2];
        if (typenum == NPY_CFLOAT) {
            part[0] = ((const float *)src)[0];
            part[1] = ((const float *)src)[1];
        } else {
            memcpy(part, src, sizeof part);
        }
        uint64_t bits[2];
        memcpy(bits, part, sizeof bits);
        int bad_re = part[0] != part[0], bad_im = part[1] != part[1];
        class[i] = (uint8_t)(2 * bad_re + bad_im);
        re[i] = bad_re ? 0 : key_f8(bits[0], 1);
        im[i] = bad_im ? 0 : key_f8(bits[1], 1);
    }
}

/* ---- radix sorts */

/* Sorts by the bits [low, low + bits); stable. Returns the array that holds the result. */
#define DEFINE_RADIX(U)                                                                             \
    static U *radix_##U(U *a, U *b, npy_intp n, int low, int bits)                                  \
    {                                                                                               \
        uint32_t counts[5][2048];                                                                   \
        const int most = n < 4096 ? 8 : 11;                                                         \
        const int passes = (bits + most - 1) / most;                                                \
        const int width = passes ? (bits + passes - 1) / passes : 0;                                \
        const U mask = (U)(((U)1 << width) - 1);                                                    \
        for (int p = 0; p < passes; p++) {                                                          \
            memset(counts[p], 0, sizeof(uint32_t) << width);                                        \
        }                                                                                           \
        for (npy_intp i = 0; i < n; i++) {                                                          \
            U v = (U)(a[i] >> low);                                                                 \
            for (int p = 0; p < passes; p++, v >>= width) {                                         \
                counts[p][v & mask]++;                                                              \
            }                                                                                       \
        }                                                                                           \
        for (int p = 0; p < passes; p++) {                                                          \
            uint32_t *count = counts[p], sum = 0;                                                   \
            const int shift = low + p * width;                                                      \
            if ((npy_intp)count[(a[0] >> shift) & mask] == n) {                                     \
                continue;                                                                           \
            }                                                                                       \
            for (uint32_t d = 0; d <= (uint32_t)mask; d++) {                                        \
                uint32_t c = count[d];                                                              \
                count[d] = sum;                                                                     \
                sum += c;                                                                           \
            }                                                                                       \
            for (npy_intp i = 0; i < n; i++) {                                                      \
                const U v = a[i];                                                                   \
                b[count[(v >> shift) & mask]++] = v;                                                \
            }                                                                                       \
            U *t = a;                                                                               \
            a = b;                                                                                  \
            b = t;                                                                                  \
        }                                                                                           \
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

/* Number of low bits that hold all differences between the keys; -1: they are sorted already. */
#define DEFINE_SPREAD(U, CLZ)                                       \
    static int spread_##U(const U *keys, npy_intp n)                \
    {                                                               \
        U differ = 0;                                               \
        int fall = 0;                                               \
        for (npy_intp i = 1; i < n; i++) {                          \
            differ |= keys[i] ^ keys[0];                            \
            fall |= keys[i] < keys[i - 1];                          \
        }                                                           \
        return !fall ? -1 : (int)sizeof(U) * 8 - CLZ(differ);       \
    }

DEFINE_SPREAD(uint32_t, __builtin_clz)
DEFINE_SPREAD(uint64_t, __builtin_clzll)

uint32_t *thn_sort_u32(uint32_t *keys, uint32_t *spare, npy_intp n)
{
    if (n <= FEW) {
        insertion_uint32_t(keys, n);
        return keys;
    }
    int bits = spread_uint32_t(keys, n);
    return bits < 0 ? keys : radix_uint32_t(keys, spare, n, 0, bits);
}

uint64_t *thn_sort_u64(uint64_t *keys, uint64_t *spare, npy_intp n)
{
    if (n <= FEW) {
        insertion_uint64_t(keys, n);
        return keys;
    }
    int bits = spread_uint64_t(keys, n);
    if (bits < 0) {
        return keys;
    }
    const int low = bits > 32 ? bits - 32 : 0;
    uint64_t *a = radix_uint64_t(keys, spare, n, low, bits - low), *b = a == keys ? spare : keys;
    for (npy_intp i = 0, j; low && i < n; i = j) {
        for (j = i + 1; j < n && a[j] >> low == a[i] >> low; j++) {
        }
        if (j - i <= FEW) {
            insertion_uint64_t(a + i, j - i);
        } else {
            const uint64_t *sorted = radix_uint64_t(a + i, b + i, j - i, 0, low);
            if (sorted != a + i) {
                memcpy(a + i, sorted, sizeof *a * (size_t)(j - i));
            }
        }
    }
    return a;
}

uint64_t *thn_argsort_u32(const uint32_t *keys, npy_intp n, uint64_t *a, uint64_t *b)
{
    for (npy_intp i = 0; i < n; i++) {
        a[i] = (uint64_t)keys[i] << 32 | (uint64_t)i;
    }
    if (n <= FEW) {
        insertion_uint64_t(a, n);
        return a;
    }
    int bits = spread_uint32_t(keys, n);
    return bits < 0 ? a : radix_uint64_t(a, b, n, 32, bits);
}

/* Sorts positions whose keys agree above bit `low` by the bits below. */
static void settle(const uint64_t *keys, uint64_t *a, uint64_t *b, npy_intp n, int low)
{
    const uint64_t mask = ((uint64_t)1 << low) - 1;
    for (npy_intp i = 0; i < n; i++) {
        const uint64_t position = a[i] & UINT32_MAX;
        a[i] = (keys[position] & mask) << 32 | position;
    }
    if (n <= FEW) {
        insertion_uint64_t(a, n);
        return;
    }
    const uint64_t *sorted = radix_uint64_t(a, b, n, 32, low);
    if (sorted != a) {
        memcpy(a, sorted, sizeof *a * (size_t)n);
    }
}

uint64_t *thn_argsort_u64(const uint64_t *keys, npy_intp n, uint64_t *a, uint64_t *b)
{
    int bits = n > 1 ? spread_uint64_t(keys, n) : -1;
    if (bits < 0) {
        for (npy_intp i = 0; i < n; i++) {
            a[i] = (uint64_t)i;
        }
        return a;
    }
    const int low = bits > 32 ? bits - 32 : 0;
    const uint64_t mask = UINT32_MAX;
    for (npy_intp i = 0; i < n; i++) {
        a[i] = (keys[i] >> low & mask) << 32 | (uint64_t)i;
    }
    if (n <= FEW) {
        insertion_uint64_t(a, n);
    } else {
        uint64_t *sorted = radix_uint64_t(a, b, n, 32, bits - low);
        b = sorted == a ? b : a;
        a = sorted;
    }
    for (npy_intp i = 0, j; low && i < n; i = j) {
        const uint64_t high = a[i] >> 32;
        for (j = i + 1; j < n && a[j] >> 32 == high; j++) {
        }
        if (j - i > 1) {
            settle(keys, a + i, b + i, j - i, low);
        }
    }
    return a;
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
        uint32_t counts[2048] = {0};
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
