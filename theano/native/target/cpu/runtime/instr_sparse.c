/* Instructions: sparse matrices of SciPy, csr and csc. A matrix is an object; its values become a vector, its places two
 * objects (arrays of int32 or int64, which stay as they are) and its shape. All is done when they are prepared. */
#include "vm.h"
#include "copy.h"
#include "sparse_parts.h"

static PyArrayObject *array_attribute(PyObject *matrix, const char *name)
{
    PyObject *v = PyObject_GetAttrString(matrix, name);
    if (v && (!PyArray_Check(v) || PyArray_NDIM((PyArrayObject *)v) != 1)) {
        PyErr_Format(PyExc_TypeError, "the attribute %s of a sparse matrix must be a vector, got %S", name, (PyObject *)Py_TYPE(v));
        Py_CLEAR(v);
    }
    return (PyArrayObject *)v;
}

static int sparse_values_prepare(ThnFrame *f, const ThnInstr *ins)
{
    PyObject *matrix = THN_IN(f, ins, 0)->obj;
    THN_OWNED PyArrayObject *data = array_attribute(matrix, "data"), *indptr = data ? array_attribute(matrix, "indptr") : NULL;
    THN_NEED(indptr);
    THN_RAISE_IF(PyArray_DIM(indptr, 0) == 0, PyExc_ValueError, "indptr of a sparse matrix is empty");
    THN_OWNED PyObject *last = PySequence_GetItem((PyObject *)indptr, -1);
    const Py_ssize_t n = PyArray_DIM(data, 0), stored = last ? PyNumber_AsSsize_t(last, PyExc_OverflowError) : -1;
    THN_TRY(stored == -1 && PyErr_Occurred() ? -1 : 0);
    THN_RAISE_IF(stored < 0 || stored > n, PyExc_ValueError, "indptr of a sparse matrix ends behind its values");
    THN_OWNED PyObject *value = stored == n ? Py_NewRef((PyObject *)data) : PySequence_GetSlice((PyObject *)data, 0, stored);
    return value ? thn_unbox(f, THN_OUT(f, ins, 0), value) : -1;
}

PyObject *thn_sparse_numbers(PyObject *a, int wide, int flags)
{
    return PyArray_FromArray((PyArrayObject *)a, PyArray_DescrFromType(wide ? NPY_INT64 : NPY_INT32), NPY_ARRAY_CARRAY_RO | flags);
}

int thn_sparse_give_shape(ThnFrame *f, ThnCell *out, npy_intp rows, npy_intp columns)
{
    const npy_intp two = 2;
    THN_TRY(thn_out_alloc(f, out, &two));
    ((int64_t *)out->data)[0] = rows;
    ((int64_t *)out->data)[1] = columns;
    return 0;
}

static int sparse_places_prepare(ThnFrame *f, const ThnInstr *ins)
{
    PyObject *matrix = THN_IN(f, ins, 0)->obj;
    THN_OWNED PyObject *shape = PyObject_GetAttrString(matrix, "shape");
    THN_OWNED PyArrayObject *indices = shape ? array_attribute(matrix, "indices") : NULL;
    THN_OWNED PyArrayObject *indptr = indices ? array_attribute(matrix, "indptr") : NULL;
    Py_ssize_t rows, columns;
    THN_NEED(indptr && PyArg_ParseTuple(shape, "nn", &rows, &columns));
    const int wide = !(PyArray_ITEMSIZE(indices) == 4 && PyArray_ITEMSIZE(indptr) == 4);
    THN_OWNED PyObject *first = thn_sparse_numbers((PyObject *)indices, wide, 0);
    THN_OWNED PyObject *second = first ? thn_sparse_numbers((PyObject *)indptr, wide, 0) : NULL;
    THN_NEED(second);
    thn_set_object(THN_OUT(f, ins, 0), first);
    thn_set_object(THN_OUT(f, ins, 1), second);
    return thn_sparse_give_shape(f, THN_OUT(f, ins, 2), rows, columns);
}

