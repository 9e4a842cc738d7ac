/* Instruction: scan, a loop over a nested program.
 *
 * The inner program is a Program of its own. Its input cells see the outer memory: elements of sequences and rows of the
 * recurrent buffers by pointers that move, everything else by sharing. Its outputs are made in the rows of the outer
 * buffers where the instruction that makes them can do so (THN_CELL_DEST) and copied there otherwise.
 *
 * ins:  number of steps, sequences, recurrent buffers, shared values, lengths of the other outputs, other arguments
 * outs: recurrent buffers, other outputs, shared values
 * inner inputs:  sequences, taps of all recurrent buffers, shared values, other arguments
 * inner outputs: for each recurrent buffer one for each of its slices, other outputs, shared values[, stop condition]
 */
#include "vm.h"
#include "scan.h"
#include "replay.h"
#include "blas.h"
#include "copy.h"
#include "plan.h"

#include <limits.h>

static int parse_ints(PyObject *numbers, int **out, int *n)
{
    return thn_parse_ints(numbers, out, n, INT_MIN, INT_MAX, "scan", "number");
}

static int parse_recs(Scan *s, PyObject *recs)
{
    s->nrec = (int)PyTuple_GET_SIZE(recs);
    s->recs = thn_alloc(sizeof(Rec) * (size_t)s->nrec);
    for (int i = 0; s->recs && i < s->nrec; i++) {
        Rec *r = &s->recs[i];
        PyObject *taps, *slices;
        THN_NEED(PyArg_ParseTuple(PyTuple_GET_ITEM(recs, i), "OOpp", &taps, &slices, &r->whole, &r->inplace));
        THN_TRY(parse_ints(taps, &r->taps, &r->ntaps));
        THN_TRY(parse_ints(slices, &r->slices, &r->nouts));
        for (int k = 0; k < r->ntaps + r->nouts; k++) {
            const int tap = k < r->ntaps ? r->taps[k] : r->slices[k - r->ntaps];
            r->first = k == 0 || -tap > r->first ? -tap : r->first;
            r->last = k == 0 || tap > r->last ? tap : r->last;
        }
        r->tap = s->ntaps;
        s->ntaps += r->ntaps;
        s->nrows += r->nouts;
    }
    return s->recs ? 0 : -1;
}

static int parse_outs(Scan *s, PyObject *dests)
{
    ThnProgram *p = s->given.inner;
    THN_RAISE_IF(PyTuple_GET_SIZE(dests) != s->nrows, PyExc_ValueError, "scan: one destination for each output is needed");
    s->outs = thn_alloc(sizeof(Out) * (size_t)s->nrows);
    int o = 0;
    for (int b = 0; s->outs && b < s->nrec + s->given.nnit; b++) {
        for (int k = 0; k < (b < s->nrec ? s->recs[b].nouts : 1); k++, o++) {
            Out *out = &s->outs[o];
            PyObject *over;
            out->cell = p->outputs[o].cell;
            out->buf = b;
            out->slice = b < s->nrec ? s->recs[b].slices[k] : 0;
            THN_NEED(PyArg_ParseTuple(PyTuple_GET_ITEM(dests, o), "iO", &out->dest, &over));
            THN_TRY(parse_ints(over, &out->over, &out->nover));
            THN_RAISE_IF(out->dest >= p->ncells, PyExc_ValueError, "scan: there is no such cell");
        }
    }
    return s->outs ? 0 : -1;
}

/* Inner cell `in` is what outer cell `out` is, less `drop` dimensions. */
static int same_kind(const ThnCellSpec *in, const ThnCellSpec *out, int drop)
{
    return in->kind == out->kind && (in->kind == THN_KIND_OBJECT ? !drop : in->typenum == out->typenum
                                                                              && in->ndim + drop == out->ndim);
}

