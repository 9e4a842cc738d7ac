/* Generated kernels around gathers and scatters.
 *
 *   indexed_kernel (Kernel, dims, gathers, scatter)
 *     ins   the kernel's inputs (for a gathered operand its table), with a scatter the target, then the index arrays of each
 *           gather and those of the scatter
 *     dims  the iteration dims that the index arrays have; outer ones, increasing
 *     gathers  ((operand, at, axes, same), ...): the operand is table[..., indices, ...]; the index arrays apply to `axes` of
 *           the table and their dims are at `at` in the result. `same`: the table is the target, and the index the scatter's
 *     scatter  None or (at, axes, set): the kernel's only output replaces target[..., indices, ...]; without axes the target
 *           has the kernel's shape. Unless `set` the target is the kernel's last input, and its output the sum of that and a
 *           value. The output is the target.
 *
 * Every index must have been checked ("check_bounds"). The kernel itself knows nothing of all this: along the index dims
 * it is given pointers into the tables and the target, row by row; where rows are short, tiles of several rows in buffers
 * that stay in the first-level cache. Rows of a target are written in the order of the indices, by threads that take columns,
 * so that sums over repeated indices do not depend on threads. In buffers the kernel adds to -0.0, which gives the value. */
#include "vm.h"
#include "indexed.h"
#include "pool.h"
#include "target.h"

/* ---- parsing */

static int check_array(const ThnProgram *p, const ThnInstr *ins, Indexed *x, int *first)
{
    const int n = x->axes.n;
    int ok = thn_increase(&x->axes) && *first + n <= ins->nin && (n == 0 || x->axes.at[n - 1] < p->cells[ins->ins[x->op]].ndim);
    x->first = *first;
    *first += n;
    for (int k = x->first; k < *first && ok; k++) {
        ok = thn_int_reader(p->cells[ins->ins[k]].typenum) != NULL;
    }
    return ok;
}

static int op_check(ThnProgram *p, ThnInstr *ins)
{
    Spec *s = ins->data;
    PyObject *gathers = s->given.gathers, *scatter = s->given.scatter;
    s->k = s->given.kernel;
    s->nd = s->given.dims.n;
    s->dims = s->given.dims.at;
    s->n_gathers = (int)PyTuple_GET_SIZE(gathers);
    int ok = s->nd > 0 && s->n_gathers <= MOST_GATHERS && s->k->nin <= ins->nin && thn_increase(&s->given.dims) && s->dims[0] >= 0
          && s->dims[s->nd - 1] < s->k->n_outer;
    for (int g = 0; g < s->n_gathers && ok; g++) {
        Indexed *x = &s->gathers[g];
        PyObject *axes;
        THN_NEED(PyArg_ParseTuple(PyTuple_GET_ITEM(gathers, g), "iiOp", &x->op, &x->at, &axes, &x->same));
        ok = x->op >= 0 && x->op < s->k->nin && thn_parse_tuple(axes, &x->axes, 0, THN_MAXDIM) > 0 && x->axes.n > 0;
        s->gathered |= ok ? (uint64_t)1 << x->op : 0;
    }
    if (scatter != Py_None && ok) {
        PyObject *axes;
        int set;
        s->scatters = 1;
        THN_NEED(PyArg_ParseTuple(scatter, "iOp", &s->target.at, &axes, &set));
        s->adds = !set;
        s->target.op = s->k->nin - s->adds;
        ok = thn_parse_tuple(axes, &s->target.axes, 0, THN_MAXDIM) > 0 && s->k->nout == 1 && s->k->n_inner == 0 && s->k->out[0].alias < 0 && s->k->nin >= s->adds;
    }
    int first = s->k->nin + (s->scatters && !s->adds);
    for (int g = 0; g < s->n_gathers && ok; g++) {
        ok = check_array(p, ins, &s->gathers[g], &first);
    }
    if (s->scatters && ok) {
        ok = check_array(p, ins, &s->target, &first);
    }
    return PyErr_Occurred() ? -1 : thn_fits(ins, ok && first == ins->nin && ins->nout == s->k->nout);
}

/* ---- shapes */

/* Fills in what is known of an indexed array before the kernel's shape is. */
static int open_array(ThnFrame *f, const ThnInstr *ins, const Indexed *x, int nd, ThnTable *a)
{
    return thn_table_open(f, ins, THN_IN(f, ins, x->op), x->first, x->axes.n, x->axes.at, x->at, nd, a);
}

/* Whether the value must be complete before anything is written. */
static int needs_whole(ThnFrame *f, const ThnInstr *ins, const Spec *s, const State *st)
{
    const ThnCell *target = THN_IN(f, ins, s->target.op);
    for (int i = 0; i < s->k->nin - s->adds; i++) {
        int same = 0;
        for (int g = 0; g < s->n_gathers; g++) {
            same |= s->gathers[g].op == i && s->gathers[g].same && s->target.axes.n == 1
                 /* The positions that are seen are marked in a bit set. */
                 && st->arrays[g].size[0] / 8 <= st->count * st->arrays[g].row * target->itemsize;
        }
        if (!same && thn_may_overlap(THN_IN(f, ins, i), target)) {
            return 1;
        }
    }
    for (int i = s->target.first; i < s->target.first + s->target.axes.n; i++) {
        if (thn_may_overlap(THN_IN(f, ins, i), target)) {
            return 1;
        }
    }
    return 0;
}

