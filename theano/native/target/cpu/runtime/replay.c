/* Running a program many times over the same shapes: what a loop does with its inner program.
 *
 * The first step runs as usual but drops nothing, so that every cell keeps its memory, dims and strides. From the second
 * step on an instruction is repeated in the cheapest way that is right when only addresses and values have changed: a kernel
 * keeps its plan and gets new pointers, a product only executes, a view moves with its base, and what follows from lengths and
 * from what is the same in all steps stays, unless something writes to it. What is not known to be so is prepared and executed
 * again; if a value has other dims than before, the rest of the step is run as if it were the first. */
#include "replay.h"
#include "plan.h"
#include "pool.h"

#include <stdlib.h>

#define PACK_STEPS 8        /* steps for which a matrix is rearranged */
#define MOST_OUTPUTS 8     /* instructions with more are taken to change shapes */

int thn_replayable(const ThnProgram *p)
{
    int all = p->tail_start >= p->ninstrs; /* and there is nothing to undo */
    for (int i = 0; i < p->ninstrs; i++) {
        all &= !(p->instrs[i].def->flags & THN_JUMP);
    }
    return all;
}

/* From which input on `prepare` looks at elements. */
static int reads_from(const ThnInstr *ins)
{
    const int first = thn_rows[ins->def->code].reads, named = ins->def->flags & THN_READS_AXIS;
    return first < 0 || (named && ((const thn_join_params *)ins->data)->axis != THN_NO_AXIS) ? ins->nin : first;
}

void thn_find_staying(ThnProgram *p)
{
    for (ThnInstr *ins = p->instrs, *end = ins + p->ninstrs; ins < end; ins++) {
        const ThnRow *row = &thn_rows[ins->def->code];
        const ThnKernel *k = row->replay == THN_REPLAY_KERNEL ? ((const thn_kernel_params *)ins->data)->kernel : NULL;
        const int fresh = row->memory == THN_MEMORY_FRESH, any = !k && row->memory >= THN_MEMORY_KERNEL;
        ins->stays = k || fresh;
        for (int i = 0; i < ins->nin && any; i++) {
            p->cells[ins->ins[i]].maker->stays = 0;
        }
        for (int o = 0; o < ins->nout; o++) {
            const int from = any || fresh ? -1 : k ? k->out[o].alias : 0;
            ThnInstr *maker = p->cells[ins->outs[o]].maker = from < 0 ? ins : p->cells[ins->ins[from]].maker;
            maker->stays &= from < 0 || !(k || row->memory == THN_MEMORY_INPLACE);
            ins->stays &= from < 0; /* the maker writes there again */
        }
    }
    for (int i = 0; i < p->noutputs; i++) {
        p->cells[p->outputs[i].cell].maker->stays = 0;
    }
}

void thn_replay_end(ThnProgram *p, ThnFrame *f)
{
    for (int i = 0; f->again && i < p->ninstrs; i++) {
        thn_pool_free(f->again[i].packed);
        f->again[i].packed = NULL;
    }
}

void thn_replay_free(ThnProgram *p, ThnFrame *f)
{
    thn_replay_end(p, f);
    thn_free(f->again);
    f->again = NULL;
}

int thn_operands(ThnFrame *f, const ThnInstr *ins, ThnOperands *o)
{
    const ThnCell *in[5] = {NULL};
    for (int k = 0; k < ins->nin && k < 5; k++) {
        in[k] = THN_IN(f, ins, k);
    }
    switch (ins->def->code) {
    case THN_OP_dot:
    case THN_OP_dot22scalar: *o = (ThnOperands){.x = in[0], .y = in[1], .alpha = in[2]}; return 1;
    case THN_OP_gemm:
    case THN_OP_gemv: *o = (ThnOperands){in[0], in[1], in[2], in[3], in[4]}; return 1;
    default: return 0;
    }
}

static void pack(ThnFrame *f, const ThnInstr *ins, ThnAgain *a)
{
    ThnOperands o;
    if (f->repeats < PACK_STEPS || a->packed || !thn_operands(f, ins, &o) || o.x->ndim != 2 || o.y->ndim != 2) {
        return;
    }
    const ThnCell *x = o.x, *y = o.y;
    if (y->flags & THN_CELL_FIXED) {
        const ThnMatrix b = thn_matrix(y, 0);
        a->first = 0;
        a->packed = thn_pack(y->typenum, &b, x->dims[0]);
    }
    if (!a->packed && (x->flags & THN_CELL_FIXED)) {
        const ThnMatrix b = thn_matrix(x, 1);
        a->first = 1;
        a->packed = thn_pack(x->typenum, &b, y->dims[1]);
    }
}

