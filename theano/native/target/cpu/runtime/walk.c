/* Positions in nested dims. */
#include "walk.h"

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
        }
        else {
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
