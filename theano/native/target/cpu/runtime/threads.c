/* The thread pool: workers are started with the first loop that needs them and sleep between loops. One loop runs in the
 * pool at a time; a caller that finds it taken (another Python thread launches too, or it is a task of that loop itself)
 * runs its tasks by itself. After fork the child starts its own workers.
 *
 * Nothing here is _Thread_local: the C library makes room for such data of a module when a thread first touches them, and ends
 * the process where there is none. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "threads.h"

#include <stdlib.h>

#if defined(_WIN32)

static int n_threads = 1;

void thn_threads_init(void) {}

void thn_parallel(long ntasks, thn_task_fn fn, void *ctx)
{
    for (long t = 0; t < ntasks; t++) {
        fn(ctx, t);
    }
}

void thn_set_threads(int n) { n_threads = n < 1 ? 1 : n; }
int thn_get_threads(void) { return n_threads; }

#else

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#define MAX_THREADS 256
/* Sleeping and being woken take some ten microseconds. Programs run loops in quick succession, so a worker looks this long
 * for the next one before it sleeps, and the caller for the end of the last task: on a busy machine the core that it leaves
 * may be the one that runs that task. */
#define LOOK_FOR_WORK_NS 100000
#define LOOK_FOR_END_NS 30000

static atomic_int wanted = 1;
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;   /* held by the caller whose loop runs in the pool */
static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;  /* guards what follows */
static pthread_cond_t work_ready = PTHREAD_COND_INITIALIZER;
static pthread_cond_t work_done = PTHREAD_COND_INITIALIZER;
static int n_workers, n_wanted_now;
static atomic_int n_active;     /* changed with the lock held, also read without it */
static unsigned long generation;
static atomic_ulong posted;     /* a copy of generation that is read without the lock */
static thn_task_fn job_fn;
static void *job_ctx;
static long job_tasks;
static atomic_long job_claimed, job_from_end;

/* ---- cores
 *
 * A worker that slept for long may be woken on the caller's own core, and wait there until the caller has done all the work.
 * So it is sent away where it was last seen on that core. */

#if defined(__linux__)
static pthread_t workers[MAX_THREADS];
static atomic_int seen_on[MAX_THREADS];

static void note_core(int id)
{
    atomic_store_explicit(&seen_on[id], sched_getcpu(), memory_order_relaxed);
}

static void send_away(int helpers)
{
    const int here = sched_getcpu();
    cpu_set_t others;
    int known = 0;
    for (int id = 0; id < helpers; id++) {
        if (here < 0 || atomic_load_explicit(&seen_on[id], memory_order_relaxed) != here) {
            continue;
        }
        if (!known) {
            known = 1;
            if (pthread_getaffinity_np(pthread_self(), sizeof others, &others) != 0 || CPU_COUNT(&others) < 2) {
                return;
            }
            CPU_CLR(here, &others);
        }
        pthread_setaffinity_np(workers[id], sizeof others, &others);
        atomic_store_explicit(&seen_on[id], -1, memory_order_relaxed);
    }
}
#else
static void note_core(int id)
{
    (void)id;
}

static void send_away(int helpers)
{
    (void)helpers;
}
#endif

/* ---- loops */

/* The caller takes tasks from the first on, workers from the last: in loops that are run again and again most of the memory
 * stays with the core that had it before. */
static void run_tasks(thn_task_fn fn, void *ctx, long ntasks, int from_end)
{
    long next = 0;
    while (atomic_fetch_add_explicit(&job_claimed, 1, memory_order_relaxed) < ntasks) {
        fn(ctx, from_end ? ntasks - 1 - atomic_fetch_add_explicit(&job_from_end, 1, memory_order_relaxed) : next++);
    }
}

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int is_posted(unsigned long seen)
{
    return atomic_load_explicit(&posted, memory_order_relaxed) != seen;
}

static int is_done(unsigned long unused)
{
    (void)unused;
    return atomic_load_explicit(&n_active, memory_order_acquire) == 0;
}

/* Looks for something that another thread does soon, which may be waiting for this very core. */
static void look_for(int (*happened)(unsigned long), unsigned long seen, long long most_ns)
{
    const long long end = now() + most_ns;
    do {
        for (int i = 0; i < 64; i++) {
            if (happened(seen)) {
                return;
            }
#if defined(__x86_64__) || defined(__i386__)
            __builtin_ia32_pause();
#endif
        }
        sched_yield();
    } while (now() < end);
}

