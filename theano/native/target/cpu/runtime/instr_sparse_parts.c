/* Instructions: sparse matrices by their parts, which make others or dense arrays. All is done when they are prepared, without the
 * GIL where it takes long: how much is stored is known only then. */
#include "vm.h"
#include "copy.h"
#include "pool.h"
#include "sparse_products.h"
#include "target.h"

#define LONG 3000 /* values from which on the GIL is released */

/* Does `what` with `n` values. */
#define WITHOUT_GIL(n, what) THN_WITHOUT_GIL_IF((n) > LONG, what)

/* Outputs from `at` on: values, indices, indptr. Takes what was made. */
static int give(ThnFrame *f, const ThnInstr *ins, int at, ThnSparseMade *m)
{
    ThnCell *values = THN_OUT(f, ins, at);
    const int index = m->wide ? NPY_INT64 : NPY_INT32;
    THN_OWNED PyObject *data = thn_array_of_block(values->typenum, m->stored, m->data);
    THN_OWNED PyObject *indices = thn_array_of_block(index, m->stored, m->indices);
    THN_OWNED PyObject *indptr = thn_array_of_block(index, m->lines + 1, m->indptr);
    *m = (ThnSparseMade){0};
    THN_NEED(data && indices && indptr);
    THN_TRY(thn_unbox(f, values, data));
    thn_set_object(THN_OUT(f, ins, at + 1), indices);
    thn_set_object(THN_OUT(f, ins, at + 2), indptr);
    return 0;
}

static int failed(ThnFrame *f, const ThnPlaces *s, int r)
{
    THN_FAIL_IF(f, r == -2, PyExc_MemoryError, "out of memory for a sparse matrix");
    return thn_sparse_wrong_index(f, s);
}

static int read_shape(ThnFrame *f, ThnCell *out, npy_intp rows, npy_intp columns)
{
    const npy_intp two = 2;
    THN_TRY(thn_out_alloc(f, out, &two));
    ((int64_t *)out->data)[0] = rows;
    ((int64_t *)out->data)[1] = columns;
    return 0;
}

/* ---- sparse_merge: ins = places, values, places, values; outs = values, indices, indptr */

/* The places with indices of int64, held by `owned`. */
static int widen(ThnPlaces *s, PyObject *indices, PyObject *indptr, PyObject **owned)
{
    owned[0] = PyArray_FromAny(indices, PyArray_DescrFromType(NPY_INT64), 1, 1, NPY_ARRAY_CARRAY_RO, NULL);
    owned[1] = PyArray_FromAny(indptr, PyArray_DescrFromType(NPY_INT64), 1, 1, NPY_ARRAY_CARRAY_RO, NULL);
    THN_NEED(owned[0] && owned[1]);
    s->indices = PyArray_DATA((PyArrayObject *)owned[0]);
    s->indptr = PyArray_DATA((PyArrayObject *)owned[1]);
    s->wide = 1;
    return 0;
}

static int two_read(ThnFrame *f, const ThnInstr *ins, int csc, ThnPlaces *s)
{
    for (int k = 0; k < 2; k++) {
        THN_TRY(thn_sparse_read_parts(f, ins, 4 * k, csc, &s[k]));
    }
    return 0;
}

/* The indices of two matrices, given back where the variable's scope ends. */
typedef struct {
    PyObject *of[2][2];
} Widened;
#define HELD __attribute__((cleanup(two_release))) Widened

static void two_release(Widened *w)
{
    for (int k = 0; k < 4; k++) {
        Py_XDECREF(w->of[k / 2][k % 2]);
    }
}

/* Both with indices of int64, held by `owned`. */
static int two_widen(ThnFrame *f, const ThnInstr *ins, ThnPlaces *s, Widened *owned)
{
    for (int k = 0; k < 2; k++) {
        THN_TRY(s[k].wide ? 0 : widen(&s[k], THN_IN(f, ins, 4 * k)->obj, THN_IN(f, ins, 4 * k + 1)->obj, owned->of[k]));
    }
    return 0;
}