static int check_cells(ThnProgram *outer, const ThnInstr *ins, const Scan *s)
{
    const ThnProgram *p = s->given.inner;
    int k = 0, o = 0, ok = 1;
    for (int i = 0; i < s->given.nseq; i++) {
        ok &= same_kind(&p->cells[p->inputs[k++].cell], &outer->cells[ins->ins[1 + i]], 1);
    }
    for (int i = 0; i < s->nrec; i++) {
        const ThnCellSpec *buf = &outer->cells[ins->ins[1 + s->given.nseq + i]];
        ok &= same_kind(&outer->cells[ins->outs[i]], buf, 0);
        for (int t = 0; t < s->recs[i].ntaps; t++) {
            ok &= same_kind(&p->cells[p->inputs[k++].cell], buf, 1);
        }
        for (int t = 0; t < s->recs[i].nouts; t++) {
            ok &= same_kind(&p->cells[p->outputs[o++].cell], buf, 1);
        }
    }
    for (int i = 0; i < s->given.nnit; i++) {
        ok &= same_kind(&p->cells[p->outputs[o++].cell], &outer->cells[ins->outs[s->nrec + i]], 1);
    }
    for (int i = 0; i < s->given.nshared; i++) {
        ok &= same_kind(&p->cells[p->inputs[k++].cell], &outer->cells[ins->ins[1 + s->given.nseq + s->nrec + i]], 0);
        ok &= same_kind(&p->cells[p->outputs[o++].cell], &outer->cells[ins->outs[s->nrec + s->given.nnit + i]], 0);
    }
    for (int i = 0; i < s->given.nother; i++) {
        ok &= same_kind(&p->cells[p->inputs[k++].cell], &outer->cells[ins->ins[ins->nin - s->given.nother + i]], 0);
    }
    THN_RAISE_IF(!ok, PyExc_TypeError, "scan: an inner value has another dtype or rank than the outer one");
    return 0;
}

static int scan_check(ThnProgram *prog, ThnInstr *ins)
{
    Scan *s = ins->data;
    s->text = PyUnicode_AsUTF8(s->given.text);
    THN_NEED(s->text);
    THN_TRY(parse_recs(s, s->given.states));
    s->nrows += s->given.nnit;
    const ThnProgram *p = s->given.inner;
    THN_RAISE_IF(ins->nin != 1 + s->given.nseq + s->nrec + s->given.nshared + s->given.nnit + s->given.nother
                     || ins->nout != s->nrec + s->given.nnit + s->given.nshared
                     || p->ninputs != s->given.nseq + s->ntaps + s->given.nshared + s->given.nother
                     || p->noutputs != s->nrows + s->given.nshared + (s->given.as_while != 0),
                 PyExc_ValueError, "scan: the numbers of operands do not fit the inner program");
    THN_TRY(parse_outs(s, s->given.destinations));
    THN_TRY(check_cells(prog, ins, s));
    for (int i = 0; i < p->ninstrs; i++) {
        s->products |= thn_rows[p->instrs[i].def->code].replay == THN_REPLAY_PRODUCT;
    }
    return 0;
}

static void scan_clear(ThnInstr *ins)
{
    Scan *s = ins->data;
    for (int i = 0; s->recs && i < s->nrec; i++) {
        thn_free(s->recs[i].taps);
        thn_free(s->recs[i].slices);
    }
    for (int i = 0; s->outs && i < s->nrows; i++) {
        thn_free(s->outs[i].over);
    }
    thn_free(s->recs);
    thn_free(s->outs);
}

static int check_lengths(ThnFrame *f, const ThnInstr *ins, const Scan *s, npy_intp steps)
{
    THN_FAIL_IF(f, steps < 0, PyExc_IndexError, "Scan was asked to run for a negative number of steps: %lld", (long long)steps);
    for (int k = 0; k < s->given.nseq; k++) {
        const ThnCell *c = THN_IN(f, ins, 1 + k);
        THN_FAIL_IF(f, c->dims[0] < steps, PyExc_ValueError,
                    "Sequence %d of %s is shorter than the required number of steps: it has %lld elements for %lld steps (its shape "
                    "is %s).", k, s->text, (long long)c->dims[0], (long long)steps, THN_SHAPE(c->ndim, c->dims));
    }
    for (int k = 0; k < s->given.nnit; k++) {
        const int64_t n = thn_scalar_int(THN_IN(f, ins, 1 + s->given.nseq + s->nrec + s->given.nshared + k));
        THN_FAIL_IF(f, n < 0, PyExc_IndexError, "Scan was asked to keep a negative number of values of an output: %lld", (long long)n);
    }
    return 0;
}

static npy_intp modulo(npy_intp a, npy_intp n)
{
    a %= n;
    return a < 0 ? a + n : a;
}

