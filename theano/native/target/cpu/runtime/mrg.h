/* The generator MRG31k3p: P. L'Ecuyer and R. Touzin, Fast Combined Multiple Recursive Generators with Multipliers of the form
 * a = +/- 2^d +/- 2^e, Proceedings of the 2000 Winter Simulation Conference, 683-689. Plain C, no Python objects. */
#pragma once

#include "cells.h"

#define THN_MRG_WORDS 6      /* of a state: the last three terms of both sequences, the latest first */
#define THN_MRG_BLOCK 512    /* streams that advance side by side */

typedef struct ThnMrg {
    char *states;            /* a row of int32 for each stream */
    npy_intp row, word;      /* byte strides */
    npy_intp streams, n;     /* sample i comes from stream i % streams */
    char *out;               /* C contiguous */
    int typenum;             /* float16, float32 or float64 */
} ThnMrg;

/* Draws what the streams [first, first + THN_MRG_BLOCK) give of the sample, and advances their states. */
void thn_mrg_block(const ThnMrg *m, npy_intp first);
