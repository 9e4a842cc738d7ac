/* Instructions: typed lists. A list is a Python list in an object cell; its elements are arrays, or such lists again. A list owns
 * what was put into it: elements are copied on their way in, and seen on their way out. */
#include "vm.h"
#include "copy.h"
#include "pool.h"

#define LONG_BYTES (1 << 18) /* from which on elements are copied and compared without the GIL */

static PyObject *list_in(ThnFrame *f, const ThnInstr *ins, int k)
{
    PyObject *x = THN_IN(f, ins, k)->obj;
    THN_NULL_IF(!x || !PyList_Check(x), PyExc_TypeError, "expected a list, got %s", x ? Py_TYPE(x)->tp_name : "None");
    return x;
}

/* The list that an instruction changes: its first input, or, if it keeps that (its first field), a new list of the same elements. A new
 * reference. */
static PyObject *list_to_change(ThnFrame *f, const ThnInstr *ins)
{
    PyObject *x = list_in(f, ins, 0);
    return x && *(const int *)ins->data ? PyList_GetSlice(x, 0, PyList_GET_SIZE(x)) : Py_XNewRef(x);
}

static int position_in(ThnFrame *f, const ThnInstr *ins, int k, Py_ssize_t *at)
{
    const ThnCell *c = THN_IN(f, ins, k);
    *at = (Py_ssize_t)thn_scalar_int(c);
    THN_FAIL_IF(f, *at < 0 && PyTypeNum_ISUNSIGNED(c->typenum), PyExc_IndexError, "%llu is no position in a list", (unsigned long long)*at);
    return 0;
}

/* ---- elements on their way in */

PyObject *thn_copy_of(PyObject *v, NPY_ORDER order)
{
    if (PyArray_Check(v)) {
        return PyArray_NewCopy((PyArrayObject *)v, order);
    }
    THN_NULL_IF(!PyList_Check(v), PyExc_TypeError, "an element of a list must be an array or a list, got %s", Py_TYPE(v)->tp_name);
    THN_NULL_UNLESS(!Py_EnterRecursiveCall(" while a list is copied"));
    PyObject *copies = PyList_New(0);
    for (Py_ssize_t i = 0; copies && i < PyList_GET_SIZE(v); i++) {
        /* Another thread may change the list while the GIL is released. */
        THN_OWNED PyObject *element = Py_NewRef(PyList_GET_ITEM(v, i));
        if (thn_append(copies, thn_copy_of(element, order)) < 0) {
            Py_CLEAR(copies);
        }
    }
    Py_LeaveRecursiveCall();
    return copies;
}

/* Whether nobody sees the memory of input k after the instruction, so that a list may take it over. */
static int may_take(const ThnInstr *ins, int k, const ThnCell *c, size_t bytes)
{
    return c->ndim > 0 && thn_cell_exclusive(c) && c->data == c->buf->data && thn_is_c_contiguous(c)
           && thn_pool_capacity(c->data) / 2 <= bytes && thn_is_freed(ins, ins->ins[k]);
}

/* The value of input k for a list to own; a new reference. */
static PyObject *element_in(ThnFrame *f, const ThnInstr *ins, int k)
{
    ThnCell *c = THN_IN(f, ins, k);
    if (c->kind == THN_KIND_OBJECT) {
        return thn_copy_of(c->obj ? c->obj : Py_None, NPY_CORDER);
    }
    const size_t bytes = (size_t)thn_size(c) * (size_t)c->itemsize;
    if (may_take(ins, k, c, bytes)) {
        return thn_box(f, c);
    }
    PyObject *a = PyArray_NewFromDescr(&PyArray_Type, PyArray_DescrFromType(c->typenum), c->ndim, c->dims, NULL, NULL, 0, NULL);
    THN_NULL_UNLESS(a);
    char *data = PyArray_BYTES((PyArrayObject *)a);
    const npy_intp *strides = PyArray_STRIDES((PyArrayObject *)a);
    THN_WITHOUT_GIL_IF(bytes > LONG_BYTES, thn_copy_strided(c->ndim, c->dims, data, strides, c->data, c->strides, c->itemsize));
    return a;
}

/* ---- equal elements */

#define COMPARE(T, SAME)                                  \
    for (npy_intp i = 0; i < n; i++) {                    \
        const T x = ((const T *)a)[i], y = ((const T *)b)[i]; \
        if (!(SAME)) {                                    \
            return 0;                                     \
        }                                                 \
    }                                                     \
    return 1;
#define SAME_COMPLEX (x.re == y.re && x.im == y.im) || ((x.re != x.re || x.im != x.im) && (y.re != y.re || y.im != y.im))
#define IS_NAN_HALF(v) ((v & 0x7fff) > 0x7c00)

