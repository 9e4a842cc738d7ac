/* Instructions: sparse matrices by their parts, which make others or dense arrays. All is done when they are prepared, without the
 * GIL where it takes long: how much is stored is known only then. */
#include "vm.h"
#include "copy.h"
#include "pool.h"
#include "sparse_parts.h"
#include "target.h"

#define LONG 3000 /* values from which on the GIL is released */

/* Does `what` with `n` values. */
#define WITHOUT_GIL(n, what) THN_WITHOUT_GIL_IF((n) > LONG, what)

/* Outputs: values, indices, indptr and perhaps the shape. Takes what was made; r < 0: an error of `s`. */
static int give(ThnFrame *f, const ThnInstr *ins, const ThnSparse *s, int r, ThnSparse *made)
{
    THN_TRY(thn_sparse_result(f, s, r));
    const ThnSparse m = *made;
    const int index = m.wide ? NPY_INT64 : NPY_INT32;
    *made = (ThnSparse){0};
    THN_OWNED PyObject *data = thn_array_of_block(THN_OUT(f, ins, 0)->typenum, m.stored, m.data);
    THN_OWNED PyObject *indices = thn_array_of_block(index, m.stored, m.indices);
    THN_OWNED PyObject *indptr = thn_array_of_block(index, m.lines + 1, m.indptr);
    THN_NEED(data && indices && indptr);
    THN_TRY(thn_unbox(f, THN_OUT(f, ins, 0), data));
    thn_set_object(THN_OUT(f, ins, 1), indices);
    thn_set_object(THN_OUT(f, ins, 2), indptr);
    return ins->nout < 4 ? 0 : thn_sparse_give_shape(f, THN_OUT(f, ins, 3), m.csc ? m.length : m.lines, m.csc ? m.lines : m.length);
}

/* Gives all of these matrices indices of int64, some of them in memory for `held`. 0, or -2. */
static int widen(ThnSparse *s, npy_intp n, int64_t **held)
{
    size_t count = 0;
    for (npy_intp k = 0; k < n; k++) {
        count += s[k].wide ? 0 : (size_t)(s[k].stored + s[k].lines + 1);
    }
    int64_t *to = *held = thn_pool_alloc(count * sizeof *to + 1);
    for (npy_intp k = 0; k < n && to; k++) {
        void **const parts[2] = {&s[k].indices, &s[k].indptr};
        const npy_intp lengths[2] = {s[k].stored, s[k].lines + 1};
        for (int i = 0; i < 2 && !s[k].wide; to += lengths[i++]) {
            thn_cast_inner(NPY_INT64, NPY_INT32)(lengths[i], (char *)to, 8, *parts[i], 4);
            *parts[i] = to;
        }
        s[k].wide = 1;
    }
    return to ? 0 : -2;
}

/* ---- sparse_merge, sparse_times: ins = places, values, places, values */

static int read_two(ThnFrame *f, const ThnInstr *ins, ThnSparse *s)
{
    THN_TRY(thn_sparse_read_parts(f, ins, 0, thn_is_csc(ins), &s[0]));
    return thn_sparse_read_parts(f, ins, 4, thn_is_csc(ins), &s[1]);
}

static int sparse_merge_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const thn_sparse_merge_params *given = ins->data;
    ThnSparse s[2];
    THN_MADE ThnSparse made = {0};
    THN_POOLED int64_t *held = NULL;
    THN_TRY(read_two(f, ins, s));
    THN_FAIL_IF(f, s[0].lines != s[1].lines || s[0].length != s[1].length, PyExc_ValueError,
                "sparse matrices of different shapes, %s and %s", THN_SHAPE(2, THN_SIDES(f, ins, 2)), THN_SHAPE(2, THN_SIDES(f, ins, 6)));
    const int wide = s[0].wide || s[1].wide || s[0].stored + s[1].stored > INT32_MAX;
    int r = wide ? widen(s, 2, &held) : 0;
    if (r == 0) {
        WITHOUT_GIL(s[0].stored + s[1].stored + s[0].lines, r = thn_sparse_merge(&s[0], &s[1], given->multiply, &made));
    }
    return give(f, ins, s, r, &made);
}

