/* Steps of a loop (or calls, steady_calls.c) whose instructions are kernels, products, copies and views of values whose places are
 * known, or need not be repeated: a step moves addresses and calls functions, nothing else. What would be looked at in each step
 * (who sees a value, where a view begins, which product it is) is looked at once. */
#include "replay.h"
#include "plan.h"
#include "pool.h"
#include "row_product.h"

#define FIXED (-1)
#define FEW_ROWS 8

typedef struct {
    int root;               /* the mover that the place follows, or FIXED */
    ptrdiff_t offset;
} Place;

/* An address that follows a mover. */
typedef struct {
    char **to, *const *from;
    ptrdiff_t offset;
} Link;

enum { CALL_DIRECT, CALL_ROW, CALL_PACKED, CALL_EXECUTE };

typedef struct {
    int kind;
    ThnPlan *plan;
    const ThnInstr *ins;
    const ThnAgain *again;
    ThnRowProduct row;
} Call;

struct ThnSteady {
    ThnProgram *program;
    ThnFrame *frame;
    int nmovers, ncalls, nlinks;
    thn_intp *rows;         /* several steps are rows of the only call's kernel, this far apart in each operand; NULL: they are not */
    const ThnCell *condition;
    ThnMover *movers;       /* the caller's */
    char **now;             /* where each is */
    Place *places;          /* of each cell */
    Call *calls;
    Link *links;
};

static Place place_of(const ThnSteady *s, const ThnCell *c)
{
    return s->places[c - s->frame->cells];
}

static void put_place(ThnSteady *s, const ThnCell *c, Place place, ptrdiff_t further)
{
    place.offset += further;
    s->places[c - s->frame->cells] = place;
}

/* Lets an address follow the place of a cell. */
static void link_to(ThnSteady *s, char **to, const ThnCell *c)
{
    const Place place = place_of(s, c);
    *to = c->data;
    if (place.root != FIXED) {
        s->links[s->nlinks++] = (Link){to, &s->now[place.root], place.offset};
    }
}

static void link_cells(ThnSteady *s, const ThnInstr *ins)
{
    for (int i = 0; i < ins->nin + ins->nout; i++) {
        ThnCell *c = i < ins->nin ? THN_IN(s->frame, ins, i) : THN_OUT(s->frame, ins, i - ins->nin);
        link_to(s, &c->data, c);
    }
}

/* A product of a row and a small matrix; 0: it is another one. */
static int row_call(ThnSteady *s, Call *call)
{
    const ThnInstr *ins = call->ins;
    ThnFrame *f = s->frame;
    ThnOperands o;
    if (!thn_operands(f, ins, &o)) {
        return 0;
    }
    const ThnCell *x = o.x, *b = o.y, *z = o.z, *alpha = o.alpha, *beta = o.beta, *y = THN_OUT(f, ins, 0);
    if ((alpha && !thn_has_same_value(alpha)) || (beta && !thn_has_same_value(beta)) || x->ndim + b->ndim < 3) {
        return 0;
    }
    /* A matrix and a column: the column's row and the transposed matrix. */
    const int turned = b->ndim == 1 || (x->ndim == 2 && x->dims[0] != 1 && b->dims[1] == 1);
    const ThnCell *m = turned ? x : b, *v = turned ? b : x;
    const int along = v->ndim == 2 && !turned, out = y->ndim == 2 && !turned;
    if (v->ndim == 2 && v->dims[turned] != 1) {
        return 0;
    }
    ThnMatrix by = thn_matrix(m, turned);
    if (by.rows == 0 || by.cols < 2) {
        return 0;
    }
    const ThnPacked *packed = call->again->packed;
    if (packed && (call->again->first != turned || !thn_packed_rows(packed, &by))) {
        return 0;
    }
    if (!thn_row_product_call(&call->row, y->typenum, v->strides[along], &by, z ? z->strides[out] : 0, y->strides[out],
                              alpha ? alpha->data : NULL, beta ? beta->data : NULL)) {
        return 0;
    }
    link_to(s, (char **)&call->row.x, v);
    link_to(s, &call->row.y, y);
    if (z && call->row.beta != 0) {
        link_to(s, (char **)&call->row.z, z);
    }
    if (!packed) {
        link_to(s, (char **)&call->row.b.data, m);
    }
    return 1;
}

