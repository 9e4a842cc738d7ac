/* Instruction: the loss of connectionist temporal classification and its gradient (Graves et al., ICML 2006).
 *
 * A path goes through the states blank, label 0, blank, label 1 ... blank. Forward variables, of blanks and of labels apart,
 * are the logarithms of the probabilities of all beginnings that are in a state at a time; backward variables those of what
 * may follow. A sequence is one task; threads take some each.
 */
#include "vm.h"
#include "pool.h"
#include "threads.h"
#include "processor.h"
#include <math.h>

#define NOTHING -1e30 /* the logarithm of 0 */
#define MOST_TASKS 64
#define FIRST ((sizeof(Job) + 63) & ~(size_t)63) /* where the memory of the tasks begins */

struct Room;

typedef struct Job {
    void (*sequence)(const struct Job *j, const struct Room *r, npy_intp b);
    const ThnCell *x, *labels, *lengths;
    float *costs, *slopes;  /* slopes: NULL, or (times, batch, symbols) */
    npy_intp times, batch, symbols, longest;
    long tasks;
    char *memory;           /* of all tasks */
    size_t each;
} Job;

#define KEPT_TIMES(j) ((j)->slopes ? (j)->times : 2)

/* Memory of a task, for sequences of up to `times` times and `longest` labels. */
typedef struct Room {
    double *blanks, *states;  /* forward: (times, longest + 1) and (times, longest + 2), label j at j + 1 */
    double *norms;            /* logarithms of the softmax's sums */
    double *barred;           /* 0 where a blank may be left out before the label, else NOTHING; one more at the end */
    double *back[4];          /* backward: blanks and labels, of the time after and of this one */
    double *emitted;          /* by the labels at a time */
    float *row, *softmax, *share;
    int32_t *path;
} Room;

/* Divides memory, and returns how much of it is used; without memory it only does that. */
static size_t divide(Room *r, char *base, npy_intp times, npy_intp longest, npy_intp symbols)
{
    const size_t n = (size_t)times, states = (size_t)longest + 4, line = states * sizeof(double), row = (size_t)symbols * sizeof(float);
    const ThnPart parts[] = {
        {&r->blanks, n * line}, {&r->states, n * line}, {&r->norms, n * sizeof(double)}, {&r->barred, line},
        {&r->back[0], line}, {&r->back[1], line}, {&r->back[2], line}, {&r->back[3], line}, {&r->emitted, line},
        {&r->row, row}, {&r->softmax, row}, {&r->share, states * sizeof(float)}, {&r->path, states * sizeof(int32_t)},
    };
    if (base) {
        thn_parts_place(parts, sizeof parts / sizeof *parts, base);
    }
    return thn_parts_bytes(parts, sizeof parts / sizeof *parts);
}

static const float *row_of(const Job *j, const Room *r, npy_intp t, npy_intp b)
{
    const char *p = j->x->data + t * j->x->strides[0] + b * j->x->strides[1];
    const npy_intp step = j->x->strides[2];
    if (step == sizeof(float) || j->symbols == 1) {
        return (const float *)p;
    }
    for (npy_intp i = 0; i < j->symbols; i++) {
        memcpy(r->row + i, p + i * step, sizeof(float));
    }
    return r->row;
}

/* The logarithm of a probability; that of 0 is finite. */
static inline double emission(const float *x, int32_t symbol, double norm)
{
    const double p = (double)x[symbol] - norm;
    return p < NOTHING ? NOTHING : p;
}

/* The logarithms of what blank (returned) and labels emit at a time. */
static double emit(const Room *r, const float *x, npy_intp n, double norm)
{
    for (npy_intp i = 0; i < n; i++) {
        r->emitted[i] = emission(x, r->path[i], norm);
    }
    return emission(x, 0, norm);
}