static int sparse_times_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const npy_intp *left = THN_SIDES(f, ins, 2), *right = THN_SIDES(f, ins, 6);
    ThnSparse s[2];
    THN_MADE ThnSparse made = {0};
    THN_POOLED int64_t *held = NULL;
    THN_TRY(read_two(f, ins, s));
    THN_FAIL_IF(f, left[1] != right[0], PyExc_ValueError, "shapes %s and %s not aligned: %lld (dim 1) != %lld (dim 0)", THN_SHAPE(2, left),
                THN_SHAPE(2, right), (long long)left[1], (long long)right[0]);
    /* The columns of a product are the columns of the left matrix that those of the right one ask for. */
    const ThnSparse *a = &s[thn_is_csc(ins)], *b = &s[!thn_is_csc(ins)];
    int r = s[0].wide != s[1].wide ? widen(s, 2, &held) : 0;
    if (r == 0) {
        WITHOUT_GIL(a->stored + b->stored + a->lines, r = thn_sparse_times(a, b, &made));
    }
    if (r == -3) {
        r = widen(s, 2, &held) < 0 ? -2 : thn_sparse_times(a, b, &made);
    }
    return give(f, ins, a, r, &made);
}

/* ---- sparse_values_of: ins = places, places, values */

static int values_of(ThnTwo *w)
{
    const ThnSparse *x = &w->a, *y = &w->b;
    const npy_intp index = thn_sparse_index(x), item = x->item;
    THN_MADE ThnSparse made = {0};
    if (x->stored == y->stored && memcmp(x->indptr, y->indptr, (size_t)(index * (x->lines + 1))) == 0
        && memcmp(x->indices, y->indices, (size_t)(index * x->stored)) == 0) {
        /* A gradient with respect to the values that are stored, one by one, also where several have one place. */
        thn_copy_strided(1, &x->stored, w->to, &item, y->data, &item, (int)item);
        return 0;
    }
    const int r = thn_sparse_canonical(&w->b, &made);
    return r < 0 ? r : thn_sparse_by_lines(w, thn_sparse_loops(x)->values_of, 3.0 * (double)x->stored + (double)y->stored);
}

/* What a matrix has at the places of another; what it stores several times at one place is added up, unless these are its own. */
static int sparse_values_of_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnSparse s[2];
    THN_POOLED int64_t *held = NULL;
    ThnCell *out = THN_OUT(f, ins, 0);
    THN_TRY(thn_sparse_read(f, ins, 0, thn_is_csc(ins), &s[0]));
    THN_TRY(thn_sparse_read_parts(f, ins, 3, thn_is_csc(ins), &s[1]));
    THN_FAIL_IF(f, s[0].lines != s[1].lines || s[0].length != s[1].length, PyExc_ValueError,
                "elements of a matrix of shape %s at the places of one of shape %s", THN_SHAPE(2, THN_SIDES(f, ins, 5)),
                THN_SHAPE(2, THN_SIDES(f, ins, 2)));
    THN_TRY(thn_out_alloc(f, out, &s[0].stored));
    int r = s[0].wide != s[1].wide ? widen(s, 2, &held) : 0;
    ThnTwo w = {s[0], s[1], out->data};
    if (r == 0) {
        WITHOUT_GIL(w.a.stored + w.b.stored + w.a.lines, r = values_of(&w));
    }
    return thn_sparse_result(f, &s[0], r);
}

/* ---- sparse_tidy, sparse_turn: ins = places, values */

static int sparse_remake_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const thn_sparse_tidy_params *tidy = ins->def == &thn_op_sparse_tidy ? ins->data : NULL;
    ThnSparse s;
    THN_MADE ThnSparse made = {0};
    int r;
    THN_TRY(thn_sparse_read_parts(f, ins, 0, thn_is_csc(ins), &s));
    WITHOUT_GIL(s.stored + (tidy ? s.lines : s.length),
                r = tidy ? thn_sparse_tidy(&s, tidy->sort, tidy->drop, 0, &made) : thn_sparse_turn(&s, &made));
    return give(f, ins, &s, r, &made);
}

/* ---- sparse_stack: ins = (places, values)...; sparse_slice: ins = places, values, start, stop */

/* Matrices, or some lines of them, one after the other, or `across`: of each line what they have of it. */
static int stack(ThnFrame *f, const ThnInstr *ins, ThnSparse *s, int n, int across)
{
    THN_MADE ThnSparse made = {0};
    THN_POOLED int64_t *held = NULL;
    npy_intp stored = 0, lines = 0, length = 0;
    int wide = 0, r = 0;
    for (int k = 0; k < n; k++) {
        wide |= s[k].wide;
        stored += thn_sparse_pointer(&s[k], s[k].lines) - thn_sparse_pointer(&s[k], 0);
        lines = across ? s[k].lines : lines + s[k].lines;
        length = across ? length + s[k].length : s[k].length;
    }
    if (wide || stored > INT32_MAX || length > INT32_MAX) {
        r = widen(s, n, &held);
    }
    r = r < 0 ? r : thn_sparse_alloc(&made, s, lines, length, stored);
    if (r == 0) {
        WITHOUT_GIL(stored + lines, r = thn_sparse_loops(s)->stack(s, n, across, &made));
    }
    return give(f, ins, s, r, &made);
}

