/* Recycled, 64-byte aligned memory blocks in size classes; process-wide and thread-safe (no GIL needed). */
#pragma once

#include <stddef.h>
#include <string.h>

void thn_pool_init(void);        /* once */
void *thn_pool_alloc(size_t n);  /* NULL when out of memory */
void thn_pool_free(void *p);     /* p from thn_pool_alloc, or NULL */
/* Of a variable that holds such a pointer: it is freed where the variable's scope ends. */
#define THN_POOLED __attribute__((cleanup(thn_pool_free_held)))
static inline void thn_pool_free_held(void *variable)
{
    void *p;
    memcpy(&p, variable, sizeof p);
    thn_pool_free(p);
}
/* A block in parts, each at a multiple of 64 bytes: the variables whose addresses are `at` get theirs. NULL: out of memory. */
typedef struct {
    void *at;
    size_t bytes;
} ThnPart;
size_t thn_parts_bytes(const ThnPart *parts, size_t n);
void thn_parts_place(const ThnPart *parts, size_t n, char *block);
void *thn_pool_parts(const ThnPart *parts, size_t n);
#define THN_POOL_PARTS(...) \
    thn_pool_parts((const ThnPart[]){__VA_ARGS__}, sizeof((const ThnPart[]){__VA_ARGS__}) / sizeof(ThnPart))
size_t thn_pool_capacity(const void *p);
void thn_pool_trim(void);        /* returns all retained blocks to the system */
void thn_pool_join(void);        /* a program has been made that will use the pool */
void thn_pool_leave(void);       /* it is gone */
void thn_pool_set_limit(size_t bytes);   /* of what is retained */
void thn_pool_set_memory(size_t bytes);  /* that the process may use: a quarter is retained at most */
/* peak: the most that was in use since the last trim. */
void thn_pool_stats(size_t *retained, size_t *in_use, size_t *peak, size_t *limit);
