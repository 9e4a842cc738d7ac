/* Positions in nested dims. */
#include "walk.h"

#include <string.h>

void thn_seek(const Dims *g, int nd, thn_intp at, int ops, char **ptr, thn_intp *idx)
{
    for (int d = nd - 1; d >= 0; d--) {
        const thn_intp i = at % g->shape[d];
        at /= g->shape[d];
        idx[d] = i;
        if (i) {
            for (int op = 0; op < ops; op++) {
                ptr[op] += i * g->strides[op * g->cap + d];
            }
        }
    }
}

void thn_skip(const Dims *g, int nd, thn_intp n, int ops, char **ptr, thn_intp *idx)
{
    if (nd == 0) {
        return;
    }
    idx[nd - 1] += n - 1;
    for (int op = 0; op < ops; op++) {
        ptr[op] += (n - 1) * g->strides[op * g->cap + nd - 1];
    }
    thn_step(g, nd, ops, ptr, idx);
}

void thn_merge_dims(Dims *g, int ops)
{
    int last = 0;
    for (int d = 1; d < g->n; d++) {
        int one_run = 1;
        for (int op = 0; op < ops && one_run; op++) {
            const thn_intp *s = g->strides + op * g->cap;
            one_run = s[last] == s[d] * g->shape[d];
        }
        if (one_run) {
            g->shape[last] *= g->shape[d];
        } else {
            g->shape[++last] = g->shape[d];
        }
        for (int op = 0; op < ops; op++) {
            thn_intp *s = g->strides + op * g->cap;
            s[last] = s[d];
        }
    }
    g->n = g->n ? last + 1 : 0;
}

void thn_strides_along(const Dims *g, int d, int ops, thn_intp *s)
{
    for (int op = 0; op < ops; op++) {
        s[op] = d < 0 ? 0 : g->strides[op * g->cap + d];
    }
}

/* Whether dim a should be outside of dim b: by the first operand, outputs first, that decides. */
static int goes_outside(const Dims *g, int ops, int nin, int a, int b)
{
    for (int i = nin; i < nin + ops; i++) {
        const thn_intp *s = g->strides + (i < ops ? i : i - ops) * g->cap, sa = thn_magnitude(s[a]), sb = thn_magnitude(s[b]);
        if (sa != 0 && sb != 0 && sa != sb) {
            return sa > sb;
        }
    }
    return a < b;
}

void thn_swap_dims(Dims *g, int ops, int a, int b)
{
    thn_intp t = g->shape[a];
    g->shape[a] = g->shape[b];
    g->shape[b] = t;
    for (int op = 0; op < ops; op++) {
        thn_intp *s = g->strides + op * g->cap;
        t = s[a];
        s[a] = s[b];
        s[b] = t;
    }
}

void thn_sort_dims(Dims *g, int ops, int nin)
{
    for (int a = 1; a < g->n; a++) {
        for (int b = a; b > 0 && !goes_outside(g, ops, nin, b - 1, b); b--) {
            thn_swap_dims(g, ops, b - 1, b);
        }
    }
}

void thn_walk(ThnWalk *w, const Dims *g, int nd, int ops, char *const *ptr, thn_intp start)
{
    w->g = g;
    w->nd = nd;
    w->ops = ops;
    memcpy(w->ptr, ptr, (size_t)ops * sizeof *ptr);
    thn_strides_along(g, nd - 1, ops, w->along);
    thn_seek(g, nd, start, ops, w->ptr, w->at);
}