/* c = x y, or c^T = y^T x^T if x is packed. */
void thn_run_packed(ThnFrame *f, const ThnInstr *ins, const ThnAgain *a)
{
    ThnOperands o;
    const int t = a->first;
    thn_operands(f, ins, &o);
    const ThnMatrix moving = thn_matrix(t ? o.y : o.x, t), c = thn_matrix(THN_OUT(f, ins, 0), t), z = o.z ? thn_matrix(o.z, t) : c;
    const void *alpha = o.alpha ? o.alpha->data : NULL, *beta = o.beta ? o.beta->data : NULL;
    THN_WITHOUT_GIL_IF(a->work > THN_GIL_WORK, thn_packed_multiply(a->packed, &moving, &z, &c, alpha, beta));
}

/* Whether the instruction makes the same in each step. What has no `execute` sees only the dims of arrays before those that it reads. */
static int makes_the_same(ThnFrame *f, const ThnInstr *ins, int from)
{
    const ThnOpDef *def = ins->def;
    const int fresh = thn_rows[def->code].memory == THN_MEMORY_FRESH, dims = (fresh && !def->execute) || (def->flags & THN_DIMS_ONLY);
    int same = !(def->flags & THN_IMPURE);
    for (int k = 0; k < ins->nin; k++) {
        const ThnCell *c = THN_IN(f, ins, k);
        same &= (dims && k < from && c->kind == THN_KIND_TENSOR) || thn_has_same_value(c);
    }
    return same;
}

/* Chooses how the instruction that has just run will be repeated. */
static void record(ThnFrame *f, const ThnInstr *ins, ThnAgain *a, double work)
{
    const int from = reads_from(ins), same = makes_the_same(f, ins, from), lasts = same && ins->stays;
    a->now = lasts ? THN_REPLAY_NOTHING : thn_rows[ins->def->code].replay;
    a->work = lasts ? 0 : work;
    for (int o = 0; o < ins->nout && (lasts || (same && (a->now == THN_REPLAY_VIEW || ins->def->flags & THN_DIMS_ONLY))); o++) {
        THN_OUT(f, ins, o)->flags |= THN_CELL_FIXED;
    }
    for (int k = from; k < ins->nin && (a->now == THN_REPLAY_VIEW || a->now == THN_REPLAY_COPY); k++) {
        /* The result may have other dims, or the view move within its base. */
        a->now = thn_has_same_value(THN_IN(f, ins, k)) ? a->now : THN_REPLAY_FULL;
    }
    if (a->now == THN_REPLAY_VIEW) {
        const ThnCell *in = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
        const int arrays = out->kind == THN_KIND_TENSOR && in->kind == THN_KIND_TENSOR, sees = out->buf || !ins->def->execute;
        a->now = arrays && sees && out->buf == in->buf ? THN_REPLAY_VIEW : THN_REPLAY_FULL;
        a->offset = out->data - in->data;
    }
    if (a->now == THN_REPLAY_EMPTY && same) {
        a->now = THN_REPLAY_NOTHING;
    }
    if (a->now == THN_REPLAY_PRODUCT) {
        pack(f, ins, a);
    }
}

static int run_full(ThnProgram *p, ThnFrame *f, const ThnInstr *ins, ThnAgain *a)
{
    f->work = 0;
    f->next = ins->index + 1;
    thn_pool_free(a->packed); /* what is the same in all steps is so as long as lengths are */
    a->packed = NULL;
    if (ins->def->prepare(f, ins) < 0 || (ins->def->execute && thn_execute(f, ins, f->work) < 0)) {
        return thn_fail(p, f, ins);
    }
    record(f, ins, a, f->work);
    return 0;
}

/* After an instruction: counts it, and looks at signals if it took long. */
static int count_run(ThnProgram *p, const ThnInstr *ins, const ThnAgain *a, double start)
{
    if (p->profile) {
        p->times[ins->index] += thn_now() - start;
        p->counts[ins->index]++;
    }
    return a->work > THN_GIL_WORK ? PyErr_CheckSignals() : 0;
}

/* Whether Python objects see the value: its memory must not be written again. */
static inline int is_shown(const ThnCell *c)
{
    return c->obj || (c->buf && c->buf->owner);
}

static int run_kernel(ThnFrame *f, const ThnInstr *ins, const ThnAgain *a)
{
    ThnPlan *plan = f->scratch[ins->index].ptr;
    const ThnKernel *k = plan->k;
    for (int i = 0; i < k->nin; i++) {
        plan->ptr[i] = THN_IN(f, ins, i)->data;
    }
    for (int o = 0; o < k->nout; o++) {
        ThnCell *c = THN_OUT(f, ins, o);
        if (k->out[o].alias >= 0) {
            c->data = plan->ptr[k->out[o].alias];
        }
        plan->ptr[k->nin + o] = c->data;
    }
    if (plan->direct) {
        thn_run_direct(plan);
        return 0;
    }
    return thn_execute(f, ins, a->work);
}

