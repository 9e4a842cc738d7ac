/* Cells: giving them values, and their way to and from Python objects. */
#include "vm.h"
#include "copy.h"
#include "pool.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int thn_error(ThnFrame *f, PyObject *type, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(f->err_msg, sizeof f->err_msg, fmt, args);
    va_end(args);
    f->err_type = type;
    return -1;
}

int thn_append(PyObject *list, PyObject *element)
{
    const int r = element ? PyList_Append(list, element) : -1;
    Py_XDECREF(element);
    return r;
}

/* The attribute's name is the same in NumPy 1 and 2, the C field's is not. */
int thn_itemsize(int typenum)
{
    THN_OWNED PyArray_Descr *descr = PyArray_DescrFromType(typenum);
    THN_OWNED PyObject *size = descr ? PyObject_GetAttrString((PyObject *)descr, "itemsize") : NULL;
    return size ? (int)PyLong_AsLong(size) : -1;
}

int thn_add_type(PyObject *module, const char *name, size_t size, unsigned long flags, PyType_Slot *slots, PyTypeObject **to)
{
    PyType_Spec spec = {name, (int)size, 0, (unsigned)(Py_TPFLAGS_DEFAULT | flags), slots};
    *to = (PyTypeObject *)PyType_FromSpec(&spec);
    return *to ? PyModule_AddType(module, *to) : -1;
}

void *thn_alloc(size_t n)
{
    void *p = calloc(1, n ? n : 1);
    if (!p) {
        PyErr_NoMemory();
    }
    return p;
}

void thn_free(void *p)
{
    free(p);
}

void *thn_scratch(ThnFrame *f, const ThnInstr *ins, size_t n)
{
    ThnScratch *s = &f->scratch[ins->index];
    if (!s->ptr || s->size < n) {
        void *p = realloc(s->ptr, n ? n : 1);
        if (!p) {
            thn_error(f, PyExc_MemoryError, "out of memory for the plan of an instruction");
            return NULL;
        }
        s->ptr = p;
        s->size = n;
    }
    return s->ptr;
}

/* Buffers are recycled through this list; the GIL protects it. */
static ThnBuffer *free_buffers;

ThnBuffer *thn_buffer_over(PyObject *owner, char *data)
{
    ThnBuffer *b = free_buffers;
    if (b) {
        free_buffers = b->next_free;
    } else {
        b = malloc(sizeof *b);
        THN_NULL_UNLESS(b);
    }
    b->refs = 1;
    Py_XINCREF(owner);
    b->owner = owner;
    b->data = data;
    return b;
}

void thn_buffer_drop(ThnBuffer *b)
{
    if (--b->refs > 0) {
        return;
    }
    PyObject *owner = b->owner;
    if (!owner) {
        thn_pool_free(b->data);
    }
    b->next_free = free_buffers;
    free_buffers = b;
    Py_XDECREF(owner);
}

void thn_cell_release(ThnCell *c)
{
    ThnBuffer *buf = c->buf;
    PyObject *obj = c->obj;
    c->flags &= ~(THN_CELL_SET | THN_CELL_CONST);
    c->buf = NULL;
    c->obj = NULL;
    c->data = NULL;
    if (buf) {
        thn_buffer_drop(buf);
    }
    Py_XDECREF(obj);
}

/* The memory of a cell, of which it takes over the reference to `buf`; NULL: its own scalar. */
static int take_memory(ThnCell *c, ThnBuffer *buf, char *data)
{
    thn_cell_release(c);
    c->buf = buf;
    c->data = data ? data : c->scalar.bytes;
    c->flags |= THN_CELL_SET;
    return 0;
}

