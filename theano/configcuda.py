"""Where CUDA and the libraries for GPUs are, and the flags of these libraries."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from theano.configparser import BoolParam, ConfigParam, EnumStr, StrParam, config

SUPPORTED_DNN_CONV_ALGO_RUNTIME = ("guess_once", "guess_on_shape_change", "time_once", "time_on_shape_change")
SUPPORTED_DNN_CONV_ALGO_FWD = (
    *("small", "none", "large", "fft", "fft_tiling", "winograd", "winograd_non_fused"),
    *SUPPORTED_DNN_CONV_ALGO_RUNTIME,
)
SUPPORTED_DNN_CONV_ALGO_BWD_DATA = (
    *("none", "deterministic", "fft", "fft_tiling", "winograd", "winograd_non_fused"),
    *SUPPORTED_DNN_CONV_ALGO_RUNTIME,
)
SUPPORTED_DNN_CONV_ALGO_BWD_FILTER = (
    *("none", "deterministic", "fft", "small", "winograd_non_fused", "fft_tiling"),
    *SUPPORTED_DNN_CONV_ALGO_RUNTIME,
)
SUPPORTED_DNN_CONV_PRECISION = ("as_input_f32", "as_input", "float16", "float32", "float64")


def get_cuda_root() -> str:
    """Return the directory of CUDA: CUDA_ROOT or CUDA_PATH, else that of the first ``nvcc`` in PATH, else ''."""
    for variable in ("CUDA_ROOT", "CUDA_PATH"):
        if os.environ.get(variable):
            return os.environ[variable]
    for directory in os.environ.get("PATH", "").split(os.pathsep):
        if directory and os.path.exists(os.path.join(directory, "nvcc")):
            return os.path.dirname(os.path.abspath(directory))
    return ""


def default_cuda_include() -> str:
    """Return the directory of CUDA's headers, '' where there is no CUDA."""
    return os.path.join(config.cuda.root, "include") if config.cuda.root else ""


def default_dnn_base_path() -> str:
    """Return the directory of CUDA if cuDNN is in it, else ''."""
    root = config.cuda.root
    return root if root and os.path.exists(os.path.join(root, "include", "cudnn.h")) else ""


def _in_dnn(*parts: str) -> str:
    return os.path.join(config.dnn.base_path, *parts) if config.dnn.base_path else ""


def default_dnn_inc_path() -> str:
    """Return the directory of cuDNN's header, '' where there is no cuDNN."""
    return _in_dnn("include")


def default_dnn_lib_path() -> str:
    """Return the directory of cuDNN's library, '' where there is no cuDNN."""
    return _in_dnn(*{"win32": ("lib", "x64"), "darwin": ("lib",)}.get(sys.platform, ("lib64",)))


def default_dnn_bin_path() -> str:
    """Return the directory of cuDNN's program library, '' where there is no cuDNN."""
    return _in_dnn("bin") if sys.platform == "win32" else config.dnn.library_path if config.dnn.base_path else ""


def _gone(flag: str, instead: str) -> Callable[[Any], bool]:
    def check(value: Any) -> bool:
        if value:
            raise RuntimeError(f"the flag `{flag}` does not exist any more, use {instead}")
        return True

    check.__doc__ = f"Check that the flag ``{flag}`` is not set: it raises RuntimeError, else it returns True."
    return check


_BACKWARD = "dnn.conv.algo_bwd_filter and dnn.conv.algo_bwd_data"
safe_no_dnn_workmem = _gone("dnn.conv.workmem", "dnn.conv.algo_fwd")
safe_no_dnn_workmem_bwd = _gone("dnn.conv.workmem_bwd", _BACKWARD)
safe_no_dnn_algo_bwd = _gone("dnn.conv.algo_bwd", _BACKWARD)


def deprecated_gpuarray_sync(val: Any) -> bool:
    """Return False; an error where the flag ``gpuarray.sync``, which is gone, is set.

    Raises
    ------
    RuntimeError
    """
    return not _gone("gpuarray.sync", "the profiler, which waits for the GPU itself")(val)


def add_gpu_libraries(add: Callable[[str, ConfigParam, str], None]) -> None:
    """Declare the flags of cuDNN, MAGMA and CTC, with what declares a flag."""
    add(
        "dnn.enabled",
        EnumStr("auto", "True", "False", "no_check"),
        "Whether to use cuDNN: if it is there, always, never, or without checking.",
    )
    add("dnn.base_path", StrParam(default_dnn_base_path), "The directory of cuDNN.")
    add("dnn.include_path", StrParam(default_dnn_inc_path), "The directory of the cuDNN header.")
    add("dnn.library_path", StrParam(default_dnn_lib_path), "The directory of the cuDNN library.")
    add("dnn.bin_path", StrParam(default_dnn_bin_path), "The directory of the cuDNN program library (Windows).")
    add("dnn.conv.workmem", _refused(safe_no_dnn_workmem), "Deprecated: use dnn.conv.algo_fwd.")
    add("dnn.conv.workmem_bwd", _refused(safe_no_dnn_workmem_bwd), f"Deprecated: use {_BACKWARD}.")
    add("dnn.conv.algo_fwd", EnumStr(*SUPPORTED_DNN_CONV_ALGO_FWD), "The algorithm of cuDNN's forward convolution.")
    add("dnn.conv.algo_bwd", _refused(safe_no_dnn_algo_bwd), f"Deprecated: use {_BACKWARD}.")
    add(
        "dnn.conv.algo_bwd_filter",
        EnumStr(*SUPPORTED_DNN_CONV_ALGO_BWD_FILTER),
        "The algorithm of cuDNN's gradient with respect to the filters.",
    )
    add(
        "dnn.conv.algo_bwd_data",
        EnumStr(*SUPPORTED_DNN_CONV_ALGO_BWD_DATA),
        "The algorithm of cuDNN's gradient with respect to the images.",
    )
    add(
        "dnn.conv.precision",
        EnumStr(*SUPPORTED_DNN_CONV_PRECISION),
        "The precision in which cuDNN computes convolutions.",
    )
    add("magma.enabled", BoolParam(False), "Use MAGMA for matrix computations on the GPU.")
    add("magma.include_path", StrParam(""), "The directory of the MAGMA headers.")
    add("magma.library_path", StrParam(""), "The directory of the MAGMA library.")
    add("ctc.root", StrParam(""), "The directory of warp-ctc (with build, lib or lib64, and include).")


def _refused(check: Callable[[Any], bool]) -> ConfigParam:
    def refuse(value: str) -> str:
        try:
            check(value)
        except RuntimeError as error:
            raise ValueError(str(error)) from None
        return value

    return ConfigParam("", refuse)