int thn_repeats(ThnFrame *f, const ThnInstr *ins, const ThnAgain *a)
{
    const ThnCell *out = ins->nout ? THN_OUT(f, ins, 0) : NULL; /* checks have none */
    switch (a->now) {
    case THN_REPLAY_VIEW: return out->buf == THN_IN(f, ins, 0)->buf && !out->obj;
    case THN_REPLAY_EMPTY:
        for (int i = 0; i < ins->nin; i++) {
            if (thn_scalar_int(THN_IN(f, ins, i)) != out->dims[i]) {
                return 0;
            }
        }
        return !is_shown(out);
    case THN_REPLAY_NOTHING:
    case THN_REPLAY_COPY: return !out || (out->kind == THN_KIND_TENSOR && !is_shown(out));
    case THN_REPLAY_KERNEL: {
        const ThnKernel *k = ((const thn_kernel_params *)ins->data)->kernel;
        for (int o = 0; o < k->nout; o++) {
            const ThnCell *c = THN_OUT(f, ins, o);
            if (is_shown(c) || (k->out[o].alias >= 0 && c->buf != THN_IN(f, ins, k->out[o].alias)->buf)) {
                return 0;
            }
        }
        return 1;
    }
    case THN_REPLAY_PRODUCT: return !is_shown(out) && (!thn_product_in_place(ins) || out->buf == THN_IN(f, ins, 0)->buf);
    default: return 0;
    }
}

/* 1: done; 0: not in this way; -1: failed. */
static int run_quickly(ThnFrame *f, const ThnInstr *ins, const ThnAgain *a)
{
    if (!thn_repeats(f, ins, a)) {
        return 0;
    }
    switch (a->now) {
    case THN_REPLAY_VIEW: THN_OUT(f, ins, 0)->data = THN_IN(f, ins, 0)->data + a->offset; return 1;
    case THN_REPLAY_EMPTY:
    case THN_REPLAY_NOTHING: return 1;
    case THN_REPLAY_KERNEL: return run_kernel(f, ins, a) < 0 ? -1 : 1;
    case THN_REPLAY_PRODUCT:
        if (thn_product_in_place(ins)) {
            THN_OUT(f, ins, 0)->data = THN_IN(f, ins, 0)->data;
        }
        if (a->packed) {
            thn_run_packed(f, ins, a);
            return 1;
        }
        break;
    default: break;
    }
    return thn_execute(f, ins, a->work) < 0 ? -1 : 1;
}

int thn_run_step(ThnProgram *p, ThnFrame *f, int how, size_t *bytes)
{
    npy_intp before[MOST_OUTPUTS][2 * THN_MAXDIM];
    int changed = how != THN_AGAIN;
    THN_NEED(f->again || (f->again = thn_alloc(sizeof(ThnAgain) * (size_t)p->ninstrs)));
    for (int i = 0; i < p->ninstrs; i++) {
        const ThnInstr *ins = &p->instrs[i];
        ThnAgain *a = &f->again[i];
        const double start = p->profile ? thn_now() : 0;
        const int done = changed ? 0 : run_quickly(f, ins, a), n = changed ? 0 : thn_least(ins->nout, MOST_OUTPUTS);
        if (done) {
            THN_TRY(done < 0 ? thn_fail(p, f, ins) : count_run(p, ins, a, start));
            continue;
        }
        for (int k = 0; k < n; k++) {
            const ThnCell *c = THN_OUT(f, ins, k);
            memcpy(before[k], c->dims, 2 * sizeof(npy_intp) * (size_t)c->ndim); /* strides lie behind dims */
        }
        THN_TRY(run_full(p, f, ins, a));
        THN_TRY(count_run(p, ins, a, start));
        changed |= n < ins->nout;
        for (int k = 0; k < n; k++) {
            const ThnCell *c = THN_OUT(f, ins, k);
            changed |= memcmp(before[k], c->dims, 2 * sizeof(npy_intp) * (size_t)c->ndim) != 0;
        }
        for (int k = 0; k < ins->nout && bytes; k++) {
            const ThnCell *c = THN_OUT(f, ins, k);
            *bytes += c->buf && c->buf->refs == 1 ? (size_t)(thn_size(c) * c->itemsize) : 0;
        }
        if (how == THN_ALONE || (bytes && *bytes > THN_MOST_KEPT)) {
            thn_drop(f, ins);
        }
    }
    return 0;
}