static int sparse_stack_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const thn_sparse_stack_params *given = ins->data;
    const int n = ins->nin / 4;
    ThnSparse *s = thn_scratch(f, ins, sizeof *s * (size_t)n);
    THN_NEED(s);
    for (int k = 0; k < n; k++) {
        THN_TRY(thn_sparse_read_parts(f, ins, 4 * k, given->csc, &s[k]));
        THN_FAIL_IF(f, given->across ? s[k].lines != s[0].lines : s[k].length != s[0].length, PyExc_ValueError,
                    "matrices of shapes %s and %s cannot be put %s", THN_SHAPE(2, THN_SIDES(f, ins, 2)),
                    THN_SHAPE(2, THN_SIDES(f, ins, 4 * k + 2)), given->across == given->csc ? "one below the other" : "side by side");
    }
    return stack(f, ins, s, n, given->across);
}

static npy_intp bound_of(const ThnCell *c, npy_intp length)
{
    int64_t i = thn_scalar_int(c);
    i = i < 0 ? i + length : i;
    return i < 0 ? 0 : i > length ? length : (npy_intp)i;
}

static int sparse_slice_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnSparse s;
    THN_TRY(thn_sparse_read_parts(f, ins, 0, thn_is_csc(ins), &s));
    const npy_intp start = bound_of(THN_IN(f, ins, 4), s.lines), stop = bound_of(THN_IN(f, ins, 5), s.lines);
    s.indptr = (char *)s.indptr + start * thn_sparse_index(&s);
    s.lines = stop > start ? stop - start : 0;
    return stack(f, ins, &s, 1, 0);
}

/* ---- sparse_from_dense: ins = matrix */

static int sparse_from_dense_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const int csc = thn_is_csc(ins);
    const ThnCell *x = THN_IN(f, ins, 0);
    /* Along the memory first, where that is across the lines. */
    const int across = llabs(x->strides[csc]) < llabs(x->strides[!csc]) && x->dims[0] > 1 && x->dims[1] > 1, by = csc != across;
    const npy_intp strides[2] = {x->strides[by], x->strides[!by]};
    THN_MADE ThnSparse first = {.lines = x->dims[by], .length = x->dims[!by], .csc = by, .typenum = x->typenum, .item = x->itemsize};
    THN_MADE ThnSparse made = {0};
    int r;
    WITHOUT_GIL(thn_size(x), r = thn_sparse_from_dense(x->data, strides, &first));
    if (across && r == 0) {
        WITHOUT_GIL(thn_size(x), r = thn_sparse_turn(&first, &made));
    }
    THN_FAIL_IF(f, r == -1, PyExc_RuntimeError, "the matrix was changed while it was read");
    return give(f, ins, &first, r, across ? &made : &first);
}

/* ---- sparse_add_dense: ins = matrix, places, values */

static int sparse_add_dense_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *dense = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    ThnSparse s;
    THN_TRY(thn_sparse_read_parts(f, ins, 1, ((const thn_sparse_add_dense_params *)ins->data)->csc, &s));
    THN_FAIL_IF(f, !PyArray_CompareLists(dense->dims, THN_SIDES(f, ins, 3), 2), PyExc_ValueError,
                "a sparse matrix of shape %s and a dense one of shape %s", THN_SHAPE(2, THN_SIDES(f, ins, 3)), THN_SHAPE(2, dense->dims));
    THN_TRY(thn_target_prepare(f, out, dense, thn_in_place(ins)));
    const ThnLines w = thn_sparse_lines(&s, out->data, out->strides, NULL);
    const double work = 3.0 * (double)s.stored + (double)s.lines;
    int r;
    f->work = work + (thn_in_place(ins) ? 0 : 0.5 * (double)thn_size(dense));
    THN_WITHOUT_GIL_IF(f->work > THN_GIL_WORK, thn_target_execute(out, dense, thn_in_place(ins));
                       r = thn_sparse_by_lines(&w, thn_sparse_loops(&s)->add_dense, work));
    return thn_sparse_result(f, &s, r);
}

