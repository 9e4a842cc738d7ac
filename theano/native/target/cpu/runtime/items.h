/* Moving single elements: between an array and a row of positions, and by a mask. No Python objects, no GIL. */
#pragma once

#include <stdint.h>
#include "cells.h"

/* Byte offsets of n positions along an axis of `size` elements that are `stride` bytes apart; `wraps`: negative ones count from
 * its end. `add`: they are added to what `offsets` (NULL: they are only checked) holds. 0: an index is out of bounds, and the offsets
 * are of no use. */
int thn_offsets(int typenum, const char *p, npy_intp step, npy_intp n, npy_intp size, int wraps, npy_intp stride, int add,
                npy_intp *offsets);

/* Copies the items at byte offsets to `to`, one after the other: as many of n as are moved together. How many. */
npy_intp thn_fetch_items(npy_intp item, const char *x, const npy_intp *offsets, npy_intp n, char *to);

/* Flags are bytes; any but 0 is true. */
npy_intp thn_count_flags(const char *flags, npy_intp n);
/* Writes the positions of the true ones of n flags, the first of which is at `first`; at most `room`. How many there were. */
npy_intp thn_flag_positions(const char *flags, npy_intp n, int64_t first, int64_t *out, npy_intp room);
/* Writes the items of a contiguous row whose flag is true, to at most `room` places. How many there were. */
npy_intp thn_pick_items(int item, const char *x, const char *flags, npy_intp n, char *out, npy_intp room);

/* Rows of a large table that several threads write are shared out by the pages in which they begin: cores that write to the same
 * pages, call after call, take them from one another at many times the cost of the work. So many kinds of pages there are for a
 * table of `reach` bytes: 1 where one kind might have most of the work. */
#define THN_PAGE 4096
static inline npy_intp thn_page_kinds(npy_intp reach, npy_intp threads)
{
    return reach >= 64 * THN_PAGE * threads ? threads : 1;
}

static inline npy_intp thn_page_kind(const char *p, npy_intp kinds)
{
    return (npy_intp)((uintptr_t)p / THN_PAGE % (uintptr_t)kinds);
}