static int sparse_merge_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const thn_sparse_merge_params *given = ins->data;
    ThnPlaces s[2];
    HELD owned = {0};
    ThnSparseMade made = {0};
    const ThnCell *out = THN_OUT(f, ins, 0);
    int r;
    THN_TRY(two_read(f, ins, given->csc, s));
    if (s[0].lines != s[1].lines || s[0].length != s[1].length) {
        const npy_intp *a = (const npy_intp *)THN_IN(f, ins, 2)->data, *b = (const npy_intp *)THN_IN(f, ins, 6)->data;
        return thn_error(f, PyExc_ValueError, "sparse matrices of different shapes, %s and %s", THN_SHAPE(2, a), THN_SHAPE(2, b));
    }
    if (s[0].wide || s[1].wide || s[0].stored + s[1].stored > INT32_MAX) {
        THN_TRY(two_widen(f, ins, s, &owned));
    }
    WITHOUT_GIL(s[0].stored + s[1].stored + s[0].lines,
                r = thn_sparse_merge(&s[0], &s[1], out->typenum, out->itemsize, given->multiply, &made));
    return r < 0 ? failed(f, &s[0], r) : give(f, ins, 0, &made);
}

/* ---- sparse_times: ins = places, values, places, values; outs = values, indices, indptr, shape */

static int sparse_times_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const int csc = ((const thn_sparse_times_params *)ins->data)->csc;
    const ThnCell *out = THN_OUT(f, ins, 0);
    const npy_intp *left = (const npy_intp *)THN_IN(f, ins, 2)->data, *right = (const npy_intp *)THN_IN(f, ins, 6)->data;
    ThnPlaces s[2];
    HELD owned = {0};
    ThnSparseMade made = {0};
    THN_TRY(two_read(f, ins, csc, s));
    THN_FAIL_IF(f, left[1] != right[0], PyExc_ValueError, "shapes %s and %s not aligned: %lld (dim 1) != %lld (dim 0)", THN_SHAPE(2, left),
                THN_SHAPE(2, right), (long long)left[1], (long long)right[0]);
    /* The columns of a product are the columns of the left matrix that those of the right one ask for. */
    const int first = csc ? 1 : 0;
    int r = s[0].wide != s[1].wide ? two_widen(f, ins, s, &owned) : 0;
    for (int again = 1; r == 0 && again;) {
        WITHOUT_GIL(s[0].stored + s[1].stored + s[first].lines,
                    r = thn_sparse_times(&s[first], &s[!first], out->typenum, out->itemsize, &made));
        again = r == -3;
        r = again ? two_widen(f, ins, s, &owned) : r < 0 ? failed(f, &s[first], r) : give(f, ins, 0, &made);
    }
    return r < 0 ? -1 : read_shape(f, THN_OUT(f, ins, 3), left[0], right[1]);
}

/* ---- sparse_values_of: ins = places, places, values */

static int sparse_values_of_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const int csc = ((const thn_sparse_values_of_params *)ins->data)->csc;
    ThnPlaces x, y;
    HELD owned = {0};
    ThnCell *out = THN_OUT(f, ins, 0);
    THN_TRY(thn_sparse_read(f, ins, 0, csc, &x));
    THN_TRY(thn_sparse_read_parts(f, ins, 3, csc, &y));
    if (x.lines != y.lines || x.length != y.length) {
        const npy_intp *a = (const npy_intp *)THN_IN(f, ins, 5)->data, *b = (const npy_intp *)THN_IN(f, ins, 2)->data;
        return thn_error(f, PyExc_ValueError, "elements of a matrix of shape %s at the places of one of shape %s", THN_SHAPE(2, a),
                         THN_SHAPE(2, b));
    }
    THN_TRY(thn_out_alloc(f, out, &x.stored));
    int r;
    if (x.wide != y.wide) {
        const int at = x.wide ? 3 : 0;
        THN_TRY(widen(x.wide ? &y : &x, THN_IN(f, ins, at)->obj, THN_IN(f, ins, at + 1)->obj, owned.of[0]));
    }
    WITHOUT_GIL(x.stored + y.stored + x.lines, r = thn_sparse_values_of(&x, &y, out->typenum, out->itemsize, out->data));
    return r < 0 ? failed(f, &x, r) : 0;
}

/* ---- sparse_tidy: ins = places, values; outs = values, indices, indptr */

