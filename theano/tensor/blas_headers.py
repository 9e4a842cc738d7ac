"""BLAS for the C code of users' Ops: declarations under the names of Fortran, and the flags that go with them."""

from __future__ import annotations

import functools
import os
import shlex
import sys
from collections.abc import Sequence

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
    """Return the version of :func:`blas_header_text`, to be part of an Op's `c_code_cache_version`.

    See Also
    --------
    theano.tensor.nnet.corr.ldflags : Return parts of ``config.blas.ldflags``.

    Examples
    --------
    >>> version, with_library = blas_header_version()
    >>> with_library == bool(config.blas.ldflags)
    True
    """
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

    See Also
    --------
    theano.tensor.nnet.corr.blas_header_version : Return the version of `blas_header_text`, to be part of an Op's
        `c_code_cache_version`.

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


def cblas_header_text() -> str:
    """Return C code that declares routines of BLAS under the names of C, such as ``cblas_dgemm``, for ``c_support_code``.

    They are those of the libraries that ``config.blas.ldflags`` names.
    """
    kinds = {"i": "const int", "c": "const int", "T": "{number}*", "a": "const {number}"}
    lines = []
    for letter, number in (("s", "float"), ("d", "double")):
        for name, (result, arguments) in _C_ROUTINES.items():
            types = ", ".join(kinds[a].format(number=number) for a in arguments.split())
            lines.append(f"{number if result == 'R' else result} cblas_{letter}{name}({types});")
    text = "\n".join(lines)
    return (
        "#ifndef THEANO_CBLAS_HEADER\n#define THEANO_CBLAS_HEADER\n"
        "enum {CblasRowMajor = 101, CblasColMajor = 102, CblasNoTrans = 111, CblasTrans = 112, CblasConjTrans = 113};\n"
        f'extern "C" {{\n{text}\n}}\n#endif\n'
    )


#: As `_ROUTINES`: i an integer, c a constant of the order or of a transposition, a a number.
_C_ROUTINES = {
    "axpy": ("void", "i a T i T i"),
    "copy": ("void", "i T i T i"),
    "scal": ("void", "i a T i"),
    "swap": ("void", "i T i T i"),
    "dot": ("R", "i T i T i"),
    "nrm2": ("R", "i T i"),
    "asum": ("R", "i T i"),
    "gemv": ("void", "c c i i a T i T i a T i"),
    "ger": ("void", "c i i a T i T i T i"),
    "gemm": ("void", "c c c i i i a T i T i a T i"),
}


def mkl_threads_text() -> str:
    """Return C code that declares what sets and tells the number of threads of MKL."""
    functions = {
        "Set_Num_Threads_Local": "int {}(int)",
        "Set_Num_Threads": "void {}(int)",
        "Get_Max_Threads": "int {}(void)",
        "Domain_Set_Num_Threads": "int {}(int, int)",
        "Domain_Get_Max_Threads": "int {}(int)",
        "Set_Dynamic": "void {}(int)",
        "Get_Dynamic": "int {}(void)",
    }
    lines = [f"{form.format('MKL_' + name)};\n#define mkl_{name.lower()} MKL_{name}" for name, form in functions.items()]
    return 'extern "C" {\n' + "\n".join(lines) + "\n}\n"


def openblas_threads_text() -> str:
    """Return C code that declares what sets and tells the number of threads of OpenBLAS."""
    forms = ("void openblas_set_num_threads(int)", "void goto_set_num_threads(int)", "int openblas_get_num_threads(void)")
    return 'extern "C" {\n' + "\n".join(f"{form};" for form in forms) + "\n}\n"


_SDOT = """
    extern "C" float sdot_(int*, float*, int*, float*, int*);
    int main(int argc, char** argv)
    {
        int n = 5, step = 1;
        float x[5] = {0, 1, 2, 3, 4};
        float r = sdot_(&n, x, &step, x, &step);
        return r > 29.9f && r < 30.1f ? 0 : 1;
    }
    """