int thn_sparse_rises(const void *indptr, int wide, npy_intp lines)
{
    const int64_t *w = indptr;
    const int32_t *n = indptr;
    int rises = (wide ? w[0] : n[0]) == 0;
    for (npy_intp i = 0; wide && i < lines; i++) {
        rises &= w[i] <= w[i + 1];
    }
    for (npy_intp i = 0; !wide && i < lines; i++) { /* each loop is one of vectors */
        rises &= n[i] <= n[i + 1];
    }
    return rises;
}

int thn_sparse_read(ThnFrame *f, const ThnInstr *ins, int at, int csc, ThnSparse *s)
{
    PyArrayObject *indices = (PyArrayObject *)THN_IN(f, ins, at)->obj, *indptr = (PyArrayObject *)THN_IN(f, ins, at + 1)->obj;
    const int64_t *shape = (const int64_t *)THN_IN(f, ins, at + 2)->data;
    const ThnCell *out = THN_OUT(f, ins, 0);
    *s = (ThnSparse){.indices = PyArray_DATA(indices), .indptr = PyArray_DATA(indptr), .csc = csc, .typenum = out->typenum,
                     .item = out->itemsize};
    s->wide = PyArray_ITEMSIZE(indices) == 8;
    s->lines = (npy_intp)shape[csc];
    s->length = (npy_intp)shape[!csc];
    THN_FAIL_IF(f, s->lines < 0 || s->length < 0 || PyArray_DIM(indptr, 0) != s->lines + 1, PyExc_ValueError,
                "indptr of a sparse matrix of shape (%lld, %lld) has %lld elements", (long long)shape[0], (long long)shape[1],
                (long long)PyArray_DIM(indptr, 0));
    s->stored = thn_sparse_pointer(s, s->lines);
    const int bad = !thn_sparse_rises(s->indptr, s->wide, s->lines);
    THN_FAIL_IF(f, bad || s->stored < 0 || s->stored > PyArray_DIM(indices, 0), PyExc_ValueError,
                "indptr of a sparse matrix must not decrease from 0 to the number of indices");
    return 0;
}

int thn_sparse_read_parts(ThnFrame *f, const ThnInstr *ins, int at, int csc, ThnSparse *s)
{
    const ThnCell *values = THN_IN(f, ins, at + 3);
    THN_TRY(thn_sparse_read(f, ins, at, csc, s));
    THN_FAIL_IF(f, values->dims[0] != s->stored, PyExc_ValueError, "%lld values for a sparse matrix of %lld", (long long)values->dims[0],
                (long long)s->stored);
    THN_FAIL_IF(f, !thn_is_c_contiguous(values), PyExc_SystemError, "values of a sparse matrix must be contiguous");
    s->data = values->data;
    return 0;
}

int thn_sparse_result(ThnFrame *f, const ThnSparse *s, int r)
{
    THN_FAIL_IF(f, r == -2, PyExc_MemoryError, "out of memory for a sparse matrix");
    THN_FAIL_IF(f, r < 0, PyExc_IndexError, "an index of a sparse matrix is out of bounds for %s of length %lld",
                s->csc ? "columns" : "rows", (long long)s->length);
    return 0;
}

/* ---- sparse_dot: ins = places, values, dense */

static int sparse_dot_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *dense = THN_IN(f, ins, 4);
    ThnCell *out = THN_OUT(f, ins, 0);
    ThnSparse s;
    const npy_intp *shape = THN_SIDES(f, ins, 2);
    int r;
    THN_TRY(thn_sparse_read_parts(f, ins, 0, thn_is_csc(ins), &s));
    THN_FAIL_IF(f, dense->dims[0] != shape[1], PyExc_ValueError, "shapes %s and %s not aligned: %lld (dim 1) != %lld (dim 0)",
                THN_SHAPE(2, shape), THN_SHAPE(dense->ndim, dense->dims), (long long)shape[1], (long long)dense->dims[0]);
    ThnProduct w = {.s = s, .b = dense->data, .columns = dense->ndim == 2 ? dense->dims[1] : 1};
    const npy_intp rows = shape[0], item = out->itemsize, dims[2] = {rows, w.columns}, by_columns[2] = {item, (rows ? rows : 1) * item};
    w.b_row = dense->strides[0];
    w.b_col = dense->ndim == 2 ? dense->strides[1] : item;
    /* A transposed operand has a transposed result, so that each is read and written along its memory. */
    const int turned = dense->ndim == 2 && w.columns > 1 && w.b_col != item && w.b_row == item;
    THN_TRY(thn_out_alloc_strided(f, out, dims, turned ? by_columns : NULL));
    w.y = out->data;
    w.y_row = out->strides[0];
    w.y_col = out->ndim == 2 ? out->strides[1] : item;
    f->work = ((double)s.stored + (double)s.lines) * (1.0 + 0.4 * (double)w.columns);
    THN_WITHOUT_GIL_IF(f->work > THN_GIL_WORK, r = thn_sparse_product(&w));
    return thn_sparse_result(f, &s, r);
}

