/* Instructions: convolutions and their gradients; the work is done behind conv.h. */
#include "vm.h"
#include "conv.h"
#include "copy.h"
#include "pool.h"

/* The three have the same fields. */
typedef thn_conv_forward_params Params;

enum { IMAGES, FILTERS, TOP };

typedef struct {
    ThnConvPlan plan;
    int copied[3];       /* an operand whose rows are not contiguous, or of half precision, goes through a buffer */
    npy_intp first_tap;  /* bytes to the one with which the plan begins: flipped filters begin with their last */
} State;

/* Which operand each direction reads first and second, and makes. */
static const int operands[][3] = {{IMAGES, FILTERS, TOP}, {IMAGES, TOP, FILTERS}, {FILTERS, TOP, IMAGES}};

static int direction_of(const ThnInstr *ins)
{
    return ins->def->code == THN_OP_conv_forward   ? THN_CONV_FORWARD
           : ins->def->code == THN_OP_conv_weights ? THN_CONV_WEIGHTS
                                                   : THN_CONV_INPUTS;
}

static int conv_check(ThnProgram *p, ThnInstr *ins)
{
    const Params *params = ins->data;
    const int nd = params->strides.n, direction = direction_of(ins), typenum = p->cells[ins->outs[0]].typenum;
    int ok = nd >= 1 && nd <= THN_CONV_DIMS && params->dilation.n == nd && params->groups >= 1;
    ok = ok && (params->border != THN_ConvBorder_EXPLICIT || params->padding.n == 2 * nd);
    ok = ok && (typenum == NPY_HALF || typenum == NPY_FLOAT || typenum == NPY_DOUBLE);
    /* Lengths of the result: one number each, a vector, or none. */
    const int vector = ins->nin == 3 && p->cells[ins->ins[2]].ndim == 1;
    ok = ok && (ins->nin == 2 || (direction != THN_CONV_FORWARD && (ins->nin == 2 + nd || vector)));
    for (int i = 0; ok && i < nd; i++) {
        ok = params->strides.at[i] >= 1 && params->dilation.at[i] >= 1;
    }
    for (int k = 0; ok && k < 3; k++) {
        const ThnCellSpec *cell = &p->cells[k < 2 ? ins->ins[k] : ins->outs[0]];
        const int ndim = operands[direction][k] == FILTERS && params->unshared ? 2 + 2 * nd : 2 + nd;
        ok = cell->typenum == typenum && cell->ndim == ndim;
    }
    return thn_fits(ins, ok);
}

/* The length of the result along a spatial dim, where the other two leave it open no more than strides of 1 do. */
static npy_intp infer(const Params *params, int direction, int i, npy_intp other, npy_intp top)
{
    const npy_intp pads = params->border == THN_ConvBorder_EXPLICIT ? params->padding.at[2 * i] + params->padding.at[2 * i + 1] : 0;
    const npy_intp d = params->dilation.at[i], full = params->border == THN_ConvBorder_FULL;
    if (direction == THN_CONV_WEIGHTS) {
        const npy_intp reach = full ? top - other + 1 : other + pads - top + 1;
        return reach < 1 ? 0 : (reach - 1) / d + 1;
    }
    const npy_intp reach = (other - 1) * d + 1;
    return full ? top - reach + 1 : top + reach - 1 - (params->border == THN_ConvBorder_HALF ? reach / 2 * 2 : pads);
}

/* What `describe` refuses, with the shapes that it was given. */
#define REFUSE_IF(condition, text, ...)                                                                                     \
    THN_FAIL_IF(f, condition, PyExc_ValueError, "%s: " text " (images of shape %s, filters of shape %s)", thn_name_of(ins), \
                __VA_ARGS__, THN_SHAPE(nd + 2, images), THN_SHAPE(filters_nd, filters))

