/* The hot code of conv_weights.c, included once for each processor and type; see variants.h. */

#include "conv_tiles.h"
#include "conv_patch.h"

/* ---- tiles: M rows, each read at its offset piece by piece, N vectors of columns; b: [pixels][N * LANES] */

#define TILE(M, N)                                                                                                         \
    TARGET static void NAME(tile_##M##_##N)(const NAME(Piece) *piece, npy_intp pieces, const npy_intp *offsets,            \
                                            const T *b, T *out, int add)                                                   \
    {                                                                                                                      \
        CLEAR_SUMS(M, N)                                                                                                   \
        for (const NAME(Piece) *end = piece + pieces; piece < end; piece++) {                                              \
            const npy_intp n = piece->n;                                                                                   \
            const T *a[M];                                                                                                 \
            _Pragma("GCC unroll 8") for (int i = 0; i < M; i++) a[i] = piece->first + offsets[i];                          \
            for (npy_intp k = 0; k < n; k++, b += N * LANES) {                                                             \
                ADD_PRODUCTS(M, N, a[i][k], V, b)                                                                          \
            }                                                                                                              \
        }                                                                                                                  \
        WRITE_SUMS(M, N, V, out + i * N * LANES, add)                                                                      \
    }
#define TILES(M) TILE(M, 1) TILE(M, 2) TILE(M, 3)
TILES(4)
#if MR == 4
TILE(8, 1)
#else
TILES(8)
#endif

/* By the number of rows. There are no smaller ones: these compute what nobody reads. */
#define TILE_OF(m) ((m) > 4)

typedef void (*NAME(Tile))(const NAME(Piece) *piece, npy_intp pieces, const npy_intp *offsets, const T *b, T *out, int add);

static const NAME(Tile) NAME(tiles)[2][3] = {
    {NAME(tile_4_1), NAME(tile_4_2), NAME(tile_4_3)},
#if MR == 8
    {NAME(tile_8_1), NAME(tile_8_2), NAME(tile_8_3)},
#endif
};

/* Packs `n` pixels of `width` filters (those from `filters` on are zeros), which lie `step` bytes apart, pixels next to each
 * other; rows of `to` hold all filters of one pixel. */
TARGET static void NAME(pack_top)(T *to, npy_intp n, npy_intp width, npy_intp filters, const char *from, npy_intp step)
{
    for (npy_intp f = 0; f < width; f += LANES, to += LANES) {
        const T *r[LANES];
        npy_intp k = 0;
        for (int i = 0; i < LANES; i++) {
            r[i] = f + i < filters ? (const T *)(from + (f + i) * step) : NULL;
        }
        for (; k + LANES <= n; k += LANES) {
            V x[LANES], y[LANES];
            _Pragma("GCC unroll 16") for (int i = 0; i < LANES; i++) x[i] = r[i] ? *(const VU *)(r[i] + k) : (V){0};
            _Pragma("GCC unroll 16") for (int length = LANES; length > 1; length /= 2) {
                _Pragma("GCC unroll 16") for (int i = 0; i < LANES / 2; i++) {
                    y[2 * i] = THN_SHUFFLE(x[i], x[i + LANES / 2], NAME(orders)[0]);
                    y[2 * i + 1] = THN_SHUFFLE(x[i], x[i + LANES / 2], NAME(orders)[1]);
                }
                _Pragma("GCC unroll 16") for (int i = 0; i < LANES; i++) x[i] = y[i];
            }
            _Pragma("GCC unroll 16") for (int i = 0; i < LANES; i++) *(VU *)(to + (k + i) * width) = x[i];
        }
        for (; k < n; k++) {
            T *at = to + k * width;
            _Pragma("GCC unroll 16") for (int i = 0; i < LANES; i++) at[i] = r[i] ? r[i][k] : 0;
        }
    }
}

