/* Patches: copies of the few rows of some channels that a block of output pixels reads, with their padding and with rows cut into
 * phases of the stride. Included by the kernels of convolutions, for each processor and type; see conv_gather_kernels.h. */

/* Output rows of one image that follow each other. */
typedef struct {
    npy_intp image, z, y, zs, ys; /* first and how many; all rows of each plane where there are several */
    npy_intp x, xs;
} NAME(Run);

typedef struct {
    NAME(Run) *runs;
    npy_intp nruns;
    int direct;                   /* no patches: the images themselves are read */
    npy_intp plane, row, slot, channel; /* elements from one to the next in patches, or in the images */
    npy_intp run;                       /* those of a run's channels in a patch */
    signed char *slots;                 /* by remainder of a tap's place along x: where such elements lie; -1: nowhere */
    T *data;
} NAME(Patch);

/* Finds the runs of columns [n, end_column), and the size of a patch of one channel; returns it. */
TARGET static npy_intp NAME(find_runs)(const ThnConv *c, NAME(Patch) *b, npy_intp n, npy_intp end_column)
{
    const npy_intp *out = c->top, last_z = (c->kernel[0] - 1) * c->dilation[0], last_y = (c->kernel[1] - 1) * c->dilation[1];
    npy_intp pixels = thn_conv_size(out), zs = 0, ys = 0, xs = 0;
    b->nruns = 0;
    while (n < end_column) {
        const npy_intp image = n / pixels, first = n % pixels, end = thn_least(pixels, end_column - image * pixels);
        const npy_intp row0 = first / out[2], row1 = (end - 1) / out[2];
        NAME(Run) *run = &b->runs[b->nruns++];
        *run = (NAME(Run)){.image = image, .z = row0 / out[1], .zs = row1 / out[1] - row0 / out[1] + 1, .xs = out[2]};
        run->ys = run->zs > 1 ? out[1] : row1 - row0 + 1;
        run->y = run->zs > 1 ? 0 : row0 % out[1];
        if (row0 == row1) {
            run->x = first % out[2];
            run->xs = end - first;
        }
        zs = thn_most(zs, run->zs);
        ys = thn_most(ys, run->ys);
        xs = thn_most(xs, run->xs);
        n = image * pixels + end;
    }
    memset(b->slots, -1, (size_t)c->stride[2]);
    int nslots = 0;
    for (npy_intp t = 0; t < c->kernel[2]; t++) {
        const npy_intp p = t * c->dilation[2] % c->stride[2];
        if (b->slots[p] < 0) {
            b->slots[p] = (signed char)nslots++;
        }
    }
    if (b->direct) {
        b->channel = c->image_strides[1] / (npy_intp)sizeof(T);
        b->plane = c->image_strides[2] / (npy_intp)sizeof(T);
        b->row = c->image_strides[3] / (npy_intp)sizeof(T);
        b->slot = 0;
        return 0;
    }
    b->slot = xs + (c->kernel[2] - 1) * c->dilation[2] / c->stride[2];
    b->row = b->slot * nslots;
    b->plane = b->row * ((ys - 1) * c->stride[1] + last_y + 1);
    b->channel = b->plane * ((zs - 1) * c->stride[0] + last_z + 1);
    return b->channel * b->nruns;
}

/* Copies what the block's columns need of some channels, with padding, rows cut into phases of the stride. */
TARGET static void NAME(fill_patch)(const ThnConv *c, const NAME(Patch) *b, npy_intp group, const ThnSlab *slab)
{
    const npy_intp last_z = (c->kernel[0] - 1) * c->dilation[0], last_y = (c->kernel[1] - 1) * c->dilation[1], nothing[2] = {0, 0};
    for (npy_intp r = 0; r < b->nruns; r++) {
        const NAME(Run) *run = &b->runs[r];
        const npy_intp nz = (run->zs - 1) * c->stride[0] + last_z + 1, ny = (run->ys - 1) * c->stride[1] + last_y + 1;
        const char *image = c->at.images + run->image * c->image_strides[0] +
                            (group * c->channels + slab->channel) * c->image_strides[1];
        for (npy_intp ch = 0; ch < slab->channels; ch++, image += c->image_strides[1]) {
            for (npy_intp z = 0; z < nz; z++) {
                const npy_intp at = run->z * c->stride[0] + z - c->low[0];
                T *to = b->data + r * b->run + ch * b->channel + z * b->plane;
                for (npy_intp p = 0; p < c->stride[2]; p++) {
                    if (b->slots[p] >= 0) {
                        NAME(copy_rows)(image + at * c->image_strides[2], c->image_strides[3],
                                        at >= 0 && at < c->image[0] ? c->image + 1 : nothing, run->y * c->stride[1] - c->low[1], 1,
                                        ny, run->x * c->stride[2] + p - c->low[2], c->stride[2], b->slot,
                                        (char *)(to + b->slots[p] * b->slot), b->row * (npy_intp)sizeof(T), c->image_strides[1]);
                    }
                }
            }
        }
    }
}

