/* Indexed kernels: rows between tables, buffers and targets, and where they are. */
#include "indexed.h"

/* Number of index arrays of a gather, or of the target while tiles are scattered. */
static int arrays_of(const Run *r, int g)
{
    return g < r->s->n_gathers ? r->s->gathers[g].n : g == TARGET && r->scatters ? r->s->target.n : 0;
}

npy_intp thn_step_of(const Run *r, int op, int d)
{
    if (op < r->k->nin) {
        return r->k->in[op].bcast >> d & 1 ? 0 : r->in[op].strides[r->k->in[op].axes[d]];
    }
    const ThnKernelOut *o = &r->k->out[op - r->k->nin];
    for (int a = 0; a < o->rank; a++) {
        if (o->dims[a] == d) {
            return r->out[op - r->k->nin].strides[a];
        }
    }
    return 0;
}

void thn_merge_walk(Run *r)
{
    const Spec *s = r->s;
    const int ops = n_ops(r->k);
    int last = -1;
    r->carrier = s->dims[s->nd - 1];
    for (int d = 0; d < s->nd; d++) {
        const npy_intp n = r->st->along[d];
        npy_intp steps[THN_KMAXOPS];
        if (n == 1 && (last >= 0 || d < s->nd - 1)) {
            continue;
        }
        int one = last >= 0;
        for (int op = 0; op < ops; op++) {
            steps[op] = is_gathered(s, op) || is_target(r, op) ? 0 : thn_step_of(r, op, s->dims[d]);
            one = one && r->steps[op][last] == steps[op] * n;
        }
        for (int g = 0; g <= TARGET && one; g++) {
            for (int k = 0; k < arrays_of(r, g) && one; k++) {
                one = r->idx_steps[g][k][last] == r->st->arrays[g].idx_strides[k][d] * n;
            }
        }
        if (one) {
            r->walk[last] *= n;
        }
        else {
            r->walk[++last] = n;
        }
        r->carrier = s->dims[d];
        for (int op = 0; op < ops; op++) {
            r->steps[op][last] = steps[op];
        }
        for (int g = 0; g <= TARGET; g++) {
            for (int k = 0; k < arrays_of(r, g); k++) {
                r->idx_steps[g][k][last] = r->st->arrays[g].idx_strides[k][d];
            }
        }
    }
    r->nw = last + 1;
}

void thn_find_offsets(const Run *r, int g, const npy_intp *at, npy_intp n, npy_intp *to)
{
    const Array *a = &r->st->arrays[g];
    const Indexed *x = g == TARGET ? &r->s->target : &r->s->gathers[g];
    const int last = r->nw - 1;
    for (int k = 0; k < x->n; k++) {
        const char *p = a->idx[k];
        const npy_intp step = r->idx_steps[g][k][last], size = a->size[k], stride = a->stride[k];
        for (int d = 0; d <= last; d++) {
            p += at[d] * r->idx_steps[g][k][d];
        }
        if (!a->get[k] && step == sizeof(int64_t)) {
            const int64_t *v = (const int64_t *)p;
            for (npy_intp i = 0; i < n; i++) {
                const npy_intp offset = (v[i] + (v[i] >> 63 & size)) * stride;
                to[i] = k ? to[i] + offset : offset;
            }
            continue;
        }
        for (npy_intp i = 0; i < n; i++, p += step) {
            const int64_t v = a->get[k] ? a->get[k](p) : *(const int64_t *)p;
            const npy_intp offset = (npy_intp)(v < 0 ? v + size : v) * stride;
            to[i] = k ? to[i] + offset : offset;
        }
    }
}

#define MOVE_ITEMS(T)                                                     \
    for (npy_intp i = 0; i < n; i++) {                                    \
        ((T *)dense)[i] = *(const T *)(data + offsets[i]);                \
    }                                                                     \
    return;

static void gather_items(npy_intp item, char *dense, const char *data, const npy_intp *offsets, npy_intp n)
{
    switch (item) {
    case 1: MOVE_ITEMS(uint8_t)
    case 2: MOVE_ITEMS(uint16_t)
    case 4: MOVE_ITEMS(uint32_t)
    case 8: MOVE_ITEMS(uint64_t)
    default:
        for (npy_intp i = 0; i < n; i++) {
            memcpy(dense + i * item, data + offsets[i], (size_t)item);
        }
    }
}

#define MOVE_ROWS(BYTES)                                                  \
    for (npy_intp i = 0; i < n; i++) {                                    \
        memcpy(dense + i * BYTES, data + offsets[i], BYTES);              \
    }                                                                     \
    return 1;

