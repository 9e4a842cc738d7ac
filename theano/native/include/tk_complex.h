/* Complex types: C99's. With gcc, products and quotients follow Fortran's rules (-fcx-fortran-rules), as NumPy's do. */
#ifndef TK_COMPLEX_H
#define TK_COMPLEX_H
#include "tk_core.h"

typedef float _Complex npy_complex64;
typedef double _Complex npy_complex128;

#define creal(x) (__real__(x))
#define cimag(x) (__imag__(x))
#define conj(x) (~(x))
#endif
