/* A pool of threads for loops over tasks. Plain C, no Python. */
#pragma once

#include <stdint.h>

typedef void (*thn_task_fn)(void *ctx, long task);

void thn_threads_init(void); /* once */
/* Calls fn(ctx, t) for every t < ntasks, on several threads if the pool is free and has more than one; returns when all
 * are done. Which thread runs a task is not fixed: results must not depend on it. */
void thn_parallel(long ntasks, thn_task_fn fn, void *ctx);
/* The same, on the caller's thread alone. */
static inline void thn_run_alone(long ntasks, thn_task_fn fn, void *ctx)
{
    for (long t = 0; t < ntasks; t++) {
        fn(ctx, t);
    }
}
/* One or the other: threads are not for a little work. */
static inline void thn_parallel_if(int many, long ntasks, thn_task_fn fn, void *ctx)
{
    (many ? thn_parallel : thn_run_alone)(ntasks, fn, ctx);
}
/* Calls fn(ctx, start, stop) for ranges of 0 .. n - 1, `length` long but for the last, as thn_parallel does. 0, or -1 if one of the
 * calls has returned less than 0. */
typedef int (*thn_range_fn)(void *ctx, intptr_t start, intptr_t stop);
int thn_parallel_ranges(intptr_t n, intptr_t length, thn_range_fn fn, void *ctx);
/* Threads used together with the caller's. Takes effect with the next loop; n < 1 is taken as 1. */
void thn_set_threads(int n);
int thn_get_threads(void);