/* Elements from where a tap reads to where one without offset does. */
static inline npy_intp NAME(tap_offset)(const ThnConv *c, const NAME(Patch) *b, npy_intp tap)
{
    const npy_intp x = tap % c->kernel[2] * c->dilation[2], y = tap / c->kernel[2] % c->kernel[1];
    return tap / c->kernel[2] / c->kernel[1] * c->dilation[0] * b->plane + y * c->dilation[1] * b->row + x / c->stride[2] +
           b->slots[x % c->stride[2]] * b->slot;
}

/* What a tap without offset reads for the output pixel (z, y, x) of an image: that of a channel, or of the first one in a patch. */
static inline T *NAME(pixel)(const ThnConv *c, const NAME(Patch) *b, npy_intp image, npy_intp channel, npy_intp z, npy_intp y,
                             npy_intp x)
{
    if (b->direct) {
        return (T *)(c->at.images + image * c->image_strides[0] + channel * c->image_strides[1] +
                     (z * c->stride[0] - c->low[0]) * c->image_strides[2] + (y * c->stride[1] - c->low[1]) * c->image_strides[3]) +
               (x - c->low[2]);
    }
    const npy_intp r = image - b->runs->image;
    const NAME(Run) *run = &b->runs[r];
    return b->data + r * b->run + (z - run->z) * c->stride[0] * b->plane + (y - run->y) * c->stride[1] * b->row + (x - run->x);
}

/* Columns [at, at + n), which lie behind each other from `first` on. */
typedef struct {
    npy_intp at, n;
    T *first;
} NAME(Piece);

typedef struct {
    NAME(Piece) *all;
    npy_intp n, joined;           /* pieces; the first of them that others may be joined to */
} NAME(Pieces);

static inline void NAME(append)(NAME(Pieces) *p, npy_intp at, npy_intp n, char *first, npy_intp step)
{
    NAME(Piece) *last = &p->all[p->n - 1];
    if (p->n > p->joined && (char *)last->first + last->n * step == first) {
        last->n += n;
    } else {
        p->all[p->n++] = (NAME(Piece)){at, n, (T *)first};
    }
}

/* Columns cut into pieces, as they are read from a channel and as they are written, or read, of a filter. */
typedef struct {
    npy_intp image, z, y, x;      /* of the next column */
    NAME(Pieces) reads, tops;
} NAME(Cut);

TARGET static void NAME(begin)(const ThnConv *c, npy_intp column, NAME(Cut) *w)
{
    const npy_intp *top = c->top, planes = column / top[2] / top[1];
    w->image = planes / top[0];
    w->z = planes % top[0];
    w->y = column / top[2] % top[1];
    w->x = column % top[2];
    w->reads.n = w->tops.n = 0;
}

/* Cuts the next columns. */
TARGET static void NAME(cut)(const ThnConv *c, const NAME(Patch) *b, npy_intp channel, npy_intp filter, npy_intp columns, NAME(Cut) *w)
{
    const npy_intp *top = c->top, *s = c->top_strides;
    w->reads.joined = w->reads.n;
    w->tops.joined = w->tops.n;
    for (npy_intp at = 0, n; at < columns; at += n) {
        n = thn_least(top[2] - w->x, columns - at);
        NAME(append)(&w->reads, at, n, (char *)NAME(pixel)(c, b, w->image, channel, w->z, w->y, w->x), sizeof(T));
        NAME(append)(&w->tops, at, n,
                     c->at.top + w->image * s[0] + filter * s[1] + w->z * s[2] + w->y * s[3] + w->x * s[4], s[4]);
        w->x += n;
        if (w->x == top[2]) {
            w->x = 0;
            if (++w->y == top[1]) {
                w->y = 0;
                if (++w->z == top[0]) {
                    w->z = 0;
                    w->image++;
                }
            }
        }
    }
}
