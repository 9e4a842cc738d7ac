"""How many processors there are."""

from __future__ import annotations

import os


def cpuCount() -> int:
    """Return the number of processors of the machine, -1 if the system does not say."""
    return os.cpu_count() or -1
