"""The table of all flags of Theano.

Each entry is the flag's name, what it does, and the parameter that holds its default and its check.  Flags of
technology that is gone keep their names, so that old configuration files go on working; what they say is that they
have no effect.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Any

import numpy as np

from theano.configcuda import (  # noqa: F401
    SUPPORTED_DNN_CONV_ALGO_BWD_DATA,
    SUPPORTED_DNN_CONV_ALGO_BWD_FILTER,
    SUPPORTED_DNN_CONV_ALGO_FWD,
    SUPPORTED_DNN_CONV_ALGO_RUNTIME,
    SUPPORTED_DNN_CONV_PRECISION,
    add_gpu_libraries,
    default_cuda_include,
    default_dnn_base_path,
    default_dnn_bin_path,
    default_dnn_inc_path,
    default_dnn_lib_path,
    deprecated_gpuarray_sync,
    get_cuda_root,
    safe_no_dnn_algo_bwd,
    safe_no_dnn_workmem,
    safe_no_dnn_workmem_bwd,
)
from theano.configparser import (
    AddConfigVar,
    BoolParam,
    ConfigParam,
    ContextsParam,
    DeviceParam,
    EnumStr,
    FloatParam,
    IntParam,
    StrParam,
    TheanoConfigWarning,
    config,
    unknown_flags,
)
from theano.version import __version__

NO_EFFECT = "This flag has no effect: "
#: Whether Ops with OpenMP code use it by default.
default_openmp = False


def _positive(i: float) -> bool:
    return i > 0


def _not_negative(i: int) -> bool:
    return i >= 0


def short_platform() -> str:
    """Return the platform without the details of its release that change with every update.

    Examples
    --------
    >>> isinstance(short_platform(), str)
    True
    """
    import platform

    release = platform.release()
    digits = release.split("-")[0]
    text = platform.platform()
    return text.replace(release, ".".join(digits.split(".")[:2])).replace(" ", "_")


class _CompiledirWords(dict):
    """The keys of compiledir_format, each computed when it is used: some of them are slow to find out.

    Examples
    --------
    >>> "in %(device)s-%(theano_version)s" % compiledir_format_dict
    'in cpu-...'
    """

    keys_ = (
        "platform",
        "processor",
        "python_version",
        "python_bitwidth",
        "python_int_bitwidth",
        "theano_version",
        "numpy_version",
        "gxx_version",
        "hostname",
        "device",
        "short_platform",
    )

    def __missing__(self, key: str) -> str:
        import platform

        if key == "platform":
            # platform.platform() runs a process to find a processor that it does not show.
            words = (platform.system(), platform.release(), platform.machine())
            return "-".join(w for w in words if w)
        if key == "short_platform":
            return short_platform()
        if key == "processor":
            return platform.machine()
        if key == "python_version":
            return platform.python_version()
        if key in ("python_bitwidth", "python_int_bitwidth"):
            return "64" if sys.maxsize > 2**32 else "32"
        if key == "hostname":
            return platform.node()
        if key == "device":
            return config.device
        if key == "numpy_version":
            return np.__version__
        if key == "theano_version":
            return __version__
        if key == "gxx_version":
            return _compiler_version()
        raise KeyError(key)


compiledir_format_dict = _CompiledirWords()
compiledir_format_keys = ", ".join(sorted(_CompiledirWords.keys_))
default_compiledir_format = "compiledir_%(platform)s-%(processor)s-%(python_version)s-%(python_bitwidth)s"


def _compiler_version() -> str:
    if not config.cxx:
        return "none"
    import subprocess

    try:
        done = subprocess.run([config.cxx, "-dumpversion"], capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip().split("\n")[0]


def __getattr__(name: str) -> Any:
    # Asking the compiler takes long.
    if name == "gcc_version_str":
        return _compiler_version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def default_cxx() -> str:
    """Return the full path of the C++ compiler, or an empty string where there is none.

    Examples
    --------
    >>> path = default_cxx()
    >>> path == "" or os.path.isfile(path)
    True
    """
    names = ("clang++", "g++") if sys.platform == "darwin" else ("g++", "clang++", "c++")
    if sys.platform == "win32":
        from shutil import which

        return next(filter(None, map(which, names)), "")
    # Asked at import: `shutil` would bring libraries of compression, a fortieth of the time that importing the package takes.
    paths = (os.path.join(folder, name) for name in names for folder in os.get_exec_path())
    return next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), "")


def warn_cxx(val: str) -> bool:
    """Warn of a C++ compiler that makes trouble on a Mac, any but clang++; returns True.

    Parameters
    ----------
    val : str
        What the flag ``cxx`` says.

    Returns
    -------
    bool
        True: the value is taken all the same.

    Examples
    --------
    >>> warn_cxx("clang++")
    True
    """
    if sys.platform == "darwin" and val and "clang++" not in val:
        TheanoConfigWarning.warn(f"cxx={val}: only clang++ is supported on a Mac.")
    return True


def get_home_dir() -> str:
    """Return the user's home directory.

    Examples
    --------
    >>> get_home_dir() == os.environ.get("HOME", os.path.expanduser("~"))
    True
    """
    return os.environ.get("HOME") or os.path.expanduser("~")


def _default_base_compiledir() -> str:
    if sys.platform == "win32" and os.environ.get("LOCALAPPDATA"):
        return os.path.join(os.environ["LOCALAPPDATA"], "Theano")
    return os.path.join(os.path.expanduser("~"), ".theano")


default_base_compiledir = _default_base_compiledir()


def default_compiledirname() -> str:
    """Return ``compiledir_format`` with its keys filled in, as the name of a directory.

    Examples
    --------
    >>> default_compiledirname().startswith("compiledir_")
    True
    """
    return re.sub(r"[()\s,]+", "_", config.compiledir_format % compiledir_format_dict)


def default_compiledir() -> str:
    """Return ``base_compiledir/compiledir_format``, the format's keys filled in.

    Examples
    --------
    >>> os.path.dirname(default_compiledir()) == config.base_compiledir
    True
    """
    return os.path.join(config.base_compiledir, default_compiledirname())


def filter_base_compiledir(path: str) -> str:
    """Return the path with the home directory in the place of ``~``.

    Parameters
    ----------
    path : str
        What the flag ``base_compiledir`` says.

    Examples
    --------
    >>> filter_base_compiledir("~/theano") == os.path.expanduser("~/theano")
    True
    """
    return os.path.expanduser(str(path))


def filter_compiledir(path: str) -> str:
    """Return the real path of a directory, which is made if it is not there.

    Parameters
    ----------
    path : str
        What the flag ``compiledir`` says.

    Raises
    ------
    ValueError
        If it cannot be made, or not be read, written and listed.

    Examples
    --------
    >>> path = filter_compiledir("cache")
    >>> os.path.isabs(path), os.path.isdir("cache")
    (True, True)
    >>> os.rmdir(path)
    """
    path = os.path.realpath(os.path.expanduser(path))
    try:
        os.makedirs(path, 0o770, exist_ok=True)
    except OSError as error:
        raise ValueError(f"Unable to create the compiledir directory {path!r}: {error}") from None
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        raise ValueError(f"compiledir {path!r} exists but you don't have read, write or listing permissions.")
    return path


def _format_of_compiledir(text: str) -> str:
    try:
        text % _CompiledirWords.fromkeys(_CompiledirWords.keys_, "x")
    except (KeyError, ValueError, TypeError):
        raise ValueError(f"it may use the keys {', '.join(_CompiledirWords.keys_)}") from None
    return text


def _directory(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path))


def _directory_made(path: str) -> str:
    # Made at the first use; where that cannot be done, those that write there say so or go elsewhere.
    path = _directory(path)
    try:
        os.makedirs(path, 0o770, exist_ok=True)
    except OSError:
        pass
    return path


def is_valid_check_preallocated_output_param(param: Any) -> bool:
    """Return whether this is a value of ``DebugMode.check_preallocated_output``: kinds of memory, separated by ``:``.

    Parameters
    ----------
    param : object
        What the flag says.

    Examples
    --------
    >>> is_valid_check_preallocated_output_param("initial:strided")
    True
    >>> is_valid_check_preallocated_output_param("initial,strided")
    False
    """
    if not isinstance(param, str):
        return False
    kinds = ("initial", "previous", "c_contiguous", "f_contiguous", "strided", "wrong_size", "ALL", "")
    return all(kind in kinds for kind in param.split(":"))


def _default_threads_env(value: object) -> int:
    n = int(value)  # type: ignore[call-overload]
    if n < 0:
        raise ValueError("it must be 0 (all cores) or the number of threads")
    return n


def _default_threads() -> int:
    # The first number of OMP_NUM_THREADS ("4" or the nested form "4,2").
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(first) if first.isdigit() else 0


def _rseed(value: object) -> object:
    if value in ("random", "None", None):
        return None
    return int(value)  # type: ignore[call-overload]


def good_seed_param(seed: Any) -> bool:
    """Return whether this is a seed: an integer, or ``'random'``.

    Parameters
    ----------
    seed : object
        What the flag ``unittests.rseed`` says.

    Examples
    --------
    >>> good_seed_param("42"), good_seed_param("random"), good_seed_param("a seed")
    (True, True, False)
    """
    if seed == "random":
        return True
    try:
        int(seed)
    except (ValueError, TypeError):
        return False
    return True


def floatX_convert(s: str) -> str:
    """Return the dtype that a number of bits stands for, ``float32`` for ``32``, say; anything else as it is.

    Parameters
    ----------
    s : str
        What the flag ``floatX`` says.

    Examples
    --------
    >>> floatX_convert("32"), floatX_convert("float64")
    ('float32', 'float64')
    """
    return f"float{s}" if s in ("16", "32", "64") else s


def filter_vm_lazy(val: Any) -> bool | None:
    """Return the value of ``vm.lazy`` that a text stands for.

    Parameters
    ----------
    val : bool, str or None
        The value, or its text.

    Raises
    ------
    ValueError
        It is neither None, False nor True.

    Examples
    --------
    >>> filter_vm_lazy("True"), filter_vm_lazy("None")
    (True, None)
    >>> filter_vm_lazy("1")
    Traceback (most recent call last):
        ...
    ValueError: Valid values for an vm.lazy parameter should be None, False or True, not `1`.
    """
    for value in (None, False, True):
        if val is value or val == str(value):
            return value
    raise ValueError(f"Valid values for an vm.lazy parameter should be None, False or True, not `{val}`.")


def _add(name: str, param: ConfigParam, doc: str, in_c_key: bool = False) -> None:
    AddConfigVar(name, doc, param, in_c_key=in_c_key)


def _add_numbers(add=_add) -> None:
    add(
        "floatX",
        EnumStr("float64", "float32", "float16"),
        "The dtype of tensor.matrix(), tensor.vector() and the like, and of Python floats. "
        "float16 is supported to a limited extent.",
        True,
    )
    add(
        "warn_float64",
        EnumStr("ignore", "warn", "raise", "pdb"),
        "What to do when a tensor variable of dtype float64 is created.",
    )
    add(
        "cast_policy",
        EnumStr("custom", "numpy+floatX"),
        "How the dtypes of constants and of results of arithmetic are found: Theano's own rules ('custom') or an "
        "approximation of NumPy's that prefers floatX to float64 ('numpy+floatX').",
        True,
    )
    add(
        "trailing_dims_of_newaxis",
        EnumStr("drop", "keep"),
        "What becomes of the last dimensions of x in x[:, None], where the index names fewer than x has and those left over "
        "are broadcastable: Theano's meaning ('drop', with a warning) or NumPy's ('keep').",
    )
    add(
        "int_division",
        EnumStr("int", "raise", "floatX"),
        "What x / y gives where both are integers, for the classic division operator: an integer, a number of dtype "
        "floatX, or an error.",
    )
    add(
        "deterministic",
        EnumStr("default", "more"),
        "With 'more', prefer implementations whose results do not vary from run to run, even where they are slower.",
    )


def _add_devices(add=_add) -> None:
    gone = NO_EFFECT + "the old CUDA back-end does not exist any more. "
    add("device", DeviceParam("cpu", allow_override=False), "The default device of computations, in lower case.")
    add(
        "force_device",
        BoolParam(False, allow_override=False),
        "Raise an error when the device cannot be used, instead of warning and falling back to the CPU.",
    )
    add(
        "init_gpu_device",
        DeviceParam("", allow_override=False),
        "Initialize this GPU without moving computations to it; device must be cpu.",
    )
    add("contexts", ContextsParam(), "The names of GPU contexts: name->device;name->device.")
    add("print_active_device", BoolParam(True, allow_override=False), "Print the device when the GPU is initialized.", True)
    add("enable_initial_driver_test", BoolParam(True, allow_override=False), gone)
    add(
        "gpuarray.preallocate",
        FloatParam(0, allow_override=False),
        "GPU memory to allocate at the start: below 0 disables the allocation cache, 0 to 1 is a fraction of the "
        "memory, above 1 a number of megabytes.",
    )
    add("gpuarray.sched", EnumStr("default", "multi", "single"), "The stream mode with which a context is made.", True)
    add("gpuarray.single_stream", BoolParam(True), "Use one stream on the GPU.")
    add(
        "gpuarray.cache_path",
        StrParam(lambda: os.path.join(config.compiledir, "gpuarray_kernels"), allow_override=False),
        "The directory of compiled GPU kernels.",
    )
    add("cuda.root", StrParam(get_cuda_root), "The directory of CUDA.")
    add("cuda.include_path", StrParam(default_cuda_include), "The directory of the CUDA headers.")
    add("cuda.enabled", BoolParam(True), gone)
    add("nvcc.flags", StrParam(""), "Extra flags of the CUDA compiler.", True)
    add("nvcc.compiler_bindir", StrParam(""), "The directory of the CUDA compiler's host compiler.")
    add("nvcc.fastmath", BoolParam(False), "Allow the CUDA compiler fast, less exact mathematics (may make NaN).", True)
    add("lib.cnmem", FloatParam(0), gone + "See gpuarray.preallocate.")
    add("cublas.lib", StrParam("cublas"), gone)
    add("pycuda.init", BoolParam(False), gone)
    add("gpuelemwise.sync", BoolParam(True), gone)
    add(
        "experimental.unpickle_gpu_on_cpu",
        BoolParam(False),
        "Read pickled GPU arrays as NumPy arrays. This loses what only the GPU can tell.",
    )


def _add_modes(add=_add) -> None:
    add(
        "mode",
        EnumStr("Mode", "DebugMode", "FAST_RUN", "NanGuardMode", "FAST_COMPILE", "DEBUG_MODE"),
        "The default compilation mode.",
    )
    add(
        "linker",
        EnumStr("cvm", "c|py", "py", "c", "c|py_nogc", "vm", "vm_nogc", "cvm_nogc", "NanGuardMode", "DebugMode"),
        "The default linker of mode Mode: 'cvm' (with 'c|py' and 'c') runs native code, 'vm' and 'py' run Op by Op in "
        "Python; '_nogc' keeps intermediate results between calls.",
    )
    add(
        "optimizer",
        EnumStr("fast_run", "merge", "fast_compile", "None", "o1", "o2", "o3", "o4", "unsafe", "stabilize"),
        "The default optimizer of mode Mode.",
    )
    add("optimizer_verbose", BoolParam(False), "Print every optimization that is applied.")
    add("optimizer_verbose_ignore", StrParam(""), "Optimizations not to print, separated by commas.")
    for word, what in (
        ("excluding", "exclude from"),
        ("including", "include in"),
        ("requiring", "require in"),
    ):
        add(
            f"optimizer_{word}",
            StrParam("", allow_override=False),
            f"Tags of optimizations to {what} the default mode, separated by ':'.",
        )
    add(
        "on_opt_error",
        EnumStr("warn", "raise", "pdb", "ignore"),
        "What to do when an optimization crashes: skip it with a warning, raise, start pdb, or skip it silently.",
    )
    add(
        "assert_no_cpu_op",
        EnumStr("ignore", "warn", "raise", "pdb"),
        "What to do when a compiled graph has an Op that runs on the CPU.",
    )
    add(
        "on_shape_error",
        EnumStr("warn", "raise"),
        "What to do when the inference of a shape raises: warn and use a default, or raise.",
    )
    add("on_unused_input", EnumStr("raise", "warn", "ignore"), "What function() does with an unused input.")
    add(
        "program_cache",
        EnumStr("on", "off", "check"),
        "Keep the programs of functions on disk, so that a graph that was compiled before is not rewritten again until "
        "somebody looks at it. With 'check' nothing is kept on disk: every graph is compiled, and compared with what this "
        "process has made of an equal one before.",
    )
    add("allow_gc", BoolParam(True), "Free intermediate results as soon as they are not needed any more.")
    add(
        "cycle_detection",
        EnumStr("regular", "fast"),
        "'fast' finds fewer in-place operations and compiles faster.",
    )
    add(
        "check_stack_trace",
        EnumStr("off", "log", "warn", "raise"),
        "What to do with a variable that an optimization made without a stack trace.",
    )
    add("check_input", BoolParam(True), "Whether C code checks its inputs.", True)
    add("cache_optimizations", BoolParam(False), NO_EFFECT + "graphs are optimized anew for each function.")
    add("optdb.position_cutoff", FloatParam(float("inf")), "Where to stop among the optimizations of optdb.")
    add(
        "optdb.max_use_ratio",
        FloatParam(8.0),
        "The number of times that an equilibrium optimizer may apply one optimization, per node of the graph.",
    )
    add("metaopt.verbose", IntParam(0, lambda i: i in (0, 1, 2), allowed="0, 1 or 2"), "How much it prints.")
    add("metaopt.optimizer_excluding", StrParam(""), "Tags to exclude from the meta-optimizer, with ':'.")
    add("metaopt.optimizer_including", StrParam(""), "Tags to include in the meta-optimizer, with ':'.")
    add(
        "distributed.timeout",
        FloatParam(60.0, _positive),
        "Seconds that a process waits in theano.distributed for the others before it is an error.",
    )
    add("vm.lazy", EnumStr("None", "True", "False", in_c_key=False), "Whether the VM evaluates lazily.")
    add(
        "reoptimize_unpickled_function",
        BoolParam(False),
        "Optimize the graph of a function again when it is unpickled.",
    )
    add("unpickle_function", BoolParam(True), "Replace unpickled functions by None if False.")
    add("pickle_test_value", BoolParam(True), "Keep test values when variables are pickled.")
    add("scan.allow_gc", BoolParam(False), "Free intermediate results inside scan.")
    add("scan.allow_output_prealloc", BoolParam(True), "Let scan allocate the memory of its outputs ahead.")
    add("scan.debug", BoolParam(False), "Print extra information about scan.")


def _add_engine(add=_add) -> None:
    add(
        "threads",
        ConfigParam(_default_threads, _default_threads_env),
        "The number of threads of native code: 0 means all cores. The default is OMP_NUM_THREADS, if set. "
        "Results do not depend on it.",
    )
    add("openmp", BoolParam(default_openmp), "Whether Ops with OpenMP code use it by default.")
    add(
        "openmp_elemwise_minsize",
        IntParam(200000, _not_negative, allowed="a number of elements"),
        "The least size of a vector for which OpenMP is used.",
    )
    add(
        "cxx",
        StrParam(default_cxx),
        "The C++ compiler; if empty, no code is compiled and everything runs on NumPy.",
    )
    add("gcc.cxxflags", StrParam(""), "Extra parameters of the compiler.", True)
    add("lib.amdlibm", BoolParam(False), "Link against AMD's libm.", True)
    add(
        "blas.ldflags",
        StrParam(""),
        "What links against a Fortran BLAS of level 3. If empty, the BLAS that SciPy brings is used.",
        True,
    )
    add("blas.check_openmp", BoolParam(True), NO_EFFECT + "nothing links against an OpenMP library.")
    add(
        "base_compiledir",
        ConfigParam(_default_base_compiledir, _directory, allow_override=False),
        "The directory of all compilation directories.",
    )
    add(
        "compiledir_format",
        ConfigParam(
            default_compiledir_format,
            _format_of_compiledir,
            allow_override=False,
        ),
        "The subdirectory of base_compiledir for this platform; available keys: " + ", ".join(_CompiledirWords.keys_) + ".",
    )
    add(
        "compiledir",
        ConfigParam(default_compiledir, _directory_made, allow_override=False),
        "The directory of compiled code for this platform.",
    )
    add("nocleanup", BoolParam(False), "Keep source files whose compilation failed.")
    add("compile.wait", IntParam(5, _positive, allow_override=False, allowed="a positive integer"),
        "The seconds between two attempts to take the lock of the compilation directory.")  # fmt: skip
    add(
        "compile.timeout",
        IntParam(lambda: config.compile.wait * 24, _not_negative, allow_override=False, allowed="a number of seconds"),
        "The seconds after which a lock that nobody refreshes is taken over.",
    )
    add("cmodule.warn_no_version", BoolParam(False), "Warn about Ops whose C code has no version.")
    add("cmodule.remove_gxx_opt", BoolParam(False), "Compile without -O, to debug compiled code.", True)
    add("cmodule.compilation_warning", BoolParam(False), "Print the compiler's warnings.")
    add("cmodule.preload_cache", BoolParam(False, allow_override=False), NO_EFFECT + "code is loaded when used.")
    add(
        "cmodule.age_thresh_use",
        IntParam(60 * 60 * 24 * 24, allow_override=False),
        "The seconds after which unused compiled code may be removed.",
    )
    add("cmodule.debug", BoolParam(False), "Define the macro DEBUG in compiled C code.", True)
    add("cmodule.mac_framework_link", StrParam(""), "Flags of frameworks to link on a Mac.", True)
    add("conv.assert_shape", BoolParam(False), "AbstractConv Ops check the shapes that the user gave.")
    add(
        "experimental.local_alloc_elemwise_assert",
        BoolParam(True),
        "Assert that shapes agree where the removal of an alloc would hide it.",
    )
    add("experimental.local_alloc_elemwise", BoolParam(True), "Remove allocs at the inputs of elementwise Ops.")
    add("tensor.local_elemwise_fusion", BoolParam(True), "Fuse elementwise Ops in FAST_RUN.")
    add(
        "tensor.insert_inplace_optimizer_validate_nb",
        IntParam(-1),
        "After how many in-place replacements the graph is validated; -1 chooses.",
    )


def _add_profiling(add=_add) -> None:
    add("profile", BoolParam(False), "Profile functions and print the result at exit.")
    add("profile_memory", BoolParam(False), "Profile memory as well.")
    add("profile_optimizer", BoolParam(False), "Profile the optimization of graphs as well.")
    for name, default, doc in (
        ("n_apply", 20, "The number of Apply nodes to print."),
        ("n_ops", 20, "The number of Ops to print."),
        ("output_line_width", 512, "The greatest width of a line."),
        ("min_memory_size", 1024, "Leave out Apply nodes whose outputs have fewer bytes than this."),
    ):
        add(f"profiling.{name}", IntParam(default, _not_negative, allowed="an integer of at least 0"), doc)
    add("profiling.time_thunks", BoolParam(True), "Time each thunk.")
    add("profiling.min_peak_memory", BoolParam(False), "Print the least peak of memory that is possible.")
    add("profiling.destination", StrParam("stderr"), "Where it is printed: stderr, stdout, or the name of a file.")
    add("profiling.debugprint", BoolParam(False), "Print the graphs of the profiled functions.")
    add("profiling.ignore_first_call", BoolParam(False), "Leave out the first call of a function.")
    add("print_global_stats", BoolParam(False), "Print the time spent compiling and running, at exit.")


def _add_debugging(add=_add) -> None:
    kinds = ("off", "ignore", "warn", "raise", "pdb")
    add(
        "compute_test_value",
        EnumStr(*kinds),
        "Run each Op on test values while the graph is built. What to do where they are missing.",
    )
    add("compute_test_value_opt", EnumStr(*kinds), "The same while graphs are optimized.")
    add("print_test_value", BoolParam(False), "Print the test value of variables as well.")
    add("exception_verbosity", EnumStr("low", "high"), "How fully errors describe Apply nodes.")
    add("traceback.limit", IntParam(8), "The number of stack levels of the user's code kept on variables.")
    add(
        "traceback.compile_limit",
        IntParam(0),
        "The number of stack levels kept on variables that are made during compilation; above 0 keeps Theano's own.",
    )
    add(
        "DebugMode.patience",
        IntParam(10, _positive, allowed="a positive integer"),
        "How often a graph is optimized to see whether the result is always the same.",
    )
    add("DebugMode.check_c", BoolParam(True), "Run compiled implementations.")
    add("DebugMode.check_py", BoolParam(True), "Run Python implementations.")
    add("DebugMode.check_finite", BoolParam(True), "Complain about NaN and infinity.")
    add(
        "DebugMode.check_strides",
        IntParam(1, lambda i: i in (0, 1, 2), allowed="0, 1 or 2"),
        "Compare the strides of both implementations: 0 no, 1 warn, 2 raise.",
    )
    add("DebugMode.warn_input_not_reused", BoolParam(True), "Warn where an in-place Op did not reuse its input.")
    add(
        "DebugMode.check_preallocated_output",
        StrParam("", is_valid_check_preallocated_output_param, allowed="a ':'-separated list of initial, previous, c_contiguous, "
                 "f_contiguous, strided, wrong_size, ALL"),
        "Kinds of memory given to Ops for their outputs, separated by ':'.",
    )  # fmt: skip
    add(
        "DebugMode.check_preallocated_output_ndim",
        IntParam(4, _positive, allowed="a positive integer"),
        "In how many dimensions all combinations of strides are tried.",
    )
    for name in ("nan", "inf", "big"):
        add(f"NanGuardMode.{name}_is_error", BoolParam(True), f"Whether NanGuardMode raises on a {name} value.")
    seterr = ("ignore", "warn", "raise", "call", "print", "log", "None")
    doc = "numpy.seterr for "
    add("numpy.seterr_all", EnumStr(*seterr, allow_override=False), doc + "all errors.")
    for name, error in (
        ("divide", "division by zero"),
        ("over", "overflow"),
        ("under", "underflow"),
        ("invalid", "invalid operations"),
    ):
        add(
            f"numpy.seterr_{name}",
            EnumStr("None", *seterr[:-1], allow_override=False),
            doc + error + "; 'None' means as seterr_all.",
        )
    add(
        "unittests.rseed",
        ConfigParam(666, _rseed),
        "The seed of random numbers in tests: a number or 'random'.",
    )
    add(
        "tensor.cmp_sloppy",
        IntParam(0, lambda i: i in (0, 1, 2), allowed="0, 1 or 2"),
        "How loosely results are compared: 0 is strict, 2 is loosest.",
    )


_VERSIONS = (
    "0.8",
    "None",
    "all",
    *("0.3", "0.4", "0.4.1", "0.5", "0.6", "0.7", "0.8.1", "0.8.2", "0.9", "0.10", "1.0", "1.0.1", "1.0.2"),
    *("1.0.3", "1.0.4", "1.0.5", "2.0"),
)

# The bugs of old releases that a warning can be asked for, each with the release that fixed it.
_OLD_BUGS = {
    "argmax_pushdown_bug": "0.3",
    "gpusum_01_011_0111_bug": "0.4",
    "sum_sum_bug": "0.4",
    "sum_div_dimshuffle_bug": "0.4",
    "subtensor_merge_bug": "0.5",
    "gpu_set_subtensor1": "0.6",
    "vm_gc_bug": "0.4.1",
    "signal_conv2d_interface": "0.7",
    "reduce_join": "0.7",
    "inc_set_subtensor1": "0.7",
    "round": "0.9",
    "inc_subtensor1_opt": "0.10",
}


def split_version(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, which dots separate.

    Parameters
    ----------
    version : str
        ``'0.9.0'``, say.

    Examples
    --------
    >>> split_version("1.0.5"), split_version("0.9.0") < split_version("0.10.0")
    ((1, 0, 5), True)
    """
    return tuple(int(part) for part in version.split("."))


