/* The thread pool: workers are started with the first loop that needs them and sleep between loops. After fork the child starts
 * its own.
 *
 * There is no lock that all loops take. Each worker has a place of its own for what it is to do; a loop claims workers that are
 * free, and callers on several threads, or tasks that run loops themselves, share them: who finds none works alone. Tasks are cut
 * into as many ranges as take part, one for each, and who has done its own takes from the ends of the others': so the same worker
 * has the same range in loops that are run again and again, with the memory that it touched first, and no counter is common to all.
 *
 * Nothing here is _Thread_local: the C library makes room for such data of a module when a thread first touches them, and ends
 * the process where there is none. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "threads.h"
#include "failing.h"

#include <stdatomic.h>
#include <stdlib.h>

typedef struct {
    intptr_t n, length;
    thn_range_fn fn;
    void *ctx;
    atomic_int failed;
} Ranges;

static void range_task(void *ctx, long task)
{
    Ranges *r = ctx;
    const intptr_t start = (intptr_t)task * r->length, left = r->n - start;
    if (r->fn(r->ctx, start, start + (left < r->length ? left : r->length)) < 0) {
        atomic_store(&r->failed, 1);
    }
}

int thn_parallel_ranges(intptr_t n, intptr_t length, thn_range_fn fn, void *ctx)
{
    Ranges r = {n, length, fn, ctx, 0};
    thn_parallel(n > 0 ? (long)((n + length - 1) / length) : 0, range_task, &r);
    return atomic_load(&r.failed) ? -1 : 0;
}

#if defined(_WIN32)

static int n_threads = 1;

void thn_threads_init(void) {}

void thn_parallel(long ntasks, thn_task_fn fn, void *ctx)
{
    thn_run_alone(ntasks, fn, ctx);
}

void thn_set_threads(int n) { n_threads = n < 1 ? 1 : n; }
int thn_get_threads(void) { return n_threads; }

#else

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#define MAX_THREADS 256
#define LINE 64
/* Sleeping and being woken take some ten microseconds. Programs run loops in quick succession, so a worker looks this long
 * for the next one before it sleeps, and the caller for the end of the last task: on a busy machine the core that it leaves
 * may be the one that runs that task. Who gives its core away for as long as TAKEN_NS sees that others need it, and sleeps. */
#define LOOK_FOR_WORK_NS 100000
#define LOOK_FOR_END_NS 30000
#define TAKEN_NS 20000

/* The tasks of one who takes part that are left: the first in the lower half, the one behind the last in the upper. */
typedef struct {
    _Alignas(LINE) _Atomic uint64_t left;
    atomic_int finished;    /* the last that a worker touches of a job */
} Share;

/* A loop, on its caller's stack. */
typedef struct {
    _Alignas(LINE) thn_task_fn fn;
    void *ctx;
    long ntasks;
    int helpers;
    short *ids;         /* of the workers; the first has the second share */
    Share *shares;
} Job;

/* What a worker does: IDLE or ASLEEP; or a job's address and what became of it, none of these: claimed, not to be begun. */
#define IDLE ((uintptr_t)0)
#define ASLEEP ((uintptr_t)1)   /* beside a job: it has to be woken for it */
#define POSTED ((uintptr_t)2)
#define RUNNING ((uintptr_t)4)
#define FLAGS ((uintptr_t)7)

typedef struct {
    _Alignas(LINE) atomic_uintptr_t state;
    atomic_int seen_on;     /* the core, where known */
    pthread_t thread;
    pthread_mutex_t lock;   /* held to fall asleep and to wake */
    pthread_cond_t wake;
} Worker;

static Worker workers[MAX_THREADS];
static atomic_int wanted = 1, n_workers;
static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
/* Callers that sleep until the last task of theirs has ended. */
static pthread_mutex_t end_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t one_ended = PTHREAD_COND_INITIALIZER;
static atomic_int sleeping_callers;

/* ---- cores
 *
 * A worker that slept for long may be woken on the caller's own core, and wait there until the caller has done all the work.
 * So it is sent away where it was last seen on that core. */

#if defined(__linux__)
static void note_core(Worker *w)
{
    atomic_store_explicit(&w->seen_on, sched_getcpu(), memory_order_relaxed);
}

static void send_away(const Job *job)
{
    const int here = sched_getcpu();
    cpu_set_t others;
    int known = 0;
    for (int k = 0; k < job->helpers; k++) {
        Worker *w = &workers[job->ids[k]];
        if (here < 0 || atomic_load_explicit(&w->seen_on, memory_order_relaxed) != here) {
            continue;
        }
        if (!known) {
            known = 1;
            if (pthread_getaffinity_np(pthread_self(), sizeof others, &others) != 0 || CPU_COUNT(&others) < 2) {
                return;
            }
            CPU_CLR(here, &others);
        }
        pthread_setaffinity_np(w->thread, sizeof others, &others);
        atomic_store_explicit(&w->seen_on, -1, memory_order_relaxed);
    }
}
#else
#define note_core(w) ((void)(w))
#define send_away(job) ((void)(job))
#endif

