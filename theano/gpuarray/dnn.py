"""Whether cuDNN can be used: it cannot."""

from __future__ import annotations

from theano.gpuarray import MESSAGE


def dnn_present() -> bool:
    """Return whether the library cuDNN is there: false, and `dnn_present.msg` says why."""
    return False


def dnn_available(context_name: str | None = None) -> bool:
    """Return whether cuDNN can be used on a device: false, and `dnn_available.msg` says why."""
    return False


dnn_present.msg = dnn_available.msg = MESSAGE  # type: ignore[attr-defined]
