"""`theano-nose`: run tests through pytest, under the original's name."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run pytest on what the arguments name; returns its exit status."""
    try:
        import pytest
    except ImportError:
        print('theano-nose needs pytest: pip install "Theano[test]"', file=sys.stderr)
        return 2
    return int(pytest.main(list(sys.argv[1:] if argv is None else argv)))