static void *worker_main(void *arg)
{
    const int id = (int)(size_t)arg;
    unsigned long seen = 0;
    int rested = 1;
    pthread_mutex_lock(&state_lock);
    for (;;) {
        while (generation == seen || id >= n_wanted_now) {
            if (generation != seen) {
                seen = generation;
            }
            if (!rested) {
                rested = 1;
                pthread_mutex_unlock(&state_lock);
                look_for(is_posted, seen, LOOK_FOR_WORK_NS);
                note_core(id);
                pthread_mutex_lock(&state_lock);
                continue;
            }
            pthread_cond_wait(&work_ready, &state_lock);
        }
        seen = generation;
        if (job_fn == NULL) {
            continue;
        }
        thn_task_fn fn = job_fn;
        void *ctx = job_ctx;
        const long ntasks = job_tasks;
        n_active++;
        rested = 0;
        pthread_mutex_unlock(&state_lock);
        run_tasks(fn, ctx, ntasks, 1);
        note_core(id);
        pthread_mutex_lock(&state_lock);
        if (--n_active == 0) {
            pthread_cond_signal(&work_done);
        }
    }
    return NULL;
}

static void after_fork_in_child(void)
{
    /* Only the forking thread lives on; locks and counters may be in any state. */
    pthread_mutex_init(&pool_lock, NULL);
    pthread_mutex_init(&state_lock, NULL);
    pthread_cond_init(&work_ready, NULL);
    pthread_cond_init(&work_done, NULL);
    n_workers = n_wanted_now = 0;
    atomic_store(&n_active, 0);
    job_fn = NULL;
}

void thn_threads_init(void)
{
    pthread_atfork(NULL, NULL, after_fork_in_child);
}

static void start_workers(int n)
{
    sigset_t all, old;
    /* Signals belong to Python's main thread. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (n_workers < n) {
        pthread_t id;
        pthread_attr_t attr;
        pthread_attr_init(&attr);
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        const int failed = pthread_create(&id, &attr, worker_main, (void *)(size_t)n_workers);
        pthread_attr_destroy(&attr);
        if (failed) {
            break;
        }
#if defined(__linux__)
        workers[n_workers] = id;
        atomic_store(&seen_on[n_workers], -1);
#endif
        n_workers++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void thn_parallel(long ntasks, thn_task_fn fn, void *ctx)
{
    int helpers = atomic_load_explicit(&wanted, memory_order_relaxed) - 1;
    if (helpers > ntasks - 1) {
        helpers = (int)(ntasks - 1);
    }
    if (helpers < 1 || pthread_mutex_trylock(&pool_lock) != 0) {
        for (long t = 0; t < ntasks; t++) {
            fn(ctx, t);
        }
        return;
    }
    pthread_mutex_lock(&state_lock);
    if (n_workers < helpers) {
        start_workers(helpers);
    }
    job_fn = fn;
    job_ctx = ctx;
    job_tasks = ntasks;
    atomic_store_explicit(&job_claimed, 0, memory_order_relaxed);
    atomic_store_explicit(&job_from_end, 0, memory_order_relaxed);
    n_wanted_now = helpers < n_workers ? helpers : n_workers;
    send_away(n_wanted_now);
    generation++;
    atomic_store_explicit(&posted, generation, memory_order_relaxed);
    pthread_cond_broadcast(&work_ready);
    pthread_mutex_unlock(&state_lock);
    run_tasks(fn, ctx, ntasks, 0);
    pthread_mutex_lock(&state_lock);
    /* A worker that wakes up from here on finds no job. */
    job_fn = NULL;
    if (n_active > 0) {
        pthread_mutex_unlock(&state_lock);
        look_for(is_done, 0, LOOK_FOR_END_NS);
        pthread_mutex_lock(&state_lock);
    }
    while (n_active > 0) {
        pthread_cond_wait(&work_done, &state_lock);
    }
    pthread_mutex_unlock(&state_lock);
    pthread_mutex_unlock(&pool_lock);
}

void thn_set_threads(int n)
{
    atomic_store(&wanted, n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : n);
}

int thn_get_threads(void)
{
    return atomic_load(&wanted);
}

#endif
