/* The hot code of conv_gather.c, included once for each processor and type.
 *
 * T is the type of elements, V a vector of LANES of them, MR x NV vectors the tile of sums that is kept in registers, TARGET the
 * attribute of functions, NAME(x) a name of its own for each. VU is V at any address. */

#define NR (NV * LANES)

/* ---- tiles: M rows, N vectors of columns; a: [depth][MR], b: [depth][N * LANES] */

#define TILE(M, N)                                                                                                         \
    TARGET static void NAME(tile_##M##_##N)(npy_intp depth, const T *a, const T *b, char *out, npy_intp stride, int add)   \
    {                                                                                                                      \
        V acc[M][N];                                                                                                       \
        _Pragma("GCC unroll 8") for (int i = 0; i < M; i++) {                                                              \
            _Pragma("GCC unroll 4") for (int j = 0; j < N; j++) acc[i][j] = (V){0};                                        \
        }                                                                                                                  \
        for (npy_intp k = 0; k < depth; k++, a += MR, b += N * LANES) {                                                    \
            V bv[N];                                                                                                       \
            _Pragma("GCC unroll 4") for (int j = 0; j < N; j++) bv[j] = *(const V *)(b + j * LANES);                       \
            _Pragma("GCC unroll 8") for (int i = 0; i < M; i++) {                                                          \
                const T x = a[i];                                                                                          \
                _Pragma("GCC unroll 4") for (int j = 0; j < N; j++) acc[i][j] += x * bv[j];                                \
            }                                                                                                              \
        }                                                                                                                  \
        _Pragma("GCC unroll 8") for (int i = 0; i < M; i++) {                                                              \
            VU *to = (VU *)(out + i * stride);                                                                             \
            if (add) {                                                                                                     \
                _Pragma("GCC unroll 4") for (int j = 0; j < N; j++) to[j] += acc[i][j];                                    \
            } else {                                                                                                       \
                _Pragma("GCC unroll 4") for (int j = 0; j < N; j++) to[j] = acc[i][j];                                     \
            }                                                                                                              \
        }                                                                                                                  \
    }
#define TILES(M) TILE(M, 1) TILE(M, 2) TILE(M, 3)
TILES(1)
TILES(2)
TILES(3)
TILES(4)
#if MR == 8
TILES(5)
TILES(6)
TILES(7)
TILES(8)
#endif

typedef void (*NAME(Tile))(npy_intp depth, const T *a, const T *b, char *out, npy_intp stride, int add);

static const NAME(Tile) NAME(tiles)[MR][3] = {
#define ROW(M) {NAME(tile_##M##_1), NAME(tile_##M##_2), NAME(tile_##M##_3)},
    ROW(1) ROW(2) ROW(3) ROW(4)
#if MR == 8
    ROW(5) ROW(6) ROW(7) ROW(8)
#endif
#undef ROW
};

/* ---- weights */

/* Panels [panel, end) of a group's rows. */
TARGET static void NAME(pack)(const ThnGatherJob *j, npy_intp group, npy_intp panel, npy_intp end)
{
    const ThnGather *g = &j->g;
    const npy_intp *ws = g->weight_strides, depth = g->channels * j->taps;
    const char *weights = g->weights + group * ws[5];
    T *base = (T *)j->packed + group * j->panels * MR * depth;
    const int dense = ws[4] == (npy_intp)sizeof(T) && (g->kernel[1] == 1 || ws[3] == g->kernel[2] * (npy_intp)sizeof(T)) &&
                      (g->kernel[0] == 1 || ws[2] == g->kernel[1] * g->kernel[2] * (npy_intp)sizeof(T));
    const int rows_dense = dense && ws[1] == j->taps * (npy_intp)sizeof(T);
    npy_intp before = 0; /* depth of the slabs before */
    for (npy_intp s = 0; s < j->slabs; s++) {
        const ThnSlab slab = thn_slab(j, s);
        const npy_intp k_end = slab.channels * slab.taps;
        for (npy_intp p = panel; p < end; p++) {
            T *to = base + before * j->panels * MR + p * MR * k_end;
            const npy_intp row = p * MR, m = g->rows - row < MR ? g->rows - row : MR;
            const char *from = weights + row * ws[0] + slab.channel * ws[1];
            if (m < MR) {
                memset(to, 0, sizeof(T) * (size_t)(k_end * MR));
            }
            if (rows_dense) {
                from += slab.tap * (npy_intp)sizeof(T);
                if (m == MR) {
                    const T *r[MR];
                    for (int i = 0; i < MR; i++) {
                        r[i] = (const T *)(from + i * ws[0]);
                    }
                    for (npy_intp k = 0; k < k_end; k++) {
                        _Pragma("GCC unroll 8") for (int i = 0; i < MR; i++) to[k * MR + i] = r[i][k];
                    }
                } else {
                    for (npy_intp i = 0; i < m; i++) {
                        const T *r = (const T *)(from + i * ws[0]);
                        for (npy_intp k = 0; k < k_end; k++) {
                            to[k * MR + i] = r[k];
                        }
                    }
                }
                continue;
            }
            for (npy_intp c = 0; c < slab.channels; c++, from += ws[1], to += slab.taps * MR) {
                npy_intp x = slab.tap % g->kernel[2], y = slab.tap / g->kernel[2] % g->kernel[1];
                npy_intp z = slab.tap / g->kernel[2] / g->kernel[1];
                for (npy_intp t = 0; t < slab.taps; t++) {
                    const char *at = from + z * ws[2] + y * ws[3] + x * ws[4];
                    if (m == MR) {
                        _Pragma("GCC unroll 8") for (int i = 0; i < MR; i++) to[t * MR + i] = *(const T *)(at + i * ws[0]);
                    } else {
                        for (npy_intp i = 0; i < m; i++) {
                            to[t * MR + i] = *(const T *)(at + i * ws[0]);
                        }
                    }
                    if (++x == g->kernel[2]) {
                        x = 0;
                        if (++y == g->kernel[1]) {
                            y = 0;
                            z++;
                        }
                    }
                }
            }
        }
        before += k_end;
    }
}

/* ---- columns */

/* Output rows of one image that follow each other. */
typedef struct {
    npy_intp image, z, y, zs, ys; /* first and how many; all rows of each plane where there are several */
    npy_intp x, xs;
    npy_intp base;                /* elements in front of it in a patch, of the first channel */
} NAME(Run);

/* Columns [at, at + n) of a panel. */
typedef struct {
    npy_intp at, n;
    const T *from;                /* of the first channel and a tap without offset */
} NAME(Piece);

typedef struct {
    npy_intp at, n;
    char *to;                     /* of the first row */
} NAME(Place);

typedef struct {
    NAME(Run) *runs;
    NAME(Piece) *pieces;
    NAME(Place) *places;
    npy_intp *piece_of, *place_of; /* by panel: the first of them; one more at the end */
    npy_intp nruns;
    npy_intp plane, row, slot, channel; /* elements from one to the next in patches, or in the images */
    npy_intp *offsets;            /* by tap of a slab */
    signed char *slots;           /* by remainder of a tap's place along x: where such elements lie; -1: nowhere */
    T *patch, *panel;
} NAME(Block);

/* Elements at, at + step, ... of a row of `length`; 0 outside. */
TARGET static void NAME(fill)(T *to, npy_intp n, const T *row, npy_intp at, npy_intp step, npy_intp length)
{
    npy_intp first = at < 0 ? (-at + step - 1) / step : 0, end = at >= length ? 0 : (length - 1 - at) / step + 1;
    end = end < n ? end : n;
    first = first < end ? first : end;
    const T *from = row + at;
    npy_intp i = 0;
    for (; i < first; i++) {
        to[i] = 0;
    }
    if (step == 1) {
        for (; i + LANES <= end; i += LANES) {
            *(VU *)(to + i) = *(const VU *)(from + i);
        }
        for (; i < end; i++) {
            to[i] = from[i];
        }
    } else if (step == 2) {
        for (; i < end; i++) {
            to[i] = from[2 * i];
        }
    } else {
        for (; i < end; i++) {
            to[i] = from[step * i];
        }
    }
    for (; i < n; i++) {
        to[i] = 0;
    }
}

/* Copies what the block's columns need of some channels, with padding, rows cut into phases of the stride. */
TARGET static void NAME(fill_patch)(const ThnGatherJob *j, const NAME(Block) *b, npy_intp group, const ThnSlab *slab)
{
    const ThnGather *g = &j->g;
    const npy_intp last_z = (g->kernel[0] - 1) * g->dilation[0], last_y = (g->kernel[1] - 1) * g->dilation[1];
    for (npy_intp r = 0; r < b->nruns; r++) {
        const NAME(Run) *run = &b->runs[r];
        const npy_intp nz = (run->zs - 1) * g->stride[0] + last_z + 1, ny = (run->ys - 1) * g->stride[1] + last_y + 1;
        const char *image = g->in_data + run->image * g->in_strides[0] +
                            (group * g->channels + slab->channel) * g->in_strides[1];
        for (npy_intp c = 0; c < slab->channels; c++, image += g->in_strides[1]) {
            for (npy_intp z = 0; z < nz; z++) {
                const npy_intp zi = run->z * g->stride[0] + z - g->low[0];
                for (npy_intp y = 0; y < ny; y++) {
                    const npy_intp yi = run->y * g->stride[1] + y - g->low[1];
                    T *to = b->patch + run->base + c * b->channel + z * b->plane + y * b->row;
                    const int inside = zi >= 0 && zi < g->in[0] && yi >= 0 && yi < g->in[1];
                    const T *row = inside ? (const T *)(image + zi * g->in_strides[2] + yi * g->in_strides[3]) : NULL;
                    for (npy_intp p = 0; p < g->stride[2]; p++) {
                        if (b->slots[p] < 0) {
                            continue;
                        }
                        T *slot = to + b->slots[p] * b->slot;
                        if (inside) {
                            NAME(fill)(slot, b->slot, row, run->x * g->stride[2] + p - g->low[2], g->stride[2], g->in[2]);
                        } else {
                            memset(slot, 0, sizeof(T) * (size_t)b->slot);
                        }
                    }
                }
            }
        }
    }
}

/* A panel of `width` columns from its pieces. */
TARGET static void NAME(fill_panel)(const ThnGatherJob *j, const NAME(Block) *b, const ThnSlab *slab, npy_intp panel,
                                    npy_intp width)
{
    const NAME(Piece) *pieces = b->pieces + b->piece_of[panel];
    const npy_intp n = b->piece_of[panel + 1] - b->piece_of[panel], *offsets = b->offsets;
    T *to = b->panel;
    if (n == 1 && pieces->n == NR) {
        const T *from = pieces->from;
        for (npy_intp c = 0; c < slab->channels; c++, from += b->channel) {
            for (npy_intp t = 0; t < slab->taps; t++, to += NR) {
                const T *row = from + offsets[t];
                _Pragma("GCC unroll 4") for (int v = 0; v < NV; v++) {
                    *(V *)(to + v * LANES) = *(const VU *)(row + v * LANES);
                }
            }
        }
        return;
    }
    for (npy_intp c = 0; c < slab->channels; c++) {
        for (npy_intp t = 0; t < slab->taps; t++, to += width) {
            for (npy_intp p = 0; p < n; p++) {
                const T *row = pieces[p].from + c * b->channel + offsets[t];
                T *at = to + pieces[p].at;
                const npy_intp len = pieces[p].n;
                if (j->direct) {
                    npy_intp i = 0;
                    for (; i + LANES <= len; i += LANES) {
                        *(VU *)(at + i) = *(const VU *)(row + i);
                    }
                    for (; i < len; i++) {
                        at[i] = row[i];
                    }
                } else {
                    /* What is copied too much is overwritten by what follows; there is room behind patch and panel. */
                    for (npy_intp i = 0; i < len; i += LANES) {
                        *(VU *)(at + i) = *(const VU *)(row + i);
                    }
                }
            }
        }
    }
}

/* Writes or adds a tile that lies in several places. */
TARGET static void NAME(put)(const T *tile, npy_intp width, int m, const NAME(Place) *places, npy_intp n, npy_intp row_step,
                             npy_intp step, int add)
{
    for (npy_intp p = 0; p < n; p++) {
        for (int i = 0; i < m; i++) {
            const T *from = tile + i * width + places[p].at;
            char *to = places[p].to + i * row_step;
            const npy_intp len = places[p].n;
            if (step != sizeof(T)) {
                for (npy_intp k = 0; k < len; k++) {
                    T *at = (T *)(to + k * step);
                    *at = add ? *at + from[k] : from[k];
                }
            } else if (add) {
                for (npy_intp k = 0; k < len; k++) {
                    ((T *)to)[k] += from[k];
                }
            } else {
                for (npy_intp k = 0; k < len; k++) {
                    ((T *)to)[k] = from[k];
                }
            }
        }
    }
}

/* Finds runs, and the size of a patch of one channel; returns it. */
TARGET static npy_intp NAME(find_runs)(const ThnGatherJob *j, NAME(Block) *b, npy_intp column, npy_intp columns)
{
    const ThnGather *g = &j->g;
    const npy_intp *out = g->out, last_z = (g->kernel[0] - 1) * g->dilation[0], last_y = (g->kernel[1] - 1) * g->dilation[1];
    npy_intp zs = 0, ys = 0, xs = 0;
    b->nruns = 0;
    for (npy_intp n = column; n < column + columns;) {
        const npy_intp image = n / j->pixels, first = n % j->pixels;
        const npy_intp end = (image + 1) * j->pixels < column + columns ? j->pixels : column + columns - image * j->pixels;
        const npy_intp row0 = first / out[2], row1 = (end - 1) / out[2];
        NAME(Run) *run = &b->runs[b->nruns++];
        *run = (NAME(Run)){.image = image, .z = row0 / out[1], .zs = row1 / out[1] - row0 / out[1] + 1, .xs = out[2]};
        run->ys = run->zs > 1 ? out[1] : row1 - row0 + 1;
        run->y = run->zs > 1 ? 0 : row0 % out[1];
        if (row0 == row1) {
            run->x = first % out[2];
            run->xs = end - first;
        }
        zs = run->zs > zs ? run->zs : zs;
        ys = run->ys > ys ? run->ys : ys;
        xs = run->xs > xs ? run->xs : xs;
        n = image * j->pixels + end;
    }
    memset(b->slots, -1, (size_t)g->stride[2]);
    int nslots = 0;
    for (npy_intp t = 0; t < g->kernel[2]; t++) {
        const npy_intp p = t * g->dilation[2] % g->stride[2];
        if (b->slots[p] < 0) {
            b->slots[p] = (signed char)nslots++;
        }
    }
    if (j->direct) {
        b->channel = g->in_strides[1] / (npy_intp)sizeof(T);
        b->plane = g->in_strides[2] / (npy_intp)sizeof(T);
        b->row = g->in_strides[3] / (npy_intp)sizeof(T);
        b->slot = 0;
        return 0;
    }
    b->slot = xs + (g->kernel[2] - 1) * g->dilation[2] / g->stride[2];
    b->row = b->slot * nslots;
    b->plane = b->row * ((ys - 1) * g->stride[1] + last_y + 1);
    b->channel = b->plane * ((zs - 1) * g->stride[0] + last_z + 1);
    return b->channel * b->nruns;
}

/* Cuts the block's panels into pieces of rows. Runs have their bases. */
TARGET static void NAME(find_pieces)(const ThnGatherJob *j, NAME(Block) *b, npy_intp group, npy_intp column, npy_intp columns)
{
    const ThnGather *g = &j->g;
    const npy_intp *out = g->out;
    const int dense = g->out_strides[3] == out[2] * g->out_strides[4] && g->out_strides[2] == out[1] * g->out_strides[3];
    NAME(Piece) *piece = b->pieces;
    NAME(Place) *place = b->places;
    const NAME(Run) *run = b->runs;
    npy_intp panel = 0, n = column;
    npy_intp image = n / j->pixels, x = n % out[2], y = n / out[2] % out[1], z = n % j->pixels / out[2] / out[1];
    b->piece_of[0] = b->place_of[0] = 0;
    for (npy_intp at = 0; n < column + columns;) {
        npy_intp len = out[2] - x;
        len = len < NR - at ? len : NR - at;
        len = len < column + columns - n ? len : column + columns - n;
        const T *from;
        if (j->direct) {
            from = (const T *)(g->in_data + image * g->in_strides[0] + group * g->channels * g->in_strides[1] +
                               (z * g->stride[0] - g->low[0]) * g->in_strides[2] +
                               (y * g->stride[1] - g->low[1]) * g->in_strides[3]) +
                   (x - g->low[2]);
        } else {
            from = b->patch + run->base + (z - run->z) * g->stride[0] * b->plane + (y - run->y) * g->stride[1] * b->row +
                   (x - run->x);
        }
        if (j->direct && piece > b->pieces + b->piece_of[panel] && piece[-1].from + piece[-1].n == from) {
            piece[-1].n += len;
        } else {
            *piece++ = (NAME(Piece)){at, len, from};
        }
        char *to = g->out_data + image * g->out_strides[0] + group * g->rows * g->out_strides[1] + z * g->out_strides[2] +
                   y * g->out_strides[3] + x * g->out_strides[4];
        if (dense && place > b->places + b->place_of[panel] && place[-1].to + place[-1].n * g->out_strides[4] == to) {
            place[-1].n += len;
        } else {
            *place++ = (NAME(Place)){at, len, to};
        }
        at += len;
        n += len;
        x += len;
        if (x == out[2]) {
            x = 0;
            if (++y == out[1]) {
                y = 0;
                if (++z == out[0]) {
                    z = 0;
                    image++;
                    run++;
                }
            }
        }
        if (at == NR || n == column + columns) {
            at = 0;
            panel++;
            b->piece_of[panel] = piece - b->pieces;
            b->place_of[panel] = place - b->places;
        }
    }
}

TARGET static int NAME(compute)(const ThnGatherJob *j, npy_intp group, npy_intp row, npy_intp rows, npy_intp column,
                                npy_intp columns)
{
    const ThnGather *g = &j->g;
    const npy_intp panels = (columns + NR - 1) / NR, rows_of_images = columns / g->out[2] + columns / j->pixels + 3;
    const npy_intp depth = g->channels * j->taps, most = j->slab_channels * j->slab_taps;
    NAME(Block) b;
    /* One piece of memory for all tables. */
    const size_t nruns = (size_t)(columns / j->pixels + 2), npieces = (size_t)(panels + rows_of_images);
    const size_t sizes[] = {sizeof *b.runs * nruns,          sizeof *b.pieces * npieces,         sizeof *b.places * npieces,
                            sizeof(npy_intp) * (size_t)(panels + 1), sizeof(npy_intp) * (size_t)(panels + 1),
                            sizeof(npy_intp) * (size_t)j->slab_taps, (size_t)g->stride[2]};
    size_t total = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        total += (sizes[i] + 63) / 64 * 64;
    }
    const size_t panel_bytes = (sizeof(T) * (size_t)(most * NR + 2 * NR) + 63) / 64 * 64;
    char *memory = thn_pool_alloc(total + panel_bytes), *at = memory;
    if (!memory) {
        return -1;
    }
    b.panel = (T *)at;
    at += panel_bytes;
    void **tables[] = {(void **)&b.runs,     (void **)&b.pieces,  (void **)&b.places, (void **)&b.piece_of,
                       (void **)&b.place_of, (void **)&b.offsets, (void **)&b.slots};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        *tables[i] = at;
        at += (sizes[i] + 63) / 64 * 64;
    }
    npy_intp patch = NAME(find_runs)(j, &b, column, columns);
    b.patch = NULL;
    if (!j->direct) {
        const npy_intp run_size = b.channel * j->slab_channels;
        for (npy_intp r = 0; r < b.nruns; r++) {
            b.runs[r].base = r * run_size;
        }
        b.patch = thn_pool_alloc(sizeof(T) * (size_t)(patch * j->slab_channels + 2 * NR));
        if (!b.patch) {
            thn_pool_free(memory);
            return -1;
        }
    }
    NAME(find_pieces)(j, &b, group, column, columns);
    T tile[MR * NR] __attribute__((aligned(64)));
    npy_intp before = 0;
    const npy_intp step = g->out_strides[4];
    for (npy_intp s = 0; s < j->slabs; s++) {
        const ThnSlab slab = thn_slab(j, s);
        const npy_intp k_end = slab.channels * slab.taps;
        const T *weights = (const T *)j->packed + (group * depth + before) * j->panels * MR;
        for (npy_intp t = 0; t < slab.taps; t++) {
            const npy_intp tap = slab.tap + t, x = tap % g->kernel[2] * g->dilation[2];
            const npy_intp y = tap / g->kernel[2] % g->kernel[1], z = tap / g->kernel[2] / g->kernel[1];
            b.offsets[t] = z * g->dilation[0] * b.plane + y * g->dilation[1] * b.row + x / g->stride[2] +
                           b.slots[x % g->stride[2]] * b.slot;
        }
        if (j->direct) {
            for (npy_intp p = 0; s > 0 && slab.tap == 0 && p < b.piece_of[panels]; p++) {
                b.pieces[p].from += j->slab_channels * b.channel;
            }
        } else if (slab.tap == 0) {
            NAME(fill_patch)(j, &b, group, &slab);
        }
        for (npy_intp p = 0; p < panels; p++) {
            const npy_intp left = columns - p * NR, n = left < NR ? left : NR, nv = (n + LANES - 1) / LANES;
            NAME(fill_panel)(j, &b, &slab, p, nv * LANES);
            const NAME(Place) *places = b.places + b.place_of[p];
            const npy_intp nplaces = b.place_of[p + 1] - b.place_of[p];
            const int straight = nplaces == 1 && places->n == nv * LANES && step == (npy_intp)sizeof(T);
            for (npy_intp r = row; r < row + rows; r += MR) {
                const int m = (int)(g->rows - r < MR ? g->rows - r : MR);
                const NAME(Tile) run = NAME(tiles)[m - 1][nv - 1];
                const T *a = weights + r * k_end;
                if (straight) {
                    run(k_end, a, b.panel, places->to + r * g->out_strides[1], g->out_strides[1], s > 0);
                    continue;
                }
                run(k_end, a, b.panel, (char *)tile, nv * LANES * (npy_intp)sizeof(T), 0);
                /* The places are those of row 0. */
                for (npy_intp q = 0; q < nplaces; q++) {
                    NAME(Place) place = places[q];
                    place.to += r * g->out_strides[1];
                    NAME(put)(tile, nv * LANES, m, &place, 1, g->out_strides[1], step, s > 0);
                }
            }
        }
        before += k_end;
    }
    thn_pool_free(b.patch);
    thn_pool_free(memory);
    return 0;
}

static const ThnGatherKernels NAME(kernels) = {MR, NR, NAME(pack), NAME(compute)};

#undef NR
#undef TILE
#undef TILES
#undef T
#undef V
#undef VU
#undef LANES
#undef MR
#undef NV
#undef NAME
