"""Running commands, on Windows without a window."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from typing import Any


def subprocess_Popen(command: str | Sequence[str], **params: Any) -> subprocess.Popen:
    """Start a command with no input, on Windows by the shell and without a window.

    Parameters
    ----------
    command : str or sequence of str
        The program and its arguments.
    **params
        As for `subprocess.Popen`.

    Returns
    -------
    subprocess.Popen
    """
    if os.name == "nt":
        startup = subprocess.STARTUPINFO()  # type: ignore[attr-defined]
        startup.dwFlags |= subprocess.STARTF_USESHOWWINDOW  # type: ignore[attr-defined]
        # What is called g++ there may be a batch file, which only the shell finds, and it takes one text.
        params.update(startupinfo=startup, shell=True)
        if not isinstance(command, str):
            command = subprocess.list2cmdline(command)
    params.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.Popen(command, **params)


def _without_outputs(name: str, params: dict[str, Any]) -> None:
    if "stdout" in params or "stderr" in params:
        raise TypeError(f"don't use stderr or stdout with {name}")


def call_subprocess_Popen(command: str | Sequence[str], **params: Any) -> int:
    """Run a command whose output is thrown away; returns its exit status.

    Raises
    ------
    TypeError
        If `params` say where the output goes.
    """
    _without_outputs("call_subprocess_Popen", params)
    return subprocess_Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **params).wait()


def output_subprocess_Popen(command: str | Sequence[str], **params: Any) -> tuple[bytes, bytes, int]:
    """Run a command.

    Parameters
    ----------
    command, **params
        As for :func:`subprocess_Popen`.

    Returns
    -------
    out, err : bytes
        What it wrote.
    status : int

    Raises
    ------
    TypeError
        If `params` say where the output goes.
    """
    _without_outputs("output_subprocess_Popen", params)
    process = subprocess_Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **params)
    out, err = process.communicate()
    return out, err, process.returncode