def warn_default(version: str) -> bool:
    """Return whether ``warn.ignore_bug_before`` asks to warn of bugs that were fixed in a release.

    Parameters
    ----------
    version : str
        The release.

    Examples
    --------
    >>> warn_default("0.1"), warn_default("99.0")
    (False, True)
    """
    since = config.warn.ignore_bug_before
    if since in ("None", "all"):
        return since == "None"
    return split_version(since) < split_version(version)


def _add_warnings(add=_add) -> None:
    add(
        "warn.ignore_bug_before",
        EnumStr(*_VERSIONS, allow_override=False),
        "Do not warn about bugs fixed before this release: 'None' warns of all, 'all' of none.",
    )
    for name, fixed in _OLD_BUGS.items():
        add(
            f"warn.{name}",
            BoolParam(warn_default(fixed)),
            f"Warn where a bug that was fixed in release {fixed} would have given another result.",
        )
    add("warn.identify_1pexp_bug", BoolParam(warn_default("0.4.1")), "As the other flags of this section.")


def _warn_of_unknown_flags() -> None:
    for name, where, suggestion in unknown_flags():
        TheanoConfigWarning.warn(f"{where} sets {name!r}: there is no such flag, it has no effect.{suggestion}")


def _check_device() -> None:
    for flag in ("device", "init_gpu_device"):
        value = getattr(config, flag)
        if value.startswith("opencl"):
            problem = f"{flag}={value}: OpenCL devices are not supported any more; use 'cpu' or 'cuda'."
        elif value.startswith("cuda") and not _cuda_is_available():
            problem = f"{flag}={value}: no CUDA back-end is available in this installation."
        else:
            continue
        if config.force_device:
            raise RuntimeError(problem + " (force_device=True forbids to fall back to the CPU.)")
        TheanoConfigWarning.warn(problem + " Computations run on the CPU.")


