/* Instruction: columns of matrices of probabilities, picked by uniform numbers. */
#include "vm.h"
#include "copy.h"
#include "pool.h"
#include "threads.h"

#define ROWS_WORK 30000.0 /* ns of a task */

typedef struct {
    const thn_pick_columns_params *params;
    const ThnCell *p, *unis, *out;
    npy_intp n, rows, cols;
} Picking;

static double work_of_row(const thn_pick_columns_params *params, npy_intp cols, npy_intp n)
{
    return params->count ? 2.0 * (double)cols + (double)n * (5.0 + 0.5 * (double)cols) : (double)n * (5.0 + 4.0 * (double)cols);
}

static int pick_columns_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const thn_pick_columns_params *params = ins->data;
    const ThnCell *p = THN_IN(f, ins, 0), *unis = THN_IN(f, ins, 1);
    const npy_intp n = (npy_intp)thn_scalar_int(THN_IN(f, ins, 2));
    THN_FAIL_IF(f, !params->count && !params->replace && n > p->dims[1], PyExc_ValueError,
                "Cannot sample without replacement n samples bigger than the size of the distribution: %lld", (long long)n);
    THN_FAIL_IF(f, n < 0 || (n && p->dims[0] > NPY_MAX_INTP / n) || unis->dims[0] != p->dims[0] * n, PyExc_ValueError,
                "unis.shape[0] != pvals.shape[0] * n_samples: %lld, %lld, %lld", (long long)unis->dims[0], (long long)p->dims[0],
                (long long)n);
    THN_FAIL_IF(f, n && p->dims[0] && !p->dims[1], PyExc_ValueError, "there are no columns to draw from");
    const npy_intp dims[2] = {p->dims[0], params->count ? p->dims[1] : n};
    f->work = work_of_row(params, p->dims[1], n) * (double)p->dims[0];
    return thn_out_alloc(f, THN_OUT(f, ins, 0), dims);
}

/* first_: the first column whose sum is above u; -1 where there is none. most_: the first of the greatest sum, what is counted where
 * rounding leaves all sums below the number. pick_: the results of a row, as int64; `held`: room for the row's probabilities and
 * their sums. */
#define DEFINE_PICK(S, T)                                                                 \
    static npy_intp first_##S(const T *sums, npy_intp cols, double u)                     \
    {                                                                                     \
        for (npy_intp j = 0; j < cols; j++) {                                             \
            if ((double)sums[j] > u) {                                                    \
                return j;                                                                 \
            }                                                                             \
        }                                                                                 \
        return -1;                                                                        \
    }                                                                                     \
    static npy_intp most_##S(const T *sums, npy_intp cols)                                \
    {                                                                                     \
        npy_intp most = 0;                                                                \
        for (npy_intp j = 0; j < cols; j++) {                                             \
            if (sums[j] != sums[j]) {                                                     \
                return j;                                                                 \
            }                                                                             \
            most = sums[j] > sums[most] ? j : most;                                       \
        }                                                                                 \
        return most;                                                                      \
    }                                                                                     \
    static void pick_##S(const Picking *w, npy_intp row, int64_t *result, char *held)     \
    {                                                                                     \
        T *p = (T *)held, *sums = p + w->cols, sum = 0;                                   \
        for (npy_intp j = 0; j < w->cols; j++) {                                          \
            p[j] = *(const T *)(w->p->data + row * w->p->strides[0] + j * w->p->strides[1]); \
            sums[j] = sum = j ? sum + p[j] : p[j];                                        \
        }                                                                                 \
        for (npy_intp k = 0; k < w->n; k++) {                                             \
            const char *at = w->unis->data + (k * w->rows + row) * w->unis->strides[0];   \
            const double u = w->unis->typenum == NPY_FLOAT ? *(const float *)at : *(const double *)at; \
            const npy_intp j = first_##S(sums, w->cols, u);                               \
            if (w->params->count) {                                                       \
                result[j < 0 ? most_##S(sums, w->cols) : j]++;                            \
                continue;                                                                 \
            }                                                                             \
            result[k] = j;                                                                \
            if (w->params->replace || j < 0) {                                            \
                continue;                                                                 \
            }                                                                             \
            T rest = 0;                                                                   \
            p[j] = 0;                                                                     \
            for (npy_intp i = 0; i < w->cols; i++) {                                      \
                rest += p[i];                                                             \
            }                                                                             \
            sum = 0;                                                                      \
            for (npy_intp i = 0; i < w->cols; i++) {                                      \
                p[i] = rest != 0 ? p[i] / rest : 0;                                       \
                sums[i] = sum = i ? sum + p[i] : p[i];                                    \
            }                                                                             \
        }                                                                                 \
    }

DEFINE_PICK(f4, float)
DEFINE_PICK(f8, double)

static int pick_rows(void *ctx, npy_intp start, npy_intp stop)
{
    const Picking *w = ctx;
    const npy_intp width = w->out->dims[1];
    THN_POOLED int64_t *result = thn_pool_alloc(((size_t)width + 2 * (size_t)w->cols) * sizeof *result);
    const ThnInner store = thn_cast_inner(w->out->typenum, NPY_INT64);
    THN_NEED(result);
    for (npy_intp row = start; row < stop; row++) {
        memset(result, 0, (size_t)width * sizeof *result);
        (w->p->typenum == NPY_FLOAT ? pick_f4 : pick_f8)(w, row, result, (char *)(result + width));
        store(width, w->out->data + row * w->out->strides[0], w->out->strides[1], (const char *)result, 8);
    }
    return 0;
}

static int pick_columns_execute(ThnFrame *f, const ThnInstr *ins)
{
    Picking w = {.params = ins->data, .p = THN_IN(f, ins, 0), .unis = THN_IN(f, ins, 1), .out = THN_OUT(f, ins, 0)};
    w.rows = w.p->dims[0];
    w.cols = w.p->dims[1];
    w.n = (npy_intp)thn_scalar_int(THN_IN(f, ins, 2));
    if (!w.rows || !w.out->dims[1]) {
        return 0;
    }
    const double each = work_of_row(w.params, w.cols, w.n);
    THN_FAIL_IF(f, thn_parallel_ranges(w.rows, (npy_intp)(ROWS_WORK / each) + 1, pick_rows, &w) < 0, PyExc_MemoryError,
                "out of memory for rows of probabilities");
    return 0;
}

THN_INSTRUCTION(pick_columns, NULL, pick_columns_prepare, pick_columns_execute)
