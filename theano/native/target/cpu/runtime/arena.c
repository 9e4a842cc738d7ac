/* Blocks cut out of segments.
 *
 * A program needs blocks of many sizes, each size's most at another time. Were a block to serve one size only, as much would be
 * retained as the sum of those; a block that is freed here melts with its free neighbours instead, and what is left over of one
 * that is taken is the next one's: about as much is retained as is ever in use at once. The smallest free block that fits is
 * taken (Knuth's boundary tags; lists of free blocks by size with a bitmap as in Masmano's two-level segregated fit, so
 * that the cost does not grow with the number of blocks).
 *
 * A segment is address space first: its pages come as blocks are written, so the untouched end costs nothing. Blocks as large as
 * a huge page get huge pages, which come in a sixth of the time.
 */
#define _GNU_SOURCE
#include "arena.h"

#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define HIDE(at, size) ASAN_POISON_MEMORY_REGION(at, size)
#define SHOW(at, size) ASAN_UNPOISON_MEMORY_REGION(at, size)
#else
#define HIDE(at, size) ((void)0)
#define SHOW(at, size) ((void)0)
#endif

#define SEGMENT ((size_t)32 << 20)
#define PAGE ((size_t)64 << 10)          /* a multiple of every system's */
#define REMAINDER ((size_t)16 << 10)     /* less stays with the block that it is left over of */
#define APART 128                        /* arrays of a power-of-two size must not share cache sets: 192 bytes with the header */
#define LOW_SHIFT 13                     /* free blocks of less are in the first list */
#define SUB 8                            /* lists in a power of two */
#define LISTS 128
#define LOOKED_AT 64                     /* at most, of a list */
#define HUGE_UP(at) (((at) + THN_HUGE_PAGE - 1) & ~(uintptr_t)(THN_HUGE_PAGE - 1))

typedef struct ThnSegment {
    size_t size;                         /* from here */
} ThnSegment;

static ThnBlock *lists[LISTS];
static uint64_t occupied[LISTS / 64];
static size_t retained;

/* The list of blocks of this capacity. */
static int list_of(size_t capacity)
{
    if (capacity < ((size_t)1 << LOW_SHIFT)) {
        return 0;
    }
    const int top = 63 - __builtin_clzll((unsigned long long)capacity);
    const int k = (top - LOW_SHIFT) * SUB + (int)((capacity >> (top - 3)) & (SUB - 1));
    return k < LISTS ? k : LISTS - 1;
}

static void insert(ThnBlock *b)
{
    const int k = list_of(b->capacity);
    b->size_class = THN_CUT_FREE;
    b->previous = NULL;
    b->next = lists[k];
    if (b->next) {
        b->next->previous = b;
    }
    lists[k] = b;
    occupied[k / 64] |= (uint64_t)1 << (k % 64);
    retained += b->resident;
    HIDE((char *)b + THN_BLOCK_HEADER, b->capacity);
}

static void take_out(ThnBlock *b)
{
    const int k = list_of(b->capacity);
    if (b->next) {
        b->next->previous = b->previous;
    }
    if (b->previous) {
        b->previous->next = b->next;
    } else {
        lists[k] = b->next;
        if (!b->next) {
            occupied[k / 64] &= ~((uint64_t)1 << (k % 64));
        }
    }
    retained -= b->resident;
}

static ThnBlock *after(const ThnBlock *b)
{
    char *end = (char *)b + THN_BLOCK_HEADER + b->capacity;
    return end < (char *)b->segment + b->segment->size ? (ThnBlock *)end : NULL;
}

static ThnBlock *place(char *at, size_t capacity, ThnBlock *before, ThnSegment *segment)
{
    ThnBlock *b = (ThnBlock *)at;
    b->capacity = capacity;
    b->before = before;
    b->segment = segment;
    b->resident = 0;
    return b;
}

/* The smallest of a list that holds this much. */
static ThnBlock *best_of(int k, size_t capacity)
{
    ThnBlock *best = NULL;
    int n = 0;
    for (ThnBlock *b = lists[k]; b && n < LOOKED_AT; b = b->next, n++) {
        if (b->capacity >= capacity && (!best || b->capacity < best->capacity)) {
            best = b;
        }
    }
    return best;
}

static ThnBlock *find(size_t capacity)
{
    int k = list_of(capacity);
    ThnBlock *best = best_of(k, capacity);
    while (!best && ++k < LISTS) {
        const uint64_t left = occupied[k / 64] >> (k % 64);
        if (!left) {
            k |= 63;
            continue;
        }
        k += __builtin_ctzll(left);
        best = best_of(k, capacity);
    }
    return best;
}