/* ---- sparse_sum: ins = places, values */

static int sparse_sum_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const thn_sparse_sum_params *given = ins->data;
    ThnCell *out = THN_OUT(f, ins, 0);
    ThnSparse s;
    int r;
    THN_TRY(thn_sparse_read_parts(f, ins, 0, given->csc, &s));
    THN_TRY(thn_out_alloc(f, out, given->of_lines ? &s.lines : &s.length));
    const ThnSparseLoops *loops = thn_sparse_loops(&s);
    const ThnLines w = {.s = s, .to = out->data};
    f->work = (double)s.stored + (double)s.lines;
    THN_WITHOUT_GIL_IF(f->work > THN_GIL_WORK, r = given->of_lines ? thn_sparse_by_lines(&w, loops->sum_lines, f->work)
                                                                   : loops->sum_indices(&s, w.to));
    return thn_sparse_result(f, &s, r);
}

/* ---- sparse_take: ins = places, values, int64 vector */

static int sparse_take_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *which = THN_IN(f, ins, 4);
    const int64_t *lines = (const int64_t *)which->data;
    const npy_intp n = which->dims[0];
    ThnSparse s;
    THN_MADE ThnSparse made = {0};
    THN_POOLED int64_t *held = NULL;
    THN_TRY(thn_sparse_read_parts(f, ins, 0, thn_is_csc(ins), &s));
    THN_FAIL_IF(f, !thn_is_c_contiguous(which), PyExc_SystemError, "sparse_take: positions must be contiguous");
    int r;
    WITHOUT_GIL(n * 10, r = thn_sparse_take(&s, lines, n, &made));
    if (r == -3) {
        r = widen(&s, 1, &held) < 0 ? -2 : thn_sparse_take(&s, lines, n, &made);
    }
    THN_FAIL_IF(f, r == -4, PyExc_IndexError, "an index of axis %d is out of bounds for length %lld", s.csc, (long long)s.lines);
    return give(f, ins, &s, r, &made);
}

/* ---- sparse_make: ins = values, indices, indptr, shape; outs = indices, indptr, shape */

static int sparse_make_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const int csc = thn_is_csc(ins);
    ThnCell *values = THN_IN(f, ins, 0), *i_cell = THN_IN(f, ins, 1), *p_cell = THN_IN(f, ins, 2);
    const ThnCell *shape = THN_IN(f, ins, 3);
    const npy_intp stored = values->dims[0];
    THN_FAIL_IF(f, shape->dims[0] != 2, PyExc_ValueError, "Shape should be an array of length 2");
    THN_FAIL_IF(f, i_cell->dims[0] != stored, PyExc_ValueError,
                "Data (shape (%lld,)) must have the same number of elements as indices (shape (%lld,))", (long long)stored,
                (long long)i_cell->dims[0]);
    const int64_t dims[2] = {*(const int64_t *)shape->data, *(const int64_t *)(shape->data + shape->strides[0])};
    const npy_intp lines = (npy_intp)dims[csc], length = (npy_intp)dims[!csc];
    THN_FAIL_IF(f, lines < 0 || length < 0 || p_cell->dims[0] - 1 != lines, PyExc_ValueError,
                "indptr of a matrix of shape (%lld, %lld) cannot have %lld elements", (long long)dims[0], (long long)dims[1],
                (long long)p_cell->dims[0]);
    const int wide = i_cell->itemsize == 8 || p_cell->itemsize == 8;
    THN_OWNED PyObject *i_given = thn_box(f, i_cell), *p_given = i_given ? thn_box(f, p_cell) : NULL;
    THN_NEED(p_given);
    THN_OWNED PyObject *first = thn_sparse_numbers(i_given, wide, NPY_ARRAY_CARRAY | NPY_ARRAY_ENSURECOPY);
    THN_OWNED PyObject *second = first ? thn_sparse_numbers(p_given, wide, NPY_ARRAY_CARRAY | NPY_ARRAY_ENSURECOPY) : NULL;
    THN_NEED(second);
    const void *indices = PyArray_DATA((PyArrayObject *)first), *indptr = PyArray_DATA((PyArrayObject *)second);
    const npy_intp last = thn_sparse_number(indptr, wide, lines);
    THN_FAIL_IF(f, last != stored, PyExc_ValueError, "indptr must end with the number of values, %lld, got %lld", (long long)stored,
                (long long)last);
    THN_FAIL_IF(f, !thn_sparse_rises(indptr, wide, lines), PyExc_ValueError,
                "indptr must begin with 0, not decrease, and end with the number of stored values at most");
    int out = 0;
    for (npy_intp k = 0; k < stored; k++) {
        out |= (npy_uintp)thn_sparse_number(indices, wide, k) >= (npy_uintp)length;
    }
    THN_FAIL_IF(f, out, PyExc_ValueError, "indices must lie in 0..%lld for a %s matrix of shape (%lld, %lld)", (long long)length - 1,
                csc ? "csc" : "csr", (long long)dims[0], (long long)dims[1]);
    thn_set_object(THN_OUT(f, ins, 0), first);
    thn_set_object(THN_OUT(f, ins, 1), second);
    return thn_sparse_give_shape(f, THN_OUT(f, ins, 2), dims[0], dims[1]);
}

