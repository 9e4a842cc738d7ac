/* Complex numbers with the members `real` and `imag`, by which C code for NumPy 1 knows their parts.
 *
 * NumPy 2 has an array of two instead, which stays there too for its own headers; the memory is the same. */
#ifndef THEANO_NUMPY_COMPLEX_H
#define THEANO_NUMPY_COMPLEX_H

#include <numpy/numpyconfig.h>
#if defined(__cplusplus) && defined(NPY_VERSION) && NPY_VERSION >= 0x02000000

#define npy_cfloat theano_numpys_cfloat
#define npy_cdouble theano_numpys_cdouble
#define npy_clongdouble theano_numpys_clongdouble
#define npy_complex64 theano_numpys_complex64
#define npy_complex128 theano_numpys_complex128
#define npy_complex160 theano_numpys_complex160
#define npy_complex192 theano_numpys_complex192
#define npy_complex256 theano_numpys_complex256
#include <numpy/npy_common.h>
#undef npy_cfloat
#undef npy_cdouble
#undef npy_clongdouble
#undef npy_complex64
#undef npy_complex128
#undef npy_complex160
#undef npy_complex192
#undef npy_complex256

#define THEANO_COMPLEX(part) struct { union { part _Val[2]; struct { part real, imag; }; }; }
typedef THEANO_COMPLEX(float) npy_cfloat;
typedef THEANO_COMPLEX(double) npy_cdouble;
typedef THEANO_COMPLEX(npy_longdouble) npy_clongdouble;
#undef THEANO_COMPLEX

typedef npy_cfloat npy_complex64;
typedef npy_cdouble npy_complex128;
#if NPY_SIZEOF_LONGDOUBLE == 16
typedef npy_clongdouble npy_complex256;
#elif NPY_SIZEOF_LONGDOUBLE == 12
typedef npy_clongdouble npy_complex192;
#elif NPY_SIZEOF_LONGDOUBLE == 10
typedef npy_clongdouble npy_complex160;
#endif

#endif
#endif
