/* Names of older NumPy and Python versions that C code of Ops uses, in terms of today's. */
#ifndef THEANO_NUMPY_NAMES_H
#define THEANO_NUMPY_NAMES_H

#include <numpy/arrayobject.h>
#include <numpy/halffloat.h>

#ifndef NPY_CONTIGUOUS
#define NPY_CONTIGUOUS NPY_ARRAY_C_CONTIGUOUS
#define NPY_C_CONTIGUOUS NPY_ARRAY_C_CONTIGUOUS
#define NPY_F_CONTIGUOUS NPY_ARRAY_F_CONTIGUOUS
#define NPY_FORTRAN NPY_ARRAY_F_CONTIGUOUS
#define NPY_OWNDATA NPY_ARRAY_OWNDATA
#define NPY_FORCECAST NPY_ARRAY_FORCECAST
#define NPY_ENSURECOPY NPY_ARRAY_ENSURECOPY
#define NPY_ENSUREARRAY NPY_ARRAY_ENSUREARRAY
#define NPY_ELEMENTSTRIDES NPY_ARRAY_ELEMENTSTRIDES
#define NPY_ALIGNED NPY_ARRAY_ALIGNED
#define NPY_NOTSWAPPED NPY_ARRAY_NOTSWAPPED
#define NPY_WRITEABLE NPY_ARRAY_WRITEABLE
#define NPY_BEHAVED NPY_ARRAY_BEHAVED
#define NPY_BEHAVED_NS NPY_ARRAY_BEHAVED_NS
#define NPY_CARRAY NPY_ARRAY_CARRAY
#define NPY_CARRAY_RO NPY_ARRAY_CARRAY_RO
#define NPY_FARRAY NPY_ARRAY_FARRAY
#define NPY_FARRAY_RO NPY_ARRAY_FARRAY_RO
#define NPY_DEFAULT NPY_ARRAY_DEFAULT
#define NPY_IN_ARRAY NPY_ARRAY_IN_ARRAY
#define NPY_OUT_ARRAY NPY_ARRAY_OUT_ARRAY
#define NPY_INOUT_ARRAY NPY_ARRAY_INOUT_ARRAY
#define NPY_IN_FARRAY NPY_ARRAY_IN_FARRAY
#define NPY_OUT_FARRAY NPY_ARRAY_OUT_FARRAY
#define NPY_INOUT_FARRAY NPY_ARRAY_INOUT_FARRAY
#define NPY_UPDATE_ALL NPY_ARRAY_UPDATE_ALL
#endif

#ifndef PyArray_DOUBLE
#define PyArray_BOOL NPY_BOOL
#define PyArray_BYTE NPY_BYTE
#define PyArray_UBYTE NPY_UBYTE
#define PyArray_SHORT NPY_SHORT
#define PyArray_USHORT NPY_USHORT
#define PyArray_INT NPY_INT
#define PyArray_UINT NPY_UINT
#define PyArray_LONG NPY_LONG
#define PyArray_ULONG NPY_ULONG
#define PyArray_LONGLONG NPY_LONGLONG
#define PyArray_ULONGLONG NPY_ULONGLONG
#define PyArray_FLOAT NPY_FLOAT
#define PyArray_DOUBLE NPY_DOUBLE
#define PyArray_LONGDOUBLE NPY_LONGDOUBLE
#define PyArray_CFLOAT NPY_CFLOAT
#define PyArray_CDOUBLE NPY_CDOUBLE
#define PyArray_OBJECT NPY_OBJECT
#define PyArray_STRING NPY_STRING
#define PyArray_UNICODE NPY_UNICODE
#define PyArray_VOID NPY_VOID
#define PyArray_INT8 NPY_INT8
#define PyArray_UINT8 NPY_UINT8
#define PyArray_INT16 NPY_INT16
#define PyArray_UINT16 NPY_UINT16
#define PyArray_INT32 NPY_INT32
#define PyArray_UINT32 NPY_UINT32
#define PyArray_INT64 NPY_INT64
#define PyArray_UINT64 NPY_UINT64
#define PyArray_INTP NPY_INTP
#define PyArray_FLOAT32 NPY_FLOAT32
#define PyArray_FLOAT64 NPY_FLOAT64
#define PyArray_COMPLEX64 NPY_COMPLEX64
#define PyArray_COMPLEX128 NPY_COMPLEX128
#endif

/* These could once be assigned to. */
#undef PyArray_BASE
#define PyArray_BASE(array) (((PyArrayObject_fields*)(array))->base)
#undef PyArray_FLAGS
#define PyArray_FLAGS(array) (((PyArrayObject_fields*)(array))->flags)