/* Rows of the commonest short lengths. 0: another one. */
static int gather_short(npy_intp bytes, char *dense, const char *data, const npy_intp *offsets, npy_intp n)
{
    switch (bytes) {
    case 8: MOVE_ROWS(8)
    case 16: MOVE_ROWS(16)
    case 32: MOVE_ROWS(32)
    case 64: MOVE_ROWS(64)
    default: return 0;
    }
}

void thn_gather_rows(const Array *a, npy_intp item, char *dense, const char *data, const npy_intp *offsets, npy_intp n)
{
    const npy_intp bytes = a->row * item;
    if (a->row == 1) {
        gather_items(item, dense, data, offsets, n);
        return;
    }
    if (a->dense && gather_short(bytes, dense, data, offsets, n)) {
        return;
    }
    npy_intp strides[THN_KMAXDIM];
    dense_strides(a->rest, a->rest_dims, item, strides);
    for (npy_intp i = 0; i < n; i++, dense += bytes) {
        if (i + AHEAD < n) {
            fetch(data + offsets[i + AHEAD], bytes);
        }
        if (a->dense) {
            memcpy(dense, data + offsets[i], (size_t)bytes);
        }
        else {
            thn_copy_strided(a->rest, a->rest_dims, dense, strides, data + offsets[i], a->rest_strides, (int)item);
        }
    }
}

#define WRITE_ITEMS(T, OP)                                                \
    for (npy_intp i = 0; i < n; i++) {                                    \
        *(T *)(data + offsets[i]) OP ((const T *)dense)[i];               \
    }                                                                     \
    return 1;

/* Single elements in their order. 0: a dtype for which there is no loop here. */
static int write_items(int typenum, npy_intp item, int set, char *data, const npy_intp *offsets, const char *dense, npy_intp n)
{
    if (set) {
        switch (item) {
        case 1: WRITE_ITEMS(uint8_t, =)
        case 2: WRITE_ITEMS(uint16_t, =)
        case 4: WRITE_ITEMS(uint32_t, =)
        case 8: WRITE_ITEMS(uint64_t, =)
        default: return 0;
        }
    }
    switch (typenum) {
    case NPY_FLOAT: WRITE_ITEMS(float, +=)
    case NPY_DOUBLE: WRITE_ITEMS(double, +=)
    case NPY_INT32: WRITE_ITEMS(uint32_t, +=)
    case NPY_INT64: WRITE_ITEMS(uint64_t, +=)
    default: return 0;
    }
}

#define SHORT 32 /* elements of a row for which a call is not worth it */
#define ADD_ROWS(T)                                                       \
    for (npy_intp i = 0; i < n; i++, value += row_step) {                 \
        T *to = (T *)(data + offsets[i]);                                 \
        const T *from = (const T *)value;                                 \
        for (npy_intp e = 0; e < run; e++) {                              \
            to[e] += from[e];                                             \
        }                                                                 \
    }                                                                     \
    return 1;

/* Short rows in their order. 0: a dtype for which there is no loop here. */
static int add_short(int typenum, npy_intp run, char *data, const npy_intp *offsets, const char *value, npy_intp row_step,
                     npy_intp n)
{
    switch (typenum) {
    case NPY_FLOAT: ADD_ROWS(float)
    case NPY_DOUBLE: ADD_ROWS(double)
    default: return 0;
    }
}

void thn_scatter_rows(const Run *r, const npy_intp *offsets, npy_intp n, const char *value, npy_intp row_step,
                         const npy_intp *strides, npy_intp c0, npy_intp width)
{
    const Array *a = &r->st->arrays[TARGET];
    const npy_intp item = r->k->out[0].itemsize;
    const int last = a->rest - 1, cut = r->column >= 0 && last >= 0;
    npy_intp dims[THN_KMAXDIM], run = 1;
    int dense = 1;
    char *data = a->data + (cut ? c0 * a->rest_strides[last] : 0);
    memcpy(dims, a->rest_dims, sizeof(npy_intp) * (size_t)a->rest);
    if (cut) {
        dims[last] = width;
    }
    for (int i = last; i >= 0; i--) {
        dense &= dims[i] == 1 || (a->rest_strides[i] == run * item && strides[i] == run * item);
        run *= dims[i];
    }
    if (run == 1 && row_step == item && write_items(r->k->out[0].typenum, item, !r->s->adds, data, offsets, value, n)) {
        return;
    }
    if (dense && r->s->adds && run <= SHORT && add_short(r->k->out[0].typenum, run, data, offsets, value, row_step, n)) {
        return;
    }
    for (npy_intp i = 0; i < n; i++, value += row_step) {
        if (dense) {
            if (i + AHEAD < n) {
                fetch(data + offsets[i + AHEAD], run * item);
            }
            r->inner(run, data + offsets[i], item, value, item);
        }
        else {
            thn_loop2(a->rest, dims, data + offsets[i], a->rest_strides, value, strides, r->inner);
        }
    }
}