/* Fills in what the params and the three shapes say; that of the output is completed. */
static int describe(ThnFrame *f, const ThnInstr *ins, ThnConv *c, npy_intp *images, npy_intp *filters, npy_intp *top)
{
    const Params *params = ins->data;
    const int nd = params->strides.n, direction = c->direction, lead = THN_CONV_DIMS - nd;
    const int filters_nd = params->unshared ? 2 + 2 * nd : 2 + nd, channel_axis = filters_nd - nd - 1;
    c->groups = params->groups;
    c->unshared = params->unshared;
    if (direction == THN_CONV_INPUTS) {
        images[0] = top[0];
        images[1] = filters[channel_axis] * c->groups;
    } else if (direction == THN_CONV_WEIGHTS) {
        filters[0] = top[1];
        filters[channel_axis] = images[1] / c->groups;
        for (int i = 0; params->unshared && i < nd; i++) {
            filters[1 + i] = top[2 + i];
        }
    }
    c->batch = images[0];
    c->channels = images[1] / c->groups;
    c->filters = filters[0] / c->groups;
    const long long channels = images[1], taken = filters[channel_axis], groups = c->groups;
    REFUSE_IF(channels % groups || filters[0] % groups, "%lld groups do not divide %lld channels and %lld filters", groups, channels,
              (long long)filters[0]);
    REFUSE_IF(channels != taken * groups && groups > 1, "images have %lld channels, filters take %lld in each of %lld groups", channels,
              taken, groups);
    REFUSE_IF(channels != taken * groups, "images have %lld channels, filters take %lld", channels, taken);
    for (int i = 0; i < THN_CONV_DIMS; i++) {
        c->image[i] = c->kernel[i] = c->top[i] = c->stride[i] = c->dilation[i] = 1;
    }
    npy_intp expected[2 + THN_CONV_DIMS] = {c->batch, filters[0]};
    int fits = 1;
    for (int i = 0; i < nd; i++) {
        const int k = lead + i;
        const npy_intp length = images[2 + i], taps = filters[filters_nd - nd + i];
        const npy_intp stride = params->strides.at[i], dilation = params->dilation.at[i], reach = (taps - 1) * dilation + 1;
        const int given = params->border == THN_ConvBorder_EXPLICIT;
        const npy_intp around = reach <= 0 ? 0 : params->border == THN_ConvBorder_HALF ? reach / 2 : reach - 1;
        const npy_intp low = given ? params->padding.at[2 * i] : around, high = given ? params->padding.at[2 * i + 1] : around;
        const npy_intp room = length + low + high - reach;
        expected[2 + i] = (room >= 0 ? room / stride : -((-room + stride - 1) / stride)) + 1;
        c->image[k] = length;
        c->kernel[k] = taps;
        c->stride[k] = stride;
        c->dilation[k] = dilation;
        c->low[k] = low;
        c->top[k] = expected[2 + i];
        fits = fits && expected[2 + i] > 0 && length > 0 && taps > 0;
    }
    REFUSE_IF(!fits, "the filters do not fit into the images, the output would have the shape %s", THN_SHAPE(nd + 2, expected));
    if (direction == THN_CONV_FORWARD) {
        memcpy(top, expected, sizeof *top * (size_t)(nd + 2));
    }
    REFUSE_IF(!PyArray_CompareLists(top, expected, nd + 2), "the gradient of the output%s has shape %s, expected %s",
              direction == THN_CONV_INPUTS ? " (or the images of a transposed convolution)" : "", THN_SHAPE(nd + 2, top),
              THN_SHAPE(nd + 2, expected));
    REFUSE_IF(params->unshared && !PyArray_CompareLists(filters + 1, expected + 2, nd),
              "unshared filters for other positions than those of the output, whose shape is %s", THN_SHAPE(nd + 2, expected));
    return 0;
}

/* Strides of an operand, from those of its cell or, where it is copied, of a dense array. */
static void lay_out(const ThnInstr *ins, State *s, ThnConv *c, int operand, const ThnCell *cell)
{
    const Params *params = ins->data;
    const int nd = params->strides.n, lead = THN_CONV_DIMS - nd;
    npy_intp dense[2 + 2 * THN_CONV_DIMS];
    const npy_intp *strides = cell->strides;
    const int has_gaps = operand != FILTERS && cell->dims[nd + 1] > 1 && strides[nd + 1] != c->item;
    s->copied[operand] = cell->itemsize != c->item || has_gaps;
    if (s->copied[operand]) {
        thn_dense_strides(cell->ndim, cell->dims, c->item, dense);
        strides = dense;
    }
    npy_intp *to = operand == IMAGES ? c->image_strides : operand == FILTERS ? c->filter_strides : c->top_strides;
    const int gap = operand == FILTERS && c->unshared ? nd : 0;
    to[0] = strides[0];
    to[1] = strides[1 + gap];
    for (int i = 0; i < nd; i++) {
        to[2 + lead + i] = strides[2 + gap + i];
        if (gap) {
            c->place_strides[lead + i] = strides[1 + i];
        }
    }
    if (operand != FILTERS) {
        to[1 + THN_CONV_DIMS] = c->item;
        return;
    }
    to[2 + THN_CONV_DIMS] = c->filters * to[0];
    s->first_tap = 0;
    for (int i = 2; i < 2 + THN_CONV_DIMS && params->flip; i++) {
        s->first_tap += (c->kernel[i - 2] - 1) * to[i];
        to[i] = -to[i];
    }
}

/* The spatial lengths of the result of a gradient. */
static int result_lengths(ThnFrame *f, const ThnInstr *ins, npy_intp *to)
{
    const Params *params = ins->data;
    const int nd = params->strides.n;
    const ThnCell *top = THN_IN(f, ins, 1), *other = THN_IN(f, ins, 0), *given = ins->nin > 2 ? THN_IN(f, ins, 2) : NULL;
    THN_FAIL_IF(f, given && given->ndim == 1 && given->dims[0] != nd, PyExc_ValueError, "%s: %lld lengths were given for %d spatial dims",
                thn_name_of(ins), (long long)given->dims[0], nd);
    for (int i = 0; i < nd; i++) {
        to[i] = !given           ? infer(params, direction_of(ins), i, other->dims[other->ndim - nd + i], top->dims[2 + i])
                : given->ndim == 1 ? (npy_intp)thn_int_reader(given->typenum)(given->data + i * given->strides[0])
                                   : (npy_intp)thn_scalar_int(THN_IN(f, ins, 2 + i));
    }
    return 0;
}

