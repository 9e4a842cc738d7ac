/* Loops over single elements. Where the processor has 512-bit registers, indices are checked and elements fetched eight at
 * a time: many loads are then under way at once, which is what reading at random takes. */
#include "items.h"
#include "copy.h"

typedef struct {
    uint64_t a, b;
} Item16;

#if defined(__x86_64__) && defined(__GNUC__)
#define WIDE 1
#include <immintrin.h>
#define AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))

static int wide_registers(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw")
        && __builtin_cpu_supports("avx512vl");
}

static inline __mmask8 first_lanes(npy_intp n)
{
    return n >= 8 ? 0xff : (__mmask8)((1u << n) - 1);
}

/* Bytes of indices that are read in registers: side by side, not too few; 0: others. */
static int wide_indices(int typenum, npy_intp step, npy_intp n)
{
    const int bytes = typenum == NPY_INT64 ? 8 : typenum == NPY_INT32 ? 4 : 0;
    return step == bytes && n >= 8 && wide_registers() ? bytes : 0;
}

AVX512 static inline __m512i load_indices(const char *p, int bytes, npy_intp i, __mmask8 lanes)
{
    return bytes == 8 ? _mm512_maskz_loadu_epi64(lanes, (const int64_t *)p + i)
                      : _mm512_cvtepi32_epi64(_mm256_maskz_loadu_epi32(lanes, (const int32_t *)p + i));
}

/* Indices of 4 or 8 bytes, side by side; negative ones count `back` from the end. offsets NULL: they are only checked. */
AVX512 static int offsets_512(const char *p, int bytes, npy_intp n, npy_intp size, npy_intp back, npy_intp stride, int add,
                              npy_intp *offsets)
{
    const __m512i sizes = _mm512_set1_epi64(size), backs = _mm512_set1_epi64(back), strides = _mm512_set1_epi64(stride);
    const int shift = stride > 0 && (stride & (stride - 1)) == 0 ? __builtin_ctzll((unsigned long long)stride) : -1;
    __mmask8 bad = 0;
    for (npy_intp i = 0; i < n; i += 8) {
        const __mmask8 lanes = first_lanes(n - i);
        __m512i v = load_indices(p, bytes, i, lanes);
        v = _mm512_mask_add_epi64(v, _mm512_movepi64_mask(v), v, backs);
        bad |= _mm512_mask_cmpge_epu64_mask(lanes, v, sizes);
        if (offsets) {
            v = shift >= 0 ? _mm512_sll_epi64(v, _mm_cvtsi32_si128(shift)) : _mm512_mullo_epi64(v, strides);
            if (add) {
                v = _mm512_add_epi64(v, _mm512_maskz_loadu_epi64(lanes, offsets + i));
            }
            _mm512_mask_storeu_epi64(offsets + i, lanes, v);
        }
    }
    return !bad;
}

#define DEFINE_READ(NAME, T, GATHER, STORE)                                                        \
    AVX512 static void NAME(const char *x, const npy_intp *offsets, npy_intp n, char *row)         \
    {                                                                                              \
        npy_intp i = 0;                                                                            \
        for (; i + 8 <= n; i += 8) {                                                               \
            STORE((void *)((T *)row + i), GATHER(_mm512_loadu_si512(offsets + i), x, 1));          \
        }                                                                                          \
        for (; i < n; i++) {                                                                       \
            ((T *)row)[i] = *(const T *)(x + offsets[i]);                                          \
        }                                                                                          \
    }

DEFINE_READ(read8_512, uint64_t, _mm512_i64gather_epi64, _mm512_storeu_si512)
DEFINE_READ(read4_512, uint32_t, _mm512_i64gather_epi32, _mm256_storeu_si256)

/* The true ones of 64 flags, as bits. */
AVX512 static inline uint64_t flag_bits(const char *flags)
{
    const __m512i v = _mm512_loadu_si512(flags);
    return _mm512_test_epi8_mask(v, v);
}