static int sparse_tidy_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const thn_sparse_tidy_params *given = ins->data;
    const ThnCell *out = THN_OUT(f, ins, 0);
    ThnPlaces s;
    ThnSparseMade made = {0};
    THN_TRY(thn_sparse_read_parts(f, ins, 0, given->csc, &s));
    int r;
    WITHOUT_GIL(s.stored + s.lines, r = thn_sparse_tidy(&s, out->typenum, out->itemsize, given->sort, given->drop, &made));
    return r < 0 ? failed(f, &s, r) : give(f, ins, 0, &made);
}

/* ---- sparse_stack: ins = (places, values)...; outs = values, indices, indptr, shape */

static int sparse_stack_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const thn_sparse_stack_params *given = ins->data;
    const int n = ins->nin / 4;
    ThnPlaces *s = thn_scratch(f, ins, sizeof *s * (size_t)n);
    PyObject **owned = thn_alloc(sizeof *owned * 2 * (size_t)n);
    npy_intp stored = 0, lines = 0, length = 0;
    ThnSparseMade made = {0};
    int wide = 0, r = s && owned ? 0 : -1;
    for (int k = 0; k < n && r == 0; k++) {
        r = thn_sparse_read_parts(f, ins, 4 * k, given->csc, &s[k]);
        if (r == 0 && (given->across ? s[k].lines != s[0].lines : s[k].length != s[0].length)) {
            const npy_intp *a = (const npy_intp *)THN_IN(f, ins, 2)->data, *b = (const npy_intp *)THN_IN(f, ins, 4 * k + 2)->data;
            r = thn_error(f, PyExc_ValueError, "matrices of shapes %s and %s cannot be put %s", THN_SHAPE(2, a), THN_SHAPE(2, b),
                          given->across == given->csc ? "one below the other" : "side by side");
        }
        if (r == 0) {
            wide |= s[k].wide;
            stored += s[k].stored;
            lines = given->across ? s[k].lines : lines + s[k].lines;
            length = given->across ? length + s[k].length : s[k].length;
        }
    }
    wide |= stored > INT32_MAX || length > INT32_MAX;
    for (int k = 0; k < n && r == 0; k++) {
        r = wide && !s[k].wide ? widen(&s[k], THN_IN(f, ins, 4 * k)->obj, THN_IN(f, ins, 4 * k + 1)->obj, owned + 2 * k) : 0;
    }
    if (r == 0) {
        WITHOUT_GIL(stored + lines, r = thn_sparse_stack(s, n, THN_OUT(f, ins, 0)->itemsize, given->across, &made));
        r = r < 0 ? failed(f, &s[0], r) : give(f, ins, 0, &made);
    }
    for (int k = 0; owned && k < 2 * n; k++) {
        Py_XDECREF(owned[k]);
    }
    thn_free(owned);
    return r < 0 ? r : read_shape(f, THN_OUT(f, ins, 3), given->csc ? length : lines, given->csc ? lines : length);
}

/* ---- sparse_turn: ins = places, values; outs = values, indices, indptr */

static int sparse_turn_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnPlaces s;
    ThnSparseMade made = {0};
    THN_TRY(thn_sparse_read_parts(f, ins, 0, ((const thn_sparse_turn_params *)ins->data)->csc, &s));
    int r;
    WITHOUT_GIL(s.stored + s.length, r = thn_sparse_turn(&s, THN_IN(f, ins, 3)->itemsize, &made));
    return r < 0 ? failed(f, &s, r) : give(f, ins, 0, &made);
}

/* ---- sparse_from_dense: ins = matrix; outs = values, indices, indptr, shape */