static int scatter_prepare(ThnFrame *f, const ThnInstr *ins, const Spec *s, State *st)
{
    ThnCell *out = THN_OUT(f, ins, 0), *target = THN_IN(f, ins, s->target.op);
    const ThnTable *a = &st->arrays[TARGET];
    const int rank = s->k->out[0].rank;
    THN_TRY(thn_out_alias(f, out, target));
    THN_FAIL_IF(f, a->rest + s->nd != rank || target->typenum != s->k->out[0].typenum, PyExc_SystemError,
                "indexed_kernel: the target has another rank or dtype");
    thn_kernel_out_dims(s->k, 0, st->shape, st->value);
    st->whole = 0;
    if (memcmp(st->value, a->full, sizeof(npy_intp) * (size_t)rank) != 0) {
        const ThnCell value = {.ndim = (int16_t)rank, .dims = st->value, .strides = st->value}; /* only its dims are looked at */
        THN_TRY(thn_broadcasts(f, &value, rank, a->full));
        st->whole = 1;
    }
    st->whole |= needs_whole(f, ins, s, st);
    return 0;
}

static int op_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const Spec *s = ins->data;
    const ThnKernel *k = s->k;
    State *st = thn_scratch(f, ins, sizeof *st);
    ThnArg in[THN_KMAXOPS];
    npy_intp dense[MOST_GATHERS][THN_KMAXDIM];
    char err[256];
    ThnKernel others = *k; /* without the target, to which a shorter value may be repeated */
    THN_NEED(st);
    others.nin -= s->adds;
    for (int i = 0; i < others.nin; i++) {
        const ThnCell *c = THN_IN(f, ins, i);
        THN_FAIL_IF(f, c->typenum != k->in[i].typenum || (c->ndim != k->in[i].rank && !is_gathered(s, i)), PyExc_TypeError,
                    "kernel: input %d has another dtype or rank", i);
        in[i] = (ThnArg){c->data, c->dims, c->strides};
    }
    for (int g = 0; g < s->n_gathers; g++) {
        const Indexed *x = &s->gathers[g];
        ThnTable *a = &st->arrays[g];
        THN_TRY(open_array(f, ins, x, s->nd, a));
        THN_FAIL_IF(f, a->rest + s->nd != k->in[x->op].rank, PyExc_SystemError, "indexed_kernel: a table has another rank");
        thn_dense_strides(k->in[x->op].rank, a->full, k->in[x->op].itemsize, dense[g]);
        in[x->op].dims = a->full;
        in[x->op].strides = dense[g];
    }
    THN_FAIL_IF(f, thn_kernel_shape(&others, in, st->shape, err, sizeof err) < 0, PyExc_ValueError, "%s", err);
    st->count = 1;
    for (int d = 0; d < s->nd; d++) {
        st->along[d] = st->shape[s->dims[d]];
        st->count *= st->along[d];
    }
    const double total = (double)thn_product(k->n_outer + k->n_inner, st->shape);
    double bytes = 0;
    for (int g = 0; g < s->n_gathers; g++) {
        bytes += (double)st->count * (double)st->arrays[g].row * k->in[s->gathers[g].op].itemsize;
    }
    if (s->scatters) {
        THN_TRY(open_array(f, ins, &s->target, s->nd, &st->arrays[TARGET]));
        THN_TRY(scatter_prepare(f, ins, s, st));
        bytes += (double)st->count * (double)st->arrays[TARGET].row * k->out[0].itemsize;
    } else if (thn_kernel_outputs(f, ins, k, in, st->shape) < 0) {
        return -1;
    }
    f->work = st->work = k->cost * total + 0.1 * bytes + 5.0 * (double)st->count;
    return 0;
}

static int op_execute(ThnFrame *f, const ThnInstr *ins)
{
    const Spec *s = ins->data;
    const ThnKernel *k = s->k;
    THN_POOLED Run *r = thn_pool_alloc(sizeof *r);
    THN_FAIL_IF(f, !r, PyExc_MemoryError, "no memory for a kernel's buffers");
    r->s = s;
    r->k = k;
    r->st = f->scratch[ins->index].ptr;
    r->failed = 0;
    r->again = NULL;
    r->kept = r->whole = NULL;
    for (int i = 0; i < k->nin; i++) {
        const ThnCell *c = THN_IN(f, ins, i);
        r->in[i] = (ThnArg){c->data, c->dims, c->strides};
    }
    for (int o = 0; o < k->nout; o++) {
        const ThnCell *c = THN_OUT(f, ins, o);
        r->out[o] = (ThnArg){c->data, c->dims, c->strides};
    }
    r->target = r->out[0];
    const int failed = thn_run_indexed(r);
    thn_pool_free(r->again);
    thn_pool_free(r->kept);
    thn_pool_free(r->whole);
    return failed < 0 ? thn_error(f, PyExc_MemoryError, "no memory for a kernel's buffers") : 0;
}

THN_INSTRUCTION_WITH(indexed_kernel, Spec, op_check, NULL, op_prepare, op_execute)
