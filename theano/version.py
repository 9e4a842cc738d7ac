"""The version of the package."""

from __future__ import annotations

__version__ = full_version = version = "2.0.0.dev0"
short_version = full_version.partition("+")[0]
#: Whether this is a release: what lies between two has letters in its version.
release = short_version.replace(".", "").isdigit()
#: The version that a copy without a known origin goes by.
FALLBACK_VERSION = "2.0.0+unknown"
#: The revision that the package was built from, where the build wrote it here.
git_revision: str | None = None