static int sparse_from_dense_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const int csc = ((const thn_sparse_from_dense_params *)ins->data)->csc;
    const ThnCell *x = THN_IN(f, ins, 0);
    ThnSparseMade made = {0};
    npy_intp strides[2] = {x->strides[csc], x->strides[!csc]};
    const npy_intp lines = x->dims[csc], length = x->dims[!csc], step = strides[0] < 0 ? -strides[0] : strides[0];
    /* Along the memory first, where that is across the lines. */
    const int across = step < (strides[1] < 0 ? -strides[1] : strides[1]) && lines > 1 && length > 1;
    const npy_intp turned[2] = {strides[1], strides[0]};
    int r;
    WITHOUT_GIL(lines * length, r = thn_sparse_from_dense(x->data, across ? turned : strides, across ? length : lines,
                                                          across ? lines : length, x->typenum, x->itemsize, &made));
    if (across && r == 0) {
        ThnSparseMade first = made;
        const ThnPlaces s = thn_sparse_of(&first, lines);
        WITHOUT_GIL(lines * length, r = thn_sparse_turn(&s, x->itemsize, &made));
        thn_sparse_made_free(&first);
    }
    THN_FAIL_IF(f, r == -1, PyExc_RuntimeError, "the matrix was changed while it was read");
    THN_FAIL_IF(f, r < 0, PyExc_MemoryError, "out of memory for a sparse matrix");
    THN_TRY(give(f, ins, 0, &made));
    return read_shape(f, THN_OUT(f, ins, 3), x->dims[0], x->dims[1]);
}

/* ---- sparse_add_dense: ins = matrix, places, values */

static int sparse_add_dense_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *dense = THN_IN(f, ins, 0), *out = THN_OUT(f, ins, 0);
    ThnPlaces *s = thn_scratch(f, ins, sizeof *s);
    THN_NEED(s);
    THN_TRY(thn_sparse_read_parts(f, ins, 1, ((const thn_sparse_add_dense_params *)ins->data)->csc, s));
    const npy_intp *shape = (const npy_intp *)THN_IN(f, ins, 3)->data;
    THN_FAIL_IF(f, dense->dims[0] != shape[0] || dense->dims[1] != shape[1], PyExc_ValueError,
                "a sparse matrix of shape %s and a dense one of shape %s", THN_SHAPE(2, shape), THN_SHAPE(2, dense->dims));
    f->work = 3.0 * (double)s->stored + (double)s->lines + (thn_in_place(ins) ? 0 : 0.5 * (double)thn_size(dense));
    return thn_target_prepare(f, out, dense, thn_in_place(ins));
}

static int sparse_add_dense_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnPlaces *s = f->scratch[ins->index].ptr;
    const ThnCell *out = THN_OUT(f, ins, 0);
    thn_target_execute(out, THN_IN(f, ins, 0), thn_in_place(ins));
    return thn_sparse_add_dense(s, out->typenum, out->itemsize, out->data, out->strides) < 0 ? thn_sparse_wrong_index(f, s) : 0;
}

/* ---- sparse_sum: ins = places, values */

static int sparse_sum_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const thn_sparse_sum_params *given = ins->data;
    ThnPlaces *s = thn_scratch(f, ins, sizeof *s);
    THN_NEED(s);
    THN_TRY(thn_sparse_read_parts(f, ins, 0, given->csc, s));
    f->work = (double)s->stored + (double)s->lines;
    return thn_out_alloc(f, THN_OUT(f, ins, 0), given->of_lines ? &s->lines : &s->length);
}

static int sparse_sum_execute(ThnFrame *f, const ThnInstr *ins)
{
    const ThnPlaces *s = f->scratch[ins->index].ptr;
    const ThnCell *out = THN_OUT(f, ins, 0);
    const int of_lines = ((const thn_sparse_sum_params *)ins->data)->of_lines;
    return thn_sparse_sum(s, out->typenum, out->itemsize, of_lines, out->data) < 0 ? thn_sparse_wrong_index(f, s) : 0;
}

/* ---- sparse_slice: ins = values, places, start, stop; outs = values, indices, indptr, shape */

static npy_intp bound_of(const ThnCell *c, npy_intp length)
{
    int64_t i = thn_scalar_int(c);
    i = i < 0 ? i + length : i;
    return i < 0 ? 0 : i > length ? length : (npy_intp)i;
}

