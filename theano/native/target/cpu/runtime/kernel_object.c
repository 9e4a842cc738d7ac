/* Generated kernels as Python objects and as the instruction "kernel"; the Python side of launch.c (API in launch.h). */
#include "vm.h"
#include "plan.h"

#include <structmember.h>
#if defined(_WIN32)
#include <windows.h>
#define OPEN(path) ((void *)LoadLibraryA(path))
#define WHY_NOT() "Windows refused it"
#define SYMBOL(handle, name) ((const void *)GetProcAddress((HMODULE)(handle), name))
#define CLOSE(handle) FreeLibrary((HMODULE)(handle))
#else
#include <dlfcn.h>
#define OPEN(path) dlopen(path, RTLD_NOW | RTLD_LOCAL)
#define WHY_NOT() dlerror()
#define SYMBOL(handle, name) dlsym(handle, name)
#define CLOSE(handle) dlclose(handle)
#endif

typedef struct KernelObject {
    PyObject_HEAD
    ThnKernel k;
    PyObject *symbol, *library;
} KernelObject;

static PyTypeObject *KernelType;

/* ---- libraries */

#define LIBRARY "theano.library"

static void close_library(PyObject *capsule)
{
    CLOSE(PyCapsule_GetPointer(capsule, LIBRARY));
}

static PyObject *load_library(PyObject *Py_UNUSED(self), PyObject *arg)
{
    THN_OWNED PyObject *bytes = NULL;
    THN_NULL_UNLESS(PyUnicode_FSConverter(arg, &bytes));
    void *handle = OPEN(PyBytes_AS_STRING(bytes));
    const char *why = handle ? NULL : WHY_NOT();
    THN_NULL_IF(!handle, PyExc_OSError, "cannot load %R: %s", arg, why ? why : "unknown error");
    return PyCapsule_New(handle, LIBRARY, close_library);
}

/* ---- the Kernel type */

static int parse_in(PyObject *spec, ThnKernelIn *in, int ndim)
{
    PyObject *axes, *bcast;
    ThnInts along;
    THN_NEED(PyArg_ParseTuple(spec, "iiOO!", &in->typenum, &in->rank, &axes, &PyTuple_Type, &bcast));
    in->itemsize = thn_itemsize(in->typenum);
    THN_TRY(in->itemsize);
    THN_RAISE_IF(thn_parse_tuple(axes, &along, -1, in->rank - 1) <= 0 || along.n != ndim || PyTuple_GET_SIZE(bcast) != ndim,
                 PyExc_ValueError, "Kernel: one axis and one flag for each iteration dim");
    for (int d = 0; d < ndim; d++) {
        const int flag = PyObject_IsTrue(PyTuple_GET_ITEM(bcast, d));
        THN_TRY(flag);
        THN_RAISE_IF(along.at[d] < 0 && !flag, PyExc_ValueError, "Kernel: bad axis");
        in->axes[d] = (int8_t)along.at[d];
        in->bcast |= (uint32_t)flag << d;
    }
    return 0;
}

static int parse_out(PyObject *spec, ThnKernelOut *out, const ThnKernel *k)
{
    PyObject *dims;
    ThnInts of_axes;
    THN_NEED(PyArg_ParseTuple(spec, "iOi", &out->typenum, &dims, &out->alias));
    out->itemsize = thn_itemsize(out->typenum);
    out->full = k->n_inner == 0;
    THN_TRY(out->itemsize);
    THN_RAISE_IF(thn_parse_tuple(dims, &of_axes, -1, k->n_outer + k->n_inner - 1) <= 0 || out->alias >= k->nin, PyExc_ValueError,
                 "Kernel: bad output");
    out->rank = of_axes.n;
    for (int a = 0; a < out->rank; a++) {
        out->dims[a] = (int8_t)of_axes.at[a];
        out->full |= of_axes.at[a] >= k->n_outer;
    }
    return 0;
}

