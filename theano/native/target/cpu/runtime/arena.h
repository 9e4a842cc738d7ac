/* Segments of memory out of which the pool's middle-sized blocks are cut. For pool.c alone, under its lock. */
#pragma once

#include "failing.h"
#include <stddef.h>
#include <stdint.h>

#define THN_BLOCK_HEADER 64
#define THN_HUGE_PAGE ((size_t)2 << 20)

enum { THN_CUT_USED = -1, THN_CUT_FREE = -2 };  /* size_class of a block of a segment */

/* In front of the data of every block of the pool. */
typedef struct ThnBlock {
    size_t capacity;                    /* of its data */
    int32_t size_class;
    struct ThnBlock *next;              /* in the list of free ones */
    union {
        struct {
            size_t map_size;            /* 0: from the C library */
            char *base;                 /* what the system gave */
        };
        struct {
            struct ThnBlock *previous;  /* in the list of free ones */
            struct ThnBlock *before;    /* its neighbour in the segment, NULL: it is the first */
            struct ThnSegment *segment;
            size_t resident;            /* of a free one: how much of it has pages of the system */
        };
    };
} ThnBlock;

_Static_assert(sizeof(ThnBlock) <= THN_BLOCK_HEADER, "the header must fit in front of the data");

#if defined(__unix__) || defined(__APPLE__)
/* Memory of the system that begins on a boundary of huge pages; `size` is a multiple of every system's small ones. */
char *thn_map_aligned(size_t size);
/* A block for n bytes, NULL where the system has no memory. */
ThnBlock *thn_arena_take(size_t n);
void thn_arena_give(ThnBlock *b, int keep);  /* keep: its pages stay */
void thn_arena_release(void);                /* the pages of all free blocks go back to the system */
size_t thn_arena_retained(void);             /* bytes of pages of free blocks */
#else
#define thn_arena_take(n) ((ThnBlock *)NULL)
#define thn_arena_give(b, keep) ((void)(b), (void)(keep))
#define thn_arena_release() ((void)0)
#define thn_arena_retained() ((size_t)0)
#endif