/* ---- waiting */

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Looks for something that another thread does soon, which may be waiting for this very core. 0: it is not there. */
static int look_for(int (*happened)(const void *), const void *what, long long most_ns)
{
    long long t = now();
    const long long end = t + most_ns;
    do {
        for (int i = 0; i < 64; i++) {
            if (happened(what)) {
                return 1;
            }
#if defined(__x86_64__) || defined(__i386__)
            __builtin_ia32_pause();
#endif
        }
        const long long before = t;
        sched_yield();
        t = now();
        if (t - before > TAKEN_NS) {
            return happened(what);
        }
    } while (t < end);
    return 0;
}

static int is_posted(const void *worker)
{
    return (atomic_load_explicit(&((const Worker *)worker)->state, memory_order_relaxed) & POSTED) != 0;
}

static int is_finished(const void *share)
{
    return atomic_load_explicit(&((const Share *)share)->finished, memory_order_acquire);
}

/* ---- tasks */

/* The first task of a share that is left, or the last; -1: none. */
static long take(Share *s, int last)
{
    uint64_t left = atomic_load_explicit(&s->left, memory_order_relaxed);
    for (;;) {
        const uint32_t from = (uint32_t)left, to = (uint32_t)(left >> 32);
        if (from >= to) {
            return -1;
        }
        const uint64_t then = last ? (uint64_t)(to - 1) << 32 | from : (uint64_t)to << 32 | (from + 1);
        if (atomic_compare_exchange_weak_explicit(&s->left, &left, then, memory_order_relaxed, memory_order_relaxed)) {
            return last ? (long)to - 1 : (long)from;
        }
    }
}

static void run_shares(Job *job, int own)
{
    const int n = job->helpers + 1;
    for (int k = 0; k < n; k++) {
        Share *s = &job->shares[(own + k) % n];
        for (long t; (t = take(s, k > 0)) >= 0;) {
            job->fn(job->ctx, t);
        }
    }
}

/* Those who take part wake two others each: all are awake after as many steps as their number has binary digits. */
static void wake_next(const Job *job, int part)
{
    for (int k = 2 * part; k < 2 * part + 2 && k < job->helpers; k++) {
        Worker *w = &workers[job->ids[k]];
        if (atomic_load_explicit(&w->state, memory_order_relaxed) == ((uintptr_t)job | POSTED | ASLEEP)) {
            pthread_mutex_lock(&w->lock);
            pthread_cond_signal(&w->wake);
            pthread_mutex_unlock(&w->lock);
        }
    }
}

/* ---- workers */

/* Begins what is posted; NULL: nothing is, or no longer. */
static Job *begin(Worker *w)
{
    uintptr_t state = atomic_load_explicit(&w->state, memory_order_relaxed);
    THN_NULL_UNLESS(state & POSTED);
    Job *job = (Job *)(state & ~FLAGS);
    return atomic_compare_exchange_strong_explicit(&w->state, &state, (uintptr_t)job | RUNNING, memory_order_acquire,
                                                   memory_order_relaxed)
               ? job : NULL;
}

static Job *sleep_until_posted(Worker *w)
{
    Job *job = NULL;
    uintptr_t idle = IDLE;
    pthread_mutex_lock(&w->lock);
    if (atomic_compare_exchange_strong(&w->state, &idle, ASLEEP)) {
        while (!(job = begin(w))) {
            pthread_cond_wait(&w->wake, &w->lock);
        }
    }
    pthread_mutex_unlock(&w->lock);
    return job;
}

static void *worker_main(void *arg)
{
    const int id = (int)(size_t)arg;
    Worker *w = &workers[id];
    for (;;) {
        Job *job = look_for(is_posted, w, LOOK_FOR_WORK_NS) ? begin(w) : NULL;
        if (!job) {
            note_core(w);
            job = sleep_until_posted(w);
            if (!job) {
                continue;
            }
        }
        int part = 0;
        while (job->ids[part] != id) {
            part++;
        }
        wake_next(job, part + 1);
        run_shares(job, part + 1);
        note_core(w);
        /* From here on another loop may claim this worker. */
        atomic_store_explicit(&w->state, IDLE, memory_order_release);
        atomic_store(&job->shares[part + 1].finished, 1);
        if (atomic_load(&sleeping_callers) > 0) {
            pthread_mutex_lock(&end_lock);
            pthread_cond_broadcast(&one_ended);
            pthread_mutex_unlock(&end_lock);
        }
    }
    return NULL;
}

static void after_fork_in_child(void)
{
    /* Only the forking thread lives on; locks and counters may be in any state. */
    pthread_mutex_init(&start_lock, NULL);
    pthread_mutex_init(&end_lock, NULL);
    pthread_cond_init(&one_ended, NULL);
    atomic_store(&sleeping_callers, 0);
    atomic_store(&n_workers, 0);
}