static PyObject *kernel_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwds))
{
    PyObject *library, *inputs, *outputs, *symbol;
    int n_outer, n_inner, nonempty, ordered;
    double cost;
    THN_NULL_UNLESS(PyArg_ParseTuple(args, "OUiiO!O!ppd", &library, &symbol, &n_outer, &n_inner, &PyTuple_Type, &inputs, &PyTuple_Type,
                    &outputs, &nonempty, &ordered, &cost));
    const Py_ssize_t nin = PyTuple_GET_SIZE(inputs), nout = PyTuple_GET_SIZE(outputs);
    THN_NULL_IF(n_outer < 0 || n_inner < 0 || n_outer + n_inner > THN_KMAXDIM || nin + nout > THN_KMAXOPS, PyExc_ValueError,
                "Kernel: too many dims or operands");
    void *handle = PyCapsule_GetPointer(library, LIBRARY);
    const char *name = handle ? PyUnicode_AsUTF8(symbol) : NULL;
    THN_NULL_UNLESS(name);
    const ThnKernelTable *table = SYMBOL(handle, name);
    THN_NULL_IF(!table || table->abi != THN_KERNEL_ABI, PyExc_OSError, "the library has no kernel %U of this version", symbol);
    KernelObject *self = (KernelObject *)type->tp_alloc(type, 0);
    THN_NULL_UNLESS(self);
    ThnKernel *k = &self->k;
    self->symbol = Py_NewRef(symbol);
    self->library = Py_NewRef(library);
    *k = (ThnKernel){table, n_outer, n_inner, (int)nin, (int)nout, nonempty, ordered, cost,
                     thn_alloc(((size_t)nin + 1) * sizeof(ThnKernelIn)), thn_alloc(((size_t)nout + 1) * sizeof(ThnKernelOut))};
    int r = k->in && k->out ? 0 : -1;
    for (Py_ssize_t i = 0; i < nin && r == 0; i++) {
        r = parse_in(PyTuple_GET_ITEM(inputs, i), &k->in[i], n_outer + n_inner);
    }
    for (Py_ssize_t o = 0; o < nout && r == 0; o++) {
        r = parse_out(PyTuple_GET_ITEM(outputs, o), &k->out[o], k);
    }
    if (r < 0) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static void kernel_dealloc(KernelObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    thn_free(self->k.in);
    thn_free(self->k.out);
    Py_XDECREF(self->symbol);
    Py_XDECREF(self->library);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *kernel_repr(KernelObject *self)
{
    return PyUnicode_FromFormat("<Kernel %U, %d inputs, %d outputs>", self->symbol, self->k.nin, self->k.nout);
}

static PyMemberDef kernel_members[] = {
    {"symbol", T_OBJECT, offsetof(KernelObject, symbol), READONLY, "Name of the kernel's table in its library."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot kernel_slots[] = {
    {Py_tp_new, kernel_new},
    {Py_tp_dealloc, kernel_dealloc},
    {Py_tp_repr, kernel_repr},
    {Py_tp_members, kernel_members},
    {Py_tp_doc, "Kernel(library, symbol, n_outer, n_inner, inputs, outputs, nonempty, ordered, cost)\n--\n\n"
                "A compiled kernel."},
    {0, NULL},
};

/* ---- the instructions */

const ThnKernel *thn_kernel_of(PyObject *o)
{
    THN_NULL_IF(!PyObject_TypeCheck(o, KernelType), PyExc_TypeError, "kernel: the first of the params is a Kernel");
    return &((KernelObject *)o)->k;
}

static int op_check(ThnProgram *Py_UNUSED(p), ThnInstr *ins)
{
    const ThnKernel *k = ((const thn_kernel_params *)ins->data)->kernel;
    THN_RAISE_IF(ins->nin != k->nin || ins->nout != k->nout, PyExc_ValueError, "kernel: %d inputs and %d outputs are needed", k->nin,
                 k->nout);
    return 0;
}

int thn_kernel_outputs(ThnFrame *f, const ThnInstr *ins, const ThnKernel *k, const ThnArg *in, const npy_intp *shape)
{
    npy_intp dims[THN_KMAXDIM], strides[THN_KMAXDIM];
    for (int o = 0; o < k->nout; o++) {
        ThnCell *c = THN_OUT(f, ins, o);
        THN_FAIL_IF(f, c->typenum != k->out[o].typenum || c->ndim != k->out[o].rank, PyExc_TypeError,
                    "kernel: output %d has another dtype or rank", o);
        if (k->out[o].alias >= 0) {
            THN_TRY(thn_out_alias(f, c, THN_IN(f, ins, k->out[o].alias)));
            continue;
        }
        thn_kernel_out_dims(k, o, shape, dims);
        THN_TRY(thn_out_alloc_strided(f, c, dims, thn_kernel_out_order(k, o, in, shape, strides) ? strides : NULL));
    }
    return 0;
}

static int plan_kernel(ThnFrame *f, const ThnInstr *ins, const ThnKernel *k, ThnPlan *plan)
{
    ThnArg in[THN_KMAXOPS], out[THN_KMAXOPS];
    npy_intp shape[THN_KMAXDIM];
    char err[256];
    for (int i = 0; i < k->nin; i++) {
        const ThnCell *c = THN_IN(f, ins, i);
        THN_FAIL_IF(f, c->typenum != k->in[i].typenum || c->ndim != k->in[i].rank, PyExc_TypeError,
                    "kernel: input %d has another dtype or rank", i);
        in[i] = (ThnArg){c->data, c->dims, c->strides};
    }
    THN_FAIL_IF(f, thn_kernel_shape(k, in, shape, err, sizeof err) < 0, PyExc_ValueError, "%s", err);
    THN_TRY(thn_kernel_outputs(f, ins, k, in, shape));
    for (int o = 0; o < k->nout; o++) {
        const ThnCell *c = THN_OUT(f, ins, o);
        out[o] = (ThnArg){c->data, c->dims, c->strides};
    }
    f->work = thn_plan(k, in, out, shape, plan);
    return 0;
}

/* Writes down for which dims and strides a plan is, which lie one behind the other in cells. */
static void keep_layout(ThnFrame *f, const ThnInstr *ins, ThnPlan *plan)
{
    npy_intp *layout = plan->layout;
    plan->made = 1;
    for (int i = 0; i < ins->nin + ins->nout; i++) {
        const ThnCell *c = i < ins->nin ? THN_IN(f, ins, i) : THN_OUT(f, ins, i - ins->nin);
        plan->made &= !(c->flags & THN_CELL_DEST);
        memcpy(layout, c->dims, 2 * (size_t)c->ndim * sizeof(npy_intp));
        layout += 2 * c->ndim;
    }
}

/* Whether the plan was made for arrays of these dims and strides: then it only needs addresses. */
static int has_layout(ThnFrame *f, const ThnInstr *ins, const ThnPlan *plan)
{
    const npy_intp *layout = plan->layout;
    for (int i = 0; i < ins->nin; i++) {
        const ThnCell *c = THN_IN(f, ins, i);
        for (int a = 0; a < 2 * c->ndim; a++) {
            if (layout[a] != c->dims[a]) {
                return 0;
            }
        }
        layout += 2 * c->ndim;
    }
    for (int o = 0; o < ins->nout; o++) {
        if (THN_OUT(f, ins, o)->flags & THN_CELL_DEST) {
            return 0;
        }
    }
    return 1;
}

static int plan_again(ThnFrame *f, const ThnInstr *ins, const ThnKernel *k, ThnPlan *plan)
{
    const npy_intp *layout = plan->layout;
    for (int i = 0; i < k->nin; i++) {
        const ThnCell *c = THN_IN(f, ins, i);
        plan->ptr[i] = c->data;
        layout += 2 * c->ndim;
    }
    for (int o = 0; o < k->nout; o++) {
        ThnCell *c = THN_OUT(f, ins, o);
        THN_TRY(k->out[o].alias >= 0 ? thn_out_alias(f, c, THN_IN(f, ins, k->out[o].alias))
                                     : thn_out_alloc_strided(f, c, layout, layout + c->ndim));
        plan->ptr[k->nin + o] = c->data;
        layout += 2 * c->ndim;
    }
    f->work = plan->work;
    return 0;
}

static int op_prepare(ThnFrame *f, const ThnInstr *ins)
{
    const ThnKernel *k = ((const thn_kernel_params *)ins->data)->kernel;
    ThnPlan *plan = f->scratch[ins->index].ptr;
    if (plan && plan->made && has_layout(f, ins, plan)) {
        return plan_again(f, ins, k, plan);
    }
    THN_NEED(plan || (plan = thn_scratch(f, ins, thn_plan_size(k))));
    plan->made = 0;
    THN_TRY(plan_kernel(f, ins, k, plan));
    keep_layout(f, ins, plan);
    return 0;
}

static int op_execute(ThnFrame *f, const ThnInstr *ins)
{
    THN_FAIL_IF(f, thn_plan_run(f->scratch[ins->index].ptr) < 0, PyExc_MemoryError, "no memory for a kernel's buffers");
    return 0;
}

THN_INSTRUCTION(kernel, op_check, op_prepare, op_execute)

/* ---- module functions */

static PyObject *set_threads(PyObject *Py_UNUSED(self), PyObject *arg)
{
    const long n = PyLong_AsLong(arg);
    THN_NULL_UNLESS(n != -1 || !PyErr_Occurred());
    thn_set_threads((int)(n > 1024 ? 1024 : n));
    Py_RETURN_NONE;
}

static PyObject *get_threads(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(unused))
{
    return PyLong_FromLong(thn_get_threads());
}

#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
#include <cpuid.h>

/* Reading /proc/cpuinfo takes milliseconds: the kernel measures frequencies for it. */
static PyObject *cpu_info(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(unused))
{
    static const unsigned leaves[8][2] = {{0}, {1}, {7}, {7, 1}, {0x80000001u}, {0x80000002u}, {0x80000003u}, {0x80000004u}};
    unsigned r[9][4] = {{0}};
    for (int i = 0; i < 8; i++) {
        __get_cpuid_count(leaves[i][0], leaves[i][1], &r[i][0], &r[i][1], &r[i][2], &r[i][3]);
    }
    r[1][1] = 0; /* holds the number of the core that asks */
    __builtin_cpu_init();
    const int fma = __builtin_cpu_supports("fma") != 0, avx2 = __builtin_cpu_supports("avx2") != 0;
    const int avx512 = __builtin_cpu_supports("avx512f") != 0;
    r[8][0] = (unsigned)(fma | avx2 << 1 | avx512 << 2); /* what the system lets programs use */
    char brand[49] = {0};
    memcpy(brand, r[5], 48);
    PyObject *bytes = PyBytes_FromStringAndSize((const char *)r, sizeof r);
    return bytes ? Py_BuildValue("(sNOOO)", brand, bytes, fma ? Py_True : Py_False, avx2 ? Py_True : Py_False,
                                 avx512 ? Py_True : Py_False)
                 : NULL;
}
#else
static PyObject *cpu_info(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(unused))
{
    Py_RETURN_NONE;
}
#endif

static PyMethodDef functions[] = {
    {"cpu_info", cpu_info, METH_NOARGS,
     "cpu_info()\n--\n\nName of the CPU, bytes that tell it from others, and whether it has FMA, AVX2 and AVX-512; or None."},
    {"load_library", load_library, METH_O,
     "load_library(path)\n--\n\nLoad a shared library; return what keeps it, as its kernels do."},
    {"set_threads", set_threads, METH_O, "set_threads(n)\n--\n\nNumber of threads that loops of kernels use together."},
    {"get_threads", get_threads, METH_NOARGS, "get_threads()\n--\n\nNumber of threads that loops of kernels use together."},
    {NULL, NULL, 0, NULL},
};

int thn_launch_init(PyObject *module)
{
    THN_TRY(PyModule_AddFunctions(module, functions));
    return THN_ADD_TYPE(module, "Kernel", KernelObject, 0, kernel_slots, &KernelType);
}
