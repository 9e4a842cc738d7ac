/* From a kernel and arrays to a plan: lengths of the iteration dims, layout of outputs, merged dims, choice of what runs.
 *
 * A plan holds, for the outer and the inner iteration dims apart, the dims that remain after dims of length 1 are dropped,
 * dims are sorted by stride and neighbours that are one run in memory are merged. What runs then depends on the strides
 * along the innermost dim: the kernel directly on the arrays, or block by block through buffers. */
#include "plan.h"

#include <stdio.h>

static size_t layout_length(const ThnKernel *k)
{
    size_t n = 0;
    for (int op = 0; op < n_ops(k); op++) {
        n += 2 * (size_t)(op < k->nin ? k->in[op].rank : k->out[op - k->nin].rank);
    }
    return n;
}

size_t thn_plan_size(const ThnKernel *k)
{
    const size_t ops = (size_t)n_ops(k), nd = (size_t)(k->n_outer + k->n_inner) + 2;
    return sizeof(ThnPlan) + ops * sizeof(char *) + (2 * nd + 2 * ops * nd + ops + layout_length(k)) * sizeof(thn_intp) + ops + 16;
}

int thn_kernel_shape(const ThnKernel *k, const ThnArg *in, thn_intp *shape, char *err, size_t errlen)
{
    const int nd = k->n_outer + k->n_inner;
    for (int d = 0; d < nd; d++) {
        int first = -1;
        shape[d] = 1;
        for (int i = 0; i < k->nin; i++) {
            const ThnKernelIn *op = &k->in[i];
            if (op->bcast >> d & 1) {
                continue;
            }
            const thn_intp n = in[i].dims[op->axes[d]];
            if (first < 0) {
                first = i;
                shape[d] = n;
            } else if (n != shape[d]) {
                snprintf(err, errlen, "Input dimension mis-match. (input[%d].shape[%d] = %lld, input[%d].shape[%d] = %lld)",
                         first, (int)k->in[first].axes[d], (long long)shape[d], i, (int)op->axes[d], (long long)n);
                return -1;
            }
        }
    }
    if (k->nonempty) {
        for (int d = k->n_outer; d < nd; d++) {
            if (shape[d] == 0) {
                snprintf(err, errlen, "zero-size array to a reduction operation which has no identity");
                return -1;
            }
        }
    }
    return 0;
}

void thn_kernel_out_dims(const ThnKernel *k, int o, const thn_intp *shape, thn_intp *dims)
{
    const ThnKernelOut *out = &k->out[o];
    for (int a = 0; a < out->rank; a++) {
        dims[a] = out->dims[a] < 0 ? 1 : shape[out->dims[a]];
    }
}

thn_intp thn_stride_along(const ThnKernel *k, int op, int d, const ThnArg *in, const ThnArg *out)
{
    if (op < k->nin) {
        return k->in[op].bcast >> d & 1 ? 0 : in[op].strides[k->in[op].axes[d]];
    }
    const ThnKernelOut *o = &k->out[op - k->nin];
    for (int a = 0; a < o->rank; a++) {
        if (o->dims[a] == d) {
            return out[op - k->nin].strides[a];
        }
    }
    return 0;
}

int thn_kernel_out_order(const ThnKernel *k, int o, const ThnArg *in, const thn_intp *shape, thn_intp *strides)
{
    const ThnKernelOut *out = &k->out[o];
    const int nin = k->nin;
    thn_intp n[THN_KMAXDIM], walked[THN_KMAXOPS + 1][THN_KMAXDIM], *rank = walked[nin], step = out->itemsize;
    Dims g = {0, n, walked[0], THN_KMAXDIM};
    int changed = 0;
    if (out->rank < 2 || (k->n_inner && (k->fn->rows || !out->full))) {
        return 0;
    }
    for (int a = 0; a < out->rank; a++) {
        const int d = out->dims[a];
        strides[a] = step;
        if (d < 0 || shape[d] == 1) {
            continue;
        }
        n[g.n] = shape[d];
        for (int i = 0; i < nin; i++) {
            walked[i][g.n] = thn_stride_along(k, i, d, in, NULL);
        }
        rank[g.n++] = out->rank - a; /* where no operand decides, axes stay in their order */
    }
    thn_sort_dims(&g, nin + 1, 0);
    for (int d = g.n - 1; d >= 0; d--) {
        changed |= d > 0 && rank[d - 1] < rank[d];
        strides[out->rank - rank[d]] = step;
        step *= n[d] > 0 ? n[d] : 1;
    }
    return changed;
}