/* Whole registers are stored, so their last lanes must have room. Returns how many flags were handled. */
AVX512 static npy_intp positions_512(const char *flags, npy_intp n, int64_t first, int64_t *out, npy_intp room, npy_intp *found)
{
    npy_intp i = 0, k = 0;
    const __m512i eight = _mm512_set1_epi64(8);
    __m512i at = _mm512_add_epi64(_mm512_set1_epi64(first), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
    for (; i + 64 <= n && k + 64 <= room; i += 64) {
        uint64_t bits = flag_bits(flags + i);
        for (int part = 0; part < 8; part++, bits >>= 8) {
            const __mmask8 lanes = (__mmask8)bits;
            _mm512_storeu_si512(out + k, _mm512_maskz_compress_epi64(lanes, at));
            k += __builtin_popcount(lanes);
            at = _mm512_add_epi64(at, eight);
        }
    }
    *found = k;
    return i;
}

/* The items of a register full of them, LANES, that are flagged. */
#define DEFINE_PICK(NAME, T, LANES, COMPRESS)                                                                                   \
    AVX512 static npy_intp NAME(const char *x, const char *flags, npy_intp n, char *out, npy_intp room, npy_intp *found)        \
    {                                                                                                                           \
        npy_intp i = 0, k = 0;                                                                                                  \
        for (; i + 64 <= n && k + 64 <= room; i += 64) {                                                                        \
            uint64_t bits = flag_bits(flags + i);                                                                               \
            for (int at = 0; at < 64; at += LANES, bits >>= LANES) {                                                            \
                const unsigned lanes = (unsigned)(bits & ((1u << LANES) - 1));                                                  \
                const __m512i v = _mm512_loadu_si512((const T *)x + i + at);                                                    \
                _mm512_storeu_si512((T *)out + k, COMPRESS(lanes, v));                                                          \
                k += __builtin_popcount(lanes);                                                                                 \
            }                                                                                                                   \
        }                                                                                                                       \
        *found = k;                                                                                                             \
        return i;                                                                                                               \
    }

DEFINE_PICK(pick8_512, uint64_t, 8, _mm512_maskz_compress_epi64)
DEFINE_PICK(pick4_512, uint32_t, 16, _mm512_maskz_compress_epi32)
#else
#define WIDE 0
#endif

/* ---- indices */

/* The compiler makes one of it for each way of reading indices, and for `add`. The product is taken without a sign: an index that
 * is out of bounds may overflow. */
__attribute__((always_inline)) static inline int find_offsets(ThnReadInt get, const char *p, npy_intp step, npy_intp n,
                                                              npy_intp size, npy_intp stride, int add, npy_intp *offsets)
{
    int bad = 0;
    for (npy_intp i = 0; i < n; i++) {
        int64_t v = get ? get(p + i * step) : *(const int64_t *)(p + i * step);
        v += v >> 63 & size;
        bad |= (uint64_t)v >= (uint64_t)size;
        const npy_intp offset = (npy_intp)((uint64_t)v * (uint64_t)stride);
        offsets[i] = add ? offsets[i] + offset : offset;
    }
    return !bad;
}

int thn_offsets(int typenum, const char *p, npy_intp step, npy_intp n, npy_intp size, npy_intp stride, int add,
                npy_intp *offsets)
{
    const ThnReadInt get = typenum == NPY_INT64 ? NULL : thn_int_reader(typenum);
#if WIDE
    const int bytes = wide_indices(typenum, step, n);
    if (bytes) {
        return offsets_512(p, bytes, n, size, size, stride, add, offsets);
    }
#endif
    return get || step != 8 ? find_offsets(get, p, step, n, size, stride, add, offsets)
         : add              ? find_offsets(NULL, p, 8, n, size, stride, 1, offsets)
                            : find_offsets(NULL, p, 8, n, size, stride, 0, offsets);
}

int thn_all_within(int typenum, const char *p, npy_intp step, npy_intp n, npy_intp low, npy_intp high)
{
    const ThnReadInt get = thn_int_reader(typenum);
    int bad = 0;
#if WIDE
    const int bytes = wide_indices(typenum, step, n);
    if (bytes) {
        return offsets_512(p, bytes, n, high, -low, 0, 0, NULL);
    }
#endif
    for (npy_intp i = 0; i < n; i++) {
        const int64_t v = typenum == NPY_INT64 ? *(const int64_t *)(p + i * step) : get(p + i * step);
        bad |= v < low || v >= high;
    }
    return !bad;
}

/* Does X(T) for the type of items of `item` bytes. */
#define BY_ITEM(X)              \
    switch (item) {             \
    case 1: X(uint8_t)          \
    case 2: X(uint16_t)         \
    case 4: X(uint32_t)         \
    case 8: X(uint64_t)         \
    default: X(Item16)          \
    }

/* ---- items at offsets */

#define READ(T)                                               \
    for (npy_intp i = 0; i < n; i++, row += step) {           \
        *(T *)row = *(const T *)(x + offsets[i]);             \
    }                                                         \
    break;

void thn_read_items(int item, const char *x, const npy_intp *offsets, npy_intp n, char *row, npy_intp step)
{
#if WIDE
    if (step == item && (item == 8 || item == 4) && n >= 8 && wide_registers()) {
        (item == 8 ? read8_512 : read4_512)(x, offsets, n, row);
        return;
    }
#endif
    BY_ITEM(READ)
}

#define WRITE(T)                                              \
    for (npy_intp i = 0; i < n; i++, row += step) {           \
        *(T *)(x + offsets[i]) = *(const T *)row;             \
    }                                                         \
    break;

void thn_write_items(int item, char *x, const npy_intp *offsets, npy_intp n, const char *row, npy_intp step)
{
    BY_ITEM(WRITE)
}

#define ADD(T)                                                \
    for (npy_intp i = 0; i < n; i++, row += step) {           \
        *(T *)(x + offsets[i]) += *(const T *)row;            \
    }                                                         \
    break;

void thn_add_items(int typenum, char *x, const npy_intp *offsets, npy_intp n, const char *row, npy_intp step)
{
    switch (typenum) {
    case NPY_FLOAT: ADD(float)
    case NPY_DOUBLE: ADD(double)
    case NPY_INT64: ADD(uint64_t)
    case NPY_INT32: ADD(uint32_t)
    default: {
        const ThnInner add = thn_add_inner(typenum);
        for (npy_intp i = 0; i < n; i++, row += step) {
            add(1, x + offsets[i], 0, row, 0);
        }
    }
    }
}

/* ---- masks */

/* Eight flags at a time: the highest bit of each byte is set where the byte is not 0, and the bytes are summed. */
npy_intp thn_count_flags(const char *flags, npy_intp n)
{
    const uint64_t low = 0x7f7f7f7f7f7f7f7fu, ones = 0x0101010101010101u;
    npy_intp count = 0, i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t w;
        memcpy(&w, flags + i, sizeof w);
        w = (((w & low) + low) | w) >> 7 & ones;
        count += (npy_intp)(w * ones >> 56);
    }
    for (; i < n; i++) {
        count += flags[i] != 0;
    }
    return count;
}

npy_intp thn_flag_positions(const char *flags, npy_intp n, int64_t first, int64_t *out, npy_intp room)
{
    npy_intp i = 0, k = 0;
#if WIDE
    if (n >= 64 && wide_registers()) {
        i = positions_512(flags, n, first, out, room, &k);
    }
#endif
    for (; i < n && k < room; i++) {
        out[k] = first + i;
        k += flags[i] != 0;
    }
    return k;
}

#define PICK(T)                                               \
    for (; i < n && k < room; i++) {                          \
        ((T *)out)[k] = ((const T *)x)[i];                    \
        k += flags[i] != 0;                                   \
    }                                                         \
    break;

npy_intp thn_pick_items(int item, const char *x, const char *flags, npy_intp n, char *out, npy_intp room)
{
    npy_intp i = 0, k = 0;
#if WIDE
    if (n >= 64 && (item == 8 || item == 4) && wide_registers()) {
        i = (item == 8 ? pick8_512 : pick4_512)(x, flags, n, out, room, &k);
    }
#endif
    BY_ITEM(PICK)
    return k;
}
