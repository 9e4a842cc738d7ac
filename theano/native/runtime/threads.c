/* The thread pool: workers are started with the first loop that needs them and sleep between loops. One loop runs in the
 * pool at a time; a caller that finds it taken (another Python thread launches too) runs its tasks by itself. After fork
 * the child starts its own workers. */
#include "threads.h"

#include <stdlib.h>

#if defined(_WIN32)

static int n_threads = 1;

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
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#define MAX_THREADS 256
#define SPIN_NS 30000  /* a worker looks this long for the next loop before it sleeps: programs run loops in quick succession */

static atomic_int wanted = 1;
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;   /* held by the caller whose loop runs in the pool */
static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;  /* guards what follows */
static pthread_cond_t work_ready = PTHREAD_COND_INITIALIZER;
static pthread_cond_t work_done = PTHREAD_COND_INITIALIZER;
static int n_workers, n_wanted_now, n_active;
static unsigned long generation;
static atomic_ulong posted;     /* a copy of generation that is read without the lock */
static thn_task_fn job_fn;
static void *job_ctx;
static long job_tasks;
static atomic_long job_next;
static int fork_handled;
static _Thread_local int in_worker;

static void run_tasks(thn_task_fn fn, void *ctx, long ntasks)
{
    long t;
    while ((t = atomic_fetch_add_explicit(&job_next, 1, memory_order_relaxed)) < ntasks) {
        fn(ctx, t);
    }
}

static void wait_briefly(unsigned long seen)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    const long long end = t.tv_sec * 1000000000LL + t.tv_nsec + SPIN_NS;
    do {
        for (int i = 0; i < 32; i++) {
            if (atomic_load_explicit(&posted, memory_order_relaxed) != seen) {
                return;
            }
#if defined(__x86_64__) || defined(__i386__)
            __builtin_ia32_pause();
#endif
        }
        clock_gettime(CLOCK_MONOTONIC, &t);
    } while (t.tv_sec * 1000000000LL + t.tv_nsec < end);
}

static void *worker_main(void *arg)
{
    const int id = (int)(size_t)arg;
    unsigned long seen = 0;
    int rested = 1;
    in_worker = 1;
    pthread_mutex_lock(&state_lock);
    for (;;) {
        while (generation == seen || id >= n_wanted_now) {
            if (generation != seen) {
                seen = generation;
            }
            if (!rested) {
                rested = 1;
                pthread_mutex_unlock(&state_lock);
                wait_briefly(seen);
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
        run_tasks(fn, ctx, ntasks);
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
    n_workers = n_wanted_now = n_active = 0;
    job_fn = NULL;
    in_worker = 0;
}

static void start_workers(int n)
{
    sigset_t all, old;
    if (!fork_handled) {
        fork_handled = 1;
        pthread_atfork(NULL, NULL, after_fork_in_child);
    }
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
    if (helpers < 1 || in_worker || pthread_mutex_trylock(&pool_lock) != 0) {
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
    atomic_store_explicit(&job_next, 0, memory_order_relaxed);
    n_wanted_now = helpers;
    generation++;
    atomic_store_explicit(&posted, generation, memory_order_relaxed);
    pthread_cond_broadcast(&work_ready);
    pthread_mutex_unlock(&state_lock);
    run_tasks(fn, ctx, ntasks);
    pthread_mutex_lock(&state_lock);
    /* A worker that wakes up from here on finds no job. */
    job_fn = NULL;
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