/* What the instruction does in a step; 0: it is not known. */
static int add_call(ThnSteady *s, const ThnInstr *ins, const ThnAgain *a)
{
    ThnFrame *f = s->frame;
    Call *call = &s->calls[s->ncalls];
    if (a->work > THN_GIL_WORK || !thn_repeats(f, ins, a)) {
        return 0;
    }
    *call = (Call){.kind = CALL_EXECUTE, .ins = ins, .again = a};
    switch (a->now) {
    case THN_REPLAY_VIEW: put_place(s, THN_OUT(f, ins, 0), place_of(s, THN_IN(f, ins, 0)), a->offset); return 1;
    case THN_REPLAY_NOTHING: return 1;
    case THN_REPLAY_KERNEL: {
        const ThnKernel *k = ((const thn_kernel_params *)ins->data)->kernel;
        call->plan = f->scratch[ins->index].ptr;
        call->kind = call->plan->direct ? CALL_DIRECT : CALL_EXECUTE;
        for (int o = 0; o < k->nout; o++) {
            if (k->out[o].alias >= 0) {
                put_place(s, THN_OUT(f, ins, o), place_of(s, THN_IN(f, ins, k->out[o].alias)), 0);
            }
        }
        for (int op = 0; op < n_ops(k); op++) {
            link_to(s, &call->plan->ptr[op], op < k->nin ? THN_IN(f, ins, op) : THN_OUT(f, ins, op - k->nin));
        }
        break;
    }
    case THN_REPLAY_PRODUCT:
        if (thn_product_in_place(ins)) {
            put_place(s, THN_OUT(f, ins, 0), place_of(s, THN_IN(f, ins, 0)), 0);
        }
        if (row_call(s, call)) {
            call->kind = CALL_ROW;
        } else {
            call->kind = a->packed ? CALL_PACKED : CALL_EXECUTE;
            link_cells(s, ins);
        }
        break;
    case THN_REPLAY_COPY: link_cells(s, ins); break;
    default: return 0;
    }
    s->ncalls++;
    return 1;
}

/* Where a step is one row of an elementwise kernel, a call of it takes as many steps as follow one another in memory, unless they
 * are few. */
static void find_rows(ThnSteady *s, thn_intp *rows)
{
    const Call *call = s->calls;
    const ThnInstr *ins = call->ins;
    if (s->ncalls != 1 || s->condition || call->kind != CALL_DIRECT || call->plan->mode != RUN_ELEM || call->plan->n1 != 1) {
        return;
    }
    s->rows = rows;
    for (int m = 0; m < s->nmovers; m++) {
        s->rows = s->movers[m].len < FEW_ROWS ? NULL : s->rows;
    }
    for (int op = 0; op < ins->nin + ins->nout; op++) {
        const ThnCell *c = op < ins->nin ? THN_IN(s->frame, ins, op) : THN_OUT(s->frame, ins, op - ins->nin);
        const int root = place_of(s, c).root;
        rows[op] = root == FIXED ? 0 : s->movers[root].stride;
    }
}

