/* Recycled, 64-byte aligned memory blocks in size classes; process-wide and thread-safe (no GIL needed). */
#ifndef THN_POOL_H
#define THN_POOL_H

#include <stddef.h>

void thn_pool_init(void);        /* once */
void *thn_pool_alloc(size_t n);  /* NULL when out of memory */
void thn_pool_free(void *p);     /* p from thn_pool_alloc, or NULL */
size_t thn_pool_capacity(const void *p);
void thn_pool_trim(void);        /* returns all retained blocks to the system */
void thn_pool_join(void);        /* a program has been made that will use the pool */
void thn_pool_leave(void);       /* it is gone */
void thn_pool_set_limit(size_t bytes);   /* of what is retained */
void thn_pool_set_memory(size_t bytes);  /* that the process may use: a quarter is retained at most */
/* peak: the most that was in use since the last trim. */
void thn_pool_stats(size_t *retained, size_t *in_use, size_t *peak, size_t *limit);

#endif
