/* Loops over two strided regions: copying, conversion between dtypes, adding in place. No Python objects, no GIL. */
#pragma once

#include "cells.h"

typedef struct {
    float re, im;
} ThnC8;

typedef struct {
    double re, im;
} ThnC16;

/* Handles n elements; byte strides. */
typedef void (*ThnInner)(npy_intp n, char *dst, npy_intp dst_stride, const char *src, npy_intp src_stride);

void thn_loop2(int ndim, const npy_intp *dims, char *dst, const npy_intp *dst_strides, const char *src,
               const npy_intp *src_strides, ThnInner inner);

ThnInner thn_copy_inner(int itemsize);
/* The dtypes in an order of their own, and the place of one of them; -1: others. */
enum { T_b1, T_i1, T_u1, T_i2, T_u2, T_i4, T_u4, T_i8, T_u8, T_f2, T_f4, T_f8, T_c8, T_c16, T_COUNT };
int thn_type_index(int typenum);
ThnInner thn_cast_inner(int to, int from); /* type numbers; copies when they are equal; NULL: not supported */
ThnInner thn_add_inner(int typenum);       /* dst += src; NULL: not supported */
ThnInner thn_mul_inner(int typenum);       /* dst *= src */

/* Reads element p of an integer array. */
typedef int64_t (*ThnReadInt)(const char *p);
ThnReadInt thn_int_reader(int typenum); /* NULL: not an integer type */

/* True if the byte ranges of the two cells overlap. */
int thn_may_overlap(const ThnCell *a, const ThnCell *b);

/* Strides of `c` seen as an array of `ndim` dims (aligned at the right, repeated along dimensions of size 1).
 * -1: the shapes do not broadcast. */
int thn_broadcast_strides(const ThnCell *c, int ndim, const npy_intp *dims, npy_intp *strides);

/* Widens the lengths of `ndim` dims to those of `c`, aligned at the right. -1: done; else the dim along which they differ, with
 * neither of length 1. */
int thn_widen(const ThnCell *c, int ndim, npy_intp *dims);

/* "(2, 3)" for messages; `buf` has `size` bytes. */
const char *thn_shape_text(char *buf, size_t size, int ndim, const npy_intp *dims);
/* The same in memory of the block that it stands in. */
#define THN_SHAPE(ndim, dims) thn_shape_text((char[200]){0}, 200, ndim, dims)
