/* Instruction: the sorted distinct elements of a vector, NaN counted once and last. */
#include "vm.h"
#include "copy.h"
#include "sortkeys.h"

enum { POSITION, INVERSE, COUNTS };

/* The numbers of the outputs that are asked for; 0: it is not. */
static void numbers_of(const ThnInstr *ins, int *out)
{
    const thn_unique_params *u = ins->data;
    int next = 1;
    out[POSITION] = u->index ? next++ : 0;
    out[INVERSE] = u->inverse ? next++ : 0;
    out[COUNTS] = u->counts ? next++ : 0;
}

static int unique_check(ThnProgram *p, ThnInstr *ins)
{
    const thn_unique_params *u = ins->data;
    const ThnCellSpec *in = &p->cells[ins->ins[0]];
    return thn_fits(ins, in->ndim == 1 && thn_key_size(in->typenum) && ins->nout == 1 + u->index + u->inverse + u->counts);
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
    int number_of[3];
    const ThnCell *x = THN_IN(f, ins, 0);
    const npy_intp n = x->dims[0];
    numbers_of(ins, number_of);
    const int positions = ins->nout > 1;
    THN_FAIL_IF(f, n > UINT32_MAX, PyExc_ValueError, "cannot sort more than %lld elements", (long long)UINT32_MAX);
    Sorted *s = thn_scratch(f, ins, sizeof *s + 4 * 8 * (size_t)n);
    THN_NEED(s);
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
        THN_TRY(thn_out_alloc(f, THN_OUT(f, ins, k), k && k == number_of[INVERSE] ? &n : &found));
    }
    f->work = 4.0 * (double)n;
    return 0;
}

static int unique_execute(ThnFrame *f, const ThnInstr *ins)
{
    int number_of[3];
    const ThnCell *x = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    const Sorted *s = f->scratch[ins->index].ptr;
    const int item = x->itemsize;
    int64_t *to[3] = {NULL, NULL, NULL};
    numbers_of(ins, number_of);
    for (int k = 0; k < 3; k++) {
        to[k] = number_of[k] ? (int64_t *)THN_OUT(f, ins, number_of[k])->data : NULL;
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
            if (to[POSITION]) {
                to[POSITION][number] = at;
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

THN_INSTRUCTION(unique, unique_check, unique_prepare, unique_execute)