void thn_threads_init(void)
{
    pthread_atfork(NULL, NULL, after_fork_in_child);
}

/* As many workers as can be started, `n` at most; whoever else starts some meanwhile goes on alone. */
static void start_workers(int n)
{
    sigset_t all, old;
    if (pthread_mutex_trylock(&start_lock) != 0) {
        return;
    }
    /* Signals belong to Python's main thread. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    for (int id = atomic_load(&n_workers); id < n; id++) {
        Worker *w = &workers[id];
        pthread_attr_t attr;
        pthread_attr_init(&attr);
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        pthread_mutex_init(&w->lock, NULL);
        pthread_cond_init(&w->wake, NULL);
        atomic_store(&w->state, IDLE);
        atomic_store(&w->seen_on, -1);
        const int failed = pthread_create(&w->thread, &attr, worker_main, (void *)(size_t)id);
        pthread_attr_destroy(&attr);
        if (failed) {
            break;
        }
        atomic_store(&n_workers, id + 1);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_mutex_unlock(&start_lock);
}

/* ---- loops */

static void claim_workers(Job *job, int most)
{
    if (atomic_load_explicit(&n_workers, memory_order_acquire) < most) {
        start_workers(most);
    }
    const int available = atomic_load_explicit(&n_workers, memory_order_acquire);
    const int limit = atomic_load_explicit(&wanted, memory_order_relaxed) - 1;
    for (int id = 0; id < available && id < limit && job->helpers < most; id++) {
        uintptr_t state = atomic_load_explicit(&workers[id].state, memory_order_relaxed);
        if (state <= ASLEEP && atomic_compare_exchange_strong_explicit(&workers[id].state, &state, (uintptr_t)job | state,
                                                                       memory_order_acquire, memory_order_relaxed)) {
            job->ids[job->helpers++] = (short)id;
        }
    }
}

static void post(Job *job)
{
    const int n = job->helpers + 1;
    const uint64_t tasks = (uint64_t)job->ntasks;
    for (int k = 0; k < n; k++) {
        const uint64_t from = tasks * (uint64_t)k / (uint64_t)n, to = tasks * (uint64_t)(k + 1) / (uint64_t)n;
        atomic_init(&job->shares[k].left, to << 32 | from);
        atomic_init(&job->shares[k].finished, 0);
    }
    /* The last first: whoever begins wakes others behind it, and these have to be posted by then. */
    for (int k = job->helpers - 1; k >= 0; k--) {
        atomic_fetch_or_explicit(&workers[job->ids[k]].state, POSTED, memory_order_release);
    }
    wake_next(job, 0);
}

/* Takes the job back from who has not begun it, and waits for the others. */
static void end(Job *job)
{
    for (int k = 0; k < job->helpers; k++) {
        Worker *w = &workers[job->ids[k]];
        Share *s = &job->shares[k + 1];
        uintptr_t state = atomic_load_explicit(&w->state, memory_order_relaxed);
        if ((state & ~ASLEEP) == ((uintptr_t)job | POSTED)
            && atomic_compare_exchange_strong_explicit(&w->state, &state, state & ASLEEP, memory_order_relaxed, memory_order_relaxed)) {
            continue;
        }
        if (is_finished(s) || look_for(is_finished, s, LOOK_FOR_END_NS)) {
            continue;
        }
        pthread_mutex_lock(&end_lock);
        atomic_fetch_add(&sleeping_callers, 1);
        while (!atomic_load(&s->finished)) {
            pthread_cond_wait(&one_ended, &end_lock);
        }
        atomic_fetch_sub(&sleeping_callers, 1);
        pthread_mutex_unlock(&end_lock);
    }
}

/* Stacks may be small and tasks run loops themselves, so the job has no more room than `most` helpers need. */
static void run_shared(long ntasks, thn_task_fn fn, void *ctx, int most)
{
    short ids[most];
    Share shares[most + 1];
    Job job = {.fn = fn, .ctx = ctx, .ntasks = ntasks, .ids = ids, .shares = shares};
    claim_workers(&job, most);
    if (job.helpers == 0) {
        thn_run_alone(ntasks, fn, ctx);
        return;
    }
    send_away(&job);
    post(&job);
    run_shares(&job, 0);
    end(&job);
}

void thn_parallel(long ntasks, thn_task_fn fn, void *ctx)
{
    const int threads = atomic_load_explicit(&wanted, memory_order_relaxed);
    if (threads > 1 && ntasks > 1 && ntasks <= INT32_MAX) { /* a share's ends have 32 bits */
        run_shared(ntasks, fn, ctx, ntasks < threads ? (int)ntasks - 1 : threads - 1);
    } else {
        thn_run_alone(ntasks, fn, ctx);
    }
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
