/* Instruction: the sorted distinct elements of a vector, NaN counted once and last. */
#include "vm.h"
#include "copy.h"
#include "sortkeys.h"

enum { INDEX, INVERSE, COUNTS };

typedef struct {
    int out[3]; /* the output's number; 0: not asked for */
} Unique;

static int unique_init(ThnProgram *p, ThnInstr *ins, PyObject *params)
{
    Unique *u = thn_alloc(sizeof *u);
    int wanted[3], next = 1;
    ins->data = u;
    if (!u || !PyArg_ParseTuple(params, "ppp", &wanted[0], &wanted[1], &wanted[2])) {
        return -1;
    }
    for (int k = 0; k < 3; k++) {
        u->out[k] = wanted[k] ? next++ : 0;
    }
    const ThnCellSpec *in = &p->cells[ins->ins[0]];
    if (in->ndim != 1 || !thn_key_size(in->typenum) || ins->nout != next) {
        PyErr_SetString(PyExc_ValueError, "unique: a vector of real numbers, and an output for all that is asked for");
        return -1;
    }
    return 0;
}

static uint64_t key_at(const void *keys, int size, npy_intp i)
{
    return size == 4 ? ((const uint32_t *)keys)[i] : ((const uint64_t *)keys)[i];
}

/* What is made before the number of distinct elements is known. */
typedef struct {
    npy_intp n;
    int size;
    void *sorted;          /* merged keys in order; unused without positions */
    const uint64_t *order; /* positions that sort, in the low halves; NULL: only the elements are wanted */
    char *elements;        /* the elements in order, where there is no order */
} Sorted;

/* `work` has room for 4 n words of 64 bits. */
static void sort_all(Sorted *s, const ThnCell *x, int positions, uint64_t *work)
{
    const npy_intp n = s->n;
    uint64_t *a = work, *b = work + n, *keys = work + 2 * n;
    if (!positions) {
        thn_keys(x->typenum, x->data, x->strides[0], n, a, 0);
        s->sorted = s->size == 4 ? (void *)thn_sort_u32((uint32_t *)a, (uint32_t *)b, n) : (void *)thn_sort_u64(a, b, n);
        s->elements = (char *)keys;
        thn_unkeys(x->typenum, s->sorted, n, s->elements, x->itemsize);
        s->sorted = work + 3 * n;
        thn_keys(x->typenum, s->elements, x->itemsize, n, s->sorted, 1);
        return;
    }
    thn_keys(x->typenum, x->data, x->strides[0], n, keys, 1);
    s->order = s->size == 4 ? thn_argsort_u32((const uint32_t *)keys, n, a, b) : thn_argsort_u64(keys, n, a, b);
    s->sorted = work + 3 * n;
    for (npy_intp i = 0; i < n; i++) {
        const npy_intp at = (npy_intp)(uint32_t)s->order[i];
        if (s->size == 4) {
            ((uint32_t *)s->sorted)[i] = ((const uint32_t *)keys)[at];
        } else {
            ((uint64_t *)s->sorted)[i] = keys[at];
        }
    }
}

static int unique_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const Unique *u = ins->data;
    const ThnCell *x = THN_IN(f, ins, 0);
    const npy_intp n = x->dims[0];
    const int positions = ins->nout > 1;
    if (n > UINT32_MAX) {
        return thn_error(f, PyExc_ValueError, "cannot sort more than %lld elements", (long long)UINT32_MAX);
    }
    Sorted *s = thn_scratch(f, ins, sizeof *s + 4 * 8 * (size_t)n);
    if (!s) {
        return -1;
    }
    *s = (Sorted){.n = n, .size = thn_key_size(x->typenum)};
    npy_intp found = n > 0;
    if (n > 0) {
        PyThreadState *saved = n > 2000 ? PyEval_SaveThread() : NULL;
        sort_all(s, x, positions, (uint64_t *)(s + 1));
        for (npy_intp i = 1; i < n; i++) {
            found += key_at(s->sorted, s->size, i) != key_at(s->sorted, s->size, i - 1);
        }
        if (saved) {
            PyEval_RestoreThread(saved);
        }
    }
    for (int k = 0; k < ins->nout; k++) {
        if (thn_out_alloc(f, THN_OUT(f, ins, k), k && k == u->out[INVERSE] ? &n : &found) < 0) {
            return -1;
        }
    }
    f->work = 4.0 * (double)n;
    return 0;
}

static int unique_execute(ThnFrame *f, const ThnInstr *ins)
{
    const Unique *u = ins->data;
    const ThnCell *x = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    const Sorted *s = f->scratch[ins->index].ptr;
    const int item = x->itemsize;
    int64_t *to[3] = {NULL, NULL, NULL};
    for (int k = 0; k < 3; k++) {
        to[k] = u->out[k] ? (int64_t *)THN_OUT(f, ins, u->out[k])->data : NULL;
    }
    npy_intp number = -1, start = 0;
    for (npy_intp i = 0; i < s->n; i++) {
        const npy_intp at = s->order ? (npy_intp)(uint32_t)s->order[i] : i;
        if (i == 0 || key_at(s->sorted, s->size, i) != key_at(s->sorted, s->size, i - 1)) {
            if (to[COUNTS] && i) {
                to[COUNTS][number] = i - start;
            }
            start = i;
            number++;
            memcpy(out->data + number * item, s->order ? x->data + at * x->strides[0] : s->elements + i * item, (size_t)item);
            if (to[INDEX]) {
                to[INDEX][number] = at;
            }
        }
        if (to[INVERSE]) {
            to[INVERSE][at] = number;
        }
    }
    if (to[COUNTS] && s->n) {
        to[COUNTS][number] = s->n - start;
    }
    return 0;
}

const ThnOpDef thn_ops_unique[] = {
    {"unique", unique_init, NULL, unique_prepare, unique_execute, 0},
    {NULL, NULL, NULL, NULL, NULL, 0},
};
