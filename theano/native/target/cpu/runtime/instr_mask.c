/* Instructions: the positions of elements that are not zero, the elements of an array where a mask is true. The mask is cut
 * into chunks, whose true elements are counted first, so that every chunk knows where its part of the result begins. */
#include "vm.h"
#include "copy.h"
#include "items.h"
#include "threads.h"

#define CHUNK 16384       /* flags */
#define PARALLEL 131072   /* flags from which on chunks are shared out */
#define BLOCK 512         /* positions of an array of several dimensions that are worked out at once */

typedef struct {
    const char *flags;    /* one byte for each element, in C order */
    npy_intp total, chunks, count;
    npy_intp starts[];    /* the true elements before each chunk; copied flags follow */
} Flags;

static npy_intp chunk_length(const Flags *m, npy_intp chunk)
{
    return m->total - chunk * CHUNK < CHUNK ? m->total - chunk * CHUNK : CHUNK;
}

static void count_task(void *ctx, long task)
{
    Flags *m = ctx;
    m->starts[task + 1] = thn_count_flags(m->flags + task * CHUNK, chunk_length(m, task));
}

/* The flags of a mask and how many are true. */
static Flags *open_flags(ThnFrame *f, const ThnInstr *ins, const ThnCell *mask)
{
    const npy_intp total = thn_size(mask), chunks = (total + CHUNK - 1) / CHUNK;
    const int direct = mask->typenum == NPY_BOOL && thn_is_c_contiguous(mask);
    const size_t head = sizeof(Flags) + (size_t)(chunks + 1) * sizeof(npy_intp);
    Flags *m = thn_scratch(f, ins, head + (size_t)(direct ? 0 : total));
    THN_NULL_UNLESS(m);
    m->flags = direct ? mask->data : (char *)m + head;
    m->total = total;
    m->chunks = chunks;
    if (!direct) {
        npy_intp strides[THN_MAXDIM];
        thn_dense_strides(mask->ndim, mask->dims, 1, strides);
        thn_loop2(mask->ndim, mask->dims, (char *)m + head, strides, mask->data, mask->strides,
                  thn_cast_inner(NPY_BOOL, mask->typenum));
    }
    m->starts[0] = 0;
    thn_parallel_if(m->total >= PARALLEL, (long)m->chunks, count_task, m);
    for (npy_intp c = 0; c < chunks; c++) {
        m->starts[c + 1] += m->starts[c];
    }
    m->count = m->starts[chunks];
    return m;
}

/* As in NumPy an axis of length 0 of a mask, which has no true flag then, fits every length. */
static int check_mask(ThnFrame *f, const ThnCell *mask, const ThnCell *x, int first)
{
    for (int i = 0; i < mask->ndim; i++) {
        THN_FAIL_IF(f, mask->dims[i] && mask->dims[i] != x->dims[first + i], PyExc_IndexError,
                    "boolean index did not match indexed array along axis %d; size of axis is %lld but size of corresponding "
                    "boolean axis is %lld", first + i, (long long)x->dims[first + i], (long long)mask->dims[i]);
    }
    return 0;
}

/* ---- nonzero */

typedef struct {
    const Flags *flags;
    const ThnCell *mask;
    int64_t *outs[THN_MAXDIM];
} Positions;

static int nonzero_check(ThnProgram *p, ThnInstr *ins)
{
    const thn_nonzero_params *z = ins->data;
    const ThnCellSpec *in = &p->cells[ins->ins[0]];
    return thn_fits(ins, in->ndim >= 1 && ins->nout == in->ndim && !PyTypeNum_ISCOMPLEX(in->typenum)
                             && (ins->nin == 1 || p->cells[ins->ins[1]].ndim >= z->first_axis + in->ndim));
}

static int nonzero_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *mask = THN_IN(f, ins, 0);
    THN_TRY(ins->nin > 1 ? check_mask(f, mask, THN_IN(f, ins, 1), ((const thn_nonzero_params *)ins->data)->first_axis) : 0);
    const Flags *m = open_flags(f, ins, mask);
    for (int k = 0; m && k < ins->nout; k++) {
        THN_TRY(thn_out_alloc(f, THN_OUT(f, ins, k), &m->count));
    }
    THN_NEED(m);
    f->work = (double)m->total * 0.3 + 4.0 * (double)m->count;
    return 0;
}

