/* Factorizations by panels of columns, on several threads. Plain C, no Python. */
#pragma once

/* What is done to `count` panels. Each is updated by all before it, in their order, and factored then; when all are, each is
 * finished. */
typedef struct {
    long count;
    void (*update)(void *ctx, long panel, long by);
    int (*factor)(void *ctx, long panel); /* not 0: the factorization failed, nothing more is done */
    void (*finish)(void *ctx, long panel); /* or NULL */
} ThnPanels;

/* Runs it as what each step needs becomes ready, on at most so many of the pool's threads. What is computed does not depend on
 * their number. -1: out of memory. */
int thn_run_panels(const ThnPanels *panels, void *ctx, long threads);