/* Puts dims [first, first + count) of the iteration into the group, without those of length 1. */
static thn_intp fill_dims(Dims *g, const ThnKernel *k, const ThnArg *in, const ThnArg *out, const thn_intp *shape, int first,
                          int count)
{
    thn_intp total = 1;
    g->n = 0;
    for (int d = first; d < first + count; d++) {
        total *= shape[d];
        if (shape[d] == 1) {
            continue;
        }
        g->shape[g->n] = shape[d];
        for (int op = 0; op < n_ops(k); op++) {
            g->strides[op * g->cap + g->n] = thn_stride_along(k, op, d, in, out);
        }
        g->n++;
    }
    return total;
}

static void plan_elem(ThnPlan *p)
{
    const ThnKernel *k = p->k;
    Dims *g = &p->outer;
    const int ops = n_ops(k);
    if (g->n > 1) {
        /* The original last dim is the one along which static constants are known to be constant: find where it goes. */
        thn_sort_dims(g, ops, k->nin);
    }
    /* The innermost dim must keep the kernel's constants constant. */
    int inner = -1;
    for (int d = g->n - 1; d >= 0 && inner < 0; d--) {
        int ok = 1;
        for (int op = 0; op < k->nin && ok; op++) {
            ok = !is_constant_elem(k, op) || g->strides[op * g->cap + d] == 0;
        }
        if (ok) {
            inner = d;
        }
    }
    if (inner < 0) {
        /* Every remaining dim varies a constant: rows of one element. */
        g->shape[g->n] = 1;
        for (int op = 0; op < ops; op++) {
            g->strides[op * g->cap + g->n] = is_constant_elem(k, op) ? 0 : itemsize_of(k, op);
        }
        g->n++;
    } else {
        for (int d = inner; d < g->n - 1; d++) {
            thn_swap_dims(g, ops, d, d + 1);
        }
        thn_merge_dims(g, ops);
    }
    const int last = g->n - 1;
    const thn_intp n0 = g->shape[last];
    p->buffered = 0;
    p->flat = last > 0;
    for (int op = 0; op < ops; op++) {
        const thn_intp *s = g->strides + op * g->cap;
        const int constant = is_constant_elem(k, op);
        p->through[op] = !constant && s[last] != itemsize_of(k, op) && n0 > 1;
        p->buffered |= p->through[op];
        if (constant && last > 0 && s[last - 1] != 0) {
            p->flat = 0;
        }
    }
    p->mode = p->buffered ? RUN_ELEM_BUFFERED : RUN_ELEM;
}

/* The operands that must be gathered for rows of the inner dims to be contiguous. */
static void find_buffered_rows(ThnPlan *p)
{
    const ThnKernel *k = p->k;
    const Dims *g = &p->in;
    p->buffered = 0;
    for (int op = 0; op < n_ops(k); op++) {
        const int direct = is_row_operand(k, op) || p->inner <= 1 ||
                           (g->n == 1 && g->strides[op * g->cap] == itemsize_of(k, op));
        p->through[op] = !direct;
        p->buffered |= !direct;
    }
    p->segmented = p->buffered && g->n > 1 && g->shape[g->n - 1] >= 64;
    for (int op = 0; op < n_ops(k) && p->segmented; op++) {
        p->segmented = is_row_operand(k, op) || g->strides[op * g->cap + g->n - 1] == itemsize_of(k, op);
    }
}

static int columns_fit(const ThnPlan *p)
{
    const ThnKernel *k = p->k;
    const Dims *g = &p->outer;
    int fit = k->fn->cols != NULL;
    for (int op = 0; op < n_ops(k) && fit; op++) {
        const int per_row = op >= k->nin && !k->out[op - k->nin].full;
        fit = per_row || g->strides[op * g->cap + g->n - 1] == (is_constant_elem(k, op) ? 0 : itemsize_of(k, op));
    }
    return fit;
}

