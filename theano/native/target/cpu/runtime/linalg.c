/* What the instructions of linear algebra share: copies, layouts, errors. */
#include "linalg.h"
#include "threads.h"

/* Above this much (see thn_cubic_work) the library may use its own threads. */
#define THREADED_WORK 2e7
/* What a task copies: another thread's part must be worth fetching from its cache, sooner if it is looked at, too. */
#define COPY_BYTES(finite) ((finite) ? 131072 : 524288)

PyObject *thn_LinAlgError;

int thn_linalg_check(ThnProgram *p, ThnInstr *ins)
{
    if (!thn_LinAlgError) {
        THN_OWNED PyObject *module = PyImport_ImportModule("numpy.linalg");
        thn_LinAlgError = module ? PyObject_GetAttrString(module, "LinAlgError") : NULL;
        THN_NEED(thn_LinAlgError);
    }
    return thn_blas_check(p, ins) < 0 ? -1 : thn_lapack_ready();
}

static int out_of_memory(ThnFrame *f)
{
    return thn_error(f, PyExc_MemoryError, "out of memory for linear algebra");
}

void *thn_linalg_room(ThnFrame *f, npy_intp bytes)
{
    void *block = thn_pool_alloc((size_t)bytes);
    if (!block) {
        out_of_memory(f);
    }
    return block;
}

int thn_linalg_result(ThnFrame *f, int64_t info, const char *message)
{
    return info == THN_LAPACK_MEMORY ? out_of_memory(f) : info ? thn_error(f, thn_LinAlgError, "%s", message) : 0;
}

double thn_cubic_work(const ThnCell *a)
{
    double m = (double)a->dims[0], n = (double)a->dims[1];
    return m * n * (m < n ? m : n) * 0.1;
}

int thn_hold_for(const ThnCell *a)
{
    return thn_cubic_work(a) < THREADED_WORK ? thn_blas_hold() : 0;
}

void thn_copy_columns(const ThnCell *a, char *dst)
{
    npy_intp strides[2] = {a->itemsize, a->dims[0] * a->itemsize};
    thn_copy_strided(a->ndim, a->dims, dst, strides, a->data, a->strides, a->itemsize);
}

/* Adding one to the exponent of infinities and NaNs, and of no other number, carries into the sign bit. */
#define FINITE_ROW(NAME, U, SIGN, ONE)                                                         \
    static int NAME(const char *row, npy_intp n, npy_intp stride, int parts)                   \
    {                                                                                          \
        const int dense = stride == (npy_intp)sizeof(U) * parts;                               \
        const npy_intp runs = dense ? 1 : n, length = dense ? n * parts : parts;               \
        U carries = 0;                                                                         \
        for (npy_intp j = 0; j < runs; j++, row += stride) {                                   \
            for (npy_intp k = 0; k < length; k++) {                                            \
                carries |= (((const U *)row)[k] & ~(SIGN)) + (ONE);                            \
            }                                                                                  \
        }                                                                                      \
        return !(carries & (SIGN));                                                            \
    }

FINITE_ROW(finite_row32, uint32_t, (uint32_t)1 << 31, (uint32_t)1 << 23)
FINITE_ROW(finite_row64, uint64_t, (uint64_t)1 << 63, (uint64_t)1 << 52)

int thn_all_finite(const ThnCell *a)
{
    const int last = a->ndim - 1, parts = thn_letter_of(a) >= THN_C ? 2 : 1, is_double = thn_letter_of(a) & 1;
    const int whole = thn_is_c_contiguous(a);
    const npy_intp n = whole ? thn_size(a) : a->dims[last], stride = whole ? a->itemsize : a->strides[last];
    for (npy_intp i = 0; i < (whole || !last ? 1 : a->dims[0]); i++) {
        if (!(is_double ? finite_row64 : finite_row32)(a->data + i * a->strides[0], n, stride, parts)) {
            return 0;
        }
    }
    return 1;
}

typedef struct {
    const ThnCell *a;
    char *dst;
    int finite;
} Copy;

static int copy_some(void *ctx, npy_intp start, npy_intp stop)
{
    const Copy *c = ctx;
    const ThnCell *a = c->a;
    const npy_intp cols = a->ndim > 1 ? a->dims[1] : 1;
    npy_intp dims[2] = {stop - start, cols}, strides[2] = {cols * a->itemsize, a->itemsize};
    char *dst = c->dst + start * strides[0];
    thn_copy_strided(a->ndim, dims, dst, strides, a->data + start * a->strides[0], a->strides, a->itemsize);
    /* The copy is near. */
    ThnCell part = {.data = dst, .dims = dims, .strides = strides, .ndim = a->ndim, .typenum = a->typenum, .itemsize = a->itemsize};
    return c->finite && !thn_all_finite(&part) ? -1 : 0;
}

int thn_copy_rows(const ThnCell *a, char *dst, int finite)
{
    const npy_intp bytes = thn_size(a) * a->itemsize, rows = a->dims[0];
    Copy c = {a, dst, finite};
    return bytes == 0 || thn_parallel_ranges(rows, (rows * COPY_BYTES(finite) + bytes - 1) / bytes, copy_some, &c) == 0;
}

int thn_require_finite(ThnFrame *f, int finite)
{
    return finite ? 0 : thn_error(f, PyExc_ValueError, "array must not contain infs or NaNs");
}

int thn_require_square(ThnFrame *f, const ThnCell *a, PyObject *type, const char *message)
{
    return a->dims[0] == a->dims[1] ? 0 : thn_error(f, type, "%s, got the shape %s", message, THN_SHAPE(2, a->dims));
}

int thn_square_prepare(ThnFrame *f, const ThnInstr *ins, double cost, PyObject *type, const char *message)
{
    const ThnCell *a = THN_IN(f, ins, 0);
    THN_TRY(thn_require_square(f, a, type, message));
    THN_TRY(thn_outs_like(f, ins, 0, 0));
    f->work = cost * thn_cubic_work(a);
    return 0;
}

int thn_is_zero(int letter, const char *p)
{
    const npy_intp real = thn_real_size(letter);
    return thn_get_real(real, p) == 0 && (letter < THN_C || thn_get_real(real, p + real) == 0);
}
