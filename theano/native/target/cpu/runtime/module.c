/* The extension module theano.native._runtime. */
#define THN_IMPORT_ARRAY
#include "vm.h"
#include "collective.h"
#include "pool.h"
#include "threads.h"

int thn_cells_init(void);

static PyObject *pool_stats(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(unused))
{
    size_t retained, in_use, peak, limit;
    thn_pool_stats(&retained, &in_use, &peak, &limit);
    return Py_BuildValue("{s:n,s:n,s:n,s:n}", "retained", (Py_ssize_t)retained, "in_use", (Py_ssize_t)in_use, "peak",
                         (Py_ssize_t)peak, "limit", (Py_ssize_t)limit);
}

static PyObject *set_bytes(PyObject *arg, void (*set)(size_t))
{
    size_t n = PyLong_AsSize_t(arg);
    THN_NULL_UNLESS(n != (size_t)-1 || !PyErr_Occurred());
    set(n);
    Py_RETURN_NONE;
}

static PyObject *pool_set_limit(PyObject *Py_UNUSED(self), PyObject *arg)
{
    return set_bytes(arg, thn_pool_set_limit);
}

static PyObject *pool_set_memory(PyObject *Py_UNUSED(self), PyObject *arg)
{
    return set_bytes(arg, thn_pool_set_memory);
}

static PyObject *pool_trim(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(unused))
{
    thn_pool_trim();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"pool_stats", pool_stats, METH_NOARGS, "Bytes retained and in use by the memory pool, the most in use since the last trim, and the limit of what is\n"
     "retained."},
    {"pool_set_limit", pool_set_limit, METH_O, "Set how many bytes of freed blocks the pool retains."},
    {"pool_set_memory", pool_set_memory, METH_O, "Set how many bytes the process may use; the pool retains a quarter at most."},
    {"pool_trim", pool_trim, METH_NOARGS, "Return all retained blocks to the system."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "theano.native._runtime",
    .m_doc = "The virtual machine that runs compiled functions (see theano/native/target/cpu/runtime/vm.h).",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__runtime(void)
{
    import_array();
    thn_pool_init();
    thn_threads_init();
    thn_locks_init();
    PyObject *m = PyModule_Create(&definition);
    THN_NULL_UNLESS(m);
#ifdef Py_GIL_DISABLED
    /* Cells, programs and the pool's lists are guarded by the lock, which a free-threaded Python turns on when it reads this. */
    PyUnstable_Module_SetGIL(m, Py_MOD_GIL_USED);
#endif
    static int (*const inits[])(PyObject *) = {thn_instructions_init, thn_program_init, thn_fastcall_init, thn_blas_init,
                                               thn_lapack_init, thn_launch_init, thn_conv_init, thn_collective_init};
    int r = thn_cells_init();
    for (size_t i = 0; i < sizeof inits / sizeof *inits && r == 0; i++) {
        r = inits[i](m);
    }
    if (r < 0) {
        Py_CLEAR(m);
    }
    return m;
}