/* Writes the sums of `rows` rows of tiles of one panel, added over parts, to the weights. */
TARGET static void NAME(emit)(const Job *j, T *sums, npy_intp parts, npy_intp part_step, npy_intp group,
                              npy_intp first, npy_intp rows, npy_intp column, npy_intp width)
{
    const ThnConv *c = &j->c;
    const npy_intp *ws = c->filter_strides, filters = c->filters - column < width ? c->filters - column : width;
    char *weights = c->at.filters + group * ws[5] + column * ws[0];
    npy_intp ch = first / j->taps, t = first % j->taps;
    char *at[MR];
    for (npy_intp p = 1; p < parts; p++) {
        for (npy_intp i = 0; i < rows * width; i++) {
            sums[i] += sums[p * part_step + i];
        }
    }
    for (npy_intp i = 0; i < rows; i++) {
        at[i] = weights + ch * ws[1] + j->places[t];
        if (++t == j->taps) {
            t = 0;
            ch++;
        }
    }
    if (ws[0] == (npy_intp)sizeof(T)) {
        for (npy_intp i = 0; i < rows; i++) {
            memcpy(at[i], sums + i * width, sizeof(T) * (size_t)filters);
        }
        return;
    }
    int together = rows == MR;
    for (npy_intp i = 1; i < rows; i++) {
        together = together && at[i] == at[0] + i * (npy_intp)sizeof(T);
    }
    for (npy_intp f = 0; f < filters; f++) {
        if (together) {
            T *to = (T *)(at[0] + f * ws[0]);
            _Pragma("GCC unroll 8") for (int i = 0; i < MR; i++) to[i] = sums[i * width + f];
        } else {
            for (npy_intp i = 0; i < rows; i++) {
                *(T *)(at[i] + f * ws[0]) = sums[i * width + f];
            }
        }
    }
}

TARGET static T *NAME(sums_of)(const Job *j, npy_intp part, npy_intp group, npy_intp unit, npy_intp span)
{
    return (T *)j->sums + (((part * j->c.groups + group) * j->units + unit) * j->spans + span) * j->task_sums;
}

TARGET static void NAME(gather)(const Job *j, npy_intp group, npy_intp unit, npy_intp span)
{
    const npy_intp rows = channels_of(j, unit) * j->taps, vectors = vectors_of(j, span);
    T *sums = NAME(sums_of)(j, 0, group, unit, span);
    const npy_intp part_step = j->c.groups * j->units * j->spans * j->task_sums;
    const npy_intp panels = MOST_PANELS(vectors);
    for (npy_intp panel = 0, column = 0; panel < panels; panel++) {
        const npy_intp width = thn_panel_vectors(vectors, panels, panel) * LANES;
        T *tile = sums + column * j->tiles * MR;
        for (npy_intp r = 0; r < rows; r += MR, tile += MR * width) {
            NAME(emit)(j, tile, j->parts, part_step, group, unit * j->unit * j->taps + r, rows - r < MR ? rows - r : MR,
                       span * j->span * LANES + column, width);
        }
        column += width;
    }
}