ThnSteady *thn_steady(ThnProgram *p, ThnFrame *f, ThnMover *movers, int n, ThnCell *const *ends, int nends, ThnCell *condition,
                      double *work)
{
    size_t operands = 0;
    for (int i = 0; i < p->ninstrs; i++) {
        const int now = f->again[i].now;
        THN_NULL_UNLESS(now != THN_REPLAY_FULL);
        operands += (size_t)(p->instrs[i].nin + p->instrs[i].nout);
    }
    ThnSteady *s, made = {.program = p, .frame = f, .nmovers = n, .condition = condition, .movers = movers};
    thn_intp *rows;
    THN_NULL_UNLESS(THN_POOL_PARTS({&s, sizeof *s}, {&made.calls, (size_t)p->ninstrs * sizeof(Call)},
                                   {&made.links, (operands + 1) * sizeof(Link)}, {&rows, operands * sizeof *rows},
                                   {&made.places, (size_t)p->ncells * sizeof(Place)}, {&made.now, (size_t)n * sizeof(char *)}));
    *s = made;
    for (int c = 0; c < p->ncells; c++) {
        s->places[c] = (Place){FIXED, 0};
    }
    int known = 1;
    *work = 0;
    for (int m = 0; m < n; m++) {
        const ThnMover *v = &movers[m];
        s->now[m] = v->cell->data;
        put_place(s, v->cell, (Place){m, 0}, 0);
        known &= v->cell->data == thn_place(v);
    }
    for (int i = 0; i < p->ninstrs && known; i++) {
        known = add_call(s, &p->instrs[i], &f->again[i]);
        *work += f->again[i].work;
    }
    for (int k = 0; k < nends && known; k++) {
        const Place place = place_of(s, ends[k]);
        known = place.root == n - nends + k && place.offset == 0;
    }
    if (condition) {
        link_to(s, &condition->data, condition);
    }
    if (!known) {
        thn_pool_free(s);
        return NULL;
    }
    find_rows(s, rows);
    return s;
}

/* Moves all that moves, and the addresses that follow. */
static void move(const ThnSteady *s)
{
    for (int m = 0; m < s->nmovers; m++) {
        ThnMover *v = &s->movers[m];
        s->now[m] += v->stride;
        if (++v->row == v->len) {
            v->row = 0;
            s->now[m] = v->first;
        }
    }
    for (const Link *link = s->links, *end = link + s->nlinks; link < end; link++) {
        *link->to = *link->from + link->offset;
    }
}

/* Runs this step and up to n - 1 more, to the last of which all is moved. How many they were. */
static npy_intp run_rows(const ThnSteady *s, npy_intp n)
{
    const ThnPlan *plan = s->calls->plan;
    for (int m = 0; m < s->nmovers; m++) {
        n = thn_least(n, s->movers[m].len - s->movers[m].row);
    }
    plan->k->fn->elem(plan->ptr, s->rows, n, plan->n0);
    for (int m = 0; m < s->nmovers; m++) {
        s->movers[m].row += n - 1;
        s->now[m] += (n - 1) * s->movers[m].stride;
    }
    return n;
}

/* The instruction that fails, or NULL. */
static const ThnInstr *run_calls(const ThnSteady *s)
{
    for (const Call *call = s->calls, *end = call + s->ncalls; call < end; call++) {
        switch (call->kind) {
        case CALL_DIRECT: thn_run_direct(call->plan); break;
        case CALL_ROW: call->row.run(&call->row); break;
        case CALL_PACKED: thn_run_packed(s->frame, call->ins, call->again); break;
        default:
            if (call->ins->def->execute(s->frame, call->ins) < 0) {
                return call->ins;
            }
        }
    }
    return NULL;
}

int thn_steady_run(ThnSteady *s, npy_intp n, npy_intp *done, int *stop)
{
    const ThnInstr *failed = NULL;
    npy_intp t = 0;
    while (t < n && !*stop) {
        move(s);
        if (s->rows) {
            t += run_rows(s, n - t);
            continue;
        }
        failed = run_calls(s);
        if (failed) {
            break;
        }
        t++;
        *stop = s->condition && thn_truth(s->condition);
    }
    for (int c = 0; c < s->program->ncells; c++) {
        if (s->places[c].root != FIXED) {
            s->frame->cells[c].data = s->now[s->places[c].root] + s->places[c].offset;
        }
    }
    *done = t;
    return failed ? thn_fail(s->program, s->frame, failed) : 0;
}
