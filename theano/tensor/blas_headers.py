"""BLAS for the C code of users' Ops: declarations under the names of Fortran, and the flags that go with them."""

from __future__ import annotations

import shlex

from theano.configdefaults import config

#: Arguments of the routines: i a pointer to an integer, c one to a character, T one to a number; R what is returned.
_ROUTINES = {
    "axpy": ("void", "i T T i T i"),
    "copy": ("void", "i T i T i"),
    "scal": ("void", "i T T i"),
    "swap": ("void", "i T i T i"),
    "dot": ("R", "i T i T i"),
    "nrm2": ("R", "i T i"),
    "asum": ("R", "i T i"),
    "gemv": ("void", "c i i T T i T i T T i"),
    "symv": ("void", "c i T T i T i T T i"),
    "trmv": ("void", "c c c i T i T i"),
    "trsv": ("void", "c c c i T i T i"),
    "ger": ("void", "i i T T i T i T i"),
    "syr": ("void", "c i T T i T i"),
    "gemm": ("void", "c c i i i T T i T i T T i"),
    "symm": ("void", "c c i i T T i T i T T i"),
    "syrk": ("void", "c c i i T T i T T i"),
    "trmm": ("void", "c c c c i i T T i T i"),
    "trsm": ("void", "c c c c i i T T i T i"),
}
#: Those that complex numbers have under the same name.
_COMPLEX = ("axpy", "copy", "scal", "swap", "gemv", "gemm", "symm", "syrk", "trmm", "trsm")
_TYPES = {"s": "float", "d": "double", "c": "void", "z": "void"}

_LOOKUP = """
/* The routines of the BLAS that came with SciPy, looked up when the module is loaded. */
static void* theano_blas_routine(const char* name) {
    PyObject* module = PyImport_ImportModule("scipy.linalg.cython_blas");
    PyObject* table = module ? PyObject_GetAttrString(module, "__pyx_capi__") : NULL;
    PyObject* capsule = table ? PyDict_GetItemString(table, name) : NULL;
    void* found = capsule ? PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)) : NULL;
    Py_XDECREF(table);
    Py_XDECREF(module);
    if (found == NULL) PyErr_Clear();
    return found;
}
"""


def blas_header_version() -> tuple[int, ...]:
    """Return the version of :func:`blas_header_text`, to be part of an Op's `c_code_cache_version`."""
    return (1, bool(config.blas.ldflags))


def blas_header_text() -> str:
    """Return C code for `c_support_code` that declares routines of BLAS, such as ``dgemm_``.

    Arguments are pointers, matrices are in the order of Fortran, and complex numbers come as ``void*``. Where
    ``config.blas.ldflags`` is set, the routines are those of its libraries, which :func:`ldflags` names. Otherwise they are
    those that SciPy brings, and nothing has to be linked against.

    Examples
    --------
    >>> 'dgemm_' in blas_header_text()
    True
    """
    own = bool(config.blas.ldflags)
    lines = []
    for letter, number in _TYPES.items():
        for name in _ROUTINES if letter in "sd" else _COMPLEX:
            result, arguments = _ROUTINES[name]
            kinds = {"i": "const int*", "c": "const char*", "T": f"{number}*"}
            types = ", ".join(kinds[a] for a in arguments.split())
            returned = number if result == "R" else result
            if own:
                lines.append(f"{returned} {letter}{name}_({types});")
            else:
                pointer = f"theano_blas_{letter}{name}"
                lines.append(f"static {returned} (*{pointer})({types}) =")
                lines.append(f'    ({returned} (*)({types}))theano_blas_routine("{letter}{name}");')
                lines.append(f"#define {letter}{name}_ (*{pointer})")
    text = "\n".join(lines)
    guarded = f'extern "C" {{\n{text}\n}}' if own else _LOOKUP + text
    return f"#ifndef THEANO_BLAS_HEADER\n#define THEANO_BLAS_HEADER\n{guarded}\n#endif\n"


def ldflags(libs: bool = True, flags: bool = False, libs_dir: bool = False, include_dir: bool = False) -> list[str]:
    """Return parts of ``config.blas.ldflags``.

    Parameters
    ----------
    libs : bool
        The names of libraries: what follows ``-l``.
    flags : bool
        The other flags.
    libs_dir : bool
        The folders of libraries: what follows ``-L``.
    include_dir : bool
        The folders of headers: what follows ``-I``.

    Returns
    -------
    list of str
        Empty where the flag is not set: :func:`blas_header_text` then needs no library.

    Examples
    --------
    >>> import theano
    >>> with theano.configparser.change_flags({'blas.ldflags': '-L/opt/lib -lblas -fopenmp'}):
    ...     ldflags(), ldflags(libs=False, libs_dir=True), ldflags(libs=False, flags=True)
    (['blas'], ['/opt/lib'], ['-fopenmp'])
    """
    wanted = {"-l": libs, "-L": libs_dir, "-I": include_dir}
    found = []
    for word in shlex.split(config.blas.ldflags or ""):
        if word[:2] in wanted:
            if wanted[word[:2]]:
                found.append(word[2:])
        elif flags:
            found.append(word)
    return found
