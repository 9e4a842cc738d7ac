/* Streams of MRG31k3p, side by side in the lanes of vector registers.
 *
 * The terms of a sequence are below 2^31, so that a sum of two fits into 32 bits without a sign, and `below` brings it back under
 * the modulus. A factor 2^k modulo 2^31 - 1 is a rotation of 31 bits; modulo M2 = 2^31 - 21069 the bits that leave on the left
 * come back times 21069. */
#include "mrg.h"
#include "copy.h"
#include "processor.h"

#define M1 2147483647u
#define M2 2147462579u
#define REST 21069u /* 2^31 - M2 */
#define STEPS 6     /* terms made while the states are in registers; after three a state is in the order in which it began */

#define ALWAYS static inline __attribute__((always_inline))

ALWAYS uint32_t below(uint32_t v, uint32_t modulus)
{
    const uint32_t w = v - modulus; /* more than v where v is below the modulus */
    return w < v ? w : v;
}

ALWAYS uint32_t times_2p15(uint32_t y)
{
    return below(((y & 65535u) << 15) + REST * (y >> 16), M2);
}

/* The next terms, in the places of the oldest ones, x3 and y3; returns their difference, from 1 to M1. */
ALWAYS int32_t advance(uint32_t x2, uint32_t *x3, uint32_t y1, uint32_t *y3)
{
    const uint32_t x = below(((x2 & 511u) << 22) + (x2 >> 9) + ((*x3 & 16777215u) << 7) + (*x3 >> 24), M1);
    *x3 = below(x + *x3, M1);
    const uint32_t y = below(times_2p15(*y3) + *y3, M2);
    *y3 = below(y + times_2p15(y1), M2);
    return (int32_t)(*x3 - *y3 + (*x3 <= *y3 ? M1 : 0));
}

/* The factors are those with which no number is rounded up to 1. Of halves the last 15 bits are taken, and 1 is added. */
#define AS_HALF(d) ((float)((d & 0x7fff) + 1) * 0x1.ffp-16f)
#define AS_FLOAT(d) ((float)(d) * 4.6566126e-10f)
#define AS_DOUBLE(d) ((double)(d) * 0x1p-31)

#define LANES 16

/* Some streams. What is read and written together is near: lines 4 KiB apart would push each other out of the cache. */
typedef struct {
    uint32_t word[THN_MRG_WORDS][LANES];
} Group;

/* `rows` rows, `step` elements apart, of LANES samples for each group. */
#define DEFINE_DRAW(NAME, T, AS, TARGET)                                                                       \
    TARGET static void NAME(Group *group, npy_intp groups, npy_intp rows, void *to, npy_intp step)             \
    {                                                                                                          \
        T *out = to;                                                                                           \
        for (; rows >= STEPS; rows -= STEPS, out += STEPS * step) {                                            \
            for (npy_intp g = 0; g < groups; g++) {                                                            \
                uint32_t (*w)[LANES] = group[g].word;                                                          \
                T *o = out + g * LANES;                                                                        \
                _Pragma("GCC ivdep") for (int i = 0; i < LANES; i++) {                                         \
                    uint32_t x1 = w[0][i], x2 = w[1][i], x3 = w[2][i], y1 = w[3][i], y2 = w[4][i], y3 = w[5][i]; \
                    const int32_t r0 = advance(x2, &x3, y1, &y3), r1 = advance(x1, &x2, y3, &y2);              \
                    const int32_t r2 = advance(x3, &x1, y2, &y1), r3 = advance(x2, &x3, y1, &y3);              \
                    const int32_t r4 = advance(x1, &x2, y3, &y2), r5 = advance(x3, &x1, y2, &y1);              \
                    o[i] = AS(r0);                                                                             \
                    o[step + i] = AS(r1);                                                                      \
                    o[2 * step + i] = AS(r2);                                                                  \
                    o[3 * step + i] = AS(r3);                                                                  \
                    o[4 * step + i] = AS(r4);                                                                  \
                    o[5 * step + i] = AS(r5);                                                                  \
                    w[0][i] = x1;                                                                              \
                    w[1][i] = x2;                                                                              \
                    w[2][i] = x3;                                                                              \
                    w[3][i] = y1;                                                                              \
                    w[4][i] = y2;                                                                              \
                    w[5][i] = y3;                                                                              \
                }                                                                                              \
            }                                                                                                  \
        }                                                                                                      \
        for (; rows > 0; rows--, out += step) {                                                                \
            for (npy_intp g = 0; g < groups; g++) {                                                            \
                uint32_t (*w)[LANES] = group[g].word;                                                          \
                T *o = out + g * LANES;                                                                        \
                _Pragma("GCC ivdep") for (int i = 0; i < LANES; i++) {                                         \
                    uint32_t x3 = w[2][i], y3 = w[5][i];                                                       \
                    const int32_t r = advance(w[1][i], &x3, w[3][i], &y3);                                     \
                    o[i] = AS(r);                                                                              \
                    w[2][i] = w[1][i];                                                                         \
                    w[1][i] = w[0][i];                                                                         \
                    w[0][i] = x3;                                                                              \
                    w[5][i] = w[4][i];                                                                         \
                    w[4][i] = w[3][i];                                                                         \
                    w[3][i] = y3;                                                                              \
                }                                                                                              \
            }                                                                                                  \
        }                                                                                                      \
    }

