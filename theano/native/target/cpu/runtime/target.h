/* What instructions that write into a part of an array have in common. */
#pragma once

#include "cells.h"

/* Estimated ns for moving the elements of an array. */
static inline double thn_bytes_work(const ThnCell *c)
{
    return (double)thn_size(c) * c->itemsize * 0.2;
}

/* The target of a writing instruction: x itself, or a fresh array to copy x into. */
int thn_target_prepare(ThnFrame *f, ThnCell *out, ThnCell *x, int inplace);
void thn_target_execute(const ThnCell *out, const ThnCell *x, int inplace);
/* Whether an array may be repeated to fill dims; -1 with thn_error. */
int thn_broadcasts(ThnFrame *f, const ThnCell *y, int nd, const npy_intp *dims);
