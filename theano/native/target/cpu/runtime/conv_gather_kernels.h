/* The hot code of conv_gather.c, included once for each processor and type by variants.h. */

#define NV 3 /* vectors of the tile of sums */
#define NR (NV * LANES)

#include "conv_tiles.h"

/* ---- tiles: M rows, N vectors of columns; a: [depth][MR] */

/* What the k-th weight of a row multiplies is FROM. One loop: one of taps in one of channels costs open tiles of one tap a fifth. */
#define TILE(NAMED, M, N, FROM)                                                                                            \
    TARGET static void NAME(NAMED##_##M##_##N)(npy_intp depth, const npy_intp *offsets, const T *a, const T *b, char *out, \
                                               npy_intp stride, int add)                                                   \
    {                                                                                                                      \
        (void)offsets;                                                                                                     \
        _Pragma("GCC unroll 8") for (int i = 0; i < M; i++) {                                                              \
            __builtin_prefetch(out + i * stride, 1);                                                                       \
            __builtin_prefetch(out + i * stride + 64, 1);                                                                  \
        }                                                                                                                  \
        CLEAR_SUMS(M, N)                                                                                                   \
        for (npy_intp k = 0; k < depth; k++, a += MR) {                                                                    \
            ADD_PRODUCTS(M, N, a[i], VU, FROM)                                                                             \
        }                                                                                                                  \
        WRITE_SUMS(M, N, VU, out + i * stride, add)                                                                        \
    }
/* Packed columns, b: [depth][N * LANES]. Open ones are not packed but lie where they are in a patch, at their offsets: where rows
 * are few, packing takes longer than what it saves. */
#define BOTH(M, N) TILE(packed, M, N, b + k * (N * LANES)) TILE(open, M, N, b + offsets[k])
#define TILES(M) BOTH(M, 1) BOTH(M, 2) BOTH(M, 3)
TILES(1)
TILES(2)
TILES(4)
#define ROW(NAMED, M) {NAME(NAMED##_##M##_1), NAME(NAMED##_##M##_2), NAME(NAMED##_##M##_3)},
#if MR == 8
TILES(8)
#define LAST_ROW(NAMED) ROW(NAMED, 8)
#else
#define LAST_ROW(NAMED)
#endif

/* By the number of rows. Three and more than four are computed by the next larger one, which writes what nobody reads. */
#define TILE_OF(m) ((m) > 4 ? 3 : (m) > 2 ? 2 : (m) - 1)
#define IS_EXACT(m) ((m) == 1 || (m) == 2 || (m) == 4 || (m) == MR)

typedef void (*NAME(Tile))(npy_intp depth, const npy_intp *offsets, const T *a, const T *b, char *out, npy_intp stride, int add);

static const NAME(Tile) NAME(tiles)[2][4][3] = {
    {ROW(packed, 1) ROW(packed, 2) ROW(packed, 4) LAST_ROW(packed)},
    {ROW(open, 1) ROW(open, 2) ROW(open, 4) LAST_ROW(open)},
};
#undef LAST_ROW

/* ---- weights */

