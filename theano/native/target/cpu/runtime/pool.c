/* The memory pool.
 *
 * Small and big blocks come in size classes, eight to a power of two, so that a block serves every request of about its size and
 * at most an eighth is wasted; a freed one goes to its class's free list. Those between, most of a network's, are cut out of
 * segments (arena.h). Either way a function that is called again finds its pages already mapped, which for big arrays saves as
 * much time as the arithmetic takes. What is retained is bounded: by a quarter of the memory that the process may use, and by
 * what is left of it. It is for the programs that there are: what one of them has retained goes back to the system with it, and
 * nothing is retained when the last one is gone.
 *
 * Each block has a 64-byte header in front of its data. Big blocks are mapped on huge-page boundaries; their data starts
 * at a rotating multiple of 192 bytes so that arrays of a power-of-two size do not share cache sets.
 */
#define _GNU_SOURCE
#include "pool.h"

#include "arena.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#define THN_HAVE_MMAP 1
#endif

#define HEADER THN_BLOCK_HEADER
#define MIN_SHIFT 6                     /* smallest class: 64 bytes */
#define SUB 8                           /* classes in a power of two */
#define NCLASSES ((48 - MIN_SHIFT) * SUB)
#define SMALL_PAGE ((size_t)64 << 10)   /* a multiple of every system's */
#define CUT_FROM ((size_t)32 << 10)     /* blocks of at least this size are cut out of segments */
#define MAP_FROM ((size_t)4 << 20)      /* blocks of at least this size are mapped and advised to use huge pages */

typedef ThnBlock Block;

static Block *free_lists[NCLASSES];
static size_t retained_bytes, in_use_bytes, peak_bytes;
static size_t retain_limit = (size_t)1 << 30, memory_bytes = (size_t)-1;
static size_t programs;
static unsigned stagger;
static atomic_flag pool_lock = ATOMIC_FLAG_INIT;

static void lock(void)
{
    while (atomic_flag_test_and_set_explicit(&pool_lock, memory_order_acquire)) {
#ifdef THN_HAVE_MMAP
        sched_yield();
#endif
    }
}

/* Under the lock. */
static void count_in(size_t capacity)
{
    in_use_bytes += capacity;
    peak_bytes = in_use_bytes > peak_bytes ? in_use_bytes : peak_bytes;
}

static void unlock(void)
{
    atomic_flag_clear_explicit(&pool_lock, memory_order_release);
}

/* Under the lock: what the pool holds of the system though nobody uses it. */
static size_t retained_now(void)
{
    return retained_bytes + thn_arena_retained();
}

/* A child process must not inherit a lock that another thread held: fork() waits for it. */
void thn_pool_init(void)
{
#ifdef THN_HAVE_MMAP
    pthread_atfork(lock, unlock, unlock);
#endif
}

/* The class whose capacity is the smallest that holds n, and that capacity. */
static int class_of(size_t n, size_t *capacity)
{
    if (n <= ((size_t)1 << MIN_SHIFT)) {
        *capacity = (size_t)1 << MIN_SHIFT;
        return 0;
    }
    int top = 63 - __builtin_clzll((unsigned long long)(n - 1)); /* 2**top <= n-1 < 2**(top+1) */
    size_t step = ((size_t)1 << top) / SUB;
    size_t k = (n - ((size_t)1 << top) + step - 1) / step;       /* 1..SUB */
    *capacity = ((size_t)1 << top) + k * step;
    return (top - MIN_SHIFT) * SUB + (int)k;
}

static Block *system_alloc(size_t capacity, int size_class)
{
    char *base;
    size_t map_size = 0;
    char *data;
#ifdef THN_HAVE_MMAP
    if (capacity >= MAP_FROM) {
        size_t offset = HEADER + (size_t)(stagger++ % 16) * 192;
        /* A small remainder gets small pages: a block of 4 MiB with its header must not take 6. */
        size_t need = capacity + offset, huge = need & ~(THN_HUGE_PAGE - 1);
        if (need - huge > THN_HUGE_PAGE / 2) {
            huge += THN_HUGE_PAGE;
        }
        size_t want = need > huge ? huge + ((need - huge + SMALL_PAGE - 1) & ~(SMALL_PAGE - 1)) : huge;
        base = thn_map_aligned(want);
        THN_NULL_UNLESS(base);
        map_size = want;
#ifdef MADV_HUGEPAGE
        madvise(base, huge, MADV_HUGEPAGE);
#endif
        data = base + offset;
    } else
#endif
    {
        base = malloc(capacity + HEADER + 64);
        THN_NULL_UNLESS(base);
        data = (char *)(((uintptr_t)base + HEADER + 63) & ~(uintptr_t)63);
    }
    Block *b = (Block *)(data - HEADER);
    b->capacity = capacity;
    b->map_size = map_size;
    b->base = base;
    b->next = NULL;
    b->size_class = size_class;
    return b;
}