typedef void (*Draw)(Group *group, npy_intp groups, npy_intp rows, void *out, npy_intp step);

/* Of halves, which are made as numbers of float32, of float32 and of float64. */
#define DEFINE_DRAWS(NAME, TARGET)                     \
    DEFINE_DRAW(NAME##_f2, float, AS_HALF, TARGET)     \
    DEFINE_DRAW(NAME##_f4, float, AS_FLOAT, TARGET)    \
    DEFINE_DRAW(NAME##_f8, double, AS_DOUBLE, TARGET)  \
    static const Draw NAME[] = {NAME##_f2, NAME##_f4, NAME##_f8};

DEFINE_DRAWS(draw_plain, )
#if defined(__x86_64__) && defined(__GNUC__)
#define WIDE 1
DEFINE_DRAWS(draw_256, __attribute__((target("avx2"))))
#ifndef __clang__
#define WIDEST 1
DEFINE_DRAWS(draw_512, __attribute__((target("avx512f,prefer-vector-width=512"))))
#endif
#endif

static Draw draw_of(int typenum)
{
    const Draw *all = draw_plain;
#ifdef WIDE
    all = __builtin_cpu_supports("avx2") ? draw_256 : all;
#endif
#ifdef WIDEST
    all = thn_has_avx512() ? draw_512 : all;
#endif
    return all[typenum == NPY_HALF ? 0 : typenum == NPY_FLOAT ? 1 : 2];
}

/* Rows of `n` samples, the last of whose groups need not be full. */
static void draw_rows(const ThnMrg *m, Group *group, npy_intp n, npy_intp rows, npy_intp at)
{
    const npy_intp item = m->typenum == NPY_HALF ? 2 : m->typenum == NPY_FLOAT ? 4 : 8;
    const npy_intp full = m->typenum == NPY_HALF ? 0 : n / LANES;
    const Draw draw = draw_of(m->typenum);
    if (full) {
        draw(group, full, rows, m->out + at * item, m->streams);
    }
    const ThnInner move = thn_cast_inner(m->typenum, m->typenum == NPY_HALF ? NPY_FLOAT : m->typenum);
    const npy_intp step = m->typenum == NPY_HALF ? 4 : item;
    for (npy_intp start = full * LANES; start < n; start += LANES) {
        union {
            float f4[STEPS * LANES];
            double f8[STEPS * LANES];
        } kept;
        const npy_intp count = n - start < LANES ? n - start : LANES;
        for (npy_intp r = 0; r < rows; r += STEPS) {
            const npy_intp some = rows - r < STEPS ? rows - r : STEPS;
            draw(group + start / LANES, 1, some, &kept, LANES);
            for (npy_intp k = 0; k < some; k++) {
                move(count, m->out + ((r + k) * m->streams + at + start) * item, item, (const char *)&kept + k * LANES * step, step);
            }
        }
    }
}

#ifdef __SSE2__
#include <emmintrin.h>
#define QUAD 4 /* states that are moved together */
#define LOAD(p) _mm_loadu_si128((const __m128i *)(p))
#define STORE(p, v) _mm_storeu_si128((__m128i *)(p), v)

/* Between four states, one behind the other, and the lanes from i on of a group. */
static void read_quad(const char *s, Group *g, npy_intp i)
{
    const __m128i a = LOAD(s), b = LOAD(s + 24), c = LOAD(s + 48), d = LOAD(s + 72);
    const __m128i ab = _mm_unpacklo_epi32(a, b), cd = _mm_unpacklo_epi32(c, d);
    const __m128i ab2 = _mm_unpackhi_epi32(a, b), cd2 = _mm_unpackhi_epi32(c, d);
    const __m128i e = _mm_loadl_epi64((const __m128i *)(s + 16)), f = _mm_loadl_epi64((const __m128i *)(s + 40));
    const __m128i h = _mm_loadl_epi64((const __m128i *)(s + 64)), k = _mm_loadl_epi64((const __m128i *)(s + 88));
    const __m128i ef = _mm_unpacklo_epi32(e, f), hk = _mm_unpacklo_epi32(h, k);
    STORE(&g->word[0][i], _mm_unpacklo_epi64(ab, cd));
    STORE(&g->word[1][i], _mm_unpackhi_epi64(ab, cd));
    STORE(&g->word[2][i], _mm_unpacklo_epi64(ab2, cd2));
    STORE(&g->word[3][i], _mm_unpackhi_epi64(ab2, cd2));
    STORE(&g->word[4][i], _mm_unpacklo_epi64(ef, hk));
    STORE(&g->word[5][i], _mm_unpackhi_epi64(ef, hk));
}

static void write_quad(char *s, const Group *g, npy_intp i)
{
    const __m128i a = LOAD(&g->word[0][i]), b = LOAD(&g->word[1][i]), c = LOAD(&g->word[2][i]), d = LOAD(&g->word[3][i]);
    const __m128i e = LOAD(&g->word[4][i]), f = LOAD(&g->word[5][i]);
    const __m128i ab = _mm_unpacklo_epi32(a, b), cd = _mm_unpacklo_epi32(c, d), ef = _mm_unpacklo_epi32(e, f);
    const __m128i ab2 = _mm_unpackhi_epi32(a, b), cd2 = _mm_unpackhi_epi32(c, d), ef2 = _mm_unpackhi_epi32(e, f);
    STORE(s, _mm_unpacklo_epi64(ab, cd));
    _mm_storel_epi64((__m128i *)(s + 16), ef);
    STORE(s + 24, _mm_unpackhi_epi64(ab, cd));
    _mm_storel_epi64((__m128i *)(s + 40), _mm_unpackhi_epi64(ef, ef));
    STORE(s + 48, _mm_unpacklo_epi64(ab2, cd2));
    _mm_storel_epi64((__m128i *)(s + 64), ef2);
    STORE(s + 72, _mm_unpackhi_epi64(ab2, cd2));
    _mm_storel_epi64((__m128i *)(s + 88), _mm_unpackhi_epi64(ef2, ef2));
}

/* Whether four states from `i` on can be moved together. */
static int is_quad(const ThnMrg *m, npy_intp i, npy_intp stop)
{
    return m->row == 4 * THN_MRG_WORDS && m->word == 4 && i % QUAD == 0 && i + QUAD <= stop;
}
#endif

/* The states of the streams `i` of the block, start <= i < stop, to the groups, or back. */
static inline void move_states(const ThnMrg *m, npy_intp first, npy_intp start, npy_intp stop, Group *group, int back)
{
    for (npy_intp i = start; i < stop; i++) {
        char *state = m->states + (first + i) * m->row;
#ifdef QUAD
        for (; is_quad(m, i, stop); i += QUAD, state += QUAD * m->row) {
            if (back) {
                write_quad(state, &group[i / LANES], i % LANES);
            } else {
                read_quad(state, &group[i / LANES], i % LANES);
            }
        }
        if (i == stop) {
            return;
        }
#endif
        for (int k = 0; k < THN_MRG_WORDS; k++) {
            uint32_t *const word = (uint32_t *)(state + k * m->word), *const lane = &group[i / LANES].word[k][i % LANES];
            *(back ? word : lane) = *(back ? lane : word);
        }
    }
}

void thn_mrg_block(const ThnMrg *m, npy_intp first)
{
    _Alignas(64) Group group[THN_MRG_BLOCK / LANES];
    const npy_intp used = m->n < m->streams ? m->n : m->streams;
    const npy_intp count = used - first < THN_MRG_BLOCK ? used - first : THN_MRG_BLOCK;
    /* The first streams give one sample more, where their number does not divide that of the samples. */
    const npy_intp rows = m->n / m->streams, left = m->n - rows * m->streams - first;
    const npy_intp more = left < 0 ? 0 : left < count ? left : count;
    memset(&group[(count - 1) / LANES], 0, sizeof(Group)); /* streams that are not there stay at 0 */
    move_states(m, first, 0, count, group, 0);
    draw_rows(m, group, count, rows, first);
    move_states(m, first, more, count, group, 1);
    draw_rows(m, group, more, 1, rows * m->streams + first);
    move_states(m, first, 0, more, group, 1);
}