/* Panels [panel, end) of a group's rows. */
TARGET static void NAME(pack)(const Job *j, npy_intp group, npy_intp panel, npy_intp end)
{
    const ThnConv *c = &j->c;
    const npy_intp *ws = c->filter_strides;
    const char *weights = c->at.filters + group * ws[5];
    T *to_slab = (T *)j->packed + group * j->panels * MR * c->channels * j->taps;
    /* Whether a row's weights follow each other, those of a slab, too. */
    int dense = ws[1] == j->taps * (npy_intp)sizeof(T);
    for (npy_intp t = 0; t < j->taps; t++) {
        dense = dense && j->places[t] == t * (npy_intp)sizeof(T);
    }
    for (npy_intp s = 0; s < j->slabs; s++) {
        const ThnSlab slab = slab_of(j, s);
        const npy_intp k_end = slab.channels * slab.taps;
        npy_intp first = panel;
        for (; dense && first < end && (first + 1) * MR <= c->filters; first++) {
            T *to = to_slab + first * MR * k_end;
            const T *r[MR];
            for (int i = 0; i < MR; i++) {
                r[i] = (const T *)(weights + (first * MR + i) * ws[0] + slab.channel * ws[1] + j->places[slab.tap]);
            }
            for (npy_intp k = 0; k < k_end; k++) {
                _Pragma("GCC unroll 8") for (int i = 0; i < MR; i++) to[k * MR + i] = r[i][k];
            }
        }
        /* Some panels at a time, in the order in which memory lies: a channel's taps of all their rows, then the next. */
        for (; first < end; first += 16) {
            for (npy_intp ch = 0; ch < slab.channels; ch++) {
                for (npy_intp p = first; p < first + 16 && p < end; p++) {
                    T *to = to_slab + (p * k_end + ch * slab.taps) * MR;
                    const npy_intp m = c->filters - p * MR;
                    const char *from = weights + p * MR * ws[0] + (slab.channel + ch) * ws[1];
                    __builtin_prefetch((const char *)((uintptr_t)from + 8 * (uintptr_t)ws[1])); /* of one channel it may be anything */
                    for (npy_intp t = 0; t < slab.taps; t++, to += MR) {
                        const char *at = from + j->places[slab.tap + t];
                        if (m >= MR && ws[0] == (npy_intp)sizeof(T)) {
                            memcpy(to, at, MR * sizeof(T));
                        } else if (m >= MR) {
                            _Pragma("GCC unroll 8") for (int i = 0; i < MR; i++) to[i] = *(const T *)(at + i * ws[0]);
                        }
                        for (npy_intp i = 0; i < MR && m < MR; i++) {
                            to[i] = i < m ? *(const T *)(at + i * ws[0]) : 0;
                        }
                    }
                }
            }
        }
        to_slab += k_end * j->panels * MR;
    }
}

/* ---- columns */

#include "conv_patch.h"

typedef struct {
    NAME(Patch) patch;
    NAME(Cut) cut;                /* all panels */
    npy_intp *read_of, *top_of;   /* by panel: the first of them; one more at the end */
    npy_intp *offsets;            /* by channel and tap of a slab */
    T *panel;
} NAME(Block);

/* A panel of `width` columns from its pieces, vector by vector. What one copies too much is overwritten by the next; there is room
 * behind patches and panels, not behind images. Of images the next panel's columns are asked for, where one piece fills this
 * one: its rows are too many for the processor to foresee. */
TARGET static void NAME(fill_panel)(const Job *j, const NAME(Block) *b, npy_intp depth, npy_intp panel, npy_intp width)
{
    const NAME(Piece) *pieces = b->cut.reads.all + b->read_of[panel];
    const npy_intp npieces = b->read_of[panel + 1] - b->read_of[panel], *offsets = b->offsets;
    struct {
        const T *from;
        npy_intp to, n;
    } copies[NR + NV], shorts[NR];
    npy_intp n = 0, nshorts = 0;
    for (npy_intp p = 0; p < npieces; p++) {
        const npy_intp len = pieces[p].n, at = pieces[p].at;
        for (npy_intp i = 0; i < len; i += LANES) {
            /* The last vector of a piece lies within it, where there is room. */
            const npy_intp k = i + LANES <= len ? i : len > LANES ? len - LANES : 0;
            if (len < LANES && j->direct) {
                shorts[nshorts].from = pieces[p].first;
                shorts[nshorts].to = at;
                shorts[nshorts++].n = len;
            } else {
                copies[n].from = pieces[p].first + k;
                copies[n++].to = at + k;
            }
        }
    }
    T *to = b->panel;
#define COPY(N, WHOLE)                                                                                                     \
    for (npy_intp k = 0; k < depth; k++, to += width) {                                                                    \
        _Pragma("GCC unroll 6") for (int i = 0; i < N; i++) {                                                              \
            const T *from = (WHOLE ? pieces->first + i * LANES : copies[i].from) + offsets[k];                             \
            *(VU *)(to + (WHOLE ? i * LANES : copies[i].to)) = *(const VU *)from;                                          \
            if (WHOLE) {                                                                                                   \
                __builtin_prefetch(from + width, 0, 2);                                                                    \
            }                                                                                                              \
        }                                                                                                                  \
    }
    switch (j->direct && npieces == 1 && pieces->n == width ? -n : n) {
    case -1: COPY(1, 1) break;
    case -2: COPY(2, 1) break;
    case -3: COPY(3, 1) break;
    case 0: break;
    case 1: COPY(1, 0) break;
    case 2: COPY(2, 0) break;
    case 3: COPY(3, 0) break;
    case 4: COPY(4, 0) break;
    case 5: COPY(5, 0) break;
    case 6: COPY(6, 0) break;
    default: COPY(n, 0)
    }
#undef COPY
    for (npy_intp s = 0; s < nshorts; s++) {
        to = b->panel + shorts[s].to;
        for (npy_intp k = 0; k < depth; k++, to += width) {
            const T *row = shorts[s].from + offsets[k];
            for (npy_intp i = 0; i < shorts[s].n; i++) {
                to[i] = row[i];
            }
        }
    }
}