def _cuda_is_available() -> bool:
    from importlib.util import find_spec

    return find_spec("theano.native.cuda") is not None if find_spec("theano.native") else False


def numpy_seterr() -> dict[str, Any]:
    """Return the arguments with which the flags ``numpy.seterr_*`` ask `numpy.seterr` to be called.

    Returns
    -------
    dict
        Without what is to stay as it is.

    Examples
    --------
    >>> with np.errstate(**numpy_seterr()):
    ...     np.geterr()["divide"]
    'ignore'
    """
    flags = config.numpy
    wanted = {name: getattr(flags, f"seterr_{name}") for name in ("divide", "over", "under", "invalid")}
    default = flags.seterr_all
    wanted = {k: default if v == "None" else v for k, v in wanted.items()}
    return {k: v for k, v in wanted.items() if v != "None"}


def local_bitwidth() -> int:
    """Number of bits of a pointer.

    Returns
    -------
    int
        32 or 64.

    Examples
    --------
    >>> import struct
    >>> local_bitwidth() == 8 * struct.calcsize("P")
    True
    """
    return np.dtype(np.intp).itemsize * 8


def python_int_bitwidth() -> int:
    """Number of bits of the C type ``long``.

    Returns
    -------
    int
        32 or 64.

    Examples
    --------
    >>> import struct
    >>> python_int_bitwidth() == 8 * struct.calcsize("l")
    True
    """
    return np.dtype("l").itemsize * 8


def _declare() -> None:
    _add_numbers()
    _add_devices()
    _add_modes()
    _add_engine()
    add_gpu_libraries(_add)
    _add_profiling()
    _add_debugging()
    _add_warnings()
    _warn_of_unknown_flags()
    _check_device()
    np.seterr(**numpy_seterr())


_declare()