TARGET static int NAME(compute)(const Job *j, npy_intp part, npy_intp group, npy_intp unit, npy_intp span)
{
    const ThnConv *c = &j->c;
    const npy_intp vectors = vectors_of(j, span), panels = MOST_PANELS(vectors);
    const npy_intp channel = unit * j->unit, channels = channels_of(j, unit);
    const npy_intp first = part * j->part_blocks, end = thn_least(first + j->part_blocks, j->blocks);
    const size_t nruns = (size_t)(j->block / j->pixels + 2), npieces = (size_t)(j->block / c->top[2] + 3) + nruns;
    NAME(Patch) patch = {.direct = j->direct};
    NAME(Cut) cut;
    T *top;
    npy_intp *offsets;
    THN_POOLED char *memory = THN_POOL_PARTS(
        {&top, sizeof(T) * (size_t)(j->block * vectors * LANES)}, {&patch.runs, sizeof(NAME(Run)) * nruns},
        {&cut.reads.all, sizeof *cut.reads.all * npieces}, {&cut.tops.all, sizeof *cut.tops.all * npieces}, {&offsets, sizeof(npy_intp) * (size_t)(channels * j->taps + MR)},
        {&patch.slots, (size_t)c->stride[2]});
    THN_NEED(memory);
    T *sums = NAME(sums_of)(j, part, group, unit, span);
    for (npy_intp block = first; block < end; block++) {
        const npy_intp column = block * j->block, left = j->total - column, columns = left < j->block ? left : j->block;
        const npy_intp size = NAME(find_runs)(c, &patch, column, column + columns);
        /* As many channels at once as keep their pixels in the second-level cache. */
        npy_intp at_once = j->direct ? 131072 / (npy_intp)sizeof(T) / columns : 65536 / (npy_intp)sizeof(T) / size;
        at_once = at_once < MR ? MR : at_once / MR * MR; /* whole tiles */
        at_once = at_once > channels ? channels : at_once;
        THN_POOLED T *data = patch.data = j->direct ? NULL : thn_pool_alloc(sizeof(T) * (size_t)(size * at_once));
        THN_NEED(j->direct || data);
        patch.run = patch.channel * at_once;
        NAME(begin)(c, column, &cut);
        NAME(cut)(c, &patch, group * c->channels + channel, group * c->filters, columns, &cut);
        /* The gradient of the output, pixels by filters. */
        T *to = top;
        for (npy_intp panel = 0, f = span * j->span * LANES; panel < panels; panel++) {
            const npy_intp width = thn_panel_vectors(vectors, panels, panel) * LANES;
            for (const NAME(Piece) *p = cut.tops.all; p < cut.tops.all + cut.tops.n; to += p->n * width, p++) {
                NAME(pack_top)(to, p->n, width, thn_least(c->filters - f, width), (char *)p->first + f * c->top_strides[1],
                               c->top_strides[1]);
            }
            f += width;
        }
        for (npy_intp ch = 0; ch < channels; ch += at_once) {
            const npy_intp nc = thn_least(channels - ch, at_once), rows = nc * j->taps, before = j->direct ? ch : 0;
            const ThnSlab slab = {channel + ch, nc, 0, j->taps};
            if (!j->direct) {
                NAME(fill_patch)(c, &patch, group, &slab);
            }
            for (npy_intp i = 0; i < nc; i++) {
                for (npy_intp t = 0; t < j->taps; t++) {
                    offsets[i * j->taps + t] = (before + i) * patch.channel + NAME(tap_offset)(c, &patch, t);
                }
            }
            memset(offsets + rows, 0, sizeof(npy_intp) * MR);
            const T *b = top;
            T *panel_sums = sums;
            for (npy_intp panel = 0; panel < panels; panel++) {
                const npy_intp nv = thn_panel_vectors(vectors, panels, panel);
                T *out = panel_sums + ch * j->taps * nv * LANES;
                npy_intp r = 0;
#if MR == 4
                /* One vector of sums for each row keeps too few in flight: two tiles at once. */
                for (; nv == 1 && r + 2 * MR <= rows; r += 2 * MR, out += 2 * MR * LANES) {
                    NAME(tile_8_1)(cut.reads.all, cut.reads.n, offsets + r, b, out, block > first);
                }
#endif
                for (; r < rows; r += MR, out += MR * nv * LANES) {
                    const int m = (int)(rows - r < MR ? rows - r : MR);
                    NAME(tiles)[TILE_OF(m)][nv - 1](cut.reads.all, cut.reads.n, offsets + r, b, out, block > first);
                }
                panel_sums += j->tiles * MR * nv * LANES;
                b += columns * nv * LANES;
            }
        }
    }
    return 0;
}

static const Kernels NAME(kernels) = {MR, LANES, NAME(compute), NAME(gather)};