def try_blas_flag(flags: Sequence[str]) -> str:
    """Return flags as one text if a program that calls BLAS compiles and runs with them, else ''.

    Parameters
    ----------
    flags : sequence of str
        For the compiler: ``['-lblas']``, say.
    """
    from theano.gof.cmodule import GCC_compiler, std_lib_dirs

    code = _SDOT.replace("float", "double").replace("sdot_", "ddot_")
    done = GCC_compiler.try_compile_tmp(code, "try_blas_", [*flags, *(f"-L{d}" for d in std_lib_dirs())], try_run=True)
    return " ".join(flags) if done == (True, True) else ""


def default_blas_ldflags() -> str:
    """Return flags that link against a BLAS of this machine, '' where none is found.

    What NumPy says of its own build is tried first, then ``-lblas``. Nothing here needs them: where ``blas.ldflags`` is
    empty, the BLAS that SciPy brings is used.
    """
    import numpy as np

    # Where the compiler looks for libraries, programs do not look when they run.
    directories, names = [], []
    try:
        blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]  # type: ignore[call-arg, index]
        directories = [d for d in [blas.get("lib directory")] if d and os.path.isdir(d)]
        names = [blas["name"]] if blas.get("name") else []
    except (TypeError, KeyError):
        pass
    paths = [flag for d in directories for flag in (f"-L{d}", f"-Wl,-rpath,{d}")]
    for flags in ([*paths, *(f"-l{name}" for name in names)] if names else [], ["-lblas"], ["-lopenblas"]):
        found = try_blas_flag(flags) if flags else ""
        if found:
            if "mkl" in found:
                check_mkl_openmp()
            return found
    return ""


def check_mkl_openmp() -> None:
    """Check that MKL of 2018 does not run beside another OpenMP than its own, which gives wrong results.

    Raises
    ------
    RuntimeError
        If it may, unless the flag ``blas.check_openmp`` is off or MKL_THREADING_LAYER is GNU.
    """
    if not config.blas.check_openmp or sys.platform == "darwin" or os.environ.get("MKL_THREADING_LAYER") == "GNU":
        return
    advice = "set MKL_THREADING_LAYER=GNU in the environment, or the flag blas.check_openmp to False if you know that it is not"
    try:
        import mkl  # type: ignore[import-not-found]
    except ImportError:
        raise RuntimeError(f"MKL may be one of 2018, which must not run beside another OpenMP: {advice}.") from None
    if "2018" in mkl.get_version_string():
        raise RuntimeError(f"MKL of 2018 must not run beside another OpenMP: {advice}.")


@functools.cache
def check_init_y() -> bool:
    """Return whether ``gemv`` with ``beta=0`` reads what it is to overwrite, as some BLAS do: a NaN there stays one."""
    import numpy as np
    from scipy.linalg.blas import dgemv

    return bool(np.isnan(dgemv(1.0, np.ones((2, 2)), np.ones(2), 0.0, np.full(2, np.nan))).any())


def detect_macos_sdot_bug() -> bool:
    """Return whether the BLAS of ``config.blas.ldflags`` gives wrong dot products of float32, as one of macOS does.

    Its attributes then say more: ``tested``, ``present``, and ``fix_works``, whether ``cblas_sdot`` gives right ones.
    """
    from theano.gof.cmodule import GCC_compiler

    this = detect_macos_sdot_bug
    if not this.tested:
        this.tested = True
        if sys.platform == "darwin" and config.blas.ldflags:
            flags = shlex.split(config.blas.ldflags)
            this.present = GCC_compiler.try_compile_tmp(_SDOT, "sdot_", flags, try_run=True) != (True, True)
            if this.present:
                fixed = _SDOT.replace(
                    'extern "C" float sdot_(int*, float*, int*, float*, int*);',
                    'extern "C" float cblas_sdot(int, float*, int, float*, int);\n'
                    "static float sdot_(int* n, float* x, int* i, float* y, int* j) { return cblas_sdot(*n, x, *i, y, *j); }",
                )
                this.fix_works = GCC_compiler.try_compile_tmp(fixed, "sdot_", flags, try_run=True) == (True, True)
    return this.present


detect_macos_sdot_bug.tested = detect_macos_sdot_bug.present = detect_macos_sdot_bug.fix_works = False
