/* Basic indexing: parsed index lists and their application to a cell. */
#pragma once

#include "cells.h"

typedef struct ThnTerm {
    int kind;       /* 0: absent, 1: constant, 2: input number `value` of the instruction */
    int64_t value;
} ThnTerm;

typedef struct ThnIndexEntry {
    int kind;       /* 0: integer (start), 1: slice, 2: new axis */
    ThnTerm start, stop, step;
} ThnIndexEntry;

typedef struct ThnIndex {
    int n;
    ThnIndexEntry entries[];
} ThnIndex;

ThnIndex *thn_index_parse(const ThnInstr *ins, PyObject *idx_list); /* NULL + Python error */
/* The view x[index]: first element, dims and strides (THN_MAXDIM entries); returns its rank or -1 with thn_error. */
int thn_index_apply(ThnFrame *f, const ThnInstr *ins, const ThnIndex *index, const ThnCell *x, char **data,
                    npy_intp *dims, npy_intp *strides);
