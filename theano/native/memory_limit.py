"""How much memory this process may use."""

from __future__ import annotations

import os
from collections.abc import Iterator


def memory_limit(root: str = "/") -> int | None:
    """Bytes of memory that this process may use: those of the machine, or less by a limit of its own or of its control groups.

    Parameters
    ----------
    root
        The directory that has ``proc`` and the mount points of the control groups.

    Returns
    -------
    int or None
        None where nothing is known.
    """
    limits = [*_limits_of_process(), *_limits_of_groups(root)]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min((n for n in limits if n > 0), default=None)


def _limits_of_process() -> Iterator[int]:
    try:
        import resource
    except ImportError:
        return
    for name in ("RLIMIT_AS", "RLIMIT_DATA"):
        if hasattr(resource, name):
            yield resource.getrlimit(getattr(resource, name))[0]


def _limits_of_groups(root: str) -> Iterator[int]:
    """Limits of the process' control groups, versions 1 and 2, and of all groups around them."""
    groups = {}
    for line in _read(root, "/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        groups.update(dict.fromkeys(controllers.split(","), path))
    for line in _read(root, "/proc/self/mountinfo").splitlines():
        mount, _, rest = line.partition(" - ")
        top, point = (field.encode().decode("unicode_escape") for field in mount.split()[3:5])
        kind, _, options = rest.split(" ", 2)
        if kind == "cgroup2":
            path, files = groups.get(""), ("memory.max", "memory.high")
        elif kind == "cgroup" and "memory" in options.split(","):
            path, files = groups.get("memory"), ("memory.limit_in_bytes",)
        else:
            continue
        # A container may see its own group at the mount point, and another path of it.
        inside = os.path.relpath(path, top) if path is not None else "."
        parts = [] if inside == "." or inside.startswith("..") else inside.split("/")
        for depth in range(len(parts) + 1):
            for file in files:
                text = _read(root, "/".join([point, *parts[:depth], file])).strip()
                if text.isdigit():
                    yield int(text)


def _read(root: str, path: str) -> str:
    try:
        with open(os.path.join(root, path.lstrip("/"))) as file:
            return file.read()
    except OSError:
        return ""