/* Small work on arrays as they lie, whose rows follow one another by one stride, is one call. */
static void find_direct(ThnPlan *p)
{
    const Dims *g = &p->outer;
    const int rows = p->mode != RUN_ELEM && p->mode != RUN_ELEM_BUFFERED, last = rows ? g->n : g->n - 1;
    const int possible = p->mode == RUN_ELEM || p->mode == RUN_ROWS || (p->mode == RUN_REDUCE && thn_reduces_directly(p));
    const int apart = p->mode == RUN_ELEM_BUFFERED && g->n == 1 && g->shape[0] * n_ops(p->k) <= FEW_APART;
    p->direct = ((possible && !p->buffered) || apart) && last <= 1 && p->work < PARALLEL_WORK;
    if (p->direct) {
        p->n1 = last > 0 ? g->shape[0] : 1;
        p->n0 = rows ? p->inner : g->shape[last];
        thn_strides_along(g, last - 1, n_ops(p->k), p->s1);
    }
}

/* Chooses what runs. */
static void choose(ThnPlan *p)
{
    const ThnKernel *k = p->k;
    const int ops = n_ops(k);
    if (k->n_inner == 0) {
        plan_elem(p);
        return;
    }
    /* Positions in the inner dims count in C order: such kernels keep the order of their inner dims. */
    if (p->in.n > 1 && !k->ordered) {
        thn_sort_dims(&p->in, ops, k->nin);
    }
    thn_merge_dims(&p->in, ops);
    if (p->outer.n > 1) {
        thn_sort_dims(&p->outer, ops, k->nin);
        thn_merge_dims(&p->outer, ops);
    }
    find_buffered_rows(p);
    p->mode = k->fn->rows ? RUN_ROWS : RUN_REDUCE;
    /* Outputs decided the order; the columns may be contiguous in the inputs only. */
    for (int i = 0, last = p->outer.n - 1; i <= last && p->buffered && p->mode == RUN_REDUCE; i++) {
        const int d = i ? i - 1 : last;
        thn_swap_dims(&p->outer, ops, d, last);
        if (columns_fit(p)) {
            p->mode = RUN_COLUMNS;
        } else {
            thn_swap_dims(&p->outer, ops, d, last);
        }
    }
}

double thn_plan(const ThnKernel *k, const ThnArg *in, const ThnArg *out, const thn_intp *shape, ThnPlan *p)
{
    const int ops = n_ops(k), cap = k->n_outer + k->n_inner + 2;
    p->k = k;
    p->ptr = (char **)(p + 1);
    p->outer.shape = (thn_intp *)(p->ptr + ops);
    p->in.shape = p->outer.shape + cap;
    p->outer.strides = p->in.shape + cap;
    p->in.strides = p->outer.strides + ops * cap;
    p->s1 = p->in.strides + ops * cap;
    p->layout = p->s1 + ops;
    p->through = (unsigned char *)(p->layout + layout_length(k));
    p->outer.cap = p->in.cap = cap;
    p->buffered = p->flat = p->segmented = p->direct = 0;
    for (int i = 0; i < k->nin; i++) {
        p->ptr[i] = in[i].data;
    }
    for (int o = 0; o < k->nout; o++) {
        p->ptr[k->nin + o] = out[o].data;
    }
    p->rows = fill_dims(&p->outer, k, in, out, shape, 0, k->n_outer);
    p->inner = fill_dims(&p->in, k, in, out, shape, k->n_outer, k->n_inner);
    p->work = k->cost * (double)p->rows * (double)p->inner + 4.0 * (double)(k->n_inner ? p->rows : 0);
    if (p->rows == 0 || (k->n_inner == 0 && p->inner == 0)) {
        p->mode = RUN_NOTHING;
        return 0.0;
    }
    choose(p);
    if (p->buffered) {
        p->work *= 2;
    }
    find_direct(p);
    return p->work;
}