/* NaN is equal to NaN. */
static int same_elements(int typenum, const char *a, const char *b, npy_intp n, size_t bytes)
{
    switch (typenum) {
    case NPY_HALF: COMPARE(uint16_t, x == y ? 1 : IS_NAN_HALF(x) ? IS_NAN_HALF(y) : ((x | y) & 0x7fff) == 0)
    case NPY_FLOAT: COMPARE(float, x == y || (x != x && y != y))
    case NPY_DOUBLE: COMPARE(double, x == y || (x != x && y != y))
    case NPY_CFLOAT: COMPARE(ThnC8, SAME_COMPLEX)
    case NPY_CDOUBLE: COMPARE(ThnC16, SAME_COMPLEX)
    default: return memcmp(a, b, bytes) == 0;
    }
}

static PyArrayObject *dense(PyArrayObject *a)
{
    return (PyArrayObject *)PyArray_FromArray(a, NULL, NPY_ARRAY_CARRAY_RO | NPY_ARRAY_NOTSWAPPED);
}

static int same_arrays(PyArrayObject *a, PyArrayObject *b)
{
    if (PyArray_NDIM(a) != PyArray_NDIM(b) || !PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(b), PyArray_NDIM(a))
        || !PyArray_EquivTypes(PyArray_DESCR(a), PyArray_DESCR(b))) {
        return 0;
    }
    THN_OWNED PyArrayObject *x = dense(a), *y = x ? dense(b) : NULL;
    THN_NEED(y);
    const size_t bytes = (size_t)PyArray_NBYTES(x);
    int r;
    THN_WITHOUT_GIL_IF(bytes > LONG_BYTES,
                       r = same_elements(PyArray_TYPE(x), PyArray_BYTES(x), PyArray_BYTES(y), PyArray_SIZE(x), bytes));
    return r;
}

/* 1, 0, or -1 and an exception. */
static int same_values(PyObject *a, PyObject *b)
{
    if (PyArray_Check(a) && PyArray_Check(b)) {
        return same_arrays((PyArrayObject *)a, (PyArrayObject *)b);
    }
    if (!PyList_Check(a) || !PyList_Check(b) || PyList_GET_SIZE(a) != PyList_GET_SIZE(b)) {
        return 0;
    }
    THN_NEED(!Py_EnterRecursiveCall(" while lists are compared"));
    int r = 1;
    for (Py_ssize_t i = 0; r > 0 && i < PyList_GET_SIZE(a) && i < PyList_GET_SIZE(b); i++) {
        THN_OWNED PyObject *x = Py_NewRef(PyList_GET_ITEM(a, i)), *y = Py_NewRef(PyList_GET_ITEM(b, i));
        r = same_values(x, y);
    }
    Py_LeaveRecursiveCall();
    return r;
}

/* How many elements of a list equal the second input, up to `most` of them; `*at`: where the last of these is. -1: failed. */
static Py_ssize_t count_same(ThnFrame *f, const ThnInstr *ins, PyObject *x, Py_ssize_t most, Py_ssize_t *at)
{
    THN_OWNED PyObject *element = x ? thn_box(f, THN_IN(f, ins, 1)) : NULL;
    Py_ssize_t found = element ? 0 : -1;
    for (Py_ssize_t i = 0; found >= 0 && found < most && i < PyList_GET_SIZE(x); i++) {
        /* Another thread may change the list while the GIL is released. */
        THN_OWNED PyObject *other = Py_NewRef(PyList_GET_ITEM(x, i));
        const int same = same_values(other, element);
        *at = same > 0 ? i : *at;
        found = same < 0 ? -1 : found + same;
    }
    return found;
}

/* ---- the instructions */

static int list_item_prepare(ThnFrame *f, const ThnInstr *ins)
{
    PyObject *x = list_in(f, ins, 0);
    Py_ssize_t at;
    THN_NEED(x);
    THN_TRY(position_in(f, ins, 1, &at));
    const Py_ssize_t n = PyList_GET_SIZE(x);
    THN_FAIL_IF(f, at < -n || at >= n, PyExc_IndexError, "list index out of range: %zd of a list of length %zd", at, n);
    THN_OWNED PyObject *item = Py_NewRef(PyList_GET_ITEM(x, at < 0 ? at + n : at));
    return thn_unbox(f, THN_OUT(f, ins, 0), item);
}

static int list_slice_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const thn_list_slice_params *given = ins->data;
    const int is_given[3] = {given->start, given->stop, given->step};
    THN_OWNED PyObject *start = NULL, *stop = NULL, *step = NULL;
    PyObject *x = list_in(f, ins, 0), **parts[3] = {&start, &stop, &step};
    THN_NEED(x);
    for (int i = 0, k = 1; i < 3; i++) {
        Py_ssize_t at;
        if (is_given[i]) {
            THN_TRY(position_in(f, ins, k++, &at));
            THN_NEED(*parts[i] = PyLong_FromSsize_t(at));
        }
    }
    THN_OWNED PyObject *slice = PySlice_New(start, stop, step), *part = slice ? PyObject_GetItem(x, slice) : NULL;
    THN_NEED(part);
    thn_set_object(THN_OUT(f, ins, 0), part);
    return 0;
}

static int number_prepare(ThnFrame *f, const ThnInstr *ins)
{
    ThnCell *out = THN_OUT(f, ins, 0);
    return thn_out_alloc(f, out, out->dims);
}