/* ---- sparse_copy: ins = places; outs = indices, indptr */

static int sparse_copy_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnSparse s;
    THN_TRY(thn_sparse_read(f, ins, 0, thn_is_csc(ins), &s));
    const npy_intp lengths[2] = {s.stored, s.lines + 1}, item = thn_sparse_index(&s);
    for (int k = 0; k < 2; k++) {
        char *block = thn_pool_alloc((size_t)(lengths[k] ? lengths[k] * item : item));
        THN_FAIL_IF(f, !block, PyExc_MemoryError, "out of memory for a sparse matrix");
        WITHOUT_GIL(lengths[k], thn_copy_strided(1, &lengths[k], block, &item, k ? s.indptr : s.indices, &item, (int)item));
        THN_OWNED PyObject *a = thn_array_of_block(s.wide ? NPY_INT64 : NPY_INT32, lengths[k], block);
        THN_NEED(a);
        thn_set_object(THN_OUT(f, ins, k), a);
    }
    return 0;
}

/* ---- sparse_index: ins = indices or indptr (object), places; the one as int32 */

static int sparse_index_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const thn_sparse_index_params *given = ins->data;
    ThnSparse s;
    THN_TRY(thn_sparse_read(f, ins, 1, given->csc, &s));
    THN_FAIL_IF(f, s.lines > INT32_MAX || s.length > INT32_MAX || s.stored > INT32_MAX, PyExc_OverflowError,
                "the indices of a matrix of shape %s with %lld stored values do not fit int32", THN_SHAPE(2, THN_SIDES(f, ins, 3)),
                (long long)s.stored);
    PyObject *whole = THN_IN(f, ins, 0)->obj;
    const npy_intp n = PyArray_DIM((PyArrayObject *)whole, 0);
    THN_OWNED PyObject *part = given->of_values && n > s.stored ? PySequence_GetSlice(whole, 0, s.stored) : Py_NewRef(whole);
    THN_NEED(part);
    THN_OWNED PyObject *narrow = thn_sparse_numbers(part, 0, NPY_ARRAY_FORCECAST);
    return narrow ? thn_unbox(f, THN_OUT(f, ins, 0), narrow) : -1;
}

THN_INSTRUCTION(sparse_merge, NULL, sparse_merge_prepare, NULL)
THN_INSTRUCTION(sparse_times, NULL, sparse_times_prepare, NULL)
THN_INSTRUCTION(sparse_values_of, NULL, sparse_values_of_prepare, NULL)
THN_INSTRUCTION(sparse_tidy, NULL, sparse_remake_prepare, NULL)
THN_INSTRUCTION(sparse_stack, NULL, sparse_stack_prepare, NULL)
THN_INSTRUCTION(sparse_turn, NULL, sparse_remake_prepare, NULL)
THN_INSTRUCTION(sparse_from_dense, NULL, sparse_from_dense_prepare, NULL)
THN_INSTRUCTION(sparse_add_dense, NULL, sparse_add_dense_prepare, NULL)
THN_INSTRUCTION(sparse_sum, NULL, sparse_sum_prepare, NULL)
THN_INSTRUCTION(sparse_slice, NULL, sparse_slice_prepare, NULL)
THN_INSTRUCTION(sparse_take, NULL, sparse_take_prepare, NULL)
THN_INSTRUCTION(sparse_make, NULL, sparse_make_prepare, NULL)
THN_INSTRUCTION(sparse_copy, NULL, sparse_copy_prepare, NULL)
THN_INSTRUCTION(sparse_index, NULL, sparse_index_prepare, NULL)
