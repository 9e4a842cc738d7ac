/* Instruction: the sorted distinct elements of a vector, NaN counted once and last. */
#include "vm.h"
#include "copy.h"
#include "sortkeys.h"

enum { POSITION, INVERSE, COUNTS };

/* The number of an output; 0: it is not asked for. */
static int number_of(const ThnInstr *ins, int output)
{
    const thn_unique_params *u = ins->data;
    const int asked[] = {u->index, u->inverse, u->counts};
    int number = 1;
    for (int k = 0; k < output; k++) {
        number += asked[k];
    }
    return asked[output] ? number : 0;
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

/* `work` has room for 4 n words of 64 bits, n > 0. Returns the number of distinct elements. */
static npy_intp sort_all(Sorted *s, const ThnCell *x, int positions, uint64_t *work)
{
    const npy_intp n = s->n;
    uint64_t *a = work, *b = work + n, *keys = work + 2 * n;
    npy_intp found = 1;
    s->sorted = work + 3 * n;
    if (positions) {
        thn_keys(x->typenum, x->data, x->strides[0], n, keys, 1);
        s->order = s->size == 4 ? thn_argsort_u32((const uint32_t *)keys, n, a, b) : thn_argsort_u64(keys, n, a, b);
        for (npy_intp i = 0; i < n; i++) {
            const npy_intp at = (npy_intp)(uint32_t)s->order[i];
            if (s->size == 4) {
                ((uint32_t *)s->sorted)[i] = ((const uint32_t *)keys)[at];
            } else {
                ((uint64_t *)s->sorted)[i] = keys[at];
            }
        }
    } else {
        thn_keys(x->typenum, x->data, x->strides[0], n, a, 0);
        const void *sorted = s->size == 4 ? (void *)thn_sort_u32((uint32_t *)a, (uint32_t *)b, n) : (void *)thn_sort_u64(a, b, n);
        s->elements = (char *)keys;
        thn_unkeys(x->typenum, sorted, n, s->elements, x->itemsize);
        thn_keys(x->typenum, s->elements, x->itemsize, n, s->sorted, 1);
    }
    for (npy_intp i = 1; i < n; i++) {
        found += key_at(s->sorted, s->size, i) != key_at(s->sorted, s->size, i - 1);
    }
    return found;
}

static int unique_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *x = THN_IN(f, ins, 0);
    const npy_intp n = x->dims[0];
    THN_FAIL_IF(f, n > UINT32_MAX, PyExc_ValueError, "cannot sort more than %lld elements", (long long)UINT32_MAX);
    Sorted *s = thn_scratch(f, ins, sizeof *s + 4 * 8 * (size_t)n);
    THN_NEED(s);
    *s = (Sorted){.n = n, .size = thn_key_size(x->typenum)};
    npy_intp found = 0;
    if (n > 0) {
        THN_WITHOUT_GIL_IF(n > 2000, found = sort_all(s, x, ins->nout > 1, (uint64_t *)(s + 1)));
    }
    for (int k = 0; k < ins->nout; k++) {
        THN_TRY(thn_out_alloc(f, THN_OUT(f, ins, k), k && k == number_of(ins, INVERSE) ? &n : &found));
    }
    f->work = 4.0 * (double)n;
    return 0;
}

static int unique_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *x = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    const Sorted *s = f->scratch[ins->index].ptr;
    const int item = x->itemsize;
    int64_t *to[3] = {NULL, NULL, NULL};
    for (int k = 0; k < 3; k++) {
        const int number = number_of(ins, k);
        to[k] = number ? (int64_t *)THN_OUT(f, ins, number)->data : NULL;
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