static void system_free(Block *b)
{
#ifdef THN_HAVE_MMAP
    if (b->map_size) {
        munmap(b->base, b->map_size);
        return;
    }
#endif
    free(b->base);
}

static void free_retained(void)
{
    Block *drop = NULL;
    lock();
    thn_arena_release();
    for (int c = 0; retained_bytes && c < NCLASSES; c++) {
        while (free_lists[c]) {
            Block *b = free_lists[c];
            free_lists[c] = b->next;
            b->next = drop;
            drop = b;
        }
    }
    retained_bytes = 0;
    unlock();
    while (drop) {
        Block *next = drop->next;
        system_free(drop);
        drop = next;
    }
}

/* Under the lock: whether that much more is too much unless what is retained goes. */
static int is_scarce(size_t more)
{
    const size_t retained = retained_now();
    return retained > 0 && retained + in_use_bytes + more > memory_bytes;
}

void *thn_pool_alloc(size_t n)
{
    size_t capacity;
    THN_NULL_UNLESS(n <= ((size_t)1 << 46));
    const int c = class_of(n, &capacity);
    int scarce = 0;
    lock();
    Block *b = n >= CUT_FROM && n < MAP_FROM ? thn_arena_take(n) : NULL;
    if (b) {
        count_in(b->capacity);
        scarce = is_scarce(0);
    } else if (free_lists[c]) {
        b = free_lists[c];
        free_lists[c] = b->next;
        retained_bytes -= capacity;
        count_in(capacity);
    } else {
        scarce = is_scarce(capacity);
    }
    unlock();
    if (scarce) {
        free_retained();
    }
    if (b) {
        return (char *)b + HEADER;
    }
    b = system_alloc(capacity, c);
    if (!b) {
        free_retained();
        b = system_alloc(capacity, c);
        THN_NULL_UNLESS(b);
    }
    lock();
    count_in(capacity);
    unlock();
    return (char *)b + HEADER;
}

size_t thn_parts_bytes(const ThnPart *parts, size_t n)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        total += (parts[i].bytes + 63) / 64 * 64;
    }
    return total;
}

void thn_parts_place(const ThnPart *parts, size_t n, char *block)
{
    for (size_t i = 0; i < n; i++) {
        memcpy(parts[i].at, &block, sizeof block);
        block += (parts[i].bytes + 63) / 64 * 64;
    }
}

void *thn_pool_parts(const ThnPart *parts, size_t n)
{
    char *block = thn_pool_alloc(thn_parts_bytes(parts, n));
    if (block) {
        thn_parts_place(parts, n, block);
    }
    return block;
}

void thn_pool_free(void *p)
{
    if (!p) {
        return;
    }
    Block *b = (Block *)((char *)p - HEADER);
    lock();
    in_use_bytes -= b->capacity;
    const int keep = programs && retained_now() + b->capacity <= retain_limit;
    if (b->size_class == THN_CUT_USED) {
        thn_arena_give(b, keep);
        b = NULL;
    } else if (keep) {
        b->next = free_lists[b->size_class];
        free_lists[b->size_class] = b;
        retained_bytes += b->capacity;
        b = NULL;
    }
    unlock();
    if (b) {
        system_free(b);
    }
}

size_t thn_pool_capacity(const void *p)
{
    return ((const Block *)((const char *)p - HEADER))->capacity;
}

void thn_pool_trim(void)
{
    free_retained();
    lock();
    peak_bytes = in_use_bytes;
    unlock();
}

void thn_pool_join(void)
{
    lock();
    programs++;
    unlock();
}

void thn_pool_leave(void)
{
    lock();
    programs--;
    unlock();
    free_retained();
}

void thn_pool_set_limit(size_t bytes)
{
    lock();
    retain_limit = bytes;
    unlock();
}

void thn_pool_set_memory(size_t bytes)
{
    lock();
    memory_bytes = bytes;
    retain_limit = bytes / 4;
    unlock();
}

void thn_pool_stats(size_t *retained, size_t *in_use, size_t *peak, size_t *limit)
{
    lock();
    *retained = retained_now();
    *in_use = in_use_bytes;
    *peak = peak_bytes;
    *limit = retain_limit;
    unlock();
}