static int sparse_slice_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const int csc = ((const thn_sparse_slice_params *)ins->data)->csc;
    ThnCell *values = THN_IN(f, ins, 0);
    ThnPlaces s;
    THN_TRY(thn_sparse_read(f, ins, 1, csc, &s));
    THN_TRY(thn_sparse_read_values(f, values, &s));
    const npy_intp start = bound_of(THN_IN(f, ins, 4), s.lines), end = bound_of(THN_IN(f, ins, 5), s.lines);
    const npy_intp stop = end < start ? start : end;
    const npy_intp lines = stop - start, dims = lines + 1, first = thn_sparse_pointer(&s, start);
    const npy_intp stored = thn_sparse_pointer(&s, stop) - first;
    THN_FAIL_IF(f, !thn_sparse_within(&s, first, first + stored), PyExc_ValueError, "a sparse matrix was changed while it was sliced");
    THN_OWNED PyObject *indices = PySequence_GetSlice(THN_IN(f, ins, 1)->obj, first, first + stored);
    THN_OWNED PyObject *indptr = indices ? PyArray_SimpleNew(1, &dims, s.wide ? NPY_INT64 : NPY_INT32) : NULL;
    THN_NEED(indptr);
    for (npy_intp i = 0; i <= lines; i++) {
        thn_sparse_set(PyArray_DATA((PyArrayObject *)indptr), s.wide, i, thn_sparse_pointer(&s, start + i) - first);
    }
    thn_set_object(THN_OUT(f, ins, 1), indices);
    thn_set_object(THN_OUT(f, ins, 2), indptr);
    THN_TRY(thn_out_view(f, THN_OUT(f, ins, 0), values, values->data + first * values->itemsize, &stored, values->strides));
    return read_shape(f, THN_OUT(f, ins, 3), csc ? s.length : lines, csc ? lines : s.length);
}

/* ---- sparse_take: ins = places, values, int64 vector; outs = values, indices, indptr, shape */

static int sparse_take_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const int csc = ((const thn_sparse_take_params *)ins->data)->csc;
    const ThnCell *which = THN_IN(f, ins, 4);
    ThnPlaces s;
    ThnSparseMade made = {0};
    THN_TRY(thn_sparse_read_parts(f, ins, 0, csc, &s));
    THN_FAIL_IF(f, !thn_is_c_contiguous(which), PyExc_SystemError, "sparse_take: positions must be contiguous");
    const npy_intp n = which->dims[0], length = s.length;
    HELD owned = {0};
    int r;
    WITHOUT_GIL(n * 10, r = thn_sparse_take(&s, THN_IN(f, ins, 3)->itemsize, (const int64_t *)which->data, n, &made));
    if (r == -3) {
        r = widen(&s, THN_IN(f, ins, 0)->obj, THN_IN(f, ins, 1)->obj, owned.of[0]);
        r = r < 0 ? -2 : thn_sparse_take(&s, THN_IN(f, ins, 3)->itemsize, (const int64_t *)which->data, n, &made);
    }
    THN_FAIL_IF(f, r == -1, PyExc_IndexError, "an index of axis %d is out of bounds for length %lld", csc, (long long)s.lines);
    if (r < 0) {
        return PyErr_Occurred() ? -1 : failed(f, &s, r);
    }
    THN_TRY(give(f, ins, 0, &made));
    return read_shape(f, THN_OUT(f, ins, 3), csc ? length : n, csc ? n : length);
}

/* ---- sparse_make: ins = values, indices, indptr, shape; outs = indices, indptr, shape */

/* A copy of the vector as one of int32, or of int64. */
static PyObject *copied(ThnFrame *f, ThnCell *c, int wide)
{
    THN_OWNED PyObject *a = thn_box(f, c);
    return a ? PyArray_FromAny(a, PyArray_DescrFromType(wide ? NPY_INT64 : NPY_INT32), 1, 1, NPY_ARRAY_CARRAY | NPY_ARRAY_ENSURECOPY, NULL)
             : NULL;
}

