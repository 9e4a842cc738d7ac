"""`theano-nose`: run tests through pytest, under the original's name and with its ways to name tests."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

#: What is a test for nose: wider than for pytest.
_COLLECT = ["-o", "python_files=test*.py", "-o", "python_classes=Test* test_*", "-o", "python_functions=test*"]
#: Options that pytest calls otherwise.
_RENAMED = {"--pdb-failures": "--pdb", "--failed": "--last-failed", "--stop": "-x", "--nocapture": "-s"}
_PLACE = re.compile(r"(?P<file>.+\.py):(?P<test>[A-Za-z_][\w.]*)")


def translate(argv: Sequence[str]) -> list[str]:
    """Return the arguments of pytest for those of `theano-nose`.

    Parameters
    ----------
    argv : sequence of str
        Folders, files, ``file.py:Class``, ``file.py:Class.method``, ``--theano`` for Theano's own tests, and options.

    Returns
    -------
    list of str

    Examples
    --------
    >>> translate(["test_a.py:test_A.test_b", "-s"])[-2:]
    ['test_a.py::test_A::test_b', '-s']
    """
    result = list(_COLLECT)
    for argument in argv:
        place = _PLACE.fullmatch(argument)
        if argument == "--theano":
            from theano.tests.main import own_tests

            result += own_tests()
        elif place and not argument.startswith("-"):
            result.append("::".join([place["file"], *place["test"].split(".")]))
        else:
            result.append(_RENAMED.get(argument, argument))
    return result


def main(argv: Sequence[str] | None = None) -> int:
    """Run pytest on what the arguments name; returns its exit status."""
    try:
        import pytest
    except ImportError:
        print('theano-nose needs pytest: pip install "Theano[test]"', file=sys.stderr)
        return 2
    return int(pytest.main(translate(sys.argv[1:] if argv is None else argv)))