/* Writes or adds n elements to every second place, those beside them with it; returns how many are done. */
TARGET static inline npy_intp NAME(put_second)(const ThnConv *c, const T *from, T *to, npy_intp n, int add)
{
    npy_intp k = 0;
    for (to -= c->beside < 0; k + LANES + c->odd <= n; k += LANES) {
        const V x = *(const VU *)(from + k);
        _Pragma("GCC unroll 2") for (int h = 0; h < 2; h++, to += LANES) {
            const V before = c->zeros && !add ? (V){0} : *(const VU *)to;
            const V twice = THN_SHUFFLE(x, x, NAME(orders)[h]), y = add ? before + twice : twice;
            *(VU *)to = c->beside > 0 ? THN_SHUFFLE(y, before, NAME(orders)[2]) : THN_SHUFFLE(before, y, NAME(orders)[2]);
        }
    }
    return k;
}

/* Writes or adds a tile to several places, which are those of `row`'s first element less `row` rows. */
TARGET static void NAME(put)(const ThnConv *c, const T *tile, npy_intp width, int m, const NAME(Piece) *places, npy_intp n,
                             npy_intp row, int add)
{
    const npy_intp row_step = c->top_strides[1], step = c->top_strides[4];
    for (npy_intp p = 0; p < n; p++) {
        const npy_intp len = places[p].n;
        const T *from = tile + places[p].at;
        char *to = (char *)places[p].first + row * row_step;
        for (int i = 0; i < m; i++, from += width, to += row_step) {
            T *at = (T *)to;
            npy_intp k = 0;
            if (step != sizeof(T)) {
                for (k = c->beside ? NAME(put_second)(c, from, at, len, add) : 0; k < len; k++) {
                    T *one = (T *)(to + k * step);
                    *one = add ? *one + from[k] : from[k];
                    if (c->zeros && !add) {
                        one[c->beside] = 0;
                    }
                }
                continue;
            }
            for (; k + LANES <= len; k += LANES) {
                const V x = *(const VU *)(from + k);
                *(VU *)(at + k) = add ? *(const VU *)(at + k) + x : x;
            }
            for (; k < len; k++) {
                at[k] = add ? at[k] + from[k] : from[k];
            }
        }
    }
}