/* ---- sparse_dot_at: ins = places, a, b */

static int sparse_dot_at_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *a = THN_IN(f, ins, 3), *b = THN_IN(f, ins, 4);
    ThnSparse s;
    const npy_intp *shape = THN_SIDES(f, ins, 2);
    int r;
    THN_TRY(thn_sparse_read(f, ins, 0, thn_is_csc(ins), &s));
    THN_FAIL_IF(f, a->dims[1] != b->dims[1] || a->dims[0] != shape[0] || b->dims[0] != shape[1], PyExc_ValueError,
                "places of a matrix of shape %s in the product of %s and (%lld, %lld)", THN_SHAPE(2, shape), THN_SHAPE(2, a->dims),
                (long long)b->dims[1], (long long)b->dims[0]);
    THN_FAIL_IF(f, !thn_is_c_contiguous(a) || !thn_is_c_contiguous(b), PyExc_SystemError, "sparse_dot_at: operands must be C contiguous");
    THN_TRY(thn_out_alloc(f, THN_OUT(f, ins, 0), &s.stored));
    f->work = (double)s.stored * (2.0 + 0.4 * (double)a->dims[1]);
    THN_WITHOUT_GIL_IF(f->work > THN_GIL_WORK, r = thn_sparse_dot_at(&s, a->data, b->data, a->dims[1], THN_OUT(f, ins, 0)->data));
    return thn_sparse_result(f, &s, r);
}

/* ---- sparse_values_at: ins = places, matrix */

static int sparse_values_at_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *y = THN_IN(f, ins, 3);
    const npy_intp strides[2] = {y->bcast & 1 ? 0 : y->strides[0], y->bcast & 2 ? 0 : y->strides[1]};
    ThnSparse s;
    const npy_intp *shape = THN_SIDES(f, ins, 2);
    int r;
    THN_TRY(thn_sparse_read(f, ins, 0, thn_is_csc(ins), &s));
    for (int i = 0; i < 2; i++) {
        THN_FAIL_IF(f, y->dims[i] != shape[i] && !(y->bcast >> i & 1), PyExc_ValueError,
                    "elements of a matrix of shape %s at the places of one of shape %s", THN_SHAPE(2, y->dims), THN_SHAPE(2, shape));
    }
    THN_TRY(thn_out_alloc(f, THN_OUT(f, ins, 0), &s.stored));
    const ThnLines w = thn_sparse_lines(&s, y->data, strides, THN_OUT(f, ins, 0)->data);
    f->work = 2.0 * (double)s.stored;
    THN_WITHOUT_GIL_IF(f->work > THN_GIL_WORK, r = thn_sparse_by_lines(&w, thn_sparse_loops(&s)->values_at, f->work));
    return thn_sparse_result(f, &s, r);
}

THN_INSTRUCTION(sparse_values, NULL, sparse_values_prepare, NULL)
THN_INSTRUCTION(sparse_places, NULL, sparse_places_prepare, NULL)
THN_INSTRUCTION(sparse_dot, NULL, sparse_dot_prepare, NULL)
THN_INSTRUCTION(sparse_dot_at, NULL, sparse_dot_at_prepare, NULL)
THN_INSTRUCTION(sparse_values_at, NULL, sparse_values_at_prepare, NULL)