int thn_out_alloc_strided(ThnFrame *f, ThnCell *out, const npy_intp *dims, const npy_intp *strides)
{
    int nd = out->ndim;
    if (out->flags & THN_CELL_DEST) {
        const ThnDest *dest = &f->dests[out - f->cells];
        if (memcmp(dims, dest->dims, sizeof(npy_intp) * (size_t)nd) == 0) {
            memmove(out->dims, dims, sizeof(npy_intp) * (size_t)nd);
            thn_dense_strides(nd, out->dims, out->itemsize, out->strides);
            return take_memory(out, NULL, dest->data);
        }
    }
    if (nd == 0) {
        return take_memory(out, NULL, NULL);
    }
    npy_intp total = out->itemsize;
    npy_intp new_strides[THN_MAXDIM];
    int empty = 0;
    for (int i = nd - 1; i >= 0; i--) {
        const npy_intp d = dims[i];
        THN_FAIL_IF(f, d < 0, PyExc_ValueError, "negative dimensions are not allowed");
        new_strides[i] = total;
        empty |= d == 0;
        THN_FAIL_IF(f, __builtin_mul_overflow(total, d > 1 ? d : 1, &total), PyExc_MemoryError,
                    "an array with this shape is too large to allocate");
    }
    total = empty ? out->itemsize : total;
    char *data = thn_pool_alloc((size_t)total);
    ThnBuffer *buf = data ? thn_buffer_over(NULL, data) : NULL;
    if (!buf) {
        thn_pool_free(data);
        return thn_error(f, PyExc_MemoryError, "Unable to allocate %.2f MiB for an array with shape %s", (double)total / 1048576.0,
                         THN_SHAPE(nd, dims));
    }
    /* `dims` may be those of `out` itself: write them before the old value goes. */
    for (int i = 0; i < nd; i++) {
        out->dims[i] = dims[i];
        out->strides[i] = strides ? strides[i] : new_strides[i];
    }
    return take_memory(out, buf, data);
}

int thn_out_alloc(ThnFrame *f, ThnCell *out, const npy_intp *dims)
{
    return thn_out_alloc_strided(f, out, dims, NULL);
}

int thn_outs_like(ThnFrame *f, const ThnInstr *ins, int k, double each)
{
    const ThnCell *in = THN_IN(f, ins, k);
    f->work = each * (double)thn_size(in);
    for (int o = 0; o < ins->nout; o++) {
        THN_TRY(thn_out_alloc(f, THN_OUT(f, ins, o), in->dims));
    }
    return 0;
}

int thn_out_view(ThnFrame *Py_UNUSED(f), ThnCell *out, ThnCell *in, char *data, const npy_intp *dims, const npy_intp *strides)
{
    ThnBuffer *buf = in->buf;
    if (buf) {
        buf->refs++;
    }
    for (int i = 0; i < out->ndim; i++) {
        out->dims[i] = dims[i];
        out->strides[i] = strides[i];
    }
    return take_memory(out, buf, data);
}

void thn_out_within(ThnCell *out, const npy_intp *dims, ThnBuffer *buf, char *data)
{
    const int number = out->ndim == 0; /* lies in its cell */
    buf->refs += !number;
    memmove(out->dims, dims, sizeof(npy_intp) * (size_t)out->ndim);
    thn_dense_strides(out->ndim, out->dims, out->itemsize, out->strides);
    take_memory(out, number ? NULL : buf, number ? NULL : data);
    if (number) {
        memcpy(out->data, data, (size_t)out->itemsize);
    }
}

int thn_out_alias(ThnFrame *f, ThnCell *out, ThnCell *in)
{
    if (in->kind == THN_KIND_OBJECT) {
        thn_set_object(out, in->obj);
        return 0;
    }
    THN_FAIL_IF(f, out->ndim != in->ndim, PyExc_SystemError, "an alias must have the rank of its base");
    return thn_out_view(f, out, in, in->data, in->dims, in->strides);
}

int thn_cell_exclusive(const ThnCell *c)
{
    return c->buf && c->buf->refs == 1 && !c->buf->owner && !(c->flags & THN_CELL_CONST);
}

void thn_set_object(ThnCell *c, PyObject *value)
{
    Py_XINCREF(value);
    thn_cell_release(c);
    c->obj = value;
    c->flags |= THN_CELL_SET;
}

int64_t thn_scalar_int(const ThnCell *c)
{
    if (c->typenum == NPY_INT64) {
        return *(const int64_t *)c->data;
    }
    const ThnReadInt get = thn_int_reader(c->typenum);
    const int real = c->typenum == NPY_FLOAT || c->typenum == NPY_DOUBLE;
    return get ? get(c->data) : real ? (int64_t)thn_get_real(c->itemsize, c->data) : 0;
}

/* ---- Python objects */

static void *handler_malloc(void *Py_UNUSED(ctx), size_t n)
{
    return thn_pool_alloc(n);
}

static void *handler_calloc(void *Py_UNUSED(ctx), size_t n, size_t size)
{
    if (size && n > (size_t)-1 / size) {
        return NULL;
    }
    void *p = thn_pool_alloc(n * size);
    if (p) {
        memset(p, 0, n * size);
    }
    return p;
}

static void *handler_realloc(void *Py_UNUSED(ctx), void *old, size_t n)
{
    if (!old) {
        return thn_pool_alloc(n);
    }
    size_t have = thn_pool_capacity(old);
    if (n <= have && n > have / 2) {
        return old;
    }
    void *p = thn_pool_alloc(n);
    if (p) {
        memcpy(p, old, n < have ? n : have);
        thn_pool_free(old);
    }
    return p;
}

