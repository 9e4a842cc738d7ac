/* What the C code of Ops and Types may rely on. */
#ifndef THEANO_MOD_HELPER_H
#define THEANO_MOD_HELPER_H

#include <Python.h>

/* Names of Python 2 that old C code uses for integers and byte strings. */
#ifndef PyInt_Check
#define PyInt_Type PyLong_Type
#define PyInt_Check PyLong_Check
#define PyInt_CheckExact PyLong_CheckExact
#define PyInt_FromLong PyLong_FromLong
#define PyInt_FromSize_t PyLong_FromSize_t
#define PyInt_FromSsize_t PyLong_FromSsize_t
#define PyInt_AsLong PyLong_AsLong
#define PyInt_AS_LONG PyLong_AsLong
#define PyInt_AsSsize_t PyLong_AsSsize_t
#define PyNumber_Int PyNumber_Long
#endif
#ifndef PyString_FromString
#define PyString_Check PyUnicode_Check
#define PyString_FromString PyUnicode_FromString
#define PyString_FromFormat PyUnicode_FromFormat
#define PyString_AsString(text) ((char*)PyUnicode_AsUTF8(text))
#define PyString_AS_STRING(text) ((char*)PyUnicode_AsUTF8(text))
#endif

#define THEANO_EXTERN extern "C"

#if defined(__GNUC__)
#define THEANO_ALWAYS_INLINE __attribute__((always_inline)) static inline
#define THEANO_RTLD_GLOBAL
#else
#define THEANO_ALWAYS_INLINE static inline
#endif

#endif