static int list_length_prepare(ThnFrame *f, const ThnInstr *ins)
{
    PyObject *x = list_in(f, ins, 0);
    THN_NEED(x);
    THN_TRY(number_prepare(f, ins));
    *(int64_t *)THN_OUT(f, ins, 0)->data = PyList_GET_SIZE(x);
    return 0;
}

static int missing(ThnFrame *f, const ThnInstr *ins, const char *text)
{
    THN_OWNED PyObject *element = thn_box(f, THN_IN(f, ins, 1));
    THN_NEED(element);
    return THN_RAISE(PyExc_ValueError, text, element);
}

/* How many elements equal one, or where the first of them is. */
static int search_execute(ThnFrame *f, const ThnInstr *ins)
{
    const int find = ins->def == &thn_op_list_find;
    Py_ssize_t at = 0;
    const Py_ssize_t n = count_same(f, ins, list_in(f, ins, 0), find ? 1 : PY_SSIZE_T_MAX, &at);
    *(int64_t *)THN_OUT(f, ins, 0)->data = find ? at : n;
    return n < 0 ? -1 : find && n == 0 ? missing(f, ins, "the element is not in the list: %R") : 0;
}

/* The output of an instruction that has changed `x`, or failed to. */
static int changed(ThnFrame *f, const ThnInstr *ins, PyObject *x, int r)
{
    if (r == 0) {
        thn_set_object(THN_OUT(f, ins, 0), x);
    }
    return r;
}

/* An element more, before the position that the second of three inputs gives, or at the end. */
static int insert_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const int last = ins->nin - 1;
    THN_OWNED PyObject *x = list_to_change(f, ins);
    Py_ssize_t at = x ? PyList_GET_SIZE(x) : 0;
    THN_OWNED PyObject *element = x && (last == 1 || position_in(f, ins, 1, &at) == 0) ? element_in(f, ins, last) : NULL;
    return changed(f, ins, x, element ? PyList_Insert(x, at, element) : -1);
}

static int list_extend_prepare(ThnFrame *f, const ThnInstr *ins)
{
    THN_OWNED PyObject *x = list_to_change(f, ins);
    PyObject *other = x ? list_in(f, ins, 1) : NULL;
    THN_OWNED PyObject *elements = other ? thn_copy_of(other, NPY_CORDER) : NULL;
    return changed(f, ins, x, elements ? PyList_SetSlice(x, PyList_GET_SIZE(x), PyList_GET_SIZE(x), elements) : -1);
}

static int list_remove_execute(ThnFrame *f, const ThnInstr *ins)
{
    THN_OWNED PyObject *x = list_to_change(f, ins);
    /* What is searched is a copy, since another thread may change the list meanwhile; of that the element itself is removed. */
    THN_OWNED PyObject *seen = x ? PyList_GetSlice(x, 0, PyList_GET_SIZE(x)) : NULL;
    Py_ssize_t at = 0;
    const Py_ssize_t n = count_same(f, ins, seen, 1, &at);
    THN_TRY(n);
    const PyObject *element = n ? PyList_GET_ITEM(seen, at) : NULL;
    if (n && (at >= PyList_GET_SIZE(x) || PyList_GET_ITEM(x, at) != element)) {
        for (at = 0; at < PyList_GET_SIZE(x) && PyList_GET_ITEM(x, at) != element; at++) {
        }
    }
    if (!n || at == PyList_GET_SIZE(x)) {
        return missing(f, ins, "the element to be removed is not in the list: %R");
    }
    return changed(f, ins, x, PyList_SetSlice(x, at, at + 1, NULL));
}

static int list_reverse_prepare(ThnFrame *f, const ThnInstr *ins)
{
    THN_OWNED PyObject *x = list_to_change(f, ins);
    return changed(f, ins, x, x ? PyList_Reverse(x) : -1);
}

static int make_list_prepare(ThnFrame *f, const ThnInstr *ins)
{
    THN_OWNED PyObject *x = PyList_New(0);
    THN_NEED(x);
    for (int k = 0; k < ins->nin; k++) {
        THN_TRY(thn_append(x, element_in(f, ins, k)));
    }
    return changed(f, ins, x, 0);
}

THN_INSTRUCTION(list_item, NULL, list_item_prepare, NULL)
THN_INSTRUCTION(list_slice, NULL, list_slice_prepare, NULL)
THN_INSTRUCTION(list_length, NULL, list_length_prepare, NULL)
THN_INSTRUCTION(list_count, NULL, number_prepare, search_execute)
THN_INSTRUCTION(list_find, NULL, number_prepare, search_execute)
THN_INSTRUCTION(list_append, NULL, insert_prepare, NULL)
THN_INSTRUCTION(list_insert, NULL, insert_prepare, NULL)
THN_INSTRUCTION(list_extend, NULL, list_extend_prepare, NULL)
THN_INSTRUCTION(list_remove, NULL, thn_nothing_prepare, list_remove_execute)
THN_INSTRUCTION(list_reverse, NULL, list_reverse_prepare, NULL)
THN_INSTRUCTION(make_list, NULL, make_list_prepare, NULL)
