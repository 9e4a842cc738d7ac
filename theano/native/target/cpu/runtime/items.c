/* Loops over single elements. Where the processor has 512-bit registers, indices are checked and items fetched eight at a time: many
 * loads are under way at once then, which is what reading at random takes. */
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

AVX512 static npy_intp fetch_512(npy_intp item, const char *x, const npy_intp *offsets, npy_intp n, char *to)
{
    npy_intp i = 0;
    for (; i + 8 <= n; i += 8, to += 8 * item) {
        const __m512i at = _mm512_loadu_si512(offsets + i);
        if (item == 8) {
            _mm512_storeu_si512(to, _mm512_i64gather_epi64(at, x, 1));
        } else {
            _mm256_storeu_si256((__m256i *)to, _mm512_i64gather_epi32(at, x, 1));
        }
    }
    return i;
}
#else
#define WIDE 0
#define AVX512
static int wide_registers(void) { return 0; }
#endif

/* ---- indices */

/* The compiler makes one of it for each way of reading indices, of 8 or 4 bytes side by side or (0) others, with and without
 * offsets. Sums and products are taken without a sign: an index that is out of bounds may overflow. */
__attribute__((always_inline)) static inline int find_offsets(int bytes, ThnReadInt get, const char *p, npy_intp step, npy_intp n,
                                                              npy_intp size, npy_intp wrap, npy_intp stride, int add,
                                                              npy_intp *offsets)
{
    int bad = 0;
    for (npy_intp i = 0; i < n; i++) {
        int64_t v = bytes == 8 ? ((const int64_t *)p)[i] : bytes == 4 ? ((const int32_t *)p)[i] : get(p + i * step);
        if (!offsets) {
            bad |= (uint64_t)v + (uint64_t)wrap >= (uint64_t)size + (uint64_t)wrap;
            continue;
        }
        v += v >> 63 & wrap;
        bad |= (uint64_t)v >= (uint64_t)size;
        const npy_intp offset = (npy_intp)((uint64_t)v * (uint64_t)stride);
        offsets[i] = add ? offsets[i] + offset : offset;
    }
    return !bad;
}

#define FIND(BYTES) \
    (offsets ? find_offsets(BYTES, get, p, step, n, size, wrap, stride, add, offsets) \
             : find_offsets(BYTES, get, p, step, n, size, wrap, 0, 0, NULL))

AVX512 static int offsets_512(int bytes, const char *p, npy_intp step, npy_intp n, npy_intp size, npy_intp wrap, npy_intp stride,
                              int add, npy_intp *offsets)
{
    const ThnReadInt get = NULL;
    return bytes == 8 ? FIND(8) : FIND(4);
}

int thn_offsets(int typenum, const char *p, npy_intp step, npy_intp n, npy_intp size, int wraps, npy_intp stride, int add,
                npy_intp *offsets)
{
    /* Most lie side by side. */
    const int width = typenum == NPY_INT64 ? 8 : typenum == NPY_INT32 ? 4 : 0, bytes = step == width ? width : 0;
    const npy_intp wrap = wraps ? size : 0;
    if (bytes && n >= 8 && wide_registers()) {
        return offsets_512(bytes, p, step, n, size, wrap, stride, add, offsets);
    }
    const ThnReadInt get = bytes ? NULL : thn_int_reader(typenum);
    return bytes == 8 ? FIND(8) : bytes == 4 ? FIND(4) : FIND(0);
}

npy_intp thn_fetch_items(npy_intp item, const char *x, const npy_intp *offsets, npy_intp n, char *to)
{
#if WIDE
    if ((item == 8 || item == 4) && n >= 8 && wide_registers()) {
        return fetch_512(item, x, offsets, n, to);
    }
#endif
    return 0;
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
    switch (item) {
    case 1: PICK(uint8_t)
    case 2: PICK(uint16_t)
    case 4: PICK(uint32_t)
    case 8: PICK(uint64_t)
    default: PICK(Item16)
    }
    return k;
}
