"""Checkpoints: files that are either whole or the ones before."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np


def write_checkpoint(path: Any, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
    """Write arrays and facts to a file, which replaces one of that name when it is on the disk as a whole.

    Parameters
    ----------
    path : str or Path
        Where the file is.
    arrays : dict of ndarray
        The arrays by name.
    facts : dict
        What JSON can hold.

    Raises
    ------
    OSError
        If there is no room, say; then a file of that name is what it was, and nothing else is left.

    See Also
    --------
    theano.distributed.checkpoint.read_checkpoint : Return the arrays and the facts of a file that `write_checkpoint`
        wrote.

    Examples
    --------
    >>> import os, tempfile
    >>> from theano.distributed.checkpoint import read_checkpoint, write_checkpoint
    >>> path = os.path.join(tempfile.mkdtemp(), "state.npz")
    >>> write_checkpoint(path, {"w": np.arange(3)}, {"epoch": 7})
    >>> arrays, facts = read_checkpoint(path)
    >>> arrays["w"].tolist(), facts["epoch"]
    ([0, 1, 2], 7)
    """
    path = Path(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            text = np.frombuffer(json.dumps(facts).encode(), "uint8")
            np.savez(file, **{"facts": text, **{f"array {name}": a for name, a in arrays.items()}})  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    if hasattr(os, "O_DIRECTORY"):
        # The name, too, is to outlive a loss of power.
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def read_checkpoint(path: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the arrays and the facts of a file that :func:`write_checkpoint` wrote.

    Parameters
    ----------
    path : str or Path
        Where the file is.

    Returns
    -------
    tuple of dict

    Raises
    ------
    OSError, ValueError
        If it cannot be read, or is not a checkpoint.

    See Also
    --------
    theano.distributed.checkpoint.write_checkpoint : Write arrays and facts to a file, which replaces one of that name
        when it is on the disk as a whole.

    Examples
    --------
    >>> write_checkpoint("epoch.npz", {"w": np.zeros(2)}, {"epoch": 7})
    >>> arrays, facts = read_checkpoint("epoch.npz")
    >>> sorted(arrays), facts
    (['w'], {'epoch': 7})
    >>> os.remove("epoch.npz")
    """
    with np.load(path, allow_pickle=False) as file:
        if "facts" not in file:
            raise ValueError(f"{path} is not a checkpoint of theano.distributed")
        facts = json.loads(file["facts"].tobytes().decode())
        prefix = "array "
        return {key[len(prefix):]: file[key] for key in file.files if key.startswith(prefix)}, facts
