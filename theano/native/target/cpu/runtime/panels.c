/* The order of the steps of a factorization; see panels.h.
 *
 * There is no barrier: while one thread factors a panel, others go on with what they can do without it. A thread that finds
 * nothing ready waits for a step that another thread has begun, so that one thread alone never waits. */
#include "panels.h"
#include "failing.h"
#include "pool.h"
#include "threads.h"

#include <stdatomic.h>
#include <string.h>
#if !defined(_WIN32)
#include <sched.h>
#endif

typedef struct {
    const ThnPanels *p;
    void *ctx;
    atomic_flag lock;   /* held for what follows */
    long factored;      /* panels, in their order */
    long finishing;
    int failed;
    long *updates;      /* that each panel has had; -1 - them while a thread is at it */
} Run;

enum { UPDATE, FACTOR, FINISH, WAIT, END };

static void lock(Run *r)
{
    while (atomic_flag_test_and_set_explicit(&r->lock, memory_order_acquire)) {
    }
}

static void unlock(Run *r)
{
    atomic_flag_clear_explicit(&r->lock, memory_order_release);
}

/* The next step, with the lock held. Others wait for the first panel that is not factored; of those behind it the one goes
 * first that had the fewest updates, for which there is most to be done. */
static int claim(Run *r, long *panel)
{
    const long count = r->p->count;
    if (r->failed) {
        return END;
    }
    if (r->factored == count) {
        *panel = r->finishing;
        return !r->p->finish || r->finishing == count ? END : (r->finishing++, FINISH);
    }
    long best = -1, had = r->factored;
    for (long j = r->factored; j < count; j++) {
        if (r->updates[j] >= 0 && (r->updates[j] < had || j == r->factored)) {
            best = j;
            had = r->updates[j];
            if (j == r->factored) {
                break;
            }
        }
    }
    if (best < 0) {
        return WAIT;
    }
    *panel = best;
    r->updates[best] = -1 - had;
    return had < best ? UPDATE : FACTOR;
}

static void wait_a_little(int *turn)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
#if !defined(_WIN32)
    if (++*turn % 64 == 0) {
        sched_yield();
    }
#endif
}

static void run_steps(void *ctx, long task)
{
    Run *r = ctx;
    int turn = 0;
    (void)task;
    for (;;) {
        long panel = 0;
        int failed = 0;
        lock(r);
        const int step = claim(r, &panel);
        unlock(r);
        if (step == END) {
            return;
        }
        if (step == WAIT) {
            wait_a_little(&turn);
            continue;
        }
        if (step == FINISH) {
            r->p->finish(r->ctx, panel);
            continue;
        }
        const long had = -1 - r->updates[panel];
        if (step == UPDATE) {
            r->p->update(r->ctx, panel, had);
        } else {
            failed = r->p->factor(r->ctx, panel);
        }
        lock(r);
        r->updates[panel] = had + 1;
        r->factored += step == FACTOR;
        r->failed |= failed;
        unlock(r);
    }
}

int thn_run_panels(const ThnPanels *panels, void *ctx, long threads)
{
    const size_t bytes = (size_t)panels->count * sizeof(long);
    THN_POOLED long *updates = thn_pool_alloc(bytes + 1);
    THN_NEED(updates);
    memset(updates, 0, bytes);
    Run r = {.p = panels, .ctx = ctx, .lock = ATOMIC_FLAG_INIT, .updates = updates};
    thn_parallel(threads < panels->count ? threads : panels->count, run_steps, &r);
    return 0;
}
