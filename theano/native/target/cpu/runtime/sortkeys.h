/* Sorting by radix: elements become unsigned integers ("keys") of the same order, NaN last as NumPy has it. No Python. */
#pragma once

#include "cells.h"

/* Bytes of a dtype's keys: 4 or 8; 0: no keys (complex numbers have two, see thn_complex_keys). */
int thn_key_size(int typenum);
/* Makes keys of n elements; merged: equal elements (both zeros, all NaNs) get equal keys; wide: the same, all of 8 bytes. Or elements of
 * keys that are not merged. */
enum { THN_TO_KEYS, THN_TO_MERGED, THN_TO_WIDE, THN_FROM_KEYS };
void thn_keys(int way, int typenum, const char *elements, npy_intp stride, npy_intp n, void *keys);
/* Sorts n keys of 4 or 8 bytes; the result is in `keys` or `spare`: returns which. */
void *thn_sort(int size, void *keys, void *spare, npy_intp n);
/* Positions that sort the keys, stable: position i is the low half of result[i]. `a` and `b` have n entries each; the result
 * is one of them. n < 2**32. */
uint64_t *thn_argsort(int size, const void *keys, npy_intp n, uint64_t *a, uint64_t *b);
/* The low halves as int64, `step` bytes apart. */
void thn_put_positions(const uint64_t *order, npy_intp n, char *out, npy_intp step);
/* The count-th smallest key (count >= 1); `a` has n entries. */
uint64_t thn_select_u64(const uint64_t *keys, npy_intp n, npy_intp count, uint64_t *a);
/* Keys of complex numbers: class (0 without NaN, 1 imaginary NaN, 2 real NaN, 3 both), real, imaginary part. */
void thn_complex_keys(int typenum, const char *src, npy_intp stride, npy_intp n, uint64_t *class, uint64_t *re, uint64_t *im);