#ifndef PyArray_FromDims
static inline PyObject* theano_from_dims(int nd, const int* lengths, int typenum) {
    npy_intp dims[NPY_MAXDIMS];
    for (int i = 0; i < nd && i < NPY_MAXDIMS; i++) dims[i] = lengths[i];
    PyObject* made = PyArray_ZEROS(nd, dims, typenum, 0);
    return made;
}
#define PyArray_FromDims theano_from_dims
#endif

/* Pointers inside Python objects: the context holds what frees the pointer. */
static inline void theano_free_pointer(PyObject* capsule) {
    void (*free_it)(void*) = (void (*)(void*))PyCapsule_GetContext(capsule);
    if (free_it) free_it(PyCapsule_GetPointer(capsule, NULL));
}
static inline PyObject* theano_new_pointer(void* pointer, void (*free_it)(void*)) {
    PyObject* capsule = PyCapsule_New(pointer, NULL, free_it ? theano_free_pointer : NULL);
    if (capsule && free_it && PyCapsule_SetContext(capsule, (void*)free_it) != 0) {
        Py_DECREF(capsule);
        capsule = NULL;
    }
    return capsule;
}
#ifndef PyCObject_Check
#define PyCObject_Check PyCapsule_CheckExact
#define PyCObject_FromVoidPtr theano_new_pointer
#define PyCObject_AsVoidPtr(object) PyCapsule_GetPointer((object), NULL)
#endif
#ifndef NpyCapsule_Check
#define NpyCapsule_Check PyCapsule_CheckExact
#define NpyCapsule_FromVoidPtr(pointer, destructor) PyCapsule_New((pointer), NULL, (destructor))
#define NpyCapsule_AsVoidPtr(object) PyCapsule_GetPointer((object), NULL)
#endif

#if defined(__cplusplus)
/* Arithmetic of complex numbers, and numbers of the types that C code gets as `dtype_<name>` under their old names. */
#define THEANO_COMPLEX_TYPE(NAME, BASE, PART)                                                        \
    struct NAME : public BASE {                                                                      \
        NAME() { real = 0; imag = 0; }                                                               \
        NAME(const BASE& other) : BASE(other) {}                                                     \
        template <typename T> NAME(const T& number) { real = (PART)number; imag = 0; }               \
        template <typename T, typename U> NAME(const T& re, const U& im) {                           \
            real = (PART)re;                                                                         \
            imag = (PART)im;                                                                         \
        }                                                                                            \
        void set_real(PART number) { real = number; }                                                \
        void set_imag(PART number) { imag = number; }                                                \
    };                                                                                               \
    static inline NAME operator+(const BASE& a, const BASE& b) { return NAME(a.real + b.real, a.imag + b.imag); } \
    static inline NAME operator-(const BASE& a, const BASE& b) { return NAME(a.real - b.real, a.imag - b.imag); } \
    static inline NAME operator-(const BASE& a) { return NAME(-a.real, -a.imag); }                   \
    static inline NAME operator*(const BASE& a, const BASE& b) {                                     \
        return NAME(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real);           \
    }                                                                                                \
    static inline NAME operator*(const BASE& a, PART b) { return NAME(a.real * b, a.imag * b); }     \
    static inline NAME operator*(PART a, const BASE& b) { return b * a; }                            \
    static inline NAME operator/(const BASE& a, PART b) { return NAME(a.real / b, a.imag / b); }     \
    static inline NAME operator/(const BASE& a, const BASE& b) {                                     \
        /* Scaled, so that large and small divisors neither overflow nor vanish. */                  \
        PART size = (b.real < 0 ? -b.real : b.real) + (b.imag < 0 ? -b.imag : b.imag);               \
        PART re = b.real / size, im = b.imag / size, norm = (re * re + im * im) * size;              \
        return NAME((a.real * re + a.imag * im) / norm, (a.imag * re - a.real * im) / norm);         \
    }                                                                                                \
    static inline BASE& operator+=(BASE& a, const BASE& b) { return a = a + b; }                     \
    static inline BASE& operator-=(BASE& a, const BASE& b) { return a = a - b; }                     \
    static inline BASE& operator*=(BASE& a, const BASE& b) { return a = a * b; }                     \
    static inline BASE& operator/=(BASE& a, const BASE& b) { return a = a / b; }                     \
    static inline bool operator==(const BASE& a, const BASE& b) { return a.real == b.real && a.imag == b.imag; } \
    static inline bool operator!=(const BASE& a, const BASE& b) { return !(a == b); }

THEANO_COMPLEX_TYPE(theano_complex64, npy_complex64, npy_float32)
THEANO_COMPLEX_TYPE(theano_complex128, npy_complex128, npy_float64)
#undef THEANO_COMPLEX_TYPE
#endif

#endif