static int conv_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const Params *params = ins->data;
    const int nd = params->strides.n, direction = direction_of(ins), *which = operands[direction];
    ThnCell *cells[3], *out = THN_OUT(f, ins, 0);
    npy_intp dims[3][2 + 2 * THN_CONV_DIMS];
    const int fresh = !f->scratch[ins->index].ptr;
    State *s = thn_scratch(f, ins, sizeof *s);
    THN_NEED(s);
    if (fresh) {
        memset(s, 0, sizeof *s);
    }
    cells[which[2]] = out;
    for (int k = 0; k < 2; k++) {
        ThnCell *in = cells[which[k]] = THN_IN(f, ins, k);
        memcpy(dims[which[k]], in->dims, sizeof(npy_intp) * (size_t)in->ndim);
    }
    THN_TRY(direction != THN_CONV_FORWARD ? result_lengths(f, ins, dims[which[2]] + out->ndim - nd) : 0);
    ThnConv c;
    memset(&c, 0, sizeof c);
    c.direction = direction;
    c.typenum = out->typenum == NPY_DOUBLE ? NPY_DOUBLE : NPY_FLOAT;
    c.item = c.typenum == NPY_DOUBLE ? 8 : 4;
    THN_TRY(describe(f, ins, &c, dims[IMAGES], dims[FILTERS], dims[TOP]));
    THN_TRY(thn_out_alloc(f, out, dims[which[2]]));
    for (int k = 0; k < 3; k++) {
        lay_out(ins, s, &c, k, cells[k]);
    }
    thn_conv_plan(&s->plan, &c);
    f->work = s->plan.cost + (double)thn_size(out);
    return 0;
}

static int conv_execute(ThnFrame *f, const ThnInstr *ins)
{
    const State *s = f->scratch[ins->index].ptr;
    const int *which = operands[s->plan.conv.direction], typenum = s->plan.conv.typenum, item = s->plan.conv.item;
    char *data[3], *held[3] = {NULL, NULL, NULL};
    npy_intp dense[2 + 2 * THN_CONV_DIMS];
    int failed = 0;
    for (int k = 0; k < 3; k++) {
        const ThnCell *cell = k < 2 ? THN_IN(f, ins, k) : THN_OUT(f, ins, 0);
        const int operand = which[k];
        data[operand] = cell->data;
        if (s->copied[operand]) {
            const npy_intp bytes = thn_dense_strides(cell->ndim, cell->dims, item, dense);
            data[operand] = held[operand] = thn_pool_alloc((size_t)bytes);
            failed |= !held[operand];
            if (k < 2 && held[operand]) {
                thn_loop2(cell->ndim, cell->dims, held[operand], dense, cell->data, cell->strides,
                          thn_cast_inner(typenum, cell->typenum));
            }
        }
    }
    failed = failed || thn_conv_execute(&s->plan, data[IMAGES], data[FILTERS] + s->first_tap, data[TOP]) < 0;
    const ThnCell *out = THN_OUT(f, ins, 0);
    if (!failed && s->copied[which[2]]) {
        thn_dense_strides(out->ndim, out->dims, item, dense);
        thn_loop2(out->ndim, out->dims, out->data, out->strides, held[which[2]], dense, thn_cast_inner(out->typenum, typenum));
    }
    for (int k = 0; k < 3; k++) {
        thn_pool_free(held[k]);
    }
    return failed ? thn_error(f, PyExc_MemoryError, "%s: out of memory", thn_name_of(ins)) : 0;
}

THN_INSTRUCTION(conv_forward, conv_check, conv_prepare, conv_execute)
THN_INSTRUCTION(conv_weights, conv_check, conv_prepare, conv_execute)
THN_INSTRUCTION(conv_inputs, conv_check, conv_prepare, conv_execute)

/* ---- for tests and measurements */

static PyObject *algorithms(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(unused))
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list && thn_conv_algorithms[i]; i++) {
        if (thn_append(list, PyUnicode_FromString(thn_conv_algorithms[i]->name)) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *prefer(PyObject *Py_UNUSED(self), PyObject *name)
{
    const ThnConvAlgorithm *const *a = thn_conv_algorithms;
    const char *wanted = name == Py_None ? NULL : PyUnicode_AsUTF8(name);
    THN_NULL_UNLESS(wanted || name == Py_None);
    while (wanted && *a && strcmp((*a)->name, wanted) != 0) {
        a++;
    }
    THN_NULL_IF(!*a, PyExc_ValueError, "there is no algorithm %R of convolutions", name);
    thn_conv_prefer(wanted ? *a : NULL);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"conv_algorithms", algorithms, METH_NOARGS, "conv_algorithms()\n--\n\nThe names of the algorithms of convolutions."},
    {"conv_prefer", prefer, METH_O,
     "conv_prefer(name)\n--\n\nLet convolutions use this algorithm where it fits; None: the one that should be quickest."},
    {NULL, NULL, 0, NULL},
};

int thn_conv_init(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
