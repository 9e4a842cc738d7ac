/* What instructions that write into a part of an array have in common. */
#ifndef THN_TARGET_H
#define THN_TARGET_H

#include "cells.h"

/* Estimated ns for moving the elements of an array. */
static inline double thn_bytes_work(const ThnCell *c)
{
    return (double)thn_size(c) * c->itemsize * 0.2;
}

/* The target of a writing instruction: x itself, or a fresh array to copy x into. */
int thn_target_prepare(ThnFrame *f, ThnCell *out, ThnCell *x, int inplace);
void thn_target_execute(const ThnCell *out, const ThnCell *x, int inplace);
/* y's elements for reading while `out` is written: a copy if they share memory. `held` is freed by the caller. */
int thn_source(ThnFrame *f, const ThnCell *y, const ThnCell *out, const char **data, npy_intp *strides, char **held);
/* Both -1 with thn_error; same_dtype only if x and y differ. */
int thn_broadcast_error(ThnFrame *f, const ThnCell *y, int nd, const npy_intp *dims);

#endif