static int run_loop(ThnFrame *f, const ThnInstr *ins, const Scan *s, Run *run, ThnFrame *g, npy_intp steps, npy_intp *done)
{
    ThnProgram *p = s->given.inner;
    int input = 0, row = 0, same = 0;
    for (int o = 0; o < s->nrows; o++) {
        run->made[o] = &g->cells[s->outs[o].cell];
        run->lent[o] = NULL;
        run->rows[o] = (ThnMover){s->outs[o].dest < 0 ? NULL : &g->cells[s->outs[o].dest], NULL, 0, 0, 1};
    }
    for (int k = 0; k < s->given.nseq; k++, input++) {
        ThnCell *from = THN_IN(f, ins, 1 + k), *to = &g->cells[p->inputs[input].cell];
        run->movers[k] = (ThnMover){to, from->data, from->strides[0], 0, NPY_MAX_INTP};
        THN_TRY(thn_scan_lend(f, to, from->data, from->dims + 1, from->strides + 1, "sequence", k));
    }
    for (int i = 0; i < s->nrec; i++) {
        const Rec *r = &s->recs[i];
        Buf *b = &run->bufs[i];
        THN_TRY(thn_scan_take_buffer(f, ins, s, i, steps, b));
        for (int t = 0; t < r->ntaps && steps > 0; t++, input++) {
            ThnCell *c = &g->cells[p->inputs[input].cell];
            ThnMover *tap = &run->taps[r->tap + t];
            *tap = thn_scan_mover(c, b, modulo(r->first + r->taps[t], b->len));
            THN_TRY(thn_scan_lend(f, c, thn_place(tap), b->dims, b->strides, "recurrent output", i));
        }
        for (int t = 0; t < r->nouts && steps > 0; t++, row++) {
            run->rows[row] = thn_scan_mover(run->rows[row].cell, b, modulo(r->first + r->slices[t], b->len));
        }
    }
    for (int i = 0; i < s->given.nnit; i++) {
        run->bufs[s->nrec + i].cell = NULL;
    }
    input = s->given.nseq + s->ntaps;
    for (int k = 0; k < s->given.nshared; k++, input++) {
        ThnCell *from = THN_IN(f, ins, 1 + s->given.nseq + s->nrec + k);
        THN_TRY(thn_scan_copy_shared(f, &g->cells[p->inputs[input].cell], from, &same));
    }
    for (int k = 0; k < s->given.nother; k++, input++) {
        ThnCell *to = &g->cells[p->inputs[input].cell];
        THN_TRY(thn_out_alias(f, to, THN_IN(f, ins, ins->nin - s->given.nother + k)));
        THN_TRY(thn_scan_check_dims(f, to, "argument", k));
        to->flags |= THN_CELL_FIXED;
    }
    if (steps == 0) {
        return thn_scan_no_steps(f, ins, s, run, g) < 0 ? -1 : thn_scan_finish(f, ins, s, run, g, 0, 0);
    }
    THN_TRY(thn_scan_steps(f, ins, s, run, g, steps, done));
    return thn_scan_finish(f, ins, s, run, g, steps, *done);
}

static int scan_execute(ThnFrame *f, const ThnInstr *ins)
{
    const Scan *s = ins->data;
    ThnProgram *p = s->given.inner;
    const size_t nbuf = (size_t)(s->nrec + s->given.nnit), nrow = (size_t)s->nrows;
    const npy_intp steps = (npy_intp)thn_scalar_int(THN_IN(f, ins, 0));
    const double start = s->given.on_profile == Py_None ? 0 : thn_now();
    npy_intp done = 0;
    THN_TRY(check_lengths(f, ins, s, steps));
    Run run = {.nmovers = s->given.nseq + s->ntaps + s->nrows};
    run.bufs = thn_scratch(f, ins, nbuf * sizeof(Buf) + (size_t)run.nmovers * sizeof(ThnMover)
                                       + nrow * (sizeof(ThnCell *) + sizeof(char *) + 1));
    THN_NEED(run.bufs);
    run.movers = (ThnMover *)(run.bufs + nbuf);
    run.taps = run.movers + s->given.nseq;
    run.rows = run.taps + s->ntaps;
    run.made = (ThnCell **)(run.rows + nrow);
    run.lent = (char **)(run.made + nrow);
    run.bound = (char *)(run.lent + nrow);
    ThnFrame *g = thn_frame_get(p);
    THN_NEED(g);
    int r = -1;
    if (g->dests || (g->dests = thn_alloc(sizeof(ThnDest) * (size_t)p->ncells))) {
        /* Once for all products instead of for each. */
        const int held = s->products && steps > 1 && thn_blas_hold();
        r = run_loop(f, ins, s, &run, g, steps, &done);
        thn_blas_let_go(held);
        thn_replay_end(p, g);
    }
    for (int o = 0; o < s->nrows; o++) {
        if (s->outs[o].dest >= 0) {
            g->cells[s->outs[o].dest].flags &= ~THN_CELL_DEST;
        }
    }
    thn_frame_put(p, g);
    if (r == 0 && s->given.on_profile != Py_None) {
        PyObject *told = PyObject_CallFunction(s->given.on_profile, "nd", (Py_ssize_t)done, thn_now() - start);
        Py_XDECREF(told);
        r = told ? 0 : -1;
    }
    return r;
}

THN_INSTRUCTION_WITH(scan, Scan, scan_check, scan_clear, thn_nothing_prepare, scan_execute)