static void handler_free(void *Py_UNUSED(ctx), void *p, size_t Py_UNUSED(n))
{
    thn_pool_free(p);
}

static PyDataMem_Handler pool_handler = {
    "theano_pool", 1, {NULL, handler_malloc, handler_calloc, handler_realloc, handler_free}};
static PyObject *pool_capsule;

int thn_cells_init(void)
{
    pool_capsule = PyCapsule_New(&pool_handler, "mem_handler", NULL);
    return pool_capsule ? 0 : -1;
}

/* An array that owns the pool block at `data`. */
static PyObject *array_owning(int typenum, int nd, npy_intp *dims, npy_intp *strides, char *data)
{
    PyArray_Descr *descr = PyArray_DescrFromType(typenum);
    PyObject *a = PyArray_NewFromDescr(&PyArray_Type, descr, nd, dims, strides, data, NPY_ARRAY_WRITEABLE, NULL);
    THN_NULL_UNLESS(a);
    PyArrayObject_fields *fields = (PyArrayObject_fields *)a;
    Py_INCREF(pool_capsule);
    fields->mem_handler = pool_capsule;
    fields->flags |= NPY_ARRAY_OWNDATA;
    return a;
}

PyObject *thn_array_of_block(int typenum, npy_intp n, char *block)
{
    PyObject *a = array_owning(typenum, 1, &n, NULL, block);
    if (!a) {
        thn_pool_free(block);
    }
    return a;
}

static int same_layout(const ThnCell *c, PyArrayObject *a)
{
    if (PyArray_NDIM(a) != c->ndim || PyArray_TYPE(a) != c->typenum || PyArray_BYTES(a) != c->data
        || !PyArray_ISBEHAVED_RO(a)) {
        return 0;
    }
    for (int i = 0; i < c->ndim; i++) {
        if (PyArray_DIM(a, i) != c->dims[i] || (c->dims[i] > 1 && PyArray_STRIDE(a, i) != c->strides[i])) {
            return 0;
        }
    }
    return 1;
}

/* Whether a value begins where its memory does, and goes on from there. */
static int is_whole(const ThnCell *c)
{
    int whole = c->data == c->buf->data;
    for (int i = 0; i < c->ndim && whole; i++) {
        whole = c->dims[i] <= 1 || c->strides[i] > 0;
    }
    return whole;
}

PyObject *thn_box(ThnFrame *Py_UNUSED(f), ThnCell *c)
{
    THN_NULL_IF(!(c->flags & THN_CELL_SET), PyExc_RuntimeError, "a value was used before it was computed");
    if (c->obj) {
        Py_INCREF(c->obj);
        return c->obj;
    }
    if (c->kind == THN_KIND_OBJECT) {
        Py_RETURN_NONE;
    }
    ThnBuffer *buf = c->buf;
    PyObject *a;
    if (!buf) {
        /* An inline scalar, a view of one (all of whose dimensions are 1 or broadcast), or memory lent for a step. */
        PyArray_Descr *descr = PyArray_DescrFromType(c->typenum);
        a = PyArray_NewFromDescr(&PyArray_Type, descr, c->ndim, c->dims, NULL, NULL, 0, NULL);
        THN_NULL_UNLESS(a);
        if (c->ndim == 0) {
            memcpy(PyArray_DATA((PyArrayObject *)a), c->data, (size_t)c->itemsize);
        } else {
            thn_copy_strided(c->ndim, c->dims, PyArray_DATA((PyArrayObject *)a),
                             PyArray_STRIDES((PyArrayObject *)a), c->data, c->strides, c->itemsize);
        }
    } else if (!buf->owner && is_whole(c)) {
        a = array_owning(c->typenum, c->ndim, c->dims, c->strides, c->data);
        THN_NULL_UNLESS(a);
        buf->owner = Py_NewRef(a);
    } else {
        if (!buf->owner) {
            npy_intp n = (npy_intp)thn_pool_capacity(buf->data);
            THN_NULL_UNLESS(buf->owner = array_owning(NPY_UBYTE, 1, &n, NULL, buf->data));
        }
        PyArrayObject *owner = PyArray_Check(buf->owner) ? (PyArrayObject *)buf->owner : NULL;
        if (owner && same_layout(c, owner)) {
            a = Py_NewRef(buf->owner);
        } else {
            a = PyArray_NewFromDescr(&PyArray_Type, PyArray_DescrFromType(c->typenum), c->ndim, c->dims, c->strides, c->data,
                                     !owner || PyArray_ISWRITEABLE(owner) ? NPY_ARRAY_WRITEABLE : 0, NULL);
            THN_NULL_UNLESS(a);
            if (PyArray_SetBaseObject((PyArrayObject *)a, Py_NewRef(buf->owner)) < 0) {
                Py_DECREF(a);
                return NULL;
            }
        }
    }
    Py_INCREF(a);
    c->obj = a;
    return a;
}