TARGET static int NAME(compute)(const Job *j, npy_intp group, npy_intp row, npy_intp rows, npy_intp panel, npy_intp panels)
{
    const ThnConv *c = &j->c;
    const npy_intp column = panel_column(j, panel, LANES), columns = panel_column(j, panel + panels, LANES) - column;
    const npy_intp rows_of_images = columns / c->top[2] + columns / j->pixels + 3;
    const npy_intp depth = c->channels * j->taps, most = j->slab_channels * j->slab_taps;
    NAME(Block) b;
    /* One piece of memory for all tables. */
    const size_t nruns = (size_t)(columns / j->pixels + 2), npieces = (size_t)(panels + rows_of_images);
    THN_POOLED char *memory = THN_POOL_PARTS(
        {&b.panel, sizeof(T) * (size_t)(most * NR + 2 * NR)}, {&b.patch.runs, sizeof *b.patch.runs * nruns},
        {&b.cut.reads.all, sizeof *b.cut.reads.all * npieces}, {&b.cut.tops.all, sizeof *b.cut.tops.all * npieces},
        {&b.read_of, sizeof(npy_intp) * (size_t)(panels + 1)}, {&b.top_of, sizeof(npy_intp) * (size_t)(panels + 1)},
        {&b.offsets, sizeof(npy_intp) * (size_t)most}, {&b.patch.slots, (size_t)c->stride[2]});
    THN_NEED(memory);
    b.patch.direct = j->direct;
    const npy_intp patch = NAME(find_runs)(c, &b.patch, column, column + columns);
    THN_POOLED T *data = NULL;
    if (!j->direct) {
        b.patch.run = b.patch.channel * j->slab_channels;
        THN_NEED(data = thn_pool_alloc(sizeof(T) * (size_t)(patch * j->slab_channels + 2 * NR)));
    }
    b.patch.data = data;
    NAME(begin)(c, column, &b.cut);
    b.read_of[0] = b.top_of[0] = 0;
    for (npy_intp p = 0, at = column, end; p < panels; p++, at = end) {
        end = panel_column(j, panel + p + 1, LANES);
        NAME(cut)(c, &b.patch, group * c->channels, group * c->filters, end - at, &b.cut);
        b.read_of[p + 1] = b.cut.reads.n;
        b.top_of[p + 1] = b.cut.tops.n;
    }
    T tile[MR * NR] __attribute__((aligned(64)));
    npy_intp before = 0;
    for (npy_intp s = 0; s < j->slabs; s++) {
        const ThnSlab slab = slab_of(j, s);
        const npy_intp k_end = slab.channels * slab.taps;
        const T *weights = (const T *)j->packed + (group * depth + before) * j->panels * MR;
        for (npy_intp t = 0; t < slab.taps; t++) {
            b.offsets[t] = NAME(tap_offset)(c, &b.patch, slab.tap + t);
        }
        for (npy_intp k = slab.taps; k < k_end; k++) {
            b.offsets[k] = b.offsets[k - slab.taps] + b.patch.channel;
        }
        if (j->direct) {
            for (npy_intp p = 0; s > 0 && slab.tap == 0 && p < b.cut.reads.n; p++) {
                b.cut.reads.all[p].first += j->slab_channels * b.patch.channel;
            }
        } else if (slab.tap == 0) {
            NAME(fill_patch)(c, &b.patch, group, &slab);
        }
        for (npy_intp p = 0; p < panels; p++) {
            const npy_intp nv = thn_panel_vectors(j->unit_vectors, j->unit_panels, (panel + p) % j->unit_panels);
            const T *from = j->open ? b.cut.reads.all[b.read_of[p]].first : b.panel;
            if (!j->open) {
                NAME(fill_panel)(j, &b, k_end, p, nv * LANES);
            }
            const NAME(Piece) *places = b.cut.tops.all + b.top_of[p];
            const npy_intp nplaces = b.top_of[p + 1] - b.top_of[p];
            const int even = nplaces == 1 && places->n == nv * LANES && c->top_strides[4] == (npy_intp)sizeof(T);
            for (npy_intp r = row; r < row + rows; r += MR) {
                const int m = (int)(c->filters - r < MR ? c->filters - r : MR);
                const NAME(Tile) run = NAME(tiles)[j->open][TILE_OF(m)][nv - 1];
                const T *a = weights + r * k_end;
                const int straight = even && IS_EXACT(m);
                char *to = straight ? (char *)places->first + r * c->top_strides[1] : (char *)tile;
                const npy_intp to_step = straight ? c->top_strides[1] : nv * LANES * (npy_intp)sizeof(T);
                const int add = straight && s > 0;
                for (int i = 0; i < m && !straight; i++) { /* where what it is put to begins and ends */
                    const char *ahead = (const char *)places->first + (r + i) * c->top_strides[1];
                    __builtin_prefetch(ahead, 1);
                    __builtin_prefetch(ahead + places->n * c->top_strides[4] - 1, 1);
                }
                run(k_end, b.offsets, a, from, to, to_step, add);
                if (!straight) {
                    NAME(put)(c, tile, nv * LANES, m, places, nplaces, r, s > 0);
                }
            }
        }
        before += k_end;
    }
    return 0;
}

static const Kernels NAME(kernels) = {MR, LANES, NAME(pack), NAME(compute)};
