/* What every module of C code of Ops includes first; kept apart so that it can be compiled once.
 * <iostream> costs as much as all of these; it comes after them where the code has names of the standard library. */
#ifndef THEANO_PRELUDE_H
#define THEANO_PRELUDE_H

#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "theano_numpy_complex.h"
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <numpy/npy_math.h>
#include "theano_mod_helper.h"
#include "theano_numpy_names.h"

#endif