char *thn_map_aligned(size_t size)
{
    char *raw = mmap(NULL, size + THN_HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    THN_NULL_UNLESS(raw != MAP_FAILED);
    char *base = (char *)HUGE_UP((uintptr_t)raw);
    if (base > raw) {
        munmap(raw, (size_t)(base - raw));
    }
    munmap(base + size, (size_t)(raw + THN_HUGE_PAGE - base));
    return base;
}

/* Asks for huge pages where a block of at least that size is going to be; the blocks behind it use the rest of the last one. To be
 * called before anything there is written: a small page that is there keeps its neighbours small. */
#ifdef MADV_HUGEPAGE
static void ask_huge(const void *block, size_t capacity, const ThnSegment *segment, size_t size)
{
    const uintptr_t at = (uintptr_t)block, end = (uintptr_t)segment + size, to = HUGE_UP(at + THN_BLOCK_HEADER + capacity);
    if (capacity >= THN_HUGE_PAGE) {
        const uintptr_t from = HUGE_UP(at + 1) - THN_HUGE_PAGE;
        madvise((void *)from, (to < end ? to : end) - from, MADV_HUGEPAGE);
    }
}
#else
#define ask_huge(block, capacity, segment, size) ((void)0)
#endif

static ThnBlock *new_segment(size_t capacity)
{
    size_t size = SEGMENT;
    char *base = thn_map_aligned(size);
    if (!base) {
        size = (capacity + 2 * THN_BLOCK_HEADER + PAGE - 1) & ~(PAGE - 1);
        base = thn_map_aligned(size);
        THN_NULL_UNLESS(base);
    }
    ThnSegment *segment = (ThnSegment *)base;
    ask_huge(base, capacity, segment, size);
    segment->size = size;
    return place(base + THN_BLOCK_HEADER, size - 2 * THN_BLOCK_HEADER, NULL, segment);
}

ThnBlock *thn_arena_take(size_t n)
{
    const size_t capacity = ((n + 63) & ~(size_t)63) + APART;
    ThnBlock *b = find(capacity);
    if (b) {
        take_out(b);
        if (b->resident < capacity / 2) { /* most of its pages are still to come */
            ask_huge(b, capacity, b->segment, b->segment->size);
        }
    } else {
        b = new_segment(capacity);
        THN_NULL_UNLESS(b);
    }
    b->size_class = THN_CUT_USED;
    SHOW(b, THN_BLOCK_HEADER + b->capacity);
    if (b->capacity - capacity >= REMAINDER) {
        const size_t used = capacity + THN_BLOCK_HEADER;
        ThnBlock *next = after(b);
        ThnBlock *rest = place((char *)b + used, b->capacity - used, b, b->segment);
        rest->resident = b->resident > used ? b->resident - used : 0;
        if (next) {
            next->before = rest;
        }
        b->capacity = capacity;
        insert(rest);
    }
    return b;
}

/* The pages that lie within its data go back to the system. */
static void drop_pages(const ThnBlock *b)
{
    const uintptr_t from = ((uintptr_t)b + THN_BLOCK_HEADER + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    const uintptr_t to = ((uintptr_t)b + THN_BLOCK_HEADER + b->capacity) & ~(uintptr_t)(PAGE - 1);
    if (to > from) {
        madvise((void *)from, to - from, MADV_DONTNEED);
#ifdef MADV_NOHUGEPAGE
        madvise((void *)from, to - from, MADV_NOHUGEPAGE); /* small blocks may follow */
#endif
    }
}

/* Two free neighbours become one. */
static void melt(ThnBlock *first, ThnBlock *second)
{
    ThnBlock *next = after(second);
    first->capacity += THN_BLOCK_HEADER + second->capacity;
    first->resident += second->resident + (second->resident ? THN_BLOCK_HEADER : 0);
    if (next) {
        next->before = first;
    }
}

static int is_whole(const ThnBlock *b)
{
    return !b->before && !after(b);
}

static void unmap(ThnBlock *b)
{
    SHOW(b, THN_BLOCK_HEADER + b->capacity);
    munmap(b->segment, b->segment->size);
}

void thn_arena_give(ThnBlock *b, int keep)
{
    b->resident = keep ? b->capacity : 0;
    if (!keep) {
        drop_pages(b);
    }
    ThnBlock *next = after(b), *before = b->before;
    if (next && next->size_class == THN_CUT_FREE) {
        take_out(next);
        melt(b, next);
    }
    if (before && before->size_class == THN_CUT_FREE) {
        take_out(before);
        melt(before, b);
        b = before;
    }
    if (!b->resident && is_whole(b)) {
        unmap(b);
        return;
    }
    insert(b);
}

void thn_arena_release(void)
{
    for (int k = 0; retained && k < LISTS; k++) {
        for (ThnBlock *b = lists[k], *next; b; b = next) {
            next = b->next;
            if (!b->resident) {
                continue;
            }
            if (is_whole(b)) {
                take_out(b);
                unmap(b);
                continue;
            }
            drop_pages(b);
            retained -= b->resident;
            b->resident = 0;
        }
    }
}

size_t thn_arena_retained(void)
{
    return retained;
}

#endif