static int sparse_make_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const int csc = ((const thn_sparse_make_params *)ins->data)->csc;
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
    THN_OWNED PyObject *first = copied(f, i_cell, wide), *second = first ? copied(f, p_cell, wide) : NULL;
    THN_NEED(second);
    const void *indices = PyArray_DATA((PyArrayObject *)first), *indptr = PyArray_DATA((PyArrayObject *)second);
    const npy_intp last = thn_sparse_number(indptr, wide, lines);
    int out = 0;
    THN_FAIL_IF(f, last != stored, PyExc_ValueError, "indptr must end with the number of values, %lld, got %lld", (long long)stored,
                (long long)last);
    for (npy_intp k = 0; k < stored; k++) {
        out |= (npy_uintp)thn_sparse_number(indices, wide, k) >= (npy_uintp)length;
    }
    THN_FAIL_IF(f, !thn_sparse_rises(indptr, wide, lines), PyExc_ValueError,
                "indptr must begin with 0, not decrease, and end with the number of stored values at most");
    THN_FAIL_IF(f, out, PyExc_ValueError, "indices must lie in 0..%lld for a %s matrix of shape (%lld, %lld)", (long long)length - 1,
                csc ? "csc" : "csr", (long long)dims[0], (long long)dims[1]);
    thn_set_object(THN_OUT(f, ins, 0), first);
    thn_set_object(THN_OUT(f, ins, 1), second);
    return read_shape(f, THN_OUT(f, ins, 2), dims[0], dims[1]);
}

/* ---- sparse_copy: ins = places; outs = indices, indptr */

static int sparse_copy_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnPlaces s;
    THN_TRY(thn_sparse_read(f, ins, 0, ((const thn_sparse_copy_params *)ins->data)->csc, &s));
    const npy_intp lengths[2] = {s.stored, s.lines + 1}, item = s.wide ? 8 : 4;
    for (int k = 0; k < 2; k++) {
        char *block = thn_pool_alloc((size_t)(lengths[k] ? lengths[k] * item : item));
        THN_FAIL_IF(f, !block, PyExc_MemoryError, "out of memory for a sparse matrix");
        WITHOUT_GIL(lengths[k], thn_sparse_copy(block, k ? s.indptr : s.indices, lengths[k] * item));
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
    ThnPlaces s;
    THN_TRY(thn_sparse_read(f, ins, 1, given->csc, &s));
    if (s.lines > INT32_MAX || s.length > INT32_MAX || s.stored > INT32_MAX) {
        const int64_t *shape = (const int64_t *)THN_IN(f, ins, 3)->data;
        return thn_error(f, PyExc_OverflowError, "the indices of a matrix of shape (%lld, %lld) with %lld stored values do not fit int32",
                         (long long)shape[0], (long long)shape[1], (long long)s.stored);
    }
    PyObject *whole = THN_IN(f, ins, 0)->obj;
    const npy_intp n = PyArray_DIM((PyArrayObject *)whole, 0);
    THN_OWNED PyObject *part = given->of_values && n > s.stored ? PySequence_GetSlice(whole, 0, s.stored) : Py_NewRef(whole);
    THN_NEED(part);
    THN_OWNED PyObject *narrow =
        PyArray_FromAny(part, PyArray_DescrFromType(NPY_INT32), 1, 1, NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST, NULL);
    return narrow ? thn_unbox(f, THN_OUT(f, ins, 0), narrow) : -1;
}

THN_INSTRUCTION(sparse_merge, NULL, sparse_merge_prepare, NULL)
THN_INSTRUCTION(sparse_times, NULL, sparse_times_prepare, NULL)
THN_INSTRUCTION(sparse_values_of, NULL, sparse_values_of_prepare, NULL)
THN_INSTRUCTION(sparse_tidy, NULL, sparse_tidy_prepare, NULL)
THN_INSTRUCTION(sparse_stack, NULL, sparse_stack_prepare, NULL)
THN_INSTRUCTION(sparse_turn, NULL, sparse_turn_prepare, NULL)
THN_INSTRUCTION(sparse_from_dense, NULL, sparse_from_dense_prepare, NULL)
THN_INSTRUCTION(sparse_add_dense, NULL, sparse_add_dense_prepare, sparse_add_dense_execute)
THN_INSTRUCTION(sparse_sum, NULL, sparse_sum_prepare, sparse_sum_execute)
THN_INSTRUCTION(sparse_slice, NULL, sparse_slice_prepare, NULL)
THN_INSTRUCTION(sparse_take, NULL, sparse_take_prepare, NULL)
THN_INSTRUCTION(sparse_make, NULL, sparse_make_prepare, NULL)
THN_INSTRUCTION(sparse_copy, NULL, sparse_copy_prepare, NULL)
THN_INSTRUCTION(sparse_index, NULL, sparse_index_prepare, NULL)