/* Choices between two numbers are no branches: no operation is told apart by the traps that it might raise. */
#if defined(__GNUC__) && !defined(__clang__)
#define TARGET __attribute__((optimize("no-trapping-math")))
#else
#define TARGET
#endif
#define NAME(x) x##_any
#include "ctc_kernels.h"
#if defined(__x86_64__) && defined(__GNUC__)
#define WIDE 1
#define TARGET __attribute__((target("avx2,fma"), optimize("fp-contract=fast", "no-trapping-math")))
#define NAME(x) x##_avx2
#include "ctc_kernels.h"
#endif

static void ctc_task(void *ctx, long task)
{
    const Job *j = ctx;
    Room room;
    divide(&room, j->memory + (size_t)task * j->each, KEPT_TIMES(j), j->longest, j->symbols);
    for (npy_intp b = task; b < j->batch; b += j->tasks) {
        j->sequence(j, &room, b);
    }
}

static int ctc_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const ThnCell *x = THN_IN(f, ins, 0), *labels = THN_IN(f, ins, 1), *lengths = THN_IN(f, ins, 2);
    const npy_intp times = x->dims[0], batch = x->dims[1], symbols = x->dims[2];
    THN_FAIL_IF(f, labels->dims[0] != batch || lengths->dims[0] != batch, PyExc_ValueError,
                "ctc: %ld sequences of activations, %ld of labels and %ld lengths", (long)batch, (long)labels->dims[0],
                (long)lengths->dims[0]);
    double steps = 0;
    for (npy_intp b = 0; b < batch; b++) {
        int32_t v;
        memcpy(&v, lengths->data + b * lengths->strides[0], sizeof v);
        THN_FAIL_IF(f, v < 0 || v > times, PyExc_ValueError, "ctc: the input_lengths must be within 0 and %ld, got %ld", (long)times,
                    (long)v);
        THN_FAIL_IF(f, v > 0 && symbols == 0, PyExc_ValueError, "ctc: there are no symbols, not even a blank");
        steps += v;
        for (npy_intp i = 0; i < labels->dims[1]; i++) {
            memcpy(&v, labels->data + b * labels->strides[0] + i * labels->strides[1], sizeof v);
            THN_FAIL_IF(f, v >= symbols, PyExc_ValueError, "ctc: label %ld is out of bounds for %ld symbols", (long)v, (long)symbols);
        }
    }
    for (int i = 0; i < ins->nout; i++) {
        THN_TRY(thn_out_alloc(f, THN_OUT(f, ins, i), i ? x->dims : x->dims + 1));
    }
    const npy_intp longest = labels->dims[1];
    const npy_intp tasks = thn_get_threads() == 1 ? 1 : thn_least(4 * thn_get_threads(), MOST_TASKS);
    Job j = {.sequence = sequence_any, .x = x, .labels = labels, .lengths = lengths, .times = times, .batch = batch, .symbols = symbols,
             .longest = longest, .tasks = (long)thn_least(batch, tasks), .costs = (float *)THN_OUT(f, ins, 0)->data,
             .slopes = ins->nout > 1 ? (float *)THN_OUT(f, ins, 1)->data : NULL};
#if WIDE
    j.sequence = thn_has_avx2() ? sequence_avx2 : j.sequence;
#endif
    Room room;
    j.each = divide(&room, NULL, KEPT_TIMES(&j), longest, symbols);
    Job *kept = thn_scratch(f, ins, FIRST + j.each * (size_t)j.tasks);
    THN_NEED(kept);
    *kept = j;
    kept->memory = (char *)kept + FIRST;
    f->work = steps * (2.0 * (double)symbols + 10.0 * (double)longest + 100.0);
    return 0;
}

static int ctc_execute(ThnFrame *f, const ThnInstr *ins)
{
    Job *j = f->scratch[ins->index].ptr;
    thn_parallel(j->tasks, ctc_task, j);
    return 0;
}

THN_INSTRUCTION(ctc, NULL, ctc_prepare, ctc_execute)