int thn_take_array(ThnCell *c, PyArrayObject *a)
{
    int nd = c->ndim;
    if (nd == 0) {
        take_memory(c, NULL, NULL);
        memcpy(c->data, PyArray_DATA(a), (size_t)c->itemsize);
        return 0;
    }
    ThnBuffer *buf = thn_buffer_over((PyObject *)a, PyArray_BYTES(a));
    THN_RAISE_IF(!buf, PyExc_MemoryError, "no memory for what holds an array");
    memcpy(c->dims, PyArray_DIMS(a), sizeof(npy_intp) * (size_t)nd);
    memcpy(c->strides, PyArray_STRIDES(a), sizeof(npy_intp) * (size_t)nd);
    return take_memory(c, buf, PyArray_BYTES(a));
}

static int wrong_type(const ThnCell *c, PyObject *value)
{
    THN_OWNED PyArray_Descr *want = PyArray_DescrFromType(c->typenum);
    if (PyArray_Check(value)) {
        PyArrayObject *a = (PyArrayObject *)value;
        if (PyArray_NDIM(a) != c->ndim) {
            THN_OWNED PyObject *shape = PyObject_GetAttrString(value, "shape");
            PyErr_Format(PyExc_TypeError, "Wrong number of dimensions: expected %d, got %d with shape %S.",
                         (int)c->ndim, PyArray_NDIM(a), shape ? shape : Py_None);
        } else {
            PyErr_Format(PyExc_TypeError, "expected an array of dtype %S, got %S", (PyObject *)want,
                         (PyObject *)PyArray_DESCR(a));
        }
    } else {
        PyErr_Format(PyExc_TypeError, "expected an array of dtype %S with %d dimensions, got %S", (PyObject *)want,
                     (int)c->ndim, (PyObject *)Py_TYPE(value));
    }
    return -1;
}

int thn_unbox(ThnFrame *Py_UNUSED(f), ThnCell *c, PyObject *value)
{
    if (c->kind == THN_KIND_OBJECT) {
        thn_set_object(c, value);
        return 0;
    }
    THN_OWNED PyObject *held = NULL;
    if (!PyArray_Check(value)) {
        THN_RAISE_IF(value == Py_None, PyExc_TypeError, "expected an array, got None (a missing input or an output left unset)");
        THN_OWNED PyArrayObject *plain = (PyArrayObject *)PyArray_FromAny(value, NULL, 0, 0, 0, NULL);
        THN_NEED(plain);
        THN_OWNED PyArray_Descr *want = PyArray_DescrFromType(c->typenum);
        if (!PyArray_CanCastArrayTo(plain, want, NPY_SAFE_CASTING)) {
            return wrong_type(c, value);
        }
        value = held = PyArray_FromArray(plain, (PyArray_Descr *)Py_NewRef(want), NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED);
        THN_NEED(held);
    }
    PyArrayObject *a = (PyArrayObject *)value;
    if (PyArray_NDIM(a) != c->ndim
        || (PyArray_TYPE(a) != c->typenum && !PyArray_EquivTypenums(PyArray_TYPE(a), c->typenum))) {
        return wrong_type(c, value);
    }
    if (!PyArray_ISBEHAVED_RO(a)) {
        PyObject *fixed = PyArray_FromArray(a, PyArray_DescrFromType(c->typenum),
                                            NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED | NPY_ARRAY_ENSURECOPY);
        Py_XSETREF(held, fixed);
        THN_NEED(fixed);
        a = (PyArrayObject *)fixed;
    }
    for (uint32_t mask = c->bcast, i = 0; mask; mask >>= 1, i++) {
        THN_RAISE_IF((mask & 1) && PyArray_DIM(a, i) != 1, PyExc_TypeError,
                     "Non-unit value on shape on a broadcastable dimension: dimension %d has size %zd", (int)i,
                     (Py_ssize_t)PyArray_DIM(a, i));
    }
    THN_TRY(thn_take_array(c, a));
    if (c->ndim == 0) {
        /* Arrays keep their identity on the way through a program. */
        c->obj = Py_NewRef((PyObject *)a);
    }
    return 0;
}