/* Positions in the flattened array become positions along each axis. They rise, so that most lie in the row of the one
 * before. */
static void spread(const Positions *p, const int64_t *flat, npy_intp n, npy_intp found)
{
    const int last = p->mask->ndim - 1;
    const int64_t length = p->mask->dims[last];
    int64_t at[THN_MAXDIM] = {0}, start = -1;
    for (npy_intp i = 0; i < n; i++) {
        if (start < 0 || flat[i] - start >= length) {
            int64_t row = flat[i] / length;
            start = row * length;
            for (int k = last - 1; k >= 0; k--) {
                at[k] = k ? row % p->mask->dims[k] : row;
                row = k ? row / p->mask->dims[k] : 0;
            }
        }
        for (int k = 0; k < last; k++) {
            p->outs[k][found + i] = at[k];
        }
        p->outs[last][found + i] = flat[i] - start;
    }
}

static void nonzero_task(void *ctx, long task)
{
    const Positions *p = ctx;
    const Flags *m = p->flags;
    const npy_intp first = task * CHUNK, stop = first + chunk_length(m, task), end = m->starts[task + 1];
    npy_intp found = m->starts[task];
    if (p->mask->ndim == 1) {
        thn_flag_positions(m->flags + first, stop - first, first, p->outs[0] + found, end - found);
        return;
    }
    for (npy_intp i = first; i < stop; i += BLOCK) {
        int64_t flat[BLOCK];
        const npy_intp n = stop - i < BLOCK ? stop - i : BLOCK, room = end - found < BLOCK ? end - found : BLOCK;
        const npy_intp more = thn_flag_positions(m->flags + i, n, i, flat, room);
        spread(p, flat, more, found);
        found += more;
    }
}

static int nonzero_execute(ThnFrame *f, const ThnInstr *ins)
{
    Positions p = {.flags = f->scratch[ins->index].ptr, .mask = THN_IN(f, ins, 0)};
    for (int k = 0; k < ins->nout; k++) {
        p.outs[k] = (int64_t *)THN_OUT(f, ins, k)->data;
    }
    thn_parallel_if(p.flags->total >= PARALLEL, (long)p.flags->chunks, nonzero_task, &p);
    return 0;
}

/* ---- array[mask], of one rank; the array is dense */

typedef struct {
    const Flags *flags;
    const ThnCell *x, *out;
} Masked;

static int masked_check(ThnProgram *p, ThnInstr *ins)
{
    const ThnCellSpec *x = &p->cells[ins->ins[0]], *mask = &p->cells[ins->ins[1]];
    return thn_fits(ins, mask->typenum == NPY_BOOL && mask->ndim >= 1 && mask->ndim == x->ndim);
}

static int masked_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *mask = THN_IN(f, ins, 1), *x = THN_IN(f, ins, 0);
    ThnCell *out = THN_OUT(f, ins, 0);
    THN_TRY(check_mask(f, mask, x, 0));
    THN_FAIL_IF(f, !thn_is_c_contiguous(x), PyExc_ValueError, "masked: an array that is not contiguous");
    const Flags *m = open_flags(f, ins, mask);
    THN_NEED(m);
    f->work = (double)m->total * 0.3 + (double)(m->count * x->itemsize) * 0.2;
    return thn_out_alloc(f, out, &m->count);
}

static void masked_task(void *ctx, long task)
{
    const Masked *a = ctx;
    const Flags *m = a->flags;
    const npy_intp first = task * CHUNK, item = a->x->itemsize;
    thn_pick_items((int)item, a->x->data + first * item, m->flags + first, chunk_length(m, task), a->out->data + m->starts[task] * item,
                   m->starts[task + 1] - m->starts[task]);
}

static int masked_execute(ThnFrame *f, const ThnInstr *ins)
{
    Masked a = {f->scratch[ins->index].ptr, THN_IN(f, ins, 0), THN_OUT(f, ins, 0)};
    thn_parallel_if(a.flags->total >= PARALLEL, (long)a.flags->chunks, masked_task, &a);
    return 0;
}

THN_INSTRUCTION(nonzero, nonzero_check, nonzero_prepare, nonzero_execute)
THN_INSTRUCTION(masked, masked_check, masked_prepare, masked_execute)
