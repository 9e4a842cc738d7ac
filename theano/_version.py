"""The version with its origin, as version control and release tools want it."""

from __future__ import annotations

import json
from typing import Any

from theano.version import full_version, git_revision

version_json = json.dumps({"date": None, "dirty": None, "error": None, "full-revisionid": git_revision, "version": full_version})


def get_versions() -> dict[str, Any]:
    """Return the version, and of which revision it is: ``version``, ``full-revisionid``, ``dirty``, ``error`` and ``date``."""
    return json.loads(version_json)
